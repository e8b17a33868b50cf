/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls from edges made by hand, over functions and instructions of a table: what each kind of edge
 * has to become, one at a time. The linker finds images, code and flow here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/flow/flow_int.h"
#include "symbol/code.h"

/* ---- the world ------------------------------------------------------------------------------ */

enum { PROG, LIBC, BARE, OTHER, IMAGES }; /* of BARE there is no code */
static const char *const image_names[IMAGES] = { "prog", "libc.so", "bare.so", "other.so" };

/* By image; `begins` says where an image's do. */
#define SYMBOL(shown, linked, from, length)                                             \
	{                                                                               \
		.name = (shown), .linkage = (linked), .start = (from), .size = (length) \
	}
static struct symbol symbols[] = {
	SYMBOL("main", "main", 0x100, 0x40),
	SYMBOL("f", "f", 0x140, 0x20),
	SYMBOL("g", "g", 0x160, 0x20),
	SYMBOL("rec", "rec", 0x180, 0x20),
	SYMBOL(".plt", ".plt", 0x1f0, 0x10),
	SYMBOL("puts@plt", "puts@plt", 0x200, 0x10),
	SYMBOL("memcpy@plt", "memcpy@plt", 0x210, 0x10),
	SYMBOL("f.cold", "f.cold", 0x400, 0x10),
	SYMBOL("puts", "puts", 0x1000, 0x40),
	SYMBOL("memcpy", "memcpy@@GLIBC_2.14", 0x1040, 0x40),
	SYMBOL("_dl_runtime_resolve", "_dl_runtime_resolve", 0x1100, 0x40),
	SYMBOL("a", "a", 0x10, 0x10),
	SYMBOL("b", "b", 0x20, 0x10),
	SYMBOL("memcpy", "memcpy", 0x40, 0x40),
};
static const size_t begins[IMAGES + 1] = { 0, 8, 11, 13, 14 };

/* Those that are jumped from, or stand in front of where a return leads. */
static const struct world_insn {
	uint32_t image, at;
	uint8_t len, flow;
	uint32_t target; /* 0: none */
} insns[] = {
	{ PROG, 0x100, 5, INSN_CALL, 0x140 }, /* main: call f */
	{ PROG, 0x105, 5, INSN_CALL, 0x200 }, /* call puts@plt */
	{ PROG, 0x10a, 2, INSN_CALL, 0 },     /* call *rax */
	{ PROG, 0x10c, 5, INSN_CALL, 0x111 }, /* call next, for its address */
	{ PROG, 0x111, 4, INSN_OTHER, 0 },
	{ PROG, 0x115, 5, INSN_CALL, 0x180 }, /* call rec */
	{ PROG, 0x11a, 5, INSN_CALL, 0x210 }, /* call memcpy@plt */
	{ PROG, 0x11f, 2, INSN_SYSTEM, 0 },
	{ PROG, 0x140, 2, INSN_COND, 0x400 }, /* f: jne f.cold */
	{ PROG, 0x142, 5, INSN_JUMP, 0x160 }, /* jmp g */
	{ PROG, 0x147, 2, INSN_JUMP, 0x168 }, /* jmp into g */
	{ PROG, 0x149, 1, INSN_RETURN, 0 },
	{ PROG, 0x14a, 5, INSN_JUMP, 0x200 }, /* jmp puts@plt */
	{ PROG, 0x170, 1, INSN_RETURN, 0 },   /* g */
	{ PROG, 0x180, 5, INSN_CALL, 0x180 }, /* rec: call rec */
	{ PROG, 0x185, 1, INSN_RETURN, 0 },
	{ PROG, 0x1f6, 6, INSN_JUMP, 0 },     /* .plt: to the dynamic linker */
	{ PROG, 0x200, 6, INSN_JUMP, 0 },     /* puts@plt */
	{ PROG, 0x210, 6, INSN_JUMP, 0 },     /* memcpy@plt */
	{ PROG, 0x400, 5, INSN_CALL, 0x160 }, /* f.cold: call g */
	{ PROG, 0x405, 2, INSN_JUMP, 0x142 }, /* back to f */
	{ LIBC, 0x1010, 1, INSN_RETURN, 0 },  /* puts */
	{ LIBC, 0x1050, 1, INSN_RETURN, 0 },  /* memcpy */
	{ LIBC, 0x1110, 2, INSN_JUMP, 0 },    /* the dynamic linker, when it is done */
};

