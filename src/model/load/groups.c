/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/groups.h"
#include "base/invariant.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS 9u

/* Names that perf's tables have for the nodes of a level. */
static const char *const level_names[] = { "TopdownL", "PipelineL" };

static bool same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && !strncasecmp(a, b, a_len);
}

static bool ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !strncasecmp(s + len - n, end, n);
}

const char *model_bottleneck_name(const struct model_metric *m)
{
	static const char begin[] = "Bottleneck_";
	size_t n = strlen(begin);

	if (m->level || strcmp(m->area, "Bottleneck") != 0)
		return NULL;
	return strncasecmp(m->name, begin, n) != 0 ? m->name : m->name + n;
}

bool model_bottleneck_is_loss(const struct model_metric *m)
{
	const char *name = model_bottleneck_name(m);

	return name && strcasecmp(name, "Useful_Work") != 0;
}

/* The next word of a ";"-list; NULL: there is no more. */
static const char *next_group_word(const char **list, size_t *len)
{
	const char *s = *list + strspn(*list, "; ");

	*len = strcspn(s, ";");
	*list = s + *len;
	while (*len && s[*len - 1] == ' ')
		(*len)--;
	return *len ? s : NULL;
}

static bool in_list(const struct model_metric *t, const char *name, size_t len)
{
	const char *list = t->groups, *word;
	size_t n;

	while ((word = next_group_word(&list, &n)))
		if (same(word, n, name, len))
			return true;
	return false;
}

static bool of_level(const struct model_metric *t, const char *name, size_t len)
{
	for (size_t i = 0; t->level && i < sizeof(level_names) / sizeof(*level_names); i++)
		if (same(name, len - 1, level_names[i], strlen(level_names[i])))
			return (unsigned)(name[len - 1] - '0') == t->level;
	return false;
}

/* "Fetch_Latency_group", "tma_fetch_latency_group". */
static bool child_of(const struct model *m, const struct model_metric *t, const char *name,
		     size_t len)
{
	static const char end[] = "_group";
	uint32_t parent;

	if (!t->level || t->parent == MODEL_NONE || !ends_in(name, len, end))
		return false;
	parent = model_metric_named(m, name, len - strlen(end));
	return parent == t->parent;
}

bool model_group_has(const struct model *m, uint32_t metric, const char *name, size_t len)
{
	const struct model_metric *t = &m->metric[metric];

	if (!len || !strcmp(t->area, "Aux"))
		return false;
	return in_list(t, name, len) || of_level(t, name, len) || child_of(m, t, name, len) ||
	       (model_bottleneck_name(t) &&
		same(name, len, MODEL_BOTTLENECKS, strlen(MODEL_BOTTLENECKS)));
}

size_t model_group_count(const struct model *m, const char *name, size_t len)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_metrics; i++)
		n += model_group_has(m, i, name, len);
	return n;
}

size_t model_group_members(const uint32_t **out, struct arena *a, const struct model *m,
			   const char *name, size_t len)
{
	size_t n = 0, room = model_group_count(m, name, len);
	uint32_t *v = room ? arena_alloc(a, room * sizeof(*v)) : NULL;

	*out = v;
	for (uint32_t i = 0; v && i < m->n_metrics; i++) {
		size_t at = n;

		if (!model_group_has(m, i, name, len))
			continue;
		for (; at && m->metric[v[at - 1]].order > m->metric[i].order; at--)
			v[at] = v[at - 1];
		v[at] = i;
		n++;
	}
	return n;
}

static int by_group_name(const void *a, const void *b)
{
	return strcasecmp(((const struct model_group *)a)->name,
			  ((const struct model_group *)b)->name);
}

/* Sorted, each name once. */
static size_t join_group(struct model_group *v, size_t n, const struct model *m)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_group_name);
	assert(pairs_hold(n, i, by_group_name(&v[i], &v[i + 1]) <= 0));
	for (size_t i = 0; i < n; i++)
		if (!kept || strcasecmp(v[kept - 1].name, v[i].name) != 0)
			v[kept++] = v[i];
	for (size_t i = 0; i < kept; i++)
		v[i].n = model_group_count(m, v[i].name, strlen(v[i].name));
	return kept;
}

static size_t words_of_groups(const struct model *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_metrics; i++)
		for (const char *s = m->metric[i].groups; *s; s++)
			n += *s == ';';
	return n + m->n_metrics;
}

static int add_made(struct model_group *v, size_t *n, struct arena *a, const struct model *m,
		    struct err *err)
{
	bool amd = !strcmp(m->vendor, "amd");

	if (model_group_count(m, MODEL_BOTTLENECKS, strlen(MODEL_BOTTLENECKS)))
		v[(*n)++].name = MODEL_BOTTLENECKS;
	for (unsigned level = 1; level <= LEVELS; level++) {
		char *name = arena_printf(a, "%s%u", level_names[amd], level);

		if (!name)
			return err_nomem(err);
		if (model_group_count(m, name, strlen(name)))
			v[(*n)++].name = name;
	}
	return 0;
}

int model_groups(const struct model_group **out, size_t *n, struct arena *a, const struct model *m,
		 struct err *err)
{
	struct model_group *v = arena_alloc(a, (words_of_groups(m) + LEVELS + 1) * sizeof(*v));

	*n = 0;
	if (!v)
		return err_nomem(err);
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const char *list = m->metric[i].groups, *word;
		size_t len;

		if (!strcmp(m->metric[i].area, "Aux"))
			continue;
		while ((word = next_group_word(&list, &len))) {
			v[*n].name = arena_strndup(a, word, len);
			if (!v[(*n)++].name)
				return err_nomem(err);
		}
	}
	if (add_made(v, n, a, m, err))
		return -1;
	*n = join_group(v, *n, m);
	*out = v;
	return 0;
}
