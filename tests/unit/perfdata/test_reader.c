/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What perfdata.h promises, on recordings put together by hand. What single fields mean is tested
 * by tests/perfdata, against a generator in another language.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "perfdata/perfdata.h"
#include "perfdata/perfdata_int.h"

/* ---- a small writer ---- */

static void put16(struct buf *b, unsigned v)
{
	uint16_t x = (uint16_t)v;

	buf_put(b, &x, 2);
}

static void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, 4);
}

static void put64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, 8);
}

static void put_head(struct buf *b, uint32_t type, unsigned misc, unsigned size)
{
	put32(b, type);
	put16(b, misc);
	put16(b, size);
}

/* Pipe form: events with ids 100, 101, ...; samples are IDENTIFIER, IP, TIME, PERIOD. */
static void put_start(struct buf *b, unsigned n_events)
{
	buf_put(b, "PERFILE2", 8);
	put64(b, 16);
	for (unsigned i = 0; i < n_events; i++) {
		struct perf_event_attr a = {
			.type = PERF_TYPE_SOFTWARE,
			.size = 64,
			.config = i,
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_PERIOD,
		};

		put_head(b, PD_RECORD_HEADER_ATTR, 0, 8 + 64 + 8);
		buf_put(b, &a, 64);
		put64(b, 100 + i);
	}
}

static void put_sample(struct buf *b, uint64_t id, uint64_t time, uint64_t period)
{
	put_head(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40);
	put64(b, id);
	put64(b, 0x400000);
	put64(b, time);
	put64(b, period);
}

static void put_comm(struct buf *b, uint32_t tid)
{
	put_head(b, PERF_RECORD_COMM, 0, 24);
	put32(b, tid);
	put32(b, tid);
	buf_put(b, "abc\0\0\0\0", 8);
}

static struct pd *opened(const struct buf *b)
{
	struct err err = ERR_INIT;
	struct pd *rec = NULL;

	assert_int_equal(pd_open_memory(&rec, b->s, b->len, &err), 0);
	assert_non_null(rec);
	return rec;
}

static bool noted(const struct pd *rec, const char *part)
{
	size_t n;
	const char *const *notes = pd_notes(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(notes[i], part))
			return true;
	return false;
}

/* ---- chunks and walks ---- */

struct order {
	uint64_t n, last, sum;
	uint64_t stop_at;
	bool sorted;
};

static int in_order(void *ctx, const struct pd_record *r)
{
	struct order *o = ctx;

	if (o->n && r->seq <= o->last)
		o->sorted = false;
	o->last = r->seq;
	o->n++;
	if (r->type == PERF_RECORD_COMM)
		o->sum += ld32(r->p + 8);
	return o->n == o->stop_at ? 42 : 0;
}

static void chunks_hold_every_record(void **state)
{
	enum { N = 300000 }; /* 40 bytes each: three chunks */
	struct buf b = BUF_INIT;
	struct order all = { .sorted = true }, side = { .sorted = true }, some = { .stop_at = 7 };
	uint64_t samples = 0, records = 0;
	const struct pd_chunk *c;
	struct pd *rec;
	size_t n;

	(void)state;
	put_start(&b, 1);
	for (uint32_t i = 0; i < N; i++) {
		put_sample(&b, 100, i, 2);
		if (i % 1000 == 0)
			put_comm(&b, i);
	}
	rec = opened(&b);
	c = pd_chunks(rec, &n);
	assert_true(n >= 3 && n <= 4);
	for (size_t i = 0; i < n; i++) {
		struct pd_record r = { 0 };

		assert_true(c[i].end - c[i].p < 5 << 20);
		while (pd_next(&c[i], &r)) {
			assert_true(r.p + r.size <= c[i].end);
			samples += r.type == PERF_RECORD_SAMPLE;
			records++;
		}
	}
	assert_int_equal(samples, N);
	assert_int_equal(records, N + N / 1000 + 1);
	assert_int_equal(pd_walk_all(rec, in_order, &all), 0);
	assert_int_equal(all.n, records);
	assert_true(all.sorted);
	assert_int_equal(pd_walk(rec, in_order, &side), 0);
	assert_int_equal(side.n, N / 1000 + 1);
	assert_true(side.sorted);
	assert_int_equal(side.sum, all.sum);
	assert_int_equal(pd_walk(rec, in_order, &some), 42);
	assert_int_equal(some.n, 7);
	assert_int_equal(pd_events(rec, &n)->samples, N);
	assert_int_equal(pd_events(rec, &n)->period, 2 * N);
	pd_close(rec);
	buf_free(&b);
}

