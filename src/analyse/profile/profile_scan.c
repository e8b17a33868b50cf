/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second pass. Per sample a few fields at fixed places are read, and two small direct-mapped
 * tables are asked: for the thread, for the mapping that its address lies in (both with the span in
 * which that holds). The place in an image, which is the same in all processes, then is counted
 * (profile_count.h).
 */
#include "analyse/profile/profile_int.h"

#include <elf.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "base/perf_abi.h"
#include "base/task.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define PLACES 16384u

const struct site site_stray = { ADDR_STRAY, IMAGE_NONE, SPACE_UNKNOWN, false };

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

struct site scan_place(struct worker *w, const struct pass_thread *who, uint8_t kind, uint64_t ip,
		       bool caller, uint64_t time, uint64_t *from, uint64_t *until)
{
	/* a chain without a mode is tried as kernel, then as user space */
	static const uint8_t guess[] = { SPACE_KERNEL, SPACE_USER };
	bool unsaid = kind == KIND_UNSAID;
	struct site s = { ip, IMAGE_NONE, unsaid ? SPACE_UNKNOWN : kind,
			  caller && w->scan->caller_sites };

	for (unsigned i = 0; i < (unsaid ? 2 : 1); i++) {
		uint8_t k = unsaid ? guess[i] : kind;
		const struct place_who whose = pass_who(who);
		const struct place *o = place_find(&w->places, &whose, k, ip, time);

		place_narrow(o, from, until);
		if (o->image != IMAGE_NONE) {
			s.addr = ip - o->less;
			s.image = o->image;
			s.kind = place_kind(o);
			break;
		}
	}
	if (caller && s.image == IMAGE_NONE)
		s = site_stray;
	return s;
}

/* Returns the index of the thread's keys, which are added if they are new. */
static uint32_t find_party(struct worker *w, const struct pass_thread *o)
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

/* Finds the group of this sample at that place. */
static int find_group(struct worker *w, struct place *o, const struct scan_sample *s)
{
	const struct scan_party *party = &w->party.v[s->who->tag];
	const struct count_group key = {
		.comm = party->comm,
		.cgroup = w->scan->by_cgroup && s->full ? s->full->cgroup : 0,
		.image = o->image,
		.event = s->event,
		.pid = party->pid,
		.tid = party->tid,
		.cpu = w->scan->by_cpu ? s->cpu : 0,
		.kind = place_kind(o),
		.period = s->period,
	};

	o->own = counts_group(&w->counts, &key);
	/* whether periods vary may have been found just now */
	o->what = (o->what & ~((1ULL << PLACE_KIND) - 1)) |
		  spot_what(key.event, s->kind, spot_low(w, s));
	if (o->own != ITAB_NONE)
		return 0;
	o->life = 0; /* it answers nothing */
	return -1;
}

int scan_ask(struct worker *w, struct place *o, const struct scan_sample *s)
{
	const struct place_who who = pass_who(s->who);

	if (!place_answers(o, place_whose(&who, s->kind), s->kind, s->ip, s->time))
		place_ask(&w->places, o, &who, s->kind, s->ip, s->time);
	if (!w->scan->by_cgroup &&
	    !SPOT_DIFFER(o->what, spot_what(s->event, s->kind, spot_low(w, s))) &&
	    counts_fits(&w->counts, o->own, s->period))
		return 0;
	return find_group(w, o, s);
}

static int count_sample(struct worker *w, const struct scan_sample *s)
{
	const struct place_who who = pass_who(s->who);
	uint64_t hash = place_hash(place_whose(&who, s->kind), s->kind);
	struct place *o = place_slot(&w->places, hash, w->places.grain[s->kind].shift, s->ip);

	return scan_ask(w, o, s) ? -1 : counts_add(&w->counts, s->ip - o->less, o->own, s->period);
}

static inline uint64_t field(const struct pd_record *r, uint16_t at, uint64_t absent)
{
	return at ? ld64(r->p + at) : absent;
}

int scan_sample_take(struct worker *w, struct scan_sample *s, struct err *err)
{
	s->period = mux_weigh(s->period, s->factor);
	if (!s->selected || !w->scan->ev[s->event].selected) {
		weight_add(&w->left_out[s->event], s->period);
		return 0;
	}
	if (w->branches)
		return branches_sample(w->branches, s, err);
	if (w->scan->opts->stacks == STACKS_CELLS)
		return s->event == w->scan->opts->bin.event ? walk_sample(w->walk, s, err) : 0;
	if (count_sample(w, s))
		return err_nomem(err);
	return w->walk ? walk_sample(w->walk, s, err) : 0;
}

