/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_die - types and their fields, read from DWARF as they are needed.
 */
#include <dwarf.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "symbol/types/types_int.h"

/* ---- from a DIE to a type -------------------------------------------------------------------- */

static bool is_wrapper(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_template_alias:
		return true;
	default:
		return false;
	}
}

static enum type_kind type_kind_of_tag(int tag)
{
	switch (tag) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_ptr_to_member_type:
		return TYPE_SCALAR;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return TYPE_POINTER;
	case DW_TAG_array_type:
		return TYPE_ARRAY;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return TYPE_STRUCT;
	case DW_TAG_subroutine_type:
		return TYPE_FUNCTION;
	default:
		return TYPE_OPAQUE;
	}
}

/* The type that a DIE refers to; *alias: the last typedef's name on the way. */
static Dwarf_Die unwrap_type(Dwarf_Die die, const char **alias)
{
	Dwarf_Attribute attr;
	Dwarf_Die none;

	memset(&none, 0, sizeof(none));
	for (int i = 0; i < 2 * SRC_MAX_CHAIN && is_wrapper(dwarf_tag(&die)); i++) {
		if (dwarf_tag(&die) == DW_TAG_typedef)
			*alias = dwarf_diename(&die);
		if (!dwarf_attr(&die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &die))
			return none;
	}
	return is_wrapper(dwarf_tag(&die)) ? none : die;
}

static uint64_t type_size_of(struct type *y)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (dwarf_attr_integrate(&y->die, DW_AT_byte_size, &attr) && !dwarf_formudata(&attr, &v) &&
	    v < INT64_MAX)
		return v;
	return y->kind == TYPE_POINTER ? 8 : 0;
}

/* Returns the elements of all dimensions together; 0: not known. */
static uint64_t array_length(Dwarf_Die *array)
{
	uint64_t all = 1;
	Dwarf_Die die;
	int n = 0;

	if (dwarf_child(array, &die))
		return 0;
	do {
		uint64_t v;

		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (!src_number(&die, DW_AT_count, &v)) {
			if (!src_number(&die, DW_AT_upper_bound, &v))
				return 0;
			v++;
		}
		if (!v || v > UINT32_MAX || all > UINT32_MAX)
			return 0;
		all *= v;
	} while (++n < SRC_MAX_CHAIN && !dwarf_siblingof(&die, &die));
	return n ? all : 0;
}

uint32_t type_of_die(struct types *t, const Dwarf_Die *from)
{
	const char *alias = NULL;
	Dwarf_Die die = *from;
	struct type *y;
	uint64_t *at;
	bool fresh;

	if (die.addr)
		die = unwrap_type(die, &alias);
	if (die.addr && type_kind_of_tag(dwarf_tag(&die)) == TYPE_STRUCT &&
	    dwarf_hasattr(&die, DW_AT_declaration))
		type_define(t, &die);
	at = u64map_xat(&t->by_die, (uint64_t)(uintptr_t)die.addr, &fresh);
	if (!fresh || t->type.n >= TYPE_NONE - 1)
		return (uint32_t)*at;
	*at = t->type.n;
	y = vec_xadd(&t->type);
	*y = (struct type){ .die = die, .alias = alias, .target = TYPE_NONE };
	if (!die.addr)
		return (uint32_t)*at;
	y->kind = type_kind_of_tag(dwarf_tag(&die));
	if (dwarf_hasattr(&die, DW_AT_declaration))
		y->kind = TYPE_OPAQUE;
	y->size = type_size_of(y);
	return (uint32_t)*at;
}

uint32_t type_of_attr(struct types *t, Dwarf_Die *of)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;

	memset(&die, 0, sizeof(die));
	if (!dwarf_attr_integrate(of, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &die))
		die.addr = NULL;
	return type_of_die(t, &die);
}

uint32_t type_target(struct types *t, uint32_t id)
{
	Dwarf_Die die = t->type.v[id].die;
	uint32_t target = t->type.v[id].target;
	bool array = t->type.v[id].kind == TYPE_ARRAY;
	struct type *y;
	uint64_t n;

	if (t->type.v[id].target_read || t->type.v[id].kind < TYPE_POINTER ||
	    t->type.v[id].kind == TYPE_STRUCT)
		return target;
	target = type_of_attr(t, &die);
	/* an array of arrays is one of their elements */
	for (int i = 0; array && t->type.v[target].kind == TYPE_ARRAY && i < SRC_MAX_CHAIN; i++) {
		Dwarf_Die inner = t->type.v[target].die;

		target = type_of_attr(t, &inner);
	}
	if (target == id || (array && t->type.v[target].kind == TYPE_ARRAY)) {
		memset(&die, 0, sizeof(die));
		target = type_of_die(t, &die);
	}
	n = array && !t->type.v[id].size ? array_length(&die) : 0;
	y = &t->type.v[id];
	y->target = target;
	y->target_read = true;
	if (n && t->type.v[target].size < INT64_MAX / n)
		y->size = n * t->type.v[target].size;
	return target;
}

