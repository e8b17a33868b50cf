/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that are no samples, as `perf script --show-task-events --show-mmap-events
 * --show-switch-events` of Linux 6.12 prints them.
 */
#include <inttypes.h>

#include "base/text.h"
#include "report/export/script_int.h"

#define BYTES_OF_HEADER 8

bool script_shows(const struct script_opts *o, uint32_t type)
{
	switch (type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return o->tasks;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return o->mappings;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return o->switches;
	default:
		return false;
	}
}

/* perf's %#x: no "0x" before a zero */
static void put_hash_hex(struct buf *b, uint64_t v)
{
	buf_printf(b, v ? "0x%" PRIx64 : "%" PRIx64, v);
}

static void put_mapping(struct script *x, const struct pd_record *r)
{
	struct buf *b = x->out;
	struct pd_mmap m;

	if (pd_mmap_get(x->rec, r, &m))
		return;
	buf_printf(b, " %d/%d: [", (int)m.pid, (int)m.tid);
	put_hash_hex(b, m.addr);
	buf_putc(b, '(');
	put_hash_hex(b, m.len);
	buf_puts(b, ") @ ");
	put_hash_hex(b, m.pgoff);
	if (!m.is_mmap2) {
		buf_printf(b, "]: %c ", m.is_data ? 'r' : 'x');
	} else {
		if (m.build_id_len) {
			char hex[2 * sizeof(m.build_id) + 1];

			text_hex(hex, m.build_id, m.build_id_len);
			buf_printf(b, " <%s>]: ", hex);
		} else {
			buf_printf(b, " %02x:%02x %" PRIu64 " %" PRIu64 "]: ", m.maj, m.min, m.ino,
				   m.ino_generation);
		}
		buf_printf(b, "%c%c%c%c ", m.prot & 1 ? 'r' : '-', m.prot & 2 ? 'w' : '-',
			   m.prot & 4 ? 'x' : '-', m.flags & 1 ? 's' : 'p');
	}
	text_put_safe(b, m.path, false);
}

static void put_comm(struct script *x, const struct pd_record *r)
{
	struct pd_comm c;

	if (pd_comm_get(r, &c))
		return;
	buf_puts(x->out, c.exec ? " exec: " : ": ");
	text_put_safe(x->out, c.comm, false);
	buf_printf(x->out, ":%d/%d", (int)c.pid, (int)c.tid);
}

static void put_task(struct script *x, const struct pd_record *r)
{
	struct pd_task t;

	if (!pd_task_get(r, &t))
		buf_printf(x->out, "(%d:%d):(%d:%d)", (int)t.pid, (int)t.tid, (int)t.ppid,
			   (int)t.ptid);
}

static void put_switch(struct script *x, const struct pd_record *r)
{
	bool out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
	bool preempted = out && r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

	buf_printf(x->out, " %s", !out ? "IN         " : preempted ? "OUT preempt" : "OUT        ");
	if (r->type == PERF_RECORD_SWITCH_CPU_WIDE && r->size >= BYTES_OF_HEADER + 8)
		buf_printf(x->out, "  %s pid/tid: %5d/%-5d", out ? "next" : "prev",
			   (int)ld32(r->p + BYTES_OF_HEADER),
			   (int)ld32(r->p + BYTES_OF_HEADER + 4));
}

void script_put_record(struct script *x, const struct script_at *a, const struct pd_record *r)
{
	script_put_start(x, a, r);
	buf_printf(x->out, "PERF_RECORD_%s", pd_record_name(r->type));
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mapping(x, r);
		break;
	case PERF_RECORD_COMM:
		put_comm(x, r);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		put_switch(x, r);
		break;
	default:
		put_task(x, r);
	}
	buf_putc(x->out, '\n');
}
