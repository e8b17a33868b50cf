/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which files an image's code, symbols and debug information are read from.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fetcher.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "symbol/copies.h"
#include "symbol/elf/file_crc.h"
#include "symbol/image/image_set.h"

void elf_on_disk_close(struct elf_on_disk *f)
{
	if (!f->shared) {
		elf_file_free(&f->elf);
		file_map_close(&f->map);
		free(f->mem);
		free(f->path);
	}
	memset(f, 0, sizeof(*f));
}

struct opened {
	int fd;
	struct stat st;
	bool copy; /* its numbers of users are those of a container */
	const char *root, *path;
	bool archive; /* the root is that of an archive */
};

/* Takes over the descriptor. */
static int elf_on_disk_read(struct elf_on_disk *f, const struct opened *o, struct err *err)
{
	const char *root = o->root ? o->root : "";
	size_t size = strlen(root) + strlen(o->path) + 2;

	memset(f, 0, sizeof(*f));
	if (o->archive)
		root = "";
	f->path = xmalloc(size);
	(void)snprintf(f->path, size, "%s%s%s", root, *root && o->path[0] != '/' ? "/" : "",
		       o->path);
	f->root_len = strlen(root);
	f->root = o->archive ? o->root : NULL;
	f->owner = o->st.st_uid;
	if (!file_in_map(&f->map, o->fd, &o->st, o->copy, f->path, err) &&
	    !elf_file_read(&f->elf, f->map.p, f->map.len, f->path, err))
		return 0;
	elf_on_disk_close(f);
	return -1;
}

void put_build_id(struct buf *b, const uint8_t *id, size_t len)
{
	char hex[2 * 64 + 1];

	text_hex(hex, id, len < 64 ? len : 64);
	buf_puts(b, hex);
}

void image_put_ids(struct buf *b, const struct image *im, const uint8_t *id, size_t len)
{
	buf_puts(b, len ? "build-id " : "no build-id");
	put_build_id(b, id, len);
	buf_puts(b, ", the recording's is ");
	put_build_id(b, im->key.build_id, im->key.build_id_len);
}

/* Recordings keep 20 bytes and fill up shorter ids with zeros, or cut longer ones. */
bool same_build_id(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	size_t n = na > nb ? na : nb;

	if (n > BUILD_ID_MAX)
		n = BUILD_ID_MAX;
	for (size_t i = 0; i < n; i++) {
		if ((i < na ? a[i] : 0) != (i < nb ? b[i] : 0))
			return false;
	}
	return n > 0;
}

static bool file_has_code(const struct elf_file *f)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;

	for (size_t i = 0; i < f->n_sec; i++) {
		if ((f->sec[i].flags & code) == code && f->sec[i].type == SHT_PROGBITS &&
		    f->sec[i].data)
			return true;
	}
	for (size_t i = 0; !f->n_sec && i < f->n_seg; i++) {
		if (f->seg[i].type == PT_LOAD && (f->seg[i].flags & PF_X) && f->seg[i].filesz)
			return true;
	}
	return false;
}

static bool file_has_dwarf(const struct elf_file *f)
{
	return elf_section(f, ".debug_info") || elf_section(f, ".zdebug_info") ||
	       elf_section(f, ".debug_line");
}

bool image_complete(const struct image *im)
{
	return im->code.path && im->syms.path && im->dwarf.path;
}

/* The first that takes a file has it, the others share it. */
static void share_file(struct elf_on_disk *into, struct elf_on_disk *from, bool wanted)
{
	if (into->path || !wanted)
		return;
	*into = *from;
	from->shared = true;
}

/* The build-id that an image's files must have: the recorded one, else that of its code. */
static size_t wanted_id(const struct image *im, const uint8_t **id)
{
	if (im->key.build_id_len) {
		*id = im->key.build_id;
		return im->key.build_id_len;
	}
	return im->code.path ? elf_build_id(&im->code.elf, id) : 0;
}

size_t image_build_id(struct images *set, uint32_t id, const uint8_t **build_id)
{
	struct image *im = set->image.v[id];

	image_locate(set, im);
	return wanted_id(im, build_id);
}

