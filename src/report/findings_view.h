/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * findings_view - the findings of a recording in words, as a document (report --findings).
 *
 *	f = findings_make(&in)			(analyse/findings.h)
 *	findings_view_fill(&view, f, &source, event, unit)
 *	document_open(&d, &findings_document, &view)
 *	findings_put(&d, &view)
 *	findings_view_free(&view)		after the document
 *
 * Results for people have the same lines above their tables: findings_put_lines().
 */
#ifndef CYCLADE_REPORT_FINDINGS_VIEW_H
#define CYCLADE_REPORT_FINDINGS_VIEW_H

#include "analyse/findings.h"
#include "report/source.h"
#include "show/document.h"

struct findings_line {
	const struct finding *f;
	const char *statement; /* a sentence */
	const char *command;   /* that proves it; NULL: it cannot be typed */
	const char *source;    /* "/src/join.c:214"; NULL */
	/* Names, folded if they are very long: the document stays small enough to be read whole. */
	const char *function, *dso, *object;
	const char *thread; /* "writer (tid 12)"; NULL */
};

struct findings_view {
	const struct findings *f;
	struct view_source source;
	struct pd_info info; /* that of the source, with a command line that is not too long */
	const char *head_function, *head_dso;
	const char *unit; /* what shares of the event are of: "the time", "the cycles" */
	const char *headline;
	const char *nothing; /* why there are no findings; NULL: there are */
	const char
		*unmeasured; /* that functions have no causes; NULL: they have, or there are none */
	struct findings_line line[FINDINGS_MAX];
	size_t n;
	struct arena a;
};

/* `event`: its index; SIZE_MAX: there is none. */
void findings_view_fill(struct findings_view *v, const struct findings *f,
			const struct view_source *source, const struct pd *rec, size_t event);
void findings_view_free(struct findings_view *v);

extern const struct document_form findings_document;
void findings_put(struct document *d, const struct findings_view *v);
/* The statements with their commands. */
void findings_put_lines(struct buf *out, const struct findings_view *v, const struct style *st);
/* For a screen that has a table of functions, lines on lost records and on code without names, and
 * (`waits`) on who waited. False: all findings are there already. Else at most three statements. */
bool findings_above(const struct findings_view *v, bool waits);
void findings_put_above(struct buf *out, const struct findings_view *v, bool waits,
			const struct style *st);
/* The rows in documents that have other things, too; of NULL none. */
extern const struct table_form findings_among_form;
void findings_put_among(struct document *d, const struct findings_view *v);

#endif
