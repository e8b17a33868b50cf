/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the threads of a program wait, without special rights: a few times a second the kernel
 * function in which each of them waits is read from /proc (wchan). A thread's share of looks at a
 * function is, up to chance, its share of waiting there. One look takes some 6 us; with many
 * threads each gets its turn. A thread that runs or could run waits nowhere; nor, as far as can be
 * seen, does one whose process gave itself other rights (set-user-ID).
 *
 * Lack of memory only makes the looks fewer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

#define LOOKS_MOST 32u	      /* at a time */
#define LOOK_EVERY 100000000u /* ns */
#define HEAD	   sizeof(struct perf_event_header)

struct wchan_sampler {
	VEC(uint32_t) tid;  /* that live */
	struct u64map at;   /* tid -> 1 + its place */
	struct u64map seen; /* tid, function -> how often */
	struct strtab function;
	size_t next;
	uint64_t last;
};

static void begins(struct wchan_sampler *l, uint32_t tid)
{
	uint64_t *at = u64map_at(&l->at, tid, NULL);

	if (at && !*at && !vec_push(&l->tid, tid))
		*at = l->tid.n;
}

static void ends(struct wchan_sampler *l, uint32_t tid)
{
	uint64_t *at = u64map_find(&l->at, tid), *last;
	uint32_t moved;

	if (!at || !*at)
		return;
	moved = l->tid.v[--l->tid.n];
	last = u64map_find(&l->at, moved);
	l->tid.v[*at - 1] = moved;
	if (last)
		*last = *at;
	*at = 0;
}

void wchan_task(struct wchan_sampler *l, const uint8_t *p, size_t size)
{
	if (size < HEAD + 16)
		return;
	if (ld32(p) == PERF_RECORD_FORK)
		begins(l, ld32(p + HEAD + 8));
	else
		ends(l, ld32(p + HEAD + 8));
}

static void look_at_thread(struct wchan_sampler *l, uint32_t tid)
{
	char path[40], text[128];
	uint64_t *n;
	uint32_t id;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/wchan", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, text, sizeof(text));
	(void)close(fd);
	if (got < 2) /* "0": it waits nowhere */
		return;
	id = strtab_add(&l->function, text, (size_t)got);
	n = id == STR_NONE ? NULL : u64map_at(&l->seen, (uint64_t)tid << 32 | id, NULL);
	if (n)
		++*n;
}

void wchan_round(struct wchan_sampler *l, uint64_t now)
{
	if (now - l->last < LOOK_EVERY)
		return;
	l->last = now;
	for (size_t i = 0; i < LOOKS_MOST && i < l->tid.n; i++) {
		l->next = l->next + 1 < l->tid.n ? l->next + 1 : 0;
		look_at_thread(l, l->tid.v[l->next]);
	}
}

struct wchan_sampler *wchan_new(const pid_t *task, size_t n)
{
	struct wchan_sampler *l = calloc(1, sizeof(*l));

	for (size_t i = 0; l && i < n; i++)
		begins(l, (uint32_t)task[i]);
	return l;
}

static int by_tid(const void *pa, const void *pb)
{
	const struct sampling_wchan *a = pa, *b = pb;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

void wchan_take(const struct wchan_sampler *l, struct arena *a, struct sampling_result *r)
{
	struct sampling_wchan *v = l ? arena_alloc(a, (l->seen.n + 1) * sizeof(*v)) : NULL;
	size_t i = 0, n = 0;
	uint64_t key, *times;

	while (v && u64map_next(&l->seen, &i, &key, &times)) {
		v[n].tid = (uint32_t)(key >> 32);
		v[n].times = *times;
		v[n].function = arena_strdup(a, strtab_get(&l->function, (uint32_t)key));
		n += v[n].function != NULL;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), by_tid);
	r->wchan = v;
	r->n_wchans = n;
}

void wchan_free(struct wchan_sampler *l)
{
	if (!l)
		return;
	vec_free(&l->tid);
	u64map_free(&l->at);
	u64map_free(&l->seen);
	strtab_free(&l->function);
	free(l);
}
