/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fnmatch.h>

#include "base/utf8.h"

bool text_is_hazard(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0xad || cp == 0x61c ||
	       (cp >= 0x200b && cp <= 0x200f) || (cp >= 0x2028 && cp <= 0x202e) ||
	       (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff || (cp >= 0xfff9 && cp <= 0xfffb) ||
	       (cp >= 0xe0000 && cp <= 0xe007f);
}

static const char *skip_plain(const char *s)
{
	while (*s >= 0x20 && *s < 0x7f)
		s++;
	return s;
}

void text_put_safe(struct buf *b, const char *s, bool ascii)
{
	const char *plain = s, *end;

	s = skip_plain(s);
	end = s + strlen(s);
	while (s < end) {
		uint32_t cp = 0;
		size_t n = utf8_decode(s, (size_t)(end - s), &cp);

		if (n && !text_is_hazard(cp) && !(ascii && cp >= 0x80)) {
			s += n;
			continue;
		}
		buf_put(b, plain, (size_t)(s - plain));
		if (!n || cp < 0x80)
			buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*s);
		else
			buf_printf(b, "\\u{%x}", (unsigned)cp);
		s += n ? n : 1;
		plain = s;
	}
	buf_put(b, plain, (size_t)(s - plain));
}

void text_put_markdown(struct buf *b, const char *s)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s ? s : "", false);
	for (const char *c = buf_str(&safe); *c; c++) {
		if (*c == '&' || *c == '<') {
			buf_puts(b, *c == '&' ? "&amp;" : "&lt;");
			continue;
		}
		if (strchr("\\`*_[]|~#!>{}@:$", *c))
			buf_putc(b, '\\');
		buf_putc(b, *c);
	}
	b->failed |= safe.failed;
	buf_free(&safe);
}

/* Columns of a code point: the wide blocks of Unicode's East Asian Width (W and F) and the
 * combining marks, by block; not locale-dependent, so that output is the same everywhere. */
static unsigned char_columns(uint32_t cp)
{
	static const struct {
		uint32_t from, to;
		unsigned columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x483, 0x489, 0 },	  { 0x591, 0x5bd, 0 },
		{ 0x610, 0x61a, 0 },	 { 0x64b, 0x65f, 0 },	  { 0x1100, 0x115f, 2 },
		{ 0x1ab0, 0x1aff, 0 },	 { 0x1dc0, 0x1dff, 0 },	  { 0x20d0, 0x20ff, 0 },
		{ 0x231a, 0x231b, 2 },	 { 0x23e9, 0x23ec, 2 },	  { 0x2614, 0x2615, 2 },
		{ 0x2e80, 0x303e, 2 },	 { 0x3041, 0x4dbf, 2 },	  { 0x4e00, 0xa4cf, 2 },
		{ 0xa960, 0xa97f, 2 },	 { 0xac00, 0xd7a3, 2 },	  { 0xf900, 0xfaff, 2 },
		{ 0xfe00, 0xfe0f, 0 },	 { 0xfe20, 0xfe2f, 0 },	  { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
		{ 0xe0100, 0xe01ef, 0 },
	};

	if (cp < 0x300)
		return 1;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (cp >= ranges[i].from && cp <= ranges[i].to)
			return ranges[i].columns;
	return 1;
}

size_t text_width(const char *s)
{
	const char *rest = skip_plain(s), *end = rest + strlen(rest);
	size_t width = (size_t)(rest - s);

	s = rest;
	while (s < end) {
		uint32_t cp = 0;
		size_t n = utf8_decode(s, (size_t)(end - s), &cp);

		width += n ? char_columns(cp) : 1;
		s += n ? n : 1;
	}
	return width;
}

/* Bytes of the longest head of s that takes at most `width` columns. */
static size_t head_bytes(const char *s, size_t width, size_t *used)
{
	const char *at = s, *end = s + strlen(s);

	*used = 0;
	while (at < end) {
		uint32_t cp = 0;
		size_t n = utf8_decode(at, (size_t)(end - at), &cp);
		size_t w = n ? char_columns(cp) : 1;

		if (*used + w > width)
			break;
		*used += w;
		at += n ? n : 1;
	}
	return (size_t)(at - s);
}

void text_put_fit(struct buf *b, const char *s, size_t width, enum text_fit align, bool keep_end,
		  bool ascii)
{
	const char *dots = ascii ? "..." : "\xe2\x80\xa6";
	size_t dots_width = ascii ? 3 : 1, full = text_width(s), used, n;

	if (full <= width) {
		if (align == TEXT_RIGHT)
			buf_fill(b, ' ', width - full);
		buf_puts(b, s);
		if (align == TEXT_LEFT)
			buf_fill(b, ' ', width - full);
		return;
	}
	if (width < dots_width) {
		buf_fill(b, '.', width);
		return;
	}
	if (keep_end) {
		size_t skip = full - (width - dots_width);

		n = head_bytes(s, skip, &used);
		if (used < skip) /* a wide character stands across the cut */
			n += head_bytes(s + n, 2, &full);
		buf_puts(b, dots);
		buf_fill(b, ' ', width - dots_width - text_width(s + n));
		buf_puts(b, s + n);
	} else {
		n = head_bytes(s, width - dots_width, &used);
		buf_put(b, s, n);
		buf_puts(b, dots);
		buf_fill(b, ' ', width - dots_width - used);
	}
}

