/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_term - blocks as people read them: all of a recording, hottest first, then its loops; or
 * the blocks of a function in the order of their addresses, with the edges out of each. Then what the
 * numbers do not cover. Names are cut where the width ends, numbers never.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "report/blocks_view.h"
#include "report/facts.h"
#include "report/next.h"

enum {
	ROWS = 20,  /* that are shown unless --limit says */
	LOOPS = 10, /* likewise */
	EDGES = 8,  /* from outside into a block */
	SPANS = 10, /* by address, where there is no code */
	LINE_COLUMNS = 18,
};

struct page {
	struct buf *out;
	const struct blocks_view *v;
	const struct style *st;
	bool quiet;
	struct buf text; /* scratch */
};

static void ink(struct page *p, enum ink i)
{
	style_ink(p->out, p->st, i);
}

static void end_line(struct page *p)
{
	while (p->out->len && p->out->s[p->out->len - 1] == ' ')
		p->out->s[--p->out->len] = '\0';
	buf_putc(p->out, '\n');
}

/* Outside text in so many columns; 0: as many as it needs. */
static void put_text(struct page *p, const char *s, size_t width, bool last)
{
	struct buf safe = BUF_INIT;

	text_put_safe(&safe, s, p->st->ascii);
	if (!width || (last && text_width(buf_str(&safe)) <= width))
		buf_puts(p->out, buf_str(&safe));
	else
		text_put_fit(p->out, buf_str(&safe), width, TEXT_LEFT, false, p->st->ascii);
	p->out->failed |= safe.failed;
	buf_free(&safe);
}

/* What is left of the width behind so many columns. */
static size_t room(const struct page *p, size_t used)
{
	size_t width = p->st->width ? p->st->width : 100;

	return width > used + 8 ? width - used : 8;
}

/* "+-1.2 %" of its value. */
static const char *error_text(char out[NUM_MAX], struct flow_value v)
{
	double share = v.half / v.v;

	if (!isfinite(share))
		(void)snprintf(out, NUM_MAX, "+-?");
	else if (share >= 0.9995)
		(void)snprintf(out, NUM_MAX, "+->100 %%");
	else
		(void)snprintf(out, NUM_MAX, "+-%.1f %%", 100 * share);
	return out;
}

/* Three digits or more of what is an estimate: whole numbers from a hundred on. */
static const char *runs_text(char out[NUM_MAX], double v)
{
	if (v >= 0 && v < 99.5)
		(void)snprintf(out, NUM_MAX, "%.3g", v);
	else
		(void)num_count(out, v < 1e6 ? round(v) : v);
	return out;
}

static double share_of(const struct page *p, double insns)
{
	return insns / p->v->b->insns.v;
}

static void put_line_of(struct page *p, struct source_line at, size_t width)
{
	buf_reset(&p->text);
	if (at.file)
		buf_printf(&p->text, "%s:%u", path_base(at.file), at.line);
	put_text(p, buf_str(&p->text), width, true);
}

static void put_wrapped(struct page *p, const char *label, const char *text, bool bad)
{
	size_t at = 17, indent = 17;

	buf_printf(p->out, " %-15s ", label);
	if (bad)
		ink(p, INK_WARM);
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, " ");

		if (at > indent && p->st->width && at + n > p->st->width) {
			end_line(p);
			buf_fill(p->out, ' ', indent);
			at = indent;
		} else if (at > indent) {
			buf_putc(p->out, ' ');
		}
		buf_put(p->out, s, n);
		at += n + 1;
		s += n + (s[n] == ' ');
	}
	if (bad)
		ink(p, INK_PLAIN);
	end_line(p);
}

static void put_fact(struct page *p, const char *label, bool bad, const char *fmt, ...)
	PRINTF_(4, 5);

static void put_fact(struct page *p, const char *label, bool bad, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_wrapped(p, label, text, bad);
}

/* ---- head ----------------------------------------------------------------------------------- */

