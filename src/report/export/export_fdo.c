/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LLVM's sample profile, as text and as its extensible binary form.
 *
 * Text: "NAME:TOTAL:HEAD" for a function, below it " LINE[.DISCRIMINATOR]: COUNT TARGET:COUNT ..."
 * and for inlined functions " LINE[.DISCRIMINATOR]: NAME:TOTAL" with its own lines below, one blank
 * deeper.
 *
 * Binary: magic and version, a table of sections (type, flags, offset, size: 64 bits each,
 * little-endian), then the sections: a summary of all counts, names, the offset of each function,
 * and the functions, in ULEB128.
 */
#include "base/xalloc.h"
#include "report/export/export_int.h"

#include <stdlib.h>
#include <string.h>

#include "report/export/proto.h"

/* ---- text ------------------------------------------------------------------------------------ */

#define LEVELS_MAX 80u /* more than the levels of inlined calls */

static void put_fdo_text_place(struct buf *b, unsigned depth, const struct fdo_place *at)
{
	buf_fill(b, ' ', depth);
	buf_printf(b, "%u", at->line);
	if (at->discriminator)
		buf_printf(b, ".%u", at->discriminator);
	buf_puts(b, ": ");
}

static void put_fdo_text(struct buf *b, const struct fdo *p, const struct fdo_function *f,
			 unsigned depth)
{
	buf_printf(b, "%s:%llu", p->name[f->name], (unsigned long long)f->total);
	if (depth == 1)
		buf_printf(b, ":%llu", (unsigned long long)f->head);
	buf_putc(b, '\n');
	for (uint32_t i = f->first_line; i < f->first_line + f->n_lines; i++) {
		const struct fdo_line *l = &p->line[i];

		put_fdo_text_place(b, depth, &l->at);
		buf_printf(b, "%llu", (unsigned long long)l->count);
		for (uint32_t k = l->first_target; k < l->first_target + l->n_targets; k++)
			buf_printf(b, " %s:%llu", p->name[p->target[k].name],
				   (unsigned long long)p->target[k].count);
		buf_putc(b, '\n');
	}
	for (uint32_t i = f->first_inlined; i < f->first_inlined + f->n_inlined; i++) {
		put_fdo_text_place(b, depth, &p->f[i].at);
		if (depth < LEVELS_MAX)
			put_fdo_text(b, p, &p->f[i], depth + 1);
	}
}

int export_fdo_text(struct buf *out, const struct fdo *p, struct err *err)
{
	for (size_t i = 0; i < p->n_top; i++)
		put_fdo_text(out, p, &p->f[i], 1);
	return buf_error(out, err);
}

/* ---- binary ---------------------------------------------------------------------------------- */

#define MAGIC	      0x5350524f46343204ULL /* "SPROF42" and the form: extensible binary */
#define VERSION	      103
#define UNIQUE_SUFFIX (1ULL << 34) /* of names: made different by the compiler */

enum { SECTION_SUMMARY = 1, SECTION_NAMES = 2, SECTION_OFFSETS = 4, SECTION_FUNCTIONS = 32 };

static void put_body(struct buf *b, const struct fdo *p, const struct fdo_function *f,
		     unsigned depth)
{
	proto_varint(b, f->name);
	proto_varint(b, f->total);
	proto_varint(b, f->n_lines);
	for (uint32_t i = f->first_line; i < f->first_line + f->n_lines; i++) {
		const struct fdo_line *l = &p->line[i];

		proto_varint(b, l->at.line);
		proto_varint(b, l->at.discriminator);
		proto_varint(b, l->count);
		proto_varint(b, l->n_targets);
		for (uint32_t k = l->first_target; k < l->first_target + l->n_targets; k++) {
			proto_varint(b, p->target[k].name);
			proto_varint(b, p->target[k].count);
		}
	}
	if (depth >= LEVELS_MAX) {
		proto_varint(b, 0);
		return;
	}
	proto_varint(b, f->n_inlined);
	for (uint32_t i = f->first_inlined; i < f->first_inlined + f->n_inlined; i++) {
		proto_varint(b, p->f[i].at.line);
		proto_varint(b, p->f[i].at.discriminator);
		put_body(b, p, &p->f[i], depth + 1);
	}
}

static int fdo_text_bigger_first(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return (a < b) - (a > b);
}

