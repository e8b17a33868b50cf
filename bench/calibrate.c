/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate BYTES...: what cyclade calibrate measures, in another way: the list is of structures
 * in C, shuffled as a permutation of one cycle by links, timed as a whole with the clock of the
 * process. Prints "latency BYTES NS" lines, the least of several runs.
 *
 * Mispredicts, each as (random - predictable) / rate of the same code, the median of copies of it
 * at 8 offsets in a line of 64 bytes, each the least of several runs, as lines "mispredict NS":
 *	mispredict		branches on the top bit of a generator, which never repeats
 *	mispredict_indirect	a computed goto to one of 16 labels, which go back to it by a jump
 *	mispredict_return	a return to an address that was pushed before the call (x86-64)
 * bench/calibrate.py compares.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64u
#define RUNS 7

struct line {
	struct line *next;
	char rest[LINE - sizeof(void *)];
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Links lines in the order of a shuffled array. */
static int latency(size_t bytes)
{
	size_t n = bytes / LINE, huge = 2u << 20, room = (bytes + huge) / huge * huge;
	struct line *a = aligned_alloc(huge, room);
	uint32_t *order = calloc(n, sizeof(*order));
	uint64_t seed = 12345, steps = n > 2000000 ? n : 2000000;
	const struct line *at = a;
	double best = 1e300;

	if (!a || !order)
		return 1;
	(void)madvise(a, room, MADV_HUGEPAGE);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = xorshift(&seed) % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < n; i++)
		a[order[i]].next = &a[order[(i + 1) % n]];
	for (int run = 0; run < RUNS; run++) {
		double t = now();

		for (uint64_t i = 0; i < steps; i++)
			at = at->next;
		t = (now() - t) / (double)steps;
		best = t < best ? t : best;
	}
	printf("latency %zu %.4f %s\n", bytes, best, at ? "" : "!");
	free(order);
	free(a);
	return 0;
}

/* ---- mispredicts ----------------------------------------------------------------------------- */

#define STEPS  2000000u
#define COPIES 8u
#define TABLE  (1u << 18)

static volatile uint64_t sink;
static unsigned char random_bytes[TABLE], zeros[TABLE];

/* Code from here on begins so far behind a multiple of 64. */
#if defined(__x86_64__)
#define OFFSET(k) __asm__ volatile(".p2align 6\n.fill 8 * " #k ", 1, 0x90\n")
#else
#define OFFSET(k) __asm__ volatile(".p2align 6\n.rept 2 * " #k "\nnop\n.endr\n")
#endif
#define COPY(name, k)                                                      \
	static __attribute__((noinline)) void name##_##k(const void *what) \
	{                                                                  \
		name##_body(what, OFFSET(k));                              \
	}
