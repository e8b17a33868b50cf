/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log: a file of this process below the directory that CYCLADE_HEAP names, chunks of it mapped
 * for threads. CYCLADE_HEAP is CLOCK:RATE:LIMIT:DIRECTORY - the recording's clock; one small object
 * of RATE is logged; after LIMIT bytes, and each doubling of them, one in four of those.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "heaplog/heaplog_int.h"

#define RATE_MOST (UINT64_C(1) << 20)

struct process *process;
__thread struct thread self;
bool log_no_ticks;

static char directory[HEAPLOG_PATH - 64];
static clockid_t clock_id;
static uint64_t first_rate = 1, limit;
static _Atomic uint64_t generations; /* of this process and those that it was forked from */
static bool own_malloc, has_tables;

/* ---- text, without libc's formats ---------------------------------------------------------- */

static uint64_t take_number(const char **s)
{
	uint64_t v = 0;

	while (**s >= '0' && **s <= '9' && v < UINT64_MAX / 16)
		v = v * 10 + (uint64_t)(*(*s)++ - '0');
	if (**s == ':')
		(*s)++;
	return v;
}

static char *put_number(char *to, uint64_t v)
{
	char text[24];
	size_t n = 0;

	do
		text[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = text[--n];
	return to;
}

/* DIRECTORY/PID.BEGAN, kept: a stack of 4 kB has no room for it. */
static void name_log(void)
{
	size_t n = strlen(directory);
	char *to = process->path + n;

	memcpy(process->path, directory, n);
	*to++ = '/';
	to = put_number(to, (uint64_t)getpid());
	*to++ = '.';
	to = put_number(to, process->began);
	*to = '\0';
}

/* ---- time ---------------------------------------------------------------------------------- */

uint64_t log_ns(void)
{
	return heap_ns(clock_id);
}

/* Whether the counter has the same rate at all times: the CPU says so. */
static bool steady(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

/* ---- chunks -------------------------------------------------------------------------------- */

void log_skip(void)
{
	if (process && !process->first)
		atomic_fetch_add(&process->early, 1);
	else if (process)
		__atomic_add_fetch(&process->first->not_logged, 1, __ATOMIC_RELAXED);
}

/* Beyond the limit of file sizes a program would get a signal. */
static bool may_grow(uint64_t end)
{
	struct rlimit r;

	return !getrlimit(RLIMIT_FSIZE, &r) && (r.rlim_cur == RLIM_INFINITY || end <= r.rlim_cur);
}

/* Blocks of the disk for [at, at + size): without them a store to the mapping would be a SIGBUS. */
static bool reserve(int fd, uint64_t at, size_t size)
{
	static const char zeros[4096];

	if (!fallocate(fd, 0, (off_t)at, (off_t)size))
		return true;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	for (size_t done = 0; done < size; done += sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), (off_t)(at + done)) != sizeof(zeros))
			return false;
	return true;
}

static void *map_chunk(uint64_t at, size_t size)
{
	int fd = open(process->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (may_grow(at + size) && reserve(fd, at, size))
		p = real.mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	(void)close(fd);
	if (p == MAP_FAILED)
		return NULL;
#ifdef MADV_POPULATE_WRITE
	(void)madvise(p, size, MADV_POPULATE_WRITE);
#endif
	return p;
}

/* With all signals held back, libc's own included: a handler that never returns here, and a thread
 * that is cancelled, would leave the lock to nobody. */
void log_lock(_Atomic uint32_t *lock, uint64_t *mask)
{
	const uint64_t all = UINT64_MAX;

	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, mask, sizeof(*mask));
	while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
		(void)syscall(SYS_sched_yield);
}

void log_unlock(_Atomic uint32_t *lock, const uint64_t *mask)
{
	atomic_store_explicit(lock, 0, memory_order_release);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof(*mask));
}

