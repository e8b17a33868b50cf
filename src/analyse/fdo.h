/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fdo - how often each source line ran, as compilers want to know it: by function, line from the
 * function's first, discriminator; inlined calls as functions within functions; targets of calls.
 *
 *	fdo_of_flow(&p, flow, images, image, &err)	from branch stacks: executions
 *	fdo_of_samples(&p, profile, images, image, &err)	from addresses alone: less good
 *	fdo_free(p)
 *
 * Every instruction of a span ran as often as the span. A line ran as often as that of its
 * instructions which ran most. A function's total is the sum over the bytes of its instructions, up
 * to the first byte of a span's last one, with functions inlined into it: so does AutoFDO's
 * converter, for which compilers were tuned. Both times the duplication in a discriminator. Entries
 * of a function are the branches to its first instruction. Functions have the names that debug
 * information has for linkers, so that a part that was moved away counts for the whole.
 *
 * Counts are weights, scaled so that all spans together have as many as were seen in stacks: they
 * are as large as they are sure, and those of stacks that stand for more occurrences weigh more.
 */
#ifndef CYCLADE_ANALYSE_FDO_H
#define CYCLADE_ANALYSE_FDO_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/flow.h"
#include "analyse/profile.h"
#include "base/err.h"

struct fdo_place {     /* in a function */
	uint32_t line; /* from the function's first, modulo 2^16 */
	uint32_t discriminator;
};

struct fdo_target {
	uint32_t name;
	uint64_t count;
};

struct fdo_line {
	struct fdo_place at;
	uint64_t count;
	uint32_t first_target, n_targets; /* most first */
};

struct fdo_function {
	uint32_t name;
	struct fdo_place at; /* its call site, if inlined */
	uint64_t total, head;
	uint32_t first_line, n_lines;	   /* by place */
	uint32_t first_inlined, n_inlined; /* functions, by place and name */
};

struct fdo {
	const char *const *name; /* sorted; none has blanks or control characters */
	struct fdo_function *f;	 /* first those that are not inlined, most first */
	struct fdo_line *line;
	struct fdo_target *target;
	size_t n_names, n_top, n_functions, n_lines, n_targets;
	/* Weight (scaled) that is not in the profile, by why: */
	uint64_t used;	    /* in it */
	uint64_t no_lines;  /* code without debug information */
	uint64_t no_symbol; /* code in no function */
	uint64_t no_insn;   /* spans that do not fit the code */
	uint64_t bad_name;  /* names that the formats have no room for */
	uint64_t elsewhere; /* in other images, of user space */
};

int fdo_of_flow(struct fdo **out, const struct flow *f, struct images *images, uint32_t image,
		struct err *err) MUST_USE;
/* The profile's keys are KEY_ADDR and KEY_DSO. */
int fdo_of_samples(struct fdo **out, const struct profile *p, struct images *images, uint32_t image,
		   struct err *err) MUST_USE;
void fdo_free(struct fdo *p); /* NULL is fine */

/* Returns the factor from weights of a flow to the counts above, and such a count. */
double fdo_scale(const struct flow *f);
uint64_t fdo_count(const struct flow_weight *w, double scale);

/* The parts of LLVM's discriminators: the number of the block on its source line, and how many
 * copies of the code (an unrolled loop, vectors) this one stands for. */
uint32_t fdo_base_discriminator(uint32_t d);
uint32_t fdo_duplication(uint32_t d);

#endif
