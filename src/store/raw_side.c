/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that are no samples, as they are, and what they say: mappings, threads. And what the
 * header of a recording has: runs, events, losses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/text.h"
#include "store/raw_int.h"

#define NS_PER_S 1e9

static const struct pd_record *record_of(const struct raw *c)
{
	return &cursor_now(c->walk[c->run])->r;
}

/* ---- records --------------------------------------------------------------------------------- */

static int begin_records(struct raw *c, struct err *err)
{
	return raw_walk_begin(c, true, err);
}

static int next_record(struct raw *c, struct err *err)
{
	(void)err;
	return raw_walk_next(c);
}

/* Time, CPU and thread, of samples by their layout, else by what stands behind the record. */
static void record_id(struct raw *c, enum store_column_id col, struct raw_cell *out)
{
	const struct cursor_row *r = cursor_now(c->walk[c->run]);
	struct pd_sample_id id = { 0 };

	if (r->ev) {
		const struct pd_layout *at = &r->ev->at;

		id.has = (at->time ? (uint64_t)PERF_SAMPLE_TIME : 0) |
			 (at->cpu ? (uint64_t)PERF_SAMPLE_CPU : 0) |
			 (at->tid ? (uint64_t)PERF_SAMPLE_TID : 0);
		id.time = at->time ? ld64(r->r.p + at->time) : 0;
		id.cpu = at->cpu ? ld32(r->r.p + at->cpu) : 0;
		id.pid = at->tid ? ld32(r->r.p + at->tid) : 0;
		id.tid = at->tid ? ld32(r->r.p + at->tid + 4) : 0;
	} else if (r->r.type < PD_RECORD_HEADER_ATTR && r->r.type != PERF_RECORD_SAMPLE) {
		pd_sample_id_get(raw_of(c)->r.rec, &r->r, &id);
	}
	if (col == C_records_time && id.has & PERF_SAMPLE_TIME)
		value_int(out, id.time);
	else if (col == C_records_cpu && id.has & PERF_SAMPLE_CPU)
		value_int(out, id.cpu);
	else if (col == C_records_pid && id.has & PERF_SAMPLE_TID)
		value_int(out, id.pid);
	else if (col == C_records_tid && id.has & PERF_SAMPLE_TID)
		value_int(out, id.tid);
}

static int record_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	const struct pd_record *r = record_of(c);

	(void)err;
	switch (col) {
	case C_records_run:
		value_int(out, c->run + 1);
		break;
	case C_records_record:
		value_int(out, r->seq);
		break;
	case C_records_type:
		value_int(out, r->type);
		break;
	case C_records_name:
		value_text(out, pd_record_name(r->type), true);
		break;
	case C_records_bytes:
		value_int(out, r->size);
		break;
	case C_records_misc:
		value_int(out, r->misc);
		break;
	case C_records_raw:
		*out = (struct raw_cell){
			.kind = V_BLOB, .s = (const char *)r->p, .len = r->size, .stays = true
		};
		break;
	default:
		record_id(c, col, out);
		break;
	}
	return 0;
}

const struct raw_kind raw_records = { begin_records, next_record, record_value };

/* ---- mappings -------------------------------------------------------------------------------- */

static int next_mapping(struct raw *c, struct err *err)
{
	struct pd_mmap m;

	(void)err;
	while (raw_walk_next(c)) {
		const struct pd_record *r = record_of(c);

		if ((r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2) &&
		    !pd_mmap_get(raw_of(c)->r.rec, r, &m))
			return 1;
	}
	return 0;
}

static void protection(struct raw *c, const struct pd_mmap *m, struct raw_cell *out)
{
	if (!m->is_mmap2)
		return;
	buf_reset(&c->text);
	buf_putc(&c->text, m->prot & PROT_READ ? 'r' : '-');
	buf_putc(&c->text, m->prot & PROT_WRITE ? 'w' : '-');
	buf_putc(&c->text, m->prot & PROT_EXEC ? 'x' : '-');
	buf_putc(&c->text, m->flags & MAP_SHARED ? 's' : 'p');
	value_text(out, buf_str(&c->text), false);
}

