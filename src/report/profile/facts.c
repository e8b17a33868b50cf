/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/profile/facts.h"

#include <math.h>
#include <string.h>

#include "analyse/again.h"
#include "analyse/runtimes.h"
#include "base/num.h"
#include "base/text.h"
#include "report/view_latency.h"
#include "symbol/unwind.h"

static double fact_ratio(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : NAN;
}

static bool is_fact_clock(const struct pd_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

void fact_title(struct buf *b, const struct view *v, const struct view_table *t, size_t event)
{
	const struct pd_event *e = &v->source.event[t->event[event]];
	const struct tally *w = &t->sum[event]->selected;
	bool branches = profile_options(v->profile)->branches;
	char n[NUM_MAX], p[NUM_MAX];

	if (branches)
		buf_printf(b, "%s branches in %s samples of ", num_exact(n, w->samples),
			   num_exact(p, t->sum[event]->stacks));
	else
		buf_printf(b, "%s samples of ", num_exact(n, w->samples));
	text_put_safe(b, e->name, true);
	if (!w->samples)
		return;
	if (!branches)
		buf_printf(b, ", %s",
			   is_fact_clock(e) ? num_seconds(p, (double)w->period / 1e9)
					    : num_count(p, (double)w->period));
	if (v->source.time_last > v->source.time_first)
		buf_printf(
			b, ", over %s",
			num_seconds(p, (double)(v->source.time_last - v->source.time_first) / 1e9));
	else
		buf_puts(b, ", time span not recorded");
}

/* Returns NULL for a view of rows; its profile may have chains for other views. */
static const struct profile_chains *shown_chains(const struct view *v)
{
	return v->opts.shape == VIEW_TABLE ? NULL : profile_chains(v->profile);
}

/* Returns the period of the samples whose outermost caller lies in no mapping: chains by frame
 * pointers end so in code that has none. */
static uint64_t lost_callers(const struct profile_chains *c, uint32_t event)
{
	uint64_t period = 0;

	for (size_t i = 1; i < c->tree.n; i++) {
		const struct profile_frame *f = &c->frame[c->tree.node[i].frame];

		if (!c->tree.node[i].parent && f->image == IMAGE_NONE && !f->symbol)
			period += c->total[event][i].period;
	}
	return period;
}

#define LINE_MOST 190 /* of a command that a fact has room for */

/* Stacks find more callers, unless the chains are made of these already, now or while recording. */
static void put_lost_callers(struct fact *out, size_t *n, const struct view *v, uint32_t event,
			     double share)
{
	bool stacks = v->source.event[event].attr.sample_type & PERF_SAMPLE_STACK_USER ||
		      (v->source.info && v->source.info->unwound.samples);
	struct buf b = BUF_INIT;
	char a[NUM_MAX];

	if (!again_put(&b, v->source.info, "-g=dwarf", true) || b.len > LINE_MOST) {
		buf_reset(&b);
		buf_puts(&b, "cyclade record -g=dwarf");
	}
	(void)fact_add(out, n, "callers lost", true, "%s begin in no mapping%s%s",
		       num_percent(a, share), stacks ? "" : "; try ", stacks ? "" : buf_str(&b));
	buf_free(&b);
}

/* How chains that were unwound from recorded stacks ended before the outermost function. */
static void chains_cut(struct fact *out, size_t *n, const struct profile_chains *c)
{
	const uint64_t *k = c->broken;
	char all_of[NUM_MAX], cut[NUM_MAX], stack[NUM_MAX], limit[NUM_MAX];
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(c->broken) / sizeof(*c->broken); i++)
		all += k[i];
	if (all > k[UNWIND_DONE])
		(void)fact_add(out, n, "chains cut", k[UNWIND_DONE] < all / 2,
			       "%s of %s; %s by stack size, %s by --max-stack",
			       num_exact(cut, all - k[UNWIND_DONE]), num_exact(all_of, all),
			       num_exact(stack, k[UNWIND_STACK]),
			       num_exact(limit, k[UNWIND_LIMIT]));
}

