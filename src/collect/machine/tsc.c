/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/tsc.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/perf_abi.h"

double tsc_hz_of_page(const struct perf_event_mmap_page *page)
{
	if (!page->cap_user_time || !page->time_mult || page->time_shift > 63)
		return NAN;
	return 1e9 * ldexp(1, page->time_shift) / page->time_mult;
}

#if defined(__x86_64__) || defined(__i386__)

/* Leaf 0x15: the crystal's Hz, times a fraction; under some hypervisors, their leaf of kHz. */
static double hz_of_cpuid(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid_count(0x15, 0, &a, &b, &c, &d) && a && b && c)
		return (double)c * b / a;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return NAN;
	__cpuid(0x40000000, a, b, c, d);
	if (a < 0x40000010 || a > 0x400000ff)
		return NAN;
	__cpuid(0x40000010, a, b, c, d);
	return a ? 1e3 * a : NAN;
}

static double tsc_hz_of_kernel(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	double hz = NAN;
	void *page;

	if (fd < 0)
		return NAN;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		hz = tsc_hz_of_page(page);
		(void)munmap(page, size);
	}
	(void)close(fd);
	return hz;
}

double tsc_hz(void)
{
	double hz = tsc_hz_of_kernel();

	return isnan(hz) ? hz_of_cpuid() : hz;
}
#else
double tsc_hz(void)
{
	return NAN;
}
#endif

double tsc_hz_of_name(const char *cpu_desc)
{
	const char *at = cpu_desc ? strrchr(cpu_desc, '@') : NULL;
	char *end;
	double ghz = at ? strtod(at + 1, &end) : 0;

	return ghz > 0 && ghz < 100 && !strncmp(end, "GHz", 3) ? ghz * 1e9 : NAN;
}
