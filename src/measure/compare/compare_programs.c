/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of two programs, with events counted beside them, on a machine that stays as it is.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "collect/sysfs.h"
#include "measure/compare/compare_int.h"

/* ---- the machine's setting ------------------------------------------------------------------- */

/* "performance", or "performance (CPUs 0-3), ..." shortened to the different ones. */
static void put_governors(struct buf *b, const struct machine *m, const char *root)
{
	char seen[8][32];
	size_t n = 0;

	for (size_t i = 0; i < m->cpus_online && n < 8; i++) {
		char text[32];
		size_t k = 0;

		if (sys_read(text, sizeof(text), root,
			     "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor",
			     m->online[i]) <= 0)
			continue;
		while (k < n && strcmp(seen[k], text) != 0)
			k++;
		if (k == n)
			memcpy(seen[n++], text, sizeof(text));
	}
	buf_puts(b, n ? "governor " : "no frequency governor");
	for (size_t k = 0; k < n; k++)
		buf_printf(b, "%s%s", k ? " and " : "", seen[k]);
}

/* Times depend on these: CPU model, kernel, governor, boost, as one line. */
static char *read_setting(struct arena *a, const char *root, struct err *err)
{
	struct buf b = BUF_INIT;
	struct machine m;
	char text[32], *out = NULL;

	if (machine_read_parts(&m, a, root, MACHINE_NAMES | MACHINE_MODEL, err))
		return NULL;
	buf_printf(&b, "%s, Linux %s, ", m.cpu_desc ? m.cpu_desc : "unknown CPU",
		   m.release ? m.release : "?");
	put_governors(&b, &m, root);
	if (sys_read(text, sizeof(text), root, "/sys/devices/system/cpu/cpufreq/boost") > 0)
		buf_printf(&b, ", boost %s", *text == '0' ? "off" : "on");
	if (sys_read(text, sizeof(text), root, "/sys/devices/system/cpu/intel_pstate/no_turbo") > 0)
		buf_printf(&b, ", turbo %s", *text == '0' ? "on" : "off");
	if (!b.failed)
		out = arena_strdup(a, buf_str(&b));
	buf_free(&b);
	if (!out)
		(void)err_nomem(err);
	return out;
}

