/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/types_state.h"

#include <string.h>

#include "symbol/disasm.h"

static const struct value unknown = { .kind = VALUE_UNKNOWN };
static const struct value null = { .kind = VALUE_NULL };

static const struct value *in_register(const struct state *s, uint8_t r)
{
	return r == EFFECT_NONE ? &unknown : r == EFFECT_ZERO ? &null : &s->reg[r];
}

/* ---- paths that meet ------------------------------------------------------------------------- */

void state_init(struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		s->reg[r] = unknown;
}

static bool same_value(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->indexed == b->indexed && a->type == b->type &&
	       a->derived == b->derived && a->off == b->off;
}

/* The outermost object that is at both places: a member that both have, a base class. */
static bool common_place(struct types *t, const struct value *a, const struct value *b,
			 struct type_place *out)
{
	struct type_place x[TYPES_MAX_NEST], y[TYPES_MAX_NEST];
	unsigned n = type_chain(t, a->type, a->off, x), m = type_chain(t, b->type, b->off, y);

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < m; k++)
			if (x[i].type == y[k].type && x[i].off == y[k].off) {
				*out = x[i];
				return true;
			}
	return false;
}

/* What a pointer is to that is known as one to its base class, where paths met. */
static uint32_t derived_of(const struct types *t, const struct value *v, uint32_t base)
{
	if (v->type == base || v->off || t->type.v[v->type].kind != TYPE_STRUCT)
		return v->derived;
	return v->type + 1;
}

static uint32_t merge_derived(uint32_t a, uint32_t b)
{
	if (!a || !b || a == b)
		return a ? a : b;
	return TYPE_NONE;
}

/* Elements of an array, fields of one type, an object and what is embedded in another one. */
static struct value merge_pointers(struct types *t, const struct value *a, const struct value *b)
{
	uint64_t size = t->type.v[a->type].size;
	struct value v = *a;
	struct type_place p;

	v.indexed |= b->indexed;
	v.derived = merge_derived(a->derived, b->derived);
	if (a->type == b->type && a->off == b->off)
		return v;
	if (a->type == b->type && size && (a->off - b->off) % (int64_t)size == 0) {
		v.indexed = true;
		return v;
	}
	if (!common_place(t, a, b, &p))
		return unknown;
	if (t->type.v[p.type].kind == TYPE_ARRAY) {
		v.indexed = true;
		if (a->type == b->type)
			return v;
	} else if (!p.off) {
		v.derived = merge_derived(derived_of(t, a, p.type), derived_of(t, b, p.type));
	}
	v.type = p.type;
	v.off = (int64_t)p.off;
	return v;
}

static const struct type_static *variable_at(struct types *t, const struct value *v)
{
	if (v->kind == VALUE_THREAD)
		return type_thread_at(t, (uint64_t)v->off);
	return v->kind == VALUE_ADDRESS ? type_static_at(t, (uint64_t)v->off) : NULL;
}

/* An address of static data as a pointer to it. */
static struct value to_pointer(struct types *t, const struct value *v)
{
	const struct type_static *x = variable_at(t, v);

	if (!x)
		return *v;
	return (struct value){ .kind = VALUE_POINTER,
			       .indexed = v->indexed,
			       .type = x->type,
			       .off = (int64_t)((uint64_t)v->off - x->start) };
}

static struct value merge_values(struct types *t, const struct value *a, const struct value *b)
{
	struct value x, y;

	if (same_value(a, b) || b->kind == VALUE_NEVER)
		return *a;
	if (a->kind == VALUE_NEVER)
		return *b;
	if (a->kind == VALUE_NULL && (b->kind == VALUE_POINTER || b->kind == VALUE_ADDRESS))
		return *b;
	if (b->kind == VALUE_NULL && (a->kind == VALUE_POINTER || a->kind == VALUE_ADDRESS))
		return *a;
	x = to_pointer(t, a);
	y = to_pointer(t, b);
	return x.kind == VALUE_POINTER && y.kind == VALUE_POINTER ? merge_pointers(t, &x, &y)
								  : unknown;
}

/* ---- values that are learnt of later --------------------------------------------------------- */

struct value flow_origin(const struct flow *w, size_t insn)
{
	if (w->origin[insn].kind == VALUE_POINTER)
		return w->origin[insn];
	return (struct value){ .kind = VALUE_ORIGIN, .type = (uint32_t)insn };
}