static void put_head(struct page *p)
{
	const struct flow_sums *s = flow_sums(p->v->b->flow);
	const struct view v = { .source = p->v->source };
	struct buf line = BUF_INIT;
	char a[NUM_MAX];

	fact_command(&line, &v, p->st->ascii);
	buf_putc(p->out, ' ');
	ink(p, INK_BOLD);
	put_text(p, buf_str(&line), room(p, 1), true);
	ink(p, INK_PLAIN);
	end_line(p);
	buf_reset(&line);
	fact_machine(&line, &v, p->st->ascii);
	buf_putc(p->out, ' ');
	ink(p, INK_DIM);
	put_text(p, buf_str(&line), room(p, 1), true);
	ink(p, INK_PLAIN);
	end_line(p);
	buf_reset(&line);
	buf_printf(&line, "%s branch stacks of ", num_exact(a, s->stacks));
	buf_puts(&line, s->event ? s->event : "several events");
	buf_printf(&line, ", up to %u entries", s->depth);
	buf_putc(p->out, ' ');
	put_text(p, buf_str(&line), room(p, 1), true);
	end_line(p);
	p->out->failed |= line.failed;
	buf_free(&line);
}

/* ---- all blocks ----------------------------------------------------------------------------- */

static bool any_timed(const struct page *p)
{
	for (size_t i = 0; i < p->v->n_rows; i++)
		if (p->v->row[i].f->block[p->v->row[i].block].timed)
			return true;
	return false;
}

static void put_row_numbers(struct page *p, const struct blocks_row *r, bool timed)
{
	const struct block *k = &r->f->block[r->block];
	double share = share_of(p, r->insns);
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	ink(p, share >= 0.10 ? INK_HOT : share >= 0.02 ? INK_WARM : INK_PLAIN);
	buf_printf(p->out, " %7s", num_percent(a, share));
	ink(p, INK_PLAIN);
	buf_printf(p->out, " %9s %-9s", runs_text(b, k->runs.v), error_text(c, k->runs));
	buf_printf(p->out, " %5" PRIu32, r->f->code->block[r->block].n);
	if (!timed)
		return;
	if (k->timed)
		buf_printf(p->out, " %7.1f", k->cycles);
	else
		buf_printf(p->out, " %7s", "-");
}

static void put_rows(struct page *p)
{
	const struct blocks_view *v = p->v;
	size_t limit = v->opts.limit ? v->opts.limit : ROWS, shown = 0;
	bool timed = any_timed(p);
	size_t used = timed ? 44 : 36, width;
	double rest = 0;

	if (!v->n_rows)
		return;
	width = room(p, used + LINE_COLUMNS + 1);
	end_line(p);
	ink(p, INK_BOLD);
	buf_printf(p->out, "   share %9s %-9s insns%s  ", v->b->scaled ? "runs" : "weight", "error",
		   timed ? "  cycles" : "");
	put_text(p, "block", width, false);
	buf_puts(p->out, " line");
	ink(p, INK_PLAIN);
	end_line(p);
	for (; shown < v->n_rows && shown < limit; shown++) {
		const struct blocks_row *r = &v->row[shown];

		put_row_numbers(p, r, timed);
		buf_puts(p->out, "  ");
		buf_reset(&p->text);
		blocks_put_name(&p->text, r->f, r->block);
		put_text(p, buf_str(&p->text), width, false);
		buf_putc(p->out, ' ');
		put_line_of(p, blocks_line(v, r->f, r->block), LINE_COLUMNS);
		end_line(p);
	}
	for (size_t i = shown; i < v->n_rows; i++)
		rest += v->row[i].insns;
	if (shown < v->n_rows) {
		char a[NUM_MAX];

		ink(p, INK_DIM);
		buf_printf(p->out, " %7s %*s(%zu more blocks that ran)",
			   num_percent(a, share_of(p, rest)), (int)used - 9, "", v->n_rows - shown);
		ink(p, INK_PLAIN);
		end_line(p);
	}
}

/* ---- loops ---------------------------------------------------------------------------------- */

static void put_loop(struct page *p, const struct blocks_row *r, size_t width)
{
	const struct block_loop *l = &r->f->loop[r->block];
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], d[NUM_MAX];

	buf_printf(p->out, " %9s %9s %-9s %9s", runs_text(a, r->insns),
		   isnan(l->trips.v) ? "?" : runs_text(b, l->trips.v),
		   isnan(l->trips.v) ? "" : error_text(c, l->trips),
		   l->entries.v > 0 ? runs_text(d, l->entries.v) : "?");
	buf_printf(p->out, " %6" PRIu32 " %5" PRIu32 "  ", l->blocks, l->depth);
	buf_reset(&p->text);
	blocks_put_name(&p->text, r->f, l->head);
	put_text(p, buf_str(&p->text), width, false);
	buf_putc(p->out, ' ');
	put_line_of(p, blocks_line(p->v, r->f, l->head), LINE_COLUMNS);
	end_line(p);
}

