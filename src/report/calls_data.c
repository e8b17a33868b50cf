/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls_data - calls for other programs: JSON ("cyclade.calls/1"), CSV and Markdown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/num.h"
#include "base/text.h"
#include "report/calls_view.h"
#include "report/json_int.h"
#include "report/page.h"

enum { ROWS = 20 };

/* ---- which rows ------------------------------------------------------------------------------ */

static bool wanted(const struct calls_view *v, const struct call_edge *e)
{
	return v->function == CALLS_ALL || e->caller == v->function || e->callee == v->function;
}

/* ---- json ------------------------------------------------------------------------------------ */

static void json_function(struct json *j, const struct calls_view *v, uint32_t i)
{
	const struct call_function *f = &v->c->f[i];
	uint64_t at;

	json_object(j, NULL);
	if (f->image == IMAGE_NONE)
		json_null(j, "dso");
	else
		json_str(j, "dso", calls_dso(v, i));
	json_str(j, "function", f->symbol ? f->symbol->name : NULL);
	if (calls_vaddr(v, i, &at))
		json_hex(j, "address", at);
	else
		json_null(j, "address");
	json_flow(j, "called", f->called);
	json_flow(j, "recursive", f->recursive);
	json_flow(j, "tailed", f->tailed);
	json_flow(j, "calls", f->calls);
	json_u64(j, "callers", f->n_callers);
	json_u64(j, "callees", f->n_callees);
	json_end_object(j);
}

static void json_edge(struct json *j, const struct call_edge *e)
{
	json_object(j, NULL);
	json_u64(j, "caller", e->caller);
	json_u64(j, "callee", e->callee);
	json_real(j, "runs", e->runs.v);
	json_real(j, "error", e->runs.half);
	json_u64(j, "hits", e->hits);
	json_u64(j, "sites", e->sites);
	json_bool(j, "tail", e->tail);
	json_bool(j, "plt", e->plt);
	json_u64(j, "indirect", e->indirect);
	json_u64(j, "mispredicted", e->tally.mispredicted);
	json_u64(j, "predicted", e->tally.predicted);
	json_end_object(j);
}

static void json_lost(struct json *j, const struct calls *c)
{
	json_object(j, "lost");
	json_u64(j, "no_symbol", c->no_symbol);
	json_u64(j, "plt", c->lost_plt);
	json_u64(j, "strange", c->strange);
	json_u64(j, "guessed", c->guessed);
	json_u64(j, "no_code", c->no_code);
	json_u64(j, "kernel", c->kernel);
	json_u64(j, "unknown", c->unknown);
	json_u64(j, "other", c->other);
	json_end_object(j);
}

int calls_json(struct buf *out, const struct calls_view *v, const struct sink_opts *o,
	       struct err *err)
{
	const struct calls *c = v->c;
	struct json j;

	(void)o;
	json_init(&j, out, false);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.calls/1");
	json_str(&j, "event", v->sums->event);
	json_str(&j, "by", calls_by(c));
	json_bool(&j, "scaled", c->scaled);
	json_bool(&j, "biased", v->sums->biased);
	json_flow(&j, "runs", c->runs);
	json_u64(&j, "hits", c->hits);
	json_u64(&j, "hits_calls", c->hits_calls);
	json_u64(&j, "hits_returns", c->hits_returns);
	json_u64(&j, "samples", v->sums->samples);
	json_u64(&j, "other_samples", page_other_samples(&v->source));
	json_u64(&j, "stacks", v->sums->stacks);
	if (v->function != CALLS_ALL)
		json_u64(&j, "function", v->function);
	/* all of them, so that edges' numbers fit */
	json_array(&j, "functions");
	for (uint32_t i = 0; i < c->n; i++)
		json_function(&j, v, i);
	json_end_array(&j);
	json_array(&j, "edges");
	for (size_t i = 0; i < c->n_edges; i++)
		if (wanted(v, &c->edge[i]))
			json_edge(&j, &c->edge[i]);
	json_end_array(&j);
	json_lost(&j, c);
	json_end_object(&j);
	buf_putc(out, '\n');
	return out->failed ? err_nomem(err) : 0;
}

/* ---- csv ------------------------------------------------------------------------------------- */

static void csv_row(struct buf *out, const struct calls_view *v, const struct call_edge *e,
		    char sep)
{
	const char *text[] = { calls_dso(v, e->caller), calls_name(v, e->caller),
			       calls_dso(v, e->callee), calls_name(v, e->callee) };
	bool scaled = v->c->scaled;

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
		text_put_csv_safe(out, text[i], sep);
		buf_putc(out, sep);
	}
	text_put_csv_real(out, scaled ? e->runs.v : NAN);
	buf_putc(out, sep);
	text_put_csv_real(out, scaled ? e->runs.half : NAN);
	buf_putc(out, sep);
	text_put_csv_real(out, calls_share(v, e->runs.v));
	buf_printf(out,
		   "%c%" PRIu64 "%c%" PRIu32 "%c%d%c%d%c%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "\r\n",
		   sep, e->hits, sep, e->sites, sep, e->tail, sep, e->plt, sep, e->indirect, sep,
		   e->tally.mispredicted, sep, e->tally.predicted);
}

