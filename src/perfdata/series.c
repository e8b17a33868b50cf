/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/vec.h"

#define PARTS	 8u /* of most_bytes: a file of a bounded series has no more */
#define PATH_TOP 4096

struct kept_file {
	char *path;
	uint64_t bytes;
};

struct series {
	char path[PATH_TOP];
	struct series_limit limit;
	uint64_t began, kept_bytes;
	size_t removed;
	VEC(struct kept_file) file; /* the oldest first */
};

int series_new(struct series **out, const char *path, const struct series_limit *limit,
	       struct err *err)
{
	struct series *s;

	*out = NULL;
	if (strlen(path) + SERIES_STAMP + 2 > PATH_TOP)
		return err_set(err, ERR_USAGE, "%.60s...: the path is too long", path);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	s->limit = *limit;
	if (limit->most_bytes &&
	    (!limit->every_bytes || limit->every_bytes > limit->most_bytes / PARTS))
		s->limit.every_bytes = limit->most_bytes / PARTS;
	*out = s;
	return 0;
}

void series_begin(struct series *s, uint64_t now)
{
	s->began = now;
}

bool series_due(const struct series *s, uint64_t now, uint64_t bytes)
{
	return (s->limit.every_ns && now - s->began >= s->limit.every_ns) ||
	       (s->limit.every_bytes && bytes >= s->limit.every_bytes);
}

/* A file that somebody else has removed or replaced by a directory is none of ours any more. */
static void remove_oldest(struct series *s)
{
	struct kept_file *f = &s->file.v[0];

	(void)unlink(f->path);
	s->kept_bytes -= f->bytes;
	s->removed++;
	free(f->path);
	memmove(f, f + 1, --s->file.n * sizeof(*f));
}

bool series_room(struct series *s, uint64_t bytes)
{
	uint64_t most = s->limit.most_bytes;

	if (!most)
		return true;
	if (bytes > most)
		return false;
	while (s->file.n && s->kept_bytes > most - bytes)
		remove_oldest(s);
	return true;
}

/* A name that is free: hundredths of a second count on if it is not. */
static int give_name(const struct series *s, struct timespec wall, char out[PATH_TOP],
		     struct err *err)
{
	unsigned part = (unsigned)(wall.tv_nsec / 10000000);
	char stamp[32];
	struct tm tm;

	for (unsigned i = 0; i < 1000; i++, part++) {
		time_t t = wall.tv_sec + part / 100;
		int rc;

		if (!localtime_r(&t, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm))
			return err_set(err, ERR_IO, "the time of day has no name");
		if (snprintf(out, PATH_TOP, "%s.%s%02u", s->path, stamp, part % 100) >= PATH_TOP)
			return err_set(err, ERR_USAGE, "%.60s...: the path is too long", s->path);
		rc = renameat2(AT_FDCWD, s->path, AT_FDCWD, out, RENAME_NOREPLACE);
		if (rc && errno == EINVAL && !file_look(out, NULL)) /* not on this file system */
			rc = rename(s->path, out);
		if (!rc)
			return 0;
		if (errno != EEXIST && errno != EINVAL)
			break;
	}
	return err_sys(err, "%s: giving it the name %s", s->path, out);
}

int series_keep(struct series *s, struct timespec wall, struct err *err)
{
	char path[PATH_TOP] = "";
	struct kept_file f;
	struct stat st;

	if (give_name(s, wall, path, err))
		return -1;
	f.path = strdup(path);
	f.bytes = file_look(path, &st) ? (uint64_t)st.st_size : 0;
	if (!f.path || vec_push(&s->file, f)) {
		free(f.path);
		return err_nomem(err);
	}
	s->kept_bytes += f.bytes;
	while (s->limit.most_files && s->file.n > s->limit.most_files)
		remove_oldest(s);
	return 0;
}

const char *series_last(const struct series *s)
{
	return s->file.n ? vec_last(&s->file)->path : NULL;
}

size_t series_kept(const struct series *s, size_t *removed, uint64_t *bytes)
{
	*removed = s->removed;
	*bytes = s->kept_bytes;
	return s->file.n;
}

void series_free(struct series *s)
{
	if (!s)
		return;
	vec_each (&s->file, struct kept_file *, f)
		free(f->path);
	vec_free(&s->file);
	free(s);
}

static bool is_stamped(const char *name, const char *base, size_t len)
{
	return !strncmp(name, base, len) && name[len] == '.' &&
	       strspn(name + len + 1, "0123456789") == SERIES_STAMP &&
	       !name[len + 1 + SERIES_STAMP];
}

bool series_newest(char *out, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char dir[PATH_TOP], newest[256] = "";
	const struct dirent *e;
	int n;
	DIR *d;

	if (snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 2,
		     slash ? path : "./") >= (int)sizeof(dir))
		return false;
	d = opendir(dir);
	while (d && (e = readdir(d)))
		if (is_stamped(e->d_name, base, strlen(base)) && strcmp(e->d_name, newest) > 0 &&
		    strlen(e->d_name) < sizeof(newest))
			memcpy(newest, e->d_name, strlen(e->d_name) + 1);
	if (d)
		(void)closedir(d);
	n = *newest ? snprintf(out, size, "%s%s", slash ? dir : "", newest) : -1;
	return n > 0 && (size_t)n < size;
}
