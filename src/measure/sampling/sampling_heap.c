/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --heap: the program is started with a library before libc's that logs its allocations
 * (src/heaplog), each of its processes into a file of a directory beside the recording. At the end
 * the recording has all of them, and the directory goes. A watchdog removes it if the recorder ends
 * by a signal; if both are killed, the next recorder that writes beside it does.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir_held.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "base/num.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/heap_log.h"

/* Bytes of a process' log; beyond that fewer small objects are logged. */
#define LIMIT	  (UINT64_C(1) << 29)
#define RATE_MOST (UINT64_C(1) << 20)

static int heap_rate_of(const struct measure_opts *o, uint64_t *rate, struct err *err)
{
	*rate = 1;
	if (!*o->heap)
		return 0;
	if (num_parse_u64(rate, o->heap, err))
		return err_prefix(err, "--heap");
	if (!*rate || *rate & (*rate - 1) || *rate > RATE_MOST)
		return err_set(err, ERR_USAGE,
			       "--heap=%s: of how many small objects is one logged? A power of two",
			       o->heap);
	return 0;
}

/* Removes files of recorders that were killed together with their watchdog. */
static void sweep_beside(const char *path)
{
	const char *name = path_base(path);
	char dir[4096];

	if (name == path)
		dir_held_sweep(".", ".heap-");
	else if ((size_t)snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path) < sizeof(dir))
		dir_held_sweep(dir, ".heap-");
}

static void remove_dir(void *dir)
{
	dir_held_remove(dir);
}

/* Signals are held back: one that ends us leaves the directory to the watchdog. */
static int make_dir(struct sampling *r, char *name, struct err *err)
{
	struct watchdog_job job = { "cyclade-heap", remove_dir, NULL, NULL, 0 };
	sigset_t all, had;
	int rc = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &had);
	r->heap_lock = dir_held_make(name);
	if (r->heap_lock < 0) {
		rc = err_sys(err, "%s: a directory for the logs of --heap", name);
		goto out;
	}
	r->heap_dir = realpath(name, NULL);
	if (!r->heap_dir) {
		rc = err_nomem(err);
		(void)rmdir(name);
		(void)close(r->heap_lock);
		goto out;
	}
	job.ctx = r->heap_dir;
	(void)!watchdog_begin(&r->heap_watchdog, &job, NULL); /* without it the next start does */
out:
	(void)pthread_sigmask(SIG_SETMASK, &had, NULL);
	return rc;
}

int sampling_heap_begin(struct sampling *r, struct err *err)
{
	const struct perf_event_attr *a = &r->ev[0].attr;
	uint64_t rate;
	char *name;

	if (!r->opts.heap)
		return 0;
	if (heap_rate_of(&r->opts, &rate, err))
		return -1;
	if (!a->use_clockid)
		return err_set(err, ERR_UNSUPPORTED,
			       "--heap: this kernel cannot take times of CLOCK_MONOTONIC_RAW");
	if (!r->opts.preload) /* the program runs unlogged */
		return 0;
	name = arena_printf(r->arena, "%s.heap-XXXXXX", r->path);
	if (!name)
		return err_nomem(err);
	sweep_beside(r->path);
	if (make_dir(r, name, err))
		return -1;
	r->heap_env[0] =
		arena_printf(r->arena, "CYCLADE_HEAP=%d:%llu:%llu:%s", (int)a->clockid,
			     (unsigned long long)rate, (unsigned long long)LIMIT, r->heap_dir);
	r->heap_env[1] = arena_printf(r->arena, "LD_PRELOAD=%s", r->opts.preload);
	if (!r->heap_env[0] || !r->heap_env[1])
		return err_nomem(err);
	r->opts.env = r->heap_env;
	heap_log_mark(&r->heap_marks, a->clockid);
	return 0;
}

