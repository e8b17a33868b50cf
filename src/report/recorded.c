/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/recorded.h"

#include <stddef.h>
#include <string.h>

#include "report/page.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static void command(const struct table *t, const struct table_column *c, const struct table_row *r,
		    struct table_cell *out)
{
	const struct pd_info *i = r->p;

	(void)t;
	(void)c;
	out->list = i->cmdline;
	out->n_list = i->n_cmdline;
}

static void seconds(const struct table *t, const struct table_column *c, const struct table_row *r,
		    struct table_cell *out)
{
	const struct view_source *s = t->ctx;

	(void)c;
	(void)r;
	if (s->time_last > s->time_first)
		out->e.v = (double)(s->time_last - s->time_first) / 1e9;
	else
		out->e.why = "time span not recorded";
}

#define OF(member) TABLE_FIELD(struct pd_info, member)
static const struct table_column columns[] = {
	{ "command", "command", T_LIST, 0, NULL, "what was recorded", .get = command },
	{ "host", "host", T_TEXT, 0, NULL, "the machine's name", OF(hostname) },
	{ "arch", "arch", T_TEXT, 0, NULL, "its architecture", OF(arch) },
	{ "os_release", "kernel", T_TEXT, 0, NULL, "its kernel", OF(os_release) },
	{ "cpu", "cpu", T_TEXT, 0, NULL, "its CPU, in the kernel's words", OF(cpu_desc) },
	{ "recorder", "recorder", T_TEXT, 0, NULL, "version of the program that recorded",
	  OF(version) },
	{ "seconds", "seconds", T_SECONDS, C_WHY, "s", "from the first to the last sample",
	  .get = seconds },
};
#undef OF
const struct table_form recorded_form = { "recording", NULL, TABLE_ONE | TABLE_DATA,
					  TABLE_COLUMNS(columns) };

/* A loss that the file's form cannot contain is not 0, but empty. */
TABLE_GET(loss)
{
	const struct pd_losses *l = r->p;

	memcpy(&out->n, (const char *)l + c->which, sizeof(out->n));
	out->none = l->untold && !out->n;
}

/* clang-format off */
#define LOSS(member, head, flags, means) \
	{ #member, head, T_COUNT, flags, NULL, means, .get = loss, \
	  .which = offsetof(struct pd_losses, member) }
/* clang-format on */
static const struct table_column losses[] = {
	LOSS(lost, "lost", C_LOSS, "events lost because the ring was full"),
	LOSS(lost_records, "gaps", 0, "gaps that this made"),
	LOSS(lost_samples, "samples", C_LOSS, "samples that the kernel dropped"),
	LOSS(read_lost, "by counters", C_LOSS, "samples lost by the counters' own count"),
	LOSS(throttles, "throttled", C_LOSS, "times that the kernel paused sampling"),
	LOSS(unthrottles, "resumed", 0, "times that it resumed"),
	LOSS(aux_lost, "trace", C_LOSS, "damaged pieces of AUX trace"),
	{ "unattributed", "unattributed", T_COUNT, C_LOSS, NULL, "samples that belong to no event",
	  TABLE_FIELD(struct pd_losses, unattributed) },
	{ "partial", "partial", T_COUNT, C_LOSS, NULL, "recordings that do not go to their end",
	  TABLE_FIELD(struct pd_losses, partial) },
	{ "ended", "ended", T_TEXT, 0, NULL,
	  "how it ended: finished, stopped, disk full, killed, at work, unfinished, cut short, not "
	  "told",
	  TABLE_FIELD(struct pd_losses, end), .name_of = pd_end_name },
	{ "ended_how", "how it ended", T_TEXT, 0, NULL, "the same in words",
	  TABLE_FIELD(struct pd_losses, ended) },
};
const struct table_form recorded_losses_form = { "losses", NULL, TABLE_ONE | TABLE_DATA,
						 TABLE_COLUMNS(losses) };

/* ---- branch stacks --------------------------------------------------------------------------- */

