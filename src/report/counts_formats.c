/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "report/counts_rows.h"

void counts_json_status(struct json *j, const struct count_head *c)
{
	json_u64(j, "tool_status", 0);
	if (c->status >= 0)
		json_u64(j, "workload_status", (uint64_t)c->status);
	else
		json_null(j, "workload_status");
}

void counts_json_end(struct json *j, const struct count_head *c)
{
	counts_json_status(j, c);
	json_bool(j, "interrupted", c->interrupted);
}

void counts_put_head(struct buf *b, const struct count_head *c, const struct style *st)
{
	struct buf line = BUF_INIT, safe = BUF_INIT;

	count_head_command(&line, c);
	text_put_safe(&safe, buf_str(&line), st->ascii);
	buf_putc(b, ' ');
	style_ink(b, st, INK_BOLD);
	if (text_width(buf_str(&safe)) > 76)
		text_put_fit(b, buf_str(&safe), 76, TEXT_LEFT, false, st->ascii);
	else
		buf_puts(b, buf_str(&safe));
	style_ink(b, st, INK_PLAIN);
	buf_putc(b, '\n');
	buf_reset(&line);
	count_head_times(&line, c);
	buf_putc(b, ' ');
	text_put_wrapped(b, buf_str(&line), 1, st->width);
	buf_putc(b, '\n');
	b->failed |= line.failed | safe.failed;
	buf_free(&line);
	buf_free(&safe);
}

void counts_put_notes(struct buf *b, const struct count_head *c, const struct style *st)
{
	for (size_t i = 0; i < c->n_notes; i++) {
		buf_putc(b, ' ');
		text_put_wrapped(b, c->notes[i], 1, st->width);
		buf_putc(b, '\n');
	}
}

void counts_markdown_head(struct buf *b, const struct count_head *c)
{
	const struct style plain = { .ascii = true };
	struct buf head = BUF_INIT;

	counts_put_head(&head, c, &plain);
	for (char *line = head.s, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		text_put_markdown(b, line + strspn(line, " "));
		buf_puts(b, "\n\n");
	}
	b->failed |= head.failed;
	buf_free(&head);
}

void counts_markdown_notes(struct buf *b, const struct count_head *c)
{
	for (size_t i = 0; i < c->n_notes; i++) {
		buf_puts(b, "- ");
		text_put_markdown(b, c->notes[i]);
		buf_putc(b, '\n');
	}
}
