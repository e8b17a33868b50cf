/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a result that was saved as JSON, for diff and sum: each run's nodes stand behind the
 * ones above them, and a result has no difference to itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/diff/diff_int.h"
#include "report/diff_counted.h"
#include "report/sum.h"
#include "store/saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_nodes(const struct diff_run *r)
{
	const struct table *t = diff_find(r, "tree");
	struct table_row row = { 0 };
	double id = 0;

	while (t && table_next(t, &row)) {
		if (diff_number(t, diff_column(t, "id"), &row).v != ++id ||
		    diff_number(t, diff_column(t, "parent"), &row).v >= id)
			abort();
	}
}

static void check_itself(const diff_run_list *list)
{
	const struct diff_side side[2] = { { "a", list->v, list->n }, { "b", list->v, list->n } };
	const struct diff_opts opts = { 0 };
	struct err err = ERR_INIT;
	struct diff *x = NULL;
	struct document d;

	if (diff_build(&x, side, 2, &opts, &err))
		return;
	for (int t = 0; t < DIFF_TABLES; t++)
		for (size_t i = 0; i < x->table[t].n; i++) {
			enum diff_verdict v = x->table[t].v[i].verdict;

			if (v == DIFF_MOVED || v == DIFF_NEW || v == DIFF_GONE)
				abort();
		}
	document_open(&d, &diff_document, x);
	diff_put(&d, x);
	document_close(&d);
	diff_free(x);
}

static void check_sum(const diff_run_list *list)
{
	struct err err = ERR_INIT;
	struct sum *sum = NULL;
	struct document d;

	document_open(&d, &sum_document, NULL);
	if (!sum_build(&sum, list->v, list->n, &err))
		sum_put(&d, sum, 0);
	document_close(&d);
	sum_free(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("saved", MFD_CLOEXEC);
	diff_run_list list = VEC_INIT;
	struct diff_counted *c = NULL;
	struct saved *s = NULL;
	struct err err = ERR_INIT;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (size && !saved_open(&s, path, diff_counted_forms, DIFF_COUNTED_FORMS, &err) &&
	    !diff_counted_open(&c, &list, saved_document(s), "x.json", &err)) {
		for (size_t i = 0; i < list.n; i++)
			check_nodes(&list.v[i]);
		check_itself(&list);
		check_sum(&list);
	}
	saved_free(s);
	vec_free(&list);
	diff_counted_free(c);
	(void)close(fd);
	return 0;
}
