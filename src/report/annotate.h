/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate - one function: its instructions and source lines, each with the samples that fell
 * there.
 *
 *	profile_build(&p, ...)		with the keys of annotate_keys
 *	annotate_targets(&all, p, event)
 *	annotate_find(&list, &all, "name", &err)
 *	a = annotate_build(p, images, event, name, &list.v[0], &opts)
 *	annotate_blocks(a, &blocks, &err)	if the recording has branch stacks
 *	annotate_put(&document, &view)
 *	annotate_free(a), annotate_targets_free(&list)
 *
 * Invariant: the samples of all instructions, and those in `elsewhere`, sum to the function's. A
 * missing part (the program's file, debug information, source files) is no failure: the rest is
 * shown, and `notes` has the missing part and how to get it.
 */
#ifndef CYCLADE_REPORT_ANNOTATE_H
#define CYCLADE_REPORT_ANNOTATE_H

#include "analyse/account.h"
#include "analyse/blocks.h"
#include "analyse/memory.h"
#include "analyse/profile.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "report/view.h"
#include "show/document.h"
#include "symbol/disasm.h"
#include "symbol/source.h"
#include "symbol/source_find.h"
#include "symbol/types.h"

enum { ANNOTATE_KEYS = 3 };
extern const enum profile_key annotate_keys[ANNOTATE_KEYS];

/* ---- which function ---------------------------------------------------------------------- */

struct annotate_target {
	uint32_t image;
	const struct symbol *symbol;
	const char *name, *dso;
	struct tally total; /* of the event */
};
struct annotate_targets {
	VEC(struct annotate_target) v; /* most samples first */
};

/* Every function with samples of the event; texts are the profile's. */
void annotate_targets(struct annotate_targets *out, const struct profile *p, size_t event);
/* Those of `all` that `name` may mean (symbol/named.h). None is ERR_NOT_FOUND, with the nearest
 * name as a hint. */
int annotate_find(struct annotate_targets *out, const struct annotate_targets *all,
		  const char *name, struct err *err) MUST_USE;
void annotate_targets_free(struct annotate_targets *t);

/* ---- its contents ---------------------------------------------------------------------------- */

struct annotate_insn {
	struct insn in;
	uint8_t bytes[16];
	struct tally t;
	struct source_line line;
	uint32_t inl;			   /* index of its chain of inlined calls, 0: none */
	uint32_t block;			   /* of `ran`; CODE_NONE */
	struct types_access data;	   /* if opts.data is set */
	const struct memory_group *memory; /* latencies of its accesses; NULL: not known */
};

struct annotate_line {
	struct source_line line;
	struct tally t;
};

struct annotate_inline {
	struct source_inline level[8]; /* outermost first */
	size_t n;
};

struct annotate_context { /* a line of source that is shown with the code */
	const char *file;
	uint32_t line;
};

struct annotate_file {
	const char *name, *shown; /* its last parts, so many that no other file has them */
};

struct annotate_opts {
	bool no_source, no_asm, no_arrows, bytes;
	bool data;		     /* types and fields that instructions access */
	bool all_rows;		     /* addresses that only other events fell on, too */
	double min;		     /* a fraction: fold source lines below */
	struct source_places places; /* the build-id is filled in by annotate_build */
};

struct source_file; /* annotate_source.c */

struct annotate {
	struct annotate_target target;
	const char *event, *origin;
	struct annotate_opts opts;
	double of_all;	     /* the function's share of the event */
	uint64_t vaddr, len; /* of the function; len 0: not known */
	VEC(struct annotate_insn)
	insn; /* by address; if there is no code, the sampled addresses */
	bool has_code, has_lines;
	struct annotate_insn elsewhere; /* in the function, but in no instruction that is shown */
	VEC(const struct annotate_insn *) hottest; /* most samples first; of annotate_put() */
	VEC(struct annotate_line) line;		   /* each once, most samples first */
	VEC(struct annotate_inline) inl;
	VEC(const char *) notes;     /* sentences, in the arena */
	const struct source *source; /* NULL: no debug information */
	VEC(struct source_file *) files;
	struct source_shelf texts;
	VEC(struct annotate_file) names;
	VEC(struct annotate_context) context; /* by file and line */
	/* How often it ran, by branch stacks; NULL: not known. Borrowed. */
	const struct blocks *blocks;
	const struct block_function *ran;
	struct branch_tally *taken;	  /* by block */
	struct annotate_account *account; /* the account of its cycles; NULL: not asked */
	const struct memory *memory;	  /* latencies of instructions; NULL: none. Borrowed. */
	enum memop_latency latency;
	struct arena arena;
};

struct annotate *annotate_build(const struct profile *p, struct images *images, size_t event,
				const char *event_name, const struct annotate_target *target,
				const struct annotate_opts *opts);
void annotate_free(struct annotate *a);
/* `b` must outlive it. */
void annotate_blocks(struct annotate *a, const struct blocks *b);
/* Adds latencies of memory operations; `m` must outlive it. */
void annotate_memory(struct annotate *a, const struct memory *m, struct images *images);
/* Adds columns of an account of cycles: `node`, or those that matter most for the function. Profile
 * and bound account must outlive it. */
int annotate_account(struct annotate *a, const struct profile *p, struct images *images,
		     const struct account_bound *bound, const char *const *node, size_t n,
		     struct err *err) MUST_USE;
void annotate_note(struct annotate *a, const char *fmt, ...) PRINTF_(2, 3);

/* Returns a line of a source file as text (not safe for terminals), NULL if the file is not
 * found. */
const char *annotate_source(struct annotate *a, const char *file, uint32_t line);

/* ---- as it is shown -------------------------------------------------------------------------- */

struct annotate_view {
	struct annotate *a;
	struct view_source source;
};
extern const struct document_form annotate_document;
void annotate_put(struct document *d, const struct annotate_view *v);

#endif
