/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call chains. A chain that was not met before is written to the log once; its
 * number is its place in a table of hashes.
 */
#define CHAINS 0x40000u /* a power of two */
#define TRIES  16u

#include <sys/mman.h>

#include "heaplog/heaplog_int.h"

static uint64_t *table; /* of hashes; 0: free; atomic */

/* Code without frame pointers leaves anything in the register: only the thread's stack, above the
 * frame before, is read. */
static void walk_stack(const struct thread *t, const void *from, const void *frame,
		       struct chain *out)
{
	uintptr_t fp = (uintptr_t)frame, next;
	uint64_t up;

	chain_begin(out, (uintptr_t)from);
	if (fp < t->stack || fp >= t->stack_end) /* a stack of the program's own */
		return;
	for (; out->n < HEAP_DEPTH; fp = next) {
		next = *(const uintptr_t *)fp;
		if (next <= fp || next & 7 || next >= t->stack_end - 16)
			break;
		up = ((const uintptr_t *)next)[1];
		if (up < 4096)
			break;
		chain_add(out, up);
	}
}

static uint32_t log_chain(struct thread *t, const struct chain *c, uint32_t number)
{
	if (!log_room(t, c->n + 1 + 3))
		return HEAP_NO_CHAIN;
	for (uint32_t i = 0; i < c->n; i++)
		t->at[1 + i] = c->at[i];
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_CHAIN, (uint64_t)c->n << 32 | number);
	t->at += 1 + c->n;
	return number;
}

uint32_t chain_of(struct thread *t, const void *from, const void *frame)
{
	struct chain c;
	uint64_t hash;

	if (!frames_walk(t, from, frame, &c))
		walk_stack(t, from, frame, &c);
	hash = (c.hash ^ c.hash >> 32) | 1;
	for (uint32_t i = 0; table && i < TRIES; i++) {
		uint32_t at = ((uint32_t)(hash >> 20) + i) & (CHAINS - 1);
		uint64_t had = __atomic_load_n(&table[at], __ATOMIC_RELAXED);

		if (likely(had == hash))
			return at;
		if (!had && __atomic_compare_exchange_n(&table[at], &had, hash, false,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return log_chain(t, &c, at);
		if (had == hash)
			return at;
	}
	return HEAP_NO_CHAIN;
}

void chain_reset(void)
{
	if (!table) {
		void *p = real.mmap(NULL, CHAINS * sizeof(*table), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		table = p == MAP_FAILED ? NULL : p;
	} else {
		(void)madvise(table, CHAINS * sizeof(*table), MADV_DONTNEED);
	}
}
