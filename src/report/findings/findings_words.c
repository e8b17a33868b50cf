/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sentences of findings.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "report/findings/findings_int.h"
#include "show/fold.h"

#define FEW	  100 /* samples */
#define NAME_MOST 48  /* columns of a function's name */

/* "62 % +-3": whole points if the error is one or more. */
static void put_share(struct buf *b, double share, double half)
{
	int decimals = half < 0.0095;

	if (half < 0.0005)
		buf_printf(b, "%.1f %% +-<0.1", 100 * share);
	else
		buf_printf(b, "%.*f %% +-%.*f", decimals, 100 * share, decimals, 100 * half);
}

void finding_put_name(struct buf *b, const char *name, size_t most)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, name, false);
	fold_name(b, buf_str(&safe), most, NULL, 0, false);
	b->failed |= safe.failed;
	buf_free(&safe);
}

/* The name as code has it: without the version of a library's symbol, with () if it has no
 * arguments. */
static void put_function(struct buf *b, const char *name)
{
	const char *version = strstr(name, "@@");
	size_t len = version ? (size_t)(version - name) : strlen(name);
	struct buf plain = BUF_INIT;
	const char *s;

	buf_put(&plain, name, len);
	s = buf_str(&plain);
	finding_put_name(b, s, NAME_MOST);
	if (strncmp(s, "0x", 2) != 0 && !strchr(s, '(') && !strchr(s, '@') && !strchr(s, '+') &&
	    *s != '[')
		buf_puts(b, "()");
	b->failed |= plain.failed;
	buf_free(&plain);
}

static void put_place(struct buf *b, const struct finding *f)
{
	put_function(b, f->at.function);
	if (f->file && f->on_line > 0) {
		buf_printf(b, " (%s:%u has ", path_base(f->file), f->line);
		put_share(b, f->on_line, f->on_line_half);
		buf_puts(b, " of it)");
	} else if (f->file)
		buf_printf(b, " (%s:%u)", path_base(f->file), f->line);
	else if (f->at.dso)
		buf_printf(b, " (%s)", path_base(f->at.dso));
}

static void put_caller(struct buf *b, const struct finding *f)
{
	if (!f->caller.function)
		return;
	buf_puts(b, ", called from ");
	put_function(b, f->caller.function);
}

static void put_place_if_known(struct buf *b, const char *before, const struct finding *f)
{
	if (!f->at.function)
		return;
	buf_puts(b, before);
	put_place(b, f);
}

/* ", 12 points of it in work() (a.c:7)" */
static void put_points_of_place(struct buf *b, const struct finding *f)
{
	if (!f->at.function)
		return;
	buf_printf(b, ", %.0f points of it in ", 100 * f->at.share);
	put_place(b, f);
}

static const char *reason_words(enum wait_reason reason)
{
	static const char *const words[WAIT_REASONS] = {
		[WAIT_SLEEP] = "a timer (sleep)",
		[WAIT_FILE_LOCK] = "a file lock",
		[WAIT_POLL] = "descriptors to become ready (poll)",
		[WAIT_PIPE] = "a pipe",
		[WAIT_NOTIFY] = "file events",
		[WAIT_SOCKET] = "a socket",
		[WAIT_TERMINAL] = "a terminal",
		[WAIT_IO] = "a disk or a file system",
		[WAIT_FAULT] = "memory (page faults)",
		[WAIT_TRANSFER] = "a read or a write",
		[WAIT_SIGNAL] = "a signal",
		[WAIT_THROTTLED] = "CPU time: the quota of its cgroup",
		[WAIT_KERNEL] = "a lock inside the kernel",
	};

	return words[reason] ? words[reason] : "something unknown";
}

static void put_who(struct buf *b, const struct finding *f)
{
	char n[NUM_MAX];

	if (f->threads > 1)
		buf_printf(b, "%s threads", num_exact(n, f->threads));
	else if (f->thread)
		buf_printf(b, "thread '%s'", f->thread);
	else
		buf_puts(b, "the program");
}

static void put_lock(struct buf *b, const struct finding *f)
{
	char time[NUM_MAX];

	put_who(b, f);
	buf_puts(b, " waited ");
	put_share(b, f->share, f->half);
	buf_printf(b, " of %s time (%s) for the mutex", f->threads > 1 ? "their" : "its",
		   num_seconds(time, (double)f->time / 1e9));
	if (f->object)
		buf_printf(b, " '%s'", f->object);
	put_place_if_known(b, " in ", f);
	put_caller(b, f);
	if (!(f->idle > 0.5))
		return;
	buf_puts(b, "; no thread ran in ");
	put_share(b, f->idle, f->half / f->share);
	buf_puts(b, " of that: its owner waited, too");
}

static void put_wait(struct buf *b, const struct finding *f)
{
	char time[NUM_MAX], all[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b, " of the time (%s of %s) nothing ran: ",
		   num_seconds(time, (double)f->time / 1e9),
		   num_seconds(all, (double)f->length / 1e9));
	put_who(b, f);
	if (f->reason == WAIT_THROTTLED && f->object)
		buf_printf(b, " waited for CPU time (%s)", f->object);
	else
		buf_printf(b, " waited for %s", reason_words(f->reason));
	if (f->object && f->reason != WAIT_THROTTLED)
		buf_printf(b, ", %s%s", f->object, f->at.function ? "," : "");
	put_place_if_known(b, " in ", f);
	put_caller(b, f);
}

