/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inject - a library to preload under which one call of a kind fails, or all from one on.
 *
 *	FAULT=KIND:N		the Nth call of that kind fails
 *	FAULT=KIND:N+		that call and all after it
 *	FAULT=count		none fails, those of all kinds are counted
 *	FAULT_COUNT=FILE	how many calls there were, 8 bytes a kind in this machine's
 *				byte order; 0 of kinds that were not asked for
 *	FAULT_KILL=1		instead of failing, the call ends the process by SIGKILL
 *	FAULT_TRACE=1		the failing call's callers on stderr
 *	FAULT_MAIN=1		only calls from main() on: another preloaded library begins before
 *	FAULT_WITHOUT=DIR/	no file below it can be opened: there is none
 *
 * Kinds are rows of `kinds` below. The calls of `place` are the first allocation of each caller:
 * the Nth place of the code that allocates gets no memory. Only the process that was started counts
 * and fails, not its children; calls from inside libc count where they go through its table of
 * symbols (strdup's malloc does, fopen's open does not: fopen is a call of its own). What is
 * written to stderr never fails: messages are what is tested.
 */
/* both names of each function are needed here, not one for the other */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind {
	MEMORY,
	PLACE,
	OPEN,
	READ,
	WRITE,
	MAP,
	STAT,
	LENGTH,
	RENAME,
	CLOSE,
	FORK,
	THREAD,
	IOCTL,
	POLL,
	DIR_,
	PIPE,
	KINDS
};

static const struct {
	const char *name;
	int error; /* what errno then is */
} kinds[KINDS] = {
	[MEMORY] = { "memory", ENOMEM }, /* malloc and its kin */
	[PLACE] = { "place", ENOMEM },	 /* the same, of each caller the first */
	[OPEN] = { "open", EMFILE },	 /* open, openat, fopen */
	[READ] = { "read", EIO },	 /* read, pread */
	[WRITE] = { "write", ENOSPC },	 /* write, pwrite */
	[MAP] = { "mmap", ENOMEM },	 [STAT] = { "stat", EIO },	  /* stat, fstat, lstat */
	[LENGTH] = { "ftruncate", EIO }, [RENAME] = { "rename", EACCES }, /* and linkat */
	[CLOSE] = { "close", EIO }, /* the descriptor is gone all the same */
	[FORK] = { "fork", EAGAIN },	 [THREAD] = { "thread", EAGAIN }, /* pthread_create */
	[IOCTL] = { "ioctl", EIO },	 [POLL] = { "poll", EINTR },
	[DIR_] = { "opendir", EACCES },	 [PIPE] = { "pipe", EMFILE },
};

static atomic_long own_count[KINDS];
static atomic_long *count = own_count;
static enum kind wanted = KINDS, later = KINDS;
static long at;
static bool all, later_all, onwards, trace, deadly;
static pid_t self;
static const char *without;
static size_t without_len;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static void share_count(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
			      0644);
	void *p;

	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(own_count)))
		_exit(99);
	p = (void *)syscall(SYS_mmap, NULL, sizeof(own_count), PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0L);
	if (p == MAP_FAILED)
		_exit(99);
	(void)syscall(SYS_close, fd);
	count = p;
}

/* Ends the process where the test would mean nothing. */
static enum kind parse(const char *what)
{
	const char *colon = strchr(what, ':');
	enum kind k = 0;
	char *end;

	if (!colon)
		_exit(99);
	while (k < KINDS && (strlen(kinds[k].name) != (size_t)(colon - what) ||
			     memcmp(kinds[k].name, what, (size_t)(colon - what))))
		k++;
	at = strtol(colon + 1, &end, 10);
	if (k == KINDS || at < 1)
		_exit(99);
	onwards = *end == '+';
	return k;
}

