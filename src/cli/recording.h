/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording - a recording opened for a command that attributes samples: the file, the images that
 * its code came from, the address spaces. What the options say of symbols and selection is obeyed.
 *
 *	recording_open(&r, cli, path, &err)
 *	recording_select(&r, cli, &popts, &err)	--comm, --only-pid, --only-tid, progress, machine
 *	profile_build(&p, r.rec, r.spaces, &popts, &err)
 *	recording_close(&r)			after profile_free
 */
#ifndef CYCLADE_CLI_RECORDING_H
#define CYCLADE_CLI_RECORDING_H

#include "analyse/profile.h"
#include "base/err.h"
#include "cli/cli.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"

struct recording {
	struct pd *rec;
	struct images *images;
	struct spaces *spaces;
};

int recording_open(struct recording *r, struct cli *cli, const char *path,
		   struct err *err) MUST_USE;
void recording_close(struct recording *r); /* safe on what failed to open */

/* Fills what the options say; lists are in the cli's arena. */
int recording_select(const struct recording *r, struct cli *cli, struct profile_opts *o,
		     struct err *err) MUST_USE;

/* EM_* of a uname machine ("x86_64"), 0 for one we do not know. */
unsigned machine_of_arch(const char *arch);

/* -e's lists, split at the commas that are not inside an event's own slashes. In the cli's arena.
 */
int split_events(struct cli *cli, const struct text_list *said, struct text_list *out,
		 struct err *err) MUST_USE;

#endif
