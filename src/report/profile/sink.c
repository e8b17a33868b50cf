/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sink.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

static const struct sink sinks[] = {
#define SINK(name, write, machine) { name, write, machine },
#include "report/profile/sink.def"
#undef SINK
};

const struct sink *sink_find(const char *name, struct err *err)
{
	for (size_t i = 0; i < sizeof(sinks) / sizeof(*sinks); i++)
		if (!strcmp(sinks[i].name, name))
			return &sinks[i];
	(void)err_set(err, ERR_USAGE, "there is no format '%.40s'", name);
	return NULL;
}

void sink_fold_name(struct buf *b, const struct view_row *r)
{
	char n[NUM_MAX];

	if (r->left_out)
		buf_puts(b, "(left out by --focus or --hide)");
	else
		buf_printf(b, "(%s more)", num_exact(n, r->folded));
}

static void put_share(struct buf *b, double share)
{
	char n[NUM_MAX];

	if (share > 0 && share < 0.0005)
		buf_puts(b, "<0.1 %");
	else
		buf_puts(b, num_percent(n, share));
}

static void put_error(struct buf *b, double half)
{
	if (isnan(half))
		buf_puts(b, "+-?");
	else if (half < 0.0005)
		buf_puts(b, "+-<0.1");
	else
		buf_printf(b, "+-%.1f", half * 100);
}

void sink_put_cell(struct buf *b, const struct cell *c, bool ascii)
{
	char n[NUM_MAX];

	switch (c->kind) {
	case CELL_NONE:
		return;
	case CELL_TEXT:
		text_put_safe(b, c->text, ascii);
		return;
	case CELL_NUMBER:
		buf_printf(b, "%llu", (unsigned long long)c->number);
		return;
	case CELL_COUNT:
		buf_puts(b, num_count(n, (double)c->number));
		return;
	case CELL_HEX:
		buf_printf(b, "0x%llx", (unsigned long long)c->number);
		return;
	case CELL_SHARE:
		put_share(b, c->real);
		return;
	case CELL_ERROR:
		put_error(b, c->real);
		return;
	}
}
