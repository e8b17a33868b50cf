/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_image - disassembly of an image's code: disasm.c over the file the image was found in, or
 * over the dump that a runtime wrote of the code it made.
 */
#include "symbol/insn/decode.h"
#include "symbol/image/image_set.h"
#include "symbol/image/jitdump.h"

/* A dump's code has two addresses: the place of its bytes, which is the image's, and where it ran,
 * which operands are relative to. */
struct jit_range {
	const struct jitdump *dump;
	const struct jit_code *code;
	struct insn again;
	bool text;
	disasm_each each;
	void *ctx;
};

static int keep_insn(void *ctx, const struct insn *in)
{
	((struct jit_range *)ctx)->again = *in;
	return 0;
}

static int each_jit(void *ctx, const struct insn *in)
{
	struct jit_range *r = ctx;
	uint64_t into = in->vaddr - r->code->loaded_at;
	struct insn out = *in;

	out.vaddr = r->code->offset + into;
	if (!r->text) {
		if (in->has_target)
			out.target = in->target - r->code->loaded_at < r->code->size
					     ? in->target - r->code->loaded_at + r->code->offset
					     : DISASM_FAR;
		return r->each(r->ctx, &out);
	}
	/* a jump within the code shows its target as in the printed addresses */
	if (in->has_target && in->target - r->code->loaded_at < r->code->size &&
	    !disasm_bytes(r->dump->machine, in->bytes, in->len, out.vaddr, keep_insn, r, NULL))
		out = r->again;
	else
		out.has_target = false;
	out.bytes = in->bytes;
	return r->each(r->ctx, &out);
}

static int jit_range(struct jit_range *r, const uint8_t *p, uint64_t at, uint64_t len,
		     struct err *err)
{
	vec_each (&r->dump->code, const struct jit_code *, c) {
		if (c->moved || at < c->offset || at - c->offset >= c->size)
			continue;
		r->code = c;
		if (len > c->size - (at - c->offset))
			len = c->size - (at - c->offset);
		return (r->text ? disasm_bytes : disasm_plain)(r->dump->machine, p + at, len,
							       c->loaded_at + (at - c->offset),
							       each_jit, r, err);
	}
	return err_set(err, ERR_NOT_FOUND, "the dump holds no code at offset %llu",
		       (unsigned long long)at);
}

static int disasm_dump(const struct images *set, struct image *im, uint64_t at, uint64_t len,
		       bool text, disasm_each each, void *ctx, struct err *err)
{
	struct file_map map = { 0 };
	struct jitdump dump = { 0 };
	struct jit_range r = { .dump = &dump, .text = text, .each = each, .ctx = ctx };
	char path[4096];
	int rc = -1;

	if (!image_jit_map(set, im, &map, path))
		return err_set(err, ERR_NOT_FOUND, "%s: is not there, or somebody else's",
			       im->key.path);
	if (!jitdump_parse(&dump, map.p, map.len, err)) {
		rc = jit_range(&r, map.p, at, len, err);
		jitdump_free(&dump);
	}
	file_map_close(&map);
	return rc;
}

static unsigned dump_machine(const struct images *set, struct image *im)
{
	struct file_map map = { 0 };
	struct jitdump dump = { 0 };
	unsigned machine = 0;
	char path[4096];

	if (!image_jit_map(set, im, &map, path))
		return 0;
	if (!jitdump_parse(&dump, map.p, map.len, NULL)) {
		machine = dump.machine;
		jitdump_free(&dump);
	}
	file_map_close(&map);
	return machine;
}

unsigned disasm_machine(struct images *set, uint32_t image)
{
	struct image *im = set->image.v[image];

	image_locate(set, im);
	if (im->key.kind == IMAGE_JIT)
		return dump_machine(set, im);
	return im->code.elf.p ? im->code.elf.machine : 0;
}

static int disasm_image(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len, bool text,
			disasm_each each, void *ctx, struct err *err)
{
	struct image *im = set->image.v[image];

	image_locate(set, im);
	if (im->key.kind == IMAGE_JIT)
		return disasm_dump(set, im, vaddr, len, text, each, ctx, err);
	if (!im->code.elf.p) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: its code is not at hand",
			      image_path(set, image));
		return err_hint(err, "--symbols DIR or --sysroot DIR says where the program is");
	}
	return disasm_elf(&im->code.elf, im->code.path ? im->code.path : im->name, vaddr, len, text,
			  each, ctx, err);
}

int disasm_range(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len,
		 int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	return disasm_image(set, image, vaddr, len, true, each, ctx, err);
}

int disasm_range_plain(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len,
		       disasm_each each, void *ctx, struct err *err)
{
	return disasm_image(set, image, vaddr, len, false, each, ctx, err);
}
