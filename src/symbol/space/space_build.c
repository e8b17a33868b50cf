/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From facts to versions: spaces_finish() goes through the facts once in order of time (place in
 * the file among equals) and builds, per process incarnation, a list of versions (time, root of a
 * tree of pieces), and per thread a list of names.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/invariant.h"
#include "base/sort.h"
#include "base/xalloc.h"
#include "symbol/image/image_set.h"
#include "symbol/space/space_int.h"

static struct process *new_process(struct spaces *sp, uint64_t key, uint32_t pid, uint64_t born)
{
	struct process *p = arena_xalloc(&sp->arena, sizeof(*p));
	uint64_t *slot = u64map_xat(&sp->last_process, key, NULL);

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
	vec_xpush(&sp->process, p);
	*slot = sp->process.n;
	return p;
}

/* The process a fact is about. One without a record of its start was there from the beginning; one
 * that goes on after all its threads exited is another one, whose fork was lost. */
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
static void set_root(struct process *p, uint64_t time, uint32_t root)
{
	if (p->version.n && vec_last(&p->version)->time == time) {
		vec_last(&p->version)->root = root;
		return;
	}
	vec_xpush(&p->version, ((struct version){ time, root }));
}

#define HUGE_PAGE ((uint64_t)2 << 20)

/* Programs copy their code onto larger pages and move these over it. Returns where memory without a
 * file ceases to cover code of one that lay at its place; its start: it is something else. A
 * runtime that writes down which code it made may as well have got the place of a library that is
 * gone. */
static uint64_t copied_until(struct spaces *sp, const struct process *p, const struct map *m,
			     uint32_t root)
{
	const struct image_key *key = image_key(sp->images, m->image);
	const struct map *was;
	uint64_t from = 0, until = UINT64_MAX;
	uint32_t found;

	if (m->kind != SPACE_USER || !(m->prot & PROT_EXEC) || p->jit.n ||
	    (key->kind != IMAGE_ANON &&
	     (key->kind != IMAGE_FILE || key->build_id_len || !image_is_removed(key->path))))
		return m->start;
	found = pieces_span(&sp->pieces, root, m->start, &from, &until);
	was = found == PIECE_HOLE ? NULL : &sp->map.v[found];
	if (!was || !(was->prot & PROT_EXEC) || m->end > was->end + HUGE_PAGE ||
	    image_key(sp->images, was->image)->kind != IMAGE_FILE ||
	    image_is_removed(image_path(sp->images, was->image)) ||
	    image_has_perf_map(sp->images, p->pid))
		return m->start;
	image_was_copied(sp->images, was->image);
	return m->end < was->end ? m->end : was->end;
}

static void apply_map(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);
	const struct map *m = &sp->map.v[f->a];
	uint32_t root = root_of(p);
	uint64_t from = f->type == FACT_MAP ? copied_until(sp, p, m, root) : m->start;

	/* an older version, and processes forked from it, must stay as they are */
	if (p->version.n && vec_last(&p->version)->time != f->time)
		pieces_seal(&sp->pieces);
	if (from < m->end)
		pieces_paint(&sp->pieces, &root, from, m->end,
			     f->type == FACT_KSYM_GONE ? PIECE_HOLE : f->a);
	set_root(p, f->time, root);
	jit_mapped(sp, p, m, f->time);
}

static struct thread *thread_of_tid(struct spaces *sp, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = u64map_xat(&sp->thread_of, tid, &fresh);

	if (fresh) {
		*slot = sp->thread.n;
		vec_xpush(&sp->thread, ((struct thread){ .owner = PROC_NONE }));
	}
	return &sp->thread.v[*slot];
}

/* Thread `tid` is one of p's. */
static void enter_thread(struct spaces *sp, struct process *p, uint32_t tid)
{
	struct thread *t = thread_of_tid(sp, tid);

	if (t->alive && t->owner == p->index && t->execs == p->execs)
		return;
	t->owner = p->index;
	t->execs = p->execs;
	t->alive = true;
	p->live++;
	p->dead = false;
}

static void set_name(struct spaces *sp, uint32_t tid, uint64_t time, uint32_t comm)
{
	struct thread *t = thread_of_tid(sp, tid);

	if (t->name.n && vec_last(&t->name)->time == time)
		vec_last(&t->name)->comm = comm;
	else
		vec_xpush(&t->name, ((struct name_at){ time, comm }));
}

