/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * monitor_int - the pieces of monitor.h.
 *
 *	monitor_places.c	CPUs, caches, sockets, channels of this machine
 *	monitor_kinds.c		kinds of cores: their models, rows and free counters
 *	monitor_set.c		rows into formulas and inputs
 *	monitor_tree.c		nodes of the model's tree in formulas
 *	monitor_groups.c	inputs into groups of counters
 *	monitor_read.c		readings, turns, extrapolation
 *	monitor_rotation.c		order of turns, and errors of unseen time
 *	monitor_proc.c		the inputs that /proc has
 *	monitor_cgroup.c	cgroups, and the inputs that their files have
 *	monitor_cgroup_count.c	the inputs that are events of theirs
 *	monitor_tables.c	the document of an interval
 */
#ifndef CYCLADE_MONITOR_MONITOR_INT_H
#define CYCLADE_MONITOR_MONITOR_INT_H

#include "collect/event.h"
#include "collect/msr.h"
#include "measure/counting.h"
#include "measure/event_more.h"
#include "model/model.h"
#include "model/schedule.h"
#include "model/set.h"
#include "monitor/monitor.h"
#include "monitor/monitor_rotation.h"

enum place_kind {
#define PLACE(id, name, title) PLACE_##id,
#include "monitor/place.def"
#undef PLACE
	PLACES
};

enum proc_value {
#define PROC(name, of, level, file) PROC_##name,
#include "monitor/proc.def"
#undef PROC
	PROCS
};

enum reading { READING_TURN, READING_END };

#define NO_COUNTER SIZE_MAX
#define CORE_KINDS 4 /* of a hybrid CPU, at most */
#define ANY_KIND   SIZE_MAX
#define CGROUPS	   256 /* watched at a time */
#define PATH_ROOM  4096

/* A counter on a target, or a value of /proc there. */
struct slot {
	uint64_t count, enabled, running; /* as last read */
	bool absent;			  /* this target has none */
	bool gone;			  /* its CPU went offline: it counts no more */
	bool known;			  /* of /proc: `total` is a value */
	const char *why;		  /* it has none any more: this happened */
	struct seen seen;		  /* of this interval */
	double wanted;			  /* ns of it that it was to count */
	double owed;		 /* ns of intervals without a turn, which the next one stands for */
	double total, now, half; /* now: of the interval that ended, half: its error */
	double share;		 /* of that interval, on a counter */
};

struct source { /* a counter, or a value of /proc */
	const char *name, *pmu;
	size_t event; /* of monitor.list; NO_COUNTER: /proc */
	size_t group, index;
	enum proc_value proc;
	bool level;
	const char *why; /* it has no value anywhere */
	double scale;	 /* sysfs' .scale: of a count */
	double share;	 /* of the interval, on a counter: the mean over its targets; NAN */
	bool of_cgroups; /* only they need it: it is in no group of the machine's */
	struct slot *at; /* by target; of the host: [0] */
};

struct input { /* a name of formulas: its sources (boxes) add up */
	const char *name;
	size_t source, n_sources;
	uint32_t event; /* of the model, for its own formulas; MODEL_NONE */
	size_t of_kind; /* of cores, on a hybrid: events of two models may share a name; ANY_KIND */
	const char *why;
};

struct place {
	uint32_t *target; /* CPUs of it, as indices of targets */
	size_t n_targets;
	int32_t cpu, core, socket, die, l3;	     /* -1: not of it */
	const char *instance;			     /* "" */
	const char *cgroup, *unit, *container, *pod; /* "": not known; NULL: no cgroup */
	size_t box;	  /* of "*": only this source of inputs; SIZE_MAX: all */
	size_t of_kind;	  /* of cores: its CPUs are, on a hybrid; ANY_KIND */
	const char *kind; /* its name; NULL */
};

struct cell {
	struct estimate total, now;
};

struct metric {
	const struct set_row *row;
	enum place_kind kind;
	size_t column;
	const struct expr *expr;
	size_t model;	       /* a kind of cores, of whose model its row is */
	bool any_kind;	       /* but it needs nothing of the model */
	const uint32_t *input; /* that it needs */
	size_t n_inputs;
	const uint32_t *node; /* metrics of the model, each behind those that it needs */
	size_t n_nodes;
	const char *why; /* nowhere has it a value */
};

struct places {
	VEC(struct place) place;
	VEC(const struct set_row *) column; /* each name once */
	struct cell *cell;		    /* [place * columns + column] */
	double seconds;			    /* of the interval that they are of */
	struct table_column *shown;	    /* n_shown; made with the first document */
	size_t n_shown, n_keys;
};

struct core_kind { /* a PMU of cores: one, or of a hybrid several, the large ones' first */
	const char *pmu;
	const uint32_t *cpus; /* NULL: all, or not known */
	size_t n_cpus;
	struct model *model; /* NULL: none is for these cores */
	const char *why;
	struct set set;
	struct schedule_limits limits; /* free counters there; perf_event's */
	double system
		[SYSTEM_COUNT]; /* facts that formulas ask for; the duration is an interval's */
};

struct rows { /* rows of models; stays if the machine is read again */
	struct arena a;
	bool read;
	uint64_t born;	  /* when the monitor began */
	bool introduced;  /* notes on names stood in a document */
	uint64_t starved; /* counters without a turn, when groups were last made anew for it */
	struct core_kind kind[CORE_KINDS];
	size_t n_kinds;
	bool hybrid; /* the machine has several kinds, though perhaps one is watched */
};

