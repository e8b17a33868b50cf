/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_same - whether two names are one counter.
 *
 * Formulas and event lists name the same encoding in different ways (a counter mask as an option of
 * the formula, or as an event of its own). Terms are compared as numbers, in any order; a term of 0
 * is as good as none, and one without a value is 1.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/event_same.h"

struct term {
	const char *name, *text; /* of the value; text NULL: none */
	size_t name_len, text_len;
};

/* Takes the next term off *s; false at the end. */
static bool next_term(const char **s, struct term *out)
{
	const char *end, *eq;

	if (!*s || !**s)
		return false;
	end = *s + strcspn(*s, ",");
	eq = memchr(*s, '=', (size_t)(end - *s));
	out->name = *s;
	out->name_len = (size_t)((eq ? eq : end) - *s);
	out->text = eq ? eq + 1 : NULL;
	out->text_len = eq ? (size_t)(end - eq - 1) : 0;
	*s = *end ? end + 1 : end;
	return true;
}

/* The value of a term: its number, or a hash of its text. */
static uint64_t term_number(const struct term *t)
{
	char *end;
	uint64_t v;

	if (!t->text)
		return 1;
	v = strtoull(t->text, &end, 0);
	return t->text_len && end == t->text + t->text_len ? v : hash_bytes(t->text, t->text_len);
}

static uint64_t text_hash(const char *s)
{
	return s ? hash_bytes(s, strlen(s)) : 0;
}

uint64_t event_encoding(const struct model_event *e)
{
	uint64_t h = hash_pair(text_hash(e->pmu), text_hash(e->modifiers));
	const char *s = e->code;
	struct term t;

	if (e->encoding)
		return e->encoding;
	if (!s || !*s || e->flags & (EVENT_METRIC | EVENT_SOFTWARE | EVENT_UNCORE))
		return 0;
	while (next_term(&s, &t))
		if (term_number(&t))
			h += hash_pair(hash_bytes(t.name, t.name_len), term_number(&t));
	return h ? h : 1;
}

/* Every term of a is one of b. */
static bool terms_in(const char *a, const char *b)
{
	struct term x, y;

	while (next_term(&a, &x)) {
		const char *s = b;
		bool found = !term_number(&x);

		while (!found && next_term(&s, &y))
			found = x.name_len == y.name_len && !memcmp(x.name, y.name, x.name_len) &&
				term_number(&x) == term_number(&y);
		if (!found)
			return false;
	}
	return true;
}

bool events_same(const struct model_event *a, const struct model_event *b)
{
	return !strcmp(a->pmu, b->pmu) && !strcmp(a->modifiers, b->modifiers) &&
	       terms_in(a->code, b->code) && terms_in(b->code, a->code);
}

bool event_same(const struct model *m, uint32_t a, uint32_t b)
{
	uint64_t one = event_encoding(&m->event[a]);

	return a == b || (one && one == event_encoding(&m->event[b]) &&
			  events_same(&m->event[a], &m->event[b]));
}

const char *const event_cycle_names[] = {
	"CPU_CLK_UNHALTED.THREAD",
	"CPU_CLK_UNHALTED.THREAD_P",
	"CPU_CLK_UNHALTED.CORE",
	"CPU_CLK_UNHALTED.CORE_P",
	"ls_not_halted_cyc",
	"CPU_CYCLES",
	"cpu-cycles",
	"cycles",
	NULL,
};

uint32_t event_cycles(const struct model *m)
{
	for (const char *const *name = event_cycle_names; *name; name++) {
		uint32_t e = model_event_find(m, *name, strlen(*name));

		if (e != MODEL_NONE)
			return e;
	}
	return MODEL_NONE;
}
