/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/types/types_value.h"

const struct value value_unknown = { .kind = VALUE_UNKNOWN };

bool value_same(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->indexed == b->indexed && a->stepped == b->stepped &&
	       a->type == b->type && a->derived == b->derived && a->off == b->off;
}

/* The outermost object that is at both places: a member that both have, a base class. */
static bool common_place(struct types *t, const struct value *a, const struct value *b,
			 struct type_place *out)
{
	struct type_place x[TYPES_MAX_NEST], y[TYPES_MAX_NEST];
	unsigned n = type_chain(t, a->type, a->off, x), m = type_chain(t, b->type, b->off, y);

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < m; k++)
			if (type_same(t, x[i].type, y[k].type) && x[i].off == y[k].off) {
				*out = x[i];
				return true;
			}
	return false;
}

/* The derived class of a pointer that is known as one to its base class, where paths met. */
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

/* Elements of an array, fields of one type, an object and one embedded in another. */
static struct value merge_pointers(struct types *t, const struct value *a, const struct value *b)
{
	uint64_t size = t->type.v[a->type].size;
	struct value v = *a;
	struct type_place p;

	v.indexed |= b->indexed;
	v.stepped |= b->stepped;
	v.derived = merge_derived(a->derived, b->derived);
	if (type_same(t, a->type, b->type) && a->off == b->off)
		return v;
	if (type_same(t, a->type, b->type) && size && (a->off - b->off) % (int64_t)size == 0) {
		v.indexed = v.stepped = true;
		return v;
	}
	if (!common_place(t, a, b, &p))
		return value_unknown;
	if (t->type.v[p.type].kind == TYPE_ARRAY) {
		v.indexed = v.stepped = true;
		if (type_same(t, a->type, b->type))
			return v;
	} else if (!p.off) {
		v.derived = merge_derived(derived_of(t, a, p.type), derived_of(t, b, p.type));
	}
	v.type = p.type;
	v.off = (int64_t)p.off;
	return v;
}

const struct type_static *value_variable(struct types *t, const struct value *v)
{
	if (v->kind == VALUE_THREAD)
		return type_thread_at(t, (uint64_t)v->off);
	return v->kind == VALUE_ADDRESS ? type_static_at(t, (uint64_t)v->off) : NULL;
}

/* An address of static data as a pointer to it. */
static struct value address_as_pointer(struct types *t, const struct value *v)
{
	const struct type_static *x = value_variable(t, v);

	if (!x)
		return *v;
	return (struct value){ .kind = VALUE_POINTER,
			       .indexed = v->indexed,
			       .stepped = v->stepped,
			       .type = x->type,
			       .off = (int64_t)((uint64_t)v->off - x->start) };
}

struct value value_merge(struct types *t, const struct value *a, const struct value *b)
{
	struct value x, y;

	if (value_same(a, b) || b->kind == VALUE_NEVER)
		return *a;
	if (a->kind == VALUE_NEVER)
		return *b;
	if (a->kind == VALUE_NULL && (b->kind == VALUE_POINTER || b->kind == VALUE_ADDRESS))
		return *b;
	if (b->kind == VALUE_NULL && (a->kind == VALUE_POINTER || a->kind == VALUE_ADDRESS))
		return *a;
	x = address_as_pointer(t, a);
	y = address_as_pointer(t, b);
	return x.kind == VALUE_POINTER && y.kind == VALUE_POINTER ? merge_pointers(t, &x, &y)
								  : value_unknown;
}

struct value value_plus(struct value v, int64_t off, bool indexed)
{
	if (v.kind == VALUE_UNKNOWN || v.kind == VALUE_NEVER || v.kind == VALUE_NULL ||
	    __builtin_add_overflow(v.off, off, &v.off))
		return value_unknown;
	v.indexed |= indexed;
	return v;
}

bool value_is_base(const struct value *v)
{
	return v->kind == VALUE_POINTER || v->kind == VALUE_ADDRESS || v->kind == VALUE_FRAME ||
	       v->kind == VALUE_THREAD;
}

bool value_is_void(const struct types *t, const struct value *v)
{
	return v->kind == VALUE_POINTER &&
	       (t->type.v[v->type].kind == TYPE_OPAQUE || t->type.v[v->type].kind == TYPE_FUNCTION);
}

bool value_is_part(struct types *t, const struct value *v, const struct value *part)
{
	struct type_place x[TYPES_MAX_NEST];
	unsigned n = 0;
	int64_t off;

	if (!__builtin_sub_overflow(v->off, part->off, &off))
		n = type_chain(t, v->type, off, x);
	for (unsigned i = 0; i < n; i++)
		if (type_same(t, x[i].type, part->type) && !x[i].off)
			return true;
	return false;
}
