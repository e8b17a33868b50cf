/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bbmap - the compiler's own basic blocks: the section that clang writes with
 * -fbasic-block-sections=labels or -fbasic-block-address-map.
 *
 *	bbmap_read(&m, images, image, &err)	the section of an image's file
 *	bbmap_parse(&m, p, len, &form, &err)	the same over bytes
 *	bbmap_free(&m)
 *
 * Per function: where it begins, then each block's place and size in ULEB128. In the oldest form
 * (section type 0x6fff4c08) places are from the function's start; versions 1 and 2 (type
 * 0x6fff4c0a) count them from the end of the block before, version 2 also has the block's id. Later
 * versions, and features that change the layout, are refused.
 */
#ifndef CYCLADE_SYMBOL_BBMAP_H
#define CYCLADE_SYMBOL_BBMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "symbol/image.h"

struct bbmap_block {
	uint32_t at, size; /* bytes from the function's start */
	uint32_t id;	   /* its number in the compiler's output */
	uint32_t flags;	   /* 1 returns, 2 tail call, 4 landing pad, 8 can fall through */
};

struct bbmap_function {
	uint64_t vaddr;
	size_t first, n; /* into block: ascending by `at`, at least one */
};

struct bbmap {
	VEC(struct bbmap_function) function;
	VEC(struct bbmap_block) block;
};

struct bbmap_form {
	bool old; /* without versions */
	bool is64, swap;
};

/* ERR_NOT_FOUND if the file is not here or has no such section. */
int bbmap_read(struct bbmap *m, struct images *set, uint32_t image, struct err *err) MUST_USE;
int bbmap_parse(struct bbmap *m, const uint8_t *p, size_t len, const struct bbmap_form *form,
		struct err *err) MUST_USE;
void bbmap_free(struct bbmap *m);

#endif
