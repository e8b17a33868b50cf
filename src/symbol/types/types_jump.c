/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_jump - the tables that a `switch` jumps by: where their jumps go.
 *
 * Entries are 4 bytes, which are added to the table's address, or 8 bytes of address. Their number
 * is the constant that the index is compared with before; otherwise they end where one leads to no
 * instruction of the function, or where something else begins that the function refers to.
 */
#include <elf.h>

#include "base/xalloc.h"
#include "symbol/disasm.h"
#include "symbol/insn/decode.h"
#include "symbol/types/types_state.h"

enum {
	JUMP_ENTRIES = 1024,
	JUMP_TABLES = 256, /* of a function */
	JUMP_BEFORE = 24,  /* instructions from the comparison to the jump */
};

bool flow_is_constant(const struct flow *w, uint64_t vaddr)
{
	const struct elf_file *f = w->t->code;

	for (size_t i = 0; i < f->n_sec; i++)
		if (f->sec[i].flags & SHF_ALLOC && vaddr - f->sec[i].addr < f->sec[i].size)
			return f->sec[i].type == SHT_PROGBITS &&
			       !(f->sec[i].flags & (SHF_WRITE | SHF_EXECINSTR));
	return false;
}

/* The constant that the index was compared with: the number of entries. */
static uint64_t compared_with(const struct flow *w, size_t jump)
{
	for (size_t i = jump; i > 1 && i + JUMP_BEFORE > jump; i--) {
		const struct effect *e = &w->insn.v[i - 2];

		if (w->insn.v[i - 1].flow == INSN_COND && e->op == EFFECT_COMPARE)
			return e->imm >= 0 && e->imm < JUMP_ENTRIES ? (uint64_t)e->imm + 1
								    : JUMP_ENTRIES;
	}
	return JUMP_ENTRIES;
}

/* The next address behind a table that the function refers to. */
static uint64_t end_of_table(const struct flow *w, uint64_t table)
{
	uint64_t end = UINT64_MAX;

	for (size_t i = 0; i < w->insn.n; i++) {
		const struct effect_mem *m = &w->insn.v[i].mem[0];

		if (m->absolute && (uint64_t)m->disp > table && (uint64_t)m->disp < end)
			end = (uint64_t)m->disp;
	}
	return end;
}

static bool table_entry(const struct flow *w, const struct flow_table *x, size_t i, uint64_t *to)
{
	uint64_t len = x->width;
	const uint8_t *p = disasm_code_at(w->t->code, x->at + i * x->width, &len);

	if (!p || len < x->width)
		return false;
	*to = x->width == 8 ? elf_u64(w->t->code, p)
			    : x->at + (uint64_t)(int64_t)(int32_t)elf_u32(w->t->code, p);
	return true;
}

/* The table that a jump is by, as far as registers are known. */
static bool jump_table_of(const struct flow *w, const struct state *s, const struct effect *e,
			  struct flow_table *out)
{
	struct value v;

	*out = (struct flow_table){ .width = e->n_mem ? 8 : 4 };
	if (e->n_mem)
		v = flow_address(w, s, &e->mem[0]);
	else if (e->dst < EFFECT_REGS)
		v = s->reg[e->dst];
	else
		return false;
	out->at = (uint64_t)v.off;
	return v.kind == VALUE_ADDRESS && v.indexed && flow_is_constant(w, out->at);
}

const struct flow_table *flow_table_at(const struct flow *w, uint64_t vaddr)
{
	vec_each (&w->table, const struct flow_table *, x)
		if (x->at == vaddr)
			return x;
	return NULL;
}

const struct flow_table *flow_jump(struct flow *w, const struct state *s, size_t insn)
{
	const struct flow_table *known;
	uint64_t most, end, to;
	struct flow_table x;

	if (!jump_table_of(w, s, &w->insn.v[insn], &x))
		return NULL;
	known = flow_table_at(w, x.at);
	if (known || w->table.n == JUMP_TABLES)
		return known;
	most = compared_with(w, insn);
	end = end_of_table(w, x.at);
	while (x.n < most && x.at + x.n * x.width < end && table_entry(w, &x, x.n, &to) &&
	       flow_insn_at(w, to) != SIZE_MAX)
		x.n++;
	if (!x.n)
		return NULL;
	w->tables_found = true;
	vec_xpush(&w->table, x);
	return vec_last(&w->table);
}

size_t flow_jump_to(const struct flow *w, const struct flow_table *x, size_t i)
{
	uint64_t to;

	return table_entry(w, x, i, &to) ? flow_insn_at(w, to) : SIZE_MAX;
}
