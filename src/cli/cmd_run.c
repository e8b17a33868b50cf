/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - the main job: record a program, say where its time went, name the next commands.
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/counting.h"
#include "cli/recording.h"
#include "cli/regions.h"
#include "cli/run_tree.h"
#include "report/where.h"

#define ROWS 12

static void put_sampled(struct buf *b, const char *events, bool tree, const struct style *st)
{
	buf_puts(b, " sampled: ");
	text_put_safe(b, events, st->ascii);
	buf_puts(b, tree ? "; the tree was counted beside\n" : "\n");
}

static void put_head(struct buf *b, const struct cli *cli, const struct sampling_result *res,
		     const struct run_tree *t, const struct tree_report *tree,
		     const struct style *st)
{
	const struct counts head = { .command = cli->args.v,
				     .n_command = cli->args.n,
				     .seconds = res->wall_s,
				     .seconds_error = NAN,
				     .user_s = res->cpu_s,
				     .tasks = res->tasks,
				     .status = res->status,
				     .killed_by = res->killed_by };

	buf_putc(b, '\n');
	counts_put_head(b, &head, st);
	if (tree->cpu)
		buf_printf(b, " %s\n", tree->cpu);
	if (*res->no_cycles)
		buf_puts(b, " time only: no tree without cycle counters\n");
	else
		put_sampled(b, res->event, tree->n_views > 0, st);
	if (*t->why)
		buf_printf(b, " no tree: %s\n", t->why);
	if (!tree->n_views)
		return;
	buf_putc(b, '\n');
	tree_put_views(b, tree, st);
	buf_putc(b, '\n');
}

struct steps {
	struct next v[6];
	size_t n;
	struct arena *a;
};

/* `cyclade VERB [FILE] [WHAT]`, unless one of them cannot be typed. */
static void add_step(struct steps *s, const char *verb, const char *file, const char *what,
		     const char *why)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	buf_printf(&b, "cyclade %s", verb);
	if (*file) {
		buf_putc(&b, ' ');
		fine &= next_word(&b, file);
	}
	if (*what) {
		buf_putc(&b, ' ');
		fine &= next_word(&b, what);
	}
	s->v[s->n].command = fine && !b.failed ? arena_strdup(s->a, b.s) : NULL;
	s->v[s->n].why = why;
	s->n += s->v[s->n].command != NULL;
	buf_free(&b);
}

/* The function first, then what is the matter with it. */
static void put_steps(struct buf *b, struct cli *cli, const struct tree_report *tree,
		      unsigned level, const char *path, const char *top, const struct style *st)
{
	const char *file = strcmp(path, "cyclade.data") ? path : "";
	struct steps s = { .a = &cli->arena };

	if (*top && strlen(top) < 60)
		add_step(&s, "annotate", file, top, "which lines, which instructions");
	if (tree->n_next)
		s.v[s.n++] = tree->next[0];
	if (level) {
		char text[40];

		(void)snprintf(text, sizeof(text), "stat -l %u -- ...", level);
		add_step(&s, text, "", "", "all nodes down to there, and nothing else");
	}
	add_step(&s, cli->opt.call_graph ? "report -g" : "report", file, "",
		 cli->opt.call_graph ? "who called it" : "all of it, by program and library");
	if (!cli->opt.call_graph)
		add_step(&s, "run -g -- ...", "", "", "who called it");
	next_put(b, s.v, s.n, st);
}

static void put_tail(struct buf *b, const struct sampling_result *res, const char *path,
		     const struct tree_report *tree, const struct style *st)
{
	char n[NUM_MAX], size[NUM_MAX], lost[NUM_MAX];
	struct buf file = BUF_INIT;

	text_put_safe(&file, path, st->ascii);
	for (size_t i = 0; i < tree->head.n_notes; i++)
		buf_printf(b, " %s\n", tree->head.notes[i]);
	if (res->ousted)
		buf_printf(b,
			   " %zu of %zu counters lost their place to others: samples are missing; "
			   "--no-tree\n",
			   res->ousted, res->counters);
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
	buf_free(&file);
}

