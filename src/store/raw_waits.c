/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Context switches as they were recorded, and the spans that analyse/wait.h makes of them: the
 * states of each thread, and the wakers of its waits.
 */
#include "analyse/wait.h"
#include "store/raw_int.h"

/* ---- switches -------------------------------------------------------------------------------- */

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

const struct raw_kind raw_switches = { raw_records_begin, next_switch };

static bool is_leaving(const struct pd_record *r)
{
	return r->misc & PERF_RECORD_MISC_SWITCH_OUT;
}

/* The thread that had the CPU before, or got it: of whole CPUs. */
static void put_other(const struct pd_record *r, size_t at, struct table_cell *out)
{
	bool has = r->type == PERF_RECORD_SWITCH_CPU_WIDE && r->size >= 16;

	raw_put(out, has, has ? ld32(r->p + at) : 0);
}

#define SWITCH_GET(name, ...) \
	RAW_GET(name, const struct pd_record *x = &cursor_now(raw->walk[raw->run])->r; __VA_ARGS__)
SWITCH_GET(switch_leaves, out->n = is_leaving(x))
SWITCH_GET(switch_preempted,
	   raw_put(out, is_leaving(x), (x->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0))
SWITCH_GET(switch_other_pid, put_other(x, 8, out))
SWITCH_GET(switch_other_tid, put_other(x, 12, out))
#undef SWITCH_GET

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

const struct raw_kind raw_waits = { begin_waits, raw_array_next };

static const struct wait_span *wait_span_of(const struct raw *raw)
{
	return &raw_of(raw)->wait->span[raw->i - 1];
}

static const struct wait_thread *waiting_thread(const struct raw *raw)
{
	return &raw_of(raw)->wait->thread[wait_span_of(raw)->thread];
}

RAW_GET(wait_number, out->n = raw->i)
RAW_GET(wait_started, out->n = wait_span_of(raw)->from)
RAW_GET(wait_ended, out->n = wait_span_of(raw)->until)
RAW_GET(wait_ns, out->n = wait_span_of(raw)->until - wait_span_of(raw)->from)
RAW_GET(wait_pid, out->n = waiting_thread(raw)->pid)
RAW_GET(wait_tid, out->n = waiting_thread(raw)->tid)
RAW_GET(wait_comm, out->text = waiting_thread(raw)->comm)
RAW_GET(wait_cpu, raw_put(out, wait_span_of(raw)->cpu != WAIT_NO_CPU, wait_span_of(raw)->cpu))
RAW_GET(wait_state, out->text = wait_state_name(wait_reasons[wait_span_of(raw)->reason].state))
RAW_GET(wait_reason, out->text = wait_reasons[wait_span_of(raw)->reason].name)
RAW_GET(wait_object,
	const char *name = strtab_get(&raw_of(raw)->wait->object, wait_span_of(raw)->object);
	out->text = *name ? name : NULL)
RAW_GET(wait_guessed, out->n = wait_span_of(raw)->guessed)

static const char *dso_of_place(const struct raw_of *of, uint32_t place)
{
	uint32_t image = of->wait->place[place].image;

	return image == IMAGE_NONE ? NULL : image_name(spaces_images(of->r.spaces), image);
}

static const char *function_of_place(const struct raw_of *of, uint32_t place)
{
	const struct symbol *s = of->wait->place[place].symbol;

	return s ? s->name : NULL;
}

static uint32_t waiting_place(const struct raw *raw)
{
	return raw_of(raw)->wait->chain_place[wait_span_of(raw)->chain];
}
RAW_GET(wait_function, out->text = function_of_place(raw_of(raw), waiting_place(raw)))
RAW_GET(wait_dso, out->text = dso_of_place(raw_of(raw), waiting_place(raw)))

#define DEPTH 512u

/* Outermost first, as report --wait has it. */
static void put_stack(const struct raw_of *of, uint32_t chain, struct table_cell *out)
{
	const struct wait *w = of->wait;
	uint32_t frame[DEPTH], n = 0;

	out->none = !chain;
	for (uint32_t i = chain; i && n < DEPTH; i = w->chain.node[i].parent)
		frame[n++] = (uint32_t)w->chain.node[i].frame;
	while (n) {
		const char *name = function_of_place(of, frame[--n]);

		name = name ? name : dso_of_place(of, frame[n]);
		buf_printf(out->scratch, "%s%s", name ? name : "[unknown]", n ? ";" : "");
	}
	out->text = buf_str(out->scratch);
}
RAW_GET(wait_stack, put_stack(raw_of(raw), wait_span_of(raw)->chain, out))

/* ---- wakes: a wait that was ended; shared columns are those of waits ------------------------- */

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

/* Returns the time from the waking until a CPU ran it: the span behind, if there was any. */
static uint64_t delay_of(const struct wait *w, size_t i)
{
	const struct wait_span *s = &w->span[i], *next = s + 1;

	return i + 1 < w->n_spans && next->thread == s->thread && next->reason == WAIT_WOKEN &&
			       next->from == s->until
		       ? next->until - next->from
		       : 0;
}

const struct raw_kind raw_wakes = { begin_waits, next_wake };

static const struct wait_thread *wait_waker_of(const struct raw *raw)
{
	const struct wait *w = raw_of(raw)->wait;
	uint32_t waker = wait_span_of(raw)->waker;

	return waker < w->n_threads ? &w->thread[waker] : NULL;
}
RAW_GET(wake_delay, out->n = delay_of(raw_of(raw)->wait, raw->i - 1))
RAW_GET(waker, out->text = wait_waker_of(raw) ? wait_waker_of(raw)->comm : "[interrupt]")
RAW_GET(waker_pid, const struct wait_thread *x = wait_waker_of(raw);
	raw_put(out, x, x ? x->pid : 0))
RAW_GET(waker_tid, const struct wait_thread *x = wait_waker_of(raw);
	raw_put(out, x, x ? x->tid : 0))
RAW_GET(waker_function, out->text = function_of_place(raw_of(raw), wait_span_of(raw)->waker_place))
RAW_GET(waker_dso, out->text = dso_of_place(raw_of(raw), wait_span_of(raw)->waker_place))
