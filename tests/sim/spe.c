/* SPDX-License-Identifier: BSD-3-Clause */
#include "spe.h"

#include <errno.h>
#include <string.h>

#include "ring.h"

#define MIN_INTERVAL 1024
#define TS_ENABLE    1u
#define BRANCHES     (UINT64_C(1) << 32)
#define LOADS	     (UINT64_C(1) << 33)
#define STORES	     (UINT64_C(1) << 34)

static uint64_t turn;

int sim_spe_errno(const struct sim_counter *k)
{
	const struct perf_event_attr *a = &k->attr;

	if (a->exclude_idle)
		return EOPNOTSUPP;
	return a->freq || a->sample_period < MIN_INTERVAL ? EINVAL : 0;
}

uint64_t sim_spe_flags(const struct sim_counter *k)
{
	return k->attr.sample_period < 2 * MIN_INTERVAL ? PERF_AUX_FLAG_COLLISION : 0;
}

struct sim_counter *sim_spe_sample(const void *record, size_t size)
{
	struct perf_event_header h;
	uint64_t id;
	struct sim_counter *k;

	memcpy(&h, record, sizeof(h));
	if (h.type != PERF_RECORD_SAMPLE || size < sizeof(h) + 4 * sizeof(id))
		return NULL;
	memcpy(&id, (const char *)record + sizeof(h), sizeof(id));
	k = sim_id_get(id);
	return k && k->pmu && k->pmu->driver == SIM_SPE ? k : NULL;
}

static uint8_t *put(uint8_t *p, unsigned head, uint64_t v, unsigned size)
{
	*p++ = (uint8_t)head;
	for (; size--; v >>= 8)
		*p++ = (uint8_t)v;
	return p;
}

/* Samples take turns: a load from each source of Neoverse, a store, a branch. */
size_t sim_spe_packets(const struct sim_counter *k, const void *record, uint8_t out[SIM_SPE_MAX])
{
	static const uint8_t source[] = { 0x0, 0x8, 0x9, 0xb, 0xe };
	uint64_t word[4], filter = k->attr.config & (BRANCHES | LOADS | STORES), n = turn++;
	unsigned kind = n % 8 < 5 ? 0 : n % 8 < 7 ? 1 : 2;
	unsigned total = 20 + (unsigned)(n % 8) * 50;
	uint8_t *p = out;

	/* identifier, ip, tid, time */
	memcpy(word, (const char *)record + sizeof(struct perf_event_header), sizeof(word));
	if (filter && !(filter & (kind == 0 ? LOADS : kind == 1 ? STORES : BRANCHES)))
		return 0;
	if (total < (k->attr.config2 & 0xfff))
		return 0;
	p = put(p, 0xb0, (word[1] & UINT64_C(0x00ffffffffffffff)) | UINT64_C(1) << 63, 8);
	p = put(p, 0x64, word[2] >> 32, 4); /* a kernel that writes the thread there */
	p = put(p, 0x48 | (kind == 2 ? 2 : 1), kind == 1, 1);
	p = put(p, 0x99, 4, 2);
	p = put(p, 0x98, total, 2);
	p = put(p, 0x52, 0x16, 2);
	if (!kind)
		p = put(p, 0x43, source[n % 8], 1);
	if (kind < 2)
		p = put(p, 0xb2, UINT64_C(0x7f0000001000) + 64 * (n % 8), 8);
	p = k->attr.config & TS_ENABLE ? put(p, 0x71, word[3], 8) : put(p, 0x01, 0, 0);
	return (size_t)(p - out);
}
