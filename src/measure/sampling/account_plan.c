/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/sampling/account_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/holders.h"
#include "collect/sysfs.h"
#include "model/event_same.h"
#include "plan/plan.h"

#define PERIOD_UNSAID 2000003u
#define PIN_GENERAL   3u /* general counters: one to pin, and two for groups */

struct making {
	struct account_plan *p;
	bool *node;	 /* by node: wanted */
	bool *event;	 /* by event of the model: wanted */
	uint32_t *at;	 /* by event: the node that asks for it first */
	bool one_thread; /* cores run one: collisions of two are not asked for */
};

/* ---- which nodes, which events ---------------------------------------------------------- */

static void want_node(struct making *k, uint32_t node);

static void want_event(struct making *k, uint32_t event, uint32_t node)
{
	if (event == MODEL_NONE || k->event[event])
		return;
	k->event[event] = true;
	k->at[event] = node;
}

struct asking {
	struct making *k;
	uint32_t node;
};

static int want_needed(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const struct asking *x = ctx;

	if (kind == EXPR_EVENT)
		want_event(x->k, index, x->node);
	else if (kind == EXPR_METRIC)
		want_node(x->k, index);
	return 0;
}

/* With the nodes that it is made of and compared with. */
static void want_node(struct making *k, uint32_t node)
{
	const struct account_node *n = &k->p->acc->node[node];
	struct asking x = { k, node };

	if (k->node[node] || (n->smt && k->one_thread))
		return;
	k->node[node] = true;
	want_event(k, n->event, node);
	if (n->expr)
		(void)expr_needs(n->expr, NULL, want_needed, &x);
	if (n->within != MODEL_NONE)
		want_node(k, n->within);
	if (n->same != MODEL_NONE)
		want_node(k, n->same);
}

static bool is_below(const struct account *acc, uint32_t node, uint32_t above)
{
	for (; node != MODEL_NONE; node = acc->node[node].parent)
		if (node == above)
			return true;
	return false;
}

static int unknown_node(const struct account_plan *p, const char *s, size_t len, struct err *err)
{
	const char **names = arena_alloc(p->a, (p->acc->n + 1) * sizeof(*names));
	char *word = arena_strndup(p->a, s, len);

	if (!names || !word)
		return err_nomem(err);
	for (size_t i = 0; i < p->acc->n; i++)
		names[i] = p->acc->node[i].name;
	(void)err_set(err, ERR_USAGE, "the accounting of %s has no node '%.60s'", p->m->id, word);
	return text_suggest(err, word, names, "cyclade record --account --dry-run shows them");
}

static int want_named(struct making *k, const char *list, struct err *err)
{
	const struct account *acc = k->p->acc;
	const char *name;
	size_t len;

	while (text_word(&list, &name, &len)) {
		uint32_t at = account_find(acc, name, len);

		if (len && at == MODEL_NONE)
			return unknown_node(k->p, name, len, err);
		for (uint32_t i = 0; len && i < acc->n; i++)
			if (is_below(acc, i, at))
				want_node(k, i);
	}
	return 0;
}

static int want_all(struct making *k, const char *list, struct err *err)
{
	const struct account *acc = k->p->acc;

	want_node(k, 0);
	want_event(k, acc->reference, 0);
	if (list && *list)
		return want_named(k, list, err);
	for (uint32_t i = 0; i < acc->n; i++)
		want_node(k, i);
	return 0;
}

/* ---- how each is sampled ---------------------------------------------------------------- */

static bool can_sample(const struct model_event *e)
{
	return *e->code &&
	       !(e->flags & (EVENT_SOFTWARE | EVENT_UNCORE | EVENT_METRIC | EVENT_SLOTS));
}

