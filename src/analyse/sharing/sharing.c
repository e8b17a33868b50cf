/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharing - the two passes: which lines several threads used, then the accesses of each thread to
 * these.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/itab.h"
#include "analyse/pass.h"
#include "analyse/sharing/sharing_int.h"
#include "base/text.h"
#include "base/vec.h"
#include "perfdata/memop.h"
#include "symbol/source.h"

#define LATENCIES 4096u /* distinct ones for the median; longer ones count as this long */
#define COMPARED  10u	/* loads of unshared lines that a usual latency needs */

struct line_key {
	uint64_t space, line; /* which space, and the line's number in it */
};

struct seen_line {
	struct line_key key;
	uint64_t task; /* of the first access */
	bool shared, hitm;
	uint32_t line; /* of sharing.line, once it has one; UINT32_MAX: none */
};

struct sharing_work {
	const struct pd *rec;
	struct spaces *sp;
	struct memop_how *how; /* by event */
	bool *events;	       /* those that are selected */
	VEC(struct seen_line) seen;
	struct itab seen_at, access_at;
	VEC(struct sharing_line) line;
	VEC(struct sharing_access) access;
	uint64_t latency[LATENCIES]; /* of loads of lines that one thread used */
	double weight, weight2;
};

/* A sampled access. */
struct touch {
	const struct pass_sample *p;
	struct pd_sample s;
	struct memop op;
	const struct process *proc;
	uint64_t address;     /* of its part in one line, */
	uint32_t width, rest; /* that part's bytes, and those in the next line; 0: not known */
	struct line_key key;
	enum sharing_by by;
	uint64_t key_address, time, task;
	double period;
};

const char *sharing_verdict_name(enum sharing_verdict v)
{
	static const char *const names[] = {
		[SHARING_FALSE] = "false sharing", [SHARING_BOTH] = "true and false",
		[SHARING_TRUE] = "true sharing",   [SHARING_LOCK] = "lock",
		[SHARING_TURNS] = "in turns",	   [SHARING_READ] = "read only",
		[SHARING_UNKNOWN] = "unknown",
	};

	return names[v];
}

const char *sharing_by_name(enum sharing_by by)
{
	static const char *const names[] = { [SHARING_PROCESS] = "process",
					     [SHARING_KERNEL] = "kernel",
					     [SHARING_FILE] = "file",
					     [SHARING_PHYSICAL] = "physical address" };

	return names[by];
}

/* ---- one sample ----------------------------------------------------------------------------- */

static void find_key(const struct sharing *s, struct touch *t)
{
	const struct place *o = NULL;
	uint64_t address = t->address, space;

	t->by = address >> 63 ? SHARING_KERNEL : SHARING_PROCESS;
	space = t->proc ? process_index(t->proc) : (uint64_t)t->s.pid << 32 | UINT32_MAX;
	if (t->by != SHARING_KERNEL)
		o = pass_place(t->p, SPACE_USER, address);
	if (o && o->what & PLACE_SHARED && t->op.has & MEMOP_HAS_PHYSICAL) {
		t->by = SHARING_PHYSICAL;
		address = t->op.physical + (t->address - t->op.address);
	} else if (o && o->what & PLACE_SHARED &&
		   image_key(spaces_images(s->work->sp), o->image)->kind == IMAGE_FILE) {
		t->by = SHARING_FILE;
		space = o->image;
		address -= o->less;
	}
	if (t->by == SHARING_KERNEL || t->by == SHARING_PHYSICAL)
		space = 0;
	t->key_address = address & ~(uint64_t)(s->line_size - 1);
	t->key = (struct line_key){ hash_pair(space, t->by), address / s->line_size };
}

/* Sets the part of an access that is in the next line; returns false if there is none. */
static bool next_part(const struct sharing *s, struct touch *t)
{
	if (!t->rest)
		return false;
	t->address += t->width;
	t->width = t->rest;
	t->rest = 0;
	find_key(s, t);
	return true;
}

static void find_parts(const struct sharing *s, struct touch *t)
{
	uint32_t room = s->line_size - (uint32_t)(t->op.address & (s->line_size - 1));

	t->address = t->op.address;
	t->width = t->op.width < room ? t->op.width : room;
	t->rest = t->op.width - t->width;
	t->rest = t->rest < s->line_size ? t->rest : s->line_size;
	find_key(s, t);
}

