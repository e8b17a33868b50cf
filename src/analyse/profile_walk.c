/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of samples into a worker's prefix tree.
 *
 * Most chains were seen before: a direct-mapped table from the 128-bit hash of a chain's bytes (and
 * its process and event) to the leaf it ended at answers those without looking at a frame. Of the
 * others, the part that the last chain of the same process had too, counted from the outermost
 * frame, is taken from there; each further frame costs a look into a table of addresses and one
 * into the tree. All three remember for which span of time their answers hold.
 */
#include "analyse/profile_int.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SEEN_CHAINS 16384u
#define SEEN_FRAMES 16384u
#define MAX_STACK   127u
#define MAX_FRAMES  65536u /* more than fit in the largest record */

/* Newer than the headers of Linux 6.1 or not in them. */
#define CONTEXT_GUEST	     ((uint64_t)-2048)
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)
#define CONTEXT_GUEST_USER   ((uint64_t)-2560)
#define CONTEXT_MAX	     ((uint64_t)-4095)

struct seen_chain {
	uint64_t lo, hi, from, until;
	uint32_t leaf; /* ITAB_NONE: an empty slot */
};

struct seen_frame {
	uint64_t ip, from, until;
	uint32_t proc_index, site;
	uint8_t kind, caller; /* kind 0xfe: an empty slot */
};

struct frame { /* of a chain being walked */
	uint64_t ip;
	uint8_t kind, caller;
};

struct step { /* of the last chain, from the outermost frame */
	uint64_t ip, from, until;
	uint32_t node;
	uint8_t kind, caller;
};

struct walk {
	struct worker *w;
	struct chain_tree tree;
	struct walk_leaf *leaf;
	size_t n_leaf, cap_leaf;
	uint32_t *leaf_of; /* by node: its first leaf, or ITAB_NONE */
	size_t cap_leaf_of;
	struct seen_chain *chains;
	struct seen_frame *frames;
	struct frame *frame; /* the chain at hand, innermost first */
	size_t n_frame, max_frame;
	bool from_ip; /* the record had no frame: it is the sample's own address */
	struct step *last;
	size_t n_last;
	uint32_t last_proc;
	uint32_t *function; /* by the worker's sites: the site of the function's start */
	size_t cap_function;
	struct unwinder *unwinder; /* made at the first use */
	uint64_t *ips;		   /* what it found */
	uint64_t broken[8];
};

struct walk *walk_new(struct worker *w, struct err *err)
{
	struct walk *k = calloc(1, sizeof(*k));

	if (!k) {
		(void)err_nomem(err);
		return NULL;
	}
	k->w = w;
	k->max_frame = w->scan->opts->max_stack ? w->scan->opts->max_stack : MAX_STACK;
	if (k->max_frame > MAX_FRAMES)
		k->max_frame = MAX_FRAMES;
	k->chains = malloc(SEEN_CHAINS * sizeof(*k->chains));
	k->frames = malloc(SEEN_FRAMES * sizeof(*k->frames));
	k->frame = malloc((k->max_frame + 1) * sizeof(*k->frame));
	k->last = malloc((k->max_frame + 1) * sizeof(*k->last));
	k->ips = malloc((k->max_frame + 1) * sizeof(*k->ips));
	if (!k->chains || !k->frames || !k->frame || !k->last || !k->ips) {
		(void)err_nomem(err);
		walk_free(k);
		return NULL;
	}
	memset(k->chains, 0xff, SEEN_CHAINS * sizeof(*k->chains));
	memset(k->frames, 0xfe, SEEN_FRAMES * sizeof(*k->frames));
	return k;
}

void walk_free(struct walk *k)
{
	if (!k)
		return;
	chain_free(&k->tree);
	free(k->leaf_of);
	free(k->function);
	free(k->leaf);
	free(k->chains);
	free(k->frames);
	free(k->frame);
	free(k->last);
	free(k->ips);
	unwinder_free(k->unwinder);
	free(k);
}

const struct chain_tree *walk_tree(const struct walk *k)
{
	return &k->tree;
}

const struct walk_leaf *walk_leaves(const struct walk *k, size_t *n)
{
	*n = k->n_leaf;
	return k->leaf;
}

const uint64_t *walk_broken(const struct walk *k)
{
	return k->broken;
}

