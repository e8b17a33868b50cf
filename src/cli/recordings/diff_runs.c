/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/diff_runs.h"

#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "cli/repeats.h"
#include "store/saved.h"

enum { MOST_DOCS = 4 };

static int read_word(struct diff_runs *r, const char *word, size_t n, struct err *err)
{
	static const char *const words[] = { "lines", "blocks", "memory" };
	bool *const is[] = { &r->lines, &r->blocks, &r->memory };

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		if (strlen(words[i]) == n && !memcmp(words[i], word, n)) {
			*is[i] = true;
			return 0;
		}
	return err_set(err, ERR_USAGE, "--with %.*s: there are lines, blocks and memory",
		       n < 60 ? (int)n : 60, word);
}

/* --with lines,blocks,memory */
static int read_with(struct diff_runs *r, struct err *err)
{
	const struct text_list *with = &r->cli->opt.with;

	for (size_t i = 0; i < with->n; i++) {
		const char *list = with->v[i], *word;
		size_t len;

		while (text_word(&list, &word, &len))
			if (read_word(r, word, len, err))
				return -1;
	}
	return 0;
}

int diff_runs_begin(struct diff_runs *r, struct cli *cli, struct err *err)
{
	*r = (struct diff_runs){ .cli = cli };
	cli->opt.sort = "event,dso,function"; /* the functions' rows are joined by these */
	r->by_line = (struct cli){ .command = cli->command, .opt = cli->opt };
	r->by_line.opt.sort = "event,dso,function,srcline";
	return read_with(r, err);
}

struct opening {
	struct diff_runs *r;
	const char *path;
	const struct document *doc[MOST_DOCS];
	size_t n;
};

/* *all: opened if it is not. */
static int add_diff_result(struct opening *o, struct cli *cli, enum result_id id,
			   struct results **all, struct err *err)
{
	struct document *d;

	if (!*all) {
		if (results_open(all, cli, o->path, err))
			return -1;
		vec_xpush(&o->r->results, *all);
	}
	if (results_get(&d, *all, id, NULL, err))
		return -1;
	o->doc[o->n++] = d;
	return 0;
}

static int open_one(struct diff_runs *r, diff_run_list *list, const char *path, struct err *err)
{
	struct results *all = NULL, *by_line = NULL;
	struct opening o = { .r = r, .path = path };
	struct diff_run run;

	if (add_diff_result(&o, r->cli, RESULT_FUNCTIONS, &all, err) ||
	    (r->lines && add_diff_result(&o, &r->by_line, RESULT_FUNCTIONS, &by_line, err)) ||
	    (r->blocks && add_diff_result(&o, r->cli, RESULT_BLOCKS, &all, err)) ||
	    (r->memory && add_diff_result(&o, r->cli, RESULT_MEM, &all, err)))
		return -1;
	run = (struct diff_run){ .input = path,
				 .doc = arena_xmemdup(&r->cli->arena, o.doc, sizeof(o.doc)),
				 .n_docs = o.n,
				 .images = results_recording(all)->images };
	vec_xpush(list, run);
	vec_xpush(&r->of_run, all);
	return 0;
}

/* A result that was saved as JSON. */
static int open_saved(struct diff_runs *r, diff_run_list *list, const char *path, struct err *err)
{
	struct diff_counted *c = NULL;
	size_t before = list->n;
	struct saved *s;
	int rc;

	if (saved_open(&s, path, diff_counted_forms, DIFF_COUNTED_FORMS, err))
		return -1;
	rc = diff_counted_open(&c, list, saved_document(s), path, err);
	if (!rc)
		vec_xpush(&r->counted, c);
	else
		diff_counted_free(c);
	saved_free(s);
	for (size_t i = before; i < list->n; i++)
		vec_xpush(&r->of_run, NULL);
	return rc;
}

int diff_runs_open(struct diff_runs *r, diff_run_list *list, const char *path, struct err *err)
{
	size_t n = repeats_count(path);

	if (saved_is(path))
		return open_saved(r, list, path, err);
	if (!n)
		return open_one(r, list, path, err);
	for (size_t k = 1; k <= n; k++) {
		if (open_one(r, list, repeats_file(&r->cli->arena, path, k), err))
			return -1;
	}
	return 0;
}

void diff_runs_close(struct diff_runs *r)
{
	vec_each (&r->results, struct results **, all)
		results_close(*all);
	vec_free(&r->results);
	vec_free(&r->of_run);
	vec_each (&r->counted, struct diff_counted **, c)
		diff_counted_free(*c);
	vec_free(&r->counted);
	arena_free(&r->by_line.arena);
}
