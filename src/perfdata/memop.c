/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/memop.h"

#include <stdio.h>
#include <string.h>

#include "perfdata/ibs_int.h"
#include "perfdata/spe.h"

/* ---- words ------------------------------------------------------------------------------ */

static const struct {
	const char *word;
	uint8_t number;
} levels[] = {
#define MEMOP_LEVEL(id, word, number) [MEMOP_LEVEL_##id] = { word, number },
#include "perfdata/memop.def"
#undef MEMOP_LEVEL
};

static const char *const wheres[] = {
#define MEMOP_WHERE(id, word) [MEMOP_WHERE_##id] = word,
#include "perfdata/memop.def"
#undef MEMOP_WHERE
};

static const struct {
	const char *key, *head, *means;
} latencies[] = {
#define MEMOP_LATENCY(id, key, head, means) [MEMOP_LATENCY_##id] = { key, head, means },
#include "perfdata/memop.def"
#undef MEMOP_LATENCY
};

static const struct {
	enum memop_set set;
	unsigned bit;
	const char *word;
} bits[] = {
#define MEMOP_BIT(set, id, word) { MEMOP_##set, MEMOP_##set##_##id, word },
#include "perfdata/memop.def"
#undef MEMOP_BIT
};

const char *memop_level_name(enum memop_level l)
{
	return levels[l].word;
}

const char *memop_where_name(enum memop_where w)
{
	return wheres[w];
}

const char *memop_latency_key(enum memop_latency l)
{
	return latencies[l].key;
}

const char *memop_latency_head(enum memop_latency l)
{
	return latencies[l].head;
}

const char *memop_latency_means(enum memop_latency l)
{
	return latencies[l].means;
}

/* Behind the words that are there. */
static void add_memop_word(char text[MEMOP_TEXT], const char *between, const char *word)
{
	size_t n = strlen(text);

	(void)snprintf(text + n, MEMOP_TEXT - n, "%s%s", n ? between : "", word);
}

const char *memop_set_text(char text[MEMOP_TEXT], enum memop_set set, unsigned in)
{
	const unsigned behind = set == MEMOP_TLB    ? MEMOP_TLB_HIT | MEMOP_TLB_MISS
				: set == MEMOP_KIND ? MEMOP_KIND_ABORTED
						    : 0;

	text[0] = 0;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (bits[i].set == set && in & bits[i].bit & ~behind)
			add_memop_word(text, " or ", bits[i].word);
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (bits[i].set == set && in & bits[i].bit & behind)
			add_memop_word(text, " ", bits[i].word);
	return text[0] ? text : NULL;
}

const char *memop_source(char text[MEMOP_TEXT], const struct memop *op)
{
	const char *level = levels[op->level].word;

	if (!level && !op->where)
		return NULL;
	(void)snprintf(text, MEMOP_TEXT, "%s%s%s%s", level ? level : "not told",
		       op->where ? ", " : "", wheres[op->where],
		       op->has & MEMOP_HAS_HIT && !op->hit ? " miss" : "");
	return text;
}

/* ---- PERF_SAMPLE_DATA_SRC --------------------------------------------------------------- */

static unsigned src_field(uint64_t src, unsigned low, unsigned width)
{
	return (unsigned)(src >> low) & ((1u << width) - 1);
}

/* The bits of mem_lvl, nearest first; the farthest of them decides whose it is. */
static const struct {
	uint16_t bit;
	uint8_t level, where;
} old_levels[] = {
	{ PERF_MEM_LVL_L1, MEMOP_LEVEL_L1, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_LFB, MEMOP_LEVEL_LFB, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_L2, MEMOP_LEVEL_L2, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_L3, MEMOP_LEVEL_L3, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_LOC_RAM, MEMOP_LEVEL_RAM, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_REM_RAM1, MEMOP_LEVEL_RAM, MEMOP_WHERE_REMOTE },
	{ PERF_MEM_LVL_REM_RAM2, MEMOP_LEVEL_RAM, MEMOP_WHERE_REMOTE_2 },
	{ PERF_MEM_LVL_REM_CCE1, MEMOP_LEVEL_CACHE, MEMOP_WHERE_REMOTE },
	{ PERF_MEM_LVL_REM_CCE2, MEMOP_LEVEL_CACHE, MEMOP_WHERE_REMOTE_2 },
	{ PERF_MEM_LVL_IO, MEMOP_LEVEL_IO, MEMOP_WHERE_OWN },
	{ PERF_MEM_LVL_UNC, MEMOP_LEVEL_UNCACHED, MEMOP_WHERE_OWN },
};

