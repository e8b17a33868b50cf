/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/state.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/perf_abi.h"
#include "base/vec.h"
#include "perfdata/perfdata.h"

#define HEAD	   sizeof(struct perf_event_header)
#define LOOK_BACK  64u	 /* mappings that a new one is compared with, each time */
#define TIDY_FIRST 1024u /* mappings at which all are compared */
#define TIDY_LAST  8192u

struct kept { /* a record without its trailer */
	uint8_t *p;
	size_t size;
	uint64_t from, until; /* of a mapping; else what tells it from others of its kind */
};

typedef VEC(struct kept) kept_list;

struct maps {
	unsigned users;
	size_t tidy_at;
	kept_list v;
};

struct thread {
	uint32_t tid;
	char name[16];
	bool named;
};

struct process {
	bool used;
	uint32_t pid, ppid;
	struct maps *maps;  /* NULL: none */
	struct kept spaces; /* of namespaces; p NULL: none */
	VEC(struct thread) thread;
};

struct gone {
	uint32_t pid, tid;
	uint64_t round;
};

struct pd_state {
	size_t trailer;
	uint64_t round;
	kept_list kernel, cgroup; /* kernel: mappings, symbols, programs of BPF */
	VEC(struct process) process;
	VEC(size_t) vacant;
	struct u64map at; /* pid -> place + 1 in process; 0: it has ended */
	VEC(struct gone) gone;
};

/* ---- records ---------------------------------------------------------------------------- */

static int keep(kept_list *v, const uint8_t *p, size_t size, uint64_t from, uint64_t until)
{
	struct kept k = { malloc(size), size, from, until };

	if (k.p)
		memcpy(k.p, p, size);
	if (k.p && !vec_push(v, k))
		return 0;
	free(k.p);
	return -1;
}

static void drop(kept_list *v, size_t i)
{
	free(v->v[i].p);
	memmove(v->v + i, v->v + i + 1, (v->n - i - 1) * sizeof(*v->v));
	v->n--;
}

static void drop_all(kept_list *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i].p);
	vec_free(v);
}

static void drop_like(kept_list *v, uint32_t type, uint64_t from)
{
	for (size_t i = v->n; i-- > 0;)
		if (ld32(v->v[i].p) == type && v->v[i].from == from)
			drop(v, i);
}

/* ---- mappings --------------------------------------------------------------------------- */

static void maps_leave(struct maps **m)
{
	if (*m && !--(*m)->users) {
		drop_all(&(*m)->v);
		free(*m);
	}
	*m = NULL;
}

/* One that nobody else has. */
static int maps_own(struct maps **m)
{
	struct maps *old = *m, *own;

	if (old && old->users == 1)
		return 0;
	own = calloc(1, sizeof(*own));
	if (!own)
		return -1;
	own->users = 1;
	own->tidy_at = old ? old->tidy_at : TIDY_FIRST;
	for (size_t i = 0; old && i < old->v.n; i++) {
		const struct kept *k = &old->v.v[i];

		if (keep(&own->v, k->p, k->size, k->from, k->until)) {
			maps_leave(&own);
			return -1;
		}
	}
	maps_leave(m);
	*m = own;
	return 0;
}

static bool covers(const struct kept *a, const struct kept *b)
{
	return a->from <= b->from && a->until >= b->until;
}

/* Drops what lies in a later one. */
static void tidy(struct maps *m)
{
	kept_list *v = &m->v;
	size_t n = v->n;

	if (n <= TIDY_LAST) {
		n = 0;
		for (size_t i = 0; i < v->n; i++) {
			size_t k = i + 1;

			while (k < v->n && !covers(&v->v[k], &v->v[i]))
				k++;
			if (k < v->n)
				free(v->v[i].p);
			else
				v->v[n++] = v->v[i];
		}
	} else if (n >= STATE_MAPS_MOST) { /* as many as the kernel lets a process have */
		for (size_t i = 0; i < n / 2; i++)
			free(v->v[i].p);
		memmove(v->v, v->v + n / 2, (n - n / 2) * sizeof(*v->v));
		n -= n / 2;
	}
	v->n = n;
	m->tidy_at = n < TIDY_FIRST / 2 ? TIDY_FIRST : 2 * n;
	if (m->tidy_at > STATE_MAPS_MOST)
		m->tidy_at = STATE_MAPS_MOST;
}

