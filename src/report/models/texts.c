/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work on the texts of models, as documents: findings of a check, and the files that an export or
 * an import wrote.
 */
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "report/models.h"

/* ---- checked --------------------------------------------------------------------------------- */

TABLE_CELL(model_text_verdict,
	   out->text = ((const struct models_finding *)r->p)->refused ? "refused" : "doubt")

#define OF(member) TABLE_FIELD(struct models_finding, member)
static const struct table_column finding_columns[] = {
	COLUMN("model", "model", T_TEXT, C_KEY, "its id", OF(model)),
	COLUMN("verdict", "verdict", T_TEXT, 0, "refused (it cannot be used) or doubt",
	       .get = model_text_verdict),
	COLUMN("text", "what", T_TEXT, C_KEY, "file, line and what is wrong", OF(text)),
	COLUMN("hint", "hint", T_TEXT, C_SPARSE, "the formula with a caret, or what to type",
	       OF(hint)),
};
#undef OF
static const struct table_form findings_form = { "findings", NULL, TABLE_MAIN,
						 TABLE_COLUMNS(finding_columns),
						 .rest = "finding" };

#define OF(member) TABLE_FIELD(struct models_checked, member)
static const struct table_column checked_columns[] = {
	COLUMN("loaded", "loaded", T_COUNT, 0, "models that can be used", OF(loaded)),
	COLUMN("refused", "refused", T_COUNT, 0, "models that cannot", OF(refused)),
	COLUMN("doubts", "doubts", T_COUNT, 0, "findings in those that can", OF(doubts)),
};
#undef OF
static const struct table_form checked_form = { "summary", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(checked_columns) };

/* Lines of a text stay lines: a caret stands below its formula. */
static void put_model_text_lines(struct buf *out, const char *text, bool ascii)
{
	char line[1024];

	while (text && *text) {
		size_t n = strcspn(text, "\n"), kept = n < sizeof(line) ? n : sizeof(line) - 1;

		memcpy(line, text, kept);
		line[kept] = '\0';
		text_put_safe(out, line, ascii);
		buf_putc(out, '\n');
		text += n + (text[n] == '\n');
	}
}

static int model_text_write_term(struct buf *out, const struct document *d, const struct show *s,
				 struct err *err)
{
	const struct models_checked *c = d->ctx;

	if (s->table)
		return format_term(out, d, s, err);
	for (size_t i = 0; i < c->finding.n; i++) {
		put_model_text_lines(out, c->finding.v[i].text, s->style.ascii);
		put_model_text_lines(out, c->finding.v[i].hint, s->style.ascii);
	}
	buf_printf(out, "%zu loaded, %zu refused, %zu doubts\n", (size_t)c->loaded,
		   (size_t)c->refused, (size_t)c->doubts);
	return 0;
}

static const struct table_form *const checked_forms[] = { &checked_form, &findings_form };
static const struct format checked_faces[] = { { "term", model_text_write_term, true, false } };
const struct document_form models_checked_document = { "models",      1, checked_forms, 2,
						       checked_faces, 1 };

void models_checked_put(struct document *d, const struct models_checked *c)
{
	const struct table tables[] = {
		{ .form = &checked_form, .array = c, .n = 1 },
		{ .form = &findings_form,
		  .array = c->finding.v,
		  .stride = sizeof(*c->finding.v),
		  .n = c->finding.n },
	};

	document_table(d, &tables[0]);
	document_table(d, &tables[1]);
	document_fact(d, "models", c->refused, "%zu loaded, %zu refused, %zu doubts",
		      (size_t)c->loaded, (size_t)c->refused, (size_t)c->doubts);
}

/* ---- written --------------------------------------------------------------------------------- */

static const struct table_column file_columns[] = {
	COLUMN("file", "file", T_TEXT, C_KEY, "that was written", TABLE_ROW(const char *)),
};
static const struct table_form files_form = { "files", NULL, TABLE_MAIN | TABLE_DATA,
					      TABLE_COLUMNS(file_columns), .rest = "file" };

#define OF(member) TABLE_FIELD(struct models_written, member)
static const struct table_column written_columns[] = {
	COLUMN("dir", "dir", T_TEXT, 0, "where the files are", OF(dir)),
	COLUMN("model", "model", T_TEXT, 0, "its id", OF(id)),
	COLUMN("events", "events", T_COUNT, 0, "that were imported", OF(events)),
	COLUMN("nodes", "nodes", T_COUNT, 0, "that were imported", OF(nodes)),
	COLUMN("metrics", "metrics", T_COUNT, 0, "that were imported", OF(metrics)),
	COLUMN("sources", "sources", T_COUNT, 0, "files that were read", OF(sources)),
	COLUMN("doubts", "doubts", T_COUNT, 0, "of `models check`", OF(doubts)),
};
#undef OF
#define OF_IMPORT 0x7eu /* columns: all but the first */
static const struct table_form written_form = { "summary", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(written_columns) };

static const struct table_form *const written_forms[] = { &written_form, &files_form };
const struct document_form models_written_document = { "models", 1, written_forms, 2, NULL, 0 };

/* "cyclade HEAD DIR TAIL", if it can be typed. */
static void add_model_text_next(struct document *d, const struct models_written *w,
				const char *head, const char *tail, const char *why)
{
	struct buf b = BUF_INIT;
	const char *command;

	buf_printf(&b, "cyclade %s ", head);
	if (text_put_word(&b, w->dir)) {
		if (w->id)
			buf_printf(&b, "%s%s", tail, w->id);
		command = arena_xstrdup(&d->a, buf_str(&b));
		document_next(d, command, why);
	}
	buf_free(&b);
}

void models_written_put(struct document *d, const struct models_written *w)
{
	const struct table tables[] = {
		{ .form = &written_form, .array = w, .n = 1, .hidden = w->id ? 0 : OF_IMPORT },
		{ .form = &files_form,
		  .array = w->file.v,
		  .stride = sizeof(*w->file.v),
		  .n = w->file.n },
	};

	if (w->id)
		document_title(d, INK_PLAIN,
			       "%s: %zu events, %zu nodes, %zu metrics from %zu file%s in %s",
			       w->id, (size_t)w->events, (size_t)w->nodes, (size_t)w->metrics,
			       (size_t)w->sources, w->sources == 1 ? "" : "s", w->dir);
	else
		document_title(d, INK_PLAIN, "%zu files in %s", w->file.n, w->dir);
	document_table(d, &tables[0]);
	document_table(d, &tables[1]);
	for (size_t i = 0; i < w->note.n; i++)
		document_note(d, w->note.v[i]);
	if (w->doubts) {
		document_fact(d, "doubts", true, "%zu", (size_t)w->doubts);
		add_model_text_next(d, w, "models check --models", " ", "what is doubtful");
	}
	if (w->id)
		add_model_text_next(d, w, "list nodes --models", " --model ", "its tree");
	else
		add_model_text_next(d, w, "models check --models", "", "when files were changed");
}
