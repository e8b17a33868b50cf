/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jitdump - jit-PID.dump: code that a runtime compiled, with code, lines and times.
 *
 *	jitdump_parse(&j, p, len, &err)		the bytes must outlive j; they are not written to
 *	jitdump_find(&j, addr, time), jitdump_span(...)
 *	jitdump_free(&j)
 *
 * A file starts with "JiTD" in the writer's byte order, then come records, each with a time: code
 * loaded at an address, code moved, lines of the code loaded next, closed. Code is looked up by
 * address and time, because runtimes use memory again: the code that was loaded or moved there
 * last, at or before `time`, wins, and code that moved away is gone. A file cut short gives all
 * that is whole.
 *
 * Times are of the writer's clock: CLOCK_MONOTONIC as a rule (as `perf record -k mono` has it),
 * or a time-stamp counter with `arch_time` set, which no recording's time can be compared with.
 *
 * Costs: one pass and one sort. Memory grows with the records; a version of the address space is
 * kept only where code came to lie over other code, since code that fills a gap has its own time.
 */
#ifndef CYCLADE_SYMBOL_JITDUMP_H
#define CYCLADE_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbol/image/pieces.h"

struct jit_line {
	uint64_t addr; /* as loaded at first */
	const char *file;
	uint32_t line;
	uint32_t discriminator;
};

struct jit_code {
	uint64_t start, size; /* where it lay from `time` on */
	uint64_t time;
	uint64_t loaded_at; /* the address it was loaded at first; its lines are for that one */
	uint64_t index;	    /* the writer's number for it */
	uint64_t offset;    /* place of its bytes in the file, all of them inside it */
	uint64_t from;	    /* of moved code: where it was before; else equal to start */
	const char *name;
	const struct jit_line *line;
	size_t n_line;
	bool moved;
};

struct jit_version {
	uint64_t time;
	uint32_t root;
};

struct jitdump {
	uint32_t pid, machine; /* EM_* */
	uint64_t created;      /* the header's time */
	bool foreign_order, arch_time;
	bool cut;		   /* ends within a record */
	VEC(struct jit_code) code; /* by time, moves too */
	size_t n_bad;		   /* records left out: not understood */
	struct pieces pieces;	   /* values are numbers of `code` */
	VEC(struct jit_version) version;
	struct arena arena;
};

/* -1: no jitdump (ERR_FORMAT); `j` is then empty. */
int jitdump_parse(struct jitdump *j, const void *p, size_t len, struct err *err) MUST_USE;
/* The code that lay at `addr` at `time`, or NULL. UINT64_MAX: at the end. */
const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t addr, uint64_t time);
/* The same; *start, *end, *from and *until are made narrower if the answer for every address in
 * [*start, *end) at every time in [*from, *until) is not known to be this one. */
const struct jit_code *jitdump_span(const struct jitdump *j, uint64_t addr, uint64_t time,
				    uint64_t *start, uint64_t *end, uint64_t *from,
				    uint64_t *until);
void jitdump_free(struct jitdump *j);

/* Whether `path` is named as jitdump files are, .../jit-PID.dump, and whose: a runtime maps such a
 * file so that the recorder learns of it. */
bool jitdump_path_pid(const char *path, uint32_t *pid);

#endif
