/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/counts_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "perfdata/counts_file_int.h"

#define NAME_LONG   512u
#define NUMBER_LONG 64u

/* ---- pieces of text --------------------------------------------------------------------- */

bool piece_in(struct piece p, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (piece_is(p, words[i]))
			return true;
	return false;
}

struct piece piece_trim(struct piece p)
{
	if (!p.len)
		return (struct piece){ p.s ? p.s : "", 0 };
	while (p.len && isspace((unsigned char)*p.s)) {
		p.s++;
		p.len--;
	}
	while (p.len && isspace((unsigned char)p.s[p.len - 1]))
		p.len--;
	return p;
}

/* Bytes of a separator of thousands that is no comma and no dot: blanks that do not break, and
 * apostrophes, in UTF-8. */
static size_t odd_separator(const char *s, size_t len)
{
	static const char *const signs[] = { "\xe2\x80\xaf", "\xe2\x80\x99", "\xc2\xa0", "'" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (len >= strlen(signs[i]) && !memcmp(s, signs[i], strlen(signs[i])))
			return strlen(signs[i]);
	return 0;
}

/* Which of them is the decimal point: the last one, unless exactly three digits follow a comma, or
 * a dot that stands several times. perf prints two decimals, or nine. */
static const char *decimal_point(struct piece p)
{
	const char *last = NULL;
	size_t same = 0, other = 0, digits;

	for (size_t i = p.len; i-- > 0;) {
		if (p.s[i] != ',' && p.s[i] != '.')
			continue;
		if (!last)
			last = &p.s[i];
		same += p.s[i] == *last;
		other += p.s[i] != *last;
	}
	if (!last || same > 1)
		return NULL;
	digits = (size_t)(p.s + p.len - last) - 1;
	if (other || digits != 3)
		return last;
	return *last == '.' ? last : NULL;
}

double piece_number(struct piece p)
{
	char text[NUMBER_LONG], *end;
	const char *point;
	size_t n = 0, odd;
	double v;

	p = piece_trim(p);
	if (!p.len || p.len >= sizeof(text) || !(isdigit((unsigned char)*p.s) || *p.s == '-'))
		return NAN;
	point = decimal_point(p);
	for (size_t i = 0; i < p.len; i += odd ? odd : 1) {
		odd = odd_separator(p.s + i, p.len - i);
		if (&p.s[i] == point)
			text[n++] = '.';
		else if (!odd && p.s[i] != ',' && p.s[i] != '.')
			text[n++] = p.s[i];
	}
	text[n] = '\0';
	v = strtod(text, &end);
	return !n || *end || !isfinite(v) ? NAN : v;
}

double counts_share(double percent)
{
	return percent >= 0 && percent <= 100.5 ? fmin(percent / 100, 1) : NAN;
}

enum counts_state counts_state_of(struct piece p, double share)
{
	if (piece_is(p, "<not supported>"))
		return COUNTS_IDLE;
	if (!piece_is(p, "<not counted>"))
		return COUNTS_VALUE;
	/* 100 % of no time at all: it was never enabled, since nothing ran */
	return share < 1 ? COUNTS_NEVER : COUNTS_IDLE;
}

bool counts_next_line(struct piece *text, struct piece *line)
{
	const char *nl = text->len ? memchr(text->s, '\n', text->len) : NULL;
	size_t used;

	if (!text->len)
		return false;
	*line = (struct piece){ text->s, nl ? (size_t)(nl - text->s) : text->len };
	used = line->len + (nl ? 1u : 0u);
	text->s += used;
	text->len -= used;
	return true;
}

/* ---- rows ------------------------------------------------------------------------------- */

bool counts_core_pmu(const char *pmu, size_t len)
{
	return (len >= 3 && !memcmp(pmu, "cpu", 3) && (len == 3 || pmu[3] == '_')) ||
	       (len > 4 && !memcmp(pmu, "armv", 4)) || (len > 5 && !memcmp(pmu, "apple", 5));
}

/* "uncore_imc_1" without "_1": the boxes of a unit are pieces of one count. */
static size_t unit_of_box(const char *s, size_t len)
{
	size_t n = len;

	while (n && isdigit((unsigned char)s[n - 1]))
		n--;
	return n < len && n > 1 && s[n - 1] == '_' ? n - 1 : len;
}

/* The name "EVENT [PMU]" of perf 6.12 and 'PMU/EVENT/MODIFIERS': which PMU it is, and the rest, its
 * name. `out` has room for NAME_LONG bytes. */
static size_t split_name(struct piece event, struct piece *pmu, char *out)
{
	const char *slash = memchr(event.s, '/', event.len), *open, *end;
	size_t n = event.len;

	memcpy(out, event.s, n);
	if (event.s[n - 1] == ']') {
		open = memrchr(event.s, '[', n);
		if (!open || open == event.s)
			return n;
		*pmu = (struct piece){ open + 1, (size_t)(event.s + n - 2 - open) };
		return piece_trim((struct piece){ out, (size_t)(open - event.s) }).len;
	}
	end = slash ? memrchr(event.s, '/', n) : NULL;
	if (!slash || end == slash || slash == event.s)
		return n;
	*pmu = (struct piece){ event.s, (size_t)(slash - event.s) };
	if (counts_core_pmu(pmu->s, pmu->len)) {
		struct piece inside = { slash + 1, (size_t)(end - slash) - 1 };
		struct piece after = { end + 1, (size_t)(event.s + n - end) - 1 };

		/* terms stay as they are: "cpu/event=0x3c/" */
		if (memchr(inside.s, '=', inside.len) || memchr(inside.s, ',', inside.len))
			return n;
		memcpy(out, inside.s, inside.len);
		if (!after.len)
			return inside.len;
		out[inside.len] = ':';
		memcpy(out + inside.len + 1, after.s, after.len);
		return inside.len + 1 + after.len;
	}
	n = unit_of_box(pmu->s, pmu->len);
	memcpy(out, pmu->s, n);
	memcpy(out + n, slash, (size_t)(event.s + event.len - slash));
	return n + (size_t)(event.s + event.len - slash);
}

static bool other_cgroup(struct counts_reader *r, struct piece cgroup)
{
	uint32_t id;

	if (!cgroup.len)
		return false;
	if (r->choice->cgroup)
		return !piece_is(cgroup, r->choice->cgroup);
	id = strtab_add(&r->names, cgroup.s, cgroup.len);
	r->failed |= id == STR_NONE;
	if (!r->cgroup)
		r->cgroup = id;
	r->cgroups |= id != r->cgroup;
	return false;
}

static uint32_t add_count_name(struct counts_reader *r, struct piece p)
{
	uint32_t id;

	p = piece_trim(p);
	id = p.len ? strtab_add(&r->names, p.s, p.len < NAME_LONG ? p.len : NAME_LONG) : 0;
	r->failed |= id == STR_NONE;
	return id == STR_NONE ? 0 : id;
}

static uint32_t place_index(struct counts_reader *r, struct piece place)
{
	uint32_t id = add_count_name(r, place);
	bool fresh;
	uint64_t *at = u64map_at(&r->place_of, id, &fresh);

	if (!at || (fresh && vec_push(&r->places, id))) {
		r->failed = true;
		return 0;
	}
	if (fresh)
		*at = r->places.n - 1;
	return (uint32_t)*at;
}

static uint32_t count_time(struct counts_reader *r, double time)
{
	union {
		double v;
		uint64_t bits;
	} u = { .v = isnan(time) ? (double)NAN : time };
	bool fresh;
	uint64_t *at = u64map_at(&r->time_of, hash_pair(u.bits, isnan(time) ? 0 : r->runs), &fresh);

	if (!at || (fresh && vec_push(&r->times, u.v))) {
		r->failed = true;
		return 0;
	}
	if (fresh)
		*at = r->times.n - 1;
	return (uint32_t)*at;
}

static bool no_counts_room(struct counts_reader *r)
{
	r->too_many |= r->cells.n + r->figures.n >= COUNTS_ROWS_MAX || r->runs > COUNTS_RUNS_MAX;
	return r->too_many;
}

void counts_add(struct counts_reader *r, const struct counts_row *row)
{
	struct counts_cell c = { .value = row->value,
				 .counted = isnan(row->counted) ? -1 : row->counted,
				 .noise = isnan(row->noise) ? -1 : row->noise,
				 .run = (uint8_t)(r->runs ? r->runs - 1 : 0),
				 .never = row->state == COUNTS_NEVER };
	struct piece event = row->event, pmu = row->pmu;
	char name[NAME_LONG + 1];
	size_t n;

	event.len = event.len ? strnlen(event.s, event.len) : 0; /* it ends where a string would */
	event = piece_trim(event);
	if (!event.len || event.len > NAME_LONG || row->state == COUNTS_IDLE ||
	    (!c.never && (isnan(c.value) || c.value < 0)) || other_cgroup(r, row->cgroup) ||
	    no_counts_room(r))
		return;
	if (c.never)
		c.value = c.counted = 0;
	n = split_name(event, &pmu, name);
	c.place = place_index(r, row->place);
	c.time = count_time(r, row->time);
	c.piece = hash_pair(hash_pair(row->apart, c.place), hash_pair(c.time, r->runs));
	if (pmu.len && !counts_core_pmu(pmu.s, pmu.len)) {
		c.piece = hash_pair(c.piece, hash_bytes(pmu.s, pmu.len));
		pmu.len = 0;
	}
	c.event = add_count_name(r, (struct piece){ name, n });
	c.pmu = add_count_name(r, pmu);
	c.unit = add_count_name(r, row->unit);
	if (c.event)
		r->failed |= vec_push(&r->cells, c);
}

void counts_say(struct counts_reader *r, const struct counts_said *said)
{
	struct counts_figure f = { .value = said->value,
				   .error = isnan(said->error) ? -1 : said->error,
				   .summary = said->summary };
	uint64_t *alike;

	if (!piece_trim(said->name).len || !isfinite(said->value) ||
	    other_cgroup(r, said->cgroup) || no_counts_room(r))
		return;
	f.name = add_count_name(r, said->name);
	f.unit = add_count_name(r, said->unit);
	f.event = add_count_name(r, said->event);
	f.place = place_index(r, said->place);
	f.time = count_time(r, said->time);
	alike = u64map_at(&r->alike,
			  hash_pair(hash_pair(f.name, f.event), hash_pair(f.place, f.time)), NULL);
	r->failed |= !alike;
	if (alike)
		f.nth = (uint32_t)(*alike)++;
	if (f.name && alike)
		r->failed |= vec_push(&r->figures, f);
}

void counts_unit_of(struct counts_said *said, struct piece text)
{
	const char *gap;

	text = piece_trim(text);
	said->name = text;
	said->unit.len = 0;
	gap = text.len ? memmem(text.s, text.len, "  ", 2) : NULL;
	if (text.len && *text.s == '%') {
		said->unit = (struct piece){ text.s, 1 };
		text.s++;
		text.len--;
		said->name = piece_trim(text);
	} else if (gap) {
		said->unit = (struct piece){ text.s, (size_t)(gap - text.s) };
		said->name = piece_trim((struct piece){ gap, text.len - (size_t)(gap - text.s) });
	} else if (memmem(text.s ? text.s : "", text.len, "/s", 2) || piece_is(text, "GHz")) {
		said->unit = text;
	}
	if (!said->name.len)
		said->name = said->unit;
	if (piece_is(said->name, "(null)"))
		said->name.len = 0;
}

struct piece counts_prefixed(struct counts_reader *r, const char *front, struct piece text)
{
	char s[NAME_LONG];
	int n = snprintf(s, sizeof(s), "%s%.*s", front, (int)(text.len < 64 ? text.len : 64),
			 text.len ? text.s : "");
	uint32_t id = add_count_name(r, (struct piece){ s, n > 0 ? (size_t)n : 0 });
	const char *kept = strtab_get(&r->names, id);

	return (struct piece){ kept, strlen(kept) };
}

void counts_saw_time(struct counts_reader *r, double time)
{
	if (!isnan(time) && !(time < r->last_time))
		r->last_time = time;
}

void counts_add_model(struct counts_reader *r, struct piece pmu, struct piece id)
{
	uint32_t p = pmu.len ? strtab_add(&r->names, pmu.s, pmu.len) : 0;
	uint32_t i = id.len && id.len < NAME_LONG ? strtab_add(&r->names, id.s, id.len) : 0;

	if (!i)
		return;
	r->failed |= p == STR_NONE || i == STR_NONE;
	for (size_t k = 0; k < r->n_models; k++)
		if (r->model[k][0] == p)
			return;
	if (r->n_models == COUNTS_MODELS)
		return;
	r->model[r->n_models][0] = p;
	r->model[r->n_models++][1] = i;
}

static void end_counts_run(struct counts_reader *r)
{
	double took = isnan(r->elapsed) ? r->last_time : r->elapsed;

	if (!isnan(took))
		r->seconds = (isnan(r->seconds) ? 0 : r->seconds) + took;
	r->elapsed = r->last_time = NAN;
}

void counts_comment(struct counts_reader *r, struct piece line)
{
	static const char begins[] = "# started on";

	if (line.len < sizeof(begins) - 1 || memcmp(line.s, begins, sizeof(begins) - 1) != 0)
		return;
	end_counts_run(r);
	r->runs++;
}

/* ---- words of lines --------------------------------------------------------------------- */

bool counts_is_time(struct piece w)
{
	size_t n = 0;

	if (w.len < 11 || (w.s[w.len - 10] != '.' && w.s[w.len - 10] != ','))
		return false;
	for (size_t i = 0; i < w.len; i++)
		n += isdigit((unsigned char)w.s[i]) ? 1u : 0u;
	return n == w.len - 1;
}

bool counts_is_unit(struct piece w)
{
	static const char *const units[] = { "msec", "ns",  "us",  "sec", "Joules", "Watts",
					     "MiB",  "KiB", "GiB", "C",	  "%",	    "MB/s" };

	return piece_in(w, units, sizeof(units) / sizeof(*units));
}

bool counts_is_count(struct piece w)
{
	return piece_is(w, "<not counted>") || piece_is(w, "<not supported>") ||
	       !isnan(piece_number(w));
}

bool counts_is_name(struct piece w)
{
	return w.len && (isalpha((unsigned char)*w.s) || *w.s == '_' || *w.s == '{');
}

void counts_set_unit(struct counts_row *row, struct piece unit)
{
	bool ms = piece_is(unit, "msec"), us = piece_is(unit, "us");

	row->value *= ms ? 1e6 : us ? 1e3 : 1;
	row->unit = ms || us ? (struct piece){ "ns", 2 } : unit;
}

bool counts_is_place(struct piece w)
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

size_t counts_fields(struct piece line, char separator, struct piece *out, size_t most)
{
	size_t n = 0;

	while (n < most) {
		struct piece rest = piece_trim(line);
		const char *end = line.len ? memchr(line.s, separator, line.len) : NULL;
		size_t len = end ? (size_t)(end - line.s) : line.len;
		const char *quote = rest.len > 1 && *rest.s == '"'
					    ? memchr(rest.s + 1, '"', rest.len - 1)
					    : NULL;

		out[n] = piece_trim((struct piece){ line.s, len });
		if (quote) {
			size_t past = (size_t)(quote + 1 - line.s);

			out[n] = (struct piece){ rest.s + 1, (size_t)(quote - rest.s) - 1 };
			end = memchr(quote + 1, separator, line.len - past);
			len = end ? (size_t)(end - line.s) : line.len;
		}
		n++;
		if (!end)
			break;
		line.s += len + 1;
		line.len -= len + 1;
	}
	return n;
}

/* ---- the forms -------------------------------------------------------------------------- */

/* The first that a text is of reads it: the plainest signs first. */
static const struct counts_form forms[] = {
	{ "JSON", counts_json_is, counts_read_json },
	{ "PerfSpect's summary", counts_spect_summary_is, counts_read_spect_summary },
	{ "toplev -x", counts_toplev_csv_is, counts_read_toplev_csv },
	{ "PerfSpect's csv", counts_spect_is, counts_read_spect },
	{ "perf stat -x", counts_csv_is, counts_read_csv },
	{ "toplev", counts_toplev_is, counts_read_toplev },
	{ "perf stat", counts_table_is, counts_read_table },
};

static const char candidates[] = ";,|\t:";

static void read_form(struct counts_reader *r, struct counts_file *out, struct piece all)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		char sep = forms[i].is(all, r->choice->separator);

		if (!sep)
			continue;
		out->form = forms[i].name;
		forms[i].read(r, all, sep);
		return;
	}
}

