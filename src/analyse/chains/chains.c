/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chains - which loops, their paths decoded, and all that is found out about them.
 */
#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chains/chains_int.h"
#include "base/estimate.h"
#include "base/invariant.h"
#include "base/xalloc.h"
#include "symbol/source.h"

#define NO_BOUNDS               \
	((struct chain_bounds){ \
		.chain = { NAN, NAN }, .ports = NAN, .issue = NAN, .taken = NAN, .slots = NAN })

/* Only needed while chains are made. */
struct making {
	struct chains *c;
	struct images *images;
	struct err *err;
	struct insn_decoder *decoder; /* of x86-64; NULL until it is needed */
	unsigned machine;
	struct chain_loop *l;
	/* the path at hand */
	struct chain_path *p;
	struct chain_code *code;
	size_t cap;
	uint32_t block;
	const struct source *source;
	const char *leaves; /* an instruction that is not modelled */
};

/* ---- which loops ----------------------------------------------------------------------------- */

static double insns_of(const struct chain_loop *l)
{
	const struct code *code = l->f->code;
	double sum = 0;

	for (size_t b = 0; b < code->n_blocks; b++)
		if (l->f->block[b].loop == l->loop)
			sum += l->f->block[b].runs.v * code->block[b].n;
	return sum;
}

struct ranked {
	struct chain_loop l;
	double insns;
};

static int hottest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	if (x->l.f != y->l.f)
		return x->l.f < y->l.f ? -1 : 1;
	return x->l.loop < y->l.loop ? -1 : x->l.loop > y->l.loop;
}

static void list_chain_loops(struct chains *c, const struct blocks *b)
{
	VEC(struct ranked) all = VEC_INIT;

	for (size_t i = 0; i < b->n; i++)
		for (uint32_t k = 0; k < b->f[i].n_loops; k++) {
			struct ranked r = { .l = { .f = &b->f[i], .loop = k } };

			if (!b->f[i].code || !block_is_innermost(&b->f[i], k))
				continue;
			r.insns = insns_of(&r.l);
			vec_xpush(&all, r);
		}
	vec_sort(&all, hottest_first);
	c->more = all.n > CHAINS_LOOPS ? all.n - CHAINS_LOOPS : 0;
	for (size_t i = 0; i < all.n && i < CHAINS_LOOPS; i++)
		vec_xpush(&c->loop, all.v[i].l);

	vec_free(&all);
}

/* ---- a path ---------------------------------------------------------------------------------- */

static void put_uops(char *out, size_t size, const struct core_op *op)
{
	size_t at = strlen(out);

	for (unsigned i = 0; op && i < op->n_uops; i++) {
		char ports[CORE_PORTS + 1];
		size_t n = 0;

		for (unsigned p = 0; p < CORE_PORTS; p++)
			if (op->uop[i].ports >> p & 1)
				ports[n++] = core_port_name(p);
		ports[n] = '\0';
		if (at + n + 16 > size)
			return;
		at += (size_t)snprintf(out + at, size - at, "%s%u*%s", at ? " " : "", op->uop[i].n,
				       ports);
	}
}

static const struct core_op *find_insn_facts(const struct making *x, const char *name,
					     unsigned bits)
{
	return x->c->core ? core_find(x->c->core, name, bits) : NULL;
}

static void look_up_insn(const struct making *x, struct chain_step *s)
{
	bool vector = s->o.bits != 0;

	s->cost = s->o.atomic ? find_insn_facts(x, "atomic", 0)
			      : find_insn_facts(x, insn_op_name((enum insn_op)s->o.op), s->o.bits);
	s->load = s->o.op == OP_LOAD_PAIR
			  ? s->cost
			  : find_insn_facts(x, vector ? "load-vector" : "load", s->o.bits);
	s->store = find_insn_facts(x, "store", s->o.bits);
	s->forward = find_insn_facts(x, vector ? "forward-vector" : "forward", s->o.bits);
	s->blocked = find_insn_facts(x, "blocked", 0);
	if (s->cost && s->cost->repeats)
		s->o.reads |= s->o.writes & ~s->o.flags;
	if (s->o.stepped != UNIT_NONE)
		s->step = find_insn_facts(x, "alu", 0);
	if (s->o.sum) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%s-sum", insn_op_name((enum insn_op)s->o.op));
		s->sum = find_insn_facts(x, name, s->o.bits);
	}
}

