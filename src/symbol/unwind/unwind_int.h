/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind_int - the expressions in call-frame tables (unwind_expr.c), for the walk over frames
 * (unwind.c).
 */
#ifndef CYCLADE_SYMBOL_UNWIND_INT_H
#define CYCLADE_SYMBOL_UNWIND_INT_H

#include "symbol/dwarf/cfi.h"
#include "symbol/unwind.h"

/* The state that an expression may read. */
struct unwind_state {
	uint64_t reg[CFI_REGS];
	uint64_t known; /* bit per register */
	unsigned word;	/* bytes of one */
	bool (*read)(void *ctx, uint64_t addr, unsigned size, uint64_t *v);
	void *ctx;
	bool missed; /* a read fell outside of the recorded memory */
};
bool unwind_read(struct unwind_state *st, uint64_t addr, unsigned size, uint64_t *v);
/* Runs a DWARF expression; `push` (may be NULL) is on the stack at first. False: no value. */
bool unwind_expr(struct unwind_state *st, const uint8_t *p, size_t len, const uint64_t *push,
		 uint64_t *v);

#endif
