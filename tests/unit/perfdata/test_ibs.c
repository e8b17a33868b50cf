/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AMD's registers as the kernel dumps them: which CPU is which part, where each register stands,
 * what is no sample. Ranges of models and bits are written out from AMD's manuals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "perfdata/ibs.h"

static enum ibs_part part_of(const char *vendor, unsigned family, unsigned model)
{
	char cpuid[64];

	(void)snprintf(cpuid, sizeof(cpuid), "%s,%u,%u,1", vendor, family, model);
	return ibs_part_of(cpuid);
}

static void parts(void **state)
{
	static const struct {
		unsigned family, from, to;
		enum ibs_part part;
	} row[] = {
		{ 0x0f, 0x00, 0xff, IBS_PART_OTHER }, { 0x10, 0x00, 0xff, IBS_PART_10H },
		{ 0x11, 0x00, 0xff, IBS_PART_10H },   { 0x12, 0x00, 0xff, IBS_PART_12H },
		{ 0x13, 0x00, 0xff, IBS_PART_OTHER }, { 0x14, 0x00, 0xff, IBS_PART_14H },
		{ 0x15, 0x00, 0x0f, IBS_PART_15H_0 }, { 0x15, 0x10, 0x2f, IBS_PART_15H_1 },
		{ 0x15, 0x30, 0x5f, IBS_PART_15H_3 }, { 0x15, 0x60, 0x7f, IBS_PART_15H_6 },
		{ 0x16, 0x00, 0xff, IBS_PART_16H },   { 0x17, 0x00, 0xff, IBS_PART_17H },
		{ 0x18, 0x00, 0xff, IBS_PART_17H },   { 0x19, 0x00, 0x0f, IBS_PART_ZEN3_EARLY },
		{ 0x19, 0x10, 0x1f, IBS_PART_ZEN4 },  { 0x19, 0x20, 0x5f, IBS_PART_ZEN3 },
		{ 0x19, 0x60, 0xaf, IBS_PART_ZEN4 },  { 0x1a, 0x00, 0x4f, IBS_PART_1AH },
		{ 0x1a, 0x50, 0x5f, IBS_PART_LATER }, { 0x1a, 0x60, 0x7f, IBS_PART_1AH },
		{ 0x1a, 0x80, 0xaf, IBS_PART_LATER }, { 0x1a, 0xb0, 0xbf, IBS_PART_1AH },
		{ 0x1a, 0xc0, 0xcf, IBS_PART_LATER }, { 0x1a, 0xd0, 0xff, IBS_PART_1AH },
		{ 0x1b, 0x00, 0xff, IBS_PART_LATER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (unsigned m = row[i].from; m <= row[i].to; m++)
			if (part_of("AuthenticAMD", row[i].family, m) != row[i].part)
				fail_msg("family %x model %x", row[i].family, m);
	assert_int_equal(part_of("HygonGenuine", 0x18, 1), IBS_PART_17H);
	assert_int_equal(part_of("GenuineIntel", 0x19, 1), IBS_PART_OTHER);
	assert_int_equal(ibs_part_of("AuthenticAMD,25"), IBS_PART_OTHER);
	assert_int_equal(ibs_part_of("AuthenticAMD"), IBS_PART_OTHER);
	assert_int_equal(ibs_part_of(NULL), IBS_PART_OTHER);
	assert_string_equal(ibs_part_name(IBS_PART_ZEN3), "19h 20h-5Fh");
	assert_string_equal(ibs_part_name(IBS_PART_10H), "10h");
}

/* caps, and n registers that hold their numbers, but for the control register. */
static size_t put(uint8_t *raw, uint32_t caps, size_t n, uint64_t ctl)
{
	st32(raw, caps);
	for (size_t i = 0; i < n; i++)
		st64(raw + 4 + 8 * i, i ? 0x100 + i : ctl);
	return 4 + 8 * n;
}

#define OP_SAMPLE    (UINT64_C(3) << 17) /* enabled, valid */
#define FETCH_SAMPLE (UINT64_C(3) << 48)

static void registers_of_ops(void **state)
{
	static const struct {
		uint32_t caps;
		size_t n, target, data4, more; /* places; 0: it has none */
	} row[] = {
		{ 0, 7, 0, 0, 0 },
		{ 0, 9, 0, 0, 2 },
		{ IBS_CAP_TARGET, 8, 7, 0, 0 },
		{ IBS_CAP_TARGET, 7, 0, 0, 0 }, /* kernels dump fewer than caps says */
		{ IBS_CAP_DATA4, 8, 0, 7, 0 },
		{ IBS_CAP_DATA4, 7, 0, 0, 0 },
		{ IBS_CAP_TARGET | IBS_CAP_DATA4, 9, 7, 8, 0 },
		{ IBS_CAP_TARGET | IBS_CAP_DATA4, 8, 7, 0, 0 },
		{ IBS_CAP_TARGET | IBS_CAP_DATA4, 7, 0, 0, 0 },
		{ IBS_CAP_TARGET | IBS_CAP_DATA4, 11, 7, 8, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint8_t raw[128];
		size_t len = put(raw, row[i].caps, row[i].n, OP_SAMPLE);
		struct ibs x;

		assert_null(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, len));
		assert_int_equal(x.kind, IBS_OP);
		assert_int_equal(x.part, IBS_PART_17H);
		assert_int_equal(x.caps, row[i].caps);
		assert_int_equal(x.reg[IBS_REG_OP_CTL], OP_SAMPLE);
		assert_int_equal(x.reg[IBS_REG_OP_RIP], 0x101);
		assert_int_equal(x.reg[IBS_REG_OP_DATA], 0x102);
		assert_int_equal(x.reg[IBS_REG_OP_DATA2], 0x103);
		assert_int_equal(x.reg[IBS_REG_OP_DATA3], 0x104);
		assert_int_equal(x.reg[IBS_REG_DC_LINEAR], 0x105);
		assert_int_equal(x.reg[IBS_REG_DC_PHYSICAL], 0x106);
		assert_int_equal(x.has >> IBS_REG_OP_CTL & 0x7f, 0x7f);
		assert_int_equal(x.has & 0xf, 0);
		assert_int_equal(x.has >> IBS_REG_BRANCH_TARGET & 1, row[i].target != 0);
		assert_int_equal(x.has >> IBS_REG_OP_DATA4 & 1, row[i].data4 != 0);
		if (row[i].target)
			assert_int_equal(x.reg[IBS_REG_BRANCH_TARGET], 0x100 + row[i].target);
		if (row[i].data4)
			assert_int_equal(x.reg[IBS_REG_OP_DATA4], 0x100 + row[i].data4);
		assert_int_equal(x.more_len, 8 * row[i].more);
		if (row[i].more)
			assert_int_equal(ld64(x.more), 0x100 + row[i].n - row[i].more);
		/* half of a register more is none */
		assert_null(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, len + 4));
		assert_int_equal(x.more_len, 8 * row[i].more + 4);
	}
}

static void registers_of_fetches(void **state)
{
	(void)state;
	for (size_t n = 3; n <= 6; n++) {
		uint8_t raw[128];
		size_t len = put(raw, IBS_CAP_FETCH_EXTENDED, n, FETCH_SAMPLE);
		struct ibs x;

		assert_null(ibs_read(&x, IBS_FETCH, IBS_PART_17H, raw, len));
		assert_int_equal(x.reg[IBS_REG_FETCH_CTL], FETCH_SAMPLE);
		assert_int_equal(x.reg[IBS_REG_FETCH_LINEAR], 0x101);
		assert_int_equal(x.reg[IBS_REG_FETCH_PHYSICAL], 0x102);
		assert_int_equal(x.has, n > 3 ? 0xf : 0x7);
		assert_int_equal(x.reg[IBS_REG_FETCH_EXTENDED], n > 3 ? 0x103 : 0);
		assert_int_equal(x.more_len, n > 4 ? 8 * (n - 4) : 0);
	}
}

static void no_samples(void **state)
{
	uint8_t raw[128];
	struct ibs x;
	size_t len = put(raw, 0, 7, OP_SAMPLE);

	(void)state;
	assert_null(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, len));
	assert_string_equal(ibs_read(&x, IBS_OP, IBS_PART_17H, NULL, len),
			    "no raw data were recorded");
	assert_string_equal(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, 3),
			    "no raw data were recorded");
	assert_non_null(strstr(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, len - 1), "too short"));
	assert_non_null(strstr(ibs_read(&x, IBS_OP, IBS_PART_17H, raw, 4), "too short"));
	for (uint64_t bits = 0; bits < 4; bits++) {
		const char *why;

		len = put(raw, 0, 7, bits << 17);
		why = ibs_read(&x, IBS_OP, IBS_PART_17H, raw, len);
		assert_int_equal(!why, bits == 3);
		len = put(raw, 0, 3, bits << 48);
		why = ibs_read(&x, IBS_FETCH, IBS_PART_17H, raw, len);
		assert_int_equal(!why, bits == 3);
	}
	assert_non_null(strstr(ibs_read(&x, IBS_FETCH, IBS_PART_17H, raw, len - 8), "too short"));
	/* erratum 1197: of early Zen 3 alone */
	st64(raw + 12, 0);
	assert_null(ibs_read(&x, IBS_FETCH, IBS_PART_ZEN3, raw, len));
	assert_non_null(strstr(ibs_read(&x, IBS_FETCH, IBS_PART_ZEN3_EARLY, raw, len), "1197"));
}

