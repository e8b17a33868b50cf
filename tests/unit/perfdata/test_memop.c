/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory operations out of IBS registers, which say more than data_src; data_src is compared with
 * perf in tests/cli/test_mem.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* before cmocka */
#include <cmocka.h>
#include <string.h>

#include "perfdata/memop.h"

#define LOAD	(UINT64_C(1) | 1 << 17 | 1 << 18) /* with both addresses */
#define MISSED	(UINT64_C(1) << 7 | 1 << 20)	  /* data cache and L2 */
#define CYCLES	(UINT64_C(300) << 32)
#define ZEN4	0xbffu
#define STREAMS (ZEN4 | IBS_CAP_STREAMING)

/* An op as the kernel dumps it. */
static struct memop op_of(uint32_t caps, uint64_t data2, uint64_t data3)
{
	const uint64_t reg[8] = { 3 << 17, 0x401000,	   597ULL << 16 | 2, data2,
				  data3,   0x7f0000001000, 0x1000,	     0 };
	uint8_t raw[4 + sizeof(reg)];
	struct memop op;
	struct ibs x;

	memcpy(raw, &caps, 4);
	memcpy(raw + 4, reg, sizeof(reg));
	assert_null(ibs_read(&x, IBS_OP, ibs_part_of("AuthenticAMD,25,17,1"), raw, sizeof(raw)));
	memop_of_ibs(&op, &x);
	return op;
}

static void assert_source(const char *want, struct memop op)
{
	char text[MEMOP_TEXT];

	assert_string_equal(memop_source(text, &op), want);
}

static void test_sources(void **state)
{
	const uint64_t far = LOAD | MISSED | CYCLES;

	(void)state;
	assert_source("L1", op_of(ZEN4, 0, LOAD));
	assert_source("L2", op_of(ZEN4, 0, LOAD | 1 << 7));
	assert_source("L3", op_of(ZEN4, 1, far));
	assert_source("any cache, other core", op_of(ZEN4, 2, far));
	assert_source("RAM", op_of(ZEN4, 3, far));
	assert_source("RAM, remote", op_of(ZEN4, 3 | 1 << 4, far));
	assert_source("RAM, other node", op_of(STREAMS, 3 | 1 << 4, far));
	assert_source("RAM, other socket", op_of(STREAMS, 3 | 1 << 4 | 1 << 9, far));
	assert_source("any cache, remote", op_of(ZEN4, 5, far));
	assert_source("PMEM", op_of(ZEN4, 6, far));
	assert_source("CXL", op_of(ZEN4, 1 << 6, far));
	assert_source("LFB", op_of(ZEN4, 0, far | 1 << 16));
}

static void test_latency(void **state)
{
	struct memop load = op_of(ZEN4, 3, LOAD | MISSED | CYCLES);
	struct memop hit = op_of(ZEN4, 0, LOAD | CYCLES);
	struct memop store = op_of(ZEN4, 0, (LOAD ^ 3) | MISSED | CYCLES);
	struct memop none = op_of(ZEN4, 0, 0);

	(void)state;
	assert_int_equal(load.cycles[MEMOP_LATENCY_DATA], 300);
	assert_int_equal(load.cycles[MEMOP_LATENCY_TAG], 597);
	assert_int_equal(load.cycles[MEMOP_LATENCY_COMPLETE], 2);
	assert_false(load.has >> MEMOP_LATENCY_REFILL & 1);
	assert_false(hit.has >> MEMOP_LATENCY_DATA & 1);
	assert_false(store.has >> MEMOP_LATENCY_DATA & 1);
	assert_int_equal(store.set[MEMOP_KIND], MEMOP_KIND_STORE);
	/* no access to memory: only how long the op took */
	assert_int_equal(none.set[MEMOP_KIND], 0);
	assert_int_equal(none.has, 1 << MEMOP_LATENCY_TAG | 1 << MEMOP_LATENCY_COMPLETE);
}

static void test_snoop(void **state)
{
	(void)state;
	assert_int_equal(op_of(ZEN4, 5, LOAD | MISSED).set[MEMOP_SNOOP], MEMOP_SNOOP_HITM);
	assert_int_equal(op_of(ZEN4, 5 | 1 << 5, LOAD | MISSED).set[MEMOP_SNOOP], MEMOP_SNOOP_HIT);
	assert_int_equal(op_of(ZEN4, 3, LOAD | MISSED).set[MEMOP_SNOOP], 0);
}

