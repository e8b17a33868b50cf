/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code - see code.h. Instructions come from the decoders of disasm without their text; the starts
 * of blocks are marked in an array by instruction, which is only there while blocks are being made.
 */
#include "symbol/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/invariant.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbol/insn/decode.h"

/* More than any function has. */
#define CODE_BYTES_MAX (1u << 26)

_Static_assert(CODE_FAR == DISASM_FAR, "one word for addresses that are nowhere");

struct taking {
	VEC(struct code_insn) insn;
	uint64_t base; /* the first instruction's address */
	uint64_t len;
};

static int take_insn(void *ctx, const struct insn *in)
{
	struct taking *t = ctx;

	vec_xpush(&t->insn, ((struct code_insn){ .at = (uint32_t)(in->vaddr - t->base),
						 .len = in->len,
						 .flow = in->flow,
						 .has_target = in->has_target,
						 .bad = in->bad,
						 .target = in->target }));
	t->len += in->len;
	return 0;
}

static void fill_block(const struct code *c, struct code_block *b, uint32_t from, uint32_t to)
{
	const struct code_insn *last = &c->insn[to - 1];

	*b = (struct code_block){
		.insn = from,
		.n = to - from,
		.start = c->insn[from].at,
		.end = last->at + last->len,
		.flow = last->flow,
		.indirect =
			(last->flow == INSN_JUMP || last->flow == INSN_CALL) && !last->has_target,
		.next = CODE_NONE,
		.target = CODE_NONE,
	};
}

static void link_blocks(struct code *c)
{
	for (size_t i = 0; i < c->n_blocks; i++) {
		struct code_block *b = &c->block[i];
		const struct code_insn *last = &c->insn[b->insn + b->n - 1];

		if ((b->flow == INSN_OTHER || b->flow == INSN_COND || b->flow == INSN_CALL ||
		     b->flow == INSN_SYSTEM) &&
		    i + 1 < c->n_blocks)
			b->next = (uint32_t)i + 1;
		if (!last->has_target)
			continue;
		b->target = code_block_of(c, last->target);
		if (b->target != CODE_NONE && c->start + c->block[b->target].start != last->target)
			b->target = CODE_NONE; /* into the middle of an instruction */
	}
}

/* Makes the blocks anew; `leader`: by instruction, whether one begins there. */
static void make_blocks(struct code *c, const uint8_t *leader)
{
	struct code_block *block;
	size_t n = 0;

	for (size_t i = 0; i < c->n_insns; i++)
		n += leader[i];
	block = xcalloc(n + 1, sizeof(*block));
	free(c->block);
	c->block = block;
	c->n_blocks = 0;
	for (size_t i = 0, to; i < c->n_insns; i = to) {
		for (to = i + 1; to < c->n_insns && !leader[to]; to++)
			;
		fill_block(c, &block[c->n_blocks++], (uint32_t)i, (uint32_t)to);
	}
	assert(pairs_hold(c->n_insns, i, c->insn[i].at < c->insn[i + 1].at));
	assert(pairs_hold(c->n_blocks, i,
			  block[i].insn + block[i].n == block[i + 1].insn &&
				  block[i].end <= block[i + 1].start));
	link_blocks(c);
}

/* Makes the code of the instructions and of the blocks that its own jumps make. */
static struct code *code_of_insns(struct taking *t, uint64_t start, uint64_t vaddr)
{
	struct code *c = xcalloc(1, sizeof(*c));
	uint8_t *leader = xcalloc(t->insn.n + 1, 1);

	*c = (struct code){ .start = start,
			    .len = t->len,
			    .vaddr = vaddr,
			    .insn = t->insn.v,
			    .n_insns = t->insn.n };
	leader[0] = c->n_insns > 0;
	for (size_t i = 0; i < c->n_insns; i++) {
		const struct code_insn *in = &c->insn[i];
		uint32_t to = in->has_target ? code_insn_at(c, in->target) : CODE_NONE;

		if (to != CODE_NONE)
			leader[to] = 1;
		if (in->flow != INSN_OTHER)
			leader[i + 1] = 1;
	}
	leader[c->n_insns] = 0;
	make_blocks(c, leader);
	free(leader);
	return c;
}

