/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting. Each worker has groups by class, instruction, thread and CPU, and cells of these by
 * latency; joined, classes are folded into sources, TLB and the like, instructions into functions.
 */
#include "analyse/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/itab.h"
#include "analyse/memory/memory_types.h"
#include "analyse/pass/pass.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbol/source.h"

/* Samples of a group whose latency falls into a bin. */
struct cell {
	uint32_t group, bin;
	uint8_t latency;
	uint64_t n, sum, most;
};

struct counts {
	VEC(struct memory_group) group;
	VEC(struct cell) cell;
	struct itab group_at, cell_at;
	uint64_t samples, without, no_access, period;
	bool period_varies, raw;
};

struct memory_work {
	const struct pd *rec;
	struct spaces *spaces;
	struct memop_how *how;
	struct counts *of; /* by worker; the first one is that of all in the end */
	unsigned workers;
	VEC(struct memory_spread) spread;
	struct memory_bin *bin;
	struct memory_layout *layout;
	struct strtab files, rows; /* rows: of the tables of types and fields */
};

/* ---- what a class is ------------------------------------------------------------------------- */

enum { /* its key, by lowest bit */
       AT_KIND = 0,
       AT_SNOOP = 8,
       AT_TLB = 16,
       AT_BLOCK = 24,
       AT_LEVEL = 32,
       AT_WHERE = 40,
       AT_HIT = 48,  /* 0: not told, else 1 + the flag */
       AT_LOCK = 50, /* the same */
       AT_NO_ACCESS = 52,
};

#define BYTE(at) (UINT64_C(0xff) << (at))
#define PAIR(at) (UINT64_C(3) << (at))

static const uint64_t class_parts[] = {
	[MEMORY_ALL] = 0,
	[MEMORY_SOURCE] = BYTE(AT_KIND) | BYTE(AT_LEVEL) | BYTE(AT_WHERE) | PAIR(AT_HIT),
	[MEMORY_TLB] = BYTE(AT_TLB),
	[MEMORY_SNOOP] = BYTE(AT_SNOOP),
	[MEMORY_LOCK] = PAIR(AT_LOCK),
	[MEMORY_BLOCK] = BYTE(AT_BLOCK),
};

static uint64_t flag_of(const struct memop *op, uint32_t has, bool flag)
{
	return op->has & has ? 1 + (uint64_t)flag : 0;
}

static bool no_access(const struct memop *op)
{
	return op->raw && !op->set[MEMOP_KIND];
}

static uint64_t class_of(const struct memop *op)
{
	return (uint64_t)op->set[MEMOP_KIND] << AT_KIND |
	       (uint64_t)op->set[MEMOP_SNOOP] << AT_SNOOP | (uint64_t)op->set[MEMOP_TLB] << AT_TLB |
	       (uint64_t)op->set[MEMOP_BLOCK] << AT_BLOCK | (uint64_t)op->level << AT_LEVEL |
	       (uint64_t)op->where << AT_WHERE | flag_of(op, MEMOP_HAS_HIT, op->hit) << AT_HIT |
	       flag_of(op, MEMOP_HAS_LOCKED, op->locked) << AT_LOCK |
	       (uint64_t)no_access(op) << AT_NO_ACCESS;
}

void memory_op(struct memop *op, const struct memory_group *g)
{
	uint64_t key = g->key[0];
	unsigned hit = key >> AT_HIT & 3, lock = key >> AT_LOCK & 3;

	*op = (struct memop){ .level = (uint8_t)(key >> AT_LEVEL),
			      .where = (uint8_t)(key >> AT_WHERE),
			      .hit = hit == 2,
			      .locked = lock == 2,
			      .has = (hit ? (uint32_t)MEMOP_HAS_HIT : 0) |
				     (lock ? (uint32_t)MEMOP_HAS_LOCKED : 0) };
	op->set[MEMOP_KIND] = (uint8_t)(key >> AT_KIND);
	op->set[MEMOP_SNOOP] = (uint8_t)(key >> AT_SNOOP);
	op->set[MEMOP_TLB] = (uint8_t)(key >> AT_TLB);
	op->set[MEMOP_BLOCK] = (uint8_t)(key >> AT_BLOCK);
}

uint32_t memory_pid(const struct memory_group *g)
{
	return task_pid(g->key[0]);
}

