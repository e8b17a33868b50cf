/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording - a recording opened for a command that attributes samples: the file, the images that
 * its code came from, the address spaces. Options of symbols and selection are obeyed.
 *
 *	recording_open(&r, cli, path, &err)
 *	recording_select(&r, cli, &popts, &err)	the selection, progress, machine
 *	profile_build(&p, r.rec, r.spaces, &popts, &err)
 *	recording_close(&r)			after profile_free
 */
#ifndef CYCLADE_CLI_RECORDING_H
#define CYCLADE_CLI_RECORDING_H

#include "analyse/flow.h"
#include "analyse/profile.h"
#include "base/err.h"
#include "cli/cli.h"
#include "perfdata/perfdata.h"
#include "report/view.h"
#include "symbol/space.h"

struct recording {
	struct pd *rec;
	struct images *images;
	struct spaces *spaces;
	struct derived *derived; /* the event of IBS that -e names; NULL: none */
};

int recording_open(struct recording *r, struct cli *cli, const char *path,
		   struct err *err) MUST_USE;
/* Safe if opening failed. */
void recording_close(struct recording *r);
/* Reports the files that exist and could not be read, on standard error: the output lacks their
 * data. recording_close() does it, too. */
void recording_troubles(const struct recording *r);

/* Whether it may have been made on this machine. */
bool recording_is_of_here(const struct recording *r);

/* Fills in the selection of the options; lists are in the cli's arena. */
int recording_select(const struct recording *r, struct cli *cli, struct profile_opts *o,
		     struct err *err) MUST_USE;

/* The same of branch stacks; of several -e the first. */
int recording_flow(const struct recording *r, struct cli *cli, struct flow_opts *o,
		   struct err *err) MUST_USE;

/* --line-size, else that of the data cache of the recording's machine, else 64: a power of two. */
int recording_line_size(const struct recording *r, const struct cli *cli, uint32_t *out,
			struct err *err) MUST_USE;
/* The event that -e means by its name or a pattern (NULL: any), of several the one that leads
 * (analyse/event_cost.h); only of those that are `usable` (NULL: all are). SIZE_MAX: there is none.
 */
size_t recording_event(const struct recording *r, const char *said,
		       bool (*usable)(const struct pd_event *e));
/* Some event's samples have one of these: PERF_SAMPLE_*. */
bool recording_has(const struct recording *r, uint64_t sample_type);

/* A file that is not here is worth a note if one in a hundred of all samples is in it. */
bool recording_lacks(const struct recording *r, uint32_t image, uint64_t samples, uint64_t all);

/* Fills in a view's notes on the recording, which the user named as `input` (NULL: the usual one):
 * notes of the recording, then the sources of symbols for images whose file is another than the
 * recorded one, or that are `missing` (by image; NULL: none). Notes are in the cli's arena. */
void recording_source(struct view_source *out, const struct recording *r, struct cli *cli,
		      const char *input, const bool *missing);

/* -e's lists, split at the commas that are not inside an event's own slashes. In the cli's arena.
 */
int split_events(struct cli *cli, const struct text_list *said, struct text_list *out,
		 struct err *err) MUST_USE;

#endif
