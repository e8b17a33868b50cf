/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate BYTES...: what cyclade calibrate measures, in another way: the list is of structures
 * in C, shuffled as a permutation of one cycle by links, timed in short runs.
 * Prints "latency BYTES NS" lines, the least of all rounds.
 *
 * Mispredicts, each as (random - predictable) / rate of the same code, the median of copies of it
 * at 8 offsets in a line of 64 bytes, each the least of all rounds, as lines "mispredict NS":
 *	mispredict		branches on the top bit of a generator, which never repeats
 *	mispredict_indirect	a computed goto to one of 16 labels, which go back to it by a jump
 *	mispredict_return	a return to an address that was pushed before the call (x86-64)
 *
 * A round runs each loop for less than a millisecond (a list five times; memory takes longer), in
 * memory that is taken anew: a neighbour on the core, or pages that share a set of a cache, slow
 * down some rounds, and none makes a loop faster. bench/calibrate.py compares.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE	   64u
#define ROUNDS	   40
#define TAKEN_ONCE (16u << 20) /* bytes from which a list is made once */
#define LISTS	   16

struct line {
	struct line *next;
	char rest[LINE - sizeof(void *)];
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* the processor time of a VM may run slowly */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* ---- latencies ------------------------------------------------------------------------------- */

#define CHASED 20000u
#define CHASES 5

struct list {
	size_t bytes;
	struct line *a; /* NULL: not made */
	const struct line *at;
	double best; /* ns for a load */
};

/* Links lines in the order of a shuffled array. */
static int make(struct list *l)
{
	size_t n = l->bytes / LINE, huge = 2u << 20, room = (l->bytes + huge) / huge * huge;
	uint32_t *order = calloc(n, sizeof(*order));
	uint64_t seed = 12345;

	l->a = aligned_alloc(huge, room);
	if (!l->a || !order) {
		free(order);
		return 1;
	}
	(void)madvise(l->a, room, MADV_HUGEPAGE);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = xorshift(&seed) % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < n; i++)
		l->a[order[i]].next = &l->a[order[(i + 1) % n]];
	l->at = l->a;
	free(order);
	return 0;
}

static double chase(struct list *l, size_t steps)
{
	const struct line *at = l->at;
	double t = now();

	for (size_t i = 0; i < steps; i++)
		at = at->next;
	t = now() - t;
	l->at = at;
	return t / (double)steps;
}

static int latency(struct list *l)
{
	if (!l->a && make(l))
		return 1;
	if (l->bytes < TAKEN_ONCE)
		(void)chase(l, l->bytes / LINE); /* caches hold it */
	for (int i = 0; i < CHASES; i++) {
		double t = chase(l, CHASED);

		l->best = t < l->best ? t : l->best;
	}
	if (l->bytes < TAKEN_ONCE) {
		free(l->a);
		l->a = NULL;
	}
	return 0;
}

/* ---- mispredicts ----------------------------------------------------------------------------- */

#define STEPS  80000u
#define COPIES 8u
#define TABLE  (1u << 18)

static volatile uint64_t sink;
static unsigned char random_bytes[TABLE], same_bytes[TABLE];

/* What a loop reads, and where its next run goes on: what it has seen is soon predicted. */
struct input {
	uint64_t x, mask;
	const unsigned char *bytes;
	size_t at;
};

/* Code from here on begins so far behind a multiple of 64. */
#if defined(__x86_64__)
#define OFFSET(k) __asm__ volatile(".p2align 6\n.fill 8 * " #k ", 1, 0x90\n")
#else
#define OFFSET(k) __asm__ volatile(".p2align 6\n.rept 2 * " #k "\nnop\n.endr\n")
#endif
#define COPY(name, k)                                                      \
	static __attribute__((noinline)) void name##_##k(struct input *in) \
	{                                                                  \
		name##_body(in, OFFSET(k));                                \
	}
