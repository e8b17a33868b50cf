/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a machine file: lines of words, the first of which says what the line is. */
#include "machine.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (SIM_PROGRAMS + 16)

struct words {
	char *w[MAX_WORDS];
	size_t n;
};

static void split(char *line, struct words *out)
{
	char *save = NULL;

	out->n = 0;
	for (char *w = strtok_r(line, " \t\n", &save); w && out->n < MAX_WORDS;
	     w = strtok_r(NULL, " \t\n", &save)) {
		if (w[0] == '#')
			break;
		out->w[out->n++] = w;
	}
}

static void copy_name(char to[SIM_NAME], const char *from)
{
	snprintf(to, SIM_NAME, "%s", from);
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

/* Appends one zeroed element; NULL where there is no memory. */
static void *grow(void *array, size_t *n, size_t size)
{
	char *to = realloc(array, (*n + 1) * size);

	if (to) {
		memset(to + *n * size, 0, size);
		(*n)++;
	}
	return to;
}

struct sim_cpus sim_cpulist(const char *text)
{
	struct sim_cpus set = { { 0 } };

	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			break;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < SIM_CPUS; first++)
			set.bits[first / 64] |= UINT64_C(1) << first % 64;
		text = *end == ',' ? end + 1 : end;
	}
	return set;
}

static uint32_t low_bits(unsigned long n)
{
	return n >= 32 ? UINT32_MAX : (UINT32_C(1) << n) - 1;
}

static int pmu_index(const struct sim_machine *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_pmus; i++)
		if (!strcmp(m->pmu[i].name, name))
			return (int)i;
	return -1;
}

static int read_driver(struct sim_pmu *p, const char *name)
{
	static const char *const names[] = {
		[SIM_UNCORE] = "uncore", [SIM_MSR] = "msr", [SIM_INTEL] = "intel",
		[SIM_AMD] = "amd",	 [SIM_IBS] = "ibs", [SIM_ARM] = "arm",
		[SIM_SPE] = "spe"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			p->driver = (enum sim_driver)i;
			return 0;
		}
	return -1;
}

/* pmu NAME key=value... */
static int read_pmu(struct sim_machine *m, const struct words *w)
{
	struct sim_pmu *p = &m->pmu[m->n_pmus];

	if (w->n < 2 || m->n_pmus == SIM_PMUS)
		return -1;
	copy_name(p->name, w->w[1]);
	for (size_t i = 2; i < w->n; i++) {
		const char *value = strchr(w->w[i], '=');
		size_t key = value ? (size_t)(value - w->w[i]) : strlen(w->w[i]);
		const char *v = value ? value + 1 : "1";
#define KEY(s) (key == strlen(s) && !memcmp(w->w[i], s, key))
		if (KEY("type"))
			p->type = (uint32_t)number(v);
		else if (KEY("counters"))
			p->gp = low_bits(number(v));
		else if (KEY("alone"))
			p->alone = low_bits(number(v));
		else if (KEY("fixed"))
			p->fixed = (uint32_t)number(v);
		else if (KEY("offcore"))
			p->offcore = (unsigned)number(v);
		else if (KEY("core"))
			p->core = number(v);
		else if (KEY("raw"))
			p->raw = number(v);
		else if (KEY("watchdog"))
			p->watchdog = number(v);
		else if (KEY("precise"))
			p->precise = (unsigned)number(v);
		else if (KEY("cpus"))
			p->cpus = sim_cpulist(v);
		else if (KEY("driver") && !read_driver(p, v))
			continue;
		else if (KEY("lbr"))
			p->lbr = (unsigned)number(v);
		else if (KEY("callstack"))
			p->callstack = number(v);
		else if (KEY("pebs"))
			p->pebs_plain = !strcmp(v, "plain");
		else if (KEY("pdist"))
			p->pdist = (uint32_t)number(v);
		else if (KEY("ibs"))
			p->ibs = (uint32_t)number(v);
		else if (KEY("aux"))
			p->aux = number(v);
		else
			return -1;
#undef KEY
	}
	if (!p->alone)
		p->alone = p->gp;
	m->n_pmus++;
	return 0;
}

/* Flags are letters, a metric's field a digit after M. */
static int read_flags(struct sim_event *e, const char *s)
{
	static const struct {
		char letter;
		unsigned flag;
	} letters[] = {
		{ 'S', SIM_SLOTS },    { 'M', SIM_METRIC }, { 'A', SIM_ANY },  { 'O', SIM_OFFCORE },
		{ 'F', SIM_FRONTEND }, { 'L', SIM_LDLAT },  { 'N', SIM_FREE }, { 'P', SIM_PAIR },
		{ 'W', SIM_WALL },     { 'C', SIM_CLOCKS }, { '-', 0 },
	};

	for (; *s; s++) {
		size_t i = 0;

		if (*s >= '0' && *s <= '7') {
			e->field = (unsigned)(*s - '0');
			continue;
		}
		while (i < sizeof(letters) / sizeof(letters[0]) && letters[i].letter != *s)
			i++;
		if (i == sizeof(letters) / sizeof(letters[0]))
			return -1;
		e->flags |= letters[i].flag;
	}
	return 0;
}

