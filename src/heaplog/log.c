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
#define SPARE	  (size_t)0x400000 /* for a program that sets a filter of system calls */

struct process *process;
__thread struct thread self;
bool log_no_ticks;

static char directory[HEAPLOG_PATH - 64];
static clockid_t clock_id;
static uint64_t first_rate = 1, limit;
static _Atomic uint64_t generations; /* of this process and those that it was forked from */
static bool own_malloc, has_tables;
static size_t page;
static _Atomic bool filtered; /* a child has its parent's filter */

/* ---- text, without libc's formats ---------------------------------------------------------- */

static uint64_t take_decimal(const char **s)
{
	uint64_t v = 0;

	while (**s >= '0' && **s <= '9' && v < UINT64_MAX / 16)
		v = v * 10 + (uint64_t)(*(*s)++ - '0');
	if (**s == ':')
		(*s)++;
	return v;
}

static char *put_decimal(char *to, uint64_t v)
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

/* ---- time ---------------------------------------------------------------------------------- */

uint64_t log_ns(void)
{
	return heap_ns(clock_id);
}

/* Whether the counter has the same rate at all times: by the CPU's own flag. */
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

/* As long as it may become, so that no call needs the descriptor later; blocks it has none. Beyond
 * the limit of file sizes the program would get a signal. */
static uint64_t stretch(int fd)
{
	uint64_t size = HEAP_FILE_MOST;
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r))
		return 0;
	if (r.rlim_cur != RLIM_INFINITY && size > r.rlim_cur)
		size = r.rlim_cur;
	for (; size >= 2 * HEAP_CHUNK_LEAST; size /= 2)
		if (!ftruncate(fd, (off_t)size))
			return size;
	return 0;
}

/* The file, of which one page is mapped: that mapping grows by chunks. So they need no descriptor,
 * and neither the path nor the right to open it, which the program may give up. */
static bool open_log(void)
{
	int fd = open(process->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	process->most = stretch(fd);
	if (process->most)
		p = real.mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	process->seed = p == MAP_FAILED ? NULL : p;
	if (process->seed) /* else the kernel reads ahead bytes that were never written */
		(void)madvise(p, page, MADV_RANDOM);
	return process->seed;
}

/* Blocks of the disk for [at, at + size), which is at p: without them a store there would be a
 * SIGBUS. */
static bool reserve_log(void *p, uint64_t at, size_t size)
{
	bool ok;
	int fd;

#ifdef MADV_POPULATE_WRITE
	if (!madvise(p, size, MADV_POPULATE_WRITE))
		return true;
	if (errno != EINVAL)
		return false;
#endif
	/* before Linux 5.14 */
	fd = open(process->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	ok = fd >= 0 && !fallocate(fd, 0, (off_t)at, (off_t)size);
	if (fd >= 0)
		(void)close(fd);
	return ok;
}

static void *map_chunk(size_t size)
{
	uint64_t at = process->end;
	char *p;

	if (!process->seed && !open_log())
		return NULL;
	if (at + size + page > process->most)
		return NULL;
	p = real.mremap(process->seed, page, size + page, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return NULL;
	process->seed = p + size;
	process->end = at + size;
	if (reserve_log(p, at, size))
		return p;
	(void)real.munmap(p, size);
	return NULL;
}

/* Nobody writes there any more. The first one counts the calls that are not logged. */
static void unmap_chunk(void *chunk, const uint64_t *end)
{
	if (chunk && chunk != process->first)
		(void)real.munmap(chunk, (size_t)((const char *)end - (char *)chunk));
}

/* With all signals held back, libc's own included: a handler that never returns here, and a thread
 * that is cancelled, would leave the lock to nobody. */
static void take_lock(_Atomic uint32_t *lock, uint64_t *mask)
{
	const uint64_t all = UINT64_MAX;

	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, mask, sizeof(*mask));
	while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
		(void)syscall(SYS_sched_yield);
}

static void leave_lock(_Atomic uint32_t *lock, const uint64_t *mask)
{
	atomic_store_explicit(lock, 0, memory_order_release);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof(*mask));
}

/* The same without a call where there must be none: then somebody who never returns may have it. */
bool log_try(_Atomic uint32_t *lock, struct held *h)
{
	h->bare = atomic_load(&filtered);
	if (h->bare)
		return !atomic_exchange_explicit(lock, 1, memory_order_acquire);
	take_lock(lock, &h->mask);
	return true;
}

void log_leave(_Atomic uint32_t *lock, const struct held *h)
{
	if (h->bare)
		atomic_store_explicit(lock, 0, memory_order_release);
	else
		leave_lock(lock, &h->mask);
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

/* The process' first call may have been made by a child of vfork(), which was taken for it. */
static void find_pid(void)
{
	uint32_t was = process->pid, pid = (uint32_t)getpid();

	if (pid == was || (uint32_t)getppid() == was)
		return;
	process->pid = pid;
	for (uint32_t i = 0; i < process->n_owners; i++)
		if ((uint32_t)process->owner[i].tid ==
		    was) /* a thread of ours that has not ended */
			process->owner[i].tid = (pid_t)pid;
}

/* Threads leave without a word: a key of pthread_key_create() would be missing in a program that
 * uses all of them. So who needs a chunk looks at a few of the others, and takes the rest of one
 * that has ended. */
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
		/* A child of vfork() has its parent's memory, but a number of its own. */
		if (!syscall(SYS_tgkill, (pid_t)process->pid, o->tid, 0) || errno != ESRCH)
			continue;
		at = records_end(o->at, o->end);
		o->tid = 0;
		process->free_owner = (uint32_t)(o - process->owner) + 1;
		if (!at || o->end - at < 64) {
			unmap_chunk(o->chunk, o->end);
			continue;
		}
		t->base = o->chunk;
		t->at = at;
		t->end = o->end;
		return true;
	}
	return false;
}

