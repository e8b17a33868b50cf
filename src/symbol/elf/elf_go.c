/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a Go program as symbols, from .gopclntab.
 *
 * In position-independent programs the table says where the text begins by way of a relocation.
 * Without one (Go 1.26 leaves the field empty) it begins where .text does.
 */
#include <elf.h>

#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/gopclntab.h"

/* What relocations put at that address: the addend of the first; 0: none do. */
static uint64_t relocated(const struct elf_file *f, uint64_t vaddr)
{
	size_t word = f->is64 ? 8 : 4, each = 3 * word;
	uint64_t budget = f->len; /* sections may overlap */

	for (size_t i = 0; i < f->n_sec; i++) {
		const struct elf_sec *s = &f->sec[i];

		if (!s->data || s->type != SHT_RELA || s->size > budget)
			continue;
		budget -= s->size;
		for (uint64_t at = 0; at + each <= s->size; at += each)
			if (elf_word(f, s->data + at) == vaddr)
				return elf_word(f, s->data + at + 2 * word);
	}
	return 0;
}

static uint64_t text_begins(const struct elf_file *f, const struct elf_sec *table)
{
	size_t at = gopclntab_text_at(table->data, (size_t)table->size, f->swap);
	uint64_t text = at ? relocated(f, table->addr + at) : 0;
	const struct elf_sec *s = text ? NULL : elf_section(f, ".text");

	return s ? s->addr : text;
}

int elf_go_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map,
		struct err *err)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	const struct elf_sec *table = NULL;
	struct go_funcs funcs;
	int rc = -1;

	for (size_t i = 0; !table && i < sizeof(names) / sizeof(*names); i++)
		table = elf_section(f, names[i]);
	if (!table)
		return 0;
	if (gopclntab_parse(&funcs, table->data, (size_t)table->size, f->swap,
			    text_begins(f, table), err))
		goto out;
	vec_each (&funcs.v, const struct go_func *, g) {
		struct raw_sym s = {
			.size = g->size, .name = g->name, .bind = RAW_GLOBAL, .kind = RAW_FUNCTION
		};

		if (!addr_map_get(map, g->entry, &s.start))
			continue;
		if (vec_push(&l->raw, s)) {
			(void)err_nomem(err);
			goto out;
		}
	}
	rc = 0;
out:
	vec_free(&funcs.v);
	return rc;
}
