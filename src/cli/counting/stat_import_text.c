/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat --import of text: which kinds of cores its events were counted on, the model of each, and
 * what is doubtful about the text itself.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "cli/counting/stat_import.h"

#define FILE_MAX (256u << 20)

struct text {
	struct import *im;
	struct counts_file file;
	const char *kind[IMPORT_CORES]; /* PMUs of cores that its events name */
	size_t n_kinds;
	bool several;	      /* kinds, of a hybrid: each has a tree */
	size_t other, unsaid; /* events of kinds that are not shown, or of no kind in particular */
	const char *other_kind;
};

/* ---- kinds of cores --------------------------------------------------------------------- */

static void find_kinds(struct text *t)
{
	for (size_t i = 0; i < t->file.n; i++) {
		const char *pmu = t->file.event[i].pmu;
		size_t k = 0;

		if (!*pmu)
			continue;
		while (k < t->n_kinds && strcmp(t->kind[k], pmu) != 0)
			k++;
		if (k == t->n_kinds && k < IMPORT_CORES)
			t->kind[t->n_kinds++] = pmu;
	}
	t->several = t->n_kinds > 1;
	for (size_t k = 0; k < t->n_kinds; k++) {
		t->several |= !strncmp(t->kind[k], "cpu_", 4);
		if (!strcmp(t->kind[k], "cpu_core")) { /* the large cores first */
			t->kind[k] = t->kind[0];
			t->kind[0] = "cpu_core";
		}
	}
}

/* What the file says that it was counted by; NULL: it does not. */
static const char *said_model(const struct text *t, const char *kind)
{
	for (size_t k = 0; k < t->file.n_models; k++)
		if (!strcmp(t->file.model[k].pmu, kind ? kind : "") || t->file.n_models == 1)
			return t->file.model[k].id;
	return NULL;
}

static int add_core(struct text *t, const char *kind, struct err *err)
{
	struct import *im = t->im;
	struct import_core *c = &im->core[im->n_cores];
	struct model_choice choice = cli_model_choice(im->cli);
	struct model_sources src = model_choice_sources(&choice);
	const char *said = im->cli->opt.model || im->has_machine ? NULL : said_model(t, kind);
	const char *id, *only = "";

	if (said)
		id = said;
	else if (model_choice_id(&choice, im->has_machine ? &im->k.machine : NULL, kind, &id, err))
		return -1;
	/* a model of one kind of cores, by --model */
	if (kind && im->cli->opt.model && model_core_pmu(&only, im->a, &src, id, err))
		return -1;
	if (kind && (*only || t->n_kinds > 1) && im->cli->opt.model && strcmp(only, kind) != 0)
		return 0;
	if (model_load(&c->m, &src, id, im->system, err))
		return -1;
	c->pmu = kind;
	im->n_cores++;
	return 0;
}

static int find_cores(struct text *t, struct err *err)
{
	struct import *im = t->im;

	find_kinds(t);
	if (!t->several)
		return add_core(t, NULL, err);
	for (size_t k = 0; k < t->n_kinds; k++)
		if (add_core(t, t->kind[k], err))
			return -1;
	if (im->n_cores)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: its events are of %s%s%s, and the model %s is not",
		      im->cli->opt.import, t->kind[0], t->n_kinds > 1 ? " and " : "",
		      t->n_kinds > 1 ? t->kind[1] : "", im->cli->opt.model);
	return err_hint(err, "--model takes the name of the whole CPU, too: alderlake");
}

/* ---- sets ------------------------------------------------------------------------------- */

/* Of a hybrid, what names no kind of cores is of all of them together. */
static bool belongs(struct text *t, const struct counted_event *ev, const struct import_core *c,
		    struct import_known known)
{
	bool core_event = known.event != MODEL_NONE && !*c->m->event[known.event].pmu &&
			  !(c->m->event[known.event].flags & (EVENT_SOFTWARE | EVENT_UNCORE));

