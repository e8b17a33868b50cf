/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of a model's text: a keyword, blanks, and a value up to the line's end. Lines that begin
 * with `#` are for people.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/load/model_int.h"

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool line_next(const struct source_text *t, size_t *at, unsigned *number, struct line *out)
{
	while (*at < t->len) {
		const char *s = t->s + *at;
		const char *nl = memchr(s, '\n', t->len - *at);
		size_t len = nl ? (size_t)(nl - s) : t->len - *at;
		size_t i = 0, end = len;

		*at += len + (nl != NULL);
		++*number;
		while (i < end && blank(s[i]))
			i++;
		if (i == end || s[0] == '#')
			continue;
		while (end > i && blank(s[end - 1]))
			end--;
		*out = (struct line){ .start = s, .whole = len, .number = *number, .key = s + i };
		while (i < end && !blank(s[i]))
			i++;
		out->key_len = (size_t)(s + i - out->key);
		while (i < end && blank(s[i]))
			i++;
		out->value = s + i;
		out->len = end - i;
		return true;
	}
	return false;
}

bool line_is(const struct line *l, const char *key)
{
	return *key == *l->key && strlen(key) == l->key_len && !memcmp(key, l->key, l->key_len);
}

int line_fail(const struct source_text *t, const struct line *l, const char *at, struct err *err,
	      const char *fmt, ...)
{
	size_t column = at >= l->start ? (size_t)(at - l->start) : 0;
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)err_set(err, ERR_FORMAT, "%s:%u:%zu: %s", t->file, l->number, column + 1, what);
	return err_point(err, l->start, l->whole, column, 40, 71);
}

int line_base(char out[BASE_TEXT], const struct source_text *t, const struct line *l, unsigned nest,
	      struct err *err)
{
	if (nest >= BASE_LIMIT || l->len >= BASE_TEXT)
		return line_fail(t, l, l->key, err,
				 "a base is the first line, and bases go in no circle");
	(void)snprintf(out, BASE_TEXT, "%.*s", (int)l->len, l->value);
	return 0;
}
