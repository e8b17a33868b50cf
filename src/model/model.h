/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model - a CPU's events, its top-down tree and its other metrics.
 *
 *	model_select(&id, ...)			which model is for this CPU
 *	model_load(&m, &sources, id, ...)	from the texts compiled in; --models DIR goes first
 *	model_free(m)
 *
 * Models are data (models/, doc/model-format.md): facts with a provenance line each. A model may
 * begin with another (`base ivb`): then it lists only the differences. A loaded model is whole,
 * immutable (except for events that account_load() puts behind the others) and free of references
 * to names: indices only. Loading checks that every name resolves, that parents and formulas have
 * no cycle, and that each event fits a counter.
 */
#ifndef CYCLADE_MODEL_MODEL_H
#define CYCLADE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/expr.h"

#define MODEL_NONE UINT32_MAX

enum model_event_flag {
	EVENT_SLOTS = 1,  /* leads a group of METRICS */
	EVENT_METRIC = 2, /* a field of PERF_METRICS: needs EVENT_SLOTS as its group's leader */
	EVENT_TAKEN_ALONE = 4, /* one such event in a group (load latency, ...) */
	EVENT_OFFCORE = 8,     /* needs an OFFCORE_RSP register: two there are */
	EVENT_FRONTEND = 16,   /* needs the FRONTEND register: one value at a time */
	EVENT_LDLAT = 32,      /* needs the load latency register */
	EVENT_PAIR = 64,       /* AMD: takes two neighbouring counters */
	EVENT_SOFTWARE = 128,  /* takes no counter: duration_time, msr/tsc/, software events */
	EVENT_UNCORE = 256,    /* counts on another PMU than the core's */
	EVENT_SMT_EXCLUSIVE =
		512, /* errata BJ122, BV98, HSD29: with SMT blocks the sibling's counter */
	EVENT_ANY_THREAD = 1024, /* counts for all threads of the core */
	EVENT_PRECISE = 2048,	 /* can be sampled precisely (PEBS) */
	EVENT_DEPRECATED = 4096, /* by the vendor: do not use */
	EVENT_PER_CORE = 8192,	 /* option percore: meant summed over a core's threads */
};

struct model_event {
	const char *name; /* as in formulas, options included: "IDQ.MS_UOPS:c1:e1" */
	const char *pmu;  /* "" of the core ("cpu", or "cpu_core"/"cpu_atom" of a hybrid); else
			     "msr", ... */
	const char *
		code; /* terms of that PMU by sysfs formats: "event=0x79,umask=0x30,cmask=1,edge" */
	const char *modifiers; /* "" or of "ku": count in the kernel, in user space only */
	uint32_t counters;     /* general counters it can be on while SMT is on: bit n, counter n */
	uint32_t counters_alone; /* the same with SMT off */
	uint32_t fixed;		 /* fixed counters it can be on: bit n */
	unsigned flags;		 /* enum model_event_flag */
	uint64_t period;	 /* to sample it by; 0: not known */
	const char *errata;	 /* "" if none is known */
	double latency;		 /* static mean retire latency, core cycles; NAN: none */
	/* The same for events that are one counter (event_same); 0: not made yet. */
	uint64_t encoding;
};

enum model_domain { /* how a metric counts: Count Domain of the sheet */
		    DOMAIN_SLOTS,
		    DOMAIN_CLOCKS,
		    DOMAIN_OTHER
};

struct model_metric;
/* The unit that a share is a part of: "slots", "clocks", "core clocks", "uops"; "" if it is no
 * share. A share in stall cycles is one of all clocks. */
const char *model_share_of(const struct model_metric *m);

