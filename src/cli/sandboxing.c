/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/sandboxing.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fetcher.h"
#include "base/file_in.h"
#include "base/lender.h"
#include "base/num.h"
#include "base/sandbox.h"

/* By options.def: readers have --no-sandbox, and --no-pager if a pager may show their
 * text. */
static bool has_option(const struct cli *cli, const char *name)
{
	for (size_t i = 0; i < n_option_rows; i++)
		if (!strcmp(option_rows[i].name, name) &&
		    (option_rows[i].commands & COMMAND_BIT(cli->command)))
			return true;
	return false;
}

bool cli_only_reads(const struct cli *cli)
{
	return has_option(cli, "no-sandbox") && cli->command != CMD_VIEW &&
	       (cli->command != CMD_STAT || cli->opt.import);
}

/* The directory of a file. */
static void allow_dir_of(struct sandbox *s, const char *path,
			 void (*allow)(struct sandbox *s, const char *path))
{
	char dir[PATH_MAX];

	if (!path_dir(dir, sizeof(dir), path))
		allow(s, dir);
}

/* A file that will be written: its directory, as it is replaced as a whole; a device or FIFO
 * itself. */
static void allow_output(struct sandbox *s, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	if (!path || !strcmp(path, "-"))
		return;
	if (realpath(path, real))
		path = real;
	if (file_look(path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			sandbox_write(s, path);
			return;
		}
		s->owners = true; /* the new file has those of the old one */
	}
	allow_dir_of(s, path, sandbox_write);
}

static void allow_both(struct sandbox *s, const struct cli *cli, const char *path)
{
	sandbox_write(s, path);
	if (cli->opt.sysroot)
		sandbox_read(s, path);
}

/* The directory where SQLite sorts more than its cache holds (as it chooses, os_unix.c: the first
 * that can be written), and where a packed recording unpacks. */
static void allow_temporary(struct sandbox *s, const struct cli *cli)
{
	const char *const places[] = {
		getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", "."
	};

	allow_both(s, cli, "/var/tmp");
	for (size_t i = 0; cli->command == CMD_SQL && i < sizeof(places) / sizeof(*places); i++)
		if (places[i] && file_is_dir(places[i]) && !access(places[i], W_OK | X_OK)) {
			allow_both(s, cli, places[i]);
			break;
		}
}

static void allow_writing(struct sandbox *s, const struct cli *cli, const char *cache,
			  const char *also)
{
	if (cache && !dir_make_all(cache, 0700, NULL))
		allow_both(s, cli, cache);
	allow_output(s, cli->opt.output);
	allow_output(s, cli->opt.html);
	allow_output(s, also);
	allow_temporary(s, cli);
	sandbox_write(s, "/dev/null");
	sandbox_write(s, "/dev/tty");
}

/* The directory of a file on the command line, also if it is a link: runs of a series lie beside
 * one another. */
static void allow_beside(struct sandbox *s, const char *path)
{
	char real[PATH_MAX];

	if (!path)
		return;
	allow_dir_of(s, path, sandbox_read);
	if (realpath(path, real))
		allow_dir_of(s, real, sandbox_read);
}

static void allow_list(struct sandbox *s, const struct text_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *equals = strchr(l->v[i], '=');

		sandbox_read(s, equals ? equals + 1 : l->v[i]);
	}
}

/* Recordings, and lists of them as diff takes them. */
static void allow_operands(struct sandbox *s, struct cli *cli)
{
	for (size_t i = 0; i < cli->args.n; i++) {
		char *names = arena_strdup(&cli->arena, cli->args.v[i]), *save = NULL;

		for (char *w = names ? strtok_r(names, ",", &save) : NULL; w;
		     w = strtok_r(NULL, ",", &save))
			allow_beside(s, w);
	}
}

/* Files of this machine that a recording of a captured one needs. */
static void allow_reading(struct sandbox *s, struct cli *cli)
{
	static const char *const system[] = {
		"/usr",
		"/lib",
		"/lib32",
		"/lib64",
		"/opt",
		"/proc",
		"/sys",
		"/dev/null",
		"/dev/zero",
		"/dev/tty",
		"/dev/pts",
		"/dev/urandom",
		"/dev/random",
		"/etc/fonts",
		"/etc/graphviz",
		"/etc/ld.so.cache",
		"/etc/localtime",
		"/etc/terminfo",
		"/etc/alternatives",
		".",
	};
	const struct options *o = &cli->opt;
	const char *home = getenv("HOME");

	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
		sandbox_read(s, system[i]);
	if (home && *home == '/') {
		sandbox_read(s, arena_printf(&cli->arena, "%s/.terminfo", home));
		sandbox_read(s, arena_printf(&cli->arena, "%s/.debug", home)); /* perf's copies */
	}
	sandbox_read(s, cli_debuginfod_dir(cli));
	sandbox_read(s, o->sysroot);
	allow_list(s, &o->symbols);
	allow_list(s, &o->source);
	allow_list(s, &o->models);
	allow_operands(s, cli);
	allow_beside(s, o->input);
	allow_beside(s, o->import);
	allow_beside(s, o->penalties);
	allow_beside(s, o->ibs_events);
	allow_beside(s, o->kallsyms);
	allow_beside(s, o->vmlinux);
}

void cli_sandbox(struct cli *cli, const char *also)
{
	struct sandbox s = SANDBOX_INIT;
	struct err err = ERR_INIT;

	if (cli->opt.no_sandbox) {
		(void)fetcher_start(cli_debuginfod_dir(cli));
		return;
	}
	if (has_option(cli, "no-pager"))
		cli_pager(cli);
	if (!cli->opt.sysroot)
		(void)lender_start();
	(void)fetcher_start(cli_debuginfod_dir(cli)); /* the last: it ends first */
	allow_writing(&s, cli, cli_cache_dir(cli), also);
	if (cli->opt.sysroot)
		allow_reading(&s, cli);
	if (sandbox_enter(&s, &err))
		cli_warn("%s: rights that reading does not need could not all be given up",
			 err.what);
}

void cli_end_fetching(const struct cli *cli)
{
	struct fetch_tally t = fetcher_tally();
	char bytes[NUM_MAX], seconds[NUM_MAX];

	fetcher_end();
	if (t.files)
		cli_note(cli, "debuginfod: %u file%s of %s fetched in %s", t.files,
			 t.files == 1 ? "" : "s", num_bytes(bytes, t.bytes),
			 num_seconds(seconds, t.seconds));
	if (t.failed && t.not_asked)
		cli_warn("debuginfod: %s; %u more file%s not fetched: names or lines are missing",
			 t.why, t.not_asked, t.not_asked == 1 ? "" : "s");
	else if (t.failed)
		cli_warn("debuginfod: %s: names or lines are missing", t.why);
}
