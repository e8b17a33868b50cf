/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader - the stream's other end (stream.h): what a program did, one thing at a time.
 *
 *	reader_open(&r, &err)		the ring, as a descriptor for the emulator: r->fd
 *	while (reader_next(r, &item))	waits; false: it ended, or the writer is gone
 *	reader_close(r)			a writer that still writes ends
 *
 * An item's payload is valid until the next call. Nothing in it is checked but that it lies within
 * the ring: numbers of blocks, of instructions and lengths are the caller's to check.
 */
#ifndef CYCLADE_SIMULATE_READER_H
#define CYCLADE_SIMULATE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "simulate/stream.h"

struct stream_item {
	uint8_t tag, note;	/* enum stream_tag, stream_note */
	uint32_t block, thread; /* of RUN */
	uint64_t vaddr;		/* of ACCESS */
	uint32_t insn, bytes;
	bool store;
	const uint64_t *payload; /* of NOTE */
	size_t n;
};

struct reader {
	int fd;
	struct stream_shared *ring;
	const uint64_t *word;
	uint64_t head, tail; /* seen, read */
	uint64_t room[STREAM_NOTE_MOST];
	/* The writer's process has ended: asked now and then while nothing comes. */
	bool (*gone)(void *ctx);
	void *ctx;
	bool forged; /* a word that the plugin does not write */
};

int reader_open(struct reader *r, struct err *err) MUST_USE;
bool reader_next(struct reader *r, struct stream_item *out);
void reader_close(struct reader *r);

#endif
