/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat --import: the tree from counts that were taken before, by perf stat or by cyclade, on any
 * machine. Nothing is counted here.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "cli/drill.h"
#include "cli/stat_import.h"

#define FILE_MAX     (256u << 20)
#define NO_ERRORS    "totals alone do not tell"
#define NOTES_MAX    8u
#define MAGIC	     "PERFILE2"
#define MAGIC_TURNED "2ELIFREP"

/* ---- counts of one set ------------------------------------------------------------------ */

struct tree_of {
	const struct import_set *set;
	const struct model *m;
	double *count, *share;
	double system[SYSTEM_COUNT];
	struct tree tree;
	size_t strange; /* events that the model does not know */
	const char *first_strange;
	bool latencies; /* the model has a table of them */
};

static int take_counts(struct import *im, struct tree_of *t, struct err *err)
{
	size_t n = t->m->n_events;

	t->count = arena_alloc(&im->once, (n + 1) * sizeof(*t->count));
	t->share = arena_alloc(&im->once, (n + 1) * sizeof(*t->share));
	if (!t->count || !t->share)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		t->count[i] = t->share[i] = NAN;
	for (size_t i = 0; i < t->set->file.n; i++) {
		const struct counted_event *c = &t->set->file.event[i];
		uint32_t e = t->set->known ? t->set->known[i] : import_event(t->m, c->name);

		if (e == MODEL_NONE) {
			if (!strcmp(c->name, "duration_time"))
				t->system[SYSTEM_DURATION] = c->value / 1e9;
			else if (!t->strange++)
				t->first_strange = c->name;
			continue;
		}
		/* the same event under two names: the one that was counted longer */
		if (!isnan(t->share[e]) && !(c->counted > t->share[e]))
			continue;
		t->count[e] = c->value;
		t->share[e] = isnan(c->counted) ? 1 : c->counted;
	}
	return 0;
}

static int evaluate(struct import *im, struct tree_of *t, struct err *err)
{
	static const char *const no_error[] = { NO_ERRORS };
	static const double *const no_cov[] = { NULL };
	size_t n = t->m->n_used;
	uint32_t *member = arena_alloc(&im->once, (n + 1) * sizeof(*member));
	uint32_t *first = arena_alloc(&im->once, 2 * sizeof(*first));
	double *latency = arena_alloc(&im->once, (t->m->n_events + 1) * sizeof(*latency));
	double *unknown = arena_alloc(&im->once, (t->m->n_events + 1) * sizeof(*unknown));
	struct tree_counts c = { .count = t->count,
				 .n_lps = 1,
				 .counted = t->share,
				 .first = first,
				 .cov = no_cov,
				 .no_error = no_error,
				 .n_groups = 1,
				 .latency = latency,
				 .latency_se = unknown,
				 .system = t->system };

	if (!member || !first || !latency || !unknown)
		return err_nomem(err);
	/* counts have none of their own: what the model's table says */
	for (size_t e = 0; e < t->m->n_events; e++) {
		latency[e] = t->m->event[e].latency;
		t->latencies |= !isnan(latency[e]);
		unknown[e] = NAN;
	}
	for (uint32_t e = 0; e < n; e++)
		if (!isnan(t->count[e]))
			member[first[1]++] = e;
	c.member = member;
	return tree_eval(&t->tree, &im->once, t->m, &c, NULL, err);
}

void import_facts(struct import *im)
{
	const struct options *o = &im->cli->opt;

	for (int i = 0; i < SYSTEM_COUNT; i++)
		im->system[i] = NAN;
	if (im->has_machine) {
		struct drill d = { .root = im->k.root };

		drill_facts(im->system, &d, &im->k);
	} else {
		im->system[SYSTEM_CORE_WIDE] = o->all ? 1 : 0;
	}
	if (o->smt)
		im->system[SYSTEM_SMT_ON] = !strcmp(o->smt, "on");
	if (im->system[SYSTEM_SMT_ON] == 0) {
		im->system[SYSTEM_THREADS_PER_CORE] = 1;
		im->system[SYSTEM_CORE_WIDE] = 1;
	}
	if (o->all)
		im->system[SYSTEM_CORE_WIDE] = 1;
}

/* ---- printing --------------------------------------------------------------------------- */

int import_put(struct import *im, const struct buf *b, struct err *err)
{
	bool gone;

	im->printed = true;
	return counting_out_put(&im->out, b, &gone, err);
}

