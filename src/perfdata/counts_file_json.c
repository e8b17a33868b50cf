/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON of perf stat -j (an object a line) and of cyclade stat -j (a document, or one a line): every
 * object that has an event and a count, wherever it stands. Objects have the place of those around
 * them. No structure is asked for, so that cut-off text gives what is whole in it.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "perfdata/counts_file_int.h"

#define DEPTH 16u

struct object {
	struct counts_row row;
	struct piece id; /* of a model */
	bool has_value, is_end;
};

/* Keys whose values tell pieces of one run apart. */
static const char *const place_keys[] = {
	"interval", "time",   "cpu",  "core",	"cluster", "cache",
	"die",	    "socket", "node", "thread", "where",
};

struct parser {
	struct counts_reader *r;
	struct object at[DEPTH];
	size_t depth; /* beyond DEPTH: nothing is taken */
	struct piece key;
	bool after_colon;
};

/* A string, p->s behind its opening quote; escapes stay as they are, no name has one. */
static struct piece json_string(struct piece *p)
{
	struct piece out = { p->s, 0 };

	while (out.len < p->len && p->s[out.len] != '"')
		out.len += p->s[out.len] == '\\' && out.len + 1 < p->len ? 2u : 1u;
	p->s += out.len < p->len ? out.len + 1 : p->len;
	p->len -= out.len < p->len ? out.len + 1 : p->len;
	return out;
}

/* "S0 cpu_core": which kind of cores, if it says so. */
static struct piece core_pmu_in(struct piece where)
{
	const char *blank = where.len ? memrchr(where.s, ' ', where.len) : NULL;
	size_t at = blank ? (size_t)(blank + 1 - where.s) : 0;
	struct piece word = { where.s + at, where.len - at };

	if (!counts_core_pmu(word.s, word.len))
		word.len = 0;
	return word;
}

static void take_place(struct parser *p, struct object *o, struct piece v, double n)
{
	struct counts_reader *r = p->r;
	struct piece key = p->key;

	for (size_t i = 0; i < sizeof(place_keys) / sizeof(*place_keys); i++)
		if (piece_is(key, place_keys[i]))
			o->row.place =
				hash_pair(hash_pair(o->row.place, i), hash_bytes(v.s, v.len));
	if (piece_is(key, "where"))
		o->row.pmu = core_pmu_in(v);
	if (piece_is(key, "interval") && n >= 0 && !(n < r->last_time))
		r->last_time = n;
}

/* Intervals follow each other; the object that ends them has their sum. */
static void take_seconds(struct parser *p, const struct object *o, double n)
{
	struct counts_reader *r = p->r;

	if (n >= 0 && p->depth == 1)
		r->elapsed = isnan(r->elapsed) || o->is_end ? n : r->elapsed + n;
}

static void take(struct parser *p, struct piece v, bool is_string)
{
	struct object *o = &p->at[p->depth - 1];
	struct piece key = p->key;
	double n = piece_number(v);

	if (piece_is(key, "event") && is_string) {
		o->row.event = v;
	} else if (piece_is(key, "value") || piece_is(key, "counter-value")) {
		o->has_value = true;
		o->row.value = n;
		o->row.state = piece_is(v, "null") ? COUNTS_NEVER : COUNTS_VALUE;
		if (is_string && isnan(n))
			o->row.state = counts_state_of(v, 0);
	} else if (piece_is(key, "counted")) {
		o->row.counted = counts_share(n * 100);
	} else if (piece_is(key, "pcnt-running")) {
		o->row.counted = counts_share(n);
	} else if (piece_is(key, "cgroup") && is_string) {
		o->row.cgroup = v;
	} else if (piece_is(key, "model") && is_string) {
		o->id = v;
	} else if (piece_is(key, "seconds")) {
		take_seconds(p, o, n);
	} else if (piece_is(key, "end")) {
		o->is_end = piece_is(v, "true");
	} else if (piece_is(key, "metric-value")) {
		p->r->metrics = true;
	} else {
		take_place(p, o, v, n);
	}
}

static void begin_object(struct parser *p)
{
	struct object *o;

	if (p->depth++ >= DEPTH)
		return;
	o = &p->at[p->depth - 1];
	*o = (struct object){ .row = { .value = NAN, .counted = NAN } };
	if (p->depth > 1) {
		o->row.place = o[-1].row.place;
		o->row.pmu = o[-1].row.pmu;
		o->row.cgroup = o[-1].row.cgroup;
	}
}

static void end_object(struct parser *p)
{
	struct object *o;

	if (!p->depth)
		return;
	if (p->depth-- > DEPTH)
		return;
	o = &p->at[p->depth];
	if (o->id.len)
		counts_add_model(p->r, o->row.pmu, o->id);
	if (!o->has_value || !o->row.event.len)
		return;
	if (o->row.state == COUNTS_NEVER && o->row.counted >= 1)
		o->row.state = COUNTS_IDLE; /* all of no time: it was never enabled */
	counts_add(p->r, &o->row);
}

/* A comment, at the beginning of a line. */
static void skip_comment(struct parser *p, struct piece *text)
{
	struct piece line = { text->s - 1, text->len + 1 }, rest = line;

	if (counts_next_line(&rest, &line)) {
		counts_comment(p->r, line);
		*text = rest;
	}
}

static void punctuation(struct parser *p, struct piece *text, char c)
{
	if (c == ':')
		p->after_colon = true;
	if (c == '#' && !p->depth)
		skip_comment(p, text);
	if (c == '{')
		begin_object(p);
	if (c == '}')
		end_object(p);
	if (c == '{' || c == '[' || c == ',')
		p->after_colon = false;
}

void counts_read_json(struct counts_reader *r, struct piece text)
{
	struct parser p = { .r = r };

	while (text.len) {
		char c = *text.s;
		struct piece v = { text.s, 1 };

		text.s++;
		text.len--;
		if (c == '"') {
			v = json_string(&text);
		} else if (isalnum((unsigned char)c) || c == '-') {
			while (text.len && !strchr(",]} \t\r\n", *text.s)) {
				text.s++;
				text.len--;
				v.len++;
			}
		} else {
			punctuation(&p, &text, c);
			continue;
		}
		if (!p.after_colon)
			p.key = v;
		else if (p.depth && p.depth <= DEPTH)
			take(&p, v, c == '"');
		p.after_colon = false;
	}
}
