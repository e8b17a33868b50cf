/* SPDX-License-Identifier: BSD-3-Clause */
/* Error bars of counts that took turns: the true value lies within them, and they are not absurdly
 * wide. */
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

static const char *const kind_name[] = { "two phases", "periodic", "waves", "random", "steady" };

struct score {
	double bars, inside, width, miss, perf_miss, perf_worst, worst;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The true value lies within the bar in 9 of 10 cases at least. */
static void bars_hold_what_they_promise(void **state)
{
	enum { RUNS = 120 };
	static double width[RUNS * MAX_EVENTS];
	double all_inside = 0, all = 0;

	(void)state;
	seed = 20;
	for (int kind = 0; kind < KINDS; kind++) {
		struct score sc = { 0 };
		size_t n_width = 0;

		for (int run = 0; run < RUNS; run++) {
			size_t groups = 3 + (size_t)(run % 9);
			double length = log_draw(2e9, 8e9), every = 8e6 * (double)(groups - 1);
			struct arena arena = ARENA_INIT;
			struct slices *s = slices_of(groups);
			struct tree_counts c;
			struct program p;
			struct machine m;

			if (every < 20e6)
				every = 20e6;
			program_init(&p, (enum kind)kind, length);
			machine_init(&m, groups);
			simulate(&m, &p, s, length, every, 0, length);
			counts_of(s, &arena, &c);
			for (uint32_t e = 0; e < PER_GROUP; e++) {
				assert_true(fabs(c.count[e] / m.truth[e] - 1) < 1e-6);
				assert_true(variance(&c, e) < 1e-12 * m.truth[e] * m.truth[e]);
			}
			for (uint32_t e = PER_GROUP; e < groups * PER_GROUP; e++) {
				size_t g = e / PER_GROUP;
				double bar = 1.96 * sqrt(variance(&c, e)) / m.truth[e];
				double miss = fabs(c.count[e] / m.truth[e] - 1);
				double perf = m.value[e] * m.enabled[g] / m.running[g];

				perf = fabs(perf / m.truth[e] - 1);
				assert_null(c.no_error[g]);
				sc.bars++;
				sc.inside += miss <= bar;
				sc.miss += miss;
				sc.perf_miss += perf;
				sc.worst = fmax(sc.worst, miss);
				sc.perf_worst = fmax(sc.perf_worst, perf);
				width[n_width++] = bar;
			}
			slices_free(s);
			arena_free(&arena);
		}
		qsort(width, n_width, sizeof(*width), compare);
		print_message("# %-10s %5.0f bars: %.1f %% hold; median width %.2f %%; off by %.2f "
			      "%% (worst %.1f), scaling as perf does %.2f %% (worst %.1f)\n",
			      kind_name[kind], sc.bars, 100 * sc.inside / sc.bars,
			      100 * width[n_width / 2], 100 * sc.miss / sc.bars, 100 * sc.worst,
			      100 * sc.perf_miss / sc.bars, 100 * sc.perf_worst);
		assert_true(sc.inside >= 0.90 * sc.bars);
		/* not by being absurdly wide */
		assert_true(width[n_width / 2] < 5 * sc.miss / sc.bars + 1e-3);
		all_inside += sc.inside;
		all += sc.bars;
	}
	print_message("# all: %.1f %%\n", 100 * all_inside / all);
	assert_true(all_inside >= 0.93 * all);
}

/* Read once every 100 ms, `n` times; the last interval's truth, and when it began. */
static double run_intervals(struct program *p, struct machine *m, struct slices *s, size_t n,
			    double *truth)
{
	const double dt = 0.25e6, every = 100e6;
	double next_turn = 4e6 * draw(), rate[MAX_EVENTS], t = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(truth, m->truth, sizeof(m->truth));
		for (; t < every * (double)(i + 1); t += dt) {
			if (t >= next_turn) {
				machine_rotate(m);
				next_turn += 4e6 * (0.98 + 0.04 * draw());
			}
			program_rates(p, t, rate);
			machine_step(m, rate, dt);
		}
		machine_read(m, s, t);
	}
	for (size_t e = 0; e < MAX_EVENTS; e++)
		truth[e] = m->truth[e] - truth[e];
	return t - every;
}

