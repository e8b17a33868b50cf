/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_int - inside of the types: types.c (functions by address, the questions), types_units.c
 * (functions and variables of units), types_die.c (types), types_field.c (their
 * fields), types_facts.c (where variables are), types_jump.c (tables of a
 * function), types_flow.c (their order), types_state.c (registers), types_value.c (values),
 * types_access.c (operands), types_step.c and types_call.c (instructions).
 *
 * Everything that reads DWARF runs under the source's lock.
 */
#ifndef CYCLADE_SYMBOL_TYPES_INT_H
#define CYCLADE_SYMBOL_TYPES_INT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/types.h"
#include "symbol/insn/effect.h"

#define TYPE_NONE UINT32_MAX

enum {
	TYPES_MAX_MEMBERS = 4096, /* of one structure */
	TYPES_MAX_FIELDS = 4096,  /* members looked at for one access */
	TYPES_MAX_NEST = 24,	  /* of structures in structures, pointers to pointers */
	TYPES_MAX_INSNS = 200000, /* of a function */
	TYPES_MAX_FACTS = 100000,
	TYPES_MAX_BLOCKS = 32768,   /* of a function: some 3 kB each */
	TYPES_MAX_STEPS = 50000000, /* instructions and variables looked at for a function */
	TYPES_MAX_VISITS = 12,	    /* of a block */
	TYPES_MAX_ROUNDS = 4,
	TYPES_MAX_CHOICE = 32, /* pointers of a union */
	TYPES_MAX_BITS = 4,    /* bit-fields in a name */
	TYPES_MAX_WIDTH = 64,  /* of the compiler's data */
};

enum type_kind {
	TYPE_OPAQUE, /* void, incomplete, not understood */
	TYPE_SCALAR,
	TYPE_POINTER,  /* also references: target */
	TYPE_ARRAY,    /* of target; size 0: not known */
	TYPE_STRUCT,   /* and unions, classes */
	TYPE_FUNCTION, /* target: its result */
};

struct type_member {
	const char *name; /* NULL: its own members are looked at as this one's */
	uint64_t offset;  /* of its first byte; a bit-field begins at `bit` of it */
	uint32_t type;
	uint8_t bit, bits; /* bits 0: it is no bit-field */
};

/* The bytes that a member has a part in, behind its offset. */
static inline uint64_t type_member_bytes(const struct type_member *m, uint64_t size)
{
	return m->bits ? (m->bit + m->bits + 7u) / 8 : size;
}

struct type {
	Dwarf_Die die;		  /* addr NULL: void */
	const char *name, *alias; /* name NULL: not made yet; alias: of a typedef, or NULL */
	uint64_t size;
	uint32_t target;
	enum type_kind kind;
	bool target_read, members_read;
	size_t first, n; /* of types.member */
};

/* Static data of a known type, by ELF virtual address. */
struct type_static {
	uint64_t start, end;
	uint32_t type;
};

/* The definition of a structure, by its full name; die.addr NULL: there are several that differ. */
struct type_definition {
	Dwarf_Die die;
	uint64_t size;
};

/* The symbol of a variable: an offset in the block of those of a thread, or an address. */
struct type_symbol {
	const char *name;
	uint64_t off;
};

/* All of a kind in a file, from when one is first asked for. */
struct type_symbols {
	VEC(struct type_symbol) sym; /* by name */
	bool read;
};

/* 8 bytes of a table that the loader fills. Offsets are those of variables of a thread, in the
 * file's block of them. */
struct type_linked {
	uint64_t slot, value;
	enum type_linked_kind {
		LINKED_ADDRESS, /* holds the address `value` */
		LINKED_OFFSET,	/* added to the thread's pointer for offset `value` */
		LINKED_PAIR,	/* with the next 8 the argument of __tls_get_addr() */
		LINKED_SECOND,	/* those: offset `value` */
		LINKED_CALL,	/* a function is called with its address: as LINKED_OFFSET */
	} kind;
};

/* Data that the compiler made. */
enum type_made {
	TYPE_MADE_TABLE, /* of a switch */
	TYPE_MADE_CONSTANT,
	TYPES_MADE
};