static const char *set_label(struct import *im, const struct import_set *s)
{
	const char *pmu = im->n_cores > 1 ? im->core[s->core].pmu : NULL;

	if (!s->label || !pmu)
		return s->label ? s->label : pmu;
	return arena_printf(&im->once, "%s %s", s->label, pmu);
}

/* --node and -M: what is named, and without -l nothing else but what it is part of. */
static int find_names(struct import *im, struct err *err)
{
	const struct options *o = &im->cli->opt;
	struct drill d = { .a = im->a, .n_cores = im->n_cores };
	uint32_t *list[DRILL_CORES];
	size_t n[DRILL_CORES];

	if (im->core[0].named || (!o->node.n && !o->metric.n))
		return 0;
	for (size_t c = 0; c < im->n_cores; c++)
		d.core[c].m = im->core[c].m;
	if (drill_names(&d, o, list, n, err))
		return -1;
	for (size_t c = 0; c < im->n_cores; c++) {
		struct import_core *x = &im->core[c];

		x->named = d.core[c].named;
		if (OPTION_GIVEN(o, level))
			continue;
		x->wanted = arena_alloc(im->a, x->m->n_metrics + 1);
		if (!x->wanted)
			return err_nomem(err);
		for (size_t i = 0; i < n[c]; i++)
			x->wanted[list[c][i]] = true;
	}
	return 0;
}

static int view_of(struct import *im, struct tree_of *t, struct tree_view *out, struct err *err)
{
	const struct options *o = &im->cli->opt;
	uint32_t slots = model_metric_find(t->m, "SLOTS", 5);
	struct tree_source src = { .tree = &t->tree,
				   .label = set_label(im, t->set),
				   .count = t->count,
				   .share = t->share,
				   .named = im->core[t->set->core].named,
				   .wanted = im->core[t->set->core].wanted,
				   .level = (unsigned)o->level,
				   .all = o->verbose || OPTION_GIVEN(o, level),
				   .whole = NAN };

	if (slots != MODEL_NONE && t->tree.node[slots].value.why == VALUE_OK)
		src.whole = t->tree.node[slots].value.v;
	return tree_view_make(out, &im->once, &src, err);
}

static int tree_of_set(struct import *im, struct tree_of *t, const struct import_set *set,
		       struct tree_view *view, struct err *err)
{
	struct drill none = { 0 };

	if (find_names(im, err))
		return -1;
	*t = (struct tree_of){ .set = set, .m = im->core[set->core].m };
	memcpy(t->system, im->system, sizeof(t->system));
	if (set->lps)
		drill_times(t->system, &none, set->file.seconds, set->lps);
	else
		t->system[SYSTEM_DURATION] = set->file.seconds;
	return take_counts(im, t, err) || evaluate(im, t, err) || view_of(im, t, view, err) ? -1
											    : 0;
}

static const char *model_line(struct import *im)
{
	const struct model *m = im->core[0].m, *other = im->n_cores > 1 ? im->core[1].m : NULL;

	return arena_printf(&im->once, "counted before; model %s (%s)%s%s", m->id, m->title,
			    other ? ", " : "", other ? other->id : "");
}

static int write_report(struct import *im, struct tree_report *r, struct err *err)
{
	struct counts_style st = { .style = *counting_out_style(&im->out),
				   .separator = im->out.separator,
				   .quiet = im->cli->opt.quiet,
				   .first = !im->printed };
	struct buf b = BUF_INIT;
	int rc = -1;

	if (!tree_report_write(&b, r, im->out.format, &st, err))
		rc = import_put(im, &b, err);
	buf_free(&b);
	return rc;
}