static const struct symbol *symbol_at(uint32_t image, uint64_t addr)
{
	for (size_t i = begins[image]; i < begins[image + 1]; i++)
		if (addr - symbols[i].start < symbols[i].size)
			return &symbols[i];
	return NULL;
}

size_t images_count(const struct images *set)
{
	(void)set;
	return IMAGES;
}

const char *image_name(const struct images *set, uint32_t id)
{
	(void)set;
	return image_names[id];
}

void image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		   const struct symbol **out)
{
	(void)set;
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || addr[i] >= addr[i - 1]);
		out[i] = symbol_at(id, addr[i]);
	}
}

const struct symbol *image_symbols(struct images *set, uint32_t id, size_t *n)
{
	(void)set;
	*n = begins[id + 1] - begins[id];
	return &symbols[begins[id]];
}

int code_read(struct code **out, struct images *set, uint32_t image, uint64_t start, uint64_t len,
	      struct err *err)
{
	struct code *c;

	(void)set;
	if (image == BARE)
		return err_set(err, ERR_NOT_FOUND, "no such file");
	c = calloc(1, sizeof(*c));
	assert_non_null(c);
	c->insn = calloc(sizeof(insns) / sizeof(*insns), sizeof(*c->insn));
	assert_non_null(c->insn);
	c->start = start;
	c->len = len;
	for (size_t i = 0; i < sizeof(insns) / sizeof(*insns); i++)
		if (insns[i].image == image && insns[i].at - start < len)
			c->insn[c->n_insns++] =
				(struct code_insn){ .at = (uint32_t)(insns[i].at - start),
						    .len = insns[i].len,
						    .flow = insns[i].flow,
						    .has_target = insns[i].target != 0,
						    .target = insns[i].target };
	*out = c;
	return 0;
}

uint32_t code_insn_at(const struct code *c, uint64_t addr)
{
	for (uint32_t i = 0; i < c->n_insns; i++)
		if (c->start + c->insn[i].at == addr)
			return i;
	return CODE_NONE;
}

void code_free(struct code *c)
{
	if (c)
		free(c->insn);
	free(c);
}

/* ---- the flow -------------------------------------------------------------------------------- */

static struct flow flow;
static const struct pd_info info;

const struct flow_edge *flow_edges(const struct flow *f, size_t *n)
{
	*n = f->n_edges;
	return f->edge;
}

const struct pd_info *flow_info(const struct flow *f)
{
	(void)f;
	return &info;
}

const struct flow_sums *flow_sums(const struct flow *f)
{
	return &f->sums;
}

const uint32_t *flow_edges_into(const struct flow *f)
{
	return f->into;
}

size_t flow_edges_from(const struct flow *f, uint32_t image, uint64_t start, uint64_t end,
		       size_t *first)
{
	size_t n = 0;

	for (size_t i = f->n_edges; i-- > 0;)
		if (f->edge[i].from.image == image && f->edge[i].from.addr - start < end - start) {
			*first = i;
			n++;
		}
	return n;
}

static int by_from(const void *pa, const void *pb)
{
	const struct flow_edge *a = pa, *b = pb;

	if (a->from.image != b->from.image)
		return a->from.image < b->from.image ? -1 : 1;
	return a->from.addr < b->from.addr ? -1 : a->from.addr > b->from.addr;
}

static struct flow_edge *edge_full(struct flow_place from, struct flow_place to, double w)
{
	struct flow_edge *e;

