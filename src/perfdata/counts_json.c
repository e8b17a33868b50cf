/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON of perf stat -j (an object a line), of cyclade stat -j (a document, or one a line) and of
 * PerfSpect: every object that has an event and a count, or a figure and its name, wherever it
 * stands. Objects have the place of those around them. No structure is asked for, so that cut-off
 * text gives its whole objects.
 *
 * perf stat --metric-only has names as keys: {"GHz" : "3.1", ...}; older ones a line of {"unit" :
 * "GHz"}{...} and lines of {"metric-value" : "3.1"}{...} in that order.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "perfdata/counts_file_int.h"

#define DEPTH 16u

#define UNITS 1024u

struct object {
	struct counts_row row;
	struct piece id;     /* of a model */
	struct piece metric; /* the figure's name */
	struct piece unit;
	uint64_t where; /* hash of the place, for the place's name */
	double figure;
	bool has_value, is_end;
};

/* Keys whose values distinguish pieces of one run. */
static const char *const place_keys[] = {
	"interval", "time", "cpu",    "core",  "cluster", "cache",  "die",
	"socket",   "node", "thread", "where", "CPU",	  "Socket",
};

struct parser {
	struct counts_reader *r;
	struct object at[DEPTH];
	size_t depth; /* beyond DEPTH: nothing is taken */
	struct piece key;
	struct piece event; /* the last: figures without one belong to it */
	double time;	    /* of the line */
	struct piece unit[UNITS];
	size_t n_units, at_unit; /* of older --metric-only */
	bool after_colon, own;	 /* own: cyclade's, whose nodes are made of its counts */
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

/* "S0 cpu_core": the kind of cores, if it is there. */
static struct piece core_pmu_in(struct piece where)
{
	const char *blank = where.len ? memrchr(where.s, ' ', where.len) : NULL;
	size_t at = blank ? (size_t)(blank + 1 - where.s) : 0;
	struct piece word = { where.s + at, where.len - at };

	if (!counts_core_pmu(word.s, word.len))
		word.len = 0;
	return word;
}

static bool is_place_key(struct piece key, size_t *which)
{
	for (*which = 0; *which < sizeof(place_keys) / sizeof(*place_keys); (*which)++)
		if (piece_is(key, place_keys[*which]))
			return true;
	return false;
}

static void take_place(struct parser *p, struct object *o, struct piece v, double n)
{
	struct counts_reader *r = p->r;
	struct piece key = p->key;
	size_t which;

	if (!is_place_key(key, &which) || piece_is(v, "null"))
		return;
	if (piece_is(key, "interval") || piece_is(key, "time")) {
		if (!(n >= 0))
			return;
		o->row.time = n;
		if (p->depth == 1)
			p->time = n;
		if (piece_is(key, "interval"))
			counts_saw_time(r, n);
		return;
	}
	o->row.apart = hash_pair(hash_pair(o->row.apart, which), hash_bytes(v.s, v.len));
	if (piece_is(key, "where"))
		o->row.pmu = core_pmu_in(v);
	if (v.len)
		o->row.place = v;
	if (piece_is(key, "cpu") || piece_is(key, "CPU"))
		o->row.place = counts_prefixed(r, "CPU", v);
	if (piece_is(key, "Socket") && v.len)
		o->row.place = counts_prefixed(r, "S", v);
}

/* The keys of --metric-only are names that no key of perf's has. */
static bool is_known_key(struct piece key)
{
	static const char *const keys[] = { "aggregate-number", "counters", "event-runtime",
					    "metric-threshold", "variance", "version",
					    "FrameCount",	"PID",	    "Cmd",
					    "Cgroup",		"Timestamp" };
	size_t which;

	return piece_in(key, keys, sizeof(keys) / sizeof(*keys)) || is_place_key(key, &which);
}

static void take_figure(struct parser *p, struct object *o, struct piece v, double n,
			bool is_string)
{
	struct piece key = p->key;

	if (piece_is(key, "metric-value") || piece_is(key, "Value")) {
		o->figure = piece_is(key, "Value") && n == -1 ? (double)NAN : n; /* no value */
	} else if ((piece_is(key, "metric-unit") || piece_is(key, "Name")) && is_string) {
		o->metric = v;
	} else if (piece_is(key, "unit") && is_string) {
		o->unit = v;
	} else if (piece_is(key, "variance")) {
		o->row.noise = n / 100;
	} else if (piece_is(key, "cyclade")) {
		p->own = true;
	} else if (is_string && p->depth == 1 && !p->own && !is_known_key(key) && !isnan(n)) {
		struct counts_said said = {
			.value = n, .error = NAN, .place = o->row.place, .time = o->row.time
		};

		counts_unit_of(&said, key);
		counts_say(p->r, &said);
	} else {
		take_place(p, o, v, n);
	}
}

static void take_json_value(struct parser *p, struct piece v, bool is_string)
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
		struct counts_reader *r = p->r;

