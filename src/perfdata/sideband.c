/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sideband - records that are no samples, taken apart: mappings, names, tasks, symbols, groups.
 *
 * Strings must end within their record. A record shorter than its fixed part is refused.
 */
#include "perfdata/perfdata_int.h"

#include <math.h>

/* The string at `off`, ended within the record; NULL if it is not. */
static const char *record_text_at(const struct pd_record *r, size_t off)
{
	if (off >= r->size || !memchr(r->p + off, 0, r->size - off))
		return NULL;
	return (const char *)r->p + off;
}

/* The bytes of an MMAP2 at which it may have a build-id: its size, 3 bytes of 0, 20 bytes with 0
 * behind the id. The flag alone is not enough: since Linux 5.12 perf_event_mmap_output()
 * (kernel/events/core.c) sets it in the one header that all listeners of a mapping share, and
 * restores size and type behind each of them, but not the flag: one that asks for no build-ids gets
 * device and inode under the flag if another asked before it. Tools that put build-ids into a
 * recording may not set attr.build_id: ids of the usual lengths are believed without it. */
bool pd_mmap_has_id(const struct pd *rec, const uint8_t *p)
{
	static const uint8_t none[20];
	unsigned n = p[0];
	bool usual = n == 16 || n == 20;

	if (!n || n > 20 || p[1] || p[2] || p[3] || memcmp(p + 4 + n, none, 20 - n) != 0)
		return false;
	for (size_t i = 0; !usual && rec && i < rec->events.n; i++)
		usual = rec->events.v[i].attr.build_id;
	return usual;
}

int pd_mmap_get(const struct pd *rec, const struct pd_record *r, struct pd_mmap *out)
{
	const uint8_t *p = r->p;

	memset(out, 0, sizeof(*out));
	out->is_mmap2 = r->type == PERF_RECORD_MMAP2;
	if ((r->type != PERF_RECORD_MMAP && !out->is_mmap2) || r->size < (out->is_mmap2 ? 73 : 41))
		return -1;
	out->pid = ld32(p + 8);
	out->tid = ld32(p + 12);
	out->addr = ld64(p + 16);
	out->len = ld64(p + 24);
	out->pgoff = ld64(p + 32);
	out->is_data = r->misc & PERF_RECORD_MISC_MMAP_DATA;
	out->path = record_text_at(r, out->is_mmap2 ? 72 : 40);
	if (!out->path)
		return -1;
	if (!out->is_mmap2)
		return 0;
	if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && pd_mmap_has_id(rec, p + 40)) {
		out->build_id_len = p[40];
		memcpy(out->build_id, p + 44, out->build_id_len);
	} else {
		out->maj = ld32(p + 40);
		out->min = ld32(p + 44);
		out->ino = ld64(p + 48);
		out->ino_generation = ld64(p + 56);
	}
	out->prot = ld32(p + 64);
	out->flags = ld32(p + 68);
	return 0;
}

int pd_comm_get(const struct pd_record *r, struct pd_comm *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_COMM || r->size < 17)
		return -1;
	out->pid = ld32(r->p + 8);
	out->tid = ld32(r->p + 12);
	out->exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
	out->comm = record_text_at(r, 16);
	return out->comm ? 0 : -1;
}

int pd_task_get(const struct pd_record *r, struct pd_task *out)
{
	memset(out, 0, sizeof(*out));
	if ((r->type != PERF_RECORD_FORK && r->type != PERF_RECORD_EXIT) || r->size < 32)
		return -1;
	out->pid = ld32(r->p + 8);
	out->ppid = ld32(r->p + 12);
	out->tid = ld32(r->p + 16);
	out->ptid = ld32(r->p + 20);
	out->time = ld64(r->p + 24);
	return 0;
}

int pd_ksymbol_get(const struct pd_record *r, struct pd_ksymbol *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_KSYMBOL || r->size < 25)
		return -1;
	out->addr = ld64(r->p + 8);
	out->len = ld32(r->p + 16);
	out->ksym_type = ld16(r->p + 20);
	out->flags = ld16(r->p + 22);
	out->name = record_text_at(r, 24);
	return out->name ? 0 : -1;
}

