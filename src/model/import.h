/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import - a model's texts out of vendors' JSON: the event and metric files of intel/perfmon and
 * those of Linux' pmu-events (Intel, AMD, Arm).
 *
 *	model_import(&out, arena, files, n, &facts, &err)
 *
 * Names, encodings and formulas are carried over; descriptions are not. Metrics with a place in the
 * top-down tree become its nodes: by Level and ParentCategory, or by the groups TopdownL1, X_group
 * that perf's files have; the prefix tma_ is left out of names, so that nodes have the names of our
 * texts. If a formula has a name that no file has, the name is marked absent, and such metrics have
 * no value. Notes have everything that could not be carried over.
 *
 * Bytes from outside: a file that is no JSON fails with its place, anything else is skipped.
 */
#ifndef CYCLADE_MODEL_IMPORT_H
#define CYCLADE_MODEL_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"

struct import_file {
	const char *name; /* for messages and the provenance lines */
	const char *s;
	size_t len;
};

/* Facts on the CPU that no file has. */
struct import_facts {
	const char *id;
	const struct model *known; /* a model of this id, for its facts; NULL: made out of the
				    * events */
};

struct model_imported {
	const char *path[4]; /* "intel/spr/model", "tree", "metrics", "events" of the same */
	const char *text[4];
	size_t events, nodes, metrics;
	const char *const *note;
	size_t n_notes;
};

int model_import(struct model_imported *out, struct arena *a, const struct import_file *file,
		 size_t n, const struct import_facts *facts, struct err *err) MUST_USE;

#endif