static void build_id(struct raw *c, const struct pd_mmap *m, struct raw_cell *out)
{
	char hex[2 * sizeof(m->build_id) + 1];

	if (!m->build_id_len)
		return;
	buf_reset(&c->text);
	text_hex(hex, m->build_id, m->build_id_len);
	buf_puts(&c->text, hex);
	value_text(out, buf_str(&c->text), false);
}

static void device(struct raw *c, const struct pd_mmap *m, struct raw_cell *out)
{
	if (!m->is_mmap2 || m->build_id_len)
		return;
	buf_reset(&c->text);
	buf_printf(&c->text, "%02x:%02x", m->maj, m->min);
	value_text(out, buf_str(&c->text), false);
}

static int mapping_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			 struct err *err)
{
	const struct pd_record *r = record_of(c);
	struct pd_sample_id id;
	struct pd_mmap m;

	(void)err;
	if (pd_mmap_get(raw_of(c)->r.rec, r, &m))
		return 0;
	switch (col) {
	case C_mappings_run:
		value_int(out, c->run + 1);
		break;
	case C_mappings_record:
		value_int(out, r->seq);
		break;
	case C_mappings_time:
		pd_sample_id_get(raw_of(c)->r.rec, r, &id);
		if (id.has & PERF_SAMPLE_TIME)
			value_int(out, id.time);
		break;
	case C_mappings_pid:
		if (m.pid != UINT32_MAX)
			value_int(out, m.pid);
		break;
	case C_mappings_tid:
		if (m.pid != UINT32_MAX)
			value_int(out, m.tid);
		break;
	case C_mappings_start:
		value_int(out, m.addr);
		break;
	case C_mappings_bytes:
		value_int(out, m.len);
		break;
	case C_mappings_file_offset:
		value_int(out, m.pgoff);
		break;
	case C_mappings_path:
		value_text(out, m.path, true);
		break;
	case C_mappings_protection:
		protection(c, &m, out);
		break;
	case C_mappings_is_data:
		value_int(out, m.is_data);
		break;
	case C_mappings_in_kernel:
		value_int(out, space_kind_of_misc(r->misc) == SPACE_KERNEL);
		break;
	case C_mappings_device:
		device(c, &m, out);
		break;
	case C_mappings_inode:
		if (m.is_mmap2 && !m.build_id_len)
			value_int(out, m.ino);
		break;
	default:
		build_id(c, &m, out);
		break;
	}
	return 0;
}

const struct raw_kind raw_mappings = { begin_records, next_mapping, mapping_value };

/* ---- threads --------------------------------------------------------------------------------- */

struct threads {
	struct raw_of *of;
	struct u64map last; /* pid and tid -> index + 1 of the thread that has them now */
	struct err *err;
};

/* The thread of that number now; made if there is none, or it has ended and `anew`. */
static struct raw_thread *thread_at(struct threads *t, uint32_t pid, uint32_t tid, bool anew)
{
	uint64_t *at = u64map_at(&t->last, (uint64_t)pid << 32 | tid, NULL);
	struct raw_thread x = { .pid = pid, .tid = tid };

	if (!at)
		return NULL;
	if (*at && !(anew && t->of->thread.v[*at - 1].has_end))
		return &t->of->thread.v[*at - 1];
	if (vec_push(&t->of->thread, x))
		return NULL;
	*at = t->of->thread.n;
	return vec_last(&t->of->thread);
}

static int take_name(struct threads *t, const struct pd_record *r)
{
	struct pd_comm m;
	struct raw_thread *x;

	if (pd_comm_get(r, &m))
		return 0;
	x = thread_at(t, m.pid, m.tid, true);
	if (!x)
		return err_nomem(t->err);
	x->names += !x->comm || strcmp(x->comm, m.comm) != 0;
	x->comm = m.comm;
	return 0;
}

