/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_count_int.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_types.h"
#include "base/big.h"
#include "base/bytes.h"

#define LATENCIES ((1u << MEMOP_LATENCIES) - 1)

/* ---- classes --------------------------------------------------------------------------------- */

static uint64_t flag_of(const struct memop *op, uint32_t has, bool flag)
{
	return op->has & has ? 1 + (uint64_t)flag : 0;
}

uint64_t memory_class(const struct memop *op)
{
	return (uint64_t)op->set[MEMOP_KIND] << AT_KIND |
	       (uint64_t)op->set[MEMOP_SNOOP] << AT_SNOOP | (uint64_t)op->set[MEMOP_TLB] << AT_TLB |
	       (uint64_t)op->set[MEMOP_BLOCK] << AT_BLOCK | (uint64_t)op->level << AT_LEVEL |
	       (uint64_t)op->where << AT_WHERE | flag_of(op, MEMOP_HAS_HIT, op->hit) << AT_HIT |
	       flag_of(op, MEMOP_HAS_LOCKED, op->locked) << AT_LOCK |
	       (uint64_t)memory_no_access(op) << AT_NO_ACCESS;
}

static enum memory_access_kind access_kind(const struct memop *op)
{
	if (memory_no_access(op))
		return MEMORY_NO_ACCESS;
	if (op->set[MEMOP_KIND] & MEMOP_KIND_STORE)
		return MEMORY_STORE;
	if (op->raw && op->set[MEMOP_KIND] & MEMOP_KIND_EXEC)
		return op->set[MEMOP_KIND] & MEMOP_KIND_ABORTED ? MEMORY_FETCH_ABORTED
								: MEMORY_FETCH;
	return op->set[MEMOP_KIND] & MEMOP_KIND_LOAD ? MEMORY_LOAD : MEMORY_OTHER;
}

/* ---- tallies --------------------------------------------------------------------------------- */

static inline uint64_t hash_of(enum memory_by by, uint64_t a, uint64_t b)
{
	return itab_hash(a, b << 4 | (unsigned)by);
}

static int begin_hists(struct memory_tally *t)
{
	if (!t->hist)
		t->hist = calloc(MEMOP_LATENCIES, sizeof(*t->hist));
	return t->hist ? 0 : -1;
}

static void free_hists(struct memory_tally *t)
{
	for (unsigned l = 0; t->hist && l < MEMOP_LATENCIES; l++)
		hist_free(&t->hist[l]);
	free(t->hist);
	t->hist = NULL;
}

/* Finds or adds a tally; those of accesses begin when a cell is full. NULL: out of memory. */
static struct memory_tally *tally_of(struct memory_tallies *c, enum memory_by by, uint64_t a,
				     uint64_t b, uint64_t h)
{
	struct memory_tally *t;
	uint32_t idx;

	for (size_t i = itab_first(&c->at, h); itab_at(&c->at, &i, h, &idx);) {
		t = &c->v.v[idx];
		if (t->by == by && t->key[0] == a && t->key[1] == b)
			return t;
	}
	if (c->v.n >= UINT32_MAX - 1 || big_reserve(&c->v) || itab_put(&c->at, h, c->v.n))
		return NULL;
	t = &c->v.v[c->v.n++];
	*t = (struct memory_tally){ .by = by, .key = { a, b }, .cell = MEMORY_CELL_NONE };
	return by == MEMORY_ACCESS || !begin_hists(t) ? t : NULL;
}

/* There are few of each kind, and they come again. UINT32_MAX: out of memory. */
static inline uint32_t recent_of(struct memory_tallies *c, enum memory_by by, uint64_t a,
				 uint64_t b)
{
	uint64_t h = hash_of(by, a, b);
	struct memory_recent *r = &c->recent[h >> 48 & (MEMORY_RECENT - 1)];
	const struct memory_tally *t;

	if (r->by == by && r->a == a && r->b == b)
		return r->tally;
	t = tally_of(c, by, a, b, h);
	if (!t)
		return UINT32_MAX;
	*r = (struct memory_recent){ a, b, by, (uint32_t)(t - c->v.v) };
	return r->tally;
}

/* ---- accesses: there are many, so each step is asked for before it is taken ------------------ */

static inline uint64_t access_hash(const struct memory_cell *x)
{
	return hash_of(MEMORY_ACCESS, x->a, memory_cell_access(x));
}

