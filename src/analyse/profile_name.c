/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for sites: once per (image, address), images in parallel; strings afterwards, in the order
 * of the addresses, so that their ids do not depend on which image was ready first.
 */
#include "analyse/profile_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"

#define MAX_INLINES 64u

struct job { /* the sites of one image: a run of profile.order */
	uint32_t image;
	size_t first, n;
	struct arena arena;
};

struct naming {
	struct profile *p;
	struct images *images;
	struct job *job;
	size_t n_jobs;
	bool lines, inlines;
};

struct sort_key {
	uint64_t addr;
	uint32_t image, site;
	uint32_t rest;
};

static int by_place(const void *va, const void *vb)
{
	const struct sort_key *a = va, *b = vb;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->rest > b->rest) - (a->rest < b->rest);
}

static int sort_sites(struct profile *p, struct err *err)
{
	size_t n = p->sites.n;
	struct sort_key *k = malloc((n + 1) * sizeof(*k));

	p->order = arena_alloc(&p->arena, (n + 1) * sizeof(*p->order));
	if (!k || !p->order) {
		free(k);
		return err_nomem(err);
	}
	if (!p->opts.chains) { /* merged in this order */
		for (size_t i = 0; i < n; i++)
			p->order[i] = (uint32_t)i;
		free(k);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &p->sites.v[i];

		k[i] = (struct sort_key){ s->addr, s->image, (uint32_t)i,
					  (uint32_t)s->kind << 1 | s->caller };
	}
	qsort(k, n, sizeof(*k), by_place);
	for (size_t i = 0; i < n; i++)
		p->order[i] = k[i].site;
	free(k);
	return 0;
}

static int bigger_first(const void *va, const void *vb)
{
	const struct job *a = va, *b = vb;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return (a->image > b->image) - (a->image < b->image);
}

/* One job per image; places that lie in none need no work. */
static int make_jobs(struct naming *nm, struct err *err)
{
	const struct profile *p = nm->p;
	size_t n = p->sites.n, i = 0, runs = 0;
	uint32_t last = IMAGE_NONE;

	for (size_t j = 0; j < n; j++) {
		uint32_t image = p->sites.v[p->order[j]].image;

		runs += j == 0 || image != last;
		last = image;
	}
	nm->job = calloc(runs + 1, sizeof(*nm->job));
	if (!nm->job)
		return err_nomem(err);
	while (i < n) {
		uint32_t image = p->sites.v[p->order[i]].image;
		size_t first = i;

		while (i < n && p->sites.v[p->order[i]].image == image)
			i++;
		if (image == IMAGE_NONE)
			continue;
		nm->job[nm->n_jobs].image = image;
		nm->job[nm->n_jobs].first = first;
		nm->job[nm->n_jobs++].n = i - first;
	}
	qsort(nm->job, nm->n_jobs, sizeof(*nm->job), bigger_first);
	return 0;
}

static int inlines_at(struct job *j, const struct source *src, uint64_t vaddr, bool lines,
		      struct place *pl)
{
	struct source_inline buf[MAX_INLINES];
	size_t n = lines ? source_inlines(src, vaddr, buf, MAX_INLINES)
			 : source_inline_names(src, vaddr, buf, MAX_INLINES);

	if (n > MAX_INLINES)
		n = MAX_INLINES;
	if (!n)
		return 0;
	pl->inl = arena_memdup(&j->arena, buf, n * sizeof(*buf));
	pl->n_inl = (uint32_t)n;
	return pl->inl ? 0 : -1;
}

static int job_lines(struct naming *nm, struct job *j, struct err *err)
{
	struct profile *p = nm->p;
	struct err why = ERR_INIT;
	/* no debug information is no error of the profile's */
	const struct source *src = source_of(nm->images, j->image, &why);

	if (!src)
		return why.code == ERR_NOMEM ? err_nomem(err) : 0;
	for (size_t i = 0; i < j->n; i++) {
		uint32_t at = p->order[j->first + i];
		const struct site *s = &p->sites.v[at];
		uint64_t vaddr;

		if (!image_to_vaddr(nm->images, j->image, s->addr - s->caller, &vaddr))
			continue;
		if (nm->lines)
			p->place[at].line = source_line(src, vaddr);
		if (nm->inlines && inlines_at(j, src, vaddr, nm->lines, &p->place[at]))
			return err_nomem(err);
	}
	return 0;
}

