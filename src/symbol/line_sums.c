/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/line_sums.h"

#include <dwarf.h>
#include <string.h>

#include "base/bytes.h"

enum { FORMATS_MAX = 16 }; /* columns of a file table; DWARF 5 defines five */

struct column {
	uint64_t content, form;
};

static uint64_t uleb(struct cur *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = cur_u8(c);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (c->bad || !(b & 0x80))
			return v;
	}
}

/* Passes a value of that form; *number is what it says if it is a number. */
static const uint8_t *value(struct cur *c, uint64_t form, bool dwarf64, uint64_t *number)
{
	const uint8_t *p = c->p;

	*number = 0;
	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_strx1:
		*number = cur_u8(c);
		break;
	case DW_FORM_data2:
	case DW_FORM_strx2:
		*number = cur_u16(c);
		break;
	case DW_FORM_strx3:
		(void)cur_take(c, 3);
		break;
	case DW_FORM_data4:
	case DW_FORM_strx4:
		*number = cur_u32(c);
		break;
	case DW_FORM_data8:
		*number = cur_u64(c);
		break;
	case DW_FORM_data16:
		(void)cur_take(c, 16);
		break;
	case DW_FORM_udata:
	case DW_FORM_strx:
		*number = uleb(c);
		break;
	case DW_FORM_string:
		(void)cur_str(c);
		break;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
		(void)cur_take(c, dwarf64 ? 8 : 4);
		break;
	case DW_FORM_block:
		(void)cur_take(c, uleb(c));
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
	return c->bad ? NULL : p;
}

static size_t columns(struct cur *c, struct column col[FORMATS_MAX])
{
	size_t n = cur_u8(c);

	if (n > FORMATS_MAX)
		c->bad = true;
	for (size_t i = 0; i < n && !c->bad; i++) {
		col[i].content = uleb(c);
		col[i].form = uleb(c);
	}
	return c->bad ? 0 : n;
}

/* A table of DWARF 5; its files go to `out`, unless that is NULL. */
static int table5(struct cur *c, bool dwarf64, struct line_sums *out)
{
	struct column col[FORMATS_MAX];
	size_t n_col = columns(c, col);
	uint64_t n = uleb(c);

	/* entries without columns would cost memory and no bytes */
	for (uint64_t i = 0; n_col && i < n && !c->bad; i++) {
		struct source_sum sum = { .size = 0 };
		const uint8_t *before = c->p;

		for (size_t k = 0; k < n_col; k++) {
			uint64_t number;
			const uint8_t *p = value(c, col[k].form, dwarf64, &number);

			if (p && col[k].content == DW_LNCT_size)
				sum.size = number;
			if (p && col[k].content == DW_LNCT_MD5 && col[k].form == DW_FORM_data16) {
				sum.has_md5 = true;
				memcpy(sum.md5, p, MD5_SIZE);
			}
		}
		if (c->p == before)
			c->bad = true;
		if (out && !c->bad && vec_push(&out->v, sum))
			return -1;
	}
	return 0;
}

/* The tables of DWARF 2 to 4: strings, and for files three numbers each. */
static int tables2(struct cur *c, struct line_sums *out)
{
	for (const char *s = cur_str(c); s && *s;)
		s = cur_str(c);
	for (const char *s = cur_str(c); s && *s; s = cur_str(c)) {
		struct source_sum sum = { .size = 0 };

		(void)uleb(c); /* directory */
		(void)uleb(c); /* time */
		sum.size = uleb(c);
		if (!c->bad && vec_push(&out->v, sum))
			return -1;
	}
	return 0;
}

int line_sums_read(struct line_sums *out, const void *debug_line, size_t len, uint64_t off,
		   bool swap)
{
	struct cur c = cur_of(debug_line, len);
	bool dwarf64 = false;
	uint64_t unit;
	unsigned version, opcodes;

	memset(out, 0, sizeof(*out));
	c.swap = swap;
	(void)cur_take(&c, off);
	unit = cur_u32(&c);
	if (unit == UINT32_MAX) {
		dwarf64 = true;
		unit = cur_u64(&c);
	}
	if (unit < cur_left(&c))
		c.end = c.p + unit;
	version = cur_u16(&c);
	if (c.bad || version < 2 || version > 5)
		return 0;
	out->first = version < 5;
	/* size of addresses and segments (5), length of the header, of instructions, operations
	 * in one (4 and 5), is_stmt, base and range of lines */
	(void)cur_take(&c,
		       (version == 5 ? 2u : 0) + (dwarf64 ? 8u : 4u) + (version >= 4 ? 5u : 4u));
	opcodes = cur_u8(&c);
	(void)cur_take(&c, opcodes ? opcodes - 1 : 0);
	if (version < 5)
		return tables2(&c, out);
	return table5(&c, dwarf64, NULL) || table5(&c, dwarf64, out) ? -1 : 0;
}