static void put_late(struct buf *b, const struct finding *f)
{
	char time[NUM_MAX], all[NUM_MAX], n[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b,
		   " of the time (%s of %s) thread '%s' (tid %u) ran alone at the end, after %s "
		   "others had ended",
		   num_seconds(time, (double)f->time / 1e9),
		   num_seconds(all, (double)f->length / 1e9), f->thread ? f->thread : "", f->tid,
		   num_exact(n, f->threads));
	put_place_if_known(b, ", in ", f);
}

static void put_kernel(struct buf *b, const struct findings_view *v, const struct finding *f)
{
	put_share(b, f->share, f->half);
	buf_printf(b, " of %s is in the kernel", v->unit);
	if (f->object && f->caller.share > 0) {
		buf_printf(b, ", %.0f points of it for %s%s", 100 * f->caller.share, f->object,
			   strchr(f->object, ' ') ? "" : "()");
		put_place_if_known(b, " by ", f);
	} else {
		put_points_of_place(b, f);
	}
}

static void put_allocations(struct buf *b, const struct findings_view *v, const struct finding *f)
{
	put_share(b, f->share, f->half);
	buf_printf(b, " of %s is spent in allocating and freeing memory", v->unit);
	if (!f->at.function)
		return;
	if (f->at.share > 0)
		buf_printf(b, ", %.0f points of it by ", 100 * f->at.share);
	else
		buf_puts(b, ", most in ");
	put_place(b, f);
}

/* Level 1 of slots has clears of the machine in it. */
static const char *cause_words(const struct finding *f)
{
	switch (f->kind) {
	case FINDING_MEMORY:
		return "wait for memory:";
	case FINDING_MISPREDICTS:
		return !strcmp(f->object, "bad_speculation") ? "are lost to wrong speculation:"
							     : "are lost to mispredicted branches:";
	case FINDING_FRONTEND:
		return "wait for instructions:";
	default:
		return f->of == FINDING_OF_SLOTS ? "are lost:" : "are stalled:";
	}
}

static void put_cause(struct buf *b, const struct finding *f)
{
	put_share(b, f->share, f->half);
	buf_printf(b, " of the %s %s %s", f->of == FINDING_OF_SLOTS ? "slots" : "cycles",
		   cause_words(f), f->object);
	put_points_of_place(b, f);
}

static void put_latency(struct buf *b, const struct finding *f)
{
	put_share(b, f->share, f->half);
	buf_printf(b, " of the latency of loads is of data from %s", f->object);
	put_place_if_known(b, "; most latency has ", f);
}

static void put_sharing(struct buf *b, const struct finding *f)
{
	char n[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b,
		   " of the latency of loads is one cache line of which %s threads use separate "
		   "bytes (false sharing)",
		   num_exact(n, f->threads));
	if (f->object)
		buf_printf(b, ": '%s'", f->object);
	put_place_if_known(b, ", in ", f);
}

static void put_hot(struct buf *b, const struct findings_view *v, const struct finding *f)
{
	put_share(b, f->share, f->half);
	buf_printf(b, " of %s %s in ", v->unit,
		   text_ends(v->unit, strlen(v->unit), "s") ? "are" : "is");
	put_place(b, f);
	put_caller(b, f);
}

static void put_run_queue(struct buf *b, const struct finding *f)
{
	char time[NUM_MAX], all[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b,
		   " of the threads' time went into waiting for CPUs that other threads of the "
		   "program "
		   "had (%s of %s): %.1f could run at a time, and there are %" PRIu64 " CPUs",
		   num_seconds(time, (double)f->time / 1e9),
		   num_seconds(all, (double)f->length / 1e9), f->able, f->cpus);
}

static void put_processes(struct buf *b, const struct findings_view *v, const struct finding *f)
{
	char n[NUM_MAX], time[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b, " of %s %s in ", v->unit,
		   text_ends(v->unit, strlen(v->unit), "s") ? "are" : "is");
	if (f->time)
		buf_printf(b, "%s processes that lived for %s of CPU time each",
			   num_exact(n, f->times), num_seconds(time, (double)f->time / 1e9));
	else
		buf_printf(b, "at least %s processes with less than 10 ms each",
			   num_exact(n, f->times));
	put_place_if_known(b, ", started by ", f);
}

/* The base is named: report --wait has shares of all of the threads' time. */
static void put_no_cpu(struct buf *b, const struct finding *f)
{
	char time[NUM_MAX], all[NUM_MAX];

	put_share(b, f->share, f->half);
	buf_printf(b,
		   " of the threads' time went into waiting for a CPU (%s of %s; their waits for "
		   "each other are not counted)",
		   num_seconds(time, (double)f->time / 1e9),
		   num_seconds(all, (double)f->length / 1e9));
}