enum verdict { REFUSED, VERIFIED, UNVERIFIED };

static enum verdict judge_file(const struct images *set, struct image *im,
			       const struct elf_on_disk *f, bool named)
{
	const uint8_t *id = NULL, *want = NULL;
	size_t n = elf_build_id(&f->elf, &id), n_want = wanted_id(im, &want);

	if (n_want) {
		if (n && same_build_id(id, n, want, n_want))
			return VERIFIED;
		if (!im->refusal.len && im->key.build_id_len) {
			buf_printf(&im->refusal, "%s has ", f->path);
			image_put_ids(&im->refusal, im, id, n);
			buf_puts(&im->refusal, ": not used");
			im->refused = true;
		}
		return REFUSED;
	}
	/* a file that the user named, or that a checksum vouches for, needs no build-id */
	if (named || set->opts.trust_paths)
		return UNVERIFIED;
	im->refused = true;
	if (!im->refusal.len)
		buf_printf(&im->refusal, "%s: the recording has no build-id for it: not used",
			   f->path);
	return REFUSED;
}

/* That it is not there is the common case and worth no word. */
static void note_unread_file(struct image *im, const struct err *why)
{
	image_failed(im, why);
	if (why->code != ERR_NOT_FOUND && why->sys_errno != ENOTDIR && !im->refusal.len)
		buf_puts(&im->refusal, why->what);
}

/* Takes the missing parts of the image from an open file, if its build-id is right; closes it. */
static void use_file(struct images *set, struct image *im, struct elf_on_disk *f, bool named)
{
	enum verdict v = judge_file(set, im, f, named);

	if (v != REFUSED) {
		if (v == VERIFIED)
			im->verified = im->key.build_id_len > 0;
		share_file(&im->code, f, file_has_code(&f->elf));
		share_file(&im->syms, f, elf_has_symtab(&f->elf));
		share_file(&im->dwarf, f, file_has_dwarf(&f->elf));
	}
	elf_on_disk_close(f);
}

static void use_opened(struct images *set, struct image *im, const struct opened *o, bool named)
{
	struct err why = ERR_INIT;
	struct elf_on_disk f;

	if (elf_on_disk_read(&f, o, &why))
		note_unread_file(im, &why);
	else
		use_file(set, im, &f, named);
}

void image_try_file(struct images *set, struct image *im, const char *root, const char *path,
		    bool named)
{
	struct opened o = { .root = root, .path = path, .archive = root && root == set->archive };
	struct err why = ERR_INIT;

	if (image_complete(im))
		return;
	o.fd = file_in_open(root, path, FILE_IN_LINKS, &o.st, &why);
	if (o.fd >= 0)
		use_opened(set, im, &o, named);
	else if (!S_ISDIR(o.st.st_mode)) /* perf's cache has directories of such names */
		note_unread_file(im, &why);
}

void image_try_fd(struct images *set, struct image *im, int fd, const struct stat *st,
		  const char *root, const char *path)
{
	struct opened o = { .fd = fd, .st = *st, .copy = true, .root = root, .path = path };
	struct err why = ERR_INIT;
	struct elf_on_disk f;

	if (elf_on_disk_read(&f, &o, &why))
		image_failed(im, &why);
	else
		use_file(set, im, &f, false);
}

static void try_printf(struct images *set, struct image *im, const char *root, bool named,
		       const char *fmt, ...) PRINTF_(5, 6);

static void try_printf(struct images *set, struct image *im, const char *root, bool named,
		       const char *fmt, ...)
{
	char path[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(path))
		image_try_file(set, im, root, path, named);
}

struct id_text {
	char first[3], rest[BUILD_ID_MAX * 2];
};

static bool id_text(const struct image *im, struct id_text *t)
{
	const uint8_t *id = NULL;
	size_t n = wanted_id(im, &id);

	if (n > BUILD_ID_MAX)
		n = BUILD_ID_MAX;
	if (n < 2)
		return false;
	/* the zeros a recording fills up with are not of the name: ids have 20, 16 or 8 bytes */
	if (n == 20 && !ld32(id + 16))
		n = ld64(id + 8) ? 16 : 8;
	text_hex(t->first, id, 1);
	text_hex(t->rest, id + 1, n - 1);
	return true;
}

