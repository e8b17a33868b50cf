/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread's counters: opened when it asks for its first region, closed when it ends or the set
 * does. Its counts stay in its block of the table. All is under the set's lock, except a thread's
 * look-up of its own counters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "region/region_int.h"

/* So many threads have a block each; after that those of threads that ended are used again. */
#define THREADS_APART 256

/* ---- the table -------------------------------------------------------------------------- */

static struct table_block *new_block(struct cyclade_set *s)
{
	uint64_t at = s->head->head_size + (uint64_t)s->n_blocks * s->block_size;
	struct table_block *b;

	if (s->n_blocks >= TABLE_THREADS || at + s->block_size > TABLE_MOST)
		return NULL;
	if (!s->forked && ftruncate(s->fd, (off_t)(at + s->block_size)))
		return NULL;
	/* the file is the parent's */
	b = s->forked ? mmap(NULL, s->block_size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		      : mmap(NULL, s->block_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
			     (off_t)at);
	if (b == MAP_FAILED)
		return NULL;
	/* no page fault later, if it can be had now */
	memset(b, 0, s->block_size / 2);
	s->n_blocks++;
	__atomic_store_n(&s->head->blocks, s->n_blocks, __ATOMIC_RELEASE);
	return b;
}

static struct table_slot *thread_slot_at(struct table_block *b, size_t i)
{
	return (struct table_slot *)(void *)((char *)b + TABLE_BLOCK_HEAD) + i;
}

/* ---- counters --------------------------------------------------------------------------- */

static int open_event(struct cyclade_set *s, size_t e, int group_fd)
{
	struct perf_event_attr a = s->event[e].attr;

	a.size = sizeof(a);
	a.sample_period = 0;
	a.sample_type = 0;
	a.freq = 0;
	a.precise_ip = 0;
	a.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.disabled = 0;
	a.inherit = 0;
	a.enable_on_exec = 0;
	a.exclude_kernel |= !s->kernel;
	a.exclude_hv |= !s->kernel;
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/* A PMU that cannot separate guests, or user from kernel, refuses such events. */
static int open_kindly(struct cyclade_set *s, size_t e, int group_fd)
{
	struct perf_event_attr *a = &s->event[e].attr, was = *a;
	int fd = open_event(s, e, group_fd), number = errno;

	if (fd < 0 && number == EINVAL && (a->exclude_guest || a->exclude_host)) {
		a->exclude_guest = a->exclude_host = 0;
		fd = open_event(s, e, group_fd);
		if (fd < 0)
			*a = was;
	}
	if (fd < 0 && s->kernel && (number == EACCES || number == EPERM)) {
		s->kernel = false;
		fd = open_event(s, e, group_fd);
	}
	if (fd < 0)
		errno = number;
	return fd;
}

static void close_events(struct thread *t)
{
	/* members before their leader */
	for (size_t e = TABLE_EVENTS; e-- > 0;) {
		if (t->fd[e] >= 0)
			close(t->fd[e]);
		t->fd[e] = -1;
	}
	t->reset_fd = -1;
}

/* Opens all events that it can; returns how many. `refusals`: note why, by event. */
static size_t open_events(struct thread *t, bool refusals)
{
	struct cyclade_set *s = t->set;
	int leader[TABLE_GROUPS];
	size_t n = 0;

	memset(leader, -1, sizeof(leader));
	for (size_t e = 0; e < s->n_events; e++) {
		uint32_t g = s->event[e].group;

		if (s->event[e].same != e) {
			s->event[e].refused = s->event[s->event[e].same].refused;
			continue;
		}
		if (!refusals && s->event[e].refused)
			continue;
		t->fd[e] = open_kindly(s, e, leader[g]);
		if (refusals)
			s->event[e].refused = t->fd[e] < 0 ? errno : 0;
		if (t->fd[e] < 0)
			continue;
		if (leader[g] < 0)
			leader[g] = t->fd[e];
		if (s->event[e].kind == COUNTS_SLOTS)
			t->reset_fd = t->fd[e];
		n++;
	}
	return n;
}

/* ---- pages ------------------------------------------------------------------------------ */

static const char *map_pages(struct thread *t)
{
	struct cyclade_set *s = t->set;

	for (size_t i = 0; i < s->n_reads; i++) {
		struct perf_event_mmap_page *p = page_of(t, i);

		if (s->event[s->read[i].event].attr.type == PERF_TYPE_SOFTWARE)
			return "software events have no counter to be read";
		if (mmap(p, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, t->fd[s->read[i].event], 0) ==
		    MAP_FAILED)
			return "the kernel does not share its counters' pages "
			       "(kernel.perf_event_mlock_kb)";
		if (!p->cap_user_rdpmc)
			return "rdpmc is not allowed (/sys/bus/event_source/devices/cpu/rdpmc)";
	}
	return NULL;
}

/* So that locks can still be read. */
static void unmap_pages(struct thread *t)
{
	size_t len = t->map_len - THREAD_BYTES;

	if (len && mmap(page_of(t, 0), len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		t->mode = MODE_NONE; /* no reader has them now */
}

/* ---- threads ---------------------------------------------------------------------------- */

struct cyclade_region thread_ops(const struct thread *t)
{
	if (t->mode == MODE_FAST && fast_ops(t->n_reads, t->set->fields).begin)
		return fast_ops(t->n_reads, t->set->fields);
	return t->mode >= MODE_SLOW ? slow_ops() : plain_ops(t->mode);
}

static void set_ops(struct thread *t)
{
	struct cyclade_region ops = thread_ops(t);

	for (size_t i = 0; i < t->n_regions; i++) {
		t->region[i].pub.begin = ops.begin;
		t->region[i].pub.end = ops.end;
	}
}

static struct thread *allocate(struct cyclade_set *s)
{
	size_t len = THREAD_BYTES + (size_t)TABLE_EVENTS * 4096;
	struct thread *t =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	t->set = s;
	t->map_len = len;
	memset(t->fd, -1, sizeof(t->fd));
	t->reset_fd = -1;
	t->region = mmap(NULL, s->max_regions * sizeof(*t->region), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t->block = t->region == MAP_FAILED ? NULL : new_block(s);
	if (t->block)
		return t;
	if (t->region != MAP_FAILED)
		munmap(t->region, s->max_regions * sizeof(*t->region));
	munmap(t, len);
	return NULL;
}

static struct thread *ended_one(struct cyclade_set *s)
{
	for (struct thread *t = s->threads; t; t = t->list)
		if (t->ended)
			return t;
	return NULL;
}

/* Makes t the calling thread's; its counters are open and, for rdpmc, mapped. */
static void start_thread(struct thread *t)
{
	struct cyclade_set *s = t->set;
	struct table_block *b = t->block;
	struct table_slot *slot;

	if (t->ended)
		add_u64(&b->threads, 1);
	t->self = thread_pointer();
	t->sum = POISON;
	t->busy = false;
	t->ended = false;
	t->tick = (uint64_t)(TICK_SECONDS * s->head->tsc_hz);
	t->next = time_stamp() + t->tick;
	t->n_reads = t->mode >= MODE_SLOW ? s->n_reads : 0;
	b->tid = (uint32_t)syscall(SYS_gettid);
	b->mode = t->mode;
	(void)prctl(PR_GET_NAME, b->comm);
	__atomic_store_n(&b->state, TABLE_LIVE, __ATOMIC_RELEASE);
	for (size_t i = 0; i < t->n_regions; i++) {
		slot = t->region[i].slot;
		memset(&t->region[i], 0, sizeof(t->region[i]));
		t->region[i].thread = t;
		t->region[i].slot = slot;
		t->region[i].depth = 0 - t->self;
	}
	if (t->n_reads)
		slow_look(t);
	set_ops(t);
}

struct thread *thread_new(struct cyclade_set *s)
{
	struct thread *t = s->n_blocks >= THREADS_APART ? ended_one(s) : NULL;

	if (!t) {
		t = allocate(s);
		if (!t)
			return NULL;
		t->list = s->threads;
		s->threads = t;
	}
	t->mode = s->mode;
	if (t->mode != MODE_NONE && !open_events(t, false))
		t->mode = MODE_NONE;
	if (t->mode >= MODE_SLOW && map_pages(t))
		t->mode = MODE_READ;
	start_thread(t);
	return t;
}

void thread_stop(struct thread *t)
{
	if (t->ended)
		return;
	if (t->n_reads)
		fold(t);
	t->mode = MODE_NONE;
	set_ops(t);
	t->n_reads = 0;
	unmap_pages(t);
	close_events(t);
	__atomic_store_n(&t->block->state, TABLE_ENDED, __ATOMIC_RELEASE);
	t->ended = true;
}

void thread_free(struct thread *t)
{
	struct cyclade_set *s = t->set;

	thread_stop(t);
	munmap(t->block, s->block_size);
	munmap(t->region, s->max_regions * sizeof(*t->region));
	munmap(t, t->map_len);
}

struct thread *thread_mine(struct cyclade_set *s)
{
	struct thread *t = pthread_getspecific(s->key);

	if (t)
		return t;
	pthread_mutex_lock(&s->lock);
	t = thread_new(s);
	if (t && pthread_setspecific(s->key, t)) {
		thread_stop(t);
		t = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

static struct region *new_region(struct thread *t, const char *name)
{
	struct region *r = &t->region[t->n_regions];
	struct table_slot *slot = thread_slot_at(t->block, t->n_regions);
	struct cyclade_region ops = thread_ops(t);

	(void)snprintf(slot->name, sizeof(slot->name), "%s", name);
	*r = (struct region){
		.pub = { ops.begin, ops.end }, .thread = t, .depth = 0 - t->self, .slot = slot
	};
	/* a signal's handler sees a region whole or not at all */
	__atomic_store_n(&t->n_regions, t->n_regions + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&t->block->regions, t->n_regions, __ATOMIC_RELEASE);
	return r;
}

struct region *thread_region(struct thread *t, const char *name)
{
	for (size_t i = 0; i < t->n_regions; i++)
		if (!strncmp(t->region[i].slot->name, name, TABLE_NAME - 1))
			return &t->region[i];
	return t->n_regions < t->set->max_regions ? new_region(t, name) : NULL;
}

/* ---- probing this machine ---------------------------------------------------------------- */

static const char *why_refused(int number)
{
	switch (number) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
		return "this machine has no such counters (a virtual machine without a PMU?)";
	case EACCES:
	case EPERM:
		return "not permitted (sysctl kernel.perf_event_paranoid=2)";
	case ENOSYS:
		return "the kernel has no perf_event_open";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return strerror(number);
	}
}

static size_t n_metric_events(const struct cyclade_set *s)
{
	size_t n = 0;

	for (size_t e = 0; e < s->n_events; e++)
		n += s->event[e].kind == COUNTS_FIELD && !s->event[e].refused &&
		     s->event[e].same == e;
	return n;
}

/* Slots, PERF_METRICS once, and the others, each a counter to be read. */
static void list_reads(struct cyclade_set *s)
{
	uint32_t at;

	s->n_reads = s->fields = 0;
	for (uint32_t pass = 0; pass < 3; pass++)
		for (uint32_t e = 0; e < s->n_events; e++) {
			const struct set_event *ev = &s->event[e];
			bool metrics = n_metric_events(s) > 0;
			uint32_t wanted = metrics && ev->kind == COUNTS_SLOTS	? 0u
					  : metrics && ev->kind == COUNTS_FIELD ? 1u
										: 2u;

			if (ev->refused || wanted != pass || ev->same != e)
				continue;
			if (ev->kind == COUNTS_FIELD && metrics && ev->field >= s->fields)
				s->fields = ev->field < 4 ? 4 : 8;
			if (pass == 1 && s->n_reads && s->read[s->n_reads - 1].metrics)
				continue;
			s->head->event[e].at = s->n_reads;
			s->read[s->n_reads++] = (struct set_read){ .event = e,
								   .group = ev->group,
								   .metrics = pass == 1 };
		}
	at = s->n_reads;
	for (uint32_t e = 0; e < s->n_events; e++) {
		if (s->event[e].same != e)
			s->head->event[e].at = s->head->event[s->event[e].same].at;
		else if (s->event[e].refused || (s->fields && s->event[e].kind == COUNTS_FIELD))
			s->head->event[e].at = at++;
	}
}

static uint32_t used_groups(const struct cyclade_set *s)
{
	uint32_t used = 0, n = 0;

	for (size_t e = 0; e < s->n_events; e++)
		if (!s->event[e].refused)
			used |= 1u << s->event[e].group;
	for (; used; used &= used - 1)
		n++;
	return n;
}

/* Why rdpmc is out of the question, or NULL. */
static const char *no_rdpmc(struct cyclade_set *s, unsigned flags)
{
	if (flags & CYCLADE_NO_RDPMC)
		return "as asked for";
	if (!fast_here())
		return "no rdpmc on this kind of machine";
	if (sysconf(_SC_PAGESIZE) != 4096)
		return "pages of another size";
	if (s->hybrid)
		return "cores differ here, and rdpmc of a counter that the next core has not is "
		       "fatal";
	if (s->fields && used_groups(s) > 1)
		return "several groups take turns with the top-down metrics";
	if (s->fields && s->n_reads > FAST_READS)
		return "more counters than can be read at once";
	return NULL;
}

/* The first group that takes turns; n_groups: none. */
static uint32_t first_turn(const struct cyclade_set *s)
{
	for (uint32_t e = 0; e < s->n_events; e++)
		if (!s->event[e].pinned)
			return s->event[e].group;
	return s->n_groups;
}

/* Events asked for by name go into the first group that takes turns, if the kernel takes them
 * there. */
static void try_one_group(struct thread *t)
{
	struct cyclade_set *s = t->set;
	uint32_t own = s->n_groups - 1, first = first_turn(s);
	bool refused = false, moved[TABLE_EVENTS] = { false };

	if (s->n_groups < 2 || s->hybrid || first >= own)
		return;
	for (size_t e = 0; e < s->n_events; e++) {
		moved[e] = s->event[e].extra && s->event[e].group == own;
		s->event[e].group = moved[e] ? first : s->event[e].group;
		refused |= !moved[e] && s->event[e].group == own; /* the plan's */
	}
	(void)open_events(t, true);
	for (size_t e = 0; e < s->n_events; e++)
		refused |= s->event[e].extra && s->event[e].refused;
	close_events(t);
	if (!refused)
		s->n_groups--;
	for (size_t e = 0; e < s->n_events && refused; e++)
		s->event[e].group = moved[e] ? own : s->event[e].group;
}

/* Another program keeps a counter that a pinned group needs: then it takes turns, too. Reads of it
 * are empty. */
static bool lost_thread_pin(const struct thread *t)
{
	const struct cyclade_set *s = t->set;
	bool any = false;
	uint64_t word[TABLE_EVENTS + 3];

	for (size_t e = 0; e < s->n_events; e++)
		if (s->event[e].attr.pinned && t->fd[e] >= 0)
			any |= read(t->fd[e], word, sizeof(word)) == 0;
	return any;
}

static size_t open_first(struct thread *t)
{
	struct cyclade_set *s = t->set;
	size_t n = open_events(t, true);

	if (!n || !lost_thread_pin(t))
		return n;
	close_events(t);
	for (size_t e = 0; e < s->n_events; e++)
		s->event[e].attr.pinned = s->event[e].pinned = false;
	return open_events(t, true);
}

static void say_status(struct cyclade_set *s, const char *how, const char *why)
{
	(void)snprintf(s->head->status, sizeof(s->head->status), "%s%s%s", how, why ? ": " : "",
		       why ? why : "");
}

static const char *choose_rdpmc(struct thread *t, unsigned flags)
{
	struct cyclade_set *s = t->set;
	const char *why = no_rdpmc(s, flags);

	if (!why)
		why = map_pages(t);
	if (why)
		return why;
	s->mode = used_groups(s) > 1 || s->n_reads > FAST_READS ? MODE_SLOW : MODE_FAST;
	if (used_groups(s) > 1 && !page_of(t, 0)->cap_user_time)
		return "the kernel does not give the time that groups take turns by";
	return NULL;
}

static void fill_head(struct cyclade_set *s, const struct thread *t)
{
	s->head->n_events = s->n_events;
	s->head->n_groups = s->n_groups;
	s->head->n_parts = s->n_parts;
	s->head->fields = s->fields;
	for (size_t e = 0; e < s->n_events; e++) {
		struct table_event *to = &s->head->event[e];
		const struct set_event *ev = &s->event[e];

		(void)snprintf(to->name, sizeof(to->name), "%s", ev->name);
		to->part = ev->part;
		to->group = ev->group;
		to->kind = ev->kind;
		to->field = ev->field;
		to->asked = ev->extra;
		to->refused = (uint32_t)ev->refused;
		to->width = 0;
		if (s->mode == MODE_FAST && !ev->refused && to->at < s->n_reads)
			to->width = ev->kind == COUNTS_SLOTS ? 48 : t->width ? t->width : 48;
	}
}

int thread_probe(struct cyclade_set *s, unsigned flags, struct err *err)
{
	struct thread *t;
	const char *why;
	int number = ENOENT;

	s->mode = MODE_NONE;
	t = thread_mine(s);
	if (!t)
		return err_nomem(err);
	try_one_group(t);
	if (!open_first(t)) {
		for (size_t e = 0; e < s->n_events; e++)
			number = s->event[e].refused;
		say_status(s, "not measured",
			   s->n_events ? why_refused(number)
				       : "this machine shows no PMU that could count it");
		list_reads(s);
		fill_head(s, t);
		return 0;
	}
	list_reads(s);
	why = choose_rdpmc(t, flags);
	if (why)
		s->mode = MODE_READ;
	say_status(s,
		   why			  ? "read(2)"
		   : s->mode == MODE_SLOW ? "rdpmc, groups take turns"
					  : "rdpmc",
		   why);
	t->mode = s->mode;
	start_thread(t);
	fill_head(s, t);
	return 0;
}
