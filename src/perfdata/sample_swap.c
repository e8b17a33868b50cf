/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_swap - a foreign SAMPLE turned to host order, in place.
 *
 * The same walk over the fields as sample.c's, but every number is turned as it is passed. It ends
 * at the first length that does not fit; sample.c will end there, too.
 */
#include "perfdata/perfdata_int.h"

struct turn {
	uint8_t *p, *end;
	const struct perf_event_attr *attr;
	bool bad;
};

static uint64_t turn64(struct turn *t)
{
	uint64_t v;

	if (t->bad || t->end - t->p < 8) {
		t->bad = true;
		return 0;
	}
	v = __builtin_bswap64(ld64(t->p));
	st64(t->p, v);
	t->p += 8;
	return v;
}

static void turn_pair(struct turn *t)
{
	if (t->bad || t->end - t->p < 8) {
		t->bad = true;
		return;
	}
	pd_swap_run(t->p, 8, 4);
	t->p += 8;
}

static void turn_array(struct turn *t, uint64_t n)
{
	if (t->bad || n > (uint64_t)(t->end - t->p) / 8) {
		t->bad = true;
		return;
	}
	pd_swap_run(t->p, n * 8, 8);
	t->p += n * 8;
}

static void skip_bytes(struct turn *t, uint64_t n)
{
	if (t->bad || n > (uint64_t)(t->end - t->p))
		t->bad = true;
	else
		t->p += n;
}

static void turn_raw(struct turn *t)
{
	uint32_t size;

	if (t->bad || t->end - t->p < 4) {
		t->bad = true;
		return;
	}
	pd_swap_run(t->p, 4, 4);
	size = ld32(t->p);
	t->p += 4;
	skip_bytes(t, size);
}

/* A branch's flags are bit-fields: on a machine of the other order each begins at the other end. */
static uint64_t turn_branch_flags(uint64_t v)
{
	static const uint8_t width[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31 };
	uint64_t out = 0;
	unsigned at = 0;

	for (size_t i = 0; i < sizeof(width); i++) {
		uint64_t mask = ((uint64_t)1 << width[i]) - 1;

		out |= (v >> (64 - at - width[i]) & mask) << at;
		at += width[i];
	}
	return out;
}

static void turn_branch(struct turn *t)
{
	uint64_t kind = t->attr->branch_sample_type, n = turn64(t);

	if (kind & PERF_SAMPLE_BRANCH_HW_INDEX)
		(void)turn64(t);
	if (t->bad || n > (uint64_t)(t->end - t->p) / 24) {
		t->bad = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t flags;

		turn_array(t, 2);
		flags = turn64(t);
		st64(t->p - 8, turn_branch_flags(flags));
	}
	if (kind & CYC_SAMPLE_BRANCH_COUNTERS)
		turn_array(t, n);
}

static void turn_regs(struct turn *t, uint64_t mask)
{
	if (turn64(t))
		turn_array(t, (uint64_t)__builtin_popcountll(mask));
}

static void turn_varying(struct turn *t, uint64_t type)
{
	static const uint64_t one[] = {
		PERF_SAMPLE_WEIGHT,
		PERF_SAMPLE_WEIGHT_STRUCT,
		PERF_SAMPLE_DATA_SRC,
		PERF_SAMPLE_TRANSACTION,
	};
	static const uint64_t last[] = {
		PERF_SAMPLE_PHYS_ADDR,
		PERF_SAMPLE_CGROUP,
		PERF_SAMPLE_DATA_PAGE_SIZE,
		PERF_SAMPLE_CODE_PAGE_SIZE,
	};

	if (type & PERF_SAMPLE_READ) {
		uint64_t f = t->attr->read_format, n = turn64(t);
		uint64_t each = (uint64_t) !!(f & PERF_FORMAT_ID) + !!(f & PERF_FORMAT_LOST);

		if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
			(void)turn64(t);
		if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
			(void)turn64(t);
		if (!(f & PERF_FORMAT_GROUP))
			turn_array(t, each);
		else if (n > UINT16_MAX)
			t->bad = true;
		else
			turn_array(t, n * (1 + each));
	}
	if (type & PERF_SAMPLE_CALLCHAIN)
		turn_array(t, turn64(t));
	if (type & PERF_SAMPLE_RAW)
		turn_raw(t);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		turn_branch(t);
	if (type & PERF_SAMPLE_REGS_USER)
		turn_regs(t, t->attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t room = turn64(t);

		skip_bytes(t, room);
		if (room)
			(void)turn64(t);
	}
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
		if (type & one[i])
			(void)turn64(t);
	if (type & PERF_SAMPLE_REGS_INTR)
		turn_regs(t, t->attr->sample_regs_intr);
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		if (type & last[i])
			(void)turn64(t);
	if (type & PERF_SAMPLE_AUX)
		skip_bytes(t, turn64(t));
}

void pd_sample_swap(const struct pd *rec, uint8_t *p, size_t size)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
		PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
	};
	struct turn t = { p + 8, p + size, NULL, false };
	const uint64_t *index = NULL;
	size_t event = 0;

	if (!rec->events.n)
		return;
	if (rec->events.n > 1 && rec->id_at && size >= rec->id_at + 8) {
		index = u64map_find(&rec->ids, __builtin_bswap64(ld64(p + rec->id_at)));
		if (!index)
			return; /* its layout is unknown */
		event = (size_t)*index;
	}
	t.attr = &rec->events.v[event].attr;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!(t.attr->sample_type & order[i]))
			continue;
		if (order[i] == PERF_SAMPLE_TID || order[i] == PERF_SAMPLE_CPU)
			turn_pair(&t);
		else
			(void)turn64(&t);
	}
	turn_varying(&t, t.attr->sample_type);
}
