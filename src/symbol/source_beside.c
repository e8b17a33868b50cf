/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_beside - what libdw opens by itself: a unit's .dwo, the program's .dwp, dwz's alternate.
 *
 * A program names these files, and libdw opens whatever stands there: on a FIFO it would wait for
 * ever. So we look first, at the places where libdw looks (libdw_find_split_unit.c and
 * dwarf_getalt.c of elfutils 0.188), and do not ask it where one of them is no regular file. A file
 * that is swapped between our look and its open is not noticed.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "symbol/source_int.h"

#ifndef DW_AT_dwo_name
#define DW_AT_dwo_name 0x76
#endif
#ifndef DW_AT_GNU_dwo_name
#define DW_AT_GNU_dwo_name 0x2130
#endif

/* Nothing there is fine: libdw finds nothing either. */
static bool is_harmless(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

/* The debug file's own path, as libdw learns it; "" where there is none. */
static void own_path(const struct source *s, char *out, size_t size)
{
	char link[40];
	ssize_t n = -1;

	if (s->fd >= 0) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", s->fd);
		n = readlink(link, out, size - 1);
	}
	out[n > 0 ? n : 0] = '\0';
}

/* `name` below `dir`, which may itself be relative to the debug file's directory. */
static bool is_harmless_in(const char *own, const char *dir, const char *name)
{
	int below = dir && *dir == '/' ? 0 : (int)(path_base(own) - own);
	char path[2 * PATH_MAX];
	int n;

	if (*name == '/')
		return is_harmless(name);
	n = snprintf(path, sizeof(path), "%.*s%s/%s", below, own, dir ? dir : ".", name);
	return n >= 0 && (size_t)n < sizeof(path) && is_harmless(path);
}

static const char *text_of(const Dwarf_Die *unit, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Die die = *unit;

	return dwarf_attr(&die, name, &a) ? dwarf_formstring(&a) : NULL;
}

static bool may_split(const struct source *s, const Dwarf_Die *unit)
{
	const char *name = text_of(unit, DW_AT_dwo_name), *dir;
	char own[PATH_MAX], package[PATH_MAX + 8];

	if (!name)
		name = text_of(unit, DW_AT_GNU_dwo_name);
	if (!name)
		return true;
	dir = text_of(unit, DW_AT_comp_dir);
	own_path(s, own, sizeof(own));
	(void)snprintf(package, sizeof(package), "%s.dwp", own);
	return is_harmless(package) && is_harmless_in(own, NULL, name) &&
	       (!dir || is_harmless_in(own, dir, name));
}

Dwarf_Die src_contents(const struct source *s, const Dwarf_Die *unit)
{
	Dwarf_Die sub;

	memset(&sub, 0, sizeof(sub));
	if (may_split(s, unit) &&
	    !dwarf_cu_info(unit->cu, NULL, NULL, NULL, &sub, NULL, NULL, NULL) && sub.addr)
		return sub;
	return *unit;
}

bool src_alternate_is_harmless(const struct source *s)
{
	char own[PATH_MAX], path[PATH_MAX];
	const uint8_t *id;
	const char *name;
	const void *bytes;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(s->dw, &name, &bytes);
	size_t at;

	if (len <= 0)
		return true;
	id = bytes;
	own_path(s, own, sizeof(own));
	at = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (ssize_t i = 1; i < len && at + 16 < sizeof(path); i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", id[i]);
	(void)snprintf(path + at, sizeof(path) - at, ".debug");
	return is_harmless(path) && is_harmless_in(own, NULL, name);
}