struct model_metric {
	const char *name; /* "Frontend_Bound", "IPC", "##Memory_Bound" (a sum made by the loader) */
	const char
		*path;	/* of a node: "frontend_bound.fetch_latency", lower case, dots; else name */
	unsigned level; /* of a node: 1..6; of the rest: 0 */
	uint32_t parent;  /* of a node: its parent or MODEL_NONE; else MODEL_NONE */
	const char *area; /* "FE", "BE/Mem", "Info.Thread", "Bottleneck", "Aux" */
	const struct expr *expr, *threshold; /* NULL: none */
	const char *text, *threshold_text;   /* as written */
	const char *unit;		     /* "%", "GB/s", "" ... */
	double scale;	/* the value shown is value * scale: 100 for shares with unit "%", else 1 */
	uint32_t order; /* where it stands when all are listed: the tree first, parents first */
	enum model_domain domain;
	const char *domain_text; /* "Slots_Estimated", ... */
	double max;		 /* Metric Max, for display only; NAN: none */
	bool overlap;		 /* ~overlap: siblings may count the same cycles twice */
	bool zero;		 /* may be exactly 0 in a program that runs for long */
	bool approximate;	 /* the model calls it an approximation (Zen 1-3) */
	const char *groups;	 /* ";"-list */
	const char *locate;	 /* event to sample by, to find the code; "" */
	const char *locate_all;	 /* ";"-list of the events that can be sampled by */
	const char *issues;	 /* "$issueBM $issueMC": related nodes */
	const char *says, *try_; /* our words; "" only of metrics without level */
	const char *file;	 /* where it is written */
	unsigned line;
};

struct model {
	const char *id;	    /* "spr" */
	const char *title;  /* "Intel Sapphire Rapids" */
	const char *vendor; /* "intel", "amd", "arm", "sysfs" */
	const char *from;   /* provenance: source and version */
	const char *tma;    /* version of Intel's TMA sheet; "" if it is not of that */
	/* Where its static retire latencies were measured, and by whom; "" if it has none. */
	const char *latency_from;
	const char *caution; /* parts missing or untried, or "" */
	unsigned revision;
	unsigned counters, counters_alone, fixed; /* general with SMT on, with SMT off; fixed */
	bool metrics_register;			  /* PERF_METRICS: slots lead */
	unsigned fixed_level;			  /* levels PERF_METRICS holds: 0, 1 or 2 */
	bool per_core;	/* counts of a core's threads must be taken together (SMT, before Ice Lake)
			 */
	unsigned width; /* slots a cycle; 0: not known */
	const struct model_event *event;
	size_t n_events; /* those that formulas and locate-with use come first: n_used */
	size_t n_used;
	const struct model_metric
		*metric; /* in an order in which each needs only those before it */
	size_t n_metrics;
	struct model_names *names; /* of the loader */
	struct arena arena;	   /* owns all of it */
};

/* Where texts are: compiled in, directories that go before (later ones first), and before all of
 * them texts at hand, by path ("intel/spr/tree", "cpus.tab"). */
struct model_text {
	const char *path, *s;
	size_t len;
};

struct model_sources {
	const char *const *dir;
	size_t n_dirs;
	const struct model_text *text;
	size_t n_texts;
};

int model_load(struct model **out, const struct model_sources *s, const char *id,
	       const double *system, struct err *err) MUST_USE;
void model_free(struct model *m); /* NULL is fine */

/* Mistakes in the text: a node without meaning or advice, a threshold without a formula, an event
 * to locate by that cannot be sampled. Calls back with "file:line: ..." for each; returns how many
 * there were. (model_load() refuses an unusable model.) */
size_t model_check(const struct model *m, void (*each)(void *ctx, const char *text), void *ctx);

/* MODEL_NONE if there is none of this name; case does not matter; of metrics also by path. */
uint32_t model_event_find(const struct model *m, const char *name, size_t len);
uint32_t model_metric_find(const struct model *m, const char *name, size_t len);
/* The same, and a node of the tree by the last part of its path alone: the first of such; and by
 * perf's names ("tma_fetch_latency", "tma_info_thread_ipc"). */
