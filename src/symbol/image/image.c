/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/image/image_set.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/types.h"
#include "symbol/dwarf/cfi.h"

static int copy_str(struct arena *a, const char **s, struct err *err)
{
	if (*s) {
		*s = arena_strdup(a, *s);
		if (!*s)
			return err_nomem(err);
	}
	return 0;
}

struct images *images_new(const struct images_opts *opts, struct err *err)
{
	static const struct images_opts none = { 0 };
	struct images *set = calloc(1, sizeof(*set));

	if (!set || pthread_mutex_init(&set->lock, NULL) ||
	    pthread_mutex_init(&set->cfi_lock, NULL)) {
		free(set);
		(void)err_nomem(err);
		return NULL;
	}
	set->opts = opts ? *opts : none;
	for (const char *const *d = set->opts.symbol_dirs; d && *d; d++) {
		const char *dir = *d;

		if (copy_str(&set->arena, &dir, err))
			goto bad;
		if (vec_push(&set->dirs, dir)) {
			(void)err_nomem(err);
			goto bad;
		}
	}
	set->opts.symbol_dirs = NULL;
	if (copy_str(&set->arena, &set->opts.sysroot, err) ||
	    copy_str(&set->arena, &set->opts.cache_dir, err) ||
	    copy_str(&set->arena, &set->opts.home, err) ||
	    copy_str(&set->arena, &set->opts.debuginfod, err) ||
	    copy_str(&set->arena, &set->opts.kallsyms, err) ||
	    copy_str(&set->arena, &set->opts.vmlinux, err) ||
	    copy_str(&set->arena, &set->opts.other_kernel, err) ||
	    copy_str(&set->arena, &set->opts.perf_map_dir, err))
		goto bad;
	return set;
bad:
	images_free(set);
	return NULL;
}

static void image_free(struct image *im)
{
	types_free(im->types);
	source_free(im->source);
	cfi_free(im->cfi);
	elf_on_disk_close(&im->code);
	elf_on_disk_close(&im->syms);
	elf_on_disk_close(&im->dwarf);
	elf_on_disk_close(&im->mini);
	free(im->seg);
	buf_free(&im->origin);
	buf_free(&im->refusal);
	buf_free(&im->doubt);
	buf_free(&im->trouble);
	sym_table_free(&im->table);
	file_map_close(&im->cached);
	file_in_release(im->charged);
	sym_list_free(&im->list);
	sym_table_free(&im->variables);
	sym_list_free(&im->objects);
	u64map_free(&im->by_name);
	vec_free(&im->twins);
	arena_free(&im->arena);
	free(im);
}

void images_free(struct images *set)
{
	if (!set)
		return;
	vec_each (&set->image, struct image **, im) {
		image_free(*im);
	}
	vec_free(&set->image);
	vec_free(&set->dirs);
	vec_free(&set->places);
	image_index_free(set);
	u64map_free(&set->by_hash);
	kernel_symbols_free(set->kernel);
	arena_free(&set->arena);
	(void)pthread_mutex_destroy(&set->lock);
	(void)pthread_mutex_destroy(&set->cfi_lock);
	free(set);
}

/* ---- what an image is called ------------------------------------------------------------ */

/* "/lib/modules/6.1/kernel/fs/nfs-common.ko.xz" -> "[nfs_common]" */
static const char *module_name(struct arena *a, const char *path)
{
	const char *base = path_base(path);
	const char *end = strstr(base, ".ko");
	char *name;

	if (base[0] == '[')
		return arena_strdup(a, base);
	name = arena_printf(a, "[%.*s]", end ? (int)(end - base) : (int)strlen(base), base);
	for (char *p = name; p && *p; p++) {
		if (*p == '-')
			*p = '_';
	}
	return name;
}

static const char *anon_name(struct arena *a, const struct image_key *key)
{
	const char *p = key->path;

	/* by the name of the file that a JIT compiler would have written about it */
	if (!p[0] || !strncmp(p, "//anon", 6) || !strncmp(p, "/dev/zero", 9) ||
	    !strncmp(p, "/anon_hugepage", 14))
		return arena_printf(a, "perf-%u.map", key->pid);
	return arena_strdup(a, path_base(p));
}