/* ---- ids ---- */

static void samples_find_their_event(void **state)
{
	struct buf b = BUF_INIT;
	const struct pd_event *ev;
	const struct pd_chunk *c;
	struct pd_record r = { 0 };
	uint64_t first, last;
	int want[] = { 1, 0, 2, -1, 2 };
	unsigned i = 0;
	struct pd *rec;
	size_t n;

	(void)state;
	put_start(&b, 3);
	put_sample(&b, 101, 50, 5);
	put_sample(&b, 100, 40, 7);
	put_sample(&b, 102, 60, 1);
	put_sample(&b, 999, 70, 1);
	put_sample(&b, 102, 65, 2);
	rec = opened(&b);
	ev = pd_events(rec, &n);
	assert_int_equal(n, 3);
	assert_int_equal(ev[0].period, 7);
	assert_int_equal(ev[1].samples, 1);
	assert_int_equal(ev[2].samples, 2);
	assert_int_equal(ev[2].period, 3);
	assert_string_equal(ev[1].name, "task-clock");
	assert_int_equal(pd_id_event(rec, 102), 2);
	assert_int_equal(pd_id_event(rec, 999), -1);
	assert_int_equal(pd_losses(rec)->unattributed, 1);
	assert_true(noted(rec, "1 samples name no event"));
	assert_true(pd_time_span(rec, &first, &last));
	assert_int_equal(first, 40);
	assert_int_equal(last, 65);
	c = pd_chunks(rec, &n);
	while (pd_next(c, &r)) {
		struct pd_sample s;

		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(pd_sample_event(rec, &r), want[i]);
		assert_int_equal(pd_sample_parse(rec, &r, &s), want[i] < 0 ? -1 : 0);
		i++;
	}
	assert_int_equal(i, 5);
	pd_close(rec);
	buf_free(&b);
}

/* ---- what is damaged ends with a note, and the rest stays ---- */

static void a_bad_size_ends_the_walk(void **state)
{
	static const unsigned sizes[] = { 0, 1, 7 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct buf b = BUF_INIT;
		struct pd *rec;
		char where[64];
		size_t n, at;

		put_start(&b, 1);
		put_sample(&b, 100, 1, 1);
		at = b.len;
		put_head(&b, PERF_RECORD_SAMPLE, 0, sizes[i]);
		put_sample(&b, 100, 1, 1);
		rec = opened(&b);
		assert_int_equal(pd_events(rec, &n)->samples, 1);
		(void)snprintf(where, sizeof(where), "offset %zu: a record of size %u", at,
			       sizes[i]);
		assert_true(noted(rec, where));
		pd_close(rec);
		buf_free(&b);
	}
}

static void a_cut_record_is_told(void **state)
{
	struct buf b = BUF_INIT;
	struct pd *rec;
	size_t n;

	(void)state;
	put_start(&b, 1);
	put_sample(&b, 100, 1, 1);
	put_sample(&b, 100, 1, 1);
	b.len -= 3;
	rec = opened(&b);
	assert_int_equal(pd_events(rec, &n)->samples, 1);
	assert_true(noted(rec, "cut short"));
	assert_true(noted(rec, "(37 bytes of it are there)"));
	pd_close(rec);
	buf_free(&b);
}

static void a_short_sample_is_counted_not_used(void **state)
{
	struct buf b = BUF_INIT;
	struct pd *rec;
	size_t n;

	(void)state;
	put_start(&b, 1);
	put_head(&b, PERF_RECORD_SAMPLE, 0, 32);
	put64(&b, 100);
	put64(&b, 1);
	put64(&b, 1);
	rec = opened(&b);
	assert_int_equal(pd_events(rec, &n)->samples, 0);
	assert_int_equal(pd_losses(rec)->unattributed, 1);
	pd_close(rec);
	buf_free(&b);
}

