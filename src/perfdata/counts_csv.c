/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of perf stat -x:
 *
 *	[time,][place,[counters,]]value,unit,event,[cgroup,][noise%,]runtime,percent[,metric,unit]
 *	[time,][place,[counters,]],,,[,]metric,unit		more of that event
 *
 * and with --metric-only a line of names, then lines of values, each with a separator at its end:
 *
 *	[time,][socket,cpus,]name,name,
 *	[time,][place,[counters,]]value,value,
 *
 * A place is CPU0, S0, S0-D0-C1, N0, or COMMAND-PID. "summary," before a line: of all intervals.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "perfdata/counts_file_int.h"

#define LINES_TO_TRY 1000u
#define EVENT_FIELDS 64u

struct csv_line {
	struct piece f[COUNTS_FIELDS];
	size_t n;
	size_t at; /* fields before this one are time and place */
	double time;
	struct piece place;
};

/* The event of field *k, which can have separators between its slashes; *k: the field behind it. */
static struct piece csv_event(const struct piece *f, size_t n, size_t *k)
{
	const struct piece *first = &f[(*k)++];
	struct piece event = *first;
	const char *slash = event.len ? memchr(event.s, '/', event.len) : NULL;

	if (!slash || memchr(slash + 1, '/', (size_t)(event.s + event.len - slash) - 1))
		return event;
	for (size_t i = *k; i < n && i < *k + EVENT_FIELDS; i++)
		if (f[i].len && memchr(f[i].s, '/', f[i].len)) {
			*k = i + 1;
			event.len = (size_t)(f[i].s + f[i].len - event.s);
			break;
		}
	return event;
}

static double percent_of(struct piece p)
{
	if (!p.len || p.s[p.len - 1] != '%')
		return NAN;
	p.len--;
	return piece_number(p);
}

/* A metric and its name, of fields k and k + 1. */
static void take_metric(struct counts_said *said, const struct csv_line *l, size_t k)
{
	*said = (struct counts_said){ .value = NAN, .error = NAN };
	if (k + 1 >= l->n || !l->f[k].len)
		return;
	said->value = piece_number(l->f[k]);
	counts_unit_of(said, l->f[k + 1]);
}

/* Field `i` is the count. False: it is not. */
static bool csv_row(const struct csv_line *l, size_t i, struct counts_row *out,
		    struct counts_said *said)
{
	const struct piece *f = l->f;
	size_t k = i + 2, n = l->n;

	if (i + 2 >= n || !counts_is_count(f[i]) || !counts_is_name(f[i + 2]) ||
	    counts_is_unit(f[i + 2]) ||
	    (f[i + 1].len && !counts_is_unit(f[i + 1]) && !counts_is_name(f[i + 1])))
		return false;
	*out = (struct counts_row){ .event = csv_event(f, n, &k), .counted = NAN, .noise = NAN };
	/* [cgroup] [noise%] runtime percent */
	if (k + 2 < n && isnan(piece_number(f[k])) && f[k].len && isnan(percent_of(f[k])))
		out->cgroup = f[k++];
	if (k + 2 < n && !isnan(percent_of(f[k])))
		out->noise = percent_of(f[k++]) / 100;
	if (k < n && isnan(piece_number(f[k])))
		return false; /* no runtime: it is not perf's */
	if (k + 1 < n)
		out->counted = counts_share(piece_number(f[k + 1]));
	out->state = counts_state_of(f[i], out->counted);
	out->value = piece_number(f[i]);
	counts_set_unit(out, f[i + 1]);
	take_metric(said, l, k + 2);
	said->event = out->event;
	said->cgroup = out->cgroup;
	return true;
}

/* Behind sockets, dies, nodes and cores stands how many counters they had. */
static size_t behind_counters(const struct csv_line *l)
{
	return l->place.len && strchr("SDN", *l->place.s) && l->place.len > 1 &&
			       strchr("-0123456789", l->place.s[1]) && l->at < l->n &&
			       !isnan(piece_number(l->f[l->at]))
		       ? l->at + 1
		       : l->at;
}

static bool read_csv_row(struct csv_line *l, struct counts_row *row, struct counts_said *said)
{
	/* a command's name can hold anything, the separator too */
	for (size_t i = l->at; i + 2 < l->n && i < l->at + 3; i++)
		if (csv_row(l, i, row, said)) {
			row->time = said->time = l->time;
			if (i > l->at && i != behind_counters(l)) {
				const char *from = l->f[isnan(l->time) ? 0 : 1].s;

				l->place = (struct piece){ from, (size_t)(l->f[i - 1].s +
									  l->f[i - 1].len - from) };
			}
			row->place = said->place = l->place;
			return true;
		}
	return false;
}

/* Nothing but a metric, at the end. */
static bool read_more(const struct csv_line *l, struct counts_said *said)
{
	size_t k = l->n, empty = 0, at = behind_counters(l);

	while (k > at && !l->f[k - 1].len)
		k--;
	if (k < at + 5)
		return false;
	for (size_t i = at; i + 2 < k; i++)
		empty += !l->f[i].len;
	if (empty != k - 2 - at)
		return false;
	take_metric(said, l, k - 2);
	said->time = l->time;
	said->place = l->place;
	return !isnan(said->value);
}

