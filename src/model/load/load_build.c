/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From statements to a model: names become indices, formulas programs.
 *
 * A formula is compiled when it is first asked for, and gets its index when that is done: so each
 * metric stands behind those it needs, and one that needs itself is an error. Events get theirs in
 * the order in which formulas ask for them. A metric that needs no count (a width, a cost) is a
 * plain number to those that use it, so conditions on it are decided here.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/num.h"
#include "model/event_same.h"
#include "model/event_same.h"
#include "model/load/build_int.h"

#define LEVELS_MAX 9

int build_fail(struct build *b, const char *file, unsigned line, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(b->err, ERR_FORMAT, "%s:%u: %s", file ? file : "?", line, what);
}

/* ---- facts of the model ---- */

static int read_row_number(struct build *b, const struct raw_value *v, const char *text,
			   unsigned limit, unsigned *out)
{
	uint64_t n;

	if (num_parse_u64(&n, text, NULL) || n > limit)
		return build_fail(b, v->file, v->line, "expected a number up to %u", limit);
	*out = (unsigned)n;
	return 0;
}

static int fact(struct build *b, const struct raw_value *v, unsigned limit, unsigned *out)
{
	*out = 0;
	return v->s ? read_row_number(b, v, v->s, limit, out) : 0;
}

/* "counters 4 8": with SMT on, with SMT off. */
static int counters(struct build *b)
{
	const struct raw_value *v = &b->r->counters;
	char first[16];
	size_t n;

	if (!v->s)
		return 0;
	n = strcspn(v->s, " \t");
	(void)snprintf(first, sizeof(first), "%.*s", (int)(n < 15 ? n : 15), v->s);
	if (read_row_number(b, v, first, 32, &b->m->counters))
		return -1;
	b->m->counters_alone = b->m->counters;
	if (!v->s[n])
		return 0;
	return read_row_number(b, v, v->s + n + strspn(v->s + n, " \t"), 32, &b->m->counters_alone);
}

static const char *text_or(const struct raw_value *v, const char *other)
{
	return v->s ? v->s : other;
}

static int facts(struct build *b)
{
	struct model *m = b->m;
	const struct raw *r = b->r;
	m->title = text_or(&r->title, m->id);
	m->vendor = text_or(&r->vendor, "");
	m->from = text_or(&r->from, "");
	m->tma = text_or(&r->tma, "");
	m->latency_from = text_or(&r->latency_from, "");
	m->caution = text_or(&r->caution, "");
	m->per_core = r->per_core.s != NULL;
	if (fact(b, &r->revision, 1000000, &m->revision) || fact(b, &r->fixed, 16, &m->fixed) ||
	    fact(b, &r->width, 64, &m->width) || fact(b, &r->perf_metrics, 2, &m->fixed_level) ||
	    counters(b))
		return -1;
	m->metrics_register = m->fixed_level > 0;
	return 0;
}

/* ---- the tree's shape ---- */

static int shape(struct build *b)
{
	struct raw *r = b->r;

	for (uint32_t i = 0; i < r->rows.n; i++)
		b->row[i].parent = b->row[i].child = b->row[i].last_child = b->row[i].sibling =
			b->row[i].metric = MODEL_NONE;
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next) {
		const struct raw_row *row = &r->rows.v[i];
		const struct raw_value *v = &row->value[KEY_PARENT];
		struct row_build *up;
		uint32_t p;

		if (row->absent || !v->s)
			continue;
		p = raw_find(&r->row_name, v->s, strlen(v->s));
		if (p == UINT32_MAX || r->rows.v[p].absent || !r->rows.v[p].node)
			return build_fail(b, v->file, v->line, "%s: there is no node %.80s",
					  row->name, v->s);
		b->row[i].parent = p;
		up = &b->row[p];
		if (up->last_child == MODEL_NONE)
			up->child = i;
		else
			b->row[up->last_child].sibling = i;
		up->last_child = i;
	}
	return 0;
}

/* ---- metrics ---- */

static int no_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	(void)ctx;
	(void)kind;
	(void)index;
	return 1;
}

int build_metric(struct build *b, struct model_metric *m, enum expr_dialect dialect, uint32_t *out)
{
	struct expr_text text = { m->text, strlen(m->text), dialect, NULL, m->file, m->line };
	struct expr_scope scope = build_scope(b);
	struct model_names *names = b->m->names;
	enum expr_dialect outer = b->dialect;
	struct expr *e;
	int ret;

	if (b->nest == FORMULA_NEST)
		return build_fail(b, m->file, m->line, "%s: formulas refer to each other %d deep",
				  m->name, FORMULA_NEST);
	b->nest++;
	b->dialect = dialect;
	ret = expr_compile(&e, &b->m->arena, &text, &scope, b->err);
	b->dialect = outer;
	b->nest--;
	if (ret)
		return -1;
	m->expr = e;
	m->path = m->path ? m->path : m->name;
	m->unit = m->unit ? m->unit : "";
	m->groups = m->groups ? m->groups : "";
	m->domain_text = m->domain_text ? m->domain_text : "";
	m->issues = m->issues ? m->issues : "";
	m->locate = m->locate_all = m->threshold_text = "";
	m->says = m->says ? m->says : "";
	m->try_ = m->try_ ? m->try_ : "";
	if (vec_push(&b->metrics, *m))
		return err_nomem(b->err);
	*out = (uint32_t)(b->metrics.n - 1);
	return build_name(b, &names->metric, &names->metric_at, m->name, *out);
}

