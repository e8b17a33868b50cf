/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The critical path, as tables: its functions, threads, steps.
 */
#include <math.h>

#include "base/num.h"
#include "report/critical_view.h"
#include "report/page.h"
#include "report/recorded.h"
#include "report/wait/wait_int.h"

#define ROWS  15 /* functions for people, without --limit */
#define LEAST 5
#define SMALL 0.005
#define STEPS 20   /* for people */
#define SHORT 0.01 /* of the path: shorter steps are left to programs */

TABLE_CTX_AS(critical_view_of, struct critical_view)

static uint64_t critical_length_of(const struct critical_view *v)
{
	return v->c->until - v->c->from;
}

static double critical_part_of(const struct critical_view *v, uint64_t ns)
{
	return wait_share_of(ns, critical_length_of(v));
}

/* c->which: offset of the time in a row. */
static uint64_t critical_time_of(const struct table_column *c, const struct table_row *r)
{
	return *(const uint64_t *)(const void *)((const char *)r->p + c->which);
}

TABLE_CELL(critical_time_seconds, out->e.v = wait_seconds_of(critical_time_of(c, r)))
TABLE_CELL(critical_time_share,
	   out->e.v = critical_part_of(critical_view_of(t), critical_time_of(c, r)))
TABLE_CELL(time_since,
	   out->e.v = wait_seconds_of(critical_time_of(c, r) - critical_view_of(t)->c->from))

/* ---- functions ------------------------------------------------------------------------------- */

TABLE_ROW_AS(critical_row_of, struct critical_row)

TABLE_CELL(critical_row_state,
	   out->text = wait_state_name(wait_reasons[critical_row_of(r)->reason].state))
TABLE_CELL(row_function, put_wait_function(out, &critical_row_of(r)->place))
TABLE_CELL(row_dso, put_wait_dso(out, critical_view_of(t)->images, &critical_row_of(r)->place))

/* c->which: CRITICAL_*. */
TABLE_GET(row_gain)
{
	const struct estimate *e = &critical_row_of(r)->gain[c->which];

	if (isnan(e->v))
		cell_none(out, e->why);
	else
		cell_estimate(out, *e);
}

#define OF(member) TABLE_FIELD(struct critical_row, member)
#define AT(member) .which = offsetof(struct critical_row, member)
/* clang-format off */
#define GAIN(key_, head_, flags_, means_, which_) \
	COLUMN(key_, head_, T_SHARE, C_ERROR | C_WHY | C_SPARSE | flags_, means_, \
	       .get = row_gain, .which = which_)
static const struct table_column row_columns[] = {
	COLUMN("share", "path", T_SHARE, C_ERROR | C_HEAT, "of the path", OF(share)),
	COLUMN("seconds", "time", T_SECONDS, C_DROP, "on the path",
	       .get = critical_time_seconds, AT(time)),
	GAIN("gain_tenth", "10 % less", C_DATA,
	     "how much earlier the path would end if this took a tenth less, in parts of it",
	     CRITICAL_TENTH),
	GAIN("gain_half", "gain: half", C_DROP, "the same if it took half the time", CRITICAL_HALF),
	GAIN("gain_all", "gain: none", 0, "the same if it took no time", CRITICAL_ALL),
	COLUMN("from_seconds", "first", T_SECONDS, C_DROP,
	       "when it was first on the path, from its beginning",
	       .get = time_since, AT(first)),
	COLUMN("until_seconds", "last", T_SECONDS, C_DATA, "when it was last on it",
	       .get = time_since, AT(last)),
	COLUMN("samples", "samples", T_COUNT, C_DATA, "on the path", OF(samples)),
	COLUMN("reason", "did", T_TEXT, C_KEY, "running, or what was waited for",
	       OF(reason), TABLE_NAMES_OF(wait_reasons, name)),
	COLUMN("state", "state", T_TEXT, C_DATA, "running, runnable, blocked, unknown",
	       .get = critical_row_state),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX, "that ran, or waited",
	       .get = row_function),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = row_dso),
};
/* clang-format on */
#undef AT
#undef OF
static const struct table_form rows_form = { "functions", NULL, TABLE_MAIN,
					     TABLE_COLUMNS(row_columns), .rest = "function" };

/* ---- threads --------------------------------------------------------------------------------- */

static const struct wait_thread *critical_thread_at(const struct table *t,
						    const struct table_row *r, size_t at)
{
	return &critical_view_of(t)
			->w->thread[*(const uint32_t *)(const void *)((const char *)r->p + at)];
}

TABLE_CELL(thread_comm, out->text = critical_thread_at(t, r, c->which)->comm)
TABLE_CELL(critical_thread_pid, out->n = critical_thread_at(t, r, c->which)->pid)
TABLE_CELL(critical_thread_tid, out->n = critical_thread_at(t, r, c->which)->tid)

