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

/* The number of a frame's place; NOTHING: out of memory, or *err says why. */
static uint32_t place_of(struct raw_chains *x, struct raw *c, const struct raw_frame *f,
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
	at = u64map_at(&x->place_at, hash_pair(p.address, (uint64_t)name->image << 32 | kind),
		       NULL);
	if (!at)
		return NOTHING;
	p.same = (uint32_t)*at - 1;
	for (uint32_t i = p.same; i != NOTHING; i = x->place.v[i].same)
		if (is_same_place(&x->place.v[i], &p))
			return i;
	if (x->place.n >= NOTHING || vec_push(&x->place, p))
		return NOTHING;
	*at = x->place.n;
	return (uint32_t)x->place.n - 1;
}

static bool is_same_chain(const struct raw_chains *x, const struct chain *a, const struct chain *b)
{
	return a->n == b->n &&
	       !memcmp(x->step.v + a->first, x->step.v + b->first, a->n * sizeof(*x->step.v));
}

/* The sample's chain; a new one if it is the first. NULL: out of memory, or *err says why. */
static struct chain *chain_of(struct raw_chains *x, struct raw *c, struct err *err)
{
	struct chain k = { .first = x->step.n };
	uint64_t *at;

	for (size_t i = 0; i < c->chain.n; i++) {
		uint32_t place = place_of(x, c, &c->chain.v[i], err);

		if (place == NOTHING || vec_push(&x->step, place))
			return NULL;
	}
	k.n = (uint32_t)(x->step.n - k.first);
	/* room for a chain of no frames, too */
	if (vec_reserve(&x->step, x->step.n + 1))
		return NULL;
	at = u64map_at(&x->chain_at, hash_bytes(x->step.v + k.first, k.n * sizeof(*x->step.v)),
		       NULL);
	if (!at)
		return NULL;
	k.same = (uint32_t)*at - 1;
	for (uint32_t i = k.same; i != NOTHING; i = x->chain.v[i].same)
		if (is_same_chain(x, &x->chain.v[i], &k)) {
			x->step.n = k.first;
			return &x->chain.v[i];
		}
	if (x->chain.n >= NOTHING || vec_push(&x->chain, k))
		return NULL;
	*at = x->chain.n;
	return vec_last(&x->chain);
}

static int take(struct raw *at, void *ctx, struct err *err)
{
	struct chain *k;

	if (raw_frames_make(at, err))
		return -1;
	if (!at->chain.n)
		return 0;
	k = chain_of(ctx, at, err);
	if (!k)
		return err->code == ERR_NONE ? err_nomem(err) : -1;
	if (!k->samples++)
		k->first_sample = cursor_now(at->walk[at->run])->r.seq;
	return 0;
}

/* Of the run at hand. If the pass is stopped there are none: the query ends. */
static int make(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);
	struct raw_chains *x;
	bool over;

	if (of->chains)
		return 0;
	x = calloc(1, sizeof(*x));
	if (!x)
		return err_nomem(err);
	if (raw_each_sample(c, take, x, &over, err)) {
		raw_chains_free(x);
		return -1;
	}
	if (over)
		raw_chains_free(x);
	else
		of->chains = x;
	return 0;
}

int raw_chain_id(struct raw *c, struct raw_cell *out, struct err *err)
{
	struct raw_chains *x;
	const struct chain *k;

	if (make(c, err))
		return -1;
	x = raw_of(c)->chains;
	if (!x)
		return 0;
	k = chain_of(x, c, err);
	if (!k)
		return err->code == ERR_NONE ? err_nomem(err) : -1;
	value_int(out, (uint64_t)(k - x->chain.v));
	return 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The first chain within bounds; c->n is behind the last one. */
static int begin_chains(struct raw *c, struct err *err)
{
	const struct cursor_range *b = &c->b.chain;
	size_t n;

	if (make(c, err))
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

static int chain_text(struct raw *c, const struct chain *k, struct raw_cell *out, struct err *err)
{
	const struct raw_chains *x = raw_of(c)->chains;

	buf_reset(&c->text);
	for (size_t i = k->n; i--;) {
		const struct place *p = place_at(x, k, i);

		raw_put_frame(&c->text, p->name.function, p->name.dso, p->address);
	}
	value_text(out, buf_str(&c->text), false);
	return c->text.failed ? err_nomem(err) : 0;
}

static int chain_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		       struct err *err)
{
	const struct raw_chains *x = raw_of(c)->chains;
	const struct chain *k = &x->chain.v[c->i - 1];

	switch (col) {
	case C_chains_run:
		value_int(out, c->run + 1);
		break;
	case C_chains_chain_id:
		value_int(out, c->i - 1);
		break;
	case C_chains_frames:
		value_int(out, k->n);
		break;
	case C_chains_samples:
		value_int(out, k->samples);
		break;
	case C_chains_first_sample:
		value_int(out, k->first_sample);
		break;
	case C_chains_function:
		value_text(out, k->n ? place_at(x, k, 0)->name.function : NULL, true);
		break;
	default:
		return chain_text(c, k, out, err);
	}
	return 0;
}

const struct raw_kind raw_chains_rows = { begin_chains, raw_array_next, chain_value };

/* ---- their frames ---------------------------------------------------------------------------- */

static int begin_frames(struct raw *c, struct err *err)
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

static int line_of(struct raw *c, const struct place *p, enum store_column_id col,
		   struct raw_cell *out, struct err *err)
{
	struct source_line at;

	if (names_line_of(raw_of(c)->names, &p->name, p->level, &at, err))
		return -1;
	if (col == C_chain_frames_file)
		value_text(out, at.file, true);
	else if (at.line)
		value_int(out, at.line);
	return 0;
}

static int frame_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		       struct err *err)
{
	struct raw_chains *x = raw_of(c)->chains;
	const struct chain *k = &x->chain.v[c->i];
	struct place *p = &x->place.v[x->step.v[k->first + c->depth - 1]];

	switch (col) {
	case C_chain_frames_run:
		value_int(out, c->run + 1);
		break;
	case C_chain_frames_chain_id:
		value_int(out, c->i);
		break;
	case C_chain_frames_depth:
		value_int(out, c->depth - 1);
		break;
	case C_chain_frames_samples:
		value_int(out, k->samples);
		break;
	case C_chain_frames_mode:
		value_text(out, raw_mode_names[p->kind], true);
		break;
	case C_chain_frames_in_kernel:
		value_int(out, p->kind == SPACE_KERNEL);
		break;
	case C_chain_frames_inlined:
		value_int(out, p->level > 0);
		break;
	case C_chain_frames_function:
		value_text(out, p->name.function, true);
		break;
	case C_chain_frames_offset:
		if (p->name.function && !p->level)
			value_int(out, p->name.offset + p->caller);
		break;
	case C_chain_frames_dso:
		value_text(out, p->name.dso, true);
		break;
	case C_chain_frames_address:
		value_int(out, p->address);
		break;
	default:
		return line_of(c, p, col, out, err);
	}
	return 0;
}

const struct raw_kind raw_chain_frames = { begin_frames, next_frame, frame_value };
