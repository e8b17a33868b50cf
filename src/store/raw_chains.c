/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distinct call chains of a recording, and their frames. They are made by one pass over all samples
 * when first asked for. A frame is a place of a file, so that chains of several processes that run
 * the same program are the same, wherever their files are mapped.
 *
 * Memory: some 100 bytes for a distinct place, 4 for a frame of a distinct chain.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "store/raw_int.h"

#define NOTHING UINT32_MAX

struct place {
	struct name name; /* function: the inlined one, if it is one; no inlines */
	uint64_t address; /* of a caller, the return address */
	uint32_t level;	  /* of inlining */
	uint32_t same;	  /* the next one of the same hash */
	uint8_t kind;	  /* enum space_kind */
	bool caller;
};

struct chain {
	size_t first; /* of `step` */
	uint32_t n, same;
	uint64_t samples, first_sample;
};

struct raw_chains {
	VEC(struct place) place;
	VEC(uint32_t) step; /* places of chains, innermost first */
	VEC(struct chain) chain;
	struct u64map place_at, chain_at; /* hash -> index + 1 of the last one that has it */
};

void raw_chains_free(struct raw_chains *x)
{
	if (!x)
		return;
	vec_free(&x->place);
	vec_free(&x->step);
	vec_free(&x->chain);
	u64map_free(&x->place_at);
	u64map_free(&x->chain_at);
	free(x);
}

/* ---- making them ----------------------------------------------------------------------------- */

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->address == b->address && a->kind == b->kind && a->caller == b->caller &&
	       a->name.image == b->name.image && a->level == b->level;
}

/* Returns the number of a frame's place; NOTHING: failed, see *err. */
static uint32_t chain_place_of(struct raw_chains *x, struct raw *c, const struct raw_frame *f,
			       struct err *err)
{
	const struct name *name = raw_name_at(c, (enum space_kind)f->kind, f->ip - f->caller, err);
	struct place p = { .kind = f->kind, .caller = f->caller, .level = f->level };
	uint64_t *at, kind = (uint64_t)p.level << 16 | (uint64_t)p.kind << 1 | (p.caller ? 1 : 0);

	if (!name)
		return NOTHING;
	p.name = *name;
	p.name.inl = NULL;
	if (f->level) {
		p.name.function = f->inlined;
		p.name.offset = 0;
	}
	p.address = name->dso ? name->address + p.caller : f->ip;
	at = u64map_xat(&x->place_at, hash_pair(p.address, (uint64_t)name->image << 32 | kind),
			NULL);
	p.same = (uint32_t)*at - 1;
	for (uint32_t i = p.same; i != NOTHING; i = x->place.v[i].same)
		if (is_same_place(&x->place.v[i], &p))
			return i;
	vec_xpush(&x->place, p);
	*at = x->place.n;
	return (uint32_t)x->place.n - 1;
}

static bool is_same_chain(const struct raw_chains *x, const struct chain *a, const struct chain *b)
{
	return a->n == b->n &&
	       !memcmp(x->step.v + a->first, x->step.v + b->first, a->n * sizeof(*x->step.v));
}

/* Returns the sample's chain; a new one if it is the first. NULL: failed, see *err. */
static struct chain *chains_chain_of(struct raw_chains *x, struct raw *c, struct err *err)
{
	struct chain k = { .first = x->step.n };
	uint64_t *at;

	for (size_t i = 0; i < c->chain.n; i++) {
		uint32_t place = chain_place_of(x, c, &c->chain.v[i], err);

		if (place == NOTHING)
			return NULL;
		vec_xpush(&x->step, place);
	}
	k.n = (uint32_t)(x->step.n - k.first);
	/* room for a chain of no frames, too */
	vec_xreserve(&x->step, x->step.n + 1);
	at = u64map_xat(&x->chain_at, hash_bytes(x->step.v + k.first, k.n * sizeof(*x->step.v)),
			NULL);
	k.same = (uint32_t)*at - 1;
	for (uint32_t i = k.same; i != NOTHING; i = x->chain.v[i].same)
		if (is_same_chain(x, &x->chain.v[i], &k)) {
			x->step.n = k.first;
			return &x->chain.v[i];
		}
	vec_xpush(&x->chain, k);
	*at = x->chain.n;
	return vec_last(&x->chain);
}

static int count_chain(struct raw *at, void *ctx, struct err *err)
{
	struct chain *k;

	if (raw_frames_make(at, err))
		return -1;
	if (!at->chain.n)
		return 0;
	k = chains_chain_of(ctx, at, err);
	if (!k)
		return -1;
	if (!k->samples++)
		k->first_sample = cursor_now(at->walk[at->run])->r.seq;
	return 0;
}

