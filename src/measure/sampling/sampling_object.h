/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sampling_object - what a thread waits for, by what /proc shows while it waits.
 *
 *	object_call(&before, tid)	the system call in which it is
 *	object_find(&o, &before, pid, &text, sockets)
 *	object_call(&after, tid)	the same: it was in that call all the time
 *
 * A descriptor is that of the process now: whether it is the one that the thread waits for is for
 * the caller to prove. What may not be read, or is of a 32-bit program, is not known. Nothing of
 * /proc is trusted: texts are bounded, and lines that do not parse are skipped.
 */
#ifndef CYCLADE_MEASURE_SAMPLING_OBJECT_H
#define CYCLADE_MEASURE_SAMPLING_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "perfdata/waited.h"

struct object_call {
	long number;
	uint64_t arg[6], sp, pc;
};

struct object {
	enum pd_object kind;
	uint64_t value;
};

/* Names of sockets by inode, as far as they stay: connected ones, and those that listen. */
struct object_sockets {
	struct u64map at;
	struct strtab text;
};

/* False: it runs, or may not be looked at. */
bool object_call(struct object_call *c, uint32_t tid);
bool object_same_call(const struct object_call *a, const struct object_call *b);
/* Puts the text of descriptors (pd_look.text). */
void object_find(struct object *o, const struct object_call *c, uint32_t pid, struct buf *text,
		 struct object_sockets *sockets);
/* The file of a descriptor: "/a/file", "pipe:[12]", "socket:[13] tcp 127.0.0.1:80 to ...". Nothing
 * is put if that is not known. */
void object_fd(struct buf *out, uint32_t pid, uint32_t fd, struct object_sockets *sockets);
/* The cgroup with the only quota of CPU time that a thread is under; nothing is put if it has none,
 * or several. */
void object_quota(struct buf *out, uint32_t tid);
void object_sockets_free(struct object_sockets *s);

#endif
