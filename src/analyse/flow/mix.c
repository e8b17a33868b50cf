/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that ran and their sums. Places (lines, pages, cache lines) are sums by a key; which
 * of them hold most is found when all are known.
 */
#include "analyse/mix.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "symbol/source.h"

/* Only needed while a mix is made. */
struct making {
	struct mix *m;
	struct images *images;
	struct err *err;
	struct strtab words, files;
	struct u64map word_at, width_at, line_at, page_at, cache_at; /* -> index + 1 */
	struct u64map
		file_at; /* units of one program have a copy each of a header's name: -> id + 1 */
	VEC(double) cache;
	struct mix_class class[INSN_CLASSES];
	/* the function at hand */
	const struct block_function *f;
	const struct source *source;
	uint32_t block;
};

double mix_runs(const struct mix_sum *s)
{
	double sum = 0;

	for (int g = 0; g < FLOW_GROUPS; g++)
		sum += s->group[g];
	return sum;
}

static void add(struct mix_sum *s, const struct block *b)
{
	s->insns++;
	for (int g = 0; g < FLOW_SLOTS; g++)
		s->group[g] += b->group[g];
}

/* ---- sums by a key --------------------------------------------------------------------------- */

static int add_width(struct making *x, const struct mix_insn *i, const struct block *b)
{
	uint64_t *at = u64map_at(&x->width_at, (uint64_t)i->class << 16 | i->width, NULL);
	struct mix_class *c;

	if (!at)
		return -1;
	if (!*at) {
		if (vec_push(&x->m->width,
			     ((struct mix_class){ .class = i->class, .width = i->width })))
			return -1;
		*at = x->m->width.n;
	}
	c = &x->m->width.v[*at - 1];
	add(&c->all, b);
	if (i->memory & INSN_READS)
		add(&c->reads, b);
	if (i->memory & INSN_WRITES)
		add(&c->writes, b);
	return 0;
}

/* "lock cmpxchg" is one. */
static size_t mnemonic_of(const char *text)
{
	static const char *const prefixes[] = { "lock ",  "rep ", "repe ",    "repne ", "repz ",
						"repnz ", "bnd ", "notrack ", "data16 " };
	size_t at = 0;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(text + at, prefixes[i], strlen(prefixes[i]))) {
			at += strlen(prefixes[i]);
			i = (size_t)-1;
		}
	return at + strcspn(text + at, " ");
}

static int add_word(struct making *x, struct mix_insn *i, const struct block *b)
{
	uint32_t id = strtab_add(&x->words, i->text, mnemonic_of(i->text));
	uint64_t *at =
		id == STR_NONE ? NULL : u64map_at(&x->word_at, (uint64_t)id << 8 | i->class, NULL);

	if (!at)
		return -1;
	if (!*at) {
		struct mix_word w = { .class = i->class };

		w.mnemonic = arena_strdup(&x->m->a, strtab_get(&x->words, id));
		if (!w.mnemonic || vec_push(&x->m->word, w))
			return -1;
		*at = x->m->word.n;
	}
	i->mnemonic = x->m->word.v[*at - 1].mnemonic;
	add(&x->m->word.v[*at - 1].all, b);
	return 0;
}

static int add_place(struct mix_places *v, struct u64map *map, uint64_t key, struct mix_place p,
		     const struct block *b)
{
	uint64_t *at = u64map_at(map, key, NULL);

	if (!at)
		return -1;
	if (!*at) {
		if (vec_push(v, p))
			return -1;
		*at = v->n;
	}
	add(&v->v[*at - 1].all, b);
	return 0;
}

/* Returns the number of a file by its name. STR_NONE: out of memory. */
static uint32_t file_id(struct making *x, const char *file)
{
	uint64_t *at = u64map_at(&x->file_at, (uintptr_t)file, NULL);
	uint32_t id;

	if (!at)
		return STR_NONE;
	if (*at)
		return (uint32_t)*at - 1;
	id = strtab_adds(&x->files, file);
	*at = id == STR_NONE ? 0 : (uint64_t)id + 1;
	return id;
}

