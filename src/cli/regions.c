/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each process of the program that opens a set writes a table into a directory that only we know;
 * whatever ends the process, its table is complete up to the last run that ended.
 */
#include "cli/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "cli/asking.h"
#include "cli/counting_out.h"
#include "cli/temp_dir.h"
#include "collect/sysfs.h"
#include "collect/workload.h"
#include "region/sums.h"
#include "region/table.h"

#define FILE_USUAL "cyclade.regions"

/* ---- one table -------------------------------------------------------------------------- */

struct shown_table {
	struct file_map m;
	struct table_view v;
	struct report r;
	struct document d;
	bool mapped, open;
};

static void table_close(struct shown_table *t)
{
	document_close(&t->d);
	if (t->open)
		report_close(&t->r);
	if (t->mapped)
		file_map_close(&t->m);
}

/* As much of it as its head allows: a wrong file costs only its own program. */
static int table_map(struct file_map *m, const char *path, struct err *err)
{
	_Alignas(8) uint8_t head[TABLE_HEAD_SIZE];
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_PROC | FILE_IN_STATE, &st, err);
	ssize_t got;
	off_t most;

	*m = (struct file_map){ 0 };
	if (fd < 0)
		return -1;
	got = fd_read_full(fd, head, sizeof(head));
	if (got < 0 || lseek(fd, 0, SEEK_SET)) {
		(void)err_sys(err, "%s", path);
		(void)close(fd);
		return -1;
	}
	most = (off_t)table_extent(head, (size_t)got);
	most = most ? most : TABLE_HEAD_SIZE; /* enough for the error message */
	st.st_size = st.st_size < most ? st.st_size : most;
	return file_in_map(m, fd, &st, false, path, err);
}

/* To be closed whether it could be opened or not. */
static int table_show(struct shown_table *t, const struct cli *cli, const char *path,
		      struct err *err)
{
	t->mapped = t->open = false;
	document_open(&t->d, &regions_document, NULL);
	t->mapped = !table_map(&t->m, path, err);
	if (!t->mapped || table_parse(&t->v, t->m.p, t->m.len, path, err))
		return -1;
	t->open = !report_open(&t->r, &t->v, NULL, err);
	return t->open ? report_document(&t->d, &t->r, cli->opt.verbose, err) : -1;
}

bool regions_file(const char *path)
{
	char start[8];

	/* a FIFO can be read once only */
	return file_in_head(path, start, sizeof(start)) == sizeof(start) &&
	       table_is(start, sizeof(start));
}

int regions_report(struct cli *cli, const char *path)
{
	struct shown_table t;
	struct show show;
	struct err err = ERR_INIT;
	int code;

	if (cli_show(cli, &show, &regions_document, &err))
		return cli_fail(&err);
	code = table_show(&t, cli, path, &err) ? cli_fail(&err) : cli_document(cli, &t.d, &show);
	table_close(&t);
	return code;
}

/* ---- a program -------------------------------------------------------------------------- */

struct collecting {
	struct cli *cli;
	char dir[TEMP_DIR_MAX];
	const char *const *name; /* of the tables */
	size_t n;
};

/* In memory if that is possible: a table is written to all the time. */
static int make_regions_dir(struct collecting *c, struct err *err)
{
	char pattern[TEMP_DIR_MAX + 8];

	if (temp_dir_open(c->dir, sizeof(c->dir), "/dev/shm", err))
		return -1;
	temp_dir_guard(c->dir, NULL);
	(void)snprintf(pattern, sizeof(pattern), "%s/%%p", c->dir);
	if (setenv("CYCLADE_REGIONS", pattern, 1))
		return err_nomem(err);
	if (c->cli->opt.sysroot && setenv("CYCLADE_SYSROOT", c->cli->opt.sysroot, 1))
		return err_nomem(err);
	return 0;
}

static void remove_regions_dir(struct collecting *c)
{
	char path[TEMP_DIR_MAX + 300];

	for (size_t i = 0; i < c->n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", c->dir, c->name[i]);
		(void)unlink(path);
	}
	temp_dir_close(c->dir);
}

static volatile pid_t program;

static void pass_on(int number)
{
	if (program)
		(void)kill(program, number);
}

/* A signal that would end us ends the program: its tables are shown then, and removed. 0: none. */
static void pass_on_to(pid_t pid)
{
	static const int numbers[] = { SIGHUP, SIGTERM };
	struct sigaction now, to = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	program = pid;
	for (size_t i = 0; pid && i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!sigaction(numbers[i], NULL, &now) && now.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &to, NULL);
}

