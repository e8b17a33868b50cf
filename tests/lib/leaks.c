/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leaks - what a build for ASan adds to the program: leaks are looked for at the end of one start
 * in four.
 *
 * To look for them takes as long as all else of a short start, 6 ms, most of it in the sanitizer's
 * own tables, and tests start the program some 19,000 times. The words of the command choose, so
 * that it is the same starts each time; words with a '/' do not count, since directories of tests
 * have names of chance. With CYCLADE_LONG every start looks.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sanitizer/lsan_interface.h>

enum { ONE_IN = 4, WORDS = 4096 };

/* FNV-1a of the words; the first is the program. */
static uint32_t hash_words(const char *words, size_t n)
{
	uint32_t h = 2166136261u;
	for (const char *w = words, *next; w < words + n; w = next) {
		next = w + strlen(w) + 1;
		if (!strchr(w, '/'))
			for (; *w; w++)
				h = (h ^ (unsigned char)*w) * 16777619u;
	}
	return h;
}

/* Called by the sanitizer at the program's end. */
int __lsan_is_turned_off(void)
{
	static char words[WORDS + 1];
	if (getenv("CYCLADE_LONG"))
		return 0;
	int f = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = f < 0 ? -1 : read(f, words, WORDS);
	if (f >= 0)
		close(f);
	return n > 0 && (hash_words(words, (size_t)n) >> 8) % ONE_IN != 0;
}
