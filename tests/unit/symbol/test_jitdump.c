/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jitdump files made here, in both byte orders: known content, and random loads and moves against
 * a plain array of addresses that is replayed up to the time asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dump.h"
#include "symbol/image/jitdump.h"

static void lines(struct buf *b, uint64_t time, uint64_t at)
{
	dump_u32(b, 2);
	dump_u32(b, 16 + 16 + 16 + 5 + 16 + 2);
	dump_u64(b, time);
	dump_u64(b, at);
	dump_u64(b, 2);
	dump_u64(b, at);
	dump_u32(b, 7);
	dump_u32(b, 0);
	buf_put(b, "a.js", 5);
	dump_u64(b, at + 4);
	dump_u32(b, 8);
	dump_u32(b, 0);
	buf_put(b, "\xff", 2);
}

static const char *at(const struct jitdump *j, uint64_t addr, uint64_t time)
{
	const struct jit_code *c = jitdump_find(j, addr, time);

	return c ? c->name : "-";
}

static void code_is_told_by_time(void **state)
{
	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		struct buf b = BUF_INIT;
		struct jitdump j;
		const struct jit_code *c;

		dump_foreign = turn;
		dump_header(&b, 4711, 0);
		lines(&b, 1001, 0x1000);
		dump_load(&b, 1002, 0x1000, 0x20, 1, "first");
		dump_load(&b, 1010, 0x1010, 0x20, 2, "over");
		dump_load(&b, 1005, 0x5000, 0x10, 3, "late in the file");
		dump_move(&b, 1020, 0x5000, 0x6000, 0x10, 3);
		dump_move(&b, 1021, 0x9000, 0x9100, 0x10, 99);
		dump_u32(&b, 3);
		dump_u32(&b, 16);
		dump_u64(&b, 1030);
		assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
		assert_int_equal(j.pid, 4711);
		assert_int_equal(j.machine, 62);
		assert_int_equal(j.foreign_order, turn);
		assert_false(j.cut);
		assert_int_equal(j.n_bad, 1); /* moves what was never loaded */
		assert_string_equal(at(&j, 0x1010, 1001), "-");
		assert_string_equal(at(&j, 0x1010, 1002), "first");
		assert_string_equal(at(&j, 0x1010, 1010), "over");
		assert_string_equal(at(&j, 0x100f, 1010), "first");
		assert_string_equal(at(&j, 0x102f, 1009), "-");
		assert_string_equal(at(&j, 0x102f, UINT64_MAX), "over");
		assert_string_equal(at(&j, 0x5008, 1004), "-");
		assert_string_equal(at(&j, 0x5008, 1019), "late in the file");
		assert_string_equal(at(&j, 0x6008, 1019), "-");
		assert_string_equal(at(&j, 0x5008, 1020), "-");
		assert_string_equal(at(&j, 0x6008, 1020), "late in the file");
		c = jitdump_find(&j, 0x6008, 1020);
		assert_int_equal(c->loaded_at, 0x5000);
		assert_memory_equal(b.s + c->offset, "\x90\x90\x90\x90", 4);
		c = jitdump_find(&j, 0x1000, 1002);
		assert_int_equal(c->n_line, 2);
		assert_string_equal(c->line[1].file, "a.js");
		assert_int_equal(c->line[1].line, 8);
		assert_int_equal(c->line[1].addr, 0x1004);
		jitdump_free(&j);
		/* every cut gives what is whole before it, or no jitdump at all */
		for (size_t len = 0; len < b.len; len++) {
			char *copy = malloc(len ? len : 1);

			assert_non_null(copy);
			memcpy(copy, b.s, len);
			if (jitdump_parse(&j, copy, len, NULL))
				assert_true(len < 40);
			else
				jitdump_free(&j);
			free(copy);
		}
		buf_free(&b);
	}
	dump_foreign = false;
}

struct fact {
	uint64_t time, from, to, size, index;
	bool moved;
};

