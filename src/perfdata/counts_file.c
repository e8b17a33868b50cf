/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/counts_file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define ROWS_MAX   (1u << 20)
#define FIELDS_MAX 32u
#define NAME_LONG  512u

struct piece { /* of the text */
	const char *s;
	size_t len;
};

struct row {
	uint32_t event;
	uint64_t place;	       /* hash of time and place */
	double value, counted; /* counted: -1: not said */
};

struct reader {
	struct strtab names;
	VEC(struct row) rows;
	double seconds;
	bool failed, too_many;
};

static struct piece trim(struct piece p)
{
	while (p.len && isspace((unsigned char)*p.s)) {
		p.s++;
		p.len--;
	}
	while (p.len && isspace((unsigned char)p.s[p.len - 1]))
		p.len--;
	return p;
}

/* A number, commas between thousands allowed; NAN: it is none. */
static double number_of(struct piece p)
{
	char text[64], *end;
	size_t n = 0;
	double v;

	p = trim(p);
	if (!p.len || p.len >= sizeof(text) || !(isdigit((unsigned char)*p.s) || *p.s == '-'))
		return NAN;
	for (size_t i = 0; i < p.len; i++)
		if (p.s[i] != ',')
			text[n++] = p.s[i];
	text[n] = '\0';
	v = strtod(text, &end);
	return *end || !isfinite(v) ? NAN : v;
}

static void add_row(struct reader *r, struct piece event, double value, double counted,
		    uint64_t place)
{
	struct row row = { .place = place,
			   .value = value,
			   .counted = isnan(counted) ? -1 : counted };

	event.len = strnlen(event.s, event.len); /* a name ends where a string would */
	event = trim(event);
	if (!event.len || event.len > NAME_LONG || isnan(value) || value < 0)
		return;
	if (r->rows.n >= ROWS_MAX) {
		r->too_many = true;
		return;
	}
	row.event = strtab_add(&r->names, event.s, event.len);
	r->failed |= row.event == STR_NONE || vec_push(&r->rows, row);
}

static double fraction(double percent)
{
	return percent >= 0 && percent <= 100.5 ? fmin(percent / 100, 1) : NAN;
}

/* ---- perf stat -x ----------------------------------------------------------------------- */

static size_t split(struct piece line, char sep, struct piece *out)
{
	size_t n = 0;

	for (;;) {
		const char *end = line.len ? memchr(line.s, sep, line.len) : NULL;
		size_t len = end ? (size_t)(end - line.s) : line.len;

		if (n == FIELDS_MAX)
			return n;
		out[n++] = (struct piece){ line.s, len };
		if (!end)
			return n;
		line.s += len + 1;
		line.len -= len + 1;
	}
}

/* [time,][place,[cpus,]]value,unit,event,runtime,percent,... */
static void csv_line(struct reader *r, struct piece line, char sep)
{
	struct piece f[FIELDS_MAX];
	size_t n = split(line, sep, f);

	for (size_t i = 0; i + 2 < n; i++) {
		double value = number_of(f[i]);

		if (isnan(value) || !isnan(number_of(f[i + 1])) || !trim(f[i + 2]).len ||
		    !isnan(number_of(f[i + 2])))
			continue;
		add_row(r, f[i + 2], value, i + 4 < n ? fraction(number_of(f[i + 4])) : NAN,
			hash_bytes(line.s, (size_t)(f[i].s - line.s)));
		return;
	}
}

/* ---- perf stat's table ------------------------------------------------------------------ */

static struct piece word(struct piece *line)
{
	struct piece w;

	*line = trim(*line);
	w = (struct piece){ line->s, 0 };
	while (w.len < line->len && !isspace((unsigned char)line->s[w.len]))
		w.len++;
	line->s += w.len;
	line->len -= w.len;
	return w;
}

static bool is(struct piece w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.s, s, w.len);
}

/* "(66.67%)" at the end of a line. */
static double share_at_end(struct piece line)
{
	const char *open;

	line = trim(line);
	if (line.len < 4 || memcmp(line.s + line.len - 2, "%)", 2) != 0)
		return NAN;
	open = memrchr(line.s, '(', line.len);
	if (!open)
		return NAN;
	return fraction(
		number_of((struct piece){ open + 1, (size_t)(line.s + line.len - 2 - open - 1) }));
}

