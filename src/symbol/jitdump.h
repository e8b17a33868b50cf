/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jitdump - jit-PID.dump: what a runtime compiled, with code, lines and times.
 *
 *	jitdump_parse(&j, p, len, &err)		the bytes must outlive j; they are not written to
 *	jitdump_find(&j, addr, time)
 *	jitdump_free(&j)
 *
 * A file starts with "JiTD" in the writer's byte order, then records, each with a time: code loaded
 * at an address, code moved, lines of the code loaded next, closed. Code is looked up by address
 * and time, because runtimes use memory again: what was loaded or moved there last, at or before
 * `time`, wins. A file cut short gives all that is whole; `cut` tells.
 *
 * Times are of the writer's clock: CLOCK_MONOTONIC as a rule (what `perf record -k mono` records),
 * or the time-stamp counter with `arch_time` set, which no recording's time can be compared with.
 */
#ifndef CYCLADE_SYMBOL_JITDUMP_H
#define CYCLADE_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct jit_line {
	uint64_t addr; /* as loaded; code that moved took its lines along */
	const char *file;
	uint32_t line, column;
};

struct jit_code {
	uint64_t start, size; /* where it lay from `time` on */
	uint64_t time, until; /* until something else lay at its start: [time, until) */
	uint64_t loaded_at;   /* the address it was loaded at first; lines are for that one */
	uint64_t index;	      /* the writer's number for it */
	const char *name;
	const uint8_t *code; /* `size` bytes, NULL where the writer left them out */
	const struct jit_line *line;
	size_t n_line;
};

struct jitdump {
	uint32_t pid, machine; /* EM_* */
	uint64_t created;      /* the header's time */
	bool foreign_order, arch_time;
	bool cut;	       /* ends within a record */
	struct jit_code *code; /* by time */
	size_t n;
	size_t n_bad;		 /* records left out: not understood */
	struct jit_piece *piece; /* disjoint address ranges over time: jitdump.c */
	size_t n_piece;
	struct arena arena;
};

#define JITDUMP_INIT                                                          \
	{                                                                     \
		0, 0, 0, false, false, false, NULL, 0, 0, NULL, 0, ARENA_INIT \
	}

/* -1: no jitdump (ERR_FORMAT) or out of memory. */
int jitdump_parse(struct jitdump *j, const void *p, size_t len, struct err *err) MUST_USE;
/* The code that lay at `addr` at `time`, or NULL. UINT64_MAX: at the end. */
const struct jit_code *jitdump_find(const struct jitdump *j, uint64_t addr, uint64_t time);
void jitdump_free(struct jitdump *j);

/* Whether `path` is named as jitdump files are, .../jit-PID.dump, and whose: a mapping of such a
 * file is how a runtime tells the recorder of it. */
bool jitdump_path_pid(const char *path, uint32_t *pid);

#endif
