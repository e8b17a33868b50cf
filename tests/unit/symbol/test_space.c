/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address spaces over time against a second implementation that keeps all facts and answers each
 * question by going through them, newest first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/perf_abi.h"
#include "symbol/image/pieces.h"
#include "symbol/space.h"

static struct spaces *begin(struct images **images)
{
	struct images_opts opts = { 0 };
	struct err err = ERR_INIT;
	struct spaces *sp;

	*images = images_new(&opts, &err);
	assert_non_null(*images);
	sp = spaces_new(*images, &err);
	assert_non_null(sp);
	return sp;
}

static void end(struct spaces *sp, struct images *images)
{
	spaces_free(sp);
	images_free(images);
}

static void map_at(struct spaces *sp, uint64_t time, uint32_t pid, uint64_t start, uint64_t len,
		   uint64_t pgoff, const char *path)
{
	struct space_map_fact f = { .time = time,
				    .pid = pid,
				    .tid = pid,
				    .start = start,
				    .len = len,
				    .pgoff = pgoff,
				    .misc = PERF_RECORD_MISC_USER,
				    .path = path };

	assert_int_equal(spaces_map(sp, &f, NULL), 0);
}

/* "path+offset" of what (pid, time, ip) is in, or "-". */
static const char *at(const struct spaces *sp, uint32_t pid, uint64_t time, uint64_t ip)
{
	static char text[128];
	uint64_t from, until;
	const struct map *m =
		space_find(sp, spaces_process(sp, pid, time), SPACE_USER, ip, time, &from, &until);

	assert_true(from <= time && (time < until || until == UINT64_MAX));
	if (!m)
		return "-";
	(void)snprintf(text, sizeof(text), "%s+%llx", image_path(spaces_images(sp), m->image),
		       (unsigned long long)(ip - m->start + m->pgoff));
	return text;
}

static void later_mappings_cut_earlier_ones(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);

	(void)state;
	map_at(sp, 10, 1, 0x1000, 0x4000, 0, "/a");
	map_at(sp, 20, 1, 0x2000, 0x1000, 0x500, "/b");
	spaces_finish(sp);
	assert_string_equal(at(sp, 1, 5, 0x1000), "-");
	assert_string_equal(at(sp, 1, 10, 0x1000), "/a+0");
	assert_string_equal(at(sp, 1, 15, 0x2010), "/a+1010");
	assert_string_equal(at(sp, 1, 20, 0x2010), "/b+510");
	assert_string_equal(at(sp, 1, 20, 0x1fff), "/a+fff");
	assert_string_equal(at(sp, 1, 20, 0x3000), "/a+2000");
	assert_string_equal(at(sp, 1, 20, 0x5000), "-");
	assert_string_equal(at(sp, 2, 20, 0x1000), "-");
	end(sp, images);
}

static void forks_inherit_and_execs_forget(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);
	uint64_t from, until;
	uint32_t name;

	(void)state;
	/* told out of order on purpose */
	assert_int_equal(spaces_comm(sp, 50, 2, 2, true, "child", NULL), 0);
	map_at(sp, 55, 2, 0x9000, 0x1000, 0, "/c");
	map_at(sp, 0, 1, 0x1000, 0x1000, 0, "/a");
	assert_int_equal(spaces_comm(sp, 1, 1, 1, false, "parent", NULL), 0);
	assert_int_equal(spaces_fork(sp, 30, 2, 2, 1, 1, NULL), 0);
	map_at(sp, 35, 1, 0x1000, 0x1000, 0, "/later");
	spaces_finish(sp);
	assert_string_equal(at(sp, 2, 30, 0x1000), "/a+0");
	assert_string_equal(at(sp, 2, 40, 0x1000), "/a+0");
	assert_string_equal(at(sp, 1, 40, 0x1000), "/later+0");
	assert_string_equal(at(sp, 2, 50, 0x1000), "-");
	assert_string_equal(at(sp, 2, 60, 0x9000), "/c+0");
	name = spaces_comm_at(sp, 2, 2, 40, &from, &until);
	assert_string_equal(strtab_get(spaces_strings(sp), name), "parent");
	assert_int_equal(from, 30);
	assert_int_equal(until, 50);
	name = spaces_comm_at(sp, 2, 2, 50, &from, &until);
	assert_string_equal(strtab_get(spaces_strings(sp), name), "child");
	assert_int_equal(spaces_comm_at(sp, 9, 9, 50, &from, &until), STR_NONE);
	end(sp, images);
}

