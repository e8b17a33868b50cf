/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_name - names of the addresses of groups: functions, lines of source, types of data.
 */
#include "analyse/memory/memory_int.h"

#include <stdlib.h>

#include "analyse/memory/memory_types.h"
#include "symbol/source.h"

static int by_address(const void *a, const void *b)
{
	const struct memory_group *x = *(struct memory_group *const *)a,
				  *y = *(struct memory_group *const *)b;

	if (x->key[1] != y->key[1])
		return x->key[1] < y->key[1] ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

/* The number of the file stands in `first_spread`, until spreads are made. */
static int name_line(struct memory_work *w, struct memory_group *g, const struct source *src,
		     struct err *err)
{
	struct source_line l;
	uint64_t vaddr;
	uint32_t id;

	if (!image_to_vaddr(spaces_images(w->spaces), (uint32_t)g->key[1], g->key[0], &vaddr))
		return 0;
	l = source_line(src, vaddr);
	if (!l.file || !l.line)
		return 0;
	id = strtab_adds(&w->files, l.file);
	if (id == STR_NONE)
		return err_nomem(err);
	g->file = l.file;
	g->line = l.line;
	g->first_spread = id;
	return 0;
}

/* Instructions of one image, ascending. */
static int name_run(struct memory_work *w, struct memory_group **g, size_t n, uint64_t *addr,
		    const struct symbol **sym, struct err *err)
{
	struct err why = ERR_INIT; /* no lines then */
	const struct source *src;

	for (size_t i = 0; i < n; i++)
		addr[i] = g[i]->key[0];
	image_resolve(spaces_images(w->spaces), (uint32_t)g[0]->key[1], addr, n, sym);
	src = source_of(spaces_images(w->spaces), (uint32_t)g[0]->key[1], &why);
	if (!src && why.code == ERR_NOMEM)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		g[i]->symbol = sym[i];
		if (src && name_line(w, g[i], src, err))
			return -1;
	}
	return 0;
}

static int name_instructions(struct memory_work *w, struct err *err)
{
	struct memory_group **g = calloc(w->group.n + 1, sizeof(*g));
	uint64_t *addr = calloc(w->group.n + 1, sizeof(*addr));
	const struct symbol **sym = calloc(w->group.n + 1, sizeof(*sym));
	size_t n = 0;
	int ret = g && addr && sym ? 0 : err_nomem(err);

	for (size_t i = 0; i < w->group.n && !ret; i++)
		if (w->group.v[i].by == MEMORY_INSTRUCTION && w->group.v[i].key[1] != IMAGE_NONE)
			g[n++] = &w->group.v[i];
	if (n > 1)
		qsort(g, n, sizeof(*g), by_address);
	for (size_t i = 0, k; i < n && !ret; i = k) {
		for (k = i + 1; k < n && g[k]->key[1] == g[i]->key[1]; k++)
			;
		ret = name_run(w, &g[i], k - i, addr, sym, err);
	}
	free(g);
	free(addr);
	free(sym);
	return ret;
}

/* By address: types and fields are numbered as they are met, and workers meet them in any order. */
static int type_accesses(struct memory_work *w, struct err *err)
{
	struct memory_group **g = calloc(w->group.n + 1, sizeof(*g));
	size_t n = 0;
	int ret = g ? 0 : err_nomem(err);

	for (size_t i = 0; i < w->group.n && !ret; i++)
		if (memory_is_of_data(&w->group.v[i]))
			g[n++] = &w->group.v[i];
	if (n > 1)
		qsort(g, n, sizeof(*g), by_address);
	for (size_t i = 0; i < n && !ret; i++)
		ret = memory_type_group(spaces_images(w->spaces), g[i], i ? g[i - 1] : NULL,
					&w->rows, err);
	free(g);
	return ret;
}

int memory_name_groups(struct memory_work *w, struct err *err)
{
	return name_instructions(w, err) || type_accesses(w, err) ? -1 : 0;
}
