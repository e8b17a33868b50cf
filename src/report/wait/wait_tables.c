/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads waited for, as tables: threads, reasons, functions, stacks, wakers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"
#include "report/page.h"
#include "report/recorded.h"
#include "report/wait_view.h"

#define ROWS  10    /* of a table, for people, unless --limit says */
#define SMALL 0.001 /* of all time; rows below are left to programs */

static const struct wait_view *view_of(const struct table *t)
{
	return t->ctx;
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : NAN;
}

/* Of all wanted threads. */
static uint64_t all_time(const struct wait_view *v, enum wait_state s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->n_processes; i++)
		for (size_t k = 0; k < WAIT_STATES; k++)
			sum += s == WAIT_STATES || s == k ? v->process[i].time[k] : 0;
	return sum;
}

/* ---- figures that several tables have: of a struct wait_time --------------------------------- */

static const struct wait_time *time_of(const struct table_column *c, const struct table_row *r)
{
	return (const struct wait_time *)((const char *)r->p + c->which);
}

TABLE_CELL(time_seconds, out->e = (struct estimate){ seconds_of(time_of(c, r)->time), 0, NULL })

TABLE_GET(time_bar)
{
	const struct wait_time *x = time_of(c, r);

	(void)t;
	out->none = x->bar <= 0; /* exact */
	out->says = "";
	out->e = (struct estimate){ x->bar / 1e9, 0, NULL };
}

TABLE_CELL(time_share, out->e.v = share_of(time_of(c, r)->time, all_time(view_of(t), WAIT_STATES)))
TABLE_CELL(time_n, out->n = time_of(c, r)->n)
TABLE_CELL(time_mean, out->e.v = share_of(time_of(c, r)->time, time_of(c, r)->n) / 1e9)
TABLE_CELL(time_most, out->e.v = seconds_of(time_of(c, r)->most))

/* clang-format off */
#define HOW_LONG(member) \
	COLUMN("share", "share", T_SHARE, C_HEAT, "of all threads' lives", .get = time_share, \
	       .which = member), \
	COLUMN("seconds", "time", T_SECONDS, 0, "in all", .get = time_seconds, .which = member)
#define HOW_OFTEN(member) \
	COLUMN("waits", "times", T_COUNT, 0, "how often", .get = time_n, .which = member), \
	COLUMN("mean_seconds", "mean", T_SECONDS, C_DROP, "of one", .get = time_mean, \
	       .which = member), \
	COLUMN("most_seconds", "longest", T_SECONDS, 0, "the longest", .get = time_most, \
	       .which = member)
#define TIME(member) \
	HOW_LONG(member), \
	COLUMN("seconds_error", "+-", T_SECONDS, C_SPARSE, \
	       "half the 95 % interval of the time, where waits have the chain of another", \
	       .get = time_bar, .which = member), \
	HOW_OFTEN(member)
/* clang-format on */

/* The reason is a byte at c->which. */
static enum wait_reason reason_of(const struct table_column *c, const struct table_row *r)
{
	return *((const uint8_t *)r->p + c->which);
}

TABLE_CELL(reason, out->text = wait_reasons[reason_of(c, r)].name)

/* ---- threads --------------------------------------------------------------------------------- */

static bool thread_next(const struct table *t, struct table_row *r)
{
	const struct wait_view *v = view_of(t);

	r->at[0] += r->p != NULL;
	if (!v || r->at[0] >= v->n)
		return false;
	r->p = &v->w->thread[v->order[r->at[0]]];
	return true;
}

/* c->which: a state; WAIT_STATES: its life. */
TABLE_CELL(thread_state, out->e.v = seconds_of(wait_thread_time(r->p, (enum wait_state)c->which)))

TABLE_GET(thread_most)
{
	const struct wait_thread *x = r->p;
	size_t most = WAIT_REASONS;

	(void)t, (void)c;
	for (size_t i = WAIT_RAN + 1; i < WAIT_LOST; i++)
		if (x->time[i] && (most == WAIT_REASONS || x->time[i] > x->time[most]))
			most = i;
	out->text = most < WAIT_REASONS ? wait_reasons[most].name : NULL;
}

