/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of system calls: who sets one through libc's functions is noticed before it holds, and
 * from then on this library makes no system call (log.c). A filter that a program had when it was
 * executed has let through the dynamic linker's calls, which are more than those of here.
 *
 * And programs that are executed by syscall().
 *
 * Both functions have the arguments that libc's have at most, so that a call which is none of these
 * becomes a jump to libc's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "heaplog/heaplog_int.h"

long any_call(long n, long a, long b, long c, long d, long e, long f) __asm__("syscall");
int any_prctl(int op, unsigned long a, unsigned long b, unsigned long c,
	      unsigned long d) __asm__("prctl");

enum guard { GUARD_NONE, GUARD_FILTER, GUARD_STOP };

/* Strict mode forbids to read the CPU's counter, too. */
static enum guard what_of(long n, long a, long b)
{
	if (n == SYS_prctl && (int)a == PR_SET_SECCOMP)
		return b == SECCOMP_MODE_STRICT ? GUARD_STOP : GUARD_FILTER;
	if (n == SYS_prctl && (int)a == PR_SET_TSC)
		return b == PR_TSC_SIGSEGV ? GUARD_STOP : GUARD_NONE;
	if (n == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT)
		return GUARD_STOP;
	return n == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER ? GUARD_FILTER : GUARD_NONE;
}

/* A refusal of the kernel changes nothing, nor does a child of vfork(). */
static __attribute__((noinline)) long guarded(enum guard what, long n, long a, long b, long c,
					      long d, long e, long f)
{
	bool had = log_is_filtered(), lent = !had && log_is_lent();
	long r;

	if (!had && !lent)
		log_filtered(true);
	r = real.syscall(n, a, b, c, d, e, f);
	if (r < 0 && !had && !lent)
		log_filtered(false);
	if (r >= 0 && !lent && what == GUARD_STOP)
		log_stop();
	return r;
}

static long env_of(int at, long path, int flags, long env)
{
	const char *name;
	char *const *had;

	memcpy(&name, &path, sizeof(name));
	memcpy(&had, &env, sizeof(had));
	had = exec_env(at, name, flags, had);
	memcpy(&env, &had, sizeof(env));
	return env;
}

EXPORT long any_call(long n, long a, long b, long c, long d, long e, long f)
{
	enum guard what;

	if (unlikely(!real.syscall) && (!real_find() || !real.syscall)) {
		errno = ENOSYS;
		return -1;
	}
	what = what_of(n, a, b);
	if (unlikely(what) && real_found)
		return guarded(what, n, a, b, c, d, e, f);
	if (unlikely(n == SYS_execve))
		c = env_of(AT_FDCWD, a, 0, c);
	else if (unlikely(n == SYS_execveat))
		d = env_of((int)a, b, (int)e, d);
	return real.syscall(n, a, b, c, d, e, f);
}

EXPORT int any_prctl(int op, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	enum guard what;

	if (!real_find() || !real.prctl) {
		errno = ENOSYS;
		return -1;
	}
	what = what_of(SYS_prctl, op, (long)a);
	if (unlikely(what))
		return (int)guarded(what, SYS_prctl, op, (long)a, (long)b, (long)c, (long)d, 0);
	return real.prctl(op, a, b, c, d);
}