struct value flow_origin_of_block(const struct flow *w, size_t block, unsigned reg)
{
	return flow_origin(w, w->insn.n + block * EFFECT_REGS + reg);
}

/* A variable or a field of a known type has the value. */
void flow_learn(struct flow *w, const struct value *v, const struct value *is)
{
	struct value *o;

	if (v->kind != VALUE_ORIGIN || v->indexed || is->kind != VALUE_POINTER)
		return;
	o = &w->origin[v->type];
	if (o->kind == VALUE_POINTER || __builtin_sub_overflow(is->off, v->off, &o->off))
		return;
	o->kind = VALUE_POINTER;
	o->type = is->type;
	o->indexed = is->indexed;
	w->learnt = true;
}

void flow_learn_object(struct flow *w, int64_t off, uint32_t type)
{
	for (unsigned i = 0; i < w->n_objects; i++)
		if (w->object[i].off == (uint64_t)off && w->object[i].type == type)
			return;
	if (w->n_objects == FLOW_OBJECTS)
		return;
	w->object[w->n_objects++] = (struct type_place){ type, (uint64_t)off };
	w->learnt = true;
}

static struct slot *find_slot(struct state *s, int64_t off)
{
	for (unsigned i = 0; i < s->slots; i++)
		if (s->slot[i].off == off)
			return &s->slot[i];
	return NULL;
}

/* Paths disagree: what comes of it may be learnt. */
static struct value merge_registers(const struct flow *w, size_t block, unsigned reg,
				    const struct value *a, const struct value *b)
{
	struct value v = merge_values(w->t, a, b), o = flow_origin_of_block(w, block, reg);

	return v.kind == VALUE_UNKNOWN || same_value(a, &o) ? o : v;
}

bool state_merge(struct flow *w, size_t block, struct state *into, const struct state *from)
{
	bool changed = false;
	unsigned n = 0;

	for (unsigned r = 0; r < EFFECT_REGS; r++) {
		struct value v = merge_registers(w, block, r, &into->reg[r], &from->reg[r]);

		changed |= !same_value(&v, &into->reg[r]);
		into->reg[r] = v;
	}
	for (unsigned i = 0; i < into->slots; i++) {
		struct slot x = into->slot[i];
		const struct slot *y = find_slot((struct state *)(uintptr_t)from, x.off);
		struct value v = y ? merge_values(w->t, &x.value, &y->value) : unknown;

		changed |= !same_value(&v, &x.value);
		x.value = v;
		if (v.kind != VALUE_UNKNOWN)
			into->slot[n++] = x;
	}
	into->slots = n;
	return changed;
}

/* ---- variables ------------------------------------------------------------------------------- */

void flow_facts_begin(struct flow *w, uint64_t vaddr)
{
	w->n_active = 0;
	for (w->next_fact = 0; w->next_fact < w->facts.n; w->next_fact++) {
		const struct type_fact *f = &w->facts.v[w->next_fact];

		if (f->lo > vaddr)
			break;
		if (f->hi > vaddr && w->n_active < FLOW_ACTIVE)
			w->active[w->n_active++] = f;
	}
}

bool flow_is_void(const struct types *t, const struct value *v)
{
	return v->kind == VALUE_POINTER &&
	       (t->type.v[v->type].kind == TYPE_OPAQUE || t->type.v[v->type].kind == TYPE_FUNCTION);
}

static bool is_open(const struct types *t, const struct value *v)
{
	return v->kind == VALUE_UNKNOWN || v->kind == VALUE_ORIGIN || v->kind == VALUE_NULL ||
	       flow_is_void(t, v);
}

/* The object that a variable says to be there is a part of what is known already. */
static bool is_part(struct types *t, const struct value *v, const struct value *part)
{
	struct type_place x[TYPES_MAX_NEST];
	unsigned n = 0;
	int64_t off;

	if (!__builtin_sub_overflow(v->off, part->off, &off))
		n = type_chain(t, v->type, off, x);
	for (unsigned i = 0; i < n; i++)
		if (x[i].type == part->type && !x[i].off)
			return true;
	return false;
}

static void apply(struct flow *w, struct state *s, const struct type_fact *f, bool begins)
{
	struct value *v = &s->reg[f->reg];

	if (f->in != FACT_REGISTER || v->kind == VALUE_FRAME || flow_is_void(w->t, &f->value))
		return;
	flow_learn(w, v, &f->value);
	if (v->kind == VALUE_POINTER && !flow_is_void(w->t, v) &&
	    (!begins || is_part(w->t, v, &f->value)))
		return;
	if (begins || is_open(w->t, v))
		*v = f->value;
}

