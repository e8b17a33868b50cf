/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of symbols of an image, from the files that were found.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/cfi.h"
#include "symbol/image/cache.h"
#include "symbol/image/image_set.h"

int image_add_symbol(struct image *im, uint64_t start, uint64_t size, const char *name,
		     struct err *err)
{
	struct raw_sym *r = vec_add(&im->list.raw);

	if (!r)
		return err_nomem(err);
	r->start = start;
	r->size = size ? size : UINT64_MAX;
	r->sizeless = !size;
	r->bind = RAW_GLOBAL;
	r->kind = RAW_FUNCTION;
	r->name = name;
	return 0;
}

void image_say_verified(struct image *im)
{
	buf_puts(&im->origin, im->verified ? ", build-id verified"
					   : ", unverified (the recording has no build-id for it)");
	if (im->guessed)
		buf_puts(&im->origin, "; the program itself was not found: addresses assume that "
				      "its file is laid out as its memory");
	if (im->refusal.len)
		buf_printf(&im->origin, "; %s", buf_str(&im->refusal));
	if (im->doubt.len)
		buf_printf(&im->origin, "; %s", buf_str(&im->doubt));
}

/* ---- the cache -------------------------------------------------------------------------- */

static bool cache_key(const struct images *set, const struct image *im, const char *kind,
		      struct cache_key *k)
{
	k->dir = set->opts.cache_dir;
	k->kind = kind;
	k->id = im->key.build_id;
	k->id_len = im->key.build_id_len;
	if (im->code.path)
		k->id_len = elf_build_id(&im->code.elf, &k->id);
	if (k->id_len > BUILD_ID_MAX)
		k->id_len = BUILD_ID_MAX;
	/* which of several names is chosen depends on what people are shown */
	k->layout = set->opts.raw_names;
	for (size_t i = 0; i < im->n_seg; i++) {
		const struct elf_seg *s = &im->seg[i];

		k->layout = hash_pair(k->layout, hash_pair(s->vaddr, s->offset));
		k->layout = hash_pair(k->layout, hash_pair(s->filesz, s->type));
	}
	return k->dir && k->id_len;
}

bool image_load_cached(const struct images *set, struct image *im, const char *kind, uint64_t *base)
{
	struct cache_key k;

	return cache_key(set, im, kind, &k) && cache_load(&k, &im->cached, &im->table, base);
}

/* That a table could not be kept is no failure of what was asked for. */
static void keep(const struct images *set, const struct image *im)
{
	struct cache_key k;
	struct err ignored = ERR_INIT;

	if (cache_key(set, im, im->keep_as, &k))
		(void)!cache_store(&k, &im->table, im->keep_base, &ignored);
}

/* ---- ELF -------------------------------------------------------------------------------- */

/* A stripped program may carry the names of its functions packed. */
static int load_minidebug(struct image *im, const struct addr_map *map, const char **why,
			  struct err *err)
{
	size_t len;

	if (elf_minidebug(&im->code.elf, &im->mini.mem, &len, why, err))
		return -1;
	if (!im->mini.mem)
		return 0;
	if (elf_file_read(&im->mini.elf, im->mini.mem, len, im->code.path, NULL)) {
		*why = ".gnu_debugdata is broken";
		return 0;
	}
	im->keep_as = "mini";
	return elf_symbols_read(&im->list, &im->mini.elf, false, map, err);
}