__attribute__((constructor)) static void begin(void)
{
	const char *what = getenv("FAULT"), *file = getenv("FAULT_COUNT");
	bool every = what && !strcmp(what, "count");
	enum kind k = KINDS;

	if (!what)
		return;
	if (!every)
		k = parse(what);
	trace = getenv("FAULT_TRACE") != NULL;
	deadly = getenv("FAULT_KILL") != NULL;
	without = getenv("FAULT_WITHOUT");
	without_len = without ? strlen(without) : 0;
	if (file)
		share_count(file);
	(void)unsetenv("FAULT"); /* a child would empty the file of the count under us */
	self = getpid();
	if (trace) { /* loads what it needs; not in the middle of a malloc */
		void *warm[2];

		(void)backtrace(warm, 2);
	}
	if (getenv("FAULT_MAIN")) {
		later = k;
		later_all = every;
		return;
	}
	wanted = k;
	all = every;
}

typedef int main_fn(int argc, char **argv, char **env);
extern int __libc_start_main(main_fn *m, int argc, char **argv, void (*init)(void),
			     void (*fini)(void), void (*ld_fini)(void), void *stack);
static main_fn *real_main;

static int from_here(int argc, char **argv, char **env)
{
	if (getenv("FAULT_MAIN")) {
		wanted = later;
		all = later_all;
	}
	return real_main(argc, argv, env);
}

