/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample_frames - the call chain of a sample as frames, innermost first, however it was recorded:
 * by the kernel's walk, by LBR call stacks, or by registers and a piece of the stack (-g=dwarf).
 *
 *	sample_frames_init(&f, spaces, machine, max)
 *	how = sample_frames_how(event, machine)		once for an event
 *	sample_frames_take(&f, &how, sample, proc, time, &err)
 *	... f.frame[0 .. f.n - 1] ...
 *	sample_frames_free(&f)		before the images
 *
 * One for each thread. Costs: that of the recorded frames; of DWARF chains see unwind.h.
 */
#ifndef CYCLADE_ANALYSE_SAMPLE_FRAMES_H
#define CYCLADE_ANALYSE_SAMPLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "perfdata/perfdata.h"
#include "symbol/space.h"
#include "symbol/unwind.h"

#define SAMPLE_FRAMES_MAX    65536u
#define SAMPLE_FRAMES_RECORD 8192u /* more than fit in the largest record */
#define KIND_UNSAID	     0xff  /* a chain without an address space */

struct sample_frame {
	uint64_t ip;
	uint8_t kind;	/* enum space_kind, or KIND_UNSAID */
	uint8_t caller; /* a return address */
};

struct sample_frames {
	const struct spaces *sp;
	unsigned machine;	    /* EM_* of the recording */
	struct sample_frame *frame; /* innermost first */
	size_t n, max;
	bool doubtful;		   /* an unknown marker: there are no frames */
	struct unwinder *unwinder; /* made at the first use */
	uint64_t *ips;		   /* the addresses that it found */
	uint64_t ends[8];	   /* by enum unwind_end: how DWARF chains ended */
};

/* How chains of an event come about; none of them: as the kernel wrote them. */
struct sample_frames_how {
	bool lbr;   /* the branch stack is the chain of user space */
	bool dwarf; /* user space is unwound */
	bool leaf;  /* the caller of the innermost function may be in the link register (AArch64) */
};

static inline bool sample_frames_made(const struct sample_frames_how *how)
{
	return how->lbr || how->dwarf || how->leaf;
}

/* EM_* of a uname machine ("x86_64"), 0 for one we do not know. */
unsigned machine_of_arch(const char *arch);
struct sample_frames_how sample_frames_how(const struct pd_event *e, unsigned machine);

/* `max`: frames at most, up to SAMPLE_FRAMES_MAX. */
int sample_frames_init(struct sample_frames *f, const struct spaces *sp, unsigned machine,
		       size_t max, struct err *err) MUST_USE;
/* The frames of a whole sample of that event; none if none were recorded. -1: out of memory. */
int sample_frames_take(struct sample_frames *f, const struct sample_frames_how *how,
		       const struct pd_sample *s, const struct process *proc, uint64_t time,
		       struct err *err) MUST_USE;
/* Adds only those that the kernel wrote: n words at p. `kind`, `caller`: of the first.
 * `until_user`: ends at the mark of user space; returns true if that mark was met. */
bool sample_frames_recorded(struct sample_frames *f, const uint8_t *p, uint64_t n, bool until_user,
			    uint8_t kind, bool caller);
/* Returns false if there is no room. */
bool sample_frames_push(struct sample_frames *f, uint64_t ip, uint8_t kind, bool caller);
void sample_frames_free(struct sample_frames *f);

#endif
