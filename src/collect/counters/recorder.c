/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/recorder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "base/vec.h"
#include "collect/cgroup.h"
#include "collect/counters/record_queue.h"
#include "collect/counters/ring_order.h"
#include "collect/jitter.h"
#include "collect/sysfs.h"

#define WAIT_LEAST_MS	10u
#define CHANGES_A_ROUND 64u /* of periods: each is a call, and an interrupt of its CPU */

struct ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t size;
	int fd; /* the counter it belongs to */
	uint8_t *aux;
	uint64_t aux_size; /* 0: none */
	int cpu;
	pid_t task;
};

struct counter {
	int fd;
	uint32_t event;
	pid_t task;	  /* -1: whatever runs */
	unsigned seen;	  /* samples since the period was set */
	uint64_t nominal; /* period to vary; 0: it stays */
	uint64_t step;	  /* of recorder_event */
};

struct event_ids {
	VEC(uint64_t) id;
};

/* How a counter reports its losses: by itself, by its group's leader, or not at all. */
enum lost_how { LOST_UNTOLD, LOST_ALONE, LOST_GROUP };

struct recorder {
	VEC(struct counter) counter;
	VEC(struct ring) ring;
	struct event_ids *ids; /* by event */
	enum lost_how *lost;   /* by event */
	bool *held;	       /* by event: not enabled with the others */
	size_t n_events;
	unsigned flush_ms;
	atomic_uint wait_ms; /* up to flush_ms: shorter if periods are to change sooner */
	bool reads_lost;
	bool in_order, apart;
	size_t rest; /* bytes of a record's second part, on the draining thread */
	uint8_t shorter[UINT16_MAX + 1];
	struct ring_order order;
	struct record_queue *queue; /* with `apart`: before the sink */
	double jitter;
	uint64_t seed;
	struct u64map by_id; /* index of the counter, with jitter */
	VEC(uint32_t) due;   /* counters that are to have a new period */
	struct recorder_sink sink;
	pthread_t thread;
	bool running;
	int wake;
	atomic_bool stop;
	struct err failure; /* the thread's */
};

/* As many files as the hard limit lets us: counters are CPUs x tasks x events. */
static void raise_file_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l))
		return; /* then the old one has to do */
}

static void explain_open(struct err *err, const struct recorder_event *e, int saved)
{
	errno = saved;
	(void)err_sys(err, "%s: perf_event_open", e->name);
	switch (saved) {
	case EACCES:
	case EPERM:
		(void)err_hint(err, "sysctl kernel.perf_event_paranoid=1, or run as root; `cyclade "
				    "doctor` tells more");
		break;
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		(void)err_hint(err, "this machine has no such counter; `cyclade list events` has "
				    "those it knows");
		break;
	case EMFILE:
		(void)err_hint(err, "too many counters at once: raise `ulimit -n`, or watch fewer "
				    "tasks or CPUs");
		break;
	case EINVAL:
		(void)err_hint(err, "the kernel does not take this combination; try fewer options "
				    "or another event");
		break;
	case EBUSY:
		(void)err_hint(err, "another program holds the counter: `cyclade doctor`");
		break;
	default:
		break;
	}
}

static bool counts_on(const struct recorder_event *e, const struct recorder_setup *s, int cpu)
{
	if (cpu < 0)
		return true;
	if (!e->beyond && !cpu_list_has(s->cpus, s->n_cpus, (uint32_t)cpu))
		return false;
	return !e->cpus || cpu_list_has(e->cpus, e->n_cpus, (uint32_t)cpu);
}

static uint64_t draw_period(struct recorder *r, uint64_t nominal, uint64_t step)
{
	return step ? step * jitter_period(nominal / step, r->jitter, &r->seed)
		    : jitter_period(nominal, r->jitter, &r->seed);
}

/* A counter of its own period, if that can be. */
static uint64_t vary_first(struct recorder *r, struct perf_event_attr *a, uint64_t step)
{
	uint64_t nominal = jitter_can_change(a) ? a->sample_period : 0;

	if (r->jitter <= 0 || !jitter_can(a))
		return 0;
	a->sample_period = draw_period(r, a->sample_period, step);
	return nominal;
}

