/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second pass. Per sample a few fields at fixed places are read, the thread is found in a small
 * direct-mapped table, and a second one knows the hit that the same (thread's name, process,
 * address) was counted in last time, together with the span of time in which that holds. Only what
 * both miss costs a search of the address space.
 */
#include "analyse/profile_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "base/task.h"
#include "base/text.h"
#include "base/vec.h"

#define WHO_SLOTS  1024u
#define SEEN_SLOTS 16384u

struct scan_seen {
	uint64_t ip, from, until;
	uint64_t comm, cgroup;
	uint32_t proc_index, event_kind;
	uint32_t pid, tid, cpu;
	uint32_t hit; /* ITAB_NONE: an empty slot */
};

uint32_t site_add(struct site_table *t, const struct site *s)
{
	uint64_t h = hash_u64(s->addr ^ (uint64_t)s->image << 40 ^ (uint64_t)s->kind << 56 ^
			      (uint64_t)s->caller << 62);
	uint32_t idx;

	for (size_t i = itab_first(&t->at, h); itab_at(&t->at, &i, h, &idx);) {
		const struct site *o = &t->v[idx];

		if (o->addr == s->addr && o->image == s->image && o->kind == s->kind &&
		    o->caller == s->caller)
			return idx;
	}
	if (vec_reserve(t, t->n + 1) || itab_put(&t->at, h, t->n))
		return ITAB_NONE;
	t->v[t->n] = *s;
	return (uint32_t)t->n++;
}

void site_table_free(struct site_table *t)
{
	vec_free(t);
	itab_free(&t->at);
}

uint32_t hit_add(struct hit_table *t, const struct hit *k)
{
	uint64_t h = hash_pair((uint64_t)k->site << 32 | k->event, k->comm);
	uint32_t idx;

	if (k->pid | k->tid | k->cpu | k->cgroup)
		h = hash_pair(h ^ k->cgroup, ((uint64_t)k->pid << 32 | k->tid) ^
						     (uint64_t)k->cpu * 0x9e3779b97f4a7c15ULL);
	for (size_t i = itab_first(&t->at, h); itab_at(&t->at, &i, h, &idx);) {
		const struct hit *o = &t->v[idx];

		if (o->site == k->site && o->comm == k->comm && o->event == k->event &&
		    o->pid == k->pid && o->tid == k->tid && o->cpu == k->cpu &&
		    o->cgroup == k->cgroup)
			return idx;
	}
	if (vec_reserve(t, t->n + 1) || itab_put(&t->at, h, t->n))
		return ITAB_NONE;
	t->v[t->n] = *k;
	memset(&t->v[t->n].w, 0, sizeof(t->v[t->n].w));
	return (uint32_t)t->n++;
}

void hit_table_free(struct hit_table *t)
{
	vec_free(t);
	itab_free(&t->at);
}

static void narrow(uint64_t *from, uint64_t *until, uint64_t f, uint64_t u)
{
	if (f > *from)
		*from = f;
	if (u < *until)
		*until = u;
}

struct site scan_place(struct worker *w, const struct who *who, uint8_t kind, uint64_t ip,
		       bool caller, uint64_t time, uint64_t *from, uint64_t *until)
{
	/* a chain that does not say where it runs is tried as kernel, then as user space */
	static const uint8_t guess[] = { SPACE_KERNEL, SPACE_USER };
	bool unsaid = kind == KIND_UNSAID;
	struct site s = { ip, IMAGE_NONE, unsaid ? SPACE_UNKNOWN : kind,
			  caller && w->scan->caller_sites };

	for (unsigned i = 0; i < (unsaid ? 2 : 1); i++) {
		enum space_kind k = (enum space_kind)(unsaid ? guess[i] : kind);
		uint64_t f = 0, u = UINT64_MAX;
		const struct map *m = space_find(w->scan->sp, who->proc, k, ip, time, &f, &u);

		narrow(from, until, f, u);
		if (m) {
			s.addr = map_to_image(m, ip);
			s.image = m->image;
			s.kind = m->kind;
			break;
		}
	}
	return s;
}