static int load_stripped(const struct images *set, struct image *im, const struct addr_map *map,
			 const char **why, struct err *err)
{
	uint64_t base;
	size_t before;

	if (elf_section(&im->code.elf, ".gnu_debugdata") &&
	    image_load_cached(set, im, "mini", &base)) {
		buf_printf(&im->origin, "%s (.dynsym and .gnu_debugdata, cached)", im->code.path);
		return 0;
	}
	if (elf_symbols_read(&im->list, &im->code.elf, true, map, err))
		return -1;
	before = im->list.raw.n;
	if (load_minidebug(im, map, why, err))
		return -1;
	if (im->list.raw.n > before) {
		buf_printf(&im->origin, "%s (.dynsym and .gnu_debugdata)", im->code.path);
		return 0;
	}
	if (elf_go_read(&im->list, &im->code.elf, map, err) ||
	    elf_bounds_read(&im->list, &im->code.elf, map, err))
		return -1;
	buf_printf(&im->origin, "%s (stripped: %s", im->code.path,
		   im->list.raw.n > before ? ".gopclntab"
		   : before		   ? "only .dynsym"
					   : "no symbols");
	if (im->list.bounds.n)
		buf_printf(&im->origin, ", bounds of %zu functions from its unwind table",
			   im->list.bounds.n);
	buf_puts(&im->origin, ")");
	return 0;
}

static bool is_deleted(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(gone) - 1;

	return len > tail && !strcmp(path + len - tail, gone);
}

static void say_nothing_found(struct image *im)
{
	if (im->refusal.len) {
		buf_puts(&im->origin, buf_str(&im->refusal));
		return;
	}
	if (is_deleted(im->key.path))
		buf_printf(&im->origin, "%s: it was deleted or replaced, and no copy is here",
			   im->key.path);
	else
		buf_printf(&im->origin, "%s: not found here", im->key.path);
	if (im->key.build_id_len) {
		buf_puts(&im->origin, " (build-id ");
		put_build_id(&im->origin, im->key.build_id, im->key.build_id_len);
		buf_putc(&im->origin, ')');
	}
	if (im->key.guest)
		buf_puts(&im->origin,
			 "; it is a guest's: --symbols DIR names a directory that has it");
	else
		buf_puts(&im->origin, "; install its package, or name a directory that has it with "
				      "--symbols DIR");
}

static int load_elf(const struct images *set, struct image *im, struct err *err)
{
	struct addr_map map = { im->absolute ? NULL : im->seg, im->n_seg, im->delta };
	const char *why = NULL;

	if (!im->code.path && !im->syms.path) {
		say_nothing_found(im);
		return 0;
	}
	if (!im->absolute && !im->seg) {
		buf_printf(&im->origin, "%s: no program headers: where it is loaded is not known",
			   im->code.path ? im->code.path : im->syms.path);
		return 0;
	}
	if (im->syms.path) {
		if (elf_symbols_read(&im->list, &im->syms.elf, false, &map, err))
			return -1;
		buf_puts(&im->origin, im->syms.path);
	} else if (load_stripped(set, im, &map, &why, err)) {
		return -1;
	}
	if (im->code.path && !im->absolute && !im->table.n &&
	    elf_plt_read(&im->list, &im->code.elf, &map, err))
		return -1;
	image_say_verified(im);
	if (why)
		buf_printf(&im->origin, "; %s", why);
	return 0;
}

static int load_bpf(struct image *im, struct err *err)
{
	buf_puts(&im->origin, "the recording");
	return image_add_symbol(im, im->key.start, im->key.len, im->key.path, err);
}

int image_load(struct images *set, struct image *im, struct err *err)
{
	int rc = 0;

	if (im->loaded)
		return 0;
	if (image_locate(set, im, err))
		return -1;
	switch (im->key.kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		rc = load_elf(set, im, err);
		break;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		if (im->syms.path)
			rc = load_elf(set, im, err);
		else
			rc = image_load_kernel(set, im, err);
		break;
	case IMAGE_ANON:
		rc = image_load_jit(set, im, err);
		break;
	case IMAGE_JIT:
		rc = image_load_jit_dump(set, im, err);
		break;
	case IMAGE_BPF:
		rc = load_bpf(im, err);
		break;
	case IMAGE_OTHER:
		buf_printf(&im->origin, "%s: not code of a file", im->key.path);
		break;
	}
	if (rc)
		return -1;
	if (!im->table.n && sym_table_make(&im->table, &im->list, set->opts.raw_names, err))
		return -1;
	if (im->keep_as)
		keep(set, im);
	vec_free(&im->list.raw);
	vec_free(&im->list.bounds);
	im->loaded = true;
	return 0;
}
