/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade sharing [FILE] - see doc/cyclade-sharing.1.md.
 */
#include <stdlib.h>

#include "analyse/again.h"
#include "base/xalloc.h"
#include "cli/recordings/result.h"
#include "report/sharing_view.h"

struct finding {
	struct sharing *sharing;
	struct sharing_view v;
};

static void free_sharing_result(void *own)
{
	struct finding *f = own;

	sharing_free(f->sharing);
	free(f);
}

static int check_options(const struct result_ask *ask, struct err *err)
{
	if (ask->cli->opt.event.n > 1)
		return err_set(err, ERR_USAGE, "sharing takes one -e; a pattern means several");
	if (sharing_able(ask->r->rec))
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "the recording has no loads and stores with addresses");
	return again_hint(err, pd_info(ask->r->rec), "record some:", "--mem");
}

/* Images with shared accesses of which nothing is here, by image. */
static bool *find_absent_sharing(const struct sharing *s, const struct result_ask *ask)
{
	const struct images *set = ask->r->images;
	size_t n_images = images_count(set);
	bool *out = arena_alloc(&ask->cli->arena, n_images + 1);

	for (size_t i = 0; out && i < s->n_accesses; i++)
		if (s->access[i].image < n_images)
			out[s->access[i].image] = image_absent(set, s->access[i].image);
	return out;
}

int sharing_walk(struct result *out, const struct result_ask *ask, struct pass *pass, unsigned turn,
		 struct err *err)
{
	const struct recording *r = ask->r;
	struct sharing_opts so = { .line_size = 0 };
	struct finding *f = out->own;

	if (turn) {
		sharing_again(f->sharing, pass);
		return 0;
	}
	out->own = f = xcalloc(1, sizeof(*f));
	out->end = free_sharing_result;
	if (recording_line_size(r, ask->cli, &so.line_size, err) || check_options(ask, err))
		return -1;
	so.select.event = ask->cli->opt.event.n ? ask->cli->opt.event.v[0] : NULL;
	return sharing_begin(&f->sharing, pass, r->rec, r->spaces, &so, err);
}

int sharing_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct finding *f = out->own;
	const struct recording *r = ask->r;

	if (sharing_end(f->sharing, err))
		return -1;
	recording_source(&f->v.source, r, ask->cli, ask->said.input,
			 find_absent_sharing(f->sharing, ask));
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
