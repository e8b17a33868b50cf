/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report --wait: the waits of threads; --wall: which functions took wall time; --concurrency:
 * the states of CPUs; --critical: the path that the end waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/recordings/waiting.h"
#include "analyse/cube.h"
#include "collect/tsc.h"
#include "report/critical_view.h"
#include "report/parallel_view.h"
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
static int check_waits(const struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if (o->cpu || o->event.n)
		return err_set(err, ERR_USAGE,
			       "--wait is of whole threads: not with --cpu or --event");
	return 0;
}

int wait_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct waiting *c = xcalloc(1, sizeof(*c));

	out->own = c;
	out->end = free_waits;
	if (check_waits(ask->cli, err))
		return -1;
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	if (result_wait(&c->w, ask, &c->own_wait, err))
		return -1;
	wait_view_order(&c->v, c->w);
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	document_open(&out->d, &wait_document, &c->v);
	wait_put(&out->d, &c->v);
	return 0;
}

/* ---- several at a time ----------------------------------------------------------------------- */

struct running {
	struct result_shared own_wait;
	const struct wait *w;
	struct parallel *p;
	struct wall_tree *tree;
	struct halted *halted;
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
static int make_wall_rows(struct running *c, const struct result_ask *ask, size_t event,
			  struct err *err)
{
	const struct wall_tree_opts to = { .event = event };
	const char *format = ask->show->format->name;

	if (!ask->cli->opt.call_graph && strcmp(format, "folded") && strcmp(format, "svg"))
		return 0;
	if (ask->cli->opt.cpu)
		return err_set(err, ERR_USAGE,
			       "stacks of --wall are of whole threads: not with --cpu");
	if (wall_tree_build(&c->tree, ask->r->rec, ask->r->spaces, c->w, &to, err))
		return -1;
	c->v.tree = c->tree;
	return 0;
}

/* The frequency in a CPU's name has two digits behind the point. */
#define NAME_ERROR 5e6

static int make_halted(struct running *c, const struct result_ask *ask, struct err *err)
{
	struct halted_opts ho = { .tsc_hz = pd_tsc_hz(ask->r->rec) };

	if (!(ho.tsc_hz > 0)) {
		ho.tsc_hz = tsc_hz_of_name(pd_info(ask->r->rec)->cpu_desc);
		ho.tsc_error = NAME_ERROR / ho.tsc_hz;
	}
	if (halted_build(&c->halted, ask->r->rec, c->w, c->p, &ho, err))
		return -1;
	c->v.halted = c->halted;
	return 0;
}

static int make_running(struct result *out, const struct result_ask *ask,
			const struct document_form *form,
			void (*put)(struct document *d, const struct parallel_view *v),
			struct err *err)
{
	const char *wanted = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	struct running *c = xcalloc(1, sizeof(*c));
	struct profile_opts po = { 0 };
	struct parallel_opts lo;
	size_t n;

	out->own = c;
	out->end = end_running;
	if (recording_select(ask->r, ask->cli, &po, err))
		return -1;
	lo = (struct parallel_opts){ recording_event(ask->r, wanted, is_sampler), po.select };
	if (wanted && lo.event == SIZE_MAX)
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' with samples of time",
			       wanted);
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	c->v.event = lo.event == SIZE_MAX ? NULL : pd_events(ask->r->rec, &n)[lo.event].name;
	if (result_wait(&c->w, ask, &c->own_wait, err) ||
	    parallel_build(&c->p, ask->r->rec, ask->r->spaces, c->w, &lo, err))
		return -1;
	c->v.w = c->w;
	c->v.p = c->p;
	if (form == &concurrency_document && make_halted(c, ask, err))
		return -1;
	if (make_wall_rows(c, ask, lo.event, err))
		return -1;
	parallel_view_order(&c->v);
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	document_open(&out->d, form, &c->v);
	put(&out->d, &c->v);
	return 0;
}

int wall_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	return make_running(out, ask, &wall_document, wall_put, err);
}

int concurrency_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	return make_running(out, ask, &concurrency_document, concurrency_put, err);
}

/* ---- for the page ---------------------------------------------------------------------------- */

struct wall_cube {
	struct result_shared own_wait;
	const struct wait *w;
	struct wall_tree *tree;
	struct cube *cube;
	const char *event;
};

static int make_cube(struct wall_cube *c, struct cli *cli, const struct recording *r,
		     struct result_bases *bases, struct err *err)
{
	const struct result_ask ask = { .cli = cli, .r = r, .bases = bases };
	const char *wanted = cli->opt.event.n ? cli->opt.event.v[0] : NULL;
	struct wall_tree_opts to = { .event = recording_event(r, wanted, is_sampler) };
	size_t n;

	if (to.event == SIZE_MAX) /* the page is of another one */
		to.event = recording_event(r, NULL, is_sampler);
	c->event = to.event == SIZE_MAX ? NULL : pd_events(r->rec, &n)[to.event].name;
	if (result_wait(&c->w, &ask, &c->own_wait, err))
		return -1;
	to.width = cube_wall_width(c->w);
	if (wall_tree_build(&c->tree, r->rec, r->spaces, c->w, &to, err))
		return -1;
	return cube_of_wall(&c->cube, c->tree, c->w, r->images, err);
}

int wall_cube_open(struct wall_cube **out, struct cli *cli, const struct recording *r,
		   struct result_bases *bases, struct err *err)
{
	struct wall_cube *c;
	struct err why = ERR_INIT;

	*out = NULL;
	if (cli->opt.cpu || !wait_able(r->rec))
		return 0;
	c = xcalloc(1, sizeof(*c));
	if (!make_cube(c, cli, r, bases, &why)) {
		*out = c;
		return 0;
	}
	wall_cube_close(c);
	if (why.code != ERR_NOMEM) /* the page shows the reason */
		return 0;
	*err = why;
	return -1;
}

const struct cube *wall_cube_of(const struct wall_cube *c)
{
	return c->cube;
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
	result_shared_free(&c->own_wait);
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

int critical_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	const struct options *o = &ask->cli->opt;
	const char *wanted = o->event.n ? o->event.v[0] : NULL;
	struct path *c = calloc(1, sizeof(*c));
	struct critical_opts co = { .replayed = o->limit ? (size_t)o->limit : REPLAYED };
	size_t n;

	if (!c)
		return err_nomem(err);
	out->own = c;
	out->end = free_critical_path;
	if (o->cpu)
		return err_set(err, ERR_USAGE, "--critical is of whole threads: not with --cpu");
	co.event = recording_event(ask->r, wanted, is_sampler);
	if (wanted && co.event == SIZE_MAX)
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' with samples of time",
			       wanted);
	c->v = (struct critical_view){ .images = ask->r->images, .limit = (size_t)o->limit };
	if (co.event != SIZE_MAX)
		c->v.event = pd_events(ask->r->rec, &n)[co.event].name;
	if (result_wait(&c->w, ask, &c->own_wait, err) ||
	    critical_build(&c->c, ask->r->rec, ask->r->spaces, c->w, &co, err))
		return -1;
	recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL);
	c->v.w = c->w;
	c->v.c = c->c;
	document_open(&out->d, &critical_document, &c->v);
	critical_put(&out->d, &c->v);
	return 0;
}
