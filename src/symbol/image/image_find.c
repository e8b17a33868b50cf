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
#include <unistd.h>

#include "base/text.h"
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
};

/* Takes over the descriptor. */
static int elf_on_disk_read(struct elf_on_disk *f, const struct opened *o, struct err *err)
{
	const char *root = o->root ? o->root : "";
	size_t size = strlen(root) + strlen(o->path) + 2;

	memset(f, 0, sizeof(*f));
	f->path = malloc(size);
	if (!f->path) {
		(void)close(o->fd);
		return err_nomem(err);
	}
	(void)snprintf(f->path, size, "%s%s%s", root, o->root && o->path[0] != '/' ? "/" : "",
		       o->path);
	f->root_len = strlen(root);
	f->owner = o->st.st_uid;
	if (file_in_map(&f->map, o->fd, &o->st, o->copy, f->path, err) ||
	    elf_file_read(&f->elf, f->map.p, f->map.len, f->path, err)) {
		elf_on_disk_close(f);
		return -1;
	}
	return 0;
}

void put_build_id(struct buf *b, const uint8_t *id, size_t len)
{
	char hex[2 * 64 + 1];

	text_hex(hex, id, len < 64 ? len : 64);
	buf_puts(b, hex);
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

static bool has_code(const struct elf_file *f)
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

static bool has_dwarf(const struct elf_file *f)
{
	return elf_section(f, ".debug_info") || elf_section(f, ".zdebug_info") ||
	       elf_section(f, ".debug_line");
}

bool image_complete(const struct image *im)
{
	return im->code.path && im->syms.path && im->dwarf.path;
}

/* The first that takes a file has it, the others share it. */
static void take(struct elf_on_disk *into, struct elf_on_disk *from, bool wanted)
{
	if (into->path || !wanted)
		return;
	*into = *from;
	from->shared = true;
}

/* What an image's files must have for build-id: the recorded one, else that of its code. */
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

	return image_locate(set, im, NULL) ? 0 : wanted_id(im, build_id);
}

enum verdict { REFUSED, VERIFIED, UNVERIFIED };

