/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for sites: once per (image, address), images in parallel; strings afterwards, in the order
 * of the addresses, so that their ids do not depend on which image was ready first.
 */
#include "analyse/profile/profile_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
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
	bool late; /* twins get distinct names when they are shown */
};

/* ---- sites in the order of their places --------------------------------------------------------
 */

struct ordering {
	struct profile *p;
	struct keyed *v, *scratch; /* key: address, a: site, b: other fields that distinguish
				    * sites */
	size_t *first;		   /* by image, sites in none at the end; one more */
};

static int sort_image(void *ctx, unsigned worker, size_t image, struct err *err)
{
	struct ordering *o = ctx;
	size_t first = o->first[image], n = o->first[image + 1] - first;
	struct keyed *v = o->v + first;

	(void)worker, (void)err;
	keyed_sort(v, o->scratch + first, n);
	for (size_t i = 1; i < n; i++) {
		struct keyed x = v[i];
		size_t at = i;

		/* sites at one address are few */
		for (; at && v[at - 1].key == x.key && v[at - 1].b > x.b; at--)
			v[at] = v[at - 1];
		v[at] = x;
	}
	for (size_t i = 0; i < n; i++)
		o->p->order[first + i] = v[i].a;
	return 0;
}

static void by_image(struct ordering *o, size_t n_images)
{
	const struct site_table *t = &o->p->sites;
	size_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		o->first[t->v[i].image < n_images ? t->v[i].image : n_images]++;
	for (size_t i = 0; i <= n_images; i++) {
		size_t here = o->first[i];

		o->first[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct site *s = &t->v[i];
		size_t image = s->image < n_images ? s->image : n_images;

		o->v[o->first[image]++] =
			(struct keyed){ s->addr, (uint32_t)i, (uint32_t)s->kind << 1 | s->caller };
	}
	memmove(o->first + 1, o->first, (n_images + 1) * sizeof(*o->first));
	o->first[0] = 0;
}

static int sort_sites(struct profile *p, struct err *err)
{
	size_t n = p->sites.n, n_images = images_count(spaces_images(p->sp));
	struct ordering o = { .p = p };
	int ret = -1;

	p->order = arena_alloc(&p->arena, (n + 1) * sizeof(*p->order));
	if (!p->order)
		return err_nomem(err);
	if (!p->opts.chains && !p->opts.branches) { /* merged in this order */
		for (size_t i = 0; i < n; i++)
			p->order[i] = (uint32_t)i;
		return 0;
	}
	o.v = malloc((n + 1) * sizeof(*o.v));
	o.scratch = malloc((n + 1) * sizeof(*o.scratch));
	o.first = calloc(n_images + 2, sizeof(*o.first));
	if (!o.v || !o.scratch || !o.first) {
		(void)err_nomem(err);
		goto out;
	}
	by_image(&o, n_images);
	ret = task_for(n_images + 1, p->opts.threads, sort_image, &o, err);
out:
	free(o.v);
	free(o.scratch);
	free(o.first);
	return ret;
}

/* ---- images ------------------------------------------------------------------------------------
 */

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
		      struct named_site *pl)
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

/* Inlined functions of one name, when all addresses of the image have been looked up. */
static void tell_inlines_apart(struct naming *nm, struct job *j, const struct source *src)
{
	for (size_t i = 0; i < j->n; i++) {
		struct named_site *pl = &nm->p->place[nm->p->order[j->first + i]];

		for (uint32_t k = 0; k < pl->n_inl; k++)
			pl->inl[k].name = source_inline_name(src, &pl->inl[k]);
	}
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
	tell_inlines_apart(nm, j, src);
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
	(nm->late ? image_resolve_late : image_resolve)(nm->images, j->image, addr, j->n, sym);
	for (size_t k = 0; k < j->n; k++)
		p->place[p->order[j->first + k]].symbol = sym[k];
	ret = nm->lines || nm->inlines ? job_lines(nm, j, err) : 0;
out:
	free(addr);
	free((void *)sym);
	return ret;
}

/* ---- beside ------------------------------------------------------------------------------------
 */

struct beside {
	struct images *images;
	struct wanted {
		uint64_t slots;
		uint32_t image;
	} * v;
	size_t n;
	struct pd_drop *drop;
	pthread_t thread;
	pthread_mutex_t lock; /* over the fields below */
	pthread_cond_t idle;
	size_t next;
	unsigned loading; /* images, now */
};

