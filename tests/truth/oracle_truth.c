/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact counts, by run-time addresses while the program runs, by those of its files in the end. */
#include <inttypes.h>
#include <stdlib.h>

#include "oracle.h"

static size_t slot_of(const struct pairs *p, uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu);
	size_t i = (size_t)(h ^ h >> 32) & (p->size - 1);

	while (p->slot[i] && (p->slot[i]->a != a || p->slot[i]->b != b))
		i = (i + 1) & (p->size - 1);
	return i;
}

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

struct pair *pairs_get(struct pairs *p, uint64_t a, uint64_t b)
{
	size_t i;

	if (p->n * 2 >= p->size) {
		struct pairs more = { .size = p->size ? p->size * 2 : 1024, .n = p->n };

		more.slot = need(calloc(more.size, sizeof(*more.slot)));
		for (i = 0; i < p->size; i++)
			if (p->slot[i])
				more.slot[slot_of(&more, p->slot[i]->a, p->slot[i]->b)] =
					p->slot[i];
		free(p->slot);
		*p = more;
	}
	i = slot_of(p, a, b);
	if (!p->slot[i]) {
		p->slot[i] = need(calloc(1, sizeof(struct pair)));
		p->slot[i]->a = a;
		p->slot[i]->b = b;
		p->n++;
	}
	return p->slot[i];
}

struct insn {
	uint64_t addr, runs;
	uint32_t len;
};

static int by_addr(const void *x, const void *y)
{
	const struct insn *a = x, *b = y;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* An address as a file has it: the number of the file and the address there; "-": in none. */
static void put_addr(FILE *f, uint64_t addr)
{
	const struct map *m = map_known(addr);

	if (m)
		fprintf(f, " %u %#" PRIx64, m->image, addr - m->start + m->vaddr);
	else
		fprintf(f, " - %#" PRIx64, addr);
}

/* Instructions of all TBs, which overlap: one that is a branch's target begins another. */
static void put_insns(FILE *f, const struct truth *t)
{
	struct insn *v;
	size_t n = 0, i = 0;

	for (const struct block *b = t->blocks; b; b = b->older)
		n += b->runs ? b->n : 0;
	v = need(calloc(n + 1, sizeof(*v)));
	for (const struct block *b = t->blocks; b; b = b->older)
		for (uint32_t k = 0; b->runs && k < b->n; k++) {
			uint64_t end = k + 1 < b->n ? b->start + b->at[k + 1] : b->behind;

			v[i].addr = b->start + b->at[k];
			v[i].len = (uint32_t)(end - v[i].addr);
			v[i++].runs = b->runs;
		}
	qsort(v, n, sizeof(*v), by_addr);
	for (i = 0; i < n; i++) {
		if (v[i].addr == v[i + 1].addr && i + 1 < n) {
			v[i + 1].runs += v[i].runs;
			continue;
		}
		fputs("insn", f);
		put_addr(f, v[i].addr);
		fprintf(f, " %u %" PRIu64 "\n", v[i].len, v[i].runs);
	}
	free(v);
}

static const char *const kinds[] = {
	[KIND_NONE] = "none",	  [KIND_COND] = "cond",
	[KIND_JUMP] = "jump",	  [KIND_JUMP_INDIRECT] = "jump-indirect",
	[KIND_CALL] = "call",	  [KIND_CALL_INDIRECT] = "call-indirect",
	[KIND_RETURN] = "return", [KIND_SYSCALL] = "syscall",
	[KIND_REPEAT] = "repeat", [KIND_FALL] = "fall",
};

static void put_pairs(FILE *f, const struct pairs *p, const char *what)
{
	for (size_t i = 0; i < p->size; i++) {
		const struct pair *e = p->slot[i];

		if (!e)
			continue;
		fprintf(f, "%s %s", what, kinds[e->kind]);
		put_addr(f, e->a);
		put_addr(f, e->b);
		fprintf(f, " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", e->n, e->mispredicted,
			e->cycles);
	}
}

static void put_times(FILE *f, const struct pairs *p)
{
	for (size_t i = 0; i < p->size; i++) {
		const struct pair *e = p->slot[i];

		if (!e)
			continue;
		fputs("time none", f);
		put_addr(f, e->a);
		put_addr(f, e->b & ((UINT64_C(1) << TIME_SHIFT) - 1));
		fprintf(f, " %" PRIu64 " 0 %" PRIu64 "\n", e->n, e->b >> TIME_SHIFT);
	}
}

int truth_write(const struct truth *t, const char *path)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f)
		return -1;
	fprintf(f,
		"truth 1\ntotal insns %" PRIu64 "\ntotal taken %" PRIu64 "\ntotal calls %" PRIu64
		"\ntotal returns %" PRIu64 "\ntotal mispredicted %" PRIu64 "\ntotal cycles %" PRIu64
		"\ntotal odd %" PRIu64 "\ntotal samples %" PRIu64 "\n",
		t->insns, t->taken, t->calls_n, t->returns, t->mispredicted, t->quarters / 4,
		t->odd, t->samples);
	for (unsigned i = 0; map_image(i); i++)
		fprintf(f, "image %u %s\n", i, map_image(i));
	put_insns(f, t);
	put_pairs(f, &t->edges, "edge");
	put_pairs(f, &t->spans, "span");
	put_pairs(f, &t->calls, "call");
	put_times(f, &t->times);
	bad = ferror(f);
	return fclose(f) || bad ? -1 : 0;
}