static enum verdict judge(const struct images *set, struct image *im, const struct elf_on_disk *f,
			  bool named)
{
	const uint8_t *id = NULL, *want = NULL;
	size_t n = elf_build_id(&f->elf, &id), n_want = wanted_id(im, &want);

	if (n_want) {
		if (n && same_build_id(id, n, want, n_want))
			return VERIFIED;
		if (!im->refusal.len && im->key.build_id_len) {
			buf_printf(&im->refusal, "%s has ", f->path);
			if (n) {
				buf_puts(&im->refusal, "build-id ");
				put_build_id(&im->refusal, id, n);
			} else {
				buf_puts(&im->refusal, "no build-id");
			}
			buf_puts(&im->refusal, ", the recording's is ");
			put_build_id(&im->refusal, want, n_want);
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

/* Takes what the image still lacks from an open file, if its build-id is right; closes it. */
static void try_open(struct images *set, struct image *im, struct elf_on_disk *f, bool named)
{
	enum verdict v = judge(set, im, f, named);

	if (v != REFUSED) {
		if (v == VERIFIED)
			im->verified = im->key.build_id_len > 0;
		take(&im->code, f, has_code(&f->elf));
		take(&im->syms, f, elf_has_symtab(&f->elf));
		take(&im->dwarf, f, has_dwarf(&f->elf));
	}
	elf_on_disk_close(f);
}

/* 0 even if the file is of no use: why is kept with the image. */
static int not_read(struct image *im, const struct err *why, struct err *err)
{
	if (why->code == ERR_NOMEM)
		return err_nomem(err);
	image_failed(im, why);
	/* that it is not there is the common case and worth no word */
	if (why->code != ERR_NOT_FOUND && why->sys_errno != ENOTDIR && !im->refusal.len)
		buf_puts(&im->refusal, why->what);
	return 0;
}

int image_try_file(struct images *set, struct image *im, const char *root, const char *path,
		   bool named, struct err *err)
{
	struct opened o = { .root = root, .path = path };
	struct err mine = ERR_INIT;
	struct elf_on_disk f;

	o.fd = file_in_open(root, path, FILE_IN_LINKS, &o.st, &mine);
	if (o.fd < 0 || elf_on_disk_read(&f, &o, &mine))
		return not_read(im, &mine, err);
	try_open(set, im, &f, named);
	return 0;
}

int image_try_fd(struct images *set, struct image *im, int fd, const struct stat *st,
		 const char *root, const char *path, struct err *err)
{
	struct opened o = { .fd = fd, .st = *st, .copy = true, .root = root, .path = path };
	struct err mine = ERR_INIT;
	struct elf_on_disk f;

	if (elf_on_disk_read(&f, &o, &mine)) {
		image_failed(im, &mine);
		return mine.code == ERR_NOMEM ? err_nomem(err) : 0;
	}
	try_open(set, im, &f, false);
	return 0;
}

static int try_printf(struct images *set, struct image *im, const char *root, bool named,
		      struct err *err, const char *fmt, ...) PRINTF_(6, 7);

static int try_printf(struct images *set, struct image *im, const char *root, bool named,
		      struct err *err, const char *fmt, ...)
{
	char path[4096];
	va_list ap;
	int n;

	if (image_complete(im))
		return 0;
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	return image_try_file(set, im, root, path, named, err);
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

static int try_symbol_dirs(struct images *set, struct image *im, struct err *err)
{
	const char *path = im->key.path;
	struct id_text id;

	vec_each (&set->dirs, const char **, dir) {
		if (try_printf(set, im, NULL, true, err, "%s/%s", *dir, path) ||
		    try_printf(set, im, NULL, true, err, "%s/%s", *dir, path_base(path)) ||
		    try_printf(set, im, NULL, true, err, "%s/%s.debug", *dir, path_base(path)))
			return -1;
		if (id_text(im, &id) &&
		    (try_printf(set, im, NULL, true, err, "%s/.build-id/%s/%s.debug", *dir,
				id.first, id.rest) ||
		     try_printf(set, im, NULL, true, err, "%s/.build-id/%s/%s", *dir, id.first,
				id.rest)))
			return -1;
	}
	return 0;
}

static int try_build_id(struct images *set, struct image *im, struct err *err)
{
	struct id_text id;

	if (!id_text(im, &id))
		return 0;
	if (set->opts.sysroot &&
	    try_printf(set, im, set->opts.sysroot, false, err,
		       "/usr/lib/debug/.build-id/%s/%s.debug", id.first, id.rest))
		return -1;
	return try_printf(set, im, NULL, false, err, "/usr/lib/debug/.build-id/%s/%s.debug",
			  id.first, id.rest);
}

/* A file of perf's cache; a directory may have that name, too. */
static int try_cached(struct images *set, struct image *im, const char *path, struct err *err)
{
	struct opened o = { .path = path };
	struct err why = ERR_INIT;
	struct elf_on_disk f;

	if (image_complete(im))
		return 0;
	o.fd = file_in_open(NULL, path, FILE_IN_LINKS, &o.st, &why);
	if (o.fd < 0) {
		image_failed(im, &why);
		return 0;
	}
	/* perf's copy of, or link to, the code that is there already */
	if (im->code.path && (uint64_t)o.st.st_size == im->code.map.len) {
		(void)close(o.fd);
		return 0;
	}
	if (elf_on_disk_read(&f, &o, &why))
		return not_read(im, &why, err);
	try_open(set, im, &f, false);
	return 0;
}

static int try_perf_cache(struct images *set, struct image *im, struct err *err)
{
	static const char *const leaf[] = { "/elf", "/debug", "/vdso", "" };
	struct id_text id;

	if (!set->opts.home || !id_text(im, &id))
		return 0;
	for (size_t i = 0; i < sizeof(leaf) / sizeof(leaf[0]); i++) {
		char path[4096];
		int n = snprintf(path, sizeof(path), "%s/.debug/.build-id/%s/%s%s", set->opts.home,
				 id.first, id.rest, leaf[i]);

		if (!strcmp(leaf[i], "/vdso") && im->key.kind != IMAGE_VDSO)
			continue;
		if (n > 0 && (size_t)n < sizeof(path) && try_cached(set, im, path, err))
			return -1;
	}
	return 0;
}

/* What debuginfod's client has fetched before; nothing is fetched now. */
static int try_debuginfod(struct images *set, struct image *im, struct err *err)
{
	struct id_text id;

	if (!set->opts.debuginfod || !id_text(im, &id))
		return 0;
	if (!im->code.path && try_printf(set, im, NULL, false, err, "%s/%s%s/executable",
					 set->opts.debuginfod, id.first, id.rest))
		return -1;
	return try_printf(set, im, NULL, false, err, "%s/%s%s/debuginfo", set->opts.debuginfod,
			  id.first, id.rest);
}

/* One place a .gnu_debuglink may mean. Where the build-ids cannot speak, the checksum must. */
static int try_link(struct images *set, struct image *im, uint32_t crc, const char *root,
		    const char *path, struct err *err)
{
	struct opened o = { .root = root, .path = path, .copy = im->code.map.copy };
	const uint8_t *id = NULL;
	struct err mine = ERR_INIT;
	struct elf_on_disk f;
	bool by_id = elf_build_id(&im->code.elf, &id);
	uint32_t found;

	if (image_complete(im))
		return 0;
	o.fd = file_in_open(root, path, FILE_IN_LINKS, &o.st, &mine);
	if (o.fd < 0)
		return not_read(im, &mine, err);
	if (!by_id && file_crc32(o.fd, o.st.st_size, path, &found, &mine)) {
		(void)close(o.fd);
		image_failed(im, &mine);
		return 0;
	}
	if (!by_id && found != crc) {
		(void)close(o.fd);
		if (!im->refusal.len)
			buf_printf(&im->refusal,
				   "%s%s is not what .gnu_debuglink means (checksum): not used",
				   root ? root : "", path);
		return 0;
	}
	if (elf_on_disk_read(&f, &o, &mine))
		return not_read(im, &mine, err);
	try_open(set, im, &f, !by_id);
	return 0;
}

static int try_debuglink(struct images *set, struct image *im, struct err *err)
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
		return 0;
	code = im->code.path + im->code.root_len;
	if (im->code.root_len) {
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

		if (n > 0 && (size_t)n < sizeof(path) && strcmp(path, code) != 0 &&
		    try_link(set, im, crc, root, path, err))
			return -1;
	}
	return 0;
}

/* The length of the path without the " (deleted)" that the kernel puts behind it. */
static size_t live_len(const char *path)
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

	if (path[0] != '/' || path[live_len(path)] || !im->key.file.ino || !set->opts.inodes_here)
		return -1;
	fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, &why);
	image_failed(im, &why);
	return fd;
}

static bool is_replaced(const struct images *set, struct image *im)
{
	int fd = open_own_path(set, im);
	bool replaced = image_is_replaced(set, im, fd, im->key.path);

	if (fd >= 0)
		(void)close(fd);
	return replaced;
}

static void doubt_own_path(const struct images *set, struct image *im)
{
	int fd;

	if (!im->code.path || strcmp(im->code.path, im->key.path) != 0)
		return;
	fd = open_own_path(set, im);
	image_doubt(set, im, fd, im->key.path);
	if (fd >= 0)
		(void)close(fd);
}

static int try_own_path(struct images *set, struct image *im, struct err *err)
{
	const char *path = im->key.path;
	size_t len = live_len(path);

	if (path[0] != '/' || (im->key.guest && !set->opts.sysroot))
		return 0;
	/* deleted, and perhaps put back by a new build, which its build-id tells */
	if (path[len] && !im->key.build_id_len)
		return 0;
	if (try_printf(set, im, set->opts.sysroot, false, err, "%.*s", (int)len, path))
		return -1;
	doubt_own_path(set, im);
	return 0;
}

/* The vdso is in the memory of every process, and so in ours; whether it is the recorded one, its
 * build-id says. */
static int take_own_vdso(struct images *set, struct image *im, struct err *err)
{
	const uint8_t *p = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	struct elf_on_disk f = { 0 };
	uint64_t off, len;

	if (!p || im->code.path)
		return 0;
	if (sizeof(void *) == 8) {
		off = ld64(p + offsetof(Elf64_Ehdr, e_shoff));
		len = (uint64_t)ld16(p + offsetof(Elf64_Ehdr, e_shnum)) * sizeof(Elf64_Shdr);
	} else {
		off = ld32(p + offsetof(Elf32_Ehdr, e_shoff));
		len = (uint64_t)ld16(p + offsetof(Elf32_Ehdr, e_shnum)) * sizeof(Elf32_Shdr);
	}
	if (off > 65536 || len > 65536)
		return 0;
	len += off;
	f.mem = malloc((size_t)len + 1);
	f.path = strdup("[vdso] of this machine");
	if (!f.mem || !f.path) {
		elf_on_disk_close(&f);
		return err_nomem(err);
	}
	memcpy(f.mem, p, (size_t)len);
	if (elf_file_read(&f.elf, f.mem, (size_t)len, f.path, NULL) ||
	    judge(set, im, &f, false) == REFUSED) {
		elf_on_disk_close(&f);
		return 0;
	}
	im->verified = im->key.build_id_len > 0;
	im->code = f;
	return 0;
}

static int copy_segments(struct image *im, struct err *err)
{
	const struct elf_on_disk *from = im->code.path	 ? &im->code
					 : im->syms.path ? &im->syms
							 : &im->dwarf;
	uint64_t base = UINT64_MAX;

	if (!from->path || !from->elf.n_seg)
		return 0;
	im->seg = calloc(from->elf.n_seg, sizeof(*im->seg));
	if (!im->seg)
		return err_nomem(err);
	memcpy(im->seg, from->elf.seg, from->elf.n_seg * sizeof(*im->seg));
	im->n_seg = from->elf.n_seg;
	if (im->code.path)
		return 0;
	/* a file of debug information has no contents for its segments, and its tools cleared or
	 * moved their offsets: most linkers lay a file out as it will lie in memory */
	im->guessed = true;
	for (size_t i = 0; i < im->n_seg; i++) {
		if (im->seg[i].type == PT_LOAD && im->seg[i].vaddr < base)
			base = im->seg[i].vaddr & ~4095ULL;
	}
	for (size_t i = 0; i < im->n_seg; i++) {
		im->seg[i].offset = im->seg[i].vaddr - base;
		im->seg[i].filesz = im->seg[i].memsz;
	}
	return 0;
}

int image_try_by_id(struct images *set, struct image *im, struct err *err)
{
	if (im->key.kind == IMAGE_KERNEL) {
		vec_each (&set->dirs, const char **, dir) {
			if (try_printf(set, im, NULL, true, err, "%s/vmlinux", *dir))
				return -1;
		}
	}
	if (try_symbol_dirs(set, im, err) || try_build_id(set, im, err))
		return -1;
	return try_perf_cache(set, im, err) || try_debuginfod(set, im, err) ? -1 : 0;
}

static int locate_file(struct images *set, struct image *im, struct err *err)
{
	/* before all places that are searched by build-id: it drops one that is another file's */
	bool replaced = is_replaced(set, im), linked;

	if (try_symbol_dirs(set, im, err) || image_try_places(set, im, err) ||
	    (!replaced && try_own_path(set, im, err)) || image_try_processes(set, im, err))
		return -1;
	linked = im->code.path != NULL;
	if (try_debuglink(set, im, err) || try_build_id(set, im, err) ||
	    try_perf_cache(set, im, err) || try_debuginfod(set, im, err))
		return -1;
	if (im->key.kind == IMAGE_VDSO && take_own_vdso(set, im, err))
		return -1;
	/* where there is code only now, its link may lead on */
	return linked ? 0 : try_debuglink(set, im, err);
}

int image_locate(struct images *set, struct image *im, struct err *err)
{
	int rc = 0;

	if (im->located)
		return 0;
	switch (im->key.kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		rc = locate_file(set, im, err);
		break;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		im->absolute = true;
		rc = image_locate_kernel(set, im, err);
		break;
	case IMAGE_JIT:
		break;
	case IMAGE_ANON:
	case IMAGE_BPF:
	case IMAGE_OTHER:
		im->absolute = true;
		break;
	}
	if (!rc)
		rc = copy_segments(im, err);
	im->located = true;
	return rc;
}
