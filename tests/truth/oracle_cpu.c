/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor: which instructions branch, how it guesses where to, how long things take. */
#include "oracle.h"

#define COST_LONG    60
#define COST_SYSCALL 2000

struct opcode {
	const uint8_t *p; /* behind prefixes */
	size_t len;
	bool repeat, two; /* F2 or F3 before it; 0F before it, which is passed over */
};

static bool prefix(uint8_t c)
{
	switch (c) {
	case 0x26: /* segments */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66: /* sizes */
	case 0x67:
	case 0xf0: /* lock */
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return c >= 0x40 && c <= 0x4f; /* REX */
	}
}

static struct opcode opcode(const uint8_t *p, size_t len)
{
	struct opcode o = { .p = p, .len = len };

	while (o.len > 1 && prefix(*o.p)) {
		o.repeat |= *o.p == 0xf2 || *o.p == 0xf3;
		o.p++;
		o.len--;
	}
	if (o.len > 1 && *o.p == 0x0f) {
		o.two = true;
		o.p++;
		o.len--;
	}
	return o;
}

static enum kind kind_of_group5(uint8_t modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
		return KIND_CALL_INDIRECT;
	case 4:
		return KIND_JUMP_INDIRECT;
	default:
		return KIND_NONE;
	}
}

enum kind cpu_kind(const uint8_t *p, size_t len)
{
	struct opcode o = opcode(p, len);
	uint8_t c = *o.p;

	if (o.two) {
		if (c >= 0x80 && c <= 0x8f)
			return KIND_COND;
		return c == 0x05 ? KIND_SYSCALL : KIND_NONE;
	}
	if ((c >= 0x70 && c <= 0x7f) || (c >= 0xe0 && c <= 0xe3))
		return KIND_COND;
	if (o.repeat && ((c >= 0xa4 && c <= 0xa7) || (c >= 0xaa && c <= 0xaf)))
		return KIND_REPEAT;
	switch (c) {
	case 0xe8:
		return KIND_CALL;
	case 0xe9:
	case 0xeb:
		return KIND_JUMP;
	case 0xc2:
	case 0xc3:
		return KIND_RETURN;
	case 0xff:
		return o.len > 1 ? kind_of_group5(o.p[1]) : KIND_NONE;
	default:
		return KIND_NONE;
	}
}

uint64_t cpu_cost(const uint8_t *p, size_t len)
{
	struct opcode o = opcode(p, len);
	uint8_t c = *o.p;

	if (o.two && (c == 0x51 || c == 0x5e)) /* square roots, divisions of floating point */
		return COST_LONG;
	if (o.two && c == 0x05)
		return COST_SYSCALL;
	if (!o.two && (c == 0xf6 || c == 0xf7) && o.len > 1 && (o.p[1] >> 3 & 7) >= 6)
		return COST_LONG;
	return 1;
}

/* ---- predictors: conditional by history, indirect by the last target, returns by a stack ---- */

#define HISTORY_BITS 12
#define TARGETS	     1024
#define RETURNS	     16

static struct {
	uint8_t counter[1 << HISTORY_BITS]; /* two bits: 2 and 3 say taken */
	uint32_t history;
	uint64_t target[TARGETS];
	uint64_t behind[RETURNS]; /* calls not returned from, a ring */
	unsigned top;
} guess;

static bool wrong_direction(uint64_t from, bool taken)
{
	uint32_t i = ((uint32_t)from ^ guess.history) & ((1u << HISTORY_BITS) - 1);
	uint8_t *c = &guess.counter[i];
	bool said = *c >= 2;

	if (taken && *c < 3)
		(*c)++;
	if (!taken && *c > 0)
		(*c)--;
	guess.history = guess.history << 1 | taken;
	return said != taken;
}

static bool wrong_target(uint64_t from, uint64_t to)
{
	uint64_t *t = &guess.target[(from ^ from >> 10) % TARGETS];
	bool wrong = *t != to;

	*t = to;
	return wrong;
}

bool cpu_mispredicts(enum kind kind, uint64_t from, uint64_t behind, uint64_t to)
{
	switch (kind) {
	case KIND_COND:
		return wrong_direction(from, to != behind);
	case KIND_CALL:
		guess.behind[guess.top++ % RETURNS] = behind;
		return false;
	case KIND_CALL_INDIRECT:
		guess.behind[guess.top++ % RETURNS] = behind;
		return wrong_target(from, to);
	case KIND_JUMP_INDIRECT:
		return wrong_target(from, to);
	case KIND_RETURN:
		return guess.behind[--guess.top % RETURNS] != to;
	default:
		return false;
	}
}
