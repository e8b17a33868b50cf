/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions and what they counted as text: for people, and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "region/sums.h"

#define NAME_WIDTH 34
#define NO_ERROR   "extrapolated from the part of the time that it was counted"

static const char *const whys[] = {
	[CYCLADE_OK] = "",
	[CYCLADE_NOT_MEASURED] = "not measured",
	[CYCLADE_NOT_RUN] = "not run",
	[CYCLADE_TOO_SHORT] = "too short",
	[CYCLADE_DOUBTFUL] = "counters disagree",
};

typedef void each_value(void *ctx, const char *name, unsigned depth, const char *unit, double scale,
			const struct cyclade_value *v);

/* Children behind their parent, in the model's order. */
static void walk_tree(const struct report *r, const struct region_values *v, size_t part,
		      uint32_t parent, unsigned level, unsigned deepest, each_value *each,
		      void *ctx)
{
	const struct model *m = r->model[part];
	int64_t last = -1;

	for (;;) {
		uint32_t next = MODEL_NONE;
		struct cyclade_value value;

		for (uint32_t i = 0; i < m->n_metrics; i++)
			if (m->metric[i].level == level && m->metric[i].parent == parent &&
			    (int64_t)m->metric[i].order > last &&
			    (next == MODEL_NONE || m->metric[i].order < m->metric[next].order))
				next = i;
		if (next == MODEL_NONE)
			return;
		last = m->metric[next].order;
		value = metric_value(v, part, next);
		each(ctx, model_last_part(m->metric[next].path), level - 1, m->metric[next].unit,
		     m->metric[next].scale, &value);
		if (level < deepest)
			walk_tree(r, v, part, next, level + 1, deepest, each, ctx);
	}
}

static void one_part(const struct report *r, const struct region_values *v, const struct wish *w,
		     size_t part, each_value *each, void *ctx)
{
	struct cyclade_value none = { sizeof(none), NAN, NAN, NAN, CYCLADE_NOT_MEASURED };
	const struct model *m = r->model[part];

	if (w->kind == WISH_TREE && v->has_tree[part])
		walk_tree(r, v, part, MODEL_NONE, 1, w->level, each, ctx);
	else if (w->kind == WISH_METRIC && v->has_tree[part] && w->metric[part] != MODEL_NONE) {
		none = metric_value(v, part, w->metric[part]);
		each(ctx, w->name, 0, m->metric[w->metric[part]].unit,
		     m->metric[w->metric[part]].scale, &none);
	} else if (w->kind == WISH_METRIC || w->kind == WISH_TREE) {
		each(ctx, w->name, 0, "", 1, &none);
	}
}

static void event_wish(const struct report *r, const struct region_values *v,
		       const struct table_sums *s, const struct wish *w, each_value *each,
		       void *ctx)
{
	struct cyclade_value value = { sizeof(value), NAN, NAN, NAN, CYCLADE_NOT_MEASURED };
	char name[256];
	bool any = false;

	for (size_t e = 0; e < r->v->head.n_events; e++) {
		if (!r->v->head.event[e].asked || strcmp(r->v->head.event[e].name, w->name))
			continue;
		value = event_value(r, v, s, e);
		(void)snprintf(
			name, sizeof(name), "%s%s%s", w->name, r->v->head.n_parts > 1 ? " on " : "",
			r->v->head.n_parts > 1 ? r->v->head.part[r->v->head.event[e].part].pmu
					       : "");
		each(ctx, name, 0, "", 1, &value);
		any = true;
	}
	if (!any)
		each(ctx, w->name, 0, "", 1, &value);
}

static void all_values(const struct report *r, const struct region_values *v,
		       const struct table_sums *s, each_value *each, void *ctx,
		       void (*part_name)(void *ctx, const char *pmu))
{
	size_t parts = r->v->head.n_parts ? r->v->head.n_parts : 1;

	for (size_t part = 0; part < parts; part++) {
		if (parts > 1)
			part_name(ctx, r->v->head.part[part].pmu);
		for (size_t i = 0; i < r->n_wishes; i++)
			if (r->wish[i].kind != WISH_EVENT)
				one_part(r, v, &r->wish[i], part, each, ctx);
	}
	for (size_t i = 0; i < r->n_wishes; i++)
		if (r->wish[i].kind == WISH_EVENT)
			event_wish(r, v, s, &r->wish[i], each, ctx);
}

/* ---- for people ------------------------------------------------------------------------- */

