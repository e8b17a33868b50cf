/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings_int - the parts of findings: samples (findings_samples.c), call chains
 * (findings_chains.c), the account of cycles (findings_account.c), memory (findings_memory.c),
 * waits (findings_waits.c), threads (findings_threads.c); findings.c ranks.
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
/* A function on the stack of a wait for a mutex that another thread holds. */
bool finding_mutex(const char *function);

struct finding_work {
	const struct findings_in *in;
	struct findings *out;
	VEC(struct finding) found;
	struct tally all; /* of the event */
	bool started;	  /* the recorder started the program */
	bool cost;	  /* the event is cycles or time: else a place with much of it is no news */
};

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

/* Adds it if its lower end is at least `least` of its whole. */
void finding_add(struct finding_work *w, struct finding *f, double least);

/* The source file and line of an address; of code that is inlined there, the line of its call.
 * False: they are not known. */
bool finding_line_at(struct source_line *out, const struct finding_work *w, uint32_t image,
		     uint64_t addr);
/* Fills them in. */
void finding_line(struct finding *f, const struct finding_work *w, uint32_t image, uint64_t addr);

void findings_samples(struct finding_work *w);
void findings_chains(struct finding_work *w);
void findings_account(struct finding_work *w, const struct spots *s);
void findings_memory(struct finding_work *w);
void findings_waits(struct finding_work *w);
void findings_threads(struct finding_work *w);

/* The function that most calls of this one come from; with no chains none. */
struct finding_place finding_caller(const struct finding_work *w, const struct finding_place *of);

#endif
