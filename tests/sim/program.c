/* SPDX-License-Identifier: BSD-3-Clause */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* splitmix64: phase lengths must not depend on the order in which they are asked for. */
static uint64_t scramble(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* "6.11": 611 */
static int linux_version(const char *text)
{
	char *dot;
	int major = (int)strtol(text, &dot, 10);

	return major * 100 + (*dot == '.' ? (int)strtol(dot + 1, NULL, 10) : 0);
}

static int setting(struct sim_scenario *s, const char *word)
{
	const char *eq = strchr(word, '=');
	double v = eq ? strtod(eq + 1, NULL) : 1;
	size_t n = eq ? (size_t)(eq - word) : strlen(word);

#define KEY(k) (n == strlen(k) && !memcmp(word, k, n))
	if (KEY("interval_us"))
		s->set.interval = (uint64_t)(v * 1000);
	else if (KEY("watchdog"))
		s->set.watchdog = v > 0;
	else if (KEY("smt"))
		s->set.smt = v > 0;
	else if (KEY("counters"))
		s->set.counters = (unsigned)v;
	else if (KEY("held"))
		s->set.held |= UINT64_C(1) << ((unsigned)v & 31);
	else if (KEY("held_fixed"))
		s->set.held |= UINT64_C(1) << (32 + ((unsigned)v & 31));
	else if (KEY("held_from"))
		s->set.held_from = (uint64_t)(v * (double)MS);
	else if (KEY("gone"))
		s->set.gone = (uint64_t)(v * (double)MS);
	else if (KEY("gone_cpu"))
		s->set.gone_cpu = (int)v;
	else if (KEY("metrics_filter"))
		s->set.metrics_filter = v > 0;
	else if (KEY("exact_metrics"))
		s->set.exact_metrics = v > 0;
	else if (KEY("latency_spread"))
		s->set.latency_spread = v;
	else if (KEY("loop"))
		s->set.loop = (uint64_t)v;
	else if (KEY("sharing"))
		s->set.sharing = v > 0;
	else if (KEY("retire_latency"))
		s->set.no_latency = !(v > 0);
	else if (KEY("nodes"))
		s->set.nodes = (unsigned)v;
	else if (KEY("l3"))
		; /* tree.py's affair */
	else if (KEY("precise"))
		s->set.precise = (int)v;
	else if (KEY("linux"))
		s->set.linux_version = linux_version(eq ? eq + 1 : "");
	else if (KEY("seed"))
		s->seed = (uint64_t)v;
	else
		return -1;
#undef KEY
	return 0;
}

static int pmu_named(const struct sim_machine *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_pmus; i++)
		if (!strcmp(m->pmu[i].name, name))
			return (int)i;
	return -1;
}

