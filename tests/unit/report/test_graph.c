/* SPDX-License-Identifier: BSD-3-Clause */
/* graphs: what becomes of hostile names, what is cut, and SVG as Graphviz makes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../skip.h"
#include "config.h"
#include "show/graph.h"

static struct graph *new_graph(const char *title)
{
	struct err err = ERR_INIT;
	struct graph *g = graph_new(title, GRAPH_DOWN, &err);

	assert_non_null(g);
	return g;
}

static uint32_t put_node(struct graph *g, const char *name, double cost)
{
	return graph_node(
		g, &(struct graph_node){ .line = { name, "10 %" }, .cost = cost, .rank = cost });
}

static void put_edge(struct graph *g, uint32_t from, uint32_t to, double weight)
{
	assert_int_equal(graph_edge(g, &(struct graph_edge){ .from = from,
							     .to = to,
							     .weight = weight,
							     .label = "7" }),
			 0);
}

static char *dot_of(const struct graph *g)
{
	struct buf b = BUF_INIT;

	graph_dot(&b, g);
	assert_false(b.failed);
	return b.s;
}

/* Each pair: a name from outside, and what must stand between a label's quotes. */
static void test_names(void **state)
{
	static const char *const pair[][2] = {
		{ "main", "main" },
		{ "a\"];evil[label=\"b", "a\\\"];evil[label=\\\"b" },
		{ "back\\slash", "back\\\\slash" },
		{ "ends\\", "ends\\\\" },
		{ "\\N\\l\\G", "\\\\N\\\\l\\\\G" },
		{ "two\nlines",
		  "two\\\\x0aline" }, /* text_put_safe's form, its backslash doubled */
		{ "<b>bold</b>", "<b>bold</b>" },
		{ "operator&&", "operator&&" },
		{ "f(T&;)", "f(T&;)" },
		{ "&lt;script&gt;", "\\\\x26lt;script\\\\x26gt;" },
		{ "&#60;x", "\\\\x26#60;x" },
		{ "bad\xff utf8", "bad\\\\xff utf8" },
		{ "\xef\xbf\xbe", "\\\\u{fffe}" },
		{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pair) / sizeof(*pair); i++) {
		struct graph *g = new_graph("t");
		char want[200], *dot;

		(void)put_node(g, pair[i][0], 0.1);
		dot = dot_of(g);
		(void)snprintf(want, sizeof(want), "n0 [label=\"%s", pair[i][1]);
		if (!dot || !strstr(dot, want))
			fail_msg("%s\n not in\n%s\n", want, dot ? dot : "nothing");
		free(dot);
		graph_free(g);
	}
}

static void test_cut(void **state)
{
	struct graph *g = new_graph("t");
	uint32_t n[4] = { put_node(g, "a", 0.4), put_node(g, "b", 0.1), put_node(g, "c", 0.3),
			  put_node(g, "d", NAN) };
	char *dot;

	(void)state;
	put_edge(g, n[0], n[1], 5);
	put_edge(g, n[0], n[2], 3);
	put_edge(g, n[2], n[0], 4);
	put_edge(g, n[3], n[0], 9);
	assert_int_equal(graph_cut(g, 10, 10), 0);
	assert_int_equal(graph_nodes(g), 4);
	assert_int_equal(graph_cut(g, 2, 0), 0);
	assert_int_equal(graph_nodes(g), 2);
	assert_int_equal(graph_edges(g), 2);
	assert_int_equal(graph_cut(g, 2, 1), 0);
	assert_int_equal(graph_edges(g), 1);
	dot = dot_of(g);
	assert_null(strstr(dot, "label=\"b"));
	assert_null(strstr(dot, "label=\"d"));
	assert_non_null(strstr(dot, "n2 -> n0"));
	assert_null(strstr(dot, "n0 -> n2"));
	assert_non_null(strstr(dot, "2 hottest of 4 nodes"));
	assert_non_null(strstr(dot, "1 heaviest of 2 arrows"));
	free(dot);
	graph_free(g);
}

static void test_edges_of_nothing(void **state)
{
	struct graph *g = new_graph("t");

	(void)state;
	(void)put_node(g, "a", 1);
	assert_int_equal(graph_edge(g, &(struct graph_edge){ .from = 0, .to = 1 }), -1);
	graph_free(g);
}

static void test_svg(void **state)
{
	struct graph *g = new_graph("calls of \"x\" & more");
	struct buf svg = BUF_INIT, again = BUF_INIT;
	struct err err = ERR_INIT;
	uint32_t a = put_node(g, "a<int>\"&&", 0.9), b = put_node(g, "&lt;script&gt;", 0);

	(void)state;
	put_edge(g, a, b, 3);
	put_edge(g, b, b, 1);
#if !HAVE_GRAPHVIZ
	assert_int_equal(graph_svg(&svg, g, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.hint, "--format dot"));
	(void)again;
#else
	if (graph_svg(&svg, g, &err)) {
		graph_free(g);
		SKIP_BECAUSE("Graphviz cannot be loaded");
	}
	assert_int_equal(strncmp(svg.s, "<?xml", 5), 0);
	assert_null(strstr(svg.s, "DOCTYPE"));
	assert_null(strstr(svg.s, "<script"));
	assert_null(strstr(svg.s, "&lt;script"));
	assert_non_null(strstr(svg.s, "a&lt;int&gt;&quot;&amp;&amp;"));
	assert_non_null(strstr(svg.s, "</svg>"));
	assert_int_equal(graph_svg(&again, g, &err), 0);
	assert_string_equal(svg.s, again.s);
#endif
	buf_free(&svg);
	buf_free(&again);
	graph_free(g);
}

static void test_what_graphviz_says(void **state)
{
	struct buf svg = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(graph_svg_of_dot(&svg, "digraph { a -> ", &err), -1);
	if (err.code == ERR_UNSUPPORTED)
		SKIP_BECAUSE("no Graphviz");
	assert_non_null(strstr(err.what, "Graphviz says: "));
	assert_non_null(strstr(err.what, "syntax error"));
	assert_int_equal(svg.len, 0);
	buf_free(&svg);
}

/* The worst that graph_svg() lets through comes to an end. */
static void test_large(void **state)
{
	struct graph *g = new_graph("large");
	struct buf svg = BUF_INIT;
	struct err err = ERR_INIT;
	uint32_t x = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char name[40];

		(void)snprintf(name, sizeof(name), "function_%d", i);
		(void)put_node(g, name, 1.0 / (1 + i));
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t from, to;

		x = x * 1664525 + 1013904223;
		from = x >> 8;
		x = x * 1664525 + 1013904223;
		to = x >> 8;
		put_edge(g, (from % 2000) * (from % 1000) / 1000, to % 300, x >> 20);
	}
	if (graph_svg(&svg, g, &err) && err.code == ERR_UNSUPPORTED)
		print_message("no Graphviz\n");
	else
		assert_non_null(strstr(svg.s, "hottest of 2,000 nodes"));
	assert_int_equal(graph_nodes(g),
			 err.code == ERR_UNSUPPORTED ? graph_nodes(g) : GRAPH_NODES_MAX);
	assert_true(graph_edges(g) <= GRAPH_EDGES_MAX || err.code == ERR_UNSUPPORTED);
	buf_free(&svg);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_edges_of_nothing),
		cmocka_unit_test(test_svg),
		cmocka_unit_test(test_what_graphviz_says),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
