/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The view over a profile of known numbers: order, folds, filters, trees, and what each format
 * makes of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "fake.h"
#include "report/rows.h"
#include "report/where.h"

static void make_join(struct profile *p)
{
	fake_init(p);
	fake_row(p, "join", "join", "parse_row", 87, 87000);
	fake_row(p, "join", "join", "hash_probe", 623, 623000);
	fake_row(p, "join", "libc.so.6", "memcpy", 200, 200000);
	fake_row(p, "join", "[unknown]", "0x1139", 70, 70000);
	fake_row(p, "join", "join", "tiny1", 1, 1000);
	fake_row(p, "join", "join", "tiny2", 2, 2000);
	fake_row(p, "sh", "sh", "tiny3", 17, 17000);
}

static struct view *view_of(struct profile *p, const struct view_opts *o)
{
	struct view_source src = fake_source(p);
	struct err err = ERR_INIT;
	struct view *v;

	fake_total(p);
	if (view_build(&v, p, &src, o, &err))
		fail_msg("%s", err.what);
	return v;
}

static char *text_of(struct profile *p, const struct view_opts *o, const char *format,
		     unsigned width, bool ascii)
{
	struct show show = { .style = { .ascii = ascii, .width = width } };
	struct view *v = view_of(p, o);
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct document d;

	assert_int_equal(show_choose(&show, &rows_document, format, NULL, &err), 0);
	document_open(&d, &rows_document, v);
	rows_put(&d, v);
	assert_int_equal(document_write(&b, &d, &show, &err), 0);
	document_close(&d);
	view_free(v);
	buf_putc(&b, '\0');
	return b.s;
}

static uint64_t sum_self(const struct view_table *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		n += t->row[i].self->period;
	return n;
}

static void test_rows_close(void **state)
{
	struct view_opts o = { .min = 0.005 };
	struct profile p;
	struct view *v;

	(void)state;
	make_join(&p);
	v = view_of(&p, &o);
	assert_int_equal(v->n_tables, 1);
	assert_int_equal(v->table->n_rows, 6);
	assert_string_equal(view_function(v, &v->table->row[0]), "hash_probe");
	assert_int_equal(v->table->row[5].folded, 2);
	assert_int_equal(v->table->row[5].self->period, 3000);
	assert_int_equal(sum_self(v->table), 1000000);
	assert_string_equal(view_function(v, view_hottest(v)), "hash_probe");
	view_free(v);
	o.limit = 2;
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 3);
	assert_int_equal(v->table->row[2].folded, 5);
	assert_int_equal(v->table->row[2].self->samples, 177);
	assert_int_equal(sum_self(v->table), 1000000);
	view_free(v);
	fake_free(&p);
}

