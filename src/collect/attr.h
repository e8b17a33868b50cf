/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr - from an event and the wishes of a recording to the attribute the kernel is asked with.
 */
#ifndef CYCLADE_COLLECT_ATTR_H
#define CYCLADE_COLLECT_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/event.h"

enum attr_chain { CHAIN_NONE, CHAIN_FP, CHAIN_DWARF, CHAIN_UNWIND, CHAIN_LBR };

struct attr_wish {
#define ATTR_WISH(field, parts, tracks, perf) bool field;
#include "collect/attr_wish.def"
#undef ATTR_WISH
};

struct attr_opts {
	uint64_t freq, period; /* one of them; an event's own terms go first */
	enum attr_chain chain;
	uint32_t stack_size;
	struct attr_wish wish;
	/* Mappings without code are reported, too: perf finds unwind tables only in recorded
	 * mappings, and linkers put them beside the code. */
	bool data_maps;
	uint64_t branch_type; /* with wish.branch: PERF_SAMPLE_BRANCH_*; 0: any */
	bool switches;	      /* with the mappings: when threads got and left a CPU */
	bool inherit, user_only, kernel_only;
	bool cpu;     /* samples carry their CPU */
	bool several; /* more than one event: samples carry an id */
	/* Samples carry their own counter's value, and how long it was wanted and ran. */
	bool times;
	bool enable_on_exec; /* else enabled by hand */
	bool use_clockid;    /* times of `clockid`, CLOCK_*; else of the kernel's own choice */
	int clockid;
};

/* Those of a wish that an event without samples is to have. */
struct attr_wish attr_wish_tracking(const struct attr_wish *w);
/* perf's options for a wish, each behind a blank. */
void attr_wish_put(struct buf *b, const struct attr_wish *w);

/* Which chains an event's samples have: its own terms go before the options. */
enum attr_chain attr_chain_of(const struct event *e, const struct attr_opts *o);
/* From copies of registers and stack: by the recording's reader, or while it is made. */
bool attr_copies_stack(enum attr_chain chain);
/* `tracking`: this event also reports mappings, names, forks, exits, kernel symbols. */
void attr_make(struct perf_event_attr *out, const struct event *e, const struct attr_opts *o,
	       bool tracking);

/* Asks the kernel for the counter at a place and, if it refuses, gives up features that need a
 * newer kernel or more rights, step by step, until it agrees. *given_up has a bit ATTR_WITHOUT_x
 * for each; a field that was not the reason is restored. Fails with the kernel's last error. */
enum {
	ATTR_WITHOUT_KERNEL = 1, /* no permission: user space only */
	ATTR_WITHOUT_LOST = 2,
	ATTR_WITHOUT_WEIGHT_STRUCT = 4,
	ATTR_WITHOUT_HW_INDEX = 8,
	ATTR_WITHOUT_PRECISE = 16,
	ATTR_WITHOUT_KSYMBOL = 32,
	ATTR_WITHOUT_INHERIT = 64,   /* of samples that read their group: Linux 6.12 */
	ATTR_WITHOUT_TIMES = 128,    /* of inherited counters: Linux 6.12 */
	ATTR_WITHOUT_BUILD_ID = 256, /* of mapped files, by the kernel: Linux 5.12 */
	ATTR_WITHOUT_PHYS = 512,     /* no permission for physical addresses */
	ATTR_WITHOUT_PAGES = 1024,   /* sizes of pages: Linux 5.11 */
	ATTR_WITHOUT_CGROUP = 2048,  /* cgroups of samples: Linux 5.7 */
};
struct attr_place {
	pid_t task;
	int cpu;
	int group_fd; /* the open leader of its group; -1: it leads or is alone */
	bool may_drop_kernel, may_drop_phys;
};
/* `fd` NULL: the counter is closed again; else it is the caller's, disabled. */
int attr_fit(struct perf_event_attr *attr, const struct attr_place *at, unsigned *given_up, int *fd,
	     struct err *err) MUST_USE;

/* How many of them, from the first, which leads, the kernel takes as a group. */
size_t attr_fit_group(const struct perf_event_attr *const *attr, size_t n, pid_t task, int cpu);

/* The attribute as a recording shall have it: pointers into our memory are none of its business. */
struct perf_event_attr attr_to_store(const struct perf_event_attr *attr, const struct event *e);

/* AMD's IBS: its periods are multiples of ATTR_IBS_STEP. */
#define ATTR_IBS_STEP 16u
bool attr_is_ibs(const struct event *e);
/* Arm's SPE: its records go to an AUX ring. It has a period, never a frequency. */
#define ATTR_SPE_PERIOD 65536u
bool attr_is_spe(const struct event *e);

/* Bytes of the sample_id_all trailer of side-band records. */
size_t attr_trailer(const struct perf_event_attr *attr);
/* The general registers perf records on this machine. */
uint64_t attr_all_regs(void);

#endif
