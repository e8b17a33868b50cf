/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_frames - distinct addresses of code, the functions that they are in, and chains of them.
 */
#include <elf.h>
#include <stdlib.h>

#include "analyse/sample_frames.h"
#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/xalloc.h"

uint32_t frames_number(struct wait_frames *f, const struct pass_sample *s, enum space_kind kind,
		       uint64_t ip, uint64_t *from, uint64_t *until)
{
	const struct place *o = pass_place(s, (uint8_t)kind, ip);
	const struct wait_frame x = { .image = o->image,
				      .addr = o->image != IMAGE_NONE ? ip - o->less : 0,
				      .kind = (uint8_t)kind };
	uint64_t h;
	uint32_t idx;

	place_narrow(o, from, until);
	h = hash_pair(x.addr, (uint64_t)x.image << 8 | x.kind);
	for (size_t i = itab_first(&f->at, h); itab_at(&f->at, &i, h, &idx);)
		if (f->frame.v[idx].addr == x.addr && f->frame.v[idx].image == x.image &&
		    f->frame.v[idx].kind == x.kind)
			return idx;
	vec_xpush(&f->frame, x);
	if (itab_put(&f->at, h, f->frame.n - 1))
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
	vec_xpush(&f->place, *x);
	if (itab_put(&n->at, h, f->place.n - 1))
		return UINT32_MAX;
	return (uint32_t)f->place.n - 1;
}

static int frame_by_address(const void *pa, const void *pb, void *frames)
{
	const struct wait_frame *a = (const struct wait_frame *)frames + *(const uint32_t *)pa;
	const struct wait_frame *b = (const struct wait_frame *)frames + *(const uint32_t *)pb;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* Frames order[0..n) of one image. */
static int name_frame_run(struct naming *m, const uint32_t *order, size_t n, struct err *err)
{
	struct wait_frame *f = m->f->frame.v;
	uint32_t image = f[order[0]].image;
	uint64_t *addr = xcalloc(n, sizeof(*addr));
	const struct symbol **sym = xcalloc(n, sizeof(*sym));
	int ret = -1;

	for (size_t i = 0; i < n; i++)
		addr[i] = f[order[i]].addr;
	if (image != IMAGE_NONE)
		image_resolve(spaces_images(m->sp), image, addr, n, sym);
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
	uint32_t *order = xmalloc((n + 1) * sizeof(*order));
	int ret = 0;

	vec_xpush(&f->place, none);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), frame_by_address, f->frame.v);
	for (size_t i = 0, end; i < n && !ret; i = end) {
		for (end = i + 1; end < n && x[order[end]].image == x[order[i]].image; end++)
			;
		ret = name_frame_run(&m, &order[i], end - i, err);
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

/* ---- chains ---------------------------------------------------------------------------------- */

static enum space_kind kind_of_context(uint64_t marker)
{
	switch (marker) {
	case PERF_CONTEXT_KERNEL:
		return SPACE_KERNEL;
	case PERF_CONTEXT_USER:
		return SPACE_USER;
	default:
		return SPACE_UNKNOWN;
	}
}

/* The chain of n frames, innermost first, below the root. */
static int chain_put(struct wait_chains *k, const uint32_t *frame, size_t n, uint32_t *chain)
{
	*chain = 0;
	while (n) {
		*chain = chain_add(&k->raw, *chain, frame[--n]);
		if (*chain == UINT32_MAX)
			return -1;
	}
	return 0;
}

/* The chain as the kernel wrote it. */
static int chain_make(struct wait_chains *k, const struct pass_sample *at,
		      const struct pd_sample *s, struct memo *m)
{
	enum space_kind kind = SPACE_USER;
	uint32_t frame[SAMPLE_FRAMES_RECORD], n = 0;
	bool called = false; /* the entry is where a call returns to */

	for (uint64_t i = 0; i < s->n_chain && n < SAMPLE_FRAMES_RECORD; i++) {
		uint64_t ip = ld64(s->chain + i * 8);

		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			kind = kind_of_context(ip);
			called = false;
			continue;
		}
		if (kind == SPACE_UNKNOWN || chain_is_hole(ip, (uint8_t)kind))
			continue;
		frame[n] = frames_number(&k->frames, at, kind, ip - called, &m->from, &m->until);
		if (frame[n++] == UINT32_MAX)
			return -1;
		called = true;
	}
	return chain_put(k, frame, n, &m->chain);
}

/* The same of a chain that is unwound now, from a recorded stack. */
static int chain_unwind(struct wait_chains *k, const struct pd *rec,
			const struct sample_frames_how *how, const struct pass_sample *s,
			uint32_t *chain, struct err *err)
{
	struct sample_frames *f = &k->unwound;
	uint32_t frame[SAMPLE_FRAMES_RECORD], n = 0;
	uint64_t from = 0, until = UINT64_MAX;
	struct pd_sample x;

	*chain = 0;
	if (pd_sample_parse(rec, s->r, &x))
		return 0;
	if (!f->frame && sample_frames_init(f, k->sp, machine_of_arch(pd_info(rec)->arch),
					    SAMPLE_FRAMES_RECORD, err))
		return -1;
	if (sample_frames_take(f, how, &x, s->who->proc, s->time, err))
		return -1;
	for (size_t i = 0; i < f->n; i++) {
		const struct sample_frame *at = &f->frame[i];
		enum space_kind kind = at->kind == KIND_UNSAID ? SPACE_USER : at->kind;

		if (kind == SPACE_UNKNOWN || chain_is_hole(at->ip, (uint8_t)kind))
			continue;
		frame[n] = frames_number(&k->frames, s, kind, at->ip - at->caller, &from, &until);
		if (frame[n++] == UINT32_MAX)
			return err_nomem(err);
	}
	return chain_put(k, frame, n, chain) ? err_nomem(err) : 0;
}

int chains_of(struct wait_chains *c, const struct pd *rec, const struct pass_sample *s,
	      uint32_t *chain, struct err *err)
{
	struct pd_sample x;
	struct memo m = { .from = s->who->from, .until = s->who->until };
	size_t n;
	const struct sample_frames_how how =
		sample_frames_how(&pd_events(rec, &n)[s->event], EM_NONE);
	uint64_t *at;
	bool fresh;

	*chain = 0;
	if (how.dwarf)
		return chain_unwind(c, rec, &how, s, chain, err);
	if (pd_sample_parse(rec, s->r, &x) || !x.n_chain)
		return 0;
	at = u64map_xat(&c->memo_at,
			hash_bytes(x.chain, x.n_chain * 8) ^ hash_u64(s->who->proc_index), &fresh);
	if (!fresh && s->time >= c->memo.v[*at].from && s->time < c->memo.v[*at].until) {
		*chain = c->memo.v[*at].chain;
		return 0;
	}
	if (chain_make(c, s, &x, &m))
		return err_nomem(err);
	*chain = m.chain;
	if (!fresh) {
		c->memo.v[*at] = m;
		return 0;
	}
	*at = c->memo.n;
	vec_xpush(&c->memo, m);
	return 0;
}

void chains_free(struct wait_chains *c)
{
	frames_free(&c->frames);
	chain_free(&c->raw);
	u64map_free(&c->memo_at);
	vec_free(&c->memo);
	sample_frames_free(&c->unwound);
}