	flow.edge = realloc(flow.edge, (flow.n_edges + 1) * sizeof(*flow.edge));
	assert_non_null(flow.edge);
	e = &flow.edge[flow.n_edges++];
	*e = (struct flow_edge){ .from = from, .to = to, .w = { .hits = (uint64_t)w } };
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		e->w.group[g] = w / FLOW_GROUPS;
	return e;
}

static struct flow_edge *edge(uint32_t image, uint64_t from, uint32_t image_to, uint64_t to,
			      double w)
{
	return edge_full((struct flow_place){ image, from, SPACE_USER },
			 (struct flow_place){ image_to, to, SPACE_USER }, w);
}

static struct calls built(enum flow_filter filter)
{
	struct err err = ERR_INIT;
	struct calls c;

	flow.sums.filter = filter;
	for (size_t i = 0; i < IMAGES; i++)
		for (size_t k = begins[i]; k < begins[i + 1]; k++)
			symbols[k].index = (uint32_t)(k - begins[i]);
	if (flow.n_edges)
		qsort(flow.edge, flow.n_edges, sizeof(*flow.edge), by_from);
	flow.into = calloc(flow.n_edges + 1, sizeof(*flow.into));
	assert_non_null(flow.into);
	for (size_t i = 0; i < flow.n_edges; i++)
		flow.into[i] = (uint32_t)i;
	if (calls_build(&c, &flow, NULL, &err))
		fail_msg("%s", err.what);
	return c;
}

static int end(void **state)
{
	(void)state;
	free(flow.edge);
	free(flow.into);
	flow = (struct flow){ 0 };
	return 0;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static bool is(const struct call_function *f, uint32_t image, const char *name)
{
	return f->image == image &&
	       (name ? f->symbol && !strcmp(f->symbol->name, name) : !f->symbol);
}

static const struct call_edge *find(const struct calls *c, const char *caller, uint32_t image,
				    const char *callee, bool tail)
{
	for (size_t i = 0; i < c->n_edges; i++) {
		const struct call_edge *e = &c->edge[i];

		if (e->tail == tail && is(&c->f[e->caller], PROG, caller) &&
		    is(&c->f[e->callee], image, callee))
			return e;
	}
	return NULL;
}

static const struct call_edge *need(const struct calls *c, const char *caller, uint32_t image,
				    const char *callee, bool tail, double runs)
{
	const struct call_edge *e = find(c, caller, image, callee, tail);

	if (!e)
		fail_msg("no %s from %s to %s", tail ? "tail call" : "call", caller, callee);
	assert_true(fabs(e->runs.v - runs) < 1e-9);
	return e;
}

/* Lists and sums agree with each other. */
static void check_whole(const struct calls *c)
{
	double all = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct call_function *f = &c->f[i];
		double called = 0, tailed = 0, made = 0, self = 0;

		for (uint32_t k = 0; k < f->n_callers; k++) {
			const struct call_edge *e = &c->edge[c->by_callee[f->first_caller + k]];

			assert_int_equal(e->callee, i);
			*(e->tail ? &tailed : &called) += e->runs.v;
			self += e->caller == i ? e->runs.v : 0;
		}
		for (uint32_t k = 0; k < f->n_callees; k++) {
			const struct call_edge *e = &c->edge[f->first_callee + k];

			assert_int_equal(e->caller, i);
			made += e->tail ? 0 : e->runs.v;
		}
		assert_true(fabs(called - f->called.v) < 1e-9 && fabs(made - f->calls.v) < 1e-9);
		assert_true(fabs(tailed - f->tailed.v) < 1e-9 &&
			    fabs(self - f->recursive.v) < 1e-9);
		assert_true(!i || c->f[i - 1].called.v + c->f[i - 1].tailed.v >= called + tailed);
		all += called;
	}
	assert_true(fabs(all - c->runs.v) < 1e-9);
}

/* ---- returns --------------------------------------------------------------------------------- */

