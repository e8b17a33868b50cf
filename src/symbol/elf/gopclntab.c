/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/gopclntab.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/xalloc.h"
#include "symbol/elf/elf_symbols.h"

enum { HEAD = 8 }; /* magic, two zeros, quantum of instructions, size of a pointer */

struct go_form {
	uint32_t magic;
	/* which words behind the head; 0: there is none (the first is the number of functions) */
	uint8_t text, names, functions;
	bool narrow; /* entries are 32 bits, relative to the text */
};

static const struct go_form forms[] = {
	{ 0xfffffffb, 0, 0, 0, false }, /* 1.2: all offsets count from the table's beginning */
	{ 0xfffffffa, 0, 2, 6, false }, /* 1.16 */
	{ 0xfffffff0, 2, 3, 7, true },	/* 1.18 */
	{ 0xfffffff1, 2, 3, 7, true },	/* 1.20 */
};

struct table {
	const uint8_t *p;
	size_t len;
	bool swap;
	const struct go_form *form;
	unsigned ptr; /* bytes of a pointer */
};

static bool read_go_head(struct table *t, const void *p, size_t len, bool swap)
{
	struct cur c = cur_of(p, len);
	uint32_t magic;
	unsigned quantum;

	*t = (struct table){ .p = p, .len = len, .swap = swap };
	c.swap = swap;
	magic = cur_u32(&c);
	if (cur_u16(&c))
		return false;
	quantum = cur_u8(&c);
	t->ptr = cur_u8(&c);
	if (c.bad || (quantum != 1 && quantum != 2 && quantum != 4) || (t->ptr != 4 && t->ptr != 8))
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (forms[i].magic == magic)
			t->form = &forms[i];
	return t->form;
}

/* A number of `size` bytes at `off`; 0 if it is missing. */
static uint64_t go_number(const struct table *t, uint64_t off, unsigned size)
{
	struct cur c = cur_of(t->p, t->len);

	c.swap = t->swap;
	(void)cur_take(&c, off);
	return size == 8 ? cur_u64(&c) : cur_u32(&c);
}

static uint64_t go_word(const struct table *t, unsigned which)
{
	return go_number(t, HEAD + (uint64_t)which * t->ptr, t->ptr);
}

static const char *go_name(const struct table *t, uint64_t names, uint64_t off)
{
	struct cur c = cur_of(t->p, t->len);
	const char *name;

	(void)cur_take(&c, names);
	(void)cur_take(&c, off);
	name = cur_str(&c);
	return name && *name ? name : NULL;
}

size_t gopclntab_text_at(const void *p, size_t len, bool swap)
{
	struct table t;

	return read_go_head(&t, p, len, swap) && t.form->text ? HEAD + (size_t)t.form->text * t.ptr
							      : 0;
}

void gopclntab_parse(struct go_funcs *out, const void *p, size_t len, bool swap, uint64_t text)
{
	uint64_t n, rows, base, names;
	unsigned each;
	struct table t;

	memset(out, 0, sizeof(*out));
	if (!read_go_head(&t, p, len, swap))
		return;
	each = t.form->narrow ? 4 : t.ptr;
	n = go_word(&t, 0);
	names = t.form->names ? go_word(&t, t.form->names) : 0;
	base = t.form->functions ? go_word(&t, t.form->functions) : 0;
	rows = t.form->functions ? base : HEAD + t.ptr;
	if (t.form->text && go_word(&t, t.form->text))
		text = go_word(&t, t.form->text);
	if (rows > len || n > (len - rows) / (2 * each) || base > len)
		return;
	/* rows of (entry, where the function is described), and the end of the last function */
	for (uint64_t i = 0; i < n; i++) {
		uint64_t row = rows + i * 2 * each;
		uint64_t from = go_number(&t, row, each),
			 until = go_number(&t, row + 2 * each, each);
		uint64_t told = base + go_number(&t, row + each, each);
		/* the description begins with the entry, then where its name is */
		const char *name = go_name(&t, names, go_number(&t, told + each, 4));
		struct go_func f = { from + (t.form->narrow ? text : 0), until - from, name };

		if (name && until > from && told >= base)
			vec_xpush(&out->v, f);
	}
}

/* ---- the functions of an ELF file ---------------------------------------------------------- */

/* The value that relocations put at that address: the addend of the first; 0: none do. */
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

/* In position-independent programs a relocation has the start of the text. Without one (Go 1.26
 * leaves the field empty) it begins where .text does. */
void elf_go_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	const struct elf_sec *table = NULL;
	const struct elf_sec *code;
	struct go_funcs funcs;
	uint64_t text;
	size_t at;

	for (size_t i = 0; !table && i < sizeof(names) / sizeof(*names); i++)
		table = elf_section(f, names[i]);
	if (!table)
		return;
	at = gopclntab_text_at(table->data, (size_t)table->size, f->swap);
	text = at ? relocated(f, table->addr + at) : 0;
	code = text ? NULL : elf_section(f, ".text");
	gopclntab_parse(&funcs, table->data, (size_t)table->size, f->swap,
			code ? code->addr : text);
	vec_each (&funcs.v, const struct go_func *, g) {
		struct raw_sym s = {
			.size = g->size, .name = g->name, .bind = RAW_GLOBAL, .kind = RAW_FUNCTION
		};

		if (addr_map_get(map, g->entry, &s.start))
			vec_xpush(&l->raw, s);
	}
	vec_free(&funcs.v);
}
