/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/slices.h"

#define MS 1000000ull

static uint64_t seed;

static double draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static double log_draw(double lo, double hi)
{
	return lo * exp(draw() * log(hi / lo));
}

/* ---- programs ---- */

enum kind { TWO_PHASES, PERIODIC, WAVES, RANDOM, STEADY, KINDS };

static const char *const kind_name[] = { "two phases", "periodic", "waves", "random", "steady" };

enum { MAX_GROUPS = 11, PER_GROUP = 2, MAX_EVENTS = MAX_GROUPS * PER_GROUP, STATES = 4 };

struct program {
	enum kind kind;
	double rate[STATES][MAX_EVENTS]; /* per ns */
	double at, period, duty, phase, dwell;
	unsigned state;
	double until;
};

static void program_init(struct program *p, enum kind kind, double length)
{
	memset(p, 0, sizeof(*p));
	p->kind = kind;
	for (int e = 0; e < MAX_EVENTS; e++) {
		double base = log_draw(0.01, 3);

		for (int s = 0; s < STATES; s++)
			p->rate[s][e] = base * log_draw(0.2, 5);
	}
	p->at = length * (0.1 + 0.8 * draw());
	p->period = log_draw(2e6, 2e9);
	p->duty = 0.2 + 0.6 * draw();
	p->phase = draw();
	p->dwell = log_draw(1e6, 3e8);
}

/* The rate of each event at a time; called with rising times. */
static void program_rates(struct program *p, double t, double *out)
{
	double x = t / p->period + p->phase, mix = 0;

	x -= floor(x);
	switch (p->kind) {
	case TWO_PHASES:
		mix = t > p->at;
		break;
	case PERIODIC:
		mix = x < p->duty;
		break;
	case WAVES:
		mix = 0.5 + 0.5 * sin(2 * M_PI * x);
		break;
	case RANDOM:
		while (t >= p->until) {
			p->until += -p->dwell * log(1 - draw());
			p->state = (unsigned)(draw() * STATES);
		}
		for (int e = 0; e < MAX_EVENTS; e++)
			out[e] = p->rate[p->state][e];
		return;
	default:
		break;
	}
	for (int e = 0; e < MAX_EVENTS; e++)
		out[e] = (1 - mix) * p->rate[0][e] + mix * p->rate[1][e];
}

/* ---- a kernel that gives the counters to one group after the other; group 0 has its own ---- */

struct machine {
	size_t groups;
	double value[MAX_EVENTS], truth[MAX_EVENTS];
	double enabled[MAX_GROUPS], running[MAX_GROUPS];
	bool on[MAX_GROUPS];
	size_t turn;
};

static void machine_step(struct machine *m, const double *rate, double dt)
{
	for (size_t g = 0; g < m->groups; g++) {
		bool runs = m->on[g] && (!g || g == m->turn);

		if (m->on[g])
			m->enabled[g] += dt;
		if (runs)
			m->running[g] += dt;
		for (size_t e = g * PER_GROUP; e < (g + 1) * PER_GROUP; e++) {
			double n = rate[e] * dt * (0.95 + 0.1 * draw());

			m->truth[e] += n;
			if (runs)
				m->value[e] += n;
		}
	}
}

static void machine_rotate(struct machine *m)
{
	for (size_t i = 1; i < m->groups; i++) {
		m->turn = m->turn + 1 < m->groups ? m->turn + 1 : 1;
		if (m->on[m->turn])
			return;
	}
}

static void machine_read(const struct machine *m, struct slices *s, double t)
{
	for (size_t g = 0; g < m->groups; g++) {
		struct slices_reading r[PER_GROUP];
		struct err err = ERR_INIT;

		for (size_t e = 0; e < PER_GROUP; e++)
			r[e] = (struct slices_reading){ (uint64_t)m->value[g * PER_GROUP + e],
							(uint64_t)m->enabled[g],
							(uint64_t)m->running[g], false };
		assert_int_equal(slices_add(s, g, (uint64_t)t, r, &err), 0);
	}
}

static struct slices *slices_of(size_t groups)
{
	static const uint32_t event[MAX_EVENTS] = { 0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
						    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 };
	struct slices_group group[MAX_GROUPS];
	struct slices_setup setup = { group, groups, MAX_EVENTS, 1, 0, 0 };
	struct err err = ERR_INIT;
	struct slices *s = NULL;

	for (size_t g = 0; g < groups; g++)
		group[g] = (struct slices_group){ event + g * PER_GROUP, PER_GROUP, NULL };
	assert_int_equal(slices_new(&s, &setup, &err), 0);
	return s;
}

static void counts_of(const struct slices *s, struct arena *a, struct tree_counts *c)
{
	struct err err = ERR_INIT;

	memset(c, 0, sizeof(*c));
	assert_int_equal(slices_counts(s, a, 0, UINT64_MAX, c, &err), 0);
}

/* Runs a program under rotation; `on_from`, `on_to`: when the last group is switched on. */
static void simulate(struct machine *m, struct program *p, struct slices *s, double length,
		     double every, double on_from, double on_to)
{
	const double dt = 0.25e6;
	double next_turn = 4e6 * draw(), next_read = every * (0.9 + 0.2 * draw());
	double rate[MAX_EVENTS];

	for (double t = 0; t < length; t += dt) {
		if (t >= next_turn) {
			machine_rotate(m);
			next_turn += 4e6 * (0.98 + 0.04 * draw());
		}
		if (t >= next_read) {
			bool on = t >= on_from && t < on_to;

			machine_read(m, s, t);
			next_read += every * (0.9 + 0.2 * draw());
			m->on[m->groups - 1] = on;
		}
		program_rates(p, t, rate);
		machine_step(m, rate, dt);
	}
	machine_read(m, s, length);
}

static void machine_init(struct machine *m, size_t groups)
{
	memset(m, 0, sizeof(*m));
	m->groups = groups;
	for (size_t g = 0; g < groups; g++)
		m->on[g] = true;
	m->turn = 1;
}

static double variance(const struct tree_counts *c, uint32_t event)
{
	for (size_t g = 0; g < c->n_groups; g++)
		for (uint32_t i = c->first[g]; i < c->first[g + 1]; i++)
			if (c->member[i] == event) {
				uint32_t k = c->first[g + 1] - c->first[g], at = i - c->first[g];

				return c->cov[g] ? c->cov[g][at * k + at] : 0;
			}
	return NAN;
}

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
		assert_true(width[n_width / 2] < 12 * sc.miss / sc.bars + 1e-3);
		all_inside += sc.inside;
		all += sc.bars;
	}
	print_message("# all: %.1f %%\n", 100 * all_inside / all);
	assert_true(all_inside >= 0.93 * all);
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

/* Reading takes time in which the program goes on: a group read late has more in this slice and less
 * in the next. That adds no time to the whole. */
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
		cmocka_unit_test(bars_hold_what_they_promise),
		cmocka_unit_test(short_runs),
		cmocka_unit_test(processors_in_step),
		cmocka_unit_test(ratios_profit_from_their_group),
		cmocka_unit_test(groups_that_join_later),
		cmocka_unit_test(off_on_purpose_widens),
		cmocka_unit_test(shared_events_tell_the_others),
		cmocka_unit_test(always_counted_is_exact),
		cmocka_unit_test(few_slices_have_no_bar),
		cmocka_unit_test(a_gap_is_filled_from_both_sides),
		cmocka_unit_test(groups_read_one_after_the_other),
		cmocka_unit_test(resets_are_added_up),
		cmocka_unit_test(steps_and_targets),
		cmocka_unit_test(memory_stays_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
