/* SPDX-License-Identifier: BSD-3-Clause */
#include "msr.h"

#include "paper.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CELLS	65536u /* power of 2; half of them at most */
#define LINES	256u
#define EVENTS	64u
#define BITS_48 ((UINT64_C(1) << 48) - 1)
#define MERGE	UINT64_C(0xF004000FF)

enum kind { PLAIN, CONTROL, COUNTER, CLOCK };

struct cell { /* in memory that processes share */
	uint64_t value, since;
	double part; /* of a count */
};

struct shared {
	uint64_t begin; /* ns */
	bool done[LINES];
	int fails[CELLS];      /* errno */
	uint64_t wrote[CELLS]; /* ns, + 1; 0: never */
	uint32_t reads[CELLS];
	struct cell cell[CELLS];
};

struct place { /* by cpu and register, the same in all processes */
	bool used;
	uint32_t cpu, reg, at; /* `at`: the cell, of the first that share it */
};

struct rule { /* registers of a kind */
	enum kind kind;
	uint32_t reg;
	const struct sim_pmu *pmu;
	uint64_t on;
	bool pair, core, saturates;
	bool every; /* CPU has it */
	struct sim_cpus cpus;
	double rate;
};

struct line { /* of what happens later */
	double ms;
	uint32_t reads; /* 0: by `ms` */
	char what[16];
	uint32_t cpu, reg;
	uint64_t value;
};

static struct shared *shared;
static struct place place[CELLS];
static struct rule rule[LINES];
static size_t n_rules;
static struct line later[LINES];
static size_t n_later;
static uint64_t masks[SIM_PMUS], cpuid[LINES][5];
static size_t n_cpuid;
static uint32_t global;
static int no_open, no_write, lock_fd = -1, log_fd = -1;
static bool alone;
static uint32_t cpu_of[SIM_FDS]; /* + 1; CPUID_FD: cpuid */
#define CPUID_FD UINT32_MAX

