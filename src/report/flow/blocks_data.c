/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_data - blocks for other programs: JSON ("cyclade.blocks/1") and CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "report/blocks_view.h"
#include "report/json_more.h"
#include "report/page.h"

static void json_index(struct json *j, const char *key, uint32_t i)
{
	if (i == CODE_NONE)
		json_null(j, key);
	else
		json_u64(j, key, i);
}

static void json_drops(struct json *j, const uint64_t n[BLOCK_DROPS])
{
	json_object(j, "dropped");
	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		if (n[d])
			json_u64(j, block_drop_key[d], n[d]);
	json_end_object(j);
}

static void json_balance(struct json *j, const char *key, const struct flow_balance *b)
{
	json_object(j, key);
	json_real(j, "apart", b->apart);
	json_u64(j, "places", b->places);
	if (b->places && !b->judged)
		json_null(j, "within");
	else
		json_u64(j, "within", b->within);
	json_end_object(j);
}

static void json_sums(struct json *j, const struct flow_sums *s)
{
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "samples", s->samples },   { "stacks", s->stacks },
		{ "empty", s->empty },	     { "left_out", s->left_out },
		{ "bad", s->bad },	     { "edges", s->edges },
		{ "spans", s->spans },	     { "backwards", s->backwards },
		{ "crossing", s->crossing }, { "far_apart", s->far_apart },
		{ "repeated", s->repeated }, { "switched", s->switched },
	};

	json_object(j, "sums");
	json_u64(j, "depth", s->depth);
	json_bool(j, "biased", s->biased);
	json_bool(j, "weighed", s->weighed);
	json_bool(j, "late", s->late);
	json_bool(j, "user_only", s->user_only);
	json_real(j, "period", s->period);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		json_u64(j, counts[i].key, counts[i].n);
	json_end_object(j);
}

