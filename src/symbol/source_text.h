/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_text - the texts of source files, each read once, under however many names a program's
 * debug information has it.
 *
 *	struct source_shelf shelf = SOURCE_SHELF_INIT;
 *	t = source_shelf_text(&shelf, fd, &st, sum, path);	as often as needed
 *	source_text_line(t, n);
 *	source_shelf_free(&shelf);
 *
 * Two files are one if device, inode, size and the time of the last change are the same. Memory:
 * the bytes of the file, and 4 bytes for each SOURCE_STEP lines: finding a line passes over as many
 * lines at most. Not for several threads.
 */
#ifndef CYCLADE_SYMBOL_SOURCE_TEXT_H
#define CYCLADE_SYMBOL_SOURCE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/md5.h"
#include "base/vec.h"

enum { SOURCE_STEP = 256, SOURCE_MAX = 64 << 20 };

struct source_text {
	struct stat st;
	uint8_t md5[MD5_SIZE]; /* of the bytes as they lie in the file, if `summed` */
	bool summed;
	bool kept;	    /* the text is here; else only its MD5, which was not the wanted one */
	struct buf text;    /* up to the first NUL; then each line ends with one */
	VEC(uint32_t) step; /* where the lines 1, 1 + SOURCE_STEP, ... begin */
	size_t lines;
};

struct source_shelf {
	VEC(struct source_text *) text;
};
#define SOURCE_SHELF_INIT \
	{                 \
		{         \
			0 \
		}         \
	}

/* The text behind `fd`, which is closed. NULL: it cannot be read, is larger than SOURCE_MAX, or the
 * budget for others' bytes is used up. `sum` is the MD5 that is wanted (NULL: any): a text with
 * another has no lines, and source_text_is() returns false. The shelf owns the text. */
const struct source_text *source_shelf_text(struct source_shelf *s, int fd, const struct stat *st,
					    const uint8_t *sum, const char *path);
/* Whether a text that was asked for with `sum` has it. */
bool source_text_is(const struct source_text *t, const uint8_t *sum);
/* From 1 on, without its end; NULL: there is no such line. */
const char *source_text_line(const struct source_text *t, size_t line);
void source_shelf_free(struct source_shelf *s);

#endif
