/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample - SAMPLE records taken apart: which event, which fields, where.
 *
 * pd_layout has the places of the fields of fixed size; behind them those of varying size follow
 * one another, each with its own length. A length that does not fit ends the parse there: the
 * fields before it are good, it and those behind it are left out of `has`.
 */
#include "perfdata/perfdata_int.h"

int pd_sample_event(const struct pd *rec, const struct pd_record *r)
{
	const uint64_t *v;

	if (rec->events.n == 1)
		return r->size >= rec->events.v[0].at.fixed_end ? 0 : -1;
	if (!rec->id_at)
		return rec->events.n ? 0 : -1;
	if (r->size < rec->id_at + 8)
		return -1;
	v = u64map_find(&rec->ids, ld64(r->p + rec->id_at));
	return v ? (int)*v : -1;
}

int pd_id_event(const struct pd *rec, uint64_t id)
{
	const uint64_t *v = u64map_find(&rec->ids, id);

	return v ? (int)*v : -1;
}

/* A cursor of whole u64 steps. */
struct at {
	const uint8_t *p, *end;
};

static bool take_bytes(struct at *c, uint64_t bytes, const uint8_t **out)
{
	if (bytes > (uint64_t)(c->end - c->p))
		return false;
	*out = c->p;
	c->p += bytes;
	return true;
}

static bool take64(struct at *c, uint64_t *out)
{
	const uint8_t *p;

	if (!take_bytes(c, 8, &p))
		return false;
	*out = ld64(p);
	return true;
}

/* An array of `n` elements of `width` bytes, n from outside. */
static bool take_sample_array(struct at *c, uint64_t n, unsigned width, const uint8_t **out)
{
	return n <= (uint64_t)(c->end - c->p) / width && take_bytes(c, n * width, out);
}

static unsigned read_format_width(uint64_t format)
{
	return 8 + 8 * (unsigned)!!(format & PERF_FORMAT_ID) +
	       8 * (unsigned)!!(format & PERF_FORMAT_LOST);
}

static bool get_read(struct at *c, struct pd_sample *s)
{
	uint64_t format = s->event->attr.read_format, n = 1, enabled = 0, running = 0;
	const uint8_t *p = c->p, *rest;

	/* in a group its size stands first, else the one value, which pd_read_get finds again */
	if (!take64(c, &n))
		return false;
	if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) && !take64(c, &enabled))
		return false;
	if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) && !take64(c, &running))
		return false;
	if (format & PERF_FORMAT_GROUP) {
		if (!take_sample_array(c, n, read_format_width(format), &p))
			return false;
	} else {
		n = 1;
		if (!take_bytes(c, read_format_width(format) - 8, &rest))
			return false;
	}
	s->read_enabled = enabled;
	s->read_running = running;
	s->read = p;
	s->n_read = n;
	return true;
}

struct pd_read pd_read_get(const struct pd_sample *s, uint64_t i)
{
	uint64_t format = s->event->attr.read_format;
	struct pd_read r = { 0 };
	const uint8_t *p = s->read;

	if (!p || i >= s->n_read)
		return r;
	if (format & PERF_FORMAT_GROUP) {
		p += i * read_format_width(format);
		r.value = ld64(p);
		p += 8;
	} else {
		r.value = ld64(p);
		p += 8 + 8 * !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		     8 * !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	}
	if (format & PERF_FORMAT_ID) {
		r.id = ld64(p);
		p += 8;
	}
	if (format & PERF_FORMAT_LOST)
		r.lost = ld64(p);
	return r;
}

static bool get_chain(struct at *c, struct pd_sample *s)
{
	uint64_t n;

	if (!take64(c, &n) || !take_sample_array(c, n, 8, &s->chain))
		return false;
	s->n_chain = n;
	return true;
}

static bool get_raw(struct at *c, struct pd_sample *s)
{
	const uint8_t *p;

	if (!take_bytes(c, 4, &p) || !take_bytes(c, ld32(p), &s->raw))
		return false;
	s->raw_size = ld32(p);
	return true;
}

static bool get_branch(struct at *c, struct pd_sample *s)
{
	uint64_t kind = s->event->attr.branch_sample_type, n, hw_idx = UINT64_MAX;
	const uint8_t *entries, *counters = NULL;

	if (!take64(c, &n))
		return false;
	if ((kind & PERF_SAMPLE_BRANCH_HW_INDEX) && !take64(c, &hw_idx))
		return false;
	if (!take_sample_array(c, n, PD_BRANCH_SIZE, &entries))
		return false;
	if ((kind & CYC_SAMPLE_BRANCH_COUNTERS) && !take_sample_array(c, n, 8, &counters))
		return false;
	s->branch_hw_idx = hw_idx;
	s->branch = entries;
	s->n_branch = n;
	s->branch_counters = counters;
	return true;
}

