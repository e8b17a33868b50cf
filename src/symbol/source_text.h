/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_text - the texts of source files, each read once, under however many names a program's
 * debug information has it.
 *
 *	struct source_shelf shelf = SOURCE_SHELF_INIT;
 *	t = source_shelf_text(&shelf, fd, &st, want, path);	as often as needed
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
	bool kept;	    /* the text is here; else it was not wanted, and only its MD5 is */
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

/* Whether the text is wanted, once its MD5 is known (NULL: it was not computed). */
typedef bool source_wanted(void *ctx, const uint8_t *md5);

/* The text behind `fd`, which is closed. NULL: it cannot be read, is larger than SOURCE_MAX, or the
 * budget for others' bytes is used up. `sum`: its MD5 is needed. The shelf's. */
const struct source_text *source_shelf_text(struct source_shelf *s, int fd, const struct stat *st,
					    bool sum, source_wanted *wanted, void *ctx,
					    const char *path);
/* From 1 on, without its end; NULL: there is no such line. */
const char *source_text_line(const struct source_text *t, size_t line);
void source_shelf_free(struct source_shelf *s);

#endif
