/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the functions of a stripped file begin and end: compilers describe each in .eh_frame, for
 * exceptions and debuggers, and stripping leaves that alone. The linker's sorted index of it,
 * .eh_frame_hdr (layout: LSB Core, "Exception Frames"), is used as far as .eh_frame says the same;
 * if there is none of the usual form, all of .eh_frame is read and sorted.
 */
#include <elf.h>

#include "base/xalloc.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/dwarf/cfi.h"

enum {
	HDR_TABLE = 12,	     /* behind: version, three encodings, address of .eh_frame, count */
	HDR_ENTRY = 8,	     /* start, address of its description */
	PE_UDATA4 = 0x03,    /* DW_EH_PE_udata4 */
	PE_TABLE = 0x3b,     /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
	PE_FUNCTIONS = 0x1b, /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
};

/* The part of the file that was asked for last. */
struct piece {
	uint64_t from, to; /* vaddrs */
	uint64_t less;	   /* vaddr - image address */
};

static bool find_code_piece(const struct addr_map *map, uint64_t vaddr, struct piece *out)
{
	for (size_t i = 0; map->seg && i < map->n_seg; i++) {
		const struct elf_seg *s = &map->seg[i];

		if (s->type == PT_LOAD && s->flags & PF_X && vaddr - s->vaddr < s->filesz) {
			*out = (struct piece){ s->vaddr, s->vaddr + s->filesz,
					       s->vaddr - s->offset };
			return out->to > out->from;
		}
	}
	if (!map->seg)
		*out = (struct piece){ 0, UINT64_MAX, 0 - map->delta };
	return !map->seg;
}

/* A function lies in one piece of code. */
static void add_bounds(struct sym_list *l, const struct addr_map *map, struct piece *at,
		       uint64_t lo, uint64_t hi)
{
	struct raw_bounds b = { 0, hi - lo };

	if ((lo < at->from || lo >= at->to) && !find_code_piece(map, lo, at))
		return;
	b.start = lo - at->less;
	if (hi > lo && hi <= at->to && (!l->bounds.n || b.start > vec_last(&l->bounds)->start))
		vec_xpush(&l->bounds, b);
}

/* The length of the function that begins at lo, by the description at `vaddr`; 0: it says else. */
static uint64_t fde_length(const struct cfi_section *s, uint64_t vaddr, uint64_t lo,
			   uint32_t *usual_cie)
{
	uint64_t at = vaddr - s->bytes.vaddr;
	uint32_t cie;
	uint8_t enc;

	if (at > s->bytes.len || s->bytes.len - at < 16)
		return 0;
	cie = ld32(s->bytes.p + at + 4);
	if (cie > at + 4)
		return 0;
	cie = (uint32_t)at + 4 - cie;
	if (cie != *usual_cie && (!cfi_encoding(s, cie, &enc) || enc != PE_FUNCTIONS))
		return 0;
	*usual_cie = cie;
	if (vaddr + 8 + (uint64_t)(int32_t)ld32(s->bytes.p + at + 8) != lo)
		return 0;
	return ld32(s->bytes.p + at + 12);
}

static const struct elf_sec *usual_index(const struct elf_file *f, size_t *n)
{
	const struct elf_sec *h = elf_section(f, ".eh_frame_hdr");

	if (!h || !h->data || h->size < HDR_TABLE || h->data[0] != 1 ||
	    (h->data[1] & 0x0f) != (PE_FUNCTIONS & 0x0f) || h->data[2] != PE_UDATA4 ||
	    h->data[3] != PE_TABLE)
		return NULL;
	*n = ld32(h->data + 8);
	return *n && *n <= (h->size - HDR_TABLE) / HDR_ENTRY ? h : NULL;
}

void elf_bounds_read(struct sym_list *l, const struct elf_file *f, const struct addr_map *map)
{
	struct piece at = { 0, 0, 0 };
	uint32_t cie = UINT32_MAX;
	struct cfi_section s;
	struct cfi *cfi;
	size_t n = 0;
	const struct elf_sec *h = f->is64 && !f->swap ? usual_index(f, &n) : NULL;

	if (!cfi_section_of(f, ".eh_frame", true, &s))
		return;
	if (!h) {
		cfi = cfi_new(f, NULL);
		vec_each (&cfi->sec[0].fde, const struct cfi_fde *, d)
			add_bounds(l, map, &at, d->lo, d->hi);
		cfi_free(cfi);
		return;
	}
	vec_xreserve(&l->bounds, n);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *e = h->data + HDR_TABLE + i * HDR_ENTRY;
		uint64_t lo = h->addr + (uint64_t)(int32_t)ld32(e);
		uint64_t size = fde_length(&s, h->addr + (uint64_t)(int32_t)ld32(e + 4), lo, &cie);

		if (size)
			add_bounds(l, map, &at, lo, lo + size);
	}
}
