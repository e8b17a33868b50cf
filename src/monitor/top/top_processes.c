/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes of an interval: those that were sampled, or without samples all of /proc. Counts of
 * /proc are compared with those of the last reading. If that is longer ago than one interval, the
 * difference belongs to this one in an unknown part: its middle, with an error that spans all of
 * it.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/error_bar.h"
#include "collect/sysfs.h"
#include "monitor/top/top_int.h"

#define NEW "it was not seen before this interval"

/* ---- /proc ----------------------------------------------------------------------------------- */

static int scan(struct top *t, struct err *err)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int rc = 0;

	top_ran_clear(t);
	while (d && !rc && (e = readdir(d))) {
		struct top_ran x = { 0 };
		uint64_t pid;

		if (!text_natural(&pid, e->d_name, strlen(e->d_name)) || pid > INT32_MAX)
			continue;
		x.pid = (uint32_t)pid;
		if (vec_push(&t->ran, x))
			rc = err_nomem(err);
	}
	if (d)
		(void)closedir(d);
	return rc;
}

/* ---- the last reading ------------------------------------------------------------------------ */

static void forget_ended(struct top *t)
{
	vec_each (&t->seen, struct top_seen *, s)
		free(s->cgroup);
	t->seen.n = 0;
	u64map_free(&t->seen_at);
	t->thread.n = 0;
	u64map_free(&t->switched);
}

/* If there are too many, those of the last two intervals are kept. */
static int make_processes_room(struct top *t, struct err *err)
{
	size_t kept = 0;

	if (t->thread.n > 8 * TOP_PROCESSES) {
		t->thread.n = 0;
		u64map_free(&t->switched);
	}
	if (t->seen.n <= 2 * TOP_PROCESSES)
		return 0;
	u64map_free(&t->seen_at);
	for (size_t i = 0; i < t->seen.n; i++) {
		uint64_t *at;

		if (t->seen.v[i].interval + 1 < t->now.number) {
			free(t->seen.v[i].cgroup);
			continue;
		}
		t->seen.v[kept++] = t->seen.v[i];
		at = u64map_at(&t->seen_at, t->seen.v[i].pid, NULL);
		if (!at) {
			forget_ended(t);
			return err_nomem(err);
		}
		*at = kept;
	}
	t->seen.n = kept;
	return 0;
}

static struct top_seen *seen_of(struct top *t, uint32_t pid, uint64_t start)
{
	bool fresh;
	uint64_t *at = u64map_at(&t->seen_at, pid, &fresh);
	struct top_seen *s;

	if (!at)
		return NULL;
	if (fresh || !*at) {
		*at = 0;
		s = vec_add(&t->seen);
		if (!s)
			return NULL;
		*at = t->seen.n;
		*s = (struct top_seen){ .pid = pid, .start = start };
		return s;
	}
	s = &t->seen.v[*at - 1];
	if (s->start != start) { /* another one has its number */
		free(s->cgroup);
		*s = (struct top_seen){ .pid = pid, .start = start };
	}
	return s;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* `step`: the worth of one; `recent`: the last reading was an interval ago. */
static struct estimate process_rate(double more, double step, bool recent, double seconds)
{
	double v = more * step / seconds;

	return recent ? (struct estimate){ v, 0, NULL } : (struct estimate){ v / 2, v / 2, NULL };
}

/* A clock that samples has nanoseconds as its period. */
static struct estimate cpu_by_samples(const struct top *t, const struct top_ran *x)
{
	struct error_bar e;
	double W = (double)t->now.samples;