static enum model_domain domain_of(const char *s)
{
	if (!strncmp(s, "Slots", 5))
		return DOMAIN_SLOTS;
	if (!strncmp(s, "Clocks", 6) || !strcmp(s, "Core_Clocks") || !strcmp(s, "Stalls"))
		return DOMAIN_CLOCKS;
	return DOMAIN_OTHER;
}

static int real(struct build *b, const struct raw_value *v, double other, double *out)
{
	*out = other;
	if (v->s && num_parse_double(out, v->s, NULL))
		return build_fail(b, v->file, v->line, "expected a number, not %.40s", v->s);
	return 0;
}

static void words(struct build *b, const struct raw_row *row, struct model_metric *m)
{
	uint32_t w = raw_find(&b->r->word_name, row->name, strlen(row->name));

	if (w != UINT32_MAX) {
		m->says = b->r->words.v[w].says.s;
		m->try_ = b->r->words.v[w].try_.s;
	}
	if (row->value[KEY_SAYS].s)
		m->says = row->value[KEY_SAYS].s;
	if (row->value[KEY_TRY].s)
		m->try_ = row->value[KEY_TRY].s;
}

static int compile_row(struct build *b, const struct raw_row *row, struct row_build *rb)
{
	const struct raw_value *v = row->value;
	struct model_metric m = {
		.name = row->name,
		.parent = MODEL_NONE,
		.area = text_or(&v[KEY_AREA], ""),
		.text = v[KEY_EXPR].s,
		.unit = text_or(&v[KEY_UNIT], ""),
		.domain = domain_of(text_or(&v[KEY_COUNT_BY], "")),
		.domain_text = text_or(&v[KEY_COUNT_BY], ""),
		.overlap = v[KEY_OVERLAP].s != NULL,
		.approximate = v[KEY_APPROXIMATE].s != NULL,
		.zero = v[KEY_ZERO].s != NULL,
		.groups = text_or(&v[KEY_GROUPS], ""),
		.issues = text_or(&v[KEY_ISSUE], ""),
		.file = v[KEY_EXPR].file,
		.line = v[KEY_EXPR].line,
	};
	struct expr_env env = { .n_lps = 1, .system = b->system };
	struct value value;

	if (build_no_slots(b) && !strcmp(row->name, "#PERF_METRICS_MSR"))
		m.text = "0";
	words(b, row, &m);
	if (!m.text)
		return build_fail(b, row->file, row->line, "%s has no formula (expr)", row->name);
	if (real(b, &v[KEY_MAX], NAN, &m.max) || real(b, &v[KEY_SCALE], 1, &m.scale) ||
	    build_metric(b, &m, row->perf ? EXPR_PERF : EXPR_SHEET, &rb->metric))
		return -1;
	if (!expr_needs(m.expr, NULL, no_need, NULL)) {
		value = expr_eval(m.expr, &env);
		rb->constant = value.why == VALUE_OK;
		rb->number = value.v;
	}
	return 0;
}

int build_row(struct build *b, uint32_t i)
{
	struct row_build *rb = &b->row[i];
	const struct raw_row *row = &b->r->rows.v[i];

	if (rb->state == ROW_DONE)
		return 0;
	if (rb->state == ROW_BUSY)
		return build_fail(b, row->value[KEY_EXPR].file, row->value[KEY_EXPR].line,
				  "%s needs itself", row->name);
	rb->state = ROW_BUSY;
	if (compile_row(b, row, rb))
		return -1;
	rb->state = ROW_DONE;
	return 0;
}

/* ---- steps that need all metrics ---- */

static int threshold(struct build *b, const struct raw_row *row, struct model_metric *m)
{
	const struct raw_value *v = &row->value[KEY_FLAG];
	struct expr_text text;
	struct expr_scope scope = build_scope(b);
	struct expr *e;

	if (!v->s)
		return 0;
	b->dialect = row->perf ? EXPR_PERF : EXPR_SHEET;
	text = (struct expr_text){ v->s, strlen(v->s), b->dialect, m->name, v->file, v->line };
	m->threshold_text = v->s;
	if (expr_compile(&e, &b->m->arena, &text, &scope, b->err))
		return -1;
	m->threshold = e;
	return 0;
}

/* "A;B": each must be an event; the first is the one to sample by. */
static int locate(struct build *b, const struct raw_row *row, struct model_metric *m)
{
	const struct raw_value *v = &row->value[KEY_LOCATE];
	const char *s = v->s ? v->s : "";
	uint32_t event;
	bool first = true;

	b->dialect = row->perf ? EXPR_PERF : EXPR_SHEET;
	m->locate_all = s;
	while (*s) {
		size_t n = strcspn(s, ";");
		int got = build_event_find(b, s, n, &event);

		if (got < 0)
			return -1;
		if (!got)
			return build_fail(b, v->file, v->line, "%s: there is no event %.*s",
					  m->name, n > 80 ? 80 : (int)n, s);
		if (first)
			m->locate = b->events.v[event].name;
		first = false;
		s += n + (s[n] == ';');
	}
	return 0;
}

