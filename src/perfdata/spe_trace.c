/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spe_trace - samples of the AUX trace of Arm's SPE, made when a recording is opened.
 *
 * Each record of the trace becomes a SAMPLE record of its event (perfdata/spe.h describes it), in
 * memory that stays until pd_close; the walk takes it as if the kernel had written it. The
 * kernel has the fields that a record lacks:
 *
 *	time	its time stamp by TIME_CONV; without either, of the AUX record of its bytes
 *	thread	its context packet; without one, the thread on the CPU at that time by the
 *		kernel's records, or the trace's target
 *	MIDR	of its CPU by AUXTRACE_INFO; version 1 has none: of the header's CPUID
 *
 * Bytes that are no packet, and the bytes up to the end of a record, are left out and noted, as
 * are records without an address of code. A record may be RECORD_MOST long: made samples take at
 * at most some 20 times that of the trace, as a rule 3 times.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "perfdata/perfdata_int.h"
#include "perfdata/spe.h"

#define AUXTRACE_ARM_SPE 4u
#define RECORD_MOST	 2048u /* the largest that a CPU may write */
#define SAMPLE_MOST	 (RECORD_MOST + 256u)
#define NOBODY		 UINT32_MAX

/* A fact about a CPU or a thread, by `key`, from `at` on: a time or a place in its buffer. */
struct fact {
	uint32_t key, pid, tid;
	uint64_t at, time;
};

struct facts {
	struct fact *v;
	size_t n, cap;
};

struct cpu {
	uint32_t midr, type; /* type: of its PMU; UINT32_MAX: none */
	uint64_t events;     /* that it has */
};

struct conversion {
	bool any;
	unsigned shift;
	uint64_t mult, zero, cycles, mask;
};

struct decoding {
	struct pd *rec;
	struct facts on_cpu, of_thread, aux;
	struct conversion conv;
	VEC(struct cpu) cpus;
	struct u64map cpu_at; /* CPU -> index */
	uint32_t type;	      /* of the PMU */
	uint8_t *block;
	size_t fill;
	uint64_t records, cut, bad, nowhere, untimed, nobody;
};

/* The reading of one trace. */
struct reading {
	const struct pd_trace *trace;
	const struct pd_event *ev;
	const struct cpu *cpu;
	struct spe x;
	uint8_t raw[RECORD_MOST];
	size_t used;
	uint32_t context; /* the last one; NOBODY: none yet */
};

/* ---- the kernel's records ------------------------------------------------------------------- */

