/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream - what a program does, from the emulator's plugin to the model: a ring of words in memory
 * that both have mapped.
 *
 * The plugin writes words and moves `head`; the reader moves `tail`. Either sleeps on a futex while
 * there is nothing to do: on `head` while the ring is empty, on `tail` while it is full. Words are
 * read in the order in which they were written. A word's highest four bits say what it is:
 *
 *	ACCESS	an address that the instruction with this number in the running block accessed
 *	RUN	a block begins; its number, and which thread runs it
 *	NOTE	the kind of a note and how many words of payload follow it
 *
 * A block is a run of instructions that is entered at its first only. Its accesses follow its RUN,
 * in the order in which they were made. Notes:
 *
 *	BLOCK	number, address, instructions, then their bytes: a length each, and as many bytes
 *	MAP	address, length, offset in the file, protection, then the path, ended by 0
 *	CALL	the number of a system call that begins
 *	CHILD	a process began, which is not followed
 *	GONE	the program's process becomes another program, which is not followed
 *	END	nothing follows
 *
 * The emulated program runs in the plugin's process and could write here: the reader takes nothing
 * for granted.
 */
#ifndef CYCLADE_SIMULATE_STREAM_H
#define CYCLADE_SIMULATE_STREAM_H

#include <stdint.h>

#define STREAM_MAGIC	  UINT64_C(0x31656d69736c7963)
#define STREAM_WORDS	  (UINT64_C(1) << 17)
#define STREAM_NOTE_MOST  8192u /* words of payload */
#define STREAM_INSNS_MOST 512u	/* of a block */
#define STREAM_HEAD	  4096u /* bytes before the words */

enum stream_tag { STREAM_ACCESS, STREAM_RUN, STREAM_NOTE };
enum stream_note {
	STREAM_BLOCK = 1,
	STREAM_MAP,
	STREAM_CALL,
	STREAM_CHILD,
	STREAM_GONE,
	STREAM_END,
};

#define STREAM_TAG_SHIFT    60
#define STREAM_INSN_SHIFT   47 /* of ACCESS: 9 bits; below it the address */
#define STREAM_STORE	    (UINT64_C(1) << 56)
#define STREAM_SIZE_SHIFT   57 /* 3 bits: log2 of bytes */
#define STREAM_THREAD_SHIFT 32 /* of RUN: 16 bits */
#define STREAM_KIND_SHIFT   32 /* of NOTE: 8 bits */

struct stream_shared {
	uint64_t magic, words;
	_Alignas(64) uint64_t head; /* words written so far */
	uint32_t head_waits;	    /* the reader sleeps */
	_Alignas(64) uint64_t tail; /* words read so far */
	uint32_t tail_waits;	    /* the writer sleeps */
	uint32_t closed;	    /* the reader is gone: nobody will read */
};

#endif
