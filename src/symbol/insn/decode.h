/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode - one decoder per instruction set, a row in disasm.c's table each.
 */
#ifndef CYCLADE_SYMBOL_DECODE_H
#define CYCLADE_SYMBOL_DECODE_H

#include "symbol/disasm.h"

typedef int (*disasm_each)(void *ctx, const struct insn *in);

/* Each decodes all of p[0..len): undecodable bytes are handed out as `bad`, so that the lengths
 * sum to len. They return the result of `each`, or -1 with err. Without `text` that of
 * instructions, their class and fields behind it are not set, which is several times faster. */
typedef int (*disasm_decode)(const uint8_t *p, size_t len, uint64_t vaddr, bool text,
			     disasm_each each, void *ctx, struct err *err);
int disasm_x86_64(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		  void *ctx, struct err *err) MUST_USE;
int disasm_i386(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		void *ctx, struct err *err) MUST_USE;
int disasm_aarch64(const uint8_t *p, size_t len, uint64_t vaddr, bool text, disasm_each each,
		   void *ctx, struct err *err) MUST_USE;
/* As disasm_bytes, without text. */
int disasm_plain(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr, disasm_each each,
		 void *ctx, struct err *err) MUST_USE;

/* As disasm_range; a target that is in no image's addresses (of JIT code) is DISASM_FAR. */
#define DISASM_FAR UINT64_MAX
int disasm_range_plain(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len,
		       disasm_each each, void *ctx, struct err *err) MUST_USE;

/* Where an instruction of AArch64 can lead: fills flow, has_target and target. */
void disasm_a64_flow(uint32_t word, struct insn *in);

struct elf_file;
/* The file's bytes for [vaddr, vaddr + *len): *len is cut to the segment. NULL: none. */
const uint8_t *disasm_code_at(const struct elf_file *f, uint64_t vaddr, uint64_t *len);
/* The code of an ELF file in memory; `name` is for messages. */
int disasm_elf(const struct elf_file *f, const char *name, uint64_t vaddr, uint64_t len, bool text,
	       disasm_each each, void *ctx, struct err *err) MUST_USE;

/* Fills `in` for `n` bytes that are no instruction. */
void disasm_bad(struct insn *in, uint64_t vaddr, const uint8_t *p, uint8_t n);

#endif