void finding_put_statement(struct buf *b, const struct findings_view *v, const struct finding *f)
{
	char n[NUM_MAX];

	switch (f->kind) {
	case FINDING_HOT:
		put_hot(b, v, f);
		break;
	case FINDING_MEMORY:
	case FINDING_MISPREDICTS:
	case FINDING_FRONTEND:
	case FINDING_STALLS:
		if (f->of == FINDING_OF_LATENCY)
			put_latency(b, f);
		else
			put_cause(b, f);
		break;
	case FINDING_FALSE_SHARING:
		put_sharing(b, f);
		break;
	case FINDING_LOCK:
		put_lock(b, f);
		break;
	case FINDING_WAITS:
	case FINDING_IO:
	case FINDING_QUOTA:
		put_wait(b, f);
		break;
	case FINDING_LATE:
		put_late(b, f);
		break;
	case FINDING_ALLOCATIONS:
		put_allocations(b, v, f);
		break;
	case FINDING_KERNEL:
		put_kernel(b, v, f);
		break;
	case FINDING_INTERPRETER:
		put_share(b, f->share, f->half);
		buf_printf(b,
			   " of %s is in the interpreter of %s: which functions of the program is "
			   "not recorded",
			   v->unit, f->object);
		break;
	case FINDING_UNNAMED:
		put_share(b, f->share, f->half);
		buf_printf(b, " of %s is in code that %s made and that has no names", v->unit,
			   f->object);
		break;
	case FINDING_RUN_QUEUE:
		put_run_queue(b, f);
		break;
	case FINDING_PROCESSES:
		put_processes(b, v, f);
		break;
	case FINDING_NO_CPU:
		put_no_cpu(b, f);
		break;
	case FINDING_LOST:
		put_share(b, f->share, f->half);
		buf_printf(b, " of the records were lost (%s): shares may be wrong",
			   num_exact(n, f->times));
		break;
	case FINDING_KINDS:
		break;
	}
}

/* What the program waited for, if that is most of its time. */
static void put_waited(struct buf *b, const struct findings_view *v)
{
	const struct findings *f = v->f;
	char cpu[NUM_MAX], all[NUM_MAX];

	buf_printf(b, "the program was on a CPU for %s of %s",
		   num_seconds(cpu, (double)f->on_cpu / 1e9),
		   num_seconds(all, (double)f->length / 1e9));
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->v[i];

		if (x->kind != FINDING_WAITS && x->kind != FINDING_IO && x->kind != FINDING_QUOTA)
			continue;
		buf_printf(b, ", and waited most for %s", reason_words(x->reason));
		if (x->at.function) {
			buf_puts(b, " in ");
			put_function(b, x->at.function);
		}
		return;
	}
	if (!isnan(f->head.share)) {
		buf_puts(b, "; ");
		put_hot(b, v, &f->head);
	}
}

/* A finding about all samples says more than a function. */
static bool is_broad(const struct finding *f)
{
	return f->kind == FINDING_ALLOCATIONS || f->kind == FINDING_KERNEL ||
	       f->kind == FINDING_INTERPRETER || f->kind == FINDING_UNNAMED;
}

/* "; it waits for memory: 42 points (Local_DRAM)", of the function before. */
static void put_why(struct buf *b, const struct findings_view *v)
{
	const struct finding *h = &v->f->head;

	for (size_t i = 0; i < v->f->n; i++) {
		const struct finding *x = &v->f->v[i];

		if ((x->of != FINDING_OF_CYCLES && x->of != FINDING_OF_SLOTS) || !x->at.function ||
		    !(x->at.share > 0) || strcmp(x->at.function, h->at.function) != 0)
			continue;
		buf_printf(b, "; it %s: %.0f points (%s)",
			   x->kind == FINDING_MEMORY	    ? "waits for memory"
			   : x->kind == FINDING_MISPREDICTS ? "mispredicts branches"
			   : x->kind == FINDING_FRONTEND    ? "waits for instructions"
							    : "is stalled",
			   100 * x->at.share, x->object);
		return;
	}
}

void finding_put_headline(struct buf *b, const struct findings_view *v)
{
	const struct findings *f = v->f;
	const struct finding *h = &f->head;

	if (f->waited > 0.5)
		put_waited(b, v);
	else if (f->n && is_broad(f->v) && f->v->share > h->share)
		finding_put_statement(b, v, f->v);
	else if (isnan(h->share) || !h->at.function)
		return;
	else if (h->half > h->share / 2 && f->samples < FEW)
		buf_printf(b, "%" PRIu64 " samples are too few for a function to stand out",
			   f->samples);
	else if (!strncmp(h->at.function, "0x", 2))
		buf_puts(
			b,
			"functions have no names here: the programs that ran are missing, or their "
			"symbols");
	else if (f->spread) {
		buf_printf(b, "%s %s spread: no function has more than ", v->unit,
			   text_ends(v->unit, strlen(v->unit), "s") ? "are" : "is");
		put_function(b, h->at.function);
		buf_puts(b, ", ");
		put_share(b, h->share, h->half);
	} else {
		put_hot(b, v, h);
		put_why(b, v);
	}
}
