/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .dwp: each unit of its index is an ELF file, as large as the package allows. */
#include <stdint.h>
#include <stdlib.h>

#include "symbol/dwarf/source_tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make(const struct src_package *p, uint64_t id, size_t size)
{
	struct buf file = BUF_INIT;
	struct elf_file elf;

	if (src_package_unit(p, id, &file)) {
		/* six parts, which may be the same bytes, and its strings at most thrice */
		if (file.len > 9 * size + 8192 || elf_file_read(&elf, file.s, file.len, "", NULL))
			abort();
		if (!elf.n_sec)
			abort();
		elf_file_free(&elf);
	}
	buf_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	struct file_map m = { .p = bytes, .len = size };
	struct buf own = BUF_INIT;
	struct src_package *p;
	uint64_t id, *row;
	size_t made = 0;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	p = src_package_read(&m, &own);
	for (size_t i = 0; p && made < 64 && u64map_next(&p->rows, &i, &id, &row); made++)
		make(p, id, size);
	src_package_free(p);
	free(bytes);
	return 0;
}
