/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/synth.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/num.h"
#include "base/perf_abi.h"
#include "base/vec.h"
#include "collect/cgroup.h"
#include "collect/machine/synth_int.h"

#define TEXT_LIMIT (64u << 20) /* of one /proc file */

/* A record under construction: its head is filled in by finish_record(). */
struct record {
	struct buf b;
};

static void begin_synth_record(struct record *r, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = { .type = type, .misc = misc };

	buf_reset(&r->b);
	buf_put(&r->b, &h, sizeof(h));
}

static void put_u16(struct record *r, uint16_t v)
{
	buf_put(&r->b, &v, sizeof(v));
}

static void put_u32(struct record *r, uint32_t v)
{
	buf_put(&r->b, &v, sizeof(v));
}

static void put_u64(struct record *r, uint64_t v)
{
	buf_put(&r->b, &v, sizeof(v));
}

/* A string, its NUL, and zeros up to a multiple of 8. */
static void put_record_name(struct record *r, const char *s, size_t len)
{
	buf_put(&r->b, s, len);
	buf_fill(&r->b, '\0', 8 - len % 8);
}

static int finish_record(const struct synth *s, struct record *r, struct err *err)
{
	struct perf_event_header h;

	buf_fill(&r->b, '\0', s->trailer);
	if (r->b.failed)
		return err_nomem(err);
	if (r->b.len > UINT16_MAX)
		return 0; /* no path is that long */
	memcpy(&h, r->b.s, sizeof(h));
	h.size = (uint16_t)r->b.len;
	memcpy(r->b.s, &h, sizeof(h));
	return s->put(s->ctx, r->b.s, r->b.len, err);
}

static int put_mmap(const struct synth *s, struct record *r, uint64_t start, uint64_t len,
		    uint64_t pgoff, const char *name, struct err *err)
{
	begin_synth_record(r, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	put_u32(r, UINT32_MAX);
	put_u32(r, 0);
	put_u64(r, start);
	put_u64(r, len);
	put_u64(r, pgoff);
	put_record_name(r, name, strlen(name));
	return finish_record(s, r, err);
}

/* ---- the kernel ------------------------------------------------------------------------- */

static int put_modules(const struct synth *s, struct record *r, uint64_t kernel, uint64_t *lowest,
		       struct err *err)
{
	struct buf text = BUF_INIT;
	char *save = NULL;
	int rc = 0;

	*lowest = UINT64_MAX;
	if (file_slurp(&text, "/proc/modules", TEXT_LIMIT, NULL))
		goto out; /* a kernel without modules */
	for (char *line = strtok_r(text.s, "\n", &save); line && !rc;
	     line = strtok_r(NULL, "\n", &save)) {
		struct synth_module m;
		char name[72];

		if (!synth_module_line(&m, line))
			continue;
		if (m.start > kernel && m.start < *lowest)
			*lowest = m.start;
		(void)snprintf(name, sizeof(name), "[%s]", m.name);
		rc = put_mmap(s, r, m.start, m.size, 0, name, err);
	}
out:
	buf_free(&text);
	return rc;
}

/* Where the kernel's code begins: _text, else _stext. The list is long; these stand near its start.
 */
static uint64_t kernel_start(const char **name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t start = 0;
	char line[512];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		struct synth_symbol sym;

		if (!synth_symbol_line(&sym, line))
			continue;
		if (!strcmp(sym.name, "_text")) {
			start = sym.addr;
			*name = "[kernel.kallsyms]_text";
			break;
		}
		if (!strcmp(sym.name, "_stext")) {
			start = sym.addr;
			*name = "[kernel.kallsyms]_stext";
		} else if (start && sym.addr != start) {
			break;
		}
	}
	(void)fclose(f);
	return start;
}

struct put_bpf {
	const struct synth *s;
	struct record *r;
};

