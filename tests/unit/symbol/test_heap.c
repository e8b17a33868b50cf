/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of allocations made here: known content, and random programs of several processes against a
 * list of all that ever lived, which is searched from one end to the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "symbol/heap.h"
#include "symbol/heap_log.h"

static void chunk(struct buf *b, uint32_t pid, uint64_t began, uint32_t parent, uint32_t flags,
		  uint64_t rate)
{
	struct heap_chunk c = { .magic = HEAP_MAGIC,
				.size = HEAP_CHUNK_LEAST,
				.pid = pid,
				.parent = parent,
				.flags = flags | HEAP_NO_TICKS,
				.began = began,
				.ns = began,
				.rate = rate };

	buf_put(b, &c, sizeof(c));
}

/* The rest of the chunk that begins at `from`. */
static void fill(struct buf *b, size_t from)
{
	buf_fill(b, '\0', HEAP_CHUNK_LEAST - (b->len - from));
}

static void put(struct buf *b, enum heap_record type, uint64_t address, uint64_t time,
		uint64_t size)
{
	buf_put_u64(b, heap_head(type, address));
	if (type == HEAP_FREED)
		return;
	buf_put_u64(b, time);
	if (type != HEAP_FREE && type != HEAP_RATE)
		buf_put_u64(b, (type == HEAP_UNMAP ? 0 : UINT64_C(7) << 40) | size);
}

static struct heap *read_all(const struct buf *b)
{
	struct buf packed = BUF_INIT;
	struct heap *h;

	heap_log_pack(&packed, b->s, b->len);
	assert_true(packed.len <= b->len);
	h = heap_read(packed.s, packed.len);
	buf_free(&packed);
	return h;
}

static uint64_t start_of(const struct heap *h, uint32_t pid, uint64_t address, uint64_t time)
{
	enum heap_why why;
	const struct heap_object *o = heap_find(h, pid, address, time, &why);

	assert_true(!o == (why != HEAP_FOUND));
	return o ? o->start : 0;
}

static void objects_live_from_one_call_to_the_other(void **state)
{
	struct buf b = BUF_INIT;
	struct heap *h;
	enum heap_why why;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_MAP, 0x10000, 110, 0x10000);
	put(&b, HEAP_ALLOC, 0x10100, 120, 0x40);
	put(&b, HEAP_FREE, 0x10100, 130, 0);
	put(&b, HEAP_ALLOC, 0x10100, 140, 0x20);
	put(&b, HEAP_ALLOC, 0x10140, 141, 0x5000);
	put(&b, HEAP_UNMAP, 0x14000, 150, 0x2000);
	put(&b, HEAP_STACK, 0x90000, 160, 0x8000);
	fill(&b, 0);
	h = read_all(&b);
	assert_int_equal(start_of(h, 10, 0x10120, 119), 0x10000);
	assert_int_equal(start_of(h, 10, 0x1013f, 120), 0x10100);
	assert_int_equal(start_of(h, 10, 0x10140, 120), 0x10000);
	assert_int_equal(start_of(h, 10, 0x10120, 130), 0x10000);
	assert_int_equal(start_of(h, 10, 0x1011f, 140), 0x10100);
	assert_int_equal(start_of(h, 10, 0x10120, 140), 0x10000);
	assert_int_equal(start_of(h, 10, 0x14800, 149), 0x10140);
	assert_int_equal(start_of(h, 10, 0x15800, 149), 0x10000);
	assert_int_equal(start_of(h, 10, 0x15800, 150), 0);
	assert_int_equal(start_of(h, 10, 0x16000, 150), 0x16000);
	assert_int_equal(start_of(h, 10, 0x90001, 159), 0);
	assert_int_equal(start_of(h, 10, 0x90001, 160), 0x90000);
	assert_int_equal(heap_find(h, 10, 0x90001, 160, &why)->tid, 7);
	assert_null(heap_find(h, 10, 0xa0000, 160, &why));
	assert_int_equal(why, HEAP_NO_OBJECT);
	assert_null(heap_find(h, 10, 0x10120, 99, &why));
	assert_int_equal(why, HEAP_NO_LOG);
	assert_null(heap_find(h, 11, 0x10120, 140, &why));
	assert_int_equal(why, HEAP_NO_LOG);
	heap_free(h);
	buf_free(&b);
}

