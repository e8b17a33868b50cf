/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans over code assembled by hand: blocks, edges and loops against a plain count, one execution
 * of one instruction at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../skip.h"
#include "analyse/flow/blocks_int.h"
#include "analyse/flow/flow_int.h"
#include "config.h"

#define BASE 0x1000u

/* A loop within a loop, a call, and a way out that is cold:
 *
 *	 0	xor eax, eax
 *	 2 a:	inc eax			outer head
 *	 4	nop
 *	 5 b:	inc ecx			inner head
 *	 7	jne d			forward, over the call
 *	 9	call (far away)
 *	14 d:	dec ecx
 *	16	jne b			inner back
 *	18	je f			out
 *	20	jmp a			outer back
 *	22 f:	ret
 *	23	(next function)
 */
static const uint8_t code[] = {
	0x31, 0xc0,		      /* 0 */
	0xff, 0xc0,		      /* 2 */
	0x90,			      /* 4 */
	0xff, 0xc1,		      /* 5 */
	0x75, 0x05,		      /* 7: jne 14 */
	0xe8, 0xf3, 0x0f, 0x00, 0x00, /* 9: call 0x1001 beyond */
	0xff, 0xc9,		      /* 14 */
	0x75, 0xf3,		      /* 16: jne 5 */
	0x74, 0x02,		      /* 18: je 22 */
	0xeb, 0xec,		      /* 20: jmp 2 */
	0xc3,			      /* 22 */
};
static const uint32_t starts[] = { 0, 2, 5, 9, 14, 18, 20, 22 };
enum { N_BLOCKS = sizeof(starts) / sizeof(*starts) };

static const struct symbol symbol = {
	.name = "f", .linkage = "f", .start = BASE, .size = sizeof(code)
};

static struct code *taken_apart(void)
{
	struct err err = ERR_INIT;
	struct code *c;

	if (!HAVE_ZYDIS)
		SKIP_BECAUSE("no decoder in this build");
	assert_int_equal(code_bytes(&c, EM_X86_64, code, sizeof(code), BASE, &err), 0);
	assert_int_equal(c->n_blocks, N_BLOCKS);
	for (size_t i = 0; i < N_BLOCKS; i++)
		assert_int_equal(c->block[i].start, starts[i]);
	return c;
}

struct made {
	struct flow f;
	size_t cap_edges, cap_spans;
};

/* Bound of blocks that no stack has. */
static const struct flow_value unseen_60 = { .v = 0, .half = 60 };

static struct flow_weight weight(unsigned group, double w)
{
	struct flow_weight x = { .hits = 1 };

	x.group[group % FLOW_GROUPS] = w;
	return x;
}

static void add_weight(struct flow_weight *to, const struct flow_weight *w)
{
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		to->group[g] += w->group[g];
	to->hits += w->hits;
}

static void add_edge(struct made *m, uint64_t from, uint64_t to, const struct flow_weight *w)
{
	struct flow_edge *e;

	for (size_t i = 0; i < m->f.n_edges; i++) {
		e = &m->f.edge[i];
		if (e->from.addr == from && e->to.addr == to) {
			add_weight(&e->w, w);
			return;
		}
	}
	m->f.edge = realloc(m->f.edge, (m->f.n_edges + 1) * sizeof(*m->f.edge));
	assert_non_null(m->f.edge);
	e = &m->f.edge[m->f.n_edges++];
	*e = (struct flow_edge){ .from = { 0, from, SPACE_USER },
				 .to = { 0, to, SPACE_USER },
				 .w = *w };
}

static void add_span(struct made *m, uint64_t start, uint64_t end, const struct flow_weight *w)
{
	struct flow_span *s;

	for (size_t i = 0; i < m->f.n_spans; i++) {
		s = &m->f.span[i];
		if (s->start == start && s->end == end) {
			add_weight(&s->w, w);
			return;
		}
	}
	m->f.span = realloc(m->f.span, (m->f.n_spans + 1) * sizeof(*m->f.span));
	assert_non_null(m->f.span);
	s = &m->f.span[m->f.n_spans++];
	*s = (struct flow_span){
		.kind = SPACE_USER, .start = start, .end = end, .w = *w, .times = FLOW_NO_TIMES
	};
}

static void made_free(struct made *m)
{
	free(m->f.edge);
	free(m->f.span);
	free(m->f.into);
	free(m->f.times);
}

/* ---- a program that ran ------------------------------------------------------------------- */

/* What really ran, by instruction, edge and block; each taken branch is recorded as a stack of all
 * would have it. */