/* clang-format off */
#define THREAD(type) \
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = critical_thread_pid, \
	       .which = offsetof(struct type, thread)), \
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", .get = critical_thread_tid, \
	       .which = offsetof(struct type, thread)), \
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "its name", .get = thread_comm, \
	       .which = offsetof(struct type, thread))
/* clang-format on */
#define AT(member) .which = offsetof(struct critical_thread, member)
static const struct table_column thread_columns[] = {
	COLUMN("share", "path", T_SHARE, C_HEAT, "of the path", .get = critical_time_share,
	       AT(time)),
	COLUMN("seconds", "time", T_SECONDS, 0, "on the path", .get = critical_time_seconds,
	       AT(time)),
	THREAD(critical_thread),
};
#undef AT
static const struct table_form threads_form = { "threads", NULL, 0, TABLE_COLUMNS(thread_columns),
						.rest = "thread" };

/* ---- steps ----------------------------------------------------------------------------------- */

TABLE_ROW_AS(critical_step_of, struct critical_step)

static const struct critical_row *step_row(const struct table *t, const struct table_row *r)
{
	return &critical_view_of(t)->c->row[critical_step_of(r)->row];
}

TABLE_CELL(step_length,
	   out->e.v = wait_seconds_of(critical_step_of(r)->until - critical_step_of(r)->from))
TABLE_CELL(critical_step_share,
	   out->e.v = critical_part_of(critical_view_of(t),
				       critical_step_of(r)->until - critical_step_of(r)->from))
TABLE_CELL(step_reason, out->text = wait_reasons[step_row(t, r)->reason].name)
TABLE_CELL(step_function, put_wait_function(out, &step_row(t, r)->place))
TABLE_CELL(step_dso, put_wait_dso(out, critical_view_of(t)->images, &step_row(t, r)->place))

TABLE_GET(step_next)
{
	uint32_t reason = critical_step_of(r)->next_reason;

	(void)t, (void)c;
	out->text = reason < WAIT_REASONS ? wait_reasons[reason].name : NULL;
}

TABLE_CELL(step_waker,
	   put_wait_function(out, &critical_view_of(t)->w->place[critical_step_of(r)->waker_place]))

#define AT(member) .which = offsetof(struct critical_step, member)
static const struct table_column step_columns[] = {
	COLUMN("from_seconds", "from", T_SECONDS, 0, "from the beginning of the path",
	       .get = time_since, AT(from)),
	COLUMN("seconds", "time", T_SECONDS, 0, "so long", .get = step_length),
	COLUMN("share", "path", T_SHARE, C_HEAT, "of the path", .get = critical_step_share),
	THREAD(critical_step),
	COLUMN("reason", "mostly", T_TEXT, 0, "what it did longest", .get = step_reason),
	COLUMN("function", "function", T_TEXT, C_FLEX, "in which", .get = step_function),
	COLUMN("dso", "of", T_TEXT, C_DATA, "its file", .get = step_dso),
	COLUMN("ended", "ended", T_TEXT, C_DROP,
	       "what the thread of the next step had waited for: this one ended that",
	       .get = step_next),
	COLUMN("waker_function", "in", T_TEXT, C_FLEX | C_DROP, "where it did", .get = step_waker),
};
#undef AT
static const struct table_form steps_form = { "steps", NULL, TABLE_DATA,
					      TABLE_COLUMNS(step_columns) };

static bool is_long(const struct critical_view *v, const struct critical_step *s)
{
	return critical_part_of(v, s->until - s->from) >= SHORT;
}

static bool long_step_next(const struct table *t, struct table_row *r)
{
	const struct critical *c = critical_view_of(t)->c;

	r->at[0] += r->p != NULL;
	while (r->at[0] < c->n_steps && !is_long(critical_view_of(t), &c->step[r->at[0]]))
		r->at[0]++;
	if (r->at[0] >= c->n_steps)
		return false;
	r->p = &c->step[r->at[0]];
	return true;
}

static const struct table_form long_steps_form = {
	"long_steps",		NULL,	       TABLE_PEOPLE, TABLE_COLUMNS(step_columns),
	.next = long_step_next, .rest = "step"
};

/* ---- the head -------------------------------------------------------------------------------- */

static const struct wait_thread *critical_end_of(const struct critical_view *v)
{
	return &v->w->thread[v->c->end];
}

TABLE_CELL(critical_length, out->e.v = wait_seconds_of(critical_length_of(critical_view_of(t))))
TABLE_CELL(end_comm, out->text = critical_end_of(critical_view_of(t))->comm)
TABLE_CELL(end_pid, out->n = critical_end_of(critical_view_of(t))->pid)
TABLE_CELL(end_tid, out->n = critical_end_of(critical_view_of(t))->tid)
TABLE_CELL(replayed,
	   out->e.v = critical_view_of(t)->c->base > 0 ? critical_view_of(t)->c->base / 1e9 : NAN)
