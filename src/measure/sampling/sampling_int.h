/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sampling_int - the pieces of sampling.h: counters and the run (sampling.c), checks
 * (sampling_check.c), the counters' attributes (sampling_fit.c), which parts of samples are stored
 * (sampling_fields.c), the event that records mappings (sampling_track.c), how callers are found
 * (sampling_ways.c, sampling_unwind.c), events for waits
 * (sampling_wait.c; for run sampling_switches.c; numbers of switches: sampling_switch_counts.c),
 * records on their way to the file (sampling_sink.c), the header's features (sampling_features.c),
 * --dry-run (sampling_describe.c), records without a file (sampling_live.c), copies of what ran
 * (sampling_copies.c), several files (sampling_series.c).
 */
#ifndef CYCLADE_MEASURE_SAMPLING_INT_H
#define CYCLADE_MEASURE_SAMPLING_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/watchdog.h"
#include "collect/attr.h"
#include "collect/event.h"
#include "collect/recorder.h"
#include "measure/counting.h"
#include "measure/event_more.h"
#include "measure/sampling.h"
#include "measure/sampling/account_plan.h"
#include "measure/sampling_tree.h"
#include "perfdata/perfdata.h"
#include "perfdata/writer.h"
#include "symbol/image.h"
#include "symbol/unwind.h"

/* Counts of the file so far, for other threads; written at the end of each round. */
struct sink_state {
	_Atomic uint64_t samples, lost, bytes;
};

struct copying;

/* A file that is not at its path: the process has another root directory. */
struct inside_file {
	const char *path; /* as the process sees it */
	uint8_t id[BUILD_ID_MAX];
	size_t id_len;		 /* 0: it has none */
	const char *root, *rest; /* where it is for us; NULL: not found out */
	bool differ;		 /* processes have different files of that path */
};

struct inside {
	struct copying *copies; /* gets the files of programs that are kept; NULL: none are */
	struct arena arena;
	struct u64map seen; /* key of a file -> 1 + place in v; 0: nothing to remember */
	VEC(struct inside_file) v;
};

/* An MMAP2 record's mapping with code. */
struct inside_map {
	uint32_t pid;
	uint64_t addr, len, ino;
	const uint8_t *id; /* the file's build-id if the record has one, or NULL */
	size_t id_len;
	const char *path;
};

/* Looks, while its process lives, where a mapped file is. Files that cannot be identified are
 * skipped. */
int inside_note(struct inside *in, const struct inside_map *m, struct err *err) MUST_USE;
/* Whether the file at the path now is not the one, or not the only one, that processes mapped. */
bool inside_replaced(const struct inside *in, const char *path);
/* Whether processes have different files at the path of `f`: a table by path cannot hold both. */
bool inside_differs(const struct inside *in, const struct inside_file *f);
const struct inside_file *inside_find(const struct inside *in, const char *path);
/* A thread's number in the namespace of its process. */
uint32_t inside_number(uint32_t pid, uint32_t tid);
void inside_free(struct inside *in);

/* Copies of what ran (sampling_copies.c). Lack of memory or of a file costs only the copy. *out
 * NULL: none are wanted. */
int copying_new(struct copying **out, const struct measure_opts *o, struct err *err) MUST_USE;
/* Whether a file at that path is worth it: not one of a package. NULL: no. */
bool copying_wants(const struct copying *c, const char *path);
/* The mapped file, open; `fd` stays the caller's. Opened by `path` below `root`; both NULL: by way
 * of the mapping itself. */
void copying_take(struct copying *c, const struct inside_map *m, int fd, const char *root,
		  const char *path);
void copying_made(struct copying *c, uint32_t pid); /* a process has code without a file */
/* The build-id of the one file that was mapped under that path; 0: there is none, or several. */
size_t copying_id(const struct copying *c, const char *path, uint8_t id[BUILD_ID_MAX]);
/* Copies what runtimes wrote about their code: before the features are written, which name them,
 * the i-th with its path as the process sees it and its id. False: there are fewer. */
void copying_maps(struct copying *c, const struct inside *in);
bool copying_place(const struct copying *c, size_t i, const char **inside, const char **id);
/* Copies programs and libraries, once the recording is safe. */
void copying_finish(struct copying *c);
void copying_free(struct copying *c); /* NULL is fine */

