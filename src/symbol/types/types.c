/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types - see types.h. Here: functions by address, made when they are first asked for, and the
 * questions.
 */
#include "symbol/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
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
	struct types *t = calloc(1, sizeof(*t));
	bool nomem = false;

	if (!t) {
		(void)err_nomem(err);
		return NULL;
	}
	t->source = (struct source *)(uintptr_t)s; /* its lazy part is not const */
	t->code = code;
	t->budget = 4 * s->file_size + 65536;
	t->unit_read = calloc(s->units.n + 1, sizeof(*t->unit_read));
	t->decoder = insn_decoder_new(code->machine, &nomem);
	t->machine = effect_machine(code->machine);
	t->thread_pointer = type_thread_pointer(t);
	if (!t->unit_read || nomem) {
		types_free(t);
		(void)err_nomem(err);
		return NULL;
	}
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
		if (type_functions_read(t, unit)) {
			t->nomem = true;
			return NULL;
		}
	}
	for (size_t i = t->sorted; i < t->own.n; i++) {
		if (vec_push(&t->range, t->own.v[i])) {
			t->nomem = true;
			return NULL;
		}
	}
	if (t->sorted != t->own.n)
		vec_sort(&t->range, by_range);
	t->sorted = t->own.n;
	bisect(at, t->range.n, i, t->range.v[i].lo > vaddr);
	return at && vaddr < t->range.v[at - 1].hi ? t->function.v[t->range.v[at - 1].function]
						   : NULL;
}

static const struct type_static *static_at(const struct type_static *x, size_t n, uint64_t at)
{
	size_t k;

	bisect(k, n, i, x[i].start > at);
	return k && at < x[k - 1].end ? &x[k - 1] : NULL;
}

static bool statics_read(struct types *t)
{
	if (!t->statics_read) {
		t->statics_read = true;
		t->nomem |= type_statics_read(t) != 0;
	}
	return !t->nomem;
}

const struct type_static *type_static_at(struct types *t, uint64_t vaddr)
{
	return statics_read(t) ? static_at(t->statics.v, t->statics.n, vaddr) : NULL;
}

const struct type_static *type_thread_at(struct types *t, uint64_t off)
{
	return statics_read(t) ? static_at(t->threads.v, t->threads.n, off) : NULL;
}

/* ---- questions ------------------------------------------------------------------------------- */

struct question {
	struct types *t;
	uint64_t vaddr, off;
	bool store;
	unsigned width;
	struct types_access *out;
};

static void fill(struct types *t, const struct type_hit *h, const char *field,
		 struct types_access *out)
{
	out->type = type_name(t, h->root);
	out->field = field;
	out->type_size = t->type.v[h->root].size;
	out->offset = h->start;
	out->size = h->size;
	out->why = TYPES_KNOWN;
}

/* The first answer at the address, or n. */
static size_t first_answer(const struct type_function *f, uint64_t vaddr)
{
	size_t at;

	bisect(at, f->answer.n, i, f->answer.v[i].vaddr >= vaddr);
	return at;
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

/* Of a function's instruction; NULL: none, and out->why. */
static struct type_answer *answer_of(const struct question *q, struct type_function *f)
{
	size_t i;

	if (!f->done) {
		f->done = true;
		q->t->nomem |= type_flow(q->t, f) != 0;
	}
	q->out->why = f->why != TYPES_KNOWN ? f->why : TYPES_NO_OPERAND;
	if (f->why != TYPES_KNOWN)
		return NULL;
	i = first_answer(f, q->vaddr);
	if (i == f->answer.n || f->answer.v[i].vaddr != q->vaddr)
		return NULL;
	/* of two operands, the one that is written, or read */
	if (i + 1 < f->answer.n && f->answer.v[i + 1].vaddr == q->vaddr &&
	    f->answer.v[i].store != q->store && f->answer.v[i + 1].store == q->store)
		i++;
	q->out->why = f->answer.v[i].why;
	q->out->stack = f->answer.v[i].stack;
	return q->out->why == TYPES_KNOWN ? &f->answer.v[i] : NULL;
}

static void ask(void *ctx)
{
	struct question *q = ctx;
	struct types *t = q->t;
	struct type_function *f = type_function_at(t, q->vaddr);
	struct type_answer *a;

	if (!f && is_linkage(t, q->vaddr))
		*q->out = (struct types_access){
			.type = "function *", .field = "", .type_size = 8, .size = 8
		};
	a = f ? answer_of(q, f) : NULL;
	if (!a)
		return;
	if (!a->field)
		a->field = type_field(t, &a->hit);
	fill(t, &a->hit, a->field, q->out);
}

/* At a place in an array of the type, or in one of it. */
static void answer_place(const struct question *q, uint32_t type, uint64_t off)
{
	struct effect_mem m = { .width = (uint8_t)(q->width < 255 ? q->width : 255) };
	struct type_hit h;

	type_hit(q->t, type, (int64_t)off, REACH_ARRAY, &m, &h);
	q->out->why = h.root == TYPE_NONE ? TYPES_MISFIT : TYPES_KNOWN;
	if (h.root != TYPE_NONE)
		fill(q->t, &h, type_field(q->t, &h), q->out);
}

static void ask_static(void *ctx)
{
	struct question *q = ctx;
	const struct type_static *x = type_static_at(q->t, q->vaddr);

	q->out->why = TYPES_NO_VARIABLE;
	if (x)
		answer_place(q, x->type, q->vaddr - x->start);
}

static void ask_within(void *ctx)
{
	struct question *q = ctx;
	struct type_function *f = type_function_at(q->t, q->vaddr);
	const struct type_answer *a = f ? answer_of(q, f) : NULL;

	if (a && q->off <= INT64_MAX)
		answer_place(q, a->hit.root, q->off);
}

static int answer(struct question *q, void (*fn)(void *ctx), struct err *err)
{
	struct types *t = q->t;
	bool read;

	*q->out = (struct types_access){ .why = TYPES_NO_DEBUG };
	if (!t)
		return 0;
	if (!t->machine && fn != ask_static) {
		q->out->why = TYPES_NO_DECODER;
		return 0;
	}
	(void)pthread_mutex_lock(&t->source->lock);
	read = src_read_dwarf(t->source, fn, q);
	(void)pthread_mutex_unlock(&t->source->lock);
	return !read || t->nomem ? err_nomem(err) : 0;
}

int types_at(struct types *t, uint64_t vaddr, bool store, struct types_access *out, struct err *err)
{
	struct question q = { .t = t, .vaddr = vaddr, .store = store, .out = out };

	return answer(&q, ask, err);
}

int types_static(struct types *t, uint64_t vaddr, unsigned width, struct types_access *out,
		 struct err *err)
{
	struct question q = { .t = t, .vaddr = vaddr, .width = width, .out = out };

	return answer(&q, ask_static, err);
}

int types_within(struct types *t, uint64_t vaddr, bool store, uint64_t off, unsigned width,
		 struct types_access *out, struct err *err)
{
	struct question q = {
		.t = t, .vaddr = vaddr, .store = store, .off = off, .width = width, .out = out
	};

	return answer(&q, ask_within, err);
}
