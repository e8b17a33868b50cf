/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of call chains: who calls a function, allocations, the kernel.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/error_bar.h"
#include "analyse/findings/findings_int.h"
#include "base/xalloc.h"

#define ALLOCATIONS 0.1
#define KERNEL	    0.3
#define SHORT_NS    50000000 /* starting a program takes most of it */

struct chain_facts { /* by node of the cube */
	uint64_t *period;
	uint32_t *own;	     /* the frame of the innermost function of the program; CUBE_NONE */
	uint32_t *allocates; /* the frame of who called the allocator; see own */
	bool *in_allocator;
	const char **entry; /* of the kernel, in words; NULL: none */
	unsigned *code;	    /* by frame */
};

/* Nodes of inlined calls have none: their functions have. */
static void sum_cells(uint64_t *period, const struct cube *c)
{
	for (size_t i = 0; i < c->n_cells; i++)
		period[cube_owner(c, c->cell[i].node)] += c->cell[i].period;
}

/* A function of the program that may call the other one: not itself (recursion), no library that
 * stands between, and not the code that starts programs and threads, which is all that is left of
 * chains that lost their callers. */
static bool is_caller(const struct cube *c, uint32_t frame, uint32_t of)
{
	const struct cube_frame *f = frame == CUBE_NONE ? NULL : &c->frame[frame];

	return f && !f->inlined && frame != of && strcmp(f->function, "_start") != 0 &&
	       !(finding_code(f->function, f->dso) &
		 (CODE_KERNEL | CODE_SYSTEM | CODE_ALLOCATOR | CODE_UNKNOWN));
}

struct finding_place finding_caller(const struct finding_work *w, const struct finding_place *of)
{
	const struct cube *c = w->in->cube;
	struct finding_place best = { NULL, NULL, NAN };
	uint64_t *period, *by, all = 0, most = 0;

	if (!c || !c->n_nodes)
		return best;
	period = xcalloc(c->n_nodes, sizeof(*period));
	by = xcalloc(c->n_frames + 1, sizeof(*by));
	sum_cells(period, c);
	for (size_t i = 0; i < c->n_nodes; i++) {
		uint32_t frame = c->node[i].frame, up = c->node[i].parent;

		if (!period[i] || frame == CUBE_NONE ||
		    strcmp(c->frame[frame].function, of->function) != 0 ||
		    strcmp(c->frame[frame].dso, of->dso) != 0)
			continue;
		all += period[i];
		while (up != CUBE_NONE && !is_caller(c, c->node[up].frame, frame))
			up = c->node[up].parent;
		if (up != CUBE_NONE)
			by[c->node[up].frame] += period[i];
	}
	for (size_t i = 0; i < c->n_frames; i++)
		if (by[i] > most) {
			most = by[i];
			best = (struct finding_place){ c->frame[i].function, c->frame[i].dso, 0 };
		}
	best.share = all ? (double)most / (double)all : NAN;
	free(period);
	free(by);
	if (best.share > 0.5)
		return best;
	return (struct finding_place){ NULL, NULL, NAN };
}

/* "read" of __x64_sys_read; NULL: no entry of a call. */
static const char *call_of(const char *function)
{
	static const char *const before[] = { "__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					      "__se_sys_",  "__do_sys_",    "ksys_" };

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncmp(function, before[i], strlen(before[i])))
			return function + strlen(before[i]);
	return NULL;
}

const char *finding_kernel_entry(const char *function)
{
	const char *call = call_of(function);

	if (call)
		return call;
	if (strstr(function, "page_fault") || !strcmp(function, "do_mem_abort") ||
	    !strcmp(function, "el0_da"))
		return "page faults";
	return NULL;
}

static void fill_facts(struct chain_facts *f, const struct cube *c)
{
	for (size_t i = 0; i < c->n_frames; i++)
		f->code[i] = finding_code(c->frame[i].function, c->frame[i].dso);
	for (size_t i = 0; i < c->n_nodes; i++) {
		uint32_t up = c->node[i].parent, frame = c->node[i].frame;
		unsigned code = frame == CUBE_NONE ? CODE_UNKNOWN : f->code[frame];
		bool first = up == CUBE_NONE;
		bool inlined = frame != CUBE_NONE && c->frame[frame].inlined;

		f->own[i] = first ? CUBE_NONE : f->own[up];
		f->allocates[i] = first ? CUBE_NONE : f->allocates[up];
		f->in_allocator[i] = first ? false : f->in_allocator[up];
		f->entry[i] = first ? NULL : f->entry[up];
		if (inlined)
			continue;
		if (code & CODE_ALLOCATOR && !f->in_allocator[i]) {
			f->in_allocator[i] = true;
			f->allocates[i] = f->own[i];
		}
		if (code & CODE_KERNEL && !f->entry[i])
			f->entry[i] = finding_kernel_entry(c->frame[frame].function);
		if (!(code & (CODE_KERNEL | CODE_SYSTEM | CODE_ALLOCATOR | CODE_UNKNOWN)))
			f->own[i] = frame;
	}
}