static void test_filters(void **state)
{
	struct view_opts o = { .focus = "^(hash|parse)_" };
	struct view_source src;
	struct err err = ERR_INIT;
	struct profile p;
	struct view *v;

	(void)state;
	make_join(&p);
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 3);
	assert_true(v->table->row[2].left_out);
	assert_int_equal(v->table->row[2].folded, 5);
	assert_int_equal(v->table->row[2].self->period, 290000);
	assert_int_equal(sum_self(v->table), 1000000);
	view_free(v);
	o = (struct view_opts){ .hide = "libc" };
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 7);
	assert_int_equal(v->table->row[6].self->period, 200000);
	view_free(v);
	o = (struct view_opts){ .hide = "a(b" };
	src = fake_source(&p);
	assert_int_equal(view_build(&v, &p, &src, &o, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_null(v);
	fake_free(&p);
}

static void test_words(void **state)
{
	struct profile_opts po = { 0 };
	struct view_opts o = { .fields = "+period,-error" };
	struct view_source src;
	struct err err = ERR_INIT;
	struct profile p;
	struct view *v;
	bool by_event;

	(void)state;
	assert_int_equal(keys_parse(&po, &by_event, NULL, &err), 0);
	assert_int_equal(po.n_keys, 2);
	assert_int_equal(keys_parse(&po, &by_event, "symbol,event,cpu,sym", &err), 0);
	assert_int_equal(po.n_keys, 2);
	assert_int_equal(po.key[0], KEY_SYM);
	assert_int_equal(po.key[1], KEY_CPU);
	assert_true(by_event);
	assert_int_equal(keys_parse(&po, &by_event, "comm,symb", &err), -1);
	assert_non_null(strstr(err.hint, "did you mean sym"));
	err = (struct err)ERR_INIT;
	assert_int_equal(keys_parse(&po, &by_event, "share", &err), -1);
	err = (struct err)ERR_INIT;
	assert_int_equal(keys_parse(&po, &by_event, "", &err), -1);
	err = (struct err)ERR_INIT;
	make_join(&p);
	v = view_of(&p, &o);
	assert_int_equal(v->columns.n, 5);
	assert_int_equal(v->columns.id[0], COL_SHARE);
	assert_int_equal(v->columns.id[1], COL_COMM);
	assert_int_equal(v->columns.id[4], COL_PERIOD);
	view_free(v);
	src = fake_source(&p);
	o.fields = "share,cpu";
	assert_int_equal(view_build(&v, &p, &src, &o, &err), -1);
	assert_non_null(strstr(err.hint, "-s"));
	err = (struct err)ERR_INIT;
	o.fields = "-share,-error,-comm,-dso,-sym";
	assert_int_equal(view_build(&v, &p, &src, &o, &err), -1);
	err = (struct err)ERR_INIT;
	o = (struct view_opts){ .events = (const char *[]){ "cycle" }, .n_events = 1 };
	assert_int_equal(view_build(&v, &p, &src, &o, &err), -1);
	assert_non_null(strstr(err.hint, "cycles"));
	fake_free(&p);
}

static void test_events(void **state)
{
	struct view_opts o = { .side_by_side = true };
	struct profile p;
	struct view *v;
	char *s;

	(void)state;
	make_join(&p);
	p.n_events = 3;
	for (size_t i = 0; i < p.n_rows; i++) {
		fake_weigh(&p.tally[i][1], 10, 100);
		fake_weigh(&p.sum[1].selected, 10, 100);
	}
	v = view_of(&p, &o); /* the third has no samples: it has no table */
	assert_int_equal(v->n_tables, 1);
	assert_int_equal(v->table->n_events, 2);
	view_free(v);
	s = text_of(&p, &o, "term", 80, true);
	assert_non_null(strstr(s, "\n cycles          instructions\n"
				  "   share +-        share +-      comm"));
	assert_non_null(strstr(s, "\n  62.3 % +-3.0    14.3 % +-8.2   join"));
	free(s);
	o.side_by_side = false;
	v = view_of(&p, &o);
	assert_int_equal(v->n_tables, 2);
	assert_int_equal(v->table[1].row[0].self->period, 100);
	view_free(v);
	o.events = (const char *[]){ "instr*" };
	o.n_events = 1;
	v = view_of(&p, &o);
	assert_int_equal(v->n_tables, 1);
	assert_int_equal(v->table->event[0], 1);
	view_free(v);
	fake_free(&p);
}

static void make_calls(struct profile *p)
{
	fake_init(p);
	fake_chain(p, "_start;main;work;fib;fib;fib", 50, 50);
	fake_chain(p, "_start;main;work;fib", 10, 10);
	fake_chain(p, "_start;main;work", 5, 5);
	fake_chain(p, "_start;main;+small", 30, 30);
	fake_chain(p, "_start;main;rare;x", 1, 1);
	fake_chain(p, "_start;main;rare;y", 4, 4);
}

static void test_tree(void **state)
{
	struct view_opts o = { .shape = VIEW_CALLEES };
	struct profile p;
	struct view *v;
	const struct view_row *r;

	(void)state;
	make_calls(&p);
	v = view_of(&p, &o);
	r = v->table->row;
	assert_int_equal(v->table->n_rows, 8);
	assert_string_equal(view_function(v, &r[0]), "_start");
	assert_int_equal(r[0].total->period, 100);
	assert_int_equal(r[1].indent, 0); /* a single child is not indented */
	assert_string_equal(view_function(v, &r[2]), "work");
	assert_int_equal(r[2].total->period, 65);
	assert_int_equal(r[2].self->period, 5);
	assert_int_equal(r[2].indent, 1);
	assert_false(r[2].last);
	assert_string_equal(view_function(v, &r[3]), "fib");
	assert_int_equal(r[3].levels, 3);
	assert_int_equal(r[3].self->period, 60);
	assert_int_equal(r[3].indent, 1);
	assert_string_equal(view_function(v, &r[4]), "small");
	assert_string_equal(view_function(v, &r[5]), "rare");
	assert_true(r[5].last);
	assert_string_equal(view_function(v, &r[6]), "y");
	assert_int_equal(r[6].indent, 2);
	assert_int_equal(sum_self(v->table), 100);
	view_free(v);
	o.min = 0.02;
	v = view_of(&p, &o); /* x folds, too small for a row of its own: it is accounted for */
	assert_int_equal(v->table->n_rows, 7);
	assert_int_equal(v->table->unlisted->period, 1);
	view_free(v);
	o = (struct view_opts){ .shape = VIEW_CALLEES, .limit = 3 };
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 5); /* _start, main, work, its fold, main's fold */
	assert_int_equal(v->table->row[4].folded, 2);
	assert_int_equal(v->table->row[4].total->period, 35);
	view_free(v);
	fake_free(&p);
}

