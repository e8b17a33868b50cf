/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: a line of `events` and the options that formulas put behind a name.
 *
 *	NAME TERMS COUNTERS PERIOD WORD...
 *	IDQ.MS_UOPS event=0x79,umask=0x30 0-3:0-7 2000003
 *
 * TERMS are of the core's PMU, or PMU/terms/. COUNTERS: general ones, with SMT on and off if that
 * differs, then fixed ones (f1), or - for none.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "model/load/model_int.h"

static const struct {
	const char *word;
	unsigned flag;
} flag_words[] = {
	{ "slots", EVENT_SLOTS },	{ "metric", EVENT_METRIC },
	{ "alone", EVENT_TAKEN_ALONE }, { "pair", EVENT_PAIR },
	{ "software", EVENT_SOFTWARE }, { "smt_exclusive", EVENT_SMT_EXCLUSIVE },
	{ "precise", EVENT_PRECISE },	{ "deprecated", EVENT_DEPRECATED },
};

/* Demands of terms of the core's PMU. */
static const struct {
	const char *term;
	unsigned flag;
} flag_terms[] = {
	{ "offcore_rsp", EVENT_OFFCORE },
	{ "frontend", EVENT_FRONTEND },
	{ "ldlat", EVENT_LDLAT },
	{ "any", EVENT_ANY_THREAD },
};

struct word {
	const char *s;
	size_t len;
};

static bool next_event_word(const char **at, const char *end, struct word *out)
{
	const char *s = *at;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	out->s = s;
	while (s < end && *s != ' ' && *s != '\t')
		s++;
	out->len = (size_t)(s - out->s);
	*at = s;
	return out->len > 0;
}

static bool small(const char **s, const char *end, unsigned *out)
{
	unsigned v = 0;
	const char *from = *s;

	while (*s < end && **s >= '0' && **s <= '9' && v < 1000)
		v = v * 10 + (unsigned)(*(*s)++ - '0');
	*out = v;
	return *s > from && v < 32;
}

/* "0-3,7,f1" up to `:` or the end; false: not that. */
static bool counters(const char **s, const char *end, uint32_t *general, uint32_t *fixed)
{
	*general = 0;
	while (*s < end && **s != ':') {
		uint32_t *to = general;
		unsigned from, upto;

		if (**s == 'f') {
			to = fixed;
			(*s)++;
		}
		if (!small(s, end, &from))
			return false;
		upto = from;
		if (*s < end && **s == '-') {
			(*s)++;
			if (!small(s, end, &upto) || upto < from)
				return false;
		}
		for (unsigned i = from; i <= upto; i++)
			*to |= (uint32_t)1 << i;
		if (*s < end && **s == ',')
			(*s)++;
		else if (*s < end && **s != ':')
			return false;
	}
	return true;
}

static bool where(struct model_event *e, const struct word *w)
{
	const char *s = w->s, *end = w->s + w->len;

	if (w->len == 1 && *s == '-')
		return true;
	if (!counters(&s, end, &e->counters, &e->fixed))
		return false;
	e->counters_alone = e->counters;
	if (s < end) {
		s++;
		if (!counters(&s, end, &e->counters_alone, &e->fixed))
			return false;
	}
	return s == end;
}

static unsigned term_flags(const char *code)
{
	unsigned flags = 0;

	for (const char *s = code; *s;) {
		size_t n = strcspn(s, ",="), whole = strcspn(s, ",");

		for (size_t i = 0; i < sizeof(flag_terms) / sizeof(flag_terms[0]); i++)
			if (strlen(flag_terms[i].term) == n && !memcmp(flag_terms[i].term, s, n))
				flags |= flag_terms[i].flag;
		s += whole;
		s += *s == ',';
	}
	return flags;
}

/* "PMU/terms/" or terms of the core's. */
static int code_set(struct model_event *e, struct arena *a, const struct word *w)
{
	const char *slash = memchr(w->s, '/', w->len);

	if (slash) {
		size_t n = (size_t)(slash - w->s), len = w->len - n - 1;

		if (len && slash[len] == '/')
			len--;
		e->pmu = arena_strndup(a, w->s, n);
		e->code = arena_strndup(a, slash + 1, len);
		e->flags |= EVENT_UNCORE;
	} else {
		e->pmu = "";
		e->code = arena_strndup(a, w->s, w->len);
		e->flags |= e->code ? term_flags(e->code) : 0;
	}
	return e->pmu && e->code ? 0 : -1;
}