/* Returns false if it is no access with an address. */
static bool take(struct sharing *s, const struct pass_sample *p, struct touch *t)
{
	struct sharing_work *w = s->work;
	const struct perf_event_attr *attr = &p->ev->attr;

	if (pd_sample_parse(w->rec, p->r, &t->s))
		return false;
	if (!memop_of(&t->op, &w->how[p->event], &t->s) ||
	    !(t->op.set[MEMOP_KIND] & (MEMOP_KIND_LOAD | MEMOP_KIND_STORE))) {
		s->other++;
		return false;
	}
	if (!(t->op.has & MEMOP_HAS_ADDRESS)) {
		s->no_address++;
		return false;
	}
	t->time = p->time;
	t->task = p->task;
	t->p = p;
	t->proc = p->who->proc;
	t->period = (double)(t->s.has & PERF_SAMPLE_PERIOD ? t->s.period
			     : attr->sample_period	   ? attr->sample_period
							   : 1);
	find_parts(s, t);
	return true;
}

static bool is_hitm(const struct touch *t)
{
	return t->op.set[MEMOP_KIND] & MEMOP_KIND_LOAD && t->op.set[MEMOP_SNOOP] & MEMOP_SNOOP_HITM;
}

static bool is_timed(const struct touch *t)
{
	return t->op.set[MEMOP_KIND] & MEMOP_KIND_LOAD && t->op.has & 1u << MEMOP_LATENCY_DATA;
}

static void count(struct sharing_counts *n, const struct touch *t)
{
	unsigned kind = t->op.set[MEMOP_KIND];
	bool load = kind & MEMOP_KIND_LOAD, remote = memop_remote(&t->op);

	n->samples++;
	n->loads += load;
	n->stores += kind & MEMOP_KIND_STORE ? 1 : 0;
	n->locked += t->op.has & MEMOP_HAS_LOCKED && t->op.locked;
	n->hitm_local += is_hitm(t) && !remote;
	n->hitm_remote += is_hitm(t) && remote;
	n->peer += load && t->op.set[MEMOP_SNOOP] & MEMOP_SNOOP_PEER;
	n->timed += is_timed(t);
	n->latency += is_timed(t) ? t->op.cycles[MEMOP_LATENCY_DATA] : 0;
}

/* ---- the first pass: lines ------------------------------------------------------------------ */

static struct seen_line *find_seen(struct sharing_work *w, const struct line_key *key)
{
	uint64_t h = hash_pair(key->line, key->space);
	uint32_t idx;

	for (size_t i = itab_first(&w->seen_at, h); itab_at(&w->seen_at, &i, h, &idx);)
		if (w->seen.v[idx].key.line == key->line && w->seen.v[idx].key.space == key->space)
			return &w->seen.v[idx];
	return NULL;
}

static struct seen_line *add_seen(struct sharing_work *w, const struct touch *t)
{
	struct seen_line line = { .key = t->key, .task = t->task, .line = UINT32_MAX };

	if (w->seen.n >= UINT32_MAX - 1 || vec_push(&w->seen, line) ||
	    itab_put(&w->seen_at, hash_pair(t->key.line, t->key.space), w->seen.n - 1))
		return NULL;
	return vec_last(&w->seen);
}

static int see(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct sharing *s = ctx;
	struct seen_line *line;
	struct touch t;

	if (!take(s, p, &t))
		return 0;
	count(&s->all, &t);
	do {
		line = find_seen(s->work, &t.key);
		if (!line)
			line = add_seen(s->work, &t);
		if (!line)
			return err_nomem(err);
		line->shared |= line->task != t.task;
		line->hitm |= is_hitm(&t);
		s->has_physical |= t.by == SHARING_PHYSICAL;
	} while (next_part(s, &t));
	return 0;
}

/* ---- the second pass: accesses -------------------------------------------------------------- */

static int add_line(struct sharing_work *w, struct seen_line *seen, const struct touch *t,
		    uint32_t line_size, struct err *err)
{
	struct sharing_line l = { .address = t->address & ~(uint64_t)(line_size - 1),
				  .key = t->key_address,
				  .by = t->by,
				  .pid = t->by == SHARING_KERNEL ? 0 : t->s.pid };

	if (vec_push(&w->line, l))
		return err_nomem(err);
	seen->line = (uint32_t)w->line.n - 1;
	return 0;
}

