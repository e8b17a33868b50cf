/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --heap: the program is started with a library before libc's that logs what it allocates
 * (src/heaplog), each of its processes into a file of a directory beside the recording. At the end
 * the recording has all of them, and the directory goes. A watchdog removes it if the recorder ends
 * by a signal; if both are killed, the next recorder that writes beside it does.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir_held.h"
#include "base/file_in.h"
#include "base/fs.h"
#include "base/num.h"
#include "measure/sampling/sampling_int.h"
#include "symbol/heap_log.h"

/* Of a process' log; then fewer small objects are logged. */
#define LIMIT	  (UINT64_C(1) << 29)
#define RATE_MOST (UINT64_C(1) << 20)

static int rate_of(const struct ask *o, uint64_t *rate, struct err *err)
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

/* Removes what recorders have left that were killed together with their watchdog. */
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

int sampling_heap_begin(struct sampling *r, struct err *err)
{
	const struct perf_event_attr *a = &r->ev[0].attr;
	struct watchdog_job job;
	uint64_t rate;
	char *name;

	if (!r->ask.heap)
		return 0;
	if (rate_of(&r->ask, &rate, err))
		return -1;
	if (!a->use_clockid)
		return err_set(err, ERR_UNSUPPORTED,
			       "--heap: this kernel cannot take times of CLOCK_MONOTONIC_RAW");
	if (!r->ask.preload) /* the program runs unlogged */
		return 0;
	name = arena_printf(r->arena, "%s.heap-XXXXXX", r->path);
	if (!name)
		return err_nomem(err);
	sweep_beside(r->path);
	r->heap_lock = dir_held_make(name);
	if (r->heap_lock < 0)
		return err_sys(err, "%s: a directory for the logs of --heap", name);
	r->heap_dir = realpath(name, NULL);
	if (!r->heap_dir) {
		(void)rmdir(name);
		(void)close(r->heap_lock);
		return err_nomem(err);
	}
	job = (struct watchdog_job){ "cyclade-heap", remove_dir, r->heap_dir, NULL, 0 };
	(void)!watchdog_begin(&r->heap_watchdog, &job, NULL); /* without it the next start does */
	r->heap_env[0] =
		arena_printf(r->arena, "CYCLADE_HEAP=%d:%llu:%llu:%s", (int)a->clockid,
			     (unsigned long long)rate, (unsigned long long)LIMIT, r->heap_dir);
	r->heap_env[1] = arena_printf(r->arena, "LD_PRELOAD=%s", r->ask.preload);
	if (!r->heap_env[0] || !r->heap_env[1])
		return err_nomem(err);
	r->ask.env = r->heap_env;
	heap_log_mark(&r->heap_marks, a->clockid);
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_log(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* The recording then shows the process of a file that cannot be read as one without a log. */
static void add_log(struct buf *b, const char *path)
{
	struct file_map map;

	if (file_map_open(&map, path, NULL))
		return;
	heap_log_pack(b, map.p, map.len);
	file_map_close(&map);
}

static void add_logs(struct buf *b, const char *dir)
{
	struct dirent **v;
	int n = scandir(dir, &v, is_log, by_name);
	char path[4096];

	if (n < 0) {
		b->failed = true;
		return;
	}
	for (int i = 0; i < n; i++) {
		if (!path_join(path, sizeof(path), dir, v[i]->d_name))
			add_log(b, path);
		free(v[i]);
	}
	free(v);
}

bool sampling_heap_logs(struct sampling *r, struct buf *b)
{
	bool has;

	if (!r->heap_dir)
		return false;
	add_logs(b, r->heap_dir);
	has = b->len;
	if (!b->failed && !has)
		ask_news(&r->ask, "--heap: the program left no log of its allocations: is it "
				  "static, or does it run with more rights?");
	heap_log_mark(b, r->ev[0].attr.clockid);
	buf_put(b, r->heap_marks.s, r->heap_marks.len);
	return b->failed || has;
}

void sampling_heap_end(struct sampling *r)
{
	if (!r->heap_dir)
		return;
	dir_held_remove(r->heap_dir);
	watchdog_end(&r->heap_watchdog);
	(void)close(r->heap_lock);
	free(r->heap_dir);
	buf_free(&r->heap_marks);
}
