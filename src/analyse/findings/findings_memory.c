/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of cache lines that threads share.
 */
#include <math.h>

#include "analyse/findings/findings_int.h"
#include "base/buf.h"
#include "base/xalloc.h"

#define LATENCY 0.1 /* of all loads */

static const char *object_of(struct finding_work *w, const struct data_place *p)
{
	struct buf b = BUF_INIT;
	const char *text = NULL;

	if (p->variable)
		return p->variable->name;
	if (w->in->images)
		data_name(&b, p, w->in->images);
	if (b.len && !b.failed)
		text = arena_xstrdup(&w->out->a, buf_str(&b));
	buf_free(&b);
	return text;
}

/* The line with most at stake: separate bytes that threads write. */
void findings_memory(struct finding_work *w)
{
	const struct sharing *s = w->in->sharing;

	for (size_t i = 0; s && i < s->n; i++) {
		const struct sharing_line *l = &s->line[i];
		const struct sharing_access *a = &s->access[l->main_access];
		struct finding f = { .kind = FINDING_FALSE_SHARING,
				     .of = FINDING_OF_LATENCY,
				     .share = l->share.v,
				     .half = l->share.half,
				     .stake = l->share.v,
				     .threads = l->threads,
				     .times = l->n.hitm_local + l->n.hitm_remote };

		if (!sharing_padded(l->verdict))
			continue;
		f.object = object_of(w, &a->data);
		if (a->function) {
			f.at = (struct finding_place){ a->function->name, NULL, NAN };
			if (a->image != IMAGE_NONE && w->in->images)
				f.at.dso = image_name(w->in->images, a->image);
		}
		f.file = a->file;
		f.line = a->source_line;
		finding_add(w, &f, LATENCY);
		return;
	}
}
