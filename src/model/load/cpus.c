/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpus.tab: which model is for which CPU. A line is
 *
 *	VENDOR FAMILY MODEL STEPPING PMU ID
 *
 * of which the numbers are single ones, ranges (0-4), lists (1,3) or * for all; the first line that
 * fits counts. For Arm the numbers are implementer, part, and variant * 16 + revision.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "model/load/model_int.h"

enum { F_VENDOR, F_FAMILY, F_MODEL, F_STEPPING, F_PMU, F_ID, F_COUNT };

struct cpu_line {
	const char *s[F_COUNT];
	size_t len[F_COUNT];
};

static bool split_cpu_row(const struct line *l, struct cpu_line *out)
{
	const char *s = l->key, *end = l->value + l->len;

	for (int i = 0; i < F_COUNT; i++) {
		while (s < end && (*s == ' ' || *s == '\t'))
			s++;
		out->s[i] = s;
		while (s < end && *s != ' ' && *s != '\t')
			s++;
		out->len[i] = (size_t)(s - out->s[i]);
		if (!out->len[i])
			return false;
	}
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s == end;
}

static bool is(const struct cpu_line *c, int field, const char *s)
{
	return (c->len[field] == 1 && c->s[field][0] == '*') ||
	       (strlen(s) == c->len[field] && !memcmp(s, c->s[field], c->len[field]));
}

static bool take_cpu_row(const char **s, const char *end, uint32_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;
	const char *from;

	if (end - *s > 2 && (*s)[0] == '0' && (*s)[1] == 'x') {
		base = 16;
		*s += 2;
	}
	for (from = *s; *s < end; (*s)++) {
		unsigned char c = (unsigned char)**s;
		unsigned d = c >= '0' && c <= '9'   ? c - 48u
			     : c >= 'a' && c <= 'f' ? c - 87u
			     : c >= 'A' && c <= 'F' ? c - 55u
						    : 99;

		if (d >= base)
			break;
		v = v * base + d;
		if (v > UINT32_MAX)
			return false;
	}
	*out = (uint32_t)v;
	return *s > from;
}

/* 1: v is in the list, 0: it is not, -1: that is no list. */
static int among(const struct cpu_line *c, int field, uint32_t v)
{
	const char *s = c->s[field], *end = s + c->len[field];
	int found = 0;

	if (c->len[field] == 1 && *s == '*')
		return 1;
	while (s < end) {
		uint32_t from, upto;

		if (!take_cpu_row(&s, end, &from))
			return -1;
		upto = from;
		if (s < end && *s == '-') {
			s++;
			if (!take_cpu_row(&s, end, &upto))
				return -1;
		}
		if (v >= from && v <= upto)
			found = 1;
		if (s < end && *s++ != ',')
			return -1;
	}
	return found;
}

/* Calls back for each line, those of the last directory first. Stops if it returns non-zero. */
static int each_line(struct arena *a, const struct model_sources *s,
		     int (*each)(void *ctx, const struct cpu_line *c), void *ctx, struct err *err)
{
	size_t below = SIZE_MAX;

	while (below > 0) {
		struct source_text t;
		struct cpu_line c;
		struct line l;
		unsigned number = 0;
		size_t at = 0;
		int got = source_read(&t, a, s, "", "cpus.tab", below, err), ret;

		if (got <= 0)
			return got;
		while (line_next(&t, &at, &number, &l)) {
			if (!split_cpu_row(&l, &c) || among(&c, F_FAMILY, 0) < 0 ||
			    among(&c, F_MODEL, 0) < 0 || among(&c, F_STEPPING, 0) < 0)
				return line_fail(&t, &l, l.key, err,
						 "expected VENDOR FAMILY MODEL STEPPING PMU ID");
			ret = each(ctx, &c);
			if (ret)
				return ret;
		}
		below = t.depth;
	}
	return 0;
}

struct choice {
	const struct model_cpu *cpu;
	struct arena *a;
	const char *id;
	char near[96];
	uint32_t distance;
	bool nomem;
};

