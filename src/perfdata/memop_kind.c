/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memop_kind - IBS ops by what they have in common. Two ops with the same bits differ only in their
 * cycles, addresses and open misses, so a kind of them is decoded once (ibs_field.def).
 */
#include <string.h>

#include "base/bytes.h"
#include "perfdata/ibs_int.h"
#include "perfdata/memop.h"

#define OF_KIND (~(UINT64_C(0xffffffff) << 32 | UINT64_C(0x3f) << 26)) /* of IBS_OP_DATA3 */
#define NEEDED	(sizeof(uint32_t) + 7 * sizeof(uint64_t))

static void set_all(struct ibs *x, enum ibs_field f)
{
	const struct ibs_row *w = &ibs_rows[f];
	unsigned bits = w->high - w->low + 1;

	x->reg[w->reg] |= (bits < 64 ? (1ULL << bits) - 1 : UINT64_MAX) << w->low;
}

/* Decodes an op of the kind whose numbers are all there; what has no meaning is not taken. */
static bool learn(struct memop_kind *k, const struct memop_how *how, const uint8_t *raw, size_t len)
{
	struct ibs x;

	if (ibs_read(&x, IBS_OP, how->part, raw, len))
		return false;
	set_all(&x, IBS_TAG_TO_RETIRE);
	set_all(&x, IBS_MISS_LATENCY);
	set_all(&x, IBS_DTLB_REFILL);
	set_all(&x, IBS_DATA_LINEAR);
	set_all(&x, IBS_DATA_PHYSICAL);
	k->user = 0;
	memop_of_ibs(&k->op, &x);
	memset(k->op.cycles, 0, sizeof(k->op.cycles));
	k->op.open = 0;
	k->op.address = k->op.physical = 0;
	return true;
}

/* Without asking: which ones an op has is hard to foresee. */
static inline void put(struct memop *op, enum memop_latency l, uint64_t cycles, bool none_is_0)
{
	op->cycles[l] = op->has >> l & 1 ? (uint32_t)cycles : 0;
	op->has &= ~((uint32_t)(none_is_0 && !cycles) << l);
}

static inline uint64_t put_address(struct memop *op, uint32_t has, uint64_t address)
{
	op->has &= address ? UINT32_MAX : ~has;
	return op->has & has ? address : 0;
}

bool memop_of_kind(struct memop *op, struct memop_kind **kind, struct memop_kind *table,
		   const struct memop_how *how, const struct pd_event *ev,
		   const struct pd_record *r)
{
	uint64_t data, data2, data3;
	struct memop_kind *k;
	const uint8_t *raw, *reg;
	uint32_t caps;
	size_t len;

	*kind = NULL;
	if (how->from != MEMOP_FROM_OP)
		return memop_of_record(op, how, ev, r);
	if (!pd_raw_find(ev, r, &raw, &len) || len < NEEDED)
		return false;
	caps = ld32(raw);
	reg = raw + sizeof(uint32_t);
	data = ld64(reg + 16);
	data2 = ld64(reg + 24);
	data3 = ld64(reg + 32);
	if ((ld64(reg) >> 17 & 3) != 3)
		return false;
	k = &table[(data2 * 0x9e3779b97f4a7c15u ^ (data3 & OF_KIND) * 0xc2b2ae3d27d4eb4fu) >> 56];
	if (!k->used || k->data2 != data2 || k->data3 != (uint32_t)(data3 & OF_KIND) ||
	    k->caps != caps) {
		k->used = false;
		if (!learn(k, how, raw, len))
			return false;
		k->used = true;
		k->data2 = data2;
		k->data3 = (uint32_t)(data3 & OF_KIND);
		k->caps = caps;
	}
	*kind = k;
	*op = k->op;
	put(op, MEMOP_LATENCY_TAG, data >> 16 & 0xffff, true);
	put(op, MEMOP_LATENCY_COMPLETE, data & 0xffff, false);
	put(op, MEMOP_LATENCY_DATA, data3 >> 32 & 0xffff, true);
	put(op, MEMOP_LATENCY_REFILL, data3 >> 48, true);
	op->open = op->has & MEMOP_HAS_OPEN ? data3 >> 26 & 0x3f : 0;
	op->address = put_address(op, MEMOP_HAS_ADDRESS, ld64(reg + 40));
	op->physical = put_address(op, MEMOP_HAS_PHYSICAL, ld64(reg + 48));
	return true;
}
