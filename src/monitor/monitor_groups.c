/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters in groups that fit their PMU. For the cores' PMU the model knows the limits
 * (schedule.h); for the others only the number of counters is known. Slots lead a group with all
 * fields of PERF_METRICS.
 */
#include <string.h>

#include "collect/holders.h"
#include "collect/sysfs.h"
#include "model/schedule.h"
#include "monitor/monitor_int.h"

#define FABRIC	"sys/bus/event_source/devices/amd_df"
#define GENERAL 4 /* counters of a PMU about which nothing is known */

/* Groups of one PMU as they grow. */
struct packing {
	struct monitor *m;
	const struct model *model; /* of its cores; NULL */
	struct schedule_limits limits;
	bool core;   /* limits hold */
	size_t room; /* else: counters */
	struct {
		uint32_t *event; /* of the model */
		size_t n, others;
	} * group; /* n of them */
	size_t n;
	uint32_t *in; /* by source: its group */
};

/* ---- limits ---- */

/* A kernel that knows of more counters than four (PerfMonV2) has longer masks. */
static size_t fabric(const struct monitor *m)
{
	char format[64];
	struct holders h;

	holders_read(&h, m->k.root, "cpu");
	if (sys_read(format, sizeof(format), m->k.root, FABRIC "/format/umask") <= 0 ||
	    !strchr(format, ','))
		return GENERAL;
	return h.fabric > GENERAL ? h.fabric : GENERAL;
}

/* Counters that cgroups have beside those of the machine. */
static size_t taken_by_cgroups(const struct monitor *m, const char *pmu)
{
	const struct cgroup_setup *s = &m->cgroup_setup;
	size_t n = 0;

	for (size_t i = 0; i < s->n && !m->msr; i++)
		n += !strcmp(m->source.v[s->source[i]].pmu, pmu);
	return n;
}

/* How many counters of a PMU the monitor may have. The NMI watchdog holds one of each core. */
static size_t room_of(const struct monitor *m, const char *pmu)
{
	static const char *const own[] = { "msr", "power", "software", "cstate_core",
					   "cstate_pkg" };
	const struct core_kind *k = monitor_kind_of(m, pmu);
	size_t n = k && k->model ? k->model->counters : GENERAL;

	if (m->msr)
		return msr_room(m->msr, pmu);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(pmu, own[i]))
			return SIZE_MAX;
	if (!strcmp(pmu, "amd_df"))
		return fabric(m);
	if (strstr(pmu, "free_running"))
		return SIZE_MAX;
	if (!strcmp(pmu, "amd_l3"))
		return 6;
	if (strncmp(pmu, "cpu", 3) && strncmp(pmu, "armv", 4) && strcmp(pmu, "hardware"))
		return GENERAL;
	if (m->k.machine.nmi_watchdog == 1 && n > 1)
		n--;
	n -= n > taken_by_cgroups(m, pmu) ? taken_by_cgroups(m, pmu) : 0;
	return n ? n : GENERAL;
}

static uint32_t known_event(const struct packing *p, const struct source *s)
{
	return p->model ? model_event_find(p->model, s->name, strlen(s->name)) : MODEL_NONE;
}

static bool is_field(const struct monitor *m, const struct source *s)
{
	return m->list.ev.v[s->event].topdown == TOPDOWN_METRIC;
}

static bool fits_packing(struct packing *p, size_t g, uint32_t event)
{
	struct schedule_limits l = p->limits;
	size_t n = p->group[g].n, others = p->group[g].others;
	const char *why;

	if (!p->core)
		return n + others < p->room;
	l.reserved += (unsigned)others + (event == MODEL_NONE);
	if (event != MODEL_NONE)
		p->group[g].event[n++] = event;
	return schedule_fits(p->model, &l, p->group[g].event, n, &why);
}

static void limits_of_packing(struct packing *p, const char *pmu)
{
	const struct monitor *m = p->m;
	const struct core_kind *k = monitor_kind_of(m, pmu);

	p->room = room_of(m, pmu);
	p->model = k ? k->model : NULL;
	p->core = p->model && (m->msr ? !strcmp(pmu, "cpu") : sys_core_pmu(m->k.root, pmu));
	if (!p->core)
		return;
	if (m->msr) { /* the registers showed which counters others hold */
		const struct schedule_machine at = { .smt = k->system[SYSTEM_SMT_ON] > 0 };

		schedule_limits_of(&p->limits, p->model, &at);
		p->limits.reserved +=
			p->model->counters > p->room ? p->model->counters - (unsigned)p->room : 0;
		return;
	}
	p->limits = k->limits;
	p->limits.reserved += (unsigned)taken_by_cgroups(m, pmu);
}

/* ---- packing ---- */

/* The first group with room; a source that fits none is alone, for the kernel to judge. */
static int put(struct packing *p, size_t source, struct err *err)
{
	struct monitor *m = p->m;
	uint32_t event = known_event(p, &m->source.v[source]);
	bool field = is_field(m, &m->source.v[source]);
	size_t g = 0;

	while (g < p->n && !(field ? g == 0 : fits_packing(p, g, event)))
		g++;
	if (g == p->n) {
		p->group[g].event = arena_alloc(m->a, (m->source.n + 1) * sizeof(uint32_t));
		if (!p->group[g].event)
			return err_nomem(err);
		p->group[g].n = p->group[g].others = 0;
		p->n++;
	}
	if (event != MODEL_NONE && p->core)
		p->group[g].event[p->group[g].n++] = event;
	else
		p->group[g].others++;
	p->in[source] = (uint32_t)g;
	return 0;
}

