/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of samples, each different one once.
 *
 * Most chains were seen before: the 128-bit hash of a chain's bytes (and its process and event)
 * leads to its counts, without a look at a frame. A new one's frames are looked up, one by one, in
 * a table of addresses, and kept as a row of sites; no tree is made of them here. Sites hold for a
 * span of time; a chain met outside of it is looked up anew, and is a new one only if its sites
 * differ.
 *
 * With STACKS_CELLS the same is done with the callers alone, since the innermost frame differs
 * most: of a loop there are as many as it has instructions. It is one more look-up.
 *
 * The tables are larger than the processor's caches: samples wait in a small batch, so that their
 * rows can be prefetched.
 */
#include "analyse/profile/profile_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/vec.h"

#define SEEN_FRAMES  16384u
#define SEEN_LEAVES  16384u /* with STACKS_CELLS: of each sample one is asked for */
#define CELL_SLOTS   4096u
#define BLOCK_CHAINS 32768u
#define BLOCK_SITES  262144u /* no chain is as long */
#define WAIT	     32u
#define MAX_STACK    SAMPLE_FRAMES_RECORD

struct seen_frame {
	uint64_t ip, from, until;
	uint32_t proc_index, site;
	uint8_t kind, caller; /* kind 0xfe: an empty slot */
};

/* A frame of the chain at hand, before its site is known. */
struct seeking {
	struct seen_frame as, *to;
	struct site site;
	uint64_t hash;
	size_t i;
};

/* A sample with its chain in the record, before it is counted. */
struct waiting {
	struct pass_thread who; /* a copy: the worker's may be another's by then */
	const uint8_t *p;
	uint64_t n, lo, hi, ip, time, period;
	uint32_t event, cpu;
	uint8_t kind;
	struct sample_frame leaf; /* with STACKS_CELLS: p and n are of its callers */
};

struct walk {
	struct worker *w;
	struct tally *cut;		 /* CHAIN_CUTS of each event */
	VEC(struct walk_chain *) chains; /* blocks of BLOCK_CHAINS */
	size_t n_chains;
	struct itab at;		 /* by chain.lo */
	VEC(uint32_t *) sites;	 /* blocks of BLOCK_SITES */
	size_t n_sites;		 /* used in the last of them */
	VEC(struct weight) more; /* of chains with samples of different periods */
	struct seen_frame *frames;
	size_t n_seen;		/* of them; a power of two */
	struct sample_frames f; /* the chain at hand */
	uint32_t *site;		/* and its sites, outermost first, with the party's before them */
	size_t n_site;
	struct seeking *seeking;
	size_t n_seeking;
	bool by_comm;	/* the first of a chain's sites is its party */
	uint32_t stray; /* the site of callers in no mapping; ITAB_NONE until there are some */
	struct waiting wait[WAIT];
	unsigned n_wait;
	enum profile_stacks_how how;
	struct stack_keep keep;	  /* with opts.stacks */
	struct stack_cells cells; /* with STACKS_CELLS */
};

struct walk *walk_new(struct worker *w, struct err *err)
{
	struct walk *k = calloc(1, sizeof(*k));

	if (!k) {
		(void)err_nomem(err);
		return NULL;
	}
	k->w = w;
	k->cut = calloc(CHAIN_CUTS * (w->scan->n_events + 1), sizeof(*k->cut));
	k->stray = ITAB_NONE;
	k->how = w->scan->opts->stacks;
	k->keep.merge = k->how != STACKS_EACH;
	k->by_comm = w->scan->opts->chain_comm;
	if (sample_frames_init(&k->f, w->scan->sp, w->scan->opts->machine,
			       w->scan->opts->max_stack ? w->scan->opts->max_stack : MAX_STACK,
			       err)) {
		free(k);
		return NULL;
	}
	k->n_seen = pass_entries(w->scan->pass, k->how == STACKS_CELLS ? SEEN_LEAVES : SEEN_FRAMES);
	k->frames = malloc(k->n_seen * sizeof(*k->frames));
	k->site = malloc((k->f.max + 1) * sizeof(*k->site));
	k->seeking = malloc((k->f.max + 1) * sizeof(*k->seeking));
	if (!k->frames || !k->site || !k->seeking || !k->cut ||
	    (k->how == STACKS_CELLS &&
	     stack_cells_init(&k->cells, pass_entries(w->scan->pass, CELL_SLOTS)))) {
		(void)err_nomem(err);
		walk_free(k);
		return NULL;
	}
	memset(k->frames, 0xfe, k->n_seen * sizeof(*k->frames));
	return k;
}