/* "1 (40 %), 2 (31 %), ...": how often the head ran in visits seen whole. */
static void put_visits(struct page *p, const struct block_loop *l)
{
	uint64_t all = 0;
	const size_t n = sizeof(l->trip) / sizeof(*l->trip);
	char a[NUM_MAX], b[NUM_MAX];

	for (size_t i = 0; i < n; i++)
		all += l->trip[i];
	if (!all)
		return;
	buf_printf(p->out, "%10s whole visits %s, cut %s: ", "", num_exact(a, l->visits),
		   num_exact(b, l->cut));
	for (unsigned shown = 0; shown < 3; shown++) {
		size_t best = 0;
		uint32_t most = 0;

		for (size_t i = 0; i < n; i++) {
			unsigned before = 0; /* in order of how often, then of trips */

			for (size_t k = 0; k < n; k++)
				before += l->trip[k] > l->trip[i] ||
					  (l->trip[k] == l->trip[i] && k < i);
			if (before == shown && l->trip[i]) {
				best = i;
				most = l->trip[i];
			}
		}
		if (!most)
			break;
		buf_printf(p->out, "%s%zu%s (%.0f %%)", shown ? ", " : "", best,
			   best + 1 == n ? " or more" : "", 100.0 * most / (double)all);
	}
	buf_puts(p->out, " trips");
	end_line(p);
}

static void put_loops(struct page *p)
{
	const struct blocks_view *v = p->v;
	size_t limit = v->opts.limit ? v->opts.limit : LOOPS, shown = 0, used = 56, width;

	if (!v->n_loops)
		return;
	width = room(p, used + LINE_COLUMNS + 1);
	end_line(p);
	ink(p, INK_BOLD);
	buf_printf(p->out, " %9s %9s %-9s %9s blocks depth  ", v->b->scaled ? "runs" : "weight",
		   "trips", "error", "entries");
	put_text(p, "loop", width, false);
	buf_puts(p->out, " line");
	ink(p, INK_PLAIN);
	end_line(p);
	for (; shown < v->n_loops && shown < limit; shown++) {
		put_loop(p, &v->loop[shown], width);
		if (v->opts.function)
			put_visits(p, &v->loop[shown].f->loop[v->loop[shown].block]);
	}
	if (shown < v->n_loops) {
		ink(p, INK_DIM);
		buf_printf(p->out, " %*s(%zu more loops that ran)", (int)used - 1, "",
			   v->n_loops - shown);
		ink(p, INK_PLAIN);
		end_line(p);
	}
}

/* ---- one function --------------------------------------------------------------------------- */

static void put_target(struct page *p, const struct block_function *f, const struct block_edge *e,
		       bool from)
{
	uint32_t block = from ? e->from : e->to;
	const struct symbol *s;
	const char *dso;

	buf_reset(&p->text);
	if (block != CODE_NONE) {
		blocks_put_name(&p->text, f, block);
	} else {
		s = blocks_symbol(p->v, &e->other, &dso);
		if (s)
			buf_puts(&p->text, s->name);
		else
			buf_printf(&p->text, "0x%" PRIx64,
				   blocks_vaddr(p->v, e->other.image, e->other.addr));
		if (s && e->other.addr != s->start)
			buf_printf(&p->text, "+0x%" PRIx64, e->other.addr - s->start);
		if (e->other.image != f->image)
			buf_printf(&p->text, " (%s)", dso ? dso : "in no mapping");
	}
}

static const char *edge_word(const struct block_function *f, const struct block_edge *e, bool from)
{
	static const char *const words[] = {
		[INSN_OTHER] = "runs on to",  [INSN_JUMP] = "jumps to",
		[INSN_COND] = "jumps to",     [INSN_CALL] = "calls",
		[INSN_RETURN] = "returns to", [INSN_SYSTEM] = "by way of the kernel",
		[INSN_STOP] = "leaves for",
	};

	if (e->fallthrough)
		return from ? "runs on from" : "runs on to";
	if (from)
		return "from";
	return words[f->code->block[e->from].flow];
}