/* For data_begin(). */
static void note_beginning(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t parent)
{
	if (sp->heap_log)
		vec_xpush(&sp->begins, ((struct process_begins){ time, pid, parent }));
}

static void apply_fork(struct spaces *sp, const struct fact *f)
{
	struct process *parent, *child;
	const struct thread *maker;
	uint32_t root;

	if (f->tid != f->b) { /* named as its parent, not as an older thread of its number */
		maker = thread_of_tid(sp, f->b);
		set_name(sp, f->tid, f->time,
			 maker->name.n ? vec_last(&maker->name)->comm : STR_NONE);
	}
	if (f->pid == f->a) { /* a thread: the process stays */
		child = newest(sp, place_key(SPACE_USER, f->pid));
		if (child)
			enter_thread(sp, child, f->tid);
		return;
	}
	parent = newest(sp, place_key(SPACE_USER, f->a));
	root = parent ? root_of(parent) : 0;
	child = new_process(sp, place_key(SPACE_USER, f->pid), f->pid, f->time);
	enter_thread(sp, child, f->tid);
	note_beginning(sp, f->time, f->pid, f->a);
	pieces_seal(&sp->pieces);
	set_root(child, f->time, root);
	jit_inherited(child, parent, f->time);
}

/* The other threads end without a word that is sure to come. */
static void apply_exec(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	set_root(p, f->time, 0);
	jit_gone(p, f->time);
	set_name(sp, f->tid, f->time, f->a);
	note_beginning(sp, f->time, f->pid, HEAP_EXECUTED);
	p->execs++;
	p->live = 0;
	enter_thread(sp, p, f->tid);
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

static void apply_fact(struct spaces *sp, const struct fact *f)
{
	struct process *p;

	switch ((enum fact_type)f->type) {
	case FACT_MAP:
	case FACT_KSYM:
	case FACT_KSYM_GONE:
		apply_map(sp, f);
		break;
	case FACT_FORK:
		apply_fork(sp, f);
		break;
	case FACT_EXEC:
		apply_exec(sp, f);
		break;
	case FACT_CLEAR:
		p = process_of(sp, f);
		set_root(p, f->time, 0);
		jit_gone(p, f->time);
		break;
	case FACT_COMM:
		enter_thread(sp, process_of(sp, f), f->tid);
		set_name(sp, f->tid, f->time, f->a);
		break;
	case FACT_EXIT:
		apply_exit(sp, f);
		break;
	}
}

/* Applies the facts in order of time, as they came among equals. */
static void apply_sorted(struct spaces *sp)
{
	size_t n = sp->fact.n;
	struct keyed *order = xcalloc(n + 1, sizeof(*order));
	struct keyed *scratch = xcalloc(n + 1, sizeof(*scratch));

	for (size_t i = 0; i < n; i++)
		order[i] = (struct keyed){ sp->fact.v[i].time, (uint32_t)i, 0 };
	keyed_sort(order, scratch, n);
	assert(pairs_hold(n, i, order[i].key < order[i + 1].key || order[i].a < order[i + 1].a));
	for (size_t i = 0; i < n; i++)
		apply_fact(sp, &sp->fact.v[order[i].a]);
	free(order);
	free(scratch);
}

/* Puts the incarnations of each pid side by side, for bisection. */
static void line_up(struct spaces *sp)
{
	uint32_t at = 0;

	sp->by_pid = xcalloc(sp->process.n + 1, sizeof(*sp->by_pid));
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
}

static uint32_t newest_index(const struct spaces *sp, uint64_t key)
{
	const struct process *p = newest(sp, key);

	return p ? p->index : PROC_NONE;
}

void spaces_finish(struct spaces *sp)
{
	apply_sorted(sp);
	line_up(sp);
	sp->kernel = newest_index(sp, place_key(SPACE_KERNEL, 0));
	sp->ksyms = newest_index(sp, KSYMS_KEY);
	sp->guest_kernel = newest_index(sp, place_key(SPACE_GUEST_KERNEL, 0));
	vec_free(&sp->fact);
	sp->finished = true;
	images_tell_apart(sp->images);
}