char counts_separator(struct piece text, char separator, counts_rate rate)
{
	size_t most = 0;
	char best = 0;

	if (separator)
		return rate(text, separator) ? separator : 0;
	for (const char *c = candidates; *c; c++) {
		size_t n = rate(text, *c);

		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

/* ---- all of it -------------------------------------------------------------------------- */

static int no_counts(const struct counts_reader *r, const char *name, struct err *err)
{
	(void)err_set(err, ERR_FORMAT, "%s: no counts are in it", name);
	if (r->choice->cgroup && !r->cells.n)
		return err_hint(err, "-G %.60s: is that how perf stat wrote it?",
				r->choice->cgroup);
	if (r->unnamed)
		return err_hint(err, "it has figures without a name (some versions of perf stat "
				     "--metric-only print none): leave --metric-only out");
	return err_hint(err, "perf stat's table, perf stat -x or -j, cyclade stat -j, toplev, or "
			     "PerfSpect's csv");
}

static int keep_models(struct counts_reader *r, struct counts_file *out, struct arena *a,
		       struct err *err)
{
	for (size_t k = 0; k < r->n_models; k++) {
		struct counts_model *m = &out->model[out->n_models++];

		m->pmu = arena_strdup(a, strtab_get(&r->names, r->model[k][0]));
		m->id = arena_strdup(a, strtab_get(&r->names, r->model[k][1]));
		if (!m->pmu || !m->id)
			return err_nomem(err);
	}
	return 0;
}

static int cells_by_time(const void *a, const void *b)
{
	const struct counts_cell *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static int figure_by_time(const void *a, const void *b)
{
	const struct counts_figure *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* The reader's data, into the arena: names, places, times, rows. */
static int keep_counts(struct counts_reader *r, struct counts_file *out, struct arena *a,
		       struct err *err)
{
	const char **name = arena_alloc(a, (r->names.n + 1) * sizeof(*name));

	for (size_t i = 0; name && i < r->names.n; i++) {
		name[i] = arena_strdup(a, strtab_get(&r->names, (uint32_t)i));
		if (!name[i])
			return err_nomem(err);
	}
	vec_sort(&r->cells, cells_by_time);
	vec_sort(&r->figures, figure_by_time);
	assert(pairs_hold(r->cells.n, i, cells_by_time(&r->cells.v[i], &r->cells.v[i + 1]) <= 0));
	out->name = name;
	out->place = arena_memdup(a, r->places.v, r->places.n * sizeof(*r->places.v));
	out->time = arena_memdup(a, r->times.v, r->times.n * sizeof(*r->times.v));
	out->cell = arena_memdup(a, r->cells.n ? r->cells.v : (void *)"",
				 r->cells.n ? r->cells.n * sizeof(*r->cells.v) : 1);
	out->figure = arena_memdup(a, r->figures.n ? r->figures.v : (void *)"",
				   r->figures.n ? r->figures.n * sizeof(*r->figures.v) : 1);
	if (!name || !out->place || !out->time || !out->cell || !out->figure)
		return err_nomem(err);
	out->n_places = r->places.n;
	out->n_times = r->times.n;
	out->n_cells = r->cells.n;
	out->n_figures = r->figures.n;
	out->seconds = r->seconds;
	out->user_s = r->user_s;
	out->sys_s = r->sys_s;
	out->runs = r->runs ? r->runs : 1;
	out->repeats = r->repeats;
	out->unnamed = r->unnamed;
	return keep_models(r, out, a, err);
}

static int finish_counts(struct counts_reader *r, struct counts_file *out, struct arena *a,
			 const char *name, struct err *err)
{
	end_counts_run(r);
	if (r->failed)
		return err_nomem(err);
	if (r->too_many)
		return err_set(err, ERR_LIMIT, "%s: more than %u counts, or %u runs", name,
			       COUNTS_ROWS_MAX, COUNTS_RUNS_MAX);
	if (r->cgroups) {
		(void)err_set(err, ERR_USAGE, "%s has counts of several cgroups", name);
		return err_hint(err, "-G %.60s takes one of them",
				strtab_get(&r->names, r->cgroup));
	}
	if (!r->cells.n && !r->figures.n)
		return no_counts(r, name, err);
	if (keep_counts(r, out, a, err) || counts_check_runs(out, name, err))
		return -1;
	return counts_any(out) ? 0 : no_counts(r, name, err);
}

int counts_file_parse(struct counts_file *out, struct arena *a, const char *text, size_t len,
		      const struct counts_choice *choice, const char *name, struct err *err)
{
	struct counts_reader r = { .names = STRTAB_INIT,
				   .place_of = U64MAP_INIT,
				   .time_of = U64MAP_INIT,
				   .alike = U64MAP_INIT,
				   .choice = choice,
				   .seconds = NAN,
				   .elapsed = NAN,
				   .user_s = NAN,
				   .sys_s = NAN,
				   .last_time = NAN };
	int rc;

	memset(out, 0, sizeof(*out));
	r.failed = strtab_adds(&r.names, "") == STR_NONE;
	(void)place_index(&r, (struct piece){ "", 0 });
	(void)count_time(&r, NAN);
	if (!r.failed)
		read_form(&r, out, (struct piece){ text, len });
	rc = finish_counts(&r, out, a, name, err);
	vec_free(&r.cells);
	vec_free(&r.figures);
	vec_free(&r.places);
	vec_free(&r.times);
	u64map_free(&r.place_of);
	u64map_free(&r.time_of);
	u64map_free(&r.alike);
	strtab_free(&r.names);
	return rc;
}