/* The files of a build-id in perf's cache, and in a directory that `perf archive` was unpacked to:
 * below .build-id/xx/yyyy, or in old ones that itself. */
static const char *const perf_leaf[] = { "/elf", "/debug", "/vdso", "" };
#define PERF_LEAVES (sizeof(perf_leaf) / sizeof(*perf_leaf))

static bool is_leaf_of(size_t i, const struct image *im)
{
	return im->key.kind == IMAGE_VDSO || strcmp(perf_leaf[i], "/vdso") != 0;
}

static void try_symbol_dirs(struct images *set, struct image *im)
{
	const char *path = im->key.path;
	struct id_text id;

	vec_each (&set->dirs, const char **, dir) {
		try_printf(set, im, NULL, true, "%s/%s", *dir, path);
		try_printf(set, im, NULL, true, "%s/%s", *dir, path_base(path));
		try_printf(set, im, NULL, true, "%s/%s.debug", *dir, path_base(path));
		if (!id_text(im, &id))
			continue;
		try_printf(set, im, NULL, true, "%s/.build-id/%s/%s.debug", *dir, id.first,
			   id.rest);
		for (size_t i = 0; i < PERF_LEAVES; i++)
			if (is_leaf_of(i, im))
				try_printf(set, im, NULL, true, "%s/.build-id/%s/%s%s", *dir,
					   id.first, id.rest, perf_leaf[i]);
	}
}

static void try_build_id(struct images *set, struct image *im)
{
	static const char form[] = "/usr/lib/debug/.build-id/%s/%s.debug";
	struct id_text id;

	if (!id_text(im, &id))
		return;
	if (set->opts.sysroot)
		try_printf(set, im, set->opts.sysroot, false, form, id.first, id.rest);
	try_printf(set, im, NULL, false, form, id.first, id.rest);
}

/* A file of perf's cache; a directory may have that name, too. */
static void try_cached(struct images *set, struct image *im, const char *path)
{
	struct opened o = { .path = path };
	struct err why = ERR_INIT;

	if (image_complete(im))
		return;
	o.fd = file_in_open(NULL, path, FILE_IN_LINKS, &o.st, &why);
	if (o.fd < 0)
		image_failed(im, &why);
	else if (im->code.path && (uint64_t)o.st.st_size == im->code.map.len)
		(void)close(o.fd); /* perf's copy of, or link to, the code that is there already */
	else
		use_opened(set, im, &o, false);
}

static void try_perf_cache(struct images *set, struct image *im)
{
	const char *const dir[] = { set->opts.perf_cache, set->opts.home };
	struct id_text id;

	if (!id_text(im, &id))
		return;
	for (size_t i = 0; i < 2 * PERF_LEAVES; i++) {
		size_t which = i / PERF_LEAVES, leaf = i % PERF_LEAVES;
		char path[4096];
		int n = !dir[which] ? 0
				    : snprintf(path, sizeof(path), "%s%s/.build-id/%s/%s%s",
					       dir[which], which ? "/.debug" : "", id.first,
					       id.rest, perf_leaf[leaf]);

		if (is_leaf_of(leaf, im) && n > 0 && (size_t)n < sizeof(path))
			try_cached(set, im, path);
	}
}

/* A copy that was kept of what ran: of this user's or root's, and no link. */
static void try_copies(struct images *set, struct image *im)
{
	static const enum copy_kind kind[] = { COPY_ELF, COPY_DEBUG, COPY_VDSO };
	struct opened o = { .path = NULL };
	char path[4096];
	struct id_text id;
	char hex[sizeof(id)];

	if (!set->opts.copies_dir || !id_text(im, &id))
		return;
	(void)snprintf(hex, sizeof(hex), "%s%s", id.first, id.rest);
	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind) && !image_complete(im); i++) {
		if ((kind[i] == COPY_VDSO) != (im->key.kind == IMAGE_VDSO) ||
		    !copies_path_hex(set->opts.copies_dir, hex, kind[i], path, sizeof(path)))
			continue;
		o.path = path;
		o.fd = file_in_open(NULL, path, FILE_IN_NO_LINK | FILE_IN_STATE, &o.st, NULL);
		if (o.fd >= 0 && owner_is_ours(&o.st))
			use_opened(set, im, &o, false);
		else if (o.fd >= 0)
			(void)close(o.fd);
	}
}