static bool word_set(struct model_event *e, struct arena *a, const struct word *w, bool *nomem)
{
	char text[64];

	for (size_t i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++) {
		if (strlen(flag_words[i].word) == w->len &&
		    !memcmp(flag_words[i].word, w->s, w->len)) {
			e->flags |= flag_words[i].flag;
			return true;
		}
	}
	if (w->len > 7 && !memcmp(w->s, "errata=", 7)) {
		e->errata = arena_strndup(a, w->s + 7, w->len - 7);
		*nomem = !e->errata;
		return true;
	}
	if (w->len > 8 && w->len < sizeof(text) && !memcmp(w->s, "latency=", 8)) {
		memcpy(text, w->s + 8, w->len - 8);
		text[w->len - 8] = '\0';
		return !num_parse_double(&e->latency, text, NULL);
	}
	return false;
}

static int fail(const struct raw_event *raw, const struct word *w, struct err *err,
		const char *what)
{
	struct source_text t = { .file = raw->file };
	struct line l = { .start = raw->start, .whole = raw->whole, .number = raw->line };

	return line_fail(&t, &l, w->s, err, "%s: %s", raw->name, what);
}

static bool fits_event_row(const struct model_event *e, const struct model *limit)
{
	if (e->flags & (EVENT_UNCORE | EVENT_SOFTWARE | EVENT_METRIC))
		return true;
	return e->counters || e->counters_alone || (e->fixed && limit->fixed);
}

static uint32_t first_bits(unsigned n)
{
	return n >= 32 ? UINT32_MAX : ((uint32_t)1 << n) - 1;
}

int model_event_parse(struct model_event *out, struct arena *a, const struct raw_event *raw,
		      const struct model *limit, struct err *err)
{
	const char *at = raw->rest, *end = raw->rest + raw->rest_len;
	bool nomem = false;
	char number[24];
	struct word w;

	*out = (struct model_event){
		.name = raw->name, .errata = "", .modifiers = "", .latency = NAN
	};
	if (!next_event_word(&at, end, &w))
		return fail(raw, &w, err, "expected terms");
	if (code_set(out, a, &w))
		return err_nomem(err);
	if (!next_event_word(&at, end, &w) || !where(out, &w))
		return fail(raw, &w, err, "expected counters, like 0-3:0-7,f1");
	if (!(out->flags & EVENT_UNCORE) &&
	    ((out->counters & ~first_bits(limit->counters)) ||
	     (out->counters_alone & ~first_bits(limit->counters_alone)) ||
	     (out->fixed & ~first_bits(limit->fixed))))
		return fail(raw, &w, err, "no such counter on this model");
	if (!next_event_word(&at, end, &w) || w.len >= sizeof(number))
		return fail(raw, &w, err, "expected a period to sample by, or 0");
	memcpy(number, w.s, w.len);
	number[w.len] = '\0';
	if (num_parse_u64(&out->period, number, NULL))
		return fail(raw, &w, err, "expected a period to sample by, or 0");
	while (next_event_word(&at, end, &w))
		if (!word_set(out, a, &w, &nomem))
			return fail(raw, &w, err, "there is no such word here");
	if (nomem)
		return err_nomem(err);
	w.s = raw->rest;
	return fits_event_row(out, limit) ? 0 : fail(raw, &w, err, "fits no counter");
}

/* ---- options ---- */

struct options {
	struct model_event *e;
	struct arena *a;
	bool nomem;
};

/* `name=value` in the code, in place of its value of `name` (value NULL: a bare term). */
static void term_set(struct options *o, const char *name, const char *value, size_t len)
{
	const char *code = o->e->code;
	char out[512];
	size_t n = 0, name_len = strlen(name);
	int w;

	for (const char *s = code; *s;) {
		size_t whole = strcspn(s, ","), key = strcspn(s, ",=");

		if ((key != name_len || memcmp(s, name, key)) && n + whole + 1 < sizeof(out)) {
			memcpy(out + n, s, whole);
			n += whole;
			out[n++] = ',';
		}
		s += whole;
		s += *s == ',';
	}
	w = value ? snprintf(out + n, sizeof(out) - n, "%s=%.*s", name, (int)(len > 64 ? 64 : len),
			     value)
		  : snprintf(out + n, sizeof(out) - n, "%s", name);
	if (w < 0 || (size_t)w >= sizeof(out) - n) {
		o->nomem = true;
		return;
	}
	o->e->code = arena_strdup(o->a, out);
	o->nomem = o->nomem || !o->e->code;
	o->e->flags |= *o->e->pmu ? 0 : term_flags(out);
}

