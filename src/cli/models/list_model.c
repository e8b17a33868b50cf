/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/models/list_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/model_choice.h"
#include "cli/model_facts.h"
#include "cli/models/account_facts.h"
#include "model/groups.h"

/* One list: its rows (indices), how each is told, and how the terminal shows it. */
struct list {
	struct cli *cli;
	const char *what;      /* key of the json array */
	const struct model *m; /* NULL for models */
	const struct account *acc;
	const struct model_row *row;
	const struct model_group *group;
	uint32_t *index;
	size_t n, more;
	facts_fn *facts;
	void (*line)(struct buf *b, const struct style *st, const struct list *l, size_t i);
};

static size_t node_row(const void *ctx, size_t i, struct fact *out)
{
	const struct list *l = ctx;

	return metric_facts(l->m, l->index[i], out);
}

static size_t event_row(const void *ctx, size_t i, struct fact *out)
{
	const struct list *l = ctx;

	return event_facts(l->m, l->index[i], out);
}

static size_t account_row(const void *ctx, size_t i, struct fact *out)
{
	const struct list *l = ctx;

	return account_facts(l->acc, l->index[i], out);
}

static size_t model_row(const void *ctx, size_t i, struct fact *out)
{
	const struct list *l = ctx;
	const struct model_row *r = &l->row[l->index[i]];

	out[0] = (struct fact){ "id", FACT_TEXT, r->id, 0 };
	out[1] = (struct fact){ "title", FACT_TEXT, r->title, 0 };
	out[2] = (struct fact){ "vendor", FACT_TEXT, r->vendor, 0 };
	out[3] = (struct fact){ "cpus", FACT_TEXT, r->match, 0 };
	out[4] = (struct fact){ "account", FACT_BOOL, NULL, r->account };
	out[5] = (struct fact){ "tma", FACT_TEXT, r->tma, 0 };
	return 6;
}

/* Members that are nodes or metrics, by name, as they stand in the model. */
static void put_members(struct buf *b, const struct list *l, const char *group)
{
	const uint32_t *member;
	size_t n = model_group_members(&member, &l->cli->arena, l->m, group, strlen(group));

	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? " " : "", l->m->metric[member[i]].name);
}

static size_t group_row(const void *ctx, size_t i, struct fact *out)
{
	const struct list *l = ctx;
	const struct model_group *g = &l->group[l->index[i]];
	struct buf members = BUF_INIT;

	put_members(&members, l, g->name);
	out[0] = (struct fact){ "name", FACT_TEXT, g->name, 0 };
	out[1] = (struct fact){ "count", FACT_NUMBER, NULL, (double)g->n };
	out[2] = (struct fact){ "members", FACT_TEXT,
				arena_strdup(&l->cli->arena, buf_str(&members)), 0 };
	buf_free(&members);
	return 3;
}

void list_put_rest(struct buf *b, const struct style *st, const char *text, size_t used)
{
	struct buf safe = BUF_INIT;
	size_t left = st->width > used + 10 ? st->width - used : 0;

	text_put_safe(&safe, text, st->ascii);
	if (left && text_width(buf_str(&safe)) > left)
		text_put_fit(b, buf_str(&safe), left, TEXT_LEFT, false, st->ascii);
	else
		buf_puts(b, buf_str(&safe));
	buf_free(&safe);
}

static void put_name(struct buf *b, const struct style *st, const char *name, size_t indent,
		     size_t width)
{
	size_t at = b->len, n;

	buf_fill(b, ' ', indent);
	text_put_safe(b, name, st->ascii);
	n = b->len - at;
	buf_fill(b, ' ', n < width ? width - n : 1);
}

static void node_line(struct buf *b, const struct style *st, const struct list *l, size_t i)
{
	const struct model_metric *t = &l->m->metric[l->index[i]];
	struct buf text = BUF_INIT;

	put_name(b, st, t->name, t->level ? 2 * (size_t)t->level - 2 : 0, 36);
	if (metric_asks_latency(l->m, l->index[i]))
		buf_printf(&text, "[retire latency] ");
	buf_puts(&text, *t->says ? t->says : t->text);
	list_put_rest(b, st, buf_str(&text), 36);
	buf_putc(b, '\n');
	buf_free(&text);
}

static void event_line(struct buf *b, const struct style *st, const struct list *l, size_t i)
{
	const struct model_event *e = &l->m->event[l->index[i]];
	struct buf text = BUF_INIT;

	put_name(b, st, e->name, 0, 48);
	if (*e->pmu)
		buf_printf(&text, "%s/%s/  ", e->pmu, e->code);
	else
		buf_printf(&text, "%s  ", e->code);
	put_counters(&text, e);
	list_put_rest(b, st, buf_str(&text), 48);
	buf_free(&text);
	buf_putc(b, '\n');
}