static void a_pid_can_be_used_again(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);
	uint64_t from, until;

	(void)state;
	map_at(sp, 0, 1, 0x1000, 0x1000, 0, "/init");
	assert_int_equal(spaces_fork(sp, 10, 7, 7, 1, 1, NULL), 0);
	map_at(sp, 11, 7, 0x1000, 0x1000, 0, "/first");
	assert_int_equal(spaces_exit(sp, 20, 7, 7, NULL), 0);
	assert_int_equal(spaces_fork(sp, 30, 7, 7, 1, 1, NULL), 0);
	spaces_finish(sp);
	assert_string_equal(at(sp, 7, 12, 0x1000), "/first+0");
	assert_string_equal(at(sp, 7, 25, 0x1000), "/first+0");
	assert_string_equal(at(sp, 7, 30, 0x1000), "/init+0");
	process_life(spaces_process(sp, 7, 12), &from, &until);
	assert_int_equal(from, 0);
	assert_int_equal(until, 30);
	process_life(spaces_process(sp, 7, 31), &from, &until);
	assert_int_equal(from, 30);
	assert_true(until == UINT64_MAX);
	assert_int_not_equal(process_index(spaces_process(sp, 7, 12)),
			     process_index(spaces_process(sp, 7, 31)));
	end(sp, images);
}

static void kernels_are_one_space_for_all(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);
	struct space_map_fact f = { .pid = UINT32_MAX,
				    .start = 0xffffffff81000000,
				    .len = 0xffffffff00000000,
				    .pgoff = 0xffffffff81000000,
				    .misc = PERF_RECORD_MISC_KERNEL,
				    .path = "[kernel.kallsyms]_text" };
	const struct map *m;
	uint64_t from, until;

	(void)state;
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	assert_int_equal(spaces_ksym(sp, 10, 0xffffffffc0000000, 64, "bpf_prog_x", false, NULL), 0);
	assert_int_equal(spaces_ksym(sp, 20, 0xffffffffc0000000, 64, "bpf_prog_x", true, NULL), 0);
	spaces_finish(sp);
	m = space_find(sp, NULL, SPACE_KERNEL, 0xffffffff81000010, 5, NULL, NULL);
	assert_non_null(m);
	assert_int_equal(map_to_image(m, 0xffffffff81000010), 0xffffffff81000010);
	assert_int_equal(image_key(images, m->image)->kind, IMAGE_KERNEL);
	m = space_find(sp, NULL, SPACE_KERNEL, 0xffffffffc0000010, 15, NULL, NULL);
	assert_int_equal(image_key(images, m->image)->kind, IMAGE_BPF);
	m = space_find(sp, NULL, SPACE_KERNEL, 0xffffffffc0000010, 25, &from, &until);
	/* what the program lay over is there again */
	assert_int_equal(image_key(images, m->image)->kind, IMAGE_KERNEL);
	assert_int_equal(from, 20);
	assert_true(until == UINT64_MAX);
	assert_null(space_find(sp, NULL, SPACE_HYPERVISOR, 1, 5, NULL, NULL));
	assert_null(space_find(sp, NULL, SPACE_GUEST_KERNEL, 0xffffffff81000010, 5, NULL, NULL));
	end(sp, images);
}

