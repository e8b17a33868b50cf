/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memop - the memory operation of a sample, in the same words for Intel's PEBS, AMD's IBS, Arm's
 * SPE and other sources of PERF_SAMPLE_DATA_SRC.
 *
 *	how = memop_how(rec, event)	once an event
 *	memop_of(&op, &how, &sample)	false: it has none
 *	memop_source(text, &op)		"RAM, remote"
 *
 * Two origins, never mixed: an IBS sample with its registers (PERF_SAMPLE_RAW) is read from them
 * (perfdata/ibs.h), any other one from data_src (union perf_mem_data_src of linux/perf_event.h),
 * the weights and the fields beside them. Samples of SPE have these too (perfdata/spe.h): var1 of
 * the weights is LATENCY_TOTAL, var2 LATENCY_ISSUE, var3 LATENCY_TRANSLATION.
 *
 *	bit   0 mem_op        5 bits	bit  33 mem_lvl_num  4 bits
 *	      5 mem_lvl      14		     37 mem_remote   1
 *	     19 mem_snoop     5		     38 mem_snoopx   2
 *	     24 mem_lock      2		     40 mem_blk      3
 *	     26 mem_dtlb      7		     43 mem_hops     3
 *
 * WEIGHT, or var1 of WEIGHT_STRUCT, is LATENCY_DATA; var2 on Intel LATENCY_INSTRUCTION, on AMD
 * LATENCY_TAG; var3 on Intel LATENCY_RETIRE, which any precise event has since Sapphire Rapids: a
 * sample with WEIGHT_STRUCT and without data_src (perf record -W) has no more than that.
 *
 * The level is mem_lvl_num's if that has one, else that of mem_lvl's nearest bit; if a cache may be
 * another's ("L3 or remote cache"), `where` has the owner. A part that was not recorded is 0 in a
 * set, MEMOP_LEVEL_UNKNOWN, or not in `has`: a latency of 0 cycles is none (but LATENCY_RETIRE and
 * LATENCY_COMPLETE, which can be 0), and so is an address of 0. An IBS op that accesses no memory
 * has an empty kind, and only LATENCY_TAG and LATENCY_COMPLETE.
 *
 * Costs: some 10 ns; nothing is allocated.
 */
#ifndef CYCLADE_PERFDATA_MEMOP_H
#define CYCLADE_PERFDATA_MEMOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "perfdata/ibs.h"
#include "perfdata/perfdata.h"

enum memop_level {
#define MEMOP_LEVEL(id, ...) MEMOP_LEVEL_##id,
#include "perfdata/memop.def"
#undef MEMOP_LEVEL
	MEMOP_LEVELS
};

enum memop_where {
#define MEMOP_WHERE(id, ...) MEMOP_WHERE_##id,
#include "perfdata/memop.def"
#undef MEMOP_WHERE
	MEMOP_WHERES
};

enum memop_latency {
#define MEMOP_LATENCY(id, ...) MEMOP_LATENCY_##id,
#include "perfdata/memop.def"
#undef MEMOP_LATENCY
	MEMOP_LATENCIES
};

enum memop_set { MEMOP_KIND, MEMOP_SNOOP, MEMOP_TLB, MEMOP_BLOCK, MEMOP_SETS };

enum { /* bits of op.set[MEMOP_KIND] and the others */
       MEMOP_KIND_LOAD = 1,
       MEMOP_KIND_STORE = 2,
       MEMOP_KIND_PREFETCH = 4,
       MEMOP_KIND_EXEC = 8,	/* an instruction fetch */
       MEMOP_KIND_ABORTED = 16, /* which delivered nothing */
       MEMOP_SNOOP_NONE = 1,
       MEMOP_SNOOP_HIT = 2,
       MEMOP_SNOOP_MISS = 4,
       MEMOP_SNOOP_HITM = 8,
       MEMOP_SNOOP_FORWARD = 16,
       MEMOP_SNOOP_PEER = 32,
       MEMOP_TLB_HIT = 1,
       MEMOP_TLB_MISS = 2,
       MEMOP_TLB_L1 = 4,
       MEMOP_TLB_L2 = 8,
       MEMOP_TLB_WALK = 16,
       MEMOP_TLB_FAULT = 32,
       MEMOP_BLOCK_DATA = 1,
       MEMOP_BLOCK_ADDRESS = 2,
};

enum { /* op.has, behind a bit for each latency */
       MEMOP_HAS_HIT = 1 << MEMOP_LATENCIES,
       MEMOP_HAS_LOCKED = 2 << MEMOP_LATENCIES,
       MEMOP_HAS_ADDRESS = 4 << MEMOP_LATENCIES,
       MEMOP_HAS_PHYSICAL = 8 << MEMOP_LATENCIES,
       MEMOP_HAS_PAGE = 16 << MEMOP_LATENCIES,
       MEMOP_HAS_OPEN = 32 << MEMOP_LATENCIES,
};

