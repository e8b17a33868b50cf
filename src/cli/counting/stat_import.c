/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat --import: the tree from counts that were taken before, by perf stat or by cyclade, on any
 * machine. Nothing is counted here.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/file_out.h"
#include "cli/counting/stat_import.h"
#include "measure/drill.h"
#include "model/event_same.h"
#include "model/schedule.h"
#include "model/tree_rates.h"
#include "perfdata/perfdata.h"

#define NO_ERRORS "totals alone do not tell"

/* ---- counts of one set ------------------------------------------------------------------ */

struct tree_of {
	const struct import_set *set;
	const struct model *m;
	double *count, *share;
	double system[SYSTEM_COUNT];
	struct tree tree;
	struct tree_counts counts;
	struct import_given given;
	const char *without;  /* corrections that were left out, in words; NULL: none */
	const char *disagree; /* figures that were printed, and are not the tree's; NULL: none */
	struct tree_rates rates;
	size_t other_levels; /* events of other privilege levels than the tree */
	const char *first_other;
	const char *smt; /* how it was found out whether SMT was on; NULL: it was known, or not */
	bool asks_smt;	 /* a node has no value for want of it */
	bool latencies;	 /* the model has a table of them */
};

void import_add_note(struct import_notes *l, const char *text)
{
	if (text && l->n < IMPORT_NOTES)
		l->v[l->n++] = text;
}

/* Whether two names are one event takes reading their codes; intervals ask for the same pairs. */
static bool are_same(struct import_core *c, uint32_t used, uint32_t other)
{
	uint8_t *known = &c->alike[used * c->m->n_events + other];

	if (*known == IMPORT_ASK)
		*known = event_same(c->m, used, other) ? IMPORT_SAME : IMPORT_OTHER;
	return *known == IMPORT_SAME;
}

/* Formulas and perf have several names for one counter. */
static int share_counts(struct import *im, struct tree_of *t, struct err *err)
{
	struct import_core *c = &im->core[t->set->core];
	uint32_t *counted = arena_alloc(&im->once, (t->m->n_events + 1) * sizeof(*counted));
	size_t n = 0, pairs = t->m->n_used * t->m->n_events;

	if (!c->alike) {
		c->alike = arena_alloc(im->a, pairs + 1);
		if (c->alike)
			memset(c->alike, IMPORT_ASK, pairs);
	}
	if (!counted || !c->alike)
		return err_nomem(err);
	for (uint32_t o = 0; o < t->m->n_events; o++)
		if (!isnan(t->count[o]))
			counted[n++] = o;
	for (uint32_t e = 0; e < t->m->n_used; e++)
		for (size_t i = 0; isnan(t->count[e]) && i < n; i++)
			if (are_same(c, e, counted[i])) {
				t->count[e] = t->count[counted[i]];
				t->share[e] = t->share[counted[i]];
			}
	return 0;
}

/* If an event has two names, the one that counted longer is taken. */
static void put_import_count(struct tree_of *t, uint32_t event, const struct counted_event *c,
			     double scale)
{
	if (!isnan(t->share[event]) && !(c->counted > t->share[event]))
		return;
	t->count[event] = c->value * scale;
	t->share[event] = isnan(c->counted) ? 1 : c->counted;
}

static void take_count(struct import *im, struct tree_of *t, size_t i)
{
	const struct counted_event *c = &t->set->sums.event[i];
	struct import_known k = t->set->known[i];
	uint32_t e = k.event;

	if (c->blank)
		return;
	if (k.own != MODEL_NONE)
		put_import_count(t, k.own, c, k.scale);
	if (e == MODEL_NONE) {
		if (!strcmp(c->name, "duration_time"))
			t->system[SYSTEM_DURATION] = c->value / 1e9;
		if (!strcmp(c->name, "msr/tsc/"))
			t->system[SYSTEM_TSC] = c->value;
		return;
	}
	if (k.levels != im->levels && !(t->m->event[e].flags & EVENT_SOFTWARE)) {
		if (k.own == MODEL_NONE && !t->other_levels++)
			t->first_other = c->name;
		return;
	}
	put_import_count(t, e, c, k.scale);
}

