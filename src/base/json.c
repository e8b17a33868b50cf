/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "base/utf8.h"

#define DEPTH_MAX 60

void json_init(struct json *j, struct buf *out, bool pretty)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
	j->pretty = pretty;
}

bool json_pretty(struct json *j, bool pretty)
{
	bool was = j->pretty;

	j->pretty = pretty;
	return was;
}

static void put_utf16(struct buf *b, uint32_t cp)
{
	if (cp > 0xffff) {
		buf_printf(b, "\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)));
		cp = 0xdc00 + (cp & 0x3ff);
	}
	buf_printf(b, "\\u%04x", (unsigned)cp);
}

static void put_json_string(const struct json *j, const char *s)
{
	struct buf *b = j->out;
	const char *end = s + strlen(s);

	buf_putc(b, '"');
	while (s < end) {
		uint32_t cp;
		size_t n = utf8_decode(s, (size_t)(end - s), &cp);

		if (!n) {
			buf_puts(b, "\xef\xbf\xbd");
			s++;
			continue;
		}
		if (cp == '"' || cp == '\\')
			buf_printf(b, "\\%c", (int)cp);
		else if (cp == '\n')
			buf_puts(b, "\\n");
		else if (cp == '\t')
			buf_puts(b, "\\t");
		else if (text_is_hazard(cp) || (cp == '<' && j->in_page))
			put_utf16(b, cp);
		else
			buf_put(b, s, n);
		s += n;
	}
	buf_putc(b, '"');
}

void json_begin(struct json *j, const char *key)
{
	uint64_t bit = 1ULL << j->depth;

	buf_spill(j->out);
	if (j->depth) {
		if (j->filled & bit)
			buf_putc(j->out, ',');
		if (j->pretty) {
			buf_putc(j->out, '\n');
			buf_fill(j->out, ' ', (size_t)j->depth * 2);
		}
	}
	j->filled |= bit;
	if (key) {
		put_json_string(j, key);
		buf_puts(j->out, j->pretty ? ": " : ":");
	}
}

static void json_open(struct json *j, const char *key, char c)
{
	json_begin(j, key);
	buf_putc(j->out, c);
	if (j->depth < DEPTH_MAX)
		j->depth++;
	else
		j->out->failed = true;
	j->filled &= ~(1ULL << j->depth);
}

static void close_level(struct json *j, char c)
{
	bool filled = j->filled & (1ULL << j->depth);

	assert(j->depth || j->out->failed); /* as many are closed as were opened */
	if (j->depth)
		j->depth--;
	if (filled && j->pretty) {
		buf_putc(j->out, '\n');
		buf_fill(j->out, ' ', (size_t)j->depth * 2);
	}
	buf_putc(j->out, c);
	if (!j->depth)
		buf_putc(j->out, '\n');
}

void json_object(struct json *j, const char *key)
{
	json_open(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	json_open(j, key, '[');
}

void json_end_object(struct json *j)
{
	close_level(j, '}');
}

void json_end_array(struct json *j)
{
	close_level(j, ']');
}

void json_str(struct json *j, const char *key, const char *v)
{
	json_begin(j, key);
	if (v)
		put_json_string(j, v);
	else
		buf_puts(j->out, "null");
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	json_begin(j, key);
	buf_put_decimal(j->out, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	json_begin(j, key);
	buf_printf(j->out, "%lld", (long long)v);
}

void json_hex(struct json *j, const char *key, uint64_t v)
{
	json_begin(j, key);
	buf_puts(j->out, "\"0x");
	buf_put_hex(j->out, v);
	buf_putc(j->out, '"');
}

void json_real(struct json *j, const char *key, double v)
{
	char text[40];

	json_begin(j, key);
	if (!isfinite(v)) {
		buf_puts(j->out, "null");
		return;
	}
	if (!signbit(v) && v < 1e15 && v == (double)(uint64_t)v) {
		buf_put_decimal(j->out, (uint64_t)v);
		return;
	}
	/* a number of 15 digits or fewer: %g leaves out its zeros */
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_puts(j->out, text);
}

void json_bool(struct json *j, const char *key, bool v)
{
	json_begin(j, key);
	buf_puts(j->out, v ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_str(j, key, NULL);
}

void json_strings(struct json *j, const char *key, const char *const *v, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_str(j, NULL, v[i]);
	json_end_array(j);
}