	if (!c->pmu)
		return true;
	if (*ev->pmu)
		return !strcmp(ev->pmu, c->pmu);
	t->unsaid += core_event ? 1u : 0u;
	return !core_event;
}

static int fill_set(struct text *t, struct import_set *set, size_t core, struct err *err)
{
	struct import *im = t->im;
	const struct import_core *c = &im->core[core];
	struct counted_event *ev = arena_alloc(im->a, (t->file.n + 1) * sizeof(*ev));
	struct import_known *known = arena_alloc(im->a, (t->file.n + 1) * sizeof(*known));

	if (!ev || !known)
		return err_nomem(err);
	*set = (struct import_set){ .core = core, .file = t->file, .known = known };
	set->file.event = ev;
	set->file.n = 0;
	for (size_t i = 0; i < t->file.n; i++) {
		const struct counted_event *e = &t->file.event[i];
		struct import_known k = import_event(c->m, e->name);

		if (!belongs(t, e, c, k))
			continue;
		known[set->file.n] = k;
		ev[set->file.n++] = *e;
	}
	return 0;
}

static void find_others(struct text *t)
{
	for (size_t i = 0; t->several && i < t->file.n; i++) {
		const char *pmu = t->file.event[i].pmu;
		size_t c = 0;

		while (c < t->im->n_cores && strcmp(t->im->core[c].pmu, pmu) != 0)
			c++;
		if (!*pmu || c < t->im->n_cores)
			continue;
		t->other++;
		t->other_kind = pmu;
	}
}

static void notes_of(struct text *t, struct import_notes *l)
{
	size_t blank = 0;
	const char *name = NULL;

	find_others(t);
	if (t->file.runs > 1)
		import_add_note(l, arena_printf(l->a,
						"the counts of %u runs (perf stat --append) are "
						"added up",
						t->file.runs));
	if (t->other)
		import_add_note(l, arena_printf(l->a,
						"%zu event%s of %s left out: --model named "
						"other cores",
						t->other, t->other == 1 ? " is" : "s are",
						t->other_kind));
	if (t->unsaid)
		import_add_note(l, arena_printf(l->a,
						"events that do not say on which kind of "
						"cores they counted are left out: %zu",
						t->unsaid / t->im->n_cores));
	for (size_t i = 0; i < t->file.n; i++)
		if (t->file.event[i].blank) {
			blank++;
			name = name ? name : t->file.event[i].name;
		}
	if (blank)
		import_add_note(
			l, arena_printf(
				   l->a,
				   "left out, since not counted in some intervals or places: %zu, "
				   "%s first; count fewer events at once, or for longer",
				   blank, name));
}

static int read_file(struct text *t, struct err *err)
{
	const struct options *o = &t->im->cli->opt;
	struct counts_choice choice = { .cgroup = o->cgroup.n ? o->cgroup.v[0] : NULL };
	struct buf text = BUF_INIT;
	int rc = -1;

	if (o->separator && cli_separator(t->im->cli, &choice.separator, err))
		return -1;
	if (!file_slurp(&text, o->import, FILE_MAX, err))
		rc = counts_file_parse(&t->file, t->im->a, buf_str(&text), text.len, &choice,
				       o->import, err);
	buf_free(&text);
	return rc;
}

int import_printed(struct import *im, struct err *err)
{
	struct text t = { .im = im };
	struct import_set set[IMPORT_CORES];
	struct import_notes l = { .a = im->a };
	size_t n = 0;

	if (read_file(&t, err))
		return -1;
	import_facts(im);
	if (find_cores(&t, err))
		return -1;
	for (size_t c = 0; c < im->n_cores; c++)
		if (fill_set(&t, &set[n++], c, err))
			return -1;
	notes_of(&t, &l);
	return counting_out_open(&im->out, im->cli, &tree_document, err) ||
			       import_trees(im, set, n, NAN, l.v, l.n, err)
		       ? -1
		       : 0;
}
