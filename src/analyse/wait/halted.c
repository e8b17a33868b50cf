/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/halted.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "analyse/pass.h"
#include "base/bisect.h"
#include "base/sort.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define BINS (HALTED_INTERVALS + 1) /* the last one: all of the time */
#define FEW  4			    /* so many events of hardware have a counter each */

struct bin { /* least and most that a CPU may have run: cycles, or ns */
	double least, most;
};

struct mark { /* of a CPU: a sample of the event; or samples were lost, or the event stood still */
	uint64_t time;
	double count, blind; /* since the mark before: cycles; ns without a counter */
	bool sample;
};

struct seen { /* of a CPU: values of the last sample */
	uint64_t value, enabled, running;
	uint64_t began; /* when its counter was switched on; 0: not in the first sample */
};

struct halt_work {
	const struct pd *rec;
	const struct wait *w;
	const struct parallel *p;
	struct halted_opts opts;
	bool *only; /* `event` */
	struct halted *out;
	const struct pd_event *ev; /* NULL: none */
	size_t event;
	double rate;	 /* cycles in a ns; by switches 1 */
	struct bin *bin; /* BINS for each CPU */
	uint64_t edge[BINS];
	struct seen *seen;
	bool *counted;	/* by CPU: it has a sample */
	uint64_t began; /* when the first of the counters was switched on, at the latest */
	uint64_t ended; /* when the last of them was switched off, at the earliest */
	VEC(struct mark) mark;
	VEC(struct keyed) at; /* of `mark`: key time, a place, b CPU */
	bool lost;	      /* anywhere, at any time */
};

/* ---- intervals ------------------------------------------------------------------------------- */

static uint64_t halt_length_of(const struct halt_work *k)
{
	return k->w->until - k->w->from;
}

static void add_halt_part(const struct halt_work *k, struct bin *b, uint64_t part, uint64_t whole,
			  struct bin x)
{
	double most = k->rate * (double)part, least;

	if (part >= whole) {
		b->least += x.least;
		b->most += x.most;
		return;
	}
	least = x.least - k->rate * (double)(whole - part);
	most = x.most < most ? x.most : most;
	least = least > 0 ? least : 0;
	b->least += least < most ? least : most;
	b->most += most;
}

/* From `from` to `until` a CPU ran for x: adds its part between two times. */
static void add_halt_to(const struct halt_work *k, struct bin *b, uint64_t a, uint64_t z,
			uint64_t from, uint64_t until, struct bin x)
{
	const uint64_t left = from > a ? from : a, right = until < z ? until : z;

	if (right > left)
		add_halt_part(k, b, right - left, until - from, x);
	else if (from == until && from >= a && from < z)
		add_halt_part(k, b, 0, 0, x);
}

static void add_to_bins(const struct halt_work *k, struct bin *bins, uint64_t from, uint64_t until,
			struct bin x)
{
	size_t i;

	bisect(i, HALTED_INTERVALS, n, k->edge[n + 1] > from);
	for (; i < HALTED_INTERVALS && k->edge[i] <= until; i++)
		add_halt_to(k, &bins[i], k->edge[i], k->edge[i + 1], from, until, x);
	add_halt_to(k, &bins[HALTED_INTERVALS], k->w->from, k->w->until, from, until, x);
}

/* ---- the counter ----------------------------------------------------------------------------- */

static bool is_hardware(const struct pd_event *e)
{
	return e->attr.type != PERF_TYPE_SOFTWARE && e->attr.type != PERF_TYPE_TRACEPOINT &&
	       e->attr.type != PERF_TYPE_BREAKPOINT;
}

/* On a hybrid the upper half of config has the PMU. */
static bool is_reference(const struct pd_event *e)
{
	if (e->attr.type == PERF_TYPE_HARDWARE)
		return (e->attr.config & UINT32_MAX) == PERF_COUNT_HW_REF_CPU_CYCLES;
	return is_hardware(e) && !strncasecmp(e->name, "cpu_clk_unhalted.ref_tsc", 24);
}

static bool has_times(const struct pd_event *e)
{
	const uint64_t both = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

	return e->attr.sample_type & PERF_SAMPLE_READ && (e->attr.read_format & both) == both;
}

static bool of_cpus(const struct pd *rec)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(rec, &n);
	bool wide = false;

	for (size_t i = 0; i < n; i++) {
		wide |= t[i].type == PERF_RECORD_SWITCH_CPU_WIDE;
		if (t[i].type == PERF_RECORD_SWITCH)
			return false;
	}
	return wide;
}