#define ALL(name)                                                                              \
	COPY(name, 0)                                                                          \
	COPY(name, 1)                                                                          \
	COPY(name, 2)                                                                          \
	COPY(name, 3)                                                                          \
	COPY(name, 4)                                                                          \
	COPY(name, 5)                                                                          \
	COPY(name, 6)                                                                          \
	COPY(name, 7)                                                                          \
	static void (*const name[COPIES])(struct input * in) = { name##_0, name##_1, name##_2, \
								 name##_3, name##_4, name##_5, \
								 name##_6, name##_7 }

/* Eight branches in an iteration: the loop's own taken branch is rare. */
#define BRANCH                                               \
	x = x * 6364136223846793005u + 1442695040888963407u; \
	if (x >> 63 & mask)                                  \
		sink = x;
#define branches_body(in, offset)                                               \
	do {                                                                    \
		uint64_t x = (in)->x, mask = (in)->mask;                        \
		offset;                                                         \
		for (uint64_t i = 0; i < STEPS; i += 8) {                       \
			BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH BRANCH \
		}                                                               \
		(in)->x = x;                                                    \
	} while (0)
ALL(branches);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* computed goto */
/* The next byte is read ahead of the jump. The labels do not become one: each has a number of its
 * own in an instruction. They are 16 bytes apart: more of them in a line cost 4 cycles more. The
 * compiler may let one of them, the first here, go on without a jump: the predictable byte names
 * another one. */
#define SAME_PLACE 7
#if defined(__x86_64__)
#define NUMBER(n) "mov $" #n ", %0\n.p2align 4\n"
#else
#define NUMBER(n) "mov %0, #" #n "\n.p2align 4\n"
#endif
#define PLACE(n)                                         \
	l##n : __asm__ volatile(NUMBER(n) : "=r"(mark)); \
	goto next;
#define gotos_body(in, offset)                                               \
	do {                                                                 \
		const void *const place[] = {                                \
			&&l0, &&l1, &&l2,  &&l3,  &&l4,	 &&l5,	&&l6,  &&l7, \
			&&l8, &&l9, &&l10, &&l11, &&l12, &&l13, &&l14, &&l15 \
		};                                                           \
		const unsigned char *byte = (in)->bytes;                     \
		uint64_t i = (in)->at, end = i + STEPS, mark;                \
		const void *to, *then = place[0];                            \
		offset;                                                      \
	next:                                                                \
		to = then;                                                   \
		then = place[byte[i % TABLE]];                               \
		if (++i == end) {                                            \
			(in)->at = i % TABLE;                                \
			return;                                              \
		}                                                            \
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
/* Others: a jump that had many targets may be predicted later also when it has one again. */
#define same_body(in, offset) gotos_body(in, offset)
ALL(same);
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
#define pushed_body(in, offset) returns_body((void)(in); offset, "lea 8(%%rsp), %%rsp\n")
#define called_body(in, offset) returns_body((void)(in); offset, "lea 0(%%rsp), %%rsp\n")
ALL(pushed);
ALL(called);
#endif

struct loops {
	const char *name;
	void (*const *run[2])(struct input *in); /* random, predictable */
	struct input in[2][COPIES];
	double best[2][COPIES]; /* ns */
	double mispredicts;	/* of a run */
};

static void round_of(struct loops *l)
{
	for (unsigned i = 0; i < COPIES; i++)
		for (unsigned k = 0; k < 2; k++) {
			double t = now();

			l->run[k][i](&l->in[k][i]);
			t = now() - t;
			l->best[k][i] = t < l->best[k][i] ? t : l->best[k][i];
		}
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over copies, the least and the most. */
static void show(const struct loops *l)
{
	double v[COPIES];

	for (unsigned i = 0; i < COPIES; i++)
		v[i] = (l->best[0][i] - l->best[1][i]) / l->mispredicts;
	qsort(v, COPIES, sizeof(*v), by_value);
	printf("%s %.4f %.4f %.4f\n", l->name, (v[COPIES / 2 - 1] + v[COPIES / 2]) / 2, v[0],
	       v[COPIES - 1]);
}

static struct loops all[] = {
	{ .name = "mispredict", .run = { branches, branches }, .mispredicts = STEPS / 2.0 },
	{ .name = "mispredict_indirect", .run = { gotos, same }, .mispredicts = STEPS * 15 / 16.0 },
#if defined(__x86_64__)
	{ .name = "mispredict_return", .run = { pushed, called }, .mispredicts = STEPS / 4.0 },
#endif
};
#define LOOPS (sizeof(all) / sizeof(*all))

static void prepare(void)
{
	uint64_t seed = 12345;

	for (size_t i = 0; i < TABLE; i++) {
		random_bytes[i] = (unsigned char)(xorshift(&seed) >> 60);
		same_bytes[i] = SAME_PLACE;
	}
	for (size_t l = 0; l < LOOPS; l++)
		for (unsigned i = 0; i < 2 * COPIES; i++) {
			all[l].in[i / COPIES][i % COPIES] = (struct input){
				.x = xorshift(&seed),
				.mask = i < COPIES,
				.bytes = i < COPIES ? random_bytes : same_bytes,
			};
			all[l].best[i / COPIES][i % COPIES] = 1e300;
		}
}

int main(int argc, char **argv)
{
	struct list list[LISTS];
	int n = argc - 1 < LISTS ? argc - 1 : LISTS;

	for (int i = 0; i < n; i++)
		list[i] = (struct list){ .bytes = strtoull(argv[i + 1], NULL, 10), .best = 1e300 };
	prepare();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < n; i++)
			if (latency(&list[i]))
				return 1;
		for (size_t i = 0; i < LOOPS; i++)
			round_of(&all[i]);
	}
	for (int i = 0; i < n; i++)
		printf("latency %zu %.4f %s\n", list[i].bytes, list[i].best, list[i].at ? "" : "!");
	for (size_t i = 0; i < LOOPS; i++)
		show(&all[i]);
	return 0;
}