static void find_who(struct worker *w, struct who *o, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct scan *sc = w->scan;

	memset(o, 0, sizeof(*o));
	o->until = UINT64_MAX;
	o->pid = pid;
	o->tid = tid;
	o->used = true;
	o->proc = spaces_process(sc->sp, pid, time);
	o->proc_index = UINT32_MAX;
	if (o->proc) {
		process_life(o->proc, &o->from, &o->until);
		o->proc_index = process_index(o->proc);
	} else {
		/* how long nobody has this pid is not known */
		o->from = time;
		o->until = time + 1;
	}
	if (sc->need_comm) {
		uint64_t f = 0, u = UINT64_MAX;
		uint32_t comm = spaces_comm_at(sc->sp, pid, tid, time, &f, &u);

		o->comm = comm == STR_NONE ? COMM_TID | tid : comm;
		narrow(&o->from, &o->until, f, u);
	}
}

static struct who *who_at(struct worker *w, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint32_t h = (tid * 0x9e3779b1u ^ pid) >> 16;
	struct who *o = &w->who[(h ^ tid) & (WHO_SLOTS - 1)];

	if (!o->used || o->tid != tid || o->pid != pid || time < o->from || time >= o->until)
		find_who(w, o, pid, tid, time);
	return o;
}

const char *scan_comm_text(const struct spaces *sp, uint64_t comm, char buf[COMM_TEXT])
{
	if (!(comm & COMM_TID))
		return strtab_get(spaces_strings(sp), (uint32_t)comm);
	/* the idle thread, which no record announces */
	if (!(uint32_t)comm)
		return "swapper";
	(void)snprintf(buf, COMM_TEXT, ":%" PRId32, (int32_t)(uint32_t)comm);
	return buf;
}

static bool listed(const uint32_t *v, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return n == 0;
}

/* By everything but the event. */
static bool selected(const struct worker *w, const struct scan_sample *s)
{
	const struct profile_opts *o = w->scan->opts;

	if (o->time_from && s->time < o->time_from)
		return false;
	if (o->time_to && s->time >= o->time_to)
		return false;
	if (!listed(o->pids, o->n_pids, s->pid) || !listed(o->tids, o->n_tids, s->tid))
		return false;
	if (o->comm) {
		char buf[COMM_TEXT];

		return !strcmp(scan_comm_text(w->scan->sp, s->who->comm, buf), o->comm);
	}
	return true;
}

/* The hit of a sample that the table of the last seen ones does not know. */
static int new_hit(struct worker *w, const struct scan_sample *s, const struct scan_seen *key,
		   struct scan_seen *slot, struct err *err)
{
	struct hit h = { .comm = key->comm,
			 .cgroup = key->cgroup,
			 .event = s->event,
			 .pid = key->pid,
			 .tid = key->tid,
			 .cpu = key->cpu };
	struct site place;

	*slot = *key;
	slot->from = s->who->from;
	slot->until = s->who->until;
	slot->hit = ITAB_NONE;
	place = scan_place(w, s->who, s->kind, s->ip, false, s->time, &slot->from, &slot->until);
	h.site = site_add(&w->sites, &place);
	if (h.site == ITAB_NONE)
		return err_nomem(err);
	slot->hit = hit_add(&w->hits, &h);
	return slot->hit == ITAB_NONE ? err_nomem(err) : 0;
}

static int count_hit(struct worker *w, const struct scan_sample *s, struct err *err)
{
	const struct scan *sc = w->scan;
	struct scan_seen key = {
		.ip = s->ip,
		.comm = sc->by_comm ? s->who->comm : 0,
		.cgroup = sc->by_cgroup && s->full ? s->full->cgroup : 0,
		.proc_index = s->kind == SPACE_KERNEL ? 0 : s->who->proc_index,
		.event_kind = s->event << 8 | s->kind,
		.pid = sc->by_pid ? s->pid : 0,
		.tid = sc->by_tid ? s->tid : 0,
		.cpu = sc->by_cpu ? s->cpu : 0,
	};
	uint64_t h = (key.ip ^ (uint64_t)key.proc_index << 44 ^ key.comm << 36 ^ key.tid ^
		      (uint64_t)key.cpu << 20 ^ (uint64_t)key.event_kind << 12) *
		     0x9e3779b97f4a7c15ULL;
	struct scan_seen *o = &w->seen[h >> 40 & (SEEN_SLOTS - 1)];

	if (o->hit == ITAB_NONE || o->ip != key.ip || o->comm != key.comm ||
	    o->proc_index != key.proc_index || o->event_kind != key.event_kind ||
	    o->tid != key.tid || o->pid != key.pid || o->cpu != key.cpu ||
	    o->cgroup != key.cgroup || s->time < o->from || s->time >= o->until) {
		if (new_hit(w, s, &key, o, err))
			return -1;
	}
	weight_add(&w->hits.v[o->hit].w, s->period);
	return 0;
}

