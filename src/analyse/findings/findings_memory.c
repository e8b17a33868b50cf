/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings of memory operations: cache lines that threads share, and where loads wait for their
 * data.
 */
#include <math.h>

#include "analyse/findings/findings_int.h"
#include "base/buf.h"
#include "base/xalloc.h"

#define LATENCY 0.1 /* of all loads */
#define FAR	0.3 /* of the same, from beyond the caches of its own node */
#define REMOTE	0.2 /* and from another node */

static const char *object_of(struct finding_work *w, const struct data_place *p)
{
	struct buf b = BUF_INIT;
	const char *text = NULL;

	if (p->variable)
		return p->variable->name;
	if (w->in->images)
		data_name(&b, p, w->in->images);
	if (b.len && !b.failed)
		text = arena_xstrdup(&w->out->a, buf_str(&b));
	buf_free(&b);
	return text;
}

/* The line with most at stake: separate bytes that threads write. */
static void find_sharing(struct finding_work *w)
{
	const struct sharing *s = w->in->sharing;

	for (size_t i = 0; s && i < s->n; i++) {
		const struct sharing_line *l = &s->line[i];
		const struct sharing_access *a = &s->access[l->main_access];
		struct finding f = { .kind = FINDING_FALSE_SHARING,
				     .of = FINDING_OF_LATENCY,
				     .share = l->share.v,
				     .half = l->share.half,
				     .stake = l->share.v,
				     .threads = l->threads,
				     .times = l->n.hitm_local + l->n.hitm_remote };

		if (!sharing_padded(l->verdict))
			continue;
		f.object = object_of(w, &a->data);
		if (a->function) {
			f.at = (struct finding_place){ a->function->name, NULL, NAN };
			if (a->image != IMAGE_NONE && w->in->images)
				f.at.dso = image_name(w->in->images, a->image);
		}
		f.file = a->file;
		f.line = a->source_line;
		finding_add(w, &f, LATENCY);
		return;
	}
}

/* ---- latencies ------------------------------------------------------------------------------- */

static bool is_remote(const struct memop *op)
{
	return op->where != MEMOP_WHERE_OWN && op->where != MEMOP_WHERE_OTHER_CORE;
}

/* Caches of the same node are near: what is slow there is shared, and sharing has it. */
static bool is_far(const struct memop *op)
{
	switch ((enum memop_level)op->level) {
	case MEMOP_LEVEL_RAM:
	case MEMOP_LEVEL_PMEM:
	case MEMOP_LEVEL_CXL:
	case MEMOP_LEVEL_PEER:
	case MEMOP_LEVEL_IO:
	case MEMOP_LEVEL_UNCACHED:
		return true;
	default:
		return is_remote(op);
	}
}

static double share_of(const struct memory *m, const struct memory_group *g, double *half)
{
	const struct memory_spread *s = memory_spread(m, g, memory_shown_latency(m));
	struct estimate e = s ? memory_cycles_share(m, s) : (struct estimate){ NAN, NAN, NULL };

	if (half)
		*half = e.half;
	return e.v;
}

/* The function with most of all latency, and the line of its instruction with most. */
static void set_slowest(struct finding *f, struct finding_work *w)
{
	const struct memory *m = w->in->memory;
	const struct memory_group *function = NULL, *at = NULL;
	double most = 0;

	for (size_t i = m->first[MEMORY_FUNCTION]; i < m->first[MEMORY_FUNCTION + 1]; i++)
		if (m->group[i].symbol && share_of(m, &m->group[i], NULL) > most) {
			function = &m->group[i];
			most = share_of(m, function, NULL);
		}
	if (!function)
		return;
	f->at = (struct finding_place){ function->symbol->name, NULL, most };
	if ((uint32_t)function->key[1] != IMAGE_NONE && w->in->images)
		f->at.dso = image_name(w->in->images, (uint32_t)function->key[1]);
	most = 0;
	for (size_t i = m->first[MEMORY_INSTRUCTION]; i < m->first[MEMORY_INSTRUCTION + 1]; i++)
		if (m->group[i].symbol == function->symbol && m->group[i].file &&
		    share_of(m, &m->group[i], NULL) > most) {
			at = &m->group[i];
			most = share_of(m, at, NULL);
		}
	f->file = at ? at->file : NULL;
	f->line = at ? at->line : 0;
}

/* Sources of loads that are far, together: those of this node, or of others. */
static void find_far(struct finding_work *w, bool remote)
{
	const struct memory *m = w->in->memory;
	struct finding f = { .kind = FINDING_MEMORY, .of = FINDING_OF_LATENCY };
	char text[MEMOP_TEXT];
	const char *source;
	struct memop op;
	double most = 0;

	for (size_t i = m->first[MEMORY_SOURCE]; i < m->first[MEMORY_SOURCE + 1]; i++) {
		double half, v = share_of(m, &m->group[i], &half);

		memory_op(&op, &m->group[i]);
		if (!(op.set[MEMOP_KIND] & MEMOP_KIND_LOAD) || !is_far(&op) ||
		    is_remote(&op) != remote || isnan(v))
			continue;
		f.share += v;
		f.half += half; /* at most: they are of the same whole */
		f.times += m->group[i].samples;
		source = memop_source(text, &op);
		if (v > most && source) {
			most = v;
			f.object = arena_xstrdup(&w->out->a, source);
		}
	}
	/* a load that comes from a nearer place waits, too */
	f.stake = f.share / 2;
	if (!f.object)
		return;
	set_slowest(&f, w);
	finding_add(w, &f, remote ? REMOTE : FAR);
}

void findings_memory(struct finding_work *w)
{
	find_sharing(w);
	if (!w->in->memory || !w->in->memory->samples)
		return;
	find_far(w, false);
	find_far(w, true);
}
