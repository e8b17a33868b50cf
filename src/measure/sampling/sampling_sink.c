/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of the records: from the rings past a look at each record's head into the file. One
 * thread does that: the draining one, or with recorder_setup's `apart` the one behind its queue.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/perf_abi.h"
#include "measure/sampling/sampling_int.h"

#define HEAD sizeof(struct perf_event_header)
#define AUX_BAD \
	((uint64_t)(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION))

int sink_open(struct sink *s, const struct perf_event_attr *attr, struct err *err)
{
	size_t at = HEAD;

	/* the order of a sample's fields: identifier, ip, tid, time */
	at += attr->sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0;
	at += attr->sample_type & PERF_SAMPLE_IP ? 8 : 0;
	s->tid_at = at + 4;
	at += attr->sample_type & PERF_SAMPLE_TID ? 8 : 0;
	s->time_at = at;
	s->first_time = UINT64_MAX;
	s->cut = malloc(UINT16_MAX + 1);
	return s->cut ? 0 : err_nomem(err);
}

void sink_close(struct sink *s)
{
	free(s->cut);
	free(s->shorter);
	free(s->cleared);
	unwound_free(s->unwound);
	pythons_free(s->pythons);
	strtab_free(&s->files);
	copying_free(s->inside.copies);
	inside_free(&s->inside);
	whose_free(s->filter);
	wanted_free(s->wanted);
}

