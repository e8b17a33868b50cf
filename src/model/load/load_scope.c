/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Look-up of the names in a model's formulas.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/nomem.h"
#include "base/text.h"
#include "model/load/build_int.h"

int build_name(struct build *b, struct strtab *t, struct name_at *at, const char *name,
	       uint32_t index)
{
	char key[256];
	size_t n = strlen(name);
	uint32_t id;

	if (n >= sizeof(key))
		return 0;
	for (size_t i = 0; i <= n; i++)
		key[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	if (t->n == 0 && strtab_add(t, "", 0) == STR_NONE)
		return err_nomem(b->err);
	id = strtab_adds(t, key);
	if (id == STR_NONE)
		return err_nomem(b->err);
	while (at->n <= id)
		if (vec_push(at, MODEL_NONE))
			return err_nomem(b->err);
	if (at->v[id] == MODEL_NONE)
		at->v[id] = index;
	return 0;
}

uint32_t build_name_find(const struct strtab *t, const struct name_at *at, const char *name,
			 size_t len)
{
	uint32_t id = raw_find(t, name, len); /* counts from 0: one less than the table does */

	return id == UINT32_MAX || (size_t)id + 1 >= at->n ? MODEL_NONE : at->v[id + 1];
}

/* ---- events ---- */

int build_event_push(struct build *b, const struct model_event *e, uint32_t *out)
{
	struct model_names *names = b->m->names;

	if (vec_push(&b->events, *e))
		return err_nomem(b->err);
	*out = (uint32_t)(b->first_event + b->events.n - 1);
	return build_name(b, &names->event, &names->event_at, e->name, *out);
}

int build_event(struct build *b, uint32_t raw, uint32_t *out)
{
	struct model_event e;

	*out = b->event[raw];
	if (*out != MODEL_NONE)
		return 0;
	if (model_event_parse(&e, &b->m->arena, &b->r->events.v[raw], b->m, b->err) ||
	    build_event_push(b, &e, out))
		return -1;
	b->event[raw] = *out;
	return 0;
}

size_t build_options_at(enum expr_dialect dialect, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] == ':' || (dialect == EXPR_PERF && (name[i] == ',' || name[i] == '/')))
			return i;
	return len;
}

size_t build_pmu_length(enum expr_dialect dialect, const char *name, size_t len)
{
	return dialect == EXPR_PERF && len > 4 && !memcmp(name, "cpu/", 4) ? 4 : 0;
}

int build_event_find(struct build *b, const char *name, size_t len, uint32_t *out)
{
	struct model_names *names = b->m->names;
	bool perf = b->dialect == EXPR_PERF, understood;
	const char *base = name + build_pmu_length(b->dialect, name, len);
	struct model_event e;
	size_t base_len, at;
	uint32_t i;

	*out = build_name_find(&names->event, &names->event_at, name, len);
	if (*out != MODEL_NONE)
		return 1;
	base_len = len - (size_t)(base - name);
	at = build_options_at(b->dialect, base, base_len);
	i = raw_find(&b->r->event_name, base, at);
	if (i == UINT32_MAX || b->r->events.v[i].absent)
		return 0;
	if (at == base_len)
		return build_event(b, i, out) ? -1 : 1;
	if (model_event_parse(&e, &b->m->arena, &b->r->events.v[i], b->m, b->err))
		return -1;
	if (model_event_options(&e, &b->m->arena, base + at, base_len - at, perf, &understood))
		return err_nomem(b->err);
	if (!understood)
		return 0;
	e.name = arena_strndup(&b->m->arena, name, len);
	if (!e.name)
		return err_nomem(b->err);
	return build_event_push(b, &e, out) ? -1 : 1;
}

/* ---- metrics ---- */

/* `##Node`: the sum of its children, a metric that no file has. */
static bool sum_find(struct build *b, const char *name, size_t len, struct expr_ref *out)
{
	struct model_names *names = b->m->names;
	uint32_t row = raw_find(&b->r->row_name, name + 2, len - 2);
	struct model_metric m = {
		.parent = MODEL_NONE, .area = "Aux", .max = NAN, .scale = 1, .domain = DOMAIN_OTHER
	};
	struct buf text = BUF_INIT;
	bool ok = false;

	if (row == UINT32_MAX)
		return false;
	*out = (struct expr_ref){ .kind = EXPR_ABSENT };
	if (b->r->rows.v[row].absent || b->row[row].child == MODEL_NONE)
		return true;
	out->kind = EXPR_METRIC;
	out->index = build_name_find(&names->metric, &names->metric_at, name, len);
	if (out->index != MODEL_NONE) {
		out->program = b->metrics.v[out->index].expr;
		return true;
	}
	for (uint32_t c = b->row[row].child; c != MODEL_NONE; c = b->row[c].sibling)
		buf_printf(&text, "%s%s", text.len ? " + " : "", b->r->rows.v[c].name);
	m.name = arena_strndup(&b->m->arena, name, len);
	m.text = arena_strdup(&b->m->arena, buf_str(&text));
	m.file = b->r->rows.v[row].file;
	m.line = b->r->rows.v[row].line;
	if (text.failed || !m.name || !m.text) {
		(void)err_nomem(b->err);
		goto out;
	}
	/* perf's language: there a name may begin with a digit */
	ok = !build_metric(b, &m, EXPR_PERF, &out->index);
	if (ok)
		out->program = b->metrics.v[out->index].expr;
out:
	buf_free(&text);
	return ok;
}

