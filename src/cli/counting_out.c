/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/counting_out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/nomem.h"
#include "report/page_files.h"
#include "show/html_page.h"

static int choose_format(struct counting_out *o, struct err *err)
{
	const struct options *opt = &o->cli->opt;

	o->show = (struct show){ .quiet = opt->quiet,
				 .line = opt->measure.interval,
				 .page = &page_files };
	if (cli_separator(o->cli, &o->show.separator, err))
		return -1;
	return show_choose(&o->show, o->form, cli_format(o->cli), opt->table, err);
}

int counting_out_open(struct counting_out *o, const struct cli *cli,
		      const struct document_form *form, struct err *err)
{
	const struct options *opt = &cli->opt;

	o->cli = cli;
	o->form = form;
	if (choose_format(o, err))
		return -1;
	if (!opt->output || !strcmp(opt->output, "-")) {
		o->fd = opt->output || !cli->args.n ? STDOUT_FILENO : STDERR_FILENO;
		if (!opt->output && OPTION_GIVEN(opt, log_fd))
			o->fd = (int)opt->log_fd;
		if (fcntl(o->fd, F_GETFL) < 0)
			return err_sys(err, "--log-fd %d", o->fd);
	} else if (opt->append) {
		o->fd = file_append_open(opt->output, 0644, err);
		if (o->fd < 0)
			return -1;
		o->own = true;
	} else {
		if (file_new_open(&o->file, opt->output, 0644, FILE_NEW_NAMED, err))
			return -1;
		o->fd = o->file.fd;
		o->staged = true;
	}
	return 0;
}

const struct style *counting_out_style(struct counting_out *o)
{
	if (!o->styled)
		o->style = cli_style(o->cli, o->fd);
	o->styled = true;
	return &o->style;
}

/* Documents come interval after interval: of stat with -I alone, of monitor always. */
static bool goes_on(const struct counting_out *o)
{
	return o->show.line;
}

int counting_out_put(struct counting_out *o, const struct buf *b, bool *gone, struct err *err)
{
	*gone = false;
	if (b->failed)
		return err_nomem(err);
	/* a file of intervals grows while it is read */
	if (o->staged && goes_on(o) && file_new_show(&o->file, err))
		return -1;
	if (!fd_write_all(o->fd, buf_str(b), b->len,
			  o->cli->opt.output ? o->cli->opt.output : "the report", err))
		return 0;
	if (err->sys_errno != EPIPE)
		return -1;
	err_clear(err);
	*gone = true;
	return 0;
}

/* An empty line between the program's own words and a result for people. */
static void put_gap(struct counting_out *o, const struct document *d, const struct show *s)
{
	if (d->title.n && !s->later && !s->table && !strcmp(s->format->name, "term"))
		buf_putc(&o->text, '\n');
}

/* Not through counting_out_put(): the file is none of `o`. */
static int put_for_people(struct counting_out *o, struct document *d, int fd, struct err *err)
{
	struct show s = { .style = cli_style(o->cli, fd), .quiet = o->show.quiet };

	if (show_choose(&s, o->form, "term", NULL, err))
		return -1;
	put_gap(o, d, &s);
	if (document_write(&o->text, d, &s, err))
		return -1;
	return fd_write_all(fd, buf_str(&o->text), o->text.len, "standard error", err);
}

/* Writes a document, as long as the page has room: if another of this size would be too much, this
 * is the last one, with a note. */
static int put_part(struct counting_out *o, struct document *d, struct err *err)
{
	static const char last[] = "the page ends with this interval, so that browsers can open "
				   "it; json, csv and markdown have all intervals";
	int ret;

	if (document_write(&o->text, d, &o->show, err))
		return -1;
	if (!goes_on(o) || strcmp(o->show.format->name, "html") != 0)
		return 0;
	if (o->page + 2 * o->text.len > HTML_PAGE_MOST - HTML_PAGE_MOST / 10) {
		o->full = true;
		buf_reset(&o->text);
		document_note(d, last);
		ret = document_write(&o->text, d, &o->show, err);
		if (d->note.n) /* it is of this page alone */
			d->note.n--;
		if (ret)
			return -1;
	}
	o->page += o->text.len;
	return 0;
}

/* The page is full: reports the last document's losses and notes on standard error, as for csv. */
static int left_out(struct counting_out *o, const struct document *d, bool last, struct err *err)
{
	struct show s = { .quiet = o->show.quiet };

	if (!last) {
		o->left_out++;
		return 0;
	}
	if (show_choose(&s, o->form, "csv", NULL, err))
		return -1;
	cli_say_unsaid(d, &s, true);
	return 0;
}

int counting_out_document(struct counting_out *o, struct document *d, int fd, bool last, bool *gone,
			  struct err *err)
{
	*gone = false;
	buf_reset(&o->text);
	if (fd >= 0)
		return put_for_people(o, d, fd, err);
	if (o->full)
		return left_out(o, d, last, err);
	o->show.style = *counting_out_style(o);
	put_gap(o, d, &o->show);
	if (put_part(o, d, err) || counting_out_put(o, &o->text, gone, err))
		return -1;
	o->show.later |= o->text.len > 0;
	o->show.more |= o->text.len > 0;
	/* csv beside the program's own output stays csv, except for losses */
	if (last)
		cli_say_unsaid(d, &o->show, o->fd != STDERR_FILENO);
	return 0;
}

int counting_out_commit(struct counting_out *o, struct err *err)
{
	bool staged = o->staged, own = o->own;

	o->staged = o->own = false;
	if (o->left_out)
		cli_note(o->cli, "%zu interval%s no place in the page: it would be too large",
			 o->left_out, o->left_out == 1 ? " has" : "s have");
	if (staged && nomem_noted()) { /* parts are missing: the older result stays */
		file_new_abort(&o->file);
		return err_nomem(err);
	}
	if (staged)
		return file_new_commit(&o->file, err);
	return own && close(o->fd) ? err_sys(err, "%s", o->cli->opt.output) : 0;
}

void counting_out_close(struct counting_out *o)
{
	if (o->staged)
		file_new_abort(&o->file);
	else if (o->own)
		(void)close(o->fd);
	o->staged = o->own = false;
	buf_free(&o->text);
}
