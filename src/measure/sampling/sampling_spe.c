/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of Arm's SPE: needs of its events, the first record of a file with it, and its way from
 * the AUX rings into the file, in the form of perf's records.
 *
 *	TIME_CONV	how its time stamps become the times of other records
 *	AUXTRACE_INFO	of each CPU MIDR, PMU, least interval, events (version 2)
 *	AUXTRACE	a piece of the trace, its bytes behind the record
 */
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "collect/attr.h"
#include "collect/sysfs.h"
#include "measure/sampling/sampling_int.h"
#include "perfdata/spe.h"

#define DEVICES	   "sys/bus/event_source/devices/"
#define AUX_ROOT   ((uint64_t)4 << 20)
#define AUX_USER   ((uint64_t)256 << 10) /* limit of locked memory beside the rings of records */
#define ARM_SPE	   4u			 /* auxtrace type */
#define CPU_MAGIC  UINT64_C(0x1010101010101010)
#define CPU_WORDS  7u
#define HEAD_WORDS 4u
#define CPUS_MOST  1100u /* that a record has room for */

static bool is_spe(const struct sampling *r, size_t i)
{
	return attr_is_spe(&r->events.ev.v[i]);
}

bool sampling_spe(const struct sampling *r)
{
	for (size_t i = 0; i < r->events.ev.n; i++)
		if (is_spe(r, i))
			return true;
	return false;
}

uint64_t sampling_spe_ring(const struct sampling *r, size_t i)
{
	return !is_spe(r, i) ? 0 : geteuid() ? AUX_USER : AUX_ROOT;
}

/* PMUs whose data goes to an AUX ring, and is not for us. */
static const char *const traces[] = { "intel_pt", "intel_bts", "cs_etm", "hisi_ptt", "arm_trbe" };

int sampling_spe_check(const struct sampling *r, struct err *err)
{
	for (size_t i = 0; i < r->events.ev.n; i++) {
		const struct event *e = &r->events.ev.v[i];

		for (size_t k = 0; e->pmu && k < sizeof(traces) / sizeof(*traces); k++)
			if (!strncmp(e->pmu, traces[k], strlen(traces[k]))) {
				(void)err_set(err, ERR_UNSUPPORTED,
					      "%s: it writes a trace, not samples, and cyclade "
					      "reads none but Arm's SPE",
					      e->name);
				return err_hint(err, "perf record, and perf script, read it");
			}
		if (is_spe(r, i) && e->has_freq)
			return err_set(err, ERR_USAGE, "%s: SPE has a period (-c), no frequency",
				       e->name);
	}
	if (!sampling_spe(r))
		return 0;
	if (r->opts.zstd_level) {
		(void)err_set(err, ERR_UNSUPPORTED,
			      "--zstd: a recording of SPE cannot be packed: its trace stands "
			      "between the records");
		return err_hint(err, "leave it out, and pack the file: zstd cyclade.data");
	}
	if (r->opts.keep || r->sink.live)
		return err_set(err, ERR_UNSUPPORTED,
			       "samples of SPE are made when the recording is read: %s cannot "
			       "look at them",
			       r->opts.keep ? "--keep" : "top");
	return 0;
}

/* ---- the file ---------------------------------------------------------------------------- */

static int put_spe_clock(struct sampling *r, struct err *err)
{
	struct time_conv {
		struct perf_event_header header;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t cap_zero, cap_short, reserved[6];
	} tc = { .header = { .type = PD_RECORD_TIME_CONV, .size = sizeof(tc) }, .cap_zero = 1 };
	struct recorder_clock c;

	if (!recorder_clock(r->recorder, &c)) {
		measure_news(&r->opts,
			     "the kernel does not tell how SPE's time stamps become times: "
			     "records get that of their piece of trace");
		return 0;
	}
	tc.shift = c.shift;
	tc.mult = c.mult;
	tc.zero = c.zero;
	tc.cycles = c.cycles;
	tc.mask = c.mask;
	tc.cap_short = c.short_counter;
	return pdw_data(r->sink.writer, &tc, sizeof(tc), err);
}

static uint64_t midr_of(const struct sampling *r, uint32_t cpu)
{
	const char *text =
		sys_text(r->arena, r->k.root,
			 "sys/devices/system/cpu/cpu%u/regs/identification/midr_el1", cpu);
	int64_t v;

	return text && text_number(&v, text, strlen(text)) ? (uint64_t)v : 0;
}

