/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF files: sections, notes, links, symbols, stubs, packed symbols. */
#include <stdlib.h>

#include "symbol/dwarf/cfi.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/elf_unpack.h"
#include "symbol/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size, int depth)
{
	struct sym_list l = SYM_LIST_INIT;
	struct sym_table t = { NULL, 0 };
	struct err err = ERR_INIT;
	struct addr_map map = { NULL, 0, 0 };
	struct elf_file f;
	const uint8_t *id;
	uint8_t *inner;
	uint32_t crc;
	uint64_t x = 0;
	size_t len;

	if (elf_file_read(&f, data, size, "fuzz", &err))
		return;
	map.seg = f.seg;
	map.n_seg = f.n_seg;
	(void)elf_build_id(&f, &id);
	(void)elf_debuglink(&f, &crc);
	(void)elf_symbol_value(&f, "_text", &x);
	(void)elf_offset_to_vaddr(f.seg, f.n_seg, f.entry, &x);
	elf_symbols_read(&l, &f, false, &map);
	elf_symbols_read(&l, &f, true, &map);
	elf_plt_read(&l, &f, &map);
	elf_go_read(&l, &f, &map);
	elf_bounds_read(&l, &f, &map);
	sym_table_make(&t, &l, false);
	for (size_t i = 0, hint = 0; i < t.n; i++) {
		const struct symbol *s = &t.sym[i];

		/* sorted, one to an address, found by its own address if it has any length */
		if (i && t.sym[i - 1].start >= s->start)
			abort();
		if (s->size && !sym_table_find(&t, s->start, &hint))
			abort();
	}
	if (!depth) {
		(void)elf_minidebug(&f, &inner, &len);
		if (inner)
			read_all(inner, len, 1);
		free(inner);
	}
	sym_table_free(&t);
	sym_list_free(&l);
	elf_file_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_all(data, size, 0);
	return 0;
}