static bool counts_taken(const char *name)
{
	static const char *const parts[] = { "LBR_INSERTS", "BR_INST_RETIRED.NEAR_TAKEN",
					     "EX_RET_BRN_TKN", "BRB_FILTRATE" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* From the nodes that stand for it, not from those that only compute with it. */
static void set_account_rate(const struct account *acc, struct account_event *x)
{
	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *n = &acc->node[i];

		if (n->event != x->event)
			continue;
		if (!x->period)
			x->period = n->period;
		if (n->precise > x->precise)
			x->precise = n->precise;
	}
	if (!x->period)
		x->period = acc->model->event[x->event].period;
	if (!x->period)
		x->period = PERIOD_UNSAID;
}

static bool have_same(const struct account_plan *p, uint32_t event)
{
	for (size_t i = 0; i < p->n; i++)
		if (event_same(p->m, p->ev[i].event, event))
			return true;
	return false;
}

/* Branch records go with one event: the one that counts taken branches, if possible without the
 * shadow of precise records. */
static void choose_branches(struct account_plan *p)
{
	struct account_event *best = NULL;

	for (size_t i = 0; i < p->n; i++) {
		struct account_event *x = &p->ev[i];

		if (counts_taken(p->m->event[x->event].name) &&
		    (!best || x->precise < best->precise))
			best = x;
	}
	if (best)
		best->branches = true;
}

static int list_account_events(struct making *k, struct err *err)
{
	struct account_plan *p = k->p;
	uint32_t *none = arena_alloc(p->a, (p->m->n_events + 1) * sizeof(*none));

	p->ev = arena_alloc(p->a, (p->m->n_events + 1) * sizeof(*p->ev));
	if (!p->ev || !none)
		return err_nomem(err);
	p->none = none;
	for (uint32_t i = 0; i < p->m->n_events; i++) {
		struct account_event x = { .event = i, .node = k->at[i] };

		if (!k->event[i] || have_same(p, i))
			continue;
		if (!can_sample(&p->m->event[i])) {
			none[p->n_none++] = i;
			continue;
		}
		set_account_rate(p->acc, &x);
		p->ev[p->n++] = x;
	}
	choose_branches(p);
	return 0;
}

/* ---- groups of events ------------------------------------------------------------------- */

/* Fixed counters that an event alone could have; with PEBS from Ice Lake on. */
static uint32_t fixed_of(const struct account_plan *p, const struct account_event *x)
{
	if (x->precise && !p->m->metrics_register)
		return 0;
	return p->m->event[x->event].fixed & schedule_limits_fixed(&p->limits);
}

/* An event that no fixed counter is free for gets a general one, if enough are left for groups. */
static size_t pin_general(struct account_plan *p, uint32_t event, uint32_t *beside)
{
	const struct schedule_limits *l = &p->limits;
	struct account_event *x = NULL;

	for (size_t i = 0; i < p->n && !x; i++)
		if (event_same(p->m, p->ev[i].event, event))
			x = &p->ev[i];
	if (!x || x->group == ACCOUNT_PINNED || l->counters < l->reserved + PIN_GENERAL)
		return 0;
	x->group = ACCOUNT_PINNED;
	x->share = 1;
	*beside = x->event;
	return 1;
}

/* Returns how many are pinned; `beside`: them, for the scheduler. */
static size_t pin(struct account_plan *p, uint32_t *beside)
{
	uint32_t cycles = p->acc->node[0].event, taken = 0;
	size_t n = 0;

	/* the cycles first: all else is held against them */
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->n; i++) {
			struct account_event *x = &p->ev[i];
			uint32_t free = fixed_of(p, x) & ~taken;

			if (!free || x->group == ACCOUNT_PINNED || (!pass && x->event != cycles))
				continue;
			taken |= free & -free;
			x->group = ACCOUNT_PINNED;
			x->share = 1;
			beside[n++] = x->event;
		}
	/* in turns with others it would be known worse than the events divided by it */
	return n + pin_general(p, cycles, beside + n);
}

struct set {
	const struct account_plan *p;
	uint32_t *event;
	size_t n;
};

static struct account_event *find_account_event(const struct account_plan *p, uint32_t event)
{
	for (size_t i = 0; i < p->n; i++)
		if (event_same(p->m, p->ev[i].event, event))
			return &p->ev[i];
	return NULL;
}

static int put_in_set(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	struct set *s = ctx;
	const struct account_event *x;
	uint32_t event = index;

	if (kind == EXPR_METRIC)
		event = s->p->acc->node[index].event;
	else if (kind != EXPR_EVENT)
		return 0;
	x = event == MODEL_NONE ? NULL : find_account_event(s->p, event);
	if (!x || x->group == ACCOUNT_PINNED || s->n >= 16)
		return 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->event[i] == x->event)
			return 0;
	s->event[s->n++] = x->event;
	return 0;
}

