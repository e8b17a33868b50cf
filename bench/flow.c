/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - how fast branch stacks become edges and spans of code, once a recording is open.
 *
 *	flow FILE [ROUNDS [THREADS]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyse/feed.h"
#include "analyse/flow.h"

static double now(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int once(const struct pd *rec, struct spaces *sp, unsigned threads, struct err *err)
{
	const struct flow_opts opts = { .threads = threads };
	double t = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	const struct flow_sums *s;
	size_t edges, spans;
	struct flow *f;

	if (flow_build(&f, rec, sp, &opts, err))
		return -1;
	t = now(CLOCK_MONOTONIC) - t;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	s = flow_sums(f);
	(void)flow_edges(f, &edges);
	(void)flow_spans(f, &spans);
	printf("%" PRIu64 " stacks, %" PRIu64 " branches of %zu edges and %zu spans, %.3f s, "
	       "%.1f M branches/s, %.1f M per processor second\n",
	       s->stacks, s->edges, edges, spans, t, (double)s->edges / t / 1e6,
	       (double)s->edges / cpu / 1e6);
	flow_free(f);
	return 0;
}

int main(int argc, char **argv)
{
	const struct images_opts nothing = { .kallsyms = "/dev/null", .sysroot = "/nonexistent" };
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	unsigned threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	struct err err = ERR_INIT;
	struct images *images = NULL;
	struct spaces *sp = NULL;
	struct pd *rec = NULL;
	int ret = argc < 2;

	if (ret)
		(void)err_set(&err, ERR_USAGE, "FILE [ROUNDS [THREADS]]");
	else if (pd_open(&rec, argv[1], &err) || !(images = images_new(&nothing, &err)) ||
		 !(sp = feed_spaces(rec, images, &err)))
		ret = 1;
	for (unsigned i = 0; !ret && i < rounds; i++)
		ret = once(rec, sp, threads, &err) ? 1 : 0;
	if (ret)
		(void)fprintf(stderr, "flow: %s\n", err.what);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret;
}
