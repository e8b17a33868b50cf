/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/memory/memory_locks_int.h"

#include "analyse/memory/memory_counts_int.h"
#include "analyse/pass.h"

static struct memory_locked_line *line_of(struct memory_locks *w, uint32_t object, uint32_t pid,
					  uint64_t address)
{
	uint64_t h = hash_pair((uint64_t)object << 32 | pid, address);
	struct memory_locked_line *l;
	uint32_t idx;

	for (size_t i = itab_first(&w->at, h); itab_at(&w->at, &i, h, &idx);) {
		l = &w->v.v[idx];
		if (l->object == object && l->pid == pid && l->address == address)
			return l;
	}
	if (w->v.n >= UINT32_MAX - 1 || itab_put(&w->at, h, w->v.n))
		return NULL;
	l = vec_add(&w->v);
	if (l)
		*l = (struct memory_locked_line){ .object = object,
						  .pid = pid,
						  .address = address };
	return l;
}

static int meet(struct memory_locks *w, struct memory_locked_line *l, uint64_t task)
{
	uint64_t line = (uint64_t)(l - w->v.v);
	bool fresh;

	if (!u64map_at(&w->task, hash_pair(line, task), &fresh) ||
	    (fresh && vec_push(&w->met, ((struct locks_met){ line, task }))))
		return -1;
	l->threads += fresh;
	return 0;
}

int memory_locks_add_locked(struct memory_locks *w, uint32_t object, const struct memop *op,
			    uint64_t task)
{
	struct memory_locked_line *l;

	l = line_of(w, object, task_pid(task), op->address & ~(uint64_t)(MEMORY_LINE_BYTES - 1));
	if (!l || meet(w, l, task))
		return -1;
	memory_counts_take(&l->n, op);
	return 0;
}

int memory_locks_join(struct memory_locks *w, const struct memory_locks *x, const uint32_t *to)
{
	vec_each (&x->v, const struct memory_locked_line *, from) {
		struct memory_locked_line *l =
			line_of(w, to[from->object], from->pid, from->address);

		if (!l)
			return -1;
		memory_counts_add(&l->n, &from->n);
	}
	vec_each (&x->met, const struct locks_met *, m) {
		const struct memory_locked_line *from = &x->v.v[m->line];
		struct memory_locked_line *l =
			line_of(w, to[from->object], from->pid, from->address);

		if (!l || meet(w, l, m->task))
			return -1;
	}
	return 0;
}

void memory_locks_rename(struct memory_locks *w, const uint32_t *to)
{
	vec_each (&w->v, struct memory_locked_line *, l)
		l->object = to[l->object];
}

static int by_cycles(const void *a, const void *b)
{
	const struct memory_locked_line *x = a, *y = b;

	if (x->n.cycles != y->n.cycles)
		return x->n.cycles > y->n.cycles ? -1 : 1;
	if (x->n.samples != y->n.samples)
		return x->n.samples > y->n.samples ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

void memory_locks_fold(struct memory_locks *w, struct memory_objects *o)
{
	vec_sort(&w->v, by_cycles);
	o->locked = w->v.v;
	o->n_locked = w->v.n;
}

void memory_locks_free(struct memory_locks *w)
{
	vec_free(&w->v);
	itab_free(&w->at);
	u64map_free(&w->task);
	vec_free(&w->met);
}