struct pd_branch pd_branch_get(const struct pd_sample *s, uint64_t i)
{
	struct pd_branch b = { 0 };

	if (!s->branch || i >= s->n_branch)
		return b;
	b = pd_branch_decode(s->branch + i * PD_BRANCH_SIZE);
	if (s->branch_counters)
		b.counters = ld64(s->branch_counters + i * 8);
	return b;
}

static bool get_regs(struct at *c, uint64_t mask, struct pd_regs *out)
{
	uint64_t abi;

	if (!take64(c, &abi) ||
	    (abi && !take_sample_array(c, (uint64_t)__builtin_popcountll(mask), 8, &out->v)))
		return false;
	out->abi = abi;
	out->mask = abi ? mask : 0;
	return true;
}

static bool get_regs_user(struct at *c, struct pd_sample *s)
{
	return get_regs(c, s->event->attr.sample_regs_user, &s->regs_user);
}

static bool get_regs_intr(struct at *c, struct pd_sample *s)
{
	return get_regs(c, s->event->attr.sample_regs_intr, &s->regs_intr);
}

static bool get_stack(struct at *c, struct pd_sample *s)
{
	uint64_t room, used = 0;
	const uint8_t *p;

	if (!take64(c, &room) || !take_bytes(c, room, &p) || (room && !take64(c, &used)))
		return false;
	s->stack = p;
	s->stack_size = used < room ? used : room;
	return true;
}

static bool get_weight(struct at *c, struct pd_sample *s)
{
	return take64(c, &s->weight);
}

static bool get_weight_struct(struct at *c, struct pd_sample *s)
{
	uint64_t v;

	if (!take64(c, &v))
		return false;
	s->weight = (uint32_t)v;
	s->weight2 = (uint16_t)(v >> 32);
	s->weight3 = (uint16_t)(v >> 48);
	return true;
}

#define ONE_NUMBER(field)                                          \
	static bool get_##field(struct at *c, struct pd_sample *s) \
	{                                                          \
		return take64(c, &s->field);                       \
	}
ONE_NUMBER(data_src)
ONE_NUMBER(transaction)
ONE_NUMBER(phys_addr)
ONE_NUMBER(cgroup)
ONE_NUMBER(data_page_size)
ONE_NUMBER(code_page_size)

static bool get_aux(struct at *c, struct pd_sample *s)
{
	uint64_t size;

	if (!take64(c, &size) || !take_bytes(c, size, &s->aux))
		return false;
	s->aux_size = size;
	return true;
}

/* In the order in which the kernel writes them. A getter fills its fields only when all of it fits.
 */
static const struct {
	uint64_t bit;
	bool (*get)(struct at *c, struct pd_sample *s);
} varying[] = {
	{ PERF_SAMPLE_READ, get_read },
	{ PERF_SAMPLE_CALLCHAIN, get_chain },
	{ PERF_SAMPLE_RAW, get_raw },
	{ PERF_SAMPLE_BRANCH_STACK, get_branch },
	{ PERF_SAMPLE_REGS_USER, get_regs_user },
	{ PERF_SAMPLE_STACK_USER, get_stack },
	{ PERF_SAMPLE_WEIGHT, get_weight },
	{ PERF_SAMPLE_WEIGHT_STRUCT, get_weight_struct },
	{ PERF_SAMPLE_DATA_SRC, get_data_src },
	{ PERF_SAMPLE_TRANSACTION, get_transaction },
	{ PERF_SAMPLE_REGS_INTR, get_regs_intr },
	{ PERF_SAMPLE_PHYS_ADDR, get_phys_addr },
	{ PERF_SAMPLE_CGROUP, get_cgroup },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, get_data_page_size },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, get_code_page_size },
	{ PERF_SAMPLE_AUX, get_aux },
};

#define N_VARYING (sizeof(varying) / sizeof(varying[0]))

/* Reads the fields of varying size up to `bit`; `s` has only the fields of their getters. */
static bool read_up_to(uint64_t bit, const struct pd_event *ev, const struct pd_record *r,
		       struct pd_sample *s)
{
	uint64_t type = ev->attr.sample_type;
	struct at c = { r->p + ev->at.fixed_end, r->p + r->size };

	if (!(type & bit) || r->size < ev->at.fixed_end)
		return false;
	s->event = ev;
	for (size_t i = 0; i < N_VARYING; i++) {
		if (type & varying[i].bit && !varying[i].get(&c, s))
			return false;
		if (varying[i].bit == bit)
			break;
	}
	return true;
}

