/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two stages of a program as regions: what each of them waits for.
 *
 *	cc -O2 stages.c $(pkg-config --cflags --libs cyclade) -o stages && ./stages
 */
#include <cyclade.h>
#include <stdio.h>
#include <stdlib.h>

#define N (1u << 20)

static unsigned table[N], sum;

static void fill(struct cyclade_set *set)
{
	CYCLADE_SCOPE(set, "fill");

	for (unsigned i = 0; i < N; i++)
		table[i] = i * 2654435761u % N;
}

static void chase(struct cyclade_set *set)
{
	CYCLADE_SCOPE(set, "chase");
	unsigned at = 1;

	for (unsigned i = 0; i < N; i++)
		at = table[at] ^ (i & 7);
	sum += at;
}

int main(void)
{
	struct cyclade_error error = { .size = sizeof(error) };
	struct cyclade_report_opts report = { .size = sizeof(report), .fd = 1 };
	struct cyclade_set *set;

	if (cyclade_open(&set, NULL, &error)) {
		fprintf(stderr, "%s\n%s\n", error.what, error.hint);
		return 1;
	}
	for (int i = 0; i < 20; i++) {
		fill(set);
		chase(set);
	}
	cyclade_report(set, &report);
	cyclade_close(set);
	return sum == 42; /* so that the work is not optimized away */
}
