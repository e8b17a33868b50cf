/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events are tested: those of the model's tree, those whose rule is known, and generic names.
 */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "collect/alive.h"
#include "collect/sysfs.h"
#include "measure/validate/validate_int.h"

static const char *const hardware[] = {
	"cycles",
	"instructions",
	"branches",
	"branch-misses",
	"cache-references",
	"cache-misses",
	"L1-dcache-loads",
	"L1-dcache-load-misses",
	"dTLB-load-misses",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};
static const char *const software[] = {
	"task-clock",	  "cpu-clock",	      "page-faults",
	"minor-faults",	  "major-faults",     "context-switches",
	"cpu-migrations", "alignment-faults", "emulation-faults",
};
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct choosing {
	const struct validate_choice *c;
	struct arena *a;
	struct event_list *list;
	struct validate_event *out;
	size_t n, room;
	uint64_t missing; /* alive_missing() of `missing_of` */
	const char *missing_of;
	bool *found; /* by name that was asked for */
	struct err *err;
};

static bool lower_glob(const char *pattern, const char *s)
{
	char p[VALIDATE_NAME], t[VALIDATE_NAME];

	for (size_t i = 0; i < 2; i++) {
		const char *from = i ? s : pattern;
		char *to = i ? t : p;
		size_t n = strlen(from);

		if (n >= VALIDATE_NAME)
			return false;
		for (size_t k = 0; k <= n; k++)
			to[k] = (char)(from[k] >= 'A' && from[k] <= 'Z' ? from[k] + 32 : from[k]);
	}
	return text_glob(p, t);
}

static bool asked(struct choosing *g, const char *name)
{
	bool yes = !g->c->n_names;

	for (size_t i = 0; i < g->c->n_names; i++)
		if (lower_glob(g->c->name[i], name))
			yes = g->found[i] = true;
	return yes;
}

/* The kernel's part may be left out: kernels do it themselves, in user space. */
static bool happens_in_user(const struct validate_rule *r)
{
	return r->kind == COUNTS_NS || r->weight[Q_FAULTS] > 0;
}

/* Its attribute for the kernel, or a reason. */
static int encode(struct choosing *g, struct validate_event *e)
{
	const struct validate_rule *r = validate_rule_of(e->name);
	struct err why = ERR_INIT;
	size_t at = g->list->ev.n;
	const struct event *ev;
	const uint32_t *cpus;
	size_t n;

	if (event_parse(g->list, g->c->root, e->name, &why) || g->list->ev.n == at) {
		if (why.code == ERR_NOMEM)
			return *g->err = why, -1;
		e->absent =
			arena_printf(g->a, "%s", why.code ? why.what : "there is no such event");
		return e->absent ? 0 : err_nomem(g->err);
	}
	ev = &g->list->ev.v[at];
	e->attr = ev->attr;
	if (r && r->kernel && !(g->c->user_only && happens_in_user(r)))
		e->attr.exclude_kernel = 0;
	else
		e->attr.exclude_kernel = e->attr.exclude_hv = 1;
	e->attr.sample_period = 0;
	event_cpus(&cpus, &n, ev, g->a);
	if (cpus && !cpu_list_has(cpus, n, g->c->cpu))
		e->absent = "it does not count on the CPU that the kernels run on (-C)";
	if (!g->missing_of || strcmp(g->missing_of, ev->pmu)) {
		g->missing = alive_missing(g->a, g->c->root, ev->pmu);
		g->missing_of = ev->pmu;
	}
	if (e->attr.type > PERF_TYPE_HW_CACHE && e->attr.config < 64 &&
	    g->missing >> e->attr.config & 1)
		e->absent = "not supported: this CPU does not implement it";
	return 0;
}

static int add_validate_event(struct choosing *g, const char *name, bool used, const char *absent)
{
	struct validate_event *e = &g->out[g->n];

	for (size_t i = 0; i < g->n; i++)
		if (!strcasecmp(g->out[i].name, name))
			return 0;
	if (g->n == g->room)
		return 0;
	*e = (struct validate_event){ .name = name, .used = used, .absent = absent };
	g->n++;
	return absent ? 0 : encode(g, e);
}

