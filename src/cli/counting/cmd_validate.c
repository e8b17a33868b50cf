/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade validate [EVENT|KERNEL|NODE...] - see doc/cyclade-validate.1.md.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/counting/no_pmu.h"
#include "cli/model_choice.h"
#include "cli/verdicts.h"
#include "collect/prefetch.h"
#include "collect/machine.h"
#include "collect/sysfs.h"
#include "measure/bench.h"
#include "measure/event_more.h"
#include "report/validate_tables.h"

static volatile sig_atomic_t stop;

static void stop_validating(int number)
{
	(void)number;
	stop = 1;
}

struct job {
	struct cli *cli;
	struct validate_opts o;
	struct validate_choice c;
	struct validate_event *event;
	struct machine machine;
	struct model *model;
	struct event_list list;
	struct event_more more;
	struct model_choice choice;
	char no_pmu[256];
	unsigned sibling;
	bool *nodes; /* by metric: asked for; NULL: all */
};

static bool show_validate_news(void *ctx, double done)
{
	cli_progress(((struct job *)ctx)->cli, done);
	return !stop;
}

/* Nodes are tested if not only events or kernels are asked for. */
static bool asks_nodes(struct validate_nodes_opts *o, struct measure_opts *opts, struct job *j)
{
	*opts = (struct measure_opts){ .a = &j->cli->arena, .root = j->c.root, .model = j->choice };
	*o = (struct validate_nodes_opts){ .a = &j->cli->arena,
					   .opts = opts,
					   .m = j->model,
					   .sizes = &j->o.sizes,
					   .self = "/proc/self/exe",
					   .wanted = j->nodes,
					   .quick = j->o.quick,
					   .news = show_validate_news,
					   .ctx = j };
	return j->model && !*j->no_pmu && !j->o.n_kernels && !j->c.n_names;
}

/* Samples are looked at unless other kernels alone are asked for. */
static bool asks_samples(const struct job *j, const char *kernel)
{
	bool asked = !j->o.n_kernels;

	for (size_t i = 0; i < j->o.n_kernels; i++)
		asked |= text_glob(j->o.kernel[i], kernel);
	return asked && !*j->no_pmu;
}

static bool asks_address(struct validate_address_opts *o, struct job *j)
{
	*o = (struct validate_address_opts){ .event = j->event,
					     .n_events = j->o.n_events,
					     .sizes = &j->o.sizes,
					     .news = show_validate_news,
					     .ctx = j };
	return asks_samples(j, "address");
}

static bool asks_skid(struct validate_skid_opts *o, struct job *j)
{
	*o = (struct validate_skid_opts){
		.event = j->event, .n_events = j->o.n_events, .news = show_validate_news, .ctx = j
	};
	return asks_samples(j, "skid");
}

static void plan_validation(void *ctx, size_t events, size_t runs, double seconds)
{
	struct job *j = ctx;
	struct validate_address_opts address;
	struct validate_skid_opts skid;
	struct validate_nodes_opts o;
	struct measure_opts opts;

	if (asks_nodes(&o, &opts, j))
		seconds += validate_nodes_time(&o);
	if (asks_skid(&skid, j))
		seconds += validate_skid_time(&skid);
	if (asks_address(&address, j))
		seconds += validate_address_time(&address);
	cli_note(j->cli, "%zu event%s, %zu kernels and places: about %.0f s", events,
		 events == 1 ? "" : "s", runs, seconds + 1);
}

