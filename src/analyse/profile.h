/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile - samples attributed to threads, places and weights.
 *
 *	profile_build(&p, rec, spaces, &opts, &err)	second pass, all cores
 *	... rows, totals, chains ...
 *	profile_free(p)
 *
 * With others in one walk over the samples (pass.h):
 *
 *	profile_begin(&p, pass, rec, spaces, &opts, &err)
 *	pass_run(pass, &err)
 *	profile_end(p, &err)		only then there are rows
 *	profile_again(&q, p, &opts, &err)	the same samples by other keys (opts.also): no walk
 *
 * The second pass reads the recording's chunks in parallel. Each sample is reduced to a handful of
 * small numbers (event, thread's name, mapping, address, chain node) and counted in a hash table
 * per worker; names are looked up afterwards, once per unique (image, address). Nothing is sorted
 * by time and nothing is kept per sample.
 *
 * Invariants (asserted): every sample of a selected event lands in exactly one row; the rows of an
 * event sum to its total exactly.
 */
#ifndef CYCLADE_ANALYSE_PROFILE_H
#define CYCLADE_ANALYSE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/chain.h"
#include "analyse/selection.h"
#include "base/err.h"
#include "base/hash.h"
#include "perfdata/perfdata.h"
#include "symbol/source.h"
#include "symbol/space.h"

/* The keys of rows. */
enum profile_key {
#define PROFILE_KEY(id, kind, apart) KEY_##id,
#include "analyse/profile_key.def"
#undef PROFILE_KEY
	KEY_COUNT,
};
enum profile_key_kind { KEY_IS_TEXT, KEY_IS_NUMBER, KEY_IS_ADDRESS };

/* Returns the kind of a key's values: texts are strings of the profile; UINT64_MAX is a number that
 * is not known. */
enum profile_key_kind profile_key_kind(enum profile_key key);

struct mux; /* mux.h */

/* Whether samples are kept with their chains, address by address (profile_stacks.h). */
enum profile_stacks_how {
	STACKS_NONE,
	STACKS_MERGED, /* those of the same thread, event and chain are one */
	STACKS_EACH,   /* one by one, with their times and CPUs: 80 bytes of memory each */
	/* Those of one event, in no order, most of the same chain, thread, CPU and bin as one;
	 * nothing else is looked at: there are no rows and no sums. */
	STACKS_CELLS,
};

struct profile_opts {
	enum profile_key key[KEY_COUNT]; /* in order of wish */
	size_t n_keys;
	/* Keys that profile_again() may be asked for, 1 << KEY: samples are counted apart for them,
	 * too, and the counts stay. */
	uint32_t also;
	bool branches;	   /* rows are of the branches recorded with samples, counted one by one */
	bool chains;	   /* build the prefix tree; not with branches */
	bool chain_lines;  /* one frame per source line, not per symbol */
	bool chain_inline; /* inlined calls are frames of their own */
	bool chain_comm; /* the outermost frame is the thread's name; with KEY_COMM, for the tree */
	/* Instead of the tree; with chains: */
	enum profile_stacks_how stacks;
	struct profile_bin { /* with STACKS_CELLS: bin 0 begins at `from`; width 0: no bins */
		uint64_t from, width;
		uint32_t event;
	} bin;
	uint32_t max_stack; /* frames of a chain that are used; 0: all */
	unsigned threads;   /* 0: all cores */
	/* A sample's period is taken times the share of time that its counter lacked just then;
	 * NULL: as it was recorded. */
	const struct mux *mux;
	/* For groups that are read with their leader, if several profiles are made; NULL: made by a
	 * walk of its own. */
	const struct profile_reads *reads;
	bool once; /* the recording is not read again: its pages may go */
	/* Functions that share their name with others of the file get their distinguishing place
	 * only when profile_text() is called, if nothing else of the profile needs it. */
	bool late_names;
	struct selection select;
	unsigned machine; /* EM_* of the recording; for unwinding */
	void (*progress)(void *ctx, double fraction);
	void *progress_ctx;
};

/* Returns the index of this key in rows; -1: rows do not have it. */
static inline int profile_key_at(const struct profile_opts *o, enum profile_key key)
{
	for (size_t i = 0; i < o->n_keys; i++)
		if (o->key[i] == key)
			return (int)i;
	return -1;
}

static inline bool profile_has_key(const struct profile_opts *o, enum profile_key key)
{
	return profile_key_at(o, key) >= 0;
}

/* Weights of samples, per event. Sums of squares are for the error bars. */
struct tally {
	uint64_t samples, period;
	double period_sq;
};

static inline void tally_add(struct tally *t, const struct tally *more)
{
	t->samples += more->samples;
	t->period += more->period;
	t->period_sq += more->period_sq;
}

/* Branches as the processor recorded them. If a branch counts neither as mispredicted nor as
 * predicted, the processor did not record it; cycles are those since the branch before, of `timed`
 * ones. */
struct branch_tally {
	uint64_t mispredicted, predicted, in_tx, aborts, cycles, timed;
};

/* A key's value: an id in the profile's strings for names; the number itself for pid, tid, cpu and
 * addr, UINT64_MAX if it was not recorded. Names that are not known have honest names: "[unknown]"
 * for a dso ("[guest user]" and so on in other spaces), the address for a symbol as perf prints it
 * ("0x0000000000001139"), ":TID" for a thread. A source line is "FILE:LINE" with the file's full
 * name, "??:0" if not known. */
struct profile_row {
	uint64_t *key; /* in the order of opts.key */
	/* By event index; one with KEY_EVENT. In recordings of many events only those that the row
	 * has samples of, `n_cells` of them, and `event` has their indices, ascending:
	 * profile_tally(). */
	struct tally *tally;
	const uint32_t *event; /* NULL: all are there */
	uint32_t n_cells;
	uint32_t image;	  /* the image of all of its samples, or IMAGE_NONE */
	struct tally all; /* sum over events (only meaningful when one event is selected) */
	const struct symbol *symbol; /* likewise, or NULL */
	/* With opts.branches: tallies of the branch source, by event. Else NULL. */
	const struct branch_tally *branch;
	uint8_t space; /* enum space_kind, likewise, else SPACE_UNKNOWN */
};

/* A frame of a resolved chain. */
struct profile_frame {
	uint32_t name, dso;	 /* strings */
	uint32_t srcline;	 /* strings; 0: not asked or not known */
	struct source_line line; /* the same, taken apart */
	const char *linkage;	 /* as linkers know it; NULL: as `name` */
	uint32_t image;
	const struct symbol *symbol;
	uint8_t space;
	bool inlined;
	bool thread; /* no function, but a thread's name */
};

#define KERNEL_FRAMES 127u /* kernel.perf_event_max_stack, unless it was changed */

/* Returns how many frames a chain has at most that the kernel walked for this event. */
static inline uint32_t profile_kernel_frames(const struct pd_event *ev)
{
	return ev->attr.sample_max_stack ? ev->attr.sample_max_stack : KERNEL_FRAMES;
}

enum chain_cut {
	CUT_BY_KERNEL, /* it has as many frames as the kernel records */
	CUT_BY_LIMIT,  /* it has more than opts.max_stack */
	CHAIN_CUTS
};

struct profile_chains {
	struct chain_tree tree;		   /* frame = index into `frame` */
	const struct profile_frame *frame; /* by id */
	size_t n_frames;
	struct tally **self;	       /* [event][node]: samples whose innermost frame is here */
	struct tally **total;	       /* [event][node]: here and below */
	uint64_t broken[8];	       /* by enum unwind_end: how DWARF chains ended */
	struct tally *cut[CHAIN_CUTS]; /* [][event]: samples whose chain may have more callers */
};

/* Per event: samples counted and left out. selected + left_out = samples of the recording; of a
 * group that is read with its leader, each member that counted has a sample for each record. */
struct profile_sum {
	struct tally selected;
	struct tally left_out;	/* by the selection */
	struct tally no_map;	/* of selected: ip in no mapping */
	struct tally no_symbol; /* of selected: mapping known, no symbol */
	struct tally nameless;	/* of selected: the symbol is one without a name (symbol/image.h) */
	uint64_t bad;		/* records that could not be parsed as samples of any event */
	/* With opts.branches all but left_out count branches, no_map, no_symbol and nameless those
	 * one end of which is so; and these are samples: */
	uint64_t stacks, no_stack; /* selected ones with branches and without */
};

/* The address of callers that lie in no mapping: code without frame pointers leaves anything there,
 * so they are all one frame, however many stand behind one another. */
#define ADDR_STRAY UINT64_MAX

static inline bool addr_is_stray(uint32_t image, uint64_t addr)
{
	return image == IMAGE_NONE && addr == ADDR_STRAY;
}

extern const struct tally profile_no_tally;

/* Returns the tally of an event in a row. */
static inline const struct tally *profile_tally(const struct profile_row *r, size_t event)
{
	if (!r->event)
		return &r->tally[event];
	for (uint32_t i = 0; i < r->n_cells && r->event[i] <= event; i++)
		if (r->event[i] == event)
			return &r->tally[i];
	return &profile_no_tally;
}
/* Adds a row to tallies by event index. */
void profile_tallies(const struct profile_row *r, size_t n_events, struct tally *to);

struct profile;

/* `sp` and the objects that `opts` points to must outlive the profile. */
int profile_build(struct profile **out, const struct pd *rec, struct spaces *sp,
		  const struct profile_opts *opts, struct err *err) MUST_USE;
void profile_free(struct profile *p);

struct pass;
/* The pass's selection is that of `opts`, but for the event, and it outlives profile_end(). The
 * fields of progress and `threads` in `opts` are not used. */
int profile_begin(struct profile **out, struct pass *pass, const struct pd *rec, struct spaces *sp,
		  const struct profile_opts *opts, struct err *err) MUST_USE;
int profile_end(struct profile *p, struct err *err) MUST_USE;
/* What counters of groups stood at before each chunk. NULL if no samples have such values; else a
 * walk. */
struct profile_reads;
int profile_reads_build(struct profile_reads **out, const struct pd *rec, struct err *err) MUST_USE;
void profile_reads_free(struct profile_reads *r); /* NULL is fine */
/* Rows of `of` by keys of `opts` that its opts.also has, or its own: no branches, no chains. `of`
 * must outlive *out. */
int profile_again(struct profile **out, const struct profile *of, const struct profile_opts *opts,
		  struct err *err) MUST_USE;

/* Return true if profile_build() with these options makes the same as `p`; or if profile_again()
 * can. */
bool profile_is(const struct profile *p, const struct profile_opts *opts);
bool profile_has(const struct profile *p, const struct profile_opts *opts);

/* The samples and the sum of periods of each event, into `of` (one for each of pd_events; period_sq
 * stays 0): those of the records, but of a group that is read with its leader (:S) each member's
 * own, as profile_build counts them. Takes a pass over the recording if it has such groups, or if
 * the selection leaves out more than events; `sp` may be NULL if that selects no threads. */
int profile_samples(const struct pd *rec, const struct spaces *sp, const struct selection *select,
		    struct tally *of, struct err *err) MUST_USE;

/* By their keys' values, so that the same recording gives the same order. */
const struct profile_row *profile_rows(const struct profile *p, size_t *n);
const struct profile_sum *profile_sums(const struct profile *p, size_t *n_events);
const struct profile_chains *profile_chains(const struct profile *p); /* NULL: not asked for */
const struct strtab *profile_strings(const struct profile *p);
/* Returns the text of a key or frame by its id. With `late_names` this, and not the strings, has
 * all of it, and one thread at a time may ask. */
const char *profile_text(const struct profile *p, uint32_t id);
/* The order of two rows by their keys' values: that of profile_rows(), but for late names. */
int profile_row_order(const struct profile *p, const struct profile_row *a,
		      const struct profile_row *b);
const struct profile_opts *profile_options(const struct profile *p);

/* Per-function callers and callees, from the chains: "children" in perf's words. One row per frame
 * name: self and total (a recursive function counts once per sample). Caller frees *out. */
struct profile_function {
	uint32_t frame; /* of profile_chains()->frame: the first with this (dso, name) */
	struct tally self, total;
};
int profile_functions(const struct profile *p, size_t event, struct profile_function **out,
		      size_t *n, struct err *err) MUST_USE;

#endif
