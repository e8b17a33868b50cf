/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a file on both sides: those of its symbols, with the samples that they have.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_match_int.h"
#include "symbol/source.h"

static int matched_by_name(const void *a, const void *b)
{
	const struct match_func *p = a, *q = b;
	int c = strcmp(p->name, q->name);

	return c ? c : (p->symbol > q->symbol) - (p->symbol < q->symbol);
}

struct match_func *match_named(const struct match_file *file, const char *name)
{
	const struct match_func key = { .name = name };
	size_t low = 0, high = file->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(file->f[mid].name, key.name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < file->n && !strcmp(file->f[low].name, name) ? &file->f[low] : NULL;
}

bool match_alone(const struct match_func *f)
{
	return f->samples > 0 && !f->match && !(f->twin && f->twin->samples > 0);
}

/* ---- symbols --------------------------------------------------------------------------------- */

typedef VEC(struct match_func) match_funcs;

static void add_matched_image(match_funcs *out, struct images *set, uint32_t image)
{
	size_t n;
	const struct symbol *s = image_symbols(set, image, &n);

	for (size_t i = 0; i < n; i++) {
		struct match_func f = { .name = s[i].name, .symbol = &s[i], .image = image };

		vec_xpush(out, f);
	}
}

/* Images of a name; a saved result has none. */
static uint32_t next_image(const struct images *set, const char *dso, uint32_t after)
{
	return set ? image_named(set, dso, after) : IMAGE_NONE;
}

static size_t build_of(const struct diff_side *s, const char *dso, const uint8_t **id)
{
	for (size_t r = 0; r < s->n; r++) {
		struct images *set = s->run[r].images;

		for (uint32_t i = next_image(set, dso, IMAGE_NONE); i != IMAGE_NONE;
		     i = next_image(set, dso, i)) {
			size_t n = image_build_id(set, i, id);

			if (n)
				return n;
		}
	}
	return 0;
}

enum diff_builds diff_builds(const struct diff_side *a, const char *dso_a,
			     const struct diff_side *b, const char *dso_b)
{
	const uint8_t *id_a, *id_b;
	size_t n_a = build_of(a, dso_a, &id_a), n_b = build_of(b, dso_b, &id_b);

	if (!n_a || !n_b)
		return DIFF_BUILDS_UNKNOWN;
	return n_a == n_b && !memcmp(id_a, id_b, n_a) ? DIFF_BUILDS_SAME : DIFF_BUILDS_DIFFER;
}

void match_open_file(struct match_file *file, const struct diff_side *s, const char *dso)
{
	match_funcs all = VEC_INIT;

	for (size_t r = 0; !all.n && r < s->n; r++) {
		struct images *set = s->run[r].images;

		file->images = set;
		for (uint32_t i = next_image(set, dso, IMAGE_NONE); i != IMAGE_NONE;
		     i = next_image(set, dso, i))
			if (image_key(set, i)->kind == IMAGE_FILE)
				add_matched_image(&all, set, i);
	}
	vec_sort(&all, matched_by_name);
	file->f = all.v;
	file->n = all.n;
	file->known = all.n > 0;
}

const struct symbol *diff_symbol(const struct diff_run *r, const char *dso, const char *function,
				 uint32_t *image)
{
	const struct symbol *s;
	size_t n;

	for (uint32_t i = next_image(r->images, dso, IMAGE_NONE); i != IMAGE_NONE;
	     i = next_image(r->images, dso, i)) {
		s = image_symbols(r->images, i, &n);
		*image = i;
		for (size_t k = 0; k < n; k++)
			if (!strcmp(s[k].name, function))
				return &s[k];
	}
	return NULL;
}

static bool matched_is_mine(const struct matching *m, const struct diff_item *it)
{
	return it->side == m->side && it->key[1] && it->key[2] && !strcmp(it->key[1], m->dso);
}

double diff_samples(const struct diff *x, const struct diff_item *it, int s)
{
	size_t n_base = x->side[0].n, n = s == BASE ? n_base : x->side[it->side].n;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += it->run[(s == BASE ? 0 : n_base) + i].samples;
	return sum;
}

/* Names that no symbol has: their samples count, too. */
static void add_nameless(struct matching *m, int s)
{
	const diff_items *rows = &m->x->table[DIFF_ROWS];
	struct match_file *file = &m->of[s];
	struct match_func *all;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		n += matched_is_mine(m, &rows->v[i]);
	if (!n)
		return;
	/* may be most of the comparison's memory: it grows once, by no more than that */
	file->f = xreallocarray(file->f, file->n + n, sizeof(*all));
	all = file->f + file->n;
	n = 0;
	for (size_t i = 0; i < rows->n; i++)
		if (matched_is_mine(m, &rows->v[i]) && diff_samples(m->x, &rows->v[i], s) > 0 &&
		    !match_named(file, rows->v[i].key[2]))
			all[n++] = (struct match_func){ .name = rows->v[i].key[2] };
	file->n += n;
	if (n)
		qsort(file->f, file->n, sizeof(*file->f), matched_by_name);
}

static void add_matched_samples(struct matching *m, int s)
{
	const diff_items *rows = &m->x->table[DIFF_ROWS];

	add_nameless(m, s);
	for (size_t i = 0; i < rows->n; i++) {
		struct match_func *f = matched_is_mine(m, &rows->v[i])
					       ? match_named(&m->of[s], rows->v[i].key[2])
					       : NULL;

		if (f)
			f->samples += diff_samples(m->x, &rows->v[i], s);
	}
}

/* Functions without a name are named by their file: by the one that rows have. */
static void rename_nameless(struct matching *m, const char *was)
{
	struct match_file *file = &m->of[BASE];
	size_t n = strlen(was);

	for (size_t i = 0; i < file->n; i++) {
		struct match_func *f = &file->f[i];

		if (strncmp(f->name, was, n) != 0 || f->name[n] != '+')
			continue;
		f->name = arena_xprintf(&m->x->a, "%s%s", m->dso, f->name + n);
	}
	if (file->n)
		qsort(file->f, file->n, sizeof(*file->f), matched_by_name);
}

void match_open(struct matching *m, struct diff *x, size_t side, const char *dso)
{
	const char *name[BOTH] = { diff_file_base(x, side, dso), dso };
	bool differ =
		diff_builds(&x->side[0], name[BASE], &x->side[side], dso) == DIFF_BUILDS_DIFFER;

	*m = (struct matching){ .x = x, .side = side, .dso = dso };
	for (int s = 0; s < BOTH; s++) {
		match_open_file(&m->of[s], &x->side[s == BASE ? 0 : side], name[s]);
		if (s == BASE && name[s] != dso)
			rename_nameless(m, name[s]);
		add_matched_samples(m, s);
	}
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++) {
			struct match_func *f = &m->of[s].f[i];

			if (!differ || !f->symbol || !f->symbol->nameless)
				f->twin = match_named(&m->of[!s], f->name);
		}
}

