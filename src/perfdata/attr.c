/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr - attributes as they lie in recordings: 64 bytes and more, of either byte order; their ids;
 * where the fields of their samples are; and a name if none was recorded.
 */
#include "perfdata/perfdata_int.h"

#include <stdio.h>

const char *const pd_sample_words[PD_SAMPLE_WORDS] = {
	"ip",
	"tid",
	"time",
	"addr",
	"read",
	"callchain",
	"id",
	"cpu",
	"period",
	"stream_id",
	"raw",
	"branch_stack",
	"regs_user",
	"stack_user",
	"weight",
	"data_src",
	"identifier",
	"transaction",
	"regs_intr",
	"phys_addr",
	"aux",
	"cgroup",
	"data_page_size",
	"code_page_size",
	"weight_struct",
};

#define ATTR_LEAST 64

/* Bit-fields of a machine of the other order begin at the other end of each byte. The one field of
 * two bits, precise_ip (bits 15 and 16), then has its own two the wrong way round. */
static uint64_t mirror_flags(const uint8_t *p)
{
	uint64_t v = 0, two;

	for (unsigned i = 0; i < 8; i++) {
		unsigned byte = p[i], turned = 0;

		for (unsigned bit = 0; bit < 8; bit++)
			turned |= (byte >> bit & 1u) << (7 - bit);
		v |= (uint64_t)turned << (8 * i);
	}
	two = (v >> 15 & 1) << 16 | (v >> 16 & 1) << 15;
	return (v & ~((uint64_t)3 << 15)) | two;
}

/* Widths of an attribute's numbers from byte 48 on; before that stand type u32, size u32, five u64
 * and at byte 40 the flags. */
static const uint8_t tail_width[] = { 4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8, 8 };

static void swap_attr(uint8_t a[PERF_ATTR_SIZE_MAX])
{
	size_t at = 48;
	uint64_t flags = mirror_flags(a + 40);

	pd_swap_run(a, 8, 4);
	pd_swap_run(a + 8, 32, 8);
	memcpy(a + 40, &flags, sizeof(flags)); /* little-endian host: see below */
	for (size_t i = 0; i < sizeof(tail_width); i++) {
		pd_swap_run(a + at, tail_width[i], tail_width[i]);
		at += tail_width[i];
	}
}

void pd_event_layout(struct pd_event *ev)
{
	static const struct {
		uint64_t bit;
		size_t at;
	} fixed[] = {
#define AT(bit, field) { PERF_SAMPLE_##bit, offsetof(struct pd_layout, field) }
		AT(IDENTIFIER, identifier),
		AT(IP, ip),
		AT(TID, tid),
		AT(TIME, time),
		AT(ADDR, addr),
		AT(ID, id),
		AT(STREAM_ID, stream_id),
		AT(CPU, cpu),
		AT(PERIOD, period),
#undef AT
	};
	uint16_t off = 8;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (!(ev->attr.sample_type & fixed[i].bit))
			continue;
		memcpy((char *)&ev->at + fixed[i].at, &off, sizeof(off));
		off = (uint16_t)(off + 8);
	}
	ev->at.fixed_end = off;
}

int pd_event_ids(struct pd *rec, size_t event, const uint8_t *ids, size_t n, bool swap)
{
	struct pd_event *ev = &rec->events.v[event];
	uint64_t *copy;

	if (!n)
		return 0;
	copy = arena_alloc(&rec->arena, n * sizeof(*copy));
	if (!copy)
		return -1;
	memcpy(copy, ids, n * sizeof(*copy));
	if (swap)
		pd_swap_run((uint8_t *)copy, n * sizeof(*copy), 8);
	ev->ids = copy;
	ev->n_ids = n;
	for (size_t i = 0; i < n; i++) {
		bool fresh;
		uint64_t *v = u64map_at(&rec->ids, copy[i], &fresh);

		if (!v)
			return -1;
		if (fresh)
			*v = event;
	}
	return 0;
}

int pd_attr_add(struct pd *rec, const uint8_t *p, size_t room, const uint8_t *ids, size_t n_ids,
		struct err *err)
{
	uint8_t a[PERF_ATTR_SIZE_MAX] = { 0 };
	struct pd_event *ev;
	uint32_t size;

	if (room < ATTR_LEAST)
		return err_set(err, ERR_FORMAT,
			       "an event's attribute has %zu bytes, at least %d are needed", room,
			       ATTR_LEAST);
	if (rec->events.n >= PD_EVENTS_MAX) {
		if (!rec->too_many)
			pd_note(rec, "more than %d events: the others are left out", PD_EVENTS_MAX);
		rec->too_many = true;
		return 0;
	}
	size = ld32(p + 4);
	size = rec->swap ? __builtin_bswap32(size) : size;
	if (size >= ATTR_LEAST && size < room)
		room = size;
	memcpy(a, p, room < sizeof(a) ? room : sizeof(a));
	if (rec->swap)
		swap_attr(a);
	if (vec_reserve(&rec->events, rec->events.n + 1))
		return err_nomem(err);
	ev = &rec->events.v[rec->events.n];
	memset(ev, 0, sizeof(*ev));
	ev->scale = 1;
	memcpy(&ev->attr, a, sizeof(ev->attr) < sizeof(a) ? sizeof(ev->attr) : sizeof(a));
	ev->config3 = ld64(a + 128);
	ev->config4 = ld64(a + 136);
	pd_event_layout(ev);
	if (ev->attr.sample_type & PERF_SAMPLE_READ && ev->attr.read_format & PERF_FORMAT_LOST)
		rec->want_lost = true;
	rec->events.n++;
	if (pd_event_ids(rec, rec->events.n - 1, ids, n_ids, rec->swap))
		return err_nomem(err);
	return 0;
}

