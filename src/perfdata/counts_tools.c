/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures that other tools print.
 *
 * toplev (pmu-tools), for people and with -x:
 *
 *	# 4.7-full on Intel(R) Xeon(R) ... [skx/skylake]
 *	[time] [S0-C0-T0] [FE] Frontend_Bound[:] % Slots 25.3 [+- 0.1] [33.0%] [<==]
 *	[time,][S0-C0-T0,]Frontend_Bound,25.3,% Slots,text,sample,stddev,multiplex,<==
 *
 * and its --columns and --valcsv, by their lines of names. PerfSpect's csv (a line of names, then a
 * line for each interval and place) and its summary (metric,mean,min,max,stddev).
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "perfdata/counts_file_int.h"

#define LINES_TO_TRY 200u
#define WORDS_MAX    32u

struct line {
	struct piece f[COUNTS_FIELDS];
	size_t n;
};

static bool piece_same(struct piece p, const char *s)
{
	return p.len == strlen(s) && !strncasecmp(p.s, s, p.len);
}

static size_t find_field(const struct line *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (piece_same(l->f[i], name))
			return i;
	return SIZE_MAX;
}

static struct piece field_at(const struct line *l, size_t i)
{
	return i < l->n ? l->f[i] : (struct piece){ "", 0 };
}

static double toplev_time(struct piece p)
{
	return piece_same(p, "SUMMARY") || !p.len ? (double)NAN : piece_number(p);
}

/* "# 4.7-full on Intel(R) Xeon(R) ... [skx/skylake]": the model is named in brackets. */
static bool toplev_head(struct piece line)
{
	line = piece_trim(line);
	if (line.len && *line.s == '"') {
		line.s++;
		line.len--;
	}
	return line.len > 8 && !memcmp(line.s, "# ", 2) && isdigit((unsigned char)line.s[2]) &&
	       memmem(line.s, line.len, " on ", 4);
}

static void take_head(struct counts_reader *r, struct piece line)
{
	const char *open = memrchr(line.s, '[', line.len), *end;
	struct piece id;

	if (!open)
		return;
	id = (struct piece){ open + 1, (size_t)(line.s + line.len - open) - 1 };
	end = memchr(id.s, ']', id.len);
	if (!end)
		return;
	id.len = (size_t)(end - id.s);
	end = memchr(id.s, '/', id.len);
	if (end)
		id.len = (size_t)(end - id.s);
	counts_add_model(r, (struct piece){ "", 0 }, id);
}

/* The name of a node without its column's colon. */
static struct piece node_name(struct piece p)
{
	p = piece_trim(p);
	if (p.len && p.s[p.len - 1] == ':')
		p.len--;
	return p;
}

static bool is_toplev_name(struct piece p)
{
	size_t letters = 0;

	p = node_name(p);
	if (!p.len || !isupper((unsigned char)*p.s))
		return false;
	for (size_t i = 0; i < p.len; i++) {
		if (!isalnum((unsigned char)p.s[i]) && !strchr("_.", p.s[i]))
			return false;
		letters += islower((unsigned char)p.s[i]) ? 1u : 0u;
	}
	return letters > 0 || p.len > 2;
}

static struct piece first_word(struct piece p)
{
	struct piece w = { piece_trim(p).s, 0 };

	p = piece_trim(p);
	while (w.len < p.len && !isspace((unsigned char)w.s[w.len]))
		w.len++;
	return w;
}

/* ---- toplev for people ------------------------------------------------------------------ */

struct node_line {
	struct piece time, place, name, unit;
	double value, error;
};

static bool is_area(struct piece w)
{
	static const char *const areas[] = { "FE", "BE", "BAD", "RET", "Info", "MUX", "warning" };

	for (size_t i = 0; i < sizeof(areas) / sizeof(*areas); i++) {
		size_t n = strlen(areas[i]);

		if (w.len >= n && !memcmp(w.s, areas[i], n) &&
		    (w.len == n || w.s[n] == '/' || w.s[n] == '.'))
			return true;
	}
	return false;
}

