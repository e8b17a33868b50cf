/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_scan - records into facts: when a thread left a CPU, got one, was woken, began and ended.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/wait/wait_int.h"
#include "base/xalloc.h"
#include "perfdata/trace.h"

#define TRACE_NEEDS 60u /* bytes of sched_switch that are read; wakings need fewer */
enum {
	TRACE_FLAGS = 2, /* flags of the CPU's state */
	TRACE_PID = 24,	 /* the thread that left, or was woken */
	TRACE_STATE = 32,
	TRACE_NEXT = 56,
	/* sched_stat_runtime: since Linux 6.16 the name lies behind the numbers */
	STAT_PID = 24,
	STAT_RUNTIME = 32,
	STAT_PID_NAME_LAST = 12,
	STAT_RUNTIME_NAME_LAST = 16,
};
#define IN_INTERRUPT 0x18u /* hard or soft */
#define DEAD_BITS    0xb0u /* exited: EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
#define STATE_BITS   0xffu /* above: could run, and was preempted */

enum event_kind {
	EVENT_OTHER,
	EVENT_STACK,
	EVENT_SOME,
	EVENT_RARE,
	EVENT_SWITCH,
	EVENT_WAKE,
	EVENT_RUNTIME,
	EVENT_MIGRATE,
	EVENT_STARTED
};

struct wait_scan {
	struct wait_work *k;
	uint8_t *kind;		 /* by event */
	uint64_t first_argument; /* its register; 0: of a machine that we do not know */
	uint64_t paused;	 /* since then switches are not recorded; 0: they are */
	VEC(uint64_t) last;	 /* by CPU + 1: the time of its last record; 0: CPU not recorded */
};

static enum event_kind fact_kind_of(const struct pd_event *e, bool has_waking)
{
	if (e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES)
		return e->attr.freq		   ? EVENT_RARE
		       : e->attr.sample_period > 1 ? EVENT_SOME
						   : EVENT_STACK;
	if (e->attr.type != PERF_TYPE_TRACEPOINT || !(e->attr.sample_type & PERF_SAMPLE_RAW))
		return EVENT_OTHER;
	if (!strcmp(e->name, "sched:sched_switch"))
		return EVENT_SWITCH;
	if (!strcmp(e->name, has_waking ? "sched:sched_waking" : "sched:sched_wakeup"))
		return EVENT_WAKE;
	if (!strcmp(e->name, "sched:sched_stat_runtime"))
		return EVENT_RUNTIME;
	if (!strcmp(e->name, "sched:sched_migrate_task"))
		return EVENT_MIGRATE;
	if (!strcmp(e->name, "sched:sched_wakeup_new"))
		return EVENT_STARTED;
	return EVENT_OTHER;
}

static bool fact_has_event(const struct pd *rec, const char *name)
{
	size_t n;
	const struct pd_event *e = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(e[i].name, name) && e[i].attr.sample_type & PERF_SAMPLE_RAW &&
		    e[i].samples)
			return true;
	return false;
}

bool wait_able(const struct pd *rec)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(rec, &n);

	if (!pd_has_time(rec))
		return false;
	for (size_t i = 0; i < n; i++)
		if (t[i].type == PERF_RECORD_SWITCH || t[i].type == PERF_RECORD_SWITCH_CPU_WIDE)
			return true;
	return fact_has_event(rec, "sched:sched_switch");
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void put_fact(struct wait_scan *c, const struct fact *f)
{
	vec_xpush(&c->k->fact, *f);
}

/* A thread's own record: it is one of those that are recorded. */
static void own_thread(struct wait_scan *c, const struct fact *f)
{
	bool fresh;
	uint64_t *first = u64map_xat(&c->k->own, f->tid, &fresh);

	if (!fresh && *first <= f->time) {
		if (!(f->kind == FACT_SEEN))
			put_fact(c, f);
		return;
	}
	*first = f->time;
	put_fact(c, f);
}

