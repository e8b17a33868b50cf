/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_places_fold - the types of objects, and the fields at their places.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_counts_int.h"
#include "analyse/memory/memory_int.h"
#include "analyse/memory/memory_objects_int.h"
#include "analyse/memory/memory_types.h"
#include "base/bisect.h"
#include "base/invariant.h"

enum {
	LEAST = 8,	/* samples that agree, for a type of a site */
	TYPES_MOST = 64 /* of a site that are looked at */
};

#define AGREED 0.9 /* of the samples of a site that have a type */

static const char *const why_text[] = {
#define MEMORY_TYPE_WHY(id, text) [MEMORY_TYPE_##id] = text,
#include "analyse/memory/memory_type_why.def"
#undef MEMORY_TYPE_WHY
};

const char *memory_type_why_text(enum memory_type_why why)
{
	return why_text[why];
}

struct fold {
	struct memory_objects *o;
	struct images *set;
	const struct memory_group **access; /* by key */
	size_t n_access;
	VEC(struct memory_placed) placed;
	VEC(struct memory_object_type) type;
};

#define ANSWERS 256u /* a power of two */

/* The field at a place, kept: many instructions access the same ones. */
struct answer {
	uint64_t off;
	unsigned width;
	bool known;
	struct types_access access;
};

/* An object while it is judged. */
struct judged {
	struct answer answer[ANSWERS];
	const struct memory_place *place;
	size_t n;
	const struct memory_object *object;
	const struct memory_group *like; /* an access of the site's type; NULL: a variable */
	uint64_t odd;			 /* samples in allocations of another size */
	bool several;
	struct memory_object_type *type;
};

/* ---- instructions ---------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct memory_group *x = *(const struct memory_group *const *)a,
				  *y = *(const struct memory_group *const *)b;

	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static int sort_accesses(struct fold *f, const struct memory *m)
{
	size_t first = m->first[MEMORY_ACCESS], n = m->first[MEMORY_ACCESS + 1] - first;

	f->access = calloc(n + 1, sizeof(*f->access));
	f->n_access = n;
	if (!f->access)
		return -1;
	for (size_t i = 0; i < n; i++)
		f->access[i] = &m->group[first + i];
	if (n > 1)
		qsort(f->access, n, sizeof(*f->access), by_key);
	return 0;
}

static const struct memory_group *access_of(const struct fold *f, const struct memory_place *p)
{
	size_t at;

	bisect(at, f->n_access, i,
	       f->access[i]->key[1] != p->access[1] ? f->access[i]->key[1] > p->access[1]
						    : f->access[i]->key[0] > p->access[0]);
	assert(at && f->access[at - 1]->key[0] == p->access[0]);
	return f->access[at - 1];
}

/* Returns true if the type is not known, and the address can help: the stack has no objects. */
static bool is_open(const struct types_access *a)
{
	return a->why != TYPES_KNOWN && a->why != TYPES_STACK && a->why != TYPES_THREAD_LOCAL;
}

/* ---- the field at a place -------------------------------------------------------------------- */

/* `off` bytes into a variable, or into an allocation of the site's type. */
static int ask(const struct fold *f, const struct judged *j, uint64_t off, unsigned width,
	       struct types_access *out, struct err *err)
{
	const struct memory_group *g = j->like;
	uint32_t image = g ? memory_access_image(g) : j->object->data.image;
	struct err none = ERR_INIT;
	struct types *t = types_of(f->set, image, &none);
	uint64_t vaddr;

	*out = (struct types_access){ .why = TYPES_NO_DEBUG };
	if (!t)
		return none.code == ERR_NOMEM ? err_nomem(err) : 0;
	if (!g)
		types_static(t, j->object->data.variable->start + off, width, out);
	else if (image_to_vaddr(f->set, image, g->key[0], &vaddr))
		types_within(t, vaddr, memory_access_kind(g) == MEMORY_STORE, off, width, out);
	return 0;
}

/* In the variable, or in an array of the site's type. */
static int at_place(const struct fold *f, struct judged *j, const struct memory_place *p,
		    struct types_access *out, struct err *err)
{
	const struct memory_group *g = j->like;
	uint64_t off = g ? p->off % g->access.type_size : p->off;
	struct answer *a = &j->answer[(off * 5 + p->width) & (ANSWERS - 1)];

