/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/elf_symbols.h"

#include <elf.h>
#include <string.h>

#include "base/xalloc.h"

/* Symbols whose names are asked for ahead: st_name is the first field of either class. */
#define NAMES_AHEAD 16u

void sym_list_free(struct sym_list *l)
{
	vec_free(&l->raw);
	vec_free(&l->bounds);
	arena_free(&l->arena);
}

bool addr_map_get(const struct addr_map *m, uint64_t vaddr, uint64_t *addr)
{
	if (m->seg)
		return elf_vaddr_to_offset(m->seg, m->n_seg, vaddr, addr);
	*addr = vaddr + m->delta;
	return true;
}

bool elf_has_symtab(const struct elf_file *f)
{
	const struct elf_sec *s = elf_section_of_type(f, SHT_SYMTAB);

	/* one symbol is the empty one that every table begins with */
	return s && s->size > (f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

/* "$x", "$d.12": marks of the Arm and RISC-V assemblers between code and data. */
static bool is_mapping_symbol(const struct elf_file *f, const char *s)
{
	switch (f->machine) {
	case EM_ARM:
	case EM_AARCH64:
		return s[0] == '$' && s[1] && strchr("adtx", s[1]) && (!s[2] || s[2] == '.');
	case EM_RISCV:
		return (s[0] == '$' && (s[1] == 'x' || s[1] == 'd')) || !strncmp(s, ".L", 2);
	default:
		return false;
	}
}

static bool is_named_symbol(unsigned type, unsigned visibility, const struct elf_sec *sec)
{
	switch (type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	case STT_NOTYPE: /* labels of assembler code */
		return visibility != STV_HIDDEN && visibility != STV_INTERNAL && sec &&
		       (strstr(sec->name, "text") || strstr(sec->name, "data"));
	default:
		return false;
	}
}

struct sym_in {
	uint32_t name;
	uint8_t info, other;
	uint16_t shndx;
	uint64_t value, size;
};

static void load_sym(const struct elf_file *f, const uint8_t *p, struct sym_in *s)
{
	if (f->is64) {
		s->name = elf_u32(f, p + offsetof(Elf64_Sym, st_name));
		s->info = p[offsetof(Elf64_Sym, st_info)];
		s->other = p[offsetof(Elf64_Sym, st_other)];
		s->shndx = elf_u16(f, p + offsetof(Elf64_Sym, st_shndx));
		s->value = elf_u64(f, p + offsetof(Elf64_Sym, st_value));
		s->size = elf_u64(f, p + offsetof(Elf64_Sym, st_size));
	} else {
		s->name = elf_u32(f, p + offsetof(Elf32_Sym, st_name));
		s->info = p[offsetof(Elf32_Sym, st_info)];
		s->other = p[offsetof(Elf32_Sym, st_other)];
		s->shndx = elf_u16(f, p + offsetof(Elf32_Sym, st_shndx));
		s->value = elf_u32(f, p + offsetof(Elf32_Sym, st_value));
		s->size = elf_u32(f, p + offsetof(Elf32_Sym, st_size));
	}
}

static void add_sym(struct sym_list *l, const struct elf_file *f, const struct sym_in *in,
		    const char *name, const struct addr_map *map)
{
	const struct elf_sec *sec = in->shndx < f->n_sec ? &f->sec[in->shndx] : NULL;
	unsigned bind = ELF64_ST_BIND(in->info), type = ELF64_ST_TYPE(in->info);
	uint64_t value = in->value, end;
	struct raw_sym *r;

	if (!name[0] || in->shndx == SHN_UNDEF || in->shndx == SHN_ABS || in->shndx == SHN_COMMON ||
	    (sec && !(sec->flags & SHF_ALLOC)) ||
	    !is_named_symbol(type, ELF64_ST_VISIBILITY(in->other), sec) ||
	    is_mapping_symbol(f, name))
		return;
	/* the lowest bit of an Arm function marks Thumb code */
	if (f->machine == EM_ARM && type == STT_FUNC)
		value &= ~1ULL;
	r = vec_xadd(&l->raw);
	r->name = name;
	r->bind = bind == STB_LOCAL ? RAW_LOCAL : bind == STB_WEAK ? RAW_WEAK : RAW_GLOBAL;
	r->kind = type == STT_FUNC || type == STT_GNU_IFUNC ? RAW_FUNCTION
		  : type == STT_OBJECT			    ? RAW_VARIABLE
							    : RAW_LABEL;
	r->size = in->size;
	r->sizeless = !in->size;
	if (r->sizeless) {
		r->size = UINT64_MAX;
		if (sec && sec->type != SHT_NULL && value >= sec->addr &&
		    !__builtin_add_overflow(sec->addr, sec->size, &end) && value <= end)
			r->size = end - value;
	}
	if (!addr_map_get(map, value, &r->start))
		l->raw.n--;
}

/* A table of symbols and its names. */
struct sym_span {
	const uint8_t *p;
	size_t n, each;
	const char *names;
	size_t names_end; /* a name that starts before ends within the table */
};

static bool find_symbols(const struct elf_file *f, bool dynamic, struct sym_span *t)
{
	const struct elf_sec *s = elf_section_of_type(f, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
	const struct elf_sec *str = s && s->link < f->n_sec ? &f->sec[s->link] : NULL;
	const uint8_t *nul;

	if (!str || !str->data || str->type != SHT_STRTAB)
		return false;
	nul = memrchr(str->data, 0, (size_t)str->size);
	if (!nul)
		return false;
	t->each = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	t->p = s->data;
	t->n = (size_t)s->size / t->each;
	t->names = (const char *)str->data;
	t->names_end = (size_t)(nul - str->data) + 1;
	return true;
}

const char *elf_symbol_name(const struct elf_file *f, const struct elf_sec *symbols, uint64_t i)
{
	size_t each = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const struct elf_sec *str;
	uint32_t off;

	if (!symbols || !symbols->data || i >= symbols->size / each || symbols->link >= f->n_sec)
		return NULL;
	str = &f->sec[symbols->link];
	off = elf_u32(f, symbols->data + i * each); /* st_name comes first in both classes */
	if (!str->data || off >= str->size ||
	    !memchr(str->data + off, 0, (size_t)(str->size - off)) || !str->data[off])
		return NULL;
	return (const char *)str->data + off;
}

bool elf_symbol_value(const struct elf_file *f, const char *name, uint64_t *vaddr)
{
	struct sym_span t;

	if (!find_symbols(f, false, &t))
		return false;
	for (size_t i = 1; i < t.n; i++) {
		struct sym_in in;

		load_sym(f, t.p + i * t.each, &in);
		if (in.name < t.names_end && in.shndx != SHN_UNDEF &&
		    !strcmp(t.names + in.name, name)) {
			*vaddr = in.value;
			return true;
		}
	}
	return false;
}

static void read_symbol_table(struct sym_list *l, const struct elf_file *f, bool dynamic,
			      const struct addr_map *map, bool objects)
{
	struct sym_span t;

	if (!find_symbols(f, dynamic, &t))
		return;
	vec_xreserve(&l->raw, l->raw.n + t.n);
	for (size_t i = 1; i < t.n; i++) {
		struct sym_in in;

		/* names stand in another order: each would be waited for */
		if (i + NAMES_AHEAD < t.n)
			__builtin_prefetch(
				(const void *)((uintptr_t)t.names +
					       elf_u32(f, t.p + (i + NAMES_AHEAD) * t.each)));
		load_sym(f, t.p + i * t.each, &in);
		if (objects && ELF64_ST_TYPE(in.info) != STT_OBJECT)
			continue;
		if (in.name < t.names_end)
			add_sym(l, f, &in, t.names + in.name, map);
	}
}

void elf_symbols_read(struct sym_list *l, const struct elf_file *f, bool dynamic,
		      const struct addr_map *map)
{
	read_symbol_table(l, f, dynamic, map, false);
}

void elf_objects_read(struct sym_list *l, const struct elf_file *f, bool dynamic)
{
	const struct addr_map same = { .seg = NULL };

	read_symbol_table(l, f, dynamic, &same, true);
}
