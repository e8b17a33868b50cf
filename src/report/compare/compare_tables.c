/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs compared: the verdict, a row for each figure, and for programs each run.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "report/compare.h"

static const char *const side_names[] = { "base", "new" };
static const char *const verdict_names[] = {
	[COMPARE_UNKNOWN] = "unknown",	 [COMPARE_FEW] = "too few pairs",
	[COMPARE_NOISE] = "noise",	 [COMPARE_UNCONFIRMED] = "not confirmed",
	[COMPARE_DOUBTFUL] = "doubtful", [COMPARE_LESS] = "less",
	[COMPARE_MORE] = "more",
};

TABLE_CTX_AS(report_of, struct compare_report)
TABLE_ROW_AS(metric_of, struct compare_metric)

static bool is_time(const struct compare_metric *m)
{
	return !strcmp(m->name, "time") || !strcmp(m->name, "user") || !strcmp(m->name, "system");
}

bool compare_breaks(const struct limit *l, const struct compare_metric *m)
{
	const struct compare_effect *e = &m->effect;

	return limit_broken(l, e->change, e->verdict == COMPARE_MORE || e->verdict == COMPARE_LESS);
}

/* Too few pairs keep no limit. */
static bool is_undecided(const struct compare_metric *m)
{
	return !m || m->effect.verdict == COMPARE_FEW || m->effect.verdict == COMPARE_UNKNOWN;
}

static bool is_change(const struct compare_metric *m)
{
	return m->effect.verdict == COMPARE_MORE || m->effect.verdict == COMPARE_LESS;
}

/* How good a main figure is as a headline: verdicts come first, that on the wall clock before all
 * others; then the obstacles to a verdict. */
static int rank_of(const struct compare_metric *m, const struct compare *c)
{
	switch (m->effect.verdict) {
	case COMPARE_MORE:
	case COMPARE_LESS:
		return m == &c->metric[COMPARE_TIME] ? 0 : 1;
	case COMPARE_DOUBTFUL:
		return 2;
	case COMPARE_UNCONFIRMED:
		return 3;
	case COMPARE_NOISE:
		return 4;
	default:
		return 5;
	}
}

/* Returns the best-supported statement: of one rank the smallest chance, of noise the smallest
 * change that would have been found. */
static const struct compare_metric *lead_of(const struct compare *c)
{
	const struct compare_metric *lead = &c->metric[COMPARE_TIME];

	for (size_t i = 0; i < c->n_metrics; i++) {
		const struct compare_metric *m = &c->metric[i];
		int rank = rank_of(m, c), best = rank_of(lead, c);

		if (!m->main || rank > best || rank == 5)
			continue;
		if (rank < best || (rank == 4 ? m->effect.least < lead->effect.least
					      : m->effect.chance < lead->effect.chance))
			lead = m;
	}
	return lead;
}

/* ---- summary --------------------------------------------------------------------------------- */

TABLE_GET(command)
{
	const struct text_list *l = &report_of(t)->command[c->which];

	out->list = l->v;
	out->n_list = l->n;
}

TABLE_CELL(verdict, out->text = verdict_names[lead_of(report_of(t)->c)->effect.verdict])
TABLE_CELL(verdict_of, out->text = lead_of(report_of(t)->c)->name)
TABLE_CELL(tool_status, out->n = 0)

