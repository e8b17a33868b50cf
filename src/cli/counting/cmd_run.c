/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - the main job: record a program, or for a while what runs already, show where its time went,
 * name the next commands.
 */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyse/again.h"
#include "analyse/event_cost.h"
#include "analyse/runtimes.h"
#include "base/text.h"
#include "cli/asking.h"
#include "cli/counting/cli_sample.h"
#include "cli/counting/no_pmu.h"
#include "cli/counting/run_repeats.h"
#include "cli/counting_out.h"
#include "cli/recording.h"
#include "cli/model_choice.h"
#include "cli/regions.h"
#include "cli/stat.h"
#include "cli/recordings/finding.h"
#include "report/run.h"
#include "report/wait_view.h"

#define ROWS 12

/* The report of a run, and its sources. */
struct run_summary {
	struct cli *cli;
	const struct sampling_result *res;
	struct sampled_tree *t;
	const char *path;	     /* of the recording; with -r of all of them */
	struct run_repeats *repeats; /* -r; NULL: one run */
	struct counting_out out;
	struct tree_report tree;
	const char *target; /* in words, without a program */
	double cpu_s;	    /* of all threads together; NAN: not known */
	struct recording rec;
	struct profile *profile;
	struct wait *w;
	struct wait_view waits;	 /* of w */
	const char *no_waits;	 /* why there is none */
	struct run_table *table; /* for each event that has samples: of a hybrid each kind of core
				    has one */
	size_t n_tables;
	bool several;	 /* events sample */
	const char *top; /* the hottest function of the event with most of them */
	struct runtime_found found[RUNTIMES_MAX]; /* of that event: code without names */
	size_t n_found;
	struct result findings;
	const struct findings_view *findings_view; /* NULL: none were looked for */
};

struct steps {
	struct next v[12];
	size_t n;
	struct arena *a;
};

/* Frees `command`; it is no step if it cannot be typed. */
static void put_step(struct steps *s, bool typed, struct buf *command, const char *why)
{
	s->v[s->n].command =
		typed && !command->failed ? arena_strdup(s->a, buf_str(command)) : NULL;
	s->v[s->n].why = why;
	s->n += s->v[s->n].command != NULL;
	buf_free(command);
}

/* Adds `cyclade VERB [FILE] [ARGUMENT]`, unless one of them cannot be typed. */
static void add_step(struct steps *s, const char *verb, const char *file, const char *what,
		     const char *why)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	buf_printf(&b, "cyclade %s", verb);
	if (*file) {
		buf_putc(&b, ' ');
		fine &= text_put_word(&b, file);
	}
	if (*what) {
		buf_putc(&b, ' ');
		fine &= text_put_word(&b, what);
	}
	put_step(s, fine, &b, why);
}

static bool put_list(struct buf *b, const char *option, const struct text_list *l)
{
	bool fine = true;

	for (size_t i = 0; i < l->n; i++) {
		buf_printf(b, " %s ", option);
		fine &= text_put_word(b, l->v[i]);
	}
	return fine;
}

/* " -p 1234": false if it cannot be typed. */
static bool put_whom(struct buf *b, const struct measure_opts *o)
{
	const char *uid = o->uid, *cpu = o->cpu;
	const struct text_list user = { .v = &uid, .n = uid != NULL };
	const struct text_list cpus = { .v = &cpu, .n = cpu != NULL };

	if (o->all)
		buf_puts(b, " -a");
	return put_list(b, "-p", &o->pid) && put_list(b, "-t", &o->tid) &&
	       put_list(b, "-u", &user) && put_list(b, "-C", &cpus) &&
	       put_list(b, "-G", &o->cgroup);
}

/* `cyclade VERB -- PROGRAM` of the one that ran, or `cyclade VERB -p PID`. */
static void add_program(struct steps *s, const struct run_summary *o, const char *verb,
			const char *why)
{
	struct buf b = BUF_INIT;

	if (!o->cli->args.n) {
		buf_printf(&b, "cyclade %s", verb);
		put_step(s, put_whom(&b, &o->cli->opt.measure), &b, why);
		return;
	}
	put_step(s, again_put_program(&b, verb, o->cli->args.v, o->cli->args.n), &b, why);
}

