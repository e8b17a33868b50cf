/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF bytes as call-frame tables: every function's row is made and its expressions are run. */
#include <stdlib.h>

#include "symbol/unwind/unwind_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_none(void *ctx, uint64_t addr, unsigned size, uint64_t *v)
{
	(void)ctx;
	*v = addr * size;
	return addr & 1;
}

static void use(const struct cfi_row *row)
{
	struct unwind_state st = { .known = 0xffff, .word = 8, .read = read_none };
	uint64_t v = 7;

	if (row->cfa_is_expr)
		(void)unwind_expr(&st, row->cfa_expr, row->cfa_expr_len, NULL, &v);
	for (uint32_t i = 0; i < row->n_rules; i++)
		if (row->rule[i].kind >= CFI_AT_EXPR)
			(void)unwind_expr(&st, row->rule[i].expr, row->rule[i].expr_len, &v, &v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	const struct cfi_row *row;
	struct elf_file elf;
	struct cfi *cfi;

	if (elf_file_read(&elf, data, size, "fuzz", &err))
		return 0;
	cfi = cfi_new(&elf, NULL);
	for (unsigned k = 0; k < 2; k++) {
		for (size_t i = 0; i < cfi->sec[k].fde.n && i < 4096; i++) {
			const struct cfi_fde *f = &cfi->sec[k].fde.v[i];

			row = cfi_find(cfi, f->lo, &arena);
			if (row)
				use(row);
			row = cfi_find(cfi, f->hi - 1, &arena);
			if (row)
				use(row);
		}
	}
	cfi_free(cfi);
	elf_file_free(&elf);
	arena_free(&arena);
	return 0;
}
