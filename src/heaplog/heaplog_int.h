/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heaplog - a library that `record --heap` preloads into a program: it logs the program's
 * allocations (symbol/heap_format.h).
 *
 *	calls.c		the functions that it stands before; new.c: those of C++
 *	exec.c		programs that it executes and that this library would end
 *	guard.c		filters of system calls that it sets
 *	real.c		the functions themselves, and memory until they are found
 *	log.c		the log: processes, threads, chunks
 *	chain.c		who called; frames.c: by call-frame tables
 *
 * It runs inside of any program, so: no malloc, no locks that a fork or a signal could leave held,
 * no file descriptor that stays open, no signal handler, no key of pthread_key_create(), no frame
 * below a thread's function, less than 1 kB of the stack (coroutines); errno and dlerror() are
 * kept; and a call that cannot be logged is counted, never an error of the program. Not logged:
 * calls while a thread is in here (a signal handler that allocates), programs that are static, or
 * were given more rights than we have.
 *
 * A log is written through shared mappings of its file, so its contents survive any death of the
 * program. Blocks of the disk are reserved for a chunk before it is written: on a full disk logging
 * ends. Written chunks are unmapped: limits of memory are the program's.
 *
 * State of a process is in a page that fork clears: a child begins a log of its own at its first
 * call, whatever way it was made.
 */
#ifndef CYCLADE_HEAPLOG_HEAPLOG_INT_H
#define CYCLADE_HEAPLOG_HEAPLOG_INT_H

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/heap_format.h"

#define HEAPLOG_PATH   4096
#define HEAPLOG_STARTS 64   /* threads that are created at a time; of more the stack is not known */
#define HEAPLOG_OWNERS 1024 /* threads whose chunks others go on with */
#define HEAPLOG_LOOKS  16   /* at threads that may have ended, for each chunk */

#define EXPORT	    __attribute__((visibility("default")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- the functions themselves: real.c ------------------------------------------------------ */

typedef int real_spawn(int *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, char *const *, char *const *);

struct real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *); /* NULL: not of the same allocator */
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*dlclose)(void *);
	long (*syscall)(long, long, long, long, long, long, long);
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	real_spawn *posix_spawn, *posix_spawnp, *pidfd_spawn, *pidfd_spawnp;
	int (*posix_spawn_file_actions_init)(posix_spawn_file_actions_t *);
	int (*posix_spawn_file_actions_destroy)(posix_spawn_file_actions_t *);
	int (*posix_spawn_file_actions_addchdir_np)(posix_spawn_file_actions_t *, const char *);
	int (*posix_spawn_file_actions_addchdir)(posix_spawn_file_actions_t *, const char *);
	int (*posix_spawn_file_actions_addfchdir_np)(posix_spawn_file_actions_t *, int);
	int (*posix_spawn_file_actions_addfchdir)(posix_spawn_file_actions_t *, int);
};

extern struct real real;
extern bool real_found;
bool real_find(void); /* false: not yet, as this is called while it looks */
void *real_symbol(void *handle, const char *name);
void real_forget(void);			   /* that one was not found */
void new_find(void);			   /* new.c: those of C++ */
void *early_alloc(size_t n, size_t align); /* until then */
bool early_is(const void *p);		   /* such memory is never given back */
size_t early_size(const void *p);

/* ---- the log: log.c ------------------------------------------------------------------------ */

enum busy {
	NOT_BUSY,
	LOGGING, /* allocations of now, by a signal handler, are not logged */
	INSIDE,	 /* allocations of now are a part of a logged one, or ours */
};

