/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of the kernel "address" summed up: are their addresses those that registers give?
 */
#include <assert.h>
#include <math.h>

#include "measure/validate_address.h"

#define V(id, key) key,
const char *const validate_address_key[] = { VALIDATE_ADDRESSES };
#undef V

#define NEAR 128u /* bytes around the loads: the kernel's loop, not who calls it */

struct facts {				/* about a sample */
	bool in_loop;			/* of the kernel, which counts nothing but loads */
	const struct kernel_load *load; /* NULL: it is at none */
	bool behind_ip;			/* it is at the instruction behind */
	bool gives;			/* registers give an address in the kernel's memory */
	bool lost;	/* they are those behind the load: the base is the loaded word */
	uint64_t right; /* the load's address; 0: not known */
};

static uint64_t reg_of(const struct validate_address_place *p, const struct validate_seen *x,
		       unsigned reg)
{
	unsigned before = (unsigned)__builtin_popcountll(p->regs & ((UINT64_C(1) << reg) - 1));

	return before < VALIDATE_REGS ? x->reg[before] : 0;
}

static bool is_address_inside(const struct validate_address_place *p, uint64_t at)
{
	return at >= p->memory && at - p->memory < p->bytes;
}

static struct facts facts_of(const struct validate_address_place *p, const struct validate_seen *x)
{
	const uint64_t from = p->k->load[0].load - NEAR, to = p->k->load[1].after + NEAR;
	struct facts f = { .in_loop = !p->all && x->ip >= from && x->ip < to };
	uint64_t base, given, loaded;

	for (size_t i = 0; i < 2; i++)
		if (x->ip == p->k->load[i].load || x->ip == p->k->load[i].after)
			f.load = &p->k->load[i];
	if (!f.load)
		return f;
	f.behind_ip = x->ip == f.load->after;
	if (!x->has_regs)
		return f;
	base = reg_of(p, x, f.load->base);
	given = kernel_load_address(f.load, base, reg_of(p, x, f.load->index));
	loaded = kernel_word_of(base);
	f.gives = is_address_inside(p, given);
	f.lost = !f.gives && f.load->overwrites && is_address_inside(p, loaded);
	f.right = f.gives ? given : f.lost ? loaded : 0;
	return f;
}

/* ---- shares: 1 or 0, and -1 for a sample that does not count -------------------------------- */

typedef signed char (*question)(const struct validate_address_place *p,
				const struct validate_seen *x, const struct facts *f);

static signed char is_address_at(const struct validate_address_place *p,
				 const struct validate_seen *x, const struct facts *f)
{
	(void)p, (void)x;
	return f->load ? !f->behind_ip : f->in_loop ? 0 : -1;
}

static signed char is_next(const struct validate_address_place *p, const struct validate_seen *x,
			   const struct facts *f)
{
	(void)p, (void)x;
	return f->load ? f->behind_ip : f->in_loop ? 0 : -1;
}

static signed char is_kept(const struct validate_address_place *p, const struct validate_seen *x,
			   const struct facts *f)
{
	(void)p;
	return !f->load || f->load->overwrites ? -1 : f->gives && x->addr == f->right;
}

static signed char is_overwritten(const struct validate_address_place *p,
				  const struct validate_seen *x, const struct facts *f)
{
	(void)p;
	return !f->load || !f->load->overwrites ? -1 : f->gives && x->addr == f->right;
}

static signed char is_given(const struct validate_address_place *p, const struct validate_seen *x,
			    const struct facts *f)
{
	(void)p, (void)x;
	return !f->load || f->load->overwrites ? -1 : f->gives;
}

static signed char is_before(const struct validate_address_place *p, const struct validate_seen *x,
			     const struct facts *f)
{
	(void)p, (void)x;
	return !f->load || !f->load->overwrites ? -1 : f->gives;
}

static signed char is_behind(const struct validate_address_place *p, const struct validate_seen *x,
			     const struct facts *f)
{
	(void)p, (void)x;
	return !f->load || !f->load->overwrites ? -1 : f->lost;
}

