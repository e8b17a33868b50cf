/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbols of the interpreter's file, those that programs may link with suffice.
 */
#include <elf.h>
#include <string.h>

#include "symbol/elf_file.h"
#include "symbol/python/python_int.h"

enum { SYMBOL_SIZE = 24, PAGE = 4096 };

static const char *text_at(const struct elf_sec *strings, uint32_t at)
{
	const char *s = (const char *)strings->data;

	return at < strings->size && memchr(s + at, 0, (size_t)(strings->size - at)) ? s + at : "";
}

static void see_symbol(struct python_file *out, const char *name, uint64_t value, uint64_t size)
{
	if (!strcmp(name, "_PyRuntime")) {
		out->runtime = value;
	} else if (!strcmp(name, "Py_Version")) {
		out->version = value;
	} else if (!strcmp(name, "_PyEval_EvalFrameDefault")) {
		out->eval = value;
		out->eval_end = value + size;
	}
}

static void see_table(struct python_file *out, const struct elf_file *f, const struct elf_sec *s)
{
	const struct elf_sec *strings = s->link < f->n_sec ? &f->sec[s->link] : NULL;

	if (!s->data || !strings || !strings->data)
		return;
	for (uint64_t at = 0; at + SYMBOL_SIZE <= s->size; at += SYMBOL_SIZE) {
		const uint8_t *p = s->data + at;
		const char *name = text_at(strings, elf_u32(f, p));

		if (!strncmp(name, "_Py", 3) || !strncmp(name, "Py_V", 4))
			see_symbol(out, name, elf_u64(f, p + 8), elf_u64(f, p + 16));
	}
}

/* What is added to the file's addresses in the process. */
static bool find_bias(const struct elf_file *f, uint64_t start, uint64_t pgoff, uint64_t *bias)
{
	for (size_t i = 0; i < f->n_seg; i++) {
		const struct elf_seg *s = &f->seg[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) ||
		    (s->offset & ~(uint64_t)(PAGE - 1)) > pgoff || pgoff >= s->offset + s->filesz)
			continue;
		*bias = start - (s->vaddr - s->offset + pgoff);
		return true;
	}
	return false;
}

int python_file_read(struct python_file *out, const void *p, size_t len, const char *path,
		     uint64_t start, uint64_t pgoff, struct err *err)
{
	const struct elf_sec *own;
	struct elf_file f;
	uint64_t bias;

	*out = (struct python_file){ 0 };
	if (elf_file_read(&f, p, len, path, err))
		return -1;
	for (size_t i = 0; f.is64 && !f.swap && i < f.n_sec && !(out->runtime && out->eval); i++)
		if (f.sec[i].type == SHT_DYNSYM || f.sec[i].type == SHT_SYMTAB)
			see_table(out, &f, &f.sec[i]);
	own = elf_section(&f, ".PyRuntime");
	if (!out->runtime && own)
		out->runtime = own->addr;
	if (!out->runtime || !find_bias(&f, start, pgoff, &bias)) {
		elf_file_free(&f);
		return err_set(err, ERR_NOT_FOUND, "%s has no _PyRuntime", path);
	}
	out->runtime += bias;
	out->version += out->version ? bias : 0;
	out->eval += out->eval ? bias : 0;
	out->eval_end += out->eval_end ? bias : 0;
	elf_file_free(&f);
	return 0;
}
