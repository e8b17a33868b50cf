/* SPDX-License-Identifier: BSD-3-Clause */
/* A pager shows the rows that walking the table shows, asks for few of them, sorts and folds. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/screen/pager.h"
#include "cli/screen/sheet.h"

enum { MANY = 1000000 };

/* ---- a table whose rows are numbers ---------------------------------------------------------- */

struct numbers {
	size_t n, asked;
	uint64_t here;
};

/* The context counts how often it is asked. */
static bool number_next(const struct table *t, struct table_row *r)
{
	struct numbers *x = (struct numbers *)(uintptr_t)t->ctx;

	x->asked++;
	if (r->at[0] >= x->n)
		return false;
	r->p = x;
	r->at[0]++;
	return true;
}

/* In no order, all different. */
static uint64_t scrambled(uint64_t i)
{
	return i * 2654435761u % 1000003;
}

TABLE_CELL(number, out->n = r->at[0] - 1)
TABLE_CELL(scramble, out->n = scrambled(r->at[0] - 1))
TABLE_CELL(third, out->e.v = (double)((r->at[0] - 1) % 3) - 1, out->none = (r->at[0] - 1) % 7 == 0)
TABLE_CELL(name, cell_printf(out, "function_with_a_name_%06u", (unsigned)scrambled(r->at[0] - 1)))

static const struct table_column number_columns[] = {
	COLUMN("number", "number", T_ID, C_KEY, "", .get = number),
	COLUMN("scramble", "scramble", T_COUNT, 0, "", .get = scramble),
	COLUMN("third", "third", T_REAL, 0, "", .get = third),
	COLUMN("name", "name", T_TEXT, C_FLEX, "", .get = name),
};
enum { SCRAMBLE = 1, THIRD, NAME };
static const struct table_form numbers_form = { "numbers", NULL, 0, TABLE_COLUMNS(number_columns),
						.next = number_next };

static size_t number_of(struct pager *p, size_t line)
{
	struct table_row r = { 0 };

	assert_true(pager_row(p, line, &r));
	return r.i;
}

static struct pager *open_numbers(struct table *t, struct numbers *x, size_t n)
{
	struct pager *p;

	*x = (struct numbers){ .n = n };
	*t = (struct table){ .form = &numbers_form, .ctx = x };
	p = pager_open(t);
	return p;
}

static void test_asks_for_what_is_shown(void **state)
{
	struct table t;
	struct numbers x;
	struct pager *p = open_numbers(&t, &x, MANY);
	struct table_row r = { 0 };
	bool all;

	(void)state;
	assert_int_equal(x.asked, 0);
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(number_of(p, i), i);
	assert_true(x.asked <= 100);
	(void)pager_lines(p, &all);
	assert_false(all);
	assert_int_equal(number_of(p, MANY - 1), MANY - 1);
	x.asked = 0;
	for (size_t i = 0; i < 1000; i++) {
		size_t at = (size_t)scrambled(i) % MANY;

		assert_int_equal(number_of(p, at), at);
	}
	assert_true(x.asked <= 64 * 1000);
	assert_false(pager_row(p, MANY, &r));
	assert_int_equal(pager_lines(p, &all), MANY);
	assert_true(all);
	pager_close(p);
}

static void test_no_rows(void **state)
{
	struct table t;
	struct numbers x;
	struct pager *p = open_numbers(&t, &x, 0);
	struct table_row r = { 0 };
	size_t line;

	(void)state;
	assert_false(pager_row(p, 0, &r));
	pager_sort(p, NAME, false);
	assert_false(pager_row(p, 0, &r));
	assert_int_equal(pager_find(p, "x", 0, false, 0, NULL), 0);
	assert_int_equal(pager_find_step(p, 10, &line), PAGER_NOWHERE);
	pager_close(p);
}

