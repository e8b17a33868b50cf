/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind - call chains from recorded user registers and a piece of the stack (-g=dwarf), by the
 * call-frame tables of the programs: .eh_frame, else .debug_frame. If neither covers an address
 * (code made at run time), the frame pointer is followed as long as it leads into the stack.
 *
 * Memory is the recorded piece of stack, else the bytes of a file that was mapped read-only.
 * x86-64, i386 and AArch64. One unwinder per thread (1 MB); the tables are read once per image and
 * shared by all. unwinder_free before images_free.
 */
#ifndef CYCLADE_SYMBOL_UNWIND_H
#define CYCLADE_SYMBOL_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/live.h"

struct unwinder;

struct unwind_in {
	const struct process *proc;	 /* of a recording; with `time` */
	const struct live_process *live; /* instead, of unwinder_new_live() */
	uint64_t time;
	unsigned machine; /* EM_X86_64, EM_AARCH64, ... of the recording */
	uint64_t abi, reg_mask;
	const uint8_t *regs; /* popcount(mask) u64, perf's register order */
	const uint8_t *stack;
	uint64_t stack_size;
};

enum unwind_end {		  /* why it stopped */
		  UNWIND_DONE,	  /* reached the outermost frame */
		  UNWIND_NO_CODE, /* no mapping or no file for an address */
		  UNWIND_NO_CFI,
		  UNWIND_STACK, /* the recorded piece of stack was too short */
		  UNWIND_LIMIT, /* max frames */
		  UNWIND_BAD,	/* the tables make no sense, or frames repeat */
		  UNWIND_ENDS,
};

struct unwinder *unwinder_new(const struct spaces *sp, struct err *err) MUST_USE;
/* For processes as they are now. */
struct unwinder *unwinder_new_live(const struct live_spaces *l, struct err *err) MUST_USE;
void unwinder_free(struct unwinder *u);
/* Innermost first into ips: where it was, then where each call returns to (behind a signal
 * handler's frame: where the signal struck). Returns how many (0 if not even the ip register was
 * recorded). */
size_t unwind_user(struct unwinder *u, const struct unwind_in *in, uint64_t *ips, size_t max,
		   enum unwind_end *end);
/* How many bytes of its piece of stack the last walk needed, from the first. */
uint64_t unwind_reach(const struct unwinder *u);
/* Finds the caller of the innermost function if a frame-pointer chain misses it: on AArch64, if by
 * the tables the return address is still in the link register at `pc`. Returns that address; 0: it
 * is not there, or that is unknown. in->stack may be NULL. */
uint64_t unwind_leaf(struct unwinder *u, const struct unwind_in *in, uint64_t pc);

#endif
