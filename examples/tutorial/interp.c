/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An interpreter whose operations were all unrolled into a large amount of code.
 *
 *	cc -O2 -g -o interp interp.c && ./interp slow && ./interp fixed
 *
 * slow: 1024 copies of an operation, 256 kB of code, called in a random order: the
 * instruction cache misses at each call.
 * fixed: one copy, with the number as its argument: the code stays in the cache.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define STEPS	 3000000

/* an operation: mixes the state with a number of its own, in 256 bytes of code */
#define MIX(n)	s = (s ^ (n)) * 0x9e3779b1u + (s >> 15);
#define BODY(n) MIX(n) MIX((n) + 3u) MIX((n) + 5u) MIX((n) + 7u)
/* clang-format off */
#define OP(n) \
	NOINLINE __attribute__((aligned(256))) static uint32_t op_##n(uint32_t s) { \
		BODY(0x##n##u) return s; }
#define NAME(n) op_##n,
#define OPS16(n) \
	OP(n##0) OP(n##1) OP(n##2) OP(n##3) \
	OP(n##4) OP(n##5) OP(n##6) OP(n##7) \
	OP(n##8) OP(n##9) OP(n##a) OP(n##b) \
	OP(n##c) OP(n##d) OP(n##e) OP(n##f)
#define OPS256(n) \
	OPS16(n##0) OPS16(n##1) OPS16(n##2) OPS16(n##3) \
	OPS16(n##4) OPS16(n##5) OPS16(n##6) OPS16(n##7) \
	OPS16(n##8) OPS16(n##9) OPS16(n##a) OPS16(n##b) \
	OPS16(n##c) OPS16(n##d) OPS16(n##e) OPS16(n##f)
#define NAMES16(n) \
	NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) \
	NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7) \
	NAME(n##8) NAME(n##9) NAME(n##a) NAME(n##b) \
	NAME(n##c) NAME(n##d) NAME(n##e) NAME(n##f)
#define NAMES256(n) \
	NAMES16(n##0) NAMES16(n##1) NAMES16(n##2) NAMES16(n##3) \
	NAMES16(n##4) NAMES16(n##5) NAMES16(n##6) NAMES16(n##7) \
	NAMES16(n##8) NAMES16(n##9) NAMES16(n##a) NAMES16(n##b) \
	NAMES16(n##c) NAMES16(n##d) NAMES16(n##e) NAMES16(n##f)
OPS256(0) OPS256(1) OPS256(2) OPS256(3)
static uint32_t (*const ops[1024])(uint32_t) = {
	NAMES256(0) NAMES256(1) NAMES256(2) NAMES256(3)
};
/* clang-format on */

NOINLINE static uint32_t run_op(uint32_t s, uint32_t n)
{
	BODY(n)
	return s;
}

NOINLINE static uint32_t run_unrolled(uint32_t s)
{
	for (uint32_t i = 0, at = 1; i < STEPS; i++) {
		at = at * 1664525u + 1013904223u;
		s = ops[at >> 22](s);
	}
	return s;
}

NOINLINE static uint32_t run_compact(uint32_t s)
{
	for (uint32_t i = 0, at = 1; i < STEPS; i++) {
		at = at * 1664525u + 1013904223u;
		s = run_op(s, at >> 22);
	}
	return s;
}

int main(int argc, char **argv)
{
	int fixed = argc > 1 && !strcmp(argv[1], "fixed");

	printf("%u\n", fixed ? run_compact(1) : run_unrolled(1));
	return 0;
}
