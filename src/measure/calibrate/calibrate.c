/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which costs are measured, in which order, with how much memory.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "collect/machine.h"
#include "collect/sysfs.h"
#include "measure/bench.h"
#include "measure/calibrate/calibrate_int.h"

#define LINE	   64u
#define PAGE	   4096u
#define TLB_HOLDS  (256u << 10) /* bytes in pages of 4 KiB that the first TLB of today reaches */
#define PAGES	   CALIBRATE_TLB_MOST
#define MOST	   (UINT64_C(4) << 30)
#define MOST_QUICK (UINT64_C(64) << 20)

const struct calibrate_measure calibrate_measures[] = {
#define MEASURE(key, unit, kernel, at, minus, minus_at, per, means) \
	{ key, CALIBRATE_##unit, kernel, at, minus, minus_at, per, means },
#include "measure/calibrate/measures.def"
#undef MEASURE
};
const size_t n_calibrate_measures = sizeof(calibrate_measures) / sizeof(*calibrate_measures);

/* ---- sizes ----------------------------------------------------------------------------------- */

/* "48K" */
static uint64_t size_of(const char *s)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9' && v < UINT64_C(1) << 50; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return *s == 'K' ? v << 10 : *s == 'M' ? v << 20 : v;
}

void calibrate_sizes_of(struct calibrate_sizes *out, const struct machine *m, unsigned cpu,
			const char *root, bool quick)
{
	uint64_t most = calibrate_room(root) / 4;

	*out = (struct calibrate_sizes){ .most = most < MOST ? most : MOST };
	if (quick && out->most > MOST_QUICK)
		out->most = MOST_QUICK;
	for (size_t i = 0; i < m->n_caches; i++) {
		const struct machine_cache *c = &m->cache[i];
		struct arena a = ARENA_INIT;
		const uint32_t *list;
		size_t n;
		bool ours = !cpu_list_parse(&a, c->cpus, strlen(c->cpus), &list, &n) &&
			    cpu_list_has(list, n, cpu);

		arena_free(&a);
		if (!ours || !c->size)
			continue;
		if (c->level == 1 && !strcmp(c->type, "Instruction"))
			out->l1i = size_of(c->size);
		else if (c->level >= 1 && c->level <= 3)
			*(c->level == 1	  ? &out->l1
			  : c->level == 2 ? &out->l2
					  : &out->l3) = size_of(c->size);
	}
}

static uint64_t refuse(const char **why, const char *text)
{
	*why = text;
	return 0;
}

uint64_t calibrate_bytes(const struct calibrate_sizes *s, enum calibrate_at at, const char **why)
{
	uint64_t last = s->l3 ? s->l3 : s->l2, x;

	switch (at) {
	case AT_ANY:
		return 0;
	case AT_L1:
		return s->l1 ? s->l1 / 2 : 16384;
	case AT_L1I:
		return s->l1i ? s->l1i / 2 : 16384;
	case AT_L2:
	case AT_L2_NEAR:
		x = s->l2 / 2;
		if (at == AT_L2_NEAR && 4 * s->l1 < x)
			x = 4 * s->l1;
		return s->l2 >= 4 * s->l1 && s->l1 ? x : refuse(why, "sysfs has no L2 of this CPU");
	case AT_L3:
		x = s->l3 / 2 < 4 * s->l2 ? s->l3 / 2 : 4 * s->l2;
		if (x > s->most)
			return refuse(why, "it takes more than a quarter of the memory that is "
					   "free or allowed");
		return x > s->l2 && s->l2 ? x
					  : refuse(why, "sysfs has no L3 of this CPU, or it is "
							"not larger than L2");
	case AT_MEMORY:
		if (!last)
			return refuse(why, "sysfs has no caches of this CPU");
		if (2 * last > s->most)
			return refuse(why, "twice the last cache is more than a quarter of the "
					   "memory (with --quick: than 64 MiB)");
		return 4 * last < s->most ? 4 * last : 2 * last;
	case AT_WALKS: /* the more, the fewer a TLB can keep */
	case AT_PAGES:
		x = (uint64_t)PAGES * PAGE;
		if (at == AT_WALKS)
			x *= 16 * x <= s->most ? 16 : (uint64_t)KERNEL_TIMES;
		return x <= s->most ? x
				    : refuse(why, "it takes more than a quarter of the memory that "
						  "is free or allowed");
	default:
		return (uint64_t)PAGES * LINE;
	}
}