static int add_model(struct choosing *g)
{
	const struct model *m = g->c->model;

	for (size_t i = 0; m && i < m->n_events; i++) {
		const struct model_event *e = &m->event[i];
		bool used = i < m->n_used && (!g->c->needed || g->c->needed[i]);
		const char *absent = e->flags & EVENT_UNCORE   ? "it counts outside the cores"
				     : e->flags & EVENT_METRIC ? "a field of slots, no counter"
							       : NULL;

		if (e->flags & EVENT_SOFTWARE || (!used && !validate_rule_of(e->name)) ||
		    (g->c->needed && !used) || (g->c->no_pmu && !g->c->n_names && !g->c->needed) ||
		    !asked(g, e->name))
			continue;
		if (add_validate_event(g, e->name, used, g->c->no_pmu ? g->c->no_pmu : absent))
			return -1;
	}
	return 0;
}

static int add_generic(struct choosing *g)
{
	for (size_t i = 0; !g->c->needed && i < COUNT(hardware); i++)
		if (asked(g, hardware[i]) &&
		    add_validate_event(g, hardware[i], false, g->c->no_pmu))
			return -1;
	for (size_t i = 0; !g->c->needed && i < COUNT(software); i++)
		if (asked(g, software[i]) && add_validate_event(g, software[i], false, NULL))
			return -1;
	return 0;
}

static int unknown(const struct choosing *g, const char *name)
{
	const struct model *m = g->c->model;
	size_t n = n_kernels + COUNT(hardware) + COUNT(software) +
		   (m ? m->n_metrics + m->n_events : 0),
	       k = 0;
	const char **words = arena_alloc(g->a, (n + 1) * sizeof(*words));

	if (!words)
		return err_nomem(g->err);
	for (size_t i = 0; i < n_kernels; i++)
		words[k++] = kernels[i].name;
	for (size_t i = 0; m && i < m->n_metrics; i++)
		words[k++] = m->metric[i].name;
	for (size_t i = 0; i < COUNT(hardware); i++)
		words[k++] = hardware[i];
	for (size_t i = 0; i < COUNT(software); i++)
		words[k++] = software[i];
	for (size_t i = 0; m && i < m->n_events; i++)
		words[k++] = m->event[i].name;
	words[k] = NULL;
	(void)err_set(g->err, ERR_NOT_FOUND, "'%.60s' is no kernel, node or event of this machine",
		      name);
	return text_suggest(g->err, name, words,
			    "cyclade list kernels, nodes or events show the names");
}

/* Names that no list has: as -e takes them. */
static int add_others(struct choosing *g)
{
	for (size_t i = 0; i < g->c->n_names; i++) {
		if (g->found[i])
			continue;
		if (add_validate_event(g, g->c->name[i], false, NULL))
			return -1;
		if (g->out[g->n - 1].absent)
			return unknown(g, g->c->name[i]);
	}
	return 0;
}

int validate_events(struct validate_event **out, size_t *n, struct arena *a,
		    struct event_list *list, const struct validate_choice *c, struct err *err)
{
	struct choosing g = { .c = c, .a = a, .list = list, .err = err };

	g.room = (c->model ? c->model->n_events : 0) + COUNT(hardware) + COUNT(software) +
		 c->n_names;
	g.out = arena_alloc(a, (g.room + 1) * sizeof(*g.out));
	g.found = arena_alloc(a, c->n_names + 1);
	if (!g.out || !g.found)
		return err_nomem(err);
	if (add_model(&g) || add_generic(&g) || add_others(&g))
		return -1;
	*out = g.out;
	*n = g.n;
	return 0;
}

/* ---- events of a node ------------------------------------------------------------------------ */

struct needing {
	const struct model *m;
	bool *needed; /* by event */
	bool *seen;   /* by metric */
};

static void needs(struct needing *g, uint32_t metric);

static int need_event(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct needing *g = ctx;

	if (kind == EXPR_EVENT)
		g->needed[index] = true;
	else if (kind == EXPR_METRIC)
		needs(g, index);
	return 0;
}

static void needs(struct needing *g, uint32_t metric)
{
	if (g->seen[metric] || !g->m->metric[metric].expr)
		return;
	g->seen[metric] = true;
	(void)expr_needs(g->m->metric[metric].expr, NULL, need_event, g);
}

int validate_needs(bool *needed, struct arena *a, const struct model *m, uint32_t metric,
		   struct err *err)
{
	struct needing g = { m, needed, arena_alloc(a, m->n_metrics + 1) };

	if (!g.seen)
		return err_nomem(err);
	needs(&g, metric);
	return 0;
}
