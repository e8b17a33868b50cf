// SPDX-License-Identifier: BSD-3-Clause
/*
 * mem_exprs - a plugin of GCC that writes what the compiler itself knows of each access to memory into the assembly: the expression of the source
 * that a memory operand came from, as structures and offsets. No debug information and no analysis of machine code is involved.
 *
 *	g++ -shared -fPIC -fno-rtti -O1 -I$(gcc -print-file-name=plugin)/include mem_exprs.cc -o mem_exprs.so
 *	gcc -O2 -g -dp -fplugin=mem_exprs.so -B DIR	DIR/as is mem_exprs_as.py
 *
 * Before each function there is a line for each memory operand that has an expression, with tabs between:
 *
 *	#mem UID KIND BYTES BASE PLACE...	UID: of the instruction, which -dp writes behind it; KIND: l, s, ls
 *
 * BASE is static, local, pointer, offset (a pointer with an offset that may have been to anything) or other. Places begin with the innermost:
 * OFFSET:SIZE:NAME, the offset of the access in an object of that type; in an array, in an element. A name of a structure begins with "struct ", of
 * a union with "union "; other types are "integer", "pointer", "float" or "-".
 */
#include <string>

#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "tree-pass.h"
#include "context.h"
#include "function.h"
#include "rtl.h"
#include "rtl-iter.h"
#include "memmodel.h"
#include "emit-rtl.h"
#include "output.h"
#include "langhooks.h"
#include "gimple-expr.h"
#include "fold-const.h"

int plugin_is_GPL_compatible;

/* As DWARF has it; "": it has none. */
static std::string text_of(tree decl, int how)
{
	const char *s = DECL_NAME(decl) ? lang_hooks.dwarf_name(decl, how) : NULL;

	return s ? s : "";
}

/* The namespaces and classes that a type is in. */
static std::string scope_of(tree t)
{
	std::string out;

	for (; t && TREE_CODE(t) != TRANSLATION_UNIT_DECL && TREE_CODE(t) != FUNCTION_DECL; t = TYPE_P(t) ? TYPE_CONTEXT(t) : DECL_CONTEXT(t)) {
		tree name = TYPE_P(t) ? TYPE_NAME(t) : t;
		std::string text;

		if (name && TREE_CODE(name) == IDENTIFIER_NODE)
			text = IDENTIFIER_POINTER(name);
		else if (name && TREE_CODE(name) == NAMESPACE_DECL)
			text = text_of(name, 1) != "" ? IDENTIFIER_POINTER(DECL_NAME(name)) : "";
		else if (name)
			text = text_of(name, 2);
		if (text != "" && text.compare(0, 11, "_GLOBAL__N_"))
			out = text + "::" + out;
	}
	return out;
}

static std::string name_of(tree type)
{
	tree name = TYPE_NAME(type);
	std::string kind = TREE_CODE(type) == UNION_TYPE ? "union " : "struct ";

	if (POINTER_TYPE_P(type))
		return "pointer";
	if (INTEGRAL_TYPE_P(type))
		return "integer";
	if (SCALAR_FLOAT_TYPE_P(type))
		return "float";
	if (TREE_CODE(type) != RECORD_TYPE && TREE_CODE(type) != UNION_TYPE)
		return "-";
	if (!name || (TREE_CODE(name) != IDENTIFIER_NODE && text_of(name, 2) == ""))
		return kind + "(anonymous)";
	if (TREE_CODE(name) == IDENTIFIER_NODE)
		return kind + IDENTIFIER_POINTER(name);
	return kind + scope_of(TYPE_CONTEXT(type)) + text_of(name, 2);
}

struct chain {
	std::string text;
	HOST_WIDE_INT at;

	/* The offset in an element, of an array. */
	HOST_WIDE_INT add(tree type)
	{
		HOST_WIDE_INT into = at;

		type = TYPE_MAIN_VARIANT(type);
		while (TREE_CODE(type) == ARRAY_TYPE) {
			type = TYPE_MAIN_VARIANT(TREE_TYPE(type));
			HOST_WIDE_INT size = int_size_in_bytes(type);
			if (size > 0)
				into = (into % size + size) % size;
		}
		text += "\t" + std::to_string((long)into) + ":" + std::to_string((long)int_size_in_bytes(type)) + ":" + name_of(type);
		return into;
	}
};

static const char *base_of(tree e)
{
	if (!DECL_P(e))
		return "other";
	return TREE_CODE(e) == VAR_DECL && (TREE_STATIC(e) || DECL_EXTERNAL(e)) ? (DECL_THREAD_LOCAL_P(e) ? "thread" : "static") : "local";
}

