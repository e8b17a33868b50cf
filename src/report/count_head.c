/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/count_head.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

/* ---- tables ---------------------------------------------------------------------------------- */

TABLE_ROW_AS(head_of, struct count_head)

TABLE_CELL(target, out->text = head_of(r)->n_command ? NULL : head_of(r)->target)
TABLE_CELL(tool_status, out->i = 0)
TABLE_CELL(status, out->none = out->i < 0)
TABLE_CELL(signal_, out->none = !out->i)

#define OF(member) TABLE_FIELD(struct count_head, member)
static const struct table_column head_columns[] = {
	COLUMN("command", "command", T_LIST, 0, "the program that was counted",
	       TABLE_LIST(struct count_head, command, n_command)),
	COLUMN("target", "target", T_TEXT, 0, "what was counted, where no program was started",
	       .get = target),
	COLUMN("tool_status", "status", T_SIGNED, 0, "0: counting succeeded", .get = tool_status),
	COLUMN("workload_status", "exit", T_SIGNED, 0, "exit code of the program", OF(status),
	       .get = status),
	COLUMN("killed_by", "signal", T_SIGNED, 0, "the signal that ended the program",
	       OF(killed_by), .get = signal_),
	COLUMN("interrupted", "interrupted", T_FLAG, 0, "a signal came before the end",
	       OF(interrupted)),
	COLUMN("early", "early", T_FLAG, 0, "counting ended before the program", OF(early)),
	COLUMN("outlived", "outlived", T_FLAG, 0,
	       "processes that the program started went on (--follow)", OF(outlived)),
	COLUMN("end", "end", T_FLAG, 0, "all intervals (-I) stand before", OF(end)),
	COLUMN("runs", "runs", T_COUNT, 0, "of which figures are the means (-r)", OF(runs)),
	COLUMN("tasks", "tasks", T_COUNT, C_0_IS_NONE, "threads and processes of the program",
	       OF(tasks)),
	COLUMN("seconds", "seconds", T_SECONDS, C_ERROR, "that were counted",
	       TABLE_PAIR(struct count_head, seconds, seconds_error)),
	COLUMN("user_seconds", "user", T_SECONDS, 0, "CPU time in user space", OF(user_s)),
	COLUMN("system_seconds", "system", T_SECONDS, 0, "CPU time in the kernel", OF(sys_s)),
};
const struct table_form count_head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					    TABLE_COLUMNS(head_columns) };

static const struct table_column interval_columns[] = {
	COLUMN("time", "time", T_SECONDS, C_KEY, "its end, since the start", OF(time)),
	COLUMN("seconds", "seconds", T_SECONDS, 0, "its length", OF(seconds)),
};
#undef OF
const struct table_form count_interval_form = { "interval", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(interval_columns) };

/* Without C_LOSS: the rows themselves have the reason for no value. */
#define OF(member) TABLE_FIELD(struct count_losses, member)
static const struct table_column losses_columns[] = {
	COLUMN("counts", "counts", T_COUNT, 0, "asked for: events, each in so many places",
	       OF(counts)),
	COLUMN("refused", "refused", T_COUNT, 0, "counts that could not be opened", OF(refused)),
	COLUMN("not_counted", "not counted", T_COUNT, 0, "counts never on a counter",
	       OF(not_counted)),
	COLUMN("multiplexed", "multiplexed", T_COUNT, 0,
	       "counts extrapolated from part of the time", OF(multiplexed)),
};
#undef OF
const struct table_form count_losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					      TABLE_COLUMNS(losses_columns) };

/* ---- runs ------------------------------------------------------------------------------------ */

TABLE_CELL(run_number, out->n = r->i + 1)

#define OF(member) TABLE_FIELD(struct count_run, member)
static const struct table_column runs_columns[] = {
	COLUMN("run", "run", T_ID, C_KEY, "in the order in which they ran", .get = run_number),
	COLUMN("seconds", "seconds", T_SECONDS, 0, "wall time", OF(seconds)),
	COLUMN("user_seconds", "user", T_SECONDS, 0, "CPU time in user space", OF(user_s)),
	COLUMN("system_seconds", "system", T_SECONDS, 0, "CPU time in the kernel", OF(sys_s)),
	COLUMN("workload_status", "exit", T_SIGNED, 0, "exit code of the program", OF(status)),
};
#undef OF
const struct table_form count_runs_form = { "times", NULL, TABLE_DATA, TABLE_COLUMNS(runs_columns),
					    .rest = "run" };

