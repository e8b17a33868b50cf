/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/recordings/accounting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/again.h"
#include "base/bytes.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "cli/model_choice.h"
#include "cli/penalties.h"
#include "cli/recordings/result.h"
#include "cli/verdicts.h"
#include "collect/sysfs.h"
#include "collect/tsc.h"

/* Returns the vendor of a model named by hand, whose CPU need not be the recording's. */
static const char *vendor_of(const struct model *m)
{
	return !strcmp(m->vendor, "amd")   ? "AuthenticAMD"
	       : !strcmp(m->vendor, "arm") ? "ARM"
					   : "GenuineIntel";
}

static void add_note(struct accounting *x, const char *text)
{
	if (x->n_notes < ACCOUNTING_NOTES)
		x->notes[x->n_notes++] = text;
}

/* Takes all lines of a kept file, or none. */
static int take_penalties(struct accounting *x, struct cli *cli, struct penalties *p,
			  struct err *err)
{
	struct account *acc[ACCOUNTING_CORES];
	struct account_node *before[ACCOUNTING_CORES];
	struct err why = ERR_INIT;

	for (size_t k = 0; k < x->n_cores; k++) {
		acc[k] = x->core[k].acc;
		before[k] =
			arena_xmemdup(&cli->arena, acc[k]->node, acc[k]->n * sizeof(*acc[k]->node));
	}
	if (!account_penalties(acc, x->n_cores, &cli->arena, p->path, buf_str(&p->text),
			       p->text.len, &why))
		return 0;
	if (!p->kept)
		return *err = why, -1;
	for (size_t k = 0; k < x->n_cores; k++)
		acc[k]->node = before[k];
	penalties_leave_out(p, cli, &why);
	return 0;
}

static int read_penalties(struct accounting *x, struct cli *cli, const struct pd_info *i,
			  struct err *err)
{
	struct penalties p;
	int ret = penalties_read(&p, cli, i, err);

	if (!ret && p.path)
		ret = take_penalties(x, cli, &p, err);
	if (!ret && p.says)
		add_note(x, arena_xprintf(&cli->arena, "%s go over the model's%s", p.says,
					  p.kept ? "; --penalties none: the model's alone" : ""));
	penalties_free(&p);
	return ret;
}

static int model_of(const char **id, struct cli *cli, const struct model_cpu *cpu, struct err *err)
{
	struct model_sources s = cli_model_sources(cli);

	if (!model_select(id, &cli->arena, &s, cpu, err))
		return 0;
	return err_hint(err, "name one with --model; cyclade list models shows them");
}

/* The model, its tree, and which event is which; of one kind of cores. */
static int open_core(struct accounting_core *c, struct cli *cli, const struct pd *rec,
		     struct model_cpu *cpu, struct err *err)
{
	struct model_sources s = cli_model_sources(cli);
	struct account_pmu pmu = { cpu, pd_info(rec) };
	const char *id = cli->opt.model;
	const struct pd_event *ev;
	size_t n;

	ev = pd_events(rec, &n);
	if ((id ? model_named(&id, &cli->arena, &s, id, cpu->pmu, err)
		: model_of(&id, cli, cpu, err)) ||
	    model_load(&c->model, &s, id, NULL, err) ||
	    account_load(&c->acc, &cli->arena, c->model, &s, err))
		return -1;
	if (cli->opt.model)
		cpu->vendor = vendor_of(c->model);
	if (!account_bind(&c->bound, &cli->arena, c->acc, ev, n, &pmu, err))
		return 0;
	return err->code == ERR_NOT_FOUND /* events, and not memory */
		       ? again_hint(err, pd_info(rec), "record them:", "--account")
		       : -1;
}

static void drop_core(struct accounting *x, size_t k)
{
	model_free(x->core[k].model);
	x->n_cores--;
	memmove(&x->core[k], &x->core[k + 1], (x->n_cores - k) * sizeof(x->core[0]));
}

/* --model names the model of this kind of cores. */
static bool is_named(struct cli *cli, struct model_cpu *cpu, const char *pmu)
{
	struct model_sources s = cli_model_sources(cli);
	struct err none = ERR_INIT;
	const char *id, *named;

	cpu->pmu = pmu;
	return cli->opt.model && !model_select(&id, &cli->arena, &s, cpu, &none) &&
	       !model_named(&named, &cli->arena, &s, cli->opt.model, pmu, &none) &&
	       !strcmp(id, named);
}

/* One more kind of cores; that it has no account is noted. */
static int add_core(struct accounting *x, struct cli *cli, const struct pd *rec,
		    struct model_cpu *cpu, size_t kind, struct err *first, struct err *err)
{
	struct accounting_core *c = &x->core[x->n_cores++];
	const char *list = pd_info(rec)->hybrid_cpus[kind];
	struct err why = ERR_INIT;
	const uint32_t *cpus;
	size_t n;