/* The thread's chunk, for who comes after it. If there are too many threads, some leave nothing; a
 * child of vfork(), which has its parent's place, takes none. */
static void own_chunk(struct thread *t)
{
	struct owner *o;

	if (!t->owner && log_is_lent())
		return;
	if (!t->owner) {
		t->owner = process->free_owner			? process->free_owner
			   : process->n_owners < HEAPLOG_OWNERS ? ++process->n_owners
								: 0;
		process->free_owner = 0;
		if (t->owner)
			process->owner[t->owner - 1].tid = (pid_t)syscall(SYS_gettid);
	}
	if (!t->owner)
		return;
	o = &process->owner[t->owner - 1];
	o->chunk = t->base;
	o->at = t->at;
	o->end = t->end;
}

static size_t next_size(struct thread *t)
{
	size_t least = page > HEAP_CHUNK_LEAST ? page : HEAP_CHUNK_LEAST;
	size_t size = t->next < least ? least : t->next;

	t->next = size < HEAP_CHUNK_MOST ? (uint32_t)size * 4 : HEAP_CHUNK_MOST;
	return size;
}

static void begin_log_chunk(struct thread *t, struct heap_chunk *c, size_t size)
{
	c->size = (uint32_t)size;
	c->pid = process->pid;
	c->parent = process->parent;
	c->flags = process->flags;
	c->began = process->began;
	c->rate = atomic_load(&process->rate);
	atomic_signal_fence(memory_order_seq_cst);
	c->magic = HEAP_MAGIC;
	t->base = c;
	t->at = (uint64_t *)c + HEAP_HEAD_WORDS;
	t->end = (uint64_t *)c + size / 8;
}

static bool new_chunk(struct thread *t)
{
	size_t size = next_size(t);
	struct heap_chunk *c = map_chunk(size);

	if (!c)
		return false;
	heap_instant(c, clock_id);
	begin_log_chunk(t, c, size);
	if (!process->first) {
		process->first = c;
		atomic_signal_fence(memory_order_seq_cst);
		__atomic_add_fetch(&c->not_logged, atomic_exchange(&process->early, 0),
				   __ATOMIC_RELAXED);
	}
	return true;
}

/* ---- filters of system calls --------------------------------------------------------------- */

/* Once a filter is set, no call is made any more: it may end the program for one that the program
 * itself would never make. Logging goes on as far as the memory reaches that is mapped now. */
