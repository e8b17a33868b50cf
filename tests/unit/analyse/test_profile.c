/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a profile, against a plain count of the same samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made.h"

static void plain_comm(char out[24], const struct fact *f)
{
	const char *name = made_comm_at(f->tid, f->time);

	if (name)
		(void)snprintf(out, 24, "%s", name);
	else
		(void)snprintf(out, 24, ":%d", (int)f->tid);
}

static void rows_match(unsigned threads)
{
	struct profile_opts o = { .key = { KEY_COMM, KEY_DSO, KEY_SYM },
				  .n_keys = 3,
				  .threads = threads };
	struct profile *p = made_profile(&o);
	struct count want = { STRTAB_INIT, VEC_INIT };
	struct tally no[3] = { { 0, 0, 0 } }, all = { 0, 0, 0 };
	const struct profile_sum *sums;
	const struct profile_row *rows;
	size_t n, seen = 0;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		char place[80], comm[24], name[128];
		int how;

		plain_place(place, &made_facts[i], made_facts[i].kernel, made_facts[i].ip, &how);
		plain_comm(comm, &made_facts[i]);
		(void)snprintf(name, sizeof(name), "%u|%s|%s", made_facts[i].event, comm, place);
		count_add(&want, name, made_facts[i].period);
		no[how].samples++;
		no[how].period += made_facts[i].period;
	}
	rows = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t e = 0; e < N_EVENTS; e++) {
			const struct strtab *s = profile_strings(p);
			char name[128];
			uint32_t id;

			if (!rows[i].tally[e].samples)
				continue;
			(void)snprintf(name, sizeof(name), "%u|%s|%s|%s", e,
				       strtab_get(s, (uint32_t)rows[i].key[0]),
				       strtab_get(s, (uint32_t)rows[i].key[1]),
				       strtab_get(s, (uint32_t)rows[i].key[2]));
			id = strtab_find(&want.names, name);
			if (id == STR_NONE)
				fail_msg("%s should not be", name);
			same_tally(&rows[i].tally[e], &want.t.v[id], name);
			seen++;
		}
	assert_int_equal(seen, want.names.n - 1);
	sums = profile_sums(p, &n);
	assert_int_equal(n, N_EVENTS);
	for (size_t e = 0; e < n; e++) {
		all.samples += sums[e].selected.samples;
		no[1].samples -= sums[e].no_symbol.samples;
		no[2].period -= sums[e].no_map.period;
		assert_int_equal(sums[e].left_out.samples, 0);
		assert_int_equal(sums[e].bad, 0);
	}
	assert_int_equal(all.samples, N_SAMPLES);
	assert_int_equal(no[1].samples, 0);
	assert_int_equal(no[2].period, 0);
	count_free(&want);
	profile_free(p);
}

static void rows_one_worker(void **state)
{
	(void)state;
	rows_match(1);
}

static void rows_many_workers(void **state)
{
	(void)state;
	rows_match(5);
}

static void numbers_as_keys(void **state)
{
	struct profile_opts o = { .key = { KEY_TID, KEY_CPU, KEY_ADDR, KEY_EVENT, KEY_PID },
				  .n_keys = 5,
				  .threads = 3 };
	struct profile *p = made_profile(&o);
	uint64_t samples = 0, want = 0, got = 0;
	const struct profile_row *rows;
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++)
		want += made_facts[i].period * (made_facts[i].cpu + 1) * made_facts[i].tid;
	rows = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++) {
		samples += rows[i].tally[0].samples;
		got += rows[i].all.period * (rows[i].key[1] + 1) * rows[i].key[0];
	}
	assert_int_equal(samples, N_SAMPLES);
	assert_int_equal(got, want);
	profile_free(p);
}

static bool of_make(const struct fact *f)
{
	const char *comm = made_comm_at(f->tid, f->time);

	return f->event == 0 && (f->pid == 7 || f->pid == 55) && comm && !strcmp(comm, "make");
}

/* Times from and to are those of samples: both are in, as with perf. */
static void selection(void **state)
{
	static const uint32_t pids[] = { 7, 55 };
	struct profile_opts o = { .key = { KEY_SYM },
				  .n_keys = 1,
				  .select = { .event = "cyc*",
					      .pids = pids,
					      .n_pids = 2,
					      .time_from = UINT64_MAX,
					      .comm = "make" } };
	uint64_t in[2] = { 0, 0 }, out[2] = { 0, 0 };
	const struct profile_sum *s;
	struct profile *p;
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct fact *f = &made_facts[i];

		if (!of_make(f) || f->time < 500 || f->time > 6000)
			continue;
		o.select.time_from = f->time < o.select.time_from ? f->time : o.select.time_from;
		o.select.time_to = f->time > o.select.time_to ? f->time : o.select.time_to;
	}
	assert_true(o.select.time_from < o.select.time_to);
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct fact *f = &made_facts[i];
		bool is =
			of_make(f) && f->time >= o.select.time_from && f->time <= o.select.time_to;

		*(is ? &in[f->event] : &out[f->event]) += f->period;
	}
	p = made_profile(&o);
	s = profile_sums(p, &n);
	for (size_t e = 0; e < 2; e++) {
		assert_int_equal(s[e].selected.period, in[e]);
		assert_int_equal(s[e].left_out.period, out[e]);
	}
	assert_true(in[0] > 0);
	profile_free(p);
}

/* Records cut short are told as bad and counted nowhere else. */
static void short_records_are_bad(void **state)
{
	static uint8_t cut[32 + 16];
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1 };
	struct pd_chunk keep = made_chunks[0];
	const struct profile_sum *s;
	struct profile *p;
	uint64_t all = 0;
	size_t n;

	(void)state;
	st64(cut, PERF_RECORD_SAMPLE | 32ULL << 48);
	st64(cut + 8, 1);
	st64(cut + 32, PERF_RECORD_SAMPLE | 16ULL << 48);
	st64(cut + 40, 99);
	made_chunks[0].p = cut;
	made_chunks[0].end = cut + sizeof(cut);
	p = made_profile(&o);
	made_chunks[0] = keep;
	s = profile_sums(p, &n);
	assert_int_equal(s[1].bad, 1);
	assert_int_equal(s[0].bad, 1);
	for (size_t e = 0; e < n; e++)
		all += s[e].selected.samples;
	assert_int_equal(all, N_SAMPLES - N_SAMPLES / N_CHUNKS);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_one_worker),	 cmocka_unit_test(rows_many_workers),
		cmocka_unit_test(numbers_as_keys),	 cmocka_unit_test(selection),
		cmocka_unit_test(short_records_are_bad),
	};
	return cmocka_run_group_tests(tests, made_set_up, made_tear_down);
}
