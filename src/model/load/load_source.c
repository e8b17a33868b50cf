/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the texts of models come from: directories that the user names, the last one first, then
 * the texts compiled in. A directory has the shape of models/: VENDOR/ID/FILE, and cpus.tab and
 * words beside the vendors.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/invariant.h"
#include "model/load/model_int.h"

#define VENDORS_MAX 256
#define MODELS_MAX  65536

/* An id becomes part of a path: nothing but letters, digits, - _ and dots inside. */
static bool id_safe(const char *id)
{
	if (id[0] == '.' || strlen(id) > 64)
		return false;
	for (const char *s = id; *s; s++) {
		bool ok = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			  (*s >= '0' && *s <= '9') || strchr("-_.", *s);

		if (!ok)
			return false;
	}
	return true;
}

/* Is the path "VENDOR/ID/NAME" (or "NAME" for an empty id) that of `id` and `name`? */
static bool path_says(const char *path, const char *id, const char *name)
{
	const char *slash = strchr(path, '/');
	size_t n = strlen(id);

	if (!*id)
		return !strcmp(path, name);
	return slash && !strncmp(slash + 1, id, n) && slash[1 + n] == '/' &&
	       !strcmp(slash + n + 2, name);
}

static int inflate(char *to, const struct embedded_file *f, struct err *err)
{
	size_t rc = ZSTD_decompress(to, f->size, embedded_bytes + f->offset, f->packed);

	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return err_nomem(err);
	return rc == f->size ? 0
			     : err_set(err, ERR_FORMAT, "models/%s: compiled in wrongly", f->path);
}

static int unpack(struct source_text *out, struct arena *a, const struct embedded_file *f,
		  struct err *err)
{
	char *s = arena_alloc(a, (size_t)f->size + 1);

	out->file = arena_printf(a, "models/%s", f->path);
	if (!s || !out->file)
		return err_nomem(err);
	if (f->packed == f->size)
		memcpy(s, embedded_bytes + f->offset, f->size);
	else if (inflate(s, f, err))
		return -1;
	out->s = s;
	out->len = f->size;
	out->depth = 0;
	return 0;
}

static int read_embedded(struct source_text *out, struct arena *a, const char *id, const char *name,
			 struct err *err)
{
	for (size_t i = 0; i < embedded_n_files; i++)
		if (path_says(embedded_files[i].path, id, name))
			return unpack(out, a, &embedded_files[i], err) ? -1 : 1;
	return 0;
}

int source_embedded(struct source_text *out, struct arena *a, const char *name, struct err *err)
{
	return read_embedded(out, a, "", name, err);
}

int model_texts(struct arena *a,
		int (*each)(void *ctx, const char *path, const char *text, size_t len), void *ctx,
		struct err *err)
{
	struct source_text t = { 0 };
	int ret;

	for (size_t i = 0; i < embedded_n_files; i++) {
		if (unpack(&t, a, &embedded_files[i], err))
			return -1;
		ret = each(ctx, embedded_files[i].path, t.s, t.len);
		if (ret)
			return ret;
	}
	return 0;
}

/* One file by its path: 0 if it is not there. */
static int read_model_file(struct source_text *out, struct arena *a, const char *path,
			   struct err *err)
{
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	int ret = 1;

	if (file_slurp(&b, path, TEXT_LIMIT, &e)) {
		buf_free(&b);
		if (e.code == ERR_NOT_FOUND)
			return 0;
		if (err)
			*err = e;
		return -1;
	}
	out->s = arena_memdup(a, buf_str(&b), b.len + 1);
	out->len = b.len;
	out->file = arena_strdup(a, path);
	if (!out->s || !out->file)
		ret = err_nomem(err);
	buf_free(&b);
	return ret;
}

/* Calls back for each directory in `path`; stops if each() returns non-zero. */
static int each_dir(const char *path, int (*each)(void *ctx, const char *name), void *ctx,
		    size_t limit)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int ret = 0;

	if (!d)
		return 0;
	while (!ret && limit && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !id_safe(e->d_name) ||
		    (e->d_type != DT_DIR && e->d_type != DT_LNK && e->d_type != DT_UNKNOWN))
			continue;
		limit--;
		ret = each(ctx, e->d_name);
	}
	closedir(d);
	return ret;
}

struct look {
	struct source_text *out;
	struct arena *a;
	const char *top, *id, *name;
	struct err *err;
};