	*out = (struct types_access){ .why = TYPES_NO_DEBUG };
	if (g && p->size % g->access.type_size)
		return 0;
	if (!a->known || a->off != off || a->width != p->width) {
		if (ask(f, j, off, p->width, &a->access, err))
			return -1;
		a->off = off;
		a->width = p->width;
		a->known = true;
	}
	*out = a->access;
	return 0;
}

static bool same_type(const struct types_access *x, const struct types_access *y)
{
	return x->type_size == y->type_size && !strcmp(x->type, y->type);
}

/* "pos.x" ends with "x". */
static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return k && k < n && path[n - k - 1] == '.' && !strcmp(path + n - k, end);
}

enum { SAME, PART, ELSEWHERE, OTHER };

/* Compares the type of the operand with that of the address. Members of unions lie in one place. */
static int compare(const struct types_access *operand, const struct types_access *place)
{
	if (same_type(operand, place))
		return !strcmp(operand->field, place->field) ||
				       (operand->offset < place->offset + place->size &&
					place->offset < operand->offset + operand->size)
			       ? SAME
			       : ELSEWHERE;
	if (!*operand->field && operand->type_size == place->size)
		return PART;
	if (operand->size == place->size &&
	    (ends_with(place->field, operand->field) || ends_with(operand->field, place->field)))
		return PART;
	return OTHER;
}

/* ---- the type of a site ---------------------------------------------------------------------- */

/* Returns the type of most samples; structures before their possible members. */
static const struct memory_group *likely(const struct fold *f, const struct judged *j)
{
	const struct memory_group *g[TYPES_MOST], *best = NULL;
	uint64_t samples[TYPES_MOST], most = 0;
	size_t n = 0, k;
	bool is_struct = false;

	for (size_t i = 0; i < j->n; i++) {
		const struct memory_group *x = access_of(f, &j->place[i]);

		if (x->access.why != TYPES_KNOWN || !x->access.type_size)
			continue;
		for (k = 0; k < n && !same_type(&g[k]->access, &x->access); k++)
			;
		if (k == TYPES_MOST)
			continue;
		if (k == n) {
			g[n] = x;
			samples[n++] = 0;
		}
		samples[k] += j->place[i].n.samples;
	}
	for (k = 0; k < n; k++) {
		bool s = *g[k]->access.field != 0;

		if (s < is_struct || (s == is_struct && samples[k] <= most))
			continue;
		best = g[k];
		most = samples[k];
		is_struct = s;
	}
	return best;
}

/* Counts how samples with a type agree with their addresses. */
static int count_agreement(const struct fold *f, struct judged *j, struct err *err)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct memory_place *p = &j->place[i];
		const struct memory_group *g = access_of(f, p);
		struct types_access place;
		int is;

		if (j->like && p->size % j->like->access.type_size)
			j->odd += p->n.samples;
		if (g->access.why != TYPES_KNOWN)
			continue;
		if (at_place(f, j, p, &place, err))
			return -1;
		is = place.why == TYPES_KNOWN ? compare(&g->access, &place) : ELSEWHERE;
		j->several |= is == OTHER;
		*(is == SAME   ? &j->type->same
		  : is == PART ? &j->type->part
			       : &j->type->differs) += p->n.samples;
	}
	return 0;
}

static enum memory_type_why judge(const struct judged *j)
{
	const struct memory_object_type *t = j->type;
	uint64_t typed = t->same + t->part + t->differs, all = 0;

	for (size_t i = 0; i < j->n; i++)
		all += j->place[i].n.samples;
	if (t->type_size == 1)
		return MEMORY_TYPE_BYTES;
	if (!j->like)
		return MEMORY_TYPE_KNOWN;
	if (typed < LEAST)
		return MEMORY_TYPE_NO_TYPES;
	if ((double)j->odd > (1 - AGREED) * (double)all)
		return MEMORY_TYPE_SIZES;
	if ((double)t->differs > (1 - AGREED) * (double)typed)
		return j->several ? MEMORY_TYPE_SEVERAL : MEMORY_TYPE_ELSEWHERE;
	return t->same < LEAST || t->same < typed / 2 ? MEMORY_TYPE_NO_TYPES : MEMORY_TYPE_KNOWN;
}

