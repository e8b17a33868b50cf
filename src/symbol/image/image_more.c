/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_more - what else is made of an image's files, at first need, and kept with it: source
 * lines, call-frame tables.
 */
#include <stdlib.h>

#include "symbol/image/image_set.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/types.h"
#include "symbol/dwarf/cfi.h"

static struct source *open_source(const struct elf_on_disk *d, struct err *err)
{
	struct file_map map = d->map;
	char *root = d->root_len ? strndup(d->path, d->root_len) : NULL;
	struct source_opened f = {
		.map = &map, .root = root, .path = d->path + d->root_len, .user = d->owner
	};
	struct source *s;

	if (d->root_len && !root) {
		(void)err_nomem(err);
		return NULL;
	}
	if (d->mem)
		map = (struct file_map){ .p = d->mem, .len = d->elf.len };
	s = source_open_file(&f, err);
	free(root);
	return s;
}

const struct source *source_of(struct images *set, uint32_t image, struct err *err)
{
	struct image *im = set->image.v[image];

	if (im->source_tried)
		return im->source;
	if (image_locate(set, im, err))
		return NULL;
	im->source_tried = true;
	if (im->dwarf.path) {
		struct err why = ERR_INIT;

		im->source = open_source(&im->dwarf, &why);
		image_failed(im, &why);
		if (err && err->code == ERR_NONE)
			*err = why;
	}
	if (im->source)
		im->source->raw_names = set->opts.raw_names;
	return im->source;
}

struct types *types_of(struct images *set, uint32_t image, struct err *err)
{
	struct image *im = set->image.v[image];
	const struct source *s = source_of(set, image, err);

	if (!im->types && s && im->code.elf.p)
		im->types = types_new(s, &im->code.elf, err);
	return im->types;
}

const struct cfi *image_cfi(struct images *set, uint32_t image)
{
	struct image *im = set->image.v[image];

	(void)pthread_mutex_lock(&set->cfi_lock);
	if (!im->cfi && !image_locate(set, im, NULL)) {
		im->cfi = cfi_new(im->code.elf.p ? &im->code.elf : NULL,
				  im->dwarf.elf.p ? &im->dwarf.elf : NULL);
		if (im->cfi && im->cfi->unread && !im->trouble.len)
			buf_printf(&im->trouble, "%s: .debug_frame %s: callers are missing",
				   im->dwarf.path ? im->dwarf.path : im->code.path,
				   im->cfi->unread);
	}
	(void)pthread_mutex_unlock(&set->cfi_lock);
	return im->cfi;
}

const struct elf_file *image_code_elf(struct images *set, uint32_t image)
{
	const struct image *im = set->image.v[image];

	return im->cfi && im->code.elf.p ? &im->code.elf : NULL;
}