static void test_tlb(void **state)
{
	struct memop op = op_of(ZEN4, 0, LOAD | 1 << 2 | 1 << 3 | 40ULL << 48);
	char text[MEMOP_TEXT];

	(void)state;
	assert_string_equal(memop_set_text(text, MEMOP_TLB, op.set[MEMOP_TLB]), "L2 miss");
	assert_int_equal(op.cycles[MEMOP_LATENCY_REFILL], 40);
	op = op_of(ZEN4, 0, LOAD | 1 << 2);
	assert_string_equal(memop_set_text(text, MEMOP_TLB, op.set[MEMOP_TLB]), "L2 hit");
	op = op_of(ZEN4, 0, 1);
	assert_null(memop_set_text(text, MEMOP_TLB, op.set[MEMOP_TLB]));
}

/* ---- kinds of ops, each decoded once -------------------------------------------------------- */

static uint64_t draw(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Of few kinds, so that they come again; numbers are 0 now and then. */
static void draw_packet(uint8_t *raw, uint32_t caps, uint64_t kind)
{
	uint64_t reg[8] = { draw() & 7 ? 3 << 17 : 1 << 17, draw(), draw() };

	reg[3] = kind >> 16 & 0x3ff;
	reg[4] = (kind & 0xffff) | (kind >> 28 & 0x3f) << 16;
	reg[4] |= kind >> 34 & 1 ? LOAD : kind >> 35 & 1 ? LOAD | MISSED : 0;
	reg[4] |= draw() << 26;
	for (size_t i = 4; i < 6; i++)
		reg[i + 1] = draw() & 3 ? draw() : 0;
	if (!(draw() & 3))
		reg[2] &= UINT32_MAX << (draw() & 31);
	if (!(draw() & 3))
		reg[4] &= UINT32_MAX;
	memcpy(raw, &caps, 4);
	memcpy(raw + 4, reg, sizeof(reg));
}

static void assert_same_op(const struct memop *x, const struct memop *y)
{
	assert_int_equal(x->has, y->has);
	assert_memory_equal(x->set, y->set, sizeof(x->set));
	assert_int_equal(x->level, y->level);
	assert_int_equal(x->where, y->where);
	assert_int_equal(x->hit, y->hit);
	assert_int_equal(x->locked, y->locked);
	assert_int_equal(x->raw, y->raw);
	assert_int_equal(x->width, y->width);
	assert_int_equal(x->open, y->open);
	assert_memory_equal(x->cycles, y->cycles, sizeof(x->cycles));
	assert_int_equal(x->address, y->address);
	assert_int_equal(x->physical, y->physical);
	assert_int_equal(x->page, y->page);
}

static void test_kinds(void **state)
{
	static struct memop_kind table[MEMOP_KINDS];
	static const uint32_t caps[] = { 0x3ff, ZEN4, STREAMS, UINT32_MAX };
	const struct pd_event ev = { .attr.sample_type = PERF_SAMPLE_RAW, .at.fixed_end = 8 };
	struct {
		uint64_t head;
		uint32_t size;
		uint8_t raw[4 + 8 * sizeof(uint64_t)];
	} r = { .size = sizeof(r.raw) };
	const struct pd_record record = { .p = (const uint8_t *)&r, .size = sizeof(r) };
	size_t known = 0, both = 0;
	uint64_t kinds[64];

	(void)state;
	for (unsigned run = 0; run < 4u * IBS_PARTS; run++) {
		const struct memop_how how = { .from = MEMOP_FROM_OP,
					       .raw_at = run & 1 ? 12 : 0,
					       .part = (enum ibs_part)(run / 4) };

		memset(table, 0, sizeof(table));
		for (size_t i = 0; i < 64; i++)
			kinds[i] = draw();
		for (size_t i = 0; i < 5000; i++) {
			struct memop want, other;
			const struct memop *got;
			struct memop_kind *kind;
			bool is;

			draw_packet(r.raw, caps[run & 3], kinds[draw() & 63]);
			is = memop_of_record(&want, &how, &ev, &record);
			got = memop_of_kind(&other, &kind, table, &how, &ev, &record);
			assert_int_equal(got != NULL, is);
			if (!is)
				continue;
			assert_same_op(got, &want);
			assert_non_null(kind);
			known += kind->user[0] == 1 && kind->user[1] == 2;
			both++;
			kind->user[0] = 1;
			kind->user[1] = 2;
		}
	}
	assert_true(known > both / 4 && known < both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sources), cmocka_unit_test(test_latency),
		cmocka_unit_test(test_snoop),	cmocka_unit_test(test_tlb),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