static int more_slots_first(const void *va, const void *vb)
{
	const struct wanted *a = va, *b = vb;

	if (a->slots != b->slots)
		return a->slots > b->slots ? -1 : 1;
	return (a->image > b->image) - (a->image < b->image);
}

static void load_wanted(struct beside *b)
{
	(void)pthread_mutex_lock(&b->lock);
	while (b->next < b->n && b->v[b->next].slots) {
		uint32_t image = b->v[b->next++].image;

		b->loading++;
		(void)pthread_mutex_unlock(&b->lock);
		image_resolve(b->images, image, NULL, 0, NULL);
		(void)pthread_mutex_lock(&b->lock);
		b->loading--;
	}
	if (!b->loading)
		(void)pthread_cond_broadcast(&b->idle);
	(void)pthread_mutex_unlock(&b->lock);
}

static void *beside_main(void *arg)
{
	struct beside *b = arg;

	load_wanted(b);
	pd_drop_do(b->drop);
	return NULL;
}

static void beside_free(struct beside *b)
{
	(void)pthread_mutex_destroy(&b->lock);
	(void)pthread_cond_destroy(&b->idle);
	free(b->v);
	free(b);
}

struct beside *beside_start(const struct profile *p, const struct scan *sc, struct pd_drop *drop)
{
	struct beside *b = sc->n_workers > 1 ? calloc(1, sizeof(*b)) : NULL;

	if (!b)
		return NULL;
	(void)pthread_mutex_init(&b->lock, NULL);
	(void)pthread_cond_init(&b->idle, NULL);
	b->images = spaces_images(p->sp);
	b->drop = drop;
	b->n = images_count(b->images);
	b->v = calloc(b->n + 1, sizeof(*b->v));
	if (!b->v)
		goto fail;
	for (size_t i = 0; i < b->n; i++)
		b->v[i].image = (uint32_t)i;
	for (unsigned i = 0; i < sc->n_workers; i++)
		vec_each (&sc->worker[i].counts.group, const struct count_group *, g)
			if (g->image < b->n)
				b->v[g->image].slots += g->slots;
	qsort(b->v, b->n, sizeof(*b->v), more_slots_first);
	if (!task_start(&b->thread, beside_main, b))
		return b;
fail:
	beside_free(b);
	return NULL;
}

void beside_load(struct beside *b)
{
	if (!b)
		return;
	load_wanted(b);
	(void)pthread_mutex_lock(&b->lock);
	while (b->loading)
		(void)pthread_cond_wait(&b->idle, &b->lock);
	(void)pthread_mutex_unlock(&b->lock);
}

void beside_end(struct beside *b)
{
	if (!b)
		return;
	(void)pthread_join(b->thread, NULL);
	beside_free(b);
}

const char *profile_dso_name(const struct profile *p, uint32_t image, uint8_t kind)
{
	if (image != IMAGE_NONE)
		return image_name(spaces_images(p->sp), image);
	switch ((enum space_kind)kind) {
	case SPACE_GUEST_USER:
		return "[guest user]";
	case SPACE_GUEST_KERNEL:
		return "[guest kernel]";
	case SPACE_HYPERVISOR:
		return "[hypervisor]";
	case SPACE_USER:
	case SPACE_KERNEL:
	case SPACE_UNKNOWN:
		break;
	}
	return "[unknown]";
}

/* ---- twins, late --------------------------------------------------------------------------------
 *
 * A row is a name in a file. Twins of one image are rows by themselves, however they differ: until
 * they are shown they are called "NAME@IMAGE@ADDRESS", which sorts among the file's other names as
 * theirs will; profile_row_order() sorts twins. Those of several images with one name are settled
 * here, since their rows may be the same.
 */

struct late_name {
	const struct symbol *symbol;
	uint32_t image;
};

static uint64_t name_in_file(const struct profile *p, const struct site *s, const struct symbol *y)
{
	const char *dso = profile_dso_name(p, s->image, s->kind);

	return hash_bytes(y->name, symbol_plain_len(y)) ^ hash_bytes(dso, strlen(dso)) * 31;
}

