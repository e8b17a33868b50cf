/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ended - how a recording ended: a block of our own behind the header of the file, 64 bytes that
 * perf passes over. It stands at its place from the start and is only ever overwritten, so that a
 * full disk or a signal cannot keep it from being true. While it is at work the recorder holds a
 * lock on the file (F_OFD_SETLK), which dies with it.
 *
 * All numbers are of the recorder's byte order:
 *	0	"CYCLADE\1"
 *	8	u32 bytes of the block; u32 state (enum pd_end)
 *	16	u32 signal (also one that the program survived) or errno; u32 flags (ENDED_*)
 *	24	u64 bytes of the file when it was complete
 *	32	zeros
 */
#ifndef CYCLADE_PERFDATA_ENDED_H
#define CYCLADE_PERFDATA_ENDED_H

#include <stdint.h>

#include "base/err.h"
#include "perfdata/perfdata.h"

#define ENDED_MAGIC "CYCLADE\1"

enum {
	ENDED_SIZE = 64,
	ENDED_PROGRAM = 1,  /* a program was started: a signal ended its recording before its end */
	ENDED_LOCKED = 2,   /* the recorder has the lock; without it a killed one looks alive */
	ENDED_OUTLIVED = 4, /* processes that the program had started went on */
};

struct pd_ended {
	enum pd_end how;
	uint32_t number, flags;
	uint64_t whole;
};

void ended_put(uint8_t out[ENDED_SIZE], const struct pd_ended *e);

#endif
