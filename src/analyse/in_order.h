/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * in_order - records of a pass in the order of time, for output that people and tools read from the
 * top. A recorder empties the rings of its CPUs in rounds, and ends each with FINISHED_ROUND: what
 * comes later is no older than the newest record of the round before.
 *
 *	in_order_put(o, &record)		for each, in file order
 *	in_order_round(o)			at FINISHED_ROUND; in_order_finish(o) at the end
 *	while (in_order_next(o, &record))	after both: those that are due
 *	in_order_free(o)
 *
 * Records of one time keep the order of the file. A record that comes after its turn is next.
 *
 * Costs: some 40 ns and 48 bytes a record of two rounds; in a recording without rounds, all are
 * kept until its end.
 */
#ifndef CYCLADE_ANALYSE_IN_ORDER_H
#define CYCLADE_ANALYSE_IN_ORDER_H

#include <stdbool.h>

#include "base/vec.h"
#include "perfdata/perfdata.h"

struct in_order_record {
	struct pd_record r;
	uint64_t time;
	uint32_t event;
};

struct in_order {
	VEC(struct in_order_record) heap; /* the next one first */
	uint64_t newest, before, due;	  /* before: the newest of the last round */
};

void in_order_put(struct in_order *o, const struct in_order_record *r);
void in_order_round(struct in_order *o);
void in_order_finish(struct in_order *o);
bool in_order_next(struct in_order *o, struct in_order_record *out);
void in_order_free(struct in_order *o);

#endif