static int maps_add(struct maps **own, const uint8_t *p, size_t size, const struct pd_mmap *m)
{
	struct kept now = { .from = m->addr, .until = m->addr + m->len };
	kept_list *v;

	if (now.until < now.from)
		now.until = UINT64_MAX;
	if (maps_own(own))
		return -1;
	v = &(*own)->v;
	for (size_t i = v->n, k = 0; i-- > 0 && k < LOOK_BACK; k++)
		if (covers(&now, &v->v[i]))
			drop(v, i);
	if (keep(v, p, size, now.from, now.until))
		return -1;
	if (v->n >= (*own)->tidy_at)
		tidy(*own);
	return 0;
}

/* ---- processes -------------------------------------------------------------------------- */

static struct process *find_process(const struct pd_state *s, uint32_t pid)
{
	const uint64_t *at = u64map_find(&s->at, pid);

	return at && *at ? &s->process.v[*at - 1] : NULL;
}

static void end_process(struct pd_state *s, struct process *x)
{
	uint64_t *at = u64map_find(&s->at, x->pid);

	maps_leave(&x->maps);
	free(x->spaces.p);
	vec_free(&x->thread);
	*x = (struct process){ 0 };
	if (at)
		*at = 0;
	(void)!vec_push(&s->vacant, (size_t)(x - s->process.v)); /* else it stays unused */
}

/* NULL: memory. */
static struct process *get_process(struct pd_state *s, uint32_t pid)
{
	struct process *x = find_process(s, pid);
	uint64_t *at;
	size_t i;

	if (x)
		return x;
	if (!s->vacant.n && vec_push(&s->process, ((struct process){ 0 })))
		return NULL;
	i = s->vacant.n ? s->vacant.v[s->vacant.n - 1] : s->process.n - 1;
	at = u64map_at(&s->at, pid, NULL);
	if (!at)
		return NULL;
	s->vacant.n -= s->vacant.n > 0;
	*at = i + 1;
	x = &s->process.v[i];
	x->used = true;
	x->pid = pid;
	return x;
}

static struct thread *get_thread(struct process *x, uint32_t tid)
{
	struct thread *t;

	vec_each (&x->thread, struct thread *, known)
		if (known->tid == tid)
			return known;
	t = vec_add(&x->thread);
	if (t)
		*t = (struct thread){ .tid = tid };
	return t;
}

static int note_map(struct pd_state *s, const struct pd_record *r, const uint8_t *p, size_t size)
{
	struct process *x;
	struct pd_mmap m;

	if (pd_mmap_get(NULL, r, &m))
		return 0;
	if (m.pid == UINT32_MAX) {
		drop_like(&s->kernel, r->type, m.addr);
		return keep(&s->kernel, p, size, m.addr, 0);
	}
	x = get_process(s, m.pid);
	return x ? maps_add(&x->maps, p, size, &m) : -1;
}

static int note_name(struct pd_state *s, const struct pd_record *r)
{
	struct process *x;
	struct thread *t;
	struct pd_comm c;

	if (pd_comm_get(r, &c))
		return 0;
	x = get_process(s, c.pid);
	if (!x)
		return -1;
	if (c.exec)
		maps_leave(&x->maps);
	t = get_thread(x, c.tid);
	if (!t)
		return -1;
	t->named = true;
	strncpy(t->name, c.comm, sizeof(t->name) - 1);
	return 0;
}

/* perf, and we, mark those of processes that were there: their mappings follow. */
static int note_fork(struct pd_state *s, const struct pd_record *r)
{
	struct process *x, *from;
	struct thread *t, *by = NULL;
	struct pd_task f;

	if (pd_task_get(r, &f))
		return 0;
	x = find_process(s, f.pid);
	if (x && f.pid == f.tid && f.pid != f.ppid)
		end_process(s, x); /* its number is another's now */
	x = get_process(s, f.pid);
	if (!x)
		return -1;
	from = f.pid != f.ppid ? find_process(s, f.ppid) : x;
	if (f.pid != f.ppid)
		x->ppid = f.ppid;
	if (f.pid != f.ppid && from && from->maps && !(r->misc & PERF_RECORD_MISC_FORK_EXEC)) {
		maps_leave(&x->maps);
		x->maps = from->maps;
		x->maps->users++;
	}
	for (size_t i = 0; from && i < from->thread.n; i++)
		if (from->thread.v[i].tid == f.ptid)
			by = &from->thread.v[i];
	if (by) { /* a new thread has the name of the one that made it */
		struct thread copy = *by;

		t = get_thread(x, f.tid);
		if (t && !t->named) {
			memcpy(t->name, copy.name, sizeof(t->name));
			t->named = copy.named;
		}
		return t ? 0 : -1;
	}
	return get_thread(x, f.tid) ? 0 : -1;
}

