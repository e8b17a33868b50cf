/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_unpack - the debug sections of a file, unpacked, as an ELF file of ours.
 *
 * libelf unpacks by itself, but before 0.189 not zstd, without a bound, and passes over what it
 * cannot unpack without a reason. So the sections are unpacked here (elf_unpack.h), whatever they
 * are packed by; libdw then reads a file in which nothing is packed. Sections that nothing here
 * reads are left out.
 */
#include <elf.h>

#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"
#include "symbol/elf/elf_unpack.h"

bool src_is_packed(const struct elf_file *f)
{
	for (size_t i = 0; i < f->n_sec; i++)
		if (f->sec[i].data && elf_is_packed(&f->sec[i]))
			return true;
	return false;
}

static void note_packed(struct source *s, const char *path, const char *section, const char *why)
{
	if (s->beside.code == ERR_NONE)
		(void)err_set(&s->beside, ERR_FORMAT, "%s: %s %s", path, section, why);
}

/* The name without a mark of compression; NULL: nothing here reads such a section. */
static const char *wanted_name(struct source *s, const struct src_elf *m, const char *name)
{
	static const char *const unread[] = { "frame",	      "pubnames",     "pubtypes",
					      "gnu_pubnames", "gnu_pubtypes", "gdb_scripts",
					      "names",	      "macro",	      "macinfo",
					      "macro.dwo",    "macinfo.dwo" };
	const char *kind = !strncmp(name, ".debug_", 7)	   ? name + 7
			   : !strncmp(name, ".zdebug_", 8) ? name + 8
							   : NULL;

	for (size_t i = 0; kind && i < sizeof(unread) / sizeof(*unread); i++)
		if (!strcmp(kind, unread[i]))
			return NULL;
	if (kind)
		name = arena_xprintf(&s->arena, ".debug_%s", kind);
	else if (strcmp(name, ".gnu_debugaltlink") != 0)
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->name[i], name))
			return NULL;
	return name;
}

static const char *section_bytes(const struct elf_file *f, const struct elf_sec *sec,
				 struct buf *to, uint64_t claim)
{
	const char *why;
	uint8_t *p;

	if (!elf_is_packed(sec)) {
		buf_put(to, sec->data, (size_t)sec->size);
		return NULL;
	}
	why = elf_unpack(f, sec, &p, &to->len);
	to->s = (char *)p;
	to->cap = to->len;
	return why		  ? why
	       : to->len != claim ? "is damaged: its unpacked size is not that of its header"
				  : NULL;
}

/* Into the next place of `m`. *left is what all sections may yet have. */
static bool take_section(struct source *s, struct src_elf *m, const struct elf_file *f,
			 const struct elf_sec *sec, const char *path, uint64_t *left)
{
	uint64_t size = elf_is_packed(sec) ? elf_unpacked_size(f, sec) : sec->size;
	struct buf *to = &m->section[m->n];
	const char *why;

	if (size > *left || size > SIZE_MAX || !src_charge(s, (size_t)size)) {
		note_packed(s, path, sec->name, "is left out: it needs too much memory");
		return false;
	}
	why = section_bytes(f, sec, to, size);
	*left -= size;
	if (!why)
		return true;
	buf_free(to);
	src_discharge(s, (size_t)size);
	note_packed(s, path, sec->name, why);
	return false;
}

void src_unpack(struct source *s, const struct elf_file *f, const char *path, struct buf *file)
{
	const char *names[SRC_ELF_SECTIONS];
	struct src_elf m = {
		.big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != f->swap,
		.is64 = f->is64,
		.machine = f->machine,
		.name = names,
		.seg = f->seg,
		.n_seg = f->n_seg,
	};
	uint64_t left = ELF_UNPACK_MAX;

	if (f->len > left / ELF_UNPACK_RATIO)
		left = (uint64_t)f->len * ELF_UNPACK_RATIO;
	for (size_t i = 0; i < f->n_sec && m.n < SRC_ELF_SECTIONS; i++) {
		const struct elf_sec *sec = &f->sec[i];

		names[m.n] = sec->data ? wanted_name(s, &m, sec->name) : NULL;
		if (names[m.n] && take_section(s, &m, f, sec, path, &left))
			m.n++;
	}
	src_elf_make(&m, file);
}
