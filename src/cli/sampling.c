/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/sampling_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "collect/jitter.h"
#include "collect/synth.h"
#include "collect/tsc.h"

#define DEFAULT_FREQ 4000u

/* ---- counters --------------------------------------------------------------------------- */

static enum attr_chain chain_kind(const char *call_graph)
{
	if (!call_graph)
		return CHAIN_NONE;
	if (!strcmp(call_graph, "dwarf"))
		return CHAIN_DWARF;
	return strcmp(call_graph, "lbr") ? CHAIN_FP : CHAIN_LBR;
}

static int parse_events(struct sampling *r, struct err *err)
{
	const struct text_list *l = &r->cli->opt.event;

	r->events.more = event_more(&r->more, r->cli);
	if (r->cli->opt.account) {
		if (sampling_account_events(r, err))
			return -1;
		if (!r->events.ev.n)
			return 0; /* of another machine: its plan is shown */
	}
	for (size_t i = 0; i < l->n; i++)
		if (event_parse(&r->events, r->k.root, l->v[i], err))
			return -1;
	if (!r->events.ev.n && event_default(&r->events, r->k.root, r->why, err))
		return -1;
	r->result.no_cycles = r->why;
	r->result.hypervisor = r->k.machine.hypervisor;
	r->result.event = r->events.ev.v[0].name;
	for (size_t i = 1; i < r->events.ev.n && r->result.event; i++)
		r->result.event =
			arena_printf(r->arena, "%s, %s", r->result.event, r->events.ev.v[i].name);
	return r->result.event ? 0 : err_nomem(err);
}

static const struct {
	const char *name;
	clockid_t id;
} clocks[] = {
	{ "boot", CLOCK_BOOTTIME }, { "mono", CLOCK_MONOTONIC }, { "raw", CLOCK_MONOTONIC_RAW },
	{ "real", CLOCK_REALTIME }, { "tai", CLOCK_TAI },
};

static void wish_clock(struct attr_opts *w, const char *name)
{
	for (size_t i = 0; name && i < sizeof(clocks) / sizeof(*clocks); i++)
		if (!strcmp(clocks[i].name, name)) {
			w->use_clockid = true;
			w->clockid = clocks[i].id;
		}
}

static struct attr_opts attr_wishes(const struct sampling *r)
{
	const struct options *o = &r->cli->opt;
	struct attr_opts w = { .freq = o->freq ? o->freq : DEFAULT_FREQ,
			       .period = o->count,
			       .stack_size = (uint32_t)o->stack_size,
			       .chain = chain_kind(o->call_graph),
			       .branch = o->branch || o->branch_filter,
			       .branch_type = r->branch_type,
			       .data = o->data,
			       .phys_data = o->phys_data,
			       .weight = o->weight,
			       .intr_regs = o->intr_regs,
			       .user_regs = o->user_regs,
			       .inherit = !o->no_inherit && !r->k.who.whole_cpus,
			       .user_only = o->user_only,
			       .kernel_only = o->kernel_only,
			       .cpu = r->k.who.whole_cpus || o->cpu || o->account,
			       .times = o->account,
			       .several = r->events.ev.n > 1 || r->jitter > 0,
			       .enable_on_exec = r->cli->args.n && !o->delay && !o->control };

	wish_clock(&w, o->clockid);
	if (r->k.machine.max_sample_rate && w.freq > r->k.machine.max_sample_rate) {
		cli_note(r->cli, "the kernel allows %llu samples a second at most; asked for that",
			 (unsigned long long)r->k.machine.max_sample_rate);
		w.freq = r->k.machine.max_sample_rate;
	}
	return w;
}