static int name_image(void *ctx, unsigned worker, size_t i, struct err *err)
{
	struct naming *nm = ctx;
	struct job *j = &nm->job[i];
	struct profile *p = nm->p;
	uint64_t *addr = malloc(j->n * sizeof(*addr));
	const struct symbol **sym = calloc(j->n, sizeof(*sym));
	int ret = -1;

	(void)worker;
	if (!addr || !sym) {
		(void)err_nomem(err);
		goto out;
	}
	for (size_t k = 0; k < j->n; k++)
		addr[k] = p->sites.v[p->order[j->first + k]].addr;
	if (image_resolve(nm->images, j->image, addr, j->n, sym, err))
		goto out;
	for (size_t k = 0; k < j->n; k++)
		p->place[p->order[j->first + k]].symbol = sym[k];
	ret = nm->lines || nm->inlines ? job_lines(nm, j, err) : 0;
out:
	free(addr);
	free((void *)sym);
	return ret;
}

uint32_t profile_line_string(struct profile *p, const struct source_line *l)
{
	char buf[4200];

	if (!l->file || !l->line)
		return strtab_adds(&p->strings, "??:0");
	(void)snprintf(buf, sizeof(buf), "%s:%" PRIu32, l->file, l->line);
	return strtab_adds(&p->strings, buf);
}

static uint32_t symbol_string(struct profile *p, const struct site *s, const struct symbol *sym)
{
	char hex[24];

	if (sym)
		return strtab_adds(&p->strings, sym->name);
	(void)snprintf(hex, sizeof(hex), "0x%016" PRIx64, s->addr);
	return strtab_adds(&p->strings, hex);
}

static int intern(struct naming *nm, struct err *err)
{
	struct profile *p = nm->p;
	const struct site *last = NULL;
	const struct place *lastp = NULL;

	for (size_t i = 0; i < p->sites.n; i++) {
		const struct site *s = &p->sites.v[p->order[i]];
		struct place *pl = &p->place[p->order[i]];

		if (last && last->image == s->image)
			pl->dso = lastp->dso;
		else
			pl->dso = strtab_adds(&p->strings,
					      s->image == IMAGE_NONE
						      ? "[unknown]"
						      : image_name(nm->images, s->image));
		if (last && pl->symbol && pl->symbol == lastp->symbol)
			pl->name = lastp->name;
		else
			pl->name = symbol_string(p, s, pl->symbol);
		pl->innermost = pl->name;
		if (nm->lines)
			pl->srcline = profile_line_string(p, &pl->line);
		if (pl->n_inl)
			pl->innermost = strtab_adds(&p->strings, pl->inl[pl->n_inl - 1].name);
		if (pl->dso == STR_NONE || pl->name == STR_NONE || pl->srcline == STR_NONE ||
		    pl->innermost == STR_NONE)
			return err_nomem(err);
		last = s;
		lastp = pl;
	}
	return 0;
}

static bool has_key(const struct profile_opts *o, enum profile_key key)
{
	for (size_t i = 0; i < o->n_keys; i++)
		if (o->key[i] == key)
			return true;
	return false;
}

int name_sites(struct profile *p, struct err *err)
{
	struct naming nm = { .p = p, .images = spaces_images(p->sp) };
	int ret = -1;

	nm.lines = has_key(&p->opts, KEY_SRCLINE) || (p->opts.chains && p->opts.chain_lines);
	nm.inlines = has_key(&p->opts, KEY_INLINE) || (p->opts.chains && p->opts.chain_inline);
	p->place = calloc(p->sites.n + 1, sizeof(*p->place));
	if (!p->place) {
		(void)err_nomem(err);
		goto out;
	}
	if (sort_sites(p, err) || make_jobs(&nm, err) ||
	    task_for(nm.n_jobs, p->opts.threads, name_image, &nm, err))
		goto out;
	ret = intern(&nm, err);
	if (p->opts.chains && !ret)
		ret = make_frame_ids(p, err);
out:
	for (size_t i = 0; i < nm.n_jobs; i++)
		arena_free(&nm.job[i].arena);
	free(nm.job);
	for (size_t i = 0; p->place && i < p->sites.n; i++)
		p->place[i].inl = NULL; /* was the job's */
	return ret;
}