static void group_line(struct buf *b, const struct style *st, const struct list *l, size_t i)
{
	const struct model_group *g = &l->group[l->index[i]];
	struct buf members = BUF_INIT;
	char count[NUM_MAX];

	put_name(b, st, g->name, 0, 26);
	buf_put_right(b, num_exact(count, g->n), 4);
	buf_puts(b, "  ");
	put_members(&members, l, g->name);
	list_put_rest(b, st, buf_str(&members), 32);
	buf_putc(b, '\n');
	buf_free(&members);
}

static void account_line(struct buf *b, const struct style *st, const struct list *l, size_t i)
{
	const struct account_node *t = &l->acc->node[l->index[i]];
	struct buf text = BUF_INIT;

	put_name(b, st, t->name, 2 * (size_t)t->depth, 30);
	put_name(b, st, account_part_word(t->part), 0, 10);
	put_name(b, st, account_cover_word(t->cover), 0, 8);
	put_account_cost(&text, l->acc, l->index[i]);
	list_put_rest(b, st, buf_str(&text), 48);
	buf_putc(b, '\n');
	buf_free(&text);
}

static void model_line(struct buf *b, const struct style *st, const struct list *l, size_t i)
{
	const struct model_row *r = &l->row[l->index[i]];

	put_name(b, st, r->id, 0, 18);
	put_name(b, st, r->title, 0, 48);
	buf_printf(b, "%s%-5s", *r->tma ? "TMA " : "    ", r->tma);
	list_put_rest(b, st, r->match, 75);
	buf_putc(b, '\n');
}

