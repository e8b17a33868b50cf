/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of symbols of an image, from the files that were found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/dwarf/cfi.h"
#include "symbol/elf/elf_unpack.h"
#include "symbol/image/cache.h"
#include "symbol/image/image_set.h"
#include "symbol/script.h"

void image_add_symbol(struct image *im, uint64_t start, uint64_t size, const char *name)
{
	struct raw_sym *r = vec_xadd(&im->list.raw);

	r->start = start;
	r->size = size ? size : UINT64_MAX;
	r->sizeless = !size;
	r->bind = RAW_GLOBAL;
	r->kind = RAW_FUNCTION;
	r->name = name;
}

void image_was_copied(struct images *set, uint32_t image)
{
	set->image.v[image]->copied = true;
}

bool image_copied(const struct images *set, uint32_t id)
{
	return set->image.v[id]->copied;
}

void image_say_verified(struct image *im)
{
	buf_puts(&im->origin, im->verified ? ", build-id verified"
					   : ", unverified (the recording has no build-id for it)");
	if (im->guessed)
		buf_puts(&im->origin, "; the program itself was not found: addresses assume that "
				      "its file is laid out as its memory");
	if (im->copied)
		buf_puts(&im->origin, "; code that was moved onto memory without a file is named "
				      "by what lay there before");
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
	/* which of several names is chosen depends on the names that are shown */
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

/* That a table could not be kept is no failure of the caller's request. */
static void keep_table(const struct images *set, const struct image *im)
{
	struct cache_key k;
	struct err ignored = ERR_INIT;

	if (cache_key(set, im, im->keep_as, &k))
		(void)!cache_store(&k, &im->table, im->keep_base, &ignored);
}

/* ---- ELF -------------------------------------------------------------------------------- */

/* A stripped program may carry the names of its functions packed; *why: they cannot be read. */
static void load_minidebug(struct image *im, const struct addr_map *map, const char **why)
{
	size_t len;

	*why = elf_minidebug(&im->code.elf, &im->mini.mem, &len);
	if (!im->mini.mem)
		return;
	if (elf_file_read(&im->mini.elf, im->mini.mem, len, im->code.path, NULL)) {
		*why = ".gnu_debugdata is broken";
		return;
	}
	im->keep_as = "mini";
	elf_symbols_read(&im->list, &im->mini.elf, false, map);
}

static void load_stripped(const struct images *set, struct image *im, const struct addr_map *map,
			  const char **why)
{
	uint64_t base;
	size_t before;

	if (elf_section(&im->code.elf, ".gnu_debugdata") &&
	    image_load_cached(set, im, "mini", &base)) {
		buf_printf(&im->origin, "%s (.dynsym and .gnu_debugdata, cached)", im->code.path);
		return;
	}
	elf_symbols_read(&im->list, &im->code.elf, true, map);
	before = im->list.raw.n;
	load_minidebug(im, map, why);
	if (im->list.raw.n > before) {
		buf_printf(&im->origin, "%s (.dynsym and .gnu_debugdata)", im->code.path);
		return;
	}
	elf_go_read(&im->list, &im->code.elf, map);
	elf_bounds_read(&im->list, &im->code.elf, map);
	buf_printf(&im->origin, "%s (stripped: %s", im->code.path,
		   im->list.raw.n > before ? ".gopclntab"
		   : before		   ? "only .dynsym"
					   : "no symbols");
	if (im->list.bounds.n)
		buf_printf(&im->origin, ", bounds of %zu functions from its unwind table",
			   im->list.bounds.n);
	buf_puts(&im->origin, ")");
}

static void say_nothing_found(struct image *im)
{
	if (im->refusal.len) {
		buf_puts(&im->origin, buf_str(&im->refusal));
		return;
	}
	if (im->key.path[image_live_len(im->key.path)])
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

static void load_elf(const struct images *set, struct image *im)
{
	struct addr_map map = { im->absolute ? NULL : im->seg, im->n_seg, im->delta };
	const char *why = NULL;

	if (!im->code.path && !im->syms.path) {
		say_nothing_found(im);
		return;
	}
	if (!im->absolute && !im->seg) {
		buf_printf(&im->origin, "%s: no program headers: where it is loaded is not known",
			   im->code.path ? im->code.path : im->syms.path);
		return;
	}
	if (im->syms.path) {
		elf_symbols_read(&im->list, &im->syms.elf, false, &map);
		buf_puts(&im->origin, im->syms.path);
	} else {
		load_stripped(set, im, &map, &why);
	}
	if (im->code.path && !im->absolute && !im->table.n)
		elf_plt_read(&im->list, &im->code.elf, &map);
	image_say_verified(im);
	if (why)
		buf_printf(&im->origin, "; %s", why);
}

/* One function is all that is there. */
static void load_script(struct image *im)
{
	const char *file, *function;
	size_t len;

	buf_puts(&im->origin, "the recording");
	if (script_parts(im->key.path, &file, &len, &function))
		image_add_symbol(im, 0, SCRIPT_BYTES, function);
}

void image_load(struct images *set, struct image *im)
{
	if (im->loaded)
		return;
	image_locate(set, im);
	switch (im->key.kind) {
	case IMAGE_FILE:
	case IMAGE_VDSO:
		load_elf(set, im);
		break;
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		if (im->syms.path)
			load_elf(set, im);
		else
			image_load_kernel(set, im);
		break;
	case IMAGE_ANON:
		image_load_jit(set, im);
		break;
	case IMAGE_JIT:
		image_load_jit_dump(set, im);
		break;
	case IMAGE_BPF:
		buf_puts(&im->origin, "the recording");
		image_add_symbol(im, im->key.start, im->key.len, im->key.path);
		break;
	case IMAGE_SCRIPT:
		load_script(im);
		break;
	case IMAGE_OTHER:
		buf_printf(&im->origin, "%s: not code of a file", im->key.path);
		break;
	}
	if (im->list.raw.n && image_changed(im)) { /* names of two versions: none */
		im->list.raw.n = im->list.bounds.n = 0;
		im->keep_as = NULL;
	}
	if (!im->table.n)
		sym_table_make(&im->table, &im->list, set->opts.raw_names);
	if (im->keep_as)
		keep_table(set, im);
	vec_free(&im->list.raw);
	vec_free(&im->list.bounds);
	im->loaded = true;
}
