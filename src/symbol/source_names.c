/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_names - full names of a unit's source files, and the sums that its line program's header
 * has of them.
 *
 * libdw joins a file's name with its directory in the table, which may itself be relative to the
 * directory that the compiler ran in (DW_AT_comp_dir). Called under the lock of the source.
 */
#include <dwarf.h>
#include <gelf.h>

#include "base/fs.h"
#include "symbol/source_int.h"

enum { NAME_MAX_LEN = 4096 };

/* dwarf_begin_elf has unpacked what was compressed. */
void src_find_line_section(struct source *s)
{
	const char *ident = elf_getident(s->elf, NULL);
	bool big = ident && ident[EI_DATA] == ELFDATA2MSB;
	Elf_Scn *scn = NULL;
	size_t names;

	s->swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (elf_getshdrstrndx(s->elf, &names))
		return;
	while ((scn = elf_nextscn(s->elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(s->elf, names, sh.sh_name) : NULL;
		Elf_Data *d;

		if (!name ||
		    (strcmp(name, ".debug_line") != 0 && strcmp(name, ".zdebug_line") != 0))
			continue;
		d = elf_rawdata(scn, NULL);
		if (d && d->d_buf) {
			s->debug_line = d->d_buf;
			s->debug_line_len = d->d_size;
		}
		return;
	}
}

/* NULL: libdw's names stay as they are. */
static const char *comp_dir_of(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_attr(unit, DW_AT_comp_dir, &attr) ? dwarf_formstring(&attr) : NULL;

	/* a relative one is in libdw's names already, and leads nowhere by itself */
	return dir && dir[0] == '/' ? dir : NULL;
}

static const char *full_name(struct source *s, const char *dir, const char *file)
{
	size_t len = dir ? strlen(dir) : 0;

	if (!dir || !file || file[0] == '/' || len + strlen(file) + 2 > NAME_MAX_LEN)
		return file;
	return arena_printf(&s->arena, "%s%s%s", dir, dir[len - 1] == '/' ? "" : "/", file);
}

static int keep_sum(struct source *s, const char *name, const struct source_sum *sum)
{
	struct source_sum *copy;
	uint64_t *at;

	if (!sum->size && !sum->has_md5)
		return 0;
	at = u64map_at(&s->sums, (uint64_t)(uintptr_t)name, NULL);
	copy = arena_memdup(&s->arena, sum, sizeof(*sum));
	if (!at || !copy)
		return -1;
	*at = (uint64_t)(uintptr_t)copy;
	return 0;
}

int src_name_files(struct source *s, Dwarf_Die *unit, Dwarf_Files *files, size_t n,
		   src_file_names *out)
{
	const char *dir = comp_dir_of(unit);

	if (vec_reserve(out, n + 1))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *plain = dwarf_filesrc(files, i, NULL, NULL);
		const char *name = full_name(s, dir, plain);

		if (plain && !name)
			return -1;
		out->v[out->n++] = name;
	}
	return 0;
}

int src_decl_path(struct source *s, Dwarf_Die *die, uint32_t file, const char **out)
{
	char clean[NAME_MAX_LEN];
	Dwarf_Files *files;
	const char *name;
	Dwarf_Die unit;
	size_t n;

	*out = NULL;
	if (!dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &n) ||
	    file >= n)
		return 0;
	name = dwarf_filesrc(files, file, NULL, NULL);
	if (!name)
		return 0;
	name = full_name(s, comp_dir_of(&unit), name);
	if (!name)
		return -1;
	if (path_lexical(clean, sizeof(clean), name) || !*clean)
		return 0;
	*out = arena_strdup(&s->arena, clean);
	return *out ? 0 : -1;
}

int src_sum_files(struct source *s, Dwarf_Die *unit, const src_file_names *names)
{
	struct line_sums sums;
	Dwarf_Attribute attr;
	Dwarf_Word off;
	int rc;

	if (!s->debug_line || !dwarf_attr(unit, DW_AT_stmt_list, &attr) ||
	    dwarf_formudata(&attr, &off))
		return 0;
	rc = line_sums_read(&sums, s->debug_line, s->debug_line_len, off, s->swap);
	for (size_t i = sums.first; !rc && i < names->n && i - sums.first < sums.v.n; i++)
		if (names->v[i])
			rc = keep_sum(s, names->v[i], &sums.v.v[i - sums.first]);
	vec_free(&sums.v);
	return rc;
}

bool source_file_sum(const struct source *cs, const char *file, struct source_sum *sum)
{
	/* the lazy part is not const */
	struct source *s = (struct source *)(uintptr_t)cs;
	const uint64_t *at;

	if (!s || !file)
		return false;
	(void)pthread_mutex_lock(&s->lock);
	at = u64map_find(&s->sums, (uint64_t)(uintptr_t)file);
	if (at)
		*sum = *(const struct source_sum *)(uintptr_t)*at;
	(void)pthread_mutex_unlock(&s->lock);
	return at != NULL;
}
