/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collect/events/event_int.h"
#include "collect/sysfs.h"

/* Shared by the events of a word. */
struct parsed {
	size_t from;	   /* first event of it in the list */
	const char *start; /* in the text */
	struct word head, terms, mods;
	bool slashes;  /* terms stood between slashes, however few */
	bool is_pmu;   /* head is a PMU (or many) */
	bool expanded; /* one word became events of several PMUs: their names have the PMU */
	bool boxes;    /* and none of them counts for the cores */
};

int event_bad(struct event_parser *p, struct word w, const char *fmt, ...)
{
	char msg[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return err_set(p->err, ERR_USAGE, "event '" WORD_FMT "' (column %zu): %s", WORD_ARG(w),
		       (size_t)(w.s - p->text) + 1, msg);
}

int event_suggest(struct event_parser *p, struct word w, const char *const *words)
{
	char s[64];

	(void)snprintf(s, sizeof(s), "%.*s", (int)(w.len < sizeof(s) ? w.len : 0), w.s);
	return text_suggest(p->err, s, words, "`cyclade list events` shows what there is");
}

const char *const *event_words(struct event_parser *p)
{
	struct arena *a = p->pmus->arena;
	size_t n = 0, max = 2 * n_event_symbols + 64 + p->pmus->n;
	const char **words;
	char name[64];

	for (size_t i = 0; i < p->pmus->n; i++) {
		if (pmu_load(p->pmus, &p->pmus->v[i]))
			return NULL;
		max += p->pmus->v[i].n_aliases;
	}
	words = arena_alloc(a, (max + 1) * sizeof(*words));
	if (!words)
		return NULL;
	for (size_t i = 0; i < n_event_symbols; i++) {
		words[n++] = event_symbols[i].name;
		if (event_symbols[i].other)
			words[n++] = event_symbols[i].other;
	}
	for (uint64_t c = 0; c < 64; c++) /* 7 caches, 3 operations, 2 results */
		if (event_cache_name((c & 7) | (c >> 3 & 3) << 8 | (c >> 5) << 16, name))
			words[n++] = arena_strdup(a, name);
	for (size_t i = 0; i < p->pmus->n; i++) {
		words[n++] = p->pmus->v[i].name;
		for (size_t j = 0; j < p->pmus->v[i].n_aliases; j++)
			words[n++] = p->pmus->v[i].alias[j].name;
	}
	return words;
}

struct event *event_add(struct event_parser *p, uint32_t type, uint64_t config, const char *pmu)
{
	struct event *ev;

	if (p->list->ev.n >= EVENT_MAX) {
		(void)err_set(p->err, ERR_LIMIT, "more than %u events", EVENT_MAX);
		return NULL;
	}
	ev = vec_add(&p->list->ev);
	if (!ev) {
		(void)err_nomem(p->err);
		return NULL;
	}
	memset(ev, 0, sizeof(*ev));
	ev->attr.type = type;
	ev->attr.config = config;
	ev->attr.exclude_guest = 1;
	ev->pmu = pmu;
	ev->scale = 1;
	ev->group = ev->box_of = (int)p->list->ev.n - 1;
	return ev;
}

static struct word word_upto(struct event_parser *p, const char *stops)
{
	const char *from = p->at;

	while (p->at < p->end && *p->at && !strchr(stops, *p->at))
		p->at++;
	return word_of(from, p->at);
}

static void skip_event_blanks(struct event_parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n'))
		p->at++;
}

static bool at_char(const struct event_parser *p, char c)
{
	return p->at < p->end && *p->at == c;
}

void event_cpus(const uint32_t **cpus, size_t *n, const struct event *ev, struct arena *a)
{
	if (!ev->cpus || cpu_list_parse(a, ev->cpus, strlen(ev->cpus), cpus, n))
		*cpus = NULL;
}

/* ---- one word --------------------------------------------------------------------------- */

static struct event *add_of(struct event_parser *p, struct pmu *pmu, uint32_t type, uint64_t config)
{
	struct event *ev = event_add(p, type, config, NULL);

	if (!ev)
		return NULL;
	pmu_know(p->pmus, pmu);
	ev->pmu = pmu->name;
	ev->cpus = pmu->cpus;
	return ev;
}

/* A generic event: one, or on a hybrid machine one for each kind of core. */
static int add_generic_event(struct event_parser *p, struct parsed *q, uint32_t type,
			     uint64_t config)
{
	const char *core = "cpu";

	for (size_t i = 0; i < p->pmus->n; i++) {
		struct pmu *pmu = &p->pmus->v[i];
		struct event *ev;

		if (!pmu->core)
			continue;
		core = pmu->name;
		if (p->pmus->n_core < 2)
			break;
		if (type == PERF_TYPE_RAW)
			ev = add_of(p, pmu, pmu->type, config);
		else
			ev = add_of(p, pmu, type,
				    config | (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT);
		if (!ev)
			return -1;
		q->expanded = true;
	}
	if (q->expanded)
		return 0;
	return event_add(p, type, config, core) ? 0 : -1;
}

/* 1: not a generic name. */
static int add_named_event(struct event_parser *p, struct parsed *q)
{
	const struct event_symbol *sym = event_symbol_find(q->head);
	uint64_t config;
	bool known;

	if (sym && sym->kind == SYMBOL_TOOL && p->list->counts) {
		struct event *ev =
			event_add(p, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, "software");

		if (!ev)
			return -1;
		ev->tool = (enum event_tool)sym->config;
		return 0;
	}
	if (sym && sym->kind == SYMBOL_TOOL) {
		(void)event_bad(p, q->head, "this is perf's own clock, which nobody can sample");
		return err_hint(p->err, "cpu-clock and task-clock sample time");
	}
	if (sym && sym->kind == SYMBOL_SOFTWARE)
		return event_add(p, PERF_TYPE_SOFTWARE, sym->config, "software") ? 0 : -1;
	if (sym)
		return add_generic_event(p, q, PERF_TYPE_HARDWARE, sym->config);
	if (event_cache_find(q->head, &config, &known))
		return add_generic_event(p, q, PERF_TYPE_HW_CACHE, config);
	if (event_raw_code(q->head, &config))
		return add_generic_event(p, q, PERF_TYPE_RAW, config);
	return 1;
}

/* Bare names of sysfs: slots, mem-loads, tsc. 1: no PMU has it. */
static int add_alias(struct event_parser *p, struct parsed *q)
{
	bool cores = false;
	size_t found = 0;

	for (size_t i = 0; i < p->pmus->n; i++) {
		struct pmu *pmu = &p->pmus->v[i];
		struct event *ev;

		if (!pmu_may_have(p->pmus, pmu, q->head))
			continue;
		if (pmu_load(p->pmus, pmu))
			return err_nomem(p->err);
		if (!pmu_alias_find(p->pmus, pmu, q->head))
			continue;
		ev = add_of(p, pmu, pmu->type, 0);
		if (!ev || event_terms(p, ev, pmu, q->head))
			return -1;
		cores |= pmu->core;
		q->expanded = found++;
	}
	q->boxes = q->expanded && !cores;
	return !found;
}

int event_suggest_more(struct event_parser *p, struct word w, const char *const *words)
{
	const struct event_names_more *more = p->list->more;
	const char *name = NULL, *near = NULL;

	if (more && words && w.len < 200)
		name = arena_strndup(&p->list->arena, w.s, w.len);
	if (name && !text_nearest(name, words))
		near = more->nearest(more->ctx, name);
	return near ? err_hint(p->err, "did you mean %s?", near) : event_suggest(p, w, words);
}

static int unknown_name(struct event_parser *p, struct word head)
{
	uint64_t config;
	bool cache;

	(void)event_cache_find(head, &config, &cache);
	(void)event_bad(p, head, cache ? "no such event of this cache" : "no event of this name");
	return cache ? event_suggest(p, head, event_words(p))
		     : event_suggest_more(p, head, event_words(p));
}

static int unknown_pmu(struct event_parser *p, struct word head)
{
	const char **words = arena_alloc(p->pmus->arena, (p->pmus->n + 1) * sizeof(*words));
	const char *core = NULL;

	(void)event_bad(p, head, "this machine has no PMU of this name, nor such an event");
	for (size_t i = 0; words && i < p->pmus->n; i++) {
		words[i] = p->pmus->v[i].name;
		if (p->pmus->v[i].core)
			core = words[i];
	}
	if (word_is(head, "cpu") && core)
		return err_hint(p->err, "its cores have PMUs of their own: %s/.../", core);
	if (word_is(head, "cpu"))
		return err_hint(p->err, "`cyclade doctor` says why there is none");
	return event_suggest_more(p, head, words);
}

/* "pmu/terms/" for each PMU that the word means. */
static int add_pmus(struct event_parser *p, struct parsed *q)
{
	struct pmu *exact = pmu_find(p->pmus, q->head);
	bool cores = false;
	size_t found = 0;

	q->is_pmu = true;
	for (size_t i = 0; i < p->pmus->n; i++) {
		struct pmu *pmu = &p->pmus->v[i];
		struct event *ev;

		if (exact ? pmu != exact : !pmu_matches(pmu, q->head))
			continue;
		ev = add_of(p, pmu, pmu->type, 0);
		if (!ev || event_terms(p, ev, pmu, q->terms))
			return -1;
		cores |= pmu->core;
		found++;
	}
	q->expanded = found && !exact;
	q->boxes = found > 1 && !cores;
	return found ? 0 : unknown_pmu(p, q->head);
}

/* The terms between slashes, behind p->at. */
static int take_terms(struct event_parser *p, struct parsed *q)
{
	const char *from = ++p->at;
	bool quoted = false;

	while (p->at < p->end && *p->at && (quoted || *p->at != '/')) {
		if (*p->at == '\'')
			quoted = !quoted;
		p->at++;
	}
	if (!at_char(p, '/')) {
		(void)event_bad(p, word_of(q->start, p->at), "the closing slash is missing");
		return err_hint(p->err, WORD_FMT "/.../", WORD_ARG(q->head));
	}
	q->terms = word_of(from, p->at++);
	q->slashes = true;
	return 0;
}

/* `own`: the fields of the events' PMUs are terms, too. */
static int terms_of_all(struct event_parser *p, const struct parsed *q, bool own)
{
	for (size_t i = q->from; i < p->list->ev.n; i++) {
		struct event *ev = &p->list->ev.v[i];
		struct pmu *pmu =
			own ? pmu_find(p->pmus, (struct word){ ev->pmu, strlen(ev->pmu) }) : NULL;

		if (event_terms(p, ev, pmu, q->terms))
			return -1;
	}
	return 0;
}

/* A name of two parts, in front of the second: SYSTEM:NAME, or TYPE:CONFIG in numbers. 1: neither.
 */
static int add_colon(struct event_parser *p, struct parsed *q)
{
	const char *colon = p->at++;
	struct word name = word_upto(p, ":,{}/");
	uint64_t type, config;

	if (word_number(q->head, &type) && word_number(name, &config)) {
		const char *pmu = "raw";

		if (type > UINT32_MAX)
			return event_bad(p, q->head, "a type is a number of 32 bits");
		for (size_t i = 0; i < p->pmus->n; i++)
			if (p->pmus->v[i].type == type)
				pmu = p->pmus->v[i].name;
		return event_add(p, (uint32_t)type, config, pmu) ? 0 : -1;
	}
	if (event_modifiers_known(name) && !word_has_glob(q->head) &&
	    !event_is_trace_system(p, q->head)) {
		p->at = colon;
		return 1;
	}
	if (event_tracepoint(p, word_of(q->start, p->at), q->head, name))
		return -1;
	if (!at_char(p, '/'))
		return 0;
	return take_terms(p, q) ? -1 : terms_of_all(p, q, false);
}

/* An event of each kind of cores that has the name. */
static int add_meant(struct event_parser *p, struct parsed *q, const char *core, struct word name)
{
	const struct event_names_more *more = p->list->more;
	struct event_meaning m = { 0 };
	struct word pmu_word;
	size_t found = 0;

	if (!more->find(more->ctx, &p->list->arena, core, name.s, name.len, &m))
		return 1;
	pmu_word = (struct word){ m.pmu, strlen(m.pmu) };
	for (size_t i = 0; i < p->pmus->n; i++) {
		struct pmu *pmu = &p->pmus->v[i];
		struct event *ev;

		if (!pmu_matches(pmu, pmu_word))
			continue;
		if (pmu_load(p->pmus, pmu))
			return err_nomem(p->err);
		ev = add_of(p, pmu, pmu->type, 0);
		if (!ev || event_meant(p, ev, pmu, q->head, &m))
			return -1;
		found++;
	}
	q->expanded |= found > 1;
	if (found)
		return 0;
	(void)event_bad(p, q->head,
			"it is an event of %s/%.100s/, and this machine has no such PMU", m.pmu,
			m.terms);
	return err_hint(p->err, "`cyclade doctor` says why there is none");
}

static int add_more_name(struct event_parser *p, struct parsed *q, struct word name)
{
	bool any = false, core = false;
	size_t from = p->list->ev.n;

	for (size_t i = 0; i < p->pmus->n; i++) {
		int rc;

		if (!p->pmus->v[i].core)
			continue;
		core = true;
		rc = add_meant(p, q, p->pmus->v[i].name, name);
		if (rc < 0)
			return -1;
		any |= !rc;
		/* uncore: the other cores' model means the same */
		if (p->list->ev.n > from &&
		    strcmp(p->list->ev.v[from].pmu, p->pmus->v[i].name) != 0)
			break;
	}
	if (!core)
		return add_meant(p, q, "cpu", name);
	q->expanded |= p->list->ev.n > from + 1;
	return !any;
}

/* Names of vendors' lists, which may have colons: without modifiers behind them, then with them. 1:
 * nobody knows it. */
static int add_more(struct event_parser *p, struct parsed *q)
{
	const char *from = p->at;
	struct word all, last;
	int rc = 1;

	if (!p->list->more || (at_char(p, ':') && event_is_trace_system(p, q->head)))
		return 1;
	p->at = q->start;
	all = word_upto(p, "/,{} \t\n");
	last = all;
	while (last.len && last.s[last.len - 1] != ':')
		last.len--;
	if (last.len > 1 && event_modifiers_known(word_of(last.s + last.len, all.s + all.len))) {
		p->at = last.s + last.len - 1;
		rc = add_more_name(p, q, word_of(all.s, p->at));
	}
	if (rc > 0) {
		p->at = all.s + all.len;
		rc = add_more_name(p, q, all);
	}
	if (rc > 0)
		p->at = from;
	else
		q->head = word_of(all.s, p->at);
	return rc;
}

/* "NAME/terms/": a PMU, else an event that terms are added to. */
static int add_slashes(struct event_parser *p, struct parsed *q)
{
	const char *slash = p->at;
	size_t i = 0;
	int rc;

	while (i < p->pmus->n && !pmu_matches(&p->pmus->v[i], q->head))
		i++;
	if (i == p->pmus->n) {
		rc = add_named_event(p, q);
		if (!rc)
			return take_terms(p, q) || terms_of_all(p, q, false) ? -1 : 0;
		if (rc > 0)
			rc = add_alias(p, q);
		if (rc > 0)
			rc = add_more(p, q);
		if (rc <= 0)
			return rc || take_terms(p, q) || terms_of_all(p, q, true) ? -1 : 0;
	}
	p->at = slash;
	return take_terms(p, q) ? -1 : add_pmus(p, q);
}

static int add_plain_event(struct event_parser *p, struct parsed *q)
{
	int rc = add_named_event(p, q);

	if (rc > 0)
		rc = add_alias(p, q);
	if (rc > 0) {
		rc = add_more(p, q);
		/* libpfm's have colons: the rest could not be seen before */
		if (!rc && at_char(p, '/'))
			return take_terms(p, q) || terms_of_all(p, q, true) ? -1 : 0;
	}
	if (rc > 0 && at_char(p, ':'))
		rc = add_colon(p, q);
	return rc > 0 ? unknown_name(p, q->head) : rc;
}

static const struct prefix {
	const char *text;
	bool breakpoint, kernel, at_return;
} prefixes[] = {
	{ "mem:", true, false, false },	      { "uprobe:", false, false, false },
	{ "uretprobe:", false, false, true }, { "kprobe:", false, true, false },
	{ "kretprobe:", false, true, true },
};

static const struct prefix *prefix_at(const struct event_parser *p)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i].text);

		if ((size_t)(p->end - p->at) >= len && !memcmp(p->at, prefixes[i].text, len))
			return &prefixes[i];
	}
	return NULL;
}