#define ALL(name)                                                                             \
	COPY(name, 0)                                                                         \
	COPY(name, 1)                                                                         \
	COPY(name, 2)                                                                         \
	COPY(name, 3)                                                                         \
	COPY(name, 4)                                                                         \
	COPY(name, 5)                                                                         \
	COPY(name, 6)                                                                         \
	COPY(name, 7)                                                                         \
	static void (*const name[COPIES])(const void *what) = { name##_0, name##_1, name##_2, \
								name##_3, name##_4, name##_5, \
								name##_6, name##_7 }

/* Eight branches in an iteration: the loop's own taken branch is rare. what: a mask. */
#define BRANCH                                               \
	x = x * 6364136223846793005u + 1442695040888963407u; \
	if (x >> 63 & mask)                                  \
		sink = x;
#define branches_body(what, offset)                                                         \
	do {                                                                                \
		uint64_t x = 88172645463325252u, mask = *(const volatile uint64_t *)(what); \
		offset;                                                                     \
		for (uint64_t i = 0; i < STEPS; i += 8) {                                   \
			BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH             \
		}                                                                           \
	} while (0)
ALL(branches);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* computed goto */
/* what: bytes, the next of which is read ahead of the jump. The labels do not become one: each has
 * a number of its own in an instruction. They are 16 bytes apart: more of them in a line cost 4
 * cycles more. */
#if defined(__x86_64__)
#define NUMBER(n) "mov $" #n ", %0\n.p2align 4\n"
#else
#define NUMBER(n) "mov %0, #" #n "\n.p2align 4\n"
#endif
#define PLACE(n)                                         \
	l##n : __asm__ volatile(NUMBER(n) : "=r"(mark)); \
	goto next;
#define gotos_body(what, offset)                                             \
	do {                                                                 \
		const void *const place[] = {                                \
			&&l0, &&l1, &&l2,  &&l3,  &&l4,	 &&l5,	&&l6,  &&l7, \
			&&l8, &&l9, &&l10, &&l11, &&l12, &&l13, &&l14, &&l15 \
		};                                                           \
		const unsigned char *byte = (what);                          \
		uint64_t i = 0, mark;                                        \
		const void *to, *then = place[0];                            \
		offset;                                                      \
	next:                                                                \
		to = then;                                                   \
		then = place[byte[i % TABLE]];                               \
		if (++i == STEPS)                                            \
			return;                                              \
		goto *to;                                                    \
		PLACE(0)                                                     \
		PLACE(1)                                                     \
		PLACE(2)                                                     \
		PLACE(3)                                                     \
		PLACE(4)                                                     \
		PLACE(5)                                                     \
		PLACE(6)                                                     \
		PLACE(7)                                                     \
		PLACE(8)                                                     \
		PLACE(9)                                                     \
		PLACE(10)                                                    \
		PLACE(11)                                                    \
		PLACE(12)                                                    \
		PLACE(13)                                                    \
		PLACE(14)                                                    \
		PLACE(15)                                                    \
	} while (0)
ALL(gotos);
#pragma GCC diagnostic pop

#if defined(__x86_64__)
/* A function that returns to where it came from, or to an address below that on the stack. */
#define RETURNS(leave)                                                                     \
	"1:\nlea 4f(%%rip), %%rax\npush %%rax\ncall 3f\n2:\nlea 8(%%rsp), %%rsp\njmp 5f\n" \
	"3:\n" leave "ret\n.p2align 4\n4:\njmp 5f\n5:\ndec %0\njnz 1b\n"
#define returns_body(offset, leave)                                                     \
	do {                                                                            \
		uint64_t n = STEPS / 4;                                                 \
		offset;                                                                 \
		__asm__ volatile("sub $256, %%rsp\n" RETURNS(leave) "add $256, %%rsp\n" \
				 : "+r"(n)                                              \
				 :                                                      \
				 : "rax", "memory", "cc");                              \
	} while (0)
#define pushed_body(what, offset) returns_body((void)(what); offset, "lea 8(%%rsp), %%rsp\n")
#define called_body(what, offset) returns_body((void)(what); offset, "lea 0(%%rsp), %%rsp\n")
ALL(pushed);
ALL(called);
#endif

static double least(void (*run)(const void *what), const void *what)
{
	double best = 1e300;

	for (int i = 0; i < RUNS; i++) {
		double t = now();

		run(what);
		t = now() - t;
		best = t < best ? t : best;
	}
	return best;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over copies of what `a` takes more than `b`, for each of so many mispredicts. */
static void show(const char *name, void (*const *random)(const void *), const void *a,
		 void (*const *same)(const void *), const void *b, double mispredicts)
{
	double v[COPIES];

	for (unsigned i = 0; i < COPIES; i++)
		v[i] = (least(random[i], a) - least(same[i], b)) / mispredicts;
	qsort(v, COPIES, sizeof(*v), by_value);
	printf("%s %.4f %.4f %.4f\n", name, (v[COPIES / 2 - 1] + v[COPIES / 2]) / 2, v[0],
	       v[COPIES - 1]);
}

int main(int argc, char **argv)
{
	static const uint64_t zero = 0, one = 1;
	uint64_t seed = 12345;

	for (int i = 1; i < argc; i++)
		if (latency(strtoull(argv[i], NULL, 10)))
			return 1;
	for (size_t i = 0; i < TABLE; i++)
		random_bytes[i] = (unsigned char)(xorshift(&seed) >> 60);
	show("mispredict", branches, &one, branches, &zero, STEPS / 2.0);
	show("mispredict_indirect", gotos, random_bytes, gotos, zeros, STEPS * 15 / 16.0);
#if defined(__x86_64__)
	show("mispredict_return", pushed, NULL, called, NULL, STEPS / 4.0);
#endif
	return 0;
}
