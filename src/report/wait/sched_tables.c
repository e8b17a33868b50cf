/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sched_document: threads, CPUs with their map, and the sums.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "report/recorded.h"
#include "report/sched_view.h"
#include "report/wait/wait_int.h"

#define ROWS 20 /* of threads, for people, without --limit */

TABLE_CTX_AS(sched_view_of, struct sched_view)
TABLE_ROW_AS(sched_thread_of, struct sched_thread)
TABLE_ROW_AS(sched_cpu_of, struct sched_cpu)

static double mean_of(const struct sched_sum *x)
{
	return wait_share_of(x->time, x->n) / 1e9;
}

/* Nothing, if there was none. */
static void put_most(struct table_cell *out, const struct sched_sum *x, uint64_t ns)
{
	out->none = !x->n;
	out->e.v = x->n ? wait_seconds_of(ns) : NAN;
}

static void put_part(struct table_cell *out, uint64_t ns)
{
	out->e.v = ns == UINT64_MAX ? NAN : wait_seconds_of(ns);
}

/* ---- sums ------------------------------------------------------------------------------------ */

TABLE_CELL(sched_length, out->e.v = wait_seconds_of(sched_view_of(t)->waits->w->until -
						    sched_view_of(t)->waits->w->from))
TABLE_CELL(sched_run_time, out->e.v = wait_seconds_of(sched_view_of(t)->s->run.time))
TABLE_CELL(sched_delay_time, out->e.v = wait_seconds_of(sched_view_of(t)->s->delay.time))
TABLE_CELL(sched_delay_mean, out->e.v = mean_of(&sched_view_of(t)->s->delay))
TABLE_CELL(sched_delay_most,
	   put_most(out, &sched_view_of(t)->s->delay, sched_view_of(t)->s->delay.most))
TABLE_CELL(sched_p50, put_part(out, sched_view_of(t)->s->p50))
TABLE_CELL(sched_p90, put_part(out, sched_view_of(t)->s->p90))
TABLE_CELL(sched_p99, put_part(out, sched_view_of(t)->s->p99))

