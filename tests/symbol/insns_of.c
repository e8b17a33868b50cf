/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insns_of FILE START LENGTH [classes] (numbers are hexadecimal) - the instructions there, one a
 * line: address, length, kind (- j c l r s !), target or -, text, separated by tabs. With
 * `classes`: address, class, width, memory (- r w rw), bytes of it, its operand or -, text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "symbol/disasm.h"

static int print(void *ctx, const struct insn *in)
{
	(void)ctx;
	printf("%llx\t%u\t%c\t", (unsigned long long)in->vaddr, in->len,
	       in->bad ? '?' : "-jclrs!"[in->flow]);
	if (in->has_target)
		printf("%llx", (unsigned long long)in->target);
	else
		printf("-");
	printf("\t%s\n", in->text);
	return 0;
}

static int print_class(void *ctx, const struct insn *in)
{
	static const char *const memory[] = { "-", "r", "w", "rw" };

	(void)ctx;
	printf("%llx\t%s\t%u\t%s\t%u\t%.*s\t%s\n", (unsigned long long)in->vaddr,
	       insn_class_name((enum insn_class)in->class), in->width, memory[in->memory],
	       in->access, in->mem_len ? in->mem_len : 1, in->mem_len ? in->text + in->mem_at : "-",
	       in->text);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;

	if (argc != 4 && argc != 5)
		return 2;
	if (disasm_file(argv[1], strtoull(argv[2], NULL, 16), strtoull(argv[3], NULL, 16),
			argc == 5 ? print_class : print, NULL, &err)) {
		fprintf(stderr, "%s\n%s\n", err.what, err.hint);
		return 1;
	}
	return 0;
}
