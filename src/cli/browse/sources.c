/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/browse/sources.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/xalloc.h"

static int source_open_source(struct source *x, const struct sources *s, struct err *err)
{
	x->cli = *s->cli;
	x->cli.arena = (struct arena)ARENA_INIT;
	if (x->by_thread)
		x->cli.opt.sort = "comm,pid,tid";
	if (x->tid != SOURCE_ALL) {
		x->text = arena_xprintf(&x->cli.arena, "%" PRIu64, x->tid);
		x->cli.opt.only_tid = (struct text_list){ &x->text, 1 };
	}
	return results_open(&x->all, &x->cli, s->path, err);
}

static void close_source(struct source *x)
{
	results_close(x->all);
	arena_free(&x->cli.arena);
	free(x);
}

struct source *sources_get(struct sources *s, uint64_t tid, bool by_thread, struct err *err)
{
	struct source *x;

	for (size_t i = 0; i < s->v.n; i++)
		if (s->v.v[i]->tid == tid && s->v.v[i]->by_thread == by_thread)
			return s->v.v[i];
	x = xcalloc(1, sizeof(*x));
	x->tid = tid;
	x->by_thread = by_thread;
	if (source_open_source(x, s, err)) {
		close_source(x);
		return NULL;
	}
	vec_xpush(&s->v, x);
	return x;
}

int sources_open(struct sources *s, struct cli *cli, const char *path, struct err *err)
{
	*s = (struct sources){ .cli = cli, .path = path };
	return sources_get(s, SOURCE_ALL, false, err) ? 0 : -1;
}

void sources_close(struct sources *s)
{
	for (size_t i = 0; i < s->v.n; i++)
		close_source(s->v.v[i]);
	vec_free(&s->v);
}
