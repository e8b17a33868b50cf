/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - stands in for libc's open, pread and pwrite, for registers (msr.c). With them goes
 * /proc/cpuinfo: it is that of the simulated machine.
 */
#undef _FILE_OFFSET_BITS

#include "kernels.h"
#include "msr.h"
#include "paper.h"
#include "preload.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Kernels run until so much time has passed, and counts are of their iterations: with a faster
 * clock the same is found out from fewer. */
#define KERNELS_FASTER 3

static long call(long number, long a, long b, long c, long d)
{
	return sim_real.syscall ? sim_real.syscall(number, a, b, c, d) : -1;
}

static int open_any(const char *path, int flags, mode_t mode)
{
	const char *sys = getenv("SYSFS_PATH");
	char other[4096];
	bool ours = false;
	int fd = getenv("SIM_MSR") ? sim_msr_open(path, flags, &ours) : -1;

	if (ours)
		return fd;
	if (getenv("SIM_MSR") && sys && !strcmp(path, "/proc/cpuinfo")) {
		snprintf(other, sizeof(other), "%s/../proc/cpuinfo", sys);
		path = other;
	}
	sim_find_real();
	return (int)call(SYS_openat, AT_FDCWD, (long)(intptr_t)path, flags, (long)mode);
}

/* The mode is there only where a file may be made. */
#define MODE_OF(flags, mode)                             \
	do {                                             \
		if ((flags) & (O_CREAT | __O_TMPFILE)) { \
			va_list ap;                      \
			va_start(ap, flags);             \
			mode = (mode_t)va_arg(ap, int);  \
			va_end(ap);                      \
		}                                        \
	} while (0)

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_any(path, flags | O_LARGEFILE, mode);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open_any(path, flags, 0);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open_any(path, flags | O_LARGEFILE, 0);
}

int clock_gettime(clockid_t which, struct timespec *ts)
{
	uint64_t ns;
	long ret;

	sim_find_real();
	ret = sim_real.clock_gettime(which, ts);
	if (ret || which != CLOCK_MONOTONIC || !(sim_paper() || sim_kernels))
		return (int)ret;
	if (sim_paper())
		ns = sim_paper_clock();
	else
		ns = KERNELS_FASTER * ((uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec);
	ts->tv_sec = (time_t)(ns / 1000000000u);
	ts->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

int close_range(unsigned first, unsigned last, int flags)
{
	sim_find_real();
	return sim_msr_close_range(first, last, flags);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	sim_find_real();
	return sim_msr_is(fd) ? sim_msr_read(fd, to, n, at)
			      : call(SYS_pread64, fd, (long)(intptr_t)to, (long)n, at);
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
	return pread(fd, to, n, (off_t)at);
}

ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room)
{
	if (n > room)
		abort();
	return pread(fd, to, n, at);
}

ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t at, size_t room)
{
	return __pread_chk(fd, to, n, (off_t)at, room);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	sim_find_real();
	return sim_msr_is(fd) ? sim_msr_write(fd, from, n, at)
			      : call(SYS_pwrite64, fd, (long)(intptr_t)from, (long)n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at)
{
	return pwrite(fd, from, n, (off_t)at);
}
