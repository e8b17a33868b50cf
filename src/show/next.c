/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/next.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static bool reads_recording(const char *head)
{
	return strncmp(head, "explain", 7) != 0;
}

void next_add_command(struct next_list *l, const char *command, const char *why)
{
	if (l->n == NEXT_MAX || !command || !*command)
		return;
	l->v[l->n].command = arena_strdup(l->a, command);
	l->v[l->n].why = why;
	l->n += l->v[l->n].command != NULL;
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
		fine &= text_put_word(&b, l->input);
	}
	if (*tail)
		buf_printf(&b, " %s", tail);
	if (word) {
		buf_puts(&b, *word == '-' ? " -- " : " ");
		fine &= text_put_word(&b, word);
	}
	next_add_command(l, fine && !b.failed ? buf_str(&b) : NULL, why);
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
