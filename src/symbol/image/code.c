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
#include "symbol/insn/decode.h"

/* More than any function has. */
#define CODE_BYTES_MAX (1u << 26)

_Static_assert(CODE_FAR == DISASM_FAR, "one word for addresses that are nowhere");

struct taking {
	VEC(struct code_insn) insn;
	uint64_t base; /* what instructions' addresses begin at */
	uint64_t len;
};

static int take(void *ctx, const struct insn *in)
{
	struct taking *t = ctx;
	struct code_insn *i = vec_add(&t->insn);

	if (!i)
		return -1;
	*i = (struct code_insn){ .at = (uint32_t)(in->vaddr - t->base),
				 .len = in->len,
				 .flow = in->flow,
				 .has_target = in->has_target,
				 .bad = in->bad,
				 .target = in->target };
	t->len += in->len;
	return 0;
}

static bool leaves(uint8_t flow)
{
	return flow != INSN_OTHER;
}

static bool goes_on(uint8_t flow)
{
	return flow == INSN_OTHER || flow == INSN_COND || flow == INSN_CALL || flow == INSN_SYSTEM;
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

		if (goes_on(b->flow) && i + 1 < c->n_blocks)
			b->next = (uint32_t)i + 1;
		if (!last->has_target)
			continue;
		b->target = code_block_of(c, last->target);
		if (b->target != CODE_NONE && c->start + c->block[b->target].start != last->target)
			b->target = CODE_NONE; /* into the middle of an instruction */
	}
}

/* Blocks anew, of which `leader` says by instruction where they begin. */
static int make_blocks(struct code *c, const uint8_t *leader, struct err *err)
{
	struct code_block *block;
	size_t n = 0;

	for (size_t i = 0; i < c->n_insns; i++)
		n += leader[i];
	block = malloc((n + 1) * sizeof(*block));
	if (!block)
		return err_nomem(err);
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
	return 0;
}

static int find_blocks(struct code *c, struct err *err)
{
	uint8_t *leader = calloc(c->n_insns + 1, 1);
	int ret;

	if (!leader)
		return err_nomem(err);
	leader[0] = c->n_insns > 0;
	for (size_t i = 0; i < c->n_insns; i++) {
		const struct code_insn *in = &c->insn[i];
		uint32_t to = in->has_target ? code_insn_at(c, in->target) : CODE_NONE;

		if (to != CODE_NONE)
			leader[to] = 1;
		if (leaves(in->flow))
			leader[i + 1] = 1;
	}
	leader[c->n_insns] = 0;
	ret = make_blocks(c, leader, err);
	free(leader);
	return ret;
}

static int finish(struct code **out, struct taking *t, uint64_t start, uint64_t vaddr,
		  struct err *err)
{
	struct code *c = calloc(1, sizeof(*c));

	if (!c) {
		vec_free(&t->insn);
		return err_nomem(err);
	}
	*c = (struct code){ .start = start,
			    .len = t->len,
			    .vaddr = vaddr,
			    .insn = t->insn.v,
			    .n_insns = t->insn.n };
	if (find_blocks(c, err)) {
		code_free(c);
		return -1;
	}
	*out = c;
	return 0;
}

static int too_long(uint64_t len, struct err *err)
{
	return err_set(err, ERR_LIMIT, "%llu bytes of code are more than are taken apart (%u)",
		       (unsigned long long)len, CODE_BYTES_MAX);
}

/* `rc` is what a decoder returned, of whose callback -1 means no memory. */
static int decoded(struct taking *t, int rc, struct err *err)
{
	if (!rc)
		return 0;
	vec_free(&t->insn);
	return err && err->code != ERR_NONE ? -1 : err_nomem(err);
}

/* Addresses of the ELF's own to those of the image; a segment's differ by the same. */
static void to_image(struct images *set, uint32_t image, struct taking *t, uint64_t start)
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
	struct err why = ERR_INIT;
	uint64_t vaddr;

	if (len > CODE_BYTES_MAX)
		return too_long(len, err);
	/* JIT code has no others than the image's */
	if (!image_to_vaddr(set, image, start, &vaddr))
		vaddr = start;
	t.base = vaddr;
	if (decoded(&t, disasm_range_plain(set, image, vaddr, len, take, &t, &why), &why)) {
		(void)err_set(err, why.code, "%s", why.what);
		return why.hint[0] ? err_hint(err, "%s", why.hint) : -1;
	}
	to_image(set, image, &t, start);
	return finish(out, &t, start, vaddr, err);
}

int code_bytes(struct code **out, unsigned machine, const uint8_t *p, size_t len, uint64_t start,
	       struct err *err)
{
	struct taking t = { .insn = VEC_INIT, .base = start };
	struct err why = ERR_INIT;

	if (len > CODE_BYTES_MAX)
		return too_long(len, err);
	if (decoded(&t, disasm_plain(machine, p, len, start, take, &t, &why), &why)) {
		(void)err_set(err, why.code, "%s", why.what);
		return why.hint[0] ? err_hint(err, "%s", why.hint) : -1;
	}
	return finish(out, &t, start, start, err);
}

void code_free(struct code *c)
{
	if (!c)
		return;
	free(c->insn);
	free(c->block);
	free(c);
}

int code_split(struct code *c, const uint64_t *leader, size_t n, size_t *strange, struct err *err)
{
	uint8_t *mark = calloc(c->n_insns + 1, 1);
	size_t odd = 0, fresh = 0;
	int ret = 0;

	if (!mark)
		return err_nomem(err);
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
		ret = make_blocks(c, mark, err);
	free(mark);
	if (strange)
		*strange = odd;
	return ret;
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
