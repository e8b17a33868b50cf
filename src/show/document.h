/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * document - a result as it is shown: tables for programs and people, lines around them for people.
 *
 *	show_choose(&show, &form, "json", NULL, &err)		before anything is measured
 *	document_open(&d, &form, ctx)
 *	document_title(&d, INK_BOLD, "%s", command)		above the tables, for people
 *	document_table(&d, &table)				any number of them
 *	document_fact(&d, "samples", false, "%s", text)		below the tables, for people
 *	document_note(&d, text)					for people and programs
 *	document_write(&buf, &d, &show, &err)
 *	document_close(&d)
 *
 * Each format writes each document: it reads tables and lines, never the result behind them. If
 * people are better served by something else than tables, a result has a face of its own, which
 * takes the place of a format (term), or adds one (a graph as dot).
 *
 * Losses (columns with C_LOSS) and notes are in every document. A format that has no place for them
 * (csv is one table) leaves them to document_unsaid(), for standard error.
 *
 * Results that come in intervals are one document for each; show.later is set for all but the
 * first.
 */
#ifndef CYCLADE_SHOW_DOCUMENT_H
#define CYCLADE_SHOW_DOCUMENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "show/next.h"
#include "show/style.h"
#include "show/table.h"

struct document;
struct html_files;
struct show;

typedef int document_write_fn(struct buf *out, const struct document *d, const struct show *s,
			      struct err *err);

struct format {
	const char *name;
	document_write_fn *write;
	bool machine;	/* for programs: no pager, rows leave while they are made */
	bool one_table; /* has room for one table only, or for none */
};

struct document_form {
	const char *name; /* "calls": the schema is cyclade.calls/VERSION */
	unsigned version;
	const struct table_form *const *table; /* that it can have, in the order of documents */
	size_t n_tables;
	const struct format *face; /* its own: before those of format.def, or more of them */
	size_t n_faces;
};

/* How it is to be written. */
struct show {
	const struct format *format;
	const char *table; /* the only one; NULL: all, or the main one if there is room for one */
	struct style style;
	char separator; /* csv */
	bool quiet;	/* no advice */
	bool wide;	/* markdown: names are not folded */
	bool later;	/* not the first of several: no titles, in csv and term no heads */
	bool line;	/* json in one line */
	size_t rows;	/* html in a page: rows of a table at most, no ids */
	const struct html_files *page; /* html: a page with these; NULL: a part of one */
	bool more;		       /* html: of a page that is begun */
};

/* Sets format and table. ERR_USAGE names the tables of the result. */
int show_choose(struct show *s, const struct document_form *f, const char *format,
		const char *table, struct err *err) MUST_USE;

/* Returns true if tables of this form are written: else they need not be made. */
bool show_wants(const struct show *s, const struct table_form *f);
/* Returns true if all rows and columns are wanted: by csv, json, and html, whose page chooses among
 * them itself. */
bool show_is_data(const struct show *s);

struct document_line {
	const char *label; /* NULL: a title without one */
	const char *text;  /* not escaped */
	enum ink ink;
};

struct document {
	const struct document_form *form;
	const void *ctx; /* for faces */
	VEC(struct table) table;
	VEC(struct document_line) title, fact;
	VEC(const char *) note;
	struct next next[NEXT_MAX + 1]; /* and one behind them */
	size_t n_next;
	struct arena a; /* the lines; a maker may keep things here */
	/* For people on a terminal: lines between the titles and the tables; NULL: none. */
	void (*above)(struct buf *out, const struct document *d, const struct style *st);
	bool tight;  /* no blank line above the next commands */
	bool failed; /* out of memory: document_write() fails */
};

void document_open(struct document *d, const struct document_form *f, const void *ctx);
void document_table(struct document *d, const struct table *t);
void document_title(struct document *d, enum ink ink, const char *fmt, ...) PRINTF_(3, 4);
/* A fact above the tables: its text is not cut, as a title is, but goes on in the next line. The
 * label is not copied. */
void document_head(struct document *d, const char *label, const char *fmt, ...) PRINTF_(3, 4);
/* `bad`: worth a colour. Label and text are copied. */
void document_fact(struct document *d, const char *label, bool bad, const char *fmt, ...)
	PRINTF_(4, 5);
void document_note(struct document *d, const char *text); /* not copied */
/* A command worth typing now; NEXT_MAX of them, more are left out. */
void document_next(struct document *d, const char *command, const char *why);
/* The last one, however many there are. */
void document_next_last(struct document *d, const char *command, const char *why);
int document_write(struct buf *out, struct document *d, const struct show *s,
		   struct err *err) MUST_USE;
/* Lines that the format had no place for but must be seen: losses that are not 0, notes. */
void document_unsaid(struct buf *lines, const struct document *d, const struct show *s);
void document_close(struct document *d);
/* JSON Schema of what json has of such documents, versioned by its title "cyclade.NAME/VERSION". */
void document_schema(struct buf *out, const struct document_form *f);

/* ---- for the formats ------------------------------------------------------------------------- */

extern const struct table_form document_notes_form; /* of each document, behind its tables */

/* Returns the tables that are written, in their order; NULL: no more. `not_flags`: TABLE_DATA for
 * people, TABLE_PEOPLE for programs. */
const struct table *document_next_table(const struct document *d, const struct show *s,
					unsigned not_flags, size_t *at);

/* ---- for a face of the term format: parts shared with others --------------------------------- */

void term_titles(struct buf *out, const struct document *d, const struct style *st);
void term_notes(struct buf *out, const struct document *d, const struct style *st);
/* With a blank line above; nothing if it has no rows. */
void term_table(struct buf *out, const struct table *t, const struct style *st);
void term_facts(struct buf *out, const struct document *d, const struct style *st);

/* ---- for a page of html ---------------------------------------------------------------------- */

/* A text that may hold anything, as HTML: in an element or in quotes. */
void html_text(struct buf *out, const char *s);

#define FORMAT(name, write, machine, one_table) document_write_fn write;
#include "show/format.def"
#undef FORMAT

#endif
