/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile of samples made up here, against a plain count of the same samples: one at a time, by
 * name, with no memory of the one before. Recording, spaces and images are stand-ins, so that what
 * is mapped and called how at which time is known exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/profile.h"
#include "base/vec.h"
#include "symbol/source.h"
#include "symbol/unwind.h"

#define N_EVENTS  3
#define N_SAMPLES 60000
#define N_CHUNKS  23

/* ---- the stand-ins
 * ------------------------------------------------------------------------------- */

struct process {
	uint32_t pid, index;
	uint64_t from, until;
};

/* pid 7 is used twice; 9 dies early. */
static const struct process procs[] = {
	{ 7, 0, 0, 5000 },
	{ 7, 1, 5000, UINT64_MAX },
	{ 8, 2, 0, UINT64_MAX },
	{ 9, 3, 0, 3000 },
};

static const struct fake_map {
	int proc; /* -1: kernel */
	uint64_t from, until;
	struct map m;
} maps[] = {
	{ 0, 0, 5000, { 0x1000, 0x5000, 0x200, 0, 0, 5, SPACE_USER, false } },
	{ 1, 5000, 8000, { 0x1000, 0x5000, 0, 0, 1, 5, SPACE_USER, false } },
	{ 1, 8000, UINT64_MAX, { 0x1000, 0x3000, 0, 0, 2, 5, SPACE_USER, false } },
	{ 2, 2500, 2600, { 0x1000, 0x9000, 0, 0, 1, 5, SPACE_USER, false } },
	{ 2, 2600, UINT64_MAX, { 0x2000, 0x9000, 0, 0, 0, 5, SPACE_USER, false } },
	{ 3, 0, 3000, { 0x1000, 0x2000, 0x1000, 0, 0, 5, SPACE_USER, false } },
	{ -1, 0, UINT64_MAX, { 0xffff0000, 0xffff8000, 0, 0, 3, 5, SPACE_KERNEL, true } },
};

static const struct fake_comm {
	uint32_t tid;
	uint64_t from, until;
	const char *name;
} comms[] = {
	{ 7, 0, 1000, "sh" },	       { 7, 1000, 5000, "make" },
	{ 7, 5000, UINT64_MAX, "cc" }, { 8, 0, UINT64_MAX, "daemon" },
	{ 70, 0, 4000, "pool" },       { 70, 4000, UINT64_MAX, "pool-2" },
};

static const char *const image_names[] = { "prog", "libx.so", "liby.so", "[kernel.kallsyms]" };

static struct strtab strings;
static struct pd_event events[N_EVENTS];
static struct pd_chunk chunks[N_CHUNKS];
static uint8_t *bytes;

const struct pd_event *pd_events(const struct pd *rec, size_t *n)
{
	(void)rec;
	*n = N_EVENTS;
	return events;
}

const struct pd_chunk *pd_chunks(const struct pd *rec, size_t *n)
{
	(void)rec;
	*n = N_CHUNKS;
	return chunks;
}

bool pd_has_time(const struct pd *rec)
{
	(void)rec;
	return true;
}

struct pd_drop *pd_drop_start(const struct pd *rec)
{
	(void)rec;
	return NULL;
}

void pd_drop_stop(struct pd_drop *d)
{
	(void)d;
}

int pd_sample_event(const struct pd *rec, const struct pd_record *r)
{
	uint64_t id = r->size >= 16 ? ld64(r->p + 8) : UINT64_MAX;

	(void)rec;
	return id < N_EVENTS ? (int)id : -1;
}

int pd_sample_parse(const struct pd *rec, const struct pd_record *r, struct pd_sample *out)
{
	(void)rec;
	(void)r;
	(void)out;
	return -1;
}

struct pd_read pd_read_get(const struct pd_sample *s, uint64_t i)
{
	struct pd_read r = { 0 };

	(void)s;
	(void)i;
	return r;
}

int pd_id_event(const struct pd *rec, uint64_t id)
{
	(void)rec;
	(void)id;
	return -1;
}

bool pd_branches_find(const struct pd_event *ev, const struct pd_record *r, struct pd_branches *out)
{
	(void)ev;
	(void)r;
	(void)out;
	return false;
}

struct pd_branch pd_branch_get(const struct pd_sample *s, uint64_t i)
{
	struct pd_branch b = { 0 };

