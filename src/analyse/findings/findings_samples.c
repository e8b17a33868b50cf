/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of samples without their call chains: functions that have much, runtimes, and the line
 * that has most of a function.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/event_cost.h"
#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define HOT	 0.2 /* of the samples: a function worth a finding */
#define HOTTEST	 0.4 /* the same, whatever others have */
#define RATHER	 1.8 /* or so many times what the next one has */
#define HOT_MOST 2   /* findings of this kind */
#define SPREAD	 0.2 /* no function has more: the time is spread */
#define KERNEL	 0.35
#define SHORT_NS 50000000 /* of CPU time: starting a program takes most of it */

static int by_period(const void *va, const void *vb)
{
	const struct spot *a = va, *b = vb;
	int c = (a->w.period < b->w.period) - (a->w.period > b->w.period);

	c = c ? c : strcmp(a->function, b->function);
	return c ? c : strcmp(a->dso, b->dso);
}

static void collect_spots(struct spots *s, const struct finding_work *w)
{
	const struct profile *p = w->in->profile;
	const struct profile_opts *o = profile_options(p);
	int sym = profile_key_at(o, KEY_SYM), dso = profile_key_at(o, KEY_DSO);
	struct u64map at = U64MAP_INIT;
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	s->v = xcalloc(n + 1, sizeof(*s->v));
	s->n = 0;
	for (size_t i = 0; i < n && sym >= 0 && dso >= 0; i++) {
		const struct tally *t = profile_tally(&r[i], w->in->event);
		uint64_t *slot;
		struct spot *x;
		bool fresh;

		if (!t->samples)
			continue;
		slot = u64map_xat(&at, r[i].key[sym] << 32 | r[i].key[dso], &fresh);
		if (fresh)
			*slot = s->n++;
		x = &s->v[*slot];
		if (!x->row || t->period > x->most) {
			x->row = &r[i];
			x->most = t->period;
		}
		tally_add(&x->w, t);
	}
	u64map_free(&at);
	for (size_t i = 0; i < s->n; i++) {
		s->v[i].function = profile_text(p, (uint32_t)s->v[i].row->key[sym]);
		s->v[i].dso = profile_text(p, (uint32_t)s->v[i].row->key[dso]);
		s->v[i].code = finding_code(s->v[i].function, s->v[i].dso);
	}
	qsort(s->v, s->n, sizeof(*s->v), by_period);
}

static void set_share(struct finding *f, const struct tally *part, const struct finding_work *w)
{
	struct error_bar e =
		error_bar_share((double)part->period, (double)w->all.period, w->all.period_sq);

	f->of = FINDING_OF_EVENT;
	f->share = e.share;
	f->half = e.half;
	f->times = part->samples;
	f->stake = e.share * finding_kinds[f->kind].gain * w->weight;
}

static struct measured period_of(const void *ctx, const struct tally *by_event)
{
	const size_t *event = ctx;

	return (struct measured){ (double)by_event[*event].period, NAN };
}

/* The line with most of the function's samples. */
static void set_hottest_line(struct finding *f, const struct finding_work *w, const struct spot *x)
{
	struct measured most = finding_hottest_line(f, w, x, period_of, &w->in->event);
	struct error_bar e;

	if (!(most.v > 0))
		return;
	e = error_bar_share(most.v, (double)x->w.period, x->w.period_sq);
	f->on_line = e.share;
	f->on_line_half = e.half;
}

/* Without addresses the line where the function begins. */
static void set_line(struct finding *f, const struct finding_work *w, const struct spot *x)
{
	if (x->row->symbol && w->in->lines)
		set_hottest_line(f, w, x);
	if (x->row->symbol && !f->file)
		finding_line(f, w, x->row->image, x->row->symbol->start);
}

void finding_line_of_place(struct finding *f, const struct finding_work *w)
{
	for (size_t i = 0; f->at.function && i < w->spots.n; i++) {
		const struct spot *x = &w->spots.v[i];

		if (strcmp(x->function, f->at.function) != 0 || strcmp(x->dso, f->at.dso) != 0)
			continue;
		set_line(f, w, x);
		f->on_line = 0; /* that part is of all threads */
		return;
	}
}

static struct finding finding_of_spot(struct finding_work *w, const struct spot *x)
{
	struct finding f = { .kind = FINDING_HOT, .at = { x->function, x->dso, NAN } };

	set_share(&f, &x->w, w);
	f.caller = finding_caller(w, &f.at);
	return f;
}

/* ---- runtimes -------------------------------------------------------------------------------- */

