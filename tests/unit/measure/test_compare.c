/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of compare with planted times: how often a change is found that is none, and that is
 * one, on machines that drift, step and are disturbed in bursts. All seeds are fixed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "measure/compare.h"

#define TRIALS 200u

struct machine {
	uint64_t state;
	double sd, drift, wave, memory, start, size; /* of noise; of bursts */
	double step[3];
	size_t step_at[3], length;
	/* of a series: */
	size_t run, runs, left;
	double last, factor;
};

static double uniform(struct machine *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (double)(m->state >> 11) / 9007199254740992.0;
}

static double normal(struct machine *m)
{
	return sqrt(-2 * log(1 - uniform(m))) * cos(6.283185307179586 * uniform(m));
}

/* A machine by number: spread of 0.4 to 1.5 %, drift up to 5 %, three steps of some 3 %, bursts of
 * one to five runs that lose some 2 to 15 %, noise that remembers. */
static struct machine make(uint64_t number)
{
	struct machine m = { .state = number * 0x9e3779b97f4a7c15u + 1, .factor = 1 };

	for (int i = 0; i < 10; i++)
		(void)uniform(&m);
	m.sd = 0.004 + 0.011 * uniform(&m);
	m.drift = 0.1 * uniform(&m) - 0.05;
	m.wave = 0.02 * uniform(&m);
	m.memory = 0.8 * uniform(&m);
	m.start = 0.05 * uniform(&m);
	m.size = 0.02 + 0.13 * uniform(&m);
	m.length = 1 + (size_t)(5 * uniform(&m));
	return m;
}

static double draw_time(struct machine *m)
{
	double at, log_time;

	if (m->run % m->runs == 0)
		for (int i = 0; i < 3; i++) {
			m->step[i] = 0.03 * normal(m);
			m->step_at[i] = (size_t)(uniform(m) * 2 * (double)m->runs);
		}
	at = (double)(m->run % m->runs) / (double)m->runs;
	m->left = m->left ? m->left - 1 : uniform(m) < m->start ? m->length : 0;
	m->last = m->memory * m->last + 0.5 * m->sd * normal(m);
	log_time = m->drift * at + m->wave * sin(9 * at) + m->last + m->sd * normal(m);
	for (int i = 0; i < 3; i++)
		log_time += m->run % m->runs >= m->step_at[i] ? m->step[i] : 0;
	if (m->left)
		log_time -= m->size * log(1 - uniform(m));
	m->run++;
	return exp(log_time);
}

static int planted(void *ctx, struct compare *c, struct compare_one *one, struct err *err)
{
	struct machine *m = ctx;

	if (!c->n_metrics && compare_metrics(c, COMPARE_TIMES, err))
		return -1;
	one->value = arena_alloc(c->a, COMPARE_TIMES * sizeof(*one->value));
	if (!one->value)
		return -1;
	one->value[COMPARE_TIME] = draw_time(m) * (one->side ? m->factor : 1);
	one->value[COMPARE_USER] = NAN;
	one->value[COMPARE_SYSTEM] = 0;
	return 0;
}

static struct compare_effect compare_on(struct machine *m, uint32_t pairs, uint64_t seed)
{
	const struct compare_runner r = { .run = planted, .ctx = m };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct compare_effect e;
	struct compare c;

	m->runs = 2 * pairs;
	m->run = 0;
	compare_begin(&c, &a, pairs, seed);
	assert_int_equal(compare_run(&c, &r, &err), 0);
	e = c.metric[COMPARE_TIME].effect;
	assert_int_equal(c.metric[COMPARE_USER].effect.verdict, COMPARE_UNKNOWN);
	assert_int_equal(c.metric[COMPARE_SYSTEM].effect.verdict, COMPARE_NOISE);
	assert_int_equal(c.run.n, 2 * pairs * c.n_series);
	compare_free(&c);
	arena_free(&a);
	return e;
}

/* ---- a busy machine ---- */

/* What others cost: the wall clock waits for them, user time and cycles share caches with them. */
struct busy {
	struct machine m;
	double wall, user; /* factors of the new side */
	size_t left;
	double slowed;
};

static int busy_run(void *ctx, struct compare *c, struct compare_one *one, struct err *err)
{
	struct busy *b = ctx;
	struct machine *m = &b->m;
	double shared, waits = 0.15 * -log(1 - uniform(m)), user;

	if (!c->n_metrics) {
		if (compare_metrics(c, COMPARE_TIMES + 1, err))
			return -1;
		c->metric[COMPARE_TIMES] = (struct compare_metric){
			.name = "cycles", .unit = "", .main = true, .decides = true
		};
	}
	one->value = arena_alloc(c->a, (COMPARE_TIMES + 1) * sizeof(*one->value));
	if (!one->value)
		return -1;
	if (!b->left && uniform(m) < 0.1) { /* a neighbour comes, for some runs */
		b->left = 1 + (size_t)(6 * uniform(m));
		b->slowed = 0.1 * uniform(m);
	}
	b->left -= b->left > 0;
	shared = (b->left ? b->slowed : 0) + 0.02 * normal(m);
	user = exp(shared) * (one->side ? b->user : 1);
	one->value[COMPARE_USER] = user * (1 + 0.01 * normal(m));
	one->value[COMPARE_TIME] =
		user * (1 + waits + (b->left ? 3 * b->slowed : 0)) * (one->side ? b->wall : 1);
	one->value[COMPARE_SYSTEM] = 0;
	one->value[COMPARE_TIMES] = 3e9 * user * (1 + 0.005 * normal(m));
	return 0;
}