/* Frees the tables that only finding needed. */
static void drop_lookups(struct walk *k)
{
	itab_free(&k->at);
	free(k->frames);
	free(k->site);
	free(k->seeking);
	sample_frames_free(&k->f);
	k->frames = NULL;
	k->site = NULL;
	k->seeking = NULL;
}

void walk_free(struct walk *k)
{
	if (!k)
		return;
	drop_lookups(k);
	vec_each (&k->chains, struct walk_chain **, block)
		free(*block);
	vec_free(&k->chains);
	walk_drop_sites(k);
	free(k->cut);
	vec_free(&k->more);
	vec_free(&k->keep.v);
	itab_free(&k->keep.at);
	stack_cells_free(&k->cells);
	free(k);
}

void walk_drop_sites(struct walk *k)
{
	vec_each (&k->sites, uint32_t **, block)
		free(*block);
	vec_free(&k->sites);
}

size_t walk_n_chains(const struct walk *k)
{
	return k->n_chains;
}

struct walk_chain *walk_chain_at(const struct walk *k, size_t i)
{
	return &k->chains.v[i / BLOCK_CHAINS][i % BLOCK_CHAINS];
}

struct weight walk_weight(const struct walk *k, const struct walk_chain *c)
{
	struct weight w = c->more ? k->more.v[c->more - 1] : (struct weight){ 0 };

	weight_add_n(&w, c->n, c->period);
	return w;
}

struct stack_keep *walk_kept(struct walk *k)
{
	return &k->keep;
}

struct stack_cells *walk_cells(struct walk *k)
{
	return &k->cells;
}

const struct tally *walk_cut(const struct walk *k)
{
	return k->cut;
}

const uint64_t *walk_broken(const struct walk *k)
{
	return k->f.ends;
}

/* Takes the innermost frame of a chain; its callers are left at *p. Returns false if none can be
 * used. */
static bool take_leaf(const uint8_t **p, uint64_t *n, struct sample_frame *leaf)
{
	*leaf = (struct sample_frame){ .kind = KIND_UNSAID };
	for (; *n; *p += 8, --*n) {
		enum space_kind c;

		leaf->ip = ld64(*p);
		if (!chain_is_marker(leaf->ip)) {
			leaf->caller = chain_is_hole(leaf->ip, leaf->kind);
			*p += 8;
			--*n;
			return true;
		}
		c = space_kind_of_marker(leaf->ip);
		if (c == SPACE_UNKNOWN)
			return false;
		leaf->kind = (uint8_t)c;
	}
	return false;
}

/* ---- frames to sites ---------------------------------------------------------------------------
 */

/* Sets the site of the frame that is i-th from outside if it is known; else the frame is put in
 * line to be found. */
static void seek_site(struct walk *k, const struct pass_thread *who, const struct sample_frame *f,
		      size_t i, uint64_t time, uint64_t *from, uint64_t *until)
{
	uint32_t proc = f->kind == SPACE_KERNEL ? 0 : who->proc_index;
	uint64_t h = (f->ip ^ (uint64_t)proc << 40 ^ f->caller) * 0x9e3779b97f4a7c15ULL;
	struct seen_frame *o = &k->frames[h >> 40 & (k->n_seen - 1)];
	struct seeking *m = &k->seeking[k->n_seeking];
	const struct seen_frame *said = &m->as;

	if (o->ip == f->ip && o->proc_index == proc && o->kind == f->kind &&
	    o->caller == f->caller && time >= o->from && time < o->until) {
		k->site[i] = o->site;
		said = o;
	} else {
		k->n_seeking++;
		m->as = (struct seen_frame){ .ip = f->ip,
					     .proc_index = proc,
					     .kind = f->kind,
					     .caller = f->caller,
					     .until = UINT64_MAX };
		if (f->kind != SPACE_KERNEL) {
			m->as.from = who->from;
			m->as.until = who->until;
		}
		m->site = scan_place(k->w, who, f->kind, f->ip, f->caller, time, &m->as.from,
				     &m->as.until);
		m->hash = site_hash(&m->site);
		m->to = o;
		m->i = i;
		site_ahead(&k->w->sites, m->hash);
	}
	if (said->from > *from)
		*from = said->from;
	if (said->until < *until)
		*until = said->until;
}

