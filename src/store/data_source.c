/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/data_source.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/perf_abi.h"

struct word {
	uint64_t bits;
	const char *text;
};

/* The text of the first row that has a bit of `x`. */
static const char *word_of(const struct word *w, size_t n, uint64_t x)
{
	for (size_t i = 0; i < n; i++)
		if (x & w[i].bits)
			return w[i].text;
	return NULL;
}
#define WORD(w, x) word_of(w, sizeof(w) / sizeof(*(w)), x)

static uint64_t field(uint64_t src, unsigned shift, unsigned bits)
{
	return src >> shift & ((1u << bits) - 1);
}

const char *data_op(uint64_t src)
{
	static const struct word w[] = {
		{ PERF_MEM_OP_LOAD, "load" },
		{ PERF_MEM_OP_STORE, "store" },
		{ PERF_MEM_OP_PFETCH, "prefetch" },
		{ PERF_MEM_OP_EXEC, "exec" },
	};

	return WORD(w, field(src, PERF_MEM_OP_SHIFT, 5));
}

/* The newer number, where the kernel gave one. */
static const char *level_number(uint64_t src)
{
	static const char *const by_number[16] = {
		[1] = "L1",   [2] = "L2",	[3] = "L3",    [4] = "L4",   [5] = "L2 MHB",
		[6] = "MSC",  [8] = "uncached", [9] = "CXL",   [10] = "I/O", [11] = "any cache",
		[12] = "LFB", [13] = "RAM",	[14] = "PMEM",
	};

	return by_number[field(src, PERF_MEM_LVLNUM_SHIFT, 4)];
}

const char *data_level(uint64_t src)
{
	static const struct word w[] = {
		{ PERF_MEM_LVL_L1, "L1" },
		{ PERF_MEM_LVL_LFB, "LFB" },
		{ PERF_MEM_LVL_L2, "L2" },
		{ PERF_MEM_LVL_L3, "L3" },
		{ PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2, "RAM" },
		{ PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2, "any cache" },
		{ PERF_MEM_LVL_IO, "I/O" },
		{ PERF_MEM_LVL_UNC, "uncached" },
	};
	const char *s = level_number(src);

	return s ? s : WORD(w, field(src, PERF_MEM_LVL_SHIFT, 14));
}

int data_hit(uint64_t src)
{
	uint64_t l = field(src, PERF_MEM_LVL_SHIFT, 14);

	return l & PERF_MEM_LVL_HIT ? 1 : l & PERF_MEM_LVL_MISS ? 0 : -1;
}

const char *data_snoop(uint64_t src)
{
	static const struct word w[] = {
		{ PERF_MEM_SNOOP_HITM, "hitm" },
		{ PERF_MEM_SNOOP_HIT, "hit" },
		{ PERF_MEM_SNOOP_MISS, "miss" },
		{ PERF_MEM_SNOOP_NONE, "none" },
	};

	return WORD(w, field(src, PERF_MEM_SNOOP_SHIFT, 5));
}

const char *data_tlb(uint64_t src)
{
	uint64_t t = field(src, PERF_MEM_TLB_SHIFT, 7);
	bool hit = t & PERF_MEM_TLB_HIT, miss = t & PERF_MEM_TLB_MISS;

	if (t & PERF_MEM_TLB_OS)
		return "fault handler";
	if (t & PERF_MEM_TLB_L1 && t & PERF_MEM_TLB_L2)
		return hit ? "L1 or L2 hit" : miss ? "L1 and L2 miss" : "L1 or L2";
	if (t & PERF_MEM_TLB_L1)
		return hit ? "L1 hit" : miss ? "L1 miss" : "L1";
	if (t & PERF_MEM_TLB_L2)
		return hit ? "L2 hit" : miss ? "L2 miss" : "L2";
	if (t & PERF_MEM_TLB_WK)
		return "walk";
	return hit ? "hit" : miss ? "miss" : NULL;
}

int data_locked(uint64_t src)
{
	uint64_t l = field(src, PERF_MEM_LOCK_SHIFT, 2);

	return l & PERF_MEM_LOCK_LOCKED ? 1 : l & PERF_MEM_LOCK_NA ? -1 : 0;
}

int data_remote(uint64_t src)
{
	const uint64_t far_levels = PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2 |
				    PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2;

	return field(src, PERF_MEM_REMOTE_SHIFT, 1) ||
	       field(src, PERF_MEM_LVL_SHIFT, 14) & far_levels;
}
