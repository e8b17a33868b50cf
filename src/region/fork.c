/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork: the child has its parent's handles but neither its counters nor their pages, and its
 * parent's table is not its own. So before fork() returns in the child, every handle is made to
 * take the time alone, and the table becomes a copy, at 0. (A child of a bare clone() that never
 * passes here must leave the handles alone.)
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region/region_int.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cyclade_set *sets;

static void before(void)
{
	pthread_mutex_lock(&lock);
	for (struct cyclade_set *s = sets; s; s = s->next)
		pthread_mutex_lock(&s->lock);
}

static void after(void)
{
	for (struct cyclade_set *s = sets; s; s = s->next)
		pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&lock);
}

/* Memory shared with the parent becomes our own at the same place. */
static bool make_private(void *p, size_t len)
{
	return mmap(p, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static void child_thread(struct thread *t)
{
	struct cyclade_region ops = plain_ops(MODE_NONE);
	bool mine = t->self == thread_pointer() && !t->ended;

	if (!make_private(t->block, t->set->block_size))
		return;
	for (size_t i = 0; i < t->n_regions; i++) {
		struct region *r = &t->region[i];

		r->pub.begin = ops.begin;
		r->pub.end = ops.end;
		r->full = 0;
		r->lost = r->carries = false;
		r->t0 = time_stamp(); /* an open one counts from here */
	}
	t->mode = MODE_NONE;
	t->n_reads = 0;
	t->reset_fd = -1;
	t->ended = !mine; /* the others are not in the child */
	t->block->tid = (uint32_t)getpid();
}

static void child(void)
{
	for (struct cyclade_set *s = sets; s; s = s->next) {
		struct table_head copy = *s->head;
		char name[TABLE_NAME];

		if (!make_private(s->head, s->head_len))
			continue;
		*s->head = copy;
		s->forked = true;
		s->mode = MODE_NONE;
		(void)snprintf(s->head->status, sizeof(s->head->status),
			       "not measured: this process was forked off after cyclade_open");
		for (struct thread *t = s->threads; t; t = t->list) {
			for (size_t i = 0; i < t->n_regions; i++) {
				memcpy(name, t->region[i].slot->name, sizeof(name));
				memcpy(t->region[i].name, name, sizeof(name));
			}
			child_thread(t);
			for (size_t i = 0; i < t->n_regions; i++)
				memcpy(t->region[i].slot->name, t->region[i].name, sizeof(name));
			t->block->regions = t->n_regions;
			t->block->state = t->ended ? TABLE_ENDED : TABLE_LIVE;
		}
	}
	after();
}

void fork_watch(struct cyclade_set *s)
{
	static bool watching;

	pthread_mutex_lock(&lock);
	if (!watching)
		watching = !pthread_atfork(before, after, child);
	s->next = sets;
	sets = s;
	pthread_mutex_unlock(&lock);
}

void fork_forget(struct cyclade_set *s)
{
	pthread_mutex_lock(&lock);
	for (struct cyclade_set **at = &sets; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	pthread_mutex_unlock(&lock);
}