static void put_value(struct buf *b, const char *unit, double scale, const struct cyclade_value *v)
{
	char text[NUM_MAX];

	if (isnan(v->value)) {
		buf_puts(b, whys[v->why]);
		return;
	}
	if (!strcmp(unit, "%")) {
		buf_printf(b, "%6.1f %%", v->value * scale);
		if (v->error > 0)
			buf_printf(b, "  +- %.1f", v->error * scale);
	} else if (fabs(v->value * scale) >= 1000) {
		buf_puts(b, num_count(text, v->value * scale));
		if (v->error > 0)
			buf_printf(b, "  +- %s", num_count(text, v->error * scale));
	} else {
		buf_printf(b, "%7.2f", v->value * scale);
		if (v->error > 0)
			buf_printf(b, "  +- %.2f", v->error * scale);
	}
	if (*unit && strcmp(unit, "%"))
		buf_printf(b, " %s", unit);
	if (isnan(v->error))
		buf_puts(b, "  +- ?");
	if (v->counted < 0.995)
		buf_printf(b, "  counted %.0f %%", v->counted * 100);
	if (v->why == CYCLADE_TOO_SHORT)
		buf_puts(b, "  (too short)");
}

static void term_value(void *ctx, const char *name, unsigned depth, const char *unit, double scale,
		       const struct cyclade_value *v)
{
	struct buf *b = ctx;
	size_t from;

	buf_fill(b, ' ', 4 + 2 * (size_t)depth);
	from = b->len;
	text_put_safe(b, name, false);
	if (b->len - from < NAME_WIDTH - 2 * (size_t)depth)
		buf_fill(b, ' ', NAME_WIDTH - 2 * (size_t)depth - (b->len - from));
	buf_putc(b, ' ');
	put_value(b, unit, scale, v);
	buf_putc(b, '\n');
}

static void term_part(void *ctx, const char *pmu)
{
	struct buf *b = ctx;

	buf_puts(b, "   on ");
	text_put_safe(b, pmu, false);
	buf_putc(b, '\n');
}

/* num_seconds, and what is below it. */
static const char *duration(char out[NUM_MAX], double s)
{
	if (s >= 1e-5 || s <= 0)
		return num_seconds(out, s);
	(void)snprintf(out, NUM_MAX, "%.0f ns", s * 1e9);
	return out;
}

static void put_trouble(struct buf *b, const struct table_sums *s, const struct report *r,
			bool too_short)
{
	char text[NUM_MAX];

	if (s->lost)
		buf_printf(b,
			   "    %s runs could not be counted (interrupted in the middle of a "
			   "change)\n",
			   num_exact(text, s->lost));
	if (s->nested)
		buf_printf(b, "    begun %s times before it had ended: the outer run counts\n",
			   num_exact(text, s->nested));
	if (s->unmatched)
		buf_printf(b, "    ended %s times without a begin\n",
			   num_exact(text, s->unmatched));
	if (s->foreign)
		buf_printf(b,
			   "    %s begins and ends by another thread than the handle's: do not "
			   "believe these counts\n",
			   num_exact(text, s->foreign));
	if (s->torn)
		buf_puts(b, "    its last run was being added when the process ended\n");
	if (too_short) {
		buf_printf(b, "    too short: a run takes %s, ",
			   duration(text, s->tsc / (double)s->runs / r->v->head.tsc_hz));
		buf_printf(b, "begin and end themselves %s\n",
			   duration(text, (double)r->v->head.pair_tsc / r->v->head.tsc_hz));
	}
}

static int term_region(struct buf *b, const struct report *r, const struct region_sums *one,
		       bool thread, struct err *err)
{
	struct region_values v;
	char text[NUM_MAX];
	size_t from = b->len;

	if (values_make(&v, r, &one->s, err))
		return -1;
	buf_puts(b, "  ");
	text_put_safe(b, one->s.name, false);
	if (thread) {
		buf_puts(b, " in ");
		text_put_safe(b, one->comm, false);
		buf_printf(b, " (%u)", one->tid);
	}
	buf_fill(b, ' ', b->len - from < NAME_WIDTH + 3 ? NAME_WIDTH + 3 - (b->len - from) : 0);
	buf_printf(b, "  %s runs  ", num_exact(text, one->s.runs));
	buf_puts(b, duration(text, v.wall));
	if (!thread && one->s.threads > 1)
		buf_printf(b, "  in %s threads", num_exact(text, one->s.threads));
	buf_putc(b, '\n');
	if (one->s.runs)
		all_values(r, &v, &one->s, term_value, b, term_part);
	put_trouble(b, &one->s, r, v.too_short);
	values_free(&v);
	return 0;
}

static bool any_turns(const struct report *r)
{
	for (size_t i = 0; i < r->region.n; i++)
		for (size_t g = 0; g < r->v->head.n_groups && r->v->head.n_groups > 1; g++)
			if (r->region.v[i].s.off_ns[g] > 0)
				return true;
	return false;
}

