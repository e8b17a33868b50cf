/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/invariant.h"
#include "base/num.h"
#include "base/text.h"
#include "collect/cgroup.h"
#include "collect/synth.h"
#include "collect/sysfs.h"

#define CPUS_MAX  65536u
#define TASKS_MAX 65536u

/* ---- tasks ------------------------------------------------------------------------------ */

static int add_task(void *ctx, uint64_t v)
{
	struct targets *w = ctx;

	return v > INT32_MAX ? -1 : vec_push(&w->tasks, (pid_t)v);
}

static int task_list(struct targets *w, const struct text_list *l, const char *option,
		     struct err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (num_parse_list(l->v[i], TASKS_MAX, add_task, w, NULL))
			return err_set(err, ERR_USAGE,
				       "%s: '%.60s' is not a list of numbers such as 1234,1300",
				       option, l->v[i]);
	return 0;
}

static int add_process(void *ctx, uint64_t v)
{
	struct targets *w = ctx;

	return v > INT32_MAX ? -1 : vec_push(&w->processes, (pid_t)v);
}

/* "1234", or a name. */
static int find_process(struct targets *w, const char *word, size_t len, struct err *err)
{
	char name[256];
	pid_t pid;

	if (len >= sizeof(name))
		return err_set(err, ERR_USAGE, "--pid: '%.60s' is too long for a name", word);
	memcpy(name, word, len);
	name[len] = '\0';
	if (strspn(name, "0123456789-") == len) {
		if (num_parse_list(name, TASKS_MAX, add_process, w, NULL))
			return err_set(err, ERR_USAGE,
				       "--pid: '%.60s' is not a number of a process", name);
		return 0;
	}
	if (process_find(&pid, name, err))
		return err_prefix(err, "--pid");
	return vec_push(&w->processes, pid) ? err_nomem(err) : 0;
}

static int find_processes(struct targets *w, const struct text_list *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *list = l->v[i], *word;
		size_t len;

		while (text_word(&list, &word, &len))
			if (len && find_process(w, word, len, err))
				return -1;
	}
	if (l->n && !w->processes.n)
		return err_set(err, ERR_USAGE, "--pid: a number or a name is missing");
	if (w->processes.n)
		process_name(w->name, w->processes.v[0]);
	return 0;
}

/* All threads of each process named by -p. */
static int add_processes(struct targets *w, const struct text_list *l, struct err *err)
{
	if (find_processes(w, l, err))
		return -1;
	for (size_t i = 0; i < w->processes.n; i++) {
		pid_t *tids, pid = w->processes.v[i];
		size_t n;
		bool failed = false;

		if (synth_threads(pid, &tids, &n, err))
			return -1;
		for (size_t k = 0; k < n && !failed; k++)
			failed = vec_push(&w->tasks, tids[k]);
		free(tids);
		if (failed)
			return err_nomem(err);
	}
	return 0;
}

static int add_threads(struct targets *w, const struct text_list *l, struct err *err)
{
	size_t first = w->tasks.n;

	if (task_list(w, l, "--tid", err))
		return -1;
	for (size_t i = first; i < w->tasks.n; i++)
		if (synth_tgid(w->tasks.v[i]) < 0)
			return err_set(err, ERR_NOT_FOUND, "there is no thread %d",
				       (int)w->tasks.v[i]);
	return 0;
}

/* A user by name, else by number. */
static int find_user(uid_t *out, const char *text, struct err *err)
{
	const struct passwd *user = getpwnam(text);
	uint64_t n;

	if (user) {
		*out = user->pw_uid;
		return 0;
	}
	if (!num_parse_u64(&n, text, NULL) && n < UINT32_MAX) {
		*out = (uid_t)n;
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND, "--uid: there is no user '%.60s'", text);
}

static int add_user(struct targets *w, const char *text, struct err *err)
{
	pid_t *tids;
	uid_t user = 0;
	size_t n;
	int rc = 0;

	if (!text)
		return 0;
	if (find_user(&user, text, err) || synth_threads_of(user, &tids, &n, err))
		return -1;
	for (size_t i = 0; i < n && !rc; i++)
		if (vec_push(&w->tasks, tids[i]))
			rc = err_nomem(err);
	free(tids);
	if (!n)
		rc = err_set(err, ERR_NOT_FOUND, "--uid: user '%.60s' runs nothing", text);
	return rc;
}

