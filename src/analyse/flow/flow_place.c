/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_place - where the addresses of branches lie. An entry of a stack does not say in which space
 * it is. Most addresses lie where one of the last ones lay: those few spots are good for as long as
 * samples are of the same process and nothing is mapped anew, which is looked at once a sample.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/flow/flow_scan_int.h"
#include "base/big.h"

#define HIGH	     (1ULL << 63)
#define VSYSCALL     0xffffffffff600000ULL /* the one page up there that is user space's */
#define VSYSCALL_END (VSYSCALL + 0x1000)

static void narrow(uint64_t *from, uint64_t *until, uint64_t f, uint64_t u)
{
	if (f > *from)
		*from = f;
	if (u < *until)
		*until = u;
}

int flow_map_init(struct flow_map *m, const struct spaces *sp, struct err *err)
{
	*m = (struct flow_map){ .sp = sp };
	m->spot = big_zeros(FLOW_SPOTS, sizeof(*m->spot));
	return m->spot ? 0 : err_nomem(err);
}

void flow_map_free(struct flow_map *m)
{
	free(m->spot);
	m->spot = NULL;
}

void flow_map_enter(struct flow_map *m, const struct pass_sample *s)
{
	enum space_kind kind = space_kind_of_misc(s->r->misc);
	bool guest = kind == SPACE_GUEST_USER || kind == SPACE_GUEST_KERNEL;

	if (s->who->turn != m->turn_of || guest != m->guest || s->time < m->from ||
	    s->time >= m->until) {
		m->turn_of = s->who->turn;
		m->from = s->who->from;
		m->until = s->who->until;
		m->n_near = 0;
		m->turn = 0;
		memset(m->near, 0, sizeof(m->near));
	}
	m->of = s->who;
	m->time = s->time;
	m->guest = guest;
}

static bool is_kernels(uint8_t kind)
{
	return kind == SPACE_KERNEL || kind == SPACE_GUEST_KERNEL;
}

static const struct flow_spot *spot_of(struct flow_map *m, uint8_t kind, uint64_t ip)
{
	/* mappings of processes are small, those of the kernel large */
	uint64_t whose = is_kernels(kind) ? UINT64_MAX : m->of->proc_index;
	uint64_t h = (ip >> (is_kernels(kind) ? 24 : 18) ^ hash_u64(whose ^ (uint64_t)kind << 40)) *
		     0x9e3779b97f4a7c15ULL;
	struct flow_spot *o = &m->spot[(h >> 32) % FLOW_SPOTS];
	const struct map *map;
	struct space_span span;

	if (o->whose == whose && o->asked == kind && ip - o->start < o->size &&
	    m->time - o->from < o->life)
		return o;
	map = space_find_span(m->sp, m->of->proc, (enum space_kind)kind, ip, m->time, &span);
	if (!is_kernels(kind))
		narrow(&span.from, &span.until, m->of->from, m->of->until);
	*o = (struct flow_spot){ .start = span.start,
				 .size = span.end > span.start ? span.end - span.start : 0,
				 .from = span.from,
				 .life = span.until > span.from ? span.until - span.from : 0,
				 .whose = whose,
				 .less = map ? ip - map_to_image(map, ip) : 0,
				 .where = map ? flow_where(map->image, map->kind)
					      : flow_where(IMAGE_NONE, kind),
				 .asked = kind };
	return o;
}

static struct flow_at of_near(struct flow_map *m, unsigned i, uint64_t ip)
{
	const struct flow_near *o = &m->near[i];

	m->turn = i;
	return (struct flow_at){ ip - o->less, o->where };
}

/* It answers for the rest of the sample, and of those after it in the same process and time; of
 * addresses in [lo, hi) alone, all of which are asked for in the same spaces. */
static struct flow_at remember(struct flow_map *m, const struct flow_spot *o, uint64_t lo,
			       uint64_t hi, uint64_t ip)
{
	uint64_t start = o->start, end = o->start + o->size;
	unsigned i = m->n_near++ % FLOW_NEAR;

	narrow(&start, &end, lo, hi);
	m->near[i] = (struct flow_near){ start, end - start, o->less, o->where };
	narrow(&m->from, &m->until, o->from, o->from + o->life);
	return of_near(m, i, ip);
}

/* The upper half of addresses is the kernel's, but for one page. */
static bool is_high(uint64_t ip, uint64_t *lo, uint64_t *hi)
{
	*lo = 0;
	*hi = HIGH;
	if (ip < HIGH)
		return false;
	*lo = ip < VSYSCALL ? HIGH : ip < VSYSCALL_END ? VSYSCALL : VSYSCALL_END;
	*hi = ip < VSYSCALL ? VSYSCALL : ip < VSYSCALL_END ? VSYSCALL_END : UINT64_MAX;
	return *lo != VSYSCALL;
}

struct flow_at flow_map_ask(struct flow_map *m, uint64_t ip)
{
	const uint8_t user = m->guest ? SPACE_GUEST_USER : SPACE_USER;
	const uint8_t kernel = m->guest ? SPACE_GUEST_KERNEL : SPACE_KERNEL;
	const struct flow_spot *o;
	uint64_t lo, hi;
	bool high;

	for (unsigned i = 0; i < FLOW_NEAR; i++)
		if (ip - m->near[i].start < m->near[i].size)
			return of_near(m, i, ip);
	high = is_high(ip, &lo, &hi);
	if (!high) {
		/* old kernels' mappings of themselves begin at 0: user space is asked first */
		o = spot_of(m, user, ip);
		if ((uint32_t)o->where != IMAGE_NONE)
			return remember(m, o, lo, hi, ip);
		narrow(&lo, &hi, o->start, o->start + o->size);
		narrow(&m->from, &m->until, o->from, o->from + o->life);
	}
	o = spot_of(m, kernel, ip);
	if ((uint32_t)o->where != IMAGE_NONE)
		return remember(m, o, lo, hi, ip);
	return (struct flow_at){ ip, flow_where(IMAGE_NONE, high ? kernel : SPACE_UNKNOWN) };
}
