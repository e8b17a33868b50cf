/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump - jitdump files made in a test, record after record: what a runtime writes of code that it
 * made.
 */
#ifndef CYCLADE_TESTS_DUMP_H
#define CYCLADE_TESTS_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static bool dump_foreign; /* in the other byte order */
static uint32_t dump_pid;

static inline void dump_u32(struct buf *b, uint32_t v)
{
	v = dump_foreign ? __builtin_bswap32(v) : v;
	buf_put(b, &v, sizeof(v));
}

static inline void dump_u64(struct buf *b, uint64_t v)
{
	v = dump_foreign ? __builtin_bswap64(v) : v;
	buf_put(b, &v, sizeof(v));
}

static inline void dump_header(struct buf *b, uint32_t pid, uint64_t flags)
{
	dump_pid = pid;
	dump_u32(b, 0x4a695444);
	dump_u32(b, 1);
	dump_u32(b, 40);
	dump_u32(b, 62);
	dump_u32(b, 0);
	dump_u32(b, pid);
	dump_u64(b, 1000);
	dump_u64(b, flags);
}

static inline void dump_load(struct buf *b, uint64_t time, uint64_t at, uint32_t size,
			     uint64_t index, const char *name)
{
	size_t n = strlen(name) + 1;

	dump_u32(b, 0);
	dump_u32(b, (uint32_t)(16 + 8 + 32 + n + size));
	dump_u64(b, time);
	dump_u32(b, dump_pid);
	dump_u32(b, dump_pid + 1);
	dump_u64(b, at);
	dump_u64(b, at);
	dump_u64(b, size);
	dump_u64(b, index);
	buf_put(b, name, n);
	buf_fill(b, '\x90', size);
}

static inline void dump_move(struct buf *b, uint64_t time, uint64_t from, uint64_t to,
			     uint64_t size, uint64_t index)
{
	dump_u32(b, 1);
	dump_u32(b, 16 + 8 + 40);
	dump_u64(b, time);
	dump_u32(b, dump_pid);
	dump_u32(b, dump_pid + 1);
	dump_u64(b, to);
	dump_u64(b, from);
	dump_u64(b, to);
	dump_u64(b, size);
	dump_u64(b, index);
}

#endif
