/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_more - names after -e that neither the kernel nor sysfs has: events of this CPU's model
 * (UOPS_ISSUED.ANY), then libpfm's (ivb::UOPS_ISSUED:ANY), of the same CPU.
 *
 *	list.more = event_more(&m, cli)
 *	event_more_free(&m)	when the list is parsed no more
 *
 * A model is loaded when first asked for a name. Where no model is for the CPU, no name is known.
 */
#ifndef CYCLADE_CLI_EVENT_MORE_H
#define CYCLADE_CLI_EVENT_MORE_H

#include "cli/cli.h"
#include "collect/event.h"
#include "model/model.h"

struct event_more {
	struct cli *cli;
	struct event_names_more names;
	struct {
		char core[32];
		struct model *m; /* NULL: none is for it */
	} model[4];
	size_t n_models;
	const char **words;
};

/* `m` must live as long as the list is parsed. */
const struct event_names_more *event_more(struct event_more *m, struct cli *cli);
void event_more_free(struct event_more *m); /* safe on zeroes */

#endif
