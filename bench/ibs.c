/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibs - a recording of IBS ops, as large as wanted: what `mem` is measured with.
 *
 *	ibs OUT SAMPLES PROGRAM
 *
 * Sixteen threads of one process on 32 CPUs of a Zen 4. Instructions are those of PROGRAM's code,
 * some far more often than others; 40 % of the ops access no memory. Addresses are of stacks, of
 * PROGRAM's data and of two large mappings. Latencies have long tails. No figure is a machine's.
 */
#include <elf.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_in.h"
#include "perfdata/writer.h"

#define PID	     1000u
#define THREADS	     16u
#define CPUS	     32u
#define BASE	     UINT64_C(0x555555554000)
#define STACKS	     UINT64_C(0x7ff000000000)
#define LARGE	     UINT64_C(0x7f0000000000)
#define LARGE_SIZE   (UINT64_C(1) << 32)
#define CAPS	     0xbffu
#define INSTRUCTIONS 20000.0
#define PIECE	     (1u << 16)

struct segment {
	uint64_t offset, vaddr, size, flags;
};

struct made {
	struct pdw *w;
	const char *program;
	struct segment segment[16];
	size_t n, code, data;
	uint64_t random, time;
	uint8_t piece[PIECE];
	size_t used;
};

static uint64_t draw(struct made *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

static double uniform(struct made *m)
{
	return (double)(draw(m) >> 11) * 0x1p-53;
}

static uint64_t tail(struct made *m, double mean, uint64_t most)
{
	double x = -log1p(-uniform(m)) * mean;

	return x < (double)most ? (uint64_t)x : most;
}

static int put(struct made *m, const void *p, size_t n, struct err *err)
{
	if (m->used + n > PIECE) {
		if (pdw_data(m->w, m->piece, m->used, err))
			return -1;
		m->used = 0;
	}
	memcpy(m->piece + m->used, p, n);
	m->used += n;
	return 0;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static int read_segments(struct made *m, struct err *err)
{
	struct file_map map;
	const Elf64_Ehdr *h;
	const Elf64_Phdr *p;

	if (file_map_open(&map, m->program, err))
		return -1;
	h = (const void *)map.p;
	p = (const void *)(map.p + h->e_phoff);
	for (size_t i = 0; i < h->e_phnum && m->n < 16; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		m->segment[m->n] =
			(struct segment){ p[i].p_offset, p[i].p_vaddr, p[i].p_memsz, p[i].p_flags };
		if (p[i].p_flags & PF_X)
			m->code = m->n;
		if (p[i].p_flags & PF_W)
			m->data = m->n;
		m->n++;
	}
	file_map_close(&map);
	return m->n ? 0 : err_set(err, ERR_FORMAT, "%s: no segments", m->program);
}

static int put_map(struct made *m, uint64_t start, uint64_t size, uint64_t offset, uint32_t prot,
		   const char *path, struct err *err)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t start, size, offset;
		uint32_t id[6], prot, flags;
		char path[256];
		uint32_t pid2, tid2;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t sample;
	} r = { .h = { PERF_RECORD_MMAP2,
		       (uint16_t)(PERF_RECORD_MISC_USER |
				  (prot & 4 ? 0 : PERF_RECORD_MISC_MMAP_DATA)),
		       sizeof(r) },
		.pid = PID,
		.tid = PID,
		.start = start,
		.size = size,
		.offset = offset,
		.prot = prot,
		.flags = 2,
		.pid2 = PID,
		.tid2 = PID,
		.sample = 1 };

	(void)snprintf(r.path, sizeof(r.path), "%s", path);
	return put(m, &r, sizeof(r), err);
}

static int put_maps(struct made *m, struct err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct segment *s = &m->segment[i];
		uint64_t skip = s->vaddr & 0xfff;

		if (put_map(m, BASE + s->vaddr - skip, s->size + skip, s->offset - skip,
			    s->flags & PF_X ? 5 : 3, m->program, err))
			return -1;
	}
	return put_map(m, LARGE, LARGE_SIZE, 0, 3, "//anon", err) ||
			       put_map(m, LARGE + 2 * LARGE_SIZE, LARGE_SIZE, 0, 3, "//anon",
				       err) ||
			       put_map(m, STACKS, THREADS << 20, 0, 3, "[stack]", err)
		       ? -1
		       : 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t data_address(struct made *m, unsigned thread)
{
	const struct segment *d = &m->segment[m->data];
	double u = uniform(m);

	if (u < 0.3)
		return STACKS + ((uint64_t)thread << 20) + 0xf0000 + tail(m, 500, 4000);
	if (u < 0.45)
		return BASE + d->vaddr + draw(m) % (d->size - 8);
	return (u < 0.6 ? LARGE + 2 * LARGE_SIZE : LARGE) + (draw(m) % LARGE_SIZE & ~7ull);
}

static void put_access(struct made *m, uint64_t *data2, uint64_t *data3, bool load)
{
	double u = uniform(m);
	uint64_t cycles = 0;

	*data3 |= (load ? 1 : 2) | 1u << 17 | 1u << 18 | 4u << 22;
	if (uniform(m) < 0.04) /* the TLB's first level, then its second */
		*data3 |=
			1u << 2 | (uniform(m) < 0.3 ? 1u << 3 | (20 + tail(m, 30, 9999)) << 48 : 0);
	if (uniform(m) < 0.002)
		*data3 |= 1u << 15;
	if (u < 0.9)
		return;
	*data3 |= 1u << 7 | (u < 0.96 ? 0 : 1u << 20 | (draw(m) & 7) << 26);
	if (u >= 0.96)
		*data2 = u < 0.985 ? 1 : u < 0.99 ? 2 : 3;
	cycles = u < 0.96    ? 12 + tail(m, 4, 999)
		 : u < 0.985 ? 40 + tail(m, 20, 9999)
			     : 200 + tail(m, 200, 65000);
	*data3 |= load ? cycles << 32 : 0;
}

