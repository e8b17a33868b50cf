/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/stages.h"

#include <math.h>
#include <string.h>

#include "model/rounds.h"

#define MS	    1000000ull
#define TURN	    (4 * MS) /* the kernel's rotation, by default */
#define SLICE_MIN   (5 * MS)
#define SLICE_FIRST (1 * MS) /* as long as one group is alone: it need not wait for its turn */
#define SLICES_GROW 30	     /* readings after which slices are twice as long */
#define CLOSE_AFTER 4
#define PATIENCE    3
#define KEEP_MAX    (5000 * MS)
#define VISIT_SHARE 0.15  /* of the time */
#define WORTH	    0.002 /* of the run so far: a smaller unseen share needs no visit */

enum wish { NOT_WANTED, UNSURE, WANTED };

struct stages_state {
	bool open, was_open;
	enum wish wish;		/* of the decision at hand */
	unsigned idle;		/* decisions in a row that did not want it */
	uint64_t wanted, since; /* ns for which it was wanted; and for which it was not, in a row */
	unsigned unsure;	/* trees in a row in which the node may matter */
	bool visited;		/* it is on for a slice */
	double share;		/* upper bound of its node's share now; of the decision at hand */
	double unseen;		/* its node's time while it was closed, in ns of the whole */
	unsigned visits;
};

int stages_new(struct stages *s, struct arena *a, const struct model *m, const struct plan *plan,
	       uint64_t seed, struct err *err)
{
	s->random = seed;
	s->m = m;
	s->plan = plan;
	s->stage = arena_alloc(a, (plan->n_stages + 1) * sizeof(*s->stage));
	s->may = arena_alloc(a, m->n_metrics + 1);
	s->stage_of = arena_alloc(a, (m->n_metrics + 1) * sizeof(*s->stage_of));
	if (!s->stage || !s->may || !s->stage_of)
		return err_nomem(err);
	for (uint32_t i = 0; i < m->n_metrics; i++)
		for (uint32_t k = 1; k < plan->n_stages; k++)
			if (m->metric[i].parent != MODEL_NONE &&
			    plan->stage[k].under == m->metric[i].parent)
				s->stage_of[i] = k;
	s->stage[0].open = true;
	return 0;
}

void stages_begin(struct stages *s, bool keep)
{
	for (size_t i = 0; i < s->plan->n_stages; i++) {
		bool open = !i || (keep && s->stage[i].open);

		s->stage[i] = (struct stages_state){ .open = open, .was_open = open };
	}
	s->last = s->next_visit = 0;
	s->visiting = false;
	s->visits = 0;
}

/* How much the stage under a node is wanted, if tree_open() opens the node. A node without a
 * threshold cannot get surer. */
static enum wish wish_of(const struct tree *t, uint32_t under)
{
	return t->node[under].over || !t->model->metric[under].threshold ? WANTED : UNSURE;
}

/* Upper bound of a node's share now: if it is not counted, its parent's. */
static double stage_share_of(const struct stages *s, const struct tree *t, uint32_t node)
{
	for (; node != MODEL_NONE; node = s->m->metric[node].parent) {
		double v = t->node[node].value.v;

		if (s->stage[s->stage_of[node]].open && t->node[node].value.why == VALUE_OK)
			return v < 0 ? 0 : v > 1 ? 1 : v;
	}
	return 1;
}

void stages_ask(struct stages *s, const struct tree *t)
{
	tree_open(t, s->may);
	for (size_t i = 1; i < s->plan->n_stages; i++) {
		enum wish *w = &s->stage[i].wish;
		uint32_t under = s->plan->stage[i].under;

		if (under == MODEL_NONE)
			continue;
		if (s->may[under] && *w != WANTED)
			*w = wish_of(t, under);
		s->stage[i].share = fmax(s->stage[i].share, stage_share_of(s, t, under));
	}
}

/* Turns that the core's groups would take. */
static size_t turns_of(const struct stages *s)
{
	size_t n = 0;

	for (size_t g = 0; g < s->plan->n_groups; g++)
		n += s->plan->group[g].core && !s->plan->group[g].pinned &&
		     stages_group(s, g) != SLICES_OFF;
	return n;
}

static void visit(struct stages *s, size_t stage, uint64_t now)
{
	double length;

	for (uint32_t i = (uint32_t)stage; i;) {
		s->stage[i].visited = !s->stage[i].open;
		i = s->stage_of[s->plan->stage[i].under];
	}
	s->visiting = true;
	s->visits++;
	length = (double)stages_visit_slice(turns_of(s));
	s->next_visit =
		now +
		(uint64_t)(length * (1 + (1 / VISIT_SHARE - 1) * (0.5 + rounds_draw(&s->random))));
}

