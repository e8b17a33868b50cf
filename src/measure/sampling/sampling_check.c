/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contradictions that are found before anything is opened.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "measure/sampling/sampling_int.h"

/* Where a recording can be kept: its head is written again at the end. */
static int output_path(const char *path, struct err *err)
{
	struct stat st;

	if (!*path)
		return err_set(err, ERR_USAGE, "the recording's name is empty");
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strncmp(path, "/dev/fd/", 8) ||
	    !strncmp(path, "/proc/", 6)) {
		(void)err_set(err, ERR_USAGE,
			      "a recording cannot go to a stream (%s), its head is written last",
			      path);
		return err_hint(err, "name a file, such as my.data");
	}
	if (!file_look(path, &st))
		return 0; /* to be created; opening reports errors */
	if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	(void)err_set(err, ERR_USAGE, "%s is not a file: a recording's head is written last", path);
	return err_hint(err, "name a file, such as my.data");
}

int sampling_check(struct sampling *r, struct err *err)
{
	const char *filter = r->opts.branch_filter;

	if (r->path && output_path(r->path, err))
		return -1;
	if (filter && event_branch_filter(&r->branch_type, filter, err))
		return err_prefix(err, "--branch-filter");
	if (sampling_fields_parse(r, err))
		return -1;
	if (r->opts.heap && !r->opts.program.n) {
		(void)err_set(err, ERR_USAGE,
			      "--heap logs a program from its start, not one that runs");
		return err_hint(err, "cyclade record --mem --heap -- ./prog");
	}
	if (r->k.who.cgroups.n > 1) {
		(void)err_set(err, ERR_UNSUPPORTED, "a recording is of one cgroup at a time");
		return err_hint(err, "name the one above them; cyclade stat tells several apart");
	}
	return 0;
}
