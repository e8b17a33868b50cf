/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a timeline of facts, told in any order, against a second implementation: flat arrays
 * of what lies at each address and who is called what, replayed from the first fact on.
 *
 * Six bytes are a fact: what, time, pid and thread, and three that depend on what it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/perf_abi.h"
#include "symbol/space.h"

/* What the second implementation branches on is nothing to search for, and to write it down took
 * longer than all the rest. */
#ifdef __clang__
#define ORACLE __attribute__((no_sanitize("coverage")))
#else
#define ORACLE
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIDS = 4, THREADS = 4, ADDRS = 64, FACTS = 120, TIMES = 32, ALL_PIDS = (1 << PIDS) - 1 };

enum what { MAP, MAP_AGAIN, FORK, THREAD, EXIT, COMM, EXEC, CLEAR, WHATS };

struct fact {
	unsigned what, time, pid, thread, a, b, c;
};

struct model {
	int lies[PIDS][ADDRS]; /* number of the fact, or -1 */
	bool known[PIDS], dead[PIDS], alive[PIDS][THREADS];
	int name[PIDS * THREADS]; /* number of the fact, or -1 */
};

static uint32_t tid_of(unsigned pid, unsigned thread)
{
	return 100 + pid * THREADS + thread;
}

static ORACLE void forget(struct model *m, unsigned pid)
{
	for (int i = 0; i < ADDRS; i++)
		m->lies[pid][i] = -1;
}

/* A fact about a process that is dead is about another one. */
static ORACLE void touch(struct model *m, unsigned pid)
{
	if (m->dead[pid]) {
		forget(m, pid);
		memset(m->alive[pid], 0, sizeof(m->alive[pid]));
	}
	m->dead[pid] = false;
	m->known[pid] = true;
}

static ORACLE void leave(struct model *m, const struct fact *f)
{
	bool any = false;

	if (!m->alive[f->pid][f->thread])
		return;
	m->alive[f->pid][f->thread] = false;
	for (int i = 0; i < THREADS; i++)
		any |= m->alive[f->pid][i];
	m->dead[f->pid] = !any;
}

static ORACLE void be_born(struct model *m, const struct fact *f, unsigned parent)
{
	m->name[f->pid * THREADS + f->thread] = m->name[parent * THREADS + f->b % THREADS];
	if (parent != f->pid) {
		if (m->known[parent])
			memcpy(m->lies[f->pid], m->lies[parent], sizeof(m->lies[parent]));
		else
			forget(m, f->pid);
		memset(m->alive[f->pid], 0, sizeof(m->alive[f->pid]));
		m->known[f->pid] = true;
	} else if (!m->known[f->pid]) {
		return;
	}
	m->dead[f->pid] = false;
	m->alive[f->pid][f->thread] = true;
}

static ORACLE void step(struct model *m, const struct fact *f, int n)
{
	switch ((enum what)f->what) {
	case MAP:
	case MAP_AGAIN:
		touch(m, f->pid);
		for (unsigned i = f->a; i < f->a + f->b && i < ADDRS; i++)
			m->lies[f->pid][i] = n;
		break;
	case FORK:
		be_born(m, f, f->a % PIDS);
		break;
	case THREAD:
		be_born(m, f, f->pid);
		break;
	case EXIT:
		leave(m, f);
		break;
	case EXEC:
		touch(m, f->pid);
		forget(m, f->pid);
		memset(m->alive[f->pid], 0, sizeof(m->alive[f->pid]));
		m->alive[f->pid][f->thread] = true;
		m->name[f->pid * THREADS + f->thread] = n;
		break;
	case COMM:
		touch(m, f->pid);
		m->alive[f->pid][f->thread] = true;
		m->name[f->pid * THREADS + f->thread] = n;
		break;
	case CLEAR:
		touch(m, f->pid);
		forget(m, f->pid);
		break;
	case WHATS:
		break;
	}
}

static int tell(struct spaces *sp, const struct fact *f, unsigned n)
{
	uint32_t pid = 1 + f->pid, tid = tid_of(f->pid, f->thread);
	struct space_map_fact map = { .time = f->time,
				      .pid = pid,
				      .tid = tid,
				      .start = f->a,
				      .len = f->b,
				      .pgoff = n,
				      .misc = PERF_RECORD_MISC_USER,
				      .path = "/x" };
	unsigned parent = f->what == THREAD ? f->pid : f->a % PIDS;
	char name[2] = { (char)('A' + n % 50), '\0' };

	switch ((enum what)f->what) {
	case MAP:
	case MAP_AGAIN:
		return spaces_map(sp, &map, NULL);
	case FORK:
	case THREAD:
		return spaces_fork(sp, f->time, pid, tid, 1 + parent,
				   tid_of(parent, f->b % THREADS), NULL);
	case EXIT:
		return spaces_exit(sp, f->time, pid, tid, NULL);
	case COMM:
	case EXEC:
		return spaces_comm(sp, f->time, pid, tid, f->what == EXEC, name, NULL);
	case CLEAR:
		return spaces_clear(sp, f->time, pid, NULL);
	case WHATS:
		break;
	}
	return 0;
}

