/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * begin and end by rdpmc: a function for each number of counters, without a branch but the one that
 * compares the sums of locks and the one that looks at the time. Other cases go to slow.c.
 *
 * Five instructions read a counter; three more for two of them add them up. REGION_RDPMC stands for
 * the instruction: a build that counts instructions puts another in its place, unit tests a call.
 * The counters are read before the locks are summed up, and in begin last of all the time stamp, in
 * end the time stamp first: neither waits for the instructions before it (no lfence), so that
 * single runs are known to some tens of cycles.
 */
#include "region/region_int.h"

#if defined(__x86_64__)

#define ALWAYS	 static inline __attribute__((always_inline))
#define FAST	 __attribute__((no_sanitize("thread", "address", "undefined"), noinline))
#define rare(x)	 __builtin_expect(!!(x), 0)
#define together __asm__ volatile("" ::: "memory")

/* A loop of at most eight that is always unrolled. */
#define do_if(at, n, what)             \
	do {                           \
		const size_t i = (at); \
                                       \
		if (i < (n))           \
			what;          \
	} while (0)
#define for_each_of(n, what)       \
	do {                       \
		do_if(0, n, what); \
		do_if(1, n, what); \
		do_if(2, n, what); \
		do_if(3, n, what); \
		do_if(4, n, what); \
		do_if(5, n, what); \
		do_if(6, n, what); \
		do_if(7, n, what); \
	} while (0)

typedef long long pair __attribute__((vector_size(16), may_alias));

/* Counter `i` of the thread to st[i] and `more` bytes behind that, and its lock to the sum. */
ALWAYS void read_one(struct region *r, struct thread *t, size_t i, uint64_t more, uint64_t *sum)
{
	__asm__ volatile("movl %[idx], %%ecx\n\t" REGION_RDPMC "\n\t"
			 "movl %%eax, %c[lo](%[to],%[more])\n\t"
			 "movl %%edx, %c[hi](%[to],%[more])\n\t"
			 "addl %[lock], %k[sum]"
			 : [sum] "+r"(*sum)
			 : [idx] "m"(t->idx[i]), [lock] "m"(page_of(t, i)->lock), [to] "r"(r),
			   [more] "r"(more), [lo] "i"(offsetof(struct region, st) + 8 * i),
			   [hi] "i"(offsetof(struct region, st) + 8 * i + 4)
			 : "eax", "ecx", "edx", "cc", "memory");
}

/* The same, without more. */
ALWAYS void read_here(struct thread *t, size_t i, uint64_t *to, uint64_t *sum)
{
	uint32_t *half = (uint32_t *)to;

	__asm__ volatile("movl %[idx], %%ecx\n\t" REGION_RDPMC "\n\t"
			 "movl %%eax, %[lo]\n\t"
			 "movl %%edx, %[hi]\n\t"
			 "addl %[lock], %k[sum]"
			 : [lo] "=m"(half[0]), [hi] "=m"(half[1]), [sum] "+r"(*sum)
			 : [idx] "m"(t->idx[i]), [lock] "m"(page_of(t, i)->lock)
			 : "eax", "ecx", "edx", "cc");
}

/* Start value of the sum: 0 if the handle is this thread's (`depth` holds its thread's pointer,
 * negative) and closed. The upper half stays 0. */
ALWAYS uint64_t whose(const struct region *r)
{
	uint64_t sum;

	__asm__ volatile("movl %%fs:0, %k[sum]\n\t"
			 "addl %[depth], %k[sum]"
			 : [sum] "=&r"(sum)
			 : [depth] "m"(r->depth)
			 : "cc");
	return sum;
}

/* An open region's notes are not overwritten: en, behind them, is free while it is open. */
ALWAYS void read_for_begin(struct region *r, struct thread *t, size_t n, uint64_t *sum)
{
	uint64_t more = *sum & OPEN_BIT;

	for_each_of(n, read_one(r, t, i, more, sum));
}

ALWAYS void begin(struct region *r, size_t n, bool metrics)
{
	struct thread *t = r->thread;
	uint64_t want = t->sum, sum, now;

	together; /* `want` is read before the counters */
	sum = whose(r);
	read_for_begin(r, t, n, &sum);
	if (rare(sum != want)) {
		slow_begin(r);
		return;
	}
	if (metrics) {
		now = time_stamp();
		if (rare(now > t->next)) {
			slow_tick_begin(r, now);
			return;
		}
	}
	r->sum = (uint32_t)(sum + DEPTH_ONE);
	together;
	__asm__ volatile("addl %1, %0" : "+m"(r->depth) : "i"(DEPTH_ONE) : "memory", "cc");
	if (metrics)
		r->t0 = now;
	else
		__asm__ volatile("rdtsc\n\t"
				 "movl %%eax, %0\n\t"
				 "movl %%edx, 4+%0"
				 : "=m"(r->t0)
				 :
				 : "eax", "edx");
}