static void pass_time(struct wait_scan *c, uint64_t time)
{
	struct wait *w = c->k->out;

	if (time < w->from)
		w->from = time;
	if (time > w->until)
		w->until = time;
}

/* Remembers when its ring had this record; returns when it had the one before. */
static uint64_t ring_time(struct wait_scan *c, uint32_t cpu, uint64_t time)
{
	size_t at = cpu == UINT32_MAX || cpu > 1u << 20 ? 0 : (size_t)cpu + 1;
	uint64_t before;

	while (c->last.n <= at)
		vec_xpush(&c->last, 0);
	before = at ? c->last.v[at] : 0; /* of which ring is not known */
	c->last.v[at] = time;
	return before;
}

/* A tracepoint's fields stay in the byte order of the machine that wrote them. */
static uint32_t raw32(const struct wait_scan *c, const uint8_t *p)
{
	return pd_info(c->k->rec)->foreign_order ? __builtin_bswap32(ld32(p)) : ld32(p);
}

static uint64_t raw64(const struct wait_scan *c, const uint8_t *p)
{
	return pd_info(c->k->rec)->foreign_order ? __builtin_bswap64(ld64(p)) : ld64(p);
}

static void take_switch(struct wait_scan *c, const struct pass_sample *s, struct fact *f)
{
	struct pd_sample x;
	struct fact next = { .time = f->time, .cpu = f->cpu, .kind = FACT_TRACE_IN };

	if (pd_sample_parse(c->k->rec, s->r, &x) || x.raw_size < TRACE_NEEDS)
		return;
	next.tid = raw32(c, x.raw + TRACE_NEXT);
	c->k->out->has_idle |= !raw32(c, x.raw + TRACE_PID);
	f->kind = FACT_TRACE_OUT;
	if (f->tid == UINT32_MAX) /* its numbers are gone, it has exited */
		f->tid = raw32(c, x.raw + TRACE_PID);
	f->preempted = !(raw64(c, x.raw + TRACE_STATE) & STATE_BITS);
	f->alive = !(raw64(c, x.raw + TRACE_STATE) & DEAD_BITS);
	f->idled = !next.tid;
	if (f->pid == UINT32_MAX)
		f->pid = 0;
	if (f->tid)
		own_thread(c, f);
	if (next.tid)
		put_fact(c, &next);
}

static void take_wake(struct wait_scan *c, const struct pass_sample *s, struct fact *f)
{
	struct pd_sample x;

	if (pd_sample_parse(c->k->rec, s->r, &x) || x.raw_size < TRACE_PID + 4)
		return;
	f->kind = FACT_WAKE;
	f->waker = f->tid;
	if (x.raw[TRACE_FLAGS] & IN_INTERRUPT) /* not the thread that was interrupted */
		f->waker = f->chain = 0;
	f->pid = 0;
	f->tid = raw32(c, x.raw + TRACE_PID);
	if (f->tid)
		put_fact(c, f);
}

#define X86_DI	 (1ULL << 5) /* PERF_REG_X86_DI, _ARM64_X0: the first argument of a call */
#define ARM64_X0 1ULL

static void take_argument(struct wait_scan *c, const struct pass_sample *s, struct fact *f)
{
	struct wait_work *k = c->k;
	struct pd_sample x;
	uint64_t arg, *at;
	bool fresh;

	if (!c->first_argument || !(s->ev->attr.sample_type & PERF_SAMPLE_REGS_USER) ||
	    pd_sample_parse(k->rec, s->r, &x) || !pd_user_register(&x, c->first_argument, &arg))
		return;
	at = u64map_xat(&k->arg_at, arg, &fresh);
	if (fresh) {
		*at = k->arg.n;
		vec_xpush(&k->arg, arg);
	}
	f->arg = (uint32_t)*at + 1;
}

