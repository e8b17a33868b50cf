/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_fetch - the instruction of each sampled fetch. AMD fetches blocks of bytes, so the address
 * of a sample may lie within an instruction.
 */
#include <stdlib.h>

#include "analyse/memory/memory_types.h"
#include "symbol/code.h"

#define LONGEST 16 /* bytes of an instruction */

static void count(struct memory_group *g)
{
	if (memory_access_kind(g) == MEMORY_FETCH)
		g->fetches = g->samples;
	else
		g->fetches_aborted = g->samples;
}

static int by_place(const void *a, const void *b)
{
	const struct memory_group *x = *(struct memory_group *const *)a,
				  *y = *(struct memory_group *const *)b;

	if (memory_access_image(x) != memory_access_image(y))
		return memory_access_image(x) < memory_access_image(y) ? -1 : 1;
	return (x->key[0] > y->key[0]) - (x->key[0] < y->key[0]);
}

static void place(const struct code *c, struct memory_group *g)
{
	uint32_t i = code_insn_of(c, g->key[0]);

	if (i == CODE_NONE || c->insn[i].bad)
		return;
	g->skip = (uint32_t)(g->key[0] - c->start - c->insn[i].at);
	g->fetches_inside = g->skip ? g->samples : 0;
}

/* Fetches of one function: code that cannot be read leaves them where they are. */
static int place_in(struct images *set, const struct symbol *sym, struct memory_group **g, size_t n,
		    struct err *err)
{
	struct err why = ERR_INIT;
	struct code *c = NULL;
	uint64_t len = !sym ? 0 : sym->size ? sym->size : g[n - 1]->key[0] + LONGEST - sym->start;

	if (len && code_read(&c, set, memory_access_image(g[0]), sym->start, len, &why) &&
	    why.code == ERR_NOMEM)
		return err_nomem(err);
	for (size_t i = 0; c && i < n; i++)
		place(c, g[i]);
	code_free(c);
	return 0;
}

/* Places the fetches of one image, by address. */
static int place_run(struct images *set, struct memory_group **g, size_t n, struct err *err)
{
	uint64_t *addr = calloc(n, sizeof(*addr));
	const struct symbol **sym = calloc(n, sizeof(*sym));
	int ret = addr && sym ? 0 : err_nomem(err);

	for (size_t i = 0; i < n && !ret; i++)
		addr[i] = g[i]->key[0];
	if (!ret)
		image_resolve(set, memory_access_image(g[0]), addr, n, sym);
	for (size_t i = 0, k; i < n && !ret; i = k) {
		for (k = i + 1; k < n && sym[k] == sym[i]; k++)
			;
		ret = place_in(set, sym[i], &g[i], k - i, err);
	}
	free(addr);
	free(sym);
	return ret;
}

int memory_place_fetches(struct images *set, struct memory_group *g, size_t n, struct err *err)
{
	struct memory_group **at;
	size_t n_at = 0;
	int ret = 0;

	for (size_t i = 0; i < n; i++)
		n_at += memory_is_fetch(&g[i]);
	if (!n_at)
		return 0;
	at = calloc(n_at, sizeof(*at));
	if (!at)
		return err_nomem(err);
	n_at = 0;
	for (size_t i = 0; i < n; i++) {
		if (!memory_is_fetch(&g[i]))
			continue;
		count(&g[i]);
		if (memory_access_image(&g[i]) != IMAGE_NONE)
			at[n_at++] = &g[i];
	}
	qsort(at, n_at, sizeof(struct memory_group *), by_place);
	for (size_t i = 0, k; i < n_at && !ret; i = k) {
		for (k = i + 1;
		     k < n_at && memory_access_image(at[k]) == memory_access_image(at[i]); k++)
			;
		ret = place_run(set, &at[i], k - i, err);
	}
	free(at);
	return ret;
}
