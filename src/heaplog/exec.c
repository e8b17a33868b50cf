/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that this one executes: this library is left out of LD_PRELOAD for those that it would
 * end (symbol/heap_fit.h). They, and what they execute, are not logged. A program that makes the
 * system call itself, without any of libc's functions, is not seen here and hands the library on.
 *
 * Environments and arguments are copied into mappings that are kept: a child of vfork() cannot
 * unmap one after it executed a program, and the mapping lies in the memory of its parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heaplog/heaplog_int.h"
#include "symbol/heap_fit.h"

#define NAME	"libcyclade-heap.so"
#define PRELOAD "LD_PRELOAD="
#define MOVES	16 /* of posix_spawn()'s actions, at a time */
#define COPIES	64 /* that may be in use at a time, by children of vfork() */

extern char **environ;

struct copy {
	size_t size; /* of the mapping */
	max_align_t room[];
};
static _Atomic(struct copy *) copies[COPIES];
static _Atomic uint32_t next_copy;

/* Kept until as many others were taken. NULL: no memory. */
static void *copy_room(size_t size)
{
	_Atomic(struct copy *) *slot = &copies[atomic_fetch_add(&next_copy, 1) % COPIES];
	struct copy *c = atomic_exchange(slot, NULL);

	size = (sizeof(*c) + size + 4095) & ~(size_t)4095;
	if (c && c->size < size) {
		(void)real.munmap(c, c->size);
		c = NULL;
	}
	if (!c) {
		c = real.mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		if (c == MAP_FAILED)
			return NULL;
		c->size = size;
	}
	atomic_store(slot, c);
	return c->room;
}

/* The entry that names this library; n: number of all entries. */
static char *const *find_our_preload(char *const *env, size_t *n)
{
	char *const *found = NULL;

	for (*n = 0; env && env[*n]; ++*n)
		if (!found && !strncmp(env[*n], PRELOAD, strlen(PRELOAD)) && strstr(env[*n], NAME))
			found = &env[*n];
	return found;
}

/* All libraries but this one. */
static void copy_preloads(char *to, const char *entry)
{
	const char *from = entry + strlen(PRELOAD);
	bool first = true;

	to = stpcpy(to, PRELOAD);
	while (*from) {
		size_t n = strcspn(from, ": ");

		if (n && !memmem(from, n, NAME, strlen(NAME))) {
			if (!first)
				*to++ = ':';
			memcpy(to, from, n);
			to += n;
			first = false;
		}
		from += n + (from[n] != '\0');
	}
	*to = '\0';
}

static char *const *without_us(char *const *env, char *const *entry, size_t n)
{
	char **out = copy_room((n + 1) * sizeof(*out) + strlen(*entry) + 1), *text;
	size_t k = 0;

	if (!out)
		return env;
	text = (char *)(out + n + 1);
	copy_preloads(text, *entry);
	for (size_t i = 0; i < n; i++)
		if (&env[i] != entry)
			out[k++] = env[i];
		else if (text[strlen(PRELOAD)])
			out[k++] = text;
	out[k] = NULL;
	return out;
}

/* ---- the program --------------------------------------------------------------------------- */

static enum heap_fit file_fit(int fd, char *interpreter)
{
	enum heap_fit what = HEAP_FITS;
	struct stat st;
	void *p;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return what;
	p = real.mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return what;
	what = heap_fit(p, (size_t)st.st_size, interpreter);
	(void)real.munmap(p, (size_t)st.st_size);
	return what;
}

/* A descriptor of O_PATH can be executed, but not read. One that can be read may be all there is,
 * of a file that nobody may open any more, or without /proc. */
static int open_again(int was)
{
	char path[40], digits[12], *to = stpcpy(path, "/proc/self/fd/");
	int fd = was;
	size_t n = 0;

	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		*to++ = digits[--n];
	*to = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? fcntl(was, F_DUPFD_CLOEXEC, 0) : fd;
}

static bool path_fits(int at, const char *path, int flags)
{
	char interpreter[HEAP_FIT_NAME];
	enum heap_fit what = HEAP_FITS;

	for (int i = 0; i < HEAP_FIT_DEPTH; i++) {
		int fd = -1;

		if (*path)
			fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
		else if (at >= 0) /* is the program */
			fd = open_again(at);
		if (fd < 0)
			return true;
		what = file_fit(fd, interpreter);
		(void)close(fd);
		if (what != HEAP_FIT_SCRIPT)
			break;
		path = interpreter;
		at = AT_FDCWD;
		flags = 0;
	}
	return !heap_fit_why(what);
}