	*c = (struct accounting_core){ .pmu = pd_info(rec)->hybrid_name[kind] };
	cpu->pmu = c->pmu;
	if (!cpu_list_parse(&cli->arena, list, strlen(list), &cpus, &n))
		c->cpus = (unsigned)n;
	if (!open_core(c, cli, rec, cpu, &why))
		return 0;
	drop_core(x, x->n_cores - 1);
	if (why.code == ERR_USAGE) {
		*err = why;
		return -1;
	}
	if (!first->code)
		*first = why;
	add_note(x, arena_xprintf(&cli->arena, "no account of %s: %s", cpu->pmu, why.what));
	return 0;
}

/* The large cores first. Of --model that of its kind, else the first kind that has the cycles. */
static int open_hybrid(struct accounting *x, struct cli *cli, const struct pd *rec,
		       struct model_cpu *cpu, struct err *err)
{
	const struct pd_info *i = pd_info(rec);
	struct err first = ERR_INIT;
	bool named = false;

	for (size_t k = 0; k < i->n_hybrid; k++)
		named |= is_named(cli, cpu, i->hybrid_name[k]);
	for (int large = 1; large >= 0; large--)
		for (size_t k = 0; k < i->n_hybrid && x->n_cores < ACCOUNTING_CORES; k++) {
			if ((strcmp(i->hybrid_name[k], "cpu_core") == 0) != large ||
			    (named && !is_named(cli, cpu, i->hybrid_name[k])))
				continue;
			if (cli->opt.model && x->n_cores)
				break;
			if (add_core(x, cli, rec, cpu, k, &first, err))
				return -1;
		}
	if (x->n_cores)
		return 0;
	(void)err_set(err, first.code, "%s", first.what);
	return err_hint(err, "%s", first.hint);
}

int accounting_open(struct accounting *x, struct cli *cli, const struct pd *rec,
		    struct result_bases *bases, struct err *err)
{
	const struct pd_info *i = pd_info(rec);
	struct model_cpu cpu = { .vendor = "unknown", .pmu = "cpu" };
	struct mux **mux;

	*x = (struct accounting){ 0 };
	if (model_cpu_id(&cpu, &cli->arena, i->cpuid))
		return err_nomem(err);
	if (!i->cpuid && !cli->opt.model) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "the recording does not say which CPU it is of: there is no account");
		return err_hint(err, "name its model with --model; cyclade list models shows them");
	}
	if (i->n_hybrid) {
		if (open_hybrid(x, cli, rec, &cpu, err))
			return -1;
	} else {
		x->n_cores = 1;
		if (open_core(&x->core[0], cli, rec, &cpu, err))
			return -1;
	}
	for (size_t k = 0; k < x->n_cores; k++)
		x->core[k].bound.wrong = verdicts_wrong(cli, i, x->core[k].model);
	if (read_penalties(x, cli, i, err))
		return -1;
	mux = bases ? &bases->mux : &x->own_mux;
	if (!*mux && mux_build(mux, rec, 0, err))
		return -1;
	x->mux = *mux;
	return 0;
}

/* Whole CPUs were recorded, by the recorder's command line. */
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

/* A kind of cores without samples has no tree, if another has. */
static void drop_idle(struct accounting *x, struct cli *cli)
{
	for (size_t k = x->n_cores; k-- > 0 && x->n_cores > 1;) {
		if (x->core[k].bound.whole[0].samples)
			continue;
		add_note(x, arena_xprintf(&cli->arena, "nothing was sampled on the cores of %s",
					  x->core[k].pmu));
		drop_core(x, k);
	}
}

/* A task's counters run while it does, in user space and the kernel alike: cycles in each ns of
 * it. */
static double ghz_of_tasks(const struct accounting *x, const struct accounting_core *c,
			   const struct pd *rec, const struct profile_sum *sum)
{
	size_t e = (size_t)c->bound.event[c->acc->node[0].event], n;
	const struct perf_event_attr *attr = &pd_events(rec, &n)[e].attr;
	const struct mux_event *m = mux_events(x->mux, &n);

	if (mux_by_cpu(x->mux) || !m[e].told || attr->exclude_user || attr->exclude_kernel)
		return 0;
	return (double)(sum[e].selected.period + sum[e].left_out.period) / m[e].enabled;
}

/* As the recording's topology has it, of CPUs that were online. Not known: false. */
static bool one_thread_a_core(const struct pd_info *i)
{
	for (size_t k = 0; k < i->n_thread_siblings; k++)
		if (strpbrk(i->thread_siblings[k], ",-"))
			return false;
	return i->n_thread_siblings > 0;
}

