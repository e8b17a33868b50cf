/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk - the one walk over all records that pd_open makes.
 *
 * It hops from header to header, and on the way counts records by type and samples by event, cuts
 * the recording into chunks, and writes down where the records lie that are no samples, so that
 * pd_walk need not look for them. Records with something behind them that is no record (AUXTRACE,
 * tracing data) end a chunk; so do COMPRESSED ones, whose contents become chunks of their own, in
 * their place.
 *
 * Cost: one dependent load a record, and the sample's period and time, which lie next to it; a
 * second thread (ahead.c) makes the kernel map a large file, and passes the side-band records on.
 */
#include "base/invariant.h"
#include "perfdata/perfdata_int.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t walk_offset(const struct walk *w, const uint8_t *p)
{
	return w->inside ? w->base : w->base + (uint64_t)(p - w->in->p);
}

/* "offset 104", "data.3: offset 104", "unpacked from the record at offset 104" */
static const char *where_in_file(const struct walk *w, const uint8_t *p, char out[static 96])
{
	(void)snprintf(out, 96, "%s%s%soffset %" PRIu64, w->in->name ? w->in->name : "",
		       w->in->name ? ": " : "", w->inside ? "unpacked from " : "",
		       walk_offset(w, p));
	return out;
}

/* ---- chunks ---- */

int walk_run_close(struct walk *w, struct err *err)
{
	struct pd *rec = w->rec;
	struct pd_chunk c = { w->run, w->run_end, w->seq };

	assert(w->run <= w->run_end);
	if (w->run == w->run_end)
		return 0;
	assert(!rec->chunks.n || w->seq >= vec_last(&rec->chunks)->seq);
	if (vec_push(&rec->chunks, c) || vec_push(&rec->chunk_side, w->run_side))
		return err_nomem(err);
	if (rec->ahead && pd_ahead_chunk(rec->ahead, &c, rec->sides.v + w->run_side,
					 rec->feeding ? rec->sides.n - w->run_side : 0, err))
		return -1;
	w->seq += (uint64_t)(w->run_end - w->run);
	return 0;
}

int walk_run_begin(struct walk *w, const uint8_t *p, bool always, struct err *err)
{
	if (!always && p == w->run_end)
		return 0;
	if (walk_run_close(w, err))
		return -1;
	w->run = w->run_end = p;
	w->run_side = w->rec->sides.n;
	w->side_end = NULL;
	return 0;
}

int walk_keep_side(struct walk *w, const uint8_t *p, size_t size, struct err *err)
{
	struct pd *rec = w->rec;
	struct pd_side s = { (uint32_t)(p - w->run), 1 };

	if (p == w->side_end)
		vec_last(&rec->sides)->n++;
	else if (vec_push(&rec->sides, s))
		return err_nomem(err);
	w->side_end = p + size;
	return 0;
}

/* ---- counting ---- */

static int count_other(struct pd *rec, uint32_t type, size_t size, struct err *err)
{
	enum { UNKNOWN_MAX = 256 };
	struct pd_unknown u = { type, 1, size };

	if (type < PD_KNOWN_END) {
		rec->count[type]++;
		rec->bytes[type] += size;
		return 0;
	}
	if (rec->unknown.n >= UNKNOWN_MAX)
		u.type = UINT32_MAX;
	vec_each (&rec->unknown, struct pd_unknown *, it) {
		if (it->type != u.type)
			continue;
		it->count++;
		it->bytes += size;
		return 0;
	}
	return vec_push(&rec->unknown, u) ? err_nomem(err) : 0;
}

static int count_lost(struct pd *rec, const uint8_t *p, size_t size, struct err *err)
{
	struct pd_record r = { p, PERF_RECORD_SAMPLE, ld16(p + 4), (uint16_t)size, 0 };
	struct pd_sample s;

	if (pd_sample_parse(rec, &r, &s) || !(s.has & PERF_SAMPLE_READ) ||
	    !(s.event->attr.read_format & PERF_FORMAT_LOST))
		return 0;
	for (uint64_t i = 0; i < s.n_read; i++) {
		struct pd_read v = pd_read_get(&s, i);

		if (pd_keep_lost(rec, v.id, v.lost, err))
			return -1;
	}
	return 0;
}

/* The event of a sample, remembering the last id: runs of one event are the rule. */
static struct pd_event *event_of_sample(struct pd *rec, const uint8_t *p, size_t size)
{
	uint64_t id, *v;

