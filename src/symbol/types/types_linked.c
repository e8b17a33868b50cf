/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_linked - contents of a file's tables once it is loaded (.got): addresses of variables,
 * and where those of a thread are.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/insn/decode.h"
#include "symbol/types/types_int.h"

#define RELA 24u /* bytes of an entry */
#define SYM  24u

enum { RULE_VALUE, RULE_SYMBOL, RULE_BOTH }; /* addend; symbol; sum */

static const struct rule {
	uint16_t machine;
	uint32_t relocation;
	enum type_linked_kind kind;
	uint8_t value;
} rules[] = {
	{ EM_X86_64, R_X86_64_GLOB_DAT, LINKED_ADDRESS, RULE_SYMBOL },
	{ EM_X86_64, R_X86_64_RELATIVE, LINKED_ADDRESS, RULE_VALUE },
	{ EM_X86_64, R_X86_64_TPOFF64, LINKED_OFFSET, RULE_BOTH },
	{ EM_X86_64, R_X86_64_DTPMOD64, LINKED_PAIR, RULE_VALUE },
	{ EM_X86_64, R_X86_64_DTPOFF64, LINKED_SECOND, RULE_BOTH },
	{ EM_X86_64, R_X86_64_TLSDESC, LINKED_CALL, RULE_BOTH },
	{ EM_AARCH64, R_AARCH64_GLOB_DAT, LINKED_ADDRESS, RULE_SYMBOL },
	{ EM_AARCH64, R_AARCH64_RELATIVE, LINKED_ADDRESS, RULE_VALUE },
	{ EM_AARCH64, R_AARCH64_TLS_TPREL, LINKED_OFFSET, RULE_BOTH },
	{ EM_AARCH64, R_AARCH64_TLS_DTPMOD, LINKED_PAIR, RULE_VALUE },
	{ EM_AARCH64, R_AARCH64_TLS_DTPREL, LINKED_SECOND, RULE_BOTH },
	{ EM_AARCH64, R_AARCH64_TLSDESC, LINKED_CALL, RULE_BOTH },
};

static int by_slot(const void *a, const void *b)
{
	const struct type_linked *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* The value of symbol number `n` of a table; false: it is defined elsewhere. */
static bool symbol_value(const struct elf_file *f, const struct elf_sec *symbols, uint64_t n,
			 uint64_t *value)
{
	if (!symbols || !symbols->data || n >= symbols->size / SYM ||
	    !elf_u16(f, symbols->data + n * SYM + 6))
		return false;
	*value = elf_u64(f, symbols->data + n * SYM + 8);
	return true;
}

static const struct rule *relocation_rule(const struct elf_file *f, uint64_t info)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].machine == f->machine && rules[i].relocation == (uint32_t)info)
			return &rules[i];
	return NULL;
}

static void read_table(struct types *t, const struct elf_sec *s, const struct elf_sec *got)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *symbols = s->link < f->n_sec ? &f->sec[s->link] : NULL;

	for (uint64_t i = 0; s->data && i < s->size / RELA; i++) {
		const uint8_t *p = s->data + i * RELA;
		uint64_t info = elf_u64(f, p + 8), value = 0;
		const struct rule *r = relocation_rule(f, info);
		struct type_linked l = { .slot = elf_u64(f, p) };

		if (!r || (r->kind == LINKED_ADDRESS && (!got || l.slot - got->addr >= got->size)))
			continue;
		l.kind = r->kind;
		if (r->value != RULE_VALUE && info >> 32 &&
		    !symbol_value(f, symbols, info >> 32, &value))
			continue;
		l.value = value + (r->value == RULE_SYMBOL ? 0 : elf_u64(f, p + 16));
		if (l.value || l.kind != LINKED_ADDRESS)
			vec_xpush(&t->linked, l);
	}
}

static const char *const tables[] = { ".rela.dyn", ".rela.plt" };

static void read_linked(struct types *t)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *got = elf_section(f, ".got");

	for (size_t i = 0; i < 2 && f->is64 && t->machine; i++) {
		const struct elf_sec *rela = elf_section(f, tables[i]);

		if (rela)
			read_table(t, rela, got);
	}
	vec_sort(&t->linked, by_slot);
}

