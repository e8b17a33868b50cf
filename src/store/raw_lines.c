/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples by source line, of all functions. Made by one pass over all samples when first asked for.
 * Rows are told apart by the texts of their names, of which there may be copies.
 */
#include <stdlib.h>

#include "analyse/error_bar.h"
#include "base/hash.h"
#include "store/raw_int.h"

#define NOTHING UINT32_MAX

struct row {
	uint32_t function, dso, file; /* numbers of texts; 0: none */
	uint32_t line, event;
	uint32_t same; /* the next one of the same hash */
	uint64_t samples, period;
};

struct total { /* of an event */
	double period, squares;
};

struct raw_lines {
	VEC(struct row) row;
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

static uint64_t hash_of(const struct row *r)
{
	return hash_pair((uint64_t)r->function << 32 | r->file,
			 hash_pair((uint64_t)r->dso << 32 | r->line, r->event));
}

static bool is_same(const struct row *a, const struct row *b)
{
	return a->function == b->function && a->file == b->file && a->dso == b->dso &&
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

/* The number of a text; STR_NONE: out of memory. */
static uint32_t text_of(struct raw_lines *x, const char *s)
{
	uint64_t *at;
	uint32_t id;

	if (!s)
		return 0;
	at = u64map_at(&x->text_at, (uintptr_t)s, NULL);
	if (!at)
		return STR_NONE;
	if (*at)
		return (uint32_t)*at - 1;
	id = strtab_adds(&x->text, s);
	*at = id == STR_NONE ? 0 : (uint64_t)id + 1;
	return id;
}

static int take(struct raw *at, void *ctx, struct err *err)
{
	const struct cursor_row *c = cursor_now(at->walk[at->run]);
	uint64_t period = raw_period(at);
	struct raw_lines *x = ctx;
	struct name *name = NULL;
	struct row r = { .event = c->event }, *to;

	if (c->ev->at.ip) {
		name = raw_name_at(at, space_kind_of_misc(c->r.misc), ld64(c->r.p + c->ev->at.ip),
				   err);
		if (!name || names_line(raw_of(at)->names, name, err))
			return -1;
		r.function = text_of(x, name->function);
		r.dso = text_of(x, name->dso);
		r.file = text_of(x, name->file);
		r.line = name->line;
		if (r.function == STR_NONE || r.dso == STR_NONE || r.file == STR_NONE)
			return err_nomem(err);
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
		x->text = (struct strtab)STRTAB_INIT;
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

static void put_text(const struct raw_lines *x, uint32_t id, struct raw_cell *out)
{
	if (id)
		value_text(out, strtab_get(&x->text, id), true);
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
		put_text(x, r->file, out);
		break;
	case C_lines_line:
		if (r->line)
			value_int(out, r->line);
		break;
	case C_lines_function:
		put_text(x, r->function, out);
		break;
	case C_lines_dso:
		put_text(x, r->dso, out);
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