void log_filtered(bool now)
{
	int e = errno;
	uint64_t mask;
	char *p;

	take_lock(&process->lock, &mask);
	if (now && !atomic_load(&process->off) && atomic_load(&process->generation) &&
	    !log_no_ticks && !process->spare_end) {
		p = map_chunk(SPARE);
		if (p) {
			heap_instant(&process->instant, clock_id);
			process->spare = (uintptr_t)p;
			process->spare_end = (uintptr_t)p + SPARE;
		}
	}
	atomic_store(&filtered, now);
	leave_lock(&process->lock, &mask);
	errno = e;
}

/* All that is known of threads is void: so each looks, and finds that nothing can be logged. */
void log_stop(void)
{
	atomic_store(&filtered, true);
	atomic_store(&process->off, true);
	atomic_store(&process->generation, atomic_fetch_add(&generations, 1) + 1);
}

bool log_is_filtered(void)
{
	return atomic_load(&filtered);
}

bool log_is_lent(void)
{
	return process->pid && (uint32_t)getpid() != process->pid;
}

static bool spare_chunk(struct thread *t)
{
	size_t size = next_size(t);
	uintptr_t end = atomic_fetch_add(&process->spare, size) + size;
	struct heap_chunk *c;

	if (end > process->spare_end)
		return false;
	end -= size;
	memcpy(&c, &end, sizeof(c));
	c->ticks = process->instant.ticks;
	c->ns = process->instant.ns;
	begin_log_chunk(t, c, size);
	return true;
}

/* ---- processes and threads ----------------------------------------------------------------- */

static void begin_process(bool forked)
{
	size_t n = strlen(directory);
	char *to = process->path + n;

	process->pid = (uint32_t)getpid();
	process->parent = (uint32_t)getppid();
	process->began = log_ns();
	process->flags = (forked ? HEAP_FORKED : 0u) | (log_no_ticks ? HEAP_NO_TICKS : 0u) |
			 (own_malloc ? HEAP_OWN : 0u) | (has_tables ? HEAP_TABLES : 0u);
	process->rate = first_rate;
	/* DIRECTORY/PID.BEGAN, kept: a stack of 4 kB has no room for it. */
	memcpy(process->path, directory, n);
	*to++ = '/';
	to = put_decimal(to, process->pid);
	*to++ = '.';
	to = put_decimal(to, process->began);
	*to = '\0';
	process->off = !*directory;
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
	struct heap_chunk *had = t->base;
	const uint64_t *end = t->end;
	uint64_t mask;

	if (anew) { /* a new thread, or one of a new process */
		t->generation = atomic_load(&process->generation);
		t->next = t->owner = t->tid = 0;
	}
	t->base = NULL;
	t->at = t->end = NULL;
	if (atomic_load(&filtered))
		return spare_chunk(t);
	take_lock(&process->lock, &mask);
	if (atomic_load(&filtered)) { /* since then */
		leave_lock(&process->lock, &mask);
		return spare_chunk(t);
	}
	find_pid();
	if (anew)
		t->tid = (uint32_t)syscall(SYS_gettid);
	got = (anew && inherit_chunk(t)) || new_chunk(t);
	if (got) { /* else `had` is still its owner's, for who comes after it */
		own_chunk(t);
		unmap_chunk(had, end);
	}
	if (got && !t->stack_end)
		find_stack(t);
	leave_lock(&process->lock, &mask);
	if (got)
		slow_down(t);
	return got;
}

/* The first call in a child. */
static void begin_child(void)
{
	uint64_t mask;

	take_lock(&process->lock, &mask);
	if (!atomic_load(&process->generation))
		begin_process(true);
	leave_lock(&process->lock, &mask);
}

bool log_room_slow(struct thread *t, size_t words)
{
	int e = errno;
	bool ok;

	if (!atomic_load(&process->generation)) {
		if (atomic_load(&filtered))
			return false;
		begin_child();
	}
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
	if (!log_room(t, 3) || !t->tid)
		return;
	t->at[1] = log_time();
	t->at[2] = (uint64_t)t->tid << 40 | ((end - stack) & HEAP_BYTES_MOST);
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_STACK, stack);
	t->at += 3;
}

static void read_log_setting(void)
{
	const char *s = getenv("CYCLADE_HEAP");

	if (!s || strlen(s) >= sizeof(directory))
		return;
	clock_id = (clockid_t)take_decimal(&s);
	first_rate = take_decimal(&s);
	limit = take_decimal(&s);
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
	page = (size_t)sysconf(_SC_PAGESIZE);
	read_log_setting();
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