static int by_heap_file_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_log(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Reads the chunk at `at`, by its own size. 0: no chunk. */
static size_t read_chunk(int fd, uint64_t at, uint8_t *room)
{
	struct heap_chunk c;

	if (pread(fd, &c, sizeof(c), (off_t)at) != (ssize_t)sizeof(c) || c.magic != HEAP_MAGIC ||
	    c.size < sizeof(c) || c.size > HEAP_CHUNK_MOST ||
	    pread(fd, room, c.size, (off_t)at) != (ssize_t)c.size)
		return 0;
	return c.size;
}

struct taking {
	struct sampling *r;
	struct buf *b;
	uint8_t *room; /* of a chunk */
	bool full;
	uint64_t not_logged; /* calls */
};

/* Chunk by chunk, without the holes: the program may have damaged its log. */
static void add_log(struct taking *t, int fd)
{
	uint64_t at = 0;
	struct heap_chunk c;
	off_t data;

	while (at < HEAP_FILE_MOST && (data = lseek(fd, (off_t)at, SEEK_DATA)) >= 0) {
		size_t had = t->b->len, size;

		at = (uint64_t)data & ~(uint64_t)(HEAP_CHUNK_LEAST - 1);
		size = read_chunk(fd, at, t->room);
		at += size > HEAP_CHUNK_LEAST ? size : HEAP_CHUNK_LEAST;
		at = (at + HEAP_CHUNK_LEAST - 1) & ~(uint64_t)(HEAP_CHUNK_LEAST - 1);
		heap_log_pack(t->b, t->room, size);
		t->full = !file_in_charge(t->b->len - had);
		if (t->full) {
			t->b->len = had;
			return;
		}
		t->r->heap_charged += t->b->len - had;
		if (size) {
			memcpy(&c, t->room, sizeof(c));
			t->not_logged += c.not_logged;
		}
	}
}

/* The recording then shows the process of a file that cannot be read as one without a log. */
static void add_heap_file(struct taking *t, const char *path)
{
	struct stat st;
	int fd = file_in_open(NULL, path, FILE_IN_NO_LINK | FILE_IN_STATE, &st, NULL);

	if (fd < 0)
		return;
	add_log(t, fd);
	(void)close(fd);
}

static void add_logs(struct sampling *r, struct buf *b)
{
	struct taking t = { .r = r, .b = b, .room = malloc(HEAP_CHUNK_MOST) };
	struct dirent **v = NULL;
	int n = t.room ? scandir(r->heap_dir, &v, is_log, by_heap_file_name) : -1;
	char path[4096], calls[NUM_MAX];

	b->failed |= n < 0;
	for (int i = 0; i < n; i++) {
		if (!t.full && !path_join(path, sizeof(path), r->heap_dir, v[i]->d_name))
			add_heap_file(&t, path);
		free(v[i]);
	}
	free(v);
	free(t.room);
	if (t.full)
		measure_news(
			&r->opts,
			"--heap: the logs would take more than a quarter of the memory: what is "
			"beyond %zu MB is left out; --heap=16 logs one small object of 16",
			r->heap_charged >> 20);
	if (t.not_logged)
		measure_news(&r->opts,
			     "--heap: %s allocations or releases were not logged: the log had no "
			     "room",
			     num_exact(calls, t.not_logged));
}

bool sampling_heap_logs(struct sampling *r, struct buf *b)
{
	bool has;

	if (!r->heap_dir)
		return false;
	add_logs(r, b);
	has = b->len;
	if (!b->failed && !has)
		measure_news(&r->opts, "--heap: the program left no log of its allocations: is it "
				       "static, or does it run with more rights?");
	heap_log_mark(b, r->ev[0].attr.clockid);
	buf_put(b, r->heap_marks.s, r->heap_marks.len);
	return b->failed || has;
}

bool sampling_heap_release(struct sampling *r)
{
	if (r->heap_dir)
		dir_held_remove(r->heap_dir);
	return r->heap_dir;
}

void sampling_heap_end(struct sampling *r)
{
	if (!r->heap_dir)
		return;
	dir_held_remove(r->heap_dir);
	watchdog_end(&r->heap_watchdog);
	file_in_release(r->heap_charged);
	(void)close(r->heap_lock);
	free(r->heap_dir);
	buf_free(&r->heap_marks);
}
