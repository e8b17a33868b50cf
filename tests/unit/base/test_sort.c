/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/big.h"
#include "base/hash.h"
#include "base/sort.h"

/* Against an order that is made by comparing; `a` tells who came first. */
static int by_key(const void *va, const void *vb)
{
	const struct keyed *x = va, *y = vb;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->a < y->a ? -1 : x->a > y->a;
}

static void sorted_as_qsort(size_t n, uint64_t mask, unsigned up)
{
	struct keyed *v = calloc(n + 1, sizeof(*v)), *w = calloc(n + 1, sizeof(*w));
	struct keyed *scratch = calloc(n + 1, sizeof(*scratch));

	assert_true(v && w && scratch);
	for (size_t i = 0; i < n; i++)
		v[i] = w[i] =
			(struct keyed){ (hash_u64(i) & mask) << up, (uint32_t)i, (uint32_t)~i };
	keyed_sort(v, scratch, n);
	qsort(w, n, sizeof(*w), by_key);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(v[i].key, w[i].key);
		assert_int_equal(v[i].a, w[i].a);
		assert_int_equal(v[i].b, (uint32_t)~v[i].a);
	}
	free(v);
	free(w);
	free(scratch);
}

static void sorts(void **state)
{
	static const size_t n[] = { 0, 1, 2, 23, 24, 25, 100, 5000 };

	(void)state;
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		sorted_as_qsort(n[i], UINT64_MAX, 0);
		sorted_as_qsort(n[i], 0, 0);
		sorted_as_qsort(n[i], 1, 63);
		sorted_as_qsort(n[i], 0x3ff, 20); /* many equal ones, an odd number of passes */
		sorted_as_qsort(n[i], 0xff00ff, 8);
	}
}

static void big_is_zero(void **state)
{
	static const size_t n[] = { 0, 1, 100, 40000, 300001 };

	(void)state;
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		uint64_t *p = big_zeros(n[i], sizeof(*p));

		assert_non_null(p);
		assert_int_equal((uintptr_t)p & 63, 0);
		for (size_t k = 0; k < n[i]; k++) {
			assert_int_equal(p[k], 0);
			p[k] = UINT64_MAX; /* what is given next must be cleared again */
		}
		free(p);
	}
	assert_null(big_zeros(SIZE_MAX / 2, 4));
	assert_null(big_zeros(SIZE_MAX, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts),
		cmocka_unit_test(big_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
