/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind_int - call-frame tables (unwind_cfi.c; their programs: cfi_run.h), the expressions in them
 * (unwind_expr.c), and the walk over frames (unwind.c).
 *
 * The tables are read by ourselves rather than through libdw: a row is asked for once per unique
 * address and kept, each read is bounds-checked by our own hand, and AArch64's signed return
 * addresses (DW_CFA_AARCH64_negate_ra_state) are understood.
 */
#ifndef CYCLADE_SYMBOL_UNWIND_INT_H
#define CYCLADE_SYMBOL_UNWIND_INT_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/cfi_run.h"
#include "symbol/elf_file.h"
#include "symbol/unwind.h"

/* How to get from a frame to its caller. */
struct cfi_row {
	uint8_t cfa_reg;
	bool cfa_is_expr, signal;
	uint8_t ra; /* the register column that is the return address */
	int64_t cfa_off;
	const uint8_t *cfa_expr;
	uint32_t cfa_expr_len;
	uint32_t n_rules;
	struct cfi_rule rule[]; /* what is not CFI_SAME */
};

struct cfi_fde {
	uint64_t lo, hi;  /* vaddrs */
	uint32_t at, cie; /* offsets into the section */
};

struct cfi_section {
	struct cfi_bytes bytes;
	VEC(struct cfi_fde) fde; /* sorted by lo */
	uint8_t *unpacked;	 /* bytes.p, if it is ours */
};

struct cfi {
	struct cfi_section sec[2]; /* .eh_frame of the code, .debug_frame */
	const char *unread; /* why .debug_frame could not be read; NULL: it was, or is absent */
};

/* The .eh_frame of a file, nothing of it read yet; false where there is none that can be. */
bool cfi_section_of(const struct elf_file *elf, const char *name, bool eh, struct cfi_section *s);
/* How the functions' addresses are written of the CIE at that offset (a DW_EH_PE). */
bool cfi_encoding(const struct cfi_section *s, uint32_t cie, uint8_t *enc);

/* Reads what tables there are in either file (NULL: no such file); NULL when out of memory. The
 * files must stay. */
struct cfi *cfi_new(const struct elf_file *code, const struct elf_file *dwarf) MUST_USE;
void cfi_free(struct cfi *c);
/* The row for a vaddr, in the arena. *out is NULL where no table covers it or it makes no sense;
 * -1 when out of memory. */
int cfi_find(const struct cfi *c, uint64_t vaddr, struct arena *a,
	     const struct cfi_row **out) MUST_USE;

/* What an expression may ask for. */
struct unwind_state {
	uint64_t reg[CFI_REGS];
	uint64_t known; /* bit per register */
	unsigned word;	/* bytes of one */
	bool (*read)(void *ctx, uint64_t addr, unsigned size, uint64_t *v);
	void *ctx;
	bool missed; /* a read fell outside of what was recorded */
};
bool unwind_read(struct unwind_state *st, uint64_t addr, unsigned size, uint64_t *v);
/* Runs a DWARF expression; `push` (may be NULL) is on the stack at first. False: no value. */
bool unwind_expr(struct unwind_state *st, const uint8_t *p, size_t len, const uint64_t *push,
		 uint64_t *v);

#endif
