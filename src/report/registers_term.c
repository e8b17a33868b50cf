/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registers_term - registers as people read them: a block for each place, a line for each register.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page.h"
#include "report/registers_view.h"

struct registers_page {
	struct page p;
	const struct registers_view *v;
};

static const char *real(char out[NUM_MAX], double v)
{
	if (isnan(v))
		(void)snprintf(out, NUM_MAX, "-");
	else
		(void)snprintf(out, NUM_MAX, fabs(v) < 1e6 ? "%.4g" : "%.3e", v);
	return out;
}

/* As many as there is room for; "many" where there are too many to tell. */
static void put_values(struct registers_page *r, const struct registers_cell *c, size_t used)
{
	char value[24], share[NUM_MAX], one[80];
	size_t room = page_room(&r->p, used);

	if (c->more) {
		buf_puts(r->p.out, "more than 16 different");
		if (c->zeros >= 2 && c->zeros < 64)
			buf_printf(r->p.out, ", multiples of %" PRIu64, (uint64_t)1 << c->zeros);
		return;
	}
	for (size_t i = 0; i < c->n_values; i++) {
		int n = snprintf(one, sizeof(one), "%s%s %s", i ? ", " : "",
				 registers_put_value(value, c->guess, c->value[i].v),
				 page_share(share, c->value[i].share));

		if (r->p.st->width && (size_t)n + 4 > room) {
			buf_puts(r->p.out, i ? ", .." : "..");
			return;
		}
		buf_puts(r->p.out, one);
		room -= room < (size_t)n ? room : (size_t)n;
	}
}

static void put_cell(struct registers_page *r, const struct registers_cell *c)
{
	char least[24], most[24], mean[NUM_MAX], half[NUM_MAX + 24], rms[NUM_MAX], bit[16];
	unsigned argument;
	const char *name = registers_name(r->v->r->arch, c->bit, &argument);
	size_t from = r->p.out->len;

	if (!name) {
		(void)snprintf(bit, sizeof(bit), "bit %u", c->bit);
		name = bit;
	}
	buf_printf(r->p.out, "   %-6s", name);
	if (argument)
		buf_printf(r->p.out, "%3u  ", argument);
	else
		buf_puts(r->p.out, "  -  ");
	buf_printf(r->p.out, "%-9s  %14s  %14s  ", registers_guess_name(c->guess),
		   registers_put_value(least, c->guess, c->least),
		   registers_put_value(most, c->guess, c->most));
	if (isnan(c->mean))
		(void)snprintf(half, sizeof(half), "-");
	else if (isnan(c->half))
		(void)snprintf(half, sizeof(half), "%s +-?", real(mean, c->mean));
	else if (c->half > 0)
		(void)snprintf(half, sizeof(half), "%s +-%.2g", real(mean, c->mean), c->half);
	else
		(void)snprintf(half, sizeof(half), "%s", real(mean, c->mean));
	buf_printf(r->p.out, "%16s  %9s  ", half, real(rms, c->rms));
	put_values(r, c, r->p.out->len - from);
	page_end(&r->p);
}

static void put_place(struct registers_page *r, const struct registers_place *p)
{
	char n[NUM_MAX];
	struct buf b = BUF_INIT;

	registers_put_place(&b, p);
	page_end(&r->p);
	buf_putc(r->p.out, ' ');
	page_ink(&r->p, INK_BOLD);
	page_text(&r->p, registers_dso(r->v, p), 0, true);
	buf_putc(r->p.out, ':');
	page_text(&r->p, buf_str(&b), 0, true);
	page_ink(&r->p, INK_PLAIN);
	buf_printf(r->p.out, "  %s %s%s", num_exact(n, p->samples),
		   r->v->r->every ? "time" : "sample", p->samples == 1 ? "" : "s");
	if (p->entry)
		buf_puts(r->p.out, ", at its first instruction");
	if (p->after)
		buf_puts(r->p.out, "; registers are those behind the instruction");
	page_end(&r->p);
	buf_printf(r->p.out, "   %-6s%3s  %-9s  %14s  %14s  %16s  %9s  %s\n", "", "arg",
		   "looks like", "least", "most", "mean", "rms", "values");
	for (size_t i = 0; i < p->n_cells; i++)
		if (registers_shown(r->v, p, &p->cell[i]))
			put_cell(r, &p->cell[i]);
	r->p.out->failed |= b.failed;
	buf_free(&b);
}

static void put_advice(struct registers_page *r, bool quiet)
{
	const struct registers *k = r->v->r;

	if (k->samples == k->without) {
		page_fact(&r->p, "no registers", true,
			  "not one sample has any: record with --intr-regs or --user-regs");
	} else if (!k->at_entry) {
		page_fact(
			&r->p, "no entry", true,
			"no sample is at the first instruction of a function; other instructions: "
			"--at FUNCTION+0xOFFSET");
		if (!quiet)
			page_fact(
				&r->p, "next", false,
				"cyclade record -e uprobe:PROGRAM:FUNCTION --user-regs -- PROGRAM; "
				"all calls, where there is a PMU: -e br_inst_retired.near_call:p "
				"--intr-regs");
	}
}

int registers_term(struct buf *out, const struct registers_view *v, const struct sink_opts *o,
		   struct err *err)
{
	struct registers_page r = { .p = { out, &o->style, BUF_INIT }, .v = v };
	const struct registers *k = v->r;
	char a[NUM_MAX], b[NUM_MAX], c[NUM_MAX];

	page_head(&r.p, &v->source);
	for (size_t i = 0; i < k->n; i++)
		if (k->place[i].wanted)
			put_place(&r, &k->place[i]);
	page_end(&r.p);
	page_fact(&r.p, "samples", false, "%s of %s: %s with registers, %s of these at an entry",
		  num_exact(a, k->samples), v->event->name, num_exact(b, k->samples - k->without),
		  num_exact(c, k->at_entry));
	if (v->more)
		page_fact(&r.p, "not shown", false, "%s more functions' entries (--limit)",
			  num_exact(a, v->more));
	if (!k->every && k->at_entry)
		page_fact(&r.p, "error", false,
			  "a part of all calls was sampled: means and shares are estimates, least "
			  "and "
			  "most what was met");
	if (k->arch == REGISTERS_OTHER)
		page_fact(&r.p, "names", false,
			  "registers of this architecture have numbers only, those of perf's mask");
	put_advice(&r, o->quiet);
	page_recording(&r.p, &v->source);
	buf_free(&r.p.text);
	return out->failed ? err_nomem(err) : 0;
}
