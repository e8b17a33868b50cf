/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions of address spaces and names of threads, searched by bisection.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/invariant.h"
#include "base/perf_abi.h"
#include "symbol/heap.h"
#include "symbol/heap_site.h"
#include "base/xalloc.h"
#include "symbol/space/space_int.h"

struct spaces *spaces_new(struct images *images, struct err *err)
{
	struct spaces *sp = xcalloc(1, sizeof(*sp));

	sp->images = images;
	sp->pieces = (struct pieces)PIECES_INIT;
	/* a number that a file cannot foresee, so that none can make the trees deep */
	sp->pieces.random = (uint32_t)hash_u64((uint64_t)(uintptr_t)sp) | 1;
	sp->kernel = sp->ksyms = sp->guest_kernel = PROC_NONE;
	/* the idle threads, which no record names */
	(void)!spaces_comm(sp, 0, 0, 0, false, "swapper", err);
	return sp;
}

void spaces_monotonic(struct spaces *sp)
{
	sp->monotonic = true;
}

void spaces_heap_log(struct spaces *sp, const uint8_t *p, size_t len)
{
	sp->heap_log = p;
	sp->heap_log_len = len;
}

void spaces_free(struct spaces *sp)
{
	if (!sp)
		return;
	jit_free(sp);
	for (size_t i = 0; i < sp->process.n; i++)
		vec_free(&sp->process.v[i]->version);
	for (size_t i = 0; i < sp->thread.n; i++)
		vec_free(&sp->thread.v[i].name);
	vec_free(&sp->fact);
	vec_free(&sp->map);
	vec_free(&sp->begins);
	vec_free(&sp->process);
	vec_free(&sp->thread);
	u64map_free(&sp->last_process);
	u64map_free(&sp->thread_of);
	u64map_free(&sp->cgroup);
	pieces_free(&sp->pieces);
	heap_sites_free(sp->sites);
	heap_free(sp->heap);
	free(sp->by_pid);
	strtab_free(&sp->strings);
	arena_free(&sp->arena);
	free(sp);
}

/* The last incarnation born at or before `time`; before the first was born, that one. */
static const struct process *incarnation(const struct spaces *sp, uint64_t key, uint64_t time)
{
	const struct process *p = newest(sp, key);
	size_t low;

	if (!p || p->born <= time)
		return p;
	/* how many of the older ones but the first were born by then */
	bisect(low, p->nth, i, sp->process.v[sp->by_pid[p->group + i + 1]]->born > time);
	return sp->process.v[sp->by_pid[p->group + low]];
}

const struct process *spaces_process(const struct spaces *sp, uint32_t pid, uint64_t time)
{
	return incarnation(sp, place_key(SPACE_USER, pid), time);
}

uint32_t process_pid(const struct process *p)
{
	return p->pid;
}

void process_life(const struct process *p, uint64_t *from, uint64_t *until)
{
	*from = p->next == PROC_NONE ? 0 : p->born;
	*until = p->until;
}

uint32_t process_index(const struct process *p)
{
	return p->index;
}

/* The process whose mappings rule for this kind of code, or NULL. */
static const struct process *space_of(const struct spaces *sp, const struct process *proc,
				      enum space_kind kind, uint64_t time)
{
	uint32_t index = PROC_NONE;

	switch (kind) {
	case SPACE_USER:
		return proc;
	case SPACE_KERNEL:
		index = sp->kernel;
		break;
	case SPACE_GUEST_KERNEL:
		index = sp->guest_kernel;
		break;
	case SPACE_GUEST_USER:
		return proc ? incarnation(sp, place_key(kind, proc->pid), time) : NULL;
	case SPACE_HYPERVISOR:
	case SPACE_UNKNOWN:
		break;
	}
	return index == PROC_NONE ? NULL : sp->process.v[index];
}

