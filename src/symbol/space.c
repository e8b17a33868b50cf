/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts are kept as they come; spaces_finish() goes through them once in order of time (place in
 * the file among equals) and builds, per process incarnation, a list of versions (time, root of a
 * tree of pieces), and per thread a list of names. Both are searched by bisection.
 */
#include "symbol/space.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/perf_abi.h"
#include "base/vec.h"
#include "symbol/pieces.h"

enum fact_type {
	FACT_MAP,
	FACT_FORK,
	FACT_EXIT,
	FACT_COMM,
	FACT_EXEC,
	FACT_CLEAR,
	FACT_KSYM,
	FACT_KSYM_GONE,
};

struct fact {
	uint64_t time;
	uint32_t seq; /* order of arrival */
	uint8_t type;
	uint8_t kind;	   /* enum space_kind */
	uint32_t pid, tid; /* pid, tid of parent: see a, b */
	uint32_t a, b;	   /* FORK: ppid, ptid; MAP: map number; COMM: name */
};

struct version {
	uint64_t time;
	uint32_t root;
};

struct process {
	uint32_t pid, index;
	uint64_t born, until; /* `until`: the next incarnation's birth */
	uint32_t next;	      /* the incarnation of this pid that came before, or PROC_NONE */
	uint32_t nth;	      /* how many came before */
	uint32_t group;	      /* of the newest: where its pid's incarnations begin in by_pid */
	uint32_t live, execs; /* its known threads that did not exit; execs until now */
	bool dead, renewed;   /* all threads known have exited; a newer incarnation exists */
	VEC(struct version) version;
};

#define PROC_NONE UINT32_MAX

struct name_at {
	uint64_t time;
	uint32_t comm;
};

struct thread {
	VEC(struct name_at) name;
	/* whose thread it is at the moment that spaces_finish() has come to */
	uint32_t owner, execs;
	bool alive;
};

struct spaces {
	struct images *images;
	struct strtab strings;
	struct arena arena;
	VEC(struct fact) fact;
	VEC(struct map) map;
	VEC(struct process *) process;
	VEC(struct thread) thread;
	struct u64map
		last_process;	 /* place_key(kind, pid) -> index + 1 of the newest incarnation */
	struct u64map thread_of; /* tid -> index in thread */
	struct u64map cgroup;	 /* id -> string */
	struct pieces pieces;
	/* processes of their own, PROC_NONE if none */
	uint32_t kernel, ksyms, guest_kernel;
	uint32_t *by_pid; /* process numbers, the incarnations of one pid together, oldest first */
	bool finished;
};

enum space_kind space_kind_of_misc(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return SPACE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return SPACE_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return SPACE_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return SPACE_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return SPACE_GUEST_USER;
	default:
		return SPACE_UNKNOWN;
	}
}

/* Kernels are one process each, under a pid that no process has; a guest's users are apart from the
 * host's. */
#define KSYMS_KEY (4ULL << 40) /* apart: when one goes, what it covered is there again */

static uint64_t place_key(enum space_kind kind, uint32_t pid)
{
	switch (kind) {
	case SPACE_KERNEL:
		return 1ULL << 40;
	case SPACE_GUEST_KERNEL:
		return 2ULL << 40;
	case SPACE_GUEST_USER:
		return 3ULL << 40 | pid;
	default:
		return pid;
	}
}

void spaces_free(struct spaces *sp)
{
	if (!sp)
		return;
	for (size_t i = 0; i < sp->process.n; i++)
		vec_free(&sp->process.v[i]->version);
	for (size_t i = 0; i < sp->thread.n; i++)
		vec_free(&sp->thread.v[i].name);
	vec_free(&sp->fact);
	vec_free(&sp->map);
	vec_free(&sp->process);
	vec_free(&sp->thread);
	u64map_free(&sp->last_process);
	u64map_free(&sp->thread_of);
	u64map_free(&sp->cgroup);
	pieces_free(&sp->pieces);
	free(sp->by_pid);
	strtab_free(&sp->strings);
	arena_free(&sp->arena);
	free(sp);
}

/* ---- facts ------------------------------------------------------------------------------ */

