/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The join: tables of all recordings, read cell by cell, by the keys of their rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_join_int.h"

/* ---- reading tables -------------------------------------------------------------------------- */

const struct table *diff_find(const struct diff_run *r, const char *table)
{
	for (size_t i = 0; i < r->n_docs; i++)
		for (size_t k = 0; k < r->doc[i]->table.n; k++)
			if (!strcmp(r->doc[i]->table.v[k].form->name, table))
				return &r->doc[i]->table.v[k];
	return NULL;
}

size_t diff_column(const struct table *t, const char *key)
{
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].key, key) && table_has(t, i, C_PEOPLE))
			return i;
	return SIZE_MAX;
}

struct estimate diff_number(const struct table *t, size_t column, const struct table_row *r)
{
	struct estimate e = ESTIMATE_NONE(NULL);
	struct buf scratch = BUF_INIT;
	struct table_cell x;
	size_t n;

	if (column == SIZE_MAX)
		return e;
	table_cell(&x, t, &table_columns(t, &n)[column], r, &scratch);
	switch (x.kind) {
	case T_AMOUNT:
	case T_REAL:
	case T_SHARE:
	case T_SECONDS:
		e = x.e;
		break;
	case T_SIGNED:
		e.v = (double)x.i;
		break;
	default:
		e.v = x.kind == T_TEXT || x.kind == T_LIST ? NAN : (double)x.n;
	}
	if (!cell_has(&x))
		e.v = NAN;
	buf_free(&scratch);
	return e;
}

const char *diff_text(struct arena *a, const struct table *t, size_t column,
		      const struct table_row *r)
{
	struct buf scratch = BUF_INIT;
	struct table_cell x;
	char *text = NULL;
	size_t n;

	if (column == SIZE_MAX)
		return NULL;
	table_cell(&x, t, &table_columns(t, &n)[column], r, &scratch);
	if (cell_has(&x) && x.kind == T_TEXT && x.text)
		text = arena_xstrdup(a, x.text);
	else if (x.kind == T_LIST)
		for (size_t i = 0; i < x.n_list; i++)
			text = i ? arena_xprintf(a, "%s %s", text ? text : "", x.list[i])
				 : arena_xstrdup(a, x.list[i]);
	buf_free(&scratch);
	return text;
}

/* ---- items by their keys --------------------------------------------------------------------- */

struct diff_item *diff_item_at(struct joining *j, const char *const key[DIFF_KEYS],
			       enum diff_alone alone)
{
	struct diff_item it = { .side = j->side, .alone = alone };
	struct buf b = BUF_INIT;
	size_t known = j->keys.n ? j->keys.n : 1;
	uint32_t id;

	for (int k = 0; k < DIFF_KEYS; k++) {
		it.key[k] = key[k];
		buf_printf(&b, "%zu:%s", key[k] ? strlen(key[k]) + 1 : 0, key[k] ? key[k] : "");
	}
	buf_printf(&b, "%d", (int)alone);
	id = strtab_xadds(&j->keys, buf_str(&b));
	buf_free(&b);
	if (id < known)
		return &j->items->v[j->first + id - 1];
	it.run = arena_xalloc(&j->x->a, j->n_runs * sizeof(*it.run));
	vec_xpush(j->items, it);
	return vec_last(j->items);
}

/* ---- divisors of values ---------------------------------------------------------------------- */

static double joined_seconds_of(const struct diff_run *r)
{
	const struct table *t = diff_find(r, "recording");
	struct table_row row = { 0 };

	return t && table_next(t, &row) ? diff_number(t, diff_column(t, "seconds"), &row).v : NAN;
}

static bool joined_is_clock(const char *event)
{
	return !strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10);
}

/* In the recording that a place of the amounts is for. */
static struct diff_total total_in(const struct joining *j, size_t slot, const char *event)
{
	size_t n_base = j->x->side[0].n;

	return slot < n_base ? diff_total(j->x, 0, slot, event)
			     : diff_total(j->x, j->side, slot - n_base, event);
}