uint32_t memory_tid(const struct memory_group *g)
{
	return task_tid(g->key[0]);
}

const char *memory_comm(const struct spaces *sp, const struct memory_group *g,
			char text[MEMORY_COMM])
{
	_Static_assert(MEMORY_COMM == COMM_TEXT, "the pass' texts");
	return pass_comm_text(sp, g->key[1], text);
}

/* ---- groups and cells ------------------------------------------------------------------------ */

/* UINT32_MAX: out of memory. */
static uint32_t group_of(struct counts *c, enum memory_by by, uint64_t a, uint64_t b)
{
	uint64_t h = hash_pair(a, b << 8 | by);
	struct memory_group *g;
	uint32_t idx;

	for (size_t i = itab_first(&c->group_at, h); itab_at(&c->group_at, &i, h, &idx);) {
		g = &c->group.v[idx];
		if (g->by == by && g->key[0] == a && g->key[1] == b)
			return idx;
	}
	if (c->group.n >= UINT32_MAX - 1 || itab_put(&c->group_at, h, c->group.n))
		return UINT32_MAX;
	g = vec_add(&c->group);
	if (!g)
		return UINT32_MAX;
	*g = (struct memory_group){ .by = by, .key = { a, b } };
	return (uint32_t)c->group.n - 1;
}

/* Below MEMORY_EXACT each value has a bin, above 1,024 share an octave. */
static uint32_t bin_of(uint32_t cycles)
{
	unsigned octave;

	if (cycles < MEMORY_EXACT)
		return cycles;
	octave = 31 - (unsigned)__builtin_clz(cycles);
	return MEMORY_EXACT + (octave - 16) * 1024 + (cycles >> (octave - 10) & 1023);
}

static int add_cell(struct counts *c, const struct cell *x)
{
	uint64_t h = hash_pair((uint64_t)x->group << 8 | x->latency, x->bin);
	struct cell *o;
	uint32_t idx;

	for (size_t i = itab_first(&c->cell_at, h); itab_at(&c->cell_at, &i, h, &idx);) {
		o = &c->cell.v[idx];
		if (o->group != x->group || o->latency != x->latency || o->bin != x->bin)
			continue;
		o->n += x->n;
		o->sum += x->sum;
		o->most = o->most > x->most ? o->most : x->most;
		return 0;
	}
	return c->cell.n >= UINT32_MAX - 1 || itab_put(&c->cell_at, h, c->cell.n) ||
			       vec_push(&c->cell, *x)
		       ? -1
		       : 0;
}

static void add_samples(struct memory_group *g, const struct memory_group *x)
{
	g->samples += x->samples;
	g->loads += x->loads;
	g->stores += x->stores;
	g->open.n += x->open.n;
	g->open.sum += x->open.sum;
	g->open.squares += x->open.squares;
}

/* ---- the samples ----------------------------------------------------------------------------- */

static int count_in(struct counts *c, enum memory_by by, uint64_t a, uint64_t b,
		    const struct memop *op)
{
	struct memory_group one = { .samples = 1,
				    .loads = (op->set[MEMOP_KIND] & MEMOP_KIND_LOAD) != 0,
				    .stores = (op->set[MEMOP_KIND] & MEMOP_KIND_STORE) != 0 };
	uint32_t g = group_of(c, by, a, b);
	int ret = 0;

	if (g == UINT32_MAX)
		return -1;
	if (op->has & MEMOP_HAS_OPEN && one.loads && !(op->set[MEMOP_KIND] & MEMOP_KIND_PREFETCH))
		one.open = (struct memory_open){ 1, op->open, (double)op->open * op->open };
	add_samples(&c->group.v[g], &one);
	for (unsigned l = 0; l < MEMOP_LATENCIES && !ret; l++)
		if (op->has >> l & 1)
			ret = add_cell(c, &(struct cell){ g, bin_of(op->cycles[l]), (uint8_t)l, 1,
							  op->cycles[l], op->cycles[l] });
	return ret;
}

static enum memory_access_kind access_kind(const struct memop *op)
{
	if (no_access(op))
		return MEMORY_NO_ACCESS;
	if (op->set[MEMOP_KIND] & MEMOP_KIND_STORE)
		return MEMORY_STORE;
	return op->set[MEMOP_KIND] & MEMOP_KIND_LOAD ? MEMORY_LOAD : MEMORY_OTHER;
}

