/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image - the files that code came from, and the symbol at an address inside one.
 *
 *	set = images_new(&opts, &err)
 *	id = images_add(set, &key, &err)	while the side-band is read: cheap, opens nothing
 *	image_resolve(set, id, addr, n, out)	first use finds and reads the symbols
 *	images_free(set)
 *
 * An image is one (path, build-id) pair, or the kernel, a module, the vdso, one process' JIT code
 * or anonymous memory. Sources of symbols are tried in this order, and image_origin() returns the
 * one used: --symbols directories; the file itself; .gnu_debuglink and build-id paths under
 * /usr/lib/debug; perf's build-id cache (~/.debug); our copies (copies.h); debuginfod's cache;
 * .gnu_debugdata, for Go programs .gopclntab; for the kernel vmlinux by build-id, then
 * /proc/kallsyms if the running kernel's build-id is the recorded one (without a build-id: if
 * release, machine and boot are); for JIT code, also in a removed file or one that is no program,
 * jitdump and /tmp/perf-PID.map (by time: space_jit.c). A file with another build-id is refused,
 * and image_origin() reports it. A missing file is no error: addresses then have no symbol.
 *
 * Addresses are those of map_to_image(): file offsets for files, absolute addresses else.
 * Symbols of an image are kept in a cache on disk, keyed by build-id (symbol/cache.h).
 * Threads: different images may be resolved in parallel; the same image by one thread at a time.
 * Names are demangled (C++, Rust, D) unless opts.raw_names.
 * Functions of a stripped file have at least bounds, from .eh_frame; they are `nameless`.
 */
#ifndef CYCLADE_SYMBOL_IMAGE_H
#define CYCLADE_SYMBOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "symbol/symbol.h"
#include "symbol/elf_file.h"

#define IMAGE_NONE UINT32_MAX

struct arena;
struct images;

struct images_opts {
	const char *const *symbol_dirs; /* --symbols, searched first; NULL-ended or NULL */
	const char *sysroot;		/* put before every path of the recording; NULL: "" */
	const char *cache_dir;		/* NULL: no cache on disk */
	const char *home;		/* for ~/.debug; NULL: not searched */
	const char *perf_cache;		/* perf's cache, before ~/.debug; NULL: that alone */
	const char *copies_dir;		/* of copies.h; NULL: not searched */
	const char *debuginfod;		/* the cache of debuginfod's client; NULL: not searched */
	bool fetch;			/* ask its servers: base/fetcher.h is started */
	const char *kallsyms;		/* for any kernel but a guest's; NULL: /proc/kallsyms */
	const char *vmlinux;		/* tried before all others; NULL: none */
	const char *perf_map_dir;	/* NULL: /tmp */
	bool raw_names;			/* do not demangle */
	/* Why the kernel that runs here is not the recorded one: a sentence without a full stop.
	 * Its symbols are used then only if a build-id vouches for them. NULL: it may be. */
	const char *other_kernel;
	bool trust_paths; /* use files even if no build-id was recorded (default on
				     * in cli: perf does; image_origin has "unverified") */
	bool inodes_here; /* recorded on this machine: inodes can be compared with its files' */
};

enum image_kind {
	IMAGE_FILE,   /* an ELF file by path */
	IMAGE_KERNEL, /* [kernel.kallsyms], [guest.kernel.kallsyms] */
	IMAGE_MODULE, /* a kernel module: path or [name] */
	IMAGE_VDSO,
	IMAGE_ANON,   /* //anon, [heap], memfd: JIT code lives here; one per process */
	IMAGE_JIT,    /* a jitdump, whose code changes over time: addresses are places in it */
	IMAGE_BPF,    /* one KSYMBOL: a program or trampoline; its name is the symbol */
	IMAGE_SCRIPT, /* a function of an interpreted program: addresses are its lines (script.h) */
	IMAGE_OTHER,  /* [vsyscall], [hypervisor], /SYSV..., no code we could name */
};

/* The file of a mapping, as the kernel records it. Numbers of the device and inode that the kernel
 * has for it; ino 0: not known. gen: the inode's generation, 0: not known. */
struct file_identity {
	uint32_t maj, min;
	uint64_t ino, gen;
};

struct image_key {
	enum image_kind kind;
	const char *path;
	const uint8_t *build_id; /* NULL: not recorded */
	size_t build_id_len;
	uint32_t pid;	     /* IMAGE_ANON: whose; else 0 */
	uint64_t start, len; /* IMAGE_KERNEL, _MODULE, _BPF: where it was; for the kernel `reloc` is
			      * the recorded address of its reference symbol (_text) */
	uint64_t reloc;
	bool guest; /* of a virtual machine: this one's files and kernel are not its */
	/* IMAGE_FILE without a build-id: mappings of one path that have different files are
	 * different images */
	struct file_identity file;
};

struct images *images_new(const struct images_opts *opts, struct err *err) MUST_USE;
void images_free(struct images *set);
/* The id of an image, the same for the same key; IMAGE_NONE: there are too many. */
uint32_t images_add(struct images *set, const struct image_key *key, struct err *err) MUST_USE;
/* A process has that mount namespace (by its inode); a process ended. A recorder that reads
 * build-ids when all is over finds the host's files at the paths of those that had another one and
 * ended. */
