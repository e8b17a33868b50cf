/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Context switches as they were recorded, and what analyse/wait.h makes of them: what each thread
 * did from one moment to the next, and who ended its waits.
 */
#include "analyse/wait.h"
#include "store/raw_int.h"

/* ---- switches -------------------------------------------------------------------------------- */

static int begin_switches(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, true, err);
}

static int next_switch(struct raw *c, struct err *err)
{
	(void)err;
	while (raw_walk_next(c)) {
		uint32_t type = cursor_now(c->walk[c->run])->r.type;

		if (type == PERF_RECORD_SWITCH || type == PERF_RECORD_SWITCH_CPU_WIDE)
			return 1;
	}
	return 0;
}

/* Who had the CPU before, or got it: of whole CPUs. */
static void other_side(const struct pd_record *r, size_t at, struct raw_cell *out)
{
	if (r->type == PERF_RECORD_SWITCH_CPU_WIDE && r->size >= 16)
		value_int(out, ld32(r->p + at));
}

static int switch_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	const struct pd_record *r = &cursor_now(c->walk[c->run])->r;
	const bool leaves = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct pd_sample_id id = { 0 };

	(void)err;
	pd_sample_id_get(raw_of(c)->r.rec, r, &id);
	switch (col) {
	case C_switches_run:
		value_int(out, c->run + 1);
		break;
	case C_switches_record:
		value_int(out, r->seq);
		break;
	case C_switches_time:
		if (id.has & PERF_SAMPLE_TIME)
			value_int(out, id.time);
		break;
	case C_switches_cpu:
		if (id.has & PERF_SAMPLE_CPU)
			value_int(out, id.cpu);
		break;
	case C_switches_pid:
		if (id.has & PERF_SAMPLE_TID)
			value_int(out, id.pid);
		break;
	case C_switches_tid:
		if (id.has & PERF_SAMPLE_TID)
			value_int(out, id.tid);
		break;
	case C_switches_leaves:
		value_int(out, leaves);
		break;
	case C_switches_preempted:
		if (leaves)
			value_int(out, (r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0);
		break;
	case C_switches_other_pid:
		other_side(r, 8, out);
		break;
	default:
		other_side(r, 12, out);
		break;
	}
	return 0;
}

const struct raw_kind raw_switches = { begin_switches, next_switch, switch_value };

/* ---- waits ----------------------------------------------------------------------------------- */

static int begin_waits(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);
	const struct wait_opts all = { .progress = NULL };

	if (!of->wait && wait_able(of->r.rec) &&
	    wait_build(&of->wait, of->r.rec, of->r.spaces, &all, err))
		return -1;
	c->i = 0;
	c->n = of->wait ? of->wait->n_spans : 0;
	return 0;
}

static void put_place(const struct raw_of *of, uint32_t place, bool dso, struct raw_cell *out)
{
	const struct wait_place *p = &of->wait->place[place];

	if (dso && p->image != IMAGE_NONE)
		value_text(out, image_name(spaces_images(of->r.spaces), p->image), true);
	else if (!dso && p->symbol)
		value_text(out, p->symbol->name, true);
}

#define DEPTH 512u

/* Outermost first, as report --wait has it. */
static void put_stack(struct raw *c, uint32_t chain, struct raw_cell *out)
{
	const struct wait *w = raw_of(c)->wait;
	uint32_t frame[DEPTH], n = 0;

	for (uint32_t i = chain; i && n < DEPTH; i = w->chain.node[i].parent)
		frame[n++] = (uint32_t)w->chain.node[i].frame;
	buf_reset(&c->text);
	while (n) {
		const struct wait_place *p = &w->place[frame[--n]];

		buf_puts(&c->text,
			 p->symbol ? p->symbol->name
			 : p->image != IMAGE_NONE
				 ? image_name(spaces_images(raw_of(c)->r.spaces), p->image)
				 : "[unknown]");
		if (n)
			buf_putc(&c->text, ';');
	}
	if (chain)
		value_text(out, buf_str(&c->text), false);
}

