/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind - see unwind.h. Here: the registers of each machine, and the walk from frame to frame.
 *
 * A frame's mapping and row of the call-frame table are remembered per (process,
 * address) for the time in which it stays true, so that a frame usually costs one look-up in a
 * small table and two reads of the stack.
 *
 * If no table covers an address (code made at run time), the frame pointer is followed if it leads
 * into the recorded stack, to a return address that lies in a mapping of code; else the walk ends
 * there.
 */
#include <elf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/xalloc.h"
#include "symbol/image/image_set.h"
#include "symbol/unwind/unwind_int.h"

enum { PLACES = 16384, FRAMES_APART = 127 };

/* perf's register numbers of one machine as DWARF's. */
struct arch {
	uint8_t word, sp, fp;
	uint8_t perf_pc, n_perf;
	uint8_t pc;	     /* DWARF's number for the address itself; CFI_REGS: it has none */
	uint64_t pc_mask;    /* AArch64 signs return addresses in the bits no user address has */
	const int8_t *dwarf; /* by perf's number; -1: not followed */
};

static const int8_t x86_64_dwarf[] = { 0,  3,  2,  1,  4, 5, 6,	 7,  -1, -1, -1, -1,
				       -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15 };
static const int8_t i386_dwarf[] = { 0, 3, 1, 2, 6, 7, 5, 4 };
static const int8_t aarch64_dwarf[] = { 0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10,
					11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
static const struct arch x86_64 = {
	8, 7, 6, 8, sizeof(x86_64_dwarf), 16, UINT64_MAX, x86_64_dwarf
};
static const struct arch i386 = { 4, 4, 5, 8, sizeof(i386_dwarf), 8, UINT32_MAX, i386_dwarf };
static const struct arch aarch64 = {
	8, 31, 29, 32, sizeof(aarch64_dwarf), CFI_REGS, (1ULL << 48) - 1, aarch64_dwarf
};

static const struct arch *unwind_arch(unsigned machine, uint64_t abi)
{
	if (machine == EM_X86_64 || machine == EM_386)
		return abi == PERF_SAMPLE_REGS_ABI_32 || machine == EM_386 ? &i386 : &x86_64;
	return machine == EM_AARCH64 && abi == PERF_SAMPLE_REGS_ABI_64 ? &aarch64 : NULL;
}

struct place { /* facts of one (process, address) */
	const void *proc;
	uint64_t pc, from, until;
	const struct map *map;	   /* NULL: none */
	const struct cfi_row *row; /* NULL: none */
	bool used, starts;	   /* starts: the program's first instructions */
};

struct unwinder {
	const struct spaces *sp; /* NULL: processes are live */
	struct images *set;
	struct arena arena;
	VEC(struct image_rows {
		const struct cfi *cfi;
		struct u64map row; /* vaddr -> row */
	})
	image; /* by id */
	uint64_t reach;
	struct place place[PLACES];
};

struct walk {
	struct unwinder *u;
	const struct unwind_in *in;
	const struct arch *arch;
	struct unwind_state st;
	uint64_t stack_at; /* address of in->stack[0] */
};

static struct unwinder *new_unwinder(const struct spaces *sp, struct images *set, struct err *err)
{
	struct unwinder *u = xcalloc(1, sizeof(*u));

	(void)err;
	u->sp = sp;
	u->set = set;
	return u;
}

struct unwinder *unwinder_new(const struct spaces *sp, struct err *err)
{
	return new_unwinder(sp, spaces_images(sp), err);
}

struct unwinder *unwinder_new_live(const struct live_spaces *l, struct err *err)
{
	return new_unwinder(NULL, live_images(l), err);
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->image.n; i++)
		u64map_free(&u->image.v[i].row);
	vec_free(&u->image);
	arena_free(&u->arena);
	free(u);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct cfi_row *cfi_row_at(struct unwinder *u, const struct map *m, uint64_t pc)
{
	static const struct image_rows none = { NULL, U64MAP_INIT };
	struct image_rows *rows;
	uint64_t vaddr, *at;
	bool fresh;

	while (u->image.n <= m->image)
		vec_xpush(&u->image, none);
	rows = &u->image.v[m->image];
	if (!rows->cfi)
		rows->cfi = image_cfi(u->set, m->image);
	if (!image_to_vaddr(u->set, m->image, map_to_image(m, pc), &vaddr))
		return NULL;
	at = u64map_xat(&rows->row, vaddr, &fresh);
	if (fresh)
		*at = (uint64_t)(uintptr_t)cfi_find(rows->cfi, vaddr, &u->arena);
	return (const struct cfi_row *)(uintptr_t)*at;
}

/* The mapping of an address, and the times for which that holds: of a live process, until its
 * mappings change. */
static const struct map *find_map(const struct walk *w, uint64_t addr, uint64_t *from,
				  uint64_t *until)
{
	if (w->u->sp)
		return space_find(w->u->sp, w->in->proc, SPACE_USER, addr, w->in->time, from,
				  until);
	*from = live_generation(w->in->live);
	*until = *from + 1;
	return live_find(w->in->live, addr);
}

#define ENTRY_SIZE 64u /* of ld.so's _start, which goes on in _dl_start_user */

/* The kernel begins programs at the entry of a file: no caller is beyond it. */
static bool is_entry(struct unwinder *u, const struct map *m, uint64_t pc)
{
	const struct elf_file *elf = image_code_elf(u->set, m->image);
	uint64_t vaddr;

	return elf && image_to_vaddr(u->set, m->image, map_to_image(m, pc), &vaddr) &&
	       vaddr - elf->entry < ENTRY_SIZE;
}

static const struct place *code_place(struct walk *w, uint64_t pc)
{
	const void *proc = w->u->sp ? (const void *)w->in->proc : (const void *)w->in->live;
	uint64_t time = w->u->sp ? w->in->time : live_generation(w->in->live);
	uint64_t h = hash_pair((uint64_t)(uintptr_t)proc, pc);
	struct place *p = &w->u->place[h % PLACES];

	if (p->used && p->proc == proc && p->pc == pc && time >= p->from && time < p->until)
		return p;
	p->used = true;
	p->proc = proc;
	p->pc = pc;
	p->map = find_map(w, pc, &p->from, &p->until);
	p->row = p->map ? cfi_row_at(w->u, p->map, pc) : NULL;
	p->starts = p->map && !p->row && is_entry(w->u, p->map, pc);
	return p;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t load_word(const uint8_t *p, unsigned size)
{
	switch (size) {
	case 1:
		return *p;
	case 2:
		return ld16(p);
	case 4:
		return ld32(p);
	default:
		return ld64(p);
	}
}

/* From the recorded piece of stack, else from a file that was mapped there read-only. */
static bool read_user_memory(void *ctx, uint64_t addr, unsigned size, uint64_t *v)
{
	struct walk *w = ctx;
	uint64_t into = addr - w->stack_at, from, until;
	const struct elf_file *elf;
	const struct map *m;

	if (into < w->in->stack_size && size <= w->in->stack_size - into) {
		*v = load_word(w->in->stack + into, size);
		if (into + size > w->u->reach)
			w->u->reach = into + size;
		return true;
	}
	m = find_map(w, addr, &from, &until);
	if (!m || m->absolute || m->prot & PROT_WRITE)
		return false;
	elf = image_code_elf(w->u->set, m->image);
	into = map_to_image(m, addr);
	if (!elf || into >= elf->len || size > elf->len - into)
		return false;
	*v = load_word(elf->p + into, size);
	return true;
}

/* ---- one frame ------------------------------------------------------------------------------- */

static bool is_register_known(const struct unwind_state *st, uint64_t reg)
{
	return reg < CFI_REGS && st->known >> reg & 1;
}

static bool rule_value(struct walk *w, const struct cfi_rule *r, uint64_t cfa, uint64_t *v)
{
	struct unwind_state *st = &w->st;
	uint64_t at;

	switch (r->kind) {
	case CFI_AT_OFFSET:
		return unwind_read(st, cfa + (uint64_t)r->off, st->word, v);
	case CFI_VAL_OFFSET:
		*v = cfa + (uint64_t)r->off;
		return true;
	case CFI_REGISTER:
		*v = is_register_known(st, (uint64_t)r->off) ? st->reg[r->off] : 0;
		return is_register_known(st, (uint64_t)r->off);
	case CFI_AT_EXPR:
		return unwind_expr(st, r->expr, r->expr_len, &cfa, &at) &&
		       unwind_read(st, at, st->word, v);
	case CFI_VAL_EXPR:
		return unwind_expr(st, r->expr, r->expr_len, &cfa, v);
	default:
		return false;
	}
}

/* To the caller's registers and *pc. True: there is one. */
static bool step_cfi(struct walk *w, const struct cfi_row *row, uint64_t *pc, enum unwind_end *end)
{
	struct unwind_state *st = &w->st;
	bool known = !row->cfa_is_expr && is_register_known(st, row->cfa_reg);
	uint64_t cfa = known ? st->reg[row->cfa_reg] + (uint64_t)row->cfa_off : 0;
	uint64_t next[CFI_REGS], have = st->known, was = st->reg[w->arch->sp], at = *pc;

	st->missed = false;
	*end = UNWIND_BAD;
	if (w->arch->word == 4)
		cfa &= UINT32_MAX;
	if (row->cfa_is_expr)
		known = unwind_expr(st, row->cfa_expr, row->cfa_expr_len, NULL, &cfa);
	if (!known) {
		*end = st->missed ? UNWIND_STACK : UNWIND_BAD;
		return false;
	}
	memcpy(next, st->reg, sizeof(next));
	next[w->arch->sp] = cfa;
	for (uint32_t i = 0; i < row->n_rules; i++) {
		const struct cfi_rule *r = &row->rule[i];
		uint64_t v;

		if (rule_value(w, r, cfa, &v)) {
			next[r->reg] = v;
			have |= 1ULL << r->reg;
		} else if (r->kind != CFI_AT_OFFSET || r->reg == row->ra ||
			   cfa + (uint64_t)r->off >= was) {
			have &= ~(1ULL << r->reg);
		} /* else: saved below the stack pointer means popped already, as compilers leave
		   * the rule standing in an epilogue */
		if (r->reg == row->ra && !(have >> r->reg & 1)) {
			*end = r->kind == CFI_UNDEF ? UNWIND_DONE
			       : st->missed	    ? UNWIND_STACK
						    : UNWIND_BAD;
			return false;
		}
	}
	if (!(have >> row->ra & 1))
		return false;
	memcpy(st->reg, next, sizeof(next));
	st->known = have;
	*pc = next[row->ra] & w->arch->pc_mask;
	/* a caller's frame lies above, except for signal handlers on stacks of their own */
	return row->signal || cfa > was || (cfa == was && *pc != at);
}

/* Without tables: the saved frame pointer and the return address beside it. */
static bool step_fp(struct walk *w, uint64_t *pc, enum unwind_end *end)
{
	struct unwind_state *st = &w->st;
	const struct arch *a = w->arch;
	uint64_t fp, up, ra;

	*end = UNWIND_NO_CFI;
	if (!is_register_known(st, a->fp))
		return false;
	fp = st->reg[a->fp];
	if (fp < st->reg[a->sp] || fp % a->word || fp - w->stack_at >= w->in->stack_size ||
	    !st->read(st->ctx, fp, a->word, &up) || !st->read(st->ctx, fp + a->word, a->word, &ra))
		return false;
	ra &= a->pc_mask;
	if (!ra || !code_place(w, ra - 1)->map)
		return false;
	st->reg[a->fp] = up;
	st->reg[a->sp] = fp + 2ULL * a->word;
	*pc = ra;
	return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The recorded registers; false if the address or the stack pointer is not among them. */
static bool take_regs(struct walk *w, uint64_t *pc)
{
	const uint8_t *p = w->in->regs;
	bool got_pc = false;

	for (unsigned i = 0; i < 64; i++) {
		if (!(w->in->reg_mask >> i & 1))
			continue;
		if (i == w->arch->perf_pc) {
			*pc = ld64(p) & w->arch->pc_mask;
			got_pc = true;
		} else if (i < w->arch->n_perf && w->arch->dwarf[i] >= 0) {
			w->st.reg[w->arch->dwarf[i]] = ld64(p);
			w->st.known |= 1ULL << w->arch->dwarf[i];
		}
		p += 8;
	}
	if (got_pc && w->arch->pc < CFI_REGS) { /* PLTs compute with it */
		w->st.reg[w->arch->pc] = *pc;
		w->st.known |= 1ULL << w->arch->pc;
	}
	return got_pc;
}

size_t unwind_user(struct unwinder *u, const struct unwind_in *in, uint64_t *ips, size_t max,
		   enum unwind_end *end)
{
	struct walk w = { .u = u, .in = in, .arch = unwind_arch(in->machine, in->abi) };
	bool exact = true; /* the address itself runs; else it is where a call returns to */
	uint64_t pc = 0, most;
	size_t n = 0;

	*end = UNWIND_BAD;
	u->reach = 0;
	if (!w.arch || !in->regs || !take_regs(&w, &pc) || !is_register_known(&w.st, w.arch->sp))
		return 0;
	w.st.word = w.arch->word;
	w.st.read = read_user_memory;
	w.st.ctx = &w;
	w.stack_at = w.st.reg[w.arch->sp];
	/* each caller takes a word of the stack, but for a few (signals, link registers) */
	most = in->stack_size / w.arch->word + FRAMES_APART;
	for (;;) {
		const struct place *p;

		*end = UNWIND_DONE;
		if (!pc)
			return n;
		*end = n < most ? UNWIND_LIMIT : UNWIND_BAD;
		if (n == max || n == most)
			return n;
		ips[n++] = pc;
		p = code_place(&w, exact ? pc : pc - 1);
		*end = UNWIND_NO_CODE;
		if (!p->map)
			return n;
		if (p->row) {
			exact = p->row->signal;
			if (!step_cfi(&w, p->row, &pc, end))
				return n;
		} else {
			exact = false;
			*end = UNWIND_DONE;
			if (p->starts || !step_fp(&w, &pc, end))
				return n;
		}
	}
}

uint64_t unwind_reach(const struct unwinder *u)
{
	return u->reach;
}

uint64_t unwind_leaf(struct unwinder *u, const struct unwind_in *in, uint64_t pc)
{
	struct walk w = { .u = u, .in = in, .arch = unwind_arch(in->machine, in->abi) };
	const struct place *p;
	uint64_t ra, ignored;

	if (w.arch != &aarch64 || !in->regs)
		return 0;
	(void)take_regs(&w, &ignored);
	p = code_place(&w, pc);
	if (!p->map || !p->row || p->row->signal || !is_register_known(&w.st, p->row->ra))
		return 0;
	/* no rule for the return address: it stands where it stood at the function's entry */
	for (uint32_t i = 0; i < p->row->n_rules; i++)
		if (p->row->rule[i].reg == p->row->ra)
			return 0;
	ra = w.st.reg[p->row->ra] & w.arch->pc_mask;
	return ra && code_place(&w, ra - 1)->map ? ra : 0;
}
