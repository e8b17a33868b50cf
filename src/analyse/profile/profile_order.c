/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of rows: by the values of their keys, strings as strcmp has them. Each string is ranked
 * once, then rows are sorted by numbers.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* Returns eight bytes from `at` on as a number that compares as they do; 0 behind the string's
 * end. */
static uint64_t prefix(const char *s, size_t len, size_t at)
{
	uint64_t v = 0;

	if (at < len)
		memcpy(&v, s + at, len - at < 8 ? len - at : 8);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(v) : v;
}

static int by_text(const void *va, const void *vb, void *ctx)
{
	const struct keyed *a = va, *b = vb;
	const struct strtab *t = ctx;

	return strcmp(strtab_get(t, a->a), strtab_get(t, b->a));
}

/* Sorts strings (a: their ids): most differ within their first 16 bytes. */
static void sort_strings(struct strtab *t, struct keyed *v, struct keyed *scratch, size_t n)
{
	for (size_t at = 16; at;) {
		at -= 8;
		for (size_t i = 0; i < n; i++) {
			const char *s = strtab_get(t, v[i].a);

			v[i].key = prefix(s, strnlen(s, 16), at);
		}
		keyed_sort(v, scratch, n);
	}
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].key == v[i].key; end++)
			;
		if (end - i > 1)
			qsort_r(v + i, end - i, sizeof(*v), by_text, t);
	}
}

/* rank[]: the place among those strings that `used` marks. Turns the marks into ranks. */
static int rank_strings(struct profile *p, uint32_t *used, struct err *err)
{
	size_t n = 0, n_strings = p->strings.n;
	struct keyed *v, *scratch;

	for (size_t i = 0; i < n_strings; i++)
		n += used[i];
	v = malloc((n + 1) * sizeof(*v));
	scratch = malloc((n + 1) * sizeof(*scratch));
	if (!v || !scratch) {
		free(v);
		free(scratch);
		return err_nomem(err);
	}
	n = 0;
	for (size_t i = 0; i < n_strings; i++)
		if (used[i])
			v[n++] = (struct keyed){ 0, (uint32_t)i, 0 };
	sort_strings(&p->strings, v, scratch, n);
	for (size_t i = 0; i < n; i++)
		used[v[i].a] = (uint32_t)i;
	free(v);
	free(scratch);
	return 0;
}

int order_rows(struct profile *p, const uint64_t *value, size_t n, uint32_t *order, struct err *err)
{
	uint32_t *rank = calloc(p->strings.n + 1, sizeof(*rank));
	struct keyed *v = malloc((n + 1) * sizeof(*v));
	struct keyed *scratch = malloc((n + 1) * sizeof(*scratch));
	size_t n_keys = p->opts.n_keys;
	int ret = -1;

	if (!rank || !v || !scratch) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t k = 0; k < n_keys; k++)
		for (size_t i = 0; key_is_text(p->opts.key[k]) && i < n; i++)
			rank[value[k * n + i]] = 1;
	if (rank_strings(p, rank, err))
		goto out;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct keyed){ 0, (uint32_t)i, 0 };
	for (size_t k = n_keys; k-- > 0;) {
		const uint64_t *x = value + k * n;
		bool text = key_is_text(p->opts.key[k]);

		for (size_t i = 0; i < n; i++)
			v[i].key = text ? rank[x[v[i].a]] : x[v[i].a];
		keyed_sort(v, scratch, n);
	}
	for (size_t i = 0; i < n; i++)
		order[i] = v[i].a;
	ret = 0;
out:
	free(rank);
	free(v);
	free(scratch);
	return ret;
}
