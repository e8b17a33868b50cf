/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot fields of structures: an example by hand, then drawn structures, whose lines are counted byte
 * by byte.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/memory/memory_types.h"

#define MOST 80

static struct memory_group group[2 * MOST];
static struct memory made;
static char names[MOST][16];

/* `types` of them stand first. */
static void begin(size_t types)
{
	memset(group, 0, sizeof(group));
	made = (struct memory){ .group = group };
	made.first[MEMORY_FIELD] = types; /* behind MEMORY_TYPE, from 0 on */
	made.first[MEMORY_FIELD + 1] = types;
}

static void type(size_t i, uint64_t size, uint64_t samples)
{
	group[i].type_id = (uint32_t)i;
	group[i].samples = samples;
	group[i].access = (struct types_access){ .type = "struct x", .type_size = size };
}

static void field(uint32_t of, uint64_t offset, uint64_t size, uint64_t samples)
{
	size_t n = made.first[MEMORY_FIELD + 1]++;
	char *name = names[n % MOST];

	(void)snprintf(name, sizeof(names[0]), "f%zu", n);
	group[n].type_id = of;
	group[n].samples = samples;
	group[n].access = (struct types_access){ .type = "struct x",
						 .field = name,
						 .type_size = group[of].access.type_size,
						 .offset = offset,
						 .size = size };
}

static size_t find(struct memory_layout **v)
{
	size_t n;

	assert_int_equal(memory_layouts(&made, v, &n), 0);
	return n;
}

static void equal(double a, double b)
{
	if (!(fabs(a - b) < 1e-12))
		fail_msg("%g is not %g", a, b);
}

static void by_hand(void **state)
{
	struct memory_layout *v;

	(void)state;
	begin(2);
	type(0, 128, 1000);
	type(1, 24, 100);
	field(0, 64, 8, 500); /* the second line */
	field(0, 4, 2, 300);  /* the first one */
	field(1, 8, 4, 100);
	field(0, 6, 1, 149);
	field(0, 7, 1, 1); /* with it it is 95 % */
	field(0, 120, 8, 50);
	assert_int_equal(find(&v), 2);
	assert_ptr_equal(v[0].type, &group[0]);
	assert_int_equal(v[0].n_hot, 4);
	assert_int_equal(v[0].hot_samples, 950);
	assert_int_equal(v[0].hot_bytes, 12);
	equal(v[0].lines, 2);
	equal(v[0].lines_order, 1);
	equal(v[0].lines_split, 16 / 64.0); /* 12 bytes, aligned to 8 */
	equal(v[0].used, 12 / 128.0);
	/* 8 bytes at 64; 2 bytes at 4; one byte at 6, one at 7 */
	assert_int_equal(v[0].order[0], 0);
	assert_int_equal(v[0].order[1], 1);
	assert_int_equal(v[0].order[2], 2);
	assert_int_equal(v[0].order[3], 3);
	/* 64 objects of 24 bytes lie on 24 lines; each of these has a byte of an offset 8 */
	assert_int_equal(v[1].n_hot, 1);
	assert_ptr_equal(v[1].hot[0], &group[4]);
	equal(v[1].lines, 24 / 64.0);
	equal(v[1].lines_split, 8 / 64.0);
	equal(v[1].used, 4 / 24.0);
	free(v);
}

/* The alignment of a field is what its place and its size both have. */
static void order(void **state)
{
	struct memory_layout *v;
	static const size_t want[] = { 2, 5, 1, 4, 0, 3 };

	(void)state;
	begin(1);
	type(0, 256, 1000);
	field(0, 128, 2, 200);	/* 2: of its size */
	field(0, 200, 16, 180); /* 8: of its place */
	field(0, 32, 64, 170);	/* 16, the most there is */
	field(0, 9, 1, 160);	/* 1 */
	field(0, 12, 4, 150);	/* 4 */
	field(0, 160, 16, 140); /* 16 */
	assert_int_equal(find(&v), 1);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(v->order[i], want[i]);
	free(v);
}

