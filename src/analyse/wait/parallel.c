/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/parallel.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/bisect.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "base/xalloc.h"
#include "perfdata/nodes.h"

#define CPUS_MOST (1u << 16)

struct step { /* from here on */
	uint64_t time;
	uint32_t running;
};

struct counting {
	const struct pd *rec;
	const struct spaces *sp;
	const struct wait *w;
	size_t event;
	bool *only; /* the same */
	struct parallel *out;
	VEC(struct step) step;
	struct wait_frames frames;
	VEC(struct parallel_function) at; /* by frame, then summed by place */
};

/* ---- time ------------------------------------------------------------------------------------ */

/* A change of a thread's state; keyed.a. */
enum change { RUNS, RUNS_NOT, WANTS, WANTS_NOT, LOSES, LOSES_NOT };

static size_t changes_of(const struct wait *w, struct keyed *v)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		enum change begin;

		switch (wait_reasons[s->reason].state) {
		case WAIT_RUNNING:
			begin = RUNS;
			break;
		case WAIT_RUNNABLE:
			begin = WANTS;
			break;
		case WAIT_UNKNOWN:
			begin = LOSES;
			break;
		default:
			continue;
		}
		v[n++] = (struct keyed){ s->from, begin, s->cpu };
		v[n++] = (struct keyed){ s->until, begin + 1, s->cpu };
	}
	return n;
}

static struct parallel_cpu *parallel_cpu_of(const struct counting *c, uint32_t cpu)
{
	return cpu < c->out->n_cpus ? &c->out->cpu[cpu] : NULL;
}

struct cpu_now {
	uint32_t on;	 /* threads that run there */
	uint64_t since;	 /* it is busy */
	uint64_t wanted; /* of `now` when it became idle */
};

struct now {
	uint64_t time, wanted; /* wanted: time so far in which threads waited for a CPU */
	uint64_t running, wanting, lost;
	size_t cpus;	/* of the machine; SIZE_MAX: not known */
	size_t crowded; /* CPUs with more than one thread: none, but for changes at the same time */
	struct cpu_now *cpu;
};

/* Adds the time from now.time to `time`, in which nothing changed. */
static void spend(struct counting *c, struct now *now, uint64_t time)
{
	uint64_t d = time - now->time, most = now->running + now->lost;

	if (!d)
		return;
	assert(!now->crowded);
	if (most > now->cpus)
		most = now->running > now->cpus ? now->running : now->cpus;
	c->out->most += (double)most * (double)d;
	c->out->beyond += now->running > now->cpus ? d : 0;
	c->out->unknown += most > now->running ? d : 0;
	now->wanted += now->wanting ? d : 0;
	now->time = time;
	if (now->running >= c->out->n_levels) {
		size_t n = now->running + 1;
		struct parallel_level *v = xreallocarray(c->out->level, n, sizeof(*v));

		memset(v + c->out->n_levels, 0, (n - c->out->n_levels) * sizeof(*v));
		c->out->level = v;
		c->out->n_levels = n;
	}
	c->out->level[now->running].time += d;
	c->out->level[now->running].wanting += now->wanting ? d : 0;
	c->out->level[now->running].unknown += most > now->running ? d : 0;
}

static void begin_parallel_run(struct counting *c, struct now *now, uint32_t cpu)
{
	now->running++;
	if (!parallel_cpu_of(c, cpu))
		return;
	now->crowded += now->cpu[cpu].on == 1;
	if (now->cpu[cpu].on++)
		return;
	parallel_cpu_of(c, cpu)->wanted += now->wanted - now->cpu[cpu].wanted;
	now->cpu[cpu].since = now->time;
}

static void end_parallel_run(struct counting *c, struct now *now, uint32_t cpu)
{
	now->running--;
	if (!parallel_cpu_of(c, cpu))
		return;
	now->crowded -= now->cpu[cpu].on == 2;
	if (--now->cpu[cpu].on)
		return;
	parallel_cpu_of(c, cpu)->busy += now->time - now->cpu[cpu].since;
	now->cpu[cpu].wanted = now->wanted;
}

static void change_now(struct counting *c, struct now *now, const struct keyed *x)
{
	switch ((enum change)x->a) {
	case RUNS:
		begin_parallel_run(c, now, x->b);
		break;
	case RUNS_NOT:
		end_parallel_run(c, now, x->b);
		break;
	case WANTS:
		now->wanting++;
		break;
	case WANTS_NOT:
		now->wanting--;
		break;
	case LOSES:
		now->lost++;
		break;
	case LOSES_NOT:
		now->lost--;
		break;
	}
}

