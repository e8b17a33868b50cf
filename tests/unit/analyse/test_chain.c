/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/chain.h"

static void same_path_is_same_node(void **state)
{
	struct chain_tree t = CHAIN_INIT;
	uint32_t a = chain_add(&t, 0, 7), b = chain_add(&t, a, 8), c = chain_add(&t, 0, 8);

	(void)state;
	assert_int_equal(a, 1);
	assert_int_equal(chain_add(&t, 0, 7), a);
	assert_int_equal(chain_add(&t, a, 8), b);
	assert_int_not_equal(b, c);
	assert_int_equal(t.node[b].parent, a);
	assert_int_equal(t.node[c].parent, 0);
	assert_int_equal(t.n, 4);
	assert_int_equal(chain_add(&t, 99, 1), UINT32_MAX);
	chain_free(&t);
}

/* A comb with a tooth at each of 100,000 steps: deep, and grown past many rehashes. */
static void deep_chain(void **state)
{
	struct chain_tree t = CHAIN_INIT;
	uint32_t node = 0, n = 100000;
	size_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		assert_int_not_equal(chain_add(&t, node, 5), UINT32_MAX);
		node = chain_add(&t, node, 6);
	}
	assert_int_equal(t.n, 2 * n + 1);
	node = 0;
	for (uint32_t i = 0; i < n; i++)
		node = chain_add(&t, node, 6);
	assert_int_equal(t.n, 2 * n + 1);
	for (uint32_t i = 1; i < t.n; i++)
		assert_true(t.node[i].parent < i);
	for (uint32_t i = 0; i < t.n; i++)
		for (uint32_t c = t.node[i].child; c; c = t.node[c].sibling) {
			assert_int_equal(t.node[c].parent, i);
			seen++;
		}
	assert_int_equal(seen, t.n - 1);
	chain_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_path_is_same_node),
		cmocka_unit_test(deep_chain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
