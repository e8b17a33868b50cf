/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_pmu - the PMUs of sysfs: names and types at once, formats and aliases on demand.
 *
 * A server has a hundred uncore PMUs with as many files each: only those that an event names are
 * read.
 */
#include "collect/events/event_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "collect/sysfs.h"

#define DEVICES "sys/bus/event_source/devices"

/* By type: the big cores of a hybrid machine come first, imc_10 behind imc_9. */
static int pmus_by_type(const void *pa, const void *pb)
{
	const struct pmu *a = pa, *b = pb;

	return a->type != b->type ? (a->type > b->type) - (a->type < b->type)
				  : strcmp(a->name, b->name);
}

int pmu_set_read(struct pmu_set *set, struct arena *a, const char *root)
{
	const char *const *names;
	size_t n;

	*set = (struct pmu_set){ .arena = a, .root = root };
	if (!sys_names(a, &names, &n, root, DEVICES) || !n)
		return 0;
	set->v = arena_alloc(a, n * sizeof(*set->v));
	if (!set->v)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct pmu *pmu = &set->v[set->n];
		int64_t type;

		if (!sys_number(&type, root, DEVICES "/%s/type", names[i]) || type < 0 ||
		    type > UINT32_MAX)
			continue;
		pmu->name = names[i];
		pmu->type = (uint32_t)type;
		pmu->core = sys_core_pmu(root, names[i]);
		set->n_core += pmu->core;
		set->n++;
	}
	if (set->n)
		qsort(set->v, set->n, sizeof(*set->v), pmus_by_type);
	assert(pairs_hold(set->n, i, pmus_by_type(&set->v[i], &set->v[i + 1]) <= 0));
	return 0;
}

struct pmu *pmu_find(const struct pmu_set *set, struct word name)
{
	for (size_t i = 0; i < set->n; i++)
		if (word_is(name, set->v[i].name))
			return &set->v[i];
	return NULL;
}

/* `name` is `w`, perhaps with a number behind it: uncore_imc means uncore_imc_0 and uncore_imc_1,
 * but not uncore_imc_free_running. */
static bool same_family(const char *name, struct word w)
{
	const char *p = name + w.len;

	if (strlen(name) < w.len || memcmp(name, w.s, w.len))
		return false;
	if (*p == '_')
		p++;
	if (!*p)
		return p == name + w.len;
	while (*p >= '0' && *p <= '9')
		p++;
	return !*p;
}

bool pmu_matches(const struct pmu *pmu, struct word w)
{
	const char *shorter = strncmp(pmu->name, "uncore_", 7) ? NULL : pmu->name + 7;
	char pattern[256];

	if (!w.len || w.len >= sizeof(pattern))
		return false;
	if (!word_has_glob(w))
		return same_family(pmu->name, w) || (shorter && same_family(shorter, w));
	memcpy(pattern, w.s, w.len);
	pattern[w.len] = 0;
	return text_glob(pattern, pmu->name) || (shorter && text_glob(pattern, shorter));
}

bool pmu_format_parse(struct pmu_format *out, const char *text, size_t len)
{
	static const char *const places[] = { "config", "config1", "config2", "config3",
					      "config4" };
	const char *end = text + len, *colon = memchr(text, ':', len);

	if (!colon)
		return false;
	out->place = PMU_PLACES;
	for (unsigned i = 0; i < PMU_PLACES; i++)
		if (word_is(word_of(text, colon), places[i]))
			out->place = i;
	if (out->place == PMU_PLACES)
		return false;
	out->mask = 0;
	for (const char *p = colon + 1;; p++) {
		unsigned bit[2] = { 0, 0 }, n = 0;

		for (;;) {
			const char *from = p;

			for (; p < end && *p >= '0' && *p <= '9'; p++) {
				bit[n] = bit[n] * 10 + (unsigned)(*p - '0');
				if (bit[n] > 63)
					return false;
			}
			if (p == from)
				return false;
			if (n || p == end || *p != '-')
				break;
			p++;
			n = 1;
		}
		if (!n)
			bit[1] = bit[0];
		if (bit[1] < bit[0])
			return false;
		for (unsigned i = bit[0]; i <= bit[1]; i++)
			out->mask |= UINT64_C(1) << i;
		if (p == end)
			return true;
		if (*p != ',')
			return false;
	}
}

