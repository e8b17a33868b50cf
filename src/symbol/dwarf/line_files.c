/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/line_files.h"

#include <dwarf.h>
#include <string.h>

#include "base/bytes.h"

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

/* What a value says: a number, a text, or bytes. */
struct value {
	uint64_t number;
	const char *text;
	const uint8_t *bytes; /* NULL: broken */
};

static const char *text_at(const void *section, size_t len, uint64_t off)
{
	const char *p = section;

	return p && off < len && memchr(p + off, 0, len - off) ? p + off : NULL;
}

static uint64_t offset(struct reading *r)
{
	return r->dwarf64 ? cur_u64(&r->c) : cur_u32(&r->c);
}

static struct value value_of(struct reading *r, uint64_t form)
{
	const struct line_sections *s = r->s;
	struct cur *c = &r->c;
	struct value v = { .bytes = c->p };

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
		v.text = text_at(s->str, s->str_len, offset(r));
		break;
	case DW_FORM_line_strp:
		v.text = text_at(s->line_str, s->line_str_len, offset(r));
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

static size_t columns(struct cur *c, struct column col[FORMATS_MAX])
{
	size_t n = cur_u8(c);

	if (n > FORMATS_MAX)
		c->bad = true;
	for (size_t i = 0; i < n && !c->bad; i++) {
		col[i].content = cur_uleb(c);
		col[i].form = cur_uleb(c);
	}
	return c->bad ? 0 : n;
}

static int put_file(struct reading *r, struct line_file *f, uint64_t dir)
{
	if (dir >= r->dirs.n)
		f->name = NULL;
	else
		f->dir = r->dirs.v[dir];
	return vec_push(&r->out->v, *f);
}

/* A row of a table of DWARF 5. */
static int row5(struct reading *r, const struct column *col, size_t n_col, bool files)
{
	struct line_file f = { .sum.size = 0 };
	uint64_t dir = 0;

	for (size_t k = 0; k < n_col; k++) {
		struct value v = value_of(r, col[k].form);

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
		return 0;
	return files ? put_file(r, &f, dir) : vec_push(&r->dirs, f.name);
}

static int table5(struct reading *r, bool files)
{
	struct column col[FORMATS_MAX];
	size_t n_col = columns(&r->c, col);
	uint64_t n = cur_uleb(&r->c);

	/* entries without columns would cost memory and no bytes */
	for (uint64_t i = 0; n_col && i < n && !r->c.bad; i++) {
		const uint8_t *before = r->c.p;

		if (row5(r, col, n_col, files))
			return -1;
		if (r->c.p == before)
			r->c.bad = true;
	}
	return 0;
}

/* The tables of DWARF 2 to 4: strings, and for files three numbers each. */
static int tables2(struct reading *r)
{
	struct cur *c = &r->c;

	if (vec_push(&r->dirs, (const char *)NULL))
		return -1;
	for (const char *s = cur_str(c); s && *s; s = cur_str(c))
		if (vec_push(&r->dirs, s))
			return -1;
	for (const char *s = cur_str(c); s && *s; s = cur_str(c)) {
		struct line_file f = { .name = s };
		uint64_t dir = cur_uleb(c);

		(void)cur_uleb(c); /* time */
		f.sum.size = cur_uleb(c);
		if (!c->bad && put_file(r, &f, dir))
			return -1;
	}
	return 0;
}

/* Up to the tables; false: there are none to read. */
static bool head(struct reading *r, uint64_t off)
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

int line_files_read(struct line_files *out, const struct line_sections *s, uint64_t off)
{
	struct reading r = { .c = cur_of(s->line, s->line_len), .s = s, .out = out };
	int rc = 0;

	memset(out, 0, sizeof(*out));
	r.c.swap = s->swap;
	if (head(&r, off)) {
		out->first = r.version < 5;
		if (r.version < 5)
			rc = tables2(&r);
		else if (table5(&r, false) || table5(&r, true))
			rc = -1;
	}
	vec_free(&r.dirs);
	return rc;
}
