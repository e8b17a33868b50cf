/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/heap_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/vec.h"
#include "symbol/source.h"

#define NAMED	4u /* frames in a name */
#define INLINED 8u /* functions at an address that are looked at */

struct heap_sites {
	struct arena arena;
	struct u64map of_chain; /* chain of the log << 1 | mapping -> 1 + place in site */
	struct u64map of_hash;	/* the frames' -> 1 + place in site */
	VEC(const struct heap_site *) site;
};

int heap_sites_new(struct heap_sites **out, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_nomem(err);
}

void heap_sites_free(struct heap_sites *s)
{
	if (!s)
		return;
	u64map_free(&s->of_chain);
	u64map_free(&s->of_hash);
	vec_free(&s->site);
	arena_free(&s->arena);
	free(s);
}

/* False: it is in no code. */
static bool find_frame(struct heap_frame *f, const struct spaces *sp, const struct process *proc,
		       uint64_t address, uint64_t time)
{
	const struct map *m = space_find(sp, proc, SPACE_USER, address - 1, time, NULL, NULL);

	if (!m || !map_is_code(m))
		return false;
	*f = (struct heap_frame){ .image = m->image, .address = map_to_image(m, address - 1) };
	return true;
}

/* Of a library that allocates for others. A template's name begins with what it returns. */
static bool for_others(const char *name)
{
	static const char *const begins[] = { "std::", "__gnu_cxx::", "operator new" };
	const char *args = strchr(name, '(');

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		size_t n = strlen(begins[i]);
		const char *at = strchr(name, ' ');

		if (!strncmp(name, begins[i], n))
			return true;
		if (at && args && at < args && !strncmp(at + 1, begins[i], n))
			return true;
	}
	return false;
}

/* Where the code is that is not of such a library, of what was inlined there. */
static void find_line(struct heap_frame *f, const struct source *src, uint64_t vaddr)
{
	struct source_inline in[INLINED];
	size_t n = source_inlines(src, vaddr, in, INLINED);
	struct source_line at = source_line(src, vaddr);

	for (; n && for_others(in[n - 1].name); n--)
		at = in[n - 1].at;
	f->inlined = n ? in[n - 1].name : NULL;
	f->file = at.line ? at.file : NULL;
	f->line = at.line;
}

static int name_frame(struct heap_frame *f, const struct spaces *sp, struct err *err)
{
	struct images *set = spaces_images(sp);
	struct err why = ERR_INIT;
	const struct source *src;
	uint64_t vaddr;

	if (image_resolve(set, f->image, &f->address, 1, &f->symbol, err))
		return -1;
	src = source_of(set, f->image, &why);
	if (!src && why.code == ERR_NOMEM)
		return err_nomem(err);
	if (src && image_to_vaddr(set, f->image, f->address, &vaddr))
		find_line(f, src, vaddr);
	return 0;
}

static bool is_for_others(const struct heap_frame *f)
{
	return !f->inlined && f->symbol && for_others(f->symbol->name);
}

static void put_function(struct buf *b, const struct heap_frame *f, struct images *set)
{
	if (f->inlined)
		buf_puts(b, f->inlined);
	else if (f->symbol)
		buf_puts(b, f->symbol->name);
	else
		buf_printf(b, "%s+0x%llx", image_name(set, f->image),
			   (unsigned long long)f->address);
}

/* Who calls it is the same everywhere. */
static bool is_main(const struct heap_frame *f)
{
	return f->symbol && !f->inlined && !strcmp(f->symbol->name, "main");
}

static const char *make_name(struct heap_sites *s, const struct heap_frame *f, size_t n,
			     struct images *set)
{
	struct buf b = BUF_INIT;
	const char *name = NULL;

	for (size_t i = 0; i < n && i < NAMED && !(i && is_main(&f[i - 1])); i++) {
		if (i)
			buf_puts(&b, " < ");
		put_function(&b, &f[i], set);
		if (!i && f->file)
			buf_printf(&b, " %s:%u", path_base(f->file), f->line);
	}
	if (!n)
		buf_puts(&b, "[no call chain]");
	if (!b.failed)
		name = arena_strdup(&s->arena, buf_str(&b));
	buf_free(&b);
	return name;
}

static const struct heap_site *make_site(struct heap_sites *s, uint8_t type,
					 const struct heap_frame *f, size_t n, struct images *set)
{
	struct heap_site *site = arena_alloc(&s->arena, sizeof(*site));

	if (!site)
		return NULL;
	*site = (struct heap_site){ .id = (uint32_t)s->site.n, .type = type, .n = (uint32_t)n };
	site->frame = arena_memdup(&s->arena, f, n * sizeof(*f) + !n);
	site->name = make_name(s, f, n, set);
	return site->frame && site->name && !vec_push(&s->site, site) ? site : NULL;
}

static uint64_t hash_frames(uint8_t type, const struct heap_frame *f, size_t n)
{
	uint64_t h = type;

	for (size_t i = 0; i < n; i++)
		h = hash_pair(hash_pair(h, f[i].address), f[i].image);
	return h;
}

/* Of the frames of a chain those that count, from *f on. */
static int find_frames(struct heap_frame f[HEAP_DEPTH], size_t *n, size_t *skip,
		       const struct spaces *sp, const struct heap *h, const struct heap_object *o,
		       struct err *err)
{
	const struct process *proc = spaces_process(sp, heap_pid(h, o), o->from);
	size_t n_chain;
	const uint64_t *chain = heap_chain(h, o, &n_chain);

	for (*n = 0; *n < n_chain && *n < HEAP_DEPTH; ++*n)
		if (!find_frame(&f[*n], sp, proc, chain[*n], o->from))
			break;
	for (size_t i = 0; i < *n; i++)
		if (name_frame(&f[i], sp, err))
			return -1;
	for (*skip = 0; *skip < *n && is_for_others(&f[*skip]); ++*skip)
		;
	*skip = *skip == *n ? 0 : *skip;
	*n -= *skip;
	return 0;
}

const struct heap_site *heap_site_of(struct heap_sites *s, const struct spaces *sp,
				     const struct heap *h, const struct heap_object *o,
				     struct err *err)
{
	uint64_t key = (uint64_t)o->chain << 1 | (o->type == HEAP_MAP);
	uint64_t *at = u64map_at(&s->of_chain, key, NULL), *same;
	struct heap_frame f[HEAP_DEPTH + 1] = { { 0 } };
	const struct heap_site *site;
	size_t n, skip;

	if (at && *at)
		return s->site.v[*at - 1];
	if (!at || find_frames(f, &n, &skip, sp, h, o, err))
		goto nomem;
	same = u64map_at(&s->of_hash, hash_frames(o->type, f + skip, n), NULL);
	if (!same)
		goto nomem;
	site = *same ? s->site.v[*same - 1] : make_site(s, o->type, f + skip, n, spaces_images(sp));
	if (!site)
		goto nomem;
	*at = *same = site->id + 1u;
	return site;
nomem:
	(void)err_nomem(err);
	return NULL;
}