static int facts_by_key(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* The last of `key` up to `at`, else its first; NULL: none. */
static const struct fact *fact_at(const struct facts *v, uint32_t key, uint64_t at, bool or_first)
{
	size_t i;

	bisect(i, v->n, k, v->v[k].key > key || (v->v[k].key == key && v->v[k].at > at));
	if (i && v->v[i - 1].key == key)
		return &v->v[i - 1];
	return or_first && i < v->n && v->v[i].key == key ? &v->v[i] : NULL;
}

static int add_trace_fact(struct facts *v, uint32_t key, uint64_t at, uint32_t pid, uint32_t tid,
			  uint64_t time)
{
	return vec_push(v, ((struct fact){ key, pid, tid, at, time }));
}

static void read_conversion(struct conversion *c, const struct pd_record *r)
{
	if (r->size < 32)
		return;
	c->shift = ld64(r->p + 8) < 64 ? (unsigned)ld64(r->p + 8) : 0;
	c->mult = ld64(r->p + 16);
	c->zero = ld64(r->p + 24);
	if (r->size >= 50 && r->p[49]) { /* a counter of fewer bits */
		c->cycles = ld64(r->p + 32);
		c->mask = ld64(r->p + 40);
	} else {
		c->mask = UINT64_MAX;
	}
	c->any = c->mult;
}

static uint64_t trace_time(const struct conversion *c, uint64_t ticks)
{
	uint64_t whole, rest;

	ticks = c->cycles + ((ticks - c->cycles) & c->mask);
	whole = ticks >> c->shift;
	rest = ticks & ((UINT64_C(1) << c->shift) - 1);
	return c->zero + whole * c->mult + (rest * c->mult >> c->shift);
}

/* Who runs from then on: whom a switch on any CPU names, or whose the record is. */
static int take_trace_switch(struct decoding *d, const struct pd_record *r,
			     const struct pd_sample_id *id)
{
	bool out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;

	if (!(id->has & PERF_SAMPLE_CPU) || !(id->has & PERF_SAMPLE_TIME))
		return 0;
	if (!out)
		return add_trace_fact(&d->on_cpu, id->cpu, id->time, id->pid, id->tid, 0);
	if (r->type != PERF_RECORD_SWITCH_CPU_WIDE || r->size < 16)
		return 0;
	return add_trace_fact(&d->on_cpu, id->cpu, id->time, ld32(r->p + 8), ld32(r->p + 12), 0);
}

static int take_thread(struct decoding *d, const struct pd_record *r, const struct pd_sample_id *id)
{
	struct pd_task task;
	struct pd_comm comm;

	if (r->type == PERF_RECORD_FORK && !pd_task_get(r, &task))
		return add_trace_fact(&d->of_thread, task.tid, task.time, task.pid, task.tid, 0);
	if (r->type == PERF_RECORD_COMM && !pd_comm_get(r, &comm))
		return add_trace_fact(&d->of_thread, comm.tid, id->time, comm.pid, comm.tid, 0);
	return 0;
}

static int take_trace_record(void *ctx, const struct pd_record *r)
{
	struct decoding *d = ctx;
	struct pd_sample_id id;

	if (r->type == PD_RECORD_TIME_CONV)
		read_conversion(&d->conv, r);
	if (r->type >= PD_RECORD_HEADER_ATTR)
		return 0;
	pd_sample_id_get(d->rec, r, &id);
	switch (r->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_trace_switch(d, r, &id);
	case PERF_RECORD_ITRACE_START:
		if (r->size < 16 || !(id.has & PERF_SAMPLE_CPU) || !(id.has & PERF_SAMPLE_TIME))
			return 0;
		return add_trace_fact(&d->on_cpu, id.cpu, id.time, ld32(r->p + 8), ld32(r->p + 12),
				      0);
	case PERF_RECORD_AUX:
		if (r->size < 32)
			return 0;
		return add_trace_fact(&d->aux, id.has & PERF_SAMPLE_CPU ? id.cpu : id.tid,
				      ld64(r->p + 8), 0, 0, id.time);
	default:
		return take_thread(d, r, &id);
	}
}

static int add_trace_cpu(struct decoding *d, uint64_t number, struct cpu cpu)
{
	uint64_t *at = u64map_at(&d->cpu_at, number, NULL);

	if (!at || vec_push(&d->cpus, cpu))
		return -1;
	*at = d->cpus.n - 1;
	return 0;
}

/* The private part of AUXTRACE_INFO. Version 1: the PMU's type, one more. Since 2: version, words
 * of this head, the PMU's type, CPUs; then for each magic, number, words from here on, MIDR, PMU's
 * type, least interval, events. The first of `cpus` is for CPUs that are not listed. */
static int read_info(struct decoding *d)
{
	const uint8_t *p = d->rec->aux_info + 16;
	size_t n = (d->rec->aux_info_size - 16u) / 8, at, more;
	const char *id = d->rec->info.cpuid;
	struct cpu cpu = { 0, UINT32_MAX, 0 };

	cpu.midr = id && !strncmp(id, "0x", 2) ? (uint32_t)strtoull(id, NULL, 16) : 0;
	if (vec_push(&d->cpus, cpu))
		return -1;
	d->type = n ? (uint32_t)ld64(p) : 0;
	if (n < 4)
		return 0;
	d->type = (uint32_t)ld64(p + 16);
	for (at = ld64(p + 8) < n ? (size_t)ld64(p + 8) : n; n - at >= 5; at += 3 + more) {
		const uint8_t *q = p + 8 * at;

		more = ld64(q + 16) < n ? (size_t)ld64(q + 16) : n;
		if (more < 2 || more > n - at - 3)
			break;
		cpu = (struct cpu){ (uint32_t)ld64(q + 24), (uint32_t)ld64(q + 32),
				    more > 3 ? ld64(q + 48) : 0 };
		if (add_trace_cpu(d, ld64(q + 8), cpu))
			return -1;
	}
	/* a trace of a thread does not name its CPU: known if all are alike */
	for (size_t i = 1; i < d->cpus.n; i++)
		if (d->cpus.v[i].midr != d->cpus.v[1].midr)
			return 0;
	if (d->cpus.n > 1)
		d->cpus.v[0] = d->cpus.v[1];
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int flush_trace_sample(struct decoding *d, struct err *err)
{
	int rc = d->fill ? pd_walk_made(d->rec, d->block, d->fill, err) : 0;

	d->fill = 0;
	d->block = NULL;
	return rc;
}

static void *put_trace_bytes(uint8_t *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
	return put_trace_bytes(p, &v, sizeof(v));
}

static uint8_t *put_pair(uint8_t *p, uint32_t a, uint32_t b)
{
	uint32_t v[2] = { a, b };

	return put_trace_bytes(p, v, sizeof(v));
}

/* The fields as the kernel orders them, those that the event has. */
static uint8_t *put_trace_sample(uint8_t *p, const struct reading *r, uint32_t pid, uint32_t tid,
				 uint64_t time)
{
	const struct spe *x = &r->x;
	uint64_t type = r->ev->attr.sample_type, v[3] = { 0 }, id = r->ev->n_ids ? *r->ev->ids : 0;
	uint32_t raw = (uint32_t)(((sizeof(uint32_t) + SPE_RAW_HEAD + r->used + 7) & ~7u) -
				  sizeof(uint32_t));

	if (type & PERF_SAMPLE_IDENTIFIER)
		p = put64(p, id);
	(void)spe_get(x, SPE_PC, &v[0]);
	p = put_pair(put64(p, v[0]), pid, tid);
	if (type & PERF_SAMPLE_TIME)
		p = put64(p, time);
	(void)spe_get(x, SPE_VIRTUAL, &v[1]);
	p = put64(p, v[1]);
	if (type & PERF_SAMPLE_ID)
		p = put64(p, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		p = put64(p, id);
	if (type & PERF_SAMPLE_CPU)
		p = put_pair(p, (uint32_t)r->trace->cpu, 0);
	p = put64(p, r->ev->attr.sample_period ? r->ev->attr.sample_period : 1);
	st32(p, raw);
	p = put_pair(p + sizeof(raw), x->midr, x->flags);
	p = put_trace_bytes(p, r->raw, r->used);
	memset(p, 0, raw - SPE_RAW_HEAD - r->used);
	p += raw - SPE_RAW_HEAD - r->used;
	p = put64(p, (x->word[SPE_W_TOTAL] & UINT16_MAX) |
			     (x->word[SPE_W_ISSUE] & UINT16_MAX) << 32 |
			     (x->word[SPE_W_TRANSLATION] & UINT16_MAX) << 48);
	(void)spe_get(x, SPE_PHYSICAL, &v[2]);
	return put64(put64(p, spe_data_src(x)), v[2]);
}

/* The added fields that a record of SPE fills; those in a kernel record's trailer stay as they
 * were. */
#define TRAILER                                                                        \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define MADE                                                                        \
	(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW | \
	 PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR)

static uint64_t when(struct decoding *d, const struct reading *r, size_t at)
{
	const struct pd_trace *t = r->trace;
	const struct fact *f;

	if (r->x.has >> SPE_W_TIMESTAMP & 1 && d->conv.any)
		return trace_time(&d->conv, r->x.word[SPE_W_TIMESTAMP]);
	d->untimed++;
	f = fact_at(&d->aux, (uint32_t)(t->cpu >= 0 ? t->cpu : t->tid), t->offset + at, true);
	return f ? f->time : 0;
}

static void who(struct decoding *d, const struct reading *r, uint64_t time, uint32_t *pid,
		uint32_t *tid)
{
	const struct fact *f;

	*tid = r->context;
	*pid = NOBODY;
	if (*tid == NOBODY && r->trace->cpu >= 0) {
		f = fact_at(&d->on_cpu, (uint32_t)r->trace->cpu, time, false);
		*tid = f ? f->tid : NOBODY;
		*pid = f ? f->pid : NOBODY;
	}
	if (*tid == NOBODY)
		*tid = (uint32_t)r->trace->tid;
	if (*tid == NOBODY)
		d->nobody++;
	if (*pid != NOBODY || *tid == NOBODY)
		return;
	f = fact_at(&d->of_thread, *tid, time, true);
	*pid = f ? f->pid : *tid ? NOBODY : 0;
}

static int emit_record(struct decoding *d, const struct reading *r, size_t at, struct err *err)
{
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE };
	uint64_t level, time;
	uint32_t pid, tid;
	uint8_t *p;

	if (spe_get(&r->x, SPE_PC_LEVEL, &level)) {
		d->nowhere++;
		return 0;
	}
	if (d->block && d->fill + SAMPLE_MOST > PD_BLOCK_SIZE && flush_trace_sample(d, err))
		return -1;
	if (!d->block)
		d->block = pd_block_new(d->rec, PD_BLOCK_SIZE);
	if (!d->block)
		return err_nomem(err);
	time = when(d, r, at);
	who(d, r, time, &pid, &tid);
	p = d->block + d->fill;
	h.misc = (level ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
		 PERF_RECORD_MISC_EXACT_IP;
	h.size = (uint16_t)(put_trace_sample(p + sizeof(h), r, pid, tid, time) - p);
	memcpy(p, &h, sizeof(h));
	d->fill += h.size;
	d->records++;
	return 0;
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void begin_record(struct reading *r)
{
	r->x = (struct spe){ .midr = r->cpu->midr,
			     .flags = r->cpu->events >> 23 & 1 ? SPE_TELLS_SNOOPS : 0 };
	r->used = 0;
}

static int read_trace(struct decoding *d, struct reading *r, struct err *err)
{
	const struct pd_trace *t = r->trace;
	struct spe_packet k;
	bool skip = false; /* up to the end of a record that is damaged */
	size_t n;

	begin_record(r);
	r->context = NOBODY;
	for (size_t at = 0; at < t->len; at += n) {
		n = spe_packet_read(&k, t->p + at, t->len - at, t->offset + at);
		if (!n || (!skip && k.kind != SPE_PAD && r->used + n > RECORD_MOST)) {
			d->bad += !n;
			d->cut += !skip;
			skip = true;
			begin_record(r);
			n = n ? n : 1;
			continue;
		}
		if (k.kind == SPE_PAD)
			continue;
		if (!skip) {
			memcpy(r->raw + r->used, t->p + at, n);
			r->used += n;
			spe_add(&r->x, &k);
		}
		if (k.kind != SPE_END && k.kind != SPE_TIMESTAMP)
			continue;
		spe_finish(&r->x);
		if (r->x.has >> SPE_W_CONTEXT & 1)
			r->context = (uint32_t)r->x.word[SPE_W_CONTEXT];
		if (!skip && emit_record(d, r, at, err))
			return -1;
		skip = false;
		begin_record(r);
	}
	d->cut += r->used != 0;
	return 0;
}

/* The event whose PMU it is: of the trace's CPU, else of the recording. */
static struct pd_event *trace_event(const struct decoding *d, const struct cpu *cpu)
{
	struct pd_event *other = NULL;

	vec_each (&d->rec->events, struct pd_event *, ev) {
		if (ev->attr.type == cpu->type)
			return ev;
		if (ev->attr.type == d->type)
			other = ev;
	}
	return other;
}

/* Gives the event the fields that its samples will have. False: they would have no id to find their
 * event by. */
static bool prepare_event(struct pd *rec, struct pd_event *ev)
{
	uint64_t type = ev->attr.sample_type;
	size_t id_at;

	if (ev->samples) /* of its own: made by another source before */
		return false;
	ev->attr.sample_type = (type & TRAILER) | PERF_SAMPLE_TID | MADE;
	ev->at = (struct pd_layout){ 0 };
	pd_event_layout(ev);
	id_at = ev->at.identifier ? ev->at.identifier : ev->at.id;
	if (type & PERF_SAMPLE_TID && (rec->events.n == 1 || (id_at && id_at == rec->id_at)))
		return true;
	ev->attr.sample_type = type;
	ev->at = (struct pd_layout){ 0 };
	pd_event_layout(ev);
	return false;
}

static int read_traces(struct decoding *d, struct err *err)
{
	struct pd *rec = d->rec;
	struct reading *r = calloc(1, sizeof(*r));
	VEC(struct pd_event *) ready = VEC_INIT;
	int rc = r ? 0 : err_nomem(err);

	for (size_t i = 0; !rc && i < rec->traces.n; i++) {
		const uint64_t *at;
		struct pd_event *ev;
		size_t k = 0;

		r->trace = &rec->traces.v[i];
		at = r->trace->cpu >= 0 ? u64map_find(&d->cpu_at, (uint64_t)r->trace->cpu) : NULL;
		r->cpu = &d->cpus.v[at ? *at : 0];
		r->ev = ev = trace_event(d, r->cpu);
		while (k < ready.n && ready.v[k] != ev)
			k++;
		if (!ev || (k == ready.n && !prepare_event(rec, ev))) {
			pd_note(rec, "an SPE trace belongs to no event that could have its "
				     "samples: not decoded");
			continue;
		}
		if (k == ready.n && vec_push(&ready, ev))
			rc = err_nomem(err);
		if (!rc)
			rc = read_trace(d, r, err);
		rec->info.aux_decoded += r->trace->len;
	}
	if (!rc)
		rc = flush_trace_sample(d, err);
	vec_free(&ready);
	free(r);
	return rc;
}

static void note_trace_losses(const struct decoding *d)
{
	if (d->cut)
		pd_note(d->rec,
			"SPE: %" PRIu64 " records are damaged or cut off: left out (%" PRIu64
			" bytes are no packets)",
			d->cut, d->bad);
	if (d->nowhere)
		pd_note(d->rec,
			"SPE: %" PRIu64 " records have no address of an instruction: left out",
			d->nowhere);
	if (d->untimed)
		pd_note(d->rec,
			"SPE: %" PRIu64
			" records have no usable time stamp (ts_enable=1): they have the time "
			"at which the kernel handed on their piece of trace",
			d->untimed);
	if (d->nobody)
		pd_note(d->rec,
			"SPE: the threads of %" PRIu64
			" records are not known: record as root on a kernel with "
			"CONFIG_PID_IN_CONTEXTIDR, or with the switches of all CPUs",
			d->nobody);
}

int pd_spe_decode(struct pd *rec, struct err *err)
{
	struct decoding d = { .rec = rec };
	int rc = -1;

	if (!rec->traces.n)
		return 0;
	if (!rec->aux_info || ld32(rec->aux_info + 8) != AUXTRACE_ARM_SPE)
		return 0;
	if (read_info(&d) || pd_walk(rec, take_trace_record, &d)) {
		(void)err_nomem(err);
		goto out;
	}
	vec_sort(&d.on_cpu, facts_by_key);
	vec_sort(&d.of_thread, facts_by_key);
	vec_sort(&d.aux, facts_by_key);
	rc = read_traces(&d, err);
	if (!rc)
		note_trace_losses(&d);
out:
	vec_free(&d.on_cpu);
	vec_free(&d.of_thread);
	vec_free(&d.aux);
	vec_free(&d.cpus);
	u64map_free(&d.cpu_at);
	return rc;
}