/* Rings are read one after the other: samples of it may yet come. */
static int note_exit(struct pd_state *s, const struct pd_record *r)
{
	struct pd_task f;

	if (pd_task_get(r, &f))
		return 0;
	return vec_push(&s->gone, ((struct gone){ f.pid, f.tid, s->round }));
}

static void forget(struct pd_state *s, const struct gone *g)
{
	struct process *x = find_process(s, g->pid);
	size_t n = 0;

	if (!x)
		return;
	vec_each (&x->thread, const struct thread *, t)
		if (t->tid != g->tid)
			x->thread.v[n++] = *t;
	x->thread.n = n;
	if (!n)
		end_process(s, x);
}

void pd_state_round(struct pd_state *s)
{
	size_t n = 0;

	while (n < s->gone.n && s->gone.v[n].round < s->round)
		forget(s, &s->gone.v[n++]);
	if (n)
		memmove(s->gone.v, s->gone.v + n, (s->gone.n - n) * sizeof(*s->gone.v));
	s->gone.n -= n;
	s->round++;
}

/* ---- the others ------------------------------------------------------------------------- */

static int note_symbol(struct pd_state *s, const struct pd_record *r, const uint8_t *p, size_t size)
{
	struct pd_ksymbol k;

	if (pd_ksymbol_get(r, &k))
		return 0;
	drop_like(&s->kernel, r->type, k.addr);
	return k.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
		       ? 0
		       : keep(&s->kernel, p, size, k.addr, 0);
}

static int note_bpf(struct pd_state *s, const struct pd_record *r, const uint8_t *p, size_t size)
{
	struct pd_bpf b;

	if (pd_bpf_get(r, &b))
		return 0;
	drop_like(&s->kernel, r->type, b.id);
	return b.bpf_type == PERF_BPF_EVENT_PROG_LOAD ? keep(&s->kernel, p, size, b.id, 0) : 0;
}

static int note_cgroup(struct pd_state *s, const struct pd_record *r, const uint8_t *p, size_t size)
{
	struct pd_cgroup c;

	if (pd_cgroup_get(r, &c))
		return 0;
	drop_like(&s->cgroup, r->type, c.id);
	return keep(&s->cgroup, p, size, c.id, 0);
}

static int note_spaces(struct pd_state *s, const struct pd_record *r, const uint8_t *p, size_t size)
{
	struct pd_namespaces n;
	struct process *x;
	uint8_t *copy;

	if (pd_namespaces_get(r, &n) || n.pid != n.tid)
		return 0;
	x = get_process(s, n.pid);
	copy = x ? malloc(size) : NULL;
	if (!copy)
		return -1;
	memcpy(copy, p, size);
	free(x->spaces.p);
	x->spaces = (struct kept){ .p = copy, .size = size };
	return 0;
}

int pd_state_note(struct pd_state *s, const uint8_t *p, size_t size, struct err *err)
{
	struct pd_record r = { .p = p };
	int rc = 0;

	if (size < HEAD + s->trailer || size > UINT16_MAX)
		return 0;
	r.type = ld32(p);
	r.misc = ld16(p + 4);
	size -= s->trailer;
	r.size = (uint16_t)size;
	switch (r.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		rc = note_map(s, &r, p, size);
		break;
	case PERF_RECORD_COMM:
		rc = note_name(s, &r);
		break;
	case PERF_RECORD_FORK:
		rc = note_fork(s, &r);
		break;
	case PERF_RECORD_EXIT:
		rc = note_exit(s, &r);
		break;
	case PERF_RECORD_KSYMBOL:
		rc = note_symbol(s, &r, p, size);
		break;
	case PERF_RECORD_BPF_EVENT:
		rc = note_bpf(s, &r, p, size);
		break;
	case PERF_RECORD_CGROUP:
		rc = note_cgroup(s, &r, p, size);
		break;
	case PERF_RECORD_NAMESPACES:
		rc = note_spaces(s, &r, p, size);
		break;
	default:
		break;
	}
	return rc ? err_nomem(err) : 0;
}

