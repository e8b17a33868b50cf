/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_place - places of the addresses of branches. An entry of a stack does not contain its
 * address space.
 */
#include <string.h>

#include "analyse/flow/flow_scan_int.h"

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
	m->of = s;
	m->guest = guest;
}

static struct flow_at of_near(struct flow_map *m, unsigned i, uint64_t ip)
{
	const struct flow_near *o = &m->near[i];

	m->turn = i;
	return (struct flow_at){ ip - o->less, o->where };
}

/* It answers for the rest of the sample, and of those after it in the same process and time; of
 * addresses in [lo, hi) alone, all of which are asked for in the same spaces. */
static struct flow_at remember(struct flow_map *m, const struct place *o, uint64_t lo, uint64_t hi,
			       uint64_t ip)
{
	uint64_t start = o->start, end = o->start + o->size;
	unsigned i = m->n_near++ % FLOW_NEAR;

	narrow(&start, &end, lo, hi);
	m->near[i] = (struct flow_near){ start, end - start, o->less,
					 flow_where(o->image, place_kind(o)) };
	place_narrow(o, &m->from, &m->until);
	return of_near(m, i, ip);
}

/* Returns true for the upper half of addresses, which is the kernel's, but for one page. */
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
	const struct place *o;
	uint64_t lo, hi;
	bool high;

	for (unsigned i = 0; i < FLOW_NEAR; i++)
		if (ip - m->near[i].start < m->near[i].size)
			return of_near(m, i, ip);
	high = is_high(ip, &lo, &hi);
	if (!high) {
		/* old kernels' mappings of themselves begin at 0: user space is asked first */
		o = pass_place(m->of, user, ip);
		if (o->image != IMAGE_NONE)
			return remember(m, o, lo, hi, ip);
		narrow(&lo, &hi, o->start, o->start + o->size);
		place_narrow(o, &m->from, &m->until);
	}
	o = pass_place(m->of, kernel, ip);
	if (o->image != IMAGE_NONE)
		return remember(m, o, lo, hi, ip);
	return (struct flow_at){ ip, flow_where(IMAGE_NONE, high ? kernel : SPACE_UNKNOWN) };
}