static struct memory_tally *access_of(struct memory_tallies *c, const struct memory_cell *x)
{
	return tally_of(c, MEMORY_ACCESS, x->a, memory_cell_access(x), access_hash(x));
}

/* All of a cell but its latencies. */
static void count_rows(struct memory_tally *t, const struct memory_cell *x)
{
	const uint16_t *at = x->row + x->numbers - 1;

	t->kind[memory_cell_kind(x)] += x->n;
	for (size_t i = 0; memory_cell_open(x) && i < x->n; i++, at += x->numbers) {
		t->open++;
		t->open_sum += *at;
		t->open_squares += (uint64_t)*at * *at;
	}
}

/* The rows of a cell that has no room go to its access. */
static int settle(struct memory_tallies *c, struct memory_cell *x)
{
	struct memory_tally *t = access_of(c, x);
	const uint16_t *at = x->row;

	if (!t || begin_hists(t))
		return -1;
	count_rows(t, x);
	for (unsigned has = memory_cell_latencies(x); has; has &= has - 1, at++)
		if (hist_add_all(&t->hist[__builtin_ctz(has)], at, x->n, x->numbers))
			return -1;
	x->n = 0;
	return 0;
}

/* Cells and rows are in no cache: each is asked for in a round of its own. */
static int count_cells(struct memory_tallies *c, struct memory_waiting *w)
{
	if (memory_cells_reserve(&c->cells, w->n))
		return -1;
	for (size_t i = 0; i < w->n; i++) {
		struct memory_sample *s = &w->sample[i];

		s->cell = memory_cell_of(&c->cells, s->a, s->b, s->hash);
		memory_cell_near(s->cell);
	}
	for (size_t i = 0; i < w->n; i++) {
		struct memory_cell *x = w->sample[i].cell;

		if (memory_cell_add(&c->cells, x, w->sample[i].row) ||
		    (x->n == MEMORY_CELL_ROWS && settle(c, x)))
			return -1;
	}
	return 0;
}

static void count_open(struct memory_tallies *c, const struct memory_sample *s, uint64_t n)
{
	for (size_t k = 0; k < c->counted; k++) {
		struct memory_tally *t = &c->v.v[s->tally[k]];

		t->open++;
		t->open_sum += n;
		t->open_squares += n * n;
	}
}

static inline int count_sample(struct memory_tallies *c, const struct memory_sample *s,
			       unsigned shown)
{
	struct hist *class = c->v.v[s->tally[COUNTED_CLASS]].hist;
	const uint16_t *number = s->row;

	for (unsigned has = memory_latencies_of(s->b); has; has &= has - 1, number++) {
		unsigned l = (unsigned)__builtin_ctz(has);

		if (hist_add(&class[l], *number))
			return -1;
		if (l == shown && c->counted > COUNTED_CPU &&
		    (hist_add(&c->v.v[s->tally[COUNTED_THREAD]].hist[l], *number) ||
		     hist_add(&c->v.v[s->tally[COUNTED_CPU]].hist[l], *number)))
			return -1;
	}
	if (memory_open_of(s->b))
		count_open(c, s, *number);
	return 0;
}

