/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script - functions of interpreted programs in a recording: how their names and lines are kept.
 *
 * Each function is a mapping of SCRIPT_BYTES with the name "[python]FILE:FUNCTION", at addresses
 * that no process can have. An address in it is a line: SCRIPT_LINE bytes for each, so that the
 * byte before a return address is of the same line.
 */
#ifndef CYCLADE_SYMBOL_SCRIPT_H
#define CYCLADE_SYMBOL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SCRIPT_PREFIX	     "[python]"
#define SCRIPT_BASE	     0x0050590000000000ULL
#define SCRIPT_LINE	     16u
#define SCRIPT_LINES_MAX     (1u << 20)
#define SCRIPT_BYTES	     ((uint64_t)SCRIPT_LINE * SCRIPT_LINES_MAX)
#define SCRIPT_FUNCTIONS_MAX (1u << 18)

static inline uint64_t script_address(uint32_t function, uint32_t line)
{
	return SCRIPT_BASE + function * SCRIPT_BYTES +
	       (uint64_t)(line < SCRIPT_LINES_MAX ? line : 0) * SCRIPT_LINE + SCRIPT_LINE / 2;
}

/* The line of an address in the mapping; 0: none. */
static inline uint32_t script_line(uint64_t offset)
{
	return offset < SCRIPT_BYTES ? (uint32_t)(offset / SCRIPT_LINE) : 0;
}

/* The name of the mapping. */
void script_put_path(struct buf *b, const char *file, const char *function);
/* Its parts: the file's length in *file, which begins behind the prefix; the function. */
bool script_parts(const char *path, const char **file, size_t *file_len, const char **function);

#endif
