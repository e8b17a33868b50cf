/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_beside - the files that a program's debug information names: a unit's .dwo, the program's
 * .dwp, dwz's alternate.
 *
 * The program's author chose these names. So the files are opened by the door (base/file_in.h),
 * below the root that the program itself was read from, and libdw gets the bytes: it never opens
 * one by itself. A file is taken only if it has the id that it must have, and if the program's user
 * can read it.
 *
 * They are looked for where libdw of elfutils 0.188 to 0.192 would: beside the program, then below
 * the directory that it was compiled in; the alternate first by its build-id. Then, by their last
 * names, in the directories that our user named. The first that is nowhere, or of another build, is
 * noted, once it is needed.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/nomem.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "symbol/elf_file.h"
#include "symbol/dwarf/source_tables.h"

/* A directory that our user named: its files need not be the program's user's to read. */
static bool open_in_dir(struct source *s, const char *dir, const char *name, struct file_map *m)
{
	char path[PATH_MAX];
	struct err why = ERR_INIT;
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, path_base(name)), fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	fd = file_in_open(NULL, path, FILE_IN_LINKS, &st, &why);
	if (fd >= 0 && !file_in_map(m, fd, &st, s->foreign, path, &why) && m->len)
		return true;
	if (why.code == ERR_LIMIT && s->beside.code == ERR_NONE)
		s->beside = why;
	return false;
}

/* False: there is none that may be read; the first that may not is noted. */
static bool open_beside(struct source *s, const char *path, struct file_map *m)
{
	struct err why = ERR_INIT;
	struct stat st;
	int fd = file_in_open(s->root, path, FILE_IN_LINKS, &st, &why);

	if (fd >= 0 && !file_shown_for(fd, s->root, path, &st, s->user)) {
		(void)close(fd);
		fd = -1;
		(void)err_set(&why, ERR_LIMIT,
			      "%s: left out: the program's owner may not read this file", path);
	}
	if (fd >= 0 && !file_in_map(m, fd, &st, s->foreign, path, &why) && m->len)
		return true;
	if (why.code != ERR_NOT_FOUND && s->beside.code == ERR_NONE)
		s->beside = why;
	return false;
}

/* `name` below `dir`, which may itself be below the program's directory. */
static bool open_named(struct source *s, const char *dir, const char *name, struct file_map *m)
{
	char path[PATH_MAX];
	bool whole = *name == '/';
	int n;

	if (!*name || (!whole && !s->path))
		return false;
	if (whole)
		n = snprintf(path, sizeof(path), "%s", name);
	else if (dir && *dir == '/')
		n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	else
		n = snprintf(path, sizeof(path), "%.*s%s%s%s", (int)(path_base(s->path) - s->path),
			     s->path, dir ? dir : "", dir ? "/" : "", name);
	return n > 0 && (size_t)n < sizeof(path) && open_beside(s, path, m);
}

/* ---- split units ------------------------------------------------------------------------- */

/* Whether a unit of that file has the id: libdw looks for a skeleton's file but once. */
static bool has_unit(int fd, uint64_t id)
{
	Dwarf *dw = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *cu = NULL;
	bool found = false;

	if (dw)
		(void)dwarf_new_oom_handler(dw, nomem_die);
	while (dw && !found && !dwarf_get_units(dw, cu, &cu, NULL, NULL, NULL, NULL)) {
		uint64_t its;

		found = !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &its, NULL, NULL) && its == id;
	}
	(void)dwarf_end(dw);
	return found;
}

static void no_contents(struct source *s)
{
	if (s->beside.code == ERR_NONE)
		(void)err_set(&s->beside, ERR_LIMIT,
			      "%s: its split debug information was not read (is /proc mounted?)",
			      s->path);
}

static bool join_contents(struct source *s, struct src_split *split, int fd, uint64_t id)
{
	if (fd < 0)
		return false;
	if (!has_unit(fd, id)) {
		split->other = true;
		return false;
	}
	if (!src_join(s, split, fd))
		no_contents(s);
	return split->contents.addr != NULL;
}

/* Joins a unit with the bytes, in memory that no other process can change; charged if it has
 * them. */
static bool join_copy(struct source *s, struct src_split *split, const void *p, size_t len,
		      uint64_t id)
{
	int fd = src_charge(s, len) ? src_copy(p, len) : -2;
	bool joined = fd >= 0 && join_contents(s, split, fd, id);

	if (fd == -1)
		no_contents(s);
	else if (fd < -1 && s->beside.code == ERR_NONE)
		(void)err_set(&s->beside, ERR_LIMIT,
			      "%s: its split debug information needs too much memory", s->path);
	if (fd > -2 && !joined)
		src_discharge(s, len);
	if (fd >= 0)
		(void)close(fd);
	return joined;
}