/* Intervals of one slice each: their errors come from those before them, and hold. */
static void intervals_of_one_slice(void **state)
{
	enum { RUNS = 300 };
	static double width[RUNS * MAX_EVENTS];

	(void)state;
	seed = 77;
	for (int kind = 0; kind < KINDS; kind++) {
		double inside = 0, bars = 0, miss = 0;
		size_t n_width = 0;

		for (int run = 0; run < RUNS; run++) {
			size_t groups = 3 + (size_t)(run % 3), n = 5 + (size_t)(8 * draw());
			struct arena arena = ARENA_INIT;
			struct slices *s = slices_of(groups);
			double truth[MAX_EVENTS], together[MAX_EVENTS], from;
			struct err err = ERR_INIT;
			struct tree_counts c, alone;
			struct program p;
			struct machine m;
			uint64_t since;

			program_init(&p, (enum kind)kind, 100e6 * (double)n);
			machine_init(&m, groups);
			from = run_intervals(&p, &m, s, n, truth);
			since = from > 700e6 ? (uint64_t)(from - 700e6) : 0;
			assert_int_equal(slices_counts_since(s, &arena, since, (uint64_t)from,
							     UINT64_MAX, &c, &err),
					 0);
			memcpy(together, c.count, groups * PER_GROUP * sizeof(double));
			c.count = together;
			assert_int_equal(
				slices_counts(s, &arena, (uint64_t)from, UINT64_MAX, &alone, &err),
				0);
			for (uint32_t e = 0; e < PER_GROUP; e++) {
				assert_true(fabs(c.count[e] / truth[e] - 1) <
					    1e-5); /* whole counts */
				assert_true(variance(&c, e) < 1e-12 * truth[e] * truth[e]);
			}
			for (uint32_t e = PER_GROUP; e < groups * PER_GROUP; e++) {
				double bar = 1.96 * sqrt(variance(&c, e)) / truth[e];

				assert_null(c.no_error[e / PER_GROUP]);
				assert_non_null(alone.no_error[e / PER_GROUP]);
				/* nothing is shared here: the counts are the interval's own */
				assert_true(fabs(c.count[e] / alone.count[e] - 1) < 1e-9);
				bars++;
				inside += fabs(c.count[e] / truth[e] - 1) <= bar;
				miss += fabs(c.count[e] / truth[e] - 1);
				width[n_width++] = bar;
			}
			slices_free(s);
			arena_free(&arena);
		}
		qsort(width, n_width, sizeof(*width), compare);
		print_message("# %-10s %5.0f bars of intervals: %.1f %% hold; median width %.2f "
			      "%%, off by %.2f %%\n",
			      kind_name[kind], bars, 100 * inside / bars, 100 * width[n_width / 2],
			      100 * miss / bars);
		assert_true(inside >= 0.9 * bars);
		assert_true(width[n_width / 2] < 15 * miss / bars + 1e-3);
	}
}

/* Five to twelve slices: few, but told. */
static void short_runs(void **state)
{
	double inside = 0, bars = 0, width = 0, miss = 0;

	(void)state;
	seed = 70;
	for (int run = 0; run < 400; run++) {
		size_t groups = 4 + (size_t)(run % 3);
		double every = 8e6 * (double)(groups - 1), length = every * (5 + 7 * draw());
		struct arena arena = ARENA_INIT;
		struct slices *s = slices_of(groups);
		struct tree_counts c;
		struct program p;
		struct machine m;

		program_init(&p, (enum kind)(run % KINDS), length);
		machine_init(&m, groups);
		simulate(&m, &p, s, length, every, 0, length);
		counts_of(s, &arena, &c);
		for (uint32_t e = PER_GROUP; e < groups * PER_GROUP; e++) {
			double bar = 1.96 * sqrt(variance(&c, e)) / m.truth[e];

			if (c.no_error[e / PER_GROUP])
				continue;
			bars++;
			inside += fabs(c.count[e] / m.truth[e] - 1) <= bar;
			width += bar;
			miss += fabs(c.count[e] / m.truth[e] - 1);
		}
		slices_free(s);
		arena_free(&arena);
	}
	print_message("# short: %.1f %% of %.0f bars hold; width %.1f %%, off by %.1f %%\n",
		      100 * inside / bars, bars, 100 * width / bars, 100 * miss / bars);
	assert_true(inside >= 0.9 * bars);
}

/* A round: each group has a turn, in an order and for a time of its own. */
static double run_round(struct program *p, struct machine *m, double t)
{
	const double dt = 0.25e6;
	double rate[MAX_EVENTS];
	size_t left = m->groups - 1;
	bool had[MAX_GROUPS] = { true };

	for (; left; left--) {
		size_t skip = (size_t)(draw() * (double)left), g = 0;
		double end = t + 4e6 * (0.25 + 1.5 * draw());

		for (g = 1; had[g] || skip--; g++)
			;
		had[g] = true;
		m->turn = g;
		for (; t < end; t += dt) {
			program_rates(p, t, rate);
			machine_step(m, rate, dt);
		}
	}
	return t;
}

struct few {
	double bars, inside, tiny, tiny_miss, width;
};

