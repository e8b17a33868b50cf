/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for the stubs that calls into other libraries go through.
 *
 * A stub has no symbol. It jumps through a slot of the global offset table, and the relocation of
 * that slot has the name; so the stub's own instructions are read, which holds for all linkers and
 * all kinds of stubs (.plt, .plt.sec of IBT, .plt.got), whatever their order and size.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/elf/elf_symbols.h"

#define PLT_NAME_MAX  4096
#define PLT_NAMES_MAX (32u << 20) /* of all names together: many stubs may share a long one */

struct slot {
	uint64_t vaddr;
	const char *name; /* NULL: chosen at run time, by the function at `target` */
	uint64_t target;
};

struct plt {
	struct sym_list *l;
	const struct elf_file *f;
	const struct addr_map *map;
	VEC(struct slot) slot;
	size_t put;
};

static bool fills_slot(uint16_t machine, uint32_t type, bool *irelative)
{
	static const struct {
		uint16_t machine;
		uint32_t glob_dat, jump_slot, irelative;
	} row[] = {
		{ EM_X86_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE },
		{ EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE },
		{ EM_386, R_386_GLOB_DAT, R_386_JMP_SLOT, R_386_IRELATIVE },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (row[i].machine != machine)
			continue;
		*irelative = type == row[i].irelative;
		return *irelative || type == row[i].glob_dat || type == row[i].jump_slot;
	}
	return false;
}

static void read_relocations(struct plt *p, const struct elf_sec *s)
{
	const struct elf_file *f = p->f;
	const struct elf_sec *dynsym = s->link < f->n_sec ? &f->sec[s->link] : NULL;
	size_t word = f->is64 ? 8 : 4, each = word * (s->type == SHT_RELA ? 3 : 2);

	for (size_t at = 0; at + each <= s->size; at += each) {
		const uint8_t *r = s->data + at;
		uint64_t info = elf_word(f, r + word), sym = f->is64 ? info >> 32 : info >> 8;
		struct slot slot = { .vaddr = elf_word(f, r) };
		bool irelative;

		if (!fills_slot(f->machine, (uint32_t)(f->is64 ? info : info & 0xff), &irelative))
			continue;
		if (irelative && s->type == SHT_RELA)
			slot.target = elf_word(f, r + 2 * word);
		else if (!irelative)
			slot.name = elf_symbol_name(f, dynsym, sym);
		if (slot.name || slot.target)
			vec_xpush(&p->slot, slot);
	}
}

static int slot_by_vaddr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static void add_stub(struct plt *p, const struct elf_sec *s, uint64_t vaddr, const char *name)
{
	struct raw_sym *r = vec_xadd(&p->l->raw);

	r->name = name;
	r->bind = RAW_LOCAL;
	r->kind = RAW_FUNCTION;
	r->sizeless = true;
	r->size = s->addr + s->size - vaddr;
	if (!addr_map_get(p->map, vaddr, &r->start))
		p->l->raw.n--;
}

/* The stub at `vaddr` jumps through `got`: if that slot has a name, so has the stub. */
static void name_stub(struct plt *p, const struct elf_sec *s, uint64_t vaddr, uint64_t got)
{
	struct slot want = { .vaddr = got };
	const struct slot *slot;
	char *name;

	slot = bsearch(&want, p->slot.v, p->slot.n, sizeof(want), slot_by_vaddr);
	if (!slot)
		return;
	if (slot->name) {
		size_t n = strnlen(slot->name, PLT_NAME_MAX);
		const char *version = memchr(slot->name, '@', n);

		if (version)
			n = (size_t)(version - slot->name);
		if (n > PLT_NAMES_MAX - p->put)
			return;
		p->put += n;
		name = arena_xalloc(&p->l->arena, n + sizeof("@plt"));
		memcpy(name, slot->name, n);
		memcpy(name + n, "@plt", sizeof("@plt"));
	} else {
		name = arena_xprintf(&p->l->arena, "*ABS*+0x%llx@plt",
				     (unsigned long long)slot->target);
	}
	add_stub(p, s, vaddr, name);
}

/* jmp *slot, behind optional prefixes: endbr, and the bnd prefix. */
static void read_x86_stubs(struct plt *p, const struct elf_sec *s)
{
	static const uint8_t at[] = { 0, 1, 4, 5 };
	const struct elf_sec *got = elf_section(p->f, ".got.plt");
	size_t each = s->entsize == 8 ? 8 : 16;
	bool is64 = p->f->machine == EM_X86_64;

	if (!got)
		got = elf_section(p->f, ".got");
	for (size_t off = 0; off + each <= s->size; off += each) {
		for (size_t i = 0; i < sizeof(at) && at[i] + 6u <= each; i++) {
			const uint8_t *in = s->data + off + at[i];
			uint64_t next = s->addr + off + at[i] + 6, slot;
			int32_t disp = (int32_t)elf_u32(p->f, in + 2);

			if (in[0] == 0xff && in[1] == 0x25)
				slot = is64 ? next + (uint64_t)(int64_t)disp : (uint32_t)disp;
			else if (!is64 && in[0] == 0xff && in[1] == 0xa3 && got)
				slot = (uint32_t)(got->addr + (uint64_t)(int64_t)disp);
			else
				continue;
			name_stub(p, s, s->addr + off, slot);
			break;
		}
	}
}

/* A64 code is little-endian whatever the data are. */
static uint32_t a64(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* adrp x16, page; ldr x17, [x16, #offset] */
static void read_a64_stubs(struct plt *p, const struct elf_sec *s)
{
	const uint32_t bti_c = 0xd503245f;

	for (size_t off = 0; off + 8 <= s->size; off += 4) {
		uint32_t adrp = a64(s->data + off), ldr = a64(s->data + off + 4);
		uint64_t pc = s->addr + off, imm, slot;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		imm = (uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
		if (imm & 1u << 20)
			imm |= ~0ULL << 21;
		slot = (pc & ~0xfffULL) + (imm << 12) + (ldr >> 10 & 0xfff) * 8;
		if (off >= 4 && a64(s->data + off - 4) == bti_c)
			pc -= 4;
		name_stub(p, s, pc, slot);
	}
}

void elf_plt_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map)
{
	static const char *const stubs[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct plt p = { .l = l, .f = f, .map = map, .slot = VEC_INIT };
	uint64_t budget = f->len; /* sections that overlap are no reason to read for ever */

	if (f->machine != EM_X86_64 && f->machine != EM_386 && f->machine != EM_AARCH64)
		return;
	for (size_t i = 0; i < f->n_sec; i++) {
		const struct elf_sec *s = &f->sec[i];

		if (!s->data || !(s->flags & SHF_ALLOC) || s->size > budget ||
		    (s->type != SHT_RELA && s->type != SHT_REL))
			continue;
		budget -= s->size;
		read_relocations(&p, s);
	}
	vec_sort(&p.slot, slot_by_vaddr);
	for (size_t i = 0; p.slot.n && i < sizeof(stubs) / sizeof(stubs[0]); i++) {
		const struct elf_sec *s = elf_section(f, stubs[i]);
		size_t before = l->raw.n;
		uint64_t end;

		if (!s || __builtin_add_overflow(s->addr, s->size, &end))
			continue;
		if (f->machine == EM_AARCH64)
			read_a64_stubs(&p, s);
		else
			read_x86_stubs(&p, s);
		/* the first stub looks the names up for all */
		if (l->raw.n > before && !strcmp(s->name, ".plt"))
			add_stub(&p, s, s->addr, ".plt");
	}
	vec_free(&p.slot);
}
