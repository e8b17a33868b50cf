/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_int - shared by the formats of export.h: strings by number, functions by number, and the
 * addresses of places as they stand in the file.
 */
#ifndef CYCLADE_REPORT_EXPORT_INT_H
#define CYCLADE_REPORT_EXPORT_INT_H

#include "base/hash.h"
#include "report/export.h"

struct export_names {
	struct strtab strings;
	struct buf scratch;
};

/* Returns the number of a text that is safe to show; STR_NONE when out of memory. */
uint32_t export_string(struct export_names *x, const char *s) MUST_USE;
void export_names_free(struct export_names *x);

/* The number of three numbers, counted from 0 in order of first sight; UINT32_MAX: memory. */
struct export_ids {
	struct u64map pair, triple;
};
uint32_t export_id(struct export_ids *x, uint32_t a, uint32_t b, uint32_t c, bool *fresh) MUST_USE;
void export_ids_free(struct export_ids *x);

/* Returns the address of a site in its file: the ELF's own address, or the address itself if it is
 * in none. The call, if it is a return address. */
uint64_t export_address(struct images *images, const struct stack_site *s);

#endif