	(void)s;
	(void)i;
	return b;
}

enum space_kind space_kind_of_misc(uint16_t misc)
{
	return (misc & 7) == 1 ? SPACE_KERNEL : SPACE_USER;
}

const struct process *spaces_process(const struct spaces *sp, uint32_t pid, uint64_t time)
{
	(void)sp;
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++)
		if (procs[i].pid == pid && time >= procs[i].from && time < procs[i].until)
			return &procs[i];
	return NULL;
}

void process_life(const struct process *p, uint64_t *from, uint64_t *until)
{
	*from = p->from;
	*until = p->until;
}

uint32_t process_index(const struct process *p)
{
	return p->index;
}

/* The interval in which nothing among `from`/`until` pairs that concern the question changes. */
static void clip(uint64_t t, uint64_t edge, uint64_t *from, uint64_t *until)
{
	if (edge <= t && edge > *from)
		*from = edge;
	if (edge > t && edge < *until)
		*until = edge;
}

const struct map *space_find_span(const struct spaces *sp, const struct process *proc,
				  enum space_kind kind, uint64_t ip, uint64_t time,
				  struct space_span *span)
{
	const struct map *found = NULL;
	int index = kind == SPACE_KERNEL ? -1 : proc ? (int)proc->index : -2;

	(void)sp;
	*span = (struct space_span){ ip, ip + 1, 0, UINT64_MAX };
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		const struct fake_map *m = &maps[i];

		if (m->proc != index || ip < m->m.start || ip >= m->m.end)
			continue;
		clip(time, m->from, &span->from, &span->until);
		clip(time, m->until, &span->from, &span->until);
		if (time >= m->from && time < m->until)
			found = &m->m;
	}
	return found;
}

const struct map *space_find(const struct spaces *sp, const struct process *proc,
			     enum space_kind kind, uint64_t ip, uint64_t time, uint64_t *from,
			     uint64_t *until)
{
	struct space_span span;
	const struct map *found = space_find_span(sp, proc, kind, ip, time, &span);

	if (from)
		*from = span.from;
	if (until)
		*until = span.until;
	return found;
}

static const char *comm_at(uint32_t tid, uint64_t time)
{
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++)
		if (comms[i].tid == tid && time >= comms[i].from && time < comms[i].until)
			return comms[i].name;
	return NULL;
}

uint32_t spaces_comm_at(const struct spaces *sp, uint32_t pid, uint32_t tid, uint64_t time,
			uint64_t *from, uint64_t *until)
{
	const char *name = comm_at(tid, time);

	(void)sp;
	(void)pid;
	*from = 0;
	*until = UINT64_MAX;
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
		if (comms[i].tid == tid) {
			clip(time, comms[i].from, from, until);
			clip(time, comms[i].until, from, until);
		}
	}
	return name ? strtab_find(&strings, name) : STR_NONE;
}

const char *spaces_cgroup_path(const struct spaces *sp, uint64_t id)
{
	(void)sp;
	(void)id;
	return NULL;
}

const struct strtab *spaces_strings(const struct spaces *sp)
{
	(void)sp;
	return &strings;
}

struct images *spaces_images(const struct spaces *sp)
{
	(void)sp;
	return NULL;
}

size_t images_count(const struct images *set)
{
	(void)set;
	return 4;
}

const char *image_name(const struct images *set, uint32_t id)
{
	(void)set;
	return image_names[id];
}

/* A function every 0x100 bytes; every seventh has no symbol, every fifth is called like another. */
static struct symbol symbols[4][0x100];

static const struct symbol *symbol_at(uint32_t image, uint64_t addr)
{
	const struct symbol *s = &symbols[image][addr >> 8 & 0xff];

	return s->name ? s : NULL;
}

int image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		  const struct symbol **out, struct err *err)
{
	(void)set;
	(void)err;
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || addr[i - 1] <= addr[i]);
		out[i] = symbol_at(id, addr[i]);
	}
	return 0;
}

bool image_to_vaddr(struct images *set, uint32_t id, uint64_t addr, uint64_t *vaddr)
{
	(void)set;
	(void)id;
	*vaddr = addr;
	return true;
}

const struct source *source_of(struct images *set, uint32_t image, struct err *err)
{
	static const char there;

	(void)set;
	(void)err;
	return image == 1 ? (const struct source *)(const void *)&there : NULL;
}

