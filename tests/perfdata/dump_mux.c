/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_mux - what a recording tells of its events' time on a counter.
 *
 *	dump_mux RECORDING [THREADS]
 *
 * Lines: "by cpu|thread", "event NAME told mean least most windows", for each sample "factor EVENT
 * CPU TID TIME FACTOR", and of the profile that is weighed with it "sum EVENT SAMPLES PERIOD".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "analyse/mux.h"
#include "analyse/profile.h"

static void dump(const struct mux *m, const struct pd *rec)
{
	const struct pd_event *ev;
	size_t n, n_chunks;
	const struct mux_event *me = mux_events(m, &n);
	const struct pd_chunk *c = pd_chunks(rec, &n_chunks);

	ev = pd_events(rec, &n);
	printf("by %s\n", mux_by_cpu(m) ? "cpu" : "thread");
	for (size_t i = 0; i < n; i++)
		printf("event\t%s\t%d\t%.9g\t%.9g\t%.9g\t%" PRIu64 "\n", ev[i].name, me[i].told,
		       me[i].mean, me[i].least, me[i].most, me[i].windows);
	for (size_t i = 0; i < n; i++)
		if (me[i].paused > 0)
			printf("paused\t%s\t%.9g\n", ev[i].name, me[i].paused);
	for (size_t i = 0; i < n_chunks; i++) {
		struct pd_record r = { NULL, 0, 0, 0, 0 };
		struct pd_sample s;

		while (pd_next(&c[i], &r)) {
			if (r.type != PERF_RECORD_SAMPLE || pd_sample_parse(rec, &r, &s))
				continue;
			printf("factor\t%s\t%u\t%u\t%" PRIu64 "\t%.9g\n", s.event->name, s.cpu,
			       s.tid, s.time,
			       mux_factor(m, s.event_index, s.cpu, s.tid,
					  feed_time(rec, &s, r.seq)));
		}
	}
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct images_opts io = { .sysroot = "/nonexistent", .kallsyms = "/dev/null" };
	struct profile_opts o = { .key = { KEY_ADDR }, .n_keys = 1 };
	struct images *images = NULL;
	const struct profile_sum *sum;
	const struct pd_event *ev;
	struct spaces *sp = NULL;
	struct profile *p = NULL;
	struct mux *m = NULL;
	struct pd *rec = NULL;
	int ret = 2;
	size_t n;

	if (argc < 2)
		return 2;
	o.threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (pd_open(&rec, argv[1], &err) || mux_build(&m, rec, o.threads, &err))
		goto out;
	dump(m, rec);
	o.mux = m;
	images = images_new(&io, &err);
	sp = images ? feed_spaces(rec, images, &err) : NULL;
	if (!sp || profile_build(&p, rec, sp, &o, &err))
		goto out;
	sum = profile_sums(p, &n);
	ev = pd_events(rec, &n);
	for (size_t i = 0; i < n; i++)
		printf("sum\t%s\t%" PRIu64 "\t%" PRIu64 "\n", ev[i].name, sum[i].selected.samples,
		       sum[i].selected.period);
	ret = 0;
out:
	if (ret)
		(void)fprintf(stderr, "dump_mux: %s\n", err.what);
	profile_free(p);
	mux_free(m);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret;
}