		/* Intervals follow each other; the object that ends them has their sum. */
		if (n >= 0 && p->depth == 1)
			r->elapsed = isnan(r->elapsed) || o->is_end ? n : r->elapsed + n;
	} else if (piece_is(key, "end")) {
		o->is_end = piece_is(v, "true");
	} else {
		take_figure(p, o, v, n, is_string);
	}
}

static void begin_object(struct parser *p)
{
	struct object *o;

	if (p->depth++ >= DEPTH)
		return;
	o = &p->at[p->depth - 1];
	*o = (struct object){
		.row = { .value = NAN, .counted = NAN, .noise = NAN, .time = p->time },
		.figure = NAN
	};
	if (p->depth > 1) {
		o->row.place = o[-1].row.place;
		o->row.apart = o[-1].row.apart;
		o->row.time = o[-1].row.time;
		o->row.pmu = o[-1].row.pmu;
		o->row.cgroup = o[-1].row.cgroup;
	}
}

static void say_figure(struct parser *p, const struct object *o)
{
	struct counts_said said = { .value = o->figure,
				    .error = NAN,
				    .event = o->has_value ? o->row.event : p->event,
				    .cgroup = o->row.cgroup,
				    .place = o->row.place,
				    .time = o->row.time };
	struct piece name = o->metric;

	if (p->own)
		return;
	if (!o->metric.len && o->unit.len && !o->has_value && p->n_units < UNITS)
		p->unit[p->n_units++] = o->unit;
	if (!isnan(o->row.noise) && o->has_value) {
		struct counts_said noise = said;

		noise.name = (struct piece){ "+-", 2 };
		noise.unit = (struct piece){ "%", 1 };
		noise.value = o->row.noise * 100;
		counts_say(p->r, &noise);
	}
	if (isnan(o->figure))
		return;
	if (!name.len && !o->has_value) { /* by their order */
		said.event.len = 0;
		if (p->at_unit < p->n_units)
			name = p->unit[p->at_unit];
		else
			p->r->unnamed++;
		p->at_unit++;
	}
	counts_unit_of(&said, name);
	counts_say(p->r, &said);
}

static void end_json_object(struct parser *p)
{
	struct object *o;

	if (!p->depth)
		return;
	if (p->depth-- > DEPTH)
		return;
	o = &p->at[p->depth];
	if (o->id.len)
		counts_add_model(p->r, o->row.pmu, o->id);
	if (o->has_value && o->row.event.len) {
		if (o->row.state == COUNTS_NEVER && o->row.counted >= 1)
			o->row.state = COUNTS_IDLE; /* all of no time: it was never enabled */
		counts_set_unit(&o->row, o->unit);
		p->event = o->row.event;
		counts_add(p->r, &o->row);
	}
	say_figure(p, o);
}

static void punctuation(struct parser *p, struct piece *text, char c)
{
	if (c == ':')
		p->after_colon = true;
	if (c == '\n' && !p->depth) {
		p->at_unit = 0;
		p->time = NAN;
	}
	if (c == '#' && !p->depth) {
		struct piece line = { text->s - 1, text->len + 1 }, rest = line;

		/* A comment, at the beginning of a line. */
		if (counts_next_line(&rest, &line)) {
			counts_comment(p->r, line);
			*text = rest;
		}
	}
	if (c == '{')
		begin_object(p);
	if (c == '}')
		end_json_object(p);
	if (c == '{' || c == '[' || c == ',')
		p->after_colon = false;
}

char counts_json_is(struct piece text, char separator)
{
	struct piece line;

	(void)separator;
	while (counts_next_line(&text, &line)) {
		line = piece_trim(line);
		if (line.len && *line.s != '#')
			return *line.s == '{' || *line.s == '[';
	}
	return 0;
}

void counts_read_json(struct counts_reader *r, struct piece text, char separator)
{
	struct parser p = { .r = r, .time = NAN };

	(void)separator;
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
			take_json_value(&p, v, c == '"');
		p.after_colon = false;
	}
}
