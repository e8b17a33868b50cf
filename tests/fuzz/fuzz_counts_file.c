/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as counts that a tool printed, of all, of intervals and of places: each event once,
 * with a finite value and a share; each figure with a finite value.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/counts_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sums(const struct counts_sums *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct counted_event *ev = &s->event[i];

		if (!*ev->name || isnan(ev->value) || ev->value < 0 || !ev->pieces ||
		    ev->counted > 1 || ev->counted < 0 || ev->noise < 0 || !ev->unit)
			abort();
		for (size_t j = 0; j < i && i < 64; j++)
			if (!strcmp(ev->name, s->event[j].name) &&
			    !strcmp(ev->pmu, s->event[j].pmu))
				abort();
	}
	for (size_t i = 0; i < s->n_figures; i++)
		if (!*s->figure[i].name || isnan(s->figure[i].value) || !s->figure[i].pieces ||
		    !s->figure[i].unit || !s->figure[i].event)
			abort();
}

static void check(const struct counts_file *f, struct arena *a, const struct counts_span *span,
		  size_t n)
{
	struct counts_sums *s;

	if (counts_file_sums(&s, a, f, span, NULL))
		abort();
	for (size_t i = 0; i < n; i++)
		check_sums(&s[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct arena a = ARENA_INIT;
	const struct counts_choice choice = { .separator = size % 3 ? 0 : ';' };
	struct counts_file f;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	if (!counts_file_parse(&f, &a, text, size, &choice, "it", NULL)) {
		uint32_t *group = malloc((f.n_places + 1) * sizeof(*group));
		struct counts_span all = { .from = 0 };

		if (!group)
			abort();
		check(&f, &a, &all, 1);
		for (size_t i = 0; i < f.n_places; i++)
			group[i] = i % 3 == 2 ? UINT32_MAX : (uint32_t)i;
		for (size_t i = 1; i < f.n_times && i < 8; i++)
			check(&f, &a,
			      &(struct counts_span){ i, f.n_times - i > 2 ? i + 2 : f.n_times,
						     group, f.n_places },
			      f.n_places);
		free(group);
	}
	arena_free(&a);
	free(text);
	return 0;
}
