/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics: from perfmon's entries (a Formula over one-letter aliases) and perf's (MetricExpr) to
 * lines of a tree and of metrics.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/load/build_int.h"
#include "model/load/import_int.h"

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* ---- perfmon's formulas ----------------------------------------------------------------- */

/* Perfmon's constants in the sheet's language. NULL: unknown here. */
static const struct {
	const char *name, *text;
} constants[] = {
	{ "HYPERTHREADING_ON", "#smt_on" },
	{ "THREADS_PER_CORE", "( #num_cpus_online / #num_cores )" },
	{ "DURATIONTIMEINSECONDS", "#DurationTimeInSeconds" },
	{ "DURATIONTIMEINMILLISECONDS", "( #DurationTimeInSeconds * 1000 )" },
	{ "SYSTEM_TSC_FREQ", "#system_tsc_freq" },
	{ "SOCKET_COUNT", "#num_packages" },
};

static const char *constant(struct importer *im, const char *name)
{
	char *end, unknown[60] = "";

	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
		if (!strcasecmp(name, constants[i].name))
			return constants[i].text;
	(void)strtod(name, &end);
	if (end > name && !*end)
		return name;
	/* has no value, as whatever is not known */
	for (size_t n = 0; n < sizeof(unknown) - 1 && name[n]; n++)
		unknown[n] = word_char(name[n]) ? name[n] : '_';
	return arena_printf(im->a, "UNKNOWN.%s", unknown);
}

/* Slots lead the register's fields in every group with these: that needs no saying here. */
static const char *event_text(struct importer *im, const char *name)
{
	static const char leads[] = ":perf_metrics";
	size_t n = strlen(name), m = sizeof(leads) - 1;

	return n > m && !strcmp(name + n - m, leads) ? arena_strndup(im->a, name, n - m) : name;
}

/* The text of an alias; NULL: it is no alias. */
static const char *alias_text(struct importer *im, const cJSON *o, const char *s, size_t len)
{
	static const char *const lists[] = { "Events", "Constants" };

	for (size_t l = 0; l < 2; l++) {
		const cJSON *e;

		cJSON_ArrayForEach(e, cJSON_GetObjectItem(o, lists[l]))
		{
			const char *alias = import_text(im, e, "Alias");
			const char *name = import_text(im, e, "Name");

			if (alias && name && strlen(alias) == len && !strncmp(alias, s, len))
				return l ? constant(im, name) : event_text(im, name);
		}
	}
	return NULL;
}

static bool plain_name(const char *s)
{
	for (; *s; s++)
		if (!word_char(*s) && *s != ':' && *s != '=')
			return false;
	return true;
}

/* The formula with names in place of aliases. NULL: too long, or no memory. */
static const char *unalias(struct importer *im, const cJSON *o, const char *s)
{
	struct buf b = BUF_INIT;
	const char *out = NULL;

	while (*s && b.len < IMPORT_VALUE_MAX) {
		size_t n = 0;
		const char *name;

		while (word_char(s[n]))
			n++;
		if (!n) {
			/* "< =": some files have it apart */
			if (!((*s == ' ') && s[1] == '=' && b.len && strchr("<>", b.s[b.len - 1])))
				buf_putc(&b, *s);
			s++;
			continue;
		}
		name = isalpha((unsigned char)*s) ? alias_text(im, o, s, n) : NULL;
		if (!name)
			buf_put(&b, s, n);
		else if (plain_name(name) || strchr("(#", *name))
			buf_puts(&b, name);
		else
			buf_printf(&b, "\"%s\"", name);
		s += n;
	}
	if (!*s && !b.failed)
		out = arena_strndup(im->a, buf_str(&b), b.len);
	buf_free(&b);
	return out;
}

/* Nothing outside of parentheses binds less tightly than * and /. */
static bool one_product(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		depth += *s == '(';
		depth -= *s == ')';
		if (depth < 0 || (!depth && strchr("+-<>&|?=", *s)))
			return false;
		if (!depth && *s == ' ' && !strncmp(s, " if ", 4))
			return false;
	}
	return !depth;
}