/* Returns the divisor of an event's values, with the samples that it rests on (0: exact). */
static struct diff_total divisor(const struct joining *j, const struct diff_run *r, size_t slot,
				 const char *event)
{
	const char *per = j->x->opts.per;
	struct diff_total one = { .period = joined_is_clock(event) ? 1e9 : 1 }, by;

	if (!per || !strcmp(per, "run"))
		return one;
	if (!strcmp(per, "time"))
		return (struct diff_total){ .period = one.period * joined_seconds_of(r) };
	if (!strcmp(per, "samples")) {
		one.period = total_in(j, slot, event).period;
		return one;
	}
	by = total_in(j, slot, per);
	if (joined_is_clock(per))
		by.period /= 1e9;
	by.period *= one.period;
	if (!strcmp(per, event))
		by.samples = 0;
	return by;
}

/* samples NAN: it was counted, with an error that one run does not show. */
static struct diff_amount amount_per(double period, double samples, struct diff_total by)
{
	struct diff_amount m = { .v = period / by.period, .samples = samples };

	if (by.samples > 0 && samples > 0)
		m.samples = 1 / (1 / samples + 1 / by.samples);
	m.var = m.samples > 0 ? m.v * m.v / m.samples : 0;
	if (!isfinite(m.v))
		m = (struct diff_amount){ .var = NAN };
	else if (isnan(samples))
		m = (struct diff_amount){ .v = m.v, .var = NAN, .counted = true };
	return m;
}

/* ---- totals ---------------------------------------------------------------------------------- */

struct diff_item *diff_join_amount(struct joining *j, const struct diff_run *r, size_t slot,
				   const char *const key[DIFF_KEYS], enum diff_alone alone,
				   double period, double samples)
{
	/* counted on one side and sampled on the other: errors of two kinds */
	enum diff_kind kind = key[0] ? diff_kind(j->x, 0, key[0]) : DIFF_ABSENT;
	struct diff_item *it;

	if (!kind || kind != diff_kind(j->x, j->side, key[0]))
		return NULL;
	it = diff_item_at(j, key, alone);
	it->seconds = joined_is_clock(key[0]);
	it->unit = it->seconds ? "s" : it->key[0];
	it->run[slot] = amount_per(period, samples, divisor(j, r, slot, key[0]));
	it->counts |= isnan(samples);
	return it;
}

static void join_totals_of(struct joining *j, const struct diff_run *r, size_t slot)
{
	const struct table *t = diff_find(r, "events");
	struct table_row row = { 0 };

	while (t && table_next(t, &row)) {
		const char *key[DIFF_KEYS] = { diff_text(&j->x->a, t, diff_column(t, "event"),
							 &row) };
		double period = diff_number(t, diff_column(t, "period"), &row).v;
		double samples = diff_number(t, diff_column(t, "samples"), &row).v;

		diff_join_amount(j, r, slot, key, DIFF_OF_BOTH, period, samples);
	}
}

/* Not of sides that lack something: that is not 0. */
static bool all_have(const struct joining *j,
		     bool (*has)(const struct diff *x, size_t side, size_t run))
{
	for (size_t s = 0; s < j->x->n_sides; s++)
		for (size_t i = 0; (s == 0 || s == j->side) && i < j->x->side[s].n; i++)
			if (!has(j->x, s, i))
				return false;
	return true;
}

static bool has_seconds(const struct diff *x, size_t side, size_t run)
{
	return joined_seconds_of(&x->side[side].run[run]) > 0;
}

static void join_elapsed(struct joining *j, const struct diff_run *r, size_t slot)
{
	static const char *const key[DIFF_KEYS] = { "elapsed" };
	double s = joined_seconds_of(r);
	bool have = j->side ? all_have(j, has_seconds) : !isnan(s);
	struct diff_item *it;

	if (!have)
		return;
	it = diff_item_at(j, key, DIFF_OF_BOTH);
	it->seconds = true;
	it->ratio = true;
	it->unit = "s";
	it->run[slot] = (struct diff_amount){ .v = s, .var = NAN };
}

static bool both_alike(struct diff_total c, struct diff_total i)
{
	return c.counted ? i.counted : c.samples > 0 && i.samples > 0 && !i.counted;
}

static bool has_ipc(const struct diff *x, size_t side, size_t run)
{
	return both_alike(diff_total(x, side, run, "cycles"),
			  diff_total(x, side, run, "instructions"));
}

