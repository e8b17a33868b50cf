/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade annotate [FILE] FUNCTION - see doc/cyclade-annotate.1.md.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/recording.h"
#include "cli/recordings/accounting.h"
#include "report/annotate.h"

/* The function is the last operand; a recording may stand before it. */
static const char *take_operands(struct cli *cli, const char **path, struct err *err)
{
	const char *function;

	if (!cli->args.n) {
		(void)err_set(err, ERR_USAGE, "annotate needs a function's name");
		(void)err_hint(err, "cyclade report lists them; then: cyclade annotate NAME");
		return NULL;
	}
	function = cli->args.v[--cli->args.n];
	*path = cli_input(cli, err);
	if (!*path)
		return NULL;
	if (cli->args.n) {
		(void)err_set(err, ERR_USAGE,
			      "annotate shows one function, but '%.100s' is left over",
			      cli->args.v[0]);
		(void)err_hint(err, "cyclade annotate [FILE] FUNCTION; quote a name with blanks");
		return NULL;
	}
	return function;
}

/* The event to show: -e's, else the one with most samples. */
static int choose_event(const struct cli *cli, const struct recording *r, size_t *event,
			struct err *err)
{
	size_t n;
	const struct pd_event *ev = pd_events(r->rec, &n);
	const char *wanted = cli->opt.event.n ? cli->opt.event.v[0] : NULL;

	*event = recording_event(r, wanted, NULL);
	if (*event != SIZE_MAX)
		return 0;
	if (!wanted)
		return err_set(err, ERR_FORMAT, "the recording names no event");
	(void)err_set(err, ERR_NOT_FOUND, "no event '%.100s' in this recording", wanted);
	return err_hint(err, "it has %.200s%s; cyclade info lists all", n ? ev[0].name : "none",
			n > 1 ? " and more" : "");
}

static int list_choices(struct cli *cli, const struct annotate_targets *t, const char *said)
{
	struct cli_choice *c = arena_alloc(&cli->arena, t->v.n * sizeof(*c));
	char num[NUM_MAX];

	for (size_t i = 0; c && i < t->v.n; i++) {
		const struct annotate_target *x = &t->v.v[i];

		c[i] = (struct cli_choice){ x->dso, x->name, x->symbol->start, "" };
		(void)snprintf(c[i].weight, sizeof(c[i].weight), "%10s samples",
			       num_exact(num, x->total.samples));
	}
	return cli_choices(cli, said, c, t->v.n);
}

/* Notes on what was recorded rather than on what was found. */
static int add_notes(struct annotate *a, const struct cli *cli, const struct pd *rec,
		     const struct profile *p, size_t event, bool account)
{
	size_t n, others = 0;
	const struct profile_sum *sum = profile_sums(p, &n);
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		others += i != event && sum[i].selected.samples + sum[i].left_out.samples;
	if (others && !cli->opt.event.n && !account &&
	    annotate_note(a, "%zu other event%s recorded: -e NAME", others,
			  others == 1 ? " was" : "s were"))
		return -1;
	if (!pd_precise(rec, &ev[event]) &&
	    annotate_note(a,
			  "%s gives no precise address (%s): a sample may stand on an "
			  "instruction behind the one that took the time",
			  ev[event].name,
			  ev[event].attr.precise_ip ? "no event does on Arm" : "precise_ip 0"))
		return -1;
	return 0;
}

/* How often blocks ran, where stacks of any branch tell. That it cannot be told is no failure. */
static int count_blocks(struct cli *cli, struct recording *r, struct annotate *a,
			struct flow **flow, struct blocks *blocks, struct err *err)
{
	struct flow_opts fo;
	const struct blocks_opts all = { .function = NULL };
	struct err why = ERR_INIT;
	size_t n, with = 0;
	const struct pd_event *ev = pd_events(r->rec, &n);

	for (size_t i = 0; i < n; i++)
		with += ev[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
			ev[i].attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY;
	if (cli->opt.no_blocks || !with || !a->has_code)
		return 0;
	if (recording_flow(r, cli, &fo, err))
		return -1;
	fo.progress = NULL; /* it has ended */
	if (flow_build(flow, r->rec, r->spaces, &fo, &why) ||
	    blocks_weigh(flow, r->images, r->rec, r->spaces, &fo, &why) ||
	    blocks_build(blocks, *flow, r->images, &all, &why)) {
		if (why.code == ERR_NOMEM || annotate_note(a, "no runs of blocks: %s", why.what))
			return err_nomem(err);
		return 0;
	}
	return annotate_blocks(a, blocks, err);
}

#define ACCOUNT_EVENTS \
	4 /* of the tree, that a recording has which is shown by its account unasked */

static size_t n_used(const struct accounting *x, size_t n_events)
{
	size_t n = 0;

	for (size_t k = 0; k < x->n_cores; k++)
		for (size_t e = 0; e < n_events; e++)
			n += account_uses(&x->core[k].bound, e);
	return n;
}

/* The account, where it is asked for or the recording was made for one; *on says so. */
static int open_account(struct cli *cli, struct recording *r, struct accounting *x, bool *on,
			struct err *err)
{
	struct err why = ERR_INIT;
	size_t n;