void images_mount_namespace(struct images *set, uint32_t pid, uint64_t ino);
void images_process_ended(struct images *set, uint32_t pid);
/* Fill in a build-id that the recording gives elsewhere (header feature BUILD_ID) for images of
 * that path that have none. Before the first resolve. */
void images_build_id(struct images *set, const char *path, const uint8_t *id, size_t len);
/* The same for all kernel images whose path begins with `prefix`. */
void images_kernel_build_id(struct images *set, const char *prefix, const uint8_t *id, size_t len);
/* A file that processes of the recording see as `inside` lies at `rest` below the directory `root`
 * here; with the root COPIES_PLACE, `rest` is the id of a copy (copies.h). Before the first mapping
 * is added. */
void images_place(struct images *set, const char *inside, const char *root, const char *rest);
/* A process that mapped the image: while it lives, the file may be below its root directory. */
void images_mapped_by(struct images *set, uint32_t id, uint32_t pid);
/* When all images are added and have their build-ids, before the first name is asked for. */
void images_tell_apart(struct images *set);
size_t images_count(const struct images *set);
const struct image_key *image_key(const struct images *set, uint32_t id);
const char *image_path(const struct images *set, uint32_t id);
/* perf's short name of it: the base name of a file, "[kernel.kallsyms]", "[vdso]", ... Once
 * images_tell_apart() was called, files of one base name whose code differs have different names
 * (image_apart.c). */
const char *image_name(const struct images *set, uint32_t id);
/* A name of the C library, of its threads or loader, or of the vdso: what programs call to wait. */
bool image_name_is_libc(const char *name);
/* The images of this name, one after the other: the first one after `after` (IMAGE_NONE: of all);
 * IMAGE_NONE: there is none any more. Knows the images that images_tell_apart() has seen. */
uint32_t image_named(const struct images *set, const char *name, uint32_t after);

/* For each of n image addresses, ascending: the symbol that covers it, or NULL. A broken or missing
 * file yields NULLs and a reason in image_origin(). */
void image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		   const struct symbol **out);
/* The same, but twins keep their plain names until image_settle(): telling them apart may take
 * reading the image's debug information. */
void image_resolve_late(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
			const struct symbol **out);
/* Settles the names of the symbol and its twins. Not while other threads read them. */
void image_settle(struct images *set, uint32_t id, const struct symbol *s);
/* All symbols of an image, *n of them, sorted by start (for annotate and searches by name). */
const struct symbol *image_symbols(struct images *set, uint32_t id, size_t *n);

/* Where symbols came from or why there are none: "/usr/bin/x, build-id verified", "/usr/bin/x has
 * build-id 12ab.., the recording's is 34cd..: not used". Empty before the first resolve. */
const char *image_origin(const struct images *set, uint32_t id);
/* The recorded build-id is that of a file that is used. */
bool image_verified(const struct images *set, uint32_t id);
/* Symbols were taken for which no build-id vouches. */
bool image_unverified(const struct images *set, uint32_t id);
/* Code of the file was moved onto memory without a file, at its own address, and is named as if it
 * were the same; image_origin() has it. */
bool image_copied(const struct images *set, uint32_t id);
/* A file was there and was not used because it is not the recorded one, or it was used and may have
 * been replaced during the recording (image_identity.c). image_origin() has the reason. */
bool image_mismatch(const struct images *set, uint32_t id);
/* A file that is there, and that could not be read (too many open files, an input error, more
 * memory than files of others may take), or became shorter meanwhile: the failure. Names or lines
 * are missing for it. Empty if all went well. */
const char *image_trouble(const struct images *set, uint32_t id);
/* Why an image without debug information (source_of() is NULL) has none, and what helps; a text of
 * `a`, or static. */
const char *image_debug_lack(struct images *set, uint32_t id, struct arena *a);
/* Who owns the file that has the debug information, which names sources; (uid_t)-1: there is none,
 * and it is nobody's. */
uid_t image_owner(struct images *set, uint32_t id);
/* A file whose symbols were wanted and of which there is nothing here. */
bool image_absent(const struct images *set, uint32_t id);
/* The file that holds the code (for disassembly) and the one that holds debug information (for
 * lines); NULL if not found or not to be trusted. */
const char *image_code_file(struct images *set, uint32_t id);
const char *image_debug_file(struct images *set, uint32_t id);
/* A file that names, code or lines of an image are read from, if it was looked for; each once. */
struct image_part {
	const char *path; /* NULL: below some root */
	const uint8_t *p; /* the images' */
	size_t len;
	const uint8_t *id;
	size_t id_len; /* 0: it has none */
	bool mapped;   /* from a file: not the vdso of this process */
	bool code;
};
size_t image_parts(const struct images *set, uint32_t id, struct image_part out[3]);
bool image_loaded(const struct images *set, uint32_t id); /* its names were asked for */
/* The build-id that an image is known by, the recorded one or else its file's: its length, 0 if
 * there is none. *build_id is the images'. */
size_t image_build_id(struct images *set, uint32_t id, const uint8_t **build_id);
/* File offset <-> the ELF's own virtual address, by its program headers. False: in no segment. */
bool image_to_vaddr(struct images *set, uint32_t id, uint64_t addr, uint64_t *vaddr);
bool image_from_vaddr(struct images *set, uint32_t id, uint64_t vaddr, uint64_t *addr);

#endif