static uint64_t clock_ns(void)
{
	struct timespec ts;

	sim_real.clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t now(void)
{
	return sim_paper() ? sim_paper_now() : clock_ns() - shared->begin;
}

/* ---- cells ---- */

static struct place *slot(uint32_t cpu, uint32_t reg)
{
	uint32_t i = (cpu * 2654435761u ^ reg * 40503u) & (CELLS - 1);

	while (place[i].used && (place[i].cpu != cpu || place[i].reg != reg))
		i = (i + 1) & (CELLS - 1);
	return &place[i];
}

static struct cell *find(uint32_t cpu, uint32_t reg)
{
	const struct place *p = slot(cpu, reg);

	return p->used ? &shared->cell[p->at] : NULL;
}

static const struct rule *rule_of(uint32_t cpu, uint32_t reg)
{
	for (size_t i = 0; i < n_rules; i++)
		if (rule[i].reg == reg && (rule[i].every || sim_cpus_have(&rule[i].cpus, (int)cpu)))
			return &rule[i];
	return NULL;
}

static const struct sim_event *event_of(const struct sim_pmu *pmu, uint64_t config)
{
	static struct {
		const struct sim_pmu *pmu;
		struct sim_event e;
	} known[EVENTS];
	static size_t n;

	for (size_t i = 0; i < n; i++)
		if (known[i].pmu == pmu && known[i].e.config == config)
			return &known[i].e;
	if (n == EVENTS)
		n = 0;
	known[n].pmu = pmu;
	/* a row of the table may have masks of its own */
	if (!sim_machine_event(&sim_state.machine, pmu, config, 0, &known[n].e))
		sim_machine_event(&sim_state.machine, pmu,
				  config & ~masks[pmu - sim_state.machine.pmu], 0, &known[n].e);
	known[n].e.config = config;
	return &known[n++].e;
}

/* Counts of an event from one time to another, through the phases of the program. */
static double counted(const struct sim_event *e, uint32_t cpu, uint64_t from, uint64_t to)
{
	const struct sim_side both = { true, true };
	struct sim_cursor c = { 0 };
	double sum = 0;

	while (from < to) {
		uint64_t end;

		sim_cursor_at(&sim_state.scenario, &c, from);
		end = c.end && c.end < to ? c.end : to;
		sum += (double)(end - from) * sim_rate(&sim_state.scenario, &sim_state.machine, e,
						       c.phase, (int)(cpu & 63), both);
		from = end;
	}
	return sum;
}

/* Counts up to now: of a counter what its control register has, of a clock always. */
static void catch_up(uint32_t cpu, uint32_t reg)
{
	const struct rule *r = rule_of(cpu, reg), *ctl = rule_of(cpu, reg - 1);
	struct cell *c = find(cpu, reg), *control = find(cpu, reg - 1), *odd, *all;
	uint64_t t = now(), v;
	double n = 0;

	if (!c)
		return;
	if (r && r->kind == CLOCK) {
		n = r->rate * (double)(t - c->since);
	} else if (ctl && ctl->kind == CONTROL && control) {
		v = control->value;
		all = global && ctl->core ? find(cpu, global) : NULL;
		if ((v & ctl->on) == ctl->on &&
		    (!all || all->value >> ((reg - 1 - 0xC0010200u) / 2) & 1)) {
			uint64_t config = v & ~ctl->on;

			n = counted(event_of(ctl->pmu, config), cpu, c->since, t);
			odd = find(cpu, reg + 1);
			if (ctl->pair && (config & 0xF000000FF) == 3 &&
			    (!odd || odd->value != MERGE))
				n /= 5;
			if (v == MERGE)
				n = 0;
		}
	} else {
		return;
	}
	c->since = t;
	c->part += n;
	c->value += (uint64_t)c->part;
	c->part -= (double)(uint64_t)c->part;
	if (ctl && ctl->saturates)
		c->value = c->value > BITS_48 ? BITS_48 + 1 : c->value;
	else if (!(r && r->kind == CLOCK))
		c->value &= BITS_48;
}

/* Before a register changes what counts. */
static void settle(uint32_t cpu, uint32_t reg)
{
	if (rule_of(cpu, reg) && rule_of(cpu, reg)->kind == CONTROL) {
		catch_up(cpu, reg + 1);
		if (rule_of(cpu, reg)->pair)
			catch_up(cpu, reg - 1);
	}
	if (reg == global)
		for (uint32_t i = 0; i < 6; i++)
			catch_up(cpu, 0xC0010201u + 2 * i);
	catch_up(cpu, reg);
}

static void set(uint32_t cpu, uint32_t reg, uint64_t v)
{
	struct cell *c = find(cpu, reg);

	if (!c)
		return;
	settle(cpu, reg);
	c->value = v;
	c->part = 0;
	c->since = now();
	if (rule_of(cpu, reg) && rule_of(cpu, reg)->kind == CONTROL && find(cpu, reg + 1))
		find(cpu, reg + 1)->since = now();
}

/* Its time begins with the program's first write, however late that is on a busy machine. */
static bool is_due(const struct line *l, const struct cell *c)
{
	const struct rule *ctl = rule_of(l->cpu, l->reg - 1);
	const struct cell *from = ctl && ctl->kind == CONTROL ? find(l->cpu, l->reg - 1) : c;
	uint64_t wrote = from ? shared->wrote[from - shared->cell] : 0;

	if (l->reads)
		return shared->reads[c - shared->cell] >= l->reads;
	return wrote && (double)(now() - (wrote - 1)) >= l->ms * 1e6;
}

static void happen(void)
{
	for (size_t i = 0; i < n_later; i++) {
		const struct line *l = &later[i];
		struct cell *c = find(l->cpu, l->reg);

		if (shared->done[i] || !c || !is_due(l, c))
			continue;
		shared->done[i] = true;
		if (!strcmp(l->what, "write"))
			set(l->cpu, l->reg, l->value);
		else if (!strcmp(l->what, "add"))
			set(l->cpu, l->reg, (settle(l->cpu, l->reg), c->value) + l->value);
		else
			shared->fails[c - shared->cell] = (int)l->value;
	}
}

/* ---- the file ---- */

static int bad(const char *text)
{
	fprintf(stderr, "sim: SIM_MSR: %s", text);
	return -1;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 0);
}

/* "0-255,300": the next of them; false at the end. */
static bool next_cpu(const char **s, uint32_t *at, uint32_t *last)
{
	char *end;

	if (*at < *last) {
		++*at;
		return true;
	}
	if (!**s)
		return false;
	*at = (uint32_t)strtoul(*s, &end, 10);
	*last = *end == '-' ? (uint32_t)strtoul(end + 1, &end, 10) : *at;
	*s = end + (*end == ',');
	return true;
}

static void add_cells(const char *cpus, uint32_t first, uint32_t last, bool share,
		      const uint64_t *value)
{
	const char *s = cpus;
	uint32_t cpu = 0, to = 0, head = 0;
	bool any = false;

	while (next_cpu(&s, &cpu, &to)) {
		head = any ? head : cpu;
		any = true;
		for (uint32_t reg = first; reg <= last; reg++) {
			struct place *p = slot(cpu, reg);

			*p = (struct place){ true, cpu, reg, (uint32_t)(p - place) };
			if (share && cpu != head)
				p->at = slot(head, reg)->at;
			if (value)
				shared->cell[p->at].value = *value;
		}
	}
}

