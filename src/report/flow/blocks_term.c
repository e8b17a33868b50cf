/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_term - blocks as people read them: all of a recording, hottest first, then its loops; or
 * the blocks of a function in the order of their addresses, with the edges out of each. Then what
 * the numbers do not cover. Names are cut where the width ends, numbers never.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/num.h"
#include "base/text.h"
#include "report/blocks_view.h"
#include "report/page.h"
#include "show/next.h"

enum {
	ROWS = 20,  /* that are shown unless --limit says */
	LOOPS = 10, /* likewise */
	EDGES = 8,  /* from outside into a block */
	SPANS = 10, /* by address, where there is no code */
	LINE_COLUMNS = 18,
	LOOP_LINE = 14, /* beside more figures */
};

#define ALONE 0.25 /* of a block's runs, to show their times */

struct sheet { /* a page about blocks */
	struct page page;
	const struct blocks_view *v;
};

static double share_of(const struct sheet *p, double insns)
{
	return insns / p->v->b->insns.v;
}

static void put_line_of(struct sheet *p, struct source_line at, size_t width)
{
	buf_reset(&p->page.text);
	if (at.file)
		buf_printf(&p->page.text, "%s:%u", path_base(at.file), at.line);
	page_text(&p->page, buf_str(&p->page.text), width, true);
}

/* Blocks of a function differ by where they begin: that is never cut off. */
static void put_name(struct sheet *p, const struct block_function *f, uint32_t block, size_t width)
{
	char at[24] = "";

	if (f->code && f->code->block[block].start)
		(void)snprintf(at, sizeof(at), "+0x%" PRIx32, f->code->block[block].start);
	page_named(&p->page, f->symbol->name, at, width);
}

/* ---- head ----------------------------------------------------------------------------------- */

static void put_head(struct sheet *p)
{
	const struct flow_sums *s = flow_sums(p->v->b->flow);
	struct buf line = BUF_INIT;
	char a[NUM_MAX];

	page_head(&p->page, &p->v->source);
	buf_printf(&line, "%s branch stacks of ", num_exact(a, s->stacks));
	buf_puts(&line, s->event ? s->event : "several events");
	buf_printf(&line, ", up to %u entries", s->depth);
	buf_putc(p->page.out, ' ');
	page_text(&p->page, buf_str(&line), page_room(&p->page, 1), true);
	page_end(&p->page);
	p->page.out->failed |= line.failed;
	buf_free(&line);
}

/* ---- all blocks ----------------------------------------------------------------------------- */

static bool any_timed(const struct sheet *p)
{
	for (size_t i = 0; i < p->v->n_rows; i++)
		if (p->v->row[i].f->block[p->v->row[i].block].timed)
			return true;
	return false;
}

/* Where it mostly runs together with others, the few times alone are not its times. */
static bool is_alone(const struct block *k)
{
	return k->timed && (double)k->timed >= ALONE * (double)k->hits;
}

static void put_row_numbers(struct sheet *p, const struct blocks_row *r, bool timed)
{
	const struct block *k = &r->f->block[r->block];
	double share = share_of(p, r->insns);
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	page_ink(&p->page, share >= 0.10 ? INK_HOT : share >= 0.02 ? INK_WARM : INK_PLAIN);
	buf_printf(p->page.out, " %7s", num_percent(a, share));
	page_ink(&p->page, INK_PLAIN);
	buf_printf(p->page.out, " %9s %-9s", page_estimate(b, k->runs.v), page_error(c, k->runs));
	buf_printf(p->page.out, " %5" PRIu32, r->f->code->block[r->block].n);
	if (!timed)
		return;
	if (is_alone(k))
		buf_printf(p->page.out, k->cycles < 99999 ? " %7.1f" : " %7.0f", k->cycles);
	else
		buf_printf(p->page.out, " %7s", "-");
}