/* Files in the cache of debuginfod's client. */
static void try_fetched(struct images *set, struct image *im, const struct id_text *id)
{
	if (!im->code.path)
		try_printf(set, im, NULL, false, "%s/%s%s/executable", set->opts.debuginfod,
			   id->first, id->rest);
	try_printf(set, im, NULL, false, "%s/%s%s/debuginfo", set->opts.debuginfod, id->first,
		   id->rest);
}

/* Whether the file is in the cache now; if it was not, its servers are asked. An empty file there
 * means that they do not have it. */
static bool fetch_file(const struct images *set, const struct image *im, const struct id_text *id,
		       enum fetch_kind kind)
{
	char path[4096], hex[2 * BUILD_ID_MAX + 4];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s%s/%s", set->opts.debuginfod, id->first,
			 id->rest, kind == FETCH_DEBUG ? "debuginfo" : "executable");

	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	if (file_look(path, &st) && st.st_size)
		return true;
	(void)snprintf(hex, sizeof(hex), "%s%s", id->first, id->rest);
	return fetcher_get(kind, hex, path_base(im->key.path)) == FETCH_HAD;
}

/* What is still missing of the image is fetched, once what was fetched before is used. The client
 * keeps whatever a server sent. */
static void try_debuginfod(struct images *set, struct image *im)
{
	bool debug, program;
	struct id_text id;

	if (!set->opts.debuginfod || !id_text(im, &id))
		return;
	try_fetched(set, im, &id);
	if (!set->opts.fetch || im->key.kind != IMAGE_FILE || image_complete(im))
		return;
	debug = (!im->dwarf.path || !im->syms.path) && fetch_file(set, im, &id, FETCH_DEBUG);
	program = !im->code.path && fetch_file(set, im, &id, FETCH_PROGRAM);
	if (debug || program)
		try_fetched(set, im, &id);
	if (debug && !im->dwarf.path && !im->trouble.len)
		buf_printf(&im->trouble,
			   "%s/%s%s/debuginfo, from a server of debuginfod, is damaged or another "
			   "program's; remove it to fetch it again",
			   set->opts.debuginfod, id.first, id.rest);
}

/* A debug file that is there, and not the program's: a note, if there is no other. */
static void note_link(struct image *im, const char *root, const char *path)
{
	if (im->dwarf.path || im->syms.path || im->link_other)
		return;
	im->link_other = true;
	buf_printf(&im->link, "%s%s is another program's debug file, or of another build",
		   root ? root : "", path);
}

/* One place a .gnu_debuglink may mean. If there are no build-ids to compare, the checksum
 * decides. */
static void try_link(struct images *set, struct image *im, uint32_t crc, const char *root,
		     const char *path)
{
	struct opened o = { .root = root,
			    .path = path,
			    .copy = im->code.map.copy,
			    .archive = root && root == set->archive };
	const uint8_t *id = NULL;
	struct err why = ERR_INIT;
	bool by_id = elf_build_id(&im->code.elf, &id);
	uint32_t found = crc;

	if (image_complete(im))
		return;
	o.fd = file_in_open(root, path, FILE_IN_LINKS, &o.st, &why);
	if (o.fd < 0) {
		note_unread_file(im, &why);
		return;
	}
	if (!by_id && file_crc32(o.fd, o.st.st_size, path, &found, &why)) {
		image_failed(im, &why);
	} else if (found == crc) {
		use_opened(set, im, &o, !by_id);
		note_link(im, root, path);
		return;
	} else {
		note_link(im, root, path);
		if (!im->refusal.len)
			buf_printf(&im->refusal,
				   "%s%s is not what .gnu_debuglink means (checksum): not used",
				   root ? root : "", path);
	}
	(void)close(o.fd);
}

