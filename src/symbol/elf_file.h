/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf_file - the outer structure of an ELF file in memory: sections, segments, build-id.
 *
 * Read by ourselves rather than by libelf: a profile opens hundreds of files, from threads, and
 * reads from each but the symbols; and every step here is bounds-checked by our own hand. 32 and 64
 * bits, both byte orders. Nothing is trusted: a section whose bytes do not lie in the file has none
 * (data is NULL), a name that does not end in its table is "".
 * The bytes must stay as long as the elf_file; nothing is copied.
 */
#ifndef CYCLADE_SYMBOL_ELF_FILE_H
#define CYCLADE_SYMBOL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

struct elf_sec {
	const char *name; /* never NULL */
	uint32_t type, link, info;
	uint64_t flags, addr, offset, size, entsize, align;
	const uint8_t *data; /* NULL: NOBITS, empty, or not within the file */
};

struct elf_seg {
	uint32_t type, flags;
	uint64_t vaddr, offset, filesz, memsz;
};

struct elf_file {
	const uint8_t *p;
	size_t len;
	bool is64, swap; /* swap: not of this machine's byte order */
	uint16_t type, machine;
	uint64_t entry;
	struct elf_sec *sec;
	size_t n_sec;
	struct elf_seg *seg;
	size_t n_seg;
};

/* -1 if it is no ELF file. A file whose section or program headers are broken has none. */
int elf_file_read(struct elf_file *f, const void *p, size_t len, const char *path,
		  struct err *err) MUST_USE;
void elf_file_free(struct elf_file *f);

/* The section of that name (with bytes), or NULL. */
const struct elf_sec *elf_section(const struct elf_file *f, const char *name);
const struct elf_sec *elf_section_of_type(const struct elf_file *f, uint32_t type);

/* The GNU build-id: its length, 0 if there is none. *id points into the file. */
size_t elf_build_id(const struct elf_file *f, const uint8_t **id);
/* The same of a file's bytes alone, copied; 0: it is none, has none, or a longer one. */
#define BUILD_ID_MAX 20
size_t elf_build_id_of(const void *p, size_t len, const char *path, uint8_t id[BUILD_ID_MAX]);
/* The same in a bare sequence of notes, as /sys/kernel/notes is one. */
size_t elf_note_build_id(const uint8_t *p, size_t len, bool swap, const uint8_t **id);
/* .gnu_debuglink: the file's name (never with a slash) and the CRC it must have; or NULL. */
const char *elf_debuglink(const struct elf_file *f, uint32_t *crc);

/* Program headers as a translation. Executable segments win if two claim an address. */
bool elf_vaddr_to_offset(const struct elf_seg *seg, size_t n, uint64_t vaddr, uint64_t *offset);
bool elf_offset_to_vaddr(const struct elf_seg *seg, size_t n, uint64_t offset, uint64_t *vaddr);

static inline uint16_t elf_u16(const struct elf_file *f, const void *p)
{
	return f->swap ? __builtin_bswap16(ld16(p)) : ld16(p);
}

static inline uint32_t elf_u32(const struct elf_file *f, const void *p)
{
	return f->swap ? __builtin_bswap32(ld32(p)) : ld32(p);
}

static inline uint64_t elf_u64(const struct elf_file *f, const void *p)
{
	return f->swap ? __builtin_bswap64(ld64(p)) : ld64(p);
}

/* A number of the file's own word size. */
static inline uint64_t elf_word(const struct elf_file *f, const void *p)
{
	return f->is64 ? elf_u64(f, p) : elf_u32(f, p);
}

#endif
