/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * types_field - the field of an access to a type.
 *
 * Members can overlap (unions, empty bases), so all that hold the access are looked at, and the one
 * that fits best wins: a scalar as wide as the access, then a wider one, then several fields that
 * a vector register takes at once.
 */
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "symbol/types/types_int.h"

enum { FIT_NONE, FIT_PADDING, FIT_INSIDE, FIT_SEVERAL, FIT_PART, FIT_EXACT };

#define ELEMENT SIZE_MAX /* of an array, instead of a member */

struct search {
	struct types *t;
	uint32_t root;
	uint64_t off, width;
	bool vector;
	unsigned left; /* members to look at */
	/* the best so far */
	int score;
	uint32_t leaf;
	uint64_t start;
	bool several;
	/* the structure that the best one is a bit-field of, and the access in that */
	uint32_t bits_of;
	uint64_t bits_off;
	size_t path[TYPES_MAX_NEST], best[TYPES_MAX_NEST]; /* of types.member, or ELEMENT */
	unsigned best_n;
	struct type_choice *choice; /* of pointers there; NULL: nobody asks */
};

/* How an access `off` bytes into a type that is no structure or array fits. */
static int fit_of_access(const struct search *s, const struct type *y, uint64_t off)
{
	if (!s->width || (!off && y->size == s->width))
		return FIT_EXACT;
	if (off + s->width <= y->size)
		return FIT_PART;
	return s->vector || s->width > 8 ? FIT_SEVERAL : FIT_INSIDE;
}

/* Code cannot get into a structure that its unit only declares. */
static void add_pointer_choice(struct types *t, uint32_t pointer, struct type_choice *c)
{
	uint32_t to = type_target(t, pointer);

	if (t->type.v[to].kind == TYPE_OPAQUE || t->type.v[to].kind == TYPE_FUNCTION ||
	    type_is_declared(t, pointer))
		return;
	for (unsigned i = 0; i < c->n && i < TYPES_MAX_CHOICE; i++)
		if (c->type[i] == to)
			return;
	if (c->n < TYPES_MAX_CHOICE)
		c->type[c->n] = to;
	c->n++;
}

static unsigned elements(const size_t *path, unsigned n)
{
	unsigned res = 0;

	for (unsigned i = 0; i < n; i++)
		res += path[i] == ELEMENT;
	return res;
}

static void keep_best_field(struct search *s, uint32_t leaf, uint64_t start, int score,
			    unsigned depth)
{
	bool same = score == s->score && score && start == s->start && leaf != s->leaf;

	if (s->choice && score == FIT_EXACT && s->t->type.v[leaf].kind == TYPE_POINTER)
		add_pointer_choice(s->t, leaf, s->choice);
	if (same)
		s->several |= s->t->type.v[s->leaf].kind == TYPE_POINTER &&
			      s->t->type.v[leaf].kind == TYPE_POINTER &&
			      type_target(s->t, s->leaf) != type_target(s->t, leaf);
	/* code that gets to one place of an array is rarer than code that gets to a member */
	if (score < s->score ||
	    (score == s->score &&
	     (score != FIT_EXACT || elements(s->path, depth) >= elements(s->best, s->best_n))))
		return;
	s->several &= same;
	s->bits_of = TYPE_NONE;
	s->score = score;
	s->leaf = leaf;
	s->start = start;
	s->best_n = depth;
	memcpy(s->best, s->path, depth * sizeof(*s->path));
}

/* How an access fits the bytes that a bit-field lies in: these, a part of them, or more. */
static int fit_bits(const struct search *s, const struct type_member *m, uint64_t off)
{
	uint64_t from = m->offset, to = from + type_member_bytes(m, 0), end = off + s->width;

	if (off >= to || (s->width ? end <= from : off < from))
		return FIT_NONE;
	if (!s->width || (off == from && end == to))
		return FIT_EXACT;
	return off >= from && end <= to ? FIT_PART : FIT_INSIDE;
}

static void take_bits(struct search *s, uint32_t parent, size_t member, uint64_t start,
		      uint64_t off, unsigned depth)
{
	const struct type_member *m = &s->t->member.v[member];
	int fits = fit_bits(s, m, off);

	s->path[depth] = member;
	if (!fits || fits <= s->score)
		return;
	keep_best_field(s, m->type, start + m->offset, fits, depth + 1);
	s->bits_of = parent;
	s->bits_off = off;
}

