/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for kernels, and its contents.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/mempolicy.h>

#include "kernels/run.h"
#include "base/hash.h"

#define LINE	    KERNEL_LINE
#define PAGE	    KERNEL_PAGE
#define HUGE_PAGE   (2u << 20)
#define BYTES_MOST  (UINT64_C(1) << 40)
#define NODES	    1024u /* of NUMA */
#define TABLE_BYTES KERNEL_TABLE

/* Before it is touched. */
static int bind(const struct kernel_work *w, void *at, uint64_t bytes, struct err *err)
{
	unsigned long mask[NODES / LONG_BIT] = { 0 };
	unsigned node = w->on_node - 1;

	if (!w->on_node)
		return 0;
	if (node >= NODES)
		return err_set(err, ERR_LIMIT, "NUMA node %u: only %u can be used", node, NODES);
	mask[node / LONG_BIT] |= 1UL << (node % LONG_BIT);
	if (syscall(SYS_mbind, at, (unsigned long)bytes, MPOL_BIND, mask, (unsigned long)NODES, 0))
		return err_sys(err, "memory of NUMA node %u", node);
	return 0;
}

/* One mapping of whole huge pages or pages, all of it touched. */
static int take_kernel_memory(struct kernel_work *w, uint64_t bytes, bool huge, struct err *err)
{
	uint64_t unit = huge ? HUGE_PAGE : PAGE, need = (bytes + unit - 1) / unit * unit;
	char *at;

	if (bytes > BYTES_MOST)
		return err_set(err, ERR_LIMIT, "a kernel cannot have %llu bytes",
			       (unsigned long long)bytes);
	if (w->most && need > w->most)
		return err_set(
			err, ERR_LIMIT,
			"it takes more than a quarter of the memory that is free or allowed");
	w->mapped = need + (huge ? HUGE_PAGE : 0);
	w->map = mmap(NULL, w->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return err_sys(err, "memory for a kernel: %zu bytes", w->mapped);
	}
	at = w->map;
	at += (unit - (uintptr_t)at % unit) % unit;
	w->huge = huge && !madvise(at, need, MADV_HUGEPAGE);
	if (!huge)
		(void)madvise(at, need, MADV_NOHUGEPAGE);
	if (bind(w, at, need, err))
		return -1;
	memset(at, 0, need);
	w->a = w->b = w->c = w->here = at;
	return 0;
}

PREPARE(nothing)
{
	(void)w;
	(void)s;
	(void)err;
	return 0;
}

/* ---- lists ----------------------------------------------- */

/* Where slot i is. With a stride that is not a line, slots of neighbouring pages lie in different
 * lines of them: they do not all fall into one set of the caches. */
static char **slot(const struct kernel_work *w, uint64_t stride, uint64_t i)
{
	return (char **)(void *)(w->a + i * stride + (stride >= PAGE ? i * LINE % PAGE : 0));
}

static int slots(struct kernel_work *w, const struct kernel_setup *s, bool huge, struct err *err)
{
	uint64_t n = s->bytes / s->stride;

	if (n < 2)
		return err_set(err, ERR_USAGE, "a list needs two slots");
	if (take_kernel_memory(w, s->bytes, huge, err))
		return -1;
	if (huge && !s->huge && !w->huge)
		return err_set(err, ERR_UNSUPPORTED, "the kernel gives no huge pages");
	w->needs_huge = huge && !s->huge;
	for (uint64_t i = 0; i < n; i++)
		*slot(w, s->stride, i) = (char *)slot(w, s->stride, i);
	return 0;
}

/* One cycle through all slots (Sattolo), made where it stands: each slot begins with its own
 * address, which goes to another slot. */
static void shuffle_slots(struct kernel_work *w, const struct kernel_setup *s)
{
	uint64_t n = s->bytes / s->stride, seed = n;

	for (uint64_t i = n - 1; i > 0; i--) {
		char **x = slot(w, s->stride, i);
		char **y = slot(w, s->stride, random_next(&seed) % i), *kept = *x;

		*x = *y;
		*y = kept;
	}
}

PREPARE(ring)
{
	if (slots(w, s, s->huge, err))
		return -1;
	shuffle_slots(w, s);
	return 0;
}