/* Where the id stands, in samples from the front and in trailers from the end. */
void pd_attrs_done(struct pd *rec)
{
	const struct pd_event *first;
	uint64_t t;

	rec->id_at = rec->id_back = 0;
	rec->last_known = false;
	if (!rec->events.n)
		return;
	first = &rec->events.v[0];
	t = first->attr.sample_type;
	rec->id_at = first->at.identifier ? first->at.identifier : first->at.id;
	if (!first->attr.sample_id_all)
		return;
	if (t & PERF_SAMPLE_IDENTIFIER)
		rec->id_back = 8;
	else if (t & PERF_SAMPLE_ID)
		rec->id_back = 8 + 8 * (size_t) !!(t & PERF_SAMPLE_STREAM_ID) +
			       8 * (size_t) !!(t & PERF_SAMPLE_CPU);
}

/* ---- names ---- */

static const char *const hardware[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
				      "iTLB",	   "branch",	"node" };
static const char *const cache_ops[] = { "load", "store", "prefetch" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *cache_name(struct pd *rec, uint64_t config)
{
	unsigned cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache >= COUNT(caches) || op >= COUNT(cache_ops) || result > 1)
		return NULL;
	return arena_printf(&rec->arena, "%s-%s%s", caches[cache], cache_ops[op],
			    result    ? "-misses"
			    : op == 2 ? "es"
				      : "s");
}

const char *pd_pmu_name(const struct pd_info *info, uint32_t type)
{
	for (size_t i = 0; i < info->n_pmus; i++)
		if (info->pmu_type[i] == type)
			return info->pmu_name[i];
	return "";
}

bool pd_pmu_is_core(const struct pd_info *info, uint32_t type)
{
	const char *name = pd_pmu_name(info, type);

	return *name ? !strncmp(name, "cpu", 3) || !strncmp(name, "armv", 4)
		     : type == PERF_TYPE_RAW;
}

static const char *unnamed_event(struct pd *rec, const struct pd_event *ev)
{
	const struct perf_event_attr *a = &ev->attr;
	const struct trace_format *f = pd_trace_of(rec, ev);
	const char *pmu;
	uint64_t low = a->config & 0xffffffff; /* above stands the PMU of a hybrid machine */

	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		if (low < COUNT(hardware))
			return hardware[low];
		break;
	case PERF_TYPE_SOFTWARE:
		if (a->config < COUNT(software))
			return software[a->config];
		break;
	case PERF_TYPE_HW_CACHE:
		if (cache_name(rec, low))
			return cache_name(rec, low);
		break;
	case PERF_TYPE_TRACEPOINT:
		if (f)
			return arena_printf(&rec->arena, "%s:%s", f->system, f->name);
		return arena_printf(&rec->arena, "tracepoint-%llu", (unsigned long long)a->config);
	case PERF_TYPE_RAW:
		return arena_printf(&rec->arena, "r%llx", (unsigned long long)a->config);
	case PERF_TYPE_BREAKPOINT:
		return arena_printf(&rec->arena, "mem:0x%llx:%s%s%s",
				    (unsigned long long)a->bp_addr, a->bp_type & 1 ? "r" : "",
				    a->bp_type & 2 ? "w" : "", a->bp_type & 4 ? "x" : "");
	default:
		break;
	}
	pmu = pd_pmu_name(&rec->info, a->type);
	if (*pmu)
		return arena_printf(&rec->arena, "%s/config=0x%llx/", pmu,
				    (unsigned long long)a->config);
	return arena_printf(&rec->arena, "pmu-%u/config=0x%llx/", a->type,
			    (unsigned long long)a->config);
}

bool pd_may_search(struct pd *rec)
{
	rec->searched += rec->events.n;
	return rec->searched <= (uint64_t)PD_EVENTS_MAX * PD_EVENTS_MAX;
}

bool pd_event_type_names(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_HARDWARE && a->type != PERF_TYPE_SOFTWARE &&
	       a->type != PERF_TYPE_HW_CACHE;
}

const char *pd_event_make_name(struct pd *rec, const struct pd_event *ev)
{
	const struct perf_event_attr *a = &ev->attr;
	const char *bare = unnamed_event(rec, ev), *name;
	const char *ring = a->exclude_kernel && !a->exclude_user   ? "u"
			   : a->exclude_user && !a->exclude_kernel ? "k"
								   : "";
	unsigned precise = a->precise_ip;

	if (!bare)
		return "?";
	if (!*ring && !precise)
		return bare;
	name = arena_printf(&rec->arena, "%s:%s%.*s", bare, ring, (int)precise, "ppp");
	return name ? name : bare;
}
