/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_frames - distinct addresses of code, and the functions that they are in.
 */
#include <stdlib.h>

#include "analyse/wait/wait_int.h"

uint32_t frames_number(struct wait_frames *f, const struct spaces *sp, const struct process *p,
		       enum space_kind kind, uint64_t ip, uint64_t time, uint64_t *from,
		       uint64_t *until)
{
	uint64_t since = 0, end = UINT64_MAX, h;
	const struct map *map = space_find(sp, p, kind, ip, time, &since, &end);
	const struct wait_frame x = { .image = map ? map->image : IMAGE_NONE,
				      .addr = map ? map_to_image(map, ip) : 0,
				      .kind = (uint8_t)kind };
	uint32_t idx;

	*from = since > *from ? since : *from;
	*until = end < *until ? end : *until;
	h = hash_pair(x.addr, (uint64_t)x.image << 8 | x.kind);
	for (size_t i = itab_first(&f->at, h); itab_at(&f->at, &i, h, &idx);)
		if (f->frame.v[idx].addr == x.addr && f->frame.v[idx].image == x.image &&
		    f->frame.v[idx].kind == x.kind)
			return idx;
	if (vec_push(&f->frame, x) || itab_put(&f->at, h, f->frame.n - 1))
		return UINT32_MAX;
	return (uint32_t)f->frame.n - 1;
}

struct naming {
	struct wait_frames *f;
	const struct spaces *sp;
	struct itab at;
};

static uint32_t place_number(struct naming *n, const struct wait_place *x)
{
	const uint64_t h =
		hash_pair((uint64_t)(uintptr_t)x->symbol, (uint64_t)x->image << 8 | x->kind);
	struct wait_frames *f = n->f;
	uint32_t idx;

	for (size_t i = itab_first(&n->at, h); itab_at(&n->at, &i, h, &idx);)
		if (f->place.v[idx].symbol == x->symbol && f->place.v[idx].image == x->image &&
		    f->place.v[idx].kind == x->kind)
			return idx;
	if (vec_push(&f->place, *x) || itab_put(&n->at, h, f->place.n - 1))
		return UINT32_MAX;
	return (uint32_t)f->place.n - 1;
}

static int by_address(const void *pa, const void *pb, void *frames)
{
	const struct wait_frame *a = (const struct wait_frame *)frames + *(const uint32_t *)pa;
	const struct wait_frame *b = (const struct wait_frame *)frames + *(const uint32_t *)pb;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* Frames order[0..n) of one image. */
static int name_run(struct naming *m, const uint32_t *order, size_t n, struct err *err)
{
	struct wait_frame *f = m->f->frame.v;
	uint32_t image = f[order[0]].image;
	uint64_t *addr = calloc(n, sizeof(*addr));
	const struct symbol **sym = calloc(n, sizeof(*sym));
	int ret = -1;

	if (!addr || !sym) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		addr[i] = f[order[i]].addr;
	if (image != IMAGE_NONE && image_resolve(spaces_images(m->sp), image, addr, n, sym, err))
		goto out;
	for (size_t i = 0; i < n; i++) {
		const struct wait_place x = { image, sym[i], f[order[i]].kind };

		f[order[i]].place = place_number(m, &x);
		if (f[order[i]].place == UINT32_MAX) {
			(void)err_nomem(err);
			goto out;
		}
	}
	ret = 0;
out:
	free(addr);
	free(sym);
	return ret;
}

int frames_name(struct wait_frames *f, const struct spaces *sp, struct err *err)
{
	const struct wait_place none = { .image = IMAGE_NONE, .kind = SPACE_UNKNOWN };
	const struct wait_frame *x = f->frame.v;
	struct naming m = { .f = f, .sp = sp };
	size_t n = f->frame.n;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	int ret = 0;

	if (!order || vec_push(&f->place, none)) {
		free(order);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), by_address, f->frame.v);
	for (size_t i = 0, end; i < n && !ret; i = end) {
		for (end = i + 1; end < n && x[order[end]].image == x[order[i]].image; end++)
			;
		ret = name_run(&m, &order[i], end - i, err);
	}
	free(order);
	itab_free(&m.at);
	return ret;
}

void frames_free(struct wait_frames *f)
{
	vec_free(&f->frame);
	itab_free(&f->at);
}
