/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of the whole time out of readings of groups that took turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "turns.h"

/* Groups that join when the program changes its ways (as drilling down does): what one scale for
 * the whole run makes of that, and what slices do. */
static void groups_that_join_later(void **state)
{
	double inside = 0, bars = 0, miss = 0, perf_miss = 0;

	(void)state;
	seed = 40;
	for (int run = 0; run < 100; run++) {
		struct arena arena = ARENA_INIT;
		struct slices *s = slices_of(6);
		struct tree_counts c;
		struct program p;
		struct machine m;

		program_init(&p, TWO_PHASES, 4e9);
		p.at = 2e9;
		machine_init(&m, 6);
		/* three of five are there from the second phase on */
		m.on[3] = m.on[4] = m.on[5] = false;
		for (int half = 0; half < 2; half++) {
			double rate[MAX_EVENTS], turn = 4e6 * draw(), read = 20e6;

			for (double t = 2e9 * half; t < 2e9 * (half + 1); t += 0.25e6) {
				if (t - 2e9 * half >= turn) {
					machine_rotate(&m);
					turn += 4e6 * (0.98 + 0.04 * draw());
				}
				if (t - 2e9 * half >= read) {
					machine_read(&m, s, t);
					read += 40e6 * (0.9 + 0.2 * draw());
				}
				program_rates(&p, t, rate);
				machine_step(&m, rate, 0.25e6);
			}
			machine_read(&m, s, 2e9 * (half + 1));
			m.on[3] = m.on[4] = m.on[5] = true;
		}
		counts_of(s, &arena, &c);
		for (uint32_t e = 2; e < 6; e++) {
			double bar = 1.96 * sqrt(variance(&c, e)) / m.truth[e];
			double off = fabs(c.count[e] / m.truth[e] - 1);

			bars++;
			inside += off <= bar;
			miss += off;
			perf_miss += fabs(
				m.value[e] * m.enabled[e / 2] / m.running[e / 2] / m.truth[e] - 1);
		}
		/* those saw the second phase alone: the bar must reach over what changed */
		for (uint32_t e = 6; e < 12; e++) {
			double half = c.counted[e];

			assert_true(half > 0.05 && half < 0.15);
		}
		slices_free(s);
		arena_free(&arena);
	}
	print_message("# joined: %.1f %% of %.0f bars hold; off by %.2f %%, scaling as perf does "
		      "%.2f %%\n",
		      100 * inside / bars, bars, 100 * miss / bars, 100 * perf_miss / bars);
	assert_true(inside >= 0.9 * bars);
	assert_true(miss * 10 < perf_miss);
}

