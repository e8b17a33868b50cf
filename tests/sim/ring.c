/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

struct ring {
	struct ring *next;
	struct perf_event_mmap_page *kernel, *shown;
	size_t len, head_size, data_size;
	struct sim_again again; /* of the kernel's first record */
};

static struct ring *rings;
static union {
	uint64_t align;
	char bytes[SIM_RECORD_MAX];
} raw, made;

static void *real_map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return sim_real.mmap(at, len, prot, flags, fd, offset);
}

void *sim_ring_map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *r;
	int memory;

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
	r->len = len;
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

/* A record for which there is no room stays in the kernel's ring, which tells of the loss when it
 * is full itself; so does one that stands for more samples, until all of them have been shown. */
static void pump(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->kernel->data_head, __ATOMIC_ACQUIRE),
		 tail = r->kernel->data_tail, to = r->shown->data_head,
		 seen = __atomic_load_n(&r->shown->data_tail, __ATOMIC_ACQUIRE);

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		size_t n;

		copy_out(r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		copy_out(r, tail, raw.bytes, h.size);
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
