/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gopclntab - the functions of a Go program, from the table that its runtime walks stacks with. It
 * is there in stripped programs too (go build -ldflags="-s -w").
 *
 * Layouts: of Go 1.2, 1.16, 1.18 and 1.20 and later (runtime/symtab.go and debug/gosym/pclntab.go
 * of these versions), by the magic number. Lines and files are not read. Nothing is trusted:
 * functions whose names do not end within the bytes are left out.
 */
#ifndef CYCLADE_SYMBOL_GOPCLNTAB_H
#define CYCLADE_SYMBOL_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct go_func {
	uint64_t entry, size; /* ELF virtual addresses */
	const char *name;     /* within the table's bytes */
};

struct go_funcs {
	VEC(struct go_func) v;
};

/* Reads the table in these bytes (which must stay). `text` is the address of runtime.text, that
 * entries of Go 1.18 and later are relative to; it is used if the table itself has 0 there, as in
 * position-independent programs. Other bytes have no functions. The
 * caller frees out->v with vec_free(). */
void gopclntab_parse(struct go_funcs *out, const void *p, size_t len, bool swap, uint64_t text);
/* Where in the bytes the table keeps that address, for relocations; 0: it has none. */
size_t gopclntab_text_at(const void *p, size_t len, bool swap);

#endif