static int map_aux(struct ring *ring, uint64_t bytes, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	ring->page->aux_offset = page + ring->size;
	ring->page->aux_size = bytes;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
		 (off_t)ring->page->aux_offset);
	if (p == MAP_FAILED) {
		(void)err_sys(err, "mapping an AUX ring of %llu KB",
			      (unsigned long long)bytes >> 10);
		return err_hint(err, "over the limit for locked memory: record as root, fewer CPUs "
				     "(-C), or sysctl kernel.perf_event_mlock_kb=8192");
	}
	ring->aux = p;
	ring->aux_size = bytes;
	return 0;
}

static int map_ring(struct recorder *r, int fd, uint64_t bytes, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = page + bytes;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct ring ring = { .size = bytes, .fd = fd };

	if (p == MAP_FAILED) {
		int saved = errno;

		(void)err_sys(err, "mapping a ring of %llu KB", (unsigned long long)bytes >> 10);
		if (saved == EPERM)
			return err_hint(err, "over the limit for locked memory: smaller rings (-m "
					     "64), or sysctl kernel.perf_event_mlock_kb=2048");
		if (saved == ENOMEM)
			return err_hint(
				err, "not that much memory in one piece: smaller rings (-m 512)");
		return -1;
	}
	ring.page = p;
	ring.data = (uint8_t *)p + page;
	if (vec_push(&r->ring, ring)) {
		(void)munmap(p, len);
		return err_nomem(err);
	}
	return 0;
}

struct opening {
	struct recorder *r;
	const struct recorder_setup *s;
	int cpu;
	pid_t task;
	int ring_fd;  /* of this CPU or task, -1: none yet */
	int aux_fd;   /* the same of an AUX ring */
	int *leaders; /* by event: the leader's fd at this place */
};

/* Shares the ring of its CPU or task, or maps it. */
static int find_ring(struct opening *o, const struct recorder_event *e, int fd, struct err *err)
{
	int *ring = e->aux_bytes ? &o->aux_fd : &o->ring_fd;
	struct ring *mine;

	if (*ring >= 0) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, *ring))
			return err_sys(err, "%s: sharing the ring", e->name);
		return 0;
	}
	*ring = fd;
	if (map_ring(o->r, fd, o->s->ring_bytes ? o->s->ring_bytes : RECORDER_RING, err))
		return -1;
	mine = vec_last(&o->r->ring);
	mine->cpu = o->cpu;
	mine->task = o->task;
	return e->aux_bytes ? map_aux(mine, e->aux_bytes, err) : 0;
}

/* Opens one event at one place; a task that has ended meanwhile is skipped. */
static int open_sampler(struct opening *o, uint32_t i, struct err *err)
{
	const struct recorder_event *e = &o->s->event[i];
	int group = e->group == (int)i ? -1 : o->leaders[e->group], fd;
	int cgroup_fd = e->beyond ? -1 : o->s->cgroup_fd;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;
	struct perf_event_attr attr = e->attr;
	struct counter c = { .event = i, .task = o->task, .step = e->period_step };
	uint64_t id, *at;

	o->leaders[i] = -1;
	if (!counts_on(e, o->s, o->cpu))
		return 0;
	c.nominal = e->aux_bytes ? 0 : vary_first(o->r, &attr, e->period_step);
	if (cgroup_fd >= 0)
		flags |= PERF_FLAG_PID_CGROUP;
	fd = (int)syscall(SYS_perf_event_open, &attr, (cgroup_fd >= 0 ? cgroup_fd : o->task),
			  o->cpu, group, flags);
	if (fd < 0) {
		int saved = errno;

		if (saved == ESRCH && o->s->n_tasks > 1)
			return 0;
		if (saved == EACCES && o->task > 0) {
			(void)err_sys(err, "task %d may not be watched", (int)o->task);
			return err_hint(
				err, "it is another user's, or privileged: be that user, or root");
		}
		if (!cgroup_refused(e->name, saved, cgroup_fd, o->cpu, err))
			explain_open(err, e, saved);
		return -1;
	}
	c.fd = fd;
	if (vec_push(&o->r->counter, c)) {
		(void)close(fd);
		return err_nomem(err);
	}
	o->leaders[i] = fd;
	if (e->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter))
		return err_sys(err, "%s: the kernel refuses --filter '%.200s'", e->name, e->filter);
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return err_sys(err, "%s: PERF_EVENT_IOC_ID", e->name);
	if (vec_push(&o->r->ids[i].id, id))
		return err_nomem(err);
	if (c.nominal) {
		at = u64map_at(&o->r->by_id, id, NULL);
		if (!at)
			return err_nomem(err);
		*at = o->r->counter.n - 1;
	}
	return find_ring(o, e, fd, err);
}

