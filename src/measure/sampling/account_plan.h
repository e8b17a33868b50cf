/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_plan - `record --account`: which events of a CPU's accounting are sampled, by which
 * periods, in which groups, and which have a counter all the time.
 *
 *	account_plan_make(&p, opts, machine, root, pmu, &err)	from the model's account alone
 *	account_plan_events(&p, &list, root, &err)		as events, if there are any
 *	account_plan_print(&b, &p, ascii)			--dry-run
 *	account_plan_free(&p)
 *
 * Each event is opened once, in one group, and samples by itself. Events that can be on a counter
 * of their own (fixed ones) are pinned there; the others are put in as few groups as the counters
 * allow, those of a formula together, and the kernel lets the groups take turns. How long each
 * really counted is in its samples.
 */
#ifndef CYCLADE_MEASURE_ACCOUNT_PLAN_H
#define CYCLADE_MEASURE_ACCOUNT_PLAN_H

#include "base/buf.h"
#include "collect/event.h"
#include "collect/machine.h"
#include "measure/measure_opts.h"
#include "model/account.h"
#include "model/schedule.h"

#define ACCOUNT_PINNED UINT32_MAX /* the group of each event that has a counter to itself */

struct account_event {
	uint32_t event; /* of the model */
	uint32_t node;	/* the first that asks for it */
	uint32_t group; /* of plan.schedule, or ACCOUNT_PINNED */
	uint64_t period;
	unsigned precise;
	bool branches; /* it counts taken branches: their records with it */
	double share;  /* of the time it has a counter, as the groups take turns */
};

struct account_plan {
	struct model *m;
	struct account *acc;
	const char *pmu;
	struct arena *a;
	struct account_event *ev; /* in the order to open them in: groups one after another */
	size_t n;
	const uint32_t *none; /* events of the tree that cannot be sampled here */
	size_t n_none;
	struct schedule_limits limits;
	struct schedule schedule;
	double hz; /* of the cores, 0: not known */
};

/* Of --account=NODE,...: these, the nodes below them, and their events. `pmu`: of the core events
 * are for. account_plan_free is due after a failure, too. */
int account_plan_make(struct account_plan *p, const struct measure_opts *opts,
		      const struct machine *machine, const char *root, const char *pmu,
		      struct err *err) MUST_USE;
/* Appends them to the list; which[i] is the plan's event of list->ev.v[from + i] (arena memory).
 * Events that the machine cannot even name are left out, and named in *missing ("" if there are
 * none).
 */
int account_plan_events(const struct account_plan *p, struct event_list *list, const char *root,
			const struct account_event ***which, const char **missing,
			struct err *err) MUST_USE;
void account_plan_print(struct buf *b, const struct account_plan *p, bool verbose);
void account_plan_free(struct account_plan *p);

#endif