/* All but its counts. */
static struct sharing_access access_of(const struct sharing *s, uint32_t line,
				       const struct touch *t)
{
	const struct place *o =
		pass_place(t->p, (uint8_t)space_kind_of_misc(t->s.cpumode), t->s.ip);

	return (struct sharing_access){ .line = line,
					.offset = (uint32_t)(t->address & (s->line_size - 1)),
					.width = t->width,
					.pid = t->s.pid,
					.tid = t->s.tid,
					.image = o->image,
					.code = t->s.ip - o->less,
					.address = t->address,
					.first = t->time };
}

static bool is_same(const struct sharing_access *a, const struct sharing_access *b)
{
	return a->line == b->line && a->offset == b->offset && a->width == b->width &&
	       a->pid == b->pid && a->tid == b->tid && a->image == b->image && a->code == b->code;
}

static struct sharing_access *find_access(struct sharing *s, const struct sharing_access *like,
					  const struct touch *t, struct err *err)
{
	struct sharing_work *w = s->work;
	uint64_t h = hash_pair(hash_pair((uint64_t)like->line << 32 | like->offset, like->code),
			       (uint64_t)like->pid << 32 | like->tid);
	uint64_t from, until;
	uint32_t idx;

	for (size_t i = itab_first(&w->access_at, h); itab_at(&w->access_at, &i, h, &idx);)
		if (is_same(&w->access.v[idx], like))
			return &w->access.v[idx];
	if (w->access.n >= UINT32_MAX - 1 || vec_push(&w->access, *like) ||
	    itab_put(&w->access_at, h, w->access.n - 1)) {
		(void)err_nomem(err);
		return NULL;
	}
	vec_last(&w->access)->comm =
		spaces_comm_at(w->sp, like->pid, like->tid, t->time, &from, &until);
	data_find(&vec_last(&w->access)->data, w->sp, t->proc, t->address, t->time);
	return vec_last(&w->access);
}

static void weigh(struct sharing_line *l, const struct touch *t)
{
	double cycles = t->op.cycles[MEMOP_LATENCY_DATA], p = t->period;

	l->weight += p * cycles;
	l->weight2 += p * cycles * p * cycles;
	l->weighted[WEIGHTED_PERIOD] += p;
	l->weighted[WEIGHTED_PERIOD2] += p * p;
	l->weighted[WEIGHTED_MIXED] += p * p * cycles;
}

static void count_moved(struct sharing *s, const struct touch *t)
{
	s->moved.n++;
	s->moved.latency += t->op.cycles[MEMOP_LATENCY_DATA];
}

static void count_unshared(struct sharing *s, const struct touch *t)
{
	uint32_t cycles = t->op.cycles[MEMOP_LATENCY_DATA];

	count(&s->one_thread, t);
	if (is_timed(t))
		s->work->latency[cycles < LATENCIES ? cycles : LATENCIES - 1]++;
}

/* The latency of an access to two lines is the first one's. */
static int collect_part(struct sharing *s, struct touch *t, bool first, struct err *err)
{
	struct sharing_work *w = s->work;
	struct seen_line *seen = find_seen(w, &t->key);
	struct sharing_access like, *a;

	if (!seen || (!seen->shared && !seen->hitm)) {
		count_unshared(s, t);
		return 0;
	}
	if (seen->line == UINT32_MAX && add_line(w, seen, t, s->line_size, err))
		return -1;
	like = access_of(s, seen->line, t);
	a = find_access(s, &like, t, err);
	if (!a)
		return -1;
	a->first = t->time < a->first ? t->time : a->first;
	a->last = t->time > a->last ? t->time : a->last;
	count(&a->n, t);
	count(&w->line.v[seen->line].n, t);
	if (first && is_timed(t))
		weigh(&w->line.v[seen->line], t);
	return 0;
}

static int collect(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct sharing *s = ctx;
	struct touch t;

	if (!take(s, p, &t))
		return 0;
	if (is_timed(&t)) {
		double cycles = t.period * t.op.cycles[MEMOP_LATENCY_DATA];

		s->work->weight += cycles;
		s->work->weight2 += cycles * cycles;
		if (is_hitm(&t))
			count_moved(s, &t);
	}
	if (collect_part(s, &t, true, err))
		return -1;
	return next_part(s, &t) ? collect_part(s, &t, false, err) : 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct sharing_access *x = a, *y = b;

#define BY(member)                  \
	if (x->member != y->member) \
	return x->member < y->member ? -1 : 1
	BY(line);
	BY(offset);
	BY(pid);
	BY(tid);
	BY(image);
	BY(code);
	return 0;
}