/* False: it is no line of a node or metric. */
static bool read_node_line(struct node_line *out, struct piece line)
{
	struct piece w[WORDS_MAX], rest = piece_trim(line);
	size_t n = 0, at = 0, name, value;

	*out = (struct node_line){ .value = NAN, .error = NAN };
	while ((rest = piece_trim(rest)).len && n < WORDS_MAX) {
		w[n] = first_word(rest);
		rest.s += w[n].len;
		rest.len -= w[n].len;
		n++;
	}
	if (at < n && (counts_is_time(w[at]) || piece_is(w[at], "SUMMARY")))
		out->time = w[at++];
	while (at < n && counts_is_place(w[at]) && !is_toplev_name(w[at]) && at < 3)
		out->place = w[at++];
	if (at < n && counts_is_place(w[at]) && at + 1 < n && is_area(w[at + 1]))
		out->place = w[at++];
	while (at < n && counts_is_place(w[at]) && at + 2 < n && is_toplev_name(w[at + 1]))
		out->place = w[at++];
	if (at < n && is_area(w[at]))
		at++;
	name = at;
	if (name >= n || !is_toplev_name(w[name]))
		return false;
	out->name = node_name(w[name]);
	value = name + 1;
	while (value < n && isnan(piece_number(w[value])))
		value++;
	if (value >= n)
		return false;
	out->value = piece_number(w[value]);
	/* older ones: the unit stands behind */
	if (value > name + 1)
		out->unit = w[name + 1];
	else if (value + 1 < n)
		out->unit = w[value + 1];
	else
		return false;
	for (size_t i = value + 1; i + 1 < n; i++)
		if (piece_is(w[i], "+-"))
			out->error = piece_number(w[i + 1]);
	return isalpha((unsigned char)*out->unit.s) || *out->unit.s == '%';
}

static void say_node(struct counts_reader *r, const struct node_line *x)
{
	struct counts_said said = { .name = x->name,
				    .unit = x->unit.len && *x->unit.s == '%'
						    ? (struct piece){ x->unit.s, 1 }
						    : x->unit,
				    .place = x->place,
				    .time = toplev_time(x->time),
				    .value = x->value,
				    .error = x->error,
				    .summary = piece_is(x->time, "SUMMARY") };

	if (piece_same(said.unit, "Metric") || piece_same(said.unit, "Count"))
		said.unit.len = 0;
	counts_saw_time(r, said.time);
	counts_say(r, &said);
}

void counts_read_toplev(struct counts_reader *r, struct piece text, char separator)
{
	struct piece line;
	struct node_line x;

	(void)separator;
	while (counts_next_line(&text, &line)) {
		if (toplev_head(line))
			take_head(r, line);
		else if (line.len && *line.s != '#' && *line.s != '\t' && read_node_line(&x, line))
			say_node(r, &x);
	}
}

char counts_toplev_is(struct piece text, char separator)
{
	struct piece line;
	struct node_line x;
	size_t nodes = 0;

	(void)separator;
	for (size_t i = 0; i < LINES_TO_TRY && counts_next_line(&text, &line); i++) {
		if (toplev_head(line))
			return 1;
		nodes += !memchr(line.s, '#', line.len) && read_node_line(&x, line) &&
			 *x.unit.s == '%';
	}
	return nodes > 0;
}

/* ---- toplev -x -------------------------------------------------------------------------- */

struct columns { /* of a line of names; SIZE_MAX: there is none */
	size_t time, place, name, value, unit, error, first, end;
	bool counts; /* --valcsv: of events */
};

static bool read_columns(struct columns *c, const struct line *l)
{
	size_t node = find_field(l, "Node"), event = find_field(l, "Event");

	*c = (struct columns){ .time = find_field(l, "Timestamp"),
			       .place = find_field(l, "CPUs"),
			       .name = find_field(l, "Area"),
			       .value = find_field(l, "Value"),
			       .unit = find_field(l, "Unit"),
			       .error = find_field(l, "Stddev"),
			       .first = SIZE_MAX };
	if (event != SIZE_MAX && c->value != SIZE_MAX) {
		c->counts = true;
		c->name = event;
		c->place = find_field(l, "CPU");
		return true;
	}
	if (node != SIZE_MAX && c->name != SIZE_MAX) {
		c->name = node;
		c->first = node + 1;
		c->end = find_field(l, "Description");
		return c->end != SIZE_MAX;
	}
	return c->name != SIZE_MAX && c->value != SIZE_MAX;
}