static int count_sample(void *ctx, const struct pass_sample *p, struct err *err)
{
	struct memory_work *w = ctx;
	struct counts *c = &w->of[p->worker];
	const struct map *m;
	struct pd_sample s;
	struct memop op;

	c->samples++;
	if (pd_sample_parse(w->rec, p->r, &s) || !memop_of(&op, &w->how[p->event], &s)) {
		c->without++;
		return 0;
	}
	c->no_access += no_access(&op);
	c->raw |= op.raw;
	c->period_varies |= c->period && s.period != c->period;
	c->period = s.period;
	m = space_find(w->spaces, p->who->proc, space_kind_of_misc(s.cpumode), s.ip, p->time, NULL,
		       NULL);
	if (count_in(c, MEMORY_CLASS, class_of(&op), 0, &op) ||
	    count_in(c, MEMORY_ACCESS, m ? map_to_image(m, s.ip) : s.ip,
		     memory_access_key(m ? m->image : IMAGE_NONE, access_kind(&op)), &op) ||
	    count_in(c, MEMORY_THREAD, p->task, p->who->comm, &op) ||
	    count_in(c, MEMORY_CPU, p->cpu, 0, &op))
		return err_nomem(err);
	return 0;
}

/* ---- joining and folding --------------------------------------------------------------------- */

/* Adds the group's samples and what cells it has, in `x`, to a group of `c`. */
static int join(struct counts *c, const struct counts *x, const uint32_t *to)
{
	size_t n = x->cell.n; /* x may be c, which grows */

	for (size_t i = 0; i < n; i++) {
		struct cell cell = x->cell.v[i];

		cell.group = to[cell.group];
		if (cell.group != UINT32_MAX && add_cell(c, &cell))
			return -1;
	}
	return 0;
}

static int join_worker(struct counts *c, const struct counts *x)
{
	uint32_t *to = calloc(x->group.n + 1, sizeof(*to));
	int ret = to ? 0 : -1;

	for (size_t i = 0; i < x->group.n && !ret; i++) {
		const struct memory_group *g = &x->group.v[i];

		to[i] = group_of(c, g->by, g->key[0], g->key[1]);
		if (to[i] == UINT32_MAX)
			ret = -1;
		else
			add_samples(&c->group.v[to[i]], g);
	}
	if (!ret)
		ret = join(c, x, to);
	free(to);
	c->samples += x->samples;
	c->without += x->without;
	c->no_access += x->no_access;
	c->period_varies |= x->period_varies || (c->period && x->period && c->period != x->period);
	c->period = c->period ? c->period : x->period;
	c->raw |= x->raw;
	return ret;
}

/* What group of `by` a group is a part of; false: of none. */
static bool part_of(const struct memory_group *g, enum memory_by by, uint64_t key[2])
{
	if (by == MEMORY_FUNCTION) {
		key[0] = g->symbol ? g->symbol->start : UINT64_MAX;
		key[1] = g->key[1];
		return g->by == MEMORY_INSTRUCTION;
	}
	if (by == MEMORY_LINE) {
		key[0] = (uint64_t)g->first_spread << 32 | g->line;
		key[1] = g->key[1];
		return g->by == MEMORY_INSTRUCTION && g->file;
	}
	if (by == MEMORY_INSTRUCTION) {
		key[0] = g->key[0];
		key[1] = (uint32_t)g->key[1];
		return g->by == MEMORY_ACCESS;
	}
	key[0] = by == MEMORY_TYPE ? g->type_id : g->field_id;
	key[1] = 0;
	if (by == MEMORY_TYPE || by == MEMORY_FIELD)
		return g->by == MEMORY_ACCESS && memory_access_kind(g) != MEMORY_NO_ACCESS;
	key[0] = g->key[0] & class_parts[by];
	return g->by == MEMORY_CLASS && (by == MEMORY_ALL || !(g->key[0] >> AT_NO_ACCESS & 1));
}

