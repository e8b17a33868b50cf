/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF bytes with DWARF in them: every unit's lines and inlined calls are read and looked up. */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/dwarf/source_tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct source *s, uint64_t addr)
{
	struct source_inline in[8];
	struct source_line l = source_line(s, addr);
	struct source_function f;
	size_t n = source_inlines(s, addr, in, 8);
	size_t sum = l.file ? strlen(l.file) : 0;

	if (source_function(s, addr, &f))
		sum += strlen(f.name) + strlen(f.linkage);
	while (n--)
		sum += strlen(source_inline_name(s, &in[n])) + strlen(in[n].linkage) +
		       (in[n].at.file ? strlen(in[n].at.file) : 0);
	if (sum == SIZE_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct source *s = source_open_memory(data, size, &err);

	if (!s)
		return 0;
	look(s, 0);
	look(s, UINT64_MAX);
	for (size_t i = 0; i < s->where.n && i < 4096; i++) {
		look(s, s->where.v[i].lo);
		look(s, s->where.v[i].lo + 7);
	}
	source_free(s);
	return 0;
}