/* Those of events that come without branch stacks: irrelevant for results made of stacks. */
static uint64_t other_samples_of(const struct view_source *source)
{
	uint64_t n = 0;

	for (size_t i = 0; i < source->n_events; i++)
		if (!(source->event[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
			n += source->event[i].samples;
	return n;
}

static void other_samples(const struct table *t, const struct table_column *c,
			  const struct table_row *r, struct table_cell *out)
{
	(void)c;
	(void)r;
	out->n = other_samples_of(t->ctx);
}

#define OF(member) TABLE_FIELD(struct flow_sums, member)
static const struct table_column stacks[] = {
	{ "samples", "samples", T_COUNT, 0, NULL, "of all events", OF(samples) },
	{ "other_samples", "others", T_COUNT, 0, NULL, "of events without branch stacks",
	  .get = other_samples },
	{ "stacks", "stacks", T_COUNT, 0, NULL, "samples with branches", OF(stacks) },
	{ "empty", "empty", T_COUNT, 0, NULL, "samples whose stack is empty", OF(empty) },
	{ "left_out", "left out", T_COUNT, 0, NULL, "samples not selected, others included",
	  OF(left_out) },
	{ "not_readable", "unreadable", T_COUNT, C_LOSS, NULL, "samples that could not be read",
	  OF(bad) },
	{ "depth", "depth", T_COUNT, 0, NULL, "entries of the deepest stack", OF(depth) },
	{ "user_only", "user only", T_FLAG, 0, NULL, "the kernel's branches were filtered out",
	  OF(user_only) },
	{ "biased", "biased", T_FLAG, 0, NULL, "the event does not count branches", OF(biased) },
	{ "weighed", "weighed", T_FLAG, 0, NULL, "weights are executions all the same",
	  OF(weighed) },
	{ "late", "late", T_FLAG, 0, NULL, "the event is not precise: samples come later",
	  OF(late) },
	{ "leaning", "~", T_FLAG, 0, NULL, "stacks are of some code rather than of other",
	  OF(leaning) },
};
#undef OF
const struct table_form recorded_stacks_form = { "stacks", NULL, TABLE_ONE | TABLE_DATA,
						 TABLE_COLUMNS(stacks) };

void recorded_stacks(struct document *d, const struct view_source *source,
		     const struct flow_sums *s)
{
	const struct table t = { .form = &recorded_stacks_form, .ctx = source, .array = s, .n = 1 };
	/* those of a type that is not known are counted as bad, and are of no event */
	uint64_t others = other_samples_of(source);
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	if (others > s->left_out)
		others = s->left_out;
	document_table(d, &t);
	document_fact(d, "samples", false, "%s, %s with branches, %s without%s",
		      num_exact(a, s->samples - others), num_exact(b, s->stacks),
		      num_exact(c, s->empty), s->user_only ? "; branches of user space only" : "");
	if (others)
		document_fact(d, "others", false, "%s samples of events without branch stacks",
			      num_exact(a, others));
	if (s->left_out > others)
		document_fact(d, "left out", false, "%s samples, by options",
			      num_exact(a, s->left_out - others));
	if (s->bad)
		document_fact(d, "unreadable", true, "%s samples", num_exact(a, s->bad));
	if (s->leaning)
		document_fact(d, "~", true, "%s", page_leaning(s));
}

const char *recorded_no_stacks(const struct view_source *source, const struct flow_sums *s)
{
	if (!s->samples)
		return "the recording has no samples";
	if (s->samples <= other_samples_of(source))
		return "the event with branch stacks has no sample: it was rarer than its period, "
		       "or had no counter";
	return s->empty ? "the samples' branch stacks are empty: no branch was recorded"
			: "options left out all samples with branch stacks";
}

void cell_flow(struct table_cell *out, struct flow_value v)
{
	out->e = (struct estimate){ v.v, v.half, v.why };
	out->mark = v.leans ? '~' : 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void recorded_head(struct document *d, const struct view_source *source)
{
	const struct table t = {
		.form = &recorded_form, .ctx = source, .array = source->info, .n = 1
	};
	struct buf line = BUF_INIT;

	source_command(&line, source, false);
	document_title(d, INK_BOLD, "%s", buf_str(&line));
	buf_reset(&line);
	source_machine(&line, source, false);
	document_title(d, INK_DIM, "%s", buf_str(&line));
	document_table(d, &t);
	d->failed |= line.failed;
	buf_free(&line);
}

void recorded_tail(struct document *d, const struct view_source *source)
{
	const struct table t = { .form = &recorded_losses_form, .array = source->losses, .n = 1 };
	struct fact f[FACTS_MAX];
	size_t n = source_facts(source, f);

	for (size_t i = 0; i < n; i++)
		document_fact(d, f[i].label, f[i].bad, "%s", f[i].text);
	for (size_t i = 0; i < source->n_notes; i++)
		document_note(d, source->notes[i]);
	document_table(d, &t);
}
