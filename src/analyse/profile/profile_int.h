/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile_int - shared by the parts of the profile. The way of a sample:
 *
 *	profile_scan.c	  sample of the pass -> site (image and address), hit (site and the keys
 *			  asked for), counted per worker
 *	profile_plain.c	  the same for samples that are only counted, which are many
 *	profile_reads.c	  record of a group that is read with its leader -> a sample per member
 *	profile_walk.c	  record -> chain of sites, counted per worker
 *	profile_branches.c  branch stacks -> pairs of sites, counted per worker -> rows
 *	profile_merge.c	  the workers' tables -> one table of sites and one of hits
 *	profile_name.c	  sites -> symbols, lines, strings; images in parallel
 *	profile_rows.c	  hits -> rows, sums per event; profile_order.c their order; profile_cells.c
 *			  the cells of rows of many events
 *	profile_frames.c  the workers' chains -> one tree of resolved frames
 *	profile_sort.c	  ... which are put in order for it
 *	profile_kept.c	  samples kept with their chains
 *	profile_stacks.c  ... which are put in order, and handed out with their chains of sites
 *
 * Everything that is added up is added in integers, so that the result does not depend on which
 * worker read which chunk.
 */
#ifndef CYCLADE_ANALYSE_PROFILE_PROFILE_INT_H
#define CYCLADE_ANALYSE_PROFILE_PROFILE_INT_H

#include <pthread.h>

#include "analyse/mux.h"
#include "analyse/pass.h"
#include "analyse/profile.h"
#include "analyse/profile/profile_count.h"
#include "analyse/profile_stacks.h"
#include "analyse/sample_frames.h"
#include "base/vec.h"
#include "symbol/source.h"

struct profile;
/* Adds; sums of a model are exact, and have no squares. */
void profile_tally_add(const struct profile *p, struct tally *t, const struct weight *w);

/* A place in the code. */
struct site {
	uint64_t addr;	/* image address; the ip itself if nothing was mapped */
	uint32_t image; /* IMAGE_NONE: nothing was mapped */
	uint8_t kind;	/* enum space_kind */
	bool caller;	/* a return address: its line and inlined calls are those just before it */
};

struct site_table {
	struct site *v;
	size_t n, cap;
	struct itab at;
};

/* All callers that lie in no mapping. */
extern const struct site site_stray;

uint64_t site_hash(const struct site *s);
/* Returns the index of a site, which is added if it is new; ITAB_NONE when out of memory. */
uint32_t site_add(struct site_table *t, const struct site *s, uint64_t hash) MUST_USE;
/* Prefetch the memory that site_add() will read: call the second one a while after the first. */
static inline void site_ahead(const struct site_table *t, uint64_t hash)
{
	itab_ahead(&t->at, hash);
}
static inline void site_ahead_more(const struct site_table *t, uint64_t hash)
{
	size_t i = itab_first(&t->at, hash);
	uint32_t idx;

	if (itab_at(&t->at, &i, hash, &idx))
		__builtin_prefetch(&t->v[idx]);
}
/* The index of sites that were put into `v` without site_add, all different. */
int site_table_index(struct site_table *t) MUST_USE;
void site_table_free(struct site_table *t);

/* Samples that have the same site and keys. */
struct hit {
	uint32_t site, group; /* index into profile.sites, profile.group */
	struct weight w;
};

/* Facts of an event's samples, prepared once. */
struct scan_event {
	struct pd_layout at;
	uint64_t period; /* if the record has none */
	uint64_t type;	 /* PERF_SAMPLE_* */
	uint32_t index;
	bool selected;
	bool plain;	  /* it is only counted */
	bool full;	  /* the sample must be parsed as a whole */
	bool plain_chain; /* the chain stands at at.fixed_end */
	uint32_t cut_at;  /* frames at most of a chain that the kernel walked */
	struct sample_frames_how how;
	bool split;	     /* a record is a sample for each value read with it */
	bool read_by_thread; /* which are each thread's own */
	bool weighed;	     /* periods are corrected for the time it had no counter */
};

/* The sample at hand. */
struct scan_sample {
	const struct pd_record *r;
	const struct pd_sample *full; /* NULL: not parsed as a whole */
	const struct scan_event *ev;  /* the record's, for the layout of the record */
	const struct pass_thread *who;
	uint64_t ip, time, period, task;
	uint32_t event, cpu;
	uint8_t kind;
	double factor; /* of the period; NAN: 1 */
	bool selected; /* but for the event */
};

struct walk;	      /* profile_walk.c: a worker's chains */
struct branch_counts; /* profile_branches.c: a worker's branches */