static void a_wrong_claim_of_payload_is_told(void **state)
{
	struct buf b = BUF_INIT;
	struct pd *rec;

	(void)state;
	put_start(&b, 1);
	put_head(&b, PD_RECORD_AUXTRACE, 0, 48);
	put64(&b, UINT64_MAX - 40);
	for (int i = 0; i < 4; i++)
		put64(&b, 0);
	rec = opened(&b);
	assert_true(noted(rec, "of payload claimed, 0 are there"));
	pd_close(rec);
	buf_free(&b);
}

static void refused(const void *p, size_t len, const char *part)
{
	struct err err = ERR_INIT;
	struct pd *rec;

	assert_int_equal(pd_open_memory(&rec, p, len, &err), -1);
	assert_null(rec);
	assert_int_equal(err.code, ERR_FORMAT);
	assert_non_null(strstr(err.what, part));
	assert_true(err.hint[0]);
}

static void what_is_no_recording_is_refused(void **state)
{
	(void)state;
	refused("", 0, "empty");
	refused("PERFILE2", 8, "only 8 bytes");
	refused("\177ELF............", 16, "begins with 7f 45 4c 46");
	refused("PERFILE2\x68\0\0\0\0\0\0\0", 16, "header of 104 bytes in a file of 16");
	refused("PERFILE2\x10\0\0\0\0\0\0\0", 16, "no event");
}

/* ---- a file larger than what is read into memory goes through the mapped path ---- */

static void a_large_file_is_mapped(void **state)
{
	enum { N = 1000000 };
	char path[] = "/tmp/cyclade-reader-XXXXXX";
	int fd = mkstemp(path);
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct pd *rec, *swapped;
	size_t n;

	(void)state;
	assert_true(fd >= 0);
	put_start(&b, 1);
	for (uint64_t i = 0; i < N; i++)
		put_sample(&b, 100, i, 1);
	assert_int_equal(write(fd, b.s, b.len), b.len);
	assert_int_equal(pd_open(&rec, path, &err), 0);
	assert_int_equal(pd_events(rec, &n)->samples, N);
	assert_int_equal(pd_info(rec)->file_size, b.len);
	pd_close(rec);
	/* of the other order all through: every number is palindromic but these */
	memcpy(b.s, "2ELIFREP", 8);
	for (size_t i = 8; i < 16; i++)
		b.s[i] = i == 15 ? 16 : 0;
	assert_int_equal(pwrite(fd, b.s, 16, 0), 16);
	assert_int_equal(ftruncate(fd, (off_t)b.len), 0);
	err_clear(&err);
	if (!pd_open(&swapped, path, &err)) { /* garbage behind the header, but in a private copy */
		assert_true(pd_info(swapped)->foreign_order);
		pd_close(swapped);
	}
	(void)close(fd);
	(void)unlink(path);
	buf_free(&b);
}

/* Device 254:0 and an inode under the flag of a build-id, as Linux writes them for an event that
 * asks for none while another program's does; and an id of 20 bytes. */
static void a_flag_makes_no_build_id(void **state)
{
	uint8_t p[80] = { PERF_RECORD_MMAP2 };
	struct pd_record r = { .p = p,
			       .size = sizeof(p),
			       .type = PERF_RECORD_MMAP2,
			       .misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID };
	struct pd_event asks = { .attr.build_id = 1 }, asks_not = { .attr.mmap2 = 1 };
	struct pd rec = { .events = { &asks, 1, 1 } }, other = { .events = { &asks_not, 1, 1 } };
	struct pd_mmap m;

	(void)state;
	memcpy(p + 72, "/bin/x", 7);
	p[40] = 254;
	p[49] = 0x12; /* inode 0x1200 */
	assert_int_equal(pd_mmap_get(&rec, &r, &m), 0);
	assert_int_equal(m.build_id_len, 0);
	assert_int_equal(m.maj, 254);
	assert_int_equal(m.ino, 0x1200);
	p[40] = 20;
	memset(p + 44, 0xab, 20);
	assert_int_equal(pd_mmap_get(&rec, &r, &m), 0);
	assert_int_equal(m.build_id_len, 20);
	assert_int_equal(m.build_id[19], 0xab);
	assert_int_equal(pd_mmap_get(&other, &r, &m), 0);
	assert_int_equal(m.build_id_len, 20);
	p[40] = 8; /* device 8:..., and more than 8 bytes that are not 0 */
	assert_int_equal(pd_mmap_get(&rec, &r, &m), 0);
	assert_int_equal(m.build_id_len, 0);
	memset(p + 52, 0, 12); /* or minor and inode of device 8 */
	assert_int_equal(pd_mmap_get(&rec, &r, &m), 0);
	assert_int_equal(m.build_id_len, 8);
	assert_int_equal(pd_mmap_get(&other, &r, &m), 0);
	assert_int_equal(m.build_id_len, 0);
	assert_int_equal(m.maj, 8);
}

