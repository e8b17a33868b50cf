/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/memop.h"
#include "store/raw_int.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/xalloc.h"

#define ANY                          \
	{                            \
		INT64_MIN, INT64_MAX \
	}
const struct raw_bounds raw_bounds_none = {
	.run = ANY,
	.place = ANY,
	.time = ANY,
	.cpu = ANY,
	.pid = ANY,
	.tid = ANY,
	.ip = ANY,
	.chain = ANY,
};

static const struct raw_kind *const kinds[STORE_TABLES] = {
	[STORE_runs] = &raw_one,	   [STORE_events] = &raw_events,
	[STORE_samples] = &raw_samples,	   [STORE_frames] = &raw_frames,
	[STORE_branches] = &raw_branches,  [STORE_counts] = &raw_counts,
	[STORE_mappings] = &raw_mappings,  [STORE_threads] = &raw_threads,
	[STORE_losses] = &raw_one,	   [STORE_records] = &raw_records,
	[STORE_chains] = &raw_chains_rows, [STORE_chain_frames] = &raw_chain_frames,
	[STORE_lines] = &raw_lines_rows,   [STORE_ibs_op] = &raw_samples,
	[STORE_ibs_fetch] = &raw_samples,  [STORE_switches] = &raw_switches,
	[STORE_waits] = &raw_waits,	   [STORE_wakes] = &raw_wakes,
	[STORE_spe] = &raw_samples,
};

/* ---- recordings ------------------------------------------------------------------------------ */

struct raw_runs *raw_runs_open(const struct raw_run *run, size_t n)
{
	struct raw_runs *r = xcalloc(1, sizeof(*r));

	r->of = xcalloc(n, sizeof(*r->of));
	for (size_t i = 0; i < n; i++)
		r->of[i].r = run[i];
	r->n = n;
	return r;
}

void raw_runs_close(struct raw_runs *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		names_free(r->of[i].names);
		vec_free(&r->of[i].thread);
		raw_chains_free(r->of[i].chains);
		raw_lines_free(r->of[i].lines);
		wait_free(r->of[i].wait);
	}
	free(r->of);
	free(r);
}

static uint64_t count_raw_of(const struct pd *rec, enum store_table t)
{
	const struct pd_type_count *type;
	uint64_t samples = 0, maps = 0, all = 0;
	size_t n;

	type = pd_type_counts(rec, &n);
	for (size_t i = 0; i < n; i++) {
		all += type[i].count;
		if (type[i].type == PERF_RECORD_SAMPLE)
			samples = type[i].count;
		if (type[i].type == PERF_RECORD_MMAP || type[i].type == PERF_RECORD_MMAP2)
			maps += type[i].count;
	}
	switch (t) {
	case STORE_samples:
	case STORE_ibs_op:
	case STORE_ibs_fetch:
	case STORE_spe:
		return samples;
	case STORE_frames:
	case STORE_branches:
	case STORE_counts:
		return samples * 16;
	case STORE_chain_frames:
		return samples * 4;
	case STORE_chains:
	case STORE_lines:
		return samples / 4;
	case STORE_records:
	case STORE_switches:
	case STORE_waits:
	case STORE_wakes:
		return all;
	case STORE_mappings:
		return maps;
	case STORE_threads:
		return 100;
	case STORE_events:
		(void)pd_events(rec, &n);
		return n;
	default:
		return 1;
	}
}

uint64_t raw_rows(const struct raw_runs *r, enum store_table t)
{
	uint64_t n = 1;

	for (size_t i = 0; i < r->n; i++)
		n += r->of[i].r.rec ? count_raw_of(r->of[i].r.rec, t) : 0;
	return n;
}

/* ---- the cursor ------------------------------------------------------------------------------ */

struct raw *raw_open(struct raw_runs *r, enum store_table t)
{
	struct raw *c = xcalloc(1, sizeof(*c));

	c->runs = r;
	c->table = t;
	c->b = raw_bounds_none;
	c->walk = xcalloc(r->n, sizeof(struct cursor *));
	return c;
}

void raw_close(struct raw *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->runs->n; i++)
		cursor_free(c->walk[i]);
	free(c->walk);
	free(c->events);
	sample_frames_free(&c->frames);
	vec_free(&c->chain);
	free(c);
}

/* `b->event` is the caller's until the next raw_begin. */
void raw_begin(struct raw *c, const struct raw_bounds *b)
{
	c->b = *b;
	c->run = 0;
	c->inside = false;
	if (b->run.low > 1)
		c->run =
			(uint64_t)b->run.low - 1 < c->runs->n ? (size_t)b->run.low - 1 : c->runs->n;
}

int raw_next(struct raw *c, struct err *err)
{
	const struct raw_kind *k = kinds[c->table];

	for (; c->run < c->runs->n; c->run++, c->inside = false) {
		int ret;

		if ((int64_t)c->run + 1 > c->b.run.high)
			break;
		if (!raw_of(c)->r.rec)
			continue;
		if (!c->inside && k->begin(c, err))
			return -1;
		c->inside = true;
		ret = k->next(c, err);
		if (ret)
			return ret;
	}
	c->run = c->runs->n;
	return 0;
}

