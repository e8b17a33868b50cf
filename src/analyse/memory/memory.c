/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding what memory_count() counted: classes into sources, TLB and the like, accesses into
 * instructions, these into functions and lines. A group knows the groups that it was folded from;
 * how often it had each latency is added up from theirs, when somebody asks.
 */
#include "analyse/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/itab.h"
#include "analyse/memory/memory_count_int.h"
#include "analyse/memory/memory_types.h"
#include "analyse/pass/pass.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbol/source.h"

#define NONE UINT32_MAX

/* A group that is a part of another. */
struct part {
	uint32_t group, next;
};

/* Latencies of a group. */
struct sums {
	uint64_t n, sum, most;
	double squares; /* not of large ones */
	bool large;
};

/* The bins of one spread at a time. */
struct bins {
	const struct memory_spread *of;
	size_t n;
	uint64_t count[MEMORY_EXACT], used[MEMORY_EXACT / 64];
	uint32_t *large; /* bins beyond these */
	struct memory_bin *bin;
};

struct memory_work {
	struct spaces *spaces;
	struct memop_how *how;
	struct memory_tallies c;
	VEC(struct memory_group) group;
	VEC(uint32_t) first; /* part, by the group's place */
	VEC(struct part) part;
	struct itab group_at;
	VEC(struct memory_spread) spread;
	struct sums *sums; /* of tallies, by latency */
	struct bins *bins;
	struct memory_layout *layout;
	struct strtab files, rows; /* rows: of the tables of types and fields */
};

/* ---- what a class is ------------------------------------------------------------------------- */

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

/* ---- groups ---------------------------------------------------------------------------------- */

/* A new one; NULL: out of memory. */
static struct memory_group *add_group(struct memory_work *w, enum memory_by by, uint64_t a,
				      uint64_t b)
{
	struct memory_group *g;

	if (w->group.n >= NONE - 1 || vec_push(&w->first, NONE))
		return NULL;
	g = vec_add(&w->group);
	if (g)
		*g = (struct memory_group){ .by = by,
					    .key = { a, b },
					    .place = (uint32_t)w->group.n - 1 };
	return g;
}

static struct memory_group *group_of(struct memory_work *w, enum memory_by by, uint64_t a,
				     uint64_t b)
{
	uint64_t h = hash_pair(a, b << 8 | by);
	uint32_t idx;

	for (size_t i = itab_first(&w->group_at, h); itab_at(&w->group_at, &i, h, &idx);) {
		struct memory_group *g = &w->group.v[idx];

		if (g->by == by && g->key[0] == a && g->key[1] == b)
			return g;
	}
	return itab_put(&w->group_at, h, w->group.n) ? NULL : add_group(w, by, a, b);
}

/* Groups that were counted stand first: their place is that of their tally. */
static int take_tallies(struct memory_work *w)
{
	vec_each (&w->c.v, const struct memory_tally *, t) {
		struct memory_group *g = add_group(w, t->by, t->key[0], t->key[1]);

		if (!g)
			return -1;
		g->samples = t->samples;
		g->loads = t->loads;
		g->stores = t->stores;
		g->open = (struct memory_open){ t->open, (double)t->open_sum,
						(double)t->open_squares };
	}
	return 0;
}

static void add_samples(struct memory_group *g, const struct memory_group *x)
{
	g->samples += x->samples;
	g->loads += x->loads;
	g->stores += x->stores;
	g->fetches += x->fetches;
	g->fetches_inside += x->fetches_inside;
	g->fetches_aborted += x->fetches_aborted;
	g->open.n += x->open.n;
	g->open.sum += x->open.sum;
	g->open.squares += x->open.squares;
}

/* ---- folding --------------------------------------------------------------------------------- */

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
		key[0] = g->key[0] - g->skip;
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

