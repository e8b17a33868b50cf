/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set - the metrics that a monitor shows, each a row of text (doc/model-format.md, `monitor`).
 *
 *	set_load(&s, arena, &sources, id, &err)	models/monitor, models/VENDOR/ID/monitor
 *	set_means(row, "L3_Cache_Miss")		by name, PLACE.NAME, alias or pattern of these
 *
 * A formula is text here: its names are events (as after -e, and the model's own) and values of
 * /proc. The monitor looks them up when it starts: if the machine lacks an event, its metric shows
 * the reason and the others work.
 */
#ifndef CYCLADE_MODEL_SET_H
#define CYCLADE_MODEL_SET_H

#include "model/model.h"

struct set_row {
	const char *place;    /* "cpu", "l3", ...: it is a metric of these */
	const char *instance; /* "3" of channel:3; "*": each box of its events; "": none */
	const char *name, *unit, *formula, *help; /* unit "": a plain number */
	const char *const *alias;		  /* n_alias of them */
	size_t n_alias;
	bool counter; /* only grows; else a gauge, of an interval */
	const char *file;
	unsigned line;
};

struct set {
	const struct set_row *row;
	size_t n;
};

/* `id` NULL: no model is for this CPU, only models/monitor. A row replaces an earlier one of the
 * same place, instance and name. */
int set_load(struct set *s, struct arena *a, const struct model_sources *sources, const char *id,
	     struct err *err) MUST_USE;
bool set_means(const struct set_row *row, const char *said);
/* By an alias alone: another tool's name, which may mean less. */
bool set_means_alias(const struct set_row *row, const char *said);

#endif
