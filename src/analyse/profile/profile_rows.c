/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hits into rows: one per different value of the keys asked for.
 */
#include "analyse/profile/profile_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"
#include "base/vec.h"

/* A row being summed. The values of its keys are those of its first hit's group and site. */
struct group {
	uint32_t who; /* index into grouping.value */
	uint32_t site, image;
	uint8_t kind;
	const struct symbol *symbol;
};

#define RECENT 64u

struct grouping {
	struct profile *p;
	struct group *v;
	size_t n, cap;
	struct itab at;
	struct weight *w; /* [group][event] */
	size_t cap_w;
	uint32_t recent[RECENT]; /* by `who`: its last row, as sites are met in order */
	uint32_t *row_of;	 /* by hit, if there are many events; then w is not used */
	size_t per_group;	 /* weights of a group: 1 with KEY_EVENT, else one per event */
	uint32_t *who;		 /* by profile.group: which values of keys it has */
	VEC(uint64_t) value;	 /* [who][key]; 0 for keys of the site */
	struct itab value_at;	 /* of `who` */
	struct u64map comm;	 /* comm of a hit -> string + 1 */
	enum profile_key key[KEY_COUNT]; /* keys of the site */
	size_t n_site_keys;
	struct weight *no_map, *no_symbol, *nameless, *selected;
};

void profile_tally_add(const struct profile *p, struct tally *t, const struct weight *w)
{
	t->samples += w->samples;
	t->period += w->period;
	if (!pd_info(p->rec)->modelled)
		t->period_sq += (double)w->period_sq;
}

int profile_too_big(struct err *err)
{
	(void)err_set(err, ERR_LIMIT, "too many events times places to hold in memory");
	return err_hint(err, "select one event with -e, or fewer sort keys");
}

static uint32_t comm_string(struct grouping *g, uint64_t comm)
{
	uint64_t *at = u64map_at(&g->comm, comm, NULL);
	char buf[COMM_TEXT];

	if (!at)
		return STR_NONE;
	if (!*at) {
		uint32_t id = strtab_adds(&g->p->strings, pass_comm_text(g->p->sp, comm, buf));

		if (id == STR_NONE)
			return STR_NONE;
		*at = (uint64_t)id + 1;
	}
	return (uint32_t)(*at - 1);
}

static uint32_t cgroup_string(struct grouping *g, uint64_t id)
{
	char buf[CGROUP_TEXT];

	return strtab_adds(&g->p->strings, pass_cgroup_text(g->p->sp, id, buf));
}

static uint64_t number(uint32_t v)
{
	return v == UINT32_MAX ? UINT64_MAX : v;
}

static uint64_t socket_of(const struct pd_info *i, uint32_t cpu)
{
	return cpu < i->n_cpu_place && i->cpu_place[cpu].socket >= 0
		       ? (uint64_t)i->cpu_place[cpu].socket
		       : UINT64_MAX;
}

static bool of_site(enum profile_key key)
{
	return key == KEY_SYM || key == KEY_SRCLINE || key == KEY_INLINE || key == KEY_ADDR;
}

static uint64_t site_value(const struct profile *p, enum profile_key key, uint32_t site)
{
	const struct named_site *pl = &p->place[site];

	switch (key) {
	case KEY_SYM:
		return pl->sym;
	case KEY_SRCLINE:
		return pl->srcline;
	case KEY_INLINE:
		return pl->innermost;
	default:
		return p->sites.v[site].addr;
	}
}

/* Returns the value of a group's key. STR_NONE for a string that there was no memory for. */
static uint64_t group_value(struct grouping *g, enum profile_key key, const struct count_group *c)
{
	const struct pd_event *ev;
	size_t n;

	switch (key) {
	case KEY_COMM:
		return comm_string(g, c->comm);
	case KEY_PID:
		return number(c->pid);
	case KEY_TID:
		return number(c->tid);
	case KEY_CPU:
		return number(c->cpu);
	case KEY_SOCKET:
		return socket_of(pd_info(g->p->rec), c->cpu);
	case KEY_DSO:
		return strtab_adds(&g->p->strings, profile_dso_name(g->p, c->image, c->kind));
	case KEY_EVENT:
		ev = pd_events(g->p->rec, &n);
		return strtab_adds(&g->p->strings, ev[c->event].name);
	case KEY_CGROUP:
		return cgroup_string(g, c->cgroup);
	default:
		return 0;
	}
}

