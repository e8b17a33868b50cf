/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * synth - records of the state before recording began: the kernel and its modules, processes, their
 * threads, names and mappings. The kernel reports only changes.
 *
 * Records have time 0 and a trailer of `trailer` zero bytes (the length of sample_id_all's fields).
 * Processes that end while we look are skipped. Nothing of /proc is trusted: lengths are bounded,
 * lines that do not parse skipped.
 */
#ifndef CYCLADE_COLLECT_SYNTH_H
#define CYCLADE_COLLECT_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct synth {
	int (*put)(void *ctx, const void *record, size_t len, struct err *err);
	void *ctx;
	size_t trailer; /* bytes, a multiple of 8 */
	bool data_maps; /* mappings without code too (-d) */
};

/* [kernel.kallsyms]_text, the modules, and BPF programs if we may list them; nothing if addresses
 * are hidden. */
int synth_kernel(const struct synth *s, struct err *err) MUST_USE;
/* One process with all its threads. */
int synth_process(const struct synth *s, pid_t pid, struct err *err) MUST_USE;
/* The kernel has number 0 for tasks that this PID namespace does not see: their COMM record. */
#define SYNTH_OUTSIDE "[outside]"
/* This PID namespace is not the machine's. */
bool synth_sees_part(void);
/* Every process. If some may be outside of this PID namespace, these as SYNTH_OUTSIDE. */
int synth_all(const struct synth *s, struct err *err) MUST_USE;
/* Every cgroup of the hierarchy that samples follow; none if it is not mounted. */
int synth_cgroups(const struct synth *s, struct err *err) MUST_USE;
/* Threads of a process into tids (plain malloc memory, the caller's); -1: no such process. */
int synth_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err) MUST_USE;
/* Threads of all processes that a user runs, of ours none; as synth_threads. */
int synth_threads_of(uid_t user, pid_t **tids, size_t *n, struct err *err) MUST_USE;
/* The process a thread belongs to, or -1. */
pid_t synth_tgid(pid_t tid);
/* The real user of a process. False: it is gone. */
bool synth_user(pid_t pid, uid_t *user);

#endif
