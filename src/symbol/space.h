/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space - address spaces over time: which file was mapped where, in which process, when, and the
 * name of each thread.
 *
 *	sp = spaces_new(images, &err)
 *	spaces_map / _fork / _exec / _exit / _comm / _ksym / ...	facts, in any order of time
 *	spaces_finish(sp)		sorts and links; then read-only
 *	proc = spaces_process(sp, pid, time)
 *	map  = space_find(sp, proc, kind, ip, time, &from, &until)
 *
 * Facts carry their own time, so that recordings whose rings were written out of order need no
 * sorting of samples: after spaces_finish a sample resolves by (pid, time, ip) alone, in any order,
 * from any thread. Time is whatever the caller uses throughout: nanoseconds, or the place in the
 * file if the recording has no times.
 *
 * A pid can be used again: a `struct process` is one incarnation, from fork or first sight to exit;
 * exec ends its mappings, not its identity. A forked child shares its parent's mappings as of the
 * fork without copying them. A later mapping over part of an earlier one cuts it, from then on.
 * Kernel, modules and BPF live in one space of their own; guests have theirs.
 *
 * A process all of whose known threads have exited and that is heard of again is a new incarnation,
 * whether or not its fork was seen. Late samples of a dead one are still its own, and a time before
 * a pid's first incarnation is answered by that one. Kernel and modules are absolute: their symbols
 * come from kallsyms or from a vmlinux that was moved. A mapping under a BPF program is there again
 * when it goes.
 */
#ifndef CYCLADE_SYMBOL_SPACE_H
#define CYCLADE_SYMBOL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "symbol/image.h"

struct spaces;
struct process;

enum space_kind { /* who executes: the cpumode of a sample, without its numbering */
		  SPACE_USER,
		  SPACE_KERNEL,
		  SPACE_HYPERVISOR,
		  SPACE_GUEST_USER,
		  SPACE_GUEST_KERNEL,
		  SPACE_UNKNOWN,
};
enum space_kind space_kind_of_misc(uint16_t misc); /* PERF_RECORD_MISC_CPUMODE_MASK bits */

/* Call chains have markers among their addresses, PERF_CONTEXT_*: from there on frames are of
 * another space. SPACE_UNKNOWN: a marker that means nothing. */
static inline bool chain_is_marker(uint64_t ip)
{
	return ip >= (uint64_t)-4095; /* PERF_CONTEXT_MAX */
}
enum space_kind space_kind_of_marker(uint64_t ip);

/* A kernel that could not unwind leaves zeros in a chain, also where it was interrupted: no code of
 * a kernel lies there, so such an entry stands for callers that are unknown. (A program that jumps
 * to 0 does run there.) */
static inline bool chain_is_hole(uint64_t ip, uint8_t kind)
{
	return !ip && (kind == SPACE_KERNEL || kind == SPACE_GUEST_KERNEL);
}

/* A mapping. `image` is an index into the images (image.h). */
struct map {
	uint64_t start, end, pgoff;
	uint64_t since; /* mapped at */
	uint32_t image;
	uint32_t prot; /* PROT_*, as recorded; PROT_EXEC if the recording has none */
	uint8_t kind;  /* enum space_kind */
	bool absolute; /* the image address is the ip itself (kernel, JIT, anonymous, BPF) */
	bool shared;   /* MAP_SHARED: other processes may have the same memory */
};

/* The address inside the image: file offset for files, the ip itself if `absolute`. */
static inline uint64_t map_to_image(const struct map *m, uint64_t ip)
{
	return m->absolute ? ip : ip - m->start + m->pgoff;
}

struct spaces *spaces_new(struct images *images, struct err *err) MUST_USE;
/* Before spaces_finish: times are of CLOCK_MONOTONIC, so that jitdumps can be read by time. */
void spaces_monotonic(struct spaces *sp);
/* The log of allocations (symbol/heap.h), whose bytes must stay; nothing is read yet. */
void spaces_heap_log(struct spaces *sp, const uint8_t *p, size_t len);
void spaces_free(struct spaces *sp);

