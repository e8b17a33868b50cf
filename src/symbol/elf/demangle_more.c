/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf/demangle_more.h"

#include <stdbool.h>
#include <string.h>

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *find(const char *s, const char *end, const char *what)
{
	return end > s ? memmem(s, (size_t)(end - s), what, strlen(what)) : NULL;
}

/* The place of the last `what` in s[0..end), or NULL. */
static const char *find_last(const char *s, const char *end, const char *what)
{
	const char *last = NULL;

	for (const char *p = s; (p = find(p, end, what)); p++)
		last = p;
	return last;
}

/* camlStdlib__List__map_12, camlO__$2b$21_87: unit, modules, name and a number, apart by "__" (from
 * OCaml 5.1 on by '.'); other characters in hexadecimal. */
static size_t read_ocaml(const char *s, const char *end, char *out)
{
	char *to = out;

	if (end - s < 5 || memcmp(s, "caml", 4) != 0 || !is_upper(s[4]))
		return 0;
	for (s += 4; s < end; s++) {
		int high = end - s > 2 && *s == '$' ? hex_digit(s[1]) : -1;
		int low = high >= 0 ? hex_digit(s[2]) : -1;

		if (low >= 0 && (high || low)) {
			*to++ = (char)(high << 4 | low);
			s += 2;
		} else if (end - s > 1 && s[0] == '_' && s[1] == '_') {
			*to++ = '.';
			s++;
		} else {
			*to++ = *s;
		}
	}
	return (size_t)(to - out);
}

/* __solver_MOD_step: gfortran's, of a module. */
static size_t read_fortran(const char *s, const char *end, char *out)
{
	const char *mod = find(s, end, "_MOD_");
	size_t module, name;

	if (end - s < 8 || s[0] != '_' || s[1] != '_' || !mod || mod == s + 2 || mod + 5 == end)
		return 0;
	for (const char *p = s + 2; p < end; p++)
		if (is_upper(*p) && (p <= mod || p >= mod + 5))
			return 0;
	module = (size_t)(mod - s - 2);
	name = (size_t)(end - mod - 5);
	memcpy(out, s + 2, module);
	memcpy(out + module, "::", 2);
	memcpy(out + module + 2, mod + 5, name);
	return module + 2 + name;
}

/* A name of Free Pascal up to its parameters. */
static char *put_pascal(char *to, const char *s, const char *end)
{
	const char *stop = find(s, end, "$");

	stop = stop ? stop : end;
	/* "TFOO_$_" is a class */
	if (stop < end && stop > s && stop[-1] == '_' && end - stop >= 2 && stop[1] == '_')
		stop--;
	memcpy(to, s, (size_t)(stop - s));
	return to + (stop - s);
}

/* P$PROG_$$_FIB$LONGINT$$LONGINT, P$PROG$_$TFOO_$__$$_WORK$LONGINT, SYSTEM_$$_WRITELN: where it is,
 * "_$$_", its name, the types of its parameters and what it returns. */
static size_t read_pascal(const char *s, const char *end, char *out)
{
	const char *name = is_upper(s[0]) ? find_last(s, end, "_$$_") : NULL, *part;
	char *to = out;

	if (!name || name + 4 >= end || name[4] == '$')
		return 0;
	if (name - s > 2 && !memcmp(s, "P$", 2))
		s += 2;
	for (part = s; part < name;) {
		const char *next = find(part, name, "$_$");

		to = put_pascal(to, part, next ? next : name);
		*to++ = '.';
		part = next ? next + 3 : name;
	}
	return (size_t)(put_pascal(to, name + 4, end) - out);
}

/* _ada_main, and ada__text_io__put_line__2 of its run-time library. */
static size_t read_ada(const char *s, const char *end, char *out)
{
	static const char *const root[] = { "ada__", "system__", "gnat__", "interfaces__" };
	bool known = false;
	char *to = out;

	if (end - s > 5 && !memcmp(s, "_ada_", 5)) {
		s += 5;
		known = true;
	}
	for (size_t i = 0; i < sizeof(root) / sizeof(*root) && !known; i++)
		known = (size_t)(end - s) > strlen(root[i]) && !memcmp(s, root[i], strlen(root[i]));
	if (!known)
		return 0;
	for (; s < end; s++) {
		if (end - s > 2 && s[0] == '_' && s[1] == '_' && s[2] != '_') {
			*to++ = '.';
			s++;
		} else {
			*to++ = *s;
		}
	}
	return (size_t)(to - out);
}

size_t demangle_more(const char *s, size_t len, char *out)
{
	const char *end = s + len;
	size_t n = 0;

	if (len < 5)
		return 0;
	switch (s[0]) {
	case 'c':
		return read_ocaml(s, end, out);
	case '_':
		n = s[1] == '_' ? read_fortran(s, end, out) : 0;
		return n || s[1] != 'a' ? n : read_ada(s, end, out);
	case 'a':
	case 's':
	case 'g':
	case 'i':
		return read_ada(s, end, out);
	default:
		return read_pascal(s, end, out);
	}
}