static bool is_number(const char *s, size_t len)
{
	size_t i = len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 2 : 0;
	bool hex = i == 2;

	if (i == len)
		return false;
	for (; i < len; i++)
		if (!((s[i] >= '0' && s[i] <= '9') ||
		      (hex && ((s[i] >= 'a' && s[i] <= 'f') || (s[i] >= 'A' && s[i] <= 'F')))))
			return false;
	return true;
}

/* One option of the sheet: c4 e1 i1 u0x80 eq1 SUP USER percore ocr_msr_val=0x1 opc=0x1. */
static bool option(struct options *o, const char *s, size_t len)
{
	static const struct {
		const char *text, *term, *uncore;
		bool bare;
	} terms[] = {
		{ "eq", "eq", "eq", true },
		{ "c", "cmask", "thresh", false },
		{ "e", "edge", "edge", true },
		{ "i", "inv", "inv", true },
		{ "u", "umask", "umask", false },
		{ "cmask=", "cmask", "thresh", false },
		{ "umask=", "umask", "umask", false },
		{ "ocr_msr_val=", "offcore_rsp", NULL, false },
		{ "opc=", NULL, "filter_opc", false },
	};

	/* uncore PMUs of servers have thresh, those of clients cmask as the core's */
	bool thresh = *o->e->pmu && strncmp(o->e->pmu, "uncore_arb", 10) != 0 &&
		      strncmp(o->e->pmu, "uncore_hac", 10) != 0;

	if ((len == 3 && !strncasecmp(s, "SUP", 3)) || (len == 1 && *s == 'k')) {
		o->e->modifiers = "k";
		return true;
	}
	if ((len == 4 && !strncasecmp(s, "USER", 4)) || (len == 1 && *s == 'u')) {
		o->e->modifiers = "u";
		return true;
	}
	if (len == 7 && !strncasecmp(s, "percore", 7)) {
		o->e->flags |= EVENT_PER_CORE;
		return true;
	}
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		size_t n = strlen(terms[i].text);

		const char *term = thresh ? terms[i].uncore : terms[i].term;

		if (len <= n || strncasecmp(s, terms[i].text, n) != 0 || !term ||
		    !is_number(s + n, len - n))
			continue;
		if (terms[i].bare && len - n == 1 && s[n] == '0')
			return true;
		term_set(o, term, terms[i].bare ? NULL : s + n, len - n);
		return true;
	}
	return false;
}

/* perf: ",cmask=4,edge/k", ",cmask=4:u", ":k" */
static bool perf_terms(struct options *o, const char *s, size_t len)
{
	size_t at = 0;

	while (at < len && s[at] == ',') {
		size_t end = ++at, key;
		char name[32];

		while (end < len && s[end] != ',' && s[end] != '/' && s[end] != ':')
			end++;
		key = at;
		while (key < end && s[key] != '=')
			key++;
		if (key == at || key - at >= sizeof(name))
			return false;
		memcpy(name, s + at, key - at);
		name[key - at] = '\0';
		if (key < end)
			term_set(o, name, s + key + 1, end - key - 1);
		else
			term_set(o, name, NULL, 0);
		at = end;
	}
	if (at < len && (s[at] == '/' || s[at] == ':'))
		at++;
	for (; at < len; at++) {
		if (s[at] == 'k' || s[at] == 'u')
			o->e->modifiers = s[at] == 'k' ? "k" : "u";
		else
			return false;
	}
	return true;
}

int model_event_options(struct model_event *e, struct arena *a, const char *options, size_t len,
			bool perf, bool *understood)
{
	struct options o = { e, a, false };
	size_t at = 0;

	*understood = true;
	if (perf) {
		*understood = perf_terms(&o, options, len);
		return o.nomem ? -1 : 0;
	}
	while (at < len && *understood) {
		size_t end = ++at; /* behind the colon */

		while (end < len && options[end] != ':')
			end++;
		*understood = option(&o, options + at, end - at);
		at = end;
	}
	return o.nomem ? -1 : 0;
}
