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
#include "base/perf_abi.h"
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
	uint32_t group, party, cpu; /* party ITAB_NONE: no group yet */
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

static __attribute__((noinline)) void ask_spot(struct worker *w, struct scan_spot *o,
					       const struct who *who, uint8_t kind, uint64_t ip,
					       uint64_t time)
{
	bool kernel = kind == SPACE_KERNEL;
	const struct map *m;

	m = space_find_span(w->scan->sp, who->proc, (enum space_kind)kind, ip, time, &o->span);
	/* nobody's process may become somebody's */
	if (!kernel)
		narrow(&o->span.from, &o->span.until, who->from, who->until);
	o->proc_index = kernel ? who->party : who->proc_index;
	o->asked = kind;
	o->kind = m ? m->kind : kind;
	o->image = m ? m->image : IMAGE_NONE;
	o->less = m ? ip - map_to_image(m, ip) : 0;
	o->party = ITAB_NONE;
}

/* The kernel is the same for all, but what is counted there is not. */
static inline uint32_t spot_proc(const struct who *who, uint8_t kind)
{
	return kind == SPACE_KERNEL ? who->party : who->proc_index;
}

static inline uint32_t spot_at(uint32_t proc, uint8_t kind, uint64_t ip)
{
	unsigned coarse = kind == SPACE_KERNEL ? 24 : 18;
	uint64_t h = ((ip >> coarse) ^ (uint64_t)proc << 40 ^ (uint64_t)kind << 36) *
		     0x9e3779b97f4a7c15ULL;

	return h >> 40 & (SPOT_SLOTS - 1);
}

static inline bool is_spot(const struct scan_spot *o, uint32_t proc, uint8_t kind, uint64_t ip,
			   uint64_t time)
{
	return ip - o->span.start < o->span.end - o->span.start && o->proc_index == proc &&
	       o->asked == kind && time >= o->span.from && time < o->span.until;
}

