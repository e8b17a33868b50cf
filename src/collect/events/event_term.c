/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_term - the terms between an event's slashes: "event=0x3c,inv,period=1000".
 *
 * Three rounds over the same terms, so that their order does not matter: whole config words first,
 * then names (aliases of sysfs, generic events), then single fields. A field given by the user
 * replaces that of an alias: mem-loads,ldlat=30 means 30. (perf ors the two.)
 */
#include "collect/events/event_int.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

enum term_kind { NUMBER, WORD, FLAG, NO, REFUSED };
enum term_id {
	BRANCH_TYPE,
	CALL_GRAPH,
	CONFIG,
	CONFIG1,
	CONFIG2,
	CONFIG3,
	CONFIG4,
	FREQ,
	INHERIT,
	MAX_STACK,
	NAME,
	NOTHING,
	PERIOD,
	STACK_SIZE,
	TIME,
};

static const struct term_row {
	const char *name;
	enum term_kind kind;
	enum term_id id;
} term_rows[] = {
#define TERM(name, kind, id) { name, kind, id },
#include "collect/events/event_terms.def"
#undef TERM
};

static const struct {
	const char *name;
	uint64_t bit;
} branch_rows[] = {
#define BRANCH(word, bit) { word, PERF_SAMPLE_BRANCH_##bit },
#include "collect/events/event_branch.def"
#undef BRANCH
};

static const char *const call_graphs[] = { "fp", "dwarf", "unwind", "lbr", "no", NULL };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct term {
	struct word whole, key, value;
	bool has_value;
};

enum round { ROUND_CONFIG, ROUND_NAME, ROUND_FIELD, ROUNDS };

static struct word trim(struct word w)
{
	while (w.len && (*w.s == ' ' || *w.s == '\t')) {
		w.s++;
		w.len--;
	}
	while (w.len && (w.s[w.len - 1] == ' ' || w.s[w.len - 1] == '\t'))
		w.len--;
	return w;
}

/* Takes the next term off `rest`. False at the end. */
static bool take_term(struct word *rest, struct term *t)
{
	const char *s = rest->s, *end = rest->s + rest->len, *eq = NULL;
	bool quoted = false;

	if (!rest->len)
		return false;
	for (; s < end && (quoted || *s != ','); s++) {
		if (*s == '\'')
			quoted = !quoted;
		else if (*s == '=' && !eq)
			eq = s;
	}
	t->whole = trim(word_of(rest->s, s));
	t->has_value = eq;
	t->key = trim(word_of(rest->s, eq ? eq : s));
	t->value = eq ? trim(word_of(eq + 1, s)) : (struct word){ s, 0 };
	if (t->value.len >= 2 && t->value.s[0] == '\'' && t->value.s[t->value.len - 1] == '\'')
		t->value = (struct word){ t->value.s + 1, t->value.len - 2 };
	*rest = s < end ? word_of(s + 1, end) : (struct word){ end, 0 };
	return true;
}

static const struct term_row *term_row_of(struct word key)
{
	for (size_t i = 0; i < COUNT(term_rows); i++)
		if (word_is(key, term_rows[i].name))
			return &term_rows[i];
	return NULL;
}

static uint64_t *config_at(struct event *ev, unsigned place, uint64_t *tmp)
{
	switch (place) {
	case 0:
		*tmp = ev->attr.config;
		break;
	case 1:
		*tmp = ev->attr.config1;
		break;
	case 2:
		*tmp = ev->attr.config2;
		break;
	case 3:
		return &ev->config3;
	default:
		return &ev->config4;
	}
	return tmp;
}

static void config_set(struct event *ev, unsigned place, uint64_t v)
{
	switch (place) {
	case 0:
		ev->attr.config = v;
		break;
	case 1:
		ev->attr.config1 = v;
		break;
	case 2:
		ev->attr.config2 = v;
		break;
	case 3:
		ev->config3 = v;
		break;
	default:
		ev->config4 = v;
	}
}

static int need_number(struct event_parser *p, const struct term *t, uint64_t *v)
{
	*v = 1;
	if (!t->has_value || word_number(t->value, v))
		return 0;
	return event_bad(p, t->whole, "'" WORD_FMT "' takes a number (12, 0x1f) of at most 64 bits",
			 WORD_ARG(t->key));
}

