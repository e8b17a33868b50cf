/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples by source line, of all functions. Made by one pass over all samples when first asked for.
 * Texts of names are those of the images and compared as pointers: two files of one name have rows
 * of their own.
 */
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "base/hash.h"
#include "store/raw_int.h"

#define NOTHING UINT32_MAX

struct row {
	const char *function, *dso, *file;
	uint32_t line, event, image;
	uint32_t same; /* the next one of the same hash */
	uint64_t samples, period;
};

struct total { /* of an event */
	double period, squares;
};

struct raw_lines {
	VEC(struct row) row;
	struct u64map at; /* hash -> index + 1 of the last one that has it */
	struct total *total;
};

void raw_lines_free(struct raw_lines *x)
{
	if (!x)
		return;
	vec_free(&x->row);
	u64map_free(&x->at);
	free(x->total);
	free(x);
}

static uint64_t hash_of(const struct row *r)
{
	return hash_pair(hash_pair((uintptr_t)r->function, (uintptr_t)r->file),
			 hash_pair((uint64_t)r->image << 32 | r->line, r->event));
}

static bool is_same(const struct row *a, const struct row *b)
{
	return a->function == b->function && a->file == b->file && a->image == b->image &&
	       a->line == b->line && a->event == b->event;
}

/* NULL: out of memory. */
static struct row *row_of(struct raw_lines *x, struct row r)
{
	uint64_t *at = u64map_at(&x->at, hash_of(&r), NULL);

	if (!at)
		return NULL;
	r.same = (uint32_t)*at - 1;
	for (uint32_t i = r.same; i != NOTHING; i = x->row.v[i].same)
		if (is_same(&x->row.v[i], &r))
			return &x->row.v[i];
	if (x->row.n >= NOTHING || vec_push(&x->row, r))
		return NULL;
	*at = x->row.n;
	return vec_last(&x->row);
}

static int take(struct raw *at, void *ctx, struct err *err)
{
	const struct cursor_row *c = cursor_now(at->walk[at->run]);
	uint64_t period = raw_period(at);
	struct raw_lines *x = ctx;
	struct name *name = NULL;
	struct row r = { .event = c->event, .image = IMAGE_NONE }, *to;

	if (c->ev->at.ip) {
		name = raw_name_at(at, space_kind_of_misc(c->r.misc), ld64(c->r.p + c->ev->at.ip),
				   err);
		if (!name || names_line(raw_of(at)->names, name, err))
			return -1;
		r.function = name->function;
		r.dso = name->dso;
		r.file = name->file;
		r.line = name->line;
		r.image = name->image;
	}
	to = row_of(x, r);
	if (!to)
		return err_nomem(err);
	to->samples++;
	to->period += period;
	x->total[c->event].period += (double)period;
	x->total[c->event].squares += (double)period * (double)period;
	return 0;
}

static int make(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);
	struct raw_lines *x = calloc(1, sizeof(*x));
	bool over;
	size_t n;

	(void)pd_events(of->r.rec, &n);
	if (x)
		x->total = calloc(n + 1, sizeof(*x->total));
	if (!x || !x->total) {
		raw_lines_free(x);
		return err_nomem(err);
	}
	if (raw_each_sample(c, take, x, &over, err)) {
		raw_lines_free(x);
		return -1;
	}
	if (over)
		raw_lines_free(x);
	else
		of->lines = x;
	return 0;
}

static int begin_lines(struct raw *c, struct err *err)
{
	if (!raw_of(c)->lines && make(c, err))
		return -1;
	c->i = 0;
	c->n = raw_of(c)->lines ? raw_of(c)->lines->row.n : 0;
	return 0;
}

static int line_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		      struct err *err)
{
	const struct raw_lines *x = raw_of(c)->lines;
	const struct row *r = &x->row.v[c->i - 1];
	const struct total *all = &x->total[r->event];
	const struct error_bar e = error_bar_share((double)r->period, all->period, all->squares);
	size_t n;

	(void)err;
	switch (col) {
	case C_lines_run:
		value_int(out, c->run + 1);
		break;
	case C_lines_event:
		value_text(out, pd_events(raw_of(c)->r.rec, &n)[r->event].name, true);
		break;
	case C_lines_file:
		value_text(out, r->file, true);
		break;
	case C_lines_line:
		if (r->line)
			value_int(out, r->line);
		break;
	case C_lines_function:
		value_text(out, r->function, true);
		break;
	case C_lines_dso:
		value_text(out, r->dso, true);
		break;
	case C_lines_samples:
		value_int(out, r->samples);
		break;
	case C_lines_period:
		value_int(out, r->period);
		break;
	case C_lines_share:
		value_real(out, e.share);
		break;
	default:
		value_real(out, isnan(e.share) ? NAN : e.half);
		break;
	}
	return 0;
}

const struct raw_kind raw_lines_rows = { begin_lines, raw_array_next, line_value };
