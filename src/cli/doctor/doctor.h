/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doctor - the checks of `cyclade doctor`, private to its files.
 *
 * Each check is a row (name, function) of a table in doctor_checks.c and fills one finding. A check
 * opens events if it can: settings promise, the kernel decides. On a captured machine (--sysroot)
 * nothing is tried.
 */
#ifndef CYCLADE_CLI_DOCTOR_H
#define CYCLADE_CLI_DOCTOR_H

#include <sys/types.h>

#include "base/perf_abi.h"
#include "cli/cli.h"
#include "collect/machine.h"
#include "show/document.h"

enum verdict {
	VERDICT_OK,
	VERDICT_NONE,	 /* nothing to judge: it depends on something that is not there */
	VERDICT_COST,	 /* works, at a price */
	VERDICT_LIMIT,	 /* something cannot be measured */
	VERDICT_BLOCKER, /* nothing can be sampled at all */
};

#define FIXES 4

struct finding {
	enum verdict verdict;
	const char *state;	/* the finding */
	const char *effect;	/* its consequence; NULL if all is well */
	const char *fix[FIXES]; /* to type, or to do */
};

struct doctor {
	struct cli *cli;
	struct arena *a;
	const char *root; /* "" on the machine at hand */
	bool live;
	struct machine m;
	/* errno of opening each on this machine, 0 if it works; -1: not tried */
	int own_user, own_kernel, whole_machine, cycles;
	const char *container; /* the container around us, or NULL */
	int seccomp;	       /* mode from /proc/self/status, -1: not known */
	bool no_new_privs;     /* programs gain nothing by the capabilities of their files */
};

struct check {
	const char *name;
	void (*run)(struct doctor *d, struct finding *f);
};

struct doctor_result {
	const struct doctor *d;
	struct finding *f; /* one for each check */
	uint64_t blockers, limits, costs;
};

/* The findings, as tables; the result must outlive the document, which has it as its ctx. */
extern const struct document_form doctor_document;
void doctor_put(struct document *d, const struct doctor_result *r);

extern const struct check doctor_checks[];
extern const size_t n_doctor_checks;

/* The PMU of the cores, of a hybrid the big ones'; NULL: none. */
const struct machine_pmu *doctor_core_pmu(const struct doctor *d);

void check_metrics(struct doctor *d, struct finding *f);
void check_latency(struct doctor *d, struct finding *f);
void check_smt(struct doctor *d, struct finding *f);
void check_holders(struct doctor *d, struct finding *f);
void check_verdicts(struct doctor *d, struct finding *f);

/* Fills all but cli, a, root and live. */
int doctor_look(struct doctor *d, struct err *err) MUST_USE;

#define DOCTOR_RING_PAGES   128u /* the ring that a recording asks for: 512 KiB, and one page */
#define DOCTOR_COUNTERS_MAX 64u

/* Each opens something on the machine at hand and lets go of it: 0, or the errno. */
int doctor_try_event(struct perf_event_attr attr, pid_t pid, int cpu);
int doctor_try_ring(void);
/* How many counters can count cycles at the same time: as many as one group holds. */
unsigned doctor_counters(void);
/* Cycles of user space, sampled. */
struct perf_event_attr doctor_cycles_attr(void);

#endif
