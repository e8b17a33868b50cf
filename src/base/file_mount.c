/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/file_mount.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/fs.h"

struct mounted {
	struct mounted *next;
	int (*open_at)(void *ctx, const char *path);
	void *ctx;
	char root[];
};

static pthread_mutex_t mounts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mounted *mounts;

int file_in_mount(const char *root, int (*open_at)(void *ctx, const char *path), void *ctx,
		  struct err *err)
{
	size_t len = strlen(root) + 1;
	struct mounted *m = malloc(sizeof(*m) + len);

	if (!m)
		return err_nomem(err);
	m->open_at = open_at;
	m->ctx = ctx;
	memcpy(m->root, root, len);
	(void)pthread_mutex_lock(&mounts_lock);
	m->next = mounts;
	mounts = m;
	(void)pthread_mutex_unlock(&mounts_lock);
	return 0;
}

void file_in_unmount(const void *ctx)
{
	(void)pthread_mutex_lock(&mounts_lock);
	for (struct mounted **at = &mounts; *at; at = &(*at)->next)
		if ((*at)->ctx == ctx) {
			struct mounted *m = *at;

			*at = m->next;
			free(m);
			break;
		}
	(void)pthread_mutex_unlock(&mounts_lock);
}

static struct mounted *mount_of(const char *root)
{
	struct mounted *m = root ? mounts : NULL;

	while (m && strcmp(m->root, root) != 0)
		m = m->next;
	return m;
}

bool file_in_mounted(const char *root)
{
	bool is;

	(void)pthread_mutex_lock(&mounts_lock);
	is = mount_of(root);
	(void)pthread_mutex_unlock(&mounts_lock);
	return is;
}

int file_mount_open(const char *root, const char *path, struct stat *st, struct err *err)
{
	char inside[PATH_MAX];
	struct mounted *m;
	int fd = FILE_NOT_MOUNTED;

	if (!root)
		return FILE_NOT_MOUNTED;
	(void)pthread_mutex_lock(&mounts_lock);
	m = mount_of(root);
	if (m) {
		inside[0] = '/';
		errno = ENAMETOOLONG;
		fd = path_lexical(inside + (*path != '/'), sizeof(inside) - 1, path)
			     ? -1
			     : m->open_at(m->ctx, inside);
		if (fd >= 0 && fstat(fd, st)) {
			(void)close(fd);
			fd = -1;
		}
		if (fd < 0)
			(void)err_sys(err, "%s", path);
		else /* nobody else has it, whatever the kernel calls its mode */
			st->st_mode = S_IFREG | 0600;
	}
	(void)pthread_mutex_unlock(&mounts_lock);
	return fd;
}
