/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BOLT's pre-aggregated profile (perf2bolt --pa): "B FROM TO COUNT MISPREDICTED" for a branch, "F
 * START END COUNT" for code that ran from a branch's target to the next branch. The addresses are
 * the file's own; "X:0" is outside of it.
 */
#include "report/export/export_int.h"

#include <inttypes.h>
#include <math.h>

static bool put_bolt_place(struct buf *b, struct images *images, uint32_t image,
			   const struct flow_place *p)
{
	uint64_t vaddr;

	if (p->image == image && image_to_vaddr(images, image, p->addr, &vaddr)) {
		buf_printf(b, " %" PRIx64, vaddr);
		return true;
	}
	buf_puts(b, " X:0");
	return false;
}

static void put_bolt_edge(struct buf *b, struct images *images, uint32_t image,
			  const struct flow_edge *e, double scale)
{
	uint64_t count = fdo_count(&e->w, scale), missed;
	size_t before = b->len;
	bool from, to;

	if (!count || (e->from.image != image && e->to.image != image))
		return;
	buf_putc(b, 'B');
	from = put_bolt_place(b, images, image, &e->from);
	to = put_bolt_place(b, images, image, &e->to);
	if (!from && !to) {
		b->len = before;
		return;
	}
	missed = (uint64_t)llround((double)e->tally.mispredicted * (double)count /
				   (double)(e->w.hits ? e->w.hits : 1));
	buf_printf(b, " %" PRIu64 " %" PRIu64 "\n", count, missed < count ? missed : count);
}

int export_bolt(struct buf *out, const struct flow *f, struct images *images, uint32_t image,
		struct err *err)
{
	double scale = fdo_scale(f);
	size_t n, first;
	const struct flow_edge *e = flow_edges(f, &n);
	const struct flow_span *s;

	for (size_t i = 0; i < n; i++) {
		put_bolt_edge(out, images, image, &e[i], scale);
		buf_spill(out);
	}
	s = flow_spans(f, &n);
	n = flow_spans_of(f, image, 0, UINT64_MAX, &first);
	for (size_t i = first; i < first + n; i++) {
		uint64_t count = fdo_count(&s[i].w, scale), start, end;

		if (count && image_to_vaddr(images, image, s[i].start, &start) &&
		    image_to_vaddr(images, image, s[i].end, &end))
			buf_printf(out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", start, end,
				   count);
		buf_spill(out);
	}
	return buf_error(out, err);
}

int export_bolt_samples(struct buf *out, const struct profile *p, const char *event,
			struct images *images, uint32_t image, struct err *err)
{
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	buf_puts(out, "E ");
	for (; *event; event++) /* the format separates words by blanks */
		buf_putc(out, (unsigned char)*event > ' ' && *event != 0x7f ? *event : '_');
	buf_putc(out, '\n');
	for (size_t i = 0; i < n; i++) {
		uint64_t vaddr;

		if (r[i].image == image && image_to_vaddr(images, image, r[i].key[0], &vaddr))
			buf_printf(out, "S %" PRIx64 " %" PRIu64 "\n", vaddr, r[i].all.samples);
		buf_spill(out);
	}
	return buf_error(out, err);
}
