/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf_symbols - the symbols of an ELF file, as a list; and the list made a table.
 *
 *	elf_symbols_read(list, file, map)	.symtab or .dynsym
 *	elf_plt_read(list, file, map)		func@plt, from the stubs and the relocations
 *	elf_go_read(list, file, map)		functions of a Go program, from .gopclntab
 *	elf_minidebug(file, &mem, &len)		another ELF file in .gnu_debugdata (elf_unpack.h)
 *	elf_bounds_read(list, file, map)	functions without names (cfi.h)
 *	sym_table_make(&table, list)		sorted, one per address, sizes filled in
 *
 * Names point into the file's bytes (which must stay) or into the list's arena. Which of several
 * symbols at one address is taken, so that a report's names are those that people know from perf:
 * one that covers anything (those without a size reach to the next symbol that begins elsewhere, or
 * to their section's end; where a symbol with a size lies around them, or begins with them, they
 * are labels, and left out); one with a size; a function, then a variable, then a label; not a weak
 * one; a global one; the larger one; the default version of a name (name@@VERSION); the one with
 * fewer leading underscores; the longer (demangled) name; the first by the alphabet. Their order in
 * the file decides nothing. Bounds without a name count only if no symbol covers their beginning.
 */
#ifndef CYCLADE_SYMBOL_ELF_SYMBOLS_H
#define CYCLADE_SYMBOL_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

enum raw_bind { RAW_LOCAL, RAW_GLOBAL, RAW_WEAK };
enum raw_kind { RAW_LABEL, RAW_VARIABLE, RAW_FUNCTION };

struct raw_sym {
	uint64_t start; /* image address */
	uint64_t size;	/* where `sizeless`: at most this much, up to the section's end */
	const char *name;
	uint8_t bind; /* enum raw_bind */
	uint8_t kind; /* enum raw_kind */
	bool sizeless;
};

/* A function without a name. */
struct raw_bounds {
	uint64_t start, size; /* image addresses */
};

struct sym_list {
	VEC(struct raw_sym) raw;
	VEC(struct raw_bounds) bounds; /* sorted by start */
	struct arena arena;
};

#define SYM_LIST_INIT                          \
	{                                      \
		VEC_INIT, VEC_INIT, ARENA_INIT \
	}

void sym_list_free(struct sym_list *l);

/* From an ELF virtual address to an image address: through the program headers of the file that was
 * mapped, or by adding `delta` if addresses are absolute. */
struct addr_map {
	const struct elf_seg *seg; /* NULL: absolute */
	size_t n_seg;
	uint64_t delta;
};
bool addr_map_get(const struct addr_map *m, uint64_t vaddr, uint64_t *addr);

bool elf_has_symtab(const struct elf_file *f);
/* Adds the symbols of .symtab, or of .dynsym with `dynamic`. */
void elf_symbols_read(struct sym_list *l, const struct elf_file *f, bool dynamic,
		      const struct addr_map *map);
/* Adds the variables (STT_OBJECT) alone, by their ELF virtual addresses: .bss has no others. */
void elf_objects_read(struct sym_list *l, const struct elf_file *f, bool dynamic);
/* The value of the symbol of that name in .symtab. */
/* The name of symbol `i` of a table that links to its names; NULL: none that ends. */
const char *elf_symbol_name(const struct elf_file *f, const struct elf_sec *symbols, uint64_t i);
bool elf_symbol_value(const struct elf_file *f, const char *name, uint64_t *vaddr);
void elf_plt_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map);
/* Adds the functions of a Go program, which .gopclntab has though it is stripped. */
void elf_go_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map);

struct sym_table {
	struct symbol *sym; /* sorted by start; `name` is NULL until asked for */
	size_t n;
};

/* Sorts and thins the list, by demangled names unless `raw`. The names stay where they are: the
 * list's arena and the files must outlive the table. */
void sym_table_make(struct sym_table *t, struct sym_list *l, bool raw);
void sym_table_free(struct sym_table *t);
/* The symbol that covers addr, or NULL. `hint` is an index at or before the answer: for ascending
 * addresses pass the same place each time, 0 at first. */
struct symbol *sym_table_find(const struct sym_table *t, uint64_t addr, size_t *hint);

#endif
