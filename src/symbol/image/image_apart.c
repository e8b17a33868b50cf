/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_apart - names of files that share a base name.
 *
 * A file is called by its base name. If several files of one base name have different code, each is
 * called by as many of the last parts of its path as make it unique ("v1/libx.so"), and, if files
 * of one path differ (a program and its rebuilt copy), by the first bytes of its build-id
 * ("x@1b2c3d4e"), or, without one, by inode and generation ("x@inode12.5f"). Files of one build-id
 * are one file, at any path, and called by the path that came first; one without a build-id is the
 * file of that path that has one, unless the inodes differ.
 *
 * Costs: a sort by name of all files; of those that share one, a sort by path.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/image/image_set.h"

#define LONG_NAME 40 /* columns: longer paths give way to the build-id */

struct same_name {
	struct image *im;
	size_t number; /* in the set */
	size_t as;     /* among those of its name: the one whose name it gets */
};

static int image_by_name(const void *a, const void *b)
{
	const struct same_name *x = a, *y = b;
	int c = strcmp(x->im->name, y->im->name);

	return c ? c : (x->number > y->number) - (x->number < y->number);
}

/* ---- which are one ---------------------------------------------------------------------- */

/* Those with an id are the first of that id. */
static void join_by_id(struct same_name *v, size_t n)
{
	struct u64map first = U64MAP_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct image_key *k = &v[i].im->key, *other;
		uint8_t id[BUILD_ID_MAX] = { 0 };
		uint64_t *at;
		bool fresh;

		v[i].as = i;
		if (!k->build_id_len)
			continue;
		memcpy(id, k->build_id, k->build_id_len);
		at = u64map_xat(&first, hash_bytes(id, sizeof(id)), &fresh);
		if (fresh)
			*at = i;
		other = &v[*at].im->key;
		if (same_build_id(other->build_id, other->build_id_len, k->build_id,
				  k->build_id_len))
			v[i].as = *at;
	}
	u64map_free(&first);
}

static uint64_t path_hash(const struct image *im)
{
	return hash_bytes(im->key.path, strlen(im->key.path));
}

/* Those without an id are the one of that path, if one is all there are; those of a path of which
 * none has an id are one. Unless their inodes differ. */
static void join_by_path(struct same_name *v, size_t n)
{
	enum { SEVERAL = -1 };
	struct u64map of_path = U64MAP_INIT; /* -> the one with an id */
	struct u64map bare = U64MAP_INIT;    /* -> the first without, if none has one */

	for (size_t i = 0; i < n; i++) {
		uint64_t *at;
		bool fresh;

		if (!v[i].im->key.build_id_len)
			continue;
		at = u64map_xat(&of_path, path_hash(v[i].im), &fresh);
		*at = fresh || *at == v[i].as ? v[i].as : (uint64_t)SEVERAL;
	}
	for (size_t i = 0; i < n; i++) {
		const struct image_key *k = &v[i].im->key;
		uint64_t hash = path_hash(v[i].im), *at;
		bool fresh = false;

		if (k->build_id_len)
			continue;
		at = u64map_find(&of_path, hash);
		if (!at)
			at = u64map_xat(&bare, hash, &fresh);
		if (fresh)
			*at = i;
		else if (*at != (uint64_t)SEVERAL &&
			 !identity_differs(&k->file, &v[*at].im->key.file))
			v[i].as = *at;
	}
	u64map_free(&of_path);
	u64map_free(&bare);
}

/* ---- names ------------------------------------------------------------------------------ */

/* How many letters are the same at the ends. */
static size_t same_end(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), n = 0;

	while (n < na && n < nb && a[na - 1 - n] == b[nb - 1 - n])
		n++;
	return n;
}

static int by_end(const void *a, const void *b)
{
	const char *x = (*(struct same_name *const *)a)->im->key.path;
	const char *y = (*(struct same_name *const *)b)->im->key.path;
	size_t n = same_end(x, y), nx = strlen(x), ny = strlen(y);

	if (n == nx || n == ny)
		return (nx > ny) - (nx < ny);
	return (unsigned char)x[nx - 1 - n] < (unsigned char)y[ny - 1 - n] ? -1 : 1;
}

static void name_by_path(struct images *set, struct same_name *s, size_t len, bool by_id)
{
	struct image *im = s->im;
	const char *path = im->key.path, *base = path_base(path), *tail;
	const char *more = im->name + strlen(base); /* " [guest]" */
	const uint8_t *id = im->key.build_id;
	const unsigned long long ino = im->key.file.ino, gen = im->key.file.gen;

	/* the last parts, down to the one in which the path differs from another whose last `len`
	 * letters are the same */
	for (tail = len ? path + strlen(path) - len : base; len && tail > path && tail[-1] != '/';)
		tail--;
	if (strlen(tail) > LONG_NAME && im->key.build_id_len >= 4) {
		tail = base;
		by_id = true;
	}
	if (by_id && im->key.build_id_len >= 4)
		im->name = arena_xprintf(&set->arena, "%s@%02x%02x%02x%02x%s", tail, id[0], id[1],
					 id[2], id[3], more);
	else if (by_id && gen)
		im->name = arena_xprintf(&set->arena, "%s@inode%llu.%llx%s", tail, ino, gen, more);
	else if (by_id && ino)
		im->name = arena_xprintf(&set->arena, "%s@inode%llu%s", tail, ino, more);
	else if (tail != base)
		im->name = arena_xprintf(&set->arena, "%s%s", tail, more);
}

/* `v` sorted by the ends of paths: neighbours have the longest ends in common. */
static void name_apart(struct images *set, struct same_name **v, size_t n)
{
	size_t before = 0;

	for (size_t i = 0, end; i < n; i = end) {
		const char *path = v[i]->im->key.path;
		size_t after;

		for (end = i + 1; end < n && !strcmp(v[end]->im->key.path, path);)
			end++;
		after = end < n ? same_end(path, v[end]->im->key.path) : 0;
		for (size_t k = i; k < end; k++)
			name_by_path(set, v[k], before > after ? before : after, end > i + 1);
		before = after;
	}
}

static void part_names(struct images *set, struct same_name *v, size_t n)
{
	struct same_name **one = xcalloc(n, sizeof(struct same_name *));
	size_t n_one = 0;

	join_by_id(v, n);
	join_by_path(v, n);
	for (size_t i = 0; i < n; i++)
		if (v[i].as == i)
			one[n_one++] = &v[i];
	if (n_one > 1) {
		qsort(one, n_one, sizeof(struct same_name *), by_end);
		name_apart(set, one, n_one);
	}
	for (size_t i = 0; i < n; i++)
		v[i].im->name = v[v[i].as].im->name;
	free(one);
}

void images_tell_apart(struct images *set)
{
	struct same_name *v = xcalloc(set->image.n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < set->image.n; i++)
		if (set->image.v[i]->key.kind == IMAGE_FILE)
			v[n++] = (struct same_name){ set->image.v[i], i, 0 };
	qsort(v, n, sizeof(*v), image_by_name);
	assert(pairs_hold(n, i, image_by_name(&v[i], &v[i + 1]) <= 0));
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(v[i].im->name, v[end].im->name);)
			end++;
		if (end > i + 1)
			part_names(set, v + i, end - i);
	}
	free(v);
	image_index_names(set);
}