	if (rec->events.n == 1 || (rec->events.n && !rec->id_at))
		return rec->events.v;
	if (!rec->events.n || size < rec->id_at + 8)
		return NULL;
	id = ld64(p + rec->id_at);
	if (!rec->last_known || id != rec->last_id) {
		v = u64map_find(&rec->ids, id);
		if (!v)
			return NULL;
		rec->last_id = id;
		rec->last_event = (uint32_t)*v;
		rec->last_known = true;
	}
	return &rec->events.v[rec->last_event];
}

static inline void note_sample_period(struct pd_event *ev, uint64_t period)
{
	ev->period += period;
	if (period < ev->least || !ev->most)
		ev->least = period;
	if (period > ev->most)
		ev->most = period;
}

static inline int count_pd_sample(struct pd *rec, const uint8_t *p, size_t size, struct err *err)
{
	struct pd_event *ev = event_of_sample(rec, p, size);
	uint64_t time;

	rec->count[PERF_RECORD_SAMPLE]++;
	rec->bytes[PERF_RECORD_SAMPLE] += size;
	if (!ev) {
		rec->unknown_id_samples++;
		return 0;
	}
	if (size < ev->at.fixed_end) {
		rec->short_samples++;
		return 0;
	}
	ev->samples++;
	if (ev->at.period)
		note_sample_period(ev, ld64(p + ev->at.period));
	else
		ev->period += ev->attr.sample_period ? ev->attr.sample_period : 1;
	if (ev->at.time) {
		time = ld64(p + ev->at.time);
		if (time < rec->first_time)
			rec->first_time = time;
		if (time > rec->last_time)
			rec->last_time = time;
	}
	return rec->want_lost ? count_lost(rec, p, size, err) : 0;
}

static int other_record(struct walk *w, uint8_t *p, uint32_t type, size_t size, struct err *err)
{
	const struct record_row *row = pd_record_row(type);

	if (count_other(w->rec, type, size, err) || walk_keep_side(w, p, size, err))
		return -1;
	if (!row || !row->hook)
		return 0;
	if (size < row->least) {
		char at[96];

		pd_note(w->rec, "%s: a %s record of %zu bytes, at least %u expected",
			where_in_file(w, p, at), row->name, size, row->least);
		return 0;
	}
	return row->hook(w, p, size, err);
}

/* ---- following ---- */

struct head {
	uint32_t type;
	size_t size;
};

static inline struct head read_record_head(const struct pd *rec, const uint8_t *p)
{
	struct head h = { ld32(p), ld16(p + 6) };

	if (rec->swap) {
		h.type = __builtin_bswap32(h.type);
		h.size = __builtin_bswap16((uint16_t)h.size);
	}
	if (rec->huge && h.type >= 32768) /* 32 bits of size, the upper ones in place of misc */
		h.size |= (size_t)(rec->swap ? __builtin_bswap16(ld16(p + 4)) : ld16(p + 4)) << 16;
	return h;
}

static bool is_compressed(uint32_t type)
{
	return type == PD_RECORD_COMPRESSED || type == PD_RECORD_COMPRESSED2;
}

/* Samples of one event behind one another, which most of a recording is, up to the next record of
 * another kind, the end of a chunk, or anything that needs a closer look. Gives the first that was
 * not counted. */
static uint8_t *follow_samples(const struct walk *w, uint8_t *p, const uint8_t *end)
{
	struct pd *rec = w->rec;
	const size_t id_at = rec->events.n > 1 ? rec->id_at : 0;
	struct pd_event *ev = rec->events.v;
	size_t least, period_at, time_at, n = 0;
	uint64_t period = 0, first = rec->first_time, last = rec->last_time;
	uint64_t low = UINT64_MAX, high = 0;
	const uint8_t *stop;
	uint8_t *from = p;

	if (!ev || rec->swap || rec->want_lost || (id_at && !rec->last_known))
		return p;
	if (id_at)
		ev += rec->last_event;
	stop = end - p < 8 ? p : end - 7;
	if ((size_t)(stop - w->run) > PD_CHUNK_SIZE)
		stop = w->run + PD_CHUNK_SIZE;
	least = id_at + 8 > ev->at.fixed_end ? id_at + 8 : ev->at.fixed_end;
	period_at = ev->at.period;
	time_at = ev->at.time;
	while (p < stop && ld32(p) == PERF_RECORD_SAMPLE) {
		size_t size = ld16(p + 6);

		if (size < least || size > (size_t)(end - p) ||
		    (id_at && ld64(p + id_at) != rec->last_id))
			break;
		if (period_at) {
			uint64_t of = ld64(p + period_at);

			period += of;
			low = of < low ? of : low;
			high = of > high ? of : high;
		}
		if (time_at) {
			uint64_t time = ld64(p + time_at);

			first = time < first ? time : first;
			last = time > last ? time : last;
		}
		n++;
		p += size;
	}
	if (high && (!ev->most || low < ev->least))
		ev->least = low;
	if (high > ev->most)
		ev->most = high;
	if (!period_at)
		period = n * (ev->attr.sample_period ? ev->attr.sample_period : 1);
	rec->count[PERF_RECORD_SAMPLE] += n;
	rec->bytes[PERF_RECORD_SAMPLE] += (uint64_t)(p - from);
	rec->first_time = first;
	rec->last_time = last;
	ev->samples += n;
	ev->period += period;
	return p;
}