/* The first of several stray callers in a row is enough: their true number is not known. */
static void join_strays(struct walk *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n_site; i++)
		if (k->site[i] != k->stray || !n || k->site[n - 1] != k->stray)
			k->site[n++] = k->site[i];
	k->n_site = n;
}

/* Finds the frames in line. */
static int end_seeking(struct walk *k)
{
	for (size_t i = 0; i < k->n_seeking; i++)
		site_ahead_more(&k->w->sites, k->seeking[i].hash);
	for (size_t i = 0; i < k->n_seeking; i++) {
		struct seeking *m = &k->seeking[i];

		m->as.site = site_add(&k->w->sites, &m->site, m->hash);
		if (m->as.site == ITAB_NONE)
			return -1;
		if (addr_is_stray(m->site.image, m->site.addr))
			k->stray = m->as.site;
		k->site[m->i] = m->as.site;
		*m->to = m->as;
	}
	k->n_seeking = 0;
	return 0;
}

/* The sites of the chain at hand, and when they hold. */
static int find_sites(struct walk *k, const struct pass_thread *who, uint64_t time, uint64_t *from,
		      uint64_t *until)
{
	*from = who->from;
	*until = who->until;
	k->n_seeking = 0;
	k->n_site = k->f.n;
	for (size_t i = 0; i < k->n_site; i++)
		seek_site(k, who, &k->f.frame[k->f.n - 1 - i], i, time, from, until);
	if (end_seeking(k))
		return -1;
	if (k->stray != ITAB_NONE)
		join_strays(k);
	if (k->by_comm) {
		memmove(k->site + 1, k->site, k->n_site++ * sizeof(*k->site));
		k->site[0] = who->tag;
	}
	return 0;
}

/* ---- chains ------------------------------------------------------------------------------------
 */

static struct walk_chain *chain_slot(struct walk *k)
{
	const size_t size = BLOCK_CHAINS * sizeof(struct walk_chain);

	if (k->n_chains == k->chains.n * BLOCK_CHAINS) {
		struct walk_chain *block;

		if (k->n_chains >= ITAB_NONE - 1 || vec_reserve(&k->chains, k->chains.n + 1))
			return NULL;
		block = aligned_alloc(size, size);
		if (!block)
			return NULL;
		/* a wish; the first may well be all there is */
		if (k->chains.n)
			(void)madvise(block, size, MADV_HUGEPAGE);
		k->chains.v[k->chains.n++] = block;
	}
	return walk_chain_at(k, k->n_chains);
}

static uint32_t *keep_sites(struct walk *k)
{
	uint32_t *at;

	if (!k->sites.n || k->n_sites + k->n_site > BLOCK_SITES) {
		uint32_t *block = malloc(BLOCK_SITES * sizeof(*block));

		if (!block || vec_push(&k->sites, block)) {
			free(block);
			return NULL;
		}
		k->n_sites = 0;
	}
	at = k->sites.v[k->sites.n - 1] + k->n_sites;
	memcpy(at, k->site, k->n_site * sizeof(*at));
	k->n_sites += k->n_site;
	return at;
}

/* Returns a new chain of the sites at hand and its number, not yet to be found by its key. */
static struct walk_chain *new_chain(struct walk *k, uint64_t lo, uint64_t hi, uint32_t event,
				    uint32_t *idx)
{
	struct walk_chain *c = chain_slot(k);
	uint32_t *at = c ? keep_sites(k) : NULL;

	if (!at)
		return NULL;
	*c = (struct walk_chain){ .lo = lo,
				  .hi = hi,
				  .until = UINT64_MAX,
				  .at = at,
				  .n_at = (uint32_t)k->n_site,
				  .event = event };
	*idx = (uint32_t)k->n_chains++;
	return c;
}

/* Returns the chain under a key, and its number; *i is for itab_replace. */
static struct walk_chain *find_chain(const struct walk *k, uint64_t lo, uint64_t hi, size_t *i,
				     uint32_t *idx)
{
	*idx = ITAB_NONE;
	for (*i = itab_first(&k->at, lo); itab_at(&k->at, i, lo, idx);) {
		struct walk_chain *c = walk_chain_at(k, *idx);

		if (c->lo == lo && c->hi == hi)
			return c;
	}
	return NULL;
}