/* In hexadecimal, with 0x or not. */
static uint64_t cap_of(const struct sampling *r, const char *pmu, const char *cap, int base)
{
	const char *text = sys_text(r->arena, r->k.root, DEVICES "%s/caps/%s", pmu, cap);

	return text ? strtoull(text, NULL, base) : 0;
}

/* The PMU of a CPU, of those that are recorded; NULL: none. */
static const struct event *spe_of(const struct sampling *r, uint32_t cpu)
{
	for (size_t i = 0; i < r->events.ev.n; i++)
		if (is_spe(r, i) &&
		    (!r->ev[i].cpus || cpu_list_has(r->ev[i].cpus, r->ev[i].n_cpus, cpu)))
			return &r->events.ev.v[i];
	return NULL;
}

static int put_info(struct sampling *r, struct err *err)
{
	const struct machine *m = &r->k.machine;
	size_t n = m->cpus_online < CPUS_MOST ? m->cpus_online : CPUS_MOST;
	struct perf_event_header h = { .type = PD_RECORD_AUXTRACE_INFO };
	struct buf b = BUF_INIT;
	uint32_t type = 0;
	int rc;

	for (size_t i = r->events.ev.n; i-- > 0;)
		if (is_spe(r, i))
			type = r->events.ev.v[i].attr.type;
	h.size = (uint16_t)(sizeof(h) + 8 + 8 * (HEAD_WORDS + CPU_WORDS * n));
	buf_put(&b, &h, sizeof(h));
	buf_put_u32(&b, ARM_SPE);
	buf_put_u32(&b, 0);
	buf_put_u64(&b, 2); /* version */
	buf_put_u64(&b, HEAD_WORDS);
	buf_put_u64(&b, type);
	buf_put_u64(&b, n);
	for (size_t i = 0; i < n; i++) {
		const struct event *e = spe_of(r, m->online[i]);

		buf_put_u64(&b, CPU_MAGIC);
		buf_put_u64(&b, m->online[i]);
		buf_put_u64(&b, CPU_WORDS - 3);
		buf_put_u64(&b, midr_of(r, m->online[i]));
		buf_put_u64(&b, e ? e->attr.type : UINT64_MAX);
		buf_put_u64(&b, e ? cap_of(r, e->pmu, "min_interval", 10) : 0);
		buf_put_u64(&b, e ? cap_of(r, e->pmu, "event_filter", 16) : 0);
	}
	rc = b.failed ? err_nomem(err) : pdw_data(r->sink.writer, b.s, b.len, err);
	buf_free(&b);
	return rc;
}

int sampling_spe_begin(struct sampling *r, struct err *err)
{
	const uint64_t index = 0; /* none: readers look at all records */

	return put_spe_clock(r, err) || put_info(r, err) ||
			       pdw_feature(r->sink.writer, PD_HAS_AUXTRACE, &index, sizeof(index),
					   err)
		       ? -1
		       : 0;
}

/* ---- the trace --------------------------------------------------------------------------- */

/* Records of a piece: how many packets end one. */
static uint64_t count_records(const uint8_t *p, size_t len, uint64_t offset)
{
	struct spe_packet k;
	uint64_t records = 0;

	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		n = spe_packet_read(&k, p + at, len - at, offset + at);
		records += n && (k.kind == SPE_END || k.kind == SPE_TIMESTAMP);
	}
	return records;
}

int sink_trace(void *ctx, const struct recorder_trace *t, struct err *err)
{
	static const uint8_t zeros[8];
	struct sink *s = ctx;
	size_t len = t->len[0] + t->len[1], pad = -len & 7;
	struct auxtrace {
		struct perf_event_header header;
		uint64_t size, offset, reference;
		uint32_t idx, tid, cpu, reserved;
	} a = { .header = { .type = PD_RECORD_AUXTRACE, .size = sizeof(a) },
		.size = len + pad,
		.offset = t->offset,
		.reference = ++s->traces,
		.idx = t->ring,
		.tid = (uint32_t)t->task,
		.cpu = (uint32_t)t->cpu };

	s->fresh = true;
	for (int i = 0; i < 2; i++)
		s->samples += count_records(t->p[i], t->len[i], t->offset + (i ? t->len[0] : 0));
	return pdw_data(s->writer, &a, sizeof(a), err) ||
			       pdw_data(s->writer, t->p[0], t->len[0], err) ||
			       pdw_data(s->writer, t->p[1], t->len[1], err) ||
			       pdw_data(s->writer, zeros, pad, err)
		       ? -1
		       : 0;
}
