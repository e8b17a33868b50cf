/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout of TRACING_DATA: see collect/events/tracing.c, which writes it.
 *
 * A field's line: "field:TYPE NAME;\toffset:N;\tsize:N;\tsigned:N;", the last one since 2.6.33.
 * NAME may have brackets, "[16]" or "[TASK_COMM_LEN]"; TYPE too: "__data_loc char[] name".
 */
#include "perfdata/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "perfdata/perfdata_int.h"

#define FIELDS_MAX 1024u

struct piece {
	const char *s;
	size_t len;
};

typedef VEC(struct trace_field) field_vec;

static bool piece_is(struct piece p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct piece trimmed(struct piece p)
{
	for (; p.len && is_blank(*p.s); p.s++)
		p.len--;
	while (p.len && is_blank(p.s[p.len - 1]))
		p.len--;
	return p;
}

/* Takes what stands before the mark off `p`; all of it, if there is no mark. */
static struct piece cut_at(struct piece *p, char mark)
{
	const char *at = p->len ? memchr(p->s, mark, p->len) : NULL;
	struct piece head = { p->s, at ? (size_t)(at - p->s) : p->len };
	size_t used = head.len + !!at;

	p->s += used;
	p->len -= used;
	return head;
}

static bool take_word(struct piece *p, const char *word)
{
	size_t n = strlen(word);

	if (p->len < n || memcmp(p->s, word, n) != 0)
		return false;
	p->s += n;
	p->len -= n;
	return true;
}

/* A decimal number below 2^32, and nothing else. */
static bool number_of(struct piece p, uint32_t *out)
{
	uint64_t v = 0;

	p = trimmed(p);
	if (!p.len || p.len > 10)
		return false;
	for (size_t i = 0; i < p.len; i++) {
		if (p.s[i] < '0' || p.s[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(p.s[i] - '0');
	}
	*out = (uint32_t)v;
	return v <= UINT32_MAX;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Bytes of a number of that type; 0: a struct, or not known. */
static uint8_t type_size(struct piece type, unsigned long_size)
{
	static const struct {
		const char *word;
		uint8_t size;
	} words[] = { { "char", 1 },	 { "bool", 1 },	    { "u8", 1 },       { "s8", 1 },
		      { "__u8", 1 },	 { "__s8", 1 },	    { "uint8_t", 1 },  { "int8_t", 1 },
		      { "short", 2 },	 { "u16", 2 },	    { "s16", 2 },      { "__u16", 2 },
		      { "__s16", 2 },	 { "__be16", 2 },   { "__le16", 2 },   { "uint16_t", 2 },
		      { "int", 4 },	 { "unsigned", 4 }, { "u32", 4 },      { "s32", 4 },
		      { "__u32", 4 },	 { "__s32", 4 },    { "__be32", 4 },   { "__le32", 4 },
		      { "uint32_t", 4 }, { "int32_t", 4 },  { "pid_t", 4 },    { "dev_t", 4 },
		      { "u64", 8 },	 { "s64", 8 },	    { "__u64", 8 },    { "__s64", 8 },
		      { "__be64", 8 },	 { "__le64", 8 },   { "uint64_t", 8 }, { "int64_t", 8 },
		      { "loff_t", 8 } };
	unsigned longs = 0;
	uint8_t size = 0;
	bool is_enum = false;

	while (type.len) {
		struct piece w = cut_at(&type, ' ');

		is_enum |= piece_is(w, "enum");
		longs += piece_is(w, "long");
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			/* "short int", "long int" */
			if (piece_is(w, words[i].word) && (words[i].size != 4 || !size))
				size = words[i].size;
		if (piece_is(w, "size_t") || piece_is(w, "ssize_t") || piece_is(w, "cpumask_t"))
			longs++;
	}
	return is_enum ? 4 : longs > 1 ? 8 : longs ? (uint8_t)long_size : size;
}

static bool has_word(struct piece type, const char *word)
{
	while (type.len)
		if (piece_is(cut_at(&type, ' '), word))
			return true;
	return false;
}

/* As type_size() has it, of those with a sign. */
static bool type_signed(struct piece type)
{
	struct piece rest = type;

	if (has_word(type, "unsigned") || has_word(type, "bool") || has_word(type, "size_t"))
		return false;
	while (rest.len) {
		struct piece w = cut_at(&rest, ' ');

		if ((w.len > 1 && w.s[0] == 'u' && w.s[1] >= '0' && w.s[1] <= '9') ||
		    take_word(&w, "__u") || take_word(&w, "uint"))
			return false;
	}
	return true;
}

/* ---- one field ------------------------------------------------------------------------------- */

/* "char comm[16]", taken apart. `count` may be no number. */
struct declared {
	struct piece type, name, count;
	bool array;
};

static bool take_declaration(struct piece p, struct declared *d)
{
	size_t at;

	*d = (struct declared){ .array = false };
	p = trimmed(p);
	if (p.len && p.s[p.len - 1] == ']') {
		const char *open = memchr(p.s, '[', p.len);

		if (!open)
			return false;
		d->count = (struct piece){ open + 1, (size_t)(p.s + p.len - 1 - (open + 1)) };
		p.len = (size_t)(open - p.s);
		d->array = true;
	}
	p = trimmed(p);
	for (at = p.len; at && !is_blank(p.s[at - 1]) && p.s[at - 1] != '*' && p.s[at - 1] != ']';)
		at--;
	d->name = (struct piece){ p.s + at, p.len - at };
	d->type = trimmed((struct piece){ p.s, at });
	if (d->type.len > 1 && d->type.s[d->type.len - 1] == ']') { /* char[] name */
		const char *open = memchr(d->type.s, '[', d->type.len);

		if (!open)
			return false;
		d->count = (struct piece){ open + 1,
					   (size_t)(d->type.s + d->type.len - 1 - (open + 1)) };
		d->type = trimmed((struct piece){ d->type.s, (size_t)(open - d->type.s) });
		d->array = true;
	}
	return d->name.len && d->type.len;
}

static bool is_width(uint64_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static void set_kind(struct trace_field *f, const struct declared *d, int sign, unsigned long_size)
{
	bool pointer = d->type.s[d->type.len - 1] == '*';
	uint8_t by_type = pointer ? (uint8_t)long_size : type_size(d->type, long_size);
	bool text = !pointer && has_word(d->type, "char") && !has_word(d->type, "unsigned") &&
		    !has_word(d->type, "signed");
	uint32_t count;

	f->is_signed = sign >= 0 ? sign : type_signed(d->type);
	if (!d->array && f->place == TRACE_HERE && is_width(f->size)) {
		f->element = (uint8_t)f->size;
		f->kind = pointer ? TRACE_POINTER : f->is_signed ? TRACE_SIGNED : TRACE_UNSIGNED;
		return;
	}
	f->kind = text ? TRACE_TEXT : TRACE_LIST;
	f->element = by_type && d->array ? by_type : 1;
	if (f->place == TRACE_HERE && d->array && number_of(d->count, &count) && count &&
	    !(f->size % count) && is_width(f->size / count))
		f->element = (uint8_t)(f->size / count);
	if (text)
		f->element = 1;
	/* a list's elements: the sign is that of the word that leads there */
	if (f->place != TRACE_HERE)
		f->is_signed = type_signed(d->type);
}

/* 1: it is a field; 0: it is none; -1: out of memory. */
static int take_field(struct trace_field *f, struct arena *a, struct piece line, bool common,
		      unsigned long_size)
{
	struct piece declaration;
	struct declared d;
	int sign = -1;
	bool has_offset = false, has_size = false;

	line = trimmed(line);
	if (!take_word(&line, "field:") && !take_word(&line, "field special:"))
		return 0;
	declaration = trimmed(cut_at(&line, ';'));
	*f = (struct trace_field){ .common = common };
	if (take_word(&declaration, "__data_loc "))
		f->place = TRACE_DATA_LOC;
	else if (take_word(&declaration, "__rel_loc "))
		f->place = TRACE_REL_LOC;
	while (line.len) {
		struct piece p = trimmed(cut_at(&line, ';'));
		uint32_t n;

		if (take_word(&p, "offset:"))
			has_offset = number_of(p, &f->offset);
		else if (take_word(&p, "size:"))
			has_size = number_of(p, &f->size);
		else if (take_word(&p, "signed:") && number_of(p, &n))
			sign = n != 0;
	}
	if (!has_offset || !has_size || !take_declaration(declaration, &d) ||
	    (f->place != TRACE_HERE && f->size != 4))
		return 0;
	set_kind(f, &d, sign, long_size);
	f->name = arena_strndup(a, d.name.s, d.name.len);
	f->type = arena_strndup(a, d.type.s, d.type.len);
	return f->name && f->type ? 1 : -1;
}

static int take_print(struct trace_format *out, struct arena *a, struct piece line)
{
	out->print = arena_strndup(a, line.s, line.len);
	return out->print ? 0 : -1;
}

int trace_format_read(struct trace_format *out, struct arena *a, const char *text, size_t len,
		      unsigned long_size)
{
	struct piece rest = { text, len };
	field_vec v = VEC_INIT;
	bool common = true;
	int rc = -1;

	*out = (struct trace_format){ .system = "", .name = "" };
	if (!is_width(long_size))
		long_size = 8;
	while (rest.len) {
		struct piece line = cut_at(&rest, '\n'), p = line;
		struct trace_field f;
		uint32_t id;
		int got;

		if (take_word(&p, "name:")) {
			p = trimmed(p);
			out->name = arena_strndup(a, p.s, p.len);
			if (!out->name)
				goto out;
		} else if (take_word(&p, "ID:")) {
			if (number_of(p, &id))
				out->id = id;
		} else if (take_word(&p, "print fmt: ")) {
			if (take_print(out, a, p))
				goto out;
		} else if (!trimmed(line).len && v.n) {
			common = false; /* an empty line is behind the common ones */
		} else {
			got = v.n < FIELDS_MAX ? take_field(&f, a, line, common, long_size) : 0;
			if (got < 0 || (got && vec_push(&v, f)))
				goto out;
		}
	}
	out->n = v.n;
	out->field = v.n ? arena_memdup(a, v.v, v.n * sizeof(*v.v)) : NULL;
	rc = v.n && !out->field ? -1 : 0;
out:
	vec_free(&v);
	return rc;
}

const struct trace_field *trace_field_of(const struct trace_format *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->field[i].name, name))
			return &f->field[i];
	return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t load_number(const uint8_t *p, unsigned size, bool is_signed, bool swap)
{
	uint16_t h;
	uint32_t w;
	uint64_t d;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int64_t)(int8_t)*p : *p;
	case 2:
		h = swap ? __builtin_bswap16(ld16(p)) : ld16(p);
		return is_signed ? (uint64_t)(int64_t)(int16_t)h : h;
	case 4:
		w = swap ? __builtin_bswap32(ld32(p)) : ld32(p);
		return is_signed ? (uint64_t)(int64_t)(int32_t)w : w;
	default:
		d = ld64(p);
		return swap ? __builtin_bswap64(d) : d;
	}
}

bool trace_get(const struct trace_field *f, const uint8_t *data, size_t len, bool swap,
	       struct trace_value *out)
{
	uint64_t at = f->offset, size = f->size;

	*out = (struct trace_value){ .kind = (enum trace_kind)f->kind,
				     .element = f->element,
				     .is_signed = f->is_signed,
				     .swap = swap };
	if (at > len || size > len - at) {
		/* an array at the end may be shorter than declared */
		if (at > len || f->place != TRACE_HERE || f->kind < TRACE_TEXT)
			return false;
		size = len - at;
	}
	if (f->place != TRACE_HERE) {
		uint64_t where = load_number(data + at, 4, false, swap);

		at = (where & 0xffff) + (f->place == TRACE_REL_LOC ? at + 4 : 0);
		size = where >> 16;
		if (at > len || size > len - at)
			return false;
	}
	if (f->kind < TRACE_TEXT) {
		out->n = load_number(data + at, f->element, f->kind == TRACE_SIGNED, swap);
		return true;
	}
	out->p = data + at;
	out->len = f->kind == TRACE_TEXT ? strnlen((const char *)out->p, (size_t)size)
					 : (size_t)size - (size_t)size % f->element;
	return true;
}

uint64_t trace_list_get(const struct trace_value *v, size_t i)
{
	return load_number(v->p + i * v->element, v->element, v->is_signed, v->swap);
}

static void put_number(struct buf *b, uint64_t n, bool is_signed)
{
	if (is_signed)
		buf_printf(b, "%lld", (long long)n);
	else
		buf_printf(b, "%llu", (unsigned long long)n);
}

void trace_put(struct buf *b, const struct trace_value *v)
{
	switch (v->kind) {
	case TRACE_SIGNED:
	case TRACE_UNSIGNED:
		put_number(b, v->n, v->kind == TRACE_SIGNED);
		return;
	case TRACE_POINTER:
		buf_printf(b, "0x%llx", (unsigned long long)v->n);
		return;
	case TRACE_TEXT:
		buf_put(b, v->p, v->len);
		return;
	case TRACE_LIST:
		break;
	}
	buf_putc(b, '[');
	for (size_t i = 0; i < trace_list_n(v); i++) {
		if (i)
			buf_putc(b, ',');
		put_number(b, trace_list_get(v, i), v->is_signed);
	}
	buf_putc(b, ']');
}

/* ---- all formats of a recording -------------------------------------------------------------- */

struct formats {
	struct pd *rec;
	struct cur c;
	unsigned long_size;
	bool nomem;
};

/* Passes over so many bytes and a text that names them. */
static void pass_text(struct formats *t, const char *name)
{
	const char *s = cur_take(&t->c, strlen(name) + 1);

	if (s && memcmp(s, name, strlen(name) + 1) != 0)
		t->c.bad = true;
	(void)cur_take(&t->c, cur_u64(&t->c));
}

static const char *take_name(struct formats *t)
{
	size_t len = strnlen((const char *)t->c.p, cur_left(&t->c));
	const char *s = cur_take(&t->c, len + 1), *copy;

	copy = s ? arena_strndup(&t->rec->arena, s, len) : "";
	t->nomem |= !copy;
	return copy ? copy : "";
}

static void take_formats(struct formats *t, const char *system)
{
	uint32_t n = cur_u32(&t->c);

	for (uint32_t i = 0; i < n && !t->c.bad && !t->nomem; i++) {
		uint64_t size = cur_u64(&t->c);
		const char *text = cur_take(&t->c, size);
		struct trace_format f;

		if (!text)
			return;
		if (trace_format_read(&f, &t->rec->arena, text, (size_t)size, t->long_size)) {
			t->nomem = true;
			return;
		}
		f.system = system;
		t->nomem |= vec_push(&t->rec->formats, f) != 0;
	}
}

static int by_id(const void *pa, const void *pb)
{
	const struct trace_format *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

int pd_take_tracing(struct pd *rec, const uint8_t *p, size_t len)
{
	static const char magic[] = "\x17\x08\x44tracing";
	struct formats t = { .rec = rec, .c = cur_of(p, len) };
	const void *s = cur_take(&t.c, sizeof(magic) - 1);
	uint32_t systems;

	if (!s || memcmp(s, magic, sizeof(magic) - 1) != 0)
		return -1;
	(void)take_name(&t); /* the version */
	t.c.swap = cur_u8(&t.c) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	t.long_size = cur_u8(&t.c);
	(void)cur_u32(&t.c); /* the size of a page */
	pass_text(&t, "header_page");
	pass_text(&t, "header_event");
	take_formats(&t, "ftrace");
	systems = cur_u32(&t.c);
	for (uint32_t i = 0; i < systems && !t.c.bad && !t.nomem; i++)
		take_formats(&t, take_name(&t));
	/* kallsyms, texts of trace_printk() and names of threads are not needed */
	if (rec->formats.n)
		qsort(rec->formats.v, rec->formats.n, sizeof(*rec->formats.v), by_id);
	return t.nomem ? 1 : t.c.bad ? -1 : 0;
}

const struct trace_format *pd_trace_formats(const struct pd *rec, size_t *n)
{
	*n = rec->formats.n;
	return rec->formats.v;
}

const struct trace_format *pd_trace_of(const struct pd *rec, const struct pd_event *ev)
{
	const struct trace_format key = { .id = ev->attr.config };

	if (ev->attr.type != PERF_TYPE_TRACEPOINT || !rec->formats.n)
		return NULL;
	return bsearch(&key, rec->formats.v, rec->formats.n, sizeof(key), by_id);
}