void finding_set_part(struct finding *f, uint64_t period, const struct finding_work *w)
{
	const struct cube *c = w->in->cube;
	/* of the cube, whose sums are the profile's but for their weights */
	double squares = w->all.period ? w->all.period_sq * (double)c->period * (double)c->period /
						 ((double)w->all.period * (double)w->all.period)
				       : 0;
	struct error_bar e = error_bar_share((double)period, (double)c->period, squares);

	f->of = FINDING_OF_EVENT;
	f->share = e.share;
	f->half = e.half;
	f->stake = e.share * finding_kinds[f->kind].gain * w->weight;
}

static struct finding_place place_most(const struct cube *c, const uint64_t *by)
{
	struct finding_place at = { NULL, NULL, NAN };
	uint64_t most = 0;

	for (size_t i = 0; i < c->n_frames; i++)
		if (by[i] > most) {
			most = by[i];
			at = (struct finding_place){ c->frame[i].function, c->frame[i].dso, 0 };
		}
	at.share = most ? (double)most / (double)c->period : NAN;
	return at;
}

static void find_allocations(struct finding_work *w, const struct chain_facts *f)
{
	const struct cube *c = w->in->cube;
	struct finding found = { .kind = FINDING_ALLOCATIONS };
	uint64_t *by = xcalloc(c->n_frames + 1, sizeof(*by)), sum = 0;

	for (size_t i = 0; i < c->n_nodes; i++) {
		if (!f->in_allocator[i])
			continue;
		sum += f->period[i];
		if (f->allocates[i] != CUBE_NONE)
			by[f->allocates[i]] += f->period[i];
	}
	finding_set_part(&found, sum, w);
	found.at = place_most(c, by);
	finding_add(w, &found, ALLOCATIONS);
	free(by);
}

/* Entries are few: they are found one by one. */
struct entry_sum {
	const char *name;
	uint64_t period;
};

static void find_kernel(struct finding_work *w, const struct chain_facts *f)
{
	const struct cube *c = w->in->cube;
	struct finding found = { .kind = FINDING_KERNEL };
	VEC(struct entry_sum) entry = { 0 };
	uint64_t *by = xcalloc(c->n_frames + 1, sizeof(*by)), sum = 0, most = 0;

	for (size_t i = 0; i < c->n_nodes; i++) {
		size_t k = 0;

		if (!f->period[i] || !f->entry[i] || f->in_allocator[i])
			continue;
		sum += f->period[i];
		while (k < entry.n && strcmp(entry.v[k].name, f->entry[i]) != 0)
			k++;
		if (k == entry.n)
			vec_xpush(&entry, ((struct entry_sum){ f->entry[i], 0 }));
		entry.v[k].period += f->period[i];
	}
	for (size_t i = 0; i < entry.n; i++)
		if (entry.v[i].period > most) {
			most = entry.v[i].period;
			found.object = entry.v[i].name;
		}
	for (size_t i = 0; found.object && i < c->n_nodes; i++)
		if (f->entry[i] && !f->in_allocator[i] && f->own[i] != CUBE_NONE &&
		    !strcmp(f->entry[i], found.object))
			by[f->own[i]] += f->period[i];
	finding_set_part(&found, sum, w);
	found.at = place_most(c, by);
	found.caller.share = (double)most / (double)c->period;
	if (w->all.period >= SHORT_NS)
		finding_add(w, &found, KERNEL);
	vec_free(&entry);
	free(by);
}

void findings_chains(struct finding_work *w)
{
	const struct cube *c = w->in->cube;
	struct chain_facts f;

	if (!c || !c->n_nodes || !w->cost || !c->period || !w->all.period)
		return;
	f = (struct chain_facts){
		.period = xcalloc(c->n_nodes, sizeof(*f.period)),
		.own = xcalloc(c->n_nodes, sizeof(*f.own)),
		.allocates = xcalloc(c->n_nodes, sizeof(*f.allocates)),
		.in_allocator = xcalloc(c->n_nodes, sizeof(*f.in_allocator)),
		.entry = xcalloc(c->n_nodes, sizeof(*f.entry)),
		.code = xcalloc(c->n_frames + 1, sizeof(*f.code)),
	};
	sum_cells(f.period, c);
	fill_facts(&f, c);
	find_allocations(w, &f);
	find_kernel(w, &f);
	free(f.period);
	free(f.own);
	free(f.allocates);
	free(f.in_allocator);
	free(f.entry);
	free(f.code);
}