static void walk_time(struct counting *c)
{
	const struct wait *w = c->w;
	struct keyed *v = xmalloc((w->n_spans * 4 + 1) * sizeof(*v));
	struct now now = { .time = w->from,
			   .cpus = pd_info(c->rec)->cpus_online ? c->out->n_cpus : SIZE_MAX };
	size_t n;

	now.cpu = xcalloc(c->out->n_cpus + 1, sizeof(*now.cpu));
	n = changes_of(w, v);
	keyed_sort(v, v + w->n_spans * 2, n);
	for (size_t i = 0; i < n; i++) {
		struct step s = { v[i].key, 0 };

		spend(c, &now, v[i].key);
		change_now(c, &now, &v[i]);
		s.running = (uint32_t)now.running;
		if (c->step.n && vec_last(&c->step)->time == s.time)
			*vec_last(&c->step) = s;
		else
			vec_xpush(&c->step, s);
	}
	assert(!now.running && !now.wanting && !now.lost);
	spend(c, &now, w->until);

	for (size_t i = 0; i < c->out->n_cpus; i++) /* none is busy any more */
		c->out->cpu[i].wanted += now.wanted - now.cpu[i].wanted;
	free(v);
	free(now.cpu);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static int name_nodes(struct counting *c, struct err *err)
{
	struct nodes nodes;
	int ret = nodes_read(&nodes, pd_info(c->rec), err);

	for (size_t i = 0; i < c->out->n_cpus && !ret; i++)
		c->out->cpu[i].node = nodes_of_cpu(&nodes, (uint32_t)i);
	nodes_free(&nodes);
	return ret;
}

static int make_cpus(struct counting *c, struct err *err)
{
	const struct wait *w = c->w;
	size_t n = pd_info(c->rec)->cpus_online;

	n = n < CPUS_MOST ? n : 0;
	for (size_t i = 0; i < w->n_spans; i++)
		if (w->span[i].cpu < CPUS_MOST && w->span[i].cpu >= n)
			n = w->span[i].cpu + 1u;
	c->out->n_cpus = n;
	c->out->cpu = xcalloc(n + 1, sizeof(*c->out->cpu));
	return name_nodes(c, err);
}

static bool parallel_is_far(const struct parallel_cpu *from, const struct parallel_cpu *to)
{
	return from && from->node != NODE_NONE && to->node != NODE_NONE && from->node != to->node;
}

static int parallel_by_node(const void *pa, const void *pb)
{
	const struct parallel_node *a = pa, *b = pb;

	return (a->node > b->node) - (a->node < b->node);
}

static void sum_nodes(struct counting *c)
{
	struct parallel *p = c->out;
	size_t n = 0;

	p->node = xcalloc(p->n_cpus + 1, sizeof(*p->node));
	for (size_t i = 0; i < p->n_cpus; i++) {
		const struct parallel_cpu *x = &p->cpu[i];
		struct parallel_node *to = p->node;

		if (x->node == NODE_NONE || ((!p->whole || p->some) && !x->seen))
			continue;
		while (to < p->node + n && to->node != x->node)
			to++;
		n += to == p->node + n;
		to->node = x->node;
		to->cpus++;
		to->busy += x->busy;
		to->wanted += x->wanted;
		to->runnable += x->runnable;
		to->switches += x->switches;
		to->from_nodes += x->from_nodes;
	}
	if (n > 1)
		qsort(p->node, n, sizeof(*p->node), parallel_by_node);
	p->n_nodes = n > 1 ? n : 0;
}

/* Spans are in the order of their ends, so that those of a thread are in theirs. */
static void count_moves(struct counting *c)
{
	const struct wait *w = c->w;
	uint32_t *last = xmalloc((w->n_threads + 1) * sizeof(*last));

	memset(last, 0xff, w->n_threads * sizeof(*last));
	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		struct parallel_cpu *x = parallel_cpu_of(c, s->cpu);

		if (!x)
			continue;
		x->seen = true;
		if (wait_reasons[s->reason].state == WAIT_RUNNABLE)
			x->runnable += s->until - s->from;
		if (s->reason != WAIT_RAN)
			continue;
		x->switches += !s->there;
		x->arrivals += last[s->thread] != WAIT_NO_CPU && last[s->thread] != s->cpu;
		x->from_nodes += parallel_is_far(parallel_cpu_of(c, last[s->thread]), x);
		last[s->thread] = s->cpu;
	}
	free(last);
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_parallel_share(struct parallel_share *s, double w)
{
	s->w += w;
	s->w2 += w * w;
}

static int on_parallel_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct counting *c = ctx;
	const struct parallel_function none = { 0 };
	struct parallel_function *f;
	struct pd_sample x;
	uint64_t from, until;
	uint32_t frame, n;
	double period;
	size_t at;

	(void)err;
	if (!task_tid(s->task) || s->time < c->w->from || s->time > c->w->until ||
	    pd_sample_parse(c->rec, s->r, &x))
		return 0; /* the idle task does not run */
	from = 0;
	until = UINT64_MAX;
	frame = frames_number(&c->frames, s, space_kind_of_misc(x.cpumode), x.ip, &from, &until);
	while (c->at.n <= frame)
		vec_xpush(&c->at, none);

	bisect(at, c->step.n, i, c->step.v[i].time > s->time);
	n = at && c->step.v[at - 1].running ? c->step.v[at - 1].running : 1;
	f = &c->at.v[frame];
	period = (double)x.period;
	f->samples++;
	f->period += x.period;
	put_parallel_share(&f->cpu, period);
	put_parallel_share(&f->wall, period / n);
	if (n == 1)
		put_parallel_share(&f->alone, period);
	return 0;
}

