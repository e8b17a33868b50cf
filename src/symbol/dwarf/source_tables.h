/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_tables - shared by the files of source: the unit table, a unit's rows and inlined calls,
 * and the flattening of overlapping intervals into disjoint ones.
 *
 * Everything here reads DWARF, which is hostile: depths, chains and counts are bounded, and the
 * bounds are in proportion to the size of the file.
 */
#ifndef CYCLADE_SYMBOL_SOURCE_TABLES_H
#define CYCLADE_SYMBOL_SOURCE_TABLES_H

#include <elfutils/libdw.h>
#include <pthread.h>
#include <string.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file_in.h"
#include "base/hash.h"
#include "base/nomem.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/source.h"

/* Split DWARF as DWARF 5 has it, and as GCC had it before; older headers lack them. */
#ifndef DW_AT_dwo_name
#define DW_AT_dwo_name 0x76
#endif
#ifndef DW_AT_GNU_dwo_name
#define DW_AT_GNU_dwo_name 0x2130
#endif
#ifndef DW_AT_GNU_dwo_id
#define DW_AT_GNU_dwo_id 0x2131
#endif

#define SRC_NONE UINT32_MAX

enum {
	SRC_MAX_DEPTH = 200, /* of nested DIEs */
	SRC_MAX_CHAIN = 16,  /* of abstract origins and specifications */
	SRC_MAX_PARTS = 64,  /* of a path in a name */
};

/* An interval before flattening: if several overlap, the deepest wins, then the latest. */
struct src_interval {
	uint64_t lo, hi;
	uint32_t depth, id;
};

/* After: `id` holds from `lo` to the next segment's `lo`; SRC_NONE in a gap. */
struct src_segment {
	uint64_t lo;
	uint32_t id;
};

typedef VEC(struct src_interval) src_intervals;
typedef VEC(struct src_segment) src_segments;

/* Sorts `in` and fills `out`. */
void src_flatten(src_intervals *in, src_segments *out);
uint32_t src_segment_at(const struct src_segment *v, size_t n, uint64_t addr);

struct src_row { /* holds up to the next row's address */
	uint64_t addr;
	uint32_t file; /* number in the unit's files; SRC_NONE: behind the end of a sequence */
	uint32_t line, discriminator;
};

/* A function as it is declared; several DIEs may describe it. */
struct src_decl {
	const char *shown;
	const char *linkage; /* if the function is external, else NULL */
	Dwarf_Die file_die;  /* the DIE that has the file's number, if addr is set */
	uint32_t file, line; /* line 0: unknown */
	const char *path;    /* of the file, NULL: unknown or not read */
	bool path_read;
	const char *apart;     /* NAME@FILE:LINE, NULL: `shown` is its own or nothing else helps */
	struct src_decl *next; /* another function of that name */
};

struct src_name { /* of a function, in any unit */
	const char *shown, *linkage;
	uint32_t first_line;
	bool external;
	Dwarf_Die file_die; /* the first of its DIEs that has a file; addr NULL: none */
	uint32_t file;
	_Atomic(struct src_decl *) decl; /* NULL: not met by a look-up */
};

struct src_call { /* one inlined call */
	struct src_name *name;
	uint32_t file; /* number among the unit's files, or SRC_NONE */
	uint32_t line, discriminator;
	uint32_t parent; /* the inlined call around it, or SRC_NONE */
};

/* By number, as line rows and call sites have it; full names (source.h), NULL: it has none. */
typedef VEC(const char *) src_file_names;

struct src_line_tab {
	VEC(struct src_row) rows;
	src_file_names files;
};

struct src_call_tab {
	VEC(struct src_call) calls;
	src_segments inl; /* ids are into calls */
	VEC(struct src_name *) functions;
	src_segments code; /* ids are into functions */
};

struct src_file_tab { /* of a split unit, whose own table call sites use */
	src_file_names files;
};

/* Each table is read when something in it is first asked for. */
struct src_unit {
	Dwarf_Die die; /* the skeleton's if DWARF is split */
	_Atomic(struct src_line_tab *) lines;
	_Atomic(struct src_call_tab *) calls;
	_Atomic(struct src_file_tab *) files;
};

struct src_exec { /* code, by the program headers */
	uint64_t lo, hi;
};

