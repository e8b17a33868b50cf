/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade calibrate [MEASURE...] - see doc/cyclade-calibrate.1.md.
 */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file_out.h"
#include "base/fs.h"
#include "cli/model_choice.h"
#include "cli/verdicts.h"
#include "collect/emulator.h"
#include "collect/machine.h"
#include "collect/prefetch.h"
#include "collect/sysfs.h"
#include "collect/tsc.h"
#include "report/calibrate_tables.h"

static volatile sig_atomic_t stop;

static void stop_calibrating(int number)
{
	(void)number;
	stop = 1;
}

static bool show_calibrate_news(void *ctx, double done)
{
	cli_progress(ctx, done);
	return !stop;
}

/* The CPUs that this process may use; -C chooses among them, the first one runs the kernels. */
static int take_cpus(struct cli *cli, struct calibrate_opts *o, struct err *err)
{
	uint32_t *all = arena_alloc(&cli->arena, CPU_SETSIZE * sizeof(*all));
	const uint32_t *asked = NULL;
	size_t n_asked = 0;
	cpu_set_t set;

	if (!all)
		return err_nomem(err);
	if (sched_getaffinity(0, sizeof(set), &set))
		return err_sys(err, "the CPUs of this process");
	if (cli->opt.cpu &&
	    cpu_list_parse(&cli->arena, cli->opt.cpu, strlen(cli->opt.cpu), &asked, &n_asked))
		return err_set(err, ERR_USAGE, "-C %.60s is no list of CPUs", cli->opt.cpu);
	for (uint32_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set) && (!n_asked || cpu_list_has(asked, n_asked, i)))
			all[o->n_cpus++] = i;
	o->cpus = all;
	if (!o->n_cpus)
		return err_set(err, ERR_USAGE, "this process may use none of the CPUs %.60s",
			       cli->opt.cpu);
	o->cpu = *all;
	return 0;
}

/* Prefetchers off from here on; behind a measurement with them the same once more. */
static int measure_off(struct cli *cli, struct calibrate *c, const struct calibrate_opts *o,
		       const struct machine *m, const struct calibrate_bench *bench,
		       struct err *err)
{
	bool both = !strcmp(cli->opt.prefetchers, "both");
	struct calibrate off = { .n_rows = 0 };
	struct prefetch *p;
	int rc = -1;

	if (both && (calibrate_run(c, &cli->arena, o, bench, err) ||
		     calibrate_join(c, "on", NULL, &cli->arena, err)))
		return -1;
	if (c->stopped)
		return 0;
	if (prefetch_off(&p, &cli->arena, m, &o->cpu, 1, err))
		return -1;
	if (!calibrate_run(&off, &cli->arena, o, bench, err) &&
	    !calibrate_join(&off, "off", NULL, &cli->arena, err)) {
		rc = both ? calibrate_join(c, "on", &off, &cli->arena, err) : 0;
		if (!both)
			*c = off;
	}
	prefetch_restore(p);
	return rc;
}

static int calibrate_machine_here(struct cli *cli, struct calibrate *c,
				  const struct calibrate_opts *o, const struct machine *m,
				  struct err *err)
{
	struct sigaction to = { .sa_handler = stop_calibrating, .sa_flags = (int)SA_RESETHAND },
			 was;
	struct calibrate_bench bench;
	int rc;

	if (calibrate_machine(&bench, o->cpu, err))
		return -1;
	(void)sigaction(SIGINT, &to, &was);
	rc = cli->opt.prefetchers ? measure_off(cli, c, o, m, &bench, err)
				  : calibrate_run(c, &cli->arena, o, &bench, err);
	(void)sigaction(SIGINT, &was, NULL);
	calibrate_close(&bench);
	cli_progress_end(cli);
	return rc;
}

