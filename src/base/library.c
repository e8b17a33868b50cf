/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `open` and `calls` */

/* The loader has one error for a missing library and for missing memory: its text differs. */
static int library_failed(const struct library *l, struct err *err)
{
	const char *why = dlerror();

	if (!why || strstr(why, "memory") || strstr(why, "alloc"))
		return err_nomem(err);
	(void)err_set(err, ERR_UNSUPPORTED, "%s: %s", l->use, why);
	return err_hint(err, "%s", l->hint);
}

static int library_load(const struct library *l, struct err *err)
{
	void *lib = dlopen(l->file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!lib)
		return library_failed(l, err);
	for (size_t i = 0; i < l->n; i++) {
		void *p = dlsym(lib, l->name[i]);

		if (!p)
			return library_failed(l, err);
		/* ISO C has no way from an object's pointer to a function's, POSIX has this one */
		memcpy((char *)l->calls + i * sizeof(p), &p, sizeof(p));
	}
	return 0;
}

int library_open(struct library *l, struct err *err)
{
	int rc = 0;

	assert(l->calls);
	(void)pthread_mutex_lock(&lock);
	if (!l->open)
		rc = library_load(l, err);
	l->open = !rc;
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

const char *library_static(void)
{
	return NULL;
}
