/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads wait for, as /proc has it: for the feature CYCLADE_WAITED (perfdata/waited.h).
 *
 * Looks, without special rights: a few times a second the kernel function in which each thread
 * waits is read (wchan), and the object that its system call names (sampling_object.h). A thread's
 * share of looks at a function is, up to chance, its share of waiting there. One look takes some
 * 6 us, and 10 more if it waits in a call; with many threads each gets its turn. A thread that runs
 * or could run waits nowhere; nor, as far as can be seen, does one whose process gave itself other
 * rights (set-user-ID).
 *
 * Descriptors, if the samples of switches have the first argument of the call (record --wait): a
 * number that a thread waited on is looked at when the sample comes, and, while threads wait on it,
 * in every round. Two looks with the same file before and behind a wait say what it was on.
 *
 * Lack of memory only makes the looks fewer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "collect/synth.h"
#include "measure/sampling/sampling_int.h"
#include "measure/sampling/sampling_object.h"

#define LOOKS_MOST  32u	       /* at a time */
#define FDS_MOST    64u	       /* the same, of descriptors */
#define AGAIN	    2	       /* rounds after the last wait in which a descriptor is looked at */
#define LOOK_EVERY  100000000u /* ns */
#define RUNS_MOST   65536u     /* looks and descriptors that are kept */
#define FD_LARGEST  (1u << 20)
#define HEAD	    sizeof(struct perf_event_header)
#define NONE	    UINT32_MAX
#define QUOTA_EVERY 5u /* looks of a process */

struct task {
	uint32_t tid, pid;
	uint32_t last, quota; /* its looks in `run`; NONE */
	uint8_t turn;
};

struct look { /* the same thing, look after look */
	uint32_t pid, tid, function, text;
	enum pd_object kind;
	uint64_t value, times, from, until;
};

struct fd_look {
	uint32_t pid, fd, text;
	uint8_t again; /* rounds in which it is to be looked at */
	uint64_t from, until;
};

struct wchan_sampler {
	VEC(struct task) task; /* that live */
	struct u64map at;      /* tid -> 1 + its place */
	VEC(struct look) run;
	VEC(struct fd_look) fd;
	struct u64map fd_at; /* pid, fd -> 1 + the last of its looks */
	struct strtab text;
	struct object_sockets sockets;
	struct buf scratch;
	size_t next, next_fd;
	unsigned fds_left; /* of this round */
	uint64_t last;
};

static void begins(struct wchan_sampler *l, uint32_t pid, uint32_t tid)
{
	uint64_t *at = u64map_at(&l->at, tid, NULL);
	const struct task t = { tid, pid, NONE, NONE, 0 };

	if (at && !*at && !vec_push(&l->task, t))
		*at = l->task.n;
}

static void ends(struct wchan_sampler *l, uint32_t tid)
{
	uint64_t *at = u64map_find(&l->at, tid), *last;
	struct task moved;

	if (!at || !*at)
		return;
	moved = l->task.v[--l->task.n];
	last = u64map_find(&l->at, moved.tid);
	l->task.v[*at - 1] = moved;
	if (last)
		*last = *at;
	*at = 0;
}

void wchan_task(struct wchan_sampler *l, const uint8_t *p, size_t size)
{
	if (size < HEAD + 16)
		return;
	if (ld32(p) == PERF_RECORD_FORK)
		begins(l, ld32(p + HEAD), ld32(p + HEAD + 8));
	else
		ends(l, ld32(p + HEAD + 8));
}

/* ---- threads --------------------------------------------------------------------------------- */

/* The object, if the thread is in one call from before the look at it until behind. */
static void find_object(struct wchan_sampler *l, struct look *x, const struct object_call *before)
{
	struct object_call after;
	struct object o;

	buf_reset(&l->scratch);
	object_find(&o, before, x->pid, &l->scratch, &l->sockets);
	if (o.kind == PD_OBJECT_NONE || !object_call(&after, x->tid) ||
	    !object_same_call(before, &after))
		return;
	if ((o.kind == PD_OBJECT_FD || o.kind == PD_OBJECT_FDS) && !l->scratch.len)
		return;
	x->text = strtab_add(&l->text, buf_str(&l->scratch), l->scratch.len);
	x->kind = x->text == STR_NONE ? PD_OBJECT_NONE : o.kind;
	x->value = o.value;
}

static bool same_look(const struct look *a, const struct look *b)
{
	return a->function == b->function && a->kind == b->kind && a->value == b->value &&
	       (a->kind == PD_OBJECT_NONE || a->text == b->text);
}

static void put_look(struct wchan_sampler *l, uint32_t *at, const struct look *x)
{
	struct look *last = *at == NONE ? NULL : &l->run.v[*at];

	if (last && same_look(last, x)) {
		last->times += x->times;
		last->until = x->until;
	} else if (l->run.n < RUNS_MOST && !vec_push(&l->run, *x)) {
		*at = (uint32_t)l->run.n - 1;
	}
}

static void look_at_thread(struct wchan_sampler *l, struct task *t, uint64_t now)
{
	struct look x = { .pid = t->pid, .tid = t->tid, .times = 1, .from = now, .until = now };
	struct object_call call;
	char path[40], text[128];
	bool calls;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/wchan", t->tid);
	calls = object_call(&call, t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, sizeof(text));
	(void)close(fd);
	if (got < 2) /* "0": it waits nowhere */
		return;
	x.function = strtab_add(&l->text, text, (size_t)got);
	if (x.function == STR_NONE)
		return;
	if (calls)
		find_object(l, &x, &call);
	put_look(l, &t->last, &x);
}

