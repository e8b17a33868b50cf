/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/plan.h"

#include <string.h>

#include "base/cpu_list.h"
#include "collect/event.h"
#include "collect/holders.h"
#include "collect/vacant.h"

#define EVENTS_MAX 64

struct trying {
	const struct plan_scope *s;
	const char *pmu;
	const struct model *m;
	struct event_list list;
	struct vacant_where where;
};

/* An event of the model in this machine's words; false if it has none. */
static bool event_attr(struct trying *t, uint32_t event, struct perf_event_attr *out)
{
	const char *text = model_event_text(&t->list.arena, &t->m->event[event], t->pmu);
	size_t from = t->list.ev.n;
	bool known =
		text && !event_parse(&t->list, t->s->root, text, NULL) && t->list.ev.n == from + 1;

	if (known) {
		*out = t->list.ev.v[from].attr;
		out->exclude_kernel |= t->s->user_only;
		out->exclude_hv |= t->s->user_only;
	}
	t->list.ev.n = from;
	return known;
}

static enum schedule_tried try_group(void *ctx, const uint32_t *event, size_t n)
{
	struct perf_event_attr attr[EVENTS_MAX];
	struct trying *t = ctx;

	for (size_t i = 0; i < n; i++) {
		if (i == EVENTS_MAX)
			return SCHEDULE_NOT_TRIED;
		if (i && event[i] == event[i - 1])
			attr[i] = attr[i - 1];
		else if (!event_attr(t, event[i], &attr[i]))
			return SCHEDULE_NOT_TRIED;
	}
	switch (vacant_test(attr, n, &t->where)) {
	case VACANT_YES:
		return SCHEDULE_FITS;
	case VACANT_NO:
		return SCHEDULE_NO_ROOM;
	case VACANT_UNKNOWN:
		break;
	}
	return SCHEDULE_NOT_TRIED;
}

void plan_limits(struct schedule_limits *l, const struct model *m, const struct plan_scope *s,
		 const char *pmu, bool smt)
{
	struct trying t = {
		.s = s,
		.pmu = pmu,
		.m = m,
		.list = EVENT_LIST_INIT,
		.where = { .cpus = s->cpus, .n_cpus = s->n_cpus },
	};
	const struct schedule_try how = { try_group, &t };
	struct holders h;

	holders_read(&h, s->root, pmu);
	schedule_limits_of(l, m,
			   &(struct schedule_machine){ .smt = smt,
						       .general = h.general,
						       .fixed = h.fixed,
						       .watchdog = h.watchdog > 0,
						       .no_tsx_abort = !h.tsx_force_abort });
	if (!s->tries)
		return;
	t.list.counts = true;
	/* of a hybrid the thread has to be on this kind of cores; else any CPU will do */
	for (size_t i = 0; i < s->machine->n_pmus; i++) {
		const struct machine_pmu *p = &s->machine->pmu[i];

		if (!strcmp(p->name, pmu) && p->cpus && strcmp(pmu, "cpu") != 0 &&
		    cpu_list_parse(&t.list.arena, p->cpus, strlen(p->cpus), &t.where.cores,
				   &t.where.n_cores))
			t.where.cores = NULL;
	}
	schedule_limits_try(l, m, &how);
	event_list_free(&t.list);
}

int plan_model(struct model **out, struct schedule_limits *l, const struct model_choice *c,
	       const struct plan_scope *s, const char *pmu, double *system, struct err *err)
{
	if (model_choice_load(c, s->machine, pmu, system, out, err))
		return -1;
	plan_limits(l, *out, s, pmu, system[SYSTEM_SMT_ON] > 0);
	if (!schedule_limits_no_slots(l, *out))
		return 0;
	system[SYSTEM_NO_SLOTS] = 1;
	model_free(*out);
	return model_choice_load(c, s->machine, pmu, system, out, err);
}

const char *plan_limits_note(struct arena *a, const char *root, const char *pmu,
			     const struct schedule_limits *l)
{
	unsigned fixed = (unsigned)__builtin_popcount(l->fixed_taken), general = l->general_held;
	const char *who, *what;
	struct holders h;

	if (!l->tried || !(general || fixed))
		return NULL;
	holders_read(&h, root, pmu);
	/* its counter has a note of its own */
	if (h.watchdog > 0 && general + fixed == 1)
		return NULL;
	who = holders_names(a);
	what = !fixed	  ? arena_printf(a, "%u of %u general counters", general, l->counters)
	       : !general ? arena_printf(a, "%u of %u fixed counters", fixed, l->fixed)
			  : arena_printf(a, "%u of %u general and %u of %u fixed counters", general,
					 l->counters, fixed, l->fixed);
	if (!what)
		return NULL;
	what = arena_printf(a, "%s %s held by somebody else", what,
			    general + fixed == 1 ? "is" : "are");
	return what && who ? arena_printf(a, "%s (events are open in %s)", what, who) : what;
}