/* The access is `off` bytes into a `type` that begins at `start` of the root. */
static void search_in(struct search *s, uint32_t type, uint64_t start, uint64_t off, unsigned depth)
{
	struct types *t = s->t;
	const struct type *y = &t->type.v[type];
	size_t first, n;

	if (depth == TYPES_MAX_NEST)
		return;
	if (y->kind == TYPE_ARRAY) {
		uint32_t to = type_target(t, type);
		uint64_t size = t->type.v[to].size;

		s->path[depth] = ELEMENT;
		if (size)
			search_in(s, to, start, off % size, depth + 1);
		return;
	}
	if (y->kind != TYPE_STRUCT) {
		if (y->kind != TYPE_OPAQUE || off < y->size)
			keep_best_field(s, type, start, fit_of_access(s, y, off), depth);
		return;
	}
	keep_best_field(s, type, start, !off && y->size == s->width ? FIT_SEVERAL : FIT_PADDING,
			depth);
	n = type_members(t, type, &first);
	for (size_t i = 0; i < n && s->left; i++) {
		struct type_member x = t->member.v[first + i];
		bool open;

		s->left--;
		if (x.bits)
			take_bits(s, type, first + i, start, off, depth);
		if (x.bits || off < x.offset)
			continue;
		(void)type_target(t, x.type); /* of arrays: their size */
		/* an array without a length is as long as need be */
		open = t->type.v[x.type].kind == TYPE_ARRAY && !t->type.v[x.type].size;
		if (!open && off - x.offset >= t->type.v[x.type].size)
			continue;
		s->path[depth] = first + i;
		search_in(s, x.type, start + x.offset, off - x.offset, depth + 1);
	}
}

/* Ends in an array without a length: accesses behind the size are to that. */
static bool ends_open(struct types *t, uint32_t type, int64_t off)
{
	size_t first, n = type_members(t, type, &first);

	if (!n)
		return false;
	n += first - 1;
	(void)type_target(t, t->member.v[n].type);
	return t->type.v[t->member.v[n].type].kind == TYPE_ARRAY &&
	       !t->type.v[t->member.v[n].type].size && off >= 0 &&
	       (uint64_t)off >= t->member.v[n].offset;
}

static void search_field(struct search *s, struct types *t, uint32_t root, uint64_t off,
			 const struct effect_mem *m, struct type_choice *choice)
{
	*s = (struct search){ .t = t,
			      .root = root,
			      .off = off,
			      .width = m ? m->width : 0,
			      .vector = m && m->vector,
			      .left = TYPES_MAX_FIELDS,
			      .leaf = TYPE_NONE,
			      .bits_of = TYPE_NONE,
			      .choice = choice };
	search_in(s, root, 0, off, 0);
}

/* The next bit-field that fits as well as the best one, from *i on; NULL: none. */
static const struct type_member *next_bits(const struct search *s, size_t *i)
{
	size_t first, n;

	if (s->bits_of == TYPE_NONE)
		return NULL;
	n = type_members(s->t, s->bits_of, &first);
	while (*i < n) {
		const struct type_member *m = &s->t->member.v[first + (*i)++];

		if (m->bits && fit_bits(s, m, s->bits_off) == s->score)
			return m;
	}
	return NULL;
}

enum type_reach type_reach_of(const struct value *v)
{
	return v->stepped ? REACH_ARRAY : v->indexed ? REACH_INDEX : REACH_ONE;
}

/* Bit-fields that an access covers together are one field, from the first's byte to the last's. */
static void set_bits_extent(const struct search *s, struct type_hit *h)
{
	const struct type_member *m;
	uint64_t from = UINT64_MAX, to = 0;
	size_t i = 0;

	while ((m = next_bits(s, &i)) != NULL) {
		from = m->offset < from ? m->offset : from;
		to = m->offset + type_member_bytes(m, 0) > to ? m->offset + type_member_bytes(m, 0)
							      : to;
	}
	if (!to)
		return;
	h->start = h->start - s->t->member.v[s->best[s->best_n - 1]].offset + from;
	h->size = to - from;
}

void type_hit(struct types *t, uint32_t type, int64_t off, enum type_reach reach,
	      const struct effect_mem *m, struct type_hit *out)
{
	struct search s;
	uint64_t size, at = (uint64_t)off;
	bool one = reach == REACH_ONE || t->type.v[type].kind == TYPE_ARRAY;

	*out = (struct type_hit){ .root = TYPE_NONE };
	for (int i = 0; i < SRC_MAX_CHAIN && t->type.v[type].kind == TYPE_ARRAY; i++) {
		type = type_target(t, type);
		reach = REACH_ARRAY;
	}
	size = t->type.v[type].size;
	if (t->type.v[type].kind == TYPE_OPAQUE || t->type.v[type].kind == TYPE_FUNCTION || !size) {
		out->opaque = true;
		return;
	}
	if ((off < 0 || at >= size) && !ends_open(t, type, off)) {
		int64_t rest = off % (int64_t)size;

		/* the end of a copy of `index` bytes, not an element before */
		if (off < 0 && m && m->plain_index && m->disp == -(int64_t)m->width &&
		    t->type.v[type].kind == TYPE_STRUCT)
			return;
		/* another element of an array; but not of a structure that is part of a larger one,
		 * or that a table of something else lies behind, which code gets to in the same way
		 */
		if (t->type.v[type].kind == TYPE_STRUCT && reach != REACH_ARRAY &&
		    (off >= 0 ||
		     (reach == REACH_ONE && (off < -(int64_t)size || !type_has_end(t, type)))))
			return;
		at = (uint64_t)(rest < 0 ? rest + (int64_t)size : rest);
	}
	search_field(&s, t, type, at, m, NULL);
	/* a field of a structure as it is loaded can be narrower or wider; the target of a pointer
	 * to a scalar cannot be wider: bytes that are read in words are mostly something else,
	 * which the source casts them to */
	if (!s.score || (t->type.v[type].kind != TYPE_STRUCT && s.score == FIT_INSIDE))
		return;
	/* a part of a pointer is none: something else is there; so it is where an index leads by a
	 * pointer to a wider number */
	if (m && s.score == FIT_PART &&
	    (t->type.v[type].kind == TYPE_POINTER || (t->type.v[type].kind != TYPE_STRUCT && !one)))
		return;
	/* nor can one be that reaches behind the structure's end, of which the next element begins
	 * with another field */
	if (m && !m->vector && m->width <= 8 && at + m->width > size && !ends_open(t, type, off))
		return;
	*out = (struct type_hit){ .root = type,
				  .leaf = s.leaf,
				  .off = at,
				  .start = s.start,
				  .size = t->type.v[s.leaf].size,
				  .width = m ? m->width : 0,
				  .vector = m && m->vector,
				  .score = s.score,
				  .several = s.several };
	set_bits_extent(&s, out);
}

