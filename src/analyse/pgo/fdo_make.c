/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/pgo/fdo_int.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

/* The text format separates fields by blanks and lines, and begins contexts, attributes and
 * comments by these. */
static bool has_room_for(const char *s)
{
	if (!*s || strchr("[!#", *s))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	return true;
}

static int add_made_name(struct fdo_maker *m, const char *s, uint32_t *name)
{
	*name = FDO_NONE;
	if (!s || !has_room_for(s))
		return 0;
	*name = strtab_xadds(&m->names, s);
	return *name == STR_NONE ? -1 : 0;
}

/* ---- contents of tables ---------------------------------------------------------------------- */

static uint64_t made_place_hash(uint32_t owner, const struct fdo_place *at, uint32_t name)
{
	return hash_pair((uint64_t)owner << 32 | name,
			 (uint64_t)at->line << 32 | at->discriminator);
}

static bool made_same_place(const struct fdo_place *a, const struct fdo_place *b)
{
	return a->line == b->line && a->discriminator == b->discriminator;
}

static uint32_t made_function_of(struct fdo_maker *m, uint32_t parent, struct fdo_place at,
				 uint32_t name)
{
	uint64_t h = made_place_hash(parent, &at, name);
	uint32_t idx;

	for (size_t i = itab_first(&m->function_at, h); itab_at(&m->function_at, &i, h, &idx);) {
		const struct made_function *o = &m->function.v[idx];

		if (o->parent == parent && o->name == name && made_same_place(&o->at, &at))
			return idx;
	}
	if (m->function.n >= ITAB_NONE - 1 || itab_put(&m->function_at, h, m->function.n))
		return FDO_NONE;
	vec_xpush(&m->function, ((struct made_function){ name, parent, at, 0, 0 }));
	return (uint32_t)m->function.n - 1;
}

static uint32_t made_line_of(struct fdo_maker *m, uint32_t function, struct fdo_place at)
{
	uint64_t h = made_place_hash(function, &at, 0);
	uint32_t idx;

	for (size_t i = itab_first(&m->line_at, h); itab_at(&m->line_at, &i, h, &idx);) {
		const struct made_line *o = &m->line.v[idx];

		if (o->function == function && made_same_place(&o->at, &at))
			return idx;
	}
	if (m->line.n >= ITAB_NONE - 1 || itab_put(&m->line_at, h, m->line.n))
		return FDO_NONE;
	vec_xpush(&m->line, ((struct made_line){ function, at, 0 }));
	return (uint32_t)m->line.n - 1;
}

static struct fdo_place made_place_of(const struct source_line *l, uint32_t first_line)
{
	return (struct fdo_place){ (l->line - first_line) & 0xffff,
				   fdo_base_discriminator(l->discriminator) };
}

/* ---- an instruction -------------------------------------------------------------------------- */

/* The functions that it is in, outermost first. */
struct frames {
	struct source_inline inl[FDO_LEVELS];
	struct source_function outer;
	struct source_line line;
	size_t n;
};

static bool find_made_frames(const struct fdo_maker *m, uint64_t addr, struct frames *f)
{
	uint64_t vaddr;

	if (!image_to_vaddr(m->images, m->image, addr, &vaddr) ||
	    !source_function(m->source, vaddr, &f->outer))
		return false;
	f->line = source_line(m->source, vaddr);
	f->n = source_inlines(m->source, vaddr, f->inl, FDO_LEVELS);
	return true;
}

/* Line 0 is that of code which no line is to blame for; compilers look it up like any other. */
static bool made_is_known(const struct source_line *l)
{
	return l->line || l->file;
}

int fdo_add_insn(struct fdo_maker *m, uint64_t addr, uint64_t count, uint64_t bytes, uint32_t *line)
{
	struct fdo_place nowhere = { 0, 0 };
	struct frames f;
	uint32_t name, at;
	uint32_t copies;

	if (line)
		*line = FDO_NONE;
	if (!find_made_frames(m, addr, &f)) {
		m->counts.no_lines += count;
		return 0;
	}
	copies = fdo_duplication(f.line.discriminator);
	if (add_made_name(m, f.outer.linkage, &name))
		return -1;
	if (name == FDO_NONE) {
		m->counts.bad_name += count;
		return 0;
	}
	m->counts.used += count;
	at = made_function_of(m, FDO_NONE, nowhere, name);
	if (at == FDO_NONE)
		return -1;
	m->function.v[at].total += bytes * copies;
	for (size_t i = 0; i < f.n; i++) {
		uint32_t first = i ? f.inl[i - 1].first_line : f.outer.first_line;

		if (!first || !made_is_known(&f.inl[i].at))
			return 0; /* it is known of the functions around it alone */
		if (add_made_name(m, f.inl[i].linkage, &name))
			return -1;
		if (name == FDO_NONE)
			return 0;
		at = made_function_of(m, at, made_place_of(&f.inl[i].at, first), name);
		if (at == FDO_NONE)
			return -1;
		m->function.v[at].total += bytes * copies;
	}
	name = f.n ? f.inl[f.n - 1].first_line : f.outer.first_line;
	if (!name || !made_is_known(&f.line))
		return 0;
	at = made_line_of(m, at, made_place_of(&f.line, name));
	if (at == FDO_NONE)
		return -1;
	if (count * copies > m->line.v[at].count)
		m->line.v[at].count = count * copies;
	if (line)
		*line = at;
	return 0;
}