uint64_t pmu_format_max(const struct pmu_format *f)
{
	int bits = __builtin_popcountll(f->mask);

	return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

uint64_t pmu_format_put(const struct pmu_format *f, uint64_t config, uint64_t value)
{
	config &= ~f->mask;
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(f->mask >> bit & 1))
			continue;
		config |= (value & 1) << bit;
		value >>= 1;
	}
	return config;
}

static int load_formats(const struct pmu_set *set, struct pmu *pmu)
{
	const char *const *names;
	size_t n;

	if (!sys_names(set->arena, &names, &n, set->root, DEVICES "/%s/format", pmu->name) || !n)
		return 0;
	pmu->format = arena_alloc(set->arena, n * sizeof(*pmu->format));
	if (!pmu->format)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct pmu_format *f = &pmu->format[pmu->n_formats];
		char text[512];
		ssize_t len = sys_read(text, sizeof(text), set->root, DEVICES "/%s/format/%s",
				       pmu->name, names[i]);

		if (len <= 0 || !pmu_format_parse(f, text, (size_t)len))
			continue;
		f->name = names[i];
		pmu->n_formats++;
	}
	return 0;
}

static int load_aliases(const struct pmu_set *set, struct pmu *pmu)
{
	const char *const *names;
	size_t n;

	if (!sys_names(set->arena, &names, &n, set->root, DEVICES "/%s/events", pmu->name) || !n)
		return 0;
	pmu->alias = arena_alloc(set->arena, n * sizeof(*pmu->alias));
	if (!pmu->alias)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (text_ends(names[i], strlen(names[i]), ".scale") ||
		    text_ends(names[i], strlen(names[i]), ".unit") ||
		    text_ends(names[i], strlen(names[i]), ".per-pkg") ||
		    text_ends(names[i], strlen(names[i]), ".snapshot"))
			continue;
		pmu->alias[pmu->n_aliases++] = (struct pmu_alias){ .name = names[i] };
	}
	return 0;
}

bool pmu_alias_read(const struct pmu_set *set, const struct pmu *pmu, struct pmu_alias *alias)
{
	char scale[64], *end;

	if (alias->read)
		return alias->text;
	alias->read = true;
	alias->scale = 1;
	alias->text =
		sys_text(set->arena, set->root, DEVICES "/%s/events/%s", pmu->name, alias->name);
	if (!alias->text)
		return false;
	alias->unit = sys_text(set->arena, set->root, DEVICES "/%s/events/%s.unit", pmu->name,
			       alias->name);
	if (sys_read(scale, sizeof(scale), set->root, DEVICES "/%s/events/%s.scale", pmu->name,
		     alias->name) > 0) {
		double v = strtod(scale, &end);

		if (!*end && v == v)
			alias->scale = v;
	}
	return true;
}

bool pmu_may_have(const struct pmu_set *set, const struct pmu *pmu, struct word alias)
{
	return pmu->loaded || (alias.len < 256 && sys_exists(set->root, DEVICES "/%s/events/%.*s",
							     pmu->name, (int)alias.len, alias.s));
}

void pmu_know(const struct pmu_set *set, struct pmu *pmu)
{
	int64_t precise;

	if (pmu->loaded || pmu->known)
		return;
	pmu->known = true;
	pmu->cpus = sys_text(set->arena, set->root, DEVICES "/%s/cpumask", pmu->name);
	if (!pmu->cpus)
		pmu->cpus = sys_text(set->arena, set->root, DEVICES "/%s/cpus", pmu->name);
	if (sys_number(&precise, set->root, DEVICES "/%s/caps/max_precise", pmu->name) &&
	    precise > 0 && precise <= 3)
		pmu->max_precise = (uint32_t)precise;
}

int pmu_load(const struct pmu_set *set, struct pmu *pmu)
{
	if (pmu->loaded)
		return 0;
	pmu_know(set, pmu);
	if (load_formats(set, pmu) || load_aliases(set, pmu))
		return -1;
	pmu->loaded = true;
	return 0;
}

const struct pmu_format *pmu_format_find(const struct pmu *pmu, struct word name)
{
	for (size_t i = 0; i < pmu->n_formats; i++)
		if (word_is(name, pmu->format[i].name))
			return &pmu->format[i];
	return NULL;
}

const struct pmu_alias *pmu_alias_find(const struct pmu_set *set, const struct pmu *pmu,
				       struct word name)
{
	for (size_t i = 0; i < pmu->n_aliases; i++)
		if (word_is(name, pmu->alias[i].name))
			return pmu_alias_read(set, pmu, &pmu->alias[i]) ? &pmu->alias[i] : NULL;
	return NULL;
}
