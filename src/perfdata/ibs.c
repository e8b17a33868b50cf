/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/ibs.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/perf_abi.h"
#include "perfdata/ibs_int.h"
#include "perfdata/perfdata.h"

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

static enum ibs_part part_1ah(unsigned model)
{
	return (model >= 0x50 && model < 0x60) || (model >= 0x80 && model < 0xb0) ||
			       (model >= 0xc0 && model < 0xd0)
		       ? IBS_PART_LATER
		       : IBS_PART_1AH;
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
		return part_1ah(model);
	default:
		return family > 0x1a ? IBS_PART_LATER : IBS_PART_OTHER;
	}
}

#define CAPS_12H   (IBS_CAP_OP_COUNT | IBS_CAP_TARGET | IBS_CAP_COUNT_EXTENDED)
#define CAPS_15H   (CAPS_12H | IBS_CAP_RIP_CHECK)
#define CAPS_15H_3 (CAPS_15H | IBS_CAP_FUSED)
#define CAPS_17H   (CAPS_15H_3 | IBS_CAP_FETCH_EXTENDED)

/* caps: those that CPUs of the part may have, whatever one of them reports. */
static const struct {
	const char *name;
	uint32_t caps;
} parts[IBS_PARTS] = {
	[IBS_PART_OTHER] = { "unknown", UINT32_MAX },
	[IBS_PART_10H] = { "10h", IBS_CAP_OP_COUNT },
	[IBS_PART_12H] = { "12h", CAPS_12H },
	[IBS_PART_14H] = { "14h", CAPS_12H },
	[IBS_PART_15H_0] = { "15h 00h-0Fh", CAPS_15H },
	[IBS_PART_15H_1] = { "15h 10h-2Fh", CAPS_15H },
	[IBS_PART_15H_3] = { "15h 30h-5Fh", CAPS_15H_3 },
	[IBS_PART_15H_6] = { "15h 60h-7Fh", CAPS_17H | IBS_CAP_DATA4 },
	[IBS_PART_16H] = { "16h", CAPS_15H_3 },
	[IBS_PART_17H] = { "17h", CAPS_17H },
	[IBS_PART_ZEN3_EARLY] = { "19h 00h-0Fh", CAPS_17H },
	[IBS_PART_ZEN3] = { "19h 20h-5Fh", CAPS_17H },
	[IBS_PART_ZEN4] = { "19h 10h-1Fh, 60h-AFh", CAPS_17H | IBS_CAP_ZEN4 },
	[IBS_PART_1AH] = { "1Ah", UINT32_MAX },
	[IBS_PART_LATER] = { "1Ah 50h-5Fh, 80h-AFh, C0h-CFh and later", UINT32_MAX },
};

const char *ibs_part_name(enum ibs_part part)
{
	return parts[part].name;
}

bool ibs_part_has(enum ibs_part part, enum ibs_field f)
{
	const struct ibs_row *w = &ibs_rows[f];

	return w->parts >> part & 1 && (!w->caps || parts[part].caps & w->caps);
}

bool ibs_part_has_l3(enum ibs_part part)
{
	const struct ibs x = { .part = part, .caps = parts[part].caps };

	return ibs_has_l3_source(&x);
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
	const char *pmu = pd_pmu_name(info, ev->attr.type);

	*kind = strcmp(pmu, "ibs_fetch") ? IBS_OP : IBS_FETCH;
	return *kind == IBS_FETCH || !strcmp(pmu, "ibs_op") || is_forwarded(info, &ev->attr);
}

bool ibs_recorded(const struct pd *rec, enum ibs_kind kind)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	enum ibs_kind k;

	for (size_t i = 0; i < n; i++)
		if (ibs_is_event(rec, &ev[i], &k) && k == kind)
			return true;
	return false;
}