ALWAYS void bump(uint64_t *seq)
{
	__asm__ volatile("incq %0" : "+m"(*seq) : : "memory", "cc");
}

ALWAYS void add_pair(struct table_slot *slot, struct region *r, size_t i)
{
	pair *acc = (pair *)&slot->acc[i], sum;

	/* by hand, as compilers differ by an instruction */
	__asm__("movdqa %[en], %[sum]\n\t"
		"psubq %[st], %[sum]\n\t"
		"paddq %[acc], %[sum]\n\t"
		"movdqa %[sum], %[acc]"
		: [sum] "=&x"(sum), [acc] "+m"(*acc)
		: [en] "m"(*(pair *)&r->en[i]), [st] "m"(*(pair *)&r->st[i]));
}

ALWAYS void add_difference(uint64_t *sum, uint64_t b, const uint64_t *a)
{
	__asm__("subq %[a], %[b]\n\t"
		"addq %[b], %[sum]"
		: [sum] "+m"(*sum), [b] "+r"(b)
		: [a] "m"(*a)
		: "cc");
}

ALWAYS void add_field(struct table_slot *slot, const struct region *r, size_t i)
{
	const uint8_t *a = (const uint8_t *)&r->st[1], *b = (const uint8_t *)&r->en[1];

	slot->field[i] += b[i] * r->en[0] - a[i] * r->st[0];
}

ALWAYS void add_fields(struct table_slot *slot, const struct region *r, size_t fields)
{
	for_each_of(fields, add_field(slot, r, i));
	add_error(slot, r->st[0], r->en[0]);
}

ALWAYS void end(struct region *r, size_t n, size_t fields)
{
	uint64_t now = time_stamp(), want, sum;
	struct thread *t = r->thread;
	struct table_slot *slot = r->slot;

	want = r->sum;
	together;
	sum = whose(r);
	for_each_of(n, read_here(t, i, &r->en[i], &sum));
	if (rare(sum != want)) {
		slow_end(r, now);
		return;
	}
	bump(&slot->seq);
	for_each_of(n / 2, add_pair(slot, r, 2 * i));
	if (n & 1)
		add_difference(&slot->acc[n - 1], r->en[n - 1], &r->st[n - 1]);
	if (fields)
		add_fields(slot, r, fields);
	add_difference(&slot->tsc, now, &r->t0);
	bump(&slot->seq);
	__asm__ volatile("subl %1, %0" : "+m"(r->depth) : "i"(DEPTH_ONE) : "memory", "cc");
	if (rare(now > t->next))
		slow_tick(r, now);
}

#define OPS(n, fields)                                                  \
	FAST static void begin_##n##_##fields(struct cyclade_region *r) \
	{                                                               \
		begin(region_of(r), n, fields);                         \
	}                                                               \
	FAST static void end_##n##_##fields(struct cyclade_region *r)   \
	{                                                               \
		end(region_of(r), n, fields);                           \
	}
#define PLAIN_AND_FIELDS(n) OPS(n, 0) OPS(n, 4) OPS(n, 8)

OPS(1, 0)
PLAIN_AND_FIELDS(2)
PLAIN_AND_FIELDS(3)
PLAIN_AND_FIELDS(4)
PLAIN_AND_FIELDS(5)
PLAIN_AND_FIELDS(6)
PLAIN_AND_FIELDS(7)
PLAIN_AND_FIELDS(8)

#define ROW(n, fields)                                   \
	{                                                \
		begin_##n##_##fields, end_##n##_##fields \
	}
#define ROWS(n)                                 \
	{                                       \
		ROW(n, 0), ROW(n, 4), ROW(n, 8) \
	}

static const struct cyclade_region ops[FAST_READS][3] = {
	{ ROW(1, 0) }, ROWS(2), ROWS(3), ROWS(4), ROWS(5), ROWS(6), ROWS(7), ROWS(8),
};

struct cyclade_region fast_ops(size_t reads, size_t fields)
{
	if (reads < 1 || reads > FAST_READS || (fields != 0 && fields != 4 && fields != 8))
		return (struct cyclade_region){ NULL, NULL };
	return ops[reads - 1][fields / 4];
}

bool fast_here(void)
{
	return true;
}

#else

struct cyclade_region fast_ops(size_t reads, size_t fields)
{
	(void)reads;
	(void)fields;
	return (struct cyclade_region){ NULL, NULL };
}

bool fast_here(void)
{
	return false;
}

#endif