static int put_format_field(struct event_parser *p, struct event *ev, const struct pmu_format *f,
			    const struct term *t)
{
	uint64_t v, tmp;

	if (need_number(p, t, &v))
		return -1;
	if (v > pmu_format_max(f))
		return event_bad(p, t->whole, "the value is too large for '%s': at most %llu",
				 f->name, (unsigned long long)pmu_format_max(f));
	config_set(ev, f->place, pmu_format_put(f, *config_at(ev, f->place, &tmp), v));
	return 0;
}

static bool has_term_key(struct word terms, struct word key)
{
	struct term t;

	while (take_term(&terms, &t))
		if (t.key.len == key.len && !memcmp(t.key.s, key.s, key.len) && t.has_value)
			return true;
	return false;
}

/* The terms of an alias are fields of its own PMU, or whole config words; "core=?" must be given by
 * the user. `terms` are the user's. */
static int put_alias(struct event_parser *p, struct event *ev, const struct pmu *pmu,
		     const struct pmu_alias *alias, const struct term *at, struct word terms)
{
	struct word rest = { alias->text, strlen(alias->text) };
	struct term t;

	while (take_term(&rest, &t)) {
		const struct pmu_format *f = pmu_format_find(pmu, t.key);
		const struct term_row *row = term_row_of(t.key);
		uint64_t v = 1, tmp;

		if (word_is(t.value, "?")) {
			if (!has_term_key(terms, t.key))
				return event_bad(p, at->whole,
						 "'%s' of PMU %s needs " WORD_FMT "=NUMBER too",
						 alias->name, pmu->name, WORD_ARG(t.key));
			continue;
		}
		if (t.has_value && !word_number(t.value, &v))
			goto bad;
		if (f && v <= pmu_format_max(f))
			config_set(ev, f->place,
				   pmu_format_put(f, *config_at(ev, f->place, &tmp), v));
		else if (!f && row && row->id >= CONFIG && row->id <= CONFIG4)
			config_set(ev, (unsigned)(row->id - CONFIG), v);
		else
			goto bad;
	}
	ev->unit = alias->unit;
	ev->scale = alias->scale;
	return 0;
bad:
	return event_bad(p, at->whole,
			 "sysfs defines '%s' of PMU %s as \"%.80s\", and '" WORD_FMT
			 "' of that fits no format",
			 alias->name, pmu->name, alias->text, WORD_ARG(t.whole));
}

/* ---- names of vendors' lists ------------------------------------------------------------ */

/* A term of such a meaning: a field of the PMU, a whole config word, or an alias of sysfs. */
static int put_meant_term(struct event_parser *p, struct event *ev, const struct pmu *pmu,
			  const struct term *t)
{
	const struct pmu_format *f = pmu_format_find(pmu, t->key);
	const struct pmu_alias *alias = t->has_value ? NULL : pmu_alias_find(p->pmus, pmu, t->key);
	const struct term_row *row = term_row_of(t->key);
	uint64_t v = 1, tmp;

	if (alias)
		return put_alias(p, ev, pmu, alias, t, (struct word){ t->key.s, 0 });
	if (t->has_value && !word_number(t->value, &v))
		return 1;
	if (f && v <= pmu_format_max(f))
		config_set(ev, f->place, pmu_format_put(f, *config_at(ev, f->place, &tmp), v));
	else if (!f && row && row->id >= CONFIG && row->id <= CONFIG4)
		config_set(ev, (unsigned)(row->id - CONFIG), v);
	else
		return 1;
	return 0;
}

int event_meant(struct event_parser *p, struct event *ev, const struct pmu *pmu, struct word name,
		const struct event_meaning *m)
{
	struct word rest = { m->terms, strlen(m->terms) };
	struct term t;

	while (take_term(&rest, &t)) {
		int rc = put_meant_term(p, ev, pmu, &t);

		if (rc < 0)
			return -1;
		if (rc)
			return event_bad(p, name,
					 "it is %s/%.100s/, and '" WORD_FMT
					 "' of that fits no format of this machine's PMU",
					 pmu->name, m->terms, WORD_ARG(t.whole));
	}
	ev->attr.exclude_user |= m->exclude_user;
	ev->attr.exclude_kernel |= m->exclude_kernel;
	return 0;
}

