/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/dir_held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"

#define LETTERS	  6
#define TRIES	  50
#define LEAST_AGE 5 /* seconds, as a clock may be set */
#define OURS	  01700

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Errors of a file system without locks, or of a filter that refuses them. */
static bool is_lockless(int e)
{
	return e == ENOSYS || e == ENOLCK || e == EOPNOTSUPP || e == EPERM;
}

/* As mkdtemp(), but with its mark from the first moment on: who is killed then leaves it, too. */
static int make_marked(char *path)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = strlen(path);
	uint8_t bytes[LETTERS];

	for (int i = 0; i < 100 && n >= LETTERS; i++) {
		if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			return -1;
		for (size_t k = 0; k < LETTERS; k++)
			path[n - LETTERS + k] = letters[bytes[k] % (sizeof(letters) - 1)];
		if (!mkdir(path, OURS))
			return 0;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* A directory that cannot be locked loses its mark, so that no sweep removes it. */
int dir_held_make(char *path)
{
	int fd, e;

	if (make_marked(path))
		return -1;
	fd = open_dir(path);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
		(void)fchmod(fd, OURS); /* whatever the umask is */
		return fd;
	}
	if (fd >= 0 && is_lockless(errno)) {
		(void)fchmod(fd, OURS & 0777);
		return fd;
	}
	e = errno;
	if (fd >= 0)
		(void)close(fd);
	(void)rmdir(path);
	errno = e;
	return -1;
}

/* The descriptor is taken over. */
static void remove_files(int fd)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;

	if (!d) {
		(void)close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			(void)unlinkat(fd, e->d_name, 0);
	(void)closedir(d);
}

void dir_held_remove(const char *path)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	/* a program that still runs may make one more file meanwhile */
	for (int i = 0; i < TRIES; i++) {
		int fd = open_dir(path);

		if (fd >= 0)
			remove_files(fd);
		if (!rmdir(path) || (errno != ENOTEMPTY && errno != EEXIST))
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static bool has_mark(const char *name, const char *mark)
{
	size_t n = strlen(name), m = strlen(mark);

	return n >= m + LETTERS && !memcmp(name + n - LETTERS - m, mark, m);
}

/* False on file systems of other hosts, which may hold the directory. */
static bool locks_reach_all(int fd)
{
	/* NFS, CIFS, SMB 2, SMB, 9p, FUSE */
	static const uint32_t shared[] = { 0x6969, 0xff534d42, 0xfe534d42,
					   0x517b, 0x01021997, 0x65735546 };

	return fs_type_in(fd, shared, sizeof(shared) / sizeof(*shared)) == 0;
}

static bool dir_is_left(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() && (st.st_mode & 07777) == OURS &&
	       time(NULL) - st.st_mtime >= LEAST_AGE && locks_reach_all(fd) &&
	       !flock(fd, LOCK_EX | LOCK_NB);
}

void dir_held_sweep(const char *parent, const char *mark)
{
	DIR *d = opendir(parent);
	const struct dirent *e;
	char path[4096];

	while (d && (e = readdir(d))) {
		int fd;

		if (!has_mark(e->d_name, mark) || path_join(path, sizeof(path), parent, e->d_name))
			continue;
		fd = open_dir(path);
		if (fd < 0)
			continue;
		if (dir_is_left(fd)) {
			remove_files(fd);
			(void)rmdir(path);
		} else {
			(void)close(fd);
		}
	}
	if (d)
		(void)closedir(d);
}
