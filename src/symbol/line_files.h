/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * line_files - the source files in the header of a DWARF line program (sections 6.2.4, 6.2.4.1):
 * names, MD5 digests and sizes. libdw runs the whole line program for the names, and hands out
 * neither digests nor the sizes of DWARF 5.
 *
 * Files are in the order of the header's table: the first is file 0 in DWARF 5, file 1 before.
 * Names point into the sections.
 */
#ifndef CYCLADE_SYMBOL_LINE_FILES_H
#define CYCLADE_SYMBOL_LINE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/md5.h"
#include "base/vec.h"

struct source_sum {
	uint64_t size; /* bytes; 0: not recorded */
	bool has_md5;
	uint8_t md5[MD5_SIZE];
};

struct line_file {
	const char *name; /* NULL: not known */
	const char *dir;  /* of the table; NULL: the directory that the compiler ran in, or none */
	struct source_sum sum;
};

struct line_files {
	VEC(struct line_file) v;
	unsigned first; /* the number of v[0] */
};

/* Sections; those of strings may be missing, and then so are names. */
struct line_sections {
	const void *line, *line_str, *str; /* .debug_line, .debug_line_str, .debug_str */
	size_t line_len, line_str_len, str_len;
	bool swap; /* the file is of the other byte order */
};

/* Reads the header at `off` of .debug_line. A broken header gives the files before the damage. The
 * caller frees out->v with vec_free(). */
void line_files_read(struct line_files *out, const struct line_sections *s, uint64_t off);

#endif