static int fold(struct memory_work *w, enum memory_by by)
{
	size_t n = w->group.n;

	for (size_t i = 0; i < n; i++) {
		const struct memory_group *x;
		struct memory_group *g;
		uint64_t key[2];

		if (!part_of(&w->group.v[i], by, key))
			continue;
		g = group_of(w, by, key[0], key[1]);
		if (!g || vec_push(&w->part, ((struct part){ (uint32_t)i, w->first.v[g->place] })))
			return -1;
		x = &w->group.v[i];
		w->first.v[g->place] = (uint32_t)w->part.n - 1;
		add_samples(g, x);
		g->symbol = x->symbol;
		g->file = x->file;
		g->line = x->line;
		g->access = x->access;
		g->type_id = x->type_id;
	}
	return 0;
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
	struct memory_group **g = calloc(w->group.n + 1, sizeof(*g));
	uint64_t *addr = calloc(w->group.n + 1, sizeof(*addr));
	const struct symbol **sym = calloc(w->group.n + 1, sizeof(*sym));
	size_t n = 0;
	int ret = g && addr && sym ? 0 : err_nomem(err);

	for (size_t i = 0; i < w->group.n && !ret; i++)
		if (w->group.v[i].by == MEMORY_INSTRUCTION && w->group.v[i].key[1] != IMAGE_NONE)
			g[n++] = &w->group.v[i];
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
	struct memory_group **g = calloc(w->group.n + 1, sizeof(*g));
	size_t n = 0;
	int ret = g ? 0 : err_nomem(err);

	for (size_t i = 0; i < w->group.n && !ret; i++)
		if (w->group.v[i].by == MEMORY_ACCESS &&
		    memory_access_kind(&w->group.v[i]) != MEMORY_NO_ACCESS)
			g[n++] = &w->group.v[i];
	if (n > 1)
		qsort(g, n, sizeof(*g), by_address);
	for (size_t i = 0; i < n && !ret; i++)
		ret = memory_type_group(spaces_images(w->spaces), g[i], &w->rows, err);
	free(g);
	return ret;
}

/* ---- spreads --------------------------------------------------------------------------------- */

/* Below MEMORY_EXACT each value has a bin, above 1,024 share an octave. */
static uint32_t bin_of(uint32_t cycles)
{
	unsigned octave = 31 - (unsigned)__builtin_clz(cycles | 1);

	if (cycles < MEMORY_EXACT)
		return cycles;
	return MEMORY_EXACT + (octave - 16) * 1024 + (cycles >> (octave - 10) & 1023);
}

static void add_sum(void *ctx, uint16_t value, uint64_t n)
{
	struct sums *s = ctx;

	s->n += n;
	s->sum += n * value;
	s->squares += (double)n * value * value;
	s->most = s->most > value ? s->most : value;
}

static int sum_tallies(struct memory_work *w)
{
	w->sums = calloc(w->c.v.n * MEMOP_LATENCIES + 1, sizeof(*w->sums));
	if (!w->sums)
		return -1;
	for (size_t i = 0; i < w->c.v.n; i++)
		for (unsigned l = 0; l < MEMOP_LATENCIES; l++)
			hist_each(&w->c.v.v[i].hist[l], add_sum, &w->sums[i * MEMOP_LATENCIES + l]);
	vec_each (&w->c.large, const struct memory_large *, x) {
		struct sums *s = &w->sums[x->tally * MEMOP_LATENCIES + x->latency];

		s->n++;
		s->sum += x->cycles;
		s->most = s->most > x->cycles ? s->most : x->cycles;
		s->large = true;
	}
	return 0;
}

/* `visit` is called for each tally that the group at `place` is made of. */
static void each_tally(struct memory_work *w, uint32_t place, unsigned latency,
		       void (*visit)(struct memory_work *w, uint32_t tally, unsigned latency,
				     void *ctx),
		       void *ctx)
{
	if (place < w->c.v.n)
		visit(w, place, latency, ctx);
	for (uint32_t i = w->first.v[place]; i != NONE; i = w->part.v[i].next)
		each_tally(w, w->part.v[i].group, latency, visit, ctx);
}

static void visit_sums(struct memory_work *w, uint32_t tally, unsigned latency, void *ctx)
{
	const struct sums *x = &w->sums[tally * MEMOP_LATENCIES + latency];
	struct sums *s = ctx;

	s->n += x->n;
	s->sum += x->sum;
	s->squares += x->squares;
	s->most = s->most > x->most ? s->most : x->most;
	s->large |= x->large;
}

/* ---- bins ------------------------------------------------------------------------------------ */

struct filling {
	struct bins *bins;
	size_t n_large;
};

static void add_count(void *ctx, uint16_t value, uint64_t n)
{
	struct bins *b = ctx;

	b->count[value] += n;
	b->used[value / 64] |= UINT64_C(1) << value % 64;
}