/* Which samples are kept, of those of whole CPUs, if tasks were asked for (sampling_whose.c). */
struct sampling;
struct whose;
int whose_new(struct whose **out, const pid_t *task, size_t n, bool follow, size_t tid_at,
	      struct err *err) MUST_USE;
/* Takes note of a record as the rings gave it. A sample that may yet turn out to be ours is held
 * back. */
int whose_judge(struct whose *f, const uint8_t *p, size_t size, bool *keep,
		struct err *err) MUST_USE;
/* All rings were drained once more: passes on our records that were held back before that. */
int whose_round(struct whose *f, int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err),
		void *ctx, struct err *err) MUST_USE;
uint64_t whose_left_out(const struct whose *f); /* NULL: 0 */
void whose_free(struct whose *f);

/* --keep: which samples are wanted (sampling_wanted.c). The recorder is open. */
struct wanted;
int wanted_new(struct wanted **out, const struct sampling *r, struct err *err) MUST_USE;
int wanted_sample(struct wanted *w, const uint8_t *p, size_t size, bool *is,
		  struct err *err) MUST_USE;
uint64_t wanted_left_out(const struct wanted *w); /* NULL: 0 */
/* The event of a sample, and its number; false: it has none. */
bool wanted_event(const struct wanted *w, const struct pd_record *rec, const struct pd_event **ev,
		  size_t *i);
void wanted_free(struct wanted *w);

/* The draining thread's: switches of each CPU since a time, of all CPUs, and the most of one
 * (sampling_switch_counts.c). */
struct switch_counts {
	uint32_t *of, most;
	size_t n_cpus;
	uint64_t all, since;
};

/* --wait: which counters record chains while switches are few, which while there are many
 * (sampling_wait.c). */
struct wait_change {
	struct sampling *of;
	size_t few[2], many[4]; /* events */
	size_t n_few, n_many;	/* n_many 0: nothing ever changes */
	struct switch_counts switches;
	pthread_mutex_t lock; /* of the members below */
	bool is_many, on;
};

/* run: records of waiting threads, within a budget (sampling_switches.c). */
struct switch_watch {
	struct sampling *of;
	size_t event; /* SIZE_MAX: none */
	bool paused;
	uint64_t until;
	struct switch_counts switches;
};

/* -g=unwind: callers are found while recording (sampling_unwind.c). */
struct unwound;
struct unwound_seen {
	uint64_t samples, end[UNWIND_ENDS]; /* by enum unwind_end */
	uint64_t without;		    /* samples since memory ran out: they have no callers */
};
/* Of some samples: those whose copy was cut though there was more, and the bytes of a copy that the
 * deepest needed. */
struct unwound_look {
	uint64_t samples, cut, deepest;
};
int unwound_new(struct unwound **out, struct err *err) MUST_USE;
/* A record of a mapping, process or thread, in the order of its ring; others are skipped. */
int unwound_note(struct unwound *u, const uint8_t *p, size_t size, struct err *err) MUST_USE;
/* A sample without the parts of `drop`, with its callers; the unwound's until the next call. *size
 * 0: it is held back until the next round. Else `look` has it, too, unless that is NULL. */
int unwound_sample(struct unwound *u, const struct pd_event *ev, const struct pd_record *rec,
		   uint64_t drop, struct unwound_look *look, const uint8_t **p, size_t *size,
		   struct err *err) MUST_USE;
/* All rings were drained once more: gives the samples that were held back, as they came. */
int unwound_round(struct unwound *u,
		  int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err), void *ctx,
		  struct err *err) MUST_USE;
const struct unwound_seen *unwound_seen(const struct unwound *u);
void unwound_free(struct unwound *u); /* NULL is fine */

/* -g: how much of the stack is copied (sampling_ways.c). */
struct sampling_ways {
	struct sampling *of;
	bool chosen; /* callers are found while recording */
	size_t n,
		*event; /* recorder events behind all others, with larger copies; of which event */
	uint64_t large_rate; /* a second, which they had to be lowered to; 0: they were not */
	bool was_large;
	bool again;		    /* the draining thread's, as those below */
	uint64_t calm, calm_wanted; /* samples since a stack was deep */
	struct unwound_look look;   /* of this round; not of switches, whose copies have one size */
	pthread_mutex_t lock;	    /* of the members below, and of recorder_enable() */
	bool large, on;
};