/* False: nothing is known of where the access is. */
static bool walk(tree e, chain *c, const char **base)
{
	for (;;) {
		HOST_WIDE_INT into = c->add(TREE_TYPE(e));
		switch (TREE_CODE(e)) {
		case COMPONENT_REF: {
			tree field = TREE_OPERAND(e, 1), off = component_ref_field_offset(e);

			if (!off || !tree_fits_shwi_p(off) || DECL_BIT_FIELD_TYPE(field))
				return false;
			c->at = into + tree_to_shwi(off) + (HOST_WIDE_INT)(tree_to_uhwi(DECL_FIELD_BIT_OFFSET(field)) / 8);
			break;
		}
		case ARRAY_REF:
		case REALPART_EXPR:
		case VIEW_CONVERT_EXPR:
			break;
		case IMAGPART_EXPR:
			c->at += int_size_in_bytes(TREE_TYPE(e));
			break;
		case MEM_REF:
		case TARGET_MEM_REF: {
			tree p = TREE_OPERAND(e, 0), off = TREE_OPERAND(e, 1);
			bool plain = TREE_CODE(e) == MEM_REF && integer_zerop(off);

			if (!tree_fits_shwi_p(off))
				return false;
			if (TREE_CODE(p) == ADDR_EXPR && (TREE_CODE(e) == MEM_REF || !TMR_INDEX2(e))) {
				c->at += tree_to_shwi(off);
				e = TREE_OPERAND(p, 0);
				if (plain || !DECL_P(e))
					continue;
				c->add(TREE_TYPE(e));
				*base = base_of(e);
				return true;
			}
			*base = plain ? "pointer" : "offset";
			return true;
		}
		default:
			*base = base_of(e);
			return true;
		}
		e = TREE_OPERAND(e, 0);
	}
}

static void note(const rtx_insn *insn, const_rtx mem, bool load, bool store)
{
	tree e = MEM_EXPR(mem);
	const char *base = "other";
	HOST_WIDE_INT off, bytes;

	if (!e || !MEM_OFFSET_KNOWN_P(mem) || !MEM_OFFSET(mem).is_constant(&off) || !GET_MODE_SIZE(GET_MODE(mem)).is_constant(&bytes))
		return;
	chain c = { "", off };
	if (!walk(e, &c, &base))
		return;
	fprintf(asm_out_file, "#mem\t%d\t%s%s\t%ld\t%s%s\n", INSN_UID(insn), load ? "l" : "", store ? "s" : "", (long)bytes, base, c.text.c_str());
}

struct stores {
	const_rtx mem[4];
	int n;
};

static void on_store(rtx x, const_rtx, void *ctx)
{
	stores *s = (stores *)ctx;

	while (GET_CODE(x) == SUBREG || GET_CODE(x) == ZERO_EXTRACT || GET_CODE(x) == STRICT_LOW_PART)
		x = XEXP(x, 0);
	if (MEM_P(x) && s->n < 4)
		s->mem[s->n++] = x;
}

static unsigned run(function *)
{
	fputs("#mem\tfunction\n", asm_out_file);
	for (rtx_insn *insn = get_insns(); insn; insn = NEXT_INSN(insn)) {
		stores s = { {}, 0 };
		if (!NONJUMP_INSN_P(insn) && !JUMP_P(insn) && !CALL_P(insn))
			continue;
		note_stores(insn, on_store, &s);
		subrtx_iterator::array_type array;
		FOR_EACH_SUBRTX(iter, array, PATTERN(insn), ALL) {
			const_rtx x = *iter;
			bool store = false, load = true;

			if (!MEM_P(x))
				continue;
			for (int i = 0; i < s.n; i++)
				if (s.mem[i] == x) {
					store = true;
					load = false;
				}
			note(insn, x, load, store);
		}
	}
	return 0;
}

static const pass_data what = { RTL_PASS, "mem_exprs", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0 };

struct mem_exprs : rtl_opt_pass {
	mem_exprs(gcc::context *g) : rtl_opt_pass(what, g) {}
	unsigned execute(function *f) override { return run(f); }
};

int plugin_init(plugin_name_args *args, plugin_gcc_version *version)
{
	if (!plugin_default_version_check(version, &gcc_version))
		return 1;
	register_pass_info info = { new mem_exprs(g), "final", 1, PASS_POS_INSERT_BEFORE };
	register_callback(args->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
	return 0;
}
