/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - where addresses of code lie. Readers of samples use this, not the address spaces.
 *
 *	places_init(&t, sp, entries)
 *	o = place_find(&t, &who, kind, ip, time)
 *	... o->image, ip - o->less, place_kind(o) ...
 *	places_free(&t)
 *
 * A table of answers of space_find_span(). An answer holds for a span of addresses and of times, so
 * a small table answers nearly always: some 2 ns, and 100 ns for an answer that is not in it.
 * Answers are direct-mapped, by the upper bits of the address: mappings of the kernel are large,
 * those of processes small. If small mappings drive one another out, fewer bits are left out.
 *
 * A table belongs to one thread. An answer is good until the next question; so are the caller's own
 * fields of it.
 */
#ifndef CYCLADE_SYMBOL_PLACE_H
#define CYCLADE_SYMBOL_PLACE_H

#include "symbol/space.h"

/* Whose addresses. `mark` separates answers by a fact that only the caller knows: it is 0 unless
 * the caller writes to them. */
struct place_who {
	const struct process *proc; /* NULL: none known */
	uint32_t index, mark;	    /* process_index(); UINT32_MAX: none known */
	uint64_t from, until;	    /* the times in which the process is this one */
};

/* A cache line. */
struct place {
	uint64_t start, size; /* for addresses in [start, start + size) */
	uint64_t from, life;  /* and times in [from, from + life) */
	uint64_t whose;	      /* place_whose() */
	uint64_t what;	      /* the kind that was found and asked for; the rest is the caller's */
	uint64_t less;	      /* address in the image = ip - less */
	uint32_t image;	      /* IMAGE_NONE: nothing is mapped there; then less is 0 */
	uint32_t own;	      /* the caller's; 0 in an answer that is new */
};
_Static_assert(sizeof(struct place) == 64, "an answer is a cache line");

/* From these bits on. The others, [0, 32) and [40, 56), are the caller's: 0 in a new answer. */
#define PLACE_ASKED    32
#define PLACE_KIND     56
#define PLACE_SHARED   (1ULL << 63) /* of the map: other processes may have the same memory */
#define PLACE_ABSOLUTE (1ULL << 62) /* of the map */

struct places {
	const struct spaces *sp;
	struct place *v;
	unsigned shift;			  /* of a hash, to its slot */
	struct place_grain {		  /* by enum space_kind */
		uint32_t missed, crowded; /* crowded: of missed, by a neighbour in the grain */
		unsigned shift;		  /* addresses that differ in these bits share a slot */
	} grain[SPACE_UNKNOWN + 1];
};

/* `entries`: a power of two. -1: out of memory. */
int places_init(struct places *t, const struct spaces *sp, size_t entries) MUST_USE;
void places_free(struct places *t);
/* An answer that was not there, written to its slot. */
void place_ask(struct places *t, struct place *o, const struct place_who *who, uint8_t kind,
	       uint64_t ip, uint64_t time);

static inline bool place_is_kernels(uint8_t kind)
{
	return kind == SPACE_KERNEL || kind == SPACE_GUEST_KERNEL;
}

/* The kernel is the same for all processes. */
static inline uint64_t place_whose(const struct place_who *who, uint8_t kind)
{
	return (uint64_t)(place_is_kernels(kind) ? who->mark : who->index) << 32 | who->mark;
}

static inline uint64_t place_hash(uint64_t whose, uint8_t kind)
{
	return hash_u64(whose ^ (uint64_t)kind << 24);
}

/* `shift`: of the kind's grain. */
static inline struct place *place_slot(const struct places *t, uint64_t hash, uint64_t shift,
				       uint64_t ip)
{
	return &t->v[((ip >> shift ^ hash) * 0x9e3779b97f4a7c15ULL) >> t->shift];
}

/* If it is of this process and kind: does it hold there and then? */
static inline bool place_holds(const struct place *o, uint64_t ip, uint64_t time)
{
	return ip - o->start < o->size && time - o->from < o->life;
}

static inline bool place_answers(const struct place *o, uint64_t whose, uint8_t kind, uint64_t ip,
				 uint64_t time)
{
	return o->whose == whose && (uint8_t)(o->what >> PLACE_ASKED) == kind &&
	       place_holds(o, ip, time);
}

/* The kind of space that the mapping is of; the one that was asked for if there is none. */
static inline uint8_t place_kind(const struct place *o)
{
	return o->what >> PLACE_KIND & 0x3f;
}

static inline struct place *place_find(struct places *t, const struct place_who *who, uint8_t kind,
				       uint64_t ip, uint64_t time)
{
	uint64_t whose = place_whose(who, kind);
	struct place *o = place_slot(t, place_hash(whose, kind), t->grain[kind].shift, ip);

	if (!place_answers(o, whose, kind, ip, time))
		place_ask(t, o, who, kind, ip, time);
	return o;
}

/* Narrows a span of times to that in which the answer holds. */
static inline void place_narrow(const struct place *o, uint64_t *from, uint64_t *until)
{
	if (o->from > *from)
		*from = o->from;
	if (o->from + o->life < *until)
		*until = o->from + o->life;
}

#endif
