/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting/compare_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/recording.h"
#include "report/where.h"

int functions_open(struct functions *f, struct cli *cli, size_t most, struct err *err)
{
	*f = (struct functions){ .cli = cli, .most = most, .names = STRTAB_INIT };
	if (temp_dir_open(f->dir, sizeof(f->dir), NULL, err))
		return -1;
	(void)snprintf(f->path, sizeof(f->path), "%s/run", f->dir);
	temp_dir_guard(f->dir, f->path); /* while a program runs, compare handles signals */
	return 0;
}

void functions_close(struct functions *f)
{
	if (*f->path)
		(void)unlink(f->path);
	temp_dir_close(f->dir);
	strtab_free(&f->names);
	vec_free(&f->value);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool is_clock_event(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

static int keep_row(struct functions *f, const struct where_row *row, double scale, struct err *err)
{
	char *name = arena_printf(&f->cli->arena, "function:%s", row->sym);
	struct function_value v = { .run = f->n_runs, .value = (double)row->w.period * scale };

	v.name = name ? strtab_adds(&f->names, name) : STR_NONE;
	return v.name == STR_NONE || vec_push(&f->value, v) ? err_nomem(err) : 0;
}

static int keep_rows(struct functions *f, const struct recording *rec, const struct profile *p,
		     struct err *err)
{
	struct arena a = ARENA_INIT;
	struct where w;
	size_t n;
	const struct pd_event *event = pd_events(rec->rec, &n);
	bool clock = n && is_clock_event(event[0].name);
	int rc = where_make(&w, &a, p, 0, 0, err);

	if (!rc && !f->unit) {
		f->unit = clock ? "s" : arena_strdup(&f->cli->arena, n ? event[0].name : "");
		if (!f->unit)
			rc = err_nomem(err);
	}
	for (size_t i = 0; !rc && i < w.n; i++)
		rc = keep_row(f, &w.row[i], clock ? 1e-9 : 1, err);
	arena_free(&a);
	return rc;
}

static int sampled(void *ctx, struct err *err)
{
	struct functions *f = ctx;
	struct profile_opts po = { .key = { KEY_SYM, KEY_DSO }, .n_keys = 2 };
	struct recording rec = { 0 };
	struct profile *p = NULL;
	int rc = recording_open(&rec, f->cli, f->path, err);

	if (!rc)
		rc = recording_select(&rec, f->cli, &po, err) ||
		     profile_build(&p, rec.rec, rec.spaces, &po, err) || keep_rows(f, &rec, p, err);
	profile_free(p);
	recording_close(&rec);
	(void)unlink(f->path); /* else the next run keeps it as another file */
	f->n_runs++;
	return rc ? -1 : 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

struct chosen {
	uint32_t name;
	bool asked;
	double sum;
};

static int by_sum(const void *a, const void *b)
{
	const struct chosen *p = a, *q = b;

	if (p->asked != q->asked)
		return q->asked - p->asked;
	if (p->sum != q->sum)
		return p->sum < q->sum ? 1 : -1;
	return (p->name > q->name) - (p->name < q->name);
}

/* Functions by their samples in all runs; those of --fail-if first, so that they are in. */
static struct chosen *choose_functions(const struct functions *f, struct err *err)
{
	struct chosen *all = calloc(f->names.n + 1, sizeof(*all));

	if (!all) {
		(void)err_nomem(err);
		return NULL;
	}
	for (uint32_t i = 0; i < f->names.n; i++) {
		all[i].name = i;
		for (size_t k = 0; k < f->opts->n_decide; k++)
			all[i].asked |= !strcmp(strtab_get(&f->names, i), f->opts->decide[k]);
	}
	for (size_t i = 0; i < f->value.n; i++)
		all[f->value.v[i].name].sum += f->value.v[i].value;
	qsort(all, f->names.n, sizeof(*all), by_sum);
	return all;
}

/* A run without a sample of a function has 0 of it. */
static void fill_function_metrics(const struct functions *f, struct compare *c,
				  const uint32_t *metric, size_t n)
{
	for (size_t r = 0; r < c->run.n; r++)
		for (size_t i = 0; i < n; i++)
			c->run.v[r].value[COMPARE_TIMES + i] = 0;
	for (size_t i = 0; i < f->value.n; i++) {
		const struct function_value *v = &f->value.v[i];

		if (metric[v->name] && v->run < c->run.n)
			c->run.v[v->run].value[COMPARE_TIMES + metric[v->name] - 1] += v->value;
	}
}

static int name_metrics(const struct functions *f, struct compare *c, const struct chosen *all,
			size_t n, uint32_t *metric, struct err *err)
{
	if (compare_more(c, n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct compare_metric *m = &c->metric[COMPARE_TIMES + i];

		*m = (struct compare_metric){ .name = strtab_get(&f->names, all[i].name),
					      .unit = f->unit,
					      .decides = true,
					      .many = !all[i].asked };
		metric[all[i].name] = (uint32_t)i + 1;
	}
	fill_function_metrics(f, c, metric, n);
	return 0;
}

static int functions(void *ctx, struct compare *c, struct err *err)
{
	struct functions *f = ctx;
	size_t n = 0;
	struct chosen *all = choose_functions(f, err);
	uint32_t *metric = calloc(f->names.n + 1, sizeof(*metric));
	int rc = -1;

	if (!metric)
		(void)err_nomem(err);
	while (all && n < f->names.n && (all[n].asked || n < f->most) && all[n].sum > 0)
		n++;
	if (all && metric)
		rc = name_metrics(f, c, all, n, metric, err);
	free(all);
	free(metric);
	return rc;
}

void functions_ask(struct functions *f, struct compare_opts *opts)
{
	opts->record = f->path;
	opts->sampled = sampled;
	opts->functions = functions;
	opts->ctx = f;
	f->opts = opts;
}
