/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perfmap - /tmp/perf-PID.map: where a process put the code it made, as its runtime wrote it down.
 *
 *	perfmap_parse(&m, text, len, &err)	text is cut in place and must outlive m
 *	perfmap_find(&m, addr)
 *	perfmap_free(&m)
 *
 * One line per function: start and size in hex ("0x" may stand before either), then the name,
 * blanks included, up to the line's end. The file is only ever added to: if two entries overlap,
 * the later line is the code there now, and the earlier keeps the rest. Addresses are absolute; the
 * file has no times.
 */
#ifndef CYCLADE_SYMBOL_PERFMAP_H
#define CYCLADE_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct perfmap_sym {
	uint64_t start, end; /* [start, end), end > start */
	const char *name;    /* into the text */
};

struct perfmap {
	struct perfmap_sym *sym; /* by address, disjoint; a function cut in two is there twice */
	size_t n;
	size_t n_bad; /* lines left out: not understood, or of size 0 */
};

#define PERFMAP_INIT       \
	{                  \
		NULL, 0, 0 \
	}

/* `text` needs no NUL at its end; it is written to. */
void perfmap_parse(struct perfmap *m, char *text, size_t len);
const struct perfmap_sym *perfmap_find(const struct perfmap *m, uint64_t addr);
void perfmap_free(struct perfmap *m);

#endif
