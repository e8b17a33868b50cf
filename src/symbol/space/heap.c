/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs into objects. Each process' records are put in the order of time and played: live objects
 * are in a table by address. Objects are then sorted by log, level (which sizes), start and time,
 * so that a look-up walks back over the few starts of each level that can reach an address.
 */
#include "symbol/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/sort.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbol/heap_log.h"

#define LEVELS	   16u	  /* sizes up to 64 << 2 * level */
#define LEVEL_MAPS LEVELS /* mappings and stacks */
#define LIVE_MAPS  4096u  /* mappings of a process at a time: others are not known */
#define STEPS	   512u	  /* starts looked at for an address, in a level */
#define FORKS	   64u

struct log {
	uint64_t key; /* of pid and beginning */
	uint32_t pid, parent, flags;
	uint64_t began, rate;
	bool sampled;		      /* small objects in part, or events were not logged */
	size_t first[LEVEL_MAPS + 2]; /* of its objects by level; the last is their end */
};

struct event {
	uint64_t time, address, bytes;
	uint64_t after; /* of the chunk's record before: the earliest that it can have been */
	uint32_t chain, tid, rate;
	uint8_t type;
};

/* A block that a process freed and its parent had allocated. */
struct gone {
	uint32_t log;
	uint64_t address, time;
};

/* A process, from a time on: forked, or executed. */
struct beginning {
	uint32_t pid, parent;
	uint64_t time;
};

struct chain {
	const uint8_t *from;
	uint32_t n;
};

struct heap {
	VEC(struct log) log;
	VEC(struct heap_object) object;
	VEC(struct gone) gone;
	VEC(struct beginning) beginning;
	VEC(struct chain) chain;
	struct u64map chain_at; /* log << 32 | number -> 1 + place in chain */
	uint64_t *address;	/* of chains, one behind another */
	size_t *chain_first;
	double slope;	    /* ns a tick */
	uint64_t ticks, ns; /* one instant */
	struct heap_facts facts;
};

/* A process' log while it is played. */
struct play {
	struct heap *h;
	uint32_t log;
	struct u64map live; /* address -> 1 + place in object; 0: none */
	VEC(uint32_t) map;  /* live mappings and stacks */
	uint64_t rate;
};

const char *heap_why_text(enum heap_why why)
{
	static const char *const texts[] = {
		[HEAP_FOUND] = "",
		[HEAP_NO_LOG] = "its process left no log of allocations",
		[HEAP_OWN_LOG] = "the program has a malloc of its own",
		[HEAP_SAMPLED] = "small objects were logged in part only",
		[HEAP_NO_OBJECT] = "in no live allocation",
	};

	return texts[why];
}

/* ---- logs, clocks, chains ------------------------------------------------------------------ */

static uint32_t log_of(struct heap *h, struct u64map *at, const struct heap_chunk *c)
{
	uint64_t key = hash_pair(c->pid, c->began);
	struct log l = { .key = key,
			 .pid = c->pid,
			 .parent = c->parent,
			 .flags = c->flags,
			 .began = c->began,
			 .rate = c->rate };
	uint64_t *v = u64map_xat(at, key, NULL);

	if (!*v) {
		vec_xpush(&h->log, l);
		*v = h->log.n;
	}
	return (uint32_t)*v - 1;
}

/* A straight line through the first instant and the last. */
static void find_heap_clock(struct heap *h, const void *p, size_t len)
{
	struct heap_log_at at = heap_log_begin(p, len);
	uint64_t last_ticks = 0, last_ns = 0;

	h->ticks = UINT64_MAX;
	while (heap_log_chunk(&at)) {
		const struct heap_chunk *c = &at.chunk;

		if (c->flags & HEAP_NO_TICKS)
			continue;
		if (c->ticks < h->ticks) {
			h->ticks = c->ticks;
			h->ns = c->ns;
		}
		if (c->ticks > last_ticks) {
			last_ticks = c->ticks;
			last_ns = c->ns;
		}
	}
	if (last_ticks > h->ticks && last_ns > h->ns)
		h->slope = (double)(last_ns - h->ns) / (double)(last_ticks - h->ticks);
}

static uint64_t to_ns(const struct heap *h, const struct heap_chunk *c, uint64_t time)
{
	double d;

	if (c->flags & HEAP_NO_TICKS)
		return time;
	d = ((double)time - (double)h->ticks) * h->slope;
	if (time >= h->ticks) /* no bits are lost */
		d = (double)(time - h->ticks) * h->slope;
	return d > 9e18 ? UINT64_MAX - 1 : d < -(double)h->ns ? 0 : h->ns + (uint64_t)(int64_t)d;
}