/* Quantiles of a block's cycles, and what is odd about them. */
static void put_quantiles(struct sheet *p, const struct block *k, bool timed)
{
	struct flow_shape s;
	char a[NUM_MAX], b[NUM_MAX], mark[3];

	if (!timed)
		return;
	if (!is_alone(k) || !blocks_block_shape(p->v, k, &s)) {
		buf_printf(p->page.out, " %5s %5s   ", "-", "-");
		return;
	}
	blocks_mark(mark, &s);
	buf_printf(p->page.out, " %5s %5s %s", blocks_quantile(a, &s.p50),
		   blocks_quantile(b, &s.p95), mark);
}

static void put_rows(struct sheet *p)
{
	const struct blocks_view *v = p->v;
	size_t limit = v->opts.limit ? v->opts.limit : ROWS, shown = 0;
	bool timed = any_timed(p);
	size_t used = timed ? 59 : 36, line = timed ? LOOP_LINE : LINE_COLUMNS, width;
	double rest = 0;

	if (!v->n_rows)
		return;
	width = page_room(&p->page, used + line + 1);
	page_end(&p->page);
	page_ink(&p->page, INK_BOLD);
	buf_printf(p->page.out, "   share %9s %-9s insns", v->b->scaled ? "runs" : "weight",
		   "error");
	buf_printf(p->page.out, "%s  ", timed ? "  cycles   p50   p95   " : "");
	page_text(&p->page, "block", width, false);
	buf_puts(p->page.out, " line");
	page_ink(&p->page, INK_PLAIN);
	page_end(&p->page);
	for (; shown < v->n_rows && shown < limit; shown++) {
		const struct blocks_row *r = &v->row[shown];

		put_row_numbers(p, r, timed);
		put_quantiles(p, &r->f->block[r->block], timed);
		buf_puts(p->page.out, "  ");
		put_name(p, r->f, r->block, width);
		buf_putc(p->page.out, ' ');
		put_line_of(p, blocks_line(v, r->f, r->block), line);
		page_end(&p->page);
	}
	for (size_t i = shown; i < v->n_rows; i++)
		rest += v->row[i].insns;
	if (shown < v->n_rows) {
		char a[NUM_MAX];

		page_ink(&p->page, INK_DIM);
		buf_printf(p->page.out, " %7s %*s(%zu more blocks that ran)",
			   num_percent(a, share_of(p, rest)), (int)(used > 40 ? 40 : used) - 9, "",
			   v->n_rows - shown);
		page_ink(&p->page, INK_PLAIN);
		page_end(&p->page);
	}
}

/* ---- loops ---------------------------------------------------------------------------------- */

static void put_loop(struct sheet *p, const struct blocks_row *r, size_t width)
{
	const struct block_loop *l = &r->f->loop[r->block];
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], d[NUM_MAX];

	buf_printf(p->page.out, " %9s %9s %-9s %9s", page_estimate(a, r->insns),
		   isnan(l->trips.v) ? "?" : page_estimate(b, l->trips.v),
		   isnan(l->trips.v) ? "" : page_error(c, l->trips),
		   l->entries.v > 0 ? page_estimate(d, l->entries.v) : "?");
	buf_printf(p->page.out, " %6" PRIu32 " %5" PRIu32 "  ", l->blocks, l->depth);
	put_name(p, r->f, l->head, width);
	buf_putc(p->page.out, ' ');
	put_line_of(p, blocks_line(p->v, r->f, l->head), LOOP_LINE);
	page_end(&p->page);
}

/* "1 (40 %), 2 (31 %), ...": how often the head ran in visits seen whole. */
static void put_visits(struct sheet *p, const struct block_loop *l)
{
	uint64_t all = 0;
	const size_t n = sizeof(l->trip) / sizeof(*l->trip);
	char a[NUM_MAX], b[NUM_MAX];

	for (size_t i = 0; i < n; i++)
		all += l->trip[i];
	if (!all)
		return;
	buf_printf(p->page.out, "%10s whole visits %s, cut %s: ", "", num_exact(a, l->visits),
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
		buf_printf(p->page.out, "%s%zu%s (%.0f %%)", shown ? ", " : "", best,
			   best + 1 == n ? " or more" : "", 100.0 * most / (double)all);
	}
	buf_puts(p->page.out, " trips");
	page_end(&p->page);
}

