/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which file is where. An address that is in no known mapping makes /proc/self/maps be read again.
 * QEMU maps the program's code without the right to execute it and the kernel joins neighbours, so
 * that a line tells of the file and its place, and the file's program headers where the executable
 * segment begins and ends.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oracle.h"

#define MAPS 64
#define PAGE 4096u

static struct map maps[MAPS];
static unsigned n_maps;
static const char *images[MAPS];

static const uint8_t *whole_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(Elf64_Ehdr))
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	*len = (size_t)st.st_size;
	return p;
}

/* Sections that hold trampolines. */
static void find_plt(struct map *m, const uint8_t *p, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh, names;
	unsigned found = 0;

	memcpy(&eh, p, sizeof(eh));
	if (eh.e_shoff > len || (len - eh.e_shoff) / sizeof(sh) < eh.e_shnum ||
	    eh.e_shstrndx >= eh.e_shnum)
		return;
	memcpy(&names, p + eh.e_shoff + eh.e_shstrndx * sizeof(sh), sizeof(sh));
	for (unsigned i = 0; i < eh.e_shnum && found < 4; i++) {
		memcpy(&sh, p + eh.e_shoff + i * sizeof(sh), sizeof(sh));
		if (names.sh_offset > len || sh.sh_name + 5 > len - names.sh_offset ||
		    memcmp(p + names.sh_offset + sh.sh_name, ".plt", 4) ||
		    !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		m->plt[found][0] = sh.sh_addr - m->vaddr + m->start;
		m->plt[found++][1] = sh.sh_addr + sh.sh_size - m->vaddr + m->start;
	}
}

/* The executable segment that holds this place of the file, which is at run time at addr. */
static bool segment(struct map *m, uint64_t addr, uint64_t offset)
{
	size_t len = 0;
	const uint8_t *p = whole_file(m->path, &len);
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (!p)
		return false;
	memcpy(&eh, p, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phoff > len ||
	    (len - eh.e_phoff) / sizeof(ph) < eh.e_phnum)
		goto out;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		memcpy(&ph, p + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		uint64_t page = ph.p_offset % PAGE;

		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || offset < ph.p_offset ||
		    offset - ph.p_offset >= ph.p_filesz)
			continue;
		m->offset = ph.p_offset - page;
		m->start = addr - (offset - m->offset);
		m->end = m->start + (page + ph.p_filesz + PAGE - 1) / PAGE * PAGE;
		m->vaddr = ph.p_vaddr - page;
		find_plt(m, p, len);
		munmap((void *)(uintptr_t)p, len);
		return true;
	}
out:
	munmap((void *)(uintptr_t)p, len);
	return false;
}

static unsigned image_of(const char *path)
{
	unsigned i = 0;

	while (images[i] && strcmp(images[i], path))
		i++;
	if (!images[i])
		images[i] = path;
	return i;
}

static const struct map *look(uint64_t addr)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct map *m = &maps[n_maps];
	char line[4600], path[4200];

	if (!f || n_maps == MAPS - 1) {
		if (f)
			fclose(f);
		return NULL;
	}
	while (fgets(line, sizeof(line), f)) {
		uint64_t start, end, offset, inode;
		unsigned major, minor;

		path[0] = 0;
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %4199[^\n]",
			   &start, &end, &offset, &major, &minor, &inode, path) < 6 ||
		    addr < start || addr >= end || path[0] != '/')
			continue;
		*m = (struct map){ .major = major, .minor = minor, .inode = inode };
		m->path = strdup(path);
		if (m->path && segment(m, addr, addr - start + offset)) {
			m->image = image_of(m->path);
			n_maps++;
			fclose(f);
			return m;
		}
	}
	fclose(f);
	return NULL;
}

const struct map *map_known(uint64_t addr)
{
	for (unsigned i = 0; i < n_maps; i++)
		if (addr >= maps[i].start && addr < maps[i].end)
			return &maps[i];
	return NULL;
}

const struct map *map_of(uint64_t addr, bool *fresh)
{
	const struct map *m = map_known(addr);

	*fresh = !m;
	return m ? m : look(addr);
}

bool map_is_plt(const struct map *m, uint64_t addr)
{
	for (unsigned i = 0; m && i < 4; i++)
		if (addr >= m->plt[i][0] && addr < m->plt[i][1])
			return true;
	return false;
}

const char *map_image(unsigned i)
{
	return i < MAPS ? images[i] : NULL;
}
