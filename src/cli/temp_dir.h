/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * temp_dir - a directory of ours for as long as a command runs, below $TMPDIR (/tmp).
 *
 *	temp_dir_open(dir, sizeof(dir), NULL, &err)
 *	temp_dir_guard(dir, file)	a signal that ends us removes the file and the directory
 *	... unlink its files ...
 *	temp_dir_close(dir)		ends the guard, too; "" is fine
 *
 * Signals are SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGPROF, SIGIO,
 * SIGVTALRM and SIGPWR. One directory at a time. temp_dir_open() removes the directories that
 * killed processes of ours have left in the same place (base/dir_held.h).
 */
#ifndef CYCLADE_CLI_TEMP_DIR_H
#define CYCLADE_CLI_TEMP_DIR_H

#include <stddef.h>

#include "base/err.h"

#define TEMP_DIR_MAX 1024

/* Below `first`, if that is possible (NULL: it is not asked for). On failure dir is "". Holds these
 * twelve signals back until temp_dir_guard(), which has to follow. */
int temp_dir_open(char *dir, size_t size, const char *first, struct err *err) MUST_USE;
/* Both stay where they are until it is closed. Signals that are ignored stay ignored. */
void temp_dir_guard(const char *dir, const char *file);
/* For a handler that ends the process: removes a guarded directory and its file, if it has one. */
void temp_dir_remove(void);
void temp_dir_close(char *dir);

#endif