TABLE_GET(thread_looks)
{
	const struct wait_thread *x = r->p;

	(void)t, (void)c;
	out->none = !x->looks;
	out->n = x->looks;
}

TABLE_GET(thread_why)
{
	const struct wait *w = view_of(t)->w;
	const struct wait_thread *x = r->p;

	(void)c;
	out->text = !x->time[WAIT_NO_STACK] ? NULL
		    : !w->has_stacks	    ? "call chains of switches were not recorded"
					    : "some switches have no call chain";
}

#define OF(member) TABLE_FIELD(struct wait_thread, member)
/* clang-format off */
#define STATE(key, head, means, get_, state) \
	COLUMN(key "seconds", head, T_SECONDS, 0, means, .get = get_, .which = state)
#define STATES(get_) \
	STATE("", "wall", "its life: the sum of the next four", get_, WAIT_STATES), \
	STATE("running_", "running", "on a CPU", get_, WAIT_RUNNING), \
	STATE("runnable_", "runnable", "waiting for a CPU", get_, WAIT_RUNNABLE), \
	STATE("blocked_", "blocked", "waiting for something else", get_, WAIT_BLOCKED), \
	STATE("unknown_", "unknown", "records were lost", get_, WAIT_UNKNOWN)
/* clang-format on */
static const struct table_column thread_columns[] = {
	STATES(thread_state),
	COLUMN("switches", "switches", T_COUNT, C_DROP, "times that it left a CPU", OF(switches)),
	COLUMN("preempted", "preempted", T_COUNT, C_DATA, "of these: it could have gone on",
	       OF(preempted)),
	COLUMN("moved", "moved", T_COUNT, C_DATA, "times that it came to another CPU", OF(moved)),
	COLUMN("reason", "mostly", T_TEXT, 0, "what it waited for longest", .get = thread_most),
	COLUMN("looks", "looks", T_COUNT, C_DATA,
	       "how often it was seen waiting; reasons and their times are estimates from that. "
	       "Null: they are not",
	       .get = thread_looks),
	COLUMN("why", "why not", T_TEXT, C_DATA, "why that is not known", .get = thread_why),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DROP, "its process", OF(pid)),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", OF(tid)),
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "its name", OF(comm)),
};
static const struct table_form threads_form = { "threads",	     NULL,
						TABLE_MAIN,	     TABLE_COLUMNS(thread_columns),
						.next = thread_next, .rest = "thread" };
const struct table_form wait_threads_form = {
	"threads",	     "who waited",    0, TABLE_COLUMNS(thread_columns),
	.next = thread_next, .rest = "thread"
};

/* at[1]: a reason. */
static bool thread_reason_next(const struct table *t, struct table_row *r)
{
	const struct wait_view *v = view_of(t);

	for (r->at[1] += r->p != NULL; r->at[0] < v->n; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < WAIT_REASONS; r->at[1]++) {
			r->p = &v->w->thread[v->order[r->at[0]]];
			if (((const struct wait_thread *)r->p)->time[r->at[1]])
				return true;
		}
	return false;
}

static uint64_t part_of(const struct table_row *r)
{
	return ((const struct wait_thread *)r->p)->time[r->at[1]];
}

