/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF bytes with DWARF and code in them: the types of what functions access, and of static data. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_file.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(bool true_)
{
	if (!true_)
		abort();
}

static void check(const struct types_access *a)
{
	hold(a->why < TYPES_WHYS && strlen(types_why_key(a->why)) &&
	     strlen(types_why_means(a->why)));
	hold((a->why == TYPES_KNOWN) == (a->type && a->field));
	hold(!a->type || strlen(a->type) + strlen(a->field) < SIZE_MAX);
}

static void ask(struct types *t, uint64_t vaddr)
{
	struct types_access a, again;

	for (int store = 0; store < 2; store++) {
		types_at(t, vaddr, store, &a);
		check(&a);
		types_at(t, vaddr, store, &again);
		hold(a.why == again.why && a.field == again.field && a.offset == again.offset);
	}
	types_static(t, vaddr, (unsigned)(vaddr % 9), &a);
	check(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file elf = { .p = NULL };
	struct err err = ERR_INIT;
	struct source *s;
	struct types *t;

	if (elf_file_read(&elf, data, size, "fuzzed", &err))
		return 0;
	s = source_open_memory(data, size, &err);
	t = s ? types_new(s, &elf, &err) : NULL;
	for (size_t i = 0; t && i < s->where.n && i < 256; i++) {
		uint64_t lo = s->where.v[i].lo;

		for (uint64_t v = lo; v < lo + 256; v++)
			ask(t, v);
	}
	for (size_t i = 0; t && i < elf.n_sec && i < 64; i++)
		ask(t, elf.sec[i].addr);
	types_free(t);
	source_free(s);
	elf_file_free(&elf);
	return 0;
}
