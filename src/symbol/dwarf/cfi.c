/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfi - .eh_frame and .debug_frame: one walk makes a sorted table of the functions (FDEs); a
 * row is made by running the function's program up to the address asked for (cfi_run).
 */
#include <elf.h>

#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/elf/elf_unpack.h"
#include "symbol/dwarf/cfi.h"

static int fde_by_lo(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

bool cfi_section_of(const struct elf_file *elf, const char *name, bool eh, struct cfi_section *s)
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

bool cfi_encoding(const struct cfi_section *s, uint32_t cie, uint8_t *enc)
{
	struct cfi_cie c;

	if (!cfi_read_cie(&s->bytes, cie, &c))
		return false;
	*enc = c.fde_enc;
	return true;
}

/* .debug_frame, which `go build` compresses. False: there is none, or *why says why not. */
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
