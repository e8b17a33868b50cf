/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples with their chains: a sequence of packets for each event, in the order of time. A chain,
 * a frame, a name is written before the first sample that has it. The count of a sample is that of
 * its event on its CPU so far, as the periods add up to it.
 */
#include "base/xalloc.h"
#include "report/export/perfetto.h"

#include <stdlib.h>

#include "base/sort.h"

enum seen_kind { SEEN_STACK = 1, SEEN_FRAME, SEEN_FUNCTION, SEEN_SOURCE, SEEN_MAPPING };

struct sampling_out {
	struct perfetto *x;
	struct u64map seen;    /* of this sequence: kind and number */
	struct u64map counted; /* by CPU, of this event */
	VEC(uint32_t) chain;
	struct buf stack;
};

static bool first_seen(struct sampling_out *o, enum seen_kind kind, uint64_t id)
{
	uint64_t *times = u64map_xat(&o->seen, (uint64_t)kind << 56 | id, NULL);

	return !(*times)++;
}

/* Returns the number of a name in its table; they count from 1. */
static uint64_t name_of(struct sampling_out *o, enum seen_kind kind, unsigned field, const char *s)
{
	struct perfetto *x = o->x;
	uint32_t id = export_string(&x->names, s);

	if (id == STR_NONE) {
		x->failed = true;
		return 1;
	}
	if (first_seen(o, kind, id))
		perfetto_intern(x, field, id + 1ULL, 2, s);
	return id + 1ULL;
}

/* The file as a whole: addresses of frames are the file's own. */
static uint64_t mapping_of(struct sampling_out *o, uint32_t image)
{
	struct perfetto *x = o->x;
	struct images *images = x->in->images;
	bool known = image < images_count(images);
	uint64_t id = known ? image + 2ULL : 1;
	const struct image_key *key = known ? image_key(images, image) : NULL;

	if (!first_seen(o, SEEN_MAPPING, id))
		return id;
	if (key && key->build_id) {
		proto_u64(&x->inner, 1, id);
		proto_bytes(&x->inner, 2, key->build_id, key->build_id_len);
		proto_message(&x->interned, INTERNED_BUILD_ID, &x->inner);
	}
	perfetto_intern(x, INTERNED_PATH, id, 2,
			!key			  ? "[unknown]"
			: key->kind == IMAGE_FILE ? image_path(images, image)
						  : image_name(images, image));
	proto_u64(&x->inner, 1, id);
	if (key && key->build_id)
		proto_u64(&x->inner, 2, id);
	proto_u64(&x->inner, 7, id);
	proto_message(&x->interned, INTERNED_MAPPING, &x->inner);
	return id;
}

static uint64_t frame_of(struct sampling_out *o, const struct stack_site *site, uint32_t at)
{
	struct perfetto *x = o->x;
	const struct profile_frame *f = &x->s->frame[x->s->frame_id[at]];
	uint64_t id = at + 1ULL, mapping, name, source;

	if (!first_seen(o, SEEN_FRAME, id))
		return id;
	mapping = mapping_of(o, site->image);
	name = name_of(o, SEEN_FUNCTION, INTERNED_FUNCTION,
		       strtab_get(profile_strings(x->in->profile), f->name));
	source = f->line.file ? name_of(o, SEEN_SOURCE, INTERNED_SOURCE, f->line.file) : 0;
	proto_u64(&x->inner, 1, id);
	proto_u64(&x->inner, 2, name);
	proto_u64(&x->inner, 3, mapping);
	proto_number(&x->inner, 4, export_address(x->in->images, site));
	proto_u64(&x->inner, 5, source);
	proto_u64(&x->inner, 6, f->line.line);
	proto_message(&x->interned, INTERNED_FRAME, &x->inner);
	return id;
}

