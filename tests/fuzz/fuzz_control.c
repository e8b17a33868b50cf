/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes through the control FIFO, in two writes: the words of both, in order, as a second
 * reading of the same bytes finds them. The first byte tells where the second write begins.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/control.h"

#define SIZE_MOST 32768u /* a pipe holds twice as much */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

/* The word of a line, which ends with the first NUL, too. */
static enum control_word word_of(const uint8_t *p, size_t len)
{
	static const char *const text[] = { "enable", "disable", "stop", "ping" };
	static const enum control_word word[] = { CONTROL_ENABLE, CONTROL_DISABLE, CONTROL_STOP,
						  CONTROL_PING };

	len = strnlen((const char *)p, len);
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		if (strlen(text[i]) == len && !memcmp(text[i], p, len))
			return word[i];
	return CONTROL_NOTHING;
}

static void one_write(struct control *c, const struct measure_opts *opts, int to, const uint8_t *p,
		      size_t len)
{
	if (!len)
		return;
	must(write(to, p, len) == (ssize_t)len);
	while (len) {
		const uint8_t *end = memchr(p, '\n', len);
		size_t n = end ? (size_t)(end - p) : len;
		enum control_word want = word_of(p, n);

		if (want != CONTROL_NOTHING)
			must(control_next(c, opts) == want);
		n += end != NULL;
		p += n;
		len -= n;
	}
	must(control_next(c, opts) == CONTROL_NOTHING && !c->have);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct measure_opts opts;
	static int ends[2] = { -1, -1 };
	struct control c = CONTROL_INIT;
	size_t first;

	if (!size || size > SIZE_MOST)
		return 0;
	if (ends[0] < 0)
		must(!pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	c.fd = ends[0];
	first = data[0] * (size - 1) / 255;
	one_write(&c, &opts, ends[1], data + 1, first);
	one_write(&c, &opts, ends[1], data + 1 + first, size - 1 - first);
	return 0;
}