static void put_below(struct sheet *p, size_t columns)
{
	buf_printf(p->page.out, "%*s", (int)columns, "");
	text_put_wrapped(p->page.out, buf_str(&p->page.text), columns, p->page.st->width);
	page_end(&p->page);
}

static void put_iteration(struct sheet *p, const struct block_loop *l)
{
	buf_reset(&p->page.text);
	blocks_put_iteration(&p->page.text, p->v->b, l);
	if (!p->page.text.len && p->v->opts.function && any_timed(p))
		buf_puts(&p->page.text, "cycles a round: ? (in no stack two branches to one place, "
					"a round apart)");
	if (p->page.text.len)
		put_below(p, 11);
}

static void put_loops(struct sheet *p)
{
	const struct blocks_view *v = p->v;
	size_t limit = v->opts.limit ? v->opts.limit : LOOPS, shown = 0, used = 56, width;

	if (!v->n_loops)
		return;
	width = page_room(&p->page, used + LOOP_LINE + 1);
	page_end(&p->page);
	page_ink(&p->page, INK_BOLD);
	buf_printf(p->page.out, " %9s %9s %-9s %9s blocks depth  ",
		   v->b->scaled ? "runs" : "weight", "trips", "error", "entries");
	page_text(&p->page, "loop", width, false);
	buf_puts(p->page.out, " line");
	page_ink(&p->page, INK_PLAIN);
	page_end(&p->page);
	for (; shown < v->n_loops && shown < limit; shown++) {
		put_loop(p, &v->loop[shown], width);
		if (v->opts.function)
			put_visits(p, &v->loop[shown].f->loop[v->loop[shown].block]);
		put_iteration(p, &v->loop[shown].f->loop[v->loop[shown].block]);
	}
	if (shown < v->n_loops) {
		page_ink(&p->page, INK_DIM);
		buf_printf(p->page.out, " %*s(%zu more loops that ran)", (int)used - 1, "",
			   v->n_loops - shown);
		page_ink(&p->page, INK_PLAIN);
		page_end(&p->page);
	}
}

/* ---- one function --------------------------------------------------------------------------- */

static void put_target(struct sheet *p, const struct block_function *f, const struct block_edge *e,
		       bool from)
{
	uint32_t block = from ? e->from : e->to;
	const struct symbol *s;
	const char *dso;

	buf_reset(&p->page.text);
	if (block != CODE_NONE) {
		buf_printf(&p->page.text, "%" PRIx64, /* as in its own row */
			   f->code->vaddr + f->code->block[block].start);
	} else {
		s = blocks_symbol(p->v, &e->other, &dso);
		if (s)
			buf_puts(&p->page.text, s->name);
		else
			buf_printf(&p->page.text, "0x%" PRIx64,
				   blocks_vaddr(p->v, e->other.image, e->other.addr));
		if (s && e->other.addr != s->start)
			buf_printf(&p->page.text, "+0x%" PRIx64, e->other.addr - s->start);
		if (e->other.image != f->image)
			buf_printf(&p->page.text, " (%s)", dso ? dso : "in no mapping");
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

static void put_edge(struct sheet *p, const struct block_function *f, const struct block_edge *e,
		     bool from)
{
	char a[NUM_MAX], b[NUM_MAX];
	double wrong = blocks_mispredicted(&e->tally);

	page_ink(&p->page, INK_DIM);
	buf_printf(p->page.out, " %17s %-9s    %s ", page_estimate(a, e->runs.v),
		   page_error(b, e->runs), edge_word(f, e, from));
	put_target(p, f, e, from);
	page_text(&p->page, buf_str(&p->page.text), page_room(&p->page, 64), true);
	if (!e->fallthrough && !isnan(wrong))
		buf_printf(p->page.out,
			   wrong < 0.0995 ? "  mispredicted %.2g %%" : "  mispredicted %.0f %%",
			   100 * wrong);
	page_ink(&p->page, INK_PLAIN);
	page_end(&p->page);
}

/* Edges into a block that come from other functions, hottest first; not returns, which are many and
 * say only that the call came back. */
static void put_edges_in(struct sheet *p, const struct block_function *f, uint32_t block)
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
		buf_printf(p->page.out, "%31s(from %zu more places)", "", left);
		page_end(&p->page);
	}
}

