/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models: loaded, looked into, freed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/groups.h"
#include "model/load/build_int.h"

int model_load(struct model **out, const struct model_sources *s, const char *id,
	       const double *system, struct err *err)
{
	struct model *m = calloc(1, sizeof(*m));
	struct raw r = { .sources = s };
	int ret = -1;

	*out = NULL;
	if (!m)
		return err_nomem(err);
	m->names = calloc(1, sizeof(*m->names));
	m->id = arena_strdup(&m->arena, id);
	if (!m->names || !m->id) {
		(void)err_nomem(err);
		goto out;
	}
	r.arena = &m->arena;
	r.id = m->id;
	if (raw_load(&r, err) || model_build(m, &r, system, err))
		goto out;
	*out = m;
	m = NULL;
	ret = 0;
out:
	raw_free(&r);
	model_free(m);
	return ret;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	if (m->names) {
		strtab_free(&m->names->event);
		strtab_free(&m->names->metric);
		vec_free(&m->names->event_at);
		vec_free(&m->names->metric_at);
		free(m->names);
	}
	arena_free(&m->arena);
	free(m);
}

uint32_t model_event_find(const struct model *m, const char *name, size_t len)
{
	return build_name_find(&m->names->event, &m->names->event_at, name, len);
}

uint32_t model_metric_find(const struct model *m, const char *name, size_t len)
{
	return build_name_find(&m->names->metric, &m->names->metric_at, name, len);
}

const char *model_last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

const char *model_share_of(const struct model_metric *m)
{
	static const struct {
		const char *begins, *of;
	} words[] = {
		{ "Slots", "slots" },
		{ "Stalls", "clocks" },
		{ "Clocks", "clocks" },
		{ "Cycles", "clocks" },
		{ "Core_Clocks", "core clocks" },
		{ "Core_Execution", "core clocks" },
		{ "Core_Utilization", "core clocks" },
		{ "Uops", "uops" },
	};
	const char *text = m->domain_text;

	if (m->level && (!text || !*text))
		return m->domain == DOMAIN_SLOTS ? "slots" : "clocks";
	for (size_t i = 0; text && i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(text, words[i].begins, strlen(words[i].begins)))
			return words[i].of;
	return "";
}

/* Other tools' names of nodes that have another name here. */
static const struct {
	const char *theirs, *ours;
} other_names[MODEL_OTHER_NAMES] = {
	{ "DRAM_Bound", "L3_Miss_Bound" },
};

size_t model_other_names(const struct model *m, const char *out[MODEL_OTHER_NAMES])
{
	size_t n = 0;

	for (size_t i = 0; i < MODEL_OTHER_NAMES; i++) {
		const char *ours = other_names[i].ours;

		if (model_metric_find(m, ours, strlen(ours)) != MODEL_NONE)
			out[n++] = other_names[i].theirs;
	}
	return n;
}

const char *model_other_name(const struct model_metric *metric)
{
	const char *last = model_last_part(metric->path);

	for (size_t i = 0; i < MODEL_OTHER_NAMES; i++)
		if (metric->level && !strcasecmp(other_names[i].ours, last))
			return other_names[i].theirs;
	return NULL;
}

/* The names that perf has for these: "tma_fetch_latency", "tma_info_thread_ipc". */
static uint32_t perf_metric(const struct model *m, const char *name, size_t len)
{
	const char *group;

	if (len < 5 || strncasecmp(name, "tma_", 4) != 0)
		return MODEL_NONE;
	name += 4;
	len -= 4;
	if (len < 5 || strncasecmp(name, "info_", 5) != 0)
		return model_metric_named(m, name, len);
	group = memchr(name + 5, '_', len - 5);
	if (!group)
		return MODEL_NONE;
	len -= (size_t)(group + 1 - name);
	return model_metric_named(m, group + 1, len);
}

/* "Big_Code", as the view of bottlenecks shows it: without the common prefix. */
static uint32_t bottleneck(const struct model *m, const char *name, size_t len)
{
	for (uint32_t i = 0; i < m->n_metrics; i++) {
		const char *own = model_bottleneck_name(&m->metric[i]);

		if (own && strlen(own) == len && !strncasecmp(own, name, len))
			return i;
	}
	return MODEL_NONE;
}

uint32_t model_metric_named(const struct model *m, const char *name, size_t len)
{
	uint32_t at = model_metric_find(m, name, len);

	for (size_t i = 0; at == MODEL_NONE && i < MODEL_OTHER_NAMES; i++)
		if (strlen(other_names[i].theirs) == len &&
		    !strncasecmp(other_names[i].theirs, name, len))
			at = model_metric_find(m, other_names[i].ours, strlen(other_names[i].ours));
	if (at == MODEL_NONE)
		at = perf_metric(m, name, len);
	for (uint32_t i = 0; at == MODEL_NONE && i < m->n_metrics; i++) {
		const char *last = model_last_part(m->metric[i].path);

		if (m->metric[i].level && strlen(last) == len && !strncasecmp(last, name, len))
			at = i;
	}
	return at != MODEL_NONE ? at : bottleneck(m, name, len);
}

size_t model_check(const struct model *m, void (*each)(void *ctx, const char *text), void *ctx)
{
	char text[512];
	size_t n = 0;

	for (size_t i = 0; i < m->n_metrics; i++) {
		const struct model_metric *t = &m->metric[i];
		const char *what = NULL;

		if (t->level && !*t->says)
			what = "says nowhere what it means (says, in words)";
		else if (t->level && !*t->try_)
			what = "gives no advice (try, in words)";
		else if (t->level && (!strcmp(t->unit, "%") != (t->scale == 100.0)))
			what = "is a share, so its unit is % and its scale 100";
		if (!what)
			continue;
		(void)snprintf(text, sizeof(text), "%s:%u: %s %s", t->file, t->line, t->name, what);
		if (each)
			each(ctx, text);
		n++;
	}
	return n;
}

const char *model_event_text(struct arena *a, const struct model_event *e, const char *pmu)
{
	if (*e->pmu)
		pmu = e->pmu;
	/* "duration_time", "page-faults": a word that needs no PMU */
	if (!strcmp(pmu, "software") || !*e->code)
		return arena_strdup(a, *e->code ? e->code : e->name);
	return arena_printf(a, "%s/%s/%s", pmu, e->code, e->modifiers ? e->modifiers : "");
}