struct busy_found {
	bool any, wall, wall_twice; /* a main figure; wall clock; in each series */
};

static struct busy_found compare_busy(uint64_t number, double wall, double user)
{
	struct busy b = { .m = make(number), .wall = wall, .user = user };
	const struct compare_runner r = { .run = busy_run, .ctx = &b };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct busy_found f = { 0 };
	struct compare c;

	compare_begin(&c, &a, 20, number);
	assert_int_equal(compare_run(&c, &r, &err), 0);
	for (size_t i = 0; i < c.n_metrics; i++)
		f.any |= c.metric[i].main && (c.metric[i].effect.verdict == COMPARE_MORE ||
					      c.metric[i].effect.verdict == COMPARE_LESS);
	f.wall = c.metric[COMPARE_TIME].effect.verdict == COMPARE_MORE;
	f.wall_twice =
		c.metric[COMPARE_TIME].effect.found[0] && c.metric[COMPARE_TIME].effect.found[1];
	compare_free(&c);
	arena_free(&a);
	return f;
}

static void a_busy_machine(void **state)
{
	unsigned found = 0, by_wall = 0, wrong = 0, wall = 0;

	(void)state;
	for (uint64_t i = 0; i < 2 * TRIALS; i++)
		wrong += compare_busy(5000 + i, 1, 1).any;
	for (uint64_t i = 0; i < TRIALS; i++) {
		struct busy_found f = compare_busy(7000 + i, 1, 1.05);

		found += f.any;
		by_wall += f.wall_twice;
		wall += compare_busy(9000 + i, 1.3, 1).wall; /* it waits longer, and does no more */
	}
	print_message("# busy, of %u: 5 %% found in %u (in both series by the wall clock alone: "
		      "%u), wall clock alone 30 %% slower in %u; of %u without a change %u\n",
		      TRIALS, found, by_wall, wall, 2 * TRIALS, wrong);
	assert_true(found >= TRIALS * 15 / 20);
	assert_true(found >= 2 * by_wall);
	assert_true(wall >= TRIALS * 15 / 20);
	assert_true(wrong <= 2); /* 0.5 expected at most */
}

static bool is_verdict(const struct compare_effect *e)
{
	return e->verdict == COMPARE_MORE || e->verdict == COMPARE_LESS;
}

static void without_a_change_there_is_no_verdict(void **state)
{
	unsigned verdicts = 0, first = 0;

	(void)state;
	for (uint64_t i = 0; i < TRIALS; i++) {
		struct machine m = make(i);
		struct compare_effect e = compare_on(&m, 20, i);

		verdicts += is_verdict(&e);
		first += e.found[0];
	}
	print_message("# of %u without a change: %u verdicts, %u in the first series alone\n",
		      TRIALS, verdicts, first);
	assert_true(verdicts <= 2);
	assert_true(first >= 1 && first <= 20); /* 5 %: this can fail */
}

static void a_change_is_found_with_the_pairs_recommended(void **state)
{
	unsigned found = 0, within = 0, of = 0;

	(void)state;
	for (uint64_t i = 0; i < TRIALS; i++) {
		struct machine m = make(1000 + i);
		struct compare_effect e;

		m.factor = 1.02;
		e = compare_on(&m, 20, i);
		if (e.wanted > 500) /* nobody would */
			continue;
		e = compare_on(&m, (uint32_t)e.wanted, i);
		found += e.verdict == COMPARE_MORE;
		within += e.low <= 0.02 && 0.02 <= e.high;
		of++;
	}
	print_message("# of %u with 2 %%: %u found, %u intervals hold it\n", of, found, within);
	assert_true(of >= 180);
	assert_true(found >= of * 9 / 10);
	assert_true(within >= of * 9 / 10);
}

/* Its runs: half of the pairs each way, each pair one of each. */
static void order_is_balanced(void **state)
{
	struct machine m = make(1);
	const struct compare_runner r = { .run = planted, .ctx = &m };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	size_t b_first = 0, changes = 0;
	struct compare c;

	(void)state;
	m.runs = 40;
	compare_begin(&c, &a, 20, 7);
	assert_int_equal(compare_series(&c, &r, &err), 0);
	for (size_t i = 0; i < c.run.n; i += 2) {
		assert_true(c.run.v[i].side != c.run.v[i + 1].side);
		assert_int_equal(c.run.v[i].pair, c.run.v[i + 1].pair);
		b_first += c.run.v[i].side;
		changes += i && c.run.v[i].side != c.run.v[i - 2].side;
	}
	assert_int_equal(b_first, 10);
	assert_true(changes > 3);
	compare_free(&c);
	arena_free(&a);
}