/* Returns the mask of findings that explain functions of interpreters, or code without names. */
static bool find_runtimes(struct finding_work *w)
{
	struct runtime_found found[RUNTIMES_MAX];
	size_t n = profile_runtimes(w->in->profile, w->in->event, NULL, 0, found);
	bool interpreted = false;

	for (size_t i = 0; i < n; i++) {
		struct finding f = { .kind = FINDING_UNNAMED, .runtime = found[i] };
		const struct tally part = { .samples = 1, .period = found[i].period };

		if (!found[i].runtime)
			continue;
		if (found[i].runtime->interpreted)
			f.kind = FINDING_INTERPRETER;
		set_share(&f, &part, w);
		f.times = 0;
		f.object = found[i].runtime->name;
		finding_add(w, &f, RUNTIMES_INTERPRETED_SHARE);
		interpreted |= f.kind == FINDING_INTERPRETER;
	}
	return interpreted;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_own(const struct spot *x)
{
	return !(x->code & (CODE_KERNEL | CODE_ALLOCATOR | CODE_UNKNOWN));
}

/* Returns true if another finding has why most of this function's time is lost. */
static bool is_explained(const struct finding_work *w, const struct finding_place *at)
{
	vec_each (&w->found, const struct finding *, f)
		if ((f->of == FINDING_OF_CYCLES || f->of == FINDING_OF_SLOTS) && f->at.function &&
		    !strcmp(f->at.function, at->function) && !strcmp(f->at.dso, at->dso))
			return true;
	return false;
}

/* Returns true for a program that hardly ran: why is not known without waits, and what it ran is
 * no news. */
static bool hardly_ran(const struct finding_work *w)
{
	return !w->out->waits && w->out->running < 0.5 && w->all.period < SHORT_NS;
}

static void find_hot(struct finding_work *w, const struct spots *s)
{
	const struct spot *own[HOT_MOST + 1] = { NULL };
	size_t n = 0;

	if (hardly_ran(w))
		return;
	for (size_t i = 0; i < s->n && n <= HOT_MOST; i++)
		if (is_own(&s->v[i]))
			own[n++] = &s->v[i];
	for (size_t i = 0; i < n && i < HOT_MOST; i++) {
		struct finding f = finding_of_spot(w, own[i]);
		double next = i + 1 < n ? (double)own[i + 1]->w.period : 0;

		if (f.share < HOTTEST && (i || (double)own[i]->w.period < RATHER * next))
			continue;
		if (is_explained(w, &f.at))
			continue;
		set_line(&f, w, own[i]);
		finding_add(w, &f, HOT);
	}
}

static struct tally sum_of(const struct spots *s, unsigned code, const struct spot **top)
{
	struct tally sum = { 0 };

	*top = NULL;
	for (size_t i = 0; i < s->n; i++) {
		if (!(s->v[i].code & code))
			continue;
		if (!*top)
			*top = &s->v[i];
		tally_add(&sum, &s->v[i].w);
	}
	return sum;
}

/* What chains tell better, if there are none. */
static void find_without_chains(struct finding_work *w, const struct spots *s)
{
	const struct spot *top;
	struct tally sum = sum_of(s, CODE_ALLOCATOR, &top);
	struct finding f = { .kind = FINDING_ALLOCATIONS };

	if (top) {
		f.at = (struct finding_place){ top->function, top->dso, NAN };
		set_share(&f, &sum, w);
		finding_add(w, &f, 0.1);
	}
	sum = sum_of(s, CODE_KERNEL, &top);
	f = (struct finding){ .kind = FINDING_KERNEL };
	if (!top || w->all.period < SHORT_NS)
		return;
	f.at = (struct finding_place){ top->function, top->dso,
				       (double)top->w.period / (double)w->all.period };
	set_share(&f, &sum, w);
	finding_add(w, &f, KERNEL);
}

/* Samples of all time on a CPU: how much of the length that is, if waits do not have it. The rest
 * is waits, and time in which other programs had the CPUs: which, samples alone do not know. */
static void set_running(struct finding_work *w, uint64_t left_out)
{
	struct findings *out = w->out;
	const struct pd *rec = w->in->rec;
	size_t n;
	const struct pd_event *ev = &pd_events(rec, &n)[w->in->event];

	if (event_cost(rec, ev) != EVENT_COST_TIME || ev->attr.exclude_kernel ||
	    ev->attr.exclude_user || left_out || !isnan(out->running) || !w->started ||
	    !out->length)
		return;
	out->on_cpu = w->all.period;
	out->running = fmin(1, (double)w->all.period / (double)out->length);
	out->waited = 1 - out->running;
}

/* The one with most, but for what has no name. */
static void set_head(struct finding_work *w, const struct spots *s)
{
	size_t i = 0;

	while (i < s->n && s->v[i].code & CODE_UNKNOWN)
		i++;
	i = i < s->n ? i : 0;
	w->out->head = finding_of_spot(w, &s->v[i]);
	set_line(&w->out->head, w, &s->v[i]);
	w->out->spread = w->out->head.share < SPREAD;
}

void findings_samples(struct finding_work *w)
{
	size_t n;
	const struct profile_sum *sum = profile_sums(w->in->profile, &n);
	struct spots *s = &w->spots;
	bool interpreted;

	if (w->in->event >= n || !sum[w->in->event].selected.samples)
		return;
	w->all = sum[w->in->event].selected;
	w->out->samples = w->all.samples;
	w->cost =
		event_cost(w->in->rec, &pd_events(w->in->rec, &n)[w->in->event]) != EVENT_COST_NONE;
	set_running(w, sum[w->in->event].left_out.samples);
	collect_spots(s, w);
	interpreted = find_runtimes(w);
	set_head(w, s);
	findings_account(w, s);
	findings_topdown(w, s);
	if (!interpreted && w->cost) /* else they are the interpreter's */
		find_hot(w, s);
	if (!w->in->cube && w->cost)
		find_without_chains(w, s);
}
