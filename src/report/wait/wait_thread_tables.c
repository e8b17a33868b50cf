/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads and processes as tables: how long they ran, were runnable, and waited.
 */
#include "report/wait/wait_int.h"

static bool thread_next(const struct table *t, struct table_row *r)
{
	const struct wait_view *v = wait_view_of(t);

	r->at[0] += r->p != NULL;
	if (!v || r->at[0] >= v->n)
		return false;
	r->p = &v->w->thread[v->order[r->at[0]]];
	return true;
}

/* c->which: a state; WAIT_STATES: its life. */
TABLE_CELL(thread_state,
	   out->e.v = wait_seconds_of(wait_thread_time(r->p, (enum wait_state)c->which)))

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

TABLE_GET(thread_object)
{
	const struct wait_thread *x = r->p;

	(void)c;
	out->text = x->object ? strtab_get(&wait_view_of(t)->w->object, x->object) : NULL;
	out->says = "";
}

TABLE_GET(thread_why)
{
	const struct wait *w = wait_view_of(t)->w;
	const struct wait_thread *x = r->p;

	out->text = !x->time[WAIT_NO_STACK] ? NULL
		    : !w->has_stacks	    ? "call chains of switches were not recorded"
					    : "some switches have no call chain";
}

#define OF(member) TABLE_FIELD(struct wait_thread, member)
static const struct table_column thread_columns[] = {
	WAIT_STATES_OF(thread_state),
	COLUMN("switches", "switches", T_COUNT, C_DROP, "times that it left a CPU", OF(switches)),
	COLUMN("preempted", "preempted", T_COUNT, C_DATA, "of these: it could have gone on",
	       OF(preempted)),
	COLUMN("moved", "moved", T_COUNT, C_DATA, "times that it came to another CPU", OF(moved)),
	COLUMN("reason", "mostly", T_TEXT, 0, "what it waited for longest", .get = thread_most),
	COLUMN("object", "object", T_TEXT, C_FLEX | C_SPARSE,
	       "that it waited for longest; null: not known", .get = thread_object),
	COLUMN("looks", "looks", T_COUNT, C_DATA | C_0_IS_NONE,
	       "how often it was seen waiting; reasons and their times are estimates from that. "
	       "Null: they are not",
	       OF(looks)),
	COLUMN("why", "why not", T_TEXT, C_DATA, "why that is not known", .get = thread_why),
	COLUMN("pid", "pid", T_ID, C_KEY | C_DROP, "its process", OF(pid)),
	COLUMN("tid", "tid", T_ID, C_KEY, "its number", OF(tid)),
	COLUMN("comm", "thread", T_TEXT, C_KEY | C_FLEX, "its name", OF(comm)),
};
const struct table_form wait_all_threads_form = {
	"threads",	 NULL, TABLE_MAIN, TABLE_COLUMNS(thread_columns), .next = thread_next,
	.rest = "thread"
};
const struct table_form wait_threads_form = {
	"threads",	     "who waited",    0, TABLE_COLUMNS(thread_columns),
	.next = thread_next, .rest = "thread"
};

/* at[1]: a reason. */
static bool thread_reason_next(const struct table *t, struct table_row *r)
{
	const struct wait_view *v = wait_view_of(t);

	for (r->at[1] += r->p != NULL; r->at[0] < v->n; r->at[0]++, r->at[1] = 0)
		for (; r->at[1] < WAIT_REASONS; r->at[1]++) {
			r->p = &v->w->thread[v->order[r->at[0]]];
			if (((const struct wait_thread *)r->p)->time[r->at[1]])
				return true;
		}
	return false;
}

static uint64_t thread_part_of(const struct table_row *r)
{
	return ((const struct wait_thread *)r->p)->time[r->at[1]];
}

TABLE_CELL(part_reason, out->text = wait_reasons[r->at[1]].name)
TABLE_CELL(part_state, out->text = wait_state_name(wait_reasons[r->at[1]].state))
TABLE_CELL(part_seconds, out->e.v = wait_seconds_of(thread_part_of(r)))
TABLE_CELL(part_share,
	   out->e.v = wait_share_of(thread_part_of(r), wait_thread_time(r->p, WAIT_STATES)))
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
const struct table_form wait_parts_form = { "thread_reasons", NULL, TABLE_DATA,
					    TABLE_COLUMNS(part_columns),
					    .next = thread_reason_next };

/* ---- processes ------------------------------------------------------------------------------- */

TABLE_GET(process_state)
{
	const struct wait_process *p = r->p;
	uint64_t sum = 0;

	for (size_t i = 0; i < WAIT_STATES; i++)
		sum += c->which == WAIT_STATES || c->which == i ? p->time[i] : 0;
	out->e.v = wait_seconds_of(sum);
}

#define OF(member) TABLE_FIELD(struct wait_process, member)
static const struct table_column process_columns[] = {
	WAIT_STATES_OF(process_state),
	COLUMN("threads", "threads", T_COUNT, 0, "it had", OF(threads)),
	COLUMN("pid", "pid", T_ID, C_KEY, "its number", OF(pid)),
	COLUMN("comm", "process", T_TEXT, C_FLEX, "its name", OF(comm)),
};
#undef OF
const struct table_form wait_processes_form = { "processes", NULL, TABLE_DATA,
						TABLE_COLUMNS(process_columns) };
