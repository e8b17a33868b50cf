/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second pass. Per sample a few fields at fixed places are read, and two small direct-mapped
 * tables are asked: for the thread, for the mapping that its address lies in (both with the span in
 * which that holds). The place in an image, which is the same in all processes, then is counted
 * (profile_count.h).
 */
#include "analyse/profile_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "base/big.h"
#include "base/task.h"
#include "base/text.h"
#include "base/vec.h"

#define WHO_SLOTS  1024u
#define SCAN_AHEAD 1536u /* bytes */
#define SPOT_SLOTS 2048u

/* Where addresses of a process lie, good for all of the span; and the group of the last sample that
 * was counted there. A cache line. */
struct scan_spot {
	struct space_span span;
	uint64_t less; /* from ip to image address */
	uint32_t proc_index, image;
	uint32_t group; /* ITAB_NONE: none yet */
	uint32_t party, cpu;
	uint16_t event;
	uint8_t asked, kind;
};
_Static_assert(sizeof(struct scan_spot) == 64, "a spot is a cache line");

uint64_t site_hash(const struct site *s)
{
	return hash_u64(s->addr ^ (uint64_t)s->image << 40 ^ (uint64_t)s->kind << 56 ^
			(uint64_t)s->caller << 62);
}

uint32_t site_add(struct site_table *t, const struct site *s, uint64_t h)
{
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

int site_table_index(struct site_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (itab_put(&t->at, site_hash(&t->v[i]), i))
			return -1;
	return 0;
}

void site_table_free(struct site_table *t)
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

static struct scan_spot *find_spot(struct worker *w, const struct who *who, uint8_t kind,
				   uint64_t ip, uint64_t time)
{
	bool kernel = kind == SPACE_KERNEL;
	/* the kernel is the same for all, but what is counted there is not */
	uint32_t proc = kernel ? who->party : who->proc_index;
	uint64_t h = ((ip >> (kernel ? 24 : 14)) ^ (uint64_t)proc << 40 ^ (uint64_t)kind << 36) *
		     0x9e3779b97f4a7c15ULL;
	struct scan_spot *o = &w->spot[h >> 40 & (SPOT_SLOTS - 1)];
	const struct map *m;

	if (ip - o->span.start < o->span.end - o->span.start && o->proc_index == proc &&
	    o->asked == kind && time >= o->span.from && time < o->span.until)
		return o;
	m = space_find_span(w->scan->sp, who->proc, (enum space_kind)kind, ip, time, &o->span);
	/* nobody's process may become somebody's */
	if (!kernel)
		narrow(&o->span.from, &o->span.until, who->from, who->until);
	o->proc_index = proc;
	o->asked = kind;
	o->kind = m ? m->kind : kind;
	o->image = m ? m->image : IMAGE_NONE;
	o->less = m ? ip - map_to_image(m, ip) : 0;
	o->group = ITAB_NONE;
	return o;
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
		uint8_t k = unsaid ? guess[i] : kind;
		const struct scan_spot *o = find_spot(w, who, k, ip, time);

		narrow(from, until, o->span.from, o->span.until);
		if (o->image != IMAGE_NONE) {
			s.addr = ip - o->less;
			s.image = o->image;
			s.kind = o->kind;
			break;
		}
	}
	return s;
}

/* The number of what is asked for of a thread. */
static uint32_t find_party(struct worker *w, const struct who *o)
{
	const struct scan *sc = w->scan;
	struct scan_party key = {
		.comm = sc->by_comm ? o->comm : 0,
		.pid = sc->by_pid ? o->pid : 0,
		.tid = sc->by_tid ? o->tid : 0,
	};
	uint64_t h = hash_pair(key.comm, (uint64_t)key.pid << 32 | key.tid);
	uint32_t idx;

	for (size_t i = itab_first(&w->party_at, h); itab_at(&w->party_at, &i, h, &idx);) {
		const struct scan_party *p = &w->party.v[idx];

		if (p->comm == key.comm && p->pid == key.pid && p->tid == key.tid)
			return idx;
	}
	if (itab_put(&w->party_at, h, w->party.n) || vec_push(&w->party, key))
		return ITAB_NONE;
	return (uint32_t)w->party.n - 1;
}

static int find_who(struct worker *w, struct who *o, uint32_t pid, uint32_t tid, uint64_t time)
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
	o->party = find_party(w, o);
	return o->party == ITAB_NONE ? -1 : 0;
}

