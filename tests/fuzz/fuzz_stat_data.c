/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording of counts: cells lie in rounds, name events and threads that there are,
 * and no counter ran longer than it was there.
 */
#include <stdint.h>
#include <stdlib.h>

#include "perfdata/stat_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void check(const struct stat_data *s, size_t n_events)
{
	size_t at = 0;

	if (!s->n_rounds || !s->n_cells)
		abort();
	for (size_t i = 0; i < s->n_rounds; i++) {
		if (s->round[i].first != at || !s->round[i].n)
			abort();
		at += s->round[i].n;
	}
	if (at != s->n_cells)
		abort();
	for (size_t i = 0; i < s->n_cells; i++) {
		const struct stat_cell *c = &s->cell[i];

		if (c->event >= n_events || c->cpu < STAT_CPU_NONE ||
		    (s->n_threads && c->thread >= s->n_threads))
			abort();
		sink += c->value + c->enabled + c->running;
	}
	for (size_t i = 0; i < s->n_threads; i++)
		sink += strlen(s->thread[i].comm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	struct arena a = ARENA_INIT;
	struct stat_data s;
	struct pd *rec;
	size_t n;

	if (pd_open_memory(&rec, data, size, NULL))
		return 0;
	(void)pd_events(rec, &n);
	if (!stat_data_read(&s, &a, rec, &err))
		check(&s, n);
	else if (!err.what[0])
		abort();
	arena_free(&a);
	pd_close(rec);
	return 0;
}
