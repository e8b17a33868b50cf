/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm_image - disassembly of an image's code: disasm.c over the file the image was found in.
 */
#include "symbol/disasm_int.h"
#include "symbol/image_int.h"

int disasm_range(struct images *set, uint32_t image, uint64_t vaddr, uint64_t len,
		 int (*each)(void *ctx, const struct insn *in), void *ctx, struct err *err)
{
	const struct image *im = set->image.v[image];

	if (image_locate(set, set->image.v[image], err))
		return -1;
	if (!im->code.elf.p) {
		(void)err_set(err, ERR_NOT_FOUND, "%s: its code is not at hand",
			      image_path(set, image));
		return err_hint(err, "--symbols DIR or --sysroot DIR says where the program is");
	}
	return disasm_elf(&im->code.elf, im->code.path ? im->code.path : im->name, vaddr, len, each,
			  ctx, err);
}