TABLE_CELL(part_reason, out->text = wait_reasons[r->at[1]].name)
TABLE_CELL(part_state, out->text = wait_state_name(wait_reasons[r->at[1]].state))
TABLE_CELL(part_seconds, out->e.v = seconds_of(part_of(r)))
TABLE_CELL(part_share, out->e.v = share_of(part_of(r), wait_thread_time(r->p, WAIT_STATES)))
static const struct table_column part_columns[] = {
	COLUMN("pid", "pid", T_ID, C_KEY, "its process", OF(pid)),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", OF(tid)),
	COLUMN("comm", "thread", T_TEXT, C_KEY, "its name", OF(comm)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what it did, or waited for", .get = part_reason),
	COLUMN("state", "state", T_TEXT, 0, "running, runnable, blocked, unknown",
	       .get = part_state),
	COLUMN("seconds", "time", T_SECONDS, 0, "in all", .get = part_seconds),
	COLUMN("share", "share", T_SHARE, 0, "of the thread's life", .get = part_share),
};
#undef OF
static const struct table_form parts_form = { "thread_reasons", NULL, TABLE_DATA,
					      TABLE_COLUMNS(part_columns),
					      .next = thread_reason_next };

/* ---- processes ------------------------------------------------------------------------------- */

TABLE_GET(process_state)
{
	const struct wait_process *p = r->p;
	uint64_t sum = 0;

	(void)t;
	for (size_t i = 0; i < WAIT_STATES; i++)
		sum += c->which == WAIT_STATES || c->which == i ? p->time[i] : 0;
	out->e.v = seconds_of(sum);
}

#define OF(member) TABLE_FIELD(struct wait_process, member)
static const struct table_column process_columns[] = {
	STATES(process_state),
	COLUMN("threads", "threads", T_COUNT, 0, "it had", OF(threads)),
	COLUMN("pid", "pid", T_ID, C_KEY, "its number", OF(pid)),
	COLUMN("comm", "process", T_TEXT, C_FLEX, "its name", OF(comm)),
};
#undef OF
static const struct table_form processes_form = { "processes", NULL, TABLE_DATA,
						  TABLE_COLUMNS(process_columns) };

/* ---- reasons --------------------------------------------------------------------------------- */

static bool reason_next(const struct table *t, struct table_row *r)
{
	const struct wait *w = view_of(t)->w;

	r->at[0] += r->p != NULL;
	while (r->at[0] < WAIT_REASONS && !w->reason[r->at[0]].t.n)
		r->at[0]++;
	if (r->at[0] == WAIT_REASONS)
		return false;
	r->p = &w->reason[r->at[0]];
	return true;
}

TABLE_CELL(row_reason, out->text = wait_reasons[r->at[0]].name)
TABLE_CELL(row_state, out->text = wait_state_name(wait_reasons[r->at[0]].state))
TABLE_CELL(row_means, out->text = wait_reasons[r->at[0]].means)
TABLE_CELL(row_quantile,
	   out->e.v = seconds_of(*(const uint64_t *)(const void *)((const char *)r->p + c->which)))

#define QUANTILE(member) .get = row_quantile, .which = offsetof(struct wait_reason_sum, member)
static const struct table_column reason_columns[] = {
	TIME(offsetof(struct wait_reason_sum, t)),
	COLUMN("p50_seconds", "p50", T_SECONDS, C_DROP, "half of them are no longer",
	       QUANTILE(p50)),
	COLUMN("p90_seconds", "p90", T_SECONDS, C_DATA, "90 % of them", QUANTILE(p90)),
	COLUMN("p99_seconds", "p99", T_SECONDS, 0, "99 % of them", QUANTILE(p99)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what threads did, or waited for",
	       .get = row_reason),
	COLUMN("state", "state", T_TEXT, C_DATA, "running, runnable, blocked, unknown",
	       .get = row_state),
	COLUMN("means", "", T_TEXT, C_FLEX | C_CUT, "what that is", .get = row_means),
};
static const struct table_form reasons_form = { "reasons", NULL, 0, TABLE_COLUMNS(reason_columns),
						.next = reason_next };

/* at[1]: a bucket. */
static bool bucket_next(const struct table *t, struct table_row *r)
{
	const struct wait *w = view_of(t)->w;

	for (r->at[1] += r->p != NULL; r->at[0] < WAIT_REASONS; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < 64; r->at[1]++) {
			r->p = &w->reason[r->at[0]].bucket[r->at[1]];
			if (*(const uint64_t *)r->p)
				return true;
		}
	return false;
}

TABLE_CELL(bucket_n, out->n = *(const uint64_t *)r->p)
TABLE_CELL(bucket_end, out->e.v = ldexp(1e-9, (int)(r->at[1] + c->which)))
static const struct table_column bucket_columns[] = {
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what threads did, or waited for",
	       .get = row_reason),
	COLUMN("from_seconds", "from", T_SECONDS, C_KEY, "as long, or longer", .get = bucket_end),
	COLUMN("until_seconds", "until", T_SECONDS, 0, "shorter", .get = bucket_end, .which = 1),
	COLUMN("waits", "times", T_COUNT, 0, "how often", .get = bucket_n),
};
static const struct table_form histogram_form = { "histogram", NULL, TABLE_DATA,
						  TABLE_COLUMNS(bucket_columns),
						  .next = bucket_next };

