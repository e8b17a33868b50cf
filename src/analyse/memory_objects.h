/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_objects - the memory operations of a recording by the object that they access: variables,
 * stacks, allocations, mappings (symbol/data.h).
 *
 *	memory_build(&m, &o, rec, spaces, &opts, &err)	(memory.h)
 *	... o->object, most samples first; the sources of each ...
 *	memory_objects_free(o)
 *
 * All allocations of one site are one object. Memory that is no object - unknown memory, heap
 * without a log - is a row for each reason. Samples of IBS ops that access no memory are left out.
 *
 * Each sample counts once. Latencies are those of data (memop.h).
 *
 * Costs: some 20 ns a sample and core beside memory.h's pass, 1 us if the address is not
 * remembered; memory of objects, of the sources and threads of each.
 */
#ifndef CYCLADE_ANALYSE_MEMORY_OBJECTS_H
#define CYCLADE_ANALYSE_MEMORY_OBJECTS_H

#include "analyse/memory.h"
#include "analyse/memory_map.h"
#include "analyse/memory_nodes.h"
#include "symbol/data.h"

struct memory_counts {
	uint64_t samples, loads, stores;
	uint64_t known;		/* loads whose source is known */
	uint64_t missed;	/* of these those that did not hit the L1 cache */
	uint64_t remote;	/* of these: data came from another node */
	uint64_t walks;		/* samples with an address that a page walk translated */
	uint64_t timed;		/* samples with a latency */
	double cycles, squares; /* their sum, and that of their squares */
};

/* Cache lines that samples of an object touched; lines and bytes are in a part of its addresses. */
struct memory_lines_used {
	uint32_t size; /* of a line */
	uint64_t lines;
	uint64_t samples, accessed; /* loads and stores, and the bytes of all of them */
	uint64_t seen, once, twice; /* bytes that any sample used; one sample, two samples */
	double squares;		    /* of the bytes seen, by line */
	double part;		    /* 1, else that part of the addresses was looked at */
	bool no_width;		    /* some samples have no width */
};

struct memory_object {
	struct data_place data; /* of the first sample; start and size are that one's */
	uint32_t pid;		/* of the first sample; of the kernel 0 */
	const char *why;	/* it is no object; else NULL */
	struct memory_counts n;
	uint64_t threads;
	uint64_t least, most; /* addresses */
	uint64_t first;	      /* the first sample's place in the file */
	size_t first_source, n_sources;
	struct memory_lines_used lines;
};

struct memory_object_source {
	uint32_t object;
	uint8_t kind, level, where;
	bool told, hit; /* whether the level had it */
	struct memory_counts n;
};

/* Costs of page walks in an object, by the size of its pages. */
struct memory_object_pages {
	uint32_t object;
	uint64_t page;		       /* bytes; 0: not known */
	uint64_t samples, told, walks; /* `told`: samples with a known translation */
	uint64_t refills;	       /* walks that were measured */
	double cycles;		       /* of walks, in the samples; NAN: not known */
	double var;		       /* of that */
};

/* Allocations of one call chain, as far as they were logged. */
struct memory_site {
	const struct heap_site *site; /* n 0: not known */
	uint64_t allocations, bytes;
	uint64_t left, left_bytes; /* of these: never freed */
	uint64_t most_bytes;	   /* at one time */
};

#define MEMORY_LINE_BYTES 64u /* of a cache line */

/* Locked operations to a cache line of an object. */
struct memory_locked_line {
	uint32_t object, pid;
	uint64_t address; /* of its first byte */
	uint64_t threads;
	struct memory_counts n; /* known to walks: not counted */
};

/* Types by address: samples of an instruction without a type (memory.h), with an address at a place
 * of an object that has one. Types of variables are DWARF's. A site has a type if the instructions
 * that access it agree: at least nine in ten of its samples with a type are at the address of their
 * field, and its size divides that of the allocations. An instruction that has a type keeps it; if
 * the address has another one, it `differs`. */
struct memory_placed {
	uint32_t object;
	struct types_access access;
	struct memory_counts n; /* known to walks: not counted */
};

enum memory_type_why {
#define MEMORY_TYPE_WHY(id, ...) MEMORY_TYPE_##id,
#include "analyse/memory/memory_type_why.def"
#undef MEMORY_TYPE_WHY
};

struct memory_object_type {
	uint32_t object;
	enum memory_type_why why;
	const char *type; /* NULL: none */
	uint64_t type_size;
	/* Samples whose instruction has a type: of that type and field; of a part at that place, or
	 * of the structure around it; of anything else. */
	uint64_t same, part, differs;
	uint64_t placed, unplaced; /* without a type of the instruction: with and without one by
				    * address */
	uint64_t left_out;	   /* there were more places than are kept */
};

struct memory_objects {
	struct memory_object_pages *pages; /* most walks first */
	size_t n_pages;
	struct memory_nodes nodes;
	struct memory_locked_line *locked; /* most cycles first */
	size_t n_locked;
	struct memory_map map; /* empty unless asked for */
	struct memory_object *object;
	size_t n;
	struct memory_object_source *source; /* by object, most samples first */
	size_t n_sources;
	struct memory_site *site; /* of the log, most bytes at one time first */
	size_t n_sites;
	struct memory_placed *placed; /* most samples first */
	size_t n_placed;
	struct memory_object_type *type; /* by object, of those that can have one */
	size_t n_types;
	struct memory_counts all;
	double beyond, beyond_squares; /* of walks that took longer than the sample's latency */
	uint64_t no_address;	       /* samples, of `all` */
	const struct heap_facts *heap; /* NULL: no allocations were logged */
	struct memory_objects_work *work;
};

void memory_objects_free(struct memory_objects *o); /* NULL is fine */

/* Returns "bytes"; NULL: it has a type. */
const char *memory_type_why_text(enum memory_type_why why);

/* Page walks: share of the samples whose translation is known; their part of the cycles of all
 * samples: of each the latency, or the refill if that is longer, as hits have no latency. AMD
 * measures a refill; else it is the difference of loads of the same object, page size and source,
 * with a walk and without. */
struct estimate memory_pages_share(const struct memory_object_pages *p);
struct estimate memory_pages_cycles(const struct memory_objects *o,
				    const struct memory_object_pages *p);
/* Returns true if larger pages would save a part of all cycles that is not chance: 2 % at least. */
bool memory_pages_advice(const struct memory_objects *o, const struct memory_object_pages *p);

/* The operation of such a row; the rest is empty. */
void memory_object_op(struct memop *out, const struct memory_object_source *s);
/* Shares with the errors of their samples: of all samples, of the cycles of all, of the loads whose
 * source is known. */
struct estimate memory_object_share(const struct memory_objects *o, const struct memory_counts *n);
struct estimate memory_object_cycles(const struct memory_objects *o, const struct memory_counts *n);
struct estimate memory_object_mean(const struct memory_counts *n);
/* Return a share of the bytes of the lines that samples touched: those that a sample used, which is
 * the least; and those that any access used, with an estimate of the bytes that no sample used. */
struct estimate memory_lines_seen(const struct memory_object *o);
struct estimate memory_lines_used(const struct memory_object *o);
struct estimate memory_object_remote(const struct memory_counts *n);
struct estimate memory_object_missed(const struct memory_counts *n);

#endif
