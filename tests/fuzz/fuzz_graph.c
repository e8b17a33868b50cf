/* SPDX-License-Identifier: BSD-3-Clause */
/* Names from outside in graphs: whatever they hold, they stay inside their quotes, and what stands
 * between these is what terminals may see. With Graphviz, its SVG has as many nodes as the
 * graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/graph.h"

#define NODES_MAX 12
#define must(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Behind the closing quote of the string that begins at s; backslashes hide the next character. */
static const char *behind_string(const char *s)
{
	must(*s == '"');
	for (s++; *s != '"'; s++) {
		must(*s && *s != '\n');
		if (*s == '\\') {
			s++;
			/* ours are \l between lines; of names only quotes and backslashes */
			must(*s == 'l' || *s == '"' || *s == '\\');
		}
	}
	return s + 1;
}

/* Statements begin with a tab and a word of ours, and end with "];" outside of strings. */
static size_t check_dot(const char *dot)
{
	size_t nodes = 0;

	must(!strncmp(dot, "digraph cyclade {\n", 18));
	for (const char *s = dot + 18; strcmp(s, "}\n") != 0;) {
		unsigned a, b;
		int n = 0;

		must(*s == '\t');
		if (sscanf(s, "\tn%u -> n%u [%n", &a, &b, &n) < 2 || !n) {
			n = 0;
			if (sscanf(s, "\tn%u [%n", &a, &n) == 1 && n)
				nodes++;
			else
				must(!strncmp(s, "\tgraph [", 8) || !strncmp(s, "\tnode [", 7) ||
				     !strncmp(s, "\tedge [", 7));
		}
		while (strncmp(s, "];\n", 3) != 0) {
			must(*s);
			s = *s == '"' ? behind_string(s) : s + 1;
		}
		s += 3;
	}
	return nodes;
}

static size_t count(const char *s, const char *word)
{
	size_t n = 0;

	for (; (s = strstr(s, word)); s += strlen(word))
		n++;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct graph *g = graph_new("fuzz", GRAPH_DOWN, &err);
	struct buf dot = BUF_INIT, svg = BUF_INIT, safe = BUF_INIT;
	char name[256];
	uint32_t n = 0;

	must(g);
	for (size_t i = 0; i < size && n < NODES_MAX; n++) { /* names end with a line */
		size_t len = 0;

		for (; i < size && data[i] != '\n' && len + 1 < sizeof(name); i++)
			name[len++] = (char)data[i];
		i += i < size;
		name[len] = '\0';
		text_put_safe(&safe, name, false);
		must(graph_node(g, &(struct graph_node){ .line = { name, buf_str(&safe) },
							 .cost = (double)len / 64,
							 .tooltip = name }) == n);
		buf_reset(&safe);
		if (n && graph_edge(g, &(struct graph_edge){ .from = n - 1,
							     .to = (uint32_t)(len % n),
							     .weight = (double)len,
							     .kind = len % GRAPH_EDGE_KINDS,
							     .label = name,
							     .more = len & 1 ? name : NULL }))
			abort();
	}
	graph_dot(&dot, g);
	must(!dot.failed && check_dot(dot.s) == n);
	buf_reset(&safe);
	for (const char *s = dot.s; *s; s++)
		must((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t');
	if (!graph_svg(&svg, g, &err)) {
		must(count(svg.s, "class=\"node") == n);
		must(!strstr(svg.s, "<script") && !count(svg.s, "<!DOCTYPE"));
	} else {
		must(err.code == ERR_UNSUPPORTED);
	}
	buf_free(&dot);
	buf_free(&svg);
	buf_free(&safe);
	graph_free(g);
	return 0;
}