/* ---- places ---------------------------------------------------------------------------------- */

/* c->which: where the row has its place. */
static const struct wait_place *place_of(const struct table *t, const struct table_column *c,
					 const struct table_row *r)
{
	return &view_of(t)->w->place[*(const uint32_t *)(const void *)((const char *)r->p +
								       c->which)];
}

TABLE_GET(place_function)
{
	const struct wait_place *p = place_of(t, c, r);

	out->text = p->symbol ? p->symbol->name : NULL;
}

TABLE_GET(place_dso)
{
	const struct wait_place *p = place_of(t, c, r);

	out->text = p->image != IMAGE_NONE ? image_name(view_of(t)->images, p->image) : NULL;
}

#define AT(member) .which = offsetof(struct wait_at, member)
static const struct table_column function_columns[] = {
	TIME(offsetof(struct wait_at, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "for what", .get = reason, AT(reason)),
	COLUMN("function", "function", T_TEXT, C_KEY | C_FLEX,
	       "the innermost of the program; of kernel threads the one that waits",
	       .get = place_function, AT(place)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_FLEX, "its file", .get = place_dso, AT(place)),
};
static const struct table_form functions_form = { "functions", NULL, 0,
						  TABLE_COLUMNS(function_columns),
						  .rest = "function" };

/* Frames are told apart by ';'. */
static void put_frame(struct buf *b, const struct wait_view *v, uint32_t place)
{
	const struct wait_place *p = &v->w->place[place];
	size_t from = b->len;

	buf_puts(b, p->symbol		     ? p->symbol->name
		    : p->image != IMAGE_NONE ? image_name(v->images, p->image)
					     : "[unknown]");
	for (size_t i = from; i < b->len; i++)
		if (b->s[i] == ';')
			b->s[i] = ':';
}

#define DEPTH 512u

/* Outermost first. */
TABLE_GET(stack)
{
	const struct wait_at *a = r->p;
	const struct chain_node *node = view_of(t)->w->chain.node;
	uint32_t frame[DEPTH];
	size_t n = 0;

	(void)c;
	for (uint32_t i = a->chain; i && n < DEPTH; i = node[i].parent)
		frame[n++] = (uint32_t)node[i].frame;
	while (n) {
		put_frame(out->scratch, view_of(t), frame[--n]);
		if (n)
			buf_putc(out->scratch, ';');
	}
	out->text = a->chain ? buf_str(out->scratch) : NULL;
}

/* For flame graphs: a line per chain and reason, which is its innermost frame, and ns. */
static int write_folded(struct buf *out, const struct document *d, const struct show *s,
			struct err *err)
{
	const struct wait_view *v = d->ctx;
	const struct table t = { .ctx = v };
	struct buf scratch = BUF_INIT;

	(void)s;
	for (size_t i = 0; i < v->w->n_chain_sums; i++) {
		const struct wait_at *a = &v->w->chain_sum[i];
		const struct table_row r = { .p = a };
		struct table_cell x = { .scratch = &scratch };

		buf_reset(&scratch);
		stack(&t, NULL, &r, &x);
		if (x.text) {
			text_put_safe(out, x.text, false);
			buf_putc(out, ';');
		}
		buf_printf(out, "[%s] %" PRIu64 "\n", wait_reasons[a->reason].name, a->t.time);
	}
	out->failed |= scratch.failed;
	buf_free(&scratch);
	return buf_error(out, err);
}

static const struct table_column stack_columns[] = {
	TIME(offsetof(struct wait_at, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "for what", .get = reason, AT(reason)),
	COLUMN("stack", "stack", T_TEXT, C_KEY | C_FLEX | C_KEEP_END, "outermost first",
	       .get = stack),
};
#undef AT
static const struct table_form stacks_form = { "stacks", NULL, 0, TABLE_COLUMNS(stack_columns),
					       .rest = "stack" };

/* ---- wakers ---------------------------------------------------------------------------------- */

static const struct wait_thread *waker_thread(const struct table *t, const struct table_column *c,
					      const struct table_row *r)
{
	uint32_t i = *(const uint32_t *)(const void *)((const char *)r->p + c->which);

	return i < view_of(t)->w->n_threads ? &view_of(t)->w->thread[i] : NULL;
}

TABLE_GET(waker_comm)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->text = x ? x->comm : "[interrupt]";
}

TABLE_GET(waker_pid)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->none = !x;
	out->n = x ? x->pid : 0;
}