static void test_returns(void **state)
{
	struct calls c;
	const struct call_edge *e;
	struct flow_edge *from;

	(void)state;
	from = edge(PROG, 0x149, PROG, 0x105, 32); /* f returned behind main's call of f */
	from->tally.mispredicted = 3;
	from->tally.predicted = 29;
	edge(LIBC, 0x1010, PROG, 0x10a, 64); /* puts, through its stub */
	edge(PROG, 0x170, PROG, 0x10c, 16);  /* g, behind the indirect call */
	edge(PROG, 0x185, PROG, 0x185, 48);  /* rec behind its own call */
	edge(PROG, 0x185, PROG, 0x11a, 8);   /* rec behind main's */
	edge(PROG, 0x149, PROG, 0x115, 5);   /* behind no call */
	edge(PROG, 0x149, PROG, 0x108, 2);   /* into the middle of one */
	c = built(FLOW_RETURNS);
	assert_true(c.by_returns && c.scaled);
	e = need(&c, "main", PROG, "f", false, 32);
	assert_int_equal(e->tally.mispredicted, 3);
	assert_true(!e->plt && !e->indirect && e->sites == 1 && e->hits == 32);
	e = need(&c, "main", LIBC, "puts", false, 64);
	assert_true(e->plt && !e->indirect);
	e = need(&c, "main", PROG, "g", false, 16);
	assert_int_equal(e->indirect, 16);
	need(&c, "rec", PROG, "rec", false, 48);
	need(&c, "main", PROG, "rec", false, 8);
	assert_int_equal(c.n_edges, 5);
	assert_int_equal(c.strange, 5 + 2);
	assert_true(is(&c.f[0], LIBC, "puts"));
	check_whole(&c);
	calls_free(&c);
}

/* The call names f, and g returned: f was called, and left for g. */
static void test_return_after_tail_call(void **state)
{
	struct calls c;

	(void)state;
	edge(PROG, 0x149, PROG, 0x105, 10);
	edge(PROG, 0x170, PROG, 0x105, 30);
	c = built(FLOW_RETURNS);
	need(&c, "main", PROG, "f", false, 40);
	need(&c, "f", PROG, "g", true, 30);
	assert_int_equal(c.n_edges, 2);
	assert_int_equal(need(&c, "main", PROG, "f", false, 40)->sites, 1);
	check_whole(&c);
	calls_free(&c);
}

static void test_what_is_missing(void **state)
{
	struct calls c;

	(void)state;
	edge(BARE, 0x28, BARE, 0x18, 7);	  /* no code: believed, and said */
	edge(PROG, 0x149, LIBC, 0x5000, 9);	  /* to where no symbol is */
	edge(IMAGE_NONE, 0x9999, PROG, 0x105, 4); /* from no mapping */
	edge_full((struct flow_place){ IMAGE_NONE, 0x7777, SPACE_KERNEL },
		  (struct flow_place){ PROG, 0x121, SPACE_USER }, 11);
	c = built(FLOW_RETURNS);
	assert_int_equal(c.no_code, 7 + 9);
	assert_int_equal(c.kernel, 11);
	assert_int_equal(c.no_symbol, 9); /* who main called is told by the call */
	assert_int_equal(c.hits, 20);
	need(&c, "main", PROG, "f", false, 4);
	check_whole(&c);
	calls_free(&c);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct calls c;
	const struct call_edge *e;

	(void)state;
	edge(PROG, 0x100, PROG, 0x140, 100); /* f */
	edge(PROG, 0x10a, PROG, 0x160, 16);  /* g by register */
	edge(PROG, 0x10a, PROG, 0x140, 4);   /* f by register */
	edge(PROG, 0x10c, PROG, 0x111, 6);   /* for its own address */
	edge(PROG, 0x180, PROG, 0x180, 48);
	edge(PROG, 0x140, PROG, 0x400, 12); /* f to f.cold: a part of it */
	edge(PROG, 0x400, PROG, 0x160, 12); /* f.cold calls g: f does */
	edge(PROG, 0x405, PROG, 0x142, 12);
	edge(PROG, 0x142, PROG, 0x160, 20); /* f tail-calls g */
	edge(PROG, 0x147, PROG, 0x168, 3);  /* a jump into g is none */
	edge(PROG, 0x149, PROG, 0x105, 99); /* returns are only counted */
	edge_full((struct flow_place){ PROG, 0x11f, SPACE_USER },
		  (struct flow_place){ IMAGE_NONE, 0xffff8000, SPACE_KERNEL }, 13);
	c = built(FLOW_ANY);
	assert_false(c.by_returns);
	e = need(&c, "main", PROG, "f", false, 104);
	assert_int_equal(e->sites, 2);
	assert_int_equal(e->indirect, 4);
	need(&c, "main", PROG, "g", false, 16);
	need(&c, "rec", PROG, "rec", false, 48);
	need(&c, "f", PROG, "g", false, 12);
	need(&c, "f", PROG, "g", true, 20);
	assert_int_equal(c.n_edges, 5);
	assert_int_equal(c.strange, 6);
	assert_int_equal(c.kernel, 13);
	assert_int_equal(c.other, 12 + 12 + 3);
	assert_int_equal(c.hits_returns, 99);
	check_whole(&c);
	calls_free(&c);
}