static const char *name_at(const struct spaces *sp, uint32_t tid, uint64_t time)
{
	uint32_t id = spaces_comm_at(sp, tid, tid, time, NULL, NULL);

	return id == STR_NONE ? "?" : strtab_get(spaces_strings(sp), id);
}

static void threads_share_their_process(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);

	(void)state;
	assert_int_equal(spaces_comm(sp, 1, 5, 5, false, "main", NULL), 0);
	assert_int_equal(spaces_fork(sp, 2, 5, 6, 5, 5, NULL), 0);
	map_at(sp, 3, 5, 0x1000, 0x1000, 0, "/lib");
	assert_int_equal(spaces_comm(sp, 4, 5, 6, false, "worker", NULL), 0);
	assert_int_equal(spaces_fork(sp, 5, 5, 7, 5, 6, NULL), 0);
	/* the leader ends first: the process lives on */
	assert_int_equal(spaces_exit(sp, 6, 5, 5, NULL), 0);
	map_at(sp, 7, 5, 0x4000, 0x1000, 0, "/more");
	spaces_finish(sp);
	assert_string_equal(at(sp, 5, 8, 0x1000), "/lib+0");
	assert_string_equal(at(sp, 5, 8, 0x4000), "/more+0");
	assert_string_equal(name_at(sp, 5, 8), "main");
	assert_string_equal(name_at(sp, 6, 2), "main");
	assert_string_equal(name_at(sp, 6, 4), "worker");
	assert_string_equal(name_at(sp, 7, 5), "worker");
	assert_string_equal(name_at(sp, 7, 4), "?");
	assert_string_equal(name_at(sp, 0, 4), "swapper");
	end(sp, images);
}

static void a_dead_pid_begins_anew(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);

	(void)state;
	assert_int_equal(spaces_comm(sp, 1, 5, 5, true, "one", NULL), 0);
	map_at(sp, 2, 5, 0x1000, 0x1000, 0, "/one");
	assert_int_equal(spaces_exit(sp, 3, 5, 5, NULL), 0);
	/* its fork was lost */
	map_at(sp, 10, 5, 0x8000, 0x1000, 0, "/two");
	/* and a third time, from a parent nobody knows */
	assert_int_equal(spaces_fork(sp, 20, 5, 5, 99, 99, NULL), 0);
	spaces_finish(sp);
	assert_string_equal(at(sp, 5, 9, 0x1000), "/one+0");
	assert_string_equal(at(sp, 5, 10, 0x1000), "-");
	assert_string_equal(at(sp, 5, 10, 0x8000), "/two+0");
	assert_string_equal(at(sp, 5, 20, 0x8000), "-");
	assert_string_equal(name_at(sp, 5, 9), "one");
	assert_string_equal(name_at(sp, 5, 20), "?");
	assert_int_equal(process_pid(spaces_process(sp, 5, 20)), 5);
	end(sp, images);
}

static void equal_times_keep_their_order(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);

	(void)state;
	map_at(sp, 0, 1, 0x1000, 0x1000, 0, "/parent");
	assert_int_equal(spaces_fork(sp, 0, 2, 2, 1, 1, NULL), 0);
	assert_int_equal(spaces_fork(sp, 0, 3, 3, 1, 1, NULL), 0);
	assert_int_equal(spaces_clear(sp, 0, 3, NULL), 0);
	map_at(sp, 0, 1, 0x1000, 0x1000, 0, "/late");
	map_at(sp, 0, 2, 0x1800, 0x1000, 0, "/child");
	map_at(sp, 0, 3, 0x2000, 0x1000, 0, "/own");
	spaces_finish(sp);
	assert_string_equal(at(sp, 1, 0, 0x1900), "/late+900");
	assert_string_equal(at(sp, 2, 0, 0x1700), "/parent+700");
	assert_string_equal(at(sp, 2, 0, 0x1900), "/child+100");
	assert_string_equal(at(sp, 3, 0, 0x1700), "-");
	assert_string_equal(at(sp, 3, 0, 0x2000), "/own+0");
	end(sp, images);
}