#define OF(member) TABLE_FIELD(struct sched, member)
static const struct table_column head_columns[] = {
	COLUMN("length_seconds", "length", T_SECONDS, 0, "of the recording", .get = sched_length),
	COLUMN("thread_count", "threads", T_COUNT, 0, "that ran, or waited for a CPU",
	       OF(n_threads)),
	COLUMN("runs", "runs", T_COUNT, 0, "times that a thread had a CPU", OF(run.n)),
	COLUMN("running_seconds", "running", T_SECONDS, 0, "of all threads", .get = sched_run_time),
	COLUMN("delays", "delays", T_COUNT, 0, "times that a thread waited for a CPU", OF(delay.n)),
	COLUMN("delay_seconds", "delay", T_SECONDS, 0, "of all threads", .get = sched_delay_time),
	COLUMN("delay_mean_seconds", "mean", T_SECONDS, 0, "of a delay", .get = sched_delay_mean),
	COLUMN("delay_p50_seconds", "p50", T_SECONDS, 0, "half took no longer", .get = sched_p50),
	COLUMN("delay_p90_seconds", "p90", T_SECONDS, 0, "90 % took no longer", .get = sched_p90),
	COLUMN("delay_p99_seconds", "p99", T_SECONDS, 0, "99 % took no longer", .get = sched_p99),
	COLUMN("delay_most_seconds", "longest", T_SECONDS, 0, "the longest delay",
	       .get = sched_delay_most),
	COLUMN("moved", "moved", T_COUNT, 0, "times that a thread came to another CPU", OF(moved)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

/* ---- threads --------------------------------------------------------------------------------- */

static const struct wait_thread *thread_at(const struct table *t, uint32_t thread)
{
	return &sched_view_of(t)->waits->w->thread[thread];
}

static const struct wait_thread *whose(const struct table *t, const struct table_row *r)
{
	return thread_at(t, sched_thread_of(r)->thread);
}

static void put_mark(struct table_cell *out, char mark)
{
	if (mark)
		cell_printf(out, "%c", mark);
}

TABLE_CELL(thread_mark, put_mark(out, sched_view_of(t)->mark[sched_thread_of(r)->thread]);
	   out->says = "")
TABLE_CELL(thread_ran, out->e.v = wait_seconds_of(sched_thread_of(r)->run.time))
TABLE_CELL(thread_ran_mean, out->e.v = mean_of(&sched_thread_of(r)->run))
TABLE_CELL(thread_ran_most, put_most(out, &sched_thread_of(r)->run, sched_thread_of(r)->run.most))
TABLE_CELL(thread_delayed, out->e.v = wait_seconds_of(sched_thread_of(r)->delay.time))
TABLE_CELL(thread_delay_mean, out->e.v = mean_of(&sched_thread_of(r)->delay))
TABLE_CELL(thread_delay_p99, put_part(out, sched_thread_of(r)->p99))
TABLE_CELL(thread_delay_most,
	   put_most(out, &sched_thread_of(r)->delay, sched_thread_of(r)->delay.most))
TABLE_CELL(thread_delay_at,
	   put_most(out, &sched_thread_of(r)->delay,
		    sched_thread_of(r)->delay.most_at - sched_view_of(t)->waits->w->from))
TABLE_CELL(thread_delay_time, out->n = sched_thread_of(r)->delay.most_at;
	   out->none = !sched_thread_of(r)->delay.n)
TABLE_CELL(thread_moved, out->n = whose(t, r)->moved)
TABLE_CELL(thread_pid, out->n = whose(t, r)->pid)
TABLE_CELL(thread_tid, out->n = whose(t, r)->tid)
TABLE_CELL(thread_comm, out->text = whose(t, r)->comm)
TABLE_CELL(thread_accounted, out->e.v = sched_view_of(t)->waits->w->has_accounted
						? wait_seconds_of(whose(t, r)->accounted)
						: NAN)
TABLE_CELL(thread_migrated, out->n = whose(t, r)->migrated;
	   out->none = !sched_view_of(t)->waits->w->has_migrations)

#define OF(member) TABLE_FIELD(struct sched_thread, member)
static const struct table_column thread_columns[] = {
	COLUMN("running_seconds", "running", T_SECONDS, 0, "on a CPU, by its switches",
	       .get = thread_ran),
	COLUMN("runs", "runs", T_COUNT, 0, "times that it had a CPU", OF(run.n)),
	COLUMN("run_mean_seconds", "mean", T_SECONDS, C_DATA, "of a run", .get = thread_ran_mean),
	COLUMN("run_most_seconds", "longest", T_SECONDS, C_DROP, "the longest run",
	       .get = thread_ran_most),
	COLUMN("accounted_seconds", "accounted", T_SECONDS, C_DATA,
	       "on a CPU as the kernel counts it (sched_stat_runtime); null: not recorded",
	       .get = thread_accounted),
	COLUMN("delay_seconds", "delay", T_SECONDS, 0,
	       "woken, preempted or begun, until it got a CPU", .get = thread_delayed),
	COLUMN("delays", "delays", T_COUNT, 0, "how often", OF(delay.n)),
	COLUMN("delay_mean_seconds", "mean", T_SECONDS, 0, "of a delay", .get = thread_delay_mean),
	COLUMN("delay_p99_seconds", "p99", T_SECONDS, C_DROP, "99 % took no longer",
	       .get = thread_delay_p99),
	COLUMN("delay_most_seconds", "longest", T_SECONDS, 0, "the longest delay",
	       .get = thread_delay_most),
	COLUMN("delay_most_at_seconds", "at", T_SECONDS, C_DROP,
	       "when that began, since the recording did", .get = thread_delay_at),
	COLUMN("delay_most_time", "time", T_COUNT, C_DATA,
	       "the same, by the recording's clock, in ns", .get = thread_delay_time),
	COLUMN("moved", "moved", T_COUNT, C_DROP, "times that it came to another CPU",
	       .get = thread_moved),
	COLUMN("migrated", "migrated", T_COUNT, C_DATA,
	       "times that the kernel gave it to another CPU (sched_migrate_task); null: not "
	       "recorded",
	       .get = thread_migrated),
	COLUMN("mark", "", T_TEXT, 0, "its letter in the map of CPUs", .get = thread_mark),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = thread_pid),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", .get = thread_tid),
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "its name", .get = thread_comm),
};
#undef OF
static const struct table_form threads_form = { "threads", NULL, TABLE_MAIN,
						TABLE_COLUMNS(thread_columns), .rest = "thread" };

/* ---- CPUs ------------------------------------------------------------------------------------ */

TABLE_CELL(cpu_busy, out->e.v = wait_share_of(sched_cpu_of(r)->time,
					      sched_view_of(t)->waits->w->until -
						      sched_view_of(t)->waits->w->from))
TABLE_CELL(cpu_time, out->e.v = wait_seconds_of(sched_cpu_of(r)->time))

TABLE_GET(cpu_most)
{
	uint32_t who = sched_cpu_of(r)->most;

	out->text = who == WAIT_NOBODY ? NULL : thread_at(t, who)->comm;
}

TABLE_GET(cpu_most_tid)
{
	uint32_t who = sched_cpu_of(r)->most;

	out->none = who == WAIT_NOBODY;
	out->n = out->none ? 0 : thread_at(t, who)->tid;
}