static void add_parallel_visit(struct counting *c, struct pass *pass)
{
	struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE | PASS_ORDER,
				  .sample = on_parallel_sample };
	size_t n;

	(void)pd_events(c->rec, &n);
	v.events = c->only = xcalloc(n + 1, sizeof(*c->only));
	if (c->event < n)
		c->only[c->event] = true;
	pass_add(pass, &v, c);
}

static void add_share(struct parallel_share *to, const struct parallel_share *x)
{
	to->w += x->w;
	to->w2 += x->w2;
}

static void add_parallel_function(struct parallel_function *to, const struct parallel_function *x)
{
	to->samples += x->samples;
	to->period += x->period;
	add_share(&to->cpu, &x->cpu);
	add_share(&to->wall, &x->wall);
	add_share(&to->alone, &x->alone);
}

static int most_wall(const void *pa, const void *pb)
{
	const struct parallel_function *a = pa, *b = pb;

	if (a->wall.w != b->wall.w)
		return a->wall.w < b->wall.w ? 1 : -1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static int parallel_sum_functions(struct counting *c, struct err *err)
{
	struct parallel *p = c->out;
	size_t n = 0;

	if (frames_name(&c->frames, c->sp, err))
		return -1;
	p->place = c->frames.place.v;
	p->n_places = c->frames.place.n;
	p->function = xcalloc(p->n_places + 1, sizeof(*p->function));
	for (size_t i = 0; i < c->at.n; i++) {
		uint32_t place = c->frames.frame.v[i].place;

		p->function[place].place = place;
		add_parallel_function(&p->function[place], &c->at.v[i]);
		add_parallel_function(&p->all, &c->at.v[i]);
	}
	for (size_t i = 0; i < p->n_places; i++)
		if (p->function[i].samples)
			p->function[n++] = p->function[i];
	p->n_functions = n;
	if (n > 1)
		qsort(p->function, n, sizeof(*p->function), most_wall);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* An event of whole CPUs has a number for each of them. Returns how many were recorded if these are
 * fewer than the machine has (-C). */
static size_t some_of_cpus(const struct counting *c)
{
	size_t n, ids = 0, seen = 0, all = pd_info(c->rec)->cpus_online;
	const struct pd_event *ev = pd_events(c->rec, &n);

	for (size_t i = 0; i < n; i++)
		ids = ev[i].n_ids > ids ? ev[i].n_ids : ids;
	for (size_t i = 0; i < c->out->n_cpus; i++)
		seen += c->out->cpu[i].seen;
	return c->out->whole && seen <= ids && ids < all ? ids : 0;
}

static bool has_whole_cpus(const struct pd *rec, const struct wait *w)
{
	size_t n, n_events;
	const struct pd_type_count *t = pd_type_counts(rec, &n);
	const struct pd_event *ev = pd_events(rec, &n_events);

	for (size_t i = 0; i < n; i++)
		if (t[i].type == PERF_RECORD_SWITCH || t[i].type == PERF_RECORD_SWITCH_CPU_WIDE)
			return t[i].type == PERF_RECORD_SWITCH_CPU_WIDE;
	/* tracepoints alone: an event that is inherited or waits for an exec is of a program's
	 * threads, of which the idle task is none */
	for (size_t i = 0; i < n_events && !w->has_idle; i++)
		if (ev[i].attr.type == PERF_TYPE_TRACEPOINT &&
		    (ev[i].attr.inherit || ev[i].attr.enable_on_exec))
			return false;
	return true;
}

int parallel_begin(struct parallel **out, struct pass *pass, const struct pd *rec,
		   const struct spaces *spaces, const struct wait *w, size_t event, struct err *err)
{
	struct counting *c = xcalloc(1, sizeof(*c));

	c->rec = rec;
	c->sp = spaces;
	c->w = w;
	c->event = event;
	*out = c->out = xcalloc(1, sizeof(*c->out));
	c->out->work = c;
	c->out->whole = has_whole_cpus(rec, w);
	if (make_cpus(c, err)) {
		parallel_free(c->out);
		*out = NULL;
		return -1;
	}
	walk_time(c);
	count_moves(c);
	c->out->some = some_of_cpus(c);
	sum_nodes(c);
	if (event != SIZE_MAX)
		add_parallel_visit(c, pass);
	return 0;
}

static void drop_counting(struct counting *c)
{
	if (!c->out->place)
		vec_free(&c->frames.place);
	frames_free(&c->frames);
	vec_free(&c->step);
	vec_free(&c->at);
	free(c->only);
	c->out->work = NULL;
	free(c);
}

int parallel_end(struct parallel *p, struct err *err)
{
	struct counting *c = p->work;
	int ret = c->event != SIZE_MAX && parallel_sum_functions(c, err) ? -1 : 0;

	drop_counting(c);
	return ret;
}

void parallel_free(struct parallel *p)
{
	if (!p)
		return;
	if (p->work)
		drop_counting(p->work);
	free(p->level);
	free(p->cpu);
	free(p->node);
	free(p->function);
	free(p->place);
	free(p);
}