static void a_release_without_a_time_has_the_next_ones(void **state)
{
	struct buf b = BUF_INIT;
	size_t at;
	struct heap *h;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_ALLOC, 0x1000, 110, 64);
	put(&b, HEAP_ALLOC, 0x2000, 111, 64);
	put(&b, HEAP_ALLOC, 0x3000, 112, 64);
	put(&b, HEAP_FREED, 0x1000, 0, 0);
	put(&b, HEAP_FREED, 0x2000, 0, 0);
	put(&b, HEAP_ALLOC, 0x1000, 120, 32);
	put(&b, HEAP_FREED, 0x1000, 0, 0);
	put(&b, HEAP_FREED, 0x3000, 0, 0);
	put(&b, HEAP_FREE, 0x5000, 140, 0);
	fill(&b, 0);
	at = b.len;
	chunk(&b, 10, 100, 1, 0, 1); /* of another thread, which got it in between */
	put(&b, HEAP_ALLOC, 0x3000, 130, 128);
	fill(&b, at);
	h = read_all(&b);
	assert_int_equal(start_of(h, 10, 0x1030, 119), 0x1000);
	assert_int_equal(start_of(h, 10, 0x2000, 119), 0x2000);
	assert_int_equal(start_of(h, 10, 0x2000, 120), 0);
	assert_int_equal(start_of(h, 10, 0x1030, 120), 0);
	assert_int_equal(start_of(h, 10, 0x1010, 139), 0x1000);
	assert_int_equal(start_of(h, 10, 0x1010, 140), 0);
	assert_int_equal(start_of(h, 10, 0x3070, 129), 0);
	assert_int_equal(start_of(h, 10, 0x3070, 130), 0x3000);
	assert_int_equal(start_of(h, 10, 0x3070, 999), 0x3000);
	heap_free(h);
	buf_free(&b);
}

static void the_last_releases_of_a_chunk_end_their_objects(void **state)
{
	struct buf b = BUF_INIT;
	size_t at;
	struct heap *h;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_ALLOC, 0x1000, 110, 0x5000);
	put(&b, HEAP_ALLOC, 0x8000, 120, 64);
	put(&b, HEAP_FREED, 0x1000, 0, 0);
	put(&b, HEAP_FREED, 0x8000, 0, 0);
	fill(&b, 0);
	at = b.len;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_ALLOC, 0x8000, 130, 64);
	fill(&b, at);
	h = read_all(&b);
	assert_int_equal(start_of(h, 10, 0x2000, 119), 0x1000);
	assert_int_equal(start_of(h, 10, 0x2000, 121), 0);
	assert_int_equal(start_of(h, 10, 0x2000, 140), 0);
	assert_int_equal(start_of(h, 10, 0x8000, 129), 0);
	assert_int_equal(start_of(h, 10, 0x8000, 130), 0x8000);
	heap_free(h);
	buf_free(&b);
}

static void children_have_what_their_parents_had(void **state)
{
	struct buf b = BUF_INIT;
	size_t at;
	struct heap *h;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_ALLOC, 0x1000, 110, 0x100);
	put(&b, HEAP_ALLOC, 0x2000, 110, 0x100);
	put(&b, HEAP_FREE, 0x1000, 200, 0);
	put(&b, HEAP_ALLOC, 0x3000, 210, 0x100);
	fill(&b, 0);
	at = b.len;
	chunk(&b, 11, 150, 10, HEAP_FORKED, 1);
	put(&b, HEAP_FREE, 0x2000, 300, 0);
	fill(&b, at);
	at = b.len;
	chunk(&b, 11, 400, 10, 0, 1); /* it executes another program */
	put(&b, HEAP_ALLOC, 0x5000, 410, 0x100);
	fill(&b, at);
	h = read_all(&b);
	assert_int_equal(start_of(h, 11, 0x1010, 250), 0x1000);
	assert_int_equal(start_of(h, 10, 0x1010, 250), 0);
	assert_int_equal(start_of(h, 11, 0x2010, 299), 0x2000);
	assert_int_equal(start_of(h, 11, 0x2010, 300), 0);
	assert_int_equal(start_of(h, 10, 0x2010, 300), 0x2000);
	assert_int_equal(start_of(h, 11, 0x3010, 350), 0);
	assert_int_equal(start_of(h, 11, 0x1010, 405), 0);
	assert_int_equal(start_of(h, 11, 0x5010, 410), 0x5000);
	heap_free(h);
	buf_free(&b);
}

