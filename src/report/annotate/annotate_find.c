/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_find - from the word a person typed to the function it means.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"
#include "symbol/named.h"

const enum profile_key annotate_keys[ANNOTATE_KEYS] = { KEY_DSO, KEY_SYM, KEY_ADDR };

static int by_symbol(const void *a, const void *b)
{
	const struct annotate_target *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->symbol->start != y->symbol->start)
		return x->symbol->start < y->symbol->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int target_by_weight(const void *a, const void *b)
{
	const struct annotate_target *x = a, *y = b;

	if (x->total.period != y->total.period)
		return x->total.period > y->total.period ? -1 : 1;
	if (x->total.samples != y->total.samples)
		return x->total.samples > y->total.samples ? -1 : 1;
	return by_symbol(a, b);
}

void annotate_targets(struct annotate_targets *out, const struct profile *p, size_t event)
{
	const struct strtab *str = profile_strings(p);
	size_t n, kept = 0;
	const struct profile_row *row = profile_rows(p, &n);

	for (size_t i = 0; i < n; i++) {
		struct annotate_target t = { row[i].image, row[i].symbol, NULL, NULL,
					     *profile_tally(&row[i], event) };

		if (!t.symbol || t.image == IMAGE_NONE || !t.total.samples)
			continue;
		t.dso = strtab_get(str, (uint32_t)row[i].key[0]);
		t.name = strtab_get(str, (uint32_t)row[i].key[1]);
		vec_xpush(&out->v, t);
	}
	vec_sort(&out->v, by_symbol);
	for (size_t i = 0; i < out->v.n; i++) {
		struct annotate_target *last = kept ? &out->v.v[kept - 1] : NULL;

		if (last && last->symbol == out->v.v[i].symbol)
			tally_add(&last->total, &out->v.v[i].total);
		else
			out->v.v[kept++] = out->v.v[i];
	}
	out->v.n = kept;
	vec_sort(&out->v, target_by_weight);
	assert(pairs_hold(out->v.n, i, target_by_weight(&out->v.v[i], &out->v.v[i + 1]) <= 0));
}

static int not_found(const struct annotate_targets *all, const char *name, struct err *err)
{
	const char **words = xcalloc(all->v.n + 1, sizeof(*words));

	for (size_t i = 0; i < all->v.n; i++)
		words[i] = all->v.v[i].name;
	(void)err_set(err, ERR_NOT_FOUND, "no function with samples is called '%.200s'", name);
	if (all->v.n)
		(void)text_suggest(err, name, words,
				   "the hottest is '%.120s'; cyclade report lists all", words[0]);
	else
		(void)err_hint(err, "no sample has a symbol at all: cyclade report says why");
	free(words);
	return -1;
}

int annotate_find(struct annotate_targets *out, const struct annotate_targets *all,
		  const char *name, struct err *err)
{
	for (enum symbol_way way = 0; way < SYMBOL_WAYS && !out->v.n && *name; way++)
		vec_each (&all->v, const struct annotate_target *, t)
			if (symbol_means(t->symbol, t->dso, name, way))
				vec_xpush(&out->v, *t);
	return out->v.n ? 0 : not_found(all, name, err);
}

void annotate_targets_free(struct annotate_targets *t)
{
	vec_free(&t->v);
}
