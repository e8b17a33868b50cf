/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branches by source and target.
 *
 * A worker counts each pair of addresses by party: process, event and keys of rows. The places of a
 * pair are looked up when it is first met, and again if they do not hold any more. A branch weighs
 * 1, whatever its sample weighs, as in perf: taken branches are counted, as far as stacks of them
 * were recorded.
 */
#include "analyse/profile/profile_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define AHEAD 16u

struct party {
	uint64_t comm;
	uint32_t proc_index, pid, tid, cpu, event;
};

struct pair {
	uint64_t from, to;
	uint64_t since, until; /* when the sites are these */
	uint32_t party, from_site, to_site;
	uint64_t n, mispredicted, predicted, in_tx, aborts, cycles, timed;
};

struct branch_counts {
	struct worker *w;
	VEC(struct pair) pair;
	struct itab at;
	VEC(struct party) party;
	struct itab party_at;
	uint32_t last;		     /* party */
	uint64_t *stacks, *no_stack; /* by event */
};

struct branch_counts *branches_new(struct worker *w, struct err *err)
{
	struct branch_counts *b = calloc(1, sizeof(*b));
	size_t n = w->scan->n_events + 1;

	if (!b) {
		(void)err_nomem(err);
		return NULL;
	}
	b->w = w;
	b->stacks = calloc(n, sizeof(*b->stacks));
	b->no_stack = calloc(n, sizeof(*b->no_stack));
	if (!b->stacks || !b->no_stack) {
		(void)err_nomem(err);
		branches_free(b);
		return NULL;
	}
	return b;
}

void branches_free(struct branch_counts *b)
{
	if (!b)
		return;
	vec_free(&b->pair);
	vec_free(&b->party);
	itab_free(&b->at);
	itab_free(&b->party_at);
	free(b->stacks);
	free(b->no_stack);
	free(b);
}

static bool same_party(const struct party *a, const struct party *b)
{
	return a->comm == b->comm && a->proc_index == b->proc_index && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu && a->event == b->event;
}

static uint32_t find_party(struct branch_counts *b, const struct scan_sample *s)
{
	const struct scan *sc = b->w->scan;
	struct party p = { .comm = sc->by_comm ? s->who->comm : 0,
			   .proc_index = s->who->proc_index,
			   .pid = sc->by_pid ? task_pid(s->task) : 0,
			   .tid = sc->by_tid ? task_tid(s->task) : 0,
			   .cpu = sc->by_cpu ? s->cpu : 0,
			   .event = s->event };
	uint64_t h;
	uint32_t idx;

	if (b->party.n && same_party(&b->party.v[b->last], &p))
		return b->last;
	h = hash_pair(p.comm ^ (uint64_t)p.event << 48 ^ (uint64_t)p.cpu << 36,
		      (uint64_t)p.proc_index << 32 ^ (uint64_t)p.pid << 16 ^ p.tid);
	for (size_t i = itab_first(&b->party_at, h); itab_at(&b->party_at, &i, h, &idx);)
		if (same_party(&b->party.v[idx], &p))
			return b->last = idx;
	if (vec_reserve(&b->party, b->party.n + 1) || itab_put(&b->party_at, h, b->party.n))
		return ITAB_NONE;
	b->last = (uint32_t)b->party.n;
	b->party.v[b->party.n++] = p;
	return b->last;
}

/* An entry does not contain its address space: the process' own is tried first, as perf does, since
 * old kernels' mappings of themselves begin at 0. */
static uint32_t place(struct branch_counts *b, const struct scan_sample *s, uint64_t ip,
		      struct pair *p)
{
	static const uint8_t kind[] = { SPACE_USER, SPACE_KERNEL };
	struct site at = { .image = IMAGE_NONE };

	for (size_t i = 0; i < sizeof(kind) && at.image == IMAGE_NONE; i++)
		at = scan_place(b->w, s->who, kind[i], ip, false, s->time, &p->since, &p->until);
	if (at.image == IMAGE_NONE)
		at.kind = SPACE_UNKNOWN;
	return site_add(&b->w->sites, &at, site_hash(&at));
}

/* Finds the places of both ends of `p` at the sample's time. */
static int place_ends(struct branch_counts *b, const struct scan_sample *s, struct pair *p)
{
	p->since = s->who->from;
	p->until = s->who->until;
	p->from_site = place(b, s, p->from, p);
	p->to_site = place(b, s, p->to, p);
	return p->from_site == ITAB_NONE || p->to_site == ITAB_NONE ? -1 : 0;
}

