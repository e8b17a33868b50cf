/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be said against the options before anything is opened, and whom they mean: tasks, CPUs,
 * a cgroup. A task or a CPU named twice is watched once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/num.h"
#include "cli/sampling_int.h"
#include "collect/synth.h"

#define CPUS_MAX     65536u
#define TASKS_MAX    65536u
#define STACK_MAX    65528u /* the kernel's own limit: a record's size has 16 bits */
#define DEFAULT_ZSTD 1

/* ---- options ---------------------------------------------------------------------------- */

static int ring_size(struct sampling *r, struct err *err)
{
	uint64_t pages = r->cli->opt.mmap_pages;

	if (!OPTION_GIVEN(&r->cli->opt, mmap_pages))
		return 0;
	if (!pages || pages & (pages - 1) || pages > 1u << 20) {
		(void)err_set(err, ERR_USAGE,
			      "--mmap-pages must be a power of two, at most 1048576");
		return err_hint(err, "the default is 128: -m 512 makes each CPU's ring 2 MB");
	}
	r->ring_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static int zstd_level(struct sampling *r, struct err *err)
{
	const char *level = r->cli->opt.compress;
	uint64_t n = DEFAULT_ZSTD;

	if (!level)
		return 0;
	if (*level && num_parse_u64(&n, level, err))
		return err_prefix(err, "--compress");
	if (n < 1 || n > 22)
		return err_set(err, ERR_USAGE, "--compress takes a level from 1 to 22");
	r->zstd_level = (int)n;
	return 0;
}

static int rate(const struct options *o, struct err *err)
{
	bool freq = OPTION_GIVEN(o, freq), count = OPTION_GIVEN(o, count);

	if ((freq && !o->freq) || (count && !o->count)) {
		(void)err_set(err, ERR_USAGE, "%s 0 would take no samples", freq ? "-F" : "-c");
		return err_hint(err, "-F 4000 takes 4000 a second, -c 1000 one every 1000 events");
	}
	if (freq && count) {
		(void)err_set(err, ERR_USAGE, "-F and -c exclude each other");
		return err_hint(err, "-F: so many samples a second; -c: one every so many events");
	}
	return 0;
}

/* Where a recording can be kept: its head is written again at the end. */
static int output_path(const char *path, struct err *err)
{
	struct stat st;

	if (!*path)
		return err_set(err, ERR_USAGE, "the recording's name is empty");
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strncmp(path, "/dev/fd/", 8) ||
	    !strncmp(path, "/proc/", 6)) {
		(void)err_set(err, ERR_USAGE,
			      "a recording cannot go to a stream (%s), its head is written last",
			      path);
		return err_hint(err, "name a file, such as my.data");
	}
	if (stat(path, &st))
		return 0; /* it is made; if it cannot be, that is told then */
	if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	(void)err_set(err, ERR_USAGE, "%s is not a file: a recording's head is written last", path);
	return err_hint(err, "name a file, such as my.data");
}

int sampling_check(struct sampling *r, struct err *err)
{
	const struct options *o = &r->cli->opt;

	if (output_path(r->path, err) || rate(o, err) || ring_size(r, err) || zstd_level(r, err))
		return -1;
	if (o->user_only && o->kernel_only) {
		(void)err_set(err, ERR_USAGE, "--user and --kernel exclude each other");
		return err_hint(err, "without either, both are sampled");
	}
	if (OPTION_GIVEN(o, for_time) && !o->for_time)
		return err_set(err, ERR_USAGE, "--for 0 would measure nothing");
	if (OPTION_GIVEN(o, stack_size) && (o->stack_size < 8 || o->stack_size > STACK_MAX))
		return err_set(err, ERR_USAGE, "--stack-size goes from 8 to %u bytes", STACK_MAX);
	if (r->cli->args.n && !*r->cli->args.v[0])
		return err_set(err, ERR_USAGE, "the program's name is empty");
	return 0;
}