static int take_modifiers(struct event_parser *p, struct parsed *q)
{
	bool colon = at_char(p, ':');

	q->mods = word_of(p->at, p->at);
	if (!colon && !q->slashes)
		return 0;
	p->at += colon;
	q->mods = word_upto(p, ":/,{} \t\n");
	if (colon && !q->mods.len)
		return event_bad(p, word_of(q->start, p->at), "modifiers are missing behind ':'");
	return event_modifiers_check(p, q->mods);
}

static int parse_event(struct event_parser *p)
{
	struct parsed q = { .from = p->list->ev.n, .start = p->at };
	const struct prefix *prefix = prefix_at(p);
	struct word typed;
	int rc;

	if (prefix) {
		p->at += strlen(prefix->text);
		rc = prefix->breakpoint
			     ? event_breakpoint(p)
			     : event_probe(p, q.start, prefix->kernel, prefix->at_return);
	} else {
		q.head = word_upto(p, ":/,{} \t\n");
		if (!q.head.len)
			return event_bad(p, word_of(p->at, p->at < p->end ? p->at + 1 : p->at),
					 "an event's name is missing here");
		rc = at_char(p, '/') ? add_slashes(p, &q) : add_plain_event(p, &q);
	}
	if (rc || take_modifiers(p, &q))
		return -1;
	for (size_t i = q.from; i < p->list->ev.n; i++)
		if (event_modifiers_apply(p, &p->list->ev.v[i], q.mods, true))
			return -1;
	typed = word_of(q.start, p->at);
	/* the name, unless terms gave one: as typed, or as expanded on each PMU */
	for (size_t i = q.from; i < p->list->ev.n; i++) {
		struct event *ev = &p->list->ev.v[i];
		struct arena *a = &p->list->arena;

		if (q.boxes)
			ev->box_of = (int)q.from;
		if (ev->name)
			continue;
		if (q.boxes)
			ev->boxes = arena_strndup(a, typed.s, typed.len);
		if (q.boxes && !ev->boxes)
			return err_nomem(p->err);
		if (q.expanded && q.is_pmu)
			ev->name = arena_printf(a, "%s/%.*s/%.*s", ev->pmu, (int)q.terms.len,
						q.terms.s, (int)q.mods.len, q.mods.s);
		else if (q.expanded)
			ev->name = arena_printf(a, "%s/%.*s%s%.*s/%.*s", ev->pmu, (int)q.head.len,
						q.head.s, q.terms.len ? "," : "", (int)q.terms.len,
						q.terms.len ? q.terms.s : "", (int)q.mods.len,
						q.mods.s);
		else
			ev->name = arena_strndup(a, typed.s, typed.len);
		if (!ev->name)
			return err_nomem(p->err);
	}
	return 0;
}