/* The sample with all its fields; dear, so not for those that are left out. */
static int full_sample(struct worker *w, size_t chunk, struct scan_sample *s, struct err *err)
{
	const struct scan *sc = w->scan;
	struct pd_sample full;

	if (!s->ev->split && (!s->ev->selected || !s->selected))
		return scan_sample_take(w, s, err);
	if (pd_sample_parse(sc->rec, s->r, &full) ||
	    (s->ev->split && !(full.has & PERF_SAMPLE_READ))) {
		w->bad[s->event]++;
		return 0;
	}
	s->full = &full;
	return s->ev->split ? reads_split(w, chunk, s, err) : scan_sample_take(w, s, err);
}

static int one_sample(struct scan *sc, const struct pass_sample *x, bool selected, struct err *err)
{
	struct worker *w = &sc->worker[x->worker];
	const struct scan_event *ev = &sc->ev[x->event];
	struct scan_sample s = { .r = x->r,
				 .ev = ev,
				 .who = x->who,
				 .ip = field(x->r, ev->at.ip, 0),
				 .time = x->time,
				 .period = field(x->r, ev->at.period, ev->period),
				 .task = x->task,
				 .event = x->event,
				 .cpu = x->cpu,
				 .kind = sc->kind_of[x->r->misc & PERF_RECORD_MISC_CPUMODE_MASK],
				 .selected = selected };

	if (ev->plain) /* faster from now on */
		scan_plain_known(w, x->id, ev);
	s.factor = ev->weighed ? mux_factor(sc->opts->mux, s.event, s.cpu, task_tid(s.task), s.time)
			       : NAN;
	return ev->full ? full_sample(w, x->chunk, &s, err) : scan_sample_take(w, &s, err);
}

static int take_sample(void *ctx, const struct pass_sample *x, struct err *err)
{
	return one_sample(ctx, x, true, err);
}

static int leave_sample(void *ctx, const struct pass_sample *x, struct err *err)
{
	return one_sample(ctx, x, false, err);
}

/* Returns the index of the thread's keys, which are added if they are new. */
static int tag_thread(void *ctx, unsigned worker, struct pass_thread *t)
{
	struct scan *sc = ctx;

	t->tag = find_party(&sc->worker[worker], t);
	return t->tag == ITAB_NONE ? -1 : 0;
}

/* Its tables, by the worker itself before its first chunk: clearing them takes a while. One that
 * comes too late for any chunk has none. */
static int init_tables(struct worker *w, struct err *err)
{
	const struct scan *sc = w->scan;
	if (places_init(&w->places, sc->sp, pass_entries(sc->pass, PLACES)) ||
	    counts_init(&w->counts, sc->n_events ? sc->n_events : 1,
			pass_samples(sc->pass) / sc->n_workers))
		return err_nomem(err);
	return 0;
}

static int begin_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	struct worker *w = &((struct scan *)ctx)->worker[worker];

	(void)chunk;
	return w->places.v ? 0 : init_tables(w, err);
}

static int end_chunk(void *ctx, unsigned worker, size_t chunk, struct err *err)
{
	(void)chunk;
	return counts_settle(&((struct scan *)ctx)->worker[worker].counts) ? err_nomem(err) : 0;
}

static int bulk(void *ctx, unsigned worker, const struct pd_chunk *c, const uint8_t **at,
		struct err *err)
{
	return scan_plain(&((struct scan *)ctx)->worker[worker], c, at) ? err_nomem(err) : 0;
}

/* Returns true if the fields that the loop reads are at the same offsets as those of the events
 * before; in perf's recordings all events are alike. */
static bool same_places(const struct scan *sc, const struct pd_layout *at)
{
	const struct pd_layout *as = &sc->plain_at;

	return at->ip == as->ip && at->tid == as->tid && at->time == as->time &&
	       at->period == as->period && (at->cpu == as->cpu || !sc->by_cpu);
}

static bool is_weighed(const struct scan *sc, size_t event)
{
	size_t n;
	const struct mux_event *m = sc->opts->mux ? mux_events(sc->opts->mux, &n) : NULL;

	return m && event < n && m[event].told;
}

