/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks_visits - the visits in one stack of the loops that are followed (blocks_trips_int.h). */
#include <string.h>

#include "analyse/flow/blocks_trips_int.h"

#define MARK_LOST 8 /* rounds without a branch to the mark: iterations go another way now */

static struct visit *visits_of(struct trips_worker *w, const struct watched *f)
{
	return &w->visit[f->first];
}

/* ---- visits -------------------------------------------------------------------------------- */

static void end_some(struct trips_worker *w, const struct trips *t, const struct watched *f,
		     uint64_t which, bool seen_to_end)
{
	struct going_on *on = &w->on[f - t->f];

	which &= on->active;
	on->active &= ~which;
	for (; which; which &= which - 1) {
		unsigned l = (unsigned)__builtin_ctzll(which);
		struct seen *s = &w->seen[f->first + l];
		uint32_t trips = visits_of(w, f)[l].trips;

		if (seen_to_end && on->whole >> l & 1) {
			s->visits++;
			s->trip[trips < BLOCK_TRIPS ? trips : BLOCK_TRIPS - 1]++;
		} else {
			s->cut++;
		}
	}
}

static void end_all(struct trips_worker *w, const struct trips *t, const struct watched *f,
		    bool seen_to_end)
{
	w->on[f - t->f].stopped = 0;
	end_some(w, t, f, UINT64_MAX, seen_to_end);
}

static void list_function(struct trips_worker *w, const struct trips *t, const struct watched *f)
{
	struct going_on *on = &w->on[f - t->f];

	if (!on->listed)
		w->touched[w->n_touched++] = (uint32_t)(f - t->f);
	on->listed = true;
}

static void start_visit(struct visit *v)
{
	v->trips = v->trips_then = 0;
	v->mark = CODE_NONE;
	v->cycles_then = v->gaps_then = 0;
	v->n_path = 0;
	v->last_path = BLOCK_PATHS;
}

static void begin(struct trips_worker *w, const struct trips *t, const struct watched *f,
		  uint64_t which, uint64_t whole)
{
	struct going_on *on = &w->on[f - t->f];

	list_function(w, t, f);
	on->active |= which;
	on->whole = (on->whole & ~which) | (which & whole);
	for (; which; which &= which - 1)
		start_visit(&visits_of(w, f)[__builtin_ctzll(which)]);
}

/* ---- paths --------------------------------------------------------------------------------- */

/* The iteration that ends: which path it took. */
static void end_path(struct seen_paths *s, struct visit *v)
{
	unsigned i = 0;

	v->last_path = BLOCK_PATHS;
	if (!v->n_path)
		return;
	s->iterations++;
	if (v->n_path > BLOCK_PATH_MAX)
		return;
	while (i < s->n && (s->path[i].n != v->n_path ||
			    memcmp(s->path[i].block, v->path, v->n_path * sizeof(*v->path)) != 0))
		i++;
	if (i == BLOCK_PATHS)
		return;
	if (i == s->n) {
		s->path[s->n++].n = v->n_path;
		memcpy(s->path[i].block, v->path, v->n_path * sizeof(*v->path));
	}
	s->path[i].seen++;
	v->last_path = i;
}

/* The function is in a block of an innermost loop now. */
static void follow(struct trips_worker *w, const struct watched *f, uint64_t active, uint32_t to)
{
	uint8_t l = f->innermost[to];
	struct visit *v;

	if (l == NO_LOOP || !(active >> l & 1))
		return;
	v = &visits_of(w, f)[l];
	if (f->head[to] >> l & 1) {
		end_path(&w->paths[f->first + l], v);
		v->n_path = 1;
		v->path[0] = to;
	} else if (v->n_path) {
		if (v->n_path < BLOCK_PATH_MAX)
			v->path[v->n_path] = to;
		v->n_path += v->n_path <= BLOCK_PATH_MAX;
	}
}

/* The function ran from one block to another; `from` CODE_NONE: from outside. */
static void step(const struct trips *t, struct trips_worker *w, const struct watched *f,
		 uint32_t from, uint32_t to)
{
	struct going_on *on = &w->on[f - t->f];
	uint64_t in = f->in[to], entered = from == CODE_NONE ? in : in & ~f->in[from];
	uint64_t head = f->head[to];

	if (on->active & (~in | entered))
		end_some(w, t, f, ~in | entered, true);
	if (in & ~on->active)
		begin(w, t, f, in & ~on->active, entered);
	/* entered beside its head: an exception, a longjmp */
	on->whole &= ~(entered & ~head);
	for (; head; head &= head - 1)
		visits_of(w, f)[__builtin_ctzll(head)].trips++;
	if (w->paths)
		follow(w, f, on->active, to);
}

