/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "symbol/place.h"

#define SLOTS	    ((size_t)1 << 14)
#define PLACES	    4096u
#define INLINES_MAX 64u

/* A place has its name whatever process met it. */
struct slot {
	uint64_t addr;
	uint32_t image;
	bool used;
	struct name name;
};

struct names {
	struct images *images;
	bool plain;
	struct places places;
	struct slot slot[SLOTS];
};

struct names *names_new(const struct spaces *sp, bool plain)
{
	struct names *n = xcalloc(1, sizeof(*n));

	n->images = spaces_images(sp);
	n->plain = plain;
	if (places_init(&n->places, sp, PLACES))
		nomem_die();
	return n;
}

static void drop_inlines(struct name *x)
{
	free((void *)(uintptr_t)x->inl);
	x->inl = NULL;
}

void names_free(struct names *n)
{
	for (size_t i = 0; n && i < SLOTS; i++)
		drop_inlines(&n->slot[i].name);
	if (n)
		places_free(&n->places);
	free(n);
}

static void name_resolve(struct names *n, const struct place *o, uint64_t addr, struct name *x)
{
	const struct symbol *s = NULL;

	*x = (struct name){ .image = o->image };
	if (o->image == IMAGE_NONE)
		return;
	x->image_address = x->address = addr;
	x->dso = image_name(n->images, x->image);
	(n->plain ? image_resolve_late : image_resolve)(n->images, x->image, &x->image_address, 1,
							&s);
	if (s) {
		x->function = s->name;
		x->offset = x->image_address - s->start;
	}
	if (!(o->what & PLACE_ABSOLUTE) &&
	    !image_to_vaddr(n->images, x->image, x->image_address, &x->address))
		x->address = x->image_address;
}

struct name *names_at(struct names *n, const struct process *proc, uint32_t proc_index,
		      enum space_kind kind, uint64_t ip, uint64_t time)
{
	const struct place_who who = { proc, proc_index, 0, 0, UINT64_MAX };
	const struct place *o = place_find(&n->places, &who, (uint8_t)kind, ip, time);
	uint64_t addr = ip - o->less;
	struct slot *s = &n->slot[hash_pair(addr, o->image) % SLOTS];

	if (s->used && s->addr == addr && s->image == o->image)
		return &s->name;
	s->used = false;
	drop_inlines(&s->name);
	name_resolve(n, o, addr, &s->name);
	s->addr = addr;
	s->image = o->image;
	s->used = true;
	return &s->name;
}

/* *src is NULL if the image has no debug information there: that is no failure. */
static int source_at(struct names *n, const struct name *x, const struct source **src,
		     uint64_t *vaddr, struct err *err)
{
	*src = NULL;
	if (x->image == IMAGE_NONE)
		return 0;
	*src = source_of(n->images, x->image, err);
	if (!*src && err->code == ERR_NOMEM)
		return -1;
	err_clear(err);
	if (*src && !image_to_vaddr(n->images, x->image, x->image_address, vaddr))
		*src = NULL;
	return 0;
}

int names_line(struct names *n, struct name *x, struct err *err)
{
	const struct source *src;
	struct source_line at;
	uint64_t vaddr;

	if (x->lined)
		return 0;
	if (source_at(n, x, &src, &vaddr, err))
		return -1;
	x->lined = true;
	if (!src)
		return 0;
	at = source_line(src, vaddr);
	x->file = at.file;
	x->line = at.line;
	return 0;
}

int names_inlines(struct names *n, struct name *x, struct err *err)
{
	struct source_inline buf[INLINES_MAX];
	const struct source *src;
	uint64_t vaddr;
	size_t len;

	if (x->unfolded)
		return 0;
	if (source_at(n, x, &src, &vaddr, err))
		return -1;
	x->unfolded = true;
	len = src ? source_inline_names(src, vaddr, buf, INLINES_MAX) : 0;
	x->inl = len ? xmemdup(buf, len * sizeof(*buf)) : NULL;
	x->n_inl = (uint32_t)len;
	return 0;
}

int names_line_of(struct names *n, const struct name *x, uint32_t level, struct source_line *out,
		  struct err *err)
{
	struct source_inline inl[INLINES_MAX];
	const struct source *src;
	uint64_t vaddr;

	*out = (struct source_line){ 0 };
	if (source_at(n, x, &src, &vaddr, err))
		return -1;
	if (!src)
		return 0;
	*out = level < source_inlines(src, vaddr, inl, INLINES_MAX) ? inl[level].at
								    : source_line(src, vaddr);
	return 0;
}
