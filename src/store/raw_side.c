/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that are no samples, as they are, and their facts: mappings, threads. And facts of a
 * recording's header: runs, events, losses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "store/raw_int.h"

#define NS_PER_S 1e9

static const struct pd_record *record_of(const struct raw *raw)
{
	return &cursor_now(raw->walk[raw->run])->r;
}

/* ---- records --------------------------------------------------------------------------------- */

int raw_records_begin(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, true, err);
}

const struct raw_kind raw_records = { raw_records_begin, raw_walk_row };

RAW_GET(record_type, out->n = record_of(raw)->type)
RAW_GET(record_name, out->text = pd_record_name(record_of(raw)->type))
RAW_GET(record_bytes, out->n = record_of(raw)->size)
RAW_GET(record_misc, out->n = record_of(raw)->misc)
RAW_GET(record_raw, raw_put_blob(out, true, record_of(raw)->p, record_of(raw)->size))

/* ---- mappings -------------------------------------------------------------------------------- */

static int next_mapping(struct raw *c, struct err *err)
{
	(void)err;
	while (raw_walk_next(c)) {
		const struct pd_record *r = record_of(c);

		if ((r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2) &&
		    !pd_mmap_get(raw_of(c)->r.rec, r, &c->map))
			return 1;
	}
	return 0;
}

const struct raw_kind raw_mappings = { raw_records_begin, next_mapping };

RAW_GET(map_pid, raw_put(out, raw->map.pid != UINT32_MAX, raw->map.pid))
RAW_GET(map_tid, raw_put(out, raw->map.pid != UINT32_MAX, raw->map.tid))
RAW_GET(map_start, out->n = raw->map.addr)
RAW_GET(map_bytes, out->n = raw->map.len)
RAW_GET(map_file_offset, out->n = raw->map.pgoff)
RAW_GET(map_path, out->text = raw->map.path)
RAW_GET(map_is_data, out->n = raw->map.is_data)
RAW_GET(map_inode, raw_put(out, raw->map.is_mmap2 && !raw->map.build_id_len, raw->map.ino))
RAW_GET(map_device, if (raw->map.is_mmap2 && !raw->map.build_id_len)
			    cell_printf(out, "%02x:%02x", raw->map.maj, raw->map.min))
RAW_GET(map_protection,
	if (raw->map.is_mmap2) cell_printf(out, "%c%c%c%c", raw->map.prot &PROT_READ ? 'r' : '-',
					   raw->map.prot &PROT_WRITE ? 'w' : '-',
					   raw->map.prot &PROT_EXEC ? 'x' : '-',
					   raw->map.flags &MAP_SHARED ? 's' : 'p'))
RAW_GET(
	map_build_id, char hex[2 * sizeof(raw->map.build_id) + 1]; if (raw->map.build_id_len) {
		text_hex(hex, raw->map.build_id, raw->map.build_id_len);
		cell_printf(out, "%s", hex);
	})

/* ---- threads --------------------------------------------------------------------------------- */

struct threads {
	struct raw_of *of;
	struct u64map last; /* pid and tid -> index + 1 of the thread that has them now */
};

/* Returns the thread of that number now; made if there is none, or it has ended and `anew`. */
static struct raw_thread *side_thread_at(struct threads *t, uint32_t pid, uint32_t tid, bool anew)
{
	uint64_t *at = u64map_xat(&t->last, (uint64_t)pid << 32 | tid, NULL);

	if (*at && !(anew && t->of->thread.v[*at - 1].has_end))
		return &t->of->thread.v[*at - 1];
	*vec_xadd(&t->of->thread) = (struct raw_thread){ .pid = pid, .tid = tid };
	*at = t->of->thread.n;
	return vec_last(&t->of->thread);
}

static void name_thread(struct threads *t, const struct pd_record *r)
{
	struct pd_comm m;
	struct raw_thread *x;

	if (pd_comm_get(r, &m))
		return;
	x = side_thread_at(t, m.pid, m.tid, true);
	x->names += !x->comm || strcmp(x->comm, m.comm) != 0;
	x->comm = m.comm;
}

/* A fork of time 0 is one that perf made up for a process that was there before. */
static void begin_or_end_thread(struct threads *t, const struct pd_record *r)
{
	struct pd_sample_id id;
	struct pd_task m;
	struct raw_thread *x;
	uint64_t time;

	if (pd_task_get(r, &m))
		return;
	pd_sample_id_get(t->of->r.rec, r, &id);
	time = id.has & PERF_SAMPLE_TIME ? id.time : m.time;
	x = side_thread_at(t, m.pid, m.tid, r->type == PERF_RECORD_FORK);
	if (r->type == PERF_RECORD_EXIT) {
		x->has_end = true;
		x->ended = time;
		return;
	}
	x->has_parent = true;
	x->ppid = m.ppid;
	x->ptid = m.ptid;
	x->has_start = time != 0;
	x->started = time;
	if (!x->comm) { /* the parent's, until it gets one of its own */
		const uint64_t *up = u64map_find(&t->last, (uint64_t)m.ppid << 32 | m.ptid);

		x->comm = up && *up ? t->of->thread.v[*up - 1].comm : NULL;
		x->names = x->comm != NULL;
	}
}

static int read_thread_record(void *ctx, const struct pd_record *r)
{
	if (r->type == PERF_RECORD_COMM)
		name_thread(ctx, r);
	else if (r->type == PERF_RECORD_FORK || r->type == PERF_RECORD_EXIT)
		begin_or_end_thread(ctx, r);
	return 0;
}

static int begin_threads(struct raw *c, struct err *err)
{
	struct raw_of *of = raw_of(c);
	struct threads t = { .of = of, .last = U64MAP_INIT };

	(void)err;
	if (!of->threads_made)
		(void)pd_walk(of->r.rec, read_thread_record, &t);
	of->threads_made = true;
	u64map_free(&t.last);
	c->i = 0;
	c->n = of->thread.n;
	return 0;
}

