/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an account's rows to its nodes: names become indices, formulas programs.
 *
 * Steps: parents and children; indices, parents first; each row's facts; formulas; errors in how a
 * node fits the others; an order in which each stands behind those it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/nomem.h"
#include "base/num.h"
#include "base/text.h"
#include "model/load/account_int.h"
#include "model/load/build_int.h"

#define DEPTH_MAX 8
#define TOLERANCE 0.1

struct word {
	const char *s;
	int value;
};

static const struct word parts[] = {
	{ "cycles", PART_CYCLES },	 { "halted", PART_HALTED }, { "stalled", PART_STALLED },
	{ "unstalled", PART_UNSTALLED }, { "info", PART_INFO },	    { NULL, 0 },
};
static const struct word covers[] = {
	{ "full", COVER_FULL },
	{ "profile", COVER_PROFILE },
	{ "partial", COVER_PARTIAL },
	{ "none", COVER_NONE },
	{ NULL, 0 },
};

static const struct raw_value *value_of_key(const struct account_build *b, uint32_t row,
					    enum account_key key)
{
	return &b->r->rows.v[row].value[key];
}

static const char *text_of_row(const struct account_build *b, uint32_t row, enum account_key key)
{
	const char *s = value_of_key(b, row, key)->s;

	return s ? s : "";
}

static int row_fail(struct account_build *b, uint32_t row, const char *what)
{
	const struct raw_row *r = &b->r->rows.v[row];

	return err_set(b->err, ERR_FORMAT, "%s:%u: %s %s", r->file, r->line, r->name, what);
}

/* ---- shape ---- */

static int shape(struct account_build *b)
{
	struct raw *r = b->r;

	for (uint32_t i = 0; i < r->rows.n; i++)
		b->row[i] = (struct account_row){ MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE,
						  MODEL_NONE };
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next) {
		const struct raw_value *v = value_of_key(b, i, ACCOUNT_PARENT);
		struct account_row *up;
		uint32_t p;

		if (r->rows.v[i].absent || !v->s)
			continue;
		p = raw_find(&r->row_name, v->s, strlen(v->s));
		if (p == UINT32_MAX || r->rows.v[p].absent)
			return account_fail(b, v, ACCOUNT_PARENT, "%s: there is no node %.80s",
					    r->rows.v[i].name, v->s);
		b->row[i].parent = p;
		up = &b->row[p];
		*(up->child == MODEL_NONE ? &up->child : &b->row[up->last].sibling) = i;
		up->last = i;
	}
	return 0;
}

/* The row and those below it get their indices. */
static int place_account_node(struct account_build *b, uint32_t row, unsigned depth)
{
	struct account *acc = b->acc;
	uint32_t up = b->row[row].parent;

	if (depth > DEPTH_MAX)
		return row_fail(b, row, "is too deep below the others");
	b->row[row].node = (uint32_t)acc->n;
	b->row_of[acc->n] = row;
	acc->node[acc->n++] = (struct account_node){
		.name = b->r->rows.v[row].name,
		.parent = up == MODEL_NONE ? MODEL_NONE : b->row[up].node,
		.depth = depth,
		.event = MODEL_NONE,
		.within = MODEL_NONE,
		.same = MODEL_NONE,
		.file = b->r->rows.v[row].file,
		.line = b->r->rows.v[row].line,
	};
	for (uint32_t c = b->row[row].child; c != MODEL_NONE; c = b->row[c].sibling)
		if (place_account_node(b, c, depth + 1))
			return -1;
	return 0;
}

static int place_account_nodes(struct account_build *b)
{
	struct raw *r = b->r;
	size_t n = r->rows.n;

	b->acc->node = arena_alloc(b->a, (n + 1) * sizeof(*b->acc->node));
	b->row_of = calloc(n + 1, sizeof(*b->row_of));
	if (!b->acc->node || !b->row_of)
		return err_nomem(b->err);
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent && b->row[i].parent == MODEL_NONE &&
		    place_account_node(b, i, 0))
			return -1;
	for (uint32_t i = r->first; i != MODEL_NONE; i = r->rows.v[i].next)
		if (!r->rows.v[i].absent && b->row[i].node == MODEL_NONE)
			return row_fail(b, i, "is its own parent, or its parents go in a circle");
	return 0;
}

/* ---- facts ---- */

static int word_of_row(struct account_build *b, uint32_t row, enum account_key key,
		       const struct word *words, int *out)
{
	const struct raw_value *v = value_of_key(b, row, key);
	const struct word *w = words;

	if (!v->s)
		return 0;
	while (w->s && strcmp(w->s, v->s))
		w++;
	if (!w->s)
		return account_fail(b, v, key, "there is no such word here: %.40s", v->s);
	*out = w->value;
	return 0;
}

