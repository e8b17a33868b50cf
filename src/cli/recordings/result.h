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

#include "analyse/flow.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/recording.h"
#include "show/document.h"

#define ACCOUNT_EVENTS 4 /* of a recording: with fewer there is no account unless it is asked for */

/* Data shared by results of one kind, each of another function: made by the first of them. */
struct result_shared {
	void *own;
	void (*end)(void *own);
};

/* What results of several kinds rest on, all of one selection: made by the first of them, or for
 * all of them in one walk (results_walk). */
struct result_bases {
	struct result_shared memory; /* built by mem (memory.h) */
	struct result_shared flow, wait;
	VEC(struct profile *) profile;
	VEC(struct profile *) begun; /* profiles that the walk to come is for */
	/* Of an event that others beside it tell of memory, for annotate. */
	struct memory *event_memory;
	size_t memory_event;
	struct profile_reads *reads;
	struct cube *cube;
	struct wall_cube *wall; /* for the page; NULL: none */
	struct mux *mux;
	struct flow_opts flow_opts;
	bool open; /* between result_bases_begin() and _end() */
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
	/* The functions that a name may mean, in the cli's arena: then there is no document. */
	struct cli_choice *choice;
	size_t n_choices;
	void *own; /* the document's data */
	void (*end)(void *own);
};

/* Fills *out, which is empty but for what its result_walk made; what it has by then is freed by the
 * caller, failed or not. */
typedef int result_make(struct result *out, const struct result_ask *ask, struct err *err);

struct pass;
/* Adds visitors to a walk over the selected samples and sets out->own: for the first walk if
 * `turn` is 0, for the second, after the first, if it is 1. Fails before it adds any. */
typedef int result_walk(struct result *out, const struct result_ask *ask, struct pass *pass,
			unsigned turn, struct err *err);

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
/* NULL: it rests on what others share, or walks by itself. */
extern result_walk *const result_walks[RESULT_COUNT];

#define RESULT(id, name, command, options, form, make) result_make make;
#include "cli/recordings/results.def"
#undef RESULT

result_walk report_walk, account_walk, registers_walk, mem_walk, sharing_walk, wait_walk, wall_walk,
	concurrency_walk, sched_walk, critical_walk, findings_walk;

/* A pass over the samples that the options select, of all events. */
int result_pass(struct pass **out, struct cli *cli, const struct recording *r,
		struct err *err) MUST_USE;
/* For what most results of the recording rest on, and for the cube of that event (SIZE_MAX: none):
 * begin adds visitors, end is called after each walk, whether it failed or not. What cannot be made
 * is left to who asks for it. */
int result_bases_begin(struct result_bases *b, struct cli *cli, const struct recording *r,
		       size_t cube_event, struct pass *pass, struct err *err) MUST_USE;
void result_bases_end(struct result_bases *b, const struct recording *r, bool failed);

/* Safe on empty and failed results. */
void result_free(struct result *x);
void result_shared_free(struct result_shared *s);

struct wait;
/* The branches of the selection, with weights (blocks_weigh), and the time of its threads. Both
 * outlive the result; if it is the only one they are its `own`, which it frees. */
int result_flow(const struct flow **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err) MUST_USE;
/* Samples by keys. `own` gets it if this is the only result; else NULL. */
struct profile;
int result_profile(const struct profile **out, struct profile **own, const struct result_ask *ask,
		   const struct profile_opts *po, struct err *err) MUST_USE;
/* For results that share bases: what result_profile() then finds. */
int result_profile_begin(const struct result_ask *ask, struct pass *pass,
			 const struct profile_opts *po, struct err *err) MUST_USE;
bool result_has_account(const struct recording *r);
/* The selected samples of each event, as profile_samples() counts them; false: no profile has. */
bool result_sums(struct tally *of, const struct result_bases *b);
int result_wait_begin(const struct result_ask *ask, struct result_shared *own, struct pass *pass,
		      struct err *err) MUST_USE;
int result_wait(const struct wait **out, const struct result_ask *ask, struct result_shared *own,
		struct err *err) MUST_USE;

/* The walks of a result that is the only one. */
int result_walk_alone(struct result *x, const struct result_ask *ask, result_walk *walk,
		      struct err *err) MUST_USE;
/* The whole command: format, operands, recording, result, output. Returns the exit code. */
int result_command(struct cli *cli, enum result_id id,
		   int (*operands)(struct cli *cli, struct cli_operands *out, struct err *err));

#endif
