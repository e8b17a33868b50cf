/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html_page.h"

#include "config.h"
#include "report/page/page_int.h"
#include "show/pack.h"

#define STILL_ROWS 200 /* of a table, without scripts */

static void put_head(struct buf *out, const struct html_page *page)
{
	buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	buf_printf(out,
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "script-src '%s'; style-src '%s'; img-src data:\">\n",
		   page_script.hash, page_style.hash);
	buf_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_text(out, page->title);
	buf_puts(out, "</title>\n<style>");
	buf_put(out, page_style.text, page_style.len);
	buf_puts(out, "</style>\n</head>\n");
}

static int put_still(struct buf *out, const struct html_page *page, struct err *err)
{
	struct show show = { .rows = STILL_ROWS };

	buf_puts(out, "<body>\n<main id=\"cyclade-still\">\n<h1>");
	html_text(out, page->title);
	buf_puts(out, "</h1>\n");
	for (size_t i = 0; i < page->n_parts; i++) {
		const struct html_page_part *part = &page->part[i];

		if (!part->still)
			continue;
		if (show_choose(&show, part->document->form, "html", NULL, err) ||
		    document_write(out, part->document, &show, err))
			return -1;
	}
	buf_puts(out, "</main>\n");
	return buf_error(out, err);
}

static void put_functions(struct pack *p, const struct html_page *page)
{
	pack_array(p, "functions");
	for (size_t i = 0; i < page->n_functions; i++) {
		const struct html_page_function *f = &page->function[i];

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
}

static int put_data(struct buf *out, const struct html_page *page, struct err *err)
{
	struct pack p;

	buf_puts(out, "<script type=\"application/json\" id=\"cyclade-data\">");
	pack_open(&p, out);
	pack_count(&p, "format", 1);
	pack_word(&p, "title", page->title);
	pack_word(&p, "program", "cyclade " CYCLADE_VERSION);
	pack_flag(&p, "source", page->source);
	pack_array(&p, "documents");
	for (size_t i = 0; i < page->n_parts; i++)
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
	if (page->cube) {
		pack_object(&p, "cube");
		pack_members(&p, page->cube);
		pack_end(&p);
	} else {
		pack_word(&p, "cube", NULL);
	}
	put_functions(&p, page);
	pack_close(&p);
	buf_puts(out, "</script>\n");
	return buf_error(out, err);
}

int html_page_write(struct buf *out, const struct html_page *page, struct err *err)
{
	put_head(out, page);
	if (put_still(out, page, err) || put_data(out, page, err))
		return -1;
	buf_puts(out, "<script>");
	buf_put(out, page_script.text, page_script.len);
	buf_puts(out, "</script>\n</body>\n</html>\n");
	return buf_error(out, err);
}