/* As the kernel writes them when a program is loaded: each function, then the program. */
static int put_bpf(void *ctx, const struct synth_bpf *f, struct err *err)
{
	const struct put_bpf *p = ctx;

	begin_synth_record(p->r, PERF_RECORD_KSYMBOL, 0);
	put_u64(p->r, f->addr);
	put_u32(p->r, f->len);
	put_u16(p->r, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_u16(p->r, 0); /* flags */
	put_record_name(p->r, f->name, strlen(f->name));
	if (finish_record(p->s, p->r, err))
		return -1;
	if (!f->last)
		return 0;
	begin_synth_record(p->r, PERF_RECORD_BPF_EVENT, 0);
	put_u16(p->r, PERF_BPF_EVENT_PROG_LOAD);
	put_u16(p->r, 0); /* flags */
	put_u32(p->r, f->id);
	buf_put(&p->r->b, f->program, sizeof(f->program));
	return finish_record(p->s, p->r, err);
}

int synth_kernel(const struct synth *s, struct err *err)
{
	struct record r = { BUF_INIT };
	const char *name = NULL;
	uint64_t start = kernel_start(&name), lowest;
	int rc = 0;

	if (start) {
		rc = put_modules(s, &r, start, &lowest, err);
		if (!rc)
			rc = put_mmap(s, &r, start, lowest - start, start, name, err);
		if (!rc)
			rc = synth_bpf_each(put_bpf, &(struct put_bpf){ s, &r }, err);
	}
	buf_free(&r.b);
	return rc;
}

/* ---- processes -------------------------------------------------------------------------- */

static bool read_status(pid_t pid, pid_t tid, struct synth_status *st)
{
	struct buf text = BUF_INIT;
	char path[64];
	bool found;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	found = !file_slurp(&text, path, TEXT_LIMIT, NULL) && text.len &&
		synth_status_text(st, text.s);
	buf_free(&text);
	return found;
}

pid_t synth_tgid(pid_t tid)
{
	struct synth_status st;

	return read_status(tid, tid, &st) ? (pid_t)st.tgid : -1;
}

bool synth_user(pid_t pid, uid_t *user)
{
	struct synth_status st;
	bool found = read_status(pid, pid, &st);

	*user = found ? st.uid : 0;
	return found;
}

static int pids_ascending(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The names in a directory that are numbers, sorted. */
static int numbers_in(const char *path, pid_t **out, size_t *n, struct err *err)
{
	VEC(pid_t) v = VEC_INIT;
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d)
		return err_sys(err, "%s", path);
	while ((e = readdir(d))) {
		uint64_t number;

		if (num_parse_u64(&number, e->d_name, NULL) || number > INT_MAX)
			continue;
		if (vec_push(&v, (pid_t)number)) {
			(void)closedir(d);
			vec_free(&v);
			return err_nomem(err);
		}
	}
	(void)closedir(d);
	vec_sort(&v, pids_ascending);
	*out = v.v;
	*n = v.n;
	return 0;
}

int synth_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (numbers_in(path, tids, n, NULL))
		return err_set(err, ERR_NOT_FOUND, "there is no process %d", (int)pid);
	return 0;
}

int synth_threads_of(uid_t user, pid_t **tids, size_t *n, struct err *err)
{
	VEC(pid_t) v = VEC_INIT;
	struct synth_status st;
	pid_t *pids, *own;
	size_t n_pids, n_own;
	int rc = -1;

	if (numbers_in("/proc", &pids, &n_pids, err))
		return -1;
	for (size_t i = 0; i < n_pids; i++) {
		if (pids[i] == getpid() || !read_status(pids[i], pids[i], &st) || st.uid != user ||
		    synth_threads(pids[i], &own, &n_own, NULL))
			continue; /* not theirs, or it has ended meanwhile */
		for (size_t t = 0; t < n_own; t++)
			if (vec_push(&v, own[t])) {
				free(own);
				(void)err_nomem(err);
				goto out;
			}
		free(own);
	}
	*tids = v.v;
	*n = v.n;
	rc = 0;
out:
	free(pids);
	if (rc)
		vec_free(&v);
	return rc;
}

static int put_fork_comm(const struct synth *s, struct record *r, pid_t pid, pid_t tid,
			 struct err *err)
{
	struct synth_status st;

	if (!read_status(pid, tid, &st))
		return 0;
	/* FORK_EXEC: the parent's mappings are not the child's, which follow */
	begin_synth_record(r, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);
	put_u32(r, st.tgid);
	put_u32(r, tid == (pid_t)st.tgid ? st.ppid : st.tgid);
	put_u32(r, (uint32_t)tid);
	put_u32(r, tid == (pid_t)st.tgid ? st.ppid : st.tgid);
	put_u64(r, 0);
	if (finish_record(s, r, err))
		return -1;
	begin_synth_record(r, PERF_RECORD_COMM, 0);
	put_u32(r, st.tgid);
	put_u32(r, (uint32_t)tid);
	put_record_name(r, st.name, strnlen(st.name, 15));
	return finish_record(s, r, err);
}

