/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/results.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/sharing.h"
#include "analyse/memory.h"
#include "analyse/wait.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* A document that was asked for; those of functions may be many. */
struct made {
	enum result_id id;
	char *function; /* NULL: none */
	struct result x;
	bool failed;
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

#define ACCOUNT_EVENTS 4 /* fewer are no account */

static bool has_account(const struct recording *r)
{
	size_t n;

	(void)pd_events(r->rec, &n);
	return n >= ACCOUNT_EVENTS;
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
		return has_account(r);
	case RESULT_MEM:
		return memory_told(r->rec);
	case RESULT_WAIT:
	case RESULT_WALL:
	case RESULT_CONCURRENCY:
	case RESULT_CRITICAL:
		return wait_able(r->rec);
	case RESULT_INFO:
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

static int make(struct made *m, struct results *all, struct err *err)
{
	const struct result_kind *k = &result_kinds[m->id];
	struct result_ask ask = { .r = &all->r,
				  .shared = &all->shared[m->id],
				  .bases = &all->bases };
	struct show show;

	if (options_of(&ask.cli, all, m->id, err) || show_choose(&show, k->form, "json", NULL, err))
		return -1;
	ask.show = &show;
	ask.said = (struct cli_operands){ .path = all->input,
					  .function = m->function,
					  .input = all->input };
	if (k->make(&m->x, &ask, err))
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
	m->failed = make(m, all, &m->err) != 0;
	return m;
}

int results_get(struct document **d, struct results *all, enum result_id id, const char *function,
		struct err *err)
{
	struct made *m = find(all, id, function);

	*d = NULL;
	if (!m)
		m = add(all, id, function);
	if (!m)
		return err_nomem(err);
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
