/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/spe.h"

#include <string.h>

#include "base/bytes.h"
#include "base/perf_abi.h"
#include "perfdata/perfdata.h"

/* ---- packets ------------------------------------------------------------------------------- */

static uint64_t little_endian(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* Bits 4 and 5 of the last byte of every header with a payload: its size. */
static size_t with_payload(struct spe_packet *out, enum spe_packet_kind kind, uint8_t index,
			   size_t head, const uint8_t *p, size_t len)
{
	size_t size = (size_t)1 << (p[head - 1] >> 4 & 3);

	if (len - head < size)
		return 0;
	*out = (struct spe_packet){ kind, index, (uint8_t)size, little_endian(p + head, size) };
	return head + size;
}

/* Addresses and counters have indexes of 3 bits, or of 5 with a header of two bytes. */
static size_t indexed_packet(struct spe_packet *out, unsigned upper, size_t head, const uint8_t *p,
			     size_t len)
{
	uint8_t last = p[head - 1], index = (uint8_t)(upper << 3 | (last & 7));

	if ((last & 0xf8) == 0xb0)
		return with_payload(out, SPE_ADDRESS, index, head, p, len);
	if ((last & 0xf8) == 0x98)
		return with_payload(out, SPE_COUNTER, index, head, p, len);
	return 0;
}

static size_t extended(struct spe_packet *out, const uint8_t *p, size_t len, uint64_t at)
{
	size_t step, n;

	if (len < 2)
		return 0;
	if (p[1])
		return indexed_packet(out, p[0] & 3u, 2, p, len);
	step = (size_t)1 << ((p[0] & 3) + 1);
	n = step - (at & (step - 1));
	*out = (struct spe_packet){ .kind = SPE_PAD };
	return n > len ? 0 : n;
}

size_t spe_packet_read(struct spe_packet *out, const uint8_t *p, size_t len, uint64_t at)
{
	if (!len)
		return 0;
	if (p[0] <= 1) {
		*out = (struct spe_packet){ .kind = p[0] ? SPE_END : SPE_PAD };
		return 1;
	}
	if (p[0] == 0x71)
		return with_payload(out, SPE_TIMESTAMP, 0, 1, p, len);
	if ((p[0] & 0xcf) == 0x42)
		return with_payload(out, SPE_EVENTS, 0, 1, p, len);
	if ((p[0] & 0xcf) == 0x43)
		return with_payload(out, SPE_SOURCE, 0, 1, p, len);
	if ((p[0] & 0xfc) == 0x64)
		return with_payload(out, SPE_CONTEXT, p[0] & 3, 1, p, len);
	if ((p[0] & 0xfc) == 0x48)
		return with_payload(out, SPE_OPERATION, p[0] & 3, 1, p, len);
	return (p[0] & 0xfc) == 0x20 ? extended(out, p, len, at)
				     : indexed_packet(out, 0, 1, p, len);
}

/* ---- records ------------------------------------------------------------------------------- */

static void set_word(struct spe *x, enum spe_word w, uint64_t v)
{
	x->word[w] = v;
	x->has |= 1u << w;
}

void spe_add(struct spe *x, const struct spe_packet *k)
{
	static const enum spe_word address[] = { SPE_W_PC, SPE_W_TARGET, SPE_W_VIRTUAL,
						 SPE_W_PHYSICAL, SPE_W_PREVIOUS };
	static const enum spe_word counter[] = { SPE_W_TOTAL, SPE_W_ISSUE, SPE_W_TRANSLATION };

	switch (k->kind) {
	case SPE_ADDRESS:
		if (k->index < sizeof(address) / sizeof(*address))
			set_word(x, address[k->index], k->payload);
		break;
	case SPE_COUNTER:
		if (k->index < sizeof(counter) / sizeof(*counter))
			set_word(x, counter[k->index], k->payload);
		break;
	case SPE_CONTEXT:
		set_word(x, SPE_W_CONTEXT, k->payload);
		set_word(x, SPE_W_CONTEXT_LEVEL, k->index + 1u);
		break;
	case SPE_OPERATION:
		set_word(x, SPE_W_OPERATION, k->payload);
		set_word(x, SPE_W_CLASS, k->index);
		break;
	case SPE_EVENTS:
		set_word(x, SPE_W_EVENTS, k->payload);
		x->events_size = k->size;
		break;
	case SPE_SOURCE:
		set_word(x, SPE_W_SOURCE, k->payload);
		break;
	case SPE_TIMESTAMP:
		set_word(x, SPE_W_TIMESTAMP, k->payload);
		break;
	case SPE_PAD:
	case SPE_END:
		break;
	}
}

/* By the class and the bits of the payload that are fixed for it; the first that fits. */
static const struct {
	uint8_t class, mask, bits, subclass;
	const char *name;
} subclasses[] = {
	{ 0, 0xf8, 0x00, SPE_OTHER, "other" },
	{ 0, 0x89, 0x08, SPE_OTHER_SVE, "SVE" },
	{ 0, 0x89, 0x88, SPE_OTHER_SME, "SME" },
	{ 0, 0x00, 0x00, SPE_OTHER_UNKNOWN, NULL },
	{ 1, 0xfe, 0x00, SPE_GENERAL, "general registers" },
	{ 1, 0xfe, 0x04, SPE_SIMD, "SIMD and floating point" },
	{ 1, 0xfe, 0x10, SPE_UNSPECIFIED, "unspecified registers" },
	{ 1, 0xfe, 0x30, SPE_SYSTEM, "system register in memory" },
	{ 1, 0xfe, 0x14, SPE_TAG, "memory tags" },
	{ 1, 0xfe, 0x20, SPE_COPY, "memory copy" },
	{ 1, 0xff, 0x25, SPE_SET, "memory set" },
	{ 1, 0xe2, 0x02, SPE_EXTENDED, "atomic, exclusive or ordered" },
	{ 1, 0x0a, 0x08, SPE_VECTOR, "SVE or SME" },
	{ 1, 0xfa, 0x40, SPE_GCS, "guarded control stack" },
	{ 1, 0x00, 0x00, SPE_MEMORY_UNKNOWN, NULL },
	{ 2, 0x00, 0x00, SPE_BRANCH, "branch" },
};

#define N_SUBCLASSES (sizeof(subclasses) / sizeof(*subclasses))

void spe_finish(struct spe *x)
{
	uint64_t class = x->word[SPE_W_CLASS], bits = x->word[SPE_W_OPERATION];

	x->subclass = SPE_NO_CLASS;
	for (size_t i = 0; x->has >> SPE_W_OPERATION & 1 && i < N_SUBCLASSES; i++)
		if (class == subclasses[i].class &&
		    (bits & subclasses[i].mask) == subclasses[i].bits) {
			x->subclass = subclasses[i].subclass;
			break;
		}
}

const char *spe_read(struct spe *out, const uint8_t *raw, size_t len)
{
	struct spe_packet k;
	size_t at = SPE_RAW_HEAD, n;

	*out = (struct spe){ 0 };
	if (!raw || len < SPE_RAW_HEAD)
		return "no raw data were recorded";
	out->midr = ld32(raw);
	out->flags = ld32(raw + 4);
	for (; at < len; at += n) {
		n = spe_packet_read(&k, raw + at, len - at, at);
		if (!n)
			return "a packet that is none";
		spe_add(out, &k);
	}
	spe_finish(out);
	return out->has >> SPE_W_PC & 1 ? NULL : "no address of an instruction";
}

/* ---- fields -------------------------------------------------------------------------------- */

static const struct {
	const char *key;
	uint32_t subclasses;
	uint8_t word, low, high;
} fields[SPE_FIELDS] = {
#define SPE_FIELD(id, key, type, word, low, high, subclasses, means) \
	{ #key, subclasses, SPE_W_##word, low, high },
#include "perfdata/spe_field.def"
#undef SPE_FIELD
};

const char *spe_key(enum spe_field f)
{
	return fields[f].key;
}

uint64_t spe_code_address(uint64_t v)
{
	uint64_t level = v >> 61 & 3, address = v & UINT64_C(0x00ffffffffffffff);

	return v >> 63 && (level == 1 || level == 2) ? address | UINT64_C(0xff) << 56 : address;
}

uint64_t spe_data_address(uint64_t v)
{
	uint64_t address = v & UINT64_C(0x00ffffffffffffff);

	return (v >> 52 & 0xf) == 0xf ? address | UINT64_C(0xff) << 56 : address;
}

static uint64_t vector_bits(const struct spe *x)
{
	uint64_t v = x->word[SPE_W_OPERATION];

	if (x->subclass == SPE_OTHER_SME)
		return UINT64_C(128) << ((v >> 4 & 7) << 1 | (v >> 2 & 1));
	return UINT64_C(32) << (v >> 4 & 7);
}

const char *spe_get(const struct spe *x, enum spe_field f, uint64_t *value)
{
	enum spe_word w = fields[f].word;
	unsigned low = fields[f].low, bits = fields[f].high - low + 1u;

	if (!(x->has >> w & 1))
		return "no packet of it";
	if (!(fields[f].subclasses >> x->subclass & 1))
		return "not of such an operation";
	if (w == SPE_W_EVENTS && low >= 8u * x->events_size)
		return "the CPU does not tell";
	*value = x->word[w] >> low & (bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX);
	if (f == SPE_VECTOR_BITS)
		*value = vector_bits(x);
	else if (f == SPE_PC || f == SPE_TARGET || f == SPE_PREVIOUS_TARGET)
		*value = spe_code_address(*value);
	else if (f == SPE_VIRTUAL)
		*value = spe_data_address(*value);
	return NULL;
}

bool spe_is_memory(const struct spe *x)
{
	return x->subclass >= SPE_GENERAL && x->subclass <= SPE_MEMORY_UNKNOWN;
}

static bool is_store(const struct spe *x)
{
	return x->word[SPE_W_OPERATION] & 1;
}

const char *spe_class_name(const struct spe *x)
{
	if (!(x->has >> SPE_W_CLASS & 1))
		return NULL;
	return spe_is_memory(x)		     ? is_store(x) ? "store" : "load"
	       : x->subclass == SPE_BRANCH   ? "branch"
	       : x->subclass == SPE_NO_CLASS ? NULL
					     : "other";
}

const char *spe_subclass_name(const struct spe *x)
{
	for (size_t i = 0; i < N_SUBCLASSES; i++)
		if (x->subclass == subclasses[i].subclass)
			return subclasses[i].name;
	return NULL;
}

/* ---- where data came from ------------------------------------------------------------------ */

enum encoding { COMMON, AMPEREONE, HIP };

static const struct {
	uint8_t encoding, implementer;
	uint16_t part;
} cpus[] = {
#define SPE_CPU(encoding, implementer, part, name) { encoding, implementer, part },
#include "perfdata/spe_source.def"
#undef SPE_CPU
};

#define SRC(name, value) ((uint64_t)PERF_MEM_##name##_##value << PERF_MEM_##name##_SHIFT)
#define LVL_NA		 PERF_MEM_LVL_NA
#define LVL_HIT		 PERF_MEM_LVL_HIT
#define LVL_L1		 PERF_MEM_LVL_L1
#define LVL_L2		 PERF_MEM_LVL_L2
#define LVL_L3		 PERF_MEM_LVL_L3
#define LVL_LOC_RAM	 PERF_MEM_LVL_LOC_RAM
#define LVL_REM_RAM1	 PERF_MEM_LVL_REM_RAM1
#define LVL_REM_CCE1	 PERF_MEM_LVL_REM_CCE1
#define LVL_REM_CCE2	 PERF_MEM_LVL_REM_CCE2
#define LVL_IO		 PERF_MEM_LVL_IO
#define SNOOP_NONE	 PERF_MEM_SNOOP_NONE
#define SNOOP_HIT	 PERF_MEM_SNOOP_HIT
#define SNOOP_HITM	 PERF_MEM_SNOOP_HITM
#define SNOOPX_PEER	 PERF_MEM_SNOOPX_PEER
#define HOPS_0		 PERF_MEM_HOPS_0

static const struct {
	uint8_t encoding, number;
	const char *name;
	uint64_t src; /* of PERF_SAMPLE_DATA_SRC */
} sources[] = {
#define SPE_SOURCE(encoding, number, text, lvl, num, snoop, snoopx, remote, hops) \
	{ encoding, number, text,                                                 \
	  (uint64_t)(lvl) << PERF_MEM_LVL_SHIFT | SRC(LVLNUM, num) |              \
		  (uint64_t)(snoop) << PERF_MEM_SNOOP_SHIFT |                     \
		  (uint64_t)(snoopx) << PERF_MEM_SNOOPX_SHIFT |                   \
		  (uint64_t)(remote) << PERF_MEM_REMOTE_SHIFT |                   \
		  (uint64_t)(hops) << PERF_MEM_HOPS_SHIFT },
#include "perfdata/spe_source.def"
#undef SPE_SOURCE
};

#define N_CPUS	  (sizeof(cpus) / sizeof(*cpus))
#define N_SOURCES (sizeof(sources) / sizeof(*sources))

/* The CPU's numbers of sources, or -1: not known. */
static int encoding_of(const struct spe *x)
{
	for (size_t i = 0; i < N_CPUS; i++)
		if (cpus[i].implementer == x->midr >> 24 && cpus[i].part == (x->midr >> 4 & 0xfff))
			return cpus[i].encoding;
	return -1;
}

/* Which of `sources`, or -1. */
static int spe_source_row(const struct spe *x, const char **why)
{
	int encoding = encoding_of(x);

	*why = !spe_is_memory(x)	       ? "no access to memory"
	       : is_store(x)		       ? "stores have none"
	       : !(x->has >> SPE_W_SOURCE & 1) ? "no packet of it"
	       : encoding < 0		       ? "the numbers of this CPU are not known"
					       : NULL;
	for (size_t i = 0; !*why && i < N_SOURCES; i++)
		if (sources[i].encoding == encoding &&
		    sources[i].number == (uint16_t)x->word[SPE_W_SOURCE])
			return (int)i;
	if (!*why)
		*why = "a number that is reserved";
	return -1;
}

const char *spe_source_name(const struct spe *x, const char **why)
{
	int i = spe_source_row(x, why);

	return i < 0 ? NULL : sources[i].name;
}

static bool has_spe_event(const struct spe *x, enum spe_field f)
{
	uint64_t v;

	return !spe_get(x, f, &v) && v;
}

#define LEVEL(lvl, hit, num) (SRC(LVL, lvl) | SRC(LVL, hit) | SRC(LVLNUM, num))

/* By the events, for loads: the nearest level that had the line, else the farthest that missed. */
static uint64_t load_level(const struct spe *x)
{
	bool l1 = has_spe_event(x, SPE_L1D_REFILL), l2 = has_spe_event(x, SPE_L2D_MISS);
	bool llc = has_spe_event(x, SPE_LLC_MISS);

	if (has_spe_event(x, SPE_L1D_ACCESS) && !l1)
		return LEVEL(L1, HIT, L1);
	if (has_spe_event(x, SPE_RECENTLY_FETCHED))
		return LEVEL(LFB, HIT, LFB);
	if (has_spe_event(x, SPE_L2D_ACCESS) && !l2)
		return LEVEL(L2, HIT, L2);
	if (has_spe_event(x, SPE_LLC_ACCESS) && !llc)
		return LEVEL(L3, HIT, L3);
	if (llc)
		return LEVEL(L3, MISS, L3);
	if (l2)
		return LEVEL(L2, MISS, L2);
	return l1 ? LEVEL(L1, MISS, L1) : 0;
}

/* For stores: the farthest level that took part. CPUs that report the sources of loads do not
 * report where a store went. */
static uint64_t store_level(const struct spe *x)
{
	if (encoding_of(x) >= 0)
		return SRC(LVL, NA) | SRC(LVLNUM, NA) | SRC(SNOOP, NA);
	if (has_spe_event(x, SPE_LLC_MISS))
		return LEVEL(L3, MISS, L3);
	if (has_spe_event(x, SPE_LLC_ACCESS))
		return LEVEL(L3, HIT, L3);
	if (has_spe_event(x, SPE_L2D_MISS))
		return LEVEL(L2, MISS, L2);
	if (has_spe_event(x, SPE_L2D_ACCESS))
		return LEVEL(L2, HIT, L2);
	if (has_spe_event(x, SPE_L1D_REFILL))
		return LEVEL(L1, MISS, L1);
	return has_spe_event(x, SPE_L1D_ACCESS) ? LEVEL(L1, HIT, L1) : 0;
}

static uint64_t snoop_of(const struct spe *x)
{
	if (has_spe_event(x, SPE_SNOOPED))
		return has_spe_event(x, SPE_DATA_MODIFIED) ? SRC(SNOOP, HITM) : SRC(SNOOP, HIT);
	return x->flags & SPE_TELLS_SNOOPS ? SRC(SNOOP, NONE) : SRC(SNOOP, NA);
}

/* A hit of the TLB may be of either level; only a walk is known. */
static uint64_t tlb_of(const struct spe *x)
{
	if (has_spe_event(x, SPE_TLB_WALK))
		return SRC(TLB, WK) | SRC(TLB, MISS);
	return has_spe_event(x, SPE_TLB_ACCESS) ? SRC(TLB, L1) | SRC(TLB, L2) | SRC(TLB, HIT) : 0;
}

static uint64_t spe_lock(const struct spe *x)
{
	bool locked = has_spe_event(x, SPE_ATOMIC) || has_spe_event(x, SPE_EXCLUSIVE);

	return x->subclass == SPE_MEMORY_UNKNOWN ? SRC(LOCK, NA) : locked ? SRC(LOCK, LOCKED) : 0;
}

uint64_t spe_data_src(const struct spe *x)
{
	const uint64_t snoop = (uint64_t)0x1f << PERF_MEM_SNOOP_SHIFT;
	const char *why;
	uint64_t src;
	int i = spe_source_row(x, &why);

	if (!spe_is_memory(x))
		return SRC(OP, NA) | SRC(LVL, NA) | SRC(LVLNUM, NA) | SRC(SNOOP, NA) |
		       SRC(LOCK, NA) | SRC(TLB, NA);
	src = i >= 0 ? sources[i].src : is_store(x) ? store_level(x) : load_level(x);
	if (!src)
		src = SRC(LVL, NA) | SRC(LVLNUM, NA);
	if (!(src & snoop))
		src |= snoop_of(x);
	if (has_spe_event(x, SPE_REMOTE_ACCESS))
		src |= SRC(REMOTE, REMOTE);
	return src | (is_store(x) ? SRC(OP, STORE) : SRC(OP, LOAD)) | tlb_of(x) | spe_lock(x);
}

/* ---- events -------------------------------------------------------------------------------- */

bool spe_is_event(const struct pd *rec, const struct pd_event *ev)
{
	static const char pmu[] = "arm_spe";
	const char *name = pd_pmu_name(pd_info(rec), ev->attr.type);

	if (*name)
		return !strncmp(name, pmu, sizeof(pmu) - 1);
	return ev->attr.type > PERF_TYPE_MAX && ev->name &&
	       !strncmp(ev->name, pmu, sizeof(pmu) - 1);
}
