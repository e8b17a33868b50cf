/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that this library stands before. A release is logged before it is done and an
 * allocation after it, so that by time no two objects ever lie at the same address.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heaplog/calls_int.h"

#define TIMELESS 16u /* of so many releases in a row one has a time */

static void call_skip(const struct thread *t)
{
	if (t->busy == LOGGING)
		log_skip();
}

void call_log(enum heap_record type, const void *p, size_t n, const void *from, const void *frame)
{
	struct thread *t = &self;
	uint32_t chain;

	if (unlikely(!real_found || t->busy)) {
		call_skip(t);
		return;
	}
	t->busy = LOGGING;
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(log_room(t, 3 + 2 + HEAP_DEPTH))) {
		uint64_t rate = atomic_load_explicit(&process->rate, memory_order_relaxed);

		if (likely(rate == 1) || type != HEAP_ALLOC || call_big(p) ||
		    heap_logged((uintptr_t)p, rate)) {
			chain = chain_of(t, from, frame);
			t->at[1] = log_time();
			t->at[2] =
				(uint64_t)chain << 40 | (n < HEAP_BYTES_MOST ? n : HEAP_BYTES_MOST);
			atomic_signal_fence(memory_order_seq_cst);
			t->at[0] = heap_head(type, (uintptr_t)p & (UINT64_MAX >> 8));
			t->at += 3;
			t->freed = 0;
		}
	} else {
		log_skip();
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = NOT_BUSY;
}

/* Reading the clock costs most: few have a time of their own, others that of the next record. */
static void put_free(struct thread *t, const void *p)
{
	uint64_t address = (uintptr_t)p & (UINT64_MAX >> 8);

	if (likely(++t->freed % TIMELESS)) {
		*t->at++ = heap_head(HEAP_FREED, address);
		return;
	}
	t->at[1] = log_time();
	atomic_signal_fence(memory_order_seq_cst);
	t->at[0] = heap_head(HEAP_FREE, address);
	t->at += 2;
}

void call_log_free(const void *p)
{
	struct thread *t = &self;

	if (unlikely(!real_found || t->busy)) {
		call_skip(t);
		return;
	}
	t->busy = LOGGING;
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(log_room(t, 2))) {
		uint64_t rate = atomic_load_explicit(&process->rate, memory_order_relaxed);

		if (likely(rate == 1) || heap_logged((uintptr_t)p, rate) || call_big(p))
			put_free(t, p);
	} else {
		log_skip();
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = NOT_BUSY;
}

