/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf's words for parts of samples, as `perf script` of Linux 6.12 prints them.
 */
#include <elf.h>
#include <inttypes.h>

#include "report/export/script_int.h"

#define N_OF(a) (sizeof(a) / sizeof(*(a)))

/* ---- union perf_mem_data_src: the bits are in perfdata/memop.h ------------------------------- */

enum { LVL_HIT = 2, LVL_MISS = 4, LVL_NUM_NONE = 0xf, TLB_HIT = 2, TLB_MISS = 4 };

static const char *const op_words[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };
static const char *const level_words[] = {
	"N/A",
	"HIT",
	"MISS",
	"L1",
	"LFB/MAB",
	"L2",
	"L3",
	"Local RAM",
	"Remote RAM (1 hop)",
	"Remote RAM (2 hops)",
	"Remote Cache (1 hop)",
	"Remote Cache (2 hops)",
	"I/O",
	"Uncached",
};
static const char *const level_number_words[16] = {
	[1] = "L1",	    [2] = "L2",	      [3] = "L3",
	[4] = "L4",	    [5] = "L2 MHB",   [6] = "Memory-side Cache",
	[8] = "Uncached",   [9] = "CXL",      [10] = "I/O",
	[11] = "Any cache", [12] = "LFB/MAB", [13] = "RAM",
	[14] = "PMEM",	    [15] = "N/A",
};
static const char *const hop_words[8] = { "N/A", "core, same node", "node, same socket",
					  "socket, same board", "board" };
static const char *const snoop_words[] = { "N/A", "None", "Hit", "Miss", "HitM" };
static const char *const snoop_more_words[] = { "Fwd", "Peer" };
static const char *const tlb_words[] = { "N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault" };

/* The words of a set's bits; returns how many. */
static unsigned put_set(struct buf *b, uint64_t bits, const char *const *words, size_t n)
{
	unsigned put = 0;

	for (size_t i = 0; i < n; i++)
		if (bits >> i & 1)
			buf_printf(b, "%s%s", put++ ? " or " : "", words[i]);
	return put;
}

static void put_level(struct buf *b, uint64_t v)
{
	unsigned level = v >> 5 & 0x3fff, number = v >> 33 & 0xf, hops = v >> 43 & 7;
	const char *hit = level & LVL_HIT ? "hit" : level & LVL_MISS ? "miss" : "";

	if (number && number != LVL_NUM_NONE) {
		if (v >> 37 & 1)
			buf_puts(b, "Remote ");
		if (hops)
			buf_printf(b, "%s ", hop_words[hops] ? hop_words[hops] : "");
		if (level_number_words[number])
			buf_puts(b, level_number_words[number]);
		else
			buf_printf(b, "Unknown level %u", number);
		buf_printf(b, " %s", hit);
	} else if (put_set(b, level & ~7u, level_words, N_OF(level_words))) {
		buf_printf(b, " %s", hit);
	} else {
		buf_puts(b, "N/A");
	}
}

static void put_operation(struct buf *b, unsigned op)
{
	for (size_t i = 0; i < N_OF(op_words); i++)
		if (op >> i & 1) {
			buf_puts(b, op_words[i]);
			return;
		}
	buf_puts(b, "No");
}

static void put_tlb(struct buf *b, unsigned tlb)
{
	if (!put_set(b, tlb & ~(unsigned)(TLB_HIT | TLB_MISS), tlb_words, N_OF(tlb_words)))
		buf_puts(b, "N/A");
	buf_puts(b, tlb & TLB_HIT ? " hit" : "");
	buf_puts(b, tlb & TLB_MISS ? " miss" : "");
}

void script_put_data_source(struct buf *b, uint64_t v)
{
	unsigned snoop = v >> 19 & 0x1f, more = v >> 38 & 3, lock = v >> 24 & 3,
		 block = v >> 40 & 7;
	unsigned put;

	buf_printf(b, "%16" PRIx64 " |OP ", v);
	put_operation(b, v & 0x1f);
	buf_puts(b, "|LVL ");
	put_level(b, v);
	buf_puts(b, "|SNP ");
	put = put_set(b, snoop, snoop_words, N_OF(snoop_words));
	if (put && more)
		buf_puts(b, " or ");
	if (!(put + put_set(b, more, snoop_more_words, N_OF(snoop_more_words))))
		buf_puts(b, "N/A");
	buf_puts(b, "|TLB ");
	put_tlb(b, v >> 26 & 0x7f);
	buf_printf(b, "|LCK %s|BLK ", lock & 1 ? "N/A" : lock & 2 ? "Yes" : "No");
	if (!block || block & 1)
		buf_puts(b, " N/A");
	else
		buf_printf(b, "%s%s", block & 2 ? " Data" : "", block & 4 ? " Addr" : "");
}

/* ---- others ---------------------------------------------------------------------------------- */

void script_put_page_size(struct buf *b, uint64_t size)
{
	size_t unit = 0;

	while (size >= 1024 && unit < 6) {
		size /= 1024;
		unit++;
	}
	if (size)
		buf_printf(b, "%" PRIu64 "%c", size, "BKMGTPE"[unit]);
	else
		buf_puts(b, "N/A");
}

const char *script_branch_type(const struct pd_branch *b)
{
	static const char *const words[16] = {
		"",	  "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",	"SYSCALL",
		"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX", "",
	};
	static const char *const more[16] = { "FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
					      "ARCH_2",	    "ARCH_3",	  "ARCH_4",	"ARCH_5" };
	const char *word = b->type == 15 ? more[b->new_type & 15] : words[b->type & 15];

	return word ? word : "";
}

const char *script_branch_spec(const struct pd_branch *b)
{
	static const char *const words[4] = { "-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					      "SPEC_CORRECT_PATH" };

	return words[b->spec & 3];
}

const char *script_register(unsigned machine, unsigned bit)
{
	static const char *const x86[] = {
		"AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",	 "FLAGS", "CS",	 "SS",
		"DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",	  "R14", "R15"
	};
	static const char *const arm64[] = { "x0",  "x1",  "x2",  "x3",	 "x4",	"x5",  "x6",
					     "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13",
					     "x14", "x15", "x16", "x17", "x18", "x19", "x20",
					     "x21", "x22", "x23", "x24", "x25", "x26", "x27",
					     "x28", "x29", "lr",  "sp",	 "pc" };

	if (machine == EM_AARCH64)
		return bit < N_OF(arm64) ? arm64[bit] : NULL;
	if (machine == EM_X86_64 || machine == EM_386)
		return bit < N_OF(x86) ? x86[bit] : NULL;
	return NULL;
}
