/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A note if a program waited more than it worked, with its threads: those of one name together,
 * those that waited longest first.
 */
#include <string.h>

#include "base/num.h"
#include "report/run.h"
#include "report/wait_view.h"

#define SHORT  0.05 /* seconds: starting and ending take as long */
#define NAMES  32   /* distinct ones */
#define SHOWN  3
#define LITTLE 0.05 /* of all waiting: not worth a name */

struct name { /* threads of one name */
	const char *comm;
	uint32_t tid;
	uint64_t threads, waited, time[WAIT_REASONS];
	uint32_t object; /* of the thread that waited longest for one */
	uint64_t object_time;
};

struct names {
	struct name v[NAMES];
	size_t n;
	uint64_t waited, life, unknown;
};

bool run_waited(const struct run_report *r)
{
	double seconds = r->tree->head.seconds;

	return seconds >= SHORT && r->cpu_s < seconds / 2;
}

static void add_run_waits(struct names *all, const struct wait_thread *x)
{
	struct name *name;
	size_t i = 0;

	all->waited += wait_thread_waited(x);
	all->life += wait_thread_time(x, WAIT_STATES);
	all->unknown += wait_thread_time(x, WAIT_UNKNOWN);
	while (i < all->n && strcmp(all->v[i].comm, x->comm))
		i++;
	if (i == NAMES)
		return;
	name = &all->v[i];
	if (i == all->n) {
		*name = (struct name){ .comm = x->comm, .tid = x->tid };
		all->n++;
	}
	name->threads++;
	name->waited += wait_thread_waited(x);
	for (size_t k = 0; k < WAIT_REASONS; k++)
		name->time[k] += x->time[k];
	/* times of unknown objects are not those of a known one */
	if (x->object && (!name->object || name->object == x->object)) {
		name->object = x->object;
		name->object_time += x->object_time;
	}
}

/* Returns the reason of most of its waiting; NULL: not known. */
static const char *run_wait_mostly(const struct name *x)
{
	uint64_t cpu = 0;

	for (size_t i = 0; i < WAIT_REASONS; i++) {
		if (wait_reasons[i].state == WAIT_RUNNABLE)
			cpu += x->time[i];
		else if (wait_reasons[i].state == WAIT_BLOCKED && i != WAIT_NO_STACK &&
			 i != WAIT_OTHER && x->time[i] > x->waited / 2)
			return wait_reasons[i].name;
	}
	return cpu > x->waited / 2 ? "for a CPU" : NULL;
}

static void put_run_wait_name(struct buf *b, const struct wait *w, const struct name *x)
{
	char n[NUM_MAX], t[NUM_MAX];
	const char *why = run_wait_mostly(x);

	if (x->threads > 1)
		buf_printf(b, "%s threads '%s' %s", num_exact(n, x->threads), x->comm,
			   num_seconds(t, (double)x->waited / 1e9));
	else
		buf_printf(b, "thread '%s' %s", x->comm, num_seconds(t, (double)x->waited / 1e9));
	if (why)
		buf_printf(b, " (%s", why);
	if (why && x->object && x->object_time > x->waited / 2)
		buf_printf(b, ": %s", strtab_get(&w->object, x->object));
	buf_puts(b, why ? ")" : "");
}

static void put_run_wait_names(struct buf *b, const struct wait *w, struct names *all, bool first)
{
	char a[NUM_MAX];
	size_t shown = 0;

	for (; shown < SHOWN; shown++) {
		struct name *most = NULL;

		for (size_t i = 0; i < all->n; i++)
			if (!most || all->v[i].waited > most->waited)
				most = &all->v[i];
		if (!most || !most->waited || (double)most->waited < LITTLE * (double)all->waited)
			break;
		buf_puts(b, shown > 1 ? ", " : shown ? ", then " : !first ? " " : "; ");
		if (!shown)
			buf_puts(b, most->waited > all->waited / 2 ? "most of it " : "longest ");
		put_run_wait_name(b, w, most);
		most->waited = 0;
	}
	if (all->unknown > all->life / 20)
		buf_printf(b, "; %s of the threads' time is unknown",
			   num_percent(a, (double)all->unknown / (double)all->life));
}

void run_put_waited(struct buf *b, const struct run_report *r)
{
	char cpu[NUM_MAX], all[NUM_MAX];
	struct names names = { .n = 0 };

	buf_printf(b, "on a CPU for %s of %s: it waited more than it worked",
		   num_seconds(cpu, r->cpu_s), num_seconds(all, r->tree->head.seconds));
	if (!r->waits) {
		if (r->no_waits)
			buf_printf(b, "; who did is not known: %s", r->no_waits);
		return;
	}
	if (r->files)
		buf_puts(b, "; in run 1");
	for (size_t i = 0; i < r->waits->n; i++)
		add_run_waits(&names, &r->waits->w->thread[r->waits->order[i]]);
	put_run_wait_names(b, r->waits->w, &names, !r->files);
}