void memop_of_data_src(struct memop *op, uint64_t src)
{
	unsigned lock = src_field(src, PERF_MEM_LOCK_SHIFT, 2);
	unsigned lvl = src_field(src, PERF_MEM_LVL_SHIFT, 14);
	unsigned number = src_field(src, PERF_MEM_LVLNUM_SHIFT, 4);
	unsigned hops = src_field(src, PERF_MEM_HOPS_SHIFT, 3);

	*op = (struct memop){ .locked = lock & PERF_MEM_LOCK_LOCKED };
	op->set[MEMOP_KIND] = (uint8_t)(src_field(src, PERF_MEM_OP_SHIFT, 5) >> 1);
	op->set[MEMOP_SNOOP] = (uint8_t)(src_field(src, PERF_MEM_SNOOP_SHIFT, 5) >> 1 |
					 src_field(src, PERF_MEM_SNOOPX_SHIFT, 2) << 4);
	op->set[MEMOP_TLB] = (uint8_t)(src_field(src, PERF_MEM_TLB_SHIFT, 7) >> 1);
	op->set[MEMOP_BLOCK] = (uint8_t)(src_field(src, PERF_MEM_BLK_SHIFT, 3) >> 1);
	if (op->locked || !(lock & PERF_MEM_LOCK_NA))
		op->has |= MEMOP_HAS_LOCKED;
	for (size_t i = sizeof(old_levels) / sizeof(*old_levels); i-- > 0;)
		if (lvl & old_levels[i].bit) {
			op->level = old_levels[i].level;
			if (!op->where)
				op->where = old_levels[i].where;
		}
	for (unsigned i = 1; number && i < MEMOP_LEVELS; i++)
		if (levels[i].number == number)
			op->level = (uint8_t)i;
	if (hops && hops <= PERF_MEM_HOPS_3)
		op->where = (uint8_t)(MEMOP_WHERE_OTHER_CORE + hops - PERF_MEM_HOPS_0);
	else if (!op->where && src >> PERF_MEM_REMOTE_SHIFT & 1)
		op->where = MEMOP_WHERE_REMOTE;
	if (lvl & (PERF_MEM_LVL_HIT | PERF_MEM_LVL_MISS))
		op->has |= MEMOP_HAS_HIT;
	op->hit = lvl & PERF_MEM_LVL_HIT;
}

/* ---- IBS -------------------------------------------------------------------------------- */

static void set_cycles(struct memop *op, enum memop_latency l, uint64_t cycles)
{
	op->cycles[l] = cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
	op->has |= 1u << l;
}

ALWAYS_INLINE bool is_set(const struct ibs *x, enum ibs_field f)
{
	uint64_t v;

	return !ibs_get_of(x, f, &v) && v;
}

ALWAYS_INLINE void read_cycles(struct memop *op, const struct ibs *x, enum memop_latency l,
			       enum ibs_field f, bool none_is_0)
{
	uint64_t v;

	if (!ibs_get_of(x, f, &v) && (v || !none_is_0))
		set_cycles(op, l, v);
}

ALWAYS_INLINE bool read_number(const struct ibs *x, enum ibs_field f, uint64_t *out)
{
	if (ibs_get_of(x, f, out) || !*out)
		*out = 0;
	return *out;
}

static const struct {
	uint8_t level, where;
} of_ibs[IBS_SOURCES] = {
	[IBS_SOURCE_L1] = { MEMOP_LEVEL_L1, MEMOP_WHERE_OWN },
	[IBS_SOURCE_L2] = { MEMOP_LEVEL_L2, MEMOP_WHERE_OWN },
	[IBS_SOURCE_L3] = { MEMOP_LEVEL_L3, MEMOP_WHERE_OWN },
	[IBS_SOURCE_NEAR_CACHE] = { MEMOP_LEVEL_CACHE, MEMOP_WHERE_OTHER_CORE },
	[IBS_SOURCE_FAR_CACHE] = { MEMOP_LEVEL_CACHE, MEMOP_WHERE_REMOTE },
	[IBS_SOURCE_DRAM] = { MEMOP_LEVEL_RAM, MEMOP_WHERE_OWN },
	[IBS_SOURCE_FAR_DRAM] = { MEMOP_LEVEL_RAM, MEMOP_WHERE_REMOTE },
	[IBS_SOURCE_ON_ITS_WAY] = { MEMOP_LEVEL_LFB, MEMOP_WHERE_OWN },
	[IBS_SOURCE_PERSISTENT] = { MEMOP_LEVEL_PMEM, MEMOP_WHERE_OWN },
	[IBS_SOURCE_EXTENSION] = { MEMOP_LEVEL_CXL, MEMOP_WHERE_OWN },
	[IBS_SOURCE_PEER] = { MEMOP_LEVEL_PEER, MEMOP_WHERE_OWN },
	[IBS_SOURCE_IO] = { MEMOP_LEVEL_IO, MEMOP_WHERE_OWN },
	[IBS_SOURCE_UNCACHED] = { MEMOP_LEVEL_UNCACHED, MEMOP_WHERE_OWN },
};

