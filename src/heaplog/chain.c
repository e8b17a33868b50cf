/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call chains by frame pointers. A chain that was not met before is written to the log once; its
 * number is its place in a table of hashes.
 */
#define CHAINS 0x40000u /* a power of two */
#define TRIES  16u

#include <sys/mman.h>

#include "heaplog/heaplog_int.h"

static uint64_t *table; /* of hashes; 0: free; atomic */

/* Code without frame pointers leaves anything in the register: only the thread's stack, above the
 * frame before, is read. */
static uint32_t walk(const struct thread *t, const void *from, const void *frame, uint64_t *out,
		     uint64_t *hash)
{
	uintptr_t fp = (uintptr_t)frame, next;
	uint64_t h = ((uintptr_t)from ^ 0x2545f4914f6cdd1du) * 0x9e3779b97f4a7c15u;
	uint32_t n = 1;

	out[0] = (uintptr_t)from;
	if (fp < t->stack || fp >= t->stack_end) { /* a stack of the program's own */
		*hash = h | 1;
		return n;
	}
	for (; n < HEAP_DEPTH; fp = next) {
		next = *(const uintptr_t *)fp;
		if (next <= fp || next & 7 || next >= t->stack_end - 16)
			break;
		out[n] = ((const uintptr_t *)next)[1];
		if (out[n] < 4096)
			break;
		h = ((h >> 29 ^ h) ^ out[n++]) * 0x9e3779b97f4a7c15u;
	}
	*hash = (h ^ h >> 32) | 1;
	return n;
}

static uint32_t put(struct thread *t, const uint64_t *from, uint32_t n, uint32_t chain)
{
	if (!log_room(t, n + 1 + 3))
		return HEAP_NO_CHAIN;
	for (uint32_t i = 0; i < n; i++)
		t->at[1 + i] = from[i];
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_CHAIN, (uint64_t)n << 32 | chain);
	t->at += 1 + n;
	return chain;
}

uint32_t chain_of(struct thread *t, const void *from, const void *frame)
{
	uint64_t chain[HEAP_DEPTH], hash;
	uint32_t n = walk(t, from, frame, chain, &hash);

	for (uint32_t i = 0; table && i < TRIES; i++) {
		uint32_t at = ((uint32_t)(hash >> 20) + i) & (CHAINS - 1);
		uint64_t had = __atomic_load_n(&table[at], __ATOMIC_RELAXED);

		if (likely(had == hash))
			return at;
		if (!had && __atomic_compare_exchange_n(&table[at], &had, hash, false,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return put(t, chain, n, at);
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