/* Looks at the first file in PATH that can be executed. As in libc, no directory is one. */
static bool found_fits(int at, const char *file)
{
	const char *dirs = getenv("PATH"), *end;
	size_t n = strlen(file);
	struct stat st;
	char *path;

	if (strchr(file, '/') || n > NAME_MAX)
		return path_fits(at, file, 0);
	path = copy_room(HEAPLOG_PATH + NAME_MAX + 2);
	for (dirs = dirs ? dirs : "/bin:/usr/bin"; path && *file; dirs = end + 1) {
		size_t len;

		end = strchrnul(dirs, ':');
		len = (size_t)(end - dirs);
		if (len < HEAPLOG_PATH) {
			memcpy(path, dirs, len);
			path[len] = '/';
			memcpy(path + len + !!len, file, n + 1);
			if (!faccessat(at, path, X_OK, 0) && !fstatat(at, path, &st, 0) &&
			    S_ISREG(st.st_mode))
				return path_fits(at, path, 0);
		}
		if (!*end)
			break;
	}
	return true;
}

enum how { BY_AT, BY_SEARCH, BY_NOBODY /* knows which file it is */ };

/* The environment that the program shall have. */
static char *const *env_for(enum how how, int at, const char *path, int flags, char *const *env)
{
	int e = errno;
	size_t n;
	char *const *entry = find_our_preload(env, &n);
	bool fits = true;

	/* nor may a filter of system calls let through the system calls of this library's start */
	if (entry && (log_is_filtered() || heap_fit_names_sanitizer(*entry, strlen(*entry))))
		fits = false;
	else if (entry && how == BY_NOBODY)
		fits = false;
	else if (entry && path)
		fits = how == BY_SEARCH ? found_fits(at, path) : path_fits(at, path, flags);
	if (!fits)
		env = without_us(env, entry, n);
	errno = e;
	return env;
}

/* ---- the functions ------------------------------------------------------------------------- */

static int no_exec_function(void)
{
	errno = ENOSYS;
	return -1;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	if (!real_find() || !real.execve)
		return no_exec_function();
	return real.execve(path, argv, env_for(BY_AT, AT_FDCWD, path, 0, env));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	if (!real_find() || !real.execvpe)
		return no_exec_function();
	return real.execvpe(file, argv, env_for(BY_SEARCH, AT_FDCWD, file, 0, env));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	if (!real_find() || !real.fexecve)
		return no_exec_function();
	return real.fexecve(fd, argv, env_for(BY_AT, fd, "", 0, env));
}

char *const *exec_env(int at, const char *path, int flags, char *const *env)
{
	return env_for(BY_AT, at, path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0, env);
}

EXPORT int execveat(int at, const char *path, char *const argv[], char *const env[], int flags)
{
	if (!real_find() || !real.execveat)
		return no_exec_function();
	return real.execveat(at, path, argv, exec_env(at, path, flags, env), flags);
}

/* ---- posix_spawn() ------------------------------------------------------------------------- */

/* The program's name may be one below a directory that the child goes to first. Only libc can read
 * the actions, so those with such an addition are noted. */
static struct move {
	_Atomic(const void *) of; /* the actions; NULL: free */
	bool unknown;		  /* more than one, or a descriptor that others may open before */
	char dir[HEAPLOG_PATH];
} moves[MOVES];
static _Atomic bool moves_full; /* some are not here */

static struct move *find_move(const void *of)
{
	for (size_t i = 0; i < MOVES; i++)
		if (atomic_load(&moves[i].of) == of)
			return &moves[i];
	return NULL;
}

static void add_move(const void *of, const char *dir)
{
	struct move *m = find_move(of);
	const void *none = NULL;

	if (m) {
		m->unknown = true;
		return;
	}
	for (size_t i = 0; i < MOVES && !m; i++, none = NULL)
		if (atomic_compare_exchange_strong(&moves[i].of, &none, of))
			m = &moves[i];
	if (!m) {
		atomic_store(&moves_full, true);
		return;
	}
	m->unknown = !dir || strlen(dir) >= sizeof(m->dir);
	if (!m->unknown)
		memcpy(m->dir, dir, strlen(dir) + 1);
}

