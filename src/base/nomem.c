/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nomem.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_bool noted;
static void (*policy_end)(void);
static bool policy_always;
static _Thread_local jmp_buf *outlive;

void nomem_policy(void (*end)(void), bool always)
{
	policy_end = end;
	policy_always = always;
}

void nomem_outlive(jmp_buf *back)
{
	outlive = back;
}

void nomem_die(void)
{
	static atomic_flag dying = ATOMIC_FLAG_INIT;
	jmp_buf *back = outlive;

	if (back) {
		outlive = NULL;
		atomic_store_explicit(&noted, true, memory_order_relaxed);
		longjmp(*back, 1);
	}

	while (atomic_flag_test_and_set(&dying))
		(void)pause();
	if (policy_end)
		policy_end();
	abort();
}

void nomem_note(void)
{
	if (policy_always)
		nomem_die();
	atomic_store_explicit(&noted, true, memory_order_relaxed);
}

bool nomem_noted(void)
{
	return atomic_load_explicit(&noted, memory_order_relaxed);
}

void nomem_begin(void)
{
	errno = 0;
}

void nomem_end(void)
{
	if (errno == ENOMEM)
		nomem_note();
}
