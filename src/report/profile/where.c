/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/where.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/runtimes.h"
#include "base/estimate.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "show/fold.h"
#include "base/xalloc.h"

/* A function: the rows of its name and file, of all lines. */
struct spot {
	const struct profile_row *row; /* the heaviest of them */
	uint64_t row_period;
	struct tally w;
};

struct spots {
	struct spot *v;
	size_t n;
	int sym, dso, line; /* indices of the keys; -1: not among them */
};

static void collect_where(struct spots *s, const struct profile *p, size_t event)
{
	struct u64map at = U64MAP_INIT;
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	s->v = xcalloc(n, sizeof(*s->v));
	for (size_t i = 0; i < n; i++) {
		const struct tally *w = profile_tally(&r[i], event);
		uint64_t *slot, key;
		struct spot *spot;
		bool fresh;

		if (!w->samples)
			continue;
		key = r[i].key[s->sym] << 32 | (s->dso < 0 ? 0 : r[i].key[s->dso]);
		slot = u64map_xat(&at, key, &fresh);
		if (fresh)
			*slot = s->n++;
		spot = &s->v[*slot];
		if (!spot->row || w->period > spot->row_period) {
			spot->row = &r[i];
			spot->row_period = w->period;
		}
		tally_add(&spot->w, w);
	}
	u64map_free(&at);
}