/* Most at stake first; without latencies most HITMs, then samples. */
static int by_stake(const void *a, const void *b)
{
	const struct sharing_line *x = a, *y = b;
	double sx = isnan(x->stake.v) ? -1 : x->stake.v, sy = isnan(y->stake.v) ? -1 : y->stake.v;
	uint64_t hx = x->n.hitm_local + x->n.hitm_remote, hy = y->n.hitm_local + y->n.hitm_remote;

	if (sx != sy)
		return sx > sy ? -1 : 1;
	if (hx != hy)
		return hx > hy ? -1 : 1;
	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->first_access > y->first_access) - (x->first_access < y->first_access);
#undef BY
}

/* Accesses by place, and each line's. Lines are still in the order that accesses name. */
static void group(struct sharing *s)
{
	struct sharing_work *w = s->work;

	vec_sort(&w->access, by_place);
	for (size_t i = 0; i < w->access.n; i++) {
		struct sharing_line *l = &w->line.v[w->access.v[i].line];

		if (!l->n_accesses++)
			l->first_access = (uint32_t)i;
	}
}

static bool same_data(const struct data_place *a, const struct data_place *b)
{
	return a->kind == b->kind && a->image == b->image && a->start == b->start;
}

/* Accesses ascend by address, so those of one object stand together (but for lines that several
 * processes have at different addresses). */
static void name_data(struct sharing_line *l, const struct sharing_access *a)
{
	uint64_t most = 0, here = 0;

	for (size_t i = 0; i < l->n_accesses; i++) {
		bool fresh = !i || !same_data(&a[i].data, &a[i - 1].data);

		l->variables += fresh;
		here = (fresh ? 0 : here) + a[i].n.samples;
		if (here <= most)
			continue;
		most = here;
		l->main_access = l->first_access + (uint32_t)i;
	}
}

static int name_code(struct sharing *s, struct sharing_access *a, struct err *err)
{
	struct images *set = spaces_images(s->work->sp);
	const struct source *src;
	struct source_line at;
	uint64_t vaddr;

	if (a->image == IMAGE_NONE)
		return 0;
	image_resolve(set, a->image, &a->code, 1, &a->function);
	src = source_of(set, a->image, err);
	if (!src && err->code == ERR_NOMEM)
		return -1;
	err_clear(err); /* a file without lines is no failure */
	if (src && image_to_vaddr(set, a->image, a->code, &vaddr)) {
		at = source_line(src, vaddr);
		a->file = at.file;
		a->source_line = at.line;
	}
	return 0;
}

/* Returns NULL if there are none, which is no failure unless err is set. */
static struct types *types_if_any(struct sharing *s, uint32_t image, struct err *err)
{
	struct types *t = NULL;

	if (image != IMAGE_NONE)
		t = types_of(spaces_images(s->work->sp), image, err);
	if (!t && err->code != ERR_NOMEM)
		err_clear(err);
	return t;
}

/* The type of the variable at the address, else that of the instruction's operand. */
static int name_type(struct sharing *s, struct sharing_access *a, struct err *err)
{
	const struct symbol *v = a->data.variable;
	struct types *t = v ? types_if_any(s, a->data.image, err) : NULL;
	uint64_t at;

	a->type = (struct types_access){ .why = TYPES_NO_IMAGE };
	if (t)
		types_static(t, a->address - a->data.start + v->start, a->width, &a->type);
	if (a->type.why == TYPES_KNOWN || a->image == IMAGE_NONE || err->code == ERR_NOMEM)
		return err->code == ERR_NOMEM ? -1 : 0;
	t = types_if_any(s, a->image, err);
	a->type.why = TYPES_NO_DEBUG;
	if (t && image_to_vaddr(spaces_images(s->work->sp), a->image, a->code, &at))
		types_at(t, at, a->n.stores > a->n.loads, &a->type);
	return err->code == ERR_NOMEM ? -1 : 0;
}

/* Returns the latency with so many loads below it. */
static double ranked(const uint64_t *n, uint64_t rank)
{
	uint64_t sum = 0;
	uint32_t i = 0;

	while ((sum += n[i]) <= rank)
		i++;
	return i;
}