static signed char has_address(const struct validate_address_place *p,
			       const struct validate_seen *x, const struct facts *f)
{
	(void)p;
	return f->load ? x->addr != 0 : -1;
}

/* If registers give none, an address elsewhere is wrong, and no other can be checked. */
static signed char is_address_right(const struct validate_address_place *p,
				    const struct validate_seen *x, const struct facts *f)
{
	if (!f->load || !x->addr)
		return -1;
	if (!f->right)
		return is_address_inside(p, x->addr) ? -1 : 0;
	return x->addr == f->right;
}

struct samples {
	const struct validate_address_place *p;
	const struct validate_seen *seen;
	size_t n;
};

static struct estimate share_of_addresses(const struct samples *s, question q, const char *none)
{
	signed char hit[VALIDATE_SAMPLES];

	for (size_t i = 0; i < s->n; i++) {
		struct facts f = facts_of(s->p, &s->seen[i]);

		hit[i] = q(s->p, &s->seen[i], &f);
	}
	return validate_share(hit, s->n, none);
}

/* ---- patterns of wrong addresses ------------------------------------------------------------- */

static void addresses_differ(struct validate_address *out, const struct samples *s)
{
	bool fixed = true, line = true, page = true, any = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct validate_seen *x = &s->seen[i];
		struct facts f = facts_of(s->p, x);
		int64_t by = (int64_t)(x->addr - f.right);

		if (!f.load || !x->addr || !f.right || !by)
			continue;
		if (!any)
			out->by = by;
		any = true;
		fixed &= by == out->by;
		line &= x->addr == (f.right & ~UINT64_C(63));
		page &= x->addr == (f.right & ~UINT64_C(4095));
	}
	out->off = !any	   ? OFF_NOTHING
		   : page  ? OFF_PAGE
		   : line  ? OFF_LINE
		   : fixed ? OFF_FIXED
			   : OFF_VARIES;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static bool below(struct estimate e)
{
	return !isnan(e.v) && e.v + e.half < VALIDATE_ADDRESS_LEAST;
}

static enum validate_address_verdict
judge_addresses(const struct validate_address *o, const struct samples *s, struct estimate address)
{
	if (isnan(address.v)) /* no sample at a load */
		return s->p->all ? ADDRESS_UNTESTED : ADDRESS_SKIDS;
	if (below(o->right))
		return ADDRESS_WRONG;
	if (below(address))
		return ADDRESS_NONE;
	if (below(share_of_addresses(s, is_given, "")))
		return ADDRESS_LATER;
	if (below(o->at))
		return ADDRESS_SKIDS;
	if (below(share_of_addresses(s, is_before, "")))
		return below(o->behind) ? ADDRESS_LATER : ADDRESS_BEHIND;
	return ADDRESS_RIGHT;
}

void validate_address_sum(struct validate_address *out, const struct validate_address_place *p,
			  const struct validate_seen *seen, size_t n)
{
	static const char nowhere[] = "no sample is at these loads";
	const struct samples s = { p, seen, n };
	const char *none = out->why ? out->why : nowhere;
	struct estimate address;

	assert(n <= VALIDATE_SAMPLES);
	out->samples = n;
	out->outside = 0;
	for (size_t i = 0; i < n; i++)
		out->outside += !facts_of(p, &seen[i]).load;
	out->at = share_of_addresses(&s, is_address_at, none);
	out->next = share_of_addresses(&s, is_next, none);
	out->kept = share_of_addresses(&s, is_kept, none);
	out->overwritten = share_of_addresses(&s, is_overwritten, none);
	out->behind = share_of_addresses(&s, is_behind, none);
	out->right = share_of_addresses(&s, is_address_right,
					out->why ? out->why : "no address could be checked");
	addresses_differ(out, &s);
	out->verdict = ADDRESS_UNTESTED;
	if (out->why)
		return;
	address = share_of_addresses(&s, has_address, "");
	if (out->precise == 0 && !isnan(address.v) && address.v <= 0) {
		out->why = "it is not precise here: its samples have no address";
		return;
	}
	out->verdict = judge_addresses(out, &s, address);
	if (out->verdict == ADDRESS_UNTESTED)
		out->why = nowhere;
}
