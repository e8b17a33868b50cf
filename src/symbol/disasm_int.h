/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_int - one decoder per instruction set, a row in disasm.c's table each.
 */
#ifndef CYCLADE_SYMBOL_DISASM_INT_H
#define CYCLADE_SYMBOL_DISASM_INT_H

#include "symbol/disasm.h"

typedef int (*disasm_each)(void *ctx, const struct insn *in);

/* Each decodes all of p[0..len): what cannot be decoded is handed out as `bad`, so that the lengths
 * sum to len. They return what `each` returned, or -1 with err. */
int disasm_x86_64(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		  struct err *err) MUST_USE;
int disasm_i386(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		struct err *err) MUST_USE;
int disasm_aarch64(const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each, void *ctx,
		   struct err *err) MUST_USE;

struct elf_file;
/* The code of an ELF file in memory; `name` is for messages. */
int disasm_elf(const struct elf_file *f, const char *name, uint64_t vaddr, uint64_t len,
	       disasm_each each, void *ctx, struct err *err) MUST_USE;

/* Fills `in` for `n` bytes that are no instruction. */
void disasm_bad(struct insn *in, uint64_t vaddr, const uint8_t *p, uint8_t n);

#endif