static const struct sim_pmu *pmu_named(const char *name)
{
	for (uint32_t i = 0; i < sim_state.machine.n_pmus; i++)
		if (!strcmp(sim_state.machine.pmu[i].name, name))
			return &sim_state.machine.pmu[i];
	return NULL;
}

static int take_line(const char *line, bool fresh)
{
	char w[8][128] = { "" };
	int n = sscanf(line, "%127s %127s %127s %127s %127s %127s %127s", w[0], w[1], w[2], w[3],
		       w[4], w[5], w[6]);

	if (n < 1 || *w[0] == '#')
		return 0;
	if (!strcmp(w[0], "cell") && n == 4) {
		uint64_t v = number(w[3]);

		add_cells(w[1], (uint32_t)number(w[2]), (uint32_t)number(w[2]), false,
			  fresh ? &v : NULL);
	} else if (!strcmp(w[0], "share") && n == 4) {
		add_cells(w[1], (uint32_t)number(w[2]), (uint32_t)number(w[3]), true, NULL);
	} else if (!strcmp(w[0], "count") && (n == 4 || n == 5) && pmu_named(w[1])) {
		rule[n_rules++] = (struct rule){ .kind = CONTROL,
						 .reg = (uint32_t)number(w[2]),
						 .pmu = pmu_named(w[1]),
						 .on = number(w[3]),
						 .core = !strcmp(w[1], "cpu"),
						 .saturates = !strncmp(w[1], "amd_umc", 7),
						 .every = n == 4,
						 .cpus = sim_cpulist(w[4]) };
	} else if (!strcmp(w[0], "mask") && n == 3 && pmu_named(w[1])) {
		masks[pmu_named(w[1]) - sim_state.machine.pmu] = number(w[2]);
	} else if (!strcmp(w[0], "clock") && n == 3) {
		rule[n_rules++] = (struct rule){ .kind = CLOCK,
						 .reg = (uint32_t)number(w[1]),
						 .every = true,
						 .rate = strtod(w[2], NULL) };
	} else if (!strcmp(w[0], "pair") && n == 2) {
		for (size_t i = 0; i < n_rules; i++)
			rule[i].pair |= rule[i].reg == (uint32_t)number(w[1]);
	} else if (!strcmp(w[0], "global") && n == 2) {
		global = (uint32_t)number(w[1]);
	} else if (!strcmp(w[0], "cpuid") && n == 6) {
		for (int i = 0; i < 5; i++)
			cpuid[n_cpuid][i] = number(w[1 + i]);
		n_cpuid++;
	} else if (!strcmp(w[0], "no") && n == 3) {
		*(strcmp(w[1], "open") ? &no_write : &no_open) = (int)number(w[2]);
	} else if ((!strcmp(w[0], "at") || !strcmp(w[0], "read")) && n == 6) {
		later[n_later] = (struct line){ .ms = strtod(w[1], NULL),
						.reads = *w[0] == 'r' ? (uint32_t)number(w[1]) : 0,
						.cpu = (uint32_t)number(w[3]),
						.reg = (uint32_t)number(w[4]),
						.value = number(w[5]) };
		snprintf(later[n_later++].what, sizeof(later->what), "%.15s", w[2]);
	} else {
		return bad(line);
	}
	return n_rules < LINES && n_later < LINES && n_cpuid < LINES ? 0 : bad("too many lines\n");
}

int sim_msr_begin(const char *path)
{
	FILE *f = fopen(path, "r");
	char name[4096], line[512];
	bool fresh;
	int fd;

	snprintf(name, sizeof(name), "%s.cells", path);
	fresh = access(name, F_OK) != 0;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (!f || fd < 0 || ftruncate(fd, sizeof(*shared)))
		return bad("cannot be read, or its cells not be made\n");
	shared = sim_real.mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return bad("mmap\n");
	lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
	sim_real.close(fd);
	snprintf(name, sizeof(name), "%s.log", path);
	fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
	sim_real.close(fd);
	alone = getenv("SIM_MSR_ALONE");
	if (fresh)
		shared->begin = clock_ns();
	while (fgets(line, sizeof(line), f))
		if (take_line(line, fresh))
			return -1;
	fclose(f);
	return 0;
}

/* ---- access ---- */

/* A process that dies loses it. The watchdog closes what it does not know. */
static void lock(short how)
{
	struct flock l = { .l_type = how, .l_whence = SEEK_SET };

	while (!alone && lock_fd >= 0 && fcntl(lock_fd, F_SETLKW, &l) && errno == EINTR)
		;
}