/* Without a line of names: where the name stands. False: nowhere. */
static bool guess_columns(struct columns *c, const struct line *l)
{
	size_t i = 0;

	*c = (struct columns){ SIZE_MAX, SIZE_MAX, 0, 0, 0, SIZE_MAX, SIZE_MAX, 0, false };
	if (l->n && (!isnan(piece_number(l->f[0])) || piece_is(l->f[0], "SUMMARY")))
		c->time = i++;
	if (i < l->n && counts_is_place(l->f[i]) && isnan(piece_number(field_at(l, i + 1))))
		c->place = i++;
	if (i + 2 >= l->n || !is_toplev_name(l->f[i]) || isnan(piece_number(l->f[i + 1])) ||
	    !l->f[i + 2].len || (*l->f[i + 2].s != '%' && !isalpha((unsigned char)*l->f[i + 2].s)))
		return false;
	c->name = i;
	c->value = i + 1;
	c->unit = i + 2;
	c->error = i + 5;
	return true;
}

static void say_fields(struct counts_reader *r, const struct line *l, const struct columns *c,
		       const struct line *names)
{
	struct node_line x = { .time = field_at(l, c->time),
			       .place = field_at(l, c->place),
			       .name = node_name(field_at(l, c->name)),
			       .unit = first_word(field_at(l, c->unit)),
			       .value = piece_number(field_at(l, c->value)),
			       .error = piece_number(field_at(l, c->error)) };

	if (c->first == SIZE_MAX) {
		say_node(r, &x);
		return;
	}
	for (size_t i = c->first; i < c->end && i < l->n; i++) {
		x.place = field_at(names, i);
		x.value = piece_number(l->f[i]);
		say_node(r, &x);
	}
}

void counts_read_toplev_csv(struct counts_reader *r, struct piece text, char separator)
{
	struct line l, names = { .n = 0 };
	struct columns c, guess;
	struct piece line;
	bool known = false;

	while (counts_next_line(&text, &line)) {
		if (toplev_head(line)) {
			take_head(r, line);
			continue;
		}
		l.n = counts_fields(line, separator, l.f, COUNTS_FIELDS);
		if (!known && read_columns(&c, &l)) {
			known = true;
			names = l;
		} else if (known && c.counts) {
			struct counts_row row = { .event = field_at(&l, c.name),
						  .place = field_at(&l, c.place),
						  .time = toplev_time(field_at(&l, c.time)),
						  .value = piece_number(field_at(&l, c.value)),
						  .counted = NAN,
						  .noise = NAN };

			if (row.place.len && !isnan(piece_number(row.place)))
				row.place = counts_prefixed(r, "CPU", row.place);
			counts_saw_time(r, row.time);
			counts_add(r, &row);
		} else if (known) {
			say_fields(r, &l, &c, &names);
		} else if (guess_columns(&guess, &l)) {
			say_fields(r, &l, &guess, &names);
		}
	}
}

static size_t rate_toplev(struct piece text, char separator)
{
	struct piece line;
	struct line l;
	struct columns c;
	size_t n = 0;

	for (size_t i = 0; i < LINES_TO_TRY && counts_next_line(&text, &line); i++) {
		l.n = counts_fields(line, separator, l.f, COUNTS_FIELDS);
		if (read_columns(&c, &l))
			return LINES_TO_TRY + 1;
		n += guess_columns(&c, &l);
	}
	return n;
}

char counts_toplev_csv_is(struct piece text, char separator)
{
	return counts_separator(text, separator, rate_toplev);
}

/* ---- PerfSpect -------------------------------------------------------------------------- */

