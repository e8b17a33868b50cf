/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_of [-d DIR] MODEL: the account of a model as a table, as the loader understood it, for
 * tests that have read its sources themselves.
 */
#include <stdio.h>
#include <string.h>

#include "model/account.h"

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct arena a = ARENA_INIT;
	struct model_sources s = { 0 };
	const char *dir[1];
	struct account *acc = NULL;
	struct model *m = NULL;
	int ret = 1;

	if (argc == 4 && !strcmp(argv[1], "-d")) {
		dir[0] = argv[2];
		s.dir = dir;
		s.n_dirs = 1;
		argv += 2;
		argc -= 2;
	}
	if (argc != 2)
		return 2;
	if (model_load(&m, &s, argv[1], NULL, &err) || account_load(&acc, &a, m, &s, &err)) {
		fprintf(stderr, "%s\n%s\n", err.what, err.hint);
		goto out;
	}
	for (size_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];

		printf("%s\t%s\t%d\t%d\t%s\t%s\t%g\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%llu\t%u\t%s\n",
		       t->name, t->parent == MODEL_NONE ? "" : acc->node[t->parent].name, t->part,
		       t->cover, t->event == MODEL_NONE ? "" : m->event[t->event].name,
		       t->event == MODEL_NONE ? "" : m->event[t->event].code, t->penalty,
		       t->reference ? 1
		       : t->ns	    ? 2
				    : 0,
		       t->adds, t->whole, t->unit, t->text,
		       t->within == MODEL_NONE ? "" : acc->node[t->within].name,
		       t->same == MODEL_NONE ? "" : acc->node[t->same].name,
		       (unsigned long long)t->period, t->precise, t->note);
	}
	ret = 0;
out:
	err_clear(&err);
	model_free(m);
	arena_free(&a);
	return ret;
}
