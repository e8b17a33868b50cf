/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop: signals, the program's end, --for, -D, --control, -I and the reader's own ticks.
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
#define ENDING	 20 /* ms after which processes that end with the program have ended */
#define ONE_HOUR (3600 * SECOND)

#define WORDS_MOST 64 /* of --control, before other things have their turn */

#define NEVER COUNTING_NEVER

static int switch_all(struct counting *k, bool on, struct err *err)
{
	const struct counting_reader *r = &k->reader;

	if (k->counting == on || (on && k->stopped))
		return 0;
	k->counting = on;
	k->began |= on;
	if (r->switched && r->switched(r->ctx, k, on, err))
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

int counting_stop(struct counting *k, struct err *err)
{
	if (k->stopped)
		return 0;
	if (switch_all(k, false, err))
		return -1;
	k->stopped = true;
	k->stop = k->now;
	return 0;
}

static void note_event(struct counting *k, enum counting_event what)
{
	k->loop.pending |= 1u << what;
}

/* `typed`: a terminal has sent it to the program as well; a kill() only to us. */
static int pass_interrupt_on(struct counting *k, int number, bool typed, struct err *err)
{
	struct counting_loop *l = &k->loop;

	k->result.interrupted = true;
	if (!l->ended)
		k->result.signal = number;
	if (!k->has_program || k->work.ended)
		return counting_stop(k, err);
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
	return counting_stop(k, err);
}

static int on_signals(struct counting *k, struct err *err)
{
	struct signalfd_siginfo s;

	while (read(k->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		int number = (int)s.ssi_signo;

		if (number == SIGCHLD) { /* comes once: this reader has to reap */
			if (k->has_program)
				(void)workload_reap(&k->work, false);
			continue;
		}
		if (number == SIGUSR1) {
			if (!k->work.ended)
				note_event(k, COUNTING_SO_FAR);
			continue;
		}
		if (number == SIGUSR2) {
			note_event(k, COUNTING_SNAPSHOT);
			continue;
		}
		if (pass_interrupt_on(k, number, s.ssi_code == SI_KERNEL, err))
			return -1;
	}
	return 0;
}

/* However many words come, signals, --for and intervals have their turns between them. */
static int on_control(struct counting *k, struct err *err)
{
	for (unsigned i = 0; i < WORDS_MOST; i++) {
		enum control_word word = control_next(&k->control, k->opts);

		if (word == CONTROL_NOTHING)
			break;
		if ((word == CONTROL_ENABLE && switch_all(k, true, err)) ||
		    (word == CONTROL_DISABLE && switch_all(k, false, err)))
			return -1;
		if (word == CONTROL_STOP)
			k->loop.end = k->now;
		if (word == CONTROL_SNAPSHOT && measure_several(k->opts)) {
			note_event(k, COUNTING_SNAPSHOT);
			k->owes = true;
			return 0;
		}
		if (word == CONTROL_SNAPSHOT)
			measure_news(k->opts, "--control: snapshot goes with record --overwrite or "
					      "--switch-output");
		control_answer(&k->control);
	}
	return 0;
}

void counting_snapshot_done(struct counting *k)
{
	if (k->owes)
		control_answer(&k->control);
	k->owes = false;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct timespec until_next(const struct counting *k)
{
	const struct counting_loop *l = &k->loop;
	uint64_t now = counting_clock(), next = now + ONE_HOUR, wait;

	next = earlier(next, earlier(l->end, l->enable));
	next = earlier(next, earlier(l->leave, earlier(l->tick, l->interval)));
	next = earlier(next, earlier(l->remind, k->due));
	if ((!k->has_program && !k->who.whole_cpus) || k->work.ended)
		next = earlier(next, now + CHECK);
	wait = next > now ? next - now : 0;
	return (struct timespec){ (time_t)(wait / SECOND), (long)(wait % SECOND) };
}

/* The moments of a series stay where they were, however late we are for one. */
static uint64_t next_moment(uint64_t due, uint64_t step, uint64_t now)
{
	return now < due ? due : due + ((now - due) / step + 1) * step;
}

static int read_by_reader(struct counting *k, struct err *err)
{
	return k->reader.read ? k->reader.read(k->reader.ctx, k, err) : 0;
}

/* A reading costs the way to the counters: none shortly before that of an interval. */
static void set_tick(struct counting *k, uint64_t now)
{
	uint64_t step = k->reader.tick ? k->reader.tick(k->reader.ctx) : 0;

	k->loop.tick = !step || now + step + step / 2 > k->loop.interval ? NEVER : now + step;
}

static int do_what_is_due(struct counting *k, struct err *err)
{
	struct counting_loop *l = &k->loop;
	bool over;

	if (k->now >= l->enable) {
		l->enable = NEVER;
		if (switch_all(k, true, err))
			return -1;
	}
	/* at the end the last interval is due anyway */
	over = k->now >= l->interval && k->now < l->end;
	if (k->now >= l->tick || over) { /* one reading serves both */
		if (read_by_reader(k, err))
			return -1;
		if (over) {
			l->interval = next_moment(l->interval, l->interval_ns, k->now);
			note_event(k, COUNTING_INTERVAL);
		}
		l->retick = true;
	}
	if (k->now >= k->due) {
		k->due = NEVER;
		note_event(k, COUNTING_DUE);
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
		if (counting_stop(k, err))
			return -1;
		if (k->has_program && !k->work.ended)
			(void)kill(k->work.pid, SIGTERM);
	}
	return 0;
}

/* --follow: processes that the program has started go on. */
static bool following(const struct counting *k)
{
	return k->opts->follow && !k->stopped && offspring_live(&k->offspring, 0);
}

static bool going_on(const struct counting *k)
{
	if (k->has_program)
		return k->work.ended ? following(k) : k->now < k->loop.leave;
	return !k->stopped && !k->enough && (k->who.whole_cpus || targets_live(&k->who));
}

/* Waits for something to happen; *last: the program has ended. */
static int one_round(struct counting *k, bool *last, struct err *err)
{
	struct counting_loop *l = &k->loop;
	struct pollfd fds[3] = { { .fd = k->signals, .events = POLLIN },
				 { .fd = k->control.fd, .events = POLLIN },
				 { .fd = k->wake, .events = POLLIN } };
	bool words = k->control.have > 0; /* that have been read, not taken */
	struct timespec wait;

	if (l->retick)
		set_tick(k, counting_clock());
	l->retick = false;
	wait = words ? (struct timespec){ 0, 0 } : until_next(k);
	l->ended = k->work.ended;
	if (ppoll(fds, 3, &wait, NULL) < 0 && errno != EINTR)
		return err_sys(err, "poll");
	k->now = counting_clock();
	/* the end of the program comes before a reading that would find it gone, but not before an
	 * interrupt, which is for all runs; SIGCHLD reports it */
	if (k->has_program && fds[0].revents)
		(void)workload_reap(&k->work, false);
	if (fds[0].revents && on_signals(k, err))
		return -1;
	*last = k->has_program && k->work.ended && !following(k);
	if (*last)
		return 0;
	if ((words || fds[1].revents) && on_control(k, err))
		return -1;
	if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL) && !(fds[1].revents & POLLIN))
		control_close(&k->control); /* a pipe whose other end is gone */
	if (fds[2].revents)
		note_event(k, COUNTING_WOKEN);
	return do_what_is_due(k, err);
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

/* News on processes of the program that are not measured any more. */
static void tell_rest(struct counting *k)
{
	if (k->loop.leave != NEVER && !k->work.ended) {
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

static int begin_loop(struct counting *k, struct err *err)
{
	struct counting_loop *l = &k->loop;
	const struct measure_opts *o = k->opts;
	bool by_exec = k->setup->enable_on_exec;
	bool later = o->delay && o->delay != DELAY_FOR_EVER;

	l->end = l->enable = l->leave = l->remind = l->tick = l->interval = NEVER;
	k->start = k->now = counting_clock();
	if (o->for_time)
		l->end = k->start + o->for_time + (later ? o->delay : 0);
	if (later)
		l->enable = k->start + o->delay;
	if (!by_exec && !o->delay && switch_all(k, true, err))
		return -1;
	if (look_after(k, err) ||
	    (k->has_program && workload_start(&k->work, k->opts->program.v[0], err)))
		return -1;
	if (by_exec)
		k->counting = k->began = true;
	if (o->interval) {
		l->interval_ns = o->interval;
		l->interval = k->start + o->interval;
	}
	set_tick(k, k->start);
	l->began = true;
	return 0;
}

static void set_result(struct counting *k)
{
	const struct rusage *u = &k->work.usage;

	k->result.wall_s = counting_seconds(k);
	k->result.user_s = (double)u->ru_utime.tv_sec + (double)u->ru_utime.tv_usec / 1e6;
	k->result.sys_s = (double)u->ru_stime.tv_sec + (double)u->ru_stime.tv_usec / 1e6;
	k->result.status = k->work.status;
	k->result.killed_by = k->work.killed_by;
}

/* Until there is an event, or nothing more to count. */
static int run_loop(struct counting *k, struct err *err)
{
	struct counting_loop *l = &k->loop;
	bool last = false;

	if (!l->began && begin_loop(k, err))
		return -1;
	while (!l->pending && !l->over && !last && going_on(k))
		if (one_round(k, &last, err))
			return -1;
	if (l->pending || l->over)
		return 0;
	k->now = counting_clock();
	if (counting_stop(k, err) || read_by_reader(k, err))
		return -1;
	l->over = true;
	if (l->interval_ns && !k->enough)
		note_event(k, COUNTING_INTERVAL);
	return 0;
}

int counting_next(struct counting *k, enum counting_event *what, struct err *err)
{
	unsigned *pending = &k->loop.pending;

	if (run_loop(k, err)) {
		set_result(k);
		return -1;
	}
	if (*pending) {
		*what = (enum counting_event)__builtin_ctz(*pending);
		*pending &= *pending - 1;
		return 0;
	}
	tell_rest(k);
	set_result(k);
	*what = COUNTING_OVER;
	return 0;
}