static void try_debuglink(struct images *set, struct image *im)
{
	static const char *const form[][2] = { { "", "" },
					       { "", "/.debug" },
					       { "/usr/lib/debug", "" } };
	uint32_t crc;
	const char *name = im->code.path ? elf_debuglink(&im->code.elf, &crc) : NULL;
	const char *code, *root = NULL;
	char top[4096];
	size_t dir;

	if (!name || im->code.root_len >= sizeof(top))
		return;
	code = im->code.path + im->code.root_len;
	if (im->code.root) {
		root = im->code.root;
	} else if (im->code.root_len) {
		(void)snprintf(top, sizeof(top), "%.*s", (int)im->code.root_len, im->code.path);
		root = top;
	}
	dir = (size_t)(path_base(code) - code);
	if (dir > 1)
		dir--;
	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		char path[4096];
		int n = snprintf(path, sizeof(path), "%s%.*s%s/%s", form[i][0], (int)dir, code,
				 form[i][1], name);

		if (n > 0 && (size_t)n < sizeof(path) && strcmp(path, code) != 0)
			try_link(set, im, crc, root, path);
	}
}

size_t image_live_len(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(gone) - 1;

	return len > tail && !strcmp(path + len - tail, gone) ? len - tail : len;
}

/* The file that is at the recorded path now, for comparing its inode; -1: not to be compared. */
static int open_own_path(const struct images *set, struct image *im)
{
	const char *path = im->key.path;
	struct err why = ERR_INIT;
	struct stat st;
	int fd;

	if (path[0] != '/' || path[image_live_len(path)] || !im->key.file.ino ||
	    !set->opts.inodes_here)
		return -1;
	fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, &why);
	image_failed(im, &why);
	return fd;
}

static void try_own_path(struct images *set, struct image *im)
{
	const char *path = im->key.path;
	size_t len = image_live_len(path);
	int fd;

	if (path[0] != '/' || (im->key.guest && !set->opts.sysroot))
		return;
	/* deleted, and perhaps replaced by a new build, which only the build-id shows */
	if (path[len] && !im->key.build_id_len)
		return;
	try_printf(set, im, set->opts.sysroot, false, "%.*s", (int)len, path);
	if (!im->code.path || strcmp(im->code.path, path) != 0)
		return;
	fd = open_own_path(set, im);
	image_doubt(set, im, fd, path);
	if (fd >= 0)
		(void)close(fd);
}

/* The vdso is in the memory of every process, and so in ours; its build-id shows if it is the
 * recorded one. */
static void take_own_vdso(struct images *set, struct image *im)
{
	const uint8_t *p = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct elf_on_disk f = { 0 };
	uint64_t off, len;

	if (!p || im->code.path || (sizeof(void *) == 8 && !strcmp(im->key.path, VDSO32)))
		return;
	if (sizeof(void *) == 8) {
		off = ld64(p + offsetof(Elf64_Ehdr, e_shoff));
		len = (uint64_t)ld16(p + offsetof(Elf64_Ehdr, e_shnum)) * sizeof(Elf64_Shdr);
	} else {
		off = ld32(p + offsetof(Elf32_Ehdr, e_shoff));
		len = (uint64_t)ld16(p + offsetof(Elf32_Ehdr, e_shnum)) * sizeof(Elf32_Shdr);
	}
	if (off > 65536 || len > 65536)
		return;
	len += off;
	f.mem = xmemdup(p, (size_t)len);
	f.path = xstrdup("[vdso] of this machine");
	if (elf_file_read(&f.elf, f.mem, (size_t)len, f.path, NULL) ||
	    judge_file(set, im, &f, false) == REFUSED) {
		elf_on_disk_close(&f);
		return;
	}
	im->verified = im->key.build_id_len > 0;
	im->code = f;
}