static int take_import_counts(struct import *im, struct tree_of *t, struct err *err)
{
	size_t n = t->m->n_events;

	t->count = arena_alloc(&im->once, (n + 1) * sizeof(*t->count));
	t->share = arena_alloc(&im->once, (n + 1) * sizeof(*t->share));
	if (!t->count || !t->share)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++)
		t->count[i] = t->share[i] = NAN;
	for (size_t i = 0; i < t->set->sums.n; i++)
		take_count(im, t, i);
	return share_counts(im, t, err);
}

int import_tree(struct import *im, size_t core, const struct tree_counts *counts, struct tree *out,
		struct err *err)
{
	struct import_core *c = &im->core[core];

	if (!c->maker && tree_maker_new(&c->maker, c->m, NULL, err))
		return -1;
	if (tree_make(out, c->maker, counts, err))
		return -1;
	out->node = arena_memdup(&im->once, out->node, out->n * sizeof(*out->node));
	out->list = arena_memdup(&im->once, out->list, out->n_list * sizeof(*out->list));
	return out->node && out->list ? 0 : err_nomem(err);
}

static int evaluate_import_tree(struct import *im, struct tree_of *t, struct err *err)
{
	static const char *const no_error[] = { NO_ERRORS };
	static const double *const no_cov[] = { NULL };
	size_t n = t->m->n_used;
	uint32_t *member = arena_alloc(&im->once, (n + 1) * sizeof(*member));
	uint32_t *first = arena_alloc(&im->once, 2 * sizeof(*first));
	double *latency = arena_alloc(&im->once, (t->m->n_events + 1) * sizeof(*latency));
	double *unknown = arena_alloc(&im->once, (t->m->n_events + 1) * sizeof(*unknown));

	if (!member || !first || !latency || !unknown)
		return err_nomem(err);
	t->asks_smt = false;
	/* counts have none of their own: the model's table has them */
	for (size_t e = 0; e < t->m->n_events; e++) {
		latency[e] = t->m->event[e].latency;
		t->latencies |= !isnan(latency[e]);
		unknown[e] = NAN;
	}
	for (uint32_t e = 0; e < n; e++)
		if (!isnan(t->count[e]))
			member[first[1]++] = e;
	t->counts = (struct tree_counts){ .count = t->count,
					  .n_lps = 1,
					  .counted = t->share,
					  .member = member,
					  .first = first,
					  .cov = no_cov,
					  .no_error = no_error,
					  .n_groups = 1,
					  .latency = latency,
					  .latency_se = unknown,
					  .system = t->system };
	if (import_tree(im, t->set->core, &t->counts, &t->tree, err) ||
	    import_without_corrections(&t->given, im, t->set->core, &t->tree, &t->counts,
				       &t->without, err) ||
	    import_take_figures(&t->given, &im->once, t->m, &t->set->sums, im->form, err))
		return -1;
	t->counts.given = t->given.value;
	t->counts.given_by = t->given.by;
	if ((t->given.n && import_tree(im, t->set->core, &t->counts, &t->tree, err)) ||
	    tree_doubt_zeros(&t->tree, &im->once, &t->counts, NULL, err) ||
	    import_disagreement(&t->disagree, &im->once, &t->tree, &t->set->sums, err))
		return -1;
	for (size_t i = 0; i < t->m->n_metrics; i++)
		t->asks_smt |= t->tree.node[i].value.why == VALUE_NO_SYSTEM &&
			       t->tree.node[i].value.which == SYSTEM_SMT_ON;
	return 0;
}

/* ---- printing --------------------------------------------------------------------------- */

const char *import_label(struct import *im, const struct import_set *s)
{
	const char *pmu = im->n_cores > 1 ? im->core[s->core].pmu : NULL;

	if (!s->label || !pmu)
		return s->label ? s->label : pmu;
	return arena_printf(&im->once, "%s %s", s->label, pmu);
}