static int term(struct buf *b, const struct report *r, bool per_thread, struct err *err)
{
	const struct table_head *h = &r->v->head;

	buf_puts(b, "regions of ");
	text_put_safe(b, h->comm, false);
	buf_printf(b, " (%u)", h->pid);
	for (size_t i = 0; i < h->n_parts; i++)
		if (r->model[i])
			buf_printf(b, "%s%s", i ? "; " : ", ", r->model[i]->title);
	buf_puts(b, strncmp(h->status, "not ", 4) ? "\n  counted by " : "\n  ");
	text_put_safe(b, h->status, false);
	buf_puts(b, "\n");
	for (size_t i = 0; i < r->region.n; i++) {
		const struct region_sums *all = &r->region.v[i];

		if (term_region(b, r, all, false, err))
			return -1;
		for (size_t t = 0; per_thread && t < r->thread.n; t++)
			if (!strcmp(r->thread.v[t].s.name, all->s.name) &&
			    term_region(b, r, &r->thread.v[t], true, err))
				return -1;
	}
	if (!r->region.n)
		buf_puts(b, "  no region was begun\n");
	if (r->slower)
		buf_printf(b, "  %zu threads had to read(2): no locked memory was left for pages\n",
			   r->slower);
	if (r->blind)
		buf_printf(b, "  %zu threads have no counters: no descriptors were left\n",
			   r->blind);
	if (any_turns(r))
		buf_puts(b, "  groups of counters took turns: \"counted\" is the share of the time "
			    "that "
			    "a value\n  is extrapolated from; \"+- ?\" has no error bar\n");
	if (h->lost_regions)
		buf_printf(b, "  %u regions found no room (cyclade_open_opts.max_regions)\n",
			   h->lost_regions);
	return buf_error(b, err);
}

/* ---- json ------------------------------------------------------------------------------- */

static void json_value(void *ctx, const char *name, unsigned depth, const char *unit, double scale,
		       const struct cyclade_value *v)
{
	struct json *j = ctx;

	json_object(j, NULL);
	json_str(j, "name", name);
	json_u64(j, "depth", depth);
	json_real(j, "value", isnan(v->value) ? v->value : v->value * scale);
	json_real(j, "error", isnan(v->error) ? v->error : v->error * scale);
	json_str(j, "unit", unit);
	json_real(j, "counted", v->counted);
	if (!isnan(v->value) && isnan(v->error))
		json_str(j, "no_error", NO_ERROR);
	if (v->why != CYCLADE_OK)
		json_str(j, "why", whys[v->why]);
	json_end_object(j);
}

static void json_part(void *ctx, const char *pmu)
{
	struct json *j = ctx;

	json_object(j, NULL);
	json_str(j, "cores", pmu);
	json_end_object(j);
}

static int json_region(struct json *j, const struct report *r, const struct region_sums *one,
		       bool thread, struct err *err)
{
	struct region_values v;

	if (values_make(&v, r, &one->s, err))
		return -1;
	if (thread) {
		json_u64(j, "tid", one->tid);
		json_str(j, "comm", one->comm);
	} else {
		json_str(j, "name", one->s.name);
		json_u64(j, "threads", one->s.threads);
	}
	json_u64(j, "runs", one->s.runs);
	json_real(j, "wall_s", v.wall);
	json_real(j, "tsc", one->s.tsc);
	json_u64(j, "lost", one->s.lost);
	json_u64(j, "nested", one->s.nested);
	json_u64(j, "unmatched", one->s.unmatched);
	json_u64(j, "foreign", one->s.foreign);
	json_u64(j, "slow", one->s.slow);
	json_bool(j, "too_short", v.too_short);
	json_bool(j, "torn", one->s.torn);
	json_array(j, "metrics");
	all_values(r, &v, &one->s, json_value, j, json_part);
	json_end_array(j);
	values_free(&v);
	return 0;
}

static int json(struct buf *b, const struct report *r, bool per_thread, struct err *err)
{
	const struct table_head *h = &r->v->head;
	struct json j;

	json_init(&j, b, true);
	json_object(&j, NULL);
	json_str(&j, "program", h->comm);
	json_u64(&j, "pid", h->pid);
	json_str(&j, "cpu", r->model[0] ? r->model[0]->title : NULL);
	json_str(&j, "counted_by", h->status);
	json_real(&j, "tsc_hz", h->tsc_hz);
	json_u64(&j, "lost_regions", h->lost_regions);
	json_u64(&j, "resets", r->resets);
	json_u64(&j, "threads_by_read", r->slower);
	json_u64(&j, "threads_without_counters", r->blind);
	json_array(&j, "regions");
	for (size_t i = 0; i < r->region.n; i++) {
		json_object(&j, NULL);
		if (json_region(&j, r, &r->region.v[i], false, err))
			return -1;
		if (per_thread)
			json_array(&j, "by_thread");
		for (size_t t = 0; per_thread && t < r->thread.n; t++) {
			if (strcmp(r->thread.v[t].s.name, r->region.v[i].s.name))
				continue;
			json_object(&j, NULL);
			if (json_region(&j, r, &r->thread.v[t], true, err))
				return -1;
			json_end_object(&j);
		}
		if (per_thread)
			json_end_array(&j);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	buf_putc(b, '\n');
	return buf_error(b, err);
}

int report_text(struct buf *out, const struct report *r, const char *format, bool per_thread,
		struct err *err)
{
	if (!format || !strcmp(format, "term"))
		return term(out, r, per_thread, err);
	if (!strcmp(format, "json"))
		return json(out, r, per_thread, err);
	return err_set(err, ERR_USAGE, "no format '%.40s' for regions: term, json", format);
}