/* ---- groups and lists ------------------------------------------------------------------- */

static bool is_software(const struct event *ev)
{
	return ev->attr.type == PERF_TYPE_SOFTWARE || ev->attr.type == PERF_TYPE_TRACEPOINT ||
	       ev->attr.type == PERF_TYPE_BREAKPOINT;
}

static int parse_group(struct event_parser *p)
{
	struct parsed q = { .from = p->list->ev.n, .start = p->at };
	const char *first = NULL; /* the PMU of the first group */

	p->at++;
	for (;;) {
		skip_event_blanks(p);
		if (at_char(p, '{'))
			return event_bad(p, word_of(p->at, p->at + 1),
					 "a group cannot hold a group");
		if (parse_event(p))
			return -1;
		skip_event_blanks(p);
		if (at_char(p, '}'))
			break;
		if (!at_char(p, ','))
			return event_bad(p, word_of(q.start, p->at),
					 "the group's closing brace is missing");
		p->at++;
	}
	p->at++;
	if (take_modifiers(p, &q))
		return -1;
	/* One PMU counts a group. If words became events of several PMUs, each gets a group of its
	 * own; software events go with the first. */
	for (size_t i = q.from; i < p->list->ev.n; i++) {
		struct event *ev = &p->list->ev.v[i];

		ev->group = (int)q.from;
		if (is_software(ev))
			continue;
		if (!first)
			first = ev->pmu;
		if (!strcmp(first, ev->pmu))
			continue;
		for (size_t j = q.from; j <= i; j++)
			if (!is_software(&p->list->ev.v[j]) &&
			    !strcmp(p->list->ev.v[j].pmu, ev->pmu)) {
				ev->group = (int)j;
				break;
			}
	}
	for (size_t i = q.from; i < p->list->ev.n; i++) {
		struct event *ev = &p->list->ev.v[i];

		if (event_modifiers_apply(p, ev, q.mods, ev->group == (int)i))
			return -1;
		if (ev->group == (int)i)
			continue;
		ev->attr.pinned = 0;
		ev->attr.exclusive = 0;
	}
	return 0;
}

