/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deferred - call chains whose user part is a record of its own (attr.defer_callchain, Linux 6.19)
 *
 * Such a chain ends with PERF_CONTEXT_USER_DEFERRED and a cookie. When the thread goes back to user
 * space, the kernel writes CALLCHAIN_DEFERRED: the cookie, a count, and as many words; the first
 * is PERF_CONTEXT_USER. Several samples may have one cookie, and the record may lie in another
 * data file, if the thread has moved to another CPU.
 *
 * After the walk, chunks with such samples are written anew, with whole chains and without the
 * records, so that nobody behind perfdata.h meets either. A user part whose record is missing
 * becomes one caller at 0: in no mapping, as are all callers that were lost. Counts by type stay
 * those of the file.
 *
 * Memory: a copy of each such chunk, in blocks (pd_block_new), of at most 16 MB and 256 times the
 * file: without a bound, a few samples that all name one long record could claim any. Chains beyond
 * it are lost.
 */
#include "base/invariant.h"
#include "perfdata/perfdata_int.h"

#include <inttypes.h>

#define FRONT	   24 /* header, cookie, count */
#define GROW_LEAST ((uint64_t)16 << 20)
#define GROW_TIMES 256

static bool event_defers(const struct pd_event *ev)
{
	return attr_flags(&ev->attr) & CYC_ATTR_DEFER_CALLCHAIN &&
	       ev->attr.sample_type & PERF_SAMPLE_CALLCHAIN;
}

bool pd_defers(const struct pd *rec)
{
	vec_each (&rec->events, const struct pd_event *, ev)
		if (event_defers(ev))
			return true;
	return false;
}

static uint64_t deferred_key(uint32_t tid, uint64_t cookie)
{
	return hash_u64(cookie) ^ hash_u64(tid + 1ULL);
}

int pd_deferred_add(struct pd *rec, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record r = { p, PD_RECORD_CALLCHAIN_DEFERRED, ld16(p + 4), (uint16_t)size,
				     0 };
	struct pd_deferred d = { .p = p, .cookie = ld64(p + 8) };
	uint64_t room, n = ld64(p + 16), *at;
	struct pd_sample_id id;
	bool fresh;

	pd_sample_id_get(rec, &r, &id);
	room = (size - FRONT) / 8;
	if (n > room) {
		pd_note(rec,
			"a deferred call chain claims %" PRIu64 " entries and has room for %" PRIu64
			": not used",
			n, room);
		return 0;
	}
	d.tid = id.tid;
	d.n = (uint32_t)n;
	at = u64map_at(&rec->deferred_at, deferred_key(d.tid, d.cookie), &fresh);
	if (!at)
		return err_nomem(err);
	/* the same chain is written once for each event that asks for it */
	if (!fresh)
		return 0;
	*at = rec->deferred.n;
	return vec_push(&rec->deferred, d) ? err_nomem(err) : 0;
}

static struct pd_deferred *deferred_find(const struct pd *rec, uint32_t tid, uint64_t cookie)
{
	const uint64_t *at = u64map_find(&rec->deferred_at, deferred_key(tid, cookie));
	struct pd_deferred *d = at ? &rec->deferred.v[*at] : NULL;

	return d && d->tid == tid && d->cookie == cookie ? d : NULL;
}

/* The cookie of a sample that waits for the user part of its chain. */
static bool sample_waits(const struct pd *rec, const struct pd_record *r,
			 const struct pd_event **ev, uint64_t *cookie)
{
	int event = r->type == PERF_RECORD_SAMPLE ? pd_sample_event(rec, r) : -1;
	const uint8_t *chain;
	uint64_t n;

	if (event < 0)
		return false;
	*ev = &rec->events.v[event];
	if (!event_defers(*ev) || !pd_chain_find(*ev, r, &chain, &n) || n < 2 ||
	    ld64(chain + 8 * (n - 2)) != CYC_CONTEXT_USER_DEFERRED)
		return false;
	*cookie = ld64(chain + 8 * (n - 1));
	return true;
}

/* Whether a chunk has anything to join. */
static bool chunk_waits(const struct pd *rec, const struct pd_chunk *c)
{
	const struct pd_event *ev;
	struct pd_record r = { 0 };
	uint64_t cookie;

	while (pd_next(c, &r))
		if (r.type == PD_RECORD_CALLCHAIN_DEFERRED || sample_waits(rec, &r, &ev, &cookie))
			return true;
	return false;
}

/* ---- writing anew ---- */

struct rewrite {
	struct walk w;
	uint8_t *block;
	size_t fill;
	uint64_t left; /* bytes that chains may still grow */
};

/* Room for the largest record with the largest user part. */
static int rewrite_room(struct rewrite *x, struct err *err)
{
	if (x->block && PD_BLOCK_SIZE - x->fill > 2 * UINT16_MAX)
		return 0;
	x->block = pd_block_new(x->w.rec, PD_BLOCK_SIZE);
	x->fill = 0;
	if (!x->block)
		return err_nomem(err);
	return walk_run_begin(&x->w, x->block, true, err);
}