/* What the kernel makes of them for perf. */
static uint64_t perf_source(uint64_t data2, uint64_t data3)
{
	union perf_mem_data_src s = { .mem_op = PERF_MEM_OP_NA,
				      .mem_lvl = PERF_MEM_LVL_NA,
				      .mem_snoop = PERF_MEM_SNOOP_NA,
				      .mem_lock = PERF_MEM_LOCK_NA,
				      .mem_dtlb = PERF_MEM_TLB_NA };

	if (!(data3 & 3))
		return s.val;
	s.mem_op = data3 & 1 ? PERF_MEM_OP_LOAD : PERF_MEM_OP_STORE;
	s.mem_lvl = PERF_MEM_LVL_HIT;
	s.mem_lvl |= !(data3 >> 7 & 1)	  ? PERF_MEM_LVL_L1
		     : !(data3 >> 20 & 1) ? PERF_MEM_LVL_L2
		     : data2 == 3	  ? PERF_MEM_LVL_LOC_RAM
		     : data2 == 2	  ? PERF_MEM_LVL_REM_CCE1
					  : PERF_MEM_LVL_L3;
	s.mem_lock = data3 >> 15 & 1 ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA;
	s.mem_dtlb = !(data3 >> 2 & 1)	 ? PERF_MEM_TLB_L1 | PERF_MEM_TLB_HIT
		     : !(data3 >> 3 & 1) ? PERF_MEM_TLB_L2 | PERF_MEM_TLB_HIT
					 : PERF_MEM_TLB_L2 | PERF_MEM_TLB_MISS;
	return s.val;
}

static int put_sample(struct made *m, struct err *err)
{
	const struct segment *code = &m->segment[m->code];
	unsigned thread = draw(m) % THREADS;
	uint64_t ip = (uint64_t)exp(uniform(m) * log(INSTRUCTIONS)) * 2654435761u % code->size;
	uint64_t data2 = 0, data3 = 0, address = data_address(m, thread);
	double u = uniform(m);
	struct {
		struct perf_event_header h;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time, address;
		uint32_t cpu, reserved;
		uint64_t period;
		uint32_t raw_size, caps;
		uint64_t reg[8];
		uint64_t weight, data_src;
	} r = { .h = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(r) },
		.id = 1,
		.ip = BASE + code->vaddr + ip,
		.pid = PID,
		.tid = PID + thread,
		.time = m->time += 100 + draw(m) % 900,
		.cpu = (uint32_t)(draw(m) % CPUS),
		.period = 100000 + draw(m) % 4096 * 16,
		.raw_size = 4 + sizeof(r.reg),
		.caps = CAPS };

	if (u >= 0.4)
		put_access(m, &data2, &data3, u < 0.82);
	r.reg[0] = 3u << 17 | 1u << 19 | 6250;
	r.reg[1] = r.ip;
	r.reg[2] = (15 + tail(m, 40, 60000)) << 16 | tail(m, 10, 9999);
	r.reg[3] = data2;
	r.reg[4] = data3;
	r.reg[5] = data3 ? address : 0;
	r.reg[6] = data3 ? address & 0xfffffffff : 0;
	r.address = r.reg[5];
	r.weight = data3 >> 32 & 0xffff;
	r.data_src = perf_source(data2, data3);
	return put(m, &r, sizeof(r), err);
}

static int put_text(struct made *m, unsigned bit, const char *text, const char *pmu,
		    struct err *err)
{
	struct {
		uint32_t n, type, len;
		char text[64];
	} p = { .n = 1, .type = 9, .len = 64 };

	(void)snprintf(p.text, sizeof(p.text), "%s", pmu ? pmu : text);
	return pmu ? pdw_feature(m->w, bit, &p, sizeof(p), err)
		   : pdw_feature(m->w, bit, &p.len, sizeof(p) - 8, err);
}

static int make(struct made *m, const char *path, uint64_t samples, struct err *err)
{
	const uint64_t id = 1;
	const struct pdw_event e = {
		.attr = { .type = 9,
			  .size = sizeof(struct perf_event_attr),
			  .config = 1u << 19,
			  .sample_period = 100000,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
					 PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
					 PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC,
			  .sample_id_all = 1 },
		.name = "ibs_op//",
		.ids = &id,
		.n_ids = 1,
	};

	if (read_segments(m, err) ||
	    pdw_open(&m->w, path, &(struct pdw_setup){ .event = &e, .n_events = 1 }, err) ||
	    put_maps(m, err))
		return -1;
	while (samples--)
		if (put_sample(m, err))
			return -1;
	if (pdw_data(m->w, m->piece, m->used, err) || put_text(m, 6, "x86_64", NULL, err) ||
	    put_text(m, 9, "AuthenticAMD,25,17,1", NULL, err) ||
	    put_text(m, 16, NULL, "ibs_op", err))
		return -1;
	return pdw_commit(m->w, &(struct pdw_end){ .how = PD_END_FINISHED }, err);
}

int main(int argc, char **argv)
{
	static struct made m = { .random = 88172645463325252u, .time = 1000000000 };
	struct err err = ERR_INIT;
	int ret;

	if (argc != 4) {
		(void)fprintf(stderr, "usage: ibs OUT SAMPLES PROGRAM\n");
		return 2;
	}
	m.program = argv[3];
	ret = make(&m, argv[1], strtoull(argv[2], NULL, 10), &err);
	if (ret)
		(void)fprintf(stderr, "ibs: %s\n", err.what);
	pdw_close(m.w);
	return ret ? 1 : 0;
}
