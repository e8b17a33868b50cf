/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_choice - which model to work with: the one that was named, else the one for this machine
 * (or a captured one); models of directories go over those compiled in.
 */
#ifndef CYCLADE_PLAN_MODEL_CHOICE_H
#define CYCLADE_PLAN_MODEL_CHOICE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/words.h"
#include "collect/machine.h"
#include "model/model.h"

struct model_choice {
	struct arena *a;
	const char *named; /* an id or another name of a model; NULL: the machine's */
	struct text_list dirs;
	const char *root; /* before /sys and /proc; "" */
};

/* Lives as long as the choice does. */
struct model_sources model_choice_sources(const struct model_choice *c);

/* "--models DIR " of each, for a command to type: a name may be of these models alone. */
void model_choice_put(struct buf *b, const struct model_choice *c);

/* The CPU behind one of the machine's core PMUs; pmu NULL: the first there is, else "cpu". */
struct model_cpu model_choice_cpu(const struct machine *m, const char *pmu);

/* Its id, in the choice's arena. `machine` NULL: read here. */
int model_choice_id(const struct model_choice *c, const struct machine *machine, const char *pmu,
		    const char **id, struct err *err) MUST_USE;

/* The same, loaded: model_free() it. `system` as for model_load(). */
int model_choice_load(const struct model_choice *c, const struct machine *machine, const char *pmu,
		      const double *system, struct model **out, struct err *err) MUST_USE;

#endif
