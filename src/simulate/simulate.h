/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulate - runs a program under QEMU's user emulation and has the model follow it.
 *
 *	simulate_open(&s, &opts, &err)
 *	simulate_run(s, &err)		until the program ends
 *	s->sums, s->counts, s->map ...	what came of it
 *	simulate_close(s)
 *
 * Counted is what the program does in user space: the kernel's time, and other processes that it
 * starts, are not. Threads run one at a time, each on a core of its own, and share the last cache.
 * A run of one thread is the same each time: the emulator lays out memory in the same way, and its
 * random numbers come from a fixed seed.
 */
#ifndef CYCLADE_SIMULATE_SIMULATE_H
#define CYCLADE_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "collect/workload.h"
#include "simulate/reader.h"
#include "simulate/sums.h"

struct simulate_opts {
	const char *qemu;	 /* the emulator */
	const char *plugin;	 /* a path without commas */
	const char *const *argv; /* the program; ended by NULL */
	const struct core *machine;
	const sigset_t *mask; /* of signals, for the program */
	void (*progress)(void *ctx, uint64_t insns);
	void *ctx;
};

struct simulate_map { /* a file, as the program has it mapped */
	uint64_t at, len, offset;
	const char *path;
	bool runs; /* code of it ran */
};

struct simulate_thread;

struct simulate {
	struct simulate_opts opts;
	struct arena a;
	struct reader reader;
	struct workload w;
	struct insn_decoder *decoder;
	struct sim_outer *outer;
	struct sums sums;
	VEC(struct simulate_map) map;
	VEC(struct simulate_thread *) thread;
	struct sim_counts counts; /* of all threads together; cycles: the most of one */
	uint64_t calls;		  /* of the system */
	uint64_t children;	  /* processes that were not followed */
	bool became;		  /* another program, which was not followed */
	struct err failed;
};

int simulate_open(struct simulate **out, const struct simulate_opts *opts,
		  struct err *err) MUST_USE;
/* Its status is s->w.status; a program that failed is no error. */
int simulate_run(struct simulate *s, struct err *err) MUST_USE;
/* Writes what it found as a recording that `report` and the others read (recording.c). `tree`: the
 * text of the tree (report/tree_saved.h). */
int simulate_save(const struct simulate *s, const char *path, bool ours, const struct buf *tree,
		  const char *const *command, uint64_t *samples, struct err *err) MUST_USE;
/* The part of simulate_run() that reads the stream, for one that is there already (tests). */
int simulate_follow(struct simulate *s, struct err *err) MUST_USE;
void simulate_close(struct simulate *s); /* NULL is fine */

#endif