/* The kernel's package may have the vdso of 32-bit programs as a file. */
static void try_packaged_vdso32(struct images *set, struct image *im)
{
	struct utsname u;

	if (!strcmp(im->key.path, VDSO32) && !uname(&u) &&
	    (im->key.build_id_len || !set->opts.other_kernel))
		try_printf(set, im, set->opts.sysroot, false, "/lib/modules/%s/vdso/vdso32.so",
			   u.release);
}

static void copy_segments(struct image *im)
{
	const struct elf_on_disk *from = im->code.path	 ? &im->code
					 : im->syms.path ? &im->syms
							 : &im->dwarf;
	uint64_t base = UINT64_MAX;

	if (!from->path || !from->elf.n_seg)
		return;
	im->seg = xmemdup(from->elf.seg, from->elf.n_seg * sizeof(*im->seg));
	im->n_seg = from->elf.n_seg;
	if (im->code.path)
		return;
	/* a file of debug information has no contents for its segments, and its tools cleared or
	 * moved their offsets: most linkers lay a file out as it will lie in memory */
	im->guessed = true;
	for (size_t i = 0; i < im->n_seg; i++)
		if (im->seg[i].type == PT_LOAD && im->seg[i].vaddr < base)
			base = im->seg[i].vaddr & ~4095ULL;
	for (size_t i = 0; i < im->n_seg; i++) {
		im->seg[i].offset = im->seg[i].vaddr - base;
		im->seg[i].filesz = im->seg[i].memsz;
	}
}

/* What an archive has under the build-id, and the vdso of its machine. */
static void try_archive(struct images *set, struct image *im)
{
	struct id_text id;

	if (!set->archive)
		return;
	for (size_t i = 0; i < PERF_LEAVES && id_text(im, &id); i++)
		if (is_leaf_of(i, im) && perf_leaf[i][0])
			try_printf(set, im, set->archive, false, "/.build-id/%s/%s%s", id.first,
				   id.rest, perf_leaf[i]);
	if (im->key.kind == IMAGE_VDSO)
		image_try_file(set, im, set->archive, "/[vdso]", false);
}

static void try_places_of_ids(struct images *set, struct image *im)
{
	try_archive(set, im);
	try_build_id(set, im);
	try_perf_cache(set, im);
	try_copies(set, im);
	try_debuginfod(set, im);
}

void image_try_by_id(struct images *set, struct image *im)
{
	if (im->key.kind == IMAGE_KERNEL)
		vec_each (&set->dirs, const char **, dir)
			try_printf(set, im, NULL, true, "%s/vmlinux", *dir);
	try_symbol_dirs(set, im);
	try_places_of_ids(set, im);
}

static void locate_file(struct images *set, struct image *im)
{
	/* before all places that are searched by build-id: it drops one that is another file's */
	int fd = open_own_path(set, im);
	bool replaced = image_is_replaced(set, im, fd, im->key.path), linked;

	if (fd >= 0)
		(void)close(fd);
	try_symbol_dirs(set, im);
	image_try_places(set, im);
	if (!replaced)
		try_own_path(set, im);
	image_try_processes(set, im);
	linked = im->code.path != NULL;
	try_debuglink(set, im);
	try_places_of_ids(set, im);
	if (im->key.kind == IMAGE_VDSO) {
		try_packaged_vdso32(set, im);
		take_own_vdso(set, im);
	}
	if (!linked) /* where there is code only now, its link may lead on */
		try_debuglink(set, im);
	if (im->link_other && !im->dwarf.path && !im->trouble.len)
		buf_puts(&im->trouble, buf_str(&im->link));
}

void image_locate(struct images *set, struct image *im)
{
	if (im->located)
		return;
	switch (im->key.kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		locate_file(set, im);
		break;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		im->absolute = true;
		image_locate_kernel(set, im);
		break;
	case IMAGE_JIT:
	case IMAGE_SCRIPT:
		break;
	case IMAGE_ANON:
	case IMAGE_BPF:
	case IMAGE_OTHER:
		im->absolute = true;
		break;
	}
	copy_segments(im);
	im->located = true;
}
