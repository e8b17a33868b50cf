/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drill - counting the tree: which groups count now, and the trees of their readings.
 *
 *	drill_open(&d, k, NULL, 0, &err)	the CPU's model, the plan, groups of counters
 *	drill_start(&d, k, &err)		a run of the program, which waits
 *	drill_next(&d, k, &what, &err)		until COUNTING_OVER
 *	drill_results(&d, k, arena, from, to, &err)	the trees of any piece of the run
 *	counting_finish(k, rc, &err)
 *	drill_free(&d)
 *
 * drill_next() reads the counters at the end of each round, opens and closes stages by it, and runs
 * the program as often as the mode wants. Counters beside samples have a loop of their own:
 * drill_prepare(), counting_prepare() with drill_reader(), drill_begin().
 *
 * If the plan has level 1 pinned it is on the counters all the time. If something else holds one of
 * them, then the kernel turns the group off for good (its readings are empty), and the same events
 * are counted by a group that takes turns, from then on, and drill_turn_notes() has a note.
 *
 * The groups of every stage are open before the program executes, so that its children inherit
 * them; those of stages that are not open do not count. A hybrid machine has a core for each kind
 * of its cores; with --per there is a part, and a tree, for each place.
 */
#ifndef CYCLADE_MEASURE_DRILL_H
#define CYCLADE_MEASURE_DRILL_H

#include "collect/event.h"
#include "measure/counting.h"
#include "measure/counting_per.h"
#include "model/model.h"
#include "model/plan.h"
#include "model/rounds.h"
#include "model/slices.h"
#include "model/stages.h"
#include "model/tree.h"
#include "model/tree_rates.h"
#include "model/tree_whole.h"

/* Parts of the machine that a tree needs: enum machine_part. */
#define DRILL_MACHINE (MACHINE_KNOBS | MACHINE_MODEL | MACHINE_TOPOLOGY | MACHINE_PMUS)

struct drill_cell { /* a counter: where it stands in the setup */
	uint32_t group, index;
};

struct drill_group { /* of the plan */
	const struct drill_cell *cell;
	const uint32_t *first;	       /* event i has the cells first[i] .. first[i + 1] */
	const uint32_t *counter_group; /* groups of the setup */
	size_t n_counter_groups;
	bool pinned; /* counter_group[0] keeps its counters; [1] has the same events and takes
		      * turns, should the kernel not have kept them for [0] */
	bool spare;  /* [1] has the leader of [0] alone, should [0] be taken apart */
	bool lost;   /* it has not, or has been: [1] counts */
	uint64_t came, wanted;	 /* ns that [0] had been on, and wanted, when last seen to gain */
	uint64_t there;		 /* of a hybrid: ns that groups of its kind had been on, then */
	bool on;		 /* it counts: a stage that is open or visited has it */
	bool in_round;		 /* and takes turns with others while it is */
	enum slices_state state; /* of DRILL_LIVE */
	bool fresh;		 /* switched since the last reading */
	bool core;		 /* it takes the core's counters */
};

#define DRILL_CORES 4u /* kinds of them */

struct drill_core {
	const char *pmu;
	struct model *m;
	struct schedule_limits limits;
	struct plan plan;
	double system[SYSTEM_COUNT];
	struct drill_group *group; /* as plan.group */
	struct stages stages;
	struct rounds rounds;
	bool *wants_turn;	      /* by group: in this round */
	bool *named;		      /* by metric: asked for by --node, -M */
	double *latency, *latency_se; /* by event: retire latency, if it is known */
	const char **latency_why;     /* by event: why it was not sampled, or NULL */
	const char **dead;	      /* by event: why its 0 is not believed, or NULL */
	const char **wrong;	      /* by event: why validate does not believe it; NULL: none */
	bool *tested;		      /* by event: whether to believe its 0 was found out */
	uint64_t missing;	      /* of alive_missing() */
};

