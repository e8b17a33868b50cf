/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_identity - whether the file at a recorded path is still the file that was mapped.
 *
 * The kernel's MMAP2 records have device, inode and generation of the mapped file. They decide only
 * for images without a build-id in the record itself, and only on the recorded machine:
 * - btrfs and overlayfs have other devices in stat() than in the kernel's records. If the devices
 *   differ, nothing is concluded.
 * - Some file systems (FAT, FUSE, 9p) number a file anew at each mount. Only those of the table
 *   below count.
 * - ext4 gives the inode of a deleted file to the next new one; the generation is another one then.
 *   /proc/PID/maps has no generation, and records made from it have 0.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/fs.h"
#include "base/xalloc.h"
#include "symbol/image/image_set.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* File systems whose files keep their inode number for life. */
static const uint32_t stable_fs[] = {
	EXT4_SUPER_MAGIC, /* ext2 and ext3, too */
	XFS_SUPER_MAGIC,  F2FS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
};

/* ino stays 0 if nothing can be concluded from the number. */
static struct file_identity identity_of(int fd)
{
	struct file_identity id = { 0 };
	uint32_t gen[2] = { 0 };
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    fs_type_in(fd, stable_fs, sizeof(stable_fs) / sizeof(*stable_fs)) != 1)
		return id;
	id.maj = major(st.st_dev);
	id.min = minor(st.st_dev);
	id.ino = st.st_ino;
	/* the file system writes an int, despite the ioctl's number: see ioctl_iflags(2) */
	id.gen = ioctl(fd, FS_IOC_GETVERSION, gen) ? 0 : gen[0];
	return id;
}

bool identity_differs(const struct file_identity *a, const struct file_identity *b)
{
	if (!a->ino || !b->ino || a->maj != b->maj || a->min != b->min)
		return false;
	return a->ino != b->ino || (a->gen && b->gen && a->gen != b->gen);
}

bool identity_same(const struct file_identity *a, const struct file_identity *b)
{
	return a->maj == b->maj && a->min == b->min && a->ino == b->ino && !identity_differs(a, b);
}

/* The kernel's record has the device of the layer, stat() that of the overlay. */
static bool is_of_layer(const struct file_identity *mapped, int fd)
{
	static const uint32_t overlay = OVERLAYFS_SUPER_MAGIC;
	struct stat st;

	return fs_type_in(fd, &overlay, 1) == 1 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_ino == mapped->ino;
}

bool image_is_certain(const struct images *set, const struct image *im, int fd)
{
	struct file_identity here;

	if (!set->opts.inodes_here || !im->key.file.ino)
		return false;
	here = identity_of(fd);
	return here.ino ? identity_same(&here, &im->key.file) : is_of_layer(&im->key.file, fd);
}

/* Whether another image of that path is the file `here`. */
static bool is_anothers(const struct images *set, const struct image *im,
			const struct file_identity *here)
{
	vec_each (&set->image, struct image *const *, it) {
		const struct image_key *k = &(*it)->key;

		if (*it != im && k->kind == IMAGE_FILE && k->file.ino &&
		    identity_same(&k->file, here) && !strcmp(k->path, im->key.path))
			return true;
	}
	return false;
}

static void put_identity(struct buf *b, const struct file_identity *id, bool gen)
{
	buf_printf(b, "inode %llu", (unsigned long long)id->ino);
	if (gen)
		buf_printf(b, ", generation %llu", (unsigned long long)id->gen);
}

static void put_both(struct buf *b, const char *name, const struct file_identity *here,
		     const struct file_identity *mapped)
{
	bool gen = here->ino == mapped->ino;

	buf_printf(b, "%s is another file (", name);
	put_identity(b, here, gen);
	buf_puts(b, ") than the recorded one (");
	put_identity(b, mapped, gen);
	buf_putc(b, ')');
}

enum fit {
	FITS, /* or nothing is known */
	DOUBTFUL,
	ANOTHER,
};

void images_mount_namespace(struct images *set, uint32_t pid, uint64_t ino)
{
	*u64map_xat(&set->mount_ns, pid, NULL) = ino;
}

void images_process_ended(struct images *set, uint32_t pid)
{
	*u64map_xat(&set->ended, pid, NULL) = 1;
}

/* Whether all processes that mapped it saw other mounts than we do, and had ended when their
 * recorder read build-ids: it found files of the host at their paths. */
static bool was_elsewhere(const struct images *set, const struct image *im)
{
	struct stat own;
	size_t i = 0;

	if (!im->pid[0] || !file_look("/proc/self/ns/mnt", &own))
		return false;
	for (; i < sizeof(im->pid) / sizeof(im->pid[0]) && im->pid[i]; i++) {
		const uint64_t *ns = u64map_find(&set->mount_ns, im->pid[i]);

		if (!ns || *ns == own.st_ino || !u64map_find(&set->ended, im->pid[i]))
			return false;
	}
	return true;
}

/* A build-id of the header is that of the path when the recording ended, which may be another
 * image's. */
static enum fit fit_of(const struct images *set, const struct image *im, int fd,
		       struct file_identity *here)
{
	if (!set->opts.inodes_here || set->opts.sysroot || im->key.guest || !im->key.file.ino)
		return FITS;
	*here = identity_of(fd);
	if (!identity_differs(here, &im->key.file))
		return FITS;
	return im->key.build_id_len && !is_anothers(set, im, here) && !was_elsewhere(set, im)
		       ? DOUBTFUL
		       : ANOTHER;
}

bool image_is_replaced(const struct images *set, struct image *im, int fd, const char *name)
{
	bool had_id = im->key.build_id_len;
	struct file_identity here;

	if (fd < 0 || fit_of(set, im, fd, &here) != ANOTHER)
		return false;
	im->key.build_id_len = 0;
	im->refused = true;
	if (!im->refusal.len) {
		put_both(&im->refusal, name, &here, &im->key.file);
		buf_puts(&im->refusal,
			 had_id && was_elsewhere(set, im)
				 ? ", which a process with other mounts had mapped, and the "
				   "recorder took its build-id from here"
				 : ", and the recording has no build-id for it");
		buf_puts(&im->refusal,
			 ": not used; record again, or "
			 "name a directory that has the recorded file with --symbols DIR");
	}
	return true;
}

void image_doubt(const struct images *set, struct image *im, int fd, const char *name)
{
	struct file_identity here;

	if (fd < 0 || im->doubt.len || fit_of(set, im, fd, &here) != DOUBTFUL)
		return;
	put_both(&im->doubt, name, &here, &im->key.file);
	buf_puts(&im->doubt, ": if it was replaced during the recording, its names are wrong");
}