static void test_callers_and_functions(void **state)
{
	struct view_opts o = { .shape = VIEW_CALLERS };
	struct profile p;
	struct view *v;

	(void)state;
	make_calls(&p);
	v = view_of(&p, &o);
	assert_string_equal(view_function(v, &v->table->row[0]), "fib");
	assert_int_equal(v->table->row[0].total->period, 60);
	assert_int_equal(v->table->row[0].self->period, 0); /* no chain ends at its first frame */
	assert_int_equal(sum_self(v->table), 100);
	assert_string_equal(view_function(v, view_hottest(v)), "fib");
	view_free(v);
	o.shape = VIEW_FUNCTIONS;
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 8);
	for (size_t i = 0; i < v->table->n_rows; i++) {
		const struct view_row *r = &v->table->row[i];

		if (!strcmp(view_function(v, r), "fib")) {
			assert_int_equal(r->total->period, 60); /* recursion counts once */
			assert_int_equal(r->self->period, 60);
		}
		if (!strcmp(view_function(v, r), "main")) {
			assert_int_equal(r->total->period, 100);
			assert_int_equal(r->self->period, 0);
		}
	}
	assert_int_equal(sum_self(v->table), 100);
	view_free(v);
	o = (struct view_opts){ .shape = VIEW_CALLEES, .focus = "^work$", .hide = "^fib$" };
	v = view_of(&p, &o);
	assert_int_equal(v->table->n_rows, 4); /* _start, main, work, what was left out */
	assert_int_equal(v->table->row[0].total->period, 5);
	assert_true(v->table->row[3].left_out);
	assert_int_equal(v->table->row[3].total->period, 95);
	view_free(v);
	fake_free(&p);
}