bool fact_cut(const struct view *v, const struct view_table *t, size_t event, struct tally *cut)
{
	const struct profile_chains *c = shown_chains(v);

	*cut = (struct tally){ 0 };
	for (unsigned k = 0; c && k < CHAIN_CUTS; k++)
		tally_add(cut, &c->cut[k][t->event[event]]);
	return c;
}

/* Chains that end at a limit, the kernel's or --max-stack: their outer callers are not known. */
static void chains_end_early(struct fact *out, size_t *n, const struct view *v,
			     const struct view_table *t, size_t event)
{
	const struct profile_chains *c = shown_chains(v);
	uint64_t all = t->sum[event]->selected.period;
	unsigned most = profile_kernel_frames(&v->source.event[t->event[event]]);
	char a[NUM_MAX];

	if (!c)
		return;
	if (c->cut[CUT_BY_KERNEL][t->event[event]].samples)
		(void)fact_add(
			out, n, "chains cut", true,
			"%s by the kernel at %u frames: totals marked + may be larger; set "
			"sysctl kernel.perf_event_max_stack=1024 and record again",
			num_percent(a,
				    fact_ratio(c->cut[CUT_BY_KERNEL][t->event[event]].period, all)),
			most);
	if (c->cut[CUT_BY_LIMIT][t->event[event]].samples)
		(void)fact_add(
			out, n, "chains cut", true,
			"%s by --max-stack: totals marked + may be larger",
			num_percent(a,
				    fact_ratio(c->cut[CUT_BY_LIMIT][t->event[event]].period, all)));
}

size_t facts_doubtful_trees(const struct view *v, const struct view_table *t, size_t *trees)
{
	size_t doubtful = 0;

	*trees = 0;
	for (size_t i = 0; v->topdown.levels && v->opts.shape == VIEW_TABLE && i < t->n_rows; i++) {
		if (!t->row[i].row ||
		    !profile_tally(t->row[i].row, (size_t)v->topdown.slots)->samples)
			continue;
		++*trees;
		doubtful += topdown_contradicts(&v->topdown, t->row[i].row);
	}
	return doubtful;
}

static void trees_in_doubt(struct fact *out, size_t *n, const struct view *v,
			   const struct view_table *t)
{
	size_t trees, doubtful = facts_doubtful_trees(v, t, &trees);
	char a[NUM_MAX], b[NUM_MAX];

	if (doubtful)
		(void)fact_add(
			out, n, "in doubt (?)", true,
			"%s of %s rows: a part of the slots is larger than its whole, beyond "
			"the error",
			num_exact(a, doubtful), num_exact(b, trees));
}

static void no_name(struct fact *out, size_t *n, double share, const char *where)
{
	char a[NUM_MAX];

	if (share > 0)
		(void)fact_add(out, n, "without a name", false,
			       "%s %s of stripped files; debug packages name them",
			       num_percent(a, share), where);
}

/* The switch that gives names, if much of it is code that a runtime made. */
static void made_code(struct fact *out, size_t *n, const struct view *v, uint32_t event)
{
	struct runtime_found found[RUNTIMES_MAX];
	const uint32_t *among = v->first ? v->by_event + v->first[event] : NULL;
	size_t n_among = v->first ? v->first[event + 1] - v->first[event] : 0;
	size_t n_found = profile_runtimes(v->profile, event, among, n_among, found);

	for (size_t i = 0; i < n_found && i < 2; i++) {
		struct buf b = BUF_INIT;

		runtime_put_line(&b, &found[i]);
		(void)fact_add(out, n, "no names", true, "%s", buf_str(&b));
		buf_free(&b);
	}
}

