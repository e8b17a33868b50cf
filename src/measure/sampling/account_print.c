/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record --account --dry-run: groups and their events, how often each samples, how long it has a
 * counter.
 */
#include "base/num.h"
#include "base/text.h"
#include "measure/sampling/account_plan.h"

/* Once a cycle at most. */
static bool counts_cycles(const struct account_plan *p, const struct account_event *x)
{
	const struct account_node *n = &p->acc->node[x->node];

	return n->event == x->event && n->cycles && n->penalty > 0 && n->penalty <= 1;
}

/* The rate as known before it runs: cycles pass at the clock's rate; for other events only samples
 * per 1e9 occurrences are known. */
static void put_rate(struct buf *b, const struct account_plan *p, const struct account_event *x)
{
	char n[NUM_MAX];
	double per = x->share / (double)x->period;

	if (counts_cycles(p, x) && p->hz > 0)
		buf_printf(b, "  at most %s a second and CPU",
			   num_exact(n, (uint64_t)(p->hz * per + 0.5)));
	else
		buf_printf(b, "  %s in 1e9", num_exact(n, (uint64_t)(1e9 * per + 0.5)));
}

static void put_account_event(struct buf *b, const struct account_plan *p,
			      const struct account_event *x, int width)
{
	char n[NUM_MAX];

	buf_printf(b, "   %-*s  %11s", width, p->m->event[x->event].name, num_exact(n, x->period));
	buf_printf(b, "  %-3.*s", (int)(x->precise & 3), "ppp");
	put_rate(b, p, x);
	if (x->branches)
		buf_puts(b, ", with branch records");
	buf_putc(b, '\n');
}

static int widest(const struct account_plan *p)
{
	int most = 0;

	for (size_t i = 0; i < p->n; i++) {
		int w = (int)text_width(p->m->event[p->ev[i].event].name);

		most = w > most ? w : most;
	}
	return most;
}

static void put_account_head(struct buf *b, const struct account_plan *p)
{
	size_t pinned = 0;
	double least = 1;

	for (size_t i = 0; i < p->n; i++) {
		pinned += p->ev[i].group == ACCOUNT_PINNED;
		least = p->ev[i].share < least ? p->ev[i].share : least;
	}
	buf_printf(b, "%s (%s): %zu events; %zu have a counter all the time", p->m->id, p->m->title,
		   p->n, pinned);
	if (p->schedule.n_core)
		buf_printf(b, ", %zu group%s take%s turns (each %.0f %% of the time or more)",
			   p->schedule.n_core, p->schedule.n_core == 1 ? "" : "s",
			   p->schedule.n_core == 1 ? "s" : "", least * 100);
	buf_puts(b, "\nevent, period, precision asked for, samples\n");
}

void account_plan_print(struct buf *b, const struct account_plan *p, bool verbose)
{
	uint32_t last = MODEL_NONE - 1;
	int width = widest(p);

	put_account_head(b, p);
	for (int pinned = 1; pinned >= 0; pinned--)
		for (uint32_t g = 0; g < (pinned ? 1 : p->schedule.n_groups); g++)
			for (size_t i = 0; i < p->n; i++) {
				const struct account_event *x = &p->ev[i];

				if (x->group != (pinned ? ACCOUNT_PINNED : g))
					continue;
				if (last != x->group && pinned)
					buf_puts(b, " always\n");
				else if (last != x->group)
					buf_printf(b, " group %u, %.0f %% of the time\n", g + 1,
						   x->share * 100);
				last = x->group;
				put_account_event(b, p, x, width);
				if (verbose)
					buf_printf(b, "      %s, for %s\n",
						   p->m->event[x->event].code,
						   p->acc->node[x->node].name);
			}
	for (size_t i = 0; i < p->n_none; i++)
		buf_printf(b, " not sampled: %s, which no counter here can sample by\n",
			   p->m->event[p->none[i]].name);
}
