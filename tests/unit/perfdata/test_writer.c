/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording whose end cannot be written, or for whose records the disk has no room: what was
 * recorded before stays readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata/perfdata.h"
#include "perfdata/writer.h"

enum { RECORDS = 20, FEATURE = 4096 };

struct sample {
	struct perf_event_header h;
	uint64_t ip, time;
};

static struct pdw *recorded(const char *path)
{
	static const uint64_t id = 100;
	struct pdw_event event = { .attr = { .type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(event.attr),
					     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME },
				   .name = "cpu-clock",
				   .ids = &id,
				   .n_ids = 1 };
	const struct pdw_setup setup = { .event = &event, .n_events = 1 };
	struct err err = ERR_INIT;
	struct pdw *w;

	assert_int_equal(pdw_open(&w, path, &setup, &err), 0);
	for (uint64_t i = 0; i < RECORDS; i++) {
		struct sample s = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s) },
				    0x1000 + i,
				    1 + i };

		assert_int_equal(pdw_data(w, &s, sizeof(s), &err), 0);
	}
	assert_int_equal(pdw_flush(w, &err), 0);
	assert_int_equal(pdw_show(w, &err), 0);
	return w;
}

/* The disk is full after `more` bytes of the feature table. */
static void a_failed_commit_leaves_the_records(void **state)
{
	static const uint64_t room[] = { 0, 8, 16, 100, FEATURE };
	struct rlimit old, full;
	uint8_t payload[FEATURE];
	char path[64];

	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/cyclade-writer-%d", (int)getpid());
	/* a feature that looks like records would be counted as such */
	for (size_t i = 0; i + sizeof(struct sample) <= sizeof(payload);
	     i += sizeof(struct sample)) {
		struct sample s = { { PERF_RECORD_SAMPLE, 2, sizeof(s) }, 1, 1 };

		memcpy(payload + i, &s, sizeof(s));
	}
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (size_t i = 0; i < sizeof(room) / sizeof(*room); i++) {
		struct pdw *w = recorded(path);
		uint64_t end = pdw_bytes(w);
		struct err err = ERR_INIT;
		struct stat st;
		struct pd *rec;
		size_t n;

		assert_int_equal(pdw_feature(w, 3, payload, sizeof(payload), &err), 0);
		full = (struct rlimit){ end + room[i], old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
		assert_int_equal(pdw_commit(w, &(struct pdw_end){ .how = PD_END_FINISHED }, &err),
				 -1);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		pdw_close(w);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, end);
		err_clear(&err);
		assert_int_equal(pd_open(&rec, path, &err), 0);
		assert_int_equal(pd_events(rec, &n)->samples, RECORDS);
		pd_close(rec);
		assert_int_equal(unlink(path), 0);
	}
}

static void put_samples(struct pdw *w, uint64_t n)
{
	struct err err = ERR_INIT;

	for (uint64_t i = 0; i < n; i++) {
		struct sample s = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s) },
				    0x1000 + i,
				    1 + i };

		assert_int_equal(pdw_data(w, &s, sizeof(s), &err), 0);
	}
}

/* As recorded(), where files may have `limit` bytes until `old` is set again. */
static struct pdw *recorded_within(rlim_t limit, char path[64], struct rlimit *old)
{
	struct rlimit full;

	(void)snprintf(path, 64, "/tmp/cyclade-writer-%d", (int)getpid());
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, old), 0);
	full = (struct rlimit){ limit, old->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	return recorded(path);
}

/* The limit lies within records that were not flushed yet: those before stay, with all features and
 * what is put behind them, for which there is room. */
static void a_full_disk_keeps_what_was_flushed(void **state)
{
	const uint64_t limit = 64 << 10, much = 2 * limit / sizeof(struct sample);
	struct losses {
		struct perf_event_header h;
		uint64_t lost;
	} lost = { { PERF_RECORD_LOST_SAMPLES, 0, sizeof(lost) }, much };
	struct rlimit old;
	struct err err = ERR_INIT;
	const struct pd_losses *l;
	char path[64];
	struct pdw *w;
	struct pd *rec;
	size_t n;

	(void)state;
	w = recorded_within(limit, path, &old);
	assert_null(pdw_full(w));
	put_samples(w, much);
	assert_int_equal(pdw_flush(w, &err), 0);
	assert_non_null(pdw_full(w));
	assert_int_equal(pdw_full(w)->sys_errno, EFBIG);
	put_samples(w, much); /* of no effect */
	assert_int_equal(pdw_behind(w, &lost, sizeof(lost), &err), 0);
	assert_int_equal(pdw_feature(w, 3, "\4\0\0\0abc", 8, &err), 0);
	assert_int_equal(pdw_commit(w, &(struct pdw_end){ .how = PD_END_FINISHED }, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	pdw_close(w);
	assert_int_equal(pd_open(&rec, path, &err), 0);
	assert_int_equal(pd_events(rec, &n)->samples, RECORDS);
	l = pd_losses(rec);
	assert_int_equal(l->lost_samples, much);
	assert_int_equal(l->end, PD_END_FULL);
	assert_string_equal(pd_info(rec)->hostname, "abc");
	pd_close(rec);
	assert_int_equal(unlink(path), 0);
}

/* A feature that has no room even with the reserve: the others have it. */
static void a_feature_can_be_dropped(void **state)
{
	const uint64_t limit = 64 << 10;
	struct rlimit old;
	struct err err = ERR_INIT;
	char path[64];
	struct pdw *w;
	struct pd *rec;
	size_t n;
	char *large = calloc(1, limit);

	(void)state;
	assert_non_null(large);
	w = recorded_within(limit, path, &old);
	assert_int_equal(pdw_feature(w, 3, "\4\0\0\0abc", 8, &err), 0);
	assert_int_equal(pdw_feature(w, 200, large, limit, &err), 0);
	assert_int_equal(pdw_commit(w, &(struct pdw_end){ .how = PD_END_FINISHED }, &err), -1);
	assert_int_equal(err.sys_errno, EFBIG);
	err_clear(&err);
	pdw_feature_drop(w, 200);
	assert_int_equal(pdw_commit(w, &(struct pdw_end){ .how = PD_END_FINISHED }, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	pdw_close(w);
	assert_int_equal(pd_open(&rec, path, &err), 0);
	assert_int_equal(pd_events(rec, &n)->samples, RECORDS);
	assert_int_equal(pd_losses(rec)->end, PD_END_FINISHED);
	assert_string_equal(pd_info(rec)->hostname, "abc");
	pd_close(rec);
	assert_int_equal(unlink(path), 0);
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_commit_leaves_the_records),
		cmocka_unit_test(a_full_disk_keeps_what_was_flushed),
		cmocka_unit_test(a_feature_can_be_dropped),
	};

	return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
