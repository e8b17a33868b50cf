/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source_package - units of a .dwp, each as a .dwo of its own.
 *
 * libdw reads packages from elfutils 0.191 on, and there goes through all units of the package for
 * each one that is looked for. So the index is read here, once; a unit that is asked for becomes an
 * ELF file with its parts of the sections, and of the strings, which all units share, those that it
 * names. Its size is bounded by that of the package, and charged to the program.
 *
 * Types in units of their own are left out: names, lines and inlined calls need none.
 * Format: DWARF 5, section 7.3.5; DebugFissionDWP in GCC's wiki for DWARF 4.
 */
#include <elf.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "symbol/elf_file.h"
#include "symbol/dwarf/source_tables.h"

enum { INFO, ABBREV, LINE, OFFSETS, LOC, STR, RANGES, SECTIONS, COLUMNS_MAX = 8 };
_Static_assert((int)SECTIONS <= (int)SRC_ELF_SECTIONS, "they have room");

static const char *const name_4[] = { ".debug_info.dwo", ".debug_abbrev.dwo",
				      ".debug_line.dwo", ".debug_str_offsets.dwo",
				      ".debug_loc.dwo",	 ".debug_str.dwo" };
static const char *const name_5[] = { ".debug_info.dwo",     ".debug_abbrev.dwo",
				      ".debug_line.dwo",     ".debug_str_offsets.dwo",
				      ".debug_loclists.dwo", ".debug_str.dwo",
				      ".debug_rnglists.dwo" };
/* By the number that the index has. */
static const int8_t section_of[COLUMNS_MAX + 1] = { -1,	 INFO,	  -1, ABBREV, LINE,
						    LOC, OFFSETS, -1, RANGES };

static uint32_t index_word(const struct src_package *p, const uint8_t *at, size_t i)
{
	uint32_t v = ld32(at + 4 * i);

	return p->elf.swap ? __builtin_bswap32(v) : v;
}

static uint64_t index_id(const struct src_package *p, const uint8_t *at, size_t i)
{
	uint64_t v = ld64(at + 8 * i);

	return p->elf.swap ? __builtin_bswap64(v) : v;
}

/* ---- the index --------------------------------------------------------------------------- */

/* -1: broken. */
static int read_index_rows(struct src_package *p, const uint8_t *id, const uint8_t *row,
			   uint32_t slots, uint32_t units)
{
	for (size_t i = 0; i < slots; i++) {
		uint32_t n = index_word(p, row, i);

		if (n > units)
			return -1;
		if (n)
			*u64map_xat(&p->rows, index_id(p, id, i), NULL) = n;
	}
	return 0;
}

static int read_package_index(struct src_package *p)
{
	const struct elf_sec *index = elf_section(&p->elf, ".debug_cu_index");
	struct cur c;
	const uint8_t *head, *id, *row;
	uint32_t units, slots;

	if (!index || index->flags & SHF_COMPRESSED)
		return -1;
	c = cur_of(index->data, index->size);
	head = cur_take(&c, 16);
	if (!head)
		return -1;
	p->version = index_word(p, head, 0);
	if (p->version != 2) { /* DWARF 5 has two bytes, and two for later */
		p->version = p->elf.swap ? __builtin_bswap16(ld16(head)) : ld16(head);
		if (p->version != 5)
			return -1;
	}
	p->columns = index_word(p, head, 1);
	units = index_word(p, head, 2);
	slots = index_word(p, head, 3);
	if (p->columns > COLUMNS_MAX)
		return -1;
	id = cur_take(&c, 8 * (uint64_t)slots);
	row = cur_take(&c, 4 * (uint64_t)slots);
	p->ids = cur_take(&c, 4 * (uint64_t)p->columns);
	p->offsets = cur_take(&c, 4 * (uint64_t)p->columns * units);
	p->sizes = cur_take(&c, 4 * (uint64_t)p->columns * units);
	return c.bad ? -1 : read_index_rows(p, id, row, slots, units);
}

struct src_package *src_package_read(struct file_map *m, struct buf *own)
{
	struct src_package *p = xcalloc(1, sizeof(*p));
	const void *bytes = own->len ? (const void *)own->s : m->p;

