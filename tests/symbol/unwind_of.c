/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unwind_of FILE - each user-space sample's chain as unwound: "pid time: end: ip ip ip ...", all
 * hexadecimal but pid and end. With a second argument N, unwinds all N times and says how fast.
 * With "live", the records go to the recorder's unwinder one by one, as its rings would give them.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/feed.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/unwind.h"

enum { FRAMES = 4096 };

static double now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct totals {
	uint64_t samples, frames, ends[8];
};

static void one(struct unwinder *u, const struct pd *rec, const struct spaces *sp,
		const struct pd_record *r, struct totals *t, bool print)
{
	static uint64_t ips[FRAMES];
	struct unwind_in in;
	enum unwind_end end;
	struct pd_sample s;
	size_t n;

	if (pd_sample_parse(rec, r, &s) || !s.regs_user.abi || !s.regs_user.v)
		return;
	in = (struct unwind_in){
		.time = feed_time(rec, &s, r->seq),
		.machine = EM_X86_64,
		.abi = s.regs_user.abi,
		.reg_mask = s.regs_user.mask,
		.regs = s.regs_user.v,
		.stack = s.stack,
		.stack_size = s.stack_size,
	};
	in.proc = spaces_process(sp, s.pid, in.time);
	n = unwind_user(u, &in, ips, FRAMES, &end);
	t->samples++;
	t->frames += n;
	t->ends[end]++;
	if (!print)
		return;
	printf("%u %" PRIu64 ": %d:", s.pid, s.time, end);
	for (size_t i = 0; i < n; i++)
		printf(" %" PRIx64, ips[i]);
	printf("\n");
}

static void all(struct unwinder *u, const struct pd *rec, const struct spaces *sp, struct totals *t,
		bool print)
{
	size_t n;
	const struct pd_chunk *c = pd_chunks(rec, &n);

	for (size_t i = 0; i < n; i++) {
		struct pd_record r = { .p = NULL };

		while (pd_next(&c[i], &r))
			if (r.type == PERF_RECORD_SAMPLE)
				one(u, rec, sp, &r, t, print);
	}
}

/* ---- as the recorder does it ----------------------------------------------------------------- */

struct live {
	const struct pd *rec;
	struct unwound *u;
};

static int one_live(void *ctx, const uint8_t *p, size_t size, struct err *err)
{
	const uint64_t drop = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	struct live *l = ctx;
	struct pd_record r = {
		.p = p, .size = (uint16_t)size, .type = PERF_RECORD_SAMPLE, .misc = ld16(p + 4)
	};
	struct unwound_seen before = *unwound_seen(l->u), after;
	struct pd_event stored;
	struct pd_sample s;
	int index, end = 0;
	size_t i = 0;

	index = pd_sample_event(l->rec, &r);
	if (index < 0)
		return 0;
	stored = pd_events(l->rec, &i)[index];
	if (pd_sample_parse_of(&stored, &r, &s) || !s.regs_user.abi || !s.regs_user.v)
		return 0;
	if (unwound_sample(l->u, &stored, &r, drop, NULL, &r.p, &size, err))
		return -1;
	if (!size) /* it comes again */
		return 0;
	after = *unwound_seen(l->u);
	while (end < UNWIND_ENDS - 1 && before.end[end] == after.end[end])
		end++;
	stored.attr.sample_type &= ~drop;
	pd_event_layout(&stored);
	r.size = (uint16_t)size;
	if (pd_sample_parse_of(&stored, &r, &s))
		return err_set(err, ERR_FORMAT, "what was made is no sample");
	printf("%u %" PRIu64 ": %d:", s.pid, s.time, end);
	for (i = 0; i < s.n_chain && ld64(s.chain + 8 * i) != (uint64_t)-512;)
		i++;
	while (++i < s.n_chain)
		printf(" %" PRIx64, ld64(s.chain + 8 * i));
	printf("\n");
	return 0;
}

static int all_live(const struct pd *rec, struct err *err)
{
	struct live l = { rec, NULL };
	size_t n;
	const struct pd_chunk *c = pd_chunks(rec, &n);
	int rc = unwound_new(&l.u, err);

	for (size_t i = 0; i < n && !rc; i++) {
		struct pd_record r = { .p = NULL };

		while (!rc && pd_next(&c[i], &r))
			rc = r.type == PERF_RECORD_SAMPLE ? one_live(&l, r.p, r.size, err)
			     : r.type == PD_RECORD_FINISHED_ROUND
				     ? unwound_round(l.u, one_live, &l, err)
				     : unwound_note(l.u, r.p, r.size, err);
	}
	for (int i = 0; i < 2 && !rc; i++)
		rc = unwound_round(l.u, one_live, &l, err);
	unwound_free(l.u);
	return rc;
}

int main(int argc, char **argv)
{
	const char *rounds = argc > 2 ? argv[2] : "0";
	struct images_opts o = { .trust_paths = true };
	struct err err = ERR_INIT;
	struct images *set = NULL;
	struct unwinder *u = NULL;
	struct spaces *sp = NULL;
	struct pd *rec = NULL;
	struct totals t = { 0 };
	int rc = 1;

	if (argc < 2)
		return 2;
	set = images_new(&o, &err);
	if (!set || pd_open(&rec, argv[1], &err))
		goto out;
	if (argc > 2 && !strcmp(rounds, "live")) {
		rc = all_live(rec, &err) != 0;
		goto out;
	}
	sp = feed_spaces(rec, set, &err);
	u = sp ? unwinder_new(sp, &err) : NULL;
	if (!u)
		goto out;
	all(u, rec, sp, &t, argc < 3);
	if (argc > 2) {
		double t0 = now();

		t = (struct totals){ 0 };
		for (unsigned long i = strtoul(rounds, NULL, 10); i; i--)
			all(u, rec, sp, &t, false);
		t0 = now() - t0;
		fprintf(stderr,
			"%" PRIu64 " samples, %" PRIu64 " frames: %.0f samples/s, %.2f M "
			"frames/s\n",
			t.samples, t.frames, (double)t.samples / t0, (double)t.frames / t0 / 1e6);
	}
	rc = 0;
out:
	if (err.code)
		fprintf(stderr, "%s\n", err.what);
	unwinder_free(u);
	spaces_free(sp);
	images_free(set);
	pd_close(rec);
	return rc;
}
