/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts of cycles: that each one compiled in loads and is whole, and what loading refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/account.h"

static void show(void *ctx, const char *text)
{
	(void)ctx;
	print_error("%s\n", text);
}

static int need(void *ctx, enum expr_ref_kind kind, uint32_t index)
{
	const bool *done = ctx;

	if (kind == EXPR_METRIC)
		assert_true(done[index]);
	return 0;
}

/* Parents before children; in `order` each once, behind what it needs. */
static void check_order(const struct account *acc)
{
	bool done[512] = { false };

	assert_true(acc->n < 512);
	for (size_t k = 0; k < acc->n; k++) {
		uint32_t i = acc->order[k];

		assert_true(i < acc->n && !done[i]);
		if (acc->node[i].expr)
			assert_int_equal(expr_needs(acc->node[i].expr, NULL, need, done), 0);
		for (uint32_t c = 0; c < acc->n; c++)
			if (acc->node[c].parent == i && acc->node[c].adds)
				assert_true(done[c]);
		done[i] = true;
	}
}

static void check_nodes(const struct account *acc)
{
	const struct model *m = acc->model;

	assert_int_equal(acc->node[0].part, PART_CYCLES);
	for (uint32_t i = 0; i < acc->n; i++) {
		const struct account_node *t = &acc->node[i];

		assert_int_equal(account_find(acc, t->name, strlen(t->name)), i);
		assert_true(t->parent == MODEL_NONE ? t->depth == 0 : t->parent < i);
		assert_true(t->within == MODEL_NONE || t->within < acc->n);
		assert_true(t->same == MODEL_NONE || t->same < acc->n);
		if (t->parent != MODEL_NONE)
			assert_int_equal(t->depth, acc->node[t->parent].depth + 1);
		if (t->event != MODEL_NONE) {
			assert_true(t->event < m->n_events);
			assert_true(t->period > 0);
			assert_null(t->expr);
		}
		if (t->precise)
			assert_true(m->event[t->event].flags & EVENT_PRECISE);
		assert_int_equal(t->cycles, !*t->unit);
	}
}

/* The branches that every CPU has to have, or to say that it has not. */
static const char *const branches[] = { "Cycles",
					"Halted",
					"Stalled",
					"Unstalled",
					"Load_Latency",
					"Bandwidth_Saturated",
					"Instruction_Latency",
					"Instruction_Starvation",
					"Store_Resources",
					"Thread_Collisions",
					"Lock_Acquisition",
					"Branch_Misprediction",
					"Underutilisation",
					"Port_Saturation",
					"Call_Overhead",
					"Serialisation",
					"Exceptions_Microcode" };

