/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts are only kept here, as they come.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fs.h"
#include "base/perf_abi.h"
#include "base/xalloc.h"
#include "symbol/script.h"
#include "symbol/space.h"
#include "symbol/image/image_set.h"
#include "symbol/space/space_int.h"

static int keep_fact(struct spaces *sp, struct fact f, struct err *err)
{
	if (sp->fact.n >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 4 G side-band records");
	vec_xpush(&sp->fact, f);
	return 0;
}

/* Names of mappings that stand for something else than a file; the first row that fits. */
static const struct {
	const char *name;
	bool prefix;
	enum image_kind kind;
} special[] = {
	{ "[kernel.kallsyms]", true, IMAGE_KERNEL },
	{ "[guest.kernel.kallsyms", true, IMAGE_KERNEL },
	{ "[vdso", true, IMAGE_VDSO },
	{ "[vectors]", false, IMAGE_OTHER },
	{ "[vsyscall]", false, IMAGE_OTHER },
	{ "[uprobes]", false, IMAGE_OTHER },
	{ "[heap]", false, IMAGE_ANON },
	{ "[stack", true, IMAGE_ANON },
	{ "[anon", true, IMAGE_ANON },
	{ SCRIPT_PREFIX, true, IMAGE_SCRIPT },
	{ "//anon", true, IMAGE_ANON },
	{ "/anon_hugepage", true, IMAGE_ANON },
	{ "/memfd:", true, IMAGE_ANON },
	{ "/dev/zero", true, IMAGE_ANON },
	{ "/SYSV", true, IMAGE_ANON },
	{ "", false, IMAGE_ANON },
};

static enum image_kind image_kind_of(const char *path, enum space_kind space)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
		const char *name = special[i].name;

		/* most paths differ from all of them in their first two letters */
		if (path[0] != name[0] || (name[0] && path[1] != name[1]))
			continue;
		if (special[i].prefix ? !strncmp(path, name, strlen(name)) : !strcmp(path, name))
			return special[i].kind;
	}
	if (space == SPACE_KERNEL || space == SPACE_GUEST_KERNEL)
		return IMAGE_MODULE;
	return IMAGE_FILE;
}

/* "jitted-PID-N.so", which perf inject -j makes of a dump: its records have a generation that no
 * file system gave, and the file's mode in place of its protection. */
static bool is_injected(const char *path)
{
	const char *base = path_base(path);
	unsigned pid;
	unsigned long long n;
	int end = 0;

	return base[0] == 'j' && sscanf(base, "jitted-%u-%llu.so%n", &pid, &n, &end) == 2 && end &&
	       !base[end];
}

/* A map, and the fact that it is there from now on. */
static int add_map(struct spaces *sp, const struct map *m, struct fact f, struct err *err)
{
	if (sp->map.n >= PIECE_HOLE)
		return err_set(err, ERR_LIMIT, "more than 4 G mappings");
	vec_xpush(&sp->map, *m);
	f.kind = m->kind;
	f.a = (uint32_t)sp->map.n - 1;
	return keep_fact(sp, f, err);
}

int space_map_of(struct images *images, const struct space_map_fact *f, struct map *m,
		 struct err *err)
{
	struct space_map_fact injected;
	enum space_kind said = space_kind_of_misc(f->misc);
	/* a mapping is a process' unless it is a kernel's, as perf has it */
	enum space_kind space =
		said == SPACE_HYPERVISOR || said == SPACE_UNKNOWN ? SPACE_USER : said;
	struct image_key key = { .path = f->path,
				 .build_id = f->build_id,
				 .file = f->file,
				 .guest =
					 space == SPACE_GUEST_USER || space == SPACE_GUEST_KERNEL };

