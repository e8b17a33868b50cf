/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/sandboxing.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lender.h"
#include "base/sandbox.h"

#define BIT(command) (1u << (command))

static const unsigned readers = BIT(CMD_REPORT) | BIT(CMD_ANNOTATE) | BIT(CMD_BROWSE) |
				BIT(CMD_BLOCKS) | BIT(CMD_CALLS) | BIT(CMD_REGISTERS) |
				BIT(CMD_DIFF) | BIT(CMD_SUM) | BIT(CMD_MEM) | BIT(CMD_SHARING) |
				BIT(CMD_EXPORT) | BIT(CMD_SQL) | BIT(CMD_INFO);
/* those that show no long text, or by other means */
static const unsigned unpaged = BIT(CMD_BROWSE) | BIT(CMD_EXPORT) | BIT(CMD_INFO) | BIT(CMD_STAT);

bool cli_only_reads(const struct cli *cli)
{
	return (readers & BIT(cli->command)) || (cli->command == CMD_STAT && cli->opt.import);
}

/* A file that will be written: its directory, as it is replaced as a whole; a device or FIFO
 * itself. */
static int allow_output(struct sandbox *s, const char *path, struct err *err)
{
	char real[PATH_MAX];
	struct stat st;
	char *slash;

	if (!path || !strcmp(path, "-"))
		return 0;
	if (!realpath(path, real)) { /* nothing there yet */
		if (strlen(path) >= sizeof(real))
			return 0;
		memcpy(real, path, strlen(path) + 1);
	} else if (!stat(real, &st)) {
		if (!S_ISREG(st.st_mode))
			return sandbox_write(s, real, err);
		s->owners = true; /* the new file has those of the old one */
	}
	slash = strrchr(real, '/');
	if (!slash)
		return sandbox_write(s, ".", err);
	slash[slash == real] = '\0';
	return sandbox_write(s, real, err);
}

static int allow_both(struct sandbox *s, const struct cli *cli, const char *path, struct err *err)
{
	return sandbox_write(s, path, err) || (cli->opt.sysroot && sandbox_read(s, path, err)) ? -1
											       : 0;
}

/* Where SQLite sorts what is larger than its cache (as it chooses, os_unix.c: the first that can be
 * written), and where a packed recording unpacks. */
static int allow_temporary(struct sandbox *s, const struct cli *cli, struct err *err)
{
	const char *const places[] = {
		getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", "."
	};
	struct stat st;

	for (size_t i = 0; cli->command == CMD_SQL && i < sizeof(places) / sizeof(*places); i++) {
		if (!places[i] || stat(places[i], &st) || !S_ISDIR(st.st_mode) ||
		    access(places[i], W_OK | X_OK))
			continue;
		if (allow_both(s, cli, places[i], err))
			return -1;
		break;
	}
	return allow_both(s, cli, "/var/tmp", err);
}

static int allow_writing(struct sandbox *s, struct cli *cli, const char *also, struct err *err)
{
	const char *cache = cli_cache_dir(cli);

	if (cache && !dir_make_all(cache, 0700, err)) {
		if (sandbox_write(s, cache, err))
			return -1;
	} else {
		*err = (struct err)ERR_INIT; /* there is no cache then */
	}
	return allow_output(s, cli->opt.output, err) || allow_output(s, cli->opt.html, err) ||
			       allow_output(s, also, err) || allow_temporary(s, cli, err) ||
			       sandbox_write(s, "/dev/null", err) ||
			       sandbox_write(s, "/dev/tty", err)
		       ? -1
		       : 0;
}

static int allow_dir_of(struct sandbox *s, char *dir, struct err *err)
{
	char *slash;

	slash = strrchr(dir, '/');
	if (!slash)
		return 0; /* "." is allowed */
	slash[slash == dir] = '\0';
	return sandbox_read(s, dir, err);
}

/* The directory of a file on the command line, also where it is a link: runs of a series lie beside
 * one another. */
static int allow_beside(struct sandbox *s, const char *path, struct err *err)
{
	char dir[PATH_MAX];

	if (!path || strlen(path) >= sizeof(dir))
		return 0;
	if (realpath(path, dir) && allow_dir_of(s, dir, err))
		return -1;
	memcpy(dir, path, strlen(path) + 1);
	return allow_dir_of(s, dir, err);
}

static int allow_list(struct sandbox *s, const struct text_list *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *equals = strchr(l->v[i], '=');

		if (sandbox_read(s, equals ? equals + 1 : l->v[i], err))
			return -1;
	}
	return 0;
}

/* What a captured machine's recording needs of this one. */
static int allow_reading(struct sandbox *s, struct cli *cli, struct err *err)
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
		".",
		"/etc/ld.so.cache",
		"/etc/localtime",
		"/etc/terminfo",
		"/etc/alternatives",
	};
	const struct options *o = &cli->opt;
	const char *home = getenv("HOME");
	const char *cache = cli_cache_dir(cli), *debuginfod = cli_debuginfod_dir(cli);

	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
		if (sandbox_read(s, system[i], err))
			return -1;
	for (size_t i = 0; i < cli->args.n; i++) {
		char *names = arena_strdup(&cli->arena, cli->args.v[i]), *save = NULL;

		for (char *w = names ? strtok_r(names, ",", &save) : NULL; w;
		     w = strtok_r(NULL, ",", &save))
			if (allow_beside(s, w, err))
				return -1;
	}
	if (home && *home == '/' && /* .debug: perf's cache of programs */
	    (sandbox_read(s, arena_printf(&cli->arena, "%s/.terminfo", home), err) ||
	     sandbox_read(s, arena_printf(&cli->arena, "%s/.debug", home), err)))
		return -1;
	return allow_beside(s, o->input, err) || allow_beside(s, o->import, err) ||
			       allow_beside(s, o->penalties, err) ||
			       allow_beside(s, o->ibs_events, err) ||
			       sandbox_read(s, o->sysroot, err) ||
			       (cache && sandbox_read(s, cache, err)) ||
			       (debuginfod && sandbox_read(s, debuginfod, err)) ||
			       allow_list(s, &o->symbols, err) || allow_list(s, &o->source, err) ||
			       allow_list(s, &o->models, err)
		       ? -1
		       : 0;
}

void cli_sandbox(struct cli *cli, const char *also)
{
	struct sandbox s = SANDBOX_INIT;
	struct sandbox_got got;
	struct err err = ERR_INIT;

	if (cli->opt.no_sandbox)
		return;
	if (!(unpaged & BIT(cli->command)))
		cli_pager(cli);
	if (!cli->opt.sysroot)
		(void)lender_start();
	if (!allow_writing(&s, cli, also, &err) &&
	    (!cli->opt.sysroot || !allow_reading(&s, cli, &err)) && !sandbox_enter(&s, &got, &err))
		return;
	sandbox_free(&s);
	cli_warn("%s: rights that reading does not need could not all be given up", err.what);
}
