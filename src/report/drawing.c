/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/drawing.h"

#include "base/text.h"
#include "show/document.h"
#include "show/fold.h"

#define FEW 5 /* columns */

void drawing_begin(struct drawing *g, struct buf *out, double width, double height, const char *css,
		   const char *dark)
{
	*g = (struct drawing){ .out = out };
	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
		   "height=\"%g\" font-family=\"monospace\" font-size=\"11\">\n"
		   "<style>svg{background:#fff}text{fill:#111}.axis{stroke:#888;fill:none}"
		   "%sg:hover rect{stroke:#111}"
		   "@media screen and (prefers-color-scheme:dark){svg{background:#181818}text{fill:"
		   "#eee}%sg:hover rect{stroke:#eee}}</style>\n",
		   width, height, width, height, css, dark);
}

void drawing_box(struct drawing *g, const char *kind, double x, double y, double width,
		 double height)
{
	if (width > 0)
		buf_printf(g->out,
			   "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
			   "height=\"%.1f\"/>",
			   kind, x, y, width, height);
}

void drawing_text(struct drawing *g, double x, double y, const char *anchor, const char *text)
{
	buf_printf(g->out, "<text x=\"%.2f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	html_text(g->out, text);
	buf_puts(g->out, "</text>");
}

void drawing_label(struct drawing *g, double x, double y, double width)
{
	size_t fits = width > DRAWING_LETTER * 3 ? (size_t)((width - 6) / DRAWING_LETTER) : 0;

	if (!fits)
		return;
	buf_reset(&g->safe);
	buf_reset(&g->text);
	text_put_safe(&g->safe, buf_str(&g->name), false);
	if (fits < FEW && text_width(buf_str(&g->safe)) > fits)
		return; /* two letters and dots tell nothing */
	fold_name(&g->text, buf_str(&g->safe), fits, NULL, 0, false);
	drawing_text(g, x + 3, y + DRAWING_ROW - 5, "start", buf_str(&g->text));
}

double drawing_key(struct drawing *g, const char *kind, double x, double y, const char *text)
{
	buf_reset(&g->safe);
	text_put_safe(&g->safe, text, false);
	drawing_box(g, kind, x, y - 9, 11, 11);
	drawing_text(g, x + 15, y, "start", text);
	return x + 15 + DRAWING_LETTER * (double)(text_width(buf_str(&g->safe)) + 2);
}

void drawing_end(struct drawing *g)
{
	buf_puts(g->out, "</svg>\n");
	g->out->failed |= g->name.failed || g->safe.failed || g->text.failed;
	buf_free(&g->name);
	buf_free(&g->safe);
	buf_free(&g->text);
}
