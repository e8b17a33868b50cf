/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/image.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/xalloc.h"
#include "symbol/dwarf/cfi.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/image/image_set.h"
#include "symbol/image/jitdump.h"
#include "symbol/script.h"
#include "symbol/types.h"

struct images *images_new(const struct images_opts *opts, struct err *err)
{
	struct images *set = xcalloc(1, sizeof(*set));
	const char **const kept[] = {
		&set->opts.sysroot,	 &set->opts.cache_dir,	  &set->opts.home,
		&set->opts.debuginfod,	 &set->opts.kallsyms,	  &set->opts.vmlinux,
		&set->opts.other_kernel, &set->opts.perf_map_dir, &set->opts.copies_dir,
		&set->opts.perf_cache,
	};

	(void)err;
	(void)pthread_mutex_init(&set->lock, NULL);
	(void)pthread_mutex_init(&set->cfi_lock, NULL);
	if (opts)
		set->opts = *opts;
	for (const char *const *d = set->opts.symbol_dirs; d && *d; d++)
		vec_xpush(&set->dirs, (const char *)arena_xstrdup(&set->arena, *d));
	vec_xpush(&set->dirs, (const char *)NULL);
	set->dirs.n--; /* behind the last is NULL */
	set->opts.symbol_dirs = NULL;
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (*kept[i])
			*kept[i] = arena_xstrdup(&set->arena, *kept[i]);
	if (file_in_mounted(set->opts.sysroot))
		set->archive = set->opts.sysroot;
	return set;
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
	buf_free(&im->link);
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
	vec_each (&set->image, struct image **, im)
		image_free(*im);
	vec_free(&set->image);
	vec_free(&set->dirs);
	vec_free(&set->places);
	vec_free(&set->copies);
	image_index_free(set);
	u64map_free(&set->by_hash);
	kernel_symbols_free(set->kernel);
	arena_free(&set->arena);
	(void)pthread_mutex_destroy(&set->lock);
	(void)pthread_mutex_destroy(&set->cfi_lock);
	free(set);
}

/* ---- names ------------------------------------------------------------ */

/* "/lib/modules/6.1/kernel/fs/nfs-common.ko.xz" -> "[nfs_common]" */
static const char *module_name(struct arena *a, const char *path)
{
	const char *base = path_base(path);
	const char *end = strstr(base, ".ko");
	char *name;

	if (base[0] == '[')
		return arena_xstrdup(a, base);
	name = arena_xprintf(a, "[%.*s]", end ? (int)(end - base) : (int)strlen(base), base);
	for (char *p = name; *p; p++)
		if (*p == '-')
			*p = '_';
	return name;
}

/* "app.py", "<string>" */
static const char *script_name(struct arena *a, const char *path)
{
	const char *file, *function;
	size_t len;

	if (!script_parts(path, &file, &len, &function) || !len)
		return arena_xstrdup(a, path);
	return path_base(arena_xstrndup(a, file, len));
}

