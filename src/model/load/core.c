/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of `core`: op NAME LATENCY UOPS..., branches N, repeats NAME..., from TEXT, part NAME VALUE
 * FROM, queue SIZE PORTS FROM.
 */
#include "model/core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/load/model_int.h"

#define FILE_NAME   "core"
#define LATENCY_MAX 1000.0
#define UOPS_MAX    1000u
#define OPS_LIMIT   4096u

static const char letters[CORE_PORTS + 1] = "0123456789ABCDEFabcdefghijklmnop";

char core_port_name(unsigned port)
{
	return letters[port];
}

bool core_port_is_unit(unsigned port)
{
	return port >= CORE_PORTS / 2;
}

static const struct {
	const char *name, *means;
	unsigned most;
} parts[CORE_PARTS] = {
#define CORE_PART(id, name, most, means) [CORE_##id] = { name, means, most },
#include "model/core_part.def"
#undef CORE_PART
};

static const char *const from_names[] = {
	[CORE_NOT_GIVEN] = "not given",
	[CORE_DOCUMENTED] = "documented",
	[CORE_MEASURED] = "measured",
	[CORE_ASSUMED] = "assumed",
};

const char *core_part_name(enum core_part_id part)
{
	return parts[part].name;
}

const char *core_part_means(enum core_part_id part)
{
	return parts[part].means;
}

const char *core_from_name(enum core_from from)
{
	return from_names[from];
}

struct reading {
	struct core *c;
	struct arena *a;
	const struct model_sources *sources;
	VEC(struct core_op) op;
	struct err *err;
};

struct word {
	const char *s;
	size_t len;
};

/* The next word of a line; false at its end. */
static bool next_core_word(const struct line *l, size_t *at, struct word *w)
{
	size_t from = *at, end;

	while (from < l->len && (l->value[from] == ' ' || l->value[from] == '\t'))
		from++;
	for (end = from; end < l->len && l->value[end] != ' ' && l->value[end] != '\t'; end++)
		;
	*at = end;
	*w = (struct word){ l->value + from, end - from };
	return w->len > 0;
}

/* A plain decimal number up to the end of the word or `stop`; how much of the word it is. */
static size_t read_core_number(const char *s, size_t len, double *v)
{
	size_t i = 0;
	double unit = 1;
	bool point = false;

	*v = 0;
	for (; i < len && i < 12; i++) {
		if (s[i] == '.' && !point && i) {
			point = true;
			continue;
		}
		if (s[i] < '0' || s[i] > '9')
			break;
		*v = *v * 10 + (s[i] - '0');
		unit *= point ? 10 : 1;
	}
	*v /= unit;
	return i;
}

static bool latency(const struct word *w, double *low, double *high)
{
	size_t n;

	*low = *high = NAN;
	if (w->len == 1 && *w->s == '?')
		return true;
	n = read_core_number(w->s, w->len, low);
	*high = *low;
	if (n && n < w->len && w->s[n] == '-') {
		size_t m = read_core_number(w->s + n + 1, w->len - n - 1, high);

		n = m ? n + 1 + m : 0;
	}
	return n == w->len && *low <= *high && *high <= LATENCY_MAX;
}

/* "2*01" */
static bool uops(const struct word *w, struct core_uops *u)
{
	double n;
	size_t at = read_core_number(w->s, w->len, &n);

	*u = (struct core_uops){ .n = n <= UOPS_MAX ? (unsigned)n : 0 };
	if (!at || !u->n || n != u->n || at + 1 >= w->len || w->s[at] != '*')
		return false;
	for (size_t i = at + 1; i < w->len; i++) {
		const char *p = w->s[i] ? strchr(letters, w->s[i]) : NULL;

		if (!p)
			return false;
		u->ports |= UINT32_C(1) << (p - letters);
	}
	/* units and ports are not chosen between */
	return (u->ports >> CORE_PORTS / 2 != 0) != ((u->ports & 0xffff) != 0);
}

static int read_uops(struct reading *r, const struct source_text *t, const struct line *l,
		     size_t at, struct core_op *op)
{
	double slots = 0, said = NAN;
	struct word w;

	op->ports_known = true;
	while (next_core_word(l, &at, &w)) {
		struct core_uops u;

		if (w.len == 1 && *w.s == '-')
			continue;
		if (w.len == 1 && *w.s == '?') {
			op->ports_known = false;
			continue;
		}
		if (w.len > 6 && !memcmp(w.s, "slots=", 6) &&
		    read_core_number(w.s + 6, w.len - 6, &said) == w.len - 6)
			continue;
		if (op->n_uops == CORE_UOPS || !uops(&w, &u))
			return line_fail(t, l, w.s, r->err,
					 "expected uops and their ports, like 2*01, or slots=N");
		op->uop[op->n_uops++] = u;
		slots += core_port_is_unit((unsigned)__builtin_ctz(u.ports)) ? 0 : u.n;
	}
	op->slots = !isnan(said) ? said : op->ports_known ? fmax(slots, 1) : NAN;
	return 0;
}