static int fold(struct counts *c, enum memory_by by)
{
	size_t n = c->group.n;
	uint32_t *to = malloc((n + 1) * sizeof(*to));
	int ret = to ? 0 : -1;

	for (size_t i = 0; i < n && !ret; i++) {
		uint64_t key[2];

		to[i] = UINT32_MAX;
		if (!part_of(&c->group.v[i], by, key))
			continue;
		to[i] = group_of(c, by, key[0], key[1]);
		if (to[i] == UINT32_MAX) {
			ret = -1;
		} else {
			add_samples(&c->group.v[to[i]], &c->group.v[i]);
			c->group.v[to[i]].symbol = c->group.v[i].symbol;
			c->group.v[to[i]].file = c->group.v[i].file;
			c->group.v[to[i]].line = c->group.v[i].line;
			c->group.v[to[i]].access = c->group.v[i].access;
			c->group.v[to[i]].type_id = c->group.v[i].type_id;
		}
	}
	/* cells of groups that came later are not looked at: they were none before */
	if (!ret)
		ret = join(c, c, to);
	free(to);
	return ret;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct memory_group *x = *(struct memory_group *const *)a,
				  *y = *(struct memory_group *const *)b;

	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

/* The number of the file stands in `first_spread`, until spreads are made. */
static int name_line(struct memory_work *w, struct memory_group *g, const struct source *src,
		     struct err *err)
{
	struct source_line l;
	uint64_t vaddr;
	uint32_t id;

	if (!image_to_vaddr(spaces_images(w->spaces), (uint32_t)g->key[1], g->key[0], &vaddr))
		return 0;
	l = source_line(src, vaddr);
	if (!l.file || !l.line)
		return 0;
	id = strtab_adds(&w->files, l.file);
	if (id == STR_NONE)
		return err_nomem(err);
	g->file = l.file;
	g->line = l.line;
	g->first_spread = id;
	return 0;
}

/* Instructions of one image, ascending. */
static int name_run(struct memory_work *w, struct memory_group **g, size_t n, uint64_t *addr,
		    const struct symbol **sym, struct err *err)
{
	struct err why = ERR_INIT; /* no lines then */
	const struct source *src;

	for (size_t i = 0; i < n; i++)
		addr[i] = g[i]->key[0];
	if (image_resolve(spaces_images(w->spaces), (uint32_t)g[0]->key[1], addr, n, sym, err))
		return -1;
	src = source_of(spaces_images(w->spaces), (uint32_t)g[0]->key[1], &why);
	if (!src && why.code == ERR_NOMEM)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		g[i]->symbol = sym[i];
		if (src && name_line(w, g[i], src, err))
			return -1;
	}
	return 0;
}

static int name_instructions(struct memory_work *w, struct err *err)
{
	struct counts *c = w->of;
	struct memory_group **g = calloc(c->group.n + 1, sizeof(*g));
	uint64_t *addr = calloc(c->group.n + 1, sizeof(*addr));
	const struct symbol **sym = calloc(c->group.n + 1, sizeof(*sym));
	size_t n = 0;
	int ret = g && addr && sym ? 0 : err_nomem(err);

	for (size_t i = 0; i < c->group.n && !ret; i++)
		if (c->group.v[i].by == MEMORY_INSTRUCTION && c->group.v[i].key[1] != IMAGE_NONE)
			g[n++] = &c->group.v[i];
	if (n > 1)
		qsort(g, n, sizeof(*g), by_address);
	for (size_t i = 0, k; i < n && !ret; i = k) {
		for (k = i + 1; k < n && g[k]->key[1] == g[i]->key[1]; k++)
			;
		ret = name_run(w, &g[i], k - i, addr, sym, err);
	}
	free(g);
	free(addr);
	free(sym);
	return ret;
}

/* By address: types and fields are numbered as they are met, and workers meet them in any order. */
static int type_accesses(struct memory_work *w, struct err *err)
{
	struct counts *c = w->of;
	struct memory_group **g = calloc(c->group.n + 1, sizeof(*g));
	size_t n = 0;
	int ret = g ? 0 : err_nomem(err);

	for (size_t i = 0; i < c->group.n && !ret; i++)
		if (c->group.v[i].by == MEMORY_ACCESS &&
		    memory_access_kind(&c->group.v[i]) != MEMORY_NO_ACCESS)
			g[n++] = &c->group.v[i];
	if (n > 1)
		qsort(g, n, sizeof(*g), by_address);
	for (size_t i = 0; i < n && !ret; i++)
		ret = memory_type_group(spaces_images(w->spaces), g[i], &w->rows, err);
	free(g);
	return ret;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_cell(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->latency != y->latency)
		return x->latency < y->latency ? -1 : 1;
	return (x->bin > y->bin) - (x->bin < y->bin);
}

