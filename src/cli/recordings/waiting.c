/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report --wait: the waits of threads; --sched: delays and runs; --wall: which functions took wall
 * time; --concurrency: the states of CPUs; --critical: the path that the end waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/recordings/waiting.h"
#include "analyse/cube.h"
#include "analyse/scheduler.h"
#include "collect/tsc.h"
#include "report/critical_view.h"
#include "report/parallel_view.h"
#include "report/sched_view.h"
#include "report/wait_view.h"

struct waiting {
	struct result_shared own_wait;
	const struct wait *w;
	struct wait_view v;
};

static void free_waits(void *own)
{
	struct waiting *c = own;

	wait_view_free(&c->v);
	result_shared_free(&c->own_wait);
	free(c);
}

/* Time is a thread's: it is on one CPU and another. */
static int check_waits(const struct cli *cli, const char *option, struct err *err)
{
	const struct options *o = &cli->opt;

	if (o->cpu || o->event.n)
		return err_set(err, ERR_USAGE, "%s is of whole threads: not with --cpu or --event",
			       option);
	return 0;
}

/* out->own begins with a struct waiting. */
static int walk_waits(struct result *out, const struct result_ask *ask, struct pass *pass,
		      unsigned turn, const char *option, struct err *err)
{
	struct waiting *c = out->own;

	if (turn)
		return result_wait(&c->w, ask, &c->own_wait, err);
	return check_waits(ask->cli, option, err) || result_wait_begin(ask, &c->own_wait, pass, err)
		       ? -1
		       : 0;
}

static void put_waits(struct waiting *c, const struct result_ask *ask)
{
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	wait_view_order(&c->v, c->w);
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
}

int wait_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
	      struct err *err)
{
	if (!turn) {
		out->own = xcalloc(1, sizeof(struct waiting));
		out->end = free_waits;
	}
	return walk_waits(out, ask, pass, turn, "--wait", err);
}

int wait_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct waiting *c = out->own;

	(void)err;
	put_waits(c, ask);
	document_open(&out->d, &wait_document, &c->v);
	wait_put(&out->d, &c->v);
	return 0;
}

/* ---- the scheduler --------------------------------------------------------------------------- */

#define BINS 48 /* of the map */

struct scheduling {
	struct waiting w; /* first */
	struct sched s;
	struct sched_view v;
};

static void free_sched(void *own)
{
	struct scheduling *c = own;

	sched_free(&c->s);
	sched_view_free(&c->v);
	free_waits(own);
}

int sched_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
	       struct err *err)
{
	if (!turn) {
		out->own = xcalloc(1, sizeof(struct scheduling));
		out->end = free_sched;
	}
	return walk_waits(out, ask, pass, turn, "--sched", err);
}

int sched_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct scheduling *c = out->own;

	(void)err;
	put_waits(&c->w, ask);
	sched_build(&c->s, c->w.w, BINS);
	sched_view_make(&c->v, &c->w.v, &c->s);
	document_open(&out->d, &sched_document, &c->v);
	sched_put(&out->d, &c->v);
	return 0;
}

/* ---- several at a time ----------------------------------------------------------------------- */

struct running {
	struct result_shared own_wait;
	const struct wait *w;
	struct parallel *p;
	struct wall_tree *tree;
	struct halted *halted;
	size_t event;
	struct parallel_view v;
};

static void end_running(void *own)
{
	struct running *c = own;

	free(c->v.order);
	wall_tree_free(c->tree);
	halted_free(c->halted);
	parallel_free(c->p);
	result_shared_free(&c->own_wait);
	free(c);
}

/* Events that sample time, not switches. */
static bool is_sampler(const struct pd_event *e)
{
	return e->samples && e->attr.type != PERF_TYPE_TRACEPOINT &&
	       (e->attr.type != PERF_TYPE_SOFTWARE || e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Threads of the selection alone, of all of the recorded ones. */
static bool wants_wall_rows(const struct result_ask *ask)
{
	const char *format = ask->show->format->name;

	return ask->cli->opt.call_graph || !strcmp(format, "folded") || !strcmp(format, "svg");
}

/* The frequency in a CPU's name has two digits behind the point. */
#define NAME_ERROR 5e6

static void begin_halted(struct running *c, const struct result_ask *ask, struct pass *pass)
{
	struct halted_opts ho = { .tsc_hz = pd_tsc_hz(ask->r->rec) };

	if (!(ho.tsc_hz > 0)) {
		ho.tsc_hz = tsc_hz_of_name(pd_info(ask->r->rec)->cpu_desc);
		ho.tsc_error = NAME_ERROR / ho.tsc_hz;
	}
	halted_begin(&c->halted, pass, ask->r->rec, c->w, c->p, &ho);
}

static int choose_running(struct running *c, const struct result_ask *ask, struct err *err)
{
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	size_t n;

	c->event = recording_event(ask->r, wanted, is_sampler);
	if (wanted && c->event == SIZE_MAX)
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' with samples of time",
			       wanted);
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	c->v.event = c->event == SIZE_MAX ? NULL : pd_events(ask->r->rec, &n)[c->event].name;
	return 0;
}

/* After the waits, samples are read along them. */
static int walk_running(struct result *out, const struct result_ask *ask, struct pass *pass,
			unsigned turn, bool halted, struct err *err)
{
	struct running *c = out->own;
	struct wall_tree_opts to = { .width = 0 };

	if (!turn) {
		out->own = c = xcalloc(1, sizeof(*c));
		out->end = end_running;
		return choose_running(c, ask, err) ||
				       result_wait_begin(ask, &c->own_wait, pass, err)
			       ? -1
			       : 0;
	}
	if (result_wait(&c->w, ask, &c->own_wait, err))
		return -1;
	if (wants_wall_rows(ask) && ask->cli->opt.cpu)
		return err_set(err, ERR_USAGE,
			       "stacks of --wall are of whole threads: not with --cpu");
	if (parallel_begin(&c->p, pass, ask->r->rec, ask->r->spaces, c->w, c->event, err))
		return -1;
	if (halted)
		begin_halted(c, ask, pass);
	to.event = c->event;
	if (wants_wall_rows(ask))
		wall_tree_begin(&c->tree, pass, ask->r->rec, ask->r->spaces, c->w, &to);
	return 0;
}

static int make_running(struct result *out, const struct result_ask *ask,
			const struct document_form *form,
			void (*put)(struct document *d, const struct parallel_view *v),
			struct err *err)
{
	struct running *c = out->own;

	if (parallel_end(c->p, err))
		return -1;
	if (c->halted)
		halted_end(c->halted);
	if (c->tree && wall_tree_end(c->tree, err))
		return -1;
	c->v.w = c->w;
	c->v.p = c->p;
	c->v.halted = c->halted;
	c->v.tree = c->tree;
	parallel_view_order(&c->v);
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	document_open(&out->d, form, &c->v);
	put(&out->d, &c->v);
	return 0;
}

int wall_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
	      struct err *err)
{
	return walk_running(out, ask, pass, turn, false, err);
}