/* Penalties by the model's account; without one by the names that most accounts have. */
static int compare_with_kept(struct cli *cli, struct calibrate_report *r, struct model **m,
			     const struct machine *machine, struct err *err)
{
	struct calibrate_penalty *p;
	struct model_sources texts = cli_model_sources(cli);
	struct err why = ERR_INIT;
	struct account *acc = NULL;

	if (cli_model(cli, machine, NULL, m, &why) ||
	    account_load(&acc, &cli->arena, *m, &texts, &why)) {
		if (cli->opt.model)
			return *err = why, -1;
		r->no_model = arena_strdup(&cli->arena, why.what);
	} else {
		r->model = (*m)->id;
	}
	if (calibrate_penalties(&p, &r->n_penalties, &cli->arena, r->c, acc, tsc_hz(), err))
		return -1;
	r->penalty = p;
	return 0;
}

static int put_penalties(const struct calibrate_report *r, const char *path, enum file_new_how how,
			 struct err *err)
{
	struct buf b = BUF_INIT;
	int rc;

	calibrate_put_penalties(&b, r->c, r->penalty, r->n_penalties);
	rc = buf_error(&b, err);
	if (!rc)
		rc = file_put(path, 0666, how, buf_str(&b), b.len, err);
	buf_free(&b);
	return rc;
}

/* For report and doctor, which shows the day. If they cannot be kept, that is no failure. */
static void keep_penalties(struct cli *cli, const struct calibrate_report *r,
			   const struct machine *m)
{
	struct err err = ERR_INIT;
	struct validate_kept k;
	const char *path;
	char dir[4096];

	if (r->c->stopped || cli->args.n || cli->opt.prefetchers || cli->opt.model)
		return;
	if (r->emulator) {
		cli_note(cli, "penalties are not kept: %s", r->emulator);
		return;
	}
	if (cli_verdicts(cli, m, &k, NULL) && !k.path)
		return;
	if (!k.path)
		cli_note(cli, "penalties are not kept: %s", cli_verdicts_nowhere(m));
	path = k.path ? verdicts_beside(cli, &k, "penalties") : NULL;
	if (!path || snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return;
	*strrchr(dir, '/') = '\0';
	if (dir_make_all(dir, 0777, &err) || put_penalties(r, path, FILE_NEW_OURS, &err))
		cli_note(cli, "penalties are not kept: %s", err.what);
}

int cmd_calibrate(struct cli *cli)
{
	struct calibrate_opts o = { .quick = cli->opt.quick,
				    .news = show_calibrate_news,
				    .news_ctx = cli };
	struct calibrate c = { .n_rows = 0 };
	struct calibrate_report r = { .c = &c, .file = cli->opt.output };
	struct err err = ERR_INIT;
	struct model *model = NULL;
	struct machine machine;
	struct document d;
	struct show show;
	int code = EXIT_ERROR;

	o.only = (const char *const *)cli->args.v;
	o.n_only = cli->args.n;
	cli->opt.output = NULL; /* of the penalties */
	document_open(&d, &calibrate_document, &r);
	if (cli_show(cli, &show, &calibrate_document, &err) || take_cpus(cli, &o, &err) ||
	    machine_read_parts(&machine, &cli->arena, "",
			       MACHINE_MODEL | MACHINE_CACHES | MACHINE_HYPERVISOR | MACHINE_PMUS |
				       MACHINE_NAMES | MACHINE_MEMORY,
			       &err) ||
	    emulator_why(&r.emulator, &cli->arena, machine.hypervisor, &err) ||
	    calibrate_nodes_of(&o, &cli->arena, &machine, &err))
		goto out;
	calibrate_sizes_of(&o.sizes, &machine, o.cpu, "", o.quick);
	r.cpu_desc = machine.cpu_desc;
	r.hypervisor = machine.hypervisor;
	if (calibrate_machine_here(cli, &c, &o, &machine, &err) ||
	    compare_with_kept(cli, &r, &model, &machine, &err) ||
	    (r.file && put_penalties(&r, r.file, FILE_NEW_NAMED, &err)))
		goto out;
	keep_penalties(cli, &r, &machine);
	calibrate_put(&d, &r);
	code = cli_document(cli, &d, &show);
out:
	if (err.code)
		code = cli_fail(&err);
	document_close(&d);
	model_free(model);
	return code;
}