/* ---- a sample's frames, innermost first --------------------------------------------------------
 */

static bool push_frame(struct walk *k, uint64_t ip, uint8_t kind, bool caller)
{
	if (k->n_frame >= k->max_frame)
		return false;
	k->frame[k->n_frame++] = (struct frame){ ip, kind, caller };
	return true;
}

/* The space a context marker switches to; -1 where it is none that means something. */
static int context_kind(uint64_t ip)
{
	switch (ip) {
	case (uint64_t)PERF_CONTEXT_HV:
		return SPACE_HYPERVISOR;
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return SPACE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return SPACE_USER;
	case CONTEXT_GUEST:
	case CONTEXT_GUEST_USER:
		return SPACE_GUEST_USER;
	case CONTEXT_GUEST_KERNEL:
		return SPACE_GUEST_KERNEL;
	default:
		return -1;
	}
}

/* The frames that the kernel wrote. A marker that nobody knows makes all of it doubtful: dropped,
 * as perf does. `until_user` ends at the mark of user space; true where that mark was met. */
static bool recorded_frames(struct walk *k, const uint8_t *p, uint64_t n, bool until_user)
{
	uint8_t kind = KIND_UNSAID;
	bool caller = false;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t ip = ld64(p + i * 8);

		if (ip >= CONTEXT_MAX) {
			int c = context_kind(ip);

			if (c < 0) {
				k->n_frame = 0;
				return false;
			}
			if (until_user && c == SPACE_USER)
				return true;
			kind = (uint8_t)c;
			/* the first of a context is where it was interrupted */
			caller = false;
			continue;
		}
		if (!push_frame(k, ip, kind, caller))
			break;
		caller = true;
	}
	return false;
}

/* A branch stack in call-stack mode: the newest entry's target is in the running function, each
 * source is a call that has not returned. */
static bool lbr_frames(struct walk *k, const struct pd_sample *s)
{
	if (!(s->has & PERF_SAMPLE_BRANCH_STACK) || !s->n_branch)
		return false;
	if (!recorded_frames(k, s->chain, s->n_chain, true)) {
		k->n_frame = 0;
		return false;
	}
	for (uint64_t i = 0; i < s->n_branch; i++) {
		struct pd_branch b = pd_branch_get(s, i);

		if (i == 0 && !push_frame(k, b.to, SPACE_USER, false))
			break;
		/* not a return address: the call itself */
		if (!push_frame(k, b.from, SPACE_USER, false))
			break;
	}
	return true;
}

static int dwarf_frames(struct walk *k, const struct scan_sample *s, struct err *err)
{
	const struct pd_sample *f = s->full;
	enum unwind_end end = UNWIND_DONE;
	struct unwind_in in = {
		.proc = s->who->proc,
		.time = s->time,
		.machine = k->w->scan->opts->machine,
		.abi = f->regs_user.abi,
		.reg_mask = f->regs_user.mask,
		.regs = f->regs_user.v,
		.stack = f->stack,
		.stack_size = f->stack_size,
	};
	size_t n;

	if (!(f->has & PERF_SAMPLE_STACK_USER) || !f->stack_size || !f->regs_user.abi)
		return 0;
	if (!k->unwinder) {
		k->unwinder = unwinder_new(k->w->scan->sp, err);
		if (!k->unwinder)
			return -1;
	}
	n = unwind_user(k->unwinder, &in, k->ips, k->max_frame - k->n_frame, &end);
	if ((unsigned)end < 8)
		k->broken[end]++;
	for (size_t i = 0; i < n; i++)
		if (!push_frame(k, k->ips[i], SPACE_USER, i > 0))
			break;
	return 0;
}

/* ---- frames into the tree ----------------------------------------------------------------------
 */

/* The start of the function that holds `s`, or `s` itself where that is not known for sure. */
static int function_start(struct walk *k, struct site *s, struct err *err)
{
	struct images *images = spaces_images(k->w->scan->sp);
	pthread_mutex_t *lock;
	const struct symbol *sym = NULL, *again = NULL;
	int ret;

	if (s->image >= k->w->scan->n_images)
		return 0;
	lock = &k->w->scan->image_lock[s->image];
	(void)pthread_mutex_lock(lock);
	ret = image_resolve(images, s->image, &s->addr, 1, &sym, err);
	if (!ret && sym && sym->start != s->addr)
		ret = image_resolve(images, s->image, &sym->start, 1, &again, err);
	(void)pthread_mutex_unlock(lock);
	if (!ret && again && again == sym)
		s->addr = sym->start;
	return ret;
}