	if (space == SPACE_USER && is_injected(f->path)) {
		injected = *f;
		injected.file.gen = 0;
		injected.prot = PROT_READ | PROT_EXEC;
		key.file = injected.file;
		f = &injected;
	}
	*m = (struct map){ .start = f->start, .pgoff = f->pgoff, .since = f->time };
	key.kind = image_kind_of(f->path, space);
	/* the kernel calls both [vdso]; a 64-bit program has its own far above */
	if (key.kind == IMAGE_VDSO && f->start < UINT32_MAX)
		key.path = VDSO32;
	key.build_id_len = f->build_id ? f->build_id_len : 0;
	if (key.kind == IMAGE_FILE && space == SPACE_USER && !key.build_id_len &&
	    f->prot & PROT_EXEC && image_is_jit_memory(images, f->path, f->pid))
		key.kind = IMAGE_ANON;
	key.pid = key.kind == IMAGE_ANON ? f->pid : 0;
	if (key.kind == IMAGE_KERNEL || key.kind == IMAGE_MODULE) {
		key.start = f->start;
		key.len = f->len;
		key.reloc = key.kind == IMAGE_KERNEL ? f->pgoff : 0;
	}
	m->end = f->len > UINT64_MAX - f->start ? UINT64_MAX : f->start + f->len;
	m->prot = f->prot ? f->prot : f->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_EXEC;
	m->kind = (uint8_t)space;
	m->shared = f->shared;
	/* kallsyms, the source of a kernel's and its modules' symbols, has absolute addresses */
	m->absolute =
		key.kind == IMAGE_KERNEL || key.kind == IMAGE_MODULE || key.kind == IMAGE_ANON;
	m->image = images_add(images, &key, err);
	if (m->image == IMAGE_NONE)
		return -1;
	if (key.kind == IMAGE_FILE && !key.guest)
		images_mapped_by(images, m->image, f->pid);
	return 0;
}

int spaces_map(struct spaces *sp, const struct space_map_fact *f, struct err *err)
{
	struct map m;

	if (!f->len)
		return 0;
	if (space_map_of(sp->images, f, &m, err))
		return -1;
	return add_map(
		sp, &m,
		(struct fact){ .time = f->time, .type = FACT_MAP, .pid = f->pid, .tid = f->tid },
		err);
}

int spaces_fork(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, uint32_t ppid,
		uint32_t ptid, struct err *err)
{
	return keep_fact(sp,
			 (struct fact){ .time = time,
					.type = FACT_FORK,
					.kind = SPACE_USER,
					.pid = pid,
					.tid = tid,
					.a = ppid,
					.b = ptid },
			 err);
}

int spaces_clear(struct spaces *sp, uint64_t time, uint32_t pid, struct err *err)
{
	return keep_fact(
		sp,
		(struct fact){ .time = time, .type = FACT_CLEAR, .kind = SPACE_USER, .pid = pid },
		err);
}

int spaces_exit(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, struct err *err)
{
	return keep_fact(sp,
			 (struct fact){ .time = time,
					.type = FACT_EXIT,
					.kind = SPACE_USER,
					.pid = pid,
					.tid = tid },
			 err);
}

int spaces_comm(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, bool exec,
		const char *comm, struct err *err)
{
	return keep_fact(sp,
			 (struct fact){ .time = time,
					.type = exec ? FACT_EXEC : FACT_COMM,
					.kind = SPACE_USER,
					.pid = pid,
					.tid = tid,
					.a = strtab_xadds(&sp->strings, comm) },
			 err);
}

#define USER_ENDS (1ULL << 63) /* of every machine */

int spaces_outside(struct spaces *sp, struct err *err)
{
	/* their code is of many address spaces: one place, which is no file's */
	struct image_key key = { .kind = IMAGE_BPF, .path = SPACES_OUTSIDE, .len = USER_ENDS };
	struct map m = { .end = USER_ENDS, .prot = PROT_EXEC, .absolute = true };

	if (sp->outside)
		return 0;
	sp->outside = true;
	m.kind = SPACE_USER;
	m.image = images_add(sp->images, &key, err);
	if (m.image == IMAGE_NONE || add_map(sp, &m, (struct fact){ .type = FACT_MAP }, err))
		return -1;
	return spaces_comm(sp, 0, 0, 0, false, SPACES_OUTSIDE, err);
}

int spaces_ksym(struct spaces *sp, uint64_t time, uint64_t addr, uint32_t len, const char *name,
		bool gone, struct err *err)
{
	struct image_key key = { .kind = IMAGE_BPF, .path = name, .start = addr, .len = len };
	struct map m = { .start = addr, .since = time, .prot = PROT_EXEC, .kind = SPACE_KERNEL };

	if (!len)
		return 0;
	m.end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;
	m.absolute = true;
	m.image = images_add(sp->images, &key, err);
	if (m.image == IMAGE_NONE)
		return -1;
	return add_map(sp, &m,
		       (struct fact){ .time = time, .type = gone ? FACT_KSYM_GONE : FACT_KSYM },
		       err);
}

void spaces_cgroup(struct spaces *sp, uint64_t id, const char *path)
{
	*u64map_xat(&sp->cgroup, id, NULL) = strtab_xadds(&sp->strings, path);
}