static int choose_cpu_row(void *ctx, const struct cpu_line *c)
{
	struct choice *o = ctx;
	const char *s = c->s[F_MODEL], *end = s + c->len[F_MODEL];
	uint32_t model, d;

	if (!is(c, F_VENDOR, o->cpu->vendor) || among(c, F_FAMILY, o->cpu->family) != 1)
		return 0;
	if (among(c, F_MODEL, o->cpu->model) == 1 && among(c, F_STEPPING, o->cpu->stepping) == 1 &&
	    is(c, F_PMU, o->cpu->pmu)) {
		o->id = arena_strndup(o->a, c->s[F_ID], c->len[F_ID]);
		o->nomem = !o->id;
		return 1;
	}
	if (!take_cpu_row(&s, end, &model))
		return 0;
	d = model > o->cpu->model ? model - o->cpu->model : o->cpu->model - model;
	if (d < o->distance) {
		o->distance = d;
		(void)snprintf(o->near, sizeof(o->near), "%.*s (model %#x)",
			       (int)(c->len[F_ID] < 64 ? c->len[F_ID] : 64), c->s[F_ID], model);
	}
	return 0;
}

int model_select(const char **id, struct arena *a, const struct model_sources *s,
		 const struct model_cpu *cpu, struct err *err)
{
	struct choice o = { .cpu = cpu, .a = a, .distance = UINT32_MAX };
	int got = each_line(a, s, choose_cpu_row, &o, err);

	*id = NULL;
	if (got < 0)
		return -1;
	if (o.nomem)
		return err_nomem(err);
	if (o.id) {
		*id = o.id;
		return 0;
	}
	(void)err_set(err, ERR_NOT_FOUND,
		      "no model for CPU %s family %u model %#x stepping %u (%s)", cpu->vendor,
		      cpu->family, cpu->model, cpu->stepping, cpu->pmu);
	if (o.near[0])
		return err_hint(err, "the nearest is %s: --model takes one by name", o.near);
	return err_hint(err, "cyclade list models shows those there are; --model takes one");
}

struct pmu_of {
	const char *id;
	struct arena *a;
	const char *pmu;
};

static int pmu_of_line(void *ctx, const struct cpu_line *c)
{
	struct pmu_of *p = ctx;

	if (strlen(p->id) != c->len[F_ID] || memcmp(p->id, c->s[F_ID], c->len[F_ID]) != 0)
		return 0;
	p->pmu = c->len[F_PMU] == 1 && *c->s[F_PMU] == '*'
			 ? ""
			 : arena_strndup(p->a, c->s[F_PMU], c->len[F_PMU]);
	return 1;
}

int model_core_pmu(const char **pmu, struct arena *a, const struct model_sources *s, const char *id,
		   struct err *err)
{
	struct pmu_of p = { id, a, "" };

	if (each_line(a, s, pmu_of_line, &p, err) < 0)
		return -1;
	*pmu = p.pmu;
	return p.pmu ? 0 : err_nomem(err);
}

/* ---- list ---- */

struct matches {
	const char *const *ids; /* sorted */
	size_t n;
	struct buf *text; /* n */
};

static int match(void *ctx, const struct cpu_line *c)
{
	const struct matches *m = ctx;
	size_t len = c->len[F_ID], at;
	struct buf *b;

	bisect(at, m->n, i, strncmp(m->ids[i], c->s[F_ID], len) >= 0);
	if (at == m->n || strlen(m->ids[at]) != len || memcmp(m->ids[at], c->s[F_ID], len) != 0)
		return 0;
	b = &m->text[at];
	buf_printf(b, "%s%.*s-%.*s-%.*s", b->len ? " " : "", (int)c->len[F_VENDOR], c->s[F_VENDOR],
		   (int)c->len[F_FAMILY], c->s[F_FAMILY], (int)c->len[F_MODEL], c->s[F_MODEL]);
	if (c->len[F_STEPPING] != 1 || *c->s[F_STEPPING] != '*')
		buf_printf(b, "-%.*s", (int)c->len[F_STEPPING], c->s[F_STEPPING]);
	return 0;
}