PREPARE(ring_huge)
{
	if (slots(w, s, true, err))
		return -1;
	shuffle_slots(w, s);
	return 0;
}

PREPARE(ring_in_order)
{
	uint64_t n = s->bytes / s->stride;

	if (slots(w, s, s->huge, err))
		return -1;
	for (uint64_t i = 0; i < n; i++)
		*slot(w, s->stride, i) = (char *)slot(w, s->stride, (i + 1) % n);
	return 0;
}

PREPARE(lines)
{
	if (prepare_ring(w, s, err))
		return -1;
	w->mask = s->bytes - 1;
	w->round = s->bytes / s->stride;
	return 0;
}

static int split_memory(struct kernel_work *w, size_t at, struct err *err)
{
	char *self;

	if (take_kernel_memory(w, (uint64_t)2 * PAGE, false, err))
		return -1;
	self = w->here = w->a += at;
	memcpy(w->a, &self, sizeof(self));
	return 0;
}

PREPARE(split_line)
{
	(void)s;
	return split_memory(w, LINE - 4, err);
}

PREPARE(split_page)
{
	(void)s;
	return split_memory(w, PAGE - 4, err);
}

#if defined(__x86_64__)
PREPARE(split_lock)
{
	(void)s;
	return split_memory(w, LINE - 4, err);
}
#else
PREPARE(split_lock)
{
	(void)w;
	(void)s;
	return err_set(err, ERR_UNSUPPORTED, "this CPU has no atomic operations on two lines");
}
#endif

/* ---- streams, pairs ----------------------------------------------- */

static int streams(struct kernel_work *w, const struct kernel_setup *s, unsigned n, struct err *err)
{
	uint64_t each = PAGE;

	while (each < s->bytes && each < BYTES_MOST)
		each *= 2;
	if (take_kernel_memory(w, each * n, s->huge, err))
		return -1;
	w->b = w->a + (n > 1 ? each : 0);
	w->c = w->b + (n > 1 ? each : 0);
	w->mask = each - 1;
	return 0;
}

PREPARE(stream)
{
	return streams(w, s, 1, err);
}

PREPARE(addresses)
{
	if (streams(w, s, 1, err))
		return -1;
	for (char *at = w->a; at <= w->a + (w->mask & ~UINT64_C(7)); at += 8) {
		uint64_t word = kernel_word_of((uintptr_t)at);

		memcpy(at, &word, sizeof(word));
	}
	return 0;
}

PREPARE(streams)
{
	return streams(w, s, 3, err);
}

static int pair(struct kernel_work *w, size_t apart, struct err *err)
{
	if (take_kernel_memory(w, (uint64_t)4 * PAGE, false, err))
		return -1;
	w->b = w->a + apart;
	return 0;
}

PREPARE(same)
{
	(void)s;
	return pair(w, 0, err);
}

PREPARE(alias)
{
	(void)s;
	return pair(w, PAGE, err);
}

PREPARE(apart)
{
	(void)s;
	return pair(w, PAGE + LINE, err);
}

PREPARE(same_page)
{
	return prepare_same(w, s, err);
}

PREPARE(other_page)
{
	return prepare_alias(w, s, err);
}

/* ---- tables ----------------------------------------------- */

/* s->stride: bytes of an iteration; 0: one */
static int table(struct kernel_work *w, const struct kernel_setup *s, unsigned values,
		 bool shuffled, struct err *err)
{
	uint64_t seed = values;

	if (take_kernel_memory(w, TABLE_BYTES, false, err))
		return -1;
	w->mask = TABLE_BYTES - 1;
	w->round = TABLE_BYTES / (s->stride ? s->stride : 1);
	for (uint64_t i = 0; i < TABLE_BYTES; i++)
		w->a[i] = (char)(i % values);
	for (uint64_t i = TABLE_BYTES - 1; shuffled && i > 0; i--) {
		uint64_t j = random_next(&seed) % (i + 1);
		char kept = w->a[i];

		w->a[i] = w->a[j];
		w->a[j] = kept;
	}
	return 0;
}

PREPARE(random)
{
	return table(w, s, 16, true, err);
}

PREPARE(alternating)
{
	return table(w, s, 2, false, err);
}

PREPARE(zeros)
{
	return table(w, s, 1, false, err);
}

