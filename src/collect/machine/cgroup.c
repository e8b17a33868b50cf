/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_in.h"
#include "base/perf_abi.h"
#include "collect/mounts.h"
#include "collect/sysfs.h"

#define DEPTH_MOST 32
#define PATH_MOST  4096

/* ---- where they are --------------------------------------------------------------------- */

void cgroup_counted_root(struct buf *out)
{
	struct buf text = BUF_INIT;
	const char *dir = NULL;

	if (!file_slurp(&text, "/proc/self/mounts", 16u << 20, NULL) && text.len)
		dir = mounts_cgroup(text.s, false);
	if (dir)
		buf_puts(out, dir);
	buf_free(&text);
}

/* The usual places first: a captured tree has no list of mounts. */
void cgroup_unified_root(struct buf *out, const char *root)
{
	static const char *const usual[] = { "sys/fs/cgroup", "sys/fs/cgroup/unified" };
	struct buf text = BUF_INIT;
	const char *dir = NULL;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (sys_exists(root, "%s/cgroup.controllers", usual[i])) {
			buf_puts(out, usual[i]);
			return;
		}
	if (!*root && !file_slurp(&text, "/proc/self/mounts", 16u << 20, NULL) && text.len)
		dir = mounts_cgroup(text.s, true);
	if (dir)
		buf_puts(out, dir + (*dir == '/'));
	buf_free(&text);
}

/* ---- which there are -------------------------------------------------------------------- */

struct walk {
	int (*each)(void *ctx, uint64_t id, const char *path, struct err *err);
	void *ctx;
	size_t top; /* bytes of the hierarchy's own path */
	char path[PATH_MOST];
};

/* The kernel's number of a cgroup is in the handle of its directory. */
static bool number_of(const char *path, uint64_t *id)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} h = { .head.handle_bytes = sizeof(h.id) };
	struct stat st;
	int mount;

	if (!name_to_handle_at(AT_FDCWD, path, &h.head, &mount, 0) &&
	    h.head.handle_bytes == sizeof(h.id)) {
		memcpy(id, h.head.f_handle, sizeof(*id));
		return true;
	}
	if (sizeof(st.st_ino) < sizeof(*id) || !file_look(path, &st))
		return false;
	*id = st.st_ino; /* the same with 64 bits */
	return true;
}

static int walk_below(struct walk *w, size_t len, unsigned depth, struct err *err)
{
	uint64_t id;
	DIR *dir;
	const struct dirent *e;
	int rc = 0;

	if (number_of(w->path, &id))
		rc = w->each(w->ctx, id, len > w->top ? w->path + w->top : "/", err);
	dir = !rc && depth < DEPTH_MOST ? opendir(w->path) : NULL;
	while (dir && !rc && (e = readdir(dir))) {
		size_t n = strlen(e->d_name);

		if (e->d_type != DT_DIR || e->d_name[0] == '.' || len + n + 2 > sizeof(w->path))
			continue;
		w->path[len] = '/';
		memcpy(w->path + len + 1, e->d_name, n + 1);
		rc = walk_below(w, len + 1 + n, depth + 1, err);
		w->path[len] = '\0';
	}
	if (dir)
		(void)closedir(dir);
	return rc;
}

int cgroup_each(const char *dir,
		int (*each)(void *ctx, uint64_t id, const char *path, struct err *err), void *ctx,
		struct err *err)
{
	struct walk w = { .each = each, .ctx = ctx, .top = strlen(dir) };

	if (w.top >= sizeof(w.path))
		return 0;
	memcpy(w.path, dir, w.top + 1);
	return walk_below(&w, w.top, 0, err);
}

/* ---- refusals --------------------------------------------------------------------------- */

/* errno of an event that every kernel has, there; 0: it opens. */
static int try_dummy(int task, int cpu, unsigned long flags)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY,
				     .disabled = 1,
				     .exclude_kernel = 1,
				     .exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &a, task, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

/* The first controller that the root has; of version 1 beside it all may be taken. */
static void hint_controller(struct err *err)
{
	struct buf root = BUF_INIT;
	char text[256];

	cgroup_unified_root(&root, "");
	if (root.len &&
	    sys_read(text, sizeof(text), "", "%s/cgroup.controllers", buf_str(&root)) > 0)
		(void)err_hint(err,
			       "turn any controller on at the root: echo +%.*s "
			       ">/%s/cgroup.subtree_control",
			       (int)strcspn(text, " "), text, buf_str(&root));
	else
		(void)err_hint(err,
			       "/%s has no controller to turn on: mount perf_event of version "
			       "1: mkdir /run/perf_event && mount -t cgroup -o perf_event "
			       "none /run/perf_event",
			       buf_str(&root));
	buf_free(&root);
}

bool cgroup_refused(const char *name, int number, int cgroup_fd, int cpu, struct err *err)
{
	if (cgroup_fd < 0)
		return false;
	if (number == EBADF) {
		errno = number;
		(void)err_sys(err, "%s: perf_event_open", name);
		(void)err_hint(err,
			       "is it a cgroup? it must lie in the hierarchy of perf_event, or "
			       "of version 2");
		return true;
	}
	/* Version 2 has perf_event in every cgroup, but only since some controller was turned on
	 * at the root for the first time: systemd does that, a bare mount does not. */
	if (number != ENOENT || try_dummy(cgroup_fd, cpu, PERF_FLAG_PID_CGROUP) != ENOENT ||
	    try_dummy(-1, cpu, 0))
		return false;
	(void)err_set(err, ERR_UNSUPPORTED, "%s: the cgroup has no perf_event controller", name);
	hint_controller(err);
	return true;
}
