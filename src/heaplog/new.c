/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C++'s new and delete, under their names in the object files: libstdc++'s call malloc without a
 * frame, so that the chain would lack their caller. Their calls are not logged again. An exception
 * may pass through here.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "heaplog/calls_int.h"

static void not_busy(uint8_t *was)
{
	self.busy = *was;
}

#if __SIZEOF_SIZE_T__ == 8
#define N "m"
#else
#define N "j"
#endif
#define NOTHROW "RKSt9nothrow_t"
#define ALIGN	"St11align_val_t"

/* clang-format off */
#define FUNCTIONS(NEW, DELETE) \
	NEW(new_one, "_Znw" N, false, 0, (size_t n), (n)) \
	NEW(new_many, "_Zna" N, false, 0, (size_t n), (n)) \
	NEW(new_one_or_null, "_Znw" N NOTHROW, true, 0, (size_t n, const void *tag), (n, tag)) \
	NEW(new_many_or_null, "_Zna" N NOTHROW, true, 0, (size_t n, const void *tag), (n, tag)) \
	NEW(new_one_at, "_Znw" N ALIGN, false, align, (size_t n, size_t align), (n, align)) \
	NEW(new_many_at, "_Zna" N ALIGN, false, align, (size_t n, size_t align), (n, align)) \
	NEW(new_one_at_or_null, "_Znw" N ALIGN NOTHROW, true, align, \
	    (size_t n, size_t align, const void *tag), (n, align, tag)) \
	NEW(new_many_at_or_null, "_Zna" N ALIGN NOTHROW, true, align, \
	    (size_t n, size_t align, const void *tag), (n, align, tag)) \
	DELETE(delete_one, "_ZdlPv", (void *p), (p)) \
	DELETE(delete_many, "_ZdaPv", (void *p), (p)) \
	DELETE(delete_one_sized, "_ZdlPv" N, (void *p, size_t n), (p, n)) \
	DELETE(delete_many_sized, "_ZdaPv" N, (void *p, size_t n), (p, n)) \
	DELETE(delete_one_or_null, "_ZdlPv" NOTHROW, (void *p, const void *tag), (p, tag)) \
	DELETE(delete_many_or_null, "_ZdaPv" NOTHROW, (void *p, const void *tag), (p, tag)) \
	DELETE(delete_one_at, "_ZdlPv" ALIGN, (void *p, size_t align), (p, align)) \
	DELETE(delete_many_at, "_ZdaPv" ALIGN, (void *p, size_t align), (p, align)) \
	DELETE(delete_one_sized_at, "_ZdlPv" N ALIGN, \
	    (void *p, size_t n, size_t align), (p, n, align)) \
	DELETE(delete_many_sized_at, "_ZdaPv" N ALIGN, \
	    (void *p, size_t n, size_t align), (p, n, align))
/* clang-format on */

#define INDEX_NEW(name, symbol, may_fail, align, params, args) FOUND_##name,
#define INDEX_DELETE(name, symbol, params, args)	       FOUND_##name,
enum found { FUNCTIONS(INDEX_NEW, INDEX_DELETE) FOUND_N };

#define SYMBOL_NEW(name, symbol, may_fail, align, params, args) symbol,
#define SYMBOL_DELETE(name, symbol, params, args)		symbol,
static const char *const symbols[FOUND_N] = { FUNCTIONS(SYMBOL_NEW, SYMBOL_DELETE) };

static void *found[FOUND_N];
static char none;

/* At the start, as the first call may be on a small stack. Who has not the first has none. */
void new_find(void)
{
	for (size_t i = 0; i < FOUND_N && (!i || found[0]); i++)
		found[i] = real_symbol(RTLD_NEXT, symbols[i]);
}

/* ---- exceptions ---------------------------------------------------------------------------- */

/* They are passed on by libgcc_s, which is there where one is thrown. To load it into each program
 * would take longer than all else that this library does at its start. */