static int add_fact(struct spaces *sp, struct fact f, struct err *err)
{
	if (sp->fact.n >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 4 G side-band records");
	f.seq = (uint32_t)sp->fact.n;
	return vec_push(&sp->fact, f) ? err_nomem(err) : 0;
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
	{ "//anon", true, IMAGE_ANON },
	{ "/anon_hugepage", true, IMAGE_ANON },
	{ "/memfd:", true, IMAGE_ANON },
	{ "/dev/zero", true, IMAGE_ANON },
	{ "/SYSV", true, IMAGE_ANON },
	{ "", false, IMAGE_ANON },
};

static enum image_kind kind_of(const char *path, enum space_kind space)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (special[i].prefix ? !strncmp(path, special[i].name, strlen(special[i].name))
				      : !strcmp(path, special[i].name))
			return special[i].kind;
	if (space == SPACE_KERNEL || space == SPACE_GUEST_KERNEL)
		return IMAGE_MODULE;
	return IMAGE_FILE;
}

/* What is not said to be a kernel's is a process', as perf has it. */
static enum space_kind kind_of_map(uint16_t misc)
{
	enum space_kind space = space_kind_of_misc(misc);

	return space == SPACE_HYPERVISOR || space == SPACE_UNKNOWN ? SPACE_USER : space;
}

int spaces_map(struct spaces *sp, const struct space_map_fact *f, struct err *err)
{
	enum space_kind space = kind_of_map(f->misc);
	struct image_key key = { .path = f->path, .build_id = f->build_id };
	struct map m = { .start = f->start, .pgoff = f->pgoff, .since = f->time };

	if (!f->len)
		return 0;
	key.kind = kind_of(f->path, space);
	key.build_id_len = f->build_id ? f->build_id_len : 0;
	key.pid = key.kind == IMAGE_ANON ? f->pid : 0;
	if (key.kind == IMAGE_KERNEL || key.kind == IMAGE_MODULE) {
		key.start = f->start;
		key.len = f->len;
		key.reloc = key.kind == IMAGE_KERNEL ? f->pgoff : 0;
	}
	m.end = f->len > UINT64_MAX - f->start ? UINT64_MAX : f->start + f->len;
	m.prot = f->prot ? f->prot : f->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_EXEC;
	m.kind = (uint8_t)space;
	/* kallsyms, the source of a kernel's and its modules' symbols, has absolute addresses */
	m.absolute = key.kind == IMAGE_KERNEL || key.kind == IMAGE_MODULE || key.kind == IMAGE_ANON;
	m.image = images_add(sp->images, &key, err);
	if (m.image == IMAGE_NONE)
		return -1;
	if (sp->map.n >= PIECE_HOLE || vec_push(&sp->map, m))
		return err_nomem(err);
	return add_fact(sp,
			(struct fact){ .time = f->time,
				       .type = FACT_MAP,
				       .kind = (uint8_t)space,
				       .pid = f->pid,
				       .tid = f->tid,
				       .a = (uint32_t)sp->map.n - 1 },
			err);
}