static int find_type(const struct fold *f, struct judged *j, struct err *err)
{
	const struct memory_place first = { .off = 0 };
	struct types_access a;

	j->type->why = MEMORY_TYPE_NO_TYPES;
	j->like = j->object->data.site ? likely(f, j) : NULL;
	if (j->like)
		a = j->like->access;
	else if (j->object->data.site)
		return 0;
	else if (at_place(f, j, &first, &a, err))
		return -1;
	j->type->type_size = a.type_size;
	if (count_agreement(f, j, err))
		return -1;
	j->type->why = judge(j);
	j->type->type = j->type->why == MEMORY_TYPE_KNOWN ? a.type : NULL;
	return 0;
}

/* ---- places that are named by it ------------------------------------------------------------- */

static int place_rest(struct fold *f, struct judged *j, struct err *err)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct memory_place *p = &j->place[i];
		struct memory_placed x = { .object = p->object, .n = p->n };

		if (!is_open(&access_of(f, p)->access))
			continue;
		if (j->type->why == MEMORY_TYPE_KNOWN && at_place(f, j, p, &x.access, err))
			return -1;
		if (j->type->why != MEMORY_TYPE_KNOWN || x.access.why != TYPES_KNOWN) {
			j->type->unplaced += p->n.samples;
			continue;
		}
		j->type->placed += p->n.samples;
		if (vec_push(&f->placed, x))
			return err_nomem(err);
	}
	return 0;
}

static int fold_object(struct fold *f, const struct memory_place *p, size_t n, uint64_t left_out,
		       struct err *err)
{
	struct judged j = { .place = p, .n = n, .object = &f->o->object[p->object] };

	j.type = vec_add(&f->type);
	if (!j.type)
		return err_nomem(err);
	*j.type = (struct memory_object_type){ .object = p->object, .left_out = left_out };
	return find_type(f, &j, err) || place_rest(f, &j, err) ? -1 : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct memory_place *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	for (int i = 1; i >= 0; i--)
		if (x->access[i] != y->access[i])
			return x->access[i] < y->access[i] ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->width > y->width) - (x->width < y->width);
}

static int by_field(const void *a, const void *b)
{
	const struct memory_placed *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->access.offset != y->access.offset)
		return x->access.offset < y->access.offset ? -1 : 1;
	if (x->access.size != y->access.size)
		return x->access.size < y->access.size ? -1 : 1;
	return strcmp(x->access.field, y->access.field);
}

static int by_samples(const void *a, const void *b)
{
	const struct memory_placed *x = a, *y = b;

	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	return by_field(a, b);
}

static void add_up(struct fold *f)
{
	size_t n = 0;

	vec_sort(&f->placed, by_field);
	for (size_t i = 0; i < f->placed.n; i++) {
		struct memory_placed *x = &f->placed.v[i], *to = n ? &f->placed.v[n - 1] : x;

		if (!n || by_field(to, x)) {
			f->placed.v[n++] = *x;
			continue;
		}
		memory_counts_add(&to->n, &x->n);
	}
	f->placed.n = n;
	vec_sort(&f->placed, by_samples);
	f->o->placed = f->placed.v;
	f->o->n_placed = n;
	f->o->type = f->type.v;
	f->o->n_types = f->type.n;
}

static int by_number(const void *a, const void *b)
{
	const struct places_of *x = a, *y = b;

	return (x->object > y->object) - (x->object < y->object);
}

static uint64_t left_out_of(const struct memory_places *w, uint32_t object)
{
	size_t at;

	bisect(at, w->of.n, i, w->of.v[i].object > object);
	assert(at && w->of.v[at - 1].object == object);
	return w->of.v[at - 1].left_out;
}

int memory_objects_type(struct memory_objects *o, const struct memory *m, struct err *err)
{
	struct memory_places *w = &o->work->part->places;
	struct fold f = { .o = o, .set = spaces_images(o->work->spaces) };
	int ret = 0;

	memory_places_pack(w);
	if (!w->v.n)
		return 0;
	if (sort_accesses(&f, m))
		return err_nomem(err);
	vec_sort(&w->v, by_place);
	vec_sort(&w->of, by_number);
	for (size_t i = 0, k; i < w->v.n && !ret; i = k) {
		const struct memory_place *p = &w->v.v[i];

		for (k = i + 1; k < w->v.n && w->v.v[k].object == p->object; k++)
			;
		ret = fold_object(&f, p, k - i, left_out_of(w, p->object), err);
	}
	add_up(&f);
	free(f.access);
	return ret;
}