void flow_facts_at(struct flow *w, struct state *s, uint64_t vaddr, bool first)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_active; i++)
		if (w->active[i]->hi > vaddr)
			w->active[n++] = w->active[i];
	w->n_active = n;
	for (unsigned i = 0; first && i < n; i++)
		apply(w, s, w->active[i], w->active[i]->lo == vaddr);
	for (; w->next_fact < w->facts.n && w->facts.v[w->next_fact].lo <= vaddr; w->next_fact++) {
		const struct type_fact *f = &w->facts.v[w->next_fact];

		if (f->hi <= vaddr || w->n_active == FLOW_ACTIVE)
			continue;
		w->active[w->n_active++] = f;
		apply(w, s, f, f->lo == vaddr);
	}
	/* a register that lost its value may still be a variable's */
	for (unsigned i = 0; i < w->n_active; i++)
		if (is_open(w->t, &s->reg[w->active[i]->reg]))
			apply(w, s, w->active[i], false);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static struct value value_plus(struct value v, int64_t off, bool indexed)
{
	if (v.kind == VALUE_UNKNOWN || v.kind == VALUE_NEVER || v.kind == VALUE_NULL ||
	    __builtin_add_overflow(v.off, off, &v.off))
		return unknown;
	v.indexed |= indexed;
	return v;
}

static bool is_base(const struct value *v)
{
	return v->kind == VALUE_POINTER || v->kind == VALUE_ADDRESS || v->kind == VALUE_FRAME ||
	       v->kind == VALUE_THREAD;
}

/* The thread's pointer plus what a register holds. */
static struct value in_thread(const struct flow *w, const struct value *v)
{
	struct value out = { .kind = VALUE_THREAD, .indexed = v->indexed, .off = v->off };

	if (v->kind == VALUE_ADDRESS) /* a constant */
		return value_plus(out, w->t->thread_pointer, false);
	return v->kind == VALUE_OFFSET ? out : unknown;
}

static bool is_thread_pointer(const struct flow *w, const struct value *v)
{
	return v->kind == VALUE_THREAD && !v->indexed && v->off == w->t->thread_pointer;
}

/* An offset and the thread's pointer are the address of a variable; else VALUE_UNKNOWN. */
static struct value thread_sum(const struct flow *w, const struct value *a, const struct value *b)
{
	struct value v = unknown;

	if (is_thread_pointer(w, a))
		v = in_thread(w, b);
	return v.kind == VALUE_UNKNOWN && is_thread_pointer(w, b) ? in_thread(w, a) : v;
}

static struct value address_of(const struct flow *w, const struct state *s,
			       const struct effect_mem *m)
{
	const struct value *v;
	struct value x;

	if (m->absolute) {
		x = (struct value){ .kind = VALUE_ADDRESS, .indexed = m->indexed, .off = m->disp };
		return m->segment ? in_thread(w, &x) : x;
	}
	if (m->base == EFFECT_NONE)
		return unknown;
	v = &s->reg[m->base];
	if (m->segment)
		return value_plus(in_thread(w, v), m->disp, m->indexed);
	if (m->plain_index && m->index != EFFECT_NONE) {
		x = thread_sum(w, v, &s->reg[m->index]);
		if (x.kind == VALUE_THREAD)
			return value_plus(x, m->disp, false);
	}
	if (!is_base(v) && m->plain_index && m->index != EFFECT_NONE && is_base(&s->reg[m->index]))
		v = &s->reg[m->index];
	return value_plus(*v, m->disp, m->indexed);
}

/* ---- what an access is to -------------------------------------------------------------------- */

static void keep_better(const struct flow *w, struct type_hit *best, const struct type_hit *h)
{
	const struct types *t = w->t;
	bool opaque = best->opaque || h->opaque;

	best->opaque = opaque;
	if (h->root == TYPE_NONE || h->score < best->score)
		return;
	/* the larger object, where both fit as well */
	if (h->score == best->score && t->type.v[h->root].size <= t->type.v[best->root].size)
		return;
	*best = *h;
	best->opaque = opaque;
}

