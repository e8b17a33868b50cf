/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/trace_filter.h"
#include "measure/sampling/sampling_int.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/file_out.h"
#include "base/num.h"
#include "base/text.h"
#include "collect/synth.h"
#include "collect/tsc.h"

/* ---- counters --------------------------------------------------------------------------- */

static int parse_asked(struct sampling *r, struct err *err)
{
	const struct text_list *l = &r->opts.event;
	size_t *first = arena_alloc(r->arena, (l->n + 1) * sizeof(*first));

	if (!first)
		return err_nomem(err);
	for (size_t i = 0; i < l->n; i++) {
		first[i] = r->events.ev.n;
		if (l->n == 1 ? event_cycles_or_time(&r->events, r->k.root, l->v[i], r->why, err)
			      : event_parse(&r->events, r->k.root, l->v[i], err))
			return -1;
	}
	first[l->n] = r->events.ev.n;
	return trace_filters_set(&r->events, first, r->k.root, &r->opts, err);
}

static int parse_events(struct sampling *r, struct err *err)
{
	r->events.more = event_more(&r->more, &r->opts.model);
	if (r->opts.account) {
		if (sampling_account_events(r, err))
			return -1;
		if (!r->events.ev.n)
			return 0; /* of another machine: its plan is shown */
	}
	if (parse_asked(r, err))
		return -1;
	if ((r->opts.ibs || r->opts.mem) && sampling_memory_events(r, err))
		return -1;
	if (sampling_spe_check(r, err))
		return -1;
	if (!r->events.ev.n && event_default(&r->events, r->k.root, r->why, err))
		return -1;
	/* time that stands for cycles is that of work: a CPU that is idle counts none */
	if (*r->why && r->opts.switches)
		r->events.ev.v[0].attr.exclude_idle = 1;
	if (r->opts.chains && !r->opts.call_graph)
		r->opts.call_graph = ""; /* `report -g` is what run names next */
	sampling_ways_choose(r);
	if (r->opts.wait)
		sampling_wait_events(r);
	r->result.no_cycles = r->why;
	r->result.chains = r->opts.call_graph;
	r->result.hypervisor = r->k.machine.hypervisor;
	r->result.event = r->events.ev.v[0].name;
	for (size_t i = 1; i < r->events.ev.n && r->result.event; i++)
		r->result.event =
			arena_printf(r->arena, "%s, %s", r->result.event, r->events.ev.v[i].name);
	if (!r->result.event)
		return err_nomem(err);
	sampling_switch_events(r); /* no samples that were asked for */
	return 0;
}