/* Files have shares as percentages; here a share is shown times 100. */
static void share_of_percent(struct importer *im, struct import_metric *m)
{
	static const char times[] = "100 * ";

	m->unit = "%";
	m->scale = "100";
	if (!strncmp(m->expr, times, sizeof(times) - 1) && one_product(m->expr + sizeof(times) - 1))
		m->expr += sizeof(times) - 1;
	else
		m->expr = arena_printf(im->a, "( %s ) / 100", m->expr);
}

/* "( a > 10 ) & ( b > 15 )": the metric's own comparison, and whether others are asked for. */
static void own_threshold(struct importer *im, struct import_metric *m, const char *s, double scale)
{
	char op, *end;
	size_t n = 0;
	double v;

	while (s && (*s == ' ' || *s == '('))
		s++;
	if (!s || !*s)
		return;
	while (word_char(s[n]))
		n++;
	s += n;
	while (*s == ' ')
		s++;
	op = *s;
	v = op == '<' || op == '>' ? strtod(s + 1, &end) : NAN;
	if (!n || isnan(v) || end == s + 1)
		goto strange;
	while (*end == ' ' || *end == ')')
		end++;
	if ((*end && *end != '&') || (strchr(end, '|') && !strchr(end, '(')))
		goto strange;
	m->flag = arena_printf(im->a, "%c %.10g%s", op, v / scale, *end ? " & P" : "");
	return;
strange:
	import_note(im, "%s: its threshold is not carried over", m->name);
}

static bool ends_in_percent(const char *s)
{
	size_t n = strlen(s);

	return n > 3 && !strcmp(s + n - 3, "(%)");
}

/* Tags, with blanks between them. */
static const char *issue_tags(struct importer *im, const char *s)
{
	char *out = s ? arena_strdup(im->a, s) : NULL, *to = out;

	for (const char *from = out; from && *from; from++)
		if (*from != ',')
			*to++ = *from;
	if (out)
		*to = '\0';
	return out;
}

static void perfmon_place(struct importer *im, struct import_metric *m, const cJSON *o)
{
	const char *category = import_text(im, o, "Category");
	const char *legacy = import_text(im, o, "LegacyName");
	uint64_t level = import_number(o, "Level");

	m->parent = import_text(im, o, "ParentCategory");
	if (m->parent && !*m->parent)
		m->parent = NULL;
	if (!category || strcasecmp(category, "TMA") != 0 || level > 9)
		return;
	if (m->parent || (level == 1 && legacy && !strncasecmp(legacy, "metric_TMA_", 11) &&
			  ends_in_percent(legacy) && strncasecmp(legacy + 11, "Info_", 5) != 0 &&
			  strncasecmp(legacy + 11, "Bottleneck_", 11) != 0))
		m->level = (unsigned)level;
}

static int perfmon_metric(struct importer *im, struct import_metric *m, const cJSON *o)
{
	const cJSON *threshold = cJSON_GetObjectItem(o, "Threshold");
	const char *unit = import_text(im, o, "UnitOfMeasure"), *issues;
	bool percent = unit && !strcasecmp(unit, "percent");

	m->expr = unalias(im, o, import_text(im, o, "Formula"));
	if (!m->expr)
		return -1;
	m->unit = unit && *unit ? unit : NULL;
	if (percent)
		share_of_percent(im, m);
	own_threshold(im, m, import_text(im, threshold, "Formula"), percent ? 100 : 1);
	issues = import_text(im, threshold, "ThresholdIssues");
	m->overlap = issues && strstr(issues, "~overlap");
	if (issues && *issues == '$')
		m->issue = issue_tags(im, issues);
	m->groups = import_text(im, o, "MetricGroup");
	m->count = import_text(im, o, "CountDomain");
	m->locate = import_text(im, o, "LocateWith");
	m->area = "Info";
	perfmon_place(im, m, o);
	return m->expr ? 0 : -1;
}

/* ---- perf's formulas -------------------------------------------------------------------- */

