/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of waits: mutexes that others hold, and everything that is waited for while no thread
 * runs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/findings/findings_int.h"
#include "base/estimate.h"
#include "base/xalloc.h"

#define LOCK	0.1	/* of the lives of the threads that waited for it */
#define NOTHING 0.1	/* of the length: no thread ran */
#define SHORT	5000000 /* ns: not worth a finding, whatever the length */

/* What spans of one finding have in common. */
struct waited {
	uint8_t reason;
	uint32_t object, chain;	 /* 0: not known */
	uint32_t place;		 /* of the function that waits most, of the program */
	uint32_t caller, callee; /* most of the time: the place that calls this one */
	uint64_t placed, called; /* these times */
	uint64_t idle;		 /* of `time`: no thread ran */
	uint64_t time, nothing, until, n;
	uint64_t lives, threads;
	uint64_t runnable, woken; /* of the threads; of `time`: they waited for a CPU */
	uint64_t longest;	  /* of one thread */
	uint32_t thread;
};

struct waiting {
	const struct wait *w;
	uint32_t *own;		 /* by chain: the place of the program's innermost function */
	uint32_t *caller;	 /* by chain: of the program's function that calls that one */
	bool *mutex;		 /* by chain */
	uint64_t *from, *before; /* times without a running thread: begin, sum before it */
	uint64_t *until;
	size_t n_idle;
	uint64_t no_cpu; /* ns: threads could run, and none had a CPU */
	bool started;	 /* what comes from outside is waited for, too */
	struct u64map at, by_thread, by_place, by_caller;
	VEC(struct waited) waited;
};

static uint64_t life_of(const struct wait_thread *t)
{
	return t->until - t->from;
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void look_at_chains(struct waiting *k, struct images *images)
{
	const struct wait *w = k->w;

	k->own = xcalloc(w->chain.n + 1, sizeof(*k->own));
	k->mutex = xcalloc(w->chain.n + 1, sizeof(*k->mutex));
	k->caller = xcalloc(w->chain.n + 1, sizeof(*k->caller));
	for (size_t i = 1; i < w->chain.n; i++) {
		const struct chain_node *node = &w->chain.node[i];
		const struct wait_place *p = &w->place[node->frame];
		const char *name = p->symbol ? p->symbol->name : NULL;
		const char *dso =
			p->image != IMAGE_NONE && images ? image_name(images, p->image) : NULL;

		k->own[i] = k->own[node->parent];
		k->mutex[i] = k->mutex[node->parent];
		k->caller[i] = k->caller[node->parent];
		if (name && !(finding_code(name, dso) & (CODE_KERNEL | CODE_SYSTEM | CODE_UNKNOWN)))
			k->own[i] = (uint32_t)node->frame;
		if (k->own[i] != k->own[node->parent])
			k->caller[i] = k->own[node->parent];
		if (name && p->kind == SPACE_USER && finding_mutex(name))
			k->mutex[i] = true;
	}
}

/* ---- times in which no thread could run ------------------------------------------------------ */

struct busy {
	uint64_t from, until;
};

static int by_begin(const void *va, const void *vb)
{
	const struct busy *a = va, *b = vb;

	return (a->from > b->from) - (a->from < b->from);
}

/* Lists the spans in which a thread ran, or (`able`) could. Returns how many. */
static size_t list_busy(struct busy *busy, const struct wait *w, bool able)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_spans; i++) {
		enum wait_state s = wait_reasons[w->span[i].reason].state;

		if (s != WAIT_BLOCKED && (able || s != WAIT_RUNNABLE))
			busy[n++] = (struct busy){ w->span[i].from, w->span[i].until };
	}
	qsort(busy, n, sizeof(*busy), by_begin);
	busy[n++] = (struct busy){ w->until, w->until };
	return n;
}

