/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/next.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

#define WORD_MAX 1000

bool next_word(struct buf *b, const char *s)
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

static bool reads_recording(const char *head)
{
	return strncmp(head, "record", 6) != 0 && strncmp(head, "explain", 7) != 0;
}

void next_add(struct next_list *l, const char *head, const char *tail, const char *word,
	      const char *why)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	if (l->n == NEXT_MAX)
		return;
	buf_printf(&b, "cyclade %s", head);
	if (l->input && reads_recording(head)) {
		buf_puts(&b, " -i ");
		fine &= next_word(&b, l->input);
	}
	if (*tail)
		buf_printf(&b, " %s", tail);
	if (word) {
		buf_puts(&b, *word == '-' ? " -- " : " ");
		fine &= next_word(&b, word);
	}
	l->v[l->n].command = fine && !b.failed ? arena_strndup(l->a, b.s, b.len) : NULL;
	l->v[l->n].why = why;
	l->n += l->v[l->n].command != NULL;
	buf_free(&b);
}

void next_put(struct buf *out, const struct next *n, size_t count, const struct style *st)
{
	size_t width = 0;

	for (size_t i = 0; i < count; i++)
		if (strlen(n[i].command) > width)
			width = strlen(n[i].command);
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, i ? "       " : " next: ");
		style_ink(out, st, INK_BOLD);
		buf_puts(out, n[i].command);
		style_ink(out, st, INK_PLAIN);
		/* a long command is never cut, only its explanation left out */
		if (!st->width || 9 + width + strlen(n[i].why) <= st->width) {
			buf_fill(out, ' ', width - strlen(n[i].command) + 2);
			buf_puts(out, n[i].why);
		}
		buf_putc(out, '\n');
	}
}