/* After each run; the one of the other side before it was made under the setting that was. */
int compare_check_setting(struct programs *p, struct err *err)
{
	char *now = read_setting(&p->now, p->opts->side[0]->root, err);

	if (!now)
		return -1;
	if (!strcmp(now, p->found->setting) || p->found->changed)
		return 0;
	p->found->changed = arena_printf(p->c->a, "'%s' became '%s' in run %zu", p->found->setting,
					 now, p->c->run.n + 1);
	if (!p->found->changed)
		return err_nomem(err);
	if (p->opts->anyway)
		return 0;
	(void)err_set(err, ERR_UNSUPPORTED, "the machine changed: %s", p->found->changed);
	return err_hint(err, "runs before and after cannot be compared; fix the setting, or use "
			     "--anyway");
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* --fail-if of something that is not measured would never fail. */
static int check_decide(const struct programs *p, struct err *err)
{
	for (size_t k = 0; k < p->opts->n_decide; k++) {
		const char *name = p->opts->decide[k];
		bool found = false;

		for (size_t i = 0; i < p->c->n_metrics; i++)
			found |= compare_named(&p->c->metric[i], name);
		if (found)
			continue;
		(void)err_set(err, ERR_USAGE, "--fail-if: '%.60s' is not measured", name);
		return err_hint(err, p->opts->record
					     ? "there are time, user, system and function:NAME"
					     : "there are time, user, system and the events of -e, "
					       "or the nodes of -l, --node and -M; with "
					       "--functions function:NAME");
	}
	return 0;
}

int compare_choose(struct programs *p, struct err *err)
{
	struct compare *c = p->c;

	for (size_t i = 0; i < c->n_metrics; i++)
		for (size_t k = 0; k < p->opts->n_decide; k++)
			c->metric[i].decides |= compare_named(&c->metric[i], p->opts->decide[k]);
	return check_decide(p, err);
}

/* Beside user time and wall clock: cycles, or CPU time if they are not counted. */
static void decide_cycles(struct compare *c)
{
	static const char *const names[] = { "cycles", "cycles:u", "cpu-cycles", "task-clock",
					     "task-clock:u" };

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
		for (size_t i = COMPARE_TIMES; i < c->n_metrics; i++)
			if (!strcmp(c->metric[i].name, names[k])) {
				c->metric[i].decides = c->metric[i].main = true;
				return;
			}
}

/* The names of figures end with the run. */
static int name_metrics(struct programs *p, const struct compare_figure *f, size_t n,
			struct err *err)
{
	struct compare *c = p->c;

	if (compare_metrics(c, COMPARE_TIMES + n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct compare_metric *m = &c->metric[COMPARE_TIMES + i];

		m->name = arena_strdup(c->a, f[i].name);
		m->unit = arena_strdup(c->a, f[i].unit);
		if (!m->name || !m->unit)
			return err_nomem(err);
	}
	decide_cycles(c);
	return compare_choose(p, err);
}

static int event_figures(struct programs *p, struct compare_figure **out, size_t *n,
			 struct err *err)
{
	struct counts_row *row;

	if (counting_events_rows(&p->ev, &p->k, &p->now, p->k.result.wall_s, &row, n, err))
		return -1;
	*out = arena_alloc(&p->now, (*n + 1) * sizeof(**out));
	if (!*out)
		return err_nomem(err);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = (struct compare_figure){ row[i].event, row[i].unit, row[i].value,
						     row[i].why ? row[i].why : "not supported" };
	return 0;
}

static int take_figures(struct programs *p, const struct counting *k, struct err *err)
{
	struct compare_one *one = p->one;
	struct compare_figure *f;
	size_t n;

	if (p->tree ? compare_tree_figures(p, &f, &n, err) : event_figures(p, &f, &n, err))
		return -1;
	if (!p->c->n_metrics && name_metrics(p, f, n, err))
		return -1;
	one->value = arena_alloc(p->c->a, p->c->n_metrics * sizeof(*one->value));
	if (!one->value)
		return err_nomem(err);
	one->value[COMPARE_TIME] = k->result.wall_s;
	one->value[COMPARE_USER] = k->result.user_s;
	one->value[COMPARE_SYSTEM] = k->result.sys_s;
	for (size_t i = COMPARE_TIMES; i < p->c->n_metrics; i++) {
		struct compare_metric *m = &p->c->metric[i];
		size_t at = i - COMPARE_TIMES;

		one->value[i] = at < n ? f[at].value : NAN;
		if (at < n && isnan(f[at].value) && !m->why) {
			m->why = arena_strdup(p->c->a, f[at].why);
			if (!m->why)
				return err_nomem(err);
		}
	}
	return 0;
}

int compare_ended(struct programs *p, const char *program, int status, int killed_by,
		  struct err *err)
{
	size_t run = p->c->run.n + 1;

	if (!status || p->opts->may_fail)
		return 0;
	p->found->status = status;
	if (killed_by)
		(void)err_set(err, ERR_USAGE, "run %zu: %s was killed by signal %d (%s)", run,
			      program, killed_by, strsignal(killed_by));
	else
		(void)err_set(err, ERR_USAGE, "run %zu: %s ended with %d", run, program, status);
	return err_hint(err,
			"--show-output shows what it prints; --ignore-failure compares anyway");
}

static int stopped(struct programs *p, const struct counting *k, struct err *err)
{
	if (!k->result.interrupted)
		return compare_ended(p, k->opts->program.v[0], k->result.status,
				     k->result.killed_by, err);
	p->found->interrupted = p->c->interrupted = true;
	return err_set(err, ERR_USAGE, "interrupted in run %zu", p->c->run.n + 1);
}

static int count_one_program(void *ctx, struct compare *c, struct compare_one *one, struct err *err)
{
	struct programs *p = ctx;
	struct counting *k = &p->k;
	enum counting_event what;
	int rc;

	p->c = c;
	p->one = one;
	k->opts = p->opts->side[one->side];
	rc = p->tree ? drill_start(&p->d, k, err) : counting_events_start(&p->ev, k, err);
	p->found->user_only |= k->c && counters_without_kernel(k->c);
	do
		rc = rc || counting_next(k, &what, err) ? -1 : 0;
	while (!rc && what != COUNTING_OVER);
	if (!rc) {
		one->status = k->result.status;
		rc = stopped(p, k, err) || take_figures(p, k, err) || compare_check_setting(p, err)
			     ? -1
			     : 0;
	}
	rc = counting_finish(k, rc, err);
	arena_free(&p->now);
	return rc;
}

/* ---- the whole of it ------------------------------------------------------------------------- */

int compare_programs(struct compare *c, const struct compare_opts *opts,
		     struct compare_found *found, struct err *err)
{
	struct programs p = { .opts = opts, .found = found, .c = c, .now = ARENA_INIT };
	const struct compare_runner runner = {
		.run = opts->record ? compare_sample : count_one_program,
		.series = opts->record ? compare_functions : NULL,
		.ctx = &p,
	};
	int rc = -1;

	*found = (struct compare_found){ 0 };
	p.tree = opts->tree;
	if (counting_open(&p.k, opts->side[0], "count", p.tree ? DRILL_MACHINE : 0, err) ||
	    (p.tree	    ? drill_open(&p.d, &p.k, NULL, 0, err)
	     : opts->record ? 0
			    : counting_events_parse(&p.ev, &p.k, err)))
		goto out;
	found->setting = read_setting(c->a, opts->side[0]->root, err);
	if (!found->setting)
		goto out;
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		p.k.opts = opts->side[i];
		if (counting_warmup(&p.k, err))
			goto out;
	}
	rc = compare_run(c, &runner, err);
out:
	counting_events_free(&p.ev);
	if (p.tree)
		drill_free(&p.d);
	counting_close(&p.k);
	arena_free(&p.now);
	return rc;
}
