/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure_opts - targets, events and times of a measurement, as one structure. A command fills it
 * in from its options, a service from its configuration.
 *
 * A field's zero means "not asked for". Texts are as a user types them and are checked when they
 * are used; numbers and contradictions are to be checked before (cli/asking.c does). The structure
 * and all that it points to stay until the measuring is closed.
 */
#ifndef CYCLADE_MEASURE_MEASURE_OPTS_H
#define CYCLADE_MEASURE_MEASURE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/words.h"
#include "collect/attr.h"
#include "plan/model_choice.h"

#define MEASURE_JITTER 0.1 /* the usual one */
#define DELAY_FOR_EVER UINT64_MAX

struct pd_sample;
struct validate_kept;

struct measure_opts {
	struct arena *a;	  /* lives as long as the measuring */
	struct text_list program; /* with its arguments; empty: none */
	const char *root;	  /* before /sys and /proc; "" */
	struct model_choice model;
	/* A line worth telling at once, without an end of line; NULL: nobody listens. */
	void (*news)(void *ctx, const char *line);
	void *news_ctx;
	/* Verdicts on this machine's events; NULL: none. */
	const struct validate_kept *verdicts;
	bool path_ours; /* the file has a default name: not named by the user */
	bool dry_run;	/* nothing is opened: attributes are described */

	char *const *env; /* "NAME=value" for the program, ended by NULL; NULL: none */

	/* whom */
	struct text_list pid, tid, cgroup;
	const char *uid, *cpu;
	bool all, no_inherit, user_only, kernel_only;
	const char *per; /* of counts: thread, cpu, core, cluster, die, socket, node */

	/* when */
	uint64_t delay;		     /* ns; DELAY_FOR_EVER: off until --control enables it */
	uint64_t for_time, interval; /* ns */
	uint64_t repeat, warmup;
	const char *control, *pre, *post;
	bool follow;	 /* until all that the program has started has ended, too */
	unsigned silent; /* streams of the program that are /dev/null: WORKLOAD_NO_INPUT, ... */

	/* counted */
	struct text_list event, node, metric;
	const struct event_filter { /* --filter: of the last of so many of `event` */
		const char *text;
		size_t events;
	} * filter;
	size_t n_filters;
	unsigned level;
	bool level_said; /* 0 is a level, too */
	const char *drilldown, *latency;
	bool no_mux, no_merge;

	/* sampled */
	bool tree;	       /* and a tree counted beside it (sampling_tree.h) */
	bool needs_pmu;	       /* an error if time would be sampled for want of a cycle counter */
	uint64_t freq, period; /* one of them, or neither: 4000 a second */
	uint64_t mmap_pages;   /* of a ring; 0: 128 */
	int zstd_level;	       /* 0: not compressed */
	/* Asked of each sample before it is written, with the PMU of its event and the machine's
	 * number as recordings have it: 1: it is kept; 0; -1. NULL: all are. */
	int (*keep)(void *ctx, const struct pd_sample *s, const char *pmu, const char *cpuid,
		    struct err *err);
	void *keep_ctx;
	uint64_t keep_reads; /* PERF_SAMPLE_*: parts of a sample that it may read */
	const char *fields;  /* parts of samples that are stored; NULL: all that are asked for */
	/* Several files (sampling_series.c): "10s", "100M", "signal" or ""; bytes in memory, ""; a
	 * condition (trigger.h). NULL: not asked for. 0: no limit. */
	const char *switch_output, *overwrite, *snapshot_if;
	uint64_t switch_files, max_bytes;
	double jitter;	     /* a part of the period; 0: none */
	bool jitter_said;    /* else events of IBS have the usual one */
	const char *account; /* nodes of it; "": all */
	/* "op", "fetch", "both"; "latency", "stores", ...; with settings behind commas; "":
	 * the usual */
	const char *ibs, *mem;
	/* Allocations are logged: one small one of so many; "": all. NULL: none. With it the value
	 * of LD_PRELOAD, our library first; NULL: the program cannot have the library. */
	const char *heap, *preload;
	const char *wait_chains;   /* of switches: auto, all, none; NULL: auto */
	const char *clockid;	   /* as clock_gettime's, without CLOCK_ */
	const char *call_graph;	   /* fp, dwarf, lbr; "": the default kind */
	bool python;		   /* frames of CPython too */
	bool chains;		   /* of the default kind, unless call_graph says which */
	const char *branch_filter; /* kinds of branches */
	bool switches; /* who waits, and why if we may know, within 1 % of the program */
	bool wait;
	struct attr_wish wish;
	uint32_t stack_size; /* bytes copied by dwarf; 0: 8192 */

	/* kept (symbol/copies.h) */
	const char *copies_dir;		    /* NULL: nothing is */
	uint64_t copies_bytes, copies_days; /* 0: the usual limits */
	bool no_copies;
};

static inline bool measure_several(const struct measure_opts *o)
{
	return o->switch_output || o->overwrite;
}

/* Reports a line, formatted as by printf. */
void measure_news(const struct measure_opts *opts, const char *fmt, ...) PRINTF_(2, 3);

#endif
