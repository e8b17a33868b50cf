/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/feed.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/fs.h"

#define NS_MOUNT 5 /* MNT_NS_INDEX: of the links in a record of namespaces */

struct feeder {
	const struct pd *rec;
	struct spaces *sp;
	struct err *err;
};

/* To a recorder inside of a PID namespace, all tasks outside have number 0, as the idle tasks do:
 * their mappings and names are of many, and identify none of them. */
static bool is_outside(uint16_t misc, uint32_t pid)
{
	return !pid && (misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_KERNEL &&
	       (misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_GUEST_KERNEL;
}

static int feed_map(struct feeder *f, const struct pd_record *r, uint64_t time)
{
	struct space_map_fact fact = { .time = time, .misc = r->misc };
	struct pd_mmap m;

	if (pd_mmap_get(f->rec, r, &m))
		return 0; /* too short: pd_open has noted it */
	if (is_outside(r->misc, m.pid))
		return spaces_outside(f->sp, f->err);
	fact.pid = m.pid;
	fact.tid = m.tid;
	fact.start = m.addr;
	fact.len = m.len;
	fact.pgoff = m.pgoff;
	fact.prot = m.is_mmap2 ? m.prot : 0;
	fact.shared = m.is_mmap2 && m.flags & MAP_SHARED;
	fact.file = (struct file_identity){ m.maj, m.min, m.ino, m.ino_generation };
	fact.build_id = m.build_id_len ? m.build_id : NULL;
	fact.build_id_len = m.build_id_len;
	fact.path = m.path;
	return spaces_map(f->sp, &fact, f->err);
}

/* perf marks the forks that it wrote for processes that were there before. */
static int feed_fork(struct feeder *f, const struct pd_record *r, const struct pd_task *t,
		     uint64_t time)
{
	if (spaces_fork(f->sp, time, t->pid, t->tid, t->ppid, t->ptid, f->err))
		return -1;
	if (t->pid == t->ppid || !(r->misc & PERF_RECORD_MISC_FORK_EXEC))
		return 0;
	return spaces_clear(f->sp, time, t->pid, f->err);
}

static int feed_one(void *ctx, const struct pd_record *r)
{
	struct feeder *f = ctx;
	struct pd_sample_id id;
	union {
		struct pd_comm comm;
		struct pd_task task;
		struct pd_ksymbol ksym;
		struct pd_cgroup cgroup;
		struct pd_namespaces ns;
	} u;
	uint64_t time;

	pd_sample_id_get(f->rec, r, &id);
	/* Records that perf wrote for older processes have time 0: as early as can be. */
	time = pd_has_time(f->rec) ? id.time : r->seq;
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return feed_map(f, r, time);
	case PERF_RECORD_COMM:
		if (pd_comm_get(r, &u.comm))
			return 0;
		if (!u.comm.pid && !u.comm.tid && strncmp(u.comm.comm, "swapper", 7) != 0)
			return spaces_outside(f->sp, f->err);
		return spaces_comm(f->sp, time, u.comm.pid, u.comm.tid, u.comm.exec, u.comm.comm,
				   f->err);
	case PERF_RECORD_FORK:
		if (pd_task_get(r, &u.task) || !u.task.pid)
			return 0;
		return feed_fork(f, r, &u.task, time);
	case PERF_RECORD_EXIT:
		if (pd_task_get(r, &u.task) || !u.task.pid)
			return 0;
		if (u.task.pid == u.task.tid)
			images_process_ended(spaces_images(f->sp), u.task.pid);
		return spaces_exit(f->sp, time, u.task.pid, u.task.tid, f->err);
	case PERF_RECORD_KSYMBOL:
		if (pd_ksymbol_get(r, &u.ksym))
			return 0;
		return spaces_ksym(f->sp, time, u.ksym.addr, u.ksym.len, u.ksym.name,
				   u.ksym.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, f->err);
	case PERF_RECORD_NAMESPACES:
		if (!pd_namespaces_get(r, &u.ns) && u.ns.n > NS_MOUNT)
			images_mount_namespace(spaces_images(f->sp), u.ns.pid,
					       ld64(u.ns.link + NS_MOUNT * 16 + 8));
		return 0;
	case PERF_RECORD_CGROUP:
		if (pd_cgroup_get(r, &u.cgroup))
			return 0;
		spaces_cgroup(f->sp, u.cgroup.id, u.cgroup.path);
		return 0;
	default:
		return 0;
	}
}

static const struct {
	const char *name; /* of mappings, in the beginning */
	uint16_t mode;
} kernels[] = {
	{ "[kernel.kallsyms]", PERF_RECORD_MISC_KERNEL },
	{ "[guest.kernel.kallsyms", PERF_RECORD_MISC_GUEST_KERNEL },
};
#define N_KERNELS (sizeof(kernels) / sizeof(*kernels))

/* Returns true if a header's build-id is that of a kernel: the header names it "[kernel.kallsyms]",
 * or by its vmlinux if perf had one, the mapping "[kernel.kallsyms]_text". */
static bool is_kernels(const struct pd_buildid *b, size_t kernel)
{
	if (!strncmp(b->path, kernels[kernel].name, strlen(kernels[kernel].name)))
		return true;
	return (b->misc & PERF_RECORD_MISC_CPUMODE_MASK) == kernels[kernel].mode &&
	       !strncmp(path_base(b->path), "vmlinux", 7);
}

/* `served`: kernels that have theirs. */
static void feed_build_id(struct images *images, const struct pd_buildid *b, bool *served)
{
	for (size_t k = 0; k < N_KERNELS; k++) {
		if (served[k] || !b->id_len || !is_kernels(b, k))
			continue;
		served[k] = true;
		images_kernel_build_id(images, kernels[k].name, b->id, b->id_len);
	}
	images_build_id(images, b->path, b->id, b->id_len);
}

/* Returns true if the recording's times can be compared with those that programs write down
 * themselves. */
static bool is_monotonic(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	for (size_t i = 0; i < n; i++)
		if (!ev[i].attr.use_clockid || ev[i].attr.clockid != CLOCK_MONOTONIC)
			return false;
	return n && pd_has_time(rec);
}

/* Returns true if its times are of a clock that programs can read, as logs of allocations have
 * them. */
static bool has_clock(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);

	return n && ev->attr.use_clockid && pd_has_time(rec);
}

struct spaces *feed_begin(const struct pd *rec, struct images *images, struct err *err)
{
	struct spaces *sp = spaces_new(images, err);

	if (sp && is_monotonic(rec))
		spaces_monotonic(sp);
	return sp;
}

int feed_record(struct spaces *sp, const struct pd *rec, const struct pd_record *r, struct err *err)
{
	struct feeder f = { rec, sp, err };

	return feed_one(&f, r);
}

void feed_finish(struct spaces *sp, const struct pd *rec)
{
	const struct pd_info *info = pd_info(rec);
	bool served[N_KERNELS] = { false };

	for (size_t i = 0; i < info->n_buildids; i++)
		feed_build_id(spaces_images(sp), &info->buildids[i], served);
	if (info->heap && !info->foreign_order && has_clock(rec))
		spaces_heap_log(sp, info->heap, info->heap_len);
	spaces_finish(sp);
}

struct spaces *feed_spaces(const struct pd *rec, struct images *images, struct err *err)
{
	struct feeder f = { rec, feed_begin(rec, images, err), err };

	if (!f.sp)
		return NULL;
	if (pd_walk(rec, feed_one, &f)) {
		spaces_free(f.sp);
		return NULL;
	}
	feed_finish(f.sp, rec);
	return f.sp;
}