/* The thread's keys that were asked for; the rest is 0. */
struct scan_party {
	uint64_t comm;
	uint32_t pid, tid;
};

/* A place also has the group of the last sample that was counted there (`own`), and in our bits of
 * `what` the identity of that sample: its event + 1, and the result of spot_low(). */
#define SPOT_EVENT	  40
#define SPOT_DIFFER(a, b) (((a) ^ (b)) << 8) /* but for the kind that was found */

/* Values that rarely change from one sample to the next. */
struct scan_run {
	uint64_t task, from, life; /* a thread, in [from, from + life) */
	struct scan_run_kind {
		uint64_t whose, hash, what;
		uint64_t coarse;
	} of[8];		     /* its spots, by cpumode */
	uint64_t id, period;	     /* of an event that is only counted */
	uint64_t mask;		     /* of the period's part of `what`: 0 if periods vary */
	const struct scan_event *ev; /* NULL: none yet */
};

/* Ids of events that are only counted. */
struct scan_known {
	uint64_t id;
	const struct scan_event *ev; /* NULL: none */
};
#define SCAN_KNOWN 16u

struct worker {
	struct scan *scan;
	struct site_table sites;
	struct counts counts;
	struct scan_run run;
	struct scan_known known[SCAN_KNOWN]; /* direct-mapped */
	VEC(struct scan_party) party;
	struct itab party_at;
	struct places places;
	unsigned number;		/* of the worker */
	struct weight *left_out;	/* by event */
	uint64_t *bad;			/* by event; beside those that the pass counts */
	struct walk *walk;		/* NULL: no chains */
	struct branch_counts *branches; /* NULL: not asked for */
};

struct scan {
	const struct pd *rec;
	const struct spaces *sp;
	const struct profile_opts *opts;
	struct pass *pass;
	struct scan_event *ev;
	size_t n_events;
	struct worker *worker;
	unsigned n_workers;
	pthread_mutex_t *image_lock; /* by image; only with chains */
	size_t n_images;
	struct pd_layout plain_at; /* of all events that are only counted */
	struct reads *reads;	   /* by chunk: the counters' values before it; NULL: not needed */
	size_t n_reads;
	unsigned least; /* bytes of a sample in which all fixed fields and the id fit */
	uint16_t id_at; /* offset of the event's id in samples; 0: not needed or not there */
	bool has_time;
	bool by_comm, by_pid, by_tid, by_cpu, by_cgroup; /* keys asked for */
	bool caller_sites;
	uint8_t kind_of[8]; /* by cpumode: enum space_kind */
	bool all;	    /* nothing is left out but by event */
};

/* Adds its visitor to the pass. */
int scan_begin(struct scan *sc, struct pass *pass, const struct pd *rec, const struct spaces *sp,
	       const struct profile_opts *opts, struct err *err) MUST_USE;
/* A sample that is taken apart goes to its row, and its chain to the tree; or is left out. */
int scan_sample_take(struct worker *w, struct scan_sample *s, struct err *err) MUST_USE;
void scan_free(struct scan *sc);
static inline uint64_t spot_what(uint32_t event, uint8_t kind, uint32_t low)
{
	return (uint64_t)(event + 1) << SPOT_EVENT | (uint64_t)kind << PLACE_ASKED | low;
}
/* Returns the CPU if it is a key, else the period (a little shifted) if it does not vary. */
static inline uint32_t spot_low(const struct worker *w, const struct scan_sample *s)
{
	if (w->scan->by_cpu)
		return s->cpu;
	if (counts_vary(&w->counts, s->event))
		return 0;
	return s->period < UINT32_MAX - 1 ? (uint32_t)s->period + 1 : UINT32_MAX;
}
/* Sets a place and its group to those of a sample. */
int scan_ask(struct worker *w, struct place *o, const struct scan_sample *s) MUST_USE;

/* Counts the samples from *p on that are of events which are only counted, most samples of most
 * recordings, and passes other records; then *p is a sample that needs more, or the end. */
int scan_plain(struct worker *w, const struct pd_chunk *c, const uint8_t **p) MUST_USE;
/* Samples with that id, or all of them, are of an event that is only counted. */
void scan_plain_known(struct worker *w, uint64_t id, const struct scan_event *ev);

bool reads_wanted(const struct pd_event *e);
bool reads_by_thread(const struct pd_event *e);
int reads_prepare(struct scan *sc, struct err *err) MUST_USE;
/* `s` is all of the record; its event and period are written for each member. */
int reads_split(struct worker *w, size_t chunk, struct scan_sample *s, struct err *err) MUST_USE;
void reads_free(struct scan *sc);

