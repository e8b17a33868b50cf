/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * penalties - measured costs of events, for report --account and blocks --chains: the file of
 * --penalties, or the one that `calibrate` kept of this machine if the recording is of its CPU and
 * kernel.
 *
 *	penalties_read(&p, cli, info, &err)
 *	if (p.path) ... p.text ...
 *	penalties_free(&p)
 *
 * `--penalties none` and --model leave the kept file out. A kept file that cannot be read or
 * understood is noted, and not used.
 */
#ifndef CYCLADE_CLI_PENALTIES_H
#define CYCLADE_CLI_PENALTIES_H

#include "base/buf.h"
#include "cli/cli.h"
#include "perfdata/perfdata.h"

struct penalties {
	const char *path; /* NULL: the model's alone */
	bool kept;
	struct buf text;
	const char *says; /* "penalties measured here on 2026-11-23 (PATH)", "penalties of PATH" */
};

int penalties_read(struct penalties *out, struct cli *cli, const struct pd_info *i,
		   struct err *err) MUST_USE;
/* A file that was kept is not as it should be: a note, as if there were none. */
void penalties_leave_out(struct penalties *p, struct cli *cli, const struct err *why);
void penalties_free(struct penalties *p);

#endif
