/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wall time of functions, and the number of busy CPUs, as tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "report/parallel_view.h"
#include "report/recorded.h"
#include "report/wait/callers_lost.h"
#include "report/wait/wait_int.h"

#define ROWS  25 /* functions for people, without --limit */
#define LEAST 10
#define SMALL 0.005

TABLE_CTX_AS(parallel_view_of, struct parallel_view)

static uint64_t parallel_length_of(const struct parallel_view *v)
{
	return v->w->until - v->w->from;
}

static double parallel_part_of(const struct parallel_view *v, uint64_t ns)
{
	return wait_share_of(ns, parallel_length_of(v));
}

/* ---- functions ------------------------------------------------------------------------------- */

TABLE_ROW_AS(parallel_function_of, struct parallel_function)

static struct estimate parallel_share_of(const struct parallel_share *x,
					 const struct parallel_share *all)
{
	const struct error_bar e = error_bar_share(x->w, all->w, all->w2);

	return (struct estimate){ e.share, e.half, NULL };
}

TABLE_CELL(parallel_wall, cell_estimate(out, parallel_share_of(&parallel_function_of(r)->wall,
							       &parallel_view_of(t)->p->all.wall)))
TABLE_CELL(parallel_cpu_cell,
	   cell_estimate(out, parallel_share_of(&parallel_function_of(r)->cpu,
						&parallel_view_of(t)->p->all.cpu)))
TABLE_CELL(alone, cell_estimate(out, parallel_share_of(&parallel_function_of(r)->alone,
						       &parallel_view_of(t)->p->all.wall)))

TABLE_GET(parallel_threads)
{
	const struct parallel_function *f = parallel_function_of(r);

	(void)t, (void)c;
	out->e.v = f->wall.w > 0 ? f->cpu.w / f->wall.w : NAN;
}

static const struct wait_place *parallel_place_of(const struct table *t, const struct table_row *r)
{
	return &parallel_view_of(t)->p->place[parallel_function_of(r)->place];
}

TABLE_CELL(parallel_function_cell, put_wait_function(out, parallel_place_of(t, r)))
TABLE_CELL(parallel_dso, put_wait_dso(out, parallel_view_of(t)->images, parallel_place_of(t, r)))

#define OF(member) TABLE_FIELD(struct parallel_function, member)
/* clang-format off */
#define SHARE(key_, head_, get_, means_) \
	COLUMN(key_, head_, T_SHARE, C_ERROR | C_HEAT, means_, .get = get_)
#define WALL \
	SHARE("wall_share", "wall", parallel_wall, \
		   "of wall time: a sample counts 1 / running threads")
#define CPU SHARE("share", "cpu", parallel_cpu_cell, "of CPU time")
#define ALONE SHARE("alone_share", "alone", alone, "of wall time, while no other thread ran")
#define FUNCTION \
	COLUMN("threads", "threads", T_REAL, 0, "that ran at a time, in the mean over wall time", \
	       .get = parallel_threads), \
	COLUMN("samples", "samples", T_COUNT, C_DATA, "of it", OF(samples)), \
	COLUMN("period", "period", T_COUNT, C_DATA, "of these", OF(period)), \
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "its name", \
	       .get = parallel_function_cell), \
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = parallel_dso)
/* clang-format on */
static const struct table_column wall_columns[] = { WALL, CPU, ALONE, FUNCTION };
static const struct table_column alone_columns[] = { ALONE, WALL, CPU, FUNCTION };
#undef OF
static const struct table_form wall_form = { "functions", NULL, TABLE_MAIN,
					     TABLE_COLUMNS(wall_columns), .rest = "function" };

static bool alone_next(const struct table *t, struct table_row *r)
{
	const struct parallel_view *v = parallel_view_of(t);

	r->at[0] += r->p != NULL;
	if (r->at[0] >= v->n_order)
		return false;
	r->p = &v->p->function[v->order[r->at[0]]];
	return true;
}

static const struct table_form alone_form = {
	"functions", NULL, 0, TABLE_COLUMNS(alone_columns), .next = alone_next, .rest = "function"
};

/* ---- levels and CPUs ------------------------------------------------------------------------- */

static bool level_next(const struct table *t, struct table_row *r)
{
	const struct parallel *p = parallel_view_of(t)->p;

	r->at[0] += r->p != NULL;
	while (r->at[0] < p->n_levels && !p->level[r->at[0]].time)
		r->at[0]++;
	if (r->at[0] >= p->n_levels)
		return false;
	r->p = &p->level[r->at[0]];
	return true;
}

