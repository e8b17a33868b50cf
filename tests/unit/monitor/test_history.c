/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a place beyond those that have lines are counted, a line for each figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/history.h"

struct cpu {
	uint32_t number;
	double busy, clock;
};

static const struct table_column columns[] = {
	COLUMN("cpu", "CPU", T_ID, C_KEY, "itself", TABLE_FIELD(struct cpu, number)),
	COLUMN("busy", "busy", T_REAL, C_PEOPLE, "of its time", TABLE_FIELD(struct cpu, busy)),
	COLUMN("clock", "clock", T_REAL, C_PEOPLE, "now", TABLE_FIELD(struct cpu, clock)),
};
static const struct table_form cpu_form = { "cpu", NULL, TABLE_MAIN, TABLE_COLUMNS(columns) };
static const struct table_form *const one[] = { &cpu_form };
static const struct document_form shown = { "shown", 1, one, 1, NULL, 0 };

static void test_rows_beyond(void **state)
{
	struct cpu cpus[HISTORY_LINES + 5] = { { 0, 0, 0 } };
	struct show show = { .quiet = true, .line = true };
	struct history *h;
	struct document d;
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	for (uint32_t i = 0; i < HISTORY_LINES + 5; i++)
		cpus[i] = (struct cpu){ i, i / 100.0, 1000 + i };
	assert_int_equal(history_new(&h, &err), 0);
	document_open(&d, &shown, NULL);
	document_table(&d, &(struct table){ .form = &cpu_form,
					    .array = cpus,
					    .stride = sizeof(*cpus),
					    .n = HISTORY_LINES + 5 });
	history_add(h, &d);
	document_close(&d);
	assert_int_equal(show_choose(&show, &history_form, "json", NULL, &err), 0);
	history_document(&d, h, 1);
	assert_int_equal(document_write(&b, &d, &show, &err), 0);
	document_close(&d);
	assert_non_null(strstr(buf_str(&b), "\"left_out\":10"));
	assert_non_null(strstr(buf_str(&b), "\"line\":\"CPU 15\""));
	assert_null(strstr(buf_str(&b), "CPU 16"));
	buf_free(&b);
	history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows_beyond) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