/* Without the prefix of names, and with one blank for many. */
static const char *perf_text(struct importer *im, const char *s)
{
	struct buf b = BUF_INIT;
	const char *out = NULL;
	char last = ' ';

	for (; s && *s; s++) {
		if (!word_char(last) && last != '\\' && last != '@' && !strncmp(s, "tma_", 4))
			s += 4;
		if (*s == ' ' && last == ' ')
			continue;
		if (*s)
			buf_putc(&b, *s);
		last = *s ? *s : ' ';
		if (!*s)
			break;
	}
	if (!b.failed && b.len < IMPORT_VALUE_MAX)
		out = arena_strndup(im->a, buf_str(&b), b.len);
	buf_free(&b);
	return out;
}

/* "6.1e-5MiB" is 0.000061 and MiB, "100%slots" 100 and %. */
static void scale_unit(struct importer *im, struct import_metric *m, const char *s)
{
	char *end;
	double v = s ? strtod(s, &end) : 1;

	if (!s || end == s || !isfinite(v))
		return;
	while (*end == ' ')
		end++;
	if (v < 1 || v > 1) {
		char text[400];
		int n = 0;

		/* the fewest digits that give the same number */
		for (int digits = 0; digits <= 30; digits++) {
			n = snprintf(text, sizeof(text), "%.*f", digits, v);
			if (n > 0 && (size_t)n < sizeof(text) && fabs(strtod(text, NULL) - v) <= 0)
				break;
		}
		m->scale = arena_strndup(im->a, text, (size_t)n);
	}
	if (*end == '%' || !strncmp(end, "percent", 7))
		m->unit = "%";
	else if (*end) {
		char *unit = arena_strdup(im->a, end);

		for (char *c = unit; c && *c; c++)
			*c = *c == '_' ? ' ' : *c;
		m->unit = unit;
	}
}

/* TopdownL2, PipelineL1: the level; X_group: a child of X. */
static void perf_place(struct importer *im, struct import_metric *m)
{
	const char *s = m->groups;

	while (s && *s) {
		const char *end = strchrnul(s, ';');
		size_t n = (size_t)(end - s);
		const char *from = n > 4 && !strncmp(s, "tma_", 4) ? s + 4 : s;
		size_t len = (size_t)(end - from);

		if ((n == 9 && !strncmp(s, "TopdownL", 8)) ||
		    (n == 10 && !strncmp(s, "PipelineL", 9)))
			m->level = end[-1] >= '1' && end[-1] <= '9' ? (unsigned)(end[-1] - '0') : 0;
		else if (len > 6 && !strncmp(end - 6, "_group", 6) &&
			 !(len == 8 && from[0] == 'L' && isdigit((unsigned char)from[1])))
			m->parent = arena_strndup(im->a, from, len - 6);
		s = *end ? end + 1 : end;
	}
	if (m->level == 1)
		m->parent = NULL;
}

static int perf_metric(struct importer *im, struct import_metric *m, const cJSON *o,
		       const char *file)
{
	const char *dot = strrchr(file, '.'), *base = strrchr(file, '/');

	base = base ? base + 1 : file;
	m->perf = true;
	m->expr = perf_text(im, import_text(im, o, "MetricExpr"));
	scale_unit(im, m, import_text(im, o, "ScaleUnit"));
	own_threshold(im, m, import_text(im, o, "MetricThreshold"), 1);
	m->groups = import_text(im, o, "MetricGroup");
	perf_place(im, m);
	if (m->groups && !strncmp(m->groups, "Default;", 8))
		m->groups += 8;
	m->area = arena_printf(im->a, "Info.%.*s",
			       (int)(dot && dot > base ? dot - base : (long)strlen(base)), base);
	return m->expr && m->area ? 0 : -1;
}

int import_metric_add(struct importer *im, const cJSON *o, const char *file)
{
	const char *name = import_text(im, o, "MetricName");
	bool perf = import_text(im, o, "MetricExpr");
	struct import_metric m = { .name = name, .up = UINT32_MAX };
	bool fresh;
	uint64_t *at;

	if (!name || (!perf && !import_text(im, o, "Formula")))
		return 0;
	if (perf && !strncmp(name, "tma_", 4))
		m.name += 4;
	if (!import_name_fits(m.name)) {
		import_note(im, "%.60s: no name for a metric", name);
		return 0;
	}
	if (perf ? perf_metric(im, &m, o, file) : perfmon_metric(im, &m, o)) {
		import_note(im, "%.60s: its formula is too long", name);
		return 0;
	}
	at = u64map_at(&im->metric_at, import_key(m.name, strlen(m.name)), &fresh);
	if (!at)
		return -1;
	if (!fresh) { /* the last value counts */
		im->metrics.v[*at] = m;
		return 0;
	}
	*at = im->metrics.n;
	return vec_push(&im->metrics, m);
}

