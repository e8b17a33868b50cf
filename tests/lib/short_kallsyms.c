/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * short_kallsyms - to preload into perf: /proc/kallsyms is the file of SHORT_KALLSYMS.
 *
 * perf record reads all of it, for the place of the kernel alone: the most of what it takes for a
 * short program. What perf starts does not have this library.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *path;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("SHORT_KALLSYMS");

	path = at ? strdup(at) : NULL;
	unsetenv("SHORT_KALLSYMS");
	unsetenv("LD_PRELOAD");
}

static const char *instead_of(const char *name)
{
	return path && !strcmp(name, "/proc/kallsyms") ? path : name;
}

/* Compiled with 64-bit offsets, as perf is: its symbol is open64. */
int open(const char *name, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	va_end(more);
	return (int)syscall(SYS_openat, AT_FDCWD, instead_of(name), flags, mode);
}

/* What open() is in a fortified program, if it makes no file. */
int __open64_2(const char *name, int flags);
int __open64_2(const char *name, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, instead_of(name), flags, 0);
}