/* Every event of one CPU (-1: wherever the tasks are) for every task; all share the CPU's ring. */
static int open_cpu(struct recorder *r, const struct recorder_setup *s, int cpu, int *leaders,
		    struct err *err)
{
	struct opening o = {
		.r = r, .s = s, .cpu = cpu, .ring_fd = -1, .aux_fd = -1, .leaders = leaders
	};
	size_t n_tasks = s->tasks ? s->n_tasks : 1;

	for (size_t t = 0; t < n_tasks; t++) {
		o.task = s->tasks ? s->tasks[t] : -1;
		if (cpu < 0)
			o.ring_fd = o.aux_fd = -1; /* a counter without a CPU cannot share */
		for (uint32_t i = 0; i < s->n_events; i++)
			if (open_sampler(&o, i, err))
				return -1;
	}
	return 0;
}

static int rings_by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct cpu_set {
	VEC(int) v; /* ascending, each once; -1: no CPU in particular */
};

/* The places to open: setup's CPUs, and those of events that go beyond them. */
static int cpus_to_open(struct cpu_set *set, const struct recorder_setup *s, struct err *err)
{
	size_t kept = 0;

	if (!s->cpus)
		return vec_push(&set->v, -1) ? err_nomem(err) : 0;
	for (size_t c = 0; c < s->n_cpus; c++)
		if (vec_push(&set->v, (int)s->cpus[c]))
			return err_nomem(err);
	for (size_t i = 0; i < s->n_events; i++)
		for (size_t c = 0; s->event[i].beyond && c < s->event[i].n_cpus; c++)
			if (vec_push(&set->v, (int)s->event[i].cpus[c]))
				return err_nomem(err);
	vec_sort(&set->v, rings_by_number);
	for (size_t i = 0; i < set->v.n; i++)
		if (!i || set->v.v[i] != set->v.v[i - 1])
			set->v.v[kept++] = set->v.v[i];
	set->v.n = kept;
	assert(pairs_hold(kept, i, set->v.v[i] < set->v.v[i + 1]));
	return 0;
}

static int open_all(struct recorder *r, const struct recorder_setup *s, struct err *err)
{
	int *leaders = calloc(s->n_events, sizeof(*leaders));
	struct cpu_set set = { VEC_INIT };
	int rc = -1;

	if (!leaders)
		return err_nomem(err);
	if (cpus_to_open(&set, s, err))
		goto out;
	vec_each (&set.v, const int *, cpu) {
		if (open_cpu(r, s, *cpu, leaders, err))
			goto out;
	}
	if (!r->ring.n) {
		(void)err_set(err, ERR_NOT_FOUND, "nothing to watch: every task has ended already");
		goto out;
	}
	rc = 0;
out:
	vec_free(&set.v);
	free(leaders);
	return rc;
}

static enum lost_how lost_how(const struct recorder_event *e, size_t i)
{
	if (!(e->attr.read_format & PERF_FORMAT_LOST))
		return LOST_UNTOLD;
	if (!(e->attr.read_format & PERF_FORMAT_GROUP))
		return LOST_ALONE;
	return e->group == (int)i ? LOST_GROUP : LOST_UNTOLD; /* the leader's count covers all */
}

int recorder_open(struct recorder **out, const struct recorder_setup *setup, struct err *err)
{
	struct recorder *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (!r)
		return err_nomem(err);
	r->wake = -1;
	r->flush_ms = setup->flush_ms ? setup->flush_ms : 250;
	r->wait_ms = r->flush_ms;
	if (setup->jitter > 0 && r->wait_ms > WAIT_LEAST_MS)
		r->wait_ms = WAIT_LEAST_MS;
	r->n_events = setup->n_events;
	r->in_order = setup->in_order && setup->n_events;
	r->apart = setup->apart;
	for (size_t i = 0; i < setup->n_events; i++)
		r->apart &= !setup->event[i].aux_bytes;
	if (r->in_order)
		ring_order_fields(&r->order, &setup->event[0].attr);
	r->jitter = setup->jitter;
	r->seed = setup->seed;
	r->ids = calloc(setup->n_events ? setup->n_events : 1, sizeof(*r->ids));
	r->reads_lost = setup->n_events && setup->event[0].attr.read_format & PERF_FORMAT_LOST;
	r->lost = calloc(setup->n_events ? setup->n_events : 1, sizeof(*r->lost));
	r->held = calloc(setup->n_events ? setup->n_events : 1, sizeof(*r->held));
	if (!r->ids || !r->lost || !r->held) {
		(void)err_nomem(err);
		goto fail;
	}
	for (size_t i = 0; i < setup->n_events; i++)
		r->lost[i] = lost_how(&setup->event[i], i);
	raise_file_limit();
	if (open_all(r, setup, err))
		goto fail;
	*out = r;
	return 0;
fail:
	recorder_close(r);
	return -1;
}