static void guests_and_data_are_told_apart(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);
	struct space_map_fact f = { .pid = 7, .start = 0x1000, .len = 0x1000, .path = "/guest" };
	const struct process *p;

	(void)state;
	f.misc = PERF_RECORD_MISC_GUEST_USER;
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	f.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA;
	f.path = "/data";
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	f.misc = PERF_RECORD_MISC_GUEST_KERNEL;
	f.path = "[guest.kernel.kallsyms]";
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	f.misc = PERF_RECORD_MISC_HYPERVISOR;
	f.start = 0x9000;
	f.path = "//anon";
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	spaces_finish(sp);
	p = spaces_process(sp, 7, 1);
	assert_string_equal(
		image_path(images,
			   space_find(sp, p, SPACE_GUEST_USER, 0x1000, 1, NULL, NULL)->image),
		"/guest");
	assert_string_equal(
		image_path(images,
			   space_find(sp, p, SPACE_GUEST_KERNEL, 0x1000, 1, NULL, NULL)->image),
		"[guest.kernel.kallsyms]");
	assert_string_equal(at(sp, 7, 1, 0x1000), "/data+0");
	assert_false(map_is_code(space_find(sp, p, SPACE_USER, 0x1000, 1, NULL, NULL)));
	assert_true(map_is_code(space_find(sp, p, SPACE_USER, 0x9000, 1, NULL, NULL)));
	assert_true(space_find(sp, p, SPACE_USER, 0x9000, 1, NULL, NULL)->absolute);
	assert_null(space_find(sp, p, SPACE_KERNEL, 0x1000, 1, NULL, NULL));
	end(sp, images);
}

/* Everywhere in the span of an answer, at its edges and within, space_find gives the same; and the
 * span holds what was asked. */
static void check_span(const struct spaces *sp, const struct process *p, enum space_kind kind,
		       uint64_t ip, uint64_t time)
{
	struct space_span s;
	const struct map *want = space_find_span(sp, p, kind, ip, time, &s);

	assert_true(s.start <= ip && ip < s.end && s.from <= time && time < s.until);
	for (int i = 0; i < 6; i++) {
		uint64_t at = i == 0   ? s.start
			      : i == 1 ? s.end - 1
				       : s.start + (uint64_t)rand() % (s.end - s.start);
		uint64_t t = i % 2 ? s.from : s.until - 1;

		if (t > time + 50) /* an end that is open */
			t = time + (uint64_t)(rand() % 3);
		if (t >= s.until)
			t = time;
		if (space_find(sp, p, kind, at, t, NULL, NULL) != want)
			fail_msg("ip %llx at %llu is not as %llx at %llu", (unsigned long long)at,
				 (unsigned long long)t, (unsigned long long)ip,
				 (unsigned long long)time);
	}
}

/* The second implementation. */
struct naive_fact {
	uint64_t time, start, end;
	uint32_t pid, ppid, n;
	char what; /* m, f, x */
};

static int64_t naive(const struct naive_fact *fact, size_t n, uint32_t pid, uint64_t time,
		     uint64_t ip)
{
	/* facts are in order of time here, so the newest comes last */
	for (size_t i = n; i-- > 0;) {
		const struct naive_fact *f = &fact[i];

		if (f->time > time || f->pid != pid)
			continue;
		if (f->what == 'x')
			return -1;
		if (f->what == 'm' && ip >= f->start && ip < f->end)
			return f->n;
		if (f->what == 'f') {
			pid = f->ppid; /* what the parent had by then, in order of facts */
			n = i;
			return naive(fact, n, pid, time, ip);
		}
	}
	return -1;
}