/* Cycles count in every group: a ratio to them is told by the group's own, and so is the count. */
static void shared_events_tell_the_others(void **state)
{
	enum { G = 5, RUNS = 150 };
	double inside = 0, bars = 0, miss = 0, alone_miss = 0, width = 0, cycles = 0;

	(void)state;
	seed = 60;
	for (int run = 0; run < RUNS; run++) {
		struct slices_group group[G], alone[G];
		uint32_t event[G][2];
		struct slices_setup setup = { group, G, MAX_EVENTS, 1, 0, 0 };
		struct slices *s = NULL, *s_alone = NULL;
		struct arena arena = ARENA_INIT;
		struct err err = ERR_INIT;
		struct tree_counts c, c_alone;
		struct program p;
		struct machine m;
		double rate[MAX_EVENTS], turn = 4e6 * draw(), read = 0, truth[G + 1] = { 0 };

		for (uint32_t g = 0; g < G; g++) {
			event[g][0] = 0;
			event[g][1] = g + 1;
			group[g] = (struct slices_group){ event[g], 2, NULL };
			alone[g] = (struct slices_group){ &event[g][1], 1, NULL };
		}
		assert_int_equal(slices_new(&s, &setup, &err), 0);
		setup.group = alone;
		assert_int_equal(slices_new(&s_alone, &setup, &err), 0);
		program_init(&p, run & 1 ? RANDOM : PERIODIC, 3e9);
		/* cycles come and go, the others follow them by and large */
		for (int st = 0; st < STATES; st++)
			for (uint32_t e = 1; e <= G; e++)
				p.rate[st][e] = p.rate[st][0] * (0.3 + 0.1 * draw());
		machine_init(&m, G);
		for (double t = 0; t <= 3e9; t += 0.25e6) {
			if (t >= turn) {
				m.turn = (m.turn + 1) % G;
				turn += 4e6 * (0.98 + 0.04 * draw());
			}
			for (uint32_t g = 0; g < G && (t >= read || t >= 3e9); g++) {
				struct slices_reading r[2];

				r[0] = (struct slices_reading){ (uint64_t)m.value[2 * g],
								(uint64_t)m.enabled[g],
								(uint64_t)m.running[g], false };
				r[1] = r[0];
				r[1].value = (uint64_t)m.value[2 * g + 1];
				assert_int_equal(slices_add(s, g, (uint64_t)t, r, &err), 0);
				assert_int_equal(slices_add(s_alone, g, (uint64_t)t, r + 1, &err),
						 0);
			}
			if (t >= 3e9)
				break;
			if (t >= read)
				read += 40e6 * (0.9 + 0.2 * draw());
			program_rates(&p, t, rate);
			for (uint32_t g = 0; g < G; g++) {
				m.enabled[g] += 0.25e6;
				truth[g + 1] += rate[g + 1] * 0.25e6;
				if (g != m.turn)
					continue;
				m.running[g] += 0.25e6;
				m.value[2 * g] += rate[0] * 0.25e6;
				m.value[2 * g + 1] += rate[g + 1] * 0.25e6;
			}
			truth[0] += rate[0] * 0.25e6;
		}
		counts_of(s, &arena, &c);
		counts_of(s_alone, &arena, &c_alone);
		assert_int_equal(c.n_groups, G + 1);
		assert_true(c.counted[0] > 0.99);
		cycles += fabs(c.count[0] / truth[0] - 1);
		for (uint32_t e = 1; e <= G; e++) {
			double bar = 1.96 * sqrt(variance(&c, e)) / truth[e];
			double off = fabs(c.count[e] / truth[e] - 1);

			bars++;
			inside += off <= bar;
			width += bar;
			miss += off;
			alone_miss += fabs(c_alone.count[e] / truth[e] - 1);
		}
		slices_free(s);
		slices_free(s_alone);
		arena_free(&arena);
	}
	print_message("# told by cycles: %.1f %% of %.0f bars hold, width %.2f %%; off by %.2f %%, "
		      "without %.2f %%; cycles by %.3f %%\n",
		      100 * inside / bars, bars, 100 * width / bars, 100 * miss / bars,
		      100 * alone_miss / bars, 100 * cycles / RUNS);
	assert_true(inside >= 0.9 * bars);
	assert_true(miss * 3 < alone_miss);
	assert_true(cycles / RUNS < 0.001);
}

/* ---- exact cases ---- */

static struct slices *one_group(const uint32_t *event, size_t n, size_t targets,
				const bool *stepped, size_t bytes)
{
	struct slices_group group = { event, n, stepped };
	struct slices_setup setup = { &group, 1, 8, targets, 1000, bytes };
	struct err err = ERR_INIT;
	struct slices *s = NULL;

	assert_int_equal(slices_new(&s, &setup, &err), 0);
	return s;
}

static void add1(struct slices *s, uint64_t t, uint64_t value, uint64_t enabled, uint64_t running)
{
	struct slices_reading r = { value, enabled, running, false };
	struct err err = ERR_INIT;

	assert_int_equal(slices_add(s, 0, t, &r, &err), 0);
}

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.17g is not %.17g within %g", got, want, within);
}

