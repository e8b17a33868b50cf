/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording in several files: a day by a clock of the test's, with a bound for all files
 * together; what a file begins with (state.h), against the records of the whole stream; the latest
 * records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/perf_abi.h"
#include "perfdata/latest.h"
#include "perfdata/perfdata.h"
#include "perfdata/series.h"
#include "perfdata/state.h"
#include "perfdata/writer.h"

#define SECOND 1000000000ull
#define DAY    (24 * 3600 * SECOND)
#define TRAIL  24u /* tid, time, id */

static char dir[64];

static void clean(void)
{
	char path[512];
	const struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		(void)unlink(path);
	}
	if (d)
		(void)closedir(d);
}

/* Bytes of all files; *n: how many have the names of kept ones. */
static uint64_t on_disk(size_t *n)
{
	const struct dirent *e;
	uint64_t sum = 0;
	char path[512];
	struct stat st;
	DIR *d = opendir(dir);

	*n = 0;
	assert_non_null(d);
	while ((e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		*n += strlen(e->d_name) == strlen("x.data.") + SERIES_STAMP;
	}
	(void)closedir(d);
	return sum;
}

/* ---- a day ------------------------------------------------------------------------------ */

struct sample {
	struct perf_event_header h;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, pad;
};

static struct pdw *next_file(const char *path)
{
	static const uint64_t id = 100;
	struct pdw_event event = { .attr = { .type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(event.attr),
					     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							    PERF_SAMPLE_TIME },
				   .name = "cpu-clock",
				   .ids = &id,
				   .n_ids = 1 };
	const struct pdw_setup setup = { .event = &event, .n_events = 1 };
	struct err err = ERR_INIT;
	struct pdw *w;

	assert_int_equal(pdw_open(&w, path, &setup, &err), 0);
	return w;
}

static void end_file(struct series *s, struct pdw *w, uint64_t now)
{
	const struct pdw_end end = { .how = PD_END_FINISHED };
	struct err err = ERR_INIT;

	assert_int_equal(pdw_feature(w, 3, "\4\0\0\0abc", 8, &err), 0);
	assert_true(series_room(s, pdw_bytes(w) + pdw_features_bytes(w)));
	assert_int_equal(pdw_commit(w, &end, &err), 0);
	pdw_close(w);
	assert_int_equal(series_keep(s,
				     (struct timespec){ (time_t)(1700000000 + now / SECOND),
							(long)(now % SECOND) },
				     &err),
			 0);
}

static void check_newest(const char *path, uint64_t last)
{
	struct err err = ERR_INIT;
	char newest[256];
	uint64_t from, to;
	struct pd *rec;

	assert_true(series_newest(newest, sizeof(newest), path));
	assert_int_equal(pd_open(&rec, newest, &err), 0);
	assert_true(pd_time_span(rec, &from, &to));
	assert_true(to == last && from <= to);
	pd_close(rec);
}

static void a_day(const struct series_limit *limit, size_t least, size_t most_files)
{
	struct err err = ERR_INIT;
	struct series *s;
	struct pdw *w;
	uint64_t most = 0, kept, bytes, last = 0;
	size_t n, n_removed, files = 0;
	char path[256];

	clean();
	(void)snprintf(path, sizeof(path), "%s/x.data", dir);
	assert_int_equal(series_new(&s, path, limit, &err), 0);
	assert_null(series_last(s));
	w = next_file(path);
	series_begin(s, 0);
	for (uint64_t now = 0; now < DAY; now += SECOND / 2) {
		struct sample x = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(x) },
				    0x1000,
				    7,
				    7,
				    now,
				    0 };

		assert_true(series_room(s, pdw_bytes(w) + sizeof(x) + 4096));
		assert_int_equal(pdw_data(w, &x, sizeof(x), &err), 0);
		last = now;
		if (now % (30 * SECOND))
			continue;
		assert_int_equal(pdw_flush(w, &err), 0);
		assert_int_equal(pdw_show(w, &err), 0);
		if (series_due(s, now, pdw_bytes(w))) {
			end_file(s, w, now);
			files++;
			w = next_file(path);
			series_begin(s, now);
		}
		bytes = on_disk(&n);
		most = bytes > most ? bytes : most;
		assert_true(!limit->most_bytes || bytes <= limit->most_bytes);
		assert_true(!limit->most_files || n <= limit->most_files);
	}
	end_file(s, w, DAY);
	check_newest(path, last);
	n = series_kept(s, &n_removed, &kept);
	assert_int_equal(n + n_removed, files + 1);
	assert_true(n >= least && n <= most_files);
	assert_true(!limit->most_bytes || most > limit->most_bytes / 2); /* the room is used */
	series_free(s);
}

