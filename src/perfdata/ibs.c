/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/ibs.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/perf_abi.h"
#include "perfdata/perfdata.h"

#define P(part) (1u << IBS_PART_##part)

enum ibs_rule {
	RULE_ALWAYS,
	RULE_BRANCH,	 /* of a branch that retired */
	RULE_FETCH_DONE, /* of a fetch that was completed */
	RULE_FETCH_PHYS,
	RULE_LINEAR,
	RULE_PHYSICAL,
	RULE_TLB,
	RULE_TLB_HITS, /* the same, before the processor told the page's size */
	RULE_CACHED,   /* not of uncacheable memory */
	RULE_MISSED,   /* of what missed the data cache */
	RULE_L2,       /* the same, and not by erratum 1293 */
	RULE_LATENCY,  /* of a load that missed the data cache */
	RULE_SOURCE,   /* of a load that missed the caches before, with a source */
};

static const struct field {
	const char *key, *means;
	enum ibs_register reg;
	unsigned low, high;
	uint32_t caps, parts;
	enum ibs_rule rule;
} fields[IBS_FIELDS] = {
#define OP_FIELD(id, key, type, reg, low, high, caps, parts, rule, means) \
	[IBS_##id] = { #key, means, IBS_REG_##reg, low, high, caps, parts, RULE_##rule },
#define FETCH_FIELD(...) OP_FIELD(__VA_ARGS__)
#include "perfdata/ibs_field.def"
#undef OP_FIELD
#undef FETCH_FIELD
};

/* ---- which part, which bytes ---------------------------------------------------------------- */

static enum ibs_part part_15h(unsigned model)
{
	return model < 0x10   ? IBS_PART_15H_0
	       : model < 0x30 ? IBS_PART_15H_1
	       : model < 0x60 ? IBS_PART_15H_3
			      : IBS_PART_15H_6;
}

static enum ibs_part part_19h(unsigned model)
{
	return model < 0x10		       ? IBS_PART_ZEN3_EARLY
	       : model >= 0x20 && model < 0x60 ? IBS_PART_ZEN3
					       : IBS_PART_ZEN4;
}

enum ibs_part ibs_part_of(const char *cpuid)
{
	unsigned family, model;
	const char *s = cpuid ? strchr(cpuid, ',') : NULL;

	if (!s || (strncmp(cpuid, "AuthenticAMD,", 13) && strncmp(cpuid, "HygonGenuine,", 13)) ||
	    sscanf(s, ",%5u,%5u", &family, &model) != 2)
		return IBS_PART_OTHER;
	switch (family) {
	case 0x10:
	case 0x11:
		return IBS_PART_10H;
	case 0x12:
		return IBS_PART_12H;
	case 0x14:
		return IBS_PART_14H;
	case 0x15:
		return part_15h(model);
	case 0x16:
		return IBS_PART_16H;
	case 0x17:
	case 0x18:
		return IBS_PART_17H;
	case 0x19:
		return part_19h(model);
	case 0x1a:
		return IBS_PART_1AH;
	default:
		return IBS_PART_OTHER;
	}
}

/* forward_event_to_ibs() of the kernel: cycles, and the raw codes of cycles and of micro-ops. */
static bool is_forwarded(const struct pd_info *info, const struct perf_event_attr *a)
{
	if (!a->precise_ip || !info->cpuid || strncmp(info->cpuid, "AuthenticAMD,", 13))
		return false;
	return (a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_CPU_CYCLES) ||
	       (a->type == PERF_TYPE_RAW && (a->config == 0x76 || a->config == 0xc1));
}

bool ibs_is_event(const struct pd *rec, const struct pd_event *ev, enum ibs_kind *kind)
{
	const struct pd_info *info = pd_info(rec);

	*kind = IBS_OP;
	if (is_forwarded(info, &ev->attr))
		return true;
	for (size_t i = 0; i < info->n_pmus; i++) {
		if (info->pmu_type[i] != ev->attr.type)
			continue;
		*kind = strcmp(info->pmu_name[i], "ibs_fetch") ? IBS_OP : IBS_FETCH;
		return *kind == IBS_FETCH || !strcmp(info->pmu_name[i], "ibs_op");
	}
	return false;
}

/* The registers in the order in which they are dumped; how many there are at least. */
static size_t order_of(enum ibs_kind kind, uint32_t caps, enum ibs_register order[IBS_REGISTERS],
		       size_t *least)
{
	size_t n = 0;

	if (kind == IBS_FETCH) {
		for (unsigned r = IBS_REG_FETCH_CTL; r <= IBS_REG_FETCH_EXTENDED; r++)
			order[n++] = (enum ibs_register)r;
		*least = 3;
		return n;
	}
	for (unsigned r = IBS_REG_OP_CTL; r <= IBS_REG_DC_PHYSICAL; r++)
		order[n++] = (enum ibs_register)r;
	*least = n;
	if (caps & IBS_CAP_TARGET)
		order[n++] = IBS_REG_BRANCH_TARGET;
	if (caps & IBS_CAP_DATA4)
		order[n++] = IBS_REG_OP_DATA4;
	return n;
}

const char *ibs_read(struct ibs *out, enum ibs_kind kind, enum ibs_part part, const uint8_t *raw,
		     size_t len)
{
	enum ibs_register order[IBS_REGISTERS];
	size_t n, least, there;
	uint64_t ctl;

	*out = (struct ibs){ .kind = kind, .part = part };
	if (!raw || len < sizeof(uint32_t))
		return "no raw data were recorded";
	out->caps = ld32(raw);
	n = order_of(kind, out->caps, order, &least);
	there = (len - sizeof(uint32_t)) / sizeof(uint64_t);
	if (there < least)
		return "the raw data are too short for the registers";
	for (size_t i = 0; i < n && i < there; i++) {
		out->reg[order[i]] = ld64(raw + sizeof(uint32_t) + i * sizeof(uint64_t));
		out->has |= 1u << order[i];
	}
	if (n > there)
		n = there;
	out->more = raw + sizeof(uint32_t) + n * sizeof(uint64_t);
	out->more_len = len - sizeof(uint32_t) - n * sizeof(uint64_t);
	ctl = out->reg[order[0]];
	if (kind == IBS_FETCH ? (ctl >> 48 & 3) != 3 : (ctl >> 17 & 3) != 3)
		return "the control register says that it is no sample";
	if (kind == IBS_FETCH && part == IBS_PART_ZEN3_EARLY && !out->reg[IBS_REG_FETCH_LINEAR])
		return "a fetch without an address (erratum 1197)";
	return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

const char *ibs_key(enum ibs_field f)
{
	return fields[f].key;
}

const char *ibs_means(enum ibs_field f)
{
	return fields[f].means;
}

enum ibs_kind ibs_kind_of(enum ibs_field f)
{
	return fields[f].reg <= IBS_REG_FETCH_EXTENDED ? IBS_FETCH : IBS_OP;
}

uint64_t ibs_bits(const struct ibs *x, enum ibs_field f)
{
	const struct field *w = &fields[f];
	unsigned bits = w->high - w->low + 1;

	return x->reg[w->reg] >> w->low & (bits < 64 ? (1ULL << bits) - 1 : UINT64_MAX);
}

/* Of such samples before erratum 1293 was mended the L2's bits and the source are wrong. */
static bool is_1293(const struct ibs *x)
{
	return x->part == IBS_PART_ZEN3_EARLY &&
	       (ibs_bits(x, IBS_PREFETCH) || ibs_bits(x, IBS_NO_MAB));
}

static bool has_field(const struct ibs *x, enum ibs_field f)
{
	const struct field *w = &fields[f];

	return x->has >> w->reg & 1 && w->parts >> x->part & 1 && (!w->caps || x->caps & w->caps);
}

static const char *no_miss(const struct ibs *x)
{
	return ibs_bits(x, IBS_UNCACHEABLE) ? "uncacheable memory"
	       : !ibs_bits(x, IBS_DC_MISS)  ? "no miss of the data cache"
					    : NULL;
}

static const char *no_source(const struct ibs *x)
{
	const char *why = no_miss(x);

	if (why)
		return why;
	if (!ibs_bits(x, IBS_LOAD))
		return "told of loads only";
	if (is_1293(x))
		return "erratum 1293";
	if (x->part == IBS_PART_14H && ibs_bits(x, IBS_WRITE_COMBINING))
		return "erratum 484";
	return has_field(x, IBS_L2_MISS) && !ibs_bits(x, IBS_L2_MISS) ? "a hit of the L2 cache"
								      : NULL;
}

static const char *no_tlb(const struct ibs *x)
{
	if (x->caps & IBS_CAP_PAGE_SIZE && !ibs_bits(x, IBS_PHYSICAL_VALID))
		return "no physical address";
	return ibs_bits(x, IBS_LINEAR_VALID) ? NULL : "no address of data";
}

static const char *rule_fails(const struct ibs *x, enum ibs_rule rule)
{
	const char *why;

	switch (rule) {
	case RULE_ALWAYS:
		break;
	case RULE_BRANCH:
		return ibs_bits(x, IBS_BRANCH) ? NULL : "no branch";
	case RULE_FETCH_DONE:
		return ibs_bits(x, IBS_FETCH_COMPLETED) ? NULL : "the fetch was not completed";
	case RULE_FETCH_PHYS:
		return ibs_bits(x, IBS_FETCH_PHYS_VALID) ? NULL : "no physical address";
	case RULE_LINEAR:
		return ibs_bits(x, IBS_LINEAR_VALID) ? NULL : "no address of data";
	case RULE_PHYSICAL:
		return ibs_bits(x, IBS_PHYSICAL_VALID) ? NULL : "no physical address";
	case RULE_TLB:
		return no_tlb(x);
	case RULE_TLB_HITS:
		return x->caps & IBS_CAP_PAGE_SIZE ? "told by dtlb_page" : no_tlb(x);
	case RULE_CACHED:
		return ibs_bits(x, IBS_UNCACHEABLE) ? "uncacheable memory" : NULL;
	case RULE_MISSED:
		return no_miss(x);
	case RULE_L2:
		why = no_miss(x);
		return why ? why : is_1293(x) ? "erratum 1293" : NULL;
	case RULE_LATENCY:
		why = no_miss(x);
		return why ? why : ibs_bits(x, IBS_LOAD) ? NULL : "told of loads only";
	case RULE_SOURCE:
		why = no_source(x);
		return why ? why
		       : ibs_bits(x, IBS_SOURCE_LOW) || ibs_bits(x, IBS_SOURCE_HIGH)
			       ? NULL
			       : "the processor tells no source";
	}
	return NULL;
}

const char *ibs_get(const struct ibs *x, enum ibs_field f, uint64_t *value)
{
	const char *why;

	if (ibs_kind_of(f) != x->kind)
		return x->kind == IBS_OP ? "a field of fetches" : "a field of ops";
	if (!has_field(x, f))
		return "this processor has no such field";
	why = rule_fails(x, fields[f].rule);
	if (why)
		return why;
	*value = ibs_bits(x, f);
	return NULL;
}

const char *ibs_code_page(const struct ibs *x, uint64_t *bytes)
{
	static const uint8_t shifts[4] = { 12, 21, 30 }, erratum_1347[4] = { 12, 14, 21, 30 };
	const char *why = ibs_get(x, IBS_ITLB_PAGE, bytes);
	unsigned shift;

	if (why)
		return why;
	shift = x->part == IBS_PART_ZEN3_EARLY ? erratum_1347[*bytes] : shifts[*bytes];
	*bytes = 1ull << shift;
	return shift ? NULL : "a size that is reserved";
}

/* ---- sources --------------------------------------------------------------------------------- */

const char *ibs_source_name(enum ibs_source s)
{
	static const char *const names[IBS_SOURCES] = {
		[IBS_SOURCE_UNKNOWN] = "not known",
		[IBS_SOURCE_L1] = "L1",
		[IBS_SOURCE_L2] = "L2",
		[IBS_SOURCE_L3] = "L3",
		[IBS_SOURCE_NEAR_CACHE] = "other cache of the node",
		[IBS_SOURCE_FAR_CACHE] = "cache of another node",
		[IBS_SOURCE_DRAM] = "DRAM",
		[IBS_SOURCE_FAR_DRAM] = "DRAM of another node",
		[IBS_SOURCE_ON_ITS_WAY] = "line on its way",
		[IBS_SOURCE_PERSISTENT] = "persistent memory",
		[IBS_SOURCE_EXTENSION] = "memory behind a link",
		[IBS_SOURCE_PEER] = "memory of another processor",
		[IBS_SOURCE_IO] = "I/O",
		[IBS_SOURCE_UNCACHED] = "uncached",
	};

	return names[s];
}

static enum ibs_source source_of(const struct ibs *x, uint64_t code, bool remote)
{
	bool zen4 = x->caps & IBS_CAP_ZEN4;

	switch (code) {
	case 1:
		return IBS_SOURCE_L3;
	case 2: /* 5 bits: of the same node; before, bit 4 tells the node */
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

const char *ibs_source_code(const struct ibs *x, uint64_t *code)
{
	*code = ibs_bits(x, IBS_SOURCE_LOW);
	if (has_field(x, IBS_SOURCE_HIGH))
		*code |= ibs_bits(x, IBS_SOURCE_HIGH) << 3;
	return no_source(x);
}

enum ibs_source ibs_source(const struct ibs *x, const char **why)
{
	uint64_t code = ibs_bits(x, IBS_SOURCE_LOW), remote = 0;
	enum ibs_source s;

	*why = NULL;
	if (!ibs_bits(x, IBS_LOAD) && !ibs_bits(x, IBS_STORE)) {
		*why = "no access to memory";
		return IBS_SOURCE_UNKNOWN;
	}
	if (ibs_bits(x, IBS_UNCACHEABLE))
		return code == 7 ? IBS_SOURCE_IO : IBS_SOURCE_UNCACHED;
	if (!ibs_bits(x, IBS_DC_MISS))
		return IBS_SOURCE_L1;
	if (has_field(x, IBS_L2_MISS) && !is_1293(x) && !ibs_bits(x, IBS_L2_MISS))
		return IBS_SOURCE_L2;
	*why = ibs_source_code(x, &code);
	if (!*why) {
		(void)ibs_get(x, IBS_REMOTE_NODE, &remote);
		s = source_of(x, code, remote);
		if (s != IBS_SOURCE_UNKNOWN)
			return s;
		*why = code ? "a source that is reserved" : "the processor tells no source";
	}
	return has_field(x, IBS_NO_MAB) && ibs_bits(x, IBS_NO_MAB) && !code ? IBS_SOURCE_ON_ITS_WAY
									    : IBS_SOURCE_UNKNOWN;
}
