/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory_lines - how much of the cache lines of an object is used.
 *
 * Samples see only a part of all accesses. The number of unseen places is estimated from those seen
 * once and twice (Chao 1987, with his interval). A place is as wide as accesses are on average: the
 * bytes of an access are seen together.
 */
#include "analyse/memory/memory_lines_int.h"

#include <math.h>
#include <stdlib.h>

#include "base/invariant.h"

#define LEAST 30 /* samples of an object */

#define WIDEST 0.25 /* an error above is no figure */

static struct lines_piece *find_piece(struct lines_of *o, uint32_t pid, uint64_t address)
{
	uint64_t h = lines_hash(pid, address);
	struct lines_piece *p;
	uint32_t idx;

	for (size_t i = itab_first(&o->at, h); itab_at(&o->at, &i, h, &idx);) {
		p = &o->v.v[idx];
		if (p->address == address && p->pid == pid)
			return p;
	}
	if (itab_put(&o->at, h, o->v.n))
		return NULL;
	p = vec_add(&o->v);
	if (p)
		*p = (struct lines_piece){ .address = address, .pid = pid };
	return p;
}

/* Drops half of the blocks. */
static int thin(struct lines_of *o)
{
	struct itab at = ITAB_INIT;
	size_t n = 0;

	o->shift++;
	for (size_t i = 0; i < o->v.n; i++) {
		struct lines_piece *p = &o->v.v[i];

		if (!lines_are_kept(o, p->pid, p->address))
			continue;
		if (itab_put(&at, lines_hash(p->pid, p->address), n)) {
			itab_free(&at);
			return -1;
		}
		o->v.v[n++] = *p;
	}
	o->v.n = n;
	itab_free(&o->at);
	o->at = at;
	return 0;
}

static int limit(struct lines_of *o)
{
	while (o->v.n > LINES_PIECES && o->shift < 63)
		if (thin(o))
			return -1;
	return 0;
}

static struct lines_of *lines_of(struct memory_lines *w, uint32_t object)
{
	while (w->of.n <= object)
		if (vec_push(&w->of, ((struct lines_of){ .shift = 0 })))
			return NULL;
	return &w->of.v[object];
}

static void see(struct lines_piece *p, uint64_t bytes)
{
	p->seen[2] |= p->seen[1] & bytes;
	p->seen[1] |= p->seen[0] & bytes;
	p->seen[0] |= bytes;
}

static int add_part(struct lines_of *o, uint32_t pid, uint64_t address, unsigned width, bool first)
{
	unsigned at = (unsigned)(address % LINES_PIECE);
	struct lines_piece *p;

	if (!lines_are_kept(o, pid, address))
		return 0;
	p = find_piece(o, pid, address - at);
	if (!p)
		return -1;
	see(p, (width < LINES_PIECE ? (UINT64_C(1) << width) - 1 : UINT64_MAX) << at);
	p->samples += first;
	p->bytes += width;
	return 0;
}

int memory_lines_add_kept(struct memory_lines *w, uint32_t object, const struct memop *op,
			  uint32_t pid)
{
	uint64_t address = op->address;
	unsigned left = op->width;
	struct lines_of *o = lines_of(w, object);

	if (!o)
		return -1;
	o->no_width |= !left;
	while (left) {
		unsigned room = (unsigned)(LINES_PIECE - address % LINES_PIECE);
		unsigned n = left < room ? left : room;

		if (add_part(o, pid, address, n, address == op->address))
			return -1;
		address += n;
		left -= n;
	}
	return limit(o);
}

/* Bytes that were seen at least once, twice, three times: of both together. */
static void join_piece(struct lines_piece *p, const struct lines_piece *x)
{
	const uint64_t a[3] = { p->seen[0], p->seen[1], p->seen[2] };

	p->seen[0] = a[0] | x->seen[0];
	p->seen[1] = a[1] | x->seen[1] | (a[0] & x->seen[0]);
	p->seen[2] = a[2] | x->seen[2] | (a[1] & x->seen[0]) | (a[0] & x->seen[1]);
	p->samples += x->samples;
	p->bytes += x->bytes;
}

int memory_lines_join(struct memory_lines *w, const struct memory_lines *x, const uint32_t *to)
{
	for (size_t i = 0; i < x->of.n; i++) {
		const struct lines_of *from = &x->of.v[i];
		struct lines_of *o = lines_of(w, to[i]);

		if (!o)
			return -1;
		o->no_width |= from->no_width;
		while (o->shift < from->shift)
			if (thin(o))
				return -1;
		vec_each (&from->v, const struct lines_piece *, p) {
			struct lines_piece *mine;

			if (!lines_are_kept(o, p->pid, p->address))
				continue;
			mine = find_piece(o, p->pid, p->address);
			if (!mine)
				return -1;
			join_piece(mine, p);
		}
		if (limit(o))
			return -1;
	}
	return 0;
}