/* --python: frames of CPython are read while recording (sampling_python.c). */
struct pythons;
struct python_seen {
	/* samples whose frames were read, those read later than 1 ms, those too late to read; with
	 * frames; of these those whose native calls contradict Python's; not readable */
	uint64_t read, late, unread, samples, contradicted, torn;
	uint64_t delay; /* ns, of those read */
	uint64_t processes;
	char why[256]; /* why a process was not read; "": all were */
};
int pythons_new(struct pythons **out, const struct sampling *r, struct err *err) MUST_USE;
/* A record of a mapping, process or thread, as it comes; others are skipped. */
int pythons_note(struct pythons *ps, const uint8_t *p, size_t size, struct err *err) MUST_USE;
/* A sample has arrived: reads what its thread runs. */
int pythons_saw(struct pythons *ps, uint32_t pid, uint32_t tid, uint64_t time,
		struct err *err) MUST_USE;
/* The same sample on its way into the file, as it is stored: with these frames; the pythons' until
 * the next call. `put` is given the records that go before it. */
int pythons_chain(struct pythons *ps, size_t event, const uint8_t **rec, size_t *size,
		  int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *err), void *ctx,
		  struct err *err) MUST_USE;
void pythons_round(struct pythons *ps); /* all rings were drained once more */
const struct python_seen *pythons_seen(const struct pythons *ps);
void pythons_free(struct pythons *ps); /* NULL is fine */

struct sink {
	struct pdw *writer;		  /* NULL: there is no file, */
	struct sampling_series *series;	  /* NULL: one file */
	const struct recorder_sink *live; /* but this */
	struct strtab files;		  /* mapped with code: their build-ids are stored */
	struct inside inside;
	size_t tid_at, time_at;	      /* offsets in a sample; its id is first, if it has one */
	struct recorder *recorder;    /* gets samples, with jitter; else NULL */
	struct whose *filter;	      /* NULL: all is kept */
	struct wanted *wanted;	      /* the same */
	struct wait_change *switches; /* gets switches, with --wait; else NULL */
	struct switch_watch *watch;   /* the same */
	struct unwound *unwound;      /* NULL: chains are not made here */
	struct sampling_ways *ways;   /* NULL: nothing ever changes */
	struct pythons *pythons;      /* NULL: no frames of Python */
	/* Which parts to cut out of records (--fields, -g=unwind); NULL: none. */
	const struct sampling *cuts;
	uint8_t *shorter; /* a record without it */
	uint8_t *cleared; /* one whose packet of IBS is without addresses */
	uint64_t cut_bytes;
	uint64_t samples, lost, throttled, forks;
	/* Counts of the file, if the disk has no room for more; then `full`. */
	uint64_t kept_samples, kept_lost;
	bool full;
	uint64_t most, beyond;	   /* --max-size of one file, 0: none; samples that it left out */
	uint64_t traces, aux_lost; /* pieces of AUX trace; records of cut or colliding ones */
	uint64_t first_time, last_time;
	uint8_t *cut; /* a record that is not whole yet */
	size_t cut_have, cut_size;
	struct wchan_sampler *looks; /* NULL: nobody looks */
	clockid_t looks_clock;
	struct wanted *events; /* finds the event of a sample, for its registers; NULL */
	struct sink_state state;
	bool fresh; /* something came since the last round */
	atomic_bool failed;
	int wake; /* eventfd: wakes the loop if writing failed */
};

/* Several files, or the latest records alone (sampling_series.c). NULL in the sink: one file. */
struct sampling_series;
/* The attributes are known. */
int sampling_series_open(struct sampling *r, struct err *err) MUST_USE;
/* Nothing is written before it is asked for: there is no writer. */
bool sampling_series_waits(const struct sampling *r);
/* A snapshot, or the next file; returns when it is there. */
void sampling_series_ask(struct sampling *r);
int sampling_series_round(struct sampling_series *x, struct err *err) MUST_USE;
int sampling_series_end(struct sampling *r, struct err *err) MUST_USE;
/* Samples of the file that is being written. */
uint64_t sampling_series_new_samples(const struct sink *s);
/* The last file is whole, and gets its name; or it had nothing to keep. */
int sampling_series_keep(struct sampling *r, struct err *err) MUST_USE;
void sampling_series_close(struct sampling *r);
/* A record into the file, or the memory. */
int sink_write(struct sink *s, const uint8_t *p, size_t size, struct err *err) MUST_USE;