static void init_event(struct scan *sc, struct scan_event *ev, const struct pd_event *e)
{
	ev->at = e->at;
	ev->type = e->attr.sample_type;
	/* in frequency mode the number beside it is the frequency; perf counts it as the period */
	ev->period = e->attr.sample_period ? e->attr.sample_period : 1;
	ev->selected = text_means(sc->opts->select.event, e->name);
	ev->plain_chain = ev->type & PERF_SAMPLE_CALLCHAIN && !(ev->type & PERF_SAMPLE_READ);
	ev->cut_at = profile_kernel_frames(e);
	ev->how = sample_frames_how(e, sc->opts->machine);
	ev->split = reads_wanted(e);
	ev->weighed = is_weighed(sc, (size_t)(ev - sc->ev));
	ev->read_by_thread = reads_by_thread(e);
	if (ev->split || (sc->by_cgroup && ev->type & PERF_SAMPLE_CGROUP))
		ev->full = true;
	if (sc->opts->chains && (sample_frames_made(&ev->how) ||
				 (ev->type & PERF_SAMPLE_CALLCHAIN && !ev->plain_chain)))
		ev->full = true;
	ev->plain = sc->all && ev->selected && !ev->full && !ev->weighed && !sc->opts->chains &&
		    !sc->opts->branches && !sc->by_cgroup && ev->at.ip && ev->at.tid &&
		    (ev->at.time || !sc->has_time) && (ev->at.cpu || !sc->by_cpu);
	if (!ev->plain)
		return;
	if (!sc->plain_at.ip)
		sc->plain_at = ev->at;
	ev->plain = same_places(sc, &ev->at);
}

static int init_worker(struct scan *sc, struct worker *w, struct err *err)
{
	size_t n = sc->n_events ? sc->n_events : 1;

	w->scan = sc;
	w->number = (unsigned)(w - sc->worker);
	w->left_out = calloc(n, sizeof(*w->left_out));
	w->bad = calloc(n, sizeof(*w->bad));
	if (!w->left_out || !w->bad)
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

static void add_visitor(struct scan *sc)
{
	struct pass_visitor v = { .wants = PASS_THREAD | (sc->by_comm ? PASS_COMM : 0),
				  .sample = take_sample,
				  .left_out = leave_sample,
				  .begin = begin_chunk,
				  .end = end_chunk,
				  .thread = tag_thread };

	for (size_t e = 0; e < sc->n_events; e++)
		if (sc->ev[e].plain)
			v.bulk = bulk;
	pass_add(sc->pass, &v, sc);
}

int scan_begin(struct scan *sc, struct pass *pass, const struct pd *rec, const struct spaces *sp,
	       const struct profile_opts *opts, struct err *err)
{
	const struct pd_event *ev;

	memset(sc, 0, sizeof(*sc));
	sc->pass = pass;
	sc->rec = rec;
	sc->sp = sp;
	sc->opts = opts;
	sc->has_time = pd_has_time(rec);
	sc->by_comm = keys_need(opts, BY_COMM);
	sc->by_pid = keys_need(opts, BY_PID);
	sc->by_tid = keys_need(opts, BY_TID);
	sc->by_cpu = keys_need(opts, BY_CPU);
	sc->by_cgroup = keys_need(opts, BY_CGROUP);
	sc->all = selection_all(&opts->select);
	sc->caller_sites = opts->chain_lines || opts->chain_inline;
	ev = pd_events(rec, &sc->n_events);
	sc->ev = xcalloc(sc->n_events ? sc->n_events : 1, sizeof(*sc->ev));
	/* all samples have their id at the offset of the first event; see pd_sample_event */
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
	sc->n_workers = pass_workers(sc->pass);
	sc->worker = xcalloc(sc->n_workers, sizeof(*sc->worker));
	if (opts->chains && init_locks(sc, err))
		return -1;
	for (unsigned i = 0; i < sc->n_workers; i++)
		if (init_worker(sc, &sc->worker[i], err))
			return -1;
	if (reads_prepare(sc, err))
		return -1;
	add_visitor(sc);
	return 0;
}

void scan_free(struct scan *sc)
{
	for (unsigned i = 0; sc->worker && i < sc->n_workers; i++) {
		struct worker *w = &sc->worker[i];

		site_table_free(&w->sites);
		counts_free(&w->counts);
		vec_free(&w->party);
		itab_free(&w->party_at);
		places_free(&w->places);
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
