/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * annotate_source - source files as lines. For the search see symbol/source_find.h.
 */
#include "base/nomem.h"
#include "base/xalloc.h"
#include "report/annotate/annotate_int.h"

struct source_file {
	const char *name; /* as the debug information has it */
	enum source_outcome outcome;
	struct source_found found;
};

static struct source_file *file_of(struct annotate *a, const char *name)
{
	struct source_file *f;
	struct source_sum sum;
	bool known;

	vec_each (&a->files, struct source_file **, it) {
		if ((*it)->name == name || !strcmp((*it)->name, name))
			return *it;
	}
	f = xcalloc(1, sizeof(*f));
	vec_xpush(&a->files, f);
	f->name = name;
	known = source_file_sum(a->source, name, &sum);
	f->outcome = source_find(&a->opts.places, name, known ? &sum : NULL, &a->texts, &f->found);
	return f;
}

const char *annotate_source(struct annotate *a, const char *file, uint32_t line)
{
	struct source_file *f = file && line ? file_of(a, file) : NULL;

	return f && f->outcome == SOURCE_FOUND ? source_text_line(f->found.text, line) : NULL;
}

/* ---- names for people ------------------------------------------------------------------------ */

static void add_shown_source_name(struct annotate *a, const char *name)
{
	const struct annotate_file f = { name, name ? path_base(name) : NULL };

	vec_each (&a->names, struct annotate_file *, it)
		if (!name || it->name == name || !strcmp(it->name, name))
			return;
	if (name)
		vec_xpush(&a->names, f);
}

/* Adds one part more, if there is one. */
static bool shown_source_widen(struct annotate_file *f)
{
	const char *s = f->shown;

	if (s == f->name)
		return false;
	for (s--; s > f->name && s[-1] != '/';)
		s--;
	f->shown = s;
	return true;
}

void annotate_name_files(struct annotate *a)
{
	bool more = true;

	vec_each (&a->line, struct annotate_line *, l)
		add_shown_source_name(a, l->line.file);
	vec_each (&a->inl, struct annotate_inline *, c)
		for (size_t k = 0; k < c->n; k++)
			add_shown_source_name(a, c->level[k].at.file);
	while (more) {
		more = false;
		for (size_t i = 0; i < a->names.n; i++)
			for (size_t k = 0; k < i; k++) {
				struct annotate_file *x = &a->names.v[i], *y = &a->names.v[k];

				if (strcmp(x->shown, y->shown) != 0)
					continue;
				more |= shown_source_widen(x);
				more |= shown_source_widen(y);
			}
	}
}

const char *annotate_file(const struct annotate *a, const char *name)
{
	vec_each (&a->names, const struct annotate_file *, f)
		if (f->name == name || !strcmp(f->name, name))
			return f->shown;
	return path_base(name);
}

void annotate_note_missing(struct annotate *a)
{
	const char *first = NULL;
	size_t n = 0;

	vec_each (&a->files, struct source_file **, it) {
		const struct source_file *f = *it;

		if (f->outcome == SOURCE_DIFFERS)
			annotate_note(
				a,
				"%s is not the file that was compiled (its %s differs): not shown; "
				"--source DIR or OLD=NEW names another place",
				f->found.path, f->found.by_md5 ? "MD5" : "size");
		if (f->outcome == SOURCE_ANOTHERS)
			annotate_note(a,
				      "%s may be written by another user, and nothing proves that "
				      "it was compiled: not shown; --source DIR names one to use",
				      f->found.path);
		if (f->outcome == SOURCE_SECRET)
			annotate_note(
				a,
				"%s is a file that the program's owner, or the recording's, may "
				"not read: not shown; --source DIR names one to use",
				f->found.path);
		if (f->outcome == SOURCE_ELSEWHERE)
			annotate_note(
				a,
				"%s is this machine's, and the recording another's: not shown; "
				"--source DIR names one to use",
				f->found.path);
		if (f->outcome == SOURCE_ABSENT) {
			first = first ? first : f->name;
			n++;
		}
	}
	if (!n)
		return;
	if (n == 1)
		annotate_note(a,
			      "source %s not found; --source DIR or --source OLD=NEW says "
			      "where it is",
			      first);
	else
		annotate_note(a,
			      "source %s and %zu more not found; --source DIR or --source "
			      "OLD=NEW says where they are",
			      first, n - 1);
}