/* Registers that are not to be in a file; no other one, and nothing behind the bytes. */
static void cleared(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		bool fetch = kind == IBS_FETCH;
		size_t first = fetch ? IBS_REG_FETCH_CTL : IBS_REG_OP_CTL, n = fetch ? 3 : 7;

		for (size_t r = 0; r < IBS_REGISTERS; r++)
			for (size_t there = 0; there <= 9; there++) {
				uint8_t raw[128];
				bool in = r >= first && r < first + n && r - first < there;

				(void)put(raw, 0xffff, 10, 0x100);
				ibs_clear((enum ibs_kind)kind, 1u << r, raw, 4 + 8 * there);
				assert_int_equal(ld32(raw), 0xffff);
				for (size_t i = 0; i < 10; i++)
					assert_int_equal(ld64(raw + 4 + 8 * i),
							 in && i == r - first ? 0 : 0x100 + i);
			}
	}
}

/* Bits 53 and 54 of the control register, where bit 52 says that they hold. */
static void pages(void **state)
{
	static const uint64_t usual[] = { 4096, UINT64_C(1) << 21, UINT64_C(1) << 30, 0 };
	static const uint64_t early[] = { 4096, 16384, UINT64_C(1) << 21, UINT64_C(1) << 30 };

	(void)state;
	for (uint64_t code = 0; code < 4; code++)
		for (uint64_t holds = 0; holds < 2; holds++)
			for (int is_early = 0; is_early < 2; is_early++) {
				uint64_t want = holds ? (is_early ? early : usual)[code] : 0, got;
				struct ibs x;
				uint8_t raw[32];
				size_t len = put(raw, IBS_CAP_OP_COUNT, 3,
						 FETCH_SAMPLE | UINT64_C(1) << 50 | holds << 52 |
							 code << 53);
				const char *why;

				assert_null(ibs_read(&x, IBS_FETCH,
						     is_early ? IBS_PART_ZEN3_EARLY : IBS_PART_17H,
						     raw, len));
				why = ibs_code_page(&x, &got);
				assert_int_equal(!why, want != 0);
				if (want)
					assert_int_equal(got, want);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),      cmocka_unit_test(registers_of_ops),
		cmocka_unit_test(no_samples), cmocka_unit_test(registers_of_fetches),
		cmocka_unit_test(cleared),    cmocka_unit_test(pages),
	};

	return cmocka_run_group_tests_name("perfdata/ibs", tests, NULL, NULL);
}
