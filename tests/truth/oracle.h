/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle - runs a program in QEMU, samples it as a PMU with branch records would, and knows the
 * truth of what it sampled.
 *
 *	oracle.c	options, what QEMU calls, which TB followed which
 *	oracle_cpu.c	the processor: what an instruction does to control flow, predictors, costs
 *	oracle_map.c	which file is where, by /proc/self/maps and ELF headers
 *	oracle_file.c	the recording: a perf.data
 *	oracle_truth.c	exact counts, and the text file they end in
 *
 * One program, one thread, x86-64 on a little-endian host whose address space it shares. Memory is
 * never given back: the process ends with the program.
 */
#ifndef TRUTH_ORACLE_H
#define TRUTH_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the processor ---- */

enum kind { /* how an instruction leaves for elsewhere; names in oracle_truth.c */
	    KIND_NONE,
	    KIND_COND,
	    KIND_JUMP,
	    KIND_JUMP_INDIRECT,
	    KIND_CALL,
	    KIND_CALL_INDIRECT,
	    KIND_RETURN,
	    KIND_SYSCALL,
	    KIND_REPEAT, /* a string instruction that QEMU repeats by jumping to it */
	    KIND_FALL,	 /* of edges only: a conditional branch that was not taken */
};

enum kind cpu_kind(const uint8_t *p, size_t len);
/* Quarters of cycles an instruction takes. The model is simple on purpose: one quarter each,
 * but for divisions and square roots (COST_LONG) and system calls. */
uint64_t cpu_cost(const uint8_t *p, size_t len);
#define COST_MISPREDICT 80 /* quarters; between a mispredicted branch and what comes after it */
/* Was this branch mispredicted? The predictors learn by being asked. */
bool cpu_mispredicts(enum kind kind, uint64_t from, uint64_t behind, uint64_t to);

/* ---- where files are ---- */

struct map {
	uint64_t start, end; /* of its executable segment, whole pages */
	uint64_t offset;     /* in the file, of start */
	uint64_t vaddr;	     /* of start, by the file's program headers */
	unsigned image;
	unsigned major, minor;
	uint64_t inode;
	uint64_t plt[4][2]; /* [start, end) of trampolines, by run-time addresses */
	const char *path;
};

/* NULL: no file is there. fresh: it was not known before. */
const struct map *map_of(uint64_t addr, bool *fresh);
/* The same of what is known already. */
const struct map *map_known(uint64_t addr);
bool map_is_plt(const struct map *m, uint64_t addr);
const char *map_image(unsigned i); /* NULL behind the last */

/* ---- exact counts ---- */

struct block { /* a TB */
	uint64_t start, last, behind;
	struct block *older;
	struct pair *taken, *fall, *span; /* those met last */
	uint64_t runs, cost;
	uint32_t n;
	enum kind kind;
	uint16_t at[]; /* instructions, bytes from start */
};

struct pair { /* of addresses: an edge, a span, a call */
	uint64_t a, b, n, mispredicted, cycles;
	enum kind kind;
};

struct pairs {
	struct pair **slot;
	size_t n, size;
};

struct pair *pairs_get(struct pairs *p, uint64_t a, uint64_t b);

#define TIME_SHIFT 48 /* of cycles, 0xffff at most, as in entries; addresses have less bits */

struct truth {
	struct block *blocks; /* newest first */
	struct pairs edges, spans, calls;
	struct pairs times; /* spans by what they took: b has it above TIME_SHIFT */
	/* Totals. odd: TBs that were left for where they do not lead. */
	uint64_t insns, taken, calls_n, returns, mispredicted, odd, samples, quarters;
};

int truth_write(const struct truth *t, const char *path);

/* ---- the recording ---- */

struct entry { /* a branch record; flags as in struct perf_branch_entry */
	uint64_t from, to, flags;
};
#define ENTRY_MISPREDICTED 1u
#define ENTRY_PREDICTED	   2u
#define ENTRY_CYCLES(n)	   ((uint64_t)((n) > 0xffff ? 0xffff : (n)) << 4)
#define ENTRY_TYPE(t)	   ((uint64_t)(t) << 20)

struct recording {
	const char *path, *program;
	char event[64];
	uint64_t config; /* of a raw event */
	uint64_t period, branch_filter;
	uint32_t pid;
	bool precise;
	FILE *f;
};

int recording_begin(struct recording *r);
int recording_end(struct recording *r, uint64_t time);
void recording_map(struct recording *r, const struct map *m, uint64_t time);
/* Branches newest first: n of a ring of `size`, the newest at `newest`. */
void recording_sample(struct recording *r, uint64_t ip, uint64_t time, uint64_t period,
		      const struct entry *ring, unsigned size, unsigned newest, unsigned n);

#endif