static void features_have_names(void **state)
{
	(void)state;
	assert_string_equal(pd_feature_name(3), "HOSTNAME");
	assert_string_equal(pd_feature_name(31), "PMU_CAPS");
	assert_null(pd_feature_name(0));
	assert_null(pd_feature_name(255));
	assert_string_equal(pd_record_name(9), "SAMPLE");
	assert_string_equal(pd_record_name(83), "COMPRESSED2");
	assert_null(pd_record_name(0));
	assert_null(pd_record_name(63));
}

/* ---- records told while a large file is walked ---- */

#define LARGE_SAMPLES 1000000u /* 40 MB: mapped, and so with a thread ahead */

/* The file form with two events whose samples take turns, and COMM records; `feature`: a feature
 * comes as a record in the middle. */
static void put_large(struct buf *b, bool feature)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = 64,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD,
	};
	const uint64_t ids = 104, attrs = ids + 16, data = attrs + 2 * 80;

	buf_put(b, "PERFILE2", 8);
	put64(b, 104);
	put64(b, 80);
	put64(b, attrs);
	put64(b, 2 * (uint64_t)80);
	put64(b, data);
	put64(b, 0); /* the size: below */
	put64(b, 0);
	put64(b, 0);
	for (unsigned i = 0; i < 4; i++)
		put64(b, i ? 0 : 4); /* HOSTNAME, which is not there */
	put64(b, 100);
	put64(b, 101);
	for (unsigned i = 0; i < 2; i++) {
		a.config = i;
		buf_put(b, &a, 64);
		put64(b, ids + 8 * (uint64_t)i);
		put64(b, 8);
	}
	for (uint32_t i = 0; i < LARGE_SAMPLES; i++) {
		put_sample(b, 100 + (i / 1000 & 1), 1000 + i, i % 7);
		if (i % 100 < 3)
			put_comm(b, i);
		if (feature && i == LARGE_SAMPLES / 2) {
			put_head(b, PD_RECORD_FEATURE, 0, 16 + 4 + 8);
			put64(b, 3);
			put32(b, 8);
			buf_put(b, "elsewhe", 8);
		}
	}
	b->s[48] = 0;
	memcpy(b->s + 48, &(uint64_t){ b->len - data }, 8);
}

struct told {
	unsigned begun;
	uint64_t n, sum;
	uint64_t fail_at; /* 0: never */
};

static void tell(struct told *t, const struct pd_record *r)
{
	t->n++;
	t->sum = t->sum * 31 + r->seq + ld32(r->p + 8);
}

static int on_begin(void *ctx, const struct pd *rec, struct err *err)
{
	struct told *t = ctx;
	size_t n;

	(void)err;
	(void)pd_events(rec, &n);
	assert_int_equal(n, 2);
	t->begun++;
	t->n = t->sum = 0;
	return 0;
}

static int on_record(void *ctx, const struct pd *rec, const struct pd_record *r, struct err *err)
{
	struct told *t = ctx;

	(void)rec;
	tell(t, r);
	return t->n == t->fail_at ? err_set(err, ERR_LIMIT, "enough") : 0;
}

static int on_walk(void *ctx, const struct pd_record *r)
{
	tell(ctx, r);
	return 0;
}

