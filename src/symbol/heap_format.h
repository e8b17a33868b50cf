/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_format - the log of a process' allocations, as heaplog writes it and heap.h reads it.
 *
 * A log is a file of chunks, each a `struct heap_chunk` and then records up to the first word that
 * is 0, or the chunk's end. In a log, chunks begin at multiples of HEAP_CHUNK_LEAST, and the file
 * may be longer than its chunks. Each process (a program that was executed, or a fork of one) has a
 * file of its own, each thread writes to a chunk of its own. A record is 64-bit words of the
 * machine's byte order; the first has the type in its upper 8 bits and a value in the others:
 *
 *	ALLOC	address | time | chain << 40 | bytes	from malloc, calloc, new, ...
 *	FREE	address | time				the time before it is freed
 *	FREED	address		before the chunk's next record with a time; if none, after its last
 *	MAP	address | time | chain << 40 | bytes	anonymous memory of mmap, mremap
 *	UNMAP	address | time | bytes			or a file was mapped there
 *	STACK	address | time | tid << 40 | bytes	of the thread that writes
 *	CHAIN	number << 32 | chain | return addresses, innermost first
 *	RATE	n | time	from now on small objects are logged only if heap_logged() holds
 *
 * In a recording the chunks stand one behind another, cut to their used part; those of pid 0
 * have no records, but the time at which the logs began and ended.
 *
 * Times are ticks of the CPU's counter, or ns of the recording's clock if HEAP_NO_TICKS; each chunk
 * has one instant by both clocks. Within a chunk they ascend.
 */
#ifndef CYCLADE_SYMBOL_HEAP_FORMAT_H
#define CYCLADE_SYMBOL_HEAP_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define HEAP_MAGIC	 0x31676f6c70616568u /* "heaplog1" */
#define HEAP_CHUNK_LEAST 0x4000u
#define HEAP_CHUNK_MOST	 0x100000u
#define HEAP_FILE_MOST	 (UINT64_C(1) << 36) /* bytes of a process' log */
#define HEAP_DEPTH	 16u		     /* return addresses of a chain */
#define HEAP_BIG	 4096u	       /* objects of as many bytes are logged whatever the rate */
#define HEAP_NO_CHAIN	 0xffffffu     /* too many different ones */
#define HEAP_BYTES_MOST	 0xffffffffffu /* larger objects are logged as this large */

enum heap_record {
	HEAP_END, /* or not yet written */
	HEAP_ALLOC,
	HEAP_FREE,
	HEAP_MAP,
	HEAP_UNMAP,
	HEAP_STACK,
	HEAP_CHAIN,
	HEAP_RATE,
	HEAP_FREED,
};

enum heap_flag {
	HEAP_FORKED = 1,   /* not executed: its parent's allocations are there */
	HEAP_NO_TICKS = 2, /* times are ns */
	HEAP_OWN = 4,	   /* the program brings a malloc of its own, which is not logged */
	HEAP_TABLES = 8,   /* chains are by call-frame tables, else by frame pointers alone */
};

struct heap_chunk {
	uint64_t magic;
	uint32_t size; /* with this head; of a recording: the used part of it */
	uint32_t pid, parent;
	uint32_t flags;
	uint64_t began;	     /* ns: the process' log; pid and this name it */
	uint64_t ticks, ns;  /* one instant: the counter, the clock of the recording */
	uint64_t not_logged; /* events of the process; of all chunks but its first one 0 */
	uint64_t rate;	     /* of small objects, as the chunk begins; 1: all are logged */
};

#define HEAP_HEAD_WORDS (sizeof(struct heap_chunk) / 8)

static inline uint64_t heap_head(enum heap_record type, uint64_t value)
{
	return (uint64_t)type << 56 | value;
}

/* Words of the record that begins with this one; 0: not known. */
static inline uint32_t heap_words(uint64_t head)
{
	static const uint8_t words[] = {
		[HEAP_ALLOC] = 3, [HEAP_FREE] = 2,  [HEAP_MAP] = 3,  [HEAP_UNMAP] = 3,
		[HEAP_STACK] = 3, [HEAP_CHAIN] = 1, [HEAP_RATE] = 2, [HEAP_FREED] = 1
	};
	uint32_t type = (uint32_t)(head >> 56), n = type < sizeof(words) ? words[type] : 0;

	return type == HEAP_CHAIN ? n + (uint32_t)(head >> 32 & 0xffffff) : n;
}

/* The CPU's counter; 0: it has none that programs can read. */
static inline uint64_t heap_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

static inline uint64_t heap_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One instant by both clocks: the closest of a few readings, as a thread may be set aside between
 * them. */
static inline void heap_instant(struct heap_chunk *c, clockid_t clock)
{
	uint64_t closest = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = heap_ticks(), ns = heap_ns(clock), apart = heap_ticks() - before;

		if (apart < closest) {
			closest = apart;
			c->ns = ns;
			c->ticks = before + apart / 2;
		}
	}
}

/* Whether a small object is logged: the same for allocation and release, as it is of the address
 * alone. One in `rate`, a power of two. */
static inline bool heap_logged(uint64_t address, uint64_t rate)
{
	return ((address >> 4) * 0x9e3779b97f4a7c15u >> 40 & (rate - 1)) == 0;
}

#endif
