/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counting_out - where counts are written: -o FILE, -o -, --log-fd N, else standard error beside a
 * program and standard output without one.
 *
 * A file appears whole at the end; with --append and -I it grows as results come. It is opened
 * before anything is started.
 */
#ifndef CYCLADE_CLI_COUNTING_OUT_H
#define CYCLADE_CLI_COUNTING_OUT_H

#include "base/file_out.h"
#include "cli/cli.h"
#include "show/document.h"

struct counting_out {
	const struct cli *cli;
	const struct document_form *form;
	struct show show; /* later: a document of several was put */
	struct style style;
	struct buf text; /* of a document, kept from one to the next */
	int fd;
	bool own, staged, styled; /* own: to close; staged: `file` is to be committed */
	/* html with -I: bytes of the page so far; how many intervals had no place in it */
	uint64_t page;
	bool full;
	size_t left_out;
	struct file_new file;
};

#define COUNTING_OUT_INIT                                       \
	{                                                       \
		.text = BUF_INIT, .fd = -1, .file = {.fd = -1 } \
	}

/* A format or table (--table) that `form` does not have is refused. */
int counting_out_open(struct counting_out *o, const struct cli *cli,
		      const struct document_form *form, struct err *err) MUST_USE;
/* Found out when it is first asked for: the locale's files need not be read before the program
 * runs. */
const struct style *counting_out_style(struct counting_out *o);
/* *gone: the reader went away; that is no failure. */
int counting_out_put(struct counting_out *o, const struct buf *b, bool *gone,
		     struct err *err) MUST_USE;
/* Writes a finished document, with -I one of several; `last`: and to standard error the notes that
 * its format has no place for. `fd`, if it is not -1: there, for people. */
int counting_out_document(struct counting_out *o, struct document *d, int fd, bool last, bool *gone,
			  struct err *err) MUST_USE;
int counting_out_commit(struct counting_out *o, struct err *err) MUST_USE;
void counting_out_close(struct counting_out *o); /* without commit: nothing appears */

#endif