/* NULL: it does. */
static const char *unfit(const struct halt_work *k, const struct pd_event *e, size_t hardware)
{
	if (!of_cpus(k->rec))
		return "ref-cycles were recorded without the switches of whole CPUs (-a --wait)";
	if (!(k->opts.tsc_hz > 0))
		return "the recording does not have the rate of the time-stamp counter";
	if (e->attr.exclude_user || e->attr.exclude_kernel || e->attr.exclude_idle)
		return "ref-cycles were not counted in user space, kernel and idle task alike";
	if (!(e->attr.sample_type & PERF_SAMPLE_CPU) || !(e->attr.sample_type & PERF_SAMPLE_TIME))
		return "samples of ref-cycles have no CPU or no time";
	if (hardware > FEW && !has_times(e))
		return "events shared counters, and samples of ref-cycles do not have for how long";
	return NULL;
}

static void choose_clock(struct halt_work *k)
{
	size_t n, hardware = 0;
	const struct pd_event *e = pd_events(k->rec, &n);
	const char *why = "the recording has no samples of ref-cycles";

	for (size_t i = 0; i < n; i++)
		hardware += is_hardware(&e[i]);
	for (size_t i = 0; i < n; i++) {
		if (!is_reference(&e[i]) || !e[i].samples)
			continue;
		why = unfit(k, &e[i], hardware);
		if (why || (k->ev && k->ev->samples >= e[i].samples))
			continue;
		k->ev = &e[i];
		k->event = i;
	}
	k->out->event = k->ev ? k->ev->name : NULL;
	k->out->uncounted = k->ev ? NULL : why;
}

static int put_mark(struct halt_work *k, uint32_t cpu, struct mark x, struct err *err)
{
	const struct keyed at = { x.time, (uint32_t)k->mark.n, cpu };

	if (k->mark.n >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "too many samples of ref-cycles");
	vec_xpush(&k->mark, x);
	vec_xpush(&k->at, at);
	return 0;
}

/* The event's own value. */
static bool read_of(const struct pd_sample *x, uint64_t *value)
{
	for (uint64_t i = 0; i < x->n_read && x->has & PERF_SAMPLE_READ; i++) {
		const struct pd_read r = pd_read_get(x, i);

		if ((r.id && r.id == x->id) || x->n_read == 1) {
			*value = r.value;
			return true;
		}
	}
	return false;
}

/* Switches are recorded before counters are switched on, while the recorder lists processes, and
 * until after they are switched off. */
static void note_began(struct halt_work *k, const struct pass_sample *s, const struct pd_sample *x)
{
	const double ran = (double)x->period / k->rate;
	const uint64_t on = s->time - (ran < (double)s->time ? (uint64_t)ran : s->time);

	if (!k->began || on < k->began)
		k->began = on;
	if (s->time > k->ended)
		k->ended = s->time;
	if (!k->counted[s->cpu] && x->n_read && has_times(k->ev) && x->read_enabled < s->time)
		k->seen[s->cpu].began = s->time - x->read_enabled;
}

static int on_halt_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct halt_work *k = ctx;
	struct mark m = { .time = s->time, .sample = true };
	struct seen now;
	struct pd_sample x;

	if (!s->time || s->cpu >= k->p->n_cpus || pd_sample_parse(k->rec, s->r, &x))
		return 0;
	m.count = (double)x.period;
	note_began(k, s, &x);
	k->counted[s->cpu] = true;
	now = k->seen[s->cpu];
	if (read_of(&x, &now.value)) {
		struct seen *was = &k->seen[s->cpu];

		now.enabled = x.read_enabled;
		now.running = x.read_running;
		if (now.value < was->value ||
		    now.enabled - was->enabled < now.running - was->running)
			m.blind = INFINITY;
		else
			m.blind =
				(double)(now.enabled - was->enabled - (now.running - was->running));
		if (now.value >= was->value)
			m.count = (double)(now.value - was->value);
		*was = now;
	}
	return put_mark(k, s->cpu, m, err);
}

static bool of_event(const struct halt_work *k, uint64_t id)
{
	for (size_t i = 0; i < k->ev->n_ids; i++)
		if (k->ev->ids[i] == id)
			return true;
	return !k->ev->n_ids;
}

static int on_halt_other(void *ctx, unsigned worker, const struct pd_record *r, struct err *err)
{
	struct halt_work *k = ctx;
	struct pd_sample_id id;

	(void)worker;
	if (r->type == PERF_RECORD_THROTTLE
		    ? !of_event(k, ld64(r->p + 16))
		    : r->type != PERF_RECORD_LOST && r->type != PERF_RECORD_LOST_SAMPLES)
		return 0;
	pd_sample_id_get(k->rec, r, &id);
	if (!(id.has & PERF_SAMPLE_TIME) || !id.time || !(id.has & PERF_SAMPLE_CPU) ||
	    id.cpu >= k->p->n_cpus) {
		k->lost = true;
		return 0;
	}
	return put_mark(k, id.cpu, (struct mark){ .time = id.time, .blind = INFINITY }, err);
}