/* The terminal interrupts the program, not us. */
static int wait_for_program(struct collecting *c, int *status, struct err *err)
{
	sigset_t none;
	struct workload w;
	char **argv = arena_alloc(&c->cli->arena, (c->cli->args.n + 1) * sizeof(*argv));

	sigemptyset(&none);
	if (!argv)
		return err_nomem(err);
	for (size_t i = 0; i < c->cli->args.n; i++) {
		argv[i] = arena_strdup(&c->cli->arena, c->cli->args.v[i]);
		if (!argv[i])
			return err_nomem(err);
	}
	if (workload_prepare(&w, argv, NULL, &none, 0, err))
		return -1;
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	pass_on_to(w.pid);
	if (workload_start(&w, argv[0], err)) {
		workload_cancel(&w);
		return -1;
	}
	(void)workload_reap(&w, true);
	pass_on_to(0);
	*status = w.status;
	return 0;
}

/* Pages of zeros are left out: blocks are mostly those. */
static int put_region_table(const struct file_new *f, const struct shown_table *t, struct err *err)
{
	size_t len = table_len(&t->v), n;
	static const uint8_t zeros[4096];

	for (size_t at = 0; at < len; at += n) {
		n = len - at < sizeof(zeros) ? len - at : sizeof(zeros);
		if (f->direct ? fd_write_all(f->fd, t->m.p + at, n, f->path, err)
			      : memcmp(t->m.p + at, zeros, n) != 0 &&
					fd_write_all_at(f->fd, t->m.p + at, n, at, f->path, err))
			return -1;
	}
	if (!f->direct && ftruncate(f->fd, (off_t)len))
		return err_sys(err, "%s", f->path);
	return 0;
}

static int keep_regions(const struct shown_table *t, const char *to, enum file_new_how how,
			struct err *err)
{
	struct file_new f = FILE_NEW_NONE;

	if (file_new_open(&f, to, 0600, how, err))
		return -1;
	if (put_region_table(&f, t, err)) {
		file_new_abort(&f);
		return -1;
	}
	return file_new_commit(&f, err);
}

static int put_one(struct counting_out *out, const struct cli *cli, const char *path,
		   const char *kept, enum file_new_how how, struct err *err)
{
	struct shown_table t;
	struct next_list next = { .v = t.d.next, .a = &t.d.a, .input = kept };
	bool gone;
	int rc = table_show(&t, cli, path, err);

	if (!rc) {
		next_add(&next, "report", "-j", NULL, "all of it");
		t.d.n_next = next.n;
		/* each process has its titles; csv is one table */
		out->show.later = out->show.later && out->show.format->one_table;
		rc = counting_out_document(out, &t.d, -1, true, &gone, err);
	}
	if (!rc)
		rc = keep_regions(&t, kept, how, err);
	table_close(&t);
	return rc;
}

/* A table that was never finished (its process ended while it opened the set) is skipped. */
static int put_all(struct collecting *c, struct counting_out *out, struct err *err)
{
	const char *named = c->cli->opt.data_file, *keep_as = named ? named : FILE_USUAL;
	enum file_new_how how = named ? FILE_NEW_NAMED : FILE_NEW_OURS;
	char from[TEMP_DIR_MAX + 300], to[4096];
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		(void)snprintf(from, sizeof(from), "%s/%s", c->dir, c->name[i]);
		if (!regions_file(from))
			continue;
		if (kept)
			(void)snprintf(to, sizeof(to), "%s.%s", keep_as, c->name[i]);
		else
			(void)snprintf(to, sizeof(to), "%s", keep_as);
		if (put_one(out, c->cli, from, to, how, err))
			return -1;
		kept++;
	}
	if (!kept)
		cli_note(c->cli,
			 "no regions: the program did not call cyclade_open() (libcyclade), or not "
			 "in a process that we started");
	return counting_out_commit(out, err);
}

int regions_run(struct cli *cli)
{
	struct collecting c = { .cli = cli };
	struct counting_out out = COUNTING_OUT_INIT;
	struct err err = ERR_INIT;
	int status = EXIT_TOOL;

	if (counting_out_open(&out, cli, &regions_document, &err))
		return cli_fail_as(&err, EXIT_TOOL);
	if (make_regions_dir(&c, &err) || wait_for_program(&c, &status, &err)) {
		status = cli_fail_as(&err, cli_measuring_code(cli, &err));
		goto out;
	}
	if (!sys_names(&cli->arena, &c.name, &c.n, "", "%s", c.dir + 1))
		c.n = 0;
	if (put_all(&c, &out, &err))
		status = cli_fail_as(&err, EXIT_TOOL);
out:
	remove_regions_dir(&c);
	counting_out_close(&out);
	return status;
}

int regions_schema(struct cli *cli)
{
	return cli_schema(cli, &regions_document);
}
