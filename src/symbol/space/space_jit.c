/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made, by the dump its runtime wrote while it was recorded: which function lay
 * at an address at a time. It lies over the process' anonymous memory, not among its mappings,
 * because a runtime maps and protects that memory again and again without a word of its code.
 *
 * A code's address in its image is the place of its bytes in the dump, which is its own even if its
 * memory was used again.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bisect.h"
#include "base/xalloc.h"
#include "symbol/image/image_set.h"
#include "symbol/space/space_int.h"

struct jit_layer {
	uint32_t of; /* the image of the dump's own mapping */
	struct file_map file;
	struct jitdump dump;
	struct map *map; /* by code; NULL: there is nothing to find */
};

static void make_maps(struct spaces *sp, struct jit_layer *l, const struct image_key *dump)
{
	const struct image_key key = { .kind = IMAGE_JIT, .path = dump->path };
	uint32_t image = images_add(sp->images, &key, NULL);

	l->map = arena_xalloc(&sp->arena, (l->dump.code.n + 1) * sizeof(*l->map));
	for (size_t i = 0; i < l->dump.code.n; i++) {
		const struct jit_code *c = &l->dump.code.v[i];

		l->map[i] = (struct map){ .start = c->start,
					  .end = c->start + c->size,
					  .pgoff = c->offset,
					  .since = c->time,
					  .image = image,
					  .prot = PROT_READ | PROT_EXEC,
					  .kind = SPACE_USER };
	}
}

/* A dump that is not there or no good has no maps: perf-PID.map may have names. */
static struct jit_layer *layer_of(struct spaces *sp, uint32_t image)
{
	struct jit_layer *l;
	char path[4096];

	vec_each (&sp->jit, struct jit_layer **, it)
		if ((*it)->of == image)
			return *it;
	l = arena_xalloc(&sp->arena, sizeof(*l));
	l->of = image;
	vec_xpush(&sp->jit, l);
	if (!image_jit_map(sp->images, sp->images->image.v[image], &l->file, path))
		return l;
	if (!jitdump_parse(&l->dump, l->file.p, l->file.len, NULL)) {
		/* no other clock has a time-stamp counter's times */
		if (!l->dump.arch_time) {
			make_maps(sp, l, image_key(sp->images, image));
			return l;
		}
		jitdump_free(&l->dump);
	}
	file_map_close(&l->file);
	return l;
}

void jit_mapped(struct spaces *sp, struct process *p, const struct map *m, uint64_t time)
{
	const struct image_key *key = image_key(sp->images, m->image);
	struct jit_layer *l;
	uint32_t pid;

	if (!sp->monotonic || m->kind != SPACE_USER || key->kind != IMAGE_FILE ||
	    !jitdump_path_pid(key->path, &pid) || pid != p->pid)
		return;
	l = layer_of(sp, m->image);
	if (l->map)
		vec_xpush(&p->jit, ((struct jit_at){ time, UINT64_MAX, l }));
}

void jit_inherited(struct process *child, const struct process *parent, uint64_t time)
{
	const struct jit_at *j = parent && parent->jit.n ? vec_last(&parent->jit) : NULL;

	if (!j || !j->layer)
		return;
	/* code that its parent compiles later is not the child's */
	vec_xpush(&child->jit,
		  ((struct jit_at){ time, j->as_of < time ? j->as_of : time, j->layer }));
}

void jit_gone(struct process *p, uint64_t time)
{
	if (!p->jit.n || !vec_last(&p->jit)->layer)
		return;
	vec_xpush(&p->jit, ((struct jit_at){ time, 0, NULL }));
}

const struct map *jit_find(const struct process *p, uint64_t ip, uint64_t time,
			   struct space_span *s)
{
	struct space_span code = *s;
	const struct jit_code *c;
	const struct jit_at *j;
	size_t low;

	bisect(low, p->jit.n, i, p->jit.v[i].time > time);
	if (low < p->jit.n && p->jit.v[low].time < s->until)
		s->until = p->jit.v[low].time;
	if (!low)
		return NULL;
	j = &p->jit.v[low - 1];
	if (j->time > s->from)
		s->from = j->time;
	if (!j->layer)
		return NULL;
	code.from = 0;
	code.until = UINT64_MAX;
	c = jitdump_span(&j->layer->dump, ip, time < j->as_of ? time : j->as_of, &code.start,
			 &code.end, &code.from, &code.until);
	s->start = code.start;
	s->end = code.end;
	if (code.from > s->from)
		s->from = code.from;
	if (time < j->as_of && code.until < s->until)
		s->until = code.until;
	return c ? &j->layer->map[c - j->layer->dump.code.v] : NULL;
}

void jit_free(struct spaces *sp)
{
	vec_each (&sp->jit, struct jit_layer **, it) {
		if (!(*it)->map)
			continue;
		jitdump_free(&(*it)->dump);
		file_map_close(&(*it)->file);
	}
	vec_free(&sp->jit);
	for (size_t i = 0; i < sp->process.n; i++)
		vec_free(&sp->process.v[i]->jit);
}