static void forget_moves(const void *of)
{
	struct move *m = find_move(of);

	if (m)
		atomic_store(&m->of, NULL);
}

EXPORT int posix_spawn_file_actions_init(posix_spawn_file_actions_t *a)
{
	if (!real_find() || !real.posix_spawn_file_actions_init)
		return ENOSYS;
	forget_moves(a);
	return real.posix_spawn_file_actions_init(a);
}

EXPORT int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *a)
{
	if (!real_find() || !real.posix_spawn_file_actions_destroy)
		return ENOSYS;
	forget_moves(a);
	return real.posix_spawn_file_actions_destroy(a);
}

/* Under both names, where libc has both: some programs ask whether it has a function. */
#define ADD(name, type, dir)                                               \
	int spawn_##name(posix_spawn_file_actions_t *,                     \
			 type) __asm__("posix_spawn_file_actions_" #name); \
	EXPORT int spawn_##name(posix_spawn_file_actions_t *a, type to)    \
	{                                                                  \
		int e;                                                     \
                                                                           \
		if (!real_find() || !real.posix_spawn_file_actions_##name) \
			return ENOSYS;                                     \
		e = real.posix_spawn_file_actions_##name(a, to);           \
		if (!e)                                                    \
			add_move(a, dir);                                  \
		return e;                                                  \
	}
ADD(addchdir_np, const char *, to)
ADD(addfchdir_np, int, NULL)
#ifdef HAVE_ADDCHDIR
ADD(addchdir, const char *, to)
ADD(addfchdir, int, NULL)
#endif

static char *const *spawn_env(enum how how, const void *actions, const char *path, char *const *env)
{
	struct move *m = actions ? find_move(actions) : NULL;
	int at = AT_FDCWD, e = errno;

	if (m && !m->unknown)
		at = open(m->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (*path != '/' && (m || (actions && atomic_load(&moves_full))))
		how = BY_NOBODY;
	errno = e;
	env = env_for(how, at < 0 ? AT_FDCWD : at, path, 0, env);
	if (at >= 0)
		(void)close(at);
	return env;
}

/* The same functions give the child's number, and a descriptor of it. */
#define SPAWN(name, how)                                                                          \
	int spawn_##name(int *, const char *, const posix_spawn_file_actions_t *,                 \
			 const posix_spawnattr_t *, char *const *, char *const *) __asm__(#name); \
	EXPORT int spawn_##name(                                                                  \
		int *out, const char *path, const posix_spawn_file_actions_t *actions,            \
		const posix_spawnattr_t *attr, char *const *argv, char *const *env)               \
	{                                                                                         \
		if (!real_find() || !real.name)                                                   \
			return ENOSYS;                                                            \
		return real.name(out, path, actions, attr, argv,                                  \
				 spawn_env(how, actions, path, env));                             \
	}
SPAWN(posix_spawn, BY_AT)
SPAWN(posix_spawnp, BY_SEARCH)
#ifdef HAVE_PIDFD_SPAWN
SPAWN(pidfd_spawn, BY_AT)
SPAWN(pidfd_spawnp, BY_SEARCH)
#endif

/* ---- arguments one by one ------------------------------------------------------------------ */

/* Ended by NULL. `path` and `first` are those of the function. */
#define LISTED(call, env_of)                                                    \
	do {                                                                    \
		va_list args;                                                   \
		size_t n = first ? 1 : 0;                                       \
		char **argv;                                                    \
                                                                                \
		va_start(args, first);                                          \
		while (first && va_arg(args, char *))                           \
			n++;                                                    \
		va_end(args);                                                   \
		argv = real_find() ? copy_room((n + 1) * sizeof(*argv)) : NULL; \
		if (!argv) {                                                    \
			errno = ENOMEM;                                         \
			return -1;                                              \
		}                                                               \
		va_start(args, first);                                          \
		memcpy(argv, &first, sizeof(first));                            \
		for (size_t i = 1; i <= n; i++)                                 \
			argv[i] = va_arg(args, char *);                         \
		env_of;                                                         \
		va_end(args);                                                   \
		return call;                                                    \
	} while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
	LISTED(execve(path, argv, environ), (void)0);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	LISTED(execvpe(file, argv, environ), (void)0);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *env;

	LISTED(execve(path, argv, env), env = va_arg(args, char *const *));
}
