/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind_cfi - .eh_frame and .debug_frame: one walk makes a sorted table of the functions (FDEs); a
 * row is made by running the function's program up to the address asked for.
 */
#include <dwarf.h>
#include <elf.h>

#include "base/invariant.h"
#include "base/nomem.h"
#include "symbol/elf_unpack.h"
#include "symbol/unwind_int.h"

enum { PE_OMIT = 0xff, PE_INDIRECT = 0x80, PE_PCREL = 0x10, STATES_MAX = 16 };

struct cie {
	struct cur program;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t fde_enc;
	bool has_aug, signal;
	unsigned addr_size;
};

uint64_t cfi_uleb(struct cur *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = cur_u8(c);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) || c->bad)
			return v;
	}
}

int64_t cfi_sleb(struct cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = cur_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80 && !c->bad);
	if (b & 0x40 && shift < 64)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

/* A pointer in one of the encodings of .eh_frame; `plain`: only its format counts. */
static uint64_t pointer(const struct cfi_section *s, struct cur *c, uint8_t enc, unsigned addr_size,
			bool plain)
{
	uint64_t at = s->vaddr + (uint64_t)(c->p - s->p), v;

	switch (enc & 0x0f) {
	case 0x00:
		v = addr_size == 4 ? cur_u32(c) : cur_u64(c);
		break;
	case 0x01:
		v = cfi_uleb(c);
		break;
	case 0x02:
		v = cur_u16(c);
		break;
	case 0x03:
		v = cur_u32(c);
		break;
	case 0x09:
		v = (uint64_t)cfi_sleb(c);
		break;
	case 0x0a:
		v = (uint64_t)(int16_t)cur_u16(c);
		break;
	case 0x0b:
		v = (uint64_t)(int32_t)cur_u32(c);
		break;
	case 0x04:
	case 0x0c:
		v = cur_u64(c);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if (plain)
		return v;
	if ((enc & (0x70 | PE_INDIRECT)) == PE_PCREL)
		v += at;
	else if (enc & (0x70 | PE_INDIRECT))
		c->bad = true; /* nobody writes functions' addresses so */
	return addr_size == 4 ? v & UINT32_MAX : v;
}

/* One entry's body: *c is what follows the length; its offset within the section is *id_at. */
static bool entry(const struct cfi_section *s, struct cur *all, struct cur *c, uint64_t *id,
		  uint32_t *id_at, bool *wide)
{
	uint64_t len = cur_u32(all);

	*wide = len == UINT32_MAX;
	if (*wide)
		len = cur_u64(all);
	*id_at = (uint32_t)(all->p - s->p);
	if (all->bad || !len || len > cur_left(all))
		return false;
	*c = cur_of(all->p, (size_t)len);
	all->p += len;
	*id = *wide && !s->eh ? cur_u64(c) : cur_u32(c);
	return !c->bad;
}

static bool read_augmentation(const struct cfi_section *s, struct cur *c, const char *aug,
			      struct cie *out)
{
	uint64_t len;
	const uint8_t *end;

	if (*aug != 'z')
		return !*aug;
	out->has_aug = true;
	len = cfi_uleb(c);
	if (c->bad || len > cur_left(c))
		return false;
	end = c->p + len;
	for (aug++; *aug && !c->bad; aug++) {
		uint8_t enc;

		switch (*aug) {
		case 'R':
			out->fde_enc = cur_u8(c);
			break;
		case 'L':
			(void)cur_u8(c);
			break;
		case 'P':
			enc = cur_u8(c);
			if (enc != PE_OMIT)
				(void)pointer(s, c, enc, out->addr_size, true);
			break;
		case 'S':
			out->signal = true;
			break;
		default: /* 'B' and 'G' have no data; behind an unknown one nothing is known */
			break;
		}
	}
	if (c->p > end)
		return false;
	c->p = end;
	return !c->bad;
}

static bool read_cie(const struct cfi_section *s, uint32_t at, struct cie *out)
{
	struct cur all = cur_of(s->p, s->len), c;
	const char *aug;
	uint64_t id;
	uint32_t id_at;
	uint8_t version;
	bool wide;

	memset(out, 0, sizeof(*out));
	if (at >= s->len)
		return false;
	all.p += at;
	if (!entry(s, &all, &c, &id, &id_at, &wide))
		return false;
	if (id != (s->eh ? 0 : wide ? UINT64_MAX : UINT32_MAX))
		return false;
	version = cur_u8(&c);
	aug = cur_str(&c);
	if (!aug || (version != 1 && version != 3 && version != 4))
		return false;
	out->addr_size = s->elf->is64 ? 8 : 4;
	if (version == 4) {
		out->addr_size = cur_u8(&c);
		if (cur_u8(&c) || (out->addr_size != 4 && out->addr_size != 8))
			return false;
	}
	out->code_align = cfi_uleb(&c);
	out->data_align = cfi_sleb(&c);
	out->ra = version == 1 ? cur_u8(&c) : cfi_uleb(&c);
	if (!read_augmentation(s, &c, aug, out) || c.bad)
		return false;
	out->program = c;
	return true;
}

/* An FDE's range; *c is left at its augmentation. */
static bool read_range(const struct cfi_section *s, struct cur *c, const struct cie *cie,
		       uint64_t *lo, uint64_t *hi)
{
	*lo = pointer(s, c, cie->fde_enc, cie->addr_size, false);
	*hi = *lo + pointer(s, c, cie->fde_enc, cie->addr_size, true);
	return !c->bad && *hi > *lo;
}

static int by_lo(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

bool cfi_section_of(const struct elf_file *elf, const char *name, bool eh, struct cfi_section *s)
{
	const struct elf_sec *sec = elf ? elf_section(elf, name) : NULL;

	if (!sec || !sec->data || sec->size > UINT32_MAX || elf_is_packed(sec) || elf->swap)
		return false;
	*s = (struct cfi_section){ .elf = elf,
				   .p = sec->data,
				   .len = (size_t)sec->size,
				   .vaddr = sec->addr,
				   .eh = eh,
				   .fde = VEC_INIT };
	return true;
}

bool cfi_encoding(const struct cfi_section *s, uint32_t cie, uint8_t *enc)
{
	struct cie c;

	if (!read_cie(s, cie, &c))
		return false;
	*enc = c.fde_enc;
	return true;
}

/* .debug_frame, which `go build` compresses. False: there is none, or *why says why not. */
static bool debug_frame_of(const struct elf_file *elf, struct cfi_section *s, const char **why,
			   int *ret)
{
	const struct elf_sec *sec = elf ? elf_section(elf, ".debug_frame") : NULL;
	struct err err = { 0 };

	if (!sec && elf)
		sec = elf_section(elf, ".zdebug_frame");
	if (!sec || !sec->data || elf->swap)
		return false;
	*s = (struct cfi_section){ .elf = elf, .vaddr = sec->addr, .fde = VEC_INIT };
	if (elf_is_packed(sec)) {
		*ret = elf_unpack(elf, sec, &s->unpacked, &s->len, why, &err);
		s->p = s->unpacked;
	} else {
		s->p = sec->data;
		s->len = (size_t)sec->size;
	}
	if (s->p && s->len > UINT32_MAX)
		*why = "is larger than 4 GiB";
	return !*ret && !*why && s->p;
}

/* The functions of a table. */
static int read_functions(struct cfi_section *s)
{
	struct cur all = cur_of(s->p, s->len), c;
	bool cie_ok = false, eh = s->eh;
	uint32_t cie_at = UINT32_MAX;
	struct cie cie;

	while (cur_left(&all)) {
		uint32_t at = (uint32_t)(all.p - s->p), id_at, where;
		struct cfi_fde f;
		uint64_t id;
		bool wide;

		if (!entry(s, &all, &c, &id, &id_at, &wide)) {
			if (all.bad || cur_left(&all) < 8 || !eh)
				break;
			continue; /* a terminator between the tables of two objects */
		}
		if (id == (eh ? 0 : wide ? UINT64_MAX : UINT32_MAX))
			continue;
		if (eh ? id > id_at : id >= s->len)
			continue;
		where = eh ? id_at - (uint32_t)id : (uint32_t)id;
		if (where != cie_at) {
			cie_ok = read_cie(s, where, &cie);
			cie_at = where;
		}
		if (!cie_ok || !read_range(s, &c, &cie, &f.lo, &f.hi))
			continue;
		f.at = at;
		f.cie = where;
		if (vec_push(&s->fde, f))
			return -1;
	}
	vec_sort(&s->fde, by_lo);
	assert(pairs_hold(s->fde.n, i, s->fde.v[i].lo <= s->fde.v[i + 1].lo));
	return 0;
}

struct cfi *cfi_new(const struct elf_file *code, const struct elf_file *dwarf)
{
	struct cfi *c = calloc(1, sizeof(*c));
	int ret = 0;

	if (!c) {
		nomem_note(); /* the caller walks without tables */
		return NULL;
	}
	if (cfi_section_of(code, ".eh_frame", true, &c->sec[0]))
		ret = read_functions(&c->sec[0]);
	if (!ret && debug_frame_of(dwarf ? dwarf : code, &c->sec[1], &c->unread, &ret))
		ret = read_functions(&c->sec[1]);
	if (ret) {
		nomem_note();
		cfi_free(c);
		return NULL;
	}
	return c;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	vec_free(&c->sec[0].fde);
	vec_free(&c->sec[1].fde);
	free(c->sec[1].unpacked);
	free(c);
}

/* ---- running a function's program ---------------------------------------------------------- */

struct rules {
	struct cfi_rule reg[CFI_REGS];
	struct cfi_rule cfa; /* CFI_REGISTER: reg + off; CFI_VAL_EXPR */
};

struct run {
	const struct cfi_section *s;
	const struct cie *cie;
	struct rules now, initial, saved[STATES_MAX];
	unsigned n_saved;
	uint64_t loc, until;
	bool bad;
};

static void set_rule(struct run *r, uint64_t reg, enum cfi_kind kind, int64_t off)
{
	if (reg < CFI_REGS)
		r->now.reg[reg] = (struct cfi_rule){ (uint8_t)reg, (uint8_t)kind, 0, off, NULL };
}

static void set_expr(struct run *r, struct cur *c, struct cfi_rule *rule, enum cfi_kind kind)
{
	uint64_t len = cfi_uleb(c);
	const uint8_t *p = cur_take(c, len);

	if (!p || len > UINT32_MAX || !rule)
		return;
	(void)r;
	rule->kind = (uint8_t)kind;
	rule->expr = p;
	rule->expr_len = (uint32_t)len;
}

static void reg_expr(struct run *r, struct cur *c, enum cfi_kind kind)
{
	uint64_t reg = cfi_uleb(c);
	struct cfi_rule *rule = reg < CFI_REGS ? &r->now.reg[reg] : NULL;

	if (rule)
		rule->reg = (uint8_t)reg;
	set_expr(r, c, rule, kind);
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	if (reg >= CFI_REGS) {
		r->bad = true;
		return;
	}
	r->now.cfa = (struct cfi_rule){ (uint8_t)reg, CFI_REGISTER, 0, off, NULL };
}

static int64_t factored(const struct run *r, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)r->cie->data_align);
}

