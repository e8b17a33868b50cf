/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind_expr - the DWARF expressions of call-frame tables: those of PLTs, signal frames and hand-
 * written assembly. A bounded stack and a bounded number of steps; arithmetic wraps.
 */
#include <dwarf.h>

#include "symbol/unwind/unwind_int.h"

enum { STACK_MAX = 64, STEPS_MAX = 2000 };

struct machine {
	struct unwind_state *st;
	struct cur c;
	const uint8_t *begin;
	uint64_t v[STACK_MAX];
	unsigned n;
	bool bad;
};

bool unwind_read(struct unwind_state *st, uint64_t addr, unsigned size, uint64_t *v)
{
	if (st->read(st->ctx, addr, size, v))
		return true;
	st->missed = true;
	return false;
}

static void expr_push(struct machine *m, uint64_t v)
{
	if (m->n == STACK_MAX)
		m->bad = true;
	else
		m->v[m->n++] = v;
}

static uint64_t expr_pop(struct machine *m)
{
	if (!m->n) {
		m->bad = true;
		return 0;
	}
	return m->v[--m->n];
}

static void push_reg(struct machine *m, uint64_t reg, int64_t off)
{
	if (reg >= CFI_REGS || !(m->st->known >> reg & 1))
		m->bad = true;
	else
		expr_push(m, m->st->reg[reg] + (uint64_t)off);
}

static void deref(struct machine *m, unsigned size)
{
	uint64_t v = 0;

	if ((size != 1 && size != 2 && size != 4 && size != 8) ||
	    !unwind_read(m->st, expr_pop(m), size, &v))
		m->bad = true;
	expr_push(m, v);
}

static void pick(struct machine *m, unsigned i)
{
	if (i >= m->n)
		m->bad = true;
	else
		expr_push(m, m->v[m->n - 1 - i]);
}

static void expr_jump(struct machine *m, bool taken)
{
	int16_t by = (int16_t)cur_u16(&m->c);

	if (!taken || m->c.bad)
		return;
	if (by < m->begin - m->c.p || by > m->c.end - m->c.p)
		m->bad = true;
	else
		m->c.p += by;
}

/* Operators on two values. False: not one of them. */
static bool binary(struct machine *m, uint8_t op)
{
	bool two = m->n >= 2;
	uint64_t a = two ? m->v[m->n - 2] : 0, b = two ? m->v[m->n - 1] : 0;

	switch (op) {
	case DW_OP_and:
		a &= b;
		break;
	case DW_OP_div:
		if (!b || (a == 1ULL << 63 && b == UINT64_MAX))
			m->bad = true;
		else
			a = (uint64_t)((int64_t)a / (int64_t)b);
		break;
	case DW_OP_mod:
		if (!b)
			m->bad = true;
		else
			a %= b;
		break;
	case DW_OP_minus:
		a -= b;
		break;
	case DW_OP_mul:
		a *= b;
		break;
	case DW_OP_or:
		a |= b;
		break;
	case DW_OP_plus:
		a += b;
		break;
	case DW_OP_shl:
		a = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		a = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		a = (uint64_t)((int64_t)a >> (b < 63 ? b : 63));
		break;
	case DW_OP_xor:
		a ^= b;
		break;
	case DW_OP_eq:
		a = a == b;
		break;
	case DW_OP_ne:
		a = a != b;
		break;
	case DW_OP_ge:
		a = (int64_t)a >= (int64_t)b;
		break;
	case DW_OP_gt:
		a = (int64_t)a > (int64_t)b;
		break;
	case DW_OP_le:
		a = (int64_t)a <= (int64_t)b;
		break;
	case DW_OP_lt:
		a = (int64_t)a < (int64_t)b;
		break;
	default:
		return false;
	}
	m->bad |= !two;
	if (two)
		m->v[--m->n - 1] = a;
	return true;
}

/* Constants, registers. False: not one of them. */
static bool values(struct machine *m, uint8_t op)
{
	uint64_t reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		expr_push(m, (uint64_t)(op - DW_OP_lit0));
		return true;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_reg(m, (uint64_t)(op - DW_OP_breg0), cur_sleb(&m->c));
		return true;
	}
	switch (op) {
	case DW_OP_addr:
		expr_push(m, m->st->word == 4 ? cur_u32(&m->c) : cur_u64(&m->c));
		return true;
	case DW_OP_const1u:
		expr_push(m, cur_u8(&m->c));
		return true;
	case DW_OP_const1s:
		expr_push(m, (uint64_t)(int8_t)cur_u8(&m->c));
		return true;
	case DW_OP_const2u:
		expr_push(m, cur_u16(&m->c));
		return true;
	case DW_OP_const2s:
		expr_push(m, (uint64_t)(int16_t)cur_u16(&m->c));
		return true;
	case DW_OP_const4u:
		expr_push(m, cur_u32(&m->c));
		return true;
	case DW_OP_const4s:
		expr_push(m, (uint64_t)(int32_t)cur_u32(&m->c));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		expr_push(m, cur_u64(&m->c));
		return true;
	case DW_OP_constu:
		expr_push(m, cur_uleb(&m->c));
		return true;
	case DW_OP_consts:
		expr_push(m, (uint64_t)cur_sleb(&m->c));
		return true;
	case DW_OP_bregx:
		reg = cur_uleb(&m->c);
		push_reg(m, reg, cur_sleb(&m->c));
		return true;
	default:
		return false;
	}
}

static void expr_other_op(struct machine *m, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_dup:
		pick(m, 0);
		break;
	case DW_OP_over:
		pick(m, 1);
		break;
	case DW_OP_pick:
		pick(m, cur_u8(&m->c));
		break;
	case DW_OP_drop:
		(void)expr_pop(m);
		break;
	case DW_OP_swap:
		a = expr_pop(m);
		b = expr_pop(m);
		expr_push(m, a);
		expr_push(m, b);
		break;
	case DW_OP_rot:
		a = expr_pop(m);
		b = expr_pop(m);
		c = expr_pop(m);
		expr_push(m, a);
		expr_push(m, c);
		expr_push(m, b);
		break;
	case DW_OP_deref:
		deref(m, m->st->word);
		break;
	case DW_OP_deref_size:
		deref(m, cur_u8(&m->c));
		break;
	case DW_OP_abs:
		a = expr_pop(m);
		expr_push(m, (int64_t)a < 0 ? 0 - a : a);
		break;
	case DW_OP_neg:
		expr_push(m, 0 - expr_pop(m));
		break;
	case DW_OP_not:
		expr_push(m, ~expr_pop(m));
		break;
	case DW_OP_plus_uconst:
		a = expr_pop(m);
		expr_push(m, a + cur_uleb(&m->c));
		break;
	case DW_OP_bra:
		expr_jump(m, expr_pop(m) != 0);
		break;
	case DW_OP_skip:
		expr_jump(m, true);
		break;
	default:
		m->bad = true;
	}
}

bool unwind_expr(struct unwind_state *st, const uint8_t *p, size_t len, const uint64_t *first,
		 uint64_t *v)
{
	struct machine m = { .st = st, .c = cur_of(p, len), .begin = p };

	if (first)
		expr_push(&m, *first);
	for (int step = 0; cur_left(&m.c) && !m.bad && !m.c.bad; step++) {
		uint8_t op = cur_u8(&m.c);

		if (step == STEPS_MAX)
			return false;
		if (!values(&m, op) && !binary(&m, op))
			expr_other_op(&m, op);
	}
	if (m.bad || m.c.bad || !m.n)
		return false;
	*v = m.v[m.n - 1];
	if (st->word == 4)
		*v &= UINT32_MAX;
	return true;
}
