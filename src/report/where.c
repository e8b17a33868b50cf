/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/where.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"

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

static int find_key(const struct profile *p, enum profile_key key)
{
	const struct profile_opts *o = profile_options(p);

	for (size_t i = 0; i < o->n_keys; i++)
		if (o->key[i] == key)
			return (int)i;
	return -1;
}

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
		spot->w.samples += w->samples;
		spot->w.period += w->period;
		spot->w.period_sq += w->period_sq;
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

/* "join.c:214", else the file that holds the code. */
static const char *place_of(const struct spots *s, const struct profile *p,
			    const struct profile_row *r)
{
	const struct strtab *names = profile_strings(p);
	const char *line = s->line < 0 ? "" : strtab_get(names, (uint32_t)r->key[s->line]);

	if (*line && strncmp(line, "??", 2))
		return path_base(line);
	return s->dso < 0 ? "" : strtab_get(names, (uint32_t)r->key[s->dso]);
}

static void put_fitted(struct buf *b, const char *name, size_t width, bool keep_end, bool ascii)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, name, ascii);
	text_put_fit(b, buf_str(&safe), width, TEXT_LEFT, keep_end, ascii);
	b->failed |= safe.failed;
	buf_free(&safe);
}

static void put_share(struct buf *b, const struct tally *w, const struct tally *all)
{
	struct error_bar e =
		error_bar_share((double)w->period, (double)all->period, all->period_sq);
	char share[NUM_MAX], half[NUM_MAX];

	if (isnan(e.share))
		(void)snprintf(half, sizeof(half), "+-?");
	else if (e.half < 0.0005)
		(void)snprintf(half, sizeof(half), "+-<0.1");
	else
		(void)snprintf(half, sizeof(half), "+-%.1f", e.half * 100);
	buf_printf(b, "  %7s  %s\n", num_percent(share, e.share), half);
}

int where_print(struct buf *out, const struct profile *p, size_t event, size_t limit,
		const struct style *st, const char **top, struct err *err)
{
	struct spots s = { .sym = find_key(p, KEY_SYM),
			   .dso = find_key(p, KEY_DSO),
			   .line = find_key(p, KEY_SRCLINE) };
	size_t n_events, width = st->width && st->width < 100 ? st->width : 80;
	const struct profile_sum *sum = profile_sums(p, &n_events);
	size_t place = width >= 70 ? 22 : 14, name = width > place + 30 ? width - place - 25 : 10;
	struct tally rest = { 0 };
	size_t shown;
	int ret = -1;

	if (top)
		*top = "";
	if (s.sym < 0 || event >= n_events)
		return err_set(err, ERR_USAGE, "a profile without functions has no such table");
	if (collect(&s, p, event, err))
		goto out;
	qsort(s.v, s.n, sizeof(*s.v), by_period);
	shown = s.n > limit + 1 ? limit : s.n; /* a fold of one row would only hide its name */
	style_ink(out, st, INK_BOLD);
	buf_printf(out, " %-*s%*s", (int)(name + place + 1), "where", 9, "share");
	style_ink(out, st, INK_PLAIN);
	buf_putc(out, '\n');
	for (size_t i = 0; i < s.n; i++) {
		const char *f = strtab_get(profile_strings(p), (uint32_t)s.v[i].row->key[s.sym]);

		if (i >= shown) {
			rest.samples += s.v[i].w.samples;
			rest.period += s.v[i].w.period;
			rest.period_sq += s.v[i].w.period_sq;
			continue;
		}
		if (top && !**top && s.v[i].row->symbol)
			*top = f;
		buf_putc(out, ' ');
		put_fitted(out, f, name, false, st->ascii);
		buf_putc(out, ' ');
		put_fitted(out, place_of(&s, p, s.v[i].row), place, true, st->ascii);
		put_share(out, &s.v[i].w, &sum[event].selected);
	}
	if (shown < s.n) {
		char n[NUM_MAX], line[64];

		(void)snprintf(line, sizeof(line), "(%s more functions)",
			       num_exact(n, s.n - shown));
		buf_putc(out, ' ');
		put_fitted(out, line, name + 1 + place, false, st->ascii);
		put_share(out, &rest, &sum[event].selected);
	}
	ret = out->failed ? err_nomem(err) : 0;
out:
	free(s.v);
	return ret;
}
