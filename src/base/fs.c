/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int dir_make_all(const char *path, mode_t mode, struct err *err)
{
	char part[4096];
	size_t len = strlen(path);

	if (!len || len >= sizeof(part))
		return err_set(err, ERR_USAGE, "%.60s: not a usable directory name", path);
	memcpy(part, path, len + 1);
	for (char *s = part + 1;; s++) {
		char c = *s;

		if (c && c != '/')
			continue;
		*s = '\0';
		if (mkdir(part, mode) && errno != EEXIST)
			return err_sys(err, "%s", part);
		if (!c)
			return 0;
		*s = c;
	}
}

int path_join(char *out, size_t size, const char *a, const char *b)
{
	size_t len = strlen(a);
	int n;

	while (len && a[len - 1] == '/')
		len--;
	while (*b == '/')
		b++;
	n = snprintf(out, size, "%.*s/%s", (int)len, a, b);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int path_dir(char *out, size_t size, const char *path)
{
	const char *base = path_base(path);
	size_t len = (size_t)(base - path);

	if (!len)
		path = ".";
	if (len != 1) /* "/" keeps its slash */
		len = len ? len - 1 : 1;
	if (len >= size)
		return -1;
	memcpy(out, path, len);
	out[len] = '\0';
	return 0;
}

bool path_is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && (!path[len] || path[len] == '/' || len == 1);
}

/* Whether the last part of out[0..n) may be taken back by "..": there is one, and it is none. */
static bool can_drop(const char *out, size_t n)
{
	return n &&
	       !(n >= 2 && out[n - 1] == '.' && out[n - 2] == '.' && (n == 2 || out[n - 3] == '/'));
}

int path_lexical(char *out, size_t size, const char *path)
{
	bool absolute = path[0] == '/';
	size_t root = absolute, n = root;

	if (size < root + 1)
		return -1;
	if (absolute)
		out[0] = '/';
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.' &&
		    (absolute || can_drop(out, n))) {
			while (n > root && out[n - 1] != '/')
				n--;
			if (n > root)
				n--;
		} else if (len && !(len == 1 && path[0] == '.')) {
			if (n + 1 + len >= size)
				return -1;
			if (n > root)
				out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/';
	}
	out[n] = '\0';
	return 0;
}

int fs_type_in(int fd, const uint32_t *type, size_t n)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return -1;
	for (size_t i = 0; i < n; i++)
		if ((uint32_t)fs.f_type == type[i])
			return 1;
	return 0;
}