/* c->which: offset of the time in a row. */
static uint64_t parallel_time_of(const struct table_column *c, const struct table_row *r)
{
	return *(const uint64_t *)(const void *)((const char *)r->p + c->which);
}

TABLE_CELL(running, out->n = r->at[0])
TABLE_CELL(parallel_time_share,
	   out->e.v = parallel_part_of(parallel_view_of(t), parallel_time_of(c, r)))
TABLE_CELL(parallel_time_seconds, out->e.v = wait_seconds_of(parallel_time_of(c, r)))
TABLE_GET(level_unknown)
{
	const struct parallel_view *v = parallel_view_of(t);

	(void)c;
	out->none = !v->p->unknown;
	out->e.v = parallel_part_of(v, ((const struct parallel_level *)r->p)->unknown);
}
#define LEVEL(get_, member) .get = get_, .which = offsetof(struct parallel_level, member)
static const struct table_column level_columns[] = {
	COLUMN("running", "running", T_ID, C_KEY, "threads that ran", .get = running),
	COLUMN("share", "share", T_SHARE, C_HEAT, "of the time", LEVEL(parallel_time_share, time)),
	COLUMN("seconds", "time", T_SECONDS, 0, "so long", LEVEL(parallel_time_seconds, time)),
	COLUMN("wanting_share", "others waiting", T_SHARE, 0,
	       "of the time: others waited for a CPU meanwhile",
	       LEVEL(parallel_time_share, wanting)),
	COLUMN("wanting_seconds", "time", T_SECONDS, C_DATA, "so long",
	       LEVEL(parallel_time_seconds, wanting)),
	COLUMN("unknown_share", "or more", T_SHARE, C_SPARSE,
	       "of the time: whether more ran meanwhile is not known", .get = level_unknown),
};
static const struct table_form levels_form = { "levels", NULL, TABLE_MAIN,
					       TABLE_COLUMNS(level_columns), .next = level_next };

static bool cpu_next(const struct table *t, struct table_row *r)
{
	const struct parallel *p = parallel_view_of(t)->p;

	r->at[0] += r->p != NULL;
	while (r->at[0] < p->n_cpus && (!p->whole || p->some) && !p->cpu[r->at[0]].seen)
		r->at[0]++;
	if (r->at[0] >= p->n_cpus)
		return false;
	r->p = &p->cpu[r->at[0]];
	return true;
}

/* If only some threads were recorded, others may have had the CPU meanwhile. */
static void idle_part(const struct table *t, struct table_cell *out, uint64_t ns)
{
	if (parallel_view_of(t)->p->whole)
		out->e.v = parallel_part_of(parallel_view_of(t), ns);
	else
		cell_none(out, "others may have had the CPU: record -a --wait tells");
}

TABLE_CELL(idle_share, idle_part(t, out,
				 parallel_length_of(parallel_view_of(t)) -
					 ((const struct parallel_cpu *)r->p)->busy))
TABLE_GET(parallel_cpu_node)
{
	const struct parallel_cpu *x = r->p;

	(void)t, (void)c;
	out->none = x->node < 0;
	out->n = x->node < 0 ? 0 : (uint64_t)x->node;
}

TABLE_CELL(wanted_share, idle_part(t, out, parallel_time_of(c, r)))

static void put_halted(struct table_cell *out, const struct halted_span *s)
{
	if (isnan(s->share.v))
		cell_none(out, s->share.why);
	else
		cell_estimate(out, s->share);
}

/* NULL: not known. */
static const char *halted_by(const struct halted_span *s)
{
	return s->by == HALTED_COUNTER ? "counter" : s->by == HALTED_SWITCHES ? "switches" : NULL;
}

