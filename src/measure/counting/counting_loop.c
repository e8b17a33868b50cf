/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop: signals, the program's end, --for, -D, --control, -I and the hooks' own ticks.
 *
 * The first interrupt goes to the program, and counting goes on until the program ends. The second
 * one ends counting, asks the program to end and gives it LEAVE seconds, then it is left alone.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>

#include "measure/counting/counting_int.h"

#define SECOND	 1000000000ull
#define LEAVE	 (2 * SECOND)
#define CHECK	 (SECOND / 10) /* how often attached tasks are looked at */
#define REMIND	 SECOND
#define ENDING	 20 /* ms in which what ends with the program has ended, too */
#define NEVER	 UINT64_MAX
#define ONE_HOUR (3600 * SECOND)

#define WORDS_MOST 64 /* of --control, before other things have their turn */

struct loop {
	struct counting *k;
	const struct counting_hooks *h;
	uint64_t end, enable, leave, remind, tick, interval; /* when they are due, or NEVER */
	uint64_t interval_ns;
	unsigned interrupts;
	bool ended; /* the program, in an earlier round */
	struct err *err;
};

static int switch_all(struct counting *k, const struct counting_hooks *h, bool on, struct err *err)
{
	if (k->counting == on || (on && k->stopped))
		return 0;
	k->counting = on;
	k->began |= on;
	if (h->switched && h->switched(h->ctx, k, on, err))
		return -1;
	if (!k->c)
		return 0;
	if (!on)
		return counters_enable(k->c, ALL_GROUPS, false, err);
	for (size_t g = 0; g < k->setup->n_groups; g++)
		if (k->on[g] && counters_enable(k->c, g, true, err))
			return -1;
	return 0;
}

int counting_stop(struct counting *k, const struct counting_hooks *h, struct err *err)
{
	if (k->stopped)
		return 0;
	if (switch_all(k, h, false, err))
		return -1;
	k->stopped = true;
	k->stop = k->now;
	return 0;
}

static int stop_counting(struct loop *l)
{
	return counting_stop(l->k, l->h, l->err);
}

/* `typed`: a terminal has sent it to the program as well; a kill() only to us. */
static int on_interrupt(struct loop *l, int number, bool typed)
{
	struct counting *k = l->k;

	k->result.interrupted = true;
	if (!l->ended)
		k->result.signal = number;
	if (!k->has_program || k->work.ended)
		return stop_counting(l);
	if (++l->interrupts == 1) {
		if (!typed)
			(void)kill(k->work.pid, number);
		l->remind = k->now + REMIND;
		return 0;
	}
	k->result.early = true;
	(void)kill(k->work.pid, SIGTERM);
	if (l->leave == NEVER)
		l->leave = k->now + LEAVE;
	return stop_counting(l);
}