struct drill_time { /* ns enabled: as the kernel has it, and with the time between turns */
	uint64_t raw, shown;
};

struct drill_part {
	size_t core;
	const char *label;
	const uint32_t *target; /* of counters_read */
	size_t n;
	struct slices *slices;
	struct slices_reading *r; /* room for one group */
	struct drill_time *time;  /* of events' targets, a group's from time_at on */
	size_t *time_at, n_times;
	uint64_t *ran;		  /* by target: ns, until this reading; then until the one before */
	struct tree_maker *maker; /* of decisions */
	struct tree_whole *whole; /* of the tree that is shown */
	struct tree tree;	  /* of drill_trees */
	struct tree_rates rates;  /* likewise */
	struct tree_counts counts;
	double *sum;	     /* by event */
	const double *share; /* likewise */
	bool *counted;	     /* by metric */
	bool idle;	     /* nothing ran there while it was counted */
};

enum drill_mode {
	DRILL_LIVE,  /* stages open and close while the program runs */
	DRILL_ALL,   /* there is but one stage */
	DRILL_RERUN, /* the program is run again with the stages that the last run asked for */
	DRILL_EACH,  /* --no-mux: the program is run again for each group */
};

struct drill_latency;
struct drill_held {	 /* an event that is on a counter all the time */
	const char *pmu; /* as event.pmu */
	const struct perf_event_attr *attr;
};

#define DRILL_NO_CLOCK SIZE_MAX

struct drill {
	struct arena *a; /* the asker's */
	struct event_list list;
	struct drill_core core[DRILL_CORES];
	size_t n_cores;
	struct drill_part *part;
	size_t n_parts;
	struct counter_setup setup;
	struct counter_group *counter_group; /* setup's, to change */
	struct counter_value **value;	     /* by group of the setup */
	size_t targets;
	const char *root;
	struct drill_latency *latency; /* drill_latency.h */
	const struct drill_held *held;
	size_t n_held;
	enum drill_mode mode;
	size_t each_core, each_group; /* DRILL_EACH: the one that counts now */
	bool **each_done;
	uint64_t tick_ns, last_decision, decision_ns; /* decision_ns: length of one */
	unsigned readings;
	uint64_t passes;	     /* runs of the program beyond the first, that the mode took */
	uint64_t interval_ns;	     /* of -I; 0: none */
	uint64_t intervals;	     /* that are over */
	size_t clock;		     /* of the setup: counts nothing, and is on all the time */
	size_t turn, turns;	     /* of this round; 1: nothing takes turns */
	uint64_t turn_ns, switch_ns; /* lengths of this turn; of going to the next */
	bool shared;		     /* a group that counts was not always on its counters */
	uint64_t switched;    /* when a group was last switched on or off, and how many readings */
	unsigned switched_at; /* there had been then */
};

/* The nodes and metrics of --node and -M: `named` of each core whose model is set, and in
 * list[core] these with the nodes above them, n[core] many. */
int drill_names(struct drill *d, const struct measure_opts *o, uint32_t **list, size_t *n,
		struct err *err) MUST_USE;
/* `held`: events that sample all the while, n of them; they keep their counters. */
int drill_open(struct drill *d, const struct counting *k, const struct drill_held *held, size_t n,
	       struct err *err) MUST_USE;
/* Whether level 1 and the events that sample fit beside each other; true without trying if no other
 * program holds any. */
int drill_fits_beside(struct drill *d, bool *fits, struct err *err) MUST_USE;
/* counting_prepare() with these counters. After a failure, too, counting_finish() is due. */
int drill_start(struct drill *d, struct counting *k, struct err *err) MUST_USE;
/* counting_next(), over all runs that DRILL_RERUN and DRILL_EACH take. */
int drill_next(struct drill *d, struct counting *k, enum counting_event *what,
	       struct err *err) MUST_USE;
