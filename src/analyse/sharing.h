/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing - the cache lines that several threads use: which of their bytes each thread reads and
 * writes, so whether threads share data (true sharing) or only the line (false sharing).
 *
 *	sharing_begin(&s, pass, rec, spaces, &opts, &err)	a visitor of a walk
 *	sharing_again(s, pass)					and of another
 *	sharing_end(s, &err)					after it
 *	... s->line, most at stake first; the accesses of each ...
 *	sharing_free(s)
 *
 * Accesses are the selected samples that are loads or stores with an address (perfdata/memop.h).
 *
 * Lines. The same address in two processes is the same line only if their memory is shared. So a
 * line of a shared mapping is identified by its physical address if that was recorded, else by file
 * and place in the file; kernel addresses are one space; every other line belongs to one process
 * (an address space: all its threads). see `by`.
 *
 * Bytes. Sampled accesses have a start; some CPUs also record a width (IBS), else it is one byte.
 *
 * Verdicts are made of samples, so they need enough of them. The verdict is separate bytes only if
 * chance, with threads and bytes independent of one another, would have separated them so in 5 % of
 * the cases at most; likewise that they used the line one after another. Else the verdict is
 * unknown, with a reason.
 *
 * HITM: a load that hit a line which another core had modified, as the hardware reports it. Each
 * sample counts once: remote if its source is remote, else local. Loads alone, as perf c2c counts.
 *
 * At stake: the extra latency of the line's loads, in cycles: the sum over its samples of period x
 * (latency - usual), usual being the median latency of loads of lines that one thread used; none if
 * no thread writes, or threads take turns. Its error is that of the sampling; in lines with fewer
 * than three HITMs it has room for three more, as slow as HITMs are in the recording. Overlapping
 * loads wait together, and Intel's load latency event samples only a part of all loads, so it ranks
 * lines; it is no wall-clock time.
 *
 * Costs: two walks over the recording in file order; 40 bytes for each line that was used, and
 * some 150 for each place of the code that accesses a byte of a shared one.
 */
#ifndef CYCLADE_ANALYSE_SHARING_H
#define CYCLADE_ANALYSE_SHARING_H

#include "analyse/selection.h"
#include "base/estimate.h"
#include "perfdata/perfdata.h"
#include "symbol/data.h"
#include "symbol/space.h"
#include "symbol/types.h"

#define SHARING_LINE_DEFAULT 64u
#define SHARING_LINE_MIN     16u
#define SHARING_LINE_MAX     256u

enum sharing_verdict {
	SHARING_FALSE, /* threads use separate bytes, and write */
	SHARING_BOTH,  /* some bytes are shared, others are one thread's */
	SHARING_TRUE,  /* a byte is written by one thread and used by another */
	SHARING_LOCK,  /* the same, and atomic instructions access all such bytes */
	SHARING_TURNS, /* threads used the line one after another */
	SHARING_READ,  /* no thread wrote */
	SHARING_UNKNOWN,
};

enum sharing_by { SHARING_PROCESS, SHARING_KERNEL, SHARING_FILE, SHARING_PHYSICAL };

struct sharing_counts {
	uint64_t samples, loads, stores; /* an atomic access may be both */
	uint64_t locked, hitm_local, hitm_remote;
	uint64_t peer;		 /* loads that another core's cache answered (Arm) */
	uint64_t timed, latency; /* loads with a latency, and its sum: cycles */
};

/* Accesses of one instruction in one thread to the bytes from one offset of a line on. */
struct sharing_access {
	uint32_t line;		/* of sharing.line */
	uint32_t offset, width; /* width 0: not known */
	uint32_t pid, tid;
	uint32_t comm;	/* in spaces_strings(); STR_NONE: not known */
	uint32_t image; /* of the instruction; IMAGE_NONE: in no mapping, then `code` is the ip */
	uint64_t code;
	struct sharing_counts n;
	uint64_t address, first, last; /* address and times of samples */
	struct data_place data;
	const struct symbol *function; /* NULL: none */
	const char *file;	       /* NULL: not known */
	uint32_t source_line;
	struct types_access type; /* of the variable at the address, else of the operand */
};

struct sharing_line {
	uint64_t address; /* as the first sampled access had it */
	uint64_t key;	  /* physical or file address of `by`; else `address` */
	enum sharing_by by;
	uint32_t pid; /* of the first access; of the kernel 0 */
	struct sharing_counts n;
	uint32_t threads, readers, writers;
	enum sharing_verdict verdict;
	const char *why;		     /* of an unknown verdict */
	struct estimate stake;		     /* cycles */
	struct estimate share;		     /* of the latency of all loads */
	double weight, weight2, weighted[3]; /* sums of period x latency and the like: sharing.c */
	uint32_t first_access, n_accesses;   /* of sharing.access */
	uint32_t main_access;		     /* the access of most samples */
	uint32_t variables;		     /* different objects on it */
};

/* The object of the accesses to all these lines: a variable, or a mapping. */
struct sharing_object {
	struct data_place data;
	uint32_t pid; /* of the first access */
	struct sharing_counts n;
	uint32_t lines, padded; /* padded: those with a verdict that padding helps */
};

struct sharing_opts {
	struct selection select;
	uint32_t line_size; /* a power of two; 0: SHARING_LINE_DEFAULT */
};

struct sharing {
	uint32_t line_size;
	struct sharing_line *line; /* that several threads used, or that had a HITM */
	size_t n;
	struct sharing_access *access; /* by line, offset, thread, instruction */
	size_t n_accesses;
	struct sharing_object *object; /* most HITMs first, then samples */
	size_t n_objects;
	struct sharing_counts all, one_thread; /* of all lines; of those of one thread */
	uint64_t lines, lines_one_thread;
	uint64_t other, no_address; /* samples that are no load or store; that have no address */
	struct estimate usual;	    /* latency of a load of an unshared line; cycles */
	struct {
		uint64_t n, latency;
	} moved; /* timed loads that were HITMs, and the sum of their latencies */
	bool has_latency, has_physical, has_widths;
	struct sharing_work *work;
};

/* Returns true if some event's samples may be loads or stores with addresses. */
bool sharing_able(const struct pd *rec);
struct pass;
/* The pass has the selection of `opts` but for its event. */
int sharing_begin(struct sharing **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
		  const struct sharing_opts *opts, struct err *err) MUST_USE;
void sharing_again(struct sharing *s, struct pass *pass);
int sharing_end(struct sharing *s, struct err *err) MUST_USE;
void sharing_free(struct sharing *s); /* NULL is fine */

/* Returns true for separate bytes on one line: alignment helps. */
static inline bool sharing_padded(enum sharing_verdict v)
{
	return v == SHARING_FALSE || v == SHARING_BOTH;
}

const char *sharing_verdict_name(enum sharing_verdict v);
const char *sharing_by_name(enum sharing_by by);

#endif