static void without_latency(struct fact *out, size_t *n, const struct view *v,
			    const struct view_table *t, size_t event)
{
	struct view_latency_lack lack[VIEW_LATENCY_LACKS];
	size_t lacks = view_wants_latency(v) ? view_latency_lacks(v, t, event, lack) : 0;
	char rows[NUM_MAX];

	for (size_t i = 0; i < lacks; i++)
		(void)fact_add(out, n, "no latency", false, "%s row%s: %s",
			       num_exact(rows, lack[i].rows), lack[i].rows == 1 ? "" : "s",
			       lack[i].why);
}

#define FILTERS "--comm, --cgroup, --cpu, --time, --only-pid or --only-tid"

/* Facts on branches: those without a place or a name, and samples without a stack. */
static size_t branch_facts(struct fact *out, const struct profile_sum *s)
{
	uint64_t all = s->selected.samples, samples = s->stacks + s->no_stack;
	char a[NUM_MAX], b[NUM_MAX];
	size_t n = 0;

	if (all)
		(void)fact_add(out, &n, "not attributed",
			       s->no_map.samples + s->no_symbol.samples > all / 5,
			       "%s from or to no mapping, %s without a symbol",
			       num_percent(a, fact_ratio(s->no_map.samples, all)),
			       num_percent(b, fact_ratio(s->no_symbol.samples, all)));
	no_name(out, &n, fact_ratio(s->nameless.samples, all), "from or to functions");
	if (s->no_stack)
		(void)fact_add(out, &n, "no branches", s->no_stack > samples / 5,
			       "%s of the samples, %s",
			       num_percent(a, fact_ratio(s->no_stack, samples)),
			       num_exact(b, s->no_stack));
	if (s->left_out.samples)
		(void)fact_add(out, &n, "not selected", false,
			       "%s samples of the event, by " FILTERS,
			       num_exact(a, s->left_out.samples));
	if (s->bad)
		(void)fact_add(out, &n, "not readable", true, "%s samples", num_exact(a, s->bad));
	return n;
}

size_t facts_of_event(const struct view *v, const struct view_table *t, size_t event,
		      struct fact *out)
{
	const struct profile_chains *chains = shown_chains(v);
	const struct profile_sum *s = t->sum[event];
	char a[NUM_MAX], b[NUM_MAX];
	uint64_t all = s->selected.period;
	size_t n = 0;

	if (profile_options(v->profile)->branches)
		return branch_facts(out, s);
	if (s->selected.samples)
		(void)fact_add(out, &n, "not attributed",
			       s->no_map.period + s->no_symbol.period > all / 5,
			       "%s in no mapping, %s without a symbol",
			       num_percent(a, fact_ratio(s->no_map.period, all)),
			       num_percent(b, fact_ratio(s->no_symbol.period, all)));
	made_code(out, &n, v, t->event[event]);
	no_name(out, &n, fact_ratio(s->nameless.period, all), "in functions");
	if (s->left_out.samples)
		(void)fact_add(
			out, &n, "not selected", false, "%s of the event, %s samples, by " FILTERS,
			num_percent(a, fact_ratio(s->left_out.period, s->left_out.period + all)),
			num_exact(b, s->left_out.samples));
	if (t->unlisted[event].samples)
		(void)fact_add(out, &n, "not listed", false, "%s in calls that are below %s each",
			       num_percent(a, fact_ratio(t->unlisted[event].period, all)),
			       num_percent(b, v->opts.min));
	if (chains && lost_callers(chains, t->event[event]) > all / 20)
		put_lost_callers(out, &n, v, t->event[event],
				 fact_ratio(lost_callers(chains, t->event[event]), all));
	chains_end_early(out, &n, v, t, event);
	trees_in_doubt(out, &n, v, t);
	without_latency(out, &n, v, t, event);
	if (s->bad)
		(void)fact_add(out, &n, "not readable", true, "%s samples", num_exact(a, s->bad));
	return n;
}

size_t facts_of_chains(const struct view *v, struct fact *out)
{
	size_t n = 0;

	if (shown_chains(v))
		chains_cut(out, &n, shown_chains(v));
	return n;
}
