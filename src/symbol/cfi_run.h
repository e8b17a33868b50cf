/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfi_run - programs of call-frame tables: .eh_frame and .debug_frame, any bytes as these.
 *
 *	cfi_entry(&bytes, &all, &body, ...)		one entry after the other
 *	cfi_read_cie(&bytes, at, &cie)			a CIE: shared by functions
 *	cfi_read_range(&bytes, &body, &cie, &lo, &hi)	a function's addresses
 *	cfi_run(&run, &bytes, fde, cie, vaddr)		the rules for an address
 *
 * Pure: no memory but the caller's, so that it can run inside of a program that allocates
 * (heaplog). Every read is bounds-checked.
 */
#ifndef CYCLADE_SYMBOL_CFI_RUN_H
#define CYCLADE_SYMBOL_CFI_RUN_H

#include "base/bytes.h"

enum {
	CFI_REGS = 33, /* DWARF numbers below this are followed: enough for x86 and AArch64 */
	CFI_PC = 32,   /* where the walk keeps the address itself (no machine's saved register) */
	CFI_STATES = 16,
};

enum cfi_kind {
	CFI_SAME,
	CFI_UNDEF,
	CFI_AT_OFFSET,	/* saved at CFA + off */
	CFI_VAL_OFFSET, /* is CFA + off */
	CFI_REGISTER,	/* is in register `off` */
	CFI_AT_EXPR,	/* saved at the expression's value */
	CFI_VAL_EXPR,
};

struct cfi_rule {
	uint8_t reg, kind;
	uint32_t expr_len;
	int64_t off;
	const uint8_t *expr;
};

struct cfi_bytes {
	const uint8_t *p;
	size_t len;
	uint64_t vaddr;
	bool eh; /* .eh_frame's form, not .debug_frame's */
	bool is64;
	uint16_t machine; /* EM_... */
};

struct cfi_cie {
	struct cur program;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t fde_enc; /* how the functions' addresses are written: a DW_EH_PE */
	bool has_aug, signal;
	unsigned addr_size;
};

struct cfi_rules {
	struct cfi_rule reg[CFI_REGS];
	struct cfi_rule cfa; /* CFI_REGISTER: reg + off; CFI_VAL_EXPR */
};

struct cfi_run { /* 20 kB */
	const struct cfi_bytes *s;
	struct cfi_cie cie;
	struct cfi_rules now, initial, saved[CFI_STATES];
	unsigned n_saved;
	uint64_t loc, until;
	bool bad;
};

/* Numbers of seven bits a byte, as DWARF writes them. */

/* One entry's body: *c is the rest behind the length and *id, which is at *id_at. */
bool cfi_entry(const struct cfi_bytes *s, struct cur *all, struct cur *c, uint64_t *id,
	       uint32_t *id_at, bool *wide);
bool cfi_read_cie(const struct cfi_bytes *s, uint32_t at, struct cfi_cie *out);
/* *c is left at the augmentation. */
bool cfi_read_range(const struct cfi_bytes *s, struct cur *c, const struct cfi_cie *cie,
		    uint64_t *lo, uint64_t *hi);
/* The rules for `vaddr`, in r->now, by the entries at these places; false: they make no sense. */
bool cfi_run(struct cfi_run *r, const struct cfi_bytes *s, uint32_t fde, uint32_t cie,
	     uint64_t vaddr);

#endif