static void find_idle(struct waiting *k)
{
	const struct wait *w = k->w;
	struct busy *busy = xcalloc(w->n_spans + 1, sizeof(*busy));
	uint64_t end = w->from, sum = 0, none_ran = 0;
	size_t n = list_busy(busy, w, false);

	for (size_t i = 0; i < n; i++) {
		none_ran += busy[i].from > end ? busy[i].from - end : 0;
		end = busy[i].until > end ? busy[i].until : end;
	}
	n = list_busy(busy, w, true);
	end = w->from;
	k->from = xcalloc(n + 1, sizeof(*k->from));
	k->until = xcalloc(n + 1, sizeof(*k->until));
	k->before = xcalloc(n + 1, sizeof(*k->before));
	for (size_t i = 0; i < n; i++) {
		if (busy[i].from > end) {
			k->from[k->n_idle] = end;
			k->until[k->n_idle] = busy[i].from;
			k->before[k->n_idle++] = sum;
			sum += busy[i].from - end;
		}
		if (busy[i].until > end)
			end = busy[i].until;
	}
	k->before[k->n_idle] = sum;
	k->no_cpu = none_ran - sum;
	free(busy);
}

/* Returns how long no thread could run before `t`. */
static uint64_t idle_before(const struct waiting *k, uint64_t t)
{
	size_t low = 0, high = k->n_idle;

	while (low < high) { /* the first that begins at t or later */
		size_t mid = low + (high - low) / 2;

		if (k->from[mid] < t)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	return k->before[low - 1] +
	       ((t < k->until[low - 1] ? t : k->until[low - 1]) - k->from[low - 1]);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static struct waited *waited_of(struct waiting *k, const struct wait_span *s, uint32_t chain,
				uint8_t reason)
{
	/* a mutex is one finding, wherever it is locked; so is a quota, which ends anywhere; else a
	 * function that waits is one */
	uint32_t place = reason == WAIT_THROTTLED ? 0 : k->own[chain];
	bool by_object = s->object && (reason == WAIT_LOCK || !place);
	uint64_t what = by_object ? (uint64_t)s->object << 32 : place;
	bool fresh;
	uint64_t *at = u64map_xat(&k->at, hash_pair(what, reason), &fresh);

	if (fresh) {
		*at = k->waited.n;
		vec_xpush(&k->waited, ((struct waited){ .reason = reason,
							.object = s->object,
							.chain = chain,
							.place = place }));
	}
	return &k->waited.v[*at];
}

static void add_thread_time(struct waiting *k, struct waited *x, uint32_t thread, uint64_t time)
{
	const struct wait_thread *t = &k->w->thread[thread];
	bool fresh;
	uint64_t *sum = u64map_xat(&k->by_thread,
				   (uint64_t)thread << 32 | (uint64_t)(x - k->waited.v), &fresh);

	if (fresh) {
		x->threads++;
		x->lives += life_of(t);
		x->runnable += wait_thread_time(t, WAIT_RUNNABLE);
	}
	*sum += time;
	if (*sum > x->longest) {
		x->longest = *sum;
		x->thread = thread;
	}
}

/* Adds to a sum; a sum that is the greatest so far replaces *most. Returns true then. */
static bool add_part(struct u64map *sums, uint64_t part, const struct waiting *k,
		     const struct waited *x, uint64_t time, uint64_t *most)
{
	bool fresh;
	uint64_t *sum = u64map_xat(sums, hash_pair(part, (uint64_t)(x - k->waited.v)), &fresh);

	*sum += time;
	if (*sum <= *most)
		return false;
	*most = *sum;
	return true;
}

/* Whatever has one object may be waited for in several functions. */
static void add_place_time(struct waiting *k, struct waited *x, uint32_t chain, uint64_t time)
{
	uint32_t own = k->own[chain], caller = k->caller[chain];

	if (x->reason == WAIT_THROTTLED)
		return;
	if (add_part(&k->by_place, own, k, x, time, &x->placed))
		x->place = own;
	if (add_part(&k->by_caller, (uint64_t)caller << 32 | own, k, x, time, &x->called)) {
		x->caller = caller;
		x->callee = own;
	}
}

static void add_waited_time(struct waiting *k, const struct wait_span *s, uint32_t chain,
			    uint8_t reason)
{
	struct waited *x = waited_of(k, s, chain, reason);
	uint64_t time = s->until - s->from;

	if (!x->object) /* others may not be known */
		x->object = s->object;
	x->time += time;
	x->n += s->reason == reason;
	x->woken += s->reason == WAIT_WOKEN ? time : 0;
	add_place_time(k, x, chain, time);
	if (s->reason == reason)
		x->idle += idle_before(k, s->until) - idle_before(k, s->from);
	if (x->until < s->until) { /* others may have waited for the same meanwhile */
		x->nothing += idle_before(k, s->until) -
			      idle_before(k, x->until > s->from ? x->until : s->from);
		x->until = s->until;
	}
	add_thread_time(k, x, s->thread, time);
}

/* The threads of each that is merged have waited for the other one, too. */
static void merge_threads(struct waiting *k, const size_t *to)
{
	uint64_t key, *time;

	for (size_t i = 0; u64map_next(&k->by_thread, &i, &key, &time);) {
		uint32_t from = (uint32_t)key, thread = (uint32_t)(key >> 32);
		struct waited *x = to[from] != SIZE_MAX ? &k->waited.v[to[from]] : NULL;
		const uint64_t *had;
		uint64_t sum;

		if (!x)
			continue;
		had = u64map_find(&k->by_thread, (uint64_t)thread << 32 | to[from]);
		sum = *time + (had ? *had : 0);
		if (!had) {
			x->threads++;
			x->lives += life_of(&k->w->thread[thread]);
			x->runnable += wait_thread_time(&k->w->thread[thread], WAIT_RUNNABLE);
		}
		if (sum > x->longest || (sum == x->longest && thread < x->thread)) {
			x->longest = sum;
			x->thread = thread;
		}
	}
}

/* Waits for a mutex whose object is not known are for the one that the same function waits for. */
static void merge_locks(struct waiting *k)
{
	size_t *to = xcalloc(k->waited.n + 1, sizeof(*to)); /* SIZE_MAX: it stays */
	struct u64map known = U64MAP_INIT;		    /* by place: the first with an object */

	for (size_t i = 0; i < k->waited.n; i++) {
		const struct waited *y = &k->waited.v[i];
		bool fresh;
		uint64_t *at;

		to[i] = SIZE_MAX;
		if (y->reason != WAIT_LOCK || !y->object || !y->place)
			continue;
		at = u64map_xat(&known, y->place, &fresh);
		if (fresh)
			*at = i;
	}
	for (size_t i = 0; i < k->waited.n; i++) {
		struct waited *x = &k->waited.v[i];
		const uint64_t *at =
			x->reason == WAIT_LOCK && !x->object ? u64map_find(&known, x->place) : NULL;

		if (!at)
			continue;
		to[i] = (size_t)*at;
		k->waited.v[to[i]].time += x->time;
		k->waited.v[to[i]].n += x->n;
		k->waited.v[to[i]].idle += x->idle;
		k->waited.v[to[i]].woken += x->woken;
		k->waited.v[to[i]].nothing += x->nothing; /* at most: some is of both */
		x->time = x->lives = 0;
	}
	merge_threads(k, to);
	u64map_free(&known);
	free(to);
}

static void sum_spans(struct waiting *k)
{
	const struct wait *w = k->w;
	/* by thread: the chain of its wait for a mutex, until it runs */
	uint32_t *held = xcalloc(w->n_threads + 1, sizeof(*held));
	uint32_t *object = xcalloc(w->n_threads + 1, sizeof(*object));

	for (size_t i = 0; i < w->n_spans; i++) {
		const struct wait_span *s = &w->span[i];
		bool mutex = s->reason == WAIT_LOCK && k->mutex[s->chain];

		if (!w->thread[s->thread].wanted)
			continue;
		if (mutex) {
			held[s->thread] = s->chain;
			object[s->thread] = s->object;
			add_waited_time(k, s, s->chain, WAIT_LOCK);
		} else if (s->reason == WAIT_WOKEN && held[s->thread]) {
			struct wait_span woken = *s;

			woken.object = object[s->thread];
			add_waited_time(k, &woken, held[s->thread], WAIT_LOCK);
		} else if ((wait_reasons[s->reason].state == WAIT_BLOCKED) &&
			   !finding_waits_for_others(s->reason, k->started)) {
			add_waited_time(k, s, s->chain, s->reason);
		}
		if (!mutex && s->reason != WAIT_WOKEN)
			held[s->thread] = 0;
	}
	free(held);
	free(object);
}

/* ---- findings -------------------------------------------------------------------------------- */

static struct finding_place place_of(const struct waiting *k, uint32_t place, struct images *images)
{
	const struct wait_place *p = place ? &k->w->place[place] : NULL;

	if (!p || !p->symbol)
		return (struct finding_place){ NULL, NULL, NAN };
	return (struct finding_place){
		p->symbol->name,
		p->image != IMAGE_NONE && images ? image_name(images, p->image) : NULL, NAN
	};
}

/* The line of the call, if all of its waits have one object. */
static void set_call(struct finding *f, struct finding_work *w, const struct waited *x)
{
	const struct wait *wait = w->in->wait;

	for (size_t i = 0; i < wait->n_things; i++) {
		const struct wait_thing *t = &wait->thing[i];
		const struct wait_line *l;

		if (t->reason != x->reason || t->object != x->object || !t->line)
			continue;
		l = &wait->line[t->line];
		if (l->place != x->place || l->image == IMAGE_NONE)
			continue;
		finding_line(f, w, l->image, l->addr);
		return;
	}
}

/* Of waits that have the chain of another one. */
static double guessed_bar(const struct waiting *k, const struct waited *x)
{
	double bar = 0;

	for (size_t i = 0; i < k->w->n_chain_sums; i++) {
		const struct wait_at *s = &k->w->chain_sum[i];
		bool lock = x->reason == WAIT_LOCK;

		if (k->own[s->chain] == x->place && k->mutex[s->chain] == lock &&
		    (s->reason == x->reason || (lock && s->reason == WAIT_WOKEN)))
			bar += s->t.bar;
	}
	return bar;
}

static enum finding_kind kind_of(uint8_t reason)
{
	switch ((enum wait_reason)reason) {
	case WAIT_LOCK:
		return FINDING_LOCK;
	case WAIT_IO:
	case WAIT_FAULT:
	case WAIT_FILE_LOCK:
		return FINDING_IO;
	case WAIT_THROTTLED:
		return FINDING_QUOTA;
	default:
		return FINDING_WAITS;
	}
}

/* Stakes are of the time without that in which a CPU was missing: else the more other programs run,
 * the less a wait would be worth. */
static double with_cpu(uint64_t time, uint64_t without)
{
	return without < time ? (double)(time - without) : (double)time;
}

static void find_waited(struct finding_work *w, const struct waiting *k, const struct waited *x)
{
	const struct wait *wait = w->in->wait;
	uint64_t length = wait->until - wait->from;
	struct finding f = { .kind = kind_of(x->reason),
			     .reason = (enum wait_reason)x->reason,
			     .times = x->n,
			     .threads = x->threads,
			     .time = x->time,
			     .length = length };
	double whole = (double)x->lives, least = NOTHING;

	if (!length || !x->lives)
		return;
	if (x->reason == WAIT_LOCK) {
		f.of = FINDING_OF_THREADS;
		f.share = (double)x->time / whole;
		f.stake = (double)x->time /
			  with_cpu(x->lives, x->runnable > x->woken ? x->runnable - x->woken : 0);
		f.idle = x->time ? (double)x->idle / (double)x->time : 0;
		/* its owner waits: until it is free, nothing runs */
		if (f.idle > 0.5)
			f.stake = fmax(f.stake,
				       fmin((double)x->nothing, (double)k->before[k->n_idle]) /
					       with_cpu(length, k->no_cpu));
		least = LOCK;
	} else {
		f.of = FINDING_OF_LENGTH;
		whole = (double)length;
		f.share = (double)x->nothing / whole;
		f.stake = (double)x->nothing / with_cpu(length, k->no_cpu);
		f.time = x->nothing;
		/* whoever sleeps chose to: the rest comes first if it is as long */
		if (x->reason == WAIT_SLEEP)
			f.stake *= 0.9;
	}
	if (f.time < SHORT ||
	    !(f.share >= least)) /* most: their bars would be looked for in vain */
		return;
	f.half = finding_wait_bar(x->n, guessed_bar(k, x), wait, whole);
	f.thread = wait->thread[x->thread].comm;
	f.tid = x->threads == 1 ? wait->thread[x->thread].tid : 0;
	f.object = x->object ? wait->object.str[x->object] : NULL;
	f.at = place_of(k, x->place, w->in->images);
	if (x->callee == x->place && (double)x->called > 0.5 * (double)x->placed)
		f.caller = place_of(k, x->caller, w->in->images);
	if (x->reason != WAIT_THROTTLED)
		set_call(&f, w, x);
	finding_add(w, &f, least);
}

/* Without call chains of switches, looks at the threads are estimates of what they waited for: the
 * thread that waited longest while nothing ran. */
static void find_looked(struct finding_work *w, const struct waiting *k)
{
	const struct wait *wait = w->in->wait;
	uint64_t *nothing = xcalloc(wait->n_threads + 1, sizeof(*nothing)), blocked = 0;
	struct finding f = { .kind = FINDING_WAITS, .of = FINDING_OF_LENGTH, .threads = 1 };
	const struct wait_thread *t;
	double low, high, part;
	size_t most = 0;

	for (size_t i = 0; i < wait->n_spans; i++) {
		const struct wait_span *s = &wait->span[i];

		if (s->reason == WAIT_NO_STACK && wait->thread[s->thread].wanted &&
		    wait->thread[s->thread].looks)
			nothing[s->thread] += idle_before(k, s->until) - idle_before(k, s->from);
	}
	for (size_t i = 1; i < wait->n_threads; i++)
		if (nothing[i] > nothing[most])
			most = i;
	t = &wait->thread[most];
	for (unsigned r = 0; r < WAIT_REASONS; r++)
		if (wait_reasons[r].state == WAIT_BLOCKED) {
			blocked += t->time[r];
			if (t->time[r] > t->time[f.reason] ||
			    wait_reasons[f.reason].state != WAIT_BLOCKED)
				f.reason = (enum wait_reason)r;
		}
	f.length = wait->until - wait->from;
	if (nothing[most] && blocked && f.length &&
	    !finding_waits_for_others((uint8_t)f.reason, k->started)) {
		part = (double)t->time[f.reason] / (double)blocked;
		f.time = (uint64_t)((double)nothing[most] * part);
		f.share = f.stake = (double)f.time / (double)f.length;
		share_interval(part, (double)t->looks, &low, &high);
		f.half = (high - low) / 2 * (double)nothing[most] / (double)f.length +
			 finding_wait_bar(t->switches, 0, wait, (double)f.length);
		f.thread = t->comm;
		f.tid = t->tid;
		f.object = t->object ? wait->object.str[t->object] : NULL;
		f.kind = kind_of((uint8_t)f.reason);
		finding_add(w, &f, NOTHING);
	}
	free(nothing);
}

void findings_waits(struct finding_work *w)
{
	struct waiting k = { .w = w->in->wait,
			     .at = U64MAP_INIT,
			     .by_thread = U64MAP_INIT,
			     .by_place = U64MAP_INIT,
			     .by_caller = U64MAP_INIT };

	if (!k.w || !k.w->n_spans || k.w->outs_only)
		return;
	look_at_chains(&k, w->in->images);
	find_idle(&k);
	k.started = w->started && !k.w->has_idle;
	sum_spans(&k);
	merge_locks(&k);
	findings_cpus(w, k.before[k.n_idle]);
	vec_each (&k.waited, const struct waited *, x)
		if (x->reason != WAIT_NO_STACK)
			find_waited(w, &k, x);
	if (!k.w->has_stacks)
		find_looked(w, &k);
	vec_free(&k.waited);
	u64map_free(&k.at);
	u64map_free(&k.by_thread);
	u64map_free(&k.by_place);
	u64map_free(&k.by_caller);
	free(k.own);
	free(k.caller);
	free(k.mutex);
	free(k.from);
	free(k.until);
	free(k.before);
}