/* A unit of split DWARF. */
struct src_split {
	const Dwarf_Die *die; /* the skeleton, of src_unit */
	Dwarf_CU *made;	      /* ours, source_skeleton.c */
	Dwarf_Die contents;   /* addr NULL: not had */
	bool tried;
	bool other; /* a file of that name was there, without the unit */
};

enum { SRC_ELF_SECTIONS = 32 };

struct src_elf { /* one that is being made */
	bool big, is64;
	uint16_t machine;
	const char *const *name;
	size_t n;
	struct buf section[SRC_ELF_SECTIONS];
	const struct elf_seg *seg; /* program headers */
	size_t n_seg;
};

struct src_package { /* a .dwp */
	struct file_map map;
	struct buf own; /* instead, if it was packed */
	struct elf_file elf;
	const struct elf_sec *from[SRC_ELF_SECTIONS]; /* of source_package.c; NULL: it has none */
	unsigned version;			      /* of its index: DWARF's from 5 on */
	uint32_t columns;
	const uint8_t *ids, *offsets, *sizes; /* of the index: a row of columns for each unit */
	struct u64map rows;		      /* a unit's id -> 1 + its row */
};

struct src_made { /* an ELF file that we made */
	struct buf bytes;
	Elf *elf;
	Dwarf *dw;
};

struct source {
	/* Where its file is: `path` is below `root` (NULL: none); NULL: it is memory, and names
	 * nothing beside it. */
	char *root, *path;
	uid_t user;	     /* who may read the files that it names */
	struct file_map map; /* NULL bytes: they are the caller's */
	struct buf own;	     /* the bytes for libelf, if the file is packed */
	bool foreign;	     /* others can write it: memory for it is charged */
	size_t charged;	     /* to the budget of base/file_in.h */
	Elf *elf;
	Dwarf *dw;
	size_t file_size;
	char *script;	/* no ELF file: addresses are lines of this file (script.h) */
	bool raw_names; /* set before the first look-up: do not demangle */
	struct line_sections sections; /* unpacked */
	VEC(struct src_unit) units;
	src_segments where; /* ids are into units */
	VEC(struct src_exec) exec;
	/* The rest is written while reading a unit, under the lock (libdw is not thread-safe).
	 */
	pthread_mutex_t lock;
	struct arena arena;
	struct u64map names;   /* a DIE's address -> a struct src_name in the arena */
	struct u64map decls;   /* a shown name's hash -> the first struct src_decl met */
	struct u64map sums;    /* a file name's address -> a struct source_sum in the arena */
	struct u64map headers; /* a unit's address -> a struct line_files in the arena */
	/* source_beside.c, source_skeleton.c */
	struct src_made nothing, skeletons; /* the alternate of files without one; for libdw */
	struct src_made alternate;	    /* no bytes: alternate_own's if the file is packed */
	struct file_map alternate_map;
	struct buf alternate_own;
	struct src_package *package; /* the .dwp; NULL: none */
	bool package_tried, splits_made;
	int split_fd; /* the file that libdw finds for a skeleton; -1: none */
	VEC(struct src_split) splits;
	struct u64map split_of;	   /* a skeleton's Dwarf_CU -> 1 + its number in splits */
	struct u64map skeleton_of; /* the Dwarf_CU of contents -> the skeleton's die */
	const char *const *dirs;   /* more directories for files beside it; NULL-ended or NULL */
	struct err beside;	   /* the first file beside it that is missing, or not used */
	bool alternate_other;	   /* there is one, of another build */
};

/* Around everything that calls libdw: it is not thread-safe, and returns no reason if memory runs
 * out. */
static inline void src_lock(struct source *s)
{
	(void)pthread_mutex_lock(&s->lock);
	nomem_begin();
}

static inline void src_unlock(struct source *s)
{
	nomem_end();
	(void)pthread_mutex_unlock(&s->lock);
}

/* Charges memory that a file of others costs; false: too much. Given back by
 * source_free(). */
bool src_charge(struct source *s, size_t bytes) MUST_USE;
/* Gives back some of it before. */
void src_discharge(struct source *s, size_t bytes);
/* libelf and libdw over an ELF file in memory in which nothing is packed, and which stays.
 * nomem_die() is libdw's handler for lack of memory: each Dwarf must have it. */