/* The value of a register. */
enum value_kind {
	VALUE_NEVER, /* no path gets here */
	VALUE_NULL,
	VALUE_POINTER, /* `off` bytes behind the start of a `type` */
	VALUE_ADDRESS, /* `off` is an ELF virtual address */
	VALUE_FRAME,   /* `off` bytes behind the CFA */
	VALUE_THREAD,  /* `off` is in the file's block of thread-local variables */
	VALUE_OFFSET,  /* added to the thread's pointer, that */
	VALUE_ORIGIN,  /* came from place `type` of flow.origin, plus `off` */
	VALUE_UNKNOWN,
};

struct value {
	uint8_t kind; /* enum value_kind */
	bool indexed; /* plus an unknown number of elements */
	bool stepped; /* a loop goes from element to element: it is to an array of them */
	uint32_t type;
	/* of a pointer to a base class: the derived class that it is to on some path, and no other
	 * one on the rest, plus 1; 0: none, TYPE_NONE: several */
	uint32_t derived;
	int64_t off;
};

/* A variable, while the pc is in [lo, hi). */
struct type_fact {
	uint64_t lo, hi;
	enum type_fact_in {
		FACT_REGISTER, /* `reg` holds `value` */
		FACT_FRAME,    /* the object, of value.type, is at CFA + off */
		FACT_BASED,    /* the object is at `reg` + off */
	} in;
	uint8_t reg;
	int64_t off;
	struct value value;
	uint32_t depth; /* of nested blocks and inlined calls */
	enum type_fact_kept {
		FACT_ASK, /* not looked at yet */
		FACT_KEPT,
		FACT_OVERWRITTEN /* code in [lo, hi) writes the register */
	} kept;
};

struct type_call {
	uint64_t pc; /* where it comes back */
	uint32_t returned;
	uint32_t argument[EFFECT_ARGUMENTS]; /* their targets; TYPE_NONE: nothing is known */
};

struct type_hit {
	uint32_t root;	     /* TYPE_NONE: none */
	uint32_t leaf;	     /* the type of the field */
	uint64_t off, start; /* of the access in the root; of the field, in first elements */
	uint64_t size;	     /* of the field; of bit-fields, the bytes that they lie in */
	uint8_t width;
	bool vector;
	int score;    /* 0: no fit */
	bool opaque;  /* nothing is known of the pointer's target */
	bool several; /* the field is a pointer, and so is another member of a union there */
};

/* The possible targets of a pointer that was loaded from a union. */
struct type_choice {
	uint32_t type[TYPES_MAX_CHOICE];
	unsigned n;
	bool used; /* accesses gave evidence */
};

struct type_answer {
	uint64_t vaddr;
	uint8_t mem; /* which operand */
	bool store, stack;
	uint8_t why; /* enum types_why */
	struct type_hit hit;
	const char *field; /* NULL: not made yet */
};

struct type_function {
	uint32_t unit;
	Dwarf_Die die;
	size_t first_range, n_ranges; /* of types.own */
	bool done;
	enum types_why why;		/* of all of it, if not TYPES_KNOWN */
	VEC(struct type_answer) answer; /* by vaddr */
};

struct type_range { /* of a function's code */
	uint64_t lo, hi;
	uint32_t function;
};

struct types {
	struct source *source;
	const struct elf_file *code;
	struct insn_decoder *decoder; /* NULL: of a machine that needs none */
	const struct effect_machine *machine;
	struct arena arena;
	VEC(struct type) type;
	VEC(struct type_member) member;
	struct u64map by_die;
	struct u64map scope;   /* a type's DIE -> the text of its scope: "std::" */
	struct u64map by_name; /* a hash of the full name -> of definition, plus 1 */
	VEC(struct type_definition) definition;
	bool definitions_read;
	bool *unit_read;	      /* by unit of the source: its functions are known */
	VEC(struct type_range) own;   /* by function */
	VEC(struct type_range) range; /* by address */
	size_t sorted;		      /* of own: so many are in range */
	VEC(struct type_function *) function;
	VEC(struct type_static) statics;
	VEC(struct type_static) threads; /* thread-local: offsets in the file's block of them */
	int64_t thread_pointer;		 /* its offset there */
	struct type_symbols thread_symbols;
	struct type_symbols copies; /* of libraries' variables */
	bool statics_read;
	VEC(struct type_linked) linked;
	bool linked_read;
	/* the compiler's data, by bytes: a type plus 1; 0: none yet */
	uint32_t made[TYPES_MADE][TYPES_MAX_WIDTH + 1];
	size_t budget; /* DIEs that are still believed */
};

