/* SPDX-License-Identifier: BSD-3-Clause */
#include "show/html_page.h"

#include <stdlib.h>

#include "config.h"
#include "show/pack.h"

#define STILL_ROWS 200	/* of a table, without scripts */
#define ALONE_ROWS 1000 /* of a table of a page's only result */
#define NOT_TABLES 10	/* a tenth of it is for other members of documents */

static void put_page_head(struct buf *out, const struct html_files *files, const char *title)
{
	buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	buf_printf(out,
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "script-src '%s'; style-src '%s'; img-src data:\">\n",
		   files->script.hash, files->style.hash);
	buf_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_text(out, title);
	buf_puts(out, "</title>\n<style>");
	buf_put(out, files->style.text, files->style.len);
	buf_puts(out, "</style>\n<script>");
	buf_put(out, files->script.text, files->script.len);
	buf_puts(out, "</script>\n</head>\n<body>\n<main class=\"still\">\n<h1>");
	html_text(out, title);
	buf_puts(out, "</h1>\n");
}

static int put_still(struct buf *out, const struct html_page *page, struct err *err)
{
	struct show show = { .rows = page->n_parts > 1 ? STILL_ROWS : ALONE_ROWS };

	for (size_t i = 0; i < page->n_parts; i++) {
		const struct html_page_part *part = &page->part[i];

		if (part->still && (show_choose(&show, part->document->form, "html", NULL, err) ||
				    format_html(out, part->document, &show, err)))
			return -1;
	}
	buf_puts(out, "</main>\n");
	return buf_error(out, err);
}

static void put_page_functions(struct pack *p, struct html_page *page)
{
	uint64_t most = page->code_most ? pack_bytes(p) + page->code_most : HTML_PAGE_MOST / 3 * 2;
	size_t i;

	pack_array(p, "functions");
	for (i = 0; i < page->n_functions; i++) {
		const struct html_page_function *f = &page->function[i];

		if (pack_bytes(p) > most)
			break;
		pack_object(p, NULL);
		pack_text(p, "function", f->function);
		pack_text(p, "dso", f->dso);
		pack_document(p, "document", "function", f->document);
		if (f->graph) {
			pack_object(p, "graph");
			pack_members(p, f->graph);
			pack_end(p);
		} else {
			pack_word(p, "graph", NULL);
		}
		pack_end(p);
	}
	pack_end(p);
	page->n_more += page->n_functions - i;
	page->n_functions = i;
}

static void put_cube(struct pack *p, const char *key, const struct document *cube)
{
	if (!cube) {
		pack_word(p, key, NULL);
		return;
	}
	pack_object(p, key);
	pack_members(p, cube);
	pack_end(p);
}

/* Bytes of the tables, beside parts with their own bounds. */
static void set_cap(struct pack *p, const struct html_page *page)
{
	const size_t n = page->n_parts + page->n_functions;
	const struct document **d = malloc((n + 1) * sizeof(*d));
	uint64_t has = pack_bytes(p), left;
	size_t k = 0;

	p->most = HTML_PAGE_MOST - HTML_PAGE_MOST / NOT_TABLES;
	left = has < p->most ? p->most - has : 0;
	p->failed |= !d;
	for (size_t i = 0; i < page->n_parts && d; i++)
		if (page->part[i].view)
			d[k++] = page->part[i].document;
	for (size_t i = 0; i < page->n_functions && d; i++)
		d[k++] = page->function[i].document;
	if (d)
		p->cap = pack_cap(p, d, k, left);
	free(d);
}

static int put_data(struct buf *out, struct html_page *page, struct err *err)
{
	struct buf note = BUF_INIT;
	struct pack p;

	buf_puts(out, "<script type=\"application/json\" class=\"cyclade-data\">");
	pack_open(&p, out);
	p.only = page->only;
	p.later = page->later;
	pack_count(&p, "format", 2);
	pack_word(&p, "title", page->title);
	pack_word(&p, "program", "cyclade " CYCLADE_VERSION);
	pack_flag(&p, "source", page->source);
	put_cube(&p, "cube", page->cube);
	put_cube(&p, "wall", page->wall);
	put_cube(&p, "timeline", page->timeline);
	put_cube(&p, "memory", page->memory);
	pack_array(&p, "flames");
	for (size_t i = 0; i < page->n_flames; i++)
		put_cube(&p, NULL, &page->flame[i]);
	pack_end(&p);
	set_cap(&p, page);
	put_page_functions(&p, page);
	if (page->n_more) {
		buf_printf(&note,
			   "code: %zu functions with few samples are left out, so that the page "
			   "is small; cyclade annotate NAME shows one, report --html --functions "
			   "N puts those with most samples into the page",
			   page->n_more);
		p.note = buf_str(&note);
	}
	pack_array(&p, "documents");
	for (size_t i = 0; i < page->n_parts; i++)
		if (page->part[i].view)
			pack_document(&p, NULL, page->part[i].view, page->part[i].document);
	pack_end(&p);
	pack_array(&p, "absent");
	for (size_t i = 0; i < page->n_absent; i++) {
		pack_array(&p, NULL);
		pack_word(&p, NULL, page->absent[i].view);
		pack_text(&p, NULL, page->absent[i].why);
		pack_end(&p);
	}
	pack_end(&p);
	out->failed |= note.failed;
	buf_free(&note);
	pack_close(&p);
	buf_puts(out, "</script>\n");
	return buf_error(out, err);
}

int html_page_write(struct buf *out, struct html_page *page, struct err *err)
{
	put_page_head(out, page->files, page->title);
	if (put_still(out, page, err) || put_data(out, page, err))
		return -1;
	buf_puts(out, "</body>\n</html>\n");
	return buf_error(out, err);
}

/* ---- a result alone -------------------------------------------------------------------------- */

/* "diff: a.data, b.data": its kind, and its first title if the document has one. */
static void put_page_title(struct buf *out, const struct document *d)
{
	buf_puts(out, d->form->name);
	if (d->title.n && !d->title.v[0].label)
		buf_printf(out, ": %s", d->title.v[0].text);
}

int html_page_document(struct buf *out, const struct document *d, const struct show *s,
		       struct err *err)
{
	struct show still = {
		.format = s->format, .table = s->table, .later = s->later, .rows = ALONE_ROWS
	};
	struct html_page_part part = { d->form->name, d, true };
	struct html_page page = {
		.part = &part, .n_parts = 1, .only = s->table, .later = s->later, .source = true
	};
	struct buf title = BUF_INIT;
	int ret;

	put_page_title(&title, d);
	page.title = buf_str(&title);
	if (!s->more)
		put_page_head(out, s->page, page.title);
	ret = format_html(out, d, &still, err);
	if (!ret && !s->more)
		buf_puts(out, "</main>\n");
	ret = ret ? ret : put_data(out, &page, err);
	out->failed |= title.failed;
	buf_free(&title);
	return ret;
}
