/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of perf stat: -x (fields) and the table for people (words).
 *
 *	[time,][place,[counters,]]value,unit,event,[cgroup,][noise%,]runtime,percent[,metric,unit]
 *	[time] [place [counters]] value [unit] event [cgroup] [# metric] [( +- noise%)] [(percent%)]
 *
 * A place is CPU0, S0, S0-D0-C1, N0, or COMMAND-PID.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "perfdata/counts_file_int.h"

#define FIELDS_MAX 32u
#define WORDS_MAX  16u

/* ---- perf stat -x ----------------------------------------------------------------------- */

static size_t split(struct piece line, char sep, struct piece *out)
{
	size_t n = 0;

	for (;;) {
		const char *end = line.len ? memchr(line.s, sep, line.len) : NULL;
		size_t len = end ? (size_t)(end - line.s) : line.len;

		if (n == FIELDS_MAX)
			return n;
		out[n++] = piece_trim((struct piece){ line.s, len });
		if (!end)
			return n;
		line.s += len + 1;
		line.len -= len + 1;
	}
}

static bool is_unit(struct piece w)
{
	static const char *const units[] = { "msec", "ns",  "us",  "sec", "Joules", "Watts",
					     "MiB",  "KiB", "GiB", "C",	  "%" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (piece_is(w, units[i]))
			return true;
	return false;
}

static bool is_count(struct piece w)
{
	return piece_is(w, "<not counted>") || piece_is(w, "<not supported>") ||
	       !isnan(piece_number(w));
}

/* What an event can begin with. */
static bool is_name(struct piece w)
{
	return w.len && (isalpha((unsigned char)*w.s) || *w.s == '_' || *w.s == '{');
}

/* Times in milliseconds become nanoseconds, as the kernel counts them. */
static double in_base_unit(double value, struct piece unit)
{
	return piece_is(unit, "msec") ? value * 1e6 : piece_is(unit, "us") ? value * 1e3 : value;
}

/* The event of field *k, which can have separators between its slashes; *k: the field behind it. */
static struct piece event_at(const struct piece *f, size_t n, size_t *k)
{
	const struct piece *first = &f[(*k)++];
	struct piece event = *first;
	const char *slash = memchr(event.s, '/', event.len);

	if (!slash || memchr(slash + 1, '/', (size_t)(event.s + event.len - slash) - 1))
		return event;
	for (size_t i = *k; i < n; i++)
		if (memchr(f[i].s, '/', f[i].len)) {
			*k = i + 1;
			event.len = (size_t)(f[i].s + f[i].len - event.s);
			break;
		}
	return event;
}

/* Field `i` is the count, of the time `f[0]` if there is one. False: it is not. */
static bool csv_row(const struct piece *f, size_t n, size_t i, struct counts_row *out)
{
	size_t k = i + 2;

	if (i + 2 >= n || !is_count(f[i]) || !is_name(f[i + 2]) || is_unit(f[i + 2]) ||
	    (f[i + 1].len && !is_unit(f[i + 1]) && !is_name(f[i + 1])))
		return false;
	*out = (struct counts_row){ .event = event_at(f, n, &k), .counted = NAN };
	/* [cgroup] [noise%] runtime percent */
	if (k + 2 < n && isnan(piece_number(f[k])) && f[k].len && f[k].s[f[k].len - 1] != '%')
		out->cgroup = f[k++];
	if (k + 2 < n && f[k].len && f[k].s[f[k].len - 1] == '%')
		k++;
	if (k < n && isnan(piece_number(f[k])))
		return false; /* no runtime: it is not perf's */
	if (k + 1 < n)
		out->counted = counts_share(piece_number(f[k + 1]));
	out->state = counts_state_of(f[i], out->counted);
	out->value = in_base_unit(piece_number(f[i]), f[i + 1]);
	return true;
}

/* "1.000123456": seconds with nine decimals, of an interval. */
static bool is_time(struct piece w)
{
	const char *dot = w.len ? memchr(w.s, '.', w.len) : NULL;

	if (!dot || (size_t)(w.s + w.len - dot) != 10)
		return false;
	for (size_t i = 0; i < w.len; i++)
		if (!isdigit((unsigned char)w.s[i]) && &w.s[i] != dot)
			return false;
	return dot > w.s;
}

static bool csv_line(struct piece line, char sep, struct counts_row *row, double *time)
{
	struct piece f[FIELDS_MAX];
	size_t n = split(line, sep, f);

	*time = n && is_time(f[0]) ? piece_number(f[0]) : NAN;
	for (size_t i = isnan(*time) ? 0u : 1u; i + 2 < n && i < 4; i++)
		if (csv_row(f, n, i, row)) {
			row->place = hash_bytes(line.s, (size_t)(f[i].s - line.s));
			return true;
		}
	return false;
}

static void saw_time(struct counts_reader *r, double time)
{
	if (!isnan(time) && !(time < r->last_time))
		r->last_time = time;
}

static bool is_metric(struct piece line)
{
	static const char *const signs[] = { "%  ", "tma_", "Retiring", "retiring" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (line.len && memmem(line.s, line.len, signs[i], strlen(signs[i])))
			return true;
	return false;
}

void counts_read_csv(struct counts_reader *r, struct piece text, char separator)
{
	struct piece line;

	while (counts_next_line(&text, &line)) {
		struct counts_row row;
		double time;

		if (piece_trim(line).len && *piece_trim(line).s == '#') {
			counts_comment(r, piece_trim(line));
		} else if (csv_line(line, separator, &row, &time)) {
			saw_time(r, time);
			counts_add(r, &row);
		} else {
			r->metrics |= is_metric(line);
		}
	}
}

size_t counts_csv_lines(struct piece text, char separator, size_t enough)
{
	struct piece line;
	size_t n = 0;

	for (size_t i = 0; i < enough && counts_next_line(&text, &line); i++) {
		struct counts_row row;
		double time;

		n += csv_line(line, separator, &row, &time) ? 1u : 0u;
	}
	return n;
}

/* ---- perf stat's table ------------------------------------------------------------------ */

/* Words, of which "<not counted>" is one; up to a metric. */
static size_t words_of(struct piece line, struct piece *w)
{
	size_t n = 0;

	for (;;) {
		line = piece_trim(line);
		if (!line.len || *line.s == '#' || n == WORDS_MAX)
			return n;
		w[n] = (struct piece){ line.s, 0 };
		while (w[n].len < line.len && !isspace((unsigned char)line.s[w[n].len]))
			w[n].len++;
		if (piece_is(w[n], "<not") && memchr(line.s, '>', line.len))
			w[n].len =
				(size_t)((const char *)memchr(line.s, '>', line.len) + 1 - line.s);
		line.s += w[n].len;
		line.len -= w[n].len;
		n++;
	}
}

/* "(66.67%)" at the end of a line, but not the "( +- 0.16% )" of -r. */
static double share_at_end(struct piece line)
{
	const char *open;

	line = piece_trim(line);
	if (line.len < 4 || memcmp(line.s + line.len - 2, "%)", 2) != 0)
		return NAN;
	open = memrchr(line.s, '(', line.len);
	if (!open)
		return NAN;
	return counts_share(piece_number(
		(struct piece){ open + 1, (size_t)(line.s + line.len - 2 - open - 1) }));
}

/* CPU0, S0, S0-D0-C1, D0, N-1, S0-D0-CLS4, COMMAND-1234. */
static bool is_place(struct piece w)
{
	size_t digits = 0;
	char before;

	while (digits < w.len && isdigit((unsigned char)w.s[w.len - 1 - digits]))
		digits++;
	if (!digits || digits == w.len)
		return false;
	before = w.s[w.len - 1 - digits];
	return before == '-' || isupper((unsigned char)before);
}

/* Words 0..*at - 1 are a place; *at becomes that of the value. False: there is none. */
static bool find_value(const struct piece *w, size_t n, size_t *at)
{
	size_t i = *at;

	if (i < n && is_count(w[i])) {
		*at = i;
		return true;
	}
	/* a command can have blanks: its last word has the number */
	while (i < n && i < *at + 4 && !is_place(w[i]))
		i++;
	if (i >= n || !is_place(w[i]) || ++i >= n || !is_count(w[i]))
		return false;
	if (i + 1 < n && is_count(w[i + 1])) /* how many counters there stood before it */
		i++;
	*at = i;
	return true;
}

/* Tables have two decimals or none: three digits behind a dot are thousands, in some languages. */
static double table_number(struct piece w)
{
	const char *dot = memchr(w.s, '.', w.len);
	double v = piece_number(w);

	return dot && w.s + w.len - dot == 4 && !memchr(w.s, ',', w.len) ? round(v * 1000) : v;
}

static void table_line(struct counts_reader *r, struct piece line)
{
	struct piece w[WORDS_MAX];
	struct counts_row row = { .counted = share_at_end(line) };
	size_t n = words_of(line, w), at, k;
	bool elapsed = n > 1 && (piece_is(w[1], "seconds") || piece_is(w[1], "+-"));
	double time = n && is_time(w[0]) && !elapsed ? piece_number(w[0]) : NAN;

	if (!n) { /* more of what belongs to the event above */
		if (r->cells.n && !isnan(row.counted) && !vec_last(&r->cells)->never)
			vec_last(&r->cells)->counted = row.counted;
		return;
	}
	at = isnan(time) ? 0u : 1u;
	if (!find_value(w, n, &at))
		return;
	k = at + 1;
	if (k + 1 < n && piece_is(w[k], "+-")) /* -r: of the time elapsed */
		k += 2;
	if (k + 1 < n && piece_is(w[k], "seconds")) {
		if (piece_is(w[k + 1], "time"))
			r->elapsed = piece_number(w[at]);
		return;
	}
	if (k < n && is_unit(w[k]))
		row.value = in_base_unit(table_number(w[at]), w[k++]);
	else
		row.value = table_number(w[at]);
	if (k >= n || !is_name(w[k]))
		return;
	row.event = w[k++];
	if (k < n && *w[k].s == '[') { /* NAME [pmu] */
		row.event.len = (size_t)(w[k].s + w[k].len - row.event.s);
		k++;
	}
	if (k < n && *w[k].s != '(' && *w[k].s != '+')
		row.cgroup = w[k];
	row.state = counts_state_of(w[at], row.counted);
	row.place = hash_bytes(w[0].s, (size_t)(w[at].s - w[0].s));
	saw_time(r, time);
	counts_add(r, &row);
}

void counts_read_table(struct counts_reader *r, struct piece text)
{
	static const char title[] = "Performance counter stats";
	struct piece line;

	while (counts_next_line(&text, &line)) {
		struct piece t = piece_trim(line);

		if (t.len >= sizeof(title) - 1 && !memcmp(t.s, title, sizeof(title) - 1))
			continue;
		if (t.len && *t.s == '#')
			counts_comment(r, t);
		r->metrics |= is_metric(line);
		table_line(r, line);
	}
}