static bool is_spect_context(struct piece p)
{
	static const char *const words[] = { "TS", "SKT", "CPU", "CID", "PID", "CMD", "timestamp" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (piece_same(p, words[i]))
			return true;
	return false;
}

/* "metric_TMA_..Fetch_Latency(%)" and "CPU utilization %" are in per cent. */
static void say_spect(struct counts_reader *r, struct piece name, struct counts_said said)
{
	said.name = name;
	if (name.len && memchr(name.s, '%', name.len))
		said.unit = (struct piece){ "%", 1 };
	counts_say(r, &said);
}

static size_t spect_head(const struct line *l)
{
	size_t n = 0;

	while (n < l->n && is_spect_context(l->f[n]))
		n++;
	return n && n < l->n && (piece_same(l->f[0], "TS") || piece_same(l->f[0], "timestamp")) ? n
												: 0;
}

void counts_read_spect(struct counts_reader *r, struct piece text, char separator)
{
	struct line l, names = { .n = 0 };
	size_t first = 0;
	struct piece line;

	while (counts_next_line(&text, &line)) {
		struct counts_said said = { .error = NAN };
		struct piece cpu, socket;

		l.n = counts_fields(line, separator, l.f, COUNTS_FIELDS);
		if (!first && spect_head(&l)) {
			first = spect_head(&l);
			names = l;
			continue;
		}
		if (!first || l.n <= first)
			continue;
		said.time = piece_number(l.f[0]);
		cpu = field_at(&l, find_field(&names, "CPU"));
		socket = field_at(&l, find_field(&names, "SKT"));
		if (cpu.len)
			said.place = counts_prefixed(r, "CPU", cpu);
		else if (socket.len)
			said.place = counts_prefixed(r, "S", socket);
		said.cgroup = field_at(&l, find_field(&names, "CID"));
		for (size_t i = first; i < l.n && i < names.n; i++) {
			said.value = piece_number(l.f[i]);
			say_spect(r, names.f[i], said);
		}
	}
}

char counts_spect_is(struct piece text, char separator)
{
	struct line l;
	struct piece line;

	if (separator && separator != ',')
		return 0;
	if (!counts_next_line(&text, &line))
		return 0;
	l.n = counts_fields(line, ',', l.f, COUNTS_FIELDS);
	return spect_head(&l) ? ',' : 0;
}

/* [SKT,]metric,mean,min,max,stddev: where the metric stands, SIZE_MAX: it is no such line */
static size_t summary_head(const struct line *l)
{
	size_t metric = find_field(l, "metric");

	return metric < 2 && piece_same(field_at(l, metric + 1), "mean") ? metric : SIZE_MAX;
}

void counts_read_spect_summary(struct counts_reader *r, struct piece text, char separator)
{
	struct line l, names = { .n = 0 };
	size_t metric = SIZE_MAX;
	struct piece line;

	while (counts_next_line(&text, &line)) {
		struct counts_said said = { .error = NAN, .time = NAN, .summary = true };

		l.n = counts_fields(line, separator, l.f, COUNTS_FIELDS);
		if (summary_head(&l) != SIZE_MAX) {
			metric = summary_head(&l);
			names = l;
			continue;
		}
		if (metric == SIZE_MAX || l.n < metric + 2)
			continue;
		if (metric) {
			struct piece kind = names.f[0];

			said.place = counts_prefixed(r,
						     piece_same(kind, "SKT")   ? "S"
						     : piece_same(kind, "CPU") ? "CPU"
									       : "",
						     l.f[0]);
		}
		said.value = piece_number(l.f[metric + 1]);
		say_spect(r, l.f[metric], said);
	}
}

char counts_spect_summary_is(struct piece text, char separator)
{
	struct line l;
	struct piece line;

	if ((separator && separator != ',') || !counts_next_line(&text, &line))
		return 0;
	l.n = counts_fields(line, ',', l.f, COUNTS_FIELDS);
	return summary_head(&l) != SIZE_MAX ? ',' : 0;
}