/* ---- playing a log ------------------------------------------------------------------------- */

static uint8_t size_level(uint64_t size)
{
	uint8_t l = 0;

	while (l + 1u < LEVELS && size > UINT64_C(64) << 2 * l)
		l++;
	return l;
}

static void add_object(struct play *p, const struct event *e, uint8_t type, uint8_t level)
{
	vec_xpush(&p->h->object, ((struct heap_object){ .start = e->address,
							.size = e->bytes,
							.from = e->time,
							.until = UINT64_MAX,
							.log = p->log,
							.chain = e->chain,
							.tid = e->tid,
							.type = type,
							.level = level }));
}

static void end_heap_object(struct play *p, uint64_t place, uint64_t time)
{
	struct heap_object *o = &p->h->object.v[place];

	o->until = time > o->from ? time : o->from;
}

/* Mappings that lose a range: ends there, and its rest begins anew. */
static void cut_maps(struct play *p, const struct event *e, uint64_t bytes)
{
	uint64_t from = e->address, to = from + bytes < from ? UINT64_MAX : from + bytes;
	size_t n = 0, had = p->map.n;

	for (size_t i = 0; i < had; i++) {
		struct heap_object o = p->h->object.v[p->map.v[i]];
		struct event rest = { .time = e->time, .chain = o.chain, .tid = o.tid };

		if (o.start >= to || from >= o.start + o.size) {
			p->map.v[n++] = p->map.v[i];
			continue;
		}
		end_heap_object(p, p->map.v[i], e->time);
		rest.address = o.start;
		rest.bytes = from > o.start ? from - o.start : 0;
		for (int side = 0; side < 2; side++) {
			if (rest.bytes) {
				add_object(p, &rest, o.type, LEVEL_MAPS);
				/* of one in two parts the second comes behind all */
				if (n <= i)
					p->map.v[n++] = (uint32_t)p->h->object.n - 1;
				else if (p->map.n < LIVE_MAPS)
					vec_xpush(&p->map, (uint32_t)p->h->object.n - 1);
			}
			rest.address = to;
			rest.bytes = o.start + o.size > to ? o.start + o.size - to : 0;
		}
	}
	memmove(p->map.v + n, p->map.v + had, (p->map.n - had) * sizeof(*p->map.v));
	p->map.n -= had - n;
}

static void play_map(struct play *p, const struct event *e)
{
	if (p->map.n)
		cut_maps(p, e, e->bytes);
	if (e->type == HEAP_UNMAP || p->map.n >= LIVE_MAPS || !e->bytes)
		return;
	add_object(p, e, e->type, LEVEL_MAPS);
	vec_xpush(&p->map, (uint32_t)p->h->object.n - 1);
}

static void play_alloc(struct play *p, const struct event *e)
{
	uint64_t *v = u64map_xat(&p->live, e->address, NULL);

	if (*v)
		end_heap_object(p, *v - 1, e->time);
	add_object(p, e, HEAP_ALLOC, size_level(e->bytes));
	*v = p->h->object.n;
}

static void play_free(struct play *p, const struct event *e)
{
	uint64_t *v = u64map_find(&p->live, e->address);

	if (v && *v) {
		/* allocated since: perhaps by another thread, after this release */
		if (e->type == HEAP_FREED && p->h->object.v[*v - 1].from > e->after)
			return;
		end_heap_object(p, *v - 1, e->time);
		*v = 0;
		return;
	}
	if (!(p->h->log.v[p->log].flags & HEAP_FORKED))
		return;
	/* its parent's */
	vec_xpush(&p->h->gone, ((struct gone){ p->log, e->address, e->time }));
}

/* Objects whose end will not be logged end here. */
static void play_rate(struct play *p, const struct event *e)
{
	uint64_t rate = e->rate, address, *v;
	size_t i = 0;

	if (!rate || rate & (rate - 1) || rate <= p->rate)
		return;
	p->rate = rate;
	p->h->log.v[p->log].sampled = true;
	p->h->facts.rate = rate > p->h->facts.rate ? rate : p->h->facts.rate;
	while (u64map_next(&p->live, &i, &address, &v)) {
		if (!*v || heap_logged(address, rate) || p->h->object.v[*v - 1].size >= HEAP_BIG)
			continue;
		end_heap_object(p, *v - 1, e->time);
		*v = 0;
	}
}

static void play_event(struct play *p, const struct event *e)
{
	if (p->h->object.n >= UINT32_MAX - 2)
		nomem_die();
	switch (e->type) {
	case HEAP_ALLOC:
		play_alloc(p, e);
		break;
	case HEAP_FREE:
	case HEAP_FREED:
		play_free(p, e);
		break;
	case HEAP_RATE:
		play_rate(p, e);
		break;
	default:
		play_map(p, e);
		break;
	}
}