void match_close(struct matching *m)
{
	for (int s = 0; s < BOTH; s++)
		free(m->of[s].f);
}

/* ---- code ------------------------------------------------------------------------------------ */

const struct shape *match_shape(struct matching *m, int s, struct match_func *f)
{
	if (f->shape)
		return f->shape;
	f->shape = arena_xalloc(&m->x->a, sizeof(*f->shape));
	if (!f->symbol || m->n_shapes++ >= MOST_SHAPES)
		return f->shape;
	shape_read(f->shape, &m->x->a, m->of[s].images, f->image, f->symbol);
	return f->shape;
}

enum { DEEPEST_INLINE = 32, STEP = 4, MOST_LOOKUPS = 4096 };

typedef VEC(const char *) names;

static void add_matched_name(names *to, const char *name)
{
	vec_each (to, const char **, had)
		if (!strcmp(*had, name))
			return;
	vec_xpush(to, name);
}

/* By a look-up for each few bytes: an inlined call of interest is longer. */
static void find_inlined(struct matching *m, int s, struct match_func *f)
{
	struct source_inline in[DEEPEST_INLINE];
	struct images *set = m->of[s].images;
	const struct source *src;
	uint64_t from, size = f->symbol->size, step = size / MOST_LOOKUPS;
	names all = VEC_INIT;

	f->inlined = arena_xalloc(&m->x->a, sizeof(*f->inlined));
	src = source_of(set, f->image, NULL);
	if (!src || !image_to_vaddr(set, f->image, f->symbol->start, &from))
		return;
	for (uint64_t at = 0; at<size; at += step> STEP ? step : STEP) {
		size_t n = source_inline_names(src, from + at, in, DEEPEST_INLINE);

		for (size_t i = 0; i < n; i++)
			add_matched_name(&all, in[i].name);
	}
	if (all.n) {
		f->inlined = arena_xmemdup(&m->x->a, all.v, all.n * sizeof(*all.v));
		f->n_inlined = all.n;
	}
	vec_free(&all);
}

bool match_inlines(struct matching *m, int s, struct match_func *f,
		   const struct match_func *inlined)
{
	size_t len = inlined->symbol ? symbol_plain_len(inlined->symbol) : strlen(inlined->name);

	if (!f->symbol)
		return false;
	if (!f->inlined)
		find_inlined(m, s, f);
	for (size_t i = 0; i < f->n_inlined; i++)
		if (strlen(f->inlined[i]) == len && !memcmp(f->inlined[i], inlined->name, len))
			return true;
	return false;
}

/* ---- matches --------------------------------------------------------------------------------- */

struct diff_match *match_new(struct matching *m, enum diff_match_kind kind, bool certain)
{
	struct diff_match *match = arena_xalloc(&m->x->a, sizeof(*match));

	*match = (struct diff_match){
		.kind = kind, .side = m->side, .certain = certain, .dso = m->dso, .alike = NAN
	};
	vec_xpush(&m->x->match, match);
	return match;
}

void match_add(struct matching *m, struct diff_match *to, int s, struct match_func *f)
{
	const char **more;

	for (size_t i = 0; i < to->n[s]; i++)
		if (!strcmp(to->of[s][i], f->name))
			return;
	more = arena_xalloc(&m->x->a, (to->n[s] + 1) * sizeof(*more));
	for (size_t i = 0; i < to->n[s]; i++)
		more[i] = to->of[s][i];
	more[to->n[s]++] = f->name;
	to->of[s] = more;
	f->match = to;
}

void match_absorb(struct matching *m, struct diff_match *to, struct diff_match *from)
{
	for (int s = 0; s < BOTH; s++)
		for (size_t i = 0; i < m->of[s].n; i++)
			if (m->of[s].f[i].match == from)
				match_add(m, to, s, &m->of[s].f[i]);
	from->n[BASE] = from->n[NEW] = 0;
}
