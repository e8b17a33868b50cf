/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set: its table, its events, how counters can be read here. The one place of the library that
 * looks at the environment: CYCLADE_REGIONS names the table's file if the program does not,
 * CYCLADE_SYSROOT the tree that facts of the machine are read below.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "region/region_int.h"

#define REGIONS_USUAL 64

/* ---- the clock -------------------------------------------------------------------------- */

/* As measured by the kernel; 0: unknown. */
static double hz_of_kernel(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY,
				     .exclude_kernel = 1 };
	struct perf_event_mmap_page *p;
	double hz = 0;
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return 0;
	p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		if (p->cap_user_time && p->time_mult)
			hz = 1e9 * (double)(1ull << (p->time_shift & 63)) / p->time_mult;
		munmap(p, (size_t)sysconf(_SC_PAGESIZE));
	}
	close(fd);
	return hz;
}

static double table_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double hz_by_waiting(void)
{
	double from = table_clock(), to;
	uint64_t stamp = time_stamp();

	do {
		to = table_clock();
	} while (to - from < 0.01);
	return (double)(time_stamp() - stamp) / (to - from);
}

static double clock_hz(void)
{
	double hz = 0;

#if defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
	hz = (double)v;
#endif
	if (!(hz > 0))
		hz = hz_of_kernel();
	return hz >= 1e3 && hz <= 1e12 ? hz : hz_by_waiting();
}

/* ---- the table -------------------------------------------------------------------------- */

/* "%p" is this process, and for all but its first set a number behind that. */
static int expand_path(char *out, size_t size, const char *pattern, unsigned number,
		       struct err *err)
{
	const char *at = strstr(pattern, "%p");
	char more[16] = "";
	int n;

	if (number > 1)
		(void)snprintf(more, sizeof(more), "-%u", number);
	n = at ? snprintf(out, size, "%.*s%d%s%s", (int)(at - pattern), pattern, (int)getpid(),
			  more, at + 2)
	       : snprintf(out, size, "%s", pattern);
	if (n < 0 || (size_t)n >= size)
		return err_set(err, ERR_USAGE, "the name of the regions' file is too long");
	return 0;
}

/* Only a table of an earlier run may make room for a new one. */
static int make_table_room(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t start = 0;
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", path);
	got = read(fd, &start, sizeof(start));
	close(fd);
	/* one whose process ended while it began has no magic yet */
	if (got && (got != sizeof(start) || (start && start != TABLE_MAGIC)))
		return err_set(err, ERR_USAGE, "%s is there, and is no table of regions", path);
	return unlink(path) && errno != ENOENT ? err_sys(err, "%s", path) : 0;
}

static int create(struct cyclade_set *s, const char *pattern, struct err *err)
{
	bool own = strstr(pattern, "%p");

	/* a process may have several sets, and may have been another program before */
	for (unsigned number = 1; number <= 1000; number++) {
		if (expand_path(s->path, sizeof(s->path), pattern, number, err) ||
		    (!own && make_table_room(s->path, err)))
			return -1;
		s->fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (s->fd >= 0)
			return 0;
		if (errno != EEXIST || !own)
			break;
	}
	return err_sys(err, "%s", s->path);
}

static int table_file(struct cyclade_set *s, const char *file, struct err *err)
{
	if (!file || !*file)
		file = secure_getenv("CYCLADE_REGIONS");
	if (file && *file)
		return create(s, file, err);
	s->fd = memfd_create("cyclade-regions", MFD_CLOEXEC);
	return s->fd < 0 ? err_sys(err, "memory for regions") : 0;
}

static size_t round_to_page(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) / page * page;
}

