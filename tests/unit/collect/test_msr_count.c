/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters by registers, on registers that are the test's: which counter an event gets, what is
 * written, what a reading comes to when a register was cleared, taken, wraps, saturates or jumps.
 * The registers' file and the watchdog are replaced.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/counters/msr_int.h"

#define TARGETS 2
#define MOST	64

static struct {
	uint32_t reg;
	uint64_t v;
} set[TARGETS][MOST];
static size_t n_set[TARGETS];
static uint32_t fails; /* reads of it fail on CPU 0 */
static struct msr_row guarded[MOST];
static size_t n_guarded;

static uint64_t *at(int cpu, uint32_t reg)
{
	for (size_t i = 0; i < n_set[cpu]; i++)
		if (set[cpu][i].reg == reg)
			return &set[cpu][i].v;
	assert_true(n_set[cpu] < MOST);
	set[cpu][n_set[cpu]].reg = reg;
	set[cpu][n_set[cpu]].v = 0;
	return &set[cpu][n_set[cpu]++].v;
}

const char *msr_read(int fd, uint32_t reg, uint64_t *out)
{
	if (fd == 0 && reg == fails) {
		errno = ENXIO;
		return "no such CPU";
	}
	*out = *at(fd, reg);
	return NULL;
}

const char *msr_write(int fd, uint32_t reg, uint64_t v)
{
	*at(fd, reg) = v;
	return NULL;
}

int msr_file_open(uint32_t cpu, struct err *err)
{
	(void)err;
	return (int)cpu;
}

int msr_guard_open(struct msr *m, const struct msr_row *row, size_t n, const uint64_t *ours,
		   size_t n_ours, struct err *err)
{
	(void)m, (void)ours, (void)n_ours, (void)err;
	assert_true(n <= MOST);
	if (n)
		memcpy(guarded, row, n * sizeof(*row));
	n_guarded = n;
	return 0;
}

struct msr_row *msr_guard_row(struct msr_guard *g, size_t i)
{
	(void)g;
	assert_true(i < n_guarded);
	return &guarded[i];
}

int msr_guard_check(struct msr *m, struct err *err)
{
	(void)m, (void)err;
	return 0;
}

void msr_guard_close(struct msr *m)
{
	(void)m;
}

void msr_row_restore(struct msr_row *r, const uint64_t *ours, size_t n_ours)
{
	(void)r, (void)ours, (void)n_ours;
}

/* ---- a machine ------------------------------------------------------------------------------ */

static struct machine machine = { .family = 0x17 };
static const uint32_t cpus[TARGETS] = { 0, 1 };
static int fds[TARGETS] = { 0, 1 };
static struct msr_place core[TARGETS], cache[1], clocks[TARGETS], channel[1];
static struct msr m;
static void *own;
static struct counter_event event[8];
static struct counter_group group;
static struct counter_value value[8 * TARGETS];

#define CTL(slot) (MSR_CORE_FIRST + 2 * (slot))
#define CTR(slot) (CTL(slot) + 1)
#define APERF	  0xE8u
#define UMC_CTL	  0xC0010800u

static void begin(void)
{
	memset(set, 0, sizeof(set));
	memset(n_set, 0, sizeof(n_set));
	memset(event, 0, sizeof(event));
	fails = 0;
	for (uint32_t t = 0; t < TARGETS; t++) {
		core[t] = (struct msr_place){ .target = t, .free = 0x3f };
		clocks[t] = (struct msr_place){ .target = t };
	}
	cache[0] = (struct msr_place){ .target = 0, .free = 0x3f };
	channel[0] = (struct msr_place){ .target = 0, .free = 0xf };
	m = (struct msr){ .machine = &machine,
			  .cpus = cpus,
			  .n = TARGETS,
			  .fd = fds,
			  .n_units = MSR_UNITS,
			  .form = { [MSR_CORE] = { .first = MSR_CORE_FIRST, .on = 0x430000 },
				    [MSR_L3] = { .first = 0xC0010230, .on = 0x400000 },
				    [MSR_UMC] = { .first = UMC_CTL, .on = MSR_UMC_ENABLE } },
			  .place = { [MSR_CORE] = core,
				     [MSR_L3] = cache,
				     [MSR_CLOCK] = clocks,
				     [MSR_UMC] = channel },
			  .n_places = { [MSR_CORE] = TARGETS,
					[MSR_L3] = 1,
					[MSR_CLOCK] = TARGETS,
					[MSR_UMC] = 1 } };
	for (unsigned u = 0; u < MSR_UNITS; u++)
		m.form[u].most = 1e30;
	group = (struct counter_group){ .event = event };
}