static void try_pointer(const struct flow *w, const struct value *v, const struct effect_mem *m,
			struct type_hit *best)
{
	uint64_t size = v->kind == VALUE_POINTER ? w->t->type.v[v->type].size : 0;
	struct type_hit h;

	/* a pointer into what is around a known scalar is no pointer to an array of it */
	if (v->kind != VALUE_POINTER ||
	    (!v->indexed && ((v->off < 0 && w->t->type.v[v->type].kind != TYPE_STRUCT) ||
			     (v->off < m->disp && (uint64_t)v->off >= size))))
		return;
	type_hit(w->t, v->type, v->off, v->indexed, m, &h);
	keep_better(w, best, &h);
}

/* Objects in the frame, wherever their location counts from. */
static void try_frame(const struct flow *w, const struct state *s, const struct value *at,
		      const struct effect_mem *m, struct type_hit *best)
{
	for (unsigned i = 0; i < w->n_active; i++) {
		const struct type_fact *f = w->active[i];
		const struct value *reg = &s->reg[f->reg];
		int64_t start = f->off;
		struct type_hit h;

		if (f->in == FACT_REGISTER || (f->in == FACT_BASED && reg->kind != VALUE_FRAME))
			continue;
		if (f->in == FACT_BASED)
			start += reg->off;
		(void)type_target(w->t, f->value.type);
		if (at->off < start ||
		    (uint64_t)(at->off - start) >= w->t->type.v[f->value.type].size)
			continue;
		type_hit(w->t, f->value.type, at->off - start, at->indexed, m, &h);
		keep_better(w, best, &h);
	}
}

/* The latest that the address is in; of no variable that DWARF has there. */
static void try_objects(const struct flow *w, const struct value *at, const struct effect_mem *m,
			struct type_hit *best)
{
	for (unsigned i = w->n_objects; i-- && best->root == TYPE_NONE;) {
		const struct type_place *o = &w->object[i];
		int64_t into = at->off - (int64_t)o->off;
		struct type_hit h;

		if (into < 0 || (uint64_t)into >= w->t->type.v[o->type].size)
			continue;
		type_hit(w->t, o->type, into, at->indexed, m, &h);
		keep_better(w, best, &h);
	}
}

static void try_static(const struct flow *w, const struct value *at, const struct effect_mem *m,
		       struct type_hit *best, bool *found)
{
	const struct type_static *x = variable_at(w->t, at);
	struct type_hit h;

	*found = x != NULL;
	if (!x)
		return;
	type_hit(w->t, x->type, (int64_t)((uint64_t)at->off - x->start), at->indexed, m, &h);
	keep_better(w, best, &h);
}

/* Variables in the registers of the operand, beside what is known of these. */
static void try_variables(const struct flow *w, const struct effect_mem *m, struct type_hit *best)
{
	for (unsigned i = 0; i < w->n_active; i++) {
		const struct type_fact *f = w->active[i];
		bool is_index = m->plain_index && m->index != EFFECT_NONE && f->reg == m->index;
		struct value v = f->value;

		if (m->absolute || (f->reg != m->base && !is_index) || f->in == FACT_FRAME)
			continue;
		if (f->in == FACT_BASED)
			v.off -= f->off;
		v = value_plus(v, m->disp, m->indexed);
		try_pointer(w, &v, m, best);
	}
}

enum types_why flow_access(struct flow *w, const struct state *s, const struct effect_mem *m,
			   struct type_hit *best, bool *stack)
{
	struct value at = address_of(w, s, m);
	bool found = false;

