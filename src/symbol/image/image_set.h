/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_set - inside of the images: image.c (the set, the public calls), image_apart.c (files of
 * one base name), image_find.c (which files), image_identity.c (replaced files), image_load.c
 * (symbols of files), image_names.c (their names), image_kernel.c (kernel and modules),
 * image_jit.c (JIT code).
 *
 * An image goes through two steps, each at its first need: located (files found, opened, verified;
 * segments known) and loaded (table of symbols made).
 */
#ifndef CYCLADE_SYMBOL_IMAGE_SET_H
#define CYCLADE_SYMBOL_IMAGE_SET_H

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/elf/elf_symbols.h"
#include "symbol/image.h"

struct source;
struct cfi;

struct elf_on_disk {
	char *path;	  /* NULL: none; begins with the root that it was opened below */
	size_t root_len;  /* of that root; 0: none, or it is not shown */
	const char *root; /* the set's, or NULL: a root that is not shown (file_in_mounted) */
	struct file_map map;
	uid_t owner;
	uint8_t *mem; /* instead of map: malloc'ed bytes */
	struct elf_file elf;
	bool shared; /* all of that is another's of the same image */
};

void elf_on_disk_close(struct elf_on_disk *f);
struct image;
/* Keeps why a file could not be read for image_trouble(), unless it is not there or not for us. */
void image_failed(struct image *im, const struct err *why);

/* Whether the files with its symbols were cut short, or written to, since they were opened. */
bool image_changed(const struct image *im);

struct image {
	struct image_key key; /* strings and build-id are the set's */
	const char *name;
	uint32_t next;	 /* of the same hash, or IMAGE_NONE */
	uint32_t pid[4]; /* some that mapped it; 0: none */
	bool id_later;	 /* the build-id came after images_add */
	bool located, loaded;
	bool refused;			      /* a file was there, but of another build */
	bool link_other;		      /* so was that of .gnu_debuglink */
	bool verified;			      /* by build-id */
	bool guessed;			      /* segments from a file of debug information alone */
	bool copied;			      /* its code was moved onto memory without a file */
	bool absolute;			      /* addresses are absolute, not file offsets */
	uint64_t delta;			      /* absolute: added to a vaddr */
	struct elf_on_disk code, syms, dwarf; /* may be one file */
	struct elf_on_disk mini;	      /* unpacked .gnu_debugdata */
	struct elf_seg *seg;
	size_t n_seg;
	struct buf origin, refusal, doubt, trouble, link;
	struct arena arena; /* demangled names */
	struct sym_list list;
	struct sym_table table;
	/* data.c: variables, by ELF virtual addresses, made at first need */
	struct sym_list objects;
	struct sym_table variables;
	bool has_variables;
	size_t charged;		/* for a list of others: base/file_in.h */
	struct file_map cached; /* the table's names, if it came from the cache */
	const char *keep_as;	/* the kind under which the cache shall have the table, or NULL */
	uint64_t keep_base;
	size_t demangled; /* symbols named so far, when all are wanted */
	/* image_names.c: plain name -> index + 1 of the first symbol that was asked for by it; and
	 * the symbols that share linkage names, sorted by these */
	struct u64map by_name;
	VEC(uint32_t) twins;
	struct source *source;
	bool source_tried;
	struct types *types;
	struct cfi *cfi;
};

struct place_of { /* images_place() */
	const char *inside, *root, *rest;
};

struct image_of_path {
	uint32_t image;
	uint32_t next; /* of the same path; IMAGE_NONE: none */
};

struct images {
	struct images_opts opts;
	const char *archive; /* the sysroot, if it is that of an archive (perfdata/archive.h) */
	struct arena arena;
	VEC(const char *) dirs;
	VEC(struct place_of) places, copies; /* copies: `rest` is an id of copies.h */
	VEC(struct image *) image;
	struct u64map by_hash;
	struct u64map by_path;	   /* hash of a path -> the last of of_path */
	struct u64map dump_of;	   /* pid -> the image that its runtime's dump is */
	struct u64map mount_ns;	   /* pid -> inode of its mount namespace, as recorded */
	struct u64map ended;	   /* pids of processes that ended while it was recorded */
	struct u64map perf_map_of; /* pid -> whether it left a perf-PID.map */
	VEC(struct image_of_path) of_path;
	/* image_named(): hash of a name -> its first image; of an image the next of that hash */
	struct u64map by_name;
	VEC(uint32_t) next_named;
	pthread_mutex_t lock; /* over data that images share: kallsyms */
	struct kernel_symbols *kernel;
	pthread_mutex_t cfi_lock; /* over the call-frame tables of all: unwinders share them */
};

