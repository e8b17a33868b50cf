/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sources - the results of one recording by selection: all, one thread, or all by thread. Each is
 * opened when it is first asked for and stays until the end, so that to go back costs nothing.
 *
 *	sources_open(&s, cli, path, &err)	opens that of all
 *	source = sources_get(&s, tid, false, &err)
 *	results_get(&d, source->all, ...)
 *	sources_close(&s)
 */
#ifndef CYCLADE_CLI_SOURCES_H
#define CYCLADE_CLI_SOURCES_H

#include "cli/recordings/results.h"

#define SOURCE_ALL UINT64_MAX /* no thread */

struct source {
	struct cli cli;	  /* with the options of this one, and an arena of its own */
	uint64_t tid;	  /* SOURCE_ALL: of all that the user's options select */
	bool by_thread;	  /* rows are threads, not functions */
	const char *text; /* of .cli's list of threads */
	struct results *all;
};

struct sources {
	struct cli *cli;
	const char *path;
	VEC(struct source *) v;
};

int sources_open(struct sources *s, struct cli *cli, const char *path, struct err *err) MUST_USE;
/* NULL: *err has the reason. */
struct source *sources_get(struct sources *s, uint64_t tid, bool by_thread, struct err *err);
void sources_close(struct sources *s);

#endif
