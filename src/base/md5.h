/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * md5 - the MD5 digest (RFC 1321) of bytes in memory. DWARF 5 identifies source files by it; it is
 * no protection against a file that was made to collide.
 */
#ifndef CYCLADE_BASE_MD5_H
#define CYCLADE_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { MD5_SIZE = 16 };

void md5(const void *p, size_t len, uint8_t out[MD5_SIZE]);

#endif
