/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that kernels may take: free memory of the machine, within the control groups of this
 * process and its own limits. Taking more is not an error but the end: a control group kills the
 * process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/sysfs.h"
#include "measure/calibrate/calibrate_int.h"

struct hierarchy {
	const char *line; /* of /proc/self/cgroup, up to the path */
	const char *dir, *limit, *used, *cache;
};

static const struct hierarchy hierarchies[] = {
	{ "0::", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" },
	{ ":memory:", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "total_inactive_file" },
};

static void at_most(uint64_t *room, uint64_t limit, uint64_t used)
{
	uint64_t left = limit > used ? limit - used : 0;

	if (left < *room)
		*room = left;
}

static uint64_t read_bench_field(const char *root, const char *file, const char *name,
				 char separator)
{
	char text[8192];
	const char *v;
	size_t len;
	uint64_t x = 0;
	ssize_t n = sys_read(text, sizeof(text), root, "%s", file);

	if (n > 0 && text_field(text, (size_t)n, name, separator, &v, &len))
		(void)sscanf(v, "%" SCNu64, &x);
	return x;
}

/* Caches of files that were not used lately are given back. */
static void group_of_cpus(uint64_t *room, const char *root, const struct hierarchy *h,
			  const char *path)
{
	char file[4096 + 64];
	int64_t limit, used, cache;

	(void)snprintf(file, sizeof(file), "%s%s/memory.stat", h->dir, path);
	if (!sys_number(&limit, root, "%s%s/%s", h->dir, path, h->limit) ||
	    !sys_number(&used, root, "%s%s/%s", h->dir, path, h->used) || limit < 0 || used < 0)
		return;
	cache = (int64_t)(read_bench_field(root, file, h->cache, ' ') & INT64_MAX);
	at_most(room, (uint64_t)limit, (uint64_t)(cache < used ? used - cache : 0));
}

/* The groups of this process, from its own up to the root of the mount. */
static void groups(uint64_t *room, const char *root, const char *text, const struct hierarchy *h)
{
	const char *at = strstr(text, h->line);
	char path[4096], *slash;

	path[0] = '\0';
	if (at)
		(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + strlen(h->line), "\n"),
			       at + strlen(h->line));
	while ((slash = strrchr(path, '/')) != NULL) {
		if (slash[1])
			group_of_cpus(room, root, h, path);
		*slash = '\0';
	}
	group_of_cpus(room, root, h, "");
}

static void room_limits(uint64_t *room, const char *root)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = 0, data = 0;
	struct rlimit r;
	char text[256];

	if (sys_read(text, sizeof(text), root, "proc/self/statm") > 0)
		(void)sscanf(text, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, &size, &data);
	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY)
		at_most(room, r.rlim_cur, size * page);
	if (!getrlimit(RLIMIT_DATA, &r) && r.rlim_cur != RLIM_INFINITY)
		at_most(room, r.rlim_cur, data * page);
}

uint64_t calibrate_room(const char *root)
{
	uint64_t room = read_bench_field(root, "proc/meminfo", "MemAvailable", ':') << 10;
	char text[8192];
	ssize_t n = sys_read(text, sizeof(text), root, "proc/self/cgroup");

	if (!room && !*root) /* /proc is not mounted */
		room = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++)
		groups(&room, root, n > 0 ? text : "", &hierarchies[i]);
	room_limits(&room, root);
	return room;
}
