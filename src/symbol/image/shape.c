/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/shape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbol/disasm.h"
#include "symbol/source.h"

enum { LEAST_ADDRESS = 0x1000, LONGEST = 1 << 20 };

struct reading {
	struct arena *a;
	struct images *set;
	uint32_t image;
	const struct symbol *symbol;
	uint64_t from, len; /* virtual addresses */
	uint64_t before;    /* the mnemonic's hash */
	struct shape *out;
	VEC(uint64_t) pair;
	VEC(const char *) callee;
};

static size_t mnemonic_len(const char *text)
{
	return strcspn(text, " \t");
}

/* The instruction without addresses: large numbers, and those before (%rip). */
static uint64_t hash_insn(const struct insn *in)
{
	char text[sizeof(in->text)];
	size_t n = 0;

	if (in->has_target)
		return hash_bytes(in->text, mnemonic_len(in->text));
	for (const char *p = in->text; *p && strncmp(p, "  #", 3);) {
		char *end = NULL;
		bool number = !strncmp(p, "0x", 2) && isxdigit((unsigned char)p[2]);
		uint64_t v = number ? strtoull(p, &end, 16) : 0;

		if (number && (v >= LEAST_ADDRESS || !strncmp(end, "(%rip)", 6)))
			p = end;
		else
			text[n++] = *p++;
	}
	return hash_bytes(text, n);
}

/* Where a call, or a jump that leaves the function, leads to. */
static void add_callee(struct reading *r, uint64_t vaddr)
{
	const struct symbol *s = NULL;
	uint64_t at;

	if (vaddr >= r->from && vaddr < r->from + r->len)
		return;
	if (!image_from_vaddr(r->set, r->image, vaddr, &at))
		return;
	image_resolve(r->set, r->image, &at, 1, &s);
	if (!s || s->nameless || s->start != at)
		return;
	vec_each (&r->callee, const char **, had)
		if (!strcmp(*had, s->name))
			return;
	vec_xpush(&r->callee, s->name);
}

static int add_insn(void *ctx, const struct insn *in)
{
	struct reading *r = ctx;
	uint64_t kind = hash_bytes(in->text, mnemonic_len(in->text));

	if (!strncmp(in->text, "nop", 3) || !strncmp(in->text, "int3", 4) ||
	    !strncmp(in->text, "endbr", 5) || !strcmp(in->text, "xchg %ax, %ax"))
		return 0;
	r->out->insns++;
	r->out->code = hash_pair(r->out->code, hash_insn(in));
	vec_xpush(&r->pair, hash_pair(r->before, kind));
	r->before = kind;
	if (in->has_target)
		add_callee(r, in->target);
	return 0;
}

static int pair_by_number(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

void shape_sort(uint64_t *pair, size_t n)
{
	if (n > 1)
		qsort(pair, n, sizeof(*pair), pair_by_number);
}

void shape_read(struct shape *out, struct arena *a, struct images *set, uint32_t image,
		const struct symbol *s)
{
	struct err why = ERR_INIT; /* no code then */
	struct reading r = { .a = a,
			     .set = set,
			     .image = image,
			     .symbol = s,
			     .len = s->size < LONGEST ? s->size : LONGEST,
			     .out = out };
	const struct source *src;
	const char *file;

	*out = (struct shape){ 0 };
	if (!image_to_vaddr(set, image, s->start, &r.from))
		return;
	if (disasm_range(set, image, r.from, r.len, add_insn, &r, &why))
		*out = (struct shape){ 0 };
	if (out->insns) {
		out->n_pairs = r.pair.n;
		out->n_callees = r.callee.n;
		shape_sort(r.pair.v, r.pair.n);
		out->pair = arena_xmemdup(a, r.pair.v, r.pair.n * sizeof(*r.pair.v));
		out->callee = arena_xalloc(a, (r.callee.n + 1) * sizeof(*r.callee.v));
		for (size_t i = 0; i < r.callee.n; i++)
			out->callee[i] = r.callee.v[i];
		src = source_of(set, image, NULL);
		file = src ? source_line(src, r.from).file : NULL;
		out->file = file ? arena_xstrdup(a, path_base(file)) : NULL;
	}
	vec_free(&r.pair);
	vec_free(&r.callee);
}

/* ---- likeness -------------------------------------------------------------------------------- */

double shape_alike(const struct shape *a, const struct shape *b)
{
	size_t i = 0, k = 0, both = 0;

	if (!a->insns || !b->insns)
		return 0;
	if (a->insns == b->insns && a->code == b->code)
		return 1;
	while (i < a->n_pairs && k < b->n_pairs) {
		both += a->pair[i] == b->pair[k];
		if (a->pair[i] == b->pair[k])
			i++, k++;
		else if (a->pair[i] < b->pair[k])
			i++;
		else
			k++;
	}
	/* not 1: operands differ, or the order does */
	return 0.99 * 2 * (double)both / (double)(a->n_pairs + b->n_pairs);
}

/* How many of the sorted pairs from *at on are `pair`; moves *at behind them. */
static size_t count_pair(const struct shape *s, size_t *at, uint64_t pair)
{
	size_t n = 0;

	while (s && *at < s->n_pairs && s->pair[*at] <= pair)
		n += s->pair[(*at)++] == pair;
	return n;
}

double shape_holds(const struct shape *whole, const struct shape *less, const struct shape *part)
{
	size_t in_whole = 0, in_less = 0, held = 0;

	for (size_t i = 0; i < part->n_pairs;) {
		uint64_t pair = part->pair[i];
		size_t want = count_pair(part, &i, pair);
		size_t has = count_pair(whole, &in_whole, pair),
		       gone = count_pair(less, &in_less, pair);

		has = has > gone ? has - gone : 0;
		held += has < want ? has : want;
	}
	return part->n_pairs ? (double)held / (double)part->n_pairs : 0;
}

bool shape_calls(const struct shape *s, const char *name)
{
	for (size_t i = 0; i < s->n_callees; i++)
		if (!strcmp(s->callee[i], name))
			return true;
	return false;
}