static void always_counted_is_exact(void **state)
{
	static const uint32_t event[] = { 3 };
	struct slices *s = one_group(event, 1, 1, NULL, 0);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;

	(void)state;
	add1(s, 2000, 100, 1000, 1000);
	add1(s, 3000, 700, 2000, 2000);
	add1(s, 4000, 750, 2500, 2500); /* a task that slept */
	counts_of(s, &arena, &c);
	near(c.count[3], 750, 0);
	near(c.counted[3], 1, 0);
	assert_true(isnan(c.count[0]) && isnan(c.counted[0]));
	assert_int_equal(c.n_groups, 1);
	assert_int_equal(c.member[c.first[0]], 3);
	assert_null(c.cov[0]);
	assert_null(c.no_error[0]);
	/* intervals */
	assert_int_equal(slices_counts(s, &arena, 2000, 3000, &c, &err), 0);
	near(c.count[3], 600, 0);
	assert_int_equal(slices_counts(s, &arena, 2000, 4000, &c, &err), 0);
	near(c.count[3], 650, 0);
	assert_int_equal(slices_counts(s, &arena, 4000, 9000, &c, &err), 0);
	assert_true(isnan(c.count[3]));
	slices_free(s);
	arena_free(&arena);
}

static void few_slices_have_no_bar(void **state)
{
	static const uint32_t event[] = { 0 };
	struct slices *s = one_group(event, 1, 1, NULL, 0);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;

	(void)state;
	counts_of(s, &arena, &c);
	assert_true(isnan(c.count[0]));
	add1(s, 2000, 0, 1000, 0);
	counts_of(s, &arena, &c);
	assert_true(isnan(c.count[0])); /* never came to its turn: not 0 */
	near(c.counted[0], 0, 0);
	add1(s, 3000, 100, 2000, 500);
	counts_of(s, &arena, &c);
	near(c.count[0], 400, 1e-9);
	near(c.counted[0], 0.25, 1e-9);
	assert_null(c.cov[0]);
	assert_string_equal(c.no_error[0], "on the counters in 1 slices of time only");
	for (uint64_t i = 1; i < 4; i++)
		add1(s, 3000 + 1000 * i, 100 * (i + 1), 2000 + 1000 * i, 500 * (i + 1));
	counts_of(s, &arena, &c);
	assert_non_null(c.cov[0]);
	assert_null(c.no_error[0]);
	slices_free(s);
	arena_free(&arena);
}

static void a_gap_is_filled_from_both_sides(void **state)
{
	static const uint32_t event[] = { 0 };
	struct slices *s = one_group(event, 1, 1, NULL, 0);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;

	(void)state;
	/* half of the first, none of the second, half of the third: rates 1 and 9 (too unlike to be
	 * pooled, were it not for their equal share) */
	add1(s, 2000, 500, 1000, 500);
	add1(s, 3000, 500, 2000, 500);
	add1(s, 4000, 5000, 3000, 1000);
	counts_of(s, &arena, &c);
	near(c.count[0], 1500 * 1 + 1500 * 9, 1e-6);
	slices_free(s);
	arena_free(&arena);
}

/* Reading takes time in which the program goes on: a group read late has more in this slice and
 * less in the next. That adds no time to the whole. */
static void groups_read_one_after_the_other(void **state)
{
	static const uint32_t event[] = { 0, 1, 2 };
	struct slices_group group[3];
	struct slices_setup setup = { group, 3, 3, 1, 0, 0 };
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct slices *s = NULL;
	struct tree_counts c;

	(void)state;
	seed = 90;
	for (size_t g = 0; g < 3; g++)
		group[g] = (struct slices_group){ &event[g], 1, NULL };
	assert_int_equal(slices_new(&s, &setup, &err), 0);
	for (uint64_t i = 1; i <= 20; i++) {
		uint64_t at = i * 12 * MS;

		for (uint32_t g = 0; g < 3; g++) {
			struct slices_reading r = { 0, at, at / 3, false };

			r.value = r.running * (g + 1);
			assert_int_equal(slices_add(s, g, i * 12 * MS, &r, &err), 0);
			at += i < 20 ? (uint64_t)(draw() * 900) * 1000 : 0;
		}
	}
	counts_of(s, &arena, &c);
	for (uint32_t e = 0; e < 3; e++)
		near(c.count[e] / (double)(240 * MS * (e + 1)), 1, 1e-9);
	slices_free(s);
	arena_free(&arena);
}

