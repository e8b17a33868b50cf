/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of events: names, groups, what one name stands for on a machine, the default, what there
 * is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/events/event_int.h"
#include "machines.h"

/* Names, leaders and CPUs of all events of a text: "name=leader@cpus ..." */
static const struct {
	int line, tree;
	const char *text, *events;
} lists[] = {
	{ __LINE__, PLAIN, "cycles:u,cs", "cycles:u=0@- cs=1@-" },
	{ __LINE__, PLAIN, "{cycles,cs}:S , faults", "cycles=0@- cs=0@- faults=2@-" },
	{ __LINE__, PLAIN, "cs,{cycles , instructions:k}", "cs=0@- cycles=1@- instructions:k=1@-" },
	{ __LINE__, PLAIN, "cpu/event=1,name=foo/u", "foo=0@-" },
	{ __LINE__, PLAIN, "cpu/event=1,name='a b,c'/u", "a b,c=0@-" },
	{ __LINE__, PLAIN, "sched:sched_wak*:u", "sched:sched_wakeup=0@- sched:sched_waking=1@-" },
	{ __LINE__, PLAIN, "uncore_imc/reads/",
	  "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "imc/reads/", "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "imc_1/reads/", "uncore_imc_1/reads/=0@0,16" },
	{ __LINE__, PLAIN, "reads", "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16" },
	{ __LINE__, PLAIN, "*imc*/event=1/",
	  "uncore_imc_0/event=1/=0@0,16 uncore_imc_1/event=1/=1@0,16 "
	  "uncore_imc_free_running/event=1/=2@-" },
	{ __LINE__, PLAIN, "{imc/reads/,imc/event=2/}",
	  "uncore_imc_0/reads/=0@0,16 uncore_imc_1/reads/=1@0,16 "
	  "uncore_imc_0/event=2/=0@0,16 uncore_imc_1/event=2/=1@0,16" },
	{ __LINE__, HYBRID, "cycles:u", "cpu_core/cycles/u=0@0-15 cpu_atom/cycles/u=1@16-23" },
	{ __LINE__, HYBRID, "cycles/period=5/",
	  "cpu_core/cycles,period=5/=0@0-15 cpu_atom/cycles,period=5/=1@16-23" },
	{ __LINE__, HYBRID, "{cs,cycles,instructions}:S",
	  "cs=0@- cpu_core/cycles/=0@0-15 cpu_atom/cycles/=2@16-23 "
	  "cpu_core/instructions/=0@0-15 cpu_atom/instructions/=2@16-23" },
	{ __LINE__, HYBRID, "slots", "slots=0@0-15" },
	/* slots lead metrics: of their group, and of what nobody grouped */
	{ __LINE__, PLAIN, "slots,r8000", "slots=0@- r8000=0@-" },
	{ __LINE__, PLAIN, "cs,r8100,cycles,slots:u,r8000",
	  "cs=0@- slots:u=1@- r8100=1@- r8000=1@- cycles=4@-" },
	{ __LINE__, PLAIN, "{cycles,slots,r8000},cs", "slots=0@- cycles=0@- r8000=0@- cs=3@-" },
	{ __LINE__, PLAIN, "{cycles,r8000},slots", "cycles=0@- r8000=0@- slots=2@-" },
	{ __LINE__, PLAIN, "{cycles,slots},r8000", "cycles=0@- slots=0@- r8000=2@-" },
	{ __LINE__, HYBRID, "cpu_core/r8000/,cpu_atom/r8000/,cpu_core/r400/",
	  "cpu_core/r400/=0@0-15 cpu_core/r8000/=0@0-15 cpu_atom/r8000/=2@16-23" },
};

static void names_and_groups(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct event_list list = EVENT_LIST_INIT;
		struct err err = ERR_INIT;
		char got[1024] = "";
		size_t n = 0;

		if (event_parse(&list, roots[lists[i].tree], lists[i].text, &err))
			n = (size_t)snprintf(got, sizeof(got), "!%s", err.what);
		vec_each (&list.ev, struct event *, ev)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s=%d@%s", n ? " " : "",
					      ev->name, ev->group, ev->cpus ? ev->cpus : "-");
		if (strcmp(got, lists[i].events)) {
			print_message("line %d: %s: got %s\n", lists[i].line, lists[i].text, got);
			bad++;
		}
		event_list_free(&list);
	}
	assert_int_equal(bad, 0);
}

static void failure_leaves_the_list_alone(void **state)
{
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(event_parse(&list, roots[PLAIN], "cycles", &err), 0);
	assert_int_equal(event_parse(&list, roots[PLAIN], "{cs,faults},nothing-like-it", &err), -1);
	assert_int_equal(list.ev.n, 1);
	err_clear(&err);
	assert_int_equal(event_parse(&list, roots[PLAIN], "{cs,faults}", &err), 0);
	assert_int_equal(list.ev.n, 3);
	assert_int_equal(list.ev.v[2].group, 1);
	event_list_free(&list);
}

static void default_of_a_captured_machine(void **state)
{
	static const struct tree_file nothing[] = { { PMU "software/type", "1\n" },
						    { NULL, NULL } };
	char root[] = "/tmp/cyclade-default-XXXXXX", why[256];
	struct event_list list = EVENT_LIST_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(event_default(&list, roots[PLAIN], why, &err), 0);
	assert_int_equal(list.ev.n, 1);
	assert_int_equal(list.ev.v[0].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(list.ev.v[0].attr.precise_ip, 3);
	assert_string_equal(why, "");
	event_list_free(&list);
	tree_make(root, nothing);
	assert_int_equal(event_default(&list, root, why, &err), 0);
	assert_string_equal(list.ev.v[0].name, "cpu-clock");
	assert_non_null(strstr(why, "sys/bus/event_source/devices/cpu is absent"));
	event_list_free(&list);
	tree_remove(root);
}

static bool has_name(const struct event_name *names, size_t n, const char *name, const char *kind)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i].name, name) && !strcmp(names[i].kind, kind))
			return true;
	return false;
}

/* Every name that is listed must be one that the grammar takes. */
static void names_are_events(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event_name *names;
	size_t n, parsed = 0;

	(void)state;
	assert_int_equal(event_names(&a, roots[PLAIN], &names, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct event_list list = EVENT_LIST_INIT;

		if (strcmp(names[i].kind, "raw") == 0 || strcmp(names[i].kind, "breakpoint") == 0 ||
		    strcmp(names[i].kind, "probe") == 0 || strstr(names[i].name, "needs") ||
		    strstr(names[i].name, "bad"))
			continue;
		if (event_parse(&list, roots[PLAIN], names[i].name, &err))
			fail_msg("%s: %s", names[i].name, err.what);
		event_list_free(&list);
		parsed++;
	}
	assert_true(parsed > 60);
	assert_true(has_name(names, n, "cycles", "hardware"));
	assert_true(has_name(names, n, "L1-dcache-load-misses", "cache"));
	assert_true(has_name(names, n, "cpu-clock", "software"));
	assert_true(has_name(names, n, "cpu/mem-loads/", "pmu"));
	assert_true(has_name(names, n, "sched:sched_switch", "tracepoint"));
	assert_false(has_name(names, n, "cpu/joules.unit/", "pmu"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_groups),
		cmocka_unit_test(failure_leaves_the_list_alone),
		cmocka_unit_test(default_of_a_captured_machine),
		cmocka_unit_test(names_are_events),
	};

	return cmocka_run_group_tests(tests, machines_make, machines_remove);
}