/* It is in this block from now on, from an unknown place: no visit is whole. */
static void appear(const struct trips *t, struct trips_worker *w, const struct watched *f,
		   uint32_t block)
{
	end_all(w, t, f, false);
	step(t, w, f, block, block);
}

/* ---- iterations ---------------------------------------------------------------------------- */

static void time_one(struct trips_worker *w, const struct watched *f, unsigned l, bool head)
{
	const struct visit *v = &visits_of(w, f)[l];
	struct seen *s = &w->seen[f->first + l];
	uint64_t cycles = w->cycles - v->cycles_then;

	if (w->paths && head && v->last_path < BLOCK_PATHS) {
		w->paths[f->first + l].path[v->last_path].timed++;
		w->paths[f->first + l].path[v->last_path].cycles += cycles;
	}

	s->iteration.n++;
	s->iteration.stacks += s->last_stack != w->stacks;
	s->last_stack = w->stacks;
	s->iteration.cycles += cycles;
	s->iteration.cycles_sq += (double)cycles * (double)cycles;
	s->iteration.times
		.n[flow_time_bucket(cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX)]++;
}

/* A branch led to a block: iterations of the loops around it may end here. */
static void arrive(const struct trips *t, struct trips_worker *w, const struct watched *f,
		   uint32_t block)
{
	uint64_t in = f->in[block] & w->on[f - t->f].active;

	for (; in; in &= in - 1) {
		unsigned l = (unsigned)__builtin_ctzll(in);
		struct visit *v = &visits_of(w, f)[l];
		uint32_t rounds = v->trips - v->trips_then;
		bool head = f->head[block] >> l & 1;

		if (v->mark == block && rounds == 1 && v->gaps_then == w->gaps)
			time_one(w, f, l, head);
		else if (v->mark == block ? !rounds
					  : v->mark != CODE_NONE && !head && rounds < MARK_LOST)
			continue;
		v->mark = block;
		v->trips_then = v->trips;
		v->cycles_then = w->cycles;
		v->gaps_then = w->gaps;
	}
}

/* ---- entries ------------------------------------------------------------------------------- */

static const struct watched *watched_of(const struct trips *t, const struct spot *s)
{
	return s->f == NOWHERE ? NULL : &t->f[s->f - 1];
}

/* Returns true if the code has this branch; else something else took the processor away. */
static bool branches(const struct trips_entry *e)
{
	const struct spot *s = &e->from;

	return s->last && s->flow != INSN_OTHER && s->flow != INSN_STOP &&
	       (s->kernel == e->to.kernel || s->flow == INSN_SYSTEM || s->flow == INSN_RETURN) &&
	       (s->target == CODE_FAR || s->target == e->to.addr);
}

/* Returns true for a branch that leaves a function's code for good: not by a call, nor into the
 * kernel. */
static bool leaves(uint8_t flow)
{
	return flow == INSN_RETURN || flow == INSN_JUMP || flow == INSN_COND;
}

static void stop(struct trips_worker *w, const struct trips *t, const struct watched *f,
		 uint64_t addr)
{
	list_function(w, t, f);
	w->on[f - t->f].stopped = addr;
}

/* Enters `b` from the source of a branch, as its loops see it. */
static void enter(const struct trips *t, struct trips_worker *w, const struct trips_entry *e,
		  const struct watched *a, const struct watched *b, bool known)
{
	const struct spot *to = &e->to;
	uint32_t from = CODE_NONE;

	if (e->from.kernel != to->kernel || e->returns) {
		if (to->start && to->before == INSN_SYSTEM) {
			step(t, w, b, to->block - 1, to->block);
			arrive(t, w, b, to->block);
		} else {
			appear(t, w, b, to->block);
		}
		return;
	}
	if (!to->start || (a == b && !known)) { /* other code than the file's */
		appear(t, w, b, to->block);
		return;
	}
	if (a == b && e->from.flow == INSN_CALL)
		end_all(w, t, b, false); /* it calls itself */
	else if ((a != b || e->from.flow == INSN_RETURN) && to->before == INSN_CALL)
		from = to->block - 1; /* a call came back */
	else if (a == b)
		from = e->from.block;
	if (a != b && !to->block)
		end_all(w, t, b, false); /* another run of it, with an end that was not seen */
	step(t, w, b, from, to->block);
	arrive(t, w, b, to->block);
}

static void take_edge(const struct trips *t, struct trips_worker *w, const struct trips_entry *e)
{
	const struct watched *a = watched_of(t, &e->from), *b = watched_of(t, &e->to);
	bool known = a && branches(e);
	struct going_on *on = b ? &w->on[b - t->f] : NULL;

	w->cycles += e->cycles;
	w->gaps += !e->cycles;
	if (a && !known)
		stop(w, t, a, e->from.addr);
	else if (a && (e->from.flow == INSN_RETURN || (a != b && leaves(e->from.flow))))
		end_all(w, t, a, true);
	if (!b || e->to.block == CODE_NONE)
		return;
	if (on->stopped && on->stopped == e->to.addr) {
		on->stopped = 0; /* it goes on as if nothing had been */
		return;
	}
	enter(t, w, e, a, b, known);
}