/* event PMU CONFIG CONFIG1 GP FIXED FLAGS LATENCY NAME RATE...: one, or one for each program */
static int read_event(struct sim_machine *m, const struct words *w)
{
	struct sim_event *e;
	int pmu = w->n >= 9 ? pmu_index(m, w->w[1]) : -1;

	if (pmu < 0 || w->n < 10 || w->n - 9 > SIM_PROGRAMS)
		return -1;
	e = grow(m->event, &m->n_events, sizeof(*e));
	if (!e)
		return -1;
	m->event = e;
	e += m->n_events - 1;
	e->pmu = (uint32_t)pmu;
	e->config = number(w->w[2]);
	e->config1 = number(w->w[3]);
	e->gp = (uint32_t)number(w->w[4]);
	e->fixed = (uint32_t)number(w->w[5]);
	e->latency = strtod(w->w[7], NULL);
	copy_name(e->name, w->w[8]);
	for (size_t i = 9; i < w->n; i++)
		e->rate[i - 9] = strtod(w->w[i], NULL);
	for (size_t i = 1; w->n == 10 && i < SIM_PROGRAMS; i++)
		e->rate[i] = e->rate[0]; /* the same whatever runs */
	return read_flags(e, w->w[6]);
}

/* alias TYPE CONFIG PMU CONFIG */
static int read_alias(struct sim_machine *m, const struct words *w)
{
	struct sim_alias *a;
	int pmu = w->n == 5 ? pmu_index(m, w->w[3]) : -1;

	if (pmu < 0)
		return -1;
	a = grow(m->alias, &m->n_aliases, sizeof(*a));
	if (!a)
		return -1;
	m->alias = a;
	a[m->n_aliases - 1] = (struct sim_alias){ .type = (uint32_t)number(w->w[1]),
						  .config = number(w->w[2]),
						  .pmu = (uint32_t)pmu,
						  .to = number(w->w[4]) };
	return 0;
}

/* rule PMU LOW HIGH GP */
static int read_rule(struct sim_machine *m, const struct words *w)
{
	struct sim_rule *r;
	int pmu = w->n == 5 ? pmu_index(m, w->w[1]) : -1;

	if (pmu < 0)
		return -1;
	r = grow(m->rule, &m->n_rules, sizeof(*r));
	if (!r)
		return -1;
	m->rule = r;
	r[m->n_rules - 1] = (struct sim_rule){ .pmu = (uint32_t)pmu,
					       .low = (uint32_t)number(w->w[2]),
					       .high = (uint32_t)number(w->w[3]),
					       .gp = (uint32_t)number(w->w[4]) };
	return 0;
}

/* core CPULIST [SOCKET]: the threads of one core; the socket is tree.py's affair */
static int read_core(struct sim_machine *m, const struct words *w)
{
	struct sim_cpus set = sim_cpulist(w->n == 2 || w->n == 3 ? w->w[1] : "");
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < SIM_CPUS; cpu++) {
		if (!sim_cpus_have(&set, (int)cpu))
			continue;
		m->siblings[cpu] = set;
		if (cpu >= m->n_cpus)
			m->n_cpus = cpu + 1;
		n++;
	}
	m->smt |= n > 1;
	return n ? 0 : -1;
}

static int read_line(struct sim_machine *m, const struct words *w)
{
	const char *what = w->w[0];

	if (!strcmp(what, "pmu"))
		return read_pmu(m, w);
	if (!strcmp(what, "event"))
		return read_event(m, w);
	if (!strcmp(what, "alias"))
		return read_alias(m, w);
	if (!strcmp(what, "rule"))
		return read_rule(m, w);
	if (!strcmp(what, "core"))
		return read_core(m, w);
	if (!strcmp(what, "machine") && w->n == 2)
		copy_name(m->name, w->w[1]);
	if (!strcmp(what, "programs")) {
		for (size_t i = 1; i < w->n && m->n_programs < SIM_PROGRAMS; i++)
			copy_name(m->program[m->n_programs++], w->w[i]);
	}
	return 0; /* the rest is for tools/tree.py */
}

