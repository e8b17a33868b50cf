/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels - counts that follow what kernels do (src/kernels), for validate. SIM_KERNELS names a
 * file with a line for each event:
 *
 *	NAME quantity=COUNT ... [chain=X] [KERNEL:COUNT] [factor=X] [busy=X] [core=1] [skid0=X]
 *		[local=X] [remote=X] [holds=N]
 *		[capture=1 off=X behind=1 later=1 line=1 none=1 faulty=X]
 *
 * An iteration of a kernel counts so many for each of a quantity (src/kernels/quantity.def); X for
 * each cycle of the chain of additions; COUNT in this kernel alone; all of it times factor, and
 * times busy while another thread runs a kernel; core: what other threads run is counted, too;
 * holds: the quantities count in memory of more lines than that (pages, if it counts pages).
 * local, remote: X for each load from memory bound to the CPU's NUMA node, or to another. All
 * other events count nothing. skid0 to skid3: samples in the kernel "skid" with this precise level
 * stand X/2 to 3X/2 instructions behind its load; -1: where the clock's did.
 *
 * capture: samples in the kernel "address" stand at one of its loads, with the address of a random
 * line and the registers before it. A share `faulty` (1) of them has the address off by X bytes;
 * the registers behind the load, or those of a later instruction; only its line's address, or none;
 * skid0 to skid3: more than 0 stands at the instruction behind.
 *
 * The table of kernels in the program is found by its symbol, and its functions are replaced by
 * ones that count what they ran. Nothing in the program knows of it.
 */
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "kernels/kernel.h"
#include "kernels.h"
#include "preload.h"

#define EVENTS	64u
#define KERNELS 128u

struct counting {
	char name[SIM_NAME], only[SIM_NAME];
	double each[QUANTITIES], chain, leak, factor, busy, local, remote, holds;
	bool core, capture, behind, later, line, none;
	double skid[4], off, faulty;
};

static struct counting event[EVENTS];
static size_t n_events;
static struct kernel *table; /* the program's */
static uint64_t skid_load, skid_after;
static struct kernel_load load[2]; /* of the kernel "address" */
static uint64_t memory, lines;	   /* that it ran in last */
static size_t n_table;
static void (*original[KERNELS])(struct kernel_work *w, uint64_t n);
static unsigned in_kernel; /* threads that run one now; under the lock */

bool sim_kernels; /* counts follow kernels, not time */

/* ---- what was run ---------------------------------------------------------------------------- */

/* The node of a CPU is its number (settings.nodes). */
static bool is_local(const struct kernel_work *w)
{
	return w->on_node == (unsigned)sched_getcpu() % sim_state.scenario.set.nodes + 1;
}

/* Lines that it comes to in a turn, or pages; of a list as many as its memory has. */
static double set_of(const struct counting *e, const struct kernel *k, const struct kernel_work *w)
{
	double each = k->each[Q_LINES_READ] + k->each[Q_LINES_WRITTEN];
	double unit = k->usual.stride > 64 ? (double)k->usual.stride : 64;

	if (e->each[Q_PAGES] > 0)
		unit = 4096;
	return k->usual.stride ? (double)w->mapped / unit : each * (double)(w->mask + 1) / unit;
}

static double counts_of(const struct counting *e, const struct kernel *k,
			const struct kernel_work *w)
{
	unsigned units = w->units;
	double sum = 0;

	if (w->on_node && sim_state.scenario.set.nodes)
		sum += k->each[Q_LOADS] * (is_local(w) ? e->local : e->remote);

	for (unsigned q = 0; q < QUANTITIES; q++)
		if (e->each[q] != 0 && (e->holds <= 0 || set_of(e, k, w) > e->holds))
			sum += e->each[q] * (k->each[q] + k->per_unit[q] * units);
	if (e->chain > 0)
		sum += e->chain * (strcmp(k->name, "add")
					   ? k->each[Q_INSNS] + k->per_unit[Q_INSNS] * units
					   : 16);
	if (!strcmp(e->only, k->name))
		sum += e->leak;
	return sum * e->factor;
}

static const struct counting *find(const char *name)
{
	for (size_t i = 0; i < n_events; i++)
		if (!strcmp(event[i].name, name))
			return &event[i];
	return NULL;
}

static void add(const struct kernel *k, const struct kernel_work *w, double n)
{
	pid_t self = gettid();

	for (struct sim_context *c = sim_contexts; c; c = c->next) {
		bool own = c->pid == self;

		if (c->pid < 0)
			continue;
		if (own)
			sim_catch_up(c);
		for (struct sim_counter *x = c->first; x; x = x->next) {
			const struct counting *e = x->pmu ? find(x->event.name) : NULL;

			if (!e || x->state != SIM_ON || (own && !x->running) || (!own && !e->core))
				continue;
			x->count += n * counts_of(e, k, w) * (own && in_kernel > 1 ? e->busy : 1);
		}
	}
}