/* The worker's site for a place that a chain leads through. */
static uint32_t folded_site(struct walk *k, const struct site *place)
{
	struct site s = *place;
	uint32_t raw;

	raw = site_add(&k->w->sites, &s);
	if (raw == ITAB_NONE || k->w->scan->caller_sites)
		return raw;
	if (raw >= k->cap_function) {
		size_t cap = k->w->sites.cap;
		uint32_t *v = realloc(k->function, cap * sizeof(*v));

		if (!v)
			return ITAB_NONE;
		memset(v + k->cap_function, 0xff, (cap - k->cap_function) * sizeof(*v));
		k->function = v;
		k->cap_function = cap;
	}
	if (k->function[raw] == ITAB_NONE) {
		if (function_start(k, &s, NULL))
			return ITAB_NONE;
		k->function[raw] = site_add(&k->w->sites, &s);
	}
	return k->function[raw];
}

static uint32_t frame_site(struct walk *k, const struct who *who, const struct frame *f,
			   uint64_t time, uint64_t *from, uint64_t *until)
{
	uint32_t proc = f->kind == SPACE_KERNEL ? 0 : who->proc_index;
	uint64_t h = (f->ip ^ (uint64_t)proc << 40 ^ f->caller) * 0x9e3779b97f4a7c15ULL;
	struct seen_frame *o = &k->frames[h >> 40 & (SEEN_FRAMES - 1)];
	struct site s;

	if (o->ip != f->ip || o->proc_index != proc || o->kind != f->kind ||
	    o->caller != f->caller || time < o->from || time >= o->until) {
		o->kind = 0xfe;
		o->from = f->kind == SPACE_KERNEL ? 0 : who->from;
		o->until = f->kind == SPACE_KERNEL ? UINT64_MAX : who->until;
		s = scan_place(k->w, who, f->kind, f->ip, f->caller, time, &o->from, &o->until);
		o->site = folded_site(k, &s);
		if (o->site == ITAB_NONE)
			return ITAB_NONE;
		o->ip = f->ip;
		o->proc_index = proc;
		o->kind = f->kind;
		o->caller = f->caller;
	}
	if (o->from > *from)
		*from = o->from;
	if (o->until < *until)
		*until = o->until;
	return o->site;
}

/* The node of the chain at hand; UINT32_MAX when out of memory. */
static uint32_t insert(struct walk *k, const struct who *who, uint64_t time, uint64_t *from,
		       uint64_t *until)
{
	uint32_t node = 0;
	size_t i = 0;

	if (who->proc_index != k->last_proc)
		k->n_last = 0;
	k->last_proc = who->proc_index;
	*from = who->from;
	*until = who->until;
	for (; i < k->n_last && i < k->n_frame; i++) {
		const struct frame *f = &k->frame[k->n_frame - 1 - i];
		const struct step *l = &k->last[i];

		if (l->ip != f->ip || l->kind != f->kind || l->caller != f->caller ||
		    time < l->from || time >= l->until)
			break;
		node = l->node;
		*from = l->from;
		*until = l->until;
	}
	for (; i < k->n_frame; i++) {
		const struct frame *f = &k->frame[k->n_frame - 1 - i];
		uint32_t site = frame_site(k, who, f, time, from, until);

		if (site == ITAB_NONE)
			return UINT32_MAX;
		node = chain_add(&k->tree, node, site);
		if (node == UINT32_MAX)
			return UINT32_MAX;
		k->last[i] = (struct step){ f->ip, *from, *until, node, f->kind, f->caller };
	}
	k->n_last = k->n_frame;
	return node;
}

static int grow_leaves(struct walk *k)
{
	if (k->tree.cap > k->cap_leaf_of) {
		uint32_t *v = realloc(k->leaf_of, k->tree.cap * sizeof(*v));

		if (!v)
			return -1;
		memset(v + k->cap_leaf_of, 0xff, (k->tree.cap - k->cap_leaf_of) * sizeof(*v));
		k->leaf_of = v;
		k->cap_leaf_of = k->tree.cap;
	}
	if (k->n_leaf == k->cap_leaf) {
		size_t cap = k->cap_leaf ? k->cap_leaf * 2 : 256;
		struct walk_leaf *leaf = realloc(k->leaf, cap * sizeof(*leaf));

		if (!leaf)
			return -1;
		k->leaf = leaf;
		k->cap_leaf = cap;
	}
	return 0;
}