static void join_ipc(struct joining *j, const struct diff_run *r, size_t slot)
{
	static const char *const key[DIFF_KEYS] = { "IPC" };
	struct diff_total c = total_in(j, slot, "cycles"), i = total_in(j, slot, "instructions");
	struct diff_item *it;

	(void)r;
	if (!both_alike(c, i) || (j->side && !all_have(j, has_ipc)))
		return;
	it = diff_item_at(j, key, DIFF_OF_BOTH);
	it->ratio = true;
	it->unit = "";
	it->run[slot] =
		amount_per(i.period, i.counted ? (double)NAN : 1 / (1 / c.samples + 1 / i.samples),
			   (struct diff_total){ .period = c.period });
	it->counts = i.counted;
}

static void join_totals(struct joining *j, const struct diff_run *r, size_t slot)
{
	join_elapsed(j, r, slot);
	join_totals_of(j, r, slot);
	join_ipc(j, r, slot);
}

/* ---- functions ------------------------------------------------------------------------------- */

double diff_worth(struct estimate share, double samples)
{
	double n;

	if (!(share.half > 0) || !(share.v < 1))
		return samples;
	n = share.v * share.v * (1 - share.v) * Z95 * Z95 / (share.half * share.half);
	return n < samples ? n : samples;
}

bool diff_is_address(const char *dso, const char *function)
{
	size_t n = strlen(dso);

	if (!strncmp(function, dso, n) && function[n] == '+')
		function += n + 1;
	return !strncmp(function, "0x", 2);
}

/* Addresses of files that differ are other code. */
enum diff_alone diff_alone_of(struct joining *j, const char *const key[DIFF_KEYS], size_t slot)
{
	const struct diff *x = j->x;
	uint64_t *known;

	if (!j->side || !key[1] || !key[2] || !diff_is_address(key[1], key[2]))
		return DIFF_OF_BOTH;
	known = u64map_xat(&j->builds, hash_bytes(key[1], strlen(key[1])), NULL);
	if (!*known)
		*known = 1 + (diff_builds(&x->side[0], diff_file_base(x, j->side, key[1]),
					  &x->side[j->side], key[1]) == DIFF_BUILDS_DIFFER);
	if (*known == 1)
		return DIFF_OF_BOTH;
	return slot < x->side[0].n ? DIFF_OF_BASE : DIFF_OF_NEW;
}

void diff_join_file(const struct joining *j, size_t slot, const char *key[DIFF_KEYS])
{
	const char *was = key[1], *now;
	size_t n = was ? strlen(was) : 0;

	if (!j->side || slot >= j->x->side[0].n || !was)
		return;
	now = key[1] = diff_file_new(j->x, j->side, was);
	if (now != was && key[2] && !strncmp(key[2], was, n) && key[2][n] == '+')
		key[2] = arena_xprintf(&j->x->a, "%s%s", now, key[2] + n);
}

static void join_function_rows(struct joining *j, const struct diff_run *r, size_t slot)
{
	const struct table *t = diff_find(r, "rows");
	struct table_row row = { 0 };
	size_t event = t ? diff_column(t, "event") : 0, dso = t ? diff_column(t, "dso") : 0;
	size_t function = t ? diff_column(t, "function") : 0;

	while (t && table_next(t, &row)) {
		const char *key[DIFF_KEYS] = { diff_text(&j->x->a, t, event, &row),
					       diff_text(&j->x->a, t, dso, &row),
					       diff_text(&j->x->a, t, function, &row) };
		double period = diff_number(t, diff_column(t, "period"), &row).v;
		double samples = diff_number(t, diff_column(t, "samples"), &row).v;
		struct estimate share = diff_number(t, diff_column(t, "share"), &row);

		diff_join_file(j, slot, key);
		diff_join_amount(j, r, slot, key, diff_alone_of(j, key, slot), period,
				 diff_worth(share, samples));
	}
}

/* ---- the tree that run saved ----------------------------------------------------------------- */

/* "backend.memory" of the names above it, outermost first. */
static const char *path_of(struct arena *a, const char *const *name, unsigned depth)
{
	const char *path = name[0];

	if (strchr(name[depth], '.'))
		return name[depth];
	for (unsigned i = 1; i <= depth; i++)
		path = arena_xprintf(a, "%s.%s", path, name[i]);
	return path;
}