/* Which of the CPUs that may be used are where, as seen from that of the kernels. */
static int find_others(struct job *j, struct err *err)
{
	uint32_t *list = arena_alloc(&j->cli->arena, CPU_SETSIZE * sizeof(*list));
	cpu_set_t set;
	size_t n = 0;

	if (!list)
		return err_nomem(err);
	if (sched_getaffinity(0, sizeof(set), &set))
		return err_sys(err, "the CPUs of this process");
	for (uint32_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			list[n++] = i;
	validate_others(&j->o, &j->cli->arena, &j->machine, j->c.cpu, list, n);
	return 0;
}

/* The CPU of the kernels, and another thread of its core, of those that may be used. */
static int take_cpus(struct job *j, struct err *err)
{
	const uint32_t *asked = NULL, *list;
	const char *cpus = j->cli->opt.cpu;
	size_t n_asked = 0, n;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return err_sys(err, "the CPUs of this process");
	if (cpus && cpu_list_parse(&j->cli->arena, cpus, strlen(cpus), &asked, &n_asked))
		return err_set(err, ERR_USAGE, "-C %.60s is no list of CPUs", cpus);
	j->c.cpu = j->sibling = VALIDATE_NO_SIBLING;
	for (uint32_t i = CPU_SETSIZE; i-- > 0;)
		if (CPU_ISSET(i, &set) && (!n_asked || cpu_list_has(asked, n_asked, i)))
			j->c.cpu = i;
	if (j->c.cpu == VALIDATE_NO_SIBLING)
		return err_set(err, ERR_USAGE, "this process may use none of the CPUs %.60s", cpus);
	for (size_t k = 0; k < j->machine.n_thread_siblings; k++) {
		const char *text = j->machine.thread_siblings[k];

		if (cpu_list_parse(&j->cli->arena, text, strlen(text), &list, &n) ||
		    !cpu_list_has(list, n, j->c.cpu))
			continue;
		for (size_t i = 0; i < n; i++)
			if (list[i] != j->c.cpu && list[i] < CPU_SETSIZE &&
			    CPU_ISSET(list[i], &set))
				j->sibling = list[i];
	}
	return 0;
}

/* Operands: kernels, nodes of the model; all others are events. */
static int sort_operands(struct job *j, struct err *err)
{
	const struct text_list *args = &j->cli->args;
	const char **kernel = arena_alloc(&j->cli->arena, (args->n + 1) * sizeof(*kernel));
	const char **name = arena_alloc(&j->cli->arena, (args->n + 1) * sizeof(*name));
	bool *needed = NULL;

	if (!kernel || !name)
		return err_nomem(err);
	for (size_t i = 0; i < args->n; i++) {
		const char *s = args->v[i];
		uint32_t node = j->model ? model_metric_named(j->model, s, strlen(s)) : MODEL_NONE;
		bool is_kernel = false;

		for (size_t k = 0; k < n_kernels; k++)
			is_kernel |= text_glob(s, kernels[k].name);
		if (is_kernel && strcmp(s, "*") != 0) {
			kernel[j->o.n_kernels++] = s;
		} else if (node != MODEL_NONE) {
			if (!needed)
				needed = arena_alloc(&j->cli->arena, j->model->n_events + 1);
			if (!needed)
				return err_nomem(err);
			if (!j->nodes)
				j->nodes = arena_alloc(&j->cli->arena, j->model->n_metrics + 1);
			if (!j->nodes)
				return err_nomem(err);
			j->nodes[node] = true;
			if (validate_needs(needed, &j->cli->arena, j->model, node, err))
				return -1;
		} else {
			name[j->c.n_names++] = s;
		}
	}
	j->o.kernel = kernel;
	j->c.name = name;
	j->c.needed = needed;
	return 0;
}

/* A machine without counters still has the kernel's own. */
static int find_events_to_validate(struct job *j, struct validate_report *r, struct err *err)
{
	struct err why = ERR_INIT;

	no_pmu_find(j->cli, j->no_pmu);
	if (*j->no_pmu) {
		j->c.no_pmu = "no PMU here";
		r->no_pmu = j->no_pmu;
	}
	if (cli_model(j->cli, &j->machine, NULL, &j->model, &why)) {
		if (j->cli->opt.model)
			return *err = why, -1;
		r->no_model = arena_strdup(&j->cli->arena, why.what);
	} else {
		r->model = j->model->id;
	}
	j->c.model = j->model;
	j->c.root = j->choice.root;
	j->c.user_only = j->machine.paranoid >= 2 && !j->machine.privileged;
	j->list.more = event_more(&j->more, &j->choice);
	if (sort_operands(j, err) ||
	    validate_events(&j->event, &j->o.n_events, &j->cli->arena, &j->list, &j->c, err))
		return -1;
	j->o.event = j->event;
	return 0;
}

/* Prefetchers off from here on; behind a run with them the same once more. */
static int run_off(struct job *j, struct validate *v, const struct validate_bench *bench,
		   struct err *err)
{
	bool both = !strcmp(j->cli->opt.prefetchers, "both");
	const uint32_t cpus[] = { j->c.cpu, j->sibling };
	struct arena *a = &j->cli->arena;
	struct validate off = { .n_rows = 0 };
	struct prefetch *prefetch = NULL;
	int rc = -1;

	if (both && (validate_run(v, a, &j->o, bench, err) || validate_join(v, "on", NULL, a, err)))
		return -1;
	if (v->stopped)
		return 0;
	cli_progress_end(j->cli);
	if (prefetch_off(&prefetch, a, &j->machine, cpus, j->sibling == VALIDATE_NO_SIBLING ? 1 : 2,
			 err))
		return -1;
	if (!validate_run(&off, a, &j->o, bench, err) &&
	    !validate_join(&off, "off", NULL, a, err)) {
		rc = both ? validate_join(v, "on", &off, a, err) : 0;
		if (!both)
			*v = off;
	}
	prefetch_restore(prefetch);
	return rc;
}

static int measure_events(struct job *j, struct validate *v, struct err *err)
{
	struct validate_bench bench;
	int rc;

	if (validate_machine(&bench, j->event, j->o.n_events, j->c.cpu, j->sibling, err))
		return -1;
	rc = j->cli->opt.prefetchers ? run_off(j, v, &bench, err)
				     : validate_run(v, &j->cli->arena, &j->o, &bench, err);
	validate_close(&bench);
	cli_progress_end(j->cli);
	return rc;
}

/* If an event was tested with and without prefetchers, the row that failed is kept, or the
 * first. */
static bool is_kept(const struct validate *v, size_t i)
{
	const struct validated *x = &v->row[i];

	for (size_t k = 0; k < v->n_rows; k++) {
		const struct validated *y = &v->row[k];

		if (k == i || y->event != x->event)
			continue;
		if (validate_failed(y->verdict) != validate_failed(x->verdict))
			return validate_failed(x->verdict);
		return i < k;
	}
	return true;
}

/* Verdicts of this run, and of earlier ones on events that it did not test. A file of unknown form
 * stays. */
static int keep_verdicts(struct job *j, const struct validate *v, struct validate_report *r,
			 struct err *err)
{
	struct arena *a = &j->cli->arena;
	struct validate_kept k, earlier;
	struct buf b = BUF_INIT;

	if (cli_verdicts(j->cli, &j->machine, &k, err) || !k.path)
		return -1;
	earlier = k;
	k.v = arena_alloc(a, (v->n_rows + earlier.n + 1) * sizeof(*k.v));
	if (!k.v)
		return err_nomem(err);
	k.n = 0;
	for (size_t i = 0; i < v->n_rows; i++) {
		const struct validated *x = &v->row[i];

		if (!is_kept(v, i) || (x->verdict == VALIDATE_UNTESTED &&
				       validate_kept_find(&earlier, x->event->name)))
			continue;
		buf_reset(&b);
		validate_put_text(&b, x);
		k.v[k.n] = (struct validate_verdict_kept){ x->event->name, x->verdict, x->deviation,
							   x->event->used,
							   arena_strdup(a, buf_str(&b)) };
		if (!k.v[k.n++].text || b.failed) {
			buf_free(&b);
			return err_nomem(err);
		}
	}
	buf_free(&b);
	for (size_t i = 0; i < earlier.n; i++)
		if (!validate_kept_find(&k, earlier.v[i].event))
			k.v[k.n++] = earlier.v[i];
	k.when = (uint64_t)time(NULL);
	r->kept = k.path;
	return validate_kept_write(&k, err);
}

static void try_to_keep(struct job *j, const struct validate *v, struct validate_report *r)
{
	struct err err = ERR_INIT;

	bool any = false;

	for (size_t i = 0; i < v->n_rows; i++)
		any |= v->row[i].verdict != VALIDATE_UNTESTED;
	if (v->stopped || j->o.n_kernels || !any)
		return; /* a part of the kernels is no verdict */
	if (keep_verdicts(j, v, r, &err)) {
		r->kept = NULL;
		cli_note(j->cli, "verdicts are not kept: %s",
			 err.code ? err.what : cli_verdicts_nowhere(&j->machine));
	}
}

/* Nodes of the tree, each in the kernel that is built for it. */
static int test_nodes(struct job *j, struct validate_report *r, struct err *err)
{
	struct validate_nodes_opts o;
	struct validate_node *node;
	struct measure_opts opts;

	if (r->v->stopped || !asks_nodes(&o, &opts, j))
		return 0;
	if (validate_nodes(&node, &r->n_nodes, &o, err))
		return -1;
	cli_progress_end(j->cli);
	r->node = node;
	return 0;
}

static int test_samples(struct job *j, struct validate_report *r, struct err *err)
{
	struct validate_skid_opts skid;
	struct validate_address_opts address;
	struct validate_skid *row = NULL;
	struct validate_address *of = NULL;
	int rc = 0;

	if (asks_skid(&skid, j))
		rc = validate_skid(&row, &r->n_skid, &j->cli->arena, &skid, err);
	if (!rc && !stop && asks_address(&address, j))
		rc = validate_address(&of, &r->n_addresses, &j->cli->arena, &address, err);
	r->skid = row;
	r->address = of;
	return rc;
}

/* Pinned, as the kernels were. */
static int test_pinned(struct job *j, struct validate_report *r, struct err *err)
{
	cpu_set_t before;
	int rc;

	if (r->v->stopped || stop || *j->no_pmu)
		return 0;
	if (sched_getaffinity(0, sizeof(before), &before) || bench_pin(j->c.cpu, err))
		return err_sys(err, "the CPUs of this process");
	rc = test_samples(j, r, err);
	(void)sched_setaffinity(0, sizeof(before), &before);
	cli_progress_end(j->cli);
	return rc;
}

/* All of it; Ctrl-C ends it, and keeps the verdicts so far. */
static int test_all(struct job *j, struct validate *v, struct validate_report *r, struct err *err)
{
	struct sigaction to = { .sa_handler = stop_validating, .sa_flags = (int)SA_RESETHAND }, was;
	int rc;

	(void)sigaction(SIGINT, &to, &was);
	rc = measure_events(j, v, err) || test_nodes(j, r, err) || test_pinned(j, r, err) ? -1 : 0;
	(void)sigaction(SIGINT, &was, NULL);
	v->stopped |= stop != 0;
	return rc;
}

/* --spin */
static int spin(struct job *j)
{
	const struct options *o = &j->cli->opt;
	double seconds = o->measure.for_time ? (double)o->measure.for_time / 1e9 : 1;
	struct err err = ERR_INIT;
	const struct kernel *k;
	enum calibrate_at at;

	if (j->cli->args.n)
		(void)err_set(&err, ERR_USAGE, "--spin runs one kernel, and tests nothing");
	if (err.code || validate_kernel_at(&k, &at, o->spin, &err) ||
	    machine_read_parts(&j->machine, &j->cli->arena, j->choice.root, MACHINE_CACHES, &err))
		return cli_fail(&err);
	calibrate_sizes_of(&j->o.sizes, &j->machine, (unsigned)sched_getcpu(), j->choice.root,
			   false);
	return validate_spin(k, at, &j->o.sizes, seconds, &err) ? cli_fail(&err) : EXIT_OK;
}

static int verdict(const struct validate *v)
{
	for (size_t i = 0; i < v->n_rows; i++)
		if (v->row[i].event->used && validate_failed(v->row[i].verdict))
			return EXIT_NO;
	return EXIT_OK;
}

int cmd_validate(struct cli *cli)
{
	struct job j = { .cli = cli,
			 .o = { .quick = cli->opt.quick,
				.plan = plan_validation,
				.news = show_validate_news,
				.ctx = &j },
			 .list = EVENT_LIST_INIT };
	struct validate v = { .n_rows = 0 };
	struct validate_report r = { .v = &v };
	struct err err = ERR_INIT;
	struct document d;
	struct show show;
	int code = EXIT_ERROR;

	j.choice = cli_model_choice(cli);
	if (cli->opt.spin)
		return spin(&j);
	document_open(&d, &validate_document, &r);
	if (cli_show(cli, &show, &validate_document, &err) ||
	    machine_read_parts(&j.machine, &cli->arena, j.choice.root, MACHINE_ALL, &err) ||
	    take_cpus(&j, &err) || find_others(&j, &err))
		goto out;
	calibrate_sizes_of(&j.o.sizes, &j.machine, j.c.cpu, j.choice.root, j.o.quick);
	if (validate_memory(&j.o, &cli->arena, &j.machine, j.c.cpu, &err))
		goto out;
	r.cpu = j.c.cpu;
	r.cpu_desc = j.machine.cpu_desc;
	r.hypervisor = j.machine.hypervisor;
	if (find_events_to_validate(&j, &r, &err) || test_all(&j, &v, &r, &err))
		goto out;
	try_to_keep(&j, &v, &r);
	validate_put(&d, &r);
	code = cli_document(cli, &d, &show);
	if (code == EXIT_OK)
		code = verdict(&v);
out:
	if (err.code)
		code = cli_fail(&err);
	document_close(&d);
	event_more_free(&j.more);
	event_list_free(&j.list);
	model_free(j.model);
	return code;
}