static int wait_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		      struct err *err)
{
	const struct raw_of *of = raw_of(c);
	const struct wait_span *s = &of->wait->span[c->i - 1];
	const struct wait_thread *t = &of->wait->thread[s->thread];

	(void)err;
	switch (col) {
	case C_waits_run:
		value_int(out, c->run + 1);
		break;
	case C_waits_wait:
		value_int(out, c->i);
		break;
	case C_waits_started:
		value_int(out, s->from);
		break;
	case C_waits_ended:
		value_int(out, s->until);
		break;
	case C_waits_ns:
		value_int(out, s->until - s->from);
		break;
	case C_waits_pid:
		value_int(out, t->pid);
		break;
	case C_waits_tid:
		value_int(out, t->tid);
		break;
	case C_waits_comm:
		value_text(out, t->comm, true);
		break;
	case C_waits_cpu:
		if (s->cpu != WAIT_NO_CPU)
			value_int(out, s->cpu);
		break;
	case C_waits_state:
		value_text(out, wait_state_name(wait_reasons[s->reason].state), true);
		break;
	case C_waits_reason:
		value_text(out, wait_reasons[s->reason].name, true);
		break;
	case C_waits_function:
		put_place(of, of->wait->chain_place[s->chain], false, out);
		break;
	case C_waits_guessed:
		value_int(out, s->guessed);
		break;
	case C_waits_dso:
		put_place(of, of->wait->chain_place[s->chain], true, out);
		break;
	default:
		put_stack(c, s->chain, out);
		break;
	}
	return 0;
}

const struct raw_kind raw_waits = { begin_waits, raw_array_next, wait_value };

/* ---- wakes ----------------------------------------------------------------------------------- */

static int next_wake(struct raw *c, struct err *err)
{
	(void)err;
	while (c->i++ < c->n) {
		const struct wait_span *s = &raw_of(c)->wait->span[c->i - 1];

		if (s->waker != WAIT_NOBODY && s->reason != WAIT_WOKEN)
			return 1;
	}
	return 0;
}

/* From the waking until a CPU ran it: the span behind, if there was any. */
static uint64_t delay_of(const struct wait *w, size_t i)
{
	const struct wait_span *s = &w->span[i], *next = s + 1;

	return i + 1 < w->n_spans && next->thread == s->thread && next->reason == WAIT_WOKEN &&
			       next->from == s->until
		       ? next->until - next->from
		       : 0;
}

static void put_waker(const struct wait *w, const struct wait_span *s, enum store_column_id col,
		      struct raw_cell *out)
{
	const struct wait_thread *t = s->waker < w->n_threads ? &w->thread[s->waker] : NULL;

	if (col == C_wakes_waker)
		value_text(out, t ? t->comm : "[interrupt]", true);
	else if (t)
		value_int(out, col == C_wakes_waker_pid ? t->pid : t->tid);
}

/* The wait that it ended: its columns have the values that they have there. */
static const enum store_column_id of_wait[] = {
	[C_wakes_run] = C_waits_run,	   [C_wakes_wait] = C_waits_wait,
	[C_wakes_time] = C_waits_ended,	   [C_wakes_pid] = C_waits_pid,
	[C_wakes_tid] = C_waits_tid,	   [C_wakes_comm] = C_waits_comm,
	[C_wakes_reason] = C_waits_reason, [C_wakes_ns] = C_waits_ns,
};

static int wake_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		      struct err *err)
{
	const struct raw_of *of = raw_of(c);
	const struct wait_span *s = &of->wait->span[c->i - 1];

	switch (col) {
	case C_wakes_delay_ns:
		value_int(out, delay_of(of->wait, c->i - 1));
		return 0;
	case C_wakes_function:
		put_place(of, s->waker_place, false, out);
		return 0;
	case C_wakes_dso:
		put_place(of, s->waker_place, true, out);
		return 0;
	case C_wakes_waker:
	case C_wakes_waker_pid:
	case C_wakes_waker_tid:
		put_waker(of->wait, s, col, out);
		return 0;
	default:
		return wait_value(c, of_wait[col], out, err);
	}
}

const struct raw_kind raw_wakes = { begin_waits, next_wake, wake_value };
