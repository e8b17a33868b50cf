/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From facts to versions: spaces_finish() goes through the facts once in order of time (place in
 * the file among equals) and builds, per process incarnation, a list of versions (time, root of a
 * tree of pieces), and per thread a list of names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/sort.h"
#include "symbol/space/space_int.h"

static struct process *new_process(struct spaces *sp, uint64_t key, uint32_t pid, uint64_t born)
{
	struct process *p = arena_alloc(&sp->arena, sizeof(*p));
	uint64_t *slot = p ? u64map_at(&sp->last_process, key, NULL) : NULL;

	if (!slot || sp->process.n >= PROC_NONE - 1)
		return NULL;
	p->pid = pid;
	p->index = (uint32_t)sp->process.n;
	p->born = born;
	p->until = UINT64_MAX;
	p->next = *slot ? (uint32_t)*slot - 1 : PROC_NONE;
	if (p->next != PROC_NONE) {
		struct process *older = sp->process.v[p->next];

		older->until = born;
		older->renewed = true;
		p->nth = older->nth + 1;
	}
	if (vec_push(&sp->process, p))
		return NULL;
	*slot = sp->process.n;
	return p;
}

/* The process a fact is about. One that nobody announced was there from the beginning; one that
 * goes on after all its threads exited is another one, whose fork was lost. */
static struct process *process_of(struct spaces *sp, const struct fact *f)
{
	uint64_t key = f->type == FACT_KSYM || f->type == FACT_KSYM_GONE
			       ? KSYMS_KEY
			       : place_key((enum space_kind)f->kind, f->pid);
	struct process *p = newest(sp, key);

	if (p && !p->dead)
		return p;
	return new_process(sp, key, f->pid, p ? f->time : 0);
}

static uint32_t root_of(const struct process *p)
{
	return p->version.n ? vec_last(&p->version)->root : 0;
}

/* The process' address space is `root` from `time` on. */
static int set_root(struct process *p, uint64_t time, uint32_t root)
{
	if (p->version.n && vec_last(&p->version)->time == time) {
		vec_last(&p->version)->root = root;
		return 0;
	}
	return vec_push(&p->version, ((struct version){ time, root }));
}

static int apply_map(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);
	const struct map *m = &sp->map.v[f->a];
	uint32_t root;

	if (!p)
		return -1;
	root = root_of(p);
	/* an older version, and whoever was forked from it, must stay as it is */
	if (p->version.n && vec_last(&p->version)->time != f->time)
		pieces_seal(&sp->pieces);
	if (pieces_paint(&sp->pieces, &root, m->start, m->end,
			 f->type == FACT_KSYM_GONE ? PIECE_HOLE : f->a))
		return -1;
	return set_root(p, f->time, root) || jit_mapped(sp, p, m, f->time, NULL) ? -1 : 0;
}

static struct thread *thread_at(struct spaces *sp, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = u64map_at(&sp->thread_of, tid, &fresh);

	if (!slot)
		return NULL;
	if (fresh) {
		*slot = sp->thread.n;
		if (vec_push(&sp->thread, ((struct thread){ .owner = PROC_NONE })))
			return NULL;
	}
	return &sp->thread.v[*slot];
}

/* Thread `tid` is one of p's. */
static int enter(struct spaces *sp, struct process *p, uint32_t tid)
{
	struct thread *t = thread_at(sp, tid);

	if (!t)
		return -1;
	if (t->alive && t->owner == p->index && t->execs == p->execs)
		return 0;
	t->owner = p->index;
	t->execs = p->execs;
	t->alive = true;
	p->live++;
	p->dead = false;
	return 0;
}

static int set_name(struct spaces *sp, uint32_t tid, uint64_t time, uint32_t comm)
{
	struct thread *t = thread_at(sp, tid);

	if (!t)
		return -1;
	if (t->name.n && vec_last(&t->name)->time == time) {
		vec_last(&t->name)->comm = comm;
		return 0;
	}
	return vec_push(&t->name, ((struct name_at){ time, comm }));
}

/* A new thread is called as the one that made it, whoever had its number before. */
static int inherit_name(struct spaces *sp, const struct fact *f)
{
	const struct thread *t = f->tid == f->b ? NULL : thread_at(sp, f->b);
	uint32_t comm = t && t->name.n ? vec_last(&t->name)->comm : STR_NONE;

	if (f->tid == f->b)
		return 0;
	return t ? set_name(sp, f->tid, f->time, comm) : -1;
}

/* For data_begin(). */
static int note_beginning(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t parent)
{
	return sp->heap_log ? vec_push(&sp->begins, ((struct process_begins){ time, pid, parent }))
			    : 0;
}

