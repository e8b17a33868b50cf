/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "turns.h"

uint64_t seed;

double draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

double log_draw(double lo, double hi)
{
	return lo * exp(draw() * log(hi / lo));
}

void program_init(struct program *p, enum kind kind, double length)
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
void program_rates(struct program *p, double t, double *out)
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

/* ---- the kernel ---- */

void machine_step(struct machine *m, const double *rate, double dt)
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

void machine_rotate(struct machine *m)
{
	for (size_t i = 1; i < m->groups; i++) {
		m->turn = m->turn + 1 < m->groups ? m->turn + 1 : 1;
		if (m->on[m->turn])
			return;
	}
}

void machine_read(const struct machine *m, struct slices *s, double t)
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

struct slices *slices_of(size_t groups)
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

void counts_of(struct slices *s, struct arena *a, struct tree_counts *c)
{
	struct err err = ERR_INIT;

	memset(c, 0, sizeof(*c));
	assert_int_equal(slices_counts(s, a, 0, UINT64_MAX, c, &err), 0);
}

/* Runs a program under rotation; `on_from`, `on_to`: when the last group is switched on. */
void simulate(struct machine *m, struct program *p, struct slices *s, double length, double every,
	      double on_from, double on_to)
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

void machine_init(struct machine *m, size_t groups)
{
	memset(m, 0, sizeof(*m));
	m->groups = groups;
	for (size_t g = 0; g < groups; g++)
		m->on[g] = true;
	m->turn = 1;
}

double variance(const struct tree_counts *c, uint32_t event)
{
	for (size_t g = 0; g < c->n_groups; g++)
		for (uint32_t i = c->first[g]; i < c->first[g + 1]; i++)
			if (c->member[i] == event) {
				uint32_t k = c->first[g + 1] - c->first[g], at = i - c->first[g];

				return c->cov[g] ? c->cov[g][at * k + at] : 0;
			}
	return NAN;
}
