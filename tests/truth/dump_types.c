/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_types - what types.h says of instructions: `dump_types FILE` reads lines "ADDRESS STORE" of
 * hexadecimal ELF addresses and prints a line for each: why, offset, size of the type, stack, type,
 * field, size of the field, with tabs between. Without lines to read (-a) it prints all memory
 * operands of FILE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_in.h"
#include "symbol/elf_file.h"
#include "symbol/source.h"
#include "symbol/types.h"

static void dump(struct types *t, uint64_t vaddr, bool store)
{
	struct types_access a;

	types_at(t, vaddr, store, &a);
	printf("%" PRIx64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%d\t%s\t%s\t%" PRIu64 "\n", vaddr,
	       types_why_key(a.why), a.offset, a.type_size, a.stack, a.type ? a.type : "",
	       a.field ? a.field : "", a.size);
}

static void dump_all(struct types *t, const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->n_seg; i++)
		if (elf->seg[i].type == 1 && elf->seg[i].flags & 1)
			for (uint64_t v = 0; v < elf->seg[i].filesz; v++) {
				struct types_access a;

				types_at(t, elf->seg[i].vaddr + v, false, &a);
				if (a.why != TYPES_NO_OPERAND && a.why != TYPES_NO_DEBUG)
					dump(t, elf->seg[i].vaddr + v, false);
			}
}

int main(int argc, char **argv)
{
	struct file_map map = { 0 };
	struct elf_file elf = { .p = NULL };
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct types *t = NULL;
	uint64_t vaddr;
	int store;

	if (argc < 2 || file_map_open(&map, argv[1], &err) ||
	    elf_file_read(&elf, map.p, map.len, argv[1], &err))
		return 1;
	s = source_open(argv[1], &err);
	t = s ? types_new(s, &elf, &err) : NULL;
	if (!t)
		return 1;
	if (argc > 2)
		dump_all(t, &elf);
	while (argc == 2 && scanf("%" SCNx64 " %d", &vaddr, &store) == 2)
		dump(t, vaddr, store);
	types_free(t);
	source_free(s);
	elf_file_free(&elf);
	file_map_close(&map);
	return 0;
}
