/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * truth - what the programs share. Each takes one argument, how much work it does, and prints a sum
 * of all that it made. KEEP keeps a branch a branch: the compiler cannot join its two sides nor
 * guess at what is behind it, and it costs no instruction.
 */
#ifndef TRUTH_PROGS_H
#define TRUTH_PROGS_H

#include <stdint.h>
#include <stdlib.h>

#define KEEP	 __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

static inline unsigned amount(int argc, char **argv, unsigned usual)
{
	return argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : usual;
}

/* Numbers that look random and are the same in every run. */
static inline uint32_t next_random(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	*s ^= *s << 5;
	return *s;
}

#endif
