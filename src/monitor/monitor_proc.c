/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of /proc: each file of which a metric has a value is read once for an interval.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/sysfs.h"
#include "monitor/monitor_int.h"

static const struct {
	const char *name, *file, *why;
	enum place_kind of;
	bool level;
} values[] = {
#define PROC(name, of, level, file) \
	{ #name, file, "/" file " does not have it", PLACE_##of, level },
#include "monitor/proc.def"
#undef PROC
};

bool monitor_proc(const char *name, size_t len, enum proc_value *out, bool *level,
		  enum place_kind *of)
{
	for (size_t i = 0; i < PROCS; i++) {
		if (strlen(values[i].name) != len || memcmp(values[i].name, name, len) != 0)
			continue;
		*out = (enum proc_value)i;
		*level = values[i].level;
		*of = values[i].of;
		return true;
	}
	return false;
}

bool monitor_proc_wanted(const struct monitor *m, enum proc_value v)
{
	for (size_t i = 0; i < m->source.n; i++)
		if (m->source.v[i].event == NO_COUNTER && m->source.v[i].proc == v)
			return true;
	return false;
}

static bool file_wanted(const struct monitor *m, const char *file)
{
	for (size_t i = 0; i < m->source.n; i++)
		if (m->source.v[i].event == NO_COUNTER &&
		    !strcmp(values[m->source.v[i].proc].file, file))
			return true;
	return false;
}

struct found {
	double host[PROCS];
	double (*cpu)[PROCS]; /* by target */
};

/* The numbers behind a word: how many there are, `most` at most. */
static size_t numbers(const char *s, double *out, size_t most)
{
	size_t n = 0;
	char *end;

	for (; n < most; n++) {
		out[n] = strtod(s, &end);
		if (end == s)
			break;
		s = end;
	}
	return n;
}

static size_t target_of(const struct monitor *m, const char *digits)
{
	char *end;
	unsigned long cpu = strtoul(digits, &end, 10);
	size_t i = 0;

	while (i < m->targets && m->k.who.cpus.v[i] != cpu)
		i++;
	return end == digits || *end != ' ' ? m->targets : i;
}

/* user nice system idle iowait irq softirq steal, in ticks; guests' time is in user's and nice's */
static void put_cpu(const char *line, double *to)
{
	double v[8] = { 0 }, tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

	if (numbers(line + strcspn(line, " "), v, 8) < 4)
		return;
	to[PROC_user] = (v[0] + v[1]) * tick;
	to[PROC_system] = (v[2] + v[5] + v[6]) * tick;
	to[PROC_idle] = v[3] * tick;
	to[PROC_iowait] = v[4] * tick;
	to[PROC_steal] = v[7] * tick;
}

struct word {
	const char *key;
	enum proc_value value;
	double scale;
};

static const struct word words[] = {
	{ "ctxt ", PROC_switches, 1 },
	{ "intr ", PROC_interrupts, 1 },
	{ "processes ", PROC_forks, 1 },
	{ "procs_running ", PROC_running, 1 },
	{ "procs_blocked ", PROC_blocked, 1 },
	{ "pgfault ", PROC_faults, 1 },
	{ "pgmajfault ", PROC_major_faults, 1 },
	{ "MemTotal:", PROC_memory_total, 1024 },
	{ "MemAvailable:", PROC_memory_available, 1024 },
};

static void put_proc_line(const struct monitor *m, const char *line, struct found *f)
{
	if (!strncmp(line, "cpu", 3) && line[3] != ' ') {
		size_t i = target_of(m, line + 3);

		if (i < m->targets)
			put_cpu(line, f->cpu[i]);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i].key);
		double v;

		if (!strncmp(line, words[i].key, n) && numbers(line + n, &v, 1))
			f->host[words[i].value] = v * words[i].scale;
	}
}

static void read_lines(const struct monitor *m, const char *path, char *text, size_t size,
		       struct found *f)
{
	char *next = text;

	if (!file_wanted(m, path) || sys_read(text, size, m->k.root, "%s", path) <= 0)
		return;
	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		put_proc_line(m, line, f);
	}
}

static void read_proc_files(const struct monitor *m, struct found *f)
{
	static const char *const files[] = { "proc/stat", "proc/vmstat", "proc/meminfo" };
	size_t size = 65536 + m->targets * 256; /* intr alone has thousands of numbers */
	char *text = malloc(size);
	double v[3];
	int64_t khz;

	for (size_t i = 0; text && i < sizeof(files) / sizeof(*files); i++)
		read_lines(m, files[i], text, size, f);
	if (text && file_wanted(m, "proc/loadavg") &&
	    sys_read(text, size, m->k.root, "proc/loadavg") > 0 && numbers(text, v, 3) == 3) {
		f->host[PROC_load1] = v[0];
		f->host[PROC_load5] = v[1];
		f->host[PROC_load15] = v[2];
	}
	free(text);
	for (size_t i = 0; i < m->targets && monitor_proc_wanted(m, PROC_frequency); i++)
		if (sys_number(&khz, m->k.root,
			       "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
			       (unsigned)m->k.who.cpus.v[i]) &&
		    khz > 0)
			f->cpu[i][PROC_frequency] = (double)khz * 1e3;
}

/* A value that only grows but has become less was counted anew. */
static void take_proc_value(struct slot *s, double v, bool level)
{
	bool first = !s->known;

	s->absent = isnan(v);
	if (s->absent)
		return;
	s->now = level || first || v < s->total ? v : v - s->total;
	if (first && !level)
		s->now = NAN; /* nothing to compare with */
	s->total = v;
	s->known = true;
	s->half = 0;
}

static void read_cgroups(struct monitor *m)
{
	const struct places *of = &m->of[PLACE_CGROUP];
	double v[PROCS];

	if (!m->cgroups)
		return;
	monitor_cgroup_look(m);
	for (size_t i = 0; i < of->place.n; i++) {
		monitor_cgroup_read(m, i, v);
		monitor_cgroup_count(m, of->place.v[i].target[0] - m->targets);
		for (size_t k = 0; k < m->source.n; k++) {
			struct source *s = &m->source.v[k];

			if (s->event == NO_COUNTER && values[s->proc].of == PLACE_CGROUP)
				take_proc_value(&s->at[of->place.v[i].target[0]], v[s->proc],
						s->level);
		}
	}
}

void monitor_proc_read(struct monitor *m)
{
	struct found f = { .cpu = malloc((m->targets + 1) * sizeof(*f.cpu)) };

	for (size_t p = 0; p < PROCS; p++) {
		f.host[p] = NAN;
		for (size_t i = 0; f.cpu && i < m->targets; i++)
			f.cpu[i][p] = NAN;
	}
	if (f.cpu)
		read_proc_files(m, &f);
	for (size_t i = 0; f.cpu && i < m->source.n; i++) {
		struct source *s = &m->source.v[i];
		bool any = false;

		if (s->event != NO_COUNTER || values[s->proc].of == PLACE_CGROUP)
			continue;
		for (size_t t = 0; t < m->targets; t++) {
			bool host = values[s->proc].of == PLACE_HOST;

			take_proc_value(&s->at[t],
					host && t ? NAN
					: host	  ? f.host[s->proc]
						  : f.cpu[t][s->proc],
					s->level);
			any |= !s->at[t].absent;
		}
		s->why = any ? NULL : values[s->proc].why;
	}
	free(f.cpu);
	read_cgroups(m);
}
