/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of processes that see another root directory: containers, chroots.
 *
 * A path of the recording is one inside. Its file is looked for at the place that was remembered
 * while it was recorded, and, while a process lives that mapped it, below that process' root
 * directory or as the program it runs. Numbers of processes are used again and owners of containers
 * are strangers: below a process only a file with the recorded build-id is taken, and files are
 * opened so that nothing in the path leads out of the root (file_in_open).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/image/image_set.h"

int images_place(struct images *set, const char *inside, const char *root, const char *rest,
		 struct err *err)
{
	struct place_of p = { arena_strdup(&set->arena, inside), arena_strdup(&set->arena, root),
			      arena_strdup(&set->arena, rest) };

	if (!p.inside || !p.root || !p.rest || vec_push(&set->places, p))
		return err_nomem(err);
	return 0;
}

void images_mapped_by(struct images *set, uint32_t id, uint32_t pid)
{
	struct image *im = set->image.v[id];

	for (size_t i = 0; i < sizeof(im->pid) / sizeof(im->pid[0]) && im->pid[i] != pid; i++) {
		if (!im->pid[i]) {
			im->pid[i] = pid;
			return;
		}
	}
}

const struct place_of *image_place_of(const struct images *set, const char *inside)
{
	vec_each (&set->places, const struct place_of *, p)
		if (!strcmp(p->inside, inside))
			return p;
	return NULL;
}

int image_try_places(struct images *set, struct image *im, struct err *err)
{
	if (set->opts.sysroot || im->key.guest)
		return 0;
	for (size_t i = 0; i < set->places.n && !image_complete(im); i++) {
		const struct place_of *p = &set->places.v[i];
		struct err why = ERR_INIT;
		char name[4096];
		struct stat st;
		int fd;

		if (strcmp(p->inside, im->key.path) != 0)
			continue;
		fd = file_in_open(p->root, p->rest, FILE_IN_LINKS, &st, &why);
		image_failed(im, &why);
		(void)snprintf(name, sizeof(name), "%s%s", p->root, p->rest);
		if (image_is_replaced(set, im, fd, name))
			(void)close(fd);
		else if (fd >= 0 && image_try_fd(set, im, fd, &st, p->root, p->rest, err))
			return -1;
	}
	return 0;
}

/* The path without the " (deleted)" that the kernel puts behind it. */
static int live_path(const char *path, char *out, size_t size)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(gone) - 1;

	if (len > tail && !strcmp(path + len - tail, gone))
		len -= tail;
	return snprintf(out, size, "%.*s", (int)len, path) < (int)size ? 0 : -1;
}

int image_try_processes(struct images *set, struct image *im, struct err *err)
{
	char path[4096];

	if (im->code.path || !im->key.build_id_len || im->key.guest || im->key.path[0] != '/' ||
	    set->opts.sysroot || live_path(im->key.path, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < sizeof(im->pid) / sizeof(im->pid[0]) && im->pid[i]; i++) {
		char root[64], name[64];
		struct err why = ERR_INIT;
		struct stat st;
		int fd;

		(void)snprintf(root, sizeof(root), "/proc/%u/root", im->pid[i]);
		fd = file_in_open(root, path, FILE_IN_LINKS, &st, &why);
		if (fd >= 0 && image_try_fd(set, im, fd, &st, root, path, err))
			return -1;
		(void)snprintf(name, sizeof(name), "/proc/%u/exe", im->pid[i]);
		fd = im->code.path ? -1 : file_in_open(NULL, name, FILE_IN_PROC, &st, &why);
		image_failed(im, &why);
		if (fd >= 0 && image_try_fd(set, im, fd, &st, NULL, name, err))
			return -1;
		if (im->code.path)
			return 0;
	}
	return 0;
}