	*best = (struct type_hit){ .root = TYPE_NONE };
	*stack = m->implicit || at.kind == VALUE_FRAME ||
		 (!m->absolute && m->base == w->t->machine->sp);
	if (m->implicit)
		return TYPES_STACK;
	if (at.kind == VALUE_FRAME) {
		try_frame(w, s, &at, m, best);
		try_objects(w, &at, m, best);
	} else if (at.kind == VALUE_ADDRESS || at.kind == VALUE_THREAD) {
		try_static(w, &at, m, best, &found);
	} else {
		try_pointer(w, &at, m, best);
	}
	if (!*stack && !m->segment)
		try_variables(w, m, best);
	if (best->root == TYPE_NONE && at.kind == VALUE_POINTER && at.derived &&
	    at.derived != TYPE_NONE) {
		at.type = at.derived - 1;
		try_pointer(w, &at, m, best);
	}
	if (best->root != TYPE_NONE)
		return TYPES_KNOWN;
	if (*stack)
		return TYPES_STACK;
	if (m->segment || at.kind == VALUE_THREAD)
		return TYPES_THREAD_LOCAL;
	if (at.kind == VALUE_ADDRESS && !found)
		return TYPES_NO_VARIABLE;
	if (best->opaque)
		return TYPES_VOID;
	return at.kind == VALUE_POINTER || found ? TYPES_MISFIT : TYPES_NO_BASE;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void set_slot(struct state *s, int64_t off, unsigned width, const struct value *v)
{
	struct slot *x;
	unsigned n = 0;

	/* what overlaps is overwritten */
	for (unsigned i = 0; i < s->slots; i++)
		if (s->slot[i].off <= off - 8 || s->slot[i].off >= off + (int64_t)width)
			s->slot[n++] = s->slot[i];
	s->slots = n;
	if (v->kind == VALUE_UNKNOWN)
		return;
	if (n == STATE_SLOTS) { /* the oldest goes */
		memmove(s->slot, s->slot + 1, (STATE_SLOTS - 1) * sizeof(*s->slot));
		s->slots--;
	}
	x = &s->slot[s->slots++];
	*x = (struct slot){ off, *v };
}

/* One of the two that a pair is of. */
static struct effect_mem half(const struct effect *e, unsigned which)
{
	struct effect_mem m = e->mem[0];

	if (e->pair) {
		m.width /= 2;
		m.vector = false;
		m.disp += which ? m.width : 0;
	}
	return m;
}

/* `which` of a pair. */
static struct value load(struct flow *w, struct state *s, size_t insn, unsigned which)
{
	const struct effect_mem m = half(&w->insn.v[insn], which);
	struct value at = address_of(w, s, &m), v = unknown;
	struct type_hit h;
	const struct type_linked *linked;
	bool stack;

	if (at.kind == VALUE_FRAME && !at.indexed) {
		const struct slot *x = find_slot(s, at.off);

		if (x)
			return x->value;
	}
	if (at.kind == VALUE_ADDRESS && !at.indexed) {
		linked = type_linked_at(w->t, (uint64_t)at.off);
		if (linked && (linked->kind == LINKED_ADDRESS || linked->kind == LINKED_OFFSET))
			return (struct value){ .kind = linked->kind == LINKED_ADDRESS
							       ? VALUE_ADDRESS
							       : VALUE_OFFSET,
					       .off = (int64_t)linked->value };
	}
	/* of a union of pointers, who uses it says which one it is */
	if (flow_access(w, s, &m, &h, &stack) == TYPES_KNOWN && h.leaf != TYPE_NONE &&
	    w->t->type.v[h.leaf].size == 8 && !h.several)
		v = type_value(w->t, h.leaf);
	if (v.kind == VALUE_UNKNOWN || flow_is_void(w->t, &v))
		return which ? unknown : flow_origin(w, insn);
	return v;
}

/* What is stored in a field of a known type has that type. */
static void learn_stored(struct flow *w, const struct state *s, uint8_t src,
			 const struct effect_mem *m)
{
	struct type_hit h;
	struct value v;
	bool stack;

	if (src >= EFFECT_REGS || s->reg[src].kind != VALUE_ORIGIN ||
	    flow_access(w, s, m, &h, &stack) != TYPES_KNOWN || h.leaf == TYPE_NONE ||
	    w->t->type.v[h.leaf].size != 8 || h.several)
		return;
	v = type_value(w->t, h.leaf);
	if (!flow_is_void(w->t, &v))
		flow_learn(w, &s->reg[src], &v);
}

static void learn_all_stored(struct flow *w, const struct state *s, const struct effect *e)
{
	for (unsigned i = 0; e->op == EFFECT_STORE && i < 1u + e->pair; i++) {
		struct effect_mem m = half(e, i);

		learn_stored(w, s, i ? e->src2 : e->src, &m);
	}
}

static void store(const struct flow *w, struct state *s, const struct effect *e)
{
	bool whole = e->op == EFFECT_STORE;
	const struct value *v = whole ? in_register(s, e->src) : &unknown;

	for (unsigned i = 0; i < e->n_mem; i++) {
		struct value at = address_of(w, s, &e->mem[i]);

		if (!e->mem[i].store || at.kind != VALUE_FRAME)
			continue;
		if (at.indexed)
			s->slots = 0;
		else
			set_slot(s, at.off, e->mem[i].width, v);
		if (!at.indexed && whole && e->pair)
			set_slot(s, at.off + 8, 8, in_register(s, e->src2));
	}
}

static struct value sum(const struct flow *w, const struct value *a, const struct value *b)
{
	struct value v = thread_sum(w, a, b);