/* Of the recording: who was forked when, and who executed a program. A child's log begins with its
 * first call, long after, or never. */
static void children_have_what_was_there_when_they_were_forked(void **state)
{
	struct buf b = BUF_INIT;
	enum heap_why why;
	size_t at, n;
	struct heap *h;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	put(&b, HEAP_ALLOC, 0x1000, 110, 0x100);
	put(&b, HEAP_ALLOC, 0x2000, 110, 0x100);
	put(&b, HEAP_FREE, 0x1000, 200, 0);
	put(&b, HEAP_ALLOC, 0x3000, 210, 0x100);
	fill(&b, 0);
	at = b.len;
	chunk(&b, 11, 250, 10, HEAP_FORKED, 1); /* forked at 150 */
	put(&b, HEAP_FREED, 0x2000, 0, 0);
	put(&b, HEAP_ALLOC, 0x4000, 260, 0x100);
	fill(&b, at);
	h = read_all(&b);
	heap_began(h, 10, 90, HEAP_EXECUTED);
	heap_began(h, 14, 170, 12); /* a child of a child */
	heap_began(h, 13, 180, 10);
	heap_began(h, 13, 190, HEAP_EXECUTED);
	heap_began(h, 12, 160, 10);
	heap_began(h, 11, 150, 10);
	heap_began(h, 11, 500, 10); /* another one of that number */
	heap_linked(h);
	assert_int_equal(start_of(h, 11, 0x1010, 220), 0x1000); /* before its log begins */
	assert_int_equal(start_of(h, 11, 0x1010, 300), 0x1000);
	assert_int_equal(start_of(h, 11, 0x3010, 300), 0);
	assert_int_equal(start_of(h, 11, 0x2010, 259), 0x2000);
	assert_int_equal(start_of(h, 11, 0x2010, 260), 0);
	assert_int_equal(start_of(h, 11, 0x4010, 260), 0x4000);
	assert_int_equal(start_of(h, 11, 0x4010, 500), 0);
	assert_int_equal(start_of(h, 11, 0x3010, 500), 0x3000);
	for (uint32_t pid = 12; pid <= 14; pid += 2) { /* without logs */
		assert_int_equal(start_of(h, pid, 0x1010, 400), 0x1000);
		assert_int_equal(start_of(h, pid, 0x3010, 400), 0);
		assert_null(heap_find(h, pid, 0x9000, 400, &why));
		assert_int_equal(why, HEAP_NO_OBJECT);
	}
	assert_int_equal(start_of(h, 13, 0x1010, 185), 0x1000);
	assert_null(heap_find(h, 13, 0x1010, 195, &why));
	assert_int_equal(why, HEAP_NO_LOG);
	(void)heap_objects(h, &n);
	assert_int_equal(n, 4); /* a release is none */
	heap_free(h);
	buf_free(&b);
}

static void a_rate_ends_what_is_not_logged(void **state)
{
	struct buf b = BUF_INIT;
	enum heap_why why;
	struct heap *h;
	unsigned kept = 0;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	for (uint64_t i = 0; i < 256; i++)
		put(&b, HEAP_ALLOC, 0x10000 + 64 * i, 110, 64);
	put(&b, HEAP_ALLOC, 0x100000, 111, HEAP_BIG);
	put(&b, HEAP_RATE, 16, 120, 0);
	fill(&b, 0);
	h = read_all(&b);
	for (uint64_t i = 0; i < 256; i++) {
		uint64_t a = 0x10000 + 64 * i;
		bool live = heap_find(h, 10, a, 125, &why);

		assert_int_equal(start_of(h, 10, a, 119), a);
		assert_int_equal(live, heap_logged(a, 16));
		assert_true(live || why == HEAP_SAMPLED);
		kept += live;
	}
	assert_in_range(kept, 4, 40);
	assert_int_equal(start_of(h, 10, 0x100000, 125), 0x100000);
	assert_int_equal(heap_facts(h)->rate, 16);
	heap_free(h);
	buf_free(&b);
}

