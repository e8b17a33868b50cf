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
#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"

enum { NAME_MAX_LEN = 4096 };

/* dwarf_begin_elf has unpacked compressed sections. */
void src_find_line_sections(struct source *s)
{
	struct line_sections *l = &s->sections;
	const struct {
		const char *name;
		const void **at;
		size_t *len;
	} needed[] = {
		{ "_line", &l->line, &l->line_len },
		{ "_line_str", &l->line_str, &l->line_str_len },
		{ "_str", &l->str, &l->str_len },
	};
	const char *ident = elf_getident(s->elf, NULL);
	bool big = ident && ident[EI_DATA] == ELFDATA2MSB;
	Elf_Scn *scn = NULL;
	size_t names;

	l->swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (elf_getshdrstrndx(s->elf, &names))
		return;
	while ((scn = elf_nextscn(s->elf, scn))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(s->elf, names, sh.sh_name) : NULL;
		size_t skip = !name			     ? 0
			      : !strncmp(name, ".debug", 6)  ? 6
			      : !strncmp(name, ".zdebug", 7) ? 7
							     : 0;

		for (size_t i = 0; skip && i < sizeof(needed) / sizeof(*needed); i++) {
			const Elf_Data *d =
				strcmp(name + skip, needed[i].name) ? NULL : elf_rawdata(scn, NULL);

			if (d && d->d_buf && !*needed[i].at) {
				*needed[i].at = d->d_buf;
				*needed[i].len = d->d_size;
			}
		}
	}
}

bool src_number(const Dwarf_Die *die, unsigned name, uint64_t *v)
{
	Dwarf_Die mine = *die;
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr(&mine, name, &attr) || dwarf_formudata(&attr, &word))
		return false;
	*v = word;
	return true;
}

const char *src_text(const Dwarf_Die *die, unsigned name)
{
	Dwarf_Die mine = *die;
	Dwarf_Attribute attr;

	return dwarf_attr(&mine, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* NULL: libdw's names stay as they are. */
static const char *comp_dir_of(Dwarf_Die *unit)
{
	const char *dir = src_text(unit, DW_AT_comp_dir);

	/* a relative one is in libdw's names already, and leads nowhere by itself */
	return dir && dir[0] == '/' ? dir : NULL;
}

static const char *full_name(struct source *s, const char *dir, const char *file)
{
	size_t len = dir ? strlen(dir) : 0;

	if (!dir || !file || file[0] == '/' || len + strlen(file) + 2 > NAME_MAX_LEN)
		return file;
	return arena_xprintf(&s->arena, "%s%s%s", dir, dir[len - 1] == '/' ? "" : "/", file);
}

void src_name_files(struct source *s, Dwarf_Die *unit, Dwarf_Files *files, size_t n,
		    src_file_names *out)
{
	const char *dir = comp_dir_of(unit);

	vec_xreserve(out, n + 1);
	for (size_t i = 0; i < n; i++)
		out->v[out->n++] = full_name(s, dir, dwarf_filesrc(files, i, NULL, NULL));
}

/* ---- one file of a unit, without its line program ---------------------------------------------
 */

/* The files in the header of the unit's line program, read once. */
static const struct line_files *header_files(struct source *s, const Dwarf_Die *unit, uint64_t off)
{
	uint64_t *at = u64map_xat(&s->headers, (uint64_t)(uintptr_t)unit->addr, NULL);
	struct line_files h, *kept;

	if (*at)
		return (const struct line_files *)(uintptr_t)*at;
	line_files_read(&h, &s->sections, off);
	kept = arena_xmemdup(&s->arena, &h, sizeof(h));
	if (h.v.n)
		kept->v.v = arena_xmemdup(&s->arena, h.v.v, h.v.n * sizeof(*h.v.v));
	vec_free(&h.v);
	*at = (uint64_t)(uintptr_t)kept;
	return kept;
}

/* The name that libdw would have; NULL: ask it. */
static const char *name_in_header(struct source *s, Dwarf_Die *unit, uint32_t file)
{
	const struct line_files *h;
	const struct line_file *f;
	const char *dir;
	uint64_t off;

	/* the sections are those of this file, not of a supplementary or split one */
	if (dwarf_cu_getdwarf(unit->cu) != s->dw || !src_number(unit, DW_AT_stmt_list, &off))
		return NULL;
	h = header_files(s, unit, off);
	if (file < h->first || file - h->first >= h->v.n)
		return NULL;
	f = &h->v.v[file - h->first];
	dir = f->dir ? f->dir : comp_dir_of(unit);
	return f->name && dir && f->name[0] != '/' ? arena_xprintf(&s->arena, "%s/%s", dir, f->name)
						   : f->name;
}

const char *src_decl_path(struct source *s, Dwarf_Die *die, uint32_t file)
{
	char clean[NAME_MAX_LEN];
	const Dwarf_Die *skeleton;
	Dwarf_Files *files;
	Dwarf_Die unit, real;
	const char *name;
	size_t n;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return NULL;
	name = name_in_header(s, &unit, file);
	skeleton = name ? NULL : src_skeleton(s, &unit);
	if (skeleton) /* if a split unit's file has no table of files */
		real = *skeleton;
	if (!name &&
	    (!dwarf_getsrcfiles(&unit, &files, &n) ||
	     (skeleton && !dwarf_getsrcfiles(&real, &files, &n))) &&
	    file < n)
		name = dwarf_filesrc(files, file, NULL, NULL);
	name = full_name(s, comp_dir_of(&unit), name);
	if (!name || path_lexical(clean, sizeof(clean), name) || !*clean)
		return NULL;
	return arena_xstrdup(&s->arena, clean);
}

/* ---- sums ------------------------------------------------------------------------------------
 */

void src_sum_files(struct source *s, Dwarf_Die *unit, const src_file_names *names)
{
	struct line_files files;
	uint64_t off;

	if (!s->sections.line || !src_number(unit, DW_AT_stmt_list, &off))
		return;
	line_files_read(&files, &s->sections, off);
	for (size_t i = files.first; i < names->n && i - files.first < files.v.n; i++) {
		const struct source_sum *sum = &files.v.v[i - files.first].sum;

		if (names->v[i] && (sum->size || sum->has_md5))
			*u64map_xat(&s->sums, (uint64_t)(uintptr_t)names->v[i], NULL) =
				(uint64_t)(uintptr_t)arena_xmemdup(&s->arena, sum, sizeof(*sum));
	}
	vec_free(&files.v);
}

bool source_file_sum(const struct source *cs, const char *file, struct source_sum *sum)
{
	/* the lazy part is not const */
	struct source *s = (struct source *)(uintptr_t)cs;
	const uint64_t *at;

	if (!s || !file)
		return false;
	src_lock(s);
	at = u64map_find(&s->sums, (uint64_t)(uintptr_t)file);
	if (at)
		*sum = *(const struct source_sum *)(uintptr_t)*at;
	src_unlock(s);
	return at != NULL;
}
