/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash join: looks up each row of a large table in a hash table of chained entries.
 *
 *	cc -O2 -g -o join join.c && ./join slow && ./join fixed
 *
 * slow: the entries of a bucket are a list, somewhere in 12 MB: a cache miss for each, one
 * after the other.
 * fixed: the entries of a bucket lie side by side: one miss for all of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define ENTRIES	 (1u << 19)
#define ROWS	 (1u << 17)
#define BUCKETS	 (ENTRIES / 16)

struct entry {
	struct entry *next;
	uint64_t key, value;
};

static struct entry *entries, *buckets[BUCKETS];
static uint64_t *rows;

static uint32_t hash(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (BUCKETS - 1);
}

static uint64_t draw(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

static void sort_by_bucket(void)
{
	struct entry *sorted = get(ENTRIES, sizeof(*sorted));
	static uint32_t at[BUCKETS + 1];

	for (uint32_t i = 0; i < ENTRIES; i++)
		at[hash(entries[i].key) + 1]++;
	for (uint32_t b = 0; b < BUCKETS; b++)
		at[b + 1] += at[b];
	for (uint32_t i = 0; i < ENTRIES; i++)
		sorted[at[hash(entries[i].key)]++] = entries[i];
	free(entries);
	entries = sorted;
}

static void build_table(int side_by_side)
{
	entries = get(ENTRIES, sizeof(*entries));
	rows = get(ROWS, sizeof(*rows));
	for (uint32_t i = 0; i < ENTRIES; i++)
		entries[i] = (struct entry){ .key = draw(), .value = i };
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = entries[draw() & (ENTRIES - 1)].key;
	if (side_by_side)
		sort_by_bucket();
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct entry **bucket = &buckets[hash(entries[i].key)];

		entries[i].next = *bucket;
		*bucket = &entries[i];
	}
}

static uint64_t look_up(const struct entry *e, uint64_t key)
{
	while (e && e->key != key)
		e = e->next;
	return e ? e->value : 0;
}

NOINLINE static uint64_t probe_table(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ROWS; i++)
		sum += look_up(buckets[hash(rows[i])], rows[i]);
	return sum;
}

int main(int argc, char **argv)
{
	int fixed = argc > 1 && !strcmp(argv[1], "fixed");
	uint64_t sum = 0;

	build_table(fixed);
	for (int turn = 0; turn < 2; turn++)
		sum += probe_table();
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