/* Where the records of a chunk end. */
static uint64_t *records_end(uint64_t *at, const uint64_t *end)
{
	size_t n;

	for (; at < end && *at; at += n) {
		n = heap_words(*at);
		if (!n || n > (size_t)(end - at))
			return NULL;
	}
	return at;
}

static bool is_alive(pid_t tid)
{
	return !syscall(SYS_tgkill, getpid(), tid, 0) || errno != ESRCH;
}

/* Threads leave without a word: a key of pthread_key_create() would be missing in a program that
 * uses all of them. So who needs a chunk looks at a few of the others, and takes what one that has
 * ended has left. */
static bool inherit_chunk(struct thread *t)
{
	uint32_t n = process->n_owners < HEAPLOG_LOOKS ? process->n_owners : HEAPLOG_LOOKS;

	for (uint32_t i = 0; i < n; i++) {
		struct owner *o = &process->owner[process->next_look++ % process->n_owners];
		uint64_t *at;

		if (!o->tid) { /* of two that ended before one began */
			process->free_owner = (uint32_t)(o - process->owner) + 1;
			continue;
		}
		if (is_alive(o->tid))
			continue;
		at = records_end(o->at, o->end);
		o->tid = 0;
		process->free_owner = (uint32_t)(o - process->owner) + 1;
		if (!at || o->end - at < 64)
			continue;
		t->at = at;
		t->end = o->end;
		return true;
	}
	return false;
}

/* The thread's chunk, for who comes after it. If there are too many threads, some leave nothing. */
static void own_chunk(struct thread *t)
{
	struct owner *o;

	if (!t->owner) {
		t->owner = process->free_owner			? process->free_owner
			   : process->n_owners < HEAPLOG_OWNERS ? ++process->n_owners
								: 0;
		process->free_owner = 0;
	}
	if (!t->owner)
		return;
	o = &process->owner[t->owner - 1];
	*o = (struct owner){ .tid = (pid_t)syscall(SYS_gettid), .at = t->at, .end = t->end };
}

static bool new_chunk(struct thread *t)
{
	size_t size = t->chunk < HEAP_CHUNK_LEAST ? HEAP_CHUNK_LEAST : t->chunk;
	uint64_t at = atomic_fetch_add(&process->end, size);
	struct heap_chunk *c = map_chunk(at, size);

	if (!c)
		return false;
	c->size = (uint32_t)size;
	c->pid = (uint32_t)getpid();
	c->parent = (uint32_t)getppid();
	c->flags = process->flags;
	c->began = process->began;
	heap_instant(c, clock_id);
	c->rate = atomic_load(&process->rate);
	atomic_signal_fence(memory_order_seq_cst);
	c->magic = HEAP_MAGIC;
	t->at = (uint64_t *)c + HEAP_HEAD_WORDS;
	t->end = (uint64_t *)c + size / 8;
	t->chunk = size < HEAP_CHUNK_MOST ? (uint32_t)size * 4 : HEAP_CHUNK_MOST;
	if (!process->first) {
		process->first = c;
		atomic_signal_fence(memory_order_seq_cst);
		__atomic_add_fetch(&c->not_logged, atomic_exchange(&process->early, 0),
				   __ATOMIC_RELAXED);
	}
	return true;
}

/* ---- processes and threads ----------------------------------------------------------------- */

static void begin_process(bool forked)
{
	process->began = log_ns();
	process->flags = (forked ? HEAP_FORKED : 0u) | (log_no_ticks ? HEAP_NO_TICKS : 0u) |
			 (own_malloc ? HEAP_OWN : 0u) | (has_tables ? HEAP_TABLES : 0u);
	process->rate = first_rate;
	process->off = !*directory;
	name_log();
	chain_reset();
	atomic_store(&process->generation, atomic_fetch_add(&generations, 1) + 1);
}