/* A chain is its node in the tree; outermost frame first. */
static void put_stack(struct sampling_out *o, uint32_t node)
{
	struct perfetto *x = o->x;

	if (!first_seen(o, SEEN_STACK, node))
		return;
	o->chain.n = 0;
	for (uint32_t i = node; i; i = x->s->node[i].parent)
		vec_xpush(&o->chain, x->s->node[i].site);
	proto_u64(&o->stack, 1, node);
	for (size_t i = o->chain.n; i--;) {
		const struct stack_site *site = &x->s->site[o->chain.v[i]];

		for (uint32_t k = 0; k < site->n; k++)
			proto_u64(&o->stack, 2, frame_of(o, site, site->first + k));
	}
	proto_message(&x->interned, INTERNED_STACK, &o->stack);
}

static unsigned mode_of(const struct perfetto *x, uint32_t node)
{
	switch (x->s->site[x->s->node[node].site].kind) {
	case SPACE_KERNEL:
		return 1;
	case SPACE_USER:
		return 2;
	case SPACE_HYPERVISOR:
		return 3;
	case SPACE_GUEST_KERNEL:
		return 4;
	case SPACE_GUEST_USER:
		return 5;
	default:
		return 0;
	}
}

static void put_perf_sample(struct sampling_out *o, const struct stack_sample *v)
{
	struct perfetto *x = o->x;
	const struct stack_thread *t = &x->s->thread[v->thread];
	uint64_t *counted = u64map_xat(&o->counted, v->cpu, NULL);

	*counted += v->period;
	put_stack(o, v->node);
	if (v->cpu != UINT32_MAX)
		proto_number(&x->message, 1, v->cpu);
	if (t->pid != UINT32_MAX)
		proto_number(&x->message, 2, t->pid);
	if (t->tid != UINT32_MAX)
		proto_number(&x->message, 3, t->tid);
	proto_u64(&x->message, 4, v->node);
	proto_u64(&x->message, 5, mode_of(x, v->node));
	proto_u64(&x->message, 6, *counted);
	proto_number(&x->packet, PACKET_TIME, v->time);
	proto_message(&x->packet, PACKET_SAMPLE, &x->message);
	perfetto_packet(x, SEQUENCE_SAMPLES + v->event, false);
}

static void begin_event(struct sampling_out *o, uint32_t event)
{
	struct perfetto *x = o->x;
	const struct pd_event *e = &x->in->source.event[event];

	u64map_free(&o->seen);
	u64map_free(&o->counted);
	proto_u64(&x->inner, e->attr.freq ? 2 : 1,
		  e->attr.freq ? e->attr.sample_freq : e->attr.sample_period);
	perfetto_text(x, &x->inner, 10, e->name);
	proto_message(&o->stack, 1, &x->inner);
	proto_message(&x->message, 12, &o->stack);
	proto_message(&x->packet, PACKET_DEFAULTS, &x->message);
	perfetto_packet(x, SEQUENCE_SAMPLES + event, true);
}

void perfetto_samples(struct perfetto *x)
{
	struct sampling_out o = { .x = x };
	size_t n = x->s->n_samples;
	struct keyed *v = xmalloc((n + 1) * sizeof(*v)), *scratch = xmalloc((n + 1) * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (struct keyed){ x->s->sample[i].time, (uint32_t)i, 0 };
	keyed_sort(v, scratch, n);
	for (size_t i = 0; i < n; i++)
		v[i].key = x->s->sample[v[i].a].event;
	keyed_sort(v, scratch, n);
	free(scratch);
	for (size_t i = 0; i < n && !x->out->failed; i++) {
		const struct stack_sample *s = &x->s->sample[v[i].a];

		if (!i || v[i - 1].key != v[i].key)
			begin_event(&o, s->event);
		put_perf_sample(&o, s);
	}
	free(v);
	u64map_free(&o.seen);
	u64map_free(&o.counted);
	vec_free(&o.chain);
	x->failed |= o.stack.failed;
	buf_free(&o.stack);
}
