/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump_dsos - "pid tid ip dso" of every sample, tab-separated, in the order of the recording, for
 * comparison with perf.
 *
 *	dump_dsos RECORDING
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyse/feed.h"

struct dump {
	const struct pd *rec;
	const struct spaces *sp;
};

static int one(void *ctx, const struct pd_record *r)
{
	const struct dump *d = ctx;
	const struct process *proc;
	const struct map *m;
	struct pd_sample s;
	uint64_t time;

	if (r->type != PERF_RECORD_SAMPLE || pd_sample_parse(d->rec, r, &s))
		return 0;
	time = feed_time(d->rec, &s, r->seq);
	proc = spaces_process(d->sp, s.pid, time);
	m = space_find(d->sp, proc, space_kind_of_misc(r->misc), s.ip, time, NULL, NULL);
	printf("%" PRId32 "\t%" PRId32 "\t%" PRIu64 "\t%" PRIx64 "\t%s\n", (int32_t)s.pid,
	       (int32_t)s.tid, s.time, s.ip,
	       m ? image_name(spaces_images(d->sp), m->image) : "[unknown]");
	return 0;
}

int main(int argc, char **argv)
{
	struct images_opts io = { 0 };
	struct err err = ERR_INIT;
	struct images *images = NULL;
	struct spaces *sp = NULL;
	struct pd *rec = NULL;
	struct dump d;
	int ret = 1;

	if (argc != 2)
		return 2;
	if (pd_open(&rec, argv[1], &err))
		goto out;
	images = images_new(&io, &err);
	sp = images ? feed_spaces(rec, images, &err) : NULL;
	if (!sp)
		goto out;
	d.rec = rec;
	d.sp = sp;
	ret = pd_walk_all(rec, one, &d);
out:
	if (err.code)
		(void)fprintf(stderr, "dump_dsos: %s\n", err.what);
	spaces_free(sp);
	images_free(images);
	pd_close(rec);
	return ret;
}