/* The mapping that the stack pointer is in. Of the first thread the kernel grows it downwards. */
static void find_stack(struct thread *t)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), from = 0, to = 0, v = 0;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[256]; /* coroutines have small stacks */
	bool head = true;
	ssize_t n;

	while (fd >= 0 && !t->stack_end && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			char c = text[i];

			if (head && c == '-') {
				from = v;
				v = 0;
			} else if (head && c == ' ') {
				to = v;
				head = false;
				if (here >= from && here < to) {
					t->stack = from;
					t->stack_end = to;
				}
			} else if (c == '\n') {
				v = 0;
				head = true;
			} else if (head) {
				v = v << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
			}
		}
	if (fd >= 0)
		(void)close(fd);
	if (t->stack_end && syscall(SYS_gettid) == getpid())
		t->stack = t->stack_end > (8u << 20) ? t->stack_end - (8u << 20) : t->stack;
}

/* More than the limit: fewer small objects from now on. */
static void slow_down(struct thread *t)
{
	uint64_t rate = atomic_load(&process->rate), want = first_rate;

	for (uint64_t l = limit; l && atomic_load(&process->end) > l && want < RATE_MOST; l *= 2)
		want *= 4;
	if (want <= rate || !atomic_compare_exchange_strong(&process->rate, &rate, want))
		return;
	t->at[1] = log_time();
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_RATE, want);
	t->at += 2;
}

static bool next_chunk(struct thread *t)
{
	bool anew = t->generation != atomic_load(&process->generation), got;
	uint64_t mask;

	if (anew) { /* a new thread, or one of a new process */
		t->generation = atomic_load(&process->generation);
		t->chunk = t->owner = 0;
	}
	t->at = t->end = NULL;
	log_lock(&process->lock, &mask);
	got = (anew && inherit_chunk(t)) || new_chunk(t);
	if (got)
		own_chunk(t);
	log_unlock(&process->lock, &mask);
	if (!got)
		return false;
	if (!t->stack_end)
		find_stack(t);
	slow_down(t);
	return true;
}

bool log_room_slow(struct thread *t, size_t words)
{
	int e = errno;
	bool ok;

	if (!atomic_load(&process->generation))
		begin_process(true);
	if (atomic_load(&process->off))
		return false;
	ok = t->generation == atomic_load(&process->generation) && t->at && t->at + words <= t->end;
	for (int i = 0; i < 3 && !ok; i++) {
		if (!next_chunk(t)) {
			atomic_store(&process->off, true);
			log_skip();
			break;
		}
		ok = t->at + words <= t->end;
	}
	errno = e;
	return ok;
}

void log_stack(struct thread *t, uintptr_t stack, uintptr_t end)
{
	t->stack = stack;
	t->stack_end = end;
	if (!log_room(t, 3))
		return;
	t->at[1] = log_time();
	t->at[2] = (uint64_t)syscall(SYS_gettid) << 40 | ((end - stack) & HEAP_BYTES_MOST);
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_STACK, stack);
	t->at += 3;
}

static void read_setting(void)
{
	const char *s = getenv("CYCLADE_HEAP");

	if (!s || strlen(s) >= sizeof(directory))
		return;
	clock_id = (clockid_t)take_number(&s);
	first_rate = take_number(&s);
	limit = take_number(&s);
	if (!first_rate || first_rate & (first_rate - 1) || first_rate > RATE_MOST)
		first_rate = 1;
	memcpy(directory, s, strlen(s) + 1);
}

void log_begin(bool own, void *find_object)
{
	size_t size = (sizeof(*process) + 4095) & ~(size_t)4095;
	static struct process none = { .generation = 1, .off = true };
	void *p = real.mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	process = &none;
	read_setting();
	/* a kernel before 4.14: a fork would write into its parent's chunks */
	if (p == MAP_FAILED || !*directory || madvise(p, size, MADV_WIPEONFORK))
		return;
	own_malloc = own;
	has_tables = frames_begin(find_object);
	log_no_ticks = !steady();
	process = p;
	begin_process(false);
	find_stack(&self); /* of the first thread: later it may be on a coroutine's */
}
