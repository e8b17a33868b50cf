/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes as code of each machine, taken apart; the same bytes again say where it is split. What
 * code.h promises is held against what comes out.
 */
#include <elf.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "symbol/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool true_)
{
	if (!true_)
		abort();
}

static bool goes_on(uint8_t flow)
{
	return flow != INSN_JUMP && flow != INSN_RETURN && flow != INSN_STOP;
}

static void check_insns(const struct code *c, size_t size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < c->n_insns; i++) {
		const struct code_insn *in = &c->insn[i];

		hold(in->at == at && in->len && in->flow <= INSN_STOP);
		hold(!in->bad || (in->flow == INSN_OTHER && !in->has_target));
		hold(code_insn_at(c, c->start + at) == i);
		hold(in->len == 1 || code_insn_at(c, c->start + at + 1) == CODE_NONE);
		at += in->len;
	}
	hold(at == size && c->len == size);
	hold(code_insn_at(c, c->start + size) == CODE_NONE);
}

static void check_block(const struct code *c, size_t i)
{
	const struct code_block *b = &c->block[i];
	const struct code_insn *last = &c->insn[b->insn + b->n - 1];

	hold(b->n && b->start == c->insn[b->insn].at && b->end == last->at + last->len);
	hold(b->flow == last->flow);
	/* nothing leaves before its end */
	for (uint32_t k = b->insn; k + 1 < b->insn + b->n; k++)
		hold(c->insn[k].flow == INSN_OTHER);
	hold(b->next == CODE_NONE ? !goes_on(b->flow) || i + 1 == c->n_blocks
				  : b->next == i + 1 && goes_on(b->flow));
	hold(!b->indirect || ((b->flow == INSN_JUMP || b->flow == INSN_CALL) && !last->has_target));
	if (b->target != CODE_NONE)
		hold(last->has_target && c->start + c->block[b->target].start == last->target);
	else if (last->has_target)
		hold(code_insn_at(c, last->target) == CODE_NONE);
	hold(code_block_of(c, c->start + b->start) == i &&
	     code_block_of(c, c->start + b->end - 1) == i);
}

static void check_blocks(const struct code *c)
{
	uint32_t end = 0, insn = 0;

	for (size_t i = 0; i < c->n_blocks; i++) {
		hold(c->block[i].start == end && c->block[i].insn == insn);
		check_block(c, i);
		end = c->block[i].end;
		insn += c->block[i].n;
	}
	hold(end == c->len && insn == c->n_insns);
	hold(code_block_of(c, c->start - 1) == CODE_NONE);
	hold(code_block_of(c, c->start + c->len) == CODE_NONE);
}

static void split(struct code *c, const uint8_t *data, size_t size)
{
	uint64_t leader[64];
	size_t n = 0, strange, odd = 0, before = c->n_blocks;

	for (; n < 64 && n < size; n++) {
		leader[n] = c->start + (n % 8 ? data[n] : data[n] * 3U);
		odd += code_insn_at(c, leader[n]) == CODE_NONE;
	}
	strange = code_split(c, leader, n);
	hold(strange == odd && c->n_blocks >= before && c->n_blocks <= before + n);
	check_blocks(c);
	for (size_t i = 0; i < n; i++)
		if (code_insn_at(c, leader[i]) != CODE_NONE)
			hold(c->start + c->block[code_block_of(c, leader[i])].start == leader[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned machines[] = { EM_X86_64, EM_386, EM_AARCH64 };
	static const uint64_t starts[] = { 0x401000, 0xffffffffffffff00ULL, 0 };

	for (size_t i = 0; i < 3; i++) {
		struct err err = ERR_INIT;
		struct code *c;

		if (code_bytes(&c, machines[i], data, size, starts[(i + size) % 3], &err))
			continue;
		check_insns(c, size);
		check_blocks(c);
		split(c, data, size);
		code_free(c);
	}
	return 0;
}
