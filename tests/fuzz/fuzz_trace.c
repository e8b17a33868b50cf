/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats of tracepoints, and data by them. Up to the first NUL the input is a format, behind it
 * the data of a record; without a NUL the data are the text. What is read lies in the data, and
 * formats as TRACING_DATA are those of the text.
 */
#include <stdlib.h>
#include <string.h>

#include "perfdata/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void take(const struct trace_format *f, const uint8_t *data, size_t len, bool swap)
{
	struct buf b = BUF_INIT;
	struct trace_value v;

	for (size_t i = 0; i < f->n; i++) {
		const struct trace_field *x = &f->field[i];

		must(x->name[0] && x->type[0] && trace_field_of(f, x->name));
		if (!trace_get(x, data, len, swap, &v))
			continue;
		if (v.kind == TRACE_TEXT || v.kind == TRACE_LIST)
			must(v.p >= data && v.p <= data + len && v.len <= len &&
			     v.p + v.len <= data + len);
		buf_reset(&b);
		trace_put(&b, &v);
		must(b.failed || v.kind == TRACE_TEXT || b.len);
	}
	buf_free(&b);
}

static void put_text(struct buf *b, const char *name, uint64_t size)
{
	buf_put(b, name, strlen(name) + 1);
	buf_put_u64(b, size);
}

/* A recording in the form of a pipe whose one record is TRACING_DATA. */
static void put_recording(struct buf *b, const char *text, size_t len)
{
	struct buf t = BUF_INIT;

	buf_put(&t, "\x17\x08\x44tracing", 10);
	buf_put(&t, "0.6", 4);
	buf_putc(&t, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	buf_putc(&t, (char)sizeof(long));
	buf_put_u32(&t, 4096);
	put_text(&t, "header_page", 0);
	put_text(&t, "header_event", 0);
	buf_put_u32(&t, 0);
	buf_put_u32(&t, 1);
	buf_put(&t, "sys", 4);
	buf_put_u32(&t, 1);
	buf_put_u64(&t, len);
	buf_put(&t, text, len);
	buf_put(b, "PERFILE2", 8);
	buf_put_u64(b, 16);
	buf_put_u32(b, 66);
	buf_put_u32(b, 12u << 16);
	buf_put_u32(b, (uint32_t)t.len);
	buf_put(b, buf_str(&t), t.len);
	buf_put(b, "\0\0\0\0\0\0\0", 7);
	buf_free(&t);
}

static void as_recording(const struct trace_format *f, const char *text, size_t len)
{
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	const struct trace_format *g;
	struct pd *rec = NULL;
	size_t n;

	put_recording(&b, text, len);
	if (!b.failed && !pd_open_memory(&rec, buf_str(&b), b.len, &err)) {
		g = pd_trace_formats(rec, &n);
		must(n == 1 && g->id == f->id && g->n == f->n && !strcmp(g->system, "sys") &&
		     !strcmp(g->name, f->name));
	}
	pd_close(rec);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size ? strnlen((const char *)data, size) : 0;
	const uint8_t *raw = len < size ? data + len + 1 : data;
	size_t raw_len = (size_t)(data + size - raw);
	struct arena a = ARENA_INIT;
	struct trace_format f;

	if (size > 20000)
		return 0;
	must(!trace_format_read(&f, &a, (const char *)data, len, size % 2 ? 4 : 8));
	take(&f, raw, raw_len, false);
	take(&f, raw, raw_len, true);
	must(!trace_format_read(&f, &a, (const char *)data, len, sizeof(long)));
	as_recording(&f, (const char *)data, len);
	arena_free(&a);
	return 0;
}
