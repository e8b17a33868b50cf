/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_name - what types are called, and those that have a name alone.
 */
#include <dwarf.h>
#include <string.h>

#include "symbol/types/types_int.h"

bool type_is_c(const Dwarf_Die *die)
{
	Dwarf_Die unit;
	int language = dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL)
			       ? dwarf_srclang(&unit)
			       : 0;

	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

static const char *keyword(const Dwarf_Die *die)
{
	Dwarf_Die d = *die;

	switch (dwarf_tag(&d)) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

static const char *plain_name(struct types *t, const struct type *y)
{
	Dwarf_Die die = y->die;
	const char *name = die.addr ? dwarf_diename(&die) : NULL;
	const uint64_t *scope = u64map_find(&t->scope, (uint64_t)(uintptr_t)die.addr);

	if (!die.addr)
		return "void";
	if (!name)
		return y->alias ? arena_strdup(&t->arena, y->alias)
				: arena_printf(&t->arena, "%s(anonymous)", keyword(&die));
	if (scope)
		return arena_printf(&t->arena, "%s%s", (const char *)(uintptr_t)*scope, name);
	return arena_printf(&t->arena, "%s%s", type_is_c(&die) ? keyword(&die) : "", name);
}

static const char *name_of(struct types *t, uint32_t id, int depth)
{
	const char *name = t->type.v[id].name, *target;
	enum type_kind kind = t->type.v[id].kind;
	Dwarf_Die die = t->type.v[id].die;

	if (name)
		return name;
	if (kind == TYPE_POINTER || kind == TYPE_ARRAY) {
		uint32_t to = type_target(t, id);

		if (to == TYPE_NONE)
			return NULL;
		target = depth < TYPES_MAX_NEST ? name_of(t, to, depth + 1) : "...";
		if (target)
			name = arena_printf(&t->arena, "%s%s", target,
					    kind == TYPE_ARRAY			     ? "[]"
					    : dwarf_tag(&die) == DW_TAG_pointer_type ? " *"
										     : " &");
	} else if (kind == TYPE_FUNCTION) {
		name = "function";
	} else {
		name = plain_name(t, &t->type.v[id]);
	}
	t->type.v[id].name = name;
	t->nomem |= !name;
	return name;
}

const char *type_name(struct types *t, uint32_t id)
{
	return name_of(t, id, 0);
}

bool type_same(struct types *t, uint32_t a, uint32_t b)
{
	const struct type *x = &t->type.v[a], *y = &t->type.v[b];
	const char *name;

	if (a == b || x->kind != TYPE_STRUCT || y->kind != TYPE_STRUCT || x->size != y->size ||
	    x->die.cu == y->die.cu)
		return a == b;
	name = type_name(t, a);
	return name && type_name(t, b) && !strcmp(name, type_name(t, b));
}

uint32_t type_made(struct types *t, enum type_made made, unsigned width)
{
	static const char *const names[] = {
		[TYPE_MADE_TABLE] = "jump table", [TYPE_MADE_CONSTANT] = "constant"
	};
	struct type y = {
		.name = names[made], .size = width, .kind = TYPE_SCALAR, .target = TYPE_NONE
	};

	if (!width || width > TYPES_MAX_WIDTH)
		return TYPE_NONE;
	if (!t->made[made][width]) {
		if (t->type.n >= TYPE_NONE - 1 || vec_push(&t->type, y)) {
			t->nomem = true;
			return TYPE_NONE;
		}
		t->made[made][width] = (uint32_t)t->type.n;
	}
	return t->made[made][width] - 1;
}