int wall_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	return make_running(out, ask, &wall_document, wall_put, err);
}

int concurrency_walk(struct result *out, const struct result_ask *ask, struct pass *pass,
		     unsigned turn, struct err *err)
{
	return walk_running(out, ask, pass, turn, true, err);
}

int concurrency_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	return make_running(out, ask, &concurrency_document, concurrency_put, err);
}

/* ---- for the page ---------------------------------------------------------------------------- */

struct wall_cube {
	const struct wait *w;
	struct wall_tree *tree;
	struct cube *cube;
	const char *event;
};

int wall_cube_walk(struct wall_cube **out, const struct result_ask *ask, struct pass *pass,
		   unsigned turn, struct err *err)
{
	const struct recording *r = ask->r;
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	struct wall_tree_opts to = { .event = recording_event(r, wanted, is_sampler) };
	struct wall_cube *c = *out;
	size_t n;

	if (!turn) {
		if (ask->cli->opt.cpu || !wait_able(r->rec) ||
		    result_wait_begin(ask, NULL, pass, err))
			return -1;
		*out = xcalloc(1, sizeof(**out));
		return 0;
	}
	if (to.event == SIZE_MAX) /* the page is of another one */
		to.event = recording_event(r, NULL, is_sampler);
	c->event = to.event == SIZE_MAX ? NULL : pd_events(r->rec, &n)[to.event].name;
	if (result_wait(&c->w, ask, NULL, err))
		return -1;
	to.width = cube_wall_width(c->w);
	wall_tree_begin(&c->tree, pass, r->rec, r->spaces, c->w, &to);
	return 0;
}

int wall_cube_end(struct wall_cube *c, const struct recording *r, struct err *err)
{
	return wall_tree_end(c->tree, err) || cube_of_wall(&c->cube, c->tree, c->w, r->images, err)
		       ? -1
		       : 0;
}

const struct cube *wall_cube_of(const struct wall_cube *c)
{
	return c->cube;
}

const struct wait *wall_cube_wait(const struct wall_cube *c)
{
	return c->w;
}

const char *wall_cube_event(const struct wall_cube *c)
{
	return c->event;
}

void wall_cube_close(struct wall_cube *c)
{
	if (!c)
		return;
	cube_free(c->cube);
	wall_tree_free(c->tree);
	free(c);
}

/* ---- the critical path ----------------------------------------------------------------------- */

#define REPLAYED 12 /* rows, unless --limit asks for more */

struct path {
	struct result_shared own_wait;
	const struct wait *w;
	struct critical *c;
	struct critical_view v;
};

static void free_critical_path(void *own)
{
	struct path *c = own;

	critical_free(c->c);
	result_shared_free(&c->own_wait);
	free(c);
}

int critical_walk(struct result *out, const struct result_ask *ask, struct pass *pass,
		  unsigned turn, struct err *err)
{
	const struct options *o = &ask->cli->opt;
	const char *wanted = o->event.n ? o->event.v[0] : NULL;
	struct critical_opts co = { .event = recording_event(ask->r, wanted, is_sampler),
				    .replayed = o->limit ? (size_t)o->limit : REPLAYED };
	struct path *c = out->own;
	size_t n;

	if (turn)
		return result_wait(&c->w, ask, &c->own_wait, err) ||
				       critical_begin(&c->c, pass, ask->r->rec, ask->r->spaces,
						      c->w, &co, err)
			       ? -1
			       : 0;
	out->own = c = xcalloc(1, sizeof(*c));
	out->end = free_critical_path;
	if (o->cpu)
		return err_set(err, ERR_USAGE, "--critical is of whole threads: not with --cpu");
	if (wanted && co.event == SIZE_MAX)
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' with samples of time",
			       wanted);
	c->v = (struct critical_view){ .images = ask->r->images, .limit = (size_t)o->limit };
	if (co.event != SIZE_MAX)
		c->v.event = pd_events(ask->r->rec, &n)[co.event].name;
	return result_wait_begin(ask, &c->own_wait, pass, err);
}

int critical_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct path *c = out->own;

	if (critical_end(c->c, err))
		return -1;
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	c->v.w = c->w;
	c->v.c = c->c;
	document_open(&out->d, &critical_document, &c->v);
	critical_put(&out->d, &c->v);
	return 0;
}
