/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code objects: names, files and tables of lines, each read once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "symbol/python/python_int.h"

enum { LINES_MAX = 1 << 20, SEEN_MAX = 1 << 24, CODES_MAX = 1 << 17, BYTES_MAX = 256 << 20 };

struct python_code {
	uint64_t file, name, lines; /* the members, as they were */
	uint32_t first_line, n_table;
	const uint8_t *table;
	struct python_function function;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static uint32_t take_varint(const uint8_t *p, size_t n, size_t *at)
{
	uint32_t v = 0;

	for (unsigned shift = 0; *at < n; shift += 6) {
		uint8_t b = p[(*at)++];

		if (shift < 32)
			v |= (uint32_t)(b & 63) << shift;
		if (!(b & 64))
			break;
	}
	return v;
}

/* The change of the line of an entry, whose first byte is p[*at]; false: it has no line. */
static bool take_entry(const uint8_t *p, size_t n, size_t *at, uint32_t *delta)
{
	unsigned code = p[*at] >> 3 & 15;
	uint32_t v;

	(*at)++;
	*delta = 0;
	if (code == 15)
		return false;
	if (code >= 13) {
		v = take_varint(p, n, at);
		*delta = v & 1 ? 0 - (v >> 1) : v >> 1;
		for (int i = 0; code == 14 && i < 3; i++)
			(void)take_varint(p, n, at);
		return true;
	}
	*delta = code >= 10 ? code - 10 : 0;
	*at += code >= 10 ? 2 : 1;
	return true;
}

uint32_t python_line(const uint8_t *table, size_t n, uint32_t first, uint64_t offset, size_t *seen)
{
	uint32_t line = first, shown = first, delta;
	uint64_t to = 0;
	size_t at = 0;

	while (at < n) {
		unsigned units = (table[at] & 7) + 1u;
		bool has = take_entry(table, n, &at, &delta);

		line += delta;
		shown = has ? line : shown;
		to += 2 * units;
		if (offset < to)
			break;
	}
	*seen += at < n ? at : n;
	return shown;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static size_t put_char(char *out, size_t at, size_t size, uint32_t c)
{
	char b[4];
	size_t n = 1;

	if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ||
	    c > 0x10ffff)
		c = '?';
	if (c < 0x80) {
		b[0] = (char)c;
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 63));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 63));
		b[2] = (char)(0x80 | (c & 63));
		n = 3;
	} else {
		b[0] = (char)(0xf0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 63));
		b[2] = (char)(0x80 | (c >> 6 & 63));
		b[3] = (char)(0x80 | (c & 63));
		n = 4;
	}
	if (at + n >= size)
		return SIZE_MAX;
	memcpy(out + at, b, n);
	return at + n;
}

static uint32_t char_at(const uint8_t *data, size_t i, size_t wide)
{
	return wide == 1 ? data[i] : wide == 2 ? ld16(data + 2 * i) : ld32(data + 4 * i);
}

/* The first of the n characters from which on all fit into `size` bytes. */
static size_t end_that_fits(const uint8_t *data, size_t n, size_t wide, size_t size)
{
	char one[5];
	size_t i = n;

	for (size_t bytes = 0; i; i--) {
		bytes += put_char(one, 0, sizeof(one), char_at(data, i - 1, wide));
		if (bytes >= size)
			break;
	}
	return i;
}

