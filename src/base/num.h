/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * num - numbers as people write and read them.
 *
 * Formatting writes into a caller's buffer of NUM_MAX bytes and returns it, so that several fit in
 * one printf. Parsing takes the whole string or fails; no sign, no leading blanks, no overflow.
 */
#ifndef CYCLADE_BASE_NUM_H
#define CYCLADE_BASE_NUM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define NUM_MAX 40

const char *num_count(char out[NUM_MAX], double v);   /* 11.90 G, 12,712, 0 */
const char *num_exact(char out[NUM_MAX], uint64_t v); /* 12,712,001 */
const char *num_bytes(char out[NUM_MAX], uint64_t v); /* 1.8 MB (powers of 1000), 999 B */
const char *num_seconds(char out[NUM_MAX], double s); /* 3.21 s, 12.4 ms, 981 us, 3 m 20 s */
const char *num_percent(char out[NUM_MAX], double f); /* f is a fraction: "62.3 %"; "nan" -> "?" */

/* As printf's %.Nf with up to six decimals, ties to even, for a tenth of its cost; the length. Cut
 * to NUM_MAX. */
size_t num_fixed(char out[NUM_MAX], double v, unsigned decimals);

/* For qsort(): doubles, least first. */
int num_order(const void *a, const void *b);

int num_parse_u64(uint64_t *out, const char *s, struct err *err) MUST_USE;    /* 12, 0x1f */
int num_parse_scaled(uint64_t *out, const char *s, struct err *err) MUST_USE; /* 4000, 20k, 1.5M */
int num_parse_bytes(uint64_t *out, const char *s, struct err *err) MUST_USE;  /* 64K, 1G: x1024 */
int num_parse_double(double *out, const char *s, struct err *err) MUST_USE;
/* "10ms", "5s", "200us", "2m"; a bare number is in units of `bare_ns`, 0: the unit must be there.
 */
int num_parse_duration(uint64_t *out_ns, const char *s, uint64_t bare_ns, struct err *err) MUST_USE;
/* "0-3,8": calls back for each number, ascending within a range, at most `limit` in all. If `each`
 * returns -1 it ends with that, and the caller sets the error. */
int num_parse_list(const char *s, uint64_t limit, int (*each)(void *ctx, uint64_t v), void *ctx,
		   struct err *err) MUST_USE;

#endif