static void test_sorts(void **state)
{
	enum { N = 5000 };
	struct table t;
	struct numbers x;
	struct pager *p = open_numbers(&t, &x, N);
	static bool seen[N];

	(void)state;
	memset(seen, 0, sizeof(seen));
	pager_sort(p, SCRAMBLE, false);
	for (size_t i = 0; i < N; i++) {
		size_t row = number_of(p, i);

		assert_false(seen[row]);
		seen[row] = true;
		assert_int_equal(pager_line_of(p, row), i);
		if (i)
			assert_true(scrambled(number_of(p, i - 1)) > scrambled(row));
	}
	pager_sort(p, NAME, false); /* alike in their first bytes */
	for (size_t i = 1; i < N; i++)
		assert_true(scrambled(number_of(p, i - 1)) < scrambled(number_of(p, i)));
	pager_sort(p, NAME, true);
	for (size_t i = 1; i < N; i++)
		assert_true(scrambled(number_of(p, i - 1)) > scrambled(number_of(p, i)));
	/* values, then those that have none; equal ones in the table's order */
	pager_sort(p, THIRD, false);
	for (size_t i = 1; i < N; i++) {
		size_t a = number_of(p, i - 1), b = number_of(p, i);
		size_t rank_a = a % 7 == 0 ? 3 : 2 - a % 3, rank_b = b % 7 == 0 ? 3 : 2 - b % 3;

		assert_true(rank_a < rank_b || (rank_a == rank_b && a < b));
	}
	pager_sort(p, PAGER_UNSORTED, false);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(number_of(p, i), i);
	pager_close(p);
}

static size_t find(struct pager *p, const char *what, size_t from, bool backwards)
{
	size_t line = PAGER_NO_LINE;
	enum pager_found found;

	assert_int_equal(pager_find(p, what, from, backwards, 0, NULL), 0);
	while ((found = pager_find_step(p, 100, &line)) == PAGER_MORE)
		;
	return found == PAGER_FOUND ? line : PAGER_NO_LINE;
}

static void test_finds(void **state)
{
	enum { N = 3000 };
	struct table t;
	struct numbers x;
	struct pager *p = open_numbers(&t, &x, N);
	char text[64];
	size_t after = 11, before = 9;
	struct err err = ERR_INIT;

	(void)state;
	(void)snprintf(text, sizeof(text), "NAME_%06u", (unsigned)scrambled(1234));
	assert_int_equal(find(p, text, 0, false), PAGER_NO_LINE); /* capitals matter */
	memcpy(text, "name", 4);
	assert_int_equal(find(p, text, 0, false), 1234);
	assert_int_equal(find(p, text, 2000, false), 1234); /* around the end */
	assert_int_equal(find(p, text, 1234, true), 1234);
	while (scrambled(after) >= 100000)
		after++;
	while (scrambled(before) >= 100000)
		before--;
	assert_int_equal(find(p, "name_0+[0-9]", 10, false), after);
	assert_int_equal(find(p, "name_0", 10, true), before);
	assert_int_equal(find(p, "^nowhere$", 0, false), PAGER_NO_LINE);
	assert_int_equal(pager_find(p, "(", 0, false, 0, &err), -1);
	pager_sort(p, SCRAMBLE, false);
	assert_int_equal(number_of(p, find(p, text, 0, false)), 1234);
	pager_close(p);
}

/* ---- a tree ---------------------------------------------------------------------------------- */

struct node {
	uint64_t id, parent, weight;
};

#define OF(member) TABLE_FIELD(struct node, member)
static const struct table_column node_columns[] = {
	COLUMN("id", "id", T_ID, 0, "", OF(id)),
	COLUMN("parent", "parent", T_ID, 0, "", OF(parent)),
	COLUMN("weight", "weight", T_COUNT, 0, "", OF(weight)),
};
#undef OF
static const struct table_form nodes_form = { "nodes", NULL, 0, TABLE_COLUMNS(node_columns) };

/*  1 -- 2 -- 3
 *    \- 4 -- 5
 *  6 -- 7 */
static const struct node nodes[] = {
	{ 1, 0, 10 }, { 2, 1, 3 },  { 3, 2, 3 },  { 4, 1, 7 },
	{ 5, 4, 7 },  { 6, 0, 20 }, { 7, 6, 20 },
};

