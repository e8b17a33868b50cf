/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nomem.h"
#include "symbol/demangle.h"
#include "symbol/elf/demangle_more.h"
#include "symbol/elf/demangle_plain.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#if HAVE_IBERTY
#include <libiberty/demangle.h>

#define PLAIN_MAX 16384u

struct sink {
	char *out;
	size_t len;
	bool full;
	jmp_buf stop;
};

/* The library's callback cannot ask it to stop, and a hostile name makes it print for hours. Its
 * callback interface keeps everything on its stack, so leaving it by longjmp loses nothing. */
static void sink_put(const char *s, size_t n, void *opaque)
{
	struct sink *k = opaque;

	if (n > DEMANGLE_OUT_MAX - k->len) {
		k->full = true;
		longjmp(k->stop, 1);
	}
	if (n) /* of an empty part `s` may be NULL */
		memcpy(k->out + k->len, s, n);
	k->len += n;
}

typedef int (*by_callback)(const char *name, int options, demangle_callbackref put, void *opaque);

static bool run_demangler(struct sink *k, by_callback fn, const char *name)
{
	k->len = 0;
	k->full = false;
	if (setjmp(k->stop))
		return false;
	return fn(name, DMGL_NO_OPTS, sink_put, k) && k->len && !k->full;
}

/* D has no such interface. Its back references (Q) make output explode; real names have
 * few. */
static bool run_d_demangler(struct sink *k, const char *name, size_t len)
{
	unsigned refs = 0;
	bool ok = false;
	char *s;

	for (size_t i = 0; i < len; i++)
		refs += name[i] == 'Q';
	if (len > 4096 || refs > 16)
		return false;
	s = dlang_demangle(name, DMGL_NO_OPTS);
	if (!s)
		return false;
	k->len = strlen(s);
	if (k->len && k->len <= DEMANGLE_OUT_MAX) {
		memcpy(k->out, s, k->len);
		ok = true;
	}
	free(s);
	return ok;
}

static bool is_rust_legacy(const char *s, size_t len)
{
	static const char tail[] = "17h";
	const char *end = s + len, *h;

	/* a compiler may have put ".llvm.123" behind */
	for (h = s; h + 20 <= end; h++) {
		if (!memcmp(h, tail, 3) && h[19] == 'E')
			return true;
	}
	return false;
}

/* Names of clang 18 and later. */
static bool run_plain(struct sink *k, const char *name, size_t len)
{
	char plain[PLAIN_MAX];

	return plain_write(name, len, plain, sizeof(plain)) &&
	       run_demangler(k, cplus_demangle_v3_callback, plain);
}

static bool demangle_to(struct sink *k, const char *s, size_t len)
{
	if (s[0] == '_' && s[1] == 'R')
		return run_demangler(k, rust_demangle_callback, s);
	if (s[0] == '_' && s[1] == 'D' && s[2] >= '1' && s[2] <= '9')
		return run_d_demangler(k, s, len);
	if (s[0] != '_' || (s[1] != 'Z' && strncmp(s, "___Z", 4) != 0))
		return false;
	if (is_rust_legacy(s, len) && run_demangler(k, rust_demangle_callback, s))
		return true;
	return run_demangler(k, cplus_demangle_v3_callback, s) || run_plain(k, s, len);
}

/* Rust, D, C++ */
static size_t demangle_libiberty(const char *s, size_t len, char *out)
{
	struct sink k = { .out = out };

	return s[0] == '_' && demangle_to(&k, s, len) ? k.len : 0;
}
#else
static size_t demangle_libiberty(const char *s, size_t len, char *out)
{
	(void)s, (void)len, (void)out;
	return 0;
}
#endif

const char *demangle(struct arena *a, const char *name)
{
	/* 128 KB of stack at most, and threads have megabytes */
	char out[DEMANGLE_OUT_MAX], plain[2048];
	size_t len, tail, n;
	const char *at, *s = name;
	char *copy;

	if (!demangle_may(name))
		return name;
	len = strnlen(name, DEMANGLE_IN_MAX + 1);
	if (len > DEMANGLE_IN_MAX)
		return name;
	/* "name@@VERSION" and "name@plt": the demanglers know no such thing */
	at = memchr(name, '@', len);
	tail = at ? len - (size_t)(at - name) : 0;
	if (at) {
		if (len - tail >= sizeof(plain))
			return name;
		memcpy(plain, name, len - tail);
		plain[len - tail] = '\0';
		s = plain;
	}
	n = demangle_libiberty(s, len - tail, out);
	if (!n)
		n = demangle_more(s, len - tail, out);
	if (!n)
		return name;
	copy = arena_alloc(a,
			   n + tail + 1); /* libiberty has an xmemdup() of its own: no xalloc.h */
	if (!copy)
		nomem_die();
	memcpy(copy, out, n);
	if (at)
		memcpy(copy + n, at, tail);
	copy[n + tail] = '\0';
	return copy;
}
