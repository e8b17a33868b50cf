/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svg - the tree of call chains as a flame graph for documents: callers below, the thread's name
 * first. A frame is as wide as its part of the event that leads; its colour is its file's, and a
 * legend names the files with most of it. Without chains, functions stand side by side.
 */
#include <math.h>

#include "base/xalloc.h"
#include "report/drawing.h"
#include "report/rows.h"

#define HEAD  58.0
#define FILES 5 /* with colours of their own */

#define NARROW 0.005 /* of all: a level without a wider frame is left out */
#define LEAST  1.0   /* a narrower frame is, too */

struct flame {
	struct drawing d;
	const struct view *v;
	const struct view_table *t;
	size_t table;
	double all, height;
	uint32_t deepest, levels; /* that is drawn; that there is */
	uint32_t file[FILES];	  /* images, those with most self first */
	size_t n_files;
	struct buf scratch;
};

static double period_of(const struct view_row *r)
{
	return (double)(r->id ? r->total : r->self)->period;
}

static const struct profile_frame *flame_frame_of(const struct flame *f, const struct view_row *r)
{
	return r->frame == UINT32_MAX ? NULL : &profile_chains(f->v->profile)->frame[r->frame];
}

/* Finds the files with most of the event in their own code. */
static void choose_files(struct flame *f)
{
	size_t n = f->v->opts.images ? images_count(f->v->opts.images) : 0;
	double *self = xcalloc(n + 1, sizeof(*self));

	for (size_t i = 0; i < f->t->n_rows; i++) {
		const struct profile_frame *frame = flame_frame_of(f, &f->t->row[i]);

		if (frame && !frame->thread && frame->image < n)
			self[frame->image] += (double)f->t->row[i].self->period;
	}
	while (f->n_files < FILES) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < n; i++)
			if (self[i] > self[best])
				best = i;
		if (!n || !(self[best] > 0))
			break;
		f->file[f->n_files++] = best;
		self[best] = 0;
	}
	free(self);
}

static const char *const kinds[FILES] = { "f0", "f1", "f2", "f3", "f4" };

static const char *kind_of_frame(const struct flame *f, const struct view_row *r)
{
	const struct profile_frame *frame = flame_frame_of(f, r);

	if (frame && frame->thread)
		return "t";
	if (!frame)
		return "o";
	for (size_t i = 0; i < f->n_files; i++)
		if (f->file[i] == frame->image)
			return kinds[i];
	return "o";
}

static void put_flame_name(struct flame *f, const struct view_row *r)
{
	struct table_cell c = column_cell(COL_SYM, f->v, f->table, r, &f->scratch);

	buf_reset(&f->d.name);
	if (cell_has(&c))
		buf_puts(&f->d.name, c.text);
	else
		rows_fold_name(&f->d.name, r);
}

static void put_flame_row(struct flame *f, const struct view_row *r, double x, double width)
{
	double y = f->height - DRAWING_MARGIN - DRAWING_ROW * (r->depth + 1);
	struct buf *out = f->d.out;

	put_flame_name(f, r);
	buf_puts(out, "<g><title>");
	html_text(out, buf_str(&f->d.name));
	buf_printf(out, ": %.2f %%</title>", 100 * period_of(r) / f->all);
	drawing_box(&f->d, kind_of_frame(f, r), x, y, width - 0.3, DRAWING_ROW - 1);
	drawing_label(&f->d, x, y, width);
	buf_puts(out, "</g>\n");
	buf_spill(out);
}

