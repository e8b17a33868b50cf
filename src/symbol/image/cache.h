/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache - tables of symbols that were expensive to make, kept on disk by build-id.
 *
 *	DIR/symbols/4a/5a9b0a...-KIND
 *
 * A file may be removed at any time, and two programs may write it at once: it appears whole or not
 * at all. It is never trusted: an entry that does not fit its checksum, its bounds or the key is as
 * good as absent and is written anew.
 *
 * Where it pays, measured on a table of 95,787 symbols: made from .gnu_debugdata 320 ms, read from
 * here 2.3 ms. Made from an ELF symbol table it takes 11 ms, so those are not kept. The kernel's
 * list (122,000 symbols, 50 ms) is kept for that and because it is gone after the next boot: a
 * recording of yesterday's kernel has names still.
 */
#ifndef CYCLADE_SYMBOL_CACHE_H
#define CYCLADE_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/image.h"

/* Raised whenever the same key may give another table: a new layout here, a new rule of choosing
 * among symbols, another set of symbols taken. */
#define CACHE_VERSION 4u

struct cache_key {
	const char *dir;   /* NULL: there is no cache */
	const uint8_t *id; /* build-id */
	size_t id_len;	   /* below 2: there is no cache */
	const char *kind;  /* a short word: a hash of the table's sources and options */
	uint64_t layout;   /* a hash of all else that the addresses depend on */
};

/* Whether there is a table under that key. Its names lie in *map, which must outlive it. `base` is
 * that of cache_store(). */
bool cache_load(const struct cache_key *k, struct file_map *map, struct sym_table *t,
		uint64_t *base);
/* Keeps a table. Failure is for the caller to ignore: the next run does the work once more. */
int cache_store(const struct cache_key *k, const struct sym_table *t, uint64_t base,
		struct err *err) MUST_USE;

/* The table in these bytes (which must outlive it and start at an address divisible by 8). False:
 * broken, or of another key. */
bool cache_parse(const void *p, size_t len, const struct cache_key *k, struct sym_table *t,
		 uint64_t *base);

#endif