struct run {
	struct made m;
	double insn[64], group[64][FLOW_GROUPS];
	uint64_t at; /* where the last taken branch led */
	unsigned n;  /* taken branches so far */
	double outer, inner, entered_inner;
};

static void taken(struct run *r, uint64_t from, uint64_t to)
{
	const unsigned g = r->n % FLOW_GROUPS;
	const double w_ = 1 + r->n % 7;
	struct flow_weight w = weight(g, w_);

	if (r->at && r->at - BASE < sizeof(code)) {
		add_span(&r->m, r->at, from, &w);
		for (uint64_t a = r->at; a <= from; a++) {
			r->insn[a - BASE] += w_;
			r->group[a - BASE][g] += w_;
		}
	}
	add_edge(&r->m, from, to, &w);
	r->at = to;
	r->n++;
}

/* One call of the function: `rounds` of the outer loop, each with `inner` of the inner one. */
static void call(struct run *r, unsigned rounds, unsigned inner, unsigned seed)
{
	taken(r, 0x9000, BASE);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned k = 0; k < inner; k++) {
			if ((seed = seed * 1103515245 + 12345) >> 16 & 1) {
				taken(r, BASE + 7, BASE + 14);
			} else {
				taken(r, BASE + 9, 0x3001);
				taken(r, 0x3010, BASE + 14);
			}
			if (k + 1 < inner)
				taken(r, BASE + 16, BASE + 5);
		}
		if (i + 1 < rounds)
			taken(r, BASE + 20, BASE + 2);
	}
	taken(r, BASE + 18, BASE + 22);
	taken(r, BASE + 22, 0x9005);
}

