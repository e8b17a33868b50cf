/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches by CPU, from records as the kernel writes them, against counts kept beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "measure/sampling/sampling_int.h"

static struct sampling r;

static void begin(struct switch_counts *c, uint32_t *cpu, size_t n)
{
	struct err err = ERR_INIT;

	*c = (struct switch_counts){ 0 };
	r.k.who.cpus.v = cpu;
	r.k.who.cpus.n = n;
	assert_int_equal(switch_counts_begin(c, &r, 1234, &err), 0);
}

/* PERF_RECORD_SWITCH with sample_id_all: pid, tid, time, CPU and 0, identifier; of SWITCH_CPU_WIDE
 * the other task's pid and tid come before. */
static void saw(struct switch_counts *c, uint32_t cpu, bool out, bool wide)
{
	uint8_t b[64] = { 0 };
	size_t n = 8;

	st32(b, wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH);
	if (wide) {
		st32(b + n, 0x11111111);
		st32(b + n + 4, 0x22222222);
		n += 8;
	}
	st32(b + n, 3); /* all of these are numbers of CPUs, too */
	st32(b + n + 4, 2);
	st64(b + n + 8, 1);
	st32(b + n + 16, cpu);
	st64(b + n + 24, 2);
	n += 32;
	st32(b + 4, (uint32_t)n << 16 | (out ? PERF_RECORD_MISC_SWITCH_OUT : 0));
	switch_counts_saw(c, b, n);
}

static void by_cpu(void **state)
{
	uint32_t cpus[] = { 1, 5, 3 };
	struct switch_counts c;

	(void)state;
	begin(&c, cpus, 3);
	assert_int_equal(c.n_cpus, 6); /* up to the largest number */
	assert_int_equal(c.since, 1234);
	for (int i = 0; i < 7; i++)
		saw(&c, 5, true, i % 2);
	for (int i = 0; i < 4; i++)
		saw(&c, 1, true, i % 2);
	saw(&c, 0, true, false);
	for (int i = 0; i < 9; i++) { /* it got the CPU: the same switch */
		saw(&c, 1, false, i % 2);
		saw(&c, 6, true, i % 2); /* no such CPU */
	}
	assert_int_equal(c.of[5], 7);
	assert_int_equal(c.of[1], 4);
	assert_int_equal(c.of[0], 1);
	assert_int_equal(c.of[2] + c.of[3] + c.of[4], 0);
	assert_int_equal(c.all, 12);
	assert_int_equal(c.most, 7);
	switch_counts_restart(&c, 99);
	assert_int_equal(c.since, 99);
	assert_int_equal(c.all + c.most, 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(c.of[i], 0);
	saw(&c, 3, true, false);
	assert_int_equal(c.of[3], 1);
	assert_int_equal(c.most, 1);
	assert_int_equal(c.all, 1);
	switch_counts_end(&c);
	assert_null(c.of);
}

/* A record without its end has no CPU; a CPU number that none has is no reason for memory. */
static void odd(void **state)
{
	uint32_t one[] = { 0 }, last[] = { 65535 }, beyond[] = { 65536 };
	uint8_t b[32] = { 0 };
	struct switch_counts c;

	(void)state;
	begin(&c, one, 1);
	assert_int_equal(c.n_cpus, 1);
	st32(b, PERF_RECORD_SWITCH);
	for (uint32_t size = 8; size <= 32; size += 8) {
		st32(b + 4, size << 16 | PERF_RECORD_MISC_SWITCH_OUT);
		switch_counts_saw(&c, b, size);
		assert_int_equal(c.all, size < 24 ? 0 : size / 8 - 2);
	}
	switch_counts_end(&c);
	begin(&c, last, 1);
	assert_int_equal(c.n_cpus, 65536);
	saw(&c, 65535, true, true);
	saw(&c, 65536, true, true);
	assert_int_equal(c.all, 1);
	switch_counts_end(&c);
	begin(&c, beyond, 1);
	assert_int_equal(c.n_cpus, 0);
	saw(&c, 0, true, true);
	assert_int_equal(c.all, 0);
	switch_counts_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_cpu),
		cmocka_unit_test(odd),
	};

	return cmocka_run_group_tests_name("measure/switch_counts", tests, NULL, NULL);
}