/* A number by the format that the recording keeps; false: it has none, or the record ends early. */
static bool field_of(const struct wait_scan *c, const struct pass_sample *s,
		     const struct pd_sample *x, const char *name, uint64_t *out)
{
	size_t n;
	const struct pd_event *ev = pd_events(c->k->rec, &n);
	const struct trace_format *format = pd_trace_of(c->k->rec, &ev[s->event]);
	const struct trace_field *f = format ? trace_field_of(format, name) : NULL;
	struct trace_value v;

	if (!f || f->kind >= TRACE_TEXT ||
	    !trace_get(f, x->raw, x->raw_size, pd_trace_swap(c->k->rec), &v))
		return false;
	*out = v.n;
	return true;
}

/* The fields of sched_stat_runtime: by its format, else where the thread's own number is. */
static bool runtime_of(const struct wait_scan *c, const struct pass_sample *s, uint32_t tid,
		       uint32_t *whose, uint64_t *ran)
{
	struct pd_sample x;
	uint64_t pid;

	if (pd_sample_parse(c->k->rec, s->r, &x))
		return false;
	if (field_of(c, s, &x, "pid", &pid) && field_of(c, s, &x, "runtime", ran)) {
		*whose = (uint32_t)pid;
		return true;
	}
	*whose = tid;
	if (x.raw_size >= STAT_RUNTIME_NAME_LAST + 8 && raw32(c, x.raw + STAT_PID_NAME_LAST) == tid)
		*ran = raw64(c, x.raw + STAT_RUNTIME_NAME_LAST);
	else if (x.raw_size >= STAT_RUNTIME + 8 && raw32(c, x.raw + STAT_PID) == tid)
		*ran = raw64(c, x.raw + STAT_RUNTIME);
	else
		return false;
	return true;
}

/* The kernel brought a thread's runtime up to date, which it does at ticks and at switches; that of
 * another CPU's thread, when it wakes one there. */
static void take_runtime(struct wait_scan *c, const struct pass_sample *s, struct fact *f)
{
	struct fact other = *f;
	uint32_t whose;
	uint64_t ran;

	if (!runtime_of(c, s, f->tid, &whose, &ran)) {
		if (f->tid && f->tid != UINT32_MAX)
			own_thread(c, f);
		return;
	}
	c->k->out->has_accounted = true;
	ran = ran < UINT32_MAX ? ran : UINT32_MAX;
	if (whose == f->tid) {
		f->kind = FACT_RUNTIME;
		f->ran = (uint32_t)ran;
	}
	if (f->tid && f->tid != UINT32_MAX)
		own_thread(c, f);
	other.kind = FACT_ACCOUNTED;
	other.tid = whose;
	other.pid = 0;
	other.ran = (uint32_t)ran;
	if (whose)
		put_fact(c, &other);
}

/* Of the thread that the record names. */
static void take_other(struct wait_scan *c, const struct pass_sample *s, struct fact *f,
		       enum fact_kind kind)
{
	struct pd_sample x;
	uint64_t pid;

	if (pd_sample_parse(c->k->rec, s->r, &x) || !field_of(c, s, &x, "pid", &pid))
		return;
	f->kind = (uint8_t)kind;
	f->pid = 0;
	f->tid = (uint32_t)pid;
	c->k->out->has_migrations |= kind == FACT_MIGRATED;
	if (f->tid)
		put_fact(c, f);
}

/* Only if cgroups are asked for. */
static void note_cgroup(struct wait_scan *c, const struct pass_sample *s)
{
	uint64_t id = c->k->opts.select.n_cgroups ? pd_sample_cgroup(s->ev, s->r) : 0, *at;

	if (!id)
		return;
	at = u64map_xat(&c->k->cgroup, task_tid(s->task), NULL);
	*at = id;
}

