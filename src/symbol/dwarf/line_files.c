/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/line_files.h"

#include <dwarf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/xalloc.h"

enum { FORMATS_MAX = 16 }; /* columns of a file table; DWARF 5 defines five */

struct column {
	uint64_t content, form;
};

struct reading {
	struct cur c;
	const struct line_sections *s;
	struct line_files *out;
	VEC(const char *) dirs;
	unsigned version;
	bool dwarf64;
};

/* A value: a number, a text, or bytes. */
struct form_value {
	uint64_t number;
	const char *text;
	const uint8_t *bytes; /* NULL: broken */
};

static const char *text_in(const void *section, size_t len, uint64_t off)
{
	const char *p = section;

	return p && off < len && memchr(p + off, 0, len - off) ? p + off : NULL;
}

static uint64_t offset(struct reading *r)
{
	return r->dwarf64 ? cur_u64(&r->c) : cur_u32(&r->c);
}

static struct form_value read_line_form(struct reading *r, uint64_t form)
{
	const struct line_sections *s = r->s;
	struct cur *c = &r->c;
	struct form_value v = { .bytes = c->p };

	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_strx1:
		v.number = cur_u8(c);
		break;
	case DW_FORM_data2:
	case DW_FORM_strx2:
		v.number = cur_u16(c);
		break;
	case DW_FORM_strx3:
		(void)cur_take(c, 3);
		break;
	case DW_FORM_data4:
	case DW_FORM_strx4:
		v.number = cur_u32(c);
		break;
	case DW_FORM_data8:
		v.number = cur_u64(c);
		break;
	case DW_FORM_data16:
		(void)cur_take(c, 16);
		break;
	case DW_FORM_udata:
	case DW_FORM_strx:
		v.number = cur_uleb(c);
		break;
	case DW_FORM_string:
		v.text = cur_str(c);
		break;
	case DW_FORM_strp:
		v.text = text_in(s->str, s->str_len, offset(r));
		break;
	case DW_FORM_line_strp:
		v.text = text_in(s->line_str, s->line_str_len, offset(r));
		break;
	case DW_FORM_strp_sup:
		(void)offset(r);
		break;
	case DW_FORM_block:
		(void)cur_take(c, cur_uleb(c));
		break;
	case DW_FORM_block1:
		(void)cur_take(c, cur_u8(c));
		break;
	case DW_FORM_block2:
		(void)cur_take(c, cur_u16(c));
		break;
	case DW_FORM_block4:
		(void)cur_take(c, cur_u32(c));
		break;
	default:
		c->bad = true;
		break;
	}
	if (c->bad)
		v.bytes = NULL;
	return v;
}

static void put_line_file(struct reading *r, struct line_file *f, uint64_t dir)
{
	if (dir >= r->dirs.n)
		f->name = NULL;
	else
		f->dir = r->dirs.v[dir];
	vec_xpush(&r->out->v, *f);
}

/* A row of a table of DWARF 5. */
static void read_row5(struct reading *r, const struct column *col, size_t n_col, bool files)
{
	struct line_file f = { .sum.size = 0 };
	uint64_t dir = 0;

	for (size_t k = 0; k < n_col; k++) {
		struct form_value v = read_line_form(r, col[k].form);

		switch (v.bytes ? col[k].content : 0) {
		case DW_LNCT_path:
			f.name = v.text;
			break;
		case DW_LNCT_directory_index:
			dir = v.number;
			break;
		case DW_LNCT_size:
			f.sum.size = v.number;
			break;
		case DW_LNCT_MD5:
			f.sum.has_md5 = col[k].form == DW_FORM_data16;
			if (f.sum.has_md5)
				memcpy(f.sum.md5, v.bytes, MD5_SIZE);
			break;
		default:
			break;
		}
	}
	if (r->c.bad)
		return;
	if (files)
		put_line_file(r, &f, dir);
	else
		vec_xpush(&r->dirs, f.name);
}

static void read_table5(struct reading *r, bool files)
{
	struct column col[FORMATS_MAX];
	struct cur *c = &r->c;
	size_t n_col = cur_u8(c);
	uint64_t n;

	if (n_col > FORMATS_MAX)
		c->bad = true;
	for (size_t i = 0; i < n_col && !c->bad; i++) {
		col[i].content = cur_uleb(c);
		col[i].form = cur_uleb(c);
	}
	n = cur_uleb(c);
	/* entries without columns would cost memory and no bytes */
	for (uint64_t i = 0; n_col && i < n && !c->bad; i++) {
		const uint8_t *before = c->p;

		read_row5(r, col, n_col, files);
		if (c->p == before)
			c->bad = true;
	}
}

/* The tables of DWARF 2 to 4: strings, and for files three numbers each. */
static void read_tables2(struct reading *r)
{
	struct cur *c = &r->c;

	vec_xpush(&r->dirs, (const char *)NULL);
	for (const char *s = cur_str(c); s && *s; s = cur_str(c))
		vec_xpush(&r->dirs, s);
	for (const char *s = cur_str(c); s && *s; s = cur_str(c)) {
		struct line_file f = { .name = s };
		uint64_t dir = cur_uleb(c);

		(void)cur_uleb(c); /* time */
		f.sum.size = cur_uleb(c);
		if (!c->bad)
			put_line_file(r, &f, dir);
	}
}

/* Up to the tables; false: there are none to read. */
static bool read_header(struct reading *r, uint64_t off)
{
	struct cur *c = &r->c;
	uint64_t unit;
	unsigned opcodes;

	(void)cur_take(c, off);
	unit = cur_u32(c);
	if (unit == UINT32_MAX) {
		r->dwarf64 = true;
		unit = cur_u64(c);
	}
	if (unit < cur_left(c))
		c->end = c->p + unit;
	r->version = cur_u16(c);
	if (c->bad || r->version < 2 || r->version > 5)
		return false;
	/* size of addresses and segments (5), length of the header, of instructions, operations
	 * in one (4 and 5), is_stmt, base and range of lines */
	(void)cur_take(c, (r->version == 5 ? 2u : 0) + (r->dwarf64 ? 8u : 4u) +
				  (r->version >= 4 ? 5u : 4u));
	opcodes = cur_u8(c);
	(void)cur_take(c, opcodes ? opcodes - 1 : 0);
	return true;
}

void line_files_read(struct line_files *out, const struct line_sections *s, uint64_t off)
{
	struct reading r = { .c = cur_of(s->line, s->line_len), .s = s, .out = out };

	memset(out, 0, sizeof(*out));
	r.c.swap = s->swap;
	if (read_header(&r, off)) {
		out->first = r.version < 5;
		if (r.version < 5) {
			read_tables2(&r);
		} else {
			read_table5(&r, false);
			read_table5(&r, true);
		}
	}
	vec_free(&r.dirs);
}