/* The mapping of process `p` at `ip` at `time`; the span is only made narrower. */
static const struct map *find_in_process(const struct spaces *sp, const struct process *p,
					 uint64_t ip, uint64_t time, struct space_span *s)
{
	uint32_t found;
	size_t low;

	bisect(low, p->version.n, i, p->version.v[i].time > time);
	if (low < p->version.n && p->version.v[low].time < s->until)
		s->until = p->version.v[low].time;
	if (!low)
		return NULL;
	if (p->version.v[low - 1].time > s->from)
		s->from = p->version.v[low - 1].time;
	found = pieces_span(&sp->pieces, p->version.v[low - 1].root, ip, &s->start, &s->end);
	assert(found == PIECE_HOLE || (ip >= s->start && ip <= s->end));
	assert(found == PIECE_HOLE || found < sp->map.n);
	return found == PIECE_HOLE ? NULL : &sp->map.v[found];
}

const struct map *space_find_span(const struct spaces *sp, const struct process *proc,
				  enum space_kind kind, uint64_t ip, uint64_t time,
				  struct space_span *span)
{
	const struct process *p = space_of(sp, proc, kind, time);
	const struct map *m = NULL;

	*span = (struct space_span){ 0, UINT64_MAX, 0, UINT64_MAX };
	if (kind == SPACE_GUEST_USER && p)
		process_life(p, &span->from, &span->until);
	if (kind == SPACE_KERNEL && sp->ksyms != PROC_NONE)
		m = find_in_process(sp, sp->process.v[sp->ksyms], ip, time, span);
	if (!m && p)
		m = find_in_process(sp, p, ip, time, span);
	/* of user space, only memory without a file is absolute */
	if (kind == SPACE_USER && p && p->jit.n && (!m || m->absolute)) {
		const struct map *code = jit_find(p, ip, time, span);

		m = code ? code : m;
	}
	return m;
}

const struct map *space_find(const struct spaces *sp, const struct process *proc,
			     enum space_kind kind, uint64_t ip, uint64_t time, uint64_t *from,
			     uint64_t *until)
{
	struct space_span s;
	const struct map *m = space_find_span(sp, proc, kind, ip, time, &s);

	if (from)
		*from = s.from;
	if (until)
		*until = s.until;
	return m;
}

uint32_t spaces_comm_at(const struct spaces *sp, uint32_t pid, uint32_t tid, uint64_t time,
			uint64_t *from, uint64_t *until)
{
	const uint64_t *slot = u64map_find(&sp->thread_of, tid);
	const struct thread *t = slot ? &sp->thread.v[*slot] : NULL;
	size_t low;

	(void)pid;
	bisect(low, t ? t->name.n : 0, i, t->name.v[i].time > time);
	if (from)
		*from = low ? t->name.v[low - 1].time : 0;
	if (until)
		*until = t && low < t->name.n ? t->name.v[low].time : UINT64_MAX;
	return low ? t->name.v[low - 1].comm : STR_NONE;
}

const char *spaces_cgroup_path(const struct spaces *sp, uint64_t id)
{
	const uint64_t *name = u64map_find(&sp->cgroup, id);

	return name ? strtab_get(&sp->strings, (uint32_t)*name) : NULL;
}

const struct strtab *spaces_strings(const struct spaces *sp)
{
	return &sp->strings;
}

struct images *spaces_images(const struct spaces *sp)
{
	return sp->images;
}

void spaces_images_of(const struct spaces *sp, uint32_t pid, void (*see)(void *ctx, uint32_t image),
		      void *ctx)
{
	const struct process *p = newest(sp, place_key(SPACE_USER, pid));

	for (; p; p = p->next == PROC_NONE ? NULL : sp->process.v[p->next]) {
		uint32_t root = p->version.n ? p->version.v[p->version.n - 1].root : 0;
		const struct piece_node *m = pieces_next(&sp->pieces, root, 0);

		for (; m; m = pieces_next(&sp->pieces, root, m->end)) {
			if (m->value < sp->map.n)
				see(ctx, sp->map.v[m->value].image);
			if (m->end <= m->start)
				break;
		}
	}
}
