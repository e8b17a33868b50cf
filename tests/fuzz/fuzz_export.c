/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording, its samples kept with their chains, and written for other programs.
 * What profile_stacks.h promises is held against what comes out. No file that the recording names
 * is opened.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "recording.h"

static void check_samples(const struct profile *p, bool each)
{
	const struct profile_stacks *s = profile_stacks(p);
	size_t n_events;
	const struct profile_sum *sum = profile_sums(p, &n_events);

	for (size_t e = 0; e < n_events; e++) {
		uint64_t n = 0;

		for (size_t i = 0; i < s->n_samples; i++)
			n += s->sample[i].event == e ? s->sample[i].n : 0;
		hold(n == sum[e].selected.samples);
	}
	for (size_t i = 0; i < s->n_samples; i++) {
		const struct stack_sample *v = &s->sample[i];

		hold(v->node && v->node < s->n_nodes && v->thread < s->n_threads);
		hold(!each || v->n == 1);
		if (i && each)
			hold(v[-1].thread < v->thread ||
			     (v[-1].thread == v->thread && v[-1].time <= v->time));
		else if (i)
			hold(v[-1].node < v->node ||
			     (v[-1].node == v->node &&
			      (v[-1].thread < v->thread ||
			       (v[-1].thread == v->thread && v[-1].event < v->event))));
	}
}

static void check_tables(const struct profile_stacks *s)
{
	for (size_t i = 1; i < s->n_nodes; i++)
		hold(s->node[i].parent < i && s->node[i].site < s->n_sites);
	for (size_t i = 0; i < s->n_sites; i++) {
		hold(s->site[i].n > 0);
		for (uint32_t k = 0; k < s->site[i].n; k++)
			hold(s->frame_id[s->site[i].first + k] < s->n_frames);
	}
	for (size_t i = 0; i < s->n_threads; i++)
		hold(s->thread[i].comm != NULL);
}

static void build(const struct pd *rec, struct spaces *sp, enum profile_stacks_how how,
		  int (*write)(struct buf *, const struct export_in *, struct err *))
{
	const struct profile_opts o = { .key = { KEY_COMM, KEY_PID, KEY_TID },
					.n_keys = 3,
					.chains = true,
					.chain_lines = true,
					.chain_inline = true,
					.stacks = how,
					.threads = 1 };
	struct export_in in = {
		.images = spaces_images(sp), .source = view_source_of(rec), .rec = rec, .spaces = sp
	};
	struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	struct profile *p;

	if (profile_build(&p, rec, sp, &o, &err)) {
		hold(err.what[0]);
		return;
	}
	check_tables(profile_stacks(p));
	check_samples(p, how == STACKS_EACH);
	in.profile = p;
	hold(!write(&out, &in, &err) && out.len);
	buf_free(&out);
	profile_free(p);
}

static void both(const struct pd *rec, struct spaces *sp)
{
	build(rec, sp, STACKS_MERGED, export_pprof);
	build(rec, sp, STACKS_EACH, export_firefox);
	build(rec, sp, STACKS_EACH, export_perfetto);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_recording(data, size, both);
}