TABLE_GET(waker_tid)
{
	const struct wait_thread *x = waker_thread(t, c, r);

	out->none = !x;
	out->n = x ? x->tid : 0;
}

#define AT(member) .which = offsetof(struct wait_waker, member)
static const struct table_column waker_columns[] = {
	HOW_LONG(offsetof(struct wait_waker, t)),
	HOW_OFTEN(offsetof(struct wait_waker, t)),
	COLUMN("reason", "reason", T_TEXT, C_KEY, "what was waited for", .get = reason, AT(reason)),
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "who waited", .get = waker_comm,
	       AT(thread)),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = waker_pid, AT(thread)),
	COLUMN("tid", "tid", T_ID, C_KEY | C_DROP, "its number", .get = waker_tid, AT(thread)),
	COLUMN("waker", "woken by", T_TEXT, C_KEY | C_FLEX, "who ended that", .get = waker_comm,
	       AT(waker)),
	COLUMN("waker_pid", "pid", T_ID, C_KEY | C_DATA, "its process", .get = waker_pid,
	       AT(waker)),
	COLUMN("waker_tid", "tid", T_ID, C_KEY | C_DROP, "its number", .get = waker_tid, AT(waker)),
	COLUMN("function", "in", T_TEXT, C_KEY | C_FLEX, "where it did", .get = place_function,
	       AT(place)),
	COLUMN("dso", "of", T_TEXT, C_KEY | C_DATA, "the function's file", .get = place_dso,
	       AT(place)),
};
#undef AT
static const struct table_form wakers_form = { "wakers", NULL, 0, TABLE_COLUMNS(waker_columns),
					       .rest = "waker" };

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(head_length, out->e.v = seconds_of(view_of(t)->w->until - view_of(t)->w->from))
TABLE_CELL(head_state, out->e.v = seconds_of(all_time(view_of(t), (enum wait_state)c->which)))
TABLE_CELL(head_threads, out->n = view_of(t)->n)

#define OF(member) TABLE_FIELD(struct wait, member)
static const struct table_column head_columns[] = {
	COLUMN("length_seconds", "length", T_SECONDS, 0, "of the recording", .get = head_length),
	COLUMN("thread_count", "threads", T_COUNT, 0, "that lived then", .get = head_threads),
	STATES(head_state),
	COLUMN("chains", "chains", T_FLAG, 0, "call chains of switches were recorded",
	       OF(has_stacks)),
	COLUMN("wakings", "wakings", T_FLAG, 0, "who woke whom was recorded", OF(has_wakings)),
	COLUMN("waits", "waits", T_COUNT, 0, "blocked, or preempted", OF(waits)),
	COLUMN("guessed", "guessed", T_COUNT, 0,
	       "of these: they have the chain of another one like them", OF(guessed)),
	COLUMN("chainless", "chainless", T_COUNT, 0, "of these: they have no chain", OF(chainless)),
	COLUMN("unwoken", "unwoken", T_COUNT, 0,
	       "waits without a record of their end: they include the time until a CPU was free",
	       OF(unwoken)),
	COLUMN("contradicted", "contradicted", T_COUNT, C_LOSS,
	       "times that two records of a thread contradict each other", OF(contradicted)),
	COLUMN("assumed", "assumed", T_COUNT, 0,
	       "times that a CPU was got without a record: since its last switch, or the waking",
	       OF(assumed)),
	COLUMN("gaps", "gaps", T_COUNT, 0, "windows of time in which records were lost",
	       OF(lost_windows)),
	COLUMN("pauses", "pauses", T_COUNT, 0,
	       "of these: `run` recorded no switches, as there were too many", OF(pauses)),
};
#undef OF
static const struct table_form head_form = { "summary", NULL, TABLE_ONE | TABLE_HEAD | TABLE_DATA,
					     TABLE_COLUMNS(head_columns) };