/* ---- against a list ------------------------------------------------------------------------ */

enum { PLACES = 300, STEPS = 2000, LIVED = 4000 };

struct lived {
	uint64_t start, size, from, until;
};

static const struct lived *search(const struct lived *v, size_t n, uint64_t address, uint64_t time)
{
	for (size_t i = n; i--;)
		if (address >= v[i].start && address - v[i].start < v[i].size &&
		    time >= v[i].from && time < v[i].until)
			return &v[i];
	return NULL;
}

static bool is_free(const struct lived *v, size_t n, uint64_t start, uint64_t size)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].until == UINT64_MAX && v[i].start < start + size &&
		    start < v[i].start + v[i].size)
			return false;
	return true;
}

/* Two chunks as two threads fill them, in an order that is none of time. */
static void random_objects_are_found(void **state)
{
	static struct lived v[LIVED];
	size_t n = 0;
	struct buf half[2] = { BUF_INIT, BUF_INIT };
	struct heap *h;

	(void)state;
	srand(1);
	for (int i = 0; i < 2; i++)
		chunk(&half[i], 10, 100, 1, 0, 1);
	for (uint64_t t = 101; t < 101 + STEPS; t++) {
		struct buf *b = &half[rand() % 2];
		uint64_t size = rand() % 8 ? 1 + (uint64_t)rand() % 300 : (uint64_t)rand() % 70000;
		uint64_t start = 0x10000 + 16 * (uint64_t)(rand() % (PLACES * 16));
		size_t which = n ? (size_t)rand() % n : 0;

		if (b->len + 24 > HEAP_CHUNK_LEAST)
			continue;
		if (n && rand() % 2 && v[which].until == UINT64_MAX) {
			put(b, HEAP_FREE, v[which].start, t, 0);
			v[which].until = t;
		} else if (is_free(v, n, start, size)) {
			put(b, HEAP_ALLOC, start, t, size);
			v[n++] = (struct lived){ start, size, t, UINT64_MAX };
		}
	}
	for (int i = 0; i < 2; i++)
		fill(&half[i], 0);
	buf_put(&half[1], half[0].s, half[0].len);
	h = read_all(&half[1]);
	assert_true(n > 300);
	for (int i = 0; i < 200000; i++) {
		uint64_t a = 0x10000 + (uint64_t)rand() % (PLACES * 256 + 5000);
		uint64_t t = 100 + (uint64_t)rand() % (STEPS + 10);
		const struct lived *l = search(v, n, a, t);

		assert_int_equal(start_of(h, 10, a, t), l ? l->start : 0);
	}
	heap_free(h);
	for (int i = 0; i < 2; i++)
		buf_free(&half[i]);
}

static void ticks_become_the_recordings_time(void **state)
{
	struct buf b = BUF_INIT;
	struct heap_chunk c = { .magic = HEAP_MAGIC, .size = sizeof(c), .rate = 1 };
	struct heap *h;

	(void)state;
	c.ticks = 1000000;
	c.ns = 5000;
	buf_put(&b, &c, sizeof(c));
	c.ticks = 4000000;
	c.ns = 1005000;
	buf_put(&b, &c, sizeof(c));
	c = (struct heap_chunk){ .magic = HEAP_MAGIC,
				 .size = sizeof(c) + 24,
				 .pid = 10,
				 .rate = 1,
				 .began = 5000,
				 .ticks = 2500000,
				 .ns = 505000 };
	buf_put(&b, &c, sizeof(c));
	put(&b, HEAP_ALLOC, 0x1000, 2800000, 16);
	h = read_all(&b);
	assert_int_equal(start_of(h, 10, 0x1000, 604990), 0);
	assert_int_equal(start_of(h, 10, 0x1000, 605010), 0x1000);
	heap_free(h);
	buf_free(&b);
}

