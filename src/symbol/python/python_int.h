/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * python_int - inside of python.h: where things are (python_layout.c), code objects
 * (python_code.c), threads and frames (python.c).
 */
#ifndef CYCLADE_SYMBOL_PYTHON_PYTHON_INT_H
#define CYCLADE_SYMBOL_PYTHON_PYTHON_INT_H

#include "base/arena.h"
#include "base/hash.h"
#include "symbol/python.h"

/* Offsets of members, each below PYTHON_OFFSET_MAX. */
struct python_layout {
	uint32_t version;
#define PYTHON_OFFSET(name, in_3_11, in_3_12) uint32_t name;
#include "symbol/python/python_layout.def"
#undef PYTHON_OFFSET
	uint32_t cframe;     /* of the frame in the structure that the thread points to; or */
	bool frame_direct;   /* the thread has the frame itself (3.13) */
	uint32_t entry_flag; /* 3.11: the byte that marks the first frame of a call; 0: none */
	uint8_t shim_owner;  /* 3.12: frames of this owner and above are no code's */
	uint8_t state_shift; /* where a text's kind is in its state */
	uint8_t text_wide;   /* bytes from the end of an ASCII text's head to another's data */
};

/* PART: most that is read of an object at once, from its beginning. */
enum { PYTHON_OFFSET_MAX = 1 << 20, PYTHON_PART_MAX = 512 };

int python_layout_read(struct python_layout *l, const struct python_memory *m, uint64_t runtime,
		       uint32_t version, struct err *err) MUST_USE;

struct python_code; /* a code object */
struct python {
	struct python_memory m;
	struct python_layout l;
	uint64_t runtime;
	struct arena arena;
	struct u64map code;   /* address -> struct python_code */
	struct u64map thread; /* tid -> address of its state; 0 to MISSES: it had none */
	uint32_t n_functions;
	size_t lines_seen; /* bytes of tables of lines, for the thread at hand */
	/* bytes that were read last */
	uint64_t window_at;
	size_t window_len;
	uint8_t window[4096];
};

/* The function of the code object at `addr`, and the line of its instruction at `instruction`;
 * NULL: it is none, memory is short, or the tables that led here are too long. */
const struct python_function *python_code_at(struct python *py, uint64_t addr, uint64_t instruction,
					     uint32_t *line);
/* The line of the byte `offset` of the code by CPython's table (PEP 626, Objects/locations.md);
 * `first`: none is known. *seen grows by the bytes of the table that were read. */
uint32_t python_line(const uint8_t *table, size_t n, uint32_t first, uint64_t offset, size_t *seen);

#endif
