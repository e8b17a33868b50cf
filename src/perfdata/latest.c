/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/latest.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/vec.h"

struct block {
	uint8_t *p;
	size_t len;
};

struct pd_latest {
	uint64_t bytes;
	size_t most; /* blocks */
	struct pd_state *state;
	VEC(struct block) block; /* the oldest first */
};

int pd_latest_new(struct pd_latest **out, uint64_t most, struct pd_state *state, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(err);
	(*out)->most = most / LATEST_BLOCK < 2 ? 2 : (size_t)(most / LATEST_BLOCK);
	(*out)->state = state;
	return 0;
}

/* The oldest block becomes the newest. */
static int turn(struct pd_latest *l, struct err *err)
{
	struct block b = l->block.v[0];

	for (size_t at = 0; at < b.len; at += ld16(b.p + at + 6))
		if (pd_state_note(l->state, b.p + at, ld16(b.p + at + 6), err))
			return -1;
	pd_state_round(l->state);
	l->bytes -= b.len;
	b.len = 0;
	memmove(l->block.v, l->block.v + 1, (l->block.n - 1) * sizeof(b));
	*vec_last(&l->block) = b;
	return 0;
}

static int more_room(struct pd_latest *l, struct err *err)
{
	struct block b = { 0 };

	if (l->block.n >= l->most)
		return turn(l, err);
	b.p = malloc(LATEST_BLOCK);
	if (b.p && !vec_push(&l->block, b))
		return 0;
	free(b.p);
	return err_nomem(err);
}

int pd_latest_add(struct pd_latest *l, const uint8_t *p, size_t size, struct err *err)
{
	struct block *b = l->block.n ? vec_last(&l->block) : NULL;

	if ((!b || size > LATEST_BLOCK - b->len) && more_room(l, err))
		return -1;
	b = vec_last(&l->block);
	memcpy(b->p + b->len, p, size); /* a record has less than 64 KiB */
	b->len += size;
	l->bytes += size;
	return 0;
}

int pd_latest_put(const struct pd_latest *l,
		  int (*put)(void *ctx, const void *records, size_t len, struct err *err),
		  void *ctx, struct err *err)
{
	vec_each (&l->block, const struct block *, b)
		if (b->len && put(ctx, b->p, b->len, err))
			return -1;
	return 0;
}

uint64_t pd_latest_bytes(const struct pd_latest *l)
{
	return l->bytes;
}

void pd_latest_free(struct pd_latest *l)
{
	if (!l)
		return;
	vec_each (&l->block, const struct block *, b)
		free(b->p);
	vec_free(&l->block);
	free(l);
}
