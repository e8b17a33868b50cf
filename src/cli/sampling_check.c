/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be said against the options before anything is opened.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/sampling_int.h"

#define STACK_MAX    65528u /* the kernel's own limit: a record's size has 16 bits */
#define DEFAULT_ZSTD 1

/* ---- options ---------------------------------------------------------------------------- */

static int ring_size(struct sampling *r, struct err *err)
{
	uint64_t pages = r->cli->opt.mmap_pages;

	if (!OPTION_GIVEN(&r->cli->opt, mmap_pages))
		return 0;
	if (!pages || pages & (pages - 1) || pages > 1u << 20) {
		(void)err_set(err, ERR_USAGE,
			      "--mmap-pages must be a power of two, at most 1048576");
		return err_hint(err, "the default is 128: -m 512 makes each CPU's ring 2 MB");
	}
	r->ring_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static int zstd_level(struct sampling *r, struct err *err)
{
	const char *level = r->cli->opt.compress;
	uint64_t n = DEFAULT_ZSTD;

	if (!level)
		return 0;
	if (*level && num_parse_u64(&n, level, err))
		return err_prefix(err, "--compress");
	if (n < 1 || n > 22)
		return err_set(err, ERR_USAGE, "--compress takes a level from 1 to 22");
	r->zstd_level = (int)n;
	return 0;
}

#define JITTER_MOST 50.0 /* per cent: no period is three times another */

static int jitter(struct sampling *r, struct err *err)
{
	const char *text = r->cli->opt.jitter;
	double v = SAMPLING_JITTER * 100;

	if (!text && r->cli->opt.account)
		text = "";
	if (!text)
		return 0;
	if (*text && num_parse_double(&v, text, err))
		return err_prefix(err, "--jitter");
	if (!(v >= 0 && v <= JITTER_MOST)) {
		(void)err_set(err, ERR_USAGE, "--jitter goes from 0 to %.0f per cent", JITTER_MOST);
		return err_hint(err, "--jitter alone is 10: periods of 0.9 to 1.1 times what was "
				     "asked for");
	}
	r->jitter = v / 100;
	return 0;
}

/* An accounting brings its own events and periods. */
static int account(const struct options *o, struct err *err)
{
	if (!o->account)
		return 0;
	if (o->event.n || OPTION_GIVEN(o, freq) || OPTION_GIVEN(o, count)) {
		(void)err_set(err, ERR_USAGE,
			      "--account has events and periods of its own: no -e, -F "
			      "or -c beside it");
		return err_hint(err, "cyclade record --account --dry-run shows them");
	}
	if (!o->call_graph || strcmp(o->call_graph, "lbr") != 0)
		return 0;
	(void)err_set(err, ERR_USAGE,
		      "-g=lbr and the branch records of --account exclude each "
		      "other");
	return err_hint(err, "-g or -g=dwarf");
}

static int rate(const struct options *o, struct err *err)
{
	bool freq = OPTION_GIVEN(o, freq), count = OPTION_GIVEN(o, count);

	if ((freq && !o->freq) || (count && !o->count)) {
		(void)err_set(err, ERR_USAGE, "%s 0 would take no samples", freq ? "-F" : "-c");
		return err_hint(err, "-F 4000 takes 4000 a second, -c 1000 one every 1000 events");
	}
	if (freq && count) {
		(void)err_set(err, ERR_USAGE, "-F and -c exclude each other");
		return err_hint(err, "-F: so many samples a second; -c: one every so many events");
	}
	return 0;
}

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
	if (stat(path, &st))
		return 0; /* it is made; if it cannot be, that is told then */
	if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	(void)err_set(err, ERR_USAGE, "%s is not a file: a recording's head is written last", path);
	return err_hint(err, "name a file, such as my.data");
}

int sampling_check(struct sampling *r, struct err *err)
{
	const struct options *o = &r->cli->opt;

	if (output_path(r->path, err) || rate(o, err) || ring_size(r, err) || zstd_level(r, err) ||
	    jitter(r, err) || account(o, err))
		return -1;
	if (o->branch_filter && event_branch_filter(&r->branch_type, o->branch_filter, err))
		return err_prefix(err, "--branch-filter");
	if (OPTION_GIVEN(o, stack_size) && (o->stack_size < 8 || o->stack_size > STACK_MAX))
		return err_set(err, ERR_USAGE, "--stack-size goes from 8 to %u bytes", STACK_MAX);
	if (r->k.who.cgroups.n > 1) {
		(void)err_set(err, ERR_UNSUPPORTED, "a recording is of one cgroup at a time");
		return err_hint(err, "name the one above them; cyclade stat tells several apart");
	}
	return 0;
}