static void read_op_source(struct memop *op, const struct ibs *x)
{
	const char *why;
	enum ibs_source s = ibs_source_of(x, &why);
	uint64_t owned, socket;

	op->level = of_ibs[s].level;
	op->where = of_ibs[s].where;
	if (op->where == MEMOP_WHERE_REMOTE && !ibs_get_of(x, IBS_REMOTE_SOCKET, &socket))
		op->where = socket ? MEMOP_WHERE_OTHER_SOCKET : MEMOP_WHERE_OTHER_NODE;
	if (op->level == MEMOP_LEVEL_UNKNOWN)
		return;
	op->has |= MEMOP_HAS_HIT;
	op->hit = true;
	if (!ibs_get_of(x, IBS_CACHE_OWNED, &owned))
		op->set[MEMOP_SNOOP] = owned ? MEMOP_SNOOP_HIT : MEMOP_SNOOP_HITM;
}

ALWAYS_INLINE void read_tlb(struct memop *op, const struct ibs *x, enum ibs_field l1,
			    enum ibs_field l2)
{
	uint64_t first, second;

	if (ibs_get_of(x, l1, &first))
		return;
	if (!first)
		op->set[MEMOP_TLB] = MEMOP_TLB_L1 | MEMOP_TLB_HIT;
	else if (ibs_get_of(x, l2, &second))
		op->set[MEMOP_TLB] = MEMOP_TLB_L1 | MEMOP_TLB_MISS;
	else
		op->set[MEMOP_TLB] = MEMOP_TLB_L2 | (second ? MEMOP_TLB_MISS : MEMOP_TLB_HIT);
}

static void read_ibs_op(struct memop *op, const struct ibs *x)
{
	uint64_t page, width, open;

	op->set[MEMOP_KIND] = (is_set(x, IBS_LOAD) ? MEMOP_KIND_LOAD : 0) |
			      (is_set(x, IBS_STORE) ? MEMOP_KIND_STORE : 0) |
			      (is_set(x, IBS_PREFETCH) ? MEMOP_KIND_PREFETCH : 0);
	read_cycles(op, x, MEMOP_LATENCY_TAG, IBS_TAG_TO_RETIRE, true);
	read_cycles(op, x, MEMOP_LATENCY_COMPLETE, IBS_COMPLETE_TO_RETIRE, false);
	if (!op->set[MEMOP_KIND])
		return;
	read_op_source(op, x);
	read_tlb(op, x, IBS_DTLB_L1_MISS, IBS_DTLB_L2_MISS);
	read_cycles(op, x, MEMOP_LATENCY_DATA, IBS_MISS_LATENCY, true);
	read_cycles(op, x, MEMOP_LATENCY_REFILL, IBS_DTLB_REFILL, true);
	op->has |= MEMOP_HAS_LOCKED;
	op->locked = is_set(x, IBS_LOCKED);
	if (!ibs_get_of(x, IBS_WIDTH, &width) && width && width <= 8)
		op->width = (uint8_t)(1u << (width - 1));
	if (is_set(x, IBS_L2_MISS) && !ibs_get_of(x, IBS_OPEN_REQUESTS, &open)) {
		op->open = (uint8_t)open;
		op->has |= MEMOP_HAS_OPEN;
	}
	if (read_number(x, IBS_DATA_LINEAR, &op->address))
		op->has |= MEMOP_HAS_ADDRESS;
	if (read_number(x, IBS_DATA_PHYSICAL, &op->physical))
		op->has |= MEMOP_HAS_PHYSICAL;
	if (!ibs_get_of(x, IBS_DTLB_PAGE, &page) && page < 3) {
		op->page = 4096ULL << 9 * page;
		op->has |= MEMOP_HAS_PAGE;
	}
}