const struct type_linked *type_linked_at(struct types *t, uint64_t slot)
{
	size_t at;

	if (!t->linked_read) {
		t->linked_read = true;
		read_linked(t);
	}
	bisect(at, t->linked.n, i, t->linked.v[i].slot >= slot);
	return at < t->linked.n && t->linked.v[at].slot == slot ? &t->linked.v[at] : NULL;
}

bool type_linked_pair(struct types *t, const struct type_linked *l, int64_t *off)
{
	const struct type_linked *second = type_linked_at(t, l->slot + 8);
	uint64_t len = 8;
	const uint8_t *p;

	if (second && second->kind == LINKED_SECOND) {
		*off = (int64_t)second->value;
		return true;
	}
	/* of this file: the linker has filled it in */
	p = second ? NULL : disasm_code_at(t->code, l->slot + 8, &len);
	if (p && len == 8)
		*off = (int64_t)elf_u64(t->code, p);
	return p && len == 8;
}

int64_t type_thread_pointer(const struct types *t)
{
	const struct elf_file *f = t->code;
	uint64_t align = 1, size = 0;

	for (size_t i = 0; i < f->n_sec; i++)
		if (f->sec[i].flags & SHF_TLS && f->sec[i].align > align)
			align = f->sec[i].align;
	for (size_t i = 0; i < f->n_seg; i++)
		if (f->seg[i].type == PT_TLS)
			size = f->seg[i].memsz;
	if (!t->machine || align & (align - 1) || align > 1 << 20 || size > INT32_MAX)
		return 0;
	if (t->machine->thread > 0) /* behind 16 bytes of the C library's */
		return -(int64_t)(align > 16 ? align : 16);
	return (int64_t)((size + align - 1) & ~(align - 1));
}

/* ---- variables by the names of symbols ------------------------------------------------------- */

static int symbol_by_name(const void *a, const void *b)
{
	const struct type_symbol *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void read_thread_symbols(struct types *t)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *s = elf_section_of_type(f, SHT_SYMTAB);

	for (uint64_t i = 0; s && s->data && f->is64 && i < s->size / SYM; i++) {
		const uint8_t *p = s->data + i * SYM;
		struct type_symbol x = { .off = elf_u64(f, p + 8) };

		if (ELF64_ST_TYPE(p[4]) != STT_TLS || !elf_u16(f, p + 6))
			continue;
		x.name = elf_symbol_name(f, s, i);
		if (x.name)
			vec_xpush(&t->thread_symbols.sym, x);
	}
	vec_sort(&t->thread_symbols.sym, symbol_by_name);
}

/* Variables of libraries that the loader copies to the program's own data. */
static void read_copies(struct types *t)
{
	const struct elf_file *f = t->code;
	const struct elf_sec *rela = elf_section(f, ".rela.dyn"), *s;
	uint32_t copy = f->machine == EM_AARCH64 ? R_AARCH64_COPY : R_X86_64_COPY;

	s = rela && f->is64 && t->machine && rela->link < f->n_sec ? &f->sec[rela->link] : NULL;
	for (uint64_t i = 0; s && s->data && rela->data && i < rela->size / RELA; i++) {
		const uint8_t *p = rela->data + i * RELA;
		uint64_t info = elf_u64(f, p + 8);
		struct type_symbol x = { .off = elf_u64(f, p) };

		if ((uint32_t)info != copy || info >> 32 >= s->size / SYM)
			continue;
		x.name = elf_symbol_name(f, s, info >> 32);
		if (x.name)
			vec_xpush(&t->copies.sym, x);
	}
	vec_sort(&t->copies.sym, symbol_by_name);
}

/* Where the one of that name is; false: there is none, or several. */
static bool find_symbol(struct types *t, struct type_symbols *of, void (*read)(struct types *t),
			const char *name, uint64_t *off)
{
	size_t at, n = 0;

	if (!of->read) {
		of->read = true;
		read(t);
	}
	bisect(at, of->sym.n, i, strcmp(of->sym.v[i].name, name) >= 0);
	while (n < 2 && at + n < of->sym.n && !strcmp(of->sym.v[at + n].name, name))
		n++;
	*off = n == 1 ? of->sym.v[at].off : 0;
	return n == 1;
}

bool type_thread_symbol(struct types *t, const char *name, uint64_t *off)
{
	return find_symbol(t, &t->thread_symbols, read_thread_symbols, name, off);
}

bool type_copied(struct types *t, const char *name, uint64_t *at)
{
	return find_symbol(t, &t->copies, read_copies, name, at);
}
