/* SPDX-License-Identifier: BSD-3-Clause */
#include "ibs.h"

#include <errno.h>
#include <string.h>

/* PERF_MEM_S and PERF_MEM_NA of the kernel, without sign conversions */
#define MEM(field, value) ((uint64_t)PERF_MEM_##field##_##value << PERF_MEM_##field##_SHIFT)
#define MEM_NA		  MEM(OP, NA) | MEM(LVL, NA) | MEM(SNOOP, NA) | MEM(LOCK, NA) | MEM(TLB, NA)

#define CAP_ZEN4   (1u << 11)
#define CAP_TARGET (1u << 5)
#define CAP_EXTD   (1u << 9)
#define CAP_LDLAT  (1u << 12)
#define SWFILT	   1u
#define MAX_COUNT  0xffffu
#define CNT_CTL	   (UINT64_C(1) << 19)
#define RAND_EN	   (UINT64_C(1) << 57)

static bool is_op(const struct sim_counter *k)
{
	return !strcmp(k->pmu->name, "ibs_op");
}

/* ---- arch/x86/events/amd/ibs.c --------------------------------------------------------------- */

/* The bits of config that the driver takes: IBS_OP_CONFIG_MASK, IBS_FETCH_CONFIG_MASK, and those
 * that it adds by capability (perf_ibs_op_init(), perf_ibs_fetch_init()). */
static uint64_t config_mask(const struct sim_counter *k)
{
	bool zen4 = k->pmu->ibs & CAP_ZEN4;

	if (is_op(k))
		return MAX_COUNT | CNT_CTL | UINT64_C(0x7f) << 20 | (zen4 ? 1u << 16 : 0);
	return MAX_COUNT | RAND_EN | (zen4 ? UINT64_C(1) << 59 : 0);
}

/* perf_ibs_ldlat_event(): cycles; 0: not asked for, or the driver does not know it. */
static uint64_t load_latency(const struct sim_counter *k)
{
	return is_op(k) && k->pmu->ibs & CAP_LDLAT ? k->attr.config1 & 0xfff : 0;
}

int sim_ibs_period_errno(const struct sim_counter *k, uint64_t period)
{
	return period & 15 || period < (is_op(k) ? 0x90 : 0x10) ? EINVAL : 0;
}

/* Before Linux 6.14 PERF_PMU_CAP_NO_EXCLUDE (perf_try_init_event()), after it what perf_ibs_init()
 * filters by software if it is asked to; never what has to do with guests. */
static int exclude_errno(const struct perf_event_attr *a, int linux_version)
{
	bool modes = a->exclude_user || a->exclude_kernel || a->exclude_hv;
	bool can = (!linux_version || linux_version >= 614) && a->config2 & SWFILT;

	if (a->exclude_host || a->exclude_guest || a->exclude_idle)
		return EINVAL;
	return modes && !can ? EINVAL : 0;
}

int sim_ibs_errno(const struct sim *sim, const struct sim_counter *k, pid_t pid)
{
	const struct perf_event_attr *a = &k->attr;
	int version = sim->scenario.set.linux_version;

	/* task_ctx_nr was perf_invalid_context until 6.2 */
	if (version && version < 602 && pid >= 0)
		return EINVAL;
	if (a->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return EOPNOTSUPP;
	if (a->config & ~config_mask(k) || a->config2 & ~(uint64_t)SWFILT)
		return EINVAL;
	if (version && version < 614 && a->config2)
		return EINVAL;
	if (load_latency(k) && (load_latency(k) < 128 || load_latency(k) > 2048))
		return EINVAL;
	/* validate_group(): no two of one PMU */
	for (const struct sim_counter *o = k->context->first; o; o = o->next)
		if (o != k && o->leader == k->leader && o->pmu == k->pmu)
			return EINVAL;
	if (!a->sample_period) /* the period may be in the register's own field */
		return a->config & MAX_COUNT ? 0 : EINVAL;
	if (a->config & MAX_COUNT)
		return EINVAL;
	if (!a->freq && sim_ibs_period_errno(k, a->sample_period))
		return EINVAL;
	return exclude_errno(a, version);
}

/* ---- samples --------------------------------------------------------------------------------- */

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
	uint64_t x = d->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) % sides;
}

static uint64_t bit(bool on, unsigned at)
{
	return (uint64_t)on << at;
}

/* Where a load that missed L2 got its data: L3, another cache, DRAM; a quarter from afar. */
static uint64_t source(struct dice *d, bool zen4, uint64_t *lvl)
{
	static const uint64_t code[4] = { 1, 2, 3, 3 };
	uint64_t s = roll(d, 4), src = zen4 || s ? code[s] : 2;
	bool far = src == 3 && s == 3;

	*lvl = src == 1	  ? MEM(LVL, L3) | MEM(LVLNUM, L3)
	       : src == 2 ? MEM(LVL, REM_CCE1) | MEM(LVLNUM, ANY_CACHE)
	       : far	  ? MEM(LVL, REM_RAM1) | MEM(LVLNUM, RAM) | MEM(REMOTE, REMOTE)
			  : MEM(LVL, LOC_RAM) | MEM(LVLNUM, RAM);
	return src | bit(far, 4);
}