const uint64_t *recorder_ids(const struct recorder *r, size_t event, size_t *n)
{
	*n = r->ids[event].id.n;
	return r->ids[event].id.v;
}

static int for_all(struct recorder *r, unsigned long request, const char *what, struct err *err)
{
	vec_each (&r->counter, const struct counter *, c) {
		if (request == PERF_EVENT_IOC_ENABLE && r->held[c->event])
			continue;
		if (ioctl(c->fd, request, 0))
			return err_sys(err, "%s a counter", what);
	}
	return 0;
}

int recorder_enable(struct recorder *r, struct err *err)
{
	return for_all(r, PERF_EVENT_IOC_ENABLE, "enabling", err);
}

int recorder_disable(struct recorder *r, struct err *err)
{
	return for_all(r, PERF_EVENT_IOC_DISABLE, "disabling", err);
}

void recorder_hold(struct recorder *r, size_t event, bool hold)
{
	r->held[event] = hold;
}

int recorder_switch(struct recorder *r, size_t event, bool on, struct err *err)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	vec_each (&r->counter, const struct counter *, c) {
		if (c->event == event && ioctl(c->fd, request, 0))
			return err_sys(err, "switching a counter");
	}
	return 0;
}

static int drain_aux(struct recorder *r, struct ring *ring, struct err *err)
{
	uint64_t head, tail, at;
	struct recorder_trace t = { .offset = 0 };

	if (!ring->aux_size)
		return 0;
	head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
	tail = ring->page->aux_tail;
	if (head == tail)
		return 0;
	at = tail & (ring->aux_size - 1);
	t.offset = tail;
	t.ring = (uint32_t)(ring - r->ring.v);
	t.cpu = ring->cpu;
	t.task = ring->task;
	t.p[0] = ring->aux + at;
	t.p[1] = ring->aux;
	t.len[0] = head - tail < ring->aux_size - at ? head - tail : ring->aux_size - at;
	t.len[1] = head - tail - t.len[0];
	if (r->sink.trace && r->sink.trace(r->sink.ctx, &t, err))
		return -1;
	__atomic_store_n(&ring->page->aux_tail, head, __ATOMIC_RELEASE);
	return 0;
}

bool recorder_clock(const struct recorder *r, struct recorder_clock *out)
{
	vec_each (&r->ring, const struct ring *, ring) {
		const struct perf_event_mmap_page *p = ring->page;

		if (!ring->aux_size || !p->cap_user_time_zero)
			continue;
		*out = (struct recorder_clock){ p->time_shift, p->time_mult, p->time_zero, 0,
						UINT64_MAX,    false };
		if (p->cap_user_time_short) {
			out->cycles = p->time_cycles;
			out->mask = p->time_mask;
			out->short_counter = true;
		}
		return true;
	}
	return false;
}

void recorder_saw(struct recorder *r, uint64_t id, uint32_t tid)
{
	const uint64_t *at = u64map_find(&r->by_id, id);
	struct counter *c = at ? &r->counter.v[*at] : NULL;

	if (!c || (c->task > 0 && (uint32_t)c->task != tid))
		return;
	if (++c->seen == RECORDER_STEADY && vec_push(&r->due, (uint32_t)*at))
		c->seen = 0; /* no memory: later */
}

/* The next round is to come when counters have about RECORDER_STEADY samples of a period. */
static void set_wait(struct recorder *r, unsigned most_seen)
{
	unsigned wait = r->wait_ms;

	if (most_seen > 2 * RECORDER_STEADY)
		wait /= 2;
	else if (!most_seen)
		wait *= 2;
	if (wait < WAIT_LEAST_MS)
		wait = WAIT_LEAST_MS;
	r->wait_ms = wait < r->flush_ms ? wait : r->flush_ms;
}

