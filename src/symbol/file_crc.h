/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_crc - the checksum of a whole file that .gnu_debuglink names: CRC-32 as zlib has it.
 *
 * Holes cost nothing, however large: a file of a few blocks can claim terabytes.
 */
#ifndef CYCLADE_SYMBOL_FILE_CRC_H
#define CYCLADE_SYMBOL_FILE_CRC_H

#include <stdint.h>

#include "base/err.h"

/* -1 where `path` is no regular file or cannot be read. */
int file_crc32(const char *path, uint32_t *crc, struct err *err) MUST_USE;

#endif