/* Registers as they are dumped; those behind the first ones only if caps has them. */
static void read_ibs_registers(struct ibs *x, enum ibs_register first, size_t n, const uint8_t *p)
{
	for (size_t i = 0; i < n; i++)
		x->reg[first + i] = ld64(p + i * sizeof(uint64_t));
	x->has |= ((1u << n) - 1) << first;
}

static size_t read_later(struct ibs *x, size_t n, size_t there, const uint8_t *p)
{
	if (x->caps & IBS_CAP_TARGET && n < there)
		read_ibs_registers(x, IBS_REG_BRANCH_TARGET, 1, p + n++ * sizeof(uint64_t));
	else if (x->caps & IBS_CAP_TARGET)
		return n;
	if (x->caps & IBS_CAP_DATA4 && n < there)
		read_ibs_registers(x, IBS_REG_OP_DATA4, 1, p + n++ * sizeof(uint64_t));
	return n;
}

const char *ibs_read(struct ibs *out, enum ibs_kind kind, enum ibs_part part, const uint8_t *raw,
		     size_t len)
{
	enum ibs_register first = kind == IBS_FETCH ? IBS_REG_FETCH_CTL : IBS_REG_OP_CTL;
	size_t n = kind == IBS_FETCH ? 3 : IBS_REG_DC_PHYSICAL - IBS_REG_OP_CTL + 1, there;
	const uint8_t *p;
	uint64_t ctl;

	*out = (struct ibs){ .kind = kind, .part = part };
	if (!raw || len < sizeof(uint32_t))
		return "no raw data were recorded";
	out->caps = ld32(raw);
	p = raw + sizeof(uint32_t);
	there = (len - sizeof(uint32_t)) / sizeof(uint64_t);
	if (there < n)
		return "the raw data are too short for the registers";
	n += kind == IBS_FETCH && there > n;
	read_ibs_registers(out, first, n, p);
	if (kind == IBS_OP)
		n = read_later(out, n, there, p);
	out->more = p + n * sizeof(uint64_t);
	out->more_len = len - sizeof(uint32_t) - n * sizeof(uint64_t);
	ctl = out->reg[first];
	if (kind == IBS_FETCH ? (ctl >> 48 & 3) != 3 : (ctl >> 17 & 3) != 3)
		return "the control register says that it is no sample";
	if (kind == IBS_FETCH && part == IBS_PART_ZEN3_EARLY && !out->reg[IBS_REG_FETCH_LINEAR])
		return "a fetch without an address (erratum 1197)";
	return NULL;
}

void ibs_clear(enum ibs_kind kind, uint32_t registers, uint8_t *raw, size_t len)
{
	enum ibs_register first = kind == IBS_FETCH ? IBS_REG_FETCH_CTL : IBS_REG_OP_CTL,
			  last = kind == IBS_FETCH ? IBS_REG_FETCH_PHYSICAL : IBS_REG_DC_PHYSICAL;

	for (enum ibs_register r = first; r <= last; r++) {
		size_t at = sizeof(uint32_t) + (r - first) * sizeof(uint64_t);

		if (registers >> r & 1 && at + sizeof(uint64_t) <= len)
			memset(raw + at, 0, sizeof(uint64_t));
	}
}

/* ---- fields ---------------------------------------------------------------------------------- */

const char *ibs_key(enum ibs_field f)
{
	return ibs_rows[f].key;
}

enum ibs_kind ibs_kind_of(enum ibs_field f)
{
	return ibs_kind_at(f);
}

uint64_t ibs_bits(const struct ibs *x, enum ibs_field f)
{
	return ibs_bits_of(x, f);
}

const char *ibs_get(const struct ibs *x, enum ibs_field f, uint64_t *value)
{
	return ibs_get_of(x, f, value);
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

const char *ibs_source_code(const struct ibs *x, uint64_t *code)
{
	return ibs_code_of(x, code);
}

enum ibs_source ibs_source(const struct ibs *x, const char **why)
{
	return ibs_source_of(x, why);
}
