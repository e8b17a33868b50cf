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
#include "cli/asking.h"
#include "cli/counting/run_tree.h"
#include "cli/recording.h"
#include "cli/regions.h"
#include "report/run_report.h"

#define ROWS 12

/* What of it all is told, and what it is read from. */
struct told {
	struct cli *cli;
	const struct sampling_result *res;
	struct run_tree *t;
	const char *path;
	const struct run_format *format; /* NULL: for people */
	char separator;
	struct tree_report tree;
	struct recording rec;
	struct profile *profile;
	struct run_table *table; /* for each event that has samples: of a hybrid each kind of core
				    has one */
	size_t n_tables;
	const char *top; /* the hottest function of the event with most of them */
};

/* A text and one behind it, as lines that the width holds. */
static void put_wrapped(struct buf *b, const char *s, const char *more, const struct style *st)
{
	struct buf line = BUF_INIT;

	text_put_safe(&line, s, st->ascii);
	buf_puts(&line, more);
	buf_putc(b, ' ');
	text_put_wrapped(b, buf_str(&line), 1, st->width);
	buf_putc(b, '\n');
	b->failed |= line.failed;
	buf_free(&line);
}

static void put_sampled(struct buf *b, const char *events, bool tree, const struct style *st)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "sampled: %s", events);
	put_wrapped(b, buf_str(&line), tree ? "; the tree was counted beside" : "", st);
	b->failed |= line.failed;
	buf_free(&line);
}

static void put_head(struct buf *b, const struct told *o, const struct style *st)
{
	counts_put_head(b, &o->tree.head, st);
	if (o->tree.cpu)
		put_wrapped(b, o->tree.cpu, "", st);
	if (*o->res->no_cycles)
		buf_puts(b, " time only: no tree without cycle counters\n");
	else
		put_sampled(b, o->res->event, o->tree.n_views > 0, st);
	if (*o->t->why) {
		buf_puts(b, " no tree: ");
		text_put_wrapped(b, o->t->why, 10, st->width);
		buf_putc(b, '\n');
	}
	if (!o->tree.n_views)
		return;
	buf_putc(b, '\n');
	tree_put_views(b, &o->tree, st);
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
static void put_steps(struct buf *b, const struct told *o, const struct style *st)
{
	const char *file = strcmp(o->path, "cyclade.data") ? o->path : "";
	bool chains = o->res->chains;
	struct steps s = { .a = &o->cli->arena };
	unsigned level = run_tree_deeper(o->t);

	if (*o->top && strlen(o->top) < 60)
		add_step(&s, "annotate", file, o->top, "which lines, which instructions");
	if (o->tree.n_next)
		s.v[s.n++] = o->tree.next[0];
	if (level) {
		char text[40];

		(void)snprintf(text, sizeof(text), "stat -l %u -- ...", level);
		add_step(&s, text, "", "", "all nodes down to there, and nothing else");
	}
	add_step(&s, chains ? "report -g" : "report", file, "",
		 chains ? "who called it" : "all of it, by program and library");
	if (!chains)
		add_step(&s, "run -g -- ...", "", "", "who called it");
	next_put(b, s.v, s.n, st);
}

static void put_samples(struct buf *b, const struct told *o, const struct style *st)
{
	const struct sampling_result *res = o->res;
	char n[NUM_MAX], size[NUM_MAX], lost[NUM_MAX];
	struct buf line = BUF_INIT;

	if (!res->kept)
		buf_printf(&line, "interrupted before the first sample: %s was not written",
			   o->path);
	else
		buf_printf(&line, "%s samples in %s (%s)", num_exact(n, res->samples), o->path,
			   num_bytes(size, res->bytes));
	if (res->lost)
		buf_printf(&line, "; %s lost: larger rings (-m 512) or fewer samples (-F 1000)",
			   num_exact(lost, res->lost));
	else if (res->kept)
		buf_puts(&line, "; none lost");
	if (res->throttled)
		buf_printf(&line, "; throttled %s times", num_exact(lost, res->throttled));
	put_wrapped(b, buf_str(&line), res->user_only ? "; the kernel was not looked at" : "", st);
	b->failed |= line.failed;
	buf_free(&line);
}

static void put_tail(struct buf *b, const struct told *o, const struct style *st)
{
	const struct sampling_result *res = o->res;
	char line[160];

	counts_put_notes(b, &o->tree.head, st);
	if (res->ousted) {
		(void)snprintf(line, sizeof(line),
			       "%zu of %zu counters lost their place to others: samples are "
			       "missing; --no-tree",
			       res->ousted, res->counters);
		put_wrapped(b, line, "", st);
	}
	put_samples(b, o, st);
}

static int make_tables(struct told *o, struct err *err)
{
	const struct options *opt = &o->cli->opt;
	size_t limit = opt->limit ? opt->limit : o->format ? 0 : ROWS, n, n_events;
	const struct profile_sum *sum = profile_sums(o->profile, &n);
	const struct pd_event *event = pd_events(o->rec.rec, &n_events);
	uint64_t most = 0;

	o->table = arena_alloc(&o->cli->arena, (n + 1) * sizeof(*o->table));
	if (!o->table)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct run_table *t = &o->table[o->n_tables];

		if (!sum[i].selected.samples && (i || n > 1))
			continue;
		t->event = n == n_events ? event[i].name : NULL;
		if (where_make(&t->where, &o->cli->arena, o->profile, i, limit, err))
			return -1;
		if (sum[i].selected.samples > most) {
			most = sum[i].selected.samples;
			o->top = t->where.top;
		}
		o->n_tables++;
	}
	return 0;
}