/* Fills `own` if the file is packed. False: it is no ELF file. */
static bool unpack_beside(struct source *s, const struct file_map *m, const char *name,
			  struct buf *own)
{
	struct elf_file f;

	if (elf_file_read(&f, m->p, m->len, "", NULL))
		return false;
	if (src_is_packed(&f))
		src_unpack(s, &f, name, own);
	elf_file_free(&f);
	return true;
}

/* Closes `m`. */
static bool join_file(struct source *s, struct src_split *split, struct file_map *m, uint64_t id,
		      const char *name)
{
	size_t before = s->charged;
	struct buf own = BUF_INIT;
	bool is_elf = unpack_beside(s, m, name, &own);
	size_t unpacked = s->charged - before;
	bool joined = is_elf && join_copy(s, split, own.len ? (const void *)own.s : m->p,
					  own.len ? own.len : m->len, id);

	if (!joined)
		split->other = true;
	buf_free(&own);
	src_discharge(s, unpacked);
	file_map_close(m);
	return joined;
}

static bool try_dwo(struct source *s, struct src_split *split, const char *dir, const char *name,
		    uint64_t id)
{
	struct file_map m = { 0 };

	return open_named(s, dir, name, &m) && join_file(s, split, &m, id, name);
}

static bool try_dwo_in_dirs(struct source *s, struct src_split *split, const char *name,
			    uint64_t id)
{
	struct file_map m = { 0 };

	for (const char *const *d = s->dirs; d && *d; d++)
		if (open_in_dir(s, *d, name, &m) && join_file(s, split, &m, id, name))
			return true;
	return false;
}

static void open_package(struct source *s)
{
	char name[NAME_MAX + 8];
	struct file_map m = { 0 };
	struct buf own = BUF_INIT;
	bool opened;

	s->package_tried = true;
	if (!s->path)
		return;
	(void)snprintf(name, sizeof(name), "%s.dwp", path_base(s->path));
	opened = open_named(s, NULL, name, &m);
	for (const char *const *d = s->dirs; d && *d && !opened; d++)
		opened = open_in_dir(s, *d, name, &m);
	if (opened && unpack_beside(s, &m, name, &own))
		s->package = src_package_read(&m, &own);
	if (opened && !s->package && s->beside.code == ERR_NONE)
		(void)err_set(&s->beside, ERR_FORMAT, "%s is no package of split debug information",
			      name);
	buf_free(&own);
	file_map_close(&m);
}

static bool try_package(struct source *s, struct src_split *split, uint64_t id)
{
	struct buf unit = BUF_INIT;
	bool joined;

	if (!s->package_tried)
		open_package(s);
	joined = s->package && src_package_unit(s->package, id, &unit) &&
		 join_copy(s, split, unit.s, unit.len, id);
	buf_free(&unit);
	return joined;
}

/* The first is named; the others are counted. */
static void note_lacking(struct source *s, const struct src_split *split, const char *name)
{
	const char *file = path_base(name), *prog = s->path ? path_base(s->path) : "";

	if (s->beside.code != ERR_NONE)
		return;
	if (split->other)
		(void)err_set(&s->beside, ERR_NOT_FOUND,
			      "%s, for its split debug information, is of another build", file);
	else if (s->package)
		(void)err_set(&s->beside, ERR_NOT_FOUND,
			      "%s.dwp, for its split debug information, lacks a unit (of another "
			      "build?), and %s is not here",
			      prog, file);
	else
		(void)err_set(&s->beside, ERR_NOT_FOUND,
			      "%s, for its split debug information, is not here, nor is %s.dwp "
			      "(--symbols DIR names a directory that has them)",
			      file, prog);
}

static void find_contents(struct source *s, struct src_split *split)
{
	const char *name = src_text(split->die, DW_AT_dwo_name);
	const char *dir = src_text(split->die, DW_AT_comp_dir);
	uint64_t id;

	if (!name)
		name = src_text(split->die, DW_AT_GNU_dwo_name);
	if (!name || dwarf_cu_info(split->die->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL))
		return;
	if (try_package(s, split, id) || try_dwo(s, split, NULL, name, id) ||
	    (dir && *name != '/' && try_dwo(s, split, dir, name, id)) ||
	    try_dwo_in_dirs(s, split, name, id))
		*u64map_xat(&s->skeleton_of, (uint64_t)(uintptr_t)split->contents.cu, NULL) =
			(uint64_t)(uintptr_t)split->die;
	else
		note_lacking(s, split, name);
}