enum { DEEPEST = 16 };

static void join_tree(struct joining *j, const struct diff_run *r, size_t slot)
{
	const struct table *t = diff_find(r, "tree");
	struct table_row row = { 0 };
	const char *above[DEEPEST] = { 0 };
	double id[DEEPEST] = { 0 };
	unsigned depth = 0;

	while (t && table_next(t, &row)) {
		const char *name = diff_text(&j->x->a, t, diff_column(t, "node"), &row);
		const char *key[DIFF_KEYS] = { diff_text(&j->x->a, t, diff_column(t, "where"),
							 &row) };
		const char *unit = diff_text(&j->x->a, t, diff_column(t, "unit"), &row);
		double parent = diff_number(t, diff_column(t, "parent"), &row).v;
		struct estimate e = diff_number(t, diff_column(t, "value"), &row);
		double whole = diff_number(t, diff_column(t, "slots"), &row).v;
		bool slots = (!unit || !strcmp(unit, "slots")) && whole > 0;
		struct diff_item *it;

		if (!name)
			continue;
		while (depth && id[depth - 1] != parent)
			depth--;
		if (!(parent > 0))
			depth = 0;
		if (depth >= DEEPEST || diff_number(t, diff_column(t, "sum"), &row).v > 0)
			continue;
		above[depth] = name;
		id[depth] = diff_number(t, diff_column(t, "id"), &row).v;
		key[1] = path_of(&j->x->a, above, depth++);
		it = diff_item_at(j, key, DIFF_OF_BOTH);
		it->depth = depth - 1;
		it->unit = slots ? "slots" : unit && *unit ? unit : "slots";
		it->ratio = !slots;
		if (isnan(e.v))
			continue;
		if (!slots)
			whole = 1;
		it->run[slot] = (struct diff_amount){
			.v = e.v * whole,
			.var = e.half * e.half * whole * whole / (Z95 * Z95),
			.whole = slots ? whole : 0,
			.counted = true,
		};
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void join_table(struct diff *x, size_t side, enum diff_table table, join_fn *fn)
{
	const struct diff_side *base = &x->side[0], *new = &x->side[side];
	size_t n_new = side ? new->n : 0; /* a single side is all there is */
	struct joining j = { .x = x,
			     .items = &x->table[table],
			     .keys = STRTAB_INIT,
			     .first = x->table[table].n,
			     .side = side,
			     .n_runs = base->n + n_new };

	for (size_t i = 0; i < base->n; i++)
		fn(&j, &base->run[i], i);
	for (size_t i = 0; i < n_new; i++)
		fn(&j, &new->run[i], base->n + i);
	strtab_free(&j.keys);
	u64map_free(&j.builds);
	u64map_free(&j.first_lines);
}

static int check_per(const struct diff *x, struct err *err)
{
	const char *per = x->opts.per;

	if (!per || !strcmp(per, "run") || !strcmp(per, "samples"))
		return 0;
	for (size_t s = 0; s < x->n_sides; s++)
		for (size_t i = 0; i < x->side[s].n; i++) {
			const struct diff_run *r = &x->side[s].run[i];
			bool time = !strcmp(per, "time");

			if (time ? joined_seconds_of(r) > 0 : diff_total(x, s, i, per).period > 0)
				continue;
			return err_set(err, ERR_NOT_FOUND,
				       time ? "%s: values per second need samples with times"
					    : "%s: no event '%.60s' to divide by",
				       r->input, per);
		}
	return 0;
}

int diff_join(struct diff *x, struct err *err)
{
	if (check_per(x, err))
		return -1;
	for (size_t s = x->n_sides > 1; s < x->n_sides; s++) {
		if (s)
			diff_match_files(x, s);
		join_table(x, s, DIFF_TOTALS, join_totals);
		join_table(x, s, DIFF_TREE, join_tree);
		join_table(x, s, DIFF_ROWS, join_function_rows);
		if (s)
			diff_match(x, s);
		for (int t = DIFF_SUMMED; s && t < DIFF_TABLES; t++)
			join_table(x, s, (enum diff_table)t, diff_join_more[t - DIFF_SUMMED]);
	}
	return 0;
}