static int put_mmap2(const struct synth *s, struct record *r, pid_t pid, const char *line,
		     struct err *err)
{
	struct synth_mapping m;
	bool code;

	if (!synth_mapping_line(&m, line))
		return 0;
	code = m.prot & PROT_EXEC;
	if (!code && (!s->data_maps || !(m.prot & PROT_READ)))
		return 0;
	begin_synth_record(
		r, PERF_RECORD_MMAP2,
		(uint16_t)(PERF_RECORD_MISC_USER | (code ? 0 : PERF_RECORD_MISC_MMAP_DATA)));
	put_u32(r, (uint32_t)pid);
	put_u32(r, (uint32_t)pid);
	put_u64(r, m.start);
	put_u64(r, m.end - m.start);
	put_u64(r, m.offset);
	put_u32(r, m.major);
	put_u32(r, m.minor);
	put_u64(r, m.inode);
	put_u64(r, 0);
	put_u32(r, m.prot);
	put_u32(r, m.shared ? MAP_SHARED : MAP_PRIVATE);
	if (*m.path)
		put_record_name(r, m.path, strlen(m.path));
	else
		put_record_name(r, "//anon", 6);
	return finish_record(s, r, err);
}

static int put_process_maps(const struct synth *s, struct record *r, pid_t pid, struct err *err)
{
	struct buf text = BUF_INIT;
	char path[64], *save = NULL;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (!file_slurp(&text, path, TEXT_LIMIT, NULL) && text.len)
		for (char *line = strtok_r(text.s, "\n", &save); line && !rc;
		     line = strtok_r(NULL, "\n", &save))
			rc = put_mmap2(s, r, pid, line, err);
	buf_free(&text);
	return rc;
}

int synth_process(const struct synth *s, pid_t pid, struct err *err)
{
	struct record r = { BUF_INIT };
	pid_t *tids = NULL;
	size_t n = 0;
	int rc = 0;

	if (synth_threads(pid, &tids, &n, NULL))
		return 0;
	/* the process first: its threads inherit from it */
	rc = put_fork_comm(s, &r, pid, pid, err);
	if (!rc)
		rc = put_process_maps(s, &r, pid, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (tids[i] != pid)
			rc = put_fork_comm(s, &r, pid, tids[i], err);
	free(tids);
	buf_free(&r.b);
	return rc;
}

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h */
#define FIRST_PID_NAMESPACE 0xeffffffcu

bool synth_sees_part(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != FIRST_PID_NAMESPACE;
}

static int put_outside(const struct synth *s, struct err *err)
{
	struct record r = { .b = BUF_INIT };
	int rc;

	begin_synth_record(&r, PERF_RECORD_COMM, 0);
	put_u32(&r, 0);
	put_u32(&r, 0);
	put_record_name(&r, SYNTH_OUTSIDE, strlen(SYNTH_OUTSIDE));
	rc = finish_record(s, &r, err);
	buf_free(&r.b);
	return rc;
}

int synth_all(const struct synth *s, struct err *err)
{
	pid_t *pids = NULL;
	size_t n = 0;
	int rc;

	if (synth_sees_part() && put_outside(s, err))
		return -1;
	rc = numbers_in("/proc", &pids, &n, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = synth_process(s, pids[i], err);
	free(pids);
	return rc;
}

/* ---- cgroups ---------------------------------------------------------------------------- */

struct put_cgroup {
	const struct synth *s;
	struct record r;
};

static int put_cgroup(void *ctx, uint64_t id, const char *path, struct err *err)
{
	struct put_cgroup *p = ctx;

	begin_synth_record(&p->r, PERF_RECORD_CGROUP, 0);
	put_u64(&p->r, id);
	put_record_name(&p->r, path, strlen(path));
	return finish_record(p->s, &p->r, err);
}

int synth_cgroups(const struct synth *s, struct err *err)
{
	struct put_cgroup p = { s, { BUF_INIT } };
	struct buf root = BUF_INIT;
	int rc = 0;

	cgroup_counted_root(&root);
	if (root.len)
		rc = cgroup_each(buf_str(&root), put_cgroup, &p, err);
	buf_free(&root);
	buf_free(&p.r.b);
	return rc;
}
