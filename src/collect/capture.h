/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture - a copy of the files that this program reads of a machine, for --sysroot elsewhere.
 *
 *	capture_make(&stats, root, dir, &stop, &err)
 *
 * The files and their parts are in capture.def. Besides, cyclade/facts holds facts from the CPU
 * itself (CPUID), which other machines cannot read. `root` may be a captured machine; its capture
 * is the same again. The copy is made beside `dir` and renamed: it is there whole or not at all,
 * and nothing that is there already is touched. Once a signal's handler has set *stop, it ends and
 * removes the copy.
 */
#ifndef CYCLADE_COLLECT_CAPTURE_H
#define CYCLADE_COLLECT_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define CAPTURE_FILES_MAX 400000u
#define CAPTURE_BYTES_MAX (64u << 20)

struct capture_stats {
	size_t files, unread; /* unread: there, but closed to us */
	uint64_t bytes;
	char first_unread[256];
};

int capture_make(struct capture_stats *out, const char *root, const char *dir,
		 const volatile sig_atomic_t *stop, struct err *err) MUST_USE;

/* The part of a file's text that is taken; false if `path` (as in capture.def) is no row of a
 * file. */
bool capture_filter(struct buf *out, const char *path, const char *text);

/* Names of containers in /proc/1/cgroup, ended by NULL. */
extern const char *const capture_containers[];

#endif