bool type_choice(struct types *t, const struct type_hit *h, struct type_choice *out)
{
	const struct effect_mem m = { .width = 8 };
	struct search s;

	*out = (struct type_choice){ .n = 0 };
	search_field(&s, t, h->root, h->off, &m, out);
	return out->n > 0 && out->n <= TYPES_MAX_CHOICE;
}

void type_choose(struct types *t, struct type_choice *c, int64_t off, const struct effect_mem *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++) {
		struct type_hit h;

		type_hit(t, c->type[i], off, REACH_ONE, m, &h);
		if (h.root != TYPE_NONE && h.score >= FIT_PART)
			c->type[n++] = c->type[i];
	}
	c->used = true;
	c->n = n;
}

/* "a", or "a|b": an access to bits of both. */
static void put_bit_fields(struct buf *b, const struct search *s)
{
	const struct type_member *m;
	unsigned n = 0;
	size_t i = 0;

	while ((m = next_bits(s, &i)) != NULL)
		if (m->name && n++ < TYPES_MAX_BITS)
			buf_printf(b, "%s%s", n > 1 ? "|" : b->len ? "." : "", m->name);
	if (n > TYPES_MAX_BITS)
		buf_puts(b, "|...");
}

const char *type_field(struct types *t, const struct type_hit *h)
{
	struct buf b = BUF_INIT;
	const char *out;
	struct search s;
	struct effect_mem m = { .width = h->width, .vector = h->vector };

	search_field(&s, t, h->root, h->off, &m, NULL); /* the same search again */
	for (unsigned i = 0; i < s.best_n; i++) {
		const char *name = s.best[i] == ELEMENT ? NULL : t->member.v[s.best[i]].name;

		if (i + 1 == s.best_n && s.bits_of != TYPE_NONE) {
			put_bit_fields(&b, &s);
			break;
		}
		if (s.best[i] == ELEMENT)
			buf_puts(&b, "[]");
		else if (name)
			buf_printf(&b, "%s%s", b.len ? "." : "", name);
	}
	out = arena_xstrdup(&t->arena, buf_str(&b));
	buf_free(&b);
	return out;
}

/* The largest member that is there; TYPE_NONE: none. */
static uint32_t member_at(struct types *t, uint32_t type, uint64_t *off)
{
	uint32_t found = TYPE_NONE;
	uint64_t rest = 0, most = 0;
	size_t first, n = type_members(t, type, &first);

	for (size_t i = first; i < first + n; i++) {
		struct type_member m = t->member.v[i];
		uint64_t size;
		bool open;

		(void)type_target(t, m.type); /* of arrays: their size */
		if (m.bits)		      /* nothing points to one */
			continue;
		size = t->type.v[m.type].size;
		open = t->type.v[m.type].kind == TYPE_ARRAY && !size;
		if (*off < m.offset || (!open && *off - m.offset >= size) ||
		    (found != TYPE_NONE && size <= most))
			continue;
		found = m.type;
		most = size;
		rest = *off - m.offset;
	}
	*off = rest;
	return found;
}

unsigned type_chain(struct types *t, uint32_t type, int64_t off,
		    struct type_place out[TYPES_MAX_NEST])
{
	uint64_t at = (uint64_t)off;
	unsigned n = 0;

	while (off >= 0 && type != TYPE_NONE && n < TYPES_MAX_NEST) {
		if (t->type.v[type].kind == TYPE_ARRAY) {
			uint32_t to = type_target(t, type);
			uint64_t size = t->type.v[to].size;

			if (!size)
				break;
			at %= size;
			out[n++] = (struct type_place){ type, at };
			type = to;
			continue;
		}
		out[n++] = (struct type_place){ type, at };
		if (t->type.v[type].kind != TYPE_STRUCT)
			break;
		type = member_at(t, type, &at);
	}
	return n;
}