/* ---- tasks ------------------------------------------------------------------------------ */

static int add_task(void *ctx, uint64_t v)
{
	struct sampling *r = ctx;

	return v > INT32_MAX ? -1 : vec_push(&r->tasks, (pid_t)v);
}

static int task_list(struct sampling *r, const struct text_list *l, const char *option,
		     struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!num_parse_list(l->v[i], TASKS_MAX, add_task, r, NULL))
			continue;
		(void)err_set(err, ERR_USAGE,
			      "%s: '%.60s' is not a list of numbers such as 1234,1300", option,
			      l->v[i]);
		return !strcmp(option, "--pid") ? err_hint(err, "by name: -p $(pgrep -d, NAME)")
						: -1;
	}
	return 0;
}

/* All threads of each process named by -p. */
static int add_processes(struct sampling *r, const struct text_list *l, struct err *err)
{
	size_t first = r->tasks.n, end;

	if (task_list(r, l, "--pid", err))
		return -1;
	end = r->tasks.n;
	for (size_t i = first; i < end; i++) {
		pid_t *tids, pid = r->tasks.v[i];
		size_t n;

		if (synth_threads(pid, &tids, &n, err))
			return -1;
		for (size_t k = 0; k < n; k++)
			if (tids[k] != pid && vec_push(&r->tasks, tids[k])) {
				free(tids);
				return err_nomem(err);
			}
		free(tids);
	}
	return 0;
}

