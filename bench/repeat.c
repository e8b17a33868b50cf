/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * repeat - a long recording out of a short one: its data section N times over, each time later by
 * the length of the first, so that processes come and go N times and pids are used again.
 *
 *	repeat IN OUT N
 *
 * Only recordings in file form whose events all have the same kind of sample. What perf made up at
 * the start (time 0) and records of its own but the ends of rounds are written once.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FINISHED_ROUND 68u
#define PIECE	       (32u << 10)

struct recording {
	const uint8_t *p;
	size_t len;
	uint64_t attr_off, attr_size, attrs_size, off, size;
	uint64_t type; /* PERF_SAMPLE_* */
	uint64_t first, last;
};

static uint64_t ld64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t ld32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t ld16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int fail(const char *what)
{
	(void)fprintf(stderr, "repeat: %s\n", what);
	return -1;
}

static int read_header(struct recording *r)
{
	const uint8_t *p = r->p;

	if (r->len < 104 || memcmp(p, "PERFILE2", 8) != 0)
		return fail("no recording in file form");
	r->attr_size = ld64(p + 16);
	r->attr_off = ld64(p + 24);
	r->attrs_size = ld64(p + 32);
	r->off = ld64(p + 40);
	r->size = ld64(p + 48);
	if (r->off > r->len || r->size > r->len - r->off || r->attr_size < 64 + 16 ||
	    r->attr_off > r->len || r->attrs_size > r->len - r->attr_off ||
	    r->attrs_size < r->attr_size)
		return fail("header out of bounds");
	r->type = ld64(p + r->attr_off + 24);
	for (uint64_t a = 0; a + r->attr_size <= r->attrs_size; a += r->attr_size)
		if (ld64(p + r->attr_off + a + 24) != r->type)
			return fail("events with different kinds of samples");
	if (!(r->type & PERF_SAMPLE_TIME) || !(ld64(p + r->attr_off + 40) >> 18 & 1))
		return fail("records without times");
	return 0;
}

static unsigned has(const struct recording *r, uint64_t bits)
{
	return (unsigned)__builtin_popcountll(r->type & bits);
}

/* Where a record's time lies; 0 where it has none. */
static size_t time_at(const struct recording *r, const uint8_t *p)
{
	size_t size = ld16(p + 6), at;
	uint32_t type = ld32(p);

	if (type >= 64)
		return 0;
	if (type == PERF_RECORD_SAMPLE)
		at = 8 + 8 * has(r, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	else
		at = size - 8 -
		     8 * has(r, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
					PERF_SAMPLE_IDENTIFIER);
	return at >= 8 && at + 8 <= size ? at : 0;
}

static const uint8_t *next(const struct recording *r, const uint8_t *p)
{
	const uint8_t *end = r->p + r->off + r->size;

	p = p ? p + ld16(p + 6) : r->p + r->off;
	return end - p >= 8 && ld16(p + 6) >= 8 && ld16(p + 6) <= end - p ? p : NULL;
}

static void find_span(struct recording *r)
{
	r->first = UINT64_MAX;
	for (const uint8_t *p = next(r, NULL); p; p = next(r, p)) {
		size_t at = time_at(r, p);
		uint64_t t = at ? ld64(p + at) : 0;

		if (!t)
			continue;
		r->first = t < r->first ? t : r->first;
		r->last = t > r->last ? t : r->last;
	}
}

static uint64_t put_round(const struct recording *r, unsigned round, FILE *out)
{
	uint64_t shift = round * (r->last - r->first + 1), bytes = 0;
	uint8_t copy[65536];

	for (const uint8_t *p = next(r, NULL); p; p = next(r, p)) {
		size_t size = ld16(p + 6), at = time_at(r, p);
		uint32_t type = ld32(p);
		uint64_t t = at ? ld64(p + at) : 0;

		if (round && !t && type != FINISHED_ROUND)
			continue;
		memcpy(copy, p, size);
		if (t) {
			t += shift;
			memcpy(copy + at, &t, 8);
		}
		if (t && (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) && size >= 32)
			memcpy(copy + 24, &t, 8);
		bytes += fwrite(copy, 1, size, out);
	}
	return bytes;
}

/* The features behind the data: a table of (offset, size), then what they point to. */
static int put_features(const struct recording *r, uint64_t moved, FILE *out)
{
	uint64_t at = r->off + r->size;
	unsigned n = 0;

	for (size_t i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(ld64(r->p + 72 + 8 * i));
	if (n * 16 > r->len - at)
		return fail("features out of bounds");
	for (unsigned i = 0; i < n; i++) {
		uint64_t pair[2] = { ld64(r->p + at + 16 * i) + moved,
				     ld64(r->p + at + 16 * i + 8) };

		(void)fwrite(pair, 1, 16, out);
	}
	at += n * 16;
	return fwrite(r->p + at, 1, r->len - at, out) == r->len - at ? 0 : fail("cannot write");
}

static int repeat(struct recording *r, FILE *out, unsigned n)
{
	uint64_t bytes = 0;

	if (read_header(r))
		return -1;
	find_span(r);
	if (fwrite(r->p, 1, r->off, out) != r->off)
		return fail("cannot write");
	for (unsigned i = 0; i < n; i++)
		bytes += put_round(r, i, out);
	if (put_features(r, bytes - r->size, out))
		return -1;
	if (fseek(out, 48, SEEK_SET) || fwrite(&bytes, 1, 8, out) != 8)
		return fail("cannot write");
	return 0;
}

int main(int argc, char **argv)
{
	static char piece[PIECE];
	struct recording r = { 0 };
	struct stat st;
	FILE *out;
	void *p;
	int fd;

	if (argc != 4) {
		(void)fprintf(stderr, "usage: repeat IN OUT N\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0) {
		perror(argv[1]);
		return 2;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	out = fopen(argv[2], "wb");
	/* in pieces as a recorder writes them, which decide how large the page cache's are; a
	 * buffer of our own, for without one glibc takes no notice of its size */
	if (out && setvbuf(out, piece, _IOFBF, sizeof(piece)))
		return fail("no memory");
	if (p == MAP_FAILED || !out) {
		perror(argv[2]);
		return 2;
	}
	r.p = p;
	r.len = (size_t)st.st_size;
	if (repeat(&r, out, (unsigned)strtoul(argv[3], NULL, 10))) {
		(void)fclose(out);
		return 2;
	}
	if (fclose(out)) {
		perror(argv[2]);
		return 2;
	}
	return 0;
}
