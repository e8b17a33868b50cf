/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate/reader.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int reader_open(struct reader *r, struct err *err)
{
	size_t size = STREAM_HEAD + STREAM_WORDS * 8;
	void *p = MAP_FAILED;

	*r = (struct reader){ .fd = memfd_create("cyclade-simulate", 0) };
	if (r->fd >= 0 && !ftruncate(r->fd, (off_t)size))
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED) {
		int rc = err_sys(err, "memory shared with the emulator");

		if (r->fd >= 0)
			(void)close(r->fd);
		r->fd = -1;
		return rc;
	}
	r->ring = p;
	r->ring->magic = STREAM_MAGIC;
	r->ring->words = STREAM_WORDS;
	r->word = (const uint64_t *)(const void *)((const char *)p + STREAM_HEAD);
	return 0;
}

/* Tells the writer how far we are. */
static void move_tail(struct reader *r)
{
	__atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->ring->tail_waits, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&r->ring->tail_waits, 0, __ATOMIC_SEQ_CST);
		(void)syscall(SYS_futex, &r->ring->tail_waits, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

/* More words than were seen; false: there will be none. */
static bool wait_for_words(struct reader *r)
{
	const struct timespec a_while = { 0, 20000000 };

	move_tail(r);
	for (;;) {
		bool gone;
		uint64_t head = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE);

		if (head != r->head) {
			r->forged |= head - r->tail > STREAM_WORDS;
			r->head = head;
			return !r->forged;
		}
		gone = r->gone && r->gone(r->ctx);
		if (gone && __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) == head)
			return false;
		__atomic_store_n(&r->ring->head_waits, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&r->ring->head, __ATOMIC_SEQ_CST) == head)
			(void)syscall(SYS_futex, &r->ring->head_waits, FUTEX_WAIT, 1, &a_while,
				      NULL, 0);
		__atomic_store_n(&r->ring->head_waits, 0, __ATOMIC_SEQ_CST);
	}
}

static inline bool next_word(struct reader *r, uint64_t *w)
{
	if (r->tail == r->head && !wait_for_words(r))
		return false;
	*w = r->word[r->tail++ & (STREAM_WORDS - 1)];
	if (!(r->tail & 8191))
		move_tail(r);
	return true;
}

static bool read_note(struct reader *r, uint64_t w, struct stream_item *out)
{
	out->note = (uint8_t)(w >> STREAM_KIND_SHIFT);
	out->n = (uint32_t)w;
	out->payload = r->room;
	if (out->n > STREAM_NOTE_MOST) {
		r->forged = true;
		return false;
	}
	for (size_t i = 0; i < out->n; i++)
		if (!next_word(r, &r->room[i]))
			return false;
	return out->note != STREAM_END;
}

bool reader_next(struct reader *r, struct stream_item *out)
{
	uint64_t w;

	if (!next_word(r, &w))
		return false;
	out->tag = (uint8_t)(w >> STREAM_TAG_SHIFT);
	switch (out->tag) {
	case STREAM_RUN:
		out->block = (uint32_t)w;
		out->thread = (uint32_t)(w >> STREAM_THREAD_SHIFT) & 0xffff;
		return true;
	case STREAM_NOTE:
		return read_note(r, w, out);
	case STREAM_ACCESS:
		out->vaddr = w & ((UINT64_C(1) << STREAM_INSN_SHIFT) - 1);
		out->insn = (uint32_t)(w >> STREAM_INSN_SHIFT) & (STREAM_INSNS_MOST - 1);
		out->store = w & STREAM_STORE;
		out->bytes = 1u << (w >> STREAM_SIZE_SHIFT & 7);
		return true;
	default:
		r->forged = true;
		return false;
	}
}

void reader_close(struct reader *r)
{
	if (!r->ring)
		return;
	__atomic_store_n(&r->ring->closed, 1, __ATOMIC_SEQ_CST);
	move_tail(r);
	(void)munmap(r->ring, STREAM_HEAD + STREAM_WORDS * 8);
	(void)close(r->fd);
	r->ring = NULL;
	r->fd = -1;
}