static void all_load(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	const struct model_row *row;
	size_t n, have = 0;

	(void)state;
	assert_int_equal(model_list(&a, NULL, &row, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		struct account *acc;
		struct model *m;

		assert_int_equal(model_load(&m, NULL, row[i].id, NULL, &err), 0);
		if (!account_load(&acc, &a, m, NULL, &err)) {
			check_order(acc);
			check_nodes(acc);
			assert_int_equal(account_check(acc, show, NULL), 0);
			for (size_t k = 0; k < sizeof(branches) / sizeof(branches[0]); k++)
				assert_int_not_equal(
					account_find(acc, branches[k], strlen(branches[k])),
					MODEL_NONE);
			have++;
		} else {
			if (err.code != ERR_NOT_FOUND)
				print_error("%s\n%s\n", err.what, err.hint);
			assert_int_equal(err.code, ERR_NOT_FOUND);
			err_clear(&err);
		}
		model_free(m);
	}
	print_message("# %zu of %zu models have an account\n", have, n);
	assert_true(have > 45);
	arena_free(&a);
}

/* ---- texts at hand ---- */

static const char facts[] = "title T\nvendor x\nlanguage sheet\ncounters 4 8\nfixed 3\nwidth 4\n";
static const char events[] = "CYC event=0x3c 0-3:0-7,f1 1000\n"
			     "REF event=0x00,umask=0x03 f2 1000\n"
			     "UOPS event=0xc2,umask=0x02 0-3:0-7 2000003 precise\n"
			     "MISS event=0xd1,umask=0x02 0-3:0-7 100003 precise\n"
			     "UNC uncore_imc/event=0x04,umask=0x03/ - 0\n";
static const char words[] = "name Cycles\nsays W.\ntry W.\n";
#define WHOLE                                                 \
	"reference REF 100000000\nnode Cycles\npart cycles\n" \
	"event CYC\npenalty 1\nsays All of it.\n"

struct loaded {
	struct model *m;
	struct account *acc;
	struct arena a;
};

static int load(struct loaded *l, const char *text, struct err *err)
{
	const struct model_text texts[] = {
		{ "x/y/model", facts, strlen(facts) },
		{ "x/y/events", events, strlen(events) },
		{ "x/y/account", text, strlen(text) },
		{ "words", words, strlen(words) },
	};
	const struct model_sources s = { .text = texts, .n_texts = 4 };

	memset(l, 0, sizeof(*l));
	if (model_load(&l->m, &s, "y", NULL, err))
		return -1;
	return account_load(&l->acc, &l->a, l->m, &s, err);
}

static void unload(struct loaded *l)
{
	model_free(l->m);
	arena_free(&l->a);
}

static const struct account_node *node(const struct loaded *l, const char *name)
{
	uint32_t i = account_find(l->acc, name, strlen(name));

	assert_int_not_equal(i, MODEL_NONE);
	return &l->acc->node[i];
}

static void values(void **state)
{
	static const char text[] =
		WHOLE "node B\npart stalled\nwithin Cycles\nsame C\ntolerance 0.2\n"
		      "node M\nparent B\nevent MISS\npenalty 3.5 ref\nadds\n"
		      "period 10007\nprecise 2\n"
		      "node C\npart info\ncover profile\nexpr 2 * B + UOPS:c1\n"
		      "node N\npart unstalled\ncover none\nnote No event.\n"
		      "node U\nparent C\nevent UOPS\nunit uops\nwhole\n";
	struct err err = ERR_INIT;
	const struct account_node *t;
	struct loaded l;

	(void)state;
	assert_int_equal(load(&l, text, &err), 0);
	assert_int_equal(l.acc->n, 6);
	assert_string_equal(l.m->event[l.acc->reference].name, "REF");
	assert_true(l.acc->reference_hz == 1e8);
	assert_string_equal(node(&l, "Cycles")->says, "All of it.");
	assert_string_equal(node(&l, "Cycles")->try_, "W.");
	t = node(&l, "m");
	assert_true(t->penalty == 3.5 && t->reference && t->adds && t->cycles);
	assert_int_equal(t->period, 10007);
	assert_int_equal(t->precise, 2);
	assert_int_equal(t->depth, 1);
	assert_int_equal(t->part, PART_STALLED);
	t = node(&l, "B");
	assert_int_equal(t->within, 0);
	assert_ptr_equal(&l.acc->node[t->same], node(&l, "C"));
	assert_true(t->tolerance == 0.2);
	assert_int_equal(node(&l, "C")->cover, COVER_PROFILE);
	assert_int_equal(node(&l, "N")->cover, COVER_NONE);
	t = node(&l, "U");
	assert_true(!t->cycles && t->whole && t->period == 2000003);
	assert_string_equal(t->unit, "uops");
	/* an event with options became the model's, and is its encoding */
	assert_int_not_equal(model_event_find(l.m, "UOPS:c1", 7), MODEL_NONE);
	check_order(l.acc);
	unload(&l);
}

static void bases(void **state)
{
	static const char up[] =
		WHOLE "node A\npart info\nevent UOPS\nnode B\npart info\nevent MISS\n";
	static const char own[] = "base x\nnode B\nevent -\ncover none\nnote Gone.\n"
				  "node A\nabsent\nnode D\nparent Cycles\nafter -\nevent UOPS\n";
	const struct model_text texts[] = { { "v/x/model", facts, strlen(facts) },
					    { "v/x/account", up, strlen(up) },
					    { "v/z/model", facts, strlen(facts) },
					    { "v/z/account", own, strlen(own) },
					    { "v/z/events", events, strlen(events) } };
	const struct model_sources s = { .text = texts, .n_texts = 5 };
	struct err err = ERR_INIT;
	struct loaded l = { .acc = NULL };

	(void)state;
	assert_int_equal(model_load(&l.m, &s, "z", NULL, &err), 0);
	assert_int_equal(account_load(&l.acc, &l.a, l.m, &s, &err), 0);
	assert_int_equal(l.acc->n, 3);
	assert_int_equal(account_find(l.acc, "A", 1), MODEL_NONE);
	assert_int_equal(node(&l, "B")->event, MODEL_NONE);
	assert_ptr_equal(node(&l, "D"), &l.acc->node[1]);
	unload(&l);
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *line, *what;
	} bad[] = {
		{ "node A\npart info\nevent UOPS\n", ":1: ", "stands first" },
		{ WHOLE "node A\nevent UOPS\n", ":7: ", "which part" },
		{ WHOLE "node A\npart nowhere\nevent UOPS\n", ":8: ", "no such word" },
		{ WHOLE "node A\npart info\nevent NOPE\n", ":9: ", "no event NOPE" },
		{ WHOLE "node A\npart info\nevent UNC\n", ":9: ", "cannot be sampled" },
		{ WHOLE "node A\npart info\nevent CYC\nprecise 1\n", ":10: ", "precisely" },
		{ WHOLE "node A\npart info\nevent UOPS\nprecise 4\n", ":10: ", "up to 3" },
		{ WHOLE "node A\npart info\nevent UOPS\npenalty -1\n", ":10: ", "cycles up to" },
		{ WHOLE "node A\npart info\nevent UOPS\npenalty 3 rif\n", ":10: ", "cycles up to" },
		{ WHOLE "node A\npart info\nevent UOPS\npenalty nan\n", ":10: ", "cycles up to" },
		{ WHOLE "node A\npart info\npenalty 3\nexpr 1\n", ":9: ", "an event's" },
		{ WHOLE "node A\npart info\nevent UOPS\nexpr 1\n", ":10: ", "an event already" },
		{ WHOLE "node A\npart info\nexpr UOPS + Nope\n", ":9:", "Nope" },
		{ WHOLE "node A\npart info\nexpr B\nnode B\npart info\nexpr A\n",
		  ":7: ", "needs itself" },
		{ WHOLE "node A\npart info\nexpr A\n", ":7: ", "needs itself" },
		{ WHOLE "node A\npart info\n", ":7: ", "neither an event" },
		{ WHOLE "node A\npart info\ncover none\nevent UOPS\n",
		  ":7: ", "cover is not none" },
		{ WHOLE "node A\npart info\nevent UOPS\nadds\n", ":7: ", "no parent" },
		{ WHOLE "node A\nparent Cycles\nevent UOPS\npenalty 1\nadds\n",
		  ":2: ", "nothing can add" },
		{ WHOLE "node A\nparent Nope\nevent UOPS\n", ":8: ", "no node Nope" },
		{ WHOLE "node A\npart info\nevent UOPS\nparent A\n", ":7: ", "circle" },
		{ WHOLE "node A\npart info\nevent UOPS\nwithin Nope\n", ":10: ", "no node Nope" },
		{ WHOLE "node A\npart info\nevent UOPS\nwithin A\n", ":10: ", "another node" },
		{ WHOLE "node A\npart info\nevent UOPS\nsame Cycles\n", ":10: ", "is in cycles" },
		{ WHOLE "node A\npart info\nevent UOPS\ntolerance 2\n", ":10: ", "a share" },
		{ WHOLE "node A\npart info\nevent UOPS\nalways x\n",
		  ":10: ", "occurrences in a cycle" },
		{ WHOLE "node A\npart info\nevent UOPS\npenalty 2\nunit x\n",
		  ":11: ", "in cycles" },
		{ WHOLE "node A\npart info\nflag > 1\n", ":9:1: ", "no keyword flag" },
		{ WHOLE "metric A\n", ":7:1: ", "no keyword metric" },
		{ "part info\n", ":1:1: ", "node NAME" },
		{ "reference NOPE\n" WHOLE "reference NOPE\n", ":8: ", "no event NOPE" },
		{ WHOLE "reference REF -3\n", ":7: ", "rate in Hz" },
		{ "# empty\n", "account", "no node" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;
		struct loaded l;

		assert_int_equal(load(&l, bad[i].text, &err), -1);
		/* the model itself can be used */
		assert_non_null(l.m);
		if (!strstr(err.what, bad[i].line) || !strstr(err.what, bad[i].what))
			print_error("%zu: %s\n%s\n", i, err.what, err.hint);
		assert_int_equal(err.code, ERR_FORMAT);
		assert_non_null(strstr(err.what, bad[i].line));
		assert_non_null(strstr(err.what, bad[i].what));
		err_clear(&err);
		unload(&l);
	}
}

static void caret(void **state)
{
	struct err err = ERR_INIT;
	struct loaded l;

	(void)state;
	assert_int_equal(load(&l, WHOLE "node A\npart info\nevent NOPE\n", &err), -1);
	assert_string_equal(err.hint, "event    NOPE\n         ^");
	err_clear(&err);
	unload(&l);
}

static void penalties(void **state)
{
	static const char text[] =
		WHOLE "node B\npart stalled\n"
		      "node M\nparent B\nevent MISS\npenalty 3.5 ref\nadds\n"
		      "node I\nparent B\nevent MISS\nnode F\npart info\nexpr B / 2\n";
	static const struct {
		const char *text, *what;
	} bad[] = {
		{ "M\n", "mine:1:2" },
		{ "\n# x\nM 2000000\n", "mine:3:3" },
		{ "M 5 reff\n", "mine:1:3" },
		{ "M 5 ns ref\n", "mine:1:3" },
		{ "Nope 5\n", "no node or event Nope" },
		{ "F 5\n", "no node or event F" },
		{ "M 1e400\n", "mine:1:3" },
	};
	struct err err = ERR_INIT;
	struct loaded l;

	(void)state;
	assert_int_equal(load(&l, text, &err), 0);
	assert_int_equal(account_penalties(&l.acc, 1, &l.a, "mine", "# mine\nm  12\n", 13, &err),
			 0);
	assert_true(node(&l, "M")->penalty == 12 && !node(&l, "M")->reference);
	/* by event: the node that costs, not the one that only shows it */
	assert_int_equal(account_penalties(&l.acc, 1, &l.a, "mine", "MISS 40 ref", 11, &err), 0);
	assert_true(node(&l, "M")->penalty == 40 && node(&l, "M")->reference);
	assert_int_equal(account_penalties(&l.acc, 1, &l.a, "mine", "M 1.5 ns", 8, &err), 0);
	assert_true(node(&l, "M")->penalty == 1.5 && !node(&l, "M")->reference &&
		    node(&l, "M")->ns);
	assert_true(node(&l, "I")->penalty == 0 && !node(&l, "I")->cycles);
	assert_int_equal(account_penalties(&l.acc, 1, &l.a, "mine", "I 2", 3, &err), 0);
	assert_true(node(&l, "I")->penalty == 2 && node(&l, "I")->cycles);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(account_penalties(&l.acc, 1, &l.a, "mine", bad[i].text,
						   strlen(bad[i].text), &err),
				 -1);
		assert_non_null(strstr(err.what, bad[i].what));
		err_clear(&err);
	}
	unload(&l);
}

static void nothing(void **state)
{
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct account *acc;
	struct model *m;

	(void)state;
	assert_int_equal(model_load(&m, NULL, "sysfs", NULL, &err), 0);
	assert_int_equal(account_load(&acc, &a, m, NULL, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_null(acc);
	err_clear(&err);
	model_free(m);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_load), cmocka_unit_test(values), cmocka_unit_test(bases),
		cmocka_unit_test(refusals), cmocka_unit_test(caret),  cmocka_unit_test(penalties),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests_name("model/account", tests, NULL, NULL);
}
