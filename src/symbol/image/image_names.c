/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of symbols: demangled, and made unique if several of an image have one name.
 *
 * Static functions of one linkage name get the lines that they begin at, or by their addresses if
 * two of them begin at the same line (a function of a header) or no lines are known. Other names
 * may be the same after demangling (generic functions of Rust, constructors): these are found among
 * the symbols that were asked for, and get their addresses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "symbol/demangle.h"
#include "symbol/image/image_set.h"
#include "symbol/source.h"

static uint64_t vaddr_of(const struct image *im, const struct symbol *s)
{
	uint64_t vaddr = s->start;

	if (!im->absolute)
		(void)elf_offset_to_vaddr(im->seg, im->n_seg, s->start, &vaddr);
	return vaddr;
}

static void name_symbol(const struct images *set, struct image *im, struct symbol *s)
{
	if (s->name)
		return;
	if (s->nameless)
		s->name = s->linkage =
			arena_xprintf(&im->arena, "%s+0x%" PRIx64, im->name, vaddr_of(im, s));
	else
		s->name = set->opts.raw_names ? s->linkage : demangle(&im->arena, s->linkage);
}

/* Code that a runtime made again is still the function of that name; a stub is of its target. */
static bool names_are_code(const struct image *im)
{
	switch (im->key.kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return true;
	case IMAGE_ANON:
	case IMAGE_JIT:
	case IMAGE_BPF:
	case IMAGE_SCRIPT:
	case IMAGE_OTHER:
		break;
	}
	return false;
}

/* ---- twins ------------------------------------------------------------------------------- */

static int by_linkage(const void *a, const void *b, void *table)
{
	const struct symbol *sym = table;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = strcmp(sym[x].linkage, sym[y].linkage);

	return c ? c : (x > y) - (x < y);
}

/* The twins of one name are [first, first + the answer) of im->twins. */
static size_t twins_of(struct image *im, const struct symbol *s, size_t *first)
{
	size_t at, n = 0;

	if (!im->twins.n) {
		for (size_t i = 0; i < im->table.n; i++)
			if (im->table.sym[i].twin)
				vec_xpush(&im->twins, (uint32_t)i);
		qsort_r(im->twins.v, im->twins.n, sizeof(*im->twins.v), by_linkage, im->table.sym);
	}
	bisect(at, im->twins.n, i, strcmp(im->table.sym[im->twins.v[i]].linkage, s->linkage) >= 0);
	*first = at;
	while (at + n < im->twins.n &&
	       !strcmp(im->table.sym[im->twins.v[at + n]].linkage, s->linkage))
		n++;
	return n;
}

/* "FILE:LINE" that the symbol begins at; false: not known. */
static bool first_line_of(const struct image *im, const struct source *src, const struct symbol *s,
			  char *out, size_t size)
{
	struct source_line l = source_line(src, vaddr_of(im, s));
	int n;

	if (!l.file || !l.line || strchr(path_base(l.file), '@'))
		return false;
	n = snprintf(out, size, "%s:%" PRIu32, path_base(l.file), l.line);
	return n > 0 && (size_t)n < size;
}

/* Whether all twins of the name begin at lines of their own. */
static bool lines_tell(const struct image *im, const struct source *src, size_t first, size_t n)
{
	enum { SOME = 16 };
	char line[SOME][256];

	if (n > SOME)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct symbol *s = &im->table.sym[im->twins.v[first + i]];

		if (!first_line_of(im, src, s, line[i], sizeof(line[i])))
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(line[i], line[k]))
				return false;
	}
	return true;
}

static void rename_symbol(struct image *im, struct symbol *s, const char *line)
{
	s->name = line ? arena_xprintf(&im->arena, "%s@%s", s->name, line)
		       : arena_xprintf(&im->arena, "%s@0x%" PRIx64, s->name, vaddr_of(im, s));
	s->apart = s->settled = true;
}

/* All twins of the name at once. */
static void part_twins(struct images *set, uint32_t id, const struct symbol *of)
{
	struct image *im = set->image.v[id];
	/* reading a kernel's debug information takes seconds */
	const struct source *src = im->absolute ? NULL : source_of(set, id, NULL);
	size_t first, n = twins_of(im, of, &first);
	bool lines = src && lines_tell(im, src, first, n);

	for (size_t i = 0; i < n; i++) {
		struct symbol *s = &im->table.sym[im->twins.v[first + i]];
		char line[256];

		name_symbol(set, im, s);
		rename_symbol(im, s,
			      lines && first_line_of(im, src, s, line, sizeof(line)) ? line : NULL);
	}
}

/* ---- names ------------------------------------------------------------------------------- */

/* Finds another symbol that was asked for and has the same name. */
static void settle_name(struct images *set, uint32_t id, struct symbol *s)
{
	struct image *im = set->image.v[id];
	struct symbol *other;
	uint64_t *at;

	if (s->settled || s->nameless)
		return;
	s->settled = true;
	if (!names_are_code(im))
		return;
	if (s->twin) {
		part_twins(set, id, s);
		return;
	}
	if (s->name == s->linkage || !strcmp(s->name, s->linkage))
		return;
	at = u64map_xat(&im->by_name, hash_bytes(s->name, strlen(s->name)), NULL);
	if (!*at)
		*at = (uint64_t)s->index + 1;
	other = &im->table.sym[*at - 1];
	if (other == s)
		return;
	if (!other->apart)
		rename_symbol(im, other, NULL);
	rename_symbol(im, s, NULL);
}

static void resolve_names(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
			  const struct symbol **out, bool late)
{
	struct image *im = set->image.v[id];
	size_t hint = 0;

	image_load(set, im);
	late &= names_are_code(im);
	for (size_t i = 0; i < n; i++) {
		struct symbol *s = sym_table_find(&im->table, addr[i], &hint);

		out[i] = s;
		if (!s)
			continue;
		name_symbol(set, im, s);
		if (!(late && s->twin))
			settle_name(set, id, s);
	}
}

void image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		   const struct symbol **out)
{
	resolve_names(set, id, addr, n, out, false);
}

void image_resolve_late(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
			const struct symbol **out)
{
	resolve_names(set, id, addr, n, out, true);
}

void image_settle(struct images *set, uint32_t id, const struct symbol *s)
{
	settle_name(set, id, &set->image.v[id]->table.sym[s->index]);
}

const struct symbol *image_symbols(struct images *set, uint32_t id, size_t *n)
{
	struct image *im = set->image.v[id];

	image_load(set, im);
	for (; im->demangled < im->table.n; im->demangled++)
		name_symbol(set, im, &im->table.sym[im->demangled]);
	*n = im->table.n;
	return im->table.sym;
}