/* ---- the operating system's ----------------------------------------------- */

PREPARE(moment)
{
	static const struct timespec moment = { 0, 1 };

	(void)s;
	if (take_kernel_memory(w, PAGE, false, err))
		return -1;
	memcpy(w->a, &moment, sizeof(moment));
	return 0;
}

/* Of one CPU both sets have it: then nothing moves. */
PREPARE(two_cpus)
{
	cpu_set_t all, set[2];
	unsigned n = 0;

	(void)s;
	CPU_ZERO(&set[0]);
	CPU_ZERO(&set[1]);
	if (take_kernel_memory(w, PAGE, false, err))
		return -1;
	if (sched_getaffinity(0, sizeof(all), &all))
		return err_sys(err, "the CPUs of this thread");
	for (unsigned i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &set[!n++]);
	memcpy(w->a, &set[n < 2], sizeof(set[0]));
	memcpy(w->a + sizeof(set[0]), &set[1], sizeof(set[1]));
	w->round = 2;
	return 0;
}

/* ---- code ----------------------------------------------- */

#if defined(__x86_64__)
/* Six loads of a constant of 64 bits, one into each register that may change, and a nop. */
static void flush_line(unsigned char *at)
{
	static const unsigned char head[6][2] = { { 0x48, 0xb8 }, { 0x48, 0xb9 }, { 0x48, 0xba },
						  { 0x48, 0xbe }, { 0x48, 0xbf }, { 0x49, 0xbb } };
	static const unsigned char nop[4] = { 0x0f, 0x1f, 0x40, 0x00 };

	for (unsigned i = 0; i < 6; i++) {
		memcpy(at + (size_t)i * 10, head[i], 2);
		memset(at + (size_t)i * 10 + 2, 0x11, 8);
	}
	memcpy(at + 60, nop, 4);
}

static void put_return(unsigned char *at)
{
	*at = 0xc3;
}
#else
/* Sixteen moves of a constant, to x9, x10 and x11. */
static void flush_line(unsigned char *at)
{
	for (unsigned i = 0; i < 16; i++) {
		uint32_t insn = 0xd2800020u | (9 + i % 3);

		memcpy(at + (size_t)i * 4, &insn, 4);
	}
}

static void put_return(unsigned char *at)
{
	static const uint32_t insn = 0xd65f03c0u;

	memcpy(at, &insn, 4);
}
#endif

PREPARE(code)
{
	if (take_kernel_memory(w, (uint64_t)w->units * LINE + LINE, false, err))
		return -1;
	(void)s;
	for (unsigned i = 0; i < w->units; i++)
		flush_line((unsigned char *)w->a + (size_t)i * LINE);
	put_return((unsigned char *)w->a + (size_t)w->units * LINE);
	__builtin___clear_cache(w->a, w->a + (size_t)w->units * LINE + LINE);
	if (mprotect(w->map, w->mapped, PROT_READ | PROT_EXEC))
		return err_sys(err, "code that was made here must not be executed");
	return 0;
}

/* An instruction that may be written, of 4 bytes or 5, and a return. */
static void put_small(unsigned char *at)
{
#if defined(__x86_64__)
	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
#else
	static const uint32_t code[] = { 0xd2800029u, 0xd65f03c0u };
#endif
	memcpy(at, code, sizeof(code));
}

static int small_code(struct kernel_work *w, size_t apart, struct err *err)
{
	if (take_kernel_memory(w, (uint64_t)2 * PAGE, false, err))
		return -1;
	w->b = w->a + apart;
	put_small((unsigned char *)w->a);
	put_small((unsigned char *)w->b);
	__builtin___clear_cache(w->a, w->a + (size_t)2 * PAGE);
	if (mprotect(w->a, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return err_sys(err, "code that writes itself must not be executed here");
	return 0;
}

PREPARE(own_code)
{
	(void)s;
	return small_code(w, 0, err);
}

PREPARE(two_codes)
{
	(void)s;
	return small_code(w, PAGE, err);
}

/* ---- all of them ----------------------------------------------- */

void kernel_release(struct kernel_work *w)
{
	if (w->map)
		(void)munmap(w->map, w->mapped);
	*w = (struct kernel_work){ .map = NULL };
}
