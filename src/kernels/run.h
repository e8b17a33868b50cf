/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - the functions that rows of kernels.def name: RUN measures, PREPARE makes its memory.
 */
#ifndef CYCLADE_KERNELS_RUN_H
#define CYCLADE_KERNELS_RUN_H

#include "kernels/kernel.h"

#define RUN(name)    void run_##name(struct kernel_work *w, uint64_t n)
#define BEFORE(name) void before_##name(struct kernel_work *w, bool other)
#define PREPARE(name) \
	int prepare_##name(struct kernel_work *w, const struct kernel_setup *s, struct err *err)

#define KERNEL(name, run, prepare, bytes, stride, unit, units, means, each, per_unit) RUN(run);
/* run_walk() reads them. */
#define SNOOP(name, before, means) BEFORE(before);
#include "kernels/kernels.def"
#undef KERNEL
#undef SNOOP

PREPARE(nothing);
PREPARE(ring);		/* a: slots of a list in random order, each with the address of the next */
PREPARE(ring_huge);	/* the same in huge pages, or not at all */
PREPARE(ring_in_order); /* the slots in the order of their addresses */
PREPARE(lines);		/* a ring of which all is run; mask: its bytes - 1, a power of two */
PREPARE(split_lock);	/* as split_line; ERR_UNSUPPORTED where the CPU has no such operation */
PREPARE(split_line);	/* a: a slot across two lines that holds its own address */
PREPARE(split_page);	/* the same across two pages */
PREPARE(stream);	/* a: s->bytes, rounded up to a power of two */
PREPARE(streams);	/* a, b, c: each of them so */
PREPARE(addresses);	/* as stream; each word holds kernel_word_of() its address */
PREPARE(same);		/* a and b: the same 8 bytes */
PREPARE(alias);		/* b: 4096 bytes behind a */
PREPARE(apart);		/* b: 4160 bytes behind a */
PREPARE(other_page);	/* a: a page; b: in another one */
PREPARE(same_page);	/* a: a page; b: its first byte */
PREPARE(random);	/* a: bytes 0 to 15 in random order, each equally often */
PREPARE(alternating);	/* a: bytes 0, 1, 0, 1, ... */
PREPARE(zeros);		/* a: bytes 0 */
PREPARE(moment);	/* a: a nanosecond, for nanosleep */
PREPARE(two_cpus);  /* a: a set of CPUs with another one, and 128 bytes behind it of the lowest */
PREPARE(own_code);  /* a: an instruction and a return, which may be written; b: the same */
PREPARE(two_codes); /* the same; b: as much memory in another page */
PREPARE(code);	    /* a: units lines of code, of 64 bytes, and a return */

#endif
