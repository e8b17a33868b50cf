/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/event_more.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/nomem.h"
#include "base/text.h"
#include "measure/pfm.h"

static const struct model *model_of_pmu(struct event_more *m, const char *core)
{
	size_t i = 0;

	while (i < m->n_models && strcmp(m->model[i].core, core) != 0)
		i++;
	if (i < m->n_models)
		return m->model[i].m;
	if (i == sizeof(m->model) / sizeof(*m->model) || strlen(core) >= sizeof(m->model[i].core))
		return NULL;
	(void)snprintf(m->model[i].core, sizeof(m->model[i].core), "%s", core);
	m->n_models++;
	if (model_choice_load(m->choice, NULL, core, NULL, &m->model[i].m, NULL))
		m->model[i].m = NULL;
	return m->model[i].m;
}

static bool event_of_model(const struct model *model, const char *core, const char *name,
			   size_t len, struct event_meaning *out)
{
	uint32_t e = model_event_find(model, name, len);
	const struct model_event *ev;

	if (e == MODEL_NONE)
		return false;
	ev = &model->event[e];
	if (!*ev->code || !strcmp(ev->pmu, "software"))
		return false;
	out->pmu = *ev->pmu ? ev->pmu : core;
	out->terms = ev->code;
	out->exclude_user = ev->modifiers && !strcmp(ev->modifiers, "k");
	out->exclude_kernel = ev->modifiers && !strcmp(ev->modifiers, "u");
	return true;
}

static bool of_pfm(const struct model *model, struct arena *a, const char *core, const char *name,
		   size_t len, struct event_meaning *out)
{
	struct pfm_code c;

	if (!pfm_find(&c, model->id, name, len))
		return false;
	out->pmu = core;
	out->terms = arena_printf(a, "config=0x%llx,config1=0x%llx,config2=0x%llx",
				  (unsigned long long)c.config, (unsigned long long)c.config1,
				  (unsigned long long)c.config2);
	out->exclude_user = c.exclude_user;
	out->exclude_kernel = c.exclude_kernel;
	return out->terms;
}

static bool find_more_event(void *ctx, struct arena *a, const char *core, const char *name,
			    size_t len, struct event_meaning *out)
{
	struct event_more *m = ctx;
	const struct model *model = model_of_pmu(m, core);

	return model && (event_of_model(model, core, name, len, out) ||
			 of_pfm(model, a, core, name, len, out));
}

/* Small letters are as good as capitals. */
static const char *nearest_more_event(void *ctx, const char *name)
{
	struct event_more *m = ctx;
	const struct model *model = m->n_models ? m->model[0].m : NULL;
	char capitals[200];
	const char *near;
	size_t i = 0;

	if (!model)
		return NULL;
	if (!m->words) {
		m->words = calloc(model->n_events + 1, sizeof(*m->words));
		if (!m->words) {
			nomem_note();
			return NULL;
		}
		for (size_t k = 0; k < model->n_events; k++)
			m->words[k] = model->event[k].name;
	}
	for (; name[i] && i + 1 < sizeof(capitals); i++)
		capitals[i] = (char)toupper((unsigned char)name[i]);
	capitals[i] = '\0';
	near = text_nearest(name, m->words);
	if (!near)
		near = text_nearest(capitals, m->words);
	return near && strcasecmp(near, name) != 0 ? near : NULL;
}

const struct event_names_more *event_more(struct event_more *m, const struct model_choice *choice)
{
	*m = (struct event_more){ .choice = choice };
	m->names = (struct event_names_more){ find_more_event, nearest_more_event, m };
	return &m->names;
}

void event_more_free(struct event_more *m)
{
	for (size_t i = 0; i < m->n_models; i++)
		model_free(m->model[i].m);
	free(m->words);
	m->n_models = 0;
	m->words = NULL;
}