struct source_line source_line(const struct source *s, uint64_t vaddr)
{
	struct source_line l = { "x.c", (uint32_t)(vaddr >> 4) };

	(void)s;
	return l;
}

size_t source_inlines(const struct source *s, uint64_t vaddr, struct source_inline *out, size_t max)
{
	(void)s;
	if (!(vaddr & 0x40) || !max)
		return 0;
	out[0] = (struct source_inline){ "inlined", { "x.c", 5 } };
	return 1;
}

size_t source_inline_names(const struct source *s, uint64_t vaddr, struct source_inline *out,
			   size_t max)
{
	return source_inlines(s, vaddr, out, max);
}

struct unwinder *unwinder_new(const struct spaces *sp, struct err *err)
{
	(void)sp;
	(void)err;
	return NULL;
}

void unwinder_free(struct unwinder *u)
{
	(void)u;
}

size_t unwind_user(struct unwinder *u, const struct unwind_in *in, uint64_t *ips, size_t max,
		   enum unwind_end *end)
{
	(void)u;
	(void)in;
	(void)ips;
	(void)max;
	(void)end;
	return 0;
}

/* ---- the samples
 * --------------------------------------------------------------------------------- */

struct fact { /* a sample as it was written */
	uint32_t event, pid, tid, cpu;
	uint64_t ip, time, period;
	bool kernel;
	uint64_t chain[24];
	uint64_t n_chain;
};

static struct fact *facts;
static uint64_t seed = 4711;

static uint64_t draw(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* Addresses come back often, some are mapped nowhere. */
static uint64_t draw_user(void)
{
	return 0x0c00 + draw(0x90) * 0x100 + draw(3) * 0x40;
}

static void draw_chain(struct fact *f)
{
	uint64_t depth = 1 + draw(6);

	f->n_chain = 0;
	if (draw(50) == 0) /* a chain without a frame */
		return;
	if (f->kernel) {
		f->chain[f->n_chain++] = (uint64_t)PERF_CONTEXT_KERNEL;
		f->chain[f->n_chain++] = f->ip;
		f->chain[f->n_chain++] = 0xffff0000 + draw(4) * 0x100 + 8;
	}
	f->chain[f->n_chain++] = (uint64_t)PERF_CONTEXT_USER;
	if (!f->kernel)
		f->chain[f->n_chain++] = f->ip;
	/* few different functions, so that recursion and common outer frames happen */
	for (uint64_t i = 0; i < depth; i++)
		f->chain[f->n_chain++] = 0x1000 + draw(2) * 0x2000 + draw(3) * 0x100;
	f->chain[f->n_chain++] = 0x1f00;
	if (draw(200) == 0) /* a marker nobody knows */
		f->chain[1] = (uint64_t)-3000;
}

static void draw_fact(struct fact *f)
{
	static const uint32_t tids[][2] = { { 7, 7 }, { 7, 70 }, { 8, 8 },
					    { 9, 9 }, { 9, 91 }, { 55, 55 } };
	size_t t = draw(6);

	memset(f, 0, sizeof(*f));
	f->event = (uint32_t)draw(2); /* the third has no samples */
	f->pid = tids[t][0];
	f->tid = tids[t][1];
	f->cpu = (uint32_t)draw(4);
	f->kernel = draw(4) == 0;
	f->ip = f->kernel ? 0xfffeff00 + draw(0x90) * 0x100 : draw_user();
	f->time = draw(10000);
	f->period = 1 + draw(1000000);
	draw_chain(f);
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	st64(p, v);
	return p + 8;
}

static uint8_t *write_fact(uint8_t *p, const struct fact *f)
{
	uint8_t *start = p;
	uint16_t misc = f->kernel ? 1 : 2, size;

	p = put64(p + 8, f->event);
	p = put64(p, f->ip);
	p = put64(p, (uint64_t)f->tid << 32 | f->pid);
	p = put64(p, f->time);
	p = put64(p, f->cpu);
	p = put64(p, f->period);
	p = put64(p, f->n_chain);
	for (uint64_t i = 0; i < f->n_chain; i++)
		p = put64(p, f->chain[i]);
	size = (uint16_t)(p - start);
	st64(start, PERF_RECORD_SAMPLE | (uint64_t)misc << 32 | (uint64_t)size << 48);
	return p;
}

static void make_symbols(void)
{
	static char names[4][0x100][24];

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 0; k < 0x100; k++) {
			struct symbol *s = &symbols[i][k];

			(void)snprintf(names[i][k], sizeof(names[i][k]), "f%u", k % 5 ? k : k / 2);
			s->name = k % 7 == 3 ? NULL : names[i][k];
			s->start = (uint64_t)k << 8;
		}
}

