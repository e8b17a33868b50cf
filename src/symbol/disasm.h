/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm - machine code as text: Zydis for x86, Capstone for AArch64.
 */
#ifndef CYCLADE_SYMBOL_DISASM_H
#define CYCLADE_SYMBOL_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbol/insn_class.h"

struct images;

enum insn_flow {
	INSN_OTHER,
	INSN_JUMP,
	INSN_COND,
	INSN_CALL,
	INSN_RETURN,
	INSN_SYSTEM, /* into the kernel or below, which comes back behind it: syscall, int, svc */
	INSN_STOP,   /* nothing runs behind it: ud2, udf */
};

struct insn {
	uint64_t vaddr;
	uint8_t len;
	uint8_t flow;		 /* enum insn_flow */
	bool has_target;	 /* a direct jump's or call's */
	bool bad;		 /* not decodable: `text` is the byte */
	uint64_t target;	 /* vaddr */
	const uint8_t *bytes;	 /* of the code; valid while the callback runs */
	uint8_t class;		 /* enum insn_class */
	uint8_t memory;		 /* INSN_READS, INSN_WRITES; also of the stack */
	uint16_t width;		 /* bits of its operands; 0: nothing (a jump) */
	uint16_t access;	 /* bytes of memory; 0: none, or not fixed */
	uint8_t mem_at, mem_len; /* the operand in memory within `text`; 0, 0: it has none */
	char text[112];
};

/* Calls back for each instruction of [vaddr, vaddr + len) of an image's code; a non-zero return
 * stops and is returned. If the file holds fewer bytes, so many are decoded. */
int disasm_range(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len,
		 int (*each)(void *ctx, const struct insn *in), void *ctx,
		 struct err *err) MUST_USE;
/* EM_* of an image's code; 0: it is not at hand. */
unsigned disasm_machine(struct images *set, uint32_t image);
/* The same as disasm_range() for an ELF file by path. */
int disasm_file(const char *path, uint64_t vaddr, uint64_t len,
		int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err) MUST_USE;
/* The same over bytes; machine is EM_X86_64, EM_386 or EM_AARCH64. */
int disasm_bytes(unsigned machine, const uint8_t *p, size_t len, uint64_t vaddr,
		 int (*each)(void *ctx, const struct insn *in), void *ctx,
		 struct err *err) MUST_USE;

#endif