/* The text object at `addr`; a long one keeps its end (`keep_end`) or its beginning. */
static bool read_text(const struct python *py, uint64_t addr, char *out, size_t size, bool keep_end)
{
	uint8_t head[PYTHON_PART_MAX], data[4 * PYTHON_PATH_MAX];
	const struct python_layout *l = &py->l;
	size_t head_len = l->text_ascii, n, at = 0, wide;
	uint64_t length, skip = 0;
	uint32_t state;

	if (head_len < l->text_state + 4 || head_len < l->text_length + 8 ||
	    !py->m.read(py->m.ctx, addr, head, head_len))
		return false;
	length = ld64(head + l->text_length);
	state = ld32(head + l->text_state) >> l->state_shift;
	wide = state & 7; /* the kind is the bytes of a character */
	if ((wide != 1 && wide != 2 && wide != 4) || !(state >> 3 & 1) || length > UINT32_MAX)
		return false;
	n = length < size - 1 ? (size_t)length : size - 1;
	if (keep_end)
		skip = length - n;
	if (!py->m.read(py->m.ctx,
			addr + head_len + (state >> 4 & 1 ? 0 : l->text_wide) + skip * wide, data,
			n * wide))
		return false;
	for (size_t i = keep_end ? end_that_fits(data, n, wide, size) : 0; i < n; i++) {
		size_t next = put_char(out, at, size, char_at(data, i, wide));

		if (next == SIZE_MAX)
			break;
		at = next;
	}
	out[at] = '\0';
	return at > 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool read_table(struct python *py, struct python_code *c)
{
	uint8_t head[PYTHON_PART_MAX];
	const struct python_layout *l = &py->l;
	size_t n = l->bytes_size + 8;
	uint64_t size;
	uint8_t *table;

	c->n_table = 0;
	if (!py->m.read(py->m.ctx, c->lines, head, n))
		return false;
	size = ld64(head + l->bytes_size);
	if (size > LINES_MAX)
		return true; /* without lines */
	table = arena_alloc(&py->arena, (size_t)size + 1);
	if (!table)
		return false;
	if (!py->m.read(py->m.ctx, c->lines + l->bytes_data, table, (size_t)size))
		return false;
	c->table = table;
	c->n_table = (uint32_t)size;
	return true;
}

static struct python_code *read_code(struct python *py, const struct python_code *as, uint64_t *at)
{
	struct python_code *c;

	if (py->n_functions >= CODES_MAX || py->arena.total > BYTES_MAX)
		return NULL;
	c = arena_alloc(&py->arena, sizeof(*c));
	if (!c)
		return NULL;
	*c = *as;
	if (!read_text(py, c->name, c->function.name, PYTHON_NAME_MAX, false) ||
	    !read_text(py, c->file, c->function.file, PYTHON_PATH_MAX, true) || !read_table(py, c))
		return NULL;
	c->function.first_line = c->first_line;
	c->function.number = py->n_functions++;
	*at = (uint64_t)(uintptr_t)c;
	return c;
}

/* Where the code object at `addr` is remembered; NULL: there are too many, or no memory. */
static uint64_t *code_slot(struct python *py, uint64_t addr)
{
	uint64_t *at = u64map_find(&py->code, addr);

	if (at || py->code.n >= CODES_MAX)
		return at;
	return u64map_at(&py->code, addr, NULL);
}

const struct python_function *python_code_at(struct python *py, uint64_t addr, uint64_t instruction,
					     uint32_t *line)
{
	const struct python_layout *l = &py->l;
	uint8_t b[PYTHON_PART_MAX];
	size_t n = l->code_lines + 8;
	struct python_code as = { 0 }, *c;
	uint64_t *at = code_slot(py, addr), start = addr + l->code_start;

	n = n > l->code_name + 8 ? n : l->code_name + 8;
	n = n > l->code_file + 8 ? n : l->code_file + 8;
	n = n > l->code_first_line + 4 ? n : l->code_first_line + 4;
	if (!at || !py->m.read(py->m.ctx, addr, b, n))
		return NULL;
	as.file = ld64(b + l->code_file);
	as.name = ld64(b + l->code_name);
	as.lines = ld64(b + l->code_lines);
	as.first_line = ld32(b + l->code_first_line);
	c = (struct python_code *)(uintptr_t)*at;
	if (!c || c->file != as.file || c->name != as.name || c->lines != as.lines ||
	    c->first_line != as.first_line)
		c = read_code(py, &as, at);
	if (!c)
		return NULL;
	*line = c->first_line;
	if (instruction >= start)
		*line = python_line(c->table, c->n_table, c->first_line, instruction - start,
				    &py->lines_seen);
	return py->lines_seen > SEEN_MAX ? NULL : &c->function;
}
