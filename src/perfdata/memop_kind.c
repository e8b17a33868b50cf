/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memop_kind - IBS ops by their shared bits. Two ops with the same bits differ only in their
 * cycles, addresses and open misses, so a kind of them is decoded once (ibs_field.def). Which of
 * these numbers are 0 is part of the kind: an op does not have such a latency or address.
 */
#include "base/bytes.h"
#include "perfdata/memop.h"

#define OPEN_AT 26 /* in IBS_OP_DATA3, 6 bits; in a kind 5: which numbers are there */
#define OF_KIND ((1u << OPEN_AT) - 1)
#define NEEDED	(sizeof(uint32_t) + 7 * sizeof(uint64_t))

/* The registers of an op, and the key of its kind. */
struct packet {
	const uint8_t *raw;
	size_t len;
	uint64_t data, data2, data3, linear, physical;
	uint32_t caps, of_kind;
};

/* False: the registers are not all there, or no op's. */
static inline bool read_packet(struct packet *x, const struct memop_how *how,
			       const struct pd_event *ev, const struct pd_record *r)
{
	const uint8_t *reg;

	if (how->raw_at && how->raw_at <= r->size) {
		x->raw = r->p + how->raw_at;
		x->len = ld32(x->raw - sizeof(uint32_t));
		if (x->len > (size_t)(r->size - how->raw_at))
			return false;
	} else if (!pd_raw_find(ev, r, &x->raw, &x->len)) {
		return false;
	}
	if (x->len < NEEDED)
		return false;
	reg = x->raw + sizeof(uint32_t);
	if ((ld64(reg) >> 17 & 3) != 3)
		return false;
	x->caps = ld32(x->raw);
	x->data = ld64(reg + 16);
	x->data2 = ld64(reg + 24);
	x->data3 = ld64(reg + 32);
	x->linear = ld64(reg + 40);
	x->physical = ld64(reg + 48);
	x->of_kind = (uint32_t)x->data3 & OF_KIND;
	x->of_kind |= ((x->data >> 16 & 0xffff ? 1u : 0) | (x->data3 >> 32 & 0xffff ? 2u : 0) |
		       (x->data3 >> 48 ? 4u : 0) | (x->linear ? 8u : 0) | (x->physical ? 16u : 0))
		      << OPEN_AT;
	return true;
}

static bool kind_fits(const struct memop_kind *k, const struct packet *x)
{
	return k->used && k->data2 == x->data2 && k->data3 == x->of_kind && k->caps == x->caps;
}

static __attribute__((noinline)) bool learn_kind(struct memop_kind *k, const struct memop_how *how,
						 const struct packet *packet)
{
	struct ibs x;
	uint32_t has;

	k->used = !ibs_read(&x, IBS_OP, how->part, packet->raw, packet->len);
	k->data2 = packet->data2;
	k->data3 = packet->of_kind;
	k->caps = packet->caps;
	k->user[0] = k->user[1] = 0;
	if (!k->used)
		return false;
	memop_of_ibs(&k->op, &x);
	has = k->op.has;
	k->tag = has >> MEMOP_LATENCY_TAG & 1 ? UINT16_MAX : 0;
	k->complete = has >> MEMOP_LATENCY_COMPLETE & 1 ? UINT16_MAX : 0;
	k->data = has >> MEMOP_LATENCY_DATA & 1 ? UINT16_MAX : 0;
	k->refill = has >> MEMOP_LATENCY_REFILL & 1 ? UINT16_MAX : 0;
	k->open = has & MEMOP_HAS_OPEN ? 0x3f : 0;
	k->address = has & MEMOP_HAS_ADDRESS ? UINT64_MAX : 0;
	k->physical = has & MEMOP_HAS_PHYSICAL ? UINT64_MAX : 0;
	return true;
}

const struct memop *memop_of_kind(struct memop *other, struct memop_kind **kind,
				  struct memop_kind *table, const struct memop_how *how,
				  const struct pd_event *ev, const struct pd_record *r)
{
	struct memop_kind *k;
	struct packet x;
	struct memop *op;

	*kind = NULL;
	if (how->from != MEMOP_FROM_OP)
		return memop_of_record(other, how, ev, r) ? other : NULL;
	if (!read_packet(&x, how, ev, r))
		return NULL;
	k = &table[(x.data2 * 0x9e3779b97f4a7c15u ^ x.of_kind * 0xc2b2ae3d27d4eb4fu) >> 56];
	if (!kind_fits(k, &x) && !learn_kind(k, how, &x))
		return NULL;
	*kind = k;
	op = &k->op;
	op->cycles[MEMOP_LATENCY_TAG] = (uint16_t)(x.data >> 16) & k->tag;
	op->cycles[MEMOP_LATENCY_COMPLETE] = (uint16_t)x.data & k->complete;
	op->cycles[MEMOP_LATENCY_DATA] = (uint16_t)(x.data3 >> 32) & k->data;
	op->cycles[MEMOP_LATENCY_REFILL] = (uint16_t)(x.data3 >> 48) & k->refill;
	op->open = (uint8_t)(x.data3 >> OPEN_AT) & k->open;
	op->address = x.linear & k->address;
	op->physical = x.physical & k->physical;
	return op;
}