static int set_up(void **state)
{
	uint8_t *p;

	(void)state;
	make_symbols();
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++)
		if (strtab_adds(&strings, comms[i].name) == STR_NONE)
			return -1;
	for (size_t e = 0; e < N_EVENTS; e++) {
		events[e].name = e == 0 ? "cycles" : e == 1 ? "cache-misses" : "nothing";
		events[e].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					     PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					     PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
		events[e].at = (struct pd_layout){ .identifier = 8,
						   .ip = 16,
						   .tid = 24,
						   .time = 32,
						   .cpu = 40,
						   .period = 48,
						   .fixed_end = 56 };
	}
	facts = calloc(N_SAMPLES, sizeof(*facts));
	bytes = calloc(N_SAMPLES, 300);
	if (!facts || !bytes)
		return -1;
	p = bytes;
	for (size_t i = 0, c = 0; i < N_SAMPLES; i++) {
		if (i == c * N_SAMPLES / N_CHUNKS && c < N_CHUNKS)
			chunks[c++].p = p;
		draw_fact(&facts[i]);
		p = write_fact(p, &facts[i]);
		for (size_t k = 0; k < c; k++)
			chunks[k].end = k + 1 < c ? chunks[k + 1].p : p;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(facts);
	free(bytes);
	strtab_free(&strings);
	return 0;
}

/* ---- counting plainly
 * ---------------------------------------------------------------------------- */

struct count {
	struct strtab names;
	VEC(struct tally) t;
};

static void count_add(struct count *c, const char *name, uint64_t period)
{
	uint32_t id = strtab_adds(&c->names, name);

	assert_int_not_equal(id, STR_NONE);
	while (c->t.n <= id) {
		struct tally zero = { 0, 0, 0 };

		assert_int_equal(vec_push(&c->t, zero), 0);
	}
	c->t.v[id].samples++;
	c->t.v[id].period += period;
	c->t.v[id].period_sq += (double)period * (double)period;
}

static void count_free(struct count *c)
{
	strtab_free(&c->names);
	vec_free(&c->t);
}

/* "dso|symbol" of an address; *state: 0 mapped and named, 1 no symbol, 2 no map. */
static void plain_place(char out[80], const struct fact *f, bool kernel, uint64_t ip, int *how)
{
	const struct map *m =
		space_find(NULL, spaces_process(NULL, f->pid, f->time),
			   kernel ? SPACE_KERNEL : SPACE_USER, ip, f->time, NULL, NULL);
	uint64_t addr = m ? map_to_image(m, ip) : ip;
	const struct symbol *s = m ? symbol_at(m->image, addr) : NULL;
	const char *dso = m ? image_names[m->image] : "[unknown]";

	*how = m ? s ? 0 : 1 : 2;
	if (s)
		(void)snprintf(out, 80, "%s|%s", dso, s->name);
	else
		(void)snprintf(out, 80, "%s|0x%016llx", dso, (unsigned long long)addr);
}

static void plain_comm(char out[24], const struct fact *f)
{
	const char *name = comm_at(f->tid, f->time);

	if (name)
		(void)snprintf(out, 24, "%s", name);
	else
		(void)snprintf(out, 24, ":%d", (int)f->tid);
}

static struct profile *build(struct profile_opts *o)
{
	struct err err = ERR_INIT;
	struct profile *p = NULL;

	if (profile_build(&p, NULL, NULL, o, &err))
		fail_msg("%s", err.what);
	return p;
}

static void same_tally(const struct tally *got, const struct tally *want, const char *what)
{
	if (got->samples != want->samples || got->period != want->period)
		fail_msg("%s: got %llu/%llu, want %llu/%llu", what,
			 (unsigned long long)got->samples, (unsigned long long)got->period,
			 (unsigned long long)want->samples, (unsigned long long)want->period);
	if (want->period_sq > 0)
		assert_true(got->period_sq / want->period_sq > 1 - 1e-12 &&
			    got->period_sq / want->period_sq < 1 + 1e-12);
}