static void put_edges_out(struct sheet *p, const struct block_function *f, uint32_t block)
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

static void put_times(struct sheet *p, const struct block *k)
{
	struct flow_shape s;

	if (!is_alone(k) || !blocks_block_shape(p->v, k, &s))
		return;
	buf_reset(&p->page.text);
	buf_puts(&p->page.text, "cycles: ");
	blocks_put_shape(&p->page.text, &s);
	put_below(p, 31);
}

static void put_block(struct sheet *p, const struct block_function *f, uint32_t i, bool timed)
{
	const struct block *k = &f->block[i];
	char in[NUM_MAX], out[NUM_MAX];
	const struct blocks_row row = { f, i, k->runs.v * f->code->block[i].n };

	put_edges_in(p, f, i);
	put_row_numbers(p, &row, timed);
	buf_printf(p->page.out, "  %9s %9s", page_estimate(in, k->flow_in),
		   page_estimate(out, k->flow_out));
	buf_printf(p->page.out, "  %" PRIx64 " ", f->code->vaddr + f->code->block[i].start);
	if (k->loop != CODE_NONE && f->loop[k->loop].head == i)
		buf_printf(p->page.out, "loop %" PRIu32 " ", f->loop[k->loop].depth);
	put_line_of(p, blocks_line(p->v, f, i), LINE_COLUMNS);
	page_end(&p->page);
	put_times(p, k);
	put_edges_out(p, f, i);
}

static void put_function(struct sheet *p, const struct block_function *f)
{
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX], d[NUM_MAX];
	uint32_t cold = 0;
	bool timed = any_timed(p);

	page_end(&p->page);
	buf_putc(p->page.out, ' ');
	page_ink(&p->page, INK_BOLD);
	page_text(&p->page, f->symbol->name, 0, true);
	page_ink(&p->page, INK_PLAIN);
	buf_puts(p->page.out, "  ");
	page_text(&p->page, blocks_dso(p->v, f), 0, true);
	page_end(&p->page);
	if (!f->code) {
		page_fact(&p->page, "code", true, "not there: %s",
			  image_origin(p->v->images, f->image));
		return;
	}
	buf_printf(p->page.out, " %s instructions, %s of all; entered %s times %s, %zu blocks",
		   num_count(a, f->insns.v), num_percent(b, share_of(p, f->insns.v)),
		   page_estimate(c, f->calls.v), page_error(d, f->calls), f->code->n_blocks);
	page_end(&p->page);
	page_end(&p->page);
	page_ink(&p->page, INK_BOLD);
	buf_printf(p->page.out, "   share %9s %-9s insns", p->v->b->scaled ? "runs" : "weight",
		   "error");
	buf_printf(p->page.out, "%s  %9s %9s  address", timed ? "  cycles" : "", "in", "out");
	page_ink(&p->page, INK_PLAIN);
	page_end(&p->page);
	for (uint32_t i = 0; i < f->code->n_blocks; i++) {
		if (f->block[i].hits) {
			put_block(p, f, i, timed);
			continue;
		}
		for (cold = i; i + 1 < f->code->n_blocks && !f->block[i + 1].hits;)
			i++;
		page_ink(&p->page, INK_DIM);
		buf_printf(p->page.out, "%10s(%u block%s not seen to run)", "", i + 1 - cold,
			   i == cold ? "" : "s");
		page_ink(&p->page, INK_PLAIN);
		page_end(&p->page);
	}
}