static bool row_find(struct build *b, uint32_t row, struct expr_ref *out)
{
	const struct row_build *rb = &b->row[row];

	*out = (struct expr_ref){ .kind = EXPR_ABSENT };
	if (b->r->rows.v[row].absent)
		return true;
	if (build_row(b, row))
		return false;
	if (rb->constant) {
		out->kind = EXPR_CONSTANT;
		out->value = rb->number;
		return true;
	}
	out->kind = EXPR_METRIC;
	out->index = rb->metric;
	out->program = b->metrics.v[rb->metric].expr;
	return true;
}

/* Words that models can use in either language, besides the language's own. */
static const struct {
	const char *name;
	enum expr_system system;
} facts[] = {
	{ "TSC", SYSTEM_TSC },
	{ "#core_wide", SYSTEM_CORE_WIDE },
	{ "#has_pmem", SYSTEM_HAS_PMEM },
	{ "#num_cores", SYSTEM_CORES },
	{ "#num_cpus", SYSTEM_CPUS },
	{ "#num_cpus_online", SYSTEM_CPUS_ONLINE },
	{ "#num_dies", SYSTEM_DIES },
	{ "#num_packages", SYSTEM_PACKAGES },
	{ "#slots", SYSTEM_SLOTS },
	{ "#system_tsc_freq", SYSTEM_TSC_FREQ },
};

bool build_fact_find(const char *name, size_t len, struct expr_ref *out)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (strlen(facts[i].name) != len || memcmp(facts[i].name, name, len))
			continue;
		*out = (struct expr_ref){ .kind = EXPR_SYSTEM, .index = facts[i].system };
		return true;
	}
	return false;
}

#define SLOTS	"TOPDOWN.SLOTS"
#define SLOTS_P "TOPDOWN.SLOTS_P" /* the same, on any general counter */

bool build_no_slots(const struct build *b)
{
	return b->system[SYSTEM_NO_SLOTS] > 0 &&
	       raw_find(&b->r->event_name, SLOTS_P, strlen(SLOTS_P)) != UINT32_MAX;
}

static bool is_slots(const char *name, size_t len)
{
	size_t n = strlen(SLOTS);

	return len >= n && !memcmp(name, SLOTS, n) && (len == n || name[n] == ':');
}

static bool find_in_scope(void *ctx, enum expr_ask ask, const char *name, size_t len,
			  struct expr_ref *out)
{
	struct build *b = ctx;
	uint32_t row, event;
	int got;

	if (ask == ASK_SOURCE_COUNT || ask == ASK_CPUID) {
		*out = (struct expr_ref){ .kind = EXPR_ABSENT };
		return true;
	}
	if (ask == ASK_NAME) {
		if (len > 2 && name[0] == '#' && name[1] == '#')
			return sum_find(b, name, len, out);
		row = raw_find(&b->r->row_name, name, len);
		if (row != UINT32_MAX)
			return row_find(b, row, out);
		if (build_fact_find(name, len, out))
			return true;
	}
	got = build_no_slots(b) && is_slots(name, len)
		      ? build_event_find(b, SLOTS_P, strlen(SLOTS_P), &event)
		      : build_event_find(b, name, len, &event);
	if (got < 0)
		return false;
	if (ask == ASK_HAS_EVENT) {
		*out = (struct expr_ref){ .kind = EXPR_CONSTANT, .value = got };
		return true;
	}
	*out = (struct expr_ref){ .kind = EXPR_EVENT, .index = event };
	return got > 0;
}

static const char *nearest_in_scope(void *ctx, const char *name, size_t len)
{
	struct build *b = ctx;
	char word[128];
	size_t n = 0;

	if (!b->words) {
		b->words = calloc(b->r->rows.n + b->r->events.n + 1, sizeof(*b->words));
		if (!b->words) {
			nomem_note();
			return NULL;
		}
		for (size_t i = 0; i < b->r->rows.n; i++)
			if (!b->r->rows.v[i].absent)
				b->words[n++] = b->r->rows.v[i].name;
		for (size_t i = 0; i < b->r->events.n; i++)
			if (!b->r->events.v[i].absent)
				b->words[n++] = b->r->events.v[i].name;
	}
	(void)snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : 0), name);
	return text_nearest(word, b->words);
}

struct expr_scope build_scope(struct build *b)
{
	return (struct expr_scope){ find_in_scope, nearest_in_scope, b };
}