static int count_waiting(struct memory_tallies *c)
{
	struct memory_waiting *w = c->waiting;
	unsigned shown = memory_shown_of(c->latencies);

	if (count_cells(c, w))
		return -1;
	for (size_t i = 0; i < w->n; i++)
		if (count_sample(c, &w->sample[i], shown))
			return -1;
	w->n = 0;
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t period_of(const struct pass_sample *p)
{
	const struct perf_event_attr *a = &p->ev->attr;

	if (p->ev->at.period)
		return ld64(p->r->p + p->ev->at.period);
	return !a->freq && a->sample_period ? a->sample_period : 1;
}

int memory_count_begin(struct memory_tallies *c, bool threads)
{
	c->counted = threads ? MEMORY_COUNTED : 1;
	if (!c->waiting)
		c->waiting = calloc(1, sizeof(*c->waiting));
	if (!c->recent)
		c->recent = calloc(MEMORY_RECENT, sizeof(*c->recent));
	if (!c->whose)
		c->whose = calloc(1, sizeof(*c->whose));
	if (!c->kinds)
		c->kinds = calloc(MEMOP_KINDS, sizeof(*c->kinds));
	return c->waiting && c->recent && c->whose && c->kinds ? 0 : -1;
}

static inline void take_numbers(struct memory_sample *x, unsigned has, const struct memop *op,
				bool open)
{
	uint16_t *to = x->row;

	for (; has; has &= has - 1)
		*to++ = (uint16_t)op->cycles[__builtin_ctz(has)];
	if (open)
		*to = op->open;
}

static int put_large(struct memory_tallies *c, uint32_t tally, unsigned l, uint32_t cycles)
{
	struct memory_large large = { tally, cycles, (uint8_t)l };

	return tally == UINT32_MAX ? -1 : vec_push(&c->large, large);
}

/* Latencies that are too large for a histogram leave the sample's cell; *has: those that are
 * left. */
static __attribute__((noinline)) int take_large(struct memory_tallies *c, struct memory_sample *x,
						const struct memop *op, unsigned *has)
{
	uint64_t access = memory_access_of(x->b), h = hash_of(MEMORY_ACCESS, x->a, access);

	for (unsigned all = *has; all; all &= all - 1) {
		unsigned l = (unsigned)__builtin_ctz(all);
		struct memory_tally *t;

		if (op->cycles[l] < MEMORY_EXACT)
			continue;
		*has &= ~(1u << l);
		x->b &= ~(UINT64_C(1) << (CELL_LATENCIES + l));
		t = tally_of(c, MEMORY_ACCESS, x->a, access, h);
		if (!t || put_large(c, (uint32_t)(t - c->v.v), l, op->cycles[l]))
			return -1;
		for (size_t k = 0; k < c->counted; k++)
			if (put_large(c, x->tally[k], l, op->cycles[l]))
				return -1;
	}
	return 0;
}

static inline bool any_large(const struct memop *op, unsigned has)
{
	uint32_t cycles = 0;

	for (unsigned all = has; all; all &= all - 1)
		cycles |= op->cycles[__builtin_ctz(all)];
	return cycles >= MEMORY_EXACT;
}

static bool is_open(const struct memop *op)
{
	unsigned kind = op->set[MEMOP_KIND];

	return op->has & MEMOP_HAS_OPEN && kind & MEMOP_KIND_LOAD && !(kind & MEMOP_KIND_PREFETCH);
}

/* Counts that all ops of a kind share. */
struct shape {
	uint64_t cell; /* b of memory_cell, without the image */
	uint32_t tally;
};

static __attribute__((noinline)) struct shape new_shape(struct memory_tallies *c,
							const struct memop *op)
{
	unsigned has = op->has & LATENCIES, kind = op->set[MEMOP_KIND] & 3u;

	c->raw |= op->raw;
	c->latencies |= has;
	return (struct shape){ memory_access_key(0, access_kind(op)) | (uint64_t)kind << CELL_KIND |
				       (uint64_t)is_open(op) << CELL_OPEN |
				       (uint64_t)has << CELL_LATENCIES | UINT64_C(1) << CELL_USED,
			       recent_of(c, MEMORY_CLASS, memory_class(op), 0) };
}

static inline struct shape shape_of(struct memory_tallies *c, const struct memop *op,
				    struct memop_kind *kind)
{
	struct shape x;

	if (kind && kind->user[0])
		return (struct shape){ kind->user[1], (uint32_t)(kind->user[0] - 1) };
	x = new_shape(c, op);
	if (kind && x.tally != UINT32_MAX) {
		kind->user[0] = (uint64_t)x.tally + 1;
		kind->user[1] = x.cell;
	}
	return x;
}

static inline uint32_t thread_of(struct memory_tallies *c, const struct pass_sample *p)
{
	uint64_t turn = p->who->turn;
	uint32_t tally, at = (uint32_t)(turn & (MEMORY_THREADS - 1));

	if (c->whose->thread[at].turn == turn)
		return c->whose->thread[at].tally;
	tally = recent_of(c, MEMORY_THREAD, p->task, p->who->comm);
	c->whose->thread[at].turn = tally == UINT32_MAX ? 0 : turn;
	c->whose->thread[at].tally = tally;
	return tally;
}

static inline uint32_t cpu_of(struct memory_tallies *c, uint32_t cpu)
{
	uint32_t tally, at = cpu & (MEMORY_CPUS - 1);

	if (c->whose->cpu[at].cpu == (uint64_t)cpu + 1)
		return c->whose->cpu[at].tally;
	tally = recent_of(c, MEMORY_CPU, cpu, 0);
	c->whose->cpu[at].cpu = tally == UINT32_MAX ? 0 : (uint64_t)cpu + 1;
	c->whose->cpu[at].tally = tally;
	return tally;
}

static inline void note_period(struct memory_tallies *c, const struct pass_sample *p)
{
	uint64_t period;

	if (c->period_varies)
		return;
	period = period_of(p);
	c->period_varies = c->period && period != c->period;
	c->period = period;
}

/* Counts for threads and CPUs, which programs ask for. */
static __attribute__((noinline)) int count_whose(struct memory_tallies *c, struct memory_sample *x,
						 const struct pass_sample *p, unsigned kind)
{
	x->tally[COUNTED_THREAD] = thread_of(c, p);
	x->tally[COUNTED_CPU] = cpu_of(c, p->cpu);
	if (x->tally[COUNTED_THREAD] == UINT32_MAX || x->tally[COUNTED_CPU] == UINT32_MAX)
		return -1;
	c->v.v[x->tally[COUNTED_THREAD]].kind[kind]++;
	c->v.v[x->tally[COUNTED_CPU]].kind[kind]++;
	return 0;
}

int memory_count_add(struct memory_tallies *c, const struct pass_sample *p, const struct memop *op,
		     struct memop_kind *of, uint64_t access[2])
{
	uint64_t ip = p->ev->at.ip ? ld64(p->r->p + p->ev->at.ip) : 0;
	const struct place *o = pass_place(p, (uint8_t)space_kind_of_misc(p->r->misc), ip);
	struct memory_sample *x = &c->waiting->sample[c->waiting->n];
	struct shape shape = shape_of(c, op, of);
	unsigned has = memory_latencies_of(shape.cell);
	unsigned kind = memory_kind_of(shape.cell);

	note_period(c, p);
	if (shape.tally == UINT32_MAX || (c->counted > COUNTED_CPU && count_whose(c, x, p, kind)))
		return -1;
	x->tally[COUNTED_CLASS] = shape.tally;
	c->v.v[shape.tally].kind[kind]++;
	x->a = ip - o->less;
	x->b = shape.cell | o->image;
	access[0] = x->a;
	access[1] = memory_access_of(x->b);
	/* those of IBS ops have 16 bits */
	if (!of && any_large(op, has) && take_large(c, x, op, &has))
		return -1;
	take_numbers(x, has, op, memory_open_of(x->b));
	x->hash = memory_cell_hash(x->a, x->b);
	memory_cells_ahead(&c->cells, x->hash);
	return ++c->waiting->n == MEMORY_BATCH ? count_waiting(c) : 0;
}

int memory_count_end(struct memory_tallies *c)
{
	return count_waiting(c);
}

/* ---- joining --------------------------------------------------------------------------------- */

static int join_tally(struct memory_tally *t, struct memory_tally *x)
{
	for (size_t i = 0; i < 4; i++)
		t->kind[i] += x->kind[i];
	t->open += x->open;
	t->open_sum += x->open_sum;
	t->open_squares += x->open_squares;
	if (!t->hist) {
		t->hist = x->hist;
		x->hist = NULL;
	}
	for (unsigned l = 0; x->hist && l < MEMOP_LATENCIES; l++)
		if (hist_join(&t->hist[l], &x->hist[l]))
			return -1;
	return 0;
}

#define JOIN_AHEAD 8u /* cells */

/* Asks for the tally of a cell's access. */
static void access_near(const struct memory_tallies *c, const struct memory_cell *x)
{
	uint64_t h = access_hash(x);
	size_t i = itab_first(&c->at, h);
	uint32_t idx;

	if (itab_at(&c->at, &i, h, &idx))
		__builtin_prefetch(&c->v.v[idx], 1);
	if (memory_cell_open(x))
		__builtin_prefetch(x->row);
}

/* The cells stay as they are, and are found by their accesses. */
static int join_cells(struct memory_tallies *c, struct memory_tallies *x)
{
	size_t from = c->cells.v.n;

	/* there are several cells of most accesses, and the next worker has the same accesses */
	itab_reserve(&c->at, x->cells.n);
	if ((!from && big_reserve_all(&c->v, c->v.n + x->cells.n)) ||
	    memory_cells_move(&c->cells, &x->cells))
		return -1;
	for (size_t i = from; i < c->cells.v.n; i++) {
		struct memory_cell *cell = &c->cells.v.v[i];
		struct memory_tally *t;

		if (i + 2 * JOIN_AHEAD < c->cells.v.n)
			itab_ahead(&c->at, access_hash(&cell[2 * JOIN_AHEAD]));
		if (i + JOIN_AHEAD < c->cells.v.n)
			access_near(c, &cell[JOIN_AHEAD]);
		t = cell->n ? access_of(c, cell) : NULL;
		if (!cell->n)
			continue;
		if (!t)
			return -1;
		count_rows(t, cell);
		cell->next = t->cell;
		t->cell = (uint32_t)i;
	}
	return 0;
}

/* The first worker's, as they are. */
static void take_tallies(struct memory_tallies *c, struct memory_tallies *x)
{
	memcpy(&c->v, &x->v, sizeof(c->v));
	memcpy(&c->large, &x->large, sizeof(c->large));
	c->at = x->at;
	memset(&x->v, 0, sizeof(x->v));
	memset(&x->large, 0, sizeof(x->large));
	x->at = (struct itab)ITAB_INIT;
}

static int join_tallies(struct memory_tallies *c, struct memory_tallies *x)
{
	uint32_t *to = malloc((x->v.n + 1) * sizeof(*to));
	int ret = to ? 0 : -1;

	for (size_t i = 0; i < x->v.n && !ret; i++) {
		struct memory_tally *from = &x->v.v[i];
		uint64_t h = hash_of(from->by, from->key[0], from->key[1]);
		struct memory_tally *t = tally_of(c, from->by, from->key[0], from->key[1], h);

		ret = t ? join_tally(t, from) : -1;
		to[i] = t ? (uint32_t)(t - c->v.v) : 0;
	}
	for (size_t i = 0; i < x->large.n && !ret; i++) {
		struct memory_large large = x->large.v[i];

		large.tally = to[large.tally];
		ret = vec_push(&c->large, large);
	}
	free(to);
	return ret;
}

int memory_tallies_join(struct memory_tallies *c, struct memory_tallies *x)
{
	int ret = 0;

	if (!c->v.n)
		take_tallies(c, x);
	else
		ret = join_tallies(c, x);
	ret = ret || join_cells(c, x) ? -1 : 0;
	c->latencies |= x->latencies;
	c->samples += x->samples;
	c->without += x->without;
	c->period_varies |= x->period_varies || (c->period && x->period && c->period != x->period);
	c->period = c->period ? c->period : x->period;
	for (size_t k = 0; k < MEMORY_OPERANDS; k++)
		c->operand[k] += x->operand[k];
	c->raw |= x->raw;
	return ret;
}

static int by_tally(const void *a, const void *b)
{
	const struct memory_large *x = a, *y = b;

	if (x->tally != y->tally)
		return x->tally < y->tally ? -1 : 1;
	return (x->latency > y->latency) - (x->latency < y->latency);
}

static bool keeps(const struct memory_tally *t, unsigned latency, enum memop_latency shown)
{
	return (t->by != MEMORY_THREAD && t->by != MEMORY_CPU) || latency == (unsigned)shown;
}

void memory_tallies_end(struct memory_tallies *c)
{
	enum memop_latency shown = memory_shown_of(c->latencies);
	size_t n = 0;

	vec_each (&c->v, struct memory_tally *, t) {
		if (t->by == MEMORY_CLASS && t->key[0] >> AT_NO_ACCESS & 1)
			c->no_access += t->kind[0] + t->kind[1] + t->kind[2] + t->kind[3];
		for (unsigned l = 0; t->hist && l < MEMOP_LATENCIES; l++)
			if (!keeps(t, l, shown))
				hist_free(&t->hist[l]);
	}
	vec_each (&c->large, const struct memory_large *, x)
		if (keeps(&c->v.v[x->tally], x->latency, shown))
			c->large.v[n++] = *x;
	c->large.n = n;
	vec_sort(&c->large, by_tally);
}

void memory_tallies_free(struct memory_tallies *c)
{
	vec_each (&c->v, struct memory_tally *, t)
		free_hists(t);
	vec_free(&c->v);
	vec_free(&c->large);
	itab_free(&c->at);
	memory_cells_free(&c->cells);
	free(c->waiting);
	free(c->recent);
	free(c->whose);
	free(c->kinds);
	c->waiting = NULL;
	c->recent = NULL;
	c->whose = NULL;
	c->kinds = NULL;
}
