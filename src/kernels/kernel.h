/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel - small loops that do one thing, of which each count is known exactly.
 *
 *	k = kernel_find("walk")
 *	kernel_prepare(&w, k, &setup, &err)	memory, its order, code
 *	k->run(&w, n)				n iterations, a multiple of w.round
 *	kernel_release(&w)
 *
 * A kernel is a function and a row of kernels.def. The row has the counts of an iteration, the loop
 * around the body included: `each`, and `per_unit` for each of w.units (lines, levels of calls).
 * A quantity that a row does not name is zero: if an event counts it nevertheless, it leaks. So
 * run(2 * n) minus run(n) is n times the row, exactly; tests/truth/test_kernels.py proves it by
 * following each kernel instruction by instruction.
 *
 * run() allocates and prints nothing. A kernel has x86-64 and AArch64 code (asm.h); on other
 * machines kernel_prepare() fails with ERR_UNSUPPORTED. A kernel_work belongs to one thread at a
 * time.
 */
#ifndef CYCLADE_KERNELS_KERNEL_H
#define CYCLADE_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum kernel_quantity {
#define QUANTITY(id, key, text) Q_##id,
#include "kernels/quantity.def"
#undef QUANTITY
	QUANTITIES
};

struct kernel_setup {
	uint64_t bytes;	  /* of memory that it works on, for each stream; 0: the row's */
	uint64_t stride;  /* of a ring: bytes from slot to slot in memory; 0: the row's */
	unsigned units;	  /* lines or levels; 0: the row's */
	bool huge;	  /* ask for huge pages */
	unsigned layout;  /* which copy of its code, modulo KERNEL_LAYOUTS */
	unsigned on_node; /* 1 + the NUMA node that its memory is bound to; 0: not bound */
	uint64_t most;	  /* bytes that it may take: ERR_LIMIT where it needs more; 0: any */
	unsigned other;	  /* 1 + the CPU that has its lines before (kernel.before); 0: none */
};
#define KERNEL_LAYOUTS \
	8u /* kernels of mispredicts: copies at other offsets in a line of 64 bytes */

struct kernel_work {
	void *map;
	size_t mapped;
	bool huge;	 /* huge pages were asked for, and may be given */
	bool needs_huge; /* in small pages it is another kernel: whoever runs it looks */
	char *a, *b, *c;
	uint64_t mask; /* of offsets in a, b and c, or of indices */
	uint64_t at;   /* where the next run goes on: a small n does not see the same bytes again */
	char *here;    /* the same of a list */
	uint64_t round;
	uint64_t most;
	unsigned units, layout, on_node;
};

struct kernel {
	const char *name;
	const char *means; /* the stall it provokes */
	const char *unit;  /* "line", "level"; NULL: its counts depend on nothing */
	void (*run)(struct kernel_work *w, uint64_t n);
	int (*prepare)(struct kernel_work *w, const struct kernel_setup *s, struct err *err);
	struct kernel_setup usual;
	double each[QUANTITIES], per_unit[QUANTITIES];
	/* Done to its lines before each run of w.round iterations: on another CPU (other),
	 * then on this one. NULL: nothing. */
	void (*before)(struct kernel_work *w, bool other);
};

extern const struct kernel kernels[];
extern const size_t n_kernels;
/* By quantity: its key, and its meaning. */
extern const char *const kernel_quantity_key[QUANTITIES], *const kernel_quantity_text[QUANTITIES];

const struct kernel *kernel_find(const char *name); /* NULL */
/* The count of an iteration with so many units; NAN: pages in an order that gives no exact count.
 */
double kernel_count(const struct kernel *k, enum kernel_quantity q, unsigned units);

#define KERNEL_LINE  64u
#define KERNEL_PAGE  4096u
#define KERNEL_TABLE (1u << 18) /* bytes: more than a predictor remembers of a random order */

/* Lines and pages that have to come: a kernel touches its memory in turns, each line and page of
 * the row's quantities once a turn, always in the same order. A cache that holds twice a turn has
 * nothing to get. One that holds a quarter of it at most has to get all, but for what it keeps. */
#define KERNEL_TIMES 4.0
struct kernel_moved {
	double n;   /* of an iteration: all */
	double low; /* of a cache that always keeps as much as it holds; most keep nothing */
};
/* Of LINES_READ and LINES_WRITTEN: lines that come; those written leave again. Of PAGES: walks.
 * `holds`: lines that a cache, or pages that a TLB holds. False: how many is up to the cache. */
bool kernel_moved(struct kernel_moved *out, const struct kernel *k, const struct kernel_setup *s,
		  enum kernel_quantity q, uint64_t holds);
uint64_t kernel_turn(const struct kernel *k,
		     const struct kernel_setup *s); /* iterations of a turn */
double kernel_lines(const struct kernel *k);	    /* that come in an iteration */

/* The kernel "skid": its load, the code behind it, and the register of the kernel's numbers
 * (PERF_REG_X86_SI, PERF_REG_ARM64_X9) that holds its address until the next iteration. */
struct kernel_skid {
	uintptr_t load, after;
	unsigned n, step; /* instructions behind it, and the bytes of each */
	unsigned reg;
};
bool kernel_skid_place(struct kernel_skid *out); /* false: this machine has no kernels */

/* The kernel "address": its loads are of base + index * scale + disp, registers by the kernel's
 * numbers. The second one overwrites its base with the loaded word, which holds its place. */
struct kernel_load {
	uintptr_t load, after; /* the load, and the instruction behind it */
	unsigned base, index, scale;
	int disp;
	bool overwrites;
};
struct kernel_address {
	struct kernel_load load[2];
};
bool kernel_address_place(struct kernel_address *out); /* false: this machine has no kernels */
/* The address, of its two registers as they are before the load. */
static inline uint64_t kernel_load_address(const struct kernel_load *l, uint64_t base,
					   uint64_t index)
{
	return base + index * l->scale + (uint64_t)l->disp;
}
static inline uint64_t kernel_word_of(uint64_t address)
{
	return ~address; /* no address of a process: the same gives the address of a word */
}

int kernel_prepare(struct kernel_work *w, const struct kernel *k, const struct kernel_setup *s,
		   struct err *err) MUST_USE;
void kernel_release(struct kernel_work *w); /* also of one that could not be prepared */

#endif