static void put_edge(struct page *p, const struct block_function *f, const struct block_edge *e,
		     bool from)
{
	char a[NUM_MAX], b[NUM_MAX];
	double wrong = blocks_mispredicted(&e->tally);

	ink(p, INK_DIM);
	buf_printf(p->out, " %17s %-9s    %s ", runs_text(a, e->runs.v), error_text(b, e->runs),
		   edge_word(f, e, from));
	put_target(p, f, e, from);
	put_text(p, buf_str(&p->text), room(p, 64), true);
	if (!e->fallthrough && !isnan(wrong))
		buf_printf(p->out,
			   wrong < 0.0995 ? "  mispredicted %.2g %%" : "  mispredicted %.0f %%",
			   100 * wrong);
	ink(p, INK_PLAIN);
	end_line(p);
}

/* Edges into a block that come from other functions, hottest first; not returns, which are many and
 * say only that the call came back. */
static void put_edges_in(struct page *p, const struct block_function *f, uint32_t block)
{
	size_t left = 0;
	const struct block_edge *best[EDGES] = { NULL };

	if (block && f->code->block[block - 1].flow == INSN_CALL)
		return;
	for (size_t i = 0; i < f->n_edges; i++) {
		const struct block_edge *e = &f->edge[i];

		if (e->to != block || e->from != CODE_NONE)
			continue;
		for (size_t k = 0; k < EDGES && e; k++) {
			if (best[k] && best[k]->runs.v >= e->runs.v)
				continue;
			const struct block_edge *t = best[k];

			best[k] = e;
			e = t;
		}
		left += e != NULL;
	}
	for (size_t k = 0; k < EDGES && best[k]; k++)
		put_edge(p, f, best[k], true);
	if (left) {
		buf_printf(p->out, "%31s(from %zu more places)", "", left);
		end_line(p);
	}
}

static void put_edges_out(struct page *p, const struct block_function *f, uint32_t block)
{
	size_t lo = 0, hi = f->n_edges;

	while (lo < hi) { /* sorted by where they leave from */
		size_t mid = lo + (hi - lo) / 2;

		if (f->edge[mid].from < block)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->n_edges && f->edge[lo].from == block; lo++)
		put_edge(p, f, &f->edge[lo], false);
}

static void put_block(struct page *p, const struct block_function *f, uint32_t i, bool timed)
{
	const struct block *k = &f->block[i];
	char in[NUM_MAX], out[NUM_MAX];
	const struct blocks_row row = { f, i, k->runs.v * f->code->block[i].n };

	put_edges_in(p, f, i);
	put_row_numbers(p, &row, timed);
	buf_printf(p->out, "  %9s %9s", runs_text(in, k->flow_in), runs_text(out, k->flow_out));
	buf_printf(p->out, "  %" PRIx64 " ", f->code->vaddr + f->code->block[i].start);
	if (k->loop != CODE_NONE && f->loop[k->loop].head == i)
		buf_printf(p->out, "loop %" PRIu32 " ", f->loop[k->loop].depth);
	put_line_of(p, blocks_line(p->v, f, i), LINE_COLUMNS);
	end_line(p);
	put_edges_out(p, f, i);
}

static void put_function(struct page *p, const struct block_function *f)
{
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], d[NUM_MAX];
	uint32_t cold = 0;
	bool timed = any_timed(p);

	end_line(p);
	buf_putc(p->out, ' ');
	ink(p, INK_BOLD);
	put_text(p, f->symbol->name, 0, true);
	ink(p, INK_PLAIN);
	buf_puts(p->out, "  ");
	put_text(p, blocks_dso(p->v, f), 0, true);
	end_line(p);
	if (!f->code) {
		put_fact(p, "code", true, "not there: %s", image_origin(p->v->images, f->image));
		return;
	}
	buf_printf(p->out, " %s instructions, %s of all; entered %s times %s, %zu blocks",
		   num_count(a, f->insns.v), num_percent(b, share_of(p, f->insns.v)),
		   runs_text(c, f->calls.v), error_text(d, f->calls), f->code->n_blocks);
	end_line(p);
	end_line(p);
	ink(p, INK_BOLD);
	buf_printf(p->out, "   share %9s %-9s insns%s  %9s %9s  address",
		   p->v->b->scaled ? "runs" : "weight", "error", timed ? "  cycles" : "", "in",
		   "out");
	ink(p, INK_PLAIN);
	end_line(p);
	for (uint32_t i = 0; i < f->code->n_blocks; i++) {
		if (f->block[i].hits) {
			put_block(p, f, i, timed);
			continue;
		}
		for (cold = i; i + 1 < f->code->n_blocks && !f->block[i + 1].hits;)
			i++;
		ink(p, INK_DIM);
		buf_printf(p->out, "%10s(%u block%s not seen to run)", "", i + 1 - cold,
			   i == cold ? "" : "s");
		ink(p, INK_PLAIN);
		end_line(p);
	}
}

