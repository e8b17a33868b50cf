/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of processes that see another root directory: containers, chroots.
 *
 * A path of the recording is one inside. Its file is looked for at the place that was remembered
 * while it was recorded, and, while a process lives that mapped it, below that process' root
 * directory or as the program it runs. Numbers of processes are used again and owners of containers
 * are strangers: below a process only a file with the recorded build-id is taken (with the recorded
 * inode, if the recording has no build-id), and files are opened so that nothing in the path leads
 * out of the root (file_in_open).
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "symbol/copies.h"
#include "symbol/image/image_set.h"

void images_place(struct images *set, const char *inside, const char *root, const char *rest)
{
	struct place_of p = { arena_xstrdup(&set->arena, inside), arena_xstrdup(&set->arena, root),
			      arena_xstrdup(&set->arena, rest) };

	if (strcmp(root, COPIES_PLACE) != 0)
		vec_xpush(&set->places, p);
	else
		vec_xpush(&set->copies, p);
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

const char *image_copy_of(const struct images *set, const char *inside)
{
	vec_each (&set->copies, const struct place_of *, p)
		if (!strcmp(p->inside, inside))
			return p->rest;
	return NULL;
}

void image_try_places(struct images *set, struct image *im)
{
	if (set->opts.sysroot || im->key.guest)
		return;
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
		else if (fd >= 0)
			image_try_fd(set, im, fd, &st, p->root, p->rest);
	}
}

/* The file at a path of a process: by the recorded build-id, or else by its inode. */
static void try_process_file(struct images *set, struct image *im, const char *root,
			     const char *path, unsigned how)
{
	struct err why = ERR_INIT;
	struct stat st;
	int fd = file_in_open(root, path, how, &st, &why);

	image_failed(im, &why);
	if (fd >= 0 && !im->key.build_id_len && !image_is_certain(set, im, fd))
		(void)close(fd);
	else if (fd >= 0)
		image_try_fd(set, im, fd, &st, root, path);
}

void image_try_processes(struct images *set, struct image *im)
{
	size_t len = image_live_len(im->key.path);
	char path[4096];

	if (im->code.path || im->key.guest || im->key.path[0] != '/' || set->opts.sysroot ||
	    len >= sizeof(path) ||
	    (!im->key.build_id_len && (!set->opts.inodes_here || !im->key.file.ino)))
		return;
	(void)snprintf(path, sizeof(path), "%.*s", (int)len, im->key.path);
	for (size_t i = 0; i < sizeof(im->pid) / sizeof(im->pid[0]) && im->pid[i] && !im->code.path;
	     i++) {
		char root[64], exe[64];

		(void)snprintf(root, sizeof(root), "/proc/%u/root", im->pid[i]);
		try_process_file(set, im, root, path, FILE_IN_LINKS);
		(void)snprintf(exe, sizeof(exe), "/proc/%u/exe", im->pid[i]);
		if (!im->code.path)
			try_process_file(set, im, NULL, exe, FILE_IN_PROC);
	}
}