uint64_t sampling_clock(clockid_t clock)
{
	struct timespec t = { 0 };

	return clock_gettime(clock, &t) ? 0
					: (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_sampling_counters(struct sampling *r, struct err *err)
{
	struct recorder_setup s = { .event = r->ev,
				    .n_events = r->events.ev.n + r->ways.n,
				    .cpus = r->per_task ? NULL : r->k.who.cpus.v,
				    .n_cpus = r->k.who.cpus.n,
				    .tasks = sampling_whole(r) ? NULL : r->k.who.tasks.v,
				    .n_tasks = r->k.who.tasks.n,
				    .cgroup_fd = r->k.who.cgroup_fd,
				    .ring_bytes = r->ring_bytes,
				    .flush_ms = sampling_looks(r) ? 100 : 0,
				    .in_order = r->fields.unwinds || r->opts.python,
				    /* frames of Python are read when a sample arrives */
				    .apart = (r->fields.unwinds || r->sink.series) &&
					     !r->opts.python,
				    .jitter = r->opts.jitter,
				    .seed = r->opts.jitter > 0 ? counting_clock() : 0 };

	if (recorder_open(&r->recorder, &s, err))
		return -1;
	r->sink.recorder = r->opts.jitter > 0 ? r->recorder : NULL;
	sampling_ways_begin(r);
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

/* The counters of an event; those with larger copies of the stack are its, too. */
static int all_ids(const struct sampling *r, size_t i, struct pdw_event *ev, struct err *err)
{
	const uint64_t *more = NULL;
	size_t n_more = 0;
	uint64_t *ids;

	ev->ids = recorder_ids(r->recorder, i, &ev->n_ids);
	for (size_t k = 0; k < r->ways.n; k++)
		if (r->ways.event[k] == i)
			more = recorder_ids(r->recorder, r->events.ev.n + k, &n_more);
	if (!n_more)
		return 0;
	ids = arena_alloc(r->arena, (ev->n_ids + n_more) * sizeof(*ids));
	if (!ids)
		return err_nomem(err);
	memcpy(ids, ev->ids, ev->n_ids * sizeof(*ids));
	memcpy(ids + ev->n_ids, more, n_more * sizeof(*ids));
	ev->ids = ids;
	ev->n_ids += n_more;
	return 0;
}

int sampling_events(struct sampling *r, struct pdw_setup *out, struct err *err)
{
	size_t n = r->events.ev.n;
	struct pdw_event *ev = arena_alloc(r->arena, n * sizeof(*ev));

	if (!ev)
		return err_nomem(err);
	*out = (struct pdw_setup){ .event = ev,
				   .n_events = n,
				   .ours = r->opts.path_ours,
				   .zstd_level = r->opts.zstd_level };
	for (size_t i = 0; i < n; i++) {
		ev[i].attr = sampling_stored(r, i);
		ev[i].name = r->ev[i].name;
		if (all_ids(r, i, &ev[i], err))
			return -1;
	}
	return 0;
}

int sampling_file(struct sampling *r, struct err *err)
{
	struct pdw_setup setup;

	if (sampling_events(r, &setup, err))
		return -1;
	if (pdw_open(&r->sink.writer, r->path, &setup, err))
		return -1;
	return sampling_spe(r) ? sampling_spe_begin(r, err) : put_tsc(r, err);
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

	if (r->sink.writer && sampling_features_early(r, err))
		return -1;
	if (!r->ev[0].attr.exclude_kernel && synth_kernel(&s, err))
		return -1;
	if (r->opts.wish.cgroups && synth_cgroups(&s, err))
		return -1;
	if (r->k.who.whole_cpus && synth_all(&s, err))
		return -1;
	if (r->k.who.whole_cpus && synth_sees_part())
		measure_news(&r->opts,
			     "this is a PID namespace: processes outside of it are recorded "
			     "without names and numbers; record on the host to name them");
	if ((!r->opts.program.n || r->by_cpu) && tell_processes(r, &s, err))
		return -1;
	r->sink.forks = 0;
	return r->sink.writer ? pdw_flush(r->sink.writer, err) : 0;
}

/* From the first record on: those of mappings may have a part less, too. */
static int begin_cuts(struct sampling *r, struct err *err)
{
	if (r->opts.python && !r->sink.live && pythons_new(&r->sink.pythons, r, err))
		return -1;
	if (!r->fields.any_cut && !r->fields.clears)
		return 0;
	r->sink.cuts = r;
	r->sink.shorter = malloc(UINT16_MAX + 1);
	r->sink.cleared = malloc(UINT16_MAX + 1);
	if (!r->sink.shorter || !r->sink.cleared)
		return err_nomem(err);
	return r->fields.unwinds ? unwound_new(&r->sink.unwound, err) : 0;
}

static int begin_records(struct sampling *r, struct err *err)
{
	if (r->sink.live)
		return sampling_track_begin(r, err);
	if (!sampling_series_waits(r) && sampling_file(r, err))
		return -1;
	return sampling_track_begin(r, err) || tell_what_was_there(r, err) ? -1 : 0;
}

const struct event *sampling_event(const struct sampling *r, size_t i,
				   const struct perf_event_attr **attr)
{
	if (i >= r->events.ev.n)
		return NULL;
	*attr = &r->ev[i].attr;
	return &r->events.ev.v[i];
}

struct counting *sampling_counting(struct sampling *r)
{
	return &r->k;
}

/* If the kernel has no IBS of tasks: of all CPUs, and the file gets only the tasks wanted. */
static int choose_place(struct sampling *r, struct err *err)
{
	if (r->k.who.whole_cpus || !sampling_memory_by_cpu(r))
		return 0;
	if (r->k.who.cgroup_fd >= 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "this kernel cannot sample IBS of a cgroup (Linux 6.2 can)");
	r->by_cpu = true;
	measure_news(&r->opts,
		     "before Linux 6.2 IBS is of whole CPUs: all is sampled, and what is not "
		     "of the program is left out of the file");
	return 0;
}

static int begin_filter(struct sampling *r, struct err *err)
{
	if ((r->opts.keep || r->fields.clears || r->fields.unwinds || r->opts.python) &&
	    wanted_new(&r->sink.wanted, r, err))
		return -1;
	if (!r->by_cpu)
		return 0;
	r->k.nothing.enable_on_exec = false; /* no task's counters: they are switched on */
	return whose_new(&r->sink.filter, r->k.who.tasks.v, r->k.who.tasks.n, !r->opts.no_inherit,
			 r->sink.tid_at, err);
}

static int open_wake(struct sampling *r, struct err *err)
{
	if (r->sink.live)
		return 0;
	r->sink.wake = r->k.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r->sink.wake < 0 ? err_sys(err, "eventfd") : 0;
}

/* If no cycles can be counted, time is sampled, unless that will not do. */
static int check_cycles(const struct sampling *r, struct err *err)
{
	if (!r->opts.needs_pmu || !*r->result.no_cycles)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "no cycle counter here: %s", r->result.no_cycles);
	return err_hint(err, "without --require pmu, time is sampled; `cyclade doctor` tells more");
}

#define RINGS_MOST (64u << 20) /* bytes of all */

static uint64_t ring_for_stacks(size_t n_cpus)
{
	uint64_t bytes = 16u << 20;

	while (bytes > RECORDER_RING && bytes * n_cpus > RINGS_MOST)
		bytes /= 2;
	return bytes;
}

int sampling_open(struct sampling **out, const struct measure_opts *opts, const char *path,
		  const struct recorder_sink *live, struct err *err)
{
	struct sampling *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return err_nomem(err);
	r->opts = *opts;
	r->arena = opts->a;
	if (opts->python && !opts->call_graph)
		r->opts.call_graph = "";
	r->ring_bytes = opts->mmap_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	r->path = path;
	r->sink.wake = -1;
	r->sink.live = live;
	r->sink.most = measure_several(opts) ? 0 : opts->max_bytes;
	r->wait.of = r;
	(void)pthread_mutex_init(&r->wait.lock, NULL);
	(void)pthread_mutex_init(&r->ways.lock, NULL);
	r->result.no_cycles = r->result.event = "";
	r->result.has_program = opts->program.n;
	if (counting_open(&r->k, &r->opts, "record", MACHINE_ALL, err) || sampling_check(r, err) ||
	    parse_events(r, err) || choose_place(r, err) || sampling_track(r, err) ||
	    sampling_attrs(r, err) || check_cycles(r, err) || sampling_series_open(r, err) ||
	    sampling_tree_plan(r, &r->setup, err)) {
		sampling_close(r);
		return -1;
	}
	/* an inherited counter may only share a ring on its CPU */
	r->per_task = opts->no_inherit && !sampling_whole(r) && !opts->cpu;
	/* copies of stacks fill a ring of the usual size in some 30 samples */
	if (!r->ring_bytes && r->copies_stacks && !r->per_task && !geteuid())
		r->ring_bytes = ring_for_stacks(r->k.who.cpus.n);
	if (sampling_ways_plan(r, err)) {
		sampling_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

static int tick_tree(void *ctx, struct counting *k, struct err *err)
{
	(void)k;
	(void)err;
	sampling_tree_tick(ctx);
	return 0;
}

static uint64_t tree_ns_to_tick(void *ctx)
{
	const struct sampling_tree *t = &((struct sampling *)ctx)->tree;

	return t->drilling ? t->reader.tick(t->reader.ctx) : 0;
}

static int switched(void *ctx, struct counting *k, bool on, struct err *err)
{
	struct sampling *r = ctx;

	if (k->c)
		sampling_tree_switched(r, on);
	if (on)
		return sampling_switch(r, true, err);
	/* a task that has ended cannot be switched, and need not be */
	(void)!sampling_switch(r, false, NULL);
	return 0;
}

int sampling_prepare(struct sampling *r, struct err *err)
{
	const struct counting_reader reader = {
		.read = tick_tree, .tick = tree_ns_to_tick, .switched = switched, .ctx = r
	};

	if (sampling_heap_begin(r, err) || open_wake(r, err) ||
	    sink_open(&r->sink, &r->ev[0].attr, err) ||
	    (!r->sink.live && copying_new(&r->sink.inside.copies, &r->opts, err)) ||
	    counting_warmup(&r->k, err) || counting_prepare(&r->k, r->setup, &reader, err))
		return -1;
	sampling_tree_begin(r);
	return open_sampling_counters(r, err) || begin_cuts(r, err) || begin_records(r, err) ||
			       begin_filter(r, err) || sampling_wait_begin(r, err) ||
			       sampling_switch_begin(r, err) || sampling_looks_begin(r, err)
		       ? -1
		       : 0;
}

/* ---- the run ---------------------------------------------------------------------------- */

uint64_t sampling_samples(const struct sampling *r)
{
	return atomic_load(&r->sink.state.samples);
}

uint64_t sampling_bytes(const struct sampling *r)
{
	return atomic_load(&r->sink.state.bytes);
}

/* As of the last round. */
void sampling_so_far(const struct sampling *r, struct buf *out)
{
	uint64_t samples = sampling_samples(r), lost = atomic_load(&r->sink.state.lost);
	char n[NUM_MAX], b[NUM_MAX], l[NUM_MAX], t[NUM_MAX];

	buf_printf(out, "cyclade: after %s: %s sample%s in ",
		   num_seconds(t, counting_seconds(&r->k)), num_exact(n, samples),
		   samples == 1 ? "" : "s");
	text_put_safe(out, r->path, false);
	buf_printf(out, " (%s), %s lost\n", num_bytes(b, sampling_bytes(r)), num_exact(l, lost));
}

struct losses_record {
	struct perf_event_header head;
	uint64_t lost;
	uint8_t trailer[64];
};

static size_t losses_record(const struct sampling *r, uint64_t n, struct losses_record *out)
{
	size_t size = offsetof(struct losses_record, trailer) + attr_trailer(&r->ev[0].attr);

	assert(size <= sizeof(*out));
	*out = (struct losses_record){
		.head = { .type = PERF_RECORD_LOST_SAMPLES, .size = (uint16_t)size }, .lost = n
	};
	return size;
}

/* A ring that stays full to the end has no record of its last losses: the counters know. */
static int put_last_losses(struct sampling *r, struct err *err)
{
	struct losses_record record;
	uint64_t all;

	if (!recorder_lost(r->recorder, &all) || all <= r->sink.lost)
		return 0;
	if (r->sink.live) { /* no file to write it into */
		r->sink.lost = all;
		return 0;
	}
	return sink_data(&r->sink, &record, losses_record(r, all - r->sink.lost, &record), err);
}

/* The last records, or how many found no room. */
static int put_last(struct sampling *r, struct err *err)
{
	struct sink *s = &r->sink;
	struct losses_record record;
	uint64_t n;

	if (put_last_losses(r, err) || sink_end(s, err) || sampling_series_end(r, err))
		return -1;
	if (s->live)
		return 0;
	if (sink_flush(s, err))
		return -1;
	if (s->beyond) { /* --max-size: its end has room for that */
		r->result.no_room = s->beyond;
		s->samples -= s->beyond;
		s->lost += s->beyond;
		return pdw_data(s->writer, &record, losses_record(r, s->beyond, &record), err) ||
				       sink_flush(s, err)
			       ? -1
			       : 0;
	}
	n = s->samples - s->kept_samples + s->lost - s->kept_lost;
	if (!s->full || !n)
		return 0;
	r->result.no_room = n;
	s->samples = s->kept_samples;
	s->lost = s->kept_lost + n;
	return pdw_behind(s->writer, &record, losses_record(r, n, &record), err);
}

static void take_results(struct sampling *r)
{
	const struct counting_result *c = &r->k.result;

	r->result.wall_s = c->wall_s;
	r->result.cpu_s = c->user_s + c->sys_s;
	r->result.user_s = c->user_s;
	r->result.samples = r->sink.samples;
	r->result.began = r->k.began;
	r->result.lost = r->sink.lost;
	r->result.not_kept = wanted_left_out(r->sink.wanted);
	r->result.cut_bytes = r->sink.cut_bytes;
	r->result.left_out = whose_left_out(r->sink.filter);
	r->result.throttled = r->sink.throttled;
	r->result.aux_lost = r->sink.aux_lost;
	if (r->sink.unwound) {
		const struct unwound_seen *u = unwound_seen(r->sink.unwound);

		r->result.unwound = u->samples;
		r->result.unwound_whole = u->end[UNWIND_DONE];
		r->result.unwound_cut = u->end[UNWIND_STACK];
		r->result.unwound_without = u->without;
		r->result.unwound_rate = r->ways.was_large ? r->ways.large_rate : 0;
	}
	if (r->sink.pythons) {
		const struct python_seen *p = pythons_seen(r->sink.pythons);

		r->result.python = p->samples;
		r->result.python_contradicted = p->contradicted;
		r->result.python_late = p->late;
		r->result.python_unread = p->unread + p->torn;
		r->result.python_delay = p->read ? p->delay / p->read : 0;
		r->result.no_python = p->processes ? ""
				      : *p->why	   ? arena_strdup(r->arena, p->why)
						   : "no process ran CPython 3.11 to 3.14";
	}
	r->result.ousted = recorder_ousted(r->recorder, &r->result.counters);
	if (r->opts.program.n || !r->k.who.whole_cpus)
		r->result.tasks = r->sink.forks + (r->opts.program.n ? 1 : r->k.who.tasks.n);
	r->result.status = c->status;
	r->result.killed_by = c->killed_by;
	r->result.interrupted = c->interrupted;
	r->result.early = c->early;
	r->result.outlived = c->outlived;
}

/* Interrupted before the first sample: nothing that is worth an older recording. */
static bool nothing_to_keep(const struct sampling *r)
{
	return !sampling_series_new_samples(&r->sink) &&
	       (r->result.samples > 0 || (r->k.result.interrupted && !r->result.lost));
}

/* The end of the run, for the file. */
static struct pdw_end recording_end_of(const struct sampling *r)
{
	const struct counting_result *c = &r->k.result;
	/* shells and runtimes end so, too, if a signal ends them */
	bool by_signal = c->signal && (c->killed_by || c->status == 128 + c->signal);
	bool stopped = c->interrupted && (!r->opts.program.n || c->early || by_signal);

	return (struct pdw_end){ .how = stopped ? PD_END_STOPPED : PD_END_FINISHED,
				 .number = c->signal,
				 .program = r->opts.program.n,
				 .outlived = c->outlived };
}

/* Without a system call's error the disk is not full: readers see by the missing lock that the file
 * is not whole. */
static void leave_file(struct sampling *r, const struct err *why)
{
	if (!why->sys_errno || !r->sink.writer)
		return;
	pdw_give_up(r->sink.writer, &(struct pdw_end){ .how = PD_END_FULL,
						       .number = why->sys_errno,
						       .program = r->opts.program.n });
}

static bool is_no_room(const struct err *why)
{
	return why->sys_errno == ENOSPC || why->sys_errno == EDQUOT || why->sys_errno == EFBIG;
}

static int commit(struct sampling *r, struct err *why)
{
	struct pdw_end end = recording_end_of(r);

	err_clear(why);
	return pdw_commit(r->sink.writer, &end, why);
}

static int finish_file(struct sampling *r, const struct buf *tree, struct err *err)
{
	struct err why = ERR_INIT;
	int rc;

	copying_maps(r->sink.inside.copies, &r->sink.inside);
	if (sampling_features(r, tree, err))
		return -1;
	rc = commit(r, &why);
	/* the logs are in memory now: the room that they take is theirs */
	if (rc && is_no_room(&why) && sampling_heap_release(r))
		rc = commit(r, &why);
	if (rc && is_no_room(&why) && r->heap_dir) {
		sampling_features_drop_heap(r);
		rc = commit(r, &why);
		if (!rc)
			measure_news(&r->opts, "the logs of --heap found no room and are lost");
	}
	if (rc && !err->code)
		*err = why;
	if (!rc)
		copying_finish(r->sink.inside.copies);
	return rc;
}

/* --max-size: as it was asked for. */
static void say_enough(struct sampling *r)
{
	char n[NUM_MAX], t[NUM_MAX];

	measure_news(&r->opts, "--max-size is reached after %s; %s sample%s found no room",
		     num_seconds(t, counting_seconds(&r->k)), num_exact(n, r->result.no_room),
		     r->result.no_room == 1 ? "" : "s");
}

static int say_full(struct sampling *r, struct err *err)
{
	char n[NUM_MAX], t[NUM_MAX];

	*err = *pdw_full(r->sink.writer);
	measure_news(&r->opts, "nothing was recorded after %s; %s sample%s found no room",
		     num_seconds(t, counting_seconds(&r->k)), num_exact(n, r->result.no_room),
		     r->result.no_room == 1 ? "" : "s");
	return -1;
}

static int start_sampling(struct sampling *r, struct err *err)
{
	const struct recorder_sink sink = { .data = sink_data,
					    .round = sink_round,
					    .trace = sink_trace,
					    .shorten = sink_shorten,
					    .failed = sink_failed,
					    .ctx = &r->sink };

	if (recorder_start(r->recorder, &sink, err))
		return -1;
	sampling_watch_begin(r);
	r->started = true;
	return 0;
}

static int end_sampling(struct sampling *r, int rc, struct err *err)
{
	if (!r->started || r->ended)
		return rc;
	r->ended = true;
	sampling_watch_end(r);
	if (recorder_stop(r->recorder, err) || put_last(r, err))
		rc = -1;
	take_results(r);
	return rc;
}

/* The disk is full: nothing more to gain; the program goes on, undisturbed. */
static int on_full(struct sampling *r, struct err *err)
{
	uint64_t n;

	if (read(r->k.wake, &n, sizeof(n)) < 0)
		n = 0;
	return counting_stop(&r->k, err);
}

int sampling_next(struct sampling *r, enum counting_event *what, struct err *err)
{
	int rc = r->started ? 0 : start_sampling(r, err);

	while (!rc) {
		rc = counting_next(&r->k, what, err);
		if (!rc && *what == COUNTING_WOKEN && !r->sink.live) {
			rc = on_full(r, err);
		} else if (!rc && *what == COUNTING_SNAPSHOT) {
			sampling_series_ask(r);
			counting_snapshot_done(&r->k);
		} else if (!rc && *what != COUNTING_INTERVAL)
			break;
	}
	return rc || *what == COUNTING_OVER ? end_sampling(r, rc, err) : 0;
}

int sampling_keep(struct sampling *r, int rc, const struct buf *tree, struct err *err)
{
	rc = end_sampling(r, rc, err);
	if (!r->started || r->sink.live)
		return rc;
	if (!rc && !nothing_to_keep(r))
		rc = finish_file(r, tree, err);
	if (rc)
		leave_file(r, err);
	else if (r->sink.beyond)
		say_enough(r);
	else if (r->sink.full)
		rc = say_full(r, err);
	if (!r->sink.writer)
		return rc;
	r->result.bytes = pdw_bytes(r->sink.writer);
	r->result.kept = pdw_shown(r->sink.writer);
	if (!rc)
		rc = sampling_series_keep(r, err);
	if (rc && err->code != ERR_EXEC) {
		if (r->k.work.ended)
			measure_news(&r->opts, "the program was not disturbed, it ended with %d",
				     r->k.work.status);
		if (r->result.kept && r->sink.samples)
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
	sampling_wait_end(r);
	sampling_switch_end(r);
	sampling_looks_end(r);
	(void)pthread_mutex_destroy(&r->wait.lock);
	(void)pthread_mutex_destroy(&r->ways.lock);
	counters_close(r->watch);
	pdw_close(r->sink.writer);
	sampling_series_close(r);
	sink_close(&r->sink);
	counting_end(&r->k);
	if (r->sink.wake >= 0)
		(void)close(r->sink.wake);
	sampling_heap_end(r); /* before signals that were held back are let in */
	counting_close(&r->k);
	for (size_t i = 0; i < r->n_accounts; i++)
		account_plan_free(&r->account[i]);
	sampling_tree_free(&r->tree);
	event_list_free(&r->events);
	event_more_free(&r->more);
	free(r);
}