/* A fetch's level is known only from its recorded misses. */
static void read_fetch(struct memop *op, const struct ibs *x)
{
	uint64_t l1, l2, l3, page;
	bool done = is_set(x, IBS_FETCH_COMPLETED);

	op->set[MEMOP_KIND] = done ? MEMOP_KIND_EXEC : MEMOP_KIND_EXEC | MEMOP_KIND_ABORTED;
	read_cycles(op, x, done ? MEMOP_LATENCY_FETCH : MEMOP_LATENCY_ABORTED, IBS_FETCH_LATENCY,
		    true);
	read_cycles(op, x, MEMOP_LATENCY_REFILL, IBS_ITLB_REFILL, true);
	read_tlb(op, x, IBS_ITLB_L1_MISS, IBS_ITLB_L2_MISS);
	op->address = ibs_bits_of(x, IBS_FETCH_LINEAR);
	if (op->address)
		op->has |= MEMOP_HAS_ADDRESS;
	if (read_number(x, IBS_FETCH_PHYSICAL, &op->physical))
		op->has |= MEMOP_HAS_PHYSICAL;
	if (!ibs_get_of(x, IBS_ITLB_PAGE, &page) && page < 3 && x->part != IBS_PART_ZEN3_EARLY) {
		op->page = 4096ULL << 9 * page;
		op->has |= MEMOP_HAS_PAGE;
	}
	if (ibs_get_of(x, IBS_IC_MISS, &l1))
		return;
	op->level = MEMOP_LEVEL_L1;
	op->hit = !l1;
	op->has |= MEMOP_HAS_HIT;
	if (op->hit || ibs_get_of(x, IBS_FETCH_L2_MISS, &l2))
		return;
	op->level = MEMOP_LEVEL_L2;
	op->hit = !l2;
	if (op->hit || ibs_get_of(x, IBS_FETCH_L3_MISS, &l3))
		return;
	op->level = MEMOP_LEVEL_L3;
	op->hit = !l3;
}

void memop_of_ibs(struct memop *op, const struct ibs *x)
{
	*op = (struct memop){ .raw = true };
	if (x->kind == IBS_OP)
		read_ibs_op(op, x);
	else
		read_fetch(op, x);
}

/* ---- samples ---------------------------------------------------------------------------- */

/* PMUs are named in the header, but not by all that write recordings. */
static bool event_is_of_pmu(const struct pd_info *info, const struct pd_event *ev, const char *pmu)
{
	return !strcmp(pd_pmu_name(info, ev->attr.type), pmu) ||
	       (!info->n_pmus && !strncmp(ev->name, pmu, strlen(pmu)));
}

/* Reads the terms of ibs_op/l3missonly,cnt_ctl,ldlat/ and ibs_fetch/l3missonly/. */
static void read_ibs_terms(struct memop_how *how, const struct perf_event_attr *a)
{
	if (how->from != MEMOP_FROM_OP && how->from != MEMOP_FROM_FETCH)
		return;
	how->l3_only = a->config >> (how->from == MEMOP_FROM_OP ? 16 : 59) & 1;
	how->by_software = a->exclude_user || a->exclude_kernel;
	if (how->from == MEMOP_FROM_OP) {
		how->cycles = !(a->config >> 19 & 1);
		how->least = (uint32_t)(a->config1 & 0xfff);
	}
}

/* mem-loads of Intel's kernels: of cores, of Nehalem and Westmere, of Atoms. */
static bool is_load_latency(const struct perf_event_attr *a)
{
	uint64_t code = a->config & 0xffff;

	return code == 0x1cd || code == 0x100b || code == 0x5d0;
}

struct memop_how memop_how(const struct pd *rec, const struct pd_event *ev)
{
	const struct pd_info *info = pd_info(rec);
	const char *id = info->cpuid ? info->cpuid : "";
	struct memop_how how = { .part = ibs_part_of(info->cpuid),
				 .intel = strstr(id, "GenuineIntel"),
				 .amd = strstr(id, "AuthenticAMD") || strstr(id, "HygonGenuine") };
	bool raw = ev->attr.sample_type & PERF_SAMPLE_RAW;