/* Of a process, seldom: threads that a quota stops do not wait by wchan. */
static void look_at_quota(struct wchan_sampler *l, struct task *t, uint64_t now)
{
	struct look x = {
		.pid = t->pid, .tid = t->tid, .kind = PD_OBJECT_QUOTA, .from = now, .until = now
	};

	if (t->tid != t->pid || t->turn++ % QUOTA_EVERY)
		return;
	buf_reset(&l->scratch);
	object_quota(&l->scratch, t->tid);
	if (!l->scratch.len)
		return;
	x.function = strtab_add(&l->text, "", 0);
	x.text = strtab_add(&l->text, buf_str(&l->scratch), l->scratch.len);
	if (x.function != STR_NONE && x.text != STR_NONE)
		put_look(l, &t->quota, &x);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* STR_NONE: it is not known. */
static uint32_t text_of_fd(struct wchan_sampler *l, uint32_t pid, uint32_t fd)
{
	buf_reset(&l->scratch);
	object_fd(&l->scratch, pid, fd, &l->sockets);
	return l->scratch.len ? strtab_add(&l->text, buf_str(&l->scratch), l->scratch.len)
			      : STR_NONE;
}

static void begin_fd(struct wchan_sampler *l, uint32_t pid, uint32_t fd, uint64_t now, uint64_t *at)
{
	struct fd_look x = { pid, fd, text_of_fd(l, pid, fd), AGAIN, now, now };

	if (x.text != STR_NONE && l->fd.n < RUNS_MOST && !vec_push(&l->fd, x))
		*at = l->fd.n;
}

void wchan_saw(struct wchan_sampler *l, uint32_t pid, uint64_t arg, uint64_t now)
{
	uint64_t *at;

	if (arg > FD_LARGEST)
		return;
	at = u64map_at(&l->fd_at, (uint64_t)pid << 32 | arg, NULL);
	if (!at)
		return;
	if (*at) {
		l->fd.v[*at - 1].again = AGAIN;
	} else if (l->fds_left) {
		l->fds_left--;
		begin_fd(l, pid, (uint32_t)arg, now, at);
	}
}

/* Looks again at those that threads wait on, or did a short while ago. */
static void look_at_fds(struct wchan_sampler *l, uint64_t now)
{
	size_t n = l->fd.n;

	l->fds_left = FDS_MOST;
	for (size_t i = 0; i < n && l->fds_left; i++) {
		struct fd_look *x;
		uint64_t *at;
		uint32_t text;

		l->next_fd = l->next_fd + 1 < n ? l->next_fd + 1 : 0;
		x = &l->fd.v[l->next_fd];
		if (!x->again)
			continue;
		x->again--;
		l->fds_left--;
		text = text_of_fd(l, x->pid, x->fd);
		if (text == x->text) {
			x->until = now;
			continue;
		}
		x->again = 0;
		at = u64map_find(&l->fd_at, (uint64_t)x->pid << 32 | x->fd);
		if (!at)
			continue;
		*at = 0;
		if (text != STR_NONE)
			begin_fd(l, x->pid, x->fd, now, at);
	}
	if (!l->fds_left)
		l->fds_left = 1; /* a new one has its turn */
}

void wchan_round(struct wchan_sampler *l, uint64_t now)
{
	if (now - l->last < LOOK_EVERY)
		return;
	l->last = now;
	for (size_t i = 0; i < LOOKS_MOST && i < l->task.n; i++) {
		l->next = l->next + 1 < l->task.n ? l->next + 1 : 0;
		look_at_thread(l, &l->task.v[l->next], now);
		look_at_quota(l, &l->task.v[l->next], now);
	}
	look_at_fds(l, now);
}

struct wchan_sampler *wchan_new(const pid_t *task, size_t n)
{
	struct wchan_sampler *l = calloc(1, sizeof(*l));

	for (size_t i = 0; l && i < n; i++) {
		pid_t pid = synth_tgid(task[i]);

		begins(l, (uint32_t)(pid < 0 ? task[i] : pid), (uint32_t)task[i]);
	}
	if (l)
		l->fds_left = FDS_MOST;
	return l;
}

/* ---- for the file ---------------------------------------------------------------------------- */

static void put_text(struct buf *b, const struct wchan_sampler *l, uint32_t id)
{
	const char *s = strtab_get(&l->text, id);
	size_t len = strlen(s) + 1;

	buf_put_u32(b, (uint32_t)len);
	buf_put(b, s, len);
}

bool wchan_put(const struct wchan_sampler *l, uint32_t flags, struct buf *b)
{
	if (!l || (!l->run.n && !l->fd.n && !flags))
		return false;
	buf_put_u32(b, PD_WAITED_VERSION);
	buf_put_u32(b, flags);
	buf_put_u32(b, (uint32_t)l->run.n);
	vec_each (&l->run, const struct look *, x) {
		buf_put_u32(b, x->pid);
		buf_put_u32(b, x->tid);
		buf_put_u64(b, x->times);
		buf_put_u64(b, x->from);
		buf_put_u64(b, x->until);
		buf_put_u32(b, x->kind);
		buf_put_u64(b, x->value);
		put_text(b, l, x->function);
		put_text(b, l, x->text);
	}
	buf_put_u32(b, (uint32_t)l->fd.n);
	vec_each (&l->fd, const struct fd_look *, x) {
		buf_put_u32(b, x->pid);
		buf_put_u32(b, x->fd);
		buf_put_u64(b, x->from);
		buf_put_u64(b, x->until);
		put_text(b, l, x->text);
	}
	return true;
}

void wchan_free(struct wchan_sampler *l)
{
	if (!l)
		return;
	vec_free(&l->task);
	vec_free(&l->run);
	vec_free(&l->fd);
	u64map_free(&l->at);
	u64map_free(&l->fd_at);
	strtab_free(&l->text);
	object_sockets_free(&l->sockets);
	buf_free(&l->scratch);
	free(l);
}