/* The sample with its whole chain, at `to`. Returns its size, or -1 if it has no room for one. */
static int put_joined(struct rewrite *x, const struct pd_event *ev, const struct pd_record *r,
		      uint64_t cookie, uint8_t *to)
{
	struct pd *rec = x->w.rec;
	uint16_t mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t lost[3];
	uint32_t tid = ev->at.tid ? ld32(r->p + ev->at.tid + 4) : 0;
	struct pd_deferred *d = deferred_find(rec, tid, cookie);
	size_t n = 0;

	rec->info.deferred_samples++;
	if (d && d->n * 8ULL <= x->left) {
		x->left -= d->n * 8ULL;
		d->used = true;
		return pd_sample_end_chain(ev, r, 2, d->p + FRONT, d->n, to);
	}
	rec->info.deferred_lost++;
	/* no code of a kernel lies at 0, so there it needs no marker (chain_is_hole) */
	lost[n++] = mode == PERF_RECORD_MISC_KERNEL ? 0 : (uint64_t)PERF_CONTEXT_USER;
	if (mode == PERF_RECORD_MISC_USER && ev->at.ip) {
		lost[n++] = ld64(r->p + ev->at.ip);
		lost[n++] = 0;
	}
	return pd_sample_end_chain(ev, r, 2, lost, n, to);
}

static int rewrite_record(struct rewrite *x, const struct pd_record *r, struct err *err)
{
	struct pd *rec = x->w.rec;
	const struct pd_event *ev;
	uint64_t cookie;
	uint8_t *to;
	int size = -1;

	if (r->type == PD_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	if (rewrite_room(x, err))
		return -1;
	to = x->block + x->fill;
	if (sample_waits(rec, r, &ev, &cookie))
		size = put_joined(x, ev, r, cookie, to);
	if (size < 0) {
		memcpy(to, r->p, r->size);
		size = r->size;
	}
	if (r->type != PERF_RECORD_SAMPLE && walk_keep_side(&x->w, to, (size_t)size, err))
		return -1;
	x->fill += (size_t)size;
	x->w.run_end = to + size;
	return 0;
}

static int rewrite_chunk(struct rewrite *x, const struct pd_chunk *c, struct err *err)
{
	struct pd_record r = { 0 };

	if (x->block && walk_run_begin(&x->w, x->block + x->fill, true, err))
		return -1;
	while (pd_next(c, &r))
		if (rewrite_record(x, &r, err))
			return -1;
	return 0;
}

/* Its records that are no samples: side[from] up to side[end]. */
static int keep_chunk(struct rewrite *x, const struct pd_chunk *c, const struct pd_side *side,
		      size_t from, size_t end, struct err *err)
{
	if (walk_run_begin(&x->w, c->p, true, err))
		return -1;
	x->w.run_end = c->end;
	for (size_t i = from; i < end; i++)
		if (vec_push(&x->w.rec->sides, side[i]))
			return err_nomem(err);
	return 0;
}

static void note_deferred(struct pd *rec)
{
	struct pd_info *info = &rec->info;
	uint64_t unused = 0;

	vec_each (&rec->deferred, const struct pd_deferred *, d)
		unused += !d->used;
	if (info->deferred_lost)
		pd_note(rec,
			"%" PRIu64 " of %" PRIu64
			" samples lack the user part of their call chains: "
			"its records (CALLCHAIN_DEFERRED) are missing",
			info->deferred_lost, info->deferred_samples);
	if (unused)
		pd_note(rec,
			"%" PRIu64
			" user parts of call chains (CALLCHAIN_DEFERRED) belong to no sample",
			unused);
}

int pd_deferred_join(struct pd *rec, struct err *err)
{
	struct rewrite x = { .w = { .rec = rec, .in = rec->sources.v },
			     .left = GROW_LEAST + GROW_TIMES * rec->info.file_size };
	struct pd_chunk *chunk = rec->chunks.v;
	struct pd_side *side = rec->sides.v;
	size_t *first = rec->chunk_side.v, n = rec->chunks.n, n_side = rec->sides.n;
	int rc = -1;

	if (!pd_defers(rec) || !n)
		return 0;
	memset(&rec->chunks, 0, sizeof(rec->chunks));
	memset(&rec->sides, 0, sizeof(rec->sides));
	memset(&rec->chunk_side, 0, sizeof(rec->chunk_side));
	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1 < n ? first[i + 1] : n_side;

		if (chunk_waits(rec, &chunk[i])
			    ? rewrite_chunk(&x, &chunk[i], err)
			    : keep_chunk(&x, &chunk[i], side, first[i], end, err))
			goto out;
	}
	if (walk_run_close(&x.w, err))
		goto out;
	note_deferred(rec);
	rc = 0;
out:
	free(chunk);
	free(side);
	free(first);
	return rc;
}