/* phase PROGRAM MS[-MS] [scale=X] [share=X] [kernel=X] [on=PMU]; "-" for MS: for ever */
static int read_phase(struct sim_scenario *s, const struct sim_machine *m, char *rest)
{
	struct sim_phase *p = &s->phase[s->n_phases];
	char *save = NULL, *name = strtok_r(rest, " \t\n", &save),
	     *length = strtok_r(NULL, " \t\n", &save);
	int program = name ? sim_machine_program(m, name) : -1;

	if (program < 0 || !length || s->n_phases == SIM_PHASES)
		return -1;
	*p = (struct sim_phase){ .program = (uint32_t)program, .scale = 1, .share = 1, .on = -1 };
	if (strcmp(length, "-")) {
		char *end;

		p->least = p->most = (uint64_t)(strtod(length, &end) * (double)MS);
		if (*end == '-')
			p->most = (uint64_t)(strtod(end + 1, NULL) * (double)MS);
		if (!p->least || p->most < p->least)
			return -1;
	}
	for (char *w = strtok_r(NULL, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
		if (!strncmp(w, "scale=", 6))
			p->scale = strtod(w + 6, NULL);
		else if (!strncmp(w, "share=", 6))
			p->share = strtod(w + 6, NULL);
		else if (!strncmp(w, "kernel=", 7))
			p->kernel = strtod(w + 7, NULL);
		else if (!strncmp(w, "on=", 3) && (p->on = pmu_named(m, w + 3)) >= 0)
			continue;
		else
			return -1;
	}
	s->n_phases++;
	return 0;
}

/* cpu LIST PROGRAM|idle|phases */
static int read_cpu(struct sim_scenario *s, const struct sim_machine *m, const char *rest)
{
	char list[128], name[SIM_NAME];
	struct sim_cpus set;
	int what;

	if (sscanf(rest, "%127s %63s", list, name) != 2)
		return -1;
	if (!strcmp(name, "idle"))
		what = -2;
	else if (!strcmp(name, "phases"))
		what = -1;
	else if ((what = sim_machine_program(m, name)) < 0)
		return -1;
	set = sim_cpulist(list);
	for (int i = 0; i < SIM_CPUS; i++)
		if (sim_cpus_have(&set, i))
			s->cpu_program[i] = what;
	return 0;
}

/* latency EVENT CYCLES: what it takes to retire here, whatever the vendor measured */
static int read_latency(struct sim_machine *m, const char *rest)
{
	char name[SIM_NAME];
	double cycles;
	int found = -1;

	if (sscanf(rest, "%63s %lf", name, &cycles) != 2)
		return -1;
	for (size_t i = 0; i < m->n_events; i++) {
		if (!strcmp(m->event[i].name, name)) {
			m->event[i].latency = cycles;
			found = 0;
		}
	}
	return found;
}

static int read_line(struct sim_scenario *s, struct sim_machine *m, char *line)
{
	char *save = NULL, *word;

	line[strcspn(line, "#")] = 0;
	word = strtok_r(line, " \t\n", &save);
	if (!word)
		return 0;
	if (!strcmp(word, "phase"))
		return read_phase(s, m, save);
	if (!strcmp(word, "cpu"))
		return read_cpu(s, m, save);
	if (!strcmp(word, "latency"))
		return read_latency(m, save);
	if (!strcmp(word, "repeat")) {
		s->repeat = true;
		return 0;
	}
	if (!strcmp(word, "rate")) { /* rate EVENT X: of this event, whatever runs */
		struct sim_override *o = &s->override[s->n_overrides];

		if (s->n_overrides == 64 || sscanf(save, "%63s %lf", o->name, &o->rate) != 2)
			return -1;
		s->n_overrides++;
		return 0;
	}
	if (!strcmp(word, "set")) {
		while ((word = strtok_r(NULL, " \t\n", &save)))
			if (setting(s, word))
				return -1;
		return 0;
	}
	return -1;
}

static int read_file(struct sim_scenario *s, struct sim_machine *m, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	int ret = 0;

	if (!f) {
		fprintf(stderr, "sim: %s is neither a program of this machine nor a file\n", path);
		return -1;
	}
	while (!ret && getline(&line, &room, f) > 0) {
		number++;
		ret = read_line(s, m, line);
		if (ret)
			fprintf(stderr, "sim: %s:%u: not understood\n", path, number);
	}
	free(line);
	fclose(f);
	return ret;
}

int sim_scenario_load(struct sim_scenario *s, struct sim_machine *m, const char *text,
		      const char *options)
{
	int program = sim_machine_program(m, text);
	char word[128];
	int used;

	s->set.interval = 4 * MS;
	s->set.latency_spread = 0.5;
	s->set.precise = s->set.gone_cpu = -1;
	for (size_t i = 0; i < SIM_CPUS; i++)
		s->cpu_program[i] = -1;
	if (program >= 0) {
		s->phase[0] = (struct sim_phase){
			.program = (uint32_t)program, .scale = 1, .share = 1, .on = -1
		};
		s->n_phases = 1;
	} else if (read_file(s, m, text)) {
		return -1;
	}
	for (; options && sscanf(options, " %127s%n", word, &used) == 1; options += used) {
		if (setting(s, word)) {
			fprintf(stderr, "sim: no such setting: %s\n", word);
			return -1;
		}
	}
	if (!s->n_phases || !s->set.interval) {
		fprintf(stderr, "sim: %s: no phase\n", text);
		return -1;
	}
	sim_machine_finish(m, s->set.smt, s->set.counters);
	return 0;
}

static uint64_t length_of(const struct sim_scenario *s, uint64_t number, const struct sim_phase *p)
{
	uint64_t spread = p->most - p->least;

	if (!spread)
		return p->least;
	return p->least + scramble(s->seed ^ scramble(number)) % (spread + 1);
}

void sim_cursor_at(const struct sim_scenario *s, struct sim_cursor *c, uint64_t now)
{
	for (;;) {
		uint64_t number = c->phase ? c->number + 1 : 0;
		bool last = !s->repeat && number + 1 >= s->n_phases;
		const struct sim_phase *p;

		if (c->phase && (!c->end || now < c->end))
			return;
		p = &s->phase[last ? s->n_phases - 1 : number % s->n_phases];
		c->start = c->phase ? c->end : 0;
		c->number = number;
		c->phase = p;
		c->end = last || !p->least ? 0 : c->start + length_of(s, number, p);
	}
}

static double rate_of(const struct sim_scenario *s, const struct sim_event *e,
		      const struct sim_phase *phase, int cpu)
{
	int fixed = cpu >= 0 && cpu < SIM_CPUS ? s->cpu_program[cpu] : -1;

	for (uint32_t i = 0; i < s->n_overrides; i++)
		if (!strcmp(s->override[i].name, e->name))
			return s->override[i].rate;
	if (e->flags & SIM_WALL)
		return e->rate[0];
	if (fixed == -2)
		return 0;
	if (fixed >= 0)
		return e->rate[fixed];
	return e->rate[phase->program] * phase->scale *
	       (e->flags & (SIM_CLOCKS | SIM_ANY) ? 1 : phase->share);
}

double sim_rate(const struct sim_scenario *s, const struct sim_machine *m,
		const struct sim_event *e, const struct sim_phase *phase, int cpu,
		struct sim_side side)
{
	double rate = rate_of(s, e, phase, cpu);

	/* any thread: what the busiest thread of the core sees */
	if (e->flags & SIM_ANY && cpu >= 0 && cpu < SIM_CPUS) {
		for (int other = 0; other < (int)m->n_cpus; other++) {
			double r = sim_cpus_have(&m->siblings[cpu], other)
					   ? rate_of(s, e, phase, other)
					   : 0;

			if (r > rate)
				rate = r;
		}
	}
	if (e->flags & SIM_WALL)
		return rate;
	return rate * ((side.user ? 1 - phase->kernel : 0) + (side.kernel ? phase->kernel : 0));
}