static void test_plt(void **state)
{
	struct calls c;

	(void)state;
	edge(PROG, 0x105, PROG, 0x200, 50); /* main calls puts@plt */
	edge(PROG, 0x14a, PROG, 0x200, 5);  /* f tail-calls it */
	edge(PROG, 0x200, PROG, 0x1f0, 1);  /* the first time by the dynamic linker */
	edge(PROG, 0x1f6, LIBC, 0x1100, 1);
	edge(LIBC, 0x1110, LIBC, 0x1000, 1);
	edge(PROG, 0x200, LIBC, 0x1000, 49);
	c = built(FLOW_ANY);
	assert_true(need(&c, "main", LIBC, "puts", false, 50)->plt);
	need(&c, "f", LIBC, "puts", true, 5);
	assert_int_equal(c.n_edges, 2);
	assert_int_equal(c.lost_plt, 0);
	check_whole(&c);
	calls_free(&c);
}

/* One stub, two processes, two libraries. */
static void test_plt_to_two_places(void **state)
{
	struct calls c;

	(void)state;
	edge(PROG, 0x11a, PROG, 0x210, 50);
	edge(PROG, 0x210, LIBC, 0x1040, 30);
	edge(PROG, 0x210, OTHER, 0x40, 20);
	c = built(FLOW_ANY);
	need(&c, "main", PROG, "memcpy@plt", false, 50);
	assert_int_equal(c.lost_plt, 50);
	calls_free(&c);
}

/* Without jumps the name tells, where only one function has it. */
static void test_plt_by_name(void **state)
{
	struct calls c;

	(void)state;
	edge(PROG, 0x105, PROG, 0x200, 50);
	edge(PROG, 0x11a, PROG, 0x210, 40);
	edge(LIBC, 0x1008, LIBC, 0x1040, 1); /* so that its names are looked at */
	edge(LIBC, 0x1008, OTHER, 0x40, 1);
	c = built(FLOW_CALLS);
	assert_true(need(&c, "main", LIBC, "puts", false, 50)->plt);
	need(&c, "main", PROG, "memcpy@plt", false, 40);
	assert_int_equal(c.lost_plt, 40);
	calls_free(&c);
}