int pd_text_poke_get(const struct pd_record *r, struct pd_text_poke *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_TEXT_POKE || r->size < 20)
		return -1;
	out->addr = ld64(r->p + 8);
	out->old_len = ld16(r->p + 16);
	out->new_len = ld16(r->p + 18);
	if ((size_t)out->old_len + out->new_len > (size_t)r->size - 20)
		return -1;
	out->bytes = r->p + 20;
	return 0;
}

int pd_bpf_get(const struct pd_record *r, struct pd_bpf *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_BPF_EVENT || r->size < 24)
		return -1;
	out->bpf_type = ld16(r->p + 8);
	out->flags = ld16(r->p + 10);
	out->id = ld32(r->p + 12);
	memcpy(out->tag, r->p + 16, sizeof(out->tag));
	return 0;
}

int pd_cgroup_get(const struct pd_record *r, struct pd_cgroup *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_CGROUP || r->size < 17)
		return -1;
	out->id = ld64(r->p + 8);
	out->path = record_text_at(r, 16);
	return out->path ? 0 : -1;
}

int pd_namespaces_get(const struct pd_record *r, struct pd_namespaces *out)
{
	memset(out, 0, sizeof(*out));
	if (r->type != PERF_RECORD_NAMESPACES || r->size < 24)
		return -1;
	out->pid = ld32(r->p + 8);
	out->tid = ld32(r->p + 12);
	out->n = ld64(r->p + 16);
	if (out->n > ((size_t)r->size - 24) / 16)
		return -1;
	out->link = r->p + 24;
	return 0;
}

/* The trailer's event: by its id, else the first. */
static uint32_t trailer_event(const struct pd *rec, const struct pd_record *r)
{
	const uint64_t *v;

	if (!rec->id_back || r->size < 8 + rec->id_back)
		return 0;
	v = u64map_find(&rec->ids, ld64(r->p + r->size - rec->id_back));
	return v ? (uint32_t)*v : 0;
}

static void id_of_sample(const struct pd *rec, const struct pd_record *r, struct pd_sample_id *out)
{
	struct pd_sample s;

	if (pd_sample_parse(rec, r, &s))
		return;
	out->has = s.has & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	out->pid = s.pid;
	out->tid = s.tid;
	out->cpu = s.cpu;
	out->time = s.time;
	out->id = s.id;
	out->stream_id = s.stream_id;
	out->event = s.event_index;
}

void pd_sample_id_get(const struct pd *rec, const struct pd_record *r, struct pd_sample_id *out)
{
	const struct perf_event_attr *a;
	const uint8_t *p = r->p + r->size, *start = r->p + 8;

	memset(out, 0, sizeof(*out));
	if (r->type == PERF_RECORD_SAMPLE) {
		id_of_sample(rec, r, out);
		return;
	}
	if (r->type >= PD_RECORD_HEADER_ATTR || !rec->events.n)
		return;
	out->event = trailer_event(rec, r);
	a = &rec->events.v[out->event].attr;
	if (!a->sample_id_all)
		return;
/* from the end towards the front; if it does not fit, the parts found stay */
#define TRAILER(bit, action)                      \
	if (a->sample_type & PERF_SAMPLE_##bit) { \
		if (p - start < 8)                \
			return;                   \
		p -= 8;                           \
		action;                           \
		out->has |= PERF_SAMPLE_##bit;    \
	}
	TRAILER(IDENTIFIER, out->id = ld64(p))
	TRAILER(CPU, out->cpu = ld32(p))
	TRAILER(STREAM_ID, out->stream_id = ld64(p))
	TRAILER(ID, out->id = ld64(p))
	TRAILER(TIME, out->time = ld64(p))
	TRAILER(TID, (out->pid = ld32(p), out->tid = ld32(p + 4)))
#undef TRAILER
}

static int take_time_conv(void *ctx, const struct pd_record *r)
{
	uint64_t shift, mult;

	if (r->type != PD_RECORD_TIME_CONV || r->size < 24)
		return 0;
	shift = ld64(r->p + 8);
	mult = ld64(r->p + 16);
	if (mult && shift < 64)
		*(double *)ctx = 1e9 * ldexp(1, (int)shift) / (double)mult;
	return 1;
}

double pd_tsc_hz(const struct pd *rec)
{
	double hz = 0;

	(void)pd_walk(rec, take_time_conv, &hz);
	return hz;
}