/* name_in_file() of twins -> their image, IMAGE_NONE: several. */
static int find_images(const struct profile *p, struct u64map *image, struct err *err)
{
	for (size_t i = 0; i < p->sites.n; i++) {
		const struct site *s = &p->sites.v[p->order[i]];
		const struct symbol *y = p->place[p->order[i]].symbol;
		uint64_t *at;
		bool fresh;

		if (!y || !y->twin)
			continue;
		at = u64map_at(image, name_in_file(p, s, y), &fresh);
		if (!at)
			return err_nomem(err);
		*at = fresh || *at == s->image ? s->image : IMAGE_NONE;
	}
	return 0;
}

static int settle_shared(struct naming *nm, struct err *err)
{
	const struct profile *p = nm->p;
	struct u64map image = U64MAP_INIT;
	int rc = find_images(p, &image, err);

	for (size_t i = 0; !rc && i < p->sites.n; i++) {
		const struct site *s = &p->sites.v[p->order[i]];
		const struct symbol *y = p->place[p->order[i]].symbol;

		if (y && y->twin && !y->settled &&
		    *u64map_find(&image, name_in_file(p, s, y)) == IMAGE_NONE)
			image_settle(nm->images, s->image, y);
	}
	u64map_free(&image);
	return rc;
}

static uint32_t late_string(struct profile *p, const struct site *s, const struct symbol *symbol)
{
	const struct late_name late = { symbol, s->image };
	const char *text = arena_printf(&p->arena, "%s@%" PRIu32 "@%" PRIx64, symbol->name,
					s->image, symbol->start);
	uint32_t id = text ? strtab_adds(&p->strings, text) : STR_NONE;
	uint64_t *at = id == STR_NONE ? NULL : u64map_at(&p->late, id, NULL);
	struct late_name *kept = at ? arena_memdup(&p->arena, &late, sizeof(late)) : NULL;

	if (!kept)
		return STR_NONE;
	*at = (uint64_t)(uintptr_t)kept;
	return id;
}

const char *profile_text(const struct profile *p, uint32_t id)
{
	const uint64_t *at = u64map_find(&p->late, id);
	const struct late_name *l = at ? (const struct late_name *)(uintptr_t)*at : NULL;

	if (!l)
		return strtab_get(&p->strings, id);
	image_settle(spaces_images(p->sp), l->image, l->symbol);
	return l->symbol->name;
}

int profile_row_order(const struct profile *p, const struct profile_row *a,
		      const struct profile_row *b)
{
	size_t k = 0;

	while (p->late.n && k < p->opts.n_keys && a->key[k] == b->key[k])
		k++;
	if (p->late.n && k < p->opts.n_keys && key_is_text(p->opts.key[k]) &&
	    u64map_find(&p->late, a->key[k]) && u64map_find(&p->late, b->key[k]))
		return strcmp(profile_text(p, (uint32_t)a->key[k]),
			      profile_text(p, (uint32_t)b->key[k]));
	return (a > b) - (a < b);
}

/* ---- strings -----------------------------------------------------------------------------------
 */

uint32_t profile_line_string(struct profile *p, const struct source_line *l)
{
	char buf[4200];

	if (!l->file || !l->line)
		return strtab_adds(&p->strings, "??:0");
	(void)snprintf(buf, sizeof(buf), "%s:%" PRIu32, l->file, l->line);
	return strtab_adds(&p->strings, buf);
}

/* As "0x%016x", of which there may be hundreds of thousands. */
static uint32_t address_string(struct profile *p, uint64_t addr)
{
	char hex[18] = "0x";

	for (unsigned i = 0; i < 16; i++)
		hex[2 + i] = "0123456789abcdef"[addr >> (60 - 4 * i) & 15];
	return strtab_add(&p->strings, hex, sizeof(hex));
}

static uint32_t name_of_place(struct profile *p, const struct site *s, const struct named_site *pl)
{
	if (pl->symbol && pl->symbol->twin && !pl->symbol->settled)
		return late_string(p, s, pl->symbol);
	if (pl->symbol)
		return strtab_adds(&p->strings, pl->symbol->name);
	return addr_is_stray(s->image, s->addr) ? strtab_adds(&p->strings, "[in no mapping]")
						: address_string(p, s->addr);
}