	if (!t->sampling || !*t->no_cycles || !x->samples)
		return ESTIMATE_NONE(NEW);
	e = error_bar_share((double)x->samples, W, W);
	return (struct estimate){ x->period / 1e9 / t->now.seconds,
				  x->period / 1e9 / t->now.seconds * (e.half / e.share), NULL };
}

static struct estimate switches_of(struct top *t, const struct top_ran *x, uint64_t now,
				   size_t *budget)
{
	double sum = 0;
	size_t found = 0;
	bool recent = true;

	for (size_t i = 0; i < (x->tid.n ? x->tid.n : 1); i++) {
		uint32_t tid = x->tid.n ? x->tid.v[i] : x->pid;
		uint64_t count, *at;
		char text[4096];
		bool fresh;
		ssize_t n;

		if (!*budget)
			return ESTIMATE_NONE("too many threads ran");
		--*budget;
		n = sys_read(text, sizeof(text), "", "proc/%u/task/%u/status", x->pid, tid);
		if (n <= 0 || !top_switches_parse(&count, text, (size_t)n))
			continue;
		at = u64map_at(&t->switched, tid, &fresh);
		if (!at || (fresh && vec_push(&t->thread, ((struct top_switched){ count, now }))))
			return ESTIMATE_NONE("out of memory");
		if (fresh) {
			*at = t->thread.n;
			continue;
		}
		if (count >= t->thread.v[*at - 1].count) {
			sum += (double)(count - t->thread.v[*at - 1].count);
			recent &= (double)(now - t->thread.v[*at - 1].at) < 1.5e9 * t->now.seconds;
			found++;
		}
		t->thread.v[*at - 1] = (struct top_switched){ count, now };
	}
	return found ? process_rate(sum, 1, recent, t->now.seconds) : ESTIMATE_NONE(NEW);
}

static const char *read_cgroup(struct top_seen *s)
{
	char text[4096];
	const char *path;
	size_t len;
	ssize_t n;

	if (s->cgroup)
		return s->cgroup;
	n = sys_read(text, sizeof(text), "", "proc/%u/cgroup", s->pid);
	if (n > 0 && top_cgroup_parse(&path, &len, text, (size_t)n))
		s->cgroup = strndup(path, len);
	return s->cgroup ? s->cgroup : "";
}

static int read_process(struct top *t, struct arena *a, const struct top_ran *x, uint64_t now,
			struct top_process *p, struct err *err)
{
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct top_stat s;
	struct top_seen *was;
	char text[1024];
	ssize_t n = sys_read(text, sizeof(text), "", "proc/%u/stat", x->pid);