int raw_cell(struct raw *c, enum store_column_id column, struct table_cell *out,
	     struct buf *scratch, struct err *err)
{
	const struct table t = { .ctx = c };
	const struct table_row r = { .p = c };

	table_cell(out, &t, &store_columns[column], &r, scratch);
	if (c->err.code == ERR_NONE)
		return 0;
	*err = c->err;
	return -1;
}

/* ---- walks over records ---------------------------------------------------------------------- */

/* Returns true if its rows are samples of one PMU alone. */
static bool is_packets(const struct raw *c)
{
	return c->table == STORE_ibs_op || c->table == STORE_ibs_fetch || c->table == STORE_spe;
}

/* Returns true if the table has samples of the event. */
static bool is_of_table(const struct raw *c, const struct pd_event *ev)
{
	enum ibs_kind kind;

	if (!is_packets(c))
		return true;
	if (c->table == STORE_spe)
		return memop_how(raw_of(c)->r.rec, ev).from == MEMOP_FROM_SPE;
	return ibs_is_event(raw_of(c)->r.rec, ev, &kind) &&
	       kind == (c->table == STORE_ibs_op ? IBS_OP : IBS_FETCH);
}

static bool is_tracepoint(const struct raw *c, const struct pd_event *ev, const char *name)
{
	const struct trace_format *f = pd_trace_of(raw_of(c)->r.rec, ev);
	size_t len = f ? strlen(f->system) : 0;

	return f && !strncmp(name, f->system, len) && name[len] == ':' &&
	       !strcmp(name + len + 1, f->name);
}

static void find_raw_events(struct raw *c)
{
	size_t n;
	const struct pd_event *ev = pd_events(raw_of(c)->r.rec, &n);

	free(c->events);
	c->events = NULL;
	if (!c->b.event && !c->b.trace && !is_packets(c))
		return;
	c->events = xcalloc(n, sizeof(*c->events));
	for (size_t i = 0; i < n; i++)
		c->events[i] = is_of_table(c, &ev[i]) &&
			       (!c->b.event || !strcmp(c->b.event, ev[i].name)) &&
			       (!c->b.trace || is_tracepoint(c, &ev[i], c->b.trace));
}

int raw_walk_begin(struct raw *c, bool others, struct err *err)
{
	struct raw_of *r = raw_of(c);
	struct cursor_bounds b = { .place = c->b.place,
				   .time = c->b.time,
				   .cpu = c->b.cpu,
				   .pid = c->b.pid,
				   .tid = c->b.tid,
				   .ip = c->b.ip,
				   .others = others,
				   .stop = c->b.stop,
				   .stop_ctx = c->b.stop_ctx };

	if (!c->walk[c->run] && cursor_new(&c->walk[c->run], r->r.rec, r->r.spaces, err))
		return -1;
	if (!others)
		find_raw_events(c);
	b.events = c->events;
	c->i = c->n = 0;
	c->part = ibs_part_of(pd_info(r->r.rec)->cpuid);
	c->intel = is_intel(pd_info(r->r.rec)->cpuid);
	return cursor_begin(c->walk[c->run], &b, err);
}

bool raw_walk_next(struct raw *c)
{
	c->parsed = c->met = c->chain_made = c->ibs_taken = c->spe_taken = false;
	return cursor_next(c->walk[c->run]);
}

int raw_each_sample(struct raw *c, int (*each)(struct raw *at, void *ctx, struct err *err),
		    void *ctx, bool *over, struct err *err)
{
	const int64_t run = (int64_t)c->run + 1;
	struct raw_bounds b = raw_bounds_none;
	struct raw *at;
	int ret;

	*over = false;
	b.run = (struct cursor_range){ run, run };
	b.stop = c->b.stop;
	b.stop_ctx = c->b.stop_ctx;
	at = raw_open(c->runs, STORE_samples);
	raw_begin(at, &b);
	do {
		ret = raw_next(at, err);
		if (ret > 0)
			ret = each(at, ctx, err) ? -1 : 1;
	} while (ret > 0);
	raw_close(at);
	*over = b.stop && b.stop(b.stop_ctx);
	return ret;
}

/* ---- addresses by themselves ----------------------------------------------------------------- */

struct name *raw_name(struct raw_runs *r, uint64_t run, uint32_t pid, uint64_t time, uint64_t ip,
		      bool kernel)
{
	struct raw_of *of = run >= 1 && run <= r->n ? &r->of[run - 1] : NULL;
	const struct process *p;

	if (!of || !of->r.rec)
		return NULL;
	if (!of->names)
		of->names = names_new(of->r.spaces, false);
	p = spaces_process(of->r.spaces, pid, time);
	return names_at(of->names, p, p ? process_index(p) : UINT32_MAX,
			kernel ? SPACE_KERNEL : SPACE_USER, ip, time);
}

int raw_line(struct raw_runs *r, uint64_t run, struct name *x, struct err *err)
{
	return names_line(r->of[run - 1].names, x, err);
}
