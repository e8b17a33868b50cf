/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that are sampled, one after the other into the same file. The caller keeps its content.
 */
#include <math.h>
#include <signal.h>

#include "measure/compare/compare_int.h"
#include "measure/sampling.h"

static int take_sampled_run(struct programs *p, const struct sampling_result *res, struct err *err)
{
	struct compare_one *one = p->one;
	struct compare *c = p->c;

	one->status = res->status;
	p->found->user_only |= res->user_only;
	if (res->interrupted) {
		p->found->interrupted = c->interrupted = true;
		return err_set(err, ERR_USAGE, "interrupted in run %zu", c->run.n + 1);
	}
	if (compare_ended(p, p->k.opts->program.v[0], res->status, res->killed_by, err) ||
	    (!c->n_metrics && compare_metrics(c, COMPARE_TIMES, err)))
		return -1;
	one->value = arena_alloc(c->a, c->n_metrics * sizeof(*one->value));
	if (!one->value)
		return err_nomem(err);
	for (size_t i = COMPARE_TIMES; i < c->n_metrics; i++)
		one->value[i] = NAN;
	one->value[COMPARE_TIME] = res->wall_s;
	one->value[COMPARE_USER] = res->user_s;
	one->value[COMPARE_SYSTEM] = res->cpu_s - res->user_s;
	return p->opts->sampled(p->opts->ctx, err);
}

int compare_sample(void *ctx, struct compare *c, struct compare_one *one, struct err *err)
{
	struct programs *p = ctx;
	struct measure_opts opts = *p->opts->side[one->side];
	struct sampling *r = NULL;
	enum counting_event what;
	sigset_t blocked;
	int rc = -1;

	p->c = c;
	p->one = one;
	p->k.opts = p->opts->side[one->side];
	opts.warmup = 0; /* each program had its own */
	/* the program has the mask that sampling finds: not that of the counting around it */
	(void)sigprocmask(SIG_SETMASK, &p->k.old_mask, &blocked);
	if (!sampling_open(&r, &opts, p->opts->record, NULL, err) && !sampling_prepare(r, err)) {
		do
			rc = sampling_next(r, &what, err);
		while (!rc && what != COUNTING_OVER);
		rc = sampling_keep(r, rc, NULL, err) ||
				     take_sampled_run(p, sampling_result(r), err) ||
				     compare_check_setting(p, err)
			     ? -1
			     : 0;
	}
	sampling_close(r);
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
	arena_free(&p->now);
	return rc;
}

int compare_functions(void *ctx, struct compare *c, struct err *err)
{
	struct programs *p = ctx;

	return p->opts->functions(p->opts->ctx, c, err) || compare_choose(p, err) ? -1 : 0;
}
