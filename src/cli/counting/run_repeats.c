/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting/run_repeats.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyse/event_cost.h"
#include "cli/recording.h"
#include "cli/repeats.h"

void run_repeats_open(struct run_repeats *r, struct cli *cli, const char *name, size_t n)
{
	*r = (struct run_repeats){ .cli = cli, .name = name, .wanted = n, .plain_share = 1 };
}

const char *run_repeats_file(struct run_repeats *r)
{
	return repeats_file(&r->cli->arena, r->name, r->file.n + 1);
}

void run_repeats_close(struct run_repeats *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		where_runs_free(&r->where[i]);
	tree_repeats_free(&r->tree);
	vec_free(&r->file);
	vec_free(&r->function);
}

/* ---- a run ------------------------------------------------------------------------------ */

static void add_run_result(struct run_repeats *r, const struct sampling_result *res)
{
	struct sampling_result all = *res;

	all.samples += r->all.samples;
	all.bytes += r->all.bytes;
	all.lost += r->all.lost;
	all.not_kept += r->all.not_kept;
	all.left_out += r->all.left_out;
	all.throttled += r->all.throttled;
	all.ousted += r->all.ousted;
	all.counters += r->all.counters;
	r->all = all;
	r->failed += res->status != 0;
}

static int add_plain(struct run_repeats *r, struct sampled_tree *t, struct err *err)
{
	struct sampling_count of[2];

	if (sampling_tree_plain(t->r, of, err))
		return -1;
	for (size_t i = 0; i < 2; i++) {
		repeat_add(&r->plain[i], of[i].known ? of[i].value : NAN);
		if (of[i].known)
			r->plain_share = fmin(r->plain_share, of[i].share);
	}
	return 0;
}

int run_repeats_add(struct run_repeats *r, const struct sampling_result *res,
		    struct sampled_tree *t, struct err *err)
{
	const struct counting_result run = { .wall_s = res->wall_s,
					     .user_s = res->user_s,
					     .sys_s = res->cpu_s - res->user_s,
					     .status = res->status };
	struct sampling_tree *s = sampling_tree(t->r);
	const char *file = run_repeats_file(r);
	struct tree_report made = { 0 };

	if (!file)
		return err_nomem(err);
	if (sampled_tree_report(t, &made, err) || add_plain(r, t, err) ||
	    tree_repeats_add(&r->tree, &run, s->drilling ? &s->d : NULL, true, &r->cli->arena, err))
		return -1;
	if (vec_push(&r->file, file))
		return err_nomem(err);
	add_run_result(r, res);
	if (r->file.n == 1 && res->kept)
		repeats_move_old(r->name);
	return 0;
}

void run_repeats_drop(struct run_repeats *r, const struct sampling_result *res)
{
	const char *file = run_repeats_file(r);

	r->cut_short = true;
	r->all.no_cycles = res->no_cycles; /* texts of the run before went with it */
	r->all.hypervisor = res->hypervisor;
	r->all.event = res->event;
	r->all.interrupted = res->interrupted;
	r->all.status = res->status;
	r->all.killed_by = res->killed_by;
	if (res->kept && file)
		(void)unlink(file);
}

/* ---- all of them ------------------------------------------------------------------------ */

int run_repeats_tree(const struct run_repeats *r, struct sampled_tree *t, struct tree_report *out,
		     struct err *err)
{
	const struct sampling_count of[2] = {
		{ repeat_mean(&r->plain[0]), r->plain_share, r->plain[0].n > 0 },
		{ repeat_mean(&r->plain[1]), r->plain_share, r->plain[1].n > 0 },
	};
	struct sampling_tree *s = sampling_tree(t->r);

	if (s->drilling && tree_repeats_mean(&r->tree, &s->d, &t->a, err))
		return -1;
	if (sampled_tree_again(t, out, err) || (s->plain && sampled_tree_plain(t, of, out, err)))
		return -1;
	return 0;
}

static int open_events(struct run_repeats *r, size_t n, struct err *err)
{
	r->where = arena_alloc(&r->cli->arena, (n + 1) * sizeof(*r->where));
	if (!r->where)
		return err_nomem(err);
	for (; r->n_events < n; r->n_events++)
		where_runs_open(&r->where[r->n_events], &r->cli->arena, r->file.n);
	return 0;
}

