/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade sharing [FILE] - see doc/cyclade-sharing.1.md.
 */
#include <stdlib.h>

#include "cli/recordings/result.h"
#include "report/sharing_view.h"

struct finding {
	struct sharing *sharing;
	struct sharing_view v;
};

static void end(void *own)
{
	struct finding *f = own;

	sharing_free(f->sharing);
	free(f);
}

static int check_options(const struct result_ask *ask, uint64_t line_size, struct err *err)
{
	if (line_size < SHARING_LINE_MIN || line_size > SHARING_LINE_MAX ||
	    line_size & (line_size - 1))
		return err_set(err, ERR_USAGE, "--line-size is a power of two from %u to %u",
			       SHARING_LINE_MIN, SHARING_LINE_MAX);
	if (ask->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "sharing takes one -e; a pattern means several");
	if (sharing_able(ask->r->rec))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "the recording has no loads and stores with addresses");
	return err_hint(err, "record some: cyclade record --mem -- PROGRAM, or perf c2c record");
}

/* The data cache's, if the recording's machine said it. */
static uint64_t line_size_of(const struct result_ask *ask)
{
	const struct pd_info *info = pd_info(ask->r->rec);

	if (OPTION_GIVEN(&ask->cli->opt, line_size))
		return ask->cli->opt.line_size;
	for (size_t i = 0; i < info->n_caches; i++)
		if (info->caches[i].level == 1 && info->caches[i].line_size)
			return info->caches[i].line_size;
	return SHARING_LINE_DEFAULT;
}

int sharing_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct finding *f = calloc(1, sizeof(*f));
	const struct recording *r = ask->r;
	struct sharing_opts so = { .line_size = 0 };
	struct profile_opts po = { 0 };
	uint64_t line_size = line_size_of(ask);

	if (!f)
		return err_nomem(err);
	out->own = f;
	out->end = end;
	if (check_options(ask, line_size, err) || recording_select(r, ask->cli, &po, err))
		return -1;
	so.select = po.select;
	so.select.event = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	so.line_size = (uint32_t)line_size;
	if (sharing_find(&f->sharing, r->rec, r->spaces, &so, err) ||
	    recording_source(&f->v.source, r, ask->cli, ask->said.input, NULL, err))
		return -1;
	f->v.s = f->sharing;
	f->v.spaces = r->spaces;
	f->v.images = r->images;
	f->v.limit = (size_t)ask->cli->opt.limit;
	document_open(&out->d, &sharing_document, NULL);
	sharing_put(&out->d, &f->v);
	return 0;
}

int cmd_sharing(struct cli *cli)
{
	return result_command(cli, RESULT_SHARING, cli_one_recording);
}