/* Different groups may have the same values: two files of one name, two threads. */
static int find_who(struct grouping *g, size_t i, struct err *err)
{
	const struct profile_opts *o = &g->p->opts;
	uint64_t key[KEY_COUNT] = { 0 }, hash = 0;
	uint32_t idx;

	for (size_t k = 0; k < o->n_keys; k++) {
		if (of_site(o->key[k]))
			continue;
		key[k] = group_value(g, o->key[k], &g->p->group[i]);
		if (key_is_text(o->key[k]) && key[k] == STR_NONE)
			return err_nomem(err);
		hash = hash_pair(hash, key[k]);
	}
	for (size_t at = itab_first(&g->value_at, hash); itab_at(&g->value_at, &at, hash, &idx);) {
		if (memcmp(&g->value.v[idx * KEY_COUNT], key, sizeof(key)) != 0)
			continue;
		g->who[i] = idx;
		return 0;
	}
	if (itab_put(&g->value_at, hash, g->value.n / KEY_COUNT) ||
	    vec_reserve(&g->value, g->value.n + KEY_COUNT))
		return err_nomem(err);
	g->who[i] = (uint32_t)(g->value.n / KEY_COUNT);
	memcpy(g->value.v + g->value.n, key, sizeof(key));
	g->value.n += KEY_COUNT;
	return 0;
}

static struct group *new_group(struct grouping *g, uint64_t hash, uint32_t who, uint32_t site)
{
	const struct profile *p = g->p;
	struct group *o;

	if (vec_reserve(g, g->n + 1) || itab_put(&g->at, hash, g->n))
		return NULL;
	if (!g->row_of && (g->n + 1) * g->per_group > g->cap_w) {
		size_t cap = (g->cap_w ? g->cap_w * 2 : 256) + g->per_group;
		struct weight *w = realloc(g->w, cap * sizeof(*w));

		if (!w)
			return NULL;
		memset(w + g->cap_w, 0, (cap - g->cap_w) * sizeof(*w));
		g->w = w;
		g->cap_w = cap;
	}
	o = &g->v[g->n++];
	*o = (struct group){ .who = who,
			     .site = site,
			     .image = p->sites.v[site].image,
			     .kind = p->sites.v[site].kind,
			     .symbol = p->place[site].symbol };
	return o;
}

static bool same_site_values(const struct grouping *g, uint32_t a, uint32_t b)
{
	for (size_t i = 0; a != b && i < g->n_site_keys; i++)
		if (site_value(g->p, g->key[i], a) != site_value(g->p, g->key[i], b))
			return false;
	return true;
}

static struct group *find_group(struct grouping *g, const struct hit *h, struct err *err)
{
	uint32_t who = g->who[h->group], idx, *recent = &g->recent[who % RECENT];
	uint64_t hash = hash_u64(who);
	struct group *o = *recent < g->n ? &g->v[*recent] : NULL;

	if (o && o->who == who && same_site_values(g, o->site, h->site))
		return o;
	for (size_t i = 0; i < g->n_site_keys; i++)
		hash = hash_u64(hash ^ site_value(g->p, g->key[i], h->site));
	for (size_t i = itab_first(&g->at, hash); itab_at(&g->at, &i, hash, &idx);) {
		o = &g->v[idx];
		if (o->who != who || !same_site_values(g, o->site, h->site))
			continue;
		*recent = idx;
		return o;
	}
	if (!g->row_of && (g->n + 1) * g->per_group > PROFILE_CELLS_MAX) {
		(void)profile_too_big(err);
		return NULL;
	}
	o = new_group(g, hash, who, h->site);
	if (!o)
		(void)err_nomem(err);
	else
		*recent = (uint32_t)g->n - 1;
	return o;
}

