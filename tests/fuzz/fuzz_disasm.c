/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes as code of each machine: what is decoded sums to what was given, and texts end. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/disasm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
	size_t bytes;
	uint64_t next;
};

static int each(void *ctx, const struct insn *in)
{
	struct sum *s = ctx;

	if (!in->len || in->vaddr != s->next || !memchr(in->text, 0, sizeof(in->text)) ||
	    in->flow > INSN_STOP)
		abort();
	s->next += in->len;
	s->bytes += in->len;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned machines[] = { EM_X86_64, EM_386, EM_AARCH64 };

	for (size_t i = 0; i < 3; i++) {
		struct sum s = { 0, 0xffffffffffffff00ULL };
		struct err err = ERR_INIT;

		if (!disasm_bytes(machines[i], data, size, s.next, each, &s, &err) &&
		    s.bytes != size)
			abort();
	}
	return 0;
}