/* Returns the site of a thread's address; *from and *until are narrowed to the addresses for which
 * the answer holds. */
struct site scan_place(struct worker *w, const struct pass_thread *who, uint8_t kind, uint64_t ip,
		       bool caller, uint64_t time, uint64_t *from, uint64_t *until);

struct walk *walk_new(struct worker *w, struct err *err) MUST_USE;
void walk_free(struct walk *k);
int walk_sample(struct walk *k, const struct scan_sample *s, struct err *err) MUST_USE;

/* The branches of a selected sample, and then the rows of all workers' ones. */
struct branch_counts *branches_new(struct worker *w, struct err *err) MUST_USE;
void branches_free(struct branch_counts *b);
int branches_sample(struct branch_counts *b, const struct scan_sample *s, struct err *err) MUST_USE;
int make_branch_rows(struct profile *p, const struct scan *sc, struct err *err) MUST_USE;

/* After the last sample. Frees the tables that only finding needed. */
int walk_done(struct walk *k, struct err *err) MUST_USE;

/* A different chain of a worker, with its samples. A cache line. */
struct walk_chain {
	uint64_t lo, hi;      /* its key; then the worker, in `lo` */
	uint64_t from, until; /* when the key leads to it */
	uint32_t *at;	      /* the worker's sites, then ids of frames; outermost first. With
			       * opts.chain_comm a party comes before them, then its frame */
	uint64_t period;
	uint32_t n_at, event;
	uint32_t n;    /* samples, of `period` each */
	uint32_t more; /* 1 + place of the weight of samples of other periods; 0: none */
};
void walk_drop_sites(struct walk *k); /* when every chain's `at` leads elsewhere */
size_t walk_n_chains(const struct walk *k);
struct walk_chain *walk_chain_at(const struct walk *k, size_t i);
struct weight walk_weight(const struct walk *k, const struct walk_chain *c);
const uint64_t *walk_broken(const struct walk *k);  /* [8] */
const struct tally *walk_cut(const struct walk *k); /* CHAIN_CUTS of each event */

/* Samples that are kept with their chains, as a worker saw them. */
struct stack_kept {
	uint64_t time, period;
	struct walk_chain *chain;
	uint32_t party, n, cpu;
};
struct stack_keep {
	VEC(struct stack_kept) v;
	struct itab at; /* with `merge`: by chain, party and time */
	bool merge;
};
int stack_keep(struct stack_keep *k, struct walk_chain *c, uint32_t party, uint64_t time,
	       uint32_t cpu, uint64_t period) MUST_USE;
struct stack_keep *walk_kept(struct walk *k);

/* The same as cells. */
struct stack_cells {
	VEC(struct stack_cell) v;
	VEC(struct stack_place) place; /* .thread: a party */
	struct itab place_at;
	struct stack_place_seen {
		uint32_t party, cpu, at; /* at: 1 + the place; 0: empty */
	} seen[64];
	struct stack_cell *wait; /* direct-mapped; n 0: empty */
	unsigned shift;		 /* of a hash, to its slot */
};
int stack_cells_init(struct stack_cells *k, size_t slots) MUST_USE; /* slots: a power of two */
int stack_cell_add(struct stack_cells *k, uint32_t callers, uint32_t leaf, uint32_t place,
		   uint16_t bin, uint64_t period) MUST_USE;
/* Returns ITAB_NONE when out of memory. */
uint32_t stack_cells_place(struct stack_cells *k, uint32_t party, uint32_t cpu) MUST_USE;
/* After the last: nothing waits. */
int stack_cells_settle(struct stack_cells *k) MUST_USE;
void stack_cells_free(struct stack_cells *k);
struct stack_cells *walk_cells(struct walk *k);
int make_stacks(struct profile *p, const struct scan *sc, struct err *err) MUST_USE;
void stacks_free(struct profile *p);

/* A chain in the making of the tree. */
struct chain_ref {
	uint64_t key;
	struct walk_chain *c;
};
/* profile_sort.c: by frames, outermost first, then by event. Then `key` is how many frames a chain
 * shares with the one before it. */
int chains_sort(struct chain_ref *v, size_t n, unsigned threads, struct err *err) MUST_USE;

/* A site with its names. */
struct named_site {
	const struct symbol *symbol;
	struct source_line line;
	struct source_inline *inl; /* outermost first */
	uint32_t n_inl;
	uint32_t name, dso, srcline;	/* strings */
	uint32_t sym, innermost;	/* of rows: DSO:NAME if names of several files clash */
	uint32_t frame_first, n_frames; /* into profile.frame_ids; with chains */
};

