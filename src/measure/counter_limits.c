/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/counter_limits.h"

#include <string.h>

#include "base/cpu_list.h"
#include "collect/event.h"
#include "collect/holders.h"
#include "collect/vacant.h"

#define EVENTS_MAX 64

struct trying {
	const struct limits_ask *x;
	const struct model *m;
	struct event_list list;
	struct vacant_where where;
};

/* An event of the model as the machine takes it; false where it does not. */
static bool attr_of(struct trying *t, uint32_t event, struct perf_event_attr *out)
{
	const char *text = model_event_text(&t->list.arena, &t->m->event[event], t->x->pmu);
	size_t from = t->list.ev.n;
	bool is =
		text && !event_parse(&t->list, t->x->root, text, NULL) && t->list.ev.n == from + 1;

	if (is)
		*out = t->list.ev.v[from].attr;
	t->list.ev.n = from;
	return is;
}

static enum schedule_tried fits(void *ctx, const uint32_t *event, size_t n)
{
	struct perf_event_attr attr[EVENTS_MAX];
	struct trying *t = ctx;

	for (size_t i = 0; i < n; i++) {
		if (i == EVENTS_MAX)
			return SCHEDULE_NOT_TRIED;
		if (i && event[i] == event[i - 1])
			attr[i] = attr[i - 1];
		else if (!attr_of(t, event[i], &attr[i]))
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

/* Of a hybrid's kind of cores; of others all CPUs will do. */
static void find_cores(struct trying *t)
{
	const struct machine *m = t->x->machine;

	for (size_t i = 0; i < m->n_pmus; i++)
		if (!strcmp(m->pmu[i].name, t->x->pmu) && m->pmu[i].cpus &&
		    strcmp(t->x->pmu, "cpu") != 0 &&
		    cpu_list_parse(&t->list.arena, m->pmu[i].cpus, strlen(m->pmu[i].cpus),
				   &t->where.cores, &t->where.n_cores))
			t->where.cores = NULL;
}

void limits_of(struct schedule_limits *l, const struct model *m, const struct limits_ask *x)
{
	struct schedule_machine at = { .smt = x->smt };
	struct trying t = { .x = x, .m = m, .list = EVENT_LIST_INIT };
	const struct schedule_try how = { fits, &t };
	struct holders h;

	holders_read(&h, x->root, x->pmu);
	at.general = h.general;
	at.fixed = h.fixed;
	at.watchdog = h.watchdog > 0;
	at.no_tsx_abort = !h.tsx_force_abort;
	schedule_limits_of(l, m, &at);
	if (!x->tries)
		return;
	t.list.counts = true;
	t.where.cpus = x->cpus;
	t.where.n_cpus = x->n_cpus;
	find_cores(&t);
	schedule_limits_try(l, m, &how);
	event_list_free(&t.list);
}

int limits_model(struct model **out, struct schedule_limits *l, const struct model_choice *c,
		 const struct limits_ask *x, double *system, struct err *err)
{
	if (model_choice_load(c, x->machine, x->pmu, system, out, err))
		return -1;
	limits_of(l, *out, x);
	if (!schedule_limits_no_slots(l, *out))
		return 0;
	system[SYSTEM_NO_SLOTS] = 1;
	model_free(*out);
	return model_choice_load(c, x->machine, x->pmu, system, out, err);
}

const char *limits_note(struct arena *a, const char *root, const char *pmu,
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
