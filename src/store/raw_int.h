/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw_int - shared by the files of raw: the cursor, and the functions of each table.
 */
#ifndef CYCLADE_STORE_RAW_INT_H
#define CYCLADE_STORE_RAW_INT_H

#include <math.h>
#include <string.h>

#include "analyse/sample_frames.h"
#include "analyse/wait.h"
#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/ibs.h"
#include "perfdata/spe.h"
#include "symbol/names.h"
#include "store/raw.h"

struct raw_thread {
	uint32_t pid, tid, ppid, ptid, names;
	const char *comm; /* in the recording; NULL: none */
	uint64_t started, ended;
	bool has_parent, has_start, has_end;
};

/* Made once for a recording. */
struct raw_of {
	struct raw_run r;
	struct names *names;
	VEC(struct raw_thread) thread;
	bool threads_made;
	struct raw_chains *chains; /* NULL: not made yet */
	struct raw_lines *lines;
	struct wait *wait;
};

struct raw_runs {
	struct raw_of *of;
	size_t n;
};

/* A frame of a sample: a function, or a call inlined into it. */
struct raw_frame {
	uint64_t ip;	     /* of a caller, the return address */
	const char *inlined; /* the inlined function; NULL: it is the function itself */
	uint32_t level;	     /* of inlining; 0: the function itself */
	uint8_t kind;	     /* enum space_kind */
	bool caller;
};

struct raw {
	struct raw_runs *runs;
	enum store_table table;
	struct raw_bounds b;
	size_t run;	      /* from 0; runs->n: at the end */
	bool inside;	      /* the run has begun */
	size_t i;	      /* a row of an array; an entry of a sample; from 0 */
	size_t n;	      /* of these */
	size_t depth;	      /* of the frame of a distinct chain, from 1 */
	struct cursor **walk; /* by run */
	bool *events;	      /* of the run: bounds */
	/* of the sample at hand, made when asked for */
	struct pd_sample sample;
	bool parsed, whole; /* whole: it could be parsed */
	struct cursor_who who;
	bool met;		     /* `who` is known */
	struct sample_frames frames; /* of the run frames_run, once asked for */
	size_t frames_run;
	VEC(struct raw_frame) chain; /* raw_frames_make() */
	bool chain_made;
	struct pd_branch branch;
	struct pd_mmap map;
	enum ibs_part part; /* of the run's CPU */
	bool intel;	    /* the same */
	struct ibs ibs;	    /* if it was taken and is not refused */
	bool ibs_taken;
	const char *ibs_refused;
	struct spe spe;
	bool spe_taken;
	const char *spe_refused;
	struct err err; /* why a getter failed */
};

/* How the rows of a table are walked; the getters of its columns are in schema.def. */
struct raw_kind {
	/* At the beginning of a run. */
	int (*begin)(struct raw *c, struct err *err);
	int (*next)(struct raw *c, struct err *err);
};
extern const struct raw_kind raw_samples, raw_frames, raw_branches, raw_counts, raw_records,
	raw_mappings, raw_threads, raw_one, raw_events, raw_chains_rows, raw_chain_frames,
	raw_lines_rows, raw_switches, raw_waits, raw_wakes;

/* ---- getters: t->ctx is the cursor ----------------------------------------------------------- */

#define STORE_TABLE(name, text)
#define STORE_COLUMN(table, name, kind, unit, means, from, get, which) table_get raw_get_##get;
#include "store/schema.def"
#undef STORE_TABLE
#undef STORE_COLUMN

static inline struct raw *raw_at(const struct table *t)
{
	return (struct raw *)(uintptr_t)t->ctx;
}

/* A getter of one statement, in which `raw` is the cursor. */
#define RAW_GET(name, ...)                                                       \
	void raw_get_##name(const struct table *t, const struct table_column *c, \
			    const struct table_row *r, struct table_cell *out)   \
	{                                                                        \
		struct raw *raw = raw_at(t);                                     \
                                                                                 \
		(void)raw;                                                       \
		(void)c;                                                         \
		(void)r;                                                         \
		__VA_ARGS__;                                                     \
	}

/* Null unless `has`. */
static inline void raw_put(struct table_cell *out, bool has, uint64_t n)
{
	out->n = n;
	out->none = !has;
}

/* A blob of n bytes; they stay until the next row. */
static inline void raw_put_blob(struct table_cell *out, bool has, const uint8_t *p, size_t n)
{
	out->text = has ? (const char *)p : NULL;
	out->n = n;
}

static inline struct raw_of *raw_of(const struct raw *c)
{
	return &c->runs->of[c->run];
}

/* `cpuid` as recordings have it; NULL: not known. */
static inline bool is_intel(const char *cpuid)
{
	return cpuid && strstr(cpuid, "GenuineIntel");
}

/* Walks samples, or with `others` all records, of the run at hand. */
int raw_walk_begin(struct raw *c, bool others, struct err *err) MUST_USE;
bool raw_walk_next(struct raw *c);
/* For kinds: a row is each record of the walk; walks all records. */
int raw_walk_row(struct raw *c, struct err *err) MUST_USE;
int raw_records_begin(struct raw *c, struct err *err) MUST_USE;
/* Returns the sample at hand; NULL: it is damaged. */
const struct pd_sample *raw_sample(struct raw *c);
uint64_t raw_period(const struct raw *c); /* of the sample */
/* The part of a name that a column has: `which` of these columns. */
enum name_part { NAME_FUNCTION, NAME_OFFSET, NAME_DSO, NAME_ADDRESS, NAME_FILE, NAME_LINE };
/* Sets c->who, the thread of the sample. */
int raw_meet(struct raw *c, struct err *err) MUST_USE;
/* The frames of the sample at hand, innermost first, as c->chain; none if it has no chain. */
int raw_frames_make(struct raw *c, struct err *err) MUST_USE;
/* Their functions, outermost first. */
int raw_chain_text(struct raw *c, struct buf *out, struct err *err) MUST_USE;
/* Returns the name of an address of the sample's process; NULL: failed, see *err. */
struct name *raw_name_at(struct raw *c, enum space_kind kind, uint64_t ip, struct err *err);
/* Adds its function to the text of a chain; without one "libc.so.6+0x1f" or "0x1f". */
void raw_put_frame(struct buf *b, const char *function, const char *dso, uint64_t address);
extern const char *const raw_mode_names[]; /* by enum space_kind */
/* Sets the number of the sample's chain; returns false if the pass over the samples was stopped, or
 * failed. */
bool raw_chain_id(struct raw *c, uint64_t *out) MUST_USE;

/* ---- tables that one pass over all samples of the run makes ---------------------------------- */

/* Calls back for each sample of c's run, with a cursor of its own. *over: asked to stop before the
 * end. */
int raw_each_sample(struct raw *c, int (*each)(struct raw *at, void *ctx, struct err *err),
		    void *ctx, bool *over, struct err *err) MUST_USE;
int raw_array_next(struct raw *c, struct err *err) MUST_USE; /* c->i is one more than the place */
void raw_chains_free(struct raw_chains *x);		     /* NULL is fine */
void raw_lines_free(struct raw_lines *x);

#endif