/* Of a process; fork clears it. */
struct process {
	_Atomic uint64_t generation; /* 0: nothing is known yet */
	_Atomic bool off;	     /* nothing more can be logged */
	_Atomic uint64_t end;	     /* of the chunks: where in the file the next one goes */
	uint64_t most;		     /* of the file */
	char *seed;		     /* the page there: NULL: no file */
	_Atomic uint32_t lock;	     /* of the file and of the owners */
	_Atomic uint32_t frames_lock;
	struct heap_chunk *first;
	_Atomic uint64_t early; /* events not logged before there was one */
	_Atomic uint64_t rate;
	_Atomic uintptr_t spare; /* chunks once there is a filter of system calls */
	uintptr_t spare_end;
	struct heap_chunk instant; /* of those: ticks and ns */
	uint64_t began;
	uint32_t pid, parent;
	uint32_t flags;
	char path[HEAPLOG_PATH]; /* of the log */
	struct start {		 /* of a thread that is being created */
		void *(*function)(void *);
		void *arg;
		uintptr_t stack; /* 0: of libc's making */
		size_t size;
		_Atomic uint32_t used;
	} start[HEAPLOG_STARTS];
	uint32_t n_owners, free_owner, next_look;
	struct owner { /* of chunks */
		struct heap_chunk *chunk;
		uint64_t *at, *end;
		pid_t tid; /* 0: none */
	} owner[HEAPLOG_OWNERS];
};

struct thread {
	uint64_t *at, *end; /* where it writes */
	struct heap_chunk *base;
	uint64_t generation;   /* of the process that these are of */
	volatile uint8_t busy; /* enum busy */
	uint32_t next;	       /* bytes of its next chunk */
	uint32_t owner;	       /* + 1; 0: none */
	uint32_t tid;	       /* 0: not known, as that takes a call */
	uint32_t freed;	       /* releases since the last one that has a time */
	uintptr_t stack, stack_end;
};

extern struct process *process;
extern __thread struct thread self __attribute__((tls_model("initial-exec")));

/* Once, when the functions are found. `own`: the program does not call our malloc; `find_object`:
 * of frames_begin(). */
void log_begin(bool own, void *find_object);
/* Room for `words` at t->at; false: it is not to be. */
bool log_room_slow(struct thread *t, size_t words);
void log_skip(void); /* one event is not logged */
void log_stack(struct thread *t, uintptr_t stack, uintptr_t end);
/* From now on no system calls are made, or they are again. */
void log_filtered(bool now);
void log_stop(void); /* nor is the CPU's counter read: nothing is logged any more */
bool log_is_filtered(void);
bool log_is_lent(void); /* to a child of vfork() */
struct held {
	uint64_t mask; /* of signals, before */
	bool bare;     /* without holding them back */
};

/* False: it is not to be had. */
bool log_try(_Atomic uint32_t *lock, struct held *h);
void log_leave(_Atomic uint32_t *lock, const struct held *h);

static inline bool log_room(struct thread *t, size_t words)
{
	if (likely(t->generation ==
			   atomic_load_explicit(&process->generation, memory_order_relaxed) &&
		   t->at + words <= t->end && t->generation))
		return true;
	return log_room_slow(t, words);
}

/* The counter that times are of; ns if it has no constant rate. */
extern bool log_no_ticks;
uint64_t log_ns(void);

static inline uint64_t log_time(void)
{
	if (likely(!log_no_ticks))
		return heap_ticks();
	return log_ns();
}

/* ---- call chains: chain.c ------------------------------------------------------------------ */

/* The chain's number; the log has it. `from`: the return address; `frame`: of the function that was
 * called. */
uint32_t chain_of(struct thread *t, const void *from, const void *frame);
void chain_reset(void); /* none is in the log */

/* exec.c: the environment that a program shall have. */
char *const *exec_env(int at, const char *path, int flags, char *const *env);

struct chain {
	uint64_t at[HEAP_DEPTH], hash;
	uint32_t n;
};

static inline void chain_begin(struct chain *c, uint64_t from)
{
	c->at[0] = from;
	c->n = 1;
	c->hash = (from ^ 0x2545f4914f6cdd1du) * 0x9e3779b97f4a7c15u;
}

static inline void chain_add(struct chain *c, uint64_t from)
{
	c->at[c->n++] = from;
	c->hash = ((c->hash >> 29 ^ c->hash) ^ from) * 0x9e3779b97f4a7c15u;
}

/* frames.c: call-frame tables are found with `find` (_dl_find_object); false: they are not. */
bool frames_begin(void *find);
void frames_forget(void); /* other code may lie where some was */
bool frames_walk(const struct thread *t, const void *from, const void *frame, struct chain *out);

#endif