static int by_where_period(const void *va, const void *vb)
{
	const struct spot *a = va, *b = vb;

	if (a->w.period != b->w.period)
		return a->w.period < b->w.period ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static struct error_bar where_share_of(const struct tally *w, const struct tally *all)
{
	return error_bar_share((double)w->period, (double)all->period, all->period_sq);
}

static const char *where_key_text(const struct profile *p, const struct profile_row *r, int key)
{
	return key < 0 ? "" : profile_text(p, (uint32_t)r->key[key]);
}

static void set_row(struct where_row *out, const struct spots *s, const struct profile *p,
		    const struct spot *from)
{
	const char *line = where_key_text(p, from->row, s->line);

	*out = (struct where_row){ .sym = where_key_text(p, from->row, s->sym),
				   .dso = where_key_text(p, from->row, s->dso),
				   .srcline = *line && strncmp(line, "??", 2) ? line : NULL,
				   .named = from->row->symbol != NULL,
				   .w = from->w };
}

int where_make(struct where *out, struct arena *a, const struct profile *p, size_t event,
	       size_t limit, struct err *err)
{
	const struct profile_opts *o = profile_options(p);
	struct spots s = { .sym = profile_key_at(o, KEY_SYM),
			   .dso = profile_key_at(o, KEY_DSO),
			   .line = profile_key_at(o, KEY_SRCLINE) };
	size_t n_events;
	const struct profile_sum *sum = profile_sums(p, &n_events);
	struct where_row *row;
	size_t shown;

	*out = (struct where){ .top = "" };
	if (s.sym < 0 || event >= n_events)
		return err_set(err, ERR_USAGE, "a profile without functions has no such table");
	collect_where(&s, p, event);
	qsort(s.v, s.n, sizeof(*s.v), by_where_period);
	/* a fold of one row would only hide its name */
	shown = limit && s.n > limit + 1 ? limit : s.n;
	row = arena_xalloc(a, (shown + 1) * sizeof(*row));
	row[shown] = (struct where_row){ .sym = "", .dso = "" };
	for (size_t i = 0; i < s.n; i++) {
		if (i < shown) {
			set_row(&row[i], &s, p, &s.v[i]);
		} else {
			tally_add(&row[shown].w, &s.v[i].w);
			row[shown].folded++;
		}
		if (i < shown && !*out->top && s.v[i].row->symbol &&
		    profile_image_is_code(p, s.v[i].row->image))
			out->top = row[i].sym;
	}
	out->sum = &sum[event];
	out->row = row;
	out->n = shown + (shown < s.n);
	for (size_t i = 0; i < out->n; i++)
		row[i].share = where_share_of(&row[i].w, &sum[event].selected);
	free(s.v);
	return 0;
}

/* ---- several recordings ------------------------------------------------------------------ */

void where_runs_open(struct where_runs *r, struct arena *a, size_t most)
{
	*r = (struct where_runs){ .a = a, .most = most, .keys = STRTAB_INIT };
	r->whole = arena_xalloc(a, (most + 1) * sizeof(*r->whole));
}

void where_runs_free(struct where_runs *r)
{
	strtab_free(&r->keys);
	vec_free(&r->spot);
}

/* ---- a run ------------------------------------------------------------------------------ */

static struct where_spot *where_spot_of(struct where_runs *r, const struct where_row *row)
{
	struct where_spot *spot;
	struct buf b = BUF_INIT;
	uint32_t id;

	buf_printf(&b, "%zu:%s%s", strlen(row->sym), row->sym, row->dso);
	id = strtab_xadds(&r->keys, buf_str(&b));
	buf_free(&b);
	if (id <= r->spot.n)
		return &r->spot.v[id - 1];
	spot = vec_xadd(&r->spot);
	*spot = (struct where_spot){
		.row = { .named = row->named,
			 .sym = arena_xstrdup(r->a, row->sym),
			 .dso = arena_xstrdup(r->a, row->dso) },
		.period = arena_xalloc(r->a, r->most * sizeof(*spot->period)),
		.samples = arena_xalloc(r->a, r->most * sizeof(*spot->samples)),
	};
	return spot;
}

static void add_function(struct where_runs *r, const struct where_row *row)
{
	struct where_spot *spot = where_spot_of(r, row);

	spot->period[r->n] += (double)row->w.period;
	spot->samples[r->n] += row->w.samples;
	tally_add(&spot->row.w, &row->w);
	if (row->srcline && row->w.period > spot->line_period) {
		spot->line_period = row->w.period;
		spot->row.srcline = arena_xstrdup(r->a, row->srcline);
	}
}

static void add_runs_sum(struct profile_sum *to, const struct profile_sum *more)
{
	tally_add(&to->selected, &more->selected);
	tally_add(&to->left_out, &more->left_out);
	tally_add(&to->no_map, &more->no_map);
	tally_add(&to->no_symbol, &more->no_symbol);
	tally_add(&to->nameless, &more->nameless);
	to->bad += more->bad;
}

int where_runs_add(struct where_runs *r, const struct where *w, struct err *err)
{
	if (r->n == r->most)
		return err_set(err, ERR_USAGE, "more than %zu runs", r->most);
	for (size_t i = 0; i < w->n; i++)
		add_function(r, &w->row[i]);
	r->whole[r->n++] = (double)w->sum->selected.period;
	add_runs_sum(&r->sum, w->sum);
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------ */

/* Returns half of the 95 % interval of the parts' sum as a share of the wholes', from the spread of
 * the runs (a ratio estimate); NAN: there is none. */
static double runs_spread_of(const double *part, const double *whole, size_t runs)
{
	double p = 0, w = 0, squares = 0, n = 0;

	for (size_t i = 0; i < runs; i++) {
		p += part[i];
		w += whole[i];
		n += whole[i] > 0;
	}
	if (n < 2)
		return NAN;
	for (size_t i = 0; i < runs; i++) {
		double off = part[i] - p / w * whole[i];

		squares += off * off;
	}
	return t95((size_t)n - 1) * sqrt(squares * n / (n - 1)) / w;
}

static void set_share(struct where_spot *s, const struct where_runs *r)
{
	const struct tally *all = &r->sum.selected;
	struct error_bar e =
		error_bar_share((double)s->row.w.period, (double)all->period, all->period_sq);
	double half = runs_spread_of(s->period, r->whole, r->n);

	if (half > e.half) {
		e.half = half;
		e.low = fmax(0, e.share - half);
		e.high = fmin(1, e.share + half);
	}
	s->row.share = e;
}

static int by_runs_period(const void *va, const void *vb)
{
	const struct where_spot *a = va, *b = vb;
	int c = (a->row.w.period < b->row.w.period) - (a->row.w.period > b->row.w.period);

	c = c ? c : strcmp(a->row.sym, b->row.sym);
	return c ? c : strcmp(a->row.dso, b->row.dso);
}

/* Folds the rows from `from` on into one row without a name. */
static struct where_row fold_spots(struct where_runs *r, size_t from)
{
	struct where_spot all = { .row = { .sym = "", .dso = "", .folded = r->spot.n - from },
				  .period = arena_xalloc(r->a, r->most * sizeof(*all.period)) };

	for (size_t i = from; i < r->spot.n; i++) {
		tally_add(&all.row.w, &r->spot.v[i].row.w);
		for (size_t k = 0; k < r->n; k++)
			all.period[k] += r->spot.v[i].period[k];
	}
	set_share(&all, r);
	return all.row;
}

void where_runs_make(struct where *out, struct where_runs *r, size_t limit)
{
	/* a fold of one row would only hide its name */
	size_t shown = limit && r->spot.n > limit + 1 ? limit : r->spot.n;
	struct where_row *row = arena_xalloc(r->a, (shown + 1) * sizeof(*row));

	*out = (struct where){ .sum = &r->sum, .row = row, .top = "" };
	vec_sort(&r->spot, by_runs_period);
	for (size_t i = 0; i < shown; i++) {
		set_share(&r->spot.v[i], r);
		row[i] = r->spot.v[i].row;
		if (!*out->top && row[i].named)
			out->top = row[i].sym;
	}
	out->n = shown + (shown < r->spot.n);
	if (out->n > shown)
		row[shown] = fold_spots(r, shown);
}

/* ---- for people ------------------------------------------------------------------------- */

static void put_fitted(struct buf *b, const char *name, size_t width, bool keep_end, bool ascii)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, name, ascii);
	text_put_fit(b, buf_str(&safe), width, TEXT_LEFT, keep_end, ascii);
	b->failed |= safe.failed;
	buf_free(&safe);
}

