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
#include "symbol/dwarf/source_tables.h"

/* The first function of that name, or of another name with the same hash. */
static struct src_decl *first_of(const struct source *s, const char *shown)
{
	const uint64_t *at = u64map_find(&s->decls, hash_bytes(shown, strlen(shown)));

	return at ? (struct src_decl *)(uintptr_t)*at : NULL;
}

static int read_path(struct source *s, struct src_decl *d)
{
	if (d->path_read)
		return 0;
	if (d->file_die.addr && src_decl_path(s, &d->file_die, d->file, &d->path))
		return -1;
	d->path_read = true;
	return 0;
}

/* 1: yes, 0: no, -1: out of memory. Declarations whose file is not known are the same if their
 * lines are. */
static int same_function(struct source *s, struct src_decl *a, struct src_decl *b)
{
	if (a->linkage && b->linkage && !strcmp(a->linkage, b->linkage))
		return 1;
	if (a->line != b->line)
		return 0;
	if (a->file_die.cu == b->file_die.cu && a->file == b->file)
		return 1;
	if (read_path(s, a) || read_path(s, b))
		return -1;
	return !a->path || !b->path || !strcmp(a->path, b->path);
}

int src_meet(struct source *s, struct src_name *name)
{
	struct src_decl *first = first_of(s, name->shown), *kept;
	struct src_decl decl = { .shown = name->shown,
				 .linkage = name->external ? name->linkage : NULL,
				 .file_die = name->file_die,
				 .file = name->file,
				 .line = name->first_line,
				 .next = first };
	uint64_t *at;

	for (struct src_decl *d = first; d; d = d->next) {
		int same = strcmp(d->shown, name->shown) ? 0 : same_function(s, d, &decl);

		if (same < 0)
			return -1;
		if (!same)
			continue;
		atomic_store_explicit(&name->decl, d, memory_order_release);
		return 0;
	}
	kept = arena_memdup(&s->arena, &decl, sizeof(decl));
	at = u64map_at(&s->decls, hash_bytes(name->shown, strlen(name->shown)), NULL);
	if (!kept || !at)
		return -1;
	for (struct src_decl *d = first; d; d = d->next)
		d->apart = NULL; /* may need another place now */
	*at = (uint64_t)(uintptr_t)kept;
	atomic_store_explicit(&name->decl, kept, memory_order_release);
	return 0;
}

/* The last `parts` parts of a path, or all of it. */
static const char *tail_of(const char *path, unsigned parts)
{
	const char *p = path + strlen(path);

	for (; p > path; p--)
		if (p[-1] == '/' && !--parts)
			break;
	return p;
}

/* Whether another function of the name has the same place, if that many parts of paths are shown.
 */
static bool is_shared(const struct src_decl *first, const struct src_decl *d, unsigned parts)
{
	for (const struct src_decl *o = first; o; o = o->next)
		if (o != d && o->line == d->line && o->path && d->path &&
		    !strcmp(o->shown, d->shown) &&
		    !strcmp(tail_of(o->path, parts), tail_of(d->path, parts)))
			return true;
	return false;
}

int src_set_apart(struct source *s, struct src_decl *d)
{
	struct src_decl *first = first_of(s, d->shown);
	unsigned parts = 1, others = 0;

	if (d->apart)
		return 0;
	for (struct src_decl *o = first; o; o = o->next) {
		if (strcmp(o->shown, d->shown) != 0)
			continue;
		others += o != d;
		if (o->line == d->line && read_path(s, o))
			return -1;
	}
	if (!others)
		return 0;
	while (parts < SRC_MAX_PARTS && is_shared(first, d, parts))
		parts++;
	d->apart = arena_printf(&s->arena, "%s@%s:%" PRIu32, d->shown,
				d->path ? tail_of(d->path, parts) : "??", d->line);
	return d->apart ? 0 : -1;
}
