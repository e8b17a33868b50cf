/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fdo_int - a profile for compilers in the making: functions, lines and targets in order of first
 * sight, each found by its key.
 */
#ifndef CYCLADE_ANALYSE_PGO_FDO_INT_H
#define CYCLADE_ANALYSE_PGO_FDO_INT_H

#include "analyse/fdo.h"
#include "analyse/itab.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbol/source.h"

#define FDO_NONE   UINT32_MAX
#define FDO_LEVELS 64u /* of inlining */

struct made_function {
	uint32_t name, parent; /* parent: FDO_NONE if not inlined */
	struct fdo_place at;
	uint64_t total, head;
};

struct made_line {
	uint32_t function;
	struct fdo_place at;
	uint64_t count;
};

struct made_target {
	uint32_t line, name;
	uint64_t count;
};

struct fdo_maker {
	struct images *images;
	uint32_t image;
	const struct source *source;
	struct strtab names;
	VEC(struct made_function) function;
	VEC(struct made_line) line;
	VEC(struct made_target) target;
	struct itab function_at, line_at, target_at;
	struct fdo counts; /* weights left out */
};

/* An instruction at an image address ran `count` times, which are `bytes` for totals. *line (may be
 * NULL): the line it is of, or FDO_NONE. -1 only when out of memory. */
int fdo_add_insn(struct fdo_maker *m, uint64_t addr, uint64_t count, uint64_t bytes,
		 uint32_t *line) MUST_USE;
int fdo_add_target(struct fdo_maker *m, uint32_t line, uint32_t name, uint64_t count) MUST_USE;
/* Sets the name of the function at an image address; FDO_NONE if it has none. */
int fdo_name_at(struct fdo_maker *m, uint64_t addr, uint32_t *name) MUST_USE;
int fdo_add_head(struct fdo_maker *m, uint64_t addr, uint64_t count) MUST_USE;

int fdo_begin(struct fdo_maker *m, struct images *images, uint32_t image, struct err *err) MUST_USE;
void fdo_finish(struct fdo_maker *m, struct fdo **out);
void fdo_maker_free(struct fdo_maker *m);

#endif