struct memop {
	uint32_t has;
	uint8_t set[MEMOP_SETS]; /* a read-modify-write is a load and a store */
	uint8_t level, where;	 /* enum memop_level, memop_where */
	bool hit;		 /* the level had it; false: it missed there */
	bool locked;
	bool raw;      /* the processor's own record: of IBS or SPE */
	bool bare;     /* MEMOP_FROM_WEIGHTS, _REGISTERS: no word of an access */
	uint8_t width; /* bytes of the access; 0: not known */
	uint8_t open;  /* AMD's: misses of the core that were open as it missed */
	uint32_t cycles[MEMOP_LATENCIES]; /* where has >> latency & 1 */
	uint64_t address, physical, page; /* page: its size in bytes */
};

struct memop_how {
	enum memop_from {
		MEMOP_FROM_NOTHING,
		MEMOP_FROM_REGISTERS, /* analyse/memory.h's: memop_how() has none */
		MEMOP_FROM_WEIGHTS,   /* latencies only, of whatever was sampled */
		MEMOP_FROM_FIELDS,
		MEMOP_FROM_SPE, /* fields, made of a record of Arm's SPE */
		MEMOP_FROM_OP,
		MEMOP_FROM_FETCH
	} from;
	enum ibs_part part;
	bool intel, amd;
	uint16_t raw_at;  /* IBS: where in a record the registers begin; 0: it differs */
	uint32_t least;	  /* only loads of at least this latency were sampled (ldlat); 0: all */
	bool l3_only;	  /* IBS: only misses of the L3 cache */
	bool cycles;	  /* IBS: ops are selected by cycles, not by dispatched ops */
	bool by_software; /* IBS: the kernel left out user space or kernel after the fact */
};

struct memop_how memop_how(const struct pd *rec, const struct pd_event *ev);
/* False: nothing is known of memory. */
bool memop_of(struct memop *out, const struct memop_how *how, const struct pd_sample *s);
/* The same of a record of this event, without reading fields of no use for it. */
bool memop_of_record(struct memop *out, const struct memop_how *how, const struct pd_event *ev,
		     const struct pd_record *r);
/* The same with a table of the kinds of IBS ops that were met, which is faster if there are many;
 * NULL: nothing is known. A table is of one thread and one recording: MEMOP_KINDS of them, all zero
 * at first. *kind is NULL if it is no IBS op, and good until the next call. So is the result, which
 * may be in `other`. */
#define MEMOP_KINDS 256u
struct memop_kind {
	uint64_t data2;
	uint32_t data3, caps; /* data3: memop_kind.c's */
	bool used;
	/* which bits of its numbers an op has: all or none */
	uint8_t open;
	uint16_t tag, complete, data, refill;
	uint64_t address, physical;
	uint64_t user[2]; /* the caller's; 0 if the kind is new */
	struct memop op;
};
const struct memop *memop_of_kind(struct memop *other, struct memop_kind **kind,
				  struct memop_kind *table, const struct memop_how *how,
				  const struct pd_event *ev, const struct pd_record *r);
/* Fills *out from data_src alone. */
void memop_of_data_src(struct memop *out, uint64_t data_src);
/* Of IBS registers alone. */
void memop_of_ibs(struct memop *out, const struct ibs *x);

/* Not of its own core or node: another core's cache is never remote. */
static inline bool memop_remote(const struct memop *op)
{
	return op->where > MEMOP_WHERE_OTHER_CORE;
}

/* A page walk translated it: the kernel reports a walk (Arm), or a miss of the second level of the
 * TLB (Intel and AMD, whose drivers have no word for walks). */
static inline bool memop_walked(const struct memop *op)
{
	const unsigned miss = MEMOP_TLB_L2 | MEMOP_TLB_MISS;

	return op->set[MEMOP_TLB] & MEMOP_TLB_WALK || (op->set[MEMOP_TLB] & miss) == miss;
}

/* ---- words ------------------------------------------------------------------------------ */

#define MEMOP_TEXT 64
const char *memop_level_name(enum memop_level l); /* NULL: not known */
const char *memop_where_name(enum memop_where w); /* "" for the own */
const char *memop_latency_key(enum memop_latency l);
const char *memop_latency_head(enum memop_latency l);
const char *memop_latency_means(enum memop_latency l);
/* "load or store", "L1 or L2 hit"; NULL: the set is empty. */
const char *memop_set_text(char text[MEMOP_TEXT], enum memop_set set, unsigned bits);
/* "RAM, remote", "L1 miss"; NULL: not known. */
const char *memop_source(char text[MEMOP_TEXT], const struct memop *op);

#endif
