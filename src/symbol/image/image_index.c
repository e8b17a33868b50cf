/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_index - images by path and by the process whose code they tell of: what recordings of
 * thousands of processes or files would else look for in all images, again and again.
 */
#include <string.h>

#include "base/xalloc.h"
#include "symbol/image/image_set.h"
#include "symbol/image/jitdump.h"

#define DUMP_BY_TIME (UINT64_C(1) << 63) /* the process' code is in images of kind IMAGE_JIT */

static void index_path(struct images *set, uint32_t image, const char *path)
{
	bool fresh;
	uint64_t *at = u64map_xat(&set->by_path, hash_bytes(path, strlen(path)), &fresh);
	struct image_of_path ref = { image, fresh ? IMAGE_NONE : (uint32_t)*at };

	vec_xpush(&set->of_path, ref);
	*at = set->of_path.n - 1;
}

void image_index_add(struct images *set, uint32_t image)
{
	const struct image *im = set->image.v[image];
	const struct image_key *k = &im->key;
	uint32_t pid;
	uint64_t *at;
	bool fresh;

	index_path(set, image, k->path);
	/* a recording's table of build-ids knows "[kernel.kallsyms]" where its mapping is called
	 * "[kernel.kallsyms]_text" */
	if (k->kind == IMAGE_KERNEL && strcmp(im->name, k->path) != 0)
		index_path(set, image, im->name);
	if ((k->kind != IMAGE_FILE && k->kind != IMAGE_JIT) || !jitdump_path_pid(k->path, &pid))
		return;
	at = u64map_xat(&set->dump_of, pid, &fresh);
	if (fresh)
		*at = image;
	if (k->kind == IMAGE_JIT)
		*at |= DUMP_BY_TIME;
}

const char *image_dump_path(const struct images *set, uint32_t pid)
{
	const uint64_t *at = u64map_find(&set->dump_of, pid);

	return !at || (*at & DUMP_BY_TIME) ? NULL : set->image.v[*at]->key.path;
}

void image_index_names(struct images *set)
{
	u64map_free(&set->by_name);
	set->next_named.n = 0;
	vec_xreserve(&set->next_named, set->image.n + 1);
	set->next_named.n = set->image.n;
	for (size_t i = set->image.n; i-- > 0;) { /* the last one first: chains then ascend */
		const char *name = set->image.v[i]->name;
		bool fresh;
		uint64_t *at = u64map_xat(&set->by_name, hash_bytes(name, strlen(name)), &fresh);

		set->next_named.v[i] = fresh ? IMAGE_NONE : (uint32_t)*at;
		*at = i;
	}
}

uint32_t image_named(const struct images *set, const char *name, uint32_t after)
{
	const uint64_t *first;
	uint32_t i;

	if (after != IMAGE_NONE) {
		i = set->next_named.v[after];
	} else {
		first = u64map_find(&set->by_name, hash_bytes(name, strlen(name)));
		i = first ? (uint32_t)*first : IMAGE_NONE;
	}
	while (i != IMAGE_NONE && strcmp(set->image.v[i]->name, name) != 0)
		i = set->next_named.v[i];
	return i;
}

void image_index_free(struct images *set)
{
	u64map_free(&set->by_name);
	vec_free(&set->next_named);
	u64map_free(&set->by_path);
	u64map_free(&set->dump_of);
	vec_free(&set->of_path);
}

/* ---- build-ids from elsewhere ---- */

struct late_id {
	const uint8_t *p, *kept; /* as it was handed in; in the arena, once an image has it */
	size_t len;
};

static void give_late_id(struct images *set, struct image *im, struct late_id *id)
{
	if (im->key.build_id_len || im->located)
		return;
	if (!id->kept)
		id->kept = arena_xmemdup(&set->arena, id->p, id->len);
	im->key.build_id = id->kept;
	im->key.build_id_len = id->len;
	im->id_later = true;
}

static struct late_id late_id(const uint8_t *id, size_t len)
{
	return (struct late_id){ id, NULL, len > BUILD_ID_MAX ? BUILD_ID_MAX : len };
}

int images_build_id(struct images *set, const char *path, const uint8_t *id, size_t len,
		    struct err *err)
{
	uint64_t *at = len ? u64map_find(&set->by_path, hash_bytes(path, strlen(path))) : NULL;
	struct late_id late = late_id(id, len);

	(void)err;
	if (!at)
		return 0;
	for (uint64_t i = *at; i != IMAGE_NONE; i = set->of_path.v[i].next) {
		struct image *im = set->image.v[set->of_path.v[i].image];

		if (!strcmp(im->key.path, path) ||
		    (im->key.kind == IMAGE_KERNEL && !strcmp(im->name, path)))
			give_late_id(set, im, &late);
	}
	*at = IMAGE_NONE; /* all of that path have one now */
	return 0;
}

int images_kernel_build_id(struct images *set, const char *prefix, const uint8_t *id, size_t len,
			   struct err *err)
{
	struct late_id late = late_id(id, len);

	(void)err;
	vec_each (&set->image, struct image **, it) {
		const struct image_key *k = &(*it)->key;

		if (len && k->kind == IMAGE_KERNEL && !strncmp(k->path, prefix, strlen(prefix)))
			give_late_id(set, *it, &late);
	}
	return 0;
}