static void json_times(struct json *j, const struct blocks_view *v, const struct block *k)
{
	size_t n;
	const struct flow_times *t = flow_times(v->b->flow, &n);

	if (!k->timed || k->times >= n)
		return;
	json_array(j, "times"); /* [least cycles, how many] */
	for (unsigned i = 0; i < FLOW_TIME_BUCKETS; i++) {
		if (!t[k->times].n[i])
			continue;
		json_array(j, NULL);
		json_u64(j, NULL, flow_time_from(i));
		json_u64(j, NULL, t[k->times].n[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_quantile(struct json *j, const char *key, const struct flow_quantile *q)
{
	json_object(j, key);
	json_real(j, "value", q->v);
	json_real(j, "low", q->low);
	json_real(j, "high", q->high);
	json_end_object(j);
}

static void json_shape(struct json *j, const struct flow_shape *s)
{
	json_quantile(j, "p50", &s->p50);
	json_quantile(j, "p95", &s->p95);
	json_real(j, "tail", s->tail);
	json_array(j, "modes"); /* [cycles, share of times] */
	for (unsigned i = 0; i < s->modes; i++) {
		json_array(j, NULL);
		json_real(j, NULL, s->mode[i].at);
		json_real(j, NULL, s->mode[i].share);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_block(struct json *j, const struct blocks_view *v, const struct block_function *f,
		       uint32_t i)
{
	const struct code_block *c = &f->code->block[i];
	const struct block *k = &f->block[i];
	struct flow_shape shape;

	json_object(j, NULL);
	json_hex(j, "start", f->code->vaddr + c->start);
	json_hex(j, "end", f->code->vaddr + c->end);
	json_u64(j, "insns", c->n);
	json_real(j, "runs", k->runs.v);
	json_real(j, "error", k->runs.half);
	if (k->runs.leans)
		json_bool(j, "leans", true);
	if (k->runs.why)
		json_str(j, "why", k->runs.why);
	json_u64(j, "hits", k->hits);
	json_real(j, "in", k->flow_in);
	json_real(j, "out", k->flow_out);
	json_real(j, "cycles", k->timed ? k->cycles : NAN);
	json_real(j, "cycles_sd", k->timed ? k->cycles_sd : NAN);
	json_u64(j, "timed", k->timed);
	json_times(j, v, k);
	if (blocks_block_shape(v, k, &shape))
		json_shape(j, &shape);
	json_end_object(j);
}

static void json_edge(struct json *j, const struct blocks_view *v, const struct block_edge *e)
{
	json_object(j, NULL);
	json_index(j, "from", e->from);
	json_index(j, "to", e->to);
	if (e->from != CODE_NONE && e->to != CODE_NONE) {
		json_null(j, "other");
	} else {
		const char *dso;
		const struct symbol *s = blocks_symbol(v, &e->other, &dso);

		json_object(j, "other");
		json_str(j, "dso", dso);
		json_str(j, "function", s ? s->name : NULL);
		json_hex(j, "address", blocks_vaddr(v, e->other.image, e->other.addr));
		json_end_object(j);
	}
	json_bool(j, "fallthrough", e->fallthrough);
	json_real(j, "runs", e->runs.v);
	json_real(j, "error", e->runs.half);
	if (e->runs.leans)
		json_bool(j, "leans", true);
	if (e->runs.why)
		json_str(j, "why", e->runs.why);
	json_u64(j, "hits", e->hits);
	json_u64(j, "mispredicted", e->tally.mispredicted);
	json_u64(j, "predicted", e->tally.predicted);
	json_end_object(j);
}

static void json_iteration(struct json *j, const struct blocks *b, const struct block_loop *l)
{
	const struct blocks_iteration it = blocks_iteration(b, l);
	struct flow_shape shape;

	if (!blocks_loop_shape(l, &shape)) {
		json_null(j, "iteration");
		return;
	}
	json_object(j, "iteration");
	json_u64(j, "timed", l->iteration->n);
	json_u64(j, "stacks", l->iteration->stacks);
	json_real(j, "cycles", it.mean);
	json_real(j, "error", it.half);
	if (it.why) {
		json_bool(j, "leans", true);
		json_str(j, "why", it.why);
	}
	json_real(j, "cycles_sd", it.sd);
	json_shape(j, &shape);
	json_end_object(j);
}

static void json_loop(struct json *j, const struct blocks *b, const struct block_loop *l)
{
	json_object(j, NULL);
	json_u64(j, "head", l->head);
	json_u64(j, "depth", l->depth);
	json_index(j, "parent", l->parent);
	json_u64(j, "blocks", l->blocks);
	json_flow(j, "entries", l->entries);
	json_flow(j, "trips", l->trips);
	json_u64(j, "visits", l->visits);
	json_u64(j, "cut", l->cut);
	json_array(j, "histogram");
	for (size_t i = 0; i < sizeof(l->trip) / sizeof(*l->trip); i++)
		json_u64(j, NULL, l->trip[i]);
	json_end_array(j);
	json_iteration(j, b, l);
	json_end_object(j);
}

static void json_function(struct json *j, const struct blocks_view *v,
			  const struct block_function *f)
{
	json_object(j, NULL);
	json_str(j, "dso", blocks_dso(v, f));
	json_str(j, "function", f->symbol->name);
	json_hex(j, "start", blocks_vaddr(v, f->image, f->symbol->start));
	json_u64(j, "size", f->code ? f->code->len : f->symbol->size);
	json_flow(j, "insns", f->insns);
	json_flow(j, "calls", f->calls);
	json_u64(j, "hits", f->hits);
	json_drops(j, f->dropped);
	json_array(j, "blocks");
	for (uint32_t i = 0; f->code && i < f->code->n_blocks; i++)
		json_block(j, v, f, i);
	json_end_array(j);
	json_array(j, "edges");
	for (size_t i = 0; i < f->n_edges; i++)
		json_edge(j, v, &f->edge[i]);
	json_end_array(j);
	json_array(j, "loops");
	for (size_t i = 0; i < f->n_loops; i++)
		json_loop(j, v->b, &f->loop[i]);
	json_end_array(j);
	json_index(j, "irreducible", f->irreducible);
	json_end_object(j);
}

int blocks_json(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
		struct err *err)
{
	const struct flow_sums *s = flow_sums(v->b->flow);
	struct json j;

	(void)o;
	json_init(&j, out, false);
	json_object(&j, NULL);
	json_str(&j, "schema", "cyclade.blocks/1");
	json_str(&j, "event", s->event);
	json_str(&j, "filter", blocks_filter_name[s->filter]);
	json_bool(&j, "scaled", v->b->scaled);
	json_str(&j, "by", v->b->by);
	json_real(&j, "scale", v->b->scale * s->scale);
	json_balance(&j, "balance", &v->balance);
	json_balance(&j, "in_out", &v->places);
	json_flow(&j, "insns", v->b->insns);
	json_u64(&j, "used", v->b->used);
	json_u64(&j, "system", v->b->system);
	json_u64(&j, "other_samples", page_other_samples(&v->source));
	json_sums(&j, s);
	json_drops(&j, v->b->dropped);
	json_array(&j, "functions");
	for (size_t i = 0; i < v->b->n && !out->failed; i++)
		json_function(&j, v, &v->b->f[i]);
	json_end_array(&j);
	json_end_object(&j);
	buf_putc(out, '\n');
	return buf_error(out, err);
}

/* ---- csv ------------------------------------------------------------------------------------ */

static void csv_times(struct buf *out, const struct blocks_view *v, const struct block *k, char sep)
{
	struct flow_shape s;
	bool timed = blocks_block_shape(v, k, &s);
	const double real[] = { timed ? s.p50.v : NAN, timed ? s.p95.v : NAN,
				timed ? s.tail : NAN };

	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++) {
		buf_putc(out, sep);
		text_put_csv_real(out, real[i]);
	}
	buf_putc(out, sep);
	if (timed)
		buf_printf(out, "%u", s.modes);
}

static void csv_row(struct buf *out, const struct blocks_view *v, const struct blocks_row *r,
		    char sep)
{
	const struct code *c = r->f->code;
	const struct block *k = &r->f->block[r->block];
	const struct code_block *at = &c->block[r->block];
	const double real[] = { k->runs.v,
				k->runs.half,
				NAN,
				k->flow_in,
				k->flow_out,
				k->timed ? k->cycles : NAN,
				k->timed ? k->cycles_sd : NAN };
	struct source_line line = blocks_line(v, r->f, r->block);

	text_put_csv_safe(out, blocks_dso(v, r->f), sep);
	buf_putc(out, sep);
	text_put_csv_safe(out, r->f->symbol->name, sep);
	buf_printf(out, "%c%" PRIu32 "%c0x%" PRIx64 "%c0x%" PRIx64 "%c%" PRIu32, sep, r->block, sep,
		   c->vaddr + at->start, sep, c->vaddr + at->end, sep, at->n);
	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++) {
		buf_putc(out, sep);
		if (i == 2)
			buf_printf(out, "%" PRIu64, k->hits);
		else
			text_put_csv_real(out, real[i]);
	}
	buf_printf(out, "%c%" PRIu64 "%c", sep, k->timed, sep);
	text_put_csv_safe(out, line.file, sep);
	buf_putc(out, sep);
	if (line.line)
		buf_printf(out, "%u", line.line);
	csv_times(out, v, k, sep);
	buf_printf(out, "%c%d%c", sep, k->runs.leans, sep);
	text_put_csv_safe(out, k->runs.why, sep);
	buf_puts(out, "\r\n");
	buf_spill(out);
}

int blocks_csv(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
	       struct err *err)
{
	char head[] = "dso,function,block,start,end,insns,runs,error,hits,in,out,cycles,cycles_sd,"
		      "timed,file,line,p50,p95,tail,modes,leans,why\r\n";

	for (char *p = head; *p; p++)
		*p = *p == ',' ? o->separator : *p;
	buf_puts(out, head);
	for (size_t i = 0; i < v->n_rows && !out->failed; i++)
		if (!v->opts.limit || i < v->opts.limit)
			csv_row(out, v, &v->row[i], o->separator);
	return buf_error(out, err);
}