static void through(unsigned i, struct kernel_work *w, uint64_t n)
{
	sim_take();
	in_kernel++;
	if (!strcmp(table[i].name, "address")) {
		memory = (uint64_t)(uintptr_t)w->a;
		lines = (w->mask + 1) / 64;
	}
	sim_give();
	original[i](w, n);
	sim_take();
	add(&table[i], w, (double)n);
	in_kernel--;
	sim_give();
}

/* clang-format off */
#define ONE(n)	 static void run_##n(struct kernel_work *w, uint64_t k) { through(n, w, k); }
#define EIGHT(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7)
#define FOUR(n, a, b, c, d) run_##n##a, run_##n##b, run_##n##c, run_##n##d
#define NAMES(n) FOUR(n, 0, 1, 2, 3), FOUR(n, 4, 5, 6, 7)
/* octal: so they are indices */
EIGHT(0) EIGHT(01) EIGHT(02) EIGHT(03) EIGHT(04) EIGHT(05) EIGHT(06) EIGHT(07)
EIGHT(010) EIGHT(011) EIGHT(012) EIGHT(013) EIGHT(014) EIGHT(015) EIGHT(016) EIGHT(017)
static void (*const replaced[KERNELS])(struct kernel_work *w, uint64_t n) = {
	NAMES(0), NAMES(01), NAMES(02), NAMES(03), NAMES(04), NAMES(05), NAMES(06), NAMES(07),
	NAMES(010), NAMES(011), NAMES(012), NAMES(013),
	NAMES(014), NAMES(015), NAMES(016), NAMES(017),
};
/* clang-format on */

/* ---- the program's table --------------------------------------------------------------------- */

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

/* A symbol of the program, by its file; NULL. */
static void *symbol(const char *file, const char *name)
{
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Shdr *s = (const void *)(file + head->e_shoff);
	uintptr_t base = 0;

	(void)dl_iterate_phdr(first_object, &base);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(file + s[i].sh_offset);

		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t n = s[i].sh_size / sizeof(*sym); n--; sym++)
			if (sym->st_value &&
			    (ELF64_ST_BIND(sym->st_info) == STB_GLOBAL ||
			     !strncmp(name, "kernel_", 7)) && /* hidden */
			    !strcmp(file + s[s[i].sh_link].sh_offset + sym->st_name, name))
				return (void *)(base + sym->st_value);
	}
	return NULL;
}

/* Registers as the kernel "address" has them. */
static void find_loads(const char *file)
{
#ifdef __x86_64__
	load[0] = (struct kernel_load){ .base = 4, .index = 5, .scale = 8, .disp = 8 };
	load[1] = (struct kernel_load){ .base = 3, .index = 5, .scale = 8, .disp = 16 };
#else
	load[0] = (struct kernel_load){ .base = 9, .index = 11, .scale = 8 };
	load[1] = (struct kernel_load){ .base = 10, .index = 11, .scale = 8 };
#endif
	load[0].load = (uintptr_t)symbol(file, "kernel_address_kept");
	load[0].after = (uintptr_t)symbol(file, "kernel_address_kept_after");
	load[1].load = (uintptr_t)symbol(file, "kernel_address_lost");
	load[1].after = (uintptr_t)symbol(file, "kernel_address_lost_after");
}