#define CTX(...) TABLE_CTX(struct compare_report, __VA_ARGS__)
static const struct table_column summary_columns[] = {
	COLUMN("base", "base", T_LIST, 0, "the first program", .get = command, .which = 0),
	COLUMN("new", "new", T_LIST, 0, "the second program", .get = command, .which = 1),
	COLUMN("verdict", "verdict", T_TEXT, 0,
	       "on the figure that verdict_of names, as in `effects`", .get = verdict),
	COLUMN("verdict_of", "figure", T_TEXT, 0, "the best-supported one of time, user, cycles",
	       .get = verdict_of),
	COLUMN("interrupted", "interrupted", T_FLAG, 0, "only complete pairs before it are here",
	       CTX(c, interrupted)),
	COLUMN("pairs", "pairs", T_COUNT, 0, "runs of each program in a series (-r)",
	       CTX(c, pairs)),
	COLUMN("series", "series", T_COUNT, 0, "2: the first found a hint of a change",
	       CTX(c, n_series)),
	COLUMN("warmup", "warmup", T_COUNT, 0, "runs of each program before, not measured",
	       CTX(warmup)),
	COLUMN("seed", "seed", T_ID, 0, "of the order of the runs (--seed)", CTX(c, seed)),
	COLUMN("setting", "setting", T_TEXT, 0, "of the machine: CPU, kernel, governor",
	       CTX(found, setting)),
	COLUMN("changed", "changed", T_TEXT, 0, "how the setting changed meanwhile (--anyway)",
	       CTX(found, changed)),
	COLUMN("tool_status", "status", T_COUNT, 0, "0: measuring succeeded", .get = tool_status),
};
static const struct table_form summary_form = { "summary", NULL,
						TABLE_ONE | TABLE_HEAD | TABLE_DATA,
						TABLE_COLUMNS(summary_columns) };

/* ---- effects --------------------------------------------------------------------------------- */

static void put_figure(struct table_cell *out, double v, const char *unit)
{
	char n[NUM_MAX];

	if (isnan(v))
		return;
	if (!strcmp(unit, "s"))
		cell_printf(out, "%s", num_seconds(n, v));
	else if (!strcmp(unit, "share"))
		cell_printf(out, "%s", num_percent(n, v));
	else if (!strcmp(unit, "ns"))
		cell_printf(out, "%s", num_seconds(n, v / 1e9));
	else
		cell_printf(out, "%s%s%s", num_count(n, v), *unit ? " " : "", unit);
}

TABLE_GET(shown_base)
{
	out->kind = T_TEXT;
	put_figure(out, metric_of(r)->effect.base, metric_of(r)->unit);
}

TABLE_GET(shown_new)
{
	out->kind = T_TEXT;
	put_figure(out, metric_of(r)->effect.fresh, metric_of(r)->unit);
}

/* Decimals that the error leaves of use. */
static int decimals(double half)
{
	return half >= 0.1 ? 0 : half >= 0.0005 || isnan(half) ? 1 : 2;
}

static double half_of(const struct compare_effect *e)
{
	return (e->high - e->low) / 2;
}

TABLE_GET(shown_change)
{
	const struct compare_effect *e = &metric_of(r)->effect;

	out->kind = T_TEXT;
	if (e->change == 0 && half_of(e) == 0)
		out->text = "0 %";
	else if (!isnan(e->change))
		cell_printf(out, "%+.*f %%", decimals(half_of(e)), 100 * e->change);
}

TABLE_GET(shown_error)
{
	const struct compare_effect *e = &metric_of(r)->effect;

	if (!isnan(half_of(e)) && half_of(e) > 0)
		cell_printf(out, "+-%.*f", decimals(half_of(e)), 100 * half_of(e));
}

TABLE_GET(shown_verdict)
{
	const struct compare_metric *m = metric_of(r);
	enum compare_verdict v = m->effect.verdict;

	out->text = v == COMPARE_MORE && is_time(m)	    ? "slower"
		    : v == COMPARE_LESS && is_time(m)	    ? "faster"
		    : v == COMPARE_UNKNOWN && m->effect.why ? m->effect.why
							    : verdict_names[v];
	if (v == COMPARE_MORE || v == COMPARE_LESS)
		cell_printf(out, "%s  <==", out->text);
	else if (v == COMPARE_UNCONFIRMED && !isnan(m->effect.chance_needed))
		cell_printf(out, "not confirmed: chance 1 in %.0f, it takes 1 in %.0f",
			    1 / m->effect.chance, 1 / m->effect.chance_needed);
}

TABLE_GET(change)
{
	const struct compare_effect *e = &metric_of(r)->effect;

	out->e.v = e->change;
	out->e.half = half_of(e);
	if (isnan(e->change))
		out->e.why = e->why ? e->why : "not measured";
	else if (isnan(e->low))
		out->e.why = "an interval takes 6 pairs";
}