/* Before each run's counters are opened: which groups begin with the program. */
void drill_prepare(struct drill *d);
struct counting_reader drill_reader(struct drill *d);
/* The counters are open: a run begins. Fails if not one event counts. */
int drill_begin(struct drill *d, struct counting *k, struct err *err) MUST_USE;
int drill_read(struct drill *d, struct counting *k, struct err *err) MUST_USE;
/* Fills each part's tree, counts, sum and share; `from`, `to` in ns since the run began. */
int drill_trees(struct drill *d, const struct counting *k, struct arena *a, uint64_t from,
		uint64_t to, struct err *err) MUST_USE;
/* drill_trees(), for a report: events whose count of 0 is hard to believe are tested, once each;
 * nodes that depend on a dead one are doubtful (drill_dead.c). */
int drill_results(struct drill *d, const struct counting *k, struct arena *a, uint64_t from,
		  uint64_t to, struct err *err) MUST_USE;
void drill_free(struct drill *d);
/* Groups of the core's counters that take turns while a stage that has them is open. */
bool drill_takes_turns(const struct drill_group *g);
/* Which of a group's groups of counters count while it is on. */
static inline bool drill_in_use(const struct drill_group *g, size_t counter_group)
{
	return g->pinned ? counter_group == (g->lost ? 1 : 0)
			 : !g->spare || !counter_group || g->lost;
}
/* After a reading of a pinned group: should the kernel have turned it off, its events take turns
 * from now on. */
int drill_see_pin(struct drill *d, struct counting *k, struct drill_group *g,
		  struct err *err) MUST_USE;
/* After a reading of a group that takes turns: if less is free than the plan has supposed, so that
 * it never comes to its counters, each of its events takes turns by itself from now on. */
int drill_see_starved(struct drill *d, struct counting *k, size_t core, size_t group,
		      struct err *err) MUST_USE;
#define DRILL_TURN_NOTES 5
/* Notes on groups that were on the counters, and on others; returns how many. After
 * drill_trees. */
size_t drill_turn_notes(const struct drill *d, struct arena *a, const char *note[DRILL_TURN_NOTES]);
/* This group of a core's plan is to count now: an open stage has it, or the run is its own
 * (DRILL_EACH). */
bool drill_wants(const struct drill *d, size_t core, size_t group);
/* DRILL_EACH: chooses the first group. */
int drill_first(struct drill *d, struct err *err) MUST_USE;

/* drill_round.c: turns of groups that share counters. */
void drill_round_prepare(struct drill *d);
int drill_round(struct drill *d, struct counting *k, struct err *err) MUST_USE;
int drill_next_turn(struct drill *d, struct counting *k, struct err *err) MUST_USE;
bool drill_last_turn(const struct drill *d);
bool drill_in_rounds(const struct drill *d);
/* On the counters in this turn. */
bool drill_counts_now(const struct drill *d, size_t core, size_t group);
/* ns that a round of so many turns takes. */
uint64_t drill_slice(const struct drill *d, size_t turns);
/* ns that this thread ran: on a busy machine work lasts longer, but it does not cost more. */
uint64_t drill_own_time(void);
/* A part's times: room; a run begins; a reading of the clock; the group's reading in p->r gets the
 * time for which it was enabled or waited for its turn. */
int drill_part_times(struct drill *d, struct drill_part *p, size_t lps, struct err *err) MUST_USE;
void drill_part_begin(struct drill_part *p, size_t lps);
void drill_part_ran(const struct drill *d, struct drill_part *p, size_t lps);
void drill_part_enabled(const struct drill *d, struct drill_part *p, size_t group, size_t lps);

/* Counters for the plan's groups. */
int drill_events(struct drill *d, const struct counting *k, struct err *err) MUST_USE;
/* Marks events that failed validation on this machine. */
int drill_wrong(struct drill *d, struct drill_core *c, const struct validate_kept *k,
		struct err *err) MUST_USE;
#endif