static struct scan_spot *find_spot(struct worker *w, const struct who *who, uint8_t kind,
				   uint64_t ip, uint64_t time)
{
	uint32_t proc = spot_proc(who, kind);
	struct scan_spot *o = &w->spot[spot_at(proc, kind, ip)];

	if (!is_spot(o, proc, kind, ip, time))
		ask_spot(w, o, who, kind, ip, time);
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
		.pid = sc->by_pid ? task_pid(o->task) : 0,
		.tid = sc->by_tid ? task_tid(o->task) : 0,
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

static int find_who(struct worker *w, struct who *o, uint64_t task, uint64_t time)
{
	const struct scan *sc = w->scan;
	uint32_t pid = task_pid(task), tid = task_tid(task);

	memset(o, 0, sizeof(*o));
	o->until = UINT64_MAX;
	o->task = task;
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

static inline bool is_who(const struct who *o, uint64_t task, uint64_t time)
{
	return o->task == task && time >= o->from && time < o->until;
}

/* NULL when out of memory. */
static __attribute__((noinline)) struct who *other_who(struct worker *w, uint64_t task,
						       uint64_t time)
{
	uint32_t tid = task_tid(task), h = (tid * 0x9e3779b1u ^ task_pid(task)) >> 16;
	struct who *o = &w->who[(h ^ tid) & (WHO_SLOTS - 1)];

	w->last_who = NULL;
	if ((!o->used || !is_who(o, task, time)) && find_who(w, o, task, time))
		return NULL;
	w->last_who = o;
	return o;
}

static inline struct who *who_at(struct worker *w, uint64_t task, uint64_t time)
{
	struct who *o = w->last_who;

	/* runs of one thread are the rule */
	return o && is_who(o, task, time) ? o : other_who(w, task, time);
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
	if (!listed(o->pids, o->n_pids, task_pid(s->task)) ||
	    !listed(o->tids, o->n_tids, task_tid(s->task)))
		return false;
	if (o->comm) {
		char buf[COMM_TEXT];

		return !strcmp(scan_comm_text(w->scan->sp, s->who->comm, buf), o->comm);
	}
	return true;
}

/* Of samples at that spot that have what this one has in common with others. */
static __attribute__((noinline)) int find_group(struct worker *w, struct scan_spot *o,
						uint32_t number, uint32_t event, uint32_t cpu,
						uint64_t cgroup, uint64_t period)
{
	const struct scan_party *party = &w->party.v[number];
	const struct count_group key = {
		.comm = party->comm,
		.cgroup = cgroup,
		.image = o->image,
		.event = event,
		.pid = party->pid,
		.tid = party->tid,
		.cpu = cpu,
		.kind = o->kind,
		.period = period,
	};

	o->group = counts_group(&w->counts, &key);
	o->party = o->group == ITAB_NONE ? ITAB_NONE : number;
	o->event = (uint16_t)event;
	o->cpu = cpu;
	return o->group == ITAB_NONE ? -1 : 0;
}

static inline bool is_group(const struct worker *w, const struct scan_spot *o, uint32_t party,
			    uint32_t event, uint32_t cpu, uint64_t period)
{
	return o->party == party && o->event == event && o->cpu == cpu &&
	       counts_fits(&w->counts, o->group, period);
}

/* `cpu` is 0 where it is not asked for. */
static int count_at(struct worker *w, struct scan_spot *o, uint32_t party, uint64_t ip,
		    uint32_t event, uint32_t cpu, uint64_t cgroup, uint64_t period)
{
	if ((w->scan->by_cgroup || !is_group(w, o, party, event, cpu, period)) &&
	    find_group(w, o, party, event, cpu, cgroup, period))
		return -1;
	return counts_add(&w->counts, ip - o->less, o->group, period);
}

/* The slow half of finding a sample's group. */
static __attribute__((noinline)) int ask_plain(struct worker *w, const struct scan_plain *x,
					       struct scan_spot *o)
{
	if (!is_spot(o, x->proc, x->kind, x->ip, x->time)) {
		const struct who *who = who_at(w, x->task, x->time);

		if (!who)
			return -1;
		ask_spot(w, o, who, x->kind, x->ip, x->time);
	}
	return find_group(w, o, x->party, x->event, x->cpu, 0, x->period);
}

/* Counts the samples that wait, in two steps, so that what one needs of the caches is fetched while
 * the others are worked at. */
static int count_plain(struct worker *w)
{
	struct counts *c = &w->counts;

	for (unsigned i = 0; i < w->n_plain; i++) {
		struct scan_plain *x = &w->plain[i];
		struct scan_spot *o = &w->spot[x->spot];

		if ((!is_spot(o, x->proc, x->kind, x->ip, x->time) ||
		     !is_group(w, o, x->party, x->event, x->cpu, x->period)) &&
		    ask_plain(w, x, o))
			return -1;
		x->ip -= o->less;
		x->group = o->group;
		x->hash = counts_ahead(c, x->ip, x->group);
	}
	for (unsigned i = 0; i < w->n_plain; i++) {
		const struct scan_plain *x = &w->plain[i];

		if (counts_put(c, x->ip, x->group, x->hash, x->period))
			return -1;
	}
	w->n_plain = 0;
	return 0;
}

static inline uint64_t field(const struct pd_record *r, uint16_t at, uint64_t absent)
{
	return at ? ld64(r->p + at) : absent;
}

/* Runs of one event are the rule. */
static inline int event_of(struct worker *w, const struct pd_record *r)
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
	return sc->n_events == 1 ? 0 : pd_sample_event(sc->rec, r);
}

int scan_sample_take(struct worker *w, struct scan_sample *s, struct err *err)
{
	if (!w->scan->ev[s->event].selected || (!w->scan->all && !selected(w, s))) {
		weight_add(&w->left_out[s->event], s->period);
		return 0;
	}
	if (w->branches)
		return branches_sample(w->branches, s, err);
	if (count_at(w, find_spot(w, s->who, s->kind, s->ip, s->time), s->who->party, s->ip,
		     s->event, w->scan->by_cpu ? s->cpu : 0,
		     w->scan->by_cgroup && s->full ? s->full->cgroup : 0, s->period))
		return err_nomem(err);
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
	if (ev->plain) { /* faster from now on */
		uint64_t id = sc->id_at ? w->last_id : 0;

		w->known[id % SCAN_KNOWN] = (struct scan_known){ id, ev };
	}
	s.ev = ev;
	s.event = (uint32_t)e;
	s.ip = field(r, ev->at.ip, 0);
	s.task = ev->at.tid ? task_of(ld32(r->p + ev->at.tid), ld32(r->p + ev->at.tid + 4))
			    : UINT64_MAX;
	s.cpu = ev->at.cpu ? ld32(r->p + ev->at.cpu) : UINT32_MAX;
	s.period = field(r, ev->at.period, ev->period);
	s.time = sc->has_time ? field(r, ev->at.time, 0) : r->seq;
	s.kind = sc->kind_of[r->misc & PERF_RECORD_MISC_CPUMODE_MASK];
	s.who = who_at(w, s.task, s.time);
	if (!s.who)
		return err_nomem(err);
	return ev->full ? full_sample(w, chunk, &s, err) : scan_sample_take(w, &s, err);
}

/* The same for a sample of an event that is only counted, and whose id was met before: most samples
 * of most recordings. 0: it is not one; -1: no memory. */
static inline int plain_sample(struct worker *w, const struct scan *sc, const struct pd_record *r)
{
	const uint8_t *p = r->p;
	const struct scan_known *known;
	const struct scan_event *ev;
	const struct who *who;
	struct scan_plain *x;
	uint64_t id, ip, time, period, task;
	uint32_t cpu, proc, spot;
	uint8_t kind = sc->kind_of[r->misc & PERF_RECORD_MISC_CPUMODE_MASK];

	if (r->size < sc->least)
		return 0;
	id = sc->id_at ? ld64(p + sc->id_at) : 0;
	known = &w->known[id % SCAN_KNOWN];
	ev = known->ev;
	if (!ev || known->id != id)
		return 0;
	ip = ld64(p + ev->at.ip);
	task = task_of(ld32(p + ev->at.tid), ld32(p + ev->at.tid + 4));
	time = sc->has_time ? ld64(p + ev->at.time) : r->seq;
	period = ev->at.period ? ld64(p + ev->at.period) : ev->period;
	cpu = sc->by_cpu ? ld32(p + ev->at.cpu) : 0;
	who = who_at(w, task, time);
	if (!who)
		return -1;
	proc = spot_proc(who, kind);
	spot = spot_at(proc, kind, ip);
	__builtin_prefetch(&w->spot[spot]);
	x = &w->plain[w->n_plain++];
	x->ip = ip;
	x->time = time;
	x->period = period;
	x->task = task;
	x->proc = proc;
	x->party = who->party;
	x->cpu = cpu;
	x->spot = spot;
	x->event = (uint16_t)ev->index;
	x->kind = kind;
	return w->n_plain == SCAN_PLAIN && count_plain(w) ? -1 : 1;
}

static int scan_chunk(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct scan *sc = ctx;
	struct worker *w = &sc->worker[worker];
	const struct pd_chunk c = sc->chunks[i];

	for (const uint8_t *p = c.p; p < c.end;) {
		const struct pd_record r = { p, ld32(p), ld16(p + 4), ld16(p + 6),
					     c.seq + (uint64_t)(p - c.p) };
		int rc;

		/* records are of all sizes: what the processor guesses is not enough; past the end
		 * nothing is read */
		__builtin_prefetch((const void *)((uintptr_t)p + SCAN_AHEAD));
		p += r.size;
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		rc = plain_sample(w, sc, &r);
		if (rc < 0)
			return err_nomem(err);
		if (!rc) {
			const struct pd_record copy = r; /* this one may stay in registers */

			if (one_sample(w, i, &copy, err))
				return -1;
		}
	}
	if (count_plain(w) || counts_settle(&w->counts))
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
	ev->plain = sc->all && ev->selected && !ev->full && !sc->opts->chains &&
		    !sc->opts->branches && !sc->by_cgroup && ev->at.ip && ev->at.tid &&
		    (ev->at.time || !sc->has_time) && (ev->at.cpu || !sc->by_cpu);
}

static int init_worker(struct scan *sc, struct worker *w, struct err *err)
{
	size_t n_events, n = sc->n_events ? sc->n_events : 1;
	const struct pd_event *ev = pd_events(sc->rec, &n_events);
	uint64_t samples = 0;

	for (size_t i = 0; i < n_events; i++)
		samples += ev[i].samples;
	w->scan = sc;
	w->last_event = -1;
	w->spot = big_zeros(SPOT_SLOTS, sizeof(*w->spot));
	w->who = big_zeros(WHO_SLOTS, sizeof(*w->who));
	w->left_out = calloc(n, sizeof(*w->left_out));
	w->bad = calloc(n, sizeof(*w->bad));
	if (counts_init(&w->counts, n, samples / sc->n_workers) || !w->who || !w->spot ||
	    !w->left_out || !w->bad)
		return err_nomem(err);
	if (sc->opts->branches)
		w->branches = branches_new(w, err);
	else if (sc->opts->chains)
		w->walk = walk_new(w, err);
	else
		return 0;
	return w->branches || w->walk ? 0 : -1;
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
	for (unsigned i = 0; i < sizeof(sc->kind_of); i++)
		sc->kind_of[i] = (uint8_t)space_kind_of_misc((uint16_t)i);
	sc->least = sc->id_at ? sc->id_at + 8u : 0;
	for (size_t i = 0; i < sc->n_events; i++) {
		init_event(sc, &sc->ev[i], &ev[i]);
		sc->ev[i].index = (uint32_t)i;
		if (ev[i].at.fixed_end > sc->least)
			sc->least = ev[i].at.fixed_end;
	}
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
		branches_free(w->branches);
	}
	for (size_t i = 0; i < sc->n_images; i++)
		(void)pthread_mutex_destroy(&sc->image_lock[i]);
	free(sc->image_lock);
	reads_free(sc);
	free(sc->worker);
	free(sc->ev);
	memset(sc, 0, sizeof(*sc));
}