TABLE_CELL(cpu_halted, put_halted(out, &parallel_view_of(t)->halted->cpu[r->at[0]]))
TABLE_CELL(cpu_halted_by, out->text = halted_by(&parallel_view_of(t)->halted->cpu[r->at[0]]))
#define OF(member)	       TABLE_FIELD(struct parallel_cpu, member)
#define CPU_TIME(get_, member) .get = get_, .which = offsetof(struct parallel_cpu, member)
static const struct table_column cpu_columns[] = {
	COLUMN("cpu", "cpu", T_ID, C_KEY, "its number", .get = running),
	COLUMN("busy_share", "busy", T_SHARE, C_HEAT, "of the time: recorded threads ran",
	       CPU_TIME(parallel_time_share, busy)),
	COLUMN("idle_share", "idle", T_SHARE, C_WHY | C_SPARSE, "of the time", .get = idle_share),
	COLUMN("wanted_share", "idle, wanted", T_SHARE, C_WHY | C_SPARSE,
	       "of the time: idle while threads waited for a CPU", CPU_TIME(wanted_share, wanted)),
	COLUMN("runnable_seconds", "runnable", T_SECONDS, 0,
	       "that threads waited for a CPU after they had run here",
	       CPU_TIME(parallel_time_seconds, runnable)),
	COLUMN("switches", "switches", T_COUNT, 0, "times that it was given to a thread",
	       OF(switches)),
	COLUMN("arrivals", "from others", T_COUNT, 0, "of these: a thread that had run elsewhere",
	       OF(arrivals)),
	COLUMN("from_nodes", "from other nodes", T_COUNT, C_DATA,
	       "of these: on a CPU of another NUMA node", OF(from_nodes)),
	COLUMN("node", "node", T_ID, C_SPARSE, "its NUMA node", .get = parallel_cpu_node),
	COLUMN("halted_share", "halted", T_SHARE, C_ERROR | C_WHY | C_SPARSE | C_DROP,
	       "of the time: its clock stood still, or at most so long", .get = cpu_halted),
	COLUMN("halted_by", "by", T_TEXT, C_SPARSE | C_DROP,
	       "counter: unhalted reference cycles; switches: while no thread had it",
	       .get = cpu_halted_by),
};
#undef OF

TABLE_CELL(node_busy, out->e.v = parallel_part_of(parallel_view_of(t),
						  ((const struct parallel_node *)r->p)->busy) /
				 (double)((const struct parallel_node *)r->p)->cpus)
TABLE_GET(node_wanted)
{
	const struct parallel_node *x = r->p;

	idle_part(t, out, x->wanted);
	out->e.v /= (double)x->cpus;
}

#define OF(member) TABLE_FIELD(struct parallel_node, member)
static const struct table_column node_columns[] = {
	COLUMN("node", "node", T_ID, C_KEY, "its number", OF(node)),
	COLUMN("cpus", "CPUs", T_COUNT, 0, "that it has, of those recorded", OF(cpus)),
	COLUMN("busy_share", "busy", T_SHARE, C_HEAT, "of its CPUs' time", .get = node_busy),
	COLUMN("wanted_share", "idle, wanted", T_SHARE, C_WHY | C_SPARSE,
	       "of its CPUs' time: idle while threads waited for a CPU", .get = node_wanted),
	COLUMN("runnable_seconds", "runnable", T_SECONDS, 0,
	       "that threads waited for a CPU after they had run here",
	       .get = parallel_time_seconds, .which = offsetof(struct parallel_node, runnable)),
	COLUMN("switches", "switches", T_COUNT, 0, "times that a CPU was given to a thread",
	       OF(switches)),
	COLUMN("from_nodes", "from others", T_COUNT, 0,
	       "of these: a thread that had run on another node", OF(from_nodes)),
};
#undef OF
static const struct table_form nodes_form = { "nodes", NULL, 0, TABLE_COLUMNS(node_columns) };
static const struct table_form cpus_form = { "cpus", NULL, 0, TABLE_COLUMNS(cpu_columns),
					     .next = cpu_next };

/* ---- halted ---------------------------------------------------------------------------------- */

TABLE_ROW_AS(parallel_span_of, struct halted_span)

TABLE_CELL(span_halted, put_halted(out, parallel_span_of(r)))
TABLE_CELL(span_by, out->text = halted_by(parallel_span_of(r)))
#define OF_SPAN(...) TABLE_FIELD(struct halted_span, __VA_ARGS__)
static const struct table_column halted_columns[] = {
	COLUMN("cpu", "cpu", T_ID, C_KEY, "its number", TABLE_FIELD(struct halted_span, cpu)),
	COLUMN("from_seconds", "from", T_SECONDS, C_KEY, "since the beginning", OF_SPAN(from)),
	COLUMN("until_seconds", "until", T_SECONDS, 0, "since the beginning", OF_SPAN(until)),
	COLUMN("halted_share", "halted", T_SHARE, C_ERROR | C_WHY | C_HEAT,
	       "of this interval: the CPU's clock stood still, or at most so long",
	       .get = span_halted),
	COLUMN("halted_by", "by", T_TEXT, 0,
	       "counter: unhalted reference cycles; switches: while no thread had it",
	       .get = span_by),
};
static const struct table_form halted_form = { "halted", NULL, TABLE_DATA,
					       TABLE_COLUMNS(halted_columns) };