void memory_lines_free(struct memory_lines *w)
{
	vec_each (&w->of, struct lines_of *, o) {
		vec_free(&o->v);
		itab_free(&o->at);
	}
	vec_free(&w->of);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct lines_piece *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void end_line(struct memory_lines_used *u, unsigned seen)
{
	u->lines += seen != 0;
	u->squares += (double)seen * seen;
}

static unsigned count(uint64_t bits)
{
	return (unsigned)__builtin_popcountll(bits);
}

/* The lines of a piece that are smaller than it, or the part of a line that it is. */
static unsigned add_piece(struct memory_lines_used *u, const struct lines_piece *p, uint32_t size,
			  unsigned seen)
{
	u->samples += p->samples;
	u->accessed += p->bytes;
	u->seen += count(p->seen[0]);
	u->once += count(p->seen[0] & ~p->seen[1]);
	u->twice += count(p->seen[1] & ~p->seen[2]);
	if (size >= LINES_PIECE)
		return seen + count(p->seen[0]);
	for (unsigned at = 0; at < LINES_PIECE; at += size)
		end_line(u, count(p->seen[0] >> at & ((UINT64_C(1) << size) - 1)));
	return 0;
}

static void fold_object(struct memory_lines_used *u, struct lines_of *o, uint32_t size)
{
	unsigned seen = 0;

	*u = (struct memory_lines_used){ .size = size,
					 .part = ldexp(1, -(int)o->shift),
					 .no_width = o->no_width };
	vec_sort(&o->v, by_address);
	for (size_t i = 0; i < o->v.n; i++) {
		const struct lines_piece *p = &o->v.v[i];

		if (i && (p->pid != p[-1].pid || p->address / size != p[-1].address / size)) {
			end_line(u, seen);
			seen = 0;
		}
		seen = add_piece(u, p, size, seen);
	}
	end_line(u, seen);
	assert(u->seen <= u->lines * size && u->once + u->twice <= u->seen);
}

void memory_lines_fold(struct memory_lines *w, struct memory_object *object, size_t n,
		       uint32_t line_size)
{
	for (size_t i = 0; i < n && i < w->of.n; i++)
		fold_object(&object[i].lines, &w->of.v[i], line_size);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Returns why nothing is known of the lines; NULL: the seen bytes are. */
static const char *unknown(const struct memory_object *o)
{
	if (o->why)
		return "it is no object";
	if (o->lines.no_width)
		return "the samples do not tell how wide accesses are (IBS does)";
	return o->lines.seen ? NULL : "no load or store with an address";
}

struct estimate memory_lines_seen(const struct memory_object *o)
{
	const struct memory_lines_used *u = &o->lines;
	const char *why = unknown(o);

	if (why)
		return ESTIMATE_NONE(why);
	return (struct estimate){ (double)u->seen / ((double)u->lines * u->size), 0, NULL };
}

/* Returns the number of unseen places; *most: its upper bound (95 %). */
static double unseen_places(double n, double once, double twice, double seen, double *most)
{
	double r, var, places = (n - 1) / n * once * (once - 1) / (2 * (twice + 1));

	*most = 1; /* none was seen only once: a further one may be there */
	if (!(places > 0))
		return 0;
	if (twice > 0) {
		r = once / twice;
		var = twice * (r * r / 2 + r * r * r + r * r * r * r / 4);
	} else {
		var = once * (once - 1) / 2 + once * (2 * once - 1) * (2 * once - 1) / 4 -
		      once * once * once * once / (4 * (seen + places));
	}
	*most = fmax(1, places * exp(Z95 * sqrt(log(1 + fmax(0, var) / (places * places)))));
	return places;
}

struct estimate memory_lines_used(const struct memory_object *o)
{
	const struct memory_lines_used *u = &o->lines;
	const char *why = unknown(o);
	double all = (double)u->lines * u->size, seen = (double)u->seen, width, places, most, mean;
	struct estimate e;

	if (why)
		return ESTIMATE_NONE(why);
	if (u->samples < LEAST)
		return ESTIMATE_NONE("too few samples");
	width = (double)u->accessed / (double)u->samples;
	places = unseen_places((double)u->samples, (double)u->once / width,
			       (double)u->twice / width, seen / width, &most);
	e = (struct estimate){ fmin(1, (seen + places * width) / all), 0, NULL };
	e.half = fmax(fmin(1, (seen + most * width) / all) - e.v, e.v - seen / all);
	if (u->part < 1) { /* lines that were not kept are like these by chance */
		mean = seen / (double)u->lines;
		e.half = hypot(e.half,
			       Z95 / u->size *
				       sqrt(fmax(0, u->squares / (double)u->lines - mean * mean) /
					    (double)u->lines));
	}
	return e.half <= WIDEST ? e : ESTIMATE_NONE("too few samples a line");
}
