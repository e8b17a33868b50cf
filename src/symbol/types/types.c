/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types - see types.h. Here: functions by address, made when they are first asked for, and the
 * questions.
 */
#include "symbol/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "base/nomem.h"
#include "symbol/types/types_int.h"

static const struct {
	const char *key, *means;
} whys[] = {
#define TYPES_WHY(id, key, means) [TYPES_##id] = { key, means },
#include "symbol/types_why.def"
#undef TYPES_WHY
};

const char *types_why_key(enum types_why why)
{
	return whys[why].key;
}

const char *types_why_means(enum types_why why)
{
	return whys[why].means;
}

struct types *types_new(const struct source *s, const struct elf_file *code, struct err *err)
{
	struct types *t = xcalloc(1, sizeof(*t));
	const Dwarf_Die none = { .addr = NULL };

	(void)err;
	t->source = (struct source *)(uintptr_t)s; /* its lazy part is not const */
	t->code = code;
	t->budget = 4 * s->file_size + 65536;
	t->unit_read = xcalloc(s->units.n + 1, sizeof(*t->unit_read));
	t->decoder = insn_decoder_new(code->machine);
	t->machine = effect_machine(code->machine);
	t->thread_pointer = type_thread_pointer(t);
	(void)type_of_die(t, &none); /* type 0 is void */
	return t;
}

void types_free(struct types *t)
{
	if (!t)
		return;
	vec_each (&t->function, struct type_function **, f)
		vec_free(&(*f)->answer);
	vec_free(&t->function);
	vec_free(&t->type);
	vec_free(&t->member);
	vec_free(&t->own);
	vec_free(&t->range);
	vec_free(&t->statics);
	vec_free(&t->threads);
	vec_free(&t->linked);
	vec_free(&t->thread_symbols.sym);
	vec_free(&t->copies.sym);
	u64map_free(&t->by_die);
	u64map_free(&t->scope);
	u64map_free(&t->by_name);
	vec_free(&t->definition);
	arena_free(&t->arena);
	insn_decoder_free(t->decoder);
	free(t->unit_read);
	free(t);
}

/* ---- by address ------------------------------------------------------------------------------ */