/* By hand: of 1..6 the means of two are 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3, ...; the interval of six
 * pairs is that of all of them. */
static void small_series(void **state)
{
	const double up[] = { 3, 1, 6, 2, 5, 4 }, same[] = { 0, 0, 0, 0, 0, 0, 0, 0 };
	const double both[] = { -3, 1, 6, -2, 5, -4, 2, 1 };
	struct err err = ERR_INIT;
	struct paired p;

	(void)state;
	assert_int_equal(paired_effect(&p, up, 6, &err), 0);
	assert_float_equal(p.effect, 3.5, 1e-12);
	assert_float_equal(p.low, 1, 1e-12);
	assert_float_equal(p.high, 6, 1e-12);
	assert_float_equal(p.chance, 2.0 / 64, 1e-12); /* one sign of two to the sixth */
	assert_int_equal(paired_effect(&p, up, 5, &err), 0);
	assert_true(isnan(p.low) && p.effect == 3.5);
	assert_float_equal(p.chance, 2.0 / 32, 1e-12);
	assert_int_equal(paired_effect(&p, same, 8, &err), 0);
	assert_true(p.effect == 0 && p.low == 0 && p.high == 0 && p.chance == 1);
	assert_int_equal(paired_wanted(&p, 0.02, 4), PAIRED_GOOD);
	assert_int_equal(paired_effect(&p, both, 8, &err), 0);
	assert_true(p.low < 0 && p.high > 0 && p.chance > 0.05);
	assert_int_equal(paired_effect(&p, both, 0, &err), 0);
	assert_true(isnan(p.effect) && isnan(p.chance) && !paired_wanted(&p, 0.02, 4));
}

/* ---- functions: many metrics, known once a series has ended ---------------------------------- */

#define FUNCTIONS 10u

struct sampled {
	struct machine m;
	double planted; /* of function 3 */
	VEC(double) value;
};

static int sample(void *ctx, struct compare *c, struct compare_one *one, struct err *err)
{
	struct sampled *s = ctx;

	if (planted(&s->m, c, one, err))
		return -1;
	for (unsigned k = 0; k < FUNCTIONS; k++) {
		double changed = k == 3 && one->side ? s->planted : 1;
		double value =
			one->value[COMPARE_TIME] / (k + 1) * changed * (1 + 0.02 * normal(&s->m));

		if (vec_push(&s->value, value))
			return -1;
	}
	return 0;
}

static int name_functions(void *ctx, struct compare *c, struct err *err)
{
	struct sampled *s = ctx;

	if (compare_more(c, FUNCTIONS, err))
		return -1;
	for (unsigned k = 0; k < FUNCTIONS; k++) {
		c->metric[COMPARE_TIMES + k] = (struct compare_metric){
			.name = "function:f", .unit = "s", .decides = true, .many = true
		};
		for (size_t i = 0; i < c->run.n; i++)
			c->run.v[i].value[COMPARE_TIMES + k] = s->value.v[i * FUNCTIONS + k];
	}
	return 0;
}

/* A bit for each function that has a verdict. */
static unsigned verdicts_of(uint64_t number, double factor)
{
	struct sampled s = { .m = make(number), .planted = factor };
	const struct compare_runner r = { sample, &s, name_functions };
	struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct compare c;
	unsigned bits = 0;

	s.m.runs = 40;
	compare_begin(&c, &a, 20, number);
	assert_int_equal(compare_run(&c, &r, &err), 0);
	assert_int_equal(c.n_metrics, COMPARE_TIMES + FUNCTIONS);
	for (unsigned k = 0; k < FUNCTIONS; k++)
		bits |= (unsigned)is_verdict(&c.metric[COMPARE_TIMES + k].effect) << k;
	compare_free(&c);
	vec_free(&s.value);
	arena_free(&a);
	return bits;
}

static void functions_have_no_verdict_without_a_change(void **state)
{
	unsigned wrong = 0, found = 0;

	(void)state;
	for (uint64_t i = 0; i < TRIALS; i++) {
		wrong += verdicts_of(i, 1) != 0;
		found += verdicts_of(i, 1.1) >> 3 & 1;
	}
	print_message("# of %u series of %u functions: %u with a verdict that is none, +10 %% of "
		      "one is found in %u\n",
		      TRIALS, FUNCTIONS, wrong, found);
	assert_true(wrong <= 2);
	assert_true(found >= TRIALS * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_series),
		cmocka_unit_test(order_is_balanced),
		cmocka_unit_test(a_busy_machine),
		cmocka_unit_test(without_a_change_there_is_no_verdict),
		cmocka_unit_test(functions_have_no_verdict_without_a_change),
		cmocka_unit_test(a_change_is_found_with_the_pairs_recommended),
	};

	return cmocka_run_group_tests_name("measure/compare", tests, NULL, NULL);
}
