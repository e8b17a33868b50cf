/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source - source lines and inlined calls of an image, from DWARF.
 *
 * The line program of each compilation unit is read once into one sorted table of our own, and the
 * inlined subroutines into one table of intervals, because asking libdw per address is 10 to 1000
 * times slower (measured: 5-10 M look-ups/s against 0.5-1.1 M for lines, 2.5-4.4 k for scopes).
 * Opening reads no more than each unit's address ranges; a unit's lines and inlined calls are read
 * when an address in it is first asked for, so that one function of a big program costs one unit.
 * Split DWARF and dwz files are followed (source_beside.c); libdw opens no file by itself.
 * Threads: source_line and source_inlines may be called from any number of threads at once.
 */
#ifndef CYCLADE_SYMBOL_SOURCE_H
#define CYCLADE_SYMBOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#include "symbol/line_files.h"

struct images;
struct source;
struct file_map;
struct src_name;

struct source_line {
	const char *file;	/* joined with its directory and DW_AT_comp_dir; NULL: unknown */
	uint32_t line;		/* 0: unknown */
	uint32_t discriminator; /* number of a block within a line; 0: none */
};

/* One level of inlining at an address, outermost first; the innermost's code is at source_line().
 */
struct source_inline {
	const char *name;		 /* the inlined function, demangled */
	struct source_line at;		 /* where it was called */
	const char *linkage;		 /* the name that linkers know, or the same pointer */
	uint32_t first_line;		 /* of the inlined function, as declared; 0: unknown */
	const struct src_name *function; /* for source_inline_name() */
};

/* A function that code was made for, by itself. */
struct source_function {
	const char *name, *linkage;
	uint32_t first_line; /* as declared; 0: unknown */
};

/* The source of an image, opened at its first use and kept by the images; NULL if it has no debug
 * information (err stays clear) or on failure (err has the reason). */
const struct source *source_of(struct images *set, uint32_t image, struct err *err);
/* A file that is open. */
struct source_opened {
	const struct file_map *map; /* its bytes stay until source_free() */
	const char *root, *path;    /* where: below `root`; NULL: "", and nothing beside it */
	uid_t user;		    /* of the program: files that it names must be his to read */
	/* --symbols: where files that it names are looked for, too; NULL-ended or NULL, and stay */
	const char *const *dirs;
};
/* The caller's to free with source_free. NULL: there is no unit that can be read. If a section is
 * the reason, err has it. */
struct source *source_open_file(const struct source_opened *f, struct err *err) MUST_USE;
struct source *source_open(const char *path, struct err *err) MUST_USE;
/* The same over an ELF file's bytes alone, which must stay, and which libelf may write to. */
struct source *source_open_memory(const void *p, size_t len, struct err *err) MUST_USE;
/* Of a function of an interpreted program (script.h): addresses are lines of the file. */
struct source *source_of_script(const char *file, size_t len) MUST_USE;
void source_free(struct source *s);

/* vaddr is an ELF virtual address: image_to_vaddr(). */
struct source_line source_line(const struct source *s, uint64_t vaddr);
/* At most `max` levels into out, outermost first; the number of levels. */
size_t source_inlines(const struct source *s, uint64_t vaddr, struct source_inline *out,
		      size_t max);
/* The same without the files of `at`, which cost reading a unit's line program: several times
 * faster if lines are not asked for. */
size_t source_inline_names(const struct source *s, uint64_t vaddr, struct source_inline *out,
			   size_t max);
/* The name that separates the inlined function from others of its name: NAME@FILE:LINE of its
 * declaration if look-ups in `s` met another function called NAME, inlined or not, else NAME. Call
 * it after the last look-up. The name belongs to the source. */
const char *source_inline_name(const struct source *s, const struct source_inline *i);
/* The size and sum of a file that source_line() named (by that very pointer); false:
 * nothing. */
bool source_file_sum(const struct source *s, const char *file, struct source_sum *sum);
/* Reads a unit whose contents are in another file, if there is one: a missing file is then noted,
 * whatever is asked later. */
void source_try_split(const struct source *s);
/* The function whose code is there, that which others are inlined into; false: not known. */
bool source_function(const struct source *s, uint64_t vaddr, struct source_function *out);

#endif
