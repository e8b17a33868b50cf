/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/counts_file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "perfdata/counts_file_int.h"

#define NAME_LONG    512u
#define NUMBER_LONG  64u
#define LINES_TO_TRY 1000u

/* ---- pieces of text --------------------------------------------------------------------- */

struct piece piece_trim(struct piece p)
{
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

/* The name "EVENT [PMU]" of perf 6.12 and 'PMU/EVENT/MODIFIERS': which PMU it is, and what is left
 * as the name. `out` has room for NAME_LONG bytes. */
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

void counts_add(struct counts_reader *r, const struct counts_row *row)
{
	struct counts_cell c = { .place = hash_pair(row->place, r->runs),
				 .value = row->value,
				 .counted = isnan(row->counted) ? -1 : row->counted,
				 .run = (uint8_t)(r->runs ? r->runs - 1 : 0),
				 .never = row->state == COUNTS_NEVER };
	struct piece event = row->event, pmu = row->pmu;
	char name[NAME_LONG + 1];
	size_t n;

	event.len = event.len ? strnlen(event.s, event.len) : 0; /* it ends where a string would */
	event = piece_trim(event);
	if (!event.len || event.len > NAME_LONG || row->state == COUNTS_IDLE ||
	    (!c.never && (isnan(c.value) || c.value < 0)) || other_cgroup(r, row->cgroup))
		return;
	if (r->cells.n >= COUNTS_ROWS_MAX || r->runs > COUNTS_RUNS_MAX) {
		r->too_many = true;
		return;
	}
	if (c.never)
		c.value = c.counted = 0;
	n = split_name(event, &pmu, name);
	if (pmu.len && !counts_core_pmu(pmu.s, pmu.len)) {
		c.place = hash_pair(c.place, hash_bytes(pmu.s, pmu.len));
		pmu.len = 0;
	}
	c.event = strtab_add(&r->names, name, n);
	c.pmu = pmu.len ? strtab_add(&r->names, pmu.s, pmu.len) : 0;
	if (c.event)
		r->failed |= c.event == STR_NONE || c.pmu == STR_NONE || vec_push(&r->cells, c);
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

static void end_run(struct counts_reader *r)
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
	end_run(r);
	r->runs++;
}

/* ---- sums ------------------------------------------------------------------------------- */

static int by_event(const void *a, const void *b)
{
	const struct counts_cell *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->pmu != y->pmu)
		return x->pmu < y->pmu ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->never != y->never)
		return x->never ? 1 : -1;
	/* the one that was counted longest first */
	return (x->counted < y->counted) - (x->counted > y->counted);
}

static bool same_event(const struct counts_cell *x, const struct counts_cell *y)
{
	return x->event == y->event && x->pmu == y->pmu;
}

static void add_cell(struct counted_event *ev, const struct counts_cell *c)
{
	if (c->never) {
		ev->blank++;
		return;
	}
	ev->value += c->value;
	if (c->counted >= 0)
		ev->counted = ev->pieces && !isnan(ev->counted) ? fmin(ev->counted, c->counted)
								: c->counted;
	ev->pieces++;
}

/* Every run has every event; a sum of different ones would be of no run. */
static int check_runs(const struct counts_reader *r, const char *name, struct err *err)
{
	uint64_t all = 0, mine = 0;

	for (size_t i = 0; i < r->cells.n; i++)
		all |= UINT64_C(1) << r->cells.v[i].run;
	for (size_t i = 0; i < r->cells.n; i++) {
		const struct counts_cell *c = &r->cells.v[i];

		mine |= UINT64_C(1) << c->run;
		if (i + 1 < r->cells.n && same_event(c, c + 1))
			continue;
		if (mine != all) {
			(void)err_set(err, ERR_FORMAT,
				      "%s: %u runs are in it (perf stat --append), and not all of "
				      "them counted %.60s",
				      name, r->runs, strtab_get(&r->names, c->event));
			return err_hint(err,
					"import the runs one by one, each from a file of its own");
		}
		mine = 0;
	}
	return 0;
}

static int sum_up(struct counts_reader *r, struct counts_file *out, struct arena *a,
		  struct err *err)
{
	struct counted_event *ev = arena_alloc(a, (r->cells.n + 1) * sizeof(*ev));
	size_t n = 0;