#define SAMPLING_CORES 4

/* --fields, in bits of PERF_SAMPLE_ (sampling_fields.c). */
struct sampling_fields {
	uint64_t words;		  /* rows of sampling_field.def that were named */
	uint64_t named, left_out; /* one of them is 0 */
	uint64_t seen;		  /* parts of samples without --fields */
	uint64_t gone;		  /* parts that the file lacks */
	uint64_t *cut, any_cut;	  /* by event: parts that are cut before writing */
	bool clears;		  /* addresses in packets of IBS are left out, too */
	bool unwinds;		  /* stacks become chains (-g=unwind) */
};

struct sampling_of { /* --account: an event's row of the account */
	const struct account_event *event;
	uint32_t plan;
	bool left_out; /* the kernel refuses it */
};

struct sampling {
	struct measure_opts opts; /* our copy: defaults are filled in */
	const char *path;
	struct arena *arena;
	struct counting k; /* whom, when, the program; counters of the tree beside the samples */
	struct event_list events;
	struct event_more more;
	struct recorder_event *ev;   /* as events.ev, and ways.n more */
	struct counter_setup *setup; /* of the tree; NULL: nothing is counted */
	struct sampling_tree tree;
	bool started, ended; /* the recorder was, and is over */
	bool per_task;	     /* one ring per task */
	bool by_cpu; /* the kernel samples whole CPUs only, even if a process is asked for */
	uint64_t ring_bytes;			     /* 0: the default */
	bool copies_stacks;			     /* into samples, of any event */
	struct account_plan account[SAMPLING_CORES]; /* of each kind of core */
	size_t n_accounts, account_split;
	struct sampling_of *of; /* as events.ev, with --account */
	struct sampling_fields fields;
	bool tells_alone; /* the last event was not asked for: it records mappings */
	struct err passed;
	bool phys_if_may;     /* physical addresses: not asked for, but of use */
	uint64_t branch_type; /* of --branch-filter; 0: not given */
	char why[256];
	struct recorder *recorder;
	struct wait_change wait;
	struct sampling_ways ways;
	struct switch_watch switches;
	struct counters *watch; /* sampling_watch.c; NULL: nothing to watch */
	char *heap_dir;		/* of --heap; NULL: none */
	int heap_lock;		/* of the directory */
	struct watchdog heap_watchdog;
	char *heap_env[3];
	size_t heap_charged;   /* bytes of logs */
	struct buf heap_marks; /* the instant at which the logs began */
	struct sink sink;
	struct sampling_result result;
};

/* ns; 0: there is no such clock. */
uint64_t sampling_clock(clockid_t clock);

/* A record on its way into the file. */
int sink_note(struct sink *s, const uint8_t *p, size_t size, struct err *err) MUST_USE;
int sink_open(struct sink *s, const struct perf_event_attr *attr, struct err *err) MUST_USE;
int sink_data(void *ctx, const void *p, size_t len, struct err *err);
int sink_round(void *ctx, struct err *err);
int sink_trace(void *ctx, const struct recorder_trace *t, struct err *err);
/* The sample without the unused end of its copy of the stack. */
size_t sink_shorten(void *ctx, const void *p, size_t len, void *out);
void sink_failed(void *ctx);
/* After the last round. */
int sink_end(struct sink *s, struct err *err) MUST_USE;
int sink_flush(struct sink *s, struct err *err) MUST_USE; /* a full disk is noted in the sink */
void sink_close(struct sink *s);

/* Whether any event is Arm's SPE; the record at the start of a file with its trace; a check of its
 * options. */
bool sampling_spe(const struct sampling *r);
int sampling_spe_begin(struct sampling *r, struct err *err) MUST_USE;
int sampling_spe_check(const struct sampling *r, struct err *err) MUST_USE;
/* Returns the bytes of the AUX ring of event i; 0: it needs none. */
uint64_t sampling_spe_ring(const struct sampling *r, size_t i);