/* ---- the tests
 * ----------------------------------------------------------------------------------- */

static void rows_match(unsigned threads)
{
	struct profile_opts o = { .key = { KEY_COMM, KEY_DSO, KEY_SYM },
				  .n_keys = 3,
				  .threads = threads };
	struct profile *p = build(&o);
	struct count want = { STRTAB_INIT, VEC_INIT };
	struct tally no[3] = { { 0, 0, 0 } }, all = { 0, 0, 0 };
	const struct profile_sum *sums;
	const struct profile_row *rows;
	size_t n, seen = 0;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		char place[80], comm[24], name[128];
		int how;

		plain_place(place, &facts[i], facts[i].kernel, facts[i].ip, &how);
		plain_comm(comm, &facts[i]);
		(void)snprintf(name, sizeof(name), "%u|%s|%s", facts[i].event, comm, place);
		count_add(&want, name, facts[i].period);
		no[how].samples++;
		no[how].period += facts[i].period;
	}
	rows = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t e = 0; e < N_EVENTS; e++) {
			const struct strtab *s = profile_strings(p);
			char name[128];
			uint32_t id;

			if (!rows[i].tally[e].samples)
				continue;
			(void)snprintf(name, sizeof(name), "%u|%s|%s|%s", e,
				       strtab_get(s, (uint32_t)rows[i].key[0]),
				       strtab_get(s, (uint32_t)rows[i].key[1]),
				       strtab_get(s, (uint32_t)rows[i].key[2]));
			id = strtab_find(&want.names, name);
			if (id == STR_NONE)
				fail_msg("%s should not be", name);
			same_tally(&rows[i].tally[e], &want.t.v[id], name);
			seen++;
		}
	assert_int_equal(seen, want.names.n - 1);
	sums = profile_sums(p, &n);
	assert_int_equal(n, N_EVENTS);
	for (size_t e = 0; e < n; e++) {
		all.samples += sums[e].selected.samples;
		no[1].samples -= sums[e].no_symbol.samples;
		no[2].period -= sums[e].no_map.period;
		assert_int_equal(sums[e].left_out.samples, 0);
		assert_int_equal(sums[e].bad, 0);
	}
	assert_int_equal(all.samples, N_SAMPLES);
	assert_int_equal(no[1].samples, 0);
	assert_int_equal(no[2].period, 0);
	count_free(&want);
	profile_free(p);
}

static void rows_one_worker(void **state)
{
	(void)state;
	rows_match(1);
}

static void rows_many_workers(void **state)
{
	(void)state;
	rows_match(5);
}

static void numbers_as_keys(void **state)
{
	struct profile_opts o = { .key = { KEY_TID, KEY_CPU, KEY_ADDR, KEY_EVENT, KEY_PID },
				  .n_keys = 5,
				  .threads = 3 };
	struct profile *p = build(&o);
	uint64_t samples = 0, want = 0, got = 0;
	const struct profile_row *rows;
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++)
		want += facts[i].period * (facts[i].cpu + 1) * facts[i].tid;
	rows = profile_rows(p, &n);
	for (size_t i = 0; i < n; i++) {
		samples += rows[i].tally[0].samples;
		got += rows[i].all.period * (rows[i].key[1] + 1) * rows[i].key[0];
	}
	assert_int_equal(samples, N_SAMPLES);
	assert_int_equal(got, want);
	profile_free(p);
}

static void selection(void **state)
{
	static const uint32_t pids[] = { 7, 55 };
	struct profile_opts o = { .key = { KEY_SYM },
				  .n_keys = 1,
				  .event = "cyc*",
				  .pids = pids,
				  .n_pids = 2,
				  .time_from = 500,
				  .time_to = 6000,
				  .comm = "make" };
	struct profile *p = build(&o);
	const struct profile_sum *s;
	uint64_t in[2] = { 0, 0 }, out[2] = { 0, 0 };
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct fact *f = &facts[i];
		const char *comm = comm_at(f->tid, f->time);
		bool is = f->event == 0 && (f->pid == 7 || f->pid == 55) && f->time >= 500 &&
			  f->time < 6000 && comm && !strcmp(comm, "make");

		*(is ? &in[f->event] : &out[f->event]) += f->period;
	}
	s = profile_sums(p, &n);
	for (size_t e = 0; e < 2; e++) {
		assert_int_equal(s[e].selected.period, in[e]);
		assert_int_equal(s[e].left_out.period, out[e]);
	}
	assert_true(in[0] > 0);
	profile_free(p);
}

