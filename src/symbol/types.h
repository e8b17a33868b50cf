/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types - the type and the field that an instruction accesses, from DWARF.
 *
 *	t = types_of(images, image, &err)		NULL: no debug information
 *	types_at(t, vaddr, store, &access)		an instruction, by ELF virtual address
 *	types_static(t, vaddr, width, &access)		static data, by ELF virtual address
 *	types_within(t, vaddr, store, off, width, &access)	a place in such a type
 *
 * The first question about a function reads the locations of its variables and follows its
 * registers once, forward over its basic blocks: copies, additions, loads of fields that are
 * pointers, spills, calls whose type is known. A memory operand then has a type if its base is a
 * register that holds a known pointer, or if it is a variable: static, thread-local, of the frame.
 * If several types are possible, the one whose field is as wide as the access wins. A pointer that
 * was loaded from a union of several is the one that has fields where the function reads through
 * it, if that is one alone.
 *
 * An access behind the end of a structure is one to another element of an array of it if a loop
 * goes over it, or a variable is one; an index alone is no evidence, as a table may lie behind its
 * header: then it has no type. A bit-field is the bytes that it lies in; of several in the same
 * bytes the field is "a|b". An access wider than a scalar that a pointer points to is no evidence
 * of that type, and has none; nor has a part of a pointer, nor one that reaches behind the end of a
 * structure. Data that the compiler made has the types "jump table" (of a switch)
 * and "constant" (read from where it lies in constant data that no variable is in). The types are
 * those of the source: a cast changes them.
 *
 * x86-64 with Zydis, and AArch64; other code has TYPES_NO_DECODER.
 * DWARF is hostile: depths, members, variables and steps are bounded; beyond that a function has
 * TYPES_TOO_LARGE.
 * Costs: some 2 ms for a function of 1,000 instructions, then one binary search an access. The
 * first access to static data reads the variables of all units, the first structure that its unit
 * only declares the names of all structures.
 * Threads: any number at once; they wait for one another.
 */
#ifndef CYCLADE_SYMBOL_TYPES_H
#define CYCLADE_SYMBOL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct types;
struct images;
struct source;
struct elf_file;

enum types_why {
#define TYPES_WHY(id, ...) TYPES_##id,
#include "symbol/types_why.def"
#undef TYPES_WHY
	TYPES_WHYS
};

struct types_access {
	enum types_why why; /* TYPES_KNOWN (0): the rest is filled in */
	bool stack; /* of a variable in the function's frame; or for unknown ones: in the frame */
	const char *type;  /* "struct node", "int", "std::string"; the types' */
	const char *field; /* "next", "pos.x", "items[].key"; "": all of it; the types' */
	uint64_t type_size, offset, size; /* in bytes; offset of the field in the type, its size */
};

/* Kept by the images. NULL: there is no debug information (err stays clear), or a failure. */
struct types *types_of(struct images *set, uint32_t image, struct err *err);
/* The same over a file's DWARF and the code that it is of; both must outlive it. */
struct types *types_new(const struct source *s, const struct elf_file *code,
			struct err *err) MUST_USE;
void types_free(struct types *t); /* NULL is fine */

/* `t` NULL: TYPES_NO_DEBUG. `store`: of an instruction that has a source and a destination in
 * memory, the latter. */
void types_at(struct types *t, uint64_t vaddr, bool store, struct types_access *out);
/* width 0: not known. */
void types_static(struct types *t, uint64_t vaddr, unsigned width, struct types_access *out);
/* Finds the access `off` bytes behind the start of an array of the type that types_at() has for
 * that instruction. Without such a type `why` is that of types_at(). */
void types_within(struct types *t, uint64_t vaddr, bool store, uint64_t off, unsigned width,
		  struct types_access *out);

/* "no_base"; "the type of the pointer is not known". */
const char *types_why_key(enum types_why why);
const char *types_why_means(enum types_why why);

#endif
