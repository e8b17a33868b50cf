/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_int - shared by the files of the loader.
 *
 *	source_read()	the text of a file: out of a directory, or compiled in
 *	raw_load()	statements of model, tree, metrics and events, bases applied: strings only
 *	raw_account()	the same of `account`
 *	model_model_event_parse()	a line of events, or an event with options
 *	build()		names become indices, formulas programs
 *
 * Strings of a raw model live in the model's arena.
 */
#ifndef CYCLADE_MODEL_MODEL_INT_H
#define CYCLADE_MODEL_MODEL_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/model.h"

#define TEXT_LIMIT   ((size_t)8 << 20) /* of one file */
#define ROW_LIMIT    100000u
#define BASE_LIMIT   24 /* of a chain of bases */
#define FORMULA_NEST 40

/* ---- texts ---- */

/* A file compiled in (embedded.c, generated): zstd, or as it is if packed == size. */
struct embedded_file {
	const char *path; /* "intel/spr/tree" */
	uint32_t offset, packed, size;
};
extern const struct embedded_file embedded_files[];
extern const size_t embedded_n_files;
extern const unsigned char embedded_bytes[];

struct source_text {
	const char *s;
	size_t len;
	const char *file; /* for messages */
	size_t depth;	  /* 0: compiled in; n: the n-th directory; more: at hand */
};

/* The text of `name` of the model `id` ("" : of the whole, like cpus.tab), looked for in the
 * sources below depth `below` (SIZE_MAX: all). 1: there is one, 0: none, -1: error. */
int source_read(struct source_text *out, struct arena *a, const struct model_sources *s,
		const char *id, const char *name, size_t below, struct err *err) MUST_USE;
/* The compiled-in text `name` that belongs to no model; out->s NULL: there is none. */
int source_embedded(struct source_text *out, struct arena *a, const char *name,
		    struct err *err) MUST_USE;
/* Names of the models that are there, of any source, sorted, each once. */
int source_list(struct arena *a, const struct model_sources *s, const char *const **ids, size_t *n,
		struct err *err) MUST_USE;

struct line {
	const char *key, *value, *start; /* of the text; value has no blanks around it */
	size_t key_len, len, whole;	 /* whole: length of the line at start */
	unsigned number;
};

/* The next statement: blank lines and those that begin with # are left out. */
bool line_next(const struct source_text *t, size_t *at, unsigned *number, struct line *out);
/* "file:line:column: ..." with the line and a caret as the hint. `at` points into the line. */
int line_fail(const struct source_text *t, const struct line *l, const char *at, struct err *err,
	      const char *fmt, ...) PRINTF_(5, 6);
bool line_is(const struct line *l, const char *key);
/* The model that a line `base ID` names; `nest`: how many bases led here, BASE_LIMIT if it is not
 * the first line. */
#define BASE_TEXT 65
int line_base(char out[BASE_TEXT], const struct source_text *t, const struct line *l, unsigned nest,
	      struct err *err);

/* ---- raw ---- */

enum row_key {
#define KEY(id, text) id,
#include "model/load/row_key.def"
	KEY_COUNT
};

enum account_key { /* the same of a node of `account` */
#define KEY(id, text) id,
#include "model/load/account_key.def"
		   ACCOUNT_KEY_COUNT
};
#define KEY_ROOM ((int)KEY_COUNT > (int)ACCOUNT_KEY_COUNT ? (int)KEY_COUNT : (int)ACCOUNT_KEY_COUNT)
_Static_assert((int)KEY_PARENT == (int)ACCOUNT_PARENT, "what opens a row knows its parent");

struct raw_value {
	const char *s; /* NULL: not given */
	const char *file;
	unsigned line;
};

struct raw_row {
	const char *name;
	bool node, absent;
	bool perf;			  /* its formula is in perf's language */
	uint32_t prev, next;		  /* reading order; MODEL_NONE */
	struct raw_value value[KEY_ROOM]; /* by enum row_key, or enum account_key */
	const char *file;
	unsigned line;
};

struct raw_event {
	const char *name, *rest;
	size_t rest_len;
	const char *start; /* of its line */
	size_t whole;
	bool absent;
	const char *file;
	unsigned line;
};

struct raw_words {
	struct raw_value says, try_;
};

struct raw {
	struct arena *arena;
	const struct model_sources *sources;
	const char *id;
	bool perf;		    /* the language of the model, unless a file names another */
	bool account;		    /* rows are nodes of `account` */
	struct raw_value reference; /* of `account` */
	struct raw_value title, vendor, language, from, revision, counters, fixed, width,
		perf_metrics, per_core, tma, latency_from, caution;
	struct strtab row_name, event_name, word_name; /* in lower case; id - 1 is the index */
	VEC(struct raw_row) rows;
	VEC(struct raw_event) events;
	VEC(struct raw_words) words;
	uint32_t first, last; /* of the rows, in reading order */
};

int raw_load(struct raw *r, struct err *err) MUST_USE;
/* 1: model, words and account are read; without `words` the account alone (r->perf is set). 0: the
 * model has no account. */
int raw_account(struct raw *r, bool words, struct err *err) MUST_USE;
void raw_free(struct raw *r); /* frees the memory outside the arena */
/* The index of a name in lower case, or UINT32_MAX. */
uint32_t raw_find(const struct strtab *t, const char *name, size_t len);

/* ---- events ---- */

/* `text` is the line behind the name. `limit` has the model's counters. */
int model_event_parse(struct model_event *out, struct arena *a, const struct raw_event *raw,
		      const struct model *limit, struct err *err) MUST_USE;
/* `e` with the options of the sheet (":c4:e1", without the name) or terms of perf
 * (",cmask=4", modifiers behind a slash or colon). False: not understood. -1 is no memory. */
int model_event_options(struct model_event *e, struct arena *a, const char *options, size_t len,
			bool perf, bool *understood) MUST_USE;

/* ---- build ---- */

struct name_at { /* indices by id of a strtab */
	uint32_t *v;
	size_t n, cap;
};

struct model_names {
	struct strtab event, metric; /* lower case */
	struct name_at event_at, metric_at;
};

/* The events with options that the account `r` alone names become the model's, too. account_load()
 * reports other errors of the account. */
int model_account_events(struct model *m, const struct raw *r, struct err *err) MUST_USE;
int model_build(struct model *m, struct raw *r, const double *system, struct err *err) MUST_USE;

#endif