/* The leaf of an event at a node: a node has a list of them, mostly of one. */
static uint32_t leaf_add(struct walk *k, uint32_t node, uint32_t event)
{
	uint32_t at;

	if (grow_leaves(k))
		return ITAB_NONE;
	for (at = k->leaf_of[node]; at != ITAB_NONE; at = k->leaf[at].next)
		if (k->leaf[at].event == event)
			return at;
	at = (uint32_t)k->n_leaf++;
	memset(&k->leaf[at], 0, sizeof(k->leaf[at]));
	k->leaf[at].node = node;
	k->leaf[at].event = event;
	k->leaf[at].next = k->leaf_of[node];
	k->leaf_of[node] = at;
	return at;
}

/* The chain as it stands in the record, without parsing the rest of it. */
static const uint8_t *plain_chain(const struct scan_sample *s, const struct scan_event *ev,
				  uint64_t *n)
{
	uint64_t room;

	*n = 0;
	if (s->full) {
		if (s->full->has & PERF_SAMPLE_CALLCHAIN)
			*n = s->full->n_chain;
		return s->full->chain;
	}
	if (!ev->plain_chain || s->r->size < ev->at.fixed_end + 8)
		return NULL;
	room = (uint64_t)(s->r->size - ev->at.fixed_end - 8) / 8;
	*n = ld64(s->r->p + ev->at.fixed_end);
	if (*n > room)
		*n = 0;
	return s->r->p + ev->at.fixed_end + 8;
}

static int find_leaf(struct walk *k, const struct scan_sample *s, uint32_t *leaf, uint64_t *from,
		     uint64_t *until, struct err *err)
{
	const struct scan_event *ev = s->ev;
	uint64_t n;
	const uint8_t *p = plain_chain(s, ev, &n);
	uint32_t node;

	k->n_frame = 0;
	if (!ev->lbr_chain || !s->full || !lbr_frames(k, s->full))
		(void)recorded_frames(k, p, n, false);
	if (ev->dwarf && s->full && dwarf_frames(k, s, err))
		return -1;
	k->from_ip = !k->n_frame;
	if (k->from_ip)
		(void)push_frame(k, s->ip, s->kind, false);
	node = insert(k, s->who, s->time, from, until);
	if (node == UINT32_MAX)
		return err_nomem(err);
	*leaf = leaf_add(k, node, s->event);
	return *leaf == ITAB_NONE ? err_nomem(err) : 0;
}

int walk_sample(struct walk *k, const struct scan_sample *s, struct err *err)
{
	const struct scan_event *ev = s->ev;
	struct seen_chain *o;
	uint64_t n, lo, hi, from, until;
	uint32_t leaf;
	const uint8_t *p = plain_chain(s, ev, &n);
	XXH128_hash_t h;

	if (ev->lbr_chain || ev->dwarf || !n) {
		if (find_leaf(k, s, &leaf, &from, &until, err))
			return -1;
		weight_add(&k->leaf[leaf].w, s->period);
		return 0;
	}
	h = XXH3_128bits(p, n * 8);
	lo = h.low64 ^ (uint64_t)s->event << 32;
	hi = h.high64 ^ s->who->proc_index;
	o = &k->chains[(lo ^ hi) & (SEEN_CHAINS - 1)];
	if (o->leaf == ITAB_NONE || o->lo != lo || o->hi != hi || s->time < o->from ||
	    s->time >= o->until) {
		o->leaf = ITAB_NONE;
		if (find_leaf(k, s, &leaf, &o->from, &o->until, err))
			return -1;
		o->lo = lo;
		o->hi = hi;
		/* without a frame the chain's bytes do not tell where the sample was */
		o->leaf = k->from_ip ? ITAB_NONE : leaf;
		weight_add(&k->leaf[leaf].w, s->period);
		return 0;
	}
	weight_add(&k->leaf[o->leaf].w, s->period);
	return 0;
}