static int add_places(struct making *x, struct mix_insn *i, const struct block *b)
{
	uint64_t line = i->vaddr / MIX_CACHE_LINE, *at;
	struct mix_place p = { .image = i->f->image, .vaddr = i->vaddr / MIX_PAGE * MIX_PAGE };
	struct source_line s = { .file = NULL };
	uint32_t id;

	if (add_place(&x->m->page, &x->page_at, hash_pair(p.vaddr, p.image), p, b))
		return -1;
	at = u64map_at(&x->cache_at, hash_pair(line, p.image), NULL);
	if (!at || (!*at && vec_push(&x->cache, 0)))
		return -1;
	*at = *at ? *at : x->cache.n;
	x->cache.v[*at - 1] += b->runs.v;
	if (x->source)
		s = source_line(x->source, i->vaddr);
	if (!s.file || !s.line)
		return 0;
	id = file_id(x, s.file);
	if (id == STR_NONE)
		return -1;
	i->file = s.file;
	i->line = s.line;
	p = (struct mix_place){ .image = p.image, .file = s.file, .line = s.line };
	return add_place(&x->m->line, &x->line_at, hash_pair(id, (uint64_t)p.image << 32 | s.line),
			 p, b);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void add_sums(struct making *x, const struct mix_insn *i, const struct block *b)
{
	struct mix_class *c = &x->class[i->class];

	add(&x->m->all, b);
	add(&c->all, b);
	if (i->memory & INSN_READS) {
		add(&x->m->reads, b);
		add(&c->reads, b);
	}
	if (i->memory & INSN_WRITES) {
		add(&x->m->writes, b);
		add(&c->writes, b);
	}
}

static int take(void *ctx, const struct insn *in)
{
	struct making *x = ctx;
	const struct code *code = x->f->code;
	uint64_t at = in->vaddr - code->vaddr;
	struct mix_insn i = { .f = x->f,
			      .vaddr = in->vaddr,
			      .width = in->width,
			      .access = in->access,
			      .class = in->class,
			      .memory = in->memory };

	while (x->block + 1 < code->n_blocks && at >= code->block[x->block].end)
		x->block++;
	if (!x->f->block[x->block].hits || at >= code->block[x->block].end)
		return 0;
	i.block = x->block;
	i.text = arena_strdup(&x->m->a, in->text);
	if (in->mem_len)
		i.operand = arena_strndup(&x->m->a, in->text + in->mem_at, in->mem_len);
	if (!i.text || (in->mem_len && !i.operand))
		return err_nomem(x->err);
	add_sums(x, &i, &x->f->block[x->block]);
	if (add_width(x, &i, &x->f->block[x->block]) || add_word(x, &i, &x->f->block[x->block]) ||
	    add_places(x, &i, &x->f->block[x->block]) || vec_push(&x->m->insn, i))
		return err_nomem(x->err);
	return 0;
}

static int take_function(struct making *x, const struct block_function *f)
{
	if (!f->code)
		return 0;
	x->f = f;
	x->block = 0;
	x->source = source_of(x->images, f->image, NULL);
	return disasm_range(x->images, f->image, f->code->vaddr, f->code->len, take, x, x->err);
}

/* ---- places with most executions
 * ------------------------------------------------------------------------- */

static int downwards(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* `v` is sorted. */
static void hold(struct mix_held *h, enum mix_unit unit, double *v, size_t n, double all)
{
	static const double parts[MIX_PARTS] = { 0.5, 0.9, 0.99 };
	double sum = 0, known = 0;
	int part = 0;

	if (n > 1)
		qsort(v, n, sizeof(*v), downwards);
	*h = (struct mix_held){ .unit = unit };
	for (; h->n < n && v[h->n] > 0; h->n++)
		known += v[h->n];
	h->known = all > 0 ? known / all : NAN;
	for (size_t i = 0; i < h->n; i++) {
		sum += v[i];
		/* sums of doubles in different orders */
		for (; part < MIX_PARTS && sum >= known * parts[part] * (1 - 1e-12); part++)
			h->held[part] = i + 1;
	}
}

static int hold_blocks(struct making *x, const struct blocks *b, double all)
{
	VEC(double) functions = VEC_INIT, blocks = VEC_INIT;
	int failed = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct block_function *f = &b->f[i];
		double sum = 0;

		for (size_t k = 0; f->code && k < f->code->n_blocks; k++) {
			double runs =
				f->block[k].hits ? f->block[k].runs.v * f->code->block[k].n : 0;

			failed |= vec_push(&blocks, runs);
			sum += runs;
		}
		failed |= vec_push(&functions, sum);
	}
	if (!failed) {
		hold(&x->m->held[MIX_FUNCTIONS], MIX_FUNCTIONS, functions.v, functions.n, all);
		hold(&x->m->held[MIX_BLOCKS], MIX_BLOCKS, blocks.v, blocks.n, all);
	}
	vec_free(&functions);
	vec_free(&blocks);
	return failed;
}

static int by_runs(const void *a, const void *b)
{
	const struct mix_place *x = a, *y = b;

	if (x->runs != y->runs)
		return x->runs > y->runs ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int hold_places(struct making *x, enum mix_unit unit, struct mix_places *p, double all)
{
	VEC(double) v = VEC_INIT;
	int failed = 0;
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		p->v[i].runs = mix_runs(&p->v[i].all);
		failed |= vec_push(&v, p->v[i].runs);
	}
	if (!failed)
		hold(&x->m->held[unit], unit, v.v, v.n, all);
	vec_free(&v);
	vec_sort(p, by_runs);
	for (size_t i = 0; i < p->n; i++) {
		sum += p->v[i].runs;
		p->v[i].until = sum / all;
	}
	return failed;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int classes_first(const void *a, const void *b)
{
	const struct mix_class *p = a, *q = b;
	double x = mix_runs(&p->all), y = mix_runs(&q->all);

	if (x != y)
		return x > y ? -1 : 1;
	return p->class != q->class ? (int)p->class - (int)q->class : p->width - q->width;
}

static int words_first(const void *a, const void *b)
{
	const struct mix_word *p = a, *q = b;
	double x = mix_runs(&p->all), y = mix_runs(&q->all);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(p->mnemonic, q->mnemonic);
}

static int finish(struct making *x, const struct blocks *b)
{
	double all = mix_runs(&x->m->all);

	for (int c = 0; c < INSN_CLASSES; c++) {
		x->class[c].class = (enum insn_class)c;
		if (x->class[c].all.insns && vec_push(&x->m->class, x->class[c]))
			return -1;
	}
	assert(x->m->all.insns == x->m->insn.n);
	vec_sort(&x->m->class, classes_first);
	vec_sort(&x->m->width, classes_first);
	vec_sort(&x->m->word, words_first);
	if (hold_blocks(x, b, all) || hold_places(x, MIX_LINES, &x->m->line, all) ||
	    hold_places(x, MIX_PAGES, &x->m->page, all))
		return -1;
	hold(&x->m->held[MIX_CACHE_LINES], MIX_CACHE_LINES, x->cache.v, x->cache.n, all);
	return 0;
}

int mix_build(struct mix **out, const struct blocks *b, struct images *images, struct err *err)
{
	struct making x = {
		.m = calloc(1, sizeof(*x.m)), .images = images, .err = err, .words = STRTAB_INIT
	};
	int ret = x.m ? 0 : err_nomem(err);

	for (size_t i = 0; !ret && i < b->n; i++)
		ret = take_function(&x, &b->f[i]);
	if (!ret && finish(&x, b))
		ret = err_nomem(err);
	strtab_free(&x.words);
	strtab_free(&x.files);
	u64map_free(&x.file_at);
	u64map_free(&x.word_at);
	u64map_free(&x.width_at);
	u64map_free(&x.line_at);
	u64map_free(&x.page_at);
	u64map_free(&x.cache_at);
	vec_free(&x.cache);
	*out = ret ? NULL : x.m;
	if (ret)
		mix_free(x.m);
	return ret;
}

void mix_free(struct mix *m)
{
	if (!m)
		return;
	vec_free(&m->insn);
	vec_free(&m->class);
	vec_free(&m->width);
	vec_free(&m->word);
	vec_free(&m->line);
	vec_free(&m->page);
	arena_free(&m->a);
	free(m);
}