static int make_table(struct cyclade_set *s, const struct cyclade_open_opts *o, struct err *err)
{
	struct table_head *h;

	s->max_regions = o->max_regions ? o->max_regions : REGIONS_USUAL;
	if (s->max_regions > TABLE_REGIONS)
		return err_set(err, ERR_USAGE, "max_regions is %u at most", TABLE_REGIONS);
	s->head_len = round_to_page(TABLE_HEAD_SIZE);
	s->block_size =
		round_to_page(TABLE_BLOCK_HEAD + 2 * s->max_regions * sizeof(struct table_slot));
	if (table_file(s, o->file, err))
		return -1;
	if (ftruncate(s->fd, (off_t)s->head_len))
		return err_sys(err, "memory for regions");
	h = mmap(NULL, s->head_len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (h == MAP_FAILED)
		return err_sys(err, "memory for regions");
	s->head = h;
	h->head_size = (uint32_t)s->head_len;
	h->block_size = (uint32_t)s->block_size;
	h->slot_size = sizeof(struct table_slot);
	h->max_regions = s->max_regions;
	h->pid = (uint32_t)getpid();
	h->tsc_hz = clock_hz();
	h->started = (uint64_t)time(NULL);
	(void)prctl(PR_GET_NAME, h->comm);
	return 0;
}

/* ---- costs of begin and end --------------------------------------------------------------- */

static void measure_pair(struct cyclade_set *s)
{
	struct thread *t = thread_mine(s);
	struct table_slot slot;
	struct region r;
	uint64_t least = UINT64_MAX;

	if (!t)
		return;
	memset(&slot, 0, sizeof(slot));
	memset(&r, 0, sizeof(r));
	r.pub = thread_ops(t);
	r.thread = t;
	r.slot = &slot;
	r.depth = 0 - t->self;
	for (int i = 0; i < 16; i++) {
		uint64_t from = time_stamp(), took;

		cyclade_begin(&r.pub);
		cyclade_end(&r.pub);
		took = time_stamp() - from;
		least = took < least ? took : least;
	}
	s->head->pair_tsc = least;
}

/* ---- sets ------------------------------------------------------------------------------- */

static void thread_ends(void *arg)
{
	struct thread *t = arg;
	struct cyclade_set *s = t->set;

	pthread_mutex_lock(&s->lock);
	thread_stop(t);
	pthread_mutex_unlock(&s->lock);
}

/* Options that the caller's library version knew; the rest is 0. */
static void take_opts(struct cyclade_open_opts *to, const struct cyclade_open_opts *from)
{
	size_t n = from ? from->size : 0;

	memset(to, 0, sizeof(*to));
	if (from)
		memcpy(to, from, n < sizeof(*to) ? n : sizeof(*to));
	if (!to->sysroot)
		to->sysroot = secure_getenv("CYCLADE_SYSROOT");
}

static int fill(struct cyclade_set *s, const struct cyclade_open_opts *o, struct err *err)
{
	if (pthread_key_create(&s->key, thread_ends))
		return err_set(err, ERR_LIMIT, "no key for a thread's memory is left");
	s->has_key = true;
	s->kernel = o->flags & CYCLADE_KERNEL;
	if (make_table(s, o, err) || plan_names(s, o, err) || thread_probe(s, o->flags, err))
		return -1;
	measure_pair(s);
	fork_watch(s);
	/* readers may believe it from here on */
	__atomic_store_n(&s->head->magic, TABLE_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static void give_error(struct cyclade_error *to, const struct err *err)
{
	struct cyclade_error full = { .size = 0 };
	size_t n = to && to->size < sizeof(full) ? to ? to->size : 0 : sizeof(full);

	if (!to || n <= sizeof(size_t))
		return;
	full.size = to->size;
	(void)snprintf(full.what, sizeof(full.what), "%s", err->what);
	(void)snprintf(full.hint, sizeof(full.hint), "%.255s", err->hint);
	memcpy(to, &full, n);
}

int cyclade_open(struct cyclade_set **set, const struct cyclade_open_opts *opts,
		 struct cyclade_error *error)
{
	static unsigned long number;
	struct cyclade_open_opts o;
	struct err err = ERR_INIT;
	struct cyclade_set *s = calloc(1, sizeof(*s));

	*set = NULL;
	take_opts(&o, opts);
	if (!s) {
		(void)err_nomem(&err);
		give_error(error, &err);
		return -1;
	}
	s->number = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	if (fill(s, &o, &err)) {
		give_error(error, &err);
		cyclade_close(s);
		return -1;
	}
	*set = s;
	return 0;
}

void cyclade_close(struct cyclade_set *s)
{
	struct thread *next;

	if (!s)
		return;
	fork_forget(s);
	if (s->has_key)
		pthread_key_delete(s->key);
	for (struct thread *t = s->threads; t; t = next) {
		next = t->list;
		thread_free(t);
	}
	if (s->head) {
		s->head->closed = 1;
		munmap(s->head, s->head_len);
	}
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->n_parts; i++)
		model_free(s->model[i]);
	event_list_free(&s->list);
	arena_free(&s->arena);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