static void note_given_up(struct sampling *r, unsigned bits)
{
	static const struct {
		unsigned bit;
		const char *text;
	} rows[] = {
		{ ATTR_WITHOUT_KERNEL, "the kernel may not be looked at: user space only "
				       "(perf_event_paranoid; `cyclade doctor`)" },
		{ ATTR_WITHOUT_WEIGHT_STRUCT, "this kernel gives one weight, not its parts" },
		{ ATTR_WITHOUT_INHERIT,
		  "this kernel cannot sample a group (:S) in threads and children: "
		  "only the first thread is (Linux 6.12 can; so can -a)" },
		{ ATTR_WITHOUT_TIMES,
		  "this kernel does not tell how long the counters of threads ran: "
		  "shares of time are not known (Linux 6.12 does; so does -a)" },
		{ ATTR_WITHOUT_PRECISE,
		  "an event is less precise here than was asked for (`cyclade "
		  "info` shows which)" },
	};

	r->result.user_only |= !!(bits & ATTR_WITHOUT_KERNEL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (bits & rows[i].bit)
			cli_note(r->cli, "%s", rows[i].text);
}

/* What to do about an attribute that the kernel does not take. */
static int fit_hint(const struct sampling *r, const struct perf_event_attr *a, struct err *err)
{
	const struct options *o = &r->cli->opt;

	if (err->code == ERR_PERM && r->k.who.whole_cpus)
		return err_hint(err, "whole CPUs need root or sysctl kernel.perf_event_paranoid=0; "
				     "your own programs need neither: -- ./prog");
	if (err->code == ERR_PERM && o->kernel_only)
		return err_hint(err,
				"the kernel needs root or sysctl kernel.perf_event_paranoid=1");
	if (a->branch_sample_type)
		return err_hint(err,
				"%s needs branch records (LBR, BRBE), which this machine or "
				"this event does not have%s",
				o->branch_filter ? "--branch-filter"
				: o->branch	 ? "-b"
						 : "-g=lbr",
				o->branch || o->branch_filter ? ""
							      : "; -g=fp and -g=dwarf do without");
	return err_hint(err, "`cyclade doctor` says what this machine allows, `cyclade list "
			     "events` what it has");
}

/* Pseudo-events of PERF_METRICS: the kernel lets neither slots nor its fields sample while they are
 * read together. */
static bool is_topdown(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_RAW && !(a->config & 0xff) && a->config >= 0x0400 &&
	       (a->config == 0x0400 || (a->config >= 0x8000 && a->config <= 0x8700));
}

/* The event that samples for the group of event i (:S): its leader, but behind slots the first that
 * is no part of the top-down metrics. -1: there is none. */
static int sampler_of(const struct sampling *r, size_t i)
{
	int leader = r->events.ev.v[i].group;

	if (!is_topdown(&r->events.ev.v[leader].attr))
		return leader;
	for (size_t k = (size_t)leader; k < r->events.ev.n; k++)
		if (r->events.ev.v[k].group == leader && !is_topdown(&r->events.ev.v[k].attr))
			return (int)k;
	return -1;
}

static int no_sampler(struct err *err)
{
	(void)err_set(err, ERR_USAGE, "slots and its metrics cannot sample");
	return err_hint(err, "add an event that can, behind slots: '{slots,cycles,topdown-retiring,"
			     "...}:S'");
}

/* A frequency is the kernel's to keep, and it varies periods by itself. */
static int check_jitter(const struct sampling *r, struct err *err)
{
	bool any = r->jitter <= 0 || !r->events.ev.n;

	for (size_t i = 0; i < r->events.ev.n; i++)
		any |= jitter_can(&r->ev[i].attr);
	if (any)
		return 0;
	(void)err_set(err, ERR_USAGE,
		      "--jitter varies fixed periods of %u or more, and there is none",
		      JITTER_LEAST);
	return err_hint(err, "-c 1000003 samples every so many events; with -F the kernel changes "
			     "the period all the time");
}

static int fit(struct sampling *r, size_t i, unsigned *bits, struct err *err)
{
	bool whole = r->k.who.whole_cpus;

	return attr_fit(&r->ev[i].attr, whole ? -1 : 0, whole ? (int)r->k.who.cpus.v[0] : -1,
			!r->cli->opt.kernel_only && !whole, bits, err);
}

/* Branch records only where there are any; without a counter, without it. */
static int fit_account(struct sampling *r, size_t i, const struct attr_opts *wishes, unsigned *bits,
		       struct err *err)
{
	const struct event *e = &r->events.ev.v[i];
	struct attr_opts mine = *wishes;
	struct err why = ERR_INIT;

	sampling_account_wish(r, i, &mine);
	attr_make(&r->ev[i].attr, e, &mine, sampling_tracks(r, i));
	if (!fit(r, i, bits, &why))
		return 0;
	if (mine.branch && !wishes->branch) {
		cli_note(r->cli, "no branch records here: %s: %s", e->name, why.what);
		err_clear(&why);
		attr_make(&r->ev[i].attr, e, wishes, sampling_tracks(r, i));
		if (!fit(r, i, bits, &why))
			return 0;
	}
	if (sampling_account_without(r, i, &why)) {
		*bits = 0;
		return 0;
	}
	*err = why;
	return -1;
}

static int make_attr(struct sampling *r, size_t i, const struct attr_opts *wishes, unsigned *bits,
		     struct err *err)
{
	const struct event *e = &r->events.ev.v[i];
	int sampler = sampler_of(r, i);

	if (sampler < 0 || (!e->sample_read && is_topdown(&e->attr)))
		return no_sampler(err);
	r->ev[i].name = e->name;
	r->ev[i].group = e->group;
	if (r->tells_alone && sampling_tracks(r, i)) {
		struct attr_opts own = *wishes;

		sampling_track_wish(r, &own);
		attr_make(&r->ev[i].attr, e, &own, true);
		return fit(r, i, bits, err);
	}
	if (r->of)
		return fit_account(r, i, wishes, bits, err);
	attr_make(&r->ev[i].attr, e, wishes, sampling_tracks(r, i));
	if (e->group != (int)i) /* members follow their leader */
		r->ev[i].attr.disabled = r->ev[i].attr.enable_on_exec = 0;
	if (sampler != (int)i && e->sample_read)
		r->ev[i].attr.sample_period = r->ev[i].attr.freq = 0;
	return fit(r, i, bits, err);
}

static int make_attrs(struct sampling *r, struct err *err)
{
	struct attr_opts wishes = attr_wishes(r);
	size_t n = r->events.ev.n;
	unsigned given_up = 0;

	r->ev = arena_alloc(r->arena, (n + 1) * sizeof(*r->ev));
	if (!r->ev)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		unsigned bits = 0;

		if (make_attr(r, i, &wishes, &bits, err)) {
			(void)err_prefix(err, "%s", r->events.ev.v[i].name);
			return fit_hint(r, &r->ev[i].attr, err);
		}
		given_up |= bits;
		event_cpus(&r->ev[i].cpus, &r->ev[i].n_cpus, &r->events.ev.v[i], r->arena);
	}
	note_given_up(r, given_up);
	if (r->of && sampling_account_groups(r, err))
		return -1;
	return check_jitter(r, err);
}