struct profile {
	struct profile_opts opts;
	const struct pd *rec;
	struct spaces *sp;
	struct scan *scan; /* until profile_end() */
	/* The owner of these sites, hits and groups: profile_again(). NULL: this profile. */
	const struct profile *of;
	struct strtab strings;
	struct site_table sites; /* those of hits, then those of chains */
	size_t n_hit_sites;
	struct hit *hits;
	size_t n_hits;
	struct count_group *group; /* keys that hits share; not by period */
	size_t n_groups;
	uint32_t **site_map;	  /* [worker][its site]: index into sites */
	size_t *n_site_map;	  /* by worker */
	struct named_site *place; /* by site */
	uint32_t *order;	  /* sites by (image, address, ...) */
	struct u64map late;	  /* a string's id -> the struct late_name in the arena */
	struct arena arena;
	struct tally *tallies;
	uint32_t *cell_events; /* beside them; rows of many events */
	struct branch_tally *branch_tallies;
	struct profile_row *rows;
	uint64_t *row_keys; /* [row * n_keys + key] */
	size_t n_rows;
	struct profile_sum *sums; /* by event */
	size_t n_events;
	struct profile_chains chains;
	struct profile_stacks stacks;
	struct profile_frame *frames;
	size_t cap_frames;
	struct itab frame_at;
	uint32_t *frame_ids;
	size_t n_frame_ids, cap_frame_ids;
	struct tally *zeros; /* of events without samples */
};

/* Prefetches the site that comes a little later in the order of places. */
static inline void place_ahead(const struct profile *p, size_t i)
{
	if (i + 8 >= p->sites.n)
		return;
	__builtin_prefetch(&p->sites.v[p->order[i + 8]]);
	__builtin_prefetch(&p->place[p->order[i + 8]], 1);
}

/* Events times rows (or chain nodes): a recording of many events must not cost its square. */
#define PROFILE_CELLS_MAX (1ULL << 28)
int profile_too_big(struct err *err);

int merge_tables(struct profile *p, struct scan *sc, struct err *err) MUST_USE;
/* Frees sites and counts: rows and frames have them. With opts.also only their names. */
void profile_drop_names(struct profile *p);
/* A second thread, for the time when all samples are counted: it loads the symbols of their images,
 * beside the caller of `load`, which returns when all are there; then it gives the recording's
 * pages back (`drop`, or NULL), which only costs time while the caller has none to spare. NULL if
 * that is not worth a thread. `end` waits for it. */
struct beside *beside_start(const struct profile *p, const struct scan *sc, struct pd_drop *drop);
void beside_load(struct beside *b);
void beside_end(struct beside *b);
int name_sites(struct profile *p, struct err *err) MUST_USE;
/* Returns the name of the file that holds the code at a place, else of its address space. */
const char *profile_dso_name(const struct profile *p, uint32_t image, uint8_t kind);
uint32_t profile_line_string(struct profile *p, const struct source_line *l) MUST_USE;
/* Frame ids of every site, outermost first: while the inlined calls are at hand. */
int make_frame_ids(struct profile *p, struct err *err) MUST_USE;
/* The fact by which samples are counted apart, if a key is made of it. */
enum key_apart { BY_NOTHING, BY_COMM, BY_PID, BY_TID, BY_CPU, BY_CGROUP };
bool keys_need(const struct profile_opts *o, enum key_apart apart);
/* Returns true if samples are counted apart for it. */
bool key_counted(const struct profile_opts *o, enum profile_key key);
static inline bool key_is_text(enum profile_key key)
{
	return profile_key_kind(key) == KEY_IS_TEXT;
}

/* Orders n rows by their keys' values, value[key * n + row]: order[i] is the i-th row. */
int order_rows(struct profile *p, const uint64_t *value, size_t n, uint32_t *order,
	       struct err *err) MUST_USE;
int make_rows(struct profile *p, struct err *err) MUST_USE;
/* profile_cells.c: the cells of rows of many events; `row_of`: by hit, the row as it was met,
 * order[i]: the i-th row. */
#define PROFILE_DENSE 4u /* events; rows of more keep only the cells that have samples */
int make_cells(struct profile *p, const uint32_t *row_of, const uint32_t *order, size_t n_rows,
	       size_t n_events, struct err *err) MUST_USE;
int make_frames(struct profile *p, const struct scan *sc, struct err *err) MUST_USE;

#endif
