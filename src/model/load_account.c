/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events that a model's account names with options ("UOPS_ISSUED.ANY:c1"): made while the
 * model is, since its events do not change afterwards.
 */
#include <string.h>

#include "model/build_int.h"

struct seek {
	struct build *b;
	const struct raw *r; /* the account */
	bool failed;
};

static bool find(void *ctx, enum expr_ask ask, const char *name, size_t len, struct expr_ref *out)
{
	struct seek *s = ctx;
	uint32_t event;

	*out = (struct expr_ref){ .kind = EXPR_ABSENT };
	if (ask == ASK_NAME && raw_find(&s->r->row_name, name, len) == UINT32_MAX)
		s->failed = build_event_find(s->b, name, len, &event) < 0 || s->failed;
	return true;
}

static int event_of(struct build *b, const struct raw_row *row)
{
	const struct raw_value *v = &row->value[ACCOUNT_EVENT];
	uint32_t event;

	b->dialect = row->perf ? EXPR_PERF : EXPR_SHEET;
	return v->s && build_event_find(b, v->s, strlen(v->s), &event) < 0 ? -1 : 0;
}

static void events_of_formula(struct seek *s, const struct raw_row *row)
{
	const struct raw_value *v = &row->value[ACCOUNT_EXPR];
	struct expr_scope scope = { find, NULL, s };
	struct expr_text text;
	struct err ignored = ERR_INIT;
	struct expr *e;

	/* without options all its events are the model's anyway */
	if (!v->s || (!row->perf && !strchr(v->s, ':')))
		return;
	text = (struct expr_text){ v->s, strlen(v->s), s->b->dialect, NULL, v->file, v->line };
	if (expr_compile(&e, &s->b->m->arena, &text, &scope, &ignored))
		err_clear(&ignored);
}

int build_account_events(struct build *b)
{
	struct raw r = {
		.arena = b->r->arena, .sources = b->r->sources, .id = b->r->id, .perf = b->r->perf
	};
	struct seek s = { b, &r, false };
	struct err ignored = ERR_INIT;
	int ret = 0;

	if (raw_account(&r, false, &ignored) == 1) {
		for (uint32_t i = r.first; i != MODEL_NONE && !ret; i = r.rows.v[i].next) {
			if (r.rows.v[i].absent)
				continue;
			ret = event_of(b, &r.rows.v[i]);
			events_of_formula(&s, &r.rows.v[i]);
		}
	}
	err_clear(&ignored);
	raw_free(&r);
	return ret || s.failed ? -1 : 0;
}