TABLE_CELL(series_change, out->e.v = metric_of(r)->effect.series[c->which])

#define OF(member) TABLE_FIELD(struct compare_metric, member)
static const struct table_column effect_columns[] = {
	COLUMN("metric", "", T_TEXT, C_KEY | C_FLEX,
	       "time, user, system, an event, a node or function:NAME", OF(name)),
	COLUMN("unit", "unit", T_TEXT, C_DATA,
	       "of base and new: s, ns, share (of the slots), ...; empty: a number", OF(unit)),
	COLUMN("shown_base", "base", T_REAL, C_PEOPLE, "", .get = shown_base),
	COLUMN("shown_new", "new", T_REAL, C_PEOPLE, "", .get = shown_new),
	COLUMN("shown_change", "change", T_REAL, C_PEOPLE, "", .get = shown_change),
	COLUMN("shown_error", "+-", T_TEXT, C_PEOPLE | C_SPARSE, "", .get = shown_error),
	COLUMN("shown_verdict", "", T_TEXT, C_PEOPLE | C_FLEX | C_CUT, "", .get = shown_verdict),
	COLUMN("base", "base", T_REAL, C_DATA, "median of the first program's runs",
	       OF(effect.base)),
	COLUMN("new", "new", T_REAL, C_DATA, "median of the second program's runs",
	       OF(effect.fresh)),
	COLUMN("change", "change", T_REAL, C_DATA | C_ERROR | C_WHY,
	       "of the new one against the base, as a fraction; estimated from pairs of runs",
	       .get = change),
	COLUMN("change_low", "low", T_REAL, C_DATA, "lower end of its 95 % interval",
	       OF(effect.low)),
	COLUMN("change_high", "high", T_REAL, C_DATA, "upper end of its 95 % interval",
	       OF(effect.high)),
	COLUMN("verdict", "verdict", T_TEXT, C_DATA,
	       "more, less, noise, not confirmed, doubtful, too few pairs or unknown",
	       OF(effect.verdict), TABLE_NAMES(verdict_names)),
	COLUMN("chance", "chance", T_REAL, C_DATA,
	       "of such a difference of all pairs without a change, not corrected",
	       OF(effect.chance)),
	COLUMN("chance_needed", "needed", T_REAL, C_DATA,
	       "below it is a verdict, corrected for the figures of the family (Holm)",
	       OF(effect.chance_needed)),
	COLUMN("pairs", "pairs", T_COUNT, C_DATA, "in which both have a figure", OF(effect.pairs)),
	COLUMN("change_first", "first", T_REAL, C_DATA, "change in the first series",
	       .get = series_change, .which = 0),
	COLUMN("change_second", "second", T_REAL, C_DATA, "change in the second series",
	       .get = series_change, .which = 1),
	COLUMN("control", "control", T_REAL, C_DATA,
	       "null control: change of each program against itself", OF(effect.control)),
	COLUMN("control_low", "low", T_REAL, C_DATA, "lower end of its 95 % interval",
	       OF(effect.control_low)),
	COLUMN("control_high", "high", T_REAL, C_DATA, "upper end of its 95 % interval",
	       OF(effect.control_high)),
	COLUMN("found", "found", T_REAL, C_DATA, "the change that 9 of 10 such comparisons find",
	       OF(effect.least)),
	COLUMN("pairs_wanted", "wanted", T_COUNT, C_DATA | C_0_IS_NONE,
	       "pairs with which 9 of 10 comparisons find the change of --effect",
	       OF(effect.wanted)),
};
#undef OF
static const struct table_form effects_form = { "effects", NULL, TABLE_MAIN,
						TABLE_COLUMNS(effect_columns), .rest = "figure" };

/* ---- limits ---------------------------------------------------------------------------------- */