#define OF(member) TABLE_FIELD(struct critical, member)
#define AT(member) .get = critical_time_seconds, .which = offsetof(struct critical, member)
#define CTX(...)   TABLE_CTX(struct critical_view, __VA_ARGS__)
static const struct table_column head_columns[] = {
	COLUMN("pid", "pid", T_ID, 0, "the process of the thread at whose end the path begins",
	       .get = end_pid),
	COLUMN("tid", "tid", T_ID, 0, "the thread's number", .get = end_tid),
	COLUMN("comm", "thread", T_TEXT, 0, "its name", .get = end_comm),
	COLUMN("length_seconds", "length", T_SECONDS, 0, "of the path", .get = critical_length),
	COLUMN("running_seconds", "running", T_SECONDS, 0, "of it: some thread of it was on a CPU",
	       AT(running)),
	COLUMN("unknown_seconds", "unknown", T_SECONDS, 0, "of it: records were lost", AT(unknown)),
	COLUMN("unended_seconds", "unended", T_SECONDS, 0,
	       "of it: waits that another thread may have ended, which was not recorded",
	       AT(unended)),
	COLUMN("replay_seconds", "replay", T_SECONDS, 0,
	       "how long the recording takes in the replay that gains are computed by",
	       .get = replayed),
	COLUMN("cpus", "cpus", T_COUNT, 0, "that the replay has", OF(cpus)),
	COLUMN("event", "event", T_TEXT, 0, "of the samples", CTX(event)),
	COLUMN("samples", "samples", T_COUNT, 0, "on the path", OF(samples)),
	COLUMN("wakings", "wakings", T_FLAG, 0, "who woke whom was recorded", CTX(w, has_wakings)),
	COLUMN("contradicted", "contradicted", T_COUNT, C_LOSS,
	       "times that two records of a thread contradict each other", CTX(w, contradicted)),
};
#undef AT
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = { &head_form,		&recorded_form,
						  &rows_form,		&threads_form,
						  &long_steps_form,	&steps_form,
						  &recorded_losses_form };
const struct document_form critical_document = { "critical", 1,
						 forms,	     sizeof(forms) / sizeof(*forms),
						 NULL,	     0 };

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_critical_facts(struct document *d, const struct critical_view *v)
{
	const struct critical *c = v->c;
	char a[NUM_MAX], b[NUM_MAX];

	if (!v->w->has_wakings)
		document_fact(d, "wakings", true,
			      "not recorded: the path stays in one thread; record as root");
	if (c->unended)
		document_fact(
			d, "waits", v->w->has_wakings,
			"%s of the path: not recorded who ended them; -a has others' wake-ups",
			num_seconds(a, wait_seconds_of(c->unended)));
	if (c->unknown)
		document_fact(d, "unknown", true,
			      "%s of the path: records were lost or contradict each other",
			      num_seconds(a, wait_seconds_of(c->unknown)));
	if (c->base > 0)
		document_fact(d, "replay", false,
			      "%s for the %s that were recorded: the difference is in the errors "
			      "of the gains",
			      num_seconds(a, c->base / 1e9),
			      num_seconds(b, wait_seconds_of(c->until - v->w->from)));
}

void critical_put(struct document *d, const struct critical_view *v)
{
	const struct critical *c = v->c;
	struct table rows = TABLE_OF(rows_form, v, c->row, c->n_rows, .people = v->limit);
	const struct table threads = TABLE_OF(threads_form, v, c->thread, c->n_threads,
					      .people = v->limit ? v->limit : LEAST);
	const struct table shown = { .form = &long_steps_form, .ctx = v, .people = STEPS };
	char a[NUM_MAX];

	if (!v->limit)
		rows.people = table_enough(&rows, 0, LEAST, ROWS, SMALL);
	document_table(d, &(struct table){ .form = &head_form, .ctx = v, .array = c, .n = 1 });
	recorded_head(d, &v->source);
	document_title(d, INK_PLAIN,
		       "the path to the end of %s (tid %u): %s, %.1f %% of it on a CPU",
		       critical_end_of(v)->comm, critical_end_of(v)->tid,
		       num_seconds(a, wait_seconds_of(critical_length_of(v))),
		       100 * critical_part_of(v, c->running));
	document_table(d, &rows);
	document_table(d, &threads);
	document_table(d, &shown);
	document_table(d, &TABLE_OF(steps_form, v, c->step, c->n_steps));
	add_critical_facts(d, v);
	recorded_tail(d, &v->source);
}
