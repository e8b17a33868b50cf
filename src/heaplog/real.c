/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions themselves: the next in the order of the dynamic linker after ours, be they libc's
 * or another allocator's. Looking for them may allocate, which `early` serves.
 */
#include <dlfcn.h>
#include <string.h>

#include "heaplog/heaplog_int.h"

struct real real;
bool real_found;

/* ---- memory until then --------------------------------------------------------------------- */

static _Alignas(4096) char early[1u << 16];
static _Atomic size_t early_end;

/* Before each block its size. */
void *early_alloc(size_t n, size_t align)
{
	size_t at, end, had = atomic_load(&early_end);

	align = align < 16 ? 16 : align;
	do {
		if (n > sizeof(early) || align > 4096)
			return NULL;
		at = (had + 16 + align - 1) & ~(align - 1);
		end = at + n;
		if (end > sizeof(early))
			return NULL;
	} while (!atomic_compare_exchange_weak(&early_end, &had, end));
	memcpy(early + at - sizeof(n), &n, sizeof(n));
	return early + at;
}

bool early_is(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

size_t early_size(const void *p)
{
	size_t n;

	memcpy(&n, (const char *)p - sizeof(n), sizeof(n));
	return n;
}

/* ---- looking for them ---------------------------------------------------------------------- */

/* A missing function is no news for the program, which may ask dlerror(). A call that succeeds
 * takes it back; dlerror() itself would translate the message, under locks that the program may
 * have: a library that begins before us calls bindtextdomain(), and that malloc(). */
void real_forget(void)
{
	(void)dlsym(RTLD_DEFAULT, "malloc");
}

void *real_symbol(void *handle, const char *name)
{
	void *p = dlsym(handle, name);

	if (!p)
		real_forget();
	return p;
}

static void find_function(void *out, const char *name)
{
	void *p = real_symbol(RTLD_NEXT, name);

	memcpy(out, &p, sizeof(p));
}

static bool in_same_object(const void *f, const void *g)
{
	Dl_info at, here;

	return f && g && dladdr(f, &at) && dladdr(g, &here) && at.dli_fbase == here.dli_fbase;
}

static const void *address(const void *function)
{
	const void *p;

	memcpy(&p, function, sizeof(p));
	return p;
}

bool real_find(void)
{
	static _Atomic bool looking;
	bool own;
	void *at;

	if (real_found)
		return true;
	if (atomic_exchange(&looking, true))
		return false;
#define FIND(name) find_function(&real.name, #name)
	FIND(syscall); /* ours, which the others are found with, too */
	FIND(prctl);
	at = real_symbol(RTLD_DEFAULT, "malloc");
	own = at && !in_same_object(at, &real);
	FIND(malloc);
	FIND(free);
	FIND(calloc);
	FIND(realloc);
	FIND(memalign);
	FIND(aligned_alloc);
	FIND(posix_memalign);
	FIND(valloc);
	FIND(pvalloc);
	FIND(malloc_usable_size);
	FIND(mmap);
	FIND(munmap);
	FIND(mremap);
	FIND(dlclose);
	FIND(pthread_create);
	FIND(execve);
	FIND(execvpe);
	FIND(fexecve);
	FIND(execveat);
	FIND(posix_spawn);
	FIND(posix_spawnp);
#ifdef HAVE_PIDFD_SPAWN
	FIND(pidfd_spawn);
	FIND(pidfd_spawnp);
#endif
	FIND(posix_spawn_file_actions_init);
	FIND(posix_spawn_file_actions_destroy);
	FIND(posix_spawn_file_actions_addchdir_np);
	FIND(posix_spawn_file_actions_addfchdir_np);
#ifdef HAVE_ADDCHDIR
	FIND(posix_spawn_file_actions_addchdir);
	FIND(posix_spawn_file_actions_addfchdir);
#endif
	/* an allocator may lack malloc_usable_size(); libc's would read what it never wrote */
	if (own || !in_same_object(address(&real.malloc), address(&real.malloc_usable_size)))
		real.malloc_usable_size = NULL;
	new_find();
	log_begin(own, real_symbol(RTLD_DEFAULT, "_dl_find_object"));
	real_found = true;
	return true;
}

/* Before any constructor of the program, and so before it has signal handlers. */
__attribute__((constructor)) static void begin(void)
{
	(void)real_find();
}