static uint64_t any_number(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_counters(struct sampling *r, struct err *err)
{
	struct recorder_setup s = { .event = r->ev,
				    .n_events = r->events.ev.n,
				    .cpus = r->per_task ? NULL : r->k.who.cpus.v,
				    .n_cpus = r->k.who.cpus.n,
				    .tasks = r->k.who.whole_cpus ? NULL : r->k.who.tasks.v,
				    .n_tasks = r->k.who.tasks.n,
				    .cgroup_fd = r->k.who.cgroup_fd,
				    .ring_bytes = r->ring_bytes,
				    .jitter = r->jitter,
				    .seed = r->jitter > 0 ? any_number() : 0 };

	if (recorder_open(&r->recorder, &s, err))
		return -1;
	r->sink.recorder = r->jitter > 0 ? r->recorder : NULL;
	return 0;
}

/* ---- the file --------------------------------------------------------------------------- */

/* How fast the time-stamp counter runs, for costs in nanoseconds; not where it was: no sample has
 * its time by this clock. */
static int put_tsc(struct sampling *r, struct err *err)
{
	struct time_conv {
		struct perf_event_header header;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t cap_zero, cap_short, reserved[6];
	} tc = { .header = { .type = PD_RECORD_TIME_CONV, .size = sizeof(tc) }, .shift = 31 };
	double hz = *r->k.root ? NAN : tsc_hz();

	if (!(hz >= 1e8 && hz < 1e11))
		return 0;
	tc.mult = (uint64_t)(1e9 * ldexp(1, 31) / hz + 0.5);
	return pdw_data(r->sink.writer, &tc, sizeof(tc), err);
}

static int open_file(struct sampling *r, struct err *err)
{
	size_t n = r->events.ev.n;
	struct pdw_event *ev = arena_alloc(r->arena, n * sizeof(*ev));
	struct pdw_setup setup = { .event = ev, .n_events = n, .zstd_level = r->zstd_level };

	if (!ev)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		ev[i].attr = attr_to_store(&r->ev[i].attr, &r->events.ev.v[i]);
		ev[i].name = r->ev[i].name;
		ev[i].ids = recorder_ids(r->recorder, i, &ev[i].n_ids);
	}
	return pdw_open(&r->sink.writer, r->path, &setup, err) || put_tsc(r, err) ? -1 : 0;
}

static int put_synthesised(void *ctx, const void *record, size_t len, struct err *err)
{
	return sink_data(ctx, record, len, err);
}