int fdo_name_at(struct fdo_maker *m, uint64_t addr, uint32_t *name)
{
	struct source_function f;
	uint64_t vaddr;

	*name = FDO_NONE;
	if (!image_to_vaddr(m->images, m->image, addr, &vaddr) ||
	    !source_function(m->source, vaddr, &f))
		return 0;
	return add_made_name(m, f.linkage, name);
}

int fdo_add_target(struct fdo_maker *m, uint32_t line, uint32_t name, uint64_t count)
{
	uint64_t h = hash_pair(line, name);
	uint32_t idx;

	if (!count)
		return 0;
	for (size_t i = itab_first(&m->target_at, h); itab_at(&m->target_at, &i, h, &idx);) {
		struct made_target *o = &m->target.v[idx];

		if (o->line == line && o->name == name) {
			o->count += count;
			return 0;
		}
	}
	if (m->target.n >= ITAB_NONE - 1 || itab_put(&m->target_at, h, m->target.n))
		return -1;
	vec_xpush(&m->target, ((struct made_target){ line, name, count }));
	return 0;
}

int fdo_add_head(struct fdo_maker *m, uint64_t addr, uint64_t count)
{
	struct fdo_place nowhere = { 0, 0 };
	uint32_t name, at;

	if (fdo_name_at(m, addr, &name))
		return -1;
	if (name == FDO_NONE)
		return 0;
	at = made_function_of(m, FDO_NONE, nowhere, name);
	if (at == FDO_NONE)
		return -1;
	m->function.v[at].head += count;
	return 0;
}

/* ---- in order -------------------------------------------------------------------------------- */

int fdo_begin(struct fdo_maker *m, struct images *images, uint32_t image, struct err *err)
{
	struct err why = ERR_INIT;
	struct arena a = ARENA_INIT;

	m->images = images;
	m->image = image;
	(void)strtab_xadds(&m->names, "");
	m->source = source_of(images, image, &why);
	if (m->source)
		return 0;
	if (why.code == ERR_NOMEM)
		return err_nomem(err);
	(void)err_set(err, ERR_NOT_FOUND, "%.200s: no debug information, so no lines to count for",
		      image_path(images, image));
	(void)err_hint(err, "%s (compilers that read this want -fdebug-info-for-profiling, too)",
		       image_debug_lack(images, image, &a));
	arena_free(&a);
	return -1;
}

void fdo_maker_free(struct fdo_maker *m)
{
	strtab_free(&m->names);
	vec_free(&m->function);
	vec_free(&m->line);
	vec_free(&m->target);
	itab_free(&m->function_at);
	itab_free(&m->line_at);
	itab_free(&m->target_at);
}

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

/* Names are by rank when these run; owners are those of the finished order. */
static int made_by_place(const void *va, const void *vb)
{
	const struct made_function *a = va, *b = vb;

	ORDER(a->parent, b->parent);
	ORDER(a->at.line, b->at.line);
	ORDER(a->at.discriminator, b->at.discriminator);
	ORDER(a->name, b->name);
	return 0;
}

static int made_by_total(const void *va, const void *vb)
{
	const struct made_function *a = va, *b = vb;

	ORDER(b->total, a->total);
	ORDER(a->name, b->name);
	return 0;
}

static int line_order(const void *va, const void *vb)
{
	const struct made_line *a = va, *b = vb;

	ORDER(a->function, b->function);
	ORDER(a->at.line, b->at.line);
	ORDER(a->at.discriminator, b->at.discriminator);
	return 0;
}

static int target_order(const void *va, const void *vb)
{
	const struct made_target *a = va, *b = vb;

	ORDER(a->line, b->line);
	ORDER(b->count, a->count);
	ORDER(a->name, b->name);
	return 0;
}

struct named {
	const char *s;
	uint32_t id;
};

static int made_by_text(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;

	return strcmp(a->s, b->s);
}

/* All functions: their number before the sort goes along as `head` and `total` do. */
struct sortable {
	struct made_function f;
	uint32_t was;
};

/* The profile and all that it points to is one piece of memory. */
struct whole {
	struct fdo p;
	struct arena arena;
};

static void order_made_names(struct fdo_maker *m, struct whole *w)
{
	size_t n = m->names.n;
	struct named *v = xmalloc(n * sizeof(*v));
	uint32_t *rank = xmalloc(n * sizeof(*rank));
	const char **name = arena_xalloc(&w->arena, n * sizeof(*name));

	for (size_t i = 1; i < n; i++)
		v[i - 1] = (struct named){ strtab_get(&m->names, (uint32_t)i), (uint32_t)i };
	if (n > 2)
		qsort(v, n - 1, sizeof(*v), made_by_text);
	for (size_t i = 0; i + 1 < n; i++) {
		rank[v[i].id] = (uint32_t)i;
		name[i] = arena_xstrdup(&w->arena, v[i].s);
	}
	vec_each (&m->function, struct made_function *, f)
		f->name = rank[f->name];
	vec_each (&m->target, struct made_target *, t)
		t->name = rank[t->name];
	w->p.name = name;
	w->p.n_names = n - 1;
	free(v);
	free(rank);
}

