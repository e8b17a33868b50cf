/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events that a model's account names with options ("UOPS_ISSUED.ANY:c1"), which no formula of
 * the model itself asks for: they become the model's when its account is loaded, since reading an
 * account takes a tenth of loading a model and counting needs none.
 */
#include <string.h>

#include "model/load/build_int.h"

struct seek {
	struct build b; /* of events: those that are new */
	const struct raw *r;
	bool failed;
};

/* Makes the event of this name, unless there is one or its name is not understood. */
static int seek_event(struct seek *s, const char *name, size_t len)
{
	struct model *m = s->b.m;
	bool perf = s->b.dialect == EXPR_PERF, understood;
	const char *base = name + build_pmu_length(s->b.dialect, name, len);
	size_t base_len = len - (size_t)(base - name);
	size_t at = build_options_at(s->b.dialect, base, base_len);
	uint32_t found = model_event_find(m, base, at), ignored;
	struct model_event e;

	if (found == MODEL_NONE || found >= m->n_events || at == base_len ||
	    model_event_find(m, name, len) != MODEL_NONE)
		return 0;
	e = m->event[found];
	e.encoding = 0;
	if (model_event_options(&e, &m->arena, base + at, base_len - at, perf, &understood))
		return err_nomem(s->b.err);
	if (!understood)
		return 0;
	e.name = arena_strndup(&m->arena, name, len);
	return e.name ? build_event_push(&s->b, &e, &ignored) : err_nomem(s->b.err);
}

static bool find_account_file(void *ctx, enum expr_ask ask, const char *name, size_t len,
			      struct expr_ref *out)
{
	struct seek *s = ctx;

	*out = (struct expr_ref){ .kind = EXPR_ABSENT };
	if (ask == ASK_NAME && raw_find(&s->r->row_name, name, len) == UINT32_MAX)
		s->failed = seek_event(s, name, len) || s->failed;
	return true;
}

/* Errors of a formula are reported when it is compiled. */
static void events_of_formula(struct seek *s, struct arena *a, const struct raw_row *row)
{
	const struct raw_value *v = &row->value[ACCOUNT_EXPR];
	struct expr_scope scope = { find_account_file, NULL, s };
	struct expr_text text;
	struct err ignored = ERR_INIT;
	struct expr *e;

	/* without options all its events are the model's anyway */
	if (!v->s || (!row->perf && !strchr(v->s, ':')))
		return;
	text = (struct expr_text){ v->s, strlen(v->s), s->b.dialect, NULL, v->file, v->line };
	if (expr_compile(&e, a, &text, &scope, &ignored))
		err_clear(&ignored);
}

int model_account_events(struct model *m, const struct raw *r, struct err *err)
{
	struct seek s = { .b = { .m = m, .err = err, .first_event = m->n_events }, .r = r };
	struct arena scratch = ARENA_INIT;
	struct model_event *all;
	int ret = -1;

	for (uint32_t i = r->first; i != MODEL_NONE && !s.failed; i = r->rows.v[i].next) {
		const struct raw_row *row = &r->rows.v[i];
		const struct raw_value *v = &row->value[ACCOUNT_EVENT];

		if (row->absent)
			continue;
		s.b.dialect = row->perf ? EXPR_PERF : EXPR_SHEET;
		s.failed = v->s && seek_event(&s, v->s, strlen(v->s));
		events_of_formula(&s, &scratch, row);
	}
	if (s.failed)
		goto out;
	ret = 0;
	if (!s.b.events.n)
		goto out;
	/* holders of earlier events keep them: the arena does not give back */
	all = arena_alloc(&m->arena, (m->n_events + s.b.events.n) * sizeof(*all));
	if (!all) {
		ret = err_nomem(err);
		goto out;
	}
	if (m->n_events)
		memcpy(all, m->event, m->n_events * sizeof(*all));
	memcpy(all + m->n_events, s.b.events.v, s.b.events.n * sizeof(*all));
	m->event = all;
	m->n_events += s.b.events.n;
out:
	vec_free(&s.b.events);
	arena_free(&scratch);
	return ret;
}
