/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_flow - what branch records say, as tab-separated text, for comparison with other readers of
 * the same recording.
 *
 *	dump_flow RECORDING [THREADS [EVENT [COMM]]]
 *
 * Rows: "edge" image address kind image address kind, hits, weight, the groups' weights,
 * mispredicted, predicted, in_tx, aborts, cycles, timed, type; "span" image kind start end, hits,
 * weight, groups, timed, cycles, cycles squared, buckets that are not empty as FROM:N; "sums" names
 * and values.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/feed.h"
#include "analyse/flow.h"

static const struct images *images_of;

static const char *name_of(uint32_t image)
{
	return image == IMAGE_NONE ? "-" : image_path(images_of, image);
}

static void put_weight(const struct flow_weight *w)
{
	printf("\t%" PRIu64 "\t%.17g\t", w->hits, flow_sum(w));
	for (unsigned g = 0; g < FLOW_GROUPS; g++)
		printf("%s%.17g", g ? "," : "", w->group[g]);
}

static void put_place(const struct flow_place *p)
{
	printf("\t%s\t0x%" PRIx64 "\t%u", name_of(p->image), p->addr, p->kind);
}

static void put_edges(const struct flow *f)
{
	size_t n;
	const struct flow_edge *e = flow_edges(f, &n);

	for (size_t i = 0; i < n; i++) {
		printf("edge");
		put_place(&e[i].from);
		put_place(&e[i].to);
		put_weight(&e[i].w);
		printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%u\n",
		       e[i].tally.mispredicted, e[i].tally.predicted, e[i].tally.in_tx,
		       e[i].tally.aborts, e[i].tally.cycles, e[i].tally.timed, e[i].type);
	}
}

static void put_times(const struct flow *f, uint32_t at)
{
	size_t n;
	const struct flow_times *t = flow_times(f, &n);
	bool any = false;

	printf("\t");
	for (unsigned b = 0; at != FLOW_NO_TIMES && b < FLOW_TIME_BUCKETS; b++) {
		if (!t[at].n[b])
			continue;
		printf("%s%" PRIu32 ":%" PRIu32, any ? "," : "", flow_time_from(b), t[at].n[b]);
		any = true;
	}
	printf("%s\n", any ? "" : "-");
}

static void put_spans(const struct flow *f)
{
	size_t n;
	const struct flow_span *s = flow_spans(f, &n);

	for (size_t i = 0; i < n; i++) {
		printf("span\t%s\t%u\t0x%" PRIx64 "\t0x%" PRIx64, name_of(s[i].image), s[i].kind,
		       s[i].start, s[i].end);
		put_weight(&s[i].w);
		printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, s[i].timed, s[i].cycles,
		       s[i].cycles_sq);
		put_times(f, s[i].times);
	}
}

static void put_sums(const struct flow_sums *s)
{
	printf("sums\tfilter=%d\tcounts=%d\tevent=%s\tdepth=%u\tbiased=%d\tuser_only=%d", s->filter,
	       s->counts, s->event ? s->event : "-", s->depth, s->biased, s->user_only);
	printf("\tsamples=%" PRIu64 "\tstacks=%" PRIu64 "\tempty=%" PRIu64 "\tleft_out=%" PRIu64
	       "\tbad=%" PRIu64,
	       s->samples, s->stacks, s->empty, s->left_out, s->bad);
	printf("\tedges=%" PRIu64 "\tspans=%" PRIu64 "\tperiod=%.17g", s->edges, s->spans,
	       s->period);
	printf("\tbackwards=%" PRIu64 "\tcrossing=%" PRIu64 "\tfar_apart=%" PRIu64
	       "\tswitched=%" PRIu64 "\trepeated=%" PRIu64 "\n",
	       s->backwards, s->crossing, s->far_apart, s->switched, s->repeated);
}

int main(int argc, char **argv)
{
	static const struct images_opts nothing = { .kallsyms = "/dev/null",
						    .perf_map_dir = "/nonexistent",
						    .sysroot = "/nonexistent" };
	struct flow_opts opts = { .threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0,
				  .select.event = argc > 3 && *argv[3] ? argv[3] : NULL,
				  .select.comm = argc > 4 ? argv[4] : NULL };
	struct err err = ERR_INIT;
	struct images *images = NULL;
	struct spaces *sp = NULL;
	struct flow *f = NULL;
	struct pd *rec = NULL;
	int ret = 1;

	if (argc < 2)
		return 2;
	if (pd_open(&rec, argv[1], &err))
		goto out;
	images = images_new(&nothing, &err);
	sp = images ? feed_spaces(rec, images, &err) : NULL;
	if (!sp || flow_build(&f, rec, sp, &opts, &err))
		goto out;
	images_of = images;
	put_sums(flow_sums(f));
	put_edges(f);
	put_spans(f);
	ret = 0;
out:
	if (ret)
		fprintf(stderr, "%d\t%s\t%s\n", (int)err.code, err.what, err.hint);
	flow_free(f);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret;
}