static int whole_number(struct account_build *b, uint32_t row, enum account_key key, uint64_t most,
			uint64_t *out)
{
	const struct raw_value *v = value_of_key(b, row, key);

	if (v->s && (num_parse_u64(out, v->s, NULL) || *out > most))
		return account_fail(b, v, key, "expected a number up to %llu",
				    (unsigned long long)most);
	return 0;
}

bool account_cost(const char *s, size_t len, double *penalty, bool *reference, bool *ns)
{
	char number[32];
	size_t n = 0, at;

	while (n < len && s[n] != ' ' && s[n] != '\t')
		n++;
	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, s, n);
	number[n] = '\0';
	for (at = n; at < len && (s[at] == ' ' || s[at] == '\t'); at++)
		;
	*reference = len - at == 3 && !memcmp(s + at, "ref", 3);
	*ns = len - at == 2 && !memcmp(s + at, "ns", 2);
	return (at == len || *reference || *ns) && !num_parse_double(penalty, number, NULL) &&
	       *penalty >= 0 && *penalty <= PENALTY_MAX;
}

static int account_event_of(struct account_build *b, uint32_t row, struct account_node *t)
{
	const struct raw_value *v = value_of_key(b, row, ACCOUNT_EVENT);
	const struct raw_value *cost = value_of_key(b, row, ACCOUNT_PENALTY);
	const struct model_event *e;
	uint64_t precise = 0;

	if (!v->s) {
		if (cost->s)
			return account_fail(b, cost, ACCOUNT_PENALTY, "%s: a penalty is an event's",
					    t->name);
		return 0;
	}
	t->event = model_event_find(b->m, v->s, strlen(v->s));
	if (t->event == MODEL_NONE)
		return account_fail(b, v, ACCOUNT_EVENT, "%s: there is no event %.80s", t->name,
				    v->s);
	e = &b->m->event[t->event];
	if (e->flags & (EVENT_UNCORE | EVENT_METRIC))
		return account_fail(b, v, ACCOUNT_EVENT,
				    "%s: %.80s counts for no instruction: it cannot be sampled",
				    t->name, v->s);
	t->period = e->period;
	if (cost->s && !account_cost(cost->s, strlen(cost->s), &t->penalty, &t->reference, &t->ns))
		return account_fail(
			b, cost, ACCOUNT_PENALTY,
			"expected cycles up to %.0f, behind them `ref`, `ns` or nothing",
			PENALTY_MAX);
	if (whole_number(b, row, ACCOUNT_PERIOD, (uint64_t)1 << 40, &t->period) ||
	    whole_number(b, row, ACCOUNT_PRECISE, 3, &precise))
		return -1;
	t->precise = (unsigned)precise;
	if (precise && !(e->flags & EVENT_PRECISE))
		return account_fail(b, value_of_key(b, row, ACCOUNT_PRECISE), ACCOUNT_PRECISE,
				    "%s: %.80s cannot be sampled precisely", t->name, v->s);
	return 0;
}

static void words_of_row(struct account_build *b, uint32_t row, struct account_node *t)
{
	uint32_t w = raw_find(&b->r->word_name, t->name, strlen(t->name));

	t->says = t->try_ = NULL;
	if (w != UINT32_MAX) {
		t->says = b->r->words.v[w].says.s;
		t->try_ = b->r->words.v[w].try_.s;
	}
	if (value_of_key(b, row, ACCOUNT_SAYS)->s)
		t->says = value_of_key(b, row, ACCOUNT_SAYS)->s;
	if (value_of_key(b, row, ACCOUNT_TRY)->s)
		t->try_ = value_of_key(b, row, ACCOUNT_TRY)->s;
	t->says = t->says ? t->says : "";
	t->try_ = t->try_ ? t->try_ : "";
}

static int always_of(struct account_build *b, uint32_t row, struct account_node *t)
{
	const struct raw_value *v = value_of_key(b, row, ACCOUNT_ALWAYS);

	if (v->s && (num_parse_double(&t->always, v->s, NULL) || !(t->always > 0)))
		return account_fail(b, v, ACCOUNT_ALWAYS, "expected occurrences in a cycle: 0.02");
	return 0;
}

