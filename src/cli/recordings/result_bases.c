/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/blocks.h"
#include "analyse/wait.h"
#include "cli/recordings/result.h"

static void end_flow(void *own)
{
	flow_free(own);
}

int result_flow(const struct flow **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->flow : own;
	const struct recording *r = ask->r;
	struct flow *f = NULL;
	struct flow_opts fo;

	*out = s->own;
	if (*out)
		return 0;
	if (recording_flow(r, ask->cli, &fo, err))
		return -1;
	if (flow_build(&f, r->rec, r->spaces, &fo, err) ||
	    blocks_weigh(&f, r->images, r->rec, r->spaces, &fo, err)) {
		flow_free(f);
		return -1;
	}
	*s = (struct result_shared){ .own = f, .end = end_flow };
	*out = f;
	return 0;
}

static void end_wait(void *own)
{
	wait_free(own);
}

int result_wait(const struct wait **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err)
{
	struct result_shared *s = ask->bases ? &ask->bases->wait : own;
	struct profile_opts po = { 0 };
	struct wait_opts wo;
	struct wait *w = NULL;

	*out = s->own;
	if (*out)
		return 0;
	if (recording_select(ask->r, ask->cli, &po, err))
		return -1;
	wo = (struct wait_opts){ po.select, po.progress, po.progress_ctx };
	if (wait_build(&w, ask->r->rec, ask->r->spaces, &wo, err))
		return -1;
	*s = (struct result_shared){ .own = w, .end = end_wait };
	*out = w;
	return 0;
}