	if (raw && event_is_of_pmu(info, ev, "ibs_op"))
		how.from = MEMOP_FROM_OP;
	else if (raw && event_is_of_pmu(info, ev, "ibs_fetch"))
		how.from = MEMOP_FROM_FETCH;
	else if (raw && spe_is_event(rec, ev))
		how.from = MEMOP_FROM_SPE;
	else if (ev->attr.sample_type & PERF_SAMPLE_DATA_SRC)
		how.from = MEMOP_FROM_FIELDS;
	else if (ev->attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT && how.intel)
		how.from = MEMOP_FROM_WEIGHTS;
	read_ibs_terms(&how, &ev->attr);
	if (raw && !(ev->attr.sample_type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)))
		how.raw_at = (uint16_t)(ev->at.fixed_end + sizeof(uint32_t));
	if (how.from == MEMOP_FROM_SPE) /* min_latency */
		how.least = (uint32_t)(ev->attr.config2 & 0xfff);
	if (how.intel && is_load_latency(&ev->attr))
		how.least = (uint32_t)(ev->attr.config1 & 0xffff);
	return how;
}

/* Without a packet of its issue an operation was issued at once, as far as is known. */
static void read_spe_weights(struct memop *op, const struct pd_sample *s)
{
	if (s->weight)
		set_cycles(op, MEMOP_LATENCY_TOTAL, s->weight);
	if (s->weight2)
		set_cycles(op, MEMOP_LATENCY_ISSUE, s->weight2);
	if (s->weight3)
		set_cycles(op, MEMOP_LATENCY_TRANSLATION, s->weight3);
	if (op->set[MEMOP_KIND] & MEMOP_KIND_LOAD && s->weight > s->weight2)
		set_cycles(op, MEMOP_LATENCY_DATA, s->weight - s->weight2);
}

static void read_weights(struct memop *op, const struct memop_how *how, const struct pd_sample *s)
{
	if (s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) && s->weight)
		set_cycles(op, MEMOP_LATENCY_DATA, s->weight);
	if (!(s->has & PERF_SAMPLE_WEIGHT_STRUCT))
		return;
	if (s->weight2 && (how->intel || how->amd))
		set_cycles(op, how->intel ? MEMOP_LATENCY_INSTRUCTION : MEMOP_LATENCY_TAG,
			   s->weight2);
	if (how->intel)
		set_cycles(op, MEMOP_LATENCY_RETIRE, s->weight3);
}

static void read_number_of(struct memop *op, const struct pd_sample *s, uint64_t type, uint32_t has,
			   uint64_t value, uint64_t *out)
{
	if (!(s->has & type) || !value)
		return;
	*out = value;
	op->has |= has;
}

static bool read_ibs(struct memop *op, const struct memop_how *how, const uint8_t *raw, size_t len)
{
	enum ibs_kind kind = how->from == MEMOP_FROM_OP ? IBS_OP : IBS_FETCH;
	struct ibs x;

	if (ibs_read(&x, kind, how->part, raw, len))
		return false;
	memop_of_ibs(op, &x);
	return true;
}

bool memop_of(struct memop *op, const struct memop_how *how, const struct pd_sample *s)
{
	if (how->from == MEMOP_FROM_OP || how->from == MEMOP_FROM_FETCH)
		return s->has & PERF_SAMPLE_RAW && read_ibs(op, how, s->raw, s->raw_size);
	if (how->from == MEMOP_FROM_REGISTERS) {
		*op = (struct memop){ .bare = true };
		return true;
	}
	if (how->from == MEMOP_FROM_WEIGHTS) {
		*op = (struct memop){ .bare = true };
		read_weights(op, how, s);
		return op->has;
	}
	if (how->from == MEMOP_FROM_NOTHING || !(s->has & PERF_SAMPLE_DATA_SRC))
		return false;
	memop_of_data_src(op, s->data_src);
	op->raw = how->from == MEMOP_FROM_SPE;
	if (op->raw)
		read_spe_weights(op, s);
	else
		read_weights(op, how, s);
	read_number_of(op, s, PERF_SAMPLE_ADDR, MEMOP_HAS_ADDRESS, s->addr, &op->address);
	read_number_of(op, s, PERF_SAMPLE_PHYS_ADDR, MEMOP_HAS_PHYSICAL, s->phys_addr,
		       &op->physical);
	read_number_of(op, s, PERF_SAMPLE_DATA_PAGE_SIZE, MEMOP_HAS_PAGE, s->data_page_size,
		       &op->page);
	return true;
}

bool memop_of_record(struct memop *op, const struct memop_how *how, const struct pd_event *ev,
		     const struct pd_record *r)
{
	const uint8_t *raw;
	struct pd_sample s;
	size_t len;

	if (how->from == MEMOP_FROM_OP || how->from == MEMOP_FROM_FETCH)
		return pd_raw_find(ev, r, &raw, &len) && read_ibs(op, how, raw, len);
	return !pd_sample_parse_of(ev, r, &s) && memop_of(op, how, &s);
}