static int read_op(struct reading *r, const struct source_text *t, const struct line *l)
{
	struct core_op op = { .file = t->file, .line = l->number };
	struct word name, lat;
	size_t at = 0;

	if (!next_core_word(l, &at, &name) || !next_core_word(l, &at, &lat) ||
	    !latency(&lat, &op.low, &op.high))
		return line_fail(t, l, l->value, r->err,
				 "expected an operation and its latency: 3, 2-5 or ?");
	op.name = arena_strndup(r->a, name.s, name.len);
	if (!op.name)
		return err_nomem(r->err);
	if (read_uops(r, t, l, at, &op))
		return -1;
	vec_each (&r->op, struct core_op *, old) {
		if (!strcmp(old->name, op.name)) {
			*old = op;
			return 0;
		}
	}
	if (r->op.n >= OPS_LIMIT)
		return err_set(r->err, ERR_LIMIT, "%s: more than %u operations", t->file,
			       OPS_LIMIT);
	return vec_push(&r->op, op) ? err_nomem(r->err) : 0;
}

static int read_repeats(struct reading *r, const struct source_text *t, const struct line *l)
{
	struct word w;
	size_t at = 0;

	vec_each (&r->op, struct core_op *, op)
		op->repeats = false;
	while (next_core_word(l, &at, &w)) {
		bool found = w.len == 1 && *w.s == '-';

		vec_each (&r->op, struct core_op *, op) {
			if (strlen(op->name) != w.len || memcmp(op->name, w.s, w.len) != 0)
				continue;
			op->repeats = found = true;
		}
		if (!found)
			return line_fail(t, l, w.s, r->err,
					 "no operation of this name stands above");
	}
	return 0;
}

static bool word_is(const struct word *w, const char *s)
{
	return strlen(s) == w->len && !memcmp(w->s, s, w->len);
}

static bool read_from(const struct line *l, size_t *at, enum core_from *from)
{
	struct word w;

	if (!next_core_word(l, at, &w))
		return false;
	for (*from = CORE_DOCUMENTED; *from <= CORE_ASSUMED; ++*from)
		if (word_is(&w, from_names[*from]))
			return true;
	return false;
}

static int read_part(struct reading *r, const struct source_text *t, const struct line *l)
{
	struct word name, value;
	enum core_from from;
	size_t at = 0;
	double v;

	if (!next_core_word(l, &at, &name) || !next_core_word(l, &at, &value) ||
	    read_core_number(value.s, value.len, &v) != value.len || !read_from(l, &at, &from))
		return line_fail(t, l, l->value, r->err,
				 "expected a part, its value, and documented, measured or assumed");
	for (size_t i = 0; i < CORE_PARTS; i++) {
		if (!word_is(&name, parts[i].name))
			continue;
		if (v > parts[i].most || v != (unsigned)v)
			return line_fail(t, l, value.s, r->err, "%s is a whole number up to %u",
					 parts[i].name, parts[i].most);
		r->c->part[i] = (unsigned)v;
		r->c->part_from[i] = from;
		return 0;
	}
	return line_fail(t, l, name.s, r->err, "no part of a core is called so");
}

static int read_queue(struct reading *r, const struct source_text *t, const struct line *l)
{
	struct core_queue q = { 0 };
	struct word size, ports;
	size_t at = 0;
	double v;

	if (!next_core_word(l, &at, &size) || !next_core_word(l, &at, &ports) ||
	    read_core_number(size.s, size.len, &v) != size.len || v < 1 || v > 4096 ||
	    !read_from(l, &at, &q.from))
		return line_fail(t, l, l->value, r->err,
				 "expected entries, ports, and documented, measured or assumed");
	q.size = (unsigned)v;
	for (size_t i = 0; i < ports.len; i++) {
		const char *p = ports.s[i] ? strchr(letters, ports.s[i]) : NULL;

		if (!p || p - letters >= CORE_PORTS / 2)
			return line_fail(t, l, ports.s, r->err, "expected ports, like 0156");
		q.ports |= UINT32_C(1) << (p - letters);
	}
	if (r->c->n_queues == CORE_QUEUES)
		return line_fail(t, l, l->key, r->err, "more than %u queues", CORE_QUEUES);
	r->c->queue[r->c->n_queues++] = q;
	return 0;
}

static int read_line(struct reading *r, const struct source_text *t, const struct line *l)
{
	if (line_is(l, "part"))
		return read_part(r, t, l);
	if (line_is(l, "queue"))
		return read_queue(r, t, l);
	if (line_is(l, "op"))
		return read_op(r, t, l);
	if (line_is(l, "repeats"))
		return read_repeats(r, t, l);
	if (line_is(l, "from")) {
		r->c->from = arena_strndup(r->a, l->value, l->len);
		return r->c->from ? 0 : err_nomem(r->err);
	}
	if (line_is(l, "branches") && read_core_number(l->value, l->len, &r->c->branches) == l->len)
		return 0;
	return line_fail(t, l, l->key, r->err,
			 "expected op, branches, repeats, part, queue or from");
}