struct space_map_fact {
	uint64_t time;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t prot;
	bool shared; /* MAP_SHARED */
	struct file_identity file;
	const uint8_t *build_id; /* NULL: not known */
	size_t build_id_len;
	uint16_t misc; /* of the record: cpumode, build-id and data flags */
	const char *path;
};
int spaces_map(struct spaces *sp, const struct space_map_fact *f, struct err *err) MUST_USE;
int spaces_fork(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, uint32_t ppid,
		uint32_t ptid, struct err *err) MUST_USE;
/* The mappings end here, for a child that perf records with PERF_RECORD_MISC_FORK_EXEC: it was
 * there before, and records of its own have all its mappings. */
int spaces_clear(struct spaces *sp, uint64_t time, uint32_t pid, struct err *err) MUST_USE;
int spaces_exit(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid,
		struct err *err) MUST_USE;
/* `exec`: the old mappings end here. */
int spaces_comm(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, bool exec,
		const char *comm, struct err *err) MUST_USE;
/* Number 0 is also that of tasks outside of the recorder's PID namespace: it is called so, and
 * so is all their code, of which no mapping is known. */
#define SPACES_OUTSIDE "[outside this PID namespace]"
int spaces_outside(struct spaces *sp, struct err *err) MUST_USE;
/* A kernel symbol that came (or, with `gone`, went) while recording: BPF programs, trampolines. */
int spaces_ksym(struct spaces *sp, uint64_t time, uint64_t addr, uint32_t len, const char *name,
		bool gone, struct err *err) MUST_USE;
void spaces_cgroup(struct spaces *sp, uint64_t id, const char *path);
void spaces_finish(struct spaces *sp);

/* The process that had `pid` at `time`; one that no fact names is made at spaces_finish only if it
 * was announced, so the answer may be NULL (no such process known: mappings unknown, comm ":tid"):
 * for one time, and so for all. */
const struct process *spaces_process(const struct spaces *sp, uint32_t pid, uint64_t time);
uint32_t process_pid(const struct process *p);
/* The times [*from, *until) in which spaces_process() answers `p` for its pid. */
void process_life(const struct process *p, uint64_t *from, uint64_t *until);
uint32_t process_index(const struct process *p); /* dense, 0-based, unique per incarnation */

/* Whether code can run there: mappings of data are found, too, and cut code that was there. */
static inline bool map_is_code(const struct map *m)
{
	return m->prot & 4; /* PROT_EXEC */
}

/* The mapping `ip` fell into. *from and *until (may be NULL) are given the time interval [from,
 * until) around `time` in which the answer for exactly this ip stays the same, so that callers may
 * remember it. NULL: nothing was mapped there; the interval is valid all the same. `proc` may be
 * NULL. */
const struct map *space_find(const struct spaces *sp, const struct process *proc,
			     enum space_kind kind, uint64_t ip, uint64_t time, uint64_t *from,
			     uint64_t *until);

/* The same with the addresses, too, for which the answer holds: everywhere in [start, end) and
 * [from, until). */
struct space_span {
	uint64_t start, end, from, until;
};
const struct map *space_find_span(const struct spaces *sp, const struct process *proc,
				  enum space_kind kind, uint64_t ip, uint64_t time,
				  struct space_span *span);

/* The name of thread `tid` at `time`: an id in spaces_strings(). The interval is as above.
 * Threads that no fact names are called ":TID"; those need spaces_comm_unknown. STR_NONE then. */
uint32_t spaces_comm_at(const struct spaces *sp, uint32_t pid, uint32_t tid, uint64_t time,
			uint64_t *from, uint64_t *until);
const char *spaces_cgroup_path(const struct spaces *sp, uint64_t id); /* NULL: not known */
const struct strtab *spaces_strings(const struct spaces *sp);
struct images *spaces_images(const struct spaces *sp);

/* Calls `see` with the images of the mappings that each process of that number had in the end, one
 * for each piece of a mapping. */
void spaces_images_of(const struct spaces *sp, uint32_t pid, void (*see)(void *ctx, uint32_t image),
		      void *ctx);

#endif
