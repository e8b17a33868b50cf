/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/cfi_run.h"

#include <dwarf.h>
#include <elf.h>

enum { PE_OMIT = 0xff, PE_INDIRECT = 0x80, PE_PCREL = 0x10 };

/* A pointer in one of the encodings of .eh_frame; `plain`: only its format counts. */
static uint64_t pointer(const struct cfi_bytes *s, struct cur *c, uint8_t enc, unsigned addr_size,
			bool plain)
{
	uint64_t at = s->vaddr + (uint64_t)(c->p - s->p), v;

	switch (enc & 0x0f) {
	case 0x00:
		v = addr_size == 4 ? cur_u32(c) : cur_u64(c);
		break;
	case 0x01:
		v = cur_uleb(c);
		break;
	case 0x02:
		v = cur_u16(c);
		break;
	case 0x03:
		v = cur_u32(c);
		break;
	case 0x09:
		v = (uint64_t)cur_sleb(c);
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
		c->bad = true; /* no compiler writes functions' addresses so */
	return addr_size == 4 ? v & UINT32_MAX : v;
}

bool cfi_entry(const struct cfi_bytes *s, struct cur *all, struct cur *c, uint64_t *id,
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

static bool read_augmentation(const struct cfi_bytes *s, struct cur *c, const char *aug,
			      struct cfi_cie *out)
{
	uint64_t len;
	const uint8_t *end;

	if (*aug != 'z')
		return !*aug;
	out->has_aug = true;
	len = cur_uleb(c);
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

bool cfi_read_cie(const struct cfi_bytes *s, uint32_t at, struct cfi_cie *out)
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
	if (!cfi_entry(s, &all, &c, &id, &id_at, &wide))
		return false;
	if (id != (s->eh ? 0 : wide ? UINT64_MAX : UINT32_MAX))
		return false;
	version = cur_u8(&c);
	aug = cur_str(&c);
	if (!aug || (version != 1 && version != 3 && version != 4))
		return false;
	out->addr_size = s->is64 ? 8 : 4;
	if (version == 4) {
		out->addr_size = cur_u8(&c);
		if (cur_u8(&c) || (out->addr_size != 4 && out->addr_size != 8))
			return false;
	}
	out->code_align = cur_uleb(&c);
	out->data_align = cur_sleb(&c);
	out->ra = version == 1 ? cur_u8(&c) : cur_uleb(&c);
	if (!read_augmentation(s, &c, aug, out) || c.bad)
		return false;
	out->program = c;
	return true;
}

bool cfi_read_range(const struct cfi_bytes *s, struct cur *c, const struct cfi_cie *cie,
		    uint64_t *lo, uint64_t *hi)
{
	*lo = pointer(s, c, cie->fde_enc, cie->addr_size, false);
	*hi = *lo + pointer(s, c, cie->fde_enc, cie->addr_size, true);
	return !c->bad && *hi > *lo;
}

/* ---- running a function's program ---------------------------------------------------------- */

static void set_rule(struct cfi_run *r, uint64_t reg, enum cfi_kind kind, int64_t off)
{
	if (reg < CFI_REGS)
		r->now.reg[reg] = (struct cfi_rule){ (uint8_t)reg, (uint8_t)kind, 0, off, NULL };
}

static void set_expr(struct cfi_run *r, struct cur *c, struct cfi_rule *rule, enum cfi_kind kind)
{
	uint64_t len = cur_uleb(c);
	const uint8_t *p = cur_take(c, len);

	if (!p || len > UINT32_MAX || !rule)
		return;
	(void)r;
	rule->kind = (uint8_t)kind;
	rule->expr = p;
	rule->expr_len = (uint32_t)len;
}

static void reg_expr(struct cfi_run *r, struct cur *c, enum cfi_kind kind)
{
	uint64_t reg = cur_uleb(c);
	struct cfi_rule *rule = reg < CFI_REGS ? &r->now.reg[reg] : NULL;

	if (rule)
		rule->reg = (uint8_t)reg;
	set_expr(r, c, rule, kind);
}

static void set_cfa(struct cfi_run *r, uint64_t reg, int64_t off)
{
	if (reg >= CFI_REGS) {
		r->bad = true;
		return;
	}
	r->now.cfa = (struct cfi_rule){ (uint8_t)reg, CFI_REGISTER, 0, off, NULL };
}

static int64_t factored(const struct cfi_run *r, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)r->cie.data_align);
}

/* Moves on; true if the address asked for is passed and the program is done. */
static bool advance(struct cfi_run *r, uint64_t by)
{
	uint64_t to = r->loc + by * r->cie.code_align;

	if (to > r->until || to < r->loc)
		return true;
	r->loc = to;
	return false;
}