/* ---- without code --------------------------------------------------------------------------- */

static bool has_no_code(const struct sheet *p)
{
	return !p->v->b->used;
}

/* The heaviest spans as they are: where from, where to. */
static size_t heaviest(const struct flow_span *s, size_t n, const struct flow_span *best[SPANS],
		       double all[FLOW_SLOTS])
{
	double weight[SPANS];
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		double w = flow_sum(&s[i].w);
		size_t k;

		for (unsigned g = 0; g < FLOW_SLOTS; g++)
			all[g] += s[i].w.group[g];
		if (found == SPANS && weight[SPANS - 1] >= w)
			continue;
		found += found < SPANS;
		for (k = found - 1; k && weight[k - 1] < w; k--) {
			weight[k] = weight[k - 1];
			best[k] = best[k - 1];
		}
		weight[k] = w;
		best[k] = &s[i];
	}
	return found;
}

static void put_spans(struct sheet *p)
{
	size_t n;
	const struct flow_span *s = flow_spans(p->v->b->flow, &n), *best[SPANS];
	double all[FLOW_SLOTS] = { 0 };
	size_t rows = heaviest(s, n, best, all);

	if (!n)
		return;
	page_end(&p->page);
	page_ink(&p->page, INK_BOLD);
	buf_printf(p->page.out, " %7s %9s %9s  %s", "share", "error", "seen",
		   "code that ran from one branch to the next");
	page_ink(&p->page, INK_PLAIN);
	page_end(&p->page);
	for (size_t k = 0; k < rows; k++) {
		const struct flow_place at = { best[k]->image, best[k]->start, best[k]->kind };
		struct flow_value share = flow_ratio(best[k]->w.group, all);
		char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];
		const char *dso;
		const struct symbol *sym = blocks_symbol(p->v, &at, &dso);

		buf_printf(p->page.out, " %7s %9s %9s  ", num_percent(a, share.v),
			   page_error(b, share), num_exact(c, best[k]->w.hits));
		buf_reset(&p->page.text);
		buf_printf(&p->page.text, "%" PRIx64 "-%" PRIx64 "  ",
			   blocks_vaddr(p->v, at.image, at.addr),
			   blocks_vaddr(p->v, at.image, best[k]->end));
		if (sym)
			buf_printf(&p->page.text, "%s  ", sym->name);
		buf_puts(&p->page.text, dso ? dso : "(in no mapping)");
		page_text(&p->page, buf_str(&p->page.text), page_room(&p->page, 30), true);
		page_end(&p->page);
	}
	if (n > SPANS) {
		buf_printf(p->page.out, "%30s(%zu more)", "", n - SPANS);
		page_end(&p->page);
	}
}

/* ---- what to think of it -------------------------------------------------------------------- */

static void put_drops(struct sheet *p)
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
	page_fact(&p->page, "stretches used", all && gone > all / 20,
		  "%s of %s between two branches; %s not", num_exact(x, b->used), num_exact(y, all),
		  num_percent((char[NUM_MAX]){ 0 }, all ? (double)gone / (double)all : NAN));
	for (unsigned d = 0; d < BLOCK_DROPS; d++)
		if (b->dropped[d])
			page_fact(&p->page, "  not used", false, "%s: %s",
				  num_exact(x, b->dropped[d]), block_drop_text[d]);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i].n)
			page_fact(&p->page, "  not used", false, "%s: %s", num_exact(x, pairs[i].n),
				  pairs[i].text);
}