static void resets_are_added_up(void **state)
{
	static const uint32_t event[] = { 0 };
	struct slices *s = one_group(event, 1, 1, NULL, 0);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct slices_reading gone = { 0, 0, 0, true };
	struct err err = ERR_INIT;

	(void)state;
	add1(s, 2000, 100, 1000, 1000);
	add1(s, 3000, 30, 2000, 2000);
	add1(s, 4000, 50, 3000, 3000);
	assert_int_equal(slices_add(s, 0, 5000, &gone, &err), 0);
	counts_of(s, &arena, &c);
	near(c.count[0], 150, 0);
	assert_int_equal(slices_add(s, 0, 4000, &gone, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	/* twice at one time: the last holds */
	add1(s, 6000, 60, 4000, 4000);
	add1(s, 6000, 70, 4000, 4000);
	counts_of(s, &arena, &c);
	near(c.count[0], 170, 0);
	slices_free(s);
	arena_free(&arena);
}

static void steps_and_targets(void **state)
{
	static const uint32_t event[] = { 2, 5 };
	static const bool stepped[] = { false, true };
	struct slices *s = one_group(event, 2, 3, stepped, 0);
	struct slices_reading r[6] = { { 2550, 100, 100, false }, { 2550, 100, 100, false },
				       { 0, 0, 0, true },	  { 100, 100, 100, false },
				       { 50, 100, 100, false },	  { 0, 0, 0, true } };
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(slices_add(s, 0, 2000, r, &err), 0);
	counts_of(s, &arena, &c);
	assert_int_equal(c.n_lps, 3);
	near(c.count[5 * 3], 100, 0);
	near(c.count[5 * 3 + 1], 50, 0);
	assert_true(isnan(c.count[5 * 3 + 2]));
	near(c.quantum[5], 10, 1e-9);
	near(c.quantum[2], 0, 0);
	slices_free(s);
	arena_free(&arena);
}

/* A target where the group never had its turn is taken for the mean of the others, and for as far
 * off as these are from each other: a variance of two, which has one degree of freedom. */
static void an_unseen_target_is_as_the_others(void **state)
{
	static const uint32_t event[] = { 2 };
	struct slices *s = one_group(event, 1, 3, NULL, 0);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;

	(void)state;
	for (uint64_t i = 1; i <= 8; i++) {
		struct slices_reading r[3] = { { 2 * i * MS, i * MS, i * MS / 2, false },
					       { i * MS, i * MS, i * MS / 2, false },
					       { 0, i * MS, 0, false } };

		assert_int_equal(slices_add(s, 0, 1000 + i * MS, r, &err), 0);
	}
	counts_of(s, &arena, &c);
	near(c.count[2 * 3], 32e6, 1);
	near(c.count[2 * 3 + 1], 16e6, 1);
	near(c.count[2 * 3 + 2], 24e6, 1); /* rates 4 and 2 */
	near(sqrt(variance(&c, 2)) / 8e6, sqrt(2), 1e-6);
	slices_free(s);
	arena_free(&arena);
}

/* A group was on in the second half only. What always counted went up by a half and down by a half
 * from the first to the second: what was not seen is off by the spread of these two. */
static void what_was_off_is_as_what_always_counted(void **state)
{
	static const uint32_t always[] = { 0, 1 }, late[] = { 2 };
	struct slices_group group[2] = { { always, 2, NULL }, { late, 1, NULL } };
	struct slices_setup setup = { group, 2, 8, 1, 1000, 0 };
	struct slices_reading r[2] = { { 0, 0, 0, false }, { 0, 0, 0, false } };
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;
	struct slices *s = NULL;

	(void)state;
	assert_int_equal(slices_new(&s, &setup, &err), 0);
	for (uint64_t i = 1; i <= 40; i++) {
		uint64_t on = i > 20 ? i - 20 : 0;
		struct slices_reading l = { 8 * on * MS, on * MS, on * MS, false };

		r[0].value += (i > 20 ? 10 : 15) * MS;
		r[1].value += (i > 20 ? 10 : 5) * MS;
		r[0].enabled = r[0].running = r[1].enabled = r[1].running = i * MS;
		assert_int_equal(slices_add(s, 0, 1000 + i * MS, r, &err), 0);
		assert_int_equal(slices_add(s, 1, 1000 + i * MS, &l, &err), 0);
	}
	counts_of(s, &arena, &c);
	near(c.count[2] / 320e6, 1, 1e-6);
	/* changes of +0.5 and -0.5 have a variance of 0.5; half of the time was not seen */
	near(sqrt(variance(&c, 2)) / 160e6, sqrt(0.5), 1e-3);
	slices_free(s);
	arena_free(&arena);
}

/* The same of one of two events; and where one other target is all there is to go by, that one
 * may be off by as much as it is. */
static void an_unseen_event_is_as_on_other_targets(void **state)
{
	static const uint32_t event[] = { 1, 2 };

	(void)state;
	for (size_t targets = 2; targets <= 3; targets++) {
		struct slices *s = one_group(event, 2, targets, NULL, 0);
		struct arena arena = ARENA_INIT;
		struct tree_counts c;
		struct err err = ERR_INIT;

		for (uint64_t i = 1; i <= 8; i++) {
			struct slices_reading r[6], *x = r;

			for (uint64_t t = 0; t < targets; t++)
				*x++ = (struct slices_reading){ (t + 5) * i * MS, i * MS, i * MS,
								false };
			for (uint64_t t = 0; t + 1 < targets; t++)
				*x++ = (struct slices_reading){ (2 - t) * i * MS, i * MS,
								i * MS / 2, false };
			*x = (struct slices_reading){ 0, i * MS, 0, false };
			assert_int_equal(slices_add(s, 0, 1000 + i * MS, r, &err), 0);
		}
		counts_of(s, &arena, &c);
		for (size_t t = 0; t < targets; t++)
			near(c.count[targets + t], (double)(t + 5) * 8e6, 1);
		near(c.count[2 * targets], 32e6, 1);
		if (targets == 2) {
			near(c.count[2 * targets + 1], 32e6, 1); /* its rate is 4 */
			near(sqrt(variance(&c, 2)), 32e6, 100);
		} else {
			near(c.count[2 * targets + 1], 16e6, 1);
			near(c.count[2 * targets + 2], 24e6, 1);
			near(sqrt(variance(&c, 2)), sqrt(2) * 8e6, 100);
		}
		slices_free(s);
		arena_free(&arena);
	}
}

/* A group was on in the second half only. Where all that always counted went down by the same, all
 * of the group's events did so together; of a single one nothing tells whether they did. */
static void what_was_off_changed_together(void **state)
{
	static const uint32_t always[] = { 0, 1 }, late[] = { 2, 4 };

	(void)state;
	for (size_t known = 1; known <= 2; known++) {
		struct slices_group group[2] = { { always, known, NULL }, { late, 2, NULL } };
		struct slices_setup setup = { group, 2, 8, 1, 1000, 0 };
		struct slices_reading r[2] = { { 0, 0, 0, false }, { 0, 0, 0, false } };
		struct arena arena = ARENA_INIT;
		struct tree_counts c;
		struct err err = ERR_INIT;
		struct slices *s = NULL;

		assert_int_equal(slices_new(&s, &setup, &err), 0);
		for (uint64_t i = 1; i <= 40; i++) {
			uint64_t on = i > 20 ? i - 20 : 0;
			struct slices_reading l[2] = { { 8 * on * MS, on * MS, on * MS, false },
						       { 2 * on * MS, on * MS, on * MS, false } };

			for (size_t e = 0; e < known; e++) {
				r[e].value += (e + 1) * (i > 20 ? 10 : 15) * MS;
				r[e].enabled = r[e].running = i * MS;
			}
			assert_int_equal(slices_add(s, 0, 1000 + i * MS, r, &err), 0);
			assert_int_equal(slices_add(s, 1, 1000 + i * MS, l, &err), 0);
		}
		counts_of(s, &arena, &c);
		near(c.count[2] / 320e6, 1, 1e-6);
		near(c.count[4] / 80e6, 1, 1e-6);
		/* it was half as much again in the half that was not seen */
		near(sqrt(variance(&c, 2)) / 160e6, 0.5, 1e-3);
		near(sqrt(variance(&c, 4)) / 40e6, 0.5, 1e-3);
		near(c.cov[1][1] / (160e6 * 40e6), known == 2 ? 0.25 : 0, 1e-3);
		near(c.cov[1][2] / (160e6 * 40e6), known == 2 ? 0.25 : 0, 1e-3);
		slices_free(s);
		arena_free(&arena);
	}
}

/* An event of two groups, one on a counter for most of the time, the other for the rest: all of it
 * is counted, by both together. */
static void a_shared_event_is_counted_by_both(void **state)
{
	static const uint32_t always[] = { 3 }, most[] = { 0, 1 }, rest[] = { 0, 2 };
	struct slices_group group[3] = { { always, 1, NULL },
					 { most, 2, NULL },
					 { rest, 2, NULL } };
	struct slices_setup setup = { group, 3, 8, 1, 1000, 0 };
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;
	struct slices *s = NULL;

	(void)state;
	assert_int_equal(slices_new(&s, &setup, &err), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		uint64_t at = 1000 + i * MS, a = i * MS * 95 / 100, b = i * MS * 5 / 100;
		struct slices_reading r[3][2] = {
			{ { i * MS, i * MS, i * MS, false } },
			{ { 10 * a, i * MS, a, false }, { a, i * MS, a, false } },
			{ { 100 * b, i * MS, b, false }, { b, i * MS, b, false } }
		};

		for (size_t g = 0; g < 3; g++)
			assert_int_equal(slices_add(s, g, at, r[g], &err), 0);
	}
	counts_of(s, &arena, &c);
	near(c.count[0], 10 * MS * (9.5 + 5), 1);
	near(c.counted[0], 1, 1e-9);
	slices_free(s);
	arena_free(&arena);
}

static void memory_stays_within_bounds(void **state)
{
	static const uint32_t event[] = { 0 };
	struct slices *s = one_group(event, 1, 1, NULL, 24 * 100);
	struct arena arena = ARENA_INIT;
	struct tree_counts c;
	struct err err = ERR_INIT;

	(void)state;
	for (uint64_t i = 1; i <= 100000; i++)
		add1(s, 1000 + 1000 * i, 10 * i, 1000 * i, 500 * i);
	counts_of(s, &arena, &c);
	near(c.count[0], 2 * 10 * 100000, 1e-3);
	/* the latest are as fine as they were */
	assert_int_equal(slices_counts(s, &arena, 1000 + 99990000ull, UINT64_MAX, &c, &err), 0);
	near(c.count[0], 2 * 100, 1e-9);
	slices_free(s);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_that_join_later),
		cmocka_unit_test(shared_events_tell_the_others),
		cmocka_unit_test(always_counted_is_exact),
		cmocka_unit_test(few_slices_have_no_bar),
		cmocka_unit_test(a_gap_is_filled_from_both_sides),
		cmocka_unit_test(groups_read_one_after_the_other),
		cmocka_unit_test(resets_are_added_up),
		cmocka_unit_test(steps_and_targets),
		cmocka_unit_test(an_unseen_target_is_as_the_others),
		cmocka_unit_test(what_was_off_is_as_what_always_counted),
		cmocka_unit_test(an_unseen_event_is_as_on_other_targets),
		cmocka_unit_test(what_was_off_changed_together),
		cmocka_unit_test(a_shared_event_is_counted_by_both),
		cmocka_unit_test(memory_stays_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
