/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph_svg - dot text as SVG, through Graphviz in this process: no program is started.
 *
 * libgvc and two of its plugins, the dot layout and the SVG writer, are loaded at the first need,
 * and stay. Others are not: no list of plugins is read, and text is measured by the table that is
 * built in and not by this machine's fonts, whose library would take most of the time. Errors that
 * Graphviz prints go into the returned error. Its SVG is given colours for dark screens, and loses
 * the address of a document type that some readers would fetch.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/leaks.h"
#include "base/library.h"
#include "base/nomem.h"
#include "config.h"
#include "show/graph_int.h"

int graph_svg(struct buf *out, struct graph *g, struct err *err)
{
	struct buf dot = BUF_INIT;
	int rc;

	if (graph_cut(g, GRAPH_NODES_MAX, GRAPH_EDGES_MAX))
		return err_nomem(err);
	graph_dot(&dot, g);
	rc = dot.failed ? err_nomem(err) : graph_svg_of_dot(out, buf_str(&dot), err);
	buf_free(&dot);
	return rc;
}

#if HAVE_GRAPHVIZ
#include <gvc.h>

#define CALLS(CALL)              \
	CALL(, gvContextPlugins) \
	CALL(, gvFreeContext)    \
	CALL(, gvFreeLayout)     \
	CALL(, gvFreeRenderData) \
	CALL(, gvLayout)         \
	CALL(, gvRenderData)     \
	CALL(, agclose)          \
	CALL(, agmemread)        \
	CALL(, agseterrf)

#define LIBGVC(file, names, calls)                               \
	LIBRARY("Graphviz cannot be loaded", file, names, calls, \
		"install it (libgvc" GRAPHVIZ_SO                 \
		"), or write --format dot and lay it out elsewhere")

static struct {
	CALLS(LIBRARY_POINTER)
} gv;
static const char *const names[] = { CALLS(LIBRARY_NAME) };
static struct library library = LIBGVC("libgvc.so." GRAPHVIZ_SO, names, gv);

/* Its plugins lie in a folder beside the library. */
static const char *const core_name[] = { "gvplugin_core_LTX_library" };
static const char *const dot_name[] = { "gvplugin_dot_layout_LTX_library" };
static void *core_list, *dot_list;
static char core_file[4096], dot_file[4096];
static struct library core = LIBGVC(core_file, core_name, core_list);
static struct library dot_layout = LIBGVC(dot_file, dot_name, dot_list);

/* Graphviz has global state, and so has the code around it. */
static pthread_mutex_t only_one = PTHREAD_MUTEX_INITIALIZER;
static struct err *said;

static int open_plugin(struct library *l, char *file, size_t size, const char *name,
		       struct err *err)
{
	Dl_info where = { 0 };
	const char *slash;

	if (!dladdr((void *)(uintptr_t)gv.gvContextPlugins, &where) || !where.dli_fname)
		where.dli_fname = "";
	slash = strrchr(where.dli_fname, '/');
	(void)snprintf(file, size, "%.*s/graphviz/libgvplugin_%s.so." GRAPHVIZ_SO,
		       slash ? (int)(slash - where.dli_fname) : 1, slash ? where.dli_fname : ".",
		       name);
	return library_open(l, err);
}

static int load_svg(struct err *err)
{
	return library_open(&library, err) ||
			       open_plugin(&core, core_file, sizeof(core_file), "core", err) ||
			       open_plugin(&dot_layout, dot_file, sizeof(dot_file), "dot_layout",
					   err)
		       ? -1
		       : 0;
}

/* Called for each piece of a message; the first message stays. */
static int hear(char *text)
{
	size_t n = strlen(said->what);

	if (said->code == ERR_NONE) {
		said->code = ERR_FORMAT;
		n = (size_t)snprintf(said->what, sizeof(said->what), "Graphviz says: ");
	}
	for (; *text && *text != '\n' && n + 1 < sizeof(said->what); text++)
		said->what[n++] = (unsigned char)*text < 0x20 ? ' ' : *text;
	said->what[n] = '\0';
	return 0;
}

