/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/results.h"

#include "cli/recordings/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/sharing.h"
#include "analyse/cube.h"
#include "analyse/memory.h"
#include "analyse/pass.h"
#include "analyse/wait.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* A document that was asked for; those of functions may be many. */
struct made {
	enum result_id id;
	char *function; /* NULL: none */
	struct result x;
	struct show show;
	bool finished, failed;
	struct err err;
};

struct results {
	struct cli *cli;
	const char *path, *input;
	struct recording r;
	struct cli of[RESULT_COUNT]; /* the options of each kind, with an arena of its own */
	bool has_options[RESULT_COUNT];
	struct result_shared shared[RESULT_COUNT];
	struct result_bases bases;
	bool no_trees; /* of call chains in the shared walk: there are too many */
	VEC(struct made *) made;
};

int results_open(struct results **out, struct cli *cli, const char *input, struct err *err)
{
	struct results *all = xcalloc(1, sizeof(*all));

	*out = NULL;
	all->cli = cli;
	all->input = input;
	if (recording_open(&all->r, cli, input, err)) {
		free(all);
		return -1;
	}
	*out = all;
	return 0;
}

const struct recording *results_recording(const struct results *all)
{
	return &all->r;
}

struct result_bases *results_bases(struct results *all)
{
	return &all->bases;
}

bool results_able(const struct results *all, enum result_id id)
{
	const struct recording *r = &all->r;

	switch (id) {
	case RESULT_CALLEES:
	case RESULT_CALLERS:
		return recording_has(r, PERF_SAMPLE_CALLCHAIN);
	case RESULT_BRANCHES:
	case RESULT_BLOCKS:
	case RESULT_CALLS:
	case RESULT_INSTRUCTIONS:
	case RESULT_BOUNDS:
		return recording_has(r, PERF_SAMPLE_BRANCH_STACK);
	case RESULT_REGISTERS:
		return recording_has(r, PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER);
	case RESULT_SHARING:
		return sharing_able(r->rec);
	case RESULT_ACCOUNT:
	case RESULT_PROCESSES:
	case RESULT_MODULES:
		return result_has_account(r);
	case RESULT_MEM:
		return memory_told(r->rec);
	case RESULT_WAIT:
	case RESULT_SCHED:
	case RESULT_WALL:
	case RESULT_CONCURRENCY:
	case RESULT_CRITICAL:
		return wait_able(r->rec);
	case RESULT_INFO:
	case RESULT_FINDINGS:
	case RESULT_FUNCTIONS:
	case RESULT_ANNOTATE:
	case RESULT_COUNT:
		break;
	}
	return true;
}

/* The options of the kind's command over those that were given. */
static int options_of(struct cli **out, struct results *all, enum result_id id, struct err *err)
{
	const struct result_kind *k = &result_kinds[id];
	struct cli *cli = &all->of[id];

	*out = cli;
	if (all->has_options[id])
		return 0;
	*cli = (struct cli){ .command = k->command, .opt = all->cli->opt };
	cli->opt.format = "json";
	cli->opt.limit = 0;
	all->has_options[id] = true;
	return options_parse_text(&cli->opt, &cli->arena, k->command, k->options, err);
}

static int ask_for(struct result_ask *ask, struct made *m, struct results *all, struct err *err)
{
	*ask = (struct result_ask){
		.r = &all->r,
		.show = &m->show,
		.shared = &all->shared[m->id],
		.bases = &all->bases,
		.said = { .path = all->input, .function = m->function, .input = all->input }
	};
	return options_of(&ask->cli, all, m->id, err) ||
			       show_choose(&m->show, result_kinds[m->id].form, "json", NULL, err)
		       ? -1
		       : 0;
}

static int make(struct made *m, struct results *all, struct err *err)
{
	struct result_ask ask;

	if (ask_for(&ask, m, all, err) || result_kinds[m->id].make(&m->x, &ask, err))
		return -1;
	cli_progress_end(ask.cli);
	if (!m->x.n_choices)
		return 0;
	(void)err_set(err, ERR_USAGE, "'%.200s' may mean %zu functions", m->function,
		      m->x.n_choices);
	return err_hint(err, "name one of them: DSO:NAME, or NAME@0xADDRESS");
}

static bool is_same(const struct made *m, enum result_id id, const char *function)
{
	if (m->id != id || !m->function != !function)
		return false;
	return !function || !strcmp(m->function, function);
}

static struct made *find(const struct results *all, enum result_id id, const char *function)
{
	for (size_t i = 0; i < all->made.n; i++)
		if (is_same(all->made.v[i], id, function))
			return all->made.v[i];
	return NULL;
}

