/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_crc - the checksum of a whole file that .gnu_debuglink names: CRC-32 as zlib has it.
 *
 * Holes cost nothing, however large: a file of a few blocks can claim terabytes.
 */
#ifndef CYCLADE_SYMBOL_FILE_CRC_H
#define CYCLADE_SYMBOL_FILE_CRC_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Computes the CRC of a regular file of `size` bytes, which is at its beginning again
 * afterwards. */
int file_crc32(int fd, off_t size, const char *name, uint32_t *crc, struct err *err) MUST_USE;

#endif