/* Whole records from p to the end, to something that is no record, or to a fault (noted). */
static uint8_t *follow_records(struct walk *w, uint8_t *p, const uint8_t *end, struct err *err)
{
	struct pd *rec = w->rec;
	char at[96];

	for (;;) {
		struct head h;

		p = follow_samples(w, p, end);
		if ((size_t)(p - w->run) >= PD_CHUNK_SIZE) {
			w->run_end = p;
			if (walk_run_begin(w, p, true, err))
				return NULL;
		}
		if ((size_t)(end - p) < 8)
			break;
		h = read_record_head(rec, p);

		if (h.size < 8) {
			pd_note(rec,
				"%s: a record of size %zu; the %zu bytes from there on are left "
				"out",
				where_in_file(w, p, at), h.size, (size_t)(end - p));
			w->stop = true;
			break;
		}
		if (h.size > (size_t)(end - p))
			break;
		if (is_compressed(h.type)) {
			w->packed = true;
			break;
		}
		if (h.size > UINT16_MAX) { /* counted, but too large to be handed out */
			if (count_other(rec, h.type, h.size, err))
				return NULL;
			w->skip = h.size;
			break;
		}
		if (rec->swap)
			pd_record_swap(rec, p, h.size);
		if (h.type == PERF_RECORD_SAMPLE ? count_pd_sample(rec, p, h.size, err)
						 : other_record(w, p, h.type, h.size, err))
			return NULL;
		p += h.size;
		if (w->skip)
			break;
	}
	w->run_end = p;
	return p;
}

/* Passes COMPRESSED records, walking the records in them. */
static uint8_t *pass_packed(struct walk *w, uint8_t *p, const uint8_t *end, struct err *err)
{
	struct pd *rec = w->rec;

	w->packed = false;
	while (!w->stop && (size_t)(end - p) >= 8) {
		struct head h = read_record_head(rec, p);
		size_t from = 8, len;

		if (h.size < 8 || h.size > (size_t)(end - p) || !is_compressed(h.type))
			break;
		if (count_other(rec, h.type, h.size, err))
			return NULL;
		len = h.size - 8;
		if (h.type == PD_RECORD_COMPRESSED2) {
			uint64_t said = h.size >= 16 ? ld64(p + 8) : 0;

			from = 16;
			len = h.size >= 16 ? h.size - 16 : 0;
			said = rec->swap ? __builtin_bswap64(said) : said;
			len = said < len ? (size_t)said : len;
		}
		if (len && inflate_record(w, p, p + from, len, err))
			return NULL;
		p += h.size;
	}
	return p;
}

/* Of `len` bytes behind an AUXTRACE record that are there. */
static int keep_trace(struct walk *w, const uint8_t *p, size_t len, struct err *err)
{
	struct pd_trace t = { p, len, ld64(w->aux + 16), (int32_t)ld32(w->aux + 40),
			      (int32_t)ld32(w->aux + 36) };

	w->aux = NULL;
	w->rec->info.aux_bytes += len;
	return vec_push(&w->rec->traces, t) ? err_nomem(err) : 0;
}

/* Of `len` bytes behind the record just seen. */
static int keep_payload(struct walk *w, const uint8_t *p, size_t len, struct err *err)
{
	bool tracing = w->tracing;

	w->tracing = false;
	if (tracing)
		return pd_feature_take(w->rec, PD_FEATURE_TRACING_DATA, p, len, err);
	return w->aux ? keep_trace(w, p, len, err) : 0;
}

