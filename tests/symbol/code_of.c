/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code_of FILE - functions taken apart. Reads "START LENGTH" (hexadecimal, the file's own
 * addresses) a line from standard input, and writes of each
 *
 *	code START bytes instructions blocks
 *	i ADDRESS length kind target		kind: - j c l r s ! ?; the target or -
 *	b ADDRESS end kind next target		addresses of blocks, or -
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbol/code.h"

static struct images *set;
static uint32_t image;

static void put_addr(uint64_t addr)
{
	uint64_t vaddr;

	if (image_to_vaddr(set, image, addr, &vaddr))
		printf("\t%" PRIx64, vaddr);
	else
		printf("\t?%" PRIx64, addr);
}

static void put_block(const struct code *c, uint32_t b)
{
	if (b == CODE_NONE)
		printf("\t-");
	else
		put_addr(c->start + c->block[b].start);
}

static void put(const struct code *c)
{
	printf("code\t%" PRIx64 "\t%" PRIu64 "\t%zu\t%zu\n", c->vaddr, c->len, c->n_insns,
	       c->n_blocks);
	for (size_t i = 0; i < c->n_insns; i++) {
		const struct code_insn *in = &c->insn[i];

		printf("i");
		put_addr(c->start + in->at);
		printf("\t%u\t%c", in->len, in->bad ? '?' : "-jclrs!"[in->flow]);
		if (in->has_target)
			put_addr(in->target);
		else
			printf("\t-");
		printf("\n");
	}
	for (size_t i = 0; i < c->n_blocks; i++) {
		const struct code_block *b = &c->block[i];

		printf("b");
		put_addr(c->start + b->start);
		put_addr(c->start + b->end - 1);
		printf("\t%c", "-jclrs!"[b->flow]);
		put_block(c, b->next);
		put_block(c, b->target);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	const struct images_opts opts = { .trust_paths = true, .kallsyms = "/dev/null" };
	struct image_key key = { .kind = IMAGE_FILE, .path = argc > 1 ? argv[1] : "" };
	unsigned long long start, len;
	struct err err = ERR_INIT;
	int ret = 0;

	set = images_new(&opts, &err);
	image = set ? images_add(set, &key, &err) : IMAGE_NONE;
	if (image == IMAGE_NONE)
		ret = 1;
	while (!ret && scanf("%llx %llx", &start, &len) == 2) {
		struct code *c;
		uint64_t addr;

		if (!image_from_vaddr(set, image, start, &addr)) {
			(void)err_set(&err, ERR_NOT_FOUND, "%llx is nowhere", start);
			ret = 1;
		} else if (code_read(&c, set, image, addr, len, &err)) {
			ret = 1;
		} else {
			put(c);
			code_free(c);
		}
	}
	if (ret)
		fprintf(stderr, "%s\n%s\n", err.what, err.hint);
	images_free(set);
	return ret;
}