/* Which code lies at each address at `time`, by doing everything anew. */
static void replay(const struct fact *f, size_t n, uint64_t time, int *lies, size_t space)
{
	for (size_t a = 0; a < space; a++)
		lies[a] = -1;
	for (size_t i = 0; i < n && f[i].time <= time; i++) {
		if (f[i].moved)
			for (uint64_t a = f[i].from; a < f[i].from + f[i].size; a++)
				lies[a] = -1;
		for (uint64_t a = f[i].to; a < f[i].to + f[i].size; a++)
			lies[a] = (int)f[i].index;
	}
}

static void random_histories_agree_with_a_replay(void **state)
{
	enum { SPACE = 300, FACTS = 120 };

	(void)state;
	srand(3);
	for (int round = 0; round < 150; round++) {
		static struct fact fact[FACTS];
		struct buf b = BUF_INIT;
		struct jitdump j;
		uint64_t time = 1000, n_code = 0;

		dump_header(&b, 4711, 0);
		for (size_t i = 0; i < FACTS; i++) {
			struct fact *f = &fact[i];

			time += (uint64_t)(rand() % 3);
			f->time = time;
			f->moved = i && rand() % 4 == 0;
			f->to = (uint64_t)(rand() % (SPACE - 20));
			if (f->moved) {
				const struct fact *o = &fact[(size_t)rand() % i];

				/* where it was put last */
				for (size_t k = 0; k < i; k++)
					if (fact[k].index == o->index)
						f->from = fact[k].to, f->size = fact[k].size;
				f->index = o->index;
				dump_move(&b, time, f->from, f->to, f->size, f->index);
			} else {
				char name[24];

				f->size = 1 + (uint64_t)(rand() % 20);
				f->index = n_code++;
				(void)snprintf(name, sizeof(name), "%d", (int)f->index);
				dump_load(&b, time, f->to, (uint32_t)f->size, f->index, name);
			}
		}
		assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
		for (uint64_t t = 999; t < time + 2; t += 1 + (uint64_t)(rand() % 5)) {
			int lies[SPACE];

			replay(fact, FACTS, t, lies, SPACE);
			for (uint64_t a = 0; a < SPACE; a++) {
				const struct jit_code *c = jitdump_find(&j, a, t);

				assert_int_equal(c ? atoi(c->name) : -1, lies[a]);
			}
		}
		jitdump_free(&j);
		buf_free(&b);
	}
}

/* What span says of one place and moment must hold all over the span. */
static void spans_hold(void **state)
{
	enum { SPACE = 200, LOADS = 300 };
	struct buf b = BUF_INIT;
	struct jitdump j;
	unsigned wide = 0;

	(void)state;
	srand(7);
	dump_header(&b, 4711, 0);
	for (unsigned i = 0; i < LOADS; i++) {
		if (i % 5 == 4)
			dump_move(&b, 1000 + 3 * i, (uint64_t)(rand() % SPACE),
				  (uint64_t)(rand() % SPACE), 1 + (uint64_t)(rand() % 20),
				  (uint64_t)(rand() % (int)i));
		else
			dump_load(&b, 1000 + 3 * i, (uint64_t)(rand() % SPACE),
				  1 + (uint32_t)(rand() % 20), i, "x");
	}
	assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t a = (uint64_t)(rand() % (SPACE + 30)), t = 990 + (uint64_t)(rand() % 950);
		uint64_t start = 0, end = SPACE + 30, from = 0, until = 2000;
		const struct jit_code *c = jitdump_span(&j, a, t, &start, &end, &from, &until);

		assert_true(start <= a && a < end && from <= t && t < until);
		wide += end - start > 1 && until - from > 1;
		for (unsigned k = 0; k < 5; k++) {
			uint64_t a2 = start + (uint64_t)rand() % (end - start);
			uint64_t t2 = from + (uint64_t)rand() % (until - from);

			assert_ptr_equal(jitdump_find(&j, a2, t2), c);
		}
	}
	assert_true(wide > 1000);
	jitdump_free(&j);
	buf_free(&b);
}