static int read_core(struct reading *r, const char *id, size_t below, unsigned nest)
{
	struct source_text t;
	struct line l;
	size_t at = 0;
	unsigned line = 0;
	int found = source_read(&t, r->a, r->sources, id, FILE_NAME, below, r->err);

	if (found < 0)
		return -1;
	if (!found) {
		(void)err_set(r->err, ERR_NOT_FOUND,
			      "the model %s does not have what operations cost", id);
		return err_hint(r->err,
				"models/VENDOR/%.60s/core: see doc/model-format.md; --model "
				"names another CPU's",
				id);
	}
	for (bool first = true; line_next(&t, &at, &line, &l); first = false) {
		char base[BASE_TEXT];
		bool own;

		if (!line_is(&l, "base")) {
			if (read_line(r, &t, &l))
				return -1;
			continue;
		}
		if (line_base(base, &t, &l, first ? nest : BASE_LIMIT, r->err))
			return -1;
		own = !strcmp(base, id);
		if (read_core(r, own ? id : base, own ? t.depth : SIZE_MAX, nest + 1))
			return -1;
	}
	return 0;
}

/* Slots a cycle stand in the text `model`. */
static int read_width(struct reading *r, const char *id)
{
	struct source_text t;
	struct line l;
	size_t at = 0;
	unsigned line = 0;
	double width;
	int found = source_read(&t, r->a, r->sources, id, "model", SIZE_MAX, r->err);

	while (found > 0 && line_next(&t, &at, &line, &l))
		if (line_is(&l, "width") && read_core_number(l.value, l.len, &width) == l.len)
			r->c->width = (unsigned)width;
	return found < 0 ? -1 : 0;
}

int core_load(struct core **out, struct arena *a, const struct model_sources *s, const char *id,
	      struct err *err)
{
	struct reading r = { .a = a, .sources = s, .err = err };
	int ret = -1;

	*out = r.c = arena_alloc(a, sizeof(*r.c));
	if (!r.c)
		return err_nomem(err);
	*r.c = (struct core){ .from = "" };
	if (read_core(&r, id, SIZE_MAX, 0) || read_width(&r, id))
		goto out;
	r.c->id = arena_strdup(a, id);
	r.c->op = arena_memdup(a, r.op.v, r.op.n * sizeof(*r.op.v));
	r.c->n = r.op.n;
	ret = r.c->id && (r.c->op || !r.c->n) ? 0 : err_nomem(err);
out:
	vec_free(&r.op);
	return ret;
}

const struct core_op *core_find(const struct core *c, const char *name, unsigned bits)
{
	const struct core_op *plain = NULL;
	char wide[64];

	(void)snprintf(wide, sizeof(wide), "%s.%u", name, bits);
	for (size_t i = 0; i < c->n; i++) {
		if (bits && !strcmp(c->op[i].name, wide))
			return &c->op[i];
		if (!strcmp(c->op[i].name, name))
			plain = &c->op[i];
	}
	return plain;
}

/* ---- results of calibrate ------------------------------------------------------------------- */

bool core_is_measured(const char *key, size_t len)
{
	return len == 7 && !memcmp(key, "latency", 7);
}

static int measured_line(struct core_op *ops, size_t n, const struct source_text *t,
			 const struct line *l, size_t *meant, struct err *err)
{
	struct word name, v, e;
	double cycles, half = 0;
	size_t at = 0;

	if (!next_core_word(l, &at, &name) || !next_core_word(l, &at, &v) ||
	    read_core_number(v.s, v.len, &cycles) != v.len || cycles > LATENCY_MAX ||
	    (next_core_word(l, &at, &e) && read_core_number(e.s, e.len, &half) != e.len))
		return line_fail(t, l, l->value, err,
				 "expected an operation, cycles up to %.0f and their error",
				 LATENCY_MAX);
	for (size_t i = 0; i < n; i++) {
		if (strlen(ops[i].name) != name.len || memcmp(ops[i].name, name.s, name.len) != 0)
			continue;
		ops[i].low = fmax(0, cycles - half);
		ops[i].high = cycles + half;
		ops[i].measured = true;
		++*meant;
		return 0;
	}
	return line_fail(t, l, name.s, err, "no operation is called %.*s",
			 name.len > 60 ? 60 : (int)name.len, name.s);
}

int core_measured(struct core *c, struct arena *a, const char *path, const char *text, size_t len,
		  size_t *n, struct err *err)
{
	struct source_text t = { .s = text, .len = len, .file = arena_strdup(a, path) };
	struct core_op *ops = arena_memdup(a, c->op, c->n * sizeof(*c->op));
	unsigned line = 0;
	struct line l;
	size_t at = 0;

	*n = 0;
	if (!t.file || (!ops && c->n))
		return err_nomem(err);
	while (line_next(&t, &at, &line, &l))
		if (core_is_measured(l.key, l.key_len) && measured_line(ops, c->n, &t, &l, n, err))
			return -1;
	c->op = ops;
	return 0;
}
