/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/pgo/fdo_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/code.h"

/* ---- discriminators -------------------------------------------------------------------------- */

/* Three numbers stand in one, each 1 bit (a set one: the number 0), 7 bits or 14 bits long. */
static uint32_t first_part(uint32_t d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

uint32_t fdo_base_discriminator(uint32_t d)
{
	return first_part(d);
}

uint32_t fdo_duplication(uint32_t d)
{
	uint32_t n = first_part(d & 1 ? d >> 1 : d >> (d & 0x40 ? 14 : 7));

	return n ? n : 1;
}

/* ---- by branch stacks ------------------------------------------------------------------------ */

struct flowing {
	struct fdo_maker m;
	const struct flow *f;
	double scale;
	uint64_t *count;     /* by instruction */
	uint32_t *line;	     /* likewise: its line */
	double *diff, *ends; /* spans that begin less those before it that end; that end in it */
	size_t cap;
};

static uint64_t rounded(double v)
{
	return v > 0 && v < 1e18 ? (uint64_t)llround(v) : 0;
}

uint64_t fdo_count(const struct flow_weight *w, double scale)
{
	return rounded(flow_sum(w) * scale);
}

static uint64_t scaled_count(const struct flowing *x, const struct flow_weight *w)
{
	return fdo_count(w, x->scale);
}

double fdo_scale(const struct flow *f)
{
	size_t n;
	const struct flow_span *s = flow_spans(f, &n);
	double hits = 0, weight = 0;

	for (size_t i = 0; i < n; i++) {
		hits += (double)s[i].w.hits;
		weight += flow_sum(&s[i].w);
	}
	return weight > 0 ? hits / weight : 0;
}

static void make_fdo_room(struct flowing *x, size_t n)
{
	if (n <= x->cap)
		return;
	free(x->count);
	free(x->line);
	free(x->diff);
	free(x->ends);
	x->cap = n * 2;
	x->count = xmalloc(x->cap * sizeof(*x->count));
	x->line = xmalloc(x->cap * sizeof(*x->line));
	x->diff = xmalloc((x->cap + 1) * sizeof(*x->diff));
	x->ends = xmalloc(x->cap * sizeof(*x->ends));
}

/* Executions of each instruction of a function, by the spans that begin in it: s[0..n). */
static void count_insns(struct flowing *x, const struct code *c, const struct flow_span *s,
			size_t n)
{
	double sum = 0;

	make_fdo_room(x, c->n_insns + 1);
	memset(x->diff, 0, (c->n_insns + 1) * sizeof(*x->diff));
	memset(x->ends, 0, (c->n_insns + 1) * sizeof(*x->ends));
	for (size_t i = 0; i < n; i++) {
		uint32_t first = code_insn_at(c, s[i].start), last = CODE_NONE;

		if (s[i].end < c->start + c->len)
			last = code_insn_at(c, s[i].end);
		else if (c->n_insns) /* runs on into the code behind */
			last = (uint32_t)c->n_insns - 1;
		if (first == CODE_NONE || last == CODE_NONE || last < first) {
			x->m.counts.no_insn += scaled_count(x, &s[i].w);
			continue;
		}
		x->diff[first] += flow_sum(&s[i].w);
		x->diff[last + 1] -= flow_sum(&s[i].w);
		if (s[i].end < c->start + c->len)
			x->ends[last] += flow_sum(&s[i].w);
	}
	for (size_t i = 0; i < c->n_insns; i++) {
		sum += x->diff[i];
		x->count[i] = rounded(sum * x->scale);
	}
}

static bool within_function(const struct code *c, uint32_t image, const struct flow_place *p)
{
	return p->image == image && p->addr >= c->start && p->addr - c->start < c->len;
}

/* Returns true if it is the first instruction of a function. */
static bool starts_function(const struct flowing *x, uint64_t addr)
{
	const struct symbol *s;

	image_resolve(x->m.images, x->m.image, &addr, 1, &s);
	return s && s->start == addr;
}

/* Calls, and jumps into other functions, that left this one. */
static int add_targets(struct flowing *x, const struct code *c, struct err *err)
{
	size_t n_all, first;
	const struct flow_edge *e = flow_edges(x->f, &n_all);
	size_t n = flow_edges_from(x->f, x->m.image, c->start, c->start + c->len, &first);

	for (size_t i = first; i < first + n; i++) {
		uint32_t insn = code_insn_at(c, e[i].from.addr), name;

		if (insn == CODE_NONE || e[i].to.image != x->m.image || x->line[insn] == FDO_NONE ||
		    c->insn[insn].flow == INSN_RETURN)
			continue;
		if (c->insn[insn].flow != INSN_CALL && within_function(c, x->m.image, &e[i].to))
			continue; /* a loop, though to the function's start */
		if (!starts_function(x, e[i].to.addr))
			continue;
		if (fdo_name_at(&x->m, e[i].to.addr, &name) ||
		    (name != FDO_NONE &&
		     fdo_add_target(&x->m, x->line[insn], name, scaled_count(x, &e[i].w))))
			return err_nomem(err);
	}
	return 0;
}

/* Branches to the function's first instruction, but for loops. */
static int add_fdo_head(struct flowing *x, const struct code *c, struct err *err)
{
	size_t n_all, first;
	const struct flow_edge *e = flow_edges(x->f, &n_all);
	const uint32_t *into = flow_edges_into(x->f);
	size_t n = flow_edges_to(x->f, x->m.image, c->start, c->start + 1, &first);
	double sum = 0;

	for (size_t i = first; i < first + n; i++) {
		const struct flow_edge *o = &e[into[i]];

		if (within_function(c, x->m.image, &o->from)) {
			uint32_t insn = code_insn_at(c, o->from.addr);

			if (insn == CODE_NONE || c->insn[insn].flow != INSN_CALL)
				continue;
		}
		sum += flow_sum(&o->w);
	}
	if (!rounded(sum * x->scale))
		return 0;
	return fdo_add_head(&x->m, c->start, rounded(sum * x->scale)) ? err_nomem(err) : 0;
}

static int add_fdo_function(struct flowing *x, const struct symbol *sym, const struct flow_span *s,
			    size_t n, uint64_t end, struct err *err)
{
	struct code *c;
	int ret = -1;

	if (code_read(&c, x->m.images, x->m.image, sym->start, end - sym->start, err))
		return -1;
	count_insns(x, c, s, n);
	for (size_t i = 0; i < c->n_insns; i++) {
		uint64_t bytes = x->count[i] * c->insn[i].len;
		uint64_t less = rounded(x->ends[i] * x->scale * (c->insn[i].len - 1));

		bytes = bytes > less ? bytes - less : x->count[i];
		x->line[i] = FDO_NONE;
		if (x->count[i] && fdo_add_insn(&x->m, c->start + c->insn[i].at, x->count[i], bytes,
						&x->line[i])) {
			(void)err_nomem(err);
			goto out;
		}
	}
	ret = add_targets(x, c, err) || add_fdo_head(x, c, err) ? -1 : 0;
out:
	code_free(c);
	return ret;
}

/* Returns the end of a function: by its size, else the next symbol. */
static uint64_t fdo_end_of(const struct symbol *sym, const struct symbol *all, size_t n)
{
	if (sym->size)
		return sym->start + sym->size;
	for (size_t i = sym->index; i < n; i++)
		if (all[i].start > sym->start)
			return all[i].start;
	return sym->start + 1;
}

static int add_fdo_spans(struct flowing *x, const struct flow_span *s, size_t n, struct err *err)
{
	const struct symbol **sym = xcalloc(n + 1, sizeof(*sym)), *all;
	uint64_t *addr = xmalloc((n + 1) * sizeof(*addr));
	size_t n_all;
	int ret = -1;

	for (size_t i = 0; i < n; i++)
		addr[i] = s[i].start;
	image_resolve(x->m.images, x->m.image, addr, n, sym);
	all = image_symbols(x->m.images, x->m.image, &n_all);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && sym[k] == sym[i]; k++)
			;
		if (!symbol_has_name(sym[i])) {
			for (size_t j = i; j < k; j++)
				x->m.counts.no_symbol += scaled_count(x, &s[j].w);
			continue;
		}
		if (add_fdo_function(x, sym[i], &s[i], k - i, fdo_end_of(sym[i], all, n_all), err))
			goto out;
	}
	ret = 0;
