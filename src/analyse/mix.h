/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mix - which instructions ran, by the executions of their blocks: single instructions, sums by
 * class, width and mnemonic, and how few functions, lines and pages have most executions.
 *
 *	mix_build(&m, blocks, images, &err)	once after blocks_build()
 *	mix_free(m)
 *
 * All instructions of a block run as often as the block. Instructions of blocks that were not seen
 * running are left out. Code in no block (not there, rejected intervals) is in no sum.
 *
 * Costs: all functions that ran are disassembled, some 3 M instructions a second; memory of each
 * instruction that ran, some 150 bytes.
 */
#ifndef CYCLADE_ANALYSE_MIX_H
#define CYCLADE_ANALYSE_MIX_H

#include "analyse/blocks.h"
#include "base/vec.h"
#include "symbol/insn_class.h"

struct mix_sum {
	uint64_t insns; /* instructions in the code */
	double group[FLOW_SLOTS];
};

struct mix_insn {
	const struct block_function *f;
	uint64_t vaddr;
	const char *text, *mnemonic, *operand; /* operand: in memory; NULL: none */
	uint32_t block;
	uint16_t width, access; /* 0: none, or not fixed */
	uint8_t class, memory;	/* enum insn_class; INSN_READS, INSN_WRITES */
	const char *file;	/* of its source; NULL: not known */
	uint32_t line;
};

struct mix_class {
	enum insn_class class;
	uint16_t width; /* of rows by width; 0: none */
	struct mix_sum all, reads, writes;
};

struct mix_word {
	const char *mnemonic;
	enum insn_class class;
	struct mix_sum all;
};

struct mix_place { /* a source line or a page of code, hottest first */
	uint32_t image, line;
	const char *file;
	uint64_t vaddr;
	struct mix_sum all;
	double runs, until; /* until: of this and all hotter ones, as a share of all */
};

struct mix_places {
	struct mix_place *v;
	size_t n, cap;
};

#define MIX_PAGE       4096u
#define MIX_CACHE_LINE 64u

enum mix_unit { MIX_FUNCTIONS, MIX_BLOCKS, MIX_LINES, MIX_CACHE_LINES, MIX_PAGES, MIX_UNITS };
enum { MIX_HALF, MIX_MOST, MIX_NEARLY, MIX_PARTS }; /* 50, 90, 99 % */

struct mix_held {
	enum mix_unit unit;
	uint64_t n, held[MIX_PARTS]; /* that ran; that hold so much of all executions */
	double known;		     /* share of executions that has one (a source line) */
};

struct mix {
	struct arena a;
	struct mix_sum all, reads, writes;
	VEC(struct mix_insn) insn;   /* by function and address */
	VEC(struct mix_class) class; /* most executions first, as all below */
	VEC(struct mix_class) width;
	VEC(struct mix_word) word;
	struct mix_places line, page;
	struct mix_held held[MIX_UNITS];
};

int mix_build(struct mix **out, const struct blocks *b, struct images *images,
	      struct err *err) MUST_USE;
void mix_free(struct mix *m); /* NULL is fine */

double mix_runs(const struct mix_sum *s);

#endif