/* ---- one measure ----------------------------------------------------------------------------- */

static bool set_up(struct kernel_setup *out, const struct kernel *k, enum calibrate_at at,
		   const struct calibrate_sizes *s, const char **why)
{
	*out = (struct kernel_setup){ .huge = at == AT_L2 || at == AT_L2_NEAR || at == AT_L3 ||
					      at == AT_MEMORY };
	*why = NULL;
	out->bytes = calibrate_bytes(s, at, why);
	if (k->unit && out->bytes) { /* code: its lines */
		out->units = (unsigned)(out->bytes / LINE);
		out->huge = false;
	}
	if (!strcmp(k->name, "copy") || !strcmp(k->name, "triad"))
		out->bytes /= 4; /* each of up to three, and powers of two */
	return !*why;
}

/* Things that an iteration does. */
static double things(const struct kernel *k, const struct kernel_setup *s, unsigned per)
{
	unsigned units = s->units ? s->units : k->usual.units;

	if (per == PER_ITERATION)
		return 1;
	if (per == PER_UNIT)
		return units;
	if (per == PER_BYTE)
		return kernel_count(k, Q_LOAD_BYTES, units) + kernel_count(k, Q_STORE_BYTES, units);
	return kernel_count(k, (enum kernel_quantity)per, units);
}

static bool job_of(struct job *j, const struct calibrate_measure *m,
		   const struct calibrate_sizes *s, const char **why)
{
	*j = (struct job){ .kernel = { kernel_find(m->kernel),
				       m->minus ? kernel_find(m->minus) : NULL },
			   .unit = m->unit,
			   .own = m->per == PER_UNIT };
	for (unsigned i = 0; i < 2 && j->kernel[i]; i++) {
		if (!set_up(&j->setup[i], j->kernel[i], i ? m->minus_at : m->at, s, why))
			return false;
		j->per[i] = things(j->kernel[i], &j->setup[i], m->per);
	}
	if (m->per == PER_BYTE)
		j->bytes = j->per[0];
	else if (m->minus && m->per < QUANTITIES)
		j->per[0] -= j->per[1]; /* surplus of the first */
	return true;
}

static int settle_row(struct calibrating *g, const struct calibrate_sampled *s,
		      struct calibrated *out)
{
	const struct kernel_setup *setup = &s->j->setup[0];
	struct figure f;

	if (calibrate_settle(g, s, &f))
		return -1;
	out->e = f.e;
	if (s->j->kernel[1] &&
	    calibrate_doubt(g->a, &out->e, s->j->unit == CALIBRATE_NS ? "ns" : "cycles",
			    &out->doubt, g->err))
		return -1;
	out->bytes = setup->bytes;
	out->huge = f.huge;
	out->small = setup->huge && !f.huge && setup->bytes > TLB_HOLDS;
	out->repeats = f.repeats;
	out->dropped = f.dropped;
	g->c->repeats += f.repeats;
	g->c->dropped += f.dropped;
	return 0;
}

/* ---- the curve ------------------------------------------------------------------------------- */

static struct job job_of_point(uint64_t bytes)
{
	return (struct job){ .kernel = { kernel_find("walk") },
			     .setup = { { .bytes = bytes, .huge = true } },
			     .per = { 1 },
			     .unit = CALIBRATE_NS };
}

static int settle_point(struct calibrating *g, const struct calibrate_sampled *s,
			struct calibrate_point *out)
{
	uint64_t bytes = s->j->setup[0].bytes;
	struct figure f;

	if (calibrate_settle(g, s, &f))
		return -1;
	*out = (struct calibrate_point){
		.bytes = bytes,
		.ns = f.e,
		.cycles = f.cycles,
		.huge = f.huge,
		.small = !f.huge && bytes > TLB_HOLDS,
	};
	return 0;
}

