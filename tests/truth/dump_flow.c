/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_flow - edges and spans of a recording as flow.h has them, for comparison with the truth.
 *
 *	dump_flow RECORDING
 *
 *	edge FROM-IMAGE FROM TO-IMAGE TO HITS WEIGHT ERROR MISPREDICTED
 *	span IMAGE START END HITS WEIGHT ERROR TIMED CYCLES
 *	sums SAMPLES STACKS EDGES SPANS BACKWARDS CROSSING FAR SWITCHED
 *
 * Addresses are image addresses (file offsets).
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyse/feed.h"
#include "analyse/flow.h"

static const char *image_of(const struct spaces *sp, uint32_t image)
{
	return image == IMAGE_NONE ? "-" : image_name(spaces_images(sp), image);
}

static void put_weight(const struct flow_weight *w)
{
	struct flow_value v = flow_total(w->group);

	printf("\t%" PRIu64 "\t%.17g\t%.17g", w->hits, v.v, v.half);
}

static void dump(const struct flow *f, const struct spaces *sp)
{
	const struct flow_sums *s = flow_sums(f);
	size_t n;
	const struct flow_edge *e = flow_edges(f, &n);

	for (size_t i = 0; i < n; i++) {
		printf("edge\t%s\t%#" PRIx64 "\t%s\t%#" PRIx64, image_of(sp, e[i].from.image),
		       e[i].from.addr, image_of(sp, e[i].to.image), e[i].to.addr);
		put_weight(&e[i].w);
		printf("\t%" PRIu64 "\n", e[i].tally.mispredicted);
	}
	const struct flow_span *p = flow_spans(f, &n);

	for (size_t i = 0; i < n; i++) {
		printf("span\t%s\t%#" PRIx64 "\t%#" PRIx64, image_of(sp, p[i].image), p[i].start,
		       p[i].end);
		put_weight(&p[i].w);
		printf("\t%" PRIu64 "\t%" PRIu64 "\n", p[i].timed, p[i].cycles);
	}
	printf("sums\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%" PRIu64 "\t%" PRIu64 "\n",
	       s->samples, s->stacks, s->edges, s->spans, s->backwards, s->crossing, s->far_apart,
	       s->switched);
}

int main(int argc, char **argv)
{
	struct images_opts io = { 0 };
	struct flow_opts fo = { 0 };
	struct err err = ERR_INIT;
	struct images *images = NULL;
	struct spaces *sp = NULL;
	struct pd *rec = NULL;
	struct flow *f = NULL;
	int ret = 1;

	if (argc != 2)
		return 2;
	if (pd_open(&rec, argv[1], &err))
		goto out;
	images = images_new(&io, &err);
	sp = images ? feed_spaces(rec, images, &err) : NULL;
	if (!sp || flow_build(&f, rec, sp, &fo, &err))
		goto out;
	dump(f, sp);
	ret = 0;
out:
	if (err.code)
		(void)fprintf(stderr, "dump_flow: %s\n", err.what);
	flow_free(f);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret;
}
