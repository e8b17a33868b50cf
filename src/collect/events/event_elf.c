/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_elf - where in a file the code of a function lies, for a uprobe.
 *
 * Only the symbol tables and the program headers are read, through libelf. The tables of a large
 * program cost their reading; the names are compared in place.
 */
#include "collect/events/event_int.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/text.h"
#include "base/vec.h"

#define NEAR_MAX 50000u /* names looked through for "did you mean" */

struct found {
	uint64_t value;
	unsigned global, local; /* different places of each kind */
	uint64_t local_value;
};

struct names {
	VEC(const char *) v;
};

static bool same_symbol(const char *name, const char *symbol, size_t len)
{
	/* a version follows '@' in .symtab: memcpy@@GLIBC_2.14 */
	return !strncmp(name, symbol, len) && (!name[len] || name[len] == '@');
}

/* One symbol table. Collects names too, where asked. */
static int scan_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *symbol,
		      struct found *found, struct names *names)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t len = strlen(symbol);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (sym.st_shndx == SHN_UNDEF || !sym.st_value)
			continue;
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		    GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC &&
		    GELF_ST_TYPE(sym.st_info) != STT_NOTYPE)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!name || !name[0])
			continue;
		if (names && names->v.n < NEAR_MAX && vec_push(&names->v, name))
			return -1;
		if (!same_symbol(name, symbol, len))
			continue;
		if (GELF_ST_BIND(sym.st_info) == STB_LOCAL) {
			found->local += !found->local || found->local_value != sym.st_value;
			found->local_value = sym.st_value;
		} else {
			found->global += !found->global || found->value != sym.st_value;
			found->value = sym.st_value;
		}
	}
	return 0;
}

static int scan_tables(Elf *elf, const char *symbol, struct found *found, struct names *names)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
		    scan_table(elf, scn, &sh, symbol, found, names))
			return -1;
	return 0;
}

static bool file_offset(Elf *elf, uint64_t value, uint64_t *offset)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && i < 65536; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (value < ph.p_vaddr || value - ph.p_vaddr >= ph.p_filesz)
			continue;
		*offset = value - ph.p_vaddr + ph.p_offset;
		return true;
	}
	return false;
}

static int symbol_absent(Elf *elf, const char *path, const char *symbol, struct err *err)
{
	struct names names = { VEC_INIT };
	struct found found = { 0, 0, 0, 0 };
	const char *nearest = NULL;

	(void)err_set(err, ERR_NOT_FOUND, "%s has no function '%s' in its symbol tables", path,
		      symbol);
	if (!scan_tables(elf, symbol, &found, &names) && names.v.n && !vec_push(&names.v, NULL))
		nearest = text_nearest(symbol, names.v.v);
	if (nearest)
		(void)err_hint(err, "did you mean %.100s? (nm -D and nm list them all)", nearest);
	else
		(void)err_hint(err, "nm -D %.150s lists them; a stripped program takes +0xOFFSET",
			       path);
	vec_free(&names.v);
	return -1;
}

static int locate_symbol(Elf *elf, const char *path, const char *symbol, uint64_t *offset,
			 struct err *err)
{
	struct found found = { 0, 0, 0, 0 };
	uint64_t value;

	if (elf_kind(elf) != ELF_K_ELF)
		return err_set(err, ERR_FORMAT, "%s is not an ELF file", path);
	if (scan_tables(elf, symbol, &found, NULL))
		return err_nomem(err);
	if (!found.global && !found.local)
		return symbol_absent(elf, path, symbol, err);
	if (found.global > 1 || (!found.global && found.local > 1)) {
		(void)err_set(err, ERR_USAGE, "%s has %u functions '%s'", path,
			      found.global ? found.global : found.local, symbol);
		return err_hint(err, "say which by its offset in the file: +0xOFFSET");
	}
	value = found.global ? found.value : found.local_value;
	if (!file_offset(elf, value, offset))
		return err_set(err, ERR_FORMAT, "%s: '%s' at 0x%llx lies in no loaded segment",
			       path, symbol, (unsigned long long)value);
	return 0;
}

int elf_symbol_offset(const char *path, const char *symbol, uint64_t *offset, struct err *err)
{
	struct stat st;
	Elf *elf = NULL;
	int rc = -1;
	int fd = file_in_open(NULL, path, FILE_IN_PROC, &st, err);

	if (fd < 0)
		return -1;
	if (elf_version(EV_CURRENT) == EV_NONE)
		goto bad;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		goto bad;
	rc = locate_symbol(elf, path, symbol, offset, err);
	goto out;
bad:
	(void)err_set(err, ERR_FORMAT, "%s: %s", path, elf_errmsg(-1));
out:
	(void)elf_end(elf);
	(void)close(fd);
	return rc;
}
