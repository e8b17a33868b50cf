/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines_of FILE - for each hexadecimal address on standard input one line: the source line, then
 * for each inlined call, innermost first, its name as in the file and the line it was called from,
 * separated by tabs. With a second argument N, looks all up N times and says how long it took; with
 * "frames", prints each frame as LINKAGE FIRST_LINE LINE DISCRIMINATOR, innermost first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/vec.h"
#include "symbol/dwarf/source_tables.h"

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void print_one(const struct source *s, uint64_t a)
{
	struct source_line l = source_line(s, a);
	struct source_inline in[64];
	size_t n = source_inlines(s, a, in, 64);

	printf("%s:%u", l.file ? l.file : "??", l.line);
	while (n--)
		printf("\t%s\t%s:%u", in[n].name, in[n].at.file ? in[n].at.file : "??",
		       in[n].at.line);
	printf("\n");
}

static void print_frames(const struct source *s, uint64_t a)
{
	struct source_line l = source_line(s, a);
	struct source_function f;
	struct source_inline in[64];
	size_t n = source_inlines(s, a, in, 64);

	for (; n--; l = in[n].at)
		printf("%s %u %u %u\t", in[n].linkage, in[n].first_line, l.line, l.discriminator);
	if (source_function(s, a, &f))
		printf("%s %u %u %u", f.linkage, f.first_line, l.line, l.discriminator);
	printf("\n");
}

static void measure(const struct source *s, const uint64_t *v, size_t n, unsigned rounds)
{
	struct source_inline in[64];
	double t0 = now(), t1, t2;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += source_line(s, v[i]).line;
	t1 = now();
	for (unsigned r = 0; r < rounds; r++)
		for (size_t i = 0; i < n; i++)
			sum += source_line(s, v[i]).line;
	t2 = now();
	fprintf(stderr, "reading units %.3f s; lines %.2f M/s", t1 - t0,
		(double)n * rounds / (t2 - t1) / 1e6);
	t1 = now();
	for (unsigned r = 0; r < rounds; r++)
		for (size_t i = 0; i < n; i++)
			sum += source_inlines(s, v[i], in, 64);
	t2 = now();
	fprintf(stderr, "; inlines %.2f M/s (%llu)\n", (double)n * rounds / (t2 - t1) / 1e6,
		(unsigned long long)sum);
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	VEC(uint64_t) addr = VEC_INIT;
	struct source *s;
	char line[64];
	double t0 = now();

	if (argc < 2)
		return 2;
	s = source_open(argv[1], &err);
	if (!s) {
		fprintf(stderr, "%s: %s\n", argv[1], err.code ? err.what : "no debug information");
		return 1;
	}
	s->raw_names = true;
	t0 = now() - t0;
	while (fgets(line, sizeof(line), stdin))
		if (vec_push(&addr, strtoull(line, NULL, 16)))
			return 2;
	if (argc > 2 && !strcmp(argv[2], "frames")) {
		vec_each (&addr, uint64_t *, a)
			print_frames(s, *a);
	} else if (argc > 2) {
		fprintf(stderr, "open %.3f s; ", t0);
		measure(s, addr.v, addr.n, (unsigned)strtoul(argv[2], NULL, 10));
	} else {
		vec_each (&addr, uint64_t *, a)
			print_one(s, *a);
	}
	vec_free(&addr);
	source_free(s);
	return 0;
}
