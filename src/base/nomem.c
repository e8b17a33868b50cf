/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nomem.h"

#include <errno.h>
#include <stdatomic.h>

static atomic_bool noted;

void nomem_note(void)
{
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