#define OF(member) TABLE_FIELD(struct compare_limit, member)
static const struct table_column limit_columns[] = {
	COLUMN("limit", "limit", T_TEXT, C_KEY, "as --fail-if has it", OF(limit.text)),
	COLUMN("metric", "metric", T_TEXT, 0, "that it is for", OF(limit.name)),
	COLUMN("broken", "broken", T_FLAG, 0, "there is a verdict, and the change is beyond it",
	       OF(broken)),
};
#undef OF
static const struct table_form limits_form = { "limits", NULL, TABLE_DATA,
					       TABLE_COLUMNS(limit_columns), .rest = "limit" };

/* ---- runs and their figures ------------------------------------------------------------------ */

TABLE_ROW_AS(one_of, struct compare_one)

TABLE_CELL(run_number, out->n = r->i + 1)
TABLE_CELL(run_series, out->n = one_of(r)->series + 1u)
TABLE_CELL(run_pair, out->n = one_of(r)->pair + 1u)
TABLE_CELL(run_time, out->e.v = one_of(r)->value[c->which])

#define OF_ONE(...) TABLE_FIELD(struct compare_one, __VA_ARGS__)
static const struct table_column run_columns[] = {
	COLUMN("run", "run", T_ID, C_KEY, "in the order in which they ran", .get = run_number),
	COLUMN("series", "series", T_ID, 0, "1 or 2", .get = run_series),
	COLUMN("pair", "pair", T_ID, 0, "of the series", .get = run_pair),
	COLUMN("side", "side", T_TEXT, 0, "base or new", OF_ONE(side), TABLE_NAMES(side_names)),
	COLUMN("seconds", "time", T_SECONDS, 0, "wall time", .get = run_time,
	       .which = COMPARE_TIME),
	COLUMN("user_seconds", "user", T_SECONDS, 0, "CPU time in user space", .get = run_time,
	       .which = COMPARE_USER),
	COLUMN("system_seconds", "system", T_SECONDS, 0, "CPU time in the kernel", .get = run_time,
	       .which = COMPARE_SYSTEM),
	COLUMN("workload_status", "exit", T_SIGNED, 0, "exit code of the program", OF_ONE(status)),
};
static const struct table_form runs_form = { "runs", NULL, TABLE_DATA, TABLE_COLUMNS(run_columns),
					     .rest = "run" };

/* at[0]: the run, at[1]: the metric; events alone, `runs` has the times. */
static bool next_repeat(const struct table *t, struct table_row *r)
{
	const struct compare *c = report_of(t)->c;
	bool first = !r->p;

	r->at[1] = first ? COMPARE_TIMES : r->at[1] + 1;
	if (!first && r->at[1] >= c->n_metrics) {
		r->at[0]++;
		r->at[1] = COMPARE_TIMES;
	}
	if (r->at[0] >= c->run.n || r->at[1] >= c->n_metrics)
		return false;
	r->p = &c->run.v[r->at[0]];
	return true;
}

TABLE_CELL(repeat_run, out->n = r->at[0] + 1)
TABLE_CELL(repeat_metric, out->text = report_of(t)->c->metric[r->at[1]].name)
TABLE_CELL(repeat_unit, out->text = report_of(t)->c->metric[r->at[1]].unit)
TABLE_CELL(repeat_value, out->e.v = one_of(r)->value[r->at[1]])

static const struct table_column repeat_columns[] = {
	COLUMN("run", "run", T_ID, C_KEY, "as in `runs`", .get = repeat_run),
	COLUMN("metric", "metric", T_TEXT, C_KEY, "an event", .get = repeat_metric),
	COLUMN("value", "value", T_REAL, 0, "its count in this run", .get = repeat_value),
	COLUMN("unit", "unit", T_TEXT, 0, "of the value; empty: a number", .get = repeat_unit),
};
static const struct table_form repeats_form = { "repeats",   NULL,
						TABLE_DATA,  TABLE_COLUMNS(repeat_columns),
						next_repeat, "count" };

/* ---- losses ---------------------------------------------------------------------------------- */