int sim_msr_open(const char *path, int flags, bool *ours)
{
	unsigned cpu;
	char what[16];
	int fd;

	*ours = shared && sscanf(path, "/dev/cpu/%u/%15s", &cpu, what) == 2;
	if (!*ours)
		return -1;
	errno = no_open;
	if (no_open)
		return -1;
	errno = ENOENT;
	if (strcmp(what, "msr") && (strcmp(what, "cpuid") || !n_cpuid))
		return -1;
	if (!strcmp(what, "msr") && !find(cpu, 0x10))
		return -1;
	(void)flags;
	fd = (int)sim_real.syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fd < SIM_FDS)
		cpu_of[fd] = strcmp(what, "msr") ? CPUID_FD : cpu + 1;
	return fd;
}

bool sim_msr_is(int fd)
{
	return shared && fd >= 0 && fd < SIM_FDS && cpu_of[fd];
}

void sim_msr_close(int fd)
{
	cpu_of[fd] = 0;
}

bool sim_msr_keeps(int fd)
{
	return shared && fd >= 0 && (fd == lock_fd || fd == log_fd);
}

int sim_msr_close_range(unsigned first, unsigned last, int flags)
{
	for (unsigned keep = 0; shared && keep < 2; keep++) {
		unsigned a = (unsigned)(lock_fd < log_fd ? lock_fd : log_fd),
			 b = (unsigned)(lock_fd < log_fd ? log_fd : lock_fd), at = keep ? b : a;

		if (at < first || at > last)
			continue;
		if (at > first &&
		    sim_real.syscall(SYS_close_range, (long)first, (long)at - 1, (long)flags))
			return -1;
		first = at + 1;
	}
	return (int)sim_real.syscall(SYS_close_range, (long)first, (long)last, (long)flags);
}

static ssize_t read_cpuid(void *to, size_t n, off_t at)
{
	uint32_t v[4] = { 0 };

	for (size_t i = 0; i < n_cpuid; i++)
		for (int k = 0; cpuid[i][0] == (uint64_t)at && k < 4; k++)
			v[k] = (uint32_t)cpuid[i][k + 1];
	n = n < sizeof(v) ? n : sizeof(v);
	memcpy(to, v, n);
	return (ssize_t)n;
}

static ssize_t failed(int number)
{
	errno = number;
	return -1;
}

ssize_t sim_msr_read(int fd, void *to, size_t n, off_t at)
{
	uint32_t cpu = cpu_of[fd] - 1, reg = (uint32_t)at;
	struct cell *c;
	ssize_t got = sizeof(c->value);

	if (cpu_of[fd] == CPUID_FD)
		return read_cpuid(to, n, at);
	if (n != sizeof(c->value))
		return failed(EINVAL);
	lock(F_WRLCK);
	happen();
	c = find(cpu, reg);
	if (!c || shared->fails[c - shared->cell]) {
		got = failed(c ? shared->fails[c - shared->cell] : EIO);
	} else {
		catch_up(cpu, reg);
		memcpy(to, &c->value, sizeof(c->value));
		shared->reads[c - shared->cell]++;
	}
	lock(F_UNLCK);
	return got;
}

static void note(uint32_t cpu, uint32_t reg, uint64_t old, uint64_t new)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "%llu %d %u %x %llx %llx\n",
			 (unsigned long long)clock_ns(), (int)getpid(), cpu, reg,
			 (unsigned long long)old, (unsigned long long)new);

	if (sim_real.syscall(SYS_write, log_fd, line, (size_t)n) < 0)
		abort();
}

ssize_t sim_msr_write(int fd, const void *from, size_t n, off_t at)
{
	uint32_t cpu = cpu_of[fd] - 1, reg = (uint32_t)at;
	struct cell *c;
	uint64_t v;
	ssize_t got = sizeof(v);

	if (n != sizeof(v) || cpu_of[fd] == CPUID_FD)
		return failed(EINVAL);
	memcpy(&v, from, sizeof(v));
	lock(F_WRLCK);
	happen();
	c = find(cpu, reg);
	if (no_write) {
		got = failed(no_write);
	} else if (!c || shared->fails[c - shared->cell]) {
		got = failed(c ? shared->fails[c - shared->cell] : EIO);
	} else {
		settle(cpu, reg);
		note(cpu, reg, c->value, v);
		set(cpu, reg, v);
		if (!shared->wrote[c - shared->cell])
			shared->wrote[c - shared->cell] = now() + 1;
	}
	lock(F_UNLCK);
	return got;
}
