/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - strings from outside, made fit to be shown.
 */
#ifndef CYCLADE_BASE_TEXT_H
#define CYCLADE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Characters that change how a terminal shows later ones, or that are invisible: controls, bidi
 * marks and overrides, zero-width and line separators, tags, byte order marks. */
bool text_is_hazard(uint32_t cp);
/* Puts `s` with control characters, escapes, bidi overrides and bytes that are not UTF-8 written as
 * \xNN or \u{NNNN}: safe on any terminal. With `ascii`, everything beyond ASCII is written so. */
void text_put_safe(struct buf *b, const char *s, bool ascii);
/* The same so that no character means anything to Markdown or HTML either. NULL is "". */
void text_put_markdown(struct buf *b, const char *s);

/* A word for a POSIX shell. False if it cannot be typed: it holds characters that a terminal should
 * not show, or has no visible end. */
bool text_put_word(struct buf *b, const char *s);

/* Columns a terminal needs for `s` (which must be safe already): wide characters count 2, combining
 * ones 0. */
size_t text_width(const char *s);

/* Puts `s`, made safe, to the left of exactly `width` columns, as text_put_fit does. */
void text_put_safe_fit(struct buf *b, const char *s, size_t width, bool ascii);
/* Puts `s` cut or padded to exactly `width` columns. A cut is marked with an ellipsis ("..." when
 * `ascii`); `keep_end` keeps the end of the string instead of its start. */
enum text_fit { TEXT_LEFT, TEXT_RIGHT };
void text_put_fit(struct buf *b, const char *s, size_t width, enum text_fit align, bool keep_end,
		  bool ascii);

/* Puts `s` in lines of at most `width` columns (0: in one line), broken at blanks. The first begins
 * at column `indent`, where the caller is; the others are brought there. */
void text_put_wrapped(struct buf *b, const char *s, size_t indent, size_t width);

/* The word of `words` (NULL-ended) nearest to `s` within a third of its length, else one that
 * begins like it, or NULL. */
const char *text_nearest(const char *s, const char *const *words);
/* Sets the hint of an error that has none: "did you mean NAME?" with that word; if there is none,
 * or `s` or `words` is NULL, the text of `otherwise`. Always returns -1. */
int text_suggest(struct err *err, const char *s, const char *const *words, const char *otherwise,
		 ...) PRINTF_(4, 5);

/* Returns true if the `len` bytes at `s` end with `end`. */
bool text_ends(const char *s, size_t len, const char *end);

/* Takes the next word off a list that people typed, such as "a, b,c": `len` bytes, without the
 * blanks around them; 0 where two commas meet. After the last word `*list` is NULL. False: it was
 * NULL. */
bool text_word(const char **list, const char **word, size_t *len);

/* Two digits for each of `n` bytes, as build-ids are written, and a 0: 2 * n + 1 characters. */
void text_hex(char *out, const uint8_t *p, size_t n);

/* RFC 4180: quotes if needed, quotes doubled. Text that a spreadsheet would run is quoted with '
 * before it: no number, and its first character behind blanks and line ends is = + - @, also in
 * full width, or a tab. */
void text_put_csv(struct buf *b, const char *s, char separator);
/* The same of text that may hold anything, as text_put_safe() shows it: a row stays a line. NULL:
 * "" */
void text_put_csv_safe(struct buf *b, const char *s, char separator);
/* Nine digits; nothing if there is no number. */
void text_put_csv_real(struct buf *b, double v);

/* Shell-style glob (* ? [..]), whole string, case-sensitive. */
bool text_glob(const char *pattern, const char *s);
/* The typed word is this name, or a pattern of it. NULL: anything. */
bool text_means(const char *said, const char *name);

#endif