uint32_t model_metric_named(const struct model *m, const char *name, size_t len);
/* Others' names that model_metric_named() takes for nodes of `m`; returns how many. */
enum { MODEL_OTHER_NAMES = 1 };
size_t model_other_names(const struct model *m, const char *out[MODEL_OTHER_NAMES]);
/* Its name in other tools; NULL: the same. */
const char *model_other_name(const struct model_metric *metric);
const char *model_last_part(const char *path); /* behind its last dot */

/* The CPU as in /proc/cpuinfo or MIDR_EL1, and of a hybrid the core type by its PMU's name. */
struct model_cpu {
	const char *vendor;		  /* "GenuineIntel", "AuthenticAMD", "ARM", ... */
	uint32_t family, model, stepping; /* of Arm: implementer, part, variant * 16 + revision */
	const char *pmu;		  /* "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0", ... */
};

/* Takes vendor and numbers out of MIDR_EL1, as hexadecimal text with 0x; leaves all if `cpuid` is
 * no such (NULL is fine). */
void model_cpu_midr(struct model_cpu *cpu, const char *cpuid);
/* Parses a recording's name of a CPU: a MIDR, or "GenuineIntel,6,85,4", which may be shorter. The
 * vendor is arena memory. -1: there is no more. */
int model_cpu_id(struct model_cpu *cpu, struct arena *a, const char *cpuid) MUST_USE;

/* The id of the model for a CPU (arena memory of the caller's), by models/cpus.tab. -1: none, err
 * names the CPU and the nearest that is known. */
int model_select(const char **id, struct arena *a, const struct model_sources *s,
		 const struct model_cpu *cpu, struct err *err) MUST_USE;

/* The id that a person means by a name: an id, or one of models/names.tab ("sapphirerapids",
 * "znver4"); case, '-' and '_' do not matter. An unknown name is its own id. The name of a hybrid
 * ("alderlake") needs `pmu`, that of a kind of cores; without it (NULL) it is an error that names
 * the kinds. Arena memory, or `name` itself. */
int model_named(const char **id, struct arena *a, const struct model_sources *s, const char *name,
		const char *pmu, struct err *err) MUST_USE;
/* One of the model's other names fits the pattern. */
int model_has_name(bool *yes, struct arena *a, const struct model_sources *s, const char *id,
		   bool (*fits)(const char *pattern, const char *name), const char *pattern,
		   struct err *err) MUST_USE;
/* The PMU of the cores that a model is for, by cpus.tab: "cpu_atom"; "" if any fits. */
int model_core_pmu(const char **pmu, struct arena *a, const struct model_sources *s, const char *id,
		   struct err *err) MUST_USE;

/* Calls back for each text compiled in, path like "intel/spr/tree"; stops if it returns non-zero
 * and returns that. */
int model_texts(struct arena *a,
		int (*each)(void *ctx, const char *path, const char *text, size_t len), void *ctx,
		struct err *err) MUST_USE;

/* An event as event_parse() takes it, of the core PMU `pmu`; arena memory, NULL: none is left. */
const char *model_event_text(struct arena *a, const struct model_event *e, const char *pmu);

struct model_words {
	const char *text;  /* description of the event; NULL: none */
	const char *wrong; /* why that text is not to be believed, or NULL */
	bool vendors;	   /* the text is the vendor's own */
};
/* Looks the event up in the texts that are compiled in; takes a millisecond or two. */
int model_describe(struct model_words *out, struct arena *a, const struct model *m,
		   const char *event, struct err *err) MUST_USE;

struct model_row {				 /* for `list models` */
	const char *id, *title, *vendor, *match; /* match: the CPUs, as in cpus.tab */
	const char *tma;			 /* version of Intel's TMA sheet, or "" */
	bool account;				 /* it has one: model/account.h */
};
int model_list(struct arena *a, const struct model_sources *s, const struct model_row **out,
	       size_t *n, struct err *err) MUST_USE;
/* The row of one model; faster than to make all. */
int model_row_of(struct model_row *out, struct arena *a, const struct model_sources *s,
		 const char *id, struct err *err) MUST_USE;

#endif
