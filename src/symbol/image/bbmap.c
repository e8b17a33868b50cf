/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/bbmap.h"

#include <string.h>

#include "base/xalloc.h"
#include "symbol/image/image_set.h"

#define TYPE_OLD 0x6fff4c08u
#define TYPE	 0x6fff4c0au

static int bad_map(const struct cur *c, const uint8_t *p, const char *what, struct err *err)
{
	return err_set(err, ERR_FORMAT, "basic block address map: offset %zu: %s",
		       (size_t)(c->p - p), what);
}

/* One block behind `end`, the end of the one before. False: it makes no sense. */
static bool read_block(struct cur *c, bool running, bool ids, uint64_t *end, size_t n,
		       struct bbmap_block *b)
{
	uint64_t id = ids ? cur_uleb(c) : n, at = cur_uleb(c), size = cur_uleb(c),
		 flags = cur_uleb(c);

	if (c->bad || at > INT32_MAX || size > INT32_MAX || id > UINT32_MAX)
		return false;
	at += running ? *end : 0;
	if (at < *end || at + size > INT32_MAX)
		return false;
	*end = at + size;
	*b = (struct bbmap_block){ (uint32_t)at, (uint32_t)size, (uint32_t)id, (uint32_t)flags };
	return true;
}

int bbmap_parse(struct bbmap *m, const uint8_t *p, size_t len, const struct bbmap_form *form,
		struct err *err)
{
	struct cur c = cur_of(p, len);

	*m = (struct bbmap){ VEC_INIT, VEC_INIT };
	c.swap = form->swap;
	while (cur_left(&c)) {
		struct bbmap_function f = { 0, m->block.n, 0 };
		uint8_t version = form->old ? 0 : cur_u8(&c), features = form->old ? 0 : cur_u8(&c);
		uint64_t n, end = 0;

		if (version > 2 || features) {
			(void)err_set(err, ERR_UNSUPPORTED,
				      "basic block address map of version %u with features %#x: "
				      "versions up to 2, without features, are understood",
				      version, features);
			goto fail;
		}
		f.vaddr = form->is64 ? cur_u64(&c) : cur_u32(&c);
		n = cur_uleb(&c);
		if (c.bad || n > cur_left(&c)) { /* a block takes some bytes */
			(void)bad_map(&c, p, "a function was expected", err);
			goto fail;
		}
		for (uint64_t i = 0; i < n; i++) {
			struct bbmap_block b;

			if (!read_block(&c, version > 0, version > 1, &end, (size_t)i, &b)) {
				(void)bad_map(&c, p, "a block was expected", err);
				goto fail;
			}
			vec_xpush(&m->block, b);
		}
		f.n = (size_t)n;
		if (n)
			vec_xpush(&m->function, f);
	}
	return 0;
fail:
	bbmap_free(m);
	return -1;
}

void bbmap_free(struct bbmap *m)
{
	vec_free(&m->function);
	vec_free(&m->block);
}

int bbmap_read(struct bbmap *m, struct images *set, uint32_t image, struct err *err)
{
	const char *path = image_code_file(set, image);
	const struct elf_file *elf = &set->image.v[image]->code.elf;
	const struct elf_sec *sec;

	*m = (struct bbmap){ VEC_INIT, VEC_INIT };
	if (!path) {
		(void)err_set(err, ERR_NOT_FOUND, "%.200s: the file is not here",
			      image_path(set, image));
		return err_hint(err, "name where it lies: --symbols DIR");
	}
	sec = elf_section_of_type(elf, TYPE);
	if (!sec)
		sec = elf_section_of_type(elf, TYPE_OLD);
	if (sec && sec->data) {
		const struct bbmap_form form = { sec->type == TYPE_OLD, elf->is64, elf->swap };

		return bbmap_parse(m, sec->data, sec->size, &form, err)
			       ? err_prefix(err, "%.200s", path)
			       : 0;
	}
	(void)err_set(err, ERR_NOT_FOUND, "%.200s does not tell its basic blocks", path);
	return err_hint(err, "build it with clang -fbasic-block-address-map, before clang 19 "
			     "-fbasic-block-sections=labels");
}
