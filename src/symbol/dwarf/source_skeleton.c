/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_skeleton - split units joined with their skeletons, without libdw opening named files.
 *
 * libdw joins the two only if it finds the split unit's file by itself, by the name that the
 * skeleton has. So it gets skeletons that we make: an ELF file in memory with one skeleton for each
 * of the program's, which has the same id and bases, and the program's tables of addresses and
 * ranges. Their name is that of a descriptor of ours, which holds a copy of the file that the door
 * opened (base/file_in.h): memory that no other process can change. libdw is never asked for the
 * split unit of the program's own skeletons.
 *
 * If /proc is not mounted, a split unit has the lines of its skeleton alone. Format: DWARF 5,
 * sections 7.4, 7.5.1.2, 7.5.3; DebugFission in GCC's wiki for DWARF 4.
 */
#include <dwarf.h>
#include <elf.h>
#include <gelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_in.h"
#include "base/xalloc.h"
#include "symbol/dwarf/source_tables.h"

enum { INFO, ABBREV, ADDR, RANGES, STR, SECTIONS, DIR_MAX = 4096 };

static const char *const section_name[SECTIONS] = { ".debug_info", ".debug_abbrev", ".debug_addr",
						    ".debug_ranges", ".debug_str" };

static void put_uleb(struct buf *b, unsigned v)
{
	for (; v > 0x7f; v >>= 7)
		buf_putc(b, (char)(v | 0x80));
	buf_putc(b, (char)v);
}

/* 1: a skeleton of DWARF 5; 2: one of DWARF 4. */
static void make_abbrevs(struct src_elf *m)
{
	static const uint16_t attrs[2][7][2] = {
		{ { DW_AT_dwo_name, DW_FORM_string },
		  { DW_AT_comp_dir, DW_FORM_string },
		  { DW_AT_addr_base, DW_FORM_sec_offset },
		  { DW_AT_low_pc, DW_FORM_addr } },
		{ { DW_AT_GNU_dwo_name, DW_FORM_string },
		  { DW_AT_comp_dir, DW_FORM_string },
		  { DW_AT_GNU_addr_base, DW_FORM_sec_offset },
		  { DW_AT_low_pc, DW_FORM_addr },
		  { DW_AT_GNU_ranges_base, DW_FORM_sec_offset },
		  { DW_AT_GNU_dwo_id, DW_FORM_data8 } },
	};
	struct buf *b = &m->section[ABBREV];

	for (unsigned k = 0; k < 2; k++) {
		put_uleb(b, k + 1);
		put_uleb(b, k ? DW_TAG_compile_unit : DW_TAG_skeleton_unit);
		buf_putc(b, DW_CHILDREN_no);
		for (unsigned i = 0; !i || attrs[k][i - 1][0]; i++) {
			put_uleb(b, attrs[k][i][0]);
			put_uleb(b, attrs[k][i][1]);
		}
	}
	buf_putc(b, 0);
}

/* ---- the program's skeletons ------------------------------------------------------------- */

struct skeleton {
	Dwarf_Half version;
	uint8_t type, address_size;
	uint64_t id, addr_base, ranges_base, low;
	const char *dir;
};

static bool read_skeleton(const Dwarf_Die *unit, struct skeleton *k)
{
	Dwarf_Die die = *unit;
	Dwarf_Attribute a;
	bool new;

	if (dwarf_cu_info(die.cu, &k->version, &k->type, NULL, NULL, &k->id, &k->address_size,
			  NULL) ||
	    k->type != DW_UT_skeleton || (k->address_size != 4 && k->address_size != 8))
		return false;
	new = k->version > 4;
	k->addr_base = k->ranges_base = 0;
	(void)src_number(&die, new ? DW_AT_addr_base : DW_AT_GNU_addr_base, &k->addr_base);
	if (!new)
		(void)src_number(&die, DW_AT_GNU_ranges_base, &k->ranges_base);
	if (k->addr_base > UINT32_MAX || k->ranges_base > UINT32_MAX)
		return false;
	if (dwarf_lowpc(&die, &k->low) &&
	    (!dwarf_attr(&die, DW_AT_entry_pc, &a) || dwarf_formaddr(&a, &k->low)))
		k->low = 0;
	k->dir = src_text(&die, DW_AT_comp_dir);
	if (!k->dir || strnlen(k->dir, DIR_MAX) == DIR_MAX)
		k->dir = "/";
	return true;
}

static void put_skeleton(struct src_elf *m, const struct skeleton *k, const char *name)
{
	size_t size = k->address_size;
	struct buf unit = BUF_INIT;

	src_elf_put(m, &unit, k->version, 2);
	if (k->version > 4)
		src_elf_put(m, &unit, DW_UT_skeleton, 1);
	if (k->version > 4)
		src_elf_put(m, &unit, size, 1);
	src_elf_put(m, &unit, 0, 4); /* of the abbreviations */
	if (k->version > 4)
		src_elf_put(m, &unit, k->id, 8);
	else
		src_elf_put(m, &unit, size, 1);
	buf_putc(&unit, k->version > 4 ? 1 : 2);
	buf_put(&unit, name, strlen(name) + 1);
	buf_put(&unit, k->dir, strlen(k->dir) + 1);
	src_elf_put(m, &unit, k->addr_base, 4);
	src_elf_put(m, &unit, k->low, size);
	if (k->version <= 4) {
		src_elf_put(m, &unit, k->ranges_base, 4);
		src_elf_put(m, &unit, k->id, 8);
	}
	src_elf_put(m, &m->section[INFO], unit.len, 4);
	buf_put(&m->section[INFO], unit.s, unit.len);
	buf_free(&unit);
}

