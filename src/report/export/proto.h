/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proto - writing protobuf messages: fields of numbers and of bytes. A message inside another is
 * made in a buffer of its own first.
 */
#ifndef CYCLADE_REPORT_PROTO_H
#define CYCLADE_REPORT_PROTO_H

#include <stdint.h>

#include "base/buf.h"

/* Seven bits a byte, lowest first: protobuf's varint and DWARF's ULEB128. */
static inline void proto_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_putc(b, (char)(v | 0x80));
	buf_putc(b, (char)v);
}

/* For a field of which 0 is not the same as none. */
static inline void proto_number(struct buf *b, unsigned field, uint64_t v)
{
	proto_varint(b, (uint64_t)field << 3);
	proto_varint(b, v);
}

/* A missing field means 0. */
static inline void proto_u64(struct buf *b, unsigned field, uint64_t v)
{
	if (v)
		proto_number(b, field, v);
}

static inline void proto_bytes(struct buf *b, unsigned field, const void *p, size_t len)
{
	proto_varint(b, (uint64_t)field << 3 | 2);
	proto_varint(b, len);
	buf_put(b, p, len);
}

/* Puts a message, and empties its buffer for the next one. */
static inline void proto_message(struct buf *b, unsigned field, struct buf *m)
{
	b->failed |= m->failed;
	proto_bytes(b, field, buf_str(m), m->len);
	buf_reset(m);
}

#endif