static void put_json(struct buf *b, const void *list)
{
	const struct list *l = list;
	struct fact f[FACTS_MAX];
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.list/1");
	if (l->m) {
		json_str(&j, "model", l->m->id);
		json_str(&j, "from", l->m->from);
	}
	json_array(&j, l->what);
	for (size_t i = 0; i < l->n; i++) {
		json_object(&j, NULL);
		facts_json(&j, f, l->facts(l, i, f));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_u64(&j, "left_out", l->more);
	json_end_object(&j);
	buf_putc(b, '\n');
}

static void put_term(struct buf *b, const void *list)
{
	const struct list *l = list;
	struct style st = cli_style(l->cli, 1);
	char count[NUM_MAX];

	if (l->m) {
		style_ink(b, &st, INK_BOLD);
		buf_printf(b, "%s of %s: %s%s%s (%s)\n", l->what, l->m->id, l->m->title,
			   *l->m->tma ? ", TMA " : "", l->m->tma, num_exact(count, l->n));
		style_ink(b, &st, INK_PLAIN);
	}
	for (size_t i = 0; i < l->n; i++)
		l->line(b, &st, l, i);
	list_put_more(b, l->more);
	if (!strcmp(l->what, "metrics") && !l->cli->opt.quiet)
		buf_printf(b, "next: cyclade list groups --model %s  names for several metrics\n",
			   l->m->id);
}

static void put_csv(struct buf *b, const void *list, char sep)
{
	const struct list *l = list;

	facts_csv(b, sep, l->facts, l, l->n);
}

void list_put_more(struct buf *b, size_t more)
{
	char count[NUM_MAX];

	if (more)
		buf_printf(b, "(%s more; a larger --limit shows them)\n", num_exact(count, more));
}

int list_put(struct cli *cli, const struct list_formats *f, const void *list, struct err *err)
{
	const char *format = cli_format(cli);
	struct buf b = BUF_INIT;
	char sep;
	int code;

	if (cli_separator(cli, &sep, err))
		return cli_fail(err);
	if (!strcmp(format, "json")) {
		f->json(&b, list);
	} else if (!strcmp(format, "csv")) {
		f->csv(&b, list, sep);
	} else {
		f->term(&b, list);
	}
	code = cli_put(cli, &b, !strcmp(format, "term"));
	buf_free(&b);
	return code;
}

bool list_matches(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?[") ? text_glob(pattern, name)
				       : strcasestr(name, pattern) != NULL;
}

static void keep(struct list *l, uint32_t i)
{
	const struct options *o = &l->cli->opt;

	if (OPTION_GIVEN(o, limit) && l->n >= o->limit)
		l->more++;
	else
		l->index[l->n++] = i;
}

static const struct list_formats formats = { put_term, put_csv, put_json };

static int done(struct list *l, const char *pattern, struct err *err)
{
	if (!l->n && !l->more && pattern) {
		(void)err_set(err, ERR_NOT_FOUND, "no %s match '%.100s'", l->what, pattern);
		(void)err_hint(err, "cyclade list %s shows all", l->what);
		return cli_fail_as(err, EXIT_NO);
	}
	return list_put(l->cli, &formats, l, err);
}

int list_models(struct cli *cli, const char *pattern)
{
	struct model_sources s = cli_model_sources(cli);
	struct list l = { .cli = cli, .what = "models", .facts = model_row, .line = model_line };
	struct err err = ERR_INIT;
	size_t n;

	if (model_list(&cli->arena, &s, &l.row, &n, &err))
		return cli_fail(&err);
	l.index = arena_alloc(&cli->arena, (n + 1) * sizeof(*l.index));
	if (!l.index) {
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	for (uint32_t i = 0; i < n; i++) {
		bool fits =
			list_matches(pattern, l.row[i].id) || list_matches(pattern, l.row[i].title);

		if (!fits && model_has_name(&fits, &cli->arena, &s, l.row[i].id, list_matches,
					    pattern, &err))
			return cli_fail(&err);
		if (fits)
			keep(&l, i);
	}
	return done(&l, pattern, &err);
}

struct placed {
	uint32_t order, index;
};

static int by_order(const void *x, const void *y)
{
	const struct placed *a = x, *b = y;

	return a->order < b->order ? -1 : a->order > b->order;
}

/* Metrics in reading order: nodes, or what is no node and no mere help for others. */
static int list_rows(struct cli *cli, const char *pattern, bool nodes)
{
	struct list l = { .cli = cli,
			  .what = nodes ? "nodes" : "metrics",
			  .facts = node_row,
			  .line = node_line };
	struct err err = ERR_INIT;
	struct placed *p;
	struct model *m;
	int code;

	if (cli_model(cli, NULL, NULL, &m, &err))
		return cli_fail(&err);
	l.m = m;
	l.index = arena_alloc(&cli->arena, (m->n_metrics + 1) * sizeof(*l.index));
	p = arena_alloc(&cli->arena, (m->n_metrics + 1) * sizeof(*p));
	if (!l.index || !p) {
		model_free(m);
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	for (uint32_t i = 0; i < m->n_metrics; i++)
		p[i] = (struct placed){ m->metric[i].order, i };
	if (m->n_metrics)
		qsort(p, m->n_metrics, sizeof(*p), by_order);
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const struct model_metric *t = &m->metric[p[i].index];
		bool helper = !strcmp(t->area, "Aux") && !cli->opt.verbose;

		if ((t->level > 0) == nodes && !helper &&
		    (list_matches(pattern, t->name) || list_matches(pattern, t->path)))
			keep(&l, p[i].index);
	}
	code = done(&l, pattern, &err);
	model_free(m);
	return code;
}

int list_nodes(struct cli *cli, const char *pattern)
{
	return list_rows(cli, pattern, true);
}

int list_metrics(struct cli *cli, const char *pattern)
{
	return list_rows(cli, pattern, false);
}

int list_groups(struct cli *cli, const char *pattern)
{
	struct list l = { .cli = cli, .what = "groups", .facts = group_row, .line = group_line };
	struct err err = ERR_INIT;
	struct model *m;
	size_t n;
	int code;

	if (cli_model(cli, NULL, NULL, &m, &err))
		return cli_fail(&err);
	l.m = m;
	if (model_groups(&l.group, &n, &cli->arena, m, &err)) {
		model_free(m);
		return cli_fail(&err);
	}
	l.index = arena_alloc(&cli->arena, (n + 1) * sizeof(*l.index));
	for (uint32_t i = 0; l.index && i < n; i++)
		if (list_matches(pattern, l.group[i].name))
			keep(&l, i);
	code = l.index ? done(&l, pattern, &err) : cli_fail((err_nomem(&err), &err));
	model_free(m);
	return code;
}

int list_account(struct cli *cli, const char *pattern)
{
	struct model_sources s = cli_model_sources(cli);
	struct list l = {
		.cli = cli, .what = "account", .facts = account_row, .line = account_line
	};
	struct err err = ERR_INIT;
	struct account *acc;
	struct model *m;
	int code;

	if (cli_model(cli, NULL, NULL, &m, &err))
		return cli_fail(&err);
	l.m = m;
	if (account_load(&acc, &cli->arena, m, &s, &err)) {
		model_free(m);
		return cli_fail(&err);
	}
	l.acc = acc;
	l.index = arena_alloc(&cli->arena, (acc->n + 1) * sizeof(*l.index));
	if (!l.index) {
		model_free(m);
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	for (uint32_t i = 0; i < acc->n; i++)
		if (list_matches(pattern, acc->node[i].name))
			keep(&l, i);
	code = done(&l, pattern, &err);
	model_free(m);
	return code;
}

int list_model_events(struct cli *cli, const char *pattern)
{
	struct list l = { .cli = cli, .what = "events", .facts = event_row, .line = event_line };
	struct err err = ERR_INIT;
	struct model *m;
	int code;

	if (cli_model(cli, NULL, NULL, &m, &err))
		return cli_fail(&err);
	l.m = m;
	l.index = arena_alloc(&cli->arena, (m->n_events + 1) * sizeof(*l.index));
	if (!l.index) {
		model_free(m);
		(void)err_nomem(&err);
		return cli_fail(&err);
	}
	for (uint32_t i = 0; i < m->n_events; i++)
		if (list_matches(pattern, m->event[i].name))
			keep(&l, i);
	code = done(&l, pattern, &err);
	model_free(m);
	return code;
}