static int by_task(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void tasks_once(struct targets *w)
{
	size_t kept = 0;

	vec_sort(&w->tasks, by_task);
	for (size_t i = 0; i < w->tasks.n; i++)
		if (!kept || w->tasks.v[i] != w->tasks.v[kept - 1])
			w->tasks.v[kept++] = w->tasks.v[i];
	w->tasks.n = kept;
	assert(pairs_hold(kept, i, w->tasks.v[i] < w->tasks.v[i + 1]));
}

/* ---- CPUs ------------------------------------------------------------------------------- */

static int add_cpu(void *ctx, uint64_t v)
{
	struct targets *w = ctx;

	return vec_push(&w->cpus, (uint32_t)v);
}

static int by_cpu_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void cpus_once(struct targets *w)
{
	size_t kept = 0;

	vec_sort(&w->cpus, by_cpu_number);
	for (size_t i = 0; i < w->cpus.n; i++)
		if (!kept || w->cpus.v[i] != w->cpus.v[kept - 1])
			w->cpus.v[kept++] = w->cpus.v[i];
	w->cpus.n = kept;
	assert(pairs_hold(kept, i, w->cpus.v[i] < w->cpus.v[i + 1]));
}

static bool online(const struct machine *m, uint32_t cpu)
{
	if (!m->cpus_online)
		return cpu <= INT32_MAX; /* not known: the kernel will check */
	return cpu_list_has(m->online, m->cpus_online, cpu);
}

static int find_cpus(struct targets *w, const char *list, const struct machine *m, struct err *err)
{
	if (!list) {
		for (uint32_t i = 0; i < m->cpus_online; i++)
			if (vec_push(&w->cpus, m->online[i]))
				return err_nomem(err);
		return 0;
	}
	if (num_parse_list(list, CPUS_MAX, add_cpu, w, err)) {
		(void)err_nomem(err);
		return err_prefix(err, "--cpu");
	}
	cpus_once(w);
	vec_each (&w->cpus, const uint32_t *, cpu) {
		if (online(m, *cpu))
			continue;
		(void)err_set(err, ERR_NOT_FOUND, "--cpu: CPU %u is not online", *cpu);
		return err_hint(err, "cat /sys/devices/system/cpu/online");
	}
	return 0;
}

/* ---- cgroup ----------------------------------------------------------------------------- */

static int open_cgroup(struct targets *w, const char *root, const char *name, size_t len,
		       struct err *err)
{
	char path[4096], *own = strndup(name, len);
	int fd;

	if (!own || vec_push(&w->cgroup_names, own)) {
		free(own);
		return err_nomem(err);
	}
	if (path_join(path, sizeof(path), root, own))
		return err_set(err, ERR_USAGE, "--cgroup: the name is too long");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		(void)err_sys(err, "%s", path);
		return err_hint(err,
				"cgroups are named below %s: user.slice, system.slice/x.service",
				root);
	}
	if (vec_push(&w->cgroups, fd)) {
		(void)close(fd);
		return err_nomem(err);
	}
	return 0;
}

/* Each cgroup that is named: -G a,b, or -G a -G b. */
static int open_cgroups(struct targets *w, const struct text_list *l, struct err *err)
{
	struct buf root = BUF_INIT;
	int rc = -1;

	if (!l->n)
		return 0;
	if (!w->whole_cpus) {
		(void)err_set(err, ERR_USAGE, "--cgroup counts on whole CPUs");
		return err_hint(err, "add -a, or -C CPUS");
	}
	cgroup_counted_root(&root);
	if (!root.len) {
		(void)err_set(err, ERR_NOT_FOUND, "--cgroup: no cgroup hierarchy is mounted");
		(void)err_hint(err, CGROUP_MOUNT);
		goto out;
	}
	for (size_t i = 0; i < l->n; i++) {
		const char *list = l->v[i], *name;
		size_t len;

		while (text_word(&list, &name, &len))
			if (len && open_cgroup(w, buf_str(&root), name, len, err))
				goto out;
	}
	if (!w->cgroups.n) {
		(void)err_set(err, ERR_USAGE, "--cgroup: a name is missing");
		goto out;
	}
	w->cgroup_fd = w->cgroups.v[0];
	rc = 0;
out:
	buf_free(&root);
	return rc;
}

int targets_find(struct targets *w, const struct measure_opts *opts, const struct machine *m,
		 const char *what, struct err *err)
{
	const struct measure_opts *o = opts;
	bool tasks = o->pid.n || o->tid.n || o->uid, program = opts->program.n;

	*w = (struct targets){ .cgroup_fd = -1 };
	w->whole_cpus = o->all || ((o->cpu || o->cgroup.n) && !tasks && !program);
	if (!w->whole_cpus && !tasks && !program) {
		(void)err_set(err, ERR_USAGE, "nothing to %s", what);
		return err_hint(err, "name a program (-- ./prog), a process (-p PID, -p NAME) or "
				     "the machine (-a)");
	}
	if (tasks && (program || o->all)) {
		(void)err_set(err, ERR_USAGE, "-p, -t and -u go with neither a program nor -a");
		return err_hint(err, "to watch for a while: --for 10s");
	}
	if (add_processes(w, &o->pid, err) || add_threads(w, &o->tid, err) ||
	    add_user(w, o->uid, err) || find_cpus(w, o->cpu, m, err))
		return -1;
	if (w->whole_cpus && !w->cpus.n)
		return err_set(err, ERR_NOT_FOUND,
			       "%s/sys/devices/system/cpu/online names no CPU: nothing to %s",
			       o->root, what);
	tasks_once(w);
	return open_cgroups(w, &o->cgroup, err);
}

/* One that has ended stays in the list of processes until its parent asks for its status; the first
 * thread of a process does while others go on. */
static bool has_ended(pid_t task)
{
	unsigned long threads;
	char text[1024], state;
	const char *at;

	if (sys_read(text, sizeof(text), "", "proc/%d/stat", (int)task) <= 0)
		return false;	 /* who knows: not without /proc */
	at = strrchr(text, ')'); /* names may hold anything */
	if (!at ||
	    sscanf(at, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
		   &state, &threads) != 2)
		return false;
	return (state == 'Z' || state == 'X') && threads < 2;
}

bool targets_live(const struct targets *w)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		if ((!kill(w->tasks.v[i], 0) || errno == EPERM) && !has_ended(w->tasks.v[i]))
			return true;
	return false;
}

void targets_put_processes(struct buf *b, const struct targets *w)
{
	for (size_t i = 0; i < w->processes.n; i++)
		buf_printf(b, "%s%d", i ? "," : " -p ", (int)w->processes.v[i]);
}

void targets_close(struct targets *w)
{
	for (size_t i = 0; i < w->cgroups.n; i++)
		(void)close(w->cgroups.v[i]);
	for (size_t i = 0; i < w->cgroup_names.n; i++)
		free(w->cgroup_names.v[i]);
	vec_free(&w->cgroups);
	vec_free(&w->cgroup_names);
	w->cgroup_fd = -1;
	vec_free(&w->tasks);
	vec_free(&w->processes);
	vec_free(&w->cpus);
}