static const struct table_column losses_columns[] = {
	COLUMN("runs", "runs", T_COUNT, 0, "that were measured", CTX(c, run.n)),
	COLUMN("failed", "failed", T_COUNT, C_LOSS, "runs did not end with 0", CTX(c, failed)),
	COLUMN("not_counted", "not counted", T_COUNT, 0, "figures that no run has",
	       CTX(not_counted)),
};
static const struct table_form losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
					       TABLE_COLUMNS(losses_columns) };

/* ---- for people ------------------------------------------------------------------------------ */

static const struct table_form *const forms[] = { &summary_form, &effects_form, &limits_form,
						  &runs_form,	 &repeats_form, &losses_form };
const struct document_form compare_document = {
	.name = "compare", .version = 1, .table = forms, .n_tables = sizeof(forms) / sizeof(*forms)
};

/* "./prog -x"; the two may differ in their arguments only. */
static const char *put_command(struct arena *a, const struct text_list *l)
{
	struct buf b = BUF_INIT;
	const char *out;

	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b, "%s%s", i ? " " : "", l->v[i]);
	out = b.failed ? NULL : arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return out ? out : "";
}

static const char *people_name(const struct compare_metric *m)
{
	return !strcmp(m->name, "time")	  ? "wall clock"
	       : !strcmp(m->name, "user") ? "user time"
					  : m->name;
}

/* "user time +6.2 % (+-0.6)" */
static void put_change(struct buf *b, const struct compare_metric *m)
{
	const struct compare_effect *e = &m->effect;
	double half = half_of(e);
	int n = decimals(half);

	buf_printf(b, "%s %+.*f %% (+-%.*f)", people_name(m), n, 100 * e->change, n, 100 * half);
}

/* The other main figures beside the lead; the wall clock is never left out. */
static void put_others(struct buf *b, const struct compare *c, const struct compare_metric *lead)
{
	for (size_t i = 0; i < c->n_metrics; i++) {
		const struct compare_metric *m = &c->metric[i];
		const struct compare_effect *e = &m->effect;

		if (m == lead || !m->main || isnan(e->change) || isnan(e->low) ||
		    (m != &c->metric[COMPARE_TIME] && !is_change(m)))
			continue;
		buf_puts(b, "; ");
		put_change(b, m);
		if (!is_change(m))
			buf_puts(b, e->least > fabs(lead->effect.change) ? ": too noisy to tell"
				    : e->verdict == COMPARE_DOUBTFUL	 ? ": doubtful"
				    : e->verdict == COMPARE_UNCONFIRMED	 ? ": not confirmed"
									 : ": no change found");
	}
}

static void put_verdict(struct document *d, const struct compare_report *r)
{
	const struct compare_metric *lead = lead_of(r->c);
	const struct compare_effect *e = &lead->effect;
	bool wall = lead == &r->c->metric[COMPARE_TIME];
	int n = decimals(half_of(e));
	enum ink ink = INK_BOLD;
	struct buf b = BUF_INIT;

	switch (e->verdict) {
	case COMPARE_MORE:
	case COMPARE_LESS:
		ink = e->verdict == COMPARE_MORE ? INK_BAD : INK_GOOD;
		if (wall)
			buf_printf(&b, "new is %.*f %% %s than base (+-%.*f)", n,
				   100 * fabs(e->change), e->change > 0 ? "slower" : "faster", n,
				   100 * half_of(e));
		else
			put_change(&b, lead);
		put_others(&b, r->c, lead);
		break;
	case COMPARE_NOISE:
		buf_puts(&b, "no change found: ");
		put_change(&b, lead);
		put_others(&b, r->c, lead);
		break;
	case COMPARE_UNCONFIRMED:
		buf_puts(&b, "no verdict: ");
		put_change(&b, lead);
		buf_printf(&b, ": chance 1 in %.0f, a verdict takes 1 in %.0f", 1 / e->chance,
			   1 / e->chance_needed);
		put_others(&b, r->c, lead);
		break;
	case COMPARE_DOUBTFUL:
		buf_printf(&b, "no verdict on %s: programs differ from themselves by %+.1f %%",
			   people_name(lead), 100 * e->control);
		break;
	case COMPARE_FEW:
	case COMPARE_UNKNOWN:
		buf_printf(&b, "no verdict: %zu pairs are too few, an interval takes %u", e->pairs,
			   PAIRED_LEAST);
		break;
	}
	document_title(d, ink, "%s", buf_str(&b));
	d->failed |= b.failed;
	buf_free(&b);
}