static int chain_count(struct walk *k, struct walk_chain *c, uint64_t period)
{
	if (c->n && (c->period != period || c->n == UINT32_MAX)) {
		if (!c->more) {
			if (k->more.n == UINT32_MAX || vec_reserve(&k->more, k->more.n + 1))
				return -1;
			k->more.v[k->more.n++] = (struct weight){ 0 };
			c->more = (uint32_t)k->more.n;
		}
		weight_add_n(&k->more.v[c->more - 1], c->n, c->period);
		c->n = 0;
	}
	c->period = period;
	c->n++;
	return 0;
}

/* The sample is of that chain. */
static int take_sample(struct walk *k, struct walk_chain *c, const struct pass_thread *who,
		       uint64_t time, uint32_t cpu, uint64_t period)
{
	bool each = k->how == STACKS_EACH;

	if (k->how != STACKS_NONE)
		return stack_keep(&k->keep, c, who->tag, each ? time : 0, each ? cpu : UINT32_MAX,
				  period);
	return chain_count(k, c, period);
}

/* The sample was at `leaf`, a site, called by that chain. */
static int take_cell(struct walk *k, uint32_t callers, uint32_t leaf, const struct pass_thread *who,
		     uint64_t time, uint32_t cpu, uint64_t period)
{
	const struct profile_bin *b = &k->w->scan->opts->bin;
	uint64_t bin = b->width && time > b->from ? (time - b->from) / b->width : 0;
	uint32_t place = stack_cells_place(&k->cells, who->tag, cpu);

	if (place == ITAB_NONE)
		return -1;
	return stack_cell_add(&k->cells, callers, leaf, place,
			      (uint16_t)(bin < STACK_BINS_MAX ? bin : STACK_BINS_MAX), period);
}

/* The same of a sample in line, with a leaf that is not found yet. */
static int take_waiting(struct walk *k, const struct waiting *s, struct walk_chain *c, uint32_t idx)
{
	uint64_t from = 0, until = UINT64_MAX;

	if (k->how != STACKS_CELLS)
		return take_sample(k, c, &s->who, s->time, s->cpu, s->period);
	seek_site(k, &s->who, &s->leaf, 0, s->time, &from, &until);
	if (end_seeking(k))
		return -1;
	return take_cell(k, idx, k->site[0], &s->who, s->time, s->cpu, s->period);
}

/* ---- samples -----------------------------------------------------------------------------------
 */

/* Counts the sample of the frames at hand, by their sites. */
static int count_by_sites(struct walk *k, const struct pass_thread *who, uint64_t time,
			  uint32_t cpu, uint64_t period, uint32_t event)
{
	uint64_t from, until;
	struct walk_chain *c;
	uint32_t idx, leaf;
	XXH128_hash_t h;
	size_t i;

	if (find_sites(k, who, time, &from, &until))
		return -1;
	leaf = k->site[k->n_site - 1];
	k->n_site -= k->how == STACKS_CELLS;
	h = XXH3_128bits_withSeed(k->site, k->n_site * sizeof(*k->site), event + 1ULL);
	c = find_chain(k, h.low64, h.high64, &i, &idx);
	if (!c) {
		c = new_chain(k, h.low64, h.high64, event, &idx);
		if (!c || itab_put(&k->at, h.low64, k->n_chains - 1))
			return -1;
	}
	if (k->how == STACKS_CELLS)
		return take_cell(k, idx, leaf, who, time, cpu, period);
	return take_sample(k, c, who, time, cpu, period);
}

/* Counts a chain that its key does not lead to, or does no longer: c, with the number idx. */
static int count_anew(struct walk *k, const struct waiting *s, struct walk_chain *c, uint32_t idx,
		      size_t i)
{
	bool cells = k->how == STACKS_CELLS; /* then the frames are the callers' */
	uint64_t from, until;

	k->f.n = 0;
	k->f.max -= cells;
	(void)sample_frames_recorded(&k->f, s->p, s->n, false, cells ? s->leaf.kind : KIND_UNSAID,
				     cells);
	k->f.max += cells;
	if (k->f.doubtful || (!k->f.n && !cells)) {
		/* the chain's bytes do not contain the place of the sample */
		(void)sample_frames_push(&k->f, s->ip, s->kind, false);
		return count_by_sites(k, &s->who, s->time, s->cpu, s->period, s->event);
	}
	if (find_sites(k, &s->who, s->time, &from, &until))
		return -1;
	if (!c) {
		c = new_chain(k, s->lo, s->hi, s->event, &idx);
		if (!c || itab_put(&k->at, s->lo, k->n_chains - 1))
			return -1;
	} else if (c->n_at != k->n_site ||
		   memcmp(c->at, k->site, k->n_site * sizeof(*k->site)) != 0) {
		c = new_chain(k, s->lo, s->hi, s->event, &idx);
		if (!c)
			return -1;
		itab_replace(&k->at, i, k->n_chains - 1);
	}
	c->from = from;
	c->until = until;
	return take_waiting(k, s, c, idx);
}