static void visit_bins(struct memory_work *w, uint32_t tally, unsigned latency, void *ctx)
{
	struct filling *f = ctx;
	size_t low = 0, high = w->c.large.n;

	hist_each(&w->c.v.v[tally].hist[latency], add_count, f->bins);
	if (!w->sums[tally * MEMOP_LATENCIES + latency].large)
		return;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct memory_large *x = &w->c.large.v[mid];

		if (x->tally < tally || (x->tally == tally && x->latency < latency))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->c.large.n && w->c.large.v[low].tally == tally &&
	       w->c.large.v[low].latency == latency;
	     low++)
		f->bins->large[f->n_large++] = w->c.large.v[low].cycles;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static size_t put_bins(struct bins *b)
{
	size_t n = 0;

	for (size_t i = 0; i < MEMORY_EXACT / 64; i++) {
		for (; b->used[i]; b->used[i] &= b->used[i] - 1) {
			size_t value = i * 64 + (size_t)__builtin_ctzll(b->used[i]);

			b->bin[n++] = (struct memory_bin){ b->count[value], (double)value };
			b->count[value] = 0;
		}
	}
	return n;
}

static size_t put_large(struct bins *b, size_t n, size_t n_large)
{
	qsort(b->large, n_large, sizeof(*b->large), by_value);
	for (size_t i = 0, k; i < n_large; i = k) {
		uint64_t sum = b->large[i];

		for (k = i + 1; k < n_large && bin_of(b->large[k]) == bin_of(b->large[i]); k++)
			sum += b->large[k];
		b->bin[n++] = (struct memory_bin){ k - i, (double)sum / (double)(k - i) };
	}
	return n;
}

const struct memory_bin *memory_bins(const struct memory *m, const struct memory_spread *s,
				     size_t *n)
{
	struct memory_work *w = m->work;
	struct filling f = { .bins = w->bins };

	if (w->bins->of != s) {
		each_tally(w, m->group[s->group].place, s->latency, visit_bins, &f);
		w->bins->n = put_bins(w->bins);
		if (f.n_large)
			w->bins->n = put_large(w->bins, w->bins->n, f.n_large);
		w->bins->of = s;
	}
	*n = w->bins->n;
	return w->bins->bin;
}