static void free_made(struct made *m)
{
	if (!m)
		return;
	result_free(&m->x);
	free(m->function);
	free(m);
}

static struct made *add(struct results *all, enum result_id id, const char *function)
{
	struct made *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->id = id;
	m->err = (struct err)ERR_INIT;
	m->function = function ? strdup(function) : NULL;
	if ((function && !m->function) || vec_push(&all->made, m)) {
		free_made(m);
		return NULL;
	}
	return m;
}

/* ---- walks ----------------------------------------------------------------------------------- */

static void walk_one(struct made *m, struct results *all, struct pass *pass, unsigned turn)
{
	struct result_ask ask;

	m->failed = m->failed || ask_for(&ask, m, all, &m->err) ||
		    result_walks[m->id](&m->x, &ask, pass, turn, &m->err);
}

/* One turn of the results from `from` on. */
static int walk_results(struct results *all, size_t from, struct pass *pass, unsigned turn,
			struct err *err)
{
	int ret;

	for (size_t i = from; i < all->made.n; i++)
		if (!all->no_trees || result_walks[all->made.v[i]->id] != report_walk)
			walk_one(all->made.v[i], all, pass, turn);
	ret = pass_run(pass, err);
	result_bases_end(&all->bases, &all->r, ret);
	return ret;
}

/* The cube of wall time. Without one the page says why it has no waits. */
static void walk_wall(struct results *all, struct pass *pass, unsigned turn)
{
	const struct result_ask ask = { .cli = all->cli, .r = &all->r, .bases = &all->bases };
	struct wall_cube **wall = &all->bases.wall;
	struct err why = ERR_INIT;
	int ret = 0;

	if (turn == 0 || (turn == 1 && *wall))
		ret = wall_cube_walk(wall, &ask, pass, turn, &why);
	else if (*wall)
		ret = wall_cube_end(*wall, &all->r, &why);
	if (!ret)
		return;
	err_clear(&why);
	wall_cube_close(*wall);
	*wall = NULL;
}

/* One that is not made yet: as if it was the only one. */
static void walk_alone(struct made *m, struct results *all)
{
	struct pass *pass = NULL;

	if (result_pass(&pass, all->cli, &all->r, &m->err)) {
		m->failed = true;
		return;
	}
	for (unsigned turn = 0; turn < 2 && !m->failed; turn++) {
		walk_one(m, all, pass, turn);
		if (!m->failed)
			m->failed = pass_run(pass, &m->err) != 0;
		result_bases_end(&all->bases, &all->r, m->failed);
	}
	pass_free(pass);
}

int results_walk(struct results *all, size_t cube_event, size_t chains, struct err *err)
{
	const size_t from = all->made.n;
	struct pass *pass;
	int ret = -1;

	if (result_pass(&pass, all->cli, &all->r, err))
		return -1;
	if (result_bases_begin(&all->bases, all->cli, &all->r, cube_event, pass, err))
		goto out;
	for (unsigned id = 0; id < RESULT_COUNT; id++)
		if (result_walks[id] && !add(all, (enum result_id)id, NULL)) {
			(void)err_nomem(err);
			goto out;
		}
	walk_wall(all, pass, 0);
	ret = walk_results(all, from, pass, 0, err);
	all->no_trees = all->bases.cube && all->bases.cube->n_chains > chains;
	if (ret)
		goto out;
	walk_wall(all, pass, 1);
	ret = walk_results(all, from, pass, 1, err);
	if (!ret)
		walk_wall(all, pass, 2);
out:
	pass_free(pass);
	return ret;
}

int results_get(struct document **d, struct results *all, enum result_id id, const char *function,
		struct err *err)
{
	struct made *m = find(all, id, function);

	*d = NULL;
	if (!m) {
		m = add(all, id, function);
		if (m && result_walks[id])
			walk_alone(m, all);
	}
	if (!m)
		return err_nomem(err);
	if (!m->finished && !m->failed)
		m->failed = make(m, all, &m->err) != 0;
	m->finished = true;
	if (m->failed) {
		*err = m->err;
		return -1;
	}
	*d = &m->x.d;
	return 0;
}

void results_close(struct results *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->made.n; i++)
		free_made(all->made.v[i]);
	vec_free(&all->made);
	for (size_t i = 0; i < RESULT_COUNT; i++) {
		result_shared_free(&all->shared[i]);
		arena_free(&all->of[i].arena);
	}
	result_bases_free(&all->bases);
	recording_close(&all->r);
	free(all);
}