/* Returns the pair under a key that does not lead to it, or no longer; `old` and i are those that
 * it leads to. */
static struct pair *pair_anew(struct branch_counts *b, const struct scan_sample *s,
			      const struct pair *key, uint64_t h, struct pair *old, size_t i)
{
	struct pair p = *key;

	if (place_ends(b, s, &p))
		return NULL;
	if (old && old->from_site == p.from_site && old->to_site == p.to_site) {
		old->since = p.since;
		old->until = p.until;
		return old;
	}
	if (b->pair.n >= ITAB_NONE - 1 || vec_reserve(&b->pair, b->pair.n + 1))
		return NULL;
	if (old)
		itab_replace(&b->at, i, b->pair.n);
	else if (itab_put(&b->at, h, b->pair.n))
		return NULL;
	b->pair.v[b->pair.n] = p;
	return &b->pair.v[b->pair.n++];
}

static uint64_t pair_hash(uint32_t party, uint64_t from, uint64_t to)
{
	uint64_t h = (from ^ (to + party) * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return h ^ (h >> 32 | h << 32);
}

static struct pair *find_pair(struct branch_counts *b, const struct scan_sample *s, uint32_t party,
			      uint64_t h, uint64_t from, uint64_t to)
{
	struct pair key = { .from = from, .to = to, .party = party };
	uint32_t idx;

	for (size_t i = itab_first(&b->at, h); itab_at(&b->at, &i, h, &idx);) {
		struct pair *p = &b->pair.v[idx];

		if (p->from != from || p->to != to || p->party != party)
			continue;
		if (s->time >= p->since && s->time < p->until)
			return p;
		return pair_anew(b, s, &key, h, p, i);
	}
	return pair_anew(b, s, &key, h, NULL, 0);
}

/* At most AHEAD entries, whose rows in the tables are prefetched. */
static int count_some(struct branch_counts *b, const struct scan_sample *s, uint32_t party,
		      const uint8_t *entry, size_t n)
{
	struct pd_branch e[AHEAD];
	uint64_t hash[AHEAD];
	uint32_t idx;

	for (size_t k = 0; k < n; k++) {
		e[k] = pd_branch_decode(entry + k * PD_BRANCH_SIZE);
		hash[k] = pair_hash(party, e[k].from, e[k].to);
		itab_ahead(&b->at, hash[k]);
	}
	for (size_t k = 0; k < n; k++) {
		size_t i = itab_first(&b->at, hash[k]);

		if (!itab_at(&b->at, &i, hash[k], &idx))
			continue;
		__builtin_prefetch(&b->pair.v[idx].from, 1);
		__builtin_prefetch(&b->pair.v[idx].timed, 1);
	}
	for (size_t k = 0; k < n; k++) {
		struct pair *p = find_pair(b, s, party, hash[k], e[k].from, e[k].to);

		if (!p)
			return -1;
		p->n++;
		p->mispredicted += e[k].mispred;
		p->predicted += e[k].predicted;
		p->in_tx += e[k].in_tx;
		p->aborts += e[k].abort;
		p->cycles += e[k].cycles;
		p->timed += e[k].cycles > 0;
	}
	return 0;
}

int branches_sample(struct branch_counts *b, const struct scan_sample *s, struct err *err)
{
	const struct scan *sc = b->w->scan;
	size_t n_events;
	/* the record's event, not that of the member it is counted for */
	const struct pd_event *ev = &pd_events(sc->rec, &n_events)[s->ev - sc->ev];
	struct pd_branches stack;
	uint32_t party;

	if (!pd_branches_find(ev, s->r, &stack)) {
		if (ev->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			b->w->bad[s->event]++;
		else
			b->no_stack[s->event]++;
		return 0;
	}
	if (!stack.n) {
		b->no_stack[s->event]++;
		return 0;
	}
	b->stacks[s->event]++;
	party = find_party(b, s);
	if (party == ITAB_NONE)
		return err_nomem(err);
	for (uint64_t i = 0; i < stack.n; i += AHEAD) {
		size_t n = stack.n - i < AHEAD ? (size_t)(stack.n - i) : AHEAD;

		if (count_some(b, s, party, stack.entry + i * PD_BRANCH_SIZE, n))
			return err_nomem(err);
	}
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

struct group {
	uint64_t key[KEY_COUNT];
	uint32_t site;
	const struct symbol *symbol;
	uint32_t image;
	uint8_t kind;
};

struct grouping {
	struct profile *p;
	const struct scan *sc;
	VEC(struct group) group;
	struct itab at;
	struct {
		uint64_t n;
		struct branch_tally t;
	} * cell; /* [group][event] */
	size_t cap_cell;
};

static uint64_t number(uint32_t v)
{
	return v == UINT32_MAX ? UINT64_MAX : v;
}

static uint64_t key_value(const struct profile *p, enum profile_key key, const struct party *who,
			  uint64_t comm, uint32_t from, uint32_t to)
{
	switch (key) {
	case KEY_COMM:
		return comm;
	case KEY_PID:
		return number(who->pid);
	case KEY_TID:
		return number(who->tid);
	case KEY_CPU:
		return number(who->cpu);
	case KEY_DSO_FROM:
		return p->place[from].dso;
	case KEY_SYM_FROM:
		return p->place[from].name;
	case KEY_ADDR_FROM:
		return p->sites.v[from].addr;
	case KEY_DSO_TO:
		return p->place[to].dso;
	case KEY_SYM_TO:
		return p->place[to].name;
	case KEY_ADDR_TO:
		return p->sites.v[to].addr;
	default: /* keys of samples' places: refused before */
		return 0;
	}
}

static int new_group(struct grouping *g, const uint64_t *key, uint64_t hash, uint32_t site)
{
	const struct profile *p = g->p;
	size_t n = g->group.n, want = (n + 1) * g->sc->n_events;

	if (want > PROFILE_CELLS_MAX || vec_reserve(&g->group, n + 1) || itab_put(&g->at, hash, n))
		return -1;
	if (want > g->cap_cell) {
		size_t cap = want * 2;
		void *v = realloc(g->cell, cap * sizeof(*g->cell));

		if (!v)
			return -1;
		g->cell = v;
		memset(g->cell + g->cap_cell, 0, (cap - g->cap_cell) * sizeof(*g->cell));
		g->cap_cell = cap;
	}
	memcpy(g->group.v[n].key, key, sizeof(g->group.v[n].key));
	g->group.v[n].site = site;
	g->group.v[n].image = p->sites.v[site].image;
	g->group.v[n].kind = p->sites.v[site].kind;
	g->group.v[n].symbol = p->place[site].symbol;
	g->group.n++;
	return 0;
}

static struct group *find_group(struct grouping *g, const uint64_t *key, uint32_t site)
{
	uint64_t hash = 0;
	uint32_t idx;

	for (size_t i = 0; i < g->p->opts.n_keys; i++)
		hash = hash_pair(hash, key[i]);
	for (size_t i = itab_first(&g->at, hash); itab_at(&g->at, &i, hash, &idx);)
		if (!memcmp(g->group.v[idx].key, key, sizeof(g->group.v[idx].key)))
			return &g->group.v[idx];
	return new_group(g, key, hash, site) ? NULL : &g->group.v[g->group.n - 1];
}

static void add_sum(struct tally *t, uint64_t n)
{
	t->samples += n;
	t->period += n;
	t->period_sq += (double)n;
}

static int add_pair(struct grouping *g, const struct pair *pr, const struct party *who,
		    uint64_t comm, const uint32_t *site_map, struct err *err)
{
	struct profile *p = g->p;
	uint32_t from = site_map[pr->from_site], to = site_map[pr->to_site];
	const struct site *s = &p->sites.v[from];
	struct profile_sum *sum = &p->sums[who->event];
	uint64_t key[KEY_COUNT] = { 0 };
	struct group *o;
	size_t cell;

	for (size_t i = 0; i < p->opts.n_keys; i++)
		key[i] = key_value(p, p->opts.key[i], who, comm, from, to);
	o = find_group(g, key, from);
	if (!o)
		return (g->group.n + 1) * g->sc->n_events > PROFILE_CELLS_MAX ? profile_too_big(err)
									      : err_nomem(err);
	if (o->image != s->image)
		o->image = IMAGE_NONE;
	if (o->kind != s->kind)
		o->kind = SPACE_UNKNOWN;
	if (o->symbol != p->place[from].symbol)
		o->symbol = NULL;
	cell = (size_t)(o - g->group.v) * g->sc->n_events + who->event;
	g->cell[cell].n += pr->n;
	g->cell[cell].t.mispredicted += pr->mispredicted;
	g->cell[cell].t.predicted += pr->predicted;
	g->cell[cell].t.in_tx += pr->in_tx;
	g->cell[cell].t.aborts += pr->aborts;
	g->cell[cell].t.cycles += pr->cycles;
	g->cell[cell].t.timed += pr->timed;
	add_sum(&sum->selected, pr->n);
	if (s->image == IMAGE_NONE || p->sites.v[to].image == IMAGE_NONE)
		add_sum(&sum->no_map, pr->n);
	else if (!p->place[from].symbol || !p->place[to].symbol)
		add_sum(&sum->no_symbol, pr->n);
	else if (p->place[from].symbol->nameless || p->place[to].symbol->nameless)
		add_sum(&sum->nameless, pr->n);
	return 0;
}

static int add_worker(struct grouping *g, unsigned worker, struct err *err)
{
	const struct worker *w = &g->sc->worker[worker];
	const struct branch_counts *b = w->branches;
	uint32_t *comm = malloc((b->party.n + 1) * sizeof(*comm));
	int ret = comm ? 0 : err_nomem(err);

	for (size_t i = 0; !ret && i < b->party.n; i++) {
		char buf[COMM_TEXT];

		comm[i] = strtab_adds(&g->p->strings,
				      pass_comm_text(g->p->sp, b->party.v[i].comm, buf));
		if (comm[i] == STR_NONE)
			ret = err_nomem(err);
	}
	for (size_t i = 0; !ret && i < b->pair.n; i++) {
		const struct pair *p = &b->pair.v[i];

		ret = add_pair(g, p, &b->party.v[p->party], comm[p->party], g->p->site_map[worker],
			       err);
	}
	free(comm);
	for (size_t e = 0; e < g->sc->n_events; e++) {
		g->p->sums[e].stacks += b->stacks[e];
		g->p->sums[e].no_stack += b->no_stack[e];
	}
	return ret;
}

static void fill_row(const struct grouping *g, size_t from, size_t to)
{
	struct profile *p = g->p;
	const struct group *o = &g->group.v[from];
	struct profile_row *row = &p->rows[to];
	size_t per = g->sc->n_events;

	row->key = p->row_keys + to * p->opts.n_keys;
	memcpy(row->key, o->key, p->opts.n_keys * sizeof(*row->key));
	row->tally = p->tallies + to * per;
	row->branch = p->branch_tallies + to * per;
	for (size_t e = 0; e < per; e++) {
		add_sum(&row->tally[e], g->cell[from * per + e].n);
		add_sum(&row->all, g->cell[from * per + e].n);
		p->branch_tallies[to * per + e] = g->cell[from * per + e].t;
	}
	row->image = o->image;
	row->symbol = o->image == IMAGE_NONE ? NULL : o->symbol;
	row->space = o->kind;
}

static int finish_rows(struct grouping *g, struct err *err)
{
	struct profile *p = g->p;
	size_t n = g->group.n, n_keys = p->opts.n_keys;
	uint64_t *value = malloc((n * n_keys + 1) * sizeof(*value));
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	int ret = -1;

	p->rows = calloc(n + 1, sizeof(*p->rows));
	p->row_keys = malloc((n * n_keys + 1) * sizeof(*p->row_keys));
	p->tallies = calloc(n * g->sc->n_events + 1, sizeof(*p->tallies));
	p->branch_tallies = calloc(n * g->sc->n_events + 1, sizeof(*p->branch_tallies));
	if (!p->rows || !p->row_keys || !p->tallies || !p->branch_tallies || !value || !order) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t k = 0; k < n_keys; k++)
		for (size_t i = 0; i < n; i++)
			value[k * n + i] = g->group.v[i].key[k];
	if (order_rows(p, value, n, order, err))
		goto out;
	for (size_t i = 0; i < n; i++)
		fill_row(g, order[i], i);
	p->n_rows = n;
	ret = 0;
out:
	free(value);
	free(order);
	return ret;
}

int make_branch_rows(struct profile *p, const struct scan *sc, struct err *err)
{
	struct grouping g = { .p = p, .sc = sc };
	int ret = 0;

	for (unsigned i = 0; !ret && i < sc->n_workers; i++)
		ret = add_worker(&g, i, err);
	if (!ret)
		ret = finish_rows(&g, err);
	vec_free(&g.group);
	itab_free(&g.at);
	free(g.cell);
	return ret;
}