/* By the blocks; where none could be made, by the stacks alone. */
static void put_balance(struct sheet *p)
{
	bool blocks = p->v->balance.places;
	const struct flow_balance *b = blocks ? &p->v->balance : &p->v->places;
	char x[NUM_MAX], y[NUM_MAX], z[NUM_MAX], within[2 * NUM_MAX] = "";

	if (b->judged)
		(void)snprintf(within, sizeof(within),
			       "; %s of them by no more than the error of their count",
			       num_exact(z, b->within));
	if (b->places)
		page_fact(&p->page, "in and out", b->apart > 0.05,
			  "%s by %s over %s %s seen %u times or more%s",
			  blocks ? "differ"
				 : "branches to and from places and the stretches between differ",
			  num_percent(x, b->apart), num_exact(y, b->places),
			  blocks ? "blocks" : "places", BLOCKS_BALANCE_HITS, within);
}

static void put_times_facts(struct sheet *p)
{
	if (any_timed(p))
		page_fact(&p->page, "times", false,
			  "of branch records, cycles; m: several modes, t: the slowest 5 %% have a "
			  "quarter of the cycles or more; ?: too few stacks to bound it; -: mostly "
			  "runs on into other blocks, or was not timed");
}

static void put_facts(struct sheet *p)
{
	const struct blocks *b = p->v->b;
	const struct flow_sums *s = flow_sums(b->flow);
	char x[NUM_MAX], y[NUM_MAX];

	page_end(&p->page);
	page_stacks(&p->page, &p->v->source, s);
	put_drops(p);
	if (s->repeated)
		page_fact(
			&p->page, "repeated", false,
			"%s stacks begin with one branch twice, which cannot be: an erratum of the "
			"processor, the copies are left out",
			num_exact(x, s->repeated));
	if (b->used && b->scaled)
		page_fact(&p->page, "instructions", false, "%s %s, by runs of blocks",
			  num_count(x, b->insns.v), page_error(y, b->insns));
	if (b->used && b->scaled)
		page_fact(&p->page, "runs", false, "by %s: %s", b->by, blocks_scale_says(b));
	else if (b->used)
		page_fact(&p->page, "weights", true,
			  "no executions, only to be compared with each other: %s; "
			  "record with -e br_inst_retired.near_taken or instructions",
			  blocks_scale_says(b));
	if (s->biased && s->weighed)
		page_fact(&p->page, "bias", false,
			  "samples fall more easily into long or slow code; stacks weigh the less, "
			  "the more the code costs in which they were taken");
	else if (s->biased)
		page_fact(&p->page, "bias", true,
			  "stacks are more often of code near what the event counts; an event of "
			  "taken "
			  "branches has no such favour");
	put_times_facts(p);
	put_balance(p);
	page_recording(&p->page, &p->v->source);
}

static void put_next(struct sheet *p)
{
	const struct blocks_view *v = p->v;
	struct next list[NEXT_MAX];
	struct arena a = ARENA_INIT;
	struct next_list l = { .v = list, .a = &a, .input = v->source.input };

	if (v->n_rows && !v->opts.function)
		next_add(&l, "blocks", "", v->row->f->symbol->name, "its blocks, edges and loops");
	if (v->n_rows)
		next_add(&l, "annotate", "", v->row->f->symbol->name,
			 "with source lines and instructions");
	if (has_no_code(p))
		next_add(&l, "blocks", "--symbols DIR", NULL, "where the programs that ran are");
	else
		next_add(&l, "report", "-b", NULL,
			 "branch by branch: where to, how often, mispredicted");
	next_put(p->page.out, list, l.n, p->page.st);
	arena_free(&a);
}

int blocks_term(struct buf *out, const struct blocks_view *v, const struct sink_opts *o,
		struct err *err)
{
	struct sheet p = { .page = { .out = out, .st = &o->style }, .v = v };

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
	if (!has_no_code(&p) && blocks_put_stretches(&p.page, v))
		out->failed = true;
	put_facts(&p);
	if (!o->quiet)
		put_next(&p);
	out->failed |= p.page.text.failed;
	buf_free(&p.page.text);
	return buf_error(out, err);
}