int spaces_fork(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, uint32_t ppid,
		uint32_t ptid, struct err *err)
{
	return add_fact(sp,
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
	return add_fact(
		sp,
		(struct fact){ .time = time, .type = FACT_CLEAR, .kind = SPACE_USER, .pid = pid },
		err);
}

int spaces_exit(struct spaces *sp, uint64_t time, uint32_t pid, uint32_t tid, struct err *err)
{
	return add_fact(sp,
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
	uint32_t name = strtab_adds(&sp->strings, comm);

	if (name == STR_NONE)
		return err_nomem(err);
	return add_fact(sp,
			(struct fact){ .time = time,
				       .type = exec ? FACT_EXEC : FACT_COMM,
				       .kind = SPACE_USER,
				       .pid = pid,
				       .tid = tid,
				       .a = name },
			err);
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
	if (sp->map.n >= PIECE_HOLE || vec_push(&sp->map, m))
		return err_nomem(err);
	return add_fact(sp,
			(struct fact){ .time = time,
				       .type = gone ? FACT_KSYM_GONE : FACT_KSYM,
				       .kind = SPACE_KERNEL,
				       .a = (uint32_t)sp->map.n - 1 },
			err);
}

int spaces_cgroup(struct spaces *sp, uint64_t id, const char *path, struct err *err)
{
	uint32_t name = strtab_adds(&sp->strings, path);
	uint64_t *slot = name == STR_NONE ? NULL : u64map_at(&sp->cgroup, id, NULL);

	if (!slot)
		return err_nomem(err);
	*slot = name;
	return 0;
}

struct spaces *spaces_new(struct images *images, struct err *err)
{
	struct spaces *sp = calloc(1, sizeof(*sp));

	if (!sp) {
		(void)err_nomem(err);
		return NULL;
	}
	sp->images = images;
	sp->pieces = (struct pieces)PIECES_INIT;
	/* what a file cannot foresee, so that none can make the trees deep */
	sp->pieces.random = (uint32_t)hash_u64((uint64_t)(uintptr_t)sp) | 1;
	sp->kernel = sp->ksyms = sp->guest_kernel = PROC_NONE;
	/* the idle threads, which no record names */
	if (spaces_comm(sp, 0, 0, 0, false, "swapper", err)) {
		spaces_free(sp);
		return NULL;
	}
	return sp;
}

/* ---- from facts to versions ------------------------------------------------------------- */

static int by_time(const void *pa, const void *pb)
{
	const struct fact *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

static struct process *newest(const struct spaces *sp, uint64_t key)
{
	const uint64_t *at = u64map_find(&sp->last_process, key);

	return at ? sp->process.v[*at - 1] : NULL;
}

static struct process *new_process(struct spaces *sp, uint64_t key, uint32_t pid, uint64_t born)
{
	struct process *p = arena_alloc(&sp->arena, sizeof(*p));
	uint64_t *slot = p ? u64map_at(&sp->last_process, key, NULL) : NULL;

	if (!slot || sp->process.n >= PROC_NONE - 1)
		return NULL;
	p->pid = pid;
	p->index = (uint32_t)sp->process.n;
	p->born = born;
	p->until = UINT64_MAX;
	p->next = *slot ? (uint32_t)*slot - 1 : PROC_NONE;
	if (p->next != PROC_NONE) {
		struct process *older = sp->process.v[p->next];

		older->until = born;
		older->renewed = true;
		p->nth = older->nth + 1;
	}
	if (vec_push(&sp->process, p))
		return NULL;
	*slot = sp->process.n;
	return p;
}

/* The process a fact is about. One that nobody announced was there from the beginning; one that
 * goes on after all its threads exited is another one, whose fork was lost. */
static struct process *process_of(struct spaces *sp, const struct fact *f)
{
	uint64_t key = f->type == FACT_KSYM || f->type == FACT_KSYM_GONE
			       ? KSYMS_KEY
			       : place_key((enum space_kind)f->kind, f->pid);
	struct process *p = newest(sp, key);

	if (p && !p->dead)
		return p;
	return new_process(sp, key, f->pid, p ? f->time : 0);
}

static uint32_t root_of(const struct process *p)
{
	return p->version.n ? vec_last(&p->version)->root : 0;
}

/* The process' address space is `root` from `time` on. */
static int set_root(struct process *p, uint64_t time, uint32_t root)
{
	if (p->version.n && vec_last(&p->version)->time == time) {
		vec_last(&p->version)->root = root;
		return 0;
	}
	return vec_push(&p->version, ((struct version){ time, root }));
}

static int apply_map(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);
	const struct map *m = &sp->map.v[f->a];
	uint32_t root;

	if (!p)
		return -1;
	root = root_of(p);
	/* an older version, and whoever was forked from it, must stay as it is */
	if (p->version.n && vec_last(&p->version)->time != f->time)
		pieces_seal(&sp->pieces);
	if (pieces_paint(&sp->pieces, &root, m->start, m->end,
			 f->type == FACT_KSYM_GONE ? PIECE_HOLE : f->a))
		return -1;
	return set_root(p, f->time, root);
}

static struct thread *thread_at(struct spaces *sp, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = u64map_at(&sp->thread_of, tid, &fresh);

	if (!slot)
		return NULL;
	if (fresh) {
		*slot = sp->thread.n;
		if (vec_push(&sp->thread, ((struct thread){ .owner = PROC_NONE })))
			return NULL;
	}
	return &sp->thread.v[*slot];
}

/* Thread `tid` is one of p's. */
static int enter(struct spaces *sp, struct process *p, uint32_t tid)
{
	struct thread *t = thread_at(sp, tid);

	if (!t)
		return -1;
	if (t->alive && t->owner == p->index && t->execs == p->execs)
		return 0;
	t->owner = p->index;
	t->execs = p->execs;
	t->alive = true;
	p->live++;
	p->dead = false;
	return 0;
}

static int set_name(struct spaces *sp, uint32_t tid, uint64_t time, uint32_t comm)
{
	struct thread *t = thread_at(sp, tid);

	if (!t)
		return -1;
	if (t->name.n && vec_last(&t->name)->time == time) {
		vec_last(&t->name)->comm = comm;
		return 0;
	}
	return vec_push(&t->name, ((struct name_at){ time, comm }));
}

/* A new thread is called as the one that made it, whoever had its number before. */
static int inherit_name(struct spaces *sp, const struct fact *f)
{
	const struct thread *t = f->tid == f->b ? NULL : thread_at(sp, f->b);
	uint32_t comm = t && t->name.n ? vec_last(&t->name)->comm : STR_NONE;

	if (f->tid == f->b)
		return 0;
	return t ? set_name(sp, f->tid, f->time, comm) : -1;
}

static int apply_fork(struct spaces *sp, const struct fact *f)
{
	struct process *parent, *child;
	uint32_t root;

	if (inherit_name(sp, f))
		return -1;
	if (f->pid == f->a) { /* a thread: the process stays */
		child = newest(sp, place_key(SPACE_USER, f->pid));
		return child ? enter(sp, child, f->tid) : 0;
	}
	parent = newest(sp, place_key(SPACE_USER, f->a));
	root = parent ? root_of(parent) : 0;
	child = new_process(sp, place_key(SPACE_USER, f->pid), f->pid, f->time);
	if (!child || enter(sp, child, f->tid))
		return -1;
	pieces_seal(&sp->pieces);
	return set_root(child, f->time, root);
}

/* The other threads end without a word that is sure to come. */
static int apply_exec(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	if (!p || set_root(p, f->time, 0) || set_name(sp, f->tid, f->time, f->a))
		return -1;
	p->execs++;
	p->live = 0;
	return enter(sp, p, f->tid);
}

static int apply_comm(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	return !p || enter(sp, p, f->tid) || set_name(sp, f->tid, f->time, f->a) ? -1 : 0;
}

/* Late samples of a dead thread are still its own: nothing ends but the count. */
static void apply_exit(struct spaces *sp, const struct fact *f)
{
	struct process *p = newest(sp, place_key(SPACE_USER, f->pid));
	const uint64_t *slot = u64map_find(&sp->thread_of, f->tid);
	struct thread *t = slot ? &sp->thread.v[*slot] : NULL;

	if (!p || !t || !t->alive || t->owner != p->index || t->execs != p->execs)
		return;
	t->alive = false;
	p->live--;
	p->dead = !p->live;
}

static int apply_clear(struct spaces *sp, const struct fact *f)
{
	struct process *p = process_of(sp, f);

	return p ? set_root(p, f->time, 0) : -1;
}

static int apply(struct spaces *sp, const struct fact *f)
{
	switch ((enum fact_type)f->type) {
	case FACT_MAP:
	case FACT_KSYM:
	case FACT_KSYM_GONE:
		return apply_map(sp, f);
	case FACT_FORK:
		return apply_fork(sp, f);
	case FACT_EXEC:
		return apply_exec(sp, f);
	case FACT_CLEAR:
		return apply_clear(sp, f);
	case FACT_COMM:
		return apply_comm(sp, f);
	case FACT_EXIT:
		apply_exit(sp, f);
		return 0;
	}
	return -1;
}

/* Puts the incarnations of each pid side by side, for bisection. */
static int line_up(struct spaces *sp)
{
	uint32_t at = 0;

	sp->by_pid = malloc((sp->process.n + 1) * sizeof(*sp->by_pid));
	if (!sp->by_pid)
		return -1;
	for (size_t i = 0; i < sp->process.n; i++) {
		struct process *p = sp->process.v[i];

		if (p->renewed)
			continue;
		p->group = at;
		at += p->nth + 1;
		for (uint32_t k = p->index; k != PROC_NONE; k = sp->process.v[k]->next)
			sp->by_pid[p->group + sp->process.v[k]->nth] = k;
	}
	return 0;
}

static uint32_t index_of(const struct spaces *sp, uint64_t key)
{
	const struct process *p = newest(sp, key);

	return p ? p->index : PROC_NONE;
}

int spaces_finish(struct spaces *sp, struct err *err)
{
	for (size_t i = 1; i < sp->fact.n; i++)
		if (sp->fact.v[i].time < sp->fact.v[i - 1].time) {
			vec_sort(&sp->fact, by_time);
			break;
		}
	for (size_t i = 0; i < sp->fact.n; i++)
		if (apply(sp, &sp->fact.v[i]))
			return err_nomem(err);
	if (line_up(sp))
		return err_nomem(err);
	sp->kernel = index_of(sp, place_key(SPACE_KERNEL, 0));
	sp->ksyms = index_of(sp, KSYMS_KEY);
	sp->guest_kernel = index_of(sp, place_key(SPACE_GUEST_KERNEL, 0));
	vec_free(&sp->fact);
	sp->finished = true;
	return 0;
}

/* ---- look-ups --------------------------------------------------------------------------- */

/* The last incarnation born at or before `time`; before the first was born, that one. */
static const struct process *incarnation(const struct spaces *sp, uint64_t key, uint64_t time)
{
	const struct process *p = newest(sp, key);
	size_t low = 0, high = p ? p->nth : 0;

	if (!p || p->born <= time)
		return p;
	/* how many of the older ones but the first were born by then */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (mid + 1 < p->nth + 1u &&
		    sp->process.v[sp->by_pid[p->group + mid + 1]]->born <= time)
			low = mid + 1;
		else
			high = mid;
	}
	return sp->process.v[sp->by_pid[p->group + low]];
}

const struct process *spaces_process(const struct spaces *sp, uint32_t pid, uint64_t time)
{
	return incarnation(sp, place_key(SPACE_USER, pid), time);
}

uint32_t process_pid(const struct process *p)
{
	return p->pid;
}

void process_life(const struct process *p, uint64_t *from, uint64_t *until)
{
	*from = p->next == PROC_NONE ? 0 : p->born;
	*until = p->until;
}

uint32_t process_index(const struct process *p)
{
	return p->index;
}

size_t spaces_n_processes(const struct spaces *sp)
{
	return sp->process.n;
}

/* The process whose mappings rule for this kind of code, or NULL. */
static const struct process *space_of(const struct spaces *sp, const struct process *proc,
				      enum space_kind kind, uint64_t time)
{
	uint32_t index = PROC_NONE;

	switch (kind) {
	case SPACE_USER:
		return proc;
	case SPACE_KERNEL:
		index = sp->kernel;
		break;
	case SPACE_GUEST_KERNEL:
		index = sp->guest_kernel;
		break;
	case SPACE_GUEST_USER:
		return proc ? incarnation(sp, place_key(kind, proc->pid), time) : NULL;
	case SPACE_HYPERVISOR:
	case SPACE_UNKNOWN:
		break;
	}
	return index == PROC_NONE ? NULL : sp->process.v[index];
}

/* What process `p` had at `ip` at `time`; the interval is only made narrower. */
static const struct map *find_in(const struct spaces *sp, const struct process *p, uint64_t ip,
				 uint64_t time, uint64_t *from, uint64_t *until)
{
	size_t low = 0, high = p->version.n;
	uint32_t found;

	/* the first version later than `time` */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->version.v[mid].time <= time)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < p->version.n && p->version.v[low].time < *until)
		*until = p->version.v[low].time;
	if (!low)
		return NULL;
	if (p->version.v[low - 1].time > *from)
		*from = p->version.v[low - 1].time;
	found = pieces_find(&sp->pieces, p->version.v[low - 1].root, ip);
	return found == PIECE_HOLE ? NULL : &sp->map.v[found];
}