/* types_die.c */
uint32_t type_of_die(struct types *t, const Dwarf_Die *die); /* addr NULL: void */
uint32_t type_of_attr(struct types *t, Dwarf_Die *of);	     /* its DW_AT_type */
bool type_is_declared(struct types *t, uint32_t pointer); /* its unit has no more of the target */
/* Returns the target type of pointers, arrays, functions; TYPE_NONE: it is another type. */
uint32_t type_target(struct types *t, uint32_t id);
/* The number of members, which begin at t->member.v[*first]; 0: it is no structure. */
size_t type_members(struct types *t, uint32_t id, size_t *first);
/* The value of a variable of that type: a pointer or VALUE_UNKNOWN. */
struct value type_value(struct types *t, uint32_t id);
/* Returned in memory that the caller provides: its address is the first argument, and comes
 * back. */
bool type_in_memory(const struct types *t, uint32_t id);
/* A pointer to it may be to the end of an array of it: of C++, where iterators are, and no class
 * with virtual functions, which may be a base. */
bool type_has_end(struct types *t, uint32_t id);
/* Where a pointer to a `type` can lead to. */
enum type_reach {
	REACH_ONE,
	REACH_INDEX, /* plus a register: an array, or data behind one object */
	REACH_ARRAY, /* to any element of an array */
};
enum type_reach type_reach_of(const struct value *v);
/* The field of an access `off` bytes behind the start of a `type`. */
void type_hit(struct types *t, uint32_t type, int64_t off, enum type_reach reach,
	      const struct effect_mem *m, struct type_hit *out);
/* The pointers that lie where the hit is; false: none, or too many. */
bool type_choice(struct types *t, const struct type_hit *h, struct type_choice *out);
/* There is an access `off` bytes behind the pointer: types without a field there go. */
void type_choose(struct types *t, struct type_choice *c, int64_t off, const struct effect_mem *m);
/* "pos.x" */
const char *type_field(struct types *t, const struct type_hit *h);
/* The objects that lie `off` bytes behind the start of a `type`, each within the one before; their
 * number. */
struct type_place {
	uint32_t type;
	uint64_t off; /* into it */
};
unsigned type_chain(struct types *t, uint32_t type, int64_t off,
		    struct type_place out[TYPES_MAX_NEST]);

const char *type_name(struct types *t, uint32_t id);
/* The same type, or the same structure as another unit has it. */
bool type_same(struct types *t, uint32_t a, uint32_t b);
/* Of `width` bytes that the compiler made; TYPE_NONE: wider than TYPES_MAX_WIDTH, too. */
uint32_t type_made(struct types *t, enum type_made made, unsigned width);
bool type_is_c(const Dwarf_Die *die); /* of a unit of C */

/* types_facts.c */
typedef VEC(struct type_fact) type_facts;
typedef VEC(struct type_call) type_calls;
/* Both sorted. */
void type_facts_read(struct types *t, const struct type_function *f, type_facts *facts,
		     type_calls *calls);
/* types_units.c. Static variables; the functions of a unit, into t->own and t->function. */
void type_statics_read(struct types *t);
void type_functions_read(struct types *t, uint32_t unit);

/* The definition of a structure that a unit only declares: another unit has it. The DIE stays as it
 * is if there is none, or several that differ. */
void type_define(struct types *t, Dwarf_Die *die);

/* types_linked.c: NULL: nothing is known of that address. */
const struct type_linked *type_linked_at(struct types *t, uint64_t slot);
/* The offset that a LINKED_PAIR has; false: not known. */
bool type_linked_pair(struct types *t, const struct type_linked *l, int64_t *off);
/* The offset of a thread-local variable by the file's symbols, which must have the name once. */
bool type_thread_symbol(struct types *t, const char *name, uint64_t *off);
/* The address of a library's variable, which the loader copies to the program. */
bool type_copied(struct types *t, const char *name, uint64_t *at);
/* Where the thread's pointer is in a program's block of thread-local variables. */
int64_t type_thread_pointer(const struct types *t);

/* types_call.c: sets all but the pc. */
void type_call_of(struct types *t, const Dwarf_Die *function, struct type_call *out);

/* types_flow.c: fills f->answer. */
void type_flow(struct types *t, struct type_function *f);

/* types.c */
const struct type_static *type_static_at(struct types *t, uint64_t vaddr);
const struct type_static *type_thread_at(struct types *t, uint64_t off);
/* The function whose code is there, or NULL. */
struct type_function *type_function_at(struct types *t, uint64_t vaddr);

#endif
