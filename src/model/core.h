/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core - costs of operations on a CPU: latency, ports, slots. The text `core` of a model.
 *
 *	core_load(&c, arena, &sources, "skl", &err)
 *	core_find(c, "fadd", 512)		"fadd.512", else "fadd"; NULL: not known
 *	core_measured(c, arena, path, text, len, &n, &err)	figures of calibrate go over them
 *
 * Lines (doc/model-format.md):
 *
 *	op	imul	3	1*1		latency; uops and the ports they may go to
 *	op	forward	0-5	-		a latency that varies; no port
 *	op	div64	?	?		not known
 *	op	fdiv64	13-14	1*0 4*f		f: a unit, busy for 4 cycles, without a slot
 *	op	store	1	1*49 1*78 slots=1
 *	branches	1			taken branches a cycle, at most
 *	part	rob	320	documented	sizes and costs of parts (core_part.def)
 *	queue	96	01234567	documented	a scheduler: entries, and its ports
 *	repeats	count scan			wait for their register's value before
 */
#ifndef CYCLADE_MODEL_CORE_H
#define CYCLADE_MODEL_CORE_H

#include "model/model.h"

#define CORE_PORTS 32u /* 0-9, A-F: ports; then a-p: units */
#define CORE_UOPS  6u

struct core_uops {
	uint32_t ports;
	unsigned n; /* of a unit: cycles */
};

struct core_op {
	const char *name;
	double low, high; /* cycles; NAN: not known */
	struct core_uops uop[CORE_UOPS];
	unsigned n_uops;
	bool ports_known;
	double slots;	  /* of the front end */
	bool repeats;	  /* waits for its register's old value */
	bool measured;	  /* the latency is this machine's own */
	const char *file; /* where it is written */
	unsigned line;
};

enum core_part_id {
#define CORE_PART(id, name, most, means) CORE_##id,
#include "model/core_part.def"
#undef CORE_PART
	CORE_PARTS
};

enum core_from { CORE_NOT_GIVEN, CORE_DOCUMENTED, CORE_MEASURED, CORE_ASSUMED };

#define CORE_QUEUES 4u

struct core_queue {
	unsigned size;
	uint32_t ports;
	enum core_from from;
};

struct core {
	const char *id, *from; /* from: provenance */
	const struct core_op *op;
	size_t n;
	unsigned width;	 /* slots a cycle; 0: not known */
	double branches; /* taken branches a cycle; 0: not known */
	unsigned part[CORE_PARTS];
	enum core_from part_from[CORE_PARTS];
	struct core_queue queue[CORE_QUEUES];
	size_t n_queues;
};

const char *core_part_name(enum core_part_id part);
const char *core_part_means(enum core_part_id part);
const char *core_from_name(enum core_from from);

/* ERR_NOT_FOUND: the model has none. */
int core_load(struct core **out, struct arena *a, const struct model_sources *s, const char *id,
	      struct err *err) MUST_USE;
const struct core_op *core_find(const struct core *c, const char *name, unsigned bits);
/* The letter of a port or unit. */
char core_port_name(unsigned port);
bool core_port_is_unit(unsigned port);

/* Lines `latency OP CYCLES [ERROR]` of a penalties file; others are the account's. *n: how many. */
int core_measured(struct core *c, struct arena *a, const char *path, const char *text, size_t len,
		  size_t *n, struct err *err) MUST_USE;
/* `key` begins such a line. */
bool core_is_measured(const char *key, size_t len);

#endif