static int replace(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const size_t *n;
	struct stat st;
	uintptr_t from, to;
	char *file;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	(void)close(fd);
	if (file == MAP_FAILED)
		return -1;
	table = symbol(file, "kernels");
	skid_load = (uint64_t)symbol(file, "kernel_skid_load");
	skid_after = (uint64_t)symbol(file, "kernel_skid_after");
	find_loads(file);
	n = symbol(file, "n_kernels");
	(void)munmap(file, (size_t)st.st_size);
	if (!table || !n || *n > KERNELS)
		return -1;
	n_table = *n;
	from = (uintptr_t)table & ~(uintptr_t)4095;
	to = ((uintptr_t)(table + n_table) + 4095) & ~(uintptr_t)4095;
	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE))
		return -1;
	for (size_t i = 0; i < n_table; i++) {
		original[i] = table[i].run;
		table[i].run = replaced[i];
	}
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_word(struct counting *e, char *word)
{
	static const char *const quantity[QUANTITIES] = {
#define QUANTITY(id, key, text) [Q_##id] = key,
#include "kernels/quantity.def"
#undef QUANTITY
	};
	char *value = strpbrk(word, "=:");
	bool only = value && *value == ':';
	double v;

	if (!value)
		return -1;
	*value++ = '\0';
	v = strtod(value, NULL);
	if (only) {
		(void)snprintf(e->only, sizeof(e->only), "%s", word);
		e->leak = v;
		return 0;
	}
	for (unsigned q = 0; q < QUANTITIES; q++)
		if (!strcmp(quantity[q], word)) {
			e->each[q] += v;
			return 0;
		}
	if (!strcmp(word, "chain"))
		e->chain = v;
	else if (!strcmp(word, "factor"))
		e->factor = v;
	else if (!strcmp(word, "busy"))
		e->busy = v;
	else if (!strcmp(word, "holds"))
		e->holds = v;
	else if (!strcmp(word, "local"))
		e->local = v;
	else if (!strcmp(word, "remote"))
		e->remote = v;
	else if (!strcmp(word, "core"))
		e->core = v > 0;
	else if (!strcmp(word, "off"))
		e->off = v;
	else if (!strcmp(word, "faulty"))
		e->faulty = v;
	else if (!strcmp(word, "capture"))
		e->capture = v > 0;
	else if (!strcmp(word, "behind"))
		e->behind = v > 0;
	else if (!strcmp(word, "later"))
		e->later = v > 0;
	else if (!strcmp(word, "line"))
		e->line = v > 0;
	else if (!strcmp(word, "none"))
		e->none = v > 0;
	else if (!strncmp(word, "skid", 4) && word[4] >= '0' && word[4] < '4' && !word[5])
		e->skid[word[4] - '0'] = v;
	else
		return -1;
	return 0;
}

static int read_line(char *line)
{
	struct counting *e = &event[n_events];
	char *save = NULL, *word = strtok_r(line, " \t\n", &save);

	if (!word)
		return 0;
	if (n_events == EVENTS)
		return -1;
	*e = (struct counting){ .factor = 1, .busy = 1, .faulty = 1, .skid = { -1, -1, -1, -1 } };
	(void)snprintf(e->name, sizeof(e->name), "%s", word);
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (read_word(e, word))
			return -1;
	n_events++;
	return 0;
}

#ifdef __x86_64__
#define SKID_STEP 3
#else
#define SKID_STEP 4
#endif
#define SKID_INSNS 96

uint64_t sim_kernels_ip(const char *name, unsigned precise, uint64_t ip, double random)
{
	const struct counting *e = find(name);
	uint64_t d;

	if (!e || !skid_load || e->skid[precise & 3] < 0 || ip < skid_load - 32 ||
	    ip > skid_after + SKID_INSNS * SKID_STEP + 32)
		return ip;
	d = (uint64_t)(e->skid[precise & 3] * (0.5 + random) + 0.5);
	return d ? skid_after + (d - 1) * SKID_STEP : skid_load;
}

/* A base that gives the address `at` with this index. */
static uint64_t base_of(const struct kernel_load *l, uint64_t at, uint64_t index)
{
	return at - index * l->scale - (uint64_t)l->disp;
}

bool sim_kernels_capture(struct sim_capture *out, const char *name, unsigned precise, uint64_t ip,
			 const double random[3])
{
	const struct counting *e = find(name);
	const struct kernel_load *l = &load[random[0] < 0.5];
	uint64_t index, at;

	if (!e || !e->capture || !lines || !l->load || ip < load[0].load - 32 ||
	    ip > load[1].after + 64)
		return false;
	index = 8 * (uint64_t)(random[1] * (double)lines);
	at = memory + 8 * index + (l == load ? 8 : 16);
	*out = (struct sim_capture){ .ip = e->skid[precise & 3] > 0 ? l->after : l->load,
				     .addr = at };
	/* the other load's base, and both registers, are cleared where they are behind */
	out->reg[load[0].base] = l == load ? base_of(l, at, index) : 0;
	out->reg[load[1].base] = l == load ? memory : base_of(l, at, index);
	out->reg[l->index] = index;
	if (!precise)
		out->addr = 0;
	if (random[2] >= e->faulty)
		return true;
	out->addr += out->addr ? (uint64_t)(int64_t)e->off : 0;
	out->addr &= e->none ? 0 : e->line ? ~UINT64_C(63) : ~UINT64_C(0);
	if (e->behind && l == &load[1])
		out->reg[l->base] = kernel_word_of(at);
	if (e->later)
		memset(out->reg, 0, sizeof(out->reg));
	return true;
}

int sim_kernels_open(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	int rc = f ? 0 : -1;

	while (!rc && fgets(line, sizeof(line), f))
		rc = read_line(line);
	if (f)
		(void)fclose(f);
	if (rc)
		(void)fprintf(stderr, "simpmu: %s: not understood\n", path);
	else if (!replace()) /* programs without kernels have none to follow */
		sim_kernels = true;
	return rc;
}