/* A fork of time 0 is one that perf made up for a process that was there before. */
static int take_task(struct threads *t, const struct pd_record *r)
{
	struct pd_sample_id id;
	struct pd_task m;
	struct raw_thread *x;
	uint64_t time;

	if (pd_task_get(r, &m))
		return 0;
	pd_sample_id_get(t->of->r.rec, r, &id);
	time = id.has & PERF_SAMPLE_TIME ? id.time : m.time;
	x = thread_at(t, m.pid, m.tid, r->type == PERF_RECORD_FORK);
	if (!x)
		return err_nomem(t->err);
	if (r->type == PERF_RECORD_EXIT) {
		x->has_end = true;
		x->ended = time;
		return 0;
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
	return 0;
}

static int take_record(void *ctx, const struct pd_record *r)
{
	switch (r->type) {
	case PERF_RECORD_COMM:
		return take_name(ctx, r);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return take_task(ctx, r);
	default:
		return 0;
	}
}

int raw_threads_make(struct raw_of *r, struct err *err)
{
	struct threads t = { .of = r, .last = U64MAP_INIT, .err = err };
	int ret = 0;

	if (!r->threads_made)
		ret = pd_walk(r->r.rec, take_record, &t);
	r->threads_made = !ret;
	u64map_free(&t.last);
	return ret;
}

static int begin_threads(struct raw *c, struct err *err)
{
	if (raw_threads_make(raw_of(c), err))
		return -1;
	c->i = 0;
	c->n = raw_of(c)->thread.n;
	return 0;
}

int raw_array_next(struct raw *c, struct err *err)
{
	(void)err;
	return c->i++ < c->n;
}

static void known(struct raw_cell *out, bool is, uint64_t x)
{
	if (is)
		value_int(out, x);
}

static int thread_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
			struct err *err)
{
	const struct raw_thread *x = &raw_of(c)->thread.v[c->i - 1];

	(void)err;
	switch (col) {
	case C_threads_run:
		value_int(out, c->run + 1);
		break;
	case C_threads_pid:
		value_int(out, x->pid);
		break;
	case C_threads_tid:
		value_int(out, x->tid);
		break;
	case C_threads_comm:
		value_text(out, x->comm, true);
		break;
	case C_threads_names:
		value_int(out, x->names);
		break;
	case C_threads_parent_pid:
		known(out, x->has_parent, x->ppid);
		break;
	case C_threads_parent_tid:
		known(out, x->has_parent, x->ptid);
		break;
	case C_threads_started:
		known(out, x->has_start, x->started);
		break;
	default:
		known(out, x->has_end, x->ended);
		break;
	}
	return 0;
}

const struct raw_kind raw_threads = { begin_threads, raw_array_next, thread_value };

/* ---- runs ------------------------------------------------------------------------------------ */

static int begin_one(struct raw *c, struct err *err)
{
	(void)err;
	c->i = 0;
	c->n = 1;
	return 0;
}

static void command(struct raw *c, const struct pd_info *i, struct raw_cell *out)
{
	if (!i->n_cmdline)
		return;
	buf_reset(&c->text);
	for (size_t k = 0; k < i->n_cmdline; k++)
		buf_printf(&c->text, "%s%s", k ? " " : "", i->cmdline[k]);
	value_text(out, buf_str(&c->text), false);
}

static void run_time(const struct pd *rec, enum store_column_id col, struct raw_cell *out)
{
	uint64_t first, last;

	if (!pd_time_span(rec, &first, &last))
		return;
	if (col == C_runs_seconds) {
		out->kind = V_REAL;
		out->r = (double)(last - first) / NS_PER_S;
	} else {
		value_int(out, col == C_runs_first_ns ? first : last);
	}
}

static uint64_t all_samples(const struct pd *rec)
{
	size_t n;
	const struct pd_event *ev = pd_events(rec, &n);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += ev[i].samples;
	return sum;
}