static int by_range(const void *a, const void *b)
{
	const struct type_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

struct type_function *type_function_at(struct types *t, uint64_t vaddr)
{
	const struct source *s = t->source;
	uint32_t unit = src_segment_at(s->where.v, s->where.n, vaddr);
	size_t at;

	if (unit == SRC_NONE)
		return NULL;
	if (!t->unit_read[unit]) {
		t->unit_read[unit] = true;
		type_functions_read(t, unit);
	}
	for (size_t i = t->sorted; i < t->own.n; i++)
		vec_xpush(&t->range, t->own.v[i]);
	if (t->sorted != t->own.n)
		vec_sort(&t->range, by_range);
	t->sorted = t->own.n;
	bisect(at, t->range.n, i, t->range.v[i].lo > vaddr);
	return at && vaddr < t->range.v[at - 1].hi ? t->function.v[t->range.v[at - 1].function]
						   : NULL;
}

static const struct type_static *static_at(struct types *t, bool local, uint64_t at)
{
	const struct type_static *x;
	size_t k, n;

	if (!t->statics_read) {
		t->statics_read = true;
		type_statics_read(t);
	}
	x = local ? t->threads.v : t->statics.v;
	n = local ? t->threads.n : t->statics.n;
	bisect(k, n, i, x[i].start > at);
	return k && at < x[k - 1].end ? &x[k - 1] : NULL;
}

const struct type_static *type_static_at(struct types *t, uint64_t vaddr)
{
	return static_at(t, false, vaddr);
}

const struct type_static *type_thread_at(struct types *t, uint64_t off)
{
	return static_at(t, true, off);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void set_access(struct types *t, const struct type_hit *h, const char *field,
		       struct types_access *out)
{
	out->type = type_name(t, h->root);
	out->field = field;
	out->type_size = t->type.v[h->root].size;
	out->offset = h->start;
	out->size = h->size;
	out->why = TYPES_KNOWN;
}

/* A stub that jumps to a function of another file, through a table of their addresses. */
static bool is_linkage(const struct types *t, uint64_t vaddr)
{
	for (size_t i = 0; i < t->code->n_sec; i++) {
		const struct elf_sec *s = &t->code->sec[i];

		if (vaddr - s->addr < s->size && !strncmp(s->name, ".plt", 4))
			return true;
	}
	return false;
}

/* The answer for the instruction at `vaddr`; NULL: there is none, and out->why is set. */
static struct type_answer *answer_at(struct types *t, uint64_t vaddr, bool store,
				     struct types_access *out)
{
	struct type_function *f = type_function_at(t, vaddr);
	struct type_answer *a;
	size_t i;

	if (!f)
		return NULL;
	if (!f->done) {
		f->done = true;
		type_flow(t, f);
	}
	out->why = f->why != TYPES_KNOWN ? f->why : TYPES_NO_OPERAND;
	if (f->why != TYPES_KNOWN)
		return NULL;
	bisect(i, f->answer.n, k, f->answer.v[k].vaddr >= vaddr);
	if (i == f->answer.n || f->answer.v[i].vaddr != vaddr)
		return NULL;
	a = &f->answer.v[i];
	/* of two operands, the one that is written, or read */
	if (i + 1 < f->answer.n && a[1].vaddr == vaddr && a[0].store != store &&
	    a[1].store == store)
		a++;
	out->why = a->why;
	out->stack = a->stack;
	return a->why == TYPES_KNOWN ? a : NULL;
}

/* At a place in an array of the type, or in one of it. */
static void answer_place(struct types *t, uint32_t type, uint64_t off, unsigned width,
			 struct types_access *out)
{
	struct effect_mem m = { .width = (uint8_t)(width < 255 ? width : 255) };
	struct type_hit h;

	type_hit(t, type, (int64_t)off, REACH_ARRAY, &m, &h);
	out->why = h.root == TYPE_NONE ? TYPES_MISFIT : TYPES_KNOWN;
	if (h.root != TYPE_NONE)
		set_access(t, &h, type_field(t, &h), out);
}

/* Locks the source; false: there is nothing to answer with, and out->why is set. */
static bool begin_answer(struct types *t, bool instruction, struct types_access *out)
{
	*out = (struct types_access){ .why = TYPES_NO_DEBUG };
	if (!t)
		return false;
	if (!t->machine && instruction) {
		out->why = TYPES_NO_DECODER;
		return false;
	}
	src_lock(t->source);
	return true;
}

void types_at(struct types *t, uint64_t vaddr, bool store, struct types_access *out)
{
	struct type_answer *a;

	if (!begin_answer(t, true, out))
		return;
	a = answer_at(t, vaddr, store, out);
	if (a) {
		if (!a->field)
			a->field = type_field(t, &a->hit);
		set_access(t, &a->hit, a->field, out);
	} else if (!type_function_at(t, vaddr) && is_linkage(t, vaddr)) {
		*out = (struct types_access){
			.type = "function *", .field = "", .type_size = 8, .size = 8
		};
	}
	src_unlock(t->source);
}

void types_static(struct types *t, uint64_t vaddr, unsigned width, struct types_access *out)
{
	const struct type_static *x;

	if (!begin_answer(t, false, out))
		return;
	x = type_static_at(t, vaddr);
	out->why = TYPES_NO_VARIABLE;
	if (x)
		answer_place(t, x->type, vaddr - x->start, width, out);
	src_unlock(t->source);
}

void types_within(struct types *t, uint64_t vaddr, bool store, uint64_t off, unsigned width,
		  struct types_access *out)
{
	const struct type_answer *a;

	if (!begin_answer(t, true, out))
		return;
	a = answer_at(t, vaddr, store, out);
	if (a && off <= INT64_MAX)
		answer_place(t, a->hit.root, off, width, out);
	src_unlock(t->source);
}