/* Any of those that are due, if they are too many for a round. */
static void change_periods(struct recorder *r)
{
	unsigned most_seen = 0;

	for (unsigned n = 0; r->due.n && n < CHANGES_A_ROUND; n++) {
		size_t at = hash_u64(++r->seed) % r->due.n;
		struct counter *c = &r->counter.v[r->due.v[at]];
		uint64_t period = draw_period(r, c->nominal, c->step);

		r->due.v[at] = r->due.v[--r->due.n];
		/* its task may be gone */
		(void)ioctl(c->fd, PERF_EVENT_IOC_PERIOD, &period);
		most_seen = c->seen > most_seen ? c->seen : most_seen;
		c->seen = 0;
	}
	if (r->jitter > 0)
		set_wait(r, most_seen);
}

/* ---- to the sink, at once or through the queue ----------------------------------------------- */

static int give_data(void *ctx, const void *p, size_t len, struct err *err)
{
	struct recorder *r = ctx;

	return r->sink.data(r->sink.ctx, p, len, err);
}

static int give_round(void *ctx, struct err *err)
{
	struct recorder *r = ctx;

	change_periods(r);
	return r->sink.round(r->sink.ctx, err);
}

static void give_up(void *ctx)
{
	struct recorder *r = ctx;

	if (r->sink.failed)
		r->sink.failed(r->sink.ctx);
}

/* In order records come alone; in two parts where the ring's end cuts one. */
static bool is_whole(struct recorder *r, const void *p, size_t len)
{
	size_t size;

	if (!r->sink.shorten || !r->in_order)
		return false;
	if (r->rest) {
		r->rest -= len < r->rest ? len : r->rest;
		return false;
	}
	size = len >= sizeof(struct perf_event_header) ? ((const struct perf_event_header *)p)->size
						       : 0;
	r->rest = size > len ? size - len : 0;
	return size == len;
}

static int put_data(void *ctx, const void *p, size_t len, struct err *err)
{
	struct recorder *r = ctx;

	if (!r->queue)
		return give_data(r, p, len, err);
	if (is_whole(r, p, len)) {
		size_t n = r->sink.shorten(r->sink.ctx, p, len, r->shorter);

		if (n)
			return record_queue_data(r->queue, r->shorter, n, err);
	}
	return record_queue_data(r->queue, p, len, err);
}

/* ---- draining -------------------------------------------------------------------------------- */

static int drain_ring(struct recorder *r, struct ring *ring, struct err *err)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (tail != head) {
		uint64_t at = tail & (ring->size - 1), len = head - tail;

		if (len > ring->size - at)
			len = ring->size - at;
		if (put_data(r, ring->data + at, len, err))
			return -1;
		tail += len;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return 0;
}

static int drain_in_order(struct recorder *r, struct err *err)
{
	const struct recorder_sink sink = { .data = put_data, .ctx = r };

	vec_each (&r->ring, const struct ring *, ring) {
		if (ring_order_add(&r->order, ring->page, ring->data, ring->size, err))
			return -1;
	}
	return ring_order_drain(&r->order, &sink, err);
}

static int drain_all(struct recorder *r, struct err *err)
{
	if (r->in_order && drain_in_order(r, err))
		return -1;
	vec_each (&r->ring, struct ring *, ring) {
		if ((!r->in_order && drain_ring(r, ring, err)) || drain_aux(r, ring, err))
			return -1;
	}
	return r->queue ? record_queue_round(r->queue, err) : give_round(r, err);
}

static void *drain_thread(void *arg)
{
	struct recorder *r = arg;
	struct pollfd *fds = calloc(r->ring.n + 1, sizeof(*fds));

	if (!fds) {
		(void)err_nomem(&r->failure);
		goto failed;
	}
	for (size_t i = 0; i < r->ring.n; i++)
		fds[i] = (struct pollfd){ .fd = r->ring.v[i].fd, .events = POLLIN };
	fds[r->ring.n] = (struct pollfd){ .fd = r->wake, .events = POLLIN };
	if (r->queue)
		record_queue_first();
	while (!atomic_load(&r->stop)) {
		if (poll(fds, r->ring.n + 1, (int)r->wait_ms) < 0 && errno != EINTR) {
			(void)err_sys(&r->failure, "poll");
			goto failed;
		}
		/* a counter whose task has ended would wake us for ever */
		for (size_t i = 0; i < r->ring.n; i++)
			if (fds[i].revents & (POLLHUP | POLLERR))
				fds[i].fd = -1;
		if (drain_all(r, &r->failure))
			goto failed;
	}
	if (drain_all(r, &r->failure))
		goto failed;
	free(fds);
	return NULL;
failed:
	free(fds);
	give_up(r);
	return NULL;
}