uint64_t pd_sample_cgroup(const struct pd_event *ev, const struct pd_record *r)
{
	struct pd_sample s;

	return read_up_to(PERF_SAMPLE_CGROUP, ev, r, &s) ? s.cgroup : 0;
}

bool pd_raw_find(const struct pd_event *ev, const struct pd_record *r, const uint8_t **raw,
		 size_t *len)
{
	const uint64_t before = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
	struct pd_sample s;

	/* nearly always: right behind the fixed fields */
	if ((ev->attr.sample_type & (PERF_SAMPLE_RAW | before)) == PERF_SAMPLE_RAW) {
		struct at c = { r->p + ev->at.fixed_end, r->p + r->size };

		if (r->size < ev->at.fixed_end || !get_raw(&c, &s))
			return false;
	} else if (!read_up_to(PERF_SAMPLE_RAW, ev, r, &s)) {
		return false;
	}
	*raw = s.raw;
	*len = s.raw_size;
	return true;
}

bool pd_chain_find(const struct pd_event *ev, const struct pd_record *r, const uint8_t **chain,
		   uint64_t *n)
{
	struct pd_sample s;

	if (!read_up_to(PERF_SAMPLE_CALLCHAIN, ev, r, &s))
		return false;
	*chain = s.chain;
	*n = s.n_chain;
	return true;
}

bool pd_branches_find(const struct pd_event *ev, const struct pd_record *r, struct pd_branches *out)
{
	struct pd_sample s;

	*out = (struct pd_branches){ .hw_idx = UINT64_MAX };
	s.branch_counters = NULL;
	if (!read_up_to(PERF_SAMPLE_BRANCH_STACK, ev, r, &s))
		return false;
	out->entry = s.branch;
	out->n = s.n_branch;
	out->counters = s.branch_counters;
	out->hw_idx = s.branch_hw_idx;
	return true;
}

#define FIXED_BITS                                                                                 \
	((uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
		    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
		    PERF_SAMPLE_PERIOD))

static void get_fixed(const struct pd_layout *at, const uint8_t *p, struct pd_sample *s)
{
	if (at->identifier)
		s->id = ld64(p + at->identifier);
	else if (at->id)
		s->id = ld64(p + at->id);
	if (at->ip)
		s->ip = ld64(p + at->ip);
	if (at->tid) {
		s->pid = ld32(p + at->tid);
		s->tid = ld32(p + at->tid + 4);
	}
	if (at->time)
		s->time = ld64(p + at->time);
	if (at->addr)
		s->addr = ld64(p + at->addr);
	if (at->stream_id)
		s->stream_id = ld64(p + at->stream_id);
	if (at->cpu)
		s->cpu = ld32(p + at->cpu);
	if (at->period)
		s->period = ld64(p + at->period);
}

bool pd_user_register(const struct pd_sample *s, uint64_t which, uint64_t *out)
{
	const struct pd_regs *r = &s->regs_user;

	if (!(s->has & PERF_SAMPLE_REGS_USER) || r->abi != PERF_SAMPLE_REGS_ABI_64 ||
	    !(r->mask & which) || !r->v)
		return false;
	*out = ld64(r->v + 8 * __builtin_popcountll(r->mask & (which - 1)));
	return true;
}

int pd_sample_parse_of(const struct pd_event *ev, const struct pd_record *r, struct pd_sample *out)
{
	uint64_t type = ev->attr.sample_type;
	struct at c;

	if (r->size < ev->at.fixed_end)
		return -1;
	memset(out, 0, sizeof(*out));
	out->event = ev;
	out->cpumode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	out->branch_hw_idx = UINT64_MAX;
	out->has = type & FIXED_BITS;
	get_fixed(&ev->at, r->p, out);
	if (!ev->at.period)
		out->period = ev->attr.freq	       ? 1
			      : ev->attr.sample_period ? ev->attr.sample_period
						       : 1;
	c.p = r->p + ev->at.fixed_end;
	c.end = r->p + r->size;
	for (size_t i = 0; i < N_VARYING; i++) {
		if (!(type & varying[i].bit))
			continue;
		if (!varying[i].get(&c, out))
			break;
		out->has |= varying[i].bit;
	}
	return 0;
}

/* The fixed fields that a sample can do without, each of 8 bytes. */
static uint8_t *copy_fixed(uint8_t *to, const struct pd_layout *at, const uint8_t *p, uint64_t drop)
{
	const struct {
		uint64_t bit;
		uint16_t at;
	} rows[] = { { PERF_SAMPLE_ADDR, at->addr },
		     { PERF_SAMPLE_CPU, at->cpu },
		     { PERF_SAMPLE_PERIOD, at->period } };
	uint16_t from = sizeof(struct perf_event_header);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!(drop & rows[i].bit) || !rows[i].at)
			continue;
		memcpy(to, p + from, (size_t)(rows[i].at - from));
		to += rows[i].at - from;
		from = (uint16_t)(rows[i].at + 8);
	}
	memcpy(to, p + from, (size_t)(at->fixed_end - from));
	return to + (at->fixed_end - from);
}