/* ---- places in the tree ----------------------------------------------------------------- */

static uint32_t metric_index(const struct importer *im, const char *name, size_t len)
{
	uint64_t *at = u64map_find(&im->metric_at, import_key(name, len));

	return at ? (uint32_t)*at : UINT32_MAX;
}

/* Parents lie a level above their children: no cycles. */
static void find_parents(struct importer *im)
{
	for (size_t i = 0; i < im->metrics.n; i++) {
		struct import_metric *m = &im->metrics.v[i];
		uint32_t up = m->level > 1 && m->parent
				      ? metric_index(im, m->parent, strlen(m->parent))
				      : UINT32_MAX;

		if (m->level < 2)
			continue;
		if (up != UINT32_MAX && im->metrics.v[up].level &&
		    im->metrics.v[up].level < m->level) {
			m->up = up;
			continue;
		}
		import_note(im, "%s: no parent of it is in the files: it is no node here", m->name);
		m->level = 0;
	}
}

/* ---- formulas --------------------------------------------------------------------------- */

struct check {
	struct importer *im;
	struct arena a;
	bool perf;
};

/* Where the options of an event's name begin. */
static size_t base_len(const char *name, size_t len, size_t *from)
{
	const char *slash = memchr(name, '/', len);
	size_t n;

	*from = slash && len > 4 && !memcmp(name, "cpu", 3) ? (size_t)(slash - name) + 1 : 0;
	for (n = *from; n < len && !strchr(":/,@", name[n]); n++)
		;
	return n - *from;
}

/* Not a count: how long its retiring took. */
static bool is_latency(const char *s, size_t len)
{
	static const char *const names[] = { ":R", "@R", ":retire_latency", "@R@" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && !strncasecmp(s, names[i], len))
			return true;
	return false;
}

/* Whether an event can be counted with these options. */
static bool options_fit(struct check *c, const struct import_event *of, const char *s, size_t len)
{
	/* outside the cores, if the line names a PMU */
	bool uncore = strcspn(of->rest, "/ ") < strcspn(of->rest, " ");
	struct model_event e = { .name = "", .code = "", .pmu = uncore ? "uncore" : "" };
	bool understood = false;

	if (len && s[len - 1] == '/')
		len--;
	if (!len)
		return true;
	if (model_event_options(&e, &c->a, s, len, c->perf, &understood))
		c->im->nomem = true;
	return understood || is_latency(s, len);
}

static bool find_imported_metric(void *ctx, enum expr_ask ask, const char *name, size_t len,
				 struct expr_ref *out)
{
	struct check *c = ctx;
	struct importer *im = c->im;
	struct expr_ref fact;
	size_t from, n;
	uint64_t *at;
	bool fresh;

	*out = (struct expr_ref){ .kind = EXPR_EVENT };
	if (ask == ASK_SOURCE_COUNT || ask == ASK_CPUID || ask == ASK_HAS_EVENT) {
		out->kind = EXPR_CONSTANT;
		return true;
	}
	if (len && name[0] == '#') {
		bool known = build_fact_find(name, len, &fact);

		*out = fact;
		return known;
	}
	if (build_fact_find(name, len, out) || metric_index(im, name, len) != UINT32_MAX)
		return true;
	n = base_len(name, len, &from);
	*out = (struct expr_ref){ .kind = EXPR_EVENT };
	at = u64map_find(&im->event_at, import_key(name + from, n));
	if (at && options_fit(c, &im->events.v[*at], name + from + n, len - from - n))
		return true;
	if (len == 13 && !strncasecmp(name, "duration_time", 13))
		return false; /* the language's own */
	at = u64map_at(&im->absent_at, import_key(name, len), &fresh);
	if (at && fresh) {
		char *copy = arena_strndup(im->a, name, len);

		if (!copy || vec_push(&im->absent, copy))
			im->nomem = true;
	}
	im->nomem |= !at;
	return true;
}

