/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * touch - the plain loop that reports are measured against: maps a recording in file form, steps
 * from record to record and adds up every word. Nothing that reads all of a recording can do less.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE 9u

static uint64_t ld64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int touch(const uint8_t *p, size_t len)
{
	uint64_t off, size, sum = 0, records = 0, samples = 0;
	const uint8_t *end;

	if (len < 104 || memcmp(p, "PERFILE2", 8) != 0) {
		(void)fprintf(stderr, "touch: no recording in file form\n");
		return 2;
	}
	off = ld64(p + 40);
	size = ld64(p + 48);
	if (off > len || size > len - off)
		size = off > len ? 0 : len - off;
	for (end = p + off + size, p += off < len ? off : len; end - p >= 8;) {
		uint64_t head = ld64(p);
		size_t n = (size_t)(head >> 48);

		if (n < 8 || n > (size_t)(end - p))
			break;
		for (size_t i = 0; i + 8 <= n; i += 8)
			sum += ld64(p + i);
		samples += (uint32_t)head == SAMPLE;
		records++;
		p += n;
	}
	printf("%" PRIu64 " records, %" PRIu64 " samples, sum %016" PRIx64 "\n", records, samples,
	       sum);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0) {
		(void)fprintf(stderr, "usage: touch RECORDING\n");
		return 2;
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	return touch(p, (size_t)st.st_size);
}