void text_put_safe_fit(struct buf *b, const char *s, size_t width, bool ascii)
{
	size_t n = (size_t)(skip_plain(s) - s);
	struct buf safe = BUF_INIT;

	if (!s[n] && n <= width) {
		buf_put(b, s, n);
		buf_fill(b, ' ', width - n);
		return;
	}
	text_put_safe(&safe, s, ascii);
	text_put_fit(b, buf_str(&safe), width, TEXT_LEFT, false, ascii);
	b->failed |= safe.failed;
	buf_free(&safe);
}

/* Optimal string alignment distance (insert, delete, replace, swap neighbours), capped at `cap`. */
static size_t edit_distance(const char *a, const char *b, size_t cap)
{
	size_t row[3][66];
	size_t la = strlen(a), lb = strlen(b);

	if (la > 64 || lb > 64)
		return cap;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *cur = row[i % 3], *prev = row[(i - 1) % 3], *prev2 = row[(i + 1) % 3];

		cur[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = prev[j - 1] + (a[i - 1] != b[j - 1]);

			if (prev[j] + 1 < best)
				best = prev[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    prev2[j - 2] + 1 < best)
				best = prev2[j - 2] + 1;
			cur[j] = best;
		}
	}
	return row[la % 3][lb] < cap ? row[la % 3][lb] : cap;
}

const char *text_nearest(const char *s, const char *const *words)
{
	size_t len = strlen(s), best = len / 3 + 1;
	const char *nearest = NULL, *prefix = NULL;

	for (; *words; words++) {
		size_t d = edit_distance(s, *words, best + 1);

		if (d < best || (d == best && !nearest)) {
			best = d;
			nearest = *words;
		}
		if (!prefix && len >= 3 && strlen(*words) >= 3 &&
		    !strncmp(s, *words, len < strlen(*words) ? len : strlen(*words)))
			prefix = *words;
	}
	return nearest ? nearest : prefix;
}

int text_suggest(struct err *err, const char *s, const char *const *words, const char *otherwise,
		 ...)
{
	const char *near = s && words ? text_nearest(s, words) : NULL;
	char text[sizeof(err->hint)];
	va_list ap;

	if (near)
		return err_hint(err, "did you mean %.180s?", near);
	va_start(ap, otherwise);
	(void)vsnprintf(text, sizeof(text), otherwise, ap);
	va_end(ap);
	return err_hint(err, "%s", text);
}

bool text_ends(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(s + len - n, end, n);
}

bool text_word(const char **list, const char **word, size_t *len)
{
	const char *s = *list;
	size_t n;

	if (!s)
		return false;
	n = strcspn(s, ",");
	*list = s[n] ? s + n + 1 : NULL;
	for (; n && *s == ' '; n--)
		s++;
	while (n && s[n - 1] == ' ')
		n--;
	*word = s;
	*len = n;
	return true;
}

void text_hex(char *out, const uint8_t *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

/* Bytes of the sign that begins a formula; 0: none. Some spreadsheets take full-width signs. */
static size_t formula_sign(const char *s)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
					    "\xef\xbc\xa0" };

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (!strncmp(s, wide[i], 3))
			return 3;
	return *s && strchr("=+-@\t", *s) ? 1 : 0;
}

/* Text that a spreadsheet would run, in quotation marks, too. Some spreadsheets take leading blanks
 * away. */
static bool is_formula(const char *s)
{
	size_t n;
	char *end;

	s += strspn(s, " \r\n");
	n = formula_sign(s);
	if (!n || !s[n])
		return false;
	(void)strtod(s, &end);
	return *end;
}

void text_put_csv(struct buf *b, const char *s, char separator)
{
	bool formula = is_formula(s);

	if (!formula && !strpbrk(s, "\"\r\n") && !strchr(s, separator)) {
		buf_puts(b, s);
		return;
	}
	buf_puts(b, formula ? "\"'" : "\"");
	for (; *s; s++) {
		if (*s == '"')
			buf_putc(b, '"');
		buf_putc(b, *s);
	}
	buf_putc(b, '"');
}

void text_put_csv_safe(struct buf *b, const char *s, char separator)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s ? s : "", false);
	text_put_csv(b, buf_str(&safe), separator);
	b->failed |= safe.failed;
	buf_free(&safe);
}

void text_put_csv_real(struct buf *b, double v)
{
	if (!signbit(v) && v < 1e9 && v == (double)(uint32_t)v)
		buf_put_decimal(b, (uint32_t)v);
	else if (isfinite(v))
		buf_printf(b, "%.9g", v);
}

bool text_glob(const char *pattern, const char *s)
{
	return fnmatch(pattern, s, 0) == 0;
}

bool text_means(const char *said, const char *name)
{
	return !said || !strcmp(said, name) || text_glob(said, name);
}

void text_put_wrapped(struct buf *b, const char *s, size_t indent, size_t width)
{
	for (size_t at = indent; *s;) {
		size_t n = strcspn(s, " ");

		if (at > indent && width && at + n > width) {
			buf_end_line(b);
			buf_fill(b, ' ', indent);
			at = indent;
		} else if (at > indent) {
			buf_putc(b, ' ');
		}
		buf_put(b, s, n);
		at += n + 1;
		s += n + (s[n] == ' ');
	}
}

#define WORD_MAX 1000

bool text_put_word(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:,@%+=-";
	struct buf safe = BUF_INIT;
	bool same;

	if (strlen(s) > WORD_MAX)
		return false;
	text_put_safe(&safe, s, false);
	same = !safe.failed && !strcmp(buf_str(&safe), s);
	buf_free(&safe);
	if (!same)
		return false;
	if (*s && strspn(s, plain) == strlen(s)) {
		buf_puts(b, s);
		return true;
	}
	buf_putc(b, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, *s);
	}
	buf_putc(b, '\'');
	return true;
}