static bool is_unit(struct piece w)
{
	static const char *const units[] = { "msec", "ns", "Joules", "MiB", "KiB", "GiB", "C" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (is(w, units[i]))
			return true;
	return false;
}

static void table_line(struct reader *r, struct piece line)
{
	struct piece rest = line, first = word(&rest), second, all = line;
	double value = number_of(first), counted = share_at_end(all);
	uint64_t place = 0;

	if (is(first, "#")) { /* more of what belongs to the event above */
		if (r->rows.n && !isnan(counted))
			vec_last(&r->rows)->counted = counted;
		return;
	}
	if (isnan(value)) {
		/* "CPU0 1,234 event", "S0-D0 2 1,234 event" */
		place = hash_bytes(first.s, first.len);
		first = word(&rest);
		value = number_of(first);
		if (isnan(value))
			return;
	}
	second = word(&rest);
	if (!isnan(number_of(second))) { /* a time or a number of CPUs stood before it */
		place = hash_pair(place, hash_bytes(first.s, first.len));
		value = number_of(second);
		second = word(&rest);
	}
	if (is(second, "seconds")) {
		struct piece what = word(&rest);

		if (is(what, "time"))
			r->seconds = value;
		return;
	}
	if (is_unit(second))
		second = word(&rest);
	if (second.len && *second.s != '#' && *second.s != '(' && *second.s != '+')
		add_row(r, second, value, counted, place);
}

/* ---- JSON ------------------------------------------------------------------------------- */

struct object {
	struct piece event, place;
	double value, counted;
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

static void json_value(struct reader *r, struct object *o, struct piece key, struct piece v)
{
	double n = number_of(v);

	if (is(key, "event")) {
		o->event = v;
	} else if (is(key, "value") || is(key, "counter-value")) {
		o->value = n;
	} else if (is(key, "counted")) {
		o->counted = fraction(n * 100);
	} else if (is(key, "pcnt-running")) {
		o->counted = fraction(n);
	} else if (is(key, "interval") || is(key, "cpu") || is(key, "core") || is(key, "where") ||
		   is(key, "socket") || is(key, "thread")) {
		o->place = v;
	} else if (is(key, "seconds") && !isnan(n)) {
		r->seconds = isnan(r->seconds) ? n : r->seconds + n;
	}
}

/* Objects with an event and a value, wherever they stand. */
static void json_text(struct reader *r, struct piece p)
{
	const struct object none = { { "", 0 }, { "", 0 }, NAN, NAN };
	struct object o = none;
	struct piece key = { "", 0 };
	bool after_colon = false;

	while (p.len) {
		char c = *p.s;
		struct piece v = { p.s, 1 };

		p.s++;
		p.len--;
		if (c == '"') {
			v = json_string(&p);
		} else if (isalnum((unsigned char)c) || c == '-') {
			while (p.len && !strchr(",]} \t\r\n", *p.s)) {
				p.s++;
				p.len--;
				v.len++;
			}
		} else {
			after_colon |= c == ':';
			if (c == '{')
				o = none;
			if (c == '}') {
				add_row(r, o.event, o.value, o.counted,
					hash_bytes(o.place.s, o.place.len));
				o = none;
			}
			if (c == '{' || c == '[' || c == ',')
				after_colon = false;
			continue;
		}
		if (after_colon)
			json_value(r, &o, key, v);
		else
			key = v;
		after_colon = false;
	}
}

/* ---- all of it -------------------------------------------------------------------------- */

static char guess_separator(const char *text, size_t len)
{
	static const char candidates[] = ";,|\t";

	for (const char *c = candidates; *c; c++) {
		const char *at = memchr(text, *c, len);
		size_t n = 0;

		for (; at; at = memchr(at + 1, *c, len - (size_t)(at + 1 - text)))
			n++;
		/* perf writes four of them a line at least; a table has commas in its numbers */
		if (n >= 4 && (*c != ',' || !memchr(text, '#', len < 4096 ? len : 4096)))
			return *c;
	}
	return 0;
}

static void lines(struct reader *r, const char *text, size_t len, char sep)
{
	struct piece all = { text, len };

	while (all.len) {
		const char *nl = memchr(all.s, '\n', all.len);
		struct piece line = { all.s, nl ? (size_t)(nl - all.s) : all.len };
		size_t used = line.len + !!nl;

		all.s += used;
		all.len -= used;
		if (sep && trim(line).len && *trim(line).s != '#' && memchr(line.s, sep, line.len))
			csv_line(r, line, sep);
		else
			table_line(r, line);
	}
}

static int by_event(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	/* the one that was counted longest first */
	return (x->counted < y->counted) - (x->counted > y->counted);
}

static int sum_up(struct reader *r, struct counts_file *out, struct arena *a, struct err *err)
{
	struct counted_event *ev = arena_alloc(a, (r->rows.n + 1) * sizeof(*ev));
	size_t n = 0;

	if (!ev)
		return err_nomem(err);
	vec_sort(&r->rows, by_event);
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.v[i], *before = i ? row - 1 : NULL;

		if (before && before->event == row->event && before->place == row->place)
			continue;
		if (!before || before->event != row->event) {
			ev[n].name = arena_strdup(a, strtab_get(&r->names, row->event));
			if (!ev[n].name)
				return err_nomem(err);
			ev[n].counted = row->counted < 0 ? NAN : row->counted;
			n++;
		}
		ev[n - 1].value += row->value;
		if (row->counted >= 0)
			ev[n - 1].counted = fmin(ev[n - 1].counted, row->counted);
	}
	out->event = ev;
	out->n = n;
	out->seconds = r->seconds;
	return 0;
}

int counts_file_parse(struct counts_file *out, struct arena *a, const char *text, size_t len,
		      char separator, const char *name, struct err *err)
{
	struct reader r = { .names = STRTAB_INIT, .seconds = NAN };
	struct piece start = trim((struct piece){ text, len });
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (start.len && (*start.s == '{' || *start.s == '['))
		json_text(&r, start);
	else
		lines(&r, text, len, separator ? separator : guess_separator(text, len));
	if (!r.rows.n && !r.failed) /* commas in numbers are no separators */
		lines(&r, text, len, 0);
	if (r.failed)
		(void)err_nomem(err);
	else if (r.too_many)
		(void)err_set(err, ERR_LIMIT, "%s: more than %u counts", name, ROWS_MAX);
	else if (!r.rows.n)
		(void)(err_set(err, ERR_FORMAT, "%s: no counts are in it", name) |
		       err_hint(err, "perf stat's table, perf stat -x or -j, or cyclade stat -j"));
	else
		rc = sum_up(&r, out, a, err);
	vec_free(&r.rows);
	strtab_free(&r.names);
	return rc;
}
