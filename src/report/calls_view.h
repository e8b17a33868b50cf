/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_view - counted calls, as a document.
 *
 *	calls_build(&c, flow, images, &err)		(analyse/calls.h)
 *	calls_put(&document, &view)
 *
 * Without a function: functions, most called first, and the edges between them, most taken first.
 * With one: its callers, itself, its callees. If the event does not count the recorded branches,
 * figures are weights, which can only be compared with each other; for people only shares are shown
 * then.
 */
#ifndef CYCLADE_REPORT_CALLS_VIEW_H
#define CYCLADE_REPORT_CALLS_VIEW_H

#include "analyse/calls.h"
#include "report/view.h"
#include "show/document.h"
#include "show/graph.h"

#define CALLS_ALL UINT32_MAX

struct calls_view {
	const struct calls *c;
	const struct flow_sums *sums;
	struct images *images;
	struct view_source source;
	const uint32_t *order; /* calls_by_runs() */
	uint32_t function;     /* CALLS_ALL */
	size_t limit;	       /* rows, or nodes of a graph; 0: as fits */
};

/* Tables, lines and graphs; the view, which is the document's ctx, must outlive it. */
extern const struct document_form calls_document;
void calls_put(struct document *d, const struct calls_view *v);
/* Returns boxes and arrows of a struct calls_view. NULL: there are no calls to be drawn. */
struct graph *calls_graph(const void *view, struct err *err);

/* ---- shared by tables and graph -------------------------------------------------------------- */

/* Names safe for nothing; never NULL. */
const char *calls_dso(const struct calls_view *v, uint32_t f);
const char *calls_name(const struct calls_view *v, uint32_t f);
/* The name; for code without a symbol the file, of which it is all such code. */
void calls_put_name(struct buf *b, const struct calls_view *v, uint32_t f);
/* Sets the ELF's own address of the function's begin; returns false if it has no symbol. */
bool calls_vaddr(const struct calls_view *v, uint32_t f, uint64_t *out);
/* mispredicted / (mispredicted + predicted); NAN: not recorded. */
double calls_mispredicted(const struct branch_tally *t);
/* "tail", "PLT", "indir", "part" (some indirect), "self"; "" for a plain call. */
const char *calls_how(const struct calls_view *v, const struct call_edge *e);
/* Returns the share of all calls; tail calls are no part of these. */
double calls_share(const struct calls_view *v, double runs);
/* Returns the edges, most calls first: the caller's to free. */
uint32_t *calls_by_runs(const struct calls *c) MUST_USE;
/* Returns the source of the calls (calls.by), in words. */
const char *calls_by(const struct calls *c);

#endif