static int add_hit(struct grouping *g, const struct hit *h, struct err *err)
{
	const struct site *s = &g->p->sites.v[h->site];
	uint32_t event = g->p->group[h->group].event;
	const struct symbol *symbol = g->p->place[h->site].symbol;
	struct group *o = find_group(g, h, err);
	size_t idx;

	if (!o)
		return -1;
	if (o->image != s->image)
		o->image = IMAGE_NONE;
	if (o->kind != s->kind)
		o->kind = SPACE_UNKNOWN;
	if (o->symbol != symbol)
		o->symbol = NULL;
	idx = (size_t)(o - g->v);
	if (g->row_of)
		g->row_of[h - g->p->hits] = (uint32_t)idx;
	else
		weight_sum(&g->w[idx * g->per_group + (g->per_group > 1 ? event : 0)], &h->w);
	weight_sum(&g->selected[event], &h->w);
	if (s->image == IMAGE_NONE)
		weight_sum(&g->no_map[event], &h->w);
	else if (!symbol)
		weight_sum(&g->no_symbol[event], &h->w);
	else if (symbol->nameless)
		weight_sum(&g->nameless[event], &h->w);
	return 0;
}

static uint64_t row_value(const struct grouping *g, size_t row, size_t k)
{
	const struct group *o = &g->v[row];
	enum profile_key key = g->p->opts.key[k];

	return of_site(key) ? site_value(g->p, key, o->site) : g->value.v[o->who * KEY_COUNT + k];
}

static void fill_row(const struct grouping *g, size_t from, struct profile_row *row)
{
	const struct group *o = &g->v[from];
	struct weight all = { 0, 0, 0 };

	row->key = g->p->row_keys + (size_t)(row - g->p->rows) * g->p->opts.n_keys;
	for (size_t k = 0; k < g->p->opts.n_keys; k++)
		row->key[k] = row_value(g, from, k);
	for (size_t e = 0; !g->row_of && e < g->per_group; e++) {
		profile_tally_add(g->p, &row->tally[e], &g->w[from * g->per_group + e]);
		weight_sum(&all, &g->w[from * g->per_group + e]);
	}
	if (!g->row_of)
		profile_tally_add(g->p, &row->all, &all);
	row->image = o->image;
	row->symbol = o->image == IMAGE_NONE ? NULL : o->symbol;
	row->space = o->kind;
}

#define FILL_ROWS 1024u /* together */

struct filling {
	const struct grouping *g;
	const uint32_t *order;
};

static int fill_rows(void *ctx, unsigned worker, size_t i, struct err *err)
{
	const struct filling *f = ctx;
	const struct grouping *g = f->g;
	size_t end = (i + 1) * FILL_ROWS < g->n ? (i + 1) * FILL_ROWS : g->n;

	(void)worker, (void)err;
	for (size_t k = i * FILL_ROWS; k < end; k++) {
		if (!g->row_of)
			g->p->rows[k].tally = g->p->tallies + k * g->per_group;
		fill_row(g, f->order[k], &g->p->rows[k]);
	}
	return 0;
}

/* Rows have their names: the look-up tables are freed to make room for their cells. */
static void drop_places(struct grouping *g)
{
	if (!g->p->opts.chains) {
		free(g->p->place);
		g->p->place = NULL;
	}
	free(g->v);
	g->v = NULL;
	itab_free(&g->at);
}