static int by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The processes of the watched tasks, each once. */
static int tell_processes(struct sampling *r, const struct synth *s, struct err *err)
{
	VEC(pid_t) pids = VEC_INIT;
	int rc = 0;

	vec_each (&r->k.who.tasks, const pid_t *, task) {
		pid_t pid = synth_tgid(*task);

		if (pid >= 0 && vec_push(&pids, pid)) {
			rc = err_nomem(err);
			goto out;
		}
	}
	vec_sort(&pids, by_pid);
	for (size_t i = 0; i < pids.n && !rc; i++)
		if (!i || pids.v[i] != pids.v[i - 1])
			rc = synth_process(s, pids.v[i], err);
out:
	vec_free(&pids);
	return rc;
}

static int tell_what_was_there(struct sampling *r, struct err *err)
{
	struct synth s = { .put = put_synthesised,
			   .ctx = &r->sink,
			   .trailer = attr_trailer(&r->ev[0].attr),
			   .data_maps = sampling_tracker(r)->mmap_data };

	if (sampling_features_early(r, err))
		return -1;
	if (!r->ev[0].attr.exclude_kernel && synth_kernel(&s, err))
		return -1;
	if (r->k.who.whole_cpus && synth_all(&s, err))
		return -1;
	if (!r->cli->args.n && tell_processes(r, &s, err))
		return -1;
	r->sink.forks = 0;
	return pdw_flush(r->sink.writer, err);
}

const struct event *sampling_event(const struct sampling *r, size_t i,
				   const struct perf_event_attr **attr)
{
	if (i >= r->events.ev.n)
		return NULL;
	*attr = &r->ev[i].attr;
	return &r->events.ev.v[i];
}

static bool on_pmu(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_SOFTWARE && a->type != PERF_TYPE_TRACEPOINT &&
	       a->type != PERF_TYPE_BREAKPOINT;
}

/* Beside others that take turns, a counter that does too would sample some of the time only. */
static int plan_beside(struct sampling *r, struct counter_setup **setup, struct err *err)
{
	const struct sampling_beside *b = r->beside;

	if (!b || b->plan(b->hooks.ctx, &r->k, r, setup, err))
		return b ? -1 : 0;
	for (size_t i = 0; *setup && i < r->events.ev.n; i++)
		if (on_pmu(&r->ev[i].attr) && r->ev[i].group == (int)i)
			r->ev[i].attr.pinned = 1;
	return 0;
}

static int open_program(struct sampling *r, struct counter_setup *setup, struct err *err)
{
	const struct counting_hooks *h = r->beside ? &r->beside->hooks : NULL;

	if (counting_warmup(&r->k, err) || counting_prepare(&r->k, setup, err))
		return -1;
	return setup && h->opened ? h->opened(h->ctx, &r->k, err) : 0;
}

static int open_wake(struct sampling *r, struct err *err)
{
	r->sink.wake = r->k.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r->sink.wake < 0 ? err_sys(err, "eventfd") : 0;
}

int sampling_open(struct sampling **out, struct cli *cli, const char *path,
		  const struct sampling_beside *beside, struct err *err)
{
	struct sampling *r = calloc(1, sizeof(*r));
	struct counter_setup *setup = NULL;

	*out = NULL;
	if (!r)
		return err_nomem(err);
	r->cli = cli;
	r->arena = &cli->arena;
	r->path = path;
	r->beside = beside;
	r->sink.wake = -1;
	r->result.no_cycles = r->result.event = "";
	r->result.has_program = cli->args.n;
	if (counting_open(&r->k, cli, "record", MACHINE_ALL, err) || sampling_check(r, err) ||
	    parse_events(r, err) || sampling_track(r, err) || make_attrs(r, err) ||
	    plan_beside(r, &setup, err))
		goto fail;
	/* an inherited counter may only share a ring on its CPU */
	r->per_task = cli->opt.no_inherit && !r->k.who.whole_cpus && !cli->opt.cpu;
	if (cli->opt.dry_run) {
		*out = r;
		return 0;
	}
	if (open_wake(r, err) || sink_open(&r->sink, &r->ev[0].attr, err) ||
	    open_program(r, setup, err) || open_counters(r, err) || open_file(r, err) ||
	    tell_what_was_there(r, err))
		goto fail;
	*out = r;
	return 0;
fail:
	sampling_close(r);
	return -1;
}

/* ---- the run ---------------------------------------------------------------------------- */

