/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Perfetto's trace, for ui.perfetto.dev and trace_processor: what a recording has over time.
 *
 * Tracks of processes and threads; states of threads and their waits (perfetto_waits.c); samples
 * with chains (perfetto_samples.c); the counts that samples carry, a track each counter; and one
 * event, "recording", with its facts. Times are the recording's own, and if its clock is one of the
 * kernel's, the trace says which. Packets leave as they are made: beside the recording's own data
 * there are 32 bytes for each span, and then for each sample, while they are put into order.
 */
#include "base/xalloc.h"
#include "report/export/perfetto.h"

#include <string.h>
#include <time.h>

#include "analyse/pass.h"
#include "base/text.h"

void perfetto_packet(struct perfetto *x, unsigned sequence, bool first)
{
	struct buf *p = &x->packet;

	proto_u64(p, PACKET_SEQUENCE, sequence);
	if (x->interned.len)
		proto_message(p, PACKET_INTERNED, &x->interned);
	/* the first one begins the numbering of names, the others need it */
	proto_u64(p, PACKET_FLAGS, first ? 1 : 2);
	proto_u64(p, PACKET_FIRST, first);
	proto_message(x->out, TRACE_PACKET, p);
	buf_spill(x->out);
}

void perfetto_text(struct perfetto *x, struct buf *b, unsigned field, const char *s)
{
	struct buf *safe = &x->names.scratch;

	if (!s)
		return;
	buf_reset(safe);
	text_put_safe(safe, s, false);
	x->failed |= safe->failed;
	proto_bytes(b, field, buf_str(safe), safe->len);
}

void perfetto_intern(struct perfetto *x, unsigned field, uint64_t id, unsigned text_field,
		     const char *s)
{
	struct buf *b = &x->inner;

	proto_u64(b, 1, id);
	perfetto_text(x, b, text_field, s);
	proto_message(&x->interned, field, b);
}

uint64_t perfetto_thread(const struct perfetto *x, uint32_t pid, uint32_t tid)
{
	const uint64_t *at = u64map_find(&x->threads, task_of(pid, tid));

	return at ? TRACK_THREAD | *at : 0;
}

/* ---- the recording --------------------------------------------------------------------------- */

/* Returns Perfetto's number of the clock; 0: it is perf's own, which has none. */
static unsigned clock_of(const struct view_source *src)
{
	if (!src->n_events || !src->event[0].attr.use_clockid)
		return 0;
	switch (src->event[0].attr.clockid) {
	case CLOCK_REALTIME:
		return 1;
	case CLOCK_MONOTONIC:
		return 3;
	case CLOCK_MONOTONIC_RAW:
		return 5;
	case CLOCK_BOOTTIME:
		return 6;
	default:
		return 0;
	}
}

static void put_clock(struct perfetto *x, unsigned id, uint64_t time)
{
	proto_u64(&x->inner, 1, id);
	proto_number(&x->inner, 2, time);
	proto_message(&x->message, 1, &x->inner);
}