static void a_day_stays_within_its_bound(void **state)
{
	(void)state;
	a_day(&(struct series_limit){ .every_ns = 600 * SECOND, .most_bytes = 2u << 20 }, 8, 64);
	a_day(&(struct series_limit){ .most_bytes = 1u << 20 }, 7, 9);
	a_day(&(struct series_limit){ .every_bytes = 200000, .most_files = 5 }, 5, 5);
	a_day(&(struct series_limit){ .every_ns = 3600 * SECOND }, 24, 25);
}

static void room_and_names(void **state)
{
	struct err err = ERR_INIT;
	struct timespec wall = { 1700000000, 990000000 };
	const char *last[3];
	char path[256];
	struct series *s;

	(void)state;
	clean();
	(void)snprintf(path, sizeof(path), "%s/x.data", dir);
	assert_int_equal(series_new(&s, path, &(struct series_limit){ .most_bytes = 1000 }, &err),
			 0);
	assert_false(series_room(s, 1001));
	assert_true(series_room(s, 1000));
	for (size_t i = 0; i < 3; i++) { /* in the same hundredth of a second */
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		(void)fprintf(f, "%0300d", 1);
		(void)fclose(f);
		assert_int_equal(series_keep(s, wall, &err), 0);
		last[i] = strdup(series_last(s));
		assert_true(!i || strcmp(last[i], last[i - 1]) > 0);
	}
	assert_true(series_room(s, 100));
	assert_true(!access(last[0], F_OK));
	assert_true(series_room(s, 101)); /* one must go */
	assert_true(access(last[0], F_OK) && !access(last[1], F_OK) && !access(last[2], F_OK));
	assert_true(series_room(s, 1000));
	assert_true(access(last[1], F_OK) && access(last[2], F_OK));
	for (size_t i = 0; i < 3; i++)
		free((void *)(uintptr_t)last[i]);
	assert_int_not_equal(series_keep(s, wall, &err), 0); /* there is no file */
	series_free(s);
}

/* ---- what was there --------------------------------------------------------------------- */

struct stream {
	uint8_t p[1u << 20];
	size_t len, n;
};

static struct stream put, got;

static size_t add(struct stream *s, uint32_t type, uint16_t misc, const void *body, size_t len,
		  const char *name)
{
	size_t at = s->len, text = name ? (strlen(name) + 8) & ~(size_t)7 : 0;
	struct perf_event_header h = { type, misc, (uint16_t)(sizeof(h) + len + text + TRAIL) };

	memset(s->p + at, 0, h.size);
	memcpy(s->p + at, &h, sizeof(h));
	memcpy(s->p + at + sizeof(h), body, len);
	if (name)
		memcpy(s->p + at + sizeof(h) + len, name, strlen(name));
	memset(s->p + at + h.size - TRAIL, 0xee, TRAIL);
	s->len += h.size;
	s->n++;
	return at;
}

static void map(uint32_t pid, uint64_t addr, uint64_t len, const char *name)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, gen;
		uint32_t prot, flags;
	} m = { pid, pid, addr, len, 0, 8, 1, 42, 0, 5, 2 };

	(void)add(&put, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &m, sizeof(m), name);
}

static void comm(uint32_t pid, uint32_t tid, bool exec, const char *name)
{
	uint32_t ids[2] = { pid, tid };

	(void)add(&put, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, ids, sizeof(ids),
		  name);
}

static void task(uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} t = { pid, ppid, tid, ptid, 5 };

	(void)add(&put, type, 0, &t, sizeof(t), NULL);
}

static int take(void *ctx, const void *p, size_t len, struct err *err)
{
	struct stream *s = ctx;

	(void)err;
	assert_true(s->len + len <= sizeof(s->p));
	memcpy(s->p + s->len, p, len);
	s->len += len;
	s->n++;
	return 0;
}