/* By recorded event. Notes the one that stood still longest. */
static const double *made_up(struct accounting *x, struct cli *cli, const struct pd_event *ev)
{
	size_t n, most = 0;
	const struct mux_event *m = mux_events(x->mux, &n);
	double *share = arena_xalloc(&cli->arena, (n + 1) * sizeof(*share));

	for (size_t e = 0; e < n; e++) {
		share[e] = m[e].running > 0 ? m[e].paused / m[e].running : 0;
		if (share[e] > share[most])
			most = e;
	}
	if (n && share[most] > 0.0005)
		add_note(x, arena_xprintf(&cli->arena,
					  "throttled: %s stood still for %.1f %% of its time on a "
					  "counter. The "
					  "rest of its time makes up for it, error bars say by how "
					  "much; longer "
					  "periods avoid it",
					  ev[most].name, 100 * share[most]));
	return share;
}

/* The greatest correction of an event for the time without a counter. */
static double turns_of(const struct accounting *x)
{
	size_t n;
	const struct mux_event *m = mux_events(x->mux, &n);
	double most = 0;

	for (size_t e = 0; e < n; e++)
		if (m[e].told && m[e].mean > most)
			most = m[e].mean;
	return most;
}

/* Events whose counters seem to be dead, in all formats. */
static void note_dead(struct accounting *x, struct cli *cli, const struct accounting_core *c,
		      const struct pd_event *ev, size_t n)
{
	char cycles[NUM_MAX];
	struct buf b = BUF_INIT;

	for (size_t e = 0; e < n; e++)
		if (c->bound.dead[e])
			buf_printf(&b, "%s%s", b.len ? ", " : "", ev[e].name);
	if (b.len)
		add_note(x, arena_xprintf(&cli->arena,
					  "no sample of %s in %s cycles, though any program has "
					  "some: the counter "
					  "may not work here, and what needs it is doubtful (?)",
					  buf_str(&b), num_count(cycles, c->bound.whole[0].v)));
	buf_free(&b);
}

static void note_nominal(struct accounting *x, struct cli *cli, double hz)
{
	bool any = false;

	for (size_t k = 0; k < x->n_cores; k++)
		any |= x->core[k].bound.nominal;
	if (any)
		add_note(x, arena_xprintf(&cli->arena,
					  "costs in nanoseconds are by the nominal frequency, %.2f "
					  "GHz: nothing in "
					  "the recording tells how fast cores ran",
					  hz / 1e9));
}

void accounting_whole(struct accounting *x, struct cli *cli, const struct pd *rec,
		      const struct profile *p)
{
	const struct pd_info *i = pd_info(rec);
	struct account_time time = { 0 };
	double hz = pd_tsc_hz(rec);
	const struct profile_sum *sum;
	uint64_t first, last;
	struct tally *all;
	size_t n;

	sum = profile_sums(p, &n);
	all = arena_xalloc(&cli->arena, (n + 1) * sizeof(*all));
	for (size_t e = 0; e < n; e++)
		all[e] = sum[e].selected;
	if (of_whole_cpus(i) && pd_time_span(rec, &first, &last) && last > first &&
	    selection_all(&profile_options(p)->select)) {
		time.seconds = (double)(last - first) / 1e9;
	}
	if (!(hz > 0))
		hz = tsc_hz_of_name(i->cpu_desc);
	time.reference = hz > 0 ? hz : 0;
	/* of x86 the time-stamp counter runs at the nominal frequency */
	if (i->arch && !strncmp(i->arch, "x86", 3))
		time.nominal = time.reference;
	time.one_thread = one_thread_a_core(i);
	time.turns = turns_of(x);
	time.made_up = made_up(x, cli, pd_events(rec, &n));
	for (size_t k = 0; k < x->n_cores; k++) {
		struct accounting_core *c = &x->core[k];

		time.cpus = c->cpus ? c->cpus : i->cpus_online;
		time.ghz = ghz_of_tasks(x, c, rec, sum);
		account_whole(&c->bound, &cli->arena, all, &time);
		note_dead(x, cli, c, pd_events(rec, &n), n);
	}
	note_nominal(x, cli, hz);
	drop_idle(x, cli);
}

const struct accounting_core *accounting_most(const struct accounting *x)
{
	const struct accounting_core *most = &x->core[0];

	for (size_t k = 1; k < x->n_cores; k++)
		if (x->core[k].bound.whole[0].v > most->bound.whole[0].v)
			most = &x->core[k];
	return most;
}

void accounting_close(struct accounting *x)
{
	mux_free(x->own_mux);
	for (size_t k = 0; k < x->n_cores; k++)
		model_free(x->core[k].model);
	*x = (struct accounting){ 0 };
}