/* Words behind a call chain, in place of its last ones. */
struct chain_end {
	size_t cut;
	const void *words;
	size_t n;
};

/* As pd_sample_rewrite(), whatever the size. */
static long copy_sample(const struct pd_event *ev, const struct pd_record *r, uint64_t drop,
			const struct chain_end *e, uint8_t *out)
{
	uint64_t type = ev->attr.sample_type;
	struct pd_sample s = { .event = ev };
	struct at c = { r->p + ev->at.fixed_end, r->p + r->size };
	uint8_t *to = copy_fixed(out + sizeof(struct perf_event_header), &ev->at, r->p, drop);

	for (size_t i = 0; i < N_VARYING; i++) {
		const uint8_t *from = c.p;

		if (!(type & varying[i].bit))
			continue;
		if (!varying[i].get(&c, &s))
			return -1;
		if (drop & varying[i].bit)
			continue;
		if (varying[i].bit == PERF_SAMPLE_CALLCHAIN && (e->n || e->cut)) {
			size_t kept = s.n_chain > e->cut ? (size_t)s.n_chain - e->cut : 0;

			st64(to, kept + e->n);
			memcpy(to + 8, from + 8, 8 * kept);
			if (e->n)
				memcpy(to + 8 + 8 * kept, e->words, 8 * e->n);
			to += 8 + 8 * (kept + e->n);
			continue;
		}
		memcpy(to, from, (size_t)(c.p - from));
		to += c.p - from;
	}
	return to - out;
}

static int rewrite_sample(const struct pd_event *ev, const struct pd_record *r, uint64_t drop,
			  struct chain_end e, uint8_t *out)
{
	const long most = UINT16_MAX / 8 * 8;
	uint16_t size;
	long got;

	if (r->size < ev->at.fixed_end || ev->at.fixed_end < sizeof(struct perf_event_header))
		return -1;
	got = copy_sample(ev, r, drop, &e, out);
	if (got > most && (size_t)(got - most) / 8 <= e.n) {
		e.n -= (size_t)(got - most) / 8;
		got = copy_sample(ev, r, drop, &e, out);
	}
	if (got < 0 || got > most)
		return -1;
	size = (uint16_t)got;
	memcpy(out, r->p, sizeof(struct perf_event_header));
	memcpy(out + offsetof(struct perf_event_header, size), &size, sizeof(size));
	return size;
}

int pd_sample_rewrite(const struct pd_event *ev, const struct pd_record *r, uint64_t drop,
		      const uint64_t *chain, size_t n, uint8_t *out)
{
	return rewrite_sample(ev, r, drop, (struct chain_end){ 0, chain, n }, out);
}

size_t pd_sample_short_stack(const struct pd_event *ev, const struct pd_record *r, uint8_t *out)
{
	const struct perf_event_header *head = (const void *)r->p;
	struct perf_event_header made;
	uint64_t room, used;
	struct pd_sample s;
	size_t at, rest;

	if (pd_sample_parse_of(ev, r, &s) || !(s.has & PERF_SAMPLE_STACK_USER) || !s.stack)
		return 0;
	room = ld64(s.stack - 8);
	used = s.stack_size < 8 ? 8 : (s.stack_size + 7) & ~UINT64_C(7); /* 0 has no count behind */
	if (used >= room)
		return 0;
	at = (size_t)(s.stack - r->p);
	rest = r->size - at - (size_t)room;
	memcpy(out, r->p, at + (size_t)used);
	st64(out + at - 8, used);
	memcpy(out + at + used, s.stack + room, rest);
	made = *head;
	made.size = (uint16_t)(at + used + rest);
	memcpy(out, &made, sizeof(made));
	return made.size;
}

int pd_sample_end_chain(const struct pd_event *ev, const struct pd_record *r, size_t cut,
			const void *words, size_t n, uint8_t *out)
{
	return rewrite_sample(ev, r, 0, (struct chain_end){ cut, words, n }, out);
}

int pd_sample_parse(const struct pd *rec, const struct pd_record *r, struct pd_sample *out)
{
	int index = r->type == PERF_RECORD_SAMPLE ? pd_sample_event(rec, r) : -1;

	if (index < 0 || pd_sample_parse_of(&rec->events.v[index], r, out))
		return -1;
	out->event_index = (uint32_t)index;
	return 0;
}
