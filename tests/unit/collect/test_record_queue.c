/* SPDX-License-Identifier: BSD-3-Clause */
/* A sink that is slow, or fails, behind a queue: it gets all bytes and rounds, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/counters/record_queue.h"

enum { ROUNDS = 40 };

/* Bytes count up by 1 modulo 251; a round comes behind the bytes that `ends` has. */
struct slow {
	uint64_t bytes, ends[ROUNDS], most_late;
	size_t rounds, fail_at; /* SIZE_MAX: never */
	const _Atomic uint64_t *put;
	bool wrong, failed;
};

static int take(void *ctx, const void *p, size_t len, struct err *err)
{
	struct slow *s = ctx;
	const unsigned char *at = p;
	uint64_t late = *s->put - s->bytes;

	for (size_t i = 0; i < len; i++)
		s->wrong |= at[i] != (s->bytes + i) % 251;
	s->bytes += len;
	s->most_late = late > s->most_late ? late : s->most_late;
	if (s->rounds >= s->fail_at)
		return err_set(err, ERR_FORMAT, "planted");
	(void)nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	return 0;
}

static int end_round(void *ctx, struct err *err)
{
	struct slow *s = ctx;

	(void)err;
	s->wrong |= s->rounds >= ROUNDS || s->bytes != s->ends[s->rounds];
	s->rounds++;
	return 0;
}

static void give_up(void *ctx)
{
	((struct slow *)ctx)->failed = true;
}

static unsigned char bytes[3 << 20];

/* Puts ROUNDS rounds of differently many bytes; what the last call returned. */
static int put_all(struct record_queue *q, struct slow *s, _Atomic uint64_t *put, struct err *err)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t n = i % 5 == 3 ? 0 : i * i * 1499 % sizeof(bytes);

		for (size_t k = 0; k < n; k++)
			bytes[k] = (unsigned char)((*put + k) % 251);
		s->ends[i] = *put + n;
		*put += n;
		if (record_queue_data(q, bytes, n / 3, err) ||
		    record_queue_data(q, bytes + n / 3, n - n / 3, err) ||
		    record_queue_round(q, err))
			return -1;
	}
	return 0;
}

static void check(size_t most)
{
	_Atomic uint64_t put = 0;
	struct slow s = { .fail_at = SIZE_MAX, .put = &put };
	const struct recorder_sink sink = {
		.data = take, .round = end_round, .failed = give_up, .ctx = &s
	};
	struct err err = ERR_INIT;
	struct record_queue *q;

	assert_int_equal(record_queue_start(&q, &sink, most, &err), 0);
	assert_int_equal(put_all(q, &s, &put, &err), 0);
	assert_int_equal(record_queue_end(q, &err), 0);
	assert_false(s.wrong || s.failed);
	assert_int_equal(s.bytes, put);
	assert_int_equal(s.rounds, ROUNDS);
	/* what waits, what is read, what is being put */
	assert_true(s.most_late <= most + 2 * RECORD_QUEUE_BLOCK + sizeof(bytes));
	record_queue_free(q);
}

static void test_slow_sink(void **state)
{
	(void)state;
	check((size_t)1 << 30);
	check((size_t)4 << 20);
	check(0);
}

static void test_failure(void **state)
{
	_Atomic uint64_t put = 0;
	struct slow s = { .fail_at = 7, .put = &put };
	const struct recorder_sink sink = {
		.data = take, .round = end_round, .failed = give_up, .ctx = &s
	};
	struct err err = ERR_INIT, again = ERR_INIT;
	struct record_queue *q;

	(void)state;
	assert_int_equal(record_queue_start(&q, &sink, 0, &err), 0);
	if (put_all(q, &s, &put, &again))
		assert_string_equal(again.what, "planted");
	assert_int_equal(record_queue_end(q, &err), -1);
	assert_string_equal(err.what, "planted");
	assert_true(s.failed && !s.wrong);
	assert_int_equal(record_queue_end(q, &err), 0); /* once */
	record_queue_free(q);
	record_queue_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_sink),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
