/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs_int - ibs_get(), ibs_bits() and ibs_source() inline: with a field that is known when
 * compiling, its row and rule are, too, and a few instructions are left. For readers of many fields
 * of many samples.
 */
#ifndef CYCLADE_PERFDATA_IBS_INT_H
#define CYCLADE_PERFDATA_IBS_INT_H

#include "perfdata/ibs.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define P(part) (1u << IBS_PART_##part)

enum ibs_rule {
	RULE_ALWAYS,
	RULE_RIP,	   /* unless the processor marks it as invalid */
	RULE_BRANCH,	   /* of a branch that retired */
	RULE_TARGET,	   /* of one whose target was kept */
	RULE_FETCH_STATUS, /* later parts: of a fetch with a physical address */
	RULE_FETCH_DONE,   /* the same, of a fetch that was completed */
	RULE_FETCH_PHYS,
	RULE_FETCH_PHYSICAL, /* the same, and not cleared by the kernel */
	RULE_LINEAR,
	RULE_PHYSICAL,
	RULE_TLB,
	RULE_REFILL,   /* the same; Zen 4 and later: of operations with a physical address */
	RULE_TLB_HITS, /* of TLB, on processors that do not report the page's size */
	RULE_CACHED,   /* not of uncacheable memory */
	RULE_MISSED,   /* of operations that missed the data cache */
	RULE_L2,       /* the same, and not by erratum 1293 */
	RULE_LATENCY,  /* of a load that missed the data cache */
	RULE_SOURCE,   /* of a load that missed the caches before, with a source */
	RULE_CACHE,    /* the same, if the source is a cache with the line's state */
};