int __libc_start_main(main_fn *m, int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*ld_fini)(void), void *stack)
{
	__typeof__(__libc_start_main) *real =
		(__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = m;
	return real(from_here, argc, argv, init, fini, ld_fini, stack);
}

static void tell(void)
{
	void *frame[24];
	int n;

	trace = false;
	n = backtrace(frame, 24);
	backtrace_symbols_fd(frame, n, STDERR_FILENO);
}

/* Whether this call is to fail; errno is set then. */
static bool fails(enum kind k)
{
	long n;

	if ((k != wanted && !all) || getpid() != self)
		return false;
	n = atomic_fetch_add(&count[k], 1) + 1;
	if (all || (onwards ? n < at : n != at))
		return false;
	if (deadly)
		(void)kill(self, SIGKILL);
	if (trace)
		tell();
	errno = kinds[k].error;
	return true;
}

/* Whether nothing was allocated from here before. */
static bool first_from(const void *caller)
{
	static _Atomic(uintptr_t) seen[8192];
	uintptr_t from = (uintptr_t)caller;
	size_t n = sizeof(seen) / sizeof(seen[0]);

	for (size_t i = 0; i < n; i++) {
		uintptr_t empty = 0;
		_Atomic(uintptr_t) *slot = &seen[(from * 2654435761U + i) % n];

		if (atomic_compare_exchange_strong(slot, &empty, from))
			return true;
		if (empty == from)
			return false;
	}
	return false;
}

/* libpfm 4.13 prints the name of a file that it could not open, which is not set then, and dies. */
static bool dies_itself(const void *caller)
{
	Dl_info from;

	return dladdr(caller, &from) && from.dli_fname && strstr(from.dli_fname, "/libpfm.so");
}

static bool no_file(const void *caller)
{
	return (wanted == OPEN || all) && !dies_itself(caller) && fails(OPEN);
}
#define NO_FILE no_file(__builtin_return_address(0))

static bool no_memory(const void *caller)
{
	if ((all || wanted == PLACE) && first_from(caller) && fails(PLACE))
		return true;
	return fails(MEMORY);
}
#define NO_MEMORY no_memory(__builtin_return_address(0))

#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	real = (__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name)

void *malloc(size_t n)
{
	return NO_MEMORY ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return NO_MEMORY ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return NO_MEMORY ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return NO_MEMORY ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	if (NO_MEMORY)
		return ENOMEM;
	*p = __libc_memalign(align, n);
	return *p ? 0 : ENOMEM;
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

static bool hidden(const char *path)
{
	if (!without || strncmp(path, without, without_len) != 0)
		return false;
	errno = ENOENT;
	return true;
}

#define OPEN_AT(name, ...)                                                                 \
	{                                                                                  \
		mode_t mode;                                                               \
		va_list ap;                                                                \
		va_start(ap, flags);                                                       \
		mode = mode_of(flags, ap);                                                 \
		va_end(ap);                                                                \
		return hidden(path) || NO_FILE                                             \
			       ? -1                                                        \
			       : (int)syscall(SYS_openat, __VA_ARGS__, path, flags, mode); \
	}
int open(const char *path, int flags, ...)
	OPEN_AT(open, AT_FDCWD) int open64(const char *path, int flags, ...)
		OPEN_AT(open64, AT_FDCWD) int openat(int dir, const char *path, int flags, ...)
			OPEN_AT(openat, dir) int openat64(int dir, const char *path, int flags, ...)
				OPEN_AT(openat64, dir)

					FILE *fopen(const char *path, const char *mode)
{
	REAL(fopen);
	return NO_FILE ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	REAL(fopen64);
	return NO_FILE ? NULL : real(path, mode);
}

DIR *opendir(const char *path)
{
	REAL(opendir);
	return fails(DIR_) ? NULL : real(path);
}

DIR *fdopendir(int fd)
{
	REAL(fdopendir);
	return fails(DIR_) ? NULL : real(fd);
}

ssize_t read(int fd, void *p, size_t n)
{
	return fails(READ) ? -1 : syscall(SYS_read, fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t from)
{
	return fails(READ) ? -1 : syscall(SYS_pread64, fd, p, n, from);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t from)
{
	return fails(READ) ? -1 : syscall(SYS_pread64, fd, p, n, from);
}

ssize_t write(int fd, const void *p, size_t n)
{
	return fd != STDERR_FILENO && fails(WRITE) ? -1 : syscall(SYS_write, fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t to)
{
	return fails(WRITE) ? -1 : syscall(SYS_pwrite64, fd, p, n, to);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t to)
{
	return fails(WRITE) ? -1 : syscall(SYS_pwrite64, fd, p, n, to);
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t from)
{
	return fails(MAP) ? MAP_FAILED : (void *)syscall(SYS_mmap, p, n, prot, flags, fd, from);
}

void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t from)
{
	return fails(MAP) ? MAP_FAILED : (void *)syscall(SYS_mmap, p, n, prot, flags, fd, from);
}

int stat(const char *path, struct stat *st)
{
	REAL(stat);
	return fails(STAT) ? -1 : real(path, st);
}

int stat64(const char *path, struct stat64 *st)
{
	REAL(stat64);
	return fails(STAT) ? -1 : real(path, st);
}

int lstat(const char *path, struct stat *st)
{
	REAL(lstat);
	return fails(STAT) ? -1 : real(path, st);
}

int lstat64(const char *path, struct stat64 *st)
{
	REAL(lstat64);
	return fails(STAT) ? -1 : real(path, st);
}

int fstat(int fd, struct stat *st)
{
	REAL(fstat);
	return fails(STAT) ? -1 : real(fd, st);
}

int fstat64(int fd, struct stat64 *st)
{
	REAL(fstat64);
	return fails(STAT) ? -1 : real(fd, st);
}

int ftruncate(int fd, off_t n)
{
	return fails(LENGTH) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int ftruncate64(int fd, off64_t n)
{
	return fails(LENGTH) ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

int rename(const char *from, const char *to)
{
	return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	return fails(RENAME) ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int close(int fd)
{
	int rc = (int)syscall(SYS_close, fd);

	return fails(CLOSE) ? -1 : rc;
}

pid_t fork(void)
{
	REAL(fork);
	return fails(FORK) ? -1 : real();
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	REAL(pthread_create);
	return fails(THREAD) ? EAGAIN : real(t, attr, run, arg);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return fails(IOCTL) ? -1 : (int)syscall(SYS_ioctl, fd, request, arg);
}

int poll(struct pollfd *v, nfds_t n, int ms)
{
	REAL(poll);
	return fails(POLL) ? -1 : real(v, n, ms);
}

int pipe2(int fd[2], int flags)
{
	return fails(PIPE) ? -1 : (int)syscall(SYS_pipe2, fd, flags);
}