int event_parse_text(struct event_list *list, const struct pmu_set *pmus, const char *text,
		     size_t len, struct err *err)
{
	struct event_parser p = { list, pmus, text, text, text + len, err };
	size_t before = list->ev.n;

	if (len > EVENT_TEXT_MAX)
		return err_set(err, ERR_LIMIT, "a list of events is at most %u bytes long",
			       EVENT_TEXT_MAX);
	for (;;) {
		skip_event_blanks(&p);
		if (at_char(&p, '{') ? parse_group(&p) : parse_event(&p))
			goto fail;
		skip_event_blanks(&p);
		if (p.at == p.end)
			break;
		if (*p.at != ',') {
			(void)event_bad(&p, word_of(p.at, p.at + 1),
					"a comma or the end should be here");
			goto fail;
		}
		p.at++;
	}
	if (!event_topdown_groups(list, pmus, before, err))
		return 0;
fail:
	list->ev.n = before;
	return -1;
}

/* Newer words of the attribute, if the headers we are built with have them. */
static int put_config3(struct event *ev, struct err *err)
{
	const uint64_t more[] = { ev->config3, ev->config4 };
	size_t used = ev->config4 ? 2 : ev->config3 ? 1 : 0;

	if (PERF_ATTR_SIZE_VER7 + used * sizeof(*more) > sizeof(ev->attr)) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "event '%.100s' needs config%zu, for which this "
			      "program's perf_event_attr is too old",
			      ev->name, used + 2);
		return err_hint(err, "build it with the headers of Linux 6.3 or newer");
	}
	if (used)
		memcpy((char *)&ev->attr + PERF_ATTR_SIZE_VER7, more, used * sizeof(*more));
	return 0;
}