static int on_fact_sample(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct wait_scan *c = ctx;
	uint32_t tid = task_tid(s->task);
	struct fact f = { .time = s->time, .tid = tid, .pid = task_pid(s->task), .cpu = s->cpu };
	struct fact seen = f;

	/* a thread that has exited has no number, but switches and runs all the same */
	if (!s->time || (tid == UINT32_MAX && c->kind[s->event] != EVENT_SWITCH &&
			 c->kind[s->event] != EVENT_RUNTIME))
		return 0;
	pass_time(c, s->time);
	if (s->time < c->k->first_sample)
		c->k->first_sample = s->time;
	c->k->hidden |= !tid && space_kind_of_misc(s->r->misc) == SPACE_USER;
	(void)ring_time(c, s->cpu, s->time);
	note_cgroup(c, s);
	if (c->kind[s->event] != EVENT_OTHER && c->kind[s->event] != EVENT_RUNTIME &&
	    c->kind[s->event] != EVENT_MIGRATE &&
	    chains_of(&c->k->chains, c->k->rec, s, &f.chain, err))
		return -1;
	c->k->out->has_stacks |= f.chain && c->kind[s->event] != EVENT_WAKE;
	switch ((enum event_kind)c->kind[s->event]) {
	case EVENT_SWITCH:
		take_switch(c, s, &f);
		return 0;
	case EVENT_STACK:
	case EVENT_SOME:
	case EVENT_RARE:
		f.kind = (uint8_t)(FACT_STACK + c->kind[s->event] - EVENT_STACK);
		take_argument(c, s, &f);
		if (tid)
			own_thread(c, &f);
		return 0;
	case EVENT_WAKE:
		if (tid)
			own_thread(c, &seen);
		take_wake(c, s, &f);
		return 0;
	case EVENT_RUNTIME:
		take_runtime(c, s, &f);
		return 0;
	case EVENT_MIGRATE:
	case EVENT_STARTED:
		if (tid)
			own_thread(c, &seen);
		take_other(c, s, &f,
			   c->kind[s->event] == EVENT_MIGRATE ? FACT_MIGRATED : FACT_STARTED);
		return 0;
	case EVENT_OTHER:
		break;
	}
	if (tid)
		own_thread(c, &seen);
	return 0;
}

static void on_lost(struct wait_scan *c, uint64_t before, uint64_t time)
{
	const struct lost_window x = { before, time };

	if (time > before)
		vec_xpush(&c->k->lost, x);
}

/* `run` recorded no switches for a while, as there were too many. */
static void on_pause(struct wait_scan *c, const struct pd_record *r, uint64_t time)
{
	size_t n;
	const struct pd_event *ev = pd_events(c->k->rec, &n);
	int i = pd_id_event(c->k->rec, ld64(r->p + 16));
	uint64_t from = c->paused;

	if (i < 0 || !pd_event_watches(&ev[i]))
		return;
	pass_time(c, time);
	if (r->type == PERF_RECORD_THROTTLE) {
		c->k->out->pauses++;
		c->paused = from ? from : time;
		return;
	}
	c->paused = 0;
	if (from)
		on_lost(c, from, time);
}

/* The other task of a record of whole CPUs: its pid and tid. */
static bool gives_to_idle(const struct pd_record *r)
{
	return r->size >= 16 && !ld32(r->p + 8) && !ld32(r->p + 12);
}