static uint64_t field(const struct pd_record *r, uint16_t at, uint64_t absent)
{
	return at ? ld64(r->p + at) : absent;
}

static int one_sample(struct worker *w, const struct pd_record *r, struct err *err)
{
	const struct scan *sc = w->scan;
	struct pd_sample full;
	struct scan_sample s = { .r = r };
	const struct scan_event *ev;
	int e = pd_sample_event(sc->rec, r);

	if (e < 0 || (size_t)e >= sc->n_events) {
		w->bad[0]++;
		return 0;
	}
	ev = &sc->ev[e];
	if (r->size < ev->at.fixed_end) {
		w->bad[e]++;
		return 0;
	}
	s.event = (uint32_t)e;
	s.ip = field(r, ev->at.ip, 0);
	s.pid = ev->at.tid ? ld32(r->p + ev->at.tid) : UINT32_MAX;
	s.tid = ev->at.tid ? ld32(r->p + ev->at.tid + 4) : UINT32_MAX;
	s.cpu = ev->at.cpu ? ld32(r->p + ev->at.cpu) : UINT32_MAX;
	s.period = field(r, ev->at.period, ev->period);
	s.time = sc->has_time ? field(r, ev->at.time, 0) : r->seq;
	s.kind = (uint8_t)space_kind_of_misc(r->misc);
	s.who = who_at(w, s.pid, s.tid, s.time);
	if (!ev->selected || !selected(w, &s)) {
		weight_add(&w->left_out[e], s.period);
		return 0;
	}
	if (ev->full) {
		if (pd_sample_parse(sc->rec, r, &full)) {
			w->bad[e]++;
			return 0;
		}
		s.full = &full;
	}
	if (count_hit(w, &s, err))
		return -1;
	return w->walk ? walk_sample(w->walk, &s, err) : 0;
}

static int scan_chunk(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct scan *sc = ctx;
	struct worker *w = &sc->worker[worker];
	struct pd_record r = { NULL, 0, 0, 0, 0 };

	while (pd_next(&sc->chunks[i], &r))
		if (r.type == PERF_RECORD_SAMPLE && one_sample(w, &r, err))
			return -1;
	/* the first worker is the caller's own thread */
	if (!worker && sc->opts->progress)
		sc->opts->progress(sc->opts->progress_ctx, (double)(i + 1) / (double)sc->n_chunks);
	return 0;
}

static bool has_key(const struct profile_opts *opts, enum profile_key key)
{
	for (size_t i = 0; i < opts->n_keys; i++)
		if (opts->key[i] == key)
			return true;
	return false;
}

static void init_event(struct scan *sc, struct scan_event *ev, const struct pd_event *e)
{
	const uint64_t stack = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	ev->at = e->at;
	ev->type = e->attr.sample_type;
	/* in frequency mode the number beside it is the frequency; perf counts it as the period */
	ev->period = e->attr.sample_period ? e->attr.sample_period : 1;
	ev->selected = !sc->opts->event || !strcmp(sc->opts->event, e->name) ||
		       text_glob(sc->opts->event, e->name);
	ev->plain_chain = ev->type & PERF_SAMPLE_CALLCHAIN && !(ev->type & PERF_SAMPLE_READ);
	ev->lbr_chain = ev->type & PERF_SAMPLE_BRANCH_STACK &&
			e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
	ev->dwarf = (ev->type & stack) == stack;
	if (sc->by_cgroup && ev->type & PERF_SAMPLE_CGROUP)
		ev->full = true;
	if (sc->opts->chains &&
	    (ev->lbr_chain || ev->dwarf || (ev->type & PERF_SAMPLE_CALLCHAIN && !ev->plain_chain)))
		ev->full = true;
}

