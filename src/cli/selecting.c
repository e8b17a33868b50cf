/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/selecting.h"

#include <math.h>
#include <string.h>

#include "analyse/again.h"
#include "base/num.h"
#include "base/xalloc.h"

#define CPUS_MAX  65536u
#define SECOND_NS 1000000000u

struct ids {
	struct arena *arena;
	uint32_t *v;
	size_t n, cap;
};

static int add_id(void *ctx, uint64_t id)
{
	struct ids *ids = ctx;

	if (ids->n == ids->cap) {
		size_t cap = ids->cap ? ids->cap * 2 : 16;
		uint32_t *more = arena_xalloc(ids->arena, cap * sizeof(*more));

		if (ids->n)
			memcpy(more, ids->v, ids->n * sizeof(*more));
		ids->v = more;
		ids->cap = cap;
	}
	ids->v[ids->n++] = (uint32_t)id;
	return 0;
}

static int read_ids(struct cli *cli, const struct text_list *said, const char *option,
		    const uint32_t **out, size_t *n, struct err *err)
{
	struct ids ids = { .arena = &cli->arena };

	for (size_t i = 0; i < said->n; i++)
		if (num_parse_list(said->v[i], UINT32_MAX, add_id, &ids, err))
			return err_prefix(err, "%s", option);
	*out = ids.v;
	*n = ids.n;
	return 0;
}

/* ---- CPUs and cgroups ---------------------------------------------------------------------- */

/* An event with samples that lack this field; NULL: none. */
static const struct pd_event *lacking(const struct pd *rec, uint64_t field)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t e = 0; e < n; e++)
		if (ev[e].samples && !(ev[e].attr.sample_type & field))
			return &ev[e];
	return NULL;
}

static int check_cpus(const struct selection *s, const struct pd *rec, struct err *err)
{
	const struct pd_event *e = lacking(rec, PERF_SAMPLE_CPU);

	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpus[i] >= CPUS_MAX)
			return err_set(err, ERR_USAGE, "--cpu %u: CPUs are numbered 0 to %u",
				       (unsigned)s->cpus[i], CPUS_MAX - 1);
	if (!e)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "--cpu: samples of %.100s do not say on which CPU they were taken", e->name);
	return again_hint(err, pd_info(rec), "record them:", "-a");
}

static int select_cpus(struct selection *s, const struct pd *rec, struct cli *cli, struct err *err)
{
	const struct text_list said = { .v = &cli->opt.cpu, .n = 1 };

	if (!cli->opt.cpu)
		return 0;
	return read_ids(cli, &said, "--cpu", &s->cpus, &s->n_cpus, err) || check_cpus(s, rec, err)
		       ? -1
		       : 0;
}

static int select_cgroups(struct selection *s, const struct pd *rec, const struct cli *cli,
			  struct err *err)
{
	const struct pd_event *e = lacking(rec, PERF_SAMPLE_CGROUP);

	s->cgroups = cli->opt.cgroup.v;
	s->n_cgroups = cli->opt.cgroup.n;
	if (!s->n_cgroups || !e)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND,
		      "--cgroup: samples of %.100s do not say in which cgroup they were taken",
		      e->name);
	return err_hint(err, "record them: cyclade record -a --all-cgroups");
}

/* ---- time ---------------------------------------------------------------------------------- */

struct span { /* of the samples */
	uint64_t first, last;
};

/* "12.5" in ns, exactly: a double has too few digits for the clock of a machine that is up for
 * months. */
static int read_seconds(const char *text, uint64_t *out, struct err *err)
{
	const char *p = text;
	uint64_t whole = 0, part = 0;
	unsigned digits = 0;

	for (; *p >= '0' && *p <= '9' && whole < UINT64_MAX / SECOND_NS / 10 - 10; p++)
		whole = whole * 10 + (uint64_t)(*p - '0');
	if (p > text && *p == '.')
		for (p++; *p >= '0' && *p <= '9' && digits < 9; p++, digits++)
			part = part * 10 + (uint64_t)(*p - '0');
	if (p == text || *p)
		return err_set(err, ERR_USAGE, "'%.60s' is no time", text);
	for (; digits < 9; digits++)
		part *= 10;
	*out = whole * SECOND_NS + part;
	return 0;
}

/* "10%" of the span, rounded as perf does. */
static int read_percent(const char *text, size_t len, const struct span *span, uint64_t *out,
			struct err *err)
{
	char number[32];
	double v;

	if (len >= sizeof(number))
		return err_set(err, ERR_USAGE, "'%.60s' is no time", text);
	memcpy(number, text, len);
	number[len] = 0;
	if (num_parse_double(&v, number, err))
		return -1;
	if (!(v >= 0 && v <= 100))
		return err_set(err, ERR_USAGE, "'%.60s': the recording has 0%% to 100%%", text);
	*out = span->first + (uint64_t)round(v / 100 * (double)(span->last - span->first));
	return 0;
}

static int read_time(const char *text, const struct span *span, uint64_t *out, struct err *err)
{
	size_t len = strlen(text);
	uint64_t after;

	if (len && text[len - 1] == '%')
		return read_percent(text, len - 1, span, out, err);
	if (!len || text[strspn(text, "0123456789.")] == 0)
		return read_seconds(text, out, err);
	if (num_parse_duration(&after, text, 0, err))
		return -1;
	*out = after < UINT64_MAX - span->first ? span->first + after : UINT64_MAX;
	return 0;
}

static int read_range(struct selection *s, char *from, const struct span *span, struct err *err)
{
	char *to = strchr(from, ',');
	bool part;

	if (!to)
		return err_set(err, ERR_USAGE, "'%.60s' has no comma: FROM,TO, either may be empty",
			       from);
	*to++ = 0;
	if ((*from && read_time(from, span, &s->time_from, err)) ||
	    (*to && read_time(to, span, &s->time_to, err)))
		return -1;
	if (!*to)
		return 0;
	/* 0%,50% and 50%,100% have no sample in common */
	part = to[strlen(to) - 1] == '%';
	if (part && s->time_to > s->time_from && s->time_to != span->last)
		s->time_to--;
	if (s->time_to < s->time_from)
		return err_set(err, ERR_USAGE, "it ends before it begins");
	if (!s->time_to)
		s->time_to = 1; /* 0 is no end */
	return 0;
}

static int select_time(struct selection *s, const struct pd *rec, struct cli *cli, struct err *err)
{
	struct span span = { 0, 0 };
	char *text;

	if (!cli->opt.time)
		return 0;
	if (!pd_has_time(rec)) {
		(void)err_set(err, ERR_NOT_FOUND, "--time: the samples have no times");
		return err_hint(err, "cyclade record has them; perf record with --timestamp");
	}
	(void)pd_time_span(rec, &span.first, &span.last);
	text = arena_xstrdup(&cli->arena, cli->opt.time);
	return read_range(s, text, &span, err) ? err_prefix(err, "--time") : 0;
}

int selecting(struct selection *s, const struct pd *rec, struct cli *cli, struct err *err)
{
	s->comm = cli->opt.comm;
	return read_ids(cli, &cli->opt.only_pid, "--only-pid", &s->pids, &s->n_pids, err) ||
			       read_ids(cli, &cli->opt.only_tid, "--only-tid", &s->tids, &s->n_tids,
					err) ||
			       select_cpus(s, rec, cli, err) || select_cgroups(s, rec, cli, err) ||
			       select_time(s, rec, cli, err)
		       ? -1
		       : 0;
}
