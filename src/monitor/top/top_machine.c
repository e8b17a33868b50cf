/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics of the machine and its parts, from the documents of monitor.h: each cell that people read
 * is a row, with the figures of the intervals before. If the tree is counted, the counters of the
 * cores are left to it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/monitor.h"
#include "monitor/top/top_int.h"

static const char *const places[] = {
#define PLACE(id, name, title) #name,
#include "monitor/place.def"
#undef PLACE
};

/* Without it there is less to see. */
void top_machine_open(struct top *t)
{
	struct err why = ERR_INIT;
	struct measure_opts *a = &t->machine_ask;

	*a = (struct measure_opts){ .a = t->opts.opts->a,
				    .root = t->opts.opts->root,
				    .model = t->opts.opts->model,
				    .all = true,
				    .interval = t->interval_ns };
	t->monitor_ask =
		(struct monitor_opts){ .opts = a, .no_cores = !*t->no_cycles && !*t->no_samples };
	if (monitor_open(&t->monitor, &t->monitor_ask, &why))
		(void)snprintf(t->no_machine, sizeof(t->no_machine), "%.250s", why.what);
	t->turn = counting_clock();
}

static void give_machine_up(struct top *t, const struct err *why)
{
	(void)snprintf(t->no_machine, sizeof(t->no_machine), "%.250s", why->what);
	monitor_close(t->monitor);
	t->monitor = NULL;
}

uint64_t top_machine_tick(const struct top *t, uint64_t now)
{
	uint64_t step = t->monitor ? monitor_tick(t->monitor) : 0;

	if (!step)
		return UINT64_MAX;
	return t->turn + step > now ? t->turn + step - now : 1;
}

void top_machine_turn(struct top *t, uint64_t now)
{
	uint64_t step = t->monitor ? monitor_tick(t->monitor) : 0;
	struct err why = ERR_INIT;

	if (!step || now < t->turn + step)
		return;
	t->turn = now;
	if (monitor_turn(t->monitor, &why))
		give_machine_up(t, &why);
}

/* ---- cells into rows ------------------------------------------------------------------------- */

static bool is_place(const struct table *x)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strcmp(x->form->name, places[i]))
			return true;
	return false;
}

/* "cpu 3", "channel 0/5": the keys that identify the row in its table; the narrowest key alone if
 * it is a number of the machine's. */
static void put_metric_place(struct buf *out, const struct table *x, const struct table_row *r)
{
	struct buf scratch = BUF_INIT;
	struct table_cell cell;
	size_t n, put = 0;
	const struct table_column *c = table_columns(x, &n);
	bool one = !strcmp(x->form->name, "cpu") || !strcmp(x->form->name, "l3");

	buf_puts(out, x->form->name);
	for (size_t i = 0; i < n && c[i].flags & C_KEY && !(one && put); i++) {
		table_cell(&cell, x, &c[i], r, &scratch);
		if (!cell_has(&cell))
			continue;
		buf_putc(out, put++ ? '/' : ' ');
		cell_put(out, &cell);
	}
	buf_free(&scratch);
}

static struct top_history *history_of(struct top *t, const char *place, const char *name)
{
	uint64_t key = hash_pair(hash_bytes(place, strlen(place)), hash_bytes(name, strlen(name)));
	bool fresh;
	uint64_t *at = u64map_at(&t->history_at, key, &fresh);
	struct top_history *h;

	if (!at)
		return NULL;
	if (!fresh)
		return &t->history.v[*at - 1];
	h = vec_add(&t->history);
	if (!h) {
		*at = 0;
		return NULL;
	}
	*at = t->history.n;
	*h = (struct top_history){ 0 };
	return h;
}

static void note_history(struct top_history *h, double v)
{
	h->v[h->n++ % TOP_HISTORY] = v;
}

static int add_metric_cell(struct top *t, struct arena *a, const char *place,
			   const struct table_column *c, const struct table_cell *x,
			   struct err *err)
{
	struct top_metric *m = vec_add(&t->metric);
	struct top_history *h;

	if (!m)
		return err_nomem(err);
	*m = (struct top_metric){ .place = arena_strdup(a, place),
				  .name = c->head,
				  .unit = c->unit,
				  .means = c->means,
				  .share = x->kind == T_SHARE,
				  .now = x->e };
	h = m->place ? history_of(t, place, c->head) : NULL;
	if (!h)
		return err_nomem(err);
	note_history(h, x->e.v);
	m->history = (size_t)(h - t->history.v);
	return 0;
}

static int add_metric_table(struct top *t, struct arena *a, const struct table *x, struct err *err)
{
	struct buf place = BUF_INIT, scratch = BUF_INIT;
	struct table_row r = { 0 };
	struct table_cell cell;
	size_t n;
	const struct table_column *c = table_columns(x, &n);
	int rc = 0;

	while (!rc && table_next(x, &r)) {
		buf_reset(&place);
		put_metric_place(&place, x, &r);
		for (size_t i = 0; !rc && i < n && t->metric.n < TOP_METRICS; i++) {
			if (!(c[i].flags & C_PEOPLE) || c[i].flags & C_KEY)
				continue;
			table_cell(&cell, x, &c[i], &r, &scratch);
			if (cell_has(&cell))
				rc = add_metric_cell(t, a, buf_str(&place), &c[i], &cell, err);
		}
	}
	if (place.failed || scratch.failed)
		rc = err_nomem(err);
	buf_free(&place);
	buf_free(&scratch);
	return rc;
}

/* The figures of a row, oldest first, are copied once all have their place. */
static int copy(struct top *t, struct arena *a, struct err *err)
{
	struct top_metric *m = arena_alloc(a, (t->metric.n + 1) * sizeof(*m));

	if (!m)
		return err_nomem(err);
	for (size_t i = 0; i < t->metric.n; i++) {
		const struct top_history *h = &t->history.v[t->metric.v[i].history];
		size_t n = h->n < TOP_HISTORY ? h->n : TOP_HISTORY;
		double *v = arena_alloc(a, (n + 1) * sizeof(*v));

		if (!v)
			return err_nomem(err);
		for (size_t k = 0; k < n; k++)
			v[k] = h->v[(h->n - n + k) % TOP_HISTORY];
		m[i] = t->metric.v[i];
		m[i].past = v;
		m[i].n_past = n;
	}
	t->now.metric = m;
	t->now.n_metrics = t->metric.n;
	return 0;
}

int top_machine(struct top *t, struct arena *a, struct err *err)
{
	struct err why = ERR_INIT;
	struct document d;
	int rc = 0;

	t->metric.n = 0;
	if (!t->monitor)
		return 0;
	t->machine_ask.interval = t->interval_ns;
	if (monitor_take(t->monitor, &d, &why)) {
		document_close(&d);
		give_machine_up(t, &why);
		return 0;
	}
	for (size_t i = 0; !rc && i < d.table.n; i++)
		if (is_place(&d.table.v[i]))
			rc = add_metric_table(t, a, &d.table.v[i], err);
	document_close(&d);
	t->turn = counting_clock();
	return rc ? -1 : copy(t, a, err);
}

void top_machine_close(struct top *t)
{
	monitor_close(t->monitor);
	vec_free(&t->history);
	vec_free(&t->metric);
	u64map_free(&t->history_at);
}
