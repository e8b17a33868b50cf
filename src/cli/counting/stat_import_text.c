/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat --import of text: which kinds of cores its events were counted on, the model of each, and
 * doubts about the text itself.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/hash.h"
#include "cli/counting/stat_import.h"

#define FILE_MAX (256u << 20)

#define NO_PLACE UINT32_MAX
#define ROOM	 (1u << 22) /* intervals times places */

struct text {
	struct import *im;
	struct counts_file file;
	struct counts_sums all;		/* of everything */
	const char *kind[IMPORT_CORES]; /* PMUs of cores that its events name */
	size_t n_kinds;
	bool several;	      /* kinds, of a hybrid: each has a tree */
	size_t other, unsaid; /* events of kinds that are not shown, or of no kind in particular */
	const char *other_kind;
	const char *guess;    /* why this model; NULL: the user named it */
	const char *no_model; /* why there is no tree */
	uint32_t *group;      /* by place of the file: --per */
	const char **label;   /* by group */
	size_t n_groups;
};

/* ---- kinds of cores --------------------------------------------------------------------- */

static void find_text_kinds(struct text *t)
{
	for (size_t i = 0; i < t->all.n; i++) {
		const char *pmu = t->all.event[i].pmu;
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

/* The CPU's name in the file; NULL: it has none. */
static const char *said_model(const struct text *t, const char *kind)
{
	for (size_t k = 0; k < t->file.n_models; k++)
		if (!strcmp(t->file.model[k].pmu, kind ? kind : "") || t->file.n_models == 1)
			return t->file.model[k].id;
	return NULL;
}

/* A name in the text may be no model's. */
static bool is_model(struct import *im, const char *id)
{
	struct model_sources src = cli_model_sources(im->cli);
	struct model_row row;

	return !model_row_of(&row, im->a, &src, id, NULL);
}

/* The id of the model that the text is of; *id NULL: nobody knows. */
static int choose_model(struct text *t, const char *kind, const char **id, struct err *err)
{
	struct import *im = t->im;
	struct model_choice choice = cli_model_choice(im->cli);
	struct model_sources src = model_choice_sources(&choice);
	const char *said = said_model(t, kind), *why;

	if (im->cli->opt.model || im->has_machine)
		return model_choice_id(&choice, im->has_machine ? &im->k.machine : NULL, kind, id,
				       err);
	if (said && !model_named(id, im->a, &src, said, kind, NULL) && is_model(im, *id))
		return 0;
	if (import_guess(id, &why, im, &t->file, kind, err))
		return -1;
	if (!t->guess)
		t->guess = why;
	return 0;
}

static int add_text_core(struct text *t, const char *kind, struct err *err)
{
	struct import *im = t->im;
	struct import_core *c = &im->core[im->n_cores];
	struct model_sources src = cli_model_sources(im->cli);
	const char *id, *only = "";

	if (choose_model(t, kind, &id, err))
		return -1;
	if (!id)
		return 0;
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

/* Something of the text has to do with a tree of these models. */
static bool any_known(const struct text *t)
{
	for (size_t c = 0; c < t->im->n_cores; c++) {
		const struct model *m = t->im->core[c].m;

		for (size_t i = 0; i < t->all.n; i++) {
			uint32_t e = import_event(m, t->all.event[i].name).event;

			if (e != MODEL_NONE && !(m->event[e].flags & EVENT_SOFTWARE))
				return true;
		}
		for (size_t i = 0; i < t->all.n_figures; i++) {
			uint32_t k = import_metric(m, t->all.figure[i].name);

			if (k != MODEL_NONE && m->metric[k].level)
				return true;
		}
	}
	return false;
}

static int find_cores(struct text *t, struct err *err)
{
	struct import *im = t->im;
	unsigned slots = 0;

	find_text_kinds(t);
	for (size_t i = 0; i < t->all.n; i++)
		slots |= import_slots_by(t->all.event[i].name);
	import_slots(im, slots);
	if (!t->several && add_text_core(t, NULL, err))
		return -1;
	for (size_t k = 0; t->several && k < t->n_kinds; k++)
		if (add_text_core(t, t->kind[k], err))
			return -1;
	if (!im->n_cores && im->cli->opt.model) {
		(void)err_set(err, ERR_USAGE,
			      "%s: its events are of %s%s%s, and the model %s is not",
			      im->cli->opt.import, t->kind[0], t->n_kinds > 1 ? " and " : "",
			      t->n_kinds > 1 ? t->kind[1] : "", im->cli->opt.model);
		return err_hint(err, "--model takes the name of the whole CPU, too: alderlake");
	}
	if (!im->n_cores)
		t->no_model = "no model knows an event or figure of the text that not every CPU "
			      "has: no tree; --model names the CPU that counted";
	else if (!any_known(t))
		t->no_model = arena_printf(im->a,
					   "none of the events are of the model %s: no tree; "
					   "--model names the CPU that counted (cyclade list "
					   "models)",
					   im->core[0].m->id);
	return im->n_cores && !any_known(t) && !t->no_model ? err_nomem(err) : 0;
}

/* ---- places ----------------------------------------------------------------------------- */

/* How the tools call places: which of --per's words a label is of, or can be cut to. */
static const struct {
	const char *per, *front; /* front: of the part that names it */
} kinds_of_place[] = {
	{ "socket", "S" },    { "die", "D" },	{ "core", "C" },
	{ "cluster", "CLS" }, { "cpu", "CPU" }, { "node", "N" },
};

/* "S0-D1-C2" cut behind the part that begins with `front`; 0: it has none. */
static size_t cut_behind(const char *label, const char *front)
{
	size_t at = 0, n = strlen(front);

	while (label[at]) {
		size_t len = strcspn(label + at, "-");

		/* node -1 of perf */
		if (!strcmp(front, "N") && label[at] == 'N' && label[at + 1] == '-')
			len = strlen(label + at);
		if (!strncmp(label + at, front, n) &&
		    strspn(label + at + n, "-0123456789") >= len - n && len > n)
			return at + len;
		at += len + (label[at + len] == '-');
	}
	return 0;
}

static size_t place_length(const char *per, const char *label)
{
	size_t len = strlen(label);

	if (!strcmp(per, "thread")) /* COMMAND-PID; toplev's T0 */
		return len && strrchr(label, '-') &&
				       strspn(strrchr(label, '-') + 1, "0123456789T") ==
					       strlen(strrchr(label, '-') + 1)
			       ? len
			       : 0;
	if (!strcmp(per, "cpu") && strstr(label, "-T")) /* toplev: a thread of a core */
		return len;
	for (size_t i = 0; i < sizeof(kinds_of_place) / sizeof(*kinds_of_place); i++)
		if (!strcmp(kinds_of_place[i].per, per))
			return cut_behind(label, kinds_of_place[i].front);
	return 0;
}

/* --per: a group for each place of that kind that the text names. */
static int find_text_places(struct text *t, struct err *err)
{
	struct import *im = t->im;
	const char *per = im->cli->opt.measure.per, *some = NULL;
	size_t n = t->file.n_places;
	struct strtab seen = STRTAB_INIT;
	int rc = -1;

	if (!per)
		return 0;
	t->group = arena_alloc(im->a, (n + 1) * sizeof(*t->group));
	t->label = arena_alloc(im->a, (n + 1) * sizeof(*t->label));
	if (!t->group || !t->label || strtab_adds(&seen, "") == STR_NONE)
		goto no_memory;
	for (size_t i = 0; i < n; i++) {
		const char *label = t->file.name[t->file.place[i]];
		size_t len = *label ? place_length(per, label) : 0;
		uint32_t id;

		some = *label ? label : some;
		t->group[i] = NO_PLACE;
		if (!len)
			continue;
		id = strtab_add(&seen, label, len);
		if (id == STR_NONE)
			goto no_memory;
		t->group[i] = id - 1;
		if (id > t->n_groups) {
			t->label[t->n_groups++] = arena_strdup(im->a, strtab_get(&seen, id));
			if (!t->label[t->n_groups - 1])
				goto no_memory;
		}
	}
	rc = 0;
	if (!t->n_groups) {
		rc = err_set(err, ERR_UNSUPPORTED, "%s: no count in it is of one %s%s%s",
			     im->cli->opt.import, per, some ? ": its places are as " : "",
			     some ? some : "");
		(void)err_hint(err, some ? "--per with the kind of place that it has"
					 : "perf stat -A, --per-core, --per-socket, ... print "
					   "places");
	}
	goto out;
no_memory:
	(void)err_nomem(err);
out:
	strtab_free(&seen);
	return rc;
}

/* ---- sets ------------------------------------------------------------------------------- */

/* On a hybrid, an event without a kind of cores counts all of them together. */
static bool is_unsaid(const struct counted_event *ev, const struct import_core *c,
		      struct import_known known)
{
	return c->pmu && !*ev->pmu && known.event != MODEL_NONE && !*c->m->event[known.event].pmu &&
	       !(c->m->event[known.event].flags & (EVENT_SOFTWARE | EVENT_UNCORE));
}

static bool belongs(const struct counted_event *ev, const struct import_core *c,
		    struct import_known known)
{
	if (!c->pmu)
		return true;
	if (*ev->pmu)
		return !strcmp(ev->pmu, c->pmu);
	return !is_unsaid(ev, c, known);
}

static void count_unsaid(struct text *t)
{
	const struct import_core *c = &t->im->core[0];

	for (size_t i = 0; c->m && i < t->all.n; i++)
		t->unsaid +=
			is_unsaid(&t->all.event[i], c, import_event(c->m, t->all.event[i].name));
}

/* Figures beside an event of one kind of cores are of that kind; others of the first. */
static bool figure_belongs(const struct counted_figure *f, const struct import_core *c, bool first)
{
	const char *slash = strchr(f->event, '/'), *open = strchr(f->event, '[');
	const char *at = slash ? f->event : open ? open + 1 : f->event;
	size_t len = slash ? (size_t)(slash - at) : open ? strcspn(at, "]") : 0;

	if (!c->pmu)
		return true;
	if (!counts_core_pmu(at, len))
		return first;
	return strlen(c->pmu) == len && !memcmp(c->pmu, at, len);
}

static int fill_figures(struct import_set *set, struct arena *a, const struct import_core *c,
			const struct counts_sums *sums, struct err *err)
{
	struct counted_figure *f = arena_alloc(a, (sums->n_figures + 1) * sizeof(*f));

	if (!f)
		return err_nomem(err);
	set->sums.figure = f;
	set->sums.n_figures = 0;
	for (size_t i = 0; i < sums->n_figures; i++)
		if (figure_belongs(&sums->figure[i], c, set->first))
			f[set->sums.n_figures++] = sums->figure[i];
	return 0;
}

static int fill_text_set(struct text *t, struct import_set *set, size_t core,
			 const struct counts_sums *sums, const char *label, double seconds,
			 struct err *err)
{
	struct import *im = t->im;
	const struct import_core *c = &im->core[core];
	struct counted_event *ev = arena_alloc(&im->once, (sums->n + 1) * sizeof(*ev));
	struct import_known *known = arena_alloc(&im->once, (sums->n + 1) * sizeof(*known));

	if (!ev || !known)
		return err_nomem(err);
	*set = (struct import_set){ .core = core,
				    .sums = *sums,
				    .known = known,
				    .label = label,
				    .seconds = seconds,
				    .repeats = t->file.repeats,
				    .first = !core };
	set->sums.event = ev;
	set->sums.n = 0;
	for (size_t i = 0; i < sums->n; i++) {
		const struct counted_event *e = &sums->event[i];
		struct import_known k = { .event = MODEL_NONE, .own = MODEL_NONE, .scale = 1 };

		if (c->m)
			k = import_event(c->m, e->name);
		if (c->m && !belongs(e, c, k))
			continue;
		known[set->sums.n] = k;
		ev[set->sums.n++] = *e;
	}
	return fill_figures(set, &im->once, c, sums, err);
}

static void find_others(struct text *t)
{
	for (size_t i = 0; t->several && i < t->all.n; i++) {
		const char *pmu = t->all.event[i].pmu;
		size_t c = 0;

		while (c < t->im->n_cores && strcmp(t->im->core[c].pmu, pmu) != 0)
			c++;
		if (!*pmu || c < t->im->n_cores)
			continue;
		t->other++;
		t->other_kind = pmu;
	}
}

static void text_notes_of(struct text *t, struct import_notes *l)
{
	size_t blank = 0;
	const char *name = NULL;

	find_others(t);
	if (t->guess && !t->no_model)
		import_add_note(l, t->guess);
	if (t->no_model)
		import_add_note(l, t->no_model);
	if (t->file.unnamed)
		import_add_note(l, arena_printf(l->a,
						"%u figures have no name in the text, and are left "
						"out",
						t->file.unnamed));
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
						t->unsaid));
	for (size_t i = 0; i < t->all.n; i++)
		if (t->all.event[i].blank) {
			blank++;
			name = name ? name : t->all.event[i].name;
		}
	if (blank)
		import_add_note(
			l, arena_printf(
				   l->a,
				   "left out, since not counted in some intervals or places: %zu, "
				   "%s first; count fewer events at once, or for longer",
				   blank, name));
}

static int read_text_file(struct text *t, struct err *err)
{
	const struct options *o = &t->im->cli->opt;
	struct counts_choice choice = { .cgroup = o->measure.cgroup.n ? o->measure.cgroup.v[0]
								      : NULL };
	struct buf text = BUF_INIT;
	int rc;

	if (o->separator && cli_separator(t->im->cli, &choice.separator, err))
		return -1;
	if (strcmp(o->import, "-") != 0)
		rc = file_slurp(&text, o->import, FILE_MAX, err);
	else
		rc = fd_slurp(&text, STDIN_FILENO, FILE_MAX, "standard input", err);
	if (!rc)
		rc = counts_file_parse(&t->file, t->im->a, buf_str(&text), text.len, &choice,
				       o->import, err);
	buf_free(&text);
	return rc;
}

/* How long a span was; intervals end at the times that the text has. */
static double span_seconds(const struct counts_file *f, size_t from, size_t to)
{
	if (!from && !to)
		return f->seconds;
	return f->time[to - 1] - (from > 1 ? f->time[from - 1] : 0);
}

/* The sets of a span, printed; from and to 0: all of it. */
static int print_text_span(struct text *t, size_t from, size_t to, const struct import_notes *l,
			   struct err *err)
{
	struct import *im = t->im;
	bool all = !from && !to;
	struct counts_span span = { from, to, t->group, t->n_groups };
	double seconds = span_seconds(&t->file, from, to);
	struct count_head head = import_head(im, all ? (double)NAN : t->file.time[to - 1], seconds);
	size_t groups = t->group ? t->n_groups : 1, cores = im->n_cores ? im->n_cores : 1, n = 0;
	struct import_set *set = arena_alloc(&im->once, (groups * cores + 1) * sizeof(*set));
	struct counts_sums *sums;
	int rc;

	if (!set)
		return err_nomem(err);
	if (counts_file_sums(&sums, &im->once, &t->file, &span, err))
		return -1;
	if (t->no_model)
		cores = 1;
	for (size_t g = 0; g < groups; g++)
		for (size_t c = 0; c < cores; c++) {
			if (fill_text_set(t, &set[n], c, &sums[g], t->label ? t->label[g] : NULL,
					  seconds, err))
				return -1;
			/* nothing counted there in this time */
			n += all || set[n].sums.n || set[n].sums.n_figures;
		}
	if (all) {
		head.user_s = t->file.user_s;
		head.sys_s = t->file.sys_s;
		head.notes = l->v;
		head.n_notes = l->n;
	}
	rc = t->no_model ? import_counted(im, set, n, &head, err)
			 : import_trees(im, set, n, &head, err);
	arena_free(&im->once);
	return rc;
}

/* Intervals, joined to pieces as long as was asked for; the last is as long as it is. */
static int print_text_intervals(struct text *t, const struct import_notes *l, struct err *err)
{
	struct import *im = t->im;
	double least = (double)im->cli->opt.measure.interval / 1e9 * 0.98, began = 0;
	struct count_head end = import_head(im, NAN, t->file.seconds);
	struct tree_report r = { .n_views = 0 };
	struct counts c = { .n = 0 };
	size_t from = 1;

	for (size_t i = 1; i < t->file.n_times; i++) {
		double now = t->file.time[i];

		if (i == 1 && isnan(span_seconds(&t->file, 1, 2)))
			began = now;
		if (now - began < least && i + 1 < t->file.n_times)
			continue;
		if (print_text_span(t, from, i + 1, l, err))
			return -1;
		from = i + 1;
		began = now;
	}
	end.end = true;
	end.notes = l->v;
	end.n_notes = l->n;
	if (!t->no_model) {
		r.head = end;
		return import_report(im, &r, err);
	}
	c.head = end;
	return import_put_events(im, &c, true, err);
}

static int check_intervals(const struct text *t, struct err *err)
{
	const char *file = t->im->cli->opt.import;

	if (!t->im->cli->opt.measure.interval)
		return 0;
	if (t->file.n_times < 2) {
		(void)err_set(err, ERR_USAGE, "%s has no intervals", file);
		return err_hint(err, "perf stat -I 1000 prints them");
	}
	if (t->n_groups > ROOM / t->file.n_times)
		return err_set(err, ERR_LIMIT, "%s: %zu intervals of %zu places are too many", file,
			       t->file.n_times - 1, t->n_groups);
	if (t->file.runs < 2)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "%s: -I, and %u runs are in it (perf stat --append)",
		      file, t->file.runs);
	return err_hint(err, "import the runs one by one, each from a file of its own");
}

int import_printed(struct import *im, struct err *err)
{
	struct counts_span all = { .from = 0 };
	struct text t = { .im = im };
	struct import_notes l = { .a = im->a };
	struct counts_sums *sums;

	if (read_text_file(&t, err) || counts_file_sums(&sums, im->a, &t.file, &all, err))
		return -1;
	t.all = *sums;
	im->form = t.file.form;
	import_facts(im);
	if (find_cores(&t, err) || find_text_places(&t, err) || check_intervals(&t, err))
		return -1;
	count_unsaid(&t);
	text_notes_of(&t, &l);
	if (counting_out_open(&im->out, im->cli, t.no_model ? &counts_document : &tree_document,
			      err))
		return -1;
	return im->cli->opt.measure.interval ? print_text_intervals(&t, &l, err)
					     : print_text_span(&t, 0, 0, &l, err);
}
