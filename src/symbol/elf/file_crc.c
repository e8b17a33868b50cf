/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/file_crc.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

/* The checksum of n zero bytes: by doubling. */
static uint32_t of_zeros(off_t n)
{
	static const Bytef zero;
	uLong all = crc32(0, NULL, 0), part = crc32(0, &zero, 1);

	for (off_t len = 1; n; len *= 2) {
		if (n & 1)
			all = crc32_combine(all, part, len);
		part = crc32_combine(part, part, len);
		n >>= 1;
	}
	return (uint32_t)all;
}

static int add_data(int fd, off_t from, off_t to, uint32_t *crc)
{
	Bytef chunk[65536];

	while (from < to) {
		size_t want =
			to - from < (off_t)sizeof(chunk) ? (size_t)(to - from) : sizeof(chunk);
		ssize_t n = pread(fd, chunk, want, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		*crc = (uint32_t)crc32(*crc, chunk, (uInt)n);
		from += n;
	}
	return 0;
}

static int add_all(int fd, off_t size, uint32_t *crc)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0) /* a hole up to the end, or a file system that has none */
			data = errno == ENXIO ? size : at;
		if (data > size)
			data = size;
		if (data > at)
			*crc = (uint32_t)crc32_combine(*crc, of_zeros(data - at), data - at);
		hole = data < size ? lseek(fd, data, SEEK_HOLE) : size;
		if (hole <= data || hole > size)
			hole = size;
		if (add_data(fd, data, hole, crc))
			return -1;
		at = hole;
	}
	return 0;
}

int file_crc32(int fd, off_t size, const char *name, uint32_t *crc, struct err *err)
{
	*crc = 0;
	if (add_all(fd, size, crc) || lseek(fd, 0, SEEK_SET))
		return err_sys(err, "%s", name);
	return 0;
}