const uint8_t *walk_scan(struct walk *w, uint8_t *p, const uint8_t *end, struct err *err)
{
	char at[96];

	for (;;) {
		if (!w->inside) {
			p = pass_packed(w, p, end, err);
			if (!p)
				return NULL;
		}
		if (w->stop || (size_t)(end - p) < 8)
			return p;
		if (walk_run_begin(w, p, false, err))
			return NULL;
		p = follow_records(w, p, end, err);
		if (!p)
			return NULL;
		if (w->packed && w->inside) {
			pd_note(w->rec,
				"%s: a packed record within packed ones; what follows is left out",
				where_in_file(w, p, at));
			w->stop = true;
		}
		if (keep_payload(w, p,
				 w->skip < (uint64_t)(end - p) ? (size_t)w->skip
							       : (size_t)(end - p),
				 err))
			return NULL;
		if (w->skip > (uint64_t)(end - p)) {
			pd_note(w->rec, "%s: %" PRIu64 " bytes of payload claimed, %zu are there",
				where_in_file(w, p, at), w->skip, (size_t)(end - p));
			w->skip = 0;
			w->stop = true;
			return end;
		}
		if (!w->skip && !w->packed)
			return p;
		p += w->skip;
		w->skip = 0;
	}
}

static uint64_t next_seq(const struct pd *rec)
{
	const struct pd_chunk *last = rec->chunks.n ? vec_last(&rec->chunks) : NULL;

	return last ? last->seq + (uint64_t)(last->end - last->p) : 0;
}

int pd_walk_made(struct pd *rec, uint8_t *p, size_t len, struct err *err)
{
	struct walk w = { .rec = rec, .in = rec->sources.v, .inside = true, .seq = next_seq(rec) };
	bool swap = rec->swap;
	int rc;

	rec->swap = false;
	rc = !walk_scan(&w, p, p + len, err) || walk_run_close(&w, err) ? -1 : 0;
	rec->swap = swap;
	return rc;
}

int pd_walk_source(struct pd *rec, const struct pd_source *s, uint64_t off, uint64_t len,
		   struct err *err)
{
	struct walk w = { .rec = rec, .in = s };
	const uint8_t *p, *end = s->p + off + len;
	char at[96];
	int rc = -1;

	if (!len)
		return 0;
	w.seq = next_seq(rec);
	/* a walk that swaps bytes in place shares no pages with a thread */
	rec->ahead = rec->swap ? NULL : pd_ahead_start(rec, s, off, len);
	rec->feeding &= rec->ahead != NULL;
	p = walk_scan(&w, s->p + off, end, err);
	if (!p || walk_run_close(&w, err))
		goto out;
	if (!w.stop && p < end) {
		pd_end_cut(rec, "cut short: the last record is incomplete");
		pd_note(rec,
			"%s: cut short; the last record is incomplete (%zu bytes of it are there)",
			where_in_file(&w, p, at), (size_t)(end - p));
	}
	rc = 0;
out:
	inflate_end(&w);
	if (pd_ahead_end(rec->ahead, !rc, err))
		rc = -1;
	rec->ahead = NULL;
	return rc;
}

/* ---- walking again, over the noted records ---- */

#define SIDES_AHEAD 6

/* All of a chunk's. */
static int walk_sides(const struct pd_chunk *c, const struct pd_side *side, size_t n_side,
		      int (*cb)(void *ctx, const struct pd_record *r), void *ctx)
{
	for (size_t k = 0; k < n_side; k++) {
		struct pd_chunk part = { c->p + side[k].at, c->end, c->seq + side[k].at };
		struct pd_record r = { 0 };

		/* they lie apart, among samples: each would be waited for */
		if (k + SIDES_AHEAD < n_side) {
			uintptr_t at = (uintptr_t)c->p + side[k + SIDES_AHEAD].at;

			__builtin_prefetch((const void *)at);
			__builtin_prefetch((const void *)(at + 64));
			__builtin_prefetch((const void *)(at + 128));
		}
		for (uint32_t n = side[k].n; n && pd_next(&part, &r); n--) {
			int rc = cb(ctx, &r);

			if (rc)
				return rc;
		}
	}
	return 0;
}

int pd_walk(const struct pd *rec, int (*cb)(void *ctx, const struct pd_record *r), void *ctx)
{
	for (size_t i = 0; i < rec->chunks.n; i++) {
		size_t first = rec->chunk_side.v[i];
		size_t end = i + 1 < rec->chunks.n ? rec->chunk_side.v[i + 1] : rec->sides.n;
		int rc;

		if (first == end) /* there need not be any: no array */
			continue;
		rc = walk_sides(&rec->chunks.v[i], rec->sides.v + first, end - first, cb, ctx);
		if (rc)
			return rc;
	}
	return 0;
}