static const struct table_form *const forms[] = {
	&head_form,	 &recorded_form,  &threads_form,	&reasons_form,
	&functions_form, &wakers_form,	  &stacks_form,		&parts_form,
	&processes_form, &histogram_form, &recorded_losses_form
};
static const struct format faces[] = { { "folded", write_folded, true, true } };
const struct document_form wait_document = { "wait", 2, forms, sizeof(forms) / sizeof(*forms),
					     faces,  1 };

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_titles(struct document *d, const struct wait_view *v)
{
	static const char *const words[] = { "running", "waiting for a CPU", "blocked", "unknown" };
	uint64_t all = all_time(v, WAIT_STATES);
	char a[NUM_MAX], b[NUM_MAX], n[NUM_MAX];

	document_title(d, INK_PLAIN, "%s of %s thread%s in %s", num_seconds(a, seconds_of(all)),
		       num_exact(n, v->n), v->n == 1 ? "" : "s",
		       num_seconds(b, seconds_of(v->w->until - v->w->from)));
	for (size_t s = 0; s < WAIT_STATES; s++) {
		uint64_t time = all_time(v, (enum wait_state)s);

		if (time)
			document_title(d, INK_PLAIN, "%8s %s (%s)",
				       num_percent(a, share_of(time, all)), words[s],
				       num_seconds(b, seconds_of(time)));
	}
}

static void add_facts(struct document *d, const struct wait_view *v)
{
	const struct wait *w = v->w;
	char a[NUM_MAX], b[NUM_MAX], n[NUM_MAX];

	if (!w->has_stacks)
		document_fact(d, "reasons", true,
			      "not known: call chains of switches were not recorded; they need "
			      "perf_event_paranoid 1 or less, or root");
	if (w->guessed)
		document_fact(
			d, "call chains", false,
			"%s of %s waits have one of their own; the others have that of a wait of "
			"the same thread, about as long and ended by the same thread: reasons, "
			"functions and stacks are estimates (record --wait-chains=all has all)",
			num_percent(a, share_of(w->waits - w->guessed - w->chainless, w->waits)),
			num_exact(n, w->waits));
	if (!w->has_wakings)
		document_fact(d, "wake-ups", false,
			      "not recorded: blocked time includes the wait for a CPU behind it; "
			      "sched:sched_waking needs root, or perf_event_paranoid -1 and a "
			      "readable tracefs");
	else if (w->unwoken)
		document_fact(d, "wake-ups", false,
			      "not recorded for %s waits: these include the wait for a CPU; record "
			      "with -a for all",
			      num_exact(a, w->unwoken));
	if (w->pauses)
		document_fact(d, "switches", true,
			      "too many for `run`, which paused %s times: unknown time, %s of the "
			      "threads'; record --wait has all",
			      num_exact(a, w->pauses),
			      num_percent(b, share_of(all_time(v, WAIT_UNKNOWN),
						      all_time(v, WAIT_STATES))));
	if (w->lost_windows > w->pauses)
		document_fact(d, "lost records", true, "%s gaps: unknown time, %s of the threads'",
			      num_exact(a, w->lost_windows),
			      num_percent(b, share_of(all_time(v, WAIT_UNKNOWN),
						      all_time(v, WAIT_STATES))));
	if (w->assumed)
		document_fact(
			d, "assumed", true,
			"%s times no record says when a thread got its CPU (the kernel traced no "
			"switch from the idle task): since the CPU's last switch, or its waking",
			num_exact(a, w->assumed));
	if (w->contradicted)
		document_fact(d, "contradicted", true,
			      "%s times a thread began what it already did: that time is unknown",
			      num_exact(a, w->contradicted));
}