/* `first_spread` is the group's old place, until spreads are made. */
static int by_samples(const void *a, const void *b)
{
	const struct memory_group *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static int order_groups(struct memory *m, struct counts *c)
{
	uint32_t *to = malloc((c->group.n + 1) * sizeof(*to));

	if (!to)
		return -1;
	for (size_t i = 0; i < c->group.n; i++)
		c->group.v[i].first_spread = i;
	vec_sort(&c->group, by_samples);
	for (size_t i = 0; i < c->group.n; i++) {
		to[c->group.v[i].first_spread] = (uint32_t)i;
		m->first[c->group.v[i].by + 1] = i + 1;
	}
	for (size_t i = 1; i <= MEMORY_BYS; i++)
		if (m->first[i] < m->first[i - 1])
			m->first[i] = m->first[i - 1];
	for (size_t i = 0; i < c->cell.n; i++)
		c->cell.v[i].group = to[c->cell.v[i].group];
	vec_sort(&c->cell, by_cell);
	free(to);
	return 0;
}

static void add_bin(struct memory_spread *s, struct memory_bin *b, const struct cell *x)
{
	*b = (struct memory_bin){ x->n, (double)x->sum / (double)x->n };
	s->n_bins++;
	s->n += x->n;
	s->sum += (double)x->sum;
	s->squares += (double)x->n * b->cycles * b->cycles;
	s->most = x->most;
}

/* CPUs that do not measure the retire latency leave 0. */
static void drop_retire_of_0(struct counts *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->cell.n; i++)
		if (c->cell.v[i].latency == MEMOP_LATENCY_RETIRE && c->cell.v[i].most)
			return;
	for (size_t i = 0; i < c->cell.n; i++)
		if (c->cell.v[i].latency != MEMOP_LATENCY_RETIRE)
			c->cell.v[n++] = c->cell.v[i];
	c->cell.n = n;
}

static int make_spreads(struct memory *m, struct memory_work *w)
{
	struct counts *c = w->of;
	struct memory_spread *s = NULL;

	drop_retire_of_0(c);
	if (order_groups(m, c))
		return -1;
	w->bin = malloc((c->cell.n + 1) * sizeof(*w->bin));
	if (!w->bin)
		return -1;
	for (size_t i = 0; i < c->cell.n; i++) {
		const struct cell *x = &c->cell.v[i];

		if (!s || s->group != x->group || s->latency != x->latency) {
			s = vec_add(&w->spread);
			if (!s)
				return -1;
			*s = (struct memory_spread){ .group = x->group,
						     .latency = x->latency,
						     .bin = &w->bin[i] };
		}
		add_bin(s, &w->bin[i], x);
	}
	for (size_t i = 0, k = 0; i < c->group.n; i++) {
		c->group.v[i].first_spread = k;
		for (; k < w->spread.n && w->spread.v[k].group == i; k++)
			;
		c->group.v[i].n_spreads = k - c->group.v[i].first_spread;
	}
	m->group = c->group.v;
	m->spread = w->spread.v;
	return 0;
}

const struct memory_spread *memory_spread(const struct memory *m, const struct memory_group *g,
					  enum memop_latency l)
{
	for (size_t i = 0; i < g->n_spreads; i++)
		if (m->spread[g->first_spread + i].latency == l)
			return &m->spread[g->first_spread + i];
	return NULL;
}

static int fold_all(struct memory_work *w, struct err *err)
{
	static const enum memory_by from_classes[] = { MEMORY_ALL,   MEMORY_SOURCE, MEMORY_TLB,
						       MEMORY_SNOOP, MEMORY_LOCK,   MEMORY_BLOCK };
	struct counts *c = w->of;

	for (unsigned i = 1; i < w->workers; i++)
		if (join_worker(c, &w->of[i]))
			return err_nomem(err);
	if (fold(c, MEMORY_INSTRUCTION))
		return err_nomem(err);
	if (name_instructions(w, err) || type_accesses(w, err))
		return -1;
	for (size_t i = 0; i < sizeof(from_classes) / sizeof(*from_classes); i++)
		if (fold(c, from_classes[i]))
			return err_nomem(err);
	return fold(c, MEMORY_FUNCTION) || fold(c, MEMORY_LINE) || fold(c, MEMORY_TYPE) ||
			       fold(c, MEMORY_FIELD)
		       ? err_nomem(err)
		       : 0;
}

