/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_elf - ELF files that we make for libdw, which reads such files alone: sections, with their
 * names, in any class and byte order.
 */
#include <elf.h>

#include "base/nomem.h"
#include "symbol/dwarf/source_tables.h"

void src_elf_put(const struct src_elf *m, struct buf *b, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		buf_putc(b, (char)(v >> 8 * (m->big ? bytes - 1 - i : i)));
}

static void put_file_word(const struct src_elf *m, struct buf *f, uint64_t v)
{
	src_elf_put(m, f, v, m->is64 ? 8 : 4);
}

static void put_section(const struct src_elf *m, struct buf *f, size_t name, uint32_t type,
			uint64_t at, uint64_t len)
{
	src_elf_put(m, f, name, 4);
	src_elf_put(m, f, type, 4);
	put_file_word(m, f, 0); /* flags */
	put_file_word(m, f, 0); /* address */
	put_file_word(m, f, at);
	put_file_word(m, f, len);
	src_elf_put(m, f, 0, 8); /* link, info */
	put_file_word(m, f, 1);	 /* alignment */
	put_file_word(m, f, 0);
}

static void put_segment(const struct src_elf *m, struct buf *f, const struct elf_seg *s)
{
	src_elf_put(m, f, s->type, 4);
	if (m->is64)
		src_elf_put(m, f, s->flags, 4);
	put_file_word(m, f, s->offset);
	put_file_word(m, f, s->vaddr);
	put_file_word(m, f, s->vaddr);
	put_file_word(m, f, s->filesz);
	put_file_word(m, f, s->memsz);
	if (!m->is64)
		src_elf_put(m, f, s->flags, 4);
	put_file_word(m, f, 1); /* alignment */
}

static void put_elf_head(const struct src_elf *m, struct buf *f, size_t head, uint64_t headers)
{
	size_t each = m->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	buf_put(f, ELFMAG, SELFMAG);
	buf_putc(f, m->is64 ? ELFCLASS64 : ELFCLASS32);
	buf_putc(f, m->big ? ELFDATA2MSB : ELFDATA2LSB);
	buf_putc(f, EV_CURRENT);
	buf_fill(f, '\0', EI_NIDENT - EI_VERSION - 1);
	src_elf_put(m, f, m->n_seg ? ET_DYN : ET_REL, 2);
	src_elf_put(m, f, m->machine, 2);
	src_elf_put(m, f, EV_CURRENT, 4);
	put_file_word(m, f, 0); /* entry */
	put_file_word(m, f, m->n_seg ? head : 0);
	put_file_word(m, f, headers);
	src_elf_put(m, f, 0, 4); /* flags */
	src_elf_put(m, f, head, 2);
	src_elf_put(m, f, m->n_seg ? each : 0, 2);
	src_elf_put(m, f, m->n_seg, 2);
	src_elf_put(m, f, m->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	src_elf_put(m, f, m->n + 2, 2);
	src_elf_put(m, f, m->n + 1, 2);
	for (size_t i = 0; i < m->n_seg; i++)
		put_segment(m, f, &m->seg[i]);
}

/* The sections one after the other, each freed once it is copied, then their names, then their
 * headers. */
static void make_elf_file(struct src_elf *m, struct buf *f)
{
	size_t at[SRC_ELF_SECTIONS], name[SRC_ELF_SECTIONS], len[SRC_ELF_SECTIONS], names = 0, pad;
	size_t head = m->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	size_t end = head + m->n_seg * (m->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));

	for (size_t i = 0; i < m->n; i++) {
		at[i] = end;
		len[i] = m->section[i].len;
		end += len[i];
		name[i] = 1 + names;
		names += strlen(m->name[i]) + 1;
	}
	pad = -(end + 1 + names) % 8;
	put_elf_head(m, f, head, end + 1 + names + pad);
	for (size_t i = 0; i < m->n; i++) {
		buf_put(f, m->section[i].s, len[i]);
		buf_free(&m->section[i]);
	}
	buf_putc(f, '\0');
	for (size_t i = 0; i < m->n; i++)
		buf_put(f, m->name[i], strlen(m->name[i]) + 1);
	buf_fill(f, '\0', pad);
	put_section(m, f, 0, SHT_NULL, 0, 0);
	for (size_t i = 0; i < m->n; i++)
		put_section(m, f, name[i], SHT_PROGBITS, at[i], len[i]);
	put_section(m, f, 0, SHT_STRTAB, end, names + 1);
}

void src_elf_make(struct src_elf *m, struct buf *file)
{
	make_elf_file(m, file);
	if (file->failed)
		nomem_die();
}

void src_elf_free(struct src_elf *m)
{
	for (size_t i = 0; i < m->n; i++)
		buf_free(&m->section[i]);
}