/* What has reached the file, as of the last round. */
static int tell_state(void *ctx, struct counting *k, struct err *err)
{
	const struct sampling *r = ctx;
	const struct sink_state *s = &r->sink.state;
	uint64_t samples = atomic_load(&s->samples), lost = atomic_load(&s->lost);
	char n[NUM_MAX], b[NUM_MAX], l[NUM_MAX], t[NUM_MAX];
	struct buf out = BUF_INIT;

	buf_printf(&out, "cyclade: after %s: %s sample%s in ", num_seconds(t, counting_seconds(k)),
		   num_exact(n, samples), samples == 1 ? "" : "s");
	text_put_safe(&out, r->path, false);
	buf_printf(&out, " (%s), %s lost\n", num_bytes(b, atomic_load(&s->bytes)),
		   num_exact(l, lost));
	/* asked for by hand: --quiet does not mean it */
	if (fd_write_all(STDERR_FILENO, buf_str(&out), out.len, "", NULL))
		out.failed = true; /* nobody is there to be told */
	buf_free(&out);
	if (k->c && r->beside->hooks.so_far)
		return r->beside->hooks.so_far(r->beside->hooks.ctx, k, err);
	return 0;
}

static int read_beside(void *ctx, struct counting *k, struct err *err)
{
	const struct sampling *r = ctx;

	return r->beside->hooks.read(r->beside->hooks.ctx, k, err);
}

static uint64_t tick_beside(void *ctx)
{
	const struct sampling *r = ctx;

	return r->beside->hooks.tick(r->beside->hooks.ctx);
}

static int switched(void *ctx, struct counting *k, bool on, struct err *err)
{
	struct sampling *r = ctx;

	if (k->c && r->beside->hooks.switched &&
	    r->beside->hooks.switched(r->beside->hooks.ctx, k, on, err))
		return -1;
	if (on)
		return sampling_switch(r, true, err);
	/* a task that has ended cannot be told; what matters is in the file */
	(void)!sampling_switch(r, false, NULL);
	return 0;
}

/* The disk is full: nothing more to gain; the program goes on. */
static int writing_failed(void *ctx, struct counting *k, struct err *err)
{
	const struct counting_hooks none = { .switched = switched, .ctx = ctx };
	uint64_t n;

	if (read(k->wake, &n, sizeof(n)) < 0)
		n = 0;
	return counting_stop(k, &none, err);
}

static void take_results(struct sampling *r)
{
	const struct counting_result *c = &r->k.result;
	uint64_t kernel_says;

	r->result.wall_s = c->wall_s;
	r->result.cpu_s = c->user_s + c->sys_s;
	r->result.user_s = c->user_s;
	r->result.samples = r->sink.samples;
	r->result.lost = r->sink.lost;
	if (recorder_lost(r->recorder, &kernel_says) && kernel_says > r->result.lost)
		r->result.lost = kernel_says;
	r->result.throttled = r->sink.throttled;
	r->result.ousted = recorder_ousted(r->recorder, &r->result.counters);
	r->result.tasks = r->sink.forks + 1;
	r->result.status = c->status;
	r->result.killed_by = c->killed_by;
}

int sampling_run(struct sampling *r, struct err *err)
{
	struct recorder_sink sink = { sink_data, sink_round, sink_failed, &r->sink };
	struct counting_hooks hooks = {
		.switched = switched, .woken = writing_failed, .so_far = tell_state, .ctx = r
	};
	int rc;

	if (r->k.c) {
		hooks.read = read_beside;
		hooks.tick = tick_beside;
	}
	if (recorder_start(r->recorder, &sink, err) || sampling_track_begin(r, err))
		return -1;
	rc = counting_watch(&r->k, &hooks, err);
	if (recorder_stop(r->recorder, err))
		rc = -1;
	take_results(r);
	if (!rc && (sampling_features(r, err) || pdw_commit(r->sink.writer, err)))
		rc = -1;
	r->result.bytes = pdw_bytes(r->sink.writer);
	if (rc && err->code != ERR_EXEC) {
		if (r->k.work.ended)
			cli_note(r->cli, "the program was not disturbed, it ended with %d",
				 r->k.work.status);
		if (r->sink.samples)
			return err_hint(
				err,
				"what was written until then can be read: cyclade report %.180s",
				r->path);
	}
	return rc;
}

const struct sampling_result *sampling_result(const struct sampling *r)
{
	return &r->result;
}

int sampling_after(struct sampling *r, struct err *err)
{
	return counting_after(&r->k, err);
}

void sampling_close(struct sampling *r)
{
	if (!r)
		return;
	recorder_close(r->recorder);
	pdw_close(r->sink.writer);
	sink_close(&r->sink);
	counting_end(&r->k);
	if (r->sink.wake >= 0)
		(void)close(r->sink.wake);
	counting_close(&r->k);
	for (size_t i = 0; i < r->n_accounts; i++)
		account_plan_free(&r->account[i]);
	event_list_free(&r->events);
	event_more_free(&r->more);
	free(r);
}