	if (n <= 0 || !top_stat_parse(&s, text, (size_t)n))
		return 0; /* it has ended */
	was = seen_of(t, x->pid, s.start);
	if (!was)
		return err_nomem(err);
	p->state = s.state;
	p->threads = s.threads;
	p->comm = arena_strdup(a, s.comm);
	p->cgroup = arena_strdup(a, read_cgroup(was));
	if (!p->comm || !p->cgroup)
		return err_nomem(err);
	if (was->at && s.ticks >= was->ticks) {
		bool recent = was->interval + 1 >= t->now.number;

		p->faults =
			process_rate((double)(s.faults - was->faults), 1, recent, t->now.seconds);
		p->major = process_rate((double)(s.major - was->major), 1, recent, t->now.seconds);
		if (recent || !*t->no_cycles)
			p->cpu = process_rate((double)(s.ticks - was->ticks), tick, recent,
					      t->now.seconds);
		if (!isnan(p->cpu.half))
			p->cpu.half += tick / t->now.seconds;
	}
	was->ticks = s.ticks;
	was->faults = s.faults;
	was->major = s.major;
	was->at = now;
	was->interval = t->now.number;
	return 0;
}

static int fill_process(struct top *t, struct arena *a, const struct top_ran *x, uint64_t now,
			struct top_process *p, struct err *err)
{
	*p = (struct top_process){ .pid = x->pid,
				   .comm = x->comm ? x->comm : "",
				   .cgroup = "",
				   .function = x->function,
				   .samples = x->samples,
				   .cpu = cpu_by_samples(t, x),
				   .share = ESTIMATE_NONE("not sampled"),
				   .switches = ESTIMATE_NONE(NEW),
				   .faults = ESTIMATE_NONE(NEW),
				   .major = ESTIMATE_NONE(NEW) };
	if (x->samples) {
		double W = (double)t->now.samples;
		struct error_bar e = error_bar_share((double)x->samples, W, W);

		p->share = (struct estimate){ e.share, e.half, NULL };
	}
	return read_process(t, a, x, now, p, err);
}

static int by_process_cpu(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;
	double u = isnan(x->cpu.v) ? -1 : x->cpu.v, v = isnan(y->cpu.v) ? -1 : y->cpu.v;

	if (u != v)
		return u < v ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* ---- cgroups --------------------------------------------------------------------------------- */

/* Adds a value if it is known. */
static void add(struct estimate *to, const struct estimate *v)
{
	if (isnan(v->v))
		return;
	if (isnan(to->v))
		*to = (struct estimate){ 0, 0, NULL };
	to->v += v->v;
	to->half = hypot(to->half, v->half);
}

static int by_cpu_of(const void *a, const void *b)
{
	const struct top_cgroup *x = a, *y = b;
	double u = isnan(x->cpu.v) ? -1 : x->cpu.v, v = isnan(y->cpu.v) ? -1 : y->cpu.v;

	return u != v ? (u < v ? 1 : -1) : strcmp(x->path, y->path);
}

static int cgroups(struct top *t, struct arena *a, struct err *err)
{
	const struct top_process *p = t->now.process;
	struct top_cgroup *g = arena_alloc(a, (t->now.n_processes + 1) * sizeof(*g));
	struct u64map at = U64MAP_INIT;
	size_t n = 0;

	if (!g)
		return err_nomem(err);
	for (size_t i = 0; i < t->now.n_processes; i++) {
		uint64_t *place;
		bool fresh;

		if (!*p[i].cgroup)
			continue; /* it ended before its cgroup was read */
		place = u64map_at(&at, hash_bytes(p[i].cgroup, strlen(p[i].cgroup)), &fresh);
		if (!place) {
			u64map_free(&at);
			return err_nomem(err);
		}
		if (fresh) {
			*place = n++;
			g[*place] = (struct top_cgroup){ .path = p[i].cgroup,
							 .name = top_cgroup_name(a, p[i].cgroup),
							 .cpu = ESTIMATE_NONE(NEW),
							 .share = ESTIMATE_NONE("not sampled"),
							 .switches = ESTIMATE_NONE(NEW),
							 .faults = ESTIMATE_NONE(NEW) };
			if (!g[*place].name)
				g[*place].name = "";
		}
		g[*place].processes++;
		add(&g[*place].cpu, &p[i].cpu);
		add(&g[*place].share, &p[i].share);
		add(&g[*place].switches, &p[i].switches);
		add(&g[*place].faults, &p[i].faults);
	}
	u64map_free(&at);
	qsort(g, n, sizeof(*g), by_cpu_of);
	t->now.cgroup = g;
	t->now.n_cgroups = n;
	return 0;
}

int top_processes(struct top *t, struct arena *a, struct err *err)
{
	uint64_t now = counting_clock();
	size_t n, budget = TOP_THREADS, kept = 0;
	struct top_process *p;

	if ((!t->sampling && scan(t, err)) || make_processes_room(t, err))
		return -1;
	n = t->ran.n < TOP_PROCESSES ? t->ran.n : TOP_PROCESSES;
	p = arena_alloc(a, (n + 1) * sizeof(*p));
	if (!p)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct top_ran *x = &t->ran.v[i];

		if (fill_process(t, a, x, now, &p[kept], err))
			return -1;
		if (!t->sampling && !(p[kept].cpu.v > 0) && p[kept].faults.v == 0)
			continue; /* it did not run */
		if (p[kept].state)
			p[kept].switches = switches_of(t, x, now, &budget);
		kept++;
	}
	qsort(p, kept, sizeof(*p), by_process_cpu);
	t->now.process = p;
	t->now.n_processes = kept;
	t->now.more_processes = t->ran.n - n;
	return cgroups(t, a, err);
}