int src_begin(const void *p, size_t len, Elf **elf, Dwarf **dw) MUST_USE;

/* An attribute that is a number, or a text. False, NULL: it has none, or one of another form. */
bool src_number(const Dwarf_Die *die, unsigned name, uint64_t *v);
const char *src_text(const Dwarf_Die *die, unsigned name);
/* Returns true if code can be at `addr`. Linkers leave dropped functions' debug information at 0 or
 * -1.
 */
bool src_is_code(const struct source *s, uint64_t addr);

/* Make one of a unit's tables. Broken DWARF gives a part of it. */
struct src_line_tab *src_read_lines(struct source *s, Dwarf_Die *unit) MUST_USE;
struct src_call_tab *src_read_inlines(struct source *s, Dwarf_Die *unit) MUST_USE;
struct src_file_tab *src_read_files(struct source *s, Dwarf_Die *unit) MUST_USE;
/* source_names.c: the full names of a unit's n files; and the sums of their contents in the unit's
 * own line program, kept for source_file_sum(). */
void src_name_files(struct source *s, Dwarf_Die *unit, Dwarf_Files *files, size_t n,
		    src_file_names *out);
void src_sum_files(struct source *s, Dwarf_Die *unit, const src_file_names *names);
/* The full name of file number `file` of the unit that `die` is in, without "." and ".."; in the
 * arena. NULL: unknown. */
const char *src_decl_path(struct source *s, Dwarf_Die *die, uint32_t file);
/* source_apart.c, under the lock: the functions of one name that look-ups met. */
void src_meet(struct source *s, struct src_name *name);
void src_set_apart(struct source *s, struct src_decl *d); /* sets d->apart */
void src_find_line_sections(struct source *s);
void src_lines_free(struct src_line_tab *t); /* NULL is fine */
void src_inlines_free(struct src_call_tab *t);
void src_files_free(struct src_file_tab *t);

/* The DIE that has the unit's contents, if DWARF is split; the unit's own if they cannot be read.
 * Under the lock, and where libdw may be called. */
Dwarf_Die src_contents(struct source *s, const Dwarf_Die *unit);
/* The skeleton of the unit that a DIE of contents is in; NULL: it is in no such unit. */
const Dwarf_Die *src_skeleton(const struct source *s, const Dwarf_Die *die);
/* Gives libdw dwz's alternate file, or one without anything: else it would open one. */
void src_find_alternate(struct source *s);

/* source_elf.c. The sections are filled by the caller. */
void src_elf_put(const struct src_elf *m, struct buf *b, uint64_t v, size_t bytes);
void src_elf_make(struct src_elf *m, struct buf *file); /* frees the sections */
void src_elf_free(struct src_elf *m);			/* those of a file that is not made */

/* source_unpack.c. Whether any section is packed; fills `file` with one that has the segments and
 * the debug sections of `f`, unpacked. Those that cannot be unpacked are left out, and the first is
 * noted. `path` is for that note. The sizes stay charged. */
bool src_is_packed(const struct elf_file *f);
void src_unpack(struct source *s, const struct elf_file *f, const char *path, struct buf *file);

/* source_package.c: takes over `m`, or `own` if that is not empty; NULL: it is no package. */
struct src_package *src_package_read(struct file_map *m, struct buf *own) MUST_USE;
void src_package_free(struct src_package *p); /* NULL is fine */
/* Fills `file`, which the caller frees, with a .dwo of the unit with that id. False: none. */
bool src_package_unit(const struct src_package *p, uint64_t id, struct buf *file) MUST_USE;

/* source_skeleton.c. A file without units that has these strings; false: libdw does not read it. */
bool src_make_strings(const struct source *s, struct src_made *to, const void *strings, size_t len);
void src_make_skeletons(struct source *s);
void src_made_end(struct src_made *m);
/* A descriptor of memory with these bytes; -1: there is none. The caller closes it. */
int src_copy(const void *p, size_t len) MUST_USE;
/* Once for each unit: a unit of such a copy has its id. False: it has no contents. */
bool src_join(struct source *s, struct src_split *split, int fd) MUST_USE;

#endif