/* Lines are of the code that is loaded next at their address, and of none after that. */
static void lines_are_of_one_load(void **state)
{
	static const struct {
		uint64_t at[3]; /* loads behind lines of 0x1000 */
		size_t n_line[3];
	} row[] = {
		{ { 0x1000, 0x2000, 0x3000 }, { 2, 0, 0 } },
		{ { 0x2000, 0x3000, 0x1000 }, { 0, 0, 2 } },
		{ { 0x2000, 0x1000, 0x1000 }, { 0, 2, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct buf b = BUF_INIT;
		struct jitdump j;

		dump_header(&b, 4711, 0);
		lines(&b, 1001, 0x1000);
		for (uint64_t k = 0; k < 3; k++)
			dump_load(&b, 1002 + k, row[i].at[k], 0x20, k, "x");
		dump_move(&b, 1010, row[i].at[2], 0x9000, 0x20, 2); /* they go with it */
		assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
		assert_int_equal(j.n_bad, 0);
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(j.code.v[k].n_line, row[i].n_line[k < 3 ? k : 2]);
		assert_true(j.code.v[3].moved && !j.code.v[2].moved);
		assert_int_equal(j.code.v[3].from, row[i].at[2]);
		jitdump_free(&j);
		buf_free(&b);
	}
}

/* Of code that moves in part, that part is gone from where it was; more than all cannot move. */
static void moves_of_another_size(void **state)
{
	struct buf b = BUF_INIT;
	struct jitdump j;

	(void)state;
	dump_header(&b, 4711, 0);
	dump_load(&b, 1000, 0x1000, 0x20, 1, "part");
	dump_load(&b, 1001, 0x2000, 0x20, 2, "more");
	dump_move(&b, 1002, 0x1000, 0x5000, 0x10, 1);
	dump_move(&b, 1003, 0x2000, 0x6000, 0x40, 2);
	assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
	assert_string_equal(at(&j, 0x1000, 1001), "part");
	assert_string_equal(at(&j, 0x1000, 1002), "-");
	assert_string_equal(at(&j, 0x100f, 1002), "-");
	assert_string_equal(at(&j, 0x1010, 1002), "part");
	assert_string_equal(at(&j, 0x500f, 1002), "part");
	assert_string_equal(at(&j, 0x5010, 1002), "-");
	assert_string_equal(at(&j, 0x601f, 1003), "more");
	assert_string_equal(at(&j, 0x6020, 1003), "-");
	jitdump_free(&j);
	buf_free(&b);
}

static void put_record(struct buf *b, uint32_t id, const uint64_t *word, size_t n, const char *more,
		       size_t size)
{
	dump_u32(b, id);
	dump_u32(b, (uint32_t)(16 + 8 * n + size));
	dump_u64(b, 1000);
	for (size_t i = 0; i < n; i++)
		dump_u64(b, word[i]);
	buf_put(b, more, size);
}

/* Writers with several threads put records out of order: the later one by its time lies on top. */
static void order_is_by_time(void **state)
{
	static const uint64_t time[4] = { 1010, 1005, 1020, 1015 };
	struct buf b = BUF_INIT;
	struct jitdump j;

	(void)state;
	dump_header(&b, 4711, 0);
	for (uint64_t i = 0; i < 4; i++) {
		const char name[] = { (char)('a' + i), 0 };

		dump_load(&b, time[i], 0x1000, 0x20, i, name);
	}
	assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
	assert_string_equal(at(&j, 0x1000, 1004), "-");
	assert_string_equal(at(&j, 0x1000, 1005), "b");
	assert_string_equal(at(&j, 0x1000, 1014), "a");
	assert_string_equal(at(&j, 0x1000, 1015), "d");
	assert_string_equal(at(&j, 0x1000, 1020), "c");
	jitdump_free(&j);
	buf_free(&b);
}

/* What contradicts itself is counted and left out, and what stands behind it is not. */
static void bad_records(void **state)
{
	static const struct {
		uint32_t id;
		size_t n, size;
		uint64_t word[6];
		const char *more;
		size_t bad;
	} row[] = {
		/* pid and tid, vma, address, size, number; name and code */
		{ 0, 5, 6, { 1, 0, 0x8000, 4, 9 }, "x\0abcd", 0 },
		{ 0, 5, 6, { 1, 0, 0x8000, 5, 9 }, "x\0abcd", 1 },
		{ 0, 5, 6, { 1, 0, 0x8000, 0, 9 }, "x\0abcd", 1 },
		{ 0, 5, 6, { 1, 0, UINT64_MAX - 4, 4, 9 }, "x\0abcd", 0 },
		{ 0, 5, 6, { 1, 0, UINT64_MAX - 3, 4, 9 }, "x\0abcd", 1 },
		/* pid and tid, vma, from, to, size, number */
		{ 1, 6, 0, { 1, 0, 0x1000, 0x8000, 4, 1 }, "", 0 },
		{ 1, 6, 0, { 1, 0, 0x1000, 0x8000, 0, 1 }, "", 1 },
		{ 1, 6, 0, { 1, 0, 0x1000, 0x8000, 4, 2 }, "", 1 },
		{ 1, 5, 0, { 1, 0, 0x1000, 0x8000, 4 }, "", 1 },
		{ 1, 6, 0, { 1, 0, 0x1000, UINT64_MAX - 4, 4, 1 }, "", 0 },
		{ 1, 6, 0, { 1, 0, 0x1000, UINT64_MAX - 3, 4, 1 }, "", 1 },
		/* address, number of lines; address, line and discriminator, file */
		{ 2, 4, 2, { 0x8000, 1, 0x8000, 7 }, "f", 0 },
		{ 2, 4, 1, { 0x8000, 1, 0x8000, 7 }, "f", 1 },
		{ 2, 4, 2, { 0x8000, 2, 0x8000, 7 }, "f", 1 },
		{ 2, 1, 0, { 0x8000 }, "", 1 },
		{ 3, 0, 0, { 0 }, "", 0 },
		{ 4, 2, 0, { 1, 2 }, "", 0 },
		{ 5, 2, 0, { 1, 2 }, "", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct buf b = BUF_INIT;
		struct jitdump j;

		dump_header(&b, 4711, 0);
		dump_load(&b, 999, 0x1000, 0x20, 1, "before");
		put_record(&b, row[i].id, row[i].word, row[i].n, row[i].more, row[i].size);
		dump_load(&b, 1001, 0x3000, 0x20, 3, "behind");
		assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
		if (j.n_bad != row[i].bad)
			fail_msg("record %zu: %zu are bad", i, j.n_bad);
		assert_false(j.cut);
		assert_string_equal(at(&j, 0x3000, 1001), "behind");
		assert_string_equal(at(&j, 0x101f, 1001), "before");
		jitdump_free(&j);
		buf_free(&b);
	}
}

static void what_is_none_is_refused(void **state)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	struct jitdump j;
	uint32_t pid;

	(void)state;
	assert_int_equal(jitdump_parse(&j, "ELF", 3, &err), -1);
	assert_int_equal(err.code, ERR_FORMAT);
	dump_header(&b, 4711, 1);
	assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), 0);
	assert_true(j.arch_time);
	assert_null(jitdump_find(&j, 0, UINT64_MAX));
	jitdump_free(&j);
	b.s[4] = 2;
	assert_int_equal(jitdump_parse(&j, b.s, b.len, NULL), -1);
	buf_free(&b);
	assert_true(jitdump_path_pid("/root/.debug/jit/x/jit-4711.dump", &pid));
	assert_int_equal(pid, 4711);
	assert_true(jitdump_path_pid("/jit-1.dump", &pid));
	assert_true(jitdump_path_pid("/jit-4294967295.dump", &pid));
	assert_int_equal(pid, UINT32_MAX);
	assert_false(jitdump_path_pid("/jit-4294967296.dump", &pid));
	assert_false(jitdump_path_pid("/jot-1.dump", &pid));
	assert_false(jitdump_path_pid("/jit-1x.dump", &pid));
	assert_false(jitdump_path_pid("jit-1.dump", &pid));
	assert_false(jitdump_path_pid("/tmp/jit-.dump", &pid));
	assert_false(jitdump_path_pid("/tmp/jit-1.dump.old", &pid));
	assert_false(jitdump_path_pid("/tmp/jit-99999999999.dump", &pid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_told_by_time),
		cmocka_unit_test(random_histories_agree_with_a_replay),
		cmocka_unit_test(spans_hold),
		cmocka_unit_test(lines_are_of_one_load),
		cmocka_unit_test(moves_of_another_size),
		cmocka_unit_test(order_is_by_time),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(what_is_none_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
