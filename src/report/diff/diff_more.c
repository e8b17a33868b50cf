/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables that are joined if their documents are there: source lines, basic blocks, memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "report/diff/diff_join_int.h"
#include "symbol/image.h"
#include "symbol/source.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns a table that has this column: documents of other results have tables of the same name. */
static const struct table *find_with(const struct diff_run *r, const char *table,
				     const char *column)
{
	for (size_t i = 0; i < r->n_docs; i++)
		for (size_t k = 0; k < r->doc[i]->table.n; k++) {
			const struct table *t = &r->doc[i]->table.v[k];

			if (!strcmp(t->form->name, table) && diff_column(t, column) != SIZE_MAX)
				return t;
		}
	return NULL;
}

/* Returns the name that a function of the base has on the new side. */
static const char *new_name(const struct diff *x, size_t side, const char *dso, const char *name)
{
	for (size_t i = 0; i < x->match.n; i++) {
		const struct diff_match *m = x->match.v[i];

		if (m->side == side && m->certain && m->kind == DIFF_RENAMED &&
		    !strcmp(m->dso, dso) && !strcmp(m->of[0][0], name))
			return m->of[1][0];
	}
	return name;
}

static uint64_t find_first(const struct diff_run *r, const char *dso, const char *function,
			   const char *file, size_t len)
{
	struct err none = ERR_INIT;
	const struct source *src;
	struct source_function declared;
	struct source_line line;
	uint32_t image;
	uint64_t vaddr;
	const struct symbol *s = diff_symbol(r, dso, function, &image);

	if (!s || !image_to_vaddr(r->images, image, s->start, &vaddr))
		return 0;
	src = source_of(r->images, image, &none);
	if (!src || !source_function(src, vaddr, &declared))
		return 0;
	line = source_line(src, vaddr);
	if (!line.file || strlen(line.file) != len || memcmp(line.file, file, len) != 0)
		return 0;
	return declared.first_line;
}

/* Returns the line of the function's declaration, so that code before it does not matter; 0: not
 * known. */
static uint64_t first_line(struct joining *j, const struct diff_run *r, const char *dso,
			   const char *function, const char *file, size_t len)
{
	uint64_t key = hash_pair(hash_bytes(dso, strlen(dso)),
				 hash_pair(hash_bytes(function, strlen(function)),
					   hash_pair(hash_bytes(file, len), (uintptr_t)r)));
	uint64_t *known = u64map_xat(&j->first_lines, key, NULL);

	if (!*known)
		*known = 1 + find_first(r, dso, function, file, len);
	return *known - 1;
}

/* "+12" from the function's first line on; else the line as it is. */
static const char *more_place_of(struct joining *j, const struct diff_run *r, const char *dso,
				 const char *function, const char *srcline)
{
	const char *colon = strrchr(srcline, ':');
	uint64_t first = 0, line = colon ? strtoull(colon + 1, NULL, 10) : 0;

	if (colon)
		first = first_line(j, r, dso, function, srcline, (size_t)(colon - srcline));
	if (!first || line < first)
		return srcline;
	return arena_xprintf(&j->x->a, "+%llu", (unsigned long long)(line - first));
}