static void log_unmap(const void *p, size_t n)
{
	struct thread *t = &self;

	if (!real_found || t->busy)
		return;
	t->busy = LOGGING;
	atomic_signal_fence(memory_order_seq_cst);
	if (log_room(t, 3)) {
		t->at[1] = log_time();
		t->at[2] = n < HEAP_BYTES_MOST ? n : HEAP_BYTES_MOST;
		atomic_signal_fence(memory_order_seq_cst);
		t->at[0] = heap_head(HEAP_UNMAP, (uintptr_t)p & (UINT64_MAX >> 8));
		t->at += 3;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = NOT_BUSY;
}

/* ---- malloc and the like ------------------------------------------------------------------- */

EXPORT void *malloc(size_t n)
{
	void *p;

	if (unlikely(!real_found) && !real_find())
		return early_alloc(n, 16);
	p = real.malloc(n);
	if (p)
		call_log(HEAP_ALLOC, p, n, CALLER);
	return p;
}

EXPORT void free(void *p)
{
	if (!p || unlikely(early_is(p)) || (unlikely(!real_found) && !real_find()))
		return;
	call_log_free(p);
	real.free(p);
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t n;
	void *p;

	if (__builtin_mul_overflow(count, size, &n)) {
		errno = ENOMEM;
		return NULL;
	}
	if (unlikely(!real_found) && !real_find())
		return early_alloc(n, 16); /* never used before, so it is 0 */
	p = real.calloc(count, size);
	if (p)
		call_log(HEAP_ALLOC, p, n, CALLER);
	return p;
}

static void *move_early(const void *old, size_t n)
{
	size_t had = early_size(old);
	void *p = real_find() ? real.malloc(n) : early_alloc(n, 16);

	if (p)
		memcpy(p, old, had < n ? had : n);
	return p;
}

static void *resize(void *old, size_t n, const void *from, const void *frame)
{
	size_t had;
	void *p;

	if (unlikely(early_is(old)))
		return move_early(old, n);
	if (unlikely(!real_found) && !real_find())
		return early_alloc(n, 16);
	/* where the allocator has no such function, or none that is known: 0 */
	had = old && real.malloc_usable_size ? real.malloc_usable_size(old) : 0;
	if (old)
		call_log_free(old);
	p = real.realloc(old, n);
	if (p)
		call_log(HEAP_ALLOC, p, n, from, frame);
	else if (old && n) /* it is still there */
		call_log(HEAP_ALLOC, old, had, from, frame);
	return p;
}

EXPORT void *realloc(void *old, size_t n)
{
	return resize(old, n, CALLER);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t n;

	if (__builtin_mul_overflow(count, size, &n)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(old, n, CALLER);
}

/* The caller is known in the function itself alone, so both are made of one text. */
#define ALIGNED(name)                                       \
	EXPORT void *name(size_t align, size_t n)           \
	{                                                   \
		void *p;                                    \
		if (unlikely(!real_found) && !real_find())  \
			return early_alloc(n, align);       \
		p = real.name(align, n);                    \
		if (p)                                      \
			call_log(HEAP_ALLOC, p, n, CALLER); \
		return p;                                   \
	}
ALIGNED(memalign)
ALIGNED(aligned_alloc)

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	int e;

	if (unlikely(!real_found) && !real_find()) {
		*out = early_alloc(n, align);
		return *out ? 0 : ENOMEM;
	}
	e = real.posix_memalign(out, align, n);
	if (!e && *out)
		call_log(HEAP_ALLOC, *out, n, CALLER);
	return e;
}

EXPORT void *valloc(size_t n)
{
	void *p = real_find() ? real.valloc(n) : early_alloc(n, 4096);

	if (p)
		call_log(HEAP_ALLOC, p, n, CALLER);
	return p;
}

EXPORT void *pvalloc(size_t n)
{
	void *p = real_find() ? real.pvalloc(n) : early_alloc(n, 4096);

	if (p)
		call_log(HEAP_ALLOC, p, (n + 4095) & ~(size_t)4095, CALLER);
	return p;
}

/* ---- mappings ------------------------------------------------------------------------------ */

static void log_map(const void *p, size_t n, int flags, int fd, const void *from, const void *frame)
{
	if (p == MAP_FAILED)
		return;
	if (flags & MAP_ANONYMOUS || fd < 0)
		call_log(HEAP_MAP, p, n, from, frame);
	else
		log_unmap(p, n); /* the recording knows files */
}

/* Until the functions are found, in a signal handler for one. */
static void *long_pointer(long v)
{
	void *p;

	memcpy(&p, &v, sizeof(p));
	return p;
}

#define MMAP(name)                                                                              \
	EXPORT void *name(void *at, size_t n, int prot, int flags, int fd, off_t offset)        \
	{                                                                                       \
		void *p;                                                                        \
                                                                                                \
		if (!real_find())                                                               \
			return long_pointer(syscall(SYS_mmap, at, n, prot, flags, fd, offset)); \
		p = real.mmap(at, n, prot, flags, fd, offset);                                  \
		log_map(p, n, flags, fd, CALLER);                                               \
		return p;                                                                       \
	}
MMAP(mmap)
MMAP(mmap64)

EXPORT int munmap(void *at, size_t n)
{
	if (!real_find())
		return (int)syscall(SYS_munmap, at, n);
	log_unmap(at, n);
	return real.munmap(at, n);
}

EXPORT void *mremap(void *old, size_t had, size_t n, int flags, ...)
{
	void *at = NULL, *p;
	va_list args;

	va_start(args, flags);
	if (flags & MREMAP_FIXED)
		at = va_arg(args, void *);
	va_end(args);
	if (!real_find())
		return long_pointer(syscall(SYS_mremap, old, had, n, flags, at));
	log_unmap(old, had);
	p = real.mremap(old, had, n, flags, at);
	call_log(HEAP_MAP, p == MAP_FAILED ? old : p, p == MAP_FAILED ? had : n, CALLER);
	return p;
}

/* ---- code that goes ------------------------------------------------------------------------ */

EXPORT int dlclose(void *handle)
{
	int e = real_find() && real.dlclose ? real.dlclose(handle) : -1;

	frames_forget();
	return e;
}

/* ---- threads: their stacks ----------------------------------------------------------------- */

/* The last that this does is a jump, so that the thread's function has the frame of libc above it,
 * as ever. A stack of libc's making has libc's own record of the thread at its upper end. */
static void *log_thread_begin(void *p)
{
	struct start *s = p;
	void *(*function)(void *) = s->function, *arg = s->arg;
	uintptr_t stack = s->stack, end = stack + s->size;

	if (!stack) {
		end = ((uintptr_t)pthread_self() + 4096) & ~(uintptr_t)4095;
		stack = end - s->size;
	}
	atomic_store(&s->used, 0);
	self.busy = INSIDE;
	log_stack(&self, stack, end);
	atomic_signal_fence(memory_order_seq_cst);
	self.busy = NOT_BUSY;
	return function(arg);
}

static bool find_size(struct start *s, const pthread_attr_t *attr)
{
	pthread_attr_t usual;
	void *stack = NULL;
	int e;

	if (!attr) {
		if (pthread_attr_init(&usual))
			return false;
		e = pthread_attr_getstacksize(&usual, &s->size);
		(void)pthread_attr_destroy(&usual);
		return !e;
	}
	if (pthread_attr_getstack(attr, &stack, &s->size))
		return false;
	s->stack = (uintptr_t)stack;
	if (s->stack + s->size) /* the end; 0: none is set */
		return true;
	s->stack = 0;
	return !pthread_attr_getstacksize(attr, &s->size);
}

/* NULL: the stack will not be known. */
static struct start *take_thread_start(const pthread_attr_t *attr)
{
	for (size_t i = 0; i < HEAPLOG_STARTS; i++) {
		struct start *s = &process->start[i];

		if (atomic_exchange(&s->used, 1))
			continue;
		s->stack = 0;
		if (find_size(s, attr))
			return s;
		atomic_store(&s->used, 0);
		return NULL;
	}
	return NULL;
}

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*function)(void *),
			  void *arg)
{
	struct start *s;
	int e;

	if (!real_find())
		return EAGAIN;
	s = take_thread_start(attr);
	if (!s)
		return real.pthread_create(t, attr, function, arg);
	s->function = function;
	s->arg = arg;
	e = real.pthread_create(t, attr, log_thread_begin, s);
	if (e)
		atomic_store(&s->used, 0);
	return e;
}