static int look_in_vendor(void *ctx, const char *vendor)
{
	struct look *l = ctx;
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s/%s/%s", l->top, vendor, l->id, l->name);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	return read_model_file(l->out, l->a, path, l->err);
}

static int read_dir(struct look *l)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s", l->top, l->name);

	if (*l->id)
		return each_dir(l->top, look_in_vendor, l, VENDORS_MAX);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(l->err, ERR_LIMIT, "%.80s...: the path is too long", l->top);
	return read_model_file(l->out, l->a, path, l->err);
}

/* The texts at hand are the deepest source. */
static int read_text(struct source_text *out, const struct model_sources *s, const char *id,
		     const char *name)
{
	for (size_t i = 0; i < s->n_texts; i++) {
		if (!path_says(s->text[i].path, id, name))
			continue;
		out->s = s->text[i].s;
		out->len = s->text[i].len;
		out->file = s->text[i].path;
		out->depth = s->n_dirs + 1;
		return 1;
	}
	return 0;
}

int source_read(struct source_text *out, struct arena *a, const struct model_sources *s,
		const char *id, const char *name, size_t below, struct err *err)
{
	size_t n = s ? s->n_dirs : 0;

	memset(out, 0, sizeof(*out));
	if (*id && !id_safe(id))
		return 0;
	if (below == 0)
		return 0;
	if (s && below > n + 1 && read_text(out, s, id, name))
		return 1;
	for (size_t i = below - 1 < n ? below - 1 : n; i > 0; i--) {
		struct look l = { out, a, s->dir[i - 1], id, name, err };
		int ret = read_dir(&l);

		out->depth = i;
		if (ret)
			return ret;
	}
	return read_embedded(out, a, id, name, err);
}

struct list {
	struct strtab ids;
	const char *top, *vendor;
	bool failed;
};

static int list_model(void *ctx, const char *id)
{
	struct list *l = ctx;
	char path[4096];
	DIR *d;

	if (l->ids.n >= MODELS_MAX)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/%s/%s", l->top, l->vendor, id);
	d = opendir(path);
	if (!d)
		return 0;
	closedir(d);
	if (strtab_adds(&l->ids, id) == STR_NONE)
		l->failed = true;
	return l->failed;
}

static int list_vendor(void *ctx, const char *vendor)
{
	struct list *l = ctx;
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s", l->top, vendor);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	l->vendor = vendor;
	return each_dir(path, list_model, l, MODELS_MAX);
}

static int by_file_name(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

int source_list(struct arena *a, const struct model_sources *s, const char *const **ids, size_t *n,
		struct err *err)
{
	struct list l = { .ids = STRTAB_INIT };
	const char **out;
	int ret = -1;

	for (size_t i = 0; i < embedded_n_files && !l.failed; i++) {
		const char *slash = strchr(embedded_files[i].path, '/');
		const char *end = slash ? strchr(slash + 1, '/') : NULL;

		if (end && strtab_add(&l.ids, slash + 1, (size_t)(end - slash - 1)) == STR_NONE)
			l.failed = true;
	}
	for (size_t i = 0; s && i < s->n_texts && !l.failed; i++) {
		const char *slash = strchr(s->text[i].path, '/');
		const char *end = slash ? strchr(slash + 1, '/') : NULL;

		if (end && strtab_add(&l.ids, slash + 1, (size_t)(end - slash - 1)) == STR_NONE)
			l.failed = true;
	}
	for (size_t i = 0; s && i < s->n_dirs && !l.failed; i++) {
		l.top = s->dir[i];
		(void)each_dir(l.top, list_vendor, &l, VENDORS_MAX);
	}
	out = arena_alloc(a, (l.ids.n + 1) * sizeof(*out));
	*n = 0;
	if (l.failed || !out) {
		(void)err_nomem(err);
		goto out;
	}
	for (uint32_t i = 1; i < l.ids.n; i++) { /* 0 is the empty string */
		out[*n] = arena_strdup(a, strtab_get(&l.ids, i));
		if (!out[(*n)++]) {
			(void)err_nomem(err);
			goto out;
		}
	}
	if (*n)
		qsort(out, *n, sizeof(*out), by_file_name);
	assert(pairs_hold(*n, i, by_file_name(&out[i], &out[i + 1]) < 0)); /* each once */
	*ids = out;
	ret = 0;
out:
	strtab_free(&l.ids);
	return ret;
}
