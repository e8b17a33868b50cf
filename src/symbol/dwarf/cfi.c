/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfi - .eh_frame and .debug_frame: one walk makes a sorted table of the functions (FDEs); a
 * row is made by running the function's program up to the address asked for (cfi_run).
 */
#include <elf.h>

#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/dwarf/cfi.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/elf/elf_unpack.h"

static int fde_by_lo(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool cfi_section_of(const struct elf_file *elf, const char *name, bool eh,
			   struct cfi_section *s)
{
	const struct elf_sec *sec = elf ? elf_section(elf, name) : NULL;

	if (!sec || !sec->data || sec->size > UINT32_MAX || elf_is_packed(sec) || elf->swap)
		return false;
	*s = (struct cfi_section){ .bytes = { .p = sec->data,
					      .len = (size_t)sec->size,
					      .vaddr = sec->addr,
					      .eh = eh,
					      .is64 = elf->is64,
					      .machine = elf->machine },
				   .fde = VEC_INIT };
	return true;
}

static bool cfi_encoding(const struct cfi_section *s, uint32_t cie, uint8_t *enc)
{
	struct cfi_cie c;

	if (!cfi_read_cie(&s->bytes, cie, &c))
		return false;
	*enc = c.fde_enc;
	return true;
}

/* .debug_frame, which `go build` compresses. False: there is none, or *why has the reason. */
static bool debug_frame_of(const struct elf_file *elf, struct cfi_section *s, const char **why)
{
	const struct elf_sec *sec = elf ? elf_section(elf, ".debug_frame") : NULL;

	if (!sec && elf)
		sec = elf_section(elf, ".zdebug_frame");
	if (!sec || !sec->data || elf->swap)
		return false;
	*s = (struct cfi_section){ .bytes = { .p = sec->data,
					      .len = (size_t)sec->size,
					      .vaddr = sec->addr,
					      .is64 = elf->is64,
					      .machine = elf->machine },
				   .fde = VEC_INIT };
	if (elf_is_packed(sec)) {
		*why = elf_unpack(elf, sec, &s->unpacked, &s->bytes.len);
		s->bytes.p = s->unpacked;
	}
	if (s->bytes.p && s->bytes.len > UINT32_MAX)
		*why = "is larger than 4 GiB";
	return !*why && s->bytes.p;
}

/* The functions of a table. */
static void read_fdes(struct cfi_section *s)
{
	struct cur all = cur_of(s->bytes.p, s->bytes.len), c;
	bool cie_ok = false, eh = s->bytes.eh;
	uint32_t cie_at = UINT32_MAX;
	struct cfi_cie cie;

	while (cur_left(&all)) {
		uint32_t at = (uint32_t)(all.p - s->bytes.p), id_at, where;
		struct cfi_fde f;
		uint64_t id;
		bool wide;

		if (!cfi_entry(&s->bytes, &all, &c, &id, &id_at, &wide)) {
			if (all.bad || cur_left(&all) < 8 || !eh)
				break;
			continue; /* a terminator between the tables of two objects */
		}
		if (id == (eh ? 0 : wide ? UINT64_MAX : UINT32_MAX))
			continue;
		if (eh ? id > id_at : id >= s->bytes.len)
			continue;
		where = eh ? id_at - (uint32_t)id : (uint32_t)id;
		if (where != cie_at) {
			cie_ok = cfi_read_cie(&s->bytes, where, &cie);
			cie_at = where;
		}
		if (!cie_ok || !cfi_read_range(&s->bytes, &c, &cie, &f.lo, &f.hi))
			continue;
		f.at = at;
		f.cie = where;
		vec_xpush(&s->fde, f);
	}
	vec_sort(&s->fde, fde_by_lo);
	assert(pairs_hold(s->fde.n, i, s->fde.v[i].lo <= s->fde.v[i + 1].lo));
}

struct cfi *cfi_new(const struct elf_file *code, const struct elf_file *dwarf)
{
	struct cfi *c = xcalloc(1, sizeof(*c));

	if (cfi_section_of(code, ".eh_frame", true, &c->sec[0]))
		read_fdes(&c->sec[0]);
	if (debug_frame_of(dwarf ? dwarf : code, &c->sec[1], &c->unread))
		read_fdes(&c->sec[1]);
	return c;
}

void cfi_free(struct cfi *c)
{
	if (!c)
		return;
	vec_free(&c->sec[0].fde);
	vec_free(&c->sec[1].fde);
	free(c->sec[1].unpacked);
	free(c);
}

static const struct cfi_row *make_row(const struct cfi_run *r, struct arena *a)
{
	struct cfi_row *row;
	uint32_t n = 0;

	for (unsigned i = 0; i < CFI_REGS; i++)
		n += r->now.reg[i].kind != CFI_SAME;
	row = arena_xalloc(a, sizeof(*row) + n * sizeof(row->rule[0]));
	row->signal = r->cie.signal;
	row->ra = (uint8_t)r->cie.ra;
	row->cfa_reg = r->now.cfa.reg;
	row->cfa_off = r->now.cfa.off;
	row->cfa_is_expr = r->now.cfa.kind == CFI_VAL_EXPR;
	row->cfa_expr = r->now.cfa.expr;
	row->cfa_expr_len = r->now.cfa.expr_len;
	for (unsigned i = 0; i < CFI_REGS; i++)
		if (r->now.reg[i].kind != CFI_SAME)
			row->rule[row->n_rules++] = r->now.reg[i];
	return row;
}

const struct cfi_row *cfi_find(const struct cfi *c, uint64_t vaddr, struct arena *a)
{
	const struct cfi_row *row = NULL;

	for (unsigned i = 0; i < 2 && !row; i++) {
		const struct cfi_section *s = &c->sec[i];
		const struct cfi_fde *f = s->fde.v;
		struct cfi_run *r;

		if (!s->fde.n || vaddr < f->lo)
			continue;
		for (size_t n = s->fde.n; n > 1; n -= n / 2)
			f += f[n / 2].lo <= vaddr ? n / 2 : 0;
		if (vaddr >= f->hi)
			continue;
		r = xmalloc(sizeof(*r)); /* too much for a thread's stack to be sure of */
		if (cfi_run(r, &s->bytes, f->at, f->cie, vaddr))
			row = make_row(r, a);
		free(r);
	}
	return row;
}

/* ---- bounds of functions -----------------------------------------------------------------------
 *
 * Where the functions of a stripped file begin and end: compilers describe each in .eh_frame, for
 * exceptions and debuggers, and stripping leaves that alone. The linker's sorted index of it,
 * .eh_frame_hdr (layout: LSB Core, "Exception Frames"), is used as far as .eh_frame agrees; without
 * one of the usual form, all of .eh_frame is read and sorted. */

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

/* The length of the function that begins at lo, by the description at `vaddr`; 0: it is of another
 * function. */
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
