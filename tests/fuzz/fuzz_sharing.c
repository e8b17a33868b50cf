/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a recording, whose loads and stores are made shared cache lines. What sharing.h
 * promises is held against what comes out. No file that the recording names is opened.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pass.h"
#include "analyse/sharing.h"
#include "recording.h"

static bool is_share(double x)
{
	return isnan(x) || (x >= 0 && x <= 1 + 1e-9);
}

static void check_line(const struct sharing *s, const struct sharing_line *l, uint32_t number)
{
	uint64_t samples = 0, loads = 0, stores = 0;

	hold(!(l->address & (s->line_size - 1)) && l->n_accesses);
	hold(l->first_access < s->n_accesses && l->n_accesses <= s->n_accesses - l->first_access);
	hold(l->main_access - l->first_access < l->n_accesses && l->variables <= l->n_accesses);
	for (size_t i = l->first_access; i < l->first_access + l->n_accesses; i++) {
		const struct sharing_access *a = &s->access[i];

		hold(a->line == number && a->offset < s->line_size && a->first <= a->last);
		hold(a->width <= s->line_size - a->offset);
		hold(a->n.samples && a->n.hitm_local + a->n.hitm_remote <= a->n.loads);
		samples += a->n.samples;
		loads += a->n.loads;
		stores += a->n.stores;
	}
	hold(samples == l->n.samples && loads == l->n.loads && stores == l->n.stores);
	hold(l->readers <= l->threads && l->writers <= l->threads && l->threads);
	hold(is_share(l->share.v) && (isnan(l->stake.v) ? l->stake.why != NULL : l->stake.v >= 0));
	hold((l->verdict == SHARING_UNKNOWN) == (l->why != NULL));
}

static void check(const struct sharing *s)
{
	uint64_t samples = s->one_thread.samples, objects = 0, accesses = 0;

	for (size_t i = 0; i < s->n; i++) {
		check_line(s, &s->line[i], (uint32_t)i);
		samples += s->line[i].n.samples;
		accesses += s->line[i].n_accesses;
	}
	for (size_t i = 0; i < s->n_objects; i++)
		objects += s->object[i].n.samples;
	/* an access that crosses into the next line is of two */
	hold(samples >= s->all.samples && samples <= 2 * s->all.samples);
	hold(accesses == s->n_accesses && objects == samples - s->one_thread.samples);
	hold(s->lines == s->n + s->lines_one_thread);
}

static int find_lines(struct sharing **s, const struct pd *rec, struct spaces *sp,
		      const struct sharing_opts *opts, struct err *err)
{
	const struct pass_opts po = { 0 };
	struct pass *pass = NULL;
	int ret;

	*s = NULL;
	ret = pass_new(&pass, rec, sp, &opts->select, &po, err) ||
	      sharing_begin(s, pass, rec, sp, opts, err) || pass_run(pass, err);
	if (!ret) {
		sharing_again(*s, pass);
		ret = pass_run(pass, err) || sharing_end(*s, err);
	}
	pass_free(pass);
	return ret;
}

static void find(const struct pd *rec, struct spaces *sp)
{
	static const uint32_t sizes[] = { 0, SHARING_LINE_MIN, SHARING_LINE_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct sharing_opts opts = { .line_size = sizes[i] };
		struct err err = ERR_INIT;
		struct sharing *s;

		if (find_lines(&s, rec, sp, &opts, &err)) {
			hold(err.what[0]);
			sharing_free(s);
			continue;
		}
		check(s);
		sharing_free(s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_recording(data, size, find);
}