static int init_worker(struct scan *sc, struct worker *w, struct err *err)
{
	size_t n = sc->n_events ? sc->n_events : 1;

	w->scan = sc;
	w->who = calloc(WHO_SLOTS, sizeof(*w->who));
	w->seen = malloc(SEEN_SLOTS * sizeof(*w->seen));
	w->left_out = calloc(n, sizeof(*w->left_out));
	w->bad = calloc(n, sizeof(*w->bad));
	if (!w->who || !w->seen || !w->left_out || !w->bad)
		return err_nomem(err);
	memset(w->seen, 0xff, SEEN_SLOTS * sizeof(*w->seen));
	if (sc->opts->chains) {
		w->walk = walk_new(w, err);
		if (!w->walk)
			return -1;
	}
	return 0;
}

static int init_locks(struct scan *sc, struct err *err)
{
	size_t n = images_count(spaces_images(sc->sp));

	sc->image_lock = calloc(n + 1, sizeof(*sc->image_lock));
	if (!sc->image_lock)
		return err_nomem(err);
	for (; sc->n_images < n; sc->n_images++)
		(void)pthread_mutex_init(&sc->image_lock[sc->n_images], NULL);
	return 0;
}

int scan_init(struct scan *sc, const struct pd *rec, const struct spaces *sp,
	      const struct profile_opts *opts, struct err *err)
{
	const struct pd_event *ev;

	memset(sc, 0, sizeof(*sc));
	sc->rec = rec;
	sc->sp = sp;
	sc->opts = opts;
	sc->has_time = pd_has_time(rec);
	sc->by_comm = has_key(opts, KEY_COMM);
	sc->by_pid = has_key(opts, KEY_PID);
	sc->by_tid = has_key(opts, KEY_TID);
	sc->by_cpu = has_key(opts, KEY_CPU);
	sc->by_cgroup = has_key(opts, KEY_CGROUP);
	sc->need_comm = sc->by_comm || opts->comm;
	sc->caller_sites = opts->chain_lines || opts->chain_inline;
	sc->chunks = pd_chunks(rec, &sc->n_chunks);
	ev = pd_events(rec, &sc->n_events);
	sc->ev = calloc(sc->n_events ? sc->n_events : 1, sizeof(*sc->ev));
	if (!sc->ev)
		return err_nomem(err);
	for (size_t i = 0; i < sc->n_events; i++)
		init_event(sc, &sc->ev[i], &ev[i]);
	sc->n_workers = opts->threads ? opts->threads : task_threads();
	if (sc->n_workers > 64)
		sc->n_workers = 64;
	if (sc->n_workers > sc->n_chunks)
		sc->n_workers = sc->n_chunks ? (unsigned)sc->n_chunks : 1;
	sc->worker = calloc(sc->n_workers, sizeof(*sc->worker));
	if (!sc->worker)
		return err_nomem(err);
	if (opts->chains && init_locks(sc, err))
		return -1;
	for (unsigned i = 0; i < sc->n_workers; i++)
		if (init_worker(sc, &sc->worker[i], err))
			return -1;
	return 0;
}

int scan_run(struct scan *sc, struct err *err)
{
	return task_for(sc->n_chunks, sc->n_workers, scan_chunk, sc, err);
}

void scan_free(struct scan *sc)
{
	for (unsigned i = 0; sc->worker && i < sc->n_workers; i++) {
		struct worker *w = &sc->worker[i];

		site_table_free(&w->sites);
		hit_table_free(&w->hits);
		free(w->who);
		free(w->seen);
		free(w->left_out);
		free(w->bad);
		walk_free(w->walk);
	}
	for (size_t i = 0; i < sc->n_images; i++)
		(void)pthread_mutex_destroy(&sc->image_lock[i]);
	free(sc->image_lock);
	free(sc->worker);
	free(sc->ev);
	memset(sc, 0, sizeof(*sc));
}