/* In which order sources come: slots, fields, the rest. */
static int rank_of_source(const struct monitor *m, const struct source *s)
{
	enum event_topdown kind = m->list.ev.v[s->event].topdown;

	return kind == TOPDOWN_SLOTS ? 0 : kind == TOPDOWN_METRIC ? 1 : 2;
}

static bool is_of(const struct source *s, const char *pmu)
{
	return s->event != NO_COUNTER && !s->of_cgroups && !strcmp(s->pmu, pmu);
}

static int close_groups(struct packing *p, const char *pmu, struct err *err)
{
	struct monitor *m = p->m;
	size_t first = m->group.n;

	for (size_t g = 0; g < p->n; g++) {
		struct counter_event *ev = arena_alloc(m->a, (m->source.n + 1) * sizeof(*ev));
		struct counter_group made = { .event = ev, .idle = g > 0 };

		if (!ev)
			return err_nomem(err);
		for (size_t i = 0; i < 3 * m->source.n; i++) {
			struct source *s = &m->source.v[i % m->source.n];
			struct counter_event *to = &ev[made.n];
			const struct event *e;

			if (!is_of(s, pmu) || p->in[i % m->source.n] != g ||
			    rank_of_source(m, s) != (int)(i / m->source.n))
				continue;
			e = &m->list.ev.v[s->event];
			s->group = first + g;
			s->index = made.n++;
			*to = (struct counter_event){ .attr = e->attr,
						      .name = e->name,
						      .typed = e->name,
						      .with_leader = is_field(m, s) };
			event_cpus(&to->cpus, &to->n_cpus, e, m->a);
		}
		if (vec_push(&m->group, made))
			return err_nomem(err);
	}
	return 0;
}

/* The counters of one PMU in groups that fit it; several take turns. */
static int group_pmu(struct packing *p, const char *pmu, struct err *err)
{
	struct monitor *m = p->m;
	struct rotation turns = { .first = m->group.n };

	p->n = 0;
	limits_of_packing(p, pmu);
	for (int r = 0; r < 3; r++)
		for (size_t i = 0; i < m->source.n; i++)
			if (is_of(&m->source.v[i], pmu) &&
			    rank_of_source(m, &m->source.v[i]) == r && put(p, i, err))
				return -1;
	if (close_groups(p, pmu, err))
		return -1;
	turns.n = m->group.n - turns.first;
	turns.spent = arena_alloc(m->a, (turns.n + 1) * sizeof(*turns.spent));
	if (!turns.spent)
		return err_nomem(err);
	memset(turns.spent, 0, turns.n * sizeof(*turns.spent));
	return turns.n && vec_push(&m->turns, turns) ? err_nomem(err) : 0;
}

/* Fields of PERF_METRICS without slots: these were not asked for, but they must lead. */
static int add_slots(struct monitor *m, size_t kind, struct err *err)
{
	const struct core_kind *k = &m->rows->kind[kind];
	bool fields = false, slots = false;
	uint32_t input;

	for (size_t i = 0; i < m->source.n; i++) {
		if (m->source.v[i].event == NO_COUNTER ||
		    monitor_kind_of(m, m->source.v[i].pmu) != k)
			continue;
		fields |= rank_of_source(m, &m->source.v[i]) == 1;
		slots |= rank_of_source(m, &m->source.v[i]) == 0;
	}
	for (uint32_t e = 0; fields && !slots && e < k->model->n_events; e++)
		if (k->model->event[e].flags & EVENT_SLOTS)
			return monitor_model_input(m, kind, e, &input, err);
	return 0;
}

int monitor_groups(struct monitor *m, struct err *err)
{
	struct packing p = { .m = m };
	size_t most = 0;

	for (size_t k = 0; k < m->rows->n_kinds; k++)
		if (m->rows->kind[k].model && add_slots(m, k, err))
			return -1;
	p.group = arena_alloc(m->a, (m->source.n + 1) * sizeof(*p.group));
	p.in = arena_alloc(m->a, (m->source.n + 1) * sizeof(*p.in));
	if (!p.group || !p.in)
		return err_nomem(err);
	for (size_t i = 0; i < m->source.n; i++) {
		bool before = m->source.v[i].event == NO_COUNTER || m->source.v[i].of_cgroups;

		for (size_t k = 0; k < i && !before; k++)
			before = is_of(&m->source.v[k], m->source.v[i].pmu);
		if (!before && group_pmu(&p, m->source.v[i].pmu, err))
			return -1;
	}
	for (size_t g = 0; g < m->group.n; g++)
		most = m->group.v[g].n > most ? m->group.v[g].n : most;
	m->setup.group = m->group.v;
	m->setup.n_groups = m->group.n;
	m->value = arena_alloc(m->a, (most * m->targets + 1) * sizeof(*m->value));
	return m->value ? 0 : err_nomem(err);
}
