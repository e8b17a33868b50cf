/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a return address to its caller, by the program's own call-frame tables: compilers leave out
 * frame pointers, and the caller of malloc is a wrapper of it at best. x86-64 only; code for
 * AArch64 has frame pointers as a rule.
 *
 * An address's rule is kept, so that a frame is one look-up and two loads. Each would wait for the
 * frame's place from the one before: so the places of the last walk from there are taken for this
 * one's until they turn out to be others, and the CPU goes ahead. A table is found without a lock
 * by _dl_find_object(), of glibc 2.35; without it chains are those of frame pointers, and the log
 * notes it.
 */
#include <elf.h>
#include <sys/mman.h>

#include "heaplog/heaplog_int.h"

#if defined(__x86_64__)

#include "symbol/cfi_run.h"

#define RULES	0x8000u /* that are kept: a power of two */
#define GUESSES 1024u	/* walks whose frames' places are kept: a power of two */

enum { REG_FP = 6, REG_SP = 7, OP_DEREF = 0x06, OP_BREG_FP = 0x76 };

/* The caller's CFA (its stack pointer after the return), and its frame pointer. */
struct frame_rule {
	int32_t cfa;
	int16_t fp; /* negative: saved at CFA + fp; else enum fp_is */
	uint8_t from;
	uint8_t unused;
};

enum {
	FRAME_END,	/* the outermost, or more than a rule can hold */
	FRAME_SP,	/* stack pointer + cfa */
	FRAME_FP,	/* frame pointer + cfa */
	FRAME_AT_FP,	/* the word at frame pointer + cfa: of functions that align their stack */
	FRAME_NO_TABLE, /* code made at run time: by frame pointers */
};

enum fp_is { FP_SAME, FP_AT_FP, FP_LOST };

/* Words are threads': the key is the address and the rule in one, so a torn pair is none. */
struct kept {
	uint64_t key, rule;
};

/* The result of _dl_find_object(). */
struct found {
	unsigned long long flags;
	const uint8_t *start, *end;
	const void *link_map;
	const uint8_t *table; /* .eh_frame_hdr */
	unsigned long long reserved[7];
};

static int (*find_object)(void *pc, struct found *out);
static struct kept *kept;
static uint32_t guesses[GUESSES][HEAP_DEPTH]; /* behind the first frame; any thread's, and wrong */
static struct cfi_run scratch;		      /* under process->frames_lock */