static void add_halt_visit(struct halt_work *k, struct pass *pass)
{
	struct pass_visitor v = { .wants = PASS_ALL | PASS_ORDER,
				  .sample = on_halt_sample,
				  .other = on_halt_other };
	size_t n;

	(void)pd_events(k->rec, &n);
	v.events = k->only = xcalloc(n + 1, sizeof(*k->only));
	k->only[k->event] = true;
	pass_add(pass, &v, k);
}

struct gap { /* of a CPU, since its last sample */
	uint64_t from;
	double blind, longest; /* longest: the greatest count so far */
};

static void end_gap(const struct halt_work *k, struct gap *g, uint32_t cpu, const struct mark *m)
{
	double all = m->time > g->from ? k->rate * (double)(m->time - g->from) : 0;
	double blind = k->lost ? INFINITY : g->blind + m->blind;
	struct bin x = { m->count, fmin(m->count + k->rate * blind, all) };

	x.most = fmax(x.least, x.most); /* an interrupt may be late */
	add_to_bins(k, k->bin + cpu * BINS, g->from, m->time, x);
	g->from = m->time;
	g->blind = 0;
	g->longest = m->count > g->longest ? m->count : g->longest;
}

/* Returns the time from which a CPU is counted. Its state before is not known. */
static uint64_t begin_at(const struct halt_work *k, uint32_t cpu, uint64_t first)
{
	const uint64_t on = k->seen[cpu].began ? k->seen[cpu].began : k->began;

	if (!k->counted[cpu] || on <= first)
		return first;
	add_to_bins(k, k->bin + cpu * BINS, first, on,
		    (struct bin){ 0, k->rate * (double)(on - first) });
	return on;
}

/* Counts after the last sample did not reach a period; then the counter stopped. */
static void end_count(const struct halt_work *k, const struct gap *g, uint32_t cpu, uint64_t last)
{
	const bool any = k->lost || k->w->cut || g->blind > 0;
	const uint64_t off = k->ended < last ? k->ended : last;
	const uint64_t end = off > g->from ? off : g->from;
	const double most = any ? INFINITY : g->longest;

	if (end > g->from)
		add_to_bins(k, k->bin + cpu * BINS, g->from, end,
			    (struct bin){ 0, fmin(most, k->rate * (double)(end - g->from)) });
	if (last > end)
		add_to_bins(k, k->bin + cpu * BINS, end, last,
			    (struct bin){ 0, k->rate * (double)(last - end) });
}

static void count_halted(struct halt_work *k)
{
	struct gap *gap = xcalloc(k->p->n_cpus + 1, sizeof(*gap));
	struct keyed *scratch = xmalloc((k->at.n + 1) * sizeof(*scratch));
	uint64_t first = k->w->from, last = k->w->until;

	(void)pd_time_span(k->rec, &first, &last);
	first = first < k->w->from ? first : k->w->from;
	for (size_t i = 0; i < k->p->n_cpus; i++)
		gap[i].from = begin_at(k, (uint32_t)i, first);
	keyed_sort(k->at.v, scratch, k->at.n);
	for (size_t i = 0; i < k->at.n; i++) {
		const struct mark *m = &k->mark.v[k->at.v[i].a];

		if (m->sample)
			end_gap(k, &gap[k->at.v[i].b], k->at.v[i].b, m);
		else
			gap[k->at.v[i].b].blind = INFINITY;
	}
	last = last > k->w->until ? last : k->w->until;
	for (uint32_t i = 0; i < k->p->n_cpus; i++)
		if (k->counted[i])
			end_count(k, &gap[i], i, last);
	free(gap);
	free(scratch);
}

/* ---- switches -------------------------------------------------------------------------------- */