int import_trees(struct import *im, const struct import_set *set, size_t n, double time,
		 const char *const *notes, size_t n_notes, struct err *err)
{
	struct tree_view *view = arena_alloc(&im->once, (n + 1) * sizeof(*view));
	struct tree_of *t = arena_alloc(&im->once, (n + 1) * sizeof(*t));
	const char *said[NOTES_MAX + 3];
	struct tree_report r = { .head = { .target = im->cli->opt.import,
					   .time = time,
					   .seconds = n ? set[0].file.seconds : NAN,
					   .user_s = NAN,
					   .sys_s = NAN,
					   .status = -1,
					   .runs = 1,
					   .seconds_error = NAN,
					   .notes = said },
				 .view = view,
				 .n_views = n };

	if (!view || !t)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		if (tree_of_set(im, &t[i], &set[i], &view[i], err))
			return -1;
	for (size_t i = 0; i < n_notes && i < NOTES_MAX; i++)
		said[r.head.n_notes++] = notes[i];
	if (n && t[0].strange && isnan(time))
		said[r.head.n_notes++] =
			arena_printf(&im->once, "%zu of %zu events are not the model's: %s, ...",
				     t[0].strange, set[0].file.n, t[0].first_strange);
	if (isnan(im->system[SYSTEM_SMT_ON]) && isnan(time))
		said[r.head.n_notes++] = "whether SMT was on is not known: --smt on or off";
	if (n && t[0].latencies && isnan(time))
		said[r.head.n_notes++] = "retire latencies are those of the model's table";
	r.cpu = model_line(im);
	for (size_t i = 0; i < r.head.n_notes; i++)
		if (!said[i])
			return err_nomem(err);
	return r.cpu ? write_report(im, &r, err) : err_nomem(err);
}

/* ---- the whole of it -------------------------------------------------------------------- */

/* A recording, and not text. */
static int is_recording(const char *path, bool *yes, struct err *err)
{
	struct file_map m;

	if (file_map_open(&m, path, false, err))
		return -1;
	*yes = m.len >= 8 && (!memcmp(m.p, MAGIC, 8) || !memcmp(m.p, MAGIC_TURNED, 8));
	file_map_close(&m);
	return 0;
}

/* What is known of the machine that counted: of --sysroot all of it, else what was said. */
static int captured_machine(struct import *im, struct err *err)
{
	const char *root = im->cli->opt.sysroot;

	im->k.cli = im->cli;
	im->k.who.cgroup_fd = -1;
	im->k.root = root;
	im->has_machine = root;
	return root ? machine_read(&im->k.machine, im->a, root, err) : 0;
}

static int import_text(struct import *im, struct err *err)
{
	struct import_set set = { .label = NULL };
	struct buf text = BUF_INIT;
	char sep = 0;
	int rc;

	if (im->cli->opt.separator && cli_separator(im->cli, &sep, err))
		return -1;
	rc = file_slurp(&text, im->cli->opt.import, FILE_MAX, err) ||
	     counts_file_parse(&set.file, im->a, buf_str(&text), text.len, sep, im->cli->opt.import,
			       err);
	buf_free(&text);
	if (rc || captured_machine(im, err))
		return -1;
	import_facts(im);
	if (cli_model(im->cli, im->has_machine ? &im->k.machine : NULL, NULL, im->system,
		      &im->core[0].m, err))
		return -1;
	im->n_cores = 1;
	return counting_out_open(&im->out, im->cli, err) ||
			       import_trees(im, &set, 1, NAN, NULL, 0, err)
		       ? -1
		       : 0;
}

static int check(struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if (cli->args.n || o->pid.n || o->tid.n || o->uid || o->event.n) {
		(void)err_set(err, ERR_USAGE,
			      "--import counts nothing: it takes no program, no task, no event");
		return err_hint(err, "cyclade stat --import FILE --model ID");
	}
	return 0;
}

/* What only a recording can answer. */
static int check_text(const struct options *o, struct err *err)
{
	const char *what = o->per ? "--per" : o->interval ? "-I" : NULL;

	if (!what)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: %s is for recordings, text has its sums alone",
		      o->import, what);
	return err_hint(err, "perf stat record -o FILE ..., then --import FILE");
}

int stat_import(struct cli *cli)
{
	struct import im = {
		.cli = cli, .a = &cli->arena, .once = ARENA_INIT, .out = COUNTING_OUT_INIT
	};
	struct err err = ERR_INIT;
	bool recording = false;
	int code = EXIT_ERROR;

	if (check(cli, &err)) {
		code = counting_exit_code(cli, &err);
		goto out;
	}
	if (is_recording(cli->opt.import, &recording, &err))
		goto out;
	if (recording ? captured_machine(&im, &err) || import_recording(&im, &err)
		      : check_text(&cli->opt, &err) || import_text(&im, &err))
		goto out;
	if (!counting_out_commit(&im.out, &err))
		code = EXIT_OK;
out:
	if (code != EXIT_OK)
		code = cli_fail_as(&err, code);
	counting_out_close(&im.out);
	for (size_t i = 0; i < im.n_cores; i++)
		model_free(im.core[i].m);
	arena_free(&im.once);
	return code;
}