static int sort_top(const void *a, const void *b)
{
	return made_by_total(&((const struct sortable *)a)->f, &((const struct sortable *)b)->f);
}

static int sort_inlined(const void *a, const void *b)
{
	return made_by_place(&((const struct sortable *)a)->f, &((const struct sortable *)b)->f);
}

static void put_made_function(struct fdo *p, const struct sortable *s, uint32_t *now)
{
	now[s->was] = (uint32_t)p->n_functions;
	p->f[p->n_functions++] = (struct fdo_function){
		.name = s->f.name, .at = s->f.at, .total = s->f.total, .head = s->f.head
	};
}

/* Level by level: those inlined into a function are neighbours, in order. */
static void order_functions(struct fdo_maker *m, struct whole *w, uint32_t *now)
{
	size_t n = m->function.n, left = 0, done = 0;
	struct sortable *v = xmalloc((n + 1) * sizeof(*v));
	struct fdo *p = &w->p;

	p->f = arena_xalloc(&w->arena, (n + 1) * sizeof(*p->f));
	for (size_t i = 0; i < n; i++)
		if (m->function.v[i].parent == FDO_NONE)
			v[left++] = (struct sortable){ m->function.v[i], (uint32_t)i };
	if (left > 1)
		qsort(v, left, sizeof(*v), sort_top);
	for (size_t i = 0; i < left; i++)
		put_made_function(p, &v[i], now);
	p->n_top = left;
	/* a parent was made before those in it, so that its level is known */
	while (done < p->n_functions) {
		size_t level = p->n_functions;

		left = 0;
		for (size_t i = 0; i < n; i++) {
			struct made_function f = m->function.v[i];

			if (f.parent == FDO_NONE || now[f.parent] == FDO_NONE ||
			    now[f.parent] < done)
				continue;
			f.parent = now[f.parent];
			v[left++] = (struct sortable){ f, (uint32_t)i };
		}
		if (left > 1)
			qsort(v, left, sizeof(*v), sort_inlined);
		for (size_t i = 0; i < left; i++) {
			struct fdo_function *parent = &p->f[v[i].f.parent];

			if (!parent->n_inlined++)
				parent->first_inlined = (uint32_t)p->n_functions;
			put_made_function(p, &v[i], now);
		}
		done = level;
	}
	free(v);
}

static void order_lines(struct fdo_maker *m, struct whole *w, const uint32_t *now)
{
	size_t n = m->line.n;
	struct {
		struct made_line l;
		uint32_t was;
	} *v = xmalloc((n + 1) * sizeof(*v));
	uint32_t *line = xmalloc((n + 1) * sizeof(*line));
	struct fdo *p = &w->p;

	p->line = arena_xalloc(&w->arena, (n + 1) * sizeof(*p->line));
	p->target = arena_xalloc(&w->arena, (m->target.n + 1) * sizeof(*p->target));
	for (size_t i = 0; i < n; i++) {
		v[i].l = m->line.v[i];
		v[i].l.function = now[v[i].l.function];
		v[i].was = (uint32_t)i;
	}
	if (n > 1) /* the line comes first in it */
		qsort(v, n, sizeof(*v), line_order);
	for (size_t i = 0; i < n; i++) {
		struct fdo_function *f = &p->f[v[i].l.function];

		if (!f->n_lines++)
			f->first_line = (uint32_t)i;
		line[v[i].was] = (uint32_t)i;
		p->line[i] = (struct fdo_line){ .at = v[i].l.at, .count = v[i].l.count };
	}
	p->n_lines = n;
	vec_each (&m->target, struct made_target *, t)
		t->line = line[t->line];
	vec_sort(&m->target, target_order);
	for (size_t i = 0; i < m->target.n; i++) {
		struct fdo_line *l = &p->line[m->target.v[i].line];

		if (!l->n_targets++)
			l->first_target = (uint32_t)i;
		p->target[i] = (struct fdo_target){ m->target.v[i].name, m->target.v[i].count };
	}
	p->n_targets = m->target.n;
	free(v);
	free(line);
}

void fdo_finish(struct fdo_maker *m, struct fdo **out)
{
	struct whole *w = xcalloc(1, sizeof(*w));
	uint32_t *now = xmalloc((m->function.n + 1) * sizeof(*now));

	memset(now, 0xff, (m->function.n + 1) * sizeof(*now));
	w->p = m->counts;
	order_made_names(m, w);
	order_functions(m, w, now);
	order_lines(m, w, now);
	free(now);
	*out = &w->p;
}

void fdo_free(struct fdo *p)
{
	struct whole *w = (struct whole *)(void *)p; /* its first member */

	if (!w)
		return;
	arena_free(&w->arena);
	free(w);
}