/* 100,000 frames deep, without recursion of ours; a tree of that depth stays narrow. */
static void test_deep(void **state)
{
	struct view_opts o = { .shape = VIEW_CALLEES };
	struct profile p;
	struct view *v;
	uint32_t node = 0;
	char *s;

	(void)state;
	fake_init(&p);
	fake_chain(&p, "a;b", 1, 1);
	for (size_t i = 0; i < 100000; i++) {
		node = chain_add(&p.chains.tree, node, i & 1);
		if (i % 100 == 0) /* a leaf beside it: the tree branches again and again */
			assert_true(chain_add(&p.chains.tree, node, 0) != UINT32_MAX);
	}
	p.self[0] = realloc(p.self[0], p.chains.tree.n * sizeof(struct tally));
	assert_non_null(p.self[0]);
	memset(p.self[0], 0, p.chains.tree.n * sizeof(struct tally));
	for (size_t i = p.chains.tree.n - 1; i > 10000; i -= 10000)
		fake_weigh(&p.self[0][i], 1, 1);
	p.sum[0].selected = (struct tally){ 10, 10, 10 };
	s = text_of(&p, &o, "term", 80, false);
	for (char *line = strtok(s, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(text_width(line) <= 80);
	free(s);
	o.shape = VIEW_CALLERS;
	o.limit = 10;
	v = view_of(&p, &o);
	view_free(v);
	o.shape = VIEW_FUNCTIONS;
	v = view_of(&p, &o);
	assert_int_equal(sum_self(v->table), 10);
	view_free(v);
	fake_free(&p);
}

static void test_hostile_names(void **state)
{
	static const char *const formats[] = {
		"term", "csv", "json", "folded", "markdown", "html"
	};
	struct view_opts o = { .min = 0.005 };
	struct profile p;

	(void)state;
	fake_init(&p);
	fake_row(&p, "a|b`c", "x\"y,z", "f<int>(\x1b[31mred\x07, char)\n;\xff", 10, 10);
	fake_row(&p, "a|b`c", "x\"y,z", "g", 10, 10);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		char *s = text_of(&p, &o, formats[i], 0, false);

		assert_null(strchr(s, 0x1b));
		assert_null(strchr(s, 0x07));
		assert_null(strchr(s, 0xff));
		free(s);
	}
	{
		char *s = text_of(&p, &o, "folded", 0, false);

		assert_string_equal(s, "a|b`c;x\"y,z;f<int>(\\x1b[31mred\\x07, char)\\x0a:\\xff "
				       "10\na|b`c;x\"y,z;g 10\n");
		free(s);
		s = text_of(&p, &o, "markdown", 0, false);
		assert_non_null(strstr(s, "| a\\|b\\`c | x\"y,z | f&lt;int\\>("));
		free(s);
		o.machine = true;
		s = text_of(&p, &o, "csv", 0, false);
		assert_non_null(strstr(s, "\ncycles,10,10,0.5,0.20070"));
		assert_non_null(strstr(s, ",a|b`c,\"x\"\"y,z\",\"f<int>(\\x1b[31mred\\x07, char)"));
		free(s);
	}
	fake_free(&p);
}

static void test_screen(void **state)
{
	struct view_opts o = { .min = 0.005 };
	struct profile p;
	char *s;

	(void)state;
	make_join(&p);
	s = text_of(&p, &o, "term", 80, true);
	assert_string_equal(
		s, " perf record ./join orders.tbl\n"
		   " on build7, x86_64\n"
		   " 1,000 samples of cycles, 1.00 M, over 3.21 s\n"
		   "\n"
		   "   share +-      comm  dso        function\n"
		   "  62.3 % +-3.0   join  join       hash_probe\n"
		   "  20.0 % +-2.5   join  libc.so.6  memcpy\n"
		   "   8.7 % +-1.8   join  join       parse_row\n"
		   "   7.0 % +-1.6   join  [unknown]  0x1139\n"
		   "   1.7 % +-0.8   sh    sh         tiny3\n"
		   "   0.3 % +-0.4                    (2 more)\n"
		   "\n"
		   " not attributed  0.0 % in no mapping, 7.0 % without a symbol\n"
		   " lost            no records\n"
		   " throttled       never\n"
		   " next: cyclade annotate hash_probe             "
		   "its source lines and instructions\n"
		   "       cyclade record -g -- ./join orders.tbl  call chains too: who calls it\n"
		   "       cyclade report --min 0                  every row\n");
	free(s);
	fake_free(&p);
}

static void test_where(void **state)
{
	struct style st = { .ascii = true, .width = 80 };
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct profile p;
	struct where w;

	(void)state;
	make_join(&p);
	assert_int_equal(where_make(&w, &a, &p, 0, 3, &err), 0);
	assert_string_equal(w.top, "hash_probe");
	where_put(&b, &w, &st);
	assert_string_equal(
		buf_str(&b),
		" where                                                       share\n"
		" hash_probe                        join                     62.3 %  +-3.0\n"
		" memcpy                            libc.so.6                20.0 %  +-2.5\n"
		" parse_row                         join                      8.7 %  +-1.8\n"
		" (4 more functions)                                          9.0 %  +-1.8\n");
	assert_int_equal(w.n, 4);
	assert_int_equal(where_make(&w, &a, &p, 0, 0, &err), 0);
	assert_int_equal(w.n, 7);
	arena_free(&a);
	buf_free(&b);
	fake_free(&p);
}

static void test_nothing(void **state)
{
	static const char *const formats[] = {
		"term", "csv", "json", "folded", "markdown", "html"
	};
	struct view_opts o = { 0 };
	struct profile p;

	(void)state;
	fake_init(&p);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		free(text_of(&p, &o, formats[i], 80, true));
	p.opts.chains = true;
	for (int shape = VIEW_FUNCTIONS; shape <= VIEW_CALLERS; shape++) {
		o.shape = (enum view_shape)shape;
		for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
			free(text_of(&p, &o, formats[i], 80, true));
	}
	fake_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_close), cmocka_unit_test(test_filters),
		cmocka_unit_test(test_words),	   cmocka_unit_test(test_events),
		cmocka_unit_test(test_tree),	   cmocka_unit_test(test_callers_and_functions),
		cmocka_unit_test(test_deep),	   cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_screen),	   cmocka_unit_test(test_where),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
