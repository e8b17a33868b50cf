/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made, over its memory and over time: known content, by name, in the process
 * itself, in a child that was forked meanwhile, and after an exec. Every span is checked against
 * single answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/perf_abi.h"
#include "dump.h"
#include "symbol/space.h"
#include "tool.h"

static void write_dump(const char *path, uint64_t flags)
{
	struct buf b = BUF_INIT;
	FILE *f = fopen(path, "w");

	dump_header(&b, 5, flags);
	dump_load(&b, 20, 0x11000, 0x100, 1, "first");
	dump_load(&b, 40, 0x11000, 0x80, 2, "second");
	dump_move(&b, 60, 0x11000, 0x12000, 0x80, 2);
	assert_non_null(f);
	assert_int_equal(fwrite(b.s, 1, b.len, f), b.len);
	assert_int_equal(fclose(f), 0);
	buf_free(&b);
}

static void map_at(struct spaces *sp, uint64_t time, uint32_t pid, uint64_t start, uint64_t len,
		   const char *path)
{
	const struct space_map_fact f = { .time = time,
					  .pid = pid,
					  .tid = pid,
					  .start = start,
					  .len = len,
					  .misc = PERF_RECORD_MISC_USER,
					  .path = path };

	assert_int_equal(spaces_map(sp, &f, NULL), 0);
}

static struct spaces *story(struct images **images, const char *dump, bool monotonic)
{
	struct images_opts opts = { .perf_map_dir = "/nonexistent" };
	struct spaces *sp;

	*images = images_new(&opts, NULL);
	assert_non_null(*images);
	sp = spaces_new(*images, NULL);
	assert_non_null(sp);
	if (monotonic)
		spaces_monotonic(sp);
	map_at(sp, 10, 5, 0x10000, 0x10000, "//anon");
	map_at(sp, 12, 5, 0x90000, 0x1000, dump);
	map_at(sp, 30, 5, 0x10800, 0x80, "/a/file");
	assert_int_equal(spaces_fork(sp, 45, 6, 6, 5, 5, NULL), 0);
	/* a runtime protects its memory again and again */
	map_at(sp, 50, 5, 0x10000, 0x10000, "//anon");
	assert_int_equal(spaces_comm(sp, 80, 5, 5, true, "other", NULL), 0);
	map_at(sp, 85, 5, 0x10000, 0x10000, "//anon");
	spaces_finish(sp);
	return sp;
}

/* The name of the code, the path of the image where it has none, or "-". */
static const char *at(const struct spaces *sp, uint32_t pid, uint64_t time, uint64_t ip)
{
	struct images *images = spaces_images(sp);
	const struct map *m =
		space_find(sp, spaces_process(sp, pid, time), SPACE_USER, ip, time, NULL, NULL);
	const struct symbol *s;
	uint64_t addr;

	if (!m)
		return "-";
	addr = map_to_image(m, ip);
	image_resolve(images, m->image, &addr, 1, &s);
	return s ? s->name : image_path(images, m->image);
}

static void code_lies_over_memory(void **state)
{
	static const struct {
		uint32_t pid;
		uint64_t time, ip;
		const char *name;
	} rows[] = {
		{ 5, 15, 0x11000, "//anon" },
		{ 5, 20, 0x11000, "first" },
		{ 5, 39, 0x110ff, "first" },
		{ 5, 39, 0x11100, "//anon" },
		{ 5, 40, 0x11000, "second" },
		{ 5, 40, 0x11080, "first" },
		{ 5, 55, 0x11000, "second" },
		{ 5, 60, 0x11000, "//anon" },
		{ 5, 60, 0x12000, "second" },
		{ 5, 59, 0x12000, "//anon" },
		{ 5, 35, 0x10810, "/a/file" },
		/* the child has what was there at the fork */
		{ 6, 45, 0x11000, "second" },
		{ 6, 99, 0x11000, "second" },
		{ 6, 99, 0x11090, "first" },
		{ 6, 99, 0x12000, "//anon" },
		/* nothing of it after the exec */
		{ 5, 79, 0x12000, "second" },
		{ 5, 80, 0x12000, "-" },
		{ 5, 90, 0x12000, "//anon" },
		{ 5, 90, 0x11090, "//anon" },
	};
	struct images *images;
	struct spaces *sp;
	char dump[64];

	(void)state;
	(void)snprintf(dump, sizeof(dump), "%s/jit-5.dump", tool_dir);
	write_dump(dump, 0);
	sp = story(&images, dump, true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(at(sp, rows[i].pid, rows[i].time, rows[i].ip), rows[i].name) != 0)
			fail_msg("pid %u at %u, ip 0x%x: %s, not %s", rows[i].pid,
				 (unsigned)rows[i].time, (unsigned)rows[i].ip,
				 at(sp, rows[i].pid, rows[i].time, rows[i].ip), rows[i].name);
	spaces_free(sp);
	images_free(images);
}

static void spans_hold(void **state)
{
	struct images *images;
	struct spaces *sp;
	char dump[64];

	(void)state;
	(void)snprintf(dump, sizeof(dump), "%s/jit-5.dump", tool_dir);
	write_dump(dump, 0);
	sp = story(&images, dump, true);
	srand(3);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t ip = 0x10700 + (uint64_t)rand() % 0x1a00, t = (uint64_t)rand() % 100;
		const struct process *p = spaces_process(sp, 5 + i % 2, t);
		struct space_span s;
		const struct map *m = space_find_span(sp, p, SPACE_USER, ip, t, &s);

		assert_true(s.start <= ip && ip < s.end && s.from <= t && t < s.until);
		for (unsigned k = 0; k < 5; k++) {
			uint64_t end = s.end < 0x13000 ? s.end : 0x13000;
			uint64_t until = s.until < 120 ? s.until : 120;
			uint64_t ip2 = s.start + (uint64_t)rand() % (end - s.start);
			uint64_t t2 = s.from + (uint64_t)rand() % (until - s.from);

			assert_ptr_equal(space_find(sp, p, SPACE_USER, ip2, t2, NULL, NULL), m);
		}
	}
	spaces_free(sp);
	images_free(images);
}

/* Without a common clock, no name is made up by time. */
static void other_clocks_tell_nothing(void **state)
{
	char dump[64];

	(void)state;
	(void)snprintf(dump, sizeof(dump), "%s/jit-5.dump", tool_dir);
	for (int i = 0; i < 2; i++) {
		struct images *images;
		struct spaces *sp;

		write_dump(dump, i ? 1 : 0); /* the flag: times of a processor's counter */
		sp = story(&images, dump, i);
		assert_string_equal(at(sp, 5, 25, 0x11000), "//anon");
		assert_string_equal(at(sp, 5, 25, 0x12000),
				    "second"); /* what is there in the end */
		spaces_free(sp);
		images_free(images);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_lies_over_memory),
		cmocka_unit_test(spans_hold),
		cmocka_unit_test(other_clocks_tell_nothing),
	};

	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