/* The records of `got`, a line each: "f 12<1", "c 12/13 name", "m 12 1000+200 name". */
static void as_text(char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (size_t at = 0; at < got.len;) {
		struct perf_event_header h;
		struct pd_record r = { .p = got.p + at };
		struct pd_mmap m;
		struct pd_comm c;
		struct pd_task t;

		memcpy(&h, got.p + at, sizeof(h));
		assert_true(h.size >= sizeof(h) + TRAIL && !(h.size % 8));
		for (size_t i = 0; i < TRAIL; i++)
			assert_int_equal(got.p[at + h.size - 1 - i], 0);
		r.type = h.type;
		r.misc = h.misc;
		r.size = (uint16_t)(h.size - TRAIL);
		if (!pd_mmap_get(NULL, &r, &m))
			n += (size_t)snprintf(out + n, size - n, "m %u %llx+%llx %s\n", m.pid,
					      (unsigned long long)m.addr, (unsigned long long)m.len,
					      m.path);
		else if (!pd_comm_get(&r, &c))
			n += (size_t)snprintf(out + n, size - n, "c %u/%u %s\n", c.pid, c.tid,
					      c.comm);
		else if (!pd_task_get(&r, &t))
			n += (size_t)snprintf(out + n, size - n, "f %u/%u<%u\n", t.pid, t.tid,
					      t.ppid);
		else
			n += (size_t)snprintf(out + n, size - n, "%u\n", h.type);
		assert_true(n < size);
		at += h.size;
	}
}

static void note_all(struct pd_state *s)
{
	struct err err = ERR_INIT;

	for (size_t at = 0; at < put.len;) {
		struct perf_event_header h;

		memcpy(&h, put.p + at, sizeof(h));
		assert_int_equal(pd_state_note(s, put.p + at, h.size, &err), 0);
		at += h.size;
	}
	put.len = 0;
}

static void expect(const struct pd_state *s, const char *text)
{
	struct err err = ERR_INIT;
	char out[4096];

	got.len = 0;
	assert_int_equal(pd_state_put(s, take, &got, &err), 0);
	as_text(out, sizeof(out));
	assert_string_equal(out, text);
}

static void the_state_is_what_is_there(void **state)
{
	struct err err = ERR_INIT;
	struct pd_state *s;

	(void)state;
	assert_int_equal(pd_state_new(&s, TRAIL, &err), 0);
	comm(10, 10, true, "shell");
	map(10, 0x1000, 0x1000, "/bin/sh");
	map(10, 0x8000, 0x1000, "/lib/old");
	map(10, 0x7000, 0x3000, "/lib/new"); /* over it */
	note_all(s);
	expect(s, "f 10/10<0\nc 10/10 shell\nm 10 1000+1000 /bin/sh\nm 10 7000+3000 /lib/new\n");
	/* a child has its parent's mappings until it executes a program; the parent maps more */
	task(PERF_RECORD_FORK, 11, 10, 11, 10);
	map(10, 0x20000, 0x1000, "/lib/later");
	note_all(s);
	expect(s, "f 10/10<0\nc 10/10 shell\nm 10 1000+1000 /bin/sh\nm 10 7000+3000 /lib/new\n"
		  "m 10 20000+1000 /lib/later\n"
		  "f 11/11<10\nc 11/11 shell\nm 11 1000+1000 /bin/sh\nm 11 7000+3000 /lib/new\n");
	comm(11, 11, true, "prog");
	map(11, 0x4000, 0x1000, "/bin/prog");
	task(PERF_RECORD_FORK, 11, 11, 12, 11);
	comm(11, 12, false, "worker");
	task(PERF_RECORD_EXIT, 10, 1, 10, 1);
	note_all(s);
	/* samples of what has ended may yet come from another ring */
	pd_state_round(s);
	expect(s, "f 10/10<0\nc 10/10 shell\nm 10 1000+1000 /bin/sh\nm 10 7000+3000 /lib/new\n"
		  "m 10 20000+1000 /lib/later\n"
		  "f 11/11<10\nc 11/11 prog\nm 11 4000+1000 /bin/prog\nf 11/12<11\nc 11/12 "
		  "worker\n");
	pd_state_round(s);
	expect(s, "f 11/11<10\nc 11/11 prog\nm 11 4000+1000 /bin/prog\nf 11/12<11\nc 11/12 "
		  "worker\n");
	/* its first thread ends, another goes on */
	task(PERF_RECORD_EXIT, 11, 10, 11, 10);
	note_all(s);
	pd_state_round(s);
	pd_state_round(s);
	expect(s, "f 11/11<10\nm 11 4000+1000 /bin/prog\nf 11/12<11\nc 11/12 worker\n");
	/* the number is given to another */
	task(PERF_RECORD_FORK, 11, 1, 11, 1);
	note_all(s);
	expect(s, "f 11/11<1\n");
	pd_state_free(s);
}