static void add_table(struct document *d, const struct wait_view *v, const struct table_form *f,
		      const void *array, size_t stride, size_t n)
{
	const struct table t = { .form = f,
				 .ctx = v,
				 .array = array,
				 .stride = stride,
				 .n = n,
				 .people = f == &reasons_form ? 0
					   : v && v->limit    ? v->limit
							      : ROWS };

	document_table(d, &t);
}

void wait_put(struct document *d, const struct wait_view *v)
{
	const struct wait *w = v->w;

	add_table(d, v, &head_form, w, sizeof(*w), 1);
	recorded_head(d, &v->source);
	add_titles(d, v);
	add_table(d, v, &threads_form, NULL, 0, 0);
	add_table(d, v, &reasons_form, NULL, 0, 0);
	add_table(d, v, &functions_form, w->place_sum, sizeof(*w->place_sum), w->n_place_sums);
	add_table(d, v, &wakers_form, w->waker, sizeof(*w->waker), w->n_wakers);
	add_table(d, v, &stacks_form, w->chain_sum, sizeof(*w->chain_sum), w->n_chain_sums);
	add_table(d, v, &parts_form, NULL, 0, 0);
	add_table(d, v, &processes_form, v->process, sizeof(*v->process), v->n_processes);
	add_table(d, v, &histogram_form, NULL, 0, 0);
	add_facts(d, v);
	recorded_tail(d, &v->source);
}

void wait_put_threads(struct document *d, const struct wait_view *v)
{
	add_table(d, v, &wait_threads_form, NULL, 0, 0);
}

/* ---- the order ------------------------------------------------------------------------------- */

static int longest(const void *pa, const void *pb, void *threads)
{
	const uint32_t *i = pa, *k = pb;
	const struct wait_thread *v = threads;
	uint64_t a = wait_thread_waited(&v[*i]), b = wait_thread_waited(&v[*k]);

	return a != b ? (a < b ? 1 : -1) : (*i > *k) - (*i < *k);
}

static int add_process(struct wait_view *v, struct u64map *by_pid, const struct wait_thread *x)
{
	bool fresh;
	uint64_t *at = u64map_at(by_pid, x->pid, &fresh);

	if (!at)
		return -1;
	if (fresh) {
		*at = v->n_processes++;
		v->process[*at] = (struct wait_process){ .pid = x->pid, .comm = x->comm };
	}
	v->process[*at].threads++;
	for (size_t s = 0; s < WAIT_STATES; s++)
		v->process[*at].time[s] += wait_thread_time(x, (enum wait_state)s);
	return 0;
}

int wait_view_order(struct wait_view *v, const struct wait *w, struct err *err)
{
	struct u64map by_pid = U64MAP_INIT;
	int ret = 0;

	v->w = w;
	v->order = malloc((w->n_threads + 1) * sizeof(*v->order));
	v->process = malloc((w->n_threads + 1) * sizeof(*v->process));
	if (!v->order || !v->process)
		return err_nomem(err);
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].wanted)
			v->order[v->n++] = i;
	if (v->n > 1)
		qsort_r(v->order, v->n, sizeof(*v->order), longest, w->thread);
	for (size_t i = 0; i < v->n && !ret; i++)
		ret = add_process(v, &by_pid, &w->thread[v->order[i]]);
	u64map_free(&by_pid);
	return ret ? err_nomem(err) : 0;
}

void wait_view_free(struct wait_view *v)
{
	free(v->order);
	free(v->process);
}
