/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "simulate/core/core_int.h"

void core_cache_open(struct cache *c, uint64_t lines, uint32_t ways)
{
	*c = (struct cache){ .ways = ways ? ways : 1 };
	c->sets = (uint32_t)(lines / c->ways);
	c->sets = c->sets ? c->sets : 1;
	c->line = xcalloc((size_t)c->sets * c->ways, sizeof(*c->line));
}

void core_cache_close(struct cache *c)
{
	free(c->line);
	c->line = NULL;
}

static inline struct cache_line *set_of(const struct cache *c, uint64_t line)
{
	uint32_t sets = c->sets;

	return &c->line[(size_t)(sets & (sets - 1) ? line % sets : line & (sets - 1)) * c->ways];
}

struct cache_line *core_cache_find(struct cache *c, uint64_t line)
{
	struct cache_line *set = set_of(c, line), found;

	if (set->tag == line + 1)
		return set;
	for (uint32_t i = 1; i < c->ways; i++) {
		if (set[i].tag != line + 1)
			continue;
		found = set[i];
		memmove(set + 1, set, i * sizeof(*set));
		*set = found;
		return set;
	}
	return NULL;
}

void core_cache_fill(struct cache *c, uint64_t line, uint64_t ready, uint8_t from)
{
	struct cache_line *set = set_of(c, line);

	memmove(set + 1, set, (c->ways - 1) * sizeof(*set));
	*set = (struct cache_line){ .tag = line + 1, .ready = ready, .from = from };
}