static bool is_who(const struct who *o, uint32_t pid, uint32_t tid, uint64_t time)
{
	return o->tid == tid && o->pid == pid && time >= o->from && time < o->until;
}

/* NULL when out of memory. */
static struct who *who_at(struct worker *w, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint32_t h = (tid * 0x9e3779b1u ^ pid) >> 16;
	struct who *o = w->last_who;

	/* runs of one thread are the rule */
	if (o && is_who(o, pid, tid, time))
		return o;
	o = &w->who[(h ^ tid) & (WHO_SLOTS - 1)];
	w->last_who = NULL;
	if ((!o->used || !is_who(o, pid, tid, time)) && find_who(w, o, pid, tid, time))
		return NULL;
	w->last_who = o;
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

/* Of samples at that spot that have what this one has in common with others. */
static int find_group(struct worker *w, const struct scan_sample *s, struct scan_spot *o)
{
	const struct scan *sc = w->scan;
	const struct scan_party *party = &w->party.v[s->who->party];
	const struct count_group key = {
		.comm = party->comm,
		.cgroup = sc->by_cgroup && s->full ? s->full->cgroup : 0,
		.image = o->image,
		.event = s->event,
		.pid = party->pid,
		.tid = party->tid,
		.cpu = sc->by_cpu ? s->cpu : 0,
		.kind = o->kind,
		.period = s->period,
	};

	o->group = counts_group(&w->counts, &key);
	o->party = s->who->party;
	o->event = (uint16_t)s->event;
	o->cpu = key.cpu;
	return o->group == ITAB_NONE ? -1 : 0;
}

static int count_hit(struct worker *w, const struct scan_sample *s, struct err *err)
{
	const struct scan *sc = w->scan;
	struct scan_spot *o = find_spot(w, s->who, s->kind, s->ip, s->time);

	if ((o->group == ITAB_NONE || o->party != s->who->party || o->event != s->event ||
	     o->cpu != (sc->by_cpu ? s->cpu : 0) || sc->by_cgroup ||
	     !counts_fits(&w->counts, o->group, s->period)) &&
	    find_group(w, s, o))
		return err_nomem(err);
	return counts_add(&w->counts, s->ip - o->less, o->group, s->period) ? err_nomem(err) : 0;
}

static uint64_t field(const struct pd_record *r, uint16_t at, uint64_t absent)
{
	return at ? ld64(r->p + at) : absent;
}

/* Runs of one event are the rule. */
static int event_of(struct worker *w, const struct pd_record *r)
{
	const struct scan *sc = w->scan;

	if (sc->id_at && r->size >= sc->id_at + 8u) {
		uint64_t id = ld64(r->p + sc->id_at);

		if (id == w->last_id && w->last_event >= 0)
			return w->last_event;
		w->last_id = id;
		w->last_event = pd_sample_event(sc->rec, r);
		return w->last_event;
	}
	return pd_sample_event(sc->rec, r);
}

int scan_sample_take(struct worker *w, struct scan_sample *s, struct err *err)
{
	if (!w->scan->ev[s->event].selected || (!w->scan->all && !selected(w, s))) {
		weight_add(&w->left_out[s->event], s->period);
		return 0;
	}
	if (count_hit(w, s, err))
		return -1;
	return w->walk ? walk_sample(w->walk, s, err) : 0;
}

/* The sample with all its fields; dear, so not for those that are left out. */
static int full_sample(struct worker *w, size_t chunk, struct scan_sample *s, struct err *err)
{
	const struct scan *sc = w->scan;
	struct pd_sample full;

	if (!s->ev->split && (!s->ev->selected || !selected(w, s))) {
		weight_add(&w->left_out[s->event], s->period);
		return 0;
	}
	if (pd_sample_parse(sc->rec, s->r, &full) ||
	    (s->ev->split && !(full.has & PERF_SAMPLE_READ))) {
		w->bad[s->event]++;
		return 0;
	}
	s->full = &full;
	return s->ev->split ? reads_split(w, chunk, s, err) : scan_sample_take(w, s, err);
}

static int one_sample(struct worker *w, size_t chunk, const struct pd_record *r, struct err *err)
{
	const struct scan *sc = w->scan;
	struct scan_sample s = { .r = r };
	const struct scan_event *ev;
	int e = event_of(w, r);

	if (e < 0 || (size_t)e >= sc->n_events) {
		w->bad[0]++;
		return 0;
	}
	ev = &sc->ev[e];
	if (r->size < ev->at.fixed_end) {
		w->bad[e]++;
		return 0;
	}
	s.ev = ev;
	s.event = (uint32_t)e;
	s.ip = field(r, ev->at.ip, 0);
	s.pid = ev->at.tid ? ld32(r->p + ev->at.tid) : UINT32_MAX;
	s.tid = ev->at.tid ? ld32(r->p + ev->at.tid + 4) : UINT32_MAX;
	s.cpu = ev->at.cpu ? ld32(r->p + ev->at.cpu) : UINT32_MAX;
	s.period = field(r, ev->at.period, ev->period);
	s.time = sc->has_time ? field(r, ev->at.time, 0) : r->seq;
	s.kind = (uint8_t)space_kind_of_misc(r->misc);
	s.who = who_at(w, s.pid, s.tid, s.time);
	if (!s.who)
		return err_nomem(err);
	return ev->full ? full_sample(w, chunk, &s, err) : scan_sample_take(w, &s, err);
}

static int scan_chunk(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct scan *sc = ctx;
	struct worker *w = &sc->worker[worker];
	struct pd_record r = { NULL, 0, 0, 0, 0 };

	while (pd_next(&sc->chunks[i], &r)) {
		/* records are of all sizes: what the processor guesses is not enough; past the end
		 * nothing is read */
		__builtin_prefetch((const void *)((uintptr_t)r.p + SCAN_AHEAD));
		if (r.type == PERF_RECORD_SAMPLE && one_sample(w, i, &r, err))
			return -1;
	}
	if (counts_settle(&w->counts))
		return err_nomem(err);
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
	ev->split = reads_wanted(e);
	ev->read_by_thread = e->attr.inherit && ev->type & PERF_SAMPLE_TID;
	if (ev->split || (sc->by_cgroup && ev->type & PERF_SAMPLE_CGROUP))
		ev->full = true;
	if (sc->opts->chains &&
	    (ev->lbr_chain || ev->dwarf || (ev->type & PERF_SAMPLE_CALLCHAIN && !ev->plain_chain)))
		ev->full = true;
}

static int init_worker(struct scan *sc, struct worker *w, struct err *err)
{
	size_t n = sc->n_events ? sc->n_events : 1;

	w->scan = sc;
	w->last_event = -1;
	w->spot = big_zeros(SPOT_SLOTS, sizeof(*w->spot));
	w->who = big_zeros(WHO_SLOTS, sizeof(*w->who));
	w->left_out = calloc(n, sizeof(*w->left_out));
	w->bad = calloc(n, sizeof(*w->bad));
	if (counts_init(&w->counts, n) || !w->who || !w->spot || !w->left_out || !w->bad)
		return err_nomem(err);
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
	sc->all =
		!opts->comm && !opts->n_pids && !opts->n_tids && !opts->time_from && !opts->time_to;
	sc->caller_sites = opts->chain_lines || opts->chain_inline;
	sc->chunks = pd_chunks(rec, &sc->n_chunks);
	ev = pd_events(rec, &sc->n_events);
	sc->ev = calloc(sc->n_events ? sc->n_events : 1, sizeof(*sc->ev));
	if (!sc->ev)
		return err_nomem(err);
	/* all samples have their id where the first event says; see pd_sample_event */
	if (sc->n_events > 1)
		sc->id_at = ev[0].at.identifier ? ev[0].at.identifier : ev[0].at.id;
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
	return reads_prepare(sc, err) || task_for(sc->n_chunks, sc->n_workers, scan_chunk, sc, err)
		       ? -1
		       : 0;
}

void scan_free(struct scan *sc)
{
	for (unsigned i = 0; sc->worker && i < sc->n_workers; i++) {
		struct worker *w = &sc->worker[i];

		site_table_free(&w->sites);
		free(w->who);
		counts_free(&w->counts);
		vec_free(&w->party);
		itab_free(&w->party_at);
		free(w->spot);
		free(w->left_out);
		free(w->bad);
		walk_free(w->walk);
	}
	for (size_t i = 0; i < sc->n_images; i++)
		(void)pthread_mutex_destroy(&sc->image_lock[i]);
	free(sc->image_lock);
	reads_free(sc);
	free(sc->worker);
	free(sc->ev);
	memset(sc, 0, sizeof(*sc));
}