static void keep_state(struct cfi_run *r, bool restore)
{
	if (restore && r->n_saved)
		r->now = r->saved[--r->n_saved];
	else if (!restore && r->n_saved < CFI_STATES)
		r->saved[r->n_saved++] = r->now;
	else
		r->bad = true;
}

static void restore_reg(struct cfi_run *r, uint64_t reg)
{
	if (reg < CFI_REGS)
		r->now.reg[reg] = r->initial.reg[reg];
}

/* Instructions that set a register's rule or the CFA's. False: not one of them. */
static bool set_step(struct cfi_run *r, struct cur *c, uint8_t op)
{
	uint64_t reg, n;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cur_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, (int64_t)cur_uleb(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cur_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, cur_sleb(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cur_uleb(c);
		set_rule(r, reg, CFI_AT_OFFSET, factored(r, (int64_t)(0 - cur_uleb(c))));
		return true;
	case DW_CFA_val_offset:
		reg = cur_uleb(c);
		set_rule(r, reg, CFI_VAL_OFFSET, factored(r, (int64_t)cur_uleb(c)));
		return true;
	case DW_CFA_val_offset_sf:
		reg = cur_uleb(c);
		set_rule(r, reg, CFI_VAL_OFFSET, factored(r, cur_sleb(c)));
		return true;
	case DW_CFA_undefined:
		set_rule(r, cur_uleb(c), CFI_UNDEF, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(r, cur_uleb(c), CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = cur_uleb(c);
		n = cur_uleb(c);
		set_rule(r, reg, n < CFI_REGS ? CFI_REGISTER : CFI_UNDEF, (int64_t)n);
		return true;
	case DW_CFA_def_cfa:
		reg = cur_uleb(c);
		set_cfa(r, reg, (int64_t)cur_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cur_uleb(c);
		set_cfa(r, reg, factored(r, cur_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(r, cur_uleb(c), r->now.cfa.off);
		return true;
	case DW_CFA_def_cfa_offset:
		r->now.cfa.off = (int64_t)cur_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		r->now.cfa.off = factored(r, cur_sleb(c));
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

/* The rest; true if the program is done. */
static bool other_step(struct cfi_run *r, struct cur *c, uint8_t op)
{
	uint64_t to;

	switch (op) {
	case DW_CFA_nop:
		return false;
	case DW_CFA_set_loc:
		to = pointer(r->s, c, r->cie.fde_enc, r->cie.addr_size, false);
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
		restore_reg(r, cur_uleb(c));
		return false;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		keep_state(r, op == DW_CFA_restore_state);
		return false;
	case DW_CFA_GNU_args_size:
		(void)cur_uleb(c);
		return false;
	case DW_CFA_GNU_window_save: /* AArch64: the return address is signed from here on, or no
				      * more; the walk strips signatures anyway */
		if (r->s->machine == EM_AARCH64)
			return false;
		break;
	default:
		break;
	}
	r->bad = true;
	return true;
}

static void run_program(struct cfi_run *r, struct cur c)
{
	while (cur_left(&c) && !c.bad && !r->bad) {
		uint8_t op = cur_u8(&c), low = op & 0x3f;
		bool done = false;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			done = advance(r, low);
			break;
		case DW_CFA_offset:
			set_rule(r, low, CFI_AT_OFFSET, factored(r, (int64_t)cur_uleb(&c)));
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

bool cfi_run(struct cfi_run *r, const struct cfi_bytes *s, uint32_t fde, uint32_t cie,
	     uint64_t vaddr)
{
	struct cur all = cur_of(s->p, s->len), c;
	uint64_t id, lo, hi;
	uint32_t id_at;
	bool wide;

	memset(r, 0, sizeof(*r));
	if (fde >= s->len)
		return false;
	all.p += fde;
	if (!cfi_read_cie(s, cie, &r->cie) || r->cie.ra >= CFI_REGS ||
	    !cfi_entry(s, &all, &c, &id, &id_at, &wide) ||
	    !cfi_read_range(s, &c, &r->cie, &lo, &hi))
		return false;
	if (r->cie.has_aug)
		(void)cur_take(&c, cur_uleb(&c));
	if (c.bad)
		return false;
	r->s = s;
	r->until = UINT64_MAX; /* the common part runs to its end */
	run_program(r, r->cie.program);
	r->initial = r->now;
	r->loc = lo;
	r->until = vaddr;
	r->n_saved = 0;
	run_program(r, c);
	return !r->bad && (r->now.cfa.kind == CFI_REGISTER || r->now.cfa.kind == CFI_VAL_EXPR);
}
