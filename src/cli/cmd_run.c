/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - the main job: record a program, say where its time went, name the next commands.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/counting.h"
#include "cli/no_pmu.h"
#include "cli/recording.h"
#include "cli/sampling.h"
#include "report/where.h"

#define ROWS 12

static void put_program(struct buf *b, const struct cli *cli, const struct style *st)
{
	struct buf line = BUF_INIT, safe = BUF_INIT;

	for (size_t i = 0; i < cli->args.n; i++)
		buf_printf(&line, "%s%s", i ? " " : "", cli->args.v[i]);
	text_put_safe(&safe, buf_str(&line), st->ascii);
	buf_putc(b, ' ');
	style_ink(b, st, INK_BOLD);
	if (text_width(buf_str(&safe)) > 76)
		text_put_fit(b, buf_str(&safe), 76, TEXT_LEFT, false, st->ascii);
	else
		buf_puts(b, buf_str(&safe));
	style_ink(b, st, INK_PLAIN);
	buf_free(&line);
	buf_free(&safe);
}

static void put_head(struct buf *b, const struct cli *cli, const struct sampling_result *res,
		     const struct style *st)
{
	char wall[NUM_MAX], cpu[NUM_MAX], tasks[NUM_MAX];

	buf_putc(b, '\n');
	put_program(b, cli, st);
	buf_printf(b, "\n %s wall, %s cpu, %s %s, ", num_seconds(wall, res->wall_s),
		   num_seconds(cpu, res->cpu_s), num_exact(tasks, res->tasks),
		   res->tasks == 1 ? "thread" : "threads and processes");
	if (res->killed_by)
		buf_printf(b, "killed by signal %d (%s)\n", res->killed_by,
			   strsignal(res->killed_by));
	else
		buf_printf(b, "exit %d\n", res->status);
	buf_printf(b, " %s%s\n",
		   *res->no_cycles ? "time only: no tree without cycle counters" : "sampled: ",
		   *res->no_cycles ? "" : res->event);
}

/* A word of a command as a shell takes it. */
static void put_word(struct buf *b, const char *s)
{
	if (!strpbrk(s, " \t()<>&*[]{}$;'\"|!?~#`\\")) {
		buf_puts(b, s);
		return;
	}
	buf_putc(b, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			buf_puts(b, "'\\'");
		buf_putc(b, *s);
	}
	buf_putc(b, '\'');
}

/* "next: cyclade VERB FILE WHAT    why" */
static void put_next(struct buf *b, const char *verb, const char *file, const char *what,
		     const char *why)
{
	size_t start = b->len;

	buf_printf(b, "       cyclade %s", verb);
	if (*file) {
		buf_putc(b, ' ');
		put_word(b, file);
	}
	if (*what) {
		buf_putc(b, ' ');
		put_word(b, what);
	}
	if (b->len - start < 44)
		buf_fill(b, ' ', 44 - (b->len - start));
	buf_printf(b, "  %s\n", why);
}

static void put_tail(struct buf *b, const struct cli *cli, const struct sampling_result *res,
		     const char *path, const char *top, const struct style *st)
{
	bool usual = !strcmp(path, "cyclade.data");
	char n[NUM_MAX], size[NUM_MAX], lost[NUM_MAX];
	struct buf safe = BUF_INIT, file = BUF_INIT;
	size_t next_at;

	text_put_safe(&safe, top, st->ascii);
	text_put_safe(&file, path, st->ascii);
	buf_putc(b, '\n');
	next_at = b->len;
	if (safe.len && safe.len < 60)
		put_next(b, "annotate", usual ? "" : buf_str(&file), buf_str(&safe),
			 "which lines, which instructions");
	put_next(b, cli->opt.call_graph ? "report -g" : "report", usual ? "" : buf_str(&file), "",
		 cli->opt.call_graph ? "who called it" : "all of it, by program and library");
	if (!cli->opt.call_graph)
		put_next(b, "run -g -- ...", "", "", "who called it");
	if (!b->failed)
		memcpy(b->s + next_at, " next:", 6);
	buf_printf(b, " %s samples in %s (%s)", num_exact(n, res->samples), buf_str(&file),
		   num_bytes(size, res->bytes));
	if (res->lost)
		buf_printf(b, "; %s lost: larger rings (-m 512) or fewer samples (-F 1000)",
			   num_exact(lost, res->lost));
	else
		buf_puts(b, "; none lost");
	if (res->throttled)
		buf_printf(b, "; throttled %s times", num_exact(lost, res->throttled));
	buf_puts(b, res->user_only ? "; the kernel was not looked at\n" : "\n");
	buf_free(&safe);
	buf_free(&file);
}