bool type_is_declared(struct types *t, uint32_t pointer)
{
	Dwarf_Die die = t->type.v[pointer].die;
	const char *alias = NULL;
	Dwarf_Attribute attr;

	if (!dwarf_attr(&die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &die))
		return false;
	die = unwrap_type(die, &alias);
	return die.addr && dwarf_hasattr(&die, DW_AT_declaration);
}

/* ---- members --------------------------------------------------------------------------------- */

/* False: not at a constant place (a virtual base). */
static bool member_offset(Dwarf_Die *die, uint64_t *off)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	*off = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return true;
	if (!src_number(die, DW_AT_data_member_location, off)) {
		if (dwarf_getlocation(&attr, &op, &n) || n != 1 || op->atom != DW_OP_plus_uconst)
			return false;
		*off = op->number;
	}
	return *off < INT64_MAX / 16;
}

/* Where the bits lie: from the structure's start, or, before DWARF 4, back from the last one of a
 * number of so many bytes. */
static bool place_bits(const struct types *t, Dwarf_Die *die, struct type_member *m)
{
	uint64_t bits, from = 0, storage = t->type.v[m->type].size;

	if (!src_number(die, DW_AT_bit_size, &bits))
		return true;
	if (!bits || bits > UINT8_MAX - 7)
		return false;
	if (!src_number(die, DW_AT_data_bit_offset, &from) &&
	    src_number(die, DW_AT_bit_offset, &from)) {
		(void)src_number(die, DW_AT_byte_size, &storage);
		from = 8 * storage - from - bits;
	}
	if (storage > UINT32_MAX || (int64_t)from < 0 || from > INT64_MAX / 16)
		return false;
	m->offset += from / 8;
	m->bit = (uint8_t)(from % 8);
	m->bits = (uint8_t)bits;
	return true;
}

/* The storage of a C++ library's node, which is bytes to the compiler: its template parameter. */
static bool read_storage(struct types *t, Dwarf_Die *top, struct type_member *m)
{
	const char *name = dwarf_diename(top);
	Dwarf_Die die;

	if (!name ||
	    (strncmp(name, "__aligned_membuf<", 17) && strncmp(name, "__aligned_buffer<", 17)) ||
	    dwarf_child(top, &die))
		return false;
	for (int i = 0; i < SRC_MAX_CHAIN; i++) {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter) {
			*m = (struct type_member){ .type = type_of_attr(t, &die) };
			return true;
		}
		if (dwarf_siblingof(&die, &die))
			return false;
	}
	return false;
}

static void read_members(struct types *t, uint32_t id)
{
	struct type_member storage;
	Dwarf_Die die, top = t->type.v[id].die;
	size_t first = t->member.n;

	t->type.v[id].members_read = true;
	if (read_storage(t, &top, &storage)) {
		vec_xpush(&t->member, storage);
	} else if (!dwarf_child(&top, &die)) {
		do {
			int tag = dwarf_tag(&die);
			struct type_member m = { .name = NULL };

			if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
			    dwarf_hasattr(&die, DW_AT_external) ||
			    dwarf_hasattr(&die, DW_AT_declaration) ||
			    !member_offset(&die, &m.offset))
				continue;
			m.name = tag == DW_TAG_member ? dwarf_diename(&die) : NULL;
			m.type = type_of_attr(t, &die);
			if (place_bits(t, &die, &m))
				vec_xpush(&t->member, m);
		} while (t->member.n - first < TYPES_MAX_MEMBERS && !dwarf_siblingof(&die, &die));
	}
	t->type.v[id].first = first;
	t->type.v[id].n = t->member.n - first;
}