/* How many of the hottest lines make up which part of all counts, in millionths. */
static void put_summary(struct buf *b, const struct fdo *p)
{
	static const uint32_t cutoff[] = { 10000,  100000, 200000, 300000, 400000, 500000,
					   600000, 700000, 800000, 900000, 950000, 990000,
					   999000, 999900, 999990, 999999 };
	const size_t n_cutoffs = sizeof(cutoff) / sizeof(*cutoff);
	uint64_t *count = xmalloc((p->n_lines + 1) * sizeof(*count)), sum = 0, head = 0;
	__extension__ unsigned __int128 total = 0;
	size_t seen = 0;

	for (size_t i = 0; i < p->n_lines; i++)
		total += count[i] = p->line[i].count;
	for (size_t i = 0; i < p->n_top; i++)
		head = p->f[i].head > head ? p->f[i].head : head;
	if (p->n_lines > 1)
		qsort(count, p->n_lines, sizeof(*count), fdo_text_bigger_first);
	proto_varint(b, (uint64_t)total);
	proto_varint(b, p->n_lines ? count[0] : 0);
	proto_varint(b, head);
	proto_varint(b, p->n_lines);
	proto_varint(b, p->n_top);
	proto_varint(b, p->n_lines ? n_cutoffs : 0);
	for (size_t i = 0; i < n_cutoffs && p->n_lines; i++) {
		uint64_t want = (uint64_t)(total * cutoff[i] / 1000000);

		/* all lines of the same count, or none of them */
		while (seen < p->n_lines && (sum < want || !seen || count[seen] == count[seen - 1]))
			sum += count[seen++];
		proto_varint(b, cutoff[i]);
		proto_varint(b, count[seen - 1]);
		proto_varint(b, seen);
	}
	free(count);
}

static void put_fdo_text_names(struct buf *b, const struct fdo *p)
{
	proto_varint(b, p->n_names);
	for (size_t i = 0; i < p->n_names; i++)
		buf_put(b, p->name[i], strlen(p->name[i]) + 1);
}

static void put_fdo_text_functions(struct buf *functions, struct buf *offsets, const struct fdo *p)
{
	proto_varint(offsets, p->n_top);
	for (size_t i = 0; i < p->n_top; i++) {
		proto_varint(offsets, p->f[i].name);
		proto_varint(offsets, functions->len);
		proto_varint(functions, p->f[i].head);
		put_body(functions, p, &p->f[i], 1);
	}
}

static void put_le64(struct buf *b, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		buf_putc(b, (char)(v >> 8 * i));
}

static uint64_t name_flags(const struct fdo *p)
{
	for (size_t i = 0; i < p->n_names; i++)
		if (strstr(p->name[i], ".__uniq."))
			return UNIQUE_SUFFIX;
	return 0;
}

int export_fdo_binary(struct buf *out, const struct fdo *p, struct err *err)
{
	struct section {
		uint64_t type, flags;
		struct buf b;
	} s[] = { { SECTION_SUMMARY, 0, BUF_INIT },
		  { SECTION_NAMES, name_flags(p), BUF_INIT },
		  { SECTION_OFFSETS, 0, BUF_INIT },
		  { SECTION_FUNCTIONS, 0, BUF_INIT } };
	const size_t n = sizeof(s) / sizeof(*s);
	uint64_t at;
	int ret = -1;

	put_summary(&s[0].b, p);
	put_fdo_text_names(&s[1].b, p);
	put_fdo_text_functions(&s[3].b, &s[2].b, p);
	proto_varint(out, MAGIC);
	proto_varint(out, VERSION);
	put_le64(out, n);
	at = out->len + n * 4 * 8;
	for (size_t i = 0; i < n; i++) {
		put_le64(out, s[i].type);
		put_le64(out, s[i].flags);
		put_le64(out, at);
		put_le64(out, s[i].b.len);
		at += s[i].b.len;
	}
	ret = 0;
	for (size_t i = 0; i < n; i++) {
		buf_put(out, buf_str(&s[i].b), s[i].b.len);
		ret |= s[i].b.failed ? -1 : 0;
	}
	for (size_t i = 0; i < n; i++)
		buf_free(&s[i].b);
	return ret ? err_nomem(err) : buf_error(out, err);
}