static void put_facts(struct document *d, const struct compare_report *r)
{
	const struct compare_metric *lead = lead_of(r->c);
	const struct compare_effect *e = &lead->effect;
	size_t family = compare_family(r->c, lead);

	if (!isnan(e->control_low))
		document_fact(d, "null control", e->verdict == COMPARE_DOUBTFUL,
			      "each program against itself: %s %+.1f %% (%+.1f to %+.1f), "
			      "%zu pairs",
			      people_name(lead), 100 * e->control, 100 * e->control_low,
			      100 * e->control_high, e->control_pairs);
	if (family && !isnan(e->low))
		document_fact(
			d, "corrected", false,
			"for %zu figures that decide together (Holm): a verdict takes a chance "
			"below 1 in %.0f",
			family, 1 / e->chance_needed);
	if (r->c->interrupted)
		document_fact(d, "interrupted", true,
			      "after %zu complete pairs; the pair that was cut is left out",
			      r->c->run.n / 2);
	document_fact(d, "runs", false,
		      "%s%u pairs in random order (--seed %llu), after %llu of each to warm up",
		      r->c->n_series > 1 ? "two series of " : "", r->c->pairs,
		      (unsigned long long)r->c->seed, (unsigned long long)r->warmup);
	if (e->wanted)
		document_fact(
			d, "power", e->wanted > r->c->pairs,
			"9 of 10 comparisons like this one find %.1f %% of %s; with -r %zu they "
			"find %g %%",
			100 * e->least, people_name(lead), e->wanted, 100 * r->c->aim);
	document_fact(d, "machine", r->found->changed != NULL, "%s", r->found->setting);
	if (r->found->changed)
		document_fact(d, "changed", true, "%s", r->found->changed);
	document_fact(d, "assumed", false,
		      "the two runs of a pair are disturbed alike (drifts, steps and bursts widen "
		      "the error); only the programs differ, not input or environment");
	if (r->sampled)
		document_fact(d, "functions", false,
			      "samples of each run (self); times include the cost of sampling, of "
			      "both programs alike");
	for (size_t i = 0; i < r->n_limits; i++)
		document_fact(d, "limit", r->limit[i].broken, "%s: %s", r->limit[i].limit.text,
			      r->limit[i].broken		 ? "broken"
			      : is_undecided(r->limit[i].metric) ? "not decided: too few pairs"
								 : "kept");
}

void compare_put(struct document *d, struct compare_report *r)
{
	const struct compare *c = r->c;
	struct table t = { .form = &summary_form, .ctx = r, .array = r, .n = 1 };

	for (size_t i = 0; i < c->n_metrics; i++)
		r->not_counted += c->metric[i].effect.verdict == COMPARE_UNKNOWN;
	put_verdict(d, r);
	document_head(d, "base", "%s", put_command(&d->a, &r->command[0]));
	document_head(d, "new", "%s", put_command(&d->a, &r->command[1]));
	document_table(d, &t);
	t = TABLE_OF(effects_form, r, c->metric, c->n_metrics);
	document_table(d, &t);
	t = TABLE_OF(limits_form, r, r->limit, r->n_limits);
	document_table(d, &t);
	t = TABLE_OF(runs_form, r, c->run.v, c->run.n);
	document_table(d, &t);
	t = (struct table){ .form = &repeats_form, .ctx = r };
	document_table(d, &t);
	t = (struct table){ .form = &losses_form, .ctx = r, .array = r, .n = 1 };
	document_table(d, &t);
	put_facts(d, r);
	if (r->found->user_only)
		document_note(d, "user space only: the kernel may not be counted here "
				 "(perf_event_paranoid; `cyclade doctor`)");
}
