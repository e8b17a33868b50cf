/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report --wait: what threads waited for.
 */
#include <stdlib.h>

#include "cli/recordings/result.h"
#include "report/wait_view.h"

struct waiting {
	struct wait *w;
	struct wait_view v;
};

static void end(void *own)
{
	struct waiting *c = own;

	wait_view_free(&c->v);
	wait_free(c->w);
	free(c);
}

/* Time is a thread's: it is on one CPU and another. */
static int check(const struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if (o->cpu || o->cgroup.n || o->event.n)
		return err_set(err, ERR_USAGE,
			       "--wait is of whole threads: not with --cpu, --cgroup or --event");
	return 0;
}

int wait_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct waiting *c = calloc(1, sizeof(*c));
	struct profile_opts po = { 0 };
	struct wait_opts wo;

	if (!c)
		return err_nomem(err);
	out->own = c;
	out->end = end;
	if (check(ask->cli, err) || recording_select(ask->r, ask->cli, &po, err))
		return -1;
	wo = (struct wait_opts){ po.select, po.progress, po.progress_ctx };
	c->v.images = ask->r->images;
	c->v.limit = (size_t)ask->cli->opt.limit;
	if (wait_build(&c->w, ask->r->rec, ask->r->spaces, &wo, err) ||
	    wait_view_order(&c->v, c->w, err) ||
	    recording_source(&c->v.source, ask->r, ask->cli, ask->said.input, NULL, err))
		return -1;
	document_open(&out->d, &wait_document, NULL);
	wait_put(&out->d, &c->v);
	return 0;
}
