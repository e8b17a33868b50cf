/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that a process made, by the dump its runtime wrote while it was recorded: which function lay
 * at an address at a time. It lies over the process' anonymous memory, not among its mappings,
 * because a runtime maps and protects that memory again and again without a word of its code.
 *
 * A code's address in its image is the place of its bytes in the dump, which is its own even where
 * its memory was used again.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bisect.h"
#include "symbol/image/image_set.h"
#include "symbol/space/space_int.h"

struct jit_layer {
	uint32_t of; /* the image of the dump's own mapping */
	struct file_map file;
	struct jitdump dump;
	struct map *map; /* by code; NULL: there is nothing to find */
};

static int make_maps(struct spaces *sp, struct jit_layer *l, const struct image_key *dump,
		     struct err *err)
{
	const struct image_key key = { .kind = IMAGE_JIT, .path = dump->path };
	uint32_t image = images_add(sp->images, &key, err);

	if (image == IMAGE_NONE)
		return -1;
	l->map = arena_alloc(&sp->arena, (l->dump.code.n + 1) * sizeof(*l->map));
	if (!l->map)
		return err_nomem(err);
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
	return 0;
}

/* A dump that is not there or no good is none: perf-PID.map may have names. */
static int read_dump(struct spaces *sp, struct jit_layer *l, struct err *err)
{
	const struct image_key *key = image_key(sp->images, l->of);
	struct err why = ERR_INIT;
	char path[4096];

	if (!image_jit_map(sp->images, sp->images->image.v[l->of], &l->file, path))
		return 0;
	if (!jitdump_parse(&l->dump, l->file.p, l->file.len, &why)) {
		/* a time-stamp counter's times are nobody else's */
		if (!l->dump.arch_time)
			return make_maps(sp, l, key, err);
		jitdump_free(&l->dump);
	}
	file_map_close(&l->file);
	return why.code == ERR_NOMEM ? err_nomem(err) : 0;
}

static struct jit_layer *layer_of(struct spaces *sp, uint32_t image, struct err *err)
{
	struct jit_layer *l;

	vec_each (&sp->jit, struct jit_layer **, it) {
		if ((*it)->of == image)
			return *it;
	}
	l = arena_alloc(&sp->arena, sizeof(*l));
	if (!l) {
		(void)err_nomem(err);
		return NULL;
	}
	l->of = image;
	if (vec_push(&sp->jit, l)) {
		(void)err_nomem(err);
		return NULL;
	}
	return read_dump(sp, l, err) ? NULL : l;
}

int jit_mapped(struct spaces *sp, struct process *p, const struct map *m, uint64_t time,
	       struct err *err)
{
	const struct image_key *key = image_key(sp->images, m->image);
	struct jit_layer *l;
	uint32_t pid;

	if (!sp->monotonic || m->kind != SPACE_USER || key->kind != IMAGE_FILE ||
	    !jitdump_path_pid(key->path, &pid) || pid != p->pid)
		return 0;
	l = layer_of(sp, m->image, err);
	if (!l)
		return -1;
	if (!l->map)
		return 0;
	return vec_push(&p->jit, ((struct jit_at){ time, UINT64_MAX, l })) ? err_nomem(err) : 0;
}

int jit_inherited(struct process *child, const struct process *parent, uint64_t time)
{
	const struct jit_at *j = parent && parent->jit.n ? vec_last(&parent->jit) : NULL;

	if (!j || !j->layer)
		return 0;
	/* what its parent compiles later is not the child's */
	return vec_push(&child->jit,
			((struct jit_at){ time, j->as_of < time ? j->as_of : time, j->layer }));
}

int jit_gone(struct process *p, uint64_t time)
{
	if (!p->jit.n || !vec_last(&p->jit)->layer)
		return 0;
	return vec_push(&p->jit, ((struct jit_at){ time, 0, NULL }));
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