/* IPC and frequency, if their events are among the counts. */
static int find_rates(struct import *im, struct tree_of *t, struct err *err)
{
	struct tree_rate none = { NAN, NAN, NAN, NAN, NULL, NO_ERRORS };
	struct counts_row *row;
	size_t n;

	t->rates = (struct tree_rates){ none, none };
	if (import_rows(&row, &n, im, t->set, false, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *unit = row[i].derived_unit;

		if (unit && !strcmp(unit, "per cycle"))
			t->rates.ipc.value = row[i].derived;
		if (unit && !strcmp(unit, "GHz"))
			t->rates.frequency.value = row[i].derived * 1e9;
	}
	return 0;
}

/* --node and -M: the nodes named, and without -l nothing but these and the nodes above. */
static int find_names(struct import *im, struct err *err)
{
	const struct options *o = &im->cli->opt;
	struct drill d = { .a = im->a, .n_cores = im->n_cores };
	uint32_t *list[DRILL_CORES];
	size_t n[DRILL_CORES];

	if (im->core[0].named || (!o->measure.node.n && !o->measure.metric.n))
		return 0;
	for (size_t c = 0; c < im->n_cores; c++)
		d.core[c].m = im->core[c].m;
	if (drill_names(&d, &im->opts, list, n, err))
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

static int import_view_of(struct import *im, struct tree_of *t, struct tree_view *out,
			  struct err *err)
{
	const struct options *o = &im->cli->opt;
	uint32_t slots = model_metric_find(t->m, "SLOTS", 5);
	struct tree_source src = { .tree = &t->tree,
				   .label = import_label(im, t->set),
				   .rates = &t->rates,
				   .count = t->count,
				   .share = t->share,
				   .named = im->core[t->set->core].named,
				   .wanted = im->core[t->set->core].wanted,
				   .level = (unsigned)o->level,
				   .all = o->verbose || OPTION_GIVEN(o, level),
				   .whole = NAN };

	if (slots != MODEL_NONE && t->tree.node[slots].value.why == VALUE_OK)
		src.whole = t->tree.node[slots].value.v;
	if (o->why && tree_formulas(&src.formula, &im->once, &t->tree, &t->counts, err))
		return -1;
	return tree_view_make(out, &im->once, &src, err);
}

static void set_smt(struct import *im, struct tree_of *t, double on)
{
	t->system[SYSTEM_SMT_ON] = on;
	if (on == 0)
		t->system[SYSTEM_THREADS_PER_CORE] = t->system[SYSTEM_CORE_WIDE] = 1;
	if (on == 1) {
		t->system[SYSTEM_THREADS_PER_CORE] = 2;
		t->system[SYSTEM_CORE_WIDE] = im->system[SYSTEM_CORE_WIDE];
	}
}

static int tree_of_set(struct import *im, struct tree_of *t, const struct import_set *set,
		       struct tree_view *view, struct err *err)
{
	if (find_names(im, err))
		return -1;
	*t = (struct tree_of){ .set = set, .m = im->core[set->core].m };
	memcpy(t->system, im->system, sizeof(t->system));
	if (set->lps)
		plan_times(t->system, set->seconds, set->lps);
	else
		t->system[SYSTEM_DURATION] = set->seconds;
	if (take_import_counts(im, t, err) || find_rates(im, t, err))
		return -1;
	if (isnan(t->system[SYSTEM_SMT_ON])) {
		struct import_smt found;

		if (import_smt(&found, &im->once, t->m, t->count, t->share, err))
			return -1;
		t->smt = found.why;
		set_smt(im, t, found.on);
	}
	return evaluate_import_tree(im, t, err) || import_view_of(im, t, view, err) ? -1 : 0;
}

/* With one tree its rates, too: it has no line of its own. */
static const char *model_line(struct import *im, const struct tree_of *t, size_t n)
{
	const struct model *m = im->core[0].m, *other = im->n_cores > 1 ? im->core[1].m : NULL;
	struct buf rates = BUF_INIT;
	const char *line;

	if (n == 1)
		tree_view_rates(&rates, &t->rates);
	line = arena_printf(&im->once, "counted before; model %s (%s%s%s)%s%s%s%s", m->id, m->title,
			    *m->tma ? ", TMA " : "", m->tma, other ? ", " : "",
			    other ? other->id : "", rates.len ? "; " : "", buf_str(&rates));
	buf_free(&rates);
	return line;
}

int import_report(struct import *im, const struct tree_report *r, struct err *err)
{
	struct document d;
	bool gone;
	int rc;

	document_open(&d, &tree_document, r);
	tree_report_put(&d, r);
	rc = counting_out_document(&im->out, &d, -1, isnan(r->head.time), &gone, err);
	document_close(&d);
	return rc;
}

/* Notes of all trees; if several have the same kind of note, the first is taken. */
static void notes_of_trees(struct import *im, const struct tree_of *t, size_t n,
			   const struct counts *beside, struct import_notes *l)
{
	bool pmem = false, latencies = false, asks_smt = false;

	for (size_t i = 0; i < n; i++) {
		pmem |= import_asks_pmem(t[i].m);
		latencies |= t[i].latencies;
		asks_smt |= t[i].asks_smt;
	}
	if (beside->n)
		import_add_note(l,
				arena_printf(l->a, "%zu count%s not the tree's: %s%s", beside->n,
					     beside->n == 1 ? " is" : "s are", beside->row[0].event,
					     beside->n == 1 ? "" : ", ..."));
	if (t->without)
		import_add_note(l, t->without);
	for (size_t i = 0; i < n; i++)
		if (t[i].disagree) {
			import_add_note(l, t[i].disagree);
			break;
		}
	if (im->levels)
		import_add_note(l, arena_printf(l->a, "the counts are of %s",
						import_levels_text(im->levels)));
	if (t->other_levels)
		import_add_note(l,
				arena_printf(l->a,
					     "left out, of other privilege levels: %zu, %s first; "
					     "--user or --kernel takes them",
					     t->other_levels, t->first_other));
	if (t->smt)
		import_add_note(l, t->smt);
	else if (asks_smt)
		import_add_note(l, "whether SMT was on is not known: --smt on or off");
	if (pmem && im->no_pmem)
		import_add_note(
			l, "persistent memory is assumed to be absent: --pmem on says otherwise");
	if (latencies)
		import_add_note(l, "retire latencies are those of the model's table");
}

struct count_head import_head(const struct import *im, double time, double seconds)
{
	return (struct count_head){ .target = im->cli->opt.import,
				    .time = time,
				    .seconds = seconds,
				    .user_s = NAN,
				    .sys_s = NAN,
				    .status = -1,
				    .runs = 1,
				    .seconds_error = NAN };
}

/* Events and figures that are none of the trees', of all sets. */
static int put_import_beside(struct import *im, struct counts *c, const struct import_set *set,
			     size_t n, struct err *err)
{
	struct counts_row **row = arena_alloc(&im->once, (n + 1) * sizeof(*row)), *rows;
	struct counts_printed **said = arena_alloc(&im->once, (n + 1) * sizeof(*said)), *all;
	size_t *n_rows = arena_alloc(&im->once, 2 * (n + 1) * sizeof(*n_rows)), *n_said;

	if (!row || !said || !n_rows)
		return err_nomem(err);
	n_said = n_rows + n + 1;
	for (size_t i = 0; i < n; i++) {
		if (import_rows(&row[i], &n_rows[i], im, &set[i], true, err) ||
		    import_printed_rows(&said[i], &n_said[i], im, &set[i], im->core[set[i].core].m,
					err))
			return -1;
		c->n += n_rows[i];
		c->n_printed += n_said[i];
	}
	rows = arena_alloc(&im->once, (c->n + 1) * sizeof(*rows));
	all = arena_alloc(&im->once, (c->n_printed + 1) * sizeof(*all));
	if (!rows || !all)
		return err_nomem(err);
	c->row = rows;
	c->printed = all;
	for (size_t i = 0; i < n; i++) {
		memcpy(rows, row[i], n_rows[i] * sizeof(*rows));
		memcpy(all, said[i], n_said[i] * sizeof(*all));
		rows += n_rows[i];
		all += n_said[i];
	}
	return 0;
}

int import_trees(struct import *im, const struct import_set *set, size_t n,
		 const struct count_head *head, struct err *err)
{
	struct tree_view *view = arena_alloc(&im->once, (n + 1) * sizeof(*view));
	struct tree_of *t = arena_alloc(&im->once, (n + 1) * sizeof(*t));
	struct import_notes l = { .a = &im->once };
	struct counts beside = { .head = *head };
	struct tree_report r = { .head = *head, .view = view, .n_views = n, .beside = &beside };

	if (!view || !t)
		return err_nomem(err);
	if (import_levels(im, set, n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (tree_of_set(im, &t[i], &set[i], &view[i], err))
			return -1;
	if (put_import_beside(im, &beside, set, n, err))
		return -1;
	for (size_t i = 0; i < head->n_notes; i++)
		import_add_note(&l, head->notes[i]);
	if (n && isnan(head->time))
		notes_of_trees(im, t, n, &beside, &l);
	r.head.notes = l.v;
	r.head.n_notes = l.n;
	r.cpu = model_line(im, t, n);
	return r.cpu ? import_report(im, &r, err) : err_nomem(err);
}

/* ---- the whole of it -------------------------------------------------------------------- */

/* A recording, and not text. */
static int is_recording(const char *path, bool *yes, struct err *err)
{
	struct file_map m;
	uint8_t head[16];
	struct stat in;
	ssize_t n;

	/* Counts are printed into pipes; a file was given permissions by somebody. */
	if (strcmp(path, "-") != 0)
		file_keep_path(path, FILE_SECRET);
	else if (!fstat(STDIN_FILENO, &in) && S_ISREG(in.st_mode))
		file_keep(&in, FILE_SECRET);
	if (!strcmp(path, "-")) { /* a pipe has text: there is no looking ahead in one */
		n = pread(STDIN_FILENO, head, sizeof(head), 0);
		*yes = n > 0 && pd_begins(head, (size_t)n);
		return 0;
	}
	if (file_map_open(&m, path, err))
		return -1;
	*yes = pd_begins(m.p, m.len);
	file_map_close(&m);
	return 0;
}

/* The machine that counted: all of it from --sysroot, else the facts of options. */
static int captured_machine(struct import *im, struct err *err)
{
	const char *root = im->cli->opt.sysroot;

	im->k.opts = &im->opts;
	im->k.who.cgroup_fd = -1;
	im->k.root = root;
	im->has_machine = root;
	return root ? machine_read(&im->k.machine, im->a, root, err) : 0;
}

static int check_import_options(struct cli *cli, struct err *err)
{
	const struct options *o = &cli->opt;

	if (cli->args.n || o->measure.pid.n || o->measure.tid.n || o->measure.uid ||
	    o->measure.event.n) {
		(void)err_set(err, ERR_USAGE,
			      "--import counts nothing: it takes no program, no task, no event");
		return err_hint(err, "cyclade stat --import FILE --model ID");
	}
	return 0;
}

int stat_import(struct cli *cli)
{
	struct import im = {
		.cli = cli, .a = &cli->arena, .once = ARENA_INIT, .out = COUNTING_OUT_INIT
	};
	struct err err = ERR_INIT;
	bool recording = false;
	int code = EXIT_ERROR;

	if (check_import_options(cli, &err)) {
		code = cli_measuring_code(cli, &err);
		goto out;
	}
	if (is_recording(cli->opt.import, &recording, &err) ||
	    cli_measure_opts(cli, &im.opts, &err) || captured_machine(&im, &err))
		goto out;
	if (recording ? import_recording(&im, &err) : import_printed(&im, &err))
		goto out;
	if (!counting_out_commit(&im.out, &err))
		code = EXIT_OK;
out:
	if (code != EXIT_OK)
		code = cli_fail_as(&err, code);
	counting_out_close(&im.out);
	for (size_t i = 0; i < im.n_cores; i++) {
		tree_maker_free(im.core[i].maker);
		model_free(im.core[i].m);
	}
	arena_free(&im.once);
	return code;
}