static const char *plain_name(struct arena *a, const struct image_key *key)
{
	const char *end;

	switch (key->kind) {
	case IMAGE_KERNEL: /* "[kernel.kallsyms]_text" */
		end = strchr(key->path, ']');
		return end ? arena_strndup(a, key->path, (size_t)(end - key->path) + 1)
			   : arena_strdup(a, "[kernel.kallsyms]");
	case IMAGE_MODULE:
		return module_name(a, key->path);
	case IMAGE_ANON:
		return anon_name(a, key);
	case IMAGE_FILE:
	case IMAGE_JIT:
		return arena_strdup(a, path_base(key->path));
	case IMAGE_VDSO:
	case IMAGE_BPF:
	case IMAGE_OTHER:
		break;
	}
	return arena_strdup(a, key->path[0] ? key->path : "[unknown]");
}

static const char *name_of(struct arena *a, const struct image_key *key)
{
	const char *name = plain_name(a, key);

	/* "[guest.kernel.kallsyms]" says so itself */
	return name && key->guest && strncmp(name, "[guest", 6) != 0
		       ? arena_printf(a, "%s [guest]", name)
		       : name;
}

/* ---- the set ---------------------------------------------------------------------------- */

static uint64_t key_hash(const struct image_key *k)
{
	uint64_t h = hash_bytes(k->path, strlen(k->path));

	h = hash_pair(h, (uint64_t)k->guest << 63 | (uint64_t)k->kind << 32 | k->pid);
	if (k->build_id_len)
		h = hash_pair(h, hash_bytes(k->build_id, k->build_id_len));
	/* not the generation, which may be unknown */
	h = hash_pair(hash_pair(h, k->file.ino), (uint64_t)k->file.maj << 32 | k->file.min);
	return hash_pair(hash_pair(h, k->start), hash_pair(k->len, k->reloc));
}

static bool key_same(const struct image *im, const struct image_key *b)
{
	const struct image_key *a = &im->key;
	size_t id_len = im->id_later ? 0 : a->build_id_len;

	return a->kind == b->kind && a->guest == b->guest && a->pid == b->pid &&
	       a->start == b->start && a->len == b->len && a->reloc == b->reloc &&
	       id_len == b->build_id_len && identity_same(&a->file, &b->file) &&
	       (!id_len || !memcmp(a->build_id, b->build_id, id_len)) && !strcmp(a->path, b->path);
}

/* The key as it is kept: what does not tell images of its kind apart is cleared. */
static struct image_key key_clean(const struct image_key *key)
{
	struct image_key k = *key;

	if (!k.path)
		k.path = "";
	if (!k.build_id)
		k.build_id_len = 0;
	if (k.build_id_len > BUILD_ID_MAX)
		k.build_id_len = BUILD_ID_MAX;
	if (k.kind != IMAGE_ANON)
		k.pid = 0;
	if (k.kind != IMAGE_KERNEL && k.kind != IMAGE_MODULE && k.kind != IMAGE_BPF)
		k.start = k.len = 0;
	if (k.kind != IMAGE_KERNEL)
		k.reloc = 0;
	if (k.kind != IMAGE_FILE || k.build_id_len || !k.file.ino)
		k.file = (struct file_identity){ 0 };
	return k;
}

static struct image *image_new(struct images *set, const struct image_key *k, struct err *err)
{
	struct image *im = calloc(1, sizeof(*im));

	if (!im)
		goto nomem;
	im->key = *k;
	im->key.path = arena_strdup(&set->arena, k->path);
	if (k->build_id_len)
		im->key.build_id = arena_memdup(&set->arena, k->build_id, k->build_id_len);
	im->name = im->key.path ? name_of(&set->arena, k) : NULL;
	if (!im->name || (k->build_id_len && !im->key.build_id) || vec_push(&set->image, im))
		goto nomem;
	return im;
nomem:
	free(im);
	(void)err_nomem(err);
	return NULL;
}