#define OF(member) TABLE_FIELD(struct count_repeat, member)
#define REPEATS(key, means)                                                                 \
	COLUMN("run", "run", T_ID, C_KEY, "as in `times`", OF(run)),                        \
		COLUMN("where", "where", T_TEXT, C_KEY,                                     \
		       "a CPU, core, thread, ...; null: all that was counted", OF(where)),  \
		COLUMN(key, key, T_TEXT, C_KEY, means, OF(name)),                           \
		COLUMN("value", "value", T_REAL, 0, "in this run; null: not counted in it", \
		       OF(value)),                                                          \
		COLUMN("unit", "unit", T_TEXT, 0, "of the value; empty: a number", OF(unit))
static const struct table_column events_columns[] = { REPEATS("event", "as it was asked for") };
static const struct table_column nodes_columns[] = { REPEATS("node", "its path, or a metric") };
#undef REPEATS
#undef OF
const struct table_form count_events_form = { "repeats", NULL, TABLE_DATA,
					      TABLE_COLUMNS(events_columns), .rest = "count" };
const struct table_form count_nodes_form = { "repeats", NULL, TABLE_DATA,
					     TABLE_COLUMNS(nodes_columns), .rest = "value" };

/* ---- lines ----------------------------------------------------------------------------------- */

void count_head_command(struct buf *b, const struct count_head *h)
{
	for (size_t i = 0; i < h->n_command; i++)
		buf_printf(b, "%s%s", i ? " " : "", h->command[i]);
	if (!h->n_command)
		buf_puts(b, h->target ? h->target : "");
}

void count_head_times(struct buf *b, const struct count_head *h)
{
	char wall[NUM_MAX], cpu[NUM_MAX], tasks[NUM_MAX];

	if (isnan(h->seconds))
		buf_puts(b, "time not known");
	else
		buf_printf(b, "%s wall", num_seconds(wall, h->seconds));
	if (!isnan(h->seconds_error) && h->seconds > 0)
		buf_printf(b, " +-%.1f %%", 100 * h->seconds_error / h->seconds);
	if (!isnan(h->user_s))
		buf_printf(b, ", %s cpu", num_seconds(cpu, h->user_s + h->sys_s));
	if (h->runs > 1)
		buf_printf(b, ", mean of %zu runs", h->runs);
	if (h->tasks)
		buf_printf(b, ", %s %s", num_exact(tasks, h->tasks),
			   h->tasks == 1 ? "thread" : "threads and processes");
	if (h->killed_by)
		buf_printf(b, ", killed by signal %d (%s)", h->killed_by, strsignal(h->killed_by));
	else if (h->status >= 0)
		buf_printf(b, ", exit %d", h->status);
	if (h->interrupted)
		buf_puts(b, h->early ? ", interrupted before the program ended" : ", interrupted");
	if (h->outlived)
		buf_puts(b, "; processes that it started go on");
}

static void add_titles(struct document *d, const struct count_head *h)
{
	struct buf line = BUF_INIT;

	count_head_command(&line, h);
	document_title(d, INK_BOLD, "%s", buf_str(&line));
	buf_reset(&line);
	count_head_times(&line, h);
	document_title(d, INK_PLAIN, "%s", buf_str(&line));
	d->failed |= line.failed;
	buf_free(&line);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void count_head_put(struct document *d, const struct count_head *h)
{
	struct table t = { .form = &count_interval_form, .array = h, .n = 1 };

	if (isnan(h->time)) {
		t.form = &count_head_form;
		if (!h->end)
			add_titles(d, h);
	}
	document_table(d, &t);
}

void count_repeats_put(struct document *d, const struct count_head *h)
{
	struct table t = TABLE_OF(count_runs_form, NULL, h->run, h->n_run);

	document_table(d, &t);
	t = (struct table){ .form = h->nodes ? &count_nodes_form : &count_events_form,
			    .array = h->repeat,
			    .stride = sizeof(*h->repeat),
			    .n = h->n_repeat };
	document_table(d, &t);
}

void count_tail_put(struct document *d, const struct count_head *h)
{
	const struct table t = { .form = &count_losses_form, .array = &h->lost, .n = 1 };

	if (h->run)
		count_repeats_put(d, h);
	for (size_t i = 0; i < h->n_notes; i++)
		document_note(d, h->notes[i]);
	if (!h->end)
		document_table(d, &t);
}
