/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cyclade annotate [FILE] FUNCTION - see doc/cyclade-annotate.1.md.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fetcher.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/xalloc.h"
#include "cli/derived.h"
#include "cli/recordings/accounting.h"
#include "cli/recordings/result.h"
#include "cli/verdicts.h"
#include "perfdata/memop.h"
#include "report/annotate.h"

/* Shared by all functions of a recording: where its samples fell, and the account. */
struct annotating {
	const struct profile *profile;
	struct profile *own_profile; /* the same, unless others share it */
	struct accounting x;
	bool account;
	size_t event;
	struct annotate_targets all; /* functions of the event */
	struct result_shared own_flow;
	const struct flow *flow;     /* NULL: no branch records, or not asked for */
	const struct memory *memory; /* NULL: the event does not sample memory */
	struct memory *own_memory;   /* the same, unless it is of mem */
	struct blocks blocks;
	const char *no_blocks; /* why there are none; NULL: no reason to show */
};

static void end_shared(void *own)
{
	struct annotating *s = own;

	annotate_targets_free(&s->all);
	blocks_free(&s->blocks);
	result_shared_free(&s->own_flow);
	memory_free(s->own_memory);
	accounting_close(&s->x);
	profile_free(s->own_profile);
	free(s);
}

static void free_annotate_view(void *own)
{
	struct annotate_view *v = own;

	annotate_free(v->a);
	free(v);
}

/* The function is the last operand; a recording may stand before it. */
static int take_operands(struct cli *cli, struct cli_operands *out, struct err *err)
{
	if (!cli->args.n) {
		(void)err_set(err, ERR_USAGE, "annotate needs a function's name");
		return err_hint(err, "cyclade report lists them; then: cyclade annotate NAME");
	}
	out->function = cli->args.v[--cli->args.n];
	if (!cli->args.n && !cli->opt.input && file_is_regular(out->function)) {
		(void)err_set(err, ERR_USAGE, "annotate: which function of %.200s?", out->function);
		return err_hint(
			err,
			"cyclade report %.200s lists them, the hottest first; then: cyclade "
			"annotate %.200s FUNCTION",
			out->function, out->function);
	}
	out->path = cli_input(cli, err);
	if (!out->path)
		return -1;
	if (!cli->args.n)
		return 0;
	(void)err_set(err, ERR_USAGE, "annotate shows one function, but '%.100s' is left over",
		      cli->args.v[0]);
	return err_hint(err, "cyclade annotate [FILE] FUNCTION; quote a name with blanks");
}