/* Of runtimes that made code without names. */
static void add_names(struct steps *s, const struct run_summary *o)
{
	for (size_t i = 0; i < o->n_found; i++) {
		const struct runtime *r = o->found[i].runtime;
		struct buf b = BUF_INIT;

		if (r && *r->options) {
			buf_printf(&b, "run %s", r->options);
			add_program(s, o, buf_str(&b), RUNTIME_AGAIN);
			buf_free(&b);
			return;
		}
		/* what runs already has its environment */
		if (!r || !*r->env || !o->cli->args.n)
			continue;
		buf_printf(&b, "%s ", r->env);
		put_step(s, again_put_program(&b, "run", o->cli->args.v, o->cli->args.n), &b,
			 RUNTIME_AGAIN);
		return;
	}
}

/* For all recordings, beside the steps for the first. */
static void add_steps_of_repeats(struct steps *s, const struct run_summary *o)
{
	add_step(s, "sum", o->path, "", "all functions, of all runs");
	add_step(s, "diff OTHER", o->path, "", "what changed since another `run -r`");
}

/* The function first, then its bottleneck. */
static void find_steps(struct steps *s, const struct run_summary *o, bool waited)
{
	const char *file = o->repeats			     ? o->repeats->file.v[0]
			   : strcmp(o->path, "cyclade.data") ? o->path
							     : "";
	bool chains = o->res->chains;
	unsigned level = sampled_tree_deeper(o->t);

	add_names(s, o);
	if (*o->top && strlen(o->top) < 60)
		add_step(s, "annotate", file, o->top, "which lines, which instructions");
	if (o->tree.n_next)
		s->v[s->n++] = o->tree.next[0];
	if (level) {
		char text[40];

		(void)snprintf(text, sizeof(text), "stat -l %u", level);
		add_program(s, o, text, "all nodes down to there, and nothing else");
	}
	if (o->repeats)
		add_steps_of_repeats(s, o);
	/* switches alone, without a sample, have no callers */
	if (o->repeats ? chains : o->res->samples > 0)
		add_step(s, chains ? "report -g" : "report", file, "",
			 chains ? "who called it" : "all of it, by program and library");
	if (waited) {
		if (o->waits.w)
			add_step(s, "report --wait", file, "", "who waited, and how long");
		add_program(s, o,
			    o->cli->opt.measure.python ? "record --wait --python" : "record --wait",
			    "where it waited, who woke it: report --wait");
	}
	if (!chains && o->res->samples)
		add_program(s, o, "run -g", "who called it");
}

/* Functions to show; 0: all. */
static size_t limit_of(const struct run_summary *o)
{
	const struct options *opt = &o->cli->opt;

	return opt->limit ? opt->limit : o->out.show.format == run_document.face ? ROWS : 0;
}

static int make_run_tables(struct run_summary *o, struct err *err)
{
	size_t n, n_events, limit = limit_of(o);
	const struct profile_sum *sum = profile_sums(o->profile, &n);
	const struct pd_event *event = pd_events(o->rec.rec, &n_events);
	size_t lead = SIZE_MAX;

	o->table = arena_alloc(&o->cli->arena, (n + 1) * sizeof(*o->table));
	if (!o->table)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct run_table *t = &o->table[o->n_tables];

		if (!sum[i].selected.samples && (i || n > 1))
			continue;
		t->event = n == n_events ? event[i].name : NULL;
		if (where_make(&t->where, &o->cli->arena, o->profile, i, limit, err))
			return -1;
		if (lead == SIZE_MAX ||
		    (n == n_events && event_leads(o->rec.rec, &event[i], &event[lead]))) {
			lead = i;
			o->top = t->where.top;
			o->n_found = profile_runtimes(o->profile, i, NULL, 0, o->found);
		}
		o->n_tables++;
	}
	o->several = o->n_tables > 1;
	return 0;
}

#define SWITCHES_MOST 4000000u /* 200 bytes each, for a while */