/* Lots of a stage: the value of one more visit. It changes slowly: a stage must not be seen more
 * often while its node has much, or that would count as much as the rest of the time. */
static double lots_of(const struct stages_state *x, uint64_t now)
{
	double worth = x->unseen / (x->visits + 1);

	return !x->open && worth > WORTH * (double)now ? worth : 0;
}

/* A lottery among the closed. */
static void choose_visit(struct stages *s, uint64_t now)
{
	double sum = 0, lot;

	for (size_t i = 1; i < s->plan->n_stages; i++)
		sum += lots_of(&s->stage[i], now);
	if (now < s->next_visit || !(sum > 0))
		return;
	lot = rounds_draw(&s->random) * sum;
	for (size_t i = 1; i < s->plan->n_stages; i++) {
		double lots = lots_of(&s->stage[i], now);

		lot -= lots;
		if (lots > 0 && lot < 0) {
			visit(s, i, now);
			return;
		}
	}
}

static void see_node(struct stages *s, uint64_t now)
{
	for (size_t i = 1; i < s->plan->n_stages; i++) {
		struct stages_state *x = &s->stage[i];

		if (!x->open)
			x->unseen += x->share * (double)(now - s->last);
		*(x->wish ? &x->wanted : &x->since) += now - s->last;
		x->since = x->wish ? 0 : x->since;
		x->share = 0;
	}
	s->last = now;
}

void stages_end_visit(struct stages *s)
{
	for (size_t i = 1; s->visiting && i < s->plan->n_stages; i++) {
		s->stage[i].visits += s->stage[i].visited;
		s->stage[i].visited = false;
	}
	s->visiting = false;
}

void stages_decide(struct stages *s, uint64_t now)
{
	see_node(s, now);
	for (size_t i = 1; i < s->plan->n_stages; i++) {
		struct stages_state *x = &s->stage[i];

		x->idle = x->wish ? 0 : x->idle + 1;
		x->unsure = x->wish == UNSURE ? x->unsure + 1 : 0;
		if (x->wish == WANTED || x->unsure >= PATIENCE)
			x->open = x->was_open = true;
		else if (x->idle >= CLOSE_AFTER &&
			 x->since > (x->wanted < KEEP_MAX ? x->wanted : KEEP_MAX))
			x->open = false;
		x->wish = NOT_WANTED;
	}
	choose_visit(s, now);
}

bool stages_open_asked(struct stages *s)
{
	bool more = false;

	for (size_t i = 1; i < s->plan->n_stages; i++) {
		struct stages_state *x = &s->stage[i];

		if (x->wish && !x->open)
			x->open = x->was_open = more = true;
		x->wish = NOT_WANTED;
	}
	return more;
}

bool stages_is_open(const struct stages *s, size_t stage)
{
	return s->stage[stage].open;
}

bool stages_was_open(const struct stages *s, size_t stage)
{
	return s->stage[stage].was_open;
}

enum slices_state stages_group(const struct stages *s, size_t group)
{
	enum slices_state state = SLICES_OFF;

	for (size_t i = 0; i < s->plan->n_stages; i++) {
		const struct stages_state *x = &s->stage[i];

		for (size_t j = 0; (x->open || x->visited) && j < s->plan->stage[i].n_groups; j++) {
			if (s->plan->stage[i].group[j] != group)
				continue;
			if (x->open)
				return SLICES_ON;
			state = SLICES_VISIT;
		}
	}
	return state;
}

/* A turn of each, and more: readings come late. */
static uint64_t usual_slice(size_t turns)
{
	uint64_t slice = (turns ? turns : 1) * TURN + TURN / 2;

	return slice > SLICE_MIN ? slice : SLICE_MIN;
}

/* A short run never sees stages that open after its first slices: these are as short as can be. */
static uint64_t early_slice(size_t turns, uint64_t readings)
{
	uint64_t alone = SLICE_FIRST << readings;

	if (turns > 1)
		return turns * (TURN / 2);
	return alone < SLICE_MIN ? alone : SLICE_MIN;
}

uint64_t stages_slice(size_t turns, uint64_t readings, uint64_t longest)
{
	uint64_t slice = usual_slice(turns);

	if (readings < SLICES_FEWEST)
		return early_slice(turns, readings);
	longest = slice > longest ? slice : longest;
	slice += slice * readings / SLICES_GROW;
	return slice < longest ? slice : longest;
}

uint64_t stages_visit_slice(size_t turns)
{
	return usual_slice(turns);
}

uint64_t stages_look_from(uint64_t now, uint64_t switched, uint64_t readings)
{
	uint64_t from = now > STAGES_WINDOW ? now - STAGES_WINDOW : 0;

	return readings > SLICES_FEWEST && switched > from ? switched : from;
}
