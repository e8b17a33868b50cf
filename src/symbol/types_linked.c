/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_linked - what the table of global addresses (.got) of a file holds once it is loaded: the
 * addresses of variables that a library gets to through it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/types_int.h"

#define RELA 24u /* bytes of an entry */
#define SYM  24u

static int by_slot(const void *a, const void *b)
{
	const struct type_linked *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* The value of symbol number `n` of a table; 0: it is defined elsewhere. */
static uint64_t symbol_value(const struct elf_file *f, const struct elf_sec *symbols, uint64_t n)
{
	if (!symbols || !symbols->data || n >= symbols->size / SYM ||
	    !elf_u16(f, symbols->data + n * SYM + 6))
		return 0;
	return elf_u64(f, symbols->data + n * SYM + 8);
}

static int read_table(struct types *t, const struct elf_sec *s, const struct elf_sec *got)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *symbols = s->link < f->n_sec ? &f->sec[s->link] : NULL;
	bool arm = f->machine == EM_AARCH64;

	for (uint64_t i = 0; i < s->size / RELA; i++) {
		const uint8_t *p = s->data + i * RELA;
		uint64_t info = elf_u64(f, p + 8);
		struct type_linked l = { elf_u64(f, p), elf_u64(f, p + 16) };

		if (l.slot - got->addr >= got->size)
			continue;
		if ((uint32_t)info == (arm ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT))
			l.address = symbol_value(f, symbols, info >> 32);
		else if ((uint32_t)info != (arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE))
			continue;
		if (l.address && vec_push(&t->linked, l))
			return -1;
	}
	return 0;
}

static int read_linked(struct types *t)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *got = elf_section(f, ".got"), *rela = elf_section(f, ".rela.dyn");

	if (!got || !rela || !f->is64 || !t->machine)
		return 0;
	if (read_table(t, rela, got))
		return -1;
	vec_sort(&t->linked, by_slot);
	return 0;
}

uint64_t type_linked_at(struct types *t, uint64_t slot)
{
	size_t lo = 0, hi;

	if (!t->linked_read) {
		t->linked_read = true;
		t->nomem |= read_linked(t) != 0;
	}
	for (hi = t->linked.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->linked.v[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->linked.n && t->linked.v[lo].slot == slot ? t->linked.v[lo].address : 0;
}