static int start_threads(struct recorder *r, struct err *err)
{
	const struct recorder_sink of_queue = {
		.data = give_data, .round = give_round, .failed = give_up, .ctx = r
	};
	int rc;

	if (r->apart && record_queue_start(&r->queue, &of_queue, RECORDER_APART, err))
		return -1;
	rc = pthread_create(&r->thread, NULL, drain_thread, r);
	if (rc) {
		errno = rc;
		return err_sys(err, "starting the draining thread");
	}
	r->running = true;
	return 0;
}

int recorder_start(struct recorder *r, const struct recorder_sink *sink, struct err *err)
{
	sigset_t all, old;
	int rc;

	r->sink = *sink;
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		return err_sys(err, "eventfd");
	/* signals are for the other threads */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = start_threads(r, err);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static void end_recorder_thread(struct recorder *r)
{
	uint64_t one = 1;

	if (!r->running)
		return;
	atomic_store(&r->stop, true);
	if (write(r->wake, &one, sizeof(one)) < 0)
		one = 0; /* it wakes by itself within flush_ms */
	(void)pthread_join(r->thread, NULL);
	r->running = false;
	(void)!record_queue_end(r->queue, &r->failure);
}

int recorder_stop(struct recorder *r, struct err *err)
{
	end_recorder_thread(r);
	if (r->failure.code == ERR_NONE)
		return 0;
	if (err && err->code == ERR_NONE)
		*err = r->failure;
	return -1;
}

/* The losses that one read() of a counter reports: LOST stands last with each counter in it. */
static uint64_t lost_of(enum lost_how how, const uint64_t *v, size_t words)
{
	uint64_t sum = 0;

	if (how == LOST_ALONE) /* value, [enabled, running,] id, lost */
		return words >= 2 ? v[words - 1] : 0;
	if (!words || v[0] > words / 3)
		return 0;
	for (size_t i = 0; i < v[0]; i++)
		sum += v[words - 1 - 3 * i];
	return sum;
}

bool recorder_lost(const struct recorder *r, uint64_t *lost)
{
	/* a group: how many, [enabled, running,] and {value, id, lost} of each */
	uint64_t v[3 + 3 * 64];

	*lost = 0;
	if (!r->reads_lost)
		return false;
	vec_each (&r->counter, const struct counter *, c) {
		enum lost_how how = r->lost[c->event];
		ssize_t n = how == LOST_UNTOLD ? 0 : read(c->fd, v, sizeof(v));

		if (n > 0)
			*lost += lost_of(how, v, (size_t)n / 8);
	}
	return true;
}

size_t recorder_ousted(const struct recorder *r, size_t *all)
{
	uint64_t v[3 + 3 * 64];
	size_t n = 0;

	*all = r->counter.n;
	vec_each (&r->counter, const struct counter *, c) {
		n += !read(c->fd, v, sizeof(v)); /* end of file: so the kernel reports it */
	}
	return n;
}

void recorder_close(struct recorder *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!r)
		return;
	end_recorder_thread(r);
	record_queue_free(r->queue);
	vec_each (&r->ring, struct ring *, ring) {
		if (ring->aux_size)
			(void)munmap(ring->aux, ring->aux_size);
		(void)munmap(ring->page, page + ring->size);
	}
	vec_each (&r->counter, struct counter *, c)
		(void)close(c->fd);
	for (size_t i = 0; r->ids && i < r->n_events; i++)
		vec_free(&r->ids[i].id);
	if (r->wake >= 0)
		(void)close(r->wake);
	free(r->ids);
	free(r->lost);
	free(r->held);
	u64map_free(&r->by_id);
	vec_free(&r->due);
	ring_order_free(&r->order);
	vec_free(&r->ring);
	vec_free(&r->counter);
	free(r);
}