/* ---- reading ------------------------------------------------------------------------------- */

struct events {
	VEC(struct event) event;
	VEC(uint32_t) log; /* of each */
};

static void add_heap_event(struct events *all, uint32_t log, const struct heap_log_record *r,
			   uint64_t time, uint64_t after)
{
	struct event e = { .time = time,
			   .address = r->address,
			   .bytes = r->bytes,
			   .rate = r->rate <= UINT32_MAX ? (uint32_t)r->rate : 0,
			   .after = after,
			   .chain = r->chain,
			   .tid = r->tid,
			   .type = (uint8_t)r->type };

	if (all->event.n >= UINT32_MAX - 1)
		nomem_die();
	vec_xpush(&all->event, e);
	vec_xpush(&all->log, log);
}

/* A chunk's records. Releases without a time are of that of the next record, and the chunk's last
 * ones of that of the record before: so nothing is taken for an object that may be gone. */
static void read_log_records(struct heap *h, struct events *all, struct heap_log_at *at,
			     uint32_t log)
{
	uint64_t last = to_ns(h, &at->chunk,
			      at->chunk.flags & HEAP_NO_TICKS ? at->chunk.ns : at->chunk.ticks);
	size_t waiting = all->event.n;
	struct heap_log_record r;
	uint64_t *chain;

	while (heap_log_record(at, &r)) {
		uint64_t time = r.has_time ? to_ns(h, &at->chunk, r.time) : UINT64_MAX - 1;

		if (r.type == HEAP_CHAIN) {
			chain = u64map_xat(&h->chain_at, (uint64_t)log << 32 | r.chain, NULL);
			if (!*chain) {
				vec_xpush(&h->chain, ((struct chain){ r.from, r.n }));
				*chain = h->chain.n;
			}
			continue;
		}
		add_heap_event(all, log, &r, time, last);
		if (!r.has_time)
			continue;
		for (; waiting < all->event.n; waiting++)
			all->event.v[waiting].time = time;
		last = time;
	}
	for (; waiting < all->event.n; waiting++)
		all->event.v[waiting].time = last;
}

static void read_log_chunks(struct heap *h, struct events *all, const void *p, size_t len)
{
	struct heap_log_at at = heap_log_begin(p, len);
	struct u64map logs = U64MAP_INIT;

	while (heap_log_chunk(&at)) {
		uint32_t log;

		if (!at.chunk.pid)
			continue;
		log = log_of(h, &logs, &at.chunk);
		if (at.chunk.not_logged)
			h->log.v[log].sampled = true;
		h->facts.not_logged += at.chunk.not_logged;
		read_log_records(h, all, &at, log);
	}
	u64map_free(&logs);
}

static void play_log(struct heap *h, const struct events *all, const struct keyed *order, size_t n)
{
	struct play p = { .h = h, .log = all->log.v[order[0].a] };
	struct log *l = &h->log.v[p.log];

	p.rate = l->rate;
	if (l->rate > 1)
		l->sampled = true;
	for (size_t i = 0; i < n; i++)
		play_event(&p, &all->event.v[order[i].a]);
	u64map_free(&p.live);
	vec_free(&p.map);
}

/* Each log's events in the order of time: by time first, then, as that sort is stable, by log. */
static void play_all(struct heap *h, const struct events *all)
{
	size_t n = all->event.n;
	struct keyed *v = xcalloc(2 * n + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (struct keyed){ all->event.v[i].time, (uint32_t)i, 0 };
	keyed_sort(v, v + n, n);
	for (size_t i = 0; i < n; i++)
		v[i].key = all->log.v[v[i].a];
	keyed_sort(v, v + n, n);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].key == v[i].key; k++)
			;
		play_log(h, all, v + i, k - i);
	}
	free(v);
}