out:
	free((void *)sym);
	free(addr);
	return ret;
}

int fdo_of_flow(struct fdo **out, const struct flow *f, struct images *images, uint32_t image,
		struct err *err)
{
	struct flowing x = { .f = f, .scale = fdo_scale(f) };
	size_t n_all, first;
	const struct flow_span *s = flow_spans(f, &n_all);
	size_t n = flow_spans_of(f, image, 0, UINT64_MAX, &first);
	int ret = -1;

	*out = NULL;
	if (fdo_begin(&x.m, images, image, err))
		goto out;
	for (size_t i = 0; i < n_all; i++)
		if ((i < first || i >= first + n) && s[i].kind == SPACE_USER)
			x.m.counts.elsewhere += scaled_count(&x, &s[i].w);
	if (!add_fdo_spans(&x, s + first, n, err)) {
		fdo_finish(&x.m, out);
		ret = 0;
	}
out:
	free(x.count);
	free(x.line);
	free(x.diff);
	free(x.ends);
	fdo_maker_free(&x.m);
	return ret;
}

/* ---- by addresses ---------------------------------------------------------------------------- */

int fdo_of_samples(struct fdo **out, const struct profile *p, struct images *images, uint32_t image,
		   struct err *err)
{
	struct fdo_maker m = { .images = images };
	size_t n;
	const struct profile_row *r = profile_rows(p, &n);
	int ret = -1;

	*out = NULL;
	if (fdo_begin(&m, images, image, err))
		goto out;
	for (size_t i = 0; i < n; i++) {
		if (r[i].image != image) {
			if (r[i].space == SPACE_USER)
				m.counts.elsewhere += r[i].all.samples;
			continue;
		}
		if (!symbol_has_name(r[i].symbol))
			m.counts.no_symbol += r[i].all.samples;
		else if (fdo_add_insn(&m, r[i].key[0], r[i].all.samples, r[i].all.samples, NULL)) {
			(void)err_nomem(err);
			goto out;
		}
	}
	fdo_finish(&m, out);
	ret = 0;
out:
	fdo_maker_free(&m);
	return ret;
}
