/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table that perf stat prints for people:
 *
 *	[time] [place [counters]] value [unit] event [cgroup] [# metric] [( +- noise%)] [(percent%)]
 *							      [# metric]
 *
 * and with --metric-only a line of names, then lines of values. Numbers are as the language has
 * them: "1,234.5", "1.234,5", "1 234,5"; the elapsed time shows which sign is the decimal point.
 * perf 3 wrote "task-clock (msec)" and [percent%].
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "perfdata/counts_file_int.h"

#define WORDS_MAX   64u
#define METRICS_MAX 64u
#define COLUMN	    20u /* of --metric-only, at least */

struct table_reader {
	struct counts_reader *r;
	char decimal;	    /* the sign in front of decimals; 0: none was seen */
	struct piece event; /* of the last line that had one */
	struct piece cgroup, place;
	double time;
	struct piece names; /* a line that may be names of --metric-only */
};

/* "567" or "567,80" behind "1" or "1 234": thousands that a blank separates. */
static bool joins(struct piece before, struct piece w)
{
	if (w.s != before.s + before.len + 1 || !isdigit((unsigned char)*before.s) ||
	    (before.len > 3 && before.s[before.len - 4] != ' '))
		return false;
	for (size_t i = 0; i < w.len; i++)
		if (i < 3 ? !isdigit((unsigned char)w.s[i])
			  : (i == 3) == !!isdigit((unsigned char)w.s[i]))
			return false;
	for (size_t i = 1; i <= 3 && i <= before.len; i++)
		if (!isdigit((unsigned char)before.s[before.len - i]))
			return false;
	return w.len >= 3;
}

/* Words, of which "<not counted>" is one, and "1 234 567"; up to a metric. */
static size_t table_words(struct piece line, struct piece *w)
{
	size_t n = 0;

	for (;;) {
		const char *end;

		line = piece_trim(line);
		if (!line.len || *line.s == '#' || n == WORDS_MAX)
			return n;
		w[n] = (struct piece){ line.s, 0 };
		while (w[n].len < line.len && !isspace((unsigned char)line.s[w[n].len]))
			w[n].len++;
		end = piece_is(w[n], "<not") ? memchr(line.s, '>', line.len) : NULL;
		if (end)
			w[n].len = (size_t)(end + 1 - line.s);
		line.s += w[n].len;
		line.len -= w[n].len;
		if (n && joins(w[n - 1], w[n]))
			w[n - 1].len = (size_t)(w[n].s + w[n].len - w[n - 1].s);
		else
			n++;
	}
}

/* A number of this table, "1 234" too. Without a known decimal point three digits behind a dot are
 * thousands: tables have two decimals or none. */
static double table_number(const struct table_reader *t, struct piece w)
{
	char text[64];
	size_t n = 0, points = 0, behind = 0;

	if (w.len >= sizeof(text))
		return NAN;
	for (size_t i = 0; i < w.len; i++) {
		bool sign = w.s[i] == ',' || w.s[i] == '.';

		points += w.s[i] == t->decimal && sign;
		behind = sign ? 0 : behind + 1;
	}
	for (size_t i = 0; i < w.len; i++) {
		bool sign = w.s[i] == ',' || w.s[i] == '.';

		/* one that stands twice separates thousands after all */
		if (sign && t->decimal && points < 2) {
			if (w.s[i] == t->decimal)
				text[n++] = '.';
		} else if (w.s[i] != ' ' && !(sign && !t->decimal && behind == 3)) {
			text[n++] = w.s[i];
		}
	}
	return piece_number((struct piece){ text, n });
}

static bool is_count(const struct table_reader *t, struct piece w)
{
	return counts_is_count(w) || !isnan(table_number(t, w));
}

/* ---- which sign is the decimal point ---------------------------------------------------- */

/* Behind a decimal point stand two or nine digits, sometimes three; thousands are three. A number
 * that begins with 0 has no thousands. */
static char decimal_of(struct piece w)
{
	const char *last = NULL;
	size_t behind = 0;

	if (isnan(piece_number(w)))
		return 0;
	for (size_t i = 0; i < w.len; i++)
		if (w.s[i] == ',' || w.s[i] == '.')
			last = &w.s[i];
	if (!last)
		return 0;
	while (last + 1 + behind < w.s + w.len && isdigit((unsigned char)last[1 + behind]))
		behind++;
	return behind != 3 || (*w.s == '0' && last == w.s + 1) ? *last : 0;
}

static char find_decimal(struct piece text)
{
	size_t commas = 0, dots = 0;
	struct piece line;

	while (counts_next_line(&text, &line)) {
		struct piece rest = line;

		while ((rest = piece_trim(rest)).len) {
			struct piece w = { rest.s, 0 };
			char d;

			while (w.len < rest.len && !isspace((unsigned char)w.s[w.len]) &&
			       w.s[w.len] != '%' && w.s[w.len] != '(')
				w.len++;
			d = decimal_of(w);
			commas += d == ',';
			dots += d == '.';
			w.len += !w.len || w.len < rest.len;
			rest.s += w.len;
			rest.len -= w.len;
		}
	}
	return commas > dots ? ',' : dots > commas ? '.' : 0;
}

/* ---- behind the event ------------------------------------------------------- */

/* "(66.67%)", "[66.67%]" and "( +- 0.16% )" at the end of a line are taken off it. */
struct tail {
	double share, noise;
};

static struct tail take_tail(const struct table_reader *t, struct piece *line)
{
	struct tail out = { NAN, NAN };

	for (;;) {
		const char *open;
		struct piece in;
		char close;

		*line = piece_trim(*line);
		close = line->len ? line->s[line->len - 1] : 0;
		if (close != ')' && close != ']')
			return out;
		open = memrchr(line->s, close == ')' ? '(' : '[', line->len);
		if (!open)
			return out;
		in = piece_trim(
			(struct piece){ open + 1, (size_t)(line->s + line->len - 1 - open) - 1 });
		if (!in.len || in.s[in.len - 1] != '%')
			return out;
		in.len--;
		if (in.len > 2 && !memcmp(in.s, "+-", 2))
			out.noise = table_number(
					    t, piece_trim((struct piece){ in.s + 2, in.len - 2 })) /
				    100;
		else if (isnan(out.share))
			out.share = counts_share(table_number(t, in));
		line->len = (size_t)(open - line->s);
	}
}

/* "68.7 %  tma_backend_bound", "0.28% of all branches", "1.12  insn per cycle". */
static void say_metric(struct table_reader *t, struct piece metric)
{
	struct counts_said said = { .error = NAN,
				    .event = t->event,
				    .cgroup = t->cgroup,
				    .place = t->place,
				    .time = t->time };
	struct piece w = { piece_trim(metric).s, 0 };

	metric = piece_trim(metric);
	while (w.len < metric.len && !isspace((unsigned char)w.s[w.len]) && w.s[w.len] != '%')
		w.len++;
	said.value = table_number(t, w);
	if (isnan(said.value))
		return;
	counts_unit_of(&said, (struct piece){ w.s + w.len, metric.len - w.len });
	counts_say(t->r, &said);
}

static void say_noise(struct table_reader *t, double noise)
{
	if (isnan(noise))
		return;
	counts_say(t->r, &(struct counts_said){ .name = { "+-", 2 },
						.unit = { "%", 1 },
						.event = t->event,
						.cgroup = t->cgroup,
						.place = t->place,
						.time = t->time,
						.value = noise * 100,
						.error = NAN });
}

/* ---- lines of counts -------------------------------------------------------------------- */

/* Words 0..*at - 1 are a place; *at becomes that of the value. False: there is none. */
static bool find_value(const struct table_reader *t, const struct piece *w, size_t n, size_t *at,
		       struct piece *place)
{
	size_t i = *at;

	place->len = 0;
	if (i < n && is_count(t, w[i])) {
		*at = i;
		return true;
	}
	/* a command can have blanks: its last word has the number */
	while (i < n && i < *at + 4 && !counts_is_place(w[i]))
		i++;
	if (i >= n || !counts_is_place(w[i]) || ++i >= n || !is_count(t, w[i]))
		return false;
	*place = (struct piece){ w[*at].s, (size_t)(w[i - 1].s + w[i - 1].len - w[*at].s) };
	if (i + 1 < n && is_count(t, w[i + 1])) /* how many counters there stood before it */
		i++;
	*at = i;
	return true;
}

static void took(struct table_reader *t, const struct piece *w, size_t n, size_t at, size_t k)
{
	double v = table_number(t, w[at]);

	if (k + 1 >= n)
		return;
	if (piece_is(w[k + 1], "time"))
		t->r->elapsed = v;
	else if (piece_is(w[k + 1], "user"))
		t->r->user_s = v;
	else if (piece_is(w[k + 1], "sys"))
		t->r->sys_s = v;
}

static bool count_line(struct table_reader *t, struct piece counts, const struct tail *tail)
{
	struct counts_reader *r = t->r;
	struct piece w[WORDS_MAX];
	struct counts_row row = { .counted = tail->share, .noise = tail->noise };
	size_t n = table_words(counts, w), at, k;
	bool elapsed = n > 1 && (piece_is(w[1], "seconds") || piece_is(w[1], "+-"));
	double time = n && counts_is_time(w[0]) && !elapsed ? table_number(t, w[0]) : NAN;

	at = isnan(time) ? 0u : 1u;
	if (!find_value(t, w, n, &at, &row.place))
		return false;
	k = at + 1;
	if (k + 1 < n && piece_is(w[k], "+-")) /* -r: of the time elapsed */
		k += 2;
	if (k < n && piece_is(w[k], "seconds")) {
		took(t, w, n, at, k);
		return true;
	}
	row.value = table_number(t, w[at]);
	if (k < n && counts_is_unit(w[k]))
		counts_set_unit(&row, w[k++]);
	if (k >= n || !counts_is_name(w[k]))
		return false;
	/* The event of word *k: "NAME", "NAME [pmu]", "NAME (msec)", and its cgroup. */
	row.event = w[k++];
	if (k < n && *w[k].s == '[') {
		row.event.len = (size_t)(w[k].s + w[k].len - row.event.s);
		k++;
	}
	if (k < n && piece_is(w[k], "(msec)")) {
		counts_set_unit(&row, (struct piece){ "msec", 4 });
		k++;
	}
	if (k < n && *w[k].s != '(' && *w[k].s != '+')
		row.cgroup = w[k];
	t->event = row.event;
	t->cgroup = row.cgroup;
	row.state = counts_state_of(w[at], row.counted);
	row.time = t->time = time;
	t->place = row.place;
	counts_saw_time(r, time);
	counts_add(r, &row);
	say_noise(t, row.noise);
	return true;
}

/* ---- --metric-only ---------------------------------------------------------------------- */

static bool is_value(struct piece w)
{
	if (w.len > 1 && w.s[w.len - 1] == '%')
		w.len--;
	return !isnan(piece_number(w)) || piece_is(w, "nan");
}

/* Names between which are two blanks or more, or that begin with %. Returns how many. */
static size_t split_headings(struct piece line, struct piece *out)
{
	size_t n = 0;

	while ((line = piece_trim(line)).len && n < METRICS_MAX) {
		size_t len = *line.s == '%', i;

		while (len < line.len && line.s[len] == ' ') /* "%  tma_retiring" */
			len++;
		for (i = len; i < line.len; i++)
			if ((line.s[i] == ' ' && i + 1 < line.len && line.s[i + 1] == ' ') ||
			    (line.s[i] == ' ' && i + 1 < line.len && line.s[i + 1] == '%'))
				break;
		out[n++] = piece_trim((struct piece){ line.s, i });
		line.s += i;
		line.len -= i;
	}
	return n;
}

/* Names by their columns: values stand at the right of columns of 20, or of a longer name and one
 * more. False: these are no such columns. */
static bool names_by_column(struct piece line, const struct piece *value, size_t n,
			    struct piece *out)
{
	size_t end = line.len;

	while (end && line.s[end - 1] == ' ')
		end--;
	for (size_t i = n; i-- > 0;) {
		size_t width = 0, from;

		if (i)
			width = (size_t)(value[i].s + value[i].len -
					 (value[i - 1].s + value[i - 1].len)) -
				1;
		if (i && width < COLUMN)
			return false;
		if (width > COLUMN)
			width--;
		from = i && width < end ? end - width : 0;
		out[i] = piece_trim((struct piece){ line.s + from, end - from });
		if (!out[i].len || (i && !from))
			return false;
		end = from ? from - 1 : 0;
	}
	return true;
}

/* Words of the line of names that are of the time and the place. */
static struct piece without_context(struct piece line)
{
	static const char *const words[] = { "#",      "time", "cpu",	  "core",  "cpus",
					     "socket", "die",  "node",	  "ctrs",  "comm-",
					     "pid",    "comm", "cluster", "cache", "cgroup" };

	for (;;) {
		struct piece w;

		line = piece_trim(line);
		w = (struct piece){ line.s, 0 };
		while (w.len < line.len && !isspace((unsigned char)w.s[w.len]))
			w.len++;
		if (!piece_in(w, words, sizeof(words) / sizeof(*words)))
			return line;
		line.s += w.len;
		line.len -= w.len;
	}
}

static bool value_line(struct table_reader *t, struct piece line)
{
	struct piece w[WORDS_MAX], name[METRICS_MAX], place = { "", 0 };
	struct piece names = without_context(t->names);
	size_t n = table_words(line, w), at = 0, k;
	double time = NAN;

	if (n && n < METRICS_MAX && counts_is_time(w[0]) && n > 1 && !piece_is(w[1], "seconds"))
		time = table_number(t, w[at++]);
	if (at < n && counts_is_place(w[at]) && !is_value(w[at])) {
		place = w[at++];
		if (at + 1 < n && is_value(w[at]) && !memchr(w[at].s, '.', w[at].len))
			at++;
	}
	if (at >= n || (!t->names.len && isnan(time) && !place.len))
		return false;
	for (size_t i = at; i < n; i++)
		if (!is_value(w[i]))
			return false;
	k = split_headings(names, name);
	if (k != n - at && !names_by_column(names, w + at, n - at, name)) {
		t->r->unnamed += (uint32_t)(n - at);
		return true;
	}
	for (size_t i = at; i < n; i++) {
		struct counts_said said = { .error = NAN, .place = place, .time = time };
		bool percent = w[i].s[w[i].len - 1] == '%';

		if (percent)
			w[i].len--;
		said.value = table_number(t, w[i]);
		counts_unit_of(&said, name[i - at]);
		if (percent)
			said.unit = (struct piece){ "%", 1 };
		counts_say(t->r, &said);
	}
	counts_saw_time(t->r, time);
	return true;
}

/* ---- all of it -------------------------------------------------------------------------- */

/* "Performance counter stats for './prog' (5 runs):" */
static bool title(struct table_reader *t, struct piece line)
{
	static const char begins[] = "Performance counter stats";
	const char *open;

	if (line.len < sizeof(begins) - 1 || memcmp(line.s, begins, sizeof(begins) - 1) != 0)
		return false;
	open = memrchr(line.s, '(', line.len);
	if (open && memmem(open, (size_t)(line.s + line.len - open), " runs)", 6)) {
		double n = piece_number((struct piece){
			open + 1,
			(size_t)((const char *)memmem(open, (size_t)(line.s + line.len - open),
						      " runs)", 6) -
				 open - 1) });

		t->r->repeats = n >= 2 && n < 1e6 ? (uint32_t)n : 0;
	}
	return true;
}

static void table_line(struct table_reader *t, struct piece line)
{
	struct counts_reader *r = t->r;
	struct piece whole = piece_trim(line), counts, metric = { "", 0 };
	const char *sign = memchr(whole.s ? whole.s : "", '#', whole.len);
	struct tail tail = take_tail(t, &whole);

	counts = whole;
	if (sign && sign < whole.s + whole.len) {
		counts.len = (size_t)(sign - whole.s);
		metric = (struct piece){ sign + 1, (size_t)(whole.s + whole.len - sign) - 1 };
	}
	if (!piece_trim(counts).len) { /* a further line of the event above */
		struct counts_cell *last = r->cells.n ? vec_last(&r->cells) : NULL;

		if (last && !isnan(tail.share) && !last->never)
			last->counted = tail.share;
		if (last && !isnan(tail.noise) && !last->never && last->noise < 0) {
			last->noise = tail.noise;
			say_noise(t, tail.noise);
		}
	} else if (!metric.len && value_line(t, line)) {
		return;
	} else if (!count_line(t, counts, &tail)) {
		/* "S0 2    # 12.0 % tma_x" belongs to the event above, too */
		struct piece w[WORDS_MAX];
		size_t n = table_words(counts, w);

		if (metric.len && n && (counts_is_time(w[0]) || counts_is_place(w[0])))
			say_metric(t, metric);
		else
			t->names = line;
		return;
	}
	if (metric.len)
		say_metric(t, metric);
}

void counts_read_table(struct counts_reader *r, struct piece text, char separator)
{
	struct table_reader t = { .r = r, .decimal = find_decimal(text), .time = NAN };
	struct piece line;

	(void)separator;
	while (counts_next_line(&text, &line)) {
		struct piece w = piece_trim(line);

		if (!w.len || title(&t, w))
			continue;
		if (*w.s == '#') {
			counts_comment(r, w);
			/* "#   time   counts unit events", or names of --metric-only */
			if (w.len > 1 && memmem(w.s, w.len, " time", 5)) {
				t.names = line;
				continue;
			}
		}
		table_line(&t, line);
	}
}

char counts_table_is(struct piece text, char separator)
{
	(void)separator;
	return text.len != 0;
}
