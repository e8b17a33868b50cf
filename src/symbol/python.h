/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * python - the frames of a thread of CPython 3.11 to 3.14, from the memory of its process.
 *
 *	py = python_new(&memory, runtime, version, &err)	refuses what it does not know
 *	n = python_frames(py, tid, frame, max, &torn)		innermost first
 *	python_free(py)
 *
 * CPython keeps a linked list of its own frames for each thread; a frame has its code object and
 * the instruction, the code object the names and the table of lines. Where these are: from 3.13 on
 * _PyRuntime begins with a table of the offsets (_Py_DebugOffsets), which is used; 3.11 and 3.12
 * have none, their offsets are ours (python_layout.def) for builds of 64 bits without Py_DEBUG, and
 * what is found there is checked: a thread's state names its interpreter and its kernel thread. Not
 * for free-threaded builds.
 *
 * The process runs while it is read, and may be hostile: each read is bounded, lists and memory
 * have a greatest length, and so have the tables of lines of one call, text is made UTF-8 without
 * control characters, and a chain that leads nowhere is read again, at most PYTHON_TRIES times;
 * then it is `torn`. Names are kept by code object, and used again if the object still has the same
 * members.
 *
 * Costs: one read for the thread, one for each page of frames, one for each frame's code. Not for
 * use by two threads at once.
 */
#ifndef CYCLADE_SYMBOL_PYTHON_H
#define CYCLADE_SYMBOL_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	PYTHON_FRAMES_MAX = 1024,
	PYTHON_TRIES = 3,
	PYTHON_NAME_MAX = 200, /* bytes of a function's name, with its NUL */
	PYTHON_PATH_MAX = 400,
};

/* Reads `n` bytes of the process at `addr`; false: not all of them are there. */
struct python_memory {
	bool (*read)(void *ctx, uint64_t addr, void *to, size_t n);
	void *ctx;
};

struct python_function {
	char name[PYTHON_NAME_MAX]; /* "Class.method"; before 3.11 there was none */
	char file[PYTHON_PATH_MAX]; /* as the code object has it: "/srv/app.py", "<string>" */
	uint32_t first_line;
	uint32_t number; /* of this process' functions, from 0 */
};

struct python_frame {
	const struct python_function *function; /* the python's, until python_free() */
	uint32_t line;
	/* The interpreter's C function was called anew for it: the frames from here to the next
	 * such one, inwards, are of one call of _PyEval_EvalFrameDefault(). */
	bool entry;
};

/* What is needed of the interpreter's file, as addresses of the process that has mapped its code at
 * `start`, from offset `pgoff` on; 0: not there. */
struct python_file {
	uint64_t runtime, version; /* _PyRuntime, Py_Version */
	uint64_t eval, eval_end;   /* _PyEval_EvalFrameDefault() */
};
/* -1: it is no ELF file of this machine, or has no _PyRuntime. */
int python_file_read(struct python_file *out, const void *p, size_t len, const char *path,
		     uint64_t start, uint64_t pgoff, struct err *err) MUST_USE;

struct python;

/* `runtime`: the address of _PyRuntime. `version`: what Py_Version holds (0x030b02f0), 0: not
 * known. */
struct python *python_new(const struct python_memory *m, uint64_t runtime, uint32_t version,
			  struct err *err) MUST_USE;
void python_free(struct python *py); /* NULL is fine */
/* The frames of the kernel's thread `tid`, at most `max`; 0: it runs no Python, or *torn: its
 * frames could not be read. */
size_t python_frames(struct python *py, uint32_t tid, struct python_frame *out, size_t max,
		     bool *torn);

#endif