static void few_rounds(struct few *f, enum kind kind, size_t rounds)
{
	struct arena arena = ARENA_INIT;
	struct slices *s = slices_of(5);
	struct tree_counts c;
	struct program p;
	struct machine m;
	double t = 0;

	program_init(&p, kind, 16e6 * (double)rounds);
	p.period = log_draw(4e6, 100e6);
	machine_init(&m, 5);
	for (size_t i = 0; i < rounds; i++) {
		t = run_round(&p, &m, t);
		machine_read(&m, s, t);
	}
	counts_of(s, &arena, &c);
	for (uint32_t e = PER_GROUP; e < 5 * PER_GROUP; e++) {
		double bar = 1.96 * sqrt(variance(&c, e)) / m.truth[e];
		bool inside = fabs(c.count[e] / m.truth[e] - 1) <= bar + 1e-5;

		if (c.no_error[e / PER_GROUP])
			continue;
		f->bars++;
		f->inside += inside;
		f->tiny += bar < 0.05;
		f->tiny_miss += bar < 0.05 && !inside;
		f->width += bar;
	}
	slices_free(s);
	arena_free(&arena);
}

/* Four to nine rounds of a program with two phases: a group whose few turns all were in one of them
 * has no narrow bar. Where nothing changes, bars stay narrow. */
static void few_slices_that_are_alike(void **state)
{
	struct few alike = { 0 }, steady = { 0 };

	(void)state;
	seed = 4;
	for (size_t run = 0; run < 600; run++) {
		few_rounds(&alike, PERIODIC, 4 + run % 6);
		few_rounds(&steady, STEADY, 4 + run % 6);
	}
	print_message("# few: %.1f %% of %.0f bars hold; %.0f are below 5 %%, of which %.1f %% "
		      "miss; steady: width %.2f %%\n",
		      100 * alike.inside / alike.bars, alike.bars, alike.tiny,
		      100 * alike.tiny_miss / alike.tiny, 100 * steady.width / steady.bars);
	assert_true(alike.inside >= 0.95 * alike.bars);
	assert_true(alike.tiny_miss < 0.005 * alike.bars);
	assert_true(steady.inside >= 0.95 * steady.bars && steady.width < 0.02 * steady.bars);
}

/* Eight processors that run the same program at the same time, each with its own turns. */
static void processors_in_step(void **state)
{
	enum { T = 8, GROUPS = 4 };
	static const uint32_t event[GROUPS] = { 0, 1, 2, 3 };
	double inside = 0, bars = 0, width = 0, miss = 0;

	(void)state;
	seed = 80;
	for (int run = 0; run < 150; run++) {
		struct slices_group group[GROUPS];
		struct slices_setup setup = { group, GROUPS, MAX_EVENTS, T, 0, 0 };
		struct slices *s = NULL;
		struct arena arena = ARENA_INIT;
		struct err err = ERR_INIT;
		struct tree_counts c;
		struct program p;
		double value[GROUPS][T] = { { 0 } }, running[GROUPS][T] = { { 0 } };
		double truth[GROUPS] = { 0 }, turn[T], read = 0, rate[MAX_EVENTS];
		size_t on[T];

		for (size_t g = 0; g < GROUPS; g++)
			group[g] = (struct slices_group){ &event[g], 1, NULL };
		assert_int_equal(slices_new(&s, &setup, &err), 0);
		program_init(&p, (enum kind)(run % KINDS), 2e9);
		for (size_t t = 0; t < T; t++) {
			on[t] = (size_t)(draw() * GROUPS);
			turn[t] = 4e6 * draw();
		}
		for (double now = 0; now <= 2e9; now += 0.25e6) {
			for (size_t g = 0; g < GROUPS && (now >= read || now >= 2e9); g++) {
				struct slices_reading r[T];

				for (size_t t = 0; t < T; t++)
					r[t] = (struct slices_reading){ (uint64_t)value[g][t],
									(uint64_t)now,
									(uint64_t)running[g][t],
									false };
				assert_int_equal(slices_add(s, g, (uint64_t)now, r, &err), 0);
			}
			if (now >= 2e9)
				break;
			if (now >= read)
				read += 32e6 * (0.9 + 0.2 * draw());
			program_rates(&p, now, rate);
			for (size_t t = 0; t < T; t++) {
				if (now >= turn[t]) {
					on[t] = (on[t] + 1) % GROUPS;
					turn[t] += 4e6 * (0.98 + 0.04 * draw());
				}
				value[on[t]][t] += rate[on[t]] * 0.25e6;
				running[on[t]][t] += 0.25e6;
			}
			for (size_t g = 0; g < GROUPS; g++)
				truth[g] += T * rate[g] * 0.25e6;
		}
		counts_of(s, &arena, &c);
		for (uint32_t e = 0; e < GROUPS; e++) {
			double bar = 1.96 * sqrt(variance(&c, e)) / truth[e], sum = 0;

			for (size_t t = 0; t < T; t++)
				sum += c.count[e * T + t];
			bars++;
			inside += fabs(sum / truth[e] - 1) <=
				  bar + 1e-5; /* steady ones: whole counts */
			width += bar;
			miss += fabs(sum / truth[e] - 1);
		}
		slices_free(s);
		arena_free(&arena);
	}
	print_message("# processors: %.1f %% of %.0f bars hold; width %.2f %%, off by %.2f %%\n",
		      100 * inside / bars, bars, 100 * width / bars, 100 * miss / bars);
	assert_true(inside >= 0.9 * bars);
}

