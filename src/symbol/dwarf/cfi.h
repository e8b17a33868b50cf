/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfi - call-frame tables: .eh_frame and .debug_frame (their programs: cfi_run.h), and the bounds
 * of functions that .eh_frame has for stripped files.
 *
 * The tables are read by ourselves rather than through libdw: a row is asked for once per unique
 * address and kept, each read is bounds-checked by our own hand, and AArch64's signed return
 * addresses (DW_CFA_AARCH64_negate_ra_state) are understood.
 */
#ifndef CYCLADE_SYMBOL_DWARF_CFI_H
#define CYCLADE_SYMBOL_DWARF_CFI_H

#include "base/arena.h"
#include "base/vec.h"
#include "symbol/cfi_run.h"
#include "symbol/elf/elf_symbols.h"

/* How to get from a frame to its caller. */
struct cfi_row {
	uint8_t cfa_reg;
	bool cfa_is_expr, signal;
	uint8_t ra; /* the register column that is the return address */
	int64_t cfa_off;
	const uint8_t *cfa_expr;
	uint32_t cfa_expr_len;
	uint32_t n_rules;
	struct cfi_rule rule[]; /* all but CFI_SAME */
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

/* Reads the tables of either file (NULL: no such file). The files must stay. */
struct cfi *cfi_new(const struct elf_file *code, const struct elf_file *dwarf) MUST_USE;
void cfi_free(struct cfi *c);
/* The row for a vaddr, in the arena; NULL: no table covers it, or it makes no sense. */
const struct cfi_row *cfi_find(const struct cfi *c, uint64_t vaddr, struct arena *a);

/* Adds the bounds of the functions that .eh_frame describes. */
void elf_bounds_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map);

#endif