const struct map *space_find(const struct spaces *sp, const struct process *proc,
			     enum space_kind kind, uint64_t ip, uint64_t time, uint64_t *from,
			     uint64_t *until)
{
	const struct process *p = space_of(sp, proc, kind, time);
	uint64_t f = 0, u = UINT64_MAX;
	const struct map *m = NULL;

	if (kind == SPACE_GUEST_USER && p)
		process_life(p, &f, &u);
	if (kind == SPACE_KERNEL && sp->ksyms != PROC_NONE)
		m = find_in(sp, sp->process.v[sp->ksyms], ip, time, &f, &u);
	if (!m && p)
		m = find_in(sp, p, ip, time, &f, &u);
	if (from)
		*from = f;
	if (until)
		*until = u;
	return m;
}

uint32_t spaces_comm_at(const struct spaces *sp, uint32_t pid, uint32_t tid, uint64_t time,
			uint64_t *from, uint64_t *until)
{
	const uint64_t *slot = u64map_find(&sp->thread_of, tid);
	const struct thread *t = slot ? &sp->thread.v[*slot] : NULL;
	size_t low = 0, high = t ? t->name.n : 0;

	(void)pid;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->name.v[mid].time <= time)
			low = mid + 1;
		else
			high = mid;
	}
	if (from)
		*from = low ? t->name.v[low - 1].time : 0;
	if (until)
		*until = t && low < t->name.n ? t->name.v[low].time : UINT64_MAX;
	return low ? t->name.v[low - 1].comm : STR_NONE;
}

const char *spaces_cgroup_path(const struct spaces *sp, uint64_t id)
{
	const uint64_t *name = u64map_find(&sp->cgroup, id);

	return name ? strtab_get(&sp->strings, (uint32_t)*name) : NULL;
}

const struct strtab *spaces_strings(const struct spaces *sp)
{
	return &sp->strings;
}

struct images *spaces_images(const struct spaces *sp)
{
	return sp->images;
}