struct place {
	struct build *b;
	uint32_t order;
};

/* Level, path and order of a node and of those below it. */
static int place_metric(struct place *p, uint32_t i, unsigned depth)
{
	struct build *b = p->b;
	const struct raw_row *row = &b->r->rows.v[i];
	const struct raw_value *v = &row->value[KEY_LEVEL];
	uint32_t up = b->row[i].parent;
	struct model_metric *m = &b->metrics.v[b->row[i].metric];
	char *path;

	if (depth > LEVELS_MAX)
		return build_fail(b, row->file, row->line, "%s is more than %d levels deep",
				  row->name, LEVELS_MAX);
	m->level = depth;
	if (v->s && read_row_number(b, v, v->s, LEVELS_MAX, &m->level))
		return -1;
	m->order = p->order++;
	if (up == MODEL_NONE) {
		path = arena_strdup(&b->m->arena, row->name);
	} else {
		m->parent = b->row[up].metric;
		path = arena_printf(&b->m->arena, "%s.%s", b->metrics.v[m->parent].path, row->name);
	}
	if (!path)
		return err_nomem(b->err);
	for (char *s = path; *s; s++)
		*s = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
	m->path = path;
	if (build_name(b, &b->m->names->metric, &b->m->names->metric_at, path, b->row[i].metric))
		return -1;
	for (uint32_t c = b->row[i].child; c != MODEL_NONE; c = b->row[c].sibling)
		if (place_metric(p, c, depth + 1))
			return -1;
	return 0;
}

static int place_metrics(struct build *b)
{
	struct place p = { b, 0 };
	struct raw *r = b->r;

	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent && r->rows.v[i].node && b->row[i].parent == MODEL_NONE &&
		    place_metric(&p, i, 1))
			return -1;
	for (size_t i = 0; i < b->metrics.n; i++)
		b->metrics.v[i].order = b->metrics.v[i].level ? b->metrics.v[i].order : UINT32_MAX;
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next) {
		const struct raw_row *row = &r->rows.v[i];

		if (!row->absent && row->node && !b->metrics.v[b->row[i].metric].level)
			return build_fail(b, row->file, row->line, "%s: its parents go in a circle",
					  row->name);
		if (!row->absent && !row->node)
			b->metrics.v[b->row[i].metric].order = p.order++;
	}
	for (size_t i = 0; i < b->metrics.n; i++)
		if (b->metrics.v[i].order == UINT32_MAX)
			b->metrics.v[i].order = p.order++;
	return 0;
}

/* ---- all of it ---- */

static int formulas(struct build *b)
{
	struct raw *r = b->r;

	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent && build_row(b, i))
			return -1;
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent &&
		    threshold(b, &r->rows.v[i], &b->metrics.v[b->row[i].metric]))
			return -1;
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent &&
		    locate(b, &r->rows.v[i], &b->metrics.v[b->row[i].metric]))
			return -1;
	return 0;
}

static int finish_model(struct build *b)
{
	struct model *m = b->m;
	uint32_t event;

	m->n_used = b->events.n;
	/* planning compares each with each */
	for (size_t i = 0; i < m->n_used; i++)
		b->events.v[i].encoding = event_encoding(&b->events.v[i]);
	for (uint32_t i = 0; i < b->r->events.n; i++)
		if (!b->r->events.v[i].absent && build_event(b, i, &event))
			return -1;
	m->n_events = b->events.n;
	m->n_metrics = b->metrics.n;
	assert(all_hold(b->metrics.n, i,
			b->metrics.v[i].parent == MODEL_NONE ||
				b->metrics.v[i].parent < b->metrics.n));
	m->event = arena_memdup(&m->arena, b->events.v, m->n_events * sizeof(*m->event));
	m->metric = arena_memdup(&m->arena, b->metrics.v, m->n_metrics * sizeof(*m->metric));
	return (m->event || !m->n_events) && (m->metric || !m->n_metrics) ? 0 : err_nomem(b->err);
}

int model_build(struct model *m, struct raw *r, const double *system, struct err *err)
{
	double unknown[SYSTEM_COUNT];
	struct build b = { .m = m, .r = r, .err = err, .system = system ? system : unknown };
	int ret = -1;

	for (int i = 0; i < SYSTEM_COUNT; i++)
		unknown[i] = NAN;
	b.row = calloc(r->rows.n + 1, sizeof(*b.row));
	b.event = calloc(r->events.n + 1, sizeof(*b.event));
	if (!b.row || !b.event) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < r->events.n; i++)
		b.event[i] = MODEL_NONE;
	if (facts(&b) || shape(&b) || formulas(&b) || place_metrics(&b) || finish_model(&b))
		goto out;
	ret = 0;
out:
	free(b.row);
	free(b.event);
	free(b.words);
	vec_free(&b.events);
	vec_free(&b.metrics);
	return ret;
}
