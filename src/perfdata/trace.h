/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace - the fields of tracepoints: formats as the kernel prints them
 * (tracefs/events/SYSTEM/NAME/format), one by one, or all that a recording keeps (header feature
 * TRACING_DATA).
 *
 *	f = pd_trace_of(rec, ev)			NULL: it is no tracepoint, or has no format
 *	trace_get(&f->field[i], s.raw, s.raw_size, pd_trace_swap(rec), &v)
 *	trace_put(&b, &v)
 *
 * A format is text from outside: a line that is none of a field is passed over, and a field may lie
 * anywhere. trace_get() looks at the bytes that the sample has, and nowhere else. libtraceevent,
 * which perf uses, gets no length of the data to look at.
 */
#ifndef CYCLADE_PERFDATA_TRACE_H
#define CYCLADE_PERFDATA_TRACE_H

#include "base/arena.h"
#include "base/buf.h"
#include "perfdata/perfdata.h"

enum trace_kind {
	TRACE_SIGNED,
	TRACE_UNSIGNED,
	TRACE_POINTER,
	TRACE_TEXT,
	TRACE_LIST /* numbers: an array; of a struct, its bytes */
};

/* Where the data are: in the field itself, or elsewhere in the record, behind a word with the
 * offset and the size. */
enum trace_place { TRACE_HERE, TRACE_DATA_LOC, TRACE_REL_LOC };

struct trace_field {
	const char *name, *type; /* type: "unsigned long", "char", without an array's brackets */
	uint32_t offset, size;
	uint8_t element; /* bytes of a number: 1, 2, 4 or 8 */
	uint8_t kind;	 /* enum trace_kind */
	uint8_t place;	 /* enum trace_place */
	bool is_signed;	 /* numbers of a list are */
	bool common;	 /* of all tracepoints: common_pid */
};

struct trace_format {
	const char *system, *name; /* "" if it was read from a text alone */
	uint64_t id;
	const struct trace_field *field;
	size_t n;
	const char *print; /* behind "print fmt: "; NULL: none */
};

/* Reads one format; texts are copied into the arena. `long_size`: of the machine that wrote it.
 * -1: out of memory. */
int trace_format_read(struct trace_format *out, struct arena *a, const char *text, size_t len,
		      unsigned long_size) MUST_USE;
/* Returns the field of that name; NULL: there is none. */
const struct trace_field *trace_field_of(const struct trace_format *f, const char *name);

struct trace_value {
	enum trace_kind kind;
	uint64_t n;	  /* a number, sign-extended if it is signed */
	const uint8_t *p; /* of a text, which has no NUL, or a list */
	size_t len;
	uint8_t element;
	bool is_signed, swap;
};

/* False: the data end before the field. `swap`: their byte order is not ours. */
bool trace_get(const struct trace_field *f, const uint8_t *data, size_t len, bool swap,
	       struct trace_value *out) MUST_USE;
/* A number of a list. */
uint64_t trace_list_get(const struct trace_value *v, size_t i);
static inline size_t trace_list_n(const struct trace_value *v)
{
	return v->len / v->element;
}
/* Appends the value: -5, 0xffff8881, bash, [1,2]. */
void trace_put(struct buf *b, const struct trace_value *v);

/* The formats of a recording, by id. */
const struct trace_format *pd_trace_formats(const struct pd *rec, size_t *n);
const struct trace_format *pd_trace_of(const struct pd *rec, const struct pd_event *ev);
/* Whether raw data are of the other byte order: they stay as they were recorded. */
static inline bool pd_trace_swap(const struct pd *rec)
{
	return pd_info(rec)->foreign_order;
}

#endif