size_t type_members(struct types *t, uint32_t id, size_t *first)
{
	if (t->type.v[id].kind == TYPE_STRUCT && !t->type.v[id].members_read)
		read_members(t, id);
	*first = t->type.v[id].first;
	return t->type.v[id].n;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct value type_value(struct types *t, uint32_t id)
{
	struct value none = { .kind = VALUE_UNKNOWN };

	/* a structure that is nothing but a pointer, as iterators are */
	for (int i = 0; i < TYPES_MAX_NEST && t->type.v[id].kind == TYPE_STRUCT; i++) {
		uint32_t next = TYPE_NONE;
		size_t k, n;

		if (t->type.v[id].size != 8)
			return none;
		for (n = type_members(t, id, &k); n && next == TYPE_NONE; n--, k++)
			if (!t->member.v[k].offset && t->type.v[t->member.v[k].type].size == 8)
				next = t->member.v[k].type;
		if (next == TYPE_NONE)
			return none;
		id = next;
	}
	if (t->type.v[id].kind != TYPE_POINTER)
		return none;
	return (struct value){ .kind = VALUE_POINTER, .type = type_target(t, id) };
}

bool type_in_memory(const struct types *t, uint32_t id)
{
	const struct type *y = &t->type.v[id];
	uint64_t v;

	return y->kind == TYPE_STRUCT &&
	       (y->size > 16 || (src_number(&y->die, DW_AT_calling_convention, &v) &&
				 v == DW_CC_pass_by_reference));
}

bool type_has_end(struct types *t, uint32_t id)
{
	size_t first, n;

	if (!t->type.v[id].die.addr || type_is_c(&t->type.v[id].die))
		return false;
	n = type_members(t, id, &first);
	for (size_t i = first; i < first + n; i++)
		if (t->member.v[i].name && !strncmp(t->member.v[i].name, "_vptr", 5))
			return false;
	return true;
}

/* ---- names --------------------------------------------------------------------------------- */

bool type_is_c(const Dwarf_Die *die)
{
	Dwarf_Die unit;
	int language = dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL)
			       ? dwarf_srclang(&unit)
			       : 0;

	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11;
}

static const char *type_keyword(const Dwarf_Die *die)
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

static const char *plain_type_name(struct types *t, const struct type *y)
{
	Dwarf_Die die = y->die;
	const char *name = die.addr ? dwarf_diename(&die) : NULL;
	const uint64_t *scope = u64map_find(&t->scope, (uint64_t)(uintptr_t)die.addr);

	if (!die.addr)
		return "void";
	if (!name)
		return y->alias ? arena_xstrdup(&t->arena, y->alias)
				: arena_xprintf(&t->arena, "%s(anonymous)", type_keyword(&die));
	if (scope)
		return arena_xprintf(&t->arena, "%s%s", (const char *)(uintptr_t)*scope, name);
	return arena_xprintf(&t->arena, "%s%s", type_is_c(&die) ? type_keyword(&die) : "", name);
}

static const char *name_nested_type(struct types *t, uint32_t id, int depth)
{
	const char *name = t->type.v[id].name, *target;
	enum type_kind kind = t->type.v[id].kind;
	Dwarf_Die die = t->type.v[id].die;

	if (name)
		return name;
	if (kind == TYPE_POINTER || kind == TYPE_ARRAY) {
		uint32_t to = type_target(t, id);

		target = depth < TYPES_MAX_NEST ? name_nested_type(t, to, depth + 1) : "...";
		name = arena_xprintf(&t->arena, "%s%s", target,
				     kind == TYPE_ARRAY			      ? "[]"
				     : dwarf_tag(&die) == DW_TAG_pointer_type ? " *"
									      : " &");
	} else if (kind == TYPE_FUNCTION) {
		name = "function";
	} else {
		name = plain_type_name(t, &t->type.v[id]);
	}
	t->type.v[id].name = name;
	return name;
}

const char *type_name(struct types *t, uint32_t id)
{
	return name_nested_type(t, id, 0);
}

bool type_same(struct types *t, uint32_t a, uint32_t b)
{
	const struct type *x = &t->type.v[a], *y = &t->type.v[b];
	if (a == b || x->kind != TYPE_STRUCT || y->kind != TYPE_STRUCT || x->size != y->size ||
	    x->die.cu == y->die.cu)
		return a == b;
	return !strcmp(type_name(t, a), type_name(t, b));
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
		if (t->type.n >= TYPE_NONE - 1)
			return TYPE_NONE;
		vec_xpush(&t->type, y);
		t->made[made][width] = (uint32_t)t->type.n;
	}
	return t->made[made][width] - 1;
}
