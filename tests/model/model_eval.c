/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_eval MODEL [DIR]: (of --models DIR) reads "name value" lines (an event's count; "NAME:R"
 * its retire latency; "#N" the system fact of that number), writes "metric value" for every metric,
 * "-" where there is none.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

int main(int argc, char **argv)
{
	double system[SYSTEM_COUNT], v, *count, *latency;
	struct err err = ERR_INIT;
	struct value *value;
	struct expr_env env;
	const char *const dir[] = { argc > 2 ? argv[2] : "" };
	const struct model_sources dirs = { .dir = dir, .n_dirs = 1 };
	struct model *m;
	char line[512];

	for (int i = 0; i < SYSTEM_COUNT; i++)
		system[i] = NAN;
	if (argc < 2 || model_load(&m, argc > 2 ? &dirs : NULL, argv[1], NULL, &err)) {
		fprintf(stderr, "%s\n", err.what);
		return 1;
	}
	count = calloc(m->n_events + 1, sizeof(*count));
	latency = calloc(m->n_events + 1, sizeof(*latency));
	value = calloc(m->n_metrics + 1, sizeof(*value));
	if (!count || !latency || !value)
		return 1;
	for (size_t i = 0; i < m->n_events; i++)
		count[i] = latency[i] = NAN;
	while (fgets(line, sizeof(line), stdin)) {
		char *space = strrchr(line, ' ');
		size_t n = space ? (size_t)(space - line) : 0;
		uint32_t i;

		if (!space)
			continue;
		v = strtod(space + 1, NULL);
		if (line[0] == '#') {
			unsigned long s = strtoul(line + 1, NULL, 10);

			if (s < SYSTEM_COUNT)
				system[s] = v;
			continue;
		}
		if (n > 2 && !memcmp(line + n - 2, ":R", 2)) {
			i = model_event_find(m, line, n - 2);
			if (i != MODEL_NONE)
				latency[i] = v;
			continue;
		}
		i = model_event_find(m, line, n);
		if (i != MODEL_NONE)
			count[i] = v;
	}
	env = (struct expr_env){
		.count = count, .n_lps = 1, .metric = value, .latency = latency, .system = system
	};
	for (size_t i = 0; i < m->n_metrics; i++) {
		value[i] = expr_eval(m->metric[i].expr, &env);
		if (value[i].why == VALUE_OK)
			printf("%s %.17g\n", m->metric[i].name, value[i].v);
		else
			printf("%s -\n", m->metric[i].name);
	}
	free(count);
	free(latency);
	free(value);
	model_free(m);
	return 0;
}