/* sampling_tree.c: the plan, whose setup is NULL if nothing is counted; a run, its ticks;
 * --dry-run. A tree that cannot be counted ends, and nothing else. */
int sampling_tree_plan(struct sampling *r, struct counter_setup **setup, struct err *err) MUST_USE;
void sampling_tree_begin(struct sampling *r);
void sampling_tree_tick(struct sampling *r);
void sampling_tree_switched(struct sampling *r, bool on);
void sampling_tree_describe(const struct sampling *r, struct buf *out);
void sampling_tree_free(struct sampling_tree *t);

/* Contradictions and impossible values, before anything is opened. */
int sampling_check(struct sampling *r, struct err *err) MUST_USE;

/* The attributes of all events, as the kernel takes them. */
int sampling_attrs(struct sampling *r, struct err *err) MUST_USE;

/* Counters are those of whole CPUs. */
static inline bool sampling_whole(const struct sampling *r)
{
	return r->k.who.whole_cpus || r->by_cpu;
}

/* Where event i is tried out: of whole CPUs on the first that it counts on, else -1. */
int sampling_try_cpu(const struct sampling *r, size_t i);

/* --fields: parses the words; adds to the options; removes parts from an attribute; checks that the
 * named parts exist. */
int sampling_fields_parse(struct sampling *r, struct err *err) MUST_USE;
void sampling_fields_wish(const struct sampling *r, struct attr_opts *w);
int sampling_fields_attr(struct sampling *r, size_t i, enum attr_chain chain,
			 struct err *err) MUST_USE;
int sampling_fields_check(const struct sampling *r, struct err *err) MUST_USE;
/* The parts that are not stored, as words. */
void sampling_fields_words(const struct sampling *r, struct buf *b);
/* The attribute of event i as the file has it. */
struct perf_event_attr sampling_stored(const struct sampling *r, size_t i);
/* A record without the parts that are not stored: in s->shorter, if there are any. */
int cut_parts(struct sink *s, const uint8_t **p, size_t *size, struct err *err) MUST_USE;

/* The file's events; ids are the recorder's. */
int sampling_events(struct sampling *r, struct pdw_setup *out, struct err *err) MUST_USE;
int sampling_file(struct sampling *r, struct err *err) MUST_USE;

/* --account: the events; what each adds to the options; drops an event that the kernel refused
 * (false: it is needed); groups of those that are left. */
int sampling_account_events(struct sampling *r, struct err *err) MUST_USE;
void sampling_account_wish(const struct sampling *r, size_t i, struct attr_opts *w);
bool sampling_account_without(struct sampling *r, size_t i, const struct err *why);
int sampling_account_groups(struct sampling *r, struct err *err) MUST_USE;
/* An event more, of no account. */
int sampling_account_more(struct sampling *r, struct err *err) MUST_USE;

/* --ibs, --mem: the events, and the options that they need. */
int sampling_memory_events(struct sampling *r, struct err *err) MUST_USE;
/* Whether the kernel samples IBS of whole CPUs only (before Linux 6.2). */
bool sampling_memory_by_cpu(const struct sampling *r);

/* Makes sure that an event records mappings, names and forks on each CPU; whether the i-th does;
 * the attribute of the first that does; the options of one that records nothing else. */
int sampling_track(struct sampling *r, struct err *err) MUST_USE;
bool sampling_tracks(const struct sampling *r, size_t i);
const struct perf_event_attr *sampling_tracker(const struct sampling *r);
void sampling_track_wish(const struct sampling *r, struct attr_opts *w);
/* Where it is opened: on every CPU of the machine, whichever are sampled. */
void sampling_track_cpus(const struct sampling *r, struct recorder_event *e);
int sampling_track_begin(struct sampling *r, struct err *err) MUST_USE;
/* Switches sampling on or off; the event that records mappings stays on. */
int sampling_switch(struct sampling *r, bool on, struct err *err) MUST_USE;

/* --wait: events for call chains at switches and for wake-ups, as far as we may. */
void sampling_wait_events(struct sampling *r);
/* Whether event i is one of them. */
bool sampling_wait_has(const struct sampling *r, size_t i);
/* Changes the attribute where it differs from the options. */
void sampling_wait_attr(const struct sampling *r, size_t i, struct perf_event_attr *a);
int sampling_wait_begin(struct sampling *r, struct err *err) MUST_USE;
void sampling_wait_end(struct sampling *r);
/* All counters were switched on, or off: those that are not to be on now are off again. */
int sampling_wait_on(struct sampling *r, bool on, struct err *err) MUST_USE;
/* On the draining thread: the end of a round. */
void sampling_wait_round(struct wait_change *w);

