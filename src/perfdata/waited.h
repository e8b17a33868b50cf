/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waited - what threads waited for, as /proc named it while they were recorded: the header feature
 * CYCLADE_WAITED, ours, which perf passes over.
 *
 *	pd_info(rec)->look, ->fd_look		what was seen
 *	k = pd_call_object(name, len, &arg)	"read", "futex": which argument names the object
 *
 * A look found one thread in one function of the kernel, with one object, `times` times one after
 * the other; it knows nothing of the times between. A descriptor's look says which file a number
 * was in a process, at `from`, at `until`, and at each look between them. Times are those of the
 * samples' clock.
 *
 * Layout: u32 version (1), u32 flags (PD_WAITED_*); u32 count, then of each look u32 pid, tid, u64
 * times, from, until, u32 kind, u64 value, and two strings, function and text; u32 count, then of
 * each descriptor u32 pid, fd, u64 from, until, and a string. Strings are as in other features.
 */
#ifndef CYCLADE_PERFDATA_WAITED_H
#define CYCLADE_PERFDATA_WAITED_H

#include <stddef.h>
#include <stdint.h>

#define PD_WAITED_VERSION 1
/* Chains of switches were unwound: of user space no inner frame is missing. */
#define PD_WAITED_UNWOUND 1u

enum pd_object { /* numbers are the file's */
		 PD_OBJECT_NONE = 0,
		 PD_OBJECT_ADDRESS = 1, /* value: of memory, a futex */
		 PD_OBJECT_FD = 2,	/* value: the descriptor; text: its file */
		 PD_OBJECT_PID = 3,	/* value: a child; -1: any */
		 PD_OBJECT_QUEUE = 4,	/* value: number of a System V message queue */
		 PD_OBJECT_SEMAPHORE = 5,
		 PD_OBJECT_FDS = 6,   /* text: of poll and select */
		 PD_OBJECT_QUOTA = 7, /* text: the cgroup that has one */
		 PD_OBJECTS
};

struct pd_look {
	uint32_t pid, tid;
	uint64_t times, from, until;
	enum pd_object kind;
	uint64_t value;
	const char *function, *text; /* text "": not known */
};

struct pd_fd_look {
	uint32_t pid, fd;
	uint64_t from, until;
	const char *text;
};

/* Returns what a system call waits for, and the number of the argument, from 0, that names it;
 * PD_OBJECT_NONE: nothing that has a name. */
enum pd_object pd_call_object(const char *name, size_t len, unsigned *arg);

#endif
