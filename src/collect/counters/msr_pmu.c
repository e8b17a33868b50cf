/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMUs made from msr_format.def, so that events get their bits from the same encoder as the
 * kernel's.
 */
#include <string.h>

#include "collect/counters/msr_int.h"
#include "collect/events/event_pmu.h"

#define L3_17H_ALL   UINT64_C(0xFF0F000000000000) /* every slice and thread */
#define L3_17H_MASKS UINT64_C(0xFF0F000000000000)
#define L3_19H_ALL   UINT64_C(0x0300C00000000000) /* every slice and core, both threads */
#define L3_19H_MASKS UINT64_C(0x0307DC0000000000)

struct format_row {
	enum msr_unit unit;
	uint32_t from, to;
	unsigned v2;
	const char *term, *bits;
};

struct event_row {
	enum msr_unit unit;
	const char *name, *terms;
};

static const struct format_row formats[] = {
#define MSR_FORMAT(unit, from, to, v2, term, bits) { MSR_##unit, from, to, v2, term, bits },
#define MSR_EVENT(unit, name, terms)
#include "collect/counters/msr_format.def"
};

static const struct event_row events[] = {
#define MSR_EVENT(unit, name, terms) { MSR_##unit, name, terms },
#include "collect/counters/msr_format.def"
};

#define N_FORMATS (sizeof(formats) / sizeof(*formats))
#define N_EVENTS  (sizeof(events) / sizeof(*events))

static bool format_applies(const struct msr *m, const struct format_row *f, unsigned u)
{
	return f->unit == msr_kind(u) && m->machine->family >= f->from &&
	       m->machine->family <= f->to && (f->v2 == 2 || (f->v2 == 1) == m->v2);
}

/* The CPUs that read it: of the cores' all. */
static const char *place_cpus(const struct msr *m, unsigned u, struct arena *a, bool *failed)
{
	const char *list = "";

	if (m->form[u].each == MSR_EACH_CPU)
		return NULL;
	for (size_t i = 0; i < m->n_places[u] && list; i++)
		list = arena_printf(a, "%s%s%u", list, i ? "," : "",
				    (unsigned)m->cpus[m->place[u][i].target]);
	*failed |= !list;
	return list && *list ? list : NULL;
}

static int make_msr_pmu(const struct msr *m, struct arena *a, unsigned u, struct pmu *pmu)
{
	bool failed = false;

	*pmu = (struct pmu){ .name = m->form[u].pmu,
			     .type = MSR_TYPE + u,
			     .cpus = place_cpus(m, u, a, &failed),
			     .core = u == MSR_CORE,
			     .known = true,
			     .loaded = true };
	pmu->format = arena_alloc(a, N_FORMATS * sizeof(*pmu->format));
	pmu->alias = arena_alloc(a, N_EVENTS * sizeof(*pmu->alias));
	if (failed || !pmu->format || !pmu->alias)
		return -1;
	for (size_t i = 0; i < N_FORMATS; i++) {
		struct pmu_format *f = &pmu->format[pmu->n_formats];

		if (!format_applies(m, &formats[i], u) ||
		    !pmu_format_parse(f, formats[i].bits, strlen(formats[i].bits)))
			continue;
		f->name = formats[i].term;
		pmu->n_formats++;
	}
	for (size_t i = 0; i < N_EVENTS; i++)
		if (events[i].unit == msr_kind(u))
			pmu->alias[pmu->n_aliases++] = (struct pmu_alias){ .name = events[i].name,
									   .text = events[i].terms,
									   .scale = 1,
									   .read = true };
	return 0;
}

int msr_pmus(struct msr *m, struct event_list *list, struct err *err)
{
	struct arena *a = &list->arena;
	struct pmu_set *set = arena_alloc(a, sizeof(*set));
	struct pmu *v;

	list->root = arena_strdup(a, m->root);
	if (!set || !list->root || pmu_set_read(set, a, list->root))
		return err_nomem(err);
	v = arena_alloc(a, (set->n + m->n_units) * sizeof(*v));
	if (!v)
		return err_nomem(err);
	if (set->n)
		memcpy(v, set->v, set->n * sizeof(*v));
	set->v = v;
	for (unsigned u = 0; u < m->n_units; u++) {
		const char *name = m->form[u].pmu;
		struct pmu *to = pmu_find(set, (struct word){ name, strlen(name) });

		if (u == MSR_UMC) /* each has a unit of its own */
			continue;
		if (!to) {
			to = &set->v[set->n++];
			set->n_core += u == MSR_CORE;
		}
		if (make_msr_pmu(m, a, u, to))
			return err_nomem(err);
	}
	list->pmus = set;
	return 0;
}

uint64_t msr_control(const struct msr *m, unsigned u, uint64_t config)
{
	bool old = m->machine->family < 0x19;

	if (u == MSR_L3 && !(config & (old ? L3_17H_MASKS : L3_19H_MASKS)))
		config |= old ? L3_17H_ALL : L3_19H_ALL;
	return config | m->form[u].on;
}

/* The only event that counts more than 15 at a time: retired floating-point operations. */
bool msr_is_pair(unsigned u, uint64_t config)
{
	return u == MSR_CORE && (config & 0xF000000FF) == 0x003;
}