/* Makes the chains of the run at hand. If the pass is stopped, there are none: the query ends. */
static int make_chains(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);
	struct raw_chains *x;
	bool over;
	int ret;

	if (of->chains)
		return 0;
	x = xcalloc(1, sizeof(*x));
	ret = raw_each_sample(c, count_chain, x, &over, err);
	if (ret || over)
		raw_chains_free(x);
	else
		of->chains = x;
	return ret;
}

bool raw_chain_id(struct raw *c, uint64_t *out)
{
	struct raw_chains *x;
	const struct chain *k;

	if (make_chains(c, &c->err))
		return false;
	x = raw_of(c)->chains;
	k = x ? chains_chain_of(x, c, &c->err) : NULL;
	if (k)
		*out = (uint64_t)(k - x->chain.v);
	return k;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The first chain within bounds; c->n is behind the last one. */
static int begin_chains(struct raw *c, struct err *err)
{
	const struct cursor_range *b = &c->b.chain;
	size_t n;

	if (make_chains(c, err))
		return -1;
	n = raw_of(c)->chains ? raw_of(c)->chains->chain.n : 0;
	c->i = b->low > 0 ? (size_t)b->low : 0;
	c->n = b->high < 0 ? 0 : (uint64_t)b->high < n ? (size_t)b->high + 1 : n;
	return 0;
}

static const struct place *place_at(const struct raw_chains *x, const struct chain *k, size_t depth)
{
	return &x->place.v[x->step.v[k->first + depth]];
}

const struct raw_kind raw_chains_rows = { begin_chains, raw_array_next };

#define CHAIN_GET(name, ...)                                            \
	RAW_GET(name, const struct raw_chains *x = raw_of(raw)->chains; \
		const struct chain *k = &x->chain.v[raw->i - 1]; __VA_ARGS__)
CHAIN_GET(chain_frames, out->n = k->n)
CHAIN_GET(chain_samples, out->n = k->samples)
CHAIN_GET(chain_first_sample, out->n = k->first_sample)
CHAIN_GET(chain_function, out->text = k->n ? place_at(x, k, 0)->name.function : NULL)
CHAIN_GET(
	chain_chain, for (size_t i = k->n; i--;) {
		const struct place *p = place_at(x, k, i);

		raw_put_frame(out->scratch, p->name.function, p->name.dso, p->address);
	} out->text = buf_str(out->scratch))
#undef CHAIN_GET

/* ---- their frames ---------------------------------------------------------------------------- */

static int begin_chains_frames(struct raw *c, struct err *err)
{
	c->depth = 0;
	return begin_chains(c, err);
}

static int next_frame(struct raw *c, struct err *err)
{
	const struct raw_chains *x = raw_of(c)->chains;

	(void)err;
	for (; c->i < c->n; c->i++, c->depth = 0)
		if (c->depth < x->chain.v[c->i].n) {
			c->depth++;
			return 1;
		}
	return 0;
}

const struct raw_kind raw_chain_frames = { begin_chains_frames, next_frame };

/* The place of the frame at hand, and its line. */
#define PLACE_GET(name, ...)                                            \
	RAW_GET(name, const struct raw_chains *x = raw_of(raw)->chains; \
		const struct chain *k = &x->chain.v[raw->i];            \
		const struct place *p = place_at(x, k, raw->depth - 1); __VA_ARGS__)
#define LINE_GET(column, ...)                                                                 \
	PLACE_GET(                                                                            \
		column, struct source_line at;                                                \
		if (!names_line_of(raw_of(raw)->names, &p->name, p->level, &at, &raw->err)) { \
			__VA_ARGS__;                                                          \
		})
RAW_GET(chain_number, out->n = raw->i)
RAW_GET(place_depth, out->n = raw->depth - 1)
RAW_GET(chain_frame_samples, out->n = raw_of(raw)->chains->chain.v[raw->i].samples)
PLACE_GET(place_mode, out->text = raw_mode_names[p->kind])
PLACE_GET(place_in_kernel, out->n = p->kind == SPACE_KERNEL)
PLACE_GET(place_inlined, out->n = p->level > 0)
PLACE_GET(place_function, out->text = p->name.function)
PLACE_GET(place_offset, raw_put(out, p->name.function && !p->level, p->name.offset + p->caller))
PLACE_GET(place_dso, out->text = p->name.dso)
PLACE_GET(place_address, out->n = p->address)
LINE_GET(place_file, out->text = at.file)
LINE_GET(place_line, raw_put(out, at.line, at.line))