static void time_cpus(const struct halt_work *k, struct bin *hidden)
{
	for (size_t i = 0; i < k->w->n_spans; i++) {
		const struct wait_span *s = &k->w->span[i];
		const double ns = (double)(s->until - s->from);
		const struct bin all = { ns, ns };

		if (s->reason == WAIT_RAN && s->cpu < k->p->n_cpus) {
			if (!k->counted[s->cpu])
				add_to_bins(k, k->bin + s->cpu * BINS, s->from, s->until, all);
		} else if (s->reason == WAIT_RAN || wait_reasons[s->reason].state == WAIT_UNKNOWN) {
			add_to_bins(k, hidden, s->from, s->until, all);
		}
	}
	for (size_t i = 0; i < k->p->n_cpus; i++)
		for (size_t b = 0; b < BINS && !k->counted[i]; b++)
			k->bin[i * BINS + b].most += hidden[b].most;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct estimate halt_share_of(const struct bin *b, uint64_t ns, double rate, double error)
{
	const double all = rate * (double)ns;
	double least = b->least / all, most = b->most / all, v;

	if (!ns)
		return ESTIMATE_NONE("no time");
	least = least < 1 ? least : 1;
	most = most < 1 ? most : 1;
	v = (least + most) / 2;
	return (struct estimate){ 1 - v, (most - least) / 2 + v * error, NULL };
}

static struct halted_span halt_span_of(const struct halt_work *k, uint32_t cpu, size_t i)
{
	const struct bin *b = k->bin + cpu * BINS + i;
	const bool counted = k->counted[cpu], all = i == HALTED_INTERVALS;
	struct halted_span s = { .cpu = cpu,
				 .from = all ? 0 : k->edge[i] - k->w->from,
				 .until = (all ? k->w->until : k->edge[i + 1]) - k->w->from };

	if (!counted && !k->p->whole) {
		s.share = ESTIMATE_NONE("others may have had the CPU: record -a --wait");
		return s;
	}
	s.by = counted ? HALTED_COUNTER : HALTED_SWITCHES;
	s.share = halt_share_of(b, s.until - s.from, counted ? k->opts.tsc_hz / 1e9 : 1,
				counted ? k->opts.tsc_error : 0);
	return s;
}

static void put_halt_rows(struct halt_work *k)
{
	struct halted *h = k->out;

	for (uint32_t cpu = 0; cpu < h->n_cpus; cpu++) {
		h->cpu[cpu] = halt_span_of(k, cpu, HALTED_INTERVALS);
		if ((!k->p->whole || k->p->some) && !k->p->cpu[cpu].seen && !k->counted[cpu])
			continue;
		if (h->cpu[cpu].by == HALTED_UNKNOWN || halt_length_of(k) < HALTED_INTERVALS ||
		    (!k->p->cpu[cpu].seen && !k->counted[cpu])) {
			h->span[h->n_spans++] = h->cpu[cpu];
			continue;
		}
		for (size_t i = 0; i < HALTED_INTERVALS; i++)
			h->span[h->n_spans++] = halt_span_of(k, cpu, i);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

void halted_begin(struct halted **out, struct pass *pass, const struct pd *rec,
		  const struct wait *w, const struct parallel *p, const struct halted_opts *opts)
{
	const size_t n = p->n_cpus;
	struct halt_work *k = xcalloc(1, sizeof(*k));

	k->rec = rec;
	k->w = w;
	k->p = p;
	k->opts = *opts;
	*out = k->out = xcalloc(1, sizeof(*k->out));
	k->out->work = k;
	k->out->n_cpus = n;
	k->out->cpu = xcalloc(n + 1, sizeof(*k->out->cpu));
	k->out->span = xcalloc(n * HALTED_INTERVALS + 1, sizeof(*k->out->span));
	k->bin = xcalloc(n * BINS + 1, sizeof(*k->bin));
	k->seen = xcalloc(n + 1, sizeof(*k->seen));
	k->counted = xcalloc(n + 1, sizeof(*k->counted));
	for (size_t i = 0; i < BINS; i++)
		k->edge[i] = w->from + halt_length_of(k) / HALTED_INTERVALS * i +
			     halt_length_of(k) % HALTED_INTERVALS * i / HALTED_INTERVALS;
	choose_clock(k);
	k->rate = opts->tsc_hz / 1e9;
	if (k->ev)
		add_halt_visit(k, pass);
}

static void drop_halt_work(struct halt_work *k)
{
	k->out->work = NULL;
	free(k->bin);
	free(k->seen);
	free(k->counted);
	free(k->only);
	vec_free(&k->mark);
	vec_free(&k->at);
	free(k);
}

void halted_end(struct halted *h)
{
	struct halt_work *k = h->work;
	struct bin hidden[BINS] = { { 0, 0 } };

	if (k->ev)
		count_halted(k);
	k->rate = 1;
	time_cpus(k, hidden);
	put_halt_rows(k);
	drop_halt_work(k);
}

void halted_free(struct halted *h)
{
	if (!h)
		return;
	if (h->work)
		drop_halt_work(h->work);
	free(h->cpu);
	free(h->span);
	free(h);
}
