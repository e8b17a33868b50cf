/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/demangle.h"
#include "symbol/elf/elf_symbols.h"

/* How far back a symbol is searched that lies around others (a function with a labelled loop in
 * it). A bound, so that a hostile table does not make each search a walk through all of it. */
#define NEST_MAX 64u

/* 11 bits at a time, and only over those that differ: 3 passes for most files; qsort would need 18
 * rounds of comparing. */
static void sort_by_start(struct raw_sym **v, size_t n)
{
	struct raw_sym *from = *v, *to;
	uint64_t all_or = 0, all_and = UINT64_MAX;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		all_or |= from[i].start;
		all_and &= from[i].start;
		sorted &= !i || from[i - 1].start <= from[i].start;
	}
	if (sorted)
		return;
	to = xreallocarray(NULL, n, sizeof(*to));
	for (unsigned shift = 0; shift < 64; shift += 11) {
		size_t at[2048] = { 0 }, sum = 0;
		struct raw_sym *other;

		if (!((all_or ^ all_and) >> shift & 2047))
			continue;
		for (size_t i = 0; i < n; i++)
			at[from[i].start >> shift & 2047]++;
		for (size_t d = 0; d < 2048; d++) {
			size_t count = at[d];

			at[d] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			to[at[from[i].start >> shift & 2047]++] = from[i];
		other = from;
		from = to;
		to = other;
	}
	*v = from;
	free(to);
}

static size_t underscores(const char *s)
{
	size_t n = 0;

	while (s[n] == '_')
		n++;
	return n;
}

/* _ZN1AC1Ev and _ZN1AC2Ev: the same once demangled, so there is nothing to compare. 1 (complete)
 * comes before 2. */
static bool same_structor(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9' && !strcmp(a + 1, b + 1);
}

static int cmp_size(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Of two versions of one name: positive if a is the default ("name@@VERSION"), negative if b is. */
static int by_version(const char *a, const char *b)
{
	size_t n = strcspn(a, "@");

	if (!a[n] || strncmp(a, b, n + 1) != 0)
		return 0;
	return (a[n + 1] == '@') - (b[n + 1] == '@');
}

/* Positive if the file's facts prefer a, negative if b; 0: nothing does. */
static int by_facts(const struct raw_sym *a, const struct raw_sym *b)
{
	int c = (a->size > 0) - (b->size > 0);

	if (!c)
		c = b->sizeless - a->sizeless;
	if (!c)
		c = (int)a->kind - (int)b->kind;
	if (!c)
		c = (b->bind == RAW_WEAK) - (a->bind == RAW_WEAK);
	if (!c)
		c = (a->bind == RAW_GLOBAL) - (b->bind == RAW_GLOBAL);
	return c ? c : cmp_size(a->size, b->size);
}

static bool is_better_symbol(const struct raw_sym *b, const struct raw_sym *a, bool raw)
{
	struct arena scratch = ARENA_INIT;
	const char *na = a->name, *nb = b->name;
	int c = by_facts(a, b);

	if (!c)
		c = by_version(na, nb);
	if (!c && (raw || na[0] != '_' || nb[0] != '_' || !same_structor(na, nb))) {
		na = raw ? na : demangle(&scratch, na);
		nb = raw ? nb : demangle(&scratch, nb);
		c = cmp_size(underscores(nb), underscores(na));
		if (!c)
			c = cmp_size(strlen(na), strlen(nb));
	}
	if (!c) /* never by their order in the file, which linkers change */
		c = strcmp(b->name, a->name);
	arena_free(&scratch);
	return c < 0;
}

/* A symbol without a size that lies in one with a size, or begins with it, is a label in it: the
 * instruction after the label is the function's, and not a function of its own. */
static size_t drop_labels(struct raw_sym *v, size_t n)
{
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0, end = 0; i < n; i = end) {
		for (; end < n && v[end].start == v[i].start; end++) {
			uint64_t reach = v[end].start + v[end].size;

			if (reach < v[end].start)
				reach = UINT64_MAX;
			if (!v[end].sizeless && reach > covered)
				covered = reach;
		}
		for (; i < end; i++) {
			if (!v[i].sizeless || v[i].start >= covered)
				v[kept++] = v[i];
		}
	}
	return kept;
}

/* A symbol without a size reaches to the next one that begins elsewhere. */
static void fill_sizes(struct raw_sym *v, size_t n)
{
	uint64_t next = UINT64_MAX; /* from the last to the first: where the one behind begins */

	for (size_t i = n; i--;) {
		if (i + 1 < n && v[i + 1].start != v[i].start)
			next = v[i + 1].start;
		if (v[i].sizeless && next != UINT64_MAX && v[i].size > next - v[i].start)
			v[i].size = next - v[i].start;
		else if (v[i].sizeless && v[i].size == UINT64_MAX)
			v[i].size = 4096; /* the last of all, of no section */
		if (v[i].size > UINT64_MAX - v[i].start)
			v[i].size = UINT64_MAX - v[i].start;
	}
}