/* Title and vendor, out of the model's facts, and whether it has an account. */
static int describe_cpu(struct arena *a, const struct model_sources *s, struct model_row *row,
			struct err *err)
{
	struct source_text t;
	struct line l;
	unsigned number = 0;
	size_t at = 0;
	int got;

	row->title = row->id;
	row->vendor = row->match = row->tma = "";
	if (source_read(&t, a, s, row->id, "model", SIZE_MAX, err) < 0)
		return -1;
	while (t.s && line_next(&t, &at, &number, &l)) {
		const char **to = line_is(&l, "title")	  ? &row->title
				  : line_is(&l, "vendor") ? &row->vendor
				  : line_is(&l, "tma")	  ? &row->tma
							  : NULL;

		if (to && !(*to = arena_strndup(a, l.value, l.len)))
			return err_nomem(err);
	}
	got = source_read(&t, a, s, row->id, "account", SIZE_MAX, err);
	row->account = got > 0;
	return got < 0 ? -1 : 0;
}

/* The rows of these ids. cpus.tab is read once for all of them. */
static int rows_of(struct arena *a, const struct model_sources *s, const char *const *ids, size_t n,
		   struct model_row *row, struct err *err)
{
	struct matches m = { ids, n, calloc(n, sizeof(*m.text)) };
	int ret = -1;

	if (!m.text && n)
		return err_nomem(err);
	if (each_line(a, s, match, &m, err) < 0)
		goto out;
	for (size_t i = 0; i < n; i++) {
		row[i].id = ids[i];
		if (describe_cpu(a, s, &row[i], err))
			goto out;
		if (m.text[i].len)
			row[i].match = arena_strdup(a, buf_str(&m.text[i]));
		if (!row[i].match || m.text[i].failed) {
			(void)err_nomem(err);
			goto out;
		}
	}
	ret = 0;
out:
	for (size_t i = 0; i < n; i++)
		buf_free(&m.text[i]);
	free(m.text);
	return ret;
}

int model_list(struct arena *a, const struct model_sources *s, const struct model_row **out,
	       size_t *n, struct err *err)
{
	const char *const *ids;
	struct model_row *row;

	if (source_list(a, s, &ids, n, err))
		return -1;
	row = arena_alloc(a, (*n + 1) * sizeof(*row));
	if (!row)
		return err_nomem(err);
	*out = row;
	return rows_of(a, s, ids, *n, row, err);
}

int model_row_of(struct model_row *out, struct arena *a, const struct model_sources *s,
		 const char *id, struct err *err)
{
	struct source_text t;
	int got = source_read(&t, a, s, id, "model", SIZE_MAX, err);

	if (got == 0)
		(void)err_set(err, ERR_NOT_FOUND, "no model %s", id);
	return got > 0 ? rows_of(a, s, &id, 1, out, err) : -1;
}

void model_cpu_midr(struct model_cpu *cpu, const char *cpuid)
{
	uint64_t midr;

	if (!cpuid || strncmp(cpuid, "0x", 2) != 0)
		return;
	midr = strtoull(cpuid, NULL, 16);
	cpu->vendor = "ARM";
	cpu->family = (uint32_t)(midr >> 24) & 0xff;
	cpu->model = (uint32_t)(midr >> 4) & 0xfff;
	cpu->stepping = ((uint32_t)(midr >> 20) & 0xf) * 16 + ((uint32_t)midr & 0xf);
}

int model_cpu_id(struct model_cpu *cpu, struct arena *a, const char *cpuid)
{
	const char *comma = cpuid ? strchr(cpuid, ',') : NULL;
	uint32_t *const number[] = { &cpu->family, &cpu->model, &cpu->stepping };

	model_cpu_midr(cpu, cpuid);
	if (!comma)
		return 0;
	cpu->vendor = arena_strndup(a, cpuid, (size_t)(comma - cpuid));
	for (size_t i = 0; i < 3 && *comma == ','; i++) {
		char *end;

		*number[i] = (uint32_t)strtoul(comma + 1, &end, 10);
		comma = end;
	}
	return cpu->vendor ? 0 : -1;
}
