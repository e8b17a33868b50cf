/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attributes that counters are opened with: as the options ask, without the parts that the
 * kernel refuses.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/jitter.h"
#include "collect/sysfs.h"
#include "measure/sampling/sampling_int.h"

#define DEFAULT_FREQ 4000u

/* ---- wishes ----------------------------------------------------------------------------- */

static enum attr_chain chain_kind(const char *call_graph)
{
	if (!call_graph)
		return CHAIN_NONE;
	if (!strcmp(call_graph, "dwarf"))
		return CHAIN_DWARF;
	if (!strcmp(call_graph, "unwind"))
		return CHAIN_UNWIND;
	return strcmp(call_graph, "lbr") ? CHAIN_FP : CHAIN_LBR;
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
	const struct measure_opts *o = &r->opts;
	struct attr_opts w = { .freq = o->freq ? o->freq : DEFAULT_FREQ,
			       .period = o->period,
			       .stack_size = o->stack_size,
			       .chain = chain_kind(o->call_graph),
			       .wish = o->wish,
			       .branch_type = r->branch_type,
			       .inherit = !o->no_inherit && !sampling_whole(r),
			       .user_only = o->user_only,
			       .kernel_only = o->kernel_only,
			       .switches = o->wait,
			       .cpu = sampling_whole(r) || o->cpu || o->account || o->wait ||
				      o->keep || sampling_watches(r),
			       .times = o->account,
			       .several = r->events.ev.n > 1 || r->opts.jitter > 0,
			       .enable_on_exec = r->opts.program.n && !o->delay };

