/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data - what lies at an address of data: a variable of a file, or a kind of memory.
 *
 *	data_find(&x, spaces, process, address, time, &err)
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

#include "symbol/space.h"

enum data_kind {
	DATA_UNKNOWN, /* no mapping is recorded there */
	DATA_VARIABLE,
	DATA_FILE,  /* of a file, but no variable that has a symbol */
	DATA_HEAP,  /* of brk; larger blocks and other arenas of malloc are anonymous */
	DATA_STACK, /* of the first thread; other threads' stacks are anonymous */
	DATA_ANONYMOUS,
	DATA_SHARED, /* memfd, System V, shared anonymous memory */
	DATA_KERNEL,
};

struct data_place {
	enum data_kind kind;
	uint32_t image;		       /* of the variable or the mapping; IMAGE_NONE: none */
	const struct symbol *variable; /* NULL: none; its start is an ELF virtual address */
	uint64_t start, size;	       /* of variable or mapping, as run-time addresses; 0: none */
};

/* `proc` NULL: a process without mappings. -1 only for lack of memory. */
int data_find(struct data_place *out, const struct spaces *sp, const struct process *proc,
	      uint64_t address, uint64_t time, struct err *err) MUST_USE;
/* "variable", "heap", ... */
const char *data_kind_name(enum data_kind kind);

#endif