/* ---- heads ----------------------------------------------------------------------------------- */

static double mean_running(const struct parallel *p)
{
	double sum = 0, all = 0;

	for (size_t i = 0; i < p->n_levels; i++) {
		sum += (double)i * (double)p->level[i].time;
		all += (double)p->level[i].time;
	}
	return all > 0 ? sum / all : NAN;
}

/* At most: who ran for sure, and whose state is not known. */
static double most_running(const struct parallel_view *v)
{
	const double all = (double)parallel_length_of(v);

	return all > 0 ? v->p->most / all : NAN;
}

TABLE_CELL(parallel_length, out->e.v = wait_seconds_of(parallel_length_of(parallel_view_of(t))))
TABLE_CELL(parallel_mean, out->e.v = mean_running(r->p))
TABLE_CELL(parallel_most, out->e.v = most_running(parallel_view_of(t)))
#define OF(member) TABLE_FIELD(struct parallel, member)
#define CTX(...)   TABLE_CTX(struct parallel_view, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("event", "event", T_TEXT, 0, "of the samples", CTX(event)),
	COLUMN("samples", "samples", T_COUNT, 0, "that functions are counted by", OF(all.samples)),
	COLUMN("period", "period", T_COUNT, 0, "of these", OF(all.period)),
	COLUMN("length_seconds", "length", T_SECONDS, 0, "of the recording",
	       .get = parallel_length),
	COLUMN("mean_running", "running", T_REAL, 0, "threads at a time, in the mean, at least",
	       .get = parallel_mean),
	COLUMN("most_running", "at most", T_REAL, 0,
	       "the same with all threads whose state is not known", .get = parallel_most),
	COLUMN("unknown_seconds", "unknown", T_SECONDS, 0,
	       "time in which it is not known whether some thread ran", CTX(p, unknown)),
	COLUMN("beyond_seconds", "beyond", T_SECONDS, C_LOSS,
	       "time in which more threads ran than there are CPUs: records are wrong",
	       CTX(p, beyond)),
	COLUMN("whole", "whole", T_FLAG, 0, "all that ran was recorded (-a)", OF(whole)),
	COLUMN("contradicted", "contradicted", T_COUNT, C_LOSS,
	       "times that two records of a thread contradict each other", CTX(w, contradicted)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const wall_forms[] = { &head_form,	&recorded_form,
						       &wall_form,	&wall_shown_form,
						       &wall_tree_form, &recorded_losses_form };
static const struct format wall_faces[] = { { "folded", wall_folded, true, true },
					    { "svg", wall_svg, true, true } };
const struct document_form wall_document = { "wall", 1, wall_forms, 6, wall_faces, 2 };
static const struct table_form *const concurrency_forms[] = { &head_form,   &recorded_form,
							      &levels_form, &cpus_form,
							      &alone_form,  &nodes_form,
							      &halted_form, &recorded_losses_form };
const struct document_form concurrency_document = {
	"concurrency", 3, concurrency_forms, 8, NULL, 0
};

/* ---- all of it ------------------------------------------------------------------------------- */

static void open_parallel_document(struct document *d, const struct parallel_view *v)
{
	const double least = mean_running(v->p), most = most_running(v);
	char a[NUM_MAX], upto[NUM_MAX] = "";

	if (most - least >= 0.005) /* else both are shown alike */
		(void)snprintf(upto, sizeof(upto), " to %.2f", most);
	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = v->p, .n = 1 });
	recorded_head(d, &v->source);
	document_title(d, INK_PLAIN, "%.2f%s threads ran at a time, in the mean of %s", least, upto,
		       num_seconds(a, wait_seconds_of(parallel_length_of(v))));
}