static void *of_unwinder(const char *name)
{
	void *p = real_symbol(RTLD_DEFAULT, name), *library = NULL;

	if (!p)
		library = dlopen("libgcc_s.so.1", RTLD_LAZY);
	if (library)
		p = real_symbol(library, name);
	if (!p)
		abort();
	return p;
}

_Noreturn void resume(void *exception) __asm__("_Unwind_Resume");
int personality(int version, int actions, uint64_t class, void *exception,
		void *context) __asm__("__gcc_personality_v0");

_Noreturn void resume(void *exception)
{
	void *at = of_unwinder("_Unwind_Resume");
	void (*f)(void *);

	memcpy(&f, &at, sizeof(f));
	f(exception);
	abort();
}

int personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	void *at = of_unwinder("__gcc_personality_v0");
	int (*f)(int, int, uint64_t, void *, void *);

	memcpy(&f, &at, sizeof(f));
	return f(version, actions, class, exception, context);
}

/* ---- the functions ------------------------------------------------------------------------- */

/* A plug-in may have brought libstdc++, and for itself alone. */
static void *look_again(enum found f)
{
	void *p = real_symbol(RTLD_NEXT, symbols[f]), *library = NULL;

	if (!p)
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (!p && !library)
		real_forget();
	if (library)
		p = real_symbol(library, symbols[f]); /* it stays, as we call it */
	p = p ? p : &none;
	__atomic_store_n(&found[f], p, __ATOMIC_RELAXED);
	return p;
}

/* NULL: a program without libstdc++: malloc does. */
static void *next_operator(enum found f)
{
	void *p = __atomic_load_n(&found[f], __ATOMIC_RELAXED);

	if (unlikely(!p))
		p = look_again(f);
	return p == &none ? NULL : p;
}

static void *instead(size_t n, size_t align, bool may_fail)
{
	void *p =
		align ? real.aligned_alloc(align, (n + align - 1) & ~(align - 1)) : real.malloc(n);

	if (!p && !may_fail)
		abort();
	return p;
}

#define NEW(name, symbol, may_fail, align_, params, args)                                   \
	void *name params __asm__(symbol);                                                  \
	EXPORT void *name params                                                            \
	{                                                                                   \
		void *(*f)params;                                                           \
		void *at, *p;                                                               \
                                                                                            \
		if (unlikely(!real_found) && !real_find())                                  \
			return early_alloc(n, align_);                                      \
		{                                                                           \
			__attribute__((cleanup(not_busy), unused)) uint8_t was = self.busy; \
                                                                                            \
			self.busy = INSIDE;                                                 \
			atomic_signal_fence(memory_order_seq_cst);                          \
			at = next_operator(FOUND_##name);                                   \
			memcpy(&f, &at, sizeof(f));                                         \
			p = at ? f args : instead(n, align_, may_fail);                     \
			atomic_signal_fence(memory_order_seq_cst);                          \
		}                                                                           \
		if (p)                                                                      \
			call_log(HEAP_ALLOC, p, n, CALLER);                                 \
		return p;                                                                   \
	}

#define DELETE(name, symbol, params, args)                                          \
	void name params __asm__(symbol);                                           \
	EXPORT void name params                                                     \
	{                                                                           \
		__attribute__((cleanup(not_busy), unused)) uint8_t was = self.busy; \
		void(*f) params;                                                    \
		void *at;                                                           \
                                                                                    \
		if (!p || early_is(p) || (unlikely(!real_found) && !real_find()))   \
			return;                                                     \
		call_log_free(p);                                                   \
		self.busy = INSIDE;                                                 \
		atomic_signal_fence(memory_order_seq_cst);                          \
		at = next_operator(FOUND_##name);                                   \
		memcpy(&f, &at, sizeof(f));                                         \
		if (at)                                                             \
			f args;                                                     \
		else                                                                \
			real.free(p);                                               \
		atomic_signal_fence(memory_order_seq_cst);                          \
	}

FUNCTIONS(NEW, DELETE)
