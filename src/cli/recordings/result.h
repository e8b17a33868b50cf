/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * result - one result of a recording: a document, and the data below it.
 *
 * Its rows are in results.def. A command shows one:
 *
 *	int cmd_calls(struct cli *cli)
 *	{
 *		return result_command(cli, RESULT_CALLS, cli_file_function);
 *	}
 *
 * and has its maker beside it: calls_make() is given the open recording and fills a struct result.
 * results.h makes several.
 */
#ifndef CYCLADE_CLI_RESULT_H
#define CYCLADE_CLI_RESULT_H

#include "base/vec.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "show/document.h"

/* Data shared by results of one kind, each of another function: made by the first of them. */
struct result_shared {
	void *own;
	void (*end)(void *own);
};

/* Data shared by results of several kinds, all of one selection: made by the first of them, or for
 * all of them in one walk (result_bases_walk). */
struct result_bases {
	struct result_shared memory; /* built by mem (memory.h) */
	struct result_shared flow, wait;
	VEC(struct profile *) profile;
	struct cube *cube;
	struct mux *mux;
};
void result_bases_free(struct result_bases *b);

struct result_ask {
	struct cli *cli; /* the options; documents may point into its arena */
	const struct recording *r;
	struct cli_operands said;
	const struct show *show;      /* tables that it leaves out need not be made */
	struct result_shared *shared; /* of this kind */
	struct result_bases *bases;   /* of all kinds; NULL: one result */
};

struct result {
	struct document d; /* opened by the maker once nothing can fail any more but memory */
	/* The functions that a name may mean, in the cli's arena: then there is no document. NULL
	 * with a number: there was no memory. */
	struct cli_choice *choice;
	size_t n_choices;
	void *own; /* the document's data */
	void (*end)(void *own);
};

/* Fills *out, which is empty; the caller frees it, also after a failure. */
typedef int result_make(struct result *out, const struct result_ask *ask, struct err *err);

enum result_id {
#define RESULT(id, ...) RESULT_##id,
#include "cli/recordings/results.def"
#undef RESULT
	RESULT_COUNT
};

struct result_kind {
	const char *name;
	enum command command;
	const char *options; /* of the command, that make it this result */
	const struct document_form *form;
	result_make *make;
};
extern const struct result_kind result_kinds[RESULT_COUNT];

#define RESULT(id, name, command, options, form, make) result_make make;
#include "cli/recordings/results.def"
#undef RESULT

/* Walks over the samples once for the data shared by most results of the recording, and for the
 * cube of that event (SIZE_MAX: none). If a part fails, the result that needs it makes it and
 * reports the error. */
int result_bases_walk(struct result_bases *b, struct cli *cli, const struct recording *r,
		      size_t cube_event, struct err *err) MUST_USE;

/* Safe on empty and failed results. */
void result_free(struct result *x);
void result_shared_free(struct result_shared *s);

struct flow;
struct wait;
/* The branches of the selection, with weights (blocks_weigh), and the time of its threads. Both
 * outlive the result; if it is the only one they are its `own`, which it frees. */
int result_flow(const struct flow **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err) MUST_USE;
/* Samples by keys. `own` gets it if this is the only result; else NULL. */
struct profile;
int result_profile(const struct profile **out, struct profile **own, const struct result_ask *ask,
		   const struct profile_opts *po, struct err *err) MUST_USE;
int result_wait(const struct wait **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err) MUST_USE;

/* The whole command: format, operands, recording, result, output. Returns the exit code. */
int result_command(struct cli *cli, enum result_id id,
		   int (*operands)(struct cli *cli, struct cli_operands *out, struct err *err));

#endif