	if (elf_file_read(&p->elf, bytes, own->len ? own->len : m->len, "", NULL) ||
	    read_package_index(p)) {
		src_package_free(p);
		return NULL;
	}
	for (size_t i = 0; i < SECTIONS - (p->version < 5); i++) {
		const struct elf_sec *sec =
			elf_section(&p->elf, p->version < 5 ? name_4[i] : name_5[i]);

		p->from[i] = sec && !(sec->flags & SHF_COMPRESSED) ? sec : NULL;
	}
	p->map = *m;
	p->own = *own;
	*m = (struct file_map){ 0 };
	*own = (struct buf)BUF_INIT;
	return p;
}

void src_package_free(struct src_package *p)
{
	if (!p)
		return;
	u64map_free(&p->rows);
	elf_file_free(&p->elf);
	file_map_close(&p->map);
	buf_free(&p->own);
	free(p);
}

/* ---- a unit ------------------------------------------------------------------------------ */

/* The place that a string of the package has in the unit's own; 0, an empty one: it is broken. */
static uint64_t take_unit_string(const struct src_package *p, struct u64map *places, struct buf *to,
				 uint32_t at)
{
	const struct elf_sec *from = p->from[STR];
	const uint8_t *end = NULL;
	bool fresh;
	uint64_t *place = u64map_xat(places, at, &fresh);

	if (fresh && from && at < from->size)
		end = memchr(from->data + at, '\0', from->size - at);
	if (end) {
		*place = to->len;
		buf_put(to, from->data + at, (size_t)(end - from->data) - at + 1);
	}
	return *place;
}

/* The unit's table of strings, and these; -1: broken. Strings may end alike and so share bytes of
 * the package: some more than it has are allowed. */
static int take_unit_strings(const struct src_package *p, struct src_elf *m, const uint8_t *table,
			     size_t len)
{
	struct u64map places = U64MAP_INIT;
	struct buf *strings = &m->section[STR];
	size_t head = p->version < 5 ? 0 : 8, most = p->from[STR] ? 2 * p->from[STR]->size : 0;
	int rc = len < head || (head && index_word(p, table, 0) == UINT32_MAX) ? -1 : 0;

	if (!rc)
		buf_put(&m->section[OFFSETS], table, head);
	buf_putc(strings, '\0');
	for (size_t i = head / 4; !rc && i < len / 4; i++) {
		src_elf_put(m, &m->section[OFFSETS],
			    take_unit_string(p, &places, strings, index_word(p, table, i)), 4);
		if (strings->len > most + 4096)
			rc = -1;
	}
	u64map_free(&places);
	return rc;
}

static int take_unit_parts(const struct src_package *p, struct src_elf *m, size_t row)
{
	for (size_t i = 0; i < p->columns; i++) {
		uint32_t column = index_word(p, p->ids, i);
		uint32_t at = index_word(p, p->offsets, row * p->columns + i);
		uint32_t len = index_word(p, p->sizes, row * p->columns + i);
		int to = column > COLUMNS_MAX ? -1 : section_of[column];
		const struct elf_sec *from;

		if (to < 0 || (size_t)to >= m->n || !len) /* in DWARF 4 the last are macros */
			continue;
		from = p->from[to];
		if (!from || at > from->size || len > from->size - at || m->section[to].len)
			return -1;
		if (to != OFFSETS)
			buf_put(&m->section[to], from->data + at, len);
		else if (take_unit_strings(p, m, from->data + at, len))
			return -1;
	}
	return 0;
}

bool src_package_unit(const struct src_package *p, uint64_t id, struct buf *file)
{
	const uint64_t *row = u64map_find(&p->rows, id);
	struct src_elf m = {
		.big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != p->elf.swap,
		.is64 = p->elf.is64,
		.machine = p->elf.machine,
		.name = p->version < 5 ? name_4 : name_5,
		.n = SECTIONS - (p->version < 5),
	};

	if (row && !take_unit_parts(p, &m, *row - 1)) {
		src_elf_make(&m, file);
		return true;
	}
	src_elf_free(&m);
	return false;
}