void image_index_add(struct images *set, uint32_t image); /* a new one */
void image_index_free(struct images *set);
void image_index_names(struct images *set); /* once all have their names */
/* A small file of the recorded machine, whole. */
int images_slurp(const struct images *set, struct buf *out, const char *path, size_t limit,
		 struct err *err) MUST_USE;
/* The file that the runtime of a process wrote about its code; NULL: there is none, or its code is
 * in images of kind IMAGE_JIT. The images'. */
const char *image_dump_path(const struct images *set, uint32_t pid);

/* image_find.c: find and open the files of an image, if there are any. */
void image_locate(struct images *set, struct image *im);
/* Opens `path`, below `root` if that is not NULL, and takes the parts from it that the image still
 * lacks, if its build-id is right. */
void image_try_file(struct images *set, struct image *im, const char *root, const char *path,
		    bool named);
/* --symbols directories, build-id paths, perf's cache: places that need no path of the image. */
void image_try_by_id(struct images *set, struct image *im);
/* The length of a path without the " (deleted)" that the kernel puts behind it. */
size_t image_live_len(const char *path);
/* image_inside.c: the files of processes that see another root directory. The place to read
 * `inside` from, or NULL. */
const struct place_of *image_place_of(const struct images *set, const char *inside);
/* The id of a copy of what a runtime wrote there (copies.h), or NULL. */
const char *image_copy_of(const struct images *set, const char *inside);
void image_try_places(struct images *set, struct image *im);
void image_try_processes(struct images *set, struct image *im);
/* The same with a file of a process that sees another root, opened already; takes over `fd`. */
void image_try_fd(struct images *set, struct image *im, int fd, const struct stat *st,
		  const char *root, const char *path);
bool image_complete(const struct image *im);
/* Puts how a file was verified into the origin. */
void image_say_verified(struct image *im);
void put_build_id(struct buf *b, const uint8_t *id, size_t len);
/* "build-id ID, the recording's is ID" */
void image_put_ids(struct buf *b, const struct image *im, const uint8_t *id, size_t len);
bool same_build_id(const uint8_t *a, size_t na, const uint8_t *b, size_t nb);

/* image_identity.c. differs: certainly two files, by inodes or generations of one device. same: one
 * device, one inode, no two generations. Neither holds for two devices. */
bool identity_differs(const struct file_identity *a, const struct file_identity *b);
bool identity_same(const struct file_identity *a, const struct file_identity *b);
/* Whether the open file is certainly not the recorded one; then sets the refusal, and drops a
 * build-id of the header that is another image's. fd -1: false. Does not close it. */
bool image_is_replaced(const struct images *set, struct image *im, int fd, const char *name);
/* Returns true if the open file certainly is the recorded one, by its inode. */
bool image_is_certain(const struct images *set, const struct image *im, int fd);
/* Sets the doubt if the open file has the header's build-id, but not the recorded inode. */
void image_doubt(const struct images *set, struct image *im, int fd, const char *name);

/* image_load.c: fill im->table from the located files. */
void image_load(struct images *set, struct image *im);
void image_add_symbol(struct image *im, uint64_t start, uint64_t size, const char *name);

/* The table of an image in the cache on disk, if it is there. */
bool image_load_cached(const struct images *set, struct image *im, const char *kind,
		       uint64_t *base);

/* image_kernel.c */
void image_locate_kernel(struct images *set, struct image *im);
void image_load_kernel(struct images *set, struct image *im);
void kernel_symbols_free(struct kernel_symbols *k);

/* The call-frame tables of an image, made at first need, by any thread. And its
 * code's bytes, once image_cfi was asked. */
const struct cfi *image_cfi(struct images *set, uint32_t image);
const struct elf_file *image_code_elf(struct images *set, uint32_t image);

#define VDSO32 "[vdso32]" /* of a 32-bit program, by perf's name for it */

/* The mapped file has no name any more. */
static inline bool image_is_removed(const char *path)
{
	return path[image_live_len(path)] != 0;
}
/* Code of the image was copied onto memory without a file, and is named as if it were the same. */
void image_was_copied(struct images *set, uint32_t image);

/* image_jit.c */
/* Whether a process left a list of the code that it made. */
bool image_has_perf_map(struct images *set, uint32_t pid);
/* Whether a mapped file without a build-id is such a process' memory for code: removed, or no
 * program. */
bool image_is_jit_memory(struct images *set, const char *path, uint32_t pid);
void image_load_jit(struct images *set, struct image *im);
void image_load_jit_dump(const struct images *set, struct image *im);
/* The dump that is an image; false if it is not here, or not to be used. `path` (of 4096 bytes) is
 * set to where it was looked for. */
bool image_jit_map(const struct images *set, struct image *im, struct file_map *map, char *path);

#endif
