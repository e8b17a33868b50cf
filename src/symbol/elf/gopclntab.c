/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/gopclntab.h"

#include <string.h>

#include "base/bytes.h"

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

static bool read_head(struct table *t, const void *p, size_t len, bool swap)
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

/* A number of `size` bytes at `off`; what is not there is 0. */
static uint64_t number(const struct table *t, uint64_t off, unsigned size)
{
	struct cur c = cur_of(t->p, t->len);

	c.swap = t->swap;
	(void)cur_take(&c, off);
	return size == 8 ? cur_u64(&c) : cur_u32(&c);
}

static uint64_t word(const struct table *t, unsigned which)
{
	return number(t, HEAD + (uint64_t)which * t->ptr, t->ptr);
}

static const char *name_at(const struct table *t, uint64_t names, uint64_t off)
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

	return read_head(&t, p, len, swap) && t.form->text ? HEAD + (size_t)t.form->text * t.ptr
							   : 0;
}

int gopclntab_parse(struct go_funcs *out, const void *p, size_t len, bool swap, uint64_t text,
		    struct err *err)
{
	uint64_t n, rows, base, names;
	unsigned each;
	struct table t;

	memset(out, 0, sizeof(*out));
	if (!read_head(&t, p, len, swap))
		return 0;
	each = t.form->narrow ? 4 : t.ptr;
	n = word(&t, 0);
	names = t.form->names ? word(&t, t.form->names) : 0;
	base = t.form->functions ? word(&t, t.form->functions) : 0;
	rows = t.form->functions ? base : HEAD + t.ptr;
	if (t.form->text && word(&t, t.form->text))
		text = word(&t, t.form->text);
	if (rows > len || n > (len - rows) / (2 * each) || base > len)
		return 0;
	/* rows of (entry, where the function is described), and the end of the last function */
	for (uint64_t i = 0; i < n; i++) {
		uint64_t row = rows + i * 2 * each;
		uint64_t from = number(&t, row, each), until = number(&t, row + 2 * each, each);
		uint64_t told = base + number(&t, row + each, each);
		/* the description begins with the entry, then where its name is */
		const char *name = name_at(&t, names, number(&t, told + each, 4));
		struct go_func f = { from + (t.form->narrow ? text : 0), until - from, name };

		if (!name || until <= from || told < base)
			continue;
		if (vec_push(&out->v, f))
			return err_nomem(err);
	}
	return 0;
}