static int apply_fork(struct spaces *sp, const struct fact *f)
{
	struct process *parent, *child;
	uint32_t root;

	if (inherit_name(sp, f))
		return -1;
	if (f->pid == f->a) { /* a thread: the process stays */
		child = newest(sp, place_key(SPACE_USER, f->pid));
		return child ? enter(sp, child, f->tid) : 0;
	}
	parent = newest(sp, place_key(SPACE_USER, f->a));
	root = parent ? root_of(parent) : 0;
	child = new_process(sp, place_key(SPACE_USER, f->pid), f->pid, f->time);
	if (!child || enter(sp, child, f->tid) || note_beginning(sp, f->time, f->pid, f->a))
		return -1;
	pieces_seal(&sp->pieces);
	return set_root(child, f->time, root) || jit_inherited(child, parent, f->time) ? -1 : 0;
}

/* The other threads end without a word that is sure to come. */
static int apply_exec(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	if (!p || set_root(p, f->time, 0) || jit_gone(p, f->time) ||
	    set_name(sp, f->tid, f->time, f->a) ||
	    note_beginning(sp, f->time, f->pid, HEAP_EXECUTED))
		return -1;
	p->execs++;
	p->live = 0;
	return enter(sp, p, f->tid);
}

static int apply_comm(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	return !p || enter(sp, p, f->tid) || set_name(sp, f->tid, f->time, f->a) ? -1 : 0;
}

/* Late samples of a dead thread are still its own: nothing ends but the count. */
static void apply_exit(struct spaces *sp, const struct fact *f)
{
	struct process *p = newest(sp, place_key(SPACE_USER, f->pid));
	const uint64_t *slot = u64map_find(&sp->thread_of, f->tid);
	struct thread *t = slot ? &sp->thread.v[*slot] : NULL;

	if (!p || !t || !t->alive || t->owner != p->index || t->execs != p->execs)
		return;
	t->alive = false;
	p->live--;
	p->dead = !p->live;
}

static int apply_clear(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	return !p || set_root(p, f->time, 0) || jit_gone(p, f->time) ? -1 : 0;
}

static int apply(struct spaces *sp, const struct fact *f)
{
	switch ((enum fact_type)f->type) {
	case FACT_MAP:
	case FACT_KSYM:
	case FACT_KSYM_GONE:
		return apply_map(sp, f);
	case FACT_FORK:
		return apply_fork(sp, f);
	case FACT_EXEC:
		return apply_exec(sp, f);
	case FACT_CLEAR:
		return apply_clear(sp, f);
	case FACT_COMM:
		return apply_comm(sp, f);
	case FACT_EXIT:
		apply_exit(sp, f);
		return 0;
	}
	return -1;
}

/* Applies the facts in order of time, as they came among equals. */
static int apply_sorted(struct spaces *sp)
{
	size_t n = sp->fact.n;
	struct keyed *order = malloc((n + 1) * sizeof(*order));
	struct keyed *scratch = malloc((n + 1) * sizeof(*scratch));
	int ret = -1;

	if (!order || !scratch)
		goto out;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct keyed){ sp->fact.v[i].time, (uint32_t)i, 0 };
	keyed_sort(order, scratch, n);
	assert(pairs_hold(n, i, order[i].key < order[i + 1].key || order[i].a < order[i + 1].a));
	ret = 0;
	for (size_t i = 0; !ret && i < n; i++)
		ret = apply(sp, &sp->fact.v[order[i].a]);
out:
	free(order);
	free(scratch);
	return ret;
}

/* Puts the incarnations of each pid side by side, for bisection. */
static int line_up(struct spaces *sp)
{
	uint32_t at = 0;

	sp->by_pid = malloc((sp->process.n + 1) * sizeof(*sp->by_pid));
	if (!sp->by_pid)
		return -1;
	for (size_t i = 0; i < sp->process.n; i++) {
		struct process *p = sp->process.v[i];

		if (p->renewed)
			continue;
		p->group = at;
		at += p->nth + 1;
		for (uint32_t k = p->index; k != PROC_NONE; k = sp->process.v[k]->next)
			sp->by_pid[p->group + sp->process.v[k]->nth] = k;
	}
	assert(at == sp->process.n);
	return 0;
}

static uint32_t index_of(const struct spaces *sp, uint64_t key)
{
	const struct process *p = newest(sp, key);

	return p ? p->index : PROC_NONE;
}

int spaces_finish(struct spaces *sp, struct err *err)
{
	if (apply_sorted(sp))
		return err_nomem(err);
	if (line_up(sp))
		return err_nomem(err);
	sp->kernel = index_of(sp, place_key(SPACE_KERNEL, 0));
	sp->ksyms = index_of(sp, KSYMS_KEY);
	sp->guest_kernel = index_of(sp, place_key(SPACE_GUEST_KERNEL, 0));
	vec_free(&sp->fact);
	sp->finished = true;
	return images_tell_apart(sp->images, err);
}