Dwarf_Die src_contents(struct source *s, const Dwarf_Die *unit)
{
	const uint64_t *at;
	struct src_split *split;

	if (!s->splits_made) {
		s->splits_made = true;
		src_make_skeletons(s);
	}
	at = u64map_find(&s->split_of, (uint64_t)(uintptr_t)unit->cu);
	if (!at)
		return *unit;
	split = &s->splits.v[*at - 1];
	if (!split->tried) {
		split->tried = true;
		find_contents(s, split);
	}
	return split->contents.addr ? split->contents : *unit;
}

const Dwarf_Die *src_skeleton(const struct source *s, const Dwarf_Die *die)
{
	const uint64_t *at = u64map_find(&s->skeleton_of, (uint64_t)(uintptr_t)die->cu);

	return at ? (const Dwarf_Die *)(uintptr_t)*at : NULL;
}

/* ---- dwz's alternate --------------------------------------------------------------------- */

/* Libdw gets its units. Files that share no unit may share strings: libdw takes no file of strings
 * alone, so they get a file of ours around them. */
static bool begin_alternate(struct source *s, const struct elf_file *f)
{
	struct src_made *a = &s->alternate;
	const struct elf_sec *strings = elf_section(f, ".debug_str");

	if (elf_section(f, ".debug_info"))
		return strings && !src_begin(f->p, f->len, &a->elf, &a->dw);
	return strings && src_make_strings(s, a, strings->data, strings->size);
}

/* Whether the file has the id, and something that libdw reads. */
static bool read_alternate(struct source *s, const void *id, size_t len)
{
	struct elf_file f, plain;
	const uint8_t *its;
	bool found;

	if (elf_file_read(&f, s->alternate_map.p, s->alternate_map.len, "", NULL))
		return false;
	found = elf_build_id(&f, &its) == len && !memcmp(its, id, len);
	s->alternate_other |= !found;
	if (found && src_is_packed(&f)) {
		src_unpack(s, &f, "dwz's file", &s->alternate_own);
		found = !elf_file_read(&plain, s->alternate_own.s, s->alternate_own.len, "", NULL);
		if (found) {
			found = begin_alternate(s, &plain);
			elf_file_free(&plain);
		}
	} else if (found) {
		found = begin_alternate(s, &f);
	}
	elf_file_free(&f);
	return found;
}

static bool take_alternate(struct source *s, bool opened, const void *id, size_t len)
{
	if (opened && read_alternate(s, id, len))
		return true;
	src_made_end(&s->alternate);
	buf_free(&s->alternate_own);
	file_map_close(&s->alternate_map);
	return false;
}

static bool alternate_in_dirs(struct source *s, const char *name, const void *id, size_t len)
{
	for (const char *const *d = s->dirs; d && *d; d++)
		if (take_alternate(s, open_in_dir(s, *d, name, &s->alternate_map), id, len))
			return true;
	return false;
}

/* Even if there is none, libdw has one: else it would look for it by the name. */
void src_find_alternate(struct source *s)
{
	char hex[2 * 64 + 1], path[PATH_MAX];
	const uint8_t *bytes;
	const char *name;
	const void *id;
	ssize_t len;

	if (!src_make_strings(s, &s->nothing, "", 1))
		return;
	len = dwelf_dwarf_gnu_debugaltlink(s->dw, &name, &id);
	bytes = id;
	(void)dwarf_setalt(s->dw, s->nothing.dw);
	if (len < 3 || len > 64)
		return;
	text_hex(hex, bytes + 1, (size_t)len - 1);
	(void)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/%s.debug", bytes[0], hex);
	if (take_alternate(s, open_beside(s, path, &s->alternate_map), id, (size_t)len) ||
	    take_alternate(s, open_named(s, NULL, name, &s->alternate_map), id, (size_t)len) ||
	    alternate_in_dirs(s, name, id, (size_t)len)) {
		(void)dwarf_setalt(s->alternate.dw, s->nothing.dw);
		(void)dwarf_setalt(s->dw, s->alternate.dw);
	} else if (s->beside.code == ERR_NONE) {
		(void)err_set(&s->beside, ERR_NOT_FOUND,
			      "%s, for debug information that it shares (dwz), is %s",
			      path_base(name),
			      s->alternate_other ? "of another build" : "not here");
	}
}