/* Events of a formula, and each of the others by itself. */
static int make_sets(const struct account_plan *p, struct schedule_set *set, size_t *n,
		     struct err *err)
{
	for (size_t i = 0; i < p->acc->n; i++) {
		struct set s = { p, arena_alloc(p->a, 16 * sizeof(uint32_t)), 0 };

		if (!s.event)
			return err_nomem(err);
		if (p->acc->node[i].expr)
			(void)expr_needs(p->acc->node[i].expr, NULL, put_in_set, &s);
		if (s.n > 1)
			set[(*n)++] = (struct schedule_set){ s.event, s.n, 1 };
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->ev[i].group != ACCOUNT_PINNED)
			set[(*n)++] = (struct schedule_set){ &p->ev[i].event, 1, 0 };
	return 0;
}

/* The shares that the kernel's turns give: groups in a row until one does not fit, the first to the
 * end after each turn. */
static int shares(struct account_plan *p, struct err *err)
{
	const struct schedule *s = &p->schedule;
	uint32_t *on = arena_alloc(p->a, (p->n + 1) * sizeof(*on));
	const char *why;
	unsigned *turns = arena_alloc(p->a, (s->n_groups + 1) * sizeof(*turns));

	if (!on || !turns)
		return err_nomem(err);
	for (size_t t = 0; t < s->n_core; t++) {
		size_t n = 0;

		for (size_t i = 0; i < s->n_core; i++) {
			size_t g = (t + i) % s->n_core, before = n;

			for (size_t e = 0; e < p->n; e++)
				if (p->ev[e].group == g)
					on[n++] = p->ev[e].event;
			if (!schedule_fits(p->m, &p->limits, on, n, &why)) {
				n = before;
				break;
			}
			turns[g]++;
		}
	}
	for (size_t e = 0; e < p->n; e++)
		if (p->ev[e].group < s->n_core)
			p->ev[e].share = (double)turns[p->ev[e].group] / (double)s->n_core;
		else
			p->ev[e].share = 1;
	return 0;
}

static int by_account_group(const void *a, const void *b)
{
	const struct account_event *x = a, *y = b;
	/* ACCOUNT_PINNED + 1 is 0 */
	uint32_t gx = x->group + 1, gy = y->group + 1;

	return gx != gy ? (gx > gy) - (gx < gy) : (x->event > y->event) - (x->event < y->event);
}

/* The first event also records mappings: it must be there. */
static void cycles_first(struct account_plan *p)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->ev[i].event == p->acc->node[0].event) {
			struct account_event x = p->ev[i];

			memmove(&p->ev[1], &p->ev[0], i * sizeof(x));
			p->ev[0] = x;
			return;
		}
}

/* Each event has one group: its first. */
static void drop_impossible(struct account_plan *p)
{
	uint32_t *none = (uint32_t *)(uintptr_t)p->none;
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct account_event *x = &p->ev[i];

		if (x->group != ACCOUNT_PINNED) {
			x->group = p->schedule.home[x->event];
			if (x->group == MODEL_NONE) {
				none[p->n_none++] = x->event;
				continue;
			}
		}
		p->ev[kept++] = *x;
	}
	p->n = kept;
}

static int schedule_all(struct account_plan *p, struct err *err)
{
	struct schedule_set *set = arena_alloc(p->a, (p->acc->n + p->n + 1) * sizeof(*set));
	uint32_t *beside = arena_alloc(p->a, (p->n + 1) * sizeof(*beside));
	size_t n = 0;

	if (!set || !beside)
		return err_nomem(err);
	p->limits.n_beside = pin(p, beside);
	p->limits.beside = beside;
	if (make_sets(p, set, &n, err) ||
	    schedule_make(&p->schedule, p->a, p->m, &p->limits, set, n, err))
		return -1;
	drop_impossible(p);
	qsort(p->ev, p->n, sizeof(*p->ev), by_account_group);
	cycles_first(p);
	return shares(p, err);
}

/* ---- the whole of it -------------------------------------------------------------------- */

