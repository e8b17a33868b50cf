/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_words - what users of perf type: its commands (perf_command.def) and its values of our
 * options. Its options are rows of perf_option.def.
 */
#ifndef CYCLADE_CLI_PERF_WORDS_H
#define CYCLADE_CLI_PERF_WORDS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* Returns true, with `err` filled, if `command`, followed by `next` (NULL: nothing), is perf's and
 * not ours. A word behind a command of ours that names a file is the file. */
bool perf_command_refused(const char *command, const char *next, struct err *err);

/* Returns what the value of this option means here, mostly `v` itself. NULL: `err` is filled. */
const char *perf_value(struct arena *a, const char *option, const char *v, struct err *err);

/* Returns the size in "dwarf,SIZE", else NULL. */
const char *perf_stack_size(const char *v);

/* Returns true if `v` says how perf report draws chains: "caller", "graph,0.5,callee", ... */
bool perf_chain_words(const char *v);

#endif
