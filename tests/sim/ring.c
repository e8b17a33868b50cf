/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"
#include "spe.h"

struct ring {
	struct ring *next;
	struct perf_event_mmap_page *kernel, *shown;
	size_t len, head_size, data_size;
	int fd;
	uint8_t *aux;		/* NULL: none was mapped */
	struct sim_again again; /* of the kernel's first record */
};

static struct ring *rings;
static union {
	uint64_t align;
	char bytes[SIM_RECORD_MAX];
} raw, made, last;

static void *real_map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return sim_real.mmap(at, len, prot, flags, fd, offset);
}

/* The ring of this file whose program has said where its AUX part is: memory of ours. */
static void *map_aux(void *at, size_t len, int fd, off_t offset)
{
	for (struct ring *r = rings; r; r = r->next) {
		if (r->fd != fd || (uint64_t)offset != r->shown->aux_offset || !offset)
			continue;
		r->aux = real_map(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				  0);
		if (r->aux == MAP_FAILED)
			r->aux = NULL;
		return r->aux ? r->aux : MAP_FAILED;
	}
	return NULL;
}

void *sim_ring_map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *r;
	int memory;
	void *aux = map_aux(at, len, fd, offset);

	if (aux)
		return aux;
	if (offset || !(prot & PROT_WRITE) || len <= page || ((len - page) & (len - page - 1)))
		return real_map(at, len, prot, flags, fd, offset);
	r = calloc(1, sizeof(*r));
	memory = memfd_create("ring", MFD_CLOEXEC);
	if (!r || memory < 0 || ftruncate(memory, (off_t)len))
		goto fail;
	r->kernel = real_map(NULL, len, prot, flags, fd, offset);
	if (r->kernel == MAP_FAILED)
		goto fail;
	r->shown = real_map(at, len, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (r->shown == MAP_FAILED) {
		sim_real.munmap(r->kernel, len);
		goto fail;
	}
	sim_real.close(memory);
	memcpy(r->shown, r->kernel, page);
	r->shown->data_head = 0;
	r->shown->data_tail = 0;
	/* SPE's time stamps are ns, by the clock of the other records */
	r->shown->cap_user_time_zero = 1;
	r->shown->cap_user_time_short = 0;
	r->shown->time_shift = 0;
	r->shown->time_mult = 1;
	r->shown->time_zero = 0;
	r->len = len;
	r->fd = fd;
	r->head_size = page;
	r->data_size = len - page;
	r->next = rings;
	rings = r;
	return r->shown;
fail:
	if (memory >= 0)
		sim_real.close(memory);
	free(r);
	return MAP_FAILED;
}

bool sim_ring_unmap(void *at, size_t len)
{
	for (struct ring **link = &rings; *link; link = &(*link)->next) {
		struct ring *r = *link;

		if (r->shown != at || r->len != len)
			continue;
		*link = r->next;
		sim_real.munmap(r->kernel, r->len);
		sim_real.munmap(r->shown, r->len);
		free(r);
		return true;
	}
	return false;
}

static void copy_out(const struct ring *r, uint64_t at, void *to, size_t n)
{
	const char *data = (const char *)r->kernel + r->head_size;
	size_t begin = at & (r->data_size - 1), first = r->data_size - begin;

	if (first > n)
		first = n;
	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

static void copy_in(struct ring *r, uint64_t at, const void *from, size_t n)
{
	char *data = (char *)r->shown + r->head_size;
	size_t begin = at & (r->data_size - 1), first = r->data_size - begin;

	if (first > n)
		first = n;
	memcpy(data + begin, from, first);
	memcpy(data, (const char *)from + first, n - first);
}

/* What is new in the AUX ring, as the driver tells it: offset, size, flags, and the trailer of an
 * event with TID, TIME, CPU and IDENTIFIER. The record is the kernel's sample's neighbour. */
static uint64_t tell_aux(struct ring *r, uint64_t to, uint64_t from, uint64_t flags,
			 const struct sim_counter *k, const void *sample)
{
	uint64_t size = r->shown->aux_head - from, word[6];
	struct perf_event_header h = { .type = PERF_RECORD_AUX, .size = 8 + 3 * 8 + 4 * 8 };
	uint64_t out[8];

	/* identifier, ip, tid, time, cpu, period */
	memcpy(word, (const char *)sample + sizeof(h), sizeof(word));
	memcpy(out, &h, sizeof(h));
	out[1] = from;
	out[2] = size;
	out[3] = flags;
	out[4] = word[2];
	out[5] = word[3];
	out[6] = word[4];
	out[7] = k->id;
	copy_in(r, to, out, sizeof(out));
	return to + sizeof(out);
}

/* Into the AUX ring; where that is full the record is lost, and the flags say so. */
static void trace(struct ring *r, const struct sim_counter *k, uint64_t *flags)
{
	uint8_t packets[SIM_SPE_MAX];
	size_t n = sim_spe_packets(k, raw.bytes, packets), size = r->shown->aux_size;
	uint64_t head = r->shown->aux_head;

	if (head + n - __atomic_load_n(&r->shown->aux_tail, __ATOMIC_ACQUIRE) > size) {
		*flags |= PERF_AUX_FLAG_TRUNCATED;
		return;
	}
	for (size_t i = 0; i < n; i++)
		r->aux[(head + i) & (size - 1)] = packets[i];
	__atomic_store_n(&r->shown->aux_head, head + n, __ATOMIC_RELEASE);
}

/* A record for which there is no room stays in the kernel's ring, which tells of the loss when it
 * is full itself; so does one that stands for more samples, until all of them have been shown. */
static void pump(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->kernel->data_head, __ATOMIC_ACQUIRE),
		 tail = r->kernel->data_tail, to = r->shown->data_head,
		 seen = __atomic_load_n(&r->shown->data_tail, __ATOMIC_ACQUIRE);

	uint64_t from = r->shown->aux_head, flags = 0;
	const struct sim_counter *spe = NULL;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		const struct sim_counter *k;
		size_t n;

		copy_out(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		copy_out(r, tail, raw.bytes, h.size);
		k = r->aux ? sim_spe_sample(raw.bytes, h.size) : NULL;
		if (k) {
			spe = k;
			flags |= sim_spe_flags(k);
			memcpy(last.bytes, raw.bytes, h.size);
			trace(r, k, &flags);
			tail += h.size;
			continue;
		}
		n = sim_sample_translate(&sim_state, raw.bytes, h.size, made.bytes, &r->again);
		if (r->again.left) {
			if (to + n - seen > r->data_size)
				break;
			copy_in(r, to, made.bytes, n);
			to += n;
			r->again.left--;
		}
		if (!r->again.left)
			tail += h.size;
	}
	if (spe && r->shown->aux_head != from && to + 64 - seen <= r->data_size)
		to = tell_aux(r, to, from, flags, spe, last.bytes);
	__atomic_store_n(&r->shown->data_head, to, __ATOMIC_RELEASE);
	__atomic_store_n(&r->kernel->data_tail, tail, __ATOMIC_RELEASE);
}

void sim_ring_pump(void)
{
	for (struct ring *r = rings; r; r = r->next)
		pump(r);
}

bool sim_ring_any(void)
{
	return rings;
}