static void parallel_finish(struct document *d, const struct parallel_view *v)
{
	char a[NUM_MAX];

	if (!v->p->whole)
		document_fact(
			d, "recorded", false,
			"these threads only: others had CPUs meanwhile; record -a --wait has all");
	else if (v->p->some)
		document_fact(d, "recorded", false,
			      "%zu CPU%s only: what ran on others is not known; record -a --wait "
			      "has all",
			      v->p->some, v->p->some > 1 ? "s" : "");
	if (v->p->beyond)
		document_fact(d, "beyond", true,
			      "%s in which more threads ran than there are CPUs: a CPU runs one at "
			      "a time, so records are wrong",
			      num_seconds(a, wait_seconds_of(v->p->beyond)));
	if (v->p->unknown)
		document_fact(d, "unknown", true,
			      "%s in which it is not known whether some thread ran: records were "
			      "lost or contradict each other",
			      num_seconds(a, wait_seconds_of(v->p->unknown)));
	recorded_tail(d, &v->source);
}

static struct table functions_of(const struct parallel_view *v, const struct table_form *f)
{
	struct table t = { .form = f,
			   .ctx = v,
			   .array = v->p->function,
			   .stride = sizeof(*v->p->function),
			   .n = v->p->n_functions,
			   .people = v->limit };

	if (!v->limit)
		t.people = table_enough(&t, 0, LEAST, ROWS, SMALL);
	return t;
}

/* Adds a fact on lost callers: unknown functions right below the threads' names. */
static void add_parallel_lost(struct document *d, const struct wall_tree *t)
{
	double lost = 0;

	for (size_t i = 1; i < t->n; i++) {
		const struct wall_node *x = &t->node[i];

		if (x->kind == WALL_FUNCTION && t->node[x->parent].kind == WALL_COMM &&
		    place_is_lost(&x->place))
			lost += x->on + x->off;
	}
	if (t->n)
		callers_lost_put(d, lost, t->node[0].on + t->node[0].off);
}

void wall_put(struct document *d, const struct parallel_view *v)
{
	const struct table t = functions_of(v, &wall_form);

	open_parallel_document(d, v);
	document_table(d, &t);
	if (v->tree) {
		const struct table shown = wall_shown_table(v), tree = wall_tree_table(v);

		document_table(d, &shown);
		document_table(d, &tree);
		add_parallel_lost(d, v->tree);
	}
	parallel_finish(d, v);
}

static void say_halted(struct document *d, const struct halted *h)
{
	bool by_switches = false;

	for (size_t i = 0; i < h->n_cpus; i++)
		by_switches |= h->cpu[i].by == HALTED_SWITCHES;
	if (h->event) {
		/* The mean of the CPUs that have samples of the event. */
		double sum = 0, half = 0, n = 0;
		char share[NUM_MAX];

		for (size_t i = 0; i < h->n_cpus; i++) {
			if (h->cpu[i].by != HALTED_COUNTER)
				continue;
			sum += h->cpu[i].share.v;
			half += h->cpu[i].share.half;
			n++;
		}
		document_fact(d, "halted", false, "%s +-%.1f of the time of %.0f CPU%s, by %s",
			      num_percent(share, sum / n), 100 * half / n, n, n > 1 ? "s" : "",
			      h->event);
	} else if (by_switches)
		document_fact(d, "halted", false, "while idle, at most: %s", h->uncounted);
}

void concurrency_put(struct document *d, const struct parallel_view *v)
{
	const struct table levels = { .form = &levels_form, .ctx = v };
	const struct table alone = functions_of(v, &alone_form);

	open_parallel_document(d, v);
	document_table(d, &levels);
	document_table(d, &(struct table){ .form = &cpus_form, .ctx = v });
	document_table(d, &TABLE_OF(nodes_form, v, v->p->node, v->p->n_nodes));
	document_table(d, &alone);
	document_table(d, &TABLE_OF(halted_form, v, v->halted->span, v->halted->n_spans));
	say_halted(d, v->halted);
	parallel_finish(d, v);
}

static int longest_alone(const void *pa, const void *pb, void *functions)
{
	const struct parallel_function *v = functions;
	const uint32_t *i = pa, *k = pb;

	if (v[*i].alone.w != v[*k].alone.w)
		return v[*i].alone.w < v[*k].alone.w ? 1 : -1;
	return (*i > *k) - (*i < *k);
}

void parallel_view_order(struct parallel_view *v)
{
	v->n_order = v->p->n_functions;
	v->order = xmalloc((v->n_order + 1) * sizeof(*v->order));
	for (size_t i = 0; i < v->n_order; i++)
		v->order[i] = (uint32_t)i;
	if (v->n_order > 1)
		qsort_r(v->order, v->n_order, sizeof(*v->order), longest_alone, v->p->function);
}