static int count_waiting(struct walk *k, struct err *err)
{
	unsigned n = k->n_wait;
	uint32_t idx;

	for (unsigned j = 0; j < n; j++) {
		size_t i = itab_first(&k->at, k->wait[j].lo);

		if (itab_at(&k->at, &i, k->wait[j].lo, &idx))
			__builtin_prefetch(walk_chain_at(k, idx), 1);
	}
	k->n_wait = 0;
	for (unsigned j = 0; j < n; j++) {
		const struct waiting *s = &k->wait[j];
		size_t i;
		struct walk_chain *c = find_chain(k, s->lo, s->hi, &i, &idx);
		bool known = c && s->time >= c->from && s->time < c->until;

		if (known ? take_waiting(k, s, c, idx) : count_anew(k, s, c, idx, i))
			return err_nomem(err);
	}
	return 0;
}

/* Returns the chain as it stands in the record, without parsing the rest of it. */
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

/* Counts a sample with more frames than stand in its record, or without a chain. */
static int count_made(struct walk *k, const struct scan_sample *s, struct err *err)
{
	k->f.n = 0;
	if (s->full && sample_frames_take(&k->f, &s->ev->how, s->full, s->who->proc, s->time, err))
		return -1;
	if (!k->f.n)
		(void)sample_frames_push(&k->f, s->ip, s->kind, false);
	return count_by_sites(k, s->who, s->time, s->cpu, s->period, s->event) ? err_nomem(err) : 0;
}

/* Counts a sample whose chain goes to a bound, beyond which there may be callers. */
static void count_cut(struct walk *k, const struct scan_sample *s, const uint8_t *p, uint64_t n)
{
	struct tally *t = &k->cut[CHAIN_CUTS * s->event];
	uint64_t frames = 0;

	for (uint64_t i = 0; i < n; i++)
		frames += !chain_is_marker(ld64(p + 8 * i));
	if (frames > k->f.max)
		t += CUT_BY_LIMIT;
	else if (frames != s->ev->cut_at)
		return;
	t->samples++;
	t->period += s->period;
}

int walk_sample(struct walk *k, const struct scan_sample *s, struct err *err)
{
	const struct scan_event *ev = s->ev;
	struct waiting *o;
	XXH128_hash_t h;
	uint64_t n, whose;
	const uint8_t *p = plain_chain(s, ev, &n);
	struct sample_frame leaf = { .kind = 0 };

	if (n > ev->cut_at || n > k->f.max)
		count_cut(k, s, p, n);
	if (sample_frames_made(&ev->how) || (!n && k->how != STACKS_CELLS))
		return count_made(k, s, err);
	if (k->how == STACKS_CELLS && !take_leaf(&p, &n, &leaf)) {
		leaf = (struct sample_frame){ .ip = s->ip, .kind = s->kind };
		n = 0;
	}
	h = n ? XXH3_128bits(p, n * 8) : (XXH128_hash_t){ 0, 0 };
	whose = s->who->proc_index ^ (uint64_t)leaf.kind << 32 ^
		(k->by_comm ? hash_u64(s->who->tag + 1ULL) : 0);
	o = &k->wait[k->n_wait++];
	/* many processes may have one chain, or none: both halves of the key contain the process */
	*o = (struct waiting){ .who = *s->who,
			       .p = p,
			       .n = n,
			       .lo = h.low64 ^ (uint64_t)s->event << 32 ^ hash_u64(whose),
			       .hi = h.high64 ^ whose,
			       .ip = s->ip,
			       .time = s->time,
			       .period = s->period,
			       .event = s->event,
			       .cpu = s->cpu,
			       .kind = s->kind,
			       .leaf = leaf };
	itab_ahead(&k->at, o->lo);
	return k->n_wait == WAIT ? count_waiting(k, err) : 0;
}

int walk_done(struct walk *k, struct err *err)
{
	int ret = count_waiting(k, err);

	if (!ret && stack_cells_settle(&k->cells))
		ret = err_nomem(err);
	drop_lookups(k);
	return ret;
}
