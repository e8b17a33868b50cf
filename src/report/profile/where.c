/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/where.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "base/text_short.h"

/* A function: the rows that share its name and file, whatever lines they tell apart. */
struct spot {
	const struct profile_row *row; /* the heaviest of them */
	uint64_t row_period;
	struct tally w;
};

struct spots {
	struct spot *v;
	size_t n;
	int sym, dso, line; /* where the keys stand; -1: not among them */
};

static int collect(struct spots *s, const struct profile *p, size_t event, struct err *err)
{
	struct u64map at = U64MAP_INIT;
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);

	s->v = calloc(n + 1, sizeof(*s->v));
	if (!s->v)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct tally *w = profile_tally(&r[i], event);
		uint64_t *slot, key;
		struct spot *spot;
		bool fresh;

		if (!w->samples)
			continue;
		key = r[i].key[s->sym] << 32 | (s->dso < 0 ? 0 : r[i].key[s->dso]);
		slot = u64map_at(&at, key, &fresh);
		if (!slot) {
			u64map_free(&at);
			return err_nomem(err);
		}
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
	return 0;
}

static int by_period(const void *va, const void *vb)
{
	const struct spot *a = va, *b = vb;

	if (a->w.period != b->w.period)
		return a->w.period < b->w.period ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static struct error_bar share_of(const struct tally *w, const struct tally *all)
{
	return error_bar_share((double)w->period, (double)all->period, all->period_sq);
}

static const char *key_text(const struct profile *p, const struct profile_row *r, int key)
{
	return key < 0 ? "" : profile_text(p, (uint32_t)r->key[key]);
}

static void set_row(struct where_row *out, const struct spots *s, const struct profile *p,
		    const struct spot *from)
{
	const char *line = key_text(p, from->row, s->line);

	*out = (struct where_row){ .sym = key_text(p, from->row, s->sym),
				   .dso = key_text(p, from->row, s->dso),
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
	int ret = -1;

	*out = (struct where){ .top = "" };
	if (s.sym < 0 || event >= n_events)
		return err_set(err, ERR_USAGE, "a profile without functions has no such table");
	if (collect(&s, p, event, err))
		goto out;
	qsort(s.v, s.n, sizeof(*s.v), by_period);
	/* a fold of one row would only hide its name */
	shown = limit && s.n > limit + 1 ? limit : s.n;
	row = arena_alloc(a, (shown + 1) * sizeof(*row));
	if (!row) {
		(void)err_nomem(err);
		goto out;
	}
	row[shown] = (struct where_row){ .sym = "", .dso = "" };
	for (size_t i = 0; i < s.n; i++) {
		if (i < shown) {
			set_row(&row[i], &s, p, &s.v[i]);
		} else {
			tally_add(&row[shown].w, &s.v[i].w);
			row[shown].folded++;
		}
		if (i < shown && !*out->top && s.v[i].row->symbol)
			out->top = row[i].sym;
	}
	out->sum = &sum[event];
	out->row = row;
	out->n = shown + (shown < s.n);
	for (size_t i = 0; i < out->n; i++)
		row[i].share = share_of(&row[i].w, &sum[event].selected);
	ret = 0;
out:
	free(s.v);
	return ret;
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

static void put_share(struct buf *b, const struct error_bar *e)
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

/* The name as the table shows it: safe. Valid until the next call. */
static const char *safe_name(struct buf *safe, const struct where_row *r, const struct style *st)
{
	buf_reset(safe);
	text_put_safe(safe, r->sym, st->ascii);
	return buf_str(safe);
}

static void settle_names(struct text_names *names, struct buf *safe, const struct where *w,
			 size_t width, const struct style *st)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->row[i].folded)
			text_names_add(names, safe_name(safe, &w->row[i], st), 0);
	text_names_settle(names, width, st->ascii);
}

void where_put(struct buf *out, const struct where *w, const struct style *st)
{
	struct text_names names = { .v = NULL };
	struct buf safe = BUF_INIT;
	size_t width = st->width && st->width < 100 ? st->width : 80;
	size_t place = width >= 70 ? 22 : 14, name = width > place + 30 ? width - place - 25 : 10;

	settle_names(&names, &safe, w, name, st);
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
			text_put_fit(out, text_names_get(&names, safe_name(&safe, r, st), 0), name,
				     TEXT_LEFT, false, st->ascii);
			buf_putc(out, ' ');
			put_fitted(out, r->srcline ? path_base(r->srcline) : r->dso, place, true,
				   st->ascii);
		}
		put_share(out, &r->share);
	}
	out->failed |= safe.failed;
	buf_free(&safe);
	text_names_free(&names, out);
}
