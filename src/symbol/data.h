/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data - the object at an address of data at a time: a variable, an allocation, a stack, a kind of
 * memory. All look-ups of an address's object go here.
 *
 *	data_begin(spaces)	once: reads the log of allocations, if the recording has one
 *	data_find(&x, spaces, process, address, time)
 *	data_name(text, &x, images)
 *
 * Allocations are those that `record --heap` logged (heap.h): each has a start, a size and a site,
 * the call chain that allocated it (heap_site.h); stacks of threads are in the same log. `why` has
 * the reason if heap, anonymous or unknown memory is no object.
 *
 * Variables are the objects of the symbol table (STT_OBJECT, .bss included) of the file that was
 * mapped there at that time. The file is found by its mapped code, which every recording has, so
 * mappings of data are not needed for variables. Other memory is known by the name of its mapping:
 * only a recording with mappings of data has these (record -d). Thread-local variables have no
 * address of their own in the file: they are anonymous memory.
 * Threads: as image.h, a process' images by one thread at a time.
 */
#ifndef CYCLADE_SYMBOL_DATA_H
#define CYCLADE_SYMBOL_DATA_H

#include "base/buf.h"
#include "symbol/heap.h"
#include "symbol/heap_site.h"
#include "symbol/space.h"

enum data_kind {
	DATA_UNKNOWN, /* no mapping is recorded there */
	DATA_VARIABLE,
	DATA_FILE, /* of a file, but no variable that has a symbol */
	DATA_HEAP, /* an allocation; without a log the memory of brk: larger blocks and other arenas
		     * are anonymous then */
	DATA_STACK, /* without a log of the first thread only, others' are anonymous then */
	DATA_ANONYMOUS,
	DATA_SHARED, /* memfd, System V, shared anonymous memory */
	DATA_KERNEL,
};

struct data_place {
	enum data_kind kind;
	uint32_t image;		       /* of the variable or the mapping; IMAGE_NONE: none */
	const struct symbol *variable; /* NULL: none; its start is an ELF virtual address */
	uint64_t start, size; /* of variable, allocation or mapping, at run time; 0: none */
	const struct heap_site
		*site; /* of an allocation or an anonymous mapping; NULL: not known */
	uint32_t tid;  /* of a stack; 0: not known */
	/* The answer holds everywhere in [low, high) and [from, until); else from and until 0. */
	uint64_t low, high, from, until;
	const char *why; /* it is no object; else NULL */
};

/* Before the first data_find; more than once is fine. */
void data_begin(struct spaces *sp);
/* Returns the facts of the log; NULL: there is none. After data_begin. */
const struct heap_facts *data_heap_facts(const struct spaces *sp);

/* Processes that the library of record --heap was not in, and logs of pids that the recording has
 * not: those are of processes in a PID namespace. */
struct data_logs {
	size_t without; /* executed a program without that library: they have no log */
	uint32_t pid;	/* the first of them, and its name; NULL: not known */
	const char *name;
	size_t of_others; /* logs of pids that the recording has not */
};
struct data_logs data_logs(const struct spaces *sp); /* without a log of the recording all 0 */

/* Every allocation and anonymous mapping of the log, with its site (n 0: not known), but no stacks.
 * `take` returns -1 if memory runs out. */
int data_each_allocation(const struct spaces *sp,
			 int (*take)(void *ctx, const struct heap_object *o,
				     const struct heap_site *site),
			 void *ctx, struct err *err) MUST_USE;

/* `proc` NULL: a process without mappings. */
void data_find(struct data_place *out, const struct spaces *sp, const struct process *proc,
	       uint64_t address, uint64_t time);
/* "variable", "heap", ... */
const char *data_kind_name(enum data_kind kind);
/* Puts its name: a variable's, "node_new list.c:12 < build < main", "stack of 1234", a file's;
 * nothing if only its kind is known. */
void data_name(struct buf *out, const struct data_place *p, const struct images *set);
/* Two places are of the same object: all that one site allocated is one. */
bool data_same_object(const struct data_place *a, const struct data_place *b);

#endif
