/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What symbols are called: demangled, and told apart where several of an image have one name.
 *
 * Static functions of one linkage name are told apart by the lines that they begin at, or by their
 * addresses if two of them begin at the same line (a function of a header) or no lines are known.
 * Other names may be the same after demangling (generic functions of Rust, constructors): these are
 * found among the symbols that were asked for, and told apart by their addresses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
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

static int name_symbol(const struct images *set, struct image *im, struct symbol *s,
		       struct err *err)
{
	if (s->name)
		return 0;
	if (s->nameless) {
		s->name = s->linkage =
			arena_printf(&im->arena, "%s+0x%" PRIx64, im->name, vaddr_of(im, s));
		return s->name ? 0 : err_nomem(err);
	}
	s->name = set->opts.raw_names ? s->linkage : demangle(&im->arena, s->linkage);
	return s->name ? 0 : err_nomem(err);
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

static int find_twins(struct image *im, struct err *err)
{
	if (im->twins.n)
		return 0;
	for (size_t i = 0; i < im->table.n; i++)
		if (im->table.sym[i].twin && vec_push(&im->twins, (uint32_t)i))
			return err_nomem(err);
	qsort_r(im->twins.v, im->twins.n, sizeof(*im->twins.v), by_linkage, im->table.sym);
	return 0;
}

/* The twins of one name are [first, first + the answer) of im->twins. */
static size_t twins_of(const struct image *im, const struct symbol *s, size_t *first)
{
	size_t at, n = 0;

	bisect(at, im->twins.n, i, strcmp(im->table.sym[im->twins.v[i]].linkage, s->linkage) >= 0);
	*first = at;
	while (at + n < im->twins.n &&
	       !strcmp(im->table.sym[im->twins.v[at + n]].linkage, s->linkage))
		n++;
	return n;
}

/* "FILE:LINE" that the symbol begins at; false: not known. */
static bool line_of(const struct image *im, const struct source *src, const struct symbol *s,
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

		if (!line_of(im, src, s, line[i], sizeof(line[i])))
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(line[i], line[k]))
				return false;
	}
	return true;
}

static int set_apart(struct image *im, struct symbol *s, const char *line, struct err *err)
{
	const char *name =
		line ? arena_printf(&im->arena, "%s@%s", s->name, line)
		     : arena_printf(&im->arena, "%s@0x%" PRIx64, s->name, vaddr_of(im, s));

	if (!name)
		return err_nomem(err);
	s->name = name;
	s->apart = s->settled = true;
	return 0;
}

/* All twins of the name at once. */
static int part_twins(struct images *set, uint32_t id, const struct symbol *of, struct err *err)
{
	struct image *im = set->image.v[id];
	struct err why = ERR_INIT;
	const struct source *src = NULL;
	size_t first, n;
	bool lines;

	/* reading a kernel's debug information takes seconds */
	if (!im->absolute)
		src = source_of(set, id, &why);
	if (why.code == ERR_NOMEM || find_twins(im, err))
		return err_nomem(err);
	n = twins_of(im, of, &first);
	lines = src && lines_tell(im, src, first, n);
	for (size_t i = 0; i < n; i++) {
		struct symbol *s = &im->table.sym[im->twins.v[first + i]];
		char line[256];

		if (name_symbol(set, im, s, err) ||
		    set_apart(im, s, lines && line_of(im, src, s, line, sizeof(line)) ? line : NULL,
			      err))
			return -1;
	}
	return 0;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Finds another symbol that was asked for and has the same name. */
static int settle(struct images *set, uint32_t id, struct symbol *s, struct err *err)
{
	struct image *im = set->image.v[id];
	struct symbol *other;
	uint64_t *at;

	if (s->settled || s->nameless)
		return 0;
	s->settled = true;
	if (!names_are_code(im))
		return 0;
	if (s->twin)
		return part_twins(set, id, s, err);
	if (s->name == s->linkage || !strcmp(s->name, s->linkage))
		return 0;
	at = u64map_at(&im->by_name, hash_bytes(s->name, strlen(s->name)), NULL);
	if (!at)
		return err_nomem(err);
	if (!*at) {
		*at = (uint64_t)s->index + 1;
		return 0;
	}
	other = &im->table.sym[*at - 1];
	if (other == s)
		return 0;
	if (!other->apart && set_apart(im, other, NULL, err))
		return -1;
	return set_apart(im, s, NULL, err);
}

static int resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n, bool late,
		   const struct symbol **out, struct err *err)
{
	struct image *im = set->image.v[id];
	size_t hint = 0;

	if (image_load(set, im, err))
		return -1;
	late &= names_are_code(im);
	for (size_t i = 0; i < n; i++) {
		struct symbol *s = sym_table_find(&im->table, addr[i], &hint);

		if (s && name_symbol(set, im, s, err))
			return -1;
		if (s && !(late && s->twin) && settle(set, id, s, err))
			return -1;
		out[i] = s;
	}
	return 0;
}

int image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		  const struct symbol **out, struct err *err)
{
	return resolve(set, id, addr, n, false, out, err);
}

int image_resolve_late(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		       const struct symbol **out, struct err *err)
{
	return resolve(set, id, addr, n, true, out, err);
}

int image_settle(struct images *set, uint32_t id, const struct symbol *s, struct err *err)
{
	return settle(set, id, &set->image.v[id]->table.sym[s->index], err);
}

int image_symbols(struct images *set, uint32_t id, const struct symbol **out, size_t *n,
		  struct err *err)
{
	struct image *im = set->image.v[id];

	if (image_load(set, im, err))
		return -1;
	for (; im->demangled < im->table.n; im->demangled++) {
		if (name_symbol(set, im, &im->table.sym[im->demangled], err))
			return -1;
	}
	*out = im->table.sym;
	*n = im->table.n;
	return 0;
}
