/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as instructions of both machines, at each place: units are in range, nothing is read past
 * the end. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/operands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_unit(uint8_t u)
{
	return u < UNITS || u == UNIT_SP || u == UNIT_NONE;
}

static void check(const struct operands *o, size_t len)
{
	if (!o->len || o->len > 15 || o->op >= INSN_OPS || o->n_memory > 2 || !is_unit(o->known) ||
	    !is_unit(o->from) || !is_unit(o->copies) || (!o->bad && o->len > len) ||
	    (o->stepped != UNIT_NONE && o->stepped >= UNITS) || o->sum & ~o->reads)
		abort();
	for (unsigned k = 0; k < o->n_memory; k++)
		if (!is_unit(o->memory[k].base) || !is_unit(o->memory[k].index))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct insn_decoder *d = insn_decoder_new(EM_X86_64);

	for (size_t at = 0; at < size; at++) {
		size_t len = size - at < 15 ? size - at : 15;
		uint8_t *copy = malloc(len);
		struct operands o;

		if (!copy)
			abort();
		memcpy(copy, data + at, len);
		if (d) {
			operands_decode(d, copy, len, 0x1000 + at, &o);
			check(&o, len);
		}
		operands_arm64(copy, len, 0x1000 + at, &o);
		check(&o, len);
		free(copy);
	}
	insn_decoder_free(d);
	return 0;
}