static int account_facts(struct account_build *b, uint32_t row, struct account_node *t)
{
	int part = -1, cover = COVER_FULL;

	if (word_of_row(b, row, ACCOUNT_PART, parts, &part) ||
	    word_of_row(b, row, ACCOUNT_COVER, covers, &cover) || account_event_of(b, row, t) ||
	    always_of(b, row, t))
		return -1;
	if (part < 0 && t->parent == MODEL_NONE)
		return row_fail(b, row, "says not which part of the whole it is of (part)");
	t->part = part < 0 ? b->acc->node[t->parent].part : (enum account_part)part;
	t->cover = (enum account_cover)cover;
	t->adds = value_of_key(b, row, ACCOUNT_ADDS)->s != NULL;
	t->whole = value_of_key(b, row, ACCOUNT_WHOLE)->s != NULL;
	t->smt = value_of_key(b, row, ACCOUNT_SMT)->s ||
		 (t->parent != MODEL_NONE && b->acc->node[t->parent].smt);
	t->text = text_of_row(b, row, ACCOUNT_EXPR);
	t->note = text_of_row(b, row, ACCOUNT_NOTE);
	t->unit = text_of_row(b, row, ACCOUNT_UNIT);
	if (t->event != MODEL_NONE && !(t->penalty > 0) && !*t->unit)
		t->unit = "events";
	if (t->penalty > 0 && *t->unit)
		return account_fail(b, value_of_key(b, row, ACCOUNT_UNIT), ACCOUNT_UNIT,
				    "%s: what has a penalty is in cycles", t->name);
	t->cycles = !*t->unit;
	words_of_row(b, row, t);
	return 0;
}

/* ---- references to other nodes ---- */

static int other(struct account_build *b, uint32_t row, enum account_key key,
		 const struct account_node *t, uint32_t *out)
{
	const struct raw_value *v = value_of_key(b, row, key);
	uint32_t self = b->row[row].node, i;

	if (!v->s)
		return 0;
	i = raw_find(&b->r->row_name, v->s, strlen(v->s));
	if (i == UINT32_MAX || b->row[i].node == MODEL_NONE)
		return account_fail(b, v, key, "%s: there is no node %.80s", t->name, v->s);
	*out = b->row[i].node;
	if (*out == self)
		return account_fail(b, v, key, "%s: expected another node", t->name);
	if (strcmp(b->acc->node[*out].unit, t->unit) != 0)
		return account_fail(b, v, key, "%s: %.80s is in %s, not in %s", t->name, v->s,
				    b->acc->node[*out].cycles ? "cycles" : b->acc->node[*out].unit,
				    t->cycles ? "cycles" : t->unit);
	return 0;
}

static int others(struct account_build *b, uint32_t row, struct account_node *t)
{
	const struct raw_value *v = value_of_key(b, row, ACCOUNT_TOLERANCE);

	t->tolerance = TOLERANCE;
	if (v->s && (num_parse_double(&t->tolerance, v->s, NULL) ||
		     !(t->tolerance >= 0 && t->tolerance <= 1)))
		return account_fail(b, v, ACCOUNT_TOLERANCE, "expected a share, 0 to 1");
	return other(b, row, ACCOUNT_WITHIN, t, &t->within) ||
			       other(b, row, ACCOUNT_SAME, t, &t->same)
		       ? -1
		       : 0;
}

/* ---- formulas ---- */

static bool find_account_name(void *ctx, enum expr_ask ask, const char *name, size_t len,
			      struct expr_ref *out)
{
	struct account_build *b = ctx;
	uint32_t row = raw_find(&b->r->row_name, name, len), event;

	*out = (struct expr_ref){ .kind = EXPR_ABSENT };
	if (ask == ASK_SOURCE_COUNT || ask == ASK_CPUID)
		return true;
	if (ask == ASK_NAME) {
		if (row != UINT32_MAX && b->row[row].node != MODEL_NONE) {
			out->kind = EXPR_METRIC;
			out->index = b->row[row].node;
			return true;
		}
		if (build_fact_find(name, len, out))
			return true;
	}
	event = model_event_find(b->m, name, len);
	if (ask == ASK_HAS_EVENT)
		*out = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = event != MODEL_NONE };
	else if (event != MODEL_NONE)
		*out = (struct expr_ref){ .kind = EXPR_EVENT, .index = event };
	return ask == ASK_HAS_EVENT || event != MODEL_NONE;
}

static const char *nearest_account_name(void *ctx, const char *name, size_t len)
{
	struct account_build *b = ctx;
	char word[128];
	size_t n = 0;

	if (!b->words) {
		b->words = calloc(b->acc->n + b->m->n_events + 1, sizeof(*b->words));
		if (!b->words) {
			nomem_note();
			return NULL;
		}
		for (size_t i = 0; i < b->acc->n; i++)
			b->words[n++] = b->acc->node[i].name;
		for (size_t i = 0; i < b->m->n_events; i++)
			b->words[n++] = b->m->event[i].name;
	}
	if (len >= sizeof(word))
		return NULL;
	memcpy(word, name, len);
	word[len] = '\0';
	return text_nearest(word, b->words);
}

