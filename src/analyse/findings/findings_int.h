/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings_int - the parts of findings: samples (findings_samples.c), call chains
 * (findings_chains.c, findings_calls.c), the account of cycles (findings_account.c), slots
 * (findings_topdown.c), both with findings_place.c; memory (findings_memory.c), waits
 * (findings_waits.c), waits for a CPU (findings_cpus.c), threads (findings_threads.c), processes
 * (findings_processes.c); findings.c ranks.
 */
#ifndef CYCLADE_ANALYSE_FINDINGS_FINDINGS_INT_H
#define CYCLADE_ANALYSE_FINDINGS_FINDINGS_INT_H

#include "analyse/findings.h"
#include "base/vec.h"

enum { /* of functions; 0: the program's own code */
       CODE_KERNEL = 1,
       CODE_SYSTEM = 2, /* the C library and the like, which others call */
       CODE_ALLOCATOR = 4,
       CODE_UNKNOWN = 8, /* no function */
};
unsigned finding_code(const char *function, const char *dso);
/* Returns true for waits whose reason may be another recorded thread, and is then to be found
 * there; or that are no waits for anything. */
bool finding_waits_for_others(uint8_t reason, bool started);
/* Times of waits are exact but for clocks, for what is not known, and for `bar`, ns. */
double finding_wait_bar(uint64_t n, double bar, const struct wait *w, double whole);
/* A function on the stack of a wait for a mutex that another thread holds. */
bool finding_mutex(const char *function);

struct spot {			       /* a function */
	const struct profile_row *row; /* the heaviest */
	uint64_t most;
	const char *function, *dso;
	unsigned code;
	struct tally w;
};

struct spots { /* most first */
	struct spot *v;
	size_t n;
};

struct finding_work {
	const struct findings_in *in;
	struct findings *out;
	VEC(struct finding) found;
	struct spots spots; /* functions of the samples */
	struct tally all;   /* of the event */
	bool started;	    /* the recorder started the program */
	double weight;	    /* of CPU time: the part of the time with a CPU; 1: not known */
	bool cost; /* the event is cycles or time: else a place with much of it is no news */
};

/* Adds it if its lower end is at least `least` of its whole. */
void finding_add(struct finding_work *w, struct finding *f, double least);

/* The source file and line of an address; of code that is inlined there, the line of its call.
 * False: they are not known. */
bool finding_line_at(struct source_line *out, const struct finding_work *w, uint32_t image,
		     uint64_t addr);
/* Fills them in. */
void finding_line(struct finding *f, const struct finding_work *w, uint32_t image, uint64_t addr);

/* How much of a cause these samples have; NAN: not known. */
struct measured {
	double v, half; /* of the 95 % interval */
};
typedef struct measured finding_measure(const void *ctx, const struct tally *by_event);
/* Sets `file` and `line` to the line with most of the function's; returns its measure. */
struct measured finding_hottest_line(struct finding *f, const struct finding_work *w,
				     const struct spot *x, finding_measure *measure,
				     const void *ctx);
/* Sets `at`, with its part of `whole`, and the line with the part of the function. */
void finding_hottest_place(struct finding *f, const struct finding_work *w, const struct spots *s,
			   finding_measure *measure, const void *ctx, double whole);

/* Sets the line with most samples of the function at f->at, in whatever thread. */
void finding_line_of_place(struct finding *f, const struct finding_work *w);

void findings_samples(struct finding_work *w);
void findings_chains(struct finding_work *w);
void findings_account(struct finding_work *w, const struct spots *s);
void findings_topdown(struct finding_work *w, const struct spots *s);
void findings_memory(struct finding_work *w);
void findings_waits(struct finding_work *w);
/* `idle`: ns in which no thread could run. First of all: it sets the weight. */
void findings_cpus(struct finding_work *w, uint64_t idle);
void findings_threads(struct finding_work *w);
void findings_processes(struct finding_work *w);

/* Sets the share of the event that a part of the cube's period has, and the stake. */
void finding_set_part(struct finding *f, uint64_t period, const struct finding_work *w);
/* Returns what the kernel was entered for: "read" of __x64_sys_read; NULL: no such function. */
const char *finding_kernel_entry(const char *function);

/* The function that most calls of this one come from; with no chains none. */
struct finding_place finding_caller(const struct finding_work *w, const struct finding_place *of);

#endif
