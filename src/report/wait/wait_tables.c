/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_document: its tables, their order, and its notes.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "report/page.h"
#include "report/recorded.h"
#include "report/wait/callers_lost.h"
#include "report/wait/wait_int.h"

#define ROWS	   10 /* of a table, for people, without --limit */
#define CUT_MUCH   0.01
#define STACK_MOST "65528" /* bytes that the kernel copies at most */

/* ---- the head -------------------------------------------------------------------------------- */

TABLE_CELL(head_length,
	   out->e.v = wait_seconds_of(wait_view_of(t)->w->until - wait_view_of(t)->w->from))
TABLE_CELL(head_state,
	   out->e.v = wait_seconds_of(wait_all_time(wait_view_of(t), (enum wait_state)c->which)))

#define OF(member) TABLE_FIELD(struct wait, member)
static const struct table_column head_columns[] = {
	COLUMN("length_seconds", "length", T_SECONDS, 0, "of the recording", .get = head_length),
	COLUMN("thread_count", "threads", T_COUNT, 0, "that lived then",
	       TABLE_CTX(struct wait_view, n)),
	WAIT_STATES_OF(head_state),
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
	&head_form,	   &recorded_form,	 &wait_all_threads_form, &wait_reasons_form,
	&wait_things_form, &wait_functions_form, &wait_wakers_form,	 &wait_stacks_form,
	&wait_parts_form,  &wait_processes_form, &wait_histogram_form,	 &recorded_losses_form
};
static const struct format faces[] = { { "folded", wait_folded, true, true },
				       { "svg", wait_svg, true, true } };
const struct document_form wait_document = { "wait", 2, forms, sizeof(forms) / sizeof(*forms),
					     faces,  2 };

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_wait_titles(struct document *d, const struct wait_view *v)
{
	static const char *const words[] = { "running", "waiting for a CPU", "blocked", "unknown" };
	uint64_t all = wait_all_time(v, WAIT_STATES);
	char a[NUM_MAX], b[NUM_MAX], n[NUM_MAX];

	document_title(d, INK_PLAIN, "%s of %s thread%s in %s",
		       num_seconds(a, wait_seconds_of(all)), num_exact(n, v->n),
		       v->n == 1 ? "" : "s",
		       num_seconds(b, wait_seconds_of(v->w->until - v->w->from)));
	for (size_t s = 0; s < WAIT_STATES; s++) {
		uint64_t time = wait_all_time(v, (enum wait_state)s);

		if (time)
			document_title(d, INK_PLAIN, "%8s %s (%s)",
				       num_percent(a, wait_share_of(time, all)), words[s],
				       num_seconds(b, wait_seconds_of(time)));
	}
}

static void add_wait_lost(struct document *d, const struct wait *w)
{
	uint64_t lost = 0, all = 0;

	for (size_t i = 0; i < w->n_chain_sums; i++) {
		const struct wait_at *sum = &w->chain_sum[i];
		uint32_t outermost = sum->chain;

		if (!outermost) /* it has no call chain; if none has, there are no nodes */
			continue;
		while (w->chain.node[outermost].parent)
			outermost = w->chain.node[outermost].parent;
		all += sum->t.time;
		if (place_is_lost(&w->place[w->chain.node[outermost].frame]))
			lost += sum->t.time;
	}
	callers_lost_put(d, (double)lost, (double)all);
}

/* Chains that end where the copied piece of the stack does. */
static void add_cut(struct document *d, const struct wait_view *v)
{
	const struct pd_info *info = v->source.info;
	const struct wait *w = v->w;
	char a[NUM_MAX], n[NUM_MAX];
	struct buf again = BUF_INIT;
	bool largest = false;

	if (!w->has_stacks || (double)w->cut_chains <= CUT_MUCH * (double)w->unwound_chains)
		return;
	for (size_t i = 0; i < info->n_cmdline; i++)
		largest |= strstr(info->cmdline[i], STACK_MOST) != NULL;
	if (!largest)
		(void)again_put(&again, info, "--wait -g --stack-size " STACK_MOST, false);
	document_fact(d, "callers cut", true,
		      "%s of %s call chains end where the copied piece of the stack ends%s%s",
		      num_exact(a, w->cut_chains), num_exact(n, w->unwound_chains),
		      again.len ? "; with larger copies: " : "", buf_str(&again));
	buf_free(&again);
}