static int put_where(struct buf *b, struct cli *cli, const char *path, const struct style *st,
		     const char **top, struct err *err)
{
	struct profile_opts o = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	size_t limit = cli->opt.limit ? cli->opt.limit : ROWS;
	struct profile *p = NULL;
	struct recording rec;
	const char *name;
	int rc = -1;

	if (recording_open(&rec, cli, path, err))
		return -1;
	if (recording_select(&rec, cli, &o, err) ||
	    profile_build(&p, rec.rec, rec.spaces, &o, err) ||
	    where_print(b, p, 0, limit, st, &name, err))
		goto out;
	*top = arena_strdup(&cli->arena, name);
	rc = *top ? 0 : err_nomem(err);
out:
	cli_progress_end(cli);
	profile_free(p);
	recording_close(&rec);
	return rc;
}

/* Where the report goes: -o FILE, -o -, --log-fd N, else standard error. -1: it goes to a file. */
static int report_fd(const struct cli *cli)
{
	if (cli->opt.output)
		return strcmp(cli->opt.output, "-") ? -1 : STDOUT_FILENO;
	return cli->opt.log_fd ? (int)cli->opt.log_fd : STDERR_FILENO;
}

static int put_report(struct cli *cli, const struct buf *b, struct err *err)
{
	int fd = report_fd(cli);
	struct file_new f;

	if (b->failed)
		return err_nomem(err);
	if (fd >= 0)
		return fd_write_all(fd, buf_str(b), b->len, "the report", err);
	if (file_new_open(&f, cli->opt.output, 0644, err))
		return -1;
	if (fd_write_all(f.fd, buf_str(b), b->len, f.path, err)) {
		file_new_abort(&f);
		return -1;
	}
	return file_new_commit(&f, err);
}

static int report(struct cli *cli, const struct sampling_result *res, const char *path,
		  struct err *err)
{
	struct style st = cli_style(cli, report_fd(cli));
	struct buf b = BUF_INIT;
	const char *top = "";
	int rc = -1;

	put_head(&b, cli, res, &st);
	if (!res->samples)
		buf_puts(&b,
			 " not one sample: it ended too soon for the frequency (-F), or slept\n");
	else if (put_where(&b, cli, path, &st, &top, err))
		goto out;
	put_tail(&b, cli, res, path, top, &st);
	rc = put_report(cli, &b, err);
out:
	buf_free(&b);
	return rc;
}

static int run(struct cli *cli, struct sampling *s, const char *path, struct err *err)
{
	const struct sampling_result *res = sampling_result(s);

	if (*res->no_cycles && cli->opt.require) {
		(void)err_set(err, ERR_UNSUPPORTED, "no cycle counter here: %s", res->no_cycles);
		return err_hint(
			err, "without --require pmu, time is sampled; `cyclade doctor` tells more");
	}
	/* said before the program says anything */
	if (*res->no_cycles && !cli->opt.quiet)
		no_pmu_say(res->no_cycles, res->hypervisor, "sampling time instead", NULL);
	if (sampling_run(s, err))
		return -1;
	return report(cli, res, path, err);
}

int cmd_run(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	struct err err = ERR_INIT;
	struct sampling *s;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "run needs a program");
		(void)err_hint(&err, "cyclade run -- ./prog args");
		return cli_fail_as(&err, EXIT_TOOL);
	}
	if (sampling_open(&s, cli, path, &err))
		return cli_fail_as(&err, counting_exit_code(cli, &err));
	if (cli->opt.dry_run) {
		struct buf b = BUF_INIT;

		sampling_describe(s, &b);
		code = put_report(cli, &b, &err) ? cli_fail_as(&err, EXIT_TOOL) : EXIT_OK;
		buf_free(&b);
	} else if (run(cli, s, path, &err)) {
		code = cli_fail_as(&err, counting_exit_code(cli, &err));
	} else {
		code = sampling_result(s)->status;
	}
	sampling_close(s);
	return code;
}
