/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skip - why a unit test was skipped. cmocka.h has to be included before.
 */
#ifndef CYCLADE_TESTS_UNIT_SKIP_H
#define CYCLADE_TESTS_UNIT_SKIP_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends a cmocka test as skipped; tests/lib/cmocka.sh puts the reason behind the SKIP. */
#define SKIP_BECAUSE(why)                         \
	do {                                      \
		(void)printf("# why: %s\n", why); \
		skip();                           \
	} while (0)

/* qemu-user with a prefix (-L) opens that for "/": what is judged from there on is another tree. */
static inline bool has_other_root(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat opened, real;
	bool other = fd < 0 || fstat(fd, &opened) || stat("/proc/self/root/.", &real) ||
		     opened.st_dev != real.st_dev || opened.st_ino != real.st_ino;

	if (fd >= 0)
		(void)close(fd);
	return other;
}

#endif
