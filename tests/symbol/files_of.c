/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of all units: UNIT NUMBER OURS LIBDW, separated by tabs. usage: files_of PROGRAM */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/line_files.h"

static void find_sections(Elf *elf, struct line_sections *s)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		exit(1);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : "";
		const Elf_Data *d = elf_rawdata(scn, NULL);

		if (!d)
			continue;
		if (!strcmp(name, ".debug_line"))
			s->line = d->d_buf, s->line_len = d->d_size;
		else if (!strcmp(name, ".debug_line_str"))
			s->line_str = d->d_buf, s->line_str_len = d->d_size;
		else if (!strcmp(name, ".debug_str"))
			s->str = d->d_buf, s->str_len = d->d_size;
	}
}

static void print(Dwarf_Die *unit, const struct line_sections *s)
{
	struct line_files ours;
	Dwarf_Files *files;
	Dwarf_Attribute attr;
	Dwarf_Word off;
	const char *comp;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) || !dwarf_attr(unit, DW_AT_stmt_list, &attr) ||
	    dwarf_formudata(&attr, &off))
		exit(1);
	line_files_read(&ours, s, off);
	comp = dwarf_attr(unit, DW_AT_comp_dir, &attr) ? dwarf_formstring(&attr) : NULL;
	for (size_t i = ours.first; i < n || i - ours.first < ours.v.n; i++) {
		const struct line_file *f =
			i - ours.first < ours.v.n ? &ours.v.v[i - ours.first] : NULL;
		const char *dir = f && f->dir ? f->dir : comp;
		const char *theirs = i < n ? dwarf_filesrc(files, i, NULL, NULL) : NULL;

		printf("%#llx\t%zu\t", (unsigned long long)dwarf_dieoffset(unit), i);
		if (f && f->name && f->name[0] != '/' && dir)
			printf("%s/", dir);
		printf("%s\t%s\n", f && f->name ? f->name : "?", theirs ? theirs : "?");
	}
	vec_free(&ours.v);
}

int main(int argc, char **argv)
{
	struct line_sections s = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	Dwarf *dw;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = argc == 2 ? elf_begin(open(argv[1], O_RDONLY), ELF_C_READ, NULL) : NULL;
	dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL; /* unpacks */
	if (!dw)
		return 1;
	find_sections(elf, &s);
	while (!dwarf_get_units(dw, cu, &cu, NULL, NULL, &die, NULL))
		print(&die, &s);
	(void)dwarf_end(dw);
	(void)elf_end(elf);
	return 0;
}
