/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of calls: where a function calls the allocator or the kernel most. Results by function do
 * not have them, so these come from samples by the addresses of their chains.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "analyse/profile_stacks.h"
#include "base/xalloc.h"

#define NO_SITE UINT32_MAX

struct call_chains {
	const struct profile_stacks *s;
	const struct strtab *strings;
	unsigned *code;	    /* by frame */
	const char **entry; /* by frame; NULL: not of the kernel's entries */
};

static bool wants_call(const struct finding *f)
{
	return (f->kind == FINDING_ALLOCATIONS || f->kind == FINDING_KERNEL) && f->at.function &&
	       !f->file;
}

bool findings_want_calls(const struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (wants_call(&f->v[i]))
			return true;
	return false;
}

static uint32_t frame_of(const struct call_chains *c, uint32_t site)
{
	return c->s->frame_id[c->s->site[site].first];
}

static bool is_own(unsigned code)
{
	return !(code & (CODE_KERNEL | CODE_SYSTEM | CODE_ALLOCATOR | CODE_UNKNOWN));
}

/* Returns the site of the program that calls the allocator. */
static uint32_t site_that_allocates(const struct call_chains *c, uint32_t node)
{
	uint32_t site = NO_SITE;
	bool inside = false;

	for (; node; node = c->s->node[node].parent) {
		unsigned code = c->code[frame_of(c, c->s->node[node].site)];

		if (code & CODE_ALLOCATOR) {
			inside = true;
			site = NO_SITE;
		} else if (inside && site == NO_SITE && is_own(code)) {
			site = c->s->node[node].site;
		}
	}
	return site;
}

/* The same of the one that entered the kernel for this. */
static uint32_t site_that_enters(const struct call_chains *c, uint32_t node, const char *what)
{
	uint32_t site = NO_SITE;
	const char *entry = NULL;

	for (; node; node = c->s->node[node].parent) {
		uint32_t frame = frame_of(c, c->s->node[node].site);

		if (c->entry[frame])
			entry = c->entry[frame];
		if (site == NO_SITE && is_own(c->code[frame]))
			site = c->s->node[node].site;
	}
	return entry && what && !strcmp(entry, what) ? site : NO_SITE;
}

static bool is_at(const struct call_chains *c, uint32_t site, const struct finding *f)
{
	const struct profile_frame *frame = &c->s->frame[frame_of(c, site)];

	return !strcmp(strtab_get(c->strings, frame->name), f->at.function) &&
	       (!f->at.dso || !strcmp(strtab_get(c->strings, frame->dso), f->at.dso));
}

struct called_line {
	struct source_line at;
	uint64_t period;
};

static int by_line(const void *va, const void *vb)
{
	const struct called_line *a = va, *b = vb;

	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return strcmp(a->at.file, b->at.file);
}

static void set_called_line(struct finding *f, struct finding_work *w, const struct call_chains *c,
			    const uint64_t *by_site)
{
	VEC(struct called_line) lines = { 0 };
	const struct called_line *most = NULL;

	for (size_t i = 0; i < c->s->n_sites; i++) {
		const struct stack_site *site = &c->s->site[i];
		struct called_line l = { .period = by_site[i] };

		if (l.period && finding_line_at(&l.at, w, site->image, site->addr - site->caller))
			vec_xpush(&lines, l);
	}
	vec_sort(&lines, by_line);
	for (size_t i = 1; i < lines.n; i++)
		if (!by_line(&lines.v[i - 1], &lines.v[i]))
			lines.v[i].period += lines.v[i - 1].period;
	vec_each (&lines, const struct called_line *, l)
		if (!most || l->period > most->period)
			most = l;
	if (most) {
		f->file = arena_xstrdup(&w->out->a, most->at.file);
		f->line = most->at.line;
	}
	vec_free(&lines);
}

void findings_calls(struct findings *out, const struct findings_in *in, const struct profile *p)
{
	struct finding_work w = { .in = in, .out = out };
	struct call_chains c = { .s = profile_stacks(p), .strings = profile_strings(p) };
	uint64_t *by_site;

	if (!c.s)
		return;
	c.code = xcalloc(c.s->n_frames + 1, sizeof(*c.code));
	c.entry = xcalloc(c.s->n_frames + 1, sizeof(*c.entry));
	by_site = xcalloc(c.s->n_sites + 1, sizeof(*by_site));
	for (size_t i = 0; i < c.s->n_frames; i++) {
		const char *name = strtab_get(c.strings, c.s->frame[i].name);

		c.code[i] = finding_code(name, strtab_get(c.strings, c.s->frame[i].dso));
		if (c.code[i] & CODE_KERNEL)
			c.entry[i] = finding_kernel_entry(name);
	}
	for (size_t k = 0; k < out->n; k++) {
		struct finding *f = &out->v[k];

		if (!wants_call(f))
			continue;
		memset(by_site, 0, c.s->n_sites * sizeof(*by_site));
		for (size_t i = 0; i < c.s->n_samples; i++) {
			const struct stack_sample *x = &c.s->sample[i];
			uint32_t site;

			if (x->event != in->event)
				continue;
			site = f->kind == FINDING_ALLOCATIONS
				       ? site_that_allocates(&c, x->node)
				       : site_that_enters(&c, x->node, f->object);
			if (site != NO_SITE && is_at(&c, site, f))
				by_site[site] += x->period;
		}
		set_called_line(f, &w, &c, by_site);
	}
	free(by_site);
	free(c.entry);
	free(c.code);
}
