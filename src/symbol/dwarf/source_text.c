/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/source_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/xalloc.h"

static bool is_same_text(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Ends each line with a NUL, in place, where "\n" or "\r\n" did. */
static void split_lines(struct source_text *t)
{
	char *to = t->text.s, *from = to, *line = to;
	char *end = to ? to + strnlen(to, t->text.len) : NULL;

	while (from < end) {
		char c = *from++;

		if (c == '\r' && from < end && *from == '\n')
			continue;
		*to++ = c == '\n' ? '\0' : c;
		if (c != '\n' && from < end)
			continue;
		if (t->lines++ % SOURCE_STEP == 0)
			vec_xpush(&t->step, (uint32_t)(line - t->text.s));
		line = to;
	}
	if (to)
		*to = '\0'; /* there is room: buf_str() ends a text so */
	t->kept = true;
}

static void source_text_free(struct source_text *t)
{
	buf_free(&t->text);
	vec_free(&t->step);
	free(t);
}

bool source_text_is(const struct source_text *t, const uint8_t *sum)
{
	return !sum || (t->summed && !memcmp(t->md5, sum, MD5_SIZE));
}

const struct source_text *source_shelf_text(struct source_shelf *s, int fd, const struct stat *st,
					    const uint8_t *sum, const char *path)
{
	struct source_text *t;

	vec_each (&s->text, struct source_text **, it) {
		t = *it;
		if (is_same_text(&t->st, st) && (!sum || t->summed) &&
		    (t->kept || !source_text_is(t, sum))) {
			(void)close(fd);
			return t;
		}
	}
	t = xcalloc(1, sizeof(*t));
	t->st = *st;
	if (file_in_slurp(&t->text, fd, st, SOURCE_MAX, path, NULL)) {
		source_text_free(t);
		return NULL;
	}
	vec_xpush(&s->text, t);
	t->summed = sum;
	if (sum)
		md5(buf_str(&t->text), t->text.len, t->md5);
	if (source_text_is(t, sum))
		split_lines(t);
	else
		buf_free(&t->text);
	return t;
}

const char *source_text_line(const struct source_text *t, size_t line)
{
	const char *p;

	if (!line || line > t->lines)
		return NULL;
	p = t->text.s + t->step.v[(line - 1) / SOURCE_STEP];
	for (size_t n = (line - 1) % SOURCE_STEP; n; n--)
		p += strlen(p) + 1;
	return p;
}

void source_shelf_free(struct source_shelf *s)
{
	vec_each (&s->text, struct source_text **, it)
		source_text_free(*it);
	vec_free(&s->text);
}