static uint64_t switches_of(const struct pd *rec)
{
	size_t n;
	const struct pd_type_count *t = pd_type_counts(rec, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t[i].type == PERF_RECORD_SWITCH ? t[i].count : 0;
	return sum;
}

/* Who waited: of a program that only worked, too. If that cannot be known, there is a reason. */
static int look_who(struct run_summary *o, struct err *err)
{
	struct wait_opts wo = { .progress = NULL };
	struct err why = ERR_INIT;

	o->waits.images = o->rec.images;
	if (switches_of(o->rec.rec) > SWITCHES_MOST) {
		o->no_waits = "so many switches take long: cyclade report --wait";
		return 0;
	}
	if (!wait_build(&o->w, o->rec.rec, o->rec.spaces, &wo, &why)) {
		wait_view_order(&o->waits, o->w);
		return 0;
	}
	if (why.code == ERR_NOMEM) {
		*err = why;
		return -1;
	}
	o->no_waits = arena_strdup(&o->cli->arena, why.what);
	return o->no_waits ? 0 : err_nomem(err);
}

static void look_at_findings(struct run_summary *o)
{
	const struct result_ask ask = {
		.cli = o->cli,
		.r = &o->rec,
		.show = &o->out.show,
		.said = { .path = o->path,
			  .input = strcmp(o->path, "cyclade.data") ? o->path : NULL }
	};

	const struct finding_given given = { .wait = o->w };

	o->findings_view = findings_look(&o->findings, NULL, &ask, &given);
}

static int look_where(struct run_summary *o, struct err *err)
{
	struct profile_opts po = { .key = { KEY_SYM, KEY_DSO, KEY_SRCLINE }, .n_keys = 3 };
	const char *root = o->cli->opt.sysroot;
	int rc;

	o->cli->opt.sysroot = NULL; /* the program ran here, whatever machine was looked at */
	rc = recording_open(&o->rec, o->cli, o->path, err);
	o->cli->opt.sysroot = root;
	if (rc || look_who(o, err))
		return -1;
	if (!o->res->samples)
		return 0;
	rc = -1;
	if (!recording_select(&o->rec, o->cli, &po, err) &&
	    !profile_build(&o->profile, o->rec.rec, o->rec.spaces, &po, err))
		rc = make_run_tables(o, err);
	if (!rc && findings_are_cheap(&o->rec))
		look_at_findings(o);
	cli_progress_end(o->cli);
	return rc;
}

static const char *why_no_tree(const struct run_summary *o)
{
	const char *why = sampling_tree(o->t->r)->why;

	return o->tree.n_views	     ? NULL
	       : *why		     ? why
	       : *o->res->no_cycles  ? "there is no cycle counter"
	       : o->cli->opt.no_tree ? "--no-tree"
				     : "nothing was counted";
}

#define UNKNOWN_MOST 20 /* one part in so many of the threads' time */

/* Of a program the kernel knows; else it is what the switches add up to. */
static void find_cpu_time(struct run_summary *o)
{
	uint64_t ran = 0, unknown = 0, life = 0;

	o->cpu_s = o->tree.head.user_s + o->tree.head.sys_s;
	if (o->cli->args.n || !o->waits.w)
		return;
	for (size_t i = 0; i < o->waits.n; i++) {
		const struct wait_thread *t = &o->waits.w->thread[o->waits.order[i]];

		ran += wait_thread_time(t, WAIT_RUNNING);
		unknown += wait_thread_time(t, WAIT_UNKNOWN);
		life += wait_thread_time(t, WAIT_STATES);
	}
	if (unknown <= life / UNKNOWN_MOST)
		o->cpu_s = (double)ran / 1e9;
}

#define NAMELESS_LEAST 0.1 /* of the samples */

/* Functions of stripped files, of the event with most samples. */
static const char *stripped_line(const struct run_summary *o)
{
	const struct profile_sum *sum, *most = NULL;
	size_t n = 0;
	double share;

	sum = o->profile ? profile_sums(o->profile, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (!most || sum[i].selected.samples > most->selected.samples)
			most = &sum[i];
	if (!most || !most->selected.period)
		return NULL;
	share = (double)most->nameless.period / (double)most->selected.period;
	return share < NAMELESS_LEAST
		       ? NULL
		       : arena_printf(
				 &o->cli->arena,
				 "%.0f %% of the samples are in functions of stripped files "
				 "(FILE+0x...)%s; their debug packages name them, or unstripped "
				 "files in a directory: --symbols DIR",
				 100 * share, o->repeats ? " in run 1" : "");
}

/* Lines on code without names; in the cli's arena. */
static void find_no_names(const struct run_summary *o, struct run_report *r, const char **line)
{
	for (size_t i = 0; i < o->n_found; i++) {
		struct buf b = BUF_INIT;

		runtime_put_line(&b, &o->found[i]);
		if (o->repeats)
			buf_puts(&b, " (in run 1)");
		line[r->n_no_names] = b.failed ? NULL : arena_strdup(&o->cli->arena, buf_str(&b));
		r->n_no_names += line[r->n_no_names] != NULL;
		buf_free(&b);
	}
	line[r->n_no_names] = stripped_line(o);
	r->n_no_names += line[r->n_no_names] != NULL;
	r->no_names = line;
}

static int put_document(struct run_summary *o, struct err *err)
{
	const struct sampling_result *res = o->res;
	struct steps steps = { .a = &o->cli->arena };
	const char *no_names[RUNTIMES_MAX + 1];
	struct run_report r;
	bool gone, to_file;
	struct document d;
	int rc;

	find_cpu_time(o);
	r = (struct run_report){
		.tree = &o->tree,
		.no_tree = why_no_tree(o),
		.unwanted = o->cli->opt.no_tree,
		.table = o->table,
		.n_tables = o->n_tables,
		.several = o->several,
		.sampled = res->event,
		.no_cycles = *res->no_cycles ? res->no_cycles : NULL,
		.user_only = res->user_only,
		.file = o->path,
		.files = o->repeats ? o->repeats->file.n : 0,
		.failed = o->repeats ? o->repeats->failed : 0,
		.repeat = o->repeats ? o->repeats->function.v : NULL,
		.n_repeat = o->repeats ? o->repeats->function.n : 0,
		.kept = res->kept,
		.cpu_s = o->cpu_s,
		.samples = res->samples,
		.bytes = res->bytes,
		.lost = res->lost,
		.throttled = res->throttled,
		.ousted = res->ousted,
		.counters = res->counters,
		.waits = o->waits.w ? &o->waits : NULL,
		.no_waits = o->no_waits,
		.findings = o->findings_view,
	};
	find_no_names(o, &r, no_names);
	if (res->kept)
		find_steps(&steps, o, run_waited(&r));
	r.next = steps.v;
	r.n_next = steps.n;
	document_open(&d, &run_document, &r);
	run_report_put(&d, &r);
	rc = counting_out_document(&o->out, &d, -1, true, &gone, err);
	document_close(&d);
	to_file = o->out.staged;
	if (rc || counting_out_commit(&o->out, err))
		return -1;
	/* record -o is the recording: who meant that reads it here */
	if (to_file && res->kept && !o->cli->opt.data_file)
		cli_note(o->cli, "%s is the report, as text; the recording is %s",
			 o->cli->opt.output, o->path);
	return 0;
}

static void fill_head(struct run_summary *o)
{
	const struct sampling_result *res = o->res;
	struct count_head *h = &o->tree.head;
	bool program = o->cli->args.n;

	h->target = o->target;
	h->command = o->cli->args.v;
	h->n_command = o->cli->args.n;
	h->time = h->seconds_error = NAN;
	h->seconds = res->wall_s;
	h->user_s = program ? res->user_s : NAN;
	h->sys_s = program ? res->cpu_s - res->user_s : NAN;
	h->tasks = res->tasks;
	h->runs = 1;
	h->nodes = true; /* its table of runs is of nodes */
	h->status = program ? res->status : -1;
	h->killed_by = res->killed_by;
	h->interrupted = res->interrupted;
	h->early = res->early;
	h->outlived = res->outlived;
}

static void end_look(struct run_summary *o)
{
	result_free(&o->findings);
	wait_view_free(&o->waits);
	wait_free(o->w);
	profile_free(o->profile);
	recording_close(&o->rec);
}

static int report(struct run_summary *o, struct err *err)
{
	int rc = -1;

	if (!sampled_tree_report(o->t, &o->tree, err)) {
		fill_head(o);
		rc = (o->res->kept && look_where(o, err)) || put_document(o, err) ? -1 : 0;
	}
	end_look(o);
	return rc;
}

/* From the program that waits to the recording. */
static int sample(struct sampling *s, struct run_summary *o, struct err *err)
{
	struct buf tree = BUF_INIT;
	int rc = sampling_prepare(s, err);

	if (rc)
		return -1;
	rc = cli_sample(o->cli, s, o->t, err);
	if (!rc)
		sampled_tree_save(o->t, &tree);
	rc = sampling_keep(s, rc, &tree, err);
	buf_free(&tree);
	if (!rc)
		cli_sample_rate_note(o->cli, o->res);
	return rc;
}

static int run_and_report(struct sampling *s, struct run_summary *o, struct err *err)
{
	return sample(s, o, err) || report(o, err) || sampling_after(s, err) ? -1 : 0;
}

/* If there are no cycles, that is printed before anything runs, once for all runs. */
static int open_run(struct sampling **s, struct run_summary *o, const struct measure_opts *opts,
		    const char *path, bool first, struct err *err)
{
	const struct options *cli = &o->cli->opt;

	if (sampling_open(s, opts, path, NULL, err))
		return -1;
	o->t->r = *s;
	o->t->verbose = cli->verbose;
	o->t->why = cli->why;
	o->res = sampling_result(*s);
	o->target = cli->measure.dry_run || o->cli->args.n
			    ? NULL
			    : stat_target(sampling_counting(*s), &o->cli->arena);
	if (*o->res->no_cycles && first && !cli->quiet && !cli->measure.dry_run)
		no_pmu_say(o->res->no_cycles, o->res->hypervisor, "sampling time instead", NULL);
	return 0;
}

static double run_clock(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- several runs (-r) ------------------------------------------------------------------ */

static int look_at_first(struct run_summary *o, struct err *err)
{
	return recording_open(&o->rec, o->cli, o->repeats->file.v[0], err) || look_who(o, err) ? -1
											       : 0;
}

static int report_repeats(struct run_summary *o, struct err *err)
{
	struct run_repeats *r = o->repeats;
	int rc;

	if (run_repeats_tree(r, o->t, &o->tree, err))
		return -1;
	o->res = &r->all;
	fill_head(o);
	tree_repeats_put(&r->tree, r->cut_short, &o->tree.head);
	if (o->res->samples &&
	    run_repeats_where(r, limit_of(o), &o->table, &o->n_tables, &o->top, err))
		return -1;
	o->several = o->n_tables > 1;
	o->n_found = r->n_found;
	memcpy(o->found, r->found, sizeof(o->found));
	rc = (o->res->kept && look_at_first(o, err)) || put_document(o, err) ? -1 : 0;
	end_look(o);
	return rc;
}

/* A line before each further run, for people who wait. */
static void show_progress(const struct run_summary *o, double from)
{
	size_t n = o->repeats->file.n, all = o->repeats->wanted;
	double left = (run_clock() - from) / (double)n * (double)(all - n);

	if (isatty(STDERR_FILENO) && run_clock() - from >= 0.5)
		cli_note(o->cli, "run %zu of %zu, about %.0f s left", n + 1, all, left);
}

/* A run and its results; *more: another one is wanted. */
static int run_once(struct sampling **s, struct run_summary *o, const struct measure_opts *opts,
		    bool *more, struct err *err)
{
	struct run_repeats *r = o->repeats;
	const struct sampling_result *res;
	struct tree_report made = { 0 };
	const char *file = run_repeats_file(r);

	if (!file)
		return err_nomem(err);
	if (open_run(s, o, opts, file, !r->file.n, err) || sample(*s, o, err) ||
	    sampling_after(*s, err))
		return -1;
	res = o->res;
	*more = !res->interrupted && r->file.n + 1 < r->wanted;
	if (!res->interrupted || !r->file.n)
		return run_repeats_add(r, res, o->t, err);
	run_repeats_drop(r, res);
	return sampled_tree_report(o->t, &made, err);
}

static int run_several(struct sampling **s, struct run_summary *o, struct measure_opts *opts,
		       struct err *err)
{
	double from = run_clock();
	bool more;

	for (;;) {
		if (run_once(s, o, opts, &more, err))
			return -1;
		if (!more)
			return report_repeats(o, err);
		sampling_close(*s);
		*s = NULL;
		sampled_tree_free(o->t);
		*o->t = (struct sampled_tree){ .a = ARENA_INIT };
		opts->warmup = 0;
		opts->news = NULL;
		show_progress(o, from);
	}
}

static int run_exit_code(const struct run_summary *o)
{
	const struct sampling_result *res = o->res;

	if (!o->cli->args.n)
		return EXIT_OK;
	/* the program may end well, and yet not all runs were made */
	return o->repeats && res->interrupted && !res->status ? 128 + SIGINT : res->status;
}

static int describe_run(const struct sampling *s, struct run_summary *o, struct err *err)
{
	struct buf b = BUF_INIT;
	bool gone;
	int rc;

	sampling_describe(s, o->cli->opt.verbose, &b);
	rc = counting_out_put(&o->out, &b, &gone, err);
	buf_free(&b);
	return rc ? -1 : counting_out_commit(&o->out, err);
}

static int check_run_usage(const struct cli *cli, struct err *err)
{
	const struct measure_opts *o = &cli->opt.measure;
	bool whom = o->all || o->pid.n || o->tid.n || o->uid || o->cpu || o->cgroup.n;

	if (!cli->args.n && (!whom || cli->opt.regions)) {
		(void)err_set(err, ERR_USAGE, "run%s needs a program%s",
			      cli->opt.regions ? " --regions" : "",
			      cli->opt.regions ? "" : ", a process or the machine");
		return err_hint(err, cli->opt.regions ? "cyclade run --regions -- ./prog args"
						      : "cyclade run -- ./prog args; for a running "
							"process: cyclade run -p PID --for 10s; "
							"for the machine: cyclade run -a");
	}
	if (!cli->args.n && cli->opt.measure.repeat > 1) {
		(void)err_set(err, ERR_USAGE, "-r goes with a program");
		return err_hint(err, "cyclade run -r 5 -- ./prog args");
	}
	if (OPTION_GIVEN(&cli->opt, measure.repeat) && !cli->opt.measure.repeat)
		return err_set(err, ERR_USAGE, "-r 0 would run nothing");
	if (cli->opt.regions && cli->opt.measure.repeat > 1) {
		(void)err_set(err, ERR_USAGE, "--regions counts one run: not with -r");
		return err_hint(err, "cyclade run --regions -- ./prog args");
	}
	return 0;
}

static int measure_program(struct sampling **s, struct run_summary *o, struct err *err)
{
	struct measure_opts opts;

	if (counting_out_open(&o->out, o->cli, &run_document, err) ||
	    cli_measure_opts(o->cli, &opts, err))
		return -1;
	if (o->repeats && !o->cli->opt.measure.dry_run)
		return run_several(s, o, &opts, err);
	if (open_run(s, o, &opts, o->path, true, err))
		return -1;
	return o->cli->opt.measure.dry_run ? describe_run(*s, o, err) : run_and_report(*s, o, err);
}

int cmd_run(struct cli *cli)
{
	const char *path = cli->opt.data_file ? cli->opt.data_file : "cyclade.data";
	struct sampled_tree tree = { .a = ARENA_INIT };
	struct run_repeats repeats = { 0 };
	struct run_summary summary = {
		.cli = cli, .t = &tree, .path = path, .out = COUNTING_OUT_INIT, .top = ""
	};
	struct err err = ERR_INIT;
	struct sampling *s = NULL;
	int code;

	if (cli->opt.json_schema)
		return cli->opt.regions ? regions_schema(cli) : cli_schema(cli, &run_document);
	if (cli_cpu_or_model(cli, &err) || check_run_usage(cli, &err))
		return cli_fail_as(&err, EXIT_TOOL);
	if (cli->opt.regions)
		return regions_run(cli);
	if (cli->opt.measure.repeat > 1) {
		run_repeats_open(&repeats, cli, path, cli->opt.measure.repeat);
		summary.repeats = &repeats;
	}
	if (measure_program(&s, &summary, &err)) {
		code = cli_fail_as(&err, cli_measuring_code(cli, &err));
		if (repeats.file.n)
			cli_warn("the recordings of %zu run%s are kept: cyclade sum %s",
				 repeats.file.n, repeats.file.n == 1 ? "" : "s", path);
	} else {
		code = cli->opt.measure.dry_run ? EXIT_OK : run_exit_code(&summary);
	}
	counting_out_close(&summary.out);
	sampling_close(s);
	run_repeats_close(&repeats);
	sampled_tree_free(&tree);
	return code;
}
