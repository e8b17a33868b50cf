/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox - a process that from now on only reads gives up the rights that it does not need, so
 * that a fault in a parser of foreign bytes is worth little to the author of the bytes.
 *
 *	struct sandbox s = SANDBOX_INIT;
 *	sandbox_write(&s, "out")	each file or directory that may still be written
 *	sandbox_read(&s, "/captured")	optional: then no other file may be read
 *	sandbox_enter(&s, &err)		before there are threads; closes what the calls opened
 *
 * From then on, for this process and all that it starts, for good:
 *
 *	by Landlock (Linux 5.13)	nothing is written, made, renamed or removed but below
 *					these paths (before 6.2 it is seccomp that keeps open()
 *					from emptying files);
 *					nothing is executed; no TCP (6.7); no signals to others,
 *					no abstract sockets (6.12)
 *	by seccomp (3.5)		no exec, sockets, ptrace, memory of others, mounts, modules,
 *					namespaces, keys, BPF, counters, io_uring, clocks; owners
 *					and permissions only if `owners` is set
 *	by no_new_privs			no rights from set-user-ID programs
 *
 * A refused system call fails with EPERM, and a message names each once. Open files stay open,
 * with their rights. If the kernel lacks Landlock or seccomp, the other still holds
 * (sandbox_can()). Costs 0.2 ms, and nothing for each system call that is allowed: the kernel
 * keeps the filter's answers (5.11).
 *
 * Sources: Linux, include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst
 * (rights by version of the ABI), Documentation/userspace-api/seccomp_filter.rst.
 */
#ifndef CYCLADE_BASE_SANDBOX_H
#define CYCLADE_BASE_SANDBOX_H

#include <stdbool.h>

#include "base/err.h"

#define SANDBOX_PATHS 256

struct sandbox {
	struct sandbox_path {
		int fd;	    /* O_PATH */
		bool write; /* else read */
	} path[SANDBOX_PATHS];
	unsigned n;
	bool too_many;
	bool owners; /* files that are written may get other owners and permissions: 0777 at most */
};
#define SANDBOX_INIT   \
	{              \
		.n = 0 \
	}

struct sandbox_can {
	int landlock; /* version of the ABI; 0: the kernel has none, or it is turned off */
	bool seccomp;
};

/* The file or directory of this name, and all below it; nothing there, or NULL: nothing is allowed.
 * More than SANDBOX_PATHS are an error of sandbox_enter. */
void sandbox_write(struct sandbox *s, const char *path);
void sandbox_read(struct sandbox *s, const char *path);

/* On failure the right that could not be given up is named, and the process may have given up a
 * part. */
int sandbox_enter(struct sandbox *s, struct err *err) MUST_USE;

/* The protections of this kernel, in words: "Landlock 7, seccomp". */
struct sandbox_can sandbox_can(void);
#define SANDBOX_WORDS 64
const char *sandbox_words(char out[static SANDBOX_WORDS], struct sandbox_can can);

#endif
