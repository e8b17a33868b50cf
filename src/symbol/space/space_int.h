/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space_int - shared by the files of space: facts (space_facts.c), their versions
 * (space_build.c), and look-ups (space.c).
 */
#ifndef CYCLADE_SYMBOL_SPACE_INT_H
#define CYCLADE_SYMBOL_SPACE_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/heap.h"
#include "symbol/image/jitdump.h"
#include "symbol/image/pieces.h"
#include "symbol/space.h"

enum fact_type {
	FACT_MAP,
	FACT_FORK,
	FACT_EXIT,
	FACT_COMM,
	FACT_EXEC,
	FACT_CLEAR,
	FACT_KSYM,
	FACT_KSYM_GONE,
};

struct fact {
	uint64_t time;
	uint8_t type;
	uint8_t kind;	   /* enum space_kind */
	uint32_t pid, tid; /* pid, tid of parent: see a, b */
	uint32_t a, b;	   /* FORK: ppid, ptid; MAP: map number; COMM: name */
};

/* The mapping that a record is about, and its image. `f->len` is not 0. */
int space_map_of(struct images *images, const struct space_map_fact *f, struct map *m,
		 struct err *err) MUST_USE;

struct version {
	uint64_t time;
	uint32_t root;
};

/* From `time` on, the code of a dump lies over anonymous memory, as of `as_of` at the latest. */
struct jit_at {
	uint64_t time, as_of;
	struct jit_layer *layer; /* NULL: of none */
};

struct process {
	uint32_t pid, index;
	uint64_t born, until; /* `until`: the next incarnation's birth */
	uint32_t next;	      /* the incarnation of this pid that came before, or PROC_NONE */
	uint32_t nth;	      /* how many came before */
	uint32_t group;	      /* of the newest: where its pid's incarnations begin in by_pid */
	uint32_t live, execs; /* its known threads that did not exit; execs until now */
	bool dead, renewed;   /* all threads known have exited; a newer incarnation exists */
	VEC(struct version) version;
	VEC(struct jit_at) jit; /* in order of time */
};

#define PROC_NONE UINT32_MAX

/* A process was forked, or executed a program; only in recordings with a log of allocations. */
struct process_begins {
	uint64_t time;
	uint32_t pid, parent; /* HEAP_EXECUTED: it executed one */
};

struct name_at {
	uint64_t time;
	uint32_t comm;
};

struct thread {
	VEC(struct name_at) name;
	/* whose thread it is at the moment that spaces_finish() has come to */
	uint32_t owner, execs;
	bool alive;
};

struct spaces {
	struct images *images;
	struct strtab strings;
	struct arena arena;
	VEC(struct fact) fact;
	VEC(struct map) map;
	VEC(struct process *) process;
	VEC(struct thread) thread;
	struct u64map
		last_process;	 /* place_key(kind, pid) -> index + 1 of the newest incarnation */
	struct u64map thread_of; /* tid -> index in thread */
	struct u64map cgroup;	 /* id -> string */
	struct pieces pieces;
	/* processes of their own, PROC_NONE if none */
	uint32_t kernel, ksyms, guest_kernel;
	uint32_t *by_pid; /* process numbers, the incarnations of one pid together, oldest first */
	VEC(struct jit_layer *) jit;
	/* of `record --heap`; read by data_begin() */
	const uint8_t *heap_log;
	size_t heap_log_len;
	VEC(struct process_begins) begins;
	struct heap *heap;
	struct heap_sites *sites;
	bool monotonic;
	bool outside; /* some tasks are outside of the recorder's PID namespace */
	bool finished;
};

/* Kernels are one process each, under a pid that no process has; a guest's users are apart from the
 * host's. */
#define KSYMS_KEY (4ULL << 40) /* apart: when one goes, the code below is there again */

static inline uint64_t place_key(enum space_kind kind, uint32_t pid)
{
	switch (kind) {
	case SPACE_KERNEL:
		return 1ULL << 40;
	case SPACE_GUEST_KERNEL:
		return 2ULL << 40;
	case SPACE_GUEST_USER:
		return 3ULL << 40 | pid;
	default:
		return pid;
	}
}

/* space_jit.c. A mapping was made in `p`: perhaps a dump. */
void jit_mapped(struct spaces *sp, struct process *p, const struct map *m, uint64_t time);
void jit_inherited(struct process *child, const struct process *parent, uint64_t time);
void jit_gone(struct process *p, uint64_t time); /* its mappings are */
/* The code at `ip` at `time`, or NULL; the span is only made narrower. */
const struct map *jit_find(const struct process *p, uint64_t ip, uint64_t time,
			   struct space_span *s);
void jit_free(struct spaces *sp);

/* The newest incarnation, or NULL. */
static inline struct process *newest(const struct spaces *sp, uint64_t key)
{
	const uint64_t *at = u64map_find(&sp->last_process, key);

	return at ? sp->process.v[*at - 1] : NULL;
}

#endif