/* ---- without code --------------------------------------------------------------------------- */

static bool has_no_code(const struct page *p)
{
	return !p->v->b->used;
}

/* The spans with most hits as they are: where from, where to. */
static void put_spans(struct page *p)
{
	size_t n;
	const struct flow_span *s = flow_spans(p->v->b->flow, &n), *best[SPANS] = { NULL };
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++) {
		const struct flow_span *x = &s[i];

		all += x->w.hits;
		for (size_t k = 0; k < SPANS && x; k++) {
			const struct flow_span *t = best[k];

			if (t && t->w.hits >= x->w.hits)
				continue;
			best[k] = x;
			x = t;
		}
	}
	if (!n)
		return;
	end_line(p);
	ink(p, INK_BOLD);
	buf_printf(p->out, " %7s %9s  %s", "share", "seen",
		   "code that ran from one branch to the next");
	ink(p, INK_PLAIN);
	end_line(p);
	for (size_t k = 0; k < SPANS && best[k]; k++) {
		const struct flow_place at = { best[k]->image, best[k]->start, best[k]->kind };
		char a[NUM_MAX], b[NUM_MAX];
		const char *dso;
		const struct symbol *sym = blocks_symbol(p->v, &at, &dso);

		buf_printf(p->out, " %7s %9s  ",
			   num_percent(a, (double)best[k]->w.hits / (double)all),
			   num_exact(b, best[k]->w.hits));
		buf_reset(&p->text);
		buf_printf(&p->text, "%" PRIx64 "-%" PRIx64 "  ",
			   blocks_vaddr(p->v, at.image, at.addr),
			   blocks_vaddr(p->v, at.image, best[k]->end));
		if (sym)
			buf_printf(&p->text, "%s  ", sym->name);
		buf_puts(&p->text, dso ? dso : "(in no mapping)");
		put_text(p, buf_str(&p->text), room(p, 20), true);
		end_line(p);
	}
	if (n > SPANS) {
		buf_printf(p->out, "%20s(%zu more)", "", n - SPANS);
		end_line(p);
	}
}

/* ---- what to think of it -------------------------------------------------------------------- */

static void put_drops(struct page *p)
{
	const struct blocks *b = p->v->b;
	const struct flow_sums *s = flow_sums(b->flow);
	uint64_t all = b->used, gone = 0;
	const struct {
		uint64_t n;
		const char *text;
	} pairs[] = {
		{ s->switched - b->system, "between kernel and user space" },
		{ s->crossing, "between different files, or in no mapping" },
		{ s->backwards, "the newer one leaves below where the older one led" },
		{ s->far_apart, "too far apart to be one run of code" },
	};
	char x[NUM_MAX], y[NUM_MAX];

	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		gone += b->dropped[d];
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		gone += pairs[i].n;
	all += gone;
	put_fact(p, "stretches used", all && gone > all / 20,
		 "%s of %s between two branches; %s not", num_exact(x, b->used), num_exact(y, all),
		 num_percent((char[NUM_MAX]){ 0 }, all ? (double)gone / (double)all : NAN));
	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		if (b->dropped[d])
			put_fact(p, "  not used", false, "%s: %s", num_exact(x, b->dropped[d]),
				 block_drop_text[d]);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i].n)
			put_fact(p, "  not used", false, "%s: %s", num_exact(x, pairs[i].n),
				 pairs[i].text);
}