static void add_wait_facts(struct document *d, const struct wait_view *v)
{
	const struct wait *w = v->w;
	char a[NUM_MAX], n[NUM_MAX];
	struct buf again = BUF_INIT, unwound = BUF_INIT;

	(void)again_put(&again, v->source.info, "--wait", false);
	if (!w->has_stacks && w->n_things)
		document_fact(d, "reasons", false,
			      "estimated: each thread was looked at ten times a second. The "
			      "reason of a single wait is not known: call chains of switches%s "
			      "were not recorded: %s",
			      w->has_wakings ? "" : ", and wake-ups,", buf_str(&again));
	else if (!w->has_stacks)
		document_fact(d, "reasons", true,
			      "not known: call chains of switches%s were not recorded: %s",
			      w->has_wakings ? "" : ", and wake-ups,", buf_str(&again));
	if (w->has_stacks && !w->unwound) {
		(void)again_put(&unwound, v->source.info, "--wait -g", false);
		document_fact(
			d, "lines", false,
			"frame pointers lose the caller of the C library; unwinding finds it: %s",
			buf_str(&unwound));
	}
	add_cut(d, v);
	if (w->outs_only)
		document_fact(
			d, "switches", true,
			"only those off a CPU were recorded, so that most time is unknown: %s",
			buf_str(&again));
	if (w->guessed)
		document_fact(
			d, "call chains", false,
			"%s of %s waits have one of their own; the others have that of a wait of "
			"the same thread, about as long and ended by the same thread: reasons, "
			"functions and stacks are estimates (record --wait-chains=all has all)",
			num_percent(a,
				    wait_share_of(w->waits - w->guessed - w->chainless, w->waits)),
			num_exact(n, w->waits));
	add_wait_lost(d, w);
	wait_put_doubts(d, v);
	buf_free(&again);
	buf_free(&unwound);
}

void wait_put_doubts(struct document *d, const struct wait_view *v)
{
	const struct wait *w = v->w;
	char a[NUM_MAX], b[NUM_MAX];
	struct buf again = BUF_INIT;

	(void)again_put(&again, v->source.info, "--wait", false);
	if (!w->has_wakings)
		document_fact(
			d, "wake-ups", false,
			"not recorded: blocked time includes the wait for a CPU behind it%s%s",
			w->has_stacks ? ": " : "", w->has_stacks ? buf_str(&again) : "");
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
			      num_percent(b, wait_share_of(wait_all_time(v, WAIT_UNKNOWN),
							   wait_all_time(v, WAIT_STATES))));
	if (w->lost_windows > w->pauses)
		document_fact(d, "lost records", true, "%s gaps: unknown time, %s of the threads'",
			      num_exact(a, w->lost_windows),
			      num_percent(b, wait_share_of(wait_all_time(v, WAIT_UNKNOWN),
							   wait_all_time(v, WAIT_STATES))));
	if (w->assumed)
		document_fact(
			d, "assumed", true,
			"%s time%s no record says when a thread got its CPU (the kernel traced no "
			"switch from the idle task): since the CPU's last switch, or its waking",
			num_exact(a, w->assumed), w->assumed == 1 ? "" : "s");
	if (w->contradicted && !w->outs_only)
		document_fact(
			d, "contradicted", true,
			"%s time%s a thread began what it already did, or another one had its "
			"CPU: that time is unknown",
			num_exact(a, w->contradicted), w->contradicted == 1 ? "" : "s");
	buf_free(&again);
}