/* An MMAP2 record of code. */
static int note_file(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record r = {
		.p = p, .size = (uint16_t)size, .type = ld32(p), .misc = ld16(p + 4)
	};
	struct inside_map m = { 0 };
	struct pd_mmap map;
	uint32_t file;

	if (pd_mmap_get(NULL, &r, &map) || map.is_data || map.path[0] != '/' ||
	    (r.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return 0;
	file = strtab_adds(&s->files, map.path[1] == '/' ? "" : map.path);
	if (file == STR_NONE)
		return err_nomem(err);
	m.path = map.path[1] == '/' ? "//anon" : strtab_get(&s->files, file);
	m.pid = map.pid;
	m.addr = map.addr;
	m.len = map.len;
	m.ino = map.ino;
	m.id_len = map.build_id_len;
	m.id = m.id_len ? map.build_id : NULL;
	return inside_note(&s->inside, &m, err);
}

int sink_note(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	uint64_t time;

	switch (ld32(p)) {
	case PERF_RECORD_SAMPLE:
		s->samples++;
		if (size >= s->time_at + 8) {
			time = ld64(p + s->time_at);
			if (time < s->first_time)
				s->first_time = time;
			if (time > s->last_time)
				s->last_time = time;
		}
		return 0;
	case PERF_RECORD_MMAP2:
		return note_file(s, p, size, err);
	case PERF_RECORD_FORK:
		s->forks++;
		if (s->looks)
			wchan_task(s->looks, p, size);
		return 0;
	case PERF_RECORD_EXIT:
		if (s->looks)
			wchan_task(s->looks, p, size);
		return 0;
	case PERF_RECORD_LOST:
		s->lost += size >= HEAD + 16 ? ld64(p + HEAD + 8) : 0;
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		s->lost += size >= HEAD + 8 ? ld64(p + HEAD) : 0;
		return 0;
	case PERF_RECORD_THROTTLE:
		s->throttled++;
		return 0;
	case PERF_RECORD_AUX:
		s->aux_lost += size >= HEAD + 24 && ld64(p + HEAD + 16) & AUX_BAD;
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (s->switches)
			switch_counts_saw(&s->switches->switches, p, size);
		if (s->watch)
			switch_counts_saw(&s->watch->switches, p, size);
		return 0;
	default:
		return 0;
	}
}

static int put_record(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	return sink_note(s, p, size, err) || sink_write(s, p, size, err) ? -1 : 0;
}

/* A mapping of ours: no file. */
static int put_script(void *ctx, const uint8_t *p, size_t size, struct err *err)
{
	return sink_write(ctx, p, size, err);
}

static int keep_record(void *ctx, const uint8_t *p, size_t size, struct err *err)
{
	const struct pd_record rec = { .p = p, .size = (uint16_t)size, .type = ld32(p) };
	struct sink *s = ctx;
	const struct pd_event *ev;
	size_t event = SIZE_MAX;
	bool is = true;

	if (s->wanted && ld32(p) == PERF_RECORD_SAMPLE &&
	    wanted_sample(s->wanted, p, size, &is, err))
		return -1;
	if (!is)
		return 0;
	if (s->pythons && rec.type == PERF_RECORD_SAMPLE &&
	    !wanted_event(s->wanted, &rec, &ev, &event))
		event = SIZE_MAX;
	if (s->cuts && cut_parts(s, &p, &size, err))
		return -1;
	if (!size)
		return 0;
	if (event != SIZE_MAX && pythons_chain(s->pythons, event, &p, &size, put_script, s, err))
		return -1;
	return put_record(s, p, size, err);
}

static bool sifts(const struct sink *s)
{
	return s->filter || s->wanted || s->cuts || s->pythons || s->series || s->most;
}

static int look_at_python(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	if (ld32(p) != PERF_RECORD_SAMPLE)
		return pythons_note(s->pythons, p, size, err);
	if (size < s->time_at + 8)
		return 0;
	return pythons_saw(s->pythons, ld32(p + s->tid_at - 4), ld32(p + s->tid_at),
			   ld64(p + s->time_at), err);
}

/* If all is kept, a run of records is written at once (sink_data). */
static int on_record(struct sink *s, const uint8_t *p, size_t size, struct err *err)
{
	bool keep = true;

	if (s->live)
		return s->live->data(s->live->ctx, p, size, err);
	if (s->unwound && unwound_note(s->unwound, p, size, err))
		return -1;
	if (s->pythons && look_at_python(s, p, size, err))
		return -1;

	if (s->events && ld32(p) == PERF_RECORD_SAMPLE)
		sampling_looks_sample(s, p, size);
	if (s->recorder && ld32(p) == PERF_RECORD_SAMPLE && size >= s->tid_at + 4)
		recorder_saw(s->recorder, ld64(p + HEAD), ld32(p + s->tid_at));
	if (!sifts(s))
		return sink_note(s, p, size, err);
	if (s->filter && whose_judge(s->filter, p, size, &keep, err))
		return -1;
	return keep ? keep_record(s, p, size, err) : 0;
}

/* Puts the rest of a record that a ring's end cut in two to its beginning. The bytes taken. */
static size_t mend(struct sink *s, const uint8_t *p, size_t len)
{
	size_t n = s->cut_size - s->cut_have;

	if (n > len)
		n = len;
	memcpy(s->cut + s->cut_have, p, n);
	s->cut_have += n;
	return n;
}

/* Looks at each record of a run. Records are multiples of 8 bytes and so are rings: a head is never
 * cut. */
static int look_at_record(struct sink *s, const uint8_t *p, size_t len, struct err *err)
{
	while (len) {
		size_t size, n;

		if (s->cut_size) {
			n = mend(s, p, len);
			p += n;
			len -= n;
			if (s->cut_have < s->cut_size)
				return 0;
			if (on_record(s, s->cut, s->cut_size, err))
				return -1;
			s->cut_size = 0;
			continue;
		}
		size = len >= HEAD ? ld16(p + 6) : 0;
		if (size < HEAD)
			return err_set(err, ERR_FORMAT,
				       "the kernel's ring holds a record of %zu bytes", size);
		if (size > len) {
			s->cut_size = size;
			s->cut_have = 0;
			continue;
		}
		if (on_record(s, p, size, err))
			return -1;
		p += size;
		len -= size;
	}
	return 0;
}

int sink_data(void *ctx, const void *p, size_t len, struct err *err)
{
	struct sink *s = ctx;

	s->fresh = true;
	if (look_at_record(s, p, len, err))
		return -1;
	return s->live || sifts(s) ? 0 : pdw_data(s->writer, p, len, err);
}

size_t sink_shorten(void *ctx, const void *p, size_t len, void *out)
{
	const struct sink *s = ctx;
	const struct pd_record rec = { .p = p, .size = (uint16_t)len, .type = ld32(p) };
	const struct pd_event *ev;
	size_t i;

	if (rec.type != PERF_RECORD_SAMPLE || !s->wanted || !wanted_event(s->wanted, &rec, &ev, &i))
		return 0;
	return pd_sample_short_stack(ev, &rec, out);
}

int sink_flush(struct sink *s, struct err *err)
{
	if (s->writer && pdw_flush(s->writer, err))
		return -1;
	if (s->writer && pdw_full(s->writer)) { /* further records are only counted */
		if (!s->full)
			sink_failed(s);
		s->full = true;
		return 0;
	}
	s->kept_samples = s->samples;
	s->kept_lost = s->lost;
	atomic_store(&s->state.samples, s->samples);
	atomic_store(&s->state.lost, s->lost);
	if (s->writer)
		atomic_store(&s->state.bytes, pdw_bytes(s->writer));
	return 0;
}

int sink_round(void *ctx, struct err *err)
{
	static const struct perf_event_header finished = { .type = PD_RECORD_FINISHED_ROUND,
							   .size = HEAD };
	struct sink *s = ctx;
	bool wrote = false;

	sampling_looks_round(s);
	if (s->watch && sampling_switch_round(s->watch, &wrote, err))
		return -1;
	if (!s->fresh && !wrote)
		return s->series ? sampling_series_round(s->series, err) : 0;
	s->fresh = false;
	if (s->switches)
		sampling_wait_round(s->switches);
	if (s->live)
		return s->live->round(s->live->ctx, err);
	if (s->filter && whose_round(s->filter, keep_record, s, err))
		return -1;
	if (s->unwound && unwound_round(s->unwound, keep_record, s, err))
		return -1;
	if (s->ways)
		sampling_ways_round(s->ways);
	if (s->pythons)
		pythons_round(s->pythons);
	if (sink_write(s, (const uint8_t *)&finished, sizeof(finished), err) ||
	    sink_flush(s, err) ||
	    (s->writer && sampling_series_new_samples(s) && pdw_show(s->writer, err)))
		return -1;
	return s->series && !s->full ? sampling_series_round(s->series, err) : 0;
}

int sink_end(struct sink *s, struct err *err)
{
	/* records of the last round have waited for none */
	for (int i = 0; s->filter && i < 2; i++)
		if (whose_round(s->filter, keep_record, s, err))
			return -1;
	return s->unwound ? unwound_round(s->unwound, keep_record, s, err) : 0;
}

void sink_failed(void *ctx)
{
	struct sink *s = ctx;
	uint64_t one = 1;

	atomic_store(&s->failed, true);
	if (s->wake >= 0 && write(s->wake, &one, sizeof(one)) < 0)
		return;
}