static void expect_ids(struct pager *p, const char *ids)
{
	char here[64] = "";
	struct table_row r = { 0 };

	for (size_t i = 0; pager_row(p, i, &r); i++)
		(void)snprintf(here + strlen(here), sizeof(here) - strlen(here), "%u",
			       (unsigned)((const struct node *)r.p)->id);
	assert_string_equal(here, ids);
}

static void test_folds(void **state)
{
	const struct table t = { .form = &nodes_form,
				 .array = nodes,
				 .stride = sizeof(*nodes),
				 .n = sizeof(nodes) / sizeof(*nodes) };
	struct pager *p;

	(void)state;
	p = pager_open(&t);
	assert_true(pager_is_tree(p));
	expect_ids(p, "12346"); /* the first path is unfolded */
	pager_fold(p, 0, false);
	expect_ids(p, "16");
	assert_true(pager_place(p, 0).opens && !pager_place(p, 0).open);
	pager_fold(p, 1, true);
	expect_ids(p, "167");
	assert_int_equal(pager_parent(p, 2), 1);
	assert_int_equal(pager_parent(p, 0), PAGER_NO_LINE);
	assert_int_equal(find(p, "^5$", 0, false), 4); /* in what was folded */
	expect_ids(p, "1234567");
	pager_sort(p, 2, false); /* siblings */
	expect_ids(p, "6714523");
	pager_fold(p, 5, false);
	expect_ids(p, "671452");
	pager_fold_all(p, true);
	expect_ids(p, "6714523");
	assert_int_equal(pager_place(p, 3).depth, 1);
	pager_fold_all(p, false);
	expect_ids(p, "61");
	pager_sort(p, PAGER_UNSORTED, false);
	expect_ids(p, "16");
	pager_close(p);
}

/* Ids that are not there, that name themselves, that are below, that come twice. */
static void test_strange_parents(void **state)
{
	static const struct node strange[] = {
		{ 1, 1, 0 }, { 2, 9, 0 }, { 3, 4, 0 }, { 4, 3, 0 }, { 1, 0, 0 }, { 5, 1, 0 },
	};
	const struct table t = { .form = &nodes_form,
				 .array = strange,
				 .stride = sizeof(*strange),
				 .n = sizeof(strange) / sizeof(*strange) };
	struct pager *p;

	(void)state;
	p = pager_open(&t);
	pager_fold_all(p, true);
	expect_ids(p, "123415");
	assert_int_equal(pager_parent(p, 5), 4);
	assert_int_equal(pager_parent(p, 3), 2);
	assert_int_equal(pager_parent(p, 2), PAGER_NO_LINE);
	pager_close(p);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void test_sheet_fits(void **state)
{
	struct table t;
	struct numbers x;
	struct pager *p = open_numbers(&t, &x, 1000);
	static struct layout l;
	struct buf word = BUF_INIT;
	struct table_row r = { 0 };

	(void)state;
	for (unsigned width = 20; width < 120; width++) {
		l = (struct layout){ .t = &t, .ascii = true, .screen = true };
		for (size_t i = 0; i < 100; i++) {
			assert_true(pager_row(p, i, &r));
			layout_see(&l, &r, NULL);
		}
		layout_fit(&l, width);
		assert_int_equal(l.n + l.out, 4);
		assert_true(l.n > 0);
		for (size_t i = 0; i < l.n; i++)
			assert_true(l.on[i].at + l.on[i].width <= width);
		/* the name stays, the other columns go */
		assert_int_equal(l.on[l.n - 1].column, NAME);
		assert_true(pager_row(p, 999, &r));
		buf_reset(&word);
		(void)layout_cell(&l, &word, NULL, l.n - 1, &r, NULL);
		assert_int_equal(word.len, l.on[l.n - 1].width);
	}
	assert_int_equal(l.n, 4);
	buf_free(&word);
	pager_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asks_for_what_is_shown),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_finds),
		cmocka_unit_test(test_folds),
		cmocka_unit_test(test_strange_parents),
		cmocka_unit_test(test_sheet_fits),
	};

	return cmocka_run_group_tests_name("pager", tests, NULL, NULL);
}