/* The frames of a sample, outermost first, as "dso|symbol" strings. */
static size_t plain_frames(const struct fact *f, char out[32][80])
{
	bool kernel = f->kernel;
	size_t n = 0;
	char rev[32][80];
	int how;

	for (uint64_t i = 0; i < f->n_chain; i++) {
		uint64_t ip = f->chain[i];

		if (ip == (uint64_t)-3000) {
			n = 0;
			break;
		}
		if (ip == (uint64_t)PERF_CONTEXT_KERNEL || ip == (uint64_t)PERF_CONTEXT_USER)
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
		else
			plain_place(rev[n++], f, kernel, ip, &how);
	}
	if (!n)
		plain_place(rev[n++], f, f->kernel, f->ip, &how);
	for (size_t i = 0; i < n; i++)
		memcpy(out[i], rev[n - 1 - i], 80);
	return n;
}

static void path_of(const struct profile *p, uint32_t node, char *out, size_t size)
{
	const struct profile_chains *c = profile_chains(p);
	uint32_t path[64], n = 0;
	size_t len = 0;

	for (; node; node = c->tree.node[node].parent)
		path[n++] = node;
	out[0] = 0;
	while (n--) {
		const struct profile_frame *f = &c->frame[c->tree.node[path[n]].frame];

		len += (size_t)snprintf(out + len, size - len, "%s|%s;",
					strtab_get(profile_strings(p), f->dso),
					strtab_get(profile_strings(p), f->name));
	}
}

static void chains_match(unsigned threads)
{
	struct profile_opts o = {
		.key = { KEY_SYM }, .n_keys = 1, .chains = true, .threads = threads
	};
	struct profile *p = build(&o);
	const struct profile_chains *c = profile_chains(p);
	struct count want = { STRTAB_INIT, VEC_INIT };
	size_t seen = 0;

	for (size_t i = 0; i < N_SAMPLES; i++) {
		char frame[32][80], path[2600];
		size_t n = plain_frames(&facts[i], frame), len = 0;

		len += (size_t)snprintf(path, sizeof(path), "%u:", facts[i].event);
		for (size_t k = 0; k < n; k++)
			len += (size_t)snprintf(path + len, sizeof(path) - len, "%s;", frame[k]);
		count_add(&want, path, facts[i].period);
	}
	for (uint32_t e = 0; e < N_EVENTS; e++)
		for (uint32_t i = 1; i < c->tree.n; i++) {
			char path[2600];
			uint32_t id;

			if (!c->self[e][i].samples)
				continue;
			(void)snprintf(path, sizeof(path), "%u:", e);
			path_of(p, i, path + 2, sizeof(path) - 2);
			id = strtab_find(&want.names, path);
			if (id == STR_NONE)
				fail_msg("%s should not be", path);
			same_tally(&c->self[e][i], &want.t.v[id], path);
			seen++;
		}
	assert_int_equal(seen, want.names.n - 1);
	count_free(&want);
	profile_free(p);
}

static void chains_one_worker(void **state)
{
	(void)state;
	chains_match(1);
}

static void chains_many_workers(void **state)
{
	(void)state;
	chains_match(4);
}

