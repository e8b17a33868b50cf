/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/accounting.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "cli/model_choice.h"

#define PENALTIES_MAX ((size_t)1 << 20)

/* The CPU by the recording's header ("GenuineIntel,6,85,4", or MIDR_EL1). */
static int recorded_cpu(struct model_cpu *cpu, struct arena *a, const struct pd_info *i)
{
	const char *comma = i->cpuid ? strchr(i->cpuid, ',') : NULL;
	char *end;

	*cpu = (struct model_cpu){ .vendor = "unknown" };
	model_cpu_midr(cpu, i->cpuid);
	if (!comma)
		return 0;
	cpu->vendor = arena_strndup(a, i->cpuid, (size_t)(comma - i->cpuid));
	cpu->family = (uint32_t)strtoul(comma + 1, &end, 10);
	if (*end == ',')
		cpu->model = (uint32_t)strtoul(end + 1, &end, 10);
	if (*end == ',')
		cpu->stepping = (uint32_t)strtoul(end + 1, &end, 10);
	return cpu->vendor ? 0 : -1;
}

/* Of a model named by hand, whose CPU need not be the recording's. */
static const char *vendor_of(const struct model *m)
{
	return !strcmp(m->vendor, "amd")   ? "AuthenticAMD"
	       : !strcmp(m->vendor, "arm") ? "ARM"
					   : "GenuineIntel";
}

static int note(struct accounting *x, struct cli *cli, const char *text, struct err *err)
{
	if (x->n_notes == ACCOUNTING_NOTES)
		return 0;
	x->notes[x->n_notes] = arena_strdup(&cli->arena, text);
	return x->notes[x->n_notes++] ? 0 : err_nomem(err);
}

static int read_penalties(struct accounting *x, struct cli *cli, struct err *err)
{
	const char *path = cli->opt.penalties;
	struct buf text = BUF_INIT, said = BUF_INIT;
	int ret;

	if (!path)
		return 0;
	ret = file_slurp(&text, path, PENALTIES_MAX, err);
	if (!ret)
		ret = account_penalties(x->acc, &cli->arena, path, buf_str(&text), text.len, err);
	buf_printf(&said, "penalties of %s go over the model's", path);
	if (!ret)
		ret = note(x, cli, buf_str(&said), err);
	buf_free(&said);
	buf_free(&text);
	return ret;
}

/* The model, its tree, and which event is which; of one kind of cores. */
static int open_as(struct accounting *x, struct cli *cli, const struct pd *rec,
		   struct model_cpu *cpu, struct err *err)
{
	struct model_sources s = cli_model_sources(cli);
	struct account_pmu pmu = { cpu, pd_info(rec) };
	const struct pd_event *ev;
	const char *id;
	size_t n;

	ev = pd_events(rec, &n);
	if (cli->opt.model)
		id = cli->opt.model;
	else if (model_select(&id, &cli->arena, &s, cpu, err))
		return err_hint(err, "name one with --model; cyclade list models shows them");
	if (model_load(&x->model, &s, id, NULL, err) ||
	    account_load(&x->acc, &cli->arena, x->model, &s, err))
		return -1;
	if (cli->opt.model)
		cpu->vendor = vendor_of(x->model);
	return read_penalties(x, cli, err) ||
			       account_bind(&x->bound, &cli->arena, x->acc, ev, n, &pmu, err)
		       ? -1
		       : 0;
}

static void forget(struct accounting *x)
{
	model_free(x->model);
	x->model = NULL;
	x->acc = NULL;
	x->n_notes = 0;
}

/* Of a hybrid's kinds of cores the first whose cycles were recorded. */
static int open_hybrid(struct accounting *x, struct cli *cli, const struct pd *rec,
		       struct model_cpu *cpu, struct err *err)
{
	const struct pd_info *i = pd_info(rec);
	struct err first = ERR_INIT;
	struct buf said = BUF_INIT;
	int ret;

	for (size_t k = 0; k < i->n_hybrid; k++) {
		struct err why = ERR_INIT;

		cpu->pmu = x->pmu = i->hybrid_name[k];
		if (!open_as(x, cli, rec, cpu, &why)) {
			buf_printf(&said,
				   "of %s alone: other kinds of cores have other trees (--model)",
				   x->pmu);
			ret = i->n_hybrid > 1 ? note(x, cli, buf_str(&said), err) : 0;
			buf_free(&said);
			return ret;
		}
		forget(x);
		if (!first.code)
			first = why;
	}
	(void)err_set(err, first.code, "%s", first.what);
	return err_hint(err, "%s", first.hint);
}

int accounting_open(struct accounting *x, struct cli *cli, const struct pd *rec, struct err *err)
{
	const struct pd_info *i = pd_info(rec);
	struct model_cpu cpu;

	*x = (struct accounting){ 0 };
	if (recorded_cpu(&cpu, &cli->arena, i))
		return err_nomem(err);
	if (!i->cpuid && !cli->opt.model) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "the recording does not say which CPU it is of: there is no account");
		return err_hint(err, "name its model with --model; cyclade list models shows them");
	}
	cpu.pmu = "cpu";
	if (i->n_hybrid ? open_hybrid(x, cli, rec, &cpu, err) : open_as(x, cli, rec, &cpu, err))
		return -1;
	return mux_build(&x->mux, rec, 0, err);
}

/* Whole CPUs were recorded, as the command line tells that did it. */
static bool of_whole_cpus(const struct pd_info *i)
{
	for (size_t k = 0; k < i->n_cmdline; k++) {
		const char *s = i->cmdline[k];

		if (!strcmp(s, "--"))
			return false;
		if (!strcmp(s, "-a") || !strcmp(s, "--all-cpus") || !strcmp(s, "--all"))
			return true;
	}
	return false;
}

/* What Intel's CPUs call themselves has the frequency of the time-stamp counter: "... @ 2.67GHz". */
static double nominal_hz(const char *desc)
{
	const char *at = desc ? strrchr(desc, '@') : NULL;
	char *end;
	double v = at ? strtod(at + 1, &end) : 0;

	return at && !strncmp(end, "GHz", 3) && v > 0 && v < 100 ? v * 1e9 : 0;
}

int accounting_whole(struct accounting *x, struct cli *cli, const struct pd *rec,
		     const struct profile *p, struct err *err)
{
	const struct pd_info *i = pd_info(rec);
	struct account_time time = { 0 };
	const struct profile_sum *sum;
	uint64_t first, last;
	struct tally *all;
	size_t n;

	sum = profile_sums(p, &n);
	all = arena_alloc(&cli->arena, (n + 1) * sizeof(*all));
	if (!all)
		return err_nomem(err);
	for (size_t e = 0; e < n; e++)
		all[e] = sum[e].selected;
	if (of_whole_cpus(i) && pd_time_span(rec, &first, &last) && last > first &&
	    !cli->opt.comm && !cli->opt.only_pid.n && !cli->opt.only_tid.n) {
		time.seconds = (double)(last - first) / 1e9;
		time.cpus = i->cpus_online;
		time.reference = nominal_hz(i->cpu_desc);
	}
	return account_whole(&x->bound, &cli->arena, all, &time, err);
}

void accounting_close(struct accounting *x)
{
	mux_free(x->mux);
	model_free(x->model);
	*x = (struct accounting){ 0 };
}