static bool ends_with_separator(struct piece line, char sep)
{
	return line.len > 1 && line.s[line.len - 1] == sep;
}

/* Of --metric-only: names of which none is a number. */
static bool is_names(const struct csv_line *l, struct piece line, char sep)
{
	size_t names = 0;

	if (!ends_with_separator(line, sep))
		return false;
	for (size_t i = 0; i < l->n; i++) {
		if (!isnan(piece_number(l->f[i])))
			return false;
		names += l->f[i].len > 0;
	}
	return names > 0;
}

static bool is_values(const struct csv_line *l, struct piece line, char sep)
{
	size_t values = 0;

	if (!ends_with_separator(line, sep))
		return false;
	for (size_t i = behind_counters(l); i < l->n; i++) {
		if (l->f[i].len && isnan(piece_number(l->f[i])) && !piece_is(l->f[i], "none") &&
		    !piece_is(l->f[i], "nan"))
			return false;
		values += l->f[i].len > 0;
	}
	return values > 0;
}

static bool is_csv_context(struct piece name)
{
	static const char *const words[] = { "time",   "cpu",  "core",	 "cpus",
					     "socket", "die",  "node",	 "cluster",
					     "cache",  "ctrs", "thread", "comm-pid" };

	return piece_in(name, words, sizeof(words) / sizeof(*words));
}

static void say_values(struct counts_reader *r, const struct csv_line *l,
		       const struct csv_line *names)
{
	size_t k = 0;

	while (k < names->n && is_csv_context(names->f[k]))
		k++;
	for (size_t i = behind_counters(l); i < l->n; i++, k++) {
		struct counts_said said = { .value = piece_number(l->f[i]),
					    .error = NAN,
					    .time = l->time,
					    .place = l->place };

		if (!l->f[i].len)
			continue;
		if (k < names->n)
			counts_unit_of(&said, names->f[k]);
		r->unnamed += !said.name.len;
		counts_say(r, &said);
	}
	counts_saw_time(r, l->time);
}

/* Fields, of them time and place; l->at: the field behind these. */
static void split_line(struct csv_line *l, struct piece line, char sep)
{
	size_t i = 0;

	l->n = counts_fields(line, sep, l->f, COUNTS_FIELDS);
	l->time = NAN;
	l->place.len = 0;
	if (l->n && piece_is(l->f[0], "summary"))
		i++;
	if (i < l->n && counts_is_time(l->f[i]))
		l->time = piece_number(l->f[i++]);
	if (i + 1 < l->n && counts_is_place(l->f[i]) && isnan(piece_number(l->f[i])))
		l->place = l->f[i++];
	l->at = i;
}

static void read_csv_line(struct counts_reader *r, struct csv_line *l, struct csv_line *names,
			  struct piece line, char sep, struct piece *event)
{
	struct counts_row row;
	struct counts_said said;

	split_line(l, line, sep);
	if (read_csv_row(l, &row, &said)) {
		counts_saw_time(r, l->time);
		*event = row.event;
		counts_add(r, &row);
		if (said.name.len)
			counts_say(r, &said);
		if (!isnan(row.noise))
			counts_say(r, &(struct counts_said){ .name = { "+-", 2 },
							     .unit = { "%", 1 },
							     .event = row.event,
							     .cgroup = row.cgroup,
							     .place = row.place,
							     .time = row.time,
							     .value = row.noise * 100,
							     .error = NAN });
	} else if (read_more(l, &said)) {
		said.event = *event;
		counts_say(r, &said);
	} else if (is_names(l, line, sep)) {
		*names = *l;
	} else if (is_values(l, line, sep)) {
		say_values(r, l, names);
	}
}

void counts_read_csv(struct counts_reader *r, struct piece text, char separator)
{
	struct csv_line l, names = { .n = 0 };
	struct piece line, event = { "", 0 };

	while (counts_next_line(&text, &line)) {
		line = piece_trim(line);
		if (line.len && *line.s == '#')
			counts_comment(r, line);
		else if (line.len)
			read_csv_line(r, &l, &names, line, separator, &event);
	}
}

static size_t rate_csv(struct piece text, char separator)
{
	struct csv_line l;
	struct piece line;
	size_t n = 0;
	bool names = false;

	for (size_t i = 0; i < LINES_TO_TRY && counts_next_line(&text, &line); i++) {
		struct counts_row row;
		struct counts_said said;

		line = piece_trim(line);
		if (!line.len || *line.s == '#')
			continue;
		split_line(&l, line, separator);
		if (read_csv_row(&l, &row, &said))
			n += 2;
		else if (is_names(&l, line, separator))
			names = true;
		else
			n += (names || l.at) && is_values(&l, line, separator);
	}
	return n;
}

char counts_csv_is(struct piece text, char separator)
{
	return counts_separator(text, separator, rate_csv);
}