static int count_all(struct memory_work *w, const struct memory_opts *o, const bool *events,
		     struct err *err)
{
	const struct pass_visitor v = { .wants = PASS_THREAD | PASS_COMM, .sample = count_sample };
	const struct pass_opts po = { .events = events,
				      .progress = o->progress,
				      .progress_ctx = o->progress_ctx };
	struct pass *p;
	int ret;

	if (pass_new(&p, w->rec, w->spaces, &o->select, &po, err))
		return -1;
	w->workers = pass_workers(p);
	w->of = calloc(w->workers, sizeof(*w->of));
	ret = w->of ? pass_each(p, &v, w, err) : err_nomem(err);
	pass_free(p);
	return ret;
}

bool memory_told(const struct pd *rec)
{
	size_t n;
	const struct pd_event *e = pd_events(rec, &n);

	while (n && memop_how(rec, &e[n - 1]).from == MEMOP_FROM_NOTHING)
		n--;
	return n;
}

/* The events that tell of memory, of those that the selection means. */
static int choose_events(struct memory_work *w, const struct memory_opts *o, bool **events,
			 struct err *err)
{
	size_t n, usable = 0;
	const struct pd_event *e = pd_events(w->rec, &n);

	w->how = calloc(n + 1, sizeof(*w->how));
	*events = calloc(n + 1, sizeof(**events));
	if (!w->how || !*events)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		w->how[i] = memop_how(w->rec, &e[i]);
		(*events)[i] = w->how[i].from != MEMOP_FROM_NOTHING &&
			       text_means(o->select.event, e[i].name);
		usable += (*events)[i];
	}
	if (usable)
		return 0;
	if (memory_told(w->rec))
		return err_set(err, ERR_NOT_FOUND, "no event '%.100s' tells of memory operations",
			       o->select.event);
	(void)err_set(err, ERR_NOT_FOUND, "no event of the recording tells of memory operations");
	return err_hint(err, "record some: cyclade record --mem -- PROGRAM");
}

int memory_build(struct memory **out, const struct pd *rec, struct spaces *sp,
		 const struct memory_opts *opts, struct err *err)
{
	struct memory *m = calloc(1, sizeof(*m));
	struct memory_work *w = calloc(1, sizeof(*w));
	bool *events = NULL;

	*out = NULL;
	if (!m || !w) {
		free(m);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_work){
		.rec = rec, .spaces = sp, .files = STRTAB_INIT, .rows = STRTAB_INIT
	};
	m->work = w;
	if (choose_events(w, opts, &events, err) || count_all(w, opts, events, err) ||
	    fold_all(w, err) ||
	    ((make_spreads(m, w) || memory_layouts(m, &w->layout, &m->n_layouts)) &&
	     err_nomem(err))) {
		free(events);
		memory_free(m);
		return -1;
	}
	free(events);
	m->how = w->how;
	m->layout = w->layout;
	m->samples = w->of->samples;
	m->without = w->of->without;
	m->no_access = w->of->no_access;
	m->period_varies = w->of->period_varies;
	m->raw = w->of->raw;
	assert(m->first[1] == 0 || m->group[0].samples == m->samples - m->without);
	*out = m;
	return 0;
}

void memory_free(struct memory *m)
{
	struct memory_work *w = m ? m->work : NULL;

	for (unsigned i = 0; w && w->of && i < w->workers; i++) {
		vec_free(&w->of[i].group);
		vec_free(&w->of[i].cell);
		itab_free(&w->of[i].group_at);
		itab_free(&w->of[i].cell_at);
	}
	if (w) {
		vec_free(&w->spread);
		free(w->of);
		free(w->how);
		free(w->bin);
		free(w->layout);
		strtab_free(&w->files);
		strtab_free(&w->rows);
	}
	free(w);
	free(m);
}