/* '.': nobody; '*': a thread that has no letter. */
TABLE_GET(cpu_map)
{
	const struct sched_cpu *x = sched_cpu_of(r);
	const struct sched_view *v = sched_view_of(t);

	for (size_t i = 0; x->bin && i < v->s->n_bins; i++) {
		char mark = x->bin[i] == WAIT_NOBODY ? '.' : v->mark[x->bin[i]];

		buf_putc(out->scratch, mark ? mark : '*');
	}
	out->text = x->bin ? buf_str(out->scratch) : NULL;
}

#define OF(member) TABLE_FIELD(struct sched_cpu, member)
static const struct table_column cpu_columns[] = {
	COLUMN("cpu", "cpu", T_ID, C_KEY, "its number", OF(cpu)),
	COLUMN("busy_share", "busy", T_SHARE, C_HEAT, "of the time, with these threads",
	       .get = cpu_busy),
	COLUMN("running_seconds", "running", T_SECONDS, C_DATA, "the same", .get = cpu_time),
	COLUMN("runs", "runs", T_COUNT, 0, "times that a thread had it", OF(runs)),
	COLUMN("threads", "threads", T_COUNT, C_DROP, "different ones", OF(threads)),
	COLUMN("comm", "mostly", T_TEXT, C_FLEX, "the thread that had it longest", .get = cpu_most),
	COLUMN("tid", "tid", T_ID, C_DATA, "its number", .get = cpu_most_tid),
	COLUMN("map", "who had it when", T_TEXT, C_DROP,
	       "the recording in equal parts: the letter of the thread that had the CPU longest "
	       "then; .: none, *: one without a letter",
	       .get = cpu_map),
};
#undef OF
static const struct table_form cpus_form = { "cpus", NULL, 0, TABLE_COLUMNS(cpu_columns) };

static const struct table_form *const forms[] = { &head_form, &recorded_form, &threads_form,
						  &cpus_form, &recorded_losses_form };
const struct document_form sched_document = { "sched", 1, forms, sizeof(forms) / sizeof(*forms),
					      NULL,    0 };

/* ---- the document ---------------------------------------------------------------------------- */

/* Letters for the threads with most parts of the map, as long as there are any. */
static void give_marks(struct sched_view *v)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	uint64_t *n = xcalloc(v->waits->w->n_threads + 1, sizeof(*n));

	for (size_t c = 0; c < v->s->n_cpus; c++)
		for (size_t i = 0; v->s->cpu[c].bin && i < v->s->n_bins; i++)
			if (v->s->cpu[c].bin[i] != WAIT_NOBODY)
				n[v->s->cpu[c].bin[i]]++;
	for (const char *l = letters; *l; l++) {
		size_t most = 0;

		for (size_t i = 1; i < v->waits->w->n_threads; i++)
			if (n[i] > n[most])
				most = i;
		if (!n[most])
			break;
		v->mark[most] = *l;
		n[most] = 0;
	}
	free(n);
}

void sched_view_make(struct sched_view *v, const struct wait_view *waits, const struct sched *s)
{
	v->waits = waits;
	v->s = s;
	v->mark = xcalloc(waits->w->n_threads + 1, 1);
	give_marks(v);
}

void sched_view_free(struct sched_view *v)
{
	free(v->mark);
}

void sched_put(struct document *d, const struct sched_view *v)
{
	const struct sched *s = v->s;
	char a[NUM_MAX], b[NUM_MAX], n[NUM_MAX], m[NUM_MAX];

	document_table(d, &TABLE_OF(head_form, v, s, 1));
	recorded_head(d, &v->waits->source);
	document_title(d, INK_PLAIN, "%s of %s thread%s in %s",
		       num_seconds(a, wait_seconds_of(s->run.time)), num_exact(n, s->n_threads),
		       s->n_threads == 1 ? "" : "s",
		       num_seconds(b, wait_seconds_of(v->waits->w->until - v->waits->w->from)));
	if (s->delay.n)
		document_title(d, INK_PLAIN, "%s delays of %s on average, at most %s",
			       num_exact(n, s->delay.n), num_seconds(a, mean_of(&s->delay)),
			       num_seconds(m, wait_seconds_of(s->delay.most)));
	document_table(d, &TABLE_OF(threads_form, v, s->thread, s->n_threads,
				    .people = v->waits->limit ? v->waits->limit : ROWS));
	document_table(d, &TABLE_OF(cpus_form, v, s->cpu, s->n_cpus));
	wait_put_doubts(d, v->waits);
	recorded_tail(d, &v->waits->source);
}