struct cgroup_counters {
	struct counters *c; /* NULL: `why` */
	size_t files;
	bool counted; /* once: else the interval is not its own */
	char why[512];
};

struct cgroup_setup { /* events that metrics of cgroups name */
	struct counter_event *event;
	struct counter_group group;
	size_t n, *source;	     /* source[e]: of event e */
	struct cgroup_counters *own; /* by slot of a cgroup */
	struct counter_value *value; /* room for a reading */
	size_t files;
};

struct monitor {
	const struct monitor_opts *opts;
	struct arena own, *a; /* a: own */
	struct rows *rows;
	bool again; /* a CPU came, or another holder of counters */
	struct counting k;
	struct msr *msr; /* NULL: perf_event counts */
	struct {
		double *count;	    /* by event of the model, and */
		struct value *node; /* by its metric: of a place */
	} model[CORE_KINDS];
	VEC(const char *) renamed; /* other tools' names in --metrics, and the names here */
	struct event_list list;
	struct event_more more;
	VEC(struct source) source;
	VEC(struct input) input;
	VEC(struct metric) metric;
	struct places of[PLACES];
	struct counter_setup setup;
	VEC(struct counter_group) group;
	VEC(struct rotation) turns;
	struct counter_value *value; /* room for a reading of a group */
	size_t targets, slots;	     /* slots: of a source, those of cgroups behind the targets' */
	struct cgroups *cgroups;     /* NULL: none are asked for */
	uint32_t *cgroup_target;
	struct cgroup_setup cgroup_setup;
	uint64_t early;	       /* ns before its end that a turn may end, so that we wake once */
	uint64_t began;	       /* of this interval */
	double seconds;	       /* of the interval that ended */
	double *now, *total;   /* by input: of a place */
	uint64_t gone, never;  /* of the interval: counters of CPUs that are gone, without a turn */
	double *half;	       /* by input, likewise */
	struct document shown; /* of the interval, while is_shown */
	bool is_shown;
};

/* Instances are added by monitor_set. */
int monitor_places(struct monitor *m, struct err *err) MUST_USE;
int monitor_set(struct monitor *m, struct err *err) MUST_USE;
/* The input of that name, made if there is none; `text`: see add_event(). */
struct input_name {
	const char *s;
	size_t len, of_kind;
};
int monitor_input(struct monitor *m, struct input_name name, const char *text, uint32_t *out,
		  struct err *err) MUST_USE;
/* Inputs into groups that fit their PMUs. */
int monitor_groups(struct monitor *m, struct err *err) MUST_USE;
/* Kinds of cores, their models and rows: read, or the old ones with the counters that are free
 * now. */
int monitor_kinds(struct monitor *m, struct err *err) MUST_USE;
/* The kind whose cores have this PMU, or this CPU; NULL: none of several. */
const struct core_kind *monitor_kind_of(const struct monitor *m, const char *pmu);
const struct core_kind *monitor_kind_at(const struct monitor *m, uint32_t cpu);
/* tree.NAME is a node or metric of the model: 1, 0: the name is something else, -1: error. */
int monitor_node(struct monitor *m, size_t kind, const char *name, size_t len, struct expr_ref *out,
		 struct err *err) MUST_USE;
/* An event of the model is an input, too. */
int monitor_model_input(struct monitor *m, size_t kind, uint32_t event, uint32_t *out,
			struct err *err) MUST_USE;
/* Values of the nodes that a metric needs, from m->now. */
void monitor_nodes(struct monitor *m, const struct metric *x, const double *system);
/* The counters are open: those that were refused get their reason. */
int monitor_opened(struct monitor *m, struct err *err) MUST_USE;
/* Groups whose turn is over are read and give way to the next. At the end of an interval the others
 * are read, too, and turns that are nearly over end with it. */
int monitor_read(struct monitor *m, enum reading why, struct err *err) MUST_USE;
/* Ends an interval: values of all cells. */
int monitor_interval(struct monitor *m, struct err *err) MUST_USE;
/* A value of /proc by its name in formulas. */
bool monitor_proc(const char *name, size_t len, enum proc_value *out, bool *level,
		  enum place_kind *of);
void monitor_proc_read(struct monitor *m);
/* A metric has this value: files without one are not read. */
bool monitor_proc_wanted(const struct monitor *m, enum proc_value v);
/* --cgroup: makes room; looks which there are, every few seconds; values of the files of one. */
int monitor_cgroups(struct monitor *m, struct err *err) MUST_USE;
void monitor_cgroup_look(struct monitor *m);
void monitor_cgroup_read(struct monitor *m, size_t place, double *out);
/* Which events they are, once all metrics are known; counters of the cgroup that has the slot,
 * whose directory is `dir`; their values into the slot, or the reason why not. */
int monitor_cgroup_events(struct monitor *m, struct err *err) MUST_USE;
void monitor_cgroup_open(struct monitor *m, size_t slot, const char *dir);
void monitor_cgroup_count(struct monitor *m, size_t slot);
void monitor_cgroup_close(struct monitor *m, size_t slot);
void monitor_cgroup_end(struct monitor *m);
size_t monitor_cgroups_left(const struct monitor *m);
void monitor_put(struct document *d, struct monitor *m);

#endif
