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
#include "symbol/dwarf/source_tables.h"

enum { NAME_MAX_LEN = 4096 };

static void find_section(struct source *s, Elf_Scn *scn, const char *name)
{
	struct line_sections *l = &s->sections;
	const struct {
		const char *name;
		const void **at;
		size_t *len;
	} wanted[] = {
		{ "_line", &l->line, &l->line_len },
		{ "_line_str", &l->line_str, &l->line_str_len },
		{ "_str", &l->str, &l->str_len },
	};
	size_t skip = !strncmp(name, ".debug", 6) ? 6 : !strncmp(name, ".zdebug", 7) ? 7 : 0;

	for (size_t i = 0; skip && i < sizeof(wanted) / sizeof(*wanted); i++) {
		const Elf_Data *d =
			strcmp(name + skip, wanted[i].name) ? NULL : elf_rawdata(scn, NULL);

		if (d && d->d_buf && !*wanted[i].at) {
			*wanted[i].at = d->d_buf;
			*wanted[i].len = d->d_size;
		}
	}
}

/* dwarf_begin_elf has unpacked what was compressed. */
void src_find_line_sections(struct source *s)
{
	const char *ident = elf_getident(s->elf, NULL);
	bool big = ident && ident[EI_DATA] == ELFDATA2MSB;
	Elf_Scn *scn = NULL;
	size_t names;

	s->sections.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (elf_getshdrstrndx(s->elf, &names))
		return;
	while ((scn = elf_nextscn(s->elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(s->elf, names, sh.sh_name) : NULL;

		if (name)
			find_section(s, scn, name);
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

/* ---- one file of a unit, without its line program ---------------------------------------------
 */

static bool header_offset(Dwarf_Die *unit, uint64_t *off)
{
	Dwarf_Attribute attr;
	Dwarf_Word at;

	if (!dwarf_attr(unit, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &at))
		return false;
	*off = at;
	return true;
}

/* The files in the header of the unit's line program, read once; NULL: out of memory. */
static const struct line_files *header_of(struct source *s, const Dwarf_Die *unit, uint64_t off)
{
	uint64_t *at = u64map_at(&s->headers, (uint64_t)(uintptr_t)unit->addr, NULL);
	struct line_files h, *kept = NULL;

	if (!at || *at)
		return at ? (const struct line_files *)(uintptr_t)*at : NULL;
	if (!line_files_read(&h, &s->sections, off))
		kept = arena_memdup(&s->arena, &h, sizeof(h));
	if (kept && h.v.n)
		kept->v.v = arena_memdup(&s->arena, h.v.v, h.v.n * sizeof(*h.v.v));
	vec_free(&h.v);
	if (kept && kept->v.n && !kept->v.v)
		kept = NULL;
	*at = (uint64_t)(uintptr_t)kept;
	return kept;
}

/* 1: the name that libdw would have, 0: ask it, -1: out of memory. */
static int name_of_file(struct source *s, Dwarf_Die *unit, uint32_t file, const char **out)
{
	const struct line_files *h;
	const struct line_file *f;
	const char *dir;
	uint64_t off;

	/* the sections are those of this file, not of a supplementary or split one */
	if (dwarf_cu_getdwarf(unit->cu) != s->dw || !header_offset(unit, &off))
		return 0;
	h = header_of(s, unit, off);
	if (!h)
		return -1;
	if (file < h->first || file - h->first >= h->v.n)
		return 0;
	f = &h->v.v[file - h->first];
	if (!f->name)
		return 0;
	dir = f->dir ? f->dir : comp_dir_of(unit);
	*out = dir && f->name[0] != '/' ? arena_printf(&s->arena, "%s/%s", dir, f->name) : f->name;
	return *out ? 1 : -1;
}

int src_decl_path(struct source *s, Dwarf_Die *die, uint32_t file, const char **out)
{
	char clean[NAME_MAX_LEN];
	const char *name = NULL;
	const Dwarf_Die *skeleton;
	Dwarf_Files *files;
	Dwarf_Die unit, real;
	size_t n;
	int got;

	*out = NULL;
	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return 0;
	got = name_of_file(s, &unit, file, &name);
	if (got < 0)
		return -1;
	skeleton = got ? NULL : src_skeleton(s, &unit);
	if (skeleton) /* where a split unit's file has no table of files */
		real = *skeleton;
	if (!got &&
	    (!dwarf_getsrcfiles(&unit, &files, &n) ||
	     (skeleton && !dwarf_getsrcfiles(&real, &files, &n))) &&
	    file < n)
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

/* ---- sums ------------------------------------------------------------------------------------
 */

int src_sum_files(struct source *s, Dwarf_Die *unit, const src_file_names *names)
{
	struct line_files files;
	uint64_t off;
	int rc;

	if (!s->sections.line || !header_offset(unit, &off))
		return 0;
	rc = line_files_read(&files, &s->sections, off);
	for (size_t i = files.first; !rc && i < names->n && i - files.first < files.v.n; i++)
		if (names->v[i])
			rc = keep_sum(s, names->v[i], &files.v.v[i - files.first].sum);
	vec_free(&files.v);
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