/* Moves on; true where the address asked for is passed and the program is done. */
static bool advance(struct run *r, uint64_t by)
{
	uint64_t to = r->loc + by * r->cie->code_align;

	if (to > r->until || to < r->loc)
		return true;
	r->loc = to;
	return false;
}

static void keep_state(struct run *r, bool restore)
{
	if (restore && r->n_saved)
		r->now = r->saved[--r->n_saved];
	else if (!restore && r->n_saved < STATES_MAX)
		r->saved[r->n_saved++] = r->now;
	else
		r->bad = true;
}

static void restore_reg(struct run *r, uint64_t reg)
{
	if (reg < CFI_REGS)
		r->now.reg[reg] = r->initial.reg[reg];
}

/* Instructions that set a register's rule or the CFA's. False: not one of them. */
static bool set_step(struct run *r, struct cur *c, uint8_t op)
{
	uint64_t reg, n;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cfi_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, (int64_t)cfi_uleb(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cfi_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, cfi_sleb(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, (int64_t)(0 - cfi_uleb(c))));
		return true;
	case DW_CFA_val_offset:
		reg = cfi_uleb(c);
		set_rule(r, reg, CFI_VAL_OFFSET, factored(r, (int64_t)cfi_uleb(c)));
		return true;
	case DW_CFA_val_offset_sf:
		reg = cfi_uleb(c);
		set_rule(r, reg, CFI_VAL_OFFSET, factored(r, cfi_sleb(c)));
		return true;
	case DW_CFA_undefined:
		set_rule(r, cfi_uleb(c), CFI_UNDEF, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(r, cfi_uleb(c), CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = cfi_uleb(c);
		n = cfi_uleb(c);
		set_rule(r, reg, n < CFI_REGS ? CFI_REGISTER : CFI_UNDEF, (int64_t)n);
		return true;
	case DW_CFA_def_cfa:
		reg = cfi_uleb(c);
		set_cfa(r, reg, (int64_t)cfi_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_uleb(c);
		set_cfa(r, reg, factored(r, cfi_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(r, cfi_uleb(c), r->now.cfa.off);
		return true;
	case DW_CFA_def_cfa_offset:
		r->now.cfa.off = (int64_t)cfi_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		r->now.cfa.off = factored(r, cfi_sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		set_expr(r, c, &r->now.cfa, CFI_VAL_EXPR);
		return true;
	case DW_CFA_expression:
		reg_expr(r, c, CFI_AT_EXPR);
		return true;
	case DW_CFA_val_expression:
		reg_expr(r, c, CFI_VAL_EXPR);
		return true;
	default:
		return false;
	}
}

/* The rest; true where the program is done. */
static bool other_step(struct run *r, struct cur *c, uint8_t op)
{
	uint64_t to;

	switch (op) {
	case DW_CFA_nop:
		return false;
	case DW_CFA_set_loc:
		to = pointer(r->s, c, r->cie->fde_enc, r->cie->addr_size, false);
		if (to > r->until)
			return true;
		r->loc = to;
		return false;
	case DW_CFA_advance_loc1:
		return advance(r, cur_u8(c));
	case DW_CFA_advance_loc2:
		return advance(r, cur_u16(c));
	case DW_CFA_advance_loc4:
		return advance(r, cur_u32(c));
	case 0x1d: /* MIPS_advance_loc8 */
		return advance(r, cur_u64(c));
	case DW_CFA_restore_extended:
		restore_reg(r, cfi_uleb(c));
		return false;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		keep_state(r, op == DW_CFA_restore_state);
		return false;
	case DW_CFA_GNU_args_size:
		(void)cfi_uleb(c);
		return false;
	case DW_CFA_GNU_window_save: /* AArch64: the return address is signed from here on, or no
				      * more; the walk strips signatures anyway */
		if (r->s->elf->machine == EM_AARCH64)
			return false;
		break;
	default:
		break;
	}
	r->bad = true;
	return true;
}

static void run_program(struct run *r, struct cur c)
{
	while (cur_left(&c) && !c.bad && !r->bad) {
		uint8_t op = cur_u8(&c), low = op & 0x3f;
		bool done = false;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			done = advance(r, low);
			break;
		case DW_CFA_offset:
			set_rule(r, low, CFI_AT_OFFSET, factored(r, (int64_t)cfi_uleb(&c)));
			break;
		case DW_CFA_restore:
			restore_reg(r, low);
			break;
		default:
			done = !set_step(r, &c, op) && other_step(r, &c, op);
		}
		if (done)
			break;
	}
	if (c.bad)
		r->bad = true;
}

static int make_row(const struct run *r, struct arena *a, const struct cfi_row **out)
{
	struct cfi_row *row;
	uint32_t n = 0;

	for (unsigned i = 0; i < CFI_REGS; i++)
		n += r->now.reg[i].kind != CFI_SAME;
	row = arena_alloc(a, sizeof(*row) + n * sizeof(row->rule[0]));
	if (!row)
		return -1;
	row->signal = r->cie->signal;
	row->ra = (uint8_t)r->cie->ra;
	row->cfa_reg = r->now.cfa.reg;
	row->cfa_off = r->now.cfa.off;
	row->cfa_is_expr = r->now.cfa.kind == CFI_VAL_EXPR;
	row->cfa_expr = r->now.cfa.expr;
	row->cfa_expr_len = r->now.cfa.expr_len;
	for (unsigned i = 0; i < CFI_REGS; i++)
		if (r->now.reg[i].kind != CFI_SAME)
			row->rule[row->n_rules++] = r->now.reg[i];
	*out = row;
	return 0;
}

static int run_fde(const struct cfi_section *s, const struct cfi_fde *f, uint64_t vaddr,
		   struct arena *a, const struct cfi_row **out)
{
	struct cur all = cur_of(s->p, s->len), c;
	struct run *r;
	struct cie cie;
	uint64_t id, lo, hi;
	uint32_t id_at;
	bool wide;
	int rc = 0;

	all.p += f->at;
	if (!read_cie(s, f->cie, &cie) || cie.ra >= CFI_REGS ||
	    !entry(s, &all, &c, &id, &id_at, &wide) || !read_range(s, &c, &cie, &lo, &hi))
		return 0;
	if (cie.has_aug)
		(void)cur_take(&c, cfi_uleb(&c));
	if (c.bad)
		return 0;
	r = calloc(1, sizeof(*r)); /* 20 kB: too much for a thread's stack to be sure of */
	if (!r) {
		nomem_note();
		return -1;
	}
	r->s = s;
	r->cie = &cie;
	r->until = UINT64_MAX; /* the common part runs to its end */
	run_program(r, cie.program);
	r->initial = r->now;
	r->loc = lo;
	r->until = vaddr;
	r->n_saved = 0;
	run_program(r, c);
	if (!r->bad && (r->now.cfa.kind == CFI_REGISTER || r->now.cfa.kind == CFI_VAL_EXPR))
		rc = make_row(r, a, out);
	free(r);
	return rc;
}

int cfi_find(const struct cfi *c, uint64_t vaddr, struct arena *a, const struct cfi_row **out)
{
	*out = NULL;
	for (unsigned i = 0; i < 2 && !*out; i++) {
		const struct cfi_section *s = &c->sec[i];
		const struct cfi_fde *f = s->fde.v;

		if (!s->fde.n || vaddr < f->lo)
			continue;
		for (size_t n = s->fde.n; n > 1; n -= n / 2)
			f += f[n / 2].lo <= vaddr ? n / 2 : 0;
		if (vaddr < f->hi && run_fde(s, f, vaddr, a, out))
			return -1;
	}
	return 0;
}