/* The median, and the values at the ends of its 95 % interval, by rank. */
static void find_usual(struct sharing *s)
{
	const uint64_t *n = s->work->latency, timed = s->one_thread.timed;
	uint64_t half = timed / 2, far = (uint64_t)ceil(Z95 / 2 * sqrt((double)timed));
	double v;

	s->has_latency = s->all.timed != 0;
	s->usual = ESTIMATE_NONE("too few loads of lines that one thread used, to compare with");
	if (timed < COMPARED)
		return;
	far = far < half ? far : half;
	v = ranked(n, half);
	s->usual = (struct estimate){
		.v = v,
		.half = fmax(v - ranked(n, half - far),
			     ranked(n, half + far < timed ? half + far : timed - 1) - v)
	};
}

int sharing_end(struct sharing *s, struct err *err)
{
	struct sharing_work *w = s->work;

	find_usual(s);
	group(s);
	vec_each (&w->access, struct sharing_access *, a)
		if (name_code(s, a, err) || name_type(s, a, err))
			return -1;
	vec_each (&w->line, struct sharing_line *, l) {
		const struct sharing_access *a = &w->access.v[l->first_access];

		name_data(l, a);
		sharing_judge(l, a, s->all.stores != 0);
		sharing_weigh(l, s, w->weight, w->weight2);
	}
	vec_sort(&w->line, by_stake);
	for (size_t i = 0; i < w->line.n; i++)
		for (size_t k = 0; k < w->line.v[i].n_accesses; k++)
			w->access.v[w->line.v[i].first_access + k].line = (uint32_t)i;
	s->line = w->line.v;
	s->n = w->line.n;
	s->access = w->access.v;
	s->n_accesses = w->access.n;
	s->lines = w->seen.n;
	s->lines_one_thread = w->seen.n - w->line.n;
	return sharing_objects(s, err);
}

bool sharing_able(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++) {
		struct memop_how how = memop_how(rec, &ev[i]);

		if (how.from == MEMOP_FROM_OP || how.from == MEMOP_FROM_SPE ||
		    (how.from == MEMOP_FROM_FIELDS && ev[i].attr.sample_type & PERF_SAMPLE_ADDR))
			return true;
	}
	return false;
}

static int read_events(struct sharing_work *w, const char *event, struct err *err)
{
	size_t n;
	const struct pd_event *ev = pd_events(w->rec, &n);

	w->how = calloc(n + 1, sizeof(*w->how));
	w->events = calloc(n + 1, sizeof(*w->events));
	if (!w->how || !w->events)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		w->how[i] = memop_how(w->rec, &ev[i]);
		w->events[i] = text_means(event, ev[i].name);
	}
	return 0;
}

static const struct pass_visitor visits[] = {
	{ .wants = PASS_THREAD | PASS_PLACE | PASS_ORDER, .sample = see },
	{ .wants = PASS_THREAD | PASS_PLACE | PASS_ORDER, .sample = collect },
};

static void add_visit(struct sharing *s, struct pass *pass, unsigned walk)
{
	struct pass_visitor v = visits[walk];

	v.events = s->work->events;
	pass_add(pass, &v, s);
}

int sharing_begin(struct sharing **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
		  const struct sharing_opts *opts, struct err *err)
{
	struct sharing *s = calloc(1, sizeof(*s));
	struct sharing_work *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (!s || !w) {
		free(s);
		free(w);
		return err_nomem(err);
	}
	s->work = w;
	s->line_size = opts->line_size ? opts->line_size : SHARING_LINE_DEFAULT;
	w->rec = rec;
	w->sp = sp;
	data_begin(sp);
	if (read_events(w, opts->select.event, err)) {
		sharing_free(s);
		return -1;
	}
	add_visit(s, pass, 0);
	*out = s;
	return 0;
}

void sharing_again(struct sharing *s, struct pass *pass)
{
	s->other = s->no_address = 0; /* they are met again */
	add_visit(s, pass, 1);
}

void sharing_free(struct sharing *s)
{
	if (!s)
		return;
	free(s->object);
	vec_free(&s->work->seen);
	vec_free(&s->work->line);
	vec_free(&s->work->access);
	itab_free(&s->work->seen_at);
	itab_free(&s->work->access_at);
	free(s->work->how);
	free(s->work->events);
	free(s->work);
	free(s);
}
