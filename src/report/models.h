/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * models - models of CPUs as documents: lists of one kind of thing, and all that is known of a
 * name.
 *
 *	list_make(&l, arena, LIST_NODES, &source, &choice, &err)
 *	document_open(&d, list_document(LIST_NODES), &l)
 *	list_put(&d, &l)
 *
 *	explain_make(&x, arena, model, account, names, n, &unknown, &err)
 *	document_open(&d, &explain_document, &x)
 *	explain_put(&d, &x)
 *
 * Both are arena memory and refer to the model and its account, which must outlive the document.
 * A list and an explanation have the same tables: nodes, metrics, account, events, groups.
 */
#ifndef CYCLADE_REPORT_MODELS_H
#define CYCLADE_REPORT_MODELS_H

#include "model/account.h"
#include "model/groups.h"
#include "model/set.h"
#include "show/document.h"

/* ---- lists ----------------------------------------------------------------------------------- */

enum list_kind {
	LIST_ACCOUNT,
	LIST_EVENTS, /* of a model */
	LIST_GROUPS,
	LIST_METRICS,
	LIST_MODELS,
	LIST_NAMES, /* events of a machine, by the kernel's names */
	LIST_NODES,
	LIST_KINDS
};

struct list_name {
	const char *name, *kind, *text; /* text: "" is none */
};

struct list_source {
	struct model_sources texts;    /* of LIST_MODELS */
	const struct model *m;	       /* of all but LIST_MODELS and LIST_NAMES */
	const struct account *account; /* of LIST_ACCOUNT */
	const struct list_name *name;  /* of LIST_NAMES */
	size_t n_names;
};

struct list_choice {
	const char *pattern; /* a glob, or a part of the name; NULL: all */
	size_t limit;	     /* SIZE_MAX: none */
	bool helpers;	     /* metrics that only help others, too */
};

/* Rows of one kind: some of an array of the model's, by index. */
struct list {
	enum list_kind kind;
	const struct model *m;
	const struct account *account;
	const void *base;
	size_t stride;
	uint32_t *index;
	size_t n, cap;
	uint64_t left_out;	/* by the limit */
	struct list_need *need; /* beside the indices, of LIST_EVENTS that names need; else NULL */
};

struct list_need {
	const char *name; /* that needs the event */
	bool latency;	  /* its retire latency, too */
};

int list_make(struct list *out, struct arena *a, enum list_kind kind, const struct list_source *s,
	      const struct list_choice *choice, struct err *err) MUST_USE;
/* Name and columns of a kind's table are known without rows. */
const struct document_form *list_document(enum list_kind kind);
void list_put(struct document *d, const struct list *l);
/* Returns the word for the rows of a kind: "nodes". */
const char *list_word(enum list_kind kind);

/* ---- names ----------------------------------------------------------------------------------- */

enum explain_kind {
	EXPLAIN_NODE,
	EXPLAIN_METRIC,
	EXPLAIN_ACCOUNT,
	EXPLAIN_EVENT,
	EXPLAIN_GROUP,
	EXPLAIN_MONITOR, /* a row of monitor */
};

struct explain_names {
	const char **v;
	size_t n;
};

struct explained {
	enum explain_kind kind;
	uint32_t index; /* of a metric, a node of the account, an event, a group, a row */
	const char *name;
	const char *says, *wrong, *advice; /* NULL: none; wrong: why that text is wrong */
	bool vendors;			   /* the text is the vendor's */
	const char *formula;		   /* or an event's code */
	const char *verdict;		   /* on an event of this machine; NULL: not known */
	struct explain_names children, related, users;
	size_t need, n_needs; /* events, in explain.part[LIST_EVENTS] */
};

/* The items that names can refer to. */
struct explain_from {
	const struct model *m;
	const struct account *account; /* NULL: the model has none */
	const struct set *monitor;     /* NULL: its rows are not asked for */
	/* options with which another command finds the same: "--models DIR ", and "--model ID "
	 * before that if nothing is measured; "": none */
	const char *models, *all;
};

struct explain {
	const struct model *m;
	const struct account *account; /* as above */
	const struct set *monitor;
	const char *models, *all;
	struct arena *a;
	struct explained *name;
	size_t n;
	struct list part[LIST_KINDS]; /* the named items, by kind, and the events that they need */
};

/* Returns true if the name means something to the model. */
bool explain_knows(const struct explain_from *from, const char *name);
/* ERR_NOT_FOUND: a name that the model does not have. */
int explain_make(struct explain *out, struct arena *a, const struct explain_from *from,
		 const char *const *name, size_t n, struct err *err) MUST_USE;
extern const struct document_form explain_document;
void explain_put(struct document *d, const struct explain *x);

/* ---- texts of models: checked, exported, imported -------------------------------------------- */

struct models_finding {
	const char *model, *text, *hint; /* hint: NULL: none */
	bool refused;			 /* the model cannot be used; else it is a doubt */
};

struct models_checked {
	VEC(struct models_finding) finding;
	uint64_t loaded, refused, doubts; /* models, models, findings */
};

extern const struct document_form models_checked_document;
void models_checked_put(struct document *d, const struct models_checked *c);

struct models_written {
	const char *dir, *id; /* id: of an imported model; NULL: all were exported */
	VEC(const char *) file, note;
	uint64_t events, nodes, metrics, sources, doubts; /* of an imported one */
};

extern const struct document_form models_written_document;
void models_written_put(struct document *d, const struct models_written *w);

/* ---- words ----------------------------------------------------------------------------------- */

/* The argument of -e for it: its name, "MEM_LOAD_RETIRED.L3_MISS:pp"; the code on `pmu` if formulas
 * made an event of their own. Precise if possible. */
void put_event_option(struct buf *b, const struct model_event *e, const char *pmu);

#endif