static int make_room(struct memory_work *w)
{
	size_t large = w->c.large.n;
	const size_t most = 16 * 1024; /* bins of large ones */

	w->bins = calloc(1, sizeof(*w->bins));
	if (!w->bins)
		return -1;
	w->bins->large = malloc((large + 1) * sizeof(*w->bins->large));
	w->bins->bin =
		malloc((MEMORY_EXACT + (large < most ? large : most)) * sizeof(*w->bins->bin));
	return w->bins->large && w->bins->bin ? 0 : -1;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int by_samples(const void *a, const void *b)
{
	const struct memory_group *x = *(struct memory_group *const *)a,
				  *y = *(struct memory_group *const *)b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static int order_groups(struct memory *m, struct memory_work *w)
{
	size_t n = w->group.n;
	struct memory_group **at = malloc((n + 1) * sizeof(*at));
	struct memory_group *group = malloc((n + 1) * sizeof(*group));

	if (!at || !group) {
		free(at);
		free(group);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		at[i] = &w->group.v[i];
	if (n > 1)
		qsort(at, n, sizeof(*at), by_samples);
	for (size_t i = 0; i < n; i++) {
		group[i] = *at[i];
		m->first[group[i].by + 1] = i + 1;
	}
	for (size_t i = 1; i <= MEMORY_BYS; i++)
		if (m->first[i] < m->first[i - 1])
			m->first[i] = m->first[i - 1];
	free(at);
	free(w->group.v);
	w->group.v = m->group = group;
	w->group.cap = n + 1;
	return 0;
}

/* CPUs that do not measure the retire latency leave 0. */
static bool has_retire(const struct memory_work *w)
{
	for (size_t i = 0; i < w->c.v.n; i++)
		if (w->sums[i * MEMOP_LATENCIES + MEMOP_LATENCY_RETIRE].most)
			return true;
	return false;
}

static int make_spreads(struct memory *m, struct memory_work *w)
{
	bool retire = has_retire(w);

	for (size_t i = 0; i < w->group.n; i++) {
		struct memory_group *g = &m->group[i];

		g->first_spread = w->spread.n;
		for (unsigned l = 0; l < MEMOP_LATENCIES; l++) {
			struct sums x = { 0 };

			each_tally(w, g->place, l, visit_sums, &x);
			if (x.n && (l != MEMOP_LATENCY_RETIRE || retire) &&
			    vec_push(&w->spread,
				     ((struct memory_spread){ (uint32_t)i, (enum memop_latency)l,
							      x.n, x.most, (double)x.sum,
							      x.large ? NAN : x.squares })))
				return -1;
		}
		g->n_spreads = w->spread.n - g->first_spread;
	}
	m->spread = w->spread.v;
	vec_each (&w->spread, struct memory_spread *, s) {
		size_t n;
		const struct memory_bin *b;

		if (!isnan(s->squares))
			continue;
		s->squares = 0;
		b = memory_bins(m, s, &n);
		for (size_t k = 0; k < n; k++)
			s->squares += (double)b[k].n * b[k].cycles * b[k].cycles;
	}
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

	if (take_tallies(w))
		return err_nomem(err);
	if (memory_place_fetches(spaces_images(w->spaces), w->group.v, w->group.n, err))
		return -1;
	if (fold(w, MEMORY_INSTRUCTION))
		return err_nomem(err);
	if (name_instructions(w, err) || type_accesses(w, err))
		return -1;
	for (size_t i = 0; i < sizeof(from_classes) / sizeof(*from_classes); i++)
		if (fold(w, from_classes[i]))
			return err_nomem(err);
	return fold(w, MEMORY_FUNCTION) || fold(w, MEMORY_LINE) || fold(w, MEMORY_TYPE) ||
			       fold(w, MEMORY_FIELD)
		       ? err_nomem(err)
		       : 0;
}

static int make_result(struct memory *m, struct memory_work *w, struct err *err)
{
	if (sum_tallies(w) || make_room(w) || order_groups(m, w) || make_spreads(m, w) ||
	    memory_layouts(m, &w->layout, &m->n_layouts))
		return err_nomem(err);
	m->how = w->how;
	m->layout = w->layout;
	m->samples = w->c.samples;
	m->without = w->c.without;
	m->no_access = w->c.no_access;
	m->period_varies = w->c.period_varies;
	m->raw = w->c.raw;
	return 0;
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
static int choose_events(struct memory_work *w, const struct pd *rec, const struct memory_opts *o,
			 bool **events, struct err *err)
{
	size_t n, usable = 0;
	const struct pd_event *e = pd_events(rec, &n);

	w->how = calloc(n + 1, sizeof(*w->how));
	*events = calloc(n + 1, sizeof(**events));
	if (!w->how || !*events)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		w->how[i] = memop_how(rec, &e[i]);
		(*events)[i] = w->how[i].from != MEMOP_FROM_NOTHING &&
			       text_means(o->select.event, e[i].name);
		usable += (*events)[i];
	}
	if (usable || (o->or_none && !memory_told(rec)))
		return 0;
	if (memory_told(rec))
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
	int ret;

	*out = NULL;
	if (!m || !w) {
		free(m);
		free(w);
		return err_nomem(err);
	}
	*w = (struct memory_work){ .spaces = sp, .files = STRTAB_INIT, .rows = STRTAB_INIT };
	m->work = w;
	ret = choose_events(w, rec, opts, &events, err) ||
	      memory_count(&w->c, rec, sp, w->how, events, opts, err) || fold_all(w, err) ||
	      make_result(m, w, err);
	free(events);
	assert(ret || m->first[1] == 0 || m->group[0].samples == m->samples - m->without);
	if (ret)
		memory_free(m);
	else
		*out = m;
	return ret ? -1 : 0;
}

void memory_free(struct memory *m)
{
	struct memory_work *w = m ? m->work : NULL;

	if (w) {
		memory_tallies_free(&w->c);
		vec_free(&w->group);
		vec_free(&w->first);
		vec_free(&w->part);
		itab_free(&w->group_at);
		vec_free(&w->spread);
		if (w->bins) {
			free(w->bins->large);
			free(w->bins->bin);
		}
		free(w->bins);
		free(w->sums);
		free(w->how);
		free(w->layout);
		strtab_free(&w->files);
		strtab_free(&w->rows);
	}
	free(w);
	free(m);
}