static int on_fact_other(void *ctx, unsigned worker, const struct pd_record *r, struct err *err)
{
	struct wait_scan *c = ctx;
	struct pd_sample_id id;
	struct pd_task task;
	struct fact f;
	uint64_t before;

	(void)worker, (void)err;
	pd_sample_id_get(c->k->rec, r, &id);
	if (!(id.has & PERF_SAMPLE_TIME) || !id.time)
		return 0;
	f = (struct fact){ .time = id.time,
			   .tid = id.tid,
			   .pid = id.pid,
			   .cpu = id.has & PERF_SAMPLE_CPU ? id.cpu : UINT32_MAX };
	before = ring_time(c, f.cpu, f.time);
	pass_time(c, f.time);
	switch (r->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		on_lost(c, before, f.time);
		return 0;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		on_pause(c, r, f.time);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		c->k->has_switch_records = true;
		f.kind = r->misc & PERF_RECORD_MISC_SWITCH_OUT ? FACT_OUT : FACT_IN;
		f.preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		f.idled = r->type == PERF_RECORD_SWITCH_CPU_WIDE && gives_to_idle(r);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		if (pd_task_get(r, &task))
			return 0;
		f.kind = r->type == PERF_RECORD_FORK ? FACT_FORK : FACT_EXIT;
		f.tid = task.tid;
		f.pid = task.pid;
		f.waker = task.ptid;
		break;
	case PERF_RECORD_COMM:
		f.kind = FACT_SEEN;
		break;
	default:
		return 0;
	}
	if (!f.tid || f.tid == UINT32_MAX)
		return 0;
	own_thread(c, &f);
	return 0;
}

/* ---- windows of losses ----------------------------------------------------------------------- */

static int by_from(const void *pa, const void *pb)
{
	const struct lost_window *a = pa, *b = pb;

	return (a->from > b->from) - (a->from < b->from);
}

static void join_windows(struct wait_work *k)
{
	size_t n = 0;

	vec_sort(&k->lost, by_from);
	for (size_t i = 0; i < k->lost.n; i++) {
		struct lost_window *x = &k->lost.v[i], *last = n ? &k->lost.v[n - 1] : NULL;

		if (last && x->from <= last->until)
			last->until = x->until > last->until ? x->until : last->until;
		else
			k->lost.v[n++] = *x;
	}
	k->lost.n = n;
	k->out->lost_windows = n;
}

void wait_scan_begin(struct wait_work *k, struct pass *pass)
{
	static const struct pass_visitor v = { .wants = PASS_THREAD | PASS_PLACE | PASS_ALL |
							PASS_ORDER,
					       .sample = on_fact_sample,
					       .other = on_fact_other };
	bool has_waking = fact_has_event(k->rec, "sched:sched_waking");
	struct wait_scan *c = xcalloc(1, sizeof(*c));
	size_t n;
	const struct pd_event *ev = pd_events(k->rec, &n);
	const char *arch = pd_info(k->rec)->arch;

	k->scan = c;
	c->k = k;
	k->out->unwound = pd_info(k->rec)->waited_flags & PD_WAITED_UNWOUND;
	c->first_argument = !arch		       ? 0
			    : !strcmp(arch, "x86_64")  ? X86_DI
			    : !strcmp(arch, "aarch64") ? ARM64_X0
						       : 0;
	k->out->from = k->first_sample = UINT64_MAX;
	c->kind = xcalloc(n + 1, sizeof(*c->kind));
	for (size_t i = 0; i < n; i++) {
		c->kind[i] = (uint8_t)fact_kind_of(&ev[i], has_waking);
		k->out->has_wakings |= c->kind[i] == EVENT_WAKE;
		k->out->unwound |=
			c->kind[i] == EVENT_STACK && sample_frames_how(&ev[i], EM_NONE).dwarf;
		k->thinned |=
			(c->kind[i] == EVENT_SOME || c->kind[i] == EVENT_RARE) && ev[i].samples;
	}
	pass_add(pass, &v, c);
}

void wait_scan_end(struct wait_work *k)
{
	struct wait_scan *c = k->scan;

	if (c->paused && k->out->until > c->paused)
		on_lost(c, c->paused, k->out->until);
	join_windows(k);
	/* tracepoints may begin later than the records of forks; switch records do not */
	if (!k->has_switch_records && k->first_sample != UINT64_MAX)
		k->out->from = k->begins = k->first_sample;
}

void wait_scan_free(struct wait_work *k)
{
	if (!k->scan)
		return;
	free(k->scan->kind);
	vec_free(&k->scan->last);
	free(k->scan);
	k->scan = NULL;
}
