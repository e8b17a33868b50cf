/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_apart - functions of one name, by their declarations.
 *
 * An inlined function has no address of its own. Its identity is its declaration: external
 * functions of one linkage name are the same function; others are the same if file and line are.
 * Files are compared only if name and line are equal, because reading a unit's files costs as much
 * as reading its lines.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"

/* The first function of that name, or of another name with the same hash. */
static struct src_decl *first_decl(const struct source *s, const char *shown)
{
	const uint64_t *at = u64map_find(&s->decls, hash_bytes(shown, strlen(shown)));

	return at ? (struct src_decl *)(uintptr_t)*at : NULL;
}

static const char *read_decl_path(struct source *s, struct src_decl *d)
{
	if (!d->path_read && d->file_die.addr)
		d->path = src_decl_path(s, &d->file_die, d->file);
	d->path_read = true;
	return d->path;
}

/* Declarations whose file is not known are the same if their lines are. */
static bool is_same_function(struct source *s, struct src_decl *a, struct src_decl *b)
{
	const char *x, *y;

	if (a->linkage && b->linkage && !strcmp(a->linkage, b->linkage))
		return true;
	if (a->line != b->line)
		return false;
	if (a->file_die.cu == b->file_die.cu && a->file == b->file)
		return true;
	x = read_decl_path(s, a);
	y = read_decl_path(s, b);
	return !x || !y || !strcmp(x, y);
}

void src_meet(struct source *s, struct src_name *name)
{
	struct src_decl *first = first_decl(s, name->shown), *kept;
	struct src_decl decl = { .shown = name->shown,
				 .linkage = name->external ? name->linkage : NULL,
				 .file_die = name->file_die,
				 .file = name->file,
				 .line = name->first_line,
				 .next = first };

	for (struct src_decl *d = first; d; d = d->next) {
		if (strcmp(d->shown, name->shown) != 0 || !is_same_function(s, d, &decl))
			continue;
		atomic_store_explicit(&name->decl, d, memory_order_release);
		return;
	}
	kept = arena_xmemdup(&s->arena, &decl, sizeof(decl));
	for (struct src_decl *d = first; d; d = d->next)
		d->apart = NULL; /* may need another place now */
	*u64map_xat(&s->decls, hash_bytes(name->shown, strlen(name->shown)), NULL) =
		(uint64_t)(uintptr_t)kept;
	atomic_store_explicit(&name->decl, kept, memory_order_release);
}

/* The last `parts` parts of a path, or all of it. */
static const char *path_end(const char *path, unsigned parts)
{
	const char *p = path + strlen(path);

	for (; p > path; p--)
		if (p[-1] == '/' && !--parts)
			break;
	return p;
}

/* Whether another function of the name has the same place, if that many parts of paths are shown.
 */
static bool shares_place(const struct src_decl *first, const struct src_decl *d, unsigned parts)
{
	for (const struct src_decl *o = first; o; o = o->next)
		if (o != d && o->line == d->line && o->path && d->path &&
		    !strcmp(o->shown, d->shown) &&
		    !strcmp(path_end(o->path, parts), path_end(d->path, parts)))
			return true;
	return false;
}

void src_set_apart(struct source *s, struct src_decl *d)
{
	struct src_decl *first = first_decl(s, d->shown);
	unsigned parts = 1, others = 0;

	if (d->apart)
		return;
	for (struct src_decl *o = first; o; o = o->next) {
		if (strcmp(o->shown, d->shown) != 0)
			continue;
		others += o != d;
		if (o->line == d->line)
			(void)read_decl_path(s, o);
	}
	if (!others)
		return;
	while (parts < SRC_MAX_PARTS && shares_place(first, d, parts))
		parts++;
	d->apart = arena_xprintf(&s->arena, "%s@%s:%" PRIu32, d->shown,
				 d->path ? path_end(d->path, parts) : "??", d->line);
}
