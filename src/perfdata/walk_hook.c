/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/walk_hook.h"

#include <math.h>

HOOK(lost)
{
	(void)size, (void)err;
	w->rec->losses.lost_records++;
	w->rec->losses.lost += ld64(p + 16);
	return 0;
}

/* An event that never samples cannot be throttled: `run` paused its switch records. */
static bool is_pause(const struct walk *w, const uint8_t *p)
{
	int i = pd_id_event(w->rec, ld64(p + 16));

	return i >= 0 && pd_event_watches(&w->rec->events.v[i]);
}

HOOK(throttle)
{
	(void)size, (void)err;
	w->rec->losses.throttles += !is_pause(w, p);
	return 0;
}

HOOK(unthrottle)
{
	(void)size, (void)err;
	w->rec->losses.unthrottles += !is_pause(w, p);
	return 0;
}

HOOK(lost_samples)
{
	(void)size, (void)err;
	w->rec->losses.lost_samples += ld64(p + 8);
	return 0;
}

HOOK(aux)
{
	uint64_t bad = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;

	(void)size, (void)err;
	if (ld64(p + 24) & bad)
		w->rec->losses.aux_lost++;
	return 0;
}

int pd_keep_lost(struct pd *rec, uint64_t id, uint64_t lost, struct err *err)
{
	uint64_t *v = u64map_at(&rec->read_lost, id, NULL);

	if (!v)
		return err_nomem(err);
	if (lost > *v) {
		rec->losses.read_lost += lost - *v;
		*v = lost;
	}
	return 0;
}

/* pid, tid, then values by the first event's read format (all events of a recording share it). */
HOOK(read)
{
	struct pd *rec = w->rec;
	struct cur c = cur_of(p + 16, size - 16);
	uint64_t format, n = 1, id = 0;

	if (!rec->events.n)
		return 0;
	format = rec->events.v[0].attr.read_format;
	if (!(format & PERF_FORMAT_LOST))
		return 0;
	n = cur_u64(&c);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		(void)cur_u64(&c);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		(void)cur_u64(&c);
	for (uint64_t i = 0; i < (format & PERF_FORMAT_GROUP ? n : 1) && !c.bad; i++) {
		uint64_t lost;

		if (format & PERF_FORMAT_GROUP)
			(void)cur_u64(&c);
		id = format & PERF_FORMAT_ID ? cur_u64(&c) : i;
		lost = cur_u64(&c);
		if (!c.bad && pd_keep_lost(rec, id, lost, err))
			return -1;
	}
	return 0;
}

/* ---- in the header of a file, and records through a pipe ---- */

HOOK(attr)
{
	struct pd *rec = w->rec;
	uint32_t len = ld32(p + 12);
	struct err why = ERR_INIT;

	len = rec->swap ? __builtin_bswap32(len) : len;
	if (len < 64)
		len = 64;
	if (len > size - 8) {
		pd_note(rec, "an attribute record claims %u bytes and has %zu: passed over", len,
			size - 8);
		return 0;
	}
	if (!rec->piped) /* the header has them already */
		return 0;
	if (pd_attr_add(rec, p + 8, len, p + 8 + len, (size - 8 - len) / 8, &why))
		return why.code == ERR_NOMEM ? err_nomem(err) : 0;
	pd_attrs_done(rec);
	return 0;
}

static const char *fixed_text(struct pd *rec, const uint8_t *p, size_t len)
{
	return arena_strndup(&rec->arena, (const char *)p, strnlen((const char *)p, len));
}

HOOK(event_type)
{
	struct pd *rec = w->rec;
	uint64_t id = ld64(p + 8);

	if (!pd_may_search(rec))
		return 0;
	for (size_t i = 0; i < rec->events.n; i++) {
		struct pd_event *ev = &rec->events.v[i];

		if (ev->attr.config != id || ev->name || !pd_event_type_names(&ev->attr))
			continue;
		ev->name = fixed_text(rec, p + 16, size - 16);
		if (!ev->name)
			return err_nomem(err);
	}
	return 0;
}

HOOK(event_update)
{
	enum { UPDATE_UNIT, UPDATE_SCALE, UPDATE_NAME, UPDATE_CPUS };
	struct pd *rec = w->rec;
	uint64_t kind = ld64(p + 8), *v = u64map_find(&rec->ids, ld64(p + 16));
	struct pd_event *ev;
	const char *s;

	if (!v || size <= 24)
		return 0;
	ev = &rec->events.v[*v];
	if (kind == UPDATE_SCALE && size >= 32) {
		uint64_t bits = ld64(p + 24);
		double scale;

		memcpy(&scale, &bits, sizeof(scale));
		if (isfinite(scale) && scale > 0)
			ev->scale = scale;
	}
	if (kind != UPDATE_UNIT && kind != UPDATE_NAME)
		return 0;
	s = fixed_text(rec, p + 24, size - 24);
	if (!s)
		return err_nomem(err);
	if (!*s)
		return 0;
	if (kind == UPDATE_NAME)
		ev->name = s;
	else
		ev->unit = s;
	return 0;
}

HOOK(feature)
{
	uint64_t bit = ld64(p + 8);

	/* a recorder's way to have it in the file should it not live to write the header */
	if (!w->rec->piped && bit < 256 && w->rec->taken[bit / 64] >> (bit % 64) & 1)
		return 0;
	pd_feed_later(w->rec);
	if (bit < 256)
		w->rec->info.features[bit / 64] |= (uint64_t)1 << (bit % 64);
	return pd_feature_take(w->rec, bit < 256 ? (unsigned)bit : 255, p + 16, size - 16, err);
}

HOOK(build_id)
{
	struct pd *rec = w->rec;
	struct pd_buildid b = { 0 };
	size_t text = 36;

	b.pid = (int32_t)ld32(p + 8);
	b.misc = ld16(p + 4);
	b.id_len = b.misc & (1 << 15) && p[32] <= 20 ? p[32] : 20;
	memcpy(b.id, p + 12, b.id_len);
	b.path = fixed_text(rec, p + text, size - text);
	if (!b.path || vec_push(&rec->buildids, b))
		return err_nomem(err);
	return 0;
}

/* ---- records with bytes behind them that are no records ---- */

HOOK(tracing_data)
{
	(void)size, (void)err;
	w->skip = ((uint64_t)ld32(p + 8) + 7) & ~(uint64_t)7;
	w->tracing = true;
	return 0;
}

HOOK(auxtrace_info)
{
	(void)err;
	w->rec->info.has_auxtrace = true;
	if (!w->rec->aux_info) {
		w->rec->aux_info = p;
		w->rec->aux_info_size = size;
	}
	return 0;
}

HOOK(auxtrace)
{
	(void)size, (void)err;
	w->rec->info.has_auxtrace = true;
	w->skip = ld64(p + 8);
	w->aux = p;
	return 0;
}

HOOK(deferred)
{
	return pd_deferred_add(w->rec, p, size, err);
}

HOOK(stat)
{
	(void)p, (void)size, (void)err;
	w->rec->info.has_stat = true;
	return 0;
}