/* What put_large wrote, but for `missing` samples at the end. */
static void check_counts(const struct pd *rec, uint32_t missing)
{
	uint64_t samples[2] = { 0 }, period[2] = { 0 }, first, last;
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (uint32_t i = 0; i < LARGE_SAMPLES - missing; i++) {
		samples[i / 1000 & 1]++;
		period[i / 1000 & 1] += i % 7;
	}
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ev[i].samples, samples[i]);
		assert_int_equal(ev[i].period, period[i]);
	}
	assert_true(pd_time_span(rec, &first, &last));
	assert_int_equal(first, 1000);
	assert_int_equal(last, 1000 + LARGE_SAMPLES - 1 - missing);
}

/* Whether all was told as pd_walk tells it. `cut`: bytes that the file lacks. */
static void feed_large(bool feature, size_t cut, unsigned begun)
{
	char path[] = "/tmp/cyclade-test-XXXXXX";
	struct told told = { 0 }, walked = { 0 };
	const struct pd_feed feed = { on_begin, on_record, &told };
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct pd *rec, *memory;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	put_large(&b, feature);
	b.len -= cut;
	assert_int_equal(write(fd, b.s, b.len), (ssize_t)b.len);
	(void)close(fd);
	assert_int_equal(pd_open_feed(&rec, path, &feed, &err), 0);
	assert_int_equal(pd_walk(rec, on_walk, &walked), 0);
	assert_int_equal(told.begun, begun);
	assert_int_equal(told.n, LARGE_SAMPLES / 100 * 3 + feature);
	assert_int_equal(told.n, walked.n);
	assert_int_equal(told.sum, walked.sum);
	assert_int_equal(noted(rec, "cut short"), cut != 0);
	memory = opened(&b);
	check_counts(rec, cut != 0);
	check_counts(memory, cut != 0);
	pd_close(memory);
	pd_close(rec);
	told = (struct told){ .fail_at = 20000 };
	assert_int_equal(pd_open_feed(&rec, path, &feed, &err), -1);
	assert_string_equal(err.what, "enough");
	(void)unlink(path);
	buf_free(&b);
}

static void told_while_walking(void **state)
{
	(void)state;
	feed_large(false, 0, 1);
	feed_large(false, 5, 1);
}

static void told_again_after_a_feature(void **state)
{
	(void)state;
	feed_large(true, 0, 2);
}

static void swap_bytes(struct buf *b, size_t at, size_t width, size_t n)
{
	for (; n--; at += width)
		for (size_t i = 0; i < width / 2; i++) {
			char low = b->s[at + i];

			b->s[at + i] = b->s[at + width - 1 - i];
			b->s[at + width - 1 - i] = low;
		}
}

/* What put_large wrote, as a machine of the other byte order writes it. */
static void put_large_foreign(struct buf *b)
{
	size_t at = 104;

	put_large(b, false);
	swap_bytes(b, 0, 8, 13);
	swap_bytes(b, at, 8, 2); /* ids */
	for (at += 16; at < 280; at += 80) {
		swap_bytes(b, at, 4, 2); /* type, size; the flags and what follows are 0 */
		swap_bytes(b, at + 8, 8, 9);
	}
	while (at < b->len) {
		unsigned size = ld16((const uint8_t *)b->s + at + 6);
		bool sample = ld32((const uint8_t *)b->s + at) == PERF_RECORD_SAMPLE;

		swap_bytes(b, at, 4, 1);
		swap_bytes(b, at + 4, 2, 2);
		swap_bytes(b, at + 8, sample ? 8 : 4, sample ? 4 : 2);
		at += size;
	}
}

/* The walk swaps bytes in place. The thread ahead of it must not read them meanwhile: the thread
 * sanitizer checks that. */
static void a_large_foreign_file_is_swapped(void **state)
{
	char path[] = "/tmp/cyclade-test-XXXXXX";
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct pd *rec;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	put_large_foreign(&b);
	assert_int_equal(write(fd, b.s, b.len), (ssize_t)b.len);
	(void)close(fd);
	assert_int_equal(pd_open(&rec, path, &err), 0);
	assert_true(pd_info(rec)->foreign_order);
	check_counts(rec, 0);
	pd_close(rec);
	(void)unlink(path);
	buf_free(&b);
}