static void test_without_code(void **state)
{
	struct calls c;

	(void)state;
	edge(BARE, 0x18, BARE, 0x20, 7);	   /* to the start of b: taken for a call */
	edge(BARE, 0x19, BARE, 0x24, 2);	   /* into it: nobody knows */
	edge(BARE, 0x1a, BARE, 0x20, 5)->type = 4; /* said to be one */
	edge(BARE, 0x1b, BARE, 0x20, 3)->type = 2; /* said to be a jump */
	edge(BARE, 0x28, BARE, 0x18, 6)->type = 6; /* and a return */
	c = built(FLOW_ANY);
	assert_int_equal(c.guessed, 7);
	assert_int_equal(c.hits, 12);
	assert_int_equal(c.n_edges, 2); /* the jump is a tail call */
	assert_int_equal(c.unknown, 2);
	assert_int_equal(c.hits_returns, 6);
	check_whole(&c);
	calls_free(&c);
}

/* ---- figures and names ----------------------------------------------------------------------- */

static void test_errors(void **state)
{
	struct flow_edge *e;
	struct calls c;

	(void)state;
	e = edge(PROG, 0x100, PROG, 0x140, 160);
	e->w.group[0] = 20; /* 150 in the other fifteen */
	c = built(FLOW_ANY);
	assert_true(fabs(c.runs.v - 170) < 1e-9);
	/* by hand: mean 10.625, deviations 9.375 once and -0.625 fifteen times; sum of squares
	 * 93.75; sqrt(93.75 * 16 / 15) times t of 15 degrees, 2.13145 */
	assert_true(fabs(c.edge[0].runs.half - 21.31450) < 1e-4);
	assert_true(fabs(c.f[0].called.half - 21.31450) < 1e-4);
	calls_free(&c);
}

static void test_find(void **state)
{
	static const struct {
		const char *name;
		size_t n;
	} rows[] = {
		{ "g", 1 },
		{ "prog:g", 1 },
		{ "libc.so:g", 0 },
		{ "memcpy", 2 },
		{ "other.so:memcpy", 1 },
		{ "memcpy@0x40", 1 },
		{ "mem*", 2 },
		{ "emcp", 2 },
		{ "nothing", 0 },
	};
	struct err err = ERR_INIT;
	struct calls c;

	(void)state;
	edge(PROG, 0x10a, PROG, 0x160, 3);
	edge(PROG, 0x10a, LIBC, 0x1040, 2);
	edge(PROG, 0x10a, OTHER, 0x40, 1);
	c = built(FLOW_ANY);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct calls_found found = { VEC_INIT };
		int rc = calls_find(&c, NULL, rows[i].name, &found, &err);

		if (found.v.n != rows[i].n)
			fail_msg("%s: %zu", rows[i].name, found.v.n);
		assert_int_equal(rc, rows[i].n ? 0 : -1);
		assert_int_equal(err.code, rows[i].n ? ERR_NONE : ERR_NOT_FOUND);
		err_clear(&err);
		vec_free(&found.v);
	}
	assert_ptr_equal(&symbols[2], c.f[0].symbol);
	calls_free(&c);
}

static void test_refused(void **state)
{
	struct err err = ERR_INIT;
	struct calls c;

	(void)state;
	flow.sums.filter = FLOW_STACK;
	assert_int_equal(calls_build(&c, &flow, NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.hint, "record -b"));
}

static void test_nothing(void **state)
{
	struct calls c;

	(void)state;
	c = built(FLOW_ANY);
	assert_int_equal(c.n + c.n_edges, 0);
	calls_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_returns, end),
		cmocka_unit_test_teardown(test_return_after_tail_call, end),
		cmocka_unit_test_teardown(test_what_is_missing, end),
		cmocka_unit_test_teardown(test_calls, end),
		cmocka_unit_test_teardown(test_plt, end),
		cmocka_unit_test_teardown(test_plt_to_two_places, end),
		cmocka_unit_test_teardown(test_plt_by_name, end),
		cmocka_unit_test_teardown(test_without_code, end),
		cmocka_unit_test_teardown(test_errors, end),
		cmocka_unit_test_teardown(test_find, end),
		cmocka_unit_test_teardown(test_refused, end),
		cmocka_unit_test_teardown(test_nothing, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
