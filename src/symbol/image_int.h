/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_int - inside of the images: image.c (the set, the public calls), image_find.c (which
 * files), image_load.c (symbols of files), image_kernel.c (kernel and modules), image_jit.c (JIT
 * code).
 *
 * An image goes through two steps, each at its first need: located (files found, opened, verified;
 * segments known) and loaded (table of symbols made).
 */
#ifndef CYCLADE_SYMBOL_IMAGE_INT_H
#define CYCLADE_SYMBOL_IMAGE_INT_H

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbol/elf_file.h"
#include "symbol/elf_symbols.h"
#include "symbol/image.h"

struct source;
struct cfi;

struct elf_on_disk {
	char *path; /* NULL: none */
	struct file_map map;
	uint8_t *mem; /* instead of map: malloc'ed bytes */
	struct elf_file elf;
	bool shared; /* all of that is another's of the same image */
};

void elf_on_disk_close(struct elf_on_disk *f);

struct image {
	struct image_key key; /* strings and build-id are the set's */
	const char *name;
	uint32_t next; /* of the same hash, or IMAGE_NONE */
	bool id_later; /* the build-id came after images_add */
	bool located, loaded;
	bool refused;			      /* a file was there, but of another build */
	bool verified;			      /* by build-id */
	bool guessed;			      /* segments from a file of debug information alone */
	bool absolute;			      /* addresses are absolute, not file offsets */
	uint64_t delta;			      /* absolute: what to add to a vaddr */
	struct elf_on_disk code, syms, dwarf; /* may be one file */
	struct elf_on_disk mini;	      /* unpacked .gnu_debugdata */
	struct elf_seg *seg;
	size_t n_seg;
	struct buf origin, refusal;
	struct arena arena; /* demangled names */
	struct sym_list list;
	struct sym_table table;
	struct file_map cached; /* the table's names, where it came from the cache */
	const char *keep_as;	/* the kind under which the cache shall have the table, or NULL */
	uint64_t keep_base;
	size_t demangled;      /* symbols named so far, when all are wanted */
	struct source *source; /* image_more.c */
	bool source_tried;
	struct cfi *cfi;
};

struct images {
	struct images_opts opts;
	struct arena arena;
	VEC(const char *) dirs;
	VEC(struct image *) image;
	struct u64map by_hash;
	pthread_mutex_t lock; /* over what images share: kallsyms */
	struct kernel_symbols *kernel;
	pthread_mutex_t cfi_lock; /* over the call-frame tables of all: unwinders share them */
};

/* image_find.c: find and open the files of an image. 0 even where there is none. */
int image_locate(struct images *set, struct image *im, struct err *err) MUST_USE;
/* Opens `path` and takes what the image still lacks from it, if its build-id is right. */
int image_try_file(struct images *set, struct image *im, const char *path, bool named,
		   struct err *err) MUST_USE;
/* --symbols directories, build-id paths, perf's cache: places that need no path of the image. */
int image_try_by_id(struct images *set, struct image *im, struct err *err) MUST_USE;
bool image_complete(const struct image *im);
/* What to say of how a file was verified. */
void image_say_verified(struct image *im);
void put_build_id(struct buf *b, const uint8_t *id, size_t len);
bool same_build_id(const uint8_t *a, size_t na, const uint8_t *b, size_t nb);

/* image_load.c: fill im->table from what was located. */
int image_load(struct images *set, struct image *im, struct err *err) MUST_USE;
int image_add_symbol(struct image *im, uint64_t start, uint64_t size, const char *name,
		     struct err *err) MUST_USE;

/* The table of an image in the cache on disk, if it is there. */
bool image_load_cached(const struct images *set, struct image *im, const char *kind,
		       uint64_t *base);

/* image_kernel.c */
int image_locate_kernel(struct images *set, struct image *im, struct err *err) MUST_USE;
int image_load_kernel(struct images *set, struct image *im, struct err *err) MUST_USE;
void kernel_symbols_free(struct kernel_symbols *k);

/* image_more.c: the call-frame tables of an image, made at first need, by any thread; NULL where
 * there are none. And its code's bytes, once image_cfi was asked. */
const struct cfi *image_cfi(struct images *set, uint32_t image);
const struct elf_file *image_code_elf(struct images *set, uint32_t image);

/* image_jit.c */
int image_load_jit(struct images *set, struct image *im, struct err *err) MUST_USE;
int image_load_jit_dump(const struct images *set, struct image *im, struct err *err) MUST_USE;
/* Where the dump that a recording calls `path` lies here; false where it is not to be used. */
bool image_jit_path(const struct images *set, const char *path, char *out, size_t size);

#endif