/* Does a list of events know the name as one of this PMU? Of one outside the cores any core's
 * does. */
static bool means(const struct event_parser *p, const struct pmu *pmu, struct word name,
		  struct event_meaning *m)
{
	const struct event_names_more *more = p->list->more;

	for (size_t i = 0; more && i < p->pmus->n; i++) {
		const struct pmu *core = &p->pmus->v[i];

		*m = (struct event_meaning){ 0 };
		if (core->core && (!pmu->core || core == pmu) &&
		    more->find(more->ctx, &p->list->arena, core->name, name.s, name.len, m) &&
		    pmu_matches(pmu, (struct word){ m->pmu, strlen(m->pmu) }))
			return true;
	}
	return false;
}

/* ---- terms of all events ---------------------------------------------------------------- */

int event_branch_filter(uint64_t *out, const char *words, struct err *err)
{
	const uint64_t who =
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	const uint64_t flags = PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_NO_FLAGS |
			       PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_PRIV_SAVE |
			       PERF_SAMPLE_BRANCH_HW_INDEX;
	uint64_t all = 0;

	for (const char *s = words;; s++) {
		size_t len = strcspn(s, ",|");
		const char *names[COUNT(branch_rows) + 1] = { NULL };
		char word[40];
		uint64_t bit = 0;

		for (size_t i = 0; i < COUNT(branch_rows); i++) {
			names[i] = branch_rows[i].name;
			if (strlen(names[i]) == len && !strncmp(names[i], s, len))
				bit = branch_rows[i].bit;
		}
		if (!bit) {
			(void)snprintf(word, sizeof(word), "%.*s", (int)(len < 39 ? len : 39), s);
			(void)err_set(err, ERR_USAGE, "no kind of branch is called '%s'", word);
			return text_suggest(err, word, names,
					    "any, any_call, any_ret, cond, ind_call, ind_jmp, "
					    "call; u, k, hv; save_type and more");
		}
		all |= bit;
		s += len;
		if (!*s)
			break;
	}
	*out = all & ~(who | flags) ? all : all | PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

static int put_branch_type(struct event_parser *p, struct event *ev, const struct term *t)
{
	const char *s = t->value.s, *end = s + t->value.len;

	for (;; s++) {
		const char *from = s;
		uint64_t bit = 0;

		while (s < end && *s != '|')
			s++;
		for (size_t i = 0; i < COUNT(branch_rows); i++)
			if (word_is(word_of(from, s), branch_rows[i].name))
				bit = branch_rows[i].bit;
		if (!bit) {
			const char *words[COUNT(branch_rows) + 1] = { NULL };

			for (size_t i = 0; i < COUNT(branch_rows); i++)
				words[i] = branch_rows[i].name;
			(void)event_bad(p, word_of(from, s), "no such kind of branch");
			return event_suggest(p, word_of(from, s), words);
		}
		ev->attr.branch_sample_type |= bit;
		if (s == end)
			return 0;
	}
}

static int put_number_term(struct event_parser *p, struct event *ev, const struct term_row *row,
			   const struct term *t, uint64_t v)
{
	bool zero_ok =
		row->kind != NUMBER || row->id == TIME || (row->id >= CONFIG && row->id <= CONFIG4);
	uint64_t max = row->kind == FLAG || row->id == TIME ? 1
		       : row->id == MAX_STACK		    ? UINT16_MAX
		       : row->id == STACK_SIZE		    ? 65528 /* u16, and a multiple of 8 */
		       : row->id == PERIOD		    ? INT64_MAX
							    : UINT64_MAX;

	if ((!v && !zero_ok) || v > max)
		return event_bad(p, t->whole, "'%s' is between %d and %llu", row->name, !zero_ok,
				 (unsigned long long)max);
	switch (row->id) {
	case CONFIG:
	case CONFIG1:
	case CONFIG2:
	case CONFIG3:
	case CONFIG4:
		config_set(ev, (unsigned)(row->id - CONFIG), v);
		break;
	case PERIOD:
		ev->attr.sample_period = v;
		ev->attr.freq = 0;
		ev->has_period = true;
		break;
	case FREQ:
		ev->attr.sample_freq = v;
		ev->attr.freq = 1;
		ev->has_freq = true;
		break;
	case MAX_STACK:
		ev->attr.sample_max_stack = (uint16_t)v;
		break;
	case STACK_SIZE:
		ev->stack_size = (uint32_t)(v + 7) & ~7u;
		break;
	case INHERIT:
		ev->inherit = v ? 1 : -1;
		break;
	case TIME:
		if (!v)
			return event_bad(p, t->whole,
					 "every sample carries its time: records are put in "
					 "order by it");
		break;
	default: /* percore is about printing, no-overwrite is the default */
		break;
	}
	if (ev->has_period && ev->has_freq)
		return event_bad(p, t->whole, "period and freq exclude each other");
	return 0;
}

static int put_term_row(struct event_parser *p, struct event *ev, const struct term_row *row,
			const struct term *t)
{
	uint64_t v;

	if (row->kind == REFUSED)
		return event_bad(p, t->whole, "'%s' cannot be recorded by this program", row->name);
	if (row->kind == WORD) {
		char *copy;

		if (!t->value.len)
			return event_bad(p, t->whole, "'" WORD_FMT "' needs a value",
					 WORD_ARG(t->key));
		if (row->id == BRANCH_TYPE)
			return put_branch_type(p, ev, t);
		copy = arena_strndup(&p->list->arena, t->value.s, t->value.len);
		if (!copy)
			return err_nomem(p->err);
		if (row->id == NAME) {
			ev->name = copy;
			return 0;
		}
		for (size_t i = 0; call_graphs[i]; i++)
			if (!strcmp(copy, call_graphs[i])) {
				ev->call_graph = call_graphs[i];
				return 0;
			}
		return event_bad(p, t->whole, "call-graph is one of fp, dwarf, unwind, lbr, no");
	}
	if (row->kind == NUMBER && !t->has_value)
		return event_bad(p, t->whole, "'%s' needs a value: %s=NUMBER", row->name,
				 row->name);
	if (row->kind == NO && t->has_value)
		return event_bad(p, t->whole, "'%s' takes no value", row->name);
	if (need_number(p, t, &v))
		return -1;
	return put_number_term(p, ev, row, t, row->kind == NO ? 0 : v);
}

/* cpu_core/cycles/, cpu/L1-dcache-loads/: a generic event of one core PMU. */
static bool put_generic(struct event_parser *p, struct event *ev, const struct pmu *pmu,
			const struct term *t)
{
	const struct event_symbol *sym = event_symbol_find(t->key);
	uint64_t config;
	bool known;

	if (sym && sym->kind == SYMBOL_HARDWARE) {
		ev->attr.type = PERF_TYPE_HARDWARE;
		config = sym->config;
	} else if (event_cache_find(t->key, &config, &known)) {
		ev->attr.type = PERF_TYPE_HW_CACHE;
	} else {
		return false;
	}
	if (p->pmus->n_core > 1)
		config |= (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT;
	ev->attr.config = config;
	return true;
}

bool event_raw_code(struct word w, uint64_t *v)
{
	char text[19] = "0x";

	if (w.len > 3 && !memcmp(w.s, "r0x", 3))
		w = (struct word){ w.s + 2, w.len - 2 };
	if (w.len < 2 || w.len > 17 || (w.s[0] != 'r' && w.s[0] != 'x'))
		return false;
	memcpy(text + 2, w.s + 1, w.len - 1);
	return word_number((struct word){ text, w.len + 1 }, v);
}

static int unknown_term(struct event_parser *p, const struct pmu *pmu, const struct term *t)
{
	VEC(const char *) words = VEC_INIT;
	bool told = false;

	for (size_t i = 0; i < COUNT(term_rows); i++)
		if (vec_push(&words, term_rows[i].name))
			goto out;
	for (size_t i = 0; pmu && i < pmu->n_formats; i++)
		if (vec_push(&words, pmu->format[i].name))
			goto out;
	for (size_t i = 0; pmu && i < pmu->n_aliases; i++)
		if (vec_push(&words, pmu->alias[i].name))
			goto out;
	if (pmu)
		(void)event_bad(p, t->whole, "PMU %s has no term or event '" WORD_FMT "'",
				pmu->name, WORD_ARG(t->key));
	else
		(void)event_bad(p, t->whole, "this kind of event has no term '" WORD_FMT "'",
				WORD_ARG(t->key));
	told = true; /* a failure from here on costs the hint, no more */
	if (!vec_push(&words, NULL))
		(void)(pmu ? event_suggest_more(p, t->key, words.v)
			   : event_suggest(p, t->key, words.v));
out:
	vec_free(&words);
	return told ? -1 : err_nomem(p->err);
}

static int put_event_term(struct event_parser *p, struct event *ev, const struct pmu *pmu,
			  const struct term *t, enum round round, struct word terms)
{
	const struct pmu_format *f = pmu ? pmu_format_find(pmu, t->key) : NULL;
	const struct pmu_alias *alias =
		pmu && !t->has_value ? pmu_alias_find(p->pmus, pmu, t->key) : NULL;
	const struct term_row *row = term_row_of(t->key);
	uint64_t v;

	if (!t->key.len)
		return event_bad(p, t->whole, "a term is missing here");
	if (alias)
		return round == ROUND_NAME ? put_alias(p, ev, pmu, alias, t, terms) : 0;
	if (f)
		return round == ROUND_FIELD ? put_format_field(p, ev, f, t) : 0;
	if (row && row->id >= CONFIG && row->id <= CONFIG4 && !pmu)
		return event_bad(p, t->whole, "'%s' belongs to a PMU's event, as in cpu/%s=0x3c/",
				 row->name, row->name);
	if (row && row->id >= CONFIG && row->id <= CONFIG4)
		return round == ROUND_CONFIG ? put_term_row(p, ev, row, t) : 0;
	if (row)
		return round == ROUND_FIELD ? put_term_row(p, ev, row, t) : 0;
	if (pmu && !t->has_value && event_raw_code(t->key, &v)) {
		if (round == ROUND_CONFIG)
			ev->attr.config = v;
		return 0;
	}
	if (pmu && !t->has_value) {
		const struct event_symbol *sym = event_symbol_find(t->key);

		/* cycles for cpu-cycles of sysfs, and the other way round */
		if (sym && !alias)
			alias = pmu_alias_find(p->pmus, pmu,
					       (struct word){ sym->name, strlen(sym->name) });
		if (sym && !alias && sym->other)
			alias = pmu_alias_find(p->pmus, pmu,
					       (struct word){ sym->other, strlen(sym->other) });
		if (alias)
			return round == ROUND_NAME ? put_alias(p, ev, pmu, alias, t, terms) : 0;
		if (pmu->core && (round != ROUND_NAME || put_generic(p, ev, pmu, t))) {
			bool known;

			if ((sym && sym->kind == SYMBOL_HARDWARE) ||
			    event_cache_find(t->key, &v, &known))
				return 0;
		}
	}
	if (pmu && !t->has_value) {
		struct event_meaning m;

		/* the first round finds who knows it, or fails */
		if (round == ROUND_FIELD || (round == ROUND_CONFIG && means(p, pmu, t->key, &m)))
			return 0;
		if (round == ROUND_NAME && means(p, pmu, t->key, &m))
			return event_meant(p, ev, pmu, t->key, &m);
	}
	return unknown_term(p, pmu, t);
}

int event_terms(struct event_parser *p, struct event *ev, struct pmu *pmu, struct word terms)
{
	if (pmu && pmu_load(p->pmus, pmu))
		return err_nomem(p->err);
	for (enum round round = ROUND_CONFIG; round < ROUNDS; round++) {
		struct word rest = terms;
		struct term t;

		while (take_term(&rest, &t))
			if (put_event_term(p, ev, pmu, &t, round, terms))
				return -1;
	}
	return 0;
}