/* -g without a word: chooses, once the events are known; whether sizes of copies may change; opens
 * them twice, once all attributes are known; the event of a recorder's event. */
void sampling_ways_choose(struct sampling *r);
bool sampling_ways_change(const struct sampling *r);
int sampling_ways_plan(struct sampling *r, struct err *err) MUST_USE;
size_t sampling_ways_event(const struct sampling *r, size_t i);
void sampling_ways_begin(struct sampling *r); /* the recorder is open */
/* On the draining thread: the end of a round. */
void sampling_ways_round(struct sampling_ways *w);

/* n_cpus 0: CPUs with numbers so large are not counted. */
int switch_counts_begin(struct switch_counts *c, const struct sampling *r, uint64_t now,
			struct err *err) MUST_USE;
void switch_counts_saw(struct switch_counts *c, const uint8_t *p, size_t size); /* a record */
void switch_counts_restart(struct switch_counts *c, uint64_t now);
void switch_counts_end(struct switch_counts *c);

/* Whether the kernel would take an event with call chains of this process. */
bool sampling_may_open(const struct event *e);
/* run: the events; changes an attribute where it differs from the options. */
void sampling_switch_events(struct sampling *r);
bool sampling_watches(const struct sampling *r);
void sampling_switch_attr(const struct sampling *r, size_t i, struct perf_event_attr *a);
int sampling_switch_begin(struct sampling *r, struct err *err) MUST_USE;
void sampling_switch_end(struct sampling *r);
/* On the draining thread: the end of a round, which may write records. */
int sampling_switch_round(struct switch_watch *w, bool *wrote, struct err *err) MUST_USE;

/* run, --wait: what these threads, and those that begin, wait for (sampling_wchan.c). NULL: out of
 * memory. */
struct wchan_sampler *wchan_new(const pid_t *task, size_t n);
/* On the draining thread: FORK and EXIT; a switch within a call with this first argument; the end
 * of a round. */
void wchan_task(struct wchan_sampler *l, const uint8_t *p, size_t size);
void wchan_saw(struct wchan_sampler *l, uint32_t pid, uint64_t arg, uint64_t now);
void wchan_round(struct wchan_sampler *l, uint64_t now);
/* Puts the feature CYCLADE_WAITED; false: there is nothing. l may be NULL. */
bool wchan_put(const struct wchan_sampler *l, uint32_t flags, struct buf *b);
void wchan_free(struct wchan_sampler *l); /* NULL is fine */

/* --heap: a directory for the logs and the environment by which the program finds it; call before
 * the program is made. Then the logs, for the header, even if they are empty. */
int sampling_heap_begin(struct sampling *r, struct err *err) MUST_USE;
bool sampling_heap_logs(struct sampling *r, struct buf *b);
/* Removes the logs, once the recording's features have them. False: there are none. */
bool sampling_heap_release(struct sampling *r);
void sampling_heap_end(struct sampling *r);

/* run, --wait: what threads wait for. Registers of switches are looked at on the draining thread.
 */
uint64_t sampling_looks_register(void); /* of PERF_REG_*: 0: none */
bool sampling_looks(const struct sampling *r);
int sampling_looks_begin(struct sampling *r, struct err *err) MUST_USE;
void sampling_looks_sample(struct sink *s, const uint8_t *p, size_t size);
void sampling_looks_round(struct sink *s);
void sampling_looks_end(struct sampling *r);

/* While it records whole CPUs; at the end it is noted which of them went offline. */
void sampling_watch_begin(struct sampling *r);
void sampling_watch_end(struct sampling *r);

/* Features that a recording has even if it is cut short; then every feature of the header. */
int sampling_features_early(struct sampling *r, struct err *err) MUST_USE;
int sampling_features(struct sampling *r, const struct buf *tree, struct err *err) MUST_USE;
void sampling_features_drop_heap(struct sampling *r); /* there is no room for its logs */

#endif