/* In the order of enum ibs_field: of the same rows. */
static const struct ibs_row {
	const char *key;
	enum ibs_register reg;
	unsigned low, high;
	uint32_t caps, parts;
	enum ibs_rule rule;
} ibs_rows[IBS_FIELDS] = {
#define OP_FIELD(id, key, type, reg, low, high, caps, parts, rule, means) \
	{ #key, IBS_REG_##reg, low, high, caps, parts, RULE_##rule },
#define FETCH_FIELD(...) OP_FIELD(__VA_ARGS__)
#include "perfdata/ibs_field.def"
#undef OP_FIELD
#undef FETCH_FIELD
};
#undef P

ALWAYS_INLINE enum ibs_kind ibs_kind_at(enum ibs_field f)
{
	return ibs_rows[f].reg <= IBS_REG_FETCH_EXTENDED ? IBS_FETCH : IBS_OP;
}

ALWAYS_INLINE uint64_t ibs_bits_of(const struct ibs *x, enum ibs_field f)
{
	const struct ibs_row *w = &ibs_rows[f];
	unsigned bits = w->high - w->low + 1;

	return x->reg[w->reg] >> w->low & (bits < 64 ? (1ULL << bits) - 1 : UINT64_MAX);
}

/* True for samples with erratum 1293: the L2's bits and the source are wrong. */
static inline bool ibs_is_1293(const struct ibs *x)
{
	return x->part == IBS_PART_ZEN3_EARLY &&
	       (ibs_bits_of(x, IBS_PREFETCH) || ibs_bits_of(x, IBS_NO_MAB));
}

ALWAYS_INLINE bool ibs_has_field(const struct ibs *x, enum ibs_field f)
{
	const struct ibs_row *w = &ibs_rows[f];

	return x->has >> w->reg & 1 && w->parts >> x->part & 1 && (!w->caps || x->caps & w->caps);
}

static inline const char *ibs_no_miss(const struct ibs *x)
{
	return ibs_bits_of(x, IBS_UNCACHEABLE) ? "uncacheable memory"
	       : !ibs_bits_of(x, IBS_DC_MISS)  ? "no miss of the data cache"
					       : NULL;
}

static inline const char *ibs_no_source(const struct ibs *x)
{
	const char *why = ibs_no_miss(x);

	if (why)
		return why;
	if (!ibs_bits_of(x, IBS_LOAD))
		return "told of loads only";
	if (ibs_is_1293(x))
		return "erratum 1293";
	if (x->part == IBS_PART_14H && ibs_bits_of(x, IBS_WRITE_COMBINING))
		return "erratum 484";
	if (ibs_has_field(x, IBS_L2_MISS) && !ibs_bits_of(x, IBS_L2_MISS))
		return "a hit of the L2 cache";
	return NULL;
}

static inline const char *ibs_no_rip(const struct ibs *x)
{
	return ibs_has_field(x, IBS_RIP_INVALID) && ibs_bits_of(x, IBS_RIP_INVALID)
		       ? "the processor says that it is not the instruction's"
		       : NULL;
}

static inline const char *ibs_no_target(const struct ibs *x)
{
	return !ibs_bits_of(x, IBS_BRANCH)   ? "no branch"
	       : !ibs_bits_of(x, IBS_TARGET) ? "the processor kept no target"
					     : NULL;
}

/* The processor's number. */
static inline const char *ibs_code_of(const struct ibs *x, uint64_t *code)
{
	const char *why = ibs_no_source(x);

	*code = ibs_bits_of(x, IBS_SOURCE_LOW);
	if (ibs_has_field(x, IBS_SOURCE_HIGH))
		*code |= ibs_bits_of(x, IBS_SOURCE_HIGH) << 3;
	return why ? why : *code ? NULL : "the processor tells no source";
}

/* With 3 bits, source 2 alone has the state of the line. */
static inline const char *ibs_no_state(const struct ibs *x)
{
	uint64_t code;
	const char *why = ibs_code_of(x, &code);

	if (why)
		return why;
	return code == 2 || (x->caps & IBS_CAP_ZEN4 && (code == 1 || code == 5))
		       ? NULL
		       : "no source that tells a line's state";
}

static inline const char *ibs_no_status(const struct ibs *x)
{
	return x->part == IBS_PART_LATER && !ibs_bits_of(x, IBS_FETCH_PHYS_VALID)
		       ? "no physical address"
		       : NULL;
}

/* The kernel clears physical addresses of users without the right to see them, not their bits. */
static inline const char *ibs_no_physical(const struct ibs *x, enum ibs_field valid,
					  enum ibs_field address)
{
	return !ibs_bits_of(x, valid)	  ? "no physical address"
	       : !ibs_bits_of(x, address) ? "the physical address was cleared"
					  : NULL;
}

static inline const char *ibs_no_tlb(const struct ibs *x)
{
	if (x->caps & IBS_CAP_PAGE_SIZE && !ibs_bits_of(x, IBS_PHYSICAL_VALID))
		return "no physical address";
	return ibs_bits_of(x, IBS_LINEAR_VALID) ? NULL : "no address of data";
}

ALWAYS_INLINE const char *ibs_rule_fails(const struct ibs *x, enum ibs_rule rule)
{
	const char *why;
	uint64_t code;

	switch (rule) {
	case RULE_ALWAYS:
		break;
	case RULE_RIP:
		return ibs_no_rip(x);
	case RULE_BRANCH:
		return ibs_bits_of(x, IBS_BRANCH) ? NULL : "no branch";
	case RULE_TARGET:
		return ibs_no_target(x);
	case RULE_FETCH_DONE:
		why = ibs_no_status(x);
		return why				     ? why
		       : ibs_bits_of(x, IBS_FETCH_COMPLETED) ? NULL
							     : "the fetch was not completed";
	case RULE_FETCH_STATUS:
		return ibs_no_status(x);
	case RULE_FETCH_PHYS:
		return ibs_bits_of(x, IBS_FETCH_PHYS_VALID) ? NULL : "no physical address";
	case RULE_FETCH_PHYSICAL:
		return ibs_no_physical(x, IBS_FETCH_PHYS_VALID, IBS_FETCH_PHYSICAL);
	case RULE_LINEAR:
		return !ibs_bits_of(x, IBS_LINEAR_VALID)  ? "no address of data"
		       : !ibs_bits_of(x, IBS_DATA_LINEAR) ? "the address was cleared"
							  : NULL;
	case RULE_PHYSICAL:
		return x->caps & IBS_CAP_ZEN4 && !ibs_bits_of(x, IBS_LINEAR_VALID)
			       ? "no address of data"
			       : ibs_no_physical(x, IBS_PHYSICAL_VALID, IBS_DATA_PHYSICAL);
	case RULE_TLB:
		return ibs_no_tlb(x);
	case RULE_REFILL:
		return x->caps & IBS_CAP_ZEN4 && !ibs_bits_of(x, IBS_PHYSICAL_VALID)
			       ? "no physical address"
			       : ibs_no_tlb(x);
	case RULE_TLB_HITS:
		return x->caps & IBS_CAP_PAGE_SIZE ? "told by dtlb_page" : ibs_no_tlb(x);
	case RULE_CACHED:
		return ibs_bits_of(x, IBS_UNCACHEABLE) ? "uncacheable memory" : NULL;
	case RULE_MISSED:
		return ibs_no_miss(x);
	case RULE_L2:
		why = ibs_no_miss(x);
		return why ? why : ibs_is_1293(x) ? "erratum 1293" : NULL;
	case RULE_LATENCY:
		why = ibs_no_miss(x);
		return why ? why : ibs_bits_of(x, IBS_LOAD) ? NULL : "told of loads only";
	case RULE_SOURCE:
		return ibs_code_of(x, &code);
	case RULE_CACHE:
		return ibs_no_state(x);
	}
	return NULL;
}

ALWAYS_INLINE const char *ibs_get_of(const struct ibs *x, enum ibs_field f, uint64_t *value)
{
	const char *why;

	if (ibs_kind_at(f) != x->kind)
		return x->kind == IBS_OP ? "a field of fetches" : "a field of ops";
	if (!ibs_has_field(x, f))
		return "this processor has no such field";
	why = ibs_rule_fails(x, ibs_rows[f].rule);
	if (why)
		return why;
	*value = ibs_bits_of(x, f);
	if (f == IBS_OP_COUNT && !(x->caps & IBS_CAP_COUNT_EXTENDED))
		*value &= (1u << 20) - 1; /* the bits above are reserved */
	return NULL;
}

/* With 3 bits, source 1 is the L3 of families 10h and 15h below model 10h, and reserved since. */
static inline bool ibs_has_l3_source(const struct ibs *x)
{
	return x->caps & IBS_CAP_ZEN4 || x->part == IBS_PART_OTHER || x->part == IBS_PART_10H ||
	       x->part == IBS_PART_15H_0;
}

static inline enum ibs_source ibs_source_named(const struct ibs *x, uint64_t code, bool remote)
{
	bool zen4 = x->caps & IBS_CAP_ZEN4;

	switch (code) {
	case 1:
		return ibs_has_l3_source(x) ? IBS_SOURCE_L3 : IBS_SOURCE_UNKNOWN;
	case 2: /* 5 bits: of the same node; before, bit 4 has the node */
		return remote && !zen4 ? IBS_SOURCE_FAR_CACHE : IBS_SOURCE_NEAR_CACHE;
	case 3:
		return remote ? IBS_SOURCE_FAR_DRAM : IBS_SOURCE_DRAM;
	case 4:
		return zen4 ? IBS_SOURCE_UNKNOWN : IBS_SOURCE_FAR_CACHE;
	case 5:
		return zen4 ? IBS_SOURCE_FAR_CACHE : IBS_SOURCE_UNKNOWN;
	case 6:
		return zen4 ? IBS_SOURCE_PERSISTENT : IBS_SOURCE_UNKNOWN;
	case 7:
		return IBS_SOURCE_IO;
	case 8:
		return IBS_SOURCE_EXTENSION;
	case 12:
		return IBS_SOURCE_PEER;
	default:
		return IBS_SOURCE_UNKNOWN;
	}
}

static inline enum ibs_source ibs_source_of(const struct ibs *x, const char **why)
{
	uint64_t code = ibs_bits_of(x, IBS_SOURCE_LOW), remote = 0;
	enum ibs_source s;

	*why = NULL;
	if (!ibs_bits_of(x, IBS_LOAD) && !ibs_bits_of(x, IBS_STORE)) {
		*why = "no access to memory";
		return IBS_SOURCE_UNKNOWN;
	}
	if (ibs_bits_of(x, IBS_UNCACHEABLE))
		return code == 7 ? IBS_SOURCE_IO : IBS_SOURCE_UNCACHED;
	if (!ibs_bits_of(x, IBS_DC_MISS))
		return IBS_SOURCE_L1;
	if (ibs_has_field(x, IBS_L2_MISS) && !ibs_is_1293(x) && !ibs_bits_of(x, IBS_L2_MISS))
		return IBS_SOURCE_L2;
	*why = ibs_code_of(x, &code);
	if (!*why) {
		(void)ibs_get_of(x, IBS_REMOTE_NODE, &remote);
		s = ibs_source_named(x, code, remote);
		if (s != IBS_SOURCE_UNKNOWN)
			return s;
		*why = "a source that is reserved";
	}
	if (ibs_has_field(x, IBS_NO_MAB) && ibs_bits_of(x, IBS_NO_MAB) && !code)
		return IBS_SOURCE_ON_ITS_WAY;
	return IBS_SOURCE_UNKNOWN;
}

#endif