/* Each function once per sample, however often it stands in the chain. */
static void functions_count_recursion_once(void **state)
{
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1, .chains = true };
	struct profile *p = build(&o);
	const struct profile_chains *c = profile_chains(p);
	struct count total = { STRTAB_INIT, VEC_INIT }, self = { STRTAB_INIT, VEC_INIT };
	struct profile_function *f;
	struct err err = ERR_INIT;
	size_t n, repeats = 0;

	(void)state;
	for (size_t i = 0; i < N_SAMPLES; i++) {
		char frame[32][80];
		size_t frames = plain_frames(&facts[i], frame);

		if (facts[i].event != 1)
			continue;
		count_add(&self, frame[frames - 1], facts[i].period);
		for (size_t k = 0; k < frames; k++) {
			bool before = false;

			for (size_t j = 0; j < k; j++)
				before = before || !strcmp(frame[j], frame[k]);
			repeats += before;
			if (!before)
				count_add(&total, frame[k], facts[i].period);
		}
	}
	assert_true(repeats > 1000);
	assert_int_equal(profile_functions(p, 1, &f, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		const struct profile_frame *fr = &c->frame[f[i].frame];
		struct tally none = { 0, 0, 0 };
		char name[80];
		uint32_t id;

		(void)snprintf(name, sizeof(name), "%s|%s", strtab_get(profile_strings(p), fr->dso),
			       strtab_get(profile_strings(p), fr->name));
		id = strtab_find(&total.names, name);
		same_tally(&f[i].total, id == STR_NONE ? &none : &total.t.v[id], name);
		id = strtab_find(&self.names, name);
		same_tally(&f[i].self, id == STR_NONE ? &none : &self.t.v[id], name);
	}
	free(f);
	count_free(&total);
	count_free(&self);
	profile_free(p);
}

/* Totals of a node are its own and its children's; lines and inlined frames keep the sum. */
static void tree_adds_up(void **state)
{
	struct profile_opts o = { .key = { KEY_SRCLINE, KEY_INLINE },
				  .n_keys = 2,
				  .chains = true,
				  .chain_lines = true,
				  .chain_inline = true,
				  .threads = 3 };
	struct profile *p = build(&o);
	const struct profile_chains *c = profile_chains(p);
	const struct profile_sum *s;
	bool inlined = false, line = false;
	size_t n;

	(void)state;
	s = profile_sums(p, &n);
	for (size_t e = 0; e < n; e++) {
		assert_int_equal(c->total[e][0].period, s[e].selected.period);
		for (uint32_t i = 0; i < c->tree.n; i++) {
			uint64_t sum = c->self[e][i].period;

			for (uint32_t k = c->tree.node[i].child; k; k = c->tree.node[k].sibling)
				sum += c->total[e][k].period;
			assert_int_equal(sum, c->total[e][i].period);
		}
	}
	for (size_t i = 0; i < c->n_frames; i++) {
		inlined |= c->frame[i].inlined;
		line |= c->frame[i].srcline > 0;
	}
	assert_true(inlined);
	assert_true(line);
	profile_free(p);
}

static void max_stack_keeps_the_innermost(void **state)
{
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1, .chains = true, .max_stack = 2 };
	struct profile *p = build(&o);
	const struct profile_chains *c = profile_chains(p);

	(void)state;
	for (uint32_t i = 1; i < c->tree.n; i++) {
		uint32_t up = c->tree.node[i].parent;

		assert_true(!up || !c->tree.node[up].parent);
	}
	profile_free(p);
}

/* Records cut short are told as bad and counted nowhere else. */
static void short_records_are_bad(void **state)
{
	static uint8_t cut[32 + 16];
	struct profile_opts o = { .key = { KEY_SYM }, .n_keys = 1 };
	struct pd_chunk keep = chunks[0];
	const struct profile_sum *s;
	struct profile *p;
	uint64_t all = 0;
	size_t n;

	(void)state;
	st64(cut, PERF_RECORD_SAMPLE | 32ULL << 48);
	st64(cut + 8, 1);
	st64(cut + 32, PERF_RECORD_SAMPLE | 16ULL << 48);
	st64(cut + 40, 99);
	chunks[0].p = cut;
	chunks[0].end = cut + sizeof(cut);
	p = build(&o);
	chunks[0] = keep;
	s = profile_sums(p, &n);
	assert_int_equal(s[1].bad, 1);
	assert_int_equal(s[0].bad, 1);
	for (size_t e = 0; e < n; e++)
		all += s[e].selected.samples;
	assert_int_equal(all, N_SAMPLES - N_SAMPLES / N_CHUNKS);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_one_worker),
		cmocka_unit_test(rows_many_workers),
		cmocka_unit_test(numbers_as_keys),
		cmocka_unit_test(selection),
		cmocka_unit_test(chains_one_worker),
		cmocka_unit_test(chains_many_workers),
		cmocka_unit_test(functions_count_recursion_once),
		cmocka_unit_test(tree_adds_up),
		cmocka_unit_test(max_stack_keeps_the_innermost),
		cmocka_unit_test(short_records_are_bad),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