static void add_wait_table(struct document *d, const struct wait_view *v,
			   const struct table_form *f, const void *array, size_t stride, size_t n)
{
	const struct table t = { .form = f,
				 .ctx = v,
				 .array = array,
				 .stride = stride,
				 .n = n,
				 .data_only = v && !v->w->has_stacks &&
					      (f == &wait_functions_form || f == &wait_stacks_form),
				 .people = f == &wait_reasons_form ? 0
					   : v && v->limit	   ? v->limit
								   : ROWS };

	document_table(d, &t);
}

void wait_put(struct document *d, const struct wait_view *v)
{
	const struct wait *w = v->w;

	add_wait_table(d, v, &head_form, w, sizeof(*w), 1);
	recorded_head(d, &v->source);
	add_wait_titles(d, v);
	add_wait_table(d, v, &wait_all_threads_form, NULL, 0, 0);
	add_wait_table(d, v, &wait_reasons_form, NULL, 0, 0);
	add_wait_table(d, v, &wait_things_form, w->thing, sizeof(*w->thing), w->n_things);
	add_wait_table(d, v, &wait_functions_form, w->place_sum, sizeof(*w->place_sum),
		       w->n_place_sums);
	add_wait_table(d, v, &wait_wakers_form, w->waker, sizeof(*w->waker), w->n_wakers);
	add_wait_table(d, v, &wait_stacks_form, w->chain_sum, sizeof(*w->chain_sum),
		       w->n_chain_sums);
	add_wait_table(d, v, &wait_parts_form, NULL, 0, 0);
	add_wait_table(d, v, &wait_processes_form, v->process, sizeof(*v->process), v->n_processes);
	add_wait_table(d, v, &wait_histogram_form, NULL, 0, 0);
	add_wait_facts(d, v);
	recorded_tail(d, &v->source);
}

void wait_put_threads(struct document *d, const struct wait_view *v)
{
	add_wait_table(d, v, &wait_threads_form, NULL, 0, 0);
}

/* ---- the order ------------------------------------------------------------------------------- */

static int wait_longest(const void *pa, const void *pb, void *threads)
{
	const uint32_t *i = pa, *k = pb;
	const struct wait_thread *v = threads;
	uint64_t a = wait_thread_waited(&v[*i]), b = wait_thread_waited(&v[*k]);

	return a != b ? (a < b ? 1 : -1) : (*i > *k) - (*i < *k);
}

static void add_process(struct wait_view *v, struct u64map *by_pid, const struct wait_thread *x)
{
	bool fresh;
	uint64_t *at = u64map_xat(by_pid, x->pid, &fresh);

	if (fresh) {
		*at = v->n_processes++;
		v->process[*at] = (struct wait_process){ .pid = x->pid, .comm = x->comm };
	}
	v->process[*at].threads++;
	for (size_t s = 0; s < WAIT_STATES; s++)
		v->process[*at].time[s] += wait_thread_time(x, (enum wait_state)s);
}

void wait_view_order(struct wait_view *v, const struct wait *w)
{
	struct u64map by_pid = U64MAP_INIT;

	v->w = w;
	v->order = xmalloc((w->n_threads + 1) * sizeof(*v->order));
	v->process = xmalloc((w->n_threads + 1) * sizeof(*v->process));
	for (uint32_t i = 0; i < w->n_threads; i++)
		if (w->thread[i].wanted)
			v->order[v->n++] = i;
	if (v->n > 1)
		qsort_r(v->order, v->n, sizeof(*v->order), wait_longest, w->thread);
	for (size_t i = 0; i < v->n; i++)
		add_process(v, &by_pid, &w->thread[v->order[i]]);
	u64map_free(&by_pid);
}

void wait_view_free(struct wait_view *v)
{
	free(v->order);
	free(v->process);
}