int raw_array_next(struct raw *c, struct err *err)
{
	(void)err;
	return c->i++ < c->n;
}

const struct raw_kind raw_threads = { begin_threads, raw_array_next };

static const struct raw_thread *side_thread_of(const struct raw *raw)
{
	return &raw_of(raw)->thread.v[raw->i - 1];
}
RAW_GET(thread_pid, out->n = side_thread_of(raw)->pid)
RAW_GET(thread_tid, out->n = side_thread_of(raw)->tid)
RAW_GET(thread_comm, out->text = side_thread_of(raw)->comm)
RAW_GET(thread_names, out->n = side_thread_of(raw)->names)
RAW_GET(thread_parent_pid, raw_put(out, side_thread_of(raw)->has_parent, side_thread_of(raw)->ppid))
RAW_GET(thread_parent_tid, raw_put(out, side_thread_of(raw)->has_parent, side_thread_of(raw)->ptid))
RAW_GET(thread_started, raw_put(out, side_thread_of(raw)->has_start, side_thread_of(raw)->started))
RAW_GET(thread_ended, raw_put(out, side_thread_of(raw)->has_end, side_thread_of(raw)->ended))

/* ---- runs and losses: one row for each recording --------------------------------------------- */

static int begin_one(struct raw *c, struct err *err)
{
	(void)err;
	c->i = 0;
	c->n = 1;
	return 0;
}

const struct raw_kind raw_one = { begin_one, raw_array_next };

static const struct pd_info *side_info_of(const struct raw *raw)
{
	return pd_info(raw_of(raw)->r.rec);
}
RAW_GET(run_input, out->text = raw_of(raw)->r.input)
RAW_GET(run_text, memcpy(&out->text, (const char *)side_info_of(raw) + c->which, sizeof(out->text)))
RAW_GET(cpus_online,
	raw_put(out, side_info_of(raw)->cpus_available, side_info_of(raw)->cpus_online))
RAW_GET(cpus_available,
	raw_put(out, side_info_of(raw)->cpus_available, side_info_of(raw)->cpus_available))
RAW_GET(memory_kb, raw_put(out, side_info_of(raw)->mem_total_kb, side_info_of(raw)->mem_total_kb))
RAW_GET(file_size, out->n = side_info_of(raw)->file_size)
RAW_GET(foreign_order, out->n = side_info_of(raw)->foreign_order)
RAW_GET(command, const struct pd_info *info = side_info_of(raw);
	for (size_t i = 0; i < info->n_cmdline; i++)
		buf_printf(out->scratch, "%s%s", i ? " " : "", info->cmdline[i]);
	if (info->n_cmdline) out->text = buf_str(out->scratch))

#define SPAN_GET(name, field, value)                                          \
	RAW_GET(name, uint64_t first; uint64_t last;                          \
		out->none = !pd_time_span(raw_of(raw)->r.rec, &first, &last); \
		if (!out->none) out->field = (value))
SPAN_GET(first_ns, n, first)
SPAN_GET(last_ns, n, last)
SPAN_GET(seconds, e.v, (double)(last - first) / NS_PER_S)
#undef SPAN_GET

RAW_GET(all_samples, size_t n; const struct pd_event *ev = pd_events(raw_of(raw)->r.rec, &n);
	while (n) out->n += ev[--n].samples)

static const struct pd_losses *side_losses_of(const struct raw *raw)
{
	return pd_losses(raw_of(raw)->r.rec);
}
RAW_GET(loss_count, memcpy(&out->n, (const char *)side_losses_of(raw) + c->which, sizeof(out->n)))
RAW_GET(loss_partial, out->n = side_losses_of(raw)->partial)
RAW_GET(loss_ended, out->text = pd_end_name(side_losses_of(raw)->end))
RAW_GET(loss_ended_how, out->text = side_losses_of(raw)->ended)

/* ---- events ---------------------------------------------------------------------------------- */

static int begin_events(struct raw *c, struct err *err)
{
	(void)err;
	c->i = 0;
	(void)pd_events(raw_of(c)->r.rec, &c->n);
	return 0;
}

const struct raw_kind raw_events = { begin_events, raw_array_next };

static const struct pd_event *side_event_of(const struct raw *raw)
{
	size_t n;

	return &pd_events(raw_of(raw)->r.rec, &n)[raw->i - 1];
}
RAW_GET(nth, out->n = raw->i - 1)
RAW_GET(event_name, out->text = side_event_of(raw)->name)
RAW_GET(event_unit, out->text = side_event_of(raw)->unit)
RAW_GET(event_type, out->n = side_event_of(raw)->attr.type)
RAW_GET(event_config, out->n = side_event_of(raw)->attr.config)
RAW_GET(event_config1, out->n = side_event_of(raw)->attr.config1)
RAW_GET(event_config2, out->n = side_event_of(raw)->attr.config2)
RAW_GET(event_sample_freq,
	raw_put(out, side_event_of(raw)->attr.freq, side_event_of(raw)->attr.sample_freq))
RAW_GET(event_sample_period,
	raw_put(out, !side_event_of(raw)->attr.freq, side_event_of(raw)->attr.sample_period))
RAW_GET(event_precise, out->n = side_event_of(raw)->attr.precise_ip)
RAW_GET(event_exclude_user, out->n = side_event_of(raw)->attr.exclude_user)
RAW_GET(event_exclude_kernel, out->n = side_event_of(raw)->attr.exclude_kernel)
RAW_GET(event_samples, out->n = side_event_of(raw)->samples)
RAW_GET(event_period, out->n = side_event_of(raw)->period)