uint32_t images_add(struct images *set, const struct image_key *key, struct err *err)
{
	struct image_key k = key_clean(key);
	struct image *im;
	uint64_t *at;
	bool fresh;

	at = u64map_at(&set->by_hash, key_hash(&k), &fresh);
	if (!at) {
		(void)err_nomem(err);
		return IMAGE_NONE;
	}
	if (fresh)
		*at = IMAGE_NONE;
	for (uint64_t i = *at; i != IMAGE_NONE; i = set->image.v[i]->next) {
		im = set->image.v[i];
		if (key_same(im, &k)) {
			im->key.file.gen = im->key.file.gen ? im->key.file.gen : k.file.gen;
			return (uint32_t)i;
		}
	}
	if (set->image.n >= IMAGE_NONE) {
		(void)err_set(err, ERR_LIMIT, "more than %u images", IMAGE_NONE - 1);
		return IMAGE_NONE;
	}
	im = image_new(set, &k, err);
	if (!im)
		return IMAGE_NONE;
	im->next = (uint32_t)*at;
	*at = set->image.n - 1;
	if (image_index_add(set, (uint32_t)*at)) {
		(void)err_nomem(err);
		return IMAGE_NONE;
	}
	return (uint32_t)*at;
}

size_t images_count(const struct images *set)
{
	return set->image.n;
}

const struct image_key *image_key(const struct images *set, uint32_t id)
{
	return &set->image.v[id]->key;
}

const char *image_path(const struct images *set, uint32_t id)
{
	return set->image.v[id]->key.path;
}

const char *image_name(const struct images *set, uint32_t id)
{
	return set->image.v[id]->name;
}

/* ---- where it came from ----------------------------------------------------------------- */

const char *image_origin(const struct images *set, uint32_t id)
{
	return buf_str(&set->image.v[id]->origin);
}

bool image_verified(const struct images *set, uint32_t id)
{
	return set->image.v[id]->verified;
}

bool image_unverified(const struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	return (im->key.kind == IMAGE_FILE || im->key.kind == IMAGE_KERNEL) && im->table.n &&
	       !im->verified;
}

bool image_mismatch(const struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	return (im->refused && !im->code.path) || im->doubt.len;
}

void image_failed(struct image *im, const struct err *why)
{
	switch (why->sys_errno) {
	case 0:
		if (why->code == ERR_LIMIT && !im->trouble.len)
			buf_puts(&im->trouble, why->what);
		return;
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case EACCES:
	case EPERM:
	case ESRCH:
	case ENOSYS:
		return;
	default:
		if (!im->trouble.len)
			buf_puts(&im->trouble, why->what);
	}
}

static bool was_cut(const struct elf_on_disk *f)
{
	return f->path && file_map_cut(&f->map);
}

const char *image_trouble(const struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	if (was_cut(&im->code) || was_cut(&im->syms) || was_cut(&im->dwarf))
		return "the file became shorter while it was being read";
	if (!im->trouble.len && im->source && im->source->beside.code)
		return im->source->beside.what;
	return buf_str(&im->trouble);
}

bool image_absent(const struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	return im->key.kind == IMAGE_FILE && im->loaded && !im->table.n && !im->refused &&
	       !im->code.path && !im->syms.path && im->key.path[0] == '/';
}

const char *image_code_file(struct images *set, uint32_t id)
{
	struct image *im = set->image.v[id];

	/* the vdso of this machine has code, but no file */
	return image_locate(set, im, NULL) || im->code.mem ? NULL : im->code.path;
}

uid_t image_owner(struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	if (image_locate(set, set->image.v[id], NULL))
		return (uid_t)-1;
	return im->dwarf.path ? im->dwarf.owner : im->code.path ? im->code.owner : (uid_t)-1;
}

const char *image_debug_file(struct images *set, uint32_t id)
{
	struct image *im = set->image.v[id];

	return image_locate(set, im, NULL) ? NULL : im->dwarf.path;
}

bool image_to_vaddr(struct images *set, uint32_t id, uint64_t addr, uint64_t *vaddr)
{
	struct image *im = set->image.v[id];

	if (image_locate(set, im, NULL))
		return false;
	if (!im->absolute)
		return elf_offset_to_vaddr(im->seg, im->n_seg, addr, vaddr);
	*vaddr = addr - im->delta;
	return im->seg != NULL;
}

bool image_from_vaddr(struct images *set, uint32_t id, uint64_t vaddr, uint64_t *addr)
{
	struct image *im = set->image.v[id];

	if (image_locate(set, im, NULL))
		return false;
	if (!im->absolute)
		return elf_vaddr_to_offset(im->seg, im->n_seg, vaddr, addr);
	*addr = vaddr + im->delta;
	return im->seg != NULL;
}