static int run_value(struct raw *c, enum store_column_id col, struct raw_cell *out, struct err *err)
{
	const struct raw_run *r = &raw_of(c)->r;
	const struct pd_info *i = pd_info(r->rec);

	(void)err;
	switch (col) {
	case C_runs_run:
		value_int(out, c->run + 1);
		break;
	case C_runs_input:
		value_text(out, r->input, true);
		break;
	case C_runs_host:
		value_text(out, i->hostname, true);
		break;
	case C_runs_arch:
		value_text(out, i->arch, true);
		break;
	case C_runs_os_release:
		value_text(out, i->os_release, true);
		break;
	case C_runs_cpu:
		value_text(out, i->cpu_desc, true);
		break;
	case C_runs_cpuid:
		value_text(out, i->cpuid, true);
		break;
	case C_runs_cpus_online:
		known(out, i->cpus_available, i->cpus_online);
		break;
	case C_runs_cpus_available:
		known(out, i->cpus_available, i->cpus_available);
		break;
	case C_runs_memory_kb:
		known(out, i->mem_total_kb, i->mem_total_kb);
		break;
	case C_runs_command:
		command(c, i, out);
		break;
	case C_runs_recorder:
		value_text(out, i->version, true);
		break;
	case C_runs_bytes:
		value_int(out, i->file_size);
		break;
	case C_runs_samples:
		value_int(out, all_samples(r->rec));
		break;
	case C_runs_foreign_byte_order:
		value_int(out, i->foreign_order);
		break;
	default:
		run_time(r->rec, col, out);
		break;
	}
	return 0;
}

const struct raw_kind raw_runs_rows = { begin_one, raw_array_next, run_value };

/* ---- events ---------------------------------------------------------------------------------- */

static int begin_events(struct raw *c, struct err *err)
{
	(void)err;
	c->i = 0;
	(void)pd_events(raw_of(c)->r.rec, &c->n);
	return 0;
}

static int event_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		       struct err *err)
{
	size_t n;
	const struct pd_event *e = &pd_events(raw_of(c)->r.rec, &n)[c->i - 1];
	const struct perf_event_attr *a = &e->attr;

	(void)err;
	switch (col) {
	case C_events_run:
		value_int(out, c->run + 1);
		break;
	case C_events_event_id:
		value_int(out, c->i - 1);
		break;
	case C_events_event:
		value_text(out, e->name, true);
		break;
	case C_events_unit:
		value_text(out, e->unit, true);
		break;
	case C_events_type:
		value_int(out, a->type);
		break;
	case C_events_config:
		value_int(out, a->config);
		break;
	case C_events_config1:
		value_int(out, a->config1);
		break;
	case C_events_config2:
		value_int(out, a->config2);
		break;
	case C_events_sample_freq:
		known(out, a->freq, a->sample_freq);
		break;
	case C_events_sample_period:
		known(out, !a->freq, a->sample_period);
		break;
	case C_events_precise:
		value_int(out, a->precise_ip);
		break;
	case C_events_exclude_user:
		value_int(out, a->exclude_user);
		break;
	case C_events_exclude_kernel:
		value_int(out, a->exclude_kernel);
		break;
	case C_events_samples:
		value_int(out, e->samples);
		break;
	default:
		value_int(out, e->period);
		break;
	}
	return 0;
}

const struct raw_kind raw_events = { begin_events, raw_array_next, event_value };

/* ---- losses ---------------------------------------------------------------------------------- */

static int loss_value(struct raw *c, enum store_column_id col, struct raw_cell *out,
		      struct err *err)
{
	const struct pd_losses *l = pd_losses(raw_of(c)->r.rec);
	const uint64_t v[] = { c->run + 1,	l->lost,      l->lost_records,
			       l->lost_samples, l->read_lost, l->throttles,
			       l->unthrottles,	l->aux_lost,  l->unattributed };

	(void)err;
	if (col == C_losses_partial)
		value_int(out, l->partial);
	else if (col == C_losses_ended)
		value_text(out, pd_end_name(l->end), true);
	else if (col == C_losses_ended_how)
		value_text(out, l->ended, true);
	else
		value_int(out, v[col - C_losses_run]);
	return 0;
}

const struct raw_kind raw_losses = { begin_one, raw_array_next, loss_value };