static int on_signals(struct loop *l)
{
	struct counting *k = l->k;
	struct signalfd_siginfo s;

	while (read(k->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		int number = (int)s.ssi_signo;

		if (number == SIGCHLD) { /* told once: whoever takes the word has to look */
			if (k->has_program)
				(void)workload_reap(&k->work, false);
			continue;
		}
		if (number == SIGUSR1) {
			if (!k->work.ended && l->h->so_far && l->h->so_far(l->h->ctx, k, l->err))
				return -1;
			continue;
		}
		if (on_interrupt(l, number, s.ssi_code == SI_KERNEL))
			return -1;
	}
	return 0;
}

/* However many words come, signals, --for and intervals have their turns between them. */
static int on_control(struct loop *l)
{
	struct counting *k = l->k;

	for (unsigned i = 0; i < WORDS_MOST; i++) {
		enum control_word word = control_next(&k->control, k->opts);

		if (word == CONTROL_NOTHING)
			break;
		if ((word == CONTROL_ENABLE && switch_all(k, l->h, true, l->err)) ||
		    (word == CONTROL_DISABLE && switch_all(k, l->h, false, l->err)))
			return -1;
		if (word == CONTROL_STOP)
			l->end = k->now;
		control_answer(&k->control);
	}
	return 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct timespec until_next(const struct loop *l)
{
	uint64_t now = counting_clock(), next = now + ONE_HOUR, wait;
	bool looks = (!l->k->has_program && !l->k->who.whole_cpus) || l->k->work.ended;

	next = earlier(next, earlier(l->end, l->enable));
	next = earlier(next, earlier(l->leave, earlier(l->tick, l->interval)));
	next = earlier(next, l->remind);
	if (looks)
		next = earlier(next, now + CHECK);
	wait = next > now ? next - now : 0;
	return (struct timespec){ (time_t)(wait / SECOND), (long)(wait % SECOND) };
}

/* The moments of a series stay where they were, however late we are for one. */
static uint64_t after(uint64_t due, uint64_t step, uint64_t now)
{
	return now < due ? due : due + ((now - due) / step + 1) * step;
}

static int take_reading(struct loop *l)
{
	return l->h->read ? l->h->read(l->h->ctx, l->k, l->err) : 0;
}

/* Going to the counters is what readings cost: none shortly before that of an interval. */
static void set_tick(struct loop *l, uint64_t now)
{
	uint64_t step = l->h->tick ? l->h->tick(l->h->ctx) : 0;

	l->tick = !step || now + step + step / 2 > l->interval ? NEVER : now + step;
}

static int due(struct loop *l)
{
	struct counting *k = l->k;
	bool over;

	if (k->now >= l->enable) {
		l->enable = NEVER;
		if (switch_all(k, l->h, true, l->err))
			return -1;
	}
	/* at the end the last interval is due anyway */
	over = k->now >= l->interval && k->now < l->end;
	if (k->now >= l->tick || over) { /* one reading serves both */
		if (over)
			l->interval = after(l->interval, l->interval_ns, k->now);
		if (take_reading(l) || (over && l->h->interval(l->h->ctx, k, l->err)))
			return -1;
		set_tick(l, counting_clock());
	}
	if (k->now >= l->remind) {
		l->remind = NEVER;
		if (!k->stopped && !k->work.ended)
			measure_news(k->opts,
				     "the program goes on after the signal, and is measured "
				     "until it ends; a second Ctrl-C ends it");
	}
	if (k->now >= l->end) {
		l->end = NEVER;
		if (stop_counting(l))
			return -1;
		if (k->has_program && !k->work.ended)
			(void)kill(k->work.pid, SIGTERM);
	}
	return 0;
}

/* --follow: what the program has started goes on. */
static bool following(const struct counting *k)
{
	return k->opts->follow && !k->stopped && offspring_live(&k->offspring, 0);
}

static bool going_on(struct loop *l)
{
	struct counting *k = l->k;

	if (k->has_program)
		return k->work.ended ? following(k) : k->now < l->leave;
	return !k->stopped && !k->enough && (k->who.whole_cpus || targets_live(&k->who));
}

static int watch(struct loop *l)
{
	struct counting *k = l->k;

	while (going_on(l)) {
		struct pollfd fds[3] = { { .fd = k->signals, .events = POLLIN },
					 { .fd = k->control.fd, .events = POLLIN },
					 { .fd = k->wake, .events = POLLIN } };
		bool words = k->control.have > 0; /* that have been read, not taken */
		struct timespec wait = words ? (struct timespec){ 0, 0 } : until_next(l);

		l->ended = k->work.ended;
		if (ppoll(fds, 3, &wait, NULL) < 0 && errno != EINTR)
			return err_sys(l->err, "poll");
		k->now = counting_clock();
		/* the end of the program comes before a reading that would find it gone, but not
		 * before an interrupt, which is for all runs; SIGCHLD tells of it */
		if (k->has_program && fds[0].revents)
			(void)workload_reap(&k->work, false);
		if (fds[0].revents && on_signals(l))
			return -1;
		if (k->has_program && k->work.ended && !following(k))
			break;
		if (((words || fds[1].revents) && on_control(l)) ||
		    (fds[2].revents && l->h->woken(l->h->ctx, k, l->err)) || due(l))
			return -1;
	}
	k->now = counting_clock();
	return 0;
}

/* Last of all: the memory that a user's rings may have is for those of samples first. */
static int look_after(struct counting *k, struct err *err)
{
	if (!k->has_program || k->opts->no_inherit || (k->who.whole_cpus && !k->opts->follow))
		return 0;
	if (!offspring_open(&k->offspring, k->work.pid) && k->opts->follow)
		return err_sys(err, "--follow: an event that tells when the last process ends");
	return 0;
}

/* What is not measured any more, though the program has started it. */
static void tell_rest(const struct loop *l)
{
	struct counting *k = l->k;

	if (l->leave != NEVER && !k->work.ended) {
		measure_news(k->opts, "the program goes on without us (pid %d)", (int)k->work.pid);
		workload_leave(&k->work, 128 + SIGINT);
		k->result.left = true;
	} else if (k->has_program && offspring_live(&k->offspring, ENDING)) {
		k->result.outlived = true;
		measure_news(k->opts,
			     "processes that the program has started go on, and are not "
			     "measured any more%s",
			     k->opts->follow ? "" : "; --follow waits for them");
	}
}

static int begin(struct loop *l)
{
	struct counting *k = l->k;
	const struct measure_opts *o = k->opts;
	bool by_exec = k->setup->enable_on_exec;
	bool later = o->delay && o->delay != DELAY_FOR_EVER;

	k->start = k->now = counting_clock();
	if (o->for_time)
		l->end = k->start + o->for_time + (later ? o->delay : 0);
	if (later)
		l->enable = k->start + o->delay;
	if (!by_exec && !o->delay && switch_all(k, l->h, true, l->err))
		return -1;
	if (look_after(k, l->err) ||
	    (k->has_program && workload_start(&k->work, k->opts->program.v[0], l->err)))
		return -1;
	if (by_exec)
		k->counting = k->began = true;
	if (o->interval && l->h->interval) {
		l->interval_ns = o->interval;
		l->interval = k->start + o->interval;
	}
	set_tick(l, k->start);
	return 0;
}

int counting_loop(struct counting *k, const struct counting_hooks *h, struct err *err)
{
	struct loop l = { .k = k,
			  .h = h,
			  .end = NEVER,
			  .enable = NEVER,
			  .leave = NEVER,
			  .remind = NEVER,
			  .tick = NEVER,
			  .interval = NEVER,
			  .err = err };

	if (begin(&l))
		return -1;
	if (watch(&l) || stop_counting(&l) || take_reading(&l)) {
		if (k->has_program && !k->work.ended)
			measure_news(k->opts,
				     "waiting for the program, which is not measured any more");
		return -1;
	}
	if (l.interval_ns && !k->enough && h->interval(h->ctx, k, err))
		return -1;
	tell_rest(&l);
	return 0;
}