static int look_where(struct told *o, struct err *err)
{
	struct profile_opts po = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	int rc = -1;

	if (recording_open(&o->rec, o->cli, o->path, err))
		return -1;
	if (!recording_select(&o->rec, o->cli, &po, err) &&
	    !profile_build(&o->profile, o->rec.rec, o->rec.spaces, &po, err))
		rc = make_tables(o, err);
	cli_progress_end(o->cli);
	return rc;
}

static void put_tables(struct buf *b, const struct told *o, const struct style *st)
{
	size_t n;

	(void)profile_sums(o->profile, &n);
	for (size_t i = 0; i < o->n_tables; i++) {
		if (n > 1 && o->table[i].event) {
			buf_puts(b, i ? "\n " : " ");
			text_put_safe(b, o->table[i].event, st->ascii);
			buf_putc(b, '\n');
		}
		where_put(b, &o->table[i].where, st);
	}
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

	if (b->failed)
		return err_nomem(err);
	if (fd >= 0)
		return fd_write_all(fd, buf_str(b), b->len, "the report", err);
	return file_put(cli->opt.output, 0644, buf_str(b), b->len, err);
}

static void put_for_people(struct buf *b, const struct told *o)
{
	struct style st = cli_style(o->cli, report_fd(o->cli));

	buf_putc(b, '\n');
	put_head(b, o, &st);
	if (!o->res->samples)
		buf_puts(b,
			 " not one sample: it ended too soon for the frequency (-F), or slept\n");
	else
		put_tables(b, o, &st);
	buf_putc(b, '\n');
	if (o->res->kept)
		put_steps(b, o, &st);
	put_tail(b, o, &st);
}

static const char *why_no_tree(const struct told *o)
{
	return o->tree.n_views	     ? NULL
	       : *o->t->why	     ? o->t->why
	       : *o->res->no_cycles  ? "there is no cycle counter"
	       : o->cli->opt.no_tree ? "--no-tree"
				     : "nothing was counted";
}

static int put_for_programs(struct buf *b, const struct told *o, struct err *err)
{
	const struct sampling_result *res = o->res;
	const struct run_report r = {
		.tree = &o->tree,
		.no_tree = why_no_tree(o),
		.table = o->table,
		.n_tables = o->n_tables,
		.sampled = res->event,
		.no_cycles = *res->no_cycles ? res->no_cycles : NULL,
		.user_only = res->user_only,
		.file = res->kept ? o->path : NULL,
		.samples = res->samples,
		.bytes = res->bytes,
		.lost = res->lost,
		.throttled = res->throttled,
		.ousted = res->ousted,
		.counters = res->counters,
	};

	return o->format->write(b, &r, o->separator) ? err_nomem(err) : buf_error(b, err);
}

static void fill_head(struct told *o)
{
	const struct sampling_result *res = o->res;
	struct count_head *h = &o->tree.head;

	h->command = o->cli->args.v;
	h->n_command = o->cli->args.n;
	h->time = h->seconds_error = NAN;
	h->seconds = res->wall_s;
	h->user_s = res->user_s;
	h->sys_s = res->cpu_s - res->user_s;
	h->tasks = res->tasks;
	h->runs = 1;
	h->status = res->status;
	h->killed_by = res->killed_by;
}

static int report(struct told *o, struct err *err)
{
	struct buf b = BUF_INIT;
	int rc = -1;

	if (run_tree_report(o->t, &o->tree, err))
		goto out;
	fill_head(o);
	if (o->res->samples && look_where(o, err))
		goto out;
	if (!o->format)
		put_for_people(&b, o);
	else if (put_for_programs(&b, o, err))
		goto out;
	rc = put_report(o->cli, &b, err);
out:
	buf_free(&b);
	profile_free(o->profile);
	recording_close(&o->rec);
	return rc;
}

static int run(struct sampling *s, struct told *o, struct err *err)
{
	o->res = sampling_result(s);
	return sampling_run(s, err) ? -1 : report(o, err);
}

/* Asked before the program runs. */
static int choose_format(struct told *o, struct err *err)
{
	const char *name = cli_format(o->cli);

	if (strcmp(name, "term") != 0) {
		o->format = run_format_find(name, err);
		if (!o->format)
			return -1;
	}
	return cli_separator(o->cli, &o->separator, err);
}

int cmd_run(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	struct run_tree tree = RUN_TREE_INIT(cli);
	struct told told = { .cli = cli, .t = &tree, .path = path, .top = "" };
	struct err err = ERR_INIT;
	struct sampling *s = NULL;
	struct ask ask;
	int code;

	if (!cli->args.n) {
		(void)err_set(&err, ERR_USAGE, "run needs a program");
		(void)err_hint(&err, "cyclade run -- ./prog args");
		return cli_fail_as(&err, EXIT_TOOL);
	}
	if (choose_format(&told, &err))
		return cli_fail_as(&err, EXIT_TOOL);
	if (cli->opt.regions)
		return regions_run(cli);
	if (cli_ask(cli, &ask, &err) || sampling_open(&s, &ask, path, run_tree_beside(&tree), &err))
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	else if (cli->opt.dry_run) {
		struct buf b = BUF_INIT;

		sampling_describe(s, cli->opt.verbose, &b);
		run_tree_describe(&tree, &b);
		code = put_report(cli, &b, &err) ? cli_fail_as(&err, EXIT_TOOL) : EXIT_OK;
		buf_free(&b);
	} else if (run(s, &told, &err) || sampling_after(s, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
	} else {
		code = sampling_result(s)->status;
	}
	sampling_close(s);
	run_tree_free(&tree);
	return code;
}