/* Events that the kernel counts itself, by name: these need no PMU. */
static bool all_software(const char *text)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		const struct event_symbol *sym =
			event_symbol_find(word_of(text, text + strcspn(text, ",:")));

		if (!sym || sym->kind == SYMBOL_HARDWARE)
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

/* A server has a hundred PMUs: they are looked through once for a list, and only if it names
 * one. */
static const struct pmu_set *pmus_of(struct event_list *list, const char *root, const char *text)
{
	struct pmu_set *set;
	const char *own;

	if (list->pmus && !strcmp(list->root, root))
		return list->pmus;
	set = arena_alloc(&list->arena, sizeof(*set));
	own = arena_strdup(&list->arena, root);
	if (!set || !own)
		return NULL;
	*set = (struct pmu_set){ .arena = &list->arena, .root = own };
	if (all_software(text))
		return set;
	if (pmu_set_read(set, &list->arena, own))
		return NULL;
	list->pmus = set;
	list->root = own;
	return set;
}

int event_parse(struct event_list *list, const char *root, const char *text, struct err *err)
{
	size_t before = list->ev.n;
	const struct pmu_set *pmus = pmus_of(list, root, text);

	if (!pmus)
		return err_nomem(err);
	if (event_parse_text(list, pmus, text, strlen(text), err))
		return -1;
	for (size_t i = before; i < list->ev.n; i++)
		if (put_config3(&list->ev.v[i], err)) {
			list->ev.n = before;
			return -1;
		}
	return 0;
}

void event_list_free(struct event_list *list)
{
	vec_free(&list->ev);
	arena_free(&list->arena);
}