int calls_csv(struct buf *out, const struct calls_view *v, const struct sink_opts *o,
	      struct err *err)
{
	char head[] = "caller_dso,caller,callee_dso,callee,calls,error,share,hits,sites,tail,plt,"
		      "indirect,mispredicted,predicted\r\n";
	uint32_t *order = calls_by_runs(v->c);
	size_t shown = 0;

	if (!order)
		return err_nomem(err);
	for (char *p = head; *p; p++)
		*p = *p == ',' ? o->separator : *p;
	buf_puts(out, head);
	for (size_t i = 0; i < v->c->n_edges && (!v->limit || shown < v->limit); i++) {
		const struct call_edge *e = &v->c->edge[order[i]];

		if (!wanted(v, e))
			continue;
		csv_row(out, v, e, o->separator);
		buf_spill(out);
		shown++;
	}
	free(order);
	return out->failed ? err_nomem(err) : 0;
}

/* ---- markdown -------------------------------------------------------------------------------- */

static void md_value(struct buf *out, const struct calls_view *v, struct flow_value x)
{
	char a[NUM_MAX];

	buf_printf(out, "| %s |", num_percent(a, calls_share(v, x.v)));
	if (v->c->scaled)
		buf_printf(out, " %s", num_count(a, x.v));
	if (isfinite(x.half / x.v))
		buf_printf(out, " ±%.1f %%", 100 * x.half / x.v);
	buf_puts(out, " |");
}

static void md_name(struct buf *out, const struct calls_view *v, uint32_t f)
{
	buf_putc(out, ' ');
	text_put_markdown(out, calls_name(v, f));
	buf_puts(out, " (");
	text_put_markdown(out, calls_dso(v, f));
	buf_puts(out, ") |");
}

/* Jumps to its start, beside the calls. */
static void md_tailed(struct buf *out, const struct calls_view *v, double x)
{
	char a[NUM_MAX];

	if (!(x > 0))
		buf_puts(out, " |");
	else
		buf_printf(out, " %s |",
			   v->c->scaled ? num_count(a, x) : num_percent(a, calls_share(v, x)));
}

static void md_functions(struct buf *out, const struct calls_view *v)
{
	size_t limit = v->limit ? v->limit : ROWS;

	buf_puts(out, "| share | called | tailed | callers | function |\n"
		      "|---:|---:|---:|---:|---|\n");
	for (uint32_t i = 0; i < v->c->n && i < limit; i++) {
		md_value(out, v, v->c->f[i].called);
		md_tailed(out, v, v->c->f[i].tailed.v);
		buf_printf(out, " %" PRIu32 " |", v->c->f[i].n_callers);
		md_name(out, v, i);
		buf_putc(out, '\n');
	}
	buf_putc(out, '\n');
}

static int md_edges(struct buf *out, const struct calls_view *v, struct err *err)
{
	uint32_t *order = calls_by_runs(v->c);
	size_t limit = v->limit ? v->limit : ROWS, shown = 0, left = 0;
	char a[NUM_MAX];

	if (!order)
		return err_nomem(err);
	buf_puts(out, "| share | calls | mispredicted | sites | from | to | |\n"
		      "|---:|---:|---:|---:|---|---|---|\n");
	for (size_t i = 0; i < v->c->n_edges; i++) {
		const struct call_edge *e = &v->c->edge[order[i]];
		double wrong = calls_mispredicted(&e->tally);

		if (!wanted(v, e))
			continue;
		if (shown++ >= limit) {
			left++;
			continue;
		}
		md_value(out, v, e->runs);
		buf_printf(out, " %s | %" PRIu32 " |", isnan(wrong) ? "" : num_percent(a, wrong),
			   e->sites);
		md_name(out, v, e->caller);
		md_name(out, v, e->callee);
		buf_printf(out, " %s |\n", calls_how(v, e));
	}
	if (left)
		buf_printf(out, "\n%zu more edges.\n", left);
	free(order);
	return 0;
}

int calls_markdown(struct buf *out, const struct calls_view *v, const struct sink_opts *o,
		   struct err *err)
{
	(void)o;
	buf_printf(out, "%" PRIu64 " branch stacks of `", v->sums->stacks);
	text_put_markdown(out, v->sums->event ? v->sums->event : "several events");
	buf_printf(out, "`; calls are told by %s%s\n\n", calls_by(v->c),
		   v->c->scaled ? "" : "; the event does not count them, only shares are known");
	if (v->function == CALLS_ALL)
		md_functions(out, v);
	if (md_edges(out, v, err))
		return -1;
	buf_printf(out,
		   "\nOf %" PRIu64 " calls seen, %" PRIu64 " have no symbol at one end, %" PRIu64
		   " end at a PLT; %" PRIu64 " more returned to no call.\n",
		   v->c->hits, v->c->no_symbol, v->c->lost_plt, v->c->strange);
	return out->failed ? err_nomem(err) : 0;
}
