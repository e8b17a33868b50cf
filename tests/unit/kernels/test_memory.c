/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kernels of memory leave there: which bytes are copied and multiplied, in which order lines
 * come, where a run goes on; and the code of "skid", byte by byte. (tests/truth counts their
 * instructions.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel.h"
#include "../skip.h"

#define BYTES 8192u /* two pages: 128 lines */
#define LINES (BYTES / 64)

static struct kernel_work w;

static const struct kernel *begin(const char *name)
{
	const struct kernel_setup s = { .bytes = BYTES };
	const struct kernel *k = kernel_find(name);
	struct err err = ERR_INIT;

	assert_non_null(k);
	if (kernel_prepare(&w, k, &s, &err)) {
		if (err.code == ERR_UNSUPPORTED)
			SKIP_BECAUSE("this machine has no kernels");
		fail_msg("%s: %s", name, err.what);
	}
	return k;
}

/* A product of any two of these is exact. */
static double value(size_t i, unsigned seed)
{
	return (double)((i * 7919 + seed) % 1000) / 8 + 1;
}

static void fill(char *p, unsigned seed)
{
	for (size_t i = 0; i < BYTES / 8; i++) {
		double v = value(i, seed);

		memcpy(p + 8 * i, &v, 8);
	}
}

static double at(const char *p, size_t line, size_t i)
{
	double v;

	memcpy(&v, p + 64 * line + 8 * i, 8);
	return v;
}

/* Of each line what it has to be after so many lines that were written. */
static void written(const char *name, bool triad, bool scattered)
{
	const struct kernel *k = begin(name);
	size_t line = 0, n = 0;
	bool seen[LINES] = { false };

	if (!k)
		return;
	assert_int_equal(w.mask + 1, BYTES);
	fill(w.a, 1);
	fill(w.b, 2);
	if (triad)
		fill(w.c, 3);
	line = w.at / 64;
	for (n = 1; n <= LINES; n++) {
		size_t before = line;

		k->run(&w, 1);
		assert_false(seen[line]); /* each line once in a turn */
		seen[line] = true;
		for (size_t l = 0; l < LINES; l++)
			for (size_t i = 0; i < 8; i++) {
				double want = seen[l] ? triad ? at(w.b, l, i) * at(w.c, l, i)
							      : at(w.b, l, i)
						      : value(l * 8 + i, 1);

				assert_memory_equal(w.a + 64 * l + 8 * i, &want, 8);
			}
		/* where the next run goes on */
		line = scattered ? (26125 * before + 37) % LINES : (before + 1) % LINES;
		assert_int_equal(w.at, 64 * line);
	}
	kernel_release(&w);
}

static void what_is_written(void **state)
{
	(void)state;
	written("copy", false, false);
	written("copy-nt", false, false);
	written("triad", true, false);
	written("triad-nt", true, false);
	written("copy-scattered", false, true);
	written("triad-scattered", true, true);
}

/* A run of many iterations is that of one, many times; offsets wrap around. */
static void where_it_goes_on(void **state)
{
	static const char *const names[] = { "read", "store", "store-nt", "skid", "flush" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct kernel *k = begin(names[i]);

		w.at = 0;
		k->run(&w, 5);
		assert_int_equal(w.at, 5 * 64);
		k->run(&w, LINES - 6);
		assert_int_equal(w.at, BYTES - 64);
		k->run(&w, 2);
		assert_int_equal(w.at, 64);
		kernel_release(&w);
	}
}

/* The list goes through all of its slots before one comes again. */
static void lists(void **state)
{
	static const char *const names[] = { "walk", "walk-order" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct kernel *k = begin(names[i]);
		char *first = w.here, *next;
		bool seen[LINES] = { false };

		for (size_t n = 0; n < LINES; n++) {
			memcpy(&next, w.here, sizeof(next));
			assert_true(next >= (char *)w.map && next < (char *)w.map + w.mapped);
			k->run(&w, 1);
			assert_ptr_equal(w.here, next);
			assert_int_equal((next - w.a) % 64, (first - w.a) % 64);
			assert_false(seen[(next - w.a) / 64 % LINES]);
			seen[(next - w.a) / 64 % LINES] = true;
		}
		assert_ptr_equal(w.here, first);
		k->run(&w, 3 * LINES);
		assert_ptr_equal(w.here, first);
		kernel_release(&w);
	}
}

/* One load, 96 instructions of one length that do not touch its address, and no more of them. */
static void skid(void **state)
{
#ifdef __x86_64__
	static const uint8_t load[] = { 0x48, 0x8b, 0x0e };  /* mov (%rsi), %rcx */
	static const uint8_t other[] = { 0x8d, 0x42, 0x01 }; /* lea 1(%rdx), %eax */
	const unsigned reg = 4;				     /* rsi, by PERF_REG_X86_SI */
#else
	static const uint8_t load[] = { 0x2a, 0x01, 0x40, 0xf9 };  /* ldr x10, [x9] */
	static const uint8_t other[] = { 0x48, 0x04, 0x00, 0x11 }; /* add w8, w2, #1 */
	const unsigned reg = 9;
#endif
	struct kernel_skid p;
	const uint8_t *code;

	(void)state;
	if (!kernel_skid_place(&p))
		SKIP_BECAUSE("this machine has no kernels");
	code = (const uint8_t *)p.load;
	assert_int_equal(p.step, sizeof(other));
	assert_int_equal(p.n, 96);
	assert_int_equal(p.reg, reg);
	assert_int_equal(p.after - p.load, sizeof(load));
	assert_memory_equal(code, load, sizeof(load));
	for (size_t i = 0; i < 96; i++)
		assert_memory_equal(code + sizeof(load) + i * p.step, other, sizeof(other));
	assert_memory_not_equal(code + sizeof(load) + 96 * p.step, other, sizeof(other));
}

/* ---- what has to come, from where it does not fit ---- */

static bool moves(const struct kernel *k, enum kernel_quantity q, uint64_t holds, double n,
		  double low)
{
	const struct kernel_setup s = { .bytes = 64 * 6400, .stride = 64 };
	struct kernel_moved m;

	if (!kernel_moved(&m, k, &s, q, holds))
		return false;
	assert_true(m.n == n && (m.low > low - 1e-12 && m.low < low + 1e-12));
	return true;
}

/* A turn is 6,400 lines that are read and as many that are passed by: 200 pages. */
static void what_comes(void **state)
{
	const struct kernel k = {
		.usual = { .bytes = 4096, .stride = 64 },
		.each = { [Q_LINES_READ] = 1, [Q_LINES_PAST] = 1, [Q_PAGES] = 2 / 64. }
	};

	(void)state;
	assert_true(moves(&k, Q_LINES_READ, 12800, 0, 0)); /* twice a turn: nothing */
	assert_false(moves(&k, Q_LINES_READ, 12799, 0, 0));
	assert_false(moves(&k, Q_LINES_READ, 6400, 0, 0));
	assert_false(moves(&k, Q_LINES_READ, 1601, 0, 0));
	assert_true(moves(&k, Q_LINES_READ, 1600, 1, 0.75)); /* a quarter: all but what it keeps */
	assert_true(moves(&k, Q_PAGES, 400, 0, 0));
	assert_false(moves(&k, Q_PAGES, 399, 0, 0));
	assert_true(moves(&k, Q_PAGES, 50, 2 / 64., 2 / 64. * 0.75));
	assert_true(moves(&k, Q_LINES_WRITTEN, 1, 0, 0)); /* it writes none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written), cmocka_unit_test(where_it_goes_on),
		cmocka_unit_test(lists),	   cmocka_unit_test(skid),
		cmocka_unit_test(what_comes),
	};

	return cmocka_run_group_tests_name("kernels/memory", tests, NULL, NULL);
}
