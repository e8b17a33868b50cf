/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/counter.h"

#include <stdlib.h>

#include "collect/counters/counter_backend.h"

int counters_open(struct counters **out, const struct counter_setup *setup, struct err *err)
{
	struct counters *c = malloc(sizeof(*c));

	*out = NULL;
	if (!c)
		return err_nomem(err);
	*c = (struct counters){ setup->backend ? setup->backend : &counter_perf, NULL };
	if (c->by->open(setup->backend_ctx, &c->own, setup, err)) {
		free(c);
		return -1;
	}
	*out = c;
	return 0;
}

size_t counters_targets(const struct counters *c)
{
	return c->by->targets(c->own);
}

size_t counters_split(const struct counters *c, size_t group)
{
	return c->by->split(c->own, group);
}

const char *counters_refused(const struct counters *c, size_t group, size_t event, int *number)
{
	return c->by->refused(c->own, group, event, number);
}

bool counters_without_kernel(const struct counters *c)
{
	return c->by->without_kernel(c->own);
}

size_t counters_files(const struct counters *c)
{
	return c->by->files(c->own);
}

int counters_enable(struct counters *c, size_t group, bool on, struct err *err)
{
	return c->by->enable(c->own, group, on, err);
}

bool counters_apart(struct counters *c, size_t group)
{
	return c->by->apart && c->by->apart(c->own, group);
}

int counters_read(struct counters *c, size_t group, struct counter_value *out, struct err *err)
{
	return c->by->read(c->own, group, out, err);
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	c->by->close(c->own);
	free(c);
}