	if (!ev)
		return err_nomem(err);
	for (size_t i = 0; i < r->cells.n; i++) {
		const struct counts_cell *c = &r->cells.v[i], *before = i ? c - 1 : NULL;

		if (before && same_event(before, c) && before->place == c->place)
			continue;
		if (!before || !same_event(before, c)) {
			n += n && !ev[n - 1].pieces ? 0u : 1u; /* what never counted goes */
			ev[n - 1] = (struct counted_event){
				.name = arena_strdup(a, strtab_get(&r->names, c->event)),
				.pmu = arena_strdup(a, strtab_get(&r->names, c->pmu)),
				.counted = NAN
			};
			if (!ev[n - 1].name || !ev[n - 1].pmu)
				return err_nomem(err);
		}
		add_cell(&ev[n - 1], c);
	}
	out->n = n && !ev[n - 1].pieces ? n - 1 : n;
	out->event = ev;
	out->seconds = r->seconds;
	out->runs = r->runs ? r->runs : 1;
	for (size_t k = 0; k < r->n_models; k++) {
		struct counts_model *m = &out->model[out->n_models++];

		m->pmu = arena_strdup(a, strtab_get(&r->names, r->model[k][0]));
		m->id = arena_strdup(a, strtab_get(&r->names, r->model[k][1]));
		if (!m->pmu || !m->id)
			return err_nomem(err);
	}
	return 0;
}

/* ---- all of it -------------------------------------------------------------------------- */

static bool is_json(struct piece text)
{
	struct piece line;

	while (counts_next_line(&text, &line)) {
		line = piece_trim(line);
		if (line.len && *line.s != '#')
			return *line.s == '{' || *line.s == '[';
	}
	return false;
}

static char guess_separator(struct piece text)
{
	static const char candidates[] = ";,|\t:";
	size_t most = 0;
	char best = 0;

	for (const char *c = candidates; *c; c++) {
		size_t n = counts_csv_lines(text, *c, LINES_TO_TRY);

		if (n > most) {
			most = n;
			best = *c;
		}
	}
	return best;
}

static int no_counts(const struct counts_reader *r, const char *name, struct err *err)
{
	(void)err_set(err, ERR_FORMAT, "%s: no counts are in it", name);
	if (r->choice->cgroup && !r->cells.n)
		return err_hint(err, "-G %.60s: is that how perf stat wrote it?",
				r->choice->cgroup);
	if (r->metrics)
		return err_hint(err, "perf stat --metric-only, and --topdown on some CPUs, print "
				     "metrics without their counts: leave it out");
	return err_hint(err, "perf stat's table, perf stat -x or -j, or cyclade stat -j");
}

static int finish(struct counts_reader *r, struct counts_file *out, struct arena *a,
		  const char *name, struct err *err)
{
	end_run(r);
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
	vec_sort(&r->cells, by_event);
	assert(pairs_hold(r->cells.n, i, by_event(&r->cells.v[i], &r->cells.v[i + 1]) <= 0));
	if (check_runs(r, name, err) || sum_up(r, out, a, err))
		return -1;
	return out->n ? 0 : no_counts(r, name, err);
}

int counts_file_parse(struct counts_file *out, struct arena *a, const char *text, size_t len,
		      const struct counts_choice *choice, const char *name, struct err *err)
{
	struct counts_reader r = { .names = STRTAB_INIT,
				   .choice = choice,
				   .seconds = NAN,
				   .elapsed = NAN,
				   .last_time = NAN };
	struct piece all = { text, len };
	char separator = 0;
	int rc;

	memset(out, 0, sizeof(*out));
	r.failed = strtab_adds(&r.names, "") == STR_NONE;
	if (is_json(all)) {
		counts_read_json(&r, all);
	} else {
		separator = choice->separator ? choice->separator : guess_separator(all);
		if (separator)
			counts_read_csv(&r, all, separator);
		else
			counts_read_table(&r, all);
	}
	rc = finish(&r, out, a, name, err);
	vec_free(&r.cells);
	strtab_free(&r.names);
	return rc;
}
