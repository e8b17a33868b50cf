/* SPDX-License-Identifier: BSD-3-Clause */
#include "access.h"

#include <linux/perf_event.h>
#include <string.h>

/* PERF_MEM_S of the kernel, without sign conversions */
/* clang-format off */
#define MEM(field, value) ((uint64_t)PERF_MEM_##field##_##value << PERF_MEM_##field##_SHIFT)
#define NONE_OF \
	(MEM(OP, NA) | MEM(LVL, NA) | MEM(SNOOP, NA) | MEM(TLB, NA) | MEM(LOCK, NA))
#define LOAD_OF(x) (MEM(OP, LOAD) | MEM(LVL, HIT) | MEM(TLB, L1) | MEM(TLB, HIT) | (x))
#define L1	   (MEM(LVL, L1) | MEM(LVLNUM, L1) | MEM(SNOOP, NONE))
#define HITM_HERE  (MEM(LVL, L3) | MEM(LVLNUM, L3) | MEM(SNOOP, HITM))
#define HITM_FAR \
	(MEM(LVL, REM_CCE1) | MEM(REMOTE, REMOTE) | MEM(LVLNUM, L3) | MEM(SNOOP, HITM))
/* clang-format on */

enum { TRUE_HERE, TRUE_FAR, FALSE_HERE, FALSE_FAR, READ_ONLY, LOCK, TRUE_UNSEEN, PRIVATE };

/* Threads in the order of their first samples: the first eight are on bytes of their own. */
static uint64_t number_of(uint32_t tid)
{
	static uint32_t seen[64];
	static uint64_t n;

	for (uint64_t i = 0; i < n; i++)
		if (seen[i] == tid)
			return i;
	if (n == sizeof(seen) / sizeof(*seen))
		return tid % n;
	seen[n] = tid;
	return n++;
}

static uint64_t load(unsigned line, uint64_t random, uint64_t *latency)
{
	bool far = line == TRUE_FAR || line == FALSE_FAR;
	bool hitm = line < READ_ONLY && random % 3 == 0;

	*latency = !hitm ? 4 + random / 3 % 8 : far ? 300 + random / 3 % 200 : 90 + random / 3 % 60;
	return LOAD_OF(!hitm ? L1 : far ? HITM_FAR : HITM_HERE);
}

static uint64_t store(uint64_t random)
{
	return MEM(OP, STORE) | MEM(SNOOP, NA) | MEM(LVL, L1) | MEM(TLB, NA) |
	       (random % 4 ? MEM(LVL, HIT) : MEM(LVL, MISS));
}

void sim_access_draw(struct sim_access *a, const char *event, uint32_t tid, uint64_t random)
{
	unsigned line = (unsigned)(random % 8);
	uint64_t thread = number_of(tid);
	bool stores = strstr(event, "STORE") && !strstr(event, "FORWARD");

	random /= 8;
	if (stores && line == READ_ONLY)
		line = PRIVATE;
	a->addr = SIM_SHARED + line * 64;
	if (line == PRIVATE)
		a->addr = SIM_PRIVATE + thread * 64 + random % 8 * 8;
	else if (line == FALSE_HERE || line == FALSE_FAR)
		a->addr += thread % 8 * 8;
	else if (line == READ_ONLY)
		a->addr += random % 8 * 8;
	else if (line != LOCK)
		a->addr += 8;
	random /= 8;
	a->latency = 0;
	if (stores)
		a->data_src = store(random);
	else if (strstr(event, "LOAD"))
		a->data_src = load(line, random, &a->latency);
	else
		a->data_src = NONE_OF; /* precise, but of no load */
	if (a->data_src != NONE_OF)
		a->data_src |= line == LOCK ? MEM(LOCK, LOCKED) : MEM(LOCK, NA);
}