/* A table for each event that has samples: of a hybrid each kind of core has one. *top: of the event
 * with most of them. */
static int put_tables(struct buf *b, struct cli *cli, const struct profile *p,
		      const struct recording *rec, const struct style *st, const char **top,
		      struct err *err)
{
	size_t limit = cli->opt.limit ? cli->opt.limit : ROWS, n, n_events;
	const struct profile_sum *sum = profile_sums(p, &n);
	const struct pd_event *event = pd_events(rec->rec, &n_events);
	uint64_t most = 0;
	const char *name;

	for (size_t i = 0; i < n; i++) {
		if (!sum[i].selected.samples && (i || n > 1))
			continue;
		if (n > 1 && n == n_events && event[i].name) {
			buf_puts(b, most ? "\n " : " ");
			text_put_safe(b, event[i].name, st->ascii);
			buf_putc(b, '\n');
		}
		if (where_print(b, p, i, limit, st, &name, err))
			return -1;
		if (sum[i].selected.samples > most) {
			most = sum[i].selected.samples;
			*top = arena_strdup(&cli->arena, name);
		}
		if (!*top)
			return err_nomem(err);
	}
	return 0;
}

static int put_where(struct buf *b, struct cli *cli, const char *path, const struct style *st,
		     const char **top, struct err *err)
{
	struct profile_opts o = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	struct profile *p = NULL;
	struct recording rec;
	int rc = -1;

	if (recording_open(&rec, cli, path, err))
		return -1;
	if (!recording_select(&rec, cli, &o, err) &&
	    !profile_build(&p, rec.rec, rec.spaces, &o, err))
		rc = put_tables(b, cli, p, &rec, st, top, err);
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

static int report(struct cli *cli, const struct sampling_result *res, struct run_tree *t,
		  const char *path, struct err *err)
{
	struct tree_report tree = { 0 };
	struct style st = cli_style(cli, report_fd(cli));
	struct buf b = BUF_INIT;
	const char *top = "";
	int rc = -1;

	if (run_tree_report(t, &tree, err))
		goto out;
	put_head(&b, cli, res, t, &tree, &st);
	if (!res->samples)
		buf_puts(&b,
			 " not one sample: it ended too soon for the frequency (-F), or slept\n");
	else if (put_where(&b, cli, path, &st, &top, err))
		goto out;
	buf_putc(&b, '\n');
	put_steps(&b, cli, &tree, run_tree_deeper(t), path, top, &st);
	put_tail(&b, res, path, &tree, &st);
	rc = put_report(cli, &b, err);
out:
	buf_free(&b);
	return rc;
}

static int run(struct cli *cli, struct sampling *s, struct run_tree *t, const char *path,
	       struct err *err)
{
	const struct sampling_result *res = sampling_result(s);

	if (sampling_run(s, err))
		return -1;
	return report(cli, res, t, path, err);
}

int cmd_run(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	struct run_tree tree = RUN_TREE_INIT(cli);
	struct err err = ERR_INIT;
	struct sampling *s;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "run needs a program");
		(void)err_hint(&err, "cyclade run -- ./prog args");
		return cli_fail_as(&err, EXIT_TOOL);
	}
	if (cli->opt.regions)
		return regions_run(cli, put_report);
	if (sampling_open(&s, cli, path, run_tree_beside(&tree), &err))
		code = cli_fail_as(&err, counting_exit_code(cli, &err));
	else if (cli->opt.dry_run) {
		struct buf b = BUF_INIT;

		sampling_describe(s, &b);
		run_tree_describe(&tree, &b);
		code = put_report(cli, &b, &err) ? cli_fail_as(&err, EXIT_TOOL) : EXIT_OK;
		buf_free(&b);
	} else if (run(cli, s, &tree, path, &err) || sampling_after(s, &err)) {
		code = cli_fail_as(&err, counting_exit_code(cli, &err));
	} else {
		code = sampling_result(s)->status;
	}
	sampling_close(s);
	run_tree_free(&tree);
	return code;
}
