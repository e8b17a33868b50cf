/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_of FILE - for each hexadecimal address on standard input the call-frame row there: the
 * CFA, then what is not unchanged: "REG=c-16", "REG=r9", "REG=u", "REG=exp", "REG=vexp", "REG=v+8",
 * by DWARF's numbers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/file_in.h"
#include "symbol/unwind/unwind_int.h"

static void print_row(const struct cfi_row *r)
{
	static const char *const kind[] = { "s", "u", "c", "v", "r", "exp", "vexp" };

	if (r->cfa_is_expr)
		printf("exp");
	else
		printf("%u%+" PRId64, r->cfa_reg, r->cfa_off);
	for (uint32_t i = 0; i < r->n_rules; i++) {
		const struct cfi_rule *x = &r->rule[i];

		printf("\t%s%u=%s", x->reg == r->ra ? "ra" : "", x->reg, kind[x->kind]);
		if (x->kind == CFI_AT_OFFSET || x->kind == CFI_VAL_OFFSET)
			printf("%+" PRId64, x->off);
		else if (x->kind == CFI_REGISTER)
			printf("%" PRId64, x->off);
	}
	printf("%s\n", r->signal ? "\tsignal" : "");
}

int main(int argc, char **argv)
{
	struct file_map map = { 0 };
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct elf_file elf;
	struct cfi *cfi = NULL;
	char line[64];

	if (argc != 2)
		return 2;
	if (file_map_open(&map, argv[1], &err) ||
	    elf_file_read(&elf, map.p, map.len, argv[1], &err)) {
		fprintf(stderr, "%s\n", err.what);
		file_map_close(&map);
		return 1;
	}
	cfi = cfi_new(&elf, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		const struct cfi_row *row = cfi_find(cfi, strtoull(line, NULL, 16), &arena);

		if (row)
			print_row(row);
		else
			printf("none\n");
	}
	cfi_free(cfi);
	elf_file_free(&elf);
	file_map_close(&map);
	arena_free(&arena);
	return 0;
}
