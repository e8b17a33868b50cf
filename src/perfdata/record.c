/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - the table of record types, and the turning of foreign records.
 *
 * A record of the other byte order is turned once, by its row's layout, in a private copy; behind
 * that need not know. Bytes that a layout does not name (text, opaque payloads) stay as they were.
 */
#include "base/bisect.h"
#include "perfdata/perfdata_int.h"
#include "perfdata/walk_hook.h"

static const struct record_row rows[] = {
#define RECORD(type, name, least, layout, hook) { (type), #name, (least), layout, hook },
#include "perfdata/record.def"
#undef RECORD
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Simpleperf's own records. */
static const char *const huge_names[] = {
	"KERNEL_SYMBOL", "DSO",	      "SYMBOL",		  "SPLIT",	     "SPLIT_END",
	"EVENT_ID",	 "CALLCHAIN", "UNWINDING_RESULT", "SP_TRACING_DATA", "DEBUG",
};

const struct record_row *pd_record_row(uint32_t type)
{
	size_t lo;

	bisect(lo, N_ROWS, i, rows[i].type >= type);
	return lo < N_ROWS && rows[lo].type == type ? &rows[lo] : NULL;
}

const char *pd_record_name(uint32_t type)
{
	const struct record_row *row = pd_record_row(type);

	if (row)
		return row->name;
	if (type > 32768 && type - 32769 < sizeof(huge_names) / sizeof(huge_names[0]))
		return huge_names[type - 32769];
	return NULL;
}

static void swap16(uint8_t *p)
{
	uint16_t v = __builtin_bswap16(ld16(p));

	memcpy(p, &v, sizeof(v));
}

static void swap32(uint8_t *p)
{
	st32(p, __builtin_bswap32(ld32(p)));
}

static void swap64(uint8_t *p)
{
	st64(p, __builtin_bswap64(ld64(p)));
}

void pd_swap_run(uint8_t *p, size_t len, unsigned width)
{
	for (; len >= width; p += width, len -= width) {
		if (width == 8)
			swap64(p);
		else if (width == 4)
			swap32(p);
		else if (width == 2)
			swap16(p);
	}
}

/* Bytes of the trailer that sample_id_all puts behind kernel records of this recording. All events
 * of one recording share it: the first one's is taken. */
static uint64_t trailer_bits(const struct pd *rec)
{
	const struct perf_event_attr *a;

	if (!rec->events.n)
		return 0;
	a = &rec->events.v[0].attr;
	return a->sample_id_all ? a->sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						    PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
				: 0;
}

static void swap_trailer(uint64_t bits, uint8_t *p)
{
	static const struct {
		uint64_t bit;
		unsigned width;
	} part[] = {
		{ PERF_SAMPLE_TID, 4 }, { PERF_SAMPLE_TIME, 8 },
		{ PERF_SAMPLE_ID, 8 },	{ PERF_SAMPLE_STREAM_ID, 8 },
		{ PERF_SAMPLE_CPU, 4 }, { PERF_SAMPLE_IDENTIFIER, 8 },
	};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if (!(bits & part[i].bit))
			continue;
		pd_swap_run(p, 8, part[i].width);
		p += 8;
	}
}

/* type u16; then by type: 0 a list (count u16, CPUs u16), 1 a mask (count u16, word size u16,
 * [pad,] words), 2 a range (two bytes, first u16, last u16). */
static void swap_cpu_map(uint8_t *p, const uint8_t *end)
{
	size_t left = (size_t)(end - p);
	uint16_t kind, width;

	if (left < 2)
		return;
	swap16(p);
	kind = ld16(p);
	p += 2, left -= 2;
	if (kind == 2) {
		if (left >= 6)
			pd_swap_run(p + 2, 4, 2);
		return;
	}
	if (kind == 0) {
		pd_swap_run(p, left, 2);
		return;
	}
	if (left < 4)
		return;
	pd_swap_run(p, 4, 2);
	width = ld16(p + 2);
	if (width == 8 && left >= 6 + 8)
		pd_swap_run(p + 6, left - 6, 8); /* words aligned to 8 in the record */
	else if (width == 4)
		pd_swap_run(p + 4, left - 4, 4);
}

/* The payload of an EVENT_UPDATE, whose type (turned already) lies 16 bytes before it. */
static void swap_update(uint8_t *p, const uint8_t *end)
{
	uint64_t kind = ld64(p - 16);

	if (kind == 1 && end - p >= 8) /* scale: a double */
		swap64(p);
	else if (kind == 3)
		swap_cpu_map(p, end);
}

/* Swaps the bytes of [p, end) by `layout`. */
static void swap_layout(const struct pd *rec, const char *layout, uint16_t misc, uint8_t *p,
			uint8_t *end)
{
	for (; *layout; layout++) {
		size_t left = (size_t)(end - p);
		unsigned width = 0;

		switch (*layout) {
		case '2':
		case '4':
		case '8':
			width = (unsigned)(*layout - '0');
			if (left < width)
				return;
			pd_swap_run(p, width, width);
			break;
		case 'b':
			width = 1;
			break;
		case '*':
			pd_swap_run(p, left, 8);
			return;
		case 'M':
			width = 24;
			if (left >= 24 &&
			    !(misc & PERF_RECORD_MISC_MMAP_BUILD_ID && pd_mmap_has_id(rec, p))) {
				pd_swap_run(p, 8, 4);
				pd_swap_run(p + 8, 16, 8);
			}
			break;
		case 'C':
			swap_cpu_map(p, end);
			return;
		case 'T':
			for (; end - p >= 24; p += 24) /* a number, then a name of 16 bytes */
				swap64(p);
			return;
		case 'E':
			swap_update(p, end);
			return;
		default: /* '.', and 'A' whose bytes attr.c turns when it takes them */
			return;
		}
		if (left < width)
			return;
		p += width;
	}
}

void pd_record_swap(const struct pd *rec, uint8_t *p, size_t size)
{
	const struct record_row *row;
	uint32_t type;
	uint64_t bits = 0;
	size_t tail = 0;

	swap32(p);
	pd_swap_run(p + 4, 4, 2);
	type = ld32(p);
	if (type == PERF_RECORD_SAMPLE) {
		pd_sample_swap(rec, p, size);
		return;
	}
	row = pd_record_row(type);
	if (row && size < row->least)
		return;
	if (type < PD_RECORD_HEADER_ATTR) { /* the trailer stands behind unknown ones, too */
		bits = trailer_bits(rec);
		tail = 8 * (size_t)__builtin_popcountll(bits);
		if (tail > size - (row ? row->least : 8))
			tail = 0, bits = 0;
	}
	if (row)
		swap_layout(rec, row->layout, ld16(p + 4), p + 8, p + size - tail);
	swap_trailer(bits, p + size - tail);
}