/* In an order that is the same whichever worker saw a row first. */
static int finish_rows(struct grouping *g, struct err *err)
{
	struct profile *p = g->p;
	uint64_t *value = malloc((g->n * p->opts.n_keys + 1) * sizeof(*value));
	uint32_t *order = malloc((g->n + 1) * sizeof(*order));
	int ret = -1;

	p->rows = calloc(g->n + 1, sizeof(*p->rows));
	p->row_keys = malloc((g->n * p->opts.n_keys + 1) * sizeof(*p->row_keys));
	if (!g->row_of)
		p->tallies = calloc(g->n * g->per_group + 1, sizeof(*p->tallies));
	if (!p->rows || !p->row_keys || (!g->row_of && !p->tallies) || !value || !order) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t k = 0; k < p->opts.n_keys; k++)
		for (size_t i = 0; i < g->n; i++)
			value[k * g->n + i] = row_value(g, i, k);
	if (order_rows(p, value, g->n, order, err))
		goto out;
	free(value); /* before rows are written: they are as large */
	value = NULL;
	ret = task_for((g->n + FILL_ROWS - 1) / FILL_ROWS, p->opts.threads, fill_rows,
		       &(struct filling){ g, order }, err);
	p->n_rows = g->n;
	if (g->row_of)
		drop_places(g);
	if (!ret && g->row_of)
		ret = make_cells(p, g->row_of, order, g->n, g->per_group, err);
out:
	free(value);
	free(order);
	return ret;
}

/* The rest of the sums is there before there are rows. */
static int finish_sums(struct grouping *g, struct err *err)
{
	struct profile *p = g->p;
	uint64_t rows = 0, hits = 0;

	for (size_t e = 0; e < p->n_events; e++) {
		struct profile_sum *s = &p->sums[e];

		profile_tally_add(p, &s->selected, &g->selected[e]);
		profile_tally_add(p, &s->no_map, &g->no_map[e]);
		profile_tally_add(p, &s->no_symbol, &g->no_symbol[e]);
		profile_tally_add(p, &s->nameless, &g->nameless[e]);
		hits += s->selected.samples;
	}
	for (size_t i = 0; i < p->n_rows; i++)
		rows += p->rows[i].all.samples;
	assert(rows == hits);
	return rows == hits ? 0
			    : err_set(err, ERR_LIMIT,
				      "rows hold %" PRIu64 " of %" PRIu64 " samples", rows, hits);
}

static int add_hits(struct grouping *g, struct err *err)
{
	struct profile *p = g->p;

	g->who = malloc((p->n_groups + 1) * sizeof(*g->who));
	if (!g->who)
		return err_nomem(err);
	if (g->per_group > PROFILE_DENSE) {
		g->row_of = malloc((p->n_hits + 1) * sizeof(*g->row_of));
		if (!g->row_of)
			return err_nomem(err);
	}
	for (size_t i = 0; i < p->opts.n_keys; i++)
		if (of_site(p->opts.key[i]))
			g->key[g->n_site_keys++] = p->opts.key[i];
	for (size_t i = 0; i < p->n_groups; i++)
		if (find_who(g, i, err))
			return -1;
	for (size_t i = 0; i < p->n_hits; i++)
		if (add_hit(g, &p->hits[i], err))
			return -1;
	return 0;
}

int make_rows(struct profile *p, struct err *err)
{
	struct grouping g = { .p = p, .comm = U64MAP_INIT, .per_group = p->n_events };
	size_t n = p->n_events ? p->n_events : 1;
	int ret = -1;

	if (profile_has_key(&p->opts, KEY_EVENT))
		g.per_group = 1;
	if (!g.per_group)
		g.per_group = 1;
	g.no_map = calloc(n * 4, sizeof(*g.no_map));
	if (!g.no_map) {
		(void)err_nomem(err);
		goto out;
	}
	g.no_symbol = g.no_map + n;
	g.nameless = g.no_symbol + n;
	g.selected = g.nameless + n;
	if (add_hits(&g, err))
		goto out;
	if (!g.row_of && !p->of && !p->opts.also) { /* rows take their room */
		free(p->hits);
		p->hits = NULL;
	}
	ret = finish_rows(&g, err);
	if (!ret)
		ret = finish_sums(&g, err);
out:
	free(g.v);
	free(g.w);
	free(g.no_map);
	free(g.who);
	free(g.row_of);
	vec_free(&g.value);
	itab_free(&g.at);
	itab_free(&g.value_at);
	u64map_free(&g.comm);
	return ret;
}
