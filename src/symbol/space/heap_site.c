/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/heap_site.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "symbol/source.h"

#define NAMED	4u /* frames in a name */
#define INLINED 8u /* functions at an address that are looked at */

struct heap_sites {
	struct arena arena;
	struct u64map of_chain; /* chain of the log << 1 | mapping -> 1 + place in site */
	struct u64map of_hash;	/* the frames' -> 1 + place in site */
	VEC(const struct heap_site *) site;
};

struct heap_sites *heap_sites_new(void)
{
	return xcalloc(1, sizeof(struct heap_sites));
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

/* Whether a function is of a library that allocates for others. A template's name begins with its
 * return type. */
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

/* The innermost code, among inlined calls, that is not of such a library. */
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

static void name_frame(struct heap_frame *f, const struct spaces *sp)
{
	struct images *set = spaces_images(sp);
	const struct source *src = source_of(set, f->image, NULL);
	uint64_t vaddr;

	image_resolve(set, f->image, &f->address, 1, &f->symbol);
	if (src && image_to_vaddr(set, f->image, f->address, &vaddr))
		find_line(f, src, vaddr);
}

static void put_frame_name(struct buf *b, const struct heap_frame *f, struct images *set)
{
	if (f->inlined)
		buf_puts(b, f->inlined);
	else if (f->symbol)
		buf_puts(b, f->symbol->name);
	else
		buf_printf(b, "%s+0x%llx", image_name(set, f->image),
			   (unsigned long long)f->address);
}

static const char *name_site(struct heap_sites *s, const struct heap_frame *f, size_t n,
			     struct images *set)
{
	struct buf b = BUF_INIT;
	const char *name;

	for (size_t i = 0; i < n && i < NAMED; i++) {
		/* who calls main is the same everywhere */
		if (i && f[i - 1].symbol && !f[i - 1].inlined &&
		    !strcmp(f[i - 1].symbol->name, "main"))
			break;
		if (i)
			buf_puts(&b, " < ");
		put_frame_name(&b, &f[i], set);
		if (!i && f->file)
			buf_printf(&b, " %s:%u", path_base(f->file), f->line);
	}
	if (!n)
		buf_puts(&b, "[no call chain]");
	name = arena_xstrdup(&s->arena, buf_str(&b));
	buf_free(&b);
	return name;
}

static uint64_t hash_frames(uint8_t type, const struct heap_frame *f, size_t n)
{
	uint64_t h = type;

	for (size_t i = 0; i < n; i++)
		h = hash_pair(hash_pair(h, f[i].address), f[i].image);
	return h;
}

const struct heap_site *heap_site_of(struct heap_sites *s, const struct spaces *sp,
				     const struct heap *h, const struct heap_object *o)
{
	uint64_t key = (uint64_t)o->chain << 1 | (o->type == HEAP_MAP);
	uint64_t *at = u64map_xat(&s->of_chain, key, NULL), *same;
	struct heap_frame frame[HEAP_DEPTH + 1] = { { 0 } }, *f = frame;
	const struct process *proc;
	struct heap_site *site;
	const uint64_t *chain;
	size_t n_chain, n = 0, skip = 0;

	if (*at)
		return s->site.v[*at - 1];
	proc = spaces_process(sp, heap_pid(h, o), o->from);
	chain = heap_chain(h, o, &n_chain);
	while (n < n_chain && n < HEAP_DEPTH && find_frame(&f[n], sp, proc, chain[n], o->from))
		n++;
	for (size_t i = 0; i < n; i++)
		name_frame(&f[i], sp);
	while (skip < n && !f[skip].inlined && f[skip].symbol && for_others(f[skip].symbol->name))
		skip++;
	if (skip < n) { /* else all are: they count */
		f += skip;
		n -= skip;
	}
	same = u64map_xat(&s->of_hash, hash_frames(o->type, f, n), NULL);
	if (!*same) {
		site = arena_xalloc(&s->arena, sizeof(*site));
		*site = (struct heap_site){ .id = (uint32_t)s->site.n,
					    .type = o->type,
					    .n = (uint32_t)n };
		site->frame = arena_xmemdup(&s->arena, f, n * sizeof(*f) + !n);
		site->name = name_site(s, f, n, spaces_images(sp));
		vec_xpush(&s->site, site);
		*same = s->site.n;
	}
	*at = *same;
	return s->site.v[*same - 1];
}