static void put_facts(struct page *p)
{
	const struct blocks *b = p->v->b;
	const struct flow_sums *s = flow_sums(b->flow);
	const struct view v = { .source = p->v->source };
	struct fact f[FACTS_MAX];
	char x[NUM_MAX], y[NUM_MAX];
	size_t n;

	end_line(p);
	put_fact(p, "samples", false, "%s, %s with branches, %s without%s",
		 num_exact(x, s->samples), num_exact(y, s->stacks),
		 num_exact((char[NUM_MAX]){ 0 }, s->empty),
		 s->user_only ? "; branches of user space only" : "");
	if (s->left_out)
		put_fact(p, "left out", false, "%s samples, by options", num_exact(x, s->left_out));
	if (s->bad)
		put_fact(p, "unreadable", true, "%s samples", num_exact(x, s->bad));
	put_drops(p);
	if (b->used && b->scaled)
		put_fact(p, "instructions", false, "%s %s, by runs of blocks",
			 num_count(x, b->insns.v), error_text(y, b->insns));
	if (b->used && b->scaled)
		put_fact(p, "runs", false, "by %s: %s", b->by, blocks_scale_says(b));
	else if (b->used)
		put_fact(p, "weights", true,
			 "no executions, only to be compared with each other: %s; "
			 "record with -e br_inst_retired.near_taken or instructions",
			 blocks_scale_says(b));
	if (s->biased && s->weighed)
		put_fact(p, "bias", false,
			 "samples fall more easily into long or slow code; stacks weigh the less, "
			 "the more the code costs in which they were taken");
	else if (s->biased)
		put_fact(p, "bias", true,
			 "stacks are more often of code near what the event counts; an event of "
			 "taken "
			 "branches has no such favour");
	if (s->late)
		put_fact(p, "late", false,
			 "the event is not precise: samples come some time after what it counts, "
			 "and more often where the processor waits, which no error bar tells; :pp "
			 "asks for a precise one");
	if (!isnan(p->v->balance))
		put_fact(p, "in and out", p->v->balance > 0.05,
			 "differ by %s of runs, over blocks seen %u times or more",
			 num_percent(x, p->v->balance), BLOCKS_BALANCE_HITS);
	n = facts_of_recording(&v, f);
	for (size_t i = 0; i < n; i++)
		put_wrapped(p, f[i].label, f[i].text, f[i].bad);
	for (size_t i = 0; i < p->v->source.n_notes; i++) {
		buf_reset(&p->text);
		text_put_safe(&p->text, p->v->source.notes[i], p->st->ascii);
		put_wrapped(p, "note", buf_str(&p->text), true);
	}
}

static void add_next(struct page *p, struct next *list, size_t *n, struct arena *a,
		     const char *verb, const char *word, const char *tail, const char *why)
{
	struct buf b = BUF_INIT;
	bool fine = true;

	buf_printf(&b, "cyclade %s", verb);
	if (p->v->source.input) {
		buf_puts(&b, " -i ");
		fine &= next_word(&b, p->v->source.input);
	}
	buf_puts(&b, tail);
	if (word) {
		buf_puts(&b, *word == '-' ? " -- " : " ");
		fine &= next_word(&b, word);
	}
	list[*n].command = fine && !b.failed ? arena_strndup(a, b.s, b.len) : NULL;
	list[*n].why = why;
	*n += list[*n].command != NULL;
	buf_free(&b);
}

static void put_next(struct page *p)
{
	const struct blocks_view *v = p->v;
	struct next list[NEXT_MAX];
	struct arena a = ARENA_INIT;
	size_t n = 0;

	if (v->n_rows && !v->opts.function)
		add_next(p, list, &n, &a, "blocks", v->row->f->symbol->name, "",
			 "its blocks, edges and loops");
	if (v->n_rows)
		add_next(p, list, &n, &a, "annotate", v->row->f->symbol->name, "",
			 "with source lines and instructions");
	if (has_no_code(p))
		add_next(p, list, &n, &a, "blocks", NULL, " --symbols DIR",
			 "where the programs that ran are");
	else
		add_next(p, list, &n, &a, "report", NULL, " -b",
			 "branch by branch: where to, how often, mispredicted");
	next_put(p->out, list, n, p->st);
	arena_free(&a);
}

int blocks_term(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
		struct err *err)
{
	struct page p = { .out = out, .v = v, .st = &o->style };

	put_head(&p);
	if (has_no_code(&p)) {
		put_spans(&p);
	} else if (v->opts.function) {
		for (size_t i = 0; i < v->b->n; i++)
			put_function(&p, &v->b->f[i]);
		put_loops(&p);
	} else {
		put_rows(&p);
		put_loops(&p);
	}
	put_facts(&p);
	if (!o->quiet)
		put_next(&p);
	out->failed |= p.text.failed;
	buf_free(&p.text);
	return out->failed ? err_nomem(err) : 0;
}