	w.wish.branch |= o->branch_filter != NULL;
	sampling_fields_wish(r, &w);
	/* logs of allocations and pauses of switch records have times that programs can read */
	wish_clock(&w, o->clockid			? o->clockid
		       : o->heap			? "raw"
		       : sampling_looks(r) || o->python ? "mono"
							: NULL);
	for (size_t i = 0; i < r->events.ev.n; i++)
		w.data_maps |= attr_chain_of(&r->events.ev.v[i], &w) == CHAIN_DWARF;
	if (r->k.machine.max_sample_rate && w.freq > r->k.machine.max_sample_rate) {
		measure_news(&r->opts,
			     "the kernel allows %llu samples a second at most; asked for that",
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
		{ ATTR_WITHOUT_PHYS, "physical addresses may not be read: without them "
				     "(perf_event_paranoid; `cyclade doctor`)" },
		{ ATTR_WITHOUT_PAGES, "this kernel does not tell the size of pages (Linux 5.11 "
				      "does)" },
		{ ATTR_WITHOUT_CGROUP,
		  "this kernel does not tell the cgroup of a sample (Linux 5.7 "
		  "with CONFIG_CGROUP_PERF does)" },
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
			measure_news(&r->opts, "%s", rows[i].text);
}

/* Changes to an attribute that the kernel does not take. */
static int fit_hint(const struct sampling *r, size_t i, struct err *err)
{
	const struct perf_event_attr *a = &r->ev[i].attr;
	const struct measure_opts *o = &r->opts;

	if (attr_is_ibs(&r->events.ev.v[i]) && err->sys_errno != EACCES && !sampling_whole(r))
		return err_hint(err, "before Linux 6.14 IBS cannot leave out the kernel: it needs "
				     "root or sysctl kernel.perf_event_paranoid=1; before 6.2 it "
				     "samples whole CPUs only: -a");
	if (err->code == ERR_PERM && sampling_whole(r))
		return err_hint(err, "whole CPUs need root or sysctl kernel.perf_event_paranoid=0; "
				     "your own programs need neither: -- ./prog");
	if (err->code == ERR_PERM && o->kernel_only)
		return err_hint(err,
				"the kernel needs root or sysctl kernel.perf_event_paranoid=1");
	if (err->sys_errno == ENODATA)
		return err_hint(err, "this CPU measures load latency only together with another "
				     "event: -e '{mem-loads-aux,mem-loads}'");
	if (a->branch_sample_type)
		return err_hint(err,
				"%s needs branch records (LBR, BRBE), which this machine or "
				"this event does not have%s",
				o->branch_filter ? "--branch-filter"
				: o->wish.branch ? "-b"
						 : "-g=lbr",
				o->wish.branch || o->branch_filter
					? ""
					: "; -g=fp and -g=dwarf do without");
	return err_hint(err, "`cyclade doctor` says what this machine allows, `cyclade list "
			     "events` what it has");
}

/* The event that samples for the group of event i (:S): its leader, but of slots with metrics the
 * first that is neither. -1: there is none. */
static int sampler_of(const struct sampling *r, size_t i)
{
	int leader = r->events.ev.v[i].group;

	if (!event_topdown_led(&r->events, (size_t)leader))
		return leader;
	for (size_t k = (size_t)leader; k < r->events.ev.n; k++)
		if (r->events.ev.v[k].group == leader && r->events.ev.v[k].topdown == TOPDOWN_NONE)
			return (int)k;
	return -1;
}

/* Slots with metrics, and these, are read in the samples of another event. */
static int check_topdown(const struct sampling *r, struct err *err)
{
	if (event_topdown_check(&r->events, err))
		return -1;
	for (size_t i = 0; i < r->events.ev.n; i++) {
		const struct event *e = &r->events.ev.v[i];

		if (e->topdown != TOPDOWN_METRIC || (e->sample_read && sampler_of(r, i) >= 0))
			continue;
		(void)err_set(err, ERR_USAGE,
			      "%.100s cannot sample, nor can the slots that lead it", e->name);
		return err_hint(err, "read them in the samples of another event: "
				     "'{slots,cycles,topdown-retiring,...}:S'");
	}
	return 0;
}

/* A frequency is the kernel's to keep, and it varies periods by itself. */
static int check_jitter(const struct sampling *r, struct err *err)
{
	bool any = r->opts.jitter <= 0 || !r->events.ev.n;

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

/* The counters of groups that were tried, open until all are: the kernel checks each member against
 * those before it. */
struct trial {
	int *fd; /* by event, -1 */
	size_t n;
};

static int trial_begin(struct trial *t, struct arena *a, size_t n, struct err *err)
{
	t->fd = arena_alloc(a, (n + 1) * sizeof(*t->fd));
	if (!t->fd)
		return err_nomem(err);
	memset(t->fd, -1, n * sizeof(*t->fd));
	t->n = n;
	return 0;
}

static void trial_end(struct trial *t)
{
	for (size_t i = t->n; i > 0; i--) /* members before their leader */
		if (t->fd[i - 1] >= 0)
			(void)close(t->fd[i - 1]);
}

static bool has_members(const struct sampling *r, size_t i)
{
	for (size_t k = i + 1; k < r->events.ev.n; k++)
		if (r->events.ev.v[k].group == (int)i)
			return true;
	return false;
}

/* An event that the kernel takes alone, but not with the rest of its group. */
static int refused_in_group(const struct sampling *r, size_t i, const struct attr_place *at,
			    struct err *err)
{
	const struct event *e = &r->events.ev.v[i];
	struct attr_place alone = *at;
	struct perf_event_attr a = r->ev[i].attr;
	struct err why = ERR_INIT;
	unsigned bits;

	alone.group_fd = -1;
	if (at->group_fd < 0 || e->topdown == TOPDOWN_METRIC ||
	    attr_fit(&a, &alone, &bits, NULL, &why))
		return -1;
	err_clear(err);
	(void)err_set(err, ERR_UNSUPPORTED, "no counter is left for it in the group of %.100s",
		      r->events.ev.v[e->group].name);
	return err_hint(err,
			"a group is counted at once: make it smaller, or leave out the braces");
}

int sampling_try_cpu(const struct sampling *r, size_t i)
{
	const struct recorder_event *e = &r->ev[i];

	if (!sampling_whole(r))
		return -1;
	vec_each (&r->k.who.cpus, const uint32_t *, cpu)
		if (!e->cpus || cpu_list_has(e->cpus, e->n_cpus, *cpu))
			return (int)*cpu;
	return (int)r->k.who.cpus.v[0];
}

static int fit(struct sampling *r, size_t i, struct trial *t, unsigned *bits, struct err *err)
{
	bool whole = sampling_whole(r), leads = r->events.ev.v[i].group == (int)i;
	struct attr_place at = { .task = whole ? -1 : 0,
				 .cpu = sampling_try_cpu(r, i),
				 .group_fd = leads ? -1 : t->fd[r->events.ev.v[i].group],
				 .may_drop_kernel = !r->opts.kernel_only && !whole,
				 .may_drop_phys = r->phys_if_may };
	int *keep = !leads || has_members(r, i) ? &t->fd[i] : NULL;

	if (!attr_fit(&r->ev[i].attr, &at, bits, keep, err))
		return 0;
	return refused_in_group(r, i, &at, err);
}

/* Branch records only if there are any; without a counter, without it. */
static int fit_account(struct sampling *r, size_t i, const struct attr_opts *wishes,
		       struct trial *t, unsigned *bits, struct err *err)
{
	const struct event *e = &r->events.ev.v[i];
	struct attr_opts mine = *wishes;
	struct err why = ERR_INIT;

	sampling_account_wish(r, i, &mine);
	attr_make(&r->ev[i].attr, e, &mine, sampling_tracks(r, i));
	if (!fit(r, i, t, bits, &why))
		return 0;
	if (mine.wish.branch && !wishes->wish.branch) {
		measure_news(&r->opts, "no branch records here: %s: %s", e->name, why.what);
		err_clear(&why);
		attr_make(&r->ev[i].attr, e, wishes, sampling_tracks(r, i));
		if (!fit(r, i, t, bits, &why))
			return 0;
	}
	if (sampling_account_without(r, i, &why)) {
		*bits = 0;
		return 0;
	}
	*err = why;
	return -1;
}

static int make_attr(struct sampling *r, size_t i, const struct attr_opts *wishes, struct trial *t,
		     unsigned *bits, struct err *err)
{
	const struct event *e = &r->events.ev.v[i];

	r->ev[i].name = e->name;
	r->ev[i].filter = e->filter;
	r->ev[i].group = e->group;
	r->ev[i].period_step = attr_is_ibs(e) ? ATTR_IBS_STEP : 0;
	r->ev[i].aux_bytes = sampling_spe_ring(r, i);
	if (r->tells_alone && sampling_tracks(r, i)) {
		struct attr_opts own = *wishes;

		sampling_track_wish(r, &own);
		sampling_track_cpus(r, &r->ev[i]);
		attr_make(&r->ev[i].attr, e, &own, true);
		return sampling_fields_attr(r, i, CHAIN_NONE, err) ? -1 : fit(r, i, t, bits, err);
	}
	if (r->of)
		return fit_account(r, i, wishes, t, bits, err);
	attr_make(&r->ev[i].attr, e, wishes, sampling_tracks(r, i));
	sampling_wait_attr(r, i, &r->ev[i].attr);
	sampling_switch_attr(r, i, &r->ev[i].attr);
	if (e->group != (int)i) /* members follow their leader */
		r->ev[i].attr.disabled = r->ev[i].attr.enable_on_exec = 0;
	if (e->sample_read && sampler_of(r, i) != (int)i)
		r->ev[i].attr.sample_period = r->ev[i].attr.freq = 0;
	if (sampling_fields_attr(r, i, attr_chain_of(e, wishes), err))
		return -1;
	return fit(r, i, t, bits, err);
}

static int make_all(struct sampling *r, struct trial *t, unsigned *given_up, struct err *err)
{
	struct attr_opts wishes = attr_wishes(r);

	for (size_t i = 0; i < r->events.ev.n; i++) {
		unsigned bits = 0;

		event_cpus(&r->ev[i].cpus, &r->ev[i].n_cpus, &r->events.ev.v[i], r->arena);
		if (make_attr(r, i, &wishes, t, &bits, err)) {
			(void)err_prefix(err, "%s", r->events.ev.v[i].name);
			return fit_hint(r, i, err);
		}
		*given_up |= bits;
	}
	return 0;
}

int sampling_attrs(struct sampling *r, struct err *err)
{
	size_t n = r->events.ev.n;
	unsigned given_up = 0;
	struct trial t;
	int rc;

	r->ev = arena_alloc(r->arena, (2 * n + 1) * sizeof(*r->ev));
	r->fields.cut = arena_alloc(r->arena, (n + 1) * sizeof(*r->fields.cut));
	if (!r->ev || !r->fields.cut)
		return err_nomem(err);
	if (check_topdown(r, err) || trial_begin(&t, r->arena, n, err))
		return -1;
	rc = make_all(r, &t, &given_up, err);
	trial_end(&t);
	if (rc || sampling_fields_check(r, err))
		return -1;
	note_given_up(r, given_up);
	if (r->of && sampling_account_groups(r, err))
		return -1;
	for (size_t i = 0; r->opts.python && i < n; i++) { /* frames are read at once */
		r->ev[i].attr.watermark = 0;
		r->ev[i].attr.wakeup_events = 1;
	}
	return check_jitter(r, err);
}