static int add_profile(struct run_repeats *r, const struct profile *p, struct err *err)
{
	struct arena a = ARENA_INIT;
	int rc = 0;
	size_t n;

	(void)profile_sums(p, &n);
	if (!r->where)
		rc = open_events(r, n, err);
	for (size_t i = 0; !rc && i < n && i < r->n_events; i++) {
		struct where w;

		rc = where_make(&w, &a, p, i, 0, err) || where_runs_add(&r->where[i], &w, err);
		arena_reset(&a);
	}
	arena_free(&a);
	return rc ? -1 : 0;
}

/* Names of events, for as long as the cli. */
static int name_events(struct run_repeats *r, const struct pd *rec, struct run_table *table,
		       struct err *err)
{
	size_t n;
	const struct pd_event *event = pd_events(rec, &n);

	for (size_t i = 0; i < r->n_events && n == r->n_events; i++) {
		table[i].event = arena_strdup(&r->cli->arena, event[i].name ? event[i].name : "");
		if (!table[i].event)
			return err_nomem(err);
	}
	return 0;
}

/* Code without names, of the event that leads. */
static void find_runtimes(struct run_repeats *r, const struct pd *rec, const struct profile *p)
{
	size_t n, n_events, lead = SIZE_MAX;
	const struct pd_event *event = pd_events(rec, &n_events);
	const struct profile_sum *sum = profile_sums(p, &n);

	for (size_t i = 0; i < n; i++)
		if (sum[i].selected.samples &&
		    (lead == SIZE_MAX ||
		     (n == n_events && event_leads(rec, &event[i], &event[lead]))))
			lead = i;
	r->n_found = lead < n ? profile_runtimes(p, lead, NULL, 0, r->found) : 0;
}

static int read_run_file(struct run_repeats *r, const char *path, struct run_table **names,
			 struct err *err)
{
	struct profile_opts po = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	const char *root = r->cli->opt.sysroot;
	struct recording rec = { 0 };
	struct profile *p = NULL;
	int rc;

	r->cli->opt.sysroot = NULL; /* the program ran here, whatever machine was looked at */
	rc = recording_open(&rec, r->cli, path, err);
	r->cli->opt.sysroot = root;
	if (!rc)
		rc = recording_select(&rec, r->cli, &po, err) ||
		     profile_build(&p, rec.rec, rec.spaces, &po, err) || add_profile(r, p, err);
	if (!rc && !*names) {
		*names = arena_alloc(&r->cli->arena, (r->n_events + 1) * sizeof(**names));
		rc = *names ? name_events(r, rec.rec, *names, err) : err_nomem(err);
		find_runtimes(r, rec.rec, p);
	}
	cli_progress_end(r->cli);
	profile_free(p);
	recording_close(&rec);
	return rc ? -1 : 0;
}

/* The shares of an event's functions in each run. */
static int keep_functions(struct run_repeats *r, const struct where_runs *w, const char *event,
			  struct err *err)
{
	for (size_t i = 0; i < w->spot.n; i++)
		for (size_t k = 0; k < w->n; k++) {
			const struct where_spot *s = &w->spot.v[i];
			const struct run_repeat row = { .run = (uint32_t)k + 1,
							.event = event,
							.function = s->row.sym,
							.dso = s->row.dso,
							.samples = s->samples[k],
							.period = s->period[k] };

			if (row.samples && vec_push(&r->function, row))
				return err_nomem(err);
		}
	return 0;
}

int run_repeats_where(struct run_repeats *r, size_t limit, struct run_table **table, size_t *n,
		      const char **top, struct err *err)
{
	uint64_t most = 0;

	*n = 0;
	*table = NULL;
	for (size_t i = 0; i < r->file.n; i++)
		if (read_run_file(r, r->file.v[i], table, err))
			return -1;
	for (size_t i = 0; i < r->n_events; i++) {
		const struct tally *all = &r->where[i].sum.selected;
		struct run_table *t = &(*table)[*n];

		if (!all->samples && (i || r->n_events > 1))
			continue;
		t->event = (*table)[i].event;
		where_runs_make(&t->where, &r->where[i], limit);
		if (keep_functions(r, &r->where[i], t->event, err))
			return -1;
		if (all->samples > most) {
			most = all->samples;
			*top = t->where.top;
		}
		(*n)++;
	}
	return 0;
}
