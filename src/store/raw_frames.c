/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the sample at hand: those that report -g has, however the chain was recorded. Calls
 * that the compiler inlined are frames of their own.
 */
#include "base/xalloc.h"
#include "store/raw_int.h"

/* A frame and what is inlined at its address, innermost first. */
static int add_frame(struct raw *c, const struct sample_frame *at, uint8_t kind, struct err *err)
{
	struct raw_frame f = { .ip = at->ip, .kind = kind, .caller = at->caller };
	struct name *x = raw_name_at(c, (enum space_kind)kind, f.ip - f.caller, err);

	if (!x || names_inlines(raw_of(c)->names, x, err))
		return -1;
	for (f.level = x->n_inl;; f.level--) {
		f.inlined = f.level ? x->inl[f.level - 1].name : NULL;
		vec_xpush(&c->chain, f);
		if (!f.level)
			return 0;
	}
}

/* The unwinder knows the address spaces of one recording. */
static int begin(struct raw *c, struct err *err)
{
	const struct raw_run *r = &raw_of(c)->r;

	if (c->frames.frame && c->frames_run == c->run)
		return 0;
	sample_frames_free(&c->frames);
	c->frames_run = c->run;
	return sample_frames_init(&c->frames, r->spaces, r->machine, SAMPLE_FRAMES_MAX, err);
}

int raw_frames_make(struct raw *c, struct err *err)
{
	const struct cursor_row *row = cursor_now(c->walk[c->run]);
	const struct pd_sample *s = raw_sample(c);
	struct sample_frames_how how;
	uint8_t kind;

	if (c->chain_made)
		return 0;
	c->chain_made = true;
	c->chain.n = 0;
	if (!s || !row->ev)
		return 0;
	how = sample_frames_how(row->ev, raw_of(c)->r.machine);
	if (!(s->has & PERF_SAMPLE_CALLCHAIN) && !how.dwarf)
		return 0;
	kind = (uint8_t)space_kind_of_misc(row->r.misc);
	if (begin(c, err) || raw_meet(c, err) ||
	    sample_frames_take(&c->frames, &how, s, c->who.proc, c->who.time, err))
		return -1;
	for (size_t i = 0; i < c->frames.n; i++) {
		const struct sample_frame *f = &c->frames.frame[i];

		if (add_frame(c, f, f->kind == KIND_UNSAID ? kind : f->kind, err))
			return -1;
	}
	return 0;
}

void raw_put_frame(struct buf *b, const char *function, const char *dso, uint64_t address)
{
	buf_put(b, ";", b->len ? 1 : 0);
	if (function)
		buf_puts(b, function);
	else
		buf_printf(b, "%s%s0x%llx", dso ? dso : "", dso ? "+" : "",
			   (unsigned long long)address);
}

int raw_chain_text(struct raw *c, struct buf *out, struct err *err)
{
	for (size_t i = c->chain.n; i--;) {
		const struct raw_frame *f = &c->chain.v[i];
		const struct name *x =
			raw_name_at(c, (enum space_kind)f->kind, f->ip - f->caller, err);

		if (!x)
			return -1;
		raw_put_frame(out, f->inlined ? f->inlined : x->function, x->dso,
			      x->dso ? x->address + f->caller : f->ip);
	}
	return 0;
}