bool frames_begin(void *find)
{
	void *p = MAP_FAILED;

	if (find)
		p = real.mmap(NULL, RULES * sizeof(*kept), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	memcpy(&find_object, &find, sizeof(find));
	kept = p;
	return true;
}

/* By stores alone, as a filter of system calls may forbid others than the program's own. */
void frames_forget(void)
{
	for (size_t i = 0; kept && i < RULES; i++)
		if (__atomic_load_n(&kept[i].key, __ATOMIC_RELAXED)) {
			__atomic_store_n(&kept[i].key, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&kept[i].rule, 0, __ATOMIC_RELAXED);
		}
}

/* The loaded segment that has the table, which is no longer. */
static bool table_bytes(const struct found *o, struct cfi_bytes *out)
{
	const Elf64_Ehdr *e = (const void *)o->start;
	const Elf64_Phdr *ph;
	uint64_t bias = 0;

	if ((size_t)(o->end - o->start) < 4096 || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_phentsize != sizeof(*ph) || e->e_phoff % 8 ||
	    e->e_phoff + e->e_phnum * sizeof(*ph) > 4096)
		return false;
	ph = (const void *)(o->start + e->e_phoff);
	for (unsigned i = 0; i < e->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && !ph[i].p_offset)
			bias = (uint64_t)(uintptr_t)o->start - ph[i].p_vaddr;
	for (unsigned i = 0; i < e->e_phnum; i++) {
		uint64_t from = bias + ph[i].p_vaddr, at = (uint64_t)(uintptr_t)o->table;

		if (ph[i].p_type != PT_LOAD || at < from || at - from >= ph[i].p_filesz ||
		    !(ph[i].p_flags & PF_R) || ph[i].p_filesz > UINT32_MAX)
			continue;
		*out = (struct cfi_bytes){ .p = o->table - (at - from),
					   .len = ph[i].p_filesz,
					   .vaddr = from,
					   .eh = true,
					   .is64 = true,
					   .machine = EM_X86_64 };
		return true;
	}
	return false;
}

/* The entry of the function, by the sorted index that linkers make. */
static bool find_entry(const struct cfi_bytes *s, const uint8_t *table, uint64_t pc, uint32_t *fde)
{
	size_t left = (size_t)(s->p + s->len - table), n, low = 0;
	uint64_t base = (uint64_t)(uintptr_t)table, at;
	const uint8_t *rows = table + 12;

	/* version 1, a 32-bit count, pairs of 32-bit offsets from here */
	if (left < 12 || table[0] != 1 || table[2] != 0x03 || table[3] != 0x3b)
		return false;
	n = ld32(table + 8);
	if (n > (left - 12) / 8)
		return false;
	for (size_t high = n; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (base + (uint64_t)(int64_t)(int32_t)ld32(rows + 8 * mid) <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	at = base + (uint64_t)(int64_t)(int32_t)ld32(rows + 8 * (low - 1) + 4) - s->vaddr;
	*fde = (uint32_t)at;
	return at < s->len;
}

/* Whether the function reaches up to the address; its common part. */
static bool covers(const struct cfi_bytes *s, uint32_t fde, uint64_t pc, uint32_t *cie_at)
{
	struct cur all = cur_of(s->p, s->len), c;
	uint64_t id, lo, hi;
	struct cfi_cie cie;
	uint32_t id_at;
	bool wide;

	all.p += fde;
	if (!cfi_entry(s, &all, &c, &id, &id_at, &wide) || !id || id > id_at)
		return false;
	*cie_at = id_at - (uint32_t)id;
	return cfi_read_cie(s, *cie_at, &cie) && cfi_read_range(s, &c, &cie, &lo, &hi) &&
	       pc >= lo && pc < hi;
}

static bool is_expr(const struct cfi_rule *r, const uint8_t *ops, size_t n, int8_t *off)
{
	/* a register plus a number of one byte, then `ops` */
	if (r->expr_len != n + 2 || r->expr[0] != OP_BREG_FP || r->expr[1] & 0x80 ||
	    memcmp(r->expr + 2, ops, n) != 0)
		return false;
	*off = (int8_t)(r->expr[1] & 0x40 ? r->expr[1] | 0x80 : r->expr[1]);
	return true;
}

/* False: more than a rule can hold. */
static bool make_rule(const struct cfi_run *run, struct frame_rule *out)
{
	static const uint8_t deref[] = { OP_DEREF };
	const struct cfi_rule *cfa = &run->now.cfa, *fp = &run->now.reg[REG_FP];
	const struct cfi_rule *ra = &run->now.reg[run->cie.ra];
	int8_t off;

	*out = (struct frame_rule){ .from = FRAME_END };
	if (ra->kind == CFI_UNDEF)
		return true;
	if (run->cie.signal || ra->kind != CFI_AT_OFFSET || ra->off != -8)
		return false;
	if (cfa->kind == CFI_VAL_EXPR) {
		if (!is_expr(cfa, deref, 1, &off))
			return false;
		*out = (struct frame_rule){ .from = FRAME_AT_FP, .cfa = off };
	} else if (cfa->reg == REG_SP || cfa->reg == REG_FP) {
		*out = (struct frame_rule){ .from = cfa->reg == REG_SP ? FRAME_SP : FRAME_FP,
					    .cfa = (int32_t)cfa->off };
		if (out->cfa != cfa->off)
			return false;
	} else {
		return false;
	}
	if (fp->kind == CFI_AT_OFFSET && fp->off < 0 && fp->off >= INT16_MIN)
		out->fp = (int16_t)fp->off;
	else if (fp->kind == CFI_AT_EXPR && is_expr(fp, NULL, 0, &off) && !off)
		out->fp = FP_AT_FP;
	else if (fp->kind != CFI_SAME)
		out->fp = FP_LOST;
	return true;
}

/* False: nothing that is to be kept. */
static bool read_rule(uint64_t pc, struct frame_rule *out)
{
	struct found o = { .flags = 0 };
	struct cfi_bytes s;
	uint32_t fde, cie;
	struct held h;
	void *at;

	*out = (struct frame_rule){ .from = FRAME_NO_TABLE };
	memcpy(&at, &pc, sizeof(at));
	if (find_object(at, &o)) /* made at run time: a library may be there later */
		return false;
	if (!o.table || !table_bytes(&o, &s) || !find_entry(&s, o.table, pc, &fde) ||
	    !covers(&s, fde, pc, &cie))
		return true;
	if (!log_try(&process->frames_lock, &h))
		return false;
	if (!cfi_run(&scratch, &s, fde, cie, pc) || !make_rule(&scratch, out))
		*out = (struct frame_rule){ .from = FRAME_END };
	log_leave(&process->frames_lock, &h);
	return true;
}

static uint32_t rule_slot(uint64_t ra)
{
	return (uint32_t)((ra * 0x9e3779b97f4a7c15u) >> 32) & (RULES - 1);
}

static __attribute__((noinline)) uint64_t keep_rule(uint64_t ra)
{
	struct kept *k = &kept[rule_slot(ra)];
	struct frame_rule rule;
	uint64_t word;
	bool keep = read_rule(ra - 1, &rule);

	memcpy(&word, &rule, sizeof(word));
	if (keep) {
		__atomic_store_n(&k->rule, word, __ATOMIC_RELAXED);
		__atomic_store_n(&k->key, ra ^ word, __ATOMIC_RELAXED);
	}
	return word;
}

static inline struct frame_rule find_rule(uint64_t ra)
{
	const struct kept *k = &kept[rule_slot(ra)];
	uint64_t word = __atomic_load_n(&k->rule, __ATOMIC_RELAXED);
	struct frame_rule rule;

	if (unlikely((__atomic_load_n(&k->key, __ATOMIC_RELAXED) ^ word) != ra))
		word = keep_rule(ra);
	memcpy(&rule, &word, sizeof(rule));
	return rule;
}

struct at { /* a frame, and where its stack may be read */
	uintptr_t sp, fp, low, high;
	bool lost; /* fp */
};

static inline bool load_word(const struct at *a, uintptr_t from, uintptr_t *v)
{
	if (unlikely(from < a->low || from > a->high - 8 || from & 7))
		return false;
	*v = *(const uintptr_t *)from;
	return true;
}

/* Which is right mostly: then nothing waits until `cfa` is known. */
static inline uintptr_t by_guess(uintptr_t cfa, uintptr_t first, uint32_t *guess)
{
	uintptr_t guessed = first + __atomic_load_n(guess, __ATOMIC_RELAXED);

	if (unlikely(cfa != guessed)) {
		__atomic_store_n(guess, (uint32_t)(cfa - first), __ATOMIC_RELAXED);
		return cfa;
	}
	/* for the compiler it is another value: it must not take `cfa` for it */
	__asm__ volatile("" : "+r"(guessed));
	return guessed;
}

/* To the caller, whose address is *ra; false: there is none. */
static inline bool step_frame(struct at *a, struct frame_rule rule, uintptr_t first,
			      uint32_t *guess, uint64_t *ra)
{
	uintptr_t cfa = a->sp + (uintptr_t)(intptr_t)rule.cfa, at, fp;

	if (unlikely(rule.from != FRAME_SP)) {
		if (rule.from == FRAME_END || a->lost)
			return false;
		cfa = a->fp + (uintptr_t)(intptr_t)rule.cfa;
		if (rule.from == FRAME_AT_FP && !load_word(a, cfa, &cfa))
			return false;
		if (rule.from == FRAME_NO_TABLE) {
			cfa = a->fp + 16;
			rule.fp = -16;
		}
	}
	cfa = by_guess(cfa, first, guess);
	if (cfa <= a->sp || !load_word(a, cfa - 8, ra))
		return false;
	a->sp = cfa;
	if (unlikely(rule.fp > 0)) {
		a->lost |= rule.fp == FP_LOST;
		return rule.fp == FP_LOST || load_word(a, a->fp, &a->fp);
	}
	/* which of the two is not to be guessed */
	at = rule.fp ? cfa + (uintptr_t)(intptr_t)rule.fp : cfa - 8;
	if (!load_word(a, at, &fp))
		return false;
	a->fp = rule.fp ? fp : a->fp;
	return true;
}

bool frames_walk(const struct thread *t, const void *from, const void *frame, struct chain *out)
{
	struct at a = { .sp = (uintptr_t)frame + 16,
			.low = (uintptr_t)frame,
			.high = t->stack_end };
	const uintptr_t first = a.sp;
	uint64_t ra = (uintptr_t)from;
	uint32_t *guess;

	if (!kept)
		return false;
	chain_begin(out, ra);
	if (a.low < t->stack || a.low >= t->stack_end || !load_word(&a, a.low, &a.fp))
		return true; /* a stack of the program's own */
	guess = guesses[((ra ^ first << 7) * 0x9e3779b97f4a7c15u) >> 32 & (GUESSES - 1)];
	while (out->n < HEAP_DEPTH && step_frame(&a, find_rule(ra), first, &guess[out->n], &ra) &&
	       ra >= 4096)
		chain_add(out, ra);
	return true;
}

#else

bool frames_begin(void *find)
{
	(void)find;
	return false;
}

void frames_forget(void)
{
}

bool frames_walk(const struct thread *t, const void *from, const void *frame, struct chain *out)
{
	(void)t;
	(void)from;
	(void)frame;
	(void)out;
	return false;
}

#endif