	if (v.kind == VALUE_THREAD)
		return v;
	if (is_base(a))
		return is_base(b) ? unknown : value_plus(*a, 0, true);
	return is_base(b) ? value_plus(*b, 0, true) : unknown;
}

static void pop(struct state *s, uint8_t dst)
{
	struct value *sp = &s->reg[EFFECT_RSP], v = unknown;

	if (sp->kind == VALUE_FRAME) {
		const struct slot *x = find_slot(s, sp->off);

		v = x ? x->value : unknown;
		*sp = value_plus(*sp, 8, false);
	}
	if (dst != EFFECT_NONE)
		s->reg[dst] = v;
}

static void step_stack(struct state *s, const struct effect *e)
{
	struct value *sp = &s->reg[EFFECT_RSP];

	if (e->op == EFFECT_LEAVE)
		*sp = s->reg[EFFECT_RBP];
	if (e->op != EFFECT_PUSH) {
		pop(s, e->op == EFFECT_LEAVE ? EFFECT_RBP : e->dst);
		return;
	}
	*sp = value_plus(*sp, -8, false);
	if (sp->kind == VALUE_FRAME)
		set_slot(s, sp->off, 8, e->src == EFFECT_NONE ? &unknown : &s->reg[e->src]);
}

/* What the destination holds afterwards. */
static struct value result(struct flow *w, struct state *s, size_t insn)
{
	const struct effect *e = &w->insn.v[insn];
	const struct value *dst = in_register(s, e->dst);
	const struct value *src = in_register(s, e->src), *src2 = in_register(s, e->src2);
	struct value v;

	switch ((enum effect_op)e->op) {
	case EFFECT_COPY:
		return *src;
	case EFFECT_CHOOSE:
		return merge_values(w->t, src, src2);
	case EFFECT_SET:
		return e->imm ? (struct value){ .kind = VALUE_ADDRESS, .off = e->imm }
			      : (struct value){ .kind = VALUE_NULL };
	case EFFECT_LOAD:
		return load(w, s, insn, 0);
	case EFFECT_LEA:
		return address_of(w, s, &e->mem[0]);
	case EFFECT_ADD:
		return value_plus(*dst, e->imm, false);
	case EFFECT_ADD_REG:
		return sum(w, dst, src);
	case EFFECT_ADD_LOAD:
		v = load(w, s, insn, 0);
		return sum(w, dst, &v);
	case EFFECT_ADD_ANY:
		return is_base(src) ? unknown : value_plus(*dst, 0, true);
	case EFFECT_THREAD:
		return (struct value){ .kind = VALUE_THREAD, .off = w->t->thread_pointer };
	case EFFECT_LESS:
		return is_base(src2) ? unknown : value_plus(*src, 0, true);
	default:
		return unknown;
	}
}

void flow_step(struct flow *w, struct state *s, size_t insn)
{
	const struct effect *e = &w->insn.v[insn];
	struct value v, other, moved = unknown;

	if (e->flow == INSN_CALL) {
		flow_call(w, s, insn);
		return;
	}
	if (e->op == EFFECT_PUSH || e->op == EFFECT_POP || e->op == EFFECT_LEAVE) {
		step_stack(s, e);
		return;
	}
	learn_all_stored(w, s, e);
	store(w, s, e);
	v = e->dst == EFFECT_NONE ? unknown : result(w, s, insn);
	other = e->op == EFFECT_LOAD && e->pair && e->src2 < EFFECT_REGS ? load(w, s, insn, 1)
									 : unknown;
	if (e->step != EFFECT_NONE)
		moved = value_plus(s->reg[e->step], e->step_by, false);
	for (unsigned r = 0; r < EFFECT_REGS; r++)
		if (e->writes >> r & 1)
			s->reg[r] = unknown;
	if (e->dst < EFFECT_REGS && e->writes >> e->dst & 1)
		s->reg[e->dst] = v;
	if (e->op == EFFECT_LOAD && e->src2 < EFFECT_REGS && e->pair)
		s->reg[e->src2] = other;
	if (e->step != EFFECT_NONE)
		s->reg[e->step] = moved;
}