static void keep_one_a_start(struct sym_list *l, bool raw)
{
	struct raw_sym *v = l->raw.v;
	size_t n = 0;

	for (size_t i = 0; i < l->raw.n; i++)
		if (!n || v[n - 1].start != v[i].start)
			v[n++] = v[i];
		else if (is_better_symbol(&v[i], &v[n - 1], raw))
			v[n - 1] = v[i];
	l->raw.n = n;
}

static void put_symbol(struct sym_table *t, const char *linkage, uint64_t start, uint64_t size)
{
	struct symbol *s = &t->sym[t->n];

	*s = (struct symbol){ .linkage = linkage,
			      .start = start,
			      .size = size,
			      .index = (uint32_t)t->n,
			      .nameless = !linkage };
	t->n++;
}

/* Symbols and, between them, bounds that begin in none of them: both are sorted. */
static void merge_bounds(struct sym_table *t, const struct sym_list *l)
{
	const struct raw_sym *s = l->raw.v, *end = l->raw.n ? s + l->raw.n : s;
	uint64_t covered = 0;

	vec_each (&l->bounds, const struct raw_bounds *, b) {
		for (; s < end && s->start <= b->start; s++) {
			put_symbol(t, s->name, s->start, s->size);
			if (s->start + s->size > covered)
				covered = s->start + s->size;
		}
		if (b->start >= covered && (!t->n || t->sym[t->n - 1].start < b->start))
			put_symbol(t, NULL, b->start, b->size);
	}
	for (; s < end; s++)
		put_symbol(t, s->name, s->start, s->size);
}

/* Marks the symbols that share their linkage names. Trampolines do by their nature. */
static void mark_twins(struct sym_table *t)
{
	/* of the hash: names are compared if it is equal */
	const uint64_t tag = (uint64_t)UINT32_MAX << 32;
	size_t cap = 64;
	uint64_t *slot; /* of the first of each name: its index + 1, and the tag */

	while (cap < t->n * 2)
		cap *= 2;
	slot = xcalloc(cap, sizeof(*slot));
	for (size_t i = 0; i < t->n; i++) {
		struct symbol *s = &t->sym[i], *first = NULL;
		size_t len = s->nameless ? 0 : strlen(s->linkage), at;
		uint64_t hash;

		if (s->nameless || (len > 4 && !memcmp(s->linkage + len - 4, "@plt", 4)))
			continue;
		hash = hash_bytes(s->linkage, len);
		at = (size_t)hash & (cap - 1);
		for (; slot[at] && !first; at = (at + 1) & (cap - 1)) {
			if ((slot[at] ^ hash) & tag)
				continue;
			first = &t->sym[(uint32_t)slot[at] - 1];
			if (strcmp(first->linkage, s->linkage) != 0)
				first = NULL;
		}
		if (first)
			first->twin = s->twin = true;
		else
			slot[at] = (hash & tag) | (uint32_t)(i + 1);
	}
	free(slot);
}

void sym_table_make(struct sym_table *t, struct sym_list *l, bool raw)
{
	size_t n = l->raw.n;

	t->sym = NULL;
	t->n = 0;
	if (n)
		sort_by_start(&l->raw.v, n);
	l->raw.cap = n; /* sorting may have put a smaller array in its place */
	n = l->raw.n = drop_labels(l->raw.v, n);
	fill_sizes(l->raw.v, n);
	keep_one_a_start(l, raw);
	n = l->raw.n + l->bounds.n;
	if (!n)
		return;
	t->sym = big_alloc(n, sizeof(*t->sym));
	if (!t->sym)
		nomem_die();
	merge_bounds(t, l);
	assert(pairs_hold(t->n, i, t->sym[i].start <= t->sym[i + 1].start));
	mark_twins(t);
}

void sym_table_free(struct sym_table *t)
{
	free(t->sym);
	t->sym = NULL;
	t->n = 0;
}

struct symbol *sym_table_find(const struct sym_table *t, uint64_t addr, size_t *hint)
{
	size_t lo = *hint, hi = t->n, step = 1;

	/* the last start at or before addr: gallop on from the hint, then halve */
	if (lo >= t->n || t->sym[lo].start > addr)
		lo = 0;
	if (!t->n || t->sym[0].start > addr)
		return NULL;
	while (lo + step < t->n && t->sym[lo + step].start <= addr) {
		lo += step;
		step *= 2;
	}
	if (lo + step < hi)
		hi = lo + step;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->sym[mid].start <= addr)
			lo = mid;
		else
			hi = mid;
	}
	assert(t->sym[lo].start <= addr && (lo + 1 == t->n || t->sym[lo + 1].start > addr));
	*hint = lo;
	for (size_t back = 0; back <= NEST_MAX && back <= lo; back++) {
		struct symbol *s = &t->sym[lo - back];

		if (addr - s->start < s->size)
			return s;
	}
	return NULL;
}