static void join_lines(struct joining *j, const struct diff_run *r, size_t slot)
{
	const struct table *t = find_with(r, "rows", "srcline");
	struct table_row row = { 0 };
	struct arena *a = &j->x->a;

	while (t && table_next(t, &row)) {
		const char *event = diff_text(a, t, diff_column(t, "event"), &row);
		const char *dso = diff_text(a, t, diff_column(t, "dso"), &row);
		const char *function = diff_text(a, t, diff_column(t, "function"), &row);
		const char *line = diff_text(a, t, diff_column(t, "srcline"), &row);
		double period = diff_number(t, diff_column(t, "period"), &row).v;
		double samples = diff_number(t, diff_column(t, "samples"), &row).v;
		struct estimate share = diff_number(t, diff_column(t, "share"), &row);
		const char *key[DIFF_KEYS] = { event, dso, function };
		struct diff_item *it;

		if (!event || !dso || !function || !line || !strcmp(line, "??:0"))
			continue;
		key[3] = more_place_of(j, r, dso, function, line);
		diff_join_file(j, slot, key);
		if (slot < j->x->side[0].n)
			key[2] = new_name(j->x, j->side, key[1], key[2]);
		it = diff_join_amount(j, r, slot, key, DIFF_OF_BOTH, period,
				      diff_worth(share, samples));
		if (it)
			it->shown = line;
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Returns the number of blocks of the function whose rows follow one another from `row` on. */
static size_t count_more_blocks(const struct table *t, const struct table_row *row, const char *dso,
				const char *function)
{
	struct table_row next = *row;
	struct arena a = ARENA_INIT;
	size_t n = 1;

	for (; table_next(t, &next); n++) {
		const char *f = diff_text(&a, t, diff_column(t, "function"), &next);
		const char *d = diff_text(&a, t, diff_column(t, "dso"), &next);

		if (!f || !d || strcmp(f, function) != 0 || strcmp(d, dso) != 0)
			break;
		arena_reset(&a);
	}
	arena_free(&a);
	return n;
}

/* "block 3 of 12": of a function with another number of blocks none is the same. */
static void join_blocks(struct joining *j, const struct diff_run *r, size_t slot)
{
	const struct table *t = find_with(r, "blocks", "runs");
	struct table_row row = { 0 };
	struct arena *a = &j->x->a;
	const char *last = "", *last_dso = "";
	size_t of = 0;

	while (t && table_next(t, &row)) {
		const char *dso = diff_text(a, t, diff_column(t, "dso"), &row);
		const char *function = diff_text(a, t, diff_column(t, "function"), &row);
		double block = diff_number(t, diff_column(t, "block"), &row).v;
		struct estimate runs = diff_number(t, diff_column(t, "runs"), &row);
		const char *key[DIFF_KEYS] = { NULL, dso, function };
		struct diff_item *it;

		if (!dso || !function)
			continue;
		if (strcmp(last, function) != 0 || strcmp(last_dso, dso) != 0)
			of = count_more_blocks(t, &row, dso, function);
		last = function;
		last_dso = dso;
		diff_join_file(j, slot, key);
		if (slot < j->x->side[0].n)
			key[2] = new_name(j->x, j->side, key[1], key[2]);
		key[3] = arena_xprintf(a, "%.0f of %zu", block, of);
		it = diff_item_at(j, key, DIFF_OF_BOTH);
		it->unit = "executions";
		if (isnan(runs.v))
			continue;
		it->run[slot] = (struct diff_amount){ .v = runs.v,
						      .var = runs.half * runs.half / (Z95 * Z95),
						      .counted = true };
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Returns the values of a row's key columns, as people read them. */
static const char *more_key_text(struct arena *a, const struct table *t, const struct table_row *r)
{
	struct buf all = BUF_INIT, scratch = BUF_INIT;
	const char *text;
	size_t n;
	const struct table_column *c = table_columns(t, &n);

	for (size_t i = 0; i < n; i++) {
		struct table_cell x;

		if (!(c[i].flags & C_KEY) || !strcmp(c[i].key, "address"))
			continue;
		table_cell(&x, t, &c[i], r, &scratch);
		if (!cell_has(&x))
			continue;
		if (all.len)
			buf_putc(&all, ' ');
		if (x.kind == T_FLAG)
			buf_printf(&all, "%s%s", x.n ? "" : "no ", c[i].key);
		else
			cell_put(&all, &x);
	}
	text = arena_xstrdup(a, buf_str(&all));
	buf_free(&all);
	buf_free(&scratch);
	return text;
}

static void add_more_memory(struct joining *j, const char *by, const char *what, const char *figure,
			    size_t slot, struct diff_amount amount)
{
	const char *key[DIFF_KEYS] = { by, what, figure };
	struct diff_item *it = diff_item_at(j, key, DIFF_OF_BOTH);

	it->ratio = !(amount.samples > 0);
	it->unit = it->ratio ? "cycles" : "samples";
	amount.counted = true;
	it->run[slot] = amount;
}

static void join_memory_by(struct joining *j, const struct diff_run *r, size_t slot,
			   const char *table)
{
	const struct table *t = diff_find(r, table);
	struct table_row row = { 0 };

	while (t && table_next(t, &row)) {
		const char *what = more_key_text(&j->x->a, t, &row);
		double samples = diff_number(t, diff_column(t, "samples"), &row).v;
		struct estimate mean = diff_number(t, diff_column(t, "mean"), &row);
		struct diff_amount count = { .v = samples, .samples = samples, .var = samples };
		struct diff_amount latency = { .v = mean.v,
					       .var = mean.half * mean.half / (Z95 * Z95) };

		if (!*what)
			continue;
		if (samples > 0)
			add_more_memory(j, table, what, "samples", slot, count);
		if (mean.v > 0)
			add_more_memory(j, table, what, "latency", slot, latency);
	}
}

static void join_memory(struct joining *j, const struct diff_run *r, size_t slot)
{
	static const char *const by[] = { "sources", "types", "fields" };
	const struct diff_run mem = { r->input, r->doc + r->n_docs - 1, 1, r->images };

	for (size_t i = 0; diff_find(&mem, "source_latencies") && i < sizeof(by) / sizeof(*by); i++)
		join_memory_by(j, &mem, slot, by[i]);
}

join_fn *const diff_join_more[] = { join_lines, join_blocks, join_memory };