static void put_clocks(struct perfetto *x)
{
	const struct view_source *src = &x->in->source;
	unsigned id = clock_of(src);

	if (!id)
		return;
	put_clock(x, id, src->time_first);
	if (x->in->wall_known && id != 1)
		put_clock(x, 1, (uint64_t)(x->in->wall + (int64_t)src->time_first));
	proto_u64(&x->message, 2, id);
	proto_message(&x->packet, PACKET_CLOCKS, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
}

static void put_fact(struct perfetto *x, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	perfetto_text(x, &x->inner, 10, name);
	perfetto_text(x, &x->inner, 6, text);
	proto_message(&x->message, 4, &x->inner);
}

static void put_recording(struct perfetto *x)
{
	const struct view_source *src = &x->in->source;
	const struct pd_info *info = src->info;
	struct buf b = BUF_INIT;

	proto_u64(&x->message, 1, TRACK_RECORDING);
	perfetto_text(x, &x->message, 2, "recording");
	proto_message(&x->packet, PACKET_TRACK, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
	proto_u64(&x->message, 9, EVENT_INSTANT);
	proto_u64(&x->message, 11, TRACK_RECORDING);
	perfetto_text(x, &x->message, 23, "recording");
	for (size_t i = 0; i < info->n_cmdline; i++)
		buf_printf(&b, "%s%s", i ? " " : "", info->cmdline[i]);
	put_fact(x, "command", buf_str(&b));
	put_fact(x, "host", info->hostname);
	put_fact(x, "cpu", info->cpu_desc);
	put_fact(x, "kernel", info->os_release);
	put_fact(x, "exported by cyclade", src->version);
	put_fact(x, "does not go to its end", x->in->ended);
	buf_reset(&b);
	if (src->losses->lost)
		buf_printf(&b, "%llu", (unsigned long long)src->losses->lost);
	put_fact(x, "lost records", buf_str(&b));
	proto_number(&x->packet, PACKET_TIME, src->time_first);
	proto_message(&x->packet, PACKET_EVENT, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
	x->failed |= b.failed;
	buf_free(&b);
}

/* ---- tracks of threads ----------------------------------------------------------------------- */

static void put_process(struct perfetto *x, struct u64map *processes, uint32_t pid,
			const char *name)
{
	bool fresh = false;
	uint64_t *at = u64map_xat(processes, pid, &fresh);

	if (!fresh)
		return;
	*at = 1;
	proto_u64(&x->message, 1, TRACK_PROCESS | pid);
	proto_u64(&x->inner, 1, pid);
	perfetto_text(x, &x->inner, 6, name);
	proto_message(&x->message, 3, &x->inner);
	proto_message(&x->packet, PACKET_TRACK, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
}

/* The idle task is no thread, and one without a number has no track. */
static void put_thread(struct perfetto *x, uint32_t pid, uint32_t tid, const char *name)
{
	uint64_t *at;
	bool fresh = false;

	if (!tid || tid == UINT32_MAX || pid == UINT32_MAX)
		return;
	at = u64map_xat(&x->threads, task_of(pid, tid), &fresh);
	if (!fresh)
		return;
	*at = x->threads.n;
	proto_u64(&x->message, 1, TRACK_THREAD | *at);
	proto_u64(&x->message, 5, TRACK_PROCESS | pid);
	proto_u64(&x->inner, 1, pid);
	proto_u64(&x->inner, 2, tid);
	perfetto_text(x, &x->inner, 5, name);
	proto_message(&x->message, 4, &x->inner);
	proto_message(&x->packet, PACKET_TRACK, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
}

/* A process is called as its main thread, else as the first of its threads. */
static void put_threads(struct perfetto *x)
{
	const struct wait *w = x->in->wait;
	struct u64map processes = U64MAP_INIT;

	for (unsigned all = 0; all < 2; all++) {
		for (size_t i = 0; w && i < w->n_threads; i++)
			if (w->thread[i].wanted && w->thread[i].tid &&
			    (all || w->thread[i].pid == w->thread[i].tid))
				put_process(x, &processes, w->thread[i].pid, w->thread[i].comm);
		for (size_t i = 0; i < x->s->n_threads; i++)
			if (x->s->thread[i].tid && x->s->thread[i].pid != UINT32_MAX &&
			    (all || x->s->thread[i].pid == x->s->thread[i].tid))
				put_process(x, &processes, x->s->thread[i].pid,
					    x->s->thread[i].comm);
	}
	for (size_t i = 0; w && i < w->n_threads; i++)
		if (w->thread[i].wanted)
			put_thread(x, w->thread[i].pid, w->thread[i].tid, w->thread[i].comm);
	for (size_t i = 0; i < x->s->n_threads; i++)
		put_thread(x, x->s->thread[i].pid, x->s->thread[i].tid, x->s->thread[i].comm);
	u64map_free(&processes);
}

/* ---- counts ---------------------------------------------------------------------------------- */

bool export_has_counts(const struct view_source *source)
{
	for (size_t i = 0; i < source->n_events; i++)
		if (source->event[i].attr.sample_type & PERF_SAMPLE_READ)
			return true;
	return false;
}

/* The track of a counter; one without a number is that of its event. */
static uint64_t counter_of(struct perfetto *x, const struct pd_read *r, uint32_t event)
{
	int i = r->id ? pd_id_event(x->in->rec, r->id) : (int)event;
	bool fresh = false;
	uint64_t *at = u64map_xat(&x->counters, r->id ? r->id : ~(uint64_t)event, &fresh);
	struct buf name = BUF_INIT;

	if (!fresh)
		return TRACK_COUNTER | *at;
	*at = x->counters.n;
	buf_puts(&name, i < 0 ? "unknown" : x->in->source.event[i].name);
	if (r->id)
		buf_printf(&name, " #%llu", (unsigned long long)r->id);
	proto_u64(&x->message, 1, TRACK_COUNTER | *at);
	perfetto_text(x, &x->message, 2, buf_str(&name));
	proto_u64(&x->inner, 3, 2); /* a count */
	proto_message(&x->message, 8, &x->inner);
	proto_message(&x->packet, PACKET_TRACK, &x->message);
	perfetto_packet(x, SEQUENCE_TRACKS, false);
	x->failed |= name.failed;
	buf_free(&name);
	return TRACK_COUNTER | *at;
}

static int put_counts(void *ctx, const struct pass_sample *s, struct err *err)
{
	struct perfetto *x = ctx;
	struct pd_sample p;

	(void)err;
	if (pd_sample_parse(x->in->rec, s->r, &p) || !(p.has & PERF_SAMPLE_READ))
		return 0;
	for (uint64_t i = 0; i < p.n_read; i++) {
		struct pd_read r = pd_read_get(&p, i);
		uint64_t track = counter_of(x, &r, s->event);

		proto_u64(&x->message, 9, EVENT_COUNTER);
		proto_u64(&x->message, 11, track);
		proto_number(&x->message, 30, r.value);
		proto_number(&x->packet, PACKET_TIME, s->time);
		proto_message(&x->packet, PACKET_EVENT, &x->message);
		perfetto_packet(x, SEQUENCE_TRACKS, false);
	}
	return x->out->failed ? err_nomem(err) : 0;
}

static int walk_counts(struct perfetto *x, struct err *err)
{
	static const struct pass_visitor visitor = { .wants = PASS_ORDER, .sample = put_counts };
	const struct pass_opts opts = { .threads = 1 };
	struct pass *pass = NULL;
	int ret = -1;

	if (!export_has_counts(&x->in->source))
		return 0;
	if (!pass_new(&pass, x->in->rec, x->in->spaces, x->in->select, &opts, err)) {
		pass_add(pass, &visitor, x);
		ret = pass_run(pass, err);
	}
	pass_free(pass);
	return ret;
}

/* ---- */

int export_perfetto(struct buf *out, const struct export_in *in, struct err *err)
{
	struct perfetto x = { .in = in, .s = profile_stacks(in->profile), .out = out };
	int ret;

	if (in->wait)
		perfetto_wait_names(&x);
	perfetto_packet(&x, SEQUENCE_TRACKS, true);
	put_clocks(&x);
	put_recording(&x);
	put_threads(&x);
	if (in->wait)
		perfetto_waits(&x);
	perfetto_samples(&x);
	ret = walk_counts(&x, err);
	if (!ret && (x.failed || x.packet.failed || x.message.failed || x.inner.failed ||
		     x.interned.failed))
		ret = err_nomem(err);
	if (!ret)
		ret = buf_error(out, err);
	buf_free(&x.packet);
	buf_free(&x.message);
	buf_free(&x.inner);
	buf_free(&x.interned);
	export_names_free(&x.names);
	u64map_free(&x.threads);
	u64map_free(&x.counters);
	return ret;
}