static int too_long(uint64_t len, struct err *err)
{
	return err_set(err, ERR_LIMIT, "%llu bytes of code are more than are taken apart (%u)",
		       (unsigned long long)len, CODE_BYTES_MAX);
}

/* Addresses of the ELF's own to those of the image; a segment's differ by the same. */
static void set_image_targets(struct images *set, uint32_t image, struct taking *t, uint64_t start)
{
	vec_each (&t->insn, struct code_insn *, i) {
		uint64_t into = i->target - t->base, addr;

		if (!i->has_target || i->target == CODE_FAR)
			continue;
		if (into >= t->len && image_from_vaddr(set, image, i->target, &addr))
			i->target = addr;
		else
			i->target = start + into;
	}
}

int code_read(struct code **out, struct images *set, uint32_t image, uint64_t start, uint64_t len,
	      struct err *err)
{
	struct taking t = { .insn = VEC_INIT };
	uint64_t vaddr;

	if (len > CODE_BYTES_MAX)
		return too_long(len, err);
	/* JIT code has no others than the image's */
	if (!image_to_vaddr(set, image, start, &vaddr))
		vaddr = start;
	t.base = vaddr;
	if (disasm_range_plain(set, image, vaddr, len, take_insn, &t, err)) {
		vec_free(&t.insn);
		return -1;
	}
	set_image_targets(set, image, &t, start);
	*out = code_of_insns(&t, start, vaddr);
	return 0;
}

int code_bytes(struct code **out, unsigned machine, const uint8_t *p, size_t len, uint64_t start,
	       struct err *err)
{
	struct taking t = { .insn = VEC_INIT, .base = start };

	if (len > CODE_BYTES_MAX)
		return too_long(len, err);
	if (disasm_plain(machine, p, len, start, take_insn, &t, err)) {
		vec_free(&t.insn);
		return -1;
	}
	*out = code_of_insns(&t, start, start);
	return 0;
}

void code_free(struct code *c)
{
	if (!c)
		return;
	free(c->insn);
	free(c->block);
	free(c);
}

size_t code_split(struct code *c, const uint64_t *leader, size_t n)
{
	uint8_t *mark = xcalloc(c->n_insns + 1, 1);
	size_t odd = 0, fresh = 0;

	for (size_t i = 0; i < c->n_blocks; i++)
		mark[c->block[i].insn] = 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t at = code_insn_at(c, leader[i]);

		odd += at == CODE_NONE;
		if (at == CODE_NONE || mark[at])
			continue;
		mark[at] = 1;
		fresh++;
	}
	if (fresh)
		make_blocks(c, mark);
	free(mark);
	return odd;
}

uint32_t code_insn_of(const struct code *c, uint64_t addr)
{
	uint64_t into = addr - c->start;
	size_t at;

	if (into >= c->len)
		return CODE_NONE;
	bisect(at, c->n_insns, i, c->insn[i].at > into);
	return at && into - c->insn[at - 1].at < c->insn[at - 1].len ? (uint32_t)at - 1 : CODE_NONE;
}

uint32_t code_insn_at(const struct code *c, uint64_t addr)
{
	uint32_t i = code_insn_of(c, addr);

	return i != CODE_NONE && c->insn[i].at == addr - c->start ? i : CODE_NONE;
}

uint32_t code_block_of(const struct code *c, uint64_t addr)
{
	uint64_t into = addr - c->start;
	size_t at;

	if (into >= c->len)
		return CODE_NONE;
	bisect(at, c->n_blocks, i, c->block[i].start > into);
	return at ? (uint32_t)at - 1 : CODE_NONE;
}