/* A sample whose copy of the stack has `room` bytes, of which `used` are filled. */
static void put_copy(struct buf *b, uint64_t room, uint64_t used, unsigned more)
{
	size_t size = 8 + 16 + 8 + 8 * 2 + 8 + room + (room ? 8 : 0) + 8 * more;

	put_head(b, PERF_RECORD_SAMPLE, 2, (unsigned)size);
	put64(b, 0x401000);
	put32(b, 7);
	put32(b, 8);
	put64(b, 1000); /* TIME */
	put64(b, 2);	/* two registers' worth of abi */
	put64(b, 0x7fff1000);
	put64(b, room);
	for (uint64_t i = 0; i < room; i++)
		buf_putc(b, (char)(i * 37 + 1));
	if (room)
		put64(b, used);
	for (unsigned i = 0; i < more; i++)
		put64(b, 0xabcd0000 + i);
}

static void a_piece_of_stack_gets_shorter(void **state)
{
	static const uint64_t room[] = { 0, 8, 64, 16384, 65000 & ~UINT64_C(7) };

	(void)state;
	for (size_t k = 0; k < 2 * sizeof(room) / sizeof(*room); k++)
		for (uint64_t used = 0; used <= room[k / 2]; used += 1 + room[k / 2] / 97) {
			struct pd_event ev = {
				.attr = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							 PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
							 PERF_SAMPLE_STACK_USER |
							 (k & 1 ? PERF_SAMPLE_WEIGHT : 0),
					  .sample_regs_user = 1 << 7 }
			};
			static uint8_t out[UINT16_MAX + 1];
			struct buf b = BUF_INIT;
			struct pd_sample was, is;
			struct pd_record r, made;
			size_t n;

			pd_event_layout(&ev);
			put_copy(&b, room[k / 2], used, k & 1);
			r = (struct pd_record){ .p = (const uint8_t *)b.s,
						.size = (uint16_t)b.len,
						.type = PERF_RECORD_SAMPLE,
						.misc = 2 };
			assert_int_equal(pd_sample_parse_of(&ev, &r, &was), 0);
			n = pd_sample_short_stack(&ev, &r, out);
			assert_int_equal(n != 0, used + 7 < room[k / 2] && room[k / 2] > 8);
			if (n) {
				made = r;
				made.p = out;
				made.size = (uint16_t)n;
				assert_in_range(b.len - n, room[k / 2] - used - 8,
						room[k / 2] - used);
				assert_int_equal(out[6] | out[7] << 8, n);
				assert_int_equal(pd_sample_parse_of(&ev, &made, &is), 0);
				assert_true(was.has == is.has && was.ip == is.ip &&
					    was.time == is.time && was.tid == is.tid);
				assert_int_equal(was.stack_size, is.stack_size);
				assert_memory_equal(was.stack, is.stack, was.stack_size);
				assert_memory_equal(was.regs_user.v, is.regs_user.v, 8);
				assert_true(!(k & 1) ||
					    (was.weight == 0xabcd0000 && is.weight == was.weight));
			}
			/* cut off anywhere: as it is */
			made = r;
			made.size = 40;
			assert_int_equal(pd_sample_short_stack(&ev, &made, out), 0);
			buf_free(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_hold_every_record),
		cmocka_unit_test(samples_find_their_event),
		cmocka_unit_test(a_bad_size_ends_the_walk),
		cmocka_unit_test(a_piece_of_stack_gets_shorter),
		cmocka_unit_test(a_cut_record_is_told),
		cmocka_unit_test(a_short_sample_is_counted_not_used),
		cmocka_unit_test(a_wrong_claim_of_payload_is_told),
		cmocka_unit_test(what_is_no_recording_is_refused),
		cmocka_unit_test(a_large_file_is_mapped),
		cmocka_unit_test(a_flag_makes_no_build_id),
		cmocka_unit_test(features_have_names),
		cmocka_unit_test(told_while_walking),
		cmocka_unit_test(told_again_after_a_feature),
		cmocka_unit_test(a_large_foreign_file_is_swapped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