static int take_chain_insn(void *ctx, const struct insn *in)
{
	struct making *x = ctx;
	struct chain_step *s;
	struct chain_insn *i;

	if (x->code->n == x->cap)
		return 1;
	s = &x->code->step[x->code->n];
	i = &x->p->insn[x->code->n++];
	if (x->machine == EM_AARCH64)
		operands_arm64(in->bytes, in->len, in->vaddr, &s->o);
	else
		operands_decode(x->decoder, in->bytes, in->len, in->vaddr, &s->o);
	if (s->o.leaves && !x->leaves)
		x->leaves = "it calls other code, whose instructions are not looked at";
	if ((s->o.breaks || s->o.bad) && !x->leaves)
		x->leaves = "an instruction of it is not modelled (string, x87, gather, ...)";
	look_up_insn(x, s);
	i->vaddr = in->vaddr;
	i->block = x->block;
	i->text = arena_xstrdup(&x->c->a, in->text);
	if (x->source) {
		struct source_line line = source_line(x->source, in->vaddr);

		i->file = line.file;
		i->line = line.file ? line.line : 0;
	}
	i->op = (enum insn_op)s->o.op;
	for (unsigned k = 0; k < s->o.n_memory; k++) {
		i->load |= s->o.memory[k].load;
		i->store |= s->o.memory[k].store;
	}
	i->latency = (struct chain_range){ NAN, NAN };
	if (s->cost) {
		i->latency = (struct chain_range){ s->cost->low, s->cost->high };
		i->measured = s->cost->measured;
	}
	put_uops(i->ports, sizeof(i->ports), s->cost);
	if (i->load && !chain_is_copy(&s->o))
		put_uops(i->ports, sizeof(i->ports), s->load);
	if (i->store && !chain_is_copy(&s->o))
		put_uops(i->ports, sizeof(i->ports), s->store);
	put_uops(i->ports, sizeof(i->ports), s->step);
	return 0;
}

static unsigned taken_branches(const struct code *code, const struct block_path *p)
{
	unsigned n = 0;

	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t next = k + 1 < p->n ? p->block[k + 1] : p->block[0];

		n += next != p->block[k] + 1 || code->block[p->block[k]].flow == INSN_JUMP;
	}
	return n;
}

