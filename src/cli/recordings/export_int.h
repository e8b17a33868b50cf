/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_int - shared by the formats of `cyclade export`.
 */
#ifndef CYCLADE_CLI_EXPORT_INT_H
#define CYCLADE_CLI_EXPORT_INT_H

#include "base/buf.h"
#include "cli/recording.h"

struct exporting {
	struct cli *cli;
	struct recording r;
	const char *event; /* NULL: all */
	struct cli_out out;
};

/* export_code.c: formats of one program's code. */
int export_write_fdo(struct exporting *x, struct err *err) MUST_USE;
int export_write_bolt(struct exporting *x, struct err *err) MUST_USE;
int export_write_blocks(struct exporting *x, struct err *err) MUST_USE;
int export_write_order(struct exporting *x, struct err *err) MUST_USE;

/* export_folded.c: folded stacks of both operands. Returns the exit code. */
int export_folded_pair(struct cli *cli);

#endif