/* The bytes of the program's section, unpacked if they were packed. */
static void copy_section(struct source *s, const char *name, struct buf *out)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(s->elf, &names))
		return;
	while (!out->len && (scn = elf_nextscn(s->elf, scn))) {
		GElf_Shdr mem;
		const GElf_Shdr *sh = gelf_getshdr(scn, &mem);
		const char *its = sh ? elf_strptr(s->elf, names, sh->sh_name) : NULL;
		const Elf_Data *d;

		if (!its || (strcmp(its, name) != 0 &&
			     (strncmp(its, ".z", 2) != 0 || strcmp(its + 2, name + 1) != 0)))
			continue;
		d = elf_rawdata(scn, NULL);
		if (d && d->d_buf && d->d_size <= UINT32_MAX)
			buf_put(out, d->d_buf, d->d_size);
	}
}

static bool begin_made(struct src_made *to, struct src_elf *m)
{
	src_elf_make(m, &to->bytes);
	to->elf = elf_memory(to->bytes.s, to->bytes.len);
	to->dw = to->elf ? dwarf_begin_elf(to->elf, DWARF_C_READ, NULL) : NULL;
	if (to->dw)
		(void)dwarf_new_oom_handler(to->dw, nomem_die);
	return to->dw != NULL;
}

static void made_like(const struct source *s, struct src_elf *m)
{
	const char *ident = elf_getident(s->elf, NULL);
	GElf_Ehdr mem;
	const GElf_Ehdr *head = gelf_getehdr(s->elf, &mem);

	*m = (struct src_elf){
		.big = ident && ident[EI_DATA] == ELFDATA2MSB,
		.is64 = ident && ident[EI_CLASS] == ELFCLASS64,
		.machine = head ? head->e_machine : EM_NONE,
		.name = section_name,
		.n = SECTIONS,
	};
}

void src_made_end(struct src_made *m)
{
	(void)dwarf_end(m->dw);
	(void)elf_end(m->elf);
	buf_free(&m->bytes);
	memset(m, 0, sizeof(*m));
}

bool src_make_strings(const struct source *s, struct src_made *to, const void *strings, size_t len)
{
	struct src_elf m;

	made_like(s, &m);
	buf_fill(&m.section[INFO], '\0', 4);
	buf_put(&m.section[STR], strings, len);
	make_abbrevs(&m);
	return begin_made(to, &m);
}

/* Their units, in the order in which they were made: that of the program's. */
static void pair_units(struct source *s)
{
	Dwarf_CU *cu = NULL;
	size_t unit = 0;

	while (!dwarf_get_units(s->skeletons.dw, cu, &cu, NULL, NULL, NULL, NULL)) {
		struct src_split split = { .made = cu };
		struct skeleton k;

		while (unit < s->units.n && !read_skeleton(&s->units.v[unit].die, &k))
			unit++;
		if (unit == s->units.n)
			break;
		split.die = &s->units.v[unit++].die;
		vec_xpush(&s->splits, split);
		*u64map_xat(&s->split_of, (uint64_t)(uintptr_t)split.die->cu, NULL) = s->splits.n;
	}
}

void src_make_skeletons(struct source *s)
{
	struct skeleton k;
	struct src_elf m;
	char name[40];
	bool any = false;

	vec_each (&s->units, const struct src_unit *, u)
		any = any || read_skeleton(&u->die, &k);
	if (any)
		s->split_fd = memfd_create("cyclade-split", MFD_CLOEXEC);
	if (s->split_fd < 0)
		return;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", s->split_fd);
	made_like(s, &m);
	make_abbrevs(&m);
	vec_each (&s->units, const struct src_unit *, u)
		if (read_skeleton(&u->die, &k))
			put_skeleton(&m, &k, name);
	copy_section(s, ".debug_addr", &m.section[ADDR]);
	copy_section(s, ".debug_ranges", &m.section[RANGES]);
	if (!begin_made(&s->skeletons, &m))
		return;
	(void)dwarf_setalt(s->skeletons.dw, s->nothing.dw);
	pair_units(s);
}

/* ---- joining ----------------------------------------------------------------------------- */

static bool write_copy(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

int src_copy(const void *p, size_t len)
{
	int fd = memfd_create("cyclade-split", MFD_CLOEXEC);

	if (fd < 0 || write_copy(fd, p, len))
		return fd;
	(void)close(fd);
	return -1;
}

bool src_join(struct source *s, struct src_split *split, int fd)
{
	Dwarf *dw;

	memset(&split->contents, 0, sizeof(split->contents));
	/* libdw maps the file, so each file has a descriptor of its own behind the number */
	if (dup3(fd, s->split_fd, O_CLOEXEC) >= 0 &&
	    !dwarf_cu_info(split->made, NULL, NULL, NULL, &split->contents, NULL, NULL, NULL) &&
	    split->contents.addr) {
		dw = dwarf_cu_getdwarf(split->contents.cu);
		(void)dwarf_new_oom_handler(dw, nomem_die);
		(void)dwarf_setalt(dw, s->nothing.dw);
	}
	return split->contents.addr != NULL;
}