/* Cut records, and any bytes: nothing is read beyond them. */
static void bad_records(void **state)
{
	struct err err = ERR_INIT;
	struct pd_state *s;

	(void)state;
	assert_int_equal(pd_state_new(&s, TRAIL, &err), 0);
	srand(7);
	for (unsigned i = 0; i < 20000; i++) {
		struct perf_event_header h = { (uint32_t)(rand() % 24), (uint16_t)rand(), 0 };
		uint8_t *p;

		h.size = (uint16_t)(sizeof(h) + (size_t)(rand() % 24) * 8);
		p = malloc(h.size);
		assert_non_null(p);
		for (size_t k = 0; k < h.size; k++)
			p[k] = (uint8_t)(rand() % 4 ? rand() % 3 : rand());
		memcpy(p, &h, sizeof(h));
		assert_int_equal(pd_state_note(s, p, h.size, &err), 0);
		free(p);
		if (!(i % 100))
			pd_state_round(s);
	}
	got.len = got.n = 0;
	(void)!pd_state_put(s, take, &got, &err);
	pd_state_free(s);
}

/* As many mappings as come: the latest stay, and what is in a later one goes. */
static void many_maps(void **state)
{
	struct err err = ERR_INIT;
	struct pd_state *s;

	(void)state;
	assert_int_equal(pd_state_new(&s, TRAIL, &err), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		map(5, 0x1000 + i % 1500 * 0x1000, 0x1000, "/jit");
		note_all(s);
	}
	got.len = got.n = 0;
	assert_int_equal(pd_state_put(s, take, &got, &err), 0);
	assert_in_range(got.n, 1500, 1500 + 1 + 2048);
	pd_state_free(s);
}

static int count(void *ctx, const void *p, size_t len, struct err *err)
{
	uint64_t *sum = ctx;

	(void)p;
	(void)err;
	*sum += len;
	return 0;
}

/* What has left the memory is in the state: together they have every process. */
static void the_latest_and_the_state(void **state)
{
	struct err err = ERR_INIT;
	struct pd_latest *l;
	struct pd_state *s;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(pd_state_new(&s, TRAIL, &err), 0);
	assert_int_equal(pd_latest_new(&l, 2 * LATEST_BLOCK, s, &err), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		put.len = 0;
		comm(i + 1, i + 1, true, "x");
		assert_int_equal(pd_latest_add(l, put.p, put.len, &err), 0);
	}
	assert_true(pd_latest_bytes(l) > LATEST_BLOCK && pd_latest_bytes(l) <= 2 * LATEST_BLOCK);
	assert_int_equal(pd_latest_put(l, count, &sum, &err), 0);
	assert_int_equal(sum, pd_latest_bytes(l));
	got.len = got.n = 0;
	/* a fork and a name for each */
	assert_int_equal(pd_state_put(s, count, &(uint64_t){ 0 }, &err), 0);
	sum /= put.len;
	{
		uint64_t before = 0;

		assert_int_equal(pd_state_put(s, count, &before, &err), 0);
		assert_int_equal(before / (8 + 24 + TRAIL + 8 + 8 + 16 + TRAIL), 20000 - sum);
	}
	pd_latest_free(l);
	pd_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_day_stays_within_its_bound),
		cmocka_unit_test(room_and_names),
		cmocka_unit_test(the_state_is_what_is_there),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(many_maps),
		cmocka_unit_test(the_latest_and_the_state),
	};
	int rc;

	(void)snprintf(dir, sizeof(dir), "/tmp/cyclade-series-%d", (int)getpid());
	if (mkdir(dir, 0700))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	clean();
	(void)rmdir(dir);
	return rc;
}