/* Takes the span from the target of an entry to the next newer branch. */
static void take_span(const struct trips *t, struct trips_worker *w, const struct trips_entry *e,
		      const struct trips_entry *next)
{
	const struct spot *start = &e->to, *end = &next->from;
	const struct watched *f = watched_of(t, start);
	bool back = false;

	if (!f || start->block == CODE_NONE)
		return;
	/* the way into the kernel is not in the stack: it was taken at the place of the return */
	if (end->kernel && !start->kernel) {
		end = &next->to;
		back = true;
	}
	if (e->gap || end->f != start->f || end->addr < start->addr || end->block == CODE_NONE) {
		end_all(w, t, f, false); /* the code that ran is not known, or was another
					  * function */
		return;
	}
	for (uint32_t b = start->block; b < end->block; b++) {
		if (block_always_leaves(&f->f->code->block[b])) { /* other code ran there */
			end_all(w, t, f, false);
			return;
		}
		step(t, w, f, b, b + 1);
	}
	if (back)
		stop(w, t, f, end->addr);
}

/* ---- places -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void find_spot(const struct trips *t, struct spot *s,
						struct flow_at at)
{
	uint32_t image = (uint32_t)at.where, i;
	const struct watched *f = trips_function_at(t, image, at.addr);
	const struct code *c = f ? f->f->code : NULL;
	const struct code_block *b;

	*s = (struct spot){ .addr = at.addr, .image = image, .f = NOWHERE, .block = CODE_NONE };
	if (!f)
		return;
	s->f = (uint32_t)(f - t->f) + 1;
	i = code_insn_at(c, at.addr);
	if (i == CODE_NONE) /* inside an instruction: other code than the file's */
		return;
	s->block = code_block_of(c, at.addr);
	b = &c->block[s->block];
	s->flow = b->flow;
	s->start = b->insn == i;
	s->last = b->insn + b->n - 1 == i;
	s->before = s->block ? b[-1].flow : INSN_OTHER;
	s->target = c->insn[i].has_target ? c->insn[i].target : CODE_FAR;
}

static inline struct spot spot_of(const struct trips *t, struct trips_worker *w, struct flow_at at)
{
	static const struct spot nowhere = { .image = IMAGE_NONE,
					     .f = NOWHERE,
					     .block = CODE_NONE };
	uint32_t image = (uint32_t)at.where;
	struct spot found = nowhere, *s;

	if (image < t->n_images && t->image[image]) {
		s = &w->spot[(at.addr * 0x9e3779b97f4a7c15ULL >> 40 ^ image) % SPOTS];
		if (s->addr != at.addr || s->image != image || !s->f)
			find_spot(t, s, at);
		found = *s;
	}
	found.kernel = flow_is_kernel(&at) || flow_is_hidden(&at);
	return found;
}

/* Converts entries to places, newest first; returns how many. 0: none is in a function that is
 * watched. */
static size_t take_entries(const struct trips *t, struct trips_worker *w,
			   const struct pd_branches *stack)
{
	size_t n = 0;
	bool any = false, gap = false;

	for (size_t i = 0; i < stack->n && n < ENTRIES_MAX; i++) {
		struct pd_branch b = pd_branch_decode(stack->entry + i * PD_BRANCH_SIZE);
		struct trips_entry *e = &w->entry[n];

		if (b.spec == FLOW_WRONG_PATH)
			continue;
		if (!b.from && !b.to) { /* never filled */
			gap = true;
			continue;
		}
		e->from = spot_of(t, w, flow_map_at(&w->map, b.from));
		e->to = spot_of(t, w, flow_map_at(&w->map, b.to));
		e->cycles = b.cycles;
		e->gap = gap;
		e->returns = b.type == PERF_BR_ERET || b.type == PERF_BR_IRQ;
		any |= e->to.f != NOWHERE;
		gap = false;
		n++;
	}
	return any ? n : 0;
}

void trips_stack(const struct trips *t, struct trips_worker *w, const struct pd_branches *stack)
{
	size_t n = take_entries(t, w, stack);

	w->stacks++;
	w->cycles = w->gaps = 0;
	for (size_t i = n; i-- > 0;) {
		take_edge(t, w, &w->entry[i]);
		w->gaps += w->entry[i].gap;
		if (i)
			take_span(t, w, &w->entry[i], &w->entry[i - 1]);
	}
	for (size_t i = 0; i < w->n_touched; i++) {
		end_all(w, t, &t->f[w->touched[i]], false);
		w->on[w->touched[i]].listed = false;
	}
	w->n_touched = 0;
}