/* What spaces say of `addr`: the number of the fact, or -1. */
static ORACLE int found(const struct spaces *sp, const struct process *p, unsigned addr,
			uint64_t time, uint64_t *from, uint64_t *until)
{
	const struct map *m = space_find(sp, p, SPACE_USER, addr, time, from, until);

	return m ? (int)m->pgoff : -1;
}

/* The answer at an address, and that it is the same as long as it is said to be. */
static ORACLE void check_find(const struct spaces *sp, const struct process *p, unsigned a,
			      unsigned time, int want)
{
	uint64_t from, until;

	if (found(sp, p, a, time, &from, &until) != want)
		abort();
	if (time < from || time >= until || found(sp, p, a, from, NULL, NULL) != want ||
	    found(sp, p, a, until - 1, NULL, NULL) != want)
		abort();
}

/* A span at a time: what holds everywhere in it is there, everywhere in it; and its ends. */
static ORACLE void check_spans(const struct spaces *sp, const struct process *p, const int *lies,
			       unsigned time)
{
	for (unsigned a = 0, end, at; a < ADDRS; a = end) {
		struct space_span s;
		const struct map *m = space_find_span(sp, p, SPACE_USER, a, time, &s);

		if (a < s.start || a >= s.end || time < s.from || time >= s.until)
			abort();
		end = s.end < ADDRS ? (unsigned)s.end : ADDRS;
		for (unsigned i = (unsigned)s.start; i < end; i++)
			if ((m ? (int)m->pgoff : -1) != lies[i])
				abort();
		at = time & 1 ? a : end - 1;
		check_find(sp, p, at, time, lies[at]);
	}
}

static ORACLE void check_comms(const struct spaces *sp, const struct model *m, unsigned pid,
			       unsigned time)
{
	for (unsigned t = 0; t < THREADS; t++) {
		uint64_t from, until;
		uint32_t id = spaces_comm_at(sp, 1 + pid, tid_of(pid, t), time, &from, &until);
		int n = m->name[pid * THREADS + t];
		char name[2] = { (char)('A' + n % 50), '\0' };

		if (time < from || time >= until || (n < 0) != (id == STR_NONE))
			abort();
		if (spaces_comm_at(sp, 1 + pid, tid_of(pid, t), from, NULL, NULL) != id ||
		    spaces_comm_at(sp, 1 + pid, tid_of(pid, t), until - 1, NULL, NULL) != id)
			abort();
		if (n >= 0 && strcmp(strtab_get(spaces_strings(sp), id), name) != 0)
			abort();
	}
}

/* `pids`: bits of the processes to look at. */
static ORACLE void compare_at(const struct spaces *sp, const struct model *m, unsigned time,
			      unsigned pids, bool each)
{
	for (unsigned pid = 0; pid < PIDS; pid++) {
		const struct process *p = spaces_process(sp, 1 + pid, time);
		uint64_t born = 0, over = UINT64_MAX;

		if (!(pids >> pid & 1))
			continue;
		if (p)
			process_life(p, &born, &over);
		if (time < born || time >= over)
			abort();
		check_spans(sp, p, m->lies[pid], time);
		for (unsigned a = 0; each && a < ADDRS; a++)
			check_find(sp, p, a, time, m->lies[pid][a]);
		check_comms(sp, m, pid, time);
	}
}

/* From a time with facts to the next nothing changes: both ends of that are looked at, of the
 * processes that the facts are about; now and then all of them; and one time, any, address by
 * address. */
static ORACLE void compare(const struct spaces *sp, const struct fact *fact, size_t n,
			   unsigned each)
{
	unsigned changes[TIMES + 1] = { [0] = ALL_PIDS, [TIMES] = ALL_PIDS }, pids = 0;
	struct model m;

	memset(&m, 0, sizeof(m));
	memset(m.lies, -1, sizeof(m.lies));
	memset(m.name, -1, sizeof(m.name));
	for (size_t i = 0; i < n; i++)
		changes[fact[i].time] |= 1u << fact[i].pid | 1u << fact[i].a % PIDS;
	for (unsigned time = 0; time < TIMES; time++) {
		for (size_t i = 0; changes[time] && i < n; i++)
			if (fact[i].time == time)
				step(&m, &fact[i], (int)i);
		pids = changes[time] ? changes[time] : pids;
		if (time % 16 == 15 || time == each)
			compare_at(sp, &m, time, ALL_PIDS, time == each);
		else if (changes[time] || changes[time + 1])
			compare_at(sp, &m, time, pids, false);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fact fact[FACTS];
	size_t n = size / 6 < FACTS ? size / 6 : FACTS;
	struct images *images = images_new(NULL, NULL);
	struct spaces *sp = images ? spaces_new(images, NULL) : NULL;

	if (!sp)
		abort();
	for (size_t i = 0; i < n; i++) {
		const uint8_t *d = data + 6 * i;

		fact[i] = (struct fact){ .what = d[0] % WHATS,
					 .time = d[1] % TIMES,
					 .pid = d[2] % PIDS,
					 .thread = d[2] / PIDS % THREADS,
					 .a = d[3] % ADDRS,
					 .b = 1u + d[4] % 24u,
					 .c = d[5] };
		if (tell(sp, &fact[i], (unsigned)i))
			abort();
	}
	spaces_finish(sp);
	compare(sp, fact, n, size ? (data[0] * 31u + data[size - 1]) % TIMES : 0);
	spaces_free(sp);
	images_free(images);
	return 0;
}