static int add_threads(struct sampling *r, const struct text_list *l, struct err *err)
{
	size_t first = r->tasks.n;

	if (task_list(r, l, "--tid", err))
		return -1;
	for (size_t i = first; i < r->tasks.n; i++)
		if (synth_tgid(r->tasks.v[i]) < 0)
			return err_set(err, ERR_NOT_FOUND, "there is no thread %d",
				       (int)r->tasks.v[i]);
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void tasks_once(struct sampling *r)
{
	size_t kept = 0;

	vec_sort(&r->tasks, by_task);
	for (size_t i = 0; i < r->tasks.n; i++)
		if (!kept || r->tasks.v[i] != r->tasks.v[kept - 1])
			r->tasks.v[kept++] = r->tasks.v[i];
	r->tasks.n = kept;
}

/* ---- CPUs ------------------------------------------------------------------------------- */

struct cpu_list {
	VEC(uint32_t) cpu;
};

static int add_cpu(void *ctx, uint64_t v)
{
	struct cpu_list *l = ctx;

	return v > INT32_MAX ? -1 : vec_push(&l->cpu, (uint32_t)v);
}

static int by_cpu(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int sampling_cpu_list(uint32_t **out, size_t *n, const char *text, struct err *err)
{
	struct cpu_list l = { VEC_INIT };
	size_t kept = 0;

	if (num_parse_list(text, CPUS_MAX, add_cpu, &l, err)) {
		vec_free(&l.cpu);
		return -1;
	}
	vec_sort(&l.cpu, by_cpu);
	for (size_t i = 0; i < l.cpu.n; i++)
		if (!kept || l.cpu.v[i] != l.cpu.v[kept - 1])
			l.cpu.v[kept++] = l.cpu.v[i];
	*out = l.cpu.v;
	*n = kept;
	return 0;
}

static bool online(const struct machine *m, uint32_t cpu)
{
	for (uint32_t i = 0; i < m->cpus_online; i++)
		if (m->online[i] == cpu)
			return true;
	return !m->cpus_online; /* not known: the kernel will say */
}

static int find_cpus(struct sampling *r, struct err *err)
{
	const char *list = r->cli->opt.cpu;

	if (!list) {
		for (uint32_t i = 0; i < r->machine.cpus_online; i++)
			if (vec_push(&r->cpus, r->machine.online[i]))
				return err_nomem(err);
		return 0;
	}
	if (sampling_cpu_list(&r->cpus.v, &r->cpus.n, list, err))
		return err_prefix(err, "--cpu");
	vec_each (&r->cpus, const uint32_t *, cpu) {
		if (online(&r->machine, *cpu))
			continue;
		(void)err_set(err, ERR_NOT_FOUND, "--cpu: CPU %u is not online", *cpu);
		return err_hint(err, "cat /sys/devices/system/cpu/online");
	}
	return 0;
}

/* ---- cgroup ----------------------------------------------------------------------------- */

/* Where the hierarchy is mounted that counters follow: of version 1 the one with perf_event, else
 * version 2's. Empty: none is. */
static void cgroup_root(struct buf *root)
{
	struct buf text = BUF_INIT;
	char *save = NULL;

	if (file_slurp(&text, "/proc/self/mounts", 16u << 20, NULL) || !text.len)
		goto out;
	for (char *line = strtok_r(text.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at = NULL, *dir, *type, *options;

		(void)strtok_r(line, " ", &at);
		dir = strtok_r(NULL, " ", &at);
		type = strtok_r(NULL, " ", &at);
		options = strtok_r(NULL, " ", &at);
		if (!options)
			continue;
		if (!strcmp(type, "cgroup") && strstr(options, "perf_event")) {
			buf_reset(root);
			buf_puts(root, dir);
			break;
		}
		if (!strcmp(type, "cgroup2") && !root->len)
			buf_puts(root, dir);
	}
out:
	buf_free(&text);
}

static int open_cgroup(struct sampling *r, struct err *err)
{
	const struct text_list *l = &r->cli->opt.cgroup;
	struct buf root = BUF_INIT;
	char path[4096];
	int rc = -1;

	if (!l->n)
		return 0;
	if (l->n > 1 || strchr(l->v[0], ','))
		return err_set(err, ERR_UNSUPPORTED, "one cgroup at a time");
	if (!r->whole_cpus) {
		(void)err_set(err, ERR_USAGE, "--cgroup counts on whole CPUs");
		return err_hint(err, "add -a, or -C CPUS");
	}
	cgroup_root(&root);
	if (!root.len) {
		(void)err_set(err, ERR_NOT_FOUND, "--cgroup: no cgroup hierarchy is mounted");
		(void)err_hint(err, "mount -t cgroup2 none /sys/fs/cgroup");
		goto out;
	}
	if (path_join(path, sizeof(path), buf_str(&root), l->v[0])) {
		(void)err_set(err, ERR_USAGE, "--cgroup: the name is too long");
		goto out;
	}
	r->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->cgroup_fd < 0) {
		(void)err_sys(err, "%s", path);
		(void)err_hint(err,
			       "cgroups are named below %s: user.slice, system.slice/x.service",
			       buf_str(&root));
		goto out;
	}
	rc = 0;
out:
	buf_free(&root);
	return rc;
}

int sampling_targets(struct sampling *r, struct err *err)
{
	const struct options *o = &r->cli->opt;
	bool tasks = o->pid.n || o->tid.n;

	r->whole_cpus = o->all || (o->cpu && !tasks && !r->cli->args.n);
	r->result.has_program = r->cli->args.n;
	if (!r->whole_cpus && !tasks && !r->cli->args.n) {
		(void)err_set(err, ERR_USAGE, "nothing to record");
		return err_hint(
			err, "name a program (-- ./prog), a process (-p PID) or the machine (-a)");
	}
	if (tasks && (r->cli->args.n || o->all)) {
		(void)err_set(err, ERR_USAGE, "-p and -t go with neither a program nor -a");
		return err_hint(err, "to watch for a while: --for 10s");
	}
	if (add_processes(r, &o->pid, err) || add_threads(r, &o->tid, err) || find_cpus(r, err))
		return -1;
	tasks_once(r);
	/* an inherited counter may only share a ring on its CPU */
	r->per_task = o->no_inherit && !r->whole_cpus && !o->cpu;
	return open_cgroup(r, err);
}
