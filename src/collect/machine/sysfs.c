/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/invariant.h"
#include "base/vec.h"

static bool is_sys_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A captured tree stands for itself: a link in it that leads out of it leads nowhere. */
PRINTF_(3, 0)
static int open_sys(const char *root, int flags, const char *fmt, va_list ap)
{
	char path[PATH_MAX];
	int at = snprintf(path, sizeof(path), "%s/", root), len = -1;

	if (at > 0 && at < PATH_MAX)
		len = vsnprintf(path + at, sizeof(path) - (size_t)at, fmt, ap);
	if (len < 0 || len >= PATH_MAX - at) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return *root ? file_in_below(root, path + at, flags) : file_in_below(NULL, path, flags);
}

PRINTF_(4, 0)
static ssize_t read_sys(char *out, size_t size, const char *root, const char *fmt, va_list ap)
{
	struct stat st;
	ssize_t got = -1;
	int fd = open_sys(root, O_RDONLY | O_NONBLOCK | O_NOCTTY, fmt, ap), saved;

	out[0] = 0;
	if (fd < 0)
		return -1;
	errno = EINVAL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		got = fd_read_full(fd, out, size - 1);
	saved = errno;
	(void)close(fd);
	errno = saved;
	out[got > 0 ? got : 0] = 0;
	if (got < 0)
		return -1;
	while (got && is_sys_blank(out[got - 1]))
		out[--got] = 0;
	return (ssize_t)strlen(out);
}

ssize_t sys_read(char *out, size_t size, const char *root, const char *fmt, ...)
{
	ssize_t len;
	va_list ap;

	va_start(ap, fmt);
	len = read_sys(out, size, root, fmt, ap);
	va_end(ap);
	return len;
}

char *sys_text(struct arena *a, const char *root, const char *fmt, ...)
{
	char text[SYS_TEXT_MAX];
	ssize_t len;
	va_list ap;

	va_start(ap, fmt);
	len = read_sys(text, sizeof(text), root, fmt, ap);
	va_end(ap);
	return len > 0 ? arena_strndup(a, text, (size_t)len) : NULL;
}

bool sys_number(int64_t *out, const char *root, const char *fmt, ...)
{
	char text[64];
	ssize_t len;
	va_list ap;

	va_start(ap, fmt);
	len = read_sys(text, sizeof(text), root, fmt, ap);
	va_end(ap);
	return len > 0 && text_number(out, text, (size_t)len);
}

bool sys_exists(const char *root, const char *fmt, ...)
{
	va_list ap;
	int fd;

	va_start(ap, fmt);
	fd = open_sys(root, O_PATH, fmt, ap);
	va_end(ap);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

bool sys_core_pmu(const char *root, const char *name)
{
	/* Arm and hybrid x86 list a core PMU's CPUs in `cpus`; everything else has `cpumask`. IBS
	 * is of the core and has such a list, too, but has no events of its own to count. */
	return !strcmp(name, "cpu") ||
	       (strncmp(name, "ibs_", 4) != 0 &&
		sys_exists(root, "sys/bus/event_source/devices/%s/cpus", name));
}

static int names_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool sys_names(struct arena *a, const char *const **out, size_t *n, const char *root,
	       const char *fmt, ...)
{
	VEC(const char *) names = VEC_INIT;
	struct dirent *d;
	DIR *dir;
	bool ok = true;
	va_list ap;
	int fd;

	*out = NULL;
	*n = 0;
	va_start(ap, fmt);
	fd = open_sys(root, O_RDONLY | O_DIRECTORY, fmt, ap);
	va_end(ap);
	if (fd < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return false;
	}
	while (ok && names.n < SYS_NAMES_MAX && (d = readdir(dir)))
		if (d->d_name[0] != '.') {
			const char *name = arena_strdup(a, d->d_name);

			ok = name && !vec_push(&names, name);
		}
	vec_sort(&names, names_by_text);
	assert(pairs_hold(names.n, i, names_by_text(&names.v[i], &names.v[i + 1]) < 0));
	if (ok && names.n)
		*out = arena_memdup(a, names.v, names.n * sizeof(*names.v));
	ok = ok && (*out || !names.n);
	*n = ok ? names.n : 0;
	vec_free(&names);
	(void)closedir(dir);
	return ok;
}

bool text_natural(uint64_t *out, const char *s, size_t len)
{
	uint64_t base = 10, v = 0;
	size_t i = 0;

	if (len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		i = 2;
	}
	if (i == len)
		return false;
	for (; i < len; i++) {
		char c = s[i];
		uint64_t d;

		if (c >= '0' && c <= '9')
			d = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			d = (uint64_t)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			d = (uint64_t)(c - 'A') + 10;
		else
			return false;
		if (d >= base || v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	*out = v;
	return true;
}

bool text_number(int64_t *out, const char *s, size_t len)
{
	bool minus = len && *s == '-';
	uint64_t v;

	if (!text_natural(&v, s + minus, len - minus) || v > INT64_MAX)
		return false;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

bool text_field(const char *text, size_t len, const char *key, char sep, const char **value,
		size_t *value_len)
{
	const char *end = text + len;
	size_t key_len = strlen(key);

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *eol = stop ? stop : end;
		const char *colon = memchr(text, sep, (size_t)(eol - text));
		const char *k = colon;

		while (k && k > text && is_sys_blank(k[-1]))
			k--;
		if (k && (size_t)(k - text) == key_len && !memcmp(text, key, key_len)) {
			const char *v = colon + 1;

			while (v < eol && is_sys_blank(*v))
				v++;
			while (eol > v && is_sys_blank(eol[-1]))
				eol--;
			*value = v;
			*value_len = (size_t)(eol - v);
			return true;
		}
		text = stop ? stop + 1 : end;
	}
	return false;
}