static void add(enum msr_unit u, uint64_t config)
{
	event[group.n].attr.type = MSR_TYPE + u;
	event[group.n++].attr.config = config;
}

static void open_on(void)
{
	const struct counter_setup s = { .group = &group, .n_groups = 1 };
	struct err err = ERR_INIT;

	assert_int_equal(counter_msr.open(&m, &own, &s, &err), 0);
	assert_int_equal(counter_msr.enable(own, 0, true, &err), 0);
}

static const struct counter_value *look(size_t e, size_t target)
{
	struct err err = ERR_INIT;

	assert_int_equal(counter_msr.read(own, 0, value, &err), 0);
	return &value[e * TARGETS + target];
}

/* ---- which counter, what is written --------------------------------------------------------- */

static void counters(void **state)
{
	static const struct {
		uint32_t free;
		int pair, one, two; /* counters of three events; -1: none is left */
	} row[] = {
		{ 0x3f, 0, 2, 3 },   { 0x3e, 2, 1, 4 },	  { 0x36, 4, 1, 2 },
		{ 0x0f, 0, 2, 3 },   { 0x1b, 0, 3, 4 },	  { 0x16, -1, 1, 2 },
		{ 0x30, 4, -1, -1 }, { 0x0c, 2, -1, -1 }, { 0, -1, -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		int slot[] = { row[i].one, row[i].pair, row[i].two };
		static const uint64_t config[] = { 0xc0, 0xff03, 0x76 };

		begin();
		core[0].free = row[i].free;
		for (int e = 0; e < 3; e++)
			add(MSR_CORE, config[e]);
		open_on();
		for (int e = 0; e < 3; e++) {
			const struct counter_value *v = look((size_t)e, 0);

			assert_false(v->absent || v->refused || v->gone);
			assert_int_equal(!v->why, slot[e] >= 0);
			if (slot[e] >= 0)
				assert_int_equal(*at(0, CTL((unsigned)slot[e])),
						 config[e] | 0x430000);
			else
				assert_non_null(strstr(v->why, "hold its counters"));
		}
		if (row[i].pair >= 0) /* merged with the odd one behind it */
			assert_int_equal(*at(0, CTL((unsigned)row[i].pair + 1)), 0xF004000FF);
		for (unsigned s = 0; s < 6; s++) /* the others stay as they are */
			if (!(row[i].free >> s & 1))
				assert_int_equal(*at(0, CTL(s)), 0);
		counter_msr.close(own);
	}
}

static void refused(void **state)
{
	int number = 0;

	(void)state;
	begin();
	m.n_places[MSR_DF] = 0;
	add(MSR_CORE, 0xc0);
	add((enum msr_unit)77, 1);
	add(MSR_CLOCK, 5);
	add(MSR_DF, 7);
	add(MSR_L3, 4);
	add(MSR_CLOCK, 1);
	open_on();
	assert_null(counter_msr.refused(own, 0, 0, NULL));
	assert_non_null(strstr(counter_msr.refused(own, 0, 1, &number), "no register of"));
	assert_int_equal(number, ENOENT);
	assert_non_null(strstr(counter_msr.refused(own, 0, 2, NULL), "no register is known"));
	assert_non_null(strstr(counter_msr.refused(own, 0, 3, NULL), "which CPUs share"));
	assert_null(counter_msr.refused(own, 0, 4, NULL));
	assert_false(look(4, 0)->absent); /* one CPU reads for all */
	assert_true(look(4, 1)->absent);
	assert_true(look(1, 0)->refused && !look(0, 0)->refused);
	assert_int_equal(counter_msr.targets(own), TARGETS);
	counter_msr.close(own);
}

/* ---- readings ------------------------------------------------------------------------------- */

static void is_counted(size_t e, uint64_t n)
{
	const struct counter_value *v = look(e, 0);

	assert_null(v->why);
	assert_int_equal(v->value, n);
	assert_int_equal(v->running, v->enabled);
}

static void counts(void **state)
{
	(void)state;
	begin();
	add(MSR_CORE, 0xc0);
	add(MSR_CLOCK, 1);
	*at(0, CTR(0)) = (UINT64_C(1) << 48) - 10;
	*at(0, APERF) = UINT64_MAX - 9;
	open_on();
	is_counted(0, 0); /* from where it stood */
	is_counted(1, 0);
	*at(0, CTR(0)) += 3;
	*at(0, APERF) += 4;
	is_counted(0, 3);
	is_counted(1, 4);
	*at(0, CTR(0)) = 5; /* 48 bits come round, 64 of a clock */
	*at(0, APERF) += 16;
	is_counted(0, 15);
	is_counted(1, 20);
	*at(0, CTR(0)) += UINT64_C(1) << 47;
	is_counted(0, 15 + (UINT64_C(1) << 47));
	*at(1, CTR(0)) += 1000; /* another CPU's */
	is_counted(0, 15 + (UINT64_C(1) << 47));
	assert_int_equal(look(0, 1)->value, 1000);
	counter_msr.close(own);
}

/* Sleep clears a control register: it gets our value again, what was counted is not known. */
static void cleared(void **state)
{
	const struct counter_value *v;
	uint64_t lost;

	(void)state;
	begin();
	add(MSR_CORE, 0xff03);
	open_on();
	*at(0, CTR(0)) += 7;
	is_counted(0, 7);
	for (unsigned slot = 0; slot < 2; slot++) { /* or its neighbour's */
		uint64_t ours = *at(0, CTL(slot));

		*at(0, CTL(slot)) = slot ? 0 : ours & ~(uint64_t)MSR_ENABLE;
		*at(0, CTR(0)) += 100;
		v = look(0, 0);
		assert_null(v->why);
		assert_int_equal(v->value, slot ? 12 : 7);
		assert_true(v->running < v->enabled);
		assert_int_equal(*at(0, CTL(slot)), ours);
		lost = v->enabled - v->running;
		*at(0, CTR(0)) += 5;
		v = look(0, 0);
		assert_int_equal(v->value, slot ? 17 : 12);
		assert_int_equal(v->enabled - v->running, lost);
	}
	counter_msr.close(own);
}

/* Somebody else's: before we begin, or later. It is left alone for good. */
static void taken(void **state)
{
	(void)state;
	begin();
	add(MSR_CORE, 0xc0);
	*at(0, CTL(0)) = 0x4300AA;
	open_on();
	assert_non_null(strstr(look(0, 0)->why, "another program took"));
	assert_int_equal(*at(0, CTL(0)), 0x4300AA);
	assert_int_equal(m.held, 1);
	assert_null(look(0, 1)->why);
	assert_int_equal(guarded[0].state, MSR_LEFT); /* nothing is to be restored */
	assert_int_equal(guarded[1].state, MSR_OURS);
	counter_msr.close(own);
	begin();
	add(MSR_CORE, 0xc0);
	add(MSR_CORE, 0x76);
	open_on();
	*at(0, CTR(0)) += 9;
	*at(0, CTR(1)) += 8;
	is_counted(0, 9);
	*at(0, CTL(0)) = 0x4300AA;
	*at(0, CTR(0)) += 50;
	*at(0, CTR(1)) += 50;
	assert_non_null(strstr(look(0, 0)->why, "another program took"));
	assert_int_equal(look(0, 0)->value, 9);
	assert_int_equal(*at(0, CTL(0)), 0x4300AA);
	is_counted(1, 58);
	assert_int_equal(m.held, 1);
	*at(0, CTL(0)) = 0;
	assert_non_null(look(0, 0)->why);
	assert_int_equal(*at(0, CTL(0)), 0);
	counter_msr.close(own);
}

/* More than hardware can count is none of ours; three times in a row somebody writes there. */
static void jumps(void **state)
{
	static const unsigned odd[] = { 1, 1, 0, 1, 1, 0, 1, 1, 1 };
	const struct counter_value *v;
	uint64_t sum = 0;

	(void)state;
	begin();
	add(MSR_CORE, 0xc0);
	m.form[MSR_CORE].most = 1e6; /* 1000 in the time between two looks, and a bit */
	open_on();
	for (size_t i = 0; i < 9; i++) {
		*at(0, CTR(0)) += odd[i] ? UINT64_C(1) << 46 : 10;
		sum += odd[i] ? 0 : 10;
		v = look(0, 0);
		assert_int_equal(v->value, sum);
		assert_int_equal(v->why != NULL, i == 8);
	}
	assert_non_null(strstr(v->why, "counter jumps"));
	assert_true(v->running < v->enabled);
	counter_msr.close(own);
}

/* A memory controller's counter stands still at bit 48: it begins anew at half of the way. */
static void channels(void **state)
{
	const uint64_t half = UINT64_C(1) << 47;

	(void)state;
	begin();
	add(MSR_UMC, 0x1);
	open_on();
	assert_int_equal(*at(0, UMC_CTL), MSR_UMC_ENABLE | 1);
	*at(0, UMC_CTL + 1) = half - 1;
	is_counted(0, half - 1);
	assert_int_equal(*at(0, UMC_CTL + 1), half - 1);
	*at(0, UMC_CTL + 1) = half + 5;
	is_counted(0, half + 5);
	assert_int_equal(*at(0, UMC_CTL + 1), 0);
	*at(0, UMC_CTL + 1) = 3;
	is_counted(0, half + 8);
	*at(0, UMC_CTL + 1) = (UINT64_C(1) << 48) + 1; /* at its end, since nobody knows when */
	assert_int_equal(look(0, 0)->value, half + 8);
	assert_int_equal(*at(0, UMC_CTL + 1), 0);
	assert_true(look(0, 0)->running < look(0, 0)->enabled);
	*at(0, UMC_CTL + 1) = 2;
	assert_int_equal(look(0, 0)->value, half + 10);
	counter_msr.close(own);
	begin(); /* also where it stood when we came */
	add(MSR_UMC, 0x1);
	*at(0, UMC_CTL + 1) = half + 7;
	open_on();
	assert_int_equal(*at(0, UMC_CTL + 1), 0);
	*at(0, UMC_CTL + 1) = 3;
	is_counted(0, 3);
	counter_msr.close(own);
}

/* A CPU that goes offline keeps what it had, and goes on when it is back. */
static void gone(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	begin();
	add(MSR_CORE, 0xc0);
	open_on();
	*at(0, CTR(0)) += 6;
	is_counted(0, 6);
	fails = CTR(0);
	*at(0, CTR(0)) += 1;
	assert_true(look(0, 0)->gone);
	assert_null(look(0, 0)->why);
	assert_int_equal(look(0, 0)->value, 6);
	assert_false(look(0, 1)->gone);
	fails = 0;
	*at(0, CTR(0)) += 1;
	assert_false(look(0, 0)->gone);
	assert_null(look(0, 0)->why);
	counter_msr.close(own);
	begin(); /* offline since before */
	add(MSR_CORE, 0xc0);
	add(MSR_CLOCK, 1);
	open_on();
	fails = APERF;
	assert_int_equal(counter_msr.enable(own, 0, false, &err), 0);
	assert_int_equal(counter_msr.enable(own, 0, true, &err), 0);
	assert_true(look(1, 0)->gone);
	assert_null(look(1, 0)->why);
	counter_msr.close(own);
}

/* PerfMonV2: a bit for each counter that is ours, beside those that are set. */
static void global(void **state)
{
	uint64_t lost;

	(void)state;
	begin();
	m.v2 = true;
	core[0].free = 0x16;
	*at(0, MSR_GLOBAL_CTL) = 0x21;
	add(MSR_CORE, 0xc0);
	open_on();
	assert_int_equal(*at(0, MSR_GLOBAL_CTL), 0x37);
	assert_int_equal(*at(1, MSR_GLOBAL_CTL), 0x3f);
	*at(0, CTR(1)) += 4;
	is_counted(0, 4);
	*at(0, MSR_GLOBAL_CTL) = 0x21; /* its bit is gone: it stood still */
	*at(0, CTR(1)) += 4;
	assert_int_equal(look(0, 0)->value, 4);
	lost = look(0, 0)->enabled - look(0, 0)->running;
	assert_true(lost > 0);
	assert_int_equal(*at(0, MSR_GLOBAL_CTL), 0x37);
	counter_msr.close(own);
	begin(); /* IRPERF counts if a bit of another register says so */
	add(MSR_CLOCK, 6);
	*at(0, MSR_HWCR) = 1;
	open_on();
	assert_int_equal(*at(0, MSR_HWCR), MSR_HWCR_IRPERF | 1);
	*at(0, MSR_IRPERF) += 12;
	is_counted(0, 12);
	counter_msr.close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters), cmocka_unit_test(refused), cmocka_unit_test(counts),
		cmocka_unit_test(cleared),  cmocka_unit_test(taken),   cmocka_unit_test(jumps),
		cmocka_unit_test(channels), cmocka_unit_test(gone),    cmocka_unit_test(global),
	};

	return cmocka_run_group_tests_name("collect/msr_count", tests, NULL, NULL);
}