/* BPF code comes and goes over kernel text. */
static void spans_of_code_over_the_kernel_hold(void **state)
{
	struct images *images;
	struct spaces *sp = begin(&images);
	struct space_map_fact f = { .pid = UINT32_MAX,
				    .start = 1000,
				    .len = 4000,
				    .misc = PERF_RECORD_MISC_KERNEL,
				    .path = "[kernel.kallsyms]_text" };

	(void)state;
	srand(11);
	assert_int_equal(spaces_map(sp, &f, NULL), 0);
	for (uint64_t t = 1; t < 200; t++)
		assert_int_equal(spaces_ksym(sp, t, 900 + (uint64_t)(rand() % 4200),
					     1 + (uint32_t)(rand() % 90), "bpf_prog_x",
					     rand() % 3 == 0, NULL),
				 0);
	spaces_finish(sp);
	for (int q = 0; q < 20000; q++)
		check_span(sp, NULL, SPACE_KERNEL, (uint64_t)(rand() % 6000),
			   (uint64_t)(rand() % 220));
	end(sp, images);
}

static void agrees_with_the_second_implementation(void **state)
{
	enum { FACTS = 400, PIDS = 6 };

	(void)state;
	srand(7);
	for (int round = 0; round < 60; round++) {
		struct images *images;
		struct spaces *sp = begin(&images);
		static struct naive_fact fact[FACTS];
		uint64_t time = 0;

		for (uint32_t i = 0; i < FACTS; i++) {
			struct naive_fact *f = &fact[i];
			int dice = rand() % 20;

			time += (uint64_t)(rand() % 3);
			*f = (struct naive_fact){ .time = time,
						  .pid = 1 + (uint32_t)(rand() % PIDS),
						  .n = i,
						  .what = dice == 0   ? 'f'
							  : dice == 1 ? 'x'
								      : 'm' };
			if (f->what == 'm') {
				char path[16];

				f->start = (uint64_t)(rand() % 500);
				f->end = f->start + 1 + (uint64_t)(rand() % 100);
				(void)snprintf(path, sizeof(path), "/%u", i);
				map_at(sp, time, f->pid, f->start, f->end - f->start, 0, path);
			} else if (f->what == 'x') {
				assert_int_equal(
					spaces_comm(sp, time, f->pid, f->pid, true, "x", NULL), 0);
			} else {
				f->ppid = 1 + f->pid % PIDS;
				assert_int_equal(spaces_fork(sp, time, f->pid, f->pid, f->ppid,
							     f->ppid, NULL),
						 0);
			}
		}
		spaces_finish(sp);
		for (int q = 0; q < 3000; q++) {
			uint64_t t = (uint64_t)rand() % (time + 5), ip = (uint64_t)(rand() % 620);
			uint32_t pid = 1 + (uint32_t)(rand() % PIDS);
			int64_t want = naive(fact, FACTS, pid, t, ip);
			const struct map *m = space_find(sp, spaces_process(sp, pid, t), SPACE_USER,
							 ip, t, NULL, NULL);
			int64_t got = m ? atoll(image_path(images, m->image) + 1) : -1;

			check_span(sp, spaces_process(sp, pid, t), SPACE_USER, ip, t);
			if (got != want)
				fail_msg("round %d: pid %u at %llu, ip %llu: %lld, not %lld", round,
					 pid, (unsigned long long)t, (unsigned long long)ip,
					 (long long)got, (long long)want);
		}
		end(sp, images);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_mappings_cut_earlier_ones),
		cmocka_unit_test(forks_inherit_and_execs_forget),
		cmocka_unit_test(a_pid_can_be_used_again),
		cmocka_unit_test(kernels_are_one_space_for_all),
		cmocka_unit_test(threads_share_their_process),
		cmocka_unit_test(a_dead_pid_begins_anew),
		cmocka_unit_test(equal_times_keep_their_order),
		cmocka_unit_test(guests_and_data_are_told_apart),
		cmocka_unit_test(spans_of_code_over_the_kernel_hold),
		cmocka_unit_test(agrees_with_the_second_implementation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
