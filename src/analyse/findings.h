/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings - the few statements worth making about a recording, ranked by what is at stake.
 *
 *	f = findings_make(&in)
 *	if (findings_want_calls(f))
 *		findings_calls(f, &in, p)
 *	... f->v[0 .. n), f->head ...
 *	findings_free(f)
 *
 * Results that exist are read, no sample is: rows of a profile by file and function, a cube with
 * call chains, threads and times, the waits of threads. Each may be missing but for the rows; then
 * what needs it is not found.
 *
 * A finding has a share with an error bar (95 %). One whose lower end is not worth acting on is
 * left out; FINDINGS_LEAST is the least in all cases. Shares are of different things (samples, the
 * time of threads, the length of the recording; finding.of), so they are ranked by `stake`: the
 * part of the whole that a fix may save at most. CPU time counts by the part that it is of the
 * threads' time without that in which other programs had the CPUs (if that is not known: by all of
 * itself), and a function that stays by half. Findings about the machine and the recording come
 * last.
 *
 * Waits. A wait is at stake as long as no recorded thread ran or could run. A mutex is at stake as
 * long as threads waited for it, the time included until they got a CPU; if its owner waited, too,
 * as long as nothing ran. Waits for other threads (a join, a condition, a barrier, a child) are no
 * findings: what those did is one. Nor are waits of whole machines (-a), or of programs that were
 * not started by the recorder, for anything that comes from outside.
 *
 * Texts are those of the sources, or live in the findings; the sources must outlive them. Costs: a
 * few passes over rows, nodes and spans; a sort of the spans.
 */
#ifndef CYCLADE_ANALYSE_FINDINGS_H
#define CYCLADE_ANALYSE_FINDINGS_H

#include "analyse/account.h"
#include "analyse/cube.h"
#include "analyse/memory.h"
#include "analyse/profile.h"
#include "analyse/runtimes.h"
#include "analyse/sharing.h"
#include "analyse/wait.h"
#include "base/arena.h"

#define FINDINGS_MAX   5
#define FINDINGS_LEAST 0.05

enum finding_kind {
#define FINDING(id, ...) FINDING_##id,
#include "analyse/findings.def"
#undef FINDING
	FINDING_KINDS
};

struct finding_row {
	const char *name, *page;
	double gain;
	unsigned fault;
};
extern const struct finding_row finding_kinds[FINDING_KINDS];

enum finding_of {
	FINDING_OF_EVENT,   /* the period of the event's samples */
	FINDING_OF_THREADS, /* the lives of `threads` threads */
	FINDING_OF_LENGTH,  /* the length of the recording */
	FINDING_OF_RECORDS,
	FINDING_OF_CYCLES,  /* of the account */
	FINDING_OF_SLOTS,   /* of the tree of slots */
	FINDING_OF_LATENCY, /* of all sampled loads */
};

struct finding_place { /* a function; NULL: not known */
	const char *function, *dso;
	double share; /* of what the finding has a share of; NAN: not known */
};

struct finding {
	enum finding_kind kind;
	enum finding_of of;
	double share, half; /* `half`: of the 95 % interval */
	double stake;
	struct finding_place at;     /* where it is */
	struct finding_place caller; /* who calls that, most often */
	const char *thread;	     /* NULL: of several */
	uint32_t tid;		     /* of that thread */
	const char *object;	     /* waited for, a system call, a runtime; NULL: not known */
	/* Where `at` has most samples, begins, waits, or shares; NULL: not known. */
	const char *file;
	uint32_t line;
	double on_line, on_line_half; /* the part of the samples of `at`; 0: not known */
	enum wait_reason reason;      /* of waits */
	uint64_t threads, times;
	double able;	       /* of a run queue: threads that could run at a time, on average */
	uint64_t cpus;	       /* of a run queue: that there are */
	double idle;	       /* of a lock: the part of the waits in which no thread ran */
	uint64_t time, length; /* ns; of waits and late threads */
	struct runtime_found runtime;
};

struct findings {
	struct finding v[FINDINGS_MAX];
	size_t n;
	/* The function with most samples, for a headline; share NAN: there are no samples. */
	struct finding head;
	bool spread;	/* no function has much: `head` has most */
	bool waits;	/* were recorded */
	double running; /* the part of the threads' time on a CPU; NAN: not known */
	/* The part of the length in which nothing could run; without records of switches also that
	 * in which other programs had the CPUs; NAN: not known. */
	double waited;
	uint64_t on_cpu, length; /* ns; length 0: not known */
	uint64_t samples;
	struct arena a;
};

struct findings_in {
	const struct pd *rec;
	struct images *images;
	const struct profile *profile; /* rows by KEY_DSO and KEY_SYM, among others */
	const struct profile *lines;   /* the same samples with KEY_ADDR; NULL */
	size_t event;		       /* of pd_events(): whose samples; SIZE_MAX: none */
	const struct cube *cube;       /* of that event; NULL */
	const struct wait *wait;       /* NULL */
	/* After account_whole(); the profile is weighed as it wants. NULL: there is none. */
	const struct account_bound *account;
	const struct sharing *sharing; /* NULL */
	const struct memory *memory;   /* of all its events; NULL */
};

struct findings *findings_make(const struct findings_in *in);
/* Lines of calls need the samples by chain, a walk: true if some finding has such a line. `p` has
 * them, with opts.chains and STACKS_MERGED, and may be freed then; `in` is that of
 * findings_make(). */
bool findings_want_calls(const struct findings *f);
void findings_calls(struct findings *f, const struct findings_in *in, const struct profile *p);
void findings_free(struct findings *f); /* NULL is fine */

#endif
