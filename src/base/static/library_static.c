/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * library_static - base/library.h in the static binary, in place of library.c (ci/static.sh).
 *
 * The libraries are in the program, and found by a table of their functions' names. Nothing is
 * opened: a library of the system would bring a second C library, of another version. For the
 * same reason users' names come from /etc/passwd alone, and dlopen() of libdw's own fails here.
 */
#include <dlfcn.h>
#include <nss.h>
#include <string.h>

#include "base/library.h"
#include "static_names.h"

extern int __nss_configure_lookup(const char *db, const char *line);

static void *static_find(const char *name)
{
	for (size_t i = 0; i < sizeof(static_names) / sizeof(*static_names); i++) {
		if (!strcmp(static_names[i].name, name))
			return static_names[i].at;
	}
	return NULL;
}

int library_open(struct library *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		void *p = static_find(l->name[i]);

		if (!p) {
			(void)err_set(err, ERR_UNSUPPORTED, "%s: left out of the static binary",
				      l->use);
			return err_hint(err, "take cyclade from a package, or build it: make");
		}
		memcpy((char *)l->calls + i * sizeof(p), &p, sizeof(p));
	}
	l->open = true;
	return 0;
}

const char *library_static(void)
{
	return "graphs as SVG, monitor --listen, debuginfod, record --heap without "
	       "libcyclade-heap.so beside it";
}

__attribute__((constructor)) static void names_from_files(void)
{
	(void)__nss_configure_lookup("passwd", "files");
	(void)__nss_configure_lookup("group", "files");
	(void)__nss_configure_lookup("hosts", "files dns");
}

/* What libdw calls for debuginfod's client */
void *dlopen(const char *file, int flags)
{
	(void)file;
	(void)flags;
	return NULL;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

char *dlerror(void)
{
	static char text[] = "the static binary opens no library";

	return text;
}

int dlclose(void *handle)
{
	(void)handle;
	return 0;
}

int dladdr(const void *at, Dl_info *info)
{
	(void)at;
	(void)info;
	return 0;
}