static void which(void **state)
{
	static const struct {
		uint64_t size, samples,
			hot;  /* samples of its first field; the rest are another's */
		size_t n_hot; /* 0: it has no layout */
	} row[] = {
		{ 64, 29, 29, 0 },	{ 64, 30, 30, 1 },	  { 15, 1000, 1000, 0 },
		{ 16, 1000, 1000, 1 },	{ 65536, 1000, 1000, 1 }, { 65537, 1000, 1000, 0 },
		{ 64, 1000, 950, 1 },	{ 64, 1000, 949, 2 },	  { 64, 10000, 9500, 1 },
		{ 64, 10000, 9499, 2 },
	};
	struct memory_layout *v;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		begin(1);
		type(0, row[i].size, row[i].samples);
		field(0, 0, 4, row[i].hot);
		field(0, 8, 4, row[i].samples - row[i].hot);
		assert_int_equal(find(&v), row[i].n_hot > 0);
		if (row[i].n_hot)
			assert_int_equal(v->n_hot, row[i].n_hot);
		free(v);
	}
	for (int odd = 0; odd < 5; odd++) { /* hot parts that have no place of their own */
		begin(1);
		type(0, 64, 1000);
		field(0, 0, 4, 800);
		field(0, 8, 4, odd == 4 ? 199 : 200);
		field(0, 16, 4, 1);
		if (odd == 0)
			group[2].access.field = "";
		if (odd == 1)
			group[2].access.field = "items[].key";
		if (odd == 2)
			group[2].access.size = 0;
		if (odd == 3)
			group[0].access.why = (enum types_why)(TYPES_KNOWN + 1);
		if (odd == 4) /* a cold one does not matter */
			group[3].access.field = "";
		assert_int_equal(find(&v), odd == 4);
		free(v);
	}
	for (size_t n = MEMORY_HOT; n <= MEMORY_HOT + 1; n++) { /* too many to show */
		begin(1);
		type(0, 1024, 100 * n);
		for (size_t i = 0; i < n; i++)
			field(0, 8 * i, 8, 100);
		group[0].samples = 100 * n * 100 / 96; /* all of them are hot */
		assert_int_equal(find(&v), n == MEMORY_HOT);
		free(v);
	}
	begin(1); /* debug information that contradicts itself: the end of the type is the end */
	type(0, 64, 1000);
	field(0, 60, 8, 1000);
	assert_int_equal(find(&v), 1);
	assert_int_equal(v->hot_bytes, 4);
	free(v);
	begin(1); /* no fields at all, and none of this type */
	type(0, 64, 1000);
	assert_int_equal(find(&v), 0);
	free(v);
	field(0, 0, 4, 1000);
	group[1].type_id = 9;
	assert_int_equal(find(&v), 0);
	free(v);
}

static uint32_t seed = 12345;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

/* Lines of 64 objects, byte by byte; `first`: hot bytes at the beginning of each. */
static double lines(const struct memory_layout *l, uint64_t size, uint64_t first)
{
	static uint8_t line[64 * 300 / 64 + 2];
	double n = 0;

	memset(line, 0, sizeof(line));
	for (uint64_t o = 0; o < 64; o++) {
		for (uint64_t b = 0; b < first; b++)
			line[(o * size + b) / 64] = 1;
		for (size_t k = 0; !first && k < l->n_hot; k++)
			for (uint64_t b = 0; b < l->hot[k]->access.size; b++)
				line[(o * size + l->hot[k]->access.offset + b) / 64] = 1;
	}
	for (size_t i = 0; i < sizeof(line); i++)
		n += line[i];
	return n / 64;
}

static void drawn(void **state)
{
	(void)state;
	for (int trial = 0; trial < 300; trial++) {
		uint64_t size = 16 + draw(284), bytes = 0;
		size_t n = 1 + draw(5);
		uint8_t hot[300] = { 0 };
		struct memory_layout *v;

		begin(1);
		type(0, size, 0);
		for (size_t i = 0; i < n; i++) { /* some lie one over the other, as in a union */
			uint64_t width = 1 + draw(16), at = draw((uint32_t)(size - width + 1));

			field(0, at, width, 100 - i);
			group[0].samples += 100 - i;
			memset(hot + at, 1, width);
		}
		assert_int_equal(find(&v), 1);
		assert_int_equal(v->n_hot, n);
		for (uint64_t i = 0; i < size; i++)
			bytes += hot[i];
		assert_int_equal(v->hot_bytes, bytes);
		equal(v->lines, lines(v, size, 0));
		equal(v->lines_order, lines(v, size, bytes));
		equal(v->lines_split, ceil((double)bytes / 8) * 8 / 64);
		equal(v->used, (double)bytes / (64 * v->lines));
		free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(order),
		cmocka_unit_test(which),
		cmocka_unit_test(drawn),
	};

	return cmocka_run_group_tests_name("analyse/layout", tests, NULL, NULL);
}
