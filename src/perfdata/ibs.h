/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs - the registers that AMD's Instruction-Based Sampling leaves in PERF_SAMPLE_RAW, taken apart.
 *
 *	part = ibs_part_of(info->cpuid)			"AuthenticAMD,25,17,1"
 *	ibs_read(&x, IBS_OP, part, s.raw, s.raw_size)	NULL, else the reason why not
 *	ibs_get(&x, IBS_MISS_LATENCY, &cycles)		NULL, else why it has no value
 *
 * The raw bytes are the caps word (CPUID Fn8000_001B EAX of the CPU that took the sample) and the
 * registers, 64 bits each (the kernel's perf_ibs_handle_irq()); the size gives their number, since
 * kernels dump fewer than caps allows. Fields are rows of ibs_field.def. A field that the part does
 * not have, or whose value is invalid in this sample (or by an erratum), has no value: it is not
 * set to 0. `more` points to registers of later CPUs.
 */
#ifndef CYCLADE_PERFDATA_IBS_H
#define CYCLADE_PERFDATA_IBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pd;
struct pd_event;

enum { /* caps */
       IBS_CAP_OP_COUNT = 1 << 4,
       IBS_CAP_TARGET = 1 << 5,
       IBS_CAP_COUNT_EXTENDED = 1 << 6,
       IBS_CAP_RIP_CHECK = 1 << 7,
       IBS_CAP_FUSED = 1 << 8,
       IBS_CAP_FETCH_EXTENDED = 1 << 9,
       IBS_CAP_DATA4 = 1 << 10,
       IBS_CAP_ZEN4 = 1 << 11,
       IBS_CAP_LOAD_LATENCY = 1 << 12,
       IBS_CAP_STREAMING = 1 << 16,
       IBS_CAP_PAGE_SIZE = 1 << 19,
};

/* Families and models whose registers or errata differ. */
enum ibs_part {
	IBS_PART_OTHER, /* not AMD's, or unknown: all fields that caps allows */
	IBS_PART_10H,
	IBS_PART_12H,
	IBS_PART_14H,
	IBS_PART_15H_0, /* models 00h to 0Fh */
	IBS_PART_15H_1, /* 10h to 1Fh */
	IBS_PART_15H_3, /* 30h to 3Fh */
	IBS_PART_15H_6, /* 60h to 7Fh */
	IBS_PART_16H,
	IBS_PART_17H,	     /* and Hygon's 18h */
	IBS_PART_ZEN3_EARLY, /* 19h models 00h to 0Fh */
	IBS_PART_ZEN3,	     /* 19h models 20h to 5Fh */
	IBS_PART_ZEN4,	     /* the other models of 19h */
	IBS_PART_1AH,
	IBS_PART_LATER, /* 1Ah models 50h to 5Fh, 80h to AFh, C0h to CFh; families above */
	IBS_PARTS
};

enum ibs_kind { IBS_OP, IBS_FETCH };

enum ibs_register {
	IBS_REG_FETCH_CTL,
	IBS_REG_FETCH_LINEAR,
	IBS_REG_FETCH_PHYSICAL,
	IBS_REG_FETCH_EXTENDED,
	IBS_REG_OP_CTL,
	IBS_REG_OP_RIP,
	IBS_REG_OP_DATA,
	IBS_REG_OP_DATA2,
	IBS_REG_OP_DATA3,
	IBS_REG_DC_LINEAR,
	IBS_REG_DC_PHYSICAL,
	IBS_REG_BRANCH_TARGET,
	IBS_REG_OP_DATA4,
	IBS_REGISTERS
};

enum ibs_field {
#define OP_FIELD(id, ...)    IBS_##id,
#define FETCH_FIELD(id, ...) IBS_##id,
#include "perfdata/ibs_field.def"
#undef OP_FIELD
#undef FETCH_FIELD
	IBS_FIELDS
};

struct ibs {
	enum ibs_kind kind;
	enum ibs_part part;
	uint32_t caps;
	uint32_t has; /* bit by register */
	uint64_t reg[IBS_REGISTERS];
	const uint8_t *more; /* in the raw bytes: behind the known registers */
	size_t more_len;
};

/* Whether an event's samples are of IBS: its PMU is ibs_op or ibs_fetch, or it is one that AMD's
 * driver gives to ibs_op (precise cycles and micro-ops). */
bool ibs_is_event(const struct pd *rec, const struct pd_event *ev, enum ibs_kind *kind);
bool ibs_recorded(const struct pd *rec, enum ibs_kind kind); /* it has an event of it */
/* Whether CPUs of a part have the field; those of IBS_PART_OTHER may have any. */
bool ibs_part_has(enum ibs_part part, enum ibs_field f);
bool ibs_part_has_l3(enum ibs_part part); /* a source that means L3 */
const char *ibs_part_name(enum ibs_part part);
enum ibs_part ibs_part_of(const char *cpuid); /* as in header feature CPUID; NULL: unknown */
/* NULL, or why the bytes are no sample of this kind. */
const char *ibs_read(struct ibs *out, enum ibs_kind kind, enum ibs_part part, const uint8_t *raw,
		     size_t len);
/* Clears these registers (bits by enum ibs_register), of those that each sample has. */
void ibs_clear(enum ibs_kind kind, uint32_t registers, uint8_t *raw, size_t len);
const char *ibs_key(enum ibs_field f);
enum ibs_kind ibs_kind_of(enum ibs_field f);
/* The bits as they are, whatever they mean; 0 if the register is missing. */
uint64_t ibs_bits(const struct ibs *x, enum ibs_field f);
/* NULL, or why the field has no value in this sample. */
const char *ibs_get(const struct ibs *x, enum ibs_field f, uint64_t *value);

/* The size of the code's page, in bytes. NULL, or why it is not known. */
const char *ibs_code_page(const struct ibs *x, uint64_t *bytes);

/* Where the data of a load came from; of a load that hit the data cache, that cache. */
enum ibs_source {
	IBS_SOURCE_UNKNOWN, /* *why of ibs_source() */
	IBS_SOURCE_L1,
	IBS_SOURCE_L2,
	IBS_SOURCE_L3,	       /* the core's own, or another cache of its core complex */
	IBS_SOURCE_NEAR_CACHE, /* of another core complex of the node */
	IBS_SOURCE_FAR_CACHE,  /* of another node */
	IBS_SOURCE_DRAM,
	IBS_SOURCE_FAR_DRAM,
	IBS_SOURCE_ON_ITS_WAY, /* the line was being fetched already */
	IBS_SOURCE_PERSISTENT, /* long-latency DIMM */
	IBS_SOURCE_EXTENSION,  /* memory behind CXL or another link */
	IBS_SOURCE_PEER,       /* coherent memory of a processor of another type */
	IBS_SOURCE_IO,
	IBS_SOURCE_UNCACHED,
	IBS_SOURCES
};
const char *ibs_source_name(enum ibs_source s);
enum ibs_source ibs_source(const struct ibs *x, const char **why);
/* The same as the processor's number, of 3 or 5 bits. NULL, or why it has no meaning. */
const char *ibs_source_code(const struct ibs *x, uint64_t *code);

#endif
