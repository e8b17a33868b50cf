/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/elf_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(f, type, member) \
	((f)->is64 ? offsetof(Elf64_##type, member) : offsetof(Elf32_##type, member))
/* Every symbol is looked up in the program headers: thousands of them would be an attack. */
#define SEGMENTS_MAX 128u

#define U16(f, p, type, member)	 elf_u16(f, (p) + FIELD(f, type, member))
#define U32(f, p, type, member)	 elf_u32(f, (p) + FIELD(f, type, member))
#define WORD(f, p, type, member) elf_word(f, (p) + FIELD(f, type, member))

/* The bytes [off, off + n * size) of the file, or NULL. */
static const uint8_t *span(const struct elf_file *f, uint64_t off, uint64_t n, uint64_t size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || !bytes || off > f->len ||
	    bytes > f->len - off)
		return NULL;
	return f->p + off;
}

static void read_section(const struct elf_file *f, const uint8_t *h, struct elf_sec *s)
{
	s->name = "";
	s->type = U32(f, h, Shdr, sh_type);
	s->link = U32(f, h, Shdr, sh_link);
	s->info = U32(f, h, Shdr, sh_info);
	s->flags = WORD(f, h, Shdr, sh_flags);
	s->addr = WORD(f, h, Shdr, sh_addr);
	s->offset = WORD(f, h, Shdr, sh_offset);
	s->size = WORD(f, h, Shdr, sh_size);
	s->entsize = WORD(f, h, Shdr, sh_entsize);
	s->align = WORD(f, h, Shdr, sh_addralign);
	s->data = s->type == SHT_NOBITS ? NULL : span(f, s->offset, s->size, 1);
}

/* Names that start before the table's last NUL end within it. */
static void name_sections(struct elf_file *f, const struct elf_sec *str, const uint8_t *h,
			  size_t each)
{
	const uint8_t *nul = str->data ? memrchr(str->data, 0, (size_t)str->size) : NULL;

	for (size_t i = 0; nul && i < f->n_sec; i++) {
		uint32_t off = U32(f, h + i * each, Shdr, sh_name);

		if (off <= (size_t)(nul - str->data))
			f->sec[i].name = (const char *)str->data + off;
	}
}

static int read_sections(struct elf_file *f, struct err *err)
{
	uint64_t off = WORD(f, f->p, Ehdr, e_shoff);
	uint64_t n = U16(f, f->p, Ehdr, e_shnum), names = U16(f, f->p, Ehdr, e_shstrndx);
	size_t each = U16(f, f->p, Ehdr, e_shentsize);
	const uint8_t *h = span(f, off, 1, each);
	struct elf_sec first;

	if (!off || each < (f->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) || !h)
		return 0;
	/* more than 65279 sections: the true numbers are in the first section's header */
	read_section(f, h, &first);
	if (!n)
		n = first.size;
	if (names == SHN_XINDEX)
		names = first.link;
	if (!span(f, off, n, each))
		return 0;
	f->sec = calloc((size_t)n, sizeof(*f->sec));
	if (!f->sec)
		return err_nomem(err);
	f->n_sec = (size_t)n;
	for (size_t i = 0; i < f->n_sec; i++)
		read_section(f, h + i * each, &f->sec[i]);
	if (names < n)
		name_sections(f, &f->sec[names], h, each);
	return 0;
}

static int read_program_headers(struct elf_file *f, struct err *err)
{
	uint64_t off = WORD(f, f->p, Ehdr, e_phoff);
	uint64_t n = U16(f, f->p, Ehdr, e_phnum);
	size_t each = U16(f, f->p, Ehdr, e_phentsize);
	const uint8_t *h;

	if (n == PN_XNUM && f->n_sec)
		n = f->sec[0].info;
	h = span(f, off, n, each);
	if (!off || each < (f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) || !h ||
	    n > SEGMENTS_MAX)
		return 0;
	f->seg = calloc((size_t)n, sizeof(*f->seg));
	if (!f->seg)
		return err_nomem(err);
	f->n_seg = (size_t)n;
	for (size_t i = 0; i < f->n_seg; i++, h += each) {
		struct elf_seg *s = &f->seg[i];

		s->type = U32(f, h, Phdr, p_type);
		s->flags = U32(f, h, Phdr, p_flags);
		s->vaddr = WORD(f, h, Phdr, p_vaddr);
		s->offset = WORD(f, h, Phdr, p_offset);
		s->filesz = WORD(f, h, Phdr, p_filesz);
		s->memsz = WORD(f, h, Phdr, p_memsz);
	}
	return 0;
}

int elf_file_read(struct elf_file *f, const void *p, size_t len, const char *path, struct err *err)
{
	const uint8_t *e = p;

	memset(f, 0, sizeof(*f));
	if (len < sizeof(Elf32_Ehdr) || memcmp(e, ELFMAG, SELFMAG) != 0)
		return err_set(err, ERR_FORMAT, "%s: not an ELF file", path);
	if ((e[EI_CLASS] != ELFCLASS32 && e[EI_CLASS] != ELFCLASS64) ||
	    (e[EI_DATA] != ELFDATA2LSB && e[EI_DATA] != ELFDATA2MSB))
		return err_set(err, ERR_FORMAT, "%s: an ELF file of unknown class or byte order",
			       path);
	f->is64 = e[EI_CLASS] == ELFCLASS64;
	f->swap = (e[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	if (f->is64 && len < sizeof(Elf64_Ehdr))
		return err_set(err, ERR_FORMAT, "%s: an ELF file cut short at %zu bytes", path,
			       len);
	f->p = e;
	f->len = len;
	f->type = U16(f, e, Ehdr, e_type);
	f->machine = U16(f, e, Ehdr, e_machine);
	f->entry = WORD(f, e, Ehdr, e_entry);
	if (read_sections(f, err) || read_program_headers(f, err)) {
		elf_file_free(f);
		return -1;
	}
	return 0;
}

void elf_file_free(struct elf_file *f)
{
	free(f->sec);
	free(f->seg);
	memset(f, 0, sizeof(*f));
}

const struct elf_sec *elf_section(const struct elf_file *f, const char *name)
{
	for (size_t i = 0; i < f->n_sec; i++) {
		if (f->sec[i].data && !strcmp(f->sec[i].name, name))
			return &f->sec[i];
	}
	return NULL;
}

const struct elf_sec *elf_section_of_type(const struct elf_file *f, uint32_t type)
{
	for (size_t i = 0; i < f->n_sec; i++) {
		if (f->sec[i].data && f->sec[i].type == type)
			return &f->sec[i];
	}
	return NULL;
}

size_t elf_note_build_id(const uint8_t *p, size_t len, bool swap, const uint8_t **id)
{
	struct cur c = cur_of(p, len);

	c.swap = swap;
	while (cur_left(&c) >= sizeof(Elf32_Nhdr)) {
		uint32_t namesz = cur_u32(&c), descsz = cur_u32(&c), type = cur_u32(&c);
		const uint8_t *name = cur_take(&c, ((uint64_t)namesz + 3) & ~3ULL);
		const uint8_t *desc = cur_take(&c, descsz);

		if (!name || !desc)
			break;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz &&
		    descsz <= 64) {
			*id = desc;
			return descsz;
		}
		/* the last note's padding may be missing */
		if (!cur_take(&c, (4 - (descsz & 3)) & 3))
			break;
	}
	return 0;
}

size_t elf_build_id(const struct elf_file *f, const uint8_t **id)
{
	uint64_t budget = f->len; /* sections may overlap, but not to make us read them for ever */
	size_t n;

	/* sections first: in a file of debug information the program headers point to nowhere */
	for (size_t i = 0; i < f->n_sec; i++) {
		const struct elf_sec *s = &f->sec[i];

		if (s->type != SHT_NOTE || !s->data || s->size > budget)
			continue;
		budget -= s->size;
		n = elf_note_build_id(s->data, (size_t)s->size, f->swap, id);
		if (n)
			return n;
	}
	for (size_t i = 0; i < f->n_seg; i++) {
		const uint8_t *p = span(f, f->seg[i].offset, f->seg[i].filesz, 1);

		if (f->seg[i].type != PT_NOTE || !p)
			continue;
		n = elf_note_build_id(p, (size_t)f->seg[i].filesz, f->swap, id);
		if (n)
			return n;
	}
	return 0;
}

const char *elf_debuglink(const struct elf_file *f, uint32_t *crc)
{
	const struct elf_sec *s = elf_section(f, ".gnu_debuglink");
	const char *name;
	size_t at;

	if (!s)
		return NULL;
	name = (const char *)s->data;
	at = strnlen(name, (size_t)s->size);
	if (!at || at == s->size || memchr(name, '/', at))
		return NULL;
	at = (at + 4) & ~(size_t)3;
	if (at > s->size || s->size - at < 4)
		return NULL;
	*crc = elf_u32(f, s->data + at);
	return name;
}

static bool file_holds(uint64_t start, uint64_t size, uint64_t x, bool end_too)
{
	return x >= start && (x - start < size || (end_too && x - start == size));
}

static bool translate(const struct elf_seg *seg, size_t n, uint64_t x, bool to_offset,
		      uint64_t *out)
{
	/* executable ones first, then any, then a symbol that marks a segment's end */
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < n; i++) {
			const struct elf_seg *s = &seg[i];

			if (s->type != PT_LOAD || (pass == 0 && !(s->flags & PF_X)))
				continue;
			if (!file_holds(to_offset ? s->vaddr : s->offset, s->filesz, x, pass == 2))
				continue;
			*out = to_offset ? x - s->vaddr + s->offset : x - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

bool elf_vaddr_to_offset(const struct elf_seg *seg, size_t n, uint64_t vaddr, uint64_t *offset)
{
	return translate(seg, n, vaddr, true, offset);
}

bool elf_offset_to_vaddr(const struct elf_seg *seg, size_t n, uint64_t offset, uint64_t *vaddr)
{
	return translate(seg, n, offset, false, vaddr);
}

size_t elf_build_id_of(const void *p, size_t len, const char *path, uint8_t id[BUILD_ID_MAX])
{
	struct elf_file f;
	const uint8_t *found;
	size_t n;

	if (!len || elf_file_read(&f, p, len, path, NULL))
		return 0;
	n = elf_build_id(&f, &found);
	n = n <= BUILD_ID_MAX ? n : 0;
	if (n)
		memcpy(id, found, n);
	elf_file_free(&f);
	return n;
}