static void put_flame_head(struct flame *f)
{
	const struct view_source *src = &f->v->source;
	const struct view_table *t = f->t;
	struct buf b = BUF_INIT;
	double x = DRAWING_MARGIN;

	buf_printf(&b, "%s", src->event[t->event[0]].name);
	buf_printf(&b, ", %llu samples: ", (unsigned long long)t->sum[0]->selected.samples);
	for (size_t i = 0; i < src->info->n_cmdline && b.len < 150; i++)
		buf_printf(&b, "%s%.100s", i ? " " : "", src->info->cmdline[i]);
	drawing_text(&f->d, x, 20, "start", buf_str(&b));
	for (size_t i = 0; i < f->n_files; i++)
		x = drawing_key(&f->d, kinds[i], x, 40, image_name(f->v->opts.images, f->file[i]));
	x = drawing_key(&f->d, "o", x, 40, "other files");
	x = drawing_key(&f->d, "t", x, 40, "thread");
	if (f->levels > f->deepest) {
		buf_reset(&b);
		buf_printf(&b, "%u levels more, of frames below %g %%", f->levels - f->deepest,
			   100 * NARROW);
		drawing_text(&f->d, x, 40, "start", buf_str(&b));
	}
	buf_putc(f->d.out, '\n');
	f->d.out->failed |= b.failed;
	buf_free(&b);
}

/* The table of the event that leads, else the first that has rows; a table has its rows in the
 * order of a walk in depth. */
static const struct view_table *choose_flame_table(struct flame *f)
{
	const struct view *v = f->v;
	const struct view_table *found = NULL;

	for (size_t i = 0; i < v->n_tables; i++) {
		const struct view_table *t = &v->table[i];

		if (!t->n_rows || (found && t->event[0] != v->source.lead))
			continue;
		found = t;
		f->table = i;
	}
	return found;
}

/* A level of narrow frames alone makes the drawing tall and tells nothing: it ends below. */
static double measure_flame(struct flame *f)
{
	for (size_t i = 0; i < f->t->n_rows; i++)
		if (!f->t->row[i].parent)
			f->all += period_of(&f->t->row[i]);
	for (size_t i = 0; i < f->t->n_rows; i++) {
		const struct view_row *r = &f->t->row[i];

		if (period_of(r) >= NARROW * f->all && r->depth > f->deepest)
			f->deepest = r->depth;
		if (r->depth > f->levels)
			f->levels = r->depth;
	}
	return HEAD + DRAWING_MARGIN + DRAWING_ROW * (f->deepest + 1);
}

int rows_svg(struct buf *out, const struct document *d, const struct show *s, struct err *err)
{
	struct flame f = { .v = d->ctx };
	double *next, x, width; /* next: by row's number, where its next child begins */

	(void)s;
	f.t = choose_flame_table(&f);
	if (f.t)
		f.height = measure_flame(&f);
	if (!(f.all > 0)) {
		buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n");
		return buf_error(out, err);
	}
	next = xcalloc(f.t->n_rows + 1, sizeof(*next));
	choose_files(&f);
	drawing_begin(&f.d, out, DRAWING_WIDTH + 2 * DRAWING_MARGIN, f.height,
		      ".f0{fill:#f0a868}.f1{fill:#9cc3e6}.f2{fill:#a8d5a2}.f3{fill:#d9b3e0}"
		      ".f4{fill:#f2d479}.o{fill:#d5d0c8}.t{fill:#bbb}",
		      ".f0{fill:#a85f1a}.f1{fill:#2f5f8f}.f2{fill:#357a30}.f3{fill:#74467e}"
		      ".f4{fill:#84691a}.o{fill:#55504a}.t{fill:#555}");
	put_flame_head(&f);
	next[0] = DRAWING_MARGIN;
	for (size_t i = 0; i < f.t->n_rows && !out->failed; i++) {
		const struct view_row *r = &f.t->row[i];

		x = next[r->parent];
		width = period_of(r) / f.all * DRAWING_WIDTH;
		next[r->parent] += width;
		next[i + 1] = x;
		if (width >= LEAST && r->depth <= f.deepest)
			put_flame_row(&f, r, x, width);
	}
	drawing_end(&f.d);
	out->failed |= f.scratch.failed;
	buf_free(&f.scratch);
	free(next);
	return buf_error(out, err);
}