/* A ratio of two events of one group is better known than either, and its bar holds, too. */
static void ratios_profit_from_their_group(void **state)
{
	double inside = 0, bars = 0, ratio_width = 0, count_width = 0;

	(void)state;
	seed = 30;
	for (int run = 0; run < 200; run++) {
		struct arena arena = ARENA_INIT;
		struct slices *s = slices_of(5);
		struct tree_counts c;
		struct program p;
		struct machine m;

		program_init(&p, RANDOM, 3e9);
		/* both rise and fall together, but for a little */
		for (int st = 0; st < STATES; st++)
			for (int e = 0; e < MAX_EVENTS; e += 2)
				p.rate[st][e + 1] = p.rate[st][e] * (0.45 + 0.1 * draw());
		machine_init(&m, 5);
		simulate(&m, &p, s, 3e9, 32e6, 0, 3e9);
		counts_of(s, &arena, &c);
		for (size_t g = 1; g < 5; g++) {
			const double *v = c.cov[g];
			double a = c.count[2 * g], b = c.count[2 * g + 1];
			double var = b * b / (a * a) *
				     (v[0] / (a * a) + v[3] / (b * b) - 2 * v[1] / (a * b));
			double bar = 1.96 * sqrt(fmax(var, 0));

			bars++;
			inside += fabs(b / a - m.truth[2 * g + 1] / m.truth[2 * g]) <= bar;
			ratio_width += bar / (b / a);
			count_width += 1.96 * sqrt(v[0]) / a;
		}
		slices_free(s);
		arena_free(&arena);
	}
	print_message("# ratios: %.1f %% of %.0f bars hold; width %.2f %%, of counts %.2f %%\n",
		      100 * inside / bars, bars, 100 * ratio_width / bars,
		      100 * count_width / bars);
	assert_true(inside >= 0.9 * bars);
	assert_true(ratio_width < count_width / 3);
}

/* A group that was off for a half, in which the others changed or did not. */
static void off_on_purpose_widens(void **state)
{
	double inside[2] = { 0, 0 }, bars = 0, wide[2] = { 0, 0 };

	(void)state;
	seed = 50;
	for (int run = 0; run < 200; run++) {
		struct arena arena = ARENA_INIT;
		struct slices *s = slices_of(4);
		struct tree_counts c;
		struct program p;
		struct machine m;

		program_init(&p, run & 1 ? TWO_PHASES : STEADY, 4e9);
		p.at = 2e9;
		machine_init(&m, 4);
		m.on[3] = false;
		simulate(&m, &p, s, 4e9, 30e6, 2e9, 4e9);
		counts_of(s, &arena, &c);
		for (uint32_t e = 6; e < 8; e++) {
			double bar = 1.96 * sqrt(variance(&c, e)) / c.count[e];

			assert_true(c.counted[e] < 0.2 && c.counted[e] > 0.1);
			bars++;
			inside[run & 1] += fabs(c.count[e] - m.truth[e]) <= bar * c.count[e];
			wide[run & 1] += bar;
		}
		slices_free(s);
		arena_free(&arena);
	}
	bars /= 2;
	print_message(
		"# off for a half: where nothing changed %.1f %% hold, width %.1f %%; where the "
		"program changed %.1f %%, width %.0f %%\n",
		100 * inside[0] / bars, 100 * wide[0] / bars, 100 * inside[1] / bars,
		100 * wide[1] / bars);
	/* what was not seen can be anything: the second is a guess, and a wide one */
	assert_true(inside[0] >= 0.9 * bars && inside[1] >= 0.5 * bars);
	assert_true(wide[0] / bars < 0.01 && wide[1] / bars > 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars_hold_what_they_promise),
		cmocka_unit_test(short_runs),
		cmocka_unit_test(intervals_of_one_slice),
		cmocka_unit_test(few_slices_that_are_alike),
		cmocka_unit_test(processors_in_step),
		cmocka_unit_test(ratios_profit_from_their_group),
		cmocka_unit_test(off_on_purpose_widens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
