/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A compressor: text made of words with a skewed choice, matches found by a table of hashes, and
 * all unpacked and compared again. Branches as data has them.
 */
#include <stdio.h>
#include <string.h>

#include "truth.h"

#define SIZE  16384
#define SLOTS 4096

static uint8_t text[SIZE], packed[SIZE * 2], back[SIZE];
static unsigned slot[SLOTS];

NOINLINE static void make_text(uint32_t *seed)
{
	static const char *const words[] = { "the ",   "of ",	 "branch ", "record ",
					     "loop\n", "trips ", "count ",  "cycles " };
	size_t n = 0;

	while (n < SIZE) {
		uint32_t r = next_random(seed) >> 7;
		const char *w = words[(r & 7) & (r >> 3 & 7)];

		if ((r >> 9 & 15) == 0) {
			text[n++] = (uint8_t)(r >> 13);
			continue;
		}
		while (*w && n < SIZE)
			text[n++] = (uint8_t)*w++;
	}
}

NOINLINE static unsigned hash_of(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v * 2654435761u >> 20;
}

NOINLINE static size_t match(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
	size_t n = 0;

	while (n < 255 && b + n < end && a[n] == b[n]) {
		n++;
		KEEP;
	}
	return n;
}

/* One byte 0 to 254 that is followed by as many literals, or 255, length, two bytes of distance. */
NOINLINE static uint8_t *put_literals(uint8_t *o, const uint8_t *p, size_t n)
{
	while (n) {
		size_t k = n < 254 ? n : 254;

		*o++ = (uint8_t)k;
		for (size_t i = 0; i < k; i++) {
			o[i] = p[i];
			KEEP;
		}
		o += k;
		p += k;
		n -= k;
	}
	return o;
}

NOINLINE static size_t pack(void)
{
	const uint8_t *end = text + SIZE, *from = text, *p = text;
	uint8_t *o = packed;

	memset(slot, 0, sizeof(slot));
	while (p + 4 <= end) {
		unsigned h = hash_of(p);
		const uint8_t *was = text + slot[h];
		size_t n;

		slot[h] = (unsigned)(p - text);
		if (was < p && (n = match(was, p, end)) >= 4) {
			o = put_literals(o, from, (size_t)(p - from));
			*o++ = 255;
			*o++ = (uint8_t)n;
			*o++ = (uint8_t)(p - was);
			*o++ = (uint8_t)((p - was) >> 8);
			p += n;
			from = p;
		} else {
			p++;
		}
	}
	return (size_t)(put_literals(o, from, (size_t)(end - from)) - packed);
}

NOINLINE static size_t unpack(size_t len)
{
	const uint8_t *p = packed, *end = packed + len;
	uint8_t *o = back;

	while (p < end) {
		size_t n = *p++;

		if (n == 255) {
			size_t far = (size_t)(p[1] | p[2] << 8);

			n = p[0];
			p += 3;
			for (size_t i = 0; i < n; i++) {
				o[i] = (o - far)[i];
				KEEP;
			}
		} else {
			for (size_t i = 0; i < n; i++) {
				o[i] = *p++;
				KEEP;
			}
		}
		o += n;
	}
	return (size_t)(o - back);
}

int main(int argc, char **argv)
{
	unsigned n = amount(argc, argv, 20);
	uint32_t seed = 4711;
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t len;

		make_text(&seed);
		len = pack();
		sum += len;
		if (unpack(len) != SIZE || memcmp(text, back, SIZE))
			return 1;
	}
	printf("%zu of %u\n", sum, n * SIZE);
	return 0;
}