/* What the logs have in common, added up. */
static void facts_are_those_of_all_logs(void **state)
{
	(void)state;
	for (unsigned cut = 0; cut < 2; cut++) {
		const struct heap_facts *f;
		struct buf b = BUF_INIT;
		enum heap_why why;
		struct heap *h;
		uint64_t lost[] = { 3, 0, 5 };

		for (uint32_t i = 0; i < 3; i++) {
			static const uint32_t flags[] = { HEAP_OWN, 0, HEAP_TABLES };
			size_t from = b.len;

			chunk(&b, 10 + i, 100, 1, flags[i], cut && i == 1 ? 4 : 1);
			memcpy(b.s + from + offsetof(struct heap_chunk, not_logged), &lost[i],
			       sizeof(((struct heap_chunk *)0)->not_logged));
			put(&b, HEAP_ALLOC, 0x10000, 110, 0x40);
			put(&b, HEAP_ALLOC, 0x20000, 111, 0x40);
			fill(&b, from);
		}
		h = read_all(&b);
		f = heap_facts(h);
		assert_int_equal(f->not_logged, 8);
		assert_int_equal(f->processes, 3);
		assert_int_equal(f->objects, 6);
		assert_int_equal(f->own, 1);
		assert_int_equal(f->tables, 1);
		assert_int_equal(f->rate, cut ? 4 : 1);
		/* from its beginning on, and what it may have left out is no surprise */
		assert_null(heap_find(h, 11, 0x30000, 99, &why));
		assert_int_equal(why, HEAP_NO_LOG);
		assert_null(heap_find(h, 11, 0x30000, 100, &why));
		assert_int_equal(why, cut ? HEAP_SAMPLED : HEAP_NO_OBJECT);
		assert_null(heap_find(h, 10, 0x30000, 100, &why));
		assert_int_equal(why, HEAP_OWN_LOG);
		assert_null(heap_find(h, 12, 0x30000, 100, &why));
		assert_int_equal(why, HEAP_SAMPLED);
		assert_non_null(heap_find(h, 12, 0x1003f, 110, &why));
		assert_int_equal(why, HEAP_FOUND);
		heap_free(h);
		buf_free(&b);
	}
}

/* A child frees what its parent allocated, in any order: it is gone in the child alone. */
static void children_free_what_their_parents_had(void **state)
{
	static const uint64_t freed[] = { 0x3000, 0x1000, 0x2000 };
	struct buf b = BUF_INIT;
	struct heap *h;
	size_t from;

	(void)state;
	chunk(&b, 10, 100, 1, 0, 1);
	for (uint64_t i = 1; i <= 3; i++)
		put(&b, HEAP_ALLOC, 0x1000 * i, 110 + i, 0x40);
	fill(&b, 0);
	from = b.len;
	chunk(&b, 11, 200, 10, HEAP_FORKED, 1);
	for (uint64_t i = 0; i < 3; i++)
		put(&b, HEAP_FREE, freed[i], 210 + 10 * i, 0);
	fill(&b, from);
	h = read_all(&b);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t at = freed[i] + 0x10;

		assert_int_equal(start_of(h, 10, at, 900), freed[i]);
		assert_int_equal(start_of(h, 11, at, 209 + 10 * i), freed[i]);
		assert_int_equal(start_of(h, 11, at, 210 + 10 * i), 0);
		assert_int_equal(start_of(h, 11, at, 900), 0);
	}
	heap_free(h);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_live_from_one_call_to_the_other),
		cmocka_unit_test(a_release_without_a_time_has_the_next_ones),
		cmocka_unit_test(the_last_releases_of_a_chunk_end_their_objects),
		cmocka_unit_test(children_have_what_their_parents_had),
		cmocka_unit_test(children_have_what_was_there_when_they_were_forked),
		cmocka_unit_test(a_rate_ends_what_is_not_logged),
		cmocka_unit_test(random_objects_are_found),
		cmocka_unit_test(facts_are_those_of_all_logs),
		cmocka_unit_test(children_free_what_their_parents_had),
		cmocka_unit_test(ticks_become_the_recordings_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