/* The SVG from its own element on, with a look for dark screens. */
static int put_svg(struct buf *out, const char *s, size_t len, struct err *err)
{
	static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
	static const char style[] =
		"\n<style>\nsvg{background:#fff}\n"
		"@media (prefers-color-scheme:dark){svg{background:#15181d}\n"
		".graph>text,.edge text,.outside text{fill:#c9cfd8}\n"
		".edge path,.edge polygon,.outside path,.outside polygon{stroke:#98a2b3}\n"
		".taken polygon,.falls polygon,.back polygon{fill:#98a2b3}}\n</style>";
	const char *svg = memmem(s, len, "<svg", 4);
	const char *inside = svg ? memchr(svg, '>', len - (size_t)(svg - s)) : NULL;

	if (!inside)
		return err_set(err, ERR_FORMAT, "Graphviz wrote no SVG");
	buf_puts(out, head);
	buf_put(out, svg, (size_t)(inside + 1 - svg));
	buf_puts(out, style);
	buf_put(out, inside + 1, len - (size_t)(inside + 1 - s));
	return buf_error(out, err);
}

static int put_rendered(struct buf *out, const char *s, size_t len, const char *format,
			struct err *err)
{
	if (!strcmp(format, "svg"))
		return put_svg(out, s, len, err);
	buf_put(out, s, len);
	return buf_error(out, err);
}

static int lay_svg_out(struct buf *out, const char *dot, const char *format, struct err *err)
{
	const lt_symlist_t plugins[] = { { "gvplugin_core_LTX_library", core_list },
					 { "gvplugin_dot_layout_LTX_library", dot_list },
					 { NULL, NULL } };
	GVC_t *gvc = gv.gvContextPlugins(plugins, 0);
	GRAPHVIZ_LEN len = 0;
	char *svg = NULL;
	Agraph_t *g;
	bool laid;
	int rc = -1;

	if (!gvc)
		return err_nomem(err);
	g = gv.agmemread(dot);
	if (!g)
		(void)err_set(err, ERR_FORMAT, "Graphviz does not read this graph");
	LEAKS_BEGIN(); /* edges of cycles that it turned around (2.43, acyclic()) */
	laid = g && !gv.gvLayout(gvc, g, "dot");
	LEAKS_END();
	if (!laid)
		(void)err_set(err, ERR_FORMAT, "Graphviz has no layout for this graph");
	else if (gv.gvRenderData(gvc, g, format, &svg, &len) == 0 && svg)
		rc = put_rendered(out, svg, len, format, err);
	else
		(void)err_set(err, ERR_FORMAT, "Graphviz wrote nothing");
	if (svg)
		gv.gvFreeRenderData(svg);
	if (g) {
		(void)gv.gvFreeLayout(gvc, g);
		(void)gv.agclose(g);
	}
	(void)gv.gvFreeContext(gvc);
	return rc;
}

static int write_dot(struct buf *out, const char *dot, const char *format, struct err *err)
{
	struct err heard = ERR_INIT;
	int rc;

	if (pthread_mutex_lock(&only_one))
		return err_set(err, ERR_UNSUPPORTED, "no lock for Graphviz");
	rc = load_svg(err);
	if (!rc) {
		agusererrf before;

		said = &heard;
		before = gv.agseterrf(hear);
		nomem_begin(); /* it goes on without an arrow, or without the graph */
		rc = lay_svg_out(out, dot, format, &heard);
		nomem_end();
		(void)gv.agseterrf(before);
		said = NULL;
		if (rc)
			rc = err_set(err, heard.code, "%s", heard.what);
		if (rc)
			(void)err_hint(err, "--format dot has the text that it was given");
	}
	(void)pthread_mutex_unlock(&only_one);
	return rc;
}

#else

static int write_dot(struct buf *out, const char *dot, const char *format, struct err *err)
{
	(void)out, (void)dot, (void)format;
	(void)err_set(err, ERR_UNSUPPORTED, "this build has no Graphviz, which lays graphs out");
	return err_hint(err, "write --format dot and lay it out elsewhere, or build with "
			     "libgraphviz-dev");
}
#endif

int graph_svg_of_dot(struct buf *out, const char *dot, struct err *err)
{
	return write_dot(out, dot, "svg", err);
}

int graph_plain_of_dot(struct buf *out, const char *dot, struct err *err)
{
	return write_dot(out, dot, "plain", err);
}
