/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The result as a recording: for each calling context and instruction one sample, whose period is
 * all cycles that it took there, and whose values are the slots of a group {slots, cycles,
 * topdown-...}, as a sampled group of Intel's has them. So functions, lines, call trees and the
 * tree of each function are what they are for other recordings, and their sums are exact.
 *
 * Cycles are slots divided by the width, rounded so that the sum up to each sample is right to
 * one. There are no times: the order of samples is that of the first runs.
 */
#include <stdio.h>
#include <string.h>

#include "base/file_in.h"
#include "config.h"
#include "perfdata/perfdata.h"
#include "perfdata/writer.h"
#include "simulate/simulate.h"
#include "symbol/elf_file.h"

/* The pid: another each time would make two recordings of one program differ. */
#define PROGRAM	   1u
#define CHAIN_MOST 512u
#define HEAVY	   2u /* slots of an instruction from which on it counts as heavy */

enum {
	SLOTS,
	CYCLES,
	RETIRING,
	BAD,
	FRONTEND,
	BACKEND,
	HEAVY_OPS,
	MISPREDICTS,
	LATENCY,
	MEMORY,
	EVENTS
};

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[EVENTS] = {
	[SLOTS] = { "slots", PERF_TYPE_RAW, 0x0400 },
	[CYCLES] = { "modelled_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[RETIRING] = { "topdown-retiring", PERF_TYPE_RAW, 0x8000 },
	[BAD] = { "topdown-bad-spec", PERF_TYPE_RAW, 0x8100 },
	[FRONTEND] = { "topdown-fe-bound", PERF_TYPE_RAW, 0x8200 },
	[BACKEND] = { "topdown-be-bound", PERF_TYPE_RAW, 0x8300 },
	[HEAVY_OPS] = { "topdown-heavy-ops", PERF_TYPE_RAW, 0x8400 },
	[MISPREDICTS] = { "topdown-br-mispredict", PERF_TYPE_RAW, 0x8500 },
	[LATENCY] = { "topdown-fetch-lat", PERF_TYPE_RAW, 0x8600 },
	[MEMORY] = { "topdown-mem-bound", PERF_TYPE_RAW, 0x8700 },
};

struct saving {
	const struct simulate *s;
	struct pdw *w;
	struct buf b;
	uint64_t value[EVENTS]; /* so far */
	uint64_t slots, samples;
	struct err *err;
};

static uint64_t id_of(unsigned event)
{
	return event + 1;
}

/* A record's header, with its size once it is known. */
static void end_record(struct buf *b, size_t at, uint32_t type, uint16_t misc)
{
	struct perf_event_header h = { type, misc, (uint16_t)(b->len - at) };

	memcpy(b->s + at, &h, sizeof(h));
}

static size_t begin_record(struct buf *b)
{
	size_t at = b->len;

	buf_fill(b, 0, sizeof(struct perf_event_header));
	return at;
}

static void put_padded(struct buf *b, const char *s)
{
	size_t n = strlen(s) + 1;

	buf_put(b, s, n);
	buf_fill(b, 0, (8 - n % 8) % 8);
}

/* What all records but samples end with. */
static void put_trailer(struct buf *b)
{
	buf_put_u32(b, PROGRAM);
	buf_put_u32(b, PROGRAM);
	buf_put_u64(b, id_of(CYCLES));
}

static int flush_records(struct saving *k)
{
	int rc = k->b.failed ? err_nomem(k->err) : pdw_data(k->w, k->b.s, k->b.len, k->err);

	k->b.len = 0;
	return rc;
}

/* In the place of device and inode, 24 bytes; false: the file has none. */
static bool put_build_id(struct buf *b, const char *path)
{
	uint8_t room[24] = { 0 };
	struct file_map map;

	if (!file_map_open(&map, path, NULL)) {
		room[0] = (uint8_t)elf_build_id_of(map.p, map.len, path, room + 4);
		file_map_close(&map);
	}
	buf_put(b, room, sizeof(room));
	return room[0] != 0;
}

static int put_program(struct saving *k)
{
	const struct simulate *s = k->s;
	const char *slash = strrchr(s->opts.argv[0], '/');
	char name[16] = "";
	bool has_id;
	size_t at = begin_record(&k->b);

	(void)strncat(name, slash ? slash + 1 : s->opts.argv[0], sizeof(name) - 1);
	buf_put_u32(&k->b, PROGRAM);
	buf_put_u32(&k->b, PROGRAM);
	put_padded(&k->b, name);
	put_trailer(&k->b);
	end_record(&k->b, at, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC | PERF_RECORD_MISC_USER);
	for (size_t i = 0; i < s->map.n; i++) {
		const struct simulate_map *m = &s->map.v[i];

		if (!m->runs)
			continue;
		at = begin_record(&k->b);
		buf_put_u32(&k->b, PROGRAM);
		buf_put_u32(&k->b, PROGRAM);
		buf_put_u64(&k->b, m->at);
		buf_put_u64(&k->b, m->len);
		buf_put_u64(&k->b, m->offset);
		has_id = put_build_id(&k->b, m->path);
		buf_put_u32(&k->b, 5); /* read, execute */
		buf_put_u32(&k->b, 2); /* private */
		put_padded(&k->b, m->path);
		put_trailer(&k->b);
		end_record(&k->b, at, PERF_RECORD_MMAP2,
			   PERF_RECORD_MISC_USER | (has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	}
	return flush_records(k);
}

static size_t put_chain(struct saving *k, uint32_t context, uint64_t ip)
{
	size_t at = k->b.len, n = 2;

	buf_put_u64(&k->b, 0);
	buf_put_u64(&k->b, PERF_CONTEXT_USER);
	buf_put_u64(&k->b, ip);
	for (uint32_t c = context; c && n < CHAIN_MOST; c = k->s->sums.context.v[c].parent, n++)
		buf_put_u64(&k->b, k->s->sums.context.v[c].behind);
	if (!k->b.failed)
		memcpy(k->b.s + at, &(uint64_t){ n }, 8);
	return n;
}

static bool below(enum sim_cause cause, enum sim_cause top)
{
	for (; cause != SIM_CAUSES; cause = sim_cause_parent(cause))
		if (cause == top)
			return true;
	return false;
}

/* Adds an instruction's slots to the counters. */
static void count_parts(struct saving *k, uint32_t block, uint32_t i)
{
	static const struct {
		enum sim_cause cause;
		unsigned event;
	} of[] = {
		{ SIM_TOP_BAD, BAD },		{ SIM_TOP_FRONTEND, FRONTEND },
		{ SIM_TOP_BACKEND, BACKEND },	{ SIM_MISPREDICT, MISPREDICTS },
		{ SIM_FETCH_LATENCY, LATENCY }, { SIM_MEMORY, MEMORY },
	};
	const struct sums *s = &k->s->sums;
	const struct sums_block *b = s->block.v[block];
	const struct sim_insn *insn = &s->code.v[b->code].insn[i];
	uint64_t work = b->slots[i] - b->kept[i];

	/* most are never kept waiting */
	for (unsigned c = 0; b->kept[i] && c < SIM_CAUSES; c++) {
		uint64_t n = sums_part_of(s, block, i, (enum sim_cause)c);

		for (size_t e = 0; n && e < sizeof(of) / sizeof(*of); e++)
			if (below((enum sim_cause)c, of[e].cause))
				k->value[of[e].event] += n;
	}
	k->value[RETIRING] += work;
	if (insn->slots >= HEAVY)
		k->value[HEAVY_OPS] += work;
}

static int put_insn(struct saving *k, uint32_t block, uint32_t i)
{
	const struct sums_block *b = k->s->sums.block.v[block];
	uint64_t ip = k->s->sums.code.v[b->code].insn[i].vaddr, width = k->s->opts.machine->width;
	uint64_t before = k->value[CYCLES];
	size_t at = begin_record(&k->b);

	k->value[SLOTS] += b->slots[i];
	k->value[CYCLES] = k->value[SLOTS] / width;
	count_parts(k, block, i);
	buf_put_u64(&k->b, id_of(CYCLES));
	buf_put_u64(&k->b, ip);
	buf_put_u32(&k->b, PROGRAM);
	buf_put_u32(&k->b, PROGRAM);
	buf_put_u64(&k->b, k->value[CYCLES] - before);
	buf_put_u64(&k->b, EVENTS);
	for (unsigned e = 0; e < EVENTS; e++) {
		buf_put_u64(&k->b, k->value[e]);
		buf_put_u64(&k->b, id_of(e));
	}
	(void)put_chain(k, b->context, ip);
	end_record(&k->b, at, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	k->samples++;
	return k->b.len > 1u << 20 ? flush_records(k) : 0;
}

static int put_samples(struct saving *k)
{
	const struct sums *s = &k->s->sums;

	for (uint32_t block = 0; block < s->block.n; block++) {
		const struct sums_block *b = s->block.v[block];

		for (uint32_t i = 0; i < s->code.v[b->code].n; i++)
			if (b->slots[i] && put_insn(k, block, i))
				return -1;
	}
	return flush_records(k);
}

static int put_text_feature(struct saving *k, unsigned bit, const char *const *text, size_t n,
			    bool counted)
{
	struct buf b = BUF_INIT;
	int rc;

	if (counted)
		buf_put_u32(&b, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		pdw_put_text(&b, text[i]);
	rc = b.failed ? err_nomem(k->err) : pdw_feature(k->w, bit, b.s, b.len, k->err);
	buf_free(&b);
	return rc;
}

static struct perf_event_attr attr_of(unsigned event)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = events[event].type,
		.config = events[event].config,
		.sample_period = event == CYCLES,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.mmap = event == CYCLES,
		.mmap2 = event == CYCLES,
		.comm = event == CYCLES,
		.comm_exec = event == CYCLES,
	};
}

/* Layout: perf's EVENT_DESC. */
static int put_events(struct saving *k)
{
	struct buf b = BUF_INIT;
	int rc;

	pdw_put_events(&b, EVENTS);
	for (unsigned i = 0; i < EVENTS; i++) {
		const uint64_t id = id_of(i);

		pdw_put_event(&b, &(struct pdw_event){ attr_of(i), events[i].name, &id, 1 });
	}
	rc = b.failed ? err_nomem(k->err)
		      : pdw_feature(k->w, PD_HAS_EVENT_DESC, b.s, b.len, k->err);
	buf_free(&b);
	return rc;
}

static int put_features(struct saving *k, const struct buf *tree, const char *const *command)
{
	const struct core *m = k->s->opts.machine;
	const char *version = "cyclade " CYCLADE_VERSION, *arch = "x86_64";
	const char *modelled[2] = { m->id, m->from };
	char cpu[128];
	const char *desc = cpu;
	size_t n = 0;

	(void)snprintf(cpu, sizeof(cpu), "modelled: %.100s", m->id);
	while (command[n])
		n++;
	if (put_text_feature(k, PD_HAS_VERSION, &version, 1, false) ||
	    put_text_feature(k, PD_HAS_ARCH, &arch, 1, false) ||
	    put_text_feature(k, PD_HAS_CPUDESC, &desc, 1, false) ||
	    put_text_feature(k, PD_HAS_CMDLINE, command, n, true) || put_events(k) ||
	    put_text_feature(k, PD_HAS_CYCLADE_MODELLED, modelled, 2, false))
		return -1;
	return tree && tree->len && tree->len <= PD_TREE_MAX
		       ? pdw_feature(k->w, PD_HAS_CYCLADE_TREE, tree->s, tree->len, k->err)
		       : 0;
}

static int open_saving(struct saving *k, const char *path, bool ours)
{
	struct pdw_event event[EVENTS];
	struct pdw_setup setup = { .event = event, .n_events = EVENTS, .ours = ours };
	uint64_t id[EVENTS];

	for (unsigned i = 0; i < EVENTS; i++) {
		id[i] = id_of(i);
		event[i] = (struct pdw_event){ attr_of(i), events[i].name, &id[i], 1 };
	}
	return pdw_open(&k->w, path, &setup, k->err);
}

int simulate_save(const struct simulate *s, const char *path, bool ours, const struct buf *tree,
		  const char *const *command, uint64_t *samples, struct err *err)
{
	struct saving k = { .s = s, .b = BUF_INIT, .err = err };
	struct pdw_end end = { .how = PD_END_FINISHED };
	int rc = -1;

	if (!open_saving(&k, path, ours) && !put_program(&k) && !put_samples(&k) &&
	    !put_features(&k, tree, command))
		rc = pdw_commit(k.w, &end, err);
	*samples = k.samples;
	pdw_close(k.w);
	buf_free(&k.b);
	return rc;
}