int sim_machine_load(struct sim_machine *m, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	unsigned number_of = 0;
	int ret = 0;

	if (!f) {
		fprintf(stderr, "sim: cannot open %s\n", path);
		return -1;
	}
	while (!ret && getline(&line, &room, f) > 0) {
		struct words w;

		number_of++;
		split(line, &w);
		if (w.n && read_line(m, &w)) {
			fprintf(stderr, "sim: %s:%u: not understood\n", path, number_of);
			ret = -1;
		}
	}
	free(line);
	fclose(f);
	return ret;
}

void sim_machine_finish(struct sim_machine *m, bool smt, unsigned counters)
{
	for (uint32_t cpu = 0; smt && cpu < m->n_cpus; cpu++) {
		m->siblings[cpu] = (struct sim_cpus){ { 0 } };
		m->siblings[cpu].bits[cpu / 64] = UINT64_C(3) << (cpu % 64 & ~UINT32_C(1));
	}
	m->smt |= smt;
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		struct sim_pmu *p = &m->pmu[i];

		if (!m->smt)
			p->gp = p->alone;
		if (p->core && counters)
			p->gp = low_bits(counters);
	}
}

const struct sim_pmu *sim_machine_pmu(const struct sim_machine *m, uint32_t type, uint64_t config,
				      uint64_t *own, bool *unknown)
{
	bool generic = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;
	uint32_t wanted = generic ? (uint32_t)(config >> 32) : type;

	*unknown = false;
	*own = config;
	if (!generic) {
		for (uint32_t i = 0; i < m->n_pmus; i++)
			if (m->pmu[i].type == wanted || (m->pmu[i].raw && type == PERF_TYPE_RAW))
				return &m->pmu[i];
		return NULL;
	}
	for (size_t i = 0; i < m->n_aliases; i++) {
		const struct sim_alias *a = &m->alias[i];

		if (a->type != type || a->config != (config & UINT32_MAX))
			continue;
		if (wanted && m->pmu[a->pmu].type != wanted)
			continue;
		*own = a->to;
		return &m->pmu[a->pmu];
	}
	*unknown = true;
	return NULL;
}

/* How well a row stands for an encoding that is not in the table: 0 not at all. */
static unsigned likeness(const struct sim_event *e, uint64_t config, uint64_t config1)
{
	if (e->config == config && e->config1 == config1)
		return 4;
	/* a register's value is a threshold or a mask: the same event with another one */
	if (e->config == config && e->flags & SIM_LDLAT)
		return 4;
	if (e->config == config && e->flags & (SIM_FRONTEND | SIM_OFFCORE))
		return 3;
	if ((e->config & 0xffff) == (config & 0xffff) && !(e->flags & (SIM_SLOTS | SIM_METRIC)))
		return 2;
	return 0;
}

bool sim_machine_event(const struct sim_machine *m, const struct sim_pmu *pmu, uint64_t config,
		       uint64_t config1, struct sim_event *out)
{
	uint32_t index = (uint32_t)(pmu - m->pmu);
	const struct sim_event *best = NULL;
	unsigned best_likeness = 0;
	/* how IBS and SPE sample is not what they count */
	bool one = pmu->driver == SIM_IBS || pmu->driver == SIM_SPE;
	uint64_t code = one ? 0 : config;

	for (size_t i = 0; i < m->n_events && best_likeness < 4; i++) {
		const struct sim_event *e = &m->event[i];
		unsigned l = e->pmu == index ? likeness(e, code, one ? 0 : config1) : 0;

		if (l > best_likeness) {
			best = e;
			best_likeness = l;
		}
	}
	if (best)
		*out = *best;
	else
		*out = (struct sim_event){ .gp = UINT32_MAX };
	out->pmu = index;
	out->config = config;
	out->config1 = config1;
	if (best_likeness == 4)
		return true;
	out->flags &= SIM_LDLAT | SIM_FRONTEND | SIM_OFFCORE | SIM_FREE | SIM_PAIR;
	if (!pmu->gp)
		out->flags |= SIM_FREE;
	out->latency = 0;
	memset(out->rate, 0, sizeof(out->rate));
	snprintf(out->name, sizeof(out->name), "unknown:%#llx", (unsigned long long)config);
	if (best)
		out->fixed = 0; /* a threshold or an edge needs a general counter */
	for (size_t i = 0; !best && i < m->n_rules; i++) {
		const struct sim_rule *r = &m->rule[i];

		if (r->pmu == index && (config & 0xff) >= r->low && (config & 0xff) <= r->high)
			out->gp = r->gp;
	}
	return false;
}

int sim_machine_program(const struct sim_machine *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_programs; i++)
		if (!strcmp(m->program[i], name))
			return (int)i;
	return -1;
}