static void count(const struct flow *f, struct block_part **out)
{
	struct err err = ERR_INIT;
	struct block_part *p;
	size_t n;
	const struct flow_span *s = flow_spans(f, &n);

	assert_int_equal(block_part_open(&p, taken_apart(), f, 0, &symbol, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct block_range r;

		assert_int_equal(block_part_span(p, s[i].start, s[i].end, &r), BLOCK_DROPS);
		assert_false(r.past);
		block_part_count(p, &r, false, &s[i].w);
	}
	assert_int_equal(block_part_close(p, f, &err), 0);
	assert_int_equal(block_find_loops(&p->f, &err), 0);
	*out = p;
}

static double total(const double g[FLOW_GROUPS])
{
	double sum = 0;

	for (unsigned i = 0; i < FLOW_GROUPS; i++)
		sum += g[i];
	return sum;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

static void test_counts(void **state)
{
	struct run r = { .n = 0 };
	struct block_part *p;
	struct err err = ERR_INIT;
	double insns = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		call(&r, 1 + i % 5, 1 + i % 11, i);
	assert_int_equal(flow_sort(&r.m.f, &err), 0);
	count(&r.m.f, &p);
	assert_int_equal(p->f.code->n_blocks, N_BLOCKS);
	for (size_t b = 0; b < N_BLOCKS; b++) {
		const struct code_block *c = &p->f.code->block[b];

		for (uint32_t i = c->insn; i < c->insn + c->n; i++) {
			assert_true(
				near(total(p->f.block[b].group), r.insn[p->f.code->insn[i].at]));
			insns += r.insn[p->f.code->insn[i].at];
		}
		for (unsigned g = 0; g < FLOW_GROUPS; g++)
			assert_true(near(p->f.block[b].group[g], r.group[starts[b]][g]));
	}
	assert_true(near(total(p->f.group_insns), insns));
	/* the edge and the return block are there, whole */
	assert_int_equal(p->f.block[0].hits, 200);
	assert_int_equal(p->f.block[N_BLOCKS - 1].hits, 200);
	block_scale(&p->f, 2, 0, unseen_60);
	assert_true(near(p->f.insns.v, 2 * insns));
	assert_true(near(p->f.block[2].runs.v, 2 * r.insn[5]));
	assert_true(near(p->f.calls.v, total(p->f.group_calls)));
	block_part_free(p);
	made_free(&r.m);
}

static const struct block_edge *edge_of(const struct block_function *f, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < f->n_edges; i++)
		if (f->edge[i].from == from && f->edge[i].to == to)
			return &f->edge[i];
	return NULL;
}

/* All weights alike: what comes in is what goes out, exactly, for every block. */
static void test_in_is_out(void **state)
{
	struct run r = { .n = 0 };
	struct block_part *p;
	struct err err = ERR_INIT;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		call(&r, 1 + i % 3, 1 + i % 4, i);
	for (size_t i = 0; i < r.m.f.n_edges; i++)
		for (unsigned g = 0; g < FLOW_GROUPS; g++)
			r.m.f.edge[i].w.group[g] = (double)r.m.f.edge[i].w.hits / FLOW_GROUPS;
	for (size_t i = 0; i < r.m.f.n_spans; i++)
		for (unsigned g = 0; g < FLOW_GROUPS; g++)
			r.m.f.span[i].w.group[g] = (double)r.m.f.span[i].w.hits / FLOW_GROUPS;
	assert_int_equal(flow_sort(&r.m.f, &err), 0);
	count(&r.m.f, &p);
	block_scale(&p->f, 1, 0, unseen_60);
	for (size_t b = 0; b < N_BLOCKS; b++) {
		assert_true(near(p->f.block[b].runs.v, (double)p->f.block[b].hits));
		assert_true(near(p->f.block[b].flow_in, p->f.block[b].runs.v));
		assert_true(near(p->f.block[b].flow_out, p->f.block[b].runs.v));
	}
	assert_true(edge_of(&p->f, 0, 1)->fallthrough);
	assert_int_equal(edge_of(&p->f, 0, 1)->hits, 64);
	assert_false(edge_of(&p->f, 6, 1)->fallthrough);
	assert_int_equal(edge_of(&p->f, 6, 1)->other.image, IMAGE_NONE);
	assert_null(edge_of(&p->f, 3, 4)); /* a call does not fall through */
	assert_int_equal(edge_of(&p->f, 3, CODE_NONE)->other.addr, 0x3001);
	assert_int_equal(edge_of(&p->f, CODE_NONE, 4)->other.addr, 0x3010);
	assert_true(near(p->f.calls.v, 64));
	block_part_free(p);
	made_free(&r.m);
}

static void test_loops(void **state)
{
	struct run r = { .n = 0 };
	struct block_part *p;
	struct err err = ERR_INIT;

	(void)state;
	for (unsigned i = 0; i < 320; i++)
		call(&r, 3, 5, i);
	assert_int_equal(flow_sort(&r.m.f, &err), 0);
	for (size_t i = 0; i < r.m.f.n_edges; i++)
		for (unsigned g = 0; g < FLOW_GROUPS; g++)
			r.m.f.edge[i].w.group[g] = (double)r.m.f.edge[i].w.hits / FLOW_GROUPS;
	for (size_t i = 0; i < r.m.f.n_spans; i++)
		for (unsigned g = 0; g < FLOW_GROUPS; g++)
			r.m.f.span[i].w.group[g] = (double)r.m.f.span[i].w.hits / FLOW_GROUPS;
	count(&r.m.f, &p);
	block_scale(&p->f, 1, 0, unseen_60);
	assert_int_equal(p->f.n_loops, 2);
	assert_int_equal(p->f.irreducible, 0);
	assert_int_equal(p->f.loop[0].head, 1);
	assert_int_equal(p->f.loop[0].depth, 1);
	assert_int_equal(p->f.loop[0].parent, CODE_NONE);
	assert_int_equal(p->f.loop[0].blocks, 6); /* all but the first and the last */
	assert_int_equal(p->f.loop[1].head, 2);
	assert_int_equal(p->f.loop[1].depth, 2);
	assert_int_equal(p->f.loop[1].parent, 0);
	assert_int_equal(p->f.loop[1].blocks, 3);
	assert_true(near(p->f.loop[0].entries.v, 320));
	assert_true(near(p->f.loop[0].trips.v, 3));
	assert_true(near(p->f.loop[1].entries.v, 3 * 320));
	assert_true(near(p->f.loop[1].trips.v, 5));
	assert_true(block_in_loop(&p->f, 3, 1) && block_in_loop(&p->f, 3, 0));
	assert_true(!block_in_loop(&p->f, 6, 1) && block_in_loop(&p->f, 6, 0));
	assert_false(block_in_loop(&p->f, 7, 0));
	block_part_free(p);
	made_free(&r.m);
}

/* What the code does not allow. */
static void test_drops(void **state)
{
	static const struct {
		uint32_t start, end;
		enum block_drop drop;
	} rows[] = {
		{ 0, 7, BLOCK_DROPS },		{ 0, 9, BLOCK_DROPS },
		{ 0, 22, BLOCK_ALWAYS_TAKEN }, /* through the call */
		{ 14, 20, BLOCK_DROPS },	{ 14, 22, BLOCK_ALWAYS_TAKEN },
		{ 3, 7, BLOCK_NOT_AN_INSN },	{ 2, 8, BLOCK_NOT_AN_INSN },
		{ 2, 5, BLOCK_NOT_A_BRANCH },	{ 0, 0, BLOCK_NOT_A_BRANCH },
		{ 4, 7, BLOCK_DROPS }, /* from where an interrupt came back to */
		{ 14, 23, BLOCK_ALWAYS_TAKEN }, { 22, 22, BLOCK_DROPS },
		{ 14, 18, BLOCK_DROPS },
	};
	struct flow none = { .n_edges = 0 };
	struct block_part *p;
	struct block_range r;
	struct err err = ERR_INIT;

	(void)state;
	none.into = calloc(1, sizeof(*none.into));
	assert_int_equal(block_part_open(&p, taken_apart(), &none, 0, &symbol, &err), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(block_part_span(p, BASE + rows[i].start, BASE + rows[i].end, &r),
				 rows[i].drop);
	block_part_free(p);
	free(none.into);
}

/* Two functions, the first of which runs on into the second. */
static void test_run_on(void **state)
{
	struct made m = { .cap_edges = 0 };
	struct block_part *p;
	struct block_range r;
	struct err err = ERR_INIT;
	const struct flow_weight w = weight(3, 10);
	struct code *c;

	(void)state;
	add_edge(&m, 0x9000, BASE, &w);
	assert_int_equal(flow_sort(&m.f, &err), 0);
	/* xor, nop: no way out of it but on */
	if (!HAVE_ZYDIS)
		SKIP_BECAUSE("no decoder in this build");
	assert_int_equal(code_bytes(&c, EM_X86_64, code, 5, BASE, &err), 0);
	assert_int_equal(block_part_open(&p, c, &m.f, 0, &symbol, &err), 0);
	assert_int_equal(block_part_span(p, BASE, BASE + 7, &r), BLOCK_DROPS);
	assert_true(r.past);
	block_part_count(p, &r, false, &w);
	block_part_count(p, &r, true, &w); /* and one that came from the function in front */
	p->in_from = BASE - 1;
	assert_int_equal(block_part_close(p, &m.f, &err), 0);
	block_scale(&p->f, 1, 0, unseen_60);
	assert_true(near(p->f.block[0].runs.v, 20));
	assert_true(near(p->f.block[0].flow_in, 20));
	assert_true(near(p->f.block[0].flow_out, 20));
	assert_true(near(p->f.calls.v, 20));
	assert_int_equal(edge_of(&p->f, 0, CODE_NONE)->other.addr, BASE + 5);
	assert_true(edge_of(&p->f, 0, CODE_NONE)->fallthrough);
	block_part_free(p);
	made_free(&m);
}

/* A loop with two ways in is none; its jump back is told. */
static void test_irreducible(void **state)
{
	/* 0 je 4; 2 nop; 3 nop; 4 nop; 5 jne 3; 7 ret: 3 is entered from 2 and from 5, 4 from 0 */
	static const uint8_t two_ways[] = { 0x74, 0x02, 0x90, 0x90, 0x90, 0x75, 0xfc, 0xc3 };
	struct made m = { .cap_edges = 0 };
	const struct flow_weight w = weight(1, 1);
	struct block_part *p;
	struct block_range r;
	struct err err = ERR_INIT;
	struct code *c;

	(void)state;
	add_edge(&m, BASE, BASE + 4, &w);
	add_edge(&m, BASE + 5, BASE + 3, &w);
	add_edge(&m, 0x9000, BASE, &w);
	assert_int_equal(flow_sort(&m.f, &err), 0);
	if (!HAVE_ZYDIS)
		SKIP_BECAUSE("no decoder in this build");
	assert_int_equal(code_bytes(&c, EM_X86_64, two_ways, sizeof(two_ways), BASE, &err), 0);
	assert_int_equal(block_part_open(&p, c, &m.f, 0, &symbol, &err), 0);
	assert_int_equal(block_part_span(p, BASE, BASE, &r), BLOCK_DROPS);
	block_part_count(p, &r, false, &w);
	assert_int_equal(block_part_span(p, BASE + 3, BASE + 5, &r), BLOCK_DROPS);
	block_part_count(p, &r, false, &w);
	assert_int_equal(block_part_close(p, &m.f, &err), 0);
	assert_int_equal(block_find_loops(&p->f, &err), 0);
	assert_int_equal(p->f.n_loops, 0);
	assert_int_equal(p->f.irreducible, 1);
	block_part_free(p);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts), cmocka_unit_test(test_in_is_out),
		cmocka_unit_test(test_loops),  cmocka_unit_test(test_drops),
		cmocka_unit_test(test_run_on), cmocka_unit_test(test_irreducible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