static int object_by_place(const void *a, const void *b)
{
	const struct heap_object *x = a, *y = b;

	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int gone_by_address(const void *a, const void *b)
{
	const struct gone *x = a, *y = b;

	if (x->log != y->log)
		return x->log < y->log ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int by_beginning(const void *a, const void *b)
{
	const struct beginning *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int log_by_pid(const void *a, const void *b)
{
	const struct log *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->began > y->began) - (x->began < y->began);
}

/* Logs by pid and time; their objects and chains name them by their new places. */
static void order_logs(struct heap *h)
{
	uint32_t *to = xcalloc(h->log.n + 1, sizeof(*to));

	for (size_t i = 0; i < h->log.n; i++)
		h->log.v[i].first[0] = i;
	vec_sort(&h->log, log_by_pid);
	for (size_t i = 0; i < h->log.n; i++)
		to[h->log.v[i].first[0]] = (uint32_t)i;
	vec_each (&h->object, struct heap_object *, o) {
		if (o->type != HEAP_STACK) {
			uint64_t key = (uint64_t)o->log << 32 | o->chain;
			uint64_t *c = u64map_find(&h->chain_at, key);

			o->chain = c ? (uint32_t)*c - 1 : UINT32_MAX;
		}
		o->log = to[o->log];
	}
	vec_each (&h->gone, struct gone *, g)
		g->log = to[g->log];
	free(to);
}

static void find_levels(struct heap *h)
{
	size_t at = 0;

	for (uint32_t l = 0; l < h->log.n; l++)
		for (unsigned level = 0; level <= LEVEL_MAPS + 1; level++) {
			h->log.v[l].first[level] = at;
			while (at < h->object.n && h->object.v[at].log == l &&
			       h->object.v[at].level == level)
				at++;
		}
	assert(at == h->object.n);
}

static void copy_chains(struct heap *h)
{
	size_t n = 0, at = 0;

	vec_each (&h->chain, struct chain *, c)
		n += c->n;
	h->address = xcalloc(n + 1, sizeof(*h->address));
	h->chain_first = xcalloc(h->chain.n + 1, sizeof(*h->chain_first));
	for (size_t i = 0; i < h->chain.n; i++) {
		h->chain_first[i] = at;
		for (uint32_t k = 0; k < h->chain.v[i].n; k++)
			h->address[at++] = ld64(h->chain.v[i].from + 8 * (size_t)k);
	}
	h->chain_first[h->chain.n] = at;
}

struct heap *heap_read(const void *p, size_t len)
{
	struct heap *h = xcalloc(1, sizeof(*h));
	struct events all = { VEC_INIT, VEC_INIT };

	h->facts.rate = 1;
	find_heap_clock(h, p, len);
	read_log_chunks(h, &all, p, len);
	play_all(h, &all);
	order_logs(h);
	copy_chains(h);
	vec_sort(&h->object, object_by_place);
	vec_sort(&h->gone, gone_by_address);
	find_levels(h);
	vec_free(&all.event);
	vec_free(&all.log);
	h->facts.objects = h->object.n;
	h->facts.processes = h->log.n;
	vec_each (&h->log, const struct log *, l) {
		h->facts.own += l->flags & HEAP_OWN ? 1 : 0;
		h->facts.tables += l->flags & HEAP_TABLES ? 1 : 0;
		h->facts.rate = l->rate > h->facts.rate ? l->rate : h->facts.rate;
	}
	return h;
}

void heap_free(struct heap *h)
{
	if (!h)
		return;
	vec_free(&h->log);
	vec_free(&h->object);
	vec_free(&h->gone);
	vec_free(&h->beginning);
	vec_free(&h->chain);
	u64map_free(&h->chain_at);
	free(h->address);
	free(h->chain_first);
	free(h);
}

void heap_began(struct heap *h, uint32_t pid, uint64_t time, uint32_t parent)
{
	vec_xpush(&h->beginning, ((struct beginning){ pid, parent, time }));
}

void heap_linked(struct heap *h)
{
	vec_sort(&h->beginning, by_beginning);
}

/* ---- looking up ---------------------------------------------------------------------------- */

/* The last in [from, to) that begins at `address` or below, by `time` if it begins right there. */
static size_t last_at(const struct heap *h, size_t from, size_t to, uint64_t address, uint64_t time)
{
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct heap_object *o = &h->object.v[mid];

		if (o->start < address || (o->start == address && o->from <= time))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static const struct heap_object *find_in_level(const struct heap *h, const struct log *l,
					       unsigned level, uint64_t address, uint64_t time)
{
	uint64_t reach = level < LEVELS - 1 ? UINT64_C(64) << 2 * level : UINT64_MAX, at = address;
	const struct heap_object *best = NULL;

	for (unsigned i = 0; i < STEPS; i++) {
		size_t k = last_at(h, l->first[level], l->first[level + 1], at, time);
		const struct heap_object *o;

		if (k == l->first[level])
			break;
		o = &h->object.v[k - 1];
		if (address - o->start >= reach)
			break;
		if (o->from > time) { /* the newest of that start: was it there by then? */
			at = o->start;
			continue;
		}
		if (time < o->until && address - o->start < o->size &&
		    (!best || o->from > best->from))
			best = o;
		if (!o->start)
			break;
		at = o->start - 1;
	}
	return best;
}

/* The last beginning of that pid by then, or NULL. */
static const struct beginning *beginning_at(const struct heap *h, uint32_t pid, uint64_t time)
{
	const struct beginning *v = h->beginning.v;
	size_t low;

	bisect(low, h->beginning.n, i, v[i].pid > pid || (v[i].pid == pid && v[i].time > time));
	return low && v[low - 1].pid == pid ? &v[low - 1] : NULL;
}

/* Whether a fork freed its parent's block by then, by its log. */
static bool was_freed(const struct heap *h, const struct log *l, uint64_t address, uint64_t time)
{
	uint32_t log = (uint32_t)(l - h->log.v);
	const struct gone *v = h->gone.v;
	size_t low;

	bisect(low, h->gone.n, i, v[i].log > log || (v[i].log == log && v[i].address >= address));
	return low < h->gone.n && v[low].log == log && v[low].address == address &&
	       v[low].time <= time;
}

static const struct heap_object *find_in_log(const struct heap *h, const struct log *l,
					     uint64_t address, uint64_t time)
{
	const struct heap_object *best = NULL, *o;

	for (unsigned level = 0; level < LEVELS; level++) {
		o = find_in_level(h, l, level, address, time);
		if (o && (!best || o->from > best->from))
			best = o;
	}
	return best ? best : find_in_level(h, l, LEVEL_MAPS, address, time);
}

/* A process as of a time, and its log, if it has one by then. */
struct lived {
	uint32_t pid;
	uint64_t time;
	const struct log *log;
};

/* Who it was forked from, as of then; false: nothing that is known. */
static bool go_to_parent(const struct heap *h, struct lived *at)
{
	const struct beginning *b = beginning_at(h, at->pid, at->time);
	const struct log *l = at->log;

	if (l && !(l->flags & HEAP_FORKED))
		return false;
	if (b && b->parent != HEAP_EXECUTED)
		*at = (struct lived){ b->parent, b->time, NULL };
	else if (l)
		*at = (struct lived){ l->parent, l->began < at->time ? l->began : at->time, NULL };
	else
		return false;
	return true;
}

/* The last log of that pid that began by then, or NULL. A log from before the process began, or
 * executed its program, is of another one. */
static const struct log *its_log(const struct heap *h, uint32_t pid, uint64_t time)
{
	const struct beginning *b = beginning_at(h, pid, time);
	const struct log *l;
	size_t low;

	bisect(low, h->log.n, i,
	       h->log.v[i].pid > pid || (h->log.v[i].pid == pid && h->log.v[i].began > time));
	l = low && h->log.v[low - 1].pid == pid ? &h->log.v[low - 1] : NULL;
	return l && b && l->began < b->time ? NULL : l;
}

const struct heap_object *heap_find(const struct heap *h, uint32_t pid, uint64_t address,
				    uint64_t time, enum heap_why *why)
{
	struct lived at = { pid, time, NULL }, gone[FORKS];

	*why = HEAP_NO_LOG;
	for (unsigned n = 0; n < FORKS; n++) {
		const struct heap_object *o;

		at.log = its_log(h, at.pid, at.time);
		o = at.log ? find_in_log(h, at.log, address, at.time) : NULL;
		if (at.log && *why == HEAP_NO_LOG)
			*why = at.log->flags & HEAP_OWN ? HEAP_OWN_LOG
			       : at.log->sampled	? HEAP_SAMPLED
							: HEAP_NO_OBJECT;
		for (unsigned i = 0; o && i < n; i++)
			if (gone[i].log && was_freed(h, gone[i].log, o->start, gone[i].time))
				return NULL;
		if (o) {
			*why = HEAP_FOUND;
			return o;
		}
		gone[n] = at;
		if (!go_to_parent(h, &at))
			break;
	}
	return NULL;
}

const uint64_t *heap_chain(const struct heap *h, const struct heap_object *o, size_t *n)
{
	*n = 0;
	if (o->type == HEAP_STACK || o->chain >= h->chain.n)
		return NULL;
	*n = h->chain.v[o->chain].n;
	return &h->address[h->chain_first[o->chain]];
}

uint32_t heap_pid(const struct heap *h, const struct heap_object *o)
{
	return h->log.v[o->log].pid;
}

size_t heap_logs(const struct heap *h)
{
	return h->log.n;
}

uint32_t heap_log_pid(const struct heap *h, size_t log)
{
	return h->log.v[log].pid;
}

const struct heap_object *heap_objects(const struct heap *h, size_t *n)
{
	*n = h->object.n;
	return h->object.v;
}

const struct heap_facts *heap_facts(const struct heap *h)
{
	return &h->facts;
}