	*on = false;
	(void)pd_events(r->rec, &n);
	if (!cli->opt.account && (n < ACCOUNT_EVENTS || cli->opt.event.n))
		return 0;
	if (accounting_open(x, cli, r->rec, &why)) {
		accounting_close(x);
		if (!cli->opt.account)
			return why.code == ERR_NOMEM ? err_nomem(err) : 0;
		*err = why;
		return -1;
	}
	*on = cli->opt.account || n_used(x, n) >= ACCOUNT_EVENTS;
	return 0;
}

static size_t cycles_event(const struct accounting_core *c)
{
	return (size_t)c->bound.event[c->acc->node[0].event];
}

/* Columns of the account, and what was said of how it was opened. */
static int add_account(struct cli *cli, struct recording *r, const struct accounting *x,
		       const struct profile *p, struct annotate *a, struct err *err)
{
	const struct accounting_core *core = accounting_most(x);
	struct text_list said = { 0 }, nodes;
	const char *one[2] = { cli->opt.account };

	if (cli->opt.account && *cli->opt.account)
		said = (struct text_list){ one, 1 };
	if (split_events(cli, &said, &nodes, err) ||
	    annotate_account(a, p, r->images, &core->bound, nodes.v, nodes.n, err))
		return -1;
	if (x->n_cores > 1 && annotate_note(a,
					    "of %s, where most cycles were: of other cores with "
					    "--model",
					    core->pmu))
		return err_nomem(err);
	for (size_t i = 0; i < x->n_notes; i++)
		if (annotate_note(a, "%s", x->notes[i]))
			return err_nomem(err);
	return 0;
}

/* -1: *err says why; else an exit code. */
static int annotate(struct cli *cli, struct recording *r, const char *function,
		    const struct show *show, struct err *err)
{
	struct profile_opts po = { .n_keys = ANNOTATE_KEYS };
	struct annotate_opts ao = {
		.no_source = cli->opt.no_source,
		.no_asm = cli->opt.no_asm,
		.no_arrows = cli->opt.no_arrows,
		.bytes = cli->opt.bytes,
		.min = cli->opt.min / 100,
		.places = { .said = cli->opt.source.n ? cli->opt.source.v : NULL,
			    .sysroot = cli->opt.sysroot,
			    .debuginfod = cli_debuginfod_dir(cli) },
	};
	struct annotate_targets found = { VEC_INIT };
	struct profile *p = NULL;
	struct annotate_view v = { .source = view_source_of(r->rec) };
	struct annotate *a = NULL;
	struct document d;
	struct flow *flow = NULL;
	struct blocks blocks = { .n = 0 };
	struct accounting x = { 0 };
	bool account;
	size_t event, n;
	int rc = -1;

	document_open(&d, &annotate_document, &v);
	memcpy(po.key, annotate_keys, sizeof(annotate_keys));
	if (choose_event(cli, r, &event, err) || recording_select(r, cli, &po, err) ||
	    open_account(cli, r, &x, &account, err))
		goto out;
	if (account) {
		po.mux = x.mux;
		ao.all_rows = true;
	}
	if (profile_build(&p, r->rec, r->spaces, &po, err) ||
	    (account && accounting_whole(&x, cli, r->rec, p, err)))
		goto out;
	if (account && !cli->opt.event.n)
		event = cycles_event(accounting_most(&x));
	cli_progress_end(cli);
	if (annotate_find(&found, p, event, function, err))
		goto out;
	if (found.v.n > 1) {
		rc = list_choices(cli, &found, function);
		goto out;
	}
	if (annotate_build(&a, p, r->images, event, pd_events(r->rec, &n)[event].name,
			   &found.v.v[0], &ao, err))
		goto out;
	if (account && add_account(cli, r, &x, p, a, err))
		goto out;
	if (add_notes(a, cli, r->rec, p, event, account)) {
		(void)err_nomem(err);
		goto out;
	}
	if (count_blocks(cli, r, a, &flow, &blocks, err))
		goto out;
	v.a = a;
	annotate_put(&d, &v);
	rc = cli_document(cli, &d, show);
out:
	document_close(&d);
	annotate_free(a);
	blocks_free(&blocks);
	flow_free(flow);
	annotate_targets_free(&found);
	accounting_close(&x);
	profile_free(p);
	return rc;
}

int cmd_annotate(struct cli *cli)
{
	struct err err = ERR_INIT;
	struct recording r = { 0 };
	struct show show;
	const char *path = NULL;
	const char *function = take_operands(cli, &path, &err);
	int rc = -1;

	if (function && !cli_show(cli, &show, &annotate_document, &err) &&
	    !recording_open(&r, cli, path, &err)) {
		rc = annotate(cli, &r, function, &show, &err);
		recording_close(&r);
	}
	return rc < 0 ? cli_fail(&err) : rc;
}
