/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of profile have in place of a recording, address spaces, images and an
 * unwinder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "made.h"
#include "symbol/source.h"
#include "symbol/unwind.h"

struct process {
	uint32_t pid, index;
	uint64_t from, until;
};

/* pid 7 is used twice; what 9 had mapped is gone early; 10 is unknown. */
static const struct process procs[] = {
	{ 7, 0, 0, 5000 },
	{ 7, 1, 5000, UINT64_MAX },
	{ 8, 2, 0, UINT64_MAX },
	{ 9, 3, 0, UINT64_MAX },
};

static const struct fake_map {
	int proc; /* -1: kernel */
	uint64_t from, until;
	struct map m;
} maps[] = {
	{ 0, 0, 5000, { 0x1000, 0x5000, 0x200, 0, 0, 5, SPACE_USER, false, false } },
	{ 1, 5000, 8000, { 0x1000, 0x5000, 0, 0, 1, 5, SPACE_USER, false, false } },
	{ 1, 8000, UINT64_MAX, { 0x1000, 0x3000, 0, 0, 2, 5, SPACE_USER, false, false } },
	{ 2, 2500, 2600, { 0x1000, 0x9000, 0, 0, 1, 5, SPACE_USER, false, false } },
	{ 2, 2600, UINT64_MAX, { 0x2000, 0x9000, 0, 0, 0, 5, SPACE_USER, false, false } },
	{ 3, 0, 3000, { 0x1000, 0x2000, 0x1000, 0, 0, 5, SPACE_USER, false, false } },
	{ -1, 0, UINT64_MAX, { 0xffff0000, 0xffff8000, 0, 0, 3, 5, SPACE_KERNEL, true, false } },
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

const char *const made_image_names[] = { "prog", "libx.so", "liby.so", "[kernel.kallsyms]" };

struct strtab made_strings;
struct pd_event made_events[N_EVENTS];
struct pd_chunk made_chunks[N_CHUNKS];

const struct pd_info *pd_info(const struct pd *rec)
{
	static const struct pd_info none = { .n_cpu_place = 0 };

	(void)rec;
	return &none;
}

const char *pd_pmu_name(const struct pd_info *info, uint32_t type)
{
	(void)info, (void)type;
	return NULL;
}

const struct pd_losses *pd_losses(const struct pd *rec)
{
	static const struct pd_losses none = { .throttles = 0 };

	(void)rec;
	return &none;
}

const struct pd_event *pd_events(const struct pd *rec, size_t *n)
{
	(void)rec;
	*n = N_EVENTS;
	return made_events;
}

const struct pd_chunk *pd_chunks(const struct pd *rec, size_t *n)
{
	(void)rec;
	*n = N_CHUNKS;
	return made_chunks;
}

const struct pd_type_count *pd_type_counts(const struct pd *rec, size_t *n)
{
	static struct pd_type_count samples = { .type = PERF_RECORD_SAMPLE };

	(void)rec;
	samples.count = 0;
	for (size_t i = 0; i < N_CHUNKS; i++)
		for (struct pd_record r = { .p = NULL }; pd_next(&made_chunks[i], &r);)
			samples.count += r.type == PERF_RECORD_SAMPLE;
	*n = 1;
	return &samples;
}

bool pd_has_time(const struct pd *rec)
{
	(void)rec;
	return true;
}

struct pd_drop *pd_drop_new(const struct pd *rec)
{
	(void)rec;
	return NULL;
}

void pd_drop_do(struct pd_drop *d)
{
	(void)d;
}

void pd_drop_free(struct pd_drop *d)
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

uint64_t pd_sample_cgroup(const struct pd_event *ev, const struct pd_record *r)
{
	(void)ev;
	(void)r;
	return 0;
}

struct pd_branch pd_branch_get(const struct pd_sample *s, uint64_t i)
{
	struct pd_branch b = { 0 };

	(void)s;
	(void)i;
	return b;
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

const char *made_comm_at(uint32_t tid, uint64_t time)
{
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++)
		if (comms[i].tid == tid && time >= comms[i].from && time < comms[i].until)
			return comms[i].name;
	return NULL;
}

uint32_t spaces_comm_at(const struct spaces *sp, uint32_t pid, uint32_t tid, uint64_t time,
			uint64_t *from, uint64_t *until)
{
	const char *name = made_comm_at(tid, time);

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
	return name ? strtab_find(&made_strings, name) : STR_NONE;
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
	return &made_strings;
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
	return made_image_names[id];
}

/* A function every 0x100 bytes; every seventh has no symbol, every fifth is called like another. */
static struct symbol symbols[4][0x100];

const struct symbol *made_symbol_at(uint32_t image, uint64_t addr)
{
	const struct symbol *s = &symbols[image][addr >> 8 & 0xff];

	return s->name ? s : NULL;
}

void image_resolve(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
		   const struct symbol **out)
{
	(void)set;
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || addr[i - 1] <= addr[i]);
		out[i] = made_symbol_at(id, addr[i]);
	}
}

void image_resolve_late(struct images *set, uint32_t id, const uint64_t *addr, size_t n,
			const struct symbol **out)
{
	image_resolve(set, id, addr, n, out);
}

void image_settle(struct images *set, uint32_t id, const struct symbol *s)
{
	(void)set, (void)id, (void)s;
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
	struct source_line l = { .file = "x.c", .line = (uint32_t)(vaddr >> 4) };

	(void)s;
	return l;
}

size_t source_inlines(const struct source *s, uint64_t vaddr, struct source_inline *out, size_t max)
{
	(void)s;
	if (!(vaddr & 0x40) || !max)
		return 0;
	out[0] = (struct source_inline){ .name = "inlined",
					 .at = { .file = "x.c", .line = 5 },
					 .linkage = "inlined" };
	return 1;
}

size_t source_inline_names(const struct source *s, uint64_t vaddr, struct source_inline *out,
			   size_t max)
{
	return source_inlines(s, vaddr, out, max);
}

const char *source_inline_name(const struct source *s, const struct source_inline *i)
{
	(void)s;
	return i->name;
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

uint64_t unwind_leaf(struct unwinder *u, const struct unwind_in *in, uint64_t pc)
{
	(void)u;
	(void)in;
	(void)pc;
	return 0;
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

int made_names(void)
{
	make_symbols();
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++)
		if (strtab_adds(&made_strings, comms[i].name) == STR_NONE)
			return -1;
	return 0;
}
