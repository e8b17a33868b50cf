/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples by source line, of all functions. Made by one pass over all samples when first asked for.
 * Rows differ by the texts of their names, of which there may be copies.
 */
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "store/raw_int.h"

#define NOTHING UINT32_MAX

struct line_row {
	uint32_t function, dso, file; /* numbers of texts; 0: none */
	uint32_t line, event;
	uint32_t same; /* the next one of the same hash */
	uint64_t samples, period;
};

struct total { /* of an event */
	double period, squares;
};

struct raw_lines {
	VEC(struct line_row) row;
	struct u64map at;      /* hash -> index + 1 of the last one that has it */
	struct strtab text;    /* "" is 0 */
	struct u64map text_at; /* address of a text that came -> its number + 1 */
	struct total *total;
};

void raw_lines_free(struct raw_lines *x)
{
	if (!x)
		return;
	vec_free(&x->row);
	u64map_free(&x->at);
	u64map_free(&x->text_at);
	strtab_free(&x->text);
	free(x->total);
	free(x);
}

static uint64_t lines_hash_of(const struct line_row *r)
{
	return hash_pair((uint64_t)r->function << 32 | r->file,
			 hash_pair((uint64_t)r->dso << 32 | r->line, r->event));
}

static bool is_lines_same(const struct line_row *a, const struct line_row *b)
{
	return a->function == b->function && a->file == b->file && a->dso == b->dso &&
	       a->line == b->line && a->event == b->event;
}

static struct line_row *line_row_at(struct raw_lines *x, struct line_row r)
{
	uint64_t *at = u64map_xat(&x->at, lines_hash_of(&r), NULL);

	r.same = (uint32_t)*at - 1;
	for (uint32_t i = r.same; i != NOTHING; i = x->row.v[i].same)
		if (is_lines_same(&x->row.v[i], &r))
			return &x->row.v[i];
	vec_xpush(&x->row, r);
	*at = x->row.n;
	return vec_last(&x->row);
}

static uint32_t lines_text_of(struct raw_lines *x, const char *s)
{
	uint64_t *at;

	if (!s)
		return 0;
	at = u64map_xat(&x->text_at, (uintptr_t)s, NULL);
	if (!*at)
		*at = (uint64_t)strtab_xadds(&x->text, s) + 1;
	return (uint32_t)*at - 1;
}

static int count_lines_line(struct raw *at, void *ctx, struct err *err)
{
	const struct cursor_row *c = cursor_now(at->walk[at->run]);
	uint64_t period = raw_period(at);
	struct raw_lines *x = ctx;
	struct line_row r = { .event = c->event }, *to;

	if (c->ev->at.ip) {
		struct name *name = raw_name_at(at, space_kind_of_misc(c->r.misc),
						ld64(c->r.p + c->ev->at.ip), err);

		if (!name || names_line(raw_of(at)->names, name, err))
			return -1;
		r.function = lines_text_of(x, name->function);
		r.dso = lines_text_of(x, name->dso);
		r.file = lines_text_of(x, name->file);
		r.line = name->line;
	}
	to = line_row_at(x, r);
	to->samples++;
	to->period += period;
	x->total[c->event].period += (double)period;
	x->total[c->event].squares += (double)period * (double)period;
	return 0;
}

static int begin_lines(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);

	if (!of->lines) {
		struct raw_lines *x = xcalloc(1, sizeof(*x));
		bool over;
		size_t n;
		int ret;

		(void)pd_events(of->r.rec, &n);
		x->text = (struct strtab)STRTAB_INIT;
		x->total = xcalloc(n, sizeof(*x->total));
		ret = raw_each_sample(c, count_lines_line, x, &over, err);
		if (ret || over)
			raw_lines_free(x);
		else
			of->lines = x;
		if (ret)
			return -1;
	}
	c->i = 0;
	c->n = of->lines ? of->lines->row.n : 0;
	return 0;
}

const struct raw_kind raw_lines_rows = { begin_lines, raw_array_next };

/* ---- columns --------------------------------------------------------------------------------- */

static const struct line_row *lines_line_of(const struct raw *raw)
{
	return &raw_of(raw)->lines->row.v[raw->i - 1];
}

static struct error_bar lines_share_of(const struct raw *raw)
{
	const struct line_row *row = lines_line_of(raw);
	const struct total *all = &raw_of(raw)->lines->total[row->event];

	return error_bar_share((double)row->period, all->period, all->squares);
}

static void put_line_text(const struct raw *raw, size_t which, struct table_cell *out)
{
	const struct line_row *row = lines_line_of(raw);
	uint32_t id = which == NAME_FUNCTION ? row->function
		      : which == NAME_DSO    ? row->dso
					     : row->file;

	out->text = id ? strtab_get(&raw_of(raw)->lines->text, id) : NULL;
}
RAW_GET(line_text, put_line_text(raw, c->which, out))
RAW_GET(line_event, size_t n;
	out->text = pd_events(raw_of(raw)->r.rec, &n)[lines_line_of(raw)->event].name)
RAW_GET(line_line, raw_put(out, lines_line_of(raw)->line, lines_line_of(raw)->line))
RAW_GET(line_samples, out->n = lines_line_of(raw)->samples)
RAW_GET(line_period, out->n = lines_line_of(raw)->period)
RAW_GET(line_share, out->e.v = lines_share_of(raw).share)
RAW_GET(line_share_error, struct error_bar e = lines_share_of(raw);
	out->e.v = isnan(e.share) ? NAN : e.half)
