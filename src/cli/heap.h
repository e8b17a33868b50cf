/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap - how this process gets its memory, and whether it gives it back.
 */
#ifndef CYCLADE_CLI_HEAP_H
#define CYCLADE_CLI_HEAP_H

#include <stdbool.h>

/* For commands that fill tables of megabytes, each once and soon done with: freed memory is used
 * again, all threads share it, and it is of large pages if the kernel has some. Each first touch of
 * a small page would cost as much as writing hundreds of bytes, and each region given back while
 * others work a call to all processors. Call it before the first thread. */
void heap_for_tables(void);

/* Whether the process is about to end, so that freeing large tables one by one is lost time: the
 * kernel takes all of it at once. Not in builds that look for leaks. */
bool heap_ends(void);

/* Whether a sanitizer watches memory: it reports faults itself. */
bool heap_is_watched(void);

#endif