static void set_account_limits(struct account_plan *p, const struct measure_opts *opts,
			       const struct machine *machine, const char *root, bool *one_thread)
{
	const struct plan_scope scope = { .root = root,
					  .machine = machine,
					  .tries = !opts->dry_run };
	struct holders h;

	holders_read(&h, root, p->pmu);
	*one_thread = !h.smt;
	plan_limits(&p->limits, p->m, &scope, p->pmu, h.smt > 0);
}

/* The fastest that a core goes. */
static double fastest_clock(const char *root, const struct machine *m)
{
	const char *at = m->cpu_desc ? strstr(m->cpu_desc, "@ ") : NULL;
	int64_t khz;

	if (sys_number(&khz, root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") &&
	    khz > 0)
		return (double)khz * 1e3;
	return at && strstr(at, "GHz") ? strtod(at + 2, NULL) * 1e9 : 0;
}

int account_plan_make(struct account_plan *p, const struct measure_opts *opts,
		      const struct machine *machine, const char *root, const char *pmu,
		      struct err *err)
{
	struct model_sources s = model_choice_sources(&opts->model);
	struct making k = { .p = p };

	*p = (struct account_plan){ .a = opts->a, .pmu = pmu, .hz = fastest_clock(root, machine) };
	if (model_choice_load(&opts->model, machine, pmu, NULL, &p->m, err) ||
	    account_load(&p->acc, p->a, p->m, &s, err))
		return -1;
	k.node = arena_alloc(p->a, p->acc->n + 1);
	k.event = arena_alloc(p->a, p->m->n_events + 1);
	k.at = arena_alloc(p->a, (p->m->n_events + 1) * sizeof(*k.at));
	if (!k.node || !k.event || !k.at)
		return err_nomem(err);
	set_account_limits(p, opts, machine, root, &k.one_thread);
	if (want_all(&k, opts->account, err) || list_account_events(&k, err) ||
	    schedule_all(p, err))
		return -1;
	if (!p->n || p->ev[0].event != p->acc->node[0].event)
		return err_set(err, ERR_UNSUPPORTED,
			       "%s: the cycles of its accounting cannot be "
			       "sampled here",
			       p->m->id);
	return 0;
}

void account_plan_free(struct account_plan *p)
{
	model_free(p->m);
	p->m = NULL;
}

/* ---- as events -------------------------------------------------------------------------- */

static const char *account_text_of(const struct account_plan *p, const struct model_event *e)
{
	return model_event_text(p->a, e, p->pmu);
}

/* As the machine knows it; false if it does not. */
static bool parse_account_event(const struct account_plan *p, struct event_list *list,
				const char *root, const struct account_event *x, struct err *err)
{
	const struct model_event *e = &p->m->event[x->event];
	size_t from = list->ev.n;
	const char *text = account_text_of(p, e);
	struct event *ev;

	if (!text || event_parse(list, root, text, err) || list->ev.n != from + 1) {
		list->ev.n = from;
		return false;
	}
	ev = &list->ev.v[from];
	ev->name = strcmp(p->pmu, "cpu") != 0 && strncmp(p->pmu, "armv", 4) != 0
			   ? arena_printf(&list->arena, "%s/%s/", p->pmu, e->name)
			   : arena_strdup(&list->arena, e->name);
	ev->attr.sample_period = x->period;
	ev->attr.precise_ip = x->precise & 3;
	ev->attr.pinned = x->group == ACCOUNT_PINNED;
	ev->has_period = true;
	ev->group = (int)from;
	return ev->name;
}

int account_plan_events(const struct account_plan *p, struct event_list *list, const char *root,
			const struct account_event ***which, const char **missing, struct err *err)
{
	struct err first = ERR_INIT;
	size_t n = 0;

	*missing = "";
	*which = arena_alloc(p->a, (p->n + 1) * sizeof(**which));
	if (!*which)
		return err_nomem(err);
	for (size_t i = 0; i < p->n && *missing; i++) {
		if (parse_account_event(p, list, root, &p->ev[i], &first)) {
			(*which)[n++] = &p->ev[i];
			continue;
		}
		*missing = arena_printf(p->a, "%s%s%s", *missing, **missing ? ", " : "",
					p->m->event[p->ev[i].event].name);
	}
	if (!*missing)
		return err_nomem(err);
	if (n && (*which)[0] == &p->ev[0])
		return 0;
	*err = first;
	return -1;
}