static const char *image_plain_name(struct arena *a, const struct image_key *key)
{
	const char *path = key->path, *end;

	switch (key->kind) {
	case IMAGE_KERNEL: /* "[kernel.kallsyms]_text" */
		end = strchr(path, ']');
		return end ? arena_xstrndup(a, path, (size_t)(end - path) + 1)
			   : arena_xstrdup(a, "[kernel.kallsyms]");
	case IMAGE_MODULE:
		return module_name(a, path);
	case IMAGE_ANON:
		/* by the name of the file that a JIT compiler would have written about it */
		if (!path[0] || !strncmp(path, "//anon", 6) || !strncmp(path, "/dev/zero", 9) ||
		    !strncmp(path, "/anon_hugepage", 14))
			return arena_xprintf(a, "perf-%u.map", key->pid);
		return arena_xstrdup(a, path_base(path));
	case IMAGE_FILE:
	case IMAGE_JIT:
		return arena_xstrdup(a, path_base(path));
	case IMAGE_SCRIPT:
		return script_name(a, path);
	case IMAGE_VDSO:
	case IMAGE_BPF:
	case IMAGE_OTHER:
		break;
	}
	return arena_xstrdup(a, path[0] ? path : "[unknown]");
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

/* The key as it is kept: fields that do not matter for its kind are cleared. */
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

uint32_t images_add(struct images *set, const struct image_key *key, struct err *err)
{
	struct image_key k = key_clean(key);
	const char *name;
	struct image *im;
	uint64_t *at;
	bool fresh;

	at = u64map_xat(&set->by_hash, key_hash(&k), &fresh);
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
	im = xcalloc(1, sizeof(*im));
	im->key = k;
	im->key.path = arena_xstrdup(&set->arena, k.path);
	if (k.build_id_len)
		im->key.build_id = arena_xmemdup(&set->arena, k.build_id, k.build_id_len);
	name = image_plain_name(&set->arena, &k);
	/* "[guest.kernel.kallsyms]" has it already */
	im->name = k.guest && strncmp(name, "[guest", 6) != 0
			   ? arena_xprintf(&set->arena, "%s [guest]", name)
			   : name;
	vec_xpush(&set->image, im);
	im->next = (uint32_t)*at;
	*at = set->image.n - 1;
	image_index_add(set, (uint32_t)*at);
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

bool image_name_is_libc(const char *name)
{
	static const char *const begins[] = { "libc.so",  "libc-2",  "libpthread",
					      "ld-linux", "ld-musl", "libc.musl" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return !strcmp(name, "[vdso]");
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

static bool was_written(const struct elf_on_disk *f)
{
	return f->path && !f->shared && file_map_written(&f->map, f->path);
}

bool image_changed(const struct image *im)
{
	return was_cut(&im->code) || was_cut(&im->syms) || was_written(&im->code) ||
	       was_written(&im->syms);
}

const char *image_trouble(const struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	if (was_cut(&im->code) || was_cut(&im->syms) || was_cut(&im->dwarf))
		return "the file became shorter while it was being read";
	if (was_written(&im->code) || was_written(&im->syms) || was_written(&im->dwarf))
		return "the file was written to while it was being read";
	if (!im->trouble.len && im->source && im->source->beside.code)
		return im->source->beside.what;
	return buf_str(&im->trouble);
}

const char *image_debug_lack(struct images *set, uint32_t id, struct arena *a)
{
	struct image *im = set->image.v[id];
	const struct elf_file *code = &im->code.elf;
	const char *link;
	uint32_t crc;

	image_locate(set, im);
	if (!im->code.path)
		return "the program is not here: --symbols DIR names a directory that has it";
	if (im->dwarf.path)
		return "that of its file cannot be read";
	link = elf_debuglink(code, &crc);
	if (link)
		return arena_xprintf(a,
				     "%s, where it is, is %s: install its debug package, or "
				     "name a directory that has it with --symbols DIR",
				     link, im->link_other ? "of another build" : "not here");
	if (!elf_has_symtab(code))
		return "it is stripped: install its debug package, or name a directory that has "
		       "the unstripped program with --symbols DIR";
	return "build with -g, or name a directory that has it with --symbols DIR";
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

	image_locate(set, im);
	/* the vdso of this machine has code, but no file */
	return im->code.mem ? NULL : im->code.path;
}

uid_t image_owner(struct images *set, uint32_t id)
{
	const struct image *im = set->image.v[id];

	image_locate(set, set->image.v[id]);
	return im->dwarf.path ? im->dwarf.owner : im->code.path ? im->code.owner : (uid_t)-1;
}

int images_slurp(const struct images *set, struct buf *out, const char *path, size_t limit,
		 struct err *err)
{
	struct stat st;
	int fd;

	if (!set->archive)
		return file_slurp(out, path, limit, err);
	fd = file_in_open(set->archive, path, FILE_IN_LINKS, &st, err);
	return fd < 0 ? -1 : file_in_slurp(out, fd, &st, limit, path, err);
}

size_t image_parts(const struct images *set, uint32_t id, struct image_part out[3])
{
	const struct image *im = set->image.v[id];
	const struct elf_on_disk *const part[] = { &im->code, &im->syms, &im->dwarf };
	size_t n = 0;

	for (size_t i = 0; im->located && i < 3; i++) {
		const struct elf_on_disk *f = part[i];

		if (!f->path || f->shared)
			continue;
		out[n] = (struct image_part){ .path = f->root_len ? NULL : f->path,
					      .p = f->elf.p,
					      .len = f->elf.len,
					      .mapped = !f->mem,
					      .code = f == &im->code };
		out[n].id_len = elf_build_id(&f->elf, &out[n].id);
		n++;
	}
	return n;
}

bool image_loaded(const struct images *set, uint32_t id)
{
	return set->image.v[id]->loaded;
}

const char *image_debug_file(struct images *set, uint32_t id)
{
	struct image *im = set->image.v[id];

	image_locate(set, im);
	return im->dwarf.path;
}

bool image_to_vaddr(struct images *set, uint32_t id, uint64_t addr, uint64_t *vaddr)
{
	struct image *im = set->image.v[id];

	if (im->key.kind == IMAGE_SCRIPT) {
		*vaddr = addr;
		return true;
	}
	image_locate(set, im);
	if (!im->absolute)
		return elf_offset_to_vaddr(im->seg, im->n_seg, addr, vaddr);
	*vaddr = addr - im->delta;
	return im->seg != NULL;
}

bool image_from_vaddr(struct images *set, uint32_t id, uint64_t vaddr, uint64_t *addr)
{
	struct image *im = set->image.v[id];

	image_locate(set, im);
	if (!im->absolute)
		return elf_vaddr_to_offset(im->seg, im->n_seg, vaddr, addr);
	*addr = vaddr + im->delta;
	return im->seg != NULL;
}

/* ---- source lines, types, call-frame tables ------------------------------------------------ */

const struct source *source_of(struct images *set, uint32_t image, struct err *err)
{
	struct image *im = set->image.v[image];
	const struct elf_on_disk *d = &im->dwarf;
	struct source_opened f;
	struct err why = ERR_INIT;
	struct file_map map;
	char *root = NULL;

	if (im->source_tried)
		return im->source;
	image_locate(set, im);
	im->source_tried = true;
	if (im->key.kind == IMAGE_SCRIPT) {
		const char *file, *function;
		size_t len;

		if (script_parts(im->key.path, &file, &len, &function))
			im->source = source_of_script(file, len);
		return im->source;
	}
	if (!d->path)
		return NULL;
	if (d->root)
		root = arena_xstrdup(&im->arena, d->root);
	else if (d->root_len)
		root = arena_xstrndup(&im->arena, d->path, d->root_len);
	map = d->mem ? (struct file_map){ .p = d->mem, .len = d->elf.len } : d->map;
	f = (struct source_opened){ .map = &map,
				    .root = root,
				    .path = d->path + d->root_len,
				    .user = d->owner,
				    .dirs = set->dirs.v };
	im->source = source_open_file(&f, &why);
	image_failed(im, &why);
	if (why.code == ERR_FORMAT) { /* its sections: lines are missing, and no more */
		if (!im->trouble.len)
			buf_puts(&im->trouble, why.what);
	} else if (err && err->code == ERR_NONE) {
		*err = why;
	}
	if (im->source)
		im->source->raw_names = set->opts.raw_names;
	return im->source;
}

struct types *types_of(struct images *set, uint32_t image, struct err *err)
{
	struct image *im = set->image.v[image];
	const struct source *s = source_of(set, image, err);

	if (!im->types && s && im->code.elf.p)
		im->types = types_new(s, &im->code.elf, err);
	return im->types;
}

const struct cfi *image_cfi(struct images *set, uint32_t image)
{
	struct image *im = set->image.v[image];

	(void)pthread_mutex_lock(&set->cfi_lock);
	if (!im->cfi) {
		image_locate(set, im);
		im->cfi = cfi_new(im->code.elf.p ? &im->code.elf : NULL,
				  im->dwarf.elf.p ? &im->dwarf.elf : NULL);
		if (im->cfi->unread && !im->trouble.len)
			buf_printf(&im->trouble, "%s: .debug_frame %s: callers are missing",
				   im->dwarf.path ? im->dwarf.path : im->code.path,
				   im->cfi->unread);
	}
	(void)pthread_mutex_unlock(&set->cfi_lock);
	return im->cfi;
}

const struct elf_file *image_code_elf(struct images *set, uint32_t image)
{
	const struct image *im = set->image.v[image];

	return im->cfi && im->code.elf.p ? &im->code.elf : NULL;
}

/* ---- by path, by process, by name --------------------------------------------------------------
 *
 * Recordings of thousands of processes or files would else search all images again and again. */

#define DUMP_BY_TIME (UINT64_C(1) << 63) /* the process' code is in images of kind IMAGE_JIT */

static void index_path(struct images *set, uint32_t image, const char *path)
{
	bool fresh;
	uint64_t *at = u64map_xat(&set->by_path, hash_bytes(path, strlen(path)), &fresh);
	struct image_of_path ref = { image, fresh ? IMAGE_NONE : (uint32_t)*at };

	vec_xpush(&set->of_path, ref);
	*at = set->of_path.n - 1;
}

void image_index_add(struct images *set, uint32_t image)
{
	const struct image *im = set->image.v[image];
	const struct image_key *k = &im->key;
	uint32_t pid;
	uint64_t *at;
	bool fresh;

	index_path(set, image, k->path);
	/* a recording's table of build-ids knows "[kernel.kallsyms]" where its mapping is called
	 * "[kernel.kallsyms]_text" */
	if (k->kind == IMAGE_KERNEL && strcmp(im->name, k->path) != 0)
		index_path(set, image, im->name);
	if ((k->kind != IMAGE_FILE && k->kind != IMAGE_JIT) || !jitdump_path_pid(k->path, &pid))
		return;
	at = u64map_xat(&set->dump_of, pid, &fresh);
	if (fresh)
		*at = image;
	if (k->kind == IMAGE_JIT)
		*at |= DUMP_BY_TIME;
}

const char *image_dump_path(const struct images *set, uint32_t pid)
{
	const uint64_t *at = u64map_find(&set->dump_of, pid);

	return !at || (*at & DUMP_BY_TIME) ? NULL : set->image.v[*at]->key.path;
}

void image_index_names(struct images *set)
{
	u64map_free(&set->by_name);
	set->next_named.n = 0;
	vec_xreserve(&set->next_named, set->image.n + 1);
	set->next_named.n = set->image.n;
	for (size_t i = set->image.n; i-- > 0;) { /* the last one first: chains then ascend */
		const char *name = set->image.v[i]->name;
		bool fresh;
		uint64_t *at = u64map_xat(&set->by_name, hash_bytes(name, strlen(name)), &fresh);

		set->next_named.v[i] = fresh ? IMAGE_NONE : (uint32_t)*at;
		*at = i;
	}
}

uint32_t image_named(const struct images *set, const char *name, uint32_t after)
{
	const uint64_t *first;
	uint32_t i;

	if (after != IMAGE_NONE) {
		i = set->next_named.v[after];
	} else {
		first = u64map_find(&set->by_name, hash_bytes(name, strlen(name)));
		i = first ? (uint32_t)*first : IMAGE_NONE;
	}
	while (i != IMAGE_NONE && strcmp(set->image.v[i]->name, name) != 0)
		i = set->next_named.v[i];
	return i;
}

void image_index_free(struct images *set)
{
	u64map_free(&set->by_name);
	vec_free(&set->next_named);
	u64map_free(&set->by_path);
	u64map_free(&set->dump_of);
	u64map_free(&set->perf_map_of);
	u64map_free(&set->mount_ns);
	u64map_free(&set->ended);
	vec_free(&set->of_path);
}

/* ---- build-ids from elsewhere ---- */

struct late_id {
	const uint8_t *p, *kept; /* as it was handed in; in the arena, once an image has it */
	size_t len;
};

static void give_late_id(struct images *set, struct image *im, struct late_id *id)
{
	if (im->key.build_id_len || im->located)
		return;
	if (!id->kept)
		id->kept = arena_xmemdup(&set->arena, id->p, id->len);
	im->key.build_id = id->kept;
	im->key.build_id_len = id->len;
	im->id_later = true;
}

static struct late_id late_id(const uint8_t *id, size_t len)
{
	return (struct late_id){ id, NULL, len > BUILD_ID_MAX ? BUILD_ID_MAX : len };
}

void images_build_id(struct images *set, const char *path, const uint8_t *id, size_t len)
{
	uint64_t *at = len ? u64map_find(&set->by_path, hash_bytes(path, strlen(path))) : NULL;
	struct late_id late = late_id(id, len);

	if (!at)
		return;
	for (uint64_t i = *at; i != IMAGE_NONE; i = set->of_path.v[i].next) {
		struct image *im = set->image.v[set->of_path.v[i].image];

		if (!strcmp(im->key.path, path) ||
		    (im->key.kind == IMAGE_KERNEL && !strcmp(im->name, path)))
			give_late_id(set, im, &late);
	}
	*at = IMAGE_NONE; /* all of that path have one now */
}

void images_kernel_build_id(struct images *set, const char *prefix, const uint8_t *id, size_t len)
{
	struct late_id late = late_id(id, len);

	vec_each (&set->image, struct image **, it) {
		const struct image_key *k = &(*it)->key;

		if (len && k->kind == IMAGE_KERNEL && !strncmp(k->path, prefix, strlen(prefix)))
			give_late_id(set, *it, &late);
	}
}
