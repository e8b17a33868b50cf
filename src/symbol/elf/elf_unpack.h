/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf_unpack - the bytes of a compressed section (SHF_COMPRESSED, zlib or zstd; .zdebug_*).
 *
 * libelf before 0.189 knows no zstd, and reads a whole file again. The size that the section claims
 * is a claim: memory grows with the bytes that come out, up to ELF_UNPACK_MAX, or for larger ones
 * ELF_UNPACK_RATIO times the packed bytes (debug sections unpack to 2 to 20 times as much).
 */
#ifndef CYCLADE_SYMBOL_ELF_UNPACK_H
#define CYCLADE_SYMBOL_ELF_UNPACK_H

#include "symbol/elf_file.h"

#define ELF_UNPACK_MAX	 (256u << 20)
#define ELF_UNPACK_RATIO 64u

/* Whether the section's bytes are compressed. */
bool elf_is_packed(const struct elf_sec *s);
/* The size that a compressed section claims to have unpacked; 0: its header is cut short. */
uint64_t elf_unpacked_size(const struct elf_file *f, const struct elf_sec *s);
/* *p is malloc'ed, *len its bytes. If the section cannot be unpacked, *p is NULL, and the reason is
 * returned (static text). */
const char *elf_unpack(const struct elf_file *f, const struct elf_sec *s, uint8_t **p, size_t *len);
/* The same of .gnu_debugdata, which is another ELF file. If there is none, *p and the reason are
 * NULL. */
const char *elf_minidebug(const struct elf_file *f, uint8_t **p, size_t *len);

#endif