/* ---- out again -------------------------------------------------------------------------- */

struct out {
	const struct pd_state *s;
	int (*put)(void *ctx, const void *record, size_t len, struct err *err);
	void *ctx;
	struct err *err;
	struct buf b;
};

/* The record in `b`, with an empty trailer. */
static int put_out(struct out *o)
{
	uint16_t size;

	buf_fill(&o->b, '\0', o->s->trailer);
	if (o->b.failed)
		return err_nomem(o->err);
	size = (uint16_t)o->b.len;
	memcpy(o->b.s + 6, &size, sizeof(size));
	return o->put(o->ctx, o->b.s, o->b.len, o->err);
}

static int put_kept(struct out *o, const struct kept *k, uint32_t pid, bool of_process)
{
	buf_reset(&o->b);
	buf_put(&o->b, k->p, k->size);
	if (of_process && !o->b.failed) { /* pid and tid stand first: a fork shares its parent's */
		memcpy(o->b.s + HEAD, &pid, sizeof(pid));
		memcpy(o->b.s + HEAD + 4, &pid, sizeof(pid));
	}
	return put_out(o);
}

static void begin(struct out *o, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = { .type = type, .misc = misc };

	buf_reset(&o->b);
	buf_put(&o->b, &h, sizeof(h));
}

static int put_thread(struct out *o, const struct process *x, const struct thread *t)
{
	uint32_t parent = t->tid == x->pid ? x->ppid : x->pid;

	begin(o, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);
	buf_put_u32(&o->b, x->pid);
	buf_put_u32(&o->b, parent);
	buf_put_u32(&o->b, t->tid);
	buf_put_u32(&o->b, parent);
	buf_put_u64(&o->b, 0);
	if (put_out(o))
		return -1;
	if (!t->named)
		return 0;
	begin(o, PERF_RECORD_COMM, 0);
	buf_put_u32(&o->b, x->pid);
	buf_put_u32(&o->b, t->tid);
	buf_put(&o->b, t->name, sizeof(t->name));
	return put_out(o);
}

static int put_process(struct out *o, const struct process *x)
{
	struct thread first = { .tid = x->pid };

	vec_each (&x->thread, const struct thread *, t)
		if (t->tid == x->pid)
			first = *t;
	if (put_thread(o, x, &first) || (x->spaces.p && put_kept(o, &x->spaces, x->pid, true)))
		return -1;
	for (size_t i = 0; x->maps && i < x->maps->v.n; i++)
		if (put_kept(o, &x->maps->v.v[i], x->pid, true))
			return -1;
	vec_each (&x->thread, const struct thread *, t)
		if (t->tid != x->pid && put_thread(o, x, t))
			return -1;
	return 0;
}

int pd_state_put(const struct pd_state *s,
		 int (*put)(void *ctx, const void *record, size_t len, struct err *err), void *ctx,
		 struct err *err)
{
	struct out o = { s, put, ctx, err, BUF_INIT };
	int rc = 0;

	for (size_t i = 0; i < s->kernel.n && !rc; i++)
		rc = put_kept(&o, &s->kernel.v[i], 0, false);
	for (size_t i = 0; i < s->cgroup.n && !rc; i++)
		rc = put_kept(&o, &s->cgroup.v[i], 0, false);
	for (size_t i = 0; i < s->process.n && !rc; i++)
		if (s->process.v[i].used)
			rc = put_process(&o, &s->process.v[i]);
	buf_free(&o.b);
	return rc;
}

int pd_state_new(struct pd_state **out, size_t trailer, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(err);
	(*out)->trailer = trailer;
	return 0;
}

void pd_state_free(struct pd_state *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->process.n; i++) {
		maps_leave(&s->process.v[i].maps);
		free(s->process.v[i].spaces.p);
		vec_free(&s->process.v[i].thread);
	}
	vec_free(&s->process);
	vec_free(&s->vacant);
	vec_free(&s->gone);
	u64map_free(&s->at);
	drop_all(&s->kernel);
	drop_all(&s->cgroup);
	free(s);
}
