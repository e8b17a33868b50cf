/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_source - source files as lines.
 *
 * Looked for: under each --source directory by the whole path, then by fewer and fewer of its last
 * parts; then at the path itself, below the sysroot. Files beyond 64 MB are not believed.
 */
#include <sys/stat.h>

#include "report/annotate_int.h"

enum { SOURCE_MAX = 64 << 20 };

struct source_file {
	const char *name; /* as DWARF says it */
	char path[4096];  /* where it was found; "": nowhere */
	struct buf text;
	VEC(const char *) lines;
};

void source_file_free(struct source_file *f)
{
	buf_free(&f->text);
	vec_free(&f->lines);
	free(f);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool find_in(struct source_file *f, const char *dir)
{
	for (const char *tail = f->name; tail; tail = strchr(tail, '/')) {
		while (*tail == '/')
			tail++;
		if (*tail && !path_join(f->path, sizeof(f->path), dir, tail) && is_file(f->path))
			return true;
	}
	return false;
}

static bool find(const struct annotate *a, struct source_file *f)
{
	for (const char *const *d = a->opts.source_dirs; d && *d; d++)
		if (find_in(f, *d))
			return true;
	if (path_join(f->path, sizeof(f->path), a->opts.sysroot ? a->opts.sysroot : "",
		      f->name[0] == '/' && a->opts.sysroot ? f->name + 1 : f->name))
		return false;
	if (!a->opts.sysroot && strlen(f->name) < sizeof(f->path))
		memcpy(f->path, f->name, strlen(f->name) + 1);
	return is_file(f->path);
}

static int split(struct source_file *f)
{
	char *p = f->text.s;

	while (p && *p) {
		char *end = strchr(p, '\n');

		if (vec_push(&f->lines, p))
			return -1;
		if (!end)
			break;
		*end = '\0';
		if (end > p && end[-1] == '\r')
			end[-1] = '\0';
		p = end + 1;
	}
	return 0;
}

static struct source_file *file_of(struct annotate *a, const char *name)
{
	struct source_file *f;

	vec_each (&a->files, struct source_file **, it) {
		if ((*it)->name == name || !strcmp((*it)->name, name))
			return *it;
	}
	f = calloc(1, sizeof(*f));
	if (!f || vec_push(&a->files, f)) {
		free(f);
		return NULL;
	}
	f->name = name;
	if (!find(a, f) || file_slurp(&f->text, f->path, SOURCE_MAX, NULL) || split(f))
		f->path[0] = '\0';
	return f;
}

const char *annotate_source(struct annotate *a, const char *file, uint32_t line)
{
	struct source_file *f = file && line ? file_of(a, file) : NULL;

	return f && f->path[0] && line <= f->lines.n ? f->lines.v[line - 1] : NULL;
}

int annotate_note_missing(struct annotate *a)
{
	const char *first = NULL;
	size_t n = 0;

	vec_each (&a->files, struct source_file **, it) {
		if (!(*it)->path[0]) {
			first = first ? first : (*it)->name;
			n++;
		}
	}
	if (!n)
		return 0;
	return n == 1 ? annotate_note(a, "source %s is not here: --source DIR says where", first)
		      : annotate_note(
				a, "source %s and %zu more are not here: --source DIR says where",
				first, n - 1);
}
