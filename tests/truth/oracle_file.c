/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recording: a perf.data as perf record -b makes them. Header, one attribute, records in the
 * order of time, features behind them. Every record but samples ends in pid, tid and time.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle.h"

#define SAMPLES                                                                     \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | \
	 PERF_SAMPLE_BRANCH_STACK)
#define MOST 4096

struct section {
	uint64_t offset, size;
};

struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, types;
	uint64_t features[4];
};

enum {
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_CPU = 8,
	FEATURE_CPUID = 9,
	FEATURE_EVENT = 12,
	FEATURE_BRANCHES = 15
};

#define ID	1
#define ATTR_AT (sizeof(struct header) + 8) /* behind the one id */
#define DATA_AT (ATTR_AT + sizeof(struct perf_event_attr) + sizeof(struct section))

static struct perf_event_attr attribute(const struct recording *r)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_RAW,
		.size = sizeof(struct perf_event_attr),
		.config = r->config,
		.sample_period = r->period,
		.sample_type = SAMPLES,
		.branch_sample_type = r->branch_filter,
		.disabled = 1,
		.precise_ip = r->precise ? 2 : 0,
		.exclude_kernel = !(r->branch_filter & PERF_SAMPLE_BRANCH_KERNEL),
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.enable_on_exec = 1,
		.sample_id_all = 1,
	};
}

static void put(struct recording *r, const void *p, size_t len)
{
	fwrite(p, 1, len, r->f); /* ferror() is asked at the end */
}

static void put_record(struct recording *r, uint32_t type, uint16_t misc, const void *body,
		       size_t len, const char *text, uint64_t time)
{
	size_t n = text ? strlen(text) / 8 * 8 + 8 : 0; /* with its end, whole words */
	struct perf_event_header h = { type, misc, (uint16_t)(sizeof(h) + len + n + 16) };
	char pad[8] = "";

	put(r, &h, sizeof(h));
	put(r, body, len);
	if (text) {
		put(r, text, strlen(text));
		put(r, pad, n - strlen(text));
	}
	put(r, (uint32_t[]){ r->pid, r->pid }, 8);
	put(r, &time, 8);
}

int recording_begin(struct recording *r)
{
	struct header h = { .magic = "" };
	const char *name = strrchr(r->program, '/');

	r->f = fopen(r->path, "wbe");
	if (!r->f)
		return -1;
	setvbuf(r->f, NULL, _IOFBF, 1 << 20);
	struct perf_event_attr a = attribute(r);

	put(r, &h, sizeof(h)); /* again at the end */
	put(r, (uint64_t[]){ ID }, 8);
	put(r, &a, sizeof(a));
	put(r, &(struct section){ sizeof(h), 8 }, sizeof(struct section));
	char comm[16] = "";

	strncat(comm, name ? name + 1 : r->program, sizeof(comm) - 1);
	put_record(r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, (uint32_t[]){ r->pid, r->pid },
		   8, comm, 1);
	return 0;
}

void recording_map(struct recording *r, const struct map *m, uint64_t time)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
	} b = { r->pid,	  r->pid,   m->start, m->end - m->start,     m->offset,	 m->major,
		m->minor, m->inode, 0,	      PROT_READ | PROT_EXEC, MAP_PRIVATE };

	put_record(r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &b, sizeof(b), m->path, time);
}

void recording_sample(struct recording *r, uint64_t ip, uint64_t time, uint64_t period,
		      const struct entry *ring, unsigned size, unsigned newest, unsigned n)
{
	struct {
		struct perf_event_header h;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time, period, nr;
	} s = { { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 0 },
		ip,
		r->pid,
		r->pid,
		time,
		period,
		n };
	unsigned first = newest + 1 < n ? newest + 1 : n; /* without going round */

	s.h.size = (uint16_t)(sizeof(s) + n * sizeof(*ring));
	put(r, &s, sizeof(s));
	for (unsigned i = 0; i < first; i++)
		put(r, &ring[newest - i], sizeof(*ring));
	for (unsigned i = first; i < n; i++)
		put(r, &ring[newest + size - i], sizeof(*ring));
}

/* A string as features have them: its length, then whole words. */
static size_t put_string(struct recording *r, const char *s)
{
	uint32_t n = (uint32_t)(strlen(s) / 64 * 64 + 64);
	char pad[64] = "";

	put(r, &n, 4);
	put(r, s, strlen(s));
	put(r, pad, n - strlen(s));
	return 4 + n;
}

static size_t put_event(struct recording *r)
{
	struct perf_event_attr a = attribute(r);
	uint32_t one = 1;
	size_t n;

	put(r, (uint32_t[]){ 1, sizeof(a) }, 8);
	put(r, &a, sizeof(a));
	put(r, &one, 4);
	n = 8 + sizeof(a) + 4 + put_string(r, r->event) + 8;
	put(r, (uint64_t[]){ ID }, 8);
	return n;
}

static size_t put_feature(struct recording *r, unsigned f)
{
	switch (f) {
	case FEATURE_VERSION:
		return put_string(r, "emulated");
	case FEATURE_ARCH:
		return put_string(r, "x86_64");
	case FEATURE_CPU:
		return put_string(r, "emulated processor with branch records");
	case FEATURE_CPUID:
		return put_string(r, "GenuineIntel,6,85,4");
	case FEATURE_EVENT:
		return put_event(r);
	default:
		return 0; /* FEATURE_BRANCHES: that it is there says all */
	}
}

static const unsigned features[] = { FEATURE_VERSION, FEATURE_ARCH,  FEATURE_CPU,
				     FEATURE_CPUID,   FEATURE_EVENT, FEATURE_BRANCHES };
#define N_FEATURES (sizeof(features) / sizeof(*features))

int recording_end(struct recording *r, uint64_t time)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} gone = { r->pid, r->pid, r->pid, r->pid, time };
	struct header h = {
		.magic = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' },
		.size = sizeof(h),
		.attr_size = DATA_AT - ATTR_AT,
		.attrs = { ATTR_AT, DATA_AT - ATTR_AT },
	};
	struct section s[N_FEATURES] = { 0 };
	int bad;

	put_record(r, PERF_RECORD_EXIT, 0, &gone, sizeof(gone), NULL, time);
	h.data = (struct section){ DATA_AT, (uint64_t)ftell(r->f) - DATA_AT };
	put(r, s, sizeof(s)); /* room for where they are */
	for (unsigned i = 0; i < N_FEATURES; i++) {
		s[i].offset = (uint64_t)ftell(r->f);
		s[i].size = put_feature(r, features[i]);
		h.features[0] |= (uint64_t)1 << features[i];
	}
	fseek(r->f, (long)(h.data.offset + h.data.size), SEEK_SET);
	put(r, s, sizeof(s));
	fseek(r->f, 0, SEEK_SET);
	put(r, &h, sizeof(h));
	bad = ferror(r->f);
	return fclose(r->f) || bad ? -1 : 0;
}