static int formula(struct account_build *b, uint32_t row, struct account_node *t)
{
	const struct raw_value *v = value_of_key(b, row, ACCOUNT_EXPR);
	struct expr_scope scope = { find_account_name, nearest_account_name, b };
	struct expr_text text;
	struct expr *e;

	if (!v->s)
		return 0;
	if (t->event != MODEL_NONE)
		return account_fail(b, v, ACCOUNT_EXPR, "%s has an event already", t->name);
	text = (struct expr_text){
		v->s, strlen(v->s), b->r->rows.v[row].perf ? EXPR_PERF : EXPR_SHEET,
		NULL, v->file,	    v->line
	};
	if (expr_compile(&e, b->a, &text, &scope, b->err))
		return -1;
	t->expr = e;
	return 0;
}

/* ---- a node among the others ---- */

static int judge_account_node(struct account_build *b, uint32_t row, const struct account_node *t)
{
	struct account *acc = b->acc;
	bool own = t->event != MODEL_NONE || t->expr, sum = false;

	for (uint32_t c = b->row[row].child; c != MODEL_NONE; c = b->row[c].sibling)
		sum = sum || acc->node[b->row[c].node].adds;
	if (own && sum)
		return row_fail(b, row, "has a value of its own, so that nothing can add to it");
	if (t->cover == COVER_NONE && (own || sum))
		return row_fail(b, row, "is measured, so its cover is not none");
	if (t->cover != COVER_NONE && !own && !sum)
		return row_fail(
			b, row,
			"has neither an event, a formula, nor what adds to it: cover none?");
	if (!t->adds)
		return 0;
	if (t->parent == MODEL_NONE)
		return row_fail(b, row, "has no parent to add to");
	if (strcmp(t->unit, acc->node[t->parent].unit) != 0)
		return row_fail(b, row, "is in another unit than what it adds to");
	if (t->cover == COVER_NONE)
		return row_fail(b, row, "has nothing to add");
	return 0;
}

/* ---- order ---- */

struct sorting {
	struct account_build *b;
	uint32_t *order;
	size_t n;
	unsigned char *state; /* enum row_state, by node */
	unsigned nest;
};

static int sort_node(struct sorting *s, uint32_t i);

static int sort_need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	return kind == EXPR_METRIC ? sort_node(ctx, index) : 0;
}

static int sort_node(struct sorting *s, uint32_t i)
{
	struct account_build *b = s->b;
	const struct account_node *t = &b->acc->node[i];

	if (s->state[i] == ROW_DONE)
		return 0;
	if (s->state[i] == ROW_BUSY || s->nest == FORMULA_NEST)
		return row_fail(b, b->row_of[i], "needs itself, or formulas go too deep");
	s->state[i] = ROW_BUSY;
	s->nest++;
	if (t->expr && expr_needs(t->expr, NULL, sort_need, s))
		return -1;
	for (uint32_t c = b->row[b->row_of[i]].child; c != MODEL_NONE; c = b->row[c].sibling)
		if (b->acc->node[b->row[c].node].adds && sort_node(s, b->row[c].node))
			return -1;
	s->nest--;
	s->state[i] = ROW_DONE;
	s->order[s->n++] = i;
	return 0;
}

static int sort_all(struct account_build *b)
{
	struct sorting s = { .b = b };
	int ret = 0;

	s.order = arena_alloc(b->a, (b->acc->n + 1) * sizeof(*s.order));
	s.state = calloc(b->acc->n + 1, 1);
	if (!s.order || !s.state) {
		free(s.state);
		return err_nomem(b->err);
	}
	for (uint32_t i = 0; i < b->acc->n && !ret; i++)
		ret = sort_node(&s, i);
	b->acc->order = s.order;
	free(s.state);
	return ret;
}

/* Runs a step for each node. */
static int check_each_ref(struct account_build *b,
			  int (*step)(struct account_build *b, uint32_t row,
				      struct account_node *t))
{
	for (uint32_t i = 0; i < b->acc->n; i++)
		if (step(b, b->row_of[i], &b->acc->node[i]))
			return -1;
	return 0;
}

static int judge_step(struct account_build *b, uint32_t row, struct account_node *t)
{
	return judge_account_node(b, row, t);
}

int account_nodes(struct account_build *b)
{
	const struct account_node *first;

	if (shape(b) || place_account_nodes(b))
		return -1;
	if (!b->acc->n)
		return err_set(b->err, ERR_FORMAT, "models/.../%s/account: it has no node",
			       b->m->id);
	if (check_each_ref(b, account_facts) || check_each_ref(b, others) ||
	    check_each_ref(b, formula) || check_each_ref(b, judge_step))
		return -1;
	first = &b->acc->node[0];
	if (first->part != PART_CYCLES || !first->cycles || first->event == MODEL_NONE)
		return row_fail(b, b->row_of[0],
				"stands first: it has to be the whole, an event in `part cycles`");
	return sort_all(b);
}