/* OpData2, OpData3, addresses, and what perf_ibs_parse_ld_st_data() makes of them. */
static void access_memory(struct sim_ibs *out, struct dice *d, bool zen4, bool load, bool miss,
			  uint64_t *data2, uint64_t *data3)
{
	bool l2_miss = miss && roll(d, 2);
	bool tlb = roll(d, 8) == 0, locked = roll(d, 64) == 0;
	uint64_t lvl = miss ? MEM(LVL, L2) | MEM(LVLNUM, L2) : MEM(LVL, L1) | MEM(LVLNUM, L1);
	uint64_t latency = !load || !miss ? 0 : l2_miss ? 60 + roll(d, 400) : 12 + roll(d, 8);

	if (l2_miss && load)
		*data2 = source(d, zen4, &lvl);
	else if (l2_miss)
		lvl = MEM(LVL, NA) | MEM(LVLNUM, NA);
	out->addr = UINT64_C(0x7f0000000000) + (roll(d, 1 << 24) & ~UINT64_C(7));
	out->phys = UINT64_C(0x100000000) + (out->addr & 0xffffff);
	*data3 = bit(load, 0) | bit(!load, 1) | bit(tlb, 2) | bit(tlb && roll(d, 2), 3) |
		 bit(miss, 7) | bit(locked, 15) | bit(true, 17) | bit(true, 18) | bit(l2_miss, 20) |
		 4u << 22 | (miss ? 1 + roll(d, 8) : 0) << 26 | latency << 32 |
		 (tlb ? 30 + roll(d, 100) : 0) << 48;
	out->weight = latency;
	out->data_src = (load ? MEM(OP, LOAD) : MEM(OP, STORE)) | lvl | MEM(LVL, HIT) |
			(locked ? MEM(LOCK, LOCKED) : MEM(LOCK, NA)) |
			(tlb ? MEM(TLB, L2) | MEM(TLB, HIT) : MEM(TLB, L1) | MEM(TLB, HIT));
}

/* An op that the load latency filter lets through: the others are dropped, in hardware and, if it
 * is no load or not slower than that, by the driver (perf_ibs_handle_irq()). */
static void slow_load(struct sim_ibs *out, struct dice *d, uint64_t least, uint64_t *reg)
{
	uint64_t latency = least / 128 * 128 + 1 + roll(d, 400);

	do
		access_memory(out, d, true, true, true, &reg[3], &reg[4]);
	while (!(reg[4] >> 20 & 1) || (reg[3] & 7) < 2);
	reg[4] = (reg[4] & ~(UINT64_C(0xffff) << 32)) | latency << 32;
	out->weight = latency;
	reg[0] |= 1u << 16 | (least / 128 - 1) << 59 | UINT64_C(1) << 63;
}

static void op_registers(struct sim_ibs *out, const struct sim_counter *k, struct dice *d,
			 uint64_t period, uint64_t ip, struct sim_ibs_place place)
{
	bool zen4 = k->pmu->ibs & CAP_ZEN4;
	bool branch = !place.loop && !load_latency(k) && roll(d, 6) == 0;
	bool misses = place.loop && place.op % place.loop < place.loop * 2 / 5;
	uint64_t *reg = &out->word[1], tag = 20 + roll(d, 200);

	reg[0] = (period >> 4 & MAX_COUNT) | UINT64_C(3) << 17 | (period >> 20 & 0x7f) << 20 |
		 (k->attr.config & (CNT_CTL | 1u << 16)) | roll(d, 128) << 32;
	reg[1] = ip;
	reg[2] = roll(d, 20) | tag << 16;
	if (branch)
		reg[2] |= bit(true, 37) | bit(roll(d, 3) > 0, 35) | bit(roll(d, 16) == 0, 36) |
			  bit(roll(d, 8) == 0, 34);
	reg[3] = reg[4] = 0;
	if (load_latency(k))
		slow_load(out, d, load_latency(k), reg);
	else if (misses)
		access_memory(out, d, zen4, true, true, &reg[3], &reg[4]);
	else if (!place.loop && !branch && roll(d, 2)) {
		bool load = roll(d, 3) > 0, miss = roll(d, 4) == 0;

		access_memory(out, d, zen4, load, miss, &reg[3], &reg[4]);
	}
	reg[5] = out->addr;
	reg[6] = out->phys;
	out->weight |= tag << 48; /* var2_w of PERF_SAMPLE_WEIGHT_STRUCT */
	out->n_words = 8;
	if (k->pmu->ibs & CAP_TARGET)
		out->word[out->n_words++] = branch ? ip + 64 : 0;
}

static void fetch_registers(struct sim_ibs *out, const struct sim_counter *k, struct dice *d,
			    uint64_t period, uint64_t ip)
{
	bool miss = roll(d, 10) == 0, tlb = roll(d, 20) == 0, done = roll(d, 8) > 0;
	uint64_t *reg = &out->word[1];

	reg[0] = (period >> 4 & MAX_COUNT) | (2 + roll(d, miss ? 300 : 10)) << 32 |
		 UINT64_C(3) << 48 | bit(done, 50) | bit(miss, 51) | bit(true, 52) | bit(tlb, 55) |
		 (k->attr.config & (RAND_EN | UINT64_C(1) << 59));
	reg[1] = ip;
	reg[2] = UINT64_C(0x200000000) | (ip & 0xffffff);
	out->n_words = 4;
	if (k->pmu->ibs & CAP_EXTD)
		out->word[out->n_words++] = tlb ? 10 + roll(d, 50) : 0;
}

void sim_ibs_sample(struct sim_ibs *out, const struct sim_counter *k, uint64_t period, uint64_t ip,
		    struct sim_ibs_place place, uint64_t random)
{
	struct dice d = { random };

	*out = (struct sim_ibs){ .data_src = MEM_NA };
	if (is_op(k))
		op_registers(out, k, &d, period, ip, place);
	else
		fetch_registers(out, k, &d, period, ip);
	out->word[0] = (4 + 8 * (out->n_words - 1)) | (uint64_t)k->pmu->ibs << 32;
}