/* Decodes the blocks of a path. 1: there are too many instructions. */
static int read_chain_path(struct making *x, const struct block_path *path)
{
	const struct code *code = x->l->f->code;
	size_t n = 0;

	for (uint32_t k = 0; k < path->n; k++)
		n += code->block[path->block[k]].n;
	x->p->path = path;
	if (n > CHAINS_INSNS)
		return 1;
	x->cap = n;
	x->code->step = xcalloc(n + 1, sizeof(*x->code->step));
	x->p->insn = arena_xalloc(&x->c->a, (n + 1) * sizeof(*x->p->insn));
	memset(x->p->insn, 0, (n + 1) * sizeof(*x->p->insn));
	for (uint32_t k = 0; k < path->n; k++) {
		const struct code_block *b = &code->block[path->block[k]];

		x->block = path->block[k];
		if (disasm_range(x->images, x->l->f->image, code->vaddr + b->start,
				 b->end - b->start, take_chain_insn, x, x->err) < 0)
			return -1;
	}
	x->p->n = x->code->n;
	x->code->taken = taken_branches(code, path);
	/* A comparison and the branch behind it are one. */
	for (size_t k = 0; k + 1 < x->code->n; k++) {
		struct chain_step *s = &x->code->step[k];

		if (!s->o.compares || x->code->step[k + 1].o.op != OP_BRANCH)
			continue;
		s->fused = x->p->insn[k].fused = true;
		x->p->insn[k].ports[0] = '\0';
		if (x->p->insn[k].load)
			put_uops(x->p->insn[k].ports, sizeof(x->p->insn[k].ports), s->load);
	}
	return 0;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static const char *unknown_of(const struct chain_path *p)
{
	for (size_t k = 0; k < p->n; k++)
		if (p->insn[k].step && isnan(p->insn[k].latency.high))
			return insn_op_name(p->insn[k].op);
	return NULL;
}

/* The chain of one path, and which instructions are on it. */
static void find_path_chain(struct chain_path *p, const struct chain_code *code)
{
	struct chain_run low = { .link = NULL }, high = { .link = NULL };
	struct chain_link *link = xcalloc(code->n + 1, sizeof(*link));

	high.link = link;
	chains_run(&low, code, 1, NULL, CHAIN_LOW);
	chains_run(&high, code, 1, NULL, CHAIN_WORST);
	for (size_t k = 0; k < p->n; k++) {
		p->insn[k].step = link[k].order;
		p->insn[k].cycles = link[k].cycles;
		p->insn[k].via = link[k].via;
	}
	p->unknown = unknown_of(p);
	p->bound.chain.low = low.cycles;
	p->bound.chain.high = high.cycles >= CHAIN_LONG / 64 ? NAN : high.cycles;
	assert(!(p->bound.chain.high < p->bound.chain.low * (1 - 1e-9)));
	free(link);
}

/* Finds the bounds of all paths together, as often as each was seen. */
static void find_bounds(struct making *x, const struct chain_code *code)
{
	struct chain_loop *l = x->l;
	double weight[BLOCK_PATHS], one = 1;
	struct chain_run low = { .link = NULL }, high = { .link = NULL };

	for (size_t k = 0; k < l->n_paths; k++) {
		weight[k] = l->path[k].share;
		chains_ports(&l->path[k].bound, x->c->core, &code[k], 1, &one);
		find_path_chain(&l->path[k], &code[k]);
	}
	chains_ports(&l->bound, x->c->core, code, l->n_paths, weight);
	l->bound.chain = l->path[0].bound.chain;
	if (l->n_paths == 1)
		return;
	chains_run(&low, code, l->n_paths, weight, CHAIN_LOW);
	chains_run(&high, code, l->n_paths, weight, CHAIN_WORST);
	l->bound.chain.low = low.cycles;
	l->bound.chain.high = high.cycles >= CHAIN_LONG / 64 ? NAN : high.cycles;
}

/* ---- a loop ---------------------------------------------------------------------------------- */

#define KEPT 0.95 /* of the times; the rest is left out */

/* Returns the standard deviation of the fastest. */
static double spread_of_fastest(const struct flow_times *t, double all)
{
	double left = all * KEPT, sum = 0, squares = 0;

	for (unsigned i = 0; i < FLOW_TIME_BUCKETS && left > 0; i++) {
		double n = fmin(t->n[i], left), from = flow_time_from(i);
		double at =
			i + 1 < FLOW_TIME_BUCKETS ? (from + flow_time_from(i + 1) - 1) / 2 : from;

		sum += n * at;
		squares += n * at * at;
		left -= n;
	}
	sum /= all * KEPT;
	return sqrt(fmax(squares / (all * KEPT) - sum * sum, 0));
}

/* Cycles of an iteration; of a heavy tail without it: occasional waits are not the loop. */
static void measure_loop(struct chain_loop *l, bool late)
{
	const struct block_times *t = l->f->loop[l->loop].iteration;
	struct flow_shape shape;
	double n;

	l->cycles = FLOW_UNKNOWN;
	if (!t || !t->n)
		return;
	n = (double)t->n;
	l->cycles.v = (double)t->cycles / n;
	if (!late && t->stacks > 1)
		l->cycles.half =
			Z95 * sqrt(fmax(t->cycles_sq - (double)t->cycles * l->cycles.v, 0) /
				   (n - 1) / (double)t->stacks);
	l->cycles.why = late ? flow_late : NULL;
	flow_shape(&shape, &t->times, t->cycles, t->stacks);
	if (!shape.heavy || isnan(shape.tail))
		return;
	l->trimmed = true;
	l->cycles.v *= (1 - shape.tail) / KEPT;
	if (!isnan(l->cycles.half))
		l->cycles.half =
			Z95 * spread_of_fastest(&t->times, n) / KEPT / sqrt((double)t->stacks);
}

/* Lists the paths of an iteration: of a loop of one block that block; else those of stacks. */
static size_t list_paths(struct making *x, const struct block_path **path)
{
	const struct block_loop *b = &x->l->f->loop[x->l->loop];
	struct block_path *own;

	if (b->n_paths || b->blocks > 1) {
		*path = b->path;
		return b->n_paths;
	}
	*path = own = arena_xalloc(&x->c->a, sizeof(*own));
	*own = (struct block_path){ .seen = 1, .n = 1, .block = { b->head } };
	return 1;
}

static void open_decoder(struct making *x)
{
	x->machine = disasm_machine(x->images, x->l->f->image);
	if (x->machine == EM_AARCH64)
		return;
	if (x->machine != EM_X86_64) {
		x->l->why = "not here: operands of x86-64 and AArch64 alone are decoded";
		return;
	}
	if (!x->decoder)
		x->decoder = insn_decoder_new(x->machine);
	if (!x->decoder)
		x->l->why = "this build has no x86 disassembler";
}

static int read_paths(struct making *x, struct chain_code *code, const struct block_path *path,
		      size_t n)
{
	struct chain_loop *l = x->l;
	uint64_t kept = 0;
	int ret = 0;

	for (size_t k = 0; k < n; k++)
		kept += path[k].seen;
	for (size_t k = 0; k < n && !ret; k++) {
		x->p = &l->path[l->n_paths++];
		*x->p = (struct chain_path){ .share = (double)path[k].seen / (double)kept,
					     .bound = NO_BOUNDS,
					     .cycles = NAN };
		x->code = &code[k];
		if (path[k].timed)
			x->p->cycles = (double)path[k].cycles / (double)path[k].timed;
		ret = read_chain_path(x, &path[k]);
	}
	l->iterations = l->f->loop[l->loop].iterations;
	l->left_out = l->iterations > kept ? l->iterations - kept : 0;
	if (ret > 0)
		l->why = "an iteration has too many instructions";
	return ret < 0 ? -1 : 0;
}

static int examine_loop(struct making *x, bool late, const char *no_core)
{
	struct chain_code code[BLOCK_PATHS] = { { NULL, 0, 0 } };
	struct chain_loop *l = x->l;
	const struct block_path *path = NULL;
	int ret = -1;
	size_t n;

	l->bound = NO_BOUNDS;
	measure_loop(l, late);
	open_decoder(x);
	if (l->why)
		return 0;
	n = list_paths(x, &path);
	if (!n) {
		l->why = "no stack shows an iteration from beginning to end";
		return 0;
	}
	l->path = arena_xalloc(&x->c->a, n * sizeof(*l->path));
	x->source = source_of(x->images, l->f->image, NULL);
	x->leaves = NULL;
	if (read_paths(x, code, path, n))
		goto out;
	if (!l->why)
		l->why = x->leaves;
	if (!l->why && !x->c->core)
		l->why = no_core;
	if (!l->why)
		find_bounds(x, code);
	chains_judge(l);
	ret = 0;
out:
	for (size_t k = 0; k < n; k++)
		free(code[k].step);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int loop_chains_build(struct chains **out, const struct blocks *b, struct images *images,
		      const struct core *core, const char *no_core, struct err *err)
{
	struct making x = { .c = xcalloc(1, sizeof(*x.c)), .images = images, .err = err };
	int ret = 0;

	*out = NULL;
	x.c->core = core;
	list_chain_loops(x.c, b);
	for (size_t i = 0; !ret && i < x.c->loop.n; i++) {
		x.l = &x.c->loop.v[i];
		ret = examine_loop(&x, flow_sums(b->flow)->late, no_core);
	}
	insn_decoder_free(x.decoder);
	if (ret)
		loop_chains_free(x.c);
	else
		*out = x.c;
	return ret;
}

void loop_chains_free(struct chains *c)
{
	if (!c)
		return;
	vec_free(&c->loop);
	arena_free(&c->a);
	free(c);
}