struct feeding {
	const struct pd *rec;
	struct err *err;
};

static int feed_record(void *ctx, const struct pd_record *r)
{
	const struct feeding *f = ctx;

	return f->rec->feed->record(f->rec->feed->ctx, f->rec, r, f->err);
}

int pd_feed_sides(const struct pd *rec, const struct pd_chunk *c, const struct pd_side *side,
		  size_t n, struct err *err)
{
	struct feeding f = { rec, err };

	return walk_sides(c, side, n, feed_record, &f);
}

int pd_feed_begin(struct pd *rec, struct err *err)
{
	return rec->feed ? rec->feed->begin(rec->feed->ctx, rec, err) : 0;
}

void pd_feed_later(struct pd *rec)
{
	struct err ignored = ERR_INIT;

	if (!rec->feeding)
		return;
	rec->feeding = false;
	(void)!pd_ahead_end(rec->ahead, false, &ignored);
	rec->ahead = NULL;
}

int pd_feed_end(struct pd *rec, struct err *err)
{
	struct feeding f = { rec, err };
	int rc = 0;

	if (rec->feed && !rec->feeding)
		rc = pd_feed_begin(rec, err) || pd_walk(rec, feed_record, &f) ? -1 : 0;
	rec->feed = NULL;
	rec->feeding = false;
	return rc;
}

int pd_walk_all(const struct pd *rec, int (*cb)(void *ctx, const struct pd_record *r), void *ctx)
{
	for (size_t i = 0; i < rec->chunks.n; i++) {
		struct pd_record r = { 0 };

		while (pd_next(&rec->chunks.v[i], &r)) {
			int rc = cb(ctx, &r);

			if (rc)
				return rc;
		}
	}
	return 0;
}

const struct pd_chunk *pd_chunks(const struct pd *rec, size_t *n)
{
	*n = rec->chunks.n;
	return rec->chunks.v;
}

/* ---- sums ---- */

static int types_ascending(const void *a, const void *b)
{
	uint32_t x = ((const struct pd_type_count *)a)->type;
	uint32_t y = ((const struct pd_type_count *)b)->type;

	return x < y ? -1 : x > y;
}

static int add_type(struct pd *rec, uint32_t type, uint64_t count, uint64_t bytes)
{
	struct pd_type_count t = { type, pd_record_name(type), count, bytes };

	if (!t.name)
		t.name =
			type == UINT32_MAX ? "OTHER" : arena_printf(&rec->arena, "T%" PRIu32, type);
	return !t.name || vec_push(&rec->type_counts, t) ? -1 : 0;
}

int pd_walk_done(struct pd *rec, struct err *err)
{
	for (uint32_t t = 0; t < PD_KNOWN_END; t++)
		if (rec->count[t] && add_type(rec, t, rec->count[t], rec->bytes[t]))
			return err_nomem(err);
	vec_each (&rec->unknown, const struct pd_unknown *, u)
		if (add_type(rec, u->type, u->count, u->bytes))
			return err_nomem(err);
	vec_sort(&rec->type_counts, types_ascending);
	assert(pairs_hold(rec->type_counts.n, i,
			  rec->type_counts.v[i].type <= rec->type_counts.v[i + 1].type));
	vec_each (&rec->type_counts, const struct pd_type_count *, t)
		if (!pd_record_name(t->type))
			pd_note(rec,
				"%" PRIu64 " records of type %" PRIu32
				", which this program does not know, passed over",
				t->count, t->type);
	rec->losses.unattributed = rec->unknown_id_samples + rec->short_samples;
	if (rec->unknown_id_samples)
		pd_note(rec, "%" PRIu64 " samples name no event of this recording: not attributed",
			rec->unknown_id_samples);
	if (rec->short_samples)
		pd_note(rec, "%" PRIu64 " samples are shorter than their event's fields: not used",
			rec->short_samples);
	vec_each (&rec->events, const struct pd_event *, ev) {
		const struct pd_event *first = rec->events.v;
		size_t at = ev->at.identifier ? ev->at.identifier : ev->at.id;

		if (at == (first->at.identifier ? first->at.identifier : first->at.id))
			continue;
		pd_note(rec,
			"events put the id of a sample at different places: it is looked for where "
			"the first event has it");
		break;
	}
	if (rec->events.n > 1 && !rec->id_at && rec->count[PERF_RECORD_SAMPLE])
		pd_note(rec, "samples carry no id: all are taken for the first of %zu events",
			rec->events.n);
	return 0;
}
