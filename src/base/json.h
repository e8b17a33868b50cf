/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - writing JSON as it is known, without building it first (reading is cJSON's work).
 *
 * Commas, quoting and indentation are taken care of; a string that is not UTF-8 has its odd bytes
 * written as U+FFFD. A number that is not finite becomes null. Text may leave the buffer before
 * each value (buf_spill), so that large tables are never held.
 */
#ifndef CYCLADE_BASE_JSON_H
#define CYCLADE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json {
	struct buf *out;
	bool pretty;
	bool in_page; /* in an element of an HTML page: '<' is written as \u003c */
	unsigned depth;
	uint64_t filled; /* bit d: something stands at depth d already */
};

void json_init(struct json *j, struct buf *out, bool pretty);
/* One line from here on, or not: of a row of a large table. Returns how it was. */
bool json_pretty(struct json *j, bool pretty);
/* `key` is NULL inside an array and at the top. At most 60 levels. */
void json_object(struct json *j, const char *key);
/* Only the comma and the key: the caller puts a value that is JSON already to j->out. */
void json_begin(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_str(struct json *j, const char *key, const char *v); /* NULL v: null */
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_hex(struct json *j, const char *key,
	      uint64_t v); /* "0x1f", a string: exact in any reader */
void json_real(struct json *j, const char *key, double v); /* shortest text that reads back equal */
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
void json_strings(struct json *j, const char *key, const char *const *v, size_t n); /* an array */

#endif