static void put_where_share(struct buf *b, const struct error_bar *e)
{
	char share[NUM_MAX], half[NUM_MAX];

	if (isnan(e->share))
		(void)snprintf(half, sizeof(half), "+-?");
	else if (e->half < 0.0005)
		(void)snprintf(half, sizeof(half), "+-<0.1");
	else
		(void)snprintf(half, sizeof(half), "+-%.1f", e->half * 100);
	buf_printf(b, "  %7s  %s\n", num_percent(share, e->share), half);
}

/* Returns the name as the table shows it: safe. Valid until the next call. */
static const char *safe_where_name(struct buf *safe, const struct where_row *r,
				   const struct style *st)
{
	buf_reset(safe);
	text_put_safe(safe, r->sym, st->ascii);
	return buf_str(safe);
}

/* Returns the width of the names: `least`, or up to `most` if they are longer. */
static size_t settle_where_names(struct folds *names, struct buf *safe, const struct where *w,
				 size_t least, size_t most, const struct style *st)
{
	size_t width = least;

	for (size_t i = 0; i < w->n; i++) {
		const char *name = safe_where_name(safe, &w->row[i], st);

		if (w->row[i].folded)
			continue;
		folds_add(names, name, 0);
		width = text_width(name) > width ? text_width(name) : width;
	}
	width = width < most ? width : most;
	folds_settle(names, width, st->ascii);
	return width;
}

void where_put(struct buf *out, const struct where *w, const struct style *st)
{
	struct folds names = { .v = NULL };
	struct buf safe = BUF_INIT;
	size_t width = st->width ? st->width : 80;
	size_t place = width >= 120 ? 32 : width >= 70 ? 22 : 14;
	size_t name = width > place + 30 ? width - place - 25 : 10;

	name = settle_where_names(&names, &safe, w, name < 33 ? name : 33, name, st);
	style_ink(out, st, INK_BOLD);
	buf_printf(out, " %-*s%*s", (int)(name + place + 1), "where", 9, "share");
	style_ink(out, st, INK_PLAIN);
	buf_putc(out, '\n');
	for (size_t i = 0; i < w->n; i++) {
		const struct where_row *r = &w->row[i];
		char n[NUM_MAX], line[64];

		buf_putc(out, ' ');
		if (r->folded) {
			(void)snprintf(line, sizeof(line), "(%s more functions)",
				       num_exact(n, r->folded));
			put_fitted(out, line, name + 1 + place, false, st->ascii);
		} else { /* "join.c:214", else the file that holds the code */
			text_put_fit(out, folds_get(&names, safe_where_name(&safe, r, st), 0), name,
				     TEXT_LEFT, false, st->ascii);
			buf_putc(out, ' ');
			put_fitted(out, r->srcline ? path_base(r->srcline) : r->dso, place, true,
				   st->ascii);
		}
		put_where_share(out, &r->share);
	}
	out->failed |= safe.failed;
	buf_free(&safe);
	folds_free(&names, out);
}
