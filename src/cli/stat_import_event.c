/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which event of a model is meant by a name that somebody else's tool printed: the model's own
 * name, perf's for it, or its terms.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/stat_import.h"

#define TERMS_MAX 12u

struct term {
	char key[24];
	uint64_t value;
};

struct terms {
	struct term v[TERMS_MAX];
	size_t n;
};

static void set_term(struct terms *t, const char *key, size_t len, uint64_t value)
{
	size_t i = 0;

	if (len >= sizeof(t->v[0].key))
		return;
	while (i < t->n && (strlen(t->v[i].key) != len || memcmp(t->v[i].key, key, len) != 0))
		i++;
	if (i == TERMS_MAX)
		return;
	memcpy(t->v[i].key, key, len);
	t->v[i].key[len] = '\0';
	t->v[i].value = value;
	t->n += i == t->n;
}

/* "event=0x9c,umask=1,edge"; a term that is an event of the model stands for its code. */
static void read_terms(struct terms *t, const struct model *m, const char *s, size_t len)
{
	while (len) {
		const char *comma = memchr(s, ',', len);
		size_t n = comma ? (size_t)(comma - s) : len;
		const char *eq = memchr(s, '=', n);

		if (eq) {
			set_term(t, s, (size_t)(eq - s), strtoull(eq + 1, NULL, 0));
		} else if (n) {
			uint32_t e = m ? model_event_find(m, s, n) : MODEL_NONE;

			if (e == MODEL_NONE)
				set_term(t, s, n, 1);
			else
				read_terms(t, NULL, m->event[e].code, strlen(m->event[e].code));
		}
		s += n + !!comma;
		len -= n + !!comma;
	}
}

static uint64_t term_value(const struct terms *t, const char *key)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].key, key))
			return t->v[i].value;
	return 0; /* as good as 0 */
}

static bool same_terms(const struct terms *a, const struct terms *b)
{
	static const char *const names[] = { "name", "period", "freq" };

	for (size_t i = 0; i < a->n; i++) {
		bool passes = false;

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			passes |= !strcmp(a->v[i].key, names[k]);
		if (!passes && a->v[i].value != term_value(b, a->v[i].key))
			return false;
	}
	return true;
}

/* perf's own names for codes. */
static const struct {
	const char *name, *terms;
} aliases[] = {
	{ "cycles", "event=0x3c" },
	{ "cpu-cycles", "event=0x3c" },
	{ "instructions", "event=0xc0" },
	{ "slots", "event=0x00,umask=0x04" },
	{ "topdown-retiring", "event=0x00,umask=0x80" },
	{ "topdown-bad-spec", "event=0x00,umask=0x81" },
	{ "topdown-fe-bound", "event=0x00,umask=0x82" },
	{ "topdown-be-bound", "event=0x00,umask=0x83" },
	{ "topdown-heavy-ops", "event=0x00,umask=0x84" },
	{ "topdown-br-mispredict", "event=0x00,umask=0x85" },
	{ "topdown-fetch-lat", "event=0x00,umask=0x86" },
	{ "topdown-mem-bound", "event=0x00,umask=0x87" },
};

static uint32_t find_by_terms(const struct model *m, const char *s, size_t len)
{
	struct terms want = { .n = 0 };

	read_terms(&want, m, s, len);
	for (uint32_t e = 0; e < m->n_used; e++) {
		struct terms have = { .n = 0 };

		if (*m->event[e].pmu || !*m->event[e].code)
			continue;
		read_terms(&have, NULL, m->event[e].code, strlen(m->event[e].code));
		if (same_terms(&want, &have) && same_terms(&have, &want))
			return e;
	}
	return MODEL_NONE;
}

uint32_t import_event(const struct model *m, const char *name)
{
	size_t len = strlen(name);
	uint32_t e = model_event_find(m, name, len);
	const char *slash = strchr(name, '/'), *end = strrchr(name, '/'), *colon;

	if (e != MODEL_NONE)
		return e;
	if (slash && end > slash)
		return find_by_terms(m, slash + 1, (size_t)(end - slash - 1));
	colon = strrchr(name, ':'); /* modifiers */
	if (colon) {
		len = (size_t)(colon - name);
		e = model_event_find(m, name, len);
	}
	for (size_t i = 0; e == MODEL_NONE && i < sizeof(aliases) / sizeof(*aliases); i++)
		if (strlen(aliases[i].name) == len && !memcmp(aliases[i].name, name, len))
			return find_by_terms(m, aliases[i].terms, strlen(aliases[i].terms));
	return e;
}
