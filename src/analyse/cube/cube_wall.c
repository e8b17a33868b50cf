/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cube of the time of all threads: nodes are those of wall_tree.h, without the outermost.
 */
#include <stdlib.h>

#include "analyse/cube/cube_int.h"
#include "analyse/wall_tree.h"
#include "symbol/image.h"

/* Which frame a node has: threads, functions and reasons differ by the kind. */
static int frame_of(struct making *m, struct strtab *names, const struct wall_node *x,
		    const struct images *images, uint32_t *out)
{
	struct cube_frame f = { .kind = x->kind == WALL_COMM ? "thread" : NULL };
	uint32_t name, dso;
	uint64_t *at;
	bool fresh;

	if (x->kind == WALL_COMM) {
		f.function = *x->comm ? x->comm : "[no name]";
	} else if (x->kind == WALL_REASON) {
		f.kind = wait_state_name(wait_reasons[x->reason].state);
		f.function = wait_reasons[x->reason].name;
	} else {
		f.dso = x->place.image != IMAGE_NONE ? image_name(images, x->place.image) : NULL;
		f.function = x->place.symbol ? x->place.symbol->name : f.dso ? f.dso : "[unknown]";
	}
	name = strtab_adds(names, f.function);
	dso = strtab_adds(names, f.dso ? f.dso : "");
	if (name == STR_NONE || dso == STR_NONE)
		return -1;
	at = u64map_at(&m->by_name, (uint64_t)name << 34 | (uint64_t)dso << 2 | x->kind, &fresh);
	if (!at)
		return -1;
	if (fresh) {
		*at = m->c.n_frames;
		m->frame[m->c.n_frames++] = f;
	}
	*out = (uint32_t)*at;
	return 0;
}

static int make_nodes(struct making *m, const struct wall_tree *t, const struct images *images)
{
	struct strtab names = STRTAB_INIT;
	int ret = 0;

	m->frame = calloc(t->n + 1, sizeof(*m->frame));
	if (!m->frame)
		return -1;
	for (size_t i = 0; i < t->n && !ret; i++) {
		struct cube_node x = { i ? t->node[i].parent : CUBE_NONE, CUBE_NONE };

		if (i && frame_of(m, &names, &t->node[i], images, &x.frame))
			ret = -1;
		else
			ret = vec_push(&m->all, x);
	}
	strtab_free(&names);
	return ret;
}

/* Lists the threads that are wanted, and the index of each thread of wait.h among them. */
static int make_threads(struct making *m, const struct wait *w, struct stack_place *place)
{
	m->thread = calloc(w->n_threads + 1, sizeof(*m->thread));
	if (!m->thread)
		return -1;
	for (size_t i = 0; i < w->n_threads; i++) {
		const struct wait_thread *t = &w->thread[i];

		place[i] = (struct stack_place){ (uint32_t)m->c.n_threads, CUBE_NONE };
		if (t->wanted)
			m->thread[m->c.n_threads++] =
				(struct stack_thread){ t->comm, t->pid, t->tid };
	}
	return 0;
}

static int make(struct making *m, const struct wall_tree *t, const struct wait *w,
		const struct images *images, struct err *err)
{
	struct stack_part part = { .n_cells = t->n_cells, .n_places = w->n_threads };
	struct profile_stacks s = { .part = &part, .n_parts = 1 };
	int ret = -1;

	part.cell = malloc((t->n_cells + 1) * sizeof(*part.cell));
	part.place = malloc((w->n_threads + 1) * sizeof(*part.place));
	if (!part.cell || !part.place || make_nodes(m, t, images) ||
	    make_threads(m, w, part.place)) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < t->n_cells; i++) {
		const struct wall_cell *x = &t->cell[i];

		part.cell[i] = (struct stack_cell){ .callers = x->node,
						    .place = x->thread,
						    .bin = x->bin,
						    .n = x->samples,
						    .period = x->time };
	}
	s.thread = m->thread;
	s.n_threads = m->c.n_threads;
	m->s = &s;
	ret = cube_make_cells(m, err) || cube_make_nodes(m, err) ? -1 : 0;
	if (!ret)
		cube_hand_out(m);
out:
	m->s = NULL;
	free(part.cell);
	free(part.place);
	return ret;
}

/* So often bins are halved that many threads' long waits would fill with more cells than a cube
 * has: it would halve them itself, with all of these cells in memory. */
static unsigned halvings(const struct wait *w, uint64_t width)
{
	unsigned n = 0;

	while (((CUBE_BINS - 1u) >> n) + 1 > CUBE_BINS_LEAST &&
	       wall_tree_reach(w, width << n) > CUBE_CELLS + w->n_spans)
		n++;
	return n;
}

static uint64_t finest(const struct wait *w)
{
	return (w->until - w->from) / CUBE_BINS + 1;
}

uint64_t cube_wall_width(const struct wait *w)
{
	return finest(w) << halvings(w, finest(w));
}

int cube_of_wall(struct cube **out, const struct wall_tree *t, const struct wait *w,
		 const struct images *images, struct err *err)
{
	struct making *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return err_nomem(err);
	m->by_time = true;
	m->c.from = w->from;
	m->halved = halvings(w, finest(w));
	m->c.width = finest(w);
	if (make(m, t, w, images, err)) {
		cube_free(&m->c);
		return -1;
	}
	*out = &m->c;
	return 0;
}
