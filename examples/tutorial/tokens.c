/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splits a text into words and keeps a list of them for each line.
 *
 *	cc -O2 -g -o tokens tokens.c && ./tokens slow && ./tokens fixed
 *
 * slow: each word is an object of its own, allocated and freed.
 * fixed: the words of a line lie in one block, which the next line uses again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define LINES	 60000
#define WORDS	 20

struct word {
	struct word *next;
	unsigned length, letters;
};

static struct word *pool;
static int fixed, used;

NOINLINE static struct word *new_word(void)
{
	struct word *w = fixed ? &pool[used++] : malloc(sizeof(*w));

	if (!w)
		abort();
	return w;
}

NOINLINE static struct word *split_line(unsigned seed)
{
	struct word *list = NULL;

	for (int i = 0; i < WORDS; i++) {
		struct word *w = new_word();

		w->next = list;
		w->length = (seed = seed * 1664525u + 1013904223u) >> 29;
		w->letters = seed;
		list = w;
	}
	return list;
}

NOINLINE static unsigned count_letters(const struct word *list)
{
	unsigned n = 0;

	for (; list; list = list->next)
		n += list->length ^ (list->letters & 1);
	return n;
}

NOINLINE static void drop_line(struct word *list)
{
	if (fixed) {
		used = 0;
		return;
	}
	while (list) {
		struct word *next = list->next;

		free(list);
		list = next;
	}
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	fixed = argc > 1 && !strcmp(argv[1], "fixed");
	pool = malloc(WORDS * sizeof(*pool));
	if (!pool)
		return 1;
	for (unsigned line = 0; line < LINES; line++) {
		struct word *list = split_line(line);

		n += count_letters(list);
		drop_line(list);
	}
	free(pool);
	printf("%u letters\n", n);
	return 0;
}