static bool compiles(struct importer *im, struct import_metric *m, const char *s,
		     const char *subject)
{
	struct check c = { .im = im, .a = ARENA_INIT, .perf = m->perf };
	struct expr_scope scope = { find_imported_metric, NULL, &c };
	struct expr_text text = { .s = s,
				  .len = strlen(s),
				  .dialect = m->perf ? EXPR_PERF : EXPR_SHEET,
				  .subject = subject,
				  .file = m->name,
				  .line = 1 };
	struct err err = ERR_INIT;
	struct expr *e;
	bool ok = !expr_compile(&e, &c.a, &text, &scope, &err);

	if (!ok && err.code == ERR_NOMEM)
		im->nomem = true;
	if (!ok)
		import_note(im, "left out: %.200s", err.what);
	arena_free(&c.a);
	return ok;
}

/* Those of the events to sample that exist. */
static const char *known_events(struct importer *im, const char *list)
{
	struct buf b = BUF_INIT;
	const char *out = NULL;

	while (list && *list) {
		size_t n = strcspn(list, "; ");
		size_t len = strcspn(list, ":; ");

		if (len && u64map_find(&im->event_at, import_key(list, len)))
			buf_printf(&b, "%s%.*s", b.len ? ";" : "", (int)n, list);
		list += n + strspn(list + n, "; ");
	}
	if (b.len && !b.failed)
		out = arena_strndup(im->a, buf_str(&b), b.len);
	buf_free(&b);
	return out;
}

int import_metrics(struct importer *im, struct err *err)
{
	for (size_t i = 0; i < im->metrics.n; i++) {
		struct import_metric *m = &im->metrics.v[i];

		m->locate = known_events(im, m->locate);
		if (!compiles(im, m, m->expr, NULL))
			m->dropped = true;
		else if (m->flag && !compiles(im, m, m->flag, m->name))
			m->flag = NULL;
	}
	/* if a node is left out, its children are left out, too */
	for (size_t i = 0; i < im->metrics.n; i++)
		if (im->metrics.v[i].dropped)
			im->metrics.v[i].level = 0;
	for (unsigned level = 2; level < 10; level++)
		find_parents(im);
	return im->nomem ? err_nomem(err) : 0;
}

/* ---- texts ------------------------------------------------------------------------------ */

static void put_metric_line(struct buf *b, const char *key, const char *value)
{
	if (value && *value)
		buf_printf(b, "%-6s %s\n", key, value);
}

void import_metric_put(struct buf *b, const struct importer *im, const struct import_metric *m)
{
	bool p = m->flag && strstr(m->flag, "& P");

	buf_printf(b, "\n%-6s %s\n", m->level ? "node" : "metric", m->name);
	if (m->dropped) {
		buf_puts(b, "absent\n");
		return;
	}
	if (m->up != UINT32_MAX)
		put_metric_line(b, "parent", im->metrics.v[m->up].name);
	if (m->up != UINT32_MAX && im->metrics.v[m->up].level + 1 != m->level)
		buf_printf(b, "level  %u\n", m->level);
	if (!m->level)
		put_metric_line(b, "area", m->area);
	put_metric_line(b, "expr", m->expr);
	if (m->flag && p && m->up == UINT32_MAX) /* the others cannot be asked here */
		buf_printf(b, "flag   %.*s\n", (int)(strlen(m->flag) - 4), m->flag);
	else
		put_metric_line(b, "flag", m->flag);
	put_metric_line(b, "count", m->count ? m->count : m->level ? "Slots" : NULL);
	put_metric_line(b, "unit", m->unit);
	put_metric_line(b, "scale", m->scale);
	if (m->overlap)
		buf_puts(b, "overlap\n");
	put_metric_line(b, "groups", m->groups);
	put_metric_line(b, "issue", m->issue);
	put_metric_line(b, "locate", m->locate);
}