/* The event to show: -e's, else the leading one. */
static int choose_annotated(const struct cli *cli, const struct recording *r, size_t *event,
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

static void list_targets(struct result *out, struct cli *cli, const struct annotate_targets *t)
{
	struct cli_choice *c = arena_xalloc(&cli->arena, t->v.n * sizeof(*c));
	char num[NUM_MAX];

	for (size_t i = 0; i < t->v.n; i++) {
		const struct annotate_target *x = &t->v.v[i];

		c[i] = (struct cli_choice){ x->dso, x->name, x->symbol->start, "" };
		(void)snprintf(c[i].weight, sizeof(c[i].weight), "%10s samples",
			       num_exact(num, x->total.samples));
	}
	out->choice = c;
	out->n_choices = t->v.n;
}

/* Notes on the recording rather than on the function. */
static void add_notes(struct annotate *a, struct cli *cli, const struct pd *rec,
		      const struct profile *p, size_t event, bool account)
{
	const char *const *failed = NULL;
	size_t n, others = 0;
	const struct profile_sum *sum = profile_sums(p, &n);
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		others += i != event && sum[i].selected.samples + sum[i].left_out.samples;
	if (others && !cli->opt.event.n && !account)
		annotate_note(a, "%zu other event%s recorded: -e NAME", others,
			      others == 1 ? " was" : "s were");
	if (!pd_precise(rec, &ev[event]))
		annotate_note(a,
			      "%s gives no precise address (%s): a sample may stand on an "
			      "instruction behind the one that took the time",
			      ev[event].name,
			      ev[event].attr.precise_ip ? "no event does on Arm" : "precise_ip 0");
	verdicts_notes(&failed, &n, cli, rec, event);
	if (n)
		annotate_note(a, "%s", failed[0]);
}

/* Executions of blocks, if stacks of any branch were recorded. Without them it is no failure. */
static void count_blocks(struct annotating *s, const struct result_ask *ask)
{
	const struct recording *r = ask->r;
	const struct blocks_opts all = { .function = NULL };
	struct err why = ERR_INIT;
	size_t n, with = 0;
	const struct pd_event *ev = pd_events(r->rec, &n);

	for (size_t i = 0; i < n; i++)
		with += ev[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
			ev[i].attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY;
	if (ask->cli->opt.no_blocks || !with)
		return;
	if (!result_flow(&s->flow, ask, &s->own_flow, &why) &&
	    !blocks_build(&s->blocks, s->flow, r->images, &all, &why))
		return;
	s->no_blocks = arena_xprintf(&ask->cli->arena, "no runs of blocks: %s", why.what);
}

static void add_blocks(struct annotate *a, const struct annotating *s)
{
	if (a->has_code && s->no_blocks)
		annotate_note(a, "%s", s->no_blocks);
	else if (a->has_code && s->flow)
		annotate_blocks(a, &s->blocks);
}

static size_t n_used(const struct accounting *x, size_t n_events)
{
	size_t n = 0;

	for (size_t k = 0; k < x->n_cores; k++)
		for (size_t e = 0; e < n_events; e++)
			n += account_uses(&x->core[k].bound, e);
	return n;
}

/* Opens the account if it is asked for or the recording was made for one; then *on is true. */
static int open_account(const struct result_ask *ask, struct accounting *x, bool *on,
			struct err *err)
{
	const struct recording *r = ask->r;
	struct cli *cli = ask->cli;
	struct err why = ERR_INIT;
	size_t n;

	*on = false;
	(void)pd_events(r->rec, &n);
	if (!cli->opt.account && (!result_has_account(r) || cli->opt.event.n))
		return 0;
	if (accounting_open(x, cli, r->rec, ask->bases, &why)) {
		accounting_close(x);
		if (!cli->opt.account)
			return 0;
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

/* Columns of the account, and the notes of its opening. */
static int add_account(struct annotate *a, struct cli *cli, const struct recording *r,
		       const struct annotating *s, struct err *err)
{
	const struct accounting *x = &s->x;
	const struct accounting_core *core = accounting_most(x);
	struct text_list said = { 0 }, nodes;
	const char *one[2] = { cli->opt.account };

	if (cli->opt.account && *cli->opt.account)
		said = (struct text_list){ one, 1 };
	if (split_events(cli, &said, &nodes, err) ||
	    annotate_account(a, s->profile, r->images, &core->bound, nodes.v, nodes.n, err))
		return -1;
	if (x->n_cores > 1)
		annotate_note(a,
			      "of %s, where most cycles were: of other cores with "
			      "--model",
			      core->pmu);
	for (size_t i = 0; i < x->n_notes; i++)
		annotate_note(a, "%s", x->notes[i]);
	return 0;
}

static int read_annotated(struct annotating *s, const struct result_ask *ask, struct err *err)
{
	struct profile_opts po = { .n_keys = ANNOTATE_KEYS };
	const struct recording *r = ask->r;

	memcpy(po.key, annotate_keys, sizeof(annotate_keys));
	if (choose_annotated(ask->cli, r, &s->event, err) ||
	    recording_select(r, ask->cli, &po, err) || open_account(ask, &s->x, &s->account, err))
		return -1;
	po.mux = s->account ? s->x.mux : NULL;
	if (result_profile(&s->profile, &s->own_profile, ask, &po, err))
		return -1;
	if (s->account)
		accounting_whole(&s->x, ask->cli, r->rec, s->profile);
	if (s->account && !ask->cli->opt.event.n)
		s->event = cycles_event(accounting_most(&s->x));
	cli_progress_end(ask->cli);
	return 0;
}

/* No other event samples memory: the result of mem is of this one. */
static bool tells_alone(const struct pd *rec, size_t event)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (i != event && memop_how(rec, &ev[i]).from != MEMOP_FROM_NOTHING)
			return false;
	return true;
}

/* Latencies, if the event shown has them. */
static int read_memory(struct annotating *s, const struct result_ask *ask, struct err *err)
{
	const struct recording *r = ask->r;
	struct profile_opts po = { 0 };
	struct memory_opts mo;
	size_t n;
	const struct pd_event *ev = pd_events(r->rec, &n);

	if (memop_how(r->rec, &ev[s->event]).from == MEMOP_FROM_NOTHING)
		return 0;
	if (ask->bases && ask->bases->memory.own && tells_alone(r->rec, s->event)) {
		s->memory = ask->bases->memory.own;
		return 0;
	}
	if (ask->bases && ask->bases->event_memory && ask->bases->memory_event == s->event) {
		s->memory = ask->bases->event_memory;
		return 0;
	}
	if (recording_select(r, ask->cli, &po, err))
		return -1;
	mo = (struct memory_opts){ .select = po.select };
	mo.select.event = NULL;
	mo.only = &ev[s->event];
	if (memory_build(&s->own_memory, NULL, r->rec, r->spaces, &mo, err))
		return -1;
	s->memory = s->own_memory;
	return 0;
}

static int share(struct annotating **out, const struct result_ask *ask, struct err *err)
{
	struct annotating *s = ask->shared->own;

	*out = s;
	if (s)
		return 0;
	s = xcalloc(1, sizeof(*s));
	if (read_annotated(s, ask, err) || read_memory(s, ask, err)) {
		end_shared(s);
		return -1;
	}
	annotate_targets(&s->all, s->profile, s->event);
	*ask->shared = (struct result_shared){ .own = s, .end = end_shared };
	*out = s;
	return 0;
}

static int annotate(struct annotate **out, const struct result_ask *ask, struct annotating *s,
		    const struct annotate_target *target, struct err *err)
{
	const struct options *o = &ask->cli->opt;
	const struct recording *r = ask->r;
	size_t n;
	const struct pd_event *event = &pd_events(r->rec, &n)[s->event];
	const struct annotate_opts ao = {
		.no_source = o->no_source,
		.no_asm = o->no_asm,
		.no_arrows = o->no_arrows,
		.bytes = o->bytes,
		.min = o->min / 100,
		.all_rows = s->account,
		.data = memop_how(r->rec, event).from != MEMOP_FROM_NOTHING,
		.places = { .said = o->source.n ? o->source.v : NULL,
			    .sysroot = pd_root(r->rec) ? pd_root(r->rec) : o->sysroot,
			    .debuginfod = cli_debuginfod_dir(ask->cli),
			    .fetch = fetcher_running(),
			    .recorder = pd_info(r->rec)->owner,
			    .elsewhere = !recording_is_of_here(r) },
	};
	struct annotate *a;

	a = *out = annotate_build(s->profile, r->images, s->event, event->name, target, &ao);
	if (s->memory)
		annotate_memory(a, s->memory, r->images);
	if (s->account && add_account(a, ask->cli, r, s, err))
		return -1;
	add_notes(a, ask->cli, r->rec, s->profile, s->event, s->account);
	if (a->has_code && !s->flow && !s->no_blocks)
		count_blocks(s, ask);
	add_blocks(a, s);
	return 0;
}

int annotate_make(struct result *out, const struct result_ask *ask, struct err *err)
{
	struct annotate_view *v = xcalloc(1, sizeof(*v));
	struct annotate_targets found = { VEC_INIT };
	struct annotating *s;
	int ret = -1;

	out->own = v;
	out->end = free_annotate_view;
	v->source = view_source_of(ask->r->rec);
	derived_note(ask->r->derived, &v->source, &ask->cli->arena);
	if (share(&s, ask, err) || annotate_find(&found, &s->all, ask->said.function, err))
		goto out;
	if (found.v.n > 1) {
		list_targets(out, ask->cli, &found);
		ret = 0;
		goto out;
	}
	if (annotate(&v->a, ask, s, &found.v.v[0], err))
		goto out;
	document_open(&out->d, &annotate_document, v);
	annotate_put(&out->d, v);
	ret = 0;
out:
	annotate_targets_free(&found);
	return ret;
}

int cmd_annotate(struct cli *cli)
{
	return result_command(cli, RESULT_ANNOTATE, take_operands);
}