static int intern(struct naming *nm, struct err *err)
{
	struct profile *p = nm->p;
	const struct site *last = NULL;
	const struct named_site *lastp = NULL;

	for (size_t i = 0; i < p->sites.n; i++) {
		const struct site *s = &p->sites.v[p->order[i]];
		struct named_site *pl = &p->place[p->order[i]];

		place_ahead(p, i);
		if (last && last->image == s->image && last->kind == s->kind)
			pl->dso = lastp->dso;
		else
			pl->dso = strtab_adds(&p->strings, profile_dso_name(p, s->image, s->kind));
		if (last && pl->symbol == lastp->symbol && (pl->symbol || last->addr == s->addr))
			pl->name = lastp->name;
		else
			pl->name = name_of_place(p, s, pl);
		pl->sym = pl->innermost = pl->name;
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

/* Returns true if the file is a key before the function. */
static bool sorted_by_file(const struct profile_opts *o)
{
	for (size_t i = 0; i < o->n_keys; i++)
		if (o->key[i] == KEY_DSO || o->key[i] == KEY_SYM)
			return o->key[i] == KEY_DSO;
	return false;
}

/* ---- functions of one name in several files ----------------------------------------------------
 */

static uint32_t *row_name(struct named_site *pl, enum profile_key key)
{
	return key == KEY_SYM ? &pl->sym : &pl->innermost;
}

/* Finds the names that functions of more than one file have. */
static int find_shared(struct profile *p, enum profile_key key, struct u64map *dso_of)
{
	for (size_t i = 0; i < p->sites.n; i++) {
		struct named_site *pl = &p->place[i];
		uint64_t *dso;
		bool fresh;

		if (!pl->symbol)
			continue;
		dso = u64map_at(dso_of, *row_name(pl, key), &fresh);
		if (!dso)
			return -1;
		if (fresh)
			*dso = pl->dso;
		else if (*dso != pl->dso)
			*dso = STR_NONE;
	}
	return 0;
}

/* Without the key dso the files are in the names, in the form that annotate takes. */
static int add_files(struct profile *p, enum profile_key key, struct err *err)
{
	struct u64map dso_of = U64MAP_INIT; /* name -> its file, STR_NONE: several */
	uint32_t from = STR_NONE, dso = STR_NONE, to = STR_NONE;
	int rc = find_shared(p, key, &dso_of);

	for (size_t i = 0; !rc && i < p->sites.n; i++) {
		struct named_site *pl = &p->place[p->order[i]];
		uint32_t *name = row_name(pl, key);

		if (!pl->symbol || *u64map_find(&dso_of, *name) != STR_NONE)
			continue;
		if (*name != from || pl->dso != dso) {
			const char *text =
				arena_printf(&p->arena, "%s:%s", strtab_get(&p->strings, pl->dso),
					     strtab_get(&p->strings, *name));

			from = *name;
			dso = pl->dso;
			to = text ? strtab_adds(&p->strings, text) : STR_NONE;
		}
		*name = to;
		rc = to == STR_NONE ? -1 : 0;
	}
	u64map_free(&dso_of);
	return rc ? err_nomem(err) : 0;
}

static int tell_files_apart(struct profile *p, struct err *err)
{
	static const enum profile_key named[2] = { KEY_SYM, KEY_INLINE };

	for (size_t i = 0; !profile_has_key(&p->opts, KEY_DSO) && i < 2; i++)
		if (profile_has_key(&p->opts, named[i]) && add_files(p, named[i], err))
			return -1;
	return 0;
}

int name_sites(struct profile *p, struct err *err)
{
	struct naming nm = { .p = p, .images = spaces_images(p->sp) };
	int ret = -1;

	nm.lines =
		profile_has_key(&p->opts, KEY_SRCLINE) || (p->opts.chains && p->opts.chain_lines);
	nm.inlines =
		profile_has_key(&p->opts, KEY_INLINE) || (p->opts.chains && p->opts.chain_inline);
	nm.late = p->opts.late_names && !nm.lines && !nm.inlines && sorted_by_file(&p->opts);
	p->place = calloc(p->sites.n + 1, sizeof(*p->place));
	if (!p->place) {
		(void)err_nomem(err);
		goto out;
	}
	if (sort_sites(p, err) || make_jobs(&nm, err) ||
	    task_for(nm.n_jobs, p->opts.threads, name_image, &nm, err))
		goto out;
	ret = nm.late ? settle_shared(&nm, err) : 0;
	if (!ret)
		ret = intern(&nm, err);
	if (!ret)
		ret = tell_files_apart(p, err);
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