/* From 4 KiB to twice the last cache, in steps of a half power of two; quick: of four. */
static size_t curve_sizes(const struct calibrate_opts *o, uint64_t *out, size_t room)
{
	uint64_t last = o->sizes.l3 ? o->sizes.l3 : o->sizes.l2 ? o->sizes.l2 : 4u << 20;
	uint64_t most = 2 * last < o->sizes.most ? 2 * last : o->sizes.most;
	size_t n = 0;

	if (o->quick && most > 16u << 20)
		most = 16u << 20;
	for (uint64_t x = 4096; x <= most && n + 2 <= room; x *= o->quick ? 4 : 2) {
		out[n++] = x;
		if (!o->quick && x / 2 * 3 <= most)
			out[n++] = x / 2 * 3;
	}
	return n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

bool calibrate_wanted(const struct calibrate_opts *o, const char *key)
{
	for (size_t i = 0; i < o->n_only; i++)
		if (strpbrk(o->only[i], "*?[") ? text_glob(o->only[i], key)
					       : !strcmp(o->only[i], key))
			return true;
	return !o->n_only;
}

bool calibrate_step(struct calibrating *g)
{
	g->done++;
	if (g->o->news && !g->o->news(g->o->news_ctx, (double)g->done / (double)g->steps))
		g->c->stopped = true;
	return !g->c->stopped;
}

/* The frequency, and how long the chain has to be for the other repeats. */
static int find_clock(struct calibrating *g)
{
	static const struct kernel_setup usual;
	struct calibrate_opened o;
	double v[CALIBRATE_REPEATS], least = 0, middle;
	size_t n = 0;

	if (g->b->open(g->b->ctx, 2, kernel_find("add"), &usual, &o, g->err))
		return -1;
	g->clock_n = 64;
	while (g->clock_n < UINT64_C(1) << 40 && g->b->run(g->b->ctx, 2, g->clock_n).wall < 50e-6)
		g->clock_n *= 2;
	for (unsigned i = 0; i < 4 * CALIBRATE_REPEATS && n < CALIBRATE_REPEATS; i++) {
		struct calibrate_time t = g->b->run(g->b->ctx, 2, g->clock_n);

		g->wall += t.wall;
		if (!calibrate_interrupted(&t) && t.wall > 0)
			v[n++] = 16.0 * (double)g->clock_n / t.wall;
	}
	if (n) /* a clock that changes has a bar from the slow to the fast */
		least = (calibrate_quantile(v, n, 0.9) - calibrate_quantile(v, n, 0.1)) / 2;
	if (calibrate_estimate(g, v, n, least, &g->c->hz))
		return -1;
	if (!isnan(g->c->hz.v)) { /* the chain, too, can only be slowed down */
		middle = g->c->hz.v;
		g->c->hz.v = calibrate_quantile(v, n, 0.9);
		g->c->hz.half += g->c->hz.v - middle;
	}
	g->c->hz.half += calibrate_stolen(g) * g->c->hz.v;
	return 0;
}

/* Rows and points, each with its figure on the way. A row that was refused has none. */
struct plan {
	struct job *job;
	struct calibrate_sampled *s;
	size_t n;
};

static int plan_measures(struct calibrating *g, struct plan *p, const uint64_t *size,
			 size_t n_sizes)
{
	const char *why;

	p->n = 0;
	p->job = arena_alloc(g->a, (n_calibrate_measures + n_sizes + 1) * sizeof(*p->job));
	p->s = arena_alloc(g->a, (n_calibrate_measures + n_sizes + 1) * sizeof(*p->s));
	if (!p->job || !p->s)
		return err_nomem(g->err);
	for (size_t i = 0; i < n_calibrate_measures; i++)
		if (calibrate_wanted(g->o, calibrate_measures[i].key)) {
			struct calibrated *row = &g->c->row[g->c->n_rows++];

			*row = (struct calibrated){ .m = &calibrate_measures[i] };
			why = NULL;
			if (!job_of(&p->job[p->n], row->m, &g->o->sizes, &why))
				row->e = ESTIMATE_NONE(why);
			else
				p->n++;
		}
	for (size_t i = 0; i < n_sizes; i++)
		p->job[p->n++] = job_of_point(size[i]);
	g->steps = 1;
	for (size_t i = 0; i < p->n; i++) {
		calibrate_begin(g, &p->s[i], &p->job[i]);
		g->steps += p->s[i].rounds;
	}
	return 0;
}

static int rounds(struct calibrating *g, const struct plan *p)
{
	for (unsigned round = 0; round < CALIBRATE_ROUNDS; round++)
		for (size_t i = 0; i < p->n; i++) {
			if (p->s[i].done == p->s[i].rounds)
				continue;
			if (calibrate_round(g, &p->s[i]))
				return -1;
			if (!calibrate_step(g))
				return 0;
		}
	return 0;
}

/* Measures that were stopped before they began are left out. */
static int settle_measures(struct calibrating *g, const struct plan *p)
{
	struct calibrate *c = g->c;
	size_t rows = c->n_rows, at = 0;

	c->n_rows = 0;
	for (size_t i = 0; i < rows; i++) {
		struct calibrated row = c->row[i];

		if (!row.e.why) {
			const struct calibrate_sampled *s = &p->s[at++];

			if (!s->done)
				continue;
			if (settle_row(g, s, &row))
				return -1;
		}
		c->row[c->n_rows++] = row;
	}
	for (; at < p->n; at++)
		if (p->s[at].done && settle_point(g, &p->s[at], &c->point[c->n_points++]))
			return -1;
	return 0;
}

static int run_all(struct calibrating *g, const uint64_t *size, size_t n_sizes)
{
	struct plan p;

	if (find_clock(g) || plan_measures(g, &p, size, n_sizes) || rounds(g, &p) ||
	    settle_measures(g, &p))
		return -1;
	if (g->c->stopped)
		return 0;
	if (calibrate_wanted(g->o, "nodes") && calibrate_nodes(g))
		return -1;
	return calibrate_wanted(g->o, "transfers") && !g->c->stopped ? calibrate_pairs(g) : 0;
}

int calibrate_run(struct calibrate *out, struct arena *a, const struct calibrate_opts *o,
		  const struct calibrate_bench *b, struct err *err)
{
	struct calibrating g = { .c = out, .a = a, .o = o, .b = b, .err = err, .random = 1 };
	uint64_t size[128];
	size_t n_sizes = calibrate_wanted(o, "latency") ? curve_sizes(o, size, 128) : 0;
	bool any = n_sizes > 0;
	int rc;

	*out = (struct calibrate){ .cpu = o->cpu, .sizes = o->sizes, .stolen = NAN };
	for (size_t i = 0; i < n_calibrate_measures; i++)
		any |= calibrate_wanted(o, calibrate_measures[i].key);
	if (!any && !calibrate_wanted(o, "transfers") && !calibrate_wanted(o, "nodes")) {
		(void)err_set(err, ERR_NOT_FOUND, "there is no measure '%.60s'", o->only[0]);
		return err_hint(err, "cyclade calibrate --quick shows all names");
	}
	out->row = arena_alloc(a, n_calibrate_measures * sizeof(*out->row));
	out->point = arena_alloc(a, (n_sizes + 1) * sizeof(*out->point));
	if (!out->row || !out->point)
		return err_nomem(err);
	g.began = b->stolen(b->ctx);
	rc = run_all(&g, size, n_sizes);
	b->close(b->ctx, 2);
	if (!isnan(b->stolen(b->ctx)))
		out->stolen = calibrate_stolen(&g);
	return rc;
}

int calibrate_join(struct calibrate *c, const char *prefetchers, const struct calibrate *more,
		   struct arena *a, struct err *err)
{
	static const struct calibrate none;
	const struct bench_rows rows = { c->row, c->n_rows, sizeof(*c->row),
					 offsetof(struct calibrated, prefetchers) };
	const struct bench_rows points = { c->point, c->n_points, sizeof(*c->point),
					   offsetof(struct calibrate_point, prefetchers) };

	more = more ? more : &none;
	c->row = bench_join(a, &rows, prefetchers, more->row, more->n_rows);
	c->point = bench_join(a, &points, prefetchers, more->point, more->n_points);
	if (!c->row || !c->point)
		return err_nomem(err);
	c->n_rows += more->n_rows;
	c->n_points += more->n_points;
	c->repeats += more->repeats;
	c->dropped += more->dropped;
	c->stopped |= more->stopped;
	return 0;
}
